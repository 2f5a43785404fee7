// SPDX-License-Identifier: GPL-2.0
/*
 * queues.c - what the peer does with several queues, and what may come of it. The suite loads
 * kfi_ntb with queues=2. Most cases of cases.c run with all records in the second queue, too.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/slab.h>
#include "hostile.h"

#define MESSAGES	8U
#define RINGS		200U	/* times that all doorbell bits are rung */
#define KIB		1024U

static u32 life_of(struct hp *hp)
{
	return READ_ONCE(hp->own_id);
}

static bool another_life(struct hp *hp, u32 life)
{
	unsigned long until = jiffies + msecs_to_jiffies(HP_WAIT_MS);

	while (life_of(hp) == life && time_before(jiffies, until))
		msleep(20);
	return life_of(hp) != life;
}

static struct ntw_addr address(struct hp *hp, u32 port)
{
	return (struct ntw_addr) {
		cpu_to_le32(ntb_port_number(hp->ntb)), cpu_to_le32(HP_PORT + port),
	};
}

/* A link with @queues of two queues, and a victim whose messages are too long to be sent unasked */
static bool begin(struct hp *hp, struct victim *v, u8 queues)
{
	struct victim_attr attr = {
		.provider = "ntb", .buf_len = HP_PLACED, .cq_size = VICTIM_CQ, .txcq_size = 256,
	};

	hp_set_queues(hp, 2, queues);
	return hp_answers(hp) && hp_check(!victim_open(v, &attr), "no endpoint");
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
	hp_use_queue(hp, queue);
	return hp_accepted(hp, v);
}

/* The victim has a message for us, and waits for our CTS. */
static bool asked(struct hp *hp, struct victim *v, u32 number)
{
	struct ntw_addr us = address(hp, 0);

	return hp_check(!victim_send(v, &us), "nothing can be posted") &&
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

/*
 * The peer claims to reach less of the victim's memory than the queues that it would use. It may
 * reach only those.
 */
bool hp_queue_reach(struct hp *hp, struct victim *none)
{
	static const struct {
		u8	hello, queues;
		s64	more;
		bool	good;
	} reaches[] = {
		{ 2, 2, -(s64)KIB }, { 2, 1, KIB }, { 2, 1 }, { 1, 1, -(s64)KIB },
		{ 1, 2, -(s64)KIB, true }, { 2, 2, 0, true },
	};
	u64 size, all;
	unsigned int i;
	bool ok;

	hp_set_queues(hp, 2, 2);
	ok = hp_answers(hp);
	size = hp->reach;
	for (i = 0; i < ARRAY_SIZE(reaches) && ok; i++) {
		all = ntw_arena_at(reaches[i].queues, hp->ring);
		hp_set_queues(hp, 2, reaches[i].hello);
		hp_set_reach(hp, (s64)all + reaches[i].more - (s64)size);
		ok = reaches[i].good ? hp_answers(hp) :
		     hp_check(hp_stays_down(hp), "it accepts a reach that excludes a queue");
		if (!ok)
			pr_err("hostile: %u queues, and %u and %lld bytes of them are reached\n",
			       reaches[i].hello, reaches[i].queues, reaches[i].more);
	}
	hp_set_reach(hp, 0);
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
 * The peer announces more memory than it has mapped, and than the victim's window reaches, and
 * calls. What the victim writes there is lost, and harms the peer only: the next life is a good one.
 */
bool hp_queue_beyond(struct hp *hp, struct victim *none)
{
	static const struct hp_pads beyond[] = {
		{ NTW_QUEUES_MAX, NTW_RING_SHIFT_MAX, 0, 1, NTW_SIZE_MAX / KIB },
		{ 1, NTW_RING_SHIFT_MAX, 0, 1, NTW_SIZE_MAX / KIB },
		{ NTW_QUEUES_MAX, 19, 0, 1, 16 * KIB },
		{ 2, 17, 0, 1, 640 },
	};
	unsigned int i, calls;
	struct hp_pads hello;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(beyond) && ok; i++) {
		hello = beyond[i];
		hello.queues = min_t(u8, hello.queues, 2);
		hp_set_deaf(hp, ~0U);	/* the peer does not look for records where it has no rings */
		hp_set_pads(hp, beyond[i], beyond[i], hello);
		for (calls = 0; calls < 10; calls++) {
			hp_call(hp, NULL, 0);
			hp_use_queue(hp, calls & 1);
			hp_flush(hp);
			msleep(50);
		}
		hp_set_deaf(hp, 0);
		hp_set_queues(hp, 2, 2);
		ok = hp_answers(hp);
		if (!ok)
			pr_err("hostile: rings of 2^%u bytes\n", beyond[i].ring_shift);
	}
	hp_set_queues(hp, 1, 1);
	return ok;
}

/*
 * Each life has another number of queues. A message of a queue that the next life does not have
 * fails, once, and records for its connection have no effect in that life.
 */
bool hp_queue_lives(struct hp *hp, struct victim *none)
{
	static const u8 queues[] = { 2, 1, 2, 1 };
	u32 number, before = 0;
	struct victim v = {};
	unsigned int i;
	bool ok;

	if (!begin(hp, &v, 2))
		return false;
	for (i = 0, ok = true; i < ARRAY_SIZE(queues) && ok; i++) {
		hp_set_queues(hp, queues[i], queues[i]);
		ok = (!i || fails_once(&v)) && hp_answers(hp);
		if (before)
			ok = ok && hp_check(!hp_send_close(hp, before, NTW_C_ABORT) &&
					    !hp_wait_taken(hp), "the link has gone");
		number = ok ? accepted_in(hp, &v, queues[i] - 1) : 0;
		before = hp_received(hp, number).from;
		ok = number && asked(hp, &v, number);
	}
	return end(hp, &v, ok);
}

/* ---- doorbells ---- */

/* Ring all bits of the victim's doorbell, those of no queue as well. */
static bool rings_all(struct hp *hp)
{
	u64 bits = ntb_db_valid_mask(hp->ntb);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RINGS && !ret; i++)
		ret = ntb_peer_db_set(hp->ntb, bits);
	return hp_check(!ret, "the doorbell can't be rung");
}

