// SPDX-License-Identifier: GPL-2.0
/*
 * region.c - memory of ours that peers may name, as the device knows it. Regions that have a key of the device's: rkey.c.
 *
 * A region is cut into chunks that a fast registration can hold. Nothing is registered before a peer asks for it, or is told with a message:
 * then the chunks that he is told of are, in the send queue of his connection, and from then on any peer of the domain may be told.
 *
 *	NEW ---> BUSY ---> VALID ---> GOING ---> BARE ---> NEW
 *	   asked    done         |          |         a new registration was made, by another work item
 *	                         |          the device has taken it back, in a work item
 *	                         the region ends, or its registration failed
 *
 * Who waits for the end of a region does not wait for the memory that a new registration takes: there may be none before I/O has ended.
 *
 * The end of a region waits until the device has taken its registrations back; that waits for no consumer of a peer, but for
 * what is in the send queue before a registration under way. A chunk whose registration is still in a send queue is not touched, whatever
 * its state: the device may be about to look at it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "region.h"

#define KV_SUPPLY_AGAIN	msecs_to_jiffies(50)

/* ---- chunks ---- */

static int kv_chunk_alloc(struct kv_domain *kdom, struct kv_chunk *chunk, unsigned int pages)
{
	struct ib_mr *mr;

	chunk->room = pages;
	chunk->sg = kv_alloc_sg(pages, GFP_KERNEL);
	if (!chunk->sg)
		return -ENOMEM;
	mr = ib_alloc_mr(kdom->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	chunk->mr = mr;
	return 0;
}

static void kv_chunk_unmap(struct kv_domain *kdom, struct kv_chunk *chunk)
{
	if (chunk->nents)
		ib_dma_unmap_sg(kdom->ib, chunk->sg, chunk->nents, DMA_BIDIRECTIONAL);
	chunk->nents = 0;
}

int kv_chunk_map(struct kv_region *region, struct kv_chunk *chunk)
{
	int nents;

	nents = ib_dma_map_sg(region->kdom->ib, chunk->sg, chunk->run, DMA_BIDIRECTIONAL);
	if (!nents)
		return -EIO;
	chunk->nents = chunk->run;
	if (kv_bounces(region->kdom, chunk->sg, nents)) {
		kv_chunk_unmap(region->kdom, chunk);
		return -EOPNOTSUPP;
	}
	if (ib_map_mr_sg(chunk->mr, chunk->sg, nents, NULL, PAGE_SIZE) != nents || chunk->mr->length != chunk->len) {
		kv_chunk_unmap(region->kdom, chunk);
		return -EIO;
	}
	return 0;
}

/* Process context. Nobody can touch the memory after it. */
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
	kvfree_rcu(region, rcu);	/* kv_mr_end() may be about to find it closed */
}

/* One that goes and that no device is about to look at. *@left: another one goes, too. */
static struct kv_chunk *kv_region_gone(struct kv_region *region, bool *left)
{
	struct kv_chunk *chunk;
	unsigned int i;

	lockdep_assert_held(&region->lock);
	*left = false;
	for (i = 0; i < region->count; i++) {
		chunk = &region->chunk[i];
		if (chunk->state != KV_CHUNK_GOING)
			continue;
		if (!chunk->queued)
			return chunk;
		*left = true;
	}
	return NULL;
}

/* In place of one that has just been given back, if there is memory at once: the owner may want to use it before kv_supply_work() has run. */
static void kv_chunk_again(struct kv_region *region, struct kv_chunk *chunk)
{
	unsigned int noreclaim = memalloc_noreclaim_save();
	struct ib_mr *mr = ib_alloc_mr(region->kdom->pd, IB_MR_TYPE_MEM_REG, chunk->room);

	memalloc_noreclaim_restore(noreclaim);
	if (!IS_ERR(mr))
		chunk->mr = mr;
}

/*
 * Have the device take back the registrations that are GOING and not in a send queue. The caller
 * holds the lock, which is dropped meanwhile. Return: true if one is still in a send queue. Then
 * kv_region_registered() queues the work item again, which must not wait: a peer decides how long a
 * request waits in a send queue.
 */
static bool kv_region_clear(struct kv_region *region)
{
	struct kv_chunk *chunk;
	bool left;

	while ((chunk = kv_region_gone(region, &left))) {
		spin_unlock_bh(&region->lock);
		kv_chunk_dereg(region->kdom, chunk);
		if (region->mr->domain->prov_keys)
			kv_chunk_again(region, chunk);
		spin_lock_bh(&region->lock);
		chunk->state = chunk->mr ? KV_CHUNK_NEW : KV_CHUNK_BARE;
	}
	return left;
}

