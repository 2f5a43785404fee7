// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - what the peer does, and how kfi_ntb must behave meanwhile. The suite loads kfi_ntb with
 * backlog=32, from which most of the bounds follow.
 */
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <kfi_domain.h>
#include "../../mock/command.h"
#include "hostile.h"

#define PORT_NOBODY	0x7ffffff0U	/* no endpoint listens there */
#define NUMBER_NOBODY	0x7ffffff1U	/* no connection has it soon */
#define BACKLOG		32U
#define MANY		6000U
#define MIB		(1024UL * 1024)
#define FLAPS		4
#define CHANNELS	8	/* of the engine */
#define VICTIM_KEY	"a key that no peer has"

bool hp_check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

static unsigned long mem_free(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram * PAGE_SIZE;
}

/* Return how many bytes of memory are used that were free before. */
static unsigned long mem_used(unsigned long before)
{
	unsigned long now = mem_free();

	return before > now ? before - now : 0;
}

int hp_victim(struct victim *v, size_t len, bool key)
{
	struct victim_attr attr = {
		.provider = "ntb", .auth = key ? VICTIM_KEY : NULL, .buf_len = len,
		.cq_size = VICTIM_CQ, .txcq_size = 256,
	};

	return victim_open(v, &attr);
}

int hp_victim_sends(struct hp *hp, struct victim *v)
{
	struct ntw_addr us = { cpu_to_le32(ntb_port_number(hp->ntb)), cpu_to_le32(HP_PORT) };

	return victim_send(v, &us);
}

static u32 victim_port(const struct victim *v)
{
	return le32_to_cpu(((const struct ntw_addr *)v->name)->port);
}

/* Call from our port @from. Return: our number of the connection, 0: the call could not be sent */
static u32 calls(struct hp *hp, const struct victim *v, u32 from, u32 copies)
{
	u32 number = hp_number(hp);

	return hp_send_call(hp, number, HP_PORT + from, v ? victim_port(v) : PORT_NOBODY,
			    copies) ?
	       0 : number;
}

u32 hp_call(struct hp *hp, const struct victim *v, u32 from)
{
	return calls(hp, v, from, 1);
}

/*
 * Call, wait for the ANSWER, and follow the connection. Return: our number of the connection, 0: no
 * answer
 */
u32 hp_answered(struct hp *hp, const struct victim *v, u32 from)
{
	u32 number = hp_call(hp, v, from);

	hp_follow(hp, number);
	if (!hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_ANSWER), HP_WAIT_MS),
		      "the victim does not answer"))
		return 0;
	return hp_check(hp_received(hp, number).from, "the victim refuses us") ? number : 0;
}

/*
 * Connect to a victim without a key. Return: our number of the connection, 0: it was not accepted
 */
u32 hp_accepted(struct hp *hp, const struct victim *v)
{
	u32 number = hp_answered(hp, v, 0);

	if (!number || !hp_check(!hp_send_hello(hp, number, 1, false), "the link has gone"))
		return 0;
	if (!hp_check(hp_wait(hp, number, HP_HELLO(KFW_ACCEPT), HP_WAIT_MS),
		      "the victim does not accept us"))
		return 0;
	return number;
}

/*
 * Call a victim that has a key, and wait for its challenge. Return: our number of the connection,
 * 0: no challenge
 */
static u32 challenged(struct hp *hp, const struct victim *v, u32 from)
{
	u32 number = hp_answered(hp, v, from);

	if (!number || !hp_check(!hp_send_hello(hp, number, 1, true), "the link has gone"))
		return 0;
	if (!hp_check(hp_wait(hp, number, HP_HELLO(KFW_CHALLENGE), HP_WAIT_MS),
		      "the victim asks for no proof"))
		return 0;
	return number;
}

/* kfi_ntb still answers, and has nothing else to send. */
bool hp_answers(struct hp *hp)
{
	unsigned int i;
	u32 number;

	for (i = 0; i < 100 && !hp_wait_up(hp); i++) {
		number = hp_call(hp, NULL, 0);
		if (number && hp_wait(hp, number, HP_RECEIVED(KMW_ANSWER), HP_WAIT_MS / 100))
			return true;
	}
	return hp_check(false, "it does not answer any more");
}

