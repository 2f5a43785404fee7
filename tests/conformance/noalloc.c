// SPDX-License-Identifier: GPL-2.0
/*
 * The data path allocates no memory: between endpoints that know each other, with the receives
 * posted, kfi.ko and the provider make no allocation for messages, RMA and atomic operations, in
 * any context.
 *
 * The kernel's allocation events report the caller. Allocations of other code, such as the
 * network's for its packets, do not count.
 */
#include "atomic.h"
#include "trap.h"

#ifdef CONFIG_TRACEPOINTS

#define ROUNDS	20
#define LEN	(256 * 1024)
#define MULTIS	8	/* messages of a round into one buffer */

/**
 * struct drill - two nodes, and B's region
 */
struct drill {
	struct test	*t;
	struct node	*a, *b;
	struct region	r;
	u8		*tx, *rx;
};

/* Read the completions of both sides, if there are any. */
static bool ends(struct drill *d, bool a, bool b)
{
	comp_t c;

	return (!a || (!WAIT_TX(d->a, &c) && EXPECT_EQ(d->t, c.err, 0))) &&
	       (!b || (!WAIT_RX(d->b, &c) && EXPECT_EQ(d->t, c.err, 0)));
}

static bool message(struct drill *d, size_t len)
{
	struct test *t = d->t;

	return !POST(t, kfi_recv(d->b->ep, d->rx, len, NULL, KFI_ADDR_UNSPEC, d)) &&
	       !POST(t, kfi_send(d->a->ep, d->tx, len, NULL, d->a->peer, d)) &&
	       ends(d, true, true) &&
	       !POST(t, kfi_trecv(d->b->ep, d->rx, len, NULL, KFI_ADDR_UNSPEC, 5, 0, d)) &&
	       !POST(t, kfi_tsend(d->a->ep, d->tx, len, NULL, d->a->peer, 5, d)) &&
	       ends(d, true, true);
}

static bool injected(struct drill *d)
{
	struct test *t = d->t;

	return !POST(t, kfi_recv(d->b->ep, d->rx, 8, NULL, KFI_ADDR_UNSPEC, d)) &&
	       !POST(t, kfi_inject(d->a->ep, d->tx, 8, d->a->peer)) && ends(d, false, true);
}

static bool into_one_buffer(struct drill *d)
{
	struct kvec vec = { d->rx, LEN };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.addr = KFI_ADDR_UNSPEC,
		.context = d,
	};
	struct test *t = d->t;
	int i;

	if (POST(t, kfi_recvmsg(d->b->ep, &msg, KFI_MULTI_RECV | KFI_COMPLETION)))
		return false;
	for (i = 0; i < MULTIS; i++)
		if (POST(t, kfi_send(d->a->ep, d->tx, LEN / MULTIS, NULL, d->a->peer, d)) ||
		    !ends(d, true, true))
			return false;
	return true;
}

static bool remote(struct drill *d, size_t len)
{
	struct test *t = d->t;

	return !POST(t,
		     kfi_write(d->a->ep, d->tx, len, NULL, d->a->peer, d->r.addr, d->r.key, d)) &&
	       ends(d, true, false) &&
	       !POST(t, kfi_read(d->a->ep, d->tx, len, NULL, d->a->peer, d->r.addr, d->r.key, d)) &&
	       ends(d, true, false);
}

static bool atomic(struct drill *d)
{
	struct test *t = d->t;

	return !POST(t, kfi_atomic(d->a->ep, d->tx, 1, NULL, d->a->peer, d->r.addr, d->r.key,
				   KFI_UINT64, KFI_SUM, d)) &&
	       ends(d, true, false) &&
	       !POST(t, kfi_fetch_atomic(d->a->ep, d->tx, 1, NULL, d->tx + 8, NULL, d->a->peer,
					 d->r.addr, d->r.key, KFI_UINT64, KFI_SUM, d)) &&
	       ends(d, true, false);
}

/* One operation of each kind, short and long. */
static bool drill_round(struct drill *d)
{
	return injected(d) && message(d, 8) && message(d, 4096) && message(d, LEN) &&
	       into_one_buffer(d) && remote(d, 8) && remote(d, LEN) &&
	       (!(d->a->info->caps & KFI_ATOMIC) || atomic(d));
}

static struct drill *drill_open(struct test *t)
{
	struct drill *d = test_new(t, struct drill);
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *target = test_pages(t, LEN);

	if (!d || !p || !target)
		return NULL;
	*d = (struct drill) { .t = t, .a = &p->a, .b = &p->b, .tx = test_pages(t, LEN), .rx = test_pages(t, LEN) };
	if (!d->tx || !d->rx || region_open(d->b, &d->r, target, LEN, ALL_RIGHTS))
		return NULL;
	return d;
}

/* Test the trap: it has to notice an allocation. */
static void catches(struct test *t, struct drill *d, struct trap *trap)
{
	struct kfid_cntr *cntr = NULL;

	REQUIRE_EQ(t, trap_set(trap), 0);
	EXPECT_EQ(t, kfi_cntr_open(d->a->domain, NULL, &cntr, NULL), 0);
	EXPECT(t, trap_lift(trap) > 0);
	if (cntr)
		EXPECT_EQ(t, kfi_close(&cntr->fid), 0);
}

static void data_path(struct test *t)
{
	struct drill *d = drill_open(t);
	struct trap *trap = test_new(t, struct trap);
	bool ok;
	int i;

	REQUIRE(t, d && trap);
	catches(t, d, trap);
	/* The first round makes the connection, the second one a lasting grant of the region. */
	REQUIRE(t, drill_round(d) && drill_round(d) && EXPECT_EQ(t, trap_set(trap), 0));
	for (i = 0, ok = true; i < ROUNDS && ok; i++)
		ok = drill_round(d);
	if (trap_lift(trap))
		FAIL(t, "%d allocations, the first by %ps", atomic_read(&trap->hits),
		     (void *)atomic_long_read(&trap->site));
	EXPECT(t, ok);
}

const struct test_case noalloc_cases[] = {
	{ "noalloc.data_path", T_REL, CASE_LESS, C_MSG | C_TAGGED | C_RMA | C_ATOMIC | KFI_MULTI_RECV, data_path },
	{ }
};

#else

const struct test_case noalloc_cases[] = { { } };

#endif
