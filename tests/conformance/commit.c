// SPDX-License-Identifier: GPL-2.0
/*
 * Durability of writes: writes that end when the owner of a region has made them durable.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include "harness.h"

#define DISK_LEN	16384
#define LATE		12	/* writes whose owner says later that they are durable */
#define LATE_LEN	100

/**
 * struct disk - a region of B whose owner stores what would survive
 * @r: the region, over @t's memory
 * @copy: contents at the last call of persist() for each byte
 * @calls: calls of persist()
 * @left: calls that have returned
 * @at: offset of the last call
 * @len: bytes of the last call
 * @answer: result of the calls
 * @hold: the calls wait for @go
 * @late: the calls return, and end later
 * @started: these calls
 * @entered: a call waits
 */
struct disk {
	struct test		*t;
	struct region		r;
	u8			*copy;
	atomic_t		calls, left;
	u64			at;
	size_t			len;
	int			answer;
	bool			hold;
	bool			late;
	struct kfi_persist	*started[LATE];
	struct completion	entered, go;
};

static int disk_persist(struct kfid_mr *mr, uint64_t at, size_t len, struct kfi_persist *p)
{
	struct disk *d = mr->fid.context;

	if (READ_ONCE(d->late)) {
		d->started[at / LATE_LEN] = p;
		atomic_inc(&d->calls);
		complete(&d->entered);
		return -EIOCBQUEUED;
	}
	atomic_inc(&d->calls);
	complete(&d->entered);
	/* The wait is bounded, whatever happens to the case. */
	if (READ_ONCE(d->hold))
		wait_for_completion_timeout(&d->go, msecs_to_jiffies(2 * d->t->w->wait_ms));
	if (at > d->r.len || len > d->r.len - at) {
		FAIL(d->t, "persist() of %zu bytes at %llu", len, at);
		return -EINVAL;
	}
	memcpy(d->copy + at, d->r.buf + at, len);
	d->at = at;
	d->len = len;
	atomic_inc(&d->left);
	return READ_ONCE(d->answer);
}

static void disk_release(struct disk *d)
{
	WRITE_ONCE(d->hold, false);
	complete_all(&d->go);
}

static struct disk *disk_new(struct test *t, size_t len)
{
	struct disk *d = test_new(t, struct disk);

	d->t = t;
	d->r.len = len;
	d->r.buf = test_pages(t, len);
	d->copy = test_pages(t, len);
	init_completion(&d->entered);
	init_completion(&d->go);
	return d;
}

/* The address of the first byte is not 0: offsets for persist() count from there. */
static struct kfi_mr_attr disk_attr(struct disk *d, struct kvec *vec, u64 access)
{
	*vec = (struct kvec){ d->r.buf, d->r.len };
	return (struct kfi_mr_attr){
		.type = KFI_KVEC,
		.mr_iov = vec,
		.iov_count = 1,
		.access = access,
		.offset = 0x10000,
		.requested_key = KFI_KEY_NOTAVAIL,
		.context = d,
		.persist = disk_persist,
	};
}

static void disk_named(struct disk *d, const struct node *n)
{
	d->r.key = kfi_mr_key(d->r.mr);
	d->r.addr = kfi_mr_addr(d->r.mr);
}

static struct disk *disk_open(struct node *n, u64 access, u64 flags)
{
	struct test *t = n->t;
	struct disk *d = disk_new(t, DISK_LEN);
	struct kfi_mr_attr attr;
	struct kvec vec;

	attr = disk_attr(d, &vec, access);
	if (!EXPECT_EQ(t, kfi_mr_regattr(n->domain, &attr, KFI_RMA_PMEM | flags, &d->r.mr), 0))
		return NULL;
	test_keep(t, &d->r.mr->fid);
	if (region_enable(n, d->r.mr))
		return NULL;
	disk_named(d, n);
	return d;
}

/* Open a pair, B's disk, and memory of A that is as long. */
struct bench {
	struct pair	*p;
	struct node	*a;
	struct disk	*d;
	u8		*near;
};

static struct bench *bench_open(struct test *t)
{
	struct bench *b = test_new(t, struct bench);

