// SPDX-License-Identifier: GPL-2.0
/*
 * mr.c - memory regions: what a peer may access, and the check of each access.
 *
 * The right to access memory and the life of struct kfi_mr are separate. An operation of a peer
 * holds a reference (kfi_mr.ref) for as long as the peer takes. The right is kfi_mr.live, together
 * with the key that the operation used: both are checked again in every RCU read section that moves
 * bytes. To end a region, mr_close() clears kfi_mr.live, removes its key and waits for a grace
 * period, or does not wait if no operation holds a reference. So no peer can delay the end of a
 * region by an operation whose bytes a CPU moves. The end waits also for persist(), which
 * belongs to the owner of the region (see commit.c), and for leases of the provider
 * (kfi_mr_lease()). These end in bounded time, except that of a place, which ends when the consumer
 * that has it and its device have finished. kfi_mr_warn_busy() logs a region that has waited for a
 * long time.
 *
 * A lookup takes no lock: it finds the region by its key under RCU, takes a reference, and then
 * makes all checks. kfi_mr_get() explains the order of these steps.
 *
 * kfi_mr.bind_lock serializes kfi_mr_bind() and kfi_mr_enable() of a region. The owner calls
 * neither at the same time as the close, or as kfi_mr_register(), which must not sleep.
 */
#include <linux/export.h>
#include <linux/memremap.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "core.h"
#include "cntr.h"
#include "mr.h"

#define MR_OWNER_RIGHTS		(KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE)
#define MR_PEER_RIGHTS		(KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define MR_RIGHTS		(MR_OWNER_RIGHTS | MR_PEER_RIGHTS | KFI_ATOMIC)
#define MR_REG_FLAGS		(KFI_RMA_EVENT | KFI_RMA_PMEM)

/* Protects &kfi_ep.regions of all endpoints. A leaf */
static DEFINE_SPINLOCK(bound_lock);

static struct kfi_mr *to_mr(struct kfid *fid)
{
	return container_of(fid, struct kfi_mr, fid.fid);
}

static const struct kfi_prov_ops *mr_ops(const struct kfi_mr *mr)
{
	return mr->domain->fabric->prov->ops;
}

static int mr_mode(const struct kfi_domain *domain)
{
	return domain->info->domain_attr->mr_mode;
}

void kfi_mr_exit(void)
{
	rcu_barrier();
	kfi_mr_done_exit();
}

/* ---- segments ---- */

static ssize_t measure_kvec(const struct kfi_mr_attr *attr, size_t *len)
{
	size_t i;

	for (i = 0; i < attr->iov_count; i++) {
		if (!attr->mr_iov[i].iov_base && attr->mr_iov[i].iov_len)
			return -EINVAL;
		if (check_add_overflow(*len, attr->mr_iov[i].iov_len, len))
			return -EINVAL;
	}
	return attr->iov_count;
}

static ssize_t measure_bvec(const struct kfi_mr_attr *attr, size_t *len)
{
	size_t i;

	for (i = 0; i < attr->iov_count; i++) {
		if (!attr->mr_biov[i].bv_page)
			return -EINVAL;
		if (is_pci_p2pdma_page(attr->mr_biov[i].bv_page))
			return -EOPNOTSUPP;
		if (check_add_overflow(*len, (size_t)attr->mr_biov[i].bv_len, len))
			return -EINVAL;
	}
	return attr->iov_count;
}

/*
 * DMA mapping may have merged entries: the length is that of the mapped entries, but the segments
 * are those of the pages.
 */
static ssize_t measure_sgl(const struct kfi_mr_attr *attr, size_t *len)
{
	struct scatterlist *sg = (struct scatterlist *)attr->mr_sgl;
	size_t left, segs = 0, i;

	for (i = 0; i < attr->iov_count; i++, sg = sg_next(sg)) {
		if (!sg || check_add_overflow(*len, (size_t)sg_dma_len(sg), len))
			return -EINVAL;
	}
	left = *len;
	for (sg = (struct scatterlist *)attr->mr_sgl; sg && left; sg = sg_next(sg)) {
		if (is_pci_p2pdma_page(sg_page(sg)))
			return -EOPNOTSUPP;
		left -= min_t(size_t, left, sg->length);
		segs++;
	}
	return left ? -EINVAL : segs;
}

