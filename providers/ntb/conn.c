// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of a connection.
 *
 *   nt_conn_new()	before the first word (cm.c)
 *   nt_conn_furnish()	we call, or he who calls may: memory for what he can make us hold
 *   nt_conn_open()	both have said what they take: records may flow
 *   nt_conn_fail()	from any context: something ended it; the first reason counts
 *   nt_conn_down()	process context: unpublish, take records back, end every operation exactly once, tell the peer
 *
 * Nobody waits for a peer in here, only for the engine (nt_drain()). Records that are on their way to the peer when the connection ends keep
 * it until they are heard of, or the link goes; they touch nothing of the endpoint.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "ntb.h"

void nt_conn_get(struct nt_conn *conn)
{
	refcount_inc(&conn->ref);
}

static void nt_conn_free(struct work_struct *work)
{
	struct nt_conn *conn = container_of(work, struct nt_conn, free_work);
	unsigned int i;

	for (i = 0; i < NT_BOUNCES && i < conn->nbounces; i++)
		kvfree(conn->bounces[i]);
	kvfree(conn->slot_mem);
	kvfree(conn->sends);
	kfree(conn->auth);
	if (conn->remains)
		atomic_dec(&conn->dev->remains);
	nt_dev_put(conn->dev);
	kvfree(conn);
}

/*
 * Any context: the last reference may go with a message that nobody wanted, a record that was heard of, or in a consumer's post. That is in an
 * RCU section, and what is freed may be vmalloc'ed, which sleeps: a work does it.
 */
void nt_conn_put(struct nt_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref))
		queue_work(nt_cm_wq, &conn->free_work);
}

/* ---- made ---- */

static void nt_conn_init(struct nt_conn *conn)
{
	int cls;

	refcount_set(&conn->ref, 1);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->queue);
	INIT_LIST_HEAD(&conn->granted);
	INIT_LIST_HEAD(&conn->waiting);
	for (cls = 0; cls < NTW_CLS_REQ; cls++)
		INIT_LIST_HEAD(&conn->stalled[cls]);
	INIT_LIST_HEAD(&conn->idle);
	INIT_LIST_HEAD(&conn->flying);
	INIT_LIST_HEAD(&conn->slots);
	INIT_LIST_HEAD(&conn->answers);
	INIT_LIST_HEAD(&conn->reads);
	INIT_LIST_HEAD(&conn->rxq);
	INIT_LIST_HEAD(&conn->space.link);
	conn->space.fn = nt_rx_space;
	nt_commit_init(conn);
	nt_lend_init(conn);
	INIT_WORK(&conn->step_work, nt_step_work);
	INIT_WORK(&conn->free_work, nt_conn_free);
	INIT_DELAYED_WORK(&conn->deadline, nt_deadline_work);
	INIT_DELAYED_WORK(&conn->more_work, nt_more_work);
	conn->req.fid.fclass = KFI_CLASS_CONNREQ;
}

static int nt_conn_alloc(struct nt_conn *conn)
{
	conn->sends = kvcalloc(NT_SENDS, sizeof(*conn->sends), GFP_NOIO);
	if (!conn->sends)
		return -ENOMEM;
	nt_sends_init(conn);
	return nt_auth_new(conn);
}

int nt_conn_furnish(struct nt_conn *conn)
{
	while (conn->nbounces < NT_BOUNCES) {
		void *bounce = kvmalloc(NT_BOUNCE, GFP_NOIO);

		if (!bounce)
			return -ENOMEM;
		conn->bounces[conn->nbounces++] = bounce;
	}
	return nt_slots_alloc(conn);
}

static void nt_conn_down(struct work_struct *work);

struct nt_conn *nt_conn_new(struct nt_dev *dev, struct nt_ep *nep, struct nt_pep *npep)
{
	struct nt_conn *conn = kvzalloc(sizeof(*conn), GFP_NOIO);

	if (!conn)
		return NULL;
	nt_conn_init(conn);
	INIT_WORK(&conn->down_work, nt_conn_down);
	nt_dev_get(dev);
	conn->dev = dev;
	conn->nep = nep;
	conn->npep = npep;
	conn->life = nt_link_life(dev->link);
	if (nt_conn_alloc(conn)) {
		nt_conn_put(conn);
		return NULL;
	}
	return conn;
}

/* Nobody finds it by that yet: what somebody fails has to be listed. */
static int nt_conn_number(struct nt_conn *conn)
{
	struct nt_dev *dev = conn->dev;
	int ret;

	xa_lock_bh(&dev->conns);
	ret = __xa_alloc_cyclic(&dev->conns, &conn->id, NULL, XA_LIMIT(1, INT_MAX), &dev->next_conn, GFP_NOIO);
	xa_unlock_bh(&dev->conns);
	return min(ret, 0);
}

