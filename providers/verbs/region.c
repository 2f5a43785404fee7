// SPDX-License-Identifier: GPL-2.0
/*
 * region.c - regions of MSG endpoints: each has one registration, and peers use its key (rkey.c).
 * Memory that peers of an RDM endpoint may write is registered by its connections (expose.c).
 *
 *	NEW ---> VALID ---> DEREG ---> NOMR ---> NEW
 *	 in a      |          |         a new registration was allocated (@alloc_work)
 *	 send      |          the registration was deregistered, in a work item
 *	 queue     the region ends, or its registration has failed
 *
 * The end of a region does not wait for the allocation of a new registration: there may be no
 * memory before I/O has ended. It waits until its registration is deregistered, which does not
 * depend on a peer, except for requests that precede it in a send queue. A region whose
 * registration is in a send queue is not changed in any state, because the device reads it; unless
 * a message of the peer has invalidated the key: then the device has executed the registration,
 * though it may not have reported it yet.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "region.h"

#define KV_ALLOC_RETRY	msecs_to_jiffies(50)

/* ---- the registration ---- */

static int kv_region_alloc(struct kv_region *region)
{
	struct ib_mr *mr = ib_alloc_mr(region->pd, IB_MR_TYPE_MEM_REG, region->room);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	region->ib = mr;
	return 0;
}

void kv_region_unmap(struct kv_region *region)
{
	if (region->nents)
		ib_dma_unmap_sg(region->kdom->ib, region->sg, region->nents, DMA_BIDIRECTIONAL);
	region->nents = 0;
}

int kv_region_map(struct kv_region *region)
{
	int ret = kv_map_mr(region->kdom, region->ib, region->sg, region->run, region->len,
			    DMA_BIDIRECTIONAL);

	if (!ret)
		region->nents = region->run;
	return ret;
}

/* Deregister the memory. On return the device does not access it any more. Process context. */
static void kv_region_dereg(struct kv_region *region)
{
	if (region->ib)
		ib_dereg_mr(region->ib);
	region->ib = NULL;
	kv_region_unmap(region);
}

/* ---- life ---- */

static void kv_region_free(struct kv_region *region)
{
	kv_region_dereg(region);
	kvfree(region->sg);
	kv_domain_put(region->kdom);
	kfree_rcu(region, rcu);		/* kv_mr_end() may still read @closed */
}

static bool kv_region_reclaims(const struct kv_region *region)
{
	return region->mr->ep && region->mr->ep->reclaim;
}

/*
 * Begin allocations of the device for a region. I/O may wait for these allocations, so they do not
 * wait for I/O. If memory reclaim may wait for the endpoint (KFI_OPT_RECLAIM), they use the
 * reserves instead of reclaiming.
 */
static unsigned int kv_alloc_begin(bool reclaim)
{
	return reclaim ? memalloc_noreclaim_save() : memalloc_noio_save();
}

static void kv_alloc_end(bool reclaim, unsigned int flags)
{
	if (reclaim)
		memalloc_noreclaim_restore(flags);
	else
		memalloc_noio_restore(flags);
}

/*
 * Replace a registration that was deregistered, if memory is available without reclaim: the owner
 * may want to use the region before kv_alloc_work() has run.
 */
static void kv_region_realloc(struct kv_region *region)
{
	unsigned int noreclaim = memalloc_noreclaim_save();

	kv_region_alloc(region);
	memalloc_noreclaim_restore(noreclaim);
}

/*
 * Deregister a region that is DEREG and not in a send queue. The caller holds the lock, which is
 * dropped meanwhile. Return: true if it is still in a send queue. Then kv_region_registered()
 * queues the work item again. The work item must not wait for it: how long a request stays in a
 * send queue depends on a peer.
 */
static bool kv_region_clear(struct kv_region *region)
{
	if (region->state != KV_REGION_DEREG)
		return false;
	if (region->queued)
		return true;
	spin_unlock_bh(&region->lock);
	kv_region_dereg(region);
	kv_region_realloc(region);
	spin_lock_bh(&region->lock);
	region->state = region->ib ? KV_REGION_NEW : KV_REGION_NOMR;
	return false;
}