/* The victim answers in both queues. Return: false also if it has begun another life for that */
static bool answers_in_both(struct hp *hp)
{
	bool ok = hp_answers(hp);
	u32 life = life_of(hp);

	hp_use_queue(hp, 1);
	ok = ok && hp_answers(hp);
	hp_use_queue(hp, 0);
	return ok && hp_check(life_of(hp) == life, "the link ends");
}

/*
 * The peer announces doorbell bits that cannot be, which the victim must refuse, or bits that its
 * bridge does not have, which harms the peer only; and it rings the bits of other queues, and of
 * queues that are not in use.
 */
bool hp_queue_bells(struct hp *hp, struct victim *none)
{
	static const struct {
		u8	first, count;
		bool	good;
	} bells[] = {
		{ 0, 0 }, { 63, 2 }, { 0, NTW_BELLS_MAX + 1 }, { 255, 255 }, { 255, 1 },
		{ 0, 1, true }, { 0, 3, true }, { 0, 31, true }, { 30, 1, true }, { 30, 2, true },
		{ 62, 2, true }, { 0, 64, true },
	};
	struct hp_pads pads = hp_pads(2);
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(bells) && ok; i++) {
		pads.bell = bells[i].first;
		pads.bells = bells[i].count;
		hp_set_pads(hp, pads, pads, pads);
		ok = bells[i].good ? answers_in_both(hp) :
		     hp_check(hp_stays_down(hp), "the link comes up with a doorbell that cannot be");
		if (!ok)
			pr_err("hostile: doorbell bits %u, from %u on\n", bells[i].count,
			       bells[i].first);
	}
	for (i = 1; i <= 2 && ok; i++) {
		hp_set_queues(hp, 2, i);
		ok = hp_answers(hp) && rings_all(hp) && hp_answers(hp);
	}
	hp_set_wrong_bells(hp, true);
	ok = ok && answers_in_both(hp);
	hp_set_wrong_bells(hp, false);
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
	hp_use_queue(hp, queue);
	ok = hp_check(!victim_offer(&v, 4096), "no memory in the window");
	number = ok ? hp_exposed_to(hp, &v) : 0;
	ok = number;
	sent = hp->stream.sent;
	put = hp->stream.put;
	hp_use_queue(hp, !queue);
	ok = ok && hp_check(!hp_send_placed(hp, number, 4096, 0) &&
			    !hp_send_data(hp, number, sent + 1, 0, 0x80, 1) &&
			    !hp_send_answer(hp, hp_received(hp, number).from, number) &&
			    !hp_send_close(hp, hp_received(hp, number).from, NTW_C_ABORT) &&
			    !hp_wait_taken(hp), "the link has gone");
	ok = ok && hp_check(!hp_wait(hp, number, HP_FRAME(KFW_ACK) | HP_RECEIVED(NTW_CLOSE), 300),
			    "records have an effect that came through another queue");
	hp->stream.sent = sent;
	hp->stream.put = put;
	hp_use_queue(hp, queue);
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
	hp_use_queue(hp, queue);
	return hp_check(!hp_send_message(hp, number, value) && !hp_wait_taken(hp),
			"the link has gone");
}

