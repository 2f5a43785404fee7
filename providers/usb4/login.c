// SPDX-License-Identifier: GPL-2.0
/*
 * login.c - messages between the hosts: LOGIN, which tells incarnation, HopID and window, and
 * LOGOUT.
 *
 * u4_cable_work() sends them, and waits for the replies. u4_message() receives those of the peer.
 * The core calls it in the work item that receives replies as well, so it must not wait for
 * anything that waits for a reply: nothing does under &u4_cable.login_lock.
 *
 * The core takes the next answer with our protocol's UUID for the reply, or a packet that reports
 * an error, so each reply is checked as if it came from anywhere.
 *
 * When a cable was removed the core ends, too. So no request begins then, and u4_remove() waits for
 * the last one, by &u4_cable.ask_lock.
 */
#include <linux/random.h>
#include "usb4.h"

#define U4_REPLY_MS	500

static const uuid_t u4_protocol =
	UUID_INIT(0x3b9f51c5, 0x0d5e, 0x4c0a, 0x9d, 0x52, 0x6b, 0x66, 0x61, 0x62, 0x72, 0x34);

/* ---- both directions ---- */

static void u4_msg_fill(struct u4_cable *c, enum u4w_msg_type type, struct u4w_msg *msg)
{
	const struct tb_xdomain *xd = c->xd;

	*msg = (struct u4w_msg) {
		.route_hi = upper_32_bits(xd->route), .route_lo = lower_32_bits(xd->route),
		.length_sn = (sizeof(*msg) - U4W_MSG_HEAD) / 4 |
			     (c->sn & 3) << U4W_MSG_SN_SHIFT,
		.type = type, .version = u4w_version_word(), .incarnation = c->incarnation,
	};
	export_uuid(msg->proto, &u4_protocol);
	export_uuid(msg->from, xd->local_uuid);
	export_uuid(msg->to, xd->remote_uuid);
}

/* Send a request. Return: 0: @reply is valid; -EPROTO, or the core's error */
static int u4_msg_ask(struct u4_cable *c, struct u4w_msg *msg, struct u4w_msg *reply)
{
	int ret;

	*reply = (struct u4w_msg) {};
	mutex_lock(&c->ask_lock);
	ret = -ENODEV;
	if (!READ_ONCE(c->gone))
		ret = tb_xdomain_request(c->xd, msg, sizeof(*msg), TB_CFG_PKG_XDOMAIN_REQ, reply,
					 sizeof(*reply), TB_CFG_PKG_XDOMAIN_RESP, U4_REPLY_MS);
	mutex_unlock(&c->ask_lock);
	if (ret)
		return ret;
	if ((reply->length_sn ^ msg->length_sn) >> U4W_MSG_SN_SHIFT & 3)
		return -EPROTO;		/* to an earlier request */
	if (memcmp(reply->proto, msg->proto, U4W_UUID) || memcmp(reply->from, msg->to, U4W_UUID) ||
	    memcmp(reply->to, msg->from, U4W_UUID))
		return -EPROTO;
	ret = u4w_check_msg(reply, sizeof(*reply));
	return ret ?: reply->type == msg->type + 1 ? 0 : -EPROTO;
}

/* ---- our login ---- */

/* The peer uses our HopID for something else: take another one. */
static void u4_login_next_hop(struct u4_cable *c)
{
	int old = c->out_hop;

	c->out_hop = -1;
	if (old >= 0)
		c->out_hop = tb_xdomain_alloc_out_hopid(c->xd, old + 1);
	if (c->out_hop < 0)
		c->out_hop = tb_xdomain_alloc_out_hopid(c->xd, -1);
	if (old >= 0)
		tb_xdomain_release_out_hopid(c->xd, old);
}

/*
 * Choose what our LOGINs of this incarnation say. A name that we have is told to the host alone
 * that had it, as far as that can be seen: so that host has to say first what it is.
 */
static int u4_login_tell(struct u4_cable *c)
{
	struct u4_said told;
	bool known;		/* when the names were chosen */
	int ret = 0;

	mutex_lock(&c->login_lock);
	known = c->said_by.machine;
	mutex_unlock(&c->login_lock);
	if (!c->telling)
		ret = u4_way_guess(c, &told);
	if (c->telling || ret)
		return ret;
	mutex_lock(&c->login_lock);
	c->telling = told.names != U4W_NAMES_WAIT || known;
	if (!c->telling) {
		told.names = U4W_NAMES_LATER;
		told.held = (struct u4_held) {};
	}
	c->told = told;
	mutex_unlock(&c->login_lock);
	return 0;
}

