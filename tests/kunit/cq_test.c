// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: attributes, slots, and when handlers run. What done() sees is tested by the
 * list of conformance (cq.done*).
 */
#include "crew.h"
#include "fake.h"
#include "../../kfi/pool.h"

static struct kfi_cq_err_entry entry(unsigned long id, int err)
{
	return (struct kfi_cq_err_entry){
		.op_context = (void *)id,
		.flags = KFI_MSG | KFI_RECV,
		.len = id + 1,
		.buf = (void *)(id + 2),
		.data = id + 3,
		.tag = id + 4,
		.olen = id + 5,
		.err = err,
		.prov_errno = err,
		.src_addr = id + 6,
	};
}

/* Take a slot as a post does, and complete. */
static bool put(struct kfid_cq *cq, unsigned long id, int err)
{
	struct kfi_cq_err_entry wc = entry(id, err);

	if (!kfi_cq_reserve(kfi_to_cq(cq)))
		return false;
	kfi_cq_fill(kfi_to_cq(cq), &wc);
	return true;
}

static void cq_attributes(struct kunit *test)
{
	static const struct { struct kfi_cq_attr attr; int ret; } cases[] = {
		{ { .flags = 1ULL << 40 },				-KFI_EBADFLAGS },
		{ { .flags = KFI_CQ_SOFTIRQ | KFI_CQ_DIRECT },		-EINVAL },
		{ { .format = KFI_CQ_FORMAT_TAGGED + 1 },		-EINVAL },
		{ { .wait_obj = KFI_WAIT_FD },				-EOPNOTSUPP },
		{ { .wait_obj = KFI_WAIT_SET },				-EOPNOTSUPP },
		{ { .flags = KFI_AFFINITY, .signaling_vector = -1 },	-EINVAL },
		{ { .flags = KFI_CQ_LOCAL | KFI_CQ_SOFTIRQ },		-EINVAL },
		{ { .flags = KFI_CQ_LOCAL | KFI_CQ_DIRECT },		-EINVAL },
		{ { .flags = KFI_CQ_LOCAL | KFI_AFFINITY },		-EINVAL },
		{ { .flags = KFI_AFFINITY, .signaling_vector = 1 << 20 }, -EINVAL },
		{ { .size = (size_t)1 << 40 },				-EINVAL },
		{ { .wait_cond = KFI_CQ_COND_THRESHOLD },		-EINVAL },
	};
	struct kfi_world *w = fake_open(test);
	int users = atomic_read(&w->domain.obj.users);
	struct kfi_cq_attr attr;
	struct kfid_cq *cq;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		attr = cases[i].attr;
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret,
				    kfi_cq_open(&w->domain.fid, &attr, &cq, NULL, NULL), "case %u",
				    i);
	}
	KUNIT_EXPECT_EQ(test, users, atomic_read(&w->domain.obj.users));
	KUNIT_ASSERT_EQ(test, 0, kfi_cq_open(&w->domain.fid, NULL, &cq, NULL, NULL));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_sread(cq, &attr, 1, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_cq_poll(cq, 1));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	fake_close(w);
}

/* ---- handlers ---- */

struct seen {
	atomic_t	calls;
	atomic_t	nested;		/* calls that run at the same time */
	bool		overlap;
	bool		softirq;
	struct kfid_cq	*other;		/* queue that the handler fills... */
	int		chain;		/* ...this many times */
};

static void handler(struct kfid_cq *cq, void *context)
{
	struct seen *seen = context;
	struct kfi_cq_tagged_entry e;

	if (atomic_inc_return(&seen->nested) > 1)
		seen->overlap = true;
	seen->softirq = in_serving_softirq() || in_softirq();
	atomic_inc(&seen->calls);
	if (seen->chain > 0) {
		seen->chain--;
		while (kfi_cq_read(cq, &e, 1) > 0)
			;
		put(seen->other, 1, 0);
	}
	atomic_dec(&seen->nested);
}

static void cq_batch(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct seen seen = {};
	struct kfid_cq *cq = fake_cq(w, 1024, KFI_CQ_SOFTIRQ, handler, &seen);
	int early;

	local_bh_disable();
	kfi_batch_begin();
	kfi_batch_begin();
	put(cq, 1, 0);
	kfi_batch_end();
	early = atomic_read(&seen.calls);
	kfi_batch_end();
	KUNIT_EXPECT_EQ(test, 0, early);		/* not at the inner end... */
	/* ...but at the outer one, before it returns */
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&seen.calls));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, seen.softirq);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	fake_close(w);
}

