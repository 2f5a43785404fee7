// SPDX-License-Identifier: GPL-2.0
/*
 * logins.c - messages that are wrong, storms of messages, and peers that do nothing once they have
 * logged in.
 */
#include <linux/delay.h>
#include "hostile.h"

#define STORM		200U
#define WRONG_LOGINS	2U	/* kfi_usb4 publishes its properties again after five */

static bool goes_on(struct hu *hu, const char *what)
{
	if (!hu_get(hu, over) && hu_answers(hu))
		return true;
	pr_err("hostile: wrong: the life ends, or is stuck: %s\n", what);
	return false;
}

/* ---- messages that are ignored ---- */

#define IGNORED(what, member, value) \
	{ what, offsetof(struct u4w_msg, member), value, sizeof(struct u4w_msg) }

/**
 * struct ignored - a LOGIN with one word that is not right
 * @what: the word
 * @at: its place
 * @value: the word
 * @size: bytes of the message
 */
static const struct ignored {
	const char	*what;
	size_t		at;
	u32		value;
	size_t		size;
} ignored[] = {
	IGNORED("type 0", type, 0),
	IGNORED("type 5", type, 5),
	IGNORED("type ~0", type, ~0U),
	IGNORED("incarnation 0", incarnation, 0),
	IGNORED("HopID 0", hop, 0),
	IGNORED("a reserved HopID", hop, U4W_HOP_MIN - 1),
	IGNORED("a HopID that no path has", hop, U4W_HOP_MAX + 1),
	IGNORED("HopID -1", hop, ~0U),
	IGNORED("window 0", window, 0),
	IGNORED("a window too small", window, U4W_WINDOW_MIN - 1),
	IGNORED("a window too large", window, U4W_WINDOW_MAX + 1),
	IGNORED("window ~0", window, ~0U),
	IGNORED("status 1", status, 1),
	IGNORED("status ~0", status, ~0U),
	IGNORED("length 0", length_sn, 0),
	IGNORED("length 63", length_sn, 63),
	IGNORED("a length that is too small", length_sn, 35),
	IGNORED("names of no kind", names, U4W_NAMES_LATER + 1),
	IGNORED("names of no kind", names, ~0U),
	IGNORED("two names alike", names, U4W_NAMES_HAVE),
	IGNORED("half a life", held[0], 1),
	IGNORED("the other half", held[1], 1),
	IGNORED("a number without a life", next, 1),
	IGNORED("another one", high, ~0U),
	IGNORED("UUID of the protocol", proto, 0x12345678),
	IGNORED("UUID of the sender", from, 0x12345678),
	IGNORED("UUID of the receiver", to, 0x12345678),
	IGNORED("route, upper half", route_hi, 1),
	IGNORED("route, lower half", route_lo, 0x50505),
	{ "a word less", offsetof(struct u4w_msg, length_sn), 35, sizeof(struct u4w_msg) - 4 },
	{ "a word more", offsetof(struct u4w_msg, length_sn), 37, sizeof(struct u4w_msg) + 4 },
	{ "the beginning", offsetof(struct u4w_msg, length_sn), 5, U4W_MSG_HEAD + 5 * 4 },
};

static bool is_ignored(struct hu *hu, const struct u4w_msg *msg, size_t size, const char *what)
{
	unsigned int before = hu_get(hu, replies);

	hu_say(hu, msg, size);
	if (goes_on(hu, what) && hu_get(hu, replies) == before)
		return true;
	pr_err("hostile: wrong: a message is not ignored: %s\n", what);
	return false;
}

bool hu_ignored(struct hu *hu)
{
	struct {
		struct u4w_msg	msg;
		u32		more;
	} say = {};
	bool ok = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ignored); i++) {
		if (!hu_check(!hu_begin(hu), "no life begins"))
			return false;
		say.msg = hu_msg(hu, U4W_LOGIN);
		say.msg.incarnation ^= 1;
		*(u32 *)((u8 *)&say.msg + ignored[i].at) = ignored[i].value;
		ok &= is_ignored(hu, &say.msg, ignored[i].size, ignored[i].what);
	}
	say.msg = hu_msg(hu, U4W_LOGIN);
	say.msg.incarnation ^= 1;
	export_uuid(say.msg.from, hu->xd->remote_uuid);
	export_uuid(say.msg.to, hu->xd->local_uuid);
	ok &= is_ignored(hu, &say.msg, sizeof(say.msg), "the victim's own UUID");
	say.msg = hu_msg(hu, U4W_LOGOUT);
	say.msg.version++;
	return ok & is_ignored(hu, &say.msg, sizeof(say.msg), "a LOGOUT of another version");
}