/* ---- records for unknown ports and connections ---- */

static bool unknown_numbers(struct hp *hp, struct victim *none)
{
	u32 number = hp_call(hp, NULL, 0);
	bool ok;

	ok = hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_ANSWER), HP_WAIT_MS),
		      "a call of a port without listener is not answered");
	ok &= hp_check(hp_received(hp, number).status == ECONNREFUSED,
		       "the answer is not ECONNREFUSED");
	number = hp_number(hp);
	hp_send_answer(hp, NUMBER_NOBODY, number);
	return ok & hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_CLOSE), HP_WAIT_MS),
			     "an ANSWER to no call is not answered by CLOSE");
}

/* The memory of answers that the peer does not take is bounded. */
static bool unread_answers(struct hp *hp, struct victim *none)
{
	unsigned long before, used;
	unsigned int i;
	int ret = 0;

	hp_set(hp, deaf, ~0U);
	before = mem_free();
	for (i = 0; i < MANY / 2 && !ret; i++)
		ret = hp_send_answer(hp, NUMBER_NOBODY + i % 8, 1);
	for (i = 0; i < MANY / 2 && !ret; i++)
		ret = hp_call(hp, NULL, i) ? 0 : -EIO;
	ret = ret ?: hp_wait_taken(hp);
	used = mem_used(before);
	hp_set(hp, deaf, 0);
	pr_info("hostile: %lu KiB for answers that the peer does not read\n", used / 1024);
	return hp_check(!ret, "records are not handled") &
	       hp_check(used < 3 * MIB, "each answer takes memory");
}

/* ---- calls ---- */

/* As many callers as the backlog permits, without a proof of the key. */
static bool unproven(struct hp *hp, struct victim *v)
{
	unsigned long before = mem_free(), used;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < BACKLOG && ok; i++)
		ok = challenged(hp, v, i);
	used = mem_used(before);
	pr_info("hostile: %lu KiB for callers without proof\n", used / 1024);
	return ok & hp_check(used < BACKLOG * MIB / 4,
			     "callers without proof have the memory of a connection");
}

/* An endpoint is closed while the peer calls without pause. */
static bool flood(struct hp *hp, struct victim *v)
{
	unsigned long end = jiffies + msecs_to_jiffies(HP_WAIT_MS);
	u32 n = 0;
	bool ok;

	while (n++ < MANY / BACKLOG)
		calls(hp, v, 0, BACKLOG);
	if (!hp_check(!victim_close_begin(v), "no thread"))
		return false;
	while (!READ_ONCE(v->closed) && time_before(jiffies, end)) {
		calls(hp, v, 0, BACKLOG);
		n++;
		cond_resched();
	}
	ok = hp_check(READ_ONCE(v->closed), "an endpoint can't be closed while the peer calls");
	victim_close_end(v);
	pr_info("hostile: closed after %u calls\n", n * BACKLOG);
	return ok;
}

/* ---- connections ---- */

/*
 * A stream that breaks the rules ends the connection, and nothing else. The cases: missing bytes,
 * more bytes than the window has room for, a limit that is lowered, unknown bits.
 */
static bool stream_once(struct hp *hp, struct victim *v, unsigned int kind)
{
	u32 number = hp_accepted(hp, v), life = hp->own_id;
	u64 sent = hp->stream.sent;
	unsigned int i;
	bool ok;
	int ret = 0;

	if (!number)
		return false;
	switch (kind) {
	case 0:
		ret = hp_send_data(hp, number, sent + sizeof(struct kfw_hdr), 0, 0,
				   sizeof(struct kfw_hdr));
		break;
	case 1:		/* frames without content, which the victim does not read at once */
		for (i = 0; i < 128 && !ret; i++)
			ret = hp_send_data(hp, number, sent + i * 2048, 0, 0, 2048);
		break;
	case 2:
		ret = hp_send_data(hp, number, sent, 4096, 0, 0);
		break;
	case 3:
		ret = hp_send_data(hp, number, sent, 0, 0x80, 0);
		break;
	}
	hp_flush(hp);
	ok = hp_check(!ret, "the link has gone");
	ok &= hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_CLOSE), HP_WAIT_MS),
		       "a stream that breaks the rules is accepted");
	ok &= hp_check(hp->own_id == life, "the link ends, too");
	if (!ok)
		pr_err("hostile: kind %u\n", kind);
	return ok;
}

