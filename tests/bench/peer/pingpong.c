// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong.c - round trips: threads that block on both ends, or softirq on both ends.
 *
 * The request carries a number, which the answer must bring back.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "raw.h"

#define PP_MAX	4096

/**
 * struct pp_end - one end in softirq
 * @have: bytes of the current message received into @buf
 */
struct pp_end {
	struct pingpong	*pp;
	u32		have;
	u8		buf[PP_MAX];
};

struct pingpong {
	struct raw_pair		pair;
	struct pp_end		end[2];
	struct completion	done;
	u32			size;
	u32			ops;
	u32			at;
	int			err;
};

static void *pp_open(struct bench_env *env, const struct bench_variant *v)
{
	struct pingpong *pp = kzalloc(sizeof(*pp), GFP_KERNEL);
	int ret;

	if (!pp)
		return ERR_PTR(-ENOMEM);
	pp->size = v->size;
	pp->end[0].pp = pp;
	pp->end[1].pp = pp;
	init_completion(&pp->done);
	ret = raw_pair_open(&pp->pair, env);
	if (!ret)
		return pp;
	kfree(pp);
	return ERR_PTR(ret);
}

static void pp_close(void *priv)
{
	struct pingpong *pp = priv;

	raw_pair_close(&pp->pair);
	kfree(pp);
}

/* ---- threads that block ---- */

static int pp_answer_thread(void *data)
{
	struct pingpong *pp = data;
	u8 *buf = pp->end[1].buf;
	u32 i;

	for (i = 0; i < pp->ops; i++) {
		if (raw_recv(pp->pair.sock[1], buf, pp->size, MSG_WAITALL) != pp->size ||
		    raw_send(pp->pair.sock[1], buf, pp->size) != pp->size) {
			pp->err = -EIO;
			break;
		}
	}
	complete(&pp->done);
	return 0;
}

static int pp_ask(struct pingpong *pp)
{
	u8 *buf = pp->end[0].buf;
	u32 i;

	for (i = 0; i < pp->ops; i++) {
		*(u32 *)buf = i;
		if (raw_send(pp->pair.sock[0], buf, pp->size) != pp->size)
			return -EIO;
		*(u32 *)buf = ~i;
		if (raw_recv(pp->pair.sock[0], buf, pp->size, MSG_WAITALL) != pp->size)
			return -EIO;
		if (*(u32 *)buf != i)
			return -EBADMSG;
	}
	return 0;
}

static s64 pp_run_block(void *priv, u32 ops)
{
	struct pingpong *pp = priv;
	struct task_struct *task;
	u64 start;
	int ret;

	pp->ops = ops;
	reinit_completion(&pp->done);
	task = kthread_run(pp_answer_thread, pp, "bench_tcp");
	if (IS_ERR(task))
		return PTR_ERR(task);
	start = bench_clock();
	ret = pp_ask(pp);
	start = bench_clock() - start;
	if (ret)
		kernel_sock_shutdown(pp->pair.sock[0], SHUT_RDWR);
	wait_for_completion(&pp->done);
	return ret ?: pp->err ?: start;
}

/* ---- softirq ---- */

static int pp_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct pp_end *end = desc->arg.data;
	u32 n = min_t(size_t, len, end->pp->size - end->have);

	if (skb_copy_bits(skb, off, end->buf + end->have, n))
		return -EFAULT;
	end->have += n;
	if (end->have == end->pp->size)
		desc->count = 0;
	return n;
}

/* Is a message complete? */
static bool pp_take(struct sock *sk, struct pp_end *end)
{
	read_descriptor_t desc = { .arg.data = end, .count = 1 };

	tcp_read_sock(sk, &desc, pp_actor);
	if (end->have < end->pp->size)
		return false;
	end->have = 0;
	return true;
}

static void pp_fail(struct pingpong *pp, int err)
{
	pp->err = err;
	complete(&pp->done);
}

static void pp_answer_ready(struct sock *sk)
{
	struct pp_end *end = sk->sk_user_data;

	if (pp_take(sk, end) && raw_send_softirq(sk, end->buf, end->pp->size) != end->pp->size)
		pp_fail(end->pp, -EIO);
}

static void pp_ask_ready(struct sock *sk)
{
	struct pp_end *end = sk->sk_user_data;
	struct pingpong *pp = end->pp;

	if (!pp_take(sk, end))
		return;
	if (*(u32 *)end->buf != pp->at) {
		pp_fail(pp, -EBADMSG);
		return;
	}
	if (++pp->at == pp->ops) {
		complete(&pp->done);
		return;
	}
	*(u32 *)end->buf = pp->at;
	if (raw_send_softirq(sk, end->buf, pp->size) != pp->size)
		pp_fail(pp, -EIO);
}

static void *pp_open_softirq(struct bench_env *env, const struct bench_variant *v)
{
	struct pingpong *pp = pp_open(env, v);

	if (!IS_ERR(pp)) {
		raw_hook(&pp->pair, 0, pp_ask_ready, &pp->end[0]);
		raw_hook(&pp->pair, 1, pp_answer_ready, &pp->end[1]);
	}
	return pp;
}

static s64 pp_run_softirq(void *priv, u32 ops)
{
	struct pingpong *pp = priv;
	u64 start;

	pp->ops = ops;
	pp->at = 0;
	*(u32 *)pp->end[0].buf = 0;
	reinit_completion(&pp->done);
	start = bench_clock();
	if (raw_send_from(pp->pair.sock[0]->sk, pp->end[0].buf, pp->size) != pp->size)
		return -EIO;
	if (!wait_for_completion_timeout(&pp->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	start = bench_clock() - start;
	return pp->err ?: start;
}

const struct bench_variant bench_tcp_pingpong_block = {
	.name	= "tcp-block",
	.open	= pp_open,
	.run	= pp_run_block,
	.close	= pp_close,
	.depth	= 1,
	.size	= 8,
};

const struct bench_variant bench_tcp_pingpong_softirq = {
	.name	= "tcp-softirq",
	.open	= pp_open_softirq,
	.run	= pp_run_softirq,
	.close	= pp_close,
	.depth	= 1,
	.size	= 8,
};
