// SPDX-License-Identifier: GPL-2.0
/*
 * Writes to regions that are written to again and again. A provider may let the initiator keep what
 * it knows of such a region (lasting grants of the message protocol, keys of a device), until the
 * region ends.
 */
#include <linux/delay.h>
#include "harness.h"

#define WRITES	24	/* under way at a time */

/* As much as a message may have, and more than any provider sends without asking. */
static size_t grant_len(struct test *t)
{
	return min_t(size_t, 120000, t->info[0]->ep_attr->max_msg_size);
}

static int grant_write(struct node *a, struct region *r, u8 *near, size_t at, size_t len)
{
	struct test *t = a->t;
	comp_t c;

	if (POST(t, kfi_write(a->ep, near, len, NULL, a->peer, r->addr + at, r->key, near)) ||
	    WAIT_TX(a, &c))
		return -1;
	return EXPECT_EQ(t, c.err, 0) ? 0 : -1;
}

/* Any part of two regions, one after the other: exactly these bytes change. */
static void repeated(struct test *t, struct pair *p)
{
	size_t most = grant_len(t), max, at, len;
	int i, n = t->w->quick ? 40 : 10000;
	u8 *near = test_pages(t, most), *far[2];
	struct region r[2];

	for (i = 0; i < 2; i++) {
		far[i] = test_best(t, p->b.domain, most);
		REQUIRE(t, far[i] && !region_open(&p->b, &r[i], far[i], most, KFI_REMOTE_WRITE));
	}
	for (i = 0; i < n && !t->failures; i++) {
		u8 *to = far[i & 1];

		max = i < 40 ? most : min_t(size_t, most, 12000);
		at = i % 3 ? test_random(t, max / 2) : 0;
		len = i % 3 ? 1 + test_random(t, max - at) : max;
		fill(near, len, i);
		memset(to, 0x5a, max);
		REQUIRE(t, !grant_write(&p->a, &r[i & 1], near, at, len));
		EXPECT(t, test_until(t, differs(to + at, len, i) == -1));
		EXPECT_EQ(t, not_all(to, at, 0x5a), -1);
		EXPECT_EQ(t, not_all(to + at + len, max - at - len, 0x5a), -1);
	}
}

/**
 * struct closing - writes to a region that is closed meanwhile
 * @posted: number of writes
 */
struct closing {
	struct pair	*p;
	struct region	r;
	u8		*near;
	size_t		len;
	int		posted;
};

/* A connection that such an access has ended takes no more posts. */
static int closing_run(void *arg)
{
	struct closing *w = arg;
	struct node *a = &w->p->a;
	unsigned long until = 0;
	ssize_t ret = 0;

	for (; w->posted < WRITES; w->posted++) {
		do {
			ret = kfi_write(a->ep, w->near, w->len, NULL, a->peer, w->r.addr, w->r.key,
					w);
		} while (ret == -EAGAIN && test_again(a->t, &until));
		if (ret)
			break;
	}
	return ret == -ENOTCONN || ret == -ESHUTDOWN ? 0 : ret;
}

/*
 * Write to the region twice, then close it while many writes are under way. Each ends once, and the
 * memory belongs to its owner when the close has returned. Return: number of good ones.
 */
static int close_one(struct test *t, struct closing *w, u8 *far, unsigned int us)
{
	struct worker *th = test_new(t, struct worker);
	struct node *a = &w->p->a;
	int i, good = 0;
	comp_t c = {};

	if (region_open(&w->p->b, &w->r, far, w->len, KFI_REMOTE_WRITE))
		return 0;
	for (i = 0; i < 2; i++)
		if (grant_write(a, &w->r, w->near, 0, w->len))
			return 0;
	w->posted = 0;
	if (worker_start(t, th, -1, closing_run, w))
		return 0;
	usleep_range(us, us + 1);
	EXPECT_EQ(t, test_close(t, &w->r.mr->fid), 0);
	memset(far, 0x5a, w->len);
	EXPECT_EQ(t, worker_join(th, t->w->wait_ms), 0);
	for (i = 0; i < w->posted && !t->failures; i++) {
		if (WAIT_TX(a, &c))
			return 0;
		good += !c.err;
		if (c.err && c.err != EREMOTEIO && c.err != EACCES && !is_lost(a, c.err))
			FAIL(t, "a write has ended with %d", c.err);
	}
	EXPECT_EQ(t, not_all(far, w->len, 0x5a), -1);
	return good;
}

