// SPDX-License-Identifier: GPL-2.0
/*
 * RMA that an RDMA device does by itself: no code at the target runs for it, and if the device
 * refuses an access, because a key is invalid, the connection ends. Providers without such a device
 * skip these cases.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include "harness.h"
#include "verbs_watch.h"

#define ALL_RIGHTS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* Both sides are devices of this machine. */
static void watched(struct test *t)
{
	void (*fn)(struct test *t, struct watch *w) = t->c->arg;
	struct watch w = {};
	int ret = watch_start(&w, t->info[0]->domain_attr->name, t->info[1]->domain_attr->name);

	if (ret == -ENODEV)
		test_skip(t, "no RDMA devices of this kernel are below");
	else if (!ret)
		fn(t, &w);
	else
		FAIL(t, "watching completion queues: %d", ret);
	watch_stop(&w);
}

/* ---- one-sided ---- */

#define OPS		32
#define LEN		65536
#define SILENCE_S	5	/* the provider's keepalive_s */

/* Make an access and wait for it. @flags: a completion level. Return: its error */
static int access(struct node *a, struct region *r, bool write, u8 *near, size_t len, size_t at,
		  u64 flags)
{
	struct test *t = a->t;
	struct kvec iov = { near, len };
	struct kfi_rma_iov rma = { r->addr + at, len, r->key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = a->peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = near,
	};
	comp_t c;

	flags |= KFI_COMPLETION;
	if (write ? POST(t, kfi_writemsg(a->ep, &msg, flags)) :
		    POST(t, kfi_readmsg(a->ep, &msg, flags)))
		return -1;
	if (WAIT_TX(a, &c))
		return -1;
	EXPECT(t, c.op_context == near);
	EXPECT_EQ(t, c.flags, KFI_RMA | (write ? KFI_WRITE : KFI_READ));
	return c.err;
}

/* The devices report the same, if they have counters. */
static void expect_counted(struct test *t, struct watch *w, bool write, const s64 *was)
{
	int from = write ? 0 : 1;

	if (was[0] < 0)
		return;
	/* The bytes were moved in packets of at most 4096; none of them was a message. */
	EXPECT(t, watch_counter(w, from, "sent_pkts") - was[0] >= OPS * LEN / 4096);
	EXPECT_EQ(t, watch_counter(w, 0, "rdma_sends"), was[1]);
	EXPECT_EQ(t, watch_counter(w, 1, "rdma_sends"), was[2]);
	EXPECT_EQ(t, watch_counter(w, 1, "rdma_recvs"), was[3]);
}

/* @since: B has received no message of A since then, or later. */
static void move_alone(struct pair *p, struct watch *w, struct region *r, u8 *near, bool write,
		       unsigned long since)
{
	struct test *t = p->a.t;
	s64 was[4];
	u32 i;

	/* Now each knows what it needs to know of the other. */
	REQUIRE_EQ(t, access(&p->a, r, write, near, LEN, 0, 0), 0);
	REQUIRE(t, watch_quiet(w));
	was[0] = watch_counter(w, write ? 0 : 1, "sent_pkts");
	was[1] = watch_counter(w, 0, "rdma_sends");
	was[2] = watch_counter(w, 1, "rdma_sends");
	was[3] = watch_counter(w, 1, "rdma_recvs");
	for (i = 0; i < OPS; i++) {
		fill(write ? near : r->buf, LEN, i + 100 * write);
		REQUIRE_EQ(t, access(&p->a, r, write, near, LEN, 0, 0), 0);
		REQUIRE(t,
			test_until(t, differs(write ? r->buf : near, LEN, i + 100 * write) == -1));
	}
	EXPECT(t, atomic_read(&w->woken[0]) > 0);
	/* Except for its own sign of life, after that time without a packet. */
	EXPECT(t, atomic_read(&w->woken[1]) <= (jiffies - since) / (SILENCE_S * HZ));
	expect_counted(t, w, write, was);
}

/* Reads and writes wake nothing at the target: no code of kfabric has run there. */
static void one_sided(struct test *t, struct watch *w)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	unsigned long since = jiffies;
	struct region r;

	REQUIRE(t, p && near && far && !region_open(&p->b, &r, far, LEN, ALL_RIGHTS));
	move_alone(p, w, &r, near, true, since);
	move_alone(p, w, &r, near, false, since);
	still_works(p);
}

/* ---- keys that the device has known ---- */

#define STALE	8192	/* more than a packet */

/* An RDM endpoint continues. Connected ones have got their events, and can be replaced. */
static bool over_goes_on(struct pair *p)
{
	return (p->a.t->type == KFI_EP_RDM || is_over(p)) && goes_on(p);
}