static bool streams(struct hp *hp, struct victim *v)
{
	unsigned int kind;
	bool ok = true;

	for (kind = 0; kind < 4; kind++)
		ok &= stream_once(hp, v, kind);
	return ok;
}

/*
 * The peer has connected and beats, but takes nothing any more: its ring is full, and refusals wait
 * for room in it.
 */
static bool unread_rings(struct hp *hp, struct victim *v)
{
	bool ok = hp_accepted(hp, v);
	unsigned int i;

	hp_set(hp, deaf, ~0U);
	for (i = 0; i < HP_CREDIT && ok; i++)
		ok = hp_check(!hp_victim_sends(hp, v), "nothing can be posted");
	for (i = 0; i < BACKLOG && ok; i++)
		ok = hp_call(hp, NULL, i);
	ok = ok && hp_check(!hp_wait_taken(hp), "calls are not handled");
	msleep(200);	/* the refusals are sent meanwhile, which the peer can't observe */
	if (!hp_check(!victim_close_begin(v), "no thread")) {
		hp_set(hp, deaf, 0);
		return false;
	}
	ok &= hp_check(victim_closed_in(v, HP_WAIT_MS),
		       "an endpoint can't be closed while the peer reads nothing");
	hp_set(hp, deaf, 0);
	victim_close_end(v);
	return ok;
}

/* ---- exposed memory ---- */

/*
 * Connect, and have the victim expose memory to a write. Return: our number of the connection, 0:
 * failed
 */
u32 hp_exposed_to(struct hp *hp, struct victim *v)
{
	u32 number = hp_accepted(hp, v);
	bool ok = number &&
		  hp_check(!hp_send_asking(hp, number, kfi_mr_key(v->mr), 4096), "the request can't be sent");

	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_GRANT), HP_WAIT_MS),
			    "there is no GRANT");
	ok = ok && hp_check(hp_received(hp, number).places == 1, "the GRANT has no place");
	return ok ? number : 0;
}

/*
 * The victim closes. It requests a CLOSE and must wait for it, because the peer may still write to
 * the exposed memory. Without an answer it must end the link.
 */
static bool exposed_once(struct hp *hp, bool answer)
{
	struct victim v;
	u32 number, life;
	bool ok;

	if (!hp_check(!hp_wait_up(hp) && !hp_victim(&v, VICTIM_BUF, false), "no endpoint"))
		return false;
	ok = hp_check(!victim_offer(&v, 4096), "no memory in the window");
	number = ok ? hp_exposed_to(hp, &v) : 0;
	life = hp->own_id;
	if (!number || !hp_check(!victim_close_begin(&v), "no thread")) {
		victim_close(&v);
		return false;
	}
	ok = hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_CLOSE), HP_WAIT_MS),
		      "it sends no CLOSE");
	ok &= hp_check(hp_received(hp, number).bits & KMW_C_RETURN,
		       "its CLOSE does not ask for ours");
	/* We have closed, too, but our devices may still write. */
	ok &= hp_check(!hp_send_close(hp, hp_received(hp, number).from, KMW_C_HELD),
		       "the link has gone");
	hp_flush(hp);
	ok &= hp_check(!victim_closed_in(&v, 2000),
		       "it has closed while the peer may write to its memory");
	if (answer)
		hp_send_close(hp, hp_received(hp, number).from, 0);
	hp_flush(hp);
	ok &= hp_check(victim_closed_in(&v, answer ? 2000 : HP_WAIT_MS), "it does not close");
	/* The endpoint may close a moment before the link is told to go. */
	if (!answer)
		victim_until(READ_ONCE(hp->own_id) != life, 1000);
	ok &= hp_check((hp->own_id == life) == answer,
		       answer ? "the link ends without a reason" :
				"the link stays, and the peer may still write");
	victim_close_end(&v);
	return ok;
}

