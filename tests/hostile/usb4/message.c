// SPDX-License-Identifier: GPL-2.0
/*
 * message.c - messages of the control channel. The peer sends whatever a case says, and replies to
 * the victim's logins as &hu.reply says.
 *
 * kfi_usb4 has a handler for the same protocol in the same kernel, and each handler is offered the
 * messages of both hosts. This one takes only messages from the victim's route to the UUID of
 * host b, and kfi_usb4 takes none of these, because it has no cable at host b.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/wordpart.h>
#include "hostile.h"

static const uuid_t hu_protocol =
	UUID_INIT(0x3b9f51c5, 0x0d5e, 0x4c0a, 0x9d, 0x52, 0x6b, 0x66, 0x61, 0x62, 0x72, 0x34);

struct u4w_msg hu_msg(struct hu *hu, enum u4w_msg_type type)
{
	const struct tb_xdomain *xd = hu->xd;
	struct u4w_msg msg = {
		.route_hi = upper_32_bits(xd->route), .route_lo = lower_32_bits(xd->route),
		.length_sn = (sizeof(msg) - U4W_MSG_HEAD) / 4, .type = type,
		.version = U4W_VERSION, .incarnation = READ_ONCE(hu->incarnation),
	};

	export_uuid(msg.proto, &hu_protocol);
	export_uuid(msg.from, xd->local_uuid);
	export_uuid(msg.to, xd->remote_uuid);
	if (type == U4W_LOGIN) {
		msg.hop = hu->out_hop;
		msg.window = hu->narrow ? HU_WINDOW / 2 : HU_WINDOW;
		u4_said_put(&hu->said, &msg);
	}
	return msg;
}

/* The core sends an "answer" to nothing as well, and does not wait. */
void hu_say(struct hu *hu, const struct u4w_msg *msg, size_t size)
{
	tb_xdomain_response(hu->xd, msg, size, TB_CFG_PKG_XDOMAIN_REQ);
}

int hu_ask(struct hu *hu, const struct u4w_msg *msg)
{
	unsigned int before = hu_get(hu, replies);

	hu_say(hu, msg, sizeof(*msg));
	return victim_until(hu_get(hu, replies) != before, HU_REPLY_MS) ? 0 : -ETIMEDOUT;
}

/* ---- the victim's messages, in a work item of the core ---- */

static void hu_reply(struct hu *hu, const struct u4w_msg *to)
{
	struct u4w_msg msg = hu_msg(hu, to->type + 1);
	enum hu_reply how = to->type == U4W_LOGIN ? READ_ONCE(hu->reply) : HU_HONEST;
	size_t size = sizeof(msg);

	switch (how) {
	case HU_NONE:
		return;
	case HU_TYPE:
		msg.type = U4W_LOGOUT_REPLY;
		break;
	case HU_ECHO:
		msg.type = U4W_LOGIN;
		break;
	case HU_FROM:
		msg.from[0] ^= 1;
		break;
	case HU_TO:
		msg.to[15] ^= 1;
		break;
	case HU_OTHER:
		msg.incarnation ^= 0x10000;
		break;
	case HU_ZERO:
		msg.incarnation = 0;
		break;
	case HU_STATUS:
		msg.status = ~0U;
		break;
	case HU_SHORT:
		size -= 4;
		msg.length_sn--;
		break;
	case HU_BUSY:
		msg.status = EBUSY;
		break;
	case HU_VERSION:
		msg.version++;
		break;
	default:
		break;
	}
	tb_xdomain_response(hu->xd, &msg, size, TB_CFG_PKG_XDOMAIN_RESP);
}

static void hu_login_in(struct hu *hu, const struct u4w_msg *msg)
{
	spin_lock(&hu->lock);
	if (hu->life && msg->incarnation != hu->life)
		hu->over = true;	/* the victim has begun anew */
	hu->theirs = msg->incarnation;
	hu->their_hop = msg->hop;
	hu->agreed = hu->reply == HU_HONEST;
	hu->logins++;
	spin_unlock(&hu->lock);
}

static void hu_logout_in(struct hu *hu, const struct u4w_msg *msg)
{
	spin_lock(&hu->lock);
	if (msg->incarnation == hu->life)
		hu->over = true;
	spin_unlock(&hu->lock);
}

/* &tb_protocol_handler.callback. Return: 1: the message was for this host */
static int hu_message(const void *buf, size_t size, void *data)
{
	const struct u4w_msg *msg = buf;
	struct hu *hu = data;
	u64 route;

	if (!hu->xd || u4w_check_msg(msg, size) == -EPROTO)
		return 0;
	route = (u64)(msg->route_hi & ~U4W_MSG_ROUTE_REPLY) << 32 | msg->route_lo;
	if (route != hu->xd->route || memcmp(msg->to, hu->xd->local_uuid, U4W_UUID))
		return 0;
	switch (msg->type) {
	case U4W_LOGIN:
		hu_login_in(hu, msg);
		hu_reply(hu, msg);
		break;
	case U4W_LOGOUT:
		hu_logout_in(hu, msg);
		hu_reply(hu, msg);
		break;
	default:
		spin_lock(&hu->lock);
		hu->answer = *msg;
		hu->replies++;
		spin_unlock(&hu->lock);
	}
	return 1;
}

static struct tb_protocol_handler hu_handler = {
	.uuid		= &hu_protocol,
	.callback	= hu_message,
};

int hu_messages_init(struct hu *hu)
{
	hu_handler.data = hu;
	return tb_register_protocol_handler(&hu_handler);
}

/* The core may call the handler until its work item has come to the end. */
void hu_messages_exit(struct hu *hu)
{
	tb_unregister_protocol_handler(&hu_handler);
	flush_work(&hu->xd->tb->nhi->rx_rings[0]->work);
}

/* ---- an honest login ---- */

void hu_reborn(struct hu *hu)
{
	spin_lock(&hu->lock);
	do
		hu->incarnation = get_random_u32();
	while (!hu->incarnation);
	hu->agreed = false;
	spin_unlock(&hu->lock);
}

static bool hu_agreed(struct hu *hu)
{
	bool agreed;

	spin_lock(&hu->lock);
	agreed = hu->agreed && hu->theirs == hu->answer.incarnation;
	spin_unlock(&hu->lock);
	return agreed;
}

/* The victim may have another life to end first, and replies EAGAIN then. */
int hu_login(struct hu *hu)
{
	unsigned long end = jiffies + msecs_to_jiffies(HU_WAIT_MS);
	struct u4w_msg msg;

	hu_reborn(hu);
	msg = hu_msg(hu, U4W_LOGIN);
	while (time_before(jiffies, end)) {
		if (!hu_ask(hu, &msg) && !hu_get(hu, answer).status &&
		    victim_until(hu_agreed(hu), 1000))
			return 0;
		msleep(20);
	}
	return -ETIMEDOUT;
}
