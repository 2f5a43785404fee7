// SPDX-License-Identifier: GPL-2.0
/*
 * plain.c - a peer that knows nothing of kfabric, and one that only seems to: at a listener for
 * queue pairs as they are (KFI_PROTO_RDMA_CM_IB_RC).
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include "hostile.h"

#define PLAIN_RECVS	4
#define PLAIN_BUF	4096

/**
 * struct plain - a listener, its caller @hv and the endpoint that has accepted him
 * @ret: how that went, @called: how it went for him
 * @data: the caller's words, @len bytes
 */
struct plain {
	struct victim		v;	/* the names of its members fit */
	struct kfid_eq		*eq;
	struct kfid_pep		*pep;
	struct hv		*hv;
	struct completion	done;
	int			ret;
	int			called;
	u8			data[KFI_CM_DATA_MAX];
	size_t			len;
};

static int plain_ask(struct plain *p)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->ep_attr->protocol = KFI_PROTO_RDMA_CM_IB_RC;
	hints->fabric_attr->prov_name = kstrdup("verbs", GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = kfi_getinfo(0, "10.0.0.1", NULL, KFI_SOURCE, hints, &p->v.info);
	kfi_freeinfo(hints);
	return ret;
}

static int plain_listen(struct plain *p)
{
	struct kfi_eq_attr eq = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_attr cq = { .size = 64, .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_QUEUE };
	size_t len = sizeof(p->v.name);
	int ret = plain_ask(p);

	ret = ret ?: kfi_fabric(p->v.info->fabric_attr, &p->v.fabric, NULL);
	ret = ret ?: kfi_domain(p->v.fabric, p->v.info, &p->v.domain, NULL);
	ret = ret ?: kfi_cq_open(p->v.domain, &cq, &p->v.cq, NULL, NULL);
	ret = ret ?: kfi_eq_open(p->v.fabric, &eq, &p->eq, NULL, NULL);
	ret = ret ?: kfi_passive_ep(p->v.fabric, p->v.info, &p->pep, NULL);
	ret = ret ?: kfi_pep_bind(p->pep, &p->eq->fid, 0);
	ret = ret ?: kfi_listen(p->pep);
	return ret ?: kfi_getname(&p->pep->fid, p->v.name, &len);
}

/* The next event, which is to be this one; err of an error. */
static int plain_event(struct plain *p, u32 want, struct kfi_info **info)
{
	struct { struct kfi_eq_cm_entry cm; u8 data[KFI_CM_DATA_MAX]; } ev;
	struct kfi_eq_err_entry err = {};
	ssize_t n;
	u32 type;

	n = kfi_eq_sread(p->eq, &type, &ev, sizeof(ev), HV_WAIT_MS, 0);
	if (n == -KFI_EAVAIL)
		return kfi_eq_readerr(p->eq, &err, 0) > 0 && err.err ? -err.err : -EIO;
	if (n < 0)
		return n;
	if (type != want)
		return -EBADMSG;
	if (info) {
		p->len = n - sizeof(ev.cm);
		memcpy(p->data, ev.data, p->len);
		*info = ev.cm.info;
	}
	return 0;
}

static int plain_accept(struct plain *p)
{
	struct kfi_info *info;
	int i, ret = plain_event(p, KFI_CONNREQ, &info);

	if (ret)
		return ret;
	ret = kfi_endpoint(p->v.domain, info, &p->v.ep, NULL);
	kfi_freeinfo(info);
	ret = ret ?: kfi_ep_bind(p->v.ep, &p->v.cq->fid, KFI_TRANSMIT | KFI_RECV);
	ret = ret ?: kfi_ep_bind(p->v.ep, &p->eq->fid, 0);
	ret = ret ?: kfi_enable(p->v.ep);
	for (i = 0; i < PLAIN_RECVS && !ret; i++)
		ret = kfi_recv(p->v.ep, p->v.buf + i * PLAIN_BUF, PLAIN_BUF, NULL, KFI_ADDR_UNSPEC, p->v.buf + i * PLAIN_BUF);
	return ret ?: kfi_accept(p->v.ep, "welcome", 7);
}

static int plain_acceptor(void *arg)
{
	struct plain *p = arg;

	p->ret = plain_accept(p);
	complete(&p->done);
	return 0;
}

static void plain_close(struct plain *p)
{
	if (p->hv)
		hv_close(p->hv);
	if (p->v.ep)
		WARN_ON(kfi_close(&p->v.ep->fid));
	p->v.ep = NULL;
	if (p->pep)
		WARN_ON(kfi_close(&p->pep->fid));
	if (p->eq)
		WARN_ON(kfi_close(&p->eq->fid));
	victim_close(&p->v);
	kfree(p);
}