static bool exposed(struct hp *hp, struct victim *none)
{
	return exposed_once(hp, true) & exposed_once(hp, false);
}

/*
 * The peer sends CLOSE with KMW_C_RETURN, so the victim must answer CLOSE at once, although earlier
 * events still wait for room in the completion queue. Behind its CLOSE the victim sends nothing.
 */
static bool asked_close(struct hp *hp, struct victim *v)
{
	u32 number = hp_accepted(hp, v);
	unsigned int i;
	u64 counts;
	bool ok;

	ok = number && hp_check(!victim_region(v, v->buf, v->buf_len, KFI_REMOTE_WRITE, 1),
				"nothing can be registered");
	for (i = 0; i < VICTIM_CQ + 8 && ok; i++)
		ok = hp_check(!hp_send_touch(hp, number, kfi_mr_key(v->mr)), "the link has gone");
	ok = ok && hp_check(!hp_send_close(hp, hp_received(hp, number).from, KMW_C_RETURN),
			    "the link has gone");
	hp_flush(hp);
	ok = ok && hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_CLOSE), HP_WAIT_MS),
			    "no CLOSE");
	counts = hp_get(hp, counts[KMW_DATA]);
	ok = ok && hp_check(!hp_victim_sends(hp, v), "nothing can be posted");
	if (ok)
		victim_done(v, HP_WAIT_MS);	/* may succeed, because the bytes were copied */
	return ok &
	       hp_check(hp_get(hp, counts[KMW_DATA]) == counts,
			"there is DATA behind CLOSE");
}

/* ---- lost bytes of placed payload ---- */

void hp_fill(u8 *bytes, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		bytes[i] = (u8)(i * 13 + (i >> 8) + 1);
}

/*
 * The bridge loses some bytes of a message that the victim writes to our memory. The record behind
 * them arrives, and the peer does not acknowledge it. So the message stays pending until the link
 * ends, and then it fails. With a CRC the record shows that bytes were lost.
 */
static bool unanswered_once(struct hp *hp, struct victim *v, bool checks)
{
	u32 at = ntw_arena_at(hp->pads.queues, HP_RING);
	u8 *there = hp->mem + at;
	u32 number = hp_accepted(hp, v), crc, sent;
	bool ok;
	int ret;

	hp_fill(v->buf, HP_PLACED);
	memset(there, 0, HP_PLACED);
	ok = number && hp_check(!hp_victim_sends(hp, v), "nothing can be posted");
	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_RTS), HP_WAIT_MS), "it does not ask");
	ok = ok && hp_check(!kfi_ntb_mock_command("end 0.0 lose-tlp 1"), "nothing can be lost");
	ok = ok && hp_check(!hp_send_take(hp, number, at, HP_PLACED), "the link has gone");
	hp_flush(hp);
	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_DATA), HP_WAIT_MS), "no payload");
	if (!ok)
		return false;
	sent = crc32c(~0U, v->buf, HP_PLACED);
	crc = hp_received(hp, number).crc;
	ok = hp_check(memcmp(there, v->buf, HP_PLACED), "nothing was lost");
	ok &= hp_check(crc == (checks ? sent : 0), "the CRC is another one");
	ok &= hp_check(crc != crc32c(~0U, there, HP_PLACED),
		       "the CRC is that of the damaged bytes");
	ok &= hp_check(victim_done(v, 300) == -EAGAIN,
		       "a message has ended without an acknowledgement");
	ok &= hp_check(!kfi_ntb_mock_command("link 0 down"), "the link can't go");
	ret = victim_done(v, HP_WAIT_MS);
	ok &= hp_check(ret && ret != -EAGAIN, "a message has succeeded though the link has gone");
	return ok & hp_check(!kfi_ntb_mock_command("link 0 up"), "the link can't come back");
}

