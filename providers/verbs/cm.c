// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - rdma_cm: establishes the connection of a MSG endpoint; link.c uses some of the functions,
 * too. The events of one identifier are reported one at a time, in process context.
 *
 *	the side that calls			the side that listens
 *	ADDR_RESOLVED, ROUTE_RESOLVED
 *	queue pair, connect	------------>	CONNECT_REQUEST: reported to the consumer
 *	ESTABLISHED		<------------	queue pair, accept; or reject
 *				------------>	ESTABLISHED, or a message
 *
 * step_work executes the consumer's decisions and reports events to the consumer. kv_conn_down()
 * waits for it.
 */
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>
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
static void kv_cm_param(struct kv_conn *conn, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param) {
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->qp.reads_max,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.private_data = conn->data_out,
		.private_data_len = conn->data_out_len,
	};
}

/* InfiniBand pads private data with zeros, and does not report its original length. */
static void kv_cm_data(struct kv_conn *conn, const void *data, u8 len)
{
	conn->data_in_len = data ? min_t(u8, len, KVW_DATA_MAX) : 0;
	memcpy(conn->data_in, data, conn->data_in_len);
}

/* ---- calling ---- */

static int kv_cm_addr_resolved(struct kv_conn *conn)
{
	if (conn->id->device != conn->qp.kdom->ib)
		return -EHOSTUNREACH;	/* the route uses another device */
	return rdma_resolve_route(conn->id, kv_cm_timeout());
}

/* Called in step_work, because the queue pair must not be created while the connection ends. */
static int kv_cm_connect(struct kv_conn *conn)
{
	struct rdma_conn_param param;
	int ret = kv_conn_qp(conn);

	if (ret)
		return ret;
	conn->responder_resources = conn->qp.kdom->responder_resources;
	conn->qp.reads_max = conn->qp.kdom->initiator_depth;
	kv_cm_param(conn, &param);
	return rdma_connect(conn->id, &param);
}

/* rdma_cm reports ESTABLISHED on both sides. */
static void kv_cm_established(struct kv_conn *conn, const struct rdma_conn_param *param)
{
	if (conn->pc.dialed) {
		kv_cm_data(conn, param->private_data, param->private_data_len);
		conn->qp.reads_max = clamp_t(unsigned int, param->initiator_depth, 1,
					     conn->qp.reads_max);
		conn->connected = true;
		conn->state = KV_ACCEPTED;
	}
	if (conn->state == KV_ACCEPTED)
		kv_cm_step(conn, KV_STEP_READY);
}

/* The peer's consumer has rejected the call, perhaps with private data, or no endpoint listens. */
static int kv_cm_rejected(struct kv_conn *conn, struct rdma_cm_event *event)
{
	const struct kvw_front *front;
	const void *data;
	u8 len = 0;

	data = rdma_consumer_reject_data(conn->id, event, &len);
	front = data;
	if (data && len >= sizeof(*front) && le32_to_cpu(front->magic) == KVW_MAGIC)
		data = NULL;	/* from an RDM endpoint: this is not data of a consumer */
	kv_cm_data(conn, data, len);
	conn->rejected = true;
	return -ECONNREFUSED;
}

/* ---- events ---- */

/*
 * Is a REJECTED event the answer to a call of this side? Over InfiniBand the caller may reject as
 * well, and each side may reject an established connection. Such a message only ends the
 * connection, and its private data is ignored.
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
		kv_cm_established(conn, &event->param.conn);
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		if (kv_cm_is_answer(conn))
			return kv_cm_rejected(conn, event);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
		return conn->state == KV_READY ? -ESHUTDOWN : -ECONNREFUSED;
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

/* kv_conn_down() destroys the identifier. */
static int kv_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_conn *conn = id->context;
	bool established = event->event == RDMA_CM_EVENT_ESTABLISHED;
	unsigned int noio;
	int ret;

	if (established) {
		set_bit(KV_ESTABLISHED, &conn->flags);
		smp_mb__after_atomic();	/* for waitqueue_active() in wake_up_var() */
		wake_up_var(&conn->flags);
	}
	/* a message may have arrived before the connection failed: see kv_rq_lost() */
	if (test_bit(KV_FAILED, &conn->flags) && !established)
		return 0;
	noio = memalloc_noio_save();	/* writeback may wait for this connection */
	ret = kv_cm_event(conn, event);
	memalloc_noio_restore(noio);
	if (ret)
		kv_conn_fail(conn, ret);
	return 0;
}

/* Wait for a running handler of the identifier. */
void kv_cm_sync(struct rdma_cm_id *id)
{
	rdma_lock_handler(id);
	rdma_unlock_handler(id);
}