	b->p = pair_open(t, NULL, NULL);
	b->near = test_pages(t, DISK_LEN);
	if (!b->p)
		return NULL;
	b->a = &b->p->a;
	b->d = disk_open(&b->p->b, ALL_RIGHTS, 0);
	return b->d ? b : NULL;
}

/* Write the first @len bytes of A's memory. */
static ssize_t write_at(struct bench *b, const struct region *r, u64 at, size_t len, u64 flags,
			void *ctx)
{
	struct kvec vec = { b->near, len };
	struct kfi_rma_iov rma = { r->addr + at, len, r->key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = b->a->peer,
		.rma_iov = &rma, .rma_iov_count = 1, .context = ctx, .data = 0xd15c,
	};

	return kfi_writemsg(b->a->ep, &msg, KFI_COMPLETION | flags);
}

#define COMMIT		KFI_COMMIT_COMPLETE
#define VISIBLE		KFI_DELIVERY_COMPLETE
#define WROTE		(KFI_RMA | KFI_WRITE)

/* The only operation under way ends with this error. */
static void ends(struct bench *b, void *ctx, int err)
{
	struct test *t = b->a->t;
	comp_t c;

	REQUIRE(t, !WAIT_TX(b->a, &c));
	if (!err)
		EXPECT_COMP(t, &c, ctx, WROTE);
	else
		EXPECT_ERR(t, &c, ctx, err);
}

/* ---- what it covers ---- */

/* The owner gets the range that the peer has named. */
static void commit_write(struct test *t)
{
	struct bench *b = bench_open(t);
	static const size_t lens[] = { 1, 64, 1024, 1025, 4096, DISK_LEN };
	struct node *far;
	comp_t c;
	int i;

	REQUIRE(t, b);
	far = &b->p->b;
	for (i = 0; i < 2 * ARRAY_SIZE(lens) && !t->failures; i++) {
		size_t len = lens[i / 2], at = test_random(t, DISK_LEN - len + 1);

		fill(b->near, len, i);
		POST(t, write_at(b, &b->d->r, at, len, COMMIT | (i & 1 ? KFI_REMOTE_CQ_DATA : 0),
				 CTX(i)));
		ends(b, CTX(i), 0);
		EXPECT_DATA(t, b->d->copy + at, len, i);
		EXPECT_EQ(t, b->d->at, at);
		EXPECT_EQ(t, b->d->len, len);
		EXPECT_EQ(t, atomic_read(&b->d->calls), i + 1);
		if (!(i & 1))
			continue;
		REQUIRE(t, !WAIT_RX(far, &c));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, 0xd15c);
	}
	NONE_RX(far);
}

static void commit_vector(struct test *t)
{
	struct bench *b = bench_open(t);
	struct disk *other;
	struct kvec vec;
	struct kfi_rma_iov rma[3];
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &vec,
		.iov_count = 1,
		.rma_iov = rma,
		.rma_iov_count = 3,
		.context = CTX(1),
	};

	REQUIRE(t, b);
	other = disk_open(&b->p->b, KFI_REMOTE_WRITE, 0);
	REQUIRE(t, other);
	fill(b->near, 9000, 5);
	vec = (struct kvec){ b->near, 9000 };
	rma[0] = (struct kfi_rma_iov){ b->d->r.addr, 4000, b->d->r.key };
	rma[1] = (struct kfi_rma_iov){ other->r.addr, 3000, other->r.key };
	rma[2] = (struct kfi_rma_iov){ b->d->r.addr + 4000, 2000, b->d->r.key };
	msg.addr = b->a->peer;
	POST(t, kfi_writemsg(b->a->ep, &msg, KFI_COMPLETION | COMMIT));
	ends(b, CTX(1), 0);
	EXPECT_EQ(t, atomic_read(&b->d->calls), 2);
	EXPECT_EQ(t, atomic_read(&other->calls), 1);
	EXPECT_EQ(t, memcmp(b->d->copy, b->near, 4000), 0);
	EXPECT_EQ(t, memcmp(other->copy, b->near + 4000, 3000), 0);
	EXPECT_EQ(t, memcmp(b->d->copy + 4000, b->near + 7000, 2000), 0);
}

