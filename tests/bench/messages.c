// SPDX-License-Identifier: GPL-2.0
/*
 * messages.c - 64-byte messages in one direction. A thread sends 64, in one batch (KFI_MORE) or one
 * by one, and waits for the completion of the last, the only one that it asks for. Softirq checks
 * the number in each message, and posts its receive again. The side of ntb_transport, which is told
 * of each send, does nothing with that either (peer/ntb/transport.c). kfi_perf does more for a
 * message, which would count as kfabric's.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <kfi_conn.h>
#include "kfi.h"

#define MSGS_DEPTH	64
#define MSGS_RECVS	128
#define MSGS_SIZE	64
#define MSGS_MS		10000

struct msgs;

/**
 * struct msgs_rx - a receive
 * @cqe: its completion
 * @ms: whose it is
 * @buf: its memory, which begins with the number of the message
 */
struct msgs_rx {
	struct kfi_cqe	cqe;
	struct msgs	*ms;
	u32		buf[MSGS_SIZE / sizeof(u32)];
};

/**
 * struct msgs - a variant
 * @kind: what it runs
 * @place: where the receiver is
 * @listener: MSG: accepts @in
 * @listens: it does
 * @wq: MSG: ends @in
 * @ops: of @in
 * @out: the sender, which a thread uses
 * @in: the receiver
 * @rx: MSGS_RECVS receives
 * @tx: MSGS_DEPTH messages
 * @failed: called if one fails whose success is not reported
 * @got: messages that have come in this run
 * @total: messages of this run
 * @end: when the last one has come
 * @err: why that can't happen
 * @done: it has, or can't
 */
struct msgs {
	const struct kb_kind	*kind;
	struct kb_place		place;
	struct kfi_listener	listener;
	bool			listens;
	struct workqueue_struct	*wq;
	struct kfi_conn_ops	ops;
	struct kfi_conn		out, in;
	struct msgs_rx		*rx;
	u32			(*tx)[MSGS_SIZE / sizeof(u32)];
	struct kfi_cqe		failed;
	u32			got, total;
	u64			end;
	int			err;
	struct completion	done;
};

/* ---- receiver ---- */

static void msgs_end(struct msgs *ms, int err)
{
	ms->err = err;
	ms->end = bench_clock();
	complete(&ms->done);
}

static int msgs_post_rx(struct msgs_rx *rx)
{
	struct kvec vec = { rx->buf, MSGS_SIZE };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = &rx->cqe,
	};

	return __kfi_recvmsg(rx->ms->in.ep, &msg, KFI_CQE);
}

static void msgs_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			  const struct kfi_cq_err_entry *wc)
{
	struct msgs_rx *rx = container_of(cqe, struct msgs_rx, cqe);
	struct msgs *ms = rx->ms;
	u32 number = rx->buf[0];
	int err = wc->err ? -wc->err : msgs_post_rx(rx);

	if (!err && (number != ms->got || wc->len != MSGS_SIZE))
		err = -EBADMSG;
	if (err || ++ms->got == ms->total)
		msgs_end(ms, err);
}

static int msgs_post_all(struct msgs *ms)
{
	struct msgs_rx *rx;
	int ret = 0;

	if (!kfi_conn_enter(&ms->in))
		return -ENOTCONN;
	for (rx = ms->rx; rx < ms->rx + MSGS_RECVS && !ret; rx++)
		ret = msgs_post_rx(rx);
	kfi_conn_exit(&ms->in);
	return ret;
}

static const struct kfi_conn_attr msgs_in = { .depth = MSGS_RECVS, .where = KFI_CONN_SOFTIRQ };

static int msgs_called(struct kfi_caller *caller)
{
	struct msgs *ms = container_of(caller->listener, struct msgs, listener);
	int ret = ms->in.ep ? -EBUSY : kfi_conn_accept(&ms->in, caller, &msgs_in, NULL, 0);

	/* The kit has accepted: a failure ends the connection, and so the run of the sender. */
	if (!ret && msgs_post_all(ms))
		kfi_conn_fail(&ms->in, -ENOTCONN);
	return ret;
}

/* ---- sender ---- */

static void msgs_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	kfi_conn_fail(&container_of(cqe, struct msgs, failed)->out, -wc->err);
}

/* Send the messages @from to @to - 1. */
static int msgs_post(struct msgs *ms, u32 from, u32 to)
{
	struct kvec vec = { .iov_len = MSGS_SIZE };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = ms->out.peer,
		.context = &ms->failed,
	};
	u64 flags = KFI_INJECT_COMPLETE | KFI_CQE | KFI_NO_COMPLETION;
	int ret = 0;

	if (ms->kind->more)
		flags |= KFI_MORE;
	if (!kfi_conn_enter(&ms->out))
		return -ENOTCONN;
	for (; from < to && !ret; from++) {
		vec.iov_base = ms->tx[from % MSGS_DEPTH];
		*ms->tx[from % MSGS_DEPTH] = from;
		if (from + 1 == to)
			flags = KFI_INJECT_COMPLETE | KFI_COMPLETION;
		ret = __kfi_sendmsg(ms->out.ep, &msg, flags);
	}
	kfi_conn_exit(&ms->out);
	return ret;
}

static int msgs_wait(struct msgs *ms)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_data_entry entry;
	ssize_t n = kfi_cq_sread(ms->out.cq, &entry, 1, NULL, MSGS_MS);

	if (n == 1)
		return 0;
	if (n == -KFI_EAVAIL && kfi_cq_readerr(ms->out.cq, &wc, 0) == 1)
		return -wc.err;
	return n == -EAGAIN ? -ETIMEDOUT : n;
}

