// SPDX-License-Identifier: GPL-2.0
/*
 * The end of regions: leases, which delay it; memory of kfi_mem_alloc(), which its regions keep;
 * and peers that move bytes meanwhile.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <kfi_mem.h>
#include "../../kfi/mr.h"
#include "crew.h"
#include "fixture.h"

static char mem[256];

static struct kfi_mr *got(struct kfi_world *w, u64 key)
{
	struct iov_iter iter;

	return kfi_mr_get(&w->ep, key, 0, 8, KFI_REMOTE_WRITE, &iter);
}

/* done() of an invalidation is called when the last lease is returned; the key is invalid at once. */
static void invalidation_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_mr *one, *two;
	struct kfid_mr *mr;
	struct job j;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	key = mr->key;
	one = got(w, key);
	two = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one) || IS_ERR(two));
	KUNIT_ASSERT_TRUE(test, kfi_mr_lease(&w->ep, one, key, NULL));
	KUNIT_ASSERT_TRUE(test, kfi_mr_lease(&w->ep, two, key, NULL));
	kfi_mr_put(two);			/* a lease has a reference of its own */
	job_init(&j);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(mr, &j.work));
	KUNIT_EXPECT_FALSE(test, kfi_mr_live(one, key));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 8, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_FALSE(test, kfi_mr_lease(&w->ep, one, key, NULL));
	kfi_mr_unlease(two, NULL);
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&j.done, msecs_to_jiffies(100)));
	kfi_mr_unlease(one, NULL);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&j.done, msecs_to_jiffies(10000)));
	KUNIT_EXPECT_EQ(test, 1, j.calls);
	/* A reference that a peer has kept gives no access to the next registration. */
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem + 64, 64, &j));
	KUNIT_EXPECT_FALSE(test, kfi_mr_lease(&w->ep, one, key, NULL));
	KUNIT_EXPECT_TRUE(test, kfi_mr_lease(&w->ep, one, mr->key, NULL));
	kfi_mr_unlease(one, NULL);
	kfi_mr_put(one);
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/* A thread that closes a region, or binds it to @ep */
struct closing {
	struct kfid_mr		*mr;
	struct kfid_ep		*ep;
	struct completion	done;
	int			ret;
};

static int close_it(void *arg)
{
	struct closing *c = arg;

	c->ret = kfi_close(&c->mr->fid);
	complete(&c->done);
	return 0;
}

static void close_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct closing c = { .done = COMPLETION_INITIALIZER_ONSTACK(c.done) };
	struct kfi_mr *mr;
	u64 key;

	c.mr = kfi_world_region(w, mem, sizeof(mem), 3);
	key = c.mr->key;
	mr = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_ASSERT_TRUE(test, kfi_mr_lease(&w->ep, mr, key, NULL));
	kfi_mr_put(mr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(close_it, &c, "kunit_close")));
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&c.done, msecs_to_jiffies(100)));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 8, KFI_REMOTE_WRITE));
	kfi_mr_unlease(mr, NULL);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&c.done, msecs_to_jiffies(10000)));
	KUNIT_EXPECT_EQ(test, 0, c.ret);
	kfi_world_close(w);
}

/* ---- leases ---- */

/* A lease of @mr that is returned by hand; @calls: of recall() */
struct test_lease {
	struct kfi_mr_lease	lease;
	struct kfi_mr		*mr;
	atomic_t		calls;
};

static void lease_recalled(struct kfi_mr_lease *lease)
{
	atomic_inc(&container_of(lease, struct test_lease, lease)->calls);
}

/* A lease of a region that &kfi_world.ep has found, for peers of @ep */
static bool lease_for(struct kfi_world *w, struct kfi_ep *ep, u64 key, struct test_lease *l)
{
	struct kfi_mr *mr = got(w, key);
	bool ok;

	*l = (struct test_lease) { .lease.recall = lease_recalled, .mr = mr };
	if (IS_ERR(mr))
		return false;
	ok = kfi_mr_lease(ep, mr, key, &l->lease);
	kfi_mr_put(mr);
	return ok;
}

static bool lease(struct kfi_world *w, u64 key, struct test_lease *l)
{
	return lease_for(w, &w->ep, key, l);
}

/* A thread that closes or binds a region waits for its leases, which it recalls. */
static void lease_waits(struct kunit *test, struct closing *c, struct test_lease *l)
{
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&c->done, msecs_to_jiffies(100)));
	KUNIT_EXPECT_GT(test, atomic_read(&l->calls), 0);
	kfi_mr_unlease(l->mr, &l->lease);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&c->done, msecs_to_jiffies(10000)));
	KUNIT_EXPECT_EQ(test, 0, c->ret);
}

static int bind_it(void *arg)
{
	struct closing *c = arg;

	c->ret = kfi_mr_bind(c->mr, &c->ep->fid, 0);
	complete(&c->done);
	return 0;
}