/* Peers may find it from here on; unless its end is through with that. The place is there, so nothing is allocated. */
static void nt_conn_findable(struct nt_conn *conn)
{
	struct xarray *conns = &conn->dev->conns;

	xa_lock_bh(conns);
	if (!test_bit(NT_DEAD, &conn->flags))	/* set before the number is given back */
		__xa_store(conns, conn->id, conn, GFP_ATOMIC);
	xa_unlock_bh(conns);
}

/* A grace period later nobody has it in hands. */
static void nt_conn_unnumber(struct nt_conn *conn)
{
	if (conn->id)
		xa_erase_bh(&conn->dev->conns, conn->id);
	conn->id = 0;
	synchronize_rcu_expedited();
}

/* At its endpoint or its listener, and known by a number. */
int nt_conn_list(struct nt_conn *conn, struct kfi_peer *peer)
{
	int ret = nt_conn_number(conn);

	if (ret)
		return ret;
	ret = kfi_home_list(conn->nep ? &conn->nep->home : &conn->npep->home, &conn->pc, peer);
	if (ret)
		nt_conn_unnumber(conn);
	else
		nt_conn_findable(conn);
	return ret;
}

/* A connection that will call @to, on the endpoint's list; with a reference for the caller. */
struct nt_conn *nt_dial(struct nt_ep *nep, const struct ntw_addr *to, struct kfi_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */
	struct nt_dev *way = peer ? nt_way(nep, to) : NULL;
	struct nt_conn *conn = nt_conn_new(way ?: nep->dev, nep, NULL);
	int ret = conn ? nt_conn_furnish(conn) : -ENOMEM;

	if (way)
		nt_dev_put(way);
	if (!ret) {
		conn->name = *to;
		conn->pc.dialed = true;
		ret = nt_conn_list(conn, peer);
	}
	memalloc_noio_restore(noio);
	if (!ret)
		return conn;
	if (conn)
		nt_conn_put(conn);
	return ERR_PTR(ret);
}

/* The peer's terms are known: the lock is held, or nobody knows the connection yet. */
void nt_conn_open(struct nt_conn *conn)
{
	const struct ntw_calling *g = &conn->peer;
	int cls;

	for (cls = 0; cls < NTW_CLS; cls++) {
		conn->window[cls] = g->window[cls];
		kfi_credit_init(&conn->credit_tx[cls], &conn->credit_rx[cls],
				cls == NTW_CLS_REQ ? nt_requests : nt_unexpected, g->window[cls]);
	}
	conn->peer_id = g->conn;
	conn->direct = !conn->mirror;
	conn->room = conn->mirror ? NTW_REC_MAX : min_t(u32, nt_rec_room(conn->dev->link), NTW_REC_MAX);
	conn->eager = min_t(u32, g->eager, conn->room - NTW_HEAD_MAX);
	conn->state = NT_READY;
}

/* ---- the end ---- */

void nt_conn_fail(struct nt_conn *conn, int err)
{
	if (test_and_set_bit(NT_FAILED, &conn->flags))
		return;
	conn->error = err;
	if (err == -KFI_EKEYREJECTED)
		pr_warn_ratelimited("kfi_ntb: %s: a peer has another authorization key, or only one side has any\n",
				    nt_link_name(conn->dev->link));
	if (err == -EPROTO)
		pr_warn_ratelimited("kfi_ntb: %s: a peer broke the protocol, connection closed\n", nt_link_name(conn->dev->link));
	nt_conn_get(conn);
	queue_work(nt_cm_wq, &conn->down_work);
}

/* Tell whoever had it. RDM: operations fail, receives stay. MSG: the endpoint is shut. */
static void nt_conn_report(struct nt_conn *conn)
{
	if (conn->pc.peer) {
		if (conn->pc.ready)
			trace_kfi_disconnect(&conn->nep->ep, conn->error);
		kfi_peer_lost(&conn->pc, conn->error);
	} else if (conn->nep && conn->nep->ep.type == KFI_EP_RDM) {
		return;		/* a stranger that was not admitted */
	} else if (conn->nep) {
		nt_msg_lost(conn, conn->error);
	} else if (conn->requested && kfi_connreq_gone(&conn->req)) {
		nt_conn_put(conn);	/* the consumer's; else an accept or reject will */
	}
}

static void nt_last_heard(struct nt_rec *rec, int err)
{
	nt_conn_put(container_of(rec, struct nt_conn, last));
}

