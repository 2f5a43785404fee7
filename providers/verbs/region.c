// SPDX-License-Identifier: GPL-2.0
/*
 * region.c - registrations of local memory that peers may access.
 *
 * A region of a MSG endpoint has one registration, and peers use its key (rkey.c). Peers of an RDM
 * endpoint name a region by a key of kfi.ko, and get the keys of the device for one write at a time
 * (kv_region_places()). Such a region is cut into chunks, each of which fits into one registration.
 * A chunk is registered when it is first needed, in the send queue of the connection that needs it,
 * and stays registered: all connections of the domain use it.
 *
 *	NEW ---> BUSY ---> VALID ---> DEREG ---> NOMR ---> NEW
 *	 needed    done          |          |         a new registration was allocated (@alloc_work)
 *	                         |          the registration was deregistered, in a work item
 *	                         the region ends, or its registration has failed
 *
 * The end of a region does not wait for the allocation of a new registration: there may be no
 * memory before I/O has ended. It waits until its registrations are deregistered, which does not
 * depend on a peer, except for requests that precede a registration in a send queue. A chunk whose
 * registration is in a send queue is not changed in any state, because the device reads it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "region.h"

#define KV_ALLOC_RETRY	msecs_to_jiffies(50)

/* ---- chunks ---- */

static int kv_chunk_alloc(struct kv_region *region, struct kv_chunk *chunk)
{
	struct ib_mr *mr = ib_alloc_mr(region->pd, IB_MR_TYPE_MEM_REG, chunk->room);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	chunk->mr = mr;
	return 0;
}

void kv_chunk_unmap(struct kv_domain *kdom, struct kv_chunk *chunk)
{
	if (chunk->nents)
		ib_dma_unmap_sg(kdom->ib, chunk->sg, chunk->nents, DMA_BIDIRECTIONAL);
	chunk->nents = 0;
}

int kv_chunk_map(struct kv_region *region, struct kv_chunk *chunk)
{
	int ret = kv_map_mr(region->kdom, chunk->mr, chunk->sg, chunk->run, chunk->len,
			    DMA_BIDIRECTIONAL);

	if (!ret)
		chunk->nents = chunk->run;
	return ret;
}

/* Deregister a chunk. On return the device does not access the memory any more. Process context. */
static void kv_chunk_dereg(struct kv_domain *kdom, struct kv_chunk *chunk)
{
	if (chunk->mr)
		ib_dereg_mr(chunk->mr);
	chunk->mr = NULL;
	kv_chunk_unmap(kdom, chunk);
}

/* ---- life ---- */

static void kv_region_free(struct kv_region *region)
{
	unsigned int i;

	for (i = 0; i < region->count; i++) {
		kv_chunk_dereg(region->kdom, &region->chunk[i]);
		kvfree(region->chunk[i].sg);
	}
	kv_domain_put(region->kdom);
	kvfree_rcu(region, rcu);	/* kv_mr_end() may still read @closed */
}

/* Find a chunk that is DEREG and in no send queue. *@left: others are DEREG and in a send queue. */
static struct kv_chunk *kv_region_next_dereg(struct kv_region *region, bool *left)
{
	struct kv_chunk *chunk;
	unsigned int i;

	lockdep_assert_held(&region->lock);
	*left = false;
	for (i = 0; i < region->count; i++) {
		chunk = &region->chunk[i];
		if (chunk->state != KV_CHUNK_DEREG)
			continue;
		if (!chunk->queued)
			return chunk;
		*left = true;
	}
	return NULL;
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
static void kv_chunk_realloc(struct kv_region *region, struct kv_chunk *chunk)
{
	unsigned int noreclaim = memalloc_noreclaim_save();

	kv_chunk_alloc(region, chunk);
	memalloc_noreclaim_restore(noreclaim);
}

/*
 * Deregister the chunks that are DEREG and not in a send queue. The caller holds the lock, which is
 * dropped meanwhile. Return: true if a chunk is still in a send queue. Then kv_region_registered()
 * queues the work item again. The work item must not wait for it: how long a request stays in a
 * send queue depends on a peer.
 */
static bool kv_region_clear(struct kv_region *region)
{
	struct kv_chunk *chunk;
	bool left;

	while ((chunk = kv_region_next_dereg(region, &left))) {
		spin_unlock_bh(&region->lock);
		kv_chunk_dereg(region->kdom, chunk);
		if (region->mr->domain->prov_keys)
			kv_chunk_realloc(region, chunk);
		spin_lock_bh(&region->lock);
		chunk->state = chunk->mr ? KV_CHUNK_NEW : KV_CHUNK_NOMR;
	}
	return left;
}

static struct kv_chunk *kv_region_nomr(struct kv_region *region)
{
	unsigned int i;

