// SPDX-License-Identifier: GPL-2.0
/*
 * core.c - the core alone, over loop: matching, address vectors, completion queues, atomic
 * operations and counters
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <kfi_atomic.h>
#include "kfi.h"

/*
 * The cost of a message while many receives are posted.
 *
 * One thread sends a message, reads its completion at the receiver, and posts the receive again.
 * Tags are visited in an order in which neighbours are far apart.
 */

#define MATCH_STRIDE	7919	/* a prime, so that all tags are visited */

struct match {
	struct kb_node	node[2];
	struct kfid_ep	*ep[2];
	kfi_addr_t	addr[2];
	u32		count;
	u32		at;
	u64		*buf;
};

static int match_post(struct match *m, u32 i)
{
	return kfi_trecv(m->ep[1], &m->buf[i], sizeof(m->buf[i]), NULL, KFI_ADDR_UNSPEC, i, 0,
			 &m->buf[i]);
}

static int match_one(struct match *m, u32 i)
{
	struct kfi_cq_tagged_entry e;
	u64 number = m->at;
	ssize_t ret = kfi_tinject(m->ep[0], &number, sizeof(number), m->addr[0], i);

	if (ret)
		return ret;
	ret = kfi_cq_read(m->node[1].cq, &e, 1);
	if (ret != 1)
		return ret == -KFI_EAVAIL ? kb_cq_error(m->node[1].cq) : ret;
	if (e.op_context != &m->buf[i] || m->buf[i] != number)
		return -EBADMSG;
	return match_post(m, i);
}

static s64 match_run(void *priv, u32 ops)
{
	struct match *m = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, m->at++)
		ret = match_one(m, (u64)m->at * MATCH_STRIDE % m->count);
	return ret ?: bench_clock() - start;
}

static void match_close(void *priv)
{
	struct match *m = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (m->ep[i])
			kb_close(&m->ep[i]->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&m->node[i]);
	kvfree(m->buf);
	kfree(m);
}

/* Post receives that wait, each with its own tag. */
static int match_prepare(struct match *m, struct bench_env *env)
{
	static const struct kb_kind kind = {
		.prov = "loop", .type = KFI_EP_RDM, .style = KB_POLL, .size = 16384
	};
	u32 i;
	int ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&m->node[i], env, i, &kind, KFI_CQ_FORMAT_TAGGED, NULL, NULL);
	if (!ret)
		ret = kb_join(m->node, &kind, m->ep, m->addr);
	for (i = 0; i < m->count && !ret; i++)
		ret = match_post(m, i);
	return ret;
}

static void *match_open(struct bench_env *env, const struct bench_variant *v)
{
	struct match *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->count = v->arg;
	m->buf = kvcalloc(m->count, sizeof(*m->buf), GFP_KERNEL);
	ret = m->buf ? match_prepare(m, env) : -ENOMEM;
	if (!ret)
		return m;
	match_close(m);
	return ERR_PTR(ret);
}

#define MATCH(_count)				\
	{					\
		.name	= "posted-" #_count,	\
		.open	= match_open,		\
		.run	= match_run,		\
		.close	= match_close,		\
		.arg	= _count,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant kb_match_10 = MATCH(10);
const struct bench_variant kb_match_10000 = MATCH(10000);

/*
 * the look-up of the handle of an address, among few and many addresses, as a provider does for
 * the source of each message.  A consumer can do this look-up, with a mutex around it, by
 * inserting an address that is there. It is compared with a plain hash table of as many entries.
 * Addresses are visited in an order in which neighbours are far apart, and the next one depends on
 * the result of the look-up, so that look-ups can't overlap.
 */

#define AV_STRIDE	7919	/* a prime, so that all addresses are visited */

static void av_name(struct sockaddr_in *sin, u32 i)
{
	*sin = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_port = htons(5000),
		.sin_addr.s_addr = htonl(0x0b000000 + i),
	};
}

/* ---- address vector ---- */

struct av {
	struct kb_node	node;
	u32		count;
	u32		at;
};

/* Return the handle of address number @i, which is @i; KFI_ADDR_NOTAVAIL on failure. */
static kfi_addr_t av_ask(struct av *av, u32 i)
{
	struct sockaddr_in sin;
	kfi_addr_t handle;

	av_name(&sin, i);
	return kfi_av_insert(av->node.av, &sin, 1, &handle, 0, NULL) == 1 ? handle :
									    KFI_ADDR_NOTAVAIL;
}

