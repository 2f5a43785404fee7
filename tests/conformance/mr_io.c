// SPDX-License-Identifier: GPL-2.0
/* Regions for one I/O: registered in softirq, ended while data arrives, used once. */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include "harness.h"

#define LEN	(1 << 20)

/**
 * struct io - a handle, its memory, and its work in softirq
 * @left: rounds of registering and detaching to go
 * @wrong: number of violated expectations
 */
struct io {
	struct io_work		w;
	struct kfid_mr		*mr;
	struct kfi_mr_attr	attr;
	struct kvec		iov;
	int			left;
	bool			attached;
	atomic_t		wrong;
};

static struct io *io_open(struct test *t, struct node *n, void *buf, size_t len)
{
	struct io *io = test_new(t, struct io);

	io->mr = io_region(n, DIV_ROUND_UP(len, PAGE_SIZE));
	if (!io->mr)
		return NULL;
	io_work_init(&io->w);
	io->iov = (struct kvec){ buf, len };
	io->attr = io_attr(&io->iov, KFI_REMOTE_WRITE | KFI_REMOTE_READ);
	return io;
}

/* With bottom halves off, as callers in softirq have them: it must neither sleep nor call back. */
static bool io_do(struct test *t, struct io *io, bool attach)
{
	int ret;
	bool inside;

	local_bh_disable();
	ret = attach ? kfi_mr_register(io->mr, &io->attr, &io->w.work) :
		       kfi_mr_invalidate(io->mr, &io->w.work);
	inside = completion_done(&io->w.ended);
	local_bh_enable();
	return EXPECT_EQ(t, ret, 0) && EXPECT(t, !inside) && io_work_wait(t, &io->w);
}

/* done() of one starts the next. */
static void io_again(struct kfi_mr_work *work, int err)
{
	struct io *io = container_of(work, struct io, w.work);
	int ret;

	if (err || !in_softirq())
		atomic_inc(&io->wrong);
	io->attached = !io->attached;
	if (!io->attached && !--io->left) {
		complete(&io->w.ended);
		return;
	}
	ret = io->attached ? kfi_mr_invalidate(io->mr, work) :
			     kfi_mr_register(io->mr, &io->attr, work);
	if (ret) {
		atomic_inc(&io->wrong);
		complete(&io->w.ended);
	}
}

/*
 * A handle is registered, detached and registered again by callbacks in softirq, while peers read
 * and write.
 */
static void softirq(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 4096), *far = test_pages(t, 4096);
	struct io *io;
	int ret, ok = 0;
	comp_t c;

	io = io_open(t, &p->b, far, 4096);
	if (!io)
		return;
	io->left = t->w->quick ? 500 : 5000;
	io->w.work.done = io_again;
	local_bh_disable();
	ret = kfi_mr_register(io->mr, &io->attr, &io->w.work);
	local_bh_enable();
	REQUIRE_EQ(t, ret, 0);
	while (t->type == KFI_EP_RDM && !completion_done(&io->w.ended) && !t->failures) {
		u64 key = kfi_mr_key(io->mr);

		if (key == KFI_KEY_NOTAVAIL)
			continue;
		POST(t,
		     kfi_write(p->a.ep, near, 64, NULL, p->a.peer, kfi_mr_addr(io->mr), key, near));
		if (WAIT_TX(&p->a, &c))
			break;
		EXPECT(t, c.err == 0 || c.err == EREMOTEIO || is_refused(&p->a, c.err, 64));
		ok += !c.err;
	}
	EXPECT(t, wait_for_completion_timeout(&io->w.ended, msecs_to_jiffies(2 * t->w->wait_ms)));
	EXPECT_EQ(t, io->left, 0);
	EXPECT_EQ(t, atomic_read(&io->wrong), 0);
	EXPECT_EQ(t, kfi_mr_invalidate(io->mr, &io->w.work), -KFI_EOPBADSTATE);
	pr_info("    # mr: %d writes found it attached\n", ok);
}

struct writer {
	struct pair		*p;
	u8			*near;
	size_t			len;
	u64			addr, key;
	struct completion	begun;
};

static int write_run(void *arg)
{
	struct writer *w = arg;
	struct node *a = &w->p->a;

	complete(&w->begun);
	return POST(a->t, kfi_write(a->ep, w->near, w->len, NULL, a->peer, w->addr, w->key, w));
}

/*
 * Detach while a write arrives, the first one or, with @before, a later one: after the completion
 * no byte changes any more. Return: did the write succeed?
 */