	for (i = 0; i < region->count; i++)
		if (region->chunk[i].state == KV_CHUNK_NOMR)
			return &region->chunk[i];
	return NULL;
}

/* Allocate registrations of NOMR chunks, which only this work item uses. Called under the lock. */
static int kv_region_alloc_mrs(struct kv_region *region)
{
	struct kv_chunk *chunk;
	struct ib_mr *mr;

	while (!region->closed && (chunk = kv_region_nomr(region))) {
		spin_unlock_bh(&region->lock);
		mr = ib_alloc_mr(region->pd, IB_MR_TYPE_MEM_REG, chunk->room);
		spin_lock_bh(&region->lock);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		chunk->mr = mr;
		chunk->state = KV_CHUNK_NEW;
	}
	return 0;
}

static void kv_alloc_work(struct work_struct *work)
{
	struct kv_region *region = container_of(to_delayed_work(work), struct kv_region,
						alloc_work);
	bool reclaim = kv_region_reclaims(region);
	unsigned int flags = kv_alloc_begin(reclaim);

	spin_lock_bh(&region->lock);
	if (kv_region_alloc_mrs(region) && !region->closed)
		queue_delayed_work(kv_region_wq, &region->alloc_work, KV_ALLOC_RETRY);
	spin_unlock_bh(&region->lock);
	kv_alloc_end(reclaim, flags);
}

/*
 * Deregister DEREG chunks, and report the end of the region. A failed registration and the end of
 * the region both queue this work item, so the first run may do the work of both.
 */
static void kv_dereg_work(struct work_struct *work)
{
	struct kv_region *region = container_of(work, struct kv_region, dereg_work);
	bool left, ending, reclaim = kv_region_reclaims(region);
	unsigned int flags = kv_alloc_begin(reclaim);

	spin_lock_bh(&region->lock);
	left = kv_region_clear(region);
	ending = region->ending && !left;
	if (ending) {
		region->ending = false;
		region->cut = 0;
	}
	if (!region->closed && kv_region_nomr(region))
		queue_delayed_work(kv_region_wq, &region->alloc_work, 0);
	spin_unlock_bh(&region->lock);
	kv_alloc_end(reclaim, flags);
	if (ending)
		kfi_mr_settle(region->mr);
}

/* Return the limit of registrations for the memory. A region with a key of the device has one. */
static unsigned int kv_region_chunks(const struct kfi_mr *mr, unsigned int pages)
{
	if (mr->domain->prov_keys)
		return 1;
	return kv_count_runs(&mr->iter, pages);
}

/* Return the limit of scatterlist entries of a chunk. */
static unsigned int kv_region_pages(const struct kfi_mr *mr, unsigned int pages)
{
	if (mr->per_io)
		return min_t(size_t, pages, mr->iov_limit + 1);
	return min_t(size_t, pages, mr->len / PAGE_SIZE + 2);
}

/* Cut the memory into chunks. -EINVAL: it has more gaps or pages than the region was opened for. */
static int kv_region_cut(struct kv_region *region)
{
	struct iov_iter iter = region->mr->iter;
	struct kv_chunk *chunk;
	size_t at = 0;

	region->cut = 0;
	for (; iov_iter_count(&iter); region->cut++) {
		if (region->cut == region->count) {
			region->cut = 0;
			return -EINVAL;
		}
		chunk = &region->chunk[region->cut];
		chunk->run = kv_take_run(&iter, chunk->sg, chunk->room, &chunk->len);
		chunk->at = at;
		at += chunk->len;
	}
	return 0;
}

static struct kv_region *kv_region_new(struct kfi_mr *mr, struct kv_domain *kdom)
{
	bool keyed = kdom->domain.prov_keys;
	unsigned int i, pages = keyed ? kdom->max_key_pages : kdom->max_frmr_pages;
	unsigned int count = kv_region_chunks(mr, pages);
	struct kv_region *region = kvzalloc(struct_size(region, chunk, count), GFP_KERNEL);
	int ret = 0;

