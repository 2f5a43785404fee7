// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - rdma_cm: connects the queue pairs of MSG endpoints (conn.c) and RDM endpoints (link.c),
 * and checks whether their peers are alive.
 *
 *	the side that calls			the side that listens
 *	CALL: address and route are resolved
 *	CONNECT: queue pair	------------>	kv_listener.called(), kv_cm_take()
 *						MSG: the consumer decides
 *	ESTABLISHED, READY	<------------	ACCEPT: queue pair; or a refusal
 *				------------>	READY: after ACCEPT (RDM), or when rdma_cm reports
 *						ESTABLISHED or a message arrives (MSG)
 *
 * rdma_cm reports the events of an identifier one at a time, in process context, under its handler
 * lock. What belongs to the protocol or to a consumer, or may take long, is a step, which step_work
 * executes: all events of rdma_cm come from one ordered workqueue, and siw_connect() waits until
 * TCP is connected. Any context may queue a step, before kv_cm_detach().
 *
 * The first SEND may arrive before rdma_cm reports that the connection is established. If the last
 * message of the handshake is lost, ib_cm requests it again. rdma_notify() is not used: if the peer
 * disconnects at once, ib_cm would repeat its answer for up to a minute, and rdma_destroy_id()
 * would wait for the end of the repetition.
 *
 * &kv_qp.state tells whose the identifier is, and what it needs at the end:
 *
 *	NEW		none; or that of a call that called() has not taken, which rdma_cm destroys
 *	CALLING		our own, kv_cm_create(); the peer has not answered
 *	CALLED		our own, kv_cm_take(); this side has not answered
 *	CONNECTED	our own; the queue pair has been connected
 *
 * The owner of the queue pair (struct kv_conn, struct kv_stream) ends it, in process context:
 *
 *	kv_cm_detach()	waits for a running event or step. No step runs after it, and no check of
 *			the peer; rdma_cm still reports the end of the connection
 *	kv_cm_close()	refuses or disconnects, and destroys the queue pair
 *	kv_cm_free()	destroys the identifier: no event comes any more; frees the send queue
 */
#include <linux/sched/mm.h>
#include <rdma/ib_cm.h>
#include "verbs.h"

/* Receiver not ready: time after which the peer's device sends again. */
#define KV_RNR_TIMER	IB_RNR_TIMER_000_32

static unsigned int kv_cm_timeout(void)
{
	return READ_ONCE(kv_proto.params.connect_timeout_ms);
}

/*
 * The device detects a dead peer by retries without an answer. rnr_retry_count 7 means that it
 * retries without limit if a peer has posted no receive, so a slow peer is not disconnected.
 */
static void kv_cm_param(struct kv_qp *qp, struct rdma_conn_param *param)
{
	qp->reads_max = min_t(unsigned int, qp->reads_max, qp->kdom->initiator_depth);
	*param = (struct rdma_conn_param) {
		.responder_resources = min(qp->reads_served, qp->kdom->responder_resources),
		.initiator_depth = qp->reads_max,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.private_data = qp->data,
		.private_data_len = qp->data_len,
	};
}

static void kv_cm_set_options(struct kv_qp *qp)
{
	u32 tclass = qp->vep->pe.ep.info->tx_attr->tclass;

	if (tclass & KFI_TC_DSCP)
		rdma_set_service_type(qp->id, kfi_tc_dscp_get(tclass) << 2);
	rdma_set_min_rnr_timer(qp->id, KV_RNR_TIMER);
}

void kv_cm_name(union kfi_inaddr *name, const struct sockaddr_storage *addr, __be16 port)
{
	memset(name, 0, sizeof(*name));
	name->sa.sa_family = addr->ss_family;
	if (addr->ss_family == AF_INET6)
		name->in6.sin6_addr = ((const struct sockaddr_in6 *)addr)->sin6_addr;
	else
		name->in.sin_addr = ((const struct sockaddr_in *)addr)->sin_addr;
	kfi_inaddr_set_port(name, port);
}

/* ---- steps ---- */

/* Call from the endpoint's address, by which the peer identifies the endpoint, and any port. */
static int kv_cm_call(struct kv_qp *qp)
{
	union kfi_inaddr src = qp->vep->addr, dst = *qp->to;
	int ret;

	kfi_inaddr_set_port(&src, 0);
	ret = rdma_resolve_addr(qp->id, kfi_inaddr_any(&src) ? NULL : &src.sa, &dst.sa,
				kv_cm_timeout());
	return ret && ret != -ENOMEM ? -EHOSTUNREACH : ret;
}