/* Allocate the registration of a NOMR region, which only this work item uses. */
static void kv_alloc_work(struct work_struct *work)
{
	struct kv_region *region = container_of(to_delayed_work(work), struct kv_region,
						alloc_work);
	bool reclaim = kv_region_reclaims(region);
	unsigned int flags = kv_alloc_begin(reclaim);
	int ret = 0;

	if (READ_ONCE(region->state) == KV_REGION_NOMR)
		ret = kv_region_alloc(region);
	spin_lock_bh(&region->lock);
	if (!ret && region->state == KV_REGION_NOMR)
		region->state = KV_REGION_NEW;
	if (ret && !region->closed)
		queue_delayed_work(kv_region_wq, &region->alloc_work, KV_ALLOC_RETRY);
	spin_unlock_bh(&region->lock);
	kv_alloc_end(reclaim, flags);
}

/*
 * Deregister a DEREG region, and report its end. A failed registration and the end of the region
 * both queue this work item, so the first run may do the work of both.
 */
static void kv_dereg_work(struct work_struct *work)
{
	struct kv_region *region = container_of(work, struct kv_region, dereg_work);
	bool ending, reclaim = kv_region_reclaims(region);
	unsigned int flags = kv_alloc_begin(reclaim);

	spin_lock_bh(&region->lock);
	ending = !kv_region_clear(region) && region->ending;
	if (ending)
		region->ending = false;
	if (!region->closed && region->state == KV_REGION_NOMR)
		queue_delayed_work(kv_region_wq, &region->alloc_work, 0);
	spin_unlock_bh(&region->lock);
	kv_alloc_end(reclaim, flags);
	if (ending)
		kfi_mr_settle(region->mr);
}

/* Return the limit of scatterlist entries. */
static unsigned int kv_region_pages(const struct kfi_mr *mr, unsigned int pages)
{
	if (mr->per_io)
		return min_t(size_t, pages, mr->iov_limit + 1);
	return min_t(size_t, pages, mr->len / PAGE_SIZE + 2);
}

/*
 * Find the pages of the memory. -EINVAL: it has gaps, or more pages than the region was opened
 * for.
 */
static int kv_region_fill(struct kv_region *region)
{
	struct iov_iter iter = region->mr->iter;

	region->run = kv_take_run(&iter, region->sg, region->room, &region->len);
	return iov_iter_count(&iter) ? -EINVAL : 0;
}

static struct kv_region *kv_region_new(struct kfi_mr *mr, struct kv_domain *kdom)
{
	struct kv_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!region)
		return ERR_PTR(-ENOMEM);
	region->mr = mr;
	region->kdom = kdom;
	spin_lock_init(&region->lock);
	init_waitqueue_head(&region->idle);
	INIT_LIST_HEAD(&region->reg_node);
	INIT_WORK(&region->dereg_work, kv_dereg_work);
	INIT_DELAYED_WORK(&region->alloc_work, kv_alloc_work);
	region->room = kv_region_pages(mr, kdom->max_key_pages);
	region->sg = kv_alloc_sg(region->room, GFP_KERNEL_ACCOUNT);
	ret = region->sg ? 0 : -ENOMEM;
	if (!ret && !mr->per_io)
		ret = kv_region_fill(region);
	if (!ret)
		return region;
	kvfree(region->sg);
	kfree(region);
	return ERR_PTR(ret);
}

/*
 * A region of an RDM endpoint needs nothing of the device: its connections register what a grant
 * gives (expose.c). No device can report an access, so a region with a key of the device can't
 * have KFI_RMA_EVENT.
 */
