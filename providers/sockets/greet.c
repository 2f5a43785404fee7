// SPDX-License-Identifier: GPL-2.0
/*
 * greet.c - the handshake: one hello in each direction before frames flow.
 *
 * It runs in greet_work, one step at a time and without ever blocking: socket callbacks kick it, and a deadline ends it.
 * Nothing of the peer's is believed before skw_decode_hello() has seen it.
 */
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include "sock.h"

static u8 ks_wire_type(const struct ks_conn *conn)
{
	return conn->pep || (conn->sep && conn->sep->ep.type == KFI_EP_MSG) ? KFI_EP_MSG : KFI_EP_RDM;
}

void ks_greet_kick(struct ks_conn *conn)
{
	mod_delayed_work(ks_cm_wq, &conn->greet_work, 0);
}

static int ks_greet_send(struct ks_conn *conn, const struct skw_greeting *g)
{
	struct skw_hello hello;
	struct kvec vec[3] = {
		{ &hello, sizeof(hello) }, { conn->data_out, g->data_len },
		{ conn->auth_out, g->auth ? SKW_AUTH_LEN : 0 },
	};
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	size_t len = vec[0].iov_len + vec[1].iov_len + vec[2].iov_len;
	int sent;

	skw_encode_hello(g, &hello);
	if (g->auth)
		ks_auth_outgoing(conn, &hello);
	sent = kernel_sendmsg(conn->sock, &msg, vec, ARRAY_SIZE(vec), len);
	/* An empty socket buffer takes this much, if there is memory. */
	if (sent == -EAGAIN)
		return -ENOBUFS;
	if (sent < 0)
		return sent;
	return sent == len ? 0 : -EIO;
}

static struct skw_greeting ks_greeting(const struct ks_conn *conn, u8 kind, u64 incarnation, __be16 port)
{
	const struct kfi_peer_conn *pc = &conn->pc;

	return (struct skw_greeting) {
		.kind = kind,
		.ep_type = ks_wire_type(conn),
		.auth = conn->auth && kind != SKW_REJECT,
		.port = be16_to_cpu(port),
		.data_len = conn->data_out_len,
		.incarnation = incarnation,
		.stream = pc->stream,
		.known = pc->known,
		.window_msg = conn->window,
		.window_tag = conn->window,
		.requests = ks_requests,
		.eager = conn->eager,
		.src_ctx = pc->dialed ? kfi_peer_tx_ctx(&conn->sep->ep) : 0,
		.dst_ctx = pc->dialed && pc->peer ? kfi_peer_rx_ctx(pc->peer) : 0,
	};
}

/* Answer a hello. A rejected connection is closed once the peer has had the time to read why. */
int ks_greet_answer(struct ks_conn *conn, u8 kind, int status)
{
	struct skw_greeting g = ks_greeting(conn, kind, conn->sep ? conn->sep->peers.incarnation : 1, 0);

	g.status = status;
	return ks_greet_send(conn, &g);
}

static int ks_greet_hello(struct ks_conn *conn)
{
	struct ks_ep *sep = conn->sep;
	struct skw_greeting g = ks_greeting(conn, SKW_HELLO, sep->peers.incarnation, kfi_inaddr_port(&sep->addr));

	return ks_greet_send(conn, &g);
}

/* A hello that is its kind and nothing else. */
int ks_greet_say(struct ks_conn *conn, u8 kind)
{
	struct skw_greeting g = { .kind = kind, .ep_type = ks_wire_type(conn), .auth = true };

	return ks_greet_send(conn, &g);
}

/* Where the next bytes of a hello belong: its head, private data, authentication data. Length 0: it is complete. */
static struct kvec ks_greet_room(struct ks_conn *conn)
{
	size_t data_len = conn->greeting.data_len, have = conn->hello_have;

	if (have < sizeof(conn->hello_in))
		return (struct kvec) { (void *)&conn->hello_in + have, sizeof(conn->hello_in) - have };
	have -= sizeof(conn->hello_in);
	if (have < data_len)
		return (struct kvec) { conn->data_in + have, data_len - have };
	have -= data_len;
	return (struct kvec) { conn->auth_in + have, (conn->greeting.auth ? SKW_AUTH_LEN : 0) - have };
}