void kv_cm_set_options(struct rdma_cm_id *id, const struct kfi_ep *ep)
{
	u32 tclass = ep->info->tx_attr->tclass;

	if (tclass & KFI_TC_DSCP)
		rdma_set_service_type(id, kfi_tc_dscp_get(tclass) << 2);
	rdma_set_min_rnr_timer(id, KV_RNR_TIMER);
}

int kv_cm_id(struct kv_conn *conn)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(kfi_ep_net(&conn->vep->pe.ep), kv_cm_handler, conn, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id = id;
	kv_cm_set_options(id, &conn->vep->pe.ep);
	return 0;
}

static void kv_cm_deadline(struct kv_conn *conn)
{
	queue_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(kv_cm_timeout()));
}

/* Call from the endpoint's address, by which the peer identifies the endpoint, and any port. */
static int kv_cm_call(struct kv_conn *conn)
{
	union kfi_inaddr src = conn->vep->addr, dst = conn->name;
	int ret;

	kfi_inaddr_set_port(&src, 0);
	conn->state = KV_CALLING;
	kv_cm_deadline(conn);
	ret = rdma_resolve_addr(conn->id, kfi_inaddr_any(&src) ? NULL : &src.sa, &dst.sa,
				kv_cm_timeout());
	return ret && ret != -ENOMEM ? -EHOSTUNREACH : ret;
}

/* ---- listening ---- */

/*
 * Report a request to the consumer. The request is in the connection set of the listener, so
 * kv_conn_fail() is enough to free it.
 */
