// SPDX-License-Identifier: GPL-2.0
/*
 * Two consumers that open, post, read completions and close as Lustre's kfilnd does: hello,
 * immediate messages, bulk data in both directions, cancels, loss of a peer. tests/kfilnd has every
 * call in the form in which the LND makes it.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include "harness.h"

#define LND_CAPS	(C_MSG | C_TAGGED | C_RMA | KFI_TAGGED_RMA | KFI_DIRECTED_RECV | KFI_MULTI_RECV | KFI_NAMED_RX_CTX)

#define LND_PARTS	2	/* partitions: contexts of each kind */
#define LND_BUFS	4	/* multi-receive buffers of a partition */
#define LND_BUF		16384	/* bytes of each */
#define LND_MSG		4096	/* longest immediate message */
#define LND_BULK	65536	/* bytes of a bulk transfer */
#define LND_TNS		16	/* transactions at a time that a side starts, and that it serves */
#define LND_BITS	8	/* bits of a handle that name a context */

enum lnd_type { LND_HELLO, LND_WELCOME, LND_IMMEDIATE, LND_PUT, LND_GET, LND_SKIP };

/* Sent in slab memory; both sides are one kernel. */
struct lnd_msg {
	u8	type;
	u8	rx;		/* receive context at which the sender waits */
	u32	len;		/* payload of an immediate, bytes of a bulk transfer */
	u64	tag;
	u64	seed;
	u8	data[];
};

/**
 * struct lnd_tn - a transaction, of the side that starts it or that serves it
 * @left: events to come
 * @err: the first error among them, positive
 * @kind: enum lnd_type of the message
 */
struct lnd_tn {
	struct lnd		*l;
	struct lnd_part		*part;
	struct lnd_msg		*msg;
	u8			*buf;
	u8			kind;
	bool			served;
	unsigned long		busy;
	u64			tag, status;
	atomic_t		left;
	int			err;
	struct completion	ended;
};

struct lnd_cq {
	struct lnd_part		*part;
	struct kfid_cq		*cq;
	struct work_struct	work;
};

struct lnd_part {
	struct lnd	*l;
	int		nr;
	struct kfid_ep	*rx, *tx;
	struct lnd_cq	rxcq, txcq;
	u8		*bufs;
};

/**
 * struct lnd - one side
 * @served: bytes that were received correctly, by enum lnd_type
 * @lossy: the peer may be lost: serving may fail
 */
struct lnd {
	struct test		*t;
	struct node		n;
	struct kfid_av		*av;
	struct kfid_ep		*sep;
	kfi_addr_t		peer;
	struct lnd_part		part[LND_PARTS];
	struct lnd_tn		tn[LND_TNS], serve[LND_TNS];
	struct workqueue_struct	*wq;
	atomic_t		served[LND_SKIP + 1], buffers;
	bool			stopping, lossy;
	u64			tags;
};

static kfi_addr_t part_addr(const struct lnd *l, int nr)
{
	return kfi_rx_addr(l->peer, nr, LND_BITS);
}

/* A post is repeated as in the LND, but not for ever: that would be a failure by itself. */
#define LND_POST(l, call)						\
({									\
	unsigned long __until = 0;					\
	int __ret;							\
	do {								\
		__ret = (call);						\
	} while (__ret == -EAGAIN && test_again((l)->t, &__until));	\
	__ret;								\
})

/* ---- transactions ---- */

static void tn_event(struct lnd_tn *tn, int err)
{
	int left;

	if (err && !tn->err)
		tn->err = err;
	left = atomic_dec_return(&tn->left);
	EXPECT(tn->l->t, left >= 0);	/* below 0: one event too many */
	if (left)
		return;
	if (!tn->served) {
		complete(&tn->ended);
		return;
	}
	if (!tn->err && tn->kind == LND_PUT)
		EXPECT_DATA(tn->l->t, tn->buf, tn->msg->len, tn->msg->seed);
	EXPECT(tn->l->t, tn->l->lossy || !tn->err);
	if (!tn->err)
		atomic_inc(&tn->l->served[tn->kind]);
	clear_bit_unlock(0, &tn->busy);
}