/* A region that changes is live, but a lease that begins meanwhile would never be recalled. */
static void lease_refused(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct closing c = {
		.ep = &w->ep.fid,
		.done = COMPLETION_INITIALIZER_ONSTACK(c.done),
	};
	struct test_lease one, two, next;
	int i;

	c.mr = kfi_world_region(w, mem, sizeof(mem), 3);
	KUNIT_ASSERT_TRUE(test, lease(w, 3, &one) && lease(w, 3, &two));
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(bind_it, &c, "kunit_bind")));
	for (i = 0; i < 1000 && !atomic_read(&two.calls); i++)
		usleep_range(1000, 2000);
	KUNIT_ASSERT_GT(test, atomic_read(&two.calls), 0);
	KUNIT_EXPECT_TRUE(test, may(w, 3, 0, 8, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_FALSE(test, lease(w, 3, &next));
	kfi_mr_unlease(one.mr, &one.lease);
	KUNIT_EXPECT_FALSE(test, lease(w, 3, &next));
	lease_waits(test, &c, &two);
	KUNIT_EXPECT_TRUE(test, lease(w, 3, &next));
	kfi_mr_unlease(next.mr, &next.lease);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&c.mr->fid));
	kfi_world_close(w);
}

/* A region that was bound to another endpoint since it was found has no lease. */
static void lease_elsewhere(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct test_lease l = { .lease.recall = lease_recalled };
	struct kfi_ep *other = kfi_test_zalloc(test, sizeof(*other));
	struct kfid_mr *fid;
	struct kfi_mr *mr;

	fid = kfi_world_region(w, mem, sizeof(mem), 3);
	mr = got(w, 3);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	mr->ep = other;
	KUNIT_EXPECT_FALSE(test, kfi_mr_lease(&w->ep, mr, 3, &l.lease));
	mr->ep = &w->ep;
	KUNIT_EXPECT_TRUE(test, kfi_mr_lease(&w->ep, mr, 3, &l.lease));
	kfi_mr_unlease(mr, &l.lease);
	mr->ep = NULL;
	kfi_mr_put(mr);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid->fid));
	kfi_world_close(w);
}

/*
 * The peers of one endpoint may not write any more: the leases for them are recalled, of regions
 * with a key of either kind, and there are no new ones. Those of another endpoint stay.
 */
static void lease_of_endpoint(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_ep *denied = kfi_test_zalloc(test, sizeof(*denied));
	struct kfid_mr *fid[] = {
		kfi_world_region(w, mem, sizeof(mem), 3),
		kfi_world_region(w, mem, sizeof(mem), KFI_KEY_NOTAVAIL),
	};
	struct test_lease of_ep[2], of_denied[2], next;
	int i;

	denied->domain = &w->domain;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, lease(w, fid[i]->key, &of_ep[i]));
		KUNIT_ASSERT_TRUE(test, lease_for(w, denied, fid[i]->key, &of_denied[i]));
	}
	denied->remote_denied = KFI_REMOTE_WRITE;
	kfi_mr_recall_ep(denied);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&of_denied[i].calls));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&of_ep[i].calls));
		KUNIT_EXPECT_FALSE(test, lease_for(w, denied, fid[i]->key, &next));
		KUNIT_EXPECT_TRUE(test, lease(w, fid[i]->key, &next));
		kfi_mr_unlease(next.mr, &next.lease);
		kfi_mr_unlease(of_denied[i].mr, &of_denied[i].lease);
		kfi_mr_unlease(of_ep[i].mr, &of_ep[i].lease);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid[i]->fid));
	}
	kfi_world_close(w);
}

/* ---- memory of kfi_mem_alloc() ---- */

static int given, answer;
static u8 *window;			/* two pages */

static int world_mem_alloc(struct kfi_domain *domain, struct kfi_mem *m)
{
	if (answer)
		return answer;
	given++;
	m->addr = window;
	m->numa_node = NUMA_NO_NODE;
	return 0;
}

static void world_mem_free(struct kfi_domain *domain, struct kfi_mem *m)
{
	given--;
}

static struct kfi_world *mem_world(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);

	w->ops.mem_alloc = world_mem_alloc;
	w->ops.mem_free = world_mem_free;
	window = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, 1);
	KUNIT_ASSERT_NOT_NULL(test, window);
	given = answer = 0;
	return w;
}

static void mem_world_close(struct kfi_world *w)
{
	KUNIT_EXPECT_EQ(w->test, 0, given);
	free_pages((unsigned long)window, 1);
	kfi_world_close(w);
}

/*
 * A region keeps the memory that it covers, by whatever address, until no byte can land any more.
 */