/* The sends of an endpoint complete in order: with the last one all buffers can be used again. */
static int msgs_stream(struct msgs *ms, u32 ops)
{
	u32 from, to;
	int ret = 0;

	for (from = 0; from < ops && !ret; from = to) {
		to = min(ops, from + MSGS_DEPTH);
		ret = msgs_post(ms, from, to) ?: msgs_wait(ms);
	}
	return ret;
}

s64 kb_messages_run(void *priv, u32 ops)
{
	struct msgs *ms = priv;
	u64 start = bench_clock();
	int ret;

	ms->got = 0;
	ms->total = ops;
	reinit_completion(&ms->done);
	ret = msgs_stream(ms, ops);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&ms->done, msecs_to_jiffies(MSGS_MS)))
		return -ETIMEDOUT;
	return ms->err ?: ms->end - start;
}

/* ---- open and close ---- */

static int msgs_open_end(struct kfi_conn *conn, struct net *net, const struct kfi_info *info,
			 const struct kfi_conn_attr *attr)
{
	struct kfi_dom *dom = kfi_dom_get(net, info, THIS_MODULE);
	int ret = PTR_ERR_OR_ZERO(dom) ?: kfi_conn_open(conn, dom, info, attr);

	if (!IS_ERR(dom))
		kfi_dom_put(dom);
	return ret;
}

static int msgs_listen(struct msgs *ms, const struct kfi_need *need)
{
	const struct kb_place *place = &ms->place;
	const char *node = *place->node ? place->node : NULL;
	struct kfi_info *info;
	int ret;

	if (need->type == KFI_EP_MSG) {
		ms->wq = alloc_workqueue("kfi_bench", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
		if (!ms->wq)
			return -ENOMEM;
		ms->ops.end_wq = ms->wq;
		ms->listener.called = msgs_called;
		ms->listener.weak = true;
		ret = kfi_listener_open(&ms->listener, place->net[1], need, node, place->service,
					THIS_MODULE);
		ms->listens = !ret;
		return ret;
	}
	ret = kfi_find(place->net[1], need, node, NULL, place->service, &info);
	if (ret)
		return ret;
	ret = msgs_open_end(&ms->in, place->net[1], info, &msgs_in) ?: msgs_post_all(ms);
	kfi_freeinfo(info);
	return ret;
}

static int msgs_connect(struct msgs *ms, const struct kfi_need *need)
{
	static const struct kfi_conn_attr attr = {
		.depth = 1, .tx = MSGS_DEPTH, .where = KFI_CONN_READ,
	};
	const struct kb_place *place = &ms->place;
	struct kfi_info *info;
	int ret = kfi_find(place->net[0], need, NULL, place->peer, place->service, &info);

	if (ret)
		return ret;
	ret = msgs_open_end(&ms->out, place->net[0], info, &attr);
	if (!ret && need->type == KFI_EP_MSG)
		ret = kfi_conn_connect(&ms->out, info->dest_addr, NULL, 0, NULL, NULL, MSGS_MS);
	else if (!ret && kfi_av_insert(ms->out.av, info->dest_addr, 1, &ms->out.peer, 0, NULL) != 1)
		ret = -EADDRNOTAVAIL;
	kfi_freeinfo(info);
	return ret;
}

void kb_messages_close(void *priv)
{
	struct msgs *ms = priv;

	kfi_conn_close(&ms->out);
	if (ms->listens) {
		kfi_listener_close(&ms->listener);
		kfi_listener_wait(&ms->listener);
	}
	if (ms->wq)
		destroy_workqueue(ms->wq);
	else
		kfi_conn_close(&ms->in);
	kvfree(ms->rx);
	kfree(ms->tx);
	kfree(ms);
}

static int msgs_alloc(struct msgs *ms)
{
	u32 i;

	ms->tx = kcalloc(MSGS_DEPTH, MSGS_SIZE, GFP_KERNEL);
	ms->rx = kvcalloc(MSGS_RECVS, sizeof(*ms->rx), GFP_KERNEL);
	for (i = 0; ms->rx && i < MSGS_RECVS; i++) {
		ms->rx[i].cqe.done = msgs_received;
		ms->rx[i].ms = ms;
	}
	return ms->tx && ms->rx ? 0 : -ENOMEM;
}

void *kb_messages_open(struct bench_env *env, const struct bench_variant *v)
{
	static const struct kfi_conn_ops out_ops;
	struct msgs *ms = kzalloc(sizeof(*ms), GFP_KERNEL);
	struct kfi_need need = { .order = KFI_ORDER_SAS, .max_len = MSGS_SIZE };
	int ret = -ENOMEM;

	if (!ms)
		return ERR_PTR(ret);
	ms->kind = (const struct kb_kind *)v->arg;
	need.provider = ms->kind->prov;
	need.type = ms->kind->type;
	kb_place(&ms->place, env, ms->kind);
	ms->ops.release = kfi_conn_close;
	init_completion(&ms->done);
	ms->failed.done = msgs_failed;
	kfi_conn_init(&ms->out, &out_ops);
	kfi_conn_init(&ms->in, &ms->ops);
	if (!msgs_alloc(ms))
		ret = msgs_listen(ms, &need) ?: msgs_connect(ms, &need);
	if (!ret)
		return ms;
	kb_messages_close(ms);
	return ERR_PTR(ret);
}
