// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - rdma_cm: how a connection comes about. The events of one identifier come one at a time, in process context.
 *
 *	who calls				who listens
 *	ADDR_RESOLVED, ROUTE_RESOLVED
 *	queue pair, hello	------------>	CONNECT_REQUEST: the consumer is asked
 *	ESTABLISHED		<------------	queue pair, accept with a hello; or reject with one
 *	READY			============>	the first packet: now this side may send too
 *
 * iWARP lets the side that has called speak first, and InfiniBand may lose its last word: READY is good for both.
 *
 * With an authorization key who calls does so twice, see auth.c.
 *
 * What the consumer decides, and what he is told, is done by step_work, which kv_conn_down() waits for.
 */
#include <linux/sched/mm.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "verbs.h"

/* What an RDM endpoint says of itself. Return: its bytes */
static size_t kv_cm_hello(struct kv_conn *conn, u8 kind, struct kvw_accept *say)
{
	struct kv_ep *vep = conn->vep;
	struct kvw_greeting g = {
		.kind = kind,
		.window = { kv_window, kv_window, kv_window },
		.answers = kv_answers,
		.packet = conn->kdom ? kv_packet(conn->kdom) : KVW_PAGE,
		.auth = conn->auth && kind != KVW_REJECT,
		.incarnation = vep->peers.incarnation,
		.stream = conn->pc.stream,
		.known = conn->pc.known,
		.port = be16_to_cpu(kfi_inaddr_port(&vep->addr)),
		.src_ctx = conn->pc.dialed ? kfi_peer_tx_ctx(&vep->ep) : 0,
		.dst_ctx = conn->pc.dialed ? kfi_peer_rx_ctx(conn->pc.peer) : 0,
	};

	if (kind == KVW_PROOF)
		g.ticket = kv_auth_ticket(conn);
	kvw_encode_hello(&g, &say->hello);
	return g.auth ? kv_auth_outgoing(conn, say) : sizeof(say->hello);
}

/* Private data of what we say to rdma_cm: a hello, or the consumer's alone. */
static const void *kv_cm_words(struct kv_conn *conn, u8 kind, struct kvw_accept *say, u8 *len)
{
	if (conn->plain) {
		*len = conn->data_out_len;
		return conn->data_out;
	}
	*len = kv_cm_hello(conn, kind, say);
	return say;
}

/* A dead peer is found by retries; a live one that is slow, or not ready without our credits, gets all the time it needs. */
static void kv_cm_param(struct kv_conn *conn, u8 kind, struct kvw_accept *say, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param) {
		.responder_resources = conn->serves,
		.initiator_depth = conn->reads_max,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	param->private_data = kv_cm_words(conn, kind, say, &param->private_data_len);
}

/* ---- calling ---- */

static int kv_cm_addr_resolved(struct kv_conn *conn)
{
	if (conn->id->device != conn->kdom->ib)
		return -EHOSTUNREACH;	/* the way there is another device's */
	return rdma_resolve_route(conn->id, kv_connect_timeout_ms);
}

/* In step_work: the queue pair must not come into being while the connection goes. */
static int kv_cm_connect(struct kv_conn *conn)
{
	u8 kind = kv_auth_kind(conn);
	struct rdma_conn_param param;
	struct kvw_accept say;
	int ret = conn->auth && kind == KVW_HELLO ? kv_qp_knock(conn) : kv_qp_create(conn);

	if (ret)
		return ret;
	conn->serves = conn->kdom->responder_resources;
	conn->reads_max = conn->kdom->initiator_depth;
	kv_cm_param(conn, kind, &say, &param);
	return rdma_connect(conn->id, &param);
}

static int kv_cm_accepted(struct kv_conn *conn, const struct rdma_conn_param *param)
{
	int ret;

	if (conn->plain) {
		kv_plain_established(conn, param);
		return 0;
	}
	if (!conn->pc.dialed)
		return 0;	/* READY says the same, and nothing is said before it */
	ret = kvw_decode_hello(param->private_data, param->private_data_len, &conn->greeting) ?:
	      kv_auth_accepted(conn, param->private_data);
	if (ret)
		return ret;
	if (conn->greeting.kind != KVW_ACCEPT)
		return -EPROTO;
	if (conn->pc.peer && !kv_rdm_accepted(conn))
		return -EALREADY;
	conn->reads_max = clamp_t(unsigned int, param->initiator_depth, 1, conn->reads_max);
	conn->state = KV_ACCEPTED;
	kv_conn_open(conn);
	kv_cm_step(conn, KV_STEP_READY);
	return 0;
}

