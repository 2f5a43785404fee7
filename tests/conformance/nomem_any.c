// SPDX-License-Identifier: GPL-2.0
/*
 * Operations, and the allocations that they cause.
 *
 * No memory, in any context: each allocation that an operation causes fails in turn, in its caller,
 * in a work item or in softirq, on either side.
 *
 * What is being opened, and a connection that is being set up, may fail, at once and with a
 * reason, and the next attempt succeeds. On an established connection, lack of memory only delays:
 * every operation ends once, successfully, and with the right bytes.
 *
 * No allocation: between endpoints that know each other, with the receives posted, kfi.ko and the
 * provider make none for the same operations, in any context. The kernel's allocation events
 * report the caller. Allocations of other code, such as the network's for its packets, do not
 * count.
 */
#include <linux/delay.h>
#include <linux/sizes.h>
#include "harness.h"
#include "fault.h"
#include "trap.h"

#if defined(FAULT_INJECTION) && defined(CONFIG_TRACEPOINTS)

#define SHORT	1000
#define TINY	8		/* may be injected */
#define ROUNDS	20		/* without an allocation */
#define MANY	64		/* elements of an atomic operation */
#define TAG	7
#define SITES	1000		/* a walk with more sites takes some of them at random */
#define QUICK	60		/* the same with little time */

struct any;

/**
 * struct deed - an operation that allocates somewhere
 * @post: posts it, with numbers of A's and B's operations from 0 on
 * @check: have the right bytes moved? NULL: A's and B's memory is the same
 * @len: bytes; 0: all that there are
 * @write: for @post: a write, not a read
 * @tagged: for @post: tagged messages
 * @late: the receive is posted behind the message, which waits in memory
 * @split: of more pieces than a target takes without memory
 */
struct deed {
	void	(*post)(struct any *w);
	void	(*check)(struct any *w);
	size_t	len;
	bool	write;
	bool	tagged;
	bool	late;
	bool	split;
};

/**
 * struct any - a walk through the sites of one operation
 * @p: two connected nodes
 * @near: memory of A, @most bytes
 * @far: memory of B, @most bytes
 * @r: @far as a region of B
 * @want: operations of each side that were accepted, a bit for each number
 * @ended: operations of each side that have ended
 * @err: the first error of an operation
 * @parts: messages that a multi-receive of B took without coming to its end
 * @extra: a node that is opened besides
 * @cntr: a counter of it
 * @lossy: failures may be on the path to the other side, whose message then never comes
 */
struct any {
	struct test			*t;
	struct pair			*p;
	const struct deed		*deed;
	u8				*near, *far;
	size_t				most;
	struct region			r;
	unsigned long			want[2], ended[2];
	unsigned int			parts;
	int				err;
	struct node			extra;
	struct kfid_cntr		*cntr;
	bool				lossy;
};

static struct any *any_open(struct test *t, const struct node_opts *opts)
{
	static const struct deed plain;		/* of an attempt to connect */
	struct any *w = test_new(t, struct any);

	w->t = t;
	w->deed = &plain;
	w->most = t->w->quick ? SZ_256K : SZ_1M;
	w->near = test_pages(t, w->most);
	w->far = test_pages(t, w->most);
	w->p = pair_open(t, opts, opts);
	return w->p ? w : NULL;
}

static void accepted(struct any *w, int side, unsigned long i, ssize_t ret)
{
	if (EXPECT_EQ(w->t, ret, 0))
		w->want[side] |= BIT(i);
}

static void note_end(struct any *w, int side, const comp_t *c)
{
	unsigned long i = (unsigned long)c->op_context;

	if (!c->err && side == 1 && c->flags & KFI_RECV && w->parts &&
	    !(c->flags & KFI_MULTI_RECV)) {
		w->parts--;
		return;
	}
	if (EXPECT(w->t, i < BITS_PER_LONG && w->want[side] & BIT(i) && !(w->ended[side] & BIT(i))))
		w->ended[side] |= BIT(i);
	w->err = w->err ?: c->err;
}

