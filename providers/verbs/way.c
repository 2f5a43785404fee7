// SPDX-License-Identifier: GPL-2.0
/*
 * way.c - who is where: rdma_cm's service resolution, by which a datagram endpoint learns another's queue pair.
 *
 *	who wants to send			who listens
 *	ADDR_RESOLVED, ROUTE_RESOLVED
 *	hello			------------>	CONNECT_REQUEST
 *	ESTABLISHED		<------------	accepted, with queue pair number and key; nothing is kept of it
 *
 * Nobody tells us when a peer goes, or comes again with another queue pair. So an answer is believed for KV_WAY_FRESH, or
 * until the peer is heard from another queue pair; then the next datagram asks again. That also bounds what is kept: ways
 * to those that have been sent to in this time.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include "dgram.h"

#define KV_WAY_FRESH	(10 * HZ)

/* An address as RoCE's GIDs have it. */
void kv_way_gid(const union kfi_inaddr *name, u8 *gid)
{
	if (name->sa.sa_family == AF_INET6)
		memcpy(gid, &name->in6.sin6_addr, 16);
	else
		ipv6_addr_set_v4mapped(name->in.sin_addr.s_addr, (struct in6_addr *)gid);
}

/* ---- the end of a way ---- */

/* Any context; the first reason counts. On the list, so kv_way_down() has not ended. */
static void kv_way_fail(struct kv_way *way, int err)
{
	if (test_and_set_bit(0, &way->failed))
		return;
	way->error = err;
	queue_work(kv_cm_wq, &way->down_work);
}

static void kv_way_put(struct kv_way *way)
{
	if (refcount_dec_and_test(&way->ref))
		kfree(way);
}

/* One user less; the lock is held. */
void kv_way_left(struct kv_way *way)
{
	lockdep_assert_held(&way->dg->lock);
	if (!--way->users && test_bit(0, &way->failed))
		wake_up_all(&way->dg->idle);
}

static bool kv_way_unused(struct kv_way *way, bool *stopping)
{
	struct kv_dgram *dg = way->dg;
	bool unused;

	spin_lock_bh(&dg->lock);
	unused = !way->users;
	*stopping = dg->stopping;
	spin_unlock_bh(&dg->lock);
	return unused;
}

/* What has been posted goes out, as fast as the device takes it; unless the endpoint stops. */
static void kv_way_wait(struct kv_way *way)
{
	bool stopping;

	wait_event(way->dg->idle, kv_way_unused(way, &stopping) || stopping);
	if (stopping)
		kv_dgram_flush(way);
	wait_event(way->dg->idle, kv_way_unused(way, &stopping));
}

static void kv_way_unlist(struct kv_way *way)
{
	struct kv_dgram *dg = way->dg;

	spin_lock_bh(&dg->lock);
	list_del_init(&way->entry);
	kfi_peer_leave(&way->pc);
	wake_up_all(&dg->idle);
	spin_unlock_bh(&dg->lock);
}

