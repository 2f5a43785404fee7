// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - queues in memory that a process has mapped. include/kfi_ib.h has their format.
 *
 * The object whose queue it is has a reference, and so has each mmap() that is in progress. What is
 * mapped keeps its pages: the queue may end while the process still looks at it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kib.h"

/**
 * struct kib_map - memory that a process may map
 * @entry: the RDMA core's part; it has the references
 * @mem: the memory
 */
struct kib_map {
	struct rdma_user_mmap_entry entry;
	void *mem;
};

static struct kib_map *to_kib_map(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct kib_map, entry);
}

/*
 * Make zeroed memory of @bytes that the process of the context may map, and tell it how.
 * Return: the memory, which kib_map_end() ends by *@map; or an error pointer
 */
void *kib_map_new(struct ib_ucontext *context, struct ib_udata *udata, size_t bytes,
		  struct kib_map **map)
{
	struct kfi_ib_queue_resp resp = { .bytes = PAGE_ALIGN(bytes) };
	struct kib_map *new;
	int ret = -ENOMEM;

	if (udata->outlen < sizeof(resp))
		return ERR_PTR(-EINVAL);
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(ret);
	new->mem = __vmalloc(resp.bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (new->mem)
		ret = rdma_user_mmap_entry_insert(context, &new->entry, resp.bytes);
	if (ret) {
		vfree(new->mem);
		kfree(new);
		return ERR_PTR(ret);
	}
	resp.offset = rdma_user_mmap_get_offset(&new->entry);
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret) {
		kib_map_end(new);
		return ERR_PTR(ret);
	}
	*map = new;
	return new->mem;
}

/* The kernel does not use the memory any more. */
void kib_map_end(struct kib_map *map)
{
	if (map)
		rdma_user_mmap_entry_remove(&map->entry);
}

/* The last reference is gone. */
void kib_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct kib_map *map = to_kib_map(entry);

	vfree(map->mem);
	kfree(map);
}

int kib_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	unsigned long i, at = vma->vm_start;
	struct rdma_user_mmap_entry *entry;
	int ret = 0;

	entry = rdma_user_mmap_entry_get(context, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	for (i = 0; !ret && i < entry->npages; i++, at += PAGE_SIZE)
		ret = vm_insert_page(vma, at,
				     vmalloc_to_page(to_kib_map(entry)->mem + i * PAGE_SIZE));
	rdma_user_mmap_entry_put(entry);
	return ret;
}