/* Read all completions. */
static void collect(struct any *w)
{
	struct node *nodes[] = { &w->p->a, &w->p->b };
	int side;
	comp_t c;

	for (side = 0; side < 2; side++)
		while (comp_poll(nodes[side], nodes[side]->txcq, &c) == 1 ||
		       comp_poll(nodes[side], nodes[side]->rxcq, &c) == 1)
			note_end(w, side, &c);
}

static bool all_ended(struct any *w)
{
	collect(w);
	return w->ended[0] == w->want[0] && w->ended[1] == w->want[1];
}

static void forget(struct any *w)
{
	memset(w->want, 0, sizeof(w->want));
	memset(w->ended, 0, sizeof(w->ended));
	w->parts = 0;
	w->err = 0;
}

/* ---- on a connection that stands ---- */

static void near_is_far(struct any *w, size_t len)
{
	/* a write may complete before its data can be seen */
	EXPECT(w->t, test_until(w->t, !memcmp(w->near, w->far, len)));
}

static size_t deed_len(const struct any *w)
{
	return w->deed->len ?: w->most;
}

static void deed_once(struct any *w, u64 seed)
{
	forget(w);
	fill(w->near, w->most, seed);
	fill(w->far, w->most, seed + 1);
	w->deed->post(w);
	if (!test_until(w->t, all_ended(w)))
		FAIL(w->t, "wanted %lx and %lx, ended %lx and %lx", w->want[0], w->want[1],
		     w->ended[0], w->ended[1]);
	if (!EXPECT_EQ(w->t, w->err, 0))
		return;
	if (w->deed->check)
		w->deed->check(w);
	else
		near_is_far(w, deed_len(w));
}

static bool deed_nth(struct any *w, struct fault *f, unsigned int n)
{
	fault_arm(f, n);
	deed_once(w, n);
	return fault_fired(f);
}

typedef bool (*nth_fn)(struct any *w, struct fault *f, unsigned int n);

/* Until two walks in a row had all the memory that they wanted, because no two are quite alike. */
static unsigned int walk_each(struct any *w, struct fault *f, nth_fn nth)
{
	unsigned int n, idle = 0;

	for (n = 1; idle < 2 && n < SITES && !w->t->failures; n++)
		idle = nth(w, f, n) ? 0 : idle + 1;
	EXPECT(w->t, n < SITES);
	return n - 1;
}

static unsigned int walk_some(struct any *w, struct fault *f, nth_fn nth, unsigned long sites,
			      unsigned int some)
{
	unsigned int n = 0;

	while (some-- && !w->t->failures) {
		n = 1 + prandom_u32_state(&w->t->rnd) % sites;
		nth(w, f, n);
	}
	return n;
}

/* Run with @nth, and return whether an allocation has failed. The first time none fails. */
static void walk(struct any *w, enum fault_kind kind, nth_fn nth)
{
	struct test *t = w->t;
	unsigned int some = t->w->quick ? QUICK : SITES, last = 0;
	const unsigned long *below = t->w->below;
	unsigned long sites;
	struct fault f;

	if (!fault_open(t, &f, kind))
		return;
	if (w->lossy)
		fault_within(&f, below[0], below[1]);
	/* rxe without memory for incoming reads never completes what was posted */
	if (below[2])
		fault_without(&f, below[1], below[2]);
	EXPECT(t, !nth(w, &f, UINT_MAX));
	sites = fault_sites(&f);
	pr_info("    # %s/%s: %lu sites of kind %d\n", t->c->name, type_name(t->type), sites, kind);
	if (!t->failures)
		last = sites > some ? walk_some(w, &f, nth, sites, some) : walk_each(w, &f, nth);
	if (t->failures)
		FAIL(t, "... when allocation %u of kind %d failed", last, kind);
	fault_close(&f);
}

static void walk_kinds(struct any *w, nth_fn nth)
{
	enum fault_kind kind;

	for (kind = 0; kind < FAULT_KINDS && !w->t->failures; kind++)
		walk(w, kind, nth);
}

static void deed(struct any *w, const struct deed *d)
{
	w->deed = d;
	deed_once(w, 0);	/* makes the connection */
	if (!w->t->failures)
		walk_kinds(w, deed_nth);
}

