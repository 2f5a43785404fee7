// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of a connection.
 *
 *   kv_conn_new()	around an identifier of rdma_cm, or before there is one (cm.c)
 *   kv_conn_open()	both have said hello: credits are known
 *   kv_conn_fail()	from any context: something ended it; the first reason counts
 *   kv_conn_down()	process context: unpublish, stop the queue pair, end every operation exactly once
 *
 * Nobody waits for a peer in here: a queue pair that is told to stop returns what it has, and everything that was promised to a
 * consumer is completed with the reason of the failure. Messages that were here before the end are received after it, when the
 * consumer makes room for them; but he is not waited for without limit. A connection that still has such is as good as gone: its
 * peer may call again.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "verbs.h"

void kv_conn_get(struct kv_conn *conn)
{
	refcount_inc(&conn->ref);
}

/* Any context: the last reference may go with a message that nobody wanted. */
void kv_conn_put(struct kv_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	kfree(conn->auth);
	if (conn->kept) {
		kv_keep(&conn->husk);
		return;
	}
	kv_slots_free(conn);
	kvfree(conn->rqe);
	kvfree(conn);
}

static void kv_deadline_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, deadline);

	if (test_and_clear_bit(KV_REST, &conn->flags))
		kv_conn_again(conn);
	else if (test_bit(KV_FLUSHED, &conn->flags))
		kv_conn_fail(conn, kv_conn_end(conn));
	else
		kv_conn_fail(conn, test_bit(KV_BYE_SENT, &conn->flags) ? -ESHUTDOWN : -ETIMEDOUT);
}

/*
 * The device has stopped by itself; process or softirq. It does so when it refuses the peer an access, and the peer's device is to hear
 * that before it hears us hang up. During the handshake rdma_cm says why.
 */
void kv_conn_flushed(struct kv_conn *conn)
{
	spin_lock_bh(&conn->lock);
	if (conn->state == KV_READY && !test_bit(KV_DEAD, &conn->flags) && !test_and_set_bit(KV_FLUSHED, &conn->flags))
		mod_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(KV_LINGER_MS));
	spin_unlock_bh(&conn->lock);
}

/* ---- is the peer there? ---- */

static unsigned long kv_keepalive(void)
{
	return kv_keepalive_s * HZ;
}

static unsigned long kv_watch_interval(void)
{
	return clamp(min(kv_keepalive(), msecs_to_jiffies(kv_timeout_ms)) / 2, msecs_to_jiffies(100), 60UL * HZ);
}

/*
 * Silence is broken by a READ of nothing: the peer's device answers it, and nobody else has to. But not before the second look, for it may be
 * we who have slept. If a READ is under way already it will do, and is better: siw that is busy answers one of nothing with as many
 * bytes as it has last sent. The lock is held.
 *
 * On a connection of MSG a message may wait long for its receive, and what is behind it. A card's device finds out by itself whether the peer's is
 * there; one that tries for ever (rxe) doesn't, and who lets it try for that long is taken for dead.
 */
static bool kv_watch(struct kv_conn *conn)
{
	/* Nothing is reported of a short message that is the last one. */
	bool asked = conn->plain ? (s32)(conn->due - conn->tail) > 0 : conn->reads;
	bool patient = conn->plain && !conn->kdom->repeats;
	unsigned long now = jiffies;

	if (time_before(now, conn->heard + kv_keepalive())) {
		conn->probing = false;
	} else if (!conn->probing) {
		conn->probing = true;
		conn->probed = now;
	} else if (!asked && kv_sq_room(conn)) {
		kv_put_probe(conn);
		kv_sq_post(conn);
		conn->probed = now;
	}
	return conn->probing && !patient && time_after(now, conn->probed + msecs_to_jiffies(kv_timeout_ms));
}

/*
 * A device ends a connection whose peer does not answer, but some have all the patience of TCP, and without anything under
 * way none of them looks.
 */
