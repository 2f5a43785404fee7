// SPDX-License-Identifier: GPL-2.0
/*
 * hello.c - the handshake: one hello in each direction before frames flow.
 *
 * The handshake runs in the hello work, one step at a time and without blocking. Callbacks of the
 * link queue the work, and a deadline ends the handshake. The receive side collects the bytes of a
 * hello and stops behind them (KFP_RX_HELD) until the work has handled it. No member of a hello is
 * used before kfw_decode_hello() has checked it.
 *
 * A hello that the link has no room for stays in kfp_conn.hello_out, and the work tries again in a
 * jiffy. It must not wait for room: links may share a transport, whose peer could then occupy the
 * work queue of all connections. No other step is taken before the hello has left.
 */
#include <linux/sched/mm.h>
#include "peers.h"

static u8 kfp_wire_type(const struct kfp_conn *conn)
{
	return conn->pep || (conn->ep && conn->ep->ep.type == KFI_EP_MSG) ? KFI_EP_MSG : KFI_EP_RDM;
}

/* ---- sending ---- */

/*
 * Post what is left of the hello of this side. Return: 0 if all of it has left; -EAGAIN if the
 * hello work has to try again, because a task holds the link's lock or the link has no room;
 * another negative errno.
 */
static int kfp_hello_post(struct kfp_conn *conn)
{
	struct kfp_hello_out *out = &conn->hello_out;
	struct kfi_unit unit = { .head = &out->hello, .len = out->len, .done = out->done };
	int ret;

	if (test_bit(KFP_FAILED, &conn->flags))
		return -ECONNRESET;
	if (!conn->ops->lock(&conn->link))
		return -EAGAIN;
	ret = conn->ops->post(&conn->link, &unit);
	conn->link.posted += unit.done - out->done;
	conn->ops->unlock(&conn->link);
	out->done = unit.done;
	if (ret == -EAGAIN &&
	    (time_after_eq(kfp_now(conn), conn->deadline) || conn->ops->ended(&conn->link)))
		ret = -ENOBUFS;
	if (ret != -EAGAIN)
		out->len = 0;
	return ret == -ENOMEM ? -ENOBUFS : ret;
}

/* Return: as kfp_hello_post(). */
static int kfp_hello_send(struct kfp_conn *conn, const struct kfw_hello_info *info)
{
	struct kfp_hello_out *out = &conn->hello_out;

	kfw_encode_hello(info, &out->hello);
	memcpy(out->tail, conn->data_out, info->data_len);
	out->len = sizeof(out->hello) + info->data_len;
	out->done = 0;
	if (info->auth) {
		kfp_auth_outgoing(conn, &out->hello);
		memcpy(out->tail + info->data_len, conn->auth_out, KFW_AUTH_LEN);
		out->len += KFW_AUTH_LEN;
	}
	return kfp_hello_post(conn);
}

static struct kfw_hello_info kfp_hello_info(const struct kfp_conn *conn, u8 kind, u64 incarnation,
					    u16 port)
{
	const struct kfi_peer_conn *pc = &conn->pc;

	return (struct kfw_hello_info) {
		.kind = kind,
		.ep_type = kfp_wire_type(conn),
		.auth = conn->auth && kind != KFW_REJECT,
		.port = port,
		.data_len = conn->data_out_len,
		.incarnation = incarnation,
		.call_id = pc->call_id,
		.known = pc->known,
		.allowance_msg = conn->allowance,
		.allowance_tag = conn->allowance,
		.requests = kfp_params(conn)->requests,
		.eager = conn->link.eager,
		.src_ctx = pc->dialed ? kfi_peer_tx_ctx(&conn->ep->ep) : 0,
		.dst_ctx = pc->dialed && pc->peer ? kfi_peer_rx_ctx(pc->peer) : 0,
	};
}

/* Return the incarnation of this side; a passive endpoint has none, and it is not 0. */
static u64 kfp_hello_incarnation(const struct kfp_conn *conn)
{
	return conn->ep ? conn->ep->peers.incarnation : 1;
}

static int kfp_hello_answer(struct kfp_conn *conn, u8 kind, int status)
{
	struct kfw_hello_info info = kfp_hello_info(conn, kind, kfp_hello_incarnation(conn), 0);

	info.status = status;
	return kfp_hello_send(conn, &info);
}

/*
 * Reject the hello of a caller. The connection ends with @err when the REJECT has left, without
 * dropping bytes, so that the peer can read the reason. Return: @err, or -EAGAIN if the REJECT has
 * not left yet.
 */