static int kv_cm_connect(struct kv_qp *qp)
{
	struct rdma_conn_param param;
	int ret = qp->ops->open(qp);

	if (ret)
		return ret;
	kv_cm_param(qp, &param);
	return rdma_connect(qp->id, &param);
}

static int kv_cm_accept(struct kv_qp *qp)
{
	struct rdma_conn_param param;
	int ret;

	if (qp->id->device != qp->kdom->ib)
		return -EHOSTUNREACH;
	kv_cm_set_options(qp);
	ret = qp->ops->open(qp);
	if (ret)
		return ret;
	kv_cm_param(qp, &param);
	rdma_lock_handler(qp->id);
	ret = rdma_accept(qp->id, &param);
	if (!ret)
		qp->state = KV_CM_CONNECTED;
	rdma_unlock_handler(qp->id);
	/* The peer of an RDM endpoint sends first, which shows that it is connected. */
	if (!ret && qp->vep->pe.ep.type == KFI_EP_RDM)
		qp->ops->ready(qp);
	return ret;
}

static int kv_cm_step_now(struct kv_qp *qp)
{
	if (test_and_clear_bit(KV_STEP_CALL, &qp->steps))
		return kv_cm_call(qp);
	if (test_and_clear_bit(KV_STEP_CONNECT, &qp->steps))
		return kv_cm_connect(qp);
	if (test_and_clear_bit(KV_STEP_ACCEPT, &qp->steps))
		return kv_cm_accept(qp);
	if (test_and_clear_bit(KV_STEP_READY, &qp->steps) && !qp->up)
		qp->ops->ready(qp);
	return 0;
}

void kv_cm_step_work(struct work_struct *work)
{
	struct kv_qp *qp = container_of(work, struct kv_qp, step_work);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for this connection */
	int ret = 0;

	while (!ret && READ_ONCE(qp->steps))	/* one run may have to execute several steps */
		ret = kv_cm_step_now(qp);
	memalloc_noio_restore(noio);
	if (ret)
		qp->ops->fail(qp, ret);
}

void kv_cm_step(struct kv_qp *qp, int step)
{
	spin_lock_bh(&qp->lock);
	if (!qp->detached) {
		set_bit(step, &qp->steps);
		queue_work(kv_cm_wq, &qp->step_work);
	}
	spin_unlock_bh(&qp->lock);
}

/* ---- events ---- */

static int kv_cm_error(const struct rdma_cm_event *event)
{
	switch (event->status) {
	case -ETIMEDOUT:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EADDRNOTAVAIL:
	case -ENODEV:
		return -EHOSTUNREACH;
	default:
		return event->status < 0 ? event->status : -EHOSTUNREACH;
	}
}

static int kv_cm_addr_resolved(struct kv_qp *qp)
{
	if (qp->id->device != qp->kdom->ib)
		return -EHOSTUNREACH;	/* the route uses another device */
	return rdma_resolve_route(qp->id, kv_cm_timeout());
}

/* rdma_cm reports ESTABLISHED on both sides. Return: 0, or why this side ends the connection */
static int kv_cm_established(struct kv_qp *qp, const struct rdma_conn_param *param)
{
	int ret = 0;

	if (qp->state == KV_CM_CALLING) {
		ret = qp->ops->answered(qp, param->private_data, param->private_data_len, true);
		qp->reads_max = min(qp->reads_max, max_t(unsigned int, param->initiator_depth, 1));
	}
	qp->state = KV_CM_CONNECTED;	/* kv_cm_close() disconnects it */
	if (!ret)
		kv_cm_step(qp, KV_STEP_READY);
	return ret;
}

/*
 * Over InfiniBand the caller may reject as well, and each side may reject an established
 * connection. Such a message only ends the connection, and its private data is ignored.
 */
static int kv_cm_rejected(struct kv_qp *qp, struct rdma_cm_event *event)
{
	const void *data;
	u8 len = 0;

	if (qp->state != KV_CM_CALLING)
		return -ESHUTDOWN;
	data = rdma_consumer_reject_data(qp->id, event, &len);
	return qp->ops->answered(qp, data, len, false);
}

