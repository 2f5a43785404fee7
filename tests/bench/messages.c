// SPDX-License-Identifier: GPL-2.0
/*
 * messages.c - 64-byte messages, 64 in progress: a thread sends as many as have completed, at once
 * (KFI_MORE) or one by one; the receiver checks the number in each, in softirq. It has a receive
 * for each message, or buffers for many.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include "kfi.h"

#define MSGS_DEPTH	64
#define MSGS_RECVS	256
#define MSGS_SIZE	64
#define MSGS_MULTI	(64 * 1024)	/* size of a buffer for many messages */
#define MSGS_MULTIS	2
#define MSGS_BATCH	32		/* completions read at once */
#define MSGS_SINGLE	KFI_INJECT	/* kb_kind.flags: without KFI_MORE */

struct msgs {
	struct kb_node		node[2];
	struct kfid_ep		*ep[2];
	kfi_addr_t		addr[2];
	const struct kb_kind	*kind;
	struct completion	done;
	u32			got;
	u32			total;
	u64			end;
	int			err;
	u8			*out;
	u8			*in;
};

static bool msgs_multi(const struct msgs *ms)
{
	return ms->kind->flags & KFI_MULTI_RECV;
}

/* ---- receiver ---- */

static int msgs_post(struct msgs *ms, void *buf, bool more)
{
	struct kvec vec = { buf, msgs_multi(ms) ? MSGS_MULTI : MSGS_SIZE };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.addr = KFI_ADDR_UNSPEC,
		.context = buf,
	};

	return kfi_recvmsg(ms->ep[1], &msg, KFI_COMPLETION | (more ? KFI_MORE : 0) |
			   (msgs_multi(ms) ? KFI_MULTI_RECV : 0));
}

static void msgs_fail(struct msgs *ms, int err)
{
	if (err == -ECANCELED)
		return;
	ms->err = err;
	complete(&ms->done);
}

static int msgs_take(struct msgs *ms, const struct kfi_cq_data_entry *entry, bool more)
{
	const u8 *buf = msgs_multi(ms) ? entry->buf : entry->op_context;

	if (!msgs_multi(ms) || (entry->flags & KFI_RECV)) {
		if (*(u32 *)buf != ms->got || entry->len != MSGS_SIZE)
			return -EBADMSG;
		ms->got++;
	}
	if (msgs_multi(ms) && !(entry->flags & KFI_MULTI_RECV))
		return 0;
	return msgs_post(ms, entry->op_context, more);
}

static void msgs_handler(struct kfid_cq *cq, void *context)
{
	struct msgs *ms = context;
	struct kfi_cq_data_entry entry[MSGS_BATCH] __uninitialized;
	ssize_t n, i;
	int ret = 0;

	while ((n = kfi_cq_read(cq, entry, MSGS_BATCH)) > 0)
		for (i = 0; i < n && !ret; i++)
			ret = msgs_take(ms, &entry[i], i + 1 < n);
	if (n == -KFI_EAVAIL)
		ret = kb_cq_error(cq);
	if (ret) {
		msgs_fail(ms, ret);
	} else if (ms->got == ms->total) {
		ms->end = bench_clock();
		complete(&ms->done);
	}
}

/* ---- sender ---- */

static int msgs_send(struct msgs *ms, u32 number, bool more)
{
	u8 *buf = ms->out + number % MSGS_DEPTH * MSGS_SIZE;
	struct kvec vec = { buf, MSGS_SIZE };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.addr = ms->addr[0],
		.context = buf,
	};

	*(u32 *)buf = number;
	return kfi_sendmsg(ms->ep[0], &msg,
			   KFI_COMPLETION | KFI_INJECT_COMPLETE | (more ? KFI_MORE : 0));
}

static int msgs_wait(struct msgs *ms)
{
	struct kfid_cq *cq = ms->node[0].cq;
	struct kfi_cq_entry entry[MSGS_DEPTH];
	ssize_t n = kfi_cq_sread(cq, entry, MSGS_DEPTH, NULL, KB_WAIT_MS);

	if (n > 0)
		return n;
	return n == -KFI_EAVAIL ? kb_cq_error(cq) : n == -EAGAIN ? -ETIMEDOUT : n;
}

/* Sends of one endpoint to one peer complete in order: buffers may be used again in order. */
static int msgs_stream(struct msgs *ms, u32 ops)
{
	bool single = ms->kind->flags & MSGS_SINGLE;
	u32 posted = 0, ended = 0;
	int ret;

	while (ended < ops) {
		u32 limit = min(ops, ended + MSGS_DEPTH);

		while (posted < limit) {
			ret = msgs_send(ms, posted, !single && posted + 1 < limit);
			if (ret)
				return ret;
			posted++;
		}
		ret = msgs_wait(ms);
		if (ret < 0)
			return ret;
		ended += ret;
	}
	return 0;
}

static s64 msgs_run(void *priv, u32 ops)
{
	struct msgs *ms = priv;
	u64 start;
	int ret;

	ms->got = 0;
	ms->total = ops;
	reinit_completion(&ms->done);
	start = bench_clock();
	ret = msgs_stream(ms, ops);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&ms->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return ms->err ?: ms->end - start;
}

/* ---- open, run and close ---- */