/*
 * Each message is sent through both queues: it must arrive once, and all of them in order. Then
 * one is sent through the other queue only: it and those behind it must not arrive, and the
 * connection must end, because bytes of its stream are missing.
 */
static bool alternates_once(struct hp *hp, unsigned int queue)
{
	struct victim v = {};
	bool ok, other_first;
	u32 number, life, i;
	u64 sent;

	if (!begin(hp, &v, 2))
		return false;
	life = life_of(hp);
	number = accepted_in(hp, &v, queue);
	for (i = 0, ok = number; i < MESSAGES && ok; i++) {
		other_first = i & 1;
		sent = hp->stream.sent;
		ok = send_in(hp, number, queue ^ other_first, i);
		hp->stream.sent = sent;
		ok = ok && send_in(hp, number, !queue ^ other_first, i);
	}
	for (i = 0; i < MESSAGES && ok; i++)
		ok = receives(&v, i);
	ok = ok && hp_check(!victim_post(&v) && victim_got(&v, 300) == -EAGAIN,
			    "there is one message more");
	ok = ok && send_in(hp, number, queue, MESSAGES);
	ok = ok && hp_check(!victim_got(&v, HP_WAIT_MS) && value_of(&v) == MESSAGES,
			    "the connection does not continue");
	ok = ok && send_in(hp, number, !queue, MESSAGES + 1) &&
	     send_in(hp, number, queue, MESSAGES + 2);
	ok = ok && hp_check(hp_wait(hp, number, HP_RECEIVED(NTW_CLOSE), HP_WAIT_MS),
			    "a stream without its middle continues");
	ok = ok && hp_check(!victim_post(&v) && victim_got(&v, 300) == -EAGAIN,
			    "a message came from behind missing ones");
	ok = ok && hp_check(hp_received(hp, number).queues == BIT(queue),
			    "the victim answers through another queue");
	ok = ok && hp_check(life_of(hp) == life, "the link ends, too");
	return end(hp, &v, ok);
}

bool hp_queue_alternates(struct hp *hp, struct victim *none)
{
	return alternates_once(hp, 1) && alternates_once(hp, 0);
}

#define PORTS		8U	/* enough to expect calls in both queues */

/*
 * The victim calls. Return: true if the CALL takes the queue of the two ports, and all that follows
 * the ANSWER does, too. If there is another queue, an ANSWER that comes through it has no effect.
 */
static bool answer_once(struct hp *hp, struct victim *v, u32 port, unsigned int queues)
{
	bool lower = ntb_peer_port_number(hp->ntb, 0) < ntb_port_number(hp->ntb), ok;
	struct ntw_addr us = address(hp, port);
	u32 number = hp_number(hp);
	struct ntw_calling call;
	struct hp_called called;

	if (!hp_check(!victim_send(v, &us), "nothing can be posted"))
		return false;
	called = hp_wait_called(hp, HP_PORT + port);
	call = (struct ntw_calling) {
		.number = called.number, .from = called.from, .to = called.to,
	};
	ok = hp_check(called.number, "it does not call") &&
	     hp_check(called.queue == ntw_call_queue(&call, lower, queues),
		      "the CALL has come through another queue");
	if (queues > 1) {
		hp_use_queue(hp, !called.queue);
		ok = ok && hp_check(!hp_send_answer(hp, called.number, number) &&
				    !hp_wait_taken(hp), "the link has gone");
		ok = ok && hp_check(!hp_wait(hp, number, HP_RECEIVED(NTW_DATA) |
					     HP_RECEIVED(NTW_CLOSE), 200),
				    "an ANSWER has an effect that came through another queue");
	}
	hp_use_queue(hp, called.queue);
	ok = ok && hp_check(!hp_send_answer(hp, called.number, number), "the link has gone");
	ok = ok && hp_check(hp_wait(hp, number, HP_RECEIVED(NTW_DATA), HP_WAIT_MS),
			    "it sends no hello");
	return ok && hp_check(hp_received(hp, number).queues == BIT(called.queue),
			      "the hello has come through another queue");
}