static void kv_way_take_down(struct kv_way *way)
{
	struct kv_dgram *dg = way->dg;

	spin_lock_bh(&dg->lock);	/* who has not seen it fail has queued its start */
	spin_unlock_bh(&dg->lock);
	cancel_work_sync(&way->start_work);
	rdma_destroy_id(way->id);	/* its events publish */
	cancel_delayed_work_sync(&way->deadline);
	kfi_peer_unpublish(&way->pc);
	synchronize_rcu_expedited();
	kv_way_wait(way);
	if (way->ah)
		rdma_destroy_ah(way->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfi_peer_lost(&way->pc, way->error);
	kv_way_unlist(way);
}

static void kv_way_down(struct work_struct *work)
{
	struct kv_way *way = container_of(work, struct kv_way, down_work);
	unsigned int noio = memalloc_noio_save();

	kv_way_take_down(way);
	memalloc_noio_restore(noio);
	kv_way_put(way);
}

static void kv_way_deadline(struct work_struct *work)
{
	struct kv_way *way = container_of(to_delayed_work(work), struct kv_way, deadline);

	kv_way_fail(way, READ_ONCE(way->pc.ready) ? -ESTALE : -ETIMEDOUT);
}

/* The endpoint stops: has the last of them gone? */
bool kv_ways_gone(struct kv_dgram *dg, int err)
{
	struct kv_way *way;
	bool gone;

	spin_lock_bh(&dg->lock);
	list_for_each_entry(way, &dg->ways, entry)
		kv_way_fail(way, err);
	gone = list_empty(&dg->ways);
	spin_unlock_bh(&dg->lock);
	return gone;
}

/* A datagram of a peer's has come, softirq: if its queue pair is another one now, ours is out of date. */
void kv_way_heard(struct kv_dgram *dg, kfi_addr_t from, u32 qpn)
{
	struct kfi_peer_conn *pc;
	struct kfi_peer *peer;

	rcu_read_lock();
	peer = kfi_peer_cached(&dg->vep->peers, from);
	pc = peer ? rcu_dereference(peer->conn) : NULL;
	if (pc && to_kv_way(pc)->qpn != qpn) {
		kv_way_fail(to_kv_way(pc), -ESTALE);
		kfi_peer_unpublish(pc);		/* now: what is sent in answer must not go there any more */
	}
	rcu_read_unlock();
}

/* ---- asking ---- */

static void kv_way_hello(u8 kind, u16 status, struct kvw_hello *hello)
{
	struct kvw_greeting g = { .kind = kind, .ep_type = 2, .status = status };

	kvw_encode_hello(&g, hello);
}

static int kv_way_addr_resolved(struct kv_way *way)
{
	const struct kv_domain *kdom = way->dg->kdom;

	if (way->id->device != kdom->ib || way->id->port_num != kdom->port)
		return -EHOSTUNREACH;	/* the way there is another device's */
	return rdma_resolve_route(way->id, kv_connect_timeout_ms);
}

static int kv_way_ask(struct kv_way *way)
{
	struct kvw_hello hello;
	struct rdma_conn_param param = {
		.private_data = &hello, .private_data_len = sizeof(hello), .qp_num = way->dg->qp->qp_num,
	};

	kv_way_hello(KVW_HELLO, 0, &hello);
	return rdma_connect_locked(way->id, &param);
}

static u32 kv_way_mtu(const struct kv_way *way)
{
	int mtu = ib_mtu_enum_to_int(way->id->route.path_rec->mtu);

	return mtu > 0 ? min_t(u32, mtu, way->dg->mtu) : way->dg->mtu;
}

/* From here on it can be sent to; what has waited goes first. */
static int kv_way_told(struct kv_way *way, struct rdma_ud_param *ud)
{
	union kfi_inaddr src;
	struct kvw_greeting g;
	struct ib_ah *ah;
	int ret = kvw_decode_hello(ud->private_data, ud->private_data_len, &g);

	if (!ret && (g.kind != KVW_ACCEPT || g.ep_type != 2))
		ret = -EPROTO;
	if (ret)
		return ret;
	ah = rdma_create_ah(way->dg->kdom->pd, &ud->ah_attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	way->ah = ah;
	way->qpn = ud->qp_num;
	way->qkey = ud->qkey;
	way->mtu = kv_way_mtu(way);
	kv_cm_name(&src, &way->id->route.addr.src_addr, 0);
	kv_way_gid(&src, way->src);
	mod_delayed_work(kv_cm_wq, &way->deadline, KV_WAY_FRESH);
	kfi_peer_publish(&way->pc);
	kv_dgram_kick(way->dg);
	return 0;
}

/* No answer; or no, and ours says why. */
static int kv_way_refused(const struct rdma_cm_event *event)
{
	const struct rdma_ud_param *ud = &event->param.ud;
	struct kvw_greeting g;

	if (event->status <= 0)
		return kv_cm_error(event);
	if (kvw_decode_hello(ud->private_data, ud->private_data_len, &g) || g.kind != KVW_REJECT || !g.status)
		return -ECONNREFUSED;
	return -(int)g.status;
}

static int kv_way_event(struct kv_way *way, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return kv_way_addr_resolved(way);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return kv_way_ask(way);
	case RDMA_CM_EVENT_ESTABLISHED:
		return way->ah ? 0 : kv_way_told(way, &event->param.ud);
	case RDMA_CM_EVENT_UNREACHABLE:
		return kv_way_refused(event);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return -ESTALE;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return kv_cm_error(event);
	default:
		return 0;
	}
}

/* The identifier is kv_way_down()'s to destroy. */
static int kv_way_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_way *way = id->context;
	unsigned int noio;
	int ret;

	if (test_bit(0, &way->failed))
		return 0;
	noio = memalloc_noio_save();
	ret = kv_way_event(way, event);
	memalloc_noio_restore(noio);
	if (ret)
		kv_way_fail(way, ret);
	return 0;
}

/* From our own address, so that the peer knows us by it. */
static void kv_way_start(struct work_struct *work)
{
	struct kv_way *way = container_of(work, struct kv_way, start_work);
	union kfi_inaddr src = way->dg->vep->addr;
	unsigned int noio = memalloc_noio_save();
	int ret;

	kfi_inaddr_set_port(&src, 0);
	queue_delayed_work(kv_cm_wq, &way->deadline, msecs_to_jiffies(kv_connect_timeout_ms));
	ret = rdma_resolve_addr(way->id, kfi_inaddr_any(&src) ? NULL : &src.sa, &way->name.sa, kv_connect_timeout_ms);
	memalloc_noio_restore(noio);
	if (ret)
		kv_way_fail(way, ret == -ENOMEM ? ret : -EHOSTUNREACH);
}

/* ---- being asked ---- */

static int kv_way_check(const struct kv_dgram *dg, const struct rdma_cm_id *id, const struct rdma_ud_param *ud)
{
	struct kvw_greeting g;
	int ret = kvw_decode_hello(ud->private_data, ud->private_data_len, &g);

	if (ret)
		return ret;
	if (g.kind != KVW_HELLO || g.ep_type != 2)
		return -EPROTO;
	return id->device == dg->kdom->ib && id->port_num == dg->kdom->port ? 0 : -EHOSTUNREACH;
}