static int send_msg(struct lnd_tn *tn, size_t len, int to)
{
	return LND_POST(tn->l, kfi_send(tn->part->tx, tn->msg, sizeof(*tn->msg) + len, NULL,
					part_addr(tn->l, to), tn));
}

/*
 * Receive where the peer puts data, or takes it from. The context bits of a source do not matter.
 */
static int post_sink(struct lnd_tn *tn, size_t len)
{
	struct kvec iov = { tn->buf, len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = part_addr(tn->l, 1),
		.tag = tn->tag,
		.context = tn,
	};

	return LND_POST(tn->l, kfi_trecvmsg(tn->part->rx, &msg, KFI_COMPLETION));
}

static int lnd_start(struct lnd *l, int i, enum lnd_type kind, size_t len, u64 seed)
{
	struct lnd_tn *tn = &l->tn[i];
	bool bulk = kind == LND_PUT || kind == LND_GET || kind == LND_SKIP;
	int ret = 0;

	tn->kind = kind;
	tn->err = 0;
	tn->status = 0;
	tn->tag = ++l->tags;
	tn->part = &l->part[i % LND_PARTS];
	*tn->msg = (struct lnd_msg){ kind, tn->part->nr, len, tn->tag, seed };
	init_completion(&tn->ended);
	atomic_set(&tn->left, kind == LND_IMMEDIATE ? 1 : 2);
	if (kind == LND_HELLO)
		tn->msg->tag = i;	/* returned with the answer */
	if (kind == LND_IMMEDIATE)
		fill(tn->msg->data, len, seed);
	if (kind == LND_PUT)
		fill(tn->buf, len, seed);
	if (bulk)
		ret = post_sink(tn, len);
	if (!ret)
		ret = send_msg(tn, kind == LND_IMMEDIATE ? len : 0, i / 2 % LND_PARTS);
	EXPECT_EQ(l->t, ret, 0);
	return ret;
}

static int lnd_wait(struct lnd *l, int i, unsigned int ms)
{
	struct lnd_tn *tn = &l->tn[i];

	if (!EXPECT(l->t, wait_for_completion_timeout(&tn->ended, msecs_to_jiffies(ms))))
		return ETIMEDOUT;
	if (!tn->err && tn->kind == LND_GET)
		EXPECT_DATA(l->t, tn->buf, tn->msg->len, tn->msg->seed);
	if (!tn->err && tn->kind == LND_SKIP)
		EXPECT_EQ(l->t, tn->status, tn->msg->seed);
	return tn->err;
}

/* ---- serving ---- */

static struct lnd_tn *serve_get(struct lnd_part *part, const struct lnd_msg *msg)
{
	struct lnd *l = part->l;
	unsigned long until = 0;
	int i;

	do {
		for (i = 0; i < LND_TNS; i++) {
			struct lnd_tn *tn = &l->serve[i];

			if (test_and_set_bit_lock(0, &tn->busy))
				continue;
			tn->part = part;
			tn->kind = msg->type;
			tn->err = 0;
			*tn->msg = *msg;
			atomic_set(&tn->left, 1);
			return tn;
		}
	} while (test_again(l->t, &until));
	FAIL(l->t, "no transaction to serve with");
	return NULL;
}

static int serve_bulk(struct lnd_tn *tn, const struct lnd_msg *m)
{
	struct kvec iov = { tn->buf, m->len };
	struct kfi_rma_iov there = { .len = m->len, .key = m->tag };
	struct kfi_msg_rma rma = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.addr = part_addr(tn->l, m->rx),
		.context = tn,
	};
	u64 flags = KFI_TAGGED | KFI_COMPLETION;

	if (m->type == LND_PUT)
		return LND_POST(tn->l, kfi_readmsg(tn->part->tx, &rma, flags));
	fill(tn->buf, m->len, m->seed);
	return LND_POST(tn->l, kfi_writemsg(tn->part->tx, &rma, flags));
}

