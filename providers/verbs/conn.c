// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of the connection of a MSG endpoint.
 *
 *   kv_dial(), kv_conn_called()	begin a connection; cm.c connects it
 *   kv_conn_fail()		any context: ends the connection; the first reason is reported
 *   kv_conn_down()		process context: unpublishes, stops the queue pair, completes all
 *				operations
 *
 * These functions do not wait for a peer: a queue pair in the error state returns its requests, and
 * each operation of a consumer completes with the reason of the failure.
 */
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "verbs.h"

static struct kv_conn *kv_qp_conn(struct kv_qp *qp)
{
	return container_of(qp, struct kv_conn, qp);
}

void kv_conn_get(struct kv_conn *conn)
{
	refcount_inc(&conn->ref);
}

void kv_conn_put(struct kv_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	kvfree(conn->rqe);
	kvfree(conn);
}

static void kv_deadline_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, deadline);
	bool over = test_bit(KV_FLUSHED, &conn->flags) || test_bit(KV_BYE_SENT, &conn->flags);

	kv_conn_fail(conn, over ? -ESHUTDOWN : -ETIMEDOUT);
}

/* The call, or the answer to one, may take this long. */
void kv_conn_deadline(struct kv_conn *conn)
{
	spin_lock_bh(&conn->qp.lock);
	if (!conn->qp.detached)
		queue_delayed_work(kv_cm_wq, &conn->deadline,
				   msecs_to_jiffies(READ_ONCE(kv_proto.params.connect_timeout_ms)));
	spin_unlock_bh(&conn->qp.lock);
}

/*
 * The device has stopped the queue pair by itself. It does so when it refuses an access of the
 * peer, and the peer's device has to receive the refusal before the disconnect: therefore the
 * deadline. During the handshake rdma_cm reports the reason. Process context or softirq
 */
void kv_conn_flushed(struct kv_conn *conn)
{
	spin_lock_bh(&conn->qp.lock);
	if (conn->qp.up && !conn->qp.detached && !test_and_set_bit(KV_FLUSHED, &conn->flags))
		mod_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(KV_LINGER_MS));
	spin_unlock_bh(&conn->qp.lock);
}

static void kv_conn_stopped(struct kv_qp *qp)
{
	kv_conn_flushed(kv_qp_conn(qp));
}

/* Send operations with KFI_MORE, if the operation after them failed or was not posted. */
static void kv_more_work(struct work_struct *work)
{
	kv_tx_kick(container_of(to_delayed_work(work), struct kv_conn, more_work));
}

/*
 * A device detects that a peer does not answer only while a request is in flight. So if the peer is
 * silent, send an empty WRITE, which the peer's device answers without software. A message may wait
 * long for a receive, and a WRITE behind it waits as well. Hardware ends the connection to a peer
 * whose device does not answer. rxe retries without limit, so there a silent peer is dead.
 */
static bool kv_conn_watch(struct kv_qp *qp, unsigned long timeout)
{
	/* The device does not report a short message if no other request follows it. */
	bool requested = (s32)(qp->due - qp->tail) > 0;

	if (qp->silent && !requested && kv_sq_room(qp) && !qp->broken) {
		kv_put_empty_write(qp, KV_SQ_OTHER);
		kv_conn_post(kv_qp_conn(qp));
	}
	return qp->kdom->repeats;
}

/* ---- beginning ---- */

/* InfiniBand pads private data with zeros, and does not report its original length. */
static void kv_conn_data(struct kv_conn *conn, const void *data, u8 len)
{
	conn->data_in_len = data ? min_t(u8, len, KVW_DATA_MAX) : 0;
	memcpy(conn->data_in, data, conn->data_in_len);
}

/* Create the queue pair. After an error kv_conn_down() releases everything that was created. */
static int kv_conn_open(struct kv_qp *qp)
{
	struct kv_conn *conn = kv_qp_conn(qp);
	struct kv_qp_need need = {
		.pd = qp->vep->pd,
		.depth = KV_SQ,
		.buf_size = KV_INLINE,
		.receives = qp->vep->pe.ep.rx.depth,
		.recv_sge = kv_plain_pieces(qp->kdom->max_recv_sge),
	};

	kv_conn_deadline(conn);
	return kv_qp_create(qp, &need) ?: kv_rq_create(conn);
}

