// SPDX-License-Identifier: GPL-2.0
/*
 * messages.c - small messages: a thread sends them, one per call or 64 per call; the receiver puts
 * each into a buffer of its own in softirq and looks at its number.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include "raw.h"

#define MSGS_RING	64

struct msgs {
	struct raw_pair		pair;
	struct completion	done;
	u32			size;
	u32			batch;
	u64			got;
	u64			total;
	u64			end;
	u32			next;
	int			err;
	u8			*out;
	u8			*in;
};

/* Look at the messages that are whole now. */
static void msgs_check(struct msgs *ms)
{
	for (; (u64)(ms->next + 1) * ms->size <= ms->got; ms->next++)
		if (*(u32 *)(ms->in + ms->next % MSGS_RING * ms->size) != ms->next)
			ms->err = -EBADMSG;
}

static int msgs_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct msgs *ms = desc->arg.data;
	u32 ring = MSGS_RING * ms->size;
	u32 at = ms->got % ring;
	u32 n = min_t(size_t, len, ring - at);

	if (skb_copy_bits(skb, off, ms->in + at, n))
		return -EFAULT;
	ms->got += n;
	msgs_check(ms);
	return n;
}

static void msgs_ready(struct sock *sk)
{
	struct msgs *ms = sk->sk_user_data;
	read_descriptor_t desc = { .arg.data = ms, .count = 1 };

	if (tcp_read_sock(sk, &desc, msgs_actor) > 0 && ms->got == ms->total) {
		ms->end = bench_clock();
		complete(&ms->done);
	}
}

static int msgs_send(struct msgs *ms, u32 ops)
{
	u32 i, j;

	for (i = 0; i < ops; i += ms->batch) {
		u32 len = ms->batch * ms->size;

		for (j = 0; j < ms->batch; j++)
			*(u32 *)(ms->out + j * ms->size) = i + j;
		if (raw_send(ms->pair.sock[0], ms->out, len) != len)
			return -EIO;
	}
	return 0;
}

static s64 msgs_run(void *priv, u32 ops)
{
	struct msgs *ms = priv;
	u64 start;
	int ret;

	ms->got = 0;
	ms->next = 0;
	ms->total = (u64)roundup(ops, ms->batch) * ms->size;
	reinit_completion(&ms->done);
	start = bench_clock();
	ret = msgs_send(ms, ops);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&ms->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return ms->err ?: ms->end - start;
}

static void msgs_close(void *priv)
{
	struct msgs *ms = priv;

	raw_pair_close(&ms->pair);
	kfree(ms->in);
	kfree(ms->out);
	kfree(ms);
}

static void *msgs_open(struct bench_env *env, const struct bench_variant *v)
{
	struct msgs *ms = kzalloc(sizeof(*ms), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!ms)
		return ERR_PTR(ret);
	ms->size = v->size;
	ms->batch = v->arg;
	init_completion(&ms->done);
	ms->out = kzalloc(MSGS_RING * ms->size, GFP_KERNEL);
	ms->in = kzalloc(MSGS_RING * ms->size, GFP_KERNEL);
	if (!ms->out || !ms->in)
		goto free;
	ret = raw_pair_open(&ms->pair, env);
	if (ret)
		goto free;
	raw_hook(&ms->pair, 1, msgs_ready, ms);
	return ms;
free:
	kfree(ms->in);
	kfree(ms->out);
	kfree(ms);
	return ERR_PTR(ret);
}

#define MSGS(_name, _batch)			\
	{					\
		.name	= _name,		\
		.open	= msgs_open,		\
		.run	= msgs_run,		\
		.close	= msgs_close,		\
		.arg	= _batch,		\
		.depth	= MSGS_RING,		\
		.size	= 64,			\
	}

const struct bench_variant bench_tcp_messages_single = MSGS("tcp-single", 1);
const struct bench_variant bench_tcp_messages_batch = MSGS("tcp-batch64", 64);