/* ---- logins that are refused ---- */

bool hu_versions(struct hu *hu)
{
	static const u32 versions[] = { 0, U4W_VERSION - 1, U4W_VERSION + 1, ~0U };
	struct u4w_msg msg, reply;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		msg = hu_msg(hu, U4W_LOGIN);
		msg.version = versions[i];
		msg.incarnation ^= 1;
		/* Nothing behind the version is looked at. */
		msg.hop = ~0U;
		ok &= hu_check(!hu_ask(hu, &msg), "another version gets no reply");
		reply = hu_get(hu, answer);
		ok &= hu_check(reply.status == EPROTONOSUPPORT && reply.version == U4W_VERSION,
			       "another version gets a wrong reply");
	}
	/* A peer that speaks later versions, too, and has features that the victim does not have */
	msg = hu_msg(hu, U4W_LOGIN);
	msg.version = (U4W_VERSION + 2) | U4W_VERSION << 8 | 0xffffU << 16;
	ok &= hu_check(!hu_ask(hu, &msg), "a later version gets no reply");
	reply = hu_get(hu, answer);
	ok &= hu_check(reply.status != EPROTONOSUPPORT && reply.version == U4W_VERSION,
		       "a later version is refused");
	return ok & goes_on(hu, "another version");
}

/* Log in when the victim has no life. Return: the status of its reply, or ~0 */
static u32 login_status(struct hu *hu, u32 hop)
{
	unsigned int tries;
	struct u4w_msg msg;

	for (tries = 0; tries < 50; tries++) {
		hu_reborn(hu);
		msg = hu_msg(hu, U4W_LOGIN);
		msg.hop = hop;
		if (!hu_ask(hu, &msg) && hu_get(hu, answer).status != EAGAIN)
			return hu_get(hu, answer).status;
		msleep(20);
	}
	return ~0U;
}

/*
 * The mock has the HopIDs 8 to 15, so all others are "in use". No life begins, as HU_BUSY refuses.
 */
bool hu_hops(struct hu *hu)
{
	bool ok = true;
	u32 hop;

	hu_end(hu);
	hu_set(hu, reply, HU_BUSY);
	for (hop = 16; hop <= U4W_HOP_MAX; hop += 677)
		ok &= hu_check(login_status(hu, hop) == EBUSY, "a HopID in use is accepted");
	for (hop = U4W_HOP_MIN; hop < 16; hop++)
		ok &= hu_check(!login_status(hu, hop), "a HopID is kept");
	for (hop = 15; hop >= U4W_HOP_MIN; hop--)
		ok &= hu_check(!login_status(hu, hop), "a HopID is kept");
	return ok;
}

/* ---- storms ---- */

/* A new incarnation in each LOGIN ends a life, or makes the last one invalid. */
bool hu_incarnations(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	struct u4w_msg msg;
	unsigned int i, n = 0;

	for (i = 0; i < STORM; i++) {
		hu_reborn(hu);
		msg = hu_msg(hu, U4W_LOGIN);
		n += !hu_ask(hu, &msg);
	}
	return hu_check(n == STORM, "a LOGIN gets no reply") &
	       hu_bounded(before, HU_FLOOD, "incarnations");
}

bool hu_logouts(struct hu *hu)
{
	struct u4w_msg msg = hu_msg(hu, U4W_LOGOUT);
	unsigned long before = hu_mem_free();
	unsigned int i;
	bool ok = true;

	for (i = 0; i < STORM && ok; i++) {
		msg.incarnation = READ_ONCE(hu->incarnation) + 1 + i;
		ok = hu_check(!hu_ask(hu, &msg), "a foreign LOGOUT gets no reply");
	}
	ok &= goes_on(hu, "foreign LOGOUTs");
	msg.incarnation = READ_ONCE(hu->incarnation);
	for (i = 0; i < STORM; i++)
		hu_say(hu, &msg, sizeof(msg));
	hu_rings_stop(hu);
	for (i = 0; i < STORM / 10 && ok; i++) {
		ok = hu_check(!hu_begin(hu), "no life begins");
		hu_end(hu);
	}
	return ok & hu_bounded(before, HU_FLOOD, "LOGOUTs");
}