static int kv_cm_event(struct kv_qp *qp, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return kv_cm_addr_resolved(qp);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kv_cm_step(qp, KV_STEP_CONNECT);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		return kv_cm_established(qp, &event->param.conn);
	case RDMA_CM_EVENT_REJECTED:
		return kv_cm_rejected(qp, event);
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ESHUTDOWN;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_ADDR_CHANGE:	/* a bond uses another interface: kv_cm_called() */
		return qp->state == KV_CM_CONNECTED ? -ECONNRESET : -EHOSTUNREACH;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return kv_cm_error(event);
	default:
		return 0;
	}
}

/* kv_cm_free() destroys the identifier. */
static int kv_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for this connection */
	struct kv_qp *qp = id->context;
	int ret = kv_cm_event(qp, event);

	memalloc_noio_restore(noio);
	if (ret)
		qp->ops->fail(qp, ret);
	return 0;
}

/* ---- calling ---- */

int kv_cm_create(struct kv_qp *qp)
{
	struct rdma_cm_id *id = rdma_create_id(kfi_ep_net(&qp->vep->pe.ep), kv_cm_handler, qp,
					       RDMA_PS_TCP, IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	qp->id = id;
	qp->state = KV_CM_CALLING;
	qp->reads_served = U8_MAX;
	qp->reads_max = U8_MAX;
	kv_cm_set_options(qp);
	return 0;
}

/* ---- listening ---- */

/*
 * An identifier stays with the device that its address had. A bond may use another interface, and so
 * another device, for the address. rdma_cm reports that if the hardware address of the bond changes
 * with it, as that of IPoIB does: then no call arrives any more, and the listener gets another
 * identifier, when the address has a device that it can use.
 */
#define KV_AGAIN	(5 * HZ)

static void kv_listener_again(struct kv_listener *listener, unsigned long delay)
{
	spin_lock_bh(&listener->lock);
	listener->moved = true;
	if (listener->open)
		mod_delayed_work(kv_cm_wq, &listener->again_work, delay);
	spin_unlock_bh(&listener->lock);
}

static void kv_again_work(struct work_struct *work)
{
	struct kv_listener *listener = container_of(to_delayed_work(work), struct kv_listener,
						    again_work);
	unsigned int noio = memalloc_noio_save();
	int ret = listener->again(listener);

	memalloc_noio_restore(noio);
	if (ret && !listener->told)
		pr_warn("kfi_verbs: can't listen at %pISpc any more, which has moved to another device (%d)\n",
			&listener->addr->sa, ret);
	listener->told = ret;
	if (ret)
		kv_listener_again(listener, KV_AGAIN);
}

void kv_listener_init(struct kv_listener *listener)
{
	spin_lock_init(&listener->lock);
	INIT_DELAYED_WORK(&listener->again_work, kv_again_work);
}

/* The first kv_cm_bind() has succeeded. The address may have moved since. */
void kv_listener_open(struct kv_listener *listener)
{
	spin_lock_bh(&listener->lock);
	listener->open = true;
	if (listener->moved)
		mod_delayed_work(kv_cm_wq, &listener->again_work, 0);
	spin_unlock_bh(&listener->lock);
}

void kv_listener_close(struct kv_listener *listener)
{
	spin_lock_bh(&listener->lock);
	listener->open = false;
	spin_unlock_bh(&listener->lock);
	cancel_delayed_work_sync(&listener->again_work);
	kv_cm_unbind(listener);
}

static int kv_cm_called(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_listener *listener = id->context;
	unsigned int noio;
	int ret;

	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE)
		kv_listener_again(listener, 0);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	noio = memalloc_noio_save();
	ret = listener->called(listener, id, &event->param.conn);
	memalloc_noio_restore(noio);
	if (ret)
		rdma_reject(id, listener->refusal, listener->refusal_len,
			    IB_CM_REJ_CONSUMER_DEFINED);
	return ret;	/* not 0: rdma_cm destroys the identifier */
}

