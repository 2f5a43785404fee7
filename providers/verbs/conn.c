// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of the connection of a MSG endpoint.
 *
 *   kv_conn_new()	allocates a connection, with or without an identifier of rdma_cm (cm.c)
 *   kv_conn_fail()	any context: ends the connection; the first reason is reported
 *   kv_conn_down()	process context: unpublishes, stops the queue pair, completes all operations
 *
 * These functions do not wait for a peer: a queue pair in the error state returns its requests, and
 * each operation of a consumer completes with the reason of the failure.
 */
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "verbs.h"

void kv_conn_get(struct kv_conn *conn)
{
	refcount_inc(&conn->ref);
}

void kv_conn_put(struct kv_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	if (conn->qp.leaked) {
		kv_leak(&conn->qp.leak_node);
		return;
	}
	kvfree(conn->rqe);
	kvfree(conn);
}

static void kv_deadline_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, deadline);
	bool over = test_bit(KV_FLUSHED, &conn->flags) || test_bit(KV_BYE_SENT, &conn->flags);

	kv_conn_fail(conn, over ? -ESHUTDOWN : -ETIMEDOUT);
}

/*
 * The device has stopped the queue pair by itself. It does so when it refuses an access of the
 * peer, and the peer's device has to receive the refusal before the disconnect: therefore the
 * deadline. During the handshake rdma_cm reports the reason. Process context or softirq
 */
void kv_conn_flushed(struct kv_conn *conn)
{
	spin_lock_bh(&conn->qp.lock);
	if (conn->state == KV_READY && !test_bit(KV_DEAD, &conn->flags) &&
	    !test_and_set_bit(KV_FLUSHED, &conn->flags))
		mod_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(KV_LINGER_MS));
	spin_unlock_bh(&conn->qp.lock);
}

static void kv_event_work(struct work_struct *work)
{
	kv_conn_flushed(container_of(work, struct kv_conn, qp.event_work));
}

/* Send operations with KFI_MORE, if the operation after them failed or was not posted. */
static void kv_more_work(struct work_struct *work)
{
	kv_tx_kick(container_of(to_delayed_work(work), struct kv_conn, more_work));
}

/* ---- check whether the peer answers ---- */

static unsigned long kv_timeout(void)
{
	return msecs_to_jiffies(READ_ONCE(kv_proto.params.peer_timeout_ms));
}

static unsigned long kv_watch_interval(void)
{
	return clamp(min_t(unsigned long, kv_keepalive_s * HZ, kv_timeout()) / 2,
		     msecs_to_jiffies(100), 60UL * HZ);
}

/*
 * If nothing arrives from the peer, send an empty WRITE, which the peer's device answers without
 * software. The WRITE is not sent in the first interval without an arrival, because this machine
 * may have been suspended. A message may wait long for a receive, and a WRITE behind it waits as
 * well. Hardware detects a peer whose device does not answer. rxe retries without limit, so a peer
 * from which nothing arrives for peer_timeout_ms after the WRITE is considered dead. Called under
 * the lock. Return: true if the peer is dead.
 */
static bool kv_watch(struct kv_conn *conn)
{
	struct kv_qp *qp = &conn->qp;
	/* The device does not report a short message if no other request follows it. */
	bool requested = (s32)(qp->due - qp->tail) > 0;
	unsigned long now = jiffies;

	if (time_before(now, qp->last_active + kv_keepalive_s * HZ)) {
		conn->probing = false;
	} else if (!conn->probing) {
		conn->probing = true;
		conn->probed = now;
	} else if (!requested && kv_sq_room(qp) && !qp->broken) {
		kv_put_empty_write(qp, KV_SQ_PROBE);
		kv_conn_post(conn);
		conn->probed = now;
	}
	return conn->probing && qp->kdom->repeats && time_after(now, conn->probed + kv_timeout());
}

/*
 * A device ends a connection whose peer does not answer, but it detects this only while a request
 * is in flight.
 */
static void kv_watch_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, watch_work);
	bool dead = false;

	spin_lock_bh(&conn->qp.lock);
	if (!test_bit(KV_DEAD, &conn->flags)) {
		dead = kv_watch(conn);
		queue_delayed_work(kv_cm_wq, &conn->watch_work, kv_watch_interval());
	}
	spin_unlock_bh(&conn->qp.lock);
	if (dead)
		kv_conn_fail(conn, -ETIMEDOUT);
}