static s64 av_run(void *priv, u32 ops)
{
	struct av *av = priv;
	u64 start = bench_clock();
	kfi_addr_t handle, wrong = 0;

	for (; ops; ops--) {
		handle = av_ask(av, av->at);
		wrong |= handle ^ av->at;
		av->at = (u32)(handle + AV_STRIDE) % av->count;
	}
	return wrong ? -EBADMSG : bench_clock() - start;
}

static void av_close(void *priv)
{
	struct av *av = priv;

	kb_node_close(&av->node);
	kfree(av);
}

static void *av_open(struct bench_env *env, const struct bench_variant *v)
{
	static const struct kb_kind kind = {
		.prov = "sockets", .type = KFI_EP_RDM, .style = KB_POLL,
	};
	struct av *av = kzalloc(sizeof(*av), GFP_KERNEL);
	int ret;
	u32 i;

	if (!av)
		return ERR_PTR(-ENOMEM);
	av->count = v->arg;
	ret = kb_node_open(&av->node, env, 0, &kind, KFI_CQ_FORMAT_CONTEXT, NULL, NULL);
	for (i = 0; i < av->count && !ret; i++)	/* handles are assigned in order */
		ret = av_ask(av, i) == i ? 0 : -EBADMSG;
	if (!ret)
		return av;
	av_close(av);
	return ERR_PTR(ret);
}

/* ---- plain hash table: the same entries, behind the same mutex ---- */

struct table_entry {
	struct rhash_head	node;
	struct rcu_head		rcu;
	u32			index;
	u32			uses;
	struct sockaddr_in	sin;
};

struct table {
	struct rhashtable	ht;
	struct mutex		lock;
	u32			count;
	u32			at;
};

static const struct rhashtable_params table_params = {
	.key_len	= sizeof(struct sockaddr_in),
	.key_offset	= offsetof(struct table_entry, sin),
	.head_offset	= offsetof(struct table_entry, node),
};

static u32 table_ask(struct table *table, u32 i)
{
	struct table_entry *e;
	struct sockaddr_in sin;

	av_name(&sin, i);
	mutex_lock(&table->lock);
	rcu_read_lock();
	e = rhashtable_lookup(&table->ht, &sin, table_params);
	rcu_read_unlock();
	if (e)
		e->uses++;
	mutex_unlock(&table->lock);
	return e ? e->index : U32_MAX;
}

static s64 table_run(void *priv, u32 ops)
{
	struct table *table = priv;
	u64 start = bench_clock();
	u32 index, wrong = 0;

	for (; ops; ops--) {
		index = table_ask(table, table->at);
		wrong |= index ^ table->at;
		table->at = (index + AV_STRIDE) % table->count;
	}
	return wrong ? -EBADMSG : bench_clock() - start;
}

static void table_free(void *entry, void *unused)
{
	kfree(entry);
}

static void table_close(void *priv)
{
	struct table *table = priv;

	rhashtable_free_and_destroy(&table->ht, table_free, NULL);
	kfree(table);
}

static int table_add(struct table *table, u32 i)
{
	struct table_entry *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int ret;

	if (!e)
		return -ENOMEM;
	e->index = i;
	av_name(&e->sin, i);
	ret = rhashtable_insert_fast(&table->ht, &e->node, table_params);
	if (ret)
		kfree(e);
	return ret;
}

static void *table_open(struct bench_env *env, const struct bench_variant *v)
{
	struct table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	int ret;
	u32 i;

	if (!table)
		return ERR_PTR(-ENOMEM);
	table->count = v->arg;
	mutex_init(&table->lock);
	ret = rhashtable_init(&table->ht, &table_params);
	if (ret) {
		kfree(table);
		return ERR_PTR(ret);
	}
	for (i = 0; i < table->count && !ret; i++)
		ret = table_add(table, i);
	if (!ret)
		return table;
	table_close(table);
	return ERR_PTR(ret);
}

#define AV(_name, _what, _count)		\
	{					\
		.name	= _name #_count,	\
		.open	= _what##_open,		\
		.run	= _what##_run,		\
		.close	= _what##_close,	\
		.arg	= _count,		\
		.depth	= 1,			\
		.size	= 16,			\
	}

const struct bench_variant kb_av_16 = AV("known-", av, 16);
const struct bench_variant kb_av_1024 = AV("known-", av, 1024);
const struct bench_variant kb_av_65536 = AV("known-", av, 65536);
const struct bench_variant kb_table_16 = AV("table-", table, 16);
const struct bench_variant kb_table_1024 = AV("table-", table, 1024);
const struct bench_variant kb_table_65536 = AV("table-", table, 65536);

/*
 * a completion queue between one thread that posts and one or more that read: 8-byte writes over
 * loop, which end before their post returns. An operation counts when a reader has read its entry.
 */