/* Have the log and "kfi show" name a host without a version in common. @ok: there is one */
static void u4_versions_heard(struct u4_cable *c, const struct u4w_msg *msg, bool ok)
{
	struct kfi_versions theirs = u4w_versions(msg);
	char peer[U4_HOST + sizeof(c->where) + sizeof(" at ")];
	size_t len;

	WRITE_ONCE(c->foreign, !ok);
	if (ok && !kfi_wire_any_refused())
		return;
	u4_host_name(c, peer, U4_HOST);
	len = strlen(peer);
	snprintf(peer + len, sizeof(peer) - len, " at %s", c->where);
	if (ok)
		kfi_wire_met(&init_net, &u4_wire, peer);
	else
		kfi_wire_refused(&init_net, &u4_wire, peer, &theirs);
}

static int u4_login_send(struct u4_cable *c)
{
	struct u4w_msg msg, reply;
	int ret;

	ret = u4_login_tell(c);
	if (ret)
		return ret;
	mutex_lock(&c->login_lock);
	if (c->out_hop < 0)
		u4_login_next_hop(c);
	c->sn++;
	u4_msg_fill(c, U4W_LOGIN, &msg);
	u4_said_put(&c->told, &msg);
	msg.hop = c->out_hop;
	msg.window = U4_FRAMES;
	mutex_unlock(&c->login_lock);
	if (c->out_hop < 0)
		return -EAGAIN;
	ret = u4_msg_ask(c, &msg, &reply);
	c->tries = ret == -ETIMEDOUT ? c->tries + 1 : 0;
	if (ret == -ETIMEDOUT)
		WRITE_ONCE(c->foreign, false);
	else if (reply.type == U4W_LOGIN_REPLY && (!ret || ret == -EPROTONOSUPPORT))
		u4_versions_heard(c, &reply, !ret);
	mutex_lock(&c->login_lock);
	if (!ret && reply.status == EBUSY)
		u4_login_next_hop(c);
	else if (!ret && !reply.status && c->telling)
		c->replied = reply.incarnation;
	mutex_unlock(&c->login_lock);
	return ret;
}

int u4_login(struct u4_cable *c)
{
	struct u4_said said;
	u32 theirs, window;
	bool begins;
	int ret;

	if (!c->replied || c->replied != READ_ONCE(c->theirs))
		u4_login_send(c);
	mutex_lock(&c->login_lock);
	theirs = c->theirs;
	window = min_t(u32, c->their_window, U4_FRAMES);
	said = c->said_by;
	mutex_unlock(&c->login_lock);
	if (!c->replied || c->replied != theirs || READ_ONCE(c->gone))
		return -EAGAIN;
	ret = u4_way_join(c, &c->told, &said);
	if (ret == -ESTALE)
		u4_login_reset(c);
	if (ret)
		return ret == -ESTALE ? -EAGAIN : ret;
	mutex_lock(&c->login_lock);
	begins = c->theirs == theirs;
	c->begun = begins;
	mutex_unlock(&c->login_lock);
	if (!begins)
		return -EAGAIN;
	if (u4_hold_agree(c, &c->told, &said, window)) {
		u4_login_reset(c);
		return -EAGAIN;
	}
	c->machine = said.machine;
	c->tx.life = theirs;
	c->tx.window = window;
	c->rx.window = window;
	return 0;
}

void u4_login_reset(struct u4_cable *c)
{
	mutex_lock(&c->login_lock);
	do
		WRITE_ONCE(c->incarnation, get_random_u32());
	while (!c->incarnation);
	c->replied = 0;
	c->theirs = 0;
	c->begun = false;
	c->telling = false;
	WRITE_ONCE(c->over, false);
	WRITE_ONCE(c->lost, NULL);
	mutex_unlock(&c->login_lock);
}

void u4_logout(struct u4_cable *c)
{
	struct u4w_msg msg, reply;

	mutex_lock(&c->login_lock);
	c->sn++;
	u4_msg_fill(c, U4W_LOGOUT, &msg);
	mutex_unlock(&c->login_lock);
	u4_msg_ask(c, &msg, &reply);	/* the peer learns it in another way, too, but later */
}