	if (!region)
		return ERR_PTR(-ENOMEM);
	region->count = count;
	region->mr = mr;
	region->kdom = kdom;
	spin_lock_init(&region->lock);
	init_waitqueue_head(&region->idle);
	INIT_LIST_HEAD(&region->reg_node);
	INIT_WORK(&region->dereg_work, kv_dereg_work);
	INIT_DELAYED_WORK(&region->alloc_work, kv_alloc_work);
	region->pd = keyed ? NULL : kdom->pd;
	for (i = 0; i < count && !ret; i++) {
		region->chunk[i].room = kv_region_pages(mr, pages);
		region->chunk[i].sg = kv_alloc_sg(region->chunk[i].room, GFP_KERNEL);
		ret = !region->chunk[i].sg ? -ENOMEM :
		      keyed ? 0 : kv_chunk_alloc(region, &region->chunk[i]);
	}
	if (!ret && !mr->per_io)
		ret = kv_region_cut(region);
	if (!ret)
		return region;
	kv_domain_get(kdom);	/* which kv_region_free() drops */
	kv_region_free(region);
	return ERR_PTR(ret);
}

/*
 * No device can report an access, so a region with a key of the device can't have this flag. For
 * other regions the protocol copies the payload if the device can't write it.
 */
static int kv_mr_fits(const struct kfi_mr *mr)
{
	if (!mr->domain->prov_keys)
		return 0;
	return mr->flags & KFI_RMA_EVENT || mr->persist ? -EOPNOTSUPP : 0;
}

/* Is a registration worthwhile for a region without a key of the device? */
static bool kv_mr_worth(const struct kfi_mr *mr)
{
	return !mr->per_io && mr->access & KFI_REMOTE_WRITE && mr->len >= KV_PLACE_MIN;
}

int kv_mr_open(struct kfi_mr *mr)
{
	struct kv_domain *kdom = to_kv_domain(mr->domain);
	bool keyed = kdom->domain.prov_keys;
	struct kv_region *region;
	int ret = kv_mr_fits(mr);

	if (ret || (!keyed && !kv_mr_worth(mr)))
		return ret;
	if (!kv_domain_get(kdom))
		return -ENODEV;
	region = kv_region_new(mr, kdom);
	if (IS_ERR(region)) {
		kv_domain_put(kdom);
		return keyed ? PTR_ERR(region) : 0;	/* 0: payload is copied */
	}
	spin_lock_bh(&kdom->regions_lock);
	list_add_tail_rcu(&region->entry, &kdom->regions);
	spin_unlock_bh(&kdom->regions_lock);
	mr->priv = region;
	return 0;
}

/*
 * The endpoint of a region with a key of the device is known, and so is its protection domain: no
 * peer of another endpoint can use the key. The end of the domain frees the protection domain after
 * the last region.
 */
int kv_mr_bind(struct kfi_mr *mr)
{
	struct kv_region *region = mr->priv;
	struct kv_chunk *chunk = &region->chunk[0];
	unsigned int noio;
	int ret;

	if (mr->ep->type != KFI_EP_MSG || chunk->mr)
		return -EINVAL;
	noio = memalloc_noio_save();
	region->pd = to_kv_ep(mr->ep)->pd;
	ret = kv_chunk_alloc(region, chunk);
	if (!ret && !mr->per_io)
		ret = kv_region_key(region, false);
	if (ret)
		kv_chunk_dereg(region->kdom, chunk);
	memalloc_noio_restore(noio);
	return ret;
}

void kv_mr_unbind(struct kfi_mr *mr)
{
	struct kv_region *region = mr->priv;
	unsigned int noio = memalloc_noio_save();

	kv_chunk_dereg(region->kdom, &region->chunk[0]);
	memalloc_noio_restore(noio);
}

int kv_mr_attach(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	struct kv_chunk *chunk;
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
	chunk = &region->chunk[0];
	spin_lock_bh(&region->lock);
	/* kfi.ko has refused the key of the last attach, so it was never passed to the device. */
	unused = chunk->state == KV_CHUNK_NEW && chunk->nents;
	if (unused)
		kv_chunk_unmap(region->kdom, chunk);
	if (!region->closed)
		ret = chunk->state != KV_CHUNK_NEW ? -EAGAIN : kv_region_cut(region);
	if (!ret)
		ret = kv_region_key(region, unused);
	spin_unlock_bh(&region->lock);
	return ret;
}

/* The region ends: mark its registrations DEREG. Return: true if there are any. */
static bool kv_region_mark_dereg(struct kv_region *region)
{
	bool ending = false;
	unsigned int i;

	lockdep_assert_held(&region->lock);
	for (i = 0; i < region->count; i++) {
		if ((region->chunk[i].state == KV_CHUNK_NEW && !region->chunk[i].nents) ||
		    region->chunk[i].state == KV_CHUNK_NOMR)
			continue;
		region->chunk[i].state = KV_CHUNK_DEREG;
		ending = true;
	}
	return ending;
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
		if (!ending)
			region->cut = 0;
		else
			queue_work(kv_cm_wq, &region->dereg_work);
	}
	spin_unlock_bh(&region->lock);
	return ending;
}

