// SPDX-License-Identifier: GPL-2.0
/*
 * many.c - 8-byte round trips in softirq between one endpoint and many, one peer after the other.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kfi.h"

#define MANY_RECVS	4

struct many_recv {
	struct kfi_cqe	cqe;
	struct many	*many;
	struct kfid_ep	*ep;
	kfi_addr_t	back;	/* where the answer goes; at the first node: unused */
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
		*recv = (struct many_recv) { .cqe.done = many_received, .many = many, .ep = ep, .back = back };
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

/* The connections are opened by the first round. */
static int many_prepare(struct many *many, struct bench_env *env, u32 count)
{
	/* Who has one peer and one message under way has no use for long queues. */
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