/* Refused by a consumer of ours, who says why; or nobody listens. Not every device tells the two apart: ours has a hello. */
static int kv_cm_rejected(struct kv_conn *conn, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct kvw_greeting *g = &conn->greeting;
	int ret;

	if (conn->plain)
		return kv_plain_rejected(conn, event);

	if (kvw_decode_hello(param->private_data, param->private_data_len, g) ||
	    (g->kind != KVW_REJECT && g->kind != KVW_CHALLENGE))
		return -ECONNREFUSED;
	if (g->kind == KVW_CHALLENGE) {
		ret = kv_auth_challenged(conn, param->private_data);
		if (!ret)
			kv_cm_step(conn, KV_STEP_AGAIN);
		return ret;
	}
	return g->status ? -(int)g->status : -ECONNREFUSED;
}

/* ---- events ---- */

/*
 * InfiniBand lets who has called refuse as well, and either side still when the connection stands; what is said with that is the peer's
 * word about nothing. Only the answer to a call of ours means more than an end.
 */
static bool kv_cm_is_answer(const struct kv_conn *conn)
{
	return conn->pc.dialed && conn->state == KV_CALLING;
}

int kv_cm_error(const struct rdma_cm_event *event)
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

static int kv_cm_event(struct kv_conn *conn, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return kv_cm_addr_resolved(conn);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kv_cm_step(conn, KV_STEP_CONNECT);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		return kv_cm_accepted(conn, &event->param.conn);
	case RDMA_CM_EVENT_REJECTED:
		if (kv_cm_is_answer(conn))
			return kv_cm_rejected(conn, event);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
		return conn->state == KV_READY ? kv_conn_end(conn) : -ECONNREFUSED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return kv_cm_error(event);
	default:
		return 0;
	}
}

/* The identifier is kv_conn_down()'s to destroy. */
static int kv_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_conn *conn = id->context;
	int ret;

	if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
		set_bit(KV_ESTABLISHED, &conn->flags);
		smp_mb__after_atomic();	/* for waitqueue_active() in wake_up_var() */
		wake_up_var(&conn->flags);
	}
	/* Behind the end of a queue pair's as well, for a message may be before both: kv_rq_lost() */
	if (test_bit(KV_FAILED, &conn->flags) && !(conn->plain && event->event == RDMA_CM_EVENT_ESTABLISHED))
		return 0;
	ret = kv_cm_event(conn, event);
	if (ret)
		kv_conn_fail(conn, ret);
	return 0;
}

/* No handler runs that began before this. It may be one that has made the queue pair and not told us yet. */
void kv_cm_settle(struct kv_conn *conn)
{
	rdma_lock_handler(conn->id);
	rdma_unlock_handler(conn->id);
}

static void kv_cm_tune(struct kv_conn *conn)
{
	u32 tclass = conn->vep->ep.info->tx_attr->tclass;

	if (tclass & KFI_TC_DSCP)
		rdma_set_service_type(conn->id, kfi_tc_dscp_get(tclass) << 2);
	if (conn->plain)
		kv_plain_tune(conn);
}

int kv_cm_id(struct kv_conn *conn)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(kfi_ep_net(&conn->vep->ep), kv_cm_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id = id;
	kv_cm_tune(conn);
	return 0;
}

/* From our own address, so that the peer knows us by it; any port. */
static int kv_cm_call(struct kv_conn *conn)
{
	union kfi_inaddr src = conn->vep->addr, dst = conn->name;
	int ret;

	kfi_inaddr_set_port(&src, 0);
	conn->state = KV_CALLING;
	queue_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(kv_connect_timeout_ms));
	ret = rdma_resolve_addr(conn->id, kfi_inaddr_any(&src) ? NULL : &src.sa, &dst.sa, kv_connect_timeout_ms);
	return ret && ret != -ENOMEM ? -EHOSTUNREACH : ret;
}

