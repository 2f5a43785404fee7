// SPDX-License-Identifier: GPL-2.0
/*
 * scale.c - the same task several times at once: for each a thread, endpoints or a connection, and
 * buffers. An operation is one of any of them. scale.py runs it on one CPU and on two, to show the
 * gain of more CPUs.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "kfi.h"
#include "peer/raw.h"

#define SCALE_COPIES	8

/**
 * struct scale_copy - one of the concurrent tasks
 * @env: the nodes, with its own buffers
 * @priv: private data of the variant
 * @ops: operations of this run
 * @err: error of this run
 */
struct scale_copy {
	struct bench_env		env;
	const struct bench_variant	*v;
	void				*priv;
	u32				ops;
	s64				err;
	struct completion		done;
};

/**
 * struct scale_kind - what is done at once
 * @v: the task
 * @copies: how many of it, at most SCALE_COPIES
 */
struct scale_kind {
	const struct bench_variant	*v;
	u32				copies;
};

struct scale {
	u32			copies;
	struct scale_copy	copy[SCALE_COPIES];
};

static int scale_thread(void *data)
{
	struct scale_copy *copy = data;
	s64 took = copy->v->run(copy->priv, copy->ops);

	copy->err = min_t(s64, took, 0);
	complete(&copy->done);
	return 0;
}

/*
 * Threads are bound to CPUs in turn: a run is too short for the scheduler to balance them, which is
 * not measured here.
 */
static int scale_start(struct scale_copy *copy, u32 ops, unsigned int nth)
{
	struct task_struct *task;

	copy->ops = ops;
	copy->err = 0;
	reinit_completion(&copy->done);
	task = kthread_create(scale_thread, copy, "bench_scale");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpumask_nth(nth % num_online_cpus(), cpu_online_mask));
	wake_up_process(task);
	return 0;
}

/*
 * The variants have time limits, so each thread that has begun ends. @ops is a multiple of the
 * depth of scale.
 */
static s64 scale_run(void *priv, u32 ops)
{
	struct scale *scale = priv;
	u64 start = bench_clock();
	s64 err = 0;
	u32 n, i;

	for (n = 0; n < scale->copies && !err; n++)
		err = scale_start(&scale->copy[n], ops / scale->copies, n);
	if (err)
		n--;
	for (i = 0; i < n; i++) {
		wait_for_completion(&scale->copy[i].done);
		err = err ?: scale->copy[i].err;
	}
	return err ?: bench_clock() - start;
}

static void scale_copy_close(struct scale_copy *copy)
{
	if (copy->priv)
		copy->v->close(copy->priv);
	bench_mem_free(&copy->env.mem[0]);
	bench_mem_free(&copy->env.mem[1]);
}

static int scale_copy_open(struct scale_copy *copy, struct bench_env *env,
			   const struct bench_variant *v)
{
	int i, ret = 0;

	init_completion(&copy->done);
	copy->v = v;
	copy->env = *env;
	memset(copy->env.mem, 0, sizeof(copy->env.mem));
	for (i = 0; i < 2 && !ret; i++)
		ret = bench_mem_alloc(&copy->env.mem[i], env->mem[i].count, env->mem[i].size);
	if (ret)
		return ret;
	copy->priv = v->open(&copy->env, v);
	ret = PTR_ERR_OR_ZERO(copy->priv);
	if (ret)
		copy->priv = NULL;
	return ret;
}

static void scale_close(void *priv)
{
	struct scale *scale = priv;
	int i;

	for (i = 0; i < scale->copies; i++)
		scale_copy_close(&scale->copy[i]);
	kvfree(scale);
}

static void *scale_open(struct bench_env *env, const struct bench_variant *v)
{
	const struct scale_kind *kind = (const struct scale_kind *)v->arg;
	struct scale *scale = kvzalloc(sizeof(*scale), GFP_KERNEL);
	int i, ret = 0;

	if (!scale)
		return ERR_PTR(-ENOMEM);
	scale->copies = kind->copies;
	for (i = 0; i < kind->copies && !ret; i++)
		ret = scale_copy_open(&scale->copy[i], env, kind->v);
	if (!ret)
		return scale;
	scale_close(scale);
	return ERR_PTR(ret);
}

#define SEVERAL(_name, _variant, _copies, _depth, _size)					\
	{										\
		.name	= _name,							\
		.open	= scale_open,							\
		.run	= scale_run,							\
		.close	= scale_close,							\
		.arg	= (unsigned long)&(const struct scale_kind) { &(_variant), _copies },	\
		.depth	= (_copies) * (_depth),						\
		.size	= (_size),							\
	}
#define SCALE(_name, _variant, _depth, _size)	\
	SEVERAL(_name, _variant, SCALE_COPIES, _depth, _size)

const struct bench_variant kb_scale_messages = SCALE("kfi-messages", kb_messages, 64, 64);
const struct bench_variant kb_scale_write = SCALE("kfi-write", kb_write_copy, BENCH_DEPTH,
						  BENCH_MB);
const struct bench_variant kb_scale_roundtrip = SCALE("kfi-roundtrip", kb_pingpong_rdm_block, 1, 8);
const struct bench_variant kb_scale_atomics = SCALE("kfi-atomics", kb_atomics, 1, 8);
const struct bench_variant kb_scale_counters = SCALE("kfi-counters", kb_counters, 1, 8);
const struct bench_variant kb_scale_tcp_messages = SCALE("tcp-messages", bench_tcp_messages_single,
							 64, 64);
const struct bench_variant kb_scale_tcp_stream = SCALE("tcp-stream", bench_tcp_stream_copy,
						       BENCH_DEPTH, BENCH_MB);
const struct bench_variant kb_scale_tcp_roundtrip = SCALE("tcp-roundtrip", bench_tcp_pingpong_block,
							  1, 8);

/* Four queues over one bridge, with both ends in one machine */
#define QUEUES(_name, _variant, _depth, _size)	SEVERAL(_name, _variant, 4, _depth, _size)

const struct bench_variant kb_queues_messages = QUEUES("messages", kb_ntb_messages_rdm, 64, 64);
const struct bench_variant kb_queues_single = QUEUES("single", kb_ntb_single_rdm, 64, 64);
const struct bench_variant kb_queues_roundtrip = QUEUES("roundtrip", kb_ntb_rdm_block, 1, 8);
const struct bench_variant kb_queues_send = QUEUES("send", kb_ntb_send_rdm_4k, BENCH_BLOCKS, 4096);
const struct bench_variant kb_queues_write = QUEUES("write", kb_ntb_write_rdm, BENCH_BLOCKS,
						    BENCH_MB);
