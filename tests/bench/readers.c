// SPDX-License-Identifier: GPL-2.0
/*
 * readers.c - a completion queue between one thread that posts and one or more that read: 8-byte
 * writes over loop, which have ended when their post returns. An operation is one that a reader has
 * seen.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "kfi.h"

#define READERS_BATCH	16	/* entries read at once */
#define READERS_QUEUE	2048

/**
 * struct readers - one queue, of node[0]
 * @count: readers
 * @left: those that have not ended
 * @got: entries read; @total: to be read
 * @space: the poster waits here when the queue is full
 * @ended: the last reader is through
 */
struct readers {
	struct kb_node		node[2];
	struct kfid_ep		*ep[2];
	kfi_addr_t		addr[2];
	struct kfid_mr		*mr;
	u64			word;
	u32			count;
	atomic_t		left;
	atomic_t		got;
	u32			total;
	wait_queue_head_t	space;
	struct completion	ended;
	int			err;
};

static bool readers_through(const struct readers *rs)
{
	return atomic_read(&rs->got) >= rs->total || READ_ONCE(rs->err);
}

/* Those who sleep hear of the end, too: by one signal, which they pass on. */
static int readers_thread(void *data)
{
	struct readers *rs = data;
	struct kfid_cq *cq = rs->node[0].cq;
	struct kfi_cq_entry entry[READERS_BATCH];
	ssize_t n;

	while (!readers_through(rs)) {
		n = kfi_cq_sread(cq, entry, READERS_BATCH, NULL, KB_WAIT_MS);
		if (n > 0)
			atomic_add(n, &rs->got);
		else if (n != -EAGAIN)
			WRITE_ONCE(rs->err, n == -KFI_EAVAIL ? kb_cq_error(cq) : n);
		if (wq_has_sleeper(&rs->space))
			wake_up(&rs->space);
	}
	kfi_cq_signal(cq);
	if (atomic_dec_and_test(&rs->left))
		complete(&rs->ended);
	return 0;
}

static int readers_start(struct readers *rs)
{
	struct task_struct *task;
	u32 i;

	reinit_completion(&rs->ended);
	atomic_set(&rs->left, rs->count);
	for (i = 0; i < rs->count; i++) {
		task = kthread_run(readers_thread, rs, "bench_reader");
		if (IS_ERR(task))
			break;
	}
	if (i == rs->count)
		return 0;
	WRITE_ONCE(rs->err, PTR_ERR(task));
	if (atomic_sub_and_test(rs->count - i, &rs->left))
		complete(&rs->ended);
	return rs->err;
}

/* The queue is full: half of it is to be read before it goes on. */
static int readers_wait_space(struct readers *rs, u32 posted)
{
	long left = wait_event_timeout(rs->space,
				       posted - atomic_read(&rs->got) < READERS_QUEUE / 2 || READ_ONCE(rs->err),
				       BENCH_TIMEOUT);

	return left ? READ_ONCE(rs->err) : -ETIMEDOUT;
}

static int readers_post(struct readers *rs)
{
	u32 posted = 0;
	ssize_t ret = 0;

	while (posted < rs->total && !ret) {
		ret = kfi_write(rs->ep[0], &rs->word, sizeof(rs->word), NULL, rs->addr[0], 0,
				kfi_mr_key(rs->mr), rs);
		if (!ret)
			posted++;
		else if (ret == -EAGAIN)
			ret = readers_wait_space(rs, posted);
	}
	return ret;
}

static s64 readers_run(void *priv, u32 ops)
{
	struct readers *rs = priv;
	u64 start;
	int ret;

	atomic_set(&rs->got, 0);
	rs->total = ops;
	start = bench_clock();
	ret = readers_start(rs) ?: readers_post(rs);
	if (ret) {
		WRITE_ONCE(rs->err, ret);
		kfi_cq_signal(rs->node[0].cq);
	}
	wait_for_completion(&rs->ended);
	return rs->err ?: bench_clock() - start;
}

static void readers_close(void *priv)
{
	struct readers *rs = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (rs->ep[i])
			kb_close(&rs->ep[i]->fid);
	if (rs->mr)
		kb_close(&rs->mr->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&rs->node[i]);
	kfree(rs);
}

static int readers_prepare(struct readers *rs, struct bench_env *env)
{
	static const struct kb_kind kind = {
		.prov = "loop", .type = KFI_EP_RDM, .style = KB_BLOCK, .size = READERS_QUEUE
	};
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&rs->node[i], env, i, &kind, KFI_CQ_FORMAT_CONTEXT, NULL, NULL);
	if (!ret)
		ret = kfi_mr_reg(rs->node[1].domain, &rs->word, sizeof(rs->word), KFI_REMOTE_WRITE,
				 0, 0, 0, &rs->mr, NULL);
	return ret ?: kb_join(rs->node, &kind, rs->ep, rs->addr);
}

static void *readers_open(struct bench_env *env, const struct bench_variant *v)
{
	struct readers *rs = kzalloc(sizeof(*rs), GFP_KERNEL);
	int ret;

	if (!rs)
		return ERR_PTR(-ENOMEM);
	rs->count = v->arg;
	init_waitqueue_head(&rs->space);
	init_completion(&rs->ended);
	ret = readers_prepare(rs, env);
	if (!ret)
		return rs;
	readers_close(rs);
	return ERR_PTR(ret);
}

#define READERS(_name, _count)			\
	{					\
		.name	= _name,		\
		.open	= readers_open,		\
		.run	= readers_run,		\
		.close	= readers_close,	\
		.arg	= _count,		\
		.depth	= READERS_QUEUE,	\
		.size	= 8,			\
	}

const struct bench_variant kb_readers_1 = READERS("one-reader", 1);
const struct bench_variant kb_readers_2 = READERS("two-readers", 2);