int kfp_hello_refuse(struct kfp_conn *conn, int status, int err)
{
	conn->refusal = err;
	return kfp_hello_answer(conn, KFW_REJECT, status) == -EAGAIN ? -EAGAIN : err;
}

/*
 * Send the ACCEPT, or what is left of it; then frames may follow. A caller that has received its
 * ACCEPT may call again at once. Its KFI_CONNREQ must follow the KFI_CONNECTED of this connection,
 * because programs that accept one caller after the other expect this order. So kfp_hello_request()
 * takes the same lock.
 */
static int kfp_msg_accept(struct kfp_conn *conn)
{
	struct mutex *lock = &conn->ep->proto->accepting;
	int ret;

	mutex_lock(lock);
	ret = conn->hello_out.len ? kfp_hello_post(conn) : kfp_hello_answer(conn, KFW_ACCEPT, 0);
	if (!ret)
		kfp_msg_ready(conn);
	mutex_unlock(lock);
	return ret;
}

/*
 * Accept the hello of a caller, or continue to send the ACCEPT. Return: 0 if the connection is
 * ready; otherwise as kfp_hello_post().
 */
int kfp_hello_accept(struct kfp_conn *conn)
{
	int ret;

	WRITE_ONCE(conn->state, KFP_ANSWERED);
	if (conn->ep->ep.type == KFI_EP_MSG)
		return kfp_msg_accept(conn);
	ret = conn->hello_out.len ? kfp_hello_post(conn) : kfp_hello_answer(conn, KFW_ACCEPT, 0);
	if (!ret)
		kfp_rdm_publish(conn);
	return ret;
}

static int kfp_hello_first(struct kfp_conn *conn)
{
	struct kfi_proto_ep *pe = conn->ep;
	u16 port = conn->ops->port ? conn->ops->port(pe) : 1;
	struct kfw_hello_info info = kfp_hello_info(conn, KFW_HELLO, pe->peers.incarnation, port);

	return kfp_hello_send(conn, &info);
}

/* Send a hello that consists of its kind, the incarnation and authentication data. */
int kfp_hello_send_auth(struct kfp_conn *conn, u8 kind)
{
	struct kfw_hello_info info = {
		.kind = kind,
		.ep_type = kfp_wire_type(conn),
		.auth = true,
		.incarnation = kfp_hello_incarnation(conn),
	};

	return kfp_hello_send(conn, &info);
}

/* ---- receiving ---- */

struct kfi_wire kfp_wire = { .name = "the message protocol", .speaks = &kfw_speaks };

/* Name the machine of the peer, which is the origin of all its connections. */
static void kfp_machine(const struct kfp_conn *conn, char *name, size_t size)
{
	const struct kfi_proto *proto = conn->link.proto;
	u8 origin[KFI_ADDR_MAX] __aligned(8);
	char *port;

	kfp_name_origin(proto->ops, conn->link.name, origin);
	proto->addr_str(origin, proto->ops->name_len, name, size);
	port = strrchr(name, ':');
	if (port && !strcmp(port, ":0"))
		*port = '\0';
}

/*
 * Do both sides have a version in common? If not, the log and "kfi show" name the peer. Return: 0,
 * -EPROTONOSUPPORT
 */
static int kfp_hello_versions(struct kfp_conn *conn)
{
	struct net *net = conn->ep ? kfi_ep_net(&conn->ep->ep) :
				     read_pnet(&conn->pep->pep.fabric->net);
	struct kfw_hello_info *info = &conn->hello_info;
	char name[KFI_ADDR_MAX];

	if (info->agreed.highest && !kfi_wire_any_refused())
		return 0;
	kfp_machine(conn, name, sizeof(name));
	if (info->agreed.highest) {
		kfi_wire_met(net, &kfp_wire, name);
		return 0;
	}
	info->data_len = 0;	/* private data of another version */
	kfi_wire_refused(net, &kfp_wire, name, &info->speaks);
	return -EPROTONOSUPPORT;
}

/*
 * Is the peer's hello complete? Return: 0; -EAGAIN; another negative errno if it can't arrive any
 * more.
 */
static int kfp_hello_received(struct kfp_conn *conn)
{
	int ended = conn->ops->ended(&conn->link);	/* before the bytes are read */
	int held = kfp_rx_poll(conn);

	if (held < 0) {
		queue_delayed_work(kfp_cm_wq, &conn->hello_work, 1);
		return held;
	}
	if (held)
		return 0;
	if (!ended)
		return -EAGAIN;
	return ended == -ESHUTDOWN ? -ECONNRESET : ended;
}