static bool unanswered(struct hp *hp, struct victim *none)
{
	struct victim v = {};
	bool ok = true;
	int i;

	for (i = 0; i < 2 && ok; i++) {
		hp_set_features(hp, i ? NTW_FEAT_CRC_PLACED : 0);
		ok = hp_answers(hp) && hp_check(!hp_victim(&v, HP_PLACED, false), "no endpoint");
		if (!ok)
			break;
		ok = unanswered_once(hp, &v, i);
		victim_close(&v);
	}
	hp_set_features(hp, 0);
	return ok;
}

/* For all channels of the engine, of which the victim has one */
static bool next_copy_fails(bool fails)
{
	char line[32];
	bool ok = true;
	int i;

	for (i = 0; i < CHANNELS; i++) {
		snprintf(line, sizeof(line), "dma %d fail-write %d", i, fails);
		ok &= !kfi_ntb_mock_command(line);
	}
	return ok;
}

/* The engine does not copy the payload of a message: the CPU does, and the link stays. */
static bool copy_fails(struct hp *hp, struct victim *v)
{
	u32 number, life = hp->own_id, at = ntw_arena_at(hp->pads.queues, HP_RING);
	bool ok;

	if (!hp_check(!hp_victim(v, HP_PLACED, false), "no endpoint"))
		return false;
	hp_fill(v->buf, HP_PLACED);
	memset(hp->mem + at, 0, HP_PLACED);
	number = hp_accepted(hp, v);
	ok = number && hp_check(!hp_victim_sends(hp, v), "nothing can be posted");
	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_RTS), HP_WAIT_MS), "it does not ask");
	ok = ok && hp_check(next_copy_fails(true), "no copy can fail");
	ok = ok && hp_check(!hp_send_take(hp, number, at, HP_PLACED), "the link has gone");
	hp_flush(hp);
	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_DATA), HP_WAIT_MS), "no payload");
	ok = ok && hp_check(!memcmp(hp->mem + at, v->buf, HP_PLACED),
			    "the CPU does not copy what the engine could not");
	ok = ok && hp_check(hp->own_id == life, "the link has gone");
	return ok & hp_check(next_copy_fails(false), "copies fail for ever");
}

/*
 * The peer writes to a region of the victim and announces the bytes. With a CRC the victim detects
 * missing bytes and ends the link; without one it accepts them.
 */
static bool torn_once(struct hp *hp, bool checks, bool torn)
{
	u32 number, life, crc, tries;
	bool ok, found = checks && torn;
	struct victim v = {};
	u8 bytes[256];

	hp_set_features(hp, checks ? NTW_FEAT_CRC_PLACED : 0);
	if (!hp_answers(hp) || !hp_check(!hp_victim(&v, VICTIM_BUF, false), "no endpoint"))
		return false;
	ok = hp_check(!victim_offer(&v, 4096), "no memory in the window");
	number = ok ? hp_exposed_to(hp, &v) : 0;
	life = hp->own_id;
	if (!number) {
		victim_close(&v);
		return false;
	}
	hp_fill(bytes, sizeof(bytes));
	for (tries = 0, crc = ~0U; tries < 4096 / sizeof(bytes); tries++) {
		memcpy_toio(hp->window + hp_received(hp, number).at + tries * sizeof(bytes), bytes,
			    tries == 8 && torn ? sizeof(bytes) - 64 : sizeof(bytes));
		crc = crc32c(crc, bytes, sizeof(bytes));
	}
	ok = hp_check(!hp_send_placed(hp, number, 4096, checks ? crc : 0), "the link has gone");
	hp_flush(hp);
	ok &= hp_check(!!hp_wait(hp, number, HP_FRAME(KFW_ACK), found ? 300 : HP_WAIT_MS) == !found,
		       found ? "damaged bytes are acknowledged" : "no answer");
	if (found)
		victim_until(READ_ONCE(hp->own_id) != life, 2000);
	ok &= hp_check((hp->own_id == life) != found,
		       found ? "the link stays" : "the link has gone");
	victim_close(&v);
	return ok;
}

static bool torn(struct hp *hp, struct victim *none)
{
	bool ok = torn_once(hp, false, true) & torn_once(hp, true, false) &
		  torn_once(hp, true, true);

	hp_set_features(hp, 0);
	return ok;
}

/* ---- the bridge ---- */