static int serve_request(struct lnd_tn *tn, const struct lnd_msg *m)
{
	u8 rx = m->rx;

	switch (m->type) {
	case LND_HELLO:
		tn->msg->type = LND_WELCOME;
		return send_msg(tn, 0, rx);
	case LND_SKIP:	/* no data to move, only a status */
		return LND_POST(tn->l, kfi_tsenddata(tn->part->tx, NULL, 0, NULL,
						     (__force u64)cpu_to_be64(m->seed),
						     part_addr(tn->l, rx), m->tag, tn));
	default:
		return serve_bulk(tn, m);
	}
}

static void got_message(struct lnd_part *part, const void *buf, size_t len)
{
	const struct lnd_msg *m = buf;
	struct lnd *l = part->l;
	struct lnd_tn *tn;
	int ret;

	if (!EXPECT(l->t, len >= sizeof(*m)) || !EXPECT(l->t, m->type <= LND_SKIP))
		return;
	if (m->type == LND_WELCOME) {
		if (EXPECT(l->t, m->tag < LND_TNS))
			tn_event(&l->tn[m->tag], 0);
		return;
	}
	if (m->type == LND_IMMEDIATE) {
		EXPECT_EQ(l->t, len, sizeof(*m) + m->len);
		EXPECT_DATA(l->t, m->data, m->len, m->seed);
		atomic_inc(&l->served[LND_IMMEDIATE]);
		return;
	}
	tn = serve_get(part, m);
	if (!tn)
		return;
	ret = serve_request(tn, m);
	if (!EXPECT(l->t, !ret || l->lossy) || ret)
		clear_bit_unlock(0, &tn->busy);
}

/* ---- completions ---- */

static int post_buf(struct lnd_part *part, void *buf)
{
	return LND_POST(part->l, kfi_recv(part->rx, buf, LND_BUF, NULL, KFI_ADDR_UNSPEC, buf));
}

static void got_event(struct lnd_part *part, const struct kfi_cq_data_entry *e)
{
	struct lnd_tn *tn = e->op_context;
	u8 *buf = e->op_context;

	switch (e->flags) {
	case KFI_MSG | KFI_RECV:
	case KFI_MSG | KFI_RECV | KFI_MULTI_RECV:
		EXPECT(part->l->t, (u8 *)e->buf >= buf && (u8 *)e->buf + e->len <= buf + LND_BUF);
		got_message(part, e->buf, e->len);
		if (!(e->flags & KFI_MULTI_RECV))
			return;
		if (READ_ONCE(part->l->stopping) || post_buf(part, buf))
			atomic_dec(&part->l->buffers);
		return;
	case KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA:
		tn->status = be64_to_cpu((__force __be64)e->data);
		fallthrough;
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_RECV:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_RECV:
	case KFI_TAGGED | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND:
	case KFI_MSG | KFI_SEND:
		tn_event(tn, 0);
		return;
	default:	/* the LND stops the node in this case */
		FAIL(part->l->t, "an event with flags %#llx", e->flags);
	}
}

static void got_error(struct lnd_part *part, const struct kfi_cq_err_entry *e)
{
	struct test *t = part->l->t;

	EXPECT(t, e->err > 0);
	switch (e->flags) {
	case KFI_MSG | KFI_RECV | KFI_MULTI_RECV:
		EXPECT_EQ(t, e->err, ECANCELED);
		atomic_dec(&part->l->buffers);
		return;
	case KFI_TAGGED | KFI_RECV:
	case KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA:
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_RECV:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_RECV:
	case KFI_TAGGED | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND:
	case KFI_MSG | KFI_SEND:
		tn_event(e->op_context, e->err);
		return;
	default:
		FAIL(t, "an error with flags %#llx", e->flags);
	}
}

static void drain(struct work_struct *work)
{
	struct lnd_cq *c = container_of(work, struct lnd_cq, work);
	struct kfi_cq_data_entry e;
	struct kfi_cq_err_entry err;
	ssize_t ret;

	while ((ret = kfi_cq_read(c->cq, &e, 1)) != -EAGAIN) {
		memset(&err, 0, sizeof(err));
		if (ret == 1)
			got_event(c->part, &e);
		else if (!EXPECT_EQ(c->part->l->t, ret, -KFI_EAVAIL))
			return;
		else if (EXPECT_EQ(c->part->l->t, kfi_cq_readerr(c->cq, &err, 0), 1))
			got_error(c->part, &err);
	}
}