/* ---- replies ---- */

/*
 * The victim logs in and gets a reply that it must not accept, so no life begins: it would reply
 * EAGAIN to a LOGIN with another incarnation.
 */
static bool reply_once(struct hu *hu, enum hu_reply how)
{
	struct u4w_msg msg;
	unsigned int before;

	if (!hu_check(!hu_begin(hu), "no life begins"))
		return false;
	hu_set(hu, reply, how);
	hu_end(hu);
	if (!hu_check(!login_status(hu, hu->out_hop), "a LOGIN is refused"))
		return false;
	before = hu_get(hu, logins);
	victim_until(hu_get(hu, logins) - before >= WRONG_LOGINS, HU_WAIT_MS);
	hu_reborn(hu);
	msg = hu_msg(hu, U4W_LOGIN);
	return hu_check(hu_get(hu, logins) != before, "the victim does not log in again") &
	       hu_check(!hu_ask(hu, &msg) && !hu_get(hu, answer).status,
			"a wrong reply is accepted");
}

bool hu_replies(struct hu *hu)
{
	enum hu_reply how;
	bool ok = true, right;

	for (how = HU_NONE; how < HU_REPLIES; how++) {
		right = reply_once(hu, how);
		hu_set(hu, reply, HU_HONEST);
		if (!right)
			pr_err("hostile: reply %u\n", how);
		ok &= right;
	}
	return ok;
}

/* Replies to nothing, in a life and while the victim logs in */
bool hu_unasked(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	struct u4w_msg msg;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < 2 * STORM; i++) {
		if (i == STORM) {
			ok = goes_on(hu, "replies to nothing");
			hu_end(hu);
		}
		msg = hu_msg(hu, i & 1 ? U4W_LOGIN_REPLY : U4W_LOGOUT_REPLY);
		msg.incarnation = prandom_u32_state(&hu->rnd) | 1;
		tb_xdomain_response(hu->xd, &msg, sizeof(msg), TB_CFG_PKG_XDOMAIN_RESP);
	}
	msleep(1000);
	return ok & hu_bounded(before, HU_FLOOD, "replies to nothing");
}

/* ---- names ---- */

/* It has not said yet which names it has: the victim has to wait, and begins no life. */
static bool names_later(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	struct u4w_msg msg;
	unsigned int i;
	bool ok = true;

	hu_end(hu);
	hu->said.names = U4W_NAMES_LATER;
	for (i = 0; i < STORM && ok; i++) {
		hu_reborn(hu);
		hu->said.machine = 1 + (i & 1);
		msg = hu_msg(hu, U4W_LOGIN);
		ok = hu_check(!hu_ask(hu, &msg) && hu_get(hu, answer).status == EAGAIN,
			      "a LOGIN without names is accepted");
	}
	return ok & hu_bounded(before, HU_FLOOD, "LOGINs without names");
}

/*
 * Whatever names a peer gives itself and the victim, and however often it is another machine, lives
 * begin, and the ways that it has left go.
 */
bool hu_names(struct hu *hu)
{
	bool ok = names_later(hu);
	unsigned long before;
	unsigned int i, seed;

	before = hu_mem_free();
	for (i = 0; i < 48 && ok; i++) {
		hu_end(hu);
		seed = prandom_u32_state(&hu->rnd);
		hu->said = (struct u4_said) {
			.machine = 1 + seed % 3, .hardware = seed / 4 % 3, .place = seed,
			.names = i % 3,
		};
		prandom_bytes_state(&hu->rnd, hu->said.own, U4W_UUID);
		if (i & 4)
			export_uuid(hu->said.own, hu->xd->remote_uuid);
		if (i & 8)
			export_uuid(hu->said.peer, hu->xd->local_uuid);
		ok = hu_check(!hu_begin(hu), "no life begins") &&
		     hu_check(hu_answers(hu), "a call is not answered");
	}
	return ok & hu_bounded(before, HU_FLOOD, "names");
}