/* The peer's consumer has answered the call, or no endpoint listens. */
static int kv_conn_answered(struct kv_qp *qp, const void *data, u8 len, bool accepted)
{
	struct kv_conn *conn = kv_qp_conn(qp);
	const struct kvw_front *front = data;

	if (!accepted && data && len >= sizeof(*front) && le32_to_cpu(front->magic) == KVW_MAGIC)
		data = NULL;	/* from an RDM endpoint: this is not data of a consumer */
	kv_conn_data(conn, data, len);
	conn->rejected = !accepted;
	return accepted ? 0 : -ECONNREFUSED;
}

/* Return the bytes of a packet of a connected queue pair. */
static u32 kv_conn_mtu(struct kv_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(qp->ib, &attr, IB_QP_PATH_MTU, &init) ||
	    ib_mtu_enum_to_int(attr.path_mtu) < 0)
		return ib_mtu_enum_to_int(IB_MTU_256);
	return ib_mtu_enum_to_int(attr.path_mtu);
}

/* Report KFI_CONNECTED, and complete the receives that the device has filled before. */
static void kv_conn_ready(struct kv_qp *qp)
{
	struct kv_conn *conn = kv_qp_conn(qp);

	cancel_delayed_work(&conn->deadline);
	qp->mtu = kv_conn_mtu(qp);
	spin_lock_bh(&qp->lock);
	kv_cm_up(qp, 0);
	conn->waits = true;
	spin_unlock_bh(&qp->lock);
	kv_msg_ready(conn);
	smp_mb();	/* pairs with kv_mr_enable() */
	kv_tx_kick(conn);
	kv_rq_ready(conn);
}

/* rdma_cm reports the end of a connection, or of an attempt to connect. */
static void kv_conn_ended(struct kv_qp *qp, int err)
{
	kv_conn_fail(kv_qp_conn(qp), err == -ESHUTDOWN && !READ_ONCE(qp->up) ? -ECONNREFUSED : err);
}

static const struct kv_qp_ops kv_conn_ops = {
	.open		= kv_conn_open,
	.answered	= kv_conn_answered,
	.ready		= kv_conn_ready,
	.watch		= kv_conn_watch,
	.fail		= kv_conn_ended,
	.stopped	= kv_conn_stopped,
	.sent		= kv_plain_sent,
};

static void kv_conn_down(struct work_struct *work);

struct kv_conn *kv_conn_new(struct kv_ep *vep)
{
	struct kv_conn *conn = kvzalloc(sizeof(*conn), GFP_NOIO);

	if (!conn)
		return NULL;
	refcount_set(&conn->ref, 1);
	kv_qp_init(&conn->qp, &kv_conn_ops);
	conn->qp.vep = vep;
	conn->qp.to = &conn->name;
	conn->qp.data = conn->data_out;
	INIT_LIST_HEAD(&conn->queue);
	INIT_LIST_HEAD(&conn->failed);
	INIT_LIST_HEAD(&conn->held);
	spin_lock_init(&conn->rx_lock);
	INIT_WORK(&conn->down_work, kv_conn_down);
	INIT_DELAYED_WORK(&conn->more_work, kv_more_work);
	INIT_DELAYED_WORK(&conn->deadline, kv_deadline_work);
	return conn;
}

/* As kv_dial(), in NOIO context. @conn: no other context knows it yet */
static int kv_conn_dial(struct kv_conn *conn, const union kfi_inaddr *to)
{
	struct kv_ep *vep = conn->qp.vep;
	struct kv_domain *kdom = to_kv_domain(vep->pe.ep.domain);

	conn->name = *to;
	conn->pc.dialed = true;
	if (!kv_domain_get(kdom))
		return -ENODEV;
	conn->qp.kdom = kdom;
	return kv_cm_create(&conn->qp) ?: kfi_conn_set_add(&vep->pe.conn_set, &conn->pc);
}