/* A region has no pages of PCI devices, because software may read and write it. */
ssize_t kfi_mr_measure(const struct kfi_mr_attr *attr, size_t *len)
{
	ssize_t segs = -EINVAL;

	*len = 0;
	if (!attr->mr_iov || !attr->iov_count || attr->access & ~MR_RIGHTS)
		return -EINVAL;
	if (attr->auth_key_size)
		return -EOPNOTSUPP;
	if (attr->type == KFI_KVEC)
		segs = measure_kvec(attr, len);
	else if (attr->type == KFI_BVEC)
		segs = measure_bvec(attr, len);
	else if (attr->type == KFI_SGL)
		segs = measure_sgl(attr, len);
	return segs < 0 || *len ? segs : -EINVAL;
}

static void copy_sgl(struct kfi_mr *mr, const struct scatterlist *sgl, size_t len)
{
	struct bio_vec *bv = mr->iov.bvec;
	struct scatterlist *sg;

	for (sg = (struct scatterlist *)sgl; len; sg = sg_next(sg), bv++) {
		bv->bv_page = sg_page(sg);
		bv->bv_offset = sg->offset;
		bv->bv_len = min_t(size_t, len, sg->length);
		len -= bv->bv_len;
	}
}

static size_t seg_len(const struct kfi_mr *mr, size_t i)
{
	return iov_iter_is_kvec(&mr->iter) ? mr->iov.kvec[i].iov_len : mr->iov.bvec[i].bv_len;
}

/*
 * Return the common length of all segments but the first and the last, or 0 if they differ or if
 * there are too few to matter.
 */
static size_t find_unit(const struct kfi_mr *mr, size_t segs)
{
	size_t i;

	if (segs < 4)
		return 0;
	for (i = 2; i < segs - 1; i++)
		if (seg_len(mr, i) != seg_len(mr, 1))
			return 0;
	return seg_len(mr, 1);
}

void kfi_mr_fill(struct kfi_mr *mr, const struct kfi_mr_attr *attr, size_t segs, size_t len)
{
	if (attr->type == KFI_KVEC) {
		memcpy(mr->iov.kvec, attr->mr_iov, segs * sizeof(struct kvec));
		iov_iter_kvec(&mr->iter, ITER_SOURCE, mr->iov.kvec, segs, len);
	} else {
		if (attr->type == KFI_SGL)
			copy_sgl(mr, attr->mr_sgl, len);
		else if (attr->mr_biov != mr->iov.bvec)
			memcpy(mr->iov.bvec, attr->mr_biov, segs * sizeof(struct bio_vec));
		iov_iter_bvec(&mr->iter, ITER_SOURCE, mr->iov.bvec, segs, len);
	}
	mr->unit = find_unit(mr, segs);
	mr->len = len;
	mr->access = attr->access;
	mr->persist = attr->persist;
	mr->fid.addr = attr->offset;
	if (mr_mode(mr->domain) & KFI_MR_VIRT_ADDR && attr->type == KFI_KVEC)
		mr->fid.addr = (unsigned long)attr->mr_iov[0].iov_base;
	mr->claims = 0;
	if (unlikely(!xa_empty(&mr->domain->mems)))
		kfi_mem_claim(mr);
}

/* ---- registration at the provider ---- */

/* Add the region to domain->regions, which kfi_mr_device_gone() walks. */
static int mr_join(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	bool dead;

	mutex_lock(&domain->lock);
	dead = domain->dead;
	if (!dead)
		kfi_obj_link(&mr->obj, &domain->regions);
	mutex_unlock(&domain->lock);
	if (dead)
		mr_ops(mr)->mr_dereg(mr);
	return dead ? -ENODEV : 0;
}

/*
 * Remove the region from domain->regions. Return: true if it was there: then it is still registered
 * at the provider, and the caller must call ops->mr_dereg().
 */
static bool mr_leave(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	bool listed;

	mutex_lock(&domain->lock);
	listed = !list_empty(&mr->obj.entry);
	list_del_init(&mr->obj.entry);
	mutex_unlock(&domain->lock);
	return listed;
}

/*
 * The endpoints of the domain are dead already: no request of a peer can use a region any more, and
 * only the device can still access its memory.
 */
void kfi_mr_device_gone(struct kfi_domain *domain)
{
	struct kfi_mr *mr, *next;

	lockdep_assert_held(&domain->lock);
	if (list_empty(&domain->regions))
		return;
	/* kfi_mr_register() has either seen domain->dead or is done */
	synchronize_rcu_expedited();
	list_for_each_entry_safe(mr, next, &domain->regions, obj.entry) {
		list_del_init(&mr->obj.entry);
		mr_ops(mr)->mr_dereg(mr);
	}
}