static void on_event(struct kfid_cq *cq, void *context)
{
	struct lnd_cq *c = context;

	queue_work(c->part->l->wq, &c->work);
}

/* ---- open and close ---- */

static int open_cq(struct lnd_part *part, struct lnd_cq *c)
{
	struct kfi_cq_attr attr = {
		.size = 256,
		.format = KFI_CQ_FORMAT_DATA,
		.wait_obj = KFI_WAIT_NONE,
		.flags = KFI_AFFINITY,
		.signaling_vector = part->nr % num_online_cpus(),
	};

	c->part = part;
	INIT_WORK(&c->work, drain);
	if (!EXPECT_EQ(part->l->t, kfi_cq_open(part->l->n.domain, &attr, &c->cq, on_event, c), 0))
		return -EIO;
	return 0;
}

static int open_contexts(struct lnd_part *part)
{
	struct kfi_rx_attr rx = {
		.op_flags = KFI_COMPLETION | KFI_MULTI_RECV, .size = 256, .iov_limit = 1,
	};
	struct kfi_tx_attr tx = {
		.op_flags = KFI_COMPLETION | KFI_TRANSMIT_COMPLETE,
		.size = 256,
		.iov_limit = 1,
		.rma_iov_limit = 1,
	};
	struct test *t = part->l->t;
	size_t min = LND_MSG;

	if (!EXPECT_EQ(t, kfi_rx_context(part->l->sep, part->nr, &rx, &part->rx, part), 0) ||
	    !EXPECT_EQ(t,
		       kfi_setopt(&part->rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
				  sizeof(min)),
		       0) ||
	    !EXPECT_EQ(t, kfi_tx_context(part->l->sep, part->nr, &tx, &part->tx, part), 0))
		return -EIO;
	/* The context determines the direction. */
	if (!EXPECT_EQ(t, kfi_ep_bind(part->rx, &part->rxcq.cq->fid, 0), 0) ||
	    !EXPECT_EQ(t, kfi_ep_bind(part->tx, &part->txcq.cq->fid, 0), 0) ||
	    !EXPECT_EQ(t, kfi_enable(part->rx), 0) || !EXPECT_EQ(t, kfi_enable(part->tx), 0))
		return -EIO;
	return 0;
}

static int open_part(struct lnd *l, int nr)
{
	struct lnd_part *part = &l->part[nr];
	int i, ret;

	part->l = l;
	part->nr = nr;
	part->bufs = test_zalloc(l->t, LND_BUFS * LND_BUF);
	if (!part->bufs)
		return -ENOMEM;
	ret = open_cq(part, &part->rxcq) ?: open_cq(part, &part->txcq);
	if (!ret)
		ret = open_contexts(part);
	for (i = 0; i < LND_BUFS && !ret; i++) {
		ret = post_buf(part, part->bufs + i * LND_BUF);
		if (!ret)
			atomic_inc(&l->buffers);
	}
	EXPECT_EQ(l->t, ret, 0);
	return ret;
}

static int make_tns(struct lnd *l, struct lnd_tn *tn, bool served)
{
	int i;

	for (i = 0; i < LND_TNS; i++, tn++) {
		tn->l = l;
		tn->served = served;
		tn->msg = test_zalloc(l->t, LND_MSG);
		tn->buf = test_pages(l->t, LND_BULK);
		if (!tn->msg || !tn->buf)
			return -ENOMEM;
	}
	return 0;
}