void kv_watch_start(struct kv_conn *conn)
{
	conn->qp.last_active = jiffies;
	queue_delayed_work(kv_cm_wq, &conn->watch_work, kv_watch_interval());
}

/* ---- beginning ---- */

static void kv_conn_down(struct work_struct *work);

struct kv_conn *kv_conn_new(struct kv_ep *vep, struct kv_pep *vpep)
{
	struct kv_conn *conn = kvzalloc(sizeof(*conn), GFP_NOIO);

	if (!conn)
		return NULL;
	refcount_set(&conn->ref, 1);
	kv_qp_init(&conn->qp, kv_event_work);
	INIT_LIST_HEAD(&conn->queue);
	INIT_LIST_HEAD(&conn->failed);
	INIT_LIST_HEAD(&conn->held);
	spin_lock_init(&conn->rx_lock);
	INIT_WORK(&conn->step_work, kv_cm_step_work);
	INIT_WORK(&conn->down_work, kv_conn_down);
	INIT_DELAYED_WORK(&conn->more_work, kv_more_work);
	INIT_DELAYED_WORK(&conn->watch_work, kv_watch_work);
	INIT_DELAYED_WORK(&conn->deadline, kv_deadline_work);
	conn->req.fid.fclass = KFI_CLASS_CONNREQ;
	conn->vep = vep;
	conn->pep = vpep;
	return conn;
}

/* Add the connection to the set of its endpoint, with references of the set and of the domain. */
static int kv_conn_list(struct kv_conn *conn)
{
	struct kv_domain *kdom = to_kv_domain(conn->vep->pe.ep.domain);
	int ret;

	if (!kv_domain_get(kdom))
		return -ENODEV;
	conn->qp.kdom = kdom;
	ret = kfi_conn_set_add(&conn->vep->pe.conn_set, &conn->pc);
	if (ret)
		kv_domain_put(kdom);
	return ret;
}

/*
 * Return a new connection that will call @to, with a reference for the caller. It is in the set of
 * the endpoint.
 */
struct kv_conn *kv_dial(struct kv_ep *vep, const union kfi_inaddr *to)
{
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */
	struct kv_conn *conn = kv_conn_new(vep, NULL);
	int ret = conn ? kv_cm_id(conn) : -ENOMEM;

	memalloc_noio_restore(noio);
	if (ret)
		goto put;
	conn->name = *to;
	conn->pc.dialed = true;
	ret = kv_conn_list(conn);
	if (!ret)
		return conn;
	rdma_destroy_id(conn->id);
put:
	if (conn)
		kv_conn_put(conn);
	return ERR_PTR(ret);
}

/* Create the queue pair. After an error kv_conn_down() releases everything that was created. */
int kv_conn_qp(struct kv_conn *conn)
{
	struct kv_qp_need need = {
		.ep = &conn->vep->pe.ep,
		.id = conn->id,
		.pd = conn->vep->pd,
		.depth = KV_SQ,
		.buf_size = KV_INLINE,
		.receives = conn->vep->pe.ep.rx.depth,
		.recv_sge = kv_plain_pieces(conn->qp.kdom->max_recv_sge),
		.done = kv_plain_sent,
	};

	return kv_qp_create(&conn->qp, &need) ?: kv_rq_create(conn);
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
		if (test_bit(KV_WAS_READY, &conn->flags))
			return conn->error;
		fallthrough;
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return -ESHUTDOWN;
	default:
		return conn->error;
	}
}

/*
 * The endpoint closes. Put an empty WRITE behind all requests of the send queue: when it ends, the
 * peer's device has received them. Return: true if it has ended, or is not needed. Called under the
 * lock of the connection set.
 */
bool kv_conn_delivered(struct kv_conn *conn)
{
	struct kv_qp *qp = &conn->qp;
	bool delivered;

	spin_lock_bh(&qp->lock);
	delivered = conn->state != KV_READY || qp->head == qp->tail || qp->broken ||
		  test_bit(KV_FAILED, &conn->flags);
	if (!delivered && test_bit(KV_LAST, &conn->flags)) {
		delivered = (s32)(qp->tail - conn->last) >= 0;
	} else if (!delivered && kv_sq_room(qp)) {
		kv_put_empty_write(qp, KV_SQ_PROBE);
		kv_conn_post(conn);
		conn->last = qp->head;
		set_bit(KV_LAST, &conn->flags);
	}
	spin_unlock_bh(&qp->lock);
	return delivered;
}

