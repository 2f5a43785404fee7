// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong.c - round trips of injected messages. The request carries a number, which the answer
 * must return. Each side has some receives posted, and posts each again when it was used.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kfi.h"

#define PP_RECVS	4
#define PP_SIZE		64	/* size of a receive buffer */
#define PP_TAG		0x6b666963

/**
 * struct pp_recv - a receive; its completion finds the other state from here
 */
struct pp_recv {
	struct kfi_cqe	cqe;
	struct pp_side	*side;
	u8		buf[PP_SIZE];
};

struct pp_side {
	struct pp	*pp;
	int		nr;
	struct pp_recv	recv[PP_RECVS];
};

struct pp {
	struct kb_node		node[2];
	struct kfid_ep		*ep[2];
	kfi_addr_t		addr[2];
	struct pp_side		side[2];
	const struct kb_kind	*kind;
	struct completion	done;
	u32			size;
	u32			ops;
	u32			at;
	int			err;
};

static bool pp_tagged(const struct pp *pp)
{
	return pp->kind->flags & KFI_TAGGED;
}

static int pp_post(struct pp_recv *recv)
{
	struct pp_side *side = recv->side;
	struct pp *pp = side->pp;
	struct kfid_ep *ep = pp->ep[side->nr];
	struct kvec vec = { recv->buf, PP_SIZE };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.addr = KFI_ADDR_UNSPEC,
		.context = recv,
	};

	if (pp_tagged(pp))
		return kfi_trecv(ep, recv->buf, PP_SIZE, NULL, KFI_ADDR_UNSPEC, PP_TAG, 0, recv);
	return kfi_recvmsg(ep, &msg, pp->kind->style == KB_DONE ? KFI_CQE : KFI_COMPLETION);
}

static int pp_send(struct pp_side *side, const void *buf)
{
	struct pp *pp = side->pp;

	if (pp_tagged(pp))
		return kfi_tinject(pp->ep[side->nr], buf, pp->size, pp->addr[side->nr], PP_TAG);
	return kfi_inject(pp->ep[side->nr], buf, pp->size, pp->addr[side->nr]);
}

/* ---- a thread on each side ---- */

static int pp_wait(struct pp_side *side, struct pp_recv **recv)
{
	struct kfid_cq *cq = side->pp->node[side->nr].cq;
	struct kfi_cq_entry entry;
	ssize_t n = kfi_cq_sread(cq, &entry, 1, NULL, KB_WAIT_MS);

	if (n != 1)
		return n == -KFI_EAVAIL ? kb_cq_error(cq) : n == -EAGAIN ? -ETIMEDOUT : n;
	*recv = entry.op_context;
	return 0;
}

static int pp_answer_thread(void *data)
{
	struct pp *pp = data;
	struct pp_recv *recv;
	u32 i;
	int ret = 0;

	for (i = 0; i < pp->ops && !ret; i++) {
		ret = pp_wait(&pp->side[1], &recv);
		if (!ret)
			ret = pp_send(&pp->side[1], recv->buf);
		if (!ret)
			ret = pp_post(recv);
	}
	pp->err = ret;
	complete(&pp->done);
	return 0;
}

static int pp_ask(struct pp *pp)
{
	struct pp_recv *recv;
	u64 number;
	u32 i;
	int ret = 0;

	for (i = 0; i < pp->ops && !ret; i++) {
		number = i;
		ret = pp_send(&pp->side[0], &number);
		if (!ret)
			ret = pp_wait(&pp->side[0], &recv);
		if (!ret && *(u64 *)recv->buf != i)
			ret = -EBADMSG;
		if (!ret)
			ret = pp_post(recv);
	}
	return ret;
}

static s64 pp_run_block(struct pp *pp)
{
	u64 start;
	int ret;

	if (IS_ERR(kthread_run(pp_answer_thread, pp, "kfi_bench")))
		return -ENOMEM;
	start = bench_clock();
	ret = pp_ask(pp);
	start = bench_clock() - start;
	wait_for_completion(&pp->done);
	return ret ?: pp->err ?: start;
}

/* ---- softirq on each side ---- */

static int pp_asked(struct pp *pp, const u8 *buf)
{
	u64 number[PP_SIZE / sizeof(u64)] = { };

	if (*(u64 *)buf != pp->at)
		return -EBADMSG;
	if (++pp->at == pp->ops) {
		complete(&pp->done);
		return 0;
	}
	number[0] = pp->at;
	return pp_send(&pp->side[0], number);
}