static void regions_keep_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfid_mr *mr, *per_io;
	struct kfi_mem *m;
	struct kfi_mr *peer;
	struct job j;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, PAGE_SIZE + 1, KFI_MEM_DIRECT, &m));
	KUNIT_EXPECT_TRUE(test, m->direct);
	KUNIT_EXPECT_EQ(test, 2 * PAGE_SIZE, m->len);
	mr = kfi_world_region(w, window + PAGE_SIZE + 100, 8, 3);
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &per_io, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(per_io, window, 64, &j));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	key = per_io->key;
	peer = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer));
	KUNIT_ASSERT_TRUE(test, kfi_mr_lease(&w->ep, peer, key, NULL));
	kfi_mr_put(peer);
	job_init(&j);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(per_io, &j.work));
	/* a device may still write there */
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	kfi_mr_unlease(peer, NULL);
	wait_for_completion(&j.done);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&per_io->fid));
	mem_world_close(w);
}

/*
 * A region of other memory keeps nothing. Memory that was freed and allocated again is kept by a
 * new region.
 */
static void other_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfid_mr *mr;
	struct kfi_mem *m;

	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, 2 * PAGE_SIZE, 0, &m));
	mr = kfi_world_region(w, mem, 8, 3);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, PAGE_SIZE, 0, &m));
	mr = kfi_world_region(w, window + PAGE_SIZE, 8, 3);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));		/* the second page is not of it */
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	mem_world_close(w);
}

/*
 * Without memory of the hardware the domain allocates any memory, unless the caller forbids that; a
 * dead domain allocates none.
 */
static void without_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfi_mem *m;

	answer = -ENOMEM;
	KUNIT_EXPECT_EQ(test, -ENOMEM, kfi_mem_alloc(&w->domain.fid, 100, KFI_MEM_DIRECT, &m));
	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, 100, 0, &m));
	KUNIT_EXPECT_FALSE(test, m->direct);
	KUNIT_EXPECT_PTR_NE(test, (void *)window, m->addr);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	answer = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mem_alloc(&w->domain.fid, 0, 0, &m));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_mem_alloc(&w->domain.fid, 8, KFI_MORE, &m));
	w->domain.dead = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_mem_alloc(&w->domain.fid, 100, 0, &m));
	w->domain.dead = false;
	mem_world_close(w);
}

KFI_SUITE(kfi_mr_lease,
	KUNIT_CASE(invalidation_waits),
	KUNIT_CASE(close_waits),
	KUNIT_CASE(lease_refused),
	KUNIT_CASE(lease_elsewhere),
	KUNIT_CASE(lease_of_endpoint),
	KUNIT_CASE(regions_keep_memory),
	KUNIT_CASE(other_memory),
	KUNIT_CASE(without_memory));

/*
 * A peer moves bytes into a region, as a provider does, while its owner ends the region: after
 * done() not one byte may land.
 */

/**
 * struct race - a peer moves bytes as a provider does while the owner ends regions
 * @mr: present region; @per_io: of kfi_mr_alloc()
 * @mem: memory of the region
 * @key: key of the present region
 * @moves: bytes moved so far; of a slow peer: 1 in its RCU section, 2 behind it
 * @wrong: calls that have failed, and bytes that have landed after the end
 */
struct race {
	struct kfi_world	*w;
	struct kfid_mr		*mr, *per_io;
	u64			*mem;
	u64			key;
	atomic_t		moves;
	unsigned int		wrong;
	bool			stop;
};

static struct race *race_open(struct kunit *test)
{
	struct race *r = kfi_test_zalloc(test, sizeof(*r));

	r->w = kfi_world_open(test, NULL);
	r->mem = kfi_test_zalloc(test, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&r->w->domain.fid, 1, 0, &r->per_io, NULL));
	return r;
}

static void race_close(struct kunit *test, struct race *r)
{
	KUNIT_EXPECT_EQ(test, 0, r->wrong);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r->per_io->fid));
	kfi_world_close(r->w);
}

static void race_peer(struct race *r)
{
	struct iov_iter iter;
	struct kfi_mr *mr;
	u64 mark = 1, key;

	while (!READ_ONCE(r->stop)) {
		key = READ_ONCE(r->key);
		mr = kfi_mr_get(&r->w->ep, key, 0, sizeof(mark), KFI_REMOTE_WRITE, &iter);
		if (IS_ERR(mr)) {
			cpu_relax();
			crew_turn();
			continue;
		}
		rcu_read_lock();
		if (kfi_mr_live(mr, key) &&
		    copy_to_iter(&mark, sizeof(mark), &iter) == sizeof(mark))
			atomic_inc(&r->moves);
		rcu_read_unlock();
		kfi_mr_put(mr);
		crew_turn();
	}
}