/*
 * Handlers fill their own queue, or each other's: they do not recurse, the batch stops after a bound, and no
 * entry is lost.
 */
static void chain(struct kunit *test, int queues)
{
	struct kfi_world *w = fake_open(test);
	struct seen seen[2] = { { .chain = 1000 }, { .chain = 1000 } };
	struct kfid_cq *cq[2];
	int in_batch, i;

	for (i = 0; i < 2; i++)
		cq[i] = fake_cq(w, 16, KFI_CQ_SOFTIRQ, handler, &seen[i]);
	seen[0].other = cq[queues - 1];
	seen[1].other = cq[0];
	local_bh_disable();
	kfi_batch_begin();
	put(cq[0], 1, 0);
	kfi_batch_end();
	in_batch = atomic_read(&seen[0].calls) + atomic_read(&seen[1].calls);
	local_bh_enable();
	KUNIT_EXPECT_GT(test, in_batch, 100);
	KUNIT_EXPECT_LT(test, in_batch, 1000);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&seen[0].calls) == 1001));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen[1].calls), 1000 * (queues - 1));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, seen[i].overlap);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq[i]->fid));
	}
	fake_close(w);
}

static void cq_batch_chain(struct kunit *test)
{
	chain(test, 1);
	chain(test, 2);
}

static void cpu_handler(struct kfid_cq *cq, void *context)
{
	struct kfi_cq_tagged_entry e;

	while (kfi_cq_read(cq, &e, 1) > 0)
		;
	WRITE_ONCE(*(int *)context, raw_smp_processor_id());
}

static long put_here(void *cq)
{
	return put(cq, 1, 0);
}

/* The handler runs on the CPU that completed. */
static void cq_local(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfi_cq_attr attr = { .size = 4, .flags = KFI_CQ_LOCAL };
	struct kfid_cq *cq;
	int cpu, i, seen;

	KUNIT_ASSERT_EQ(test, 0, kfi_cq_open(&w->domain.fid, &attr, &cq, cpu_handler, &seen));
	for (i = 0; i < 10; i++) {
		for_each_online_cpu(cpu) {
			WRITE_ONCE(seen, -1);
			KUNIT_ASSERT_EQ(test, 1, work_on_cpu(cpu, put_here, cq));
			KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(seen) >= 0));
			KUNIT_EXPECT_EQ(test, cpu, seen);
		}
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	fake_close(w);
}

/* ---- done() ---- */

struct request {
	struct kfi_cqe	cqe;
	int		*done;
};

static void request_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	++*container_of(cqe, struct request, cqe)->done;
}

struct rounds {
	int	calls;
	int	done;	/* done()s so far */
	int	before;	/* those before the last call */
};

static void rounds_handler(struct kfid_cq *cq, void *context)
{
	struct rounds *rounds = context;

	rounds->calls++;
	rounds->before = rounds->done;
}

/*
 * Without any entry the handler is called after all done()s that were due, or after as many as run
 * in one round.
 */
static void cq_rounds(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct rounds rounds = {};
	struct kfid_cq *cq = fake_cq(w, 1, KFI_CQ_DIRECT | KFI_CQ_ROUNDS, rounds_handler, &rounds);
	struct kfi_cq_attr attr = { .flags = KFI_CQ_ROUNDS };
	struct request r[5] = {};
	struct kfi_cq_err_entry wc = entry(1, 0);
	struct kfid_cq *none;
	int i;

	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_cq_open(&w->domain.fid, &attr, &none, NULL, NULL));
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		struct kfi_oper *op = kfi_op_get(&w->ep, &w->ep.rx, kfi_to_cq(cq), KFI_CQE);

		KUNIT_ASSERT_FALSE(test, IS_ERR(op));
		r[i] = (struct request) { .cqe.done = request_done, .done = &rounds.done };
		op->context = &r[i].cqe;
		kfi_op_finish(op, op->ep, &wc);
	}
	KUNIT_EXPECT_EQ(test, 3, kfi_cq_poll(cq, 3));
	KUNIT_EXPECT_EQ(test, 1, rounds.calls);
	KUNIT_EXPECT_EQ(test, 3, rounds.before);
	kfi_cq_poll(cq, 64);
	KUNIT_EXPECT_EQ(test, 2, rounds.calls);
	KUNIT_EXPECT_EQ(test, 5, rounds.before);
	kfi_cq_poll(cq, 64);
	KUNIT_EXPECT_EQ(test, 2, rounds.calls);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	fake_close(w);
}

struct ordered {
	struct kfi_cqe	cqe;
	char		**next;
	char		name;
};