static const struct {
	bool	write;
	size_t	len;
	u64	level;
} stale_ways[] = {
	{ false, 16, 0 }, { true, 16, 0 }, { true, 16, KFI_TRANSMIT_COMPLETE }, { true, 16, KFI_DELIVERY_COMPLETE },
	{ false, STALE, 0 }, { true, STALE, 0 }, { true, STALE, KFI_DELIVERY_COMPLETE },
};

/* Of more than a packet some may have been written before the refusal; less has no effect. */
static void expect_refused(struct node *a, int err, size_t len, bool claims)
{
	if (refusal(a) == KFI_REFUSAL_CONN)
		EXPECT_EQ(a->t, err, len < STALE ? EACCES : EREMOTEIO);
	else
		EXPECT(a->t, refusal(a) == KFI_REFUSAL_NO_REASON && err != EACCES &&
				     is_refused(a, err, len, claims));
}

/* A region that A has used is closed: A's device does not know, B's does. */
static void refused_once(struct pair *p, u8 *near, u8 *far, bool write, size_t len, u64 level)
{
	struct test *t = p->a.t;
	struct region r;

	REQUIRE(t, !region_open(&p->b, &r, far, STALE, ALL_RIGHTS));
	REQUIRE_EQ(t, access(&p->a, &r, write, near, 16, 0, write ? test_delivery(t) : 0), 0);
	REQUIRE_EQ(t, test_close(t, &r.mr->fid), 0);
	memset(far, 0x5a, STALE);
	memset(near, 0xa5, STALE);
	expect_refused(&p->a, access(&p->a, &r, write, near, len, 0, level), len, level || !write);
	EXPECT_EQ(t, not_all(near, STALE, 0xa5), -1);
	EXPECT(t, over_goes_on(p));
	EXPECT_EQ(t, not_all(far, STALE, 0x5a), -1);
	NONE_TX(&p->a);
}

static void stale_key(struct test *t, struct watch *w)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, STALE), *far = test_pages(t, STALE);
	int i;

	REQUIRE(t, p && near && far);
	for (i = 0; i < ARRAY_SIZE(stale_ways) && !t->failures; i++) {
		if (test_hw_recv(t) && stale_ways[i].level == KFI_DELIVERY_COMPLETE)
			continue;
		refused_once(p, near, far, stale_ways[i].write, stale_ways[i].len,
			     stale_ways[i].level);
		if (t->failures)
			FAIL(t, "%s of %zu, completion level %#llx",
			     stale_ways[i].write ? "write" : "read", stale_ways[i].len,
			     stale_ways[i].level);
	}
}

/* ---- what else was under way ---- */

#define LONG	(512 << 10)
#define AFTER	24
#define SLOT	64
#define BURST	(AFTER + 2)
#define ROUNDS	20

/**
 * struct burst - writes of which the device refuses one
 * @good: a region for the others: LONG bytes for the first, a slot for each
 * @bad: the region of the second, which has ended
 * @near: memory of A
 * @far: memory of @good
 * @posted: number of writes
 * @err: their results
 * @seen: writes that have ended
 */
struct burst {
	struct pair	*p;
	struct region	good, bad;
	u8		*near, *far;
	u32		posted;
	int		err[BURST];
	DECLARE_BITMAP(seen, BURST);
};

static size_t burst_at(u32 i)
{
	return i ? LONG + i * SLOT : 0;
}

/* The first one is long, so that all are under way when the device refuses the second. */
static void burst_post(struct burst *b)
{
	struct node *a = &b->p->a;
	struct kfi_rma_iov rma;
	struct region *r;
	struct kvec iov;
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = a->peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
	};
	ssize_t ret;
	size_t at;

	for (b->posted = 0; b->posted < BURST; b->posted++) {
		at = burst_at(b->posted);
		r = b->posted == 1 ? &b->bad : &b->good;
		iov = (struct kvec){ b->near + at, b->posted ? SLOT : LONG };
		rma = (struct kfi_rma_iov) { r->addr + (b->posted == 1 ? 0 : at), iov.iov_len,
					    r->key };
		msg.context = CTX(b->posted);
		ret = kfi_writemsg(a->ep, &msg, KFI_TRANSMIT_COMPLETE | KFI_COMPLETION);
		if (!ret)
			continue;
		/* A connection that has ended accepts no more. */
		if (a->t->type != KFI_EP_MSG || ret != -ENOTCONN)
			EXPECT_EQ(a->t, ret, -ESHUTDOWN);
		return;
	}
}