static int lnd_open(struct test *t, struct lnd *l, int side)
{
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = LND_BITS };
	int i, ret;

	memset(l, 0, sizeof(*l));
	l->t = t;
	l->wq = alloc_workqueue("kfi_lnd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!EXPECT(t, l->wq))
		return -ENOMEM;
	ret = make_tns(l, l->tn, false)		  ?:
		      make_tns(l, l->serve, true) ?:
						    node_open(t, &l->n, side, NULL);
	if (ret)
		return ret;
	EXPECT(t, l->n.info->ep_attr->tx_ctx_cnt >= LND_PARTS &&
			  l->n.info->ep_attr->rx_ctx_cnt >= LND_PARTS);
	if (!EXPECT_EQ(t, kfi_av_open(l->n.domain, &av, &l->av, NULL), 0) ||
	    !EXPECT_EQ(t, kfi_scalable_ep(l->n.domain, l->n.info, &l->sep, l), 0) ||
	    !EXPECT_EQ(t, kfi_scalable_ep_bind(l->sep, &l->av->fid, 0), 0) ||
	    !EXPECT_EQ(t, kfi_enable(l->sep), 0))
		return -EIO;
	l->n.addrlen = sizeof(l->n.addr);
	EXPECT_EQ(t, kfi_getname(&l->sep->fid, l->n.addr, &l->n.addrlen), 0);
	for (i = 0; i < LND_PARTS && !ret; i++)
		ret = open_part(l, i);
	return ret;
}

static int lnd_know(struct lnd *l, const struct lnd *peer)
{
	return EXPECT_EQ(l->t, kfi_av_insert(l->av, peer->n.addr, 1, &l->peer, 0, NULL), 1) ? 0 :
											      -EIO;
}

static void cancel_buffers(struct lnd *l)
{
	unsigned long until = 0;
	int i, j, ret;

	for (i = 0; i < LND_PARTS; i++)
		for (j = 0; j < LND_BUFS && l->part[i].rx; j++)
			do {
				ret = kfi_cancel(&l->part[i].rx->fid,
						 l->part[i].bufs + j * LND_BUF);
				EXPECT(l->t, ret == 0 || ret == -ENOENT || ret == -EAGAIN);
			} while (ret == -EAGAIN && test_again(l->t, &until));
	EXPECT(l->t, test_until(l->t, !atomic_read(&l->buffers)));
}

static void close_fid(struct lnd *l, struct kfid *fid)
{
	EXPECT_EQ(l->t, kfi_close(fid), 0);
}

static void close_cq(struct lnd *l, struct lnd_cq *c)
{
	flush_work(&c->work);
	close_fid(l, &c->cq->fid);
	/* On return of close no call comes: no work was queued since. */
	EXPECT(l->t, !work_busy(&c->work));
	c->cq = NULL;
}

static void close_part(struct lnd *l, struct lnd_part *part)
{
	if (part->tx)
		close_fid(l, &part->tx->fid);
	if (part->rx)
		close_fid(l, &part->rx->fid);
	part->tx = part->rx = NULL;
	/*
	 * Without an outstanding operation no call is outstanding either, except for those of the
	 * last moment.
	 */
	flush_workqueue(l->wq);
	if (part->rxcq.cq)
		close_cq(l, &part->rxcq);
	if (part->txcq.cq)
		close_cq(l, &part->txcq);
}

static void lnd_close(struct lnd *l)
{
	int i;

	WRITE_ONCE(l->stopping, true);
	cancel_buffers(l);
	for (i = 0; i < LND_PARTS; i++)
		close_part(l, &l->part[i]);
	if (l->sep)
		close_fid(l, &l->sep->fid);
	if (l->av)
		close_fid(l, &l->av->fid);
	l->sep = NULL;
	l->av = NULL;
	node_close(&l->n);
}

static void lnd_free(struct lnd *l)
{
	if (l->sep || l->av)
		lnd_close(l);
	if (l->wq)
		destroy_workqueue(l->wq);
	l->wq = NULL;
}

/* ---- the cases ---- */

static void two_free(struct lnd *l)
{
	if (!l)
		return;
	lnd_free(&l[0]);
	lnd_free(&l[1]);
}

/* Open two that have exchanged a hello. */
static struct lnd *two_open(struct test *t)
{
	struct lnd *l = test_zalloc(t, 2 * sizeof(*l));
	int i;

	if (!l)
		return NULL;
	if (lnd_open(t, &l[0], 0) || lnd_open(t, &l[1], 1) || lnd_know(&l[0], &l[1]) ||
	    lnd_know(&l[1], &l[0]))
		goto failed;
	for (i = 0; i < 2; i++)
		if (lnd_start(&l[i], i, LND_HELLO, 0, 0) ||
		    !EXPECT_EQ(t, lnd_wait(&l[i], i, t->w->wait_ms), 0))
			goto failed;
	return l;

failed:
	two_free(l);
	return NULL;
}