static void msgs_close(void *priv)
{
	struct msgs *ms = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (ms->ep[i])
			kb_close(&ms->ep[i]->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&ms->node[i]);
	kvfree(ms->in);
	kfree(ms->out);
	kfree(ms);
}

static int msgs_post_all(struct msgs *ms)
{
	u32 size = msgs_multi(ms) ? MSGS_MULTI : MSGS_SIZE;
	u32 count = msgs_multi(ms) ? MSGS_MULTIS : MSGS_RECVS;
	size_t min = MSGS_SIZE;
	u32 i;
	int ret = 0;

	if (msgs_multi(ms))
		ret = kfi_setopt(&ms->ep[1]->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
				 sizeof(min));
	for (i = 0; i < count && !ret; i++)
		ret = msgs_post(ms, ms->in + i * size, i + 1 < count);
	return ret;
}

static int msgs_prepare(struct msgs *ms, struct bench_env *env)
{
	struct kb_kind answer = *ms->kind;
	int ret;

	ms->out = kzalloc(MSGS_DEPTH * MSGS_SIZE, GFP_KERNEL);
	ms->in = kvzalloc(max(MSGS_MULTIS * MSGS_MULTI, MSGS_RECVS * MSGS_SIZE), GFP_KERNEL);
	if (!ms->out || !ms->in)
		return -ENOMEM;
	answer.style = KB_HANDLER;
	ret = kb_node_open(&ms->node[0], env, 0, ms->kind, KFI_CQ_FORMAT_CONTEXT, NULL, NULL);
	if (!ret)
		ret = kb_node_open(&ms->node[1], env, 1, &answer, KFI_CQ_FORMAT_DATA, msgs_handler,
				   ms);
	if (!ret)
		ret = kb_join(ms->node, ms->kind, ms->ep, ms->addr);
	return ret ?: msgs_post_all(ms);
}

static void *msgs_open(struct bench_env *env, const struct bench_variant *v)
{
	struct msgs *ms = kzalloc(sizeof(*ms), GFP_KERNEL);
	int ret;

	if (!ms)
		return ERR_PTR(-ENOMEM);
	ms->kind = (const struct kb_kind *)v->arg;
	init_completion(&ms->done);
	ret = msgs_prepare(ms, env);
	if (!ret)
		return ms;
	msgs_close(ms);
	return ERR_PTR(ret);
}

#define MSGS(_name, ...)							\
	{									\
		.name	= _name,						\
		.open	= msgs_open,						\
		.run	= msgs_run,						\
		.close	= msgs_close,						\
		.arg	= (unsigned long)&(const struct kb_kind) { __VA_ARGS__ },	\
		.depth	= MSGS_DEPTH,						\
		.size	= MSGS_SIZE,						\
	}

const struct bench_variant kb_messages = MSGS("kfi-messages", "sockets", KFI_EP_RDM);
const struct bench_variant kb_messages_multi = MSGS("kfi-multirecv", "sockets", KFI_EP_RDM,
						    .flags = KFI_MULTI_RECV);
const struct bench_variant kb_messages_loop = MSGS("loop-messages", "loop", KFI_EP_RDM);
const struct bench_variant kb_verbs_messages_msg = MSGS("msg-more", "verbs", KFI_EP_MSG);
const struct bench_variant kb_verbs_messages_rdm = MSGS("rdm-more", "verbs", KFI_EP_RDM);
const struct bench_variant kb_verbs_messages_bare = MSGS("bare-more", "verbs", KFI_EP_MSG, KB_BARE);
const struct bench_variant kb_verbs_single_bare = MSGS("bare-single", "verbs", KFI_EP_MSG, KB_BARE,
						       .flags = MSGS_SINGLE);
const struct bench_variant kb_verbs_single_msg = MSGS("msg-single", "verbs", KFI_EP_MSG,
						      .flags = MSGS_SINGLE);
const struct bench_variant kb_verbs_single_rdm = MSGS("rdm-single", "verbs", KFI_EP_RDM,
						      .flags = MSGS_SINGLE);
const struct bench_variant kb_ntb_messages_msg = MSGS("msg-more", "ntb", KFI_EP_MSG);
const struct bench_variant kb_ntb_messages_rdm = MSGS("rdm-more", "ntb", KFI_EP_RDM);
const struct bench_variant kb_ntb_single_msg = MSGS("msg-single", "ntb", KFI_EP_MSG,
						    .flags = MSGS_SINGLE);
const struct bench_variant kb_ntb_single_rdm = MSGS("rdm-single", "ntb", KFI_EP_RDM,
						    .flags = MSGS_SINGLE);

/*
 * messages of 1 MiB or a page, some in progress: a thread sends. The receiver posts a receive for
 * each, and posts it again in softirq.
 */

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

/* ---- receiver of blocks ---- */

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

/* ---- sender of blocks ---- */

static int blk_send(struct blocks *blk, u32 i)
{
	struct kvec vec = { bench_mem(&blk->src, i), blk->src.size };
	struct kfi_msg msg = blk_msg(&vec, blk->addr[0]);

	return kfi_sendmsg(blk->ep[0], &msg, KFI_COMPLETION);
}

/* Wait for at least one completion. Return: how many */
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

/* ---- open, run and close: blocks ---- */

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