void kv_conn_fail(struct kv_conn *conn, int err)
{
	if (test_and_set_bit(KV_FAILED, &conn->flags))
		return;
	if (READ_ONCE(conn->state) == KV_READY)
		set_bit(KV_WAS_READY, &conn->flags);
	conn->error = err;
	if (err == -EPROTO)
		net_warn_ratelimited("kfi_verbs: %pISpc broke a rule, connection closed\n",
				     &conn->name);
	kv_conn_get(conn);
	queue_work(kv_end_wq, &conn->down_work);
}

static void kv_conn_report(struct kv_conn *conn)
{
	if (conn->vep)
		kv_msg_lost(conn, conn->error);
	else if (conn->requested && kfi_connreq_gone(&conn->req))
		kv_conn_put(conn);	/* the consumer's; else accept or reject drops it */
}

/* Wait until no post uses the connection, and no work item runs. */
static void kv_conn_stop(struct kv_conn *conn)
{
	spin_lock_bh(&conn->qp.lock);
	set_bit(KV_DEAD, &conn->flags);
	spin_unlock_bh(&conn->qp.lock);
	synchronize_rcu_expedited();	/* posts that have found the connection are complete */
	cancel_delayed_work_sync(&conn->watch_work);
	cancel_delayed_work_sync(&conn->more_work);
	cancel_delayed_work_sync(&conn->deadline);
}

static void kv_conn_take_down(struct kv_conn *conn)
{
	kfi_conn_set_wait_move(&conn->pc);
	spin_lock_bh(&conn->qp.lock);	/* wait for kv_cm_step() that did not see KV_FAILED */
	spin_unlock_bh(&conn->qp.lock);
	if (test_bit(KV_STEP_READY, &conn->flags))
		WRITE_ONCE(conn->error, kv_conn_end_reason(conn));
	cancel_work_sync(&conn->step_work);	/* it may publish the connection */
	/* A message may have made the connection ready after kv_conn_fail(). */
	if (conn->state == KV_READY)
		WRITE_ONCE(conn->error, kv_conn_end_reason(conn));
	kfi_conn_set_unpublish(&conn->pc);
	kv_conn_stop(conn);
	if (conn->vep) {
		kv_rq_stop(conn);
		kv_reg_queue_flush(conn->vep);
	}
	kv_cm_sync(conn->id);
	kv_cm_disconnect(conn);
	if (conn->qp.kdom) {
		if (!kv_qp_drain(&conn->qp, conn->id, conn->state == KV_READY || conn->connected)) {
			kv_rq_abandon(conn);
			kv_qp_abandon(&conn->qp);
		}
		kv_qp_destroy(&conn->qp, conn->id);
	}
	kv_tx_flush_all(conn, conn->error);
	if (conn->vep)
		kv_rq_lost(conn);
	rdma_destroy_id(conn->id);
	kv_qp_free(&conn->qp);
	if (conn->qp.kdom)
		kv_domain_put(conn->qp.kdom);
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

	conn->vep = to_kv_ep(pc->conn_set->ep);
	conn->qp.kdom = to_kv_domain(conn->vep->pe.ep.domain);
	WRITE_ONCE(conn->pep, NULL);
}

static void kv_conn_set_answer(struct kfi_peer_conn *pc, bool accepted)
{
	kv_cm_step(to_kv_conn(pc), accepted ? KV_STEP_ACCEPT : KV_STEP_REJECT);
}

/* Nothing is expected of a caller, only of the consumer: no caller gives way to another one. */
static bool kv_conn_set_unproven(const struct kfi_peer_conn *pc)
{
	return false;
}

static bool kv_conn_set_same_source(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b)
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
	.source_backlog	= &kv_proto.params.source_backlog,
	.get		= kv_conn_set_get,
	.put		= kv_conn_set_put,
	.fail		= kv_conn_set_fail,
	.failed		= kv_conn_set_failed,
	.carrier	= kv_conn_set_carrier,
	.moved		= kv_conn_set_moved,
	.unproven	= kv_conn_set_unproven,
	.same_source	= kv_conn_set_same_source,
	.answer		= kv_conn_set_answer,
};