/* In step_work, like every use of the identifier before it is destroyed. A refused one can't call again. */
static int kv_cm_call_again(struct kv_conn *conn)
{
	struct rdma_cm_id *old = conn->id;
	int ret;

	kv_qp_destroy(conn);
	if (conn->kept)
		return -EIO;	/* the device may still tell of it: there is no second one in its place */
	ret = kv_cm_id(conn);
	if (ret)
		return ret;
	rdma_destroy_id(old);
	return kv_cm_call(conn);
}

/* ---- listening ---- */

static void kv_cm_refuse(struct rdma_cm_id *id, bool plain, u16 status)
{
	struct kvw_greeting g = { .kind = KVW_REJECT, .status = status };
	struct kvw_hello hello;

	kvw_encode_hello(&g, &hello);
	rdma_reject(id, &hello, plain ? 0 : sizeof(hello), IB_CM_REJ_CONSUMER_DEFINED);
}

/* It is on the listener's list: whoever ends it does the rest. */
static void kv_cm_ask(struct kv_pep *vpep, struct kv_conn *conn)
{
	conn->requested = true;
	kv_conn_get(conn);		/* the consumer's */
	if (!kfi_pep_connreq(&vpep->pep, &conn->req, &conn->name, kfi_inaddr_len(conn->name.sa.sa_family), conn->data_in,
			     conn->data_in_len))
		return;
	conn->requested = false;
	kv_conn_put(conn);
	kv_conn_fail(conn, -ECONNREFUSED);
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

/* It goes on as one that we have made, and its identifier is kv_conn_down()'s to destroy. */
static void kv_cm_own(struct kv_conn *conn, struct rdma_cm_id *id)
{
	conn->id = id;
	id->context = conn;
	id->event_handler = kv_cm_handler;
}

static bool kv_cm_is_call(const struct kvw_greeting *g)
{
	return g->kind == KVW_HELLO || g->kind == KVW_PROOF;
}

/* What the caller says; @door: he may have to prove it. */
static int kv_cm_called(struct kv_conn *conn, struct kv_door *door, struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	int ret = kvw_decode_hello(param->private_data, param->private_data_len, &conn->greeting);

	if (!ret && !kv_cm_is_call(&conn->greeting))
		ret = -EPROTO;
	return ret ?: kv_auth_called(conn, door, id, param->private_data);
}

/* The connection of this caller, for an endpoint or a passive one. ERR_PTR */
static struct kv_conn *kv_cm_request(struct kv_ep *vep, struct kv_pep *vpep, struct rdma_cm_id *id,
				     const struct rdma_conn_param *param)
{
	struct kv_conn *conn = kv_conn_new(vep, vpep);
	const struct sockaddr_storage *from = &id->route.addr.dst_addr;
	__be16 port;
	int ret = 0;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	if (conn->plain)
		ret = kv_plain_called(conn, id, param);
	else
		ret = kv_cm_called(conn, &vep->door, id, param);
	if (ret) {
		kv_conn_put(conn);
		return ERR_PTR(ret);
	}
	port = vep ? cpu_to_be16(conn->greeting.port) : ((const struct sockaddr_in *)from)->sin_port;
	kv_cm_name(&conn->name, from, port);
	conn->serves = param->responder_resources;
	conn->reads_max = max_t(unsigned int, param->initiator_depth, 1);
	conn->state = KV_WAITING;
	return conn;
}

static u16 kv_cm_reason(int err)
{
	return err == -EPROTONOSUPPORT || err == -EALREADY || err == -KFI_EKEYREJECTED ? -err : ECONNREFUSED;
}

/* Nonzero: rdma_cm destroys it. */
static int kv_cm_turn_away(struct rdma_cm_id *id, bool plain, int err)
{
	if (err == -EINPROGRESS)
		return err;	/* it has its answer */
	if (err == -KFI_EKEYREJECTED)
		kv_auth_warn(&id->route.addr.dst_addr);
	kv_cm_refuse(id, plain, kv_cm_reason(err));
	return err;
}

int kv_cm_pep_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_pep *vpep = id->context;
	struct kv_conn *conn;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	conn = kv_cm_request(NULL, vpep, id, &event->param.conn);
	if (IS_ERR(conn))
		return kv_cm_turn_away(id, true, PTR_ERR(conn));
	if (kfi_home_list(&vpep->home, &conn->pc, NULL)) {
		kv_conn_put(conn);
		return kv_cm_turn_away(id, true, -EBUSY);
	}
	kv_cm_own(conn, id);
	kv_cm_ask(vpep, conn);
	kv_conn_put(conn);
	return 0;
}