static void commit_atomic(struct test *t)
{
	struct bench *b = bench_open(t);
	u64 one[] = { 1, 1 };
	struct kfi_ioc ioc = { .addr = one, .count = 2 };
	struct kfi_rma_ioc target = { .count = 2 };
	struct kfi_msg_atomic msg = {
		.msg_iov = &ioc, .iov_count = 1, .rma_iov = &target, .rma_iov_count = 1,
		.datatype = KFI_UINT64, .op = KFI_SUM, .context = CTX(1),
	};
	struct region bare;
	comp_t c;

	REQUIRE(t, b && !region_open(&b->p->b, &bare, test_pages(t, 4096), 4096, ALL_RIGHTS));
	msg.addr = b->a->peer;
	target.addr = b->d->r.addr + 64;
	target.key = b->d->r.key;
	POST(t, kfi_atomicmsg(b->a->ep, &msg, KFI_COMPLETION | COMMIT));
	REQUIRE_TX(b->a, &c, CTX(1), KFI_ATOMIC | KFI_WRITE);
	EXPECT_EQ(t, ((u64 *)b->d->copy)[8], 1);
	EXPECT_EQ(t, ((u64 *)b->d->copy)[9], 1);
	EXPECT_EQ(t, b->d->len, 16);
	/* If it can't be durable it is not performed. */
	target.addr = bare.addr;
	target.key = bare.key;
	POST(t, kfi_atomicmsg(b->a->ep, &msg, KFI_COMPLETION | COMMIT));
	REQUIRE_TX_ERR(b->a, &c, CTX(1), EOPNOTSUPP);
	EXPECT_EQ(t, not_all(bare.buf, 4096, 0), -1);
}

/* ---- errors ---- */

/* The region can't be durable: the error comes before a byte moves. */
static void not_durable(struct test *t)
{
	struct bench *b = bench_open(t);
	u8 *far = test_pages(t, DISK_LEN);
	struct region r;

	REQUIRE(t, b && !region_open(&b->p->b, &r, far, DISK_LEN, ALL_RIGHTS));
	memset(b->near, 0x77, DISK_LEN);
	POST(t, write_at(b, &r, 0, DISK_LEN, COMMIT, CTX(1)));
	ends(b, CTX(1), EOPNOTSUPP);
	EXPECT_EQ(t, not_all(far, DISK_LEN, 0), -1);
	POST(t, write_at(b, &r, 0, DISK_LEN, VISIBLE, CTX(2)));
	ends(b, CTX(2), 0);
	EXPECT_EQ(t, not_all(far, DISK_LEN, 0x77), -1);
	/* Of what is refused the owner does not hear. */
	POST(t, write_at(b, &b->d->r, 1, DISK_LEN, COMMIT, CTX(3)));
	ends(b, CTX(3), EACCES);
	EXPECT_EQ(t, atomic_read(&b->d->calls), 0);
	still_works(b->p);
}

/* The peer gets the owner's error, except EACCES, which only kfabric may return. */
static void owner_fails(struct test *t)
{
	static const struct { int says, heard; } errors[] = {
		{ -EIO, EIO }, { -ENOSPC, ENOSPC }, { -KFI_ETRUNC, KFI_ETRUNC }, { -EACCES, EIO }, { 1, EIO },
		{ -100000, EIO }, { 0, 0 },
	};
	struct bench *b = bench_open(t);
	int i;

	REQUIRE(t, b);
	for (i = 0; i < ARRAY_SIZE(errors) && !t->failures; i++) {
		WRITE_ONCE(b->d->answer, errors[i].says);
		POST(t, write_at(b, &b->d->r, 0, 10, COMMIT, CTX(1)));
		ends(b, CTX(1), errors[i].heard);
	}
	still_works(b->p);
}

/* ---- many, and those that take long ---- */

