// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of a TCP connection.
 *
 *   ks_conn_new()	around a fresh socket, in handshake (greet.c)
 *   ks_conn_start()	handshake done: frames flow (tx.c, rx.c)
 *   ks_conn_fail()	from any context: something ended it; the first reason counts
 *   ks_conn_down()	process context: unpublish, close the socket, end every operation exactly once
 *
 * Nobody waits for a peer in here: closing a socket does not block, and everything that was promised to a consumer is
 * completed with the reason of the failure.
 */
#include <linux/cpumask.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "sock.h"

void ks_conn_get(struct ks_conn *conn)
{
	refcount_inc(&conn->ref);
}

/*
 * Where the works of a connection run: on the CPU that the consumer has asked for its completions
 * on, or else on the CPU that has received the last packet. If that CPU is offline they run
 * anywhere: a timer of an offline CPU never fires.
 */
int ks_conn_cpu(const struct ks_conn *conn)
{
	const struct ks_ep *sep = READ_ONCE(conn->sep);
	int cpu = sep ? kfi_cq_cpu(sep->ep.rx_cq) : -1;

	if (cpu < 0)
		cpu = READ_ONCE(conn->cpu);
	return cpu_online(cpu) ? cpu : WORK_CPU_UNBOUND;
}

void ks_conn_queue(struct ks_conn *conn, struct delayed_work *work, unsigned long delay)
{
	preempt_disable();	/* the CPU can't go between the look and the timer */
	queue_delayed_work_on(ks_conn_cpu(conn), ks_wq, work, delay);
	preempt_enable();
}

/* Process context, for they may be vmalloc'ed; the last reference may go in softirq, with a message nobody wanted. */
static void ks_conn_free_buffers(struct ks_conn *conn)
{
	kvfree(conn->pool);
	kvfree(conn->rx.segs);
	kvfree(conn->tx.held);
	kfree(conn->auth);
	ks_inmsg_free_spares(conn);
	conn->auth = NULL;
	conn->pool = NULL;
	conn->rx.segs = NULL;
	conn->tx.held = NULL;
}

void ks_conn_put(struct ks_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	ks_conn_free_buffers(conn);	/* there are some only if it was never listed */
	kmem_cache_free(ks_conn_cache, conn);
}

/*
 * The memory of a connection on which frames flow. A caller is given it when it has said, and
 * with a key proved, who it is; before that it costs a socket and this object. May sleep.
 */
int ks_conn_alloc(struct ks_conn *conn)
{
	unsigned int i;

	conn->tx.held = kvmalloc(KS_STAGE, GFP_NOIO);
	conn->tx.stage = conn->tx.held;
	conn->rx.segs = kvmalloc_array(SKW_RMA_MAX, sizeof(struct skw_rma), GFP_NOIO);
	conn->pool = kvcalloc(ks_requests, sizeof(struct ks_answer), GFP_NOIO);
	if (!conn->tx.held || !conn->rx.segs || !conn->pool)
		return -ENOMEM;
	for (i = 0; i < ks_requests; i++) {
		conn->pool[i].pooled = true;
		list_add_tail(&conn->pool[i].link, &conn->free_answers);
	}
	return 0;
}