/* Each ends once. */
static void burst_end(struct burst *b)
{
	struct node *a = &b->p->a;
	struct test *t = a->t;
	unsigned long which;
	comp_t c;
	u32 i;

	bitmap_zero(b->seen, BURST);
	for (i = 0; i < b->posted; i++) {
		REQUIRE(t, !WAIT_TX(a, &c));
		which = (unsigned long)c.op_context;
		REQUIRE(t, which < b->posted && !test_and_set_bit(which, b->seen));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_WRITE);
		b->err[which] = c.err;
	}
	NONE_TX(a);
}

/*
 * A write that has succeeded was performed. One that has failed may have been performed; its slot
 * is marked. Return: number of those.
 */
static u32 burst_judge(struct burst *b)
{
	struct node *a = &b->p->a;
	struct test *t = a->t;
	u32 i, unknown = 0;
	u8 *slot;

	if (b->posted > 1)
		expect_refused(a, b->err[1], SLOT, true);
	for (i = 2; i < b->posted && !t->failures; i++) {
		slot = b->far + burst_at(i);
		if (!b->err[i]) {
			EXPECT(t, test_until(t, !memcmp(slot, b->near + burst_at(i), SLOT)));
			continue;
		}
		EXPECT(t, is_lost(a, b->err[i]));
		memset(slot, 0x33, SLOT);
		unknown++;
	}
	return unknown;
}

/* After a new connection was made, no operation of the old one is performed again. */
static void burst_not_again(struct burst *b)
{
	struct test *t = b->p->a.t;
	bool bound = t->info[1]->domain_attr->mr_mode & KFI_MR_ENDPOINT;
	u32 i;

	if (bound)
		REQUIRE_EQ(t, test_close(t, &b->good.mr->fid), 0);
	REQUIRE(t, over_goes_on(b->p));
	if (bound)
		REQUIRE(t, !region_open(&b->p->b, &b->good, b->far, burst_at(BURST), ALL_RIGHTS));
	REQUIRE_EQ(t, access(&b->p->a, &b->good, true, b->near, LONG, 0, test_delivery(t)), 0);
	for (i = 2; i < b->posted; i++)
		if (b->err[i])
			EXPECT_EQ(t, not_all(b->far + burst_at(i), SLOT, 0x33), -1);
	EXPECT_EQ(t, memcmp(b->far, b->near, LONG), 0);
}

static u32 burst_round(struct burst *b, u8 *stale, u64 seed)
{
	struct node *a = &b->p->a;
	struct test *t = a->t;
	u32 unknown;

	fill(b->near, burst_at(BURST), seed);
	memset(b->far, 0x5a, burst_at(BURST));
	if (region_open(&b->p->b, &b->bad, stale, 4096, ALL_RIGHTS) ||
	    !EXPECT_EQ(t, access(a, &b->bad, true, b->near, SLOT, 0, test_delivery(t)), 0) ||
	    !EXPECT_EQ(t, access(a, &b->good, true, b->near, SLOT, 0, test_delivery(t)), 0) ||
	    !EXPECT_EQ(t, test_close(t, &b->bad.mr->fid), 0))
		return 0;
	memset(stale, 0x5a, 4096);
	burst_post(b);
	burst_end(b);
	if (t->failures)
		return 0;
	unknown = burst_judge(b);
	burst_not_again(b);
	EXPECT_EQ(t, not_all(stale, 4096, 0x5a), -1);
	return unknown;
}

/*
 * The number of later operations that are under way when the connection is lost depends on time:
 * repeat until there is one.
 */
static void unknown(struct test *t, struct watch *w)
{
	struct burst *b = test_new(t, struct burst);
	u8 *stale = test_pages(t, 4096);
	u32 i, unknown = 0;

	REQUIRE(t, b && stale);
	b->p = pair_open(t, NULL, NULL);
	b->near = test_pages(t, burst_at(BURST));
	b->far = test_pages(t, burst_at(BURST));
	REQUIRE(t, b->p && b->near && b->far &&
		   !region_open(&b->p->b, &b->good, b->far, burst_at(BURST), ALL_RIGHTS));
	for (i = 0; i < ROUNDS && !unknown && !t->failures; i++)
		unknown = burst_round(b, stale, i);
	EXPECT(t, unknown > 0);
}

const struct test_case verbs_rma_cases[] = {
	{ "verbs_rma.one_sided", T_MSG, 0, C_MSG | C_RMA, watched, one_sided },
	{ "verbs_rma.stale_key", T_MSG, 0, C_MSG | C_RMA, watched, stale_key },
	{ "verbs_rma.unknown", T_MSG, 0, C_MSG | C_RMA, watched, unknown },
	{ }
};
