// SPDX-License-Identifier: GPL-2.0
/*
 * queues.c - what the peer does with several queues, and what may come of it. The suite loads
 * kfi_ntb with queues=2. Most cases of cases.c run with all records in the second queue, too.
 */
#include <linux/delay.h>
#include "hostile.h"

#define MESSAGES	8U

static u32 life_of(struct hp *hp)
{
	return READ_ONCE(hp->own_id);
}

static bool another_life(struct hp *hp, u32 life)
{
	return victim_until(life_of(hp) != life, HP_WAIT_MS);
}

/* A link with @queues of two queues, and a victim whose messages are too long to be sent unasked */
static bool begin(struct hp *hp, struct victim *v, u8 queues)
{
	hp_set_queues(hp, 2, queues);
	return hp_answers(hp) && hp_check(!hp_victim(v, HP_PLACED, false), "no endpoint");
}

static bool end(struct hp *hp, struct victim *v, bool ok)
{
	victim_close(v);
	hp_set_queues(hp, 1, 1);
	return ok;
}

/* Connect through a queue. Return: our number of the connection, 0: failed */
static u32 accepted_in(struct hp *hp, const struct victim *v, unsigned int queue)
{
	hp_set(hp, on, queue);
	return hp_accepted(hp, v);
}

/* The victim has a message for us, and waits for our CTS. */
static bool asked(struct hp *hp, struct victim *v, u32 number)
{
	return hp_check(!hp_victim_sends(hp, v), "nothing can be posted") &&
	       hp_check(hp_wait(hp, number, HP_FRAME(KFW_RTS), HP_WAIT_MS), "it does not ask");
}

/* The message of the victim fails, once. */
static bool fails_once(struct victim *v)
{
	int ret = victim_done(v, HP_WAIT_MS);

	return hp_check(ret && ret != -EAGAIN, "a message has not failed with its link") &
	       hp_check(victim_done(v, 100) == -EAGAIN, "a message has ended twice");
}

static u32 value_of(const struct victim *v)
{
	return le32_to_cpup((const __le32 *)v->buf);
}

/* The victim has posted no receive, and a message waits for one. */
static bool receives(struct victim *v, u32 value)
{
	return hp_check(!victim_receive(v, 1, HP_WAIT_MS), "a message is missing") &&
	       hp_check(value_of(v) == value, "a message came twice, or before another one");
}

/* ---- what is announced ---- */

/*
 * The peer announces a number of queues that cannot be, or two different numbers: the link must not
 * come up. It may use fewer queues than it has.
 */
bool hp_queue_numbers(struct hp *hp, struct victim *none)
{
	static const struct {
		u8	pads, hello;
		bool	good;
	} numbers[] = {
		{ 0, 0 }, { 0, 1 }, { NTW_QUEUES_MAX + 1, 1 }, { 15, 15 },
		{ NTW_QUEUES_MAX, 1 },	/* more than the memory has room for */
		{ 1, 2 }, { 2, 0 }, { 2, 3 }, { 2, 255 },
		{ 3, 3 },		/* more than the victim has */
		{ 3, 2, true }, { 2, 1, true }, { 2, 2, true },
	};
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(numbers) && ok; i++) {
		hp_set_queues(hp, numbers[i].pads, numbers[i].hello);
		ok = numbers[i].good ? hp_answers(hp) :
		     hp_check(hp_stays_down(hp), "the link comes up with a wrong number of queues");
		if (!ok)
			pr_err("hostile: %u queues, %u in the hello\n", numbers[i].pads,
			       numbers[i].hello);
	}
	hp_set_queues(hp, 1, 1);
	return ok;
}

static bool pads_refused(struct hp *hp, struct hp_pads pads, struct hp_pads later,
			 struct hp_pads hello, const char *what)
{
	hp_set_pads(hp, pads, later, hello);
	return hp_check(hp_stays_down(hp), what);
}

/*
 * The scratchpads have other numbers when the victim has opened its window than those for which it
 * has opened it, and the hello agrees with the new ones; or the hello agrees with none of them. The
 * link must not come up.
 */