/* The peer's hello with all that belongs to it. Return: 0 complete, -EAGAIN, or the end of it. */
static int ks_greet_receive(struct ks_conn *conn)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	struct kvec vec;
	int got;

	for (;;) {
		vec = ks_greet_room(conn);
		if (!vec.iov_len)
			return 0;
		got = kernel_recvmsg(conn->sock, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT);
		if (got <= 0)
			return got ?: -ECONNRESET;
		conn->hello_have += got;
		if (conn->hello_have == sizeof(conn->hello_in)) {
			got = skw_decode_hello(&conn->hello_in, &conn->greeting);
			if (got)
				return got;
		}
	}
}

/* One side has a key and the other none? */
static int ks_greet_key(const struct ks_conn *conn)
{
	return conn->greeting.auth == !!conn->auth ? 0 : -KFI_EKEYREJECTED;
}

/* The answer to our hello. */
static int ks_greet_answered(struct ks_conn *conn)
{
	const struct skw_greeting *g = &conn->greeting;
	int ret;

	if (g->kind == SKW_REJECT)
		return g->status && g->status < MAX_ERRNO ? -(int)g->status : -ECONNREFUSED;
	ret = ks_greet_key(conn);
	if (!ret && conn->auth)
		ret = ks_auth_answered(conn);
	if (ret)
		return ret;
	if (g->kind != SKW_ACCEPT || g->ep_type != ks_wire_type(conn))
		return -EPROTO;
	if (conn->pc.peer)
		return ks_rdm_ready(conn) ? 0 : -EALREADY;
	ks_msg_ready(conn);
	return 0;
}

/* Ask the consumer, who has a reference of the connection until he has answered, or the request is taken back. */
static int ks_greet_request(struct ks_conn *conn)
{
	int ret;

	ks_conn_get(conn);
	conn->requested = true;
	conn->state = KS_WAITING;
	ret = kfi_pep_connreq(&conn->pep->pep, &conn->req, &conn->name, kfi_inaddr_len(conn->name.sa.sa_family),
			      conn->data_in, conn->greeting.data_len);
	if (ret) {
		conn->requested = false;
		conn->state = KS_GREETING;
		ks_greet_answer(conn, SKW_REJECT, ECONNREFUSED);
		ks_conn_put(conn);
	}
	return ret;
}

/* A stranger's hello, or his proof. */
static int ks_greet_asked(struct ks_conn *conn)
{
	const struct skw_greeting *g = &conn->greeting;
	int ret;

	ret = ks_greet_key(conn);
	if (!ret && conn->auth)
		ret = ks_auth_asked(conn);
	if (ret == -KFI_EKEYREJECTED)
		ks_greet_answer(conn, SKW_REJECT, EKEYREJECTED);
	if (ret)
		return ret;
	if (g->kind != SKW_HELLO)
		return -EPROTO;
	if (g->ep_type != ks_wire_type(conn)) {
		ks_greet_answer(conn, SKW_REJECT, EPROTOTYPE);
		return -EPROTOTYPE;
	}
	if (!conn->pep)
		return ks_rdm_called(conn);
	if (g->src_ctx || g->dst_ctx)
		return -EPROTO;
	return ks_greet_request(conn);
}

/* Now, with the work for itself: nobody takes the socket away before it has ended. */
static int ks_greet_calling(struct ks_conn *conn)
{
	union kfi_inaddr to = conn->name;
	unsigned int tries;
	int ret;

	ks_conn_reclaim(conn);
	ks_conn_attach(conn);
	ret = kernel_connect(conn->sock, (void *)&to.sa, kfi_inaddr_len(to.sa.sa_family), O_NONBLOCK);
	/* Another connection to the same destination has the port, or had it a minute ago. */
	for (tries = KS_PORT_MIN; ret == -EADDRNOTAVAIL && conn->pc.peer && tries <= KS_PORT_MAX; tries++) {
		if (ks_dial_again(conn))
			break;
		ret = kernel_connect(conn->sock, (void *)&to.sa, kfi_inaddr_len(to.sa.sa_family), O_NONBLOCK);
	}
	if (ret && ret != -EINPROGRESS)
		return ret;
	conn->state = KS_DIALING;
	return 0;
}

