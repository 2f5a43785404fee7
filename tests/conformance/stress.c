// SPDX-License-Identifier: GPL-2.0
/* Threads on all CPUs, with random operations and sizes, and checksums of all data. */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include "harness.h"

#define PER_CPU	8

static void flight_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct flight *f = container_of(cqe, struct flight, cqe);

	f->err = wc->err;
	f->len = wc->len;
	complete(&f->ended);
}

static void *flight_new(struct flight *f)
{
	f->cqe.done = flight_done;
	reinit_completion(&f->ended);
	return &f->cqe;
}

static bool landed(struct batch *th, struct flight *f)
{
	struct test *t = th->t;

	return EXPECT(t, wait_for_completion_timeout(&f->ended,
					msecs_to_jiffies(t->w->wait_ms))) &&
	       EXPECT_EQ(t, f->err, 0);
}

/* Operation of a slot of a batch */
enum { DO_SEND, DO_WRITE, DO_READ, DO_ADD, DO_KINDS };

/*
 * Atomic additions to words of the thread's own: the old value is the result of all earlier ones.
 */
static int start_add(struct batch *th, int i, u64 seed)
{
	struct kfi_ioc add = { th->near + i * MAXLEN, 1 }, old = { th->near + i * MAXLEN + 8, 1 };
	struct kfi_rma_ioc there = { th->r.addr + i * MAXLEN, 1, th->r.key };
	struct kfi_msg_atomic msg = {
		.msg_iov = &add,
		.iov_count = 1,
		.addr = th->p->a.peer,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.datatype = KFI_UINT64,
		.op = KFI_SUM,
		.context = flight_new(&th->tx[i]),
	};

	*(u64 *)add.addr = seed;
	*(u64 *)old.addr = 0;
	*(u64 *)(th->far + i * MAXLEN) = ~seed;
	return POST(th->t, kfi_fetch_atomicmsg(th->p->a.ep, &msg, &old, NULL, 1,
					       KFI_CQE | KFI_COMPLETION));
}

static int start_one(struct batch *th, int i, int what, size_t len, u64 seed)
{
	struct node *a = &th->p->a, *b = &th->p->b;
	u8 *near = th->near + i * MAXLEN, *far = th->far + i * MAXLEN;
	struct kvec iov = { near, len }, in = { far, len };
	u64 tag = (u64)th->id << 32 | i;
	struct kfi_rma_iov rma = { th->r.addr + i * MAXLEN, len, th->r.key };
	struct kfi_msg_rma rmsg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = a->peer,
		.rma_iov = &rma, .rma_iov_count = 1, .context = flight_new(&th->tx[i]),
	};
	struct kfi_msg_tagged send = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = a->peer, .tag = tag,
		.context = &th->tx[i].cqe,
	}, recv = {
		.type = KFI_KVEC, .msg_iov = &in, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.tag = tag, .context = flight_new(&th->rx[i]),
	};
	u64 flags = KFI_CQE | KFI_COMPLETION;
	bool late = prandom_u32_state(&th->rnd) & 1;

	if (what == DO_ADD)
		return start_add(th, i, seed);
	fill(what == DO_READ ? far : near, len, seed);
	memset(what == DO_READ ? near : far, 0, len);
	if (what == DO_WRITE)
		return POST(th->t, kfi_writemsg(a->ep, &rmsg, flags));
	if (what == DO_READ)
		return POST(th->t, kfi_readmsg(a->ep, &rmsg, flags));
	/* The receive before or after the message */
	if (late && POST(th->t, kfi_tsendmsg(a->ep, &send, flags)))
		return -EIO;
	if (POST(th->t, kfi_trecvmsg(b->ep, &recv, flags)))
		return -EIO;
	return late ? 0 : POST(th->t, kfi_tsendmsg(a->ep, &send, flags));
}

static bool finish_one(struct batch *th, int i, int what, size_t len, u64 seed)
{
	u8 *near = th->near + i * MAXLEN, *far = th->far + i * MAXLEN;
	struct test *t = th->t;

	if (!landed(th, &th->tx[i]))
		return false;
	if (what == DO_READ)
		return EXPECT_DATA(t, near, len, seed);
	if (what == DO_ADD)	/* all ones: the sum of a number and its complement */
		return EXPECT_EQ(t, *(u64 *)(near + 8), ~seed) && EXPECT_EQ(t, *(u64 *)far, ~0ULL);
	if (what == DO_WRITE)
		return EXPECT(t, test_until(t, differs(far, len, seed) == -1));
	return landed(th, &th->rx[i]) && EXPECT_EQ(t, th->rx[i].len, len) &&
	       EXPECT_DATA(t, far, len, seed);
}

bool batch_begin(struct batch *th)
{
	int n;

	for (n = 0; n < BATCH; n++) {
		u32 r = prandom_u32_state(&th->rnd);

		th->what[n] = r % (th->p->a.info->caps & KFI_ATOMIC ? DO_KINDS : DO_ADD);
		th->len[n] = 1 + (r >> 8) % ((r & 0x40) ? MAXLEN : 500);
		th->seed[n] = (u64)th->id << 40 | th->ops++;
		if (start_one(th, n, th->what[n], th->len[n], th->seed[n]))
			break;
	}
	th->posted = n;
	return n == BATCH;
}