static void closed(struct test *t)
{
	int i, n = t->w->quick ? 12 : 150, good = 0;
	struct closing w = { .p = pair_open(t, NULL, NULL), .len = grant_len(t) };
	u8 *far;

	REQUIRE(t, w.p);
	w.near = test_pages(t, w.len);
	far = test_best(t, w.p->b.domain, w.len);
	REQUIRE(t, far);
	memset(w.near, 0xa5, w.len);
	for (i = 0; i < n && !t->failures; i++) {
		good += close_one(t, &w, far, 1 + test_random(t, 300 * (i % 8) + 1));
		if (!goes_on(w.p))
			break;
	}
	pr_info("    # rma: %d of %d writes were in time\n", good, n * WRITES);
}

/* Write to memory that is 0x5a. Return: whether a byte has changed; the error in @err. */
static bool denied_write(struct pair *p, struct region *r, u8 *near, u8 *far, size_t len, int *err)
{
	struct node *a = &p->a;
	comp_t c = {};

	memset(far, 0x5a, len);
	*err = 0;
	if (!POST(a->t, kfi_write(a->ep, near, len, NULL, a->peer, r->addr, r->key, near)) &&
	    !WAIT_TX(a, &c))
		*err = c.err;
	return not_all(far, len, 0x5a) != -1;
}

/*
 * A peer that had the right to write, and may have kept what it knows of the region, loses it. A
 * write that it begins before it is told may land, and fails. Soon no write lands any more.
 */
static void denied(struct test *t, struct pair *p)
{
	static const size_t none, all = KFI_REMOTE_WRITE;
	size_t len = grant_len(t);
	u8 *near = test_pages(t, len), *far = test_best(t, p->b.domain, len);
	struct kfid *ep = &p->b.ep->fid;
	unsigned long until = 0;
	struct region r;
	int i, ret, err;

	ret = kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &all, sizeof(all));
	if (ret == -ENOPROTOOPT)
		return;		/* the keys are those of a device, which does not know endpoints */
	REQUIRE_EQ(t, ret, 0);
	REQUIRE(t, far && !region_open(&p->b, &r, far, len, KFI_REMOTE_WRITE));
	memset(near, 0xa5, len);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !grant_write(&p->a, &r, near, 0, len));
	REQUIRE(t, !kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &none, sizeof(none)));
	while (denied_write(p, &r, near, far, len, &err)) {
		REQUIRE(t, err == EACCES || err == EREMOTEIO);
		REQUIRE(t, test_again(t, &until));
	}
	REQUIRE(t, err == EACCES || err == EREMOTEIO);
	EXPECT(t, !denied_write(p, &r, near, far, len, &err));
	EXPECT_EQ(t, err, EACCES);
	REQUIRE(t, !kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &all, sizeof(all)));
	for (i = 0; i < 3; i++) {
		memset(far, 0x5a, len);
		REQUIRE(t, !grant_write(&p->a, &r, near, 0, len));
		EXPECT(t, test_until(t, not_all(far, len, 0xa5) == -1));
	}
	EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
}

const struct test_case rma_grant_cases[] = {
	{ "rma.grant_repeated", T_REL, 0, C_MSG | C_RMA, .pair = repeated },
	{ "rma.grant_closed", T_REL, 0, C_MSG | C_RMA, closed },
	{ "rma.grant_denied", T_REL, 0, C_MSG | C_RMA, .pair = denied },
	{ }
};