bool hp_queue_changes(struct hp *hp, struct victim *none)
{
	struct hp_pads one = hp_pads(1), two = hp_pads(2), longer = one, shorter = one, bell = one,
		       bells = one, overlap = two;
	bool ok;

	longer.ring_shift++;
	shorter.size_kib /= 2;
	bell.bell++;
	bells.bells++;
	overlap.ring_shift++;	/* they would be in one another, or behind the memory */
	ok = pads_refused(hp, one, two, two, "the scratchpads have more queues now");
	ok &= pads_refused(hp, two, one, one, "the scratchpads have fewer queues now");
	ok &= pads_refused(hp, one, longer, longer, "the scratchpads have longer rings now");
	ok &= pads_refused(hp, one, shorter, shorter, "the scratchpads have less memory now");
	ok &= pads_refused(hp, one, bell, bell, "the scratchpads have another doorbell bit now");
	ok &= pads_refused(hp, one, bells, bells, "the scratchpads have more doorbell bits now");
	ok &= pads_refused(hp, one, one, longer, "the hello has longer rings");
	ok &= pads_refused(hp, one, one, shorter, "the hello has less memory");
	ok &= pads_refused(hp, two, two, overlap, "the hello has longer rings in the same memory");
	hp_set_queues(hp, 1, 1);
	return ok;
}

/*
 * The hello has two queues until the engines of both have copies of the proof, and one from then
 * on. The link must not come up, and the copies of both have to end before their windows do.
 */
bool hp_queue_fewer(struct hp *hp, struct victim *none)
{
	bool ok;

	hp_set(hp, fewer, true);
	hp_set_queues(hp, 2, 2);
	ok = hp_check(hp_stays_down(hp), "the link comes up with fewer queues than were proved");
	hp_set(hp, fewer, false);
	hp_set_queues(hp, 1, 1);
	return ok;
}

/* ---- records of a connection ---- */

/*
 * Records for a connection that come through another queue than its own, and break its rules, end
 * it, or announce bytes, have no effect; behind them it continues.
 */
static bool of_another_once(struct hp *hp, unsigned int queue)
{
	struct victim v = {};
	u64 sent, put;
	u32 number;
	bool ok;

	if (!begin(hp, &v, 2))
		return false;
	hp_set(hp, on, queue);
	ok = hp_check(!victim_offer(&v, 4096), "no memory in the window");
	number = ok ? hp_exposed_to(hp, &v) : 0;
	ok = number;
	sent = hp->stream.sent;
	put = hp->stream.put;
	hp_set(hp, on, !queue);
	ok = ok && hp_check(!hp_send_placed(hp, number, 4096, 0) &&
			    !hp_send_data(hp, number, sent + 1, 0, 0x80, 1) &&
			    !hp_send_answer(hp, hp_received(hp, number).from, number) &&
			    !hp_send_close(hp, hp_received(hp, number).from, KMW_C_ABORT) &&
			    !hp_wait_taken(hp), "the link has gone");
	ok = ok && hp_check(!hp_wait(hp, number, HP_FRAME(KFW_ACK) | HP_RECEIVED(KMW_CLOSE), 300),
			    "records have an effect that came through another queue");
	hp->stream.sent = sent;
	hp->stream.put = put;
	hp_set(hp, on, queue);
	ok = ok && hp_check(!hp_send_placed(hp, number, 4096, 0), "the link has gone");
	ok = ok && hp_check(hp_wait(hp, number, HP_FRAME(KFW_ACK), HP_WAIT_MS), "no answer");
	return end(hp, &v, ok);
}

bool hp_queue_of_another(struct hp *hp, struct victim *none)
{
	return of_another_once(hp, 1) && of_another_once(hp, 0);
}

static bool send_in(struct hp *hp, u32 number, unsigned int queue, u32 value)
{
	hp_set(hp, on, queue);
	return hp_check(!hp_send_message(hp, number, value) && !hp_wait_taken(hp),
			"the link has gone");
}

/* ---- words of a control page ---- */

#define BULK(member)	offsetof(struct ntw_ctl, bulk.member)

/*
 * The positions of the second queue are wrong, while a connection in the first one follows the
 * protocol. The life of the link ends, for both: its message fails, once, and what the peer sends
 * arrives in order as far as it does.
 */
static bool positions_once(struct hp *hp, struct victim *v, const u32 more[5])
{
	u32 number, life, i;
	bool ok;

	ok = hp_answers(hp);
	life = life_of(hp);
	number = ok ? accepted_in(hp, v, 0) : 0;
	ok = number && asked(hp, v, number);
	for (i = 0; i < MESSAGES && ok; i++)
		ok = send_in(hp, number, 0, i) && receives(v, i);
	if (!ok)
		return false;
	if (more[4]) {
		hp_write_word(hp, 1, BULK(after), more[3]);
		hp_write_word(hp, 1, BULK(produced), more[4]);
	} else {
		hp_add_positions(hp, 1, more[0], more[1], more[2]);
	}
	while (i < 2 * MESSAGES && !hp_send_message(hp, number, i))
		i++;
	ok = hp_check(another_life(hp, life), "it accepts wrong positions") & fails_once(v);
	for (i = MESSAGES; ok && !victim_receive(v, 1, 50); i++)
		ok = hp_check(value_of(v) == i, "a message came twice, or before another one");
	return ok;
}