static void ks_conn_init(struct ks_conn *conn)
{
	int cls, level;

	refcount_set(&conn->ref, 1);
	init_llist_head(&conn->posted);
	INIT_LIST_HEAD(&conn->tx.queue);
	INIT_LIST_HEAD(&conn->tx.waiting);
	INIT_LIST_HEAD(&conn->tx.granted);
	for (cls = 0; cls < KS_CLS; cls++)
		INIT_LIST_HEAD(&conn->tx.stalled[cls]);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->inmsgs);
	INIT_LIST_HEAD(&conn->answers);
	INIT_LIST_HEAD(&conn->lazy);
	INIT_LIST_HEAD(&conn->free_answers);
	INIT_LIST_HEAD(&conn->rdv_wait);
	ks_commit_init(conn);
	INIT_LIST_HEAD(&conn->spares);
	INIT_LIST_HEAD(&conn->rx.space.link);
	conn->rx.space.fn = ks_rx_space;
	INIT_DELAYED_WORK(&conn->tx_work, ks_tx_work);
	INIT_DELAYED_WORK(&conn->rx_work, ks_rx_work);
	INIT_DELAYED_WORK(&conn->more_work, ks_more_work);
	INIT_DELAYED_WORK(&conn->watch_work, ks_conn_watch);
	INIT_DELAYED_WORK(&conn->greet_work, ks_greet_work);
	INIT_WORK(&conn->down_work, ks_conn_down);
	conn->req.fid.fclass = KFI_CLASS_CONNREQ;
	conn->cpu = raw_smp_processor_id();	/* until packets come: ks_data_ready() */
	conn->window = ks_window;
	conn->eager = ks_eager_size;
	for (level = 0; level < KS_HELD_LEVELS; level++)
		INIT_LIST_HEAD(&conn->held_dead[level]);
}

/* A connection under handshake around @sock, which it owns from now on. */
struct ks_conn *ks_conn_new(struct ks_ep *sep, struct ks_pep *pep, struct socket *sock)
{
	struct ks_conn *conn = kmem_cache_zalloc(ks_conn_cache, GFP_NOIO);

	if (!conn)
		return NULL;
	ks_conn_init(conn);
	conn->sep = sep;
	conn->pep = pep;
	if (ks_auth_new(conn)) {
		ks_conn_put(conn);
		return NULL;
	}
	conn->sock = sock;
	conn->sk = sock->sk;
	conn->deadline = jiffies + msecs_to_jiffies(READ_ONCE(ks_connect_timeout_ms));
	return conn;
}

/* Dead peers are found within keepidle + keepcnt * keepintvl seconds when idle, user_timeout when data is under way. */
void ks_conn_tune(struct socket *sock, u32 tclass)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, ks_keepidle_s);
	tcp_sock_set_keepintvl(sk, ks_keepintvl_s);
	tcp_sock_set_keepcnt(sk, ks_keepcnt);
	tcp_sock_set_user_timeout(sk, ks_user_timeout_ms);
	if (tclass & KFI_TC_DSCP)
		ip_sock_set_tos(sk, kfi_tc_dscp_get(tclass) << 2);
	/* Everything that allocates for this socket may run in softirq, or under memory reclaim. */
	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;	/* ks_tx_starved() */
	sock_own_page_frag(sk);		/* softirq may have interrupted a task in the middle of filling its own */
}

/*
 * What goes over this connection frees memory: its packets, in both directions, may use the reserve, or whoever waits for memory waits
 * for us for ever. Under the socket lock, or before anybody has the socket.
 */
void ks_conn_reclaim(struct ks_conn *conn)
{
	if (conn->sep->ep.reclaim && !sock_flag(conn->sk, SOCK_MEMALLOC))
		sk_set_memalloc(conn->sk);
}

/* A packet out of the reserve that waits in the socket's backlog would be a bug without the flag: taken away while there is no backlog. */
void ks_conn_reclaimed(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;
	bool owned;

	if (!sock_flag(sk, SOCK_MEMALLOC))
		return;
	do {
		spin_lock_bh(&sk->sk_lock.slock);
		owned = sock_owned_by_user(sk);
		if (!owned)
			sock_reset_flag(sk, SOCK_MEMALLOC);
		spin_unlock_bh(&sk->sk_lock.slock);
		if (owned)
			cond_resched();
	} while (owned);
	lock_sock(sk);
	sk_clear_memalloc(sk);
	release_sock(sk);
}

/* ---- the socket lock ---- */

