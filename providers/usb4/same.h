/* SPDX-License-Identifier: GPL-2.0 */
/*
 * same.h - which host is behind a cable, how the ends of a way are called, and whether a life goes
 * on: what this side has seen of a cable, what both sides say of themselves in their LOGINs, and
 * what follows from that.
 * Functions without state, which KUnit tests.
 *
 * A UUID is not what identifies a host: many host interfaces have another one after each boot, and
 * a machine may have several host interfaces. The name of the host and the places of the cable
 * stay.
 */
#ifndef _KFI_USB4_SAME_H
#define _KFI_USB4_SAME_H

#include "wire.h"

#define U4_HOST	44	/* bytes of the name of a host, with the last NUL */

/**
 * struct u4_held - a life that a host holds, see docs/wire-usb4.md
 * @own: incarnation of that host in the login with which the life began; 0: it holds none
 * @peer: the same of the other host
 * @next: number of the next frame that the host expects
 * @high: one more than the highest number that it has sent
 */
struct u4_held {
	u32	own, peer;
	u32	next, high;
};

/**
 * struct u4_said - what a host says in its LOGIN
 * @machine: see &u4w_msg.machine; 0: it has said nothing yet
 * @hardware: see &u4w_msg.hardware
 * @place: see &u4w_msg.place
 * @names: &enum u4w_names
 * @own: with names: that of the host that says so
 * @peer: with names: that of the other one
 * @held: the life that it holds
 */
struct u4_said {
	u64	machine;
	u64	hardware;
	u32	place;
	u32	names;
	u8	own[U4W_UUID];
	u8	peer[U4W_UUID];
	struct u4_held held;
};

/**
 * struct u4_seen - what is known of the other host and of the cable to it
 * @host: its name, as it says
 * @local: UUID of our host interface
 * @remote: UUID of its host interface
 * @here: our &u4_said.place
 * @said: what it has said
 */
struct u4_seen {
	char		host[U4_HOST];
	u8		local[U4W_UUID];
	u8		remote[U4W_UUID];
	u32		here;
	struct u4_said	said;
};

void u4_said_put(const struct u4_said *said, struct u4w_msg *msg);
void u4_said_get(const struct u4w_msg *msg, struct u4_said *said);

/*
 * May a cable lead to the host that an earlier one, @then, has led to? Return: 0: no; otherwise the
 * more, the more is as it was. A host that has booted has the same name, and no more need be the
 * same.
 */
unsigned int u4_same(const struct u4_seen *then, const struct u4_seen *now);

/**
 * u4_agree() - find the names of both ends
 * @seen: the cable, with what the other host has said in its LOGIN
 * @told: what this host has said in its own
 * @own: for our name
 * @peer: for that of the other host
 *
 * Both hosts come to the same result. The names that a way has on one side do not change, because
 * consumers have them; a host that has no such way takes them.
 *
 * Return: true if these are the names of @told.
 */
bool u4_agree(const struct u4_seen *seen, const struct u4_said *told, u8 *own, u8 *peer);

/**
 * u4_may_resume() - may the life that this host holds go on?
 * @told: what this host has said in its LOGIN
 * @said: what the other host has said in its own
 * @machine: &u4_said.machine of the other host when the life began
 * @una: number of the oldest frame that this host keeps
 * @window: frames that may be unacknowledged
 *
 * Both hosts come to the same result, unless one of them lies about its numbers.
 *
 * Return: NULL; or why the life ends.
 */
const char *u4_may_resume(const struct u4_said *told, const struct u4_said *said, u64 machine,
			  u32 una, u32 window);

#endif /* _KFI_USB4_SAME_H */