/* An owner takes its time: only operations that need it wait. */
static void others_pass(struct test *t)
{
	struct bench *b = bench_open(t);
	struct disk *quick;
	comp_t c;
	int i;

	REQUIRE(t, b);
	quick = disk_open(&b->p->b, ALL_RIGHTS, 0);
	REQUIRE(t, quick);
	b->d->hold = true;
	fill(b->near, DISK_LEN, 9);
	POST(t, write_at(b, &b->d->r, 0, 100, COMMIT, CTX(1)));
	REQUIRE(t, wait_for_completion_timeout(&b->d->entered, msecs_to_jiffies(t->w->wait_ms)));
	POST(t, write_at(b, &quick->r, 0, 100, COMMIT, CTX(2)));
	ends(b, CTX(2), 0);
	/* Many operations wait, and all others still proceed. */
	for (i = 0; i < 30; i++)
		POST(t, write_at(b, &b->d->r, 0, 100, COMMIT, CTX(1)));
	POST(t, write_at(b, &b->d->r, 0, DISK_LEN, VISIBLE, CTX(3)));
	ends(b, CTX(3), 0);
	EXPECT_DATA(t, b->d->r.buf, DISK_LEN, 9);
	still_works(b->p);
	EXPECT_EQ(t, atomic_read(&b->d->left), 0);
	disk_release(b->d);
	for (i = 0; i < 31; i++)
		REQUIRE_TX(b->a, &c, CTX(1), WROTE);
	EXPECT_EQ(t, atomic_read(&b->d->left), 31);
}

/* ---- ends ---- */

#define QUEUED	12

/*
 * Wait until all of them wait at the owner's side, which is so when a message behind them has
 * arrived; and until at least one has begun.
 */
static bool held(struct bench *b)
{
	struct test *t = b->a->t;
	int i;

	b->d->hold = true;
	for (i = 0; i < QUEUED; i++)
		if (POST(t, write_at(b, &b->d->r, 0, 100, COMMIT, CTX(1))))
			return false;
	still_works(b->p);
	return EXPECT(t,
		      wait_for_completion_timeout(&b->d->entered, msecs_to_jiffies(t->w->wait_ms)));
}

/* The initiator is closed: nothing waits for the owner, which ends what it has begun. */
static void asker_goes(struct test *t)
{
	struct bench *b = bench_open(t);
	int i, canceled = 0;
	comp_t c;

	REQUIRE(t, b && held(b));
	REQUIRE(t, !node_close_ep(b->a));
	EXPECT_EQ(t, atomic_read(&b->d->left), 0);
	for (i = 0; i < QUEUED; i++) {
		REQUIRE(t, comp_poll(b->a, b->a->txcq, &c) == 1);
		canceled += c.err == ECANCELED;
	}
	EXPECT_EQ(t, canceled, QUEUED);
	disk_release(b->d);
	REQUIRE_EQ(t, test_close(t, &b->d->r.mr->fid), 0);
	EXPECT_EQ(t, atomic_read(&b->d->left), atomic_read(&b->d->calls));
	NONE_TX(b->a);
}

/*
 * The endpoint of the region is closed: it waits for no owner, and the initiator learns that the
 * result is unknown.
 */
static void target_goes(struct test *t)
{
	struct bench *b = bench_open(t);
	comp_t c;
	int i;

	REQUIRE(t, b && held(b));
	if (b->p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT) {
		test_skip(t, "an endpoint stays while regions are bound to it");
		return;
	}
	REQUIRE(t, !node_close_ep(&b->p->b));
	EXPECT_EQ(t, atomic_read(&b->d->left), 0);
	for (i = 0; i < QUEUED; i++) {
		REQUIRE(t,
			!comp_wait_ms(t, b->a, b->a->txcq, &c, t->w->loss_ms, __FILE__, __LINE__));
		EXPECT(t, c.err && c.err != EACCES);
	}
	EXPECT_EQ(t, atomic_read(&b->d->left), 0);
	disk_release(b->d);
	REQUIRE_EQ(t, test_close(t, &b->d->r.mr->fid), 0);
	EXPECT_EQ(t, atomic_read(&b->d->left), atomic_read(&b->d->calls));
}

/**
 * struct gone - a region that is closed while peers use it
 * @w: closes it
 * @ended: completions of the QUEUED writes
 * @done: number of them
 */
struct gone {
	struct bench	*b;
	struct worker	w;
	int		ended, done;
};