int kv_cm_bind(struct kv_listener *listener, struct net *net, union kfi_inaddr *addr, int backlog)
{
	const union kfi_inaddr wanted = *addr;
	struct rdma_cm_id *id;
	int ret;

	listener->addr = addr;
	/* A listener that waits for its address does not hold the namespace, which may be ending. */
	if (!maybe_get_net(net))
		return -EADDRNOTAVAIL;
	id = rdma_create_id(net, kv_cm_called, listener, RDMA_PS_TCP, IB_QPT_RC);
	put_net(net);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (addr->sa.sa_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, &addr->sa);
	/* The removal of another device would wait for this listener, and no one would close it. */
	if (!ret && listener->only && id->device && id->device != listener->only)
		ret = -EADDRNOTAVAIL;
	if (!ret) {	/* a call may come before rdma_listen() returns: store the port first */
		memcpy(addr, &id->route.addr.src_addr, kfi_inaddr_len(addr->sa.sa_family));
		ret = rdma_listen(id, backlog);
	}
	if (ret) {
		*addr = wanted;
		rdma_destroy_id(id);
		return ret == -ENODEV ? -EADDRNOTAVAIL : ret;
	}
	listener->id = id;
	return 0;
}

void kv_cm_unbind(struct kv_listener *listener)
{
	if (listener->id)
		rdma_destroy_id(listener->id);
	listener->id = NULL;
}

void kv_cm_take(struct kv_qp *qp, struct rdma_cm_id *id)
{
	qp->id = id;
	qp->state = KV_CM_CALLED;
	id->context = qp;
	id->event_handler = kv_cm_handler;
}

/* ---- is the peer alive? ---- */

static unsigned long kv_peer_timeout(void)
{
	return msecs_to_jiffies(READ_ONCE(kv_proto.params.peer_timeout_ms));
}

/* A peer that is silent for so long is probed. */
static unsigned long kv_silence(void)
{
	return kv_peer_timeout() / 2;
}

static unsigned long kv_watch_interval(void)
{
	return clamp(kv_silence() / 2, msecs_to_jiffies(100), 60UL * HZ);
}

/*
 * If nothing arrives from the peer, its owner sends something that is to be answered. The time-out
 * begins after the first interval without an arrival, because this machine may have been suspended.
 */
static bool kv_watch(struct kv_qp *qp)
{
	bool silent = time_after_eq(jiffies, qp->last_active + kv_silence());

	if (!qp->silent)
		qp->since = jiffies;
	qp->silent = silent;
	return qp->ops->watch(qp, kv_peer_timeout()) && silent &&
	       time_after(jiffies, qp->since + kv_peer_timeout());
}

void kv_watch_work(struct work_struct *work)
{
	struct kv_qp *qp = container_of(to_delayed_work(work), struct kv_qp, watch_work);
	bool dead = false;

	spin_lock_bh(&qp->lock);
	if (!qp->detached) {
		dead = kv_watch(qp);
		queue_delayed_work(kv_cm_wq, &qp->watch_work, kv_watch_interval());
	}
	spin_unlock_bh(&qp->lock);
	if (dead)
		qp->ops->fail(qp, -ETIMEDOUT);
}

void kv_cm_up(struct kv_qp *qp, unsigned long delay)
{
	lockdep_assert_held(&qp->lock);
	WRITE_ONCE(qp->up, true);
	qp->last_active = jiffies;
	queue_delayed_work(kv_cm_wq, &qp->watch_work, delay ?: kv_watch_interval());
}

/* ---- the end ---- */

/* Wait for a running handler of the identifier. */
void kv_cm_sync(struct kv_qp *qp)
{
	rdma_lock_handler(qp->id);
	rdma_unlock_handler(qp->id);
}

/* Over siw this waits for siw_connect(), which runs under the handler lock. */
void kv_cm_detach(struct kv_qp *qp)
{
	kv_cm_sync(qp);
	spin_lock_bh(&qp->lock);
	qp->detached = true;
	spin_unlock_bh(&qp->lock);
	cancel_work_sync(&qp->step_work);
	cancel_delayed_work_sync(&qp->watch_work);
}

void kv_cm_close(struct kv_qp *qp)
{
	if (qp->state == KV_CM_CALLED)
		rdma_reject(qp->id, qp->data, qp->data_len, IB_CM_REJ_CONSUMER_DEFINED);
	else if (qp->ib)
		rdma_disconnect(qp->id);
	kv_qp_drain(qp);
	kv_qp_destroy(qp);
}

void kv_cm_free(struct kv_qp *qp)
{
	if (qp->state != KV_CM_NEW)
		rdma_destroy_id(qp->id);
	kv_qp_free(qp);
	if (qp->kdom)
		kv_domain_put(qp->kdom);
}