/* ---- lives that are held ---- */

/* What an honest peer says of the life, after hu_call() */
static struct u4_held honest(struct hu *hu)
{
	struct u4_held held;

	spin_lock(&hu->lock);
	held = (struct u4_held) {
		.own = hu->born_own, .peer = hu->born_peer, .next = hu->told, .high = hu->seq,
	};
	spin_unlock(&hu->lock);
	return held;
}

/* Return: the life goes on, as the victim's acknowledgement shows */
static bool resumes(struct hu *hu, const struct u4_held *held)
{
	return !hu_resume(hu, held, true) && victim_until(hu_get(hu, acked) == held->high, 1000);
}

/* A frame that an earlier path has carried */
static bool stale(struct hu *hu, u32 life)
{
	struct u4w_frame f;

	hu->content.len = 0;
	hu_add_call(hu, hu_number(hu), HU_PORT_NOBODY, KFI_MUX_WINDOW_MIN);
	f = hu_header(hu, hu->content.len);
	f.life = life;
	return hu_check(!hu_framed(hu, &f, hu->content.bytes, hu->content.len),
			"no frame is sent") &&
	       hu_check(!victim_until(hu_get(hu, acked) != f.seq, 200),
			"a frame of an earlier path is taken");
}

/* The numbers go on as often as both hosts log in anew. */
bool hu_resumes(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	struct u4_held held;
	unsigned int i;
	bool ok = true;
	u32 life;

	for (i = 0; i < 10 && ok; i++) {
		life = hu_get(hu, life);
		msleep(HU_UP_MS);
		ok = hu_check(hu_answers(hu), "a call is not answered");
		held = honest(hu);
		ok = ok && hu_check(resumes(hu, &held), "a life does not go on") && stale(hu, life);
	}
	return ok && hu_check(hu_answers(hu), "a call is not answered") &&
	       hu_bounded(before, HU_FLOOD, "lives that go on");
}

/* Whatever is wrong with what it holds, a new life begins with the same login. */
bool hu_lies(struct hu *hu)
{
	static const struct {
		const char	*what;
		struct u4_held	lie;		/* added to what is true */
		u32		machine, window;
	} lies[] = {
		{ "its incarnation", { .own = 1 }, },
		{ "the victim's incarnation", { .peer = 1 }, },
		{ "it expects too much", { .next = 1 }, },
		{ "it expects far too much", { .next = 1U << 31 }, },
		{ "it expects what it has acknowledged", { .next = -1U }, },
		{ "it has sent too little", { .high = -1U }, },
		{ "it has sent too much", { .high = HU_WINDOW + 1 }, },
		{ "it has sent far too much", { .high = 1U << 31 }, },
		{ "another machine", { }, .machine = 1 },
		{ "another window", { }, .window = 1 },
	};
	struct u4_held held;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(lies) && ok; i++) {
		ok = hu_check(hu_answers(hu), "a call is not answered");
		msleep(50);	/* the victim knows what we have */
		held = honest(hu);
		held.own += lies[i].lie.own;
		held.peer += lies[i].lie.peer;
		held.next += lies[i].lie.next;
		held.high += lies[i].lie.high;
		hu->said.machine = 1 + lies[i].machine;
		hu->narrow = lies[i].window;
		ok = ok && hu_check(!hu_resume(hu, &held, false), "no life begins") &&
		     hu_check(hu_answers(hu), "a call is not answered in a new life");
		if (!ok)
			pr_err("hostile: lie: %s\n", lies[i].what);
		hu->said.machine = 1;
		hu->narrow = false;
		hu_end(hu);
		ok = ok && hu_check(!hu_begin(hu), "no life begins");
	}
	return ok;
}

/*
 * A peer that comes back again and again gains no time by that, if it stays for a moment, or
 * acknowledges nothing while it stays.
 */