static void recv(struct any *w, unsigned long i, size_t len)
{
	struct kfid_ep *ep = w->p->b.ep;

	accepted(w, 1, i, w->deed->tagged ?
		 kfi_trecv(ep, w->far, len, NULL, KFI_ADDR_UNSPEC, TAG, 0, CTX(i)) :
		 kfi_recv(ep, w->far, len, NULL, KFI_ADDR_UNSPEC, CTX(i)));
}

static void send(struct any *w, unsigned long i, size_t len)
{
	struct node *a = &w->p->a;

	accepted(w, 0, i,
		 POST(w->t, w->deed->tagged ?
			    kfi_tsend(a->ep, w->near, len, NULL, a->peer, TAG, CTX(i)) :
			    kfi_send(a->ep, w->near, len, NULL, a->peer, CTX(i))));
}

static void post_message(struct any *w)
{
	if (!w->deed->late)
		recv(w, 0, deed_len(w));
	send(w, 0, deed_len(w));
	if (w->deed->late)
		recv(w, 0, deed_len(w));
}

static void post_injected(struct any *w)
{
	struct node *a = &w->p->a;

	recv(w, 0, TINY);
	EXPECT_EQ(w->t, POST(w->t, kfi_inject(a->ep, w->near, TINY, a->peer)), 0);
}

static const struct deed message_deeds[] = {
	{ post_injected, .len = TINY },
	{ post_message, .len = SHORT }, { post_message, .len = SHORT, .late = true },
	{ post_message }, { post_message, .late = true }, { }
};

static const struct deed tagged_deeds[] = {
	{ post_message, .len = SHORT, .tagged = true },
	{ post_message, .len = SHORT, .tagged = true, .late = true }, { }
};

static void post_tagged_rma(struct any *w)
{
	struct node *a = &w->p->a;

	recv(w, 0, w->most);
	accepted(w, 0, 0, POST(w->t, rma_tagged(a, a->peer, w->near, w->most, TAG, CTX(0),
						w->deed->write)));
}

static const struct deed tagged_rma_deeds[] = {
	{ post_tagged_rma, .tagged = true, .write = true }, { post_tagged_rma, .tagged = true }, { }
};

static void post_rma(struct any *w)
{
	size_t len = deed_len(w), half = w->deed->split ? len / 2 : len;
	struct kvec iov = { w->near, len };
	struct kfi_rma_iov rma[] = {
		{ .addr = w->r.addr, .len = half, .key = w->r.key },
		{ .addr = w->r.addr + half, .len = len - half, .key = w->r.key },
	};
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = w->p->a.peer,
		.rma_iov = rma, .rma_iov_count = 1 + w->deed->split, .context = CTX(0),
	};
	struct node *a = &w->p->a;

	accepted(w, 0, 0,
		 POST(w->t, w->deed->write ? kfi_writemsg(a->ep, &msg, KFI_COMPLETION) :
					     kfi_readmsg(a->ep, &msg, KFI_COMPLETION)));
}

static const struct deed rma_deeds[] = {
	{ post_rma, .len = TINY, .write = true }, { post_rma, .write = true }, { post_rma },
	{ post_rma, .write = true, .split = true }, { post_rma, .split = true }, { }
};

/* One element, or MANY, as many as the provider supports. */
static size_t many_atomics(struct any *w)
{
	struct kfi_atomic_attr attr = {};

	if (!w->deed->split)
		return 1;
	EXPECT_EQ(w->t,
		  kfi_query_atomic(w->p->a.domain, KFI_UINT64, KFI_ATOMIC_WRITE, &attr,
				   KFI_FETCH_ATOMIC),
		  0);
	return min_t(size_t, MANY, attr.count);
}

/* Old values are returned, if possible more than an answer has room for by itself. */
static void post_atomic(struct any *w)
{
	struct node *a = &w->p->a;

	accepted(w, 0, 0,
		 POST(w->t, kfi_fetch_atomic(a->ep, w->near, many_atomics(w), NULL, w->near + SHORT,
					     NULL, a->peer, w->r.addr, w->r.key, KFI_UINT64,
					     KFI_ATOMIC_WRITE, CTX(0))));
}