/* A caller in this namespace, whom a thread accepts. */
static int plain_meet(struct plain *p, bool deaf, bool no_rtu)
{
	struct hv_call call = { .hello = "hello", .len = 5, .silent = true, .bare = no_rtu, .recvs = deaf };
	int ret = plain_listen(p);

	if (!ret && IS_ERR(kthread_run(plain_acceptor, p, "hostile_plain")))
		ret = -ENOMEM;
	if (ret)
		return ret;
	p->called = hv_call(p->hv, &p->v, &call);
	wait_for_completion(&p->done);
	return p->ret;
}

static struct plain *plain_call(bool deaf, bool no_rtu)
{
	struct plain *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!p)
		return NULL;
	init_completion(&p->done);
	p->v.buf = kzalloc(VICTIM_BUF, GFP_KERNEL);
	p->hv = hv_new();
	if (p->v.buf && p->hv) {
		p->hv->plain = true;
		ret = plain_meet(p, deaf, no_rtu);
	}
	if (check(!ret, "a plain caller is not accepted"))
		return p;
	pr_err("hostile: wrong: %d\n", ret);
	plain_close(p);
	return NULL;
}

static struct plain *plain_open(void)
{
	struct plain *p = plain_call(false, false);

	if (!p || (check(!p->called, "a plain caller does not get through") && check(!plain_event(p, KFI_CONNECTED, NULL), "not connected")))
		return p;
	plain_close(p);
	return NULL;
}

/* The next completion. Return: 0, or how it ended */
static int plain_done(struct plain *p, struct kfi_cq_data_entry *entry, unsigned int ms)
{
	struct kfi_cq_err_entry err = {};
	ssize_t ret = kfi_cq_sread(p->v.cq, entry, 1, NULL, ms);

	if (ret == -KFI_EAVAIL)
		return kfi_cq_readerr(p->v.cq, &err, 0) == 1 && err.err ? -err.err : -EIO;
	return ret == 1 ? 0 : ret ?: -EAGAIN;
}

/* All receives that are left end in error, and the consumer hears of the end. */
static bool plain_over(struct plain *p, int left)
{
	struct kfi_cq_data_entry entry;
	int ret, i;

	for (i = 0; i < left; i++) {
		ret = plain_done(p, &entry, HV_WAIT_MS);
		if (!check(ret && ret != -EAGAIN, "a receive has not ended in error") ||
		    !check(ret != -ECONNREFUSED && ret != -ETIMEDOUT, "a receive has ended as if there had been no connection"))
			return false;
	}
	return check(plain_done(p, &entry, HV_NOT_MS) == -EAGAIN, "one ended twice") &&
	       check(!plain_event(p, KFI_SHUTDOWN, NULL), "nobody hears of the end");
}

static int plain_odd(struct plain *p, enum ib_wr_opcode opcode)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &p->hv->send, .opcode = opcode, .send_flags = IB_SEND_SIGNALED, .ex.imm_data = cpu_to_be32(1) },
	};

	if (opcode == IB_WR_SEND_WITH_INV)
		wr.wr.ex.invalidate_rkey = 0x4711;
	return ib_post_send(p->hv->qp, &wr.wr, NULL);
}

/* What takes a receive and is no message. */
static bool plain_no_message(struct hostile *h)
{
	static const enum ib_wr_opcode odd[] = { IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_SEND_WITH_INV };
	struct plain *p;
	bool ok = true;
	int i;

	for (i = 0; i < ARRAY_SIZE(odd) && ok; i++) {
		p = plain_open();
		if (!p)
			return false;
		ok = check(!plain_odd(p, odd[i]), "it can't be posted") && plain_over(p, PLAIN_RECVS);
		plain_close(p);
	}
	return ok;
}

/*
 * Who never takes what is sent to him, and who sends where there are no receives: neither keeps
 * an endpoint from being closed.
 */
static bool plain_deaf(struct hostile *h)
{
	struct plain *p = plain_call(true, false);
	unsigned long start;
	bool ok = p;
	int i;

	if (ok)
		ok = check(!p->called && !plain_event(p, KFI_CONNECTED, NULL), "not connected");
	for (i = 0; i < 20 && ok; i++)
		ok = check(!kfi_send(p->v.ep, p->hv->mem, 200, NULL, 0, NULL), "a send is refused");
	for (i = 0; i < PLAIN_RECVS && ok; i++)
		ok = check(!hv_send(p->hv, p->hv->mem, 1, 0), "a message is not taken");
	ok = ok && check(!plain_odd(p, IB_WR_SEND), "it can't be posted");
	start = jiffies;
	if (ok)
		ok = check(!kfi_close(&p->v.ep->fid), "it can't be closed") && check(time_before(jiffies, start + 5 * HZ), "that takes long");
	if (ok)
		p->v.ep = NULL;
	if (p)
		plain_close(p);
	return ok;
}