int kfi_mr_prepare(struct kfi_mr *mr)
{
	if (!mr_ops(mr)->mr_reg)
		return 0;
	return mr_ops(mr)->mr_reg(mr) ?: mr_join(mr);
}

static void mr_undo(struct kfi_mr *mr)
{
	if (mr_ops(mr)->mr_dereg && mr_leave(mr))
		mr_ops(mr)->mr_dereg(mr);
}

/* ---- life ---- */

static void mr_free(struct rcu_head *rcu)
{
	struct kfi_mr *mr = container_of(rcu, struct kfi_mr, rcu);

	mutex_destroy(&mr->bind_lock);
	kvfree(mr->iov.kvec);
	kfree(mr);
}

static void mr_release(struct kref *ref)
{
	struct kfi_mr *mr = container_of(ref, struct kfi_mr, ref);

	call_rcu(&mr->rcu, mr_free);
}

void kfi_mr_put(struct kfi_mr *mr)
{
	kref_put(&mr->ref, mr_release);
}
EXPORT_SYMBOL_GPL(kfi_mr_put);

struct kfi_mr *kfi_mr_new(struct kfi_domain *domain, size_t iov_limit, void *context)
{
	struct kfi_mr *mr;

	if (READ_ONCE(domain->dead))
		return ERR_PTR(-ENODEV);
	mr = kzalloc(max(sizeof(*mr), domain->fabric->prov->ops->mr_size), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iov.kvec = kvmalloc_array(iov_limit, max(sizeof(struct kvec), sizeof(struct bio_vec)),
				      GFP_KERNEL_ACCOUNT);
	if (!mr->iov.kvec) {
		kfree(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->fid.fid.fclass = KFI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.key = KFI_KEY_NOTAVAIL;
	mr->domain = domain;
	mr->iov_limit = iov_limit;
	kref_init(&mr->ref);
	mutex_init(&mr->bind_lock);
	refcount_set(&mr->uses, 1);
	spin_lock_init(&mr->lease_lock);
	INIT_LIST_HEAD(&mr->leases);
	INIT_LIST_HEAD(&mr->bound);
	kfi_obj_init(&mr->obj);
	kfi_obj_get(&domain->obj);
	return mr;
}

void kfi_mr_abandon(struct kfi_mr *mr)
{
	kfi_mem_unclaim(mr);
	kfi_mr_leave_slot(mr);
	kfi_obj_put(&mr->domain->obj);
	kfi_mr_put(mr);
}

void kfi_mr_make_live(struct kfi_mr *mr)
{
	mr->enabled = true;
	this_cpu_inc(*mr->domain->registered);
	/* publishes key and memory; pairs with kfi_mr_live() */
	smp_store_release(&mr->live, true);
}

void kfi_mr_make_dead(struct kfi_mr *mr)
{
	WRITE_ONCE(mr->live, false);
	kfi_mr_drop_key(mr);
}

/*
 * Return true if peers may use the region only after its bindings are complete and it was enabled.
 */
static bool needs_enable(const struct kfi_mr *mr)
{
	return mr_mode(mr->domain) & KFI_MR_ENDPOINT || mr->flags & KFI_RMA_EVENT;
}

static int check_reg(const struct kfi_domain *domain, const struct kfi_mr_attr *attr, u64 flags)
{
	size_t limit = domain->info->domain_attr->mr_iov_limit;

	if (flags & ~MR_REG_FLAGS)
		return -KFI_EBADFLAGS;
	if (flags & KFI_RMA_PMEM && !attr->persist)
		return -EINVAL;
	return limit && attr->iov_count > limit ? -EINVAL : 0;
}

static int first_key(struct kfi_mr *mr, u64 requested)
{
	u64 key = mr_mode(mr->domain) & KFI_MR_PROV_KEY ? KFI_KEY_NOTAVAIL : requested;

	return (key == KFI_KEY_NOTAVAIL ? kfi_mr_take_slot(mr) : 0) ?: kfi_mr_set_key(mr, key);
}

int kfi_mr_regattr(struct kfid_domain *dfid, const struct kfi_mr_attr *attr, uint64_t flags,
		   struct kfid_mr **mrp)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);
	struct kfi_mr *mr;
	ssize_t segs;
	size_t len;
	int ret;

	might_sleep();
	ret = check_reg(domain, attr, flags);
	if (ret)
		return ret;
	segs = kfi_mr_measure(attr, &len);
	if (segs < 0)
		return segs;
	mr = kfi_mr_new(domain, segs, attr->context);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->flags = flags;
	kfi_mr_fill(mr, attr, segs, len);
	ret = kfi_mr_prepare(mr);
	if (ret)
		goto abandon;
	/* A key of the provider may depend on the endpoint: mr_bind_key() */
	if (!domain->prov_keys)
		ret = first_key(mr, attr->requested_key);
	if (ret)
		goto undo;
	if (!needs_enable(mr))
		kfi_mr_make_live(mr);
	*mrp = &mr->fid;
	return 0;

undo:
	mr_undo(mr);
abandon:
	kfi_mr_abandon(mr);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mr_regattr);

void kfi_mr_warn_busy(const struct kfi_mr *mr)
{
	pr_warn("kfi: region %u of domain %u (%s), %zu bytes, waits for a lease or persist()\n",
		mr->obj.id, mr->domain->obj.id, mr->domain->fabric->prov->name, mr->len);
}

static int mr_close(struct kfid *fid)
{
	struct kfi_mr *mr = to_mr(fid);

	if (READ_ONCE(mr->work) || !kfi_obj_retire(&mr->obj))
		return -EBUSY;
	if (mr->per_io)
		kfi_mr_retire(mr);
	kfi_mr_make_dead(mr);
	if (kfi_mr_in_use(mr)) {
		kfi_mr_recall(mr);
		synchronize_rcu();
		kfi_mr_settle(mr);
		while (!wait_var_event_timeout(&mr->uses, !refcount_read(&mr->uses),
					       KFI_MR_LATE))
			kfi_mr_warn_busy(mr);
	}
	mr_undo(mr);
	spin_lock(&bound_lock);
	list_del(&mr->bound);
	spin_unlock(&bound_lock);
	if (mr->ep)
		kfi_obj_put(&mr->ep->obj);
	if (mr->cntr)
		kfi_obj_put(kfi_cntr_obj(mr->cntr));
	kfi_mr_abandon(mr);
	return 0;
}

/* ---- bindings and control ---- */

/*
 * The provider gets to know the endpoint, and its key is entered into the table; if that fails, the
 * provider forgets the endpoint. The lock keeps the removal of the device from calling
 * ops->mr_dereg() meanwhile.
 */
static int mr_bind_key(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	int ret;

	if (!domain->prov_keys)
		return 0;
	mutex_lock(&domain->lock);
	ret = domain->dead ? -ENODEV : mr_ops(mr)->mr_bind(mr);
	if (!ret && !mr->per_io) {
		ret = kfi_mr_set_key(mr, KFI_KEY_NOTAVAIL);
		if (ret)
			mr_ops(mr)->mr_unbind(mr);
	}
	mutex_unlock(&domain->lock);
	return ret;
}

/*
 * A region that needs no enabling is live already, and may still be restricted to an endpoint
 * later. A region that needs enabling can be bound only before that, a region for one I/O only
 * before its first registration.
 */
static int mr_bind_ep(struct kfi_mr *mr, struct kfi_ep *ep, u64 flags)
{
	int ret;

	lockdep_assert_held(&mr->bind_lock);
	if (flags)
		return -KFI_EBADFLAGS;
	if (ep->domain != mr->domain)
		return -KFI_EDOMAIN;
	if (mr->ep)
		return -EINVAL;
	if (mr->enabled && (needs_enable(mr) || mr->per_io))
		return -KFI_EOPBADSTATE;
	kfi_obj_get(&ep->obj);
	WRITE_ONCE(mr->ep, ep);
	ret = mr_bind_key(mr);
	if (ret) {
		WRITE_ONCE(mr->ep, NULL);
		kfi_obj_put(&ep->obj);
		return ret;
	}
	if (mr->per_io) {
		spin_lock(&bound_lock);
		list_add_tail(&mr->bound, &ep->regions);
		spin_unlock(&bound_lock);
	}
	kfi_mr_recall_wait(mr);		/* peers of other endpoints may have leases */
	return 0;
}

static int mr_bind_cntr(struct kfi_mr *mr, struct kfi_cntr *cntr, u64 flags)
{
	lockdep_assert_held(&mr->bind_lock);
	if (!flags || flags & ~MR_PEER_RIGHTS)
		return -KFI_EBADFLAGS;
	if (cntr->domain != mr->domain)
		return -KFI_EDOMAIN;
	if (mr->cntr)
		return -EINVAL;
	if (mr->enabled && needs_enable(mr))
		return -KFI_EOPBADSTATE;
	kfi_obj_get(kfi_cntr_obj(cntr));
	mr->cntr = cntr;
	/* publishes mr->cntr; pairs with kfi_remote_rma() */
	smp_store_release(&mr->cntr_access, flags);
	return 0;
}

static int mr_bind(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct kfi_mr *mr = to_mr(fid);
	int ret = -EINVAL;

	mutex_lock(&mr->bind_lock);
	switch (bfid->fclass) {
	case KFI_CLASS_EP:
	case KFI_CLASS_SEP:
	case KFI_CLASS_RX_CTX:
		ret = mr_bind_ep(mr, container_of(bfid, struct kfi_ep, fid.fid), flags);
		break;
	case KFI_CLASS_CNTR:
		ret = mr_bind_cntr(mr, container_of(bfid, struct kfi_cntr, fid.fid), flags);
	}
	mutex_unlock(&mr->bind_lock);
	return ret;
}

static int mr_enable(struct kfi_mr *mr)
{
	int ret = 0;

	lockdep_assert_held(&mr->bind_lock);
	if (mr->enabled || mr->per_io)
		return -EINVAL;
	if (mr_mode(mr->domain) & KFI_MR_ENDPOINT && !mr->ep)
		return -KFI_EOPBADSTATE;
	if (mr->flags & KFI_RMA_EVENT && !mr->cntr)
		return -KFI_EOPBADSTATE;
	if (mr_ops(mr)->mr_enable)
		ret = mr_ops(mr)->mr_enable(mr);
	if (!ret)
		kfi_mr_make_live(mr);
	return ret;
}

static int mr_control(struct kfid *fid, int command, void *arg)
{
	struct kfi_mr *mr = to_mr(fid);
	int ret;

	if (command != KFI_ENABLE)
		return -EOPNOTSUPP;
	mutex_lock(&mr->bind_lock);
	ret = mr_enable(mr);
	mutex_unlock(&mr->bind_lock);
	return ret;
}

const struct kfi_fid_class kfi_mr_class = {
	.name = "mr",
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
};

/* ---- access check ---- */

static void mr_range(const struct kfi_mr *mr, size_t at, size_t len, bool source,
		     struct iov_iter *iter)
{
	size_t first = seg_len(mr, 0), segs = mr->iter.nr_segs, skip, base;