static bool detach_one(struct test *t, struct io *io, struct writer *w, int before,
		       unsigned int us)
{
	struct worker *th = test_new(t, struct worker);
	u8 *far = io->iov.iov_base;
	bool moved = false;
	comp_t c = {};

	if (!io_do(t, io, true))
		return false;
	w->key = kfi_mr_key(io->mr);
	w->addr = kfi_mr_addr(io->mr);
	while (before--) {
		init_completion(&w->begun);
		if (write_run(w) || WAIT_TX(&w->p->a, &c) || !EXPECT_EQ(t, c.err, 0))
			return false;
	}
	memset(far, 0, w->len);
	init_completion(&w->begun);
	if (worker_start(t, th, -1, write_run, w))
		return false;
	wait_for_completion(&w->begun);
	if (us)
		usleep_range(us, us + 1);
	if (io_do(t, io, false)) {
		moved = not_all(far, w->len, 0) >= 0;
		memset(far, 0x5a, w->len);
	}
	EXPECT_EQ(t, worker_join(th, t->w->wait_ms), 0);
	if (WAIT_TX(&w->p->a, &c))
		return false;
	if (c.err && c.err != EREMOTEIO && (c.err != EACCES || moved))
		FAIL(t, "ended with %d, %s moved", c.err, moved ? "bytes have" : "nothing has");
	EXPECT_EQ(t, not_all(far, w->len, 0x5a), -1);
	return !c.err;
}

/*
 * The handle for the next round: the same, unless it is bound to an endpoint that has to be
 * replaced.
 */
static struct io *io_next(struct io *io, struct writer *w)
{
	struct test *t = w->p->a.t;
	bool kept = t->type == KFI_EP_RDM || refusal(&w->p->a) == KFI_REFUSAL_OP;

	if (!kept && !EXPECT_EQ(t, test_close(t, &io->mr->fid), 0))
		return NULL;
	if (!goes_on(w->p))
		return NULL;
	return kept ? io : io_open(t, &w->p->b, io->iov.iov_base, w->len);
}

/* As much as a message and a handle support. */
static size_t midway_len(struct test *t, struct node *n)
{
	struct kfi_domain_limits limits = {};

	EXPECT_EQ(t, kfi_domain_limits(n->domain, &limits), 0);
	return min3((size_t)LEN, t->info[0]->ep_attr->max_msg_size,
		    (limits.mr_page_limit ?: LEN) * PAGE_SIZE);
}

/* @before: writes to each registration that are complete */
static void midway_run(struct test *t)
{
	int before = case_num(t);
	int i, n = t->w->quick ? 32 : 400, whole = 0;
	struct writer w = { .p = pair_open(t, NULL, NULL) };
	struct io *io;
	u8 *far;

	REQUIRE(t, w.p);
	w.len = midway_len(t, &w.p->a);
	w.near = test_pages(t, w.len);
	far = test_pages(t, w.len);
	memset(w.near, 0xa5, w.len);
	io = io_open(t, &w.p->b, far, w.len);
	for (i = 0; io && i < n && !t->failures; i++) {
		unsigned int us = i % 4 ? test_random(t, 200 * (i % 16) + 1) : 0;

		whole += detach_one(t, io, &w, before, us);
		io = io_next(io, &w);
	}
	pr_info("    # mr: %d of %d writes were whole\n", whole, n);
}

/*
 * Attach two pieces of the memory at @near; then detach them. Return: result of kfi_mr_register()
 */
static int attach_two(struct test *t, struct io *io, struct kvec *iov)
{
	int ret;

	io->attr.mr_iov = iov;
	io->attr.iov_count = 2;
	ret = kfi_mr_register(io->mr, &io->attr, &io->w.work);
	if (ret)
		return ret;
	EXPECT(t, io_work_wait(t, &io->w) && io_do(t, io, false));
	return 0;
}

/*
 * Memory that a device can't register is refused at once, not when a peer accesses it; and the
 * handle still works.
 */
static void device_holds(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 6 * PAGE_SIZE);
	struct kfi_domain_limits limits = {};
	struct kvec gap[] = { { near + 100, 200 }, { near + 2 * PAGE_SIZE, 300 } };
	struct kvec more[] = { { near, PAGE_SIZE }, { near + 2 * PAGE_SIZE, 4 * PAGE_SIZE } };
	struct kvec good[] = { { near + 100, PAGE_SIZE - 100 }, { near + 3 * PAGE_SIZE, 300 } };
	struct io *io;
	int refused;

	REQUIRE_EQ(t, kfi_domain_limits(p->a.domain, &limits), 0);
	refused = limits.virt_boundary_mask ? -EINVAL : 0;	/* software accepts any vector */
	io = io_open(t, &p->a, near, 2 * PAGE_SIZE);
	REQUIRE(t, io);
	EXPECT_EQ(t, attach_two(t, io, gap), refused);
	EXPECT_EQ(t, attach_two(t, io, good), 0);
	EXPECT_EQ(t, attach_two(t, io, more), refused);
	EXPECT_EQ(t, attach_two(t, io, good), 0);
}

const struct test_case mr_io_cases[] = {
	{ "mr.softirq", T_REL, 0, C_MSG | C_RMA, .pair = softirq },
	{ "mr.invalidate_midway", T_REL, 0, C_MSG | C_RMA, midway_run, CASE_NUM(0) },
	/* The initiator knows the region already. */
	{ "mr.invalidate_again", T_REL, 0, C_MSG | C_RMA, midway_run, CASE_NUM(2) },
	{ "mr.device_holds", T_REL, 0, C_MSG | C_RMA, .pair = device_holds },
	{ }
};
