// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - blocks of 1 MiB, one after the other, each into its own buffer, as by RMA writes
 *
 * A thread sends, by copy; the receiver copies in softirq.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include "raw.h"

struct stream {
	struct raw_pair		pair;
	struct bench_mem	src;
	struct bench_mem	dst;
	struct completion	done;
	u64			got;
	u64			total;
	u64			end;
};

/* ---- receiver ---- */

static int stm_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct stream *st = desc->arg.data;
	u32 at = st->got % st->dst.size;
	u32 n = min_t(size_t, len, st->dst.size - at);

	if (skb_copy_bits(skb, off, bench_mem(&st->dst, st->got / st->dst.size) + at, n))
		return -EFAULT;
	st->got += n;
	return n;
}

static void stm_ready(struct sock *sk)
{
	struct stream *st = sk->sk_user_data;
	read_descriptor_t desc = { .arg.data = st, .count = 1 };

	if (tcp_read_sock(sk, &desc, stm_actor) > 0 && st->got == st->total) {
		st->end = bench_clock();
		complete(&st->done);
	}
}

/* ---- sender ---- */

static int stm_send(struct stream *st, u32 ops)
{
	u32 i;
	int ret;

	for (i = 0; i < ops; i++) {
		ret = raw_send(st->pair.sock[0], bench_mem(&st->src, i), st->src.size);
		if (ret != st->src.size)
			return ret < 0 ? ret : -EIO;
	}
	return 0;
}

static s64 stm_run(void *priv, u32 ops)
{
	struct stream *st = priv;
	u32 seed = bench_mem_stamp(&st->src);
	u64 start;
	int ret;

	st->got = 0;
	st->total = (u64)ops * st->src.size;
	reinit_completion(&st->done);
	start = bench_clock();
	ret = stm_send(st, ops);
	if (ret)
		kernel_sock_shutdown(st->pair.sock[0], SHUT_RDWR);
	if (!wait_for_completion_timeout(&st->done, 2 * BENCH_TIMEOUT))
		return -ETIMEDOUT;
	if (ret)
		return ret;
	return bench_mem_check(&st->dst, seed) ? st->end - start : -EBADMSG;
}

static void stm_close(void *priv)
{
	struct stream *st = priv;

	raw_pair_close(&st->pair);
	kfree(st);
}

static void *stm_open(struct bench_env *env, const struct bench_variant *v)
{
	struct stream *st = kzalloc(sizeof(*st), GFP_KERNEL);
	int ret;

	if (!st)
		return ERR_PTR(-ENOMEM);
	st->src = bench_mem_first(&env->mem[0], v->depth, v->size);
	st->dst = bench_mem_first(&env->mem[1], v->depth, v->size);
	init_completion(&st->done);
	ret = raw_pair_open(&st->pair, env);
	if (ret) {
		kfree(st);
		return ERR_PTR(ret);
	}
	raw_hook(&st->pair, 1, stm_ready, st);
	return st;
}

const struct bench_variant bench_tcp_stream_copy = {
	.name	= "tcp-copy",
	.open	= stm_open,
	.run	= stm_run,
	.close	= stm_close,
	.depth	= BENCH_DEPTH,
	.size	= BENCH_MB,
};