static void kv_watch_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, watch_work);
	bool dead = false, nudge;

	spin_lock_bh(&conn->lock);
	nudge = conn->nudge;
	conn->nudge = false;
	conn->credit_due |= nudge;
	conn->waits |= nudge;
	if (!test_bit(KV_DEAD, &conn->flags)) {
		dead = kv_watch(conn);
		queue_delayed_work(kv_cm_wq, &conn->watch_work, kv_watch_interval());
	}
	spin_unlock_bh(&conn->lock);
	if (nudge)
		kv_tx_kick(conn);
	if (dead)
		kv_conn_fail(conn, -ETIMEDOUT);
}

/*
 * A listener's siw looks at what comes while it is about to accept us only when more comes: the first packets would wait for the
 * next ones, or for the end.
 */
void kv_watch_start(struct kv_conn *conn)
{
	conn->heard = jiffies;
	conn->nudge = conn->kdom->iwarp && conn->pc.dialed;
	queue_delayed_work(kv_cm_wq, &conn->watch_work, conn->nudge ? msecs_to_jiffies(KV_NUDGE_MS) : kv_watch_interval());
}

static void kv_conn_init(struct kv_conn *conn)
{
	int cls, pool;

	refcount_set(&conn->ref, 1);
	INIT_LIST_HEAD(&conn->queue);
	INIT_LIST_HEAD(&conn->waiting);
	INIT_LIST_HEAD(&conn->ending);
	INIT_LIST_HEAD(&conn->failed);
	INIT_LIST_HEAD(&conn->answers);
	INIT_LIST_HEAD(&conn->fetches);
	INIT_LIST_HEAD(&conn->rxq);
	INIT_LIST_HEAD(&conn->held);
	INIT_LIST_HEAD(&conn->space.link);
	INIT_LIST_HEAD(&conn->batches);
	for (cls = 0; cls < KVW_CLS; cls++)
		INIT_LIST_HEAD(&conn->stalled[cls]);
	for (pool = 0; pool < KV_POOLS; pool++)
		INIT_LIST_HEAD(&conn->frmrs[pool]);
	conn->space.fn = kv_rx_space;
	spin_lock_init(&conn->lock);
	spin_lock_init(&conn->rx_lock);
	INIT_WORK(&conn->grow_work, kv_grow_work);
	INIT_WORK(&conn->step_work, kv_cm_step_work);
	INIT_WORK(&conn->down_work, kv_conn_down);
	INIT_WORK(&conn->event_work, kv_event_work);
	INIT_DELAYED_WORK(&conn->more_work, kv_more_work);
	INIT_DELAYED_WORK(&conn->watch_work, kv_watch_work);
	INIT_DELAYED_WORK(&conn->deadline, kv_deadline_work);
	conn->req.fid.fclass = KFI_CLASS_CONNREQ;
}

struct kv_conn *kv_conn_new(struct kv_ep *vep, struct kv_pep *vpep)
{
	struct kv_conn *conn = kvzalloc(sizeof(*conn), GFP_NOIO);

	if (!conn)
		return NULL;
	kv_conn_init(conn);
	conn->vep = vep;
	conn->pep = vpep;
	conn->plain = vep ? vep->ep.hw_recv : true;	/* passive endpoints are MSG's */
	return conn;
}

/* On its endpoint's list, which has a reference, with one of the domain. */
int kv_conn_list(struct kv_conn *conn, struct kfi_peer *peer)
{
	struct kv_ep *vep = conn->vep;
	struct kv_domain *kdom = to_kv_domain(vep->ep.domain);
	int ret;

	if (!kv_domain_get(kdom))
		return -ENODEV;
	conn->kdom = kdom;
	ret = kfi_home_list(&vep->home, &conn->pc, peer);
	if (ret)
		kv_domain_put(kdom);
	return ret;
}

/* A connection that will call @to, on the endpoint's list; with a reference for the caller. */
struct kv_conn *kv_dial(struct kv_ep *vep, const union kfi_inaddr *to, struct kfi_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */
	struct kv_conn *conn = kv_conn_new(vep, NULL);
	int ret = conn ? kv_auth_new(conn) ?: kv_cm_id(conn) : -ENOMEM;

	memalloc_noio_restore(noio);
	if (ret)
		goto put;
	conn->name = *to;
	kv_conn_named(conn);
	conn->pc.dialed = true;
	ret = kv_conn_list(conn, peer);
	if (!ret)
		return conn;
	rdma_destroy_id(conn->id);
put:
	if (conn)
		kv_conn_put(conn);
	return ERR_PTR(ret);
}