/* The peer need not find out by itself. Nothing of ours is behind it. */
void nt_conn_close(struct nt_conn *conn, bool answer)
{
	struct ntw_frame f = {
		.type = NTW_CLOSE, .conn = conn->peer_id, .bits = answer ? NTW_F_ACK : 0,
		.status = conn->error > -MAX_ERRNO && conn->error < 0 ? -conn->error : 0,
	};

	if (!conn->peer_id || test_bit(NT_CLOSED, &conn->flags) || test_and_set_bit(NT_CLOSE_SENT, &conn->flags))
		return;
	ntw_encode(&f, &conn->last.rec, (struct ntw_hdr *)(conn->last.head + sizeof(struct ntw_rec)));
	conn->last.head_len = NTW_PREFIX;
	conn->last.heard = nt_last_heard;
	nt_conn_get(conn);
	rcu_read_lock();	/* see nt_conns_link_down() */
	if (nt_conn_post(conn, &conn->last, false))
		nt_conn_put(conn);
	rcu_read_unlock();
}

/* No record is looked at any more, none is posted. */
static void nt_conn_stop(struct nt_conn *conn)
{
	spin_lock_bh(&conn->lock);
	set_bit(NT_DEAD, &conn->flags);
	spin_unlock_bh(&conn->lock);
	nt_lend_recall(conn);		/* its last word still finds us */
	nt_conn_unnumber(conn);		/* posters and records that still saw it are through */
	cancel_work_sync(&conn->step_work);
	cancel_delayed_work_sync(&conn->deadline);
	cancel_delayed_work_sync(&conn->more_work);
	if (conn->nep && conn->nep->ep.rx_cq)
		kfi_cq_cancel_wait(conn->nep->ep.rx_cq, &conn->space);
}

/* From here on nobody's limit has it: while messages wait in the matching the peer can have it replaced by others. */
static void nt_conn_remains(struct nt_conn *conn)
{
	if (conn->mirror)
		return;
	conn->remains = true;
	atomic_inc(&conn->dev->remains);
}

static void nt_conn_take_down(struct nt_conn *conn)
{
	kfi_home_stays(&conn->pc);
	cancel_work_sync(&conn->step_work);	/* it publishes */
	synchronize_rcu_expedited();		/* so does an ACCEPT that was in somebody's hands before NT_FAILED was set */
	kfi_home_unpublish(&conn->pc);
	nt_conn_stop(conn);
	nt_sends_drain(conn);
	nt_tx_flush_all(conn, conn->error);
	nt_slots_lost(conn, conn->error);
	nt_conn_close(conn, false);
	nt_conn_report(conn);
	nt_way_home(conn);
	nt_conn_remains(conn);
	kfi_home_unlist(&conn->pc);
}

static void nt_conn_down(struct work_struct *work)
{
	struct nt_conn *conn = container_of(work, struct nt_conn, down_work);
	unsigned int noio = memalloc_noio_save();

	nt_conn_take_down(conn);
	memalloc_noio_restore(noio);
	nt_conn_put(conn);	/* this work's */
}

/* What was called has no answer, what said goodbye has no goodbye, or what came before the end has found no room. */
void nt_deadline_work(struct work_struct *work)
{
	struct nt_conn *conn = container_of(to_delayed_work(work), struct nt_conn, deadline);
	int err = -ETIMEDOUT;

	spin_lock_bh(&conn->lock);
	if (conn->ended)
		err = conn->ended;
	else if (conn->state == NT_READY)
		err = -ESHUTDOWN;
	spin_unlock_bh(&conn->lock);
	nt_conn_fail(conn, err);
}

/* ---- for kfi.ko ---- */

void nt_peer_put(struct kfi_peer_conn *pc)
{
	nt_conn_put(to_nt_conn(pc));
}

void nt_peer_fail(struct kfi_peer_conn *pc, int err)
{
	nt_conn_fail(to_nt_conn(pc), err);
}

bool nt_peer_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(NT_FAILED, &to_nt_conn(pc)->flags);
}

static void nt_home_get(struct kfi_peer_conn *pc)
{
	nt_conn_get(to_nt_conn(pc));
}

static void nt_home_moved(struct kfi_peer_conn *pc)
{
	struct nt_conn *conn = to_nt_conn(pc);

	conn->nep = to_nt_ep(pc->home->peers->ep);
	/* Pairs with nt_rx_close() and nt_wire_type(): who sees it gone has the endpoint. */
	smp_store_release(&conn->npep, NULL);
}

/* The answer goes out of step_work, which nt_conn_down() waits for. */
static void nt_home_answer(struct kfi_peer_conn *pc, bool accepted)
{
	nt_step(to_nt_conn(pc), accepted ? NT_STEP_ACCEPT : NT_STEP_REJECT);
}

static const struct kfi_peer_conn *nt_home_carrier(const struct kfi_oper *op)
{
	const struct nt_conn *conn = READ_ONCE(nt_op(op)->conn);

	return conn ? &conn->pc : NULL;
}

const struct kfi_home_ops nt_home_ops = {
	.backlog	= &nt_backlog,
	.get		= nt_home_get,
	.put		= nt_peer_put,
	.fail		= nt_peer_fail,
	.failed		= nt_peer_failed,
	.carrier	= nt_home_carrier,
	.moved		= nt_home_moved,
	.answer		= nt_home_answer,
};