static void pp_received(struct pp_recv *recv, int err)
{
	struct pp_side *side = recv->side;
	struct pp *pp = side->pp;

	if (err == -ECANCELED)
		return;
	if (!err)
		err = side->nr ? pp_send(side, recv->buf) : pp_asked(pp, recv->buf);
	if (!err)
		err = pp_post(recv);
	if (err) {
		pp->err = err;
		complete(&pp->done);
	}
}

static void pp_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	pp_received(container_of(cqe, struct pp_recv, cqe), -wc->err);
}

static void pp_handler(struct kfid_cq *cq, void *context)
{
	struct pp_side *side = context;
	struct kfi_cq_entry entry;
	ssize_t n;

	while ((n = kfi_cq_read(cq, &entry, 1)) == 1)
		pp_received(entry.op_context, 0);
	if (n == -KFI_EAVAIL)
		pp_received(&side->recv[0], kb_cq_error(cq));
}

static s64 pp_run_softirq(struct pp *pp)
{
	u64 number[PP_SIZE / sizeof(u64)] = { };
	u64 start = bench_clock();
	int ret = pp_send(&pp->side[0], number);

	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&pp->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	start = bench_clock() - start;
	return pp->err ?: start;
}

/* ---- one thread that polls for both sides ---- */

static s64 pp_run_poll(struct pp *pp)
{
	unsigned long end = jiffies + BENCH_TIMEOUT;
	u64 number = 0;
	u64 start = bench_clock();
	int ret = pp_send(&pp->side[0], &number), i;

	while (!ret && !try_wait_for_completion(&pp->done)) {
		for (i = 0; i < 2; i++)
			pp_handler(pp->node[i].cq, &pp->side[i]);
		cond_resched();		/* let the device run, which may be a thread */
		if (time_after(jiffies, end))
			ret = -ETIMEDOUT;
	}
	start = bench_clock() - start;
	return ret ?: pp->err ?: start;
}

/* ---- common ---- */

static s64 pp_run(void *priv, u32 ops)
{
	struct pp *pp = priv;

	pp->ops = ops;
	pp->at = 0;
	reinit_completion(&pp->done);
	if (pp->kind->style == KB_POLL)
		return pp_run_poll(pp);
	return pp->kind->style == KB_BLOCK ? pp_run_block(pp) : pp_run_softirq(pp);
}

static void pp_close(void *priv)
{
	struct pp *pp = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (pp->ep[i])
			kb_close(&pp->ep[i]->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&pp->node[i]);
	kfree(pp);
}

static int pp_prepare(struct pp *pp, struct bench_env *env)
{
	int i, j, ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		pp->side[i].pp = pp;
		pp->side[i].nr = i;
		ret = kb_node_open(&pp->node[i], env, i, pp->kind, KFI_CQ_FORMAT_CONTEXT,
				   pp_handler, &pp->side[i]);
	}
	if (!ret)
		ret = kb_join(pp->node, pp->kind, pp->ep, pp->addr);
	for (i = 0; i < 2 && !ret; i++)
		for (j = 0; j < PP_RECVS && !ret; j++) {
			pp->side[i].recv[j].side = &pp->side[i];
			pp->side[i].recv[j].cqe.done = pp_done;
			ret = pp_post(&pp->side[i].recv[j]);
		}
	return ret;
}

static void *pp_open(struct bench_env *env, const struct bench_variant *v)
{
	struct pp *pp = kzalloc(sizeof(*pp), GFP_KERNEL);
	int ret;

	if (!pp)
		return ERR_PTR(-ENOMEM);
	pp->kind = (const struct kb_kind *)v->arg;
	pp->size = v->size;
	init_completion(&pp->done);
	ret = pp_prepare(pp, env);
	if (!ret)
		return pp;
	pp_close(pp);
	return ERR_PTR(ret);
}

#define PINGPONG_OF(_size, _name, ...)						\
	{									\
		.name	= _name,						\
		.open	= pp_open,						\
		.run	= pp_run,						\
		.close	= pp_close,						\
		.arg	= (unsigned long)&(const struct kb_kind) { __VA_ARGS__ },	\
		.depth	= 1,							\
		.size	= _size,						\
	}

#define PINGPONG(_name, ...)	PINGPONG_OF(8, _name, __VA_ARGS__)

const struct bench_variant kb_pingpong_rdm_block = PINGPONG("kfi-rdm-block", "sockets", KFI_EP_RDM,
							    KB_BLOCK);
const struct bench_variant kb_pingpong_rdm_handler = PINGPONG("kfi-rdm-handler", "sockets",
							      KFI_EP_RDM, KB_HANDLER);