int kv_mr_open(struct kfi_mr *mr)
{
	struct kv_domain *kdom = to_kv_domain(mr->domain);
	struct kv_region *region;

	if (!kdom->domain.prov_keys)
		return 0;
	if (mr->flags & KFI_RMA_EVENT || mr->persist)
		return -EOPNOTSUPP;
	if (!kv_domain_get(kdom))
		return -ENODEV;
	region = kv_region_new(mr, kdom);
	if (IS_ERR(region)) {
		kv_domain_put(kdom);
		return PTR_ERR(region);
	}
	spin_lock_bh(&kdom->regions_lock);
	list_add_tail_rcu(&region->entry, &kdom->regions);
	spin_unlock_bh(&kdom->regions_lock);
	mr->priv = region;
	return 0;
}

/*
 * The endpoint of a region is known, and so is its protection domain: no peer of another endpoint
 * can use the key. The end of the domain frees the protection domain after the last region.
 */
int kv_mr_bind(struct kfi_mr *mr)
{
	struct kv_region *region = mr->priv;
	unsigned int noio;
	int ret;

	if (mr->ep->type != KFI_EP_MSG || region->ib)
		return -EINVAL;
	noio = memalloc_noio_save();
	region->pd = to_kv_ep(mr->ep)->pd;
	ret = kv_region_alloc(region);
	if (!ret && !mr->per_io)
		ret = kv_region_key(region, false);
	if (ret)
		kv_region_dereg(region);
	memalloc_noio_restore(noio);
	return ret;
}

void kv_mr_unbind(struct kfi_mr *mr)
{
	unsigned int noio = memalloc_noio_save();

	kv_region_dereg(mr->priv);
	memalloc_noio_restore(noio);
}

int kv_mr_attach(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	int ret = -ENODEV;	/* the device was removed */
	bool unused;

	if (!mr->domain->prov_keys)
		return 0;
	if (!region)
		return ret;
	if (!mr->ep || mr->ep->type != KFI_EP_MSG)
		return -EINVAL;
	if (!kv_region_conn(mr))
		return -ENOTCONN;
	spin_lock_bh(&region->lock);
	/* kfi.ko has refused the key of the last attach, so it was never passed to the device. */
	unused = region->state == KV_REGION_NEW && region->nents;
	if (unused)
		kv_region_unmap(region);
	if (!region->closed)
		ret = region->state != KV_REGION_NEW ? -EAGAIN : kv_region_fill(region);
	if (!ret)
		ret = kv_region_key(region, unused);
	spin_unlock_bh(&region->lock);
	return ret;
}

/* The region ends: mark it DEREG. Return: true if there is something to deregister. */
static bool kv_region_mark_dereg(struct kv_region *region)
{
	lockdep_assert_held(&region->lock);
	if ((region->state == KV_REGION_NEW && !region->nents) || region->state == KV_REGION_NOMR)
		return false;
	region->state = KV_REGION_DEREG;
	return true;
}

/* Inside rcu_read_lock(): the removal of the device may free the region. */
bool kv_mr_end(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool ending = false;

	if (!region)
		return false;
	kv_reg_queue_del(region);
	spin_lock_bh(&region->lock);
	if (!region->closed) {
		ending = kv_region_mark_dereg(region);
		region->ending = ending;
		if (ending)
			queue_work(kv_cm_wq, &region->dereg_work);
	}
	spin_unlock_bh(&region->lock);
	return ending;
}

bool kv_mr_known(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool known;

	if (!region)
		return false;
	kv_reg_queue_del(region);
	spin_lock_bh(&region->lock);
	known = region->state == KV_REGION_VALID || region->state == KV_REGION_DEREG;
	spin_unlock_bh(&region->lock);
	return known;
}

/*
 * Wait until no registration is in a send queue. If a peer posts no receive, requests behind a
 * message to it are not executed. After peer_timeout_ms the connection is ended, so that the owner
 * of a region does not wait for a peer without a time limit.
 */
static void kv_region_wait(struct kv_region *region)
{
	const struct kfi_mr *mr = region->mr;
	struct kv_conn *conn;

	while (!wait_event_timeout(region->idle, !READ_ONCE(region->queued),
				   msecs_to_jiffies(READ_ONCE(kv_proto.params.peer_timeout_ms)))) {
		rcu_read_lock();
		conn = mr->ep && mr->ep->type == KFI_EP_MSG ? kv_region_conn(mr) : NULL;
		if (conn)
			kv_conn_fail(conn, -ETIMEDOUT);
		rcu_read_unlock();
	}
}