static int ks_greet_dialing(struct ks_conn *conn)
{
	struct sock *sk = conn->sk;
	int ret;

	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return -EAGAIN;
	if (sk->sk_state != TCP_ESTABLISHED)
		return READ_ONCE(sk->sk_err) ? -READ_ONCE(sk->sk_err) : -ECONNREFUSED;
	conn->state = KS_GREETING;
	ret = ks_greet_hello(conn);
	return ret ?: -EAGAIN;
}

static int ks_greet_step(struct ks_conn *conn)
{
	int ret;

	switch (conn->state) {
	case KS_ADMITTING:
		return conn->sk->sk_state == TCP_ESTABLISHED ? ks_rdm_admit(conn) : -ECONNRESET;
	case KS_ACCEPTED:
		return ks_msg_accepted(conn);
	case KS_REJECTED:
		ks_greet_answer(conn, SKW_REJECT, ECONNREFUSED);
		return -ECONNREFUSED;
	case KS_CALLING:
		ret = ks_greet_calling(conn);
		if (ret)
			return ret;
		fallthrough;
	case KS_DIALING:
		ret = ks_greet_dialing(conn);
		if (ret != -EAGAIN || conn->state == KS_DIALING)
			return ret;
	}
	ret = ks_greet_receive(conn);
	if (ret)
		return ret;
	return conn->pc.dialed ? ks_greet_answered(conn) : ks_greet_asked(conn);
}

static void ks_greet_go_on(struct ks_conn *conn)
{
	u8 state = smp_load_acquire(&conn->state);	/* pairs with ks_greet_start() */
	int ret;

	if (test_bit(KS_FAILED, &conn->flags) || state == KS_NEW)
		return;
	if (state == KS_READY) {	/* our goodbye was not answered in time */
		if (test_bit(KS_BYE_LEFT, &conn->flags) && time_after_eq(jiffies, conn->deadline))
			ks_conn_fail(conn, -ESHUTDOWN);
		return;
	}
	if (state == KS_WAITING) {	/* the consumer decides; but is the peer still there? */
		if (conn->sk->sk_state != TCP_ESTABLISHED)
			ks_conn_fail(conn, -ECONNRESET);
		return;
	}
	ret = ks_greet_step(conn);
	if (ret && ret != -EAGAIN) {
		ks_conn_fail(conn, ret);
	} else if (ret == -EAGAIN) {
		if (time_after_eq(jiffies, conn->deadline))
			ks_conn_fail(conn, -ETIMEDOUT);
		else if (conn->state == KS_ADMITTING)
			queue_delayed_work(ks_cm_wq, &conn->greet_work, msecs_to_jiffies(20));
		else
			queue_delayed_work(ks_cm_wq, &conn->greet_work, conn->deadline - jiffies);
	}
}

/*
 * Our goodbye has left: the peer closes when it has read it, and that is the end. Were we to close first, what it is just sending
 * would make TCP reset the stream, and what we have sent could be lost. Socket lock held.
 */
void ks_greet_bye(struct ks_conn *conn)
{
	unsigned long patience = msecs_to_jiffies(ks_user_timeout_ms);

	if (test_and_set_bit(KS_BYE_LEFT, &conn->flags))
		return;
	conn->deadline = jiffies + patience;
	mod_delayed_work(ks_cm_wq, &conn->greet_work, patience);
}

void ks_greet_work(struct work_struct *work)
{
	struct ks_conn *conn = container_of(to_delayed_work(work), struct ks_conn, greet_work);
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */

	ks_greet_go_on(conn);
	memalloc_noio_restore(noio);
}

/*
 * Begin, or go on after the consumer's decision: a connection to be dialled (KS_CALLING), one that waits for its hello
 * (KS_GREETING), an answered request (KS_ACCEPTED, KS_REJECTED).
 */
void ks_greet_start(struct ks_conn *conn, int state)
{
	smp_store_release(&conn->state, state);	/* all that the work looks at is in place */
	ks_greet_kick(conn);
}