static void atomic_check(struct any *w)
{
	near_is_far(w, many_atomics(w) * sizeof(u64));
}

static const struct deed atomic_deeds[] = {
	{ post_atomic, atomic_check }, { post_atomic, atomic_check, .split = true }, { }
};

/* Three messages fill the buffer exactly. */
static void post_multi(struct any *w)
{
	unsigned long i;

	w->parts = 2;
	if (!w->deed->late)
		accepted(w, 1, 0, recv_multi(w->p->b.ep, w->far, 3 * SHORT, CTX(0)));
	for (i = 0; i < 3; i++)
		send(w, i, SHORT);
	if (w->deed->late)
		accepted(w, 1, 0, recv_multi(w->p->b.ep, w->far, 3 * SHORT, CTX(0)));
}

static void multi_check(struct any *w)
{
	int i;

	EXPECT_EQ(w->t, w->parts, 0);
	for (i = 0; i < 3; i++)
		EXPECT(w->t, !memcmp(w->near, w->far + i * SHORT, SHORT));
}

static const struct deed multi_deeds[] = {
	{ post_multi, multi_check }, { post_multi, multi_check, .late = true }, { }
};

static struct any *deeds_open(struct test *t)
{
	struct any *w = any_open(t, NULL);

	if (w && t->c->caps & (KFI_RMA | KFI_ATOMIC) &&
	    region_open(&w->p->b, &w->r, w->far, w->most, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		return NULL;
	return w;
}

/* The deeds of a row, one after the other */
static void deeds(struct test *t)
{
	const struct deed *d = t->c->arg;
	struct any *w = deeds_open(t);

	REQUIRE(t, w);
	for (; d->post && !t->failures; d++)
		deed(w, d);
}

/* ---- deeds that allocate nothing ---- */

/* The trap has to notice an allocation. */
static void trap_catches(struct any *w, struct trap *trap)
{
	struct kfid_cntr *cntr = NULL;
	struct test *t = w->t;

	REQUIRE_EQ(t, trap_set(trap), 0);
	EXPECT_EQ(t, kfi_cntr_open(w->p->a.domain, NULL, &cntr, NULL), 0);
	EXPECT(t, trap_lift(trap) > 0);
	if (cntr)
		EXPECT_EQ(t, kfi_close(&cntr->fid), 0);
}

/* The first time makes the connection, the second one a lasting grant of the region. */
static void trapped(struct any *w, struct trap *trap)
{
	struct test *t = w->t;
	int i;

	deed_once(w, 0);
	deed_once(w, 1);
	REQUIRE(t, !t->failures && EXPECT_EQ(t, trap_set(trap), 0));
	for (i = 0; i < ROUNDS && !t->failures; i++)
		deed_once(w, i);
	if (trap_lift(trap))
		FAIL(t, "%d allocations, the first by %ps", atomic_read(&trap->hits),
		     (void *)atomic_long_read(&trap->site));
}

static void no_allocation(struct test *t)
{
	const struct deed *d = t->c->arg;
	struct any *w = deeds_open(t);
	struct trap *trap = test_new(t, struct trap);

	REQUIRE(t, w);
	w->most = SZ_256K;
	trap_catches(w, trap);
	for (w->deed = d; w->deed->post && !t->failures; w->deed++)
		if (!w->deed->late && !w->deed->split)
			trapped(w, trap);
}

/* ---- regions for each I/O ---- */

static void lease_begin(struct any *w)
{
	struct io_work io;
	struct kvec iov = { w->far, w->most };
	struct kfi_mr_attr attr = io_attr(&iov, KFI_REMOTE_WRITE);

	io_work_init(&io);
	if (!EXPECT_EQ(w->t, kfi_mr_register(w->r.mr, &attr, &io.work), 0))
		return;
	wait_for_completion(&io.ended);
	EXPECT_EQ(w->t, io.err, 0);
	w->r.key = kfi_mr_key(w->r.mr);
}

/* A region is written to, and then invalidated by the message that reports it. */
static void post_lease(struct any *w)
{
	struct kvec iov = { w->near, SHORT };
	struct node *a = &w->p->a;
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = a->peer,
		.context = CTX(1),
	};

	lease_begin(w);
	accepted(w, 1, 0, kfi_recv(w->p->b.ep, w->far, SHORT, NULL, KFI_ADDR_UNSPEC, CTX(0)));
	accepted(w, 0, 0,
		 POST(w->t,
		      kfi_write(a->ep, w->near, w->most, NULL, a->peer, 0, w->r.key, CTX(0))));
	msg.inv_key = w->r.key;
	accepted(w, 0, 1, POST(w->t, kfi_sendmsg(a->ep, &msg, KFI_INVALIDATE | KFI_COMPLETION)));
}

static void leases(struct test *t)
{
	static const struct deed d = { post_lease };
	struct any *w = any_open(t, NULL);

	REQUIRE(t, w);
	REQUIRE_EQ(t,
		   kfi_mr_alloc(w->p->b.domain, DIV_ROUND_UP(w->most, PAGE_SIZE), 0, &w->r.mr,
				NULL),
		   0);
	test_keep(t, &w->r.mr->fid);
	REQUIRE_EQ(t, kfi_mr_bind(w->r.mr, &w->p->b.ep->fid, 0), 0);
	deed(w, &d);
}

/* ---- a connection that is being set up ---- */

/*
 * Results that an attempt without memory may have. The kernel returns ENFILE and EADDRINUSE when
 * it can't make a socket, or can't store its port. A time-out is none of them: no side may be left
 * waiting, unless for a packet that was to come over the wire.
 */
static bool excused(const struct any *w, int err)
{
	switch (abs(err)) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
		return w->lossy;
	case ENOMEM:
	case ENOBUFS:
	case ENFILE:
	case EADDRINUSE:
	case EAGAIN:
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
		return true;
	default:
		return false;
	}
}