/*
 * Return a new connection that will call @to, with a reference for the caller. It is in the set of
 * the endpoint.
 */
struct kv_conn *kv_dial(struct kv_ep *vep, const union kfi_inaddr *to)
{
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */
	struct kv_conn *conn = kv_conn_new(vep);
	int ret = conn ? kv_conn_dial(conn, to) : -ENOMEM;

	if (ret && conn) {
		kv_cm_free(&conn->qp);
		kv_conn_put(conn);
	}
	memalloc_noio_restore(noio);
	return ret ? ERR_PTR(ret) : conn;
}

/*
 * Report a request to the consumer. The request is in the connection set of the listener, so
 * kv_conn_fail() is enough to free it.
 */
static void kv_conn_request(struct kv_pep *vpep, struct kv_conn *conn)
{
	conn->requested = true;
	kv_conn_get(conn);		/* reference of the consumer */
	if (!kfi_pep_connreq(&vpep->pep, &conn->req, &conn->name, NULL,
			     kfi_inaddr_len(conn->name.sa.sa_family), conn->data_in,
			     conn->data_in_len))
		return;
	conn->requested = false;
	kv_conn_put(conn);
	kv_conn_fail(conn, -ECONNREFUSED);
}

/* &kv_listener.called of a passive endpoint. kv_pep_close() waits for it, then ends requests. */
int kv_conn_called(struct kv_listener *listener, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param)
{
	struct kv_pep *vpep = container_of(listener, struct kv_pep, listener);
	const struct sockaddr_storage *from = &id->route.addr.dst_addr;
	struct kv_conn *conn;
	int ret;

	if (rdma_protocol_iwarp(id->device, id->port_num))
		return -EOPNOTSUPP;
	conn = kv_conn_new(NULL);
	if (!conn)
		return -ENOMEM;
	kv_conn_data(conn, param->private_data, param->private_data_len);
	kv_cm_name(&conn->name, from, ((const struct sockaddr_in *)from)->sin_port);
	conn->qp.reads_served = param->responder_resources;
	conn->qp.reads_max = max_t(unsigned int, param->initiator_depth, 1);
	ret = kfi_conn_set_add(&vpep->conn_set, &conn->pc);
	if (!ret) {
		kv_cm_take(&conn->qp, id);
		kv_conn_request(vpep, conn);
	}
	kv_conn_put(conn);
	return ret;
}

/* ---- the end ---- */

/*
 * Return the reason for the end of a connection that was established. Errors of an attempt to
 * connect are replaced; a time-out is kept if the connection was established when it was detected.
 */
int kv_conn_end_reason(const struct kv_conn *conn)
{
	switch (conn->error) {
	case -ETIMEDOUT:
		if (test_bit(KV_WAS_UP, &conn->flags))
			return conn->error;
		fallthrough;
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return -ESHUTDOWN;
	default:
		return conn->error;
	}
}

void kv_conn_fail(struct kv_conn *conn, int err)
{
	if (test_and_set_bit(KV_FAILED, &conn->flags))
		return;
	if (READ_ONCE(conn->qp.up))
		set_bit(KV_WAS_UP, &conn->flags);
	conn->error = err;
	if (err == -EPROTO)
		net_warn_ratelimited("kfi_verbs: %pISpc broke a rule, connection closed\n",
				     &conn->name);
	kv_conn_get(conn);
	queue_work(kv_end_wq, &conn->down_work);
}

static void kv_conn_report(struct kv_conn *conn)
{
	if (conn->qp.vep)
		kv_msg_lost(conn, conn->error);
	else if (conn->requested && kfi_connreq_gone(&conn->req))
		kv_conn_put(conn);	/* the consumer's; else accept or reject drops it */
}

/* Wait until no post uses the connection, and no work item runs. */
static void kv_conn_stop(struct kv_conn *conn)
{
	kfi_conn_set_unpublish(&conn->pc);
	synchronize_rcu_expedited();	/* posts that have found the connection are complete */
	cancel_delayed_work_sync(&conn->more_work);
	cancel_delayed_work_sync(&conn->deadline);
}

