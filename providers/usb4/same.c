// SPDX-License-Identifier: GPL-2.0
/*
 * same.c - is it the same host, and how are the ends of a way called? same.h describes this.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "same.h"

void u4_said_put(const struct u4_said *said, struct u4w_msg *msg)
{
	msg->machine[0] = upper_32_bits(said->machine);
	msg->machine[1] = lower_32_bits(said->machine);
	msg->hardware[0] = upper_32_bits(said->hardware);
	msg->hardware[1] = lower_32_bits(said->hardware);
	msg->place = said->place;
	msg->names = said->names;
	memcpy(msg->own, said->own, U4W_UUID);
	memcpy(msg->peer, said->peer, U4W_UUID);
	msg->held[0] = said->held.own;
	msg->held[1] = said->held.peer;
	msg->next = said->held.next;
	msg->high = said->held.high;
}

void u4_said_get(const struct u4w_msg *msg, struct u4_said *said)
{
	said->machine = (u64)msg->machine[0] << 32 | msg->machine[1];
	said->hardware = (u64)msg->hardware[0] << 32 | msg->hardware[1];
	said->place = msg->place;
	said->names = msg->names;
	memcpy(said->own, msg->own, U4W_UUID);
	memcpy(said->peer, msg->peer, U4W_UUID);
	said->held = (struct u4_held) {
		.own = msg->held[0], .peer = msg->held[1], .next = msg->next, .high = msg->high,
	};
}

/* The places count less than a UUID that is the same, and that of this side more than the other. */
unsigned int u4_same(const struct u4_seen *then, const struct u4_seen *now)
{
	bool interface = !memcmp(then->remote, now->remote, U4W_UUID);

	if (!interface && strcmp(then->host, now->host))
		return 0;
	if (then->said.hardware && now->said.hardware &&
	    then->said.hardware != now->said.hardware)
		return 0;	/* another machine of that name */
	return 1 + 8 * interface + 4 * (then->here == now->here) +
	       2 * (now->said.machine && then->said.place == now->said.place);
}

bool u4_agree(const struct u4_seen *seen, const struct u4_said *told, u8 *own, u8 *peer)
{
	const struct u4_said *said = &seen->said;

	if (!told->names && !said->names) {
		memcpy(own, seen->local, U4W_UUID);
		memcpy(peer, seen->remote, U4W_UUID);
		return false;
	}
	if (told->names > said->names ||
	    (told->names == said->names && memcmp(seen->local, seen->remote, U4W_UUID) < 0)) {
		memcpy(own, told->own, U4W_UUID);
		memcpy(peer, told->peer, U4W_UUID);
		return true;
	}
	memcpy(own, said->peer, U4W_UUID);
	memcpy(peer, said->own, U4W_UUID);
	return false;
}

const char *u4_may_resume(const struct u4_said *told, const struct u4_said *said, u64 machine,
			  u32 una, u32 window)
{
	const struct u4_held *ours = &told->held, *theirs = &said->held;

	if (said->machine != machine)
		return "the peer has begun anew";
	if (theirs->own != ours->peer || theirs->peer != ours->own)
		return "the peer does not hold the connections";
	if (theirs->next - una > ours->high - una)
		return "the peer expects frames that do not go on from what it has acknowledged";
	if (theirs->high - ours->next > window)
		return "the peer has sent frames that do not go on from what has arrived";
	return NULL;
}