/* Transfer one message. Return: 0, or its error; it ends once in any case. */
static int attempt(struct any *w)
{
	struct test *t = w->t;
	int err;

	forget(w);
	recv(w, 0, SHORT);
	send(w, 0, SHORT);
	EXPECT(t, test_until(t, (collect(w), w->ended[0] == w->want[0])));
	err = w->err;
	if (err)
		/* its message does not come; or it has come */
		kfi_cancel(&w->p->b.ep->fid, CTX(0));
	EXPECT(t, test_until(t, all_ended(w)));
	return err;
}

static bool call_rdm(struct any *w)
{
	int err = attempt(w);

	if (err && !excused(w, err))
		FAIL(w->t, "a message without a connection ends with %d", err);
	return !err;
}

/* Wait for the next event: a request, a connection, or the reason why there is none. */
static bool word(struct any *w, struct node *n, u32 *what, struct kfi_eq_cm_entry *cm, int *err)
{
	struct kfi_eq_err_entry e = {};
	ssize_t ret = kfi_eq_read(n->eq, what, cm, sizeof(*cm), 0);

	*err = 0;
	if (ret == -KFI_EAVAIL && kfi_eq_readerr(n->eq, &e, 0) > 0) {
		*err = e.err;
		if (!excused(w, e.err))
			FAIL(n->t, "an attempt to connect ends with %d", e.err);
		return true;
	}
	return ret > 0;
}

static void hang_up(struct node *n)
{
	if (n->ep)
		EXPECT_EQ(n->t, kfi_close(&n->ep->fid), 0);
	n->ep = NULL;
}

/*
 * The other side: it accepts a request, or rejects it without memory. An earlier request that it
 * has accepted was an attempt that the caller has given up.
 */
static void answer(struct any *w, struct kfi_info *info)
{
	struct node *b = &w->p->b;
	int ret;

	hang_up(b);
	ret = kfi_endpoint(b->domain, info, &b->ep, b);
	if (!ret) {
		ret = kfi_ep_bind(b->ep, &b->eq->fid, 0)		      ?:
			      kfi_ep_bind(b->ep, &b->txcq->fid, KFI_TRANSMIT) ?:
			      kfi_ep_bind(b->ep, &b->rxcq->fid, KFI_RECV)     ?:
			      kfi_enable(b->ep)				      ?:
			      kfi_accept(b->ep, NULL, 0);
	} else {
		b->ep = NULL;
		kfi_reject(b->pep, info->handle, NULL, 0);
	}
	if (ret)
		hang_up(b);	/* ends a request of an endpoint as well */
	if (ret && !excused(w, ret))
		FAIL(w->t, "what asked was met with %d", ret);
	kfi_freeinfo(info);
}