static void ordered_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct ordered *o = container_of(cqe, struct ordered, cqe);

	*(*o->next)++ = o->name;
}

static void ordered_end(struct kfi_world *w, struct kfid_cq *cq, struct ordered *o)
{
	struct kfi_oper *op = kfi_op_get(&w->ep, &w->ep.rx, kfi_to_cq(cq), KFI_CQE);
	struct kfi_cq_err_entry wc = entry(1, 0);

	KUNIT_ASSERT_FALSE(w->test, IS_ERR(op));
	o->cqe.done = ordered_done;
	op->context = &o->cqe;
	kfi_op_finish(op, op->ep, &wc);
}

/* What a round leaves for the next one comes before what has ended in between. */
static void cq_done_order(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfid_cq *cq = fake_cq(w, 1, KFI_CQ_DIRECT, NULL, NULL);
	struct ordered o[8];
	char got[ARRAY_SIZE(o) + 1] = {}, *next = got;
	int i;

	for (i = 0; i < ARRAY_SIZE(o); i++)
		o[i] = (struct ordered) { .next = &next, .name = 'a' + i };
	for (i = 0; i < 5; i++)
		ordered_end(w, cq, &o[i]);
	KUNIT_EXPECT_EQ(test, 3, kfi_cq_poll(cq, 3));
	KUNIT_EXPECT_STREQ(test, "abc", got);
	for (; i < ARRAY_SIZE(o); i++)
		ordered_end(w, cq, &o[i]);
	KUNIT_EXPECT_EQ(test, 5, kfi_cq_poll(cq, 64));
	KUNIT_EXPECT_STREQ(test, "abcdefgh", got);
	KUNIT_EXPECT_EQ(test, 0, kfi_cq_poll(cq, 64));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	fake_close(w);
}

KFI_SUITE(kfi_cq,
	KUNIT_CASE(cq_attributes),
	KUNIT_CASE(cq_batch),
	KUNIT_CASE(cq_batch_chain),
	KUNIT_CASE(cq_done_order),
	KUNIT_CASE(cq_local),
	KUNIT_CASE(cq_rounds));

/* ---- several threads: writers, readers, handlers ---- */

#define STRESS_TASKS	3
#define STRESS_EACH	4000

/**
 * struct stress - writers and readers of one queue
 * @end: when all of them give up
 * @got: entries that were read
 * @twice: entries that had been read before
 * @wrong: entries that nobody has written
 */
struct stress {
	struct kfid_cq		*cq;
	unsigned long		end;
	atomic_t		got, twice, wrong;
	unsigned long		seen[BITS_TO_LONGS(STRESS_TASKS * STRESS_EACH)];
};

static void stress_produce(struct stress *s, unsigned int task, struct rnd_state *rnd)
{
	u32 i, r;

	for (i = 1; i <= STRESS_EACH; i++) {
		r = prandom_u32_state(rnd);
		if (!(r & 15) && kfi_cq_reserve(kfi_to_cq(s->cq)))
			kfi_cq_unreserve(kfi_to_cq(s->cq));
		while (!put(s->cq, task * STRESS_EACH + i, r & 16 ? 0 : EIO) &&
		       time_before(jiffies, s->end))
			crew_turn();
	}
}

static void stress_account(struct stress *s, unsigned long id, size_t len)
{
	if (id < 1 || id > STRESS_TASKS * STRESS_EACH || len != id + 1)
		atomic_inc(&s->wrong);
	else if (test_and_set_bit(id - 1, s->seen))
		atomic_inc(&s->twice);
	atomic_inc(&s->got);
}

static void stress_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct kfi_cq_tagged_entry e[4];
	struct kfi_cq_err_entry wc = {};
	struct stress *s = arg;
	ssize_t n, i;

	if (id < STRESS_TASKS) {
		stress_produce(s, id, rnd);
		return;
	}
	while (atomic_read(&s->got) < STRESS_TASKS * STRESS_EACH && time_before(jiffies, s->end)) {
		n = kfi_cq_sread(s->cq, e, ARRAY_SIZE(e), NULL, 20);
		for (i = 0; i < n; i++)
			stress_account(s, (unsigned long)e[i].op_context, e[i].len);
		if (n == -KFI_EAVAIL && kfi_cq_readerr(s->cq, &wc, 0) == 1)
			stress_account(s, (unsigned long)wc.op_context, wc.len);
	}
}

/*
 * Each entry is read once, unchanged, and the queue never holds more than its size (kfi_cq_fill()
 * warns otherwise).
 */