/* An answer is all, and nothing is left of the question: rdma_cm destroys it. */
int kv_way_asked(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_ep *vep = id->context;
	struct kvw_hello hello;
	struct rdma_conn_param param = { .private_data = &hello, .private_data_len = sizeof(hello) };
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	ret = kv_way_check(vep->dgram, id, &event->param.ud);
	kv_way_hello(ret ? KVW_REJECT : KVW_ACCEPT, -ret, &hello);
	param.qp_num = vep->dgram->qp->qp_num;
	param.qkey = vep->dgram->qkey;
	if (ret)
		rdma_reject(id, &hello, sizeof(hello), IB_CM_REJ_CONSUMER_DEFINED);
	else
		rdma_accept(id, &param);
	return -ECONNABORTED;
}

/* ---- for kfi.ko ---- */

static int kv_way_list(struct kv_way *way, struct kfi_peer *peer)
{
	struct kv_dgram *dg = way->dg;
	bool stopping;

	spin_lock_bh(&dg->lock);
	stopping = dg->stopping;
	if (!stopping) {
		list_add_tail(&way->entry, &dg->ways);
		refcount_inc(&way->ref);
		kfi_peer_join(peer, &way->pc);
	}
	spin_unlock_bh(&dg->lock);
	return stopping ? -ENODEV : 0;
}

static struct kv_way *kv_way_new(struct kfi_peer *peer)
{
	struct kv_way *way = kzalloc(sizeof(*way), GFP_NOIO);

	if (!way)
		return NULL;
	refcount_set(&way->ref, 1);
	way->dg = to_kv_ep(peer->peers->ep)->dgram;
	memcpy(&way->name, peer->name, sizeof(way->name));
	way->pc.dialed = true;
	INIT_LIST_HEAD(&way->entry);
	INIT_WORK(&way->start_work, kv_way_start);
	INIT_WORK(&way->down_work, kv_way_down);
	INIT_DELAYED_WORK(&way->deadline, kv_way_deadline);
	return way;
}

static int kv_way_id(struct kv_way *way)
{
	unsigned int noio = memalloc_noio_save();
	struct rdma_cm_id *id;

	id = rdma_create_id(kfi_ep_net(&way->dg->vep->ep), kv_way_handler, way, RDMA_PS_UDP, IB_QPT_UD);
	memalloc_noio_restore(noio);
	if (IS_ERR(id))
		return PTR_ERR(id);
	way->id = id;
	return 0;
}

static struct kfi_peer_conn *kv_way_dial(struct kfi_peer *peer)
{
	struct kv_way *way = kv_way_new(peer);
	int ret;

	if (!way)
		return ERR_PTR(-ENOMEM);
	ret = kv_way_id(way);
	if (ret)
		goto put;
	ret = kv_way_list(way, peer);
	if (!ret)
		return &way->pc;
	rdma_destroy_id(way->id);
put:
	kv_way_put(way);
	return ERR_PTR(ret);
}

/* Not any more when the end has begun, see kv_way_take_down(). */
static void kv_peer_start_way(struct kfi_peer_conn *pc)
{
	struct kv_way *way = to_kv_way(pc);

	spin_lock_bh(&way->dg->lock);
	if (!test_bit(0, &way->failed))
		queue_work(kv_cm_wq, &way->start_work);
	spin_unlock_bh(&way->dg->lock);
}

static void kv_peer_put_way(struct kfi_peer_conn *pc)
{
	kv_way_put(to_kv_way(pc));
}

static void kv_peer_fail_way(struct kfi_peer_conn *pc, int err)
{
	kv_way_fail(to_kv_way(pc), err);
}

static bool kv_peer_failed_way(const struct kfi_peer_conn *pc)
{
	return test_bit(0, &to_kv_way(pc)->failed);
}

static void kv_peer_queue_way(struct kfi_peer_conn *pc, struct kfi_oper *op)
{
	kv_dgram_queue(to_kv_way(pc), op);
}

static void kv_peer_show_way(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *pc,
			     struct kfi_peer_info *info)
{
	const struct kv_way *way;

	kv_show(name, NULL, info);
	if (!pc)
		return;
	way = to_kv_way(pc);
	info->state = test_bit(0, &way->failed) ? "stale" : "known";
	info->tx_bytes = READ_ONCE(way->tx_bytes);
	info->pending = READ_ONCE(way->users);
}

const struct kfi_peer_ops kv_way_ops = {
	.name_len	= sizeof(union kfi_inaddr),
	.max_peers	= &kv_max_peers,
	.patience_ms	= &kv_connect_timeout_ms,
	.name		= kv_peer_name,
	.cmp		= kfi_inaddr_cmp,
	.dial		= kv_way_dial,
	.start		= kv_peer_start_way,
	.put		= kv_peer_put_way,
	.fail		= kv_peer_fail_way,
	.failed		= kv_peer_failed_way,
	.queue		= kv_peer_queue_way,
	.show		= kv_peer_show_way,
};
