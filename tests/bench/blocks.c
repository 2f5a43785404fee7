// SPDX-License-Identifier: GPL-2.0
/*
 * blocks.c - messages of 1 MiB or a page, a few under way: a thread sends, the receiver has a
 * receive posted for each and posts it again in softirq.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include "kfi.h"

struct blocks {
	struct kb_node		node[2];
	struct kfid_ep		*ep[2];
	kfi_addr_t		addr[2];
	const struct kb_kind	*kind;
	struct bench_mem	src;
	struct bench_mem	dst;
	struct completion	done;
	u32			got;
	u32			total;
	u64			end;
	int			err;
};

static struct kfi_msg blk_msg(const struct kvec *vec, kfi_addr_t addr)
{
	return (struct kfi_msg) {
		.type = KFI_KVEC,
		.msg_iov = vec,
		.iov_count = 1,
		.addr = addr,
		.context = vec->iov_base,
	};
}

/* ---- receiver ---- */

static int blk_post(struct blocks *blk, void *buf)
{
	struct kvec vec = { buf, blk->dst.size };
	struct kfi_msg msg = blk_msg(&vec, KFI_ADDR_UNSPEC);

	return kfi_recvmsg(blk->ep[1], &msg, KFI_COMPLETION);
}

static int blk_take(struct blocks *blk, const struct kfi_cq_data_entry *entry)
{
	if (entry->len != blk->dst.size)
		return -EBADMSG;
	blk->got++;
	return blk_post(blk, entry->op_context);
}

static void blk_handler(struct kfid_cq *cq, void *context)
{
	struct blocks *blk = context;
	struct kfi_cq_data_entry entry;
	ssize_t n;
	int ret = 0;

	while (!ret && (n = kfi_cq_read(cq, &entry, 1)) == 1)
		ret = blk_take(blk, &entry);
	if (!ret && n == -KFI_EAVAIL)
		ret = kb_cq_error(cq);
	if (ret == -ECANCELED)
		return;
	if (!ret && blk->got != blk->total)
		return;
	blk->err = ret;
	blk->end = bench_clock();
	complete(&blk->done);
}

/* ---- sender ---- */

static int blk_send(struct blocks *blk, u32 i)
{
	struct kvec vec = { bench_mem(&blk->src, i), blk->src.size };
	struct kfi_msg msg = blk_msg(&vec, blk->addr[0]);

	return kfi_sendmsg(blk->ep[0], &msg, KFI_COMPLETION);
}

/* Completions, at least one: how many? */
static int blk_wait(struct blocks *blk)
{
	struct kfid_cq *cq = blk->node[0].cq;
	struct kfi_cq_entry entry[BENCH_BLOCKS];
	ssize_t n = kfi_cq_sread(cq, entry, ARRAY_SIZE(entry), NULL, KB_WAIT_MS);

	if (n > 0)
		return n;
	return n == -KFI_EAVAIL ? kb_cq_error(cq) : n == -EAGAIN ? -ETIMEDOUT : n;
}

static int blk_stream(struct blocks *blk, u32 ops)
{
	u32 posted = 0, ended = 0;
	int ret;

	while (ended < ops) {
		for (; posted < ops && posted - ended < blk->src.count; posted++) {
			ret = blk_send(blk, posted);
			if (ret)
				return ret;
		}
		ret = blk_wait(blk);
		if (ret < 0)
			return ret;
		ended += ret;
	}
	return 0;
}

static s64 blk_run(void *priv, u32 ops)
{
	struct blocks *blk = priv;
	u32 seed = bench_mem_stamp(&blk->src);
	u64 start;
	int ret;

	blk->got = 0;
	blk->total = ops;
	reinit_completion(&blk->done);
	start = bench_clock();
	ret = blk_stream(blk, ops);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&blk->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	if (blk->err)
		return blk->err;
	return bench_mem_check(&blk->dst, seed) ? blk->end - start : -EBADMSG;
}

/* ---- life ---- */

static void blk_close(void *priv)
{
	struct blocks *blk = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (blk->ep[i])
			kb_close(&blk->ep[i]->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&blk->node[i]);
	kfree(blk);
}

static int blk_prepare(struct blocks *blk, struct bench_env *env)
{
	struct kb_kind answer = *blk->kind;
	u32 i;
	int ret;

	answer.style = KB_HANDLER;
	ret = kb_node_open(&blk->node[0], env, 0, blk->kind, KFI_CQ_FORMAT_CONTEXT, NULL, NULL);
	if (!ret)
		ret = kb_node_open(&blk->node[1], env, 1, &answer, KFI_CQ_FORMAT_DATA, blk_handler,
				   blk);
	if (!ret)
		ret = kb_join(blk->node, blk->kind, blk->ep, blk->addr);
	for (i = 0; i < blk->dst.count && !ret; i++)
		ret = blk_post(blk, bench_mem(&blk->dst, i));
	return ret;
}

static void *blk_open(struct bench_env *env, const struct bench_variant *v)
{
	struct blocks *blk = kzalloc(sizeof(*blk), GFP_KERNEL);
	int ret;

	if (!blk)
		return ERR_PTR(-ENOMEM);
	blk->kind = (const struct kb_kind *)v->arg;
	blk->src = bench_mem_first(&env->mem[0], v->depth, v->size);
	blk->dst = bench_mem_first(&env->mem[1], v->depth, v->size);
	init_completion(&blk->done);
	ret = blk_prepare(blk, env);
	if (!ret)
		return blk;
	blk_close(blk);
	return ERR_PTR(ret);
}

#define BLOCKS(_name, _size, ...)						\
	{									\
		.name	= _name,						\
		.open	= blk_open,						\
		.run	= blk_run,						\
		.close	= blk_close,						\
		.arg	= (unsigned long)&(const struct kb_kind) { __VA_ARGS__ },	\
		.depth	= BENCH_BLOCKS,						\
		.size	= _size,						\
	}

const struct bench_variant kb_verbs_send_msg = BLOCKS("msg-send", BENCH_MB, "verbs", KFI_EP_MSG);
const struct bench_variant kb_verbs_send_bare = BLOCKS("bare-send", BENCH_MB, "verbs", KFI_EP_MSG,
						       KB_BARE);
const struct bench_variant kb_verbs_send_rdm = BLOCKS("rdm-send", BENCH_MB, "verbs", KFI_EP_RDM);
const struct bench_variant kb_ntb_send_msg = BLOCKS("msg-send", BENCH_MB, "ntb", KFI_EP_MSG);
const struct bench_variant kb_ntb_send_rdm = BLOCKS("rdm-send", BENCH_MB, "ntb", KFI_EP_RDM);
const struct bench_variant kb_ntb_send_msg_4k = BLOCKS("msg-send-4k", 4096, "ntb", KFI_EP_MSG);
const struct bench_variant kb_ntb_send_rdm_4k = BLOCKS("rdm-send-4k", 4096, "ntb", KFI_EP_RDM);
