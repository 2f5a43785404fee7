// SPDX-License-Identifier: GPL-2.0
/*
 * rkey.c - regions that peers of MSG endpoints access by a key of the device.
 *
 * The key is chosen before the device registers the region. The registration is a request in the
 * send queue of the endpoint to which the region is bound, before all requests that are posted
 * later. Until the endpoint is connected, or until the next post, the region is in
 * &kv_ep.reg_queue.
 */
#include "region.h"

#define KV_ENABLE_MS	1000		/* time for a device to register an enabled region */

/*
 * Choose the key and the address of a region. A device can't map memory at another offset in a
 * page, so the lower bits of the address are those of the memory. @unused: the present key was
 * never passed to the device.
 *
 * A region for one I/O has another key each time. A long-lived region has the key with which the
 * registration was allocated: the device knows this key whether or not it has registered the
 * region, so the key can be invalidated in both cases (kv_region_place()).
 */
int kv_region_key(struct kv_region *region, bool unused)
{
	struct kfi_mr *mr = region->mr;
	int ret = kv_region_map(region);

	if (ret)
		return ret;
	mr->fid.addr = (mr->fid.addr & PAGE_MASK) | region->sg->offset;
	region->ib->iova = mr->fid.addr;
	if (!unused)
		region->last = region->ib->rkey;
	if (mr->per_io)
		ib_update_fast_reg_key(region->ib, ib_inc_rkey(region->ib->rkey));
	mr->prov_key = region->ib->rkey;
	return 0;
}

/* Inside rcu_read_lock(), which keeps the connection. */
struct kv_conn *kv_region_conn(const struct kfi_mr *mr)
{
	struct kfi_peer_conn *pc = kfi_conn_set_conn(&to_kv_ep(mr->ep)->pe.conn_set);

	return pc ? to_kv_conn(pc) : NULL;
}

/* Remove the region from &kv_ep.reg_queue: its registration is not put into a send queue. */
void kv_reg_queue_del(struct kv_region *region)
{
	struct kv_ep *vep = READ_ONCE(region->vep);
	bool notify;

	if (!vep)
		return;
	spin_lock_bh(&vep->reg_lock);
	notify = !list_empty(&region->reg_node) && region->notify;
	region->notify = false;
	list_del_init(&region->reg_node);
	spin_unlock_bh(&vep->reg_lock);
	if (notify)
		kfi_mr_registered(region->mr);
}

/*
 * Let the registration be put into the send queue before all requests that are posted from now on,
 * unless the device is being removed.
 */
void kv_reg_queue_add(struct kv_region *region, bool notify)
{
	struct kv_ep *vep = to_kv_ep(region->mr->ep);
	bool closed;

	WRITE_ONCE(region->vep, vep);
	spin_lock_bh(&vep->reg_lock);
	spin_lock(&region->lock);
	closed = region->closed;
	spin_unlock(&region->lock);
	if (!closed) {
		region->notify = notify;
		list_add_tail(&region->reg_node, &vep->reg_queue);
	}
	spin_unlock_bh(&vep->reg_lock);
	if (closed && notify)
		kfi_mr_registered(region->mr);
}

void kv_mr_publish(struct kfi_mr *mr, bool notify)
{
	struct kv_region *region = READ_ONCE(mr->priv);
	struct kv_done done = KV_DONE(done);
	struct kv_conn *conn;

	if (!region || !mr->domain->prov_keys) {
		if (notify)
			kfi_mr_registered(mr);
		return;
	}
	kv_reg_queue_add(region, notify);
	conn = kv_region_conn(mr);
	if (!conn) {
		kv_reg_queue_del(region);	/* kv_reg_queue_flush() may have run before */
		return;
	}
	spin_lock_bh(&conn->qp.lock);
	conn->waits = true;
	if (notify)
		kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

/*
 * Register the region: now if its endpoint is connected, else with the next connection. Inside
 * rcu_read_lock().
 */
void kv_reg_queue_push(struct kv_region *region)
{
	struct kv_conn *conn;

	kv_reg_queue_add(region, false);
	smp_mb();	/* pairs with kv_conn_ready(): one of both sees what the other has done */
	conn = kv_region_conn(region->mr);
	if (!conn)
		return;
	spin_lock_bh(&conn->qp.lock);
	conn->waits = true;
	spin_unlock_bh(&conn->qp.lock);
	kv_tx_kick(conn);
}

/* Does the endpoint have a connection whose device will report the registration? */
static bool kv_region_pending(const struct kfi_mr *mr)
{
	struct kv_region *region;
	bool pending;

	rcu_read_lock();
	region = READ_ONCE(mr->priv);
	pending = region && (!list_empty(&region->reg_node) || READ_ONCE(region->queued)) &&
		  kv_region_conn(mr);
	rcu_read_unlock();
	return pending;
}

/*
 * Wait until the device has registered the region, because a peer may get the key by other means
 * than messages of the endpoint. The time is limited: the registration may wait for messages before
 * it in the send queue, which the peer does not receive.
 */
int kv_mr_enable(struct kfi_mr *mr)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(KV_ENABLE_MS);
	struct kv_region *region;

	if (!mr->domain->prov_keys)
		return 0;
	if (!mr->ep || mr->ep->type != KFI_EP_MSG)
		return -EINVAL;
	rcu_read_lock();
	region = READ_ONCE(mr->priv);
	if (region)
		kv_reg_queue_push(region);
	rcu_read_unlock();
	while (!wait_event_timeout(to_kv_ep(mr->ep)->pe.conn_set.idle, !kv_region_pending(mr),
				   msecs_to_jiffies(20)))
		if (time_after(jiffies, deadline))
			break;
	return region ? 0 : -ENODEV;
}