	*iter = mr->iter;
	if (mr->unit && at >= first) {
		skip = min(1 + (at - first) / mr->unit, segs - 1);
		base = first + (skip - 1) * mr->unit;
		if (iov_iter_is_kvec(&mr->iter))
			iov_iter_kvec(iter, ITER_SOURCE, mr->iov.kvec + skip, segs - skip,
				      mr->len - base);
		else
			iov_iter_bvec(iter, ITER_SOURCE, mr->iov.bvec + skip, segs - skip,
				      mr->len - base);
		at -= base;
	}
	iov_iter_advance(iter, at);
	iov_iter_truncate(iter, len);
	iter->data_source = source;
}

/*
 * The reference is taken before mr->live is read, with a full barrier in between. The end of a
 * region clears mr->live before it reads the reference count (kfi_mr_in_use()). So either this
 * function sees that the region is dead, or the end sees the reference and waits for the RCU read
 * section. The key is compared again because a region for one I/O may have been registered again,
 * with another key, since the lookup.
 */
struct kfi_mr *kfi_mr_get(struct kfi_ep *ep, u64 key, u64 addr, u64 len, u64 access,
			  struct iov_iter *iter)
{
	struct kfi_mr *mr;
	u64 at;

	rcu_read_lock();
	mr = kfi_mr_find(ep, key);
	if (!mr || !kref_get_unless_zero(&mr->ref))
		goto refuse;
	smp_mb__after_atomic();		/* pairs with kfi_mr_in_use() */
	at = addr - mr->fid.addr;	/* if addr is less, it wraps, and is beyond the region */
	if (!kfi_mr_live(mr, key) || at > mr->len || len > mr->len - at ||
	    access & (~mr->access | READ_ONCE(ep->remote_denied)))
		goto put;
	mr_range(mr, at, len, access & KFI_REMOTE_READ, iter);
	rcu_read_unlock();
	return mr;

put:
	kfi_mr_put(mr);
refuse:
	rcu_read_unlock();
	return ERR_PTR(-EACCES);
}
EXPORT_SYMBOL_GPL(kfi_mr_get);