/* Open and close several times, in the LND's order. */
static void bring_up(struct test *t)
{
	struct lnd *l;
	int i;

	for (i = 0; i < (t->w->quick ? 2 : 20) && !t->failures; i++) {
		l = two_open(t);
		two_free(l);
	}
}

/* @n transactions of @l, at most LND_TNS at a time. */
static void run(struct lnd *l, int n, enum lnd_type kind, size_t most)
{
	struct test *t = l->t;
	int i, ended = 0;

	for (i = 0; i < n && !t->failures; i++) {
		if (i - ended == LND_TNS)
			EXPECT_EQ(t, lnd_wait(l, ended++ % LND_TNS, t->w->wait_ms), 0);
		if (lnd_start(l, i % LND_TNS, kind, 1 + (u64)i * 7919 % most, (u64)kind << 32 | i))
			return;
	}
	while (ended < i)
		EXPECT_EQ(t, lnd_wait(l, ended++ % LND_TNS, t->w->wait_ms), 0);
}

/* More messages than all buffers hold: each buffer is released, and posted again, several times. */
static void immediates(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, n = t->w->quick ? 120 : 3000;

	REQUIRE(t, l);
	for (i = 0; i < 2; i++) {
		run(&l[i], n, LND_IMMEDIATE, LND_MSG - sizeof(struct lnd_msg));
		EXPECT(t, test_until(t, atomic_read(&l[!i].served[LND_IMMEDIATE]) == n));
	}
	two_free(l);
}

struct runner {
	struct lnd	*l;
	int		n;
};

static int run_bulk(void *arg)
{
	struct runner *r = arg;
	int i;

	for (i = 0; i < 3; i++) {
		run(r->l, r->n, LND_PUT, LND_BULK);
		run(r->l, r->n, LND_GET, LND_BULK);
		run(r->l, r->n, LND_SKIP, LND_BULK);
	}
	return 0;
}

/* Put, get, and the path without data; both sides at once. */
static void bulk(struct test *t)
{
	struct lnd *l = two_open(t);
	struct worker *w = test_zalloc(t, 2 * sizeof(*w));
	struct runner r[2];
	int i, started;

	REQUIRE(t, l);
	for (started = 0; w && started < 2; started++) {
		r[started] = (struct runner){ &l[started], t->w->quick ? 12 : 300 };
		if (worker_start(t, &w[started], -1, run_bulk, &r[started]))
			break;
	}
	for (i = 0; i < started; i++)
		worker_join(&w[i], 4 * t->w->wait_ms);
	for (i = 0; i < 2; i++)
		EXPECT(t, test_until(t, atomic_read(&l[i].served[LND_PUT]) == 3 * r[!i].n &&
				     atomic_read(&l[i].served[LND_GET]) == 3 * r[!i].n &&
				     atomic_read(&l[i].served[LND_SKIP]) == 3 * r[!i].n));
	two_free(l);
}

/*
 * Give up a transaction. Its tagged receive ends once, by the cancel or otherwise; so does its
 * send.
 */
static int give_up(struct lnd *l, int i, unsigned int ms)
{
	struct lnd_tn *tn = &l->tn[i];
	struct test *t = l->t;
	unsigned long until = 0;
	int ret, err;

	do {
		ret = kfi_cancel(&tn->part->rx->fid, tn);
		EXPECT(t, ret == 0 || ret == -ENOENT || ret == -EAGAIN);
	} while (ret == -EAGAIN && test_again(t, &until));
	err = lnd_wait(l, i, ms);
	EXPECT(t, ret || err);
	return err;
}

/*
 * Receive the status of a transaction that was given up. The peer sends it all the same, and a
 * provider may keep the peer's operation until the message has a receive.
 */
