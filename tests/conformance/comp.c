// SPDX-License-Identifier: GPL-2.0
/* Completions, events, and transfers that check both. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include "harness.h"

/* Any success entry, widened to the form that errors have. */
static void widen(comp_t *c, enum kfi_cq_format format, const struct kfi_cq_tagged_entry *e)
{
	memset(c, 0, sizeof(*c));
	c->op_context = e->op_context;
	if (format == KFI_CQ_FORMAT_CONTEXT)
		return;
	c->flags = e->flags;
	c->len = e->len;
	if (format == KFI_CQ_FORMAT_MSG)
		return;
	c->buf = e->buf;
	c->data = e->data;
	if (format == KFI_CQ_FORMAT_TAGGED)
		c->tag = e->tag;
}

int comp_poll(struct node *n, struct kfid_cq *cq, comp_t *c)
{
	enum kfi_cq_format format = n->opts.format ?: KFI_CQ_FORMAT_TAGGED;
	struct kfi_cq_tagged_entry e = {};
	ssize_t ret;

	ret = kfi_cq_read(cq, &e, 1);
	if (ret == 1) {
		widen(c, format, &e);
		return 1;
	}
	if (ret == -EAGAIN) {
		/*
		 * A thread that polls in a loop must not keep the CPU from threads that make
		 * progress.
		 */
		cond_resched();
		return 0;
	}
	if (ret != -KFI_EAVAIL)
		return ret ?: -EPROTO;	/* 0 is no valid result */
	memset(c, 0, sizeof(*c));
	ret = kfi_cq_readerr(cq, c, 0);
	if (ret == 1)
		return c->err > 0 ? 1 : -EPROTO;
	/* Another reader has taken it. */
	return ret == -EAGAIN ? 0 : ret;
}

int comp_wait_ms(struct test *t, struct node *n, struct kfid_cq *cq, comp_t *c,
		 unsigned int ms, const char *file, int line)
{
	unsigned long until = jiffies + msecs_to_jiffies(ms);
	unsigned int spins = 0;
	int ret;

	for (;;) {
		ret = comp_poll(n, cq, c);
		if (ret == 1)
			return 0;
		if (ret < 0) {
			test_fail(t, file, line, "read of a completion queue: %d", ret);
			return ret;
		}
		if (time_after(jiffies, until)) {
			test_fail(t, file, line, "no completion in %u ms", ms);
			return -ETIMEDOUT;
		}
		if (spins++ < 50)
			cond_resched();
		else
			usleep_range(20, 100);
	}
}

void comp_none(struct test *t, struct node *n, struct kfid_cq *cq, const char *file, int line)
{
	comp_t c;
	int ret;

	msleep(30);
	ret = comp_poll(n, cq, &c);
	if (ret == 1)
		test_fail(t, file, line,
			  "a completion too many: context %p flags %#llx err %d",
			  c.op_context, c.flags, c.err);
	else if (ret)
		test_fail(t, file, line, "read of a completion queue: %d", ret);
}

void comp_is(struct test *t, const comp_t *c, const void *ctx, u64 flags,
	     const char *file, int line)
{
	test_eq(t, file, line, "err of the completion", c->err, 0);
	test_eq(t, file, line, "context of the completion", (long)c->op_context, (long)ctx);
	test_eq(t, file, line, "flags of the completion", c->flags, flags);
}

void comp_is_err(struct test *t, const comp_t *c, const void *ctx, int err,
		 const char *file, int line)
{
	test_eq(t, file, line, "err of the completion", c->err, err);
	test_eq(t, file, line, "context of the completion", (long)c->op_context, (long)ctx);
}

/* ---- events ---- */

static int event_take(struct test *t, struct event *ev, u32 type,
		      const struct kfi_eq_cm_entry *e, ssize_t got)
{
	ev->type = type;
	ev->fid = e->fid;
	ev->info = type == KFI_CONNREQ ? e->info : NULL;
	ev->len = got > sizeof(*e) ? got - sizeof(*e) : 0;
	memcpy(ev->data, e->data, ev->len);
	return 0;
}

static int event_error(struct test *t, struct kfid_eq *eq, struct event *ev,
		       const char *file, int line)
{
	struct kfi_eq_err_entry e = {
		.err_data = ev->data,
		.err_data_size = sizeof(ev->data),
	};
	ssize_t ret = kfi_eq_readerr(eq, &e, 0);

	if (ret != sizeof(e)) {
		test_fail(t, file, line, "eq_readerr: expected %zu, got %zd", sizeof(e), ret);
		return -EPROTO;
	}
	ev->err = e.err;
	ev->fid = e.fid;
	ev->len = e.err_data_size;
	return 0;
}