static void kv_conn_take_down(struct kv_conn *conn)
{
	struct kv_qp *qp = &conn->qp;

	kfi_conn_set_wait_move(&conn->pc);
	kv_cm_detach(qp);		/* a step may publish the connection */
	/* A message may have made the connection ready after kv_conn_fail(). */
	if (qp->up || test_bit(KV_STEP_READY, &qp->steps))
		WRITE_ONCE(conn->error, kv_conn_end_reason(conn));
	kv_conn_stop(conn);
	if (qp->vep) {
		kv_rq_stop(conn);
		kv_reg_queue_flush(qp->vep);
	}
	if (!test_bit(KV_REJECTED, &conn->flags))
		qp->data_len = 0;	/* a refusal without a consumer has no data */
	kv_cm_close(qp);
	kv_tx_flush_all(conn, conn->error);
	if (qp->vep)
		kv_rq_lost(conn);
	kv_cm_free(qp);
	kv_conn_report(conn);	/* after the last message was delivered */
	kfi_conn_set_remove(&conn->pc);
}

static void kv_conn_down(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, down_work);
	unsigned int noio = memalloc_noio_save();

	kv_conn_take_down(conn);
	memalloc_noio_restore(noio);
	kv_conn_put(conn);	/* this work's */
}

/* ---- callbacks of the connection sets ---- */

static void kv_conn_set_get(struct kfi_peer_conn *pc)
{
	kv_conn_get(to_kv_conn(pc));
}

static void kv_conn_set_put(struct kfi_peer_conn *pc)
{
	kv_conn_put(to_kv_conn(pc));
}

static void kv_conn_set_fail(struct kfi_peer_conn *pc, int err)
{
	kv_conn_fail(to_kv_conn(pc), err);
}

static bool kv_conn_set_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(KV_FAILED, &to_kv_conn(pc)->flags);
}

static void kv_conn_set_moved(struct kfi_peer_conn *pc)
{
	struct kv_conn *conn = to_kv_conn(pc);

	conn->qp.vep = to_kv_ep(pc->conn_set->ep);
	conn->qp.kdom = to_kv_domain(conn->qp.vep->pe.ep.domain);
}

static void kv_conn_set_answer(struct kfi_peer_conn *pc, bool accepted)
{
	struct kv_conn *conn = to_kv_conn(pc);

	if (accepted) {
		kv_cm_step(&conn->qp, KV_STEP_ACCEPT);
		return;
	}
	set_bit(KV_REJECTED, &conn->flags);	/* kv_cm_close() sends the refusal */
	kv_conn_fail(conn, -ECONNREFUSED);
}

/* Nothing is expected of a caller, only of the consumer: no caller gives way to another one. */
static bool kv_conn_set_unproven(const struct kfi_peer_conn *pc)
{
	return false;
}

static bool kv_conn_set_same_origin(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b)
{
	union kfi_inaddr from, other;

	kfi_inaddr_name_origin(&to_kv_conn(a)->name, &from);
	kfi_inaddr_name_origin(&to_kv_conn(b)->name, &other);
	return !kfi_inaddr_cmp(&from, &other);
}

static const struct kfi_peer_conn *kv_conn_set_carrier(const struct kfi_oper *op)
{
	const struct kv_conn *conn = READ_ONCE(kv_op(op)->conn);

	return conn ? &conn->pc : NULL;
}

const struct kfi_conn_set_ops kv_conn_set_ops = {
	.backlog	= &kv_proto.params.backlog,
	.origin_backlog	= &kv_proto.params.origin_backlog,
	.get		= kv_conn_set_get,
	.put		= kv_conn_set_put,
	.fail		= kv_conn_set_fail,
	.failed		= kv_conn_set_failed,
	.carrier	= kv_conn_set_carrier,
	.moved		= kv_conn_set_moved,
	.unproven	= kv_conn_set_unproven,
	.same_origin	= kv_conn_set_same_origin,
	.answer		= kv_conn_set_answer,
};