/* Return -KFI_EKEYREJECTED if only one side has an authorization key. */
static int kfp_hello_key(const struct kfp_conn *conn)
{
	return conn->hello_info.auth == !!conn->auth ? 0 : -KFI_EKEYREJECTED;
}

/* Handle the answer to the hello of this side. */
static int kfp_hello_answered(struct kfp_conn *conn)
{
	const struct kfw_hello_info *info = &conn->hello_info;
	int ret;

	ret = kfp_hello_versions(conn);
	if (ret)
		return ret;
	if (info->kind == KFW_REJECT)
		return kfi_link_refusal(info->status);
	ret = kfp_hello_key(conn);
	if (!ret && conn->auth)
		ret = kfp_auth_answered(conn);
	if (ret)
		return ret;
	if (info->kind != KFW_ACCEPT || info->ep_type != kfp_wire_type(conn))
		return -EPROTO;
	if (conn->pc.peer)
		return kfp_rdm_ready(conn) ? 0 : -EALREADY;
	kfp_msg_ready(conn);
	return 0;
}

/*
 * Give the request to the consumer. The consumer holds a reference to the connection until it has
 * answered, or until the request is taken back.
 */
static int kfp_hello_request(struct kfp_conn *conn)
{
	/* The consumer may accept at once; then conn->pep is NULL. */
	struct mutex *lock = &conn->pep->proto->accepting;
	u8 self[KFI_ADDR_MAX] __aligned(8);
	int ret;

	kfp_conn_get(conn);
	conn->requested = true;
	conn->state = KFP_WAITING;
	conn->ops->self(&conn->link, self);
	mutex_lock(lock);
	ret = kfi_pep_connreq(&conn->pep->pep, &conn->req, conn->link.name, self,
			      kfp_name_len(conn->ops, conn->link.name), conn->data_in,
			      conn->hello_info.data_len);
	mutex_unlock(lock);
	if (ret) {
		conn->requested = false;
		conn->state = KFP_HELLO;
		ret = kfp_hello_refuse(conn, ECONNREFUSED, ret);
		kfp_conn_put(conn);
	}
	return ret;
}

bool kfi_proto_need_privilege(const struct kfi_ep *ep)
{
	const struct kfi_proto *proto = container_of(ep, struct kfi_proto_ep, ep)->proto;

	return READ_ONCE(proto->params.need_privilege) &&
	       (ep->type == KFI_EP_RDM || ep->need_privilege) &&
	       !ep->unprivileged && !kfi_auth_secret(ep);
}
EXPORT_SYMBOL_GPL(kfi_proto_need_privilege);

static bool kfp_pep_need_privilege(const struct kfi_proto_pep *pep)
{
	return READ_ONCE(pep->proto->params.need_privilege) && pep->pep.need_privilege &&
	       !pep->pep.info->ep_attr->auth_key_size;
}

/* Is the name of the peer, which the peer claims or at which it was called, accepted? */
bool kfp_trusted(const struct kfp_conn *conn)
{
	return conn->link.privileged || !(conn->pep ? kfp_pep_need_privilege(conn->pep) :
						      kfi_proto_need_privilege(&conn->ep->ep));
}

/* Handle the hello or the proof of a caller. */
static int kfp_hello_from_caller(struct kfp_conn *conn)
{
	const struct kfw_hello_info *info = &conn->hello_info;
	int ret;

	ret = kfp_hello_versions(conn);
	if (ret)
		return kfp_hello_refuse(conn, EPROTONOSUPPORT, ret);
	ret = kfp_hello_key(conn);
	if (!ret && conn->auth)
		ret = kfp_auth_from_caller(conn);
	if (ret == -KFI_EKEYREJECTED)
		return kfp_hello_refuse(conn, EKEYREJECTED, ret);
	if (ret)
		return ret;
	if (info->kind != KFW_HELLO)
		return -EPROTO;
	if (info->ep_type != kfp_wire_type(conn))
		return kfp_hello_refuse(conn, EPROTOTYPE, -EPROTOTYPE);
	if (!conn->pep)
		return kfp_rdm_called(conn);
	if (info->src_ctx || info->dst_ctx)
		return -EPROTO;
	return kfp_trusted(conn) ? kfp_hello_request(conn) :
				   kfp_hello_refuse(conn, EACCES, -EACCES);
}

/* ---- the steps ---- */

