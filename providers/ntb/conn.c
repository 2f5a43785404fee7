// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of a connection.
 *
 *   nt_conn_new()	before the first word (cm.c)
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

static void nt_conn_free(struct nt_conn *conn)
{
	unsigned int i;

	for (i = 0; i < NT_BOUNCES && i < conn->nbounces; i++)
		kvfree(conn->bounces[i]);
	kvfree(conn->slot_mem);
	kvfree(conn->sends);
	kfree(conn->auth);
	nt_dev_put(conn->dev);
	kvfree(conn);
}

/* Any context: the last reference may go with a message that nobody wanted, or a record that was heard of. */
void nt_conn_put(struct nt_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref))
		nt_conn_free(conn);
}

/* ---- made ---- */

static void nt_conn_init(struct nt_conn *conn)
{
	int cls;

	refcount_set(&conn->ref, 1);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->entry);
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
	INIT_WORK(&conn->step_work, nt_step_work);
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
	while (conn->nbounces < NT_BOUNCES) {
		void *bounce = kvmalloc(NT_BOUNCE, GFP_NOIO);

		if (!bounce)
			return -ENOMEM;
		conn->bounces[conn->nbounces++] = bounce;
	}
	return nt_slots_alloc(conn) ?: nt_auth_new(conn);
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
	conn->life = READ_ONCE(dev->life);
	if (nt_conn_alloc(conn)) {
		nt_conn_put(conn);
		return NULL;
	}
	return conn;
}

/* Peers may find it from here on. */
int nt_conn_number(struct nt_conn *conn)
{
	struct nt_dev *dev = conn->dev;
	int ret;

	xa_lock_bh(&dev->conns);
	ret = __xa_alloc_cyclic(&dev->conns, &conn->id, conn, XA_LIMIT(1, INT_MAX), &dev->next_conn, GFP_NOIO);
	xa_unlock_bh(&dev->conns);
	return min(ret, 0);
}

/* A grace period later nobody has it in hands. */
void nt_conn_unnumber(struct nt_conn *conn)
{
	if (conn->id)
		xa_erase_bh(&conn->dev->conns, conn->id);
	conn->id = 0;
	synchronize_rcu_expedited();
}

/* On its endpoint's list, which has a reference, and known by a number. */
int nt_conn_list(struct nt_conn *conn, struct kfi_peer *peer, bool stranger)
{
	struct nt_ep *nep = conn->nep;
	int ret = nt_conn_number(conn);

	if (ret)
		return ret;
	spin_lock_bh(&nep->lock);
	if (nep->stopping) {
		ret = -ENODEV;
	} else if (stranger && nep->nstrangers >= nt_backlog) {
		ret = -EBUSY;
	} else {
		list_add_tail(&conn->entry, &nep->conns);
		nt_conn_get(conn);
		conn->stranger = stranger;
		nep->nstrangers += stranger;
		if (peer)
			kfi_peer_join(peer, &conn->pc);
	}
	spin_unlock_bh(&nep->lock);
	if (ret)
		nt_conn_unnumber(conn);
	return ret;
}

/* A connection that will call @to, on the endpoint's list; with a reference for the caller. */
struct nt_conn *nt_dial(struct nt_ep *nep, const struct ntw_addr *to, struct kfi_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */
	struct nt_conn *conn = nt_conn_new(nep->dev, nep, NULL);
	int ret = conn ? 0 : -ENOMEM;

	if (conn) {
		conn->name = *to;
		conn->pc.dialed = true;
		ret = nt_conn_list(conn, peer, false);
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

static void nt_conn_unpublish(struct nt_conn *conn)
{
	struct nt_ep *nep = conn->nep;

	if (conn->pc.peer) {
		kfi_peer_unpublish(&conn->pc);
	} else if (nep) {
		spin_lock_bh(&nep->lock);
		if (rcu_access_pointer(nep->conn) == conn)
			RCU_INIT_POINTER(nep->conn, NULL);
		spin_unlock_bh(&nep->lock);
	}
}

static void nt_conn_unlist(struct nt_conn *conn)
{
	struct nt_ep *nep = conn->nep;
	struct nt_pep *npep = conn->npep;
	spinlock_t *lock = nep ? &nep->lock : &npep->lock;

	spin_lock_bh(lock);
	list_del_init(&conn->entry);
	if (!nep)
		npep->nconns--;
	else if (conn->stranger)
		nep->nstrangers--;
	if (conn->pc.peer)
		kfi_peer_leave(&conn->pc);
	wake_up_all(nep ? &nep->idle : &npep->idle);
	spin_unlock_bh(lock);
}

/* NT_FAILED is set: after this, the connection stays with the listener or with the endpoint. */
static void nt_conn_stays(struct nt_conn *conn)
{
	struct nt_pep *npep = READ_ONCE(conn->npep);	/* waits for our work before it goes */

	if (!npep)
		return;
	spin_lock_bh(&npep->lock);
	spin_unlock_bh(&npep->lock);
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
static void nt_conn_close(struct nt_conn *conn)
{
	struct ntw_frame f = {
		.type = NTW_CLOSE, .conn = conn->peer_id,
		.status = conn->error > -MAX_ERRNO && conn->error < 0 ? -conn->error : 0,
	};

	if (!conn->peer_id || test_bit(NT_CLOSED, &conn->flags))
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
	nt_conn_unnumber(conn);		/* posters and records that still saw it are through */
	cancel_work_sync(&conn->step_work);
	cancel_delayed_work_sync(&conn->deadline);
	cancel_delayed_work_sync(&conn->more_work);
	if (conn->nep && conn->nep->ep.rx_cq)
		kfi_cq_cancel_wait(conn->nep->ep.rx_cq, &conn->space);
}

static void nt_conn_take_down(struct nt_conn *conn)
{
	nt_conn_stays(conn);
	cancel_work_sync(&conn->step_work);	/* it publishes */
	synchronize_rcu_expedited();		/* so does an ACCEPT that was in somebody's hands before NT_FAILED was set */
	nt_conn_unpublish(conn);
	nt_conn_stop(conn);
	nt_sends_drain(conn);
	nt_tx_flush_all(conn, conn->error);
	nt_slots_lost(conn, conn->error);
	nt_conn_close(conn);
	nt_conn_report(conn);
	nt_conn_unlist(conn);
}

static void nt_conn_down(struct work_struct *work)
{
	struct nt_conn *conn = container_of(work, struct nt_conn, down_work);
	unsigned int noio = memalloc_noio_save();

	nt_conn_take_down(conn);
	memalloc_noio_restore(noio);
	nt_conn_put(conn);	/* the list's */
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