static int close_region(void *arg)
{
	struct bench *b = arg;

	return test_close(b->a->t, &b->d->r.mr->fid);
}

/*
 * Wait for the next completion: of a queued write, or of another operation, whose error is
 * returned.
 */
static int gone_next(struct gone *g)
{
	struct test *t = g->b->a->t;
	comp_t c = {};

	if (WAIT_TX(g->b->a, &c) || c.op_context != CTX(1))
		return c.err;
	EXPECT(t, !c.err || c.err == EREMOTEIO);
	g->ended++;
	g->done += !c.err;
	return -1;
}

/* Is the region refused to new requests? */
static bool gone_dead(struct gone *g)
{
	int err;

	if (POST(g->b->a->t, write_at(g->b, &g->b->d->r, 0, 1, VISIBLE, CTX(2))))
		return true;
	do {
		err = gone_next(g);
	} while (err == -1);
	return err == EACCES;
}

/*
 * The region is closed: its end waits for the owner's running function, and functions that have not
 * begun never run.
 */
static void region_goes(struct test *t)
{
	struct bench *b = bench_open(t);
	struct gone *g = test_new(t, struct gone);

	REQUIRE(t, b && held(b));
	g->b = b;
	REQUIRE(t, !worker_start(t, &g->w, -1, close_region, b));
	EXPECT(t, test_until(t, gone_dead(g)));
	msleep(50);
	EXPECT(t, !completion_done(&g->w.ended));
	disk_release(b->d);
	EXPECT_EQ(t, worker_join(&g->w, t->w->wait_ms), 0);
	EXPECT_EQ(t, atomic_read(&b->d->left), atomic_read(&b->d->calls));
	while (g->ended < QUEUED && !t->failures)
		gone_next(g);
	EXPECT_EQ(t, g->done, atomic_read(&b->d->calls));
	still_works(b->p);
}

static bool late_started(struct bench *b)
{
	struct test *t = b->a->t;
	int i;

	b->d->late = true;
	for (i = 0; i < LATE; i++)
		if (POST(t, write_at(b, &b->d->r, i * LATE_LEN, LATE_LEN, COMMIT, CTX(i))))
			return false;
	for (i = 0; i < LATE; i++)
		if (!EXPECT(t, wait_for_completion_timeout(&b->d->entered,
							   msecs_to_jiffies(t->w->wait_ms))))
			return false;
	return true;
}

/* All of them begin before one ends, and they end in any order, each with its own result. */
static void late(struct test *t)
{
	struct bench *b = bench_open(t);
	int i;

	REQUIRE(t, b && late_started(b));
	still_works(b->p);
	NONE_TX(b->a);
	for (i = LATE; i-- > 0 && !t->failures;) {
		local_bh_disable();	/* owners may call in softirq */
		kfi_persist_done(b->d->started[i], i % 2 ? 0 : -ENOSPC);
		local_bh_enable();
		ends(b, CTX(i), i % 2 ? 0 : ENOSPC);
	}
	still_works(b->p);
}

/* The region is closed: that ends with the last of them. */
static void late_region_goes(struct test *t)
{
	struct bench *b = bench_open(t);
	struct worker *w = test_new(t, struct worker);
	comp_t c;
	int i;

	REQUIRE(t, b && late_started(b) && !worker_start(t, w, -1, close_region, b));
	for (i = 0; i < LATE; i++) {
		msleep(20);
		EXPECT(t, !completion_done(&w->ended));
		kfi_persist_done(b->d->started[i], 0);
	}
	EXPECT_EQ(t, worker_join(w, t->w->wait_ms), 0);
	for (i = 0; i < LATE; i++)
		REQUIRE_TX(b->a, &c, CTX(i), WROTE);
	still_works(b->p);
}

/* The initiator is closed: its commits end where nobody waits for them. */
static void late_asker_goes(struct test *t)
{
	struct bench *b = bench_open(t);
	int i;

	REQUIRE(t, b && late_started(b));
	REQUIRE(t, !node_close_ep(b->a));
	msleep(50);
	for (i = 0; i < LATE; i++)
		kfi_persist_done(b->d->started[i], 0);
	REQUIRE_EQ(t, test_close(t, &b->d->r.mr->fid), 0);
	EXPECT_EQ(t, atomic_read(&b->d->calls), LATE);
}