/* The hellos are exchanged, with proofs if there is a key. What had come before it would have had no credit to come by. */
void kv_conn_open(struct kv_conn *conn)
{
	spin_lock_bh(&conn->lock);
	kv_slots_open(conn);
	spin_unlock_bh(&conn->lock);
}

/* ---- the end ---- */

/* Of two that are connected one may just close; somebody we only send to has broken off. */
int kv_conn_end(const struct kv_conn *conn)
{
	return conn->vep->ep.type == KFI_EP_MSG ? -ESHUTDOWN : -ECONNRESET;
}

/*
 * Why a connection has ended that was established: the reasons for which an attempt fails are not
 * reasons of its end. A time-out is one if the connection was established when the time was up.
 */
int kv_conn_was(const struct kv_conn *conn)
{
	switch (conn->error) {
	case -ETIMEDOUT:
		if (test_bit(KV_WAS_READY, &conn->flags))
			return conn->error;
		fallthrough;
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return kv_conn_end(conn);
	default:
		return conn->error;
	}
}

/*
 * The endpoint closes. A READ of nothing is behind all that is in the send queue: when it ends, the peer's device has that. The
 * endpoint's lock is held.
 */
bool kv_conn_settled(struct kv_conn *conn)
{
	bool settled;

	spin_lock_bh(&conn->lock);
	settled = conn->state != KV_READY || conn->head == conn->tail || test_bit(KV_FAILED, &conn->flags);
	if (!settled && test_bit(KV_LAST, &conn->flags)) {
		settled = (s32)(conn->tail - conn->last) >= 0;
	} else if (!settled && kv_sq_room(conn) && (conn->plain || kv_may_read(conn))) {
		kv_put_probe(conn);
		kv_sq_post(conn);
		conn->last = conn->head;
		set_bit(KV_LAST, &conn->flags);
	}
	spin_unlock_bh(&conn->lock);
	return settled;
}

/* kv_conn_down() once more, or for the first time. Any context */
void kv_conn_again(struct kv_conn *conn)
{
	kv_conn_get(conn);
	if (!queue_work(kv_cm_wq, &conn->down_work))
		kv_conn_put(conn);
}

void kv_conn_fail(struct kv_conn *conn, int err)
{
	if (test_and_set_bit(KV_FAILED, &conn->flags)) {
		if (test_bit(KV_REST, &conn->flags) && READ_ONCE(conn->vep->home.stop_err))
			kv_conn_again(conn);
		return;
	}
	if (READ_ONCE(conn->state) == KV_READY)
		set_bit(KV_WAS_READY, &conn->flags);
	conn->error = err;
	if (err == -EPROTO)
		net_warn_ratelimited("kfi_verbs: %pISpc broke the protocol, connection closed\n", &conn->name);
	else if (err == -KFI_EKEYREJECTED)
		kv_auth_warn(&conn->name);
	kv_conn_again(conn);
}

static void kv_conn_report(struct kv_conn *conn)
{
	if (conn->pc.peer)
		kv_rdm_lost(conn, conn->error);
	else if (conn->vep && conn->vep->ep.type == KFI_EP_RDM)
		return;		/* a stranger that was not admitted */
	else if (conn->vep)
		kv_msg_lost(conn, conn->error);
	else if (conn->requested && kfi_connreq_gone(&conn->req))
		kv_conn_put(conn);	/* the consumer's; else an accept or reject will */
}

/* No more is posted. */
static void kv_conn_stop(struct kv_conn *conn)
{
	spin_lock_bh(&conn->lock);
	set_bit(KV_DEAD, &conn->flags);
	spin_unlock_bh(&conn->lock);
	synchronize_rcu_expedited();	/* posters that still saw it are through */
	cancel_delayed_work_sync(&conn->watch_work);
	cancel_delayed_work_sync(&conn->more_work);
	cancel_delayed_work_sync(&conn->deadline);
	cancel_work_sync(&conn->grow_work);
}