bool hp_queue_positions(struct hp *hp, struct victim *none)
{
	/* positions, to be added: placed, and both consumed; or words of the bulk line */
	static const u32 more[][5] = {
		{ 8 }, { 1U << 30 }, { 0, NTW_ALIGN }, { 0, 1 }, { 0, 0, NTW_ALIGN }, { 0, 0, 1 },
		{ NTW_ALIGN },			/* there is no record */
		{ 0, 0, 0, 0, 8 }, { 0, 0, 0, 0, 1U << 30 },
		{ 0, 0, 0, 0, NTW_ALIGN },	/* there is no record */
		{ 0, 0, 0, 1U << 30, NTW_ALIGN },
	};
	struct victim v = {};
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(more) && ok; i++) {
		if (!begin(hp, &v, 2))
			return false;
		ok = end(hp, &v, positions_once(hp, &v, more[i]));
		if (!ok)
			pr_err("hostile: wrong positions %u\n", i);
	}
	return ok;
}

/* Records in a queue that is not in use have no effect, whatever their positions. */
bool hp_queue_unused(struct hp *hp, struct victim *none)
{
	u32 number, life;
	bool ok;

	hp_set_queues(hp, 2, 1);
	ok = hp_answers(hp);
	life = life_of(hp);
	hp_set(hp, on, 1);
	number = ok ? hp_call(hp, NULL, 0) : 0;
	ok = number && hp_check(!hp_wait(hp, number, HP_RECEIVED(KMW_ANSWER), 300),
				"a call is answered that came through a queue that is not in use");
	hp_add_positions(hp, 1, 1U << 30, 1, 1);
	msleep(500);
	hp_set(hp, on, 0);
	ok = ok && hp_answers(hp) && hp_check(life_of(hp) == life, "the link ends");
	hp_set_queues(hp, 1, 1);
	return ok;
}

/*
 * The peer handles nothing of what it receives in the second queue, and shows signs of life. The
 * life of the link ends, but not before the time limit, until which the first queue is served.
 */
bool hp_queue_unread(struct hp *hp, struct victim *none)
{
	struct victim v = {};
	u32 number, life;
	bool ok;

	if (!begin(hp, &v, 2))
		return false;
	number = accepted_in(hp, &v, 1);
	life = life_of(hp);
	hp_set(hp, deaf, BIT(1));
	ok = number && hp_check(hp_call(hp, NULL, 1), "the link has gone");
	hp_flush(hp);
	hp_set(hp, on, 0);
	ok = ok && hp_answers(hp) && hp_check(life_of(hp) == life, "the link ends at once");
	ok = ok && hp_check(another_life(hp, life), "a queue that is not read is waited for");
	hp_set(hp, deaf, 0);
	return end(hp, &v, ok);
}

/* ---- memory of a queue ---- */

/*
 * The peer names memory as the place for a message that is in one of its queues, or behind its
 * memory. The connection must end, whichever queue it has, and nothing may be written.
 */
static bool place_once(struct hp *hp, unsigned int queue, u32 at)
{
	struct victim v = {};
	u32 number, life;
	bool ok;

	if (!begin(hp, &v, 2))
		return false;
	life = life_of(hp);
	hp_fill(v.buf, HP_PLACED);
	number = accepted_in(hp, &v, queue);
	ok = number && asked(hp, &v, number);
	ok = ok && hp_check(!hp_send_take(hp, number, at, HP_PLACED), "the link has gone");
	ok = ok && hp_check(hp_wait(hp, number, HP_RECEIVED(KMW_CLOSE), HP_WAIT_MS),
			    "memory outside of the arena is accepted as a place");
	ok = ok && hp_check(!hp_received(hp, number).placed, "it has written to a queue");
	ok = ok && hp_check(life_of(hp) == life, "the link ends, too");
	return end(hp, &v, ok);
}

bool hp_queue_as_place(struct hp *hp, struct victim *none)
{
	const u32 places[] = {
		0, ntw_queue_at(1, HP_RING), ntw_queue_at(1, HP_RING) + ntw_ring_at(NTW_BULK, HP_RING),
		ntw_arena_at(2, HP_RING) - NTW_ALIGN, HP_MEM - HP_PLACED + NTW_ALIGN, HP_MEM,
	};
	unsigned int i;
	bool ok = true;

	for (i = 0; i < 2 * ARRAY_SIZE(places) && ok; i++) {
		ok = place_once(hp, i % 2, places[i / 2]);
		if (!ok)
			pr_err("hostile: place at %u, connection in queue %u\n", places[i / 2], i % 2);
	}
	return ok;
}