/* For posters: never waits, see the locking notes in sock.h. Bottom halves stay off until ks_conn_unlock(). */
bool ks_conn_trylock(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;

	local_bh_disable();
	if (spin_trylock(&sk->sk_lock.slock)) {
		if (!sock_owned_by_user(sk))
			return true;
		spin_unlock(&sk->sk_lock.slock);
	}
	local_bh_enable();
	return false;
}

/* For our own works. False: the socket is closed, or somebody in process context owns it for a moment. */
bool ks_conn_lock(struct ks_conn *conn)
{
	struct sock *sk;

	if (test_bit(KS_DEAD, &conn->flags))
		return false;
	sk = conn->sk;
	local_bh_disable();
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		return true;
	bh_unlock_sock(sk);
	local_bh_enable();
	return false;
}

void ks_conn_unlock(struct ks_conn *conn)
{
	bh_unlock_sock(conn->sk);
	local_bh_enable();
}

/* ---- callbacks ---- */

/* Why the stream has ended. Of two that are connected one may just close; somebody we only send to has broken off. */
static int ks_end_of(const struct ks_conn *conn)
{
	int err = READ_ONCE(conn->sk->sk_err);

	if (test_bit(KS_BYE_SENT, &conn->flags))
		return -ESHUTDOWN;
	if (err)
		return -err;
	return conn->sep->ep.type == KFI_EP_MSG ? -ESHUTDOWN : -ECONNRESET;
}

/* A stream that has ended, in whatever way, ends the connection. Socket lock held. */
void ks_conn_check(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;

	if (sk->sk_state != TCP_ESTABLISHED)
		ks_conn_fail(conn, ks_end_of(conn));
}

static void ks_state_change(struct sock *sk)
{
	struct ks_conn *conn = sk->sk_user_data;

	if (!conn)
		return;
	if (conn->state != KS_READY) {
		ks_greet_kick(conn);
		return;
	}
	/* Its last words may lie in the socket: data_ready() is next, and then ks_rx_run() looks, or ks_conn_watch() if it can't. */
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (sk->sk_state != TCP_CLOSE_WAIT)
		ks_conn_check(conn);
	else if (conn->rx.at != KS_RX_BLOCKED)
		ks_conn_queue(conn, &conn->rx_work, 0);
}

static void ks_greet_ready(struct sock *sk)
{
	struct ks_conn *conn = sk->sk_user_data;

	if (!conn)
		return;
	if (conn->state == KS_READY)
		ks_data_ready(sk);
	else
		ks_greet_kick(conn);
}

