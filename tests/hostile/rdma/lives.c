// SPDX-License-Identifier: GPL-2.0
/* lives.c - states of queue pairs, and peers that come late, go, or do not come. */
#include <linux/delay.h>
#include <linux/slab.h>
#include "cases.h"

/* ---- connections that need more than one call ---- */

/* The first call is refused, and the next one has no answer, until the device gives it up. */
bool second_call(void)
{
	struct hi_peer p = {};
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = pair_up(HI_HIGH, true, &q, &h);
	int asks;

	ok = ok && answer(q, h);
	if (ok) {
		asks = READ_ONCE(h->asks);
		hi_refuse(h);
		ok = check(hi_hear(&h->asks, asks + 1), "the device does not ask again") &&
		     answer(q, h);
	}
	if (ok) {
		asks = READ_ONCE(h->asks);
		ok = check(hi_hear(&h->asks, asks + 1), "the device waits for ever") &&
		     check(!hi_ready(h, q->ib->qp_num), "a packet can't be sent") &&
		     check(hi_hear(&h->calls, 3), "the device does not call again") &&
		     meet(q, h, HI_HIGH, &p) && say(&p, 0, 100);
	}
	hi_end(&p);
	return ended() && ok;
}

/*
 * The caller goes at once. Either the device has not noticed that it came, and waits for another
 * call, or the queue pair has ended, and can be used again.
 */
bool gone_caller(void)
{
	struct kib_hello hello;
	struct hi_peer p = {};
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = true;
	int i;

	for (i = 0; ok && i < 10; i++) {
		ok = pair_up(HI_LOW, true, &q, &h) &&
		     check(hi_hear(&h->readys, 1), "the device does not say READY");
		if (!ok)
			break;
		hello = hi_hello(q->ib->qp_num, h->secret);
		hi_patience = i;
		hi_call(&p, &hello, sizeof(hello));
		hi_patience = HI_WAIT;
		hi_end(&p);
		msleep(200);	/* until the device has noticed */
		if (completion_done(&q->last)) {
			h = hi_number();
			ok = check(!hi_qp_reset(q) && !hi_qp_up(q, HI_LOW, h->number),
				   "a queue pair can't be used again");
		}
		ok = ok && meet(q, h, HI_LOW, &p) && say(&p, 0, 100);
		hi_end(&p);
		ok &= ended();
	}
	return ended() && ok;
}

/* ---- states ---- */

static int move(struct hi_qp *q, enum ib_qp_state to)
{
	switch (to) {
	case IB_QPS_RESET:
		return hi_qp_reset(q);
	case IB_QPS_INIT:
		return hi_qp_init(q);
	case IB_QPS_RTR:
		return hi_qp_rtr(q, HI_HIGH, 0xfff);
	case IB_QPS_RTS:
		return hi_qp_rts(q);
	default:
		return hi_qp_to(q, to);
	}
}

/* Bring a new queue pair to a state. */
static bool in_state(struct hi_qp *q, enum ib_qp_state state)
{
	int to, ret = 0;

	if (state == IB_QPS_ERR)
		ret = hi_qp_init(q) ?: hi_qp_err(q);
	else
		for (to = IB_QPS_INIT; !ret && to <= state; to++)
			ret = move(q, to);
	return check(!ret && hi_qp_state(q) == state, "a state can't be reached");
}

/* From each state the ways that verbs have, and no other one. What is refused changes nothing. */
bool states(void)
{
	static const u8 ways[] = {	/* bits of states */
		[IB_QPS_RESET]	= BIT(IB_QPS_RESET) | BIT(IB_QPS_INIT),
		[IB_QPS_INIT]	= BIT(IB_QPS_RESET) | BIT(IB_QPS_INIT) | BIT(IB_QPS_RTR) |
				  BIT(IB_QPS_ERR),
		[IB_QPS_RTR]	= BIT(IB_QPS_RESET) | BIT(IB_QPS_RTS) | BIT(IB_QPS_ERR),
		[IB_QPS_RTS]	= BIT(IB_QPS_RESET) | BIT(IB_QPS_ERR),
		[IB_QPS_SQD]	= 0,
		[IB_QPS_SQE]	= 0,
		[IB_QPS_ERR]	= BIT(IB_QPS_RESET) | BIT(IB_QPS_ERR),
	};
	int from, to, ret;
	struct hi_qp *q;
	bool ok = true;

	for (from = IB_QPS_RESET; from <= IB_QPS_ERR; from++) {
		for (to = IB_QPS_RESET; ok && ways[from] && to <= IB_QPS_ERR; to++) {
			q = hi_qp_new(true);
			ok = check(q, "a queue pair can't be had") && in_state(q, from);
			/* each way to INIT, RTR and RTS needs attributes */
			if (ok && from != to && to != IB_QPS_RESET && to != IB_QPS_ERR)
				ok = check(hi_qp_to(q, to), "attributes are missing") &&
				     check(hi_qp_state(q) == from, "a refusal has an effect");
			ret = ok ? move(q, to) : 0;
			ok = ok && check(!ret == !!(ways[from] & BIT(to)), "not as in verbs") &&
			     check(hi_qp_state(q) == (ret ? from : to), "a state is wrong");
			if (!ok)
				pr_err("hostile: wrong: from %d to %d\n", from, to);
			if (q)
				hi_qp_destroy(q);
		}
	}
	return ok;
}