const struct bench_variant kb_pingpong_rdm_done = PINGPONG("kfi-rdm-done", "sockets", KFI_EP_RDM,
							   KB_DONE);
const struct bench_variant kb_pingpong_msg_block = PINGPONG("kfi-msg-block", "sockets", KFI_EP_MSG,
							    KB_BLOCK);
const struct bench_variant kb_pingpong_msg_handler = PINGPONG("kfi-msg-handler", "sockets",
							      KFI_EP_MSG, KB_HANDLER);
const struct bench_variant kb_pingpong_tag_block = PINGPONG("kfi-tagged-block", "sockets",
							    KFI_EP_RDM, KB_BLOCK,
							    .flags = KFI_TAGGED);
const struct bench_variant kb_pingpong_loop_done = PINGPONG("loop-done", "loop", KFI_EP_RDM,
							    KB_DONE);
const struct bench_variant kb_verbs_msg_block = PINGPONG("msg-block", "verbs", KFI_EP_MSG,
							 KB_BLOCK);
const struct bench_variant kb_verbs_rdm_block = PINGPONG("rdm-block", "verbs", KFI_EP_RDM,
							 KB_BLOCK);
const struct bench_variant kb_verbs_msg_handler = PINGPONG("msg-handler", "verbs", KFI_EP_MSG,
							   KB_HANDLER);
const struct bench_variant kb_verbs_msg_done = PINGPONG("msg-done", "verbs", KFI_EP_MSG, KB_DONE);
const struct bench_variant kb_verbs_bare_block = PINGPONG("bare-block", "verbs", KFI_EP_MSG,
							  KB_BLOCK, KB_BARE);
const struct bench_variant kb_verbs_bare_handler = PINGPONG("bare-handler", "verbs", KFI_EP_MSG,
							    KB_HANDLER, KB_BARE);
const struct bench_variant kb_verbs_bare_done = PINGPONG("bare-done", "verbs", KFI_EP_MSG, KB_DONE,
							 KB_BARE);
const struct bench_variant kb_verbs_bare_poll = PINGPONG("bare-poll", "verbs", KFI_EP_MSG, KB_POLL,
							 KB_BARE);
const struct bench_variant kb_verbs_rdm_handler = PINGPONG("rdm-handler", "verbs", KFI_EP_RDM,
							   KB_HANDLER);
const struct bench_variant kb_verbs_msg_poll = PINGPONG("msg-poll", "verbs", KFI_EP_MSG, KB_POLL);
const struct bench_variant kb_verbs_rdm_poll = PINGPONG("rdm-poll", "verbs", KFI_EP_RDM, KB_POLL);
const struct bench_variant kb_verbs_rdm_done = PINGPONG("rdm-done", "verbs", KFI_EP_RDM, KB_DONE);
const struct bench_variant kb_ntb_msg_block = PINGPONG("msg-block", "ntb", KFI_EP_MSG, KB_BLOCK);
const struct bench_variant kb_ntb_rdm_block = PINGPONG("rdm-block", "ntb", KFI_EP_RDM, KB_BLOCK);
const struct bench_variant kb_ntb_msg_handler = PINGPONG("msg-handler", "ntb", KFI_EP_MSG,
							 KB_HANDLER);
const struct bench_variant kb_ntb_msg_done = PINGPONG("msg-done", "ntb", KFI_EP_MSG, KB_DONE);
const struct bench_variant kb_ntb_rdm_handler = PINGPONG("rdm-handler", "ntb", KFI_EP_RDM,
							 KB_HANDLER);
const struct bench_variant kb_ntb_rdm_done = PINGPONG("rdm-done", "ntb", KFI_EP_RDM, KB_DONE);
const struct bench_variant kb_ntb_idle_msg = PINGPONG_OF(PP_SIZE, "msg-idle", "ntb", KFI_EP_MSG,
							 KB_DONE);
const struct bench_variant kb_ntb_idle_rdm = PINGPONG_OF(PP_SIZE, "rdm-idle", "ntb", KFI_EP_RDM,
							 KB_DONE);

/*
 * 8-byte round trips in softirq between one endpoint and many peers, one after the other
 */

#define MANY_RECVS	4

struct many_recv {
	struct kfi_cqe	cqe;
	struct many	*many;
	struct kfid_ep	*ep;
	kfi_addr_t	back;	/* where the answer is sent; unused at the first node */
	u64		number;
};

struct many {
	struct kb_node		node[2];
	struct kfid_ep		*ep;
	kfi_addr_t		first;		/* @ep's address at the second node */
	struct completion	done;
	struct many_recv	recv[MANY_RECVS];
	u32			ops;
	u32			at;
	int			err;
	u32			count;
	struct many_peer {
		struct kfid_ep		*ep;
		kfi_addr_t		addr;
		struct many_recv	recv[2];
	} peer[];
};