/* Whether it may is settled here, with the handler's lock held; the rest takes time. */
int kv_cm_ep_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_ep *vep = id->context;
	struct kv_conn *conn;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	conn = kv_cm_request(vep, NULL, id, &event->param.conn);
	if (IS_ERR(conn))
		return kv_cm_turn_away(id, false, PTR_ERR(conn));
	conn->id = id;
	ret = kv_conn_list(conn, NULL);
	if (ret) {
		kv_conn_put(conn);
		return kv_cm_turn_away(id, false, ret);
	}
	kv_cm_own(conn, id);
	ret = kv_rdm_admit(conn);
	if (ret)
		kv_conn_fail(conn, ret);
	else
		kv_cm_step(conn, KV_STEP_ACCEPT);
	kv_conn_put(conn);
	return 0;
}

/* @addr's port is filled in. */
int kv_cm_listen(struct net *net, union kfi_inaddr *addr, int backlog, rdma_cm_event_handler handler, void *context,
		 struct rdma_cm_id **idp)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, handler, context, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (addr->sa.sa_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, &addr->sa) ?: rdma_listen(id, backlog);
	if (ret) {
		rdma_destroy_id(id);
		return ret == -EADDRINUSE ? ret : ret == -ENODEV ? -EADDRNOTAVAIL : ret;
	}
	memcpy(addr, &id->route.addr.src_addr, kfi_inaddr_len(addr->sa.sa_family));
	*idp = id;
	return 0;
}

/* ---- steps: what the consumer has decided, what he is to be told ---- */

static int kv_cm_accept(struct kv_conn *conn)
{
	struct rdma_conn_param param;
	struct kvw_accept say;
	int ret;

	if (conn->id->device != conn->kdom->ib)
		return -EHOSTUNREACH;
	kv_cm_tune(conn);
	queue_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(kv_connect_timeout_ms));
	ret = kv_qp_create(conn);
	if (ret)
		return ret;
	conn->serves = min(conn->serves, conn->kdom->responder_resources);
	conn->reads_max = clamp_t(unsigned int, conn->kdom->initiator_depth, 1, conn->reads_max);
	kv_conn_open(conn);
	kv_cm_param(conn, KVW_ACCEPT, &say, &param);
	conn->state = KV_ACCEPTED;
	rdma_lock_handler(conn->id);
	ret = rdma_accept(conn->id, &param);
	rdma_unlock_handler(conn->id);
	conn->stands = conn->plain && !ret;
	return ret;
}