/* Before connect, or on an accepted socket: from here on TCP tells us. */
void ks_conn_attach(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;

	write_lock_bh(&sk->sk_callback_lock);
	conn->old_data_ready = sk->sk_data_ready;
	conn->old_write_space = sk->sk_write_space;
	conn->old_state_change = sk->sk_state_change;
	sk->sk_user_data = conn;
	sk->sk_data_ready = ks_greet_ready;
	sk->sk_state_change = ks_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

void ks_conn_detach(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);		/* no callback runs, and none that has read our pointer is still under way */
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data == conn) {
		sk->sk_user_data = NULL;
		sk->sk_data_ready = conn->old_data_ready;
		sk->sk_write_space = conn->old_write_space;
		sk->sk_state_change = conn->old_state_change;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

static unsigned long ks_watch_interval(void)
{
	return msecs_to_jiffies(clamp(ks_user_timeout_ms / 2, 100U, 5000U));
}

/* The handshake is done and the connection published: bytes may already be waiting. */
void ks_conn_start(struct ks_conn *conn)
{
	const struct skw_greeting *g = &conn->greeting;
	struct sock *sk = conn->sk;
	struct ks_tx *tx = &conn->tx;

	lock_sock(sk);
	ks_conn_reclaim(conn);
	tx->window[KS_CLS_MSG] = g->window_msg;
	tx->window[KS_CLS_TAG] = g->window_tag;
	tx->requests_max = g->requests;
	tx->version = g->version;
	tx->eager = g->eager;
	kfi_credit_init(&tx->credit[KS_CLS_MSG], &conn->credit[KS_CLS_MSG], conn->window, g->window_msg);
	kfi_credit_init(&tx->credit[KS_CLS_TAG], &conn->credit[KS_CLS_TAG], conn->window, g->window_tag);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = ks_data_ready;
	sk->sk_write_space = ks_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	conn->rx.heard = jiffies;
	conn->state = KS_READY;
	release_sock(sk);
	ks_conn_queue(conn, &conn->rx_work, 0);	/* also looks whether the stream is still there */
	ks_conn_queue(conn, &conn->watch_work, ks_watch_interval());
}

/* Send a frame that says nothing, for the peer's TCP to acknowledge. */
static void ks_conn_probe(struct ks_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->credit_due = true;
	spin_unlock_bh(&conn->lock);
	rcu_read_lock();
	if (!test_bit(KS_DEAD, &conn->flags))
		ks_tx_kick(conn);
	rcu_read_unlock();
}

/*
 * Is an answer to ks_peer_probe() awaited? A caller that has made us ask may go before it comes:
 * what has been asked long ago says nothing about now.
 */
static bool ks_conn_probing(const struct ks_conn *conn)
{
	unsigned long probed = READ_ONCE(conn->probed);

	return probed && time_before(jiffies, probed + 2 * READ_ONCE(conn->probe_patience));
}

/*
 * TCP tells of peers that are dead. A peer that is alive could keep the receives that it has been
 * granted for ever, as they can't be cancelled any more: it has as long for the next bytes of a
 * frame, and for the payload of each grant, as a peer whose machine is dead, and a payload has to
 * come at a least rate. See ks_rx_late().
 */
void ks_conn_watch(struct work_struct *work)
{
	struct ks_conn *conn = container_of(to_delayed_work(work), struct ks_conn, watch_work);
	unsigned long patience = msecs_to_jiffies(ks_user_timeout_ms);
	bool late, ended;

	if (test_bit(KS_FAILED, &conn->flags))
		return;
	if (ks_conn_lock(conn)) {
		late = time_after(jiffies, READ_ONCE(conn->rx.heard) + patience);
		ended = conn->sk->sk_state != TCP_ESTABLISHED;
		if (late && patience && ended)
			ks_conn_check(conn);	/* its last words have waited long enough to be read */
		else if (patience && !ended && ks_rx_late(conn))
			ks_conn_fail(conn, -ETIMEDOUT);
		ks_conn_unlock(conn);
	}
	if (ks_conn_probing(conn))
		ks_conn_probe(conn);
	ks_conn_queue(conn, &conn->watch_work, ks_watch_interval());
}

/*
 * How long may the peer take to acknowledge something? When TCP has backed off, or the peer's
 * window is closed, TCP may send nothing for longer than KS_PROBE_MS although the peer is there; by
 * user_timeout_ms TCP itself gives the peer up. A machine that has restarted answers the next
 * packet with a reset in either case. Under kfi_peer.lock, without the socket lock: a value that
 * changes meanwhile makes the wait longer or shorter, no more.
 */
static unsigned long ks_probe_patience(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	bool waits = READ_ONCE(icsk->icsk_backoff) || READ_ONCE(icsk->icsk_retransmits) || READ_ONCE(icsk->icsk_probes_out) ||
		     !READ_ONCE(tcp_sk(sk)->snd_wnd);

	return msecs_to_jiffies(waits ? max(KS_PROBE_MS, READ_ONCE(ks_user_timeout_ms)) : KS_PROBE_MS);
}

/*
 * Is the peer still there? Its TCP acknowledges what we send, or a probe of a closed window.
 * Under kfi_peer.lock, where the socket lock can't be had: the watch sends a frame. The
 * connection is published, so nobody has cancelled that work yet, and the socket is there.
 */
int ks_peer_probe(struct kfi_peer_conn *pc)
{
	struct ks_conn *conn = to_ks_conn(pc);
	u32 heard = READ_ONCE(tcp_sk(conn->sk)->rcv_tstamp);

	if (READ_ONCE(conn->sk->sk_state) != TCP_ESTABLISHED)
		return -1;
	if (!ks_conn_probing(conn)) {
		WRITE_ONCE(conn->probe_patience, ks_probe_patience(conn->sk));
		WRITE_ONCE(conn->probed, jiffies ?: 1);
		mod_delayed_work(ks_wq, &conn->watch_work, 0);
		return 0;
	}
	/* In the same tick is good enough: a peer that is turned away wrongly calls again. */
	if ((s32)(heard - (u32)conn->probed) >= 0) {
		WRITE_ONCE(conn->probed, 0);
		return 1;
	}
	return time_after(jiffies, conn->probed + conn->probe_patience) ? -1 : 0;
}

/* ---- the end ---- */

void ks_conn_fail(struct ks_conn *conn, int err)
{
	if (test_and_set_bit(KS_FAILED, &conn->flags))
		return;
	conn->error = err;
	if (err == -KFI_EKEYREJECTED)
		net_warn_ratelimited("kfi_sockets: %pISpc has another authorization key, or only one side has any\n",
				     &conn->name);
	if (err == -EPROTO)
		net_warn_ratelimited("kfi_sockets: %pISpc broke the protocol, connection closed\n", &conn->name);
	ks_conn_get(conn);
	queue_work(ks_cm_wq, &conn->down_work);
}

/*
 * What TCP still holds is to arrive after the close. A kernel's socket loses its timers with it, and with them lost packets are
 * never sent again, unless it holds its namespace as a user's does. False: there is no namespace to hold any more.
 */
static bool ks_sock_outlives(struct sock *sk)
{
	struct net *net = maybe_get_net(sock_net(sk));

	if (!net)
		return false;
	sk_net_refcnt_upgrade(sk);
	put_net(net);
	return true;
}

static void ks_conn_close_socket(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;

	/* Spliced pages go back to their owner below: TCP must not send them again. */
	if (conn->state == KS_READY && !ks_drained(conn))
		set_bit(KS_ABORT, &conn->flags);
	if (test_bit(KS_ABORT, &conn->flags) || conn->error == -EPROTO || !ks_sock_outlives(sk))
		sock_no_linger(sk);
	ks_conn_reclaimed(conn);
	sock_release(conn->sock);
}

static void ks_answers_flush(struct ks_conn *conn)
{
	struct ks_answer *answer = conn->tx.answer;
	unsigned int i;

	if (answer && answer->mr)
		kfi_mr_put(answer->mr);
	for (i = 0; i < ks_requests; i++) {
		kfree(conn->pool[i].segs);
		ks_commit_drop(&conn->pool[i]);
		ks_values_free(&conn->pool[i].values, conn->pool[i].small);
	}
}

/* Tell whoever had it. RDM: operations fail, receives stay. MSG: the endpoint is shut. */
static void ks_conn_report(struct ks_conn *conn)
{
	if (conn->pc.peer)
		kfi_peer_lost(&conn->pc, conn->error);
	else if (conn->sep && conn->sep->ep.type == KFI_EP_RDM)
		return;		/* a stranger that never said who it was */
	else if (conn->sep)
		ks_msg_lost(conn, conn->error);
	else if (conn->requested && kfi_connreq_gone(&conn->req))
		ks_conn_put(conn);	/* the consumer's; else an accept or reject will */
}

static void ks_conn_take_down(struct ks_conn *conn)
{
	int err = conn->error;
	LIST_HEAD(lost);

	kfi_home_stays(&conn->pc);
	cancel_delayed_work_sync(&conn->greet_work);	/* it publishes */
	kfi_home_unpublish(&conn->pc);
	ks_conn_detach(conn);
	set_bit(KS_DEAD, &conn->flags);
	synchronize_rcu_expedited();	/* posters that still saw it are through */
	cancel_delayed_work_sync(&conn->greet_work);	/* kicked since; did nothing */
	if (conn->sep && conn->sep->ep.rx_cq)
		kfi_cq_cancel_wait(conn->sep->ep.rx_cq, &conn->rx.space);
	cancel_delayed_work_sync(&conn->watch_work);
	cancel_delayed_work_sync(&conn->rx_work);
	cancel_delayed_work_sync(&conn->tx_work);
	cancel_delayed_work_sync(&conn->more_work);	/* the former may have owed something */
	ks_conn_close_socket(conn);
	if (conn->state == KS_READY) {
		ks_tx_flush_all(conn, err);
		ks_answers_flush(conn);	/* before the message objects that some of them sit in */
		ks_inmsgs_collect(conn, &lost);	/* before the first receive goes back to the matching */
		ks_rx_abort(conn, err);
		ks_inmsgs_abort(&lost, err);
	}
	ks_held_down(conn);
	ks_conn_report(conn);
	ks_conn_free_buffers(conn);
	kfi_home_unlist(&conn->pc);
}

void ks_conn_down(struct work_struct *work)
{
	struct ks_conn *conn = container_of(work, struct ks_conn, down_work);
	unsigned int noio = memalloc_noio_save();

	ks_conn_take_down(conn);
	memalloc_noio_restore(noio);
	ks_conn_put(conn);	/* this work's */
}

/* ---- for kfi.ko ---- */

void ks_peer_put(struct kfi_peer_conn *pc)
{
	ks_conn_put(to_ks_conn(pc));
}

void ks_peer_fail(struct kfi_peer_conn *pc, int err)
{
	ks_conn_fail(to_ks_conn(pc), err);
}

bool ks_peer_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(KS_FAILED, &to_ks_conn(pc)->flags);
}

