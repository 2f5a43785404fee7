// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - many messages one after the other, or blocks written to the other node's memory. A
 * thread posts them, as many as there is room for, one by one or in chains.
 *
 * A message needs a receive at the other end. The receiver works in softirq: it checks each
 * message, posts receives again several at a time, and now and then grants the sender more messages
 * by an empty one. Writes have no receiver: an empty message behind the last write tells that all
 * have arrived.
 *
 * All blocks are signaled: then siw copies them to TCP, which is faster than its way with pages.
 * The completion of a write over siw means only that TCP has the data, and siw does not bound how
 * much TCP has; so an empty read follows each write there, and its completion tells when there is
 * room for another write.
 */
#include <linux/slab.h>
#include <linux/wait.h>
#include "rv.h"

#define STM_DEPTH	64	/* maximum */
#define STM_AHEAD	4	/* receives for each message in progress */
#define STM_RECVS	(STM_DEPTH * STM_AHEAD)
#define STM_GRANTS	8	/* receives for empty messages */

/**
 * struct stream - state of a variant
 * @depth: messages in progress
 * @chain: messages posted at once
 * @signal: one of so many messages is signaled
 * @posted: messages posted since the beginning
 * @ended: messages completed since the beginning
 * @granted: messages granted since the beginning
 * @got: messages received since the beginning
 * @until: value of @got at which the run ends, at @end
 * @fresh: receives that were used and not posted again
 * @nfresh: number of @fresh
 * @freshest: last of @fresh
 */
struct stream {
	struct rv_pair		pair;
	bool			write;
	bool			probes;
	u32			depth;
	u32			size;
	u32			chain;
	u32			signal;
	wait_queue_head_t	room;
	u32			posted;
	u32			ended;
	u32			granted;
	struct rv_slot		out[STM_DEPTH];
	struct rv_slot		last;
	struct rv_slot		probe;
	struct rv_slot		grants[STM_GRANTS];
	struct rv_region	region[BENCH_MEM_MAX];

	u32			got;
	u32			until;
	u64			end;
	struct ib_recv_wr	*fresh;
	struct ib_recv_wr	*freshest;
	u32			nfresh;
	struct rv_slot		grant;
	struct rv_slot		in[STM_RECVS];

	struct bench_mem	src;
	struct bench_mem	dst;
	u8			*mem;	/* of short messages */
};

static u32 stm_recvs(const struct stream *st)
{
	return st->depth * STM_AHEAD;
}

/* ---- receiver ---- */

static int stm_flush(struct stream *st)
{
	const struct ib_recv_wr *first = st->fresh;

	st->fresh = NULL;
	st->nfresh = 0;
	return ib_post_recv(st->pair.end[1].qp, first, NULL);
}

static int stm_renew(struct stream *st, struct rv_slot *slot)
{
	slot->recv.next = NULL;
	if (st->fresh)
		st->freshest->next = &slot->recv;
	else
		st->fresh = &slot->recv;
	st->freshest = &slot->recv;
	return ++st->nfresh < stm_recvs(st) / 16 ? 0 : stm_flush(st);
}

static void stm_end(struct stream *st)
{
	st->end = bench_clock();
	complete(&st->pair.done);
}

static int stm_take(struct stream *st, struct rv_slot *slot, u32 len)
{
	const void *buf = rv_arrived(&st->pair.end[1], slot);
	int ret;

	if (len != st->size || (st->mem && *(u32 *)buf != st->got))
		return -EBADMSG;
	ret = stm_renew(st, slot);
	if (!ret && ++st->got % st->depth == 0)
		ret = rv_post_send(&st->pair.end[1], &st->grant);
	return ret;
}

static void stm_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *st = rv_slot(wc)->owner;
	int ret;

	if (rv_bad(&st->pair, wc))
		return;
	ret = stm_take(st, rv_slot(wc), wc->byte_len);
	if (ret)
		rv_fail(&st->pair, ret);
	else if (st->got == st->until)
		stm_end(st);
}

static void stm_written(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *st = rv_slot(wc)->owner;

	if (rv_bad(&st->pair, wc))
		return;
	if (rv_post_recv(&st->pair.end[1], rv_slot(wc)))
		rv_fail(&st->pair, -EIO);
	else
		stm_end(st);
}

static void stm_said(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *st = rv_slot(wc)->owner;

	rv_bad(&st->pair, wc);
}

/* ---- sender ---- */