/* ---- into the send queue ---- */

static int kv_access(const struct kfi_mr *mr)
{
	return IB_ACCESS_LOCAL_WRITE |
	       (mr->access & KFI_REMOTE_WRITE ? IB_ACCESS_REMOTE_WRITE : 0) |
	       (mr->access & KFI_REMOTE_READ ? IB_ACCESS_REMOTE_READ : 0);
}

/*
 * Put a registration into the send queue. Later requests find the region registered. The end of the
 * region waits for the report of the registration. A device refuses to register what is registered,
 * so if it may have executed a registration that was lost, the key is invalidated first.
 */
static void kv_region_place(struct kv_region *region, struct kv_conn *conn)
{
	struct kv_sqe *e;

	if (region->unknown)
		kv_put_inv(&conn->qp, kv_sq_get(&conn->qp, KV_SQ_OTHER), region->ib->rkey, false);
	else
		kv_put_fence(&conn->qp, region->last);
	region->unknown = false;
	e = kv_sq_get(&conn->qp, KV_SQ_REGION);
	e->region = region;
	e->notify = region->notify;
	region->notify = false;
	region->state = KV_REGION_VALID;
	region->queued++;
	kv_put_reg_as(&conn->qp, e, region->ib, kv_access(region->mr), true);
}

/*
 * Put the oldest waiting registration into the send queue, which has room. Called under kv_qp.lock.
 * Return: false if none waits.
 */
bool kv_put_next_reg(struct kv_conn *conn)
{
	struct kv_ep *vep = conn->qp.vep;
	struct kv_region *region;

	spin_lock(&vep->reg_lock);
	region = list_first_entry_or_null(&vep->reg_queue, struct kv_region, reg_node);
	if (region) {
		spin_lock(&region->lock);
		list_del_init(&region->reg_node);
		kv_region_place(region, conn);
		spin_unlock(&region->lock);
	}
	spin_unlock(&vep->reg_lock);
	return region;
}

/*
 * The connection has ended: drop waiting registrations of regions for single I/Os. Long-lived
 * regions wait for the next connection.
 */
void kv_reg_queue_flush(struct kv_ep *vep)
{
	struct kv_region *region, *next;

	spin_lock_bh(&vep->reg_lock);
	list_for_each_entry_safe(region, next, &vep->reg_queue, reg_node) {
		if (!region->mr->per_io)
			continue;
		list_del_init(&region->reg_node);
		if (region->notify)
			kfi_mr_registered(region->mr);
		region->notify = false;
	}
	spin_unlock_bh(&vep->reg_lock);
}

/*
 * A message of the peer has invalidated @rkey at the local device. Return: true if it is the key of
 * a region for a single I/O, whose memory is unmapped now.
 */
bool kv_region_io_invalidated(struct kv_conn *conn, u32 rkey)
{
	struct kv_region *region;
	bool found = false;
	struct kfi_mr *mr;

	rcu_read_lock();
	mr = kfi_mr_find(&conn->qp.vep->pe.ep, rkey);
	region = mr && mr->per_io ? READ_ONCE(mr->priv) : NULL;
	if (region) {
		spin_lock_bh(&region->lock);
		found = region->state == KV_REGION_VALID && region->ib->rkey == rkey;
		if (found) {
			kv_region_unmap(region);
			region->state = KV_REGION_NEW;
		}
		spin_unlock_bh(&region->lock);
	}
	rcu_read_unlock();
	return found;
}