bool batch_end(struct batch *th)
{
	int i;

	for (i = 0; i < th->posted; i++)
		if (!finish_one(th, i, th->what[i], th->len[i], th->seed[i]))
			return false;
	return true;
}

static int thread_run(void *arg)
{
	struct batch *th = arg;
	bool begun;

	do {	/* once at least, however busy the machine is */
		begun = batch_begin(th);
		if (!batch_end(th) || !begun)
			return -EIO;
		cond_resched();
	} while (time_before(jiffies, th->until) && !READ_ONCE(th->t->failures));
	return 0;
}

int batch_open(struct test *t, struct batch *th, struct pair *p, u32 id)
{
	int i;

	th->t = t;
	th->p = p;
	th->id = id;
	th->until = jiffies + msecs_to_jiffies(t->w->stress_ms);
	prandom_seed_state(&th->rnd, (u64)prandom_u32_state(&t->rnd) << 32 | id);
	th->near = test_pages(t, BATCH * MAXLEN);
	th->far = test_pages(t, BATCH * MAXLEN);
	for (i = 0; i < BATCH; i++) {
		init_completion(&th->tx[i].ended);
		init_completion(&th->rx[i].ended);
	}
	return region_open(&p->b, &th->r, th->far, BATCH * MAXLEN,
			   KFI_REMOTE_READ | KFI_REMOTE_WRITE);
}

/* Threads work with these pairs, spread over them and over the CPUs. */
void stress_pairs(struct test *t, struct pair **p, int pairs)
{
	unsigned int cpu = 0, threads = PER_CPU * num_online_cpus();
	struct batch *th = test_zalloc(t, threads * sizeof(*th));
	u64 ops = 0;
	int i, n;

	for (i = 0; i < threads; i++)
		REQUIRE(t, !batch_open(t, &th[i], p[i % pairs], i));
	for (n = 0; n < threads; n++, cpu++) {
		cpu = cpumask_next((int)cpu - 1, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		if (worker_start(t, &th[n].worker, cpu, thread_run, &th[n]))
			break;
	}
	for (i = 0; i < n; i++) {
		EXPECT_EQ(t, worker_join(&th[i].worker, t->w->stress_ms + 3 * t->w->wait_ms), 0);
		ops += th[i].ops;
	}
	EXPECT(t, ops >= threads);
	pr_info("    # stress: %u threads, %llu operations\n", threads, ops);
}

static void mixed(struct test *t, int pairs, u64 cq_flags)
{
	struct node_opts opts = { .cq_flags = cq_flags };
	struct pair *p[PER_CPU];
	int i;

	for (i = 0; i < pairs; i++) {
		p[i] = pair_open(t, &opts, &opts);
		REQUIRE(t, p[i]);
	}
	stress_pairs(t, p, pairs);
}

static void one_pair(struct test *t)
{
	mixed(t, 1, 0);
}

static void many_pairs(struct test *t)
{
	mixed(t, PER_CPU, 0);
}

static void softirq(struct test *t)
{
	mixed(t, 2, KFI_CQ_SOFTIRQ);
}

/* ---- endpoints that come and go ---- */

static int churn_run(void *arg)
{
	struct batch *th = arg;
	struct test *t = th->t;
	struct pair *p;

	while (time_before(jiffies, th->until) && !READ_ONCE(t->failures)) {
		p = pair_open(t, NULL, NULL);
		if (!p || transfer(&p->a, &p->b, 1 + prandom_u32_state(&th->rnd) % 5000, th->ops++))
			return -EIO;
		if (prandom_u32_state(&th->rnd) & 1)
			node_close(&p->b);
		node_close(&p->a);
		node_close(&p->b);
	}
	return 0;
}

static void churn(struct test *t)
{
	struct batch *th = test_zalloc(t, 4 * sizeof(*th));
	int i, n;

	for (n = 0; n < 4; n++) {
		th[n].t = t;
		th[n].until = jiffies + msecs_to_jiffies(t->w->stress_ms);
		prandom_seed_state(&th[n].rnd, (u64)prandom_u32_state(&t->rnd) << 32 | n);
		if (worker_start(t, &th[n].worker, -1, churn_run, &th[n]))
			break;
	}
	for (i = 0; i < n; i++)
		EXPECT_EQ(t, worker_join(&th[i].worker, t->w->stress_ms + 3 * t->w->wait_ms), 0);
}

#define C_ALL	(C_MSG | C_TAGGED | C_RMA | KFI_ATOMIC)

const struct test_case stress_cases[] = {
	{ "stress.one_pair", T_REL, CASE_LESS, C_ALL, one_pair },
	{ "stress.many_pairs", T_REL, CASE_LESS, C_ALL, many_pairs },
	{ "stress.softirq", T_REL, CASE_LESS, C_ALL, softirq },
	{ "stress.churn", T_REL, 0, C_MSG, churn },
	{ }
};
