// SPDX-License-Identifier: GPL-2.0
/*
 * rkey.c - regions that peers of MSG endpoints name by the key that the device has for them.
 *
 * The key is fixed before the device knows it. A device registers memory by a request in a send queue only: that of the endpoint to which
 * the region is bound, in front of what is posted later. Until there is a connection, or the next post, the region is in &kv_ep.fresh.
 */
#include "region.h"

#define KV_ENABLE_MS	1000		/* for a device to register what a consumer enables */

/*
 * Of a region that goes by a key of the device's: that key, and the address. Devices do not shift memory by less than a page, so in its
 * lower bits the address is that of the memory. @unused: the device has never had the present key.
 */
int kv_region_key(struct kv_region *region, bool unused)
{
	struct kv_chunk *chunk = &region->chunk[0];
	struct kfi_mr *mr = region->mr;
	int ret = kv_chunk_map(region, chunk);

	if (ret)
		return ret;
	mr->fid.addr = (mr->fid.addr & PAGE_MASK) | chunk->sg->offset;
	chunk->mr->iova = mr->fid.addr;
	if (!unused)
		chunk->last = chunk->mr->rkey;
	ib_update_fast_reg_key(chunk->mr, ib_inc_rkey(chunk->mr->rkey));
	mr->prov_key = chunk->mr->rkey;
	return 0;
}

/* Under rcu_read_lock(), which keeps the connection. */
struct kv_conn *kv_region_conn(const struct kfi_mr *mr)
{
	struct kfi_peer_conn *way = kfi_home_way(&to_kv_ep(mr->ep)->home);

	return way ? to_kv_conn(way) : NULL;
}

/* Its registration is not put into a send queue any more, and nobody waits for that. */
void kv_fresh_del(struct kv_region *region)
{
	struct kv_ep *vep = READ_ONCE(region->vep);
	bool tell;

	if (!vep)
		return;
	spin_lock_bh(&vep->fresh_lock);
	tell = !list_empty(&region->fresh) && region->tell;
	region->tell = false;
	list_del_init(&region->fresh);
	spin_unlock_bh(&vep->fresh_lock);
	if (tell)
		kfi_mr_registered(region->mr);
}

/*
 * The registration goes into the send queue in front of what is posted from now on, unless the
 * device is being removed.
 */
static void kv_fresh_add(struct kv_region *region, bool tell)
{
	struct kv_ep *vep = to_kv_ep(region->mr->ep);
	bool closed;

	WRITE_ONCE(region->vep, vep);
	spin_lock_bh(&vep->fresh_lock);
	spin_lock(&region->lock);
	closed = region->closed;
	spin_unlock(&region->lock);
	if (!closed) {
		region->tell = tell;
		list_add_tail(&region->fresh, &vep->fresh);
	}
	spin_unlock_bh(&vep->fresh_lock);
	if (closed && tell)
		kfi_mr_registered(region->mr);
}

void kv_mr_publish(struct kfi_mr *mr, bool tell)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	struct kv_done done = KV_DONE(done);
	struct kv_conn *conn;

	if (!region || !mr->domain->prov_keys) {
		if (tell)
			kfi_mr_registered(mr);
		return;
	}
	kv_fresh_add(region, tell);
	conn = kv_region_conn(mr);
	if (!conn) {
		kv_fresh_del(region);	/* kv_fresh_lost() may have been before us */
		return;
	}
	spin_lock_bh(&conn->lock);
	conn->waits = true;
	if (tell)
		kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

/* Is its registration still to be reported, by a device that may report it? */
static bool kv_region_pending(const struct kfi_mr *mr)
{
	struct kv_region *region;
	bool pending;

	rcu_read_lock();
	region = READ_ONCE(mr->priv);
	pending = region && (!list_empty(&region->fresh) || READ_ONCE(region->busy)) && kv_region_conn(mr);
	rcu_read_unlock();
	return pending;
}

/*
 * Peers may have heard of the key by other means than messages of the endpoint: wait for the device, unless the peer does not take what
 * is in front of the registration.
 */
int kv_mr_enable(struct kfi_mr *mr)
{
	unsigned long until = jiffies + msecs_to_jiffies(KV_ENABLE_MS);
	struct kv_region *region;
	struct kv_conn *conn;

	if (!mr->domain->prov_keys)
		return 0;
	if (!mr->ep || mr->ep->type != KFI_EP_MSG)
		return -EINVAL;
	rcu_read_lock();
	region = READ_ONCE(mr->priv);
	if (region)
		kv_fresh_add(region, false);
	smp_mb();	/* pairs with kv_cm_ready(): it sees the region, or we see the connection */
	conn = region ? kv_region_conn(mr) : NULL;
	if (conn) {
		spin_lock_bh(&conn->lock);
		conn->waits = true;
		spin_unlock_bh(&conn->lock);
		kv_tx_kick(conn);
	}
	rcu_read_unlock();
	while (!wait_event_timeout(to_kv_ep(mr->ep)->home.idle, !kv_region_pending(mr), msecs_to_jiffies(20)))
		if (time_after(jiffies, until))
			break;
	return region ? 0 : -ENODEV;
}

/* ---- into the send queue ---- */

/* What follows in the queue sees it done. It is reported, for the end of the region waits for that. */
static void kv_region_place(struct kv_region *region, struct kv_conn *conn)
{
	struct kv_chunk *chunk = &region->chunk[0];
	struct kv_sqe *e;

	kv_put_fence(conn, chunk->last);
	e = kv_sq_get(conn, KV_SQ_REGION);
	e->region = region;
	e->chunk = 0;
	e->tells = region->tell;
	region->tell = false;
	chunk->state = KV_CHUNK_VALID;
	chunk->queued++;
	region->busy++;
	kv_put_reg_as(conn, e, chunk->mr, kv_access(region->mr), true);
}

/* The oldest registration that waits for the connection. There is room in the send queue; the connection's lock is held. */
bool kv_put_fresh(struct kv_conn *conn)
{
	struct kv_ep *vep = conn->vep;
	struct kv_region *region;

	spin_lock(&vep->fresh_lock);
	region = list_first_entry_or_null(&vep->fresh, struct kv_region, fresh);
	if (region) {
		spin_lock(&region->lock);
		list_del_init(&region->fresh);
		kv_region_place(region, conn);
		spin_unlock(&region->lock);
	}
	spin_unlock(&vep->fresh_lock);
	return region;
}

/* The connection has ended: memory for its I/Os is registered for nobody. What is long-lived waits for the next one. */
void kv_fresh_lost(struct kv_ep *vep)
{
	struct kv_region *region, *next;

	spin_lock_bh(&vep->fresh_lock);
	list_for_each_entry_safe(region, next, &vep->fresh, fresh) {
		if (!region->mr->per_io)
			continue;
		list_del_init(&region->fresh);
		if (region->tell)
			kfi_mr_registered(region->mr);
		region->tell = false;
	}
	spin_unlock_bh(&vep->fresh_lock);
}