static struct kv_chunk *kv_region_bare(struct kv_region *region)
{
	unsigned int i;

	for (i = 0; i < region->count; i++)
		if (region->chunk[i].state == KV_CHUNK_BARE)
			return &region->chunk[i];
	return NULL;
}

/* Nobody but us touches one that is BARE. The lock is held. */
static int kv_region_supply(struct kv_region *region)
{
	struct kv_chunk *chunk;
	struct ib_mr *mr;

	while (!region->closed && (chunk = kv_region_bare(region))) {
		spin_unlock_bh(&region->lock);
		mr = ib_alloc_mr(region->kdom->pd, IB_MR_TYPE_MEM_REG, chunk->room);
		spin_lock_bh(&region->lock);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		chunk->mr = mr;
		chunk->state = KV_CHUNK_NEW;
	}
	return 0;
}

static void kv_supply_work(struct work_struct *work)
{
	struct kv_region *region = container_of(to_delayed_work(work), struct kv_region, supply);
	struct kv_reserve reserve;

	kv_reserve_begin(&reserve, region->mr->ep);
	spin_lock_bh(&region->lock);
	if (kv_region_supply(region) && !region->closed)
		queue_delayed_work(kv_region_wq, &region->supply, KV_SUPPLY_AGAIN);
	spin_unlock_bh(&region->lock);
	kv_reserve_end(&reserve);
}

/* It may run for a registration that has failed while the region ends: what it finds ended it settles, whoever has queued it. */
static void kv_renew_work(struct work_struct *work)
{
	struct kv_region *region = container_of(work, struct kv_region, renew);
	bool left, ending;

	spin_lock_bh(&region->lock);
	left = kv_region_clear(region);
	ending = region->ending && !left;
	if (ending) {
		region->ending = false;
		region->cut = 0;
	}
	if (!region->closed && kv_region_bare(region))
		queue_delayed_work(kv_region_wq, &region->supply, 0);
	spin_unlock_bh(&region->lock);
	if (ending)
		kfi_mr_settle(region->mr);
}

/* Registrations that the memory needs at most; of a region for single I/Os, what its owner has said and no gaps. One has one key. */
static unsigned int kv_region_chunks(const struct kfi_mr *mr, unsigned int pages)
{
	if (mr->domain->prov_keys)
		return 1;
	if (mr->per_io)
		return 1 + mr->iov_limit / pages;
	return kv_count_runs(&mr->iter, pages);
}

/* Entries that a chunk can need. */
static unsigned int kv_region_pages(const struct kfi_mr *mr, unsigned int pages)
{
	if (mr->per_io)
		return min_t(size_t, pages, mr->iov_limit + 1);
	return min_t(size_t, pages, mr->len / PAGE_SIZE + 2);
}

/* Where the chunks begin. -EINVAL: there are more gaps than the owner has spoken of, or more pages. */
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

int kv_mr_open(struct kfi_mr *mr)
{
	struct kv_domain *kdom = to_kv_domain(mr->domain);
	unsigned int i, pages = kdom->domain.prov_keys ? kdom->max_key_pages : kdom->max_frmr_pages;
	unsigned int count = kv_region_chunks(mr, pages);
	struct kv_region *region;
	int ret = 0;

	/* A device lets in whatever is under way, and tells afterwards. */
	if (mr->flags & KFI_MR_SINGLE_USE)
		return -EOPNOTSUPP;
	/* By a key of the device's nobody hears of an access. */
	if (kdom->domain.prov_keys && (mr->flags & KFI_RMA_EVENT || mr->persist))
		return -EOPNOTSUPP;
	if (!kv_domain_get(kdom))
		return -ENODEV;
	region = kvzalloc(struct_size(region, chunk, count), GFP_KERNEL);
	if (!region) {
		kv_domain_put(kdom);
		return -ENOMEM;
	}
	region->count = count;
	region->mr = mr;
	mr->fixed = true;
	region->kdom = kdom;
	spin_lock_init(&region->lock);
	init_waitqueue_head(&region->idle);
	INIT_LIST_HEAD(&region->fresh);
	INIT_WORK(&region->renew, kv_renew_work);
	INIT_DELAYED_WORK(&region->supply, kv_supply_work);
	for (i = 0; i < count && !ret; i++)
		ret = kv_chunk_alloc(kdom, &region->chunk[i], kv_region_pages(mr, pages));
	if (!ret && !mr->per_io)
		ret = kv_region_cut(region);
	if (!ret && !mr->per_io && kdom->domain.prov_keys)
		ret = kv_region_key(region, false);
	if (ret) {
		kv_region_free(region);
		return ret;
	}
	spin_lock_bh(&kdom->regions_lock);
	list_add_tail_rcu(&region->entry, &kdom->regions);
	spin_unlock_bh(&kdom->regions_lock);
	mr->priv = region;
	return 0;
}

