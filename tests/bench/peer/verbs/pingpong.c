// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong.c - round trips: threads that sleep on both ends, or softirq on both ends
 *
 * The request carries a number, which the answer must return. The receiver of a message answers
 * first and then posts its receive again.
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include "rv.h"

#define PP_MAX		64
#define PP_RECVS	4
#define PP_SENDS	32
#define PP_SIGNAL	16	/* one of so many sends is signaled */

struct pp_side {
	struct pingpong		*pp;
	struct rv_end		*end;
	struct rv_slot		send;
	struct rv_slot		recv[PP_RECVS];
	struct completion	arrived;
	u32			sent;
	u32			taken;
	u8			out[PP_MAX] __aligned(8);
	u8			in[PP_RECVS][PP_MAX] __aligned(8);
};

struct pingpong {
	struct rv_pair		pair;
	struct pp_side		side[2];
	struct completion	answered;
	u32			ops;
	u32			at;
};

static int pp_send(struct pp_side *side, u64 number)
{
	*(u64 *)side->out = number;
	rv_report(&side->send, ++side->sent % PP_SIGNAL == 0);
	return rv_post_send(side->end, &side->send);
}

static void pp_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pp_side *side = rv_slot(wc)->owner;

	rv_bad(&side->pp->pair, wc);
}

/* ---- threads that sleep ---- */

static void pp_wake(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pp_side *side = rv_slot(wc)->owner;

	if (!rv_bad(&side->pp->pair, wc))
		complete(&side->arrived);
}

/* Messages arrive in the order of receives. */
static int pp_take(struct pp_side *side, struct rv_slot **slot)
{
	if (!wait_for_completion_timeout(&side->arrived, BENCH_TIMEOUT))
		return side->pp->pair.err ?: -ETIMEDOUT;
	*slot = &side->recv[side->taken++ % PP_RECVS];
	rv_arrived(side->end, *slot);
	return 0;
}

static int pp_answer_thread(void *data)
{
	struct pingpong *pp = data;
	struct pp_side *side = &pp->side[1];
	struct rv_slot *slot;
	u32 i;
	int ret = 0;

	for (i = 0; i < pp->ops && !ret; i++)
		ret = pp_take(side, &slot)		       ?:
			      pp_send(side, *(u64 *)slot->buf) ?:
								 rv_post_recv(side->end, slot);
	if (ret)
		rv_fail(&pp->pair, ret);
	complete(&pp->answered);
	return 0;
}

static int pp_ask(struct pingpong *pp)
{
	struct pp_side *side = &pp->side[0];
	struct rv_slot *slot;
	int ret = 0;
	u64 i;

	for (i = 0; i < pp->ops && !ret; i++) {
		ret = pp_send(side, i) ?: pp_take(side, &slot);
		if (!ret && *(u64 *)slot->buf != i)
			ret = -EBADMSG;
		ret = ret ?: rv_post_recv(side->end, slot);
	}
	return ret;
}

static s64 pp_run_block(void *priv, u32 ops)
{
	struct pingpong *pp = priv;
	u64 start;
	int ret;

	pp->ops = ops;
	reinit_completion(&pp->answered);
	if (IS_ERR(kthread_run(pp_answer_thread, pp, "bench_verbs")))
		return -ENOMEM;
	start = bench_clock();
	ret = pp_ask(pp);
	start = bench_clock() - start;
	wait_for_completion(&pp->answered);
	return ret ?: pp->pair.err ?: start;
}

/* ---- softirq on each side ---- */

static int pp_asked(struct pingpong *pp, u64 number)
{
	if (number != pp->at)
		return -EBADMSG;
	if (++pp->at < pp->ops)
		return pp_send(&pp->side[0], pp->at);
	complete(&pp->pair.done);
	return 0;
}

static void pp_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rv_slot *slot = rv_slot(wc);
	struct pp_side *side = slot->owner;
	struct pingpong *pp = side->pp;
	u64 number;
	int ret;

	if (rv_bad(&pp->pair, wc))
		return;
	number = *(u64 *)rv_arrived(side->end, slot);
	ret = side == &pp->side[1] ? pp_send(side, number) : pp_asked(pp, number);
	ret = ret ?: rv_post_recv(side->end, slot);
	if (ret)
		rv_fail(&pp->pair, ret);
}

static s64 pp_run_softirq(void *priv, u32 ops)
{
	struct pingpong *pp = priv;
	u64 start;
	int ret;

	pp->ops = ops;
	pp->at = 0;
	reinit_completion(&pp->pair.done);
	start = bench_clock();
	ret = pp_send(&pp->side[0], 0);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&pp->pair.done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	start = bench_clock() - start;
	return pp->pair.err ?: start;
}

/* ---- common ---- */

static void pp_free(struct pp_side *side)
{
	int i;

	rv_slot_free(side->end, &side->send);
	for (i = 0; i < PP_RECVS; i++)
		rv_slot_free(side->end, &side->recv[i]);
}

static void pp_close(void *priv)
{
	struct pingpong *pp = priv;

	rv_pair_stop(&pp->pair);
	pp_free(&pp->side[0]);
	pp_free(&pp->side[1]);
	rv_pair_close(&pp->pair);
	kfree(pp);
}

static int pp_prepare(struct pingpong *pp, int nr, u32 size, rv_done *received)
{
	struct pp_side *side = &pp->side[nr];
	int i, ret;

	side->pp = pp;
	side->end = &pp->pair.end[nr];
	init_completion(&side->arrived);
	ret = rv_slot_send(side->end, &side->send, side->out, size, pp_sent, side);
	for (i = 0; i < PP_RECVS && !ret; i++)
		ret = rv_slot_recv(side->end, &side->recv[i], side->in[i], size, received, side);
	return ret;
}

static void *pp_open(struct bench_env *env, const struct bench_variant *v)
{
	struct pingpong *pp = kzalloc(sizeof(*pp), GFP_KERNEL);
	rv_done *received = v->run == pp_run_block ? pp_wake : pp_received;
	int ret;

	if (!pp)
		return ERR_PTR(-ENOMEM);
	init_completion(&pp->answered);
	ret = rv_pair_open(&pp->pair, env, PP_SENDS, PP_RECVS);
	if (ret) {
		kfree(pp);
		return ERR_PTR(ret);
	}
	ret = pp_prepare(pp, 0, v->size, received) ?: pp_prepare(pp, 1, v->size, received);
	if (!ret)
		return pp;
	pp_close(pp);
	return ERR_PTR(ret);
}

#define PINGPONG(_name, _run, _size)	\
	{				\
		.name	= _name,	\
		.open	= pp_open,	\
		.run	= _run,		\
		.close	= pp_close,	\
		.depth	= 1,		\
		.size	= _size,	\
	}

const struct bench_variant bench_rv_pingpong_block = PINGPONG("raw-block", pp_run_block, 8);
const struct bench_variant bench_rv_pingpong_softirq = PINGPONG("raw-softirq", pp_run_softirq, 8);
