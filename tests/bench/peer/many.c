// SPDX-License-Identifier: GPL-2.0
/*
 * many.c - 8-byte round trips in softirq over many connections, one connection after the other:
 * what TCP itself loses when it has many.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "raw.h"

struct many_conn {
	struct raw_pair	pair;
	struct many	*many;
	u32		have[2];
	u64		buf[2];
};

struct many {
	struct completion	done;
	u32			ops;
	u32			at;
	int			err;
	u32			count;
	struct many_conn	conn[];
};

struct many_rx {
	struct many_conn	*conn;
	int			end;
};

static int many_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct many_rx *rx = desc->arg.data;
	u32 *have = &rx->conn->have[rx->end];
	u32 n = min_t(size_t, len, sizeof(u64) - *have);

	if (skb_copy_bits(skb, off, (u8 *)&rx->conn->buf[rx->end] + *have, n))
		return -EFAULT;
	*have += n;
	if (*have == sizeof(u64))
		desc->count = 0;
	return n;
}

static bool many_take(struct sock *sk, struct many_conn *conn, int end)
{
	struct many_rx rx = { conn, end };
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };

	tcp_read_sock(sk, &desc, many_actor);
	if (conn->have[end] < sizeof(u64))
		return false;
	conn->have[end] = 0;
	return true;
}

static void many_fail(struct many *many, int err)
{
	many->err = err;
	complete(&many->done);
}

static void many_answer_ready(struct sock *sk)
{
	struct many_conn *conn = sk->sk_user_data;

	if (many_take(sk, conn, 1) &&
	    raw_send_softirq(sk, &conn->buf[1], sizeof(u64)) != sizeof(u64))
		many_fail(conn->many, -EIO);
}

static int many_ask(struct many *many)
{
	struct many_conn *conn = &many->conn[many->at % many->count];

	conn->buf[0] = many->at;
	return raw_send_from(conn->pair.sock[0]->sk, &conn->buf[0], sizeof(u64)) == sizeof(u64) ?
	       0 : -EIO;
}

static void many_ask_ready(struct sock *sk)
{
	struct many_conn *conn = sk->sk_user_data;
	struct many *many = conn->many;
	u64 at = many->at;
	int ret;

	if (!many_take(sk, conn, 0))
		return;
	if (conn->buf[0] != at) {
		many_fail(many, -EBADMSG);
		return;
	}
	if (++many->at == many->ops) {
		complete(&many->done);
		return;
	}
	if (many->count > 1) {
		ret = many_ask(many);
	} else {
		conn->buf[0] = many->at;
		ret = raw_send_softirq(sk, &conn->buf[0], sizeof(u64)) == sizeof(u64) ? 0 : -EIO;
	}
	if (ret)
		many_fail(many, ret);
}

static s64 many_run(void *priv, u32 ops)
{
	struct many *many = priv;
	u64 start;
	int ret;

	many->ops = ops;
	many->at = 0;
	reinit_completion(&many->done);
	start = bench_clock();
	ret = many_ask(many);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&many->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	start = bench_clock() - start;
	return many->err ?: start;
}

static void many_close(void *priv)
{
	struct many *many = priv;

	while (many->count)
		raw_pair_close(&many->conn[--many->count].pair);
	kvfree(many);
}

static void *many_open(struct bench_env *env, const struct bench_variant *v)
{
	struct many *many = kvzalloc(struct_size(many, conn, v->arg), GFP_KERNEL);
	int ret;

	if (!many)
		return ERR_PTR(-ENOMEM);
	init_completion(&many->done);
	for (; many->count < v->arg; many->count++) {
		struct many_conn *conn = &many->conn[many->count];

		conn->many = many;
		ret = raw_pair_open(&conn->pair, env);
		if (ret) {
			many_close(many);
			return ERR_PTR(ret);
		}
		raw_hook(&conn->pair, 0, many_ask_ready, conn);
		raw_hook(&conn->pair, 1, many_answer_ready, conn);
	}
	return many;
}

#define MANY(_count)				\
	{					\
		.name	= "tcp-" #_count,	\
		.open	= many_open,		\
		.run	= many_run,		\
		.close	= many_close,		\
		.arg	= _count,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant bench_tcp_many_1 = MANY(1);
const struct bench_variant bench_tcp_many_16 = MANY(16);
const struct bench_variant bench_tcp_many_64 = MANY(64);
const struct bench_variant bench_tcp_many_256 = MANY(256);