/* ---- ends ---- */

enum phase { HEARD, ASKED, CALLED, CONNECTED, PHASES };
enum end { DESTROY, RESET, ERR, ENDS };

#define GOES_ON	24	/* packets */
#define TALKS	8	/* messages: more than the receives of the queue pair */

/* Bring a new queue pair to a phase. */
static bool reach(struct hi_qp *q, struct hi_heard *h, enum hi_side side, enum phase phase,
		  struct hi_peer *p)
{
	struct kib_packet_head ask = hi_head(side, KIB_PACKET_ASK, h->number, q->ib->qp_num);
	struct kib_hello hello;

	*p = (struct hi_peer) {};
	if (!check(!hi_qp_init(q), "INIT fails"))
		return false;
	if (phase == HEARD)
		return check(!(side == HI_LOW ? hi_say(side, &ask, sizeof(ask)) :
						hi_ready(h, q->ib->qp_num)),
			     "a packet can't be sent");
	if (!check(!hi_qp_rtr(q, side, h->number) && !hi_qp_rts(q), "RTR fails"))
		return false;
	if (phase == CONNECTED)
		return meet(q, h, side, p);
	if (!check(hi_hear(side == HI_LOW ? &h->readys : &h->asks, 1), "the device is silent"))
		return false;
	if (phase == ASKED)
		return true;
	if (side == HI_HIGH)
		return answer(q, h);
	hello = hi_hello(q->ib->qp_num, h->secret);
	hi_patience = 0;
	hi_call(p, &hello, sizeof(hello));
	hi_patience = HI_WAIT;
	return true;
}

/* What a peer goes on with */
struct goes_on {
	struct hi_op		packets[GOES_ON], messages[TALKS];
	struct kib_packet_head	head[GOES_ON];
	bool			said[GOES_ON], talked[TALKS];
};

static void go_on(struct goes_on *g, struct hi_heard *h, u32 qpn, enum hi_side side,
		  struct hi_peer *p, bool connected)
{
	int i;

	for (i = 0; i < GOES_ON; i++) {
		g->head[i] = hi_head(side, i % 2 ? KIB_PACKET_READY : KIB_PACKET_ASK, h->number,
				     qpn);
		if (i % 2)
			g->head[i].secret = cpu_to_be64(h->said);
		g->said[i] = !hi_say_begin(side, &g->packets[i], &g->head[i], sizeof(g->head[i]));
	}
	for (i = 0; connected && i < TALKS; i++)
		g->talked[i] = !hi_begin(p, &g->messages[i], buf, i % 2 ? 100 : 30000, 0, 0, 0);
}

/* Messages without a receive end with the connection. */
static void go_on_end(struct goes_on *g, struct hi_peer *p)
{
	int i;

	hi_end(p);
	for (i = 0; i < GOES_ON; i++)
		if (g->said[i])
			hi_wait(&g->packets[i]);
	for (i = 0; i < TALKS; i++)
		if (g->talked[i])
			hi_wait(&g->messages[i]);
}

/* After RESET a queue pair is as a new one. Its receives are its own. */
static bool anew(struct hi_qp *q, enum hi_side side)
{
	struct hi_heard *h = hi_number();
	struct hi_peer p = {};
	bool ok = check(!hi_qp_up(q, side, h->number), "a queue pair can't be used again") &&
		  meet(q, h, side, &p) && say(&p, 0, 100) &&
		  check(wait_until(&q->own, 1), "a message got lost");

	hi_end(&p);
	return ok;
}

static bool end_in(struct goes_on *g, enum hi_side side, enum phase phase, enum end end)
{
	struct hi_heard *h = hi_number();
	struct hi_qp *q = hi_qp_new(false);
	struct hi_peer p = {};
	bool ok = check(q, "a queue pair can't be had");
	u32 qpn;

	if (!ok)
		return false;
	qpn = q->ib->qp_num;
	memset(g, 0, sizeof(*g));
	ok = reach(q, h, side, phase, &p);
	go_on(g, h, qpn, side, &p, ok && phase == CONNECTED);
	if (end == DESTROY)
		hi_qp_destroy(q);
	else if (end == RESET)
		ok &= check(!hi_qp_reset(q), "RESET fails");
	else
		ok &= check(!hi_qp_err(q) && wait_for_completion_timeout(&q->last, HI_WAIT),
			    "the receives do not end");
	ok &= no_entry(qpn, h->secret);
	h->refuse = true;
	hi_refuse(h);
	go_on_end(g, &p);
	if (end == ERR)
		ok &= check(!hi_qp_reset(q), "RESET fails");
	if (end != DESTROY)
		ok = ok && anew(q, side);
	return ended() && ok;
}