void u4_login_free(struct u4_cable *c)
{
	mutex_lock(&c->login_lock);
	if (c->in_hop >= 0)
		tb_xdomain_release_in_hopid(c->xd, c->in_hop);
	if (c->out_hop >= 0)
		tb_xdomain_release_out_hopid(c->xd, c->out_hop);
	c->in_hop = -1;
	c->out_hop = -1;
	mutex_unlock(&c->login_lock);
}

/* ---- the peer's ---- */

/* Reserve the HopID on which the peer sends. Return: false: it is in use */
static bool u4_login_in_hop(struct u4_cable *c, int hop)
{
	if (c->in_hop == hop)
		return true;
	if (c->in_hop >= 0)
		tb_xdomain_release_in_hopid(c->xd, c->in_hop);
	c->in_hop = tb_xdomain_alloc_in_hopid(c->xd, hop);
	if (c->in_hop == hop)
		return true;
	if (c->in_hop >= 0)
		tb_xdomain_release_in_hopid(c->xd, c->in_hop);	/* the next free one */
	c->in_hop = -1;
	return false;
}

/* Return: the status of the reply, a positive errno or 0 */
static u32 u4_login_in(struct u4_cable *c, const struct u4w_msg *msg)
{
	struct u4_said said;

	if (READ_ONCE(c->gone))
		return EAGAIN;
	if (c->begun && msg->incarnation == c->theirs)
		return 0;		/* it has not got our reply */
	if (c->begun) {
		WRITE_ONCE(c->over, true);
		u4_cable_lost(c, "the peer logs in anew");
		return EAGAIN;
	}
	u4_said_get(msg, &said);
	if (c->theirs != msg->incarnation || c->said_by.machine != said.machine)
		u4_cable_kick(c);
	c->said_by = said;
	if (said.names == U4W_NAMES_LATER) {
		WRITE_ONCE(c->theirs, 0);
		return EAGAIN;
	}
	if (!u4_login_in_hop(c, msg->hop))
		return EBUSY;
	WRITE_ONCE(c->theirs, msg->incarnation);
	c->their_window = msg->window;
	return 0;
}

static void u4_logout_in(struct u4_cable *c, const struct u4w_msg *msg)
{
	if (msg->incarnation != c->theirs)
		return;
	if (c->begun) {
		WRITE_ONCE(c->over, true);
		u4_cable_fault(c, "the peer has logged out");
	} else {
		WRITE_ONCE(c->theirs, 0);
	}
}

static void u4_message_handle(struct u4_cable *c, const struct u4w_msg *msg, bool version_ok)
{
	struct u4w_msg reply;

	WRITE_ONCE(c->foreign, !version_ok);
	mutex_lock(&c->login_lock);
	u4_msg_fill(c, msg->type + 1, &reply);
	reply.length_sn = (reply.length_sn & U4W_MSG_LENGTH) |
			  (msg->length_sn & ~U4W_MSG_LENGTH);
	if (!version_ok)
		reply.status = EPROTONOSUPPORT;
	else if (msg->type == U4W_LOGIN)
		reply.status = u4_login_in(c, msg);
	else
		u4_logout_in(c, msg);
	mutex_unlock(&c->login_lock);
	tb_xdomain_response(c->xd, &reply, sizeof(reply), TB_CFG_PKG_XDOMAIN_RESP);
}

/* &tb_protocol_handler.callback. Return: 1: the message was ours */
static int u4_message(const void *buf, size_t size, void *data)
{
	const struct u4w_msg *msg = buf;
	struct u4_cable *c;
	u64 route;
	int ret;

	ret = u4w_check_msg(msg, size);
	if (ret == -EPROTO || (msg->type != U4W_LOGIN && msg->type != U4W_LOGOUT))
		return 0;
	route = (u64)(msg->route_hi & ~U4W_MSG_ROUTE_REPLY) << 32 | msg->route_lo;
	c = u4_cable_find(route, msg->to, msg->from);
	if (!c)
		return 0;
	u4_message_handle(c, msg, !ret);
	u4_cable_put(c);
	return 1;
}

static struct tb_protocol_handler u4_handler = {
	.uuid		= &u4_protocol,
	.callback	= u4_message,
};

/* The core refuses nothing but a handler without a UUID or a callback. */
void u4_login_init(void)
{
	WARN_ON(tb_register_protocol_handler(&u4_handler));
}

void u4_login_exit(void)
{
	tb_unregister_protocol_handler(&u4_handler);
}