int kv_mr_attach(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool unused = false, keyed = mr->domain->prov_keys;
	int ret = -ENODEV;	/* the device has gone */

	if (!region)
		return ret;
	if (keyed && (!mr->ep || mr->ep->type != KFI_EP_MSG))
		return -EINVAL;
	if (keyed && !kv_region_conn(mr))
		return -ENOTCONN;
	spin_lock_bh(&region->lock);
	/* kfi.ko has refused the key of the last attach: the device has never had it. */
	unused = keyed && region->chunk[0].state == KV_CHUNK_NEW && region->chunk[0].nents;
	if (unused)
		kv_chunk_unmap(region->kdom, &region->chunk[0]);
	if (!region->closed)
		ret = keyed && region->chunk[0].state != KV_CHUNK_NEW ? -EAGAIN : kv_region_cut(region);
	if (!ret && keyed)
		ret = kv_region_key(region, unused);
	spin_unlock_bh(&region->lock);
	return ret;
}

/* The region is dead: nobody asks for it any more. */
static bool kv_region_going(struct kv_region *region)
{
	bool going = false;
	unsigned int i;

	lockdep_assert_held(&region->lock);
	for (i = 0; i < region->count; i++) {
		if ((region->chunk[i].state == KV_CHUNK_NEW && !region->chunk[i].nents) || region->chunk[i].state == KV_CHUNK_BARE)
			continue;
		region->chunk[i].state = KV_CHUNK_GOING;
		going = true;
	}
	return going;
}

/* What peers have been told is not true any more. */
static void kv_domain_forget(struct kv_domain *kdom)
{
	atomic_inc(&kdom->epoch);
}

/* Under rcu_read_lock(); the device may have gone, and the region with it. */
bool kv_mr_end(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool going = false;

	if (!region)
		return false;
	kv_fresh_del(region);
	spin_lock_bh(&region->lock);
	if (!region->closed) {
		going = kv_region_going(region);
		region->ending = going;
		if (!going)
			region->cut = 0;
		else
			queue_work(kv_cm_wq, &region->renew);
	}
	spin_unlock_bh(&region->lock);
	if (going)
		kv_domain_forget(region->kdom);
	return going;
}

bool kv_mr_known(struct kfi_mr *mr)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	bool known = false;
	unsigned int i;

	if (!region)
		return false;
	kv_fresh_del(region);
	spin_lock_bh(&region->lock);
	for (i = 0; i < region->count; i++)
		known |= region->chunk[i].state != KV_CHUNK_NEW && region->chunk[i].state != KV_CHUNK_BARE;
	if (!known)
		region->cut = 0;
	spin_unlock_bh(&region->lock);
	return known;
}

/*
 * Wait until no registration is in a send queue. A peer that posts no receive holds up what is
 * behind a message to it. After timeout_ms its connection ends: the owner of a region does not wait
 * for a peer without limit.
 */