static void each_entry_once(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct stress *s = kfi_test_zalloc(test, sizeof(*s));

	s->cq = fake_cq(w, 13, 0, NULL, NULL);
	s->end = jiffies + 60 * HZ;
	crew_run(test, 2 * STRESS_TASKS, stress_thread, s);
	KUNIT_EXPECT_EQ(test, STRESS_TASKS * STRESS_EACH, atomic_read(&s->got));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&s->twice));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&s->wrong));
	KUNIT_EXPECT_EQ(test, 13, atomic_read(&kfi_to_cq(s->cq)->free));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&s->cq->fid));
	fake_close(w);
}

struct wake {
	struct kfid_cq	*cq;
	atomic_t	read;
};

static void wake_handler(struct kfid_cq *cq, void *context)
{
	struct kfi_cq_tagged_entry e[2];
	struct wake *wake = context;
	ssize_t n;

	while ((n = kfi_cq_read(cq, e, 2)) > 0)
		atomic_add(n, &wake->read);
}

#define EDGE_WRITERS	3
#define EDGE_EACH	2000

static void edge_writer(void *arg, unsigned int id, struct rnd_state *rnd)
{
	unsigned long end = jiffies + 60 * HZ;
	struct wake *wake = arg;
	int i;

	for (i = 0; i < EDGE_EACH && time_before(jiffies, end); i++) {
		while (!put(wake->cq, 1, 0) && time_before(jiffies, end))
			crew_turn();
		crew_dawdle(rnd);
	}
}

/*
 * A reader that empties the queue whenever its handler is called gets all entries, in either
 * context: no call is lost. The last entry of each burst comes from another CPU each time.
 */
static void no_lost_edge(struct kunit *test)
{
	static const u64 flags[] = { 0, KFI_CQ_SOFTIRQ };
	struct kfi_world *w = fake_open(test);
	struct wake wake;
	int f;

	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		wake = (struct wake){};
		wake.cq = fake_cq(w, 5, flags[f], wake_handler, &wake);
		crew_run(test, EDGE_WRITERS, edge_writer, &wake);
		KUNIT_EXPECT_TRUE(test,
				  fake_soon(atomic_read(&wake.read) == EDGE_WRITERS * EDGE_EACH));
		KUNIT_EXPECT_EQ(test, 5, atomic_read(&kfi_to_cq(wake.cq)->free));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&wake.cq->fid));
	}
	fake_close(w);
}

struct ends {
	struct kfi_world	*w;
	struct kfid_cq		*cq;
	struct kfi_cqe		cqe;
	int			done;	/* done()s do not run in parallel */
};

static void ends_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct ends *ends = container_of(cqe, struct ends, cqe);

	WRITE_ONCE(ends->done, ends->done + 1);
}

static void ends_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	unsigned long end = jiffies + 60 * HZ;
	struct ends *ends = arg;
	struct kfi_ep *ep = &ends->w->ep;
	struct kfi_cq_err_entry wc;
	struct kfi_oper *op;
	int i;

	for (i = 0; i < EDGE_EACH && time_before(jiffies, end); i++) {
		do {
			op = kfi_op_get(ep, &ep->rx, kfi_to_cq(ends->cq), KFI_CQE);
			if (IS_ERR(op))
				crew_turn();
		} while (IS_ERR(op) && time_before(jiffies, end));
		if (IS_ERR(op))
			return;
		op->context = &ends->cqe;
		wc = entry(1, 0);
		kfi_op_finish(op, ep, &wc);
		crew_dawdle(rnd);
	}
}

/* Each operation that ends has its done(), in either context. */
static void no_lost_done(struct kunit *test)
{
	static const u64 flags[] = { 0, KFI_CQ_SOFTIRQ };
	struct ends ends = { .cqe.done = ends_done };
	int f;

	ends.w = fake_open(test);
	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		ends.done = 0;
		ends.cq = fake_cq(ends.w, 1, flags[f], NULL, NULL);
		crew_run(test, EDGE_WRITERS, ends_thread, &ends);
		KUNIT_EXPECT_TRUE(test,
				  fake_soon(READ_ONCE(ends.done) == EDGE_WRITERS * EDGE_EACH));
		KUNIT_EXPECT_EQ(test, 0U, kfi_pool_used(&ends.w->ep.rx));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&ends.cq->fid));
	}
	fake_close(ends.w);
}

KFI_SUITE(kfi_cq_race,
	KUNIT_CASE_SLOW(each_entry_once),
	KUNIT_CASE_SLOW(no_lost_done),
	KUNIT_CASE_SLOW(no_lost_edge));