/* ---- while no other thread runs ---- */

static atomic_t held;
static bool let_go;

static void hold_cpu(void *arg)
{
	atomic_inc(&held);
	while (!READ_ONCE(let_go))
		cpu_relax();
}

static void hold_none(void *arg)
{
}

static bool link_becomes(struct hp *hp, bool up)
{
	unsigned int i;

	for (i = 0; i < 5000 && !!ntb_link_is_up(hp->ntb, NULL, NULL) != up; i++)
		udelay(10);
	udelay(100);	/* the interrupt of the other end */
	return !!ntb_link_is_up(hp->ntb, NULL, NULL) == up;
}

/*
 * The bridge's link goes down and up again. Both ends get both interrupts, but no thread can run in
 * between.
 */
static bool blink(struct hp *hp)
{
	unsigned int i;
	bool ok;

	WRITE_ONCE(let_go, false);
	atomic_set(&held, 0);
	sched_set_fifo(current);
	migrate_disable();
	smp_call_function(hold_cpu, NULL, false);
	for (i = 0; i < 5000 && atomic_read(&held) + 1 < num_online_cpus(); i++)
		udelay(10);
	ok = !kfi_ntb_mock_command("link 0 down") && link_becomes(hp, false) &&
	     !kfi_ntb_mock_command("link 0 up") && link_becomes(hp, true);
	WRITE_ONCE(let_go, true);
	smp_call_function(hold_none, NULL, true);
	migrate_enable();
	sched_set_normal(current, 0);
	return ok;
}

/*
 * The victim has sent its hello and the peer has not. What the peer could have sent already would
 * be lost with the link, so this life of the link has to end.
 */
static bool flap(struct hp *hp, struct victim *none)
{
	unsigned int round;
	bool ok = true;
	u32 before;

	hp_set(hp, no_hello, true);
	hp_bye(hp);
	for (round = 0; round < FLAPS && ok; round++) {
		ok = hp_check(victim_until(hp_hello_received(hp), HP_WAIT_MS),
			      "it sends no hello");
		before = hp_get(hp, left);
		ok = ok && hp_check(blink(hp), "the bridge does not go down and up");
		ok = ok && hp_check(victim_until(hp_get(hp, left) != before, 2000),
				    "it ignores that the link has gone meanwhile");
	}
	hp_set(hp, no_hello, false);
	return ok;
}

static bool called(struct hp *hp, u64 before)
{
	return victim_until(hp_get(hp, counts[KMW_CALL]) > before, 2000);
}

/* The life of the link ends before the peer has answered a CALL: the next life has it again. */
static bool call_again(struct hp *hp, struct victim *v)
{
	u64 before = hp_get(hp, counts[KMW_CALL]);
	bool ok;

	ok = hp_check(!hp_victim_sends(hp, v), "nothing can be posted") &&
	     hp_check(called(hp, before), "it does not call");
	before = hp_get(hp, counts[KMW_CALL]);
	hp_bye(hp);
	ok = ok && hp_check(called(hp, before), "a call that was lost is not repeated");
	return ok & hp_check(victim_done(v, 0) == -EAGAIN, "a call that was lost has failed");
}

/* Several tries, because the link may come up and go down meanwhile. */
bool hp_stays_down(struct hp *hp)
{
	unsigned int i;
	u32 number;

	for (i = 0; i < 10; i++) {
		number = hp_call(hp, NULL, 0);
		if (number && hp_wait(hp, number, HP_RECEIVED(KMW_ANSWER), 200))
			return false;
		msleep(50);
	}
	return true;
}

/*
 * The peer claims to reach less than any ring, or wants a word outside of its memory or in front of
 * the end of its rings, or does not write the word that shows how much it reaches: the link must not
 * come up. A window that is longer than the memory is none of these.
 */