/*
 * Who calls, is accepted and says no more: the endpoint hears within the time for it, and has its
 * receives back.
 */
static bool plain_half(struct hostile *h)
{
	struct plain *p = plain_call(false, true);
	struct kfi_cq_data_entry entry;
	bool ok;
	int i, ret;

	if (!p)
		return false;
	ret = plain_event(p, KFI_CONNECTED, NULL);
	ok = check(ret == -ETIMEDOUT || ret == -ECONNREFUSED || ret == -EHOSTUNREACH, "that counts as a connection");
	for (i = 0; i < PLAIN_RECVS && ok; i++)
		ok = check(plain_done(p, &entry, HV_WAIT_MS) < 0, "a receive has not ended");
	plain_close(p);
	return ok;
}

/*
 * rdma_cm knows nothing of our queue pair: it is brought up by hand, and the listener is not
 * told.
 */
static int plain_up(struct hv *hv)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct ib_qp_attr attr;
	int i, mask, ret = 0;

	for (i = 0; i < ARRAY_SIZE(states) && !ret; i++) {
		attr = (struct ib_qp_attr){ .qp_state = states[i] };
		ret = rdma_init_qp_attr(hv->id, &attr, &mask) ?: ib_modify_qp(hv->qp, &attr, mask);
	}
	return ret;
}

/* A message and one that is too long for its receive, as fast as a device can send them. */
static int plain_rush(struct hv *hv)
{
	struct ib_sge sge[] = { { hv->out_dma, 100, hv->pd->local_dma_lkey }, { hv->out_dma, PLAIN_BUF + 1, hv->pd->local_dma_lkey } };
	struct ib_send_wr wr[] = {
		{ .wr_cqe = &hv->send, .opcode = IB_WR_SEND, .sg_list = &sge[0], .num_sge = 1, .send_flags = IB_SEND_SIGNALED, .next = &wr[1] },
		{ .wr_cqe = &hv->send, .opcode = IB_WR_SEND, .sg_list = &sge[1], .num_sge = 1, .send_flags = IB_SEND_SIGNALED },
	};

	memset(hv->out, 0x77, HV_BUF);
	return ib_post_send(hv->qp, wr, NULL);
}

/* The same, where rdma_cm's last word would have had time to come between them. */
static int plain_slow(struct hv *hv)
{
	u8 *bytes = kmalloc(HV_BUF, GFP_KERNEL);
	int ret = bytes ? 0 : -ENOMEM;

	if (!ret) {
		memset(bytes, 0x77, HV_BUF);
		ret = hv_send(hv, bytes, 100, 0);
	}
	msleep(HV_NOT_MS);
	ret = ret ?: hv_send(hv, bytes, PLAIN_BUF + 1, 0) ? 0 : -EMSGSIZE;
	kfree(bytes);
	return ret;
}

/* A message, and nobody is there any more. */
static int plain_leave(struct hv *hv)
{
	memset(hv->mem, 0x77, 100);
	return hv_send(hv, hv->mem, 100, 0);
}

/*
 * A message before rdma_cm's last word makes the connection, and is received behind it; so is,
 * behind that, what has gone wrong since: whether or not the consumer could be told of the one
 * before the other.
 */
static bool plain_before_word(int (*send)(struct hv *hv), bool leave)
{
	struct plain *p = plain_call(false, true);
	struct kfi_cq_data_entry entry;
	bool ok = p;

	ok = ok && check(!p->called && !plain_up(p->hv), "no queue pair") && check(!send(p->hv), "nothing can be sent, or too much");
	if (ok && leave) {
		hv_close(p->hv);
		p->hv = NULL;
	}
	ok = ok && check(!plain_event(p, KFI_CONNECTED, NULL), "not connected") &&
	     check(!plain_done(p, &entry, HV_WAIT_MS) && entry.len == 100 && entry.op_context == p->v.buf && !memchr_inv(p->v.buf, 0x77, 100),
		   "the first message is not received") && plain_over(p, PLAIN_RECVS - 1);
	if (p)
		plain_close(p);
	return ok;
}

static bool plain_early(struct hostile *h)
{
	return plain_before_word(plain_slow, false);
}

static bool plain_rushed(struct hostile *h)
{
	return plain_before_word(plain_rush, false);
}

static bool plain_left(struct hostile *h)
{
	return plain_before_word(plain_leave, true);
}

const struct hostile_case plain_cases[] = {
	{ "plain_early", plain_early },
	{ "plain_rushed", plain_rushed },
	{ "plain_left", plain_left },
	{ "plain_no_message", plain_no_message },
	{ "plain_deaf", plain_deaf },
	{ "plain_half", plain_half },
	{ }
};