/*
 * Collect events. Are the results of the caller, and of the other side if it has an endpoint,
 * known?
 */
static bool settled(struct any *w, int *a_is, int *b_is)
{
	struct node *a = &w->p->a, *b = &w->p->b;
	struct kfi_eq_cm_entry cm;
	u32 what;
	int err;

	while (word(w, a, &what, &cm, &err))
		*a_is = err || what == KFI_SHUTDOWN ? -1 : 1;
	while (word(w, b, &what, &cm, &err)) {
		if (!err && what == KFI_CONNREQ) {
			*b_is = 0;
			answer(w, cm.info);
		} else {
			*b_is = err || what == KFI_SHUTDOWN ? -1 : 1;
		}
	}
	return *a_is && (*a_is < 0 || (b->ep && *b_is));
}

static bool call_msg(struct any *w)
{
	int a_is = 0, b_is = 0, ret = kfi_connect(w->p->a.ep, w->p->b.addr, NULL, 0);
	bool ok = false;

	if (ret) {
		EXPECT(w->t, excused(w, ret));
		return false;
	}
	if (!EXPECT(w->t, test_until(w->t, settled(w, &a_is, &b_is))))
		FAIL(w->t, "fates %d and %d", a_is, b_is);
	else if (a_is > 0 && b_is > 0)
		ok = EXPECT_EQ(w->t, attempt(w), 0);
	hang_up(&w->p->b);
	return ok;
}

static bool call(struct any *w)
{
	return w->t->type == KFI_EP_MSG ? call_msg(w) : call_rdm(w);
}

/* A new endpoint for each attempt, because the old one has its connection. */
static bool fresh(struct node *n)
{
	if (n->ep && node_close_ep(n))
		return false;
	return !node_endpoint(n, n->info) && !node_enable(n);
}

static bool call_nth(struct any *w, struct fault *f, unsigned int n)
{
	bool fired;

	if (!fresh(&w->p->a))
		return false;
	fault_arm(f, n);
	call(w);
	fired = fault_fired(f);
	EXPECT(w->t, fresh(&w->p->a) && call(w));
	return fired;
}

static void connect_walk(struct test *t, bool lossy)
{
	struct any *w = any_open(t, NULL);

	REQUIRE(t, w);
	w->lossy = lossy;
	if (t->type == KFI_EP_MSG)
		REQUIRE(t, !node_close_ep(&w->p->b));
	walk_kinds(w, call_nth);
}

static void connect(struct test *t)
{
	connect_walk(t, false);
}

/*
 * The code from which the provider has its connections. Failures that it does not report can't be
 * checked.
 */
static void below(struct test *t)
{
	if (t->w->below[2])
		connect_walk(t, true);
	else
		test_skip(t, "nobody said where that code lies");
}

/* Open B again under its old name: A's connection is dead. */
static bool again(struct node *b)
{
	if (node_close_ep(b))
		return false;
	/* a message that A sends before it learns of the end is lost with the endpoint */
	msleep(50);
	return !node_endpoint(b, b->info) &&
	       EXPECT_EQ(b->t, kfi_setname(&b->ep->fid, b->addr, b->addrlen), 0) && !node_enable(b);
}

/* One message may be lost until the end is noticed, and one by the next call. */
static bool restart_nth(struct any *w, struct fault *f, unsigned int n)
{
	bool fired, ok;

	if (!again(&w->p->b))
		return false;
	fault_arm(f, n);
	ok = call_rdm(w) || call_rdm(w);
	fired = fault_fired(f);
	EXPECT(w->t, ok || call_rdm(w));
	return fired;
}

static void restart(struct test *t)
{
	struct any *w = any_open(t, NULL);

	REQUIRE(t, w);
	EXPECT_EQ(t, attempt(w), 0);
	walk_kinds(w, restart_nth);
}