/* Calls of the victim, if the peer uses both queues, and if it uses one of them */
bool hp_queue_of_answer(struct hp *hp, struct victim *none)
{
	struct victim v = {};
	unsigned int queues, i;
	bool ok = true;

	for (queues = 2; queues && ok; queues--) {
		if (!begin(hp, &v, queues))
			return false;
		for (i = 0; i < PORTS && ok; i++)
			ok = answer_once(hp, &v, i, queues);
		ok = end(hp, &v, ok);
	}
	return ok;
}

/*
 * A port that has a connection calls again, through the other queue. The call must be refused, and
 * the connection continues.
 */
bool hp_queue_of_port(struct hp *hp, struct victim *none)
{
	struct hp_stream *first = kmalloc(sizeof(*first), GFP_KERNEL);
	struct victim v = {};
	u32 number, again;
	bool ok;

	if (!hp_check(first, "no memory") || !begin(hp, &v, 2)) {
		kfree(first);
		return false;
	}
	number = accepted_in(hp, &v, 0);
	*first = hp->stream;
	hp_use_queue(hp, 1);
	again = number ? hp_answered(hp, &v, 0) : 0;
	ok = again && hp_check(!hp_send_hello(hp, again, 1, false), "the link has gone");
	ok = ok && hp_check(hp_wait(hp, again, HP_HELLO(KFW_ACCEPT) | HP_HELLO(KFW_REJECT),
				    HP_WAIT_MS) == HP_HELLO(KFW_REJECT),
			    "a port has a second connection, through another queue");
	hp->stream = *first;
	ok = ok && send_in(hp, number, 0, 1) && receives(&v, 1);
	kfree(first);
	return end(hp, &v, ok);
}

/* ---- words of a control page ---- */

#define LINE(member)	offsetof(struct ntw_ctl, line.member)
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

/*
 * Words that belong to the first queue have no effect in the second one. Records of the bulk ring
 * wait for those of the message ring that come before them, which never do.
 */
bool hp_queue_words(struct hp *hp, struct victim *none)
{
	bool ok;
	u32 life;

	hp_set_queues(hp, 2, 2);
	ok = answers_in_both(hp);
	life = life_of(hp);
	hp_write_word(hp, 1, LINE(bye), 1);
	hp_write_word(hp, 1, offsetof(struct ntw_ctl, hello), ~0U);
	hp_write_word(hp, 1, offsetof(struct ntw_ctl, ready), ~0U);
	hp_write_word(hp, 1, BULK(after), hp->queue[1].placed / NTW_ALIGN + 1);
	hp_write_word(hp, 1, BULK(produced), NTW_ALIGN);
	msleep(500);
	ok = ok && hp_check(life_of(hp) == life, "a word of the first queue counts in the second one");
	hp_use_queue(hp, 0);
	ok = ok && hp_answers(hp) && hp_check(life_of(hp) == life, "the link ends");
	/* The missing record comes, and the one in the bulk ring is none. */
	hp_use_queue(hp, 1);
	ok = ok && hp_call(hp, NULL, 0);
	hp_flush(hp);
	ok = ok && hp_check(another_life(hp, life), "what is no record is accepted");
	hp_set_queues(hp, 1, 1);
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
	hp_use_queue(hp, 1);
	number = ok ? hp_call(hp, NULL, 0) : 0;
	ok = number && hp_check(!hp_wait(hp, number, HP_RECEIVED(NTW_ANSWER), 300),
				"a call is answered that came through a queue that is not in use");
	hp_add_positions(hp, 1, 1U << 30, 1, 1);
	msleep(500);
	hp_use_queue(hp, 0);
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
	hp_set_deaf(hp, BIT(1));
	ok = number && hp_check(hp_call(hp, NULL, 1), "the link has gone");
	hp_flush(hp);
	hp_use_queue(hp, 0);
	ok = ok && hp_answers(hp) && hp_check(life_of(hp) == life, "the link ends at once");
	ok = ok && hp_check(another_life(hp, life), "a queue that is not read is waited for");
	hp_set_deaf(hp, 0);
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
	ok = ok && hp_check(hp_wait(hp, number, HP_RECEIVED(NTW_CLOSE), HP_WAIT_MS),
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