int event_wait(struct test *t, struct kfid_eq *eq, struct event *ev, unsigned int ms,
	       const char *file, int line)
{
	struct kfi_eq_cm_entry *e;
	u32 type = 0;
	ssize_t ret;
	int err;

	memset(ev, 0, sizeof(*ev));
	e = kzalloc(sizeof(*e) + sizeof(ev->data), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	ret = kfi_eq_sread(eq, &type, e, sizeof(*e) + sizeof(ev->data), ms, 0);
	if (ret == -KFI_EAVAIL) {
		err = event_error(t, eq, ev, file, line);
	} else if (ret < (ssize_t)sizeof(*e)) {
		test_fail(t, file, line, "no event in %u ms: %zd", ms, ret);
		err = ret < 0 ? ret : -EPROTO;
	} else {
		err = event_take(t, ev, type, e, ret);
	}
	kfree(e);
	return err;
}

/* ---- transfers ---- */

int exchange(struct node *a, struct node *b, void *tx, void *rx, size_t len, u64 seed)
{
	struct test *t = a->t;
	comp_t c;
	int ret;

	fill(tx, len, seed);
	memset(rx, 0, len);
	ret = POST(t, kfi_recv(b->ep, rx, len, NULL, KFI_ADDR_UNSPEC, rx));
	if (!ret)
		ret = POST(t, kfi_send(a->ep, tx, len, NULL, a->peer, tx));
	if (!ret)
		ret = WAIT_TX(a, &c);
	if (ret)
		return ret;
	EXPECT_COMP(t, &c, tx, KFI_MSG | KFI_SEND);
	ret = WAIT_RX(b, &c);
	if (ret)
		return ret;
	EXPECT_COMP(t, &c, rx, KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, len);
	return EXPECT_DATA(t, rx, len, seed) ? 0 : -EILSEQ;
}

int transfer(struct node *a, struct node *b, size_t len, u64 seed)
{
	u8 *tx, *rx;

	len = min(len, a->t->info[0]->ep_attr->max_msg_size);
	tx = test_pages(a->t, len);
	rx = test_pages(a->t, len);
	return exchange(a, b, tx, rx, len, seed);
}

size_t size_max(struct test *t)
{
	size_t max = t->w->quick ? SZ_256K : SZ_8M;

	/* The memory of a queue pair is in one piece (test_pages()). */
	if (test_hw_recv(t))
		max = min_t(size_t, max, SZ_1M);
	return min(max, t->info[0]->ep_attr->max_msg_size);
}

size_t size_next(struct test *t, size_t size)
{
	/* 2^n, 1.5 * 2^n; quick: a power of four and its half more. */
	if (is_power_of_2(size))
		return size == 1 ? 2 : size + size / 2;
	size = size / 3 * 4;
	return t->w->quick ? size * 2 : size;
}

void still_works(struct pair *p)
{
	struct test *t = p->a.t;
	u64 seed = test_random(t, U32_MAX);

	if (!transfer(&p->a, &p->b, 1000, seed))
		transfer(&p->b, &p->a, 3000, seed + 1);
}

/*
 * The consequence of an access to a region of the peer that has ended: enum kfi_refusal of the
 * domain says it, and these functions say what that means for completions.
 */

#define ONE_PACKET	256	/* a packet of every device has room for this many bytes */

enum kfi_refusal refusal(struct node *n)
{
	struct kfi_domain_limits limits = {};

	EXPECT_EQ(n->t, kfi_domain_limits(n->domain, &limits), 0);
	return limits.refusal;
}

bool is_lost(struct node *n, int err)
{
	return refusal(n) == KFI_REFUSAL_CONN &&
	       (err == ECONNRESET || (n->t->type == KFI_EP_MSG && err == ESHUTDOWN));
}

bool is_refused(struct node *n, int err, size_t len)
{
	return err == EACCES ||
	       (err == EREMOTEIO && len > ONE_PACKET && refusal(n) == KFI_REFUSAL_CONN);
}

/* ---- afterwards ---- */

/*
 * Does a write succeed, behind all that was posted before? Return: 1, 0, or -1 if the case has
 * failed.
 */
static int write_through(struct pair *p, struct region *r)
{
	struct node *a = &p->a;
	struct kvec iov = { a->addr, 1 };
	struct kfi_rma_iov rma = { r->addr, 1, r->key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = a->peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = p,
	};
	unsigned long until = 0;
	ssize_t ret;
	comp_t c;

	do {
		ret = kfi_writemsg(a->ep, &msg, test_delivery(a->t) | KFI_COMPLETION);
	} while (ret == -EAGAIN && test_again(a->t, &until));
	if (a->t->type == KFI_EP_MSG && (ret == -ENOTCONN || ret == -ESHUTDOWN))
		return 0;
	if (!EXPECT_EQ(a->t, ret, 0) || WAIT_TX(a, &c) || !EXPECT(a->t, c.op_context == p))
		return -1;
	return c.err ? (EXPECT(a->t, is_lost(a, c.err)) ? 0 : -1) : 1;
}

static int gets_through(struct pair *p)
{
	struct test *t = p->a.t;
	struct region r;
	int ret;

	if (region_open(&p->b, &r, test_zalloc(t, 64), 64, KFI_REMOTE_WRITE))
		return -1;
	ret = write_through(p, &r);
	return EXPECT_EQ(t, test_close(t, &r.mr->fid), 0) ? ret : -1;
}

static bool told_shutdown(struct node *n)
{
	struct event *ev = test_new(n->t, struct event);

	return ev && !WAIT_EVENT(n, ev) && EXPECT_EQ(n->t, ev->err, 0) &&
	       EXPECT_EQ(n->t, ev->type, KFI_SHUTDOWN) && EXPECT(n->t, ev->fid == &n->ep->fid);
}

bool is_over(struct pair *p)
{
	return told_shutdown(&p->a) && told_shutdown(&p->b) && !pair_reconnect(p, &p->a);
}

bool goes_on(struct pair *p)
{
	struct test *t = p->a.t;
	int there = gets_through(p);

	if (!there && t->type == KFI_EP_MSG)
		there = is_over(p);
	if (EXPECT_EQ(t, there, 1))
		still_works(p);
	return !t->failures;
}