/* A queue pair ends in any phase, while its peer goes on with packets, calls and messages. */
bool phases(void)
{
	struct goes_on *g = kvzalloc(sizeof(*g), GFP_KERNEL);
	bool ok = g;
	int i;

	for (i = 0; ok && i < HI_SIDES * PHASES * ENDS; i++) {
		ok = end_in(g, i % HI_SIDES, i / HI_SIDES % PHASES, i / HI_SIDES / PHASES);
		if (!ok)
			pr_err("hostile: wrong: side %d, phase %d, end %d\n", i % HI_SIDES,
			       i / HI_SIDES % PHASES, i / HI_SIDES / PHASES);
	}
	kvfree(g);
	return ok;
}

/* ---- both sides within the device ---- */

/* Both may send before either knows that the other one is ready; and then one of them ends. */
static bool within_once(struct hi_qp *q[HI_SIDES])
{
	bool ok = check(!hi_qp_init(q[0]) && !hi_qp_init(q[1]) && !hi_qp_rtr_within(q[0], q[1]) &&
			!hi_qp_rts(q[0]) && !hi_qp_send(q[0]) && !hi_qp_rtr_within(q[1], q[0]) &&
			!hi_qp_rts(q[1]) && !hi_qp_send(q[1]), "queue pairs can't be used");
	int i;

	for (i = 0; ok && i < HI_SIDES; i++)
		ok = check(wait_for_completion_timeout(&q[i]->sent, HI_WAIT), "a send waits") &&
		     check(q[i]->status == IB_WC_SUCCESS, "a send fails") &&
		     check(wait_until(&q[!i]->own, 1), "a message got lost");
	return ok && check(!hi_qp_err(q[0]) && wait_until(&q[1]->own, HI_OWN_RECVS),
			   "one does not end with the other one") &&
	       check(!hi_qp_send(q[1]) && wait_for_completion_timeout(&q[1]->sent, HI_WAIT) &&
		     q[1]->status == IB_WC_WR_FLUSH_ERR, "a send after the end is not flushed");
}

bool within(void)
{
	struct hi_qp *q[HI_SIDES];
	bool ok = true;
	int i;

	for (i = 0; ok && i < 10; i++) {
		q[0] = hi_qp_new(false);
		q[1] = hi_qp_new(false);
		ok = check(q[0] && q[1], "a queue pair can't be had") && within_once(q);
		ok &= ended();
	}
	return ok;
}

/* ---- a peer that does not come ---- */

#define PATIENCE	(15 * HZ)	/* of a request, at least */
#define SILENT		5		/* queue pairs */

/*
 * A request that waits for its peer fails after a time, whether the peer says nothing, refuses each
 * call, or does not answer one. A queue pair without a request waits for as long as it takes.
 */
bool silent(void)
{
	static const enum hi_side sides[SILENT] = { HI_HIGH, HI_LOW, HI_HIGH, HI_HIGH, HI_HIGH };
	struct hi_heard *h[SILENT] = {};
	struct hi_qp *q[SILENT] = {};
	unsigned long start;
	struct hi_peer p = {};
	bool ok = true;
	int i;

	for (i = 0; ok && i < SILENT; i++)
		ok = pair_up(sides[i], true, &q[i], &h[i]);
	if (!ok)
		return ended() && ok;
	h[2]->refuse = true;
	start = jiffies;
	for (i = 0; ok && i < SILENT - 1; i++)		/* not the last one */
		ok = check(!hi_qp_send(q[i]), "a send can't be posted");
	while (ok && time_before(jiffies, start + PATIENCE - HZ)) {
		hi_ready(h[2], q[2]->ib->qp_num);
		hi_ready(h[3], q[3]->ib->qp_num);
		msleep(500);
		for (i = 0; i < SILENT; i++)
			ok &= check(!completion_done(&q[i]->sent) && !completion_done(&q[i]->last),
				    "a request fails too early");
	}
	for (i = 0; ok && i < SILENT - 1; i++)
		ok = check(wait_for_completion_timeout(&q[i]->sent, 5 * HZ),
			   "a request waits for ever") &&
		     check(q[i]->status == IB_WC_RETRY_EXC_ERR, "a request ends otherwise");
	ok = ok && check(h[2]->calls && h[3]->calls, "the device has not called");
	while (ok && time_before(jiffies, start + 4 * PATIENCE))
		msleep(1000);
	ok = ok && check(!completion_done(&q[4]->last), "a queue pair without a request ends") &&
	     meet(q[4], h[4], HI_HIGH, &p) && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}
