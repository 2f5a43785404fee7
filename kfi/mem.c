// SPDX-License-Identifier: GPL-2.0
/*
 * mem.c - memory that a domain's hardware reaches best. A provider that has such memory implements
 * &kfi_prov_ops.mem_alloc. For other providers it is pages near the device.
 *
 * A region pins the memory of kfi_mem_alloc() that it contains. Each segment of a region that
 * begins in such memory holds a count in &kfi_mem.regions, from the registration until no byte can
 * be written to the region any more; kfi_mem_free() returns -EBUSY meanwhile. Segments are looked
 * up in &kfi_domain.mems by page number, under RCU, because regions for one I/O are registered in
 * softirq. In a domain without such memory this costs a test for an empty table.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "core.h"
#include "mr.h"

/* ---- regions ---- */

static unsigned long seg_page(const struct kfi_mr *mr, size_t i)
{
	const struct bio_vec *bv = &mr->iov.bvec[i];

	if (iov_iter_is_kvec(&mr->iter))
		return (unsigned long)mr->iov.kvec[i].iov_base >> PAGE_SHIFT;
	if (PageHighMem(bv->bv_page))
		return 0;
	return ((unsigned long)page_address(bv->bv_page) + bv->bv_offset) >> PAGE_SHIFT;
}

/*
 * Registering memory that is being freed is a fault of the consumer: the memory is not found then.
 */
static bool claim(struct kfi_domain *domain, unsigned long page)
{
	struct kfi_mem *mem = xa_load(&domain->mems, page);

	return mem && refcount_inc_not_zero(&mem->regions);
}

void kfi_mem_claim(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	size_t i;

	rcu_read_lock();
	for (i = 0; i < mr->iter.nr_segs; i++)
		mr->claims += claim(domain, seg_page(mr, i));
	rcu_read_unlock();
}

void kfi_mem_unclaim(struct kfi_mr *mr)
{
	struct kfi_mem *mem;
	size_t i;

	if (likely(!mr->claims))
		return;
	rcu_read_lock();
	for (i = 0; i < mr->iter.nr_segs && mr->claims; i++) {
		mem = xa_load(&mr->domain->mems, seg_page(mr, i));
		if (!mem)
			continue;
		/* cannot drop to 0: kfi_mem_free() removes the last count */
		refcount_dec(&mem->regions);
		mr->claims--;
	}
	rcu_read_unlock();
}

/* ---- allocation ---- */

/* domain->lock prevents removal of the device during the call. */
static int mem_of_device(struct kfi_domain *domain, struct kfi_mem *mem)
{
	unsigned int noio = memalloc_noio_save();	/* see docs/locking.md */
	int ret = -ENODEV;

	mutex_lock(&domain->lock);
	if (!domain->dead)
		ret = domain->fabric->prov->ops->mem_alloc(domain, mem);
	mutex_unlock(&domain->lock);
	memalloc_noio_restore(noio);
	mem->direct = !ret;
	return ret;
}

static int mem_of_pages(struct kfi_domain *domain, struct kfi_mem *mem)
{
	mem->addr = kvzalloc_node(mem->len, GFP_KERNEL | __GFP_NOWARN, domain->limits.numa_node);
	if (!mem->addr)
		return -ENOMEM;
	WARN_ON_ONCE(!PAGE_ALIGNED(mem->addr));
	mem->numa_node = is_vmalloc_addr(mem->addr) ? domain->limits.numa_node :
						      page_to_nid(virt_to_page(mem->addr));
	return 0;
}

static int mem_get(struct kfi_domain *domain, struct kfi_mem *mem, u64 flags)
{
	const struct kfi_prov_ops *ops = domain->fabric->prov->ops;
	int ret = ops->mem_alloc ? mem_of_device(domain, mem) : -ENOMEM;

	if (!ret || ret == -ENODEV || (ops->mem_alloc && flags & KFI_MEM_DIRECT))
		return ret;
	ret = mem_of_pages(domain, mem);
	if (!ops->mem_alloc)
		mem->direct = !ret;	/* the provider has no better memory */
	return ret;
}

static void mem_put(struct kfi_domain *domain, struct kfi_mem *mem)
{
	const struct kfi_prov_ops *ops = domain->fabric->prov->ops;

	if (ops->mem_free && mem->direct)
		ops->mem_free(domain, mem);
	else
		kvfree(mem->addr);
}

/*
 * Return the page number in the linear map of vmalloc()ed memory: seg_page() computes that number
 * for a region that names the memory by its pages. Return 0 if there is none other than that of
 * @addr.
 */
static unsigned long other_page(const void *addr)
{
	struct page *page = is_vmalloc_addr(addr) ? vmalloc_to_page(addr) : NULL;

	if (!page || !pfn_valid(page_to_pfn(page)) || PageHighMem(page))
		return 0;
	return (unsigned long)page_address(page) >> PAGE_SHIFT;
}

static void mem_unlist(struct kfi_domain *domain, struct kfi_mem *mem)
{
	unsigned long other;
	size_t at;

	for (at = 0; at < mem->len; at += PAGE_SIZE) {
		other = other_page(mem->addr + at);
		xa_erase(&domain->mems, (unsigned long)(mem->addr + at) >> PAGE_SHIFT);
		if (other)
			xa_erase(&domain->mems, other);
	}
}

static int mem_list(struct kfi_domain *domain, struct kfi_mem *mem)
{
	unsigned long other;
	size_t at;
	int ret = 0;

	for (at = 0; at < mem->len && !ret; at += PAGE_SIZE) {
		other = other_page(mem->addr + at);
		ret = xa_err(xa_store(&domain->mems, (unsigned long)(mem->addr + at) >> PAGE_SHIFT,
				      mem, GFP_KERNEL));
		if (!ret && other)
			ret = xa_err(xa_store(&domain->mems, other, mem, GFP_KERNEL));
	}
	if (ret)
		mem_unlist(domain, mem);
	return ret;
}

int kfi_mem_alloc(struct kfid_domain *dfid, size_t len, uint64_t flags, struct kfi_mem **memp)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);
	struct kfi_mem *mem;
	int ret;

	might_sleep();
	if (flags & ~KFI_MEM_DIRECT)
		return -KFI_EBADFLAGS;
	if (!len || len > KFI_MEM_MAX)
		return -EINVAL;
	if (READ_ONCE(domain->dead))
		return -ENODEV;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	mem->len = PAGE_ALIGN(len);
	mem->domain = dfid;
	refcount_set(&mem->regions, 1);
	ret = mem_get(domain, mem, flags);
	if (ret)
		goto free;
	ret = mem_list(domain, mem);
	if (ret)
		goto put;
	kfi_obj_get(&domain->obj);
	*memp = mem;
	return 0;
put:
	mem_put(domain, mem);
free:
	kfree(mem);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mem_alloc);

int kfi_mem_free(struct kfi_mem *mem)
{
	struct kfi_domain *domain = kfi_to_domain(mem->domain);

	might_sleep();
	if (!refcount_dec_if_one(&mem->regions))
		return -EBUSY;
	mem_unlist(domain, mem);
	mem_put(domain, mem);
	kfi_obj_put(&domain->obj);
	kfree_rcu(mem, rcu);	/* kfi_mem_claim() may still access it */
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mem_free);