static void kv_region_wait(struct kv_region *region)
{
	const struct kfi_mr *mr = region->mr;
	struct kv_conn *conn;

	while (!wait_event_timeout(region->idle, !READ_ONCE(region->busy),
				   msecs_to_jiffies(kv_timeout_ms))) {
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
	bool told, ending;

	spin_lock_bh(&region->lock);
	region->closed = true;
	spin_unlock_bh(&region->lock);
	kv_fresh_del(region);	/* kv_fresh_add() has added it before, or sees closed */
	spin_lock_bh(&region->lock);
	ending = region->ending;
	region->ending = false;
	told = kv_region_going(region);
	spin_unlock_bh(&region->lock);
	if (told)
		kv_domain_forget(region->kdom);
	cancel_work_sync(&region->renew);
	cancel_delayed_work_sync(&region->supply);	/* which only the former queues */
	kv_region_wait(region);
	spin_lock_bh(&region->lock);	/* whoever has woken us is through with it */
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
	return IB_ACCESS_LOCAL_WRITE | (mr->access & KFI_REMOTE_WRITE ? IB_ACCESS_REMOTE_WRITE : 0) |
	       (mr->access & KFI_REMOTE_READ ? IB_ACCESS_REMOTE_READ : 0);
}

/* For the asker in @slot, who is told when it has been done. */
static int kv_chunk_register(struct kv_region *region, struct kv_chunk *chunk, struct kv_conn *conn, struct kv_slot *slot)
{
	int ret = kv_chunk_map(region, chunk);
	struct kv_sqe *e;

	if (ret)
		return ret;
	if (!slot->wrs)
		kv_put_fence(conn, chunk->mr->rkey);
	e = kv_sq_get(conn, KV_SQ_REGION);
	e->region = region;
	e->chunk = chunk - region->chunk;
	e->slot = slot;
	chunk->state = KV_CHUNK_BUSY;
	chunk->queued++;
	region->busy++;
	slot->wrs++;
	kv_put_reg(conn, e, chunk->mr, kv_access(region->mr), true);
	return 0;
}

/* Those from the chunk with byte @at on, as many as an answer has room for. */
static unsigned int kv_region_window(const struct kv_region *region, u64 at, unsigned int *first)
{
	unsigned int i;

	for (i = 0; i < region->cut - 1 && region->chunk[i].at + region->chunk[i].len <= at; i++)
		;
	*first = i;
	return min_t(unsigned int, region->cut - i, KV_DESCS);
}

/* Does its owner want to hear of every access? */
static bool kv_region_tells(const struct kv_conn *conn, const struct kfi_mr *mr)
{
	const struct kfi_ep *ep = &conn->vep->ep;

	return mr->cntr || mr->flags & KFI_RMA_EVENT || ep->cntr[KFI_CNTR_REMOTE_READ] ||
	       ep->cntr[KFI_CNTR_REMOTE_WRITE];
}

static u8 kv_region_rights(const struct kv_conn *conn, const struct kfi_mr *mr)
{
	return (mr->access & KFI_REMOTE_READ ? KVW_K_READ : 0) | (mr->access & KFI_REMOTE_WRITE ? KVW_K_WRITE : 0) |
	       (kv_region_tells(conn, mr) ? KVW_K_TELL : 0) | (mr->persist ? KVW_K_COMMIT : 0);
}

/* All chunks of the window are valid: tell where they are. */
static void kv_region_answer(struct kv_region *region, struct kv_slot *slot)
{
	struct kvw_desc *descs = kv_slot_descs(slot);
	const struct kfi_mr *mr = region->mr;
	unsigned int i, n, first;
	struct kv_chunk *chunk;

	n = kv_region_window(region, slot->p.data - mr->fid.addr, &first);
	kv_slot_answer(slot, KVW_KEY_IS, 0);
	for (i = 0; i < n; i++) {
		chunk = &region->chunk[first + i];
		descs[i] = (struct kvw_desc){ cpu_to_le64(chunk->mr->iova), cpu_to_le64(chunk->mr->rkey),
					      cpu_to_le64(chunk->len) };
	}
	slot->answer.count = n;
	slot->answer.tag = mr->fid.addr;
	slot->answer.len = mr->len;
	slot->answer.data = region->chunk[first].at;
	slot->answer.flags = kv_region_rights(slot->conn, mr);
	slot->epoch = atomic_read(&region->kdom->epoch);
}

/* 0: the answer is queued, or will be when the device has registered; else what it is to say. */
static int kv_region_prepare(struct kv_region *region, struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	unsigned int i, n, first;
	int ret = 0;

	if (!region->cut)
		return -EACCES;		/* the memory has just left it */
	n = kv_region_window(region, slot->p.data - region->mr->fid.addr, &first);
	if (kv_sq_room(conn) < KV_SQ_ROOM)
		return -EAGAIN;
	for (i = first; i < first + n; i++)
		if (region->chunk[i].state != KV_CHUNK_NEW && region->chunk[i].state != KV_CHUNK_VALID)
			return -EAGAIN;
	for (i = first; i < first + n && !ret; i++)
		if (region->chunk[i].state == KV_CHUNK_NEW)
			ret = kv_chunk_register(region, &region->chunk[i], conn, slot);
	slot->err = ret;
	if (!slot->wrs && !ret)
		kv_region_answer(region, slot);
	return slot->wrs ? 0 : ret;
}

/* One of those that an asker waits for has been registered, or not. */
static void kv_region_asked(struct kv_region *region, struct kv_chunk *chunk, struct kv_slot *slot, int err)
{
	chunk->state = err || chunk->state == KV_CHUNK_GOING ? KV_CHUNK_GOING : KV_CHUNK_VALID;
	slot->err = slot->err ?: chunk->state == KV_CHUNK_GOING ? -EAGAIN : 0;
	if (--slot->wrs)
		return;
	if (slot->err)
		kv_slot_answer(slot, KVW_KEY_IS, -slot->err);
	else
		kv_region_answer(region, slot);
	kv_slot_release(slot, KV_HOLD_MESSAGE);
}

/* The device says so. Connection's lock held. */
void kv_region_registered(struct kv_sqe *e, int err)
{
	struct kv_region *region = e->region;
	struct kv_chunk *chunk = &region->chunk[e->chunk];
	struct kv_slot *slot = e->slot;

	spin_lock(&region->lock);
	chunk->queued--;
	if (slot)
		kv_region_asked(region, chunk, slot, err);
	else if (err && chunk->state == KV_CHUNK_VALID)
		chunk->state = KV_CHUNK_GOING;	/* it may be over already, for the peer has been told */
	if (chunk->state == KV_CHUNK_GOING && !chunk->queued && !region->closed)
		queue_work(kv_cm_wq, &region->renew);
	if (e->tells)
		kfi_mr_registered(region->mr);
	region->busy--;
	if (!slot)
		wake_up_all(&region->vep->home.idle);
	wake_up(&region->idle);
	spin_unlock(&region->lock);
}

/* ---- a peer asks ---- */

/* Under rcu_read_lock(): a region that is live now is not freed before the end of it. */
static int kv_key_tell(struct kv_slot *slot, struct kfi_mr *mr)
{
	struct kv_region *region = mr->priv;
	int ret;

	if (!kfi_mr_live(mr, slot->p.tag))
		return -EACCES;
	spin_lock(&region->lock);
	ret = kv_region_prepare(region, slot);
	spin_unlock(&region->lock);
	return ret;
}

int kv_rx_key(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	struct iov_iter iter;
	struct kfi_mr *mr;
	int ret = -EACCES;
	struct kv_done done = KV_DONE(done);

	mr = kfi_mr_get(&conn->vep->ep, slot->p.tag, slot->p.data, 0, 0, &iter);
	rcu_read_lock();
	spin_lock_bh(&conn->lock);
	if (!IS_ERR(mr))
		ret = kv_key_tell(slot, mr);
	if (ret)
		kv_slot_answer(slot, KVW_KEY_IS, -ret);
	if (!slot->wrs)
		kv_slot_release(slot, KV_HOLD_MESSAGE);
	kv_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	rcu_read_unlock();
	kv_done(&done);
	if (!IS_ERR(mr))
		kfi_mr_put(mr);
	return 0;
}

/* A peer's message has had our device invalidate @rkey. Was that all of region @key, which is for one I/O? */
bool kv_region_taken(struct kv_conn *conn, u64 key, u32 rkey)
{
	struct kv_region *region;
	struct kv_chunk *chunk;
	bool taken = false;
	struct kfi_mr *mr;

	rcu_read_lock();
	mr = kfi_mr_find(&conn->vep->ep, key);
	region = mr && mr->per_io ? READ_ONCE(mr->priv) : NULL;
	if (region) {
		spin_lock_bh(&region->lock);
		chunk = &region->chunk[0];
		taken = chunk->state == KV_CHUNK_VALID && chunk->mr->rkey == rkey;
		if (taken) {
			kv_chunk_unmap(region->kdom, chunk);
			chunk->state = KV_CHUNK_NEW;
		}
		spin_unlock_bh(&region->lock);
	}
	rcu_read_unlock();
	return taken;
}

static bool kv_region_spoil(struct kv_region *region, u32 rkey)
{
	struct kv_chunk *chunk;
	bool found = false;
	unsigned int i;

	spin_lock_bh(&region->lock);
	for (i = 0; i < region->count && !region->closed; i++) {
		chunk = &region->chunk[i];
		if (chunk->state != KV_CHUNK_VALID || chunk->mr->rkey != rkey)
			continue;
		chunk->state = KV_CHUNK_GOING;
		queue_work(kv_cm_wq, &region->renew);
		found = true;
	}
	spin_unlock_bh(&region->lock);
	return found;
}

/*
 * A peer has had our device invalidate what was not its to end. It is registered anew, and all who know of it ask again: else each of them
 * would lose its connection by it. False: nobody is told of it any more, or it is no more, for its owner has ended it.
 */
bool kv_region_spoilt(struct kv_domain *kdom, u32 rkey)
{
	struct kv_region *region;
	bool spoilt = false;

	rcu_read_lock();
	list_for_each_entry_rcu(region, &kdom->regions, entry)
		spoilt |= kv_region_spoil(region, rkey);
	rcu_read_unlock();
	if (spoilt)
		kv_domain_forget(kdom);
	return spoilt;
}