/* Return how many may be posted now. A write needs no receive, so its grants are unlimited. */
static u32 stm_room(const struct stream *st)
{
	u32 room = st->depth - (st->posted - READ_ONCE(st->ended));

	return st->write ? room : min(room, stm_recvs(st) - (st->posted - READ_ONCE(st->granted)));
}

static void stm_more(struct stream *st)
{
	if (stm_room(st) >= st->chain)
		wake_up(&st->room);
}

static void stm_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *st = rv_slot(wc)->owner;

	if (rv_bad(&st->pair, wc))
		return;
	WRITE_ONCE(st->ended, st->ended + st->signal);
	stm_more(st);
}

static void stm_granted(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *st = rv_slot(wc)->owner;

	if (rv_bad(&st->pair, wc))
		return;
	WRITE_ONCE(st->granted, st->granted + st->depth);
	stm_more(st);
	if (rv_post_recv(&st->pair.end[0], rv_slot(wc)))
		rv_fail(&st->pair, -EIO);
}

/* Post a chain as long as there is room for, but at most @left. */
static int stm_post(struct stream *st, u32 left)
{
	u32 n = st->chain == 1 ? 1 : min(stm_room(st), left), i;
	struct rv_slot *first = &st->out[st->posted % st->depth], *slot = first;

	for (i = 0; i < n; i++, st->posted++) {
		slot = &st->out[st->posted % st->depth];
		if (st->mem)
			*(u32 *)slot->buf = st->posted;
		slot->send.wr.next = i + 1 < n ? &st->out[(st->posted + 1) % st->depth].send.wr :
						 NULL;
	}
	if (st->probes)
		slot->send.wr.next = &st->probe.send.wr;
	return rv_post_send(&st->pair.end[0], first);
}

static int stm_send(struct stream *st, u32 ops)
{
	u32 until = st->posted + ops;
	int ret = 0;

	while (st->posted != until && !ret) {
		if (!wait_event_timeout(st->room, stm_room(st) >= st->chain || st->pair.err,
					BENCH_TIMEOUT))
			return -ETIMEDOUT;
		ret = st->pair.err ?: stm_post(st, until - st->posted);
	}
	return st->write && !ret ? rv_post_send(&st->pair.end[0], &st->last) : ret;
}

static s64 stm_run(void *priv, u32 ops)
{
	struct stream *st = priv;
	u32 seed = st->mem ? 0 : bench_mem_stamp(&st->src);
	u64 start;
	int ret;

	st->until = st->got + ops;
	reinit_completion(&st->pair.done);
	start = bench_clock();
	ret = stm_send(st, ops);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&st->pair.done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	if (st->pair.err)
		return st->pair.err;
	return st->mem || bench_mem_check(&st->dst, seed) ? st->end - start : -EBADMSG;
}

/* ---- open, run and close ---- */

static void stm_close(void *priv)
{
	struct stream *st = priv;
	struct rv_end *end = st->pair.end;
	u32 i;

	rv_pair_stop(&st->pair);
	for (i = 0; i < STM_DEPTH; i++)
		rv_slot_free(&end[0], &st->out[i]);
	for (i = 0; i < STM_RECVS; i++)
		rv_slot_free(&end[1], &st->in[i]);
	for (i = 0; i < BENCH_MEM_MAX; i++)
		rv_region_close(&end[1], &st->region[i]);
	rv_pair_close(&st->pair);
	kfree(st->mem);
	kvfree(st);
}

static void *stm_in(struct stream *st, u32 i)
{
	return st->mem ? st->mem + (st->depth + i) * st->size : bench_mem(&st->dst, i);
}

static void *stm_out(struct stream *st, u32 i)
{
	return st->mem ? st->mem + i * st->size : bench_mem(&st->src, i);
}

/* Follows each write over iWARP, where the completion of a write tells nothing. */
static int stm_probe(struct stream *st)
{
	struct rv_end *end = &st->pair.end[0];
	u32 i;
	int ret = rv_slot_send(end, &st->probe, NULL, 0, stm_sent, st);

	rv_report(&st->probe, true);
	st->probe.send.wr.opcode = IB_WR_RDMA_READ;
	st->probe.send.wr.num_sge = 1;
	st->probes = rdma_protocol_iwarp(end->id->device, end->id->port_num);
	for (i = 0; i < st->depth && st->probes; i++)
		st->out[i].cqe.done = stm_said;
	return ret;
}