static int many_post(struct many_recv *recv)
{
	struct kvec vec = { &recv->number, sizeof(recv->number) };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.addr = KFI_ADDR_UNSPEC,
		.context = &recv->cqe,
	};

	return kfi_recvmsg(recv->ep, &msg, KFI_CQE);
}

static int many_ask(struct many *many)
{
	struct many_peer *peer = &many->peer[many->at % many->count];
	u64 number = many->at;

	return kfi_inject(many->ep, &number, sizeof(number), peer->addr);
}

static int many_asked(struct many *many, u64 number)
{
	if (number != many->at)
		return -EBADMSG;
	if (++many->at < many->ops)
		return many_ask(many);
	complete(&many->done);
	return 0;
}

static void many_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			  const struct kfi_cq_err_entry *wc)
{
	struct many_recv *recv = container_of(cqe, struct many_recv, cqe);
	struct many *many = recv->many;
	int ret = -wc->err;

	if (ret == -ECANCELED)
		return;
	if (!ret && recv->ep == many->ep)
		ret = many_asked(many, recv->number);
	else if (!ret)
		ret = kfi_inject(recv->ep, &recv->number, sizeof(recv->number), recv->back);
	if (!ret)
		ret = many_post(recv);
	if (ret) {
		many->err = ret;
		complete(&many->done);
	}
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

static int many_receive(struct many *many, struct kfid_ep *ep, struct many_recv *recv, u32 count,
			kfi_addr_t back)
{
	int ret = 0;

	for (; count && !ret; count--, recv++) {
		*recv = (struct many_recv) {
			.cqe.done = many_received, .many = many, .ep = ep, .back = back,
		};
		ret = many_post(recv);
	}
	return ret;
}

static int many_add(struct many *many)
{
	struct many_peer *peer = &many->peer[many->count];
	int ret = kb_ep_open(&many->node[1], many->node[1].info, &peer->ep);

	if (ret)
		return ret;
	many->count++;
	ret = kb_know(&many->node[0], peer->ep, &peer->addr);
	return ret ?: many_receive(many, peer->ep, peer->recv, ARRAY_SIZE(peer->recv), many->first);
}

/* The first round makes the connections. */
static int many_prepare(struct many *many, struct bench_env *env, u32 count)
{
	/* With one peer and one message in progress long queues are useless. */
	static const struct kb_kind kind[] = {
		{ .prov = "sockets", .type = KFI_EP_RDM, .style = KB_DONE },
		{ .prov = "sockets", .type = KFI_EP_RDM, .style = KB_DONE, .size = 8 },
	};
	int i, ret = 0;
	s64 took;

	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&many->node[i], env, i, &kind[i], KFI_CQ_FORMAT_CONTEXT, NULL,
				   NULL);
	if (!ret)
		ret = kb_ep_open(&many->node[0], many->node[0].info, &many->ep);
	if (!ret)
		ret = kb_know(&many->node[1], many->ep, &many->first);
	if (!ret)
		ret = many_receive(many, many->ep, many->recv, MANY_RECVS, KFI_ADDR_UNSPEC);
	while (many->count < count && !ret)
		ret = many_add(many);
	if (ret)
		return ret;
	took = many_run(many, count);
	return min_t(s64, took, 0);
}

static void many_close(void *priv)
{
	struct many *many = priv;

	if (many->ep)
		kb_close(&many->ep->fid);
	while (many->count)
		kb_close(&many->peer[--many->count].ep->fid);
	kb_node_close(&many->node[0]);
	kb_node_close(&many->node[1]);
	kvfree(many);
}

static void *many_open(struct bench_env *env, const struct bench_variant *v)
{
	struct many *many = kvzalloc(struct_size(many, peer, v->arg), GFP_KERNEL);
	int ret;

	if (!many)
		return ERR_PTR(-ENOMEM);
	init_completion(&many->done);
	ret = many_prepare(many, env, v->arg);
	if (!ret)
		return many;
	many_close(many);
	return ERR_PTR(ret);
}

#define MANY(_count)				\
	{					\
		.name	= "kfi-" #_count,	\
		.open	= many_open,		\
		.run	= many_run,		\
		.close	= many_close,		\
		.arg	= _count,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant kb_many_1 = MANY(1);
const struct bench_variant kb_many_16 = MANY(16);
const struct bench_variant kb_many_64 = MANY(64);
const struct bench_variant kb_many_256 = MANY(256);