static void kv_cm_reject(struct kv_conn *conn)
{
	struct kvw_accept say;
	const void *words;
	u8 len;

	conn->answered = true;
	words = kv_cm_words(conn, KVW_REJECT, &say, &len);
	rdma_reject(conn->id, words, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* The consumer hears of it; what has come meanwhile may be looked at. */
static void kv_cm_ready(struct kv_conn *conn)
{
	cancel_delayed_work(&conn->deadline);
	kv_watch_start(conn);
	conn->mtu = kv_qp_mtu(conn);
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->state, KV_READY);	/* see kv_rx_is_plain() */
	conn->ready_due = conn->pc.dialed && !conn->plain;
	conn->waits = true;
	spin_unlock_bh(&conn->lock);
	if (conn->pc.peer)
		kv_rdm_ready(conn);
	else
		kv_msg_ready(conn);
	smp_mb();	/* pairs with kv_mr_enable() */
	kv_tx_kick(conn);
	if (conn->plain) {
		kv_plain_ready(conn);
		return;
	}
	spin_lock_bh(&conn->rx_lock);
	conn->rx_held = false;
	spin_unlock_bh(&conn->rx_lock);
	kv_rx_run(conn);
}

/* Not any more when the end has begun, see kv_conn_take_down(). Any context */
void kv_cm_step(struct kv_conn *conn, int step)
{
	spin_lock_bh(&conn->lock);
	if (!test_bit(KV_FAILED, &conn->flags)) {
		set_bit(step, &conn->flags);
		queue_work(kv_cm_wq, &conn->step_work);
	}
	spin_unlock_bh(&conn->lock);
}

static int kv_cm_step_now(struct kv_conn *conn)
{
	int ret = 0;

	if (test_and_clear_bit(KV_STEP_CALL, &conn->flags)) {
		ret = kv_cm_call(conn);
	} else if (test_and_clear_bit(KV_STEP_AGAIN, &conn->flags)) {
		ret = kv_cm_call_again(conn);
	} else if (test_and_clear_bit(KV_STEP_CONNECT, &conn->flags)) {
		ret = kv_cm_connect(conn);
	} else if (test_and_clear_bit(KV_STEP_REJECT, &conn->flags)) {
		kv_cm_reject(conn);
		ret = -ECONNREFUSED;
	} else if (test_and_clear_bit(KV_STEP_ACCEPT, &conn->flags)) {
		conn->answered = true;
		ret = kv_cm_accept(conn);
	} else if (test_and_clear_bit(KV_STEP_HEARD, &conn->flags)) {
		if (!rdma_notify(conn->id, IB_EVENT_COMM_EST))	/* else it knows already */
			set_bit(KV_NOTIFIED, &conn->flags);
	} else if (test_and_clear_bit(KV_STEP_READY, &conn->flags)) {
		kv_cm_ready(conn);
	}
	return ret;
}

static bool kv_cm_steps(const struct kv_conn *conn)
{
	return READ_ONCE(conn->flags) & (BIT(KV_STEP_CALL) | BIT(KV_STEP_AGAIN) | BIT(KV_STEP_CONNECT) | BIT(KV_STEP_ACCEPT) |
					 BIT(KV_STEP_REJECT) | BIT(KV_STEP_HEARD) | BIT(KV_STEP_READY));
}

void kv_cm_step_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, step_work);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for this connection */
	int ret = 0;

	while (!ret && kv_cm_steps(conn))	/* two of them may have queued us once */
		ret = kv_cm_step_now(conn);
	memalloc_noio_restore(noio);
	if (ret)
		kv_conn_fail(conn, ret);
}

/* The caller's first packet, softirq: the others wait until the consumer knows of the connection. */
int kv_cm_got_ready(struct kv_conn *conn)
{
	if (conn->pc.dialed || conn->state != KV_ACCEPTED || test_bit(KV_STEP_READY, &conn->flags))
		return -EPROTO;
	lockdep_assert_held(&conn->rx_lock);
	conn->rx_held = true;
	kv_cm_step(conn, KV_STEP_READY);
	return 0;
}

/*
 * ib_cm repeats its answer to the caller until the caller's last word comes. rdma_notify() tells
 * ib_cm that the connection stands, and a work item of ib_cm then stops the repetition; but not if
 * the connection has been hung up before the work item runs. Then ib_cm goes on for the better part
 * of a minute, and rdma_destroy_id() waits for that.
 */
static void kv_cm_await_established(struct kv_conn *conn)
{
	if (test_bit(KV_NOTIFIED, &conn->flags))
		wait_var_event_timeout(&conn->flags, test_bit(KV_ESTABLISHED, &conn->flags), HZ);
}

/* No answer, or no longer a connection. In kv_conn_down(). */
void kv_cm_hang_up(struct kv_conn *conn)
{
	kv_cm_await_established(conn);
	if (conn->state == KV_WAITING && !conn->answered)
		kv_cm_refuse(conn->id, conn->plain, conn->error == -EALREADY ? EALREADY : ECONNREFUSED);
	else if (conn->qp)
		rdma_disconnect(conn->id);
}