static void kv_cm_connreq(struct kv_pep *vpep, struct kv_conn *conn)
{
	conn->requested = true;
	kv_conn_get(conn);		/* reference of the consumer */
	if (!kfi_pep_connreq(&vpep->pep, &conn->req, &conn->name,
			     kfi_inaddr_len(conn->name.sa.sa_family), conn->data_in,
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

/* Reject a call. Return: @err, with which rdma_cm destroys the identifier. */
static int kv_cm_refuse(struct rdma_cm_id *id, int err)
{
	rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	return err;
}

static int kv_cm_called(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct sockaddr_storage *from = &id->route.addr.dst_addr;
	const struct rdma_conn_param *param = &event->param.conn;
	struct kv_pep *vpep = id->context;
	struct kv_conn *conn;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (rdma_protocol_iwarp(id->device, id->port_num))
		return kv_cm_refuse(id, -EOPNOTSUPP);
	conn = kv_conn_new(NULL, vpep);
	if (!conn)
		return kv_cm_refuse(id, -ENOMEM);
	kv_cm_data(conn, param->private_data, param->private_data_len);
	kv_cm_name(&conn->name, from, ((const struct sockaddr_in *)from)->sin_port);
	conn->responder_resources = param->responder_resources;
	conn->qp.reads_max = max_t(unsigned int, param->initiator_depth, 1);
	conn->state = KV_WAITING;
	if (kfi_conn_set_add(&vpep->conn_set, &conn->pc)) {
		kv_conn_put(conn);
		return kv_cm_refuse(id, -EBUSY);
	}
	/* From here on kv_conn_down() destroys the identifier, after this handler. */
	conn->id = id;
	id->context = conn;
	id->event_handler = kv_cm_handler;
	kv_cm_connreq(vpep, conn);
	kv_conn_put(conn);
	return 0;
}

int kv_cm_pep_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	unsigned int noio = memalloc_noio_save();
	int ret = kv_cm_called(id, event);

	memalloc_noio_restore(noio);
	return ret;
}

/* Listen on @addr, and store the port in it. */
int kv_cm_listen(struct net *net, union kfi_inaddr *addr, int backlog,
		 rdma_cm_event_handler handler, void *context, struct rdma_cm_id **idp)
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

/* ---- steps: decisions of the consumer, and reports to it ---- */

static int kv_cm_accept(struct kv_conn *conn)
{
	const struct kv_domain *kdom = conn->qp.kdom;
	struct rdma_conn_param param;
	int ret;

	if (conn->id->device != kdom->ib)
		return -EHOSTUNREACH;
	kv_cm_set_options(conn->id, &conn->vep->pe.ep);
	kv_cm_deadline(conn);
	ret = kv_conn_qp(conn);
	if (ret)
		return ret;
	conn->responder_resources = min(conn->responder_resources, kdom->responder_resources);
	conn->qp.reads_max = clamp_t(unsigned int, kdom->initiator_depth, 1, conn->qp.reads_max);
	kv_cm_param(conn, &param);
	conn->state = KV_ACCEPTED;
	rdma_lock_handler(conn->id);
	ret = rdma_accept(conn->id, &param);
	rdma_unlock_handler(conn->id);
	conn->connected = !ret;
	return ret;
}

static void kv_cm_reject(struct kv_conn *conn)
{
	conn->answered = true;
	rdma_reject(conn->id, conn->data_out, conn->data_out_len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* Return the bytes of a packet of a connected queue pair. */
static u32 kv_cm_mtu(struct kv_conn *conn)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(conn->qp.ib, &attr, IB_QP_PATH_MTU, &init) ||
	    ib_mtu_enum_to_int(attr.path_mtu) < 0)
		return ib_mtu_enum_to_int(IB_MTU_256);
	return ib_mtu_enum_to_int(attr.path_mtu);
}

/* Report KFI_CONNECTED, and complete the receives that the device has filled before. */
static void kv_cm_ready(struct kv_conn *conn)
{
	cancel_delayed_work(&conn->deadline);
	kv_watch_start(conn);
	conn->qp.mtu = kv_cm_mtu(conn);
	spin_lock_bh(&conn->qp.lock);
	WRITE_ONCE(conn->state, KV_READY);
	conn->waits = true;
	spin_unlock_bh(&conn->qp.lock);
	kv_msg_ready(conn);
	smp_mb();	/* pairs with kv_mr_enable() */
	kv_tx_kick(conn);
	kv_rq_ready(conn);
}

/* Queue a step. No step is queued after kv_conn_fail(), see kv_conn_take_down(). Any context */
void kv_cm_step(struct kv_conn *conn, int step)
{
	spin_lock_bh(&conn->qp.lock);
	if (!test_bit(KV_FAILED, &conn->flags)) {
		set_bit(step, &conn->flags);
		queue_work(kv_cm_wq, &conn->step_work);
	}
	spin_unlock_bh(&conn->qp.lock);
}

static int kv_cm_step_now(struct kv_conn *conn)
{
	int ret = 0;

	if (test_and_clear_bit(KV_STEP_CALL, &conn->flags)) {
		ret = kv_cm_call(conn);
	} else if (test_and_clear_bit(KV_STEP_CONNECT, &conn->flags)) {
		ret = kv_cm_connect(conn);
	} else if (test_and_clear_bit(KV_STEP_REJECT, &conn->flags)) {
		kv_cm_reject(conn);
		ret = -ECONNREFUSED;
	} else if (test_and_clear_bit(KV_STEP_ACCEPT, &conn->flags)) {
		conn->answered = true;
		ret = kv_cm_accept(conn);
	} else if (test_and_clear_bit(KV_STEP_NOTIFY, &conn->flags)) {
		if (!rdma_notify(conn->id, IB_EVENT_COMM_EST))	/* fails if it is established */
			set_bit(KV_NOTIFIED, &conn->flags);
	} else if (test_and_clear_bit(KV_STEP_READY, &conn->flags)) {
		kv_cm_ready(conn);
	}
	return ret;
}

static bool kv_cm_steps(const struct kv_conn *conn)
{
	return READ_ONCE(conn->flags) & (BIT(KV_STEP_CALL) | BIT(KV_STEP_CONNECT) |
					 BIT(KV_STEP_ACCEPT) | BIT(KV_STEP_REJECT) |
					 BIT(KV_STEP_NOTIFY) | BIT(KV_STEP_READY));
}

void kv_cm_step_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, step_work);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for this connection */
	int ret = 0;

	while (!ret && kv_cm_steps(conn))	/* one run may have to execute several steps */
		ret = kv_cm_step_now(conn);
	memalloc_noio_restore(noio);
	if (ret)
		kv_conn_fail(conn, ret);
}

/*
 * ib_cm repeats its answer to the caller until the caller's last message arrives. After
 * rdma_notify(), a work item of ib_cm stops the repetition, unless the connection is disconnected
 * before the work item runs. In that case ib_cm repeats the answer for up to a minute, and
 * rdma_destroy_id() waits for the end of the repetition.
 */
static void kv_cm_await_established(struct kv_conn *conn)
{
	if (test_bit(KV_NOTIFIED, &conn->flags))
		wait_var_event_timeout(&conn->flags, test_bit(KV_ESTABLISHED, &conn->flags), HZ);
}

/*
 * Reject a request that was not answered, or disconnect. Called by kv_conn_take_down(), which may
 * have cancelled the step of a rejection.
 */
void kv_cm_disconnect(struct kv_conn *conn)
{
	kv_cm_await_established(conn);
	if (test_bit(KV_STEP_REJECT, &conn->flags))
		kv_cm_reject(conn);
	else if (conn->state == KV_WAITING && !conn->answered)
		rdma_reject(conn->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	else if (conn->qp.ib)
		rdma_disconnect(conn->id);
}
