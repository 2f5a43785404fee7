// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - queues in memory that a process has mapped. include/kfi_ib.h has their format.
 *
 * The object whose queue it is has a reference, and so has each mmap() that is in progress. What is
 * mapped keeps its pages: the queue may end while the process still looks at it. Until it does not,
 * the memory stays charged, in &kib_ucontext.maps, through which the creation of each queue looks.
 * A mapping keeps the descriptor of uverbs, and the descriptor keeps the context, unless the device
 * goes: then the context, and the charge, end first.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kib.h"

/**
 * struct kib_map - memory that a process may map
 * @entry: the RDMA core's part; it has the references
 * @left: in &kib_ucontext.maps
 * @mem: the memory
 * @bytes: size of it, which is charged
 */
struct kib_map {
	struct rdma_user_mmap_entry entry;
	struct list_head left;
	void *mem;
	size_t bytes;
};

static struct kib_map *to_kib_map(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct kib_map, entry);
}

static struct page *map_page(const struct kib_map *map, size_t number)
{
	return vmalloc_to_page(map->mem + (number << PAGE_SHIFT));
}

/* Has the process mapped a part of the memory? */
static bool map_is_used(const struct kib_map *map)
{
	size_t i;

	for (i = 0; i < map->bytes >> PAGE_SHIFT; i++)
		if (page_count(map_page(map, i)) > 1)
			return true;
	return false;
}

static void map_free(struct kib_ucontext *uc, struct kib_map *map)
{
	vfree(map->mem);
	kfi_payer_give(uc->payer, KFI_PAYER_OTHERS, map->bytes);
	kfree(map);
}

/* Free the memory of queues that have ended, as far as the process has not mapped it, or @all. */
static void maps_sweep(struct kib_ucontext *uc, bool all)
{
	struct kib_map *map, *next;
	LIST_HEAD(unused);

	mutex_lock(&uc->maps_lock);
	list_for_each_entry_safe(map, next, &uc->maps, left)
		if (all || !map_is_used(map))
			list_move(&map->left, &unused);
	mutex_unlock(&uc->maps_lock);
	list_for_each_entry_safe(map, next, &unused, left)
		map_free(uc, map);
}

/* The context ends. */
void kib_maps_end(struct kib_ucontext *uc)
{
	maps_sweep(uc, true);
	mutex_destroy(&uc->maps_lock);
}

static struct kib_map *map_alloc(struct kib_ucontext *uc, size_t bytes)
{
	struct kib_map *map;

	if (kfi_payer_take(uc->payer, KFI_PAYER_OTHERS, bytes))
		return NULL;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (map) {
		map->bytes = bytes;
		map->mem = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
		if (map->mem)
			return map;
		kfree(map);
	}
	kfi_payer_give(uc->payer, KFI_PAYER_OTHERS, bytes);
	return NULL;
}

/*
 * Make zeroed memory of @bytes that the process of the context may map, and tell it how.
 * Return: the memory, which kib_map_end() ends by *@map; or an error pointer
 */
void *kib_map_new(struct ib_ucontext *context, struct ib_udata *udata, size_t bytes,
		  struct kib_map **map)
{
	struct kib_ucontext *uc = container_of(context, struct kib_ucontext, ib);
	struct kfi_ib_queue_resp resp = { .bytes = PAGE_ALIGN(bytes) };
	struct kib_map *new;
	int ret;

	if (udata->outlen < sizeof(resp))
		return ERR_PTR(-EINVAL);
	maps_sweep(uc, false);
	new = map_alloc(uc, resp.bytes);
	if (!new)
		return ERR_PTR(-ENOMEM);
	ret = rdma_user_mmap_entry_insert(context, &new->entry, resp.bytes);
	if (ret) {
		map_free(uc, new);
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
	struct kib_ucontext *uc = container_of(entry->ucontext, struct kib_ucontext, ib);
	struct kib_map *map = to_kib_map(entry);

	if (!map_is_used(map)) {
		map_free(uc, map);
		return;
	}
	mutex_lock(&uc->maps_lock);
	list_add(&map->left, &uc->maps);
	mutex_unlock(&uc->maps_lock);
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
		ret = vm_insert_page(vma, at, map_page(to_kib_map(entry), i));
	rdma_user_mmap_entry_put(entry);
	return ret;
}