static void ks_home_get(struct kfi_peer_conn *pc)
{
	ks_conn_get(to_ks_conn(pc));
}

static void ks_home_moved(struct kfi_peer_conn *pc)
{
	struct ks_conn *conn = to_ks_conn(pc);

	conn->sep = to_ks_ep(pc->home->peers->ep);
	WRITE_ONCE(conn->pep, NULL);
}

/*
 * Greeting means: the hello, or the proof, has not come. A request that its consumer has seen is
 * not pending.
 */
static bool ks_home_pending(const struct kfi_peer_conn *pc)
{
	return READ_ONCE(to_ks_conn(pc)->state) == KS_GREETING;
}

static bool ks_home_akin(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b)
{
	union kfi_inaddr from = kfi_inaddr_origin(&to_ks_conn(a)->name);
	union kfi_inaddr other = kfi_inaddr_origin(&to_ks_conn(b)->name);

	return !kfi_inaddr_ip_cmp(&from, &other);
}

/* The answer goes out of greet_work, which ks_conn_down() waits for. */
static void ks_home_answer(struct kfi_peer_conn *pc, bool accepted)
{
	ks_greet_start(to_ks_conn(pc), accepted ? KS_ACCEPTED : KS_REJECTED);
}

static const struct kfi_peer_conn *ks_home_carrier(const struct kfi_oper *op)
{
	const struct ks_conn *conn = READ_ONCE(ks_op(op)->conn);

	return conn ? &conn->pc : NULL;
}

const struct kfi_home_ops ks_home_ops = {
	.backlog	= &ks_backlog,
	.source_backlog	= &ks_source_backlog,
	.get		= ks_home_get,
	.put		= ks_peer_put,
	.fail		= ks_peer_fail,
	.failed		= ks_peer_failed,
	.carrier	= ks_home_carrier,
	.moved		= ks_home_moved,
	.pending	= ks_home_pending,
	.akin		= ks_home_akin,
	.answer		= ks_home_answer,
};