/* The region has ended: no byte may land any more. */
static bool landed(struct race *r)
{
	int i;

	WRITE_ONCE(*r->mem, 0);
	for (i = 0; i < 50; i++)
		cpu_relax();
	return READ_ONCE(*r->mem);
}

static void wait_for_a_move(struct race *r)
{
	int before = atomic_read(&r->moves), tries;

	for (tries = 0; tries < 1000 && atomic_read(&r->moves) == before; tries++)
		crew_turn();
}

static void race_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct race *r = arg;
	struct job j;
	int i;

	if (id) {
		race_peer(r);
		return;
	}
	for (i = 0; i < 500; i++) {
		r->wrong += !!attach(r->per_io, r->mem, 8, &j);
		WRITE_ONCE(r->key, r->per_io->key);
		wait_for_a_move(r);
		r->wrong += !!detach(r->per_io, &j) + landed(r);
	}
	WRITE_ONCE(r->stop, true);
}

static void nothing_lands_after_invalidate(struct kunit *test)
{
	struct race *r = race_open(test);

	crew_run(test, 2, race_thread, r);
	KUNIT_EXPECT_GT(test, atomic_read(&r->moves), 100);
	race_close(test, r);
}

/* A peer that is slow inside its RCU section: the end of a region must wait for it. */
static void slow_peer(struct race *r)
{
	struct iov_iter iter;
	struct kfi_mr *mr;

	mr = kfi_mr_get(&r->w->ep, r->key, 0, 8, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return;
	rcu_read_lock();
	if (kfi_mr_live(mr, r->key)) {
		atomic_set_release(&r->moves, 1);
		mdelay(30);
		atomic_set_release(&r->moves, 2);
	}
	rcu_read_unlock();
	kfi_mr_put(mr);
}

static void slow_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct race *r = arg;
	struct job j;
	int tries;

	if (id) {
		slow_peer(r);
		return;
	}
	for (tries = 0; tries < 100000 && !atomic_read(&r->moves); tries++)
		crew_turn();
	r->wrong += r->mr == r->per_io ? !!detach(r->mr, &j) : !!kfi_close(&r->mr->fid);
	r->wrong += atomic_read_acquire(&r->moves) != 2;
}

static void the_end_waits_for_a_move(struct kunit *test)
{
	struct race *r = race_open(test);
	struct job j;
	int i;

	for (i = 0; i < 10; i++) {
		r->mr = r->per_io;
		if (i & 1)
			KUNIT_ASSERT_EQ(test, 0, attach(r->mr, r->mem, 8, &j));
		else
			r->mr = kfi_world_region(r->w, r->mem, 8, 7);
		r->key = r->mr->key;
		atomic_set(&r->moves, 0);
		crew_run(test, 2, slow_thread, r);
	}
	race_close(test, r);
}

/**
 * struct binding - concurrent calls for one region
 * @begun: the provider has begun to enable the region
 * @ret: results of the calls
 */
struct binding {
	struct kfid_mr		*mr;
	struct kfid_cntr	*cntr;
	struct completion	begun;
	int			ret[3];
};

/* A provider that is slow to enable a region */
static int slow_enable(struct kfi_mr *mr)
{
	struct binding *b = mr->fid.fid.context;

	complete_all(&b->begun);
	msleep(20);
	return 0;
}

static void binding_call(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct binding *b = arg;

	if (id)
		wait_for_completion(&b->begun);
	b->ret[id] = id == 1 ? kfi_mr_bind(b->mr, &b->cntr->fid, KFI_REMOTE_WRITE) :
			       kfi_mr_enable(b->mr);
}

/* A region that is being enabled can be neither bound nor enabled again. */
static void one_call_at_a_time(struct kunit *test)
{
	struct kfi_world_opts opts = { .mr_mode = KFI_MR_ENDPOINT | KFI_MR_PROV_KEY };
	struct kfi_world *w = kfi_world_open(test, &opts);
	struct binding *b = kfi_test_zalloc(test, sizeof(*b));
	u64 word;

	init_completion(&b->begun);
	w->ops.mr_enable = slow_enable;
	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, NULL, &b->cntr, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&w->domain.fid, &word, 8, RW, 0, KFI_KEY_NOTAVAIL, 0,
					    &b->mr, b));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_bind(b->mr, &w->ep.fid.fid, 0));
	crew_run(test, 3, binding_call, b);
	KUNIT_EXPECT_EQ(test, 0, b->ret[0]);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, b->ret[1]);
	KUNIT_EXPECT_EQ(test, -EINVAL, b->ret[2]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&b->mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&b->cntr->fid));
	kfi_world_close(w);
}

KFI_SUITE(kfi_mr_race,
	KUNIT_CASE_SLOW(nothing_lands_after_invalidate),
	KUNIT_CASE_SLOW(the_end_waits_for_a_move),
	KUNIT_CASE(one_call_at_a_time));