/* ---- what is opened ---- */

/* Open all that a node may have, until something fails. */
static int open_extra(struct any *w)
{
	struct node *n = &w->extra;
	kfi_addr_t peer;
	int ret;

	ret = node_open_ep(w->t, n, 0, NULL) ?: kfi_cntr_open(n->domain, NULL, &w->cntr, NULL) ?:
		      region_open(n, &w->r, w->near, SHORT, KFI_REMOTE_WRITE);
	if (ret)
		return ret;
	if (w->t->type == KFI_EP_MSG)
		return node_listen(n);
	ret = kfi_av_insert(n->av, w->p->b.addr, 1, &peer, 0, NULL);
	return ret == 1 ? 0 : ret ?: -ENOMEM;
}

static void close_extra(struct any *w)
{
	if (w->r.mr)
		EXPECT_EQ(w->t, test_close(w->t, &w->r.mr->fid), 0);
	w->r.mr = NULL;
	if (w->cntr)
		EXPECT_EQ(w->t, kfi_close(&w->cntr->fid), 0);
	w->cntr = NULL;
	node_close(&w->extra);
	test_free_info(w->t, w->extra.info);
}

static bool open_nth(struct any *w, struct fault *f, unsigned int n)
{
	bool fired;
	int ret;

	fault_arm(f, n);
	w->t->excused = true;
	ret = open_extra(w);
	fired = fault_fired(f);
	w->t->excused = false;
	if (ret && !(fired && excused(w, ret)))
		FAIL(w->t, "%d is no answer to a lack of memory", ret);
	close_extra(w);
	return fired;
}

static void opens(struct test *t)
{
	struct any *w = any_open(t, NULL);

	REQUIRE(t, w);
	walk_kinds(w, open_nth);
}

#define C_ANY	(C_MSG | C_TAGGED | C_RMA)

const struct test_case nomem_any_cases[] = {
	{ "nomem_any.opens", T_REL, 0, C_MSG | C_RMA, opens },
	{ "nomem_any.connect", T_REL, 0, C_MSG, connect },
	{ "nomem_any.below", T_REL, CASE_SCRIPT, C_MSG, below },
	{ "nomem_any.restart", T_RDM, 0, C_MSG, restart },
	{ "nomem_any.messages", T_REL, 0, C_MSG, deeds, message_deeds },
	{ "nomem_any.tagged", T_REL, 0, C_TAGGED, deeds, tagged_deeds },
	{ "nomem_any.tagged_rma", T_RDM, 0, C_ANY | KFI_TAGGED_RMA, deeds, tagged_rma_deeds },
	{ "nomem_any.rma", T_REL, 0, C_RMA | C_MSG, deeds, rma_deeds },
	{ "nomem_any.atomics", T_REL, 0, C_MSG | KFI_ATOMIC | C_RMA, deeds, atomic_deeds },
	{ "nomem_any.multirecv", T_REL, 0, C_MSG | KFI_MULTI_RECV, deeds, multi_deeds },
	{ "nomem_any.leases", T_REL, CASE_CHECKED, C_MSG | C_RMA, leases },
	{ }
};

const struct test_case noalloc_cases[] = {
	{ "noalloc.messages", T_REL, 0, C_MSG, no_allocation, message_deeds },
	{ "noalloc.tagged", T_REL, 0, C_TAGGED, no_allocation, tagged_deeds },
	{ "noalloc.tagged_rma", T_RDM, 0, C_ANY | KFI_TAGGED_RMA, no_allocation, tagged_rma_deeds },
	{ "noalloc.rma", T_REL, 0, C_RMA | C_MSG, no_allocation, rma_deeds },
	{ "noalloc.atomics", T_REL, 0, C_MSG | KFI_ATOMIC | C_RMA, no_allocation, atomic_deeds },
	{ "noalloc.multirecv", T_REL, 0, C_MSG | KFI_MULTI_RECV, no_allocation, multi_deeds },
	{ }
};

#else

const struct test_case nomem_any_cases[] = { { } };
const struct test_case noalloc_cases[] = { { } };

#endif