static bool reaches(struct hp *hp, struct victim *none)
{
	static const u64 ends[] = {
		0, NTW_CTL_SIZE, HP_RING, HP_MEM, HP_MEM + NTW_ALIGN, NTW_SIZE_MAX - NTW_ALIGN,
	};
	unsigned int i;
	bool ok;

	hp_set_reach(hp, NTW_REACH_MASK);
	ok = hp_check(hp_stays_down(hp), "it accepts a reach of more than there may be");
	hp_set_reach(hp, 20);
	ok &= hp_check(hp_stays_down(hp), "it accepts a reach that excludes its rings");
	hp_set_reach(hp, 4 * HP_REACH_KIB);
	ok &= hp_answers(hp);
	for (i = 0; i < ARRAY_SIZE(ends) && ok; i++) {
		hp_set_end(hp, ends[i]);
		ok &= hp_check(hp_stays_down(hp), "it writes a word where there is no end");
	}
	hp_set_end(hp, HP_END);
	hp_set_reach(hp, HP_REACH_KIB);
	ok &= hp_answers(hp);
	hp_set(hp, no_end, true);
	hp_bye(hp);
	ok &= hp_check(hp_stays_down(hp), "it exposes memory that is not known to be reached");
	hp_set(hp, no_end, false);
	/* What was hidden may be there when the bridge's link has gone down and up. */
	ok &= !kfi_ntb_mock_command("link 0 down");
	msleep(500);
	return ok & !kfi_ntb_mock_command("link 0 up");
}

/* ---- a window behind an IOMMU, a region, and a peer that writes to all of it ---- */

#define WINDOW	1			/* parameter of kfi_ntb */
/* length of the region: whole pages, because the window shows whole pages */
#define LEN	(2 * PAGE_SIZE)

struct mapped_test {
	struct victim	*v;
	u8		*mem, *page;
	void __iomem	*window;
	resource_size_t	len;
};

/* Write everything but the first page, which would end the link. */
static void write_all(struct mapped_test *s, u8 byte)
{
	resource_size_t at;

	memset(s->page, byte, PAGE_SIZE);
	for (at = PAGE_SIZE; at < s->len; at += PAGE_SIZE)
		memcpy_toio(s->window + at, s->page, PAGE_SIZE);
}

static u64 faults(void)
{
	return kfi_ntb_mock_count(0, 1, "lost_fault");
}

static bool refused(struct mapped_test *s, const char *what)
{
	u64 before = faults();

	memset(s->mem, 0xa5, LEN);
	write_all(s, 0x3c);
	return hp_check(!memchr_inv(s->mem, 0xa5, LEN), what) &
	       hp_check(faults() - before == s->len / PAGE_SIZE - 1,
			"not all writes to what is not mapped were stopped");
}

static bool reached(struct mapped_test *s)
{
	u64 before = faults();

	write_all(s, 0x5a);
	return hp_check(!memchr_inv(s->mem, 0x5a, LEN),
			"a region is not where its window shows it") &
	       hp_check(faults() - before == s->len / PAGE_SIZE - 1 - LEN / PAGE_SIZE,
			"more is mapped than one region");
}

static bool open_region(struct mapped_test *s)
{
	return hp_check(!victim_region(s->v, s->mem, LEN, KFI_REMOTE_WRITE, 1), "no region");
}

static bool close_region(struct mapped_test *s)
{
	bool ok = hp_check(!kfi_close(&s->v->mr->fid), "the region does not close");

	s->v->mr = NULL;
	return ok;
}

/* Write before there is a region, while there is one, after that, and once more. */
static bool rounds(struct mapped_test *s)
{
	bool ok = refused(s, "it reaches memory that was never registered");
	int i;

	for (i = 0; i < 2 && ok; i++)
		ok = open_region(s) && reached(s) && close_region(s) &&
		     refused(s, "it reaches memory that is no longer registered");
	return ok;
}

static bool hp_mapped(struct hp *hp, struct victim *v)
{
	struct mapped_test s = { .v = v };
	phys_addr_t base;
	bool ok;

	if (!hp_check(!ntb_peer_mw_get_addr(hp->ntb, WINDOW, &base, &s.len), "no second window"))
		return false;
	s.window = ioremap(base, s.len);
	s.mem = alloc_pages_exact(LEN, GFP_KERNEL | __GFP_ZERO);
	s.page = (u8 *)__get_free_page(GFP_KERNEL);
	ok = hp_check(s.window && s.mem && s.page, "no memory") && rounds(&s);
	/* After a failure a region may be open: close it before its memory is freed. */
	if (v->mr)
		close_region(&s);
	free_page((unsigned long)s.page);
	if (s.mem)
		free_pages_exact(s.mem, LEN);
	if (s.window)
		iounmap(s.window);
	return ok;
}

