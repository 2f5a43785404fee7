// SPDX-License-Identifier: GPL-2.0
/*
 * av.c - from an address to its handle, among few and many: what a provider asks for the source of
 * each message.
 *
 * A consumer asks it by inserting an address that is there, which answers the handle it has: the
 * same look-up, and a mutex around it. Beside it a bare hash table with as many entries. Addresses
 * are visited in an order in which neighbours are far apart, and which of them comes next is known
 * from the answer alone: no look-up hides behind the one before it.
 */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include "kfi.h"

#define AV_STRIDE	7919	/* a prime: all are visited */

static void av_name(struct sockaddr_in *sin, u32 i)
{
	*sin = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_port = htons(5000),
		.sin_addr.s_addr = htonl(0x0b000000 + i),
	};
}

/* ---- ours ---- */

struct av {
	struct kb_node	node;
	u32		count;
	u32		at;
};

/*
 * The handle of the address with this number: the same number; KFI_ADDR_NOTAVAIL if something
 * failed.
 */
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
	for (i = 0; i < av->count && !ret; i++)	/* handles are given out in order */
		ret = av_ask(av, i) == i ? 0 : -EBADMSG;
	if (!ret)
		return av;
	av_close(av);
	return ERR_PTR(ret);
}

/* ---- a bare table: the same entries, behind the same mutex ---- */

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