/* The part of the receiver in a write */
static int stm_expose(struct stream *st)
{
	struct rv_end *end = &st->pair.end[1];
	u32 i;
	int ret = stm_probe(st) ?: rv_slot_recv(end, &st->in[0], NULL, 0, stm_written, st);

	for (i = 0; i < st->depth && !ret; i++) {
		ret = rv_region_open(end, &st->region[i], st->dst.page[i], st->size);
		if (ret)
			break;
		st->out[i].send.wr.opcode = IB_WR_RDMA_WRITE;
		st->out[i].send.remote_addr = st->region[i].mr->iova;
		st->out[i].send.rkey = st->region[i].mr->rkey;
	}
	return ret;
}

static int stm_receives(struct stream *st)
{
	struct rv_end *end = st->pair.end;
	u32 i;
	int ret = rv_slot_send(&end[1], &st->grant, NULL, 0, stm_said, st);

	rv_report(&st->grant, true);
	for (i = 0; i < stm_recvs(st) && !ret; i++)
		ret = rv_slot_recv(&end[1], &st->in[i], stm_in(st, i), st->size, stm_received, st);
	for (i = 0; i < STM_GRANTS && !ret; i++)
		ret = rv_slot_recv(&end[0], &st->grants[i], NULL, 0, stm_granted, st);
	return ret;
}

static int stm_prepare(struct stream *st)
{
	struct rv_end *end = &st->pair.end[0];
	u32 i;
	int ret = rv_slot_send(end, &st->last, NULL, 0, stm_said, st);

	rv_report(&st->last, true);
	for (i = 0; i < st->depth && !ret; i++) {
		ret = rv_slot_send(end, &st->out[i], stm_out(st, i), st->size, stm_sent, st);
		rv_report(&st->out[i], i % st->signal == st->signal - 1);
	}
	return ret ?: st->write ? stm_expose(st) : stm_receives(st);
}

static int stm_alloc(struct stream *st, struct bench_env *env)
{
	init_waitqueue_head(&st->room);
	st->src = bench_mem_first(&env->mem[0], st->depth, st->size);
	st->dst = bench_mem_first(&env->mem[1], st->depth, st->size);
	if (st->write || st->size == BENCH_MB)
		return 0;
	st->mem = kzalloc((st->depth + stm_recvs(st)) * st->size, GFP_KERNEL);
	return st->mem ? 0 : -ENOMEM;
}

static void *stm_open(struct bench_env *env, const struct bench_variant *v)
{
	struct stream *st = kvzalloc(sizeof(*st), GFP_KERNEL);
	int ret;

	if (!st)
		return ERR_PTR(-ENOMEM);
	st->depth = v->depth;
	st->size = v->size;
	st->write = !v->arg;
	st->chain = max(v->arg, 1UL);
	st->signal = st->size == BENCH_MB ? 1 : st->depth / 4;
	ret = stm_alloc(st, env);
	ret = ret   ?:
		      rv_pair_open(&st->pair, env, 2 * st->depth + STM_GRANTS,
				   stm_recvs(st) + STM_GRANTS);
	if (ret) {
		kfree(st->mem);
		kvfree(st);
		return ERR_PTR(ret);
	}
	ret = stm_prepare(st);
	if (!ret)
		return st;
	stm_close(st);
	return ERR_PTR(ret);
}

/* _chain: 0 is a write */
#define STREAM(_name, _chain, _depth, _size)	\
	{					\
		.name	= _name,		\
		.open	= stm_open,		\
		.run	= stm_run,		\
		.close	= stm_close,		\
		.arg	= _chain,		\
		.depth	= _depth,		\
		.size	= _size,		\
	}

const struct bench_variant bench_rv_messages_single = STREAM("raw-single", 1, STM_DEPTH, 64);
const struct bench_variant bench_rv_messages_chain = STREAM("raw-chain", 32, STM_DEPTH, 64);
const struct bench_variant bench_rv_stream_send = STREAM("raw-send", 1, BENCH_BLOCKS, BENCH_MB);
const struct bench_variant bench_rv_stream_write = STREAM("raw-write", 0, BENCH_BLOCKS, BENCH_MB);
const struct bench_variant bench_rv_write_8 = STREAM("raw-write-8", 0, BENCH_BLOCKS, 8);
const struct bench_variant bench_rv_write_4k = STREAM("raw-write-4k", 0, BENCH_BLOCKS, 4096);
