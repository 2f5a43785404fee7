// SPDX-License-Identifier: GPL-2.0
/*
 * match.c - what a message costs beside many posted receives: the core alone, over loop.
 *
 * One thread sends a message, finds its completion at the receiver, and posts the receive again.
 * Tags are visited in an order in which neighbours are far apart.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kfi.h"

#define MATCH_STRIDE	7919	/* a prime: all tags are visited */

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

/* Receives that wait, each for a tag of its own. */
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