static bool returns(struct hu *hu, bool mute)
{
	struct u4_held held;
	unsigned int times = 0;

	if (!hu_check(!hu_begin(hu), "no life begins"))
		return false;
	hu_set(hu, mute, mute);
	if (!hu_check(hu_call(hu, HU_PORT_NOBODY), "a call is not answered"))
		return false;
	if (!mute)
		msleep(50);	/* the victim knows what we have */
	held = honest(hu);
	while (times < 40 && resumes(hu, &held)) {
		times++;
		if (mute)
			msleep(HU_UP_MS);
		hu_state(hu, 0);
		msleep(20);	/* it arrives */
	}
	pr_info("hostile: a life went on %u times\n", times);
	return hu_check(times >= 2, "a life does not go on") &
	       hu_check(times < 40, "it has as much time as it wants");
}

bool hu_returns(struct hu *hu)
{
	bool ok = returns(hu, true);

	hu_end(hu);
	return ok & returns(hu, false);
}

/*
 * A peer that turns into another machine, on the same cable, gets another way. The life that the
 * first one holds, for an endpoint that stays there, takes nothing from the second one.
 */
bool hu_turns(struct hu *hu)
{
	const struct victim_attr attr = { .provider = "usb4", .buf_len = 64, .cq_size = 16 };
	struct victim victim = {};
	struct u4_held held;
	bool ok;

	hu_end(hu);
	hu->said.hardware = 1;
	if (!hu_check(!hu_begin(hu), "no life begins") ||
	    !hu_check(!victim_open(&victim, &attr), "no endpoint"))
		return false;
	ok = hu_check(hu_answers(hu), "a call is not answered");
	held = honest(hu);
	hu->said.hardware = 2;
	hu_resume(hu, &held, false);	/* the victim may log in once more */
	ok = ok && hu_check(!hu_begin(hu), "no life begins") &&
	     hu_check(hu_answers(hu), "a call is not answered in another way");
	msleep((HU_HOLD_S + 1) * 1000);
	ok = ok && goes_on(hu, "the first life is over");
	victim_close(&victim);
	return ok;
}

/* ---- peers that do nothing ---- */

/* Return: the victim has ended the life between @from and @to seconds after @begin */
static bool ended_in(struct hu *hu, unsigned long begin, unsigned int from, unsigned int to)
{
	bool ok = hu_check(hu_ends(hu, 3 * to * 1000), "the life goes on");

	return ok & hu_check(time_after(jiffies, begin + from * HZ), "it ends too early") &
	       hu_check(time_before(jiffies, begin + to * HZ), "it ends too late");
}

bool hu_silent(struct hu *hu)
{
	hu_set(hu, mute, true);
	return ended_in(hu, jiffies, HU_TIMEOUT_S - 1, HU_TIMEOUT_S + 2);
}

/*
 * The ring has no frames posted, so the victim's frames wait in its own. The peer sends, and claims
 * to have heard the victim; it can't find out which of its frames was the first to be taken.
 */
bool hu_deaf(struct hu *hu)
{
	unsigned long before, begin;
	struct u4w_frame f;
	int ret;
	u32 seq;

	hu_end(hu);
	before = hu_mem_free();
	ret = hu_login(hu) ?: hu_rings_start(hu, 0);
	if (!hu_check(!ret, "no life begins"))
		return false;
	hu->content.len = 0;
	while (hu->content.len < U4W_CONTENT - 64)
		hu_add_call(hu, hu_number(hu), HU_PORT_NOBODY, KFI_MUX_WINDOW_MIN);
	begin = jiffies;
	while (!hu_ends(hu, 100) && time_before(jiffies, begin + 3 * HU_TIMEOUT_S * HZ)) {
		f = hu_header(hu, hu->content.len);
		for (seq = 0; seq < 4; seq++) {
			f.seq = seq;
			hu_framed(hu, &f, hu->content.bytes, hu->content.len);
		}
	}
	return ended_in(hu, begin, HU_TIMEOUT_S - 1, HU_TIMEOUT_S + 3) &
	       hu_bounded(before, HU_FLOOD, "frames that are not read");
}

/* The victim gives up after three seconds, and tries again. */
bool hu_ringless(struct hu *hu)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < 3 && ok; i++) {
		hu_end(hu);
		ok = hu_check(!hu_login(hu), "a LOGIN fails");
		spin_lock(&hu->lock);
		hu->life = hu->theirs;
		hu->over = false;
		spin_unlock(&hu->lock);
		ok = ok && ended_in(hu, jiffies, 2, 5);
	}
	return ok;
}