static void kv_conn_take_down(struct kv_conn *conn)
{
	int err;

	kfi_home_stays(&conn->pc);
	spin_lock_bh(&conn->lock);		/* who has not seen KV_FAILED has queued his step */
	spin_unlock_bh(&conn->lock);
	if (conn->plain && test_bit(KV_STEP_READY, &conn->flags))
		WRITE_ONCE(conn->error, kv_conn_was(conn));
	cancel_work_sync(&conn->step_work);	/* it publishes */
	/* A message may have made it ready when the failure of the attempt was already on its way. */
	if (conn->plain && conn->state == KV_READY)
		WRITE_ONCE(conn->error, kv_conn_was(conn));
	err = conn->error;
	kfi_home_unpublish(&conn->pc);
	kv_conn_stop(conn);
	if (conn->plain && conn->vep) {
		kv_rq_stop(conn);
		kv_fresh_lost(conn->vep);
	}
	if (conn->plain)
		kv_cm_settle(conn);
	kv_cm_hang_up(conn);
	kv_qp_destroy(conn);
	kv_rx_stop(conn);
	kv_tx_flush_all(conn, err);
	kv_rx_lost(conn, err);
	if (conn->plain && conn->vep)
		kv_rq_lost(conn);
	rdma_destroy_id(conn->id);
	kv_qp_free(conn);
	if (conn->kdom)
		kv_domain_put(conn->kdom);
	if (conn->pc.peer)
		kv_conn_report(conn);	/* who has more to say to him calls again */
	kv_rx_keep(conn);
}

/* An endpoint that is connected hears of the end behind the last message, for with it its receives end. */
static void kv_conn_over(struct kv_conn *conn)
{
	cancel_delayed_work_sync(&conn->deadline);
	kv_held_down(conn);
	if (!conn->pc.peer)
		kv_conn_report(conn);
	kfi_home_unlist(&conn->pc);
}

void kv_conn_down(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, down_work);
	unsigned int noio = memalloc_noio_save();

	if (!test_and_set_bit(KV_DOWN, &conn->flags))
		kv_conn_take_down(conn);
	if (!test_bit(KV_OVER, &conn->flags) && kv_rx_rest(conn)) {
		set_bit(KV_OVER, &conn->flags);
		kv_conn_over(conn);
	}
	memalloc_noio_restore(noio);
	kv_conn_put(conn);	/* this work's */
}

/* ---- for kfi.ko ---- */

void kv_peer_put(struct kfi_peer_conn *pc)
{
	kv_conn_put(to_kv_conn(pc));
}

void kv_peer_fail(struct kfi_peer_conn *pc, int err)
{
	kv_conn_fail(to_kv_conn(pc), err);
}

bool kv_peer_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(KV_FAILED, &to_kv_conn(pc)->flags);
}

static void kv_home_get(struct kfi_peer_conn *pc)
{
	kv_conn_get(to_kv_conn(pc));
}

static void kv_home_moved(struct kfi_peer_conn *pc)
{
	struct kv_conn *conn = to_kv_conn(pc);

	conn->vep = to_kv_ep(pc->home->peers->ep);
	conn->kdom = to_kv_domain(conn->vep->ep.domain);
	WRITE_ONCE(conn->pep, NULL);
}

static void kv_home_answer(struct kfi_peer_conn *pc, bool accepted)
{
	kv_cm_step(to_kv_conn(pc), accepted ? KV_STEP_ACCEPT : KV_STEP_REJECT);
}

static const struct kfi_peer_conn *kv_home_carrier(const struct kfi_oper *op)
{
	const struct kv_conn *conn = READ_ONCE(kv_op(op)->conn);

	return conn ? &conn->pc : NULL;
}

const struct kfi_home_ops kv_home_ops = {
	.backlog	= &kv_backlog,
	.get		= kv_home_get,
	.put		= kv_peer_put,
	.fail		= kv_peer_fail,
	.failed		= kv_peer_failed,
	.carrier	= kv_home_carrier,
	.moved		= kv_home_moved,
	.answer		= kv_home_answer,
};