struct mr_job {
	struct kfi_mr_work	work;
	struct completion	done;
	struct disk		*d;
	int			left;	/* when it was done */
};

static void mr_job_done(struct kfi_mr_work *work, int err)
{
	struct mr_job *j = container_of(work, struct mr_job, work);

	j->left = atomic_read(&j->d->left);
	complete(&j->done);
}

static bool mr_job_wait(struct test *t, struct mr_job *j)
{
	return EXPECT(t, wait_for_completion_timeout(&j->done, msecs_to_jiffies(t->w->wait_ms)));
}

/*
 * A region for one I/O: its invalidation ends when the owner's function has returned, and the
 * handle can be used again.
 */
static void invalidated(struct test *t)
{
	struct bench *b = bench_open(t);
	struct mr_job *j = test_new(t, struct mr_job);
	struct kfi_mr_attr attr;
	struct kvec vec;
	int i;

	REQUIRE(t, b);
	j->d = b->d;
	j->work.done = mr_job_done;
	init_completion(&j->done);
	REQUIRE_EQ(t, test_close(t, &b->d->r.mr->fid), 0);
	REQUIRE_EQ(t,
		   kfi_mr_alloc(b->p->b.domain, DIV_ROUND_UP(b->d->r.len, PAGE_SIZE), 0,
				&b->d->r.mr, b->d),
		   0);
	test_keep(t, &b->d->r.mr->fid);
	for (i = 0; i < 3 && !t->failures; i++) {
		attr = disk_attr(b->d, &vec, ALL_RIGHTS);
		REQUIRE_EQ(t, kfi_mr_register(b->d->r.mr, &attr, &j->work), 0);
		REQUIRE(t, mr_job_wait(t, j));
		disk_named(b->d, &b->p->b);
		b->d->hold = true;
		reinit_completion(&b->d->go);
		reinit_completion(&b->d->entered);
		POST(t, write_at(b, &b->d->r, 0, 100, COMMIT, CTX(1)));
		REQUIRE(t, wait_for_completion_timeout(&b->d->entered,
						       msecs_to_jiffies(t->w->wait_ms)));
		REQUIRE_EQ(t, kfi_mr_invalidate(b->d->r.mr, &j->work), 0);
		msleep(50);
		EXPECT(t, !completion_done(&j->done));
		disk_release(b->d);
		REQUIRE(t, mr_job_wait(t, j));
		EXPECT_EQ(t, j->left, i + 1);
		ends(b, CTX(1), 0);
	}
}

const struct test_case commit_cases[] = {
	{ "commit.write", T_REL, CASE_CHECKED, C_MSG | C_RMA, commit_write },
	{ "commit.vector", T_REL, CASE_CHECKED, C_MSG | C_RMA, commit_vector },
	{ "commit.atomic", T_REL, CASE_CHECKED, C_MSG | C_RMA | C_ATOMIC, commit_atomic },
	{ "commit.not_durable", T_REL, CASE_CHECKED, C_MSG | C_RMA, not_durable },
	{ "commit.owner_fails", T_REL, CASE_CHECKED, C_MSG | C_RMA, owner_fails },
	{ "commit.others_pass", T_REL, CASE_CHECKED, C_MSG | C_RMA, others_pass },
	{ "commit.late", T_REL, CASE_CHECKED, C_MSG | C_RMA, late },
	{ "commit.late_region_goes", T_REL, CASE_CHECKED, C_MSG | C_RMA, late_region_goes },
	{ "commit.late_asker_goes", T_REL, CASE_CHECKED, C_MSG | C_RMA, late_asker_goes },
	{ "commit.asker_goes", T_REL, CASE_CHECKED, C_MSG | C_RMA, asker_goes },
	{ "commit.target_goes", T_REL, CASE_CHECKED, C_MSG | C_RMA, target_goes },
	{ "commit.region_goes", T_REL, CASE_CHECKED, C_MSG | C_RMA, region_goes },
	{ "commit.invalidated", T_REL, CASE_CHECKED, C_MSG | C_RMA, invalidated },
	{ }
};