void kv_mr_close(struct kfi_mr *mr)
{
	struct kv_region *region = mr->priv;
	bool ending;

	if (!region)
		return;
	spin_lock_bh(&region->lock);
	region->closed = true;
	spin_unlock_bh(&region->lock);
	kv_reg_queue_del(region);	/* a later kv_reg_queue_add() sees @closed */
	spin_lock_bh(&region->lock);
	ending = region->ending;
	region->ending = false;
	kv_region_mark_dereg(region);
	spin_unlock_bh(&region->lock);
	cancel_work_sync(&region->dereg_work);
	cancel_delayed_work_sync(&region->alloc_work);	/* only @dereg_work queues it */
	kv_region_wait(region);
	spin_lock_bh(&region->lock);	/* wait for kv_region_registered() */
	spin_unlock_bh(&region->lock);
	WRITE_ONCE(mr->priv, NULL);
	spin_lock_bh(&region->kdom->regions_lock);
	list_del_rcu(&region->entry);
	spin_unlock_bh(&region->kdom->regions_lock);
	kv_region_free(region);
	if (ending)
		kfi_mr_settle(mr);
}

/* ---- what becomes of a registration ---- */

/*
 * A region has lost its registration: its connection has ended before the device had reported the
 * registration, or a peer has invalidated the key. If the region is long-lived its owner and its
 * peers expect that the key is valid: the region is NEW again, and the caller adds it to
 * &kv_ep.reg_queue. Return: true if so
 */
static bool kv_region_renew(struct kv_region *region)
{
	lockdep_assert_held(&region->lock);
	if (region->mr->per_io || region->closed || region->state != KV_REGION_VALID)
		return false;
	region->state = KV_REGION_NEW;
	region->unknown = true;
	return true;
}

/* The registration has ended, with @err. Called under kv_qp.lock. */
void kv_region_registered(struct kv_sqe *e, int err)
{
	struct kv_region *region = e->region;

	spin_lock(&region->lock);
	/* The region is VALID before this, and may have ended again by a message of the peer. */
	if (err && kv_region_renew(region)) {
		spin_unlock(&region->lock);	/* @queued keeps the region */
		kv_reg_queue_add(region, false);
		spin_lock(&region->lock);
	} else if (err && region->state == KV_REGION_VALID) {
		region->state = KV_REGION_DEREG;
	}
	region->queued--;
	if (region->state == KV_REGION_DEREG && !region->queued && !region->closed)
		queue_work(kv_cm_wq, &region->dereg_work);
	if (e->notify)
		kfi_mr_registered(region->mr);
	if (region->vep)
		wake_up_all(&region->vep->pe.conn_set.idle);
	wake_up(&region->idle);
	spin_unlock(&region->lock);
}

static bool kv_region_invalidate(struct kv_region *region, u32 rkey)
{
	bool found, renew = false;

	spin_lock_bh(&region->lock);
	found = !region->closed && region->state == KV_REGION_VALID && region->ib->rkey == rkey;
	if (found)
		renew = kv_region_renew(region);
	if (found && !renew) {
		region->state = KV_REGION_DEREG;
		queue_work(kv_cm_wq, &region->dereg_work);
	}
	spin_unlock_bh(&region->lock);
	if (renew)
		kv_reg_queue_push(region);
	return found;
}

/*
 * A message of a peer has invalidated a key at the local device, although the peer is not permitted
 * to do so. A long-lived region is registered again with its key, and one for a single I/O with
 * another key, when it is used next. Return false if no region has that key.
 */
bool kv_region_invalidated(struct kv_domain *kdom, u32 rkey)
{
	struct kv_region *region;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(region, &kdom->regions, entry)
		found |= kv_region_invalidate(region, rkey);
	rcu_read_unlock();
	return found;
}