#define READERS_BATCH	16	/* entries read at once */
#define READERS_QUEUE	2048

/**
 * struct readers - one queue, of node[0]
 * @count: number of readers
 * @left: readers that have not ended
 * @got: entries read
 * @total: entries to be read
 * @space: the poster waits here while the queue is full
 * @ended: the last reader has ended
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

/* One signal ends readers that sleep: each passes it on. */
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

/* The queue is full: wait until half of it was read. */
static int readers_wait_space(struct readers *rs, u32 posted)
{
	long left = wait_event_timeout(rs->space,
				       posted - atomic_read(&rs->got) < READERS_QUEUE / 2 ||
				       READ_ONCE(rs->err),
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

/*
 * the core alone, over loop: add to a word of the other node, or write with counters on both
 * sides. scale.c runs several at once, each with its own word and counters, to show whether they
 * wait for each other.
 */

struct target {
	struct kb_node	node[2];
	struct kfid_ep	*ep[2];
	kfi_addr_t	addr[2];
	struct kfid_mr	*mr;
	u64		*word;
	u64		done;
};

/* The old values show that no addition was lost. */
static int target_add(struct target *target)
{
	struct kfi_cq_entry entry;
	u64 one = 1, old = 0;
	ssize_t ret;

	ret = kfi_fetch_atomic(target->ep[0], &one, 1, NULL, &old, NULL, target->addr[0], 0,
			       kfi_mr_key(target->mr), KFI_UINT64, KFI_SUM, target);
	if (ret)
		return ret;
	ret = kfi_cq_read(target->node[0].cq, &entry, 1);
	if (ret != 1)
		return ret == -KFI_EAVAIL ? kb_cq_error(target->node[0].cq) : -EIO;
	return old == target->done ? 0 : -EBADMSG;
}

static s64 atomics_run(void *priv, u32 ops)
{
	struct target *target = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, target->done++)
		ret = target_add(target);
	return ret ?: bench_clock() - start;
}

static bool target_counted(const struct target *target)
{
	return kfi_cntr_read(target->node[0].cntr) == target->done &&
	       kfi_cntr_read(target->node[1].cntr) == target->done;
}

/* Only the counters report a write. */
static s64 counters_run(void *priv, u32 ops)
{
	struct target *target = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, target->done++)
		ret = kfi_inject_write(target->ep[0], &target->done, sizeof(target->done),
				       target->addr[0], 0, kfi_mr_key(target->mr));
	start = bench_clock() - start;
	if (ret)
		return ret;
	return target_counted(target) && *target->word == target->done - 1 ? start : -EBADMSG;
}

static void target_close(void *priv)
{
	struct target *target = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (target->ep[i])
			kb_close(&target->ep[i]->fid);
	if (target->mr)
		kb_close(&target->mr->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&target->node[i]);
	kfree(target->word);
	kfree(target);
}

static int target_prepare(struct target *target, struct bench_env *env, bool counted)
{
	static const struct kb_kind kind = {
		.prov = "loop", .type = KFI_EP_RDM, .style = KB_POLL, .caps = KFI_ATOMIC
	};
	int i, ret = 0;

	/* A word has its own cache line, so that targets do not share one. */
	target->word = kzalloc(SMP_CACHE_BYTES, GFP_KERNEL);
	if (!target->word)
		return -ENOMEM;
	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&target->node[i], env, i, &kind, KFI_CQ_FORMAT_CONTEXT, NULL,
				   NULL);
	for (i = 0; i < 2 && !ret && counted; i++)
		ret = kfi_cntr_open(target->node[i].domain, NULL, &target->node[i].cntr, NULL);
	if (!ret)
		ret = kfi_mr_reg(target->node[1].domain, target->word, sizeof(*target->word),
				 KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, 0, 0, &target->mr, NULL);
	return ret ?: kb_join(target->node, &kind, target->ep, target->addr);
}

static void *target_open(struct bench_env *env, const struct bench_variant *v)
{
	struct target *target = kzalloc(sizeof(*target), GFP_KERNEL);
	int ret;

	if (!target)
		return ERR_PTR(-ENOMEM);
	ret = target_prepare(target, env, v->run == counters_run);
	if (!ret)
		return target;
	target_close(target);
	return ERR_PTR(ret);
}

#define TARGET(_name, _run)			\
	{					\
		.name	= _name,		\
		.open	= target_open,		\
		.run	= _run,			\
		.close	= target_close,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant kb_atomics = TARGET("loop-atomics", atomics_run);
const struct bench_variant kb_counters = TARGET("loop-counters", counters_run);