/*
 * @victim is the kind of endpoint that @run is called with; NOBODY: @run opens endpoints itself.
 * @run may close the endpoint. After each case kfi_ntb has to answer a call.
 */
static const struct hp_case {
	const char	*name;
	bool		(*run)(struct hp *hp, struct victim *v);
	enum { NOBODY, OPEN, KEYED } victim;
	/*
	 * MAPPED: needs a window behind an IOMMU; the others run without one. TWICE: run again with
	 * all records of the peer in its second queue
	 */
	enum { ONCE, TWICE, MAPPED } how;
} cases[] = {
	{ "unknown_numbers",	unknown_numbers, NOBODY, TWICE },
	{ "unread_answers",	unread_answers, NOBODY, TWICE },
	{ "unproven",		unproven, KEYED, TWICE },
	{ "flood",		flood, KEYED, TWICE },
	{ "streams",		streams, OPEN, TWICE },
	{ "unread_rings",	unread_rings, OPEN, TWICE },
	{ "exposed",		exposed, NOBODY, TWICE },
	{ "asked_close",	asked_close, OPEN, TWICE },
	{ "unanswered",		unanswered, NOBODY, TWICE },
	{ "torn",		torn, NOBODY, TWICE },
	{ "copy_fails",		copy_fails },
	{ "flap",		flap },
	{ "call_again",		call_again, OPEN },
	{ "reaches",		reaches },
	{ "queue_numbers",	hp_queue_numbers },
	{ "queue_changes",	hp_queue_changes },
	{ "queue_fewer",	hp_queue_fewer },
	{ "queue_of_another",	hp_queue_of_another },
	{ "queue_positions",	hp_queue_positions },
	{ "queue_unused",	hp_queue_unused },
	{ "queue_unread",	hp_queue_unread },
	{ "queue_as_place",	hp_queue_as_place },
	{ "mapped",		hp_mapped, OPEN, MAPPED },
};

static bool run_case(struct hp *hp, const struct hp_case *c)
{
	struct victim v = {};
	bool ok;

	if (c->victim != NOBODY &&
	    !hp_check(!hp_victim(&v, VICTIM_BUF, c->victim == KEYED), "no endpoint"))
		return false;
	ok = c->run(hp, &v);
	if (v.info)
		victim_close(&v);
	return ok & hp_answers(hp);
}

/* Let the peer have a second queue, and send its records there, or not. */
static bool take_queue(struct hp *hp, bool second)
{
	if (hp->pads.queues == 1 + second)
		return true;
	hp_set_queues(hp, 1 + second, 1 + second);
	hp_set(hp, on, second);
	return hp_answers(hp);
}

/* Run the cases of the kind @how, or one of them. Return: how many have run */
static unsigned int run_cases(struct hp *hp, const char *only, int how, bool second,
			      unsigned int *wrong)
{
	unsigned int i, ran = 0;
	char name[32];
	bool ok;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(name, sizeof(name), "%s%s", second ? "second_" : "", cases[i].name);
		if (cases[i].how != how || (*only && strcmp(only, name)))
			continue;
		ok = take_queue(hp, second) && run_case(hp, &cases[i]);
		pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", name);
		*wrong += !ok;
		ran++;
	}
	return ran;
}

int hostile_cases(struct hp *hp, const char *only, bool mapped)
{
	unsigned int wrong = 0, ran;

	if (mapped) {
		ran = run_cases(hp, only, MAPPED, false, &wrong);
	} else {
		ran = run_cases(hp, only, ONCE, false, &wrong);
		ran += run_cases(hp, only, TWICE, false, &wrong);
		ran += run_cases(hp, only, TWICE, true, &wrong);
	}
	return hp_check(ran, "no such case") ? wrong : 1;
}