static int kfp_hello_dialing(struct kfp_conn *conn)
{
	int ended, ret;

	ended = conn->ops->ended(&conn->link);
	if (ended)
		return ended == -ESHUTDOWN ? -ECONNREFUSED : ended;
	if (!test_bit(KFP_UP, &conn->flags))
		return -EAGAIN;
	conn->state = KFP_HELLO;
	ret = kfp_hello_first(conn);
	return ret ?: -EAGAIN;
}

/* Return: 0 if the connection is ready; -EAGAIN if another step follows; other negative errno. */
static int kfp_hello_step(struct kfp_conn *conn)
{
	int ret;

	if (conn->hello_out.len && conn->state == KFP_ANSWERED)
		return kfp_hello_accept(conn);
	if (conn->hello_out.len) {
		ret = kfp_hello_post(conn);
		if (ret == -EAGAIN)
			return ret;
		ret = conn->refusal ?: ret;
		if (ret)
			return ret;
	}
	switch (conn->state) {
	case KFP_ADMITTING:
		return conn->ops->ended(&conn->link) ? -ECONNRESET : kfp_rdm_admit(conn);
	case KFP_ACCEPTED:
		return kfp_msg_accepted(conn);
	case KFP_REJECTED:
		return kfp_hello_refuse(conn, ECONNREFUSED, -ECONNREFUSED);
	case KFP_CALLING:
		ret = conn->ops->dial(&conn->link);
		if (ret)
			return ret;
		conn->state = KFP_DIALING;
		fallthrough;
	case KFP_DIALING:
		ret = kfp_hello_dialing(conn);
		if (ret != -EAGAIN || conn->state == KFP_DIALING || conn->hello_out.len)
			return ret;
	}
	ret = kfp_hello_received(conn);
	if (ret)
		return ret;
	return conn->pc.dialed ? kfp_hello_answered(conn) : kfp_hello_from_caller(conn);
}

/* The peer has not closed the link after the BYE. */
static void kfp_hello_bye(struct kfp_conn *conn)
{
	long left;

	if (!test_bit(KFP_BYE_POSTED, &conn->flags))
		return;
	left = conn->deadline - kfp_now(conn);
	if (left <= 0)
		kfp_conn_fail(conn, -ESHUTDOWN);
	else
		queue_delayed_work(kfp_cm_wq, &conn->hello_work, left);
}

static void kfp_hello_continue(struct kfp_conn *conn)
{
	u8 state = smp_load_acquire(&conn->state);	/* pairs with kfp_hello_start() */
	long left;
	int ret;

	if (test_bit(KFP_FAILED, &conn->flags) || state == KFP_NEW)
		return;
	if (state == KFP_READY) {
		kfp_hello_bye(conn);
		return;
	}
	if (state == KFP_WAITING) {	/* the consumer decides, unless the link has ended */
		if (conn->ops->ended(&conn->link))
			kfp_conn_fail(conn, -ECONNRESET);
		return;
	}
	ret = kfp_hello_step(conn);
	if (ret && ret != -EAGAIN) {
		kfp_conn_fail(conn, ret);
	} else if (ret == -EAGAIN) {
		left = conn->deadline - kfp_now(conn);
		if (left <= 0)
			kfp_conn_fail(conn, -ETIMEDOUT);
		else if (conn->hello_out.len)
			queue_delayed_work(kfp_cm_wq, &conn->hello_work, 1);
		else if (conn->state == KFP_ADMITTING)
			queue_delayed_work(kfp_cm_wq, &conn->hello_work, msecs_to_jiffies(20));
		else
			queue_delayed_work(kfp_cm_wq, &conn->hello_work, left);
	}
}

void kfp_hello_work(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, hello_work);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */

	kfp_hello_continue(conn);
	memalloc_noio_restore(noio);
}

/*
 * Begin the handshake, or continue it after the consumer's decision. @state: KFP_CALLING for a
 * connection to be dialed, KFP_HELLO for one that waits for a hello, KFP_ACCEPTED or
 * KFP_REJECTED for a request that was answered.
 */
void kfp_hello_start(struct kfp_conn *conn, int state)
{
	/* The consumer may have taken longer than the handshake may take. */
	if (state == KFP_ACCEPTED || state == KFP_REJECTED)
		conn->deadline = kfp_now(conn) +
			msecs_to_jiffies(READ_ONCE(kfp_params(conn)->connect_timeout_ms));
	smp_store_release(&conn->state, state);	/* pairs with kfp_hello_continue() */
	kfp_hello_kick(conn);
}