static void late_status(struct lnd *l, int i)
{
	struct lnd_tn *tn = &l->tn[i];

	tn->err = 0;
	reinit_completion(&tn->ended);
	atomic_set(&tn->left, 1);
	if (EXPECT_EQ(l->t, post_sink(tn, LND_BULK), 0))
		EXPECT_EQ(l->t, lnd_wait(l, i, l->t->w->wait_ms), 0);
}

/*
 * Transactions are given up at all stages; the peer, which may be in the middle of one, continues.
 */
static void cancels(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, j, err, rounds = t->w->quick ? 12 : 200, cancelled = 0, whole = 0;

	REQUIRE(t, l);
	l[1].lossy = true;
	for (i = 0; i < rounds && !t->failures; i++) {
		for (j = 0; j < LND_TNS; j++)
			if (lnd_start(&l[0], j, LND_PUT + (i + j) % 3, LND_BULK, i * LND_TNS + j))
				break;
		if (i % 4)
			usleep_range(50 * i, 50 * i + 1);
		while (j--) {
			err = give_up(&l[0], j, t->w->wait_ms);
			EXPECT(t, err == 0 || err == ECANCELED);
			cancelled += err == ECANCELED;
			whole += !err;
			if (err == ECANCELED && l[0].tn[j].kind == LND_SKIP)
				late_status(&l[0], j);
		}
	}
	pr_info("    # lnd: %d cancelled, %d whole\n", cancelled, whole);
	/* Other transactions are not affected by leftovers of them. */
	run(&l[0], 20, LND_GET, LND_BULK);
	run(&l[0], 20, LND_PUT, LND_BULK);
	two_free(l);
}

/* Is this an error that tells the LND about the peer or the network? */
static bool tells_of_loss(int err)
{
	return err == EHOSTUNREACH || err == ENOTCONN || err == ETIMEDOUT || err == EIO ||
	       err == ECONNREFUSED || err == ECONNRESET;
}

/*
 * The peer is lost during traffic: all transactions end in bounded time, the buffers stay, and when
 * the peer is back all works as before.
 */
static void peer_lost(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, err, lost = 0;

	REQUIRE(t, l);
	l[0].lossy = l[1].lossy = true;
	for (i = 0; i < LND_TNS && !t->failures; i++)
		lnd_start(&l[0], i, i & 1 ? LND_PUT : LND_GET, LND_BULK, i);
	lnd_free(&l[1]);
	for (i = 0; i < LND_TNS && !t->failures; i++) {
		err = give_up(&l[0], i, t->w->loss_ms + t->w->wait_ms);
		EXPECT(t, !err || err == ECANCELED || tells_of_loss(err));
	}
	/* A missing peer is reported asynchronously. */
	for (i = 0; i < LND_TNS && !t->failures; i++)
		lnd_start(&l[0], i, LND_IMMEDIATE, 100, i);
	for (i = 0; i < LND_TNS && !t->failures; i++) {
		err = lnd_wait(&l[0], i, t->w->loss_ms + t->w->wait_ms);
		EXPECT(t, tells_of_loss(err));
		lost += !!err;
	}
	EXPECT_EQ(t, lost, LND_TNS);
	EXPECT_EQ(t, atomic_read(&l[0].buffers), LND_PARTS * LND_BUFS);
	if (t->failures || lnd_open(t, &l[1], 1))
		goto out;
	EXPECT_EQ(t, kfi_av_remove(l[0].av, &l[0].peer, 1, 0), 0);
	if (lnd_know(&l[0], &l[1]) || lnd_know(&l[1], &l[0]))
		goto out;
	run(&l[0], 20, LND_GET, LND_BULK);
	run(&l[1], 20, LND_PUT, LND_BULK);
	run(&l[1], 20, LND_IMMEDIATE, 1000);
out:
	two_free(l);
}

const struct test_case lnd_cases[] = {
	{ "lnd.bring_up", T_RDM, 0, LND_CAPS, bring_up },
	{ "lnd.immediates", T_RDM, 0, LND_CAPS, immediates },
	{ "lnd.bulk", T_RDM, 0, LND_CAPS, bulk },
	{ "lnd.cancels", T_RDM, 0, LND_CAPS, cancels },
	{ "lnd.peer_lost", T_RDM, 0, LND_CAPS, peer_lost },
	{ }
};