bool kv_mr_known(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool known = false;
	unsigned int i;

	if (!region)
		return false;
	kv_reg_queue_del(region);
	spin_lock_bh(&region->lock);
	for (i = 0; i < region->count; i++)
		known |= region->chunk[i].state != KV_CHUNK_NEW &&
			 region->chunk[i].state != KV_CHUNK_NOMR;
	if (!known)
		region->cut = 0;
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

	while (!wait_event_timeout(region->idle, !READ_ONCE(region->busy),
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

/* ---- registering ---- */

int kv_access(const struct kfi_mr *mr)
{
	return IB_ACCESS_LOCAL_WRITE |
	       (mr->access & KFI_REMOTE_WRITE ? IB_ACCESS_REMOTE_WRITE : 0) |
	       (mr->access & KFI_REMOTE_READ ? IB_ACCESS_REMOTE_READ : 0);
}

static void kv_chunk_register(struct kv_region *region, struct kv_chunk *chunk, struct kv_qp *qp)
{
	struct kv_sqe *e;

	kv_put_fence(qp, chunk->mr->rkey);
	e = kv_sq_get(qp, KV_SQ_REGION);
	e->region = region;
	e->chunk = chunk - region->chunk;
	chunk->state = KV_CHUNK_BUSY;
	chunk->by = qp;
	chunk->queued++;
	region->busy++;
	kv_put_reg(qp, e, chunk->mr, kv_access(region->mr), true);
}

/*
 * May the next SEND of @qp have the key of the chunk? Not while another queue pair registers it,
 * because that registration may take effect after the SEND. Return: 0 or a negative errno
 */
static int kv_chunk_ready(struct kv_region *region, struct kv_chunk *chunk, struct kv_qp *qp)
{
	int ret;

	if (chunk->state == KV_CHUNK_VALID || (chunk->state == KV_CHUNK_BUSY && chunk->by == qp))
		return 0;
	if (chunk->state != KV_CHUNK_NEW || kv_sq_room(qp) < KV_SQ_ROOM)
		return -EAGAIN;
	ret = kv_chunk_map(region, chunk);
	if (!ret)
		kv_chunk_register(region, chunk, qp);
	return ret;
}

static int kv_chunks_places(struct kv_region *region, struct kv_qp *qp, u64 at, u64 len,
			    struct kfi_link_place *place, unsigned int max)
{
	struct kv_chunk *chunk = region->chunk, *end = chunk + region->cut;
	unsigned int n = 0;
	u64 off;
	int ret;

	lockdep_assert_held(&region->lock);
	if (region->closed)
		return -EOPNOTSUPP;
	for (; chunk < end && len; chunk++) {
		if (at >= chunk->at + chunk->len)
			continue;
		if (n == max)
			return -ENOSPC;
		ret = kv_chunk_ready(region, chunk, qp);
		if (ret)
			return ret;
		off = at - chunk->at;
		place[n] = (struct kfi_link_place) {
			.at = chunk->mr->iova + off,
			.len = min(len, chunk->len - off),
			.key = chunk->mr->rkey,
		};
		at += place[n].len;
		len -= place[n].len;
		n++;
	}
	return len ? -EOPNOTSUPP : n;
}

/*
 * Fill in places for @len bytes of a region, beginning at byte @at. Their registrations precede the
 * next SEND of @qp, whose lock is held. Return: number of places, or a negative errno
 */
int kv_region_places(struct kv_qp *qp, struct kfi_mr *mr, u64 at, u64 len,
		     struct kfi_link_place *place, unsigned int max)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	int ret;

	if (!region)
		return -EOPNOTSUPP;
	spin_lock(&region->lock);
	ret = kv_chunks_places(region, qp, at, len, place, max);
	spin_unlock(&region->lock);
	return ret;
}

/*
 * A region has lost its registration: its connection has ended before the device had reported the
 * registration, or a peer has invalidated the key. If the region is long-lived and has a key of the
 * device, its owner and its peers expect that the key is valid: the region is NEW again, and the
 * caller adds it to &kv_ep.reg_queue. Return: true if so
 */
static bool kv_chunk_renew(struct kv_region *region, struct kv_chunk *chunk)
{
	lockdep_assert_held(&region->lock);
	if (region->mr->per_io || !region->mr->domain->prov_keys || region->closed ||
	    chunk->state != KV_CHUNK_VALID)
		return false;
	chunk->state = KV_CHUNK_NEW;
	chunk->unknown = true;
	return true;
}

/* The registration of a chunk has ended, with @err. Called under kv_qp.lock. */
void kv_region_registered(struct kv_sqe *e, int err)
{
	struct kv_region *region = e->region;
	struct kv_chunk *chunk = &region->chunk[e->chunk];

	spin_lock(&region->lock);
	chunk->queued--;
	/*
	 * A region with a key of the device is VALID before this, and may have ended again by a
	 * message of the peer.
	 */
	if (err && kv_chunk_renew(region, chunk)) {
		spin_unlock(&region->lock);	/* @busy keeps the region */
		kv_reg_queue_add(region, false);
		spin_lock(&region->lock);
	} else if (chunk->state == KV_CHUNK_BUSY || (err && chunk->state == KV_CHUNK_VALID)) {
		chunk->state = err ? KV_CHUNK_DEREG : KV_CHUNK_VALID;
	}
	if (chunk->state == KV_CHUNK_DEREG && !chunk->queued && !region->closed)
		queue_work(kv_cm_wq, &region->dereg_work);
	if (e->notify)
		kfi_mr_registered(region->mr);
	region->busy--;
	if (region->vep)
		wake_up_all(&region->vep->pe.conn_set.idle);
	wake_up(&region->idle);
	spin_unlock(&region->lock);
}

static bool kv_region_invalidate(struct kv_region *region, u32 rkey)
{
	bool found = false, renew = false;
	struct kv_chunk *chunk;
	unsigned int i;

	spin_lock_bh(&region->lock);
	for (i = 0; i < region->count && !region->closed; i++) {
		chunk = &region->chunk[i];
		if (chunk->state != KV_CHUNK_VALID || chunk->mr->rkey != rkey)
			continue;
		found = true;
		renew = kv_chunk_renew(region, chunk);
		if (renew)
			continue;
		chunk->state = KV_CHUNK_DEREG;
		queue_work(kv_cm_wq, &region->dereg_work);
	}
	spin_unlock_bh(&region->lock);
	if (renew)
		kv_reg_queue_push(region);
	if (found)
		kfi_mr_recall(region->mr);
	return found;
}

/*
 * A message of a peer has invalidated a key at the local device, although the peer is not permitted
 * to do so. A long-lived region of a MSG endpoint is registered again with its key. Other regions
 * are registered again when they are needed, with another key, so keys that peers hold are recalled
 * (kfi_mr_recall()). Writes with the old key fail, and end their connections. Return false if no
 * region has that key.
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
