// SPDX-License-Identifier: GPL-2.0
/*
 * Connection sets (struct kfi_conn_set): connections begin, move and end at random moments, and a
 * set that stops waits for the end of all. The endpoints, contexts and the listener are those of a
 * provider without a network. How many callers may wait is tested in proto_link_test.c.
 */
#include <linux/slab.h>
#include <kfi_conn_set.h>
#include "crew.h"
#include "fake.h"

/* ---- the provider ---- */

#define HW_CTXS	2

/**
 * struct hw - the world
 * @top: a scalable endpoint that listens for @ctx
 * @listener: set of a passive endpoint
 * @ep: an endpoint that accepts
 * @nr_conns: connections that have not been freed
 * @ended: connections that have ended
 * @twice: connections that have ended more than once
 * @odd: connections that were moved or answered in a wrong state
 */
struct hw {
	struct kunit		*test;
	struct workqueue_struct	*wq;
	struct hw_ep		*top, *ctx[HW_CTXS], *ep;
	struct kfi_conn_set	listener;
	atomic_t		nr_conns, ended, twice, odd;
};

struct hw_ep {
	struct kfi_ep		ep;
	struct kfi_conn_set	conn_set;
};

/**
 * struct hw_conn - a connection
 * @failed: bit 0: its end has begun, with @err; bit 1: it has ended
 * @moved: how often it was moved
 * @accepted: how often it was accepted
 * @rejected: how often it was rejected
 */
struct hw_conn {
	struct kfi_peer_conn	pc;
	struct hw		*w;
	refcount_t		ref;
	unsigned long		failed;
	int			err;
	unsigned int		moved, accepted, rejected;
	struct work_struct	down;
};

static inline struct hw_conn *to_hw_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct hw_conn, pc);
}

static const unsigned int hw_backlog = 64;

/* ---- operations of the provider ---- */

static void hw_get(struct kfi_peer_conn *pc)
{
	refcount_inc(&to_hw_conn(pc)->ref);
}

static void hw_put(struct kfi_peer_conn *pc)
{
	struct hw_conn *conn = to_hw_conn(pc);

	if (!refcount_dec_and_test(&conn->ref))
		return;
	atomic_dec(&conn->w->nr_conns);
	kfree(conn);
}

static void hw_fail(struct kfi_peer_conn *pc, int err)
{
	struct hw_conn *conn = to_hw_conn(pc);

	if (test_and_set_bit(0, &conn->failed))
		return;
	conn->err = err;
	hw_get(pc);
	queue_work(conn->w->wq, &conn->down);
}

static bool hw_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(0, &to_hw_conn(pc)->failed);
}

static void hw_moved(struct kfi_peer_conn *pc)
{
	struct hw_conn *conn = to_hw_conn(pc);

	lockdep_assert_held(&pc->conn_set->lock);
	conn->moved++;
}

static void hw_answer(struct kfi_peer_conn *pc, bool accepted)
{
	struct hw_conn *conn = to_hw_conn(pc);

	lockdep_assert_held(&pc->conn_set->lock);
	accepted ? conn->accepted++ : conn->rejected++;
	if (conn->moved != accepted)
		atomic_inc(&conn->w->odd);
}

static const struct kfi_conn_set_ops hw_ops = {
	.backlog	= &hw_backlog,
	.get		= hw_get,
	.put		= hw_put,
	.fail		= hw_fail,
	.failed		= hw_failed,
	.moved		= hw_moved,
	.answer		= hw_answer,
};

static void hw_down(struct work_struct *work)
{
	struct hw_conn *conn = container_of(work, struct hw_conn, down);
	struct kfi_conn_set *set;
	unsigned int moved;

	kfi_conn_set_wait_move(&conn->pc);
	set = conn->pc.conn_set;
	moved = conn->moved;
	kfi_conn_set_unpublish(&conn->pc);
	synchronize_rcu_expedited();
	if (conn->pc.conn_set != set || conn->moved != moved)
		atomic_inc(&conn->w->odd);
	if (test_and_set_bit(1, &conn->failed))
		atomic_inc(&conn->w->twice);
	atomic_inc(&conn->w->ended);
	kfi_conn_set_remove(&conn->pc);
	hw_put(&conn->pc);	/* the reference of the work item */
}

/* ---- the world ---- */

static struct hw_ep *hw_ep(struct hw *w, size_t fclass)
{
	struct hw_ep *he = kzalloc(sizeof(*he), GFP_KERNEL);

	if (!he)
		return NULL;
	he->ep.fid.fid.fclass = fclass;
	xa_init(&he->ep.rx_ctxs);
	kfi_conn_set_init(&he->conn_set, &he->ep, &hw_ops);
	return he;
}

static void hw_ep_stop(struct hw_ep *he, int err)
{
	kfi_conn_set_stop(&he->conn_set, err);
	kfi_conn_set_drain(&he->conn_set);
}

static void hw_ep_free(struct hw_ep *he)
{
	xa_destroy(&he->ep.rx_ctxs);
	kfree(he);
}

static struct hw *hw_open(struct kunit *test)
{
	struct hw *w = kfi_test_zalloc(test, sizeof(*w));
	int i;

	w->test = test;
	w->wq = alloc_workqueue("kfi_kunit_conn_set", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	KUNIT_ASSERT_NOT_NULL(test, w->wq);
	w->top = hw_ep(w, KFI_CLASS_SEP);
	w->ep = hw_ep(w, KFI_CLASS_EP);
	KUNIT_ASSERT_TRUE(test, w->top && w->ep);
	for (i = 0; i < HW_CTXS; i++) {
		w->ctx[i] = hw_ep(w, KFI_CLASS_RX_CTX);
		KUNIT_ASSERT_NOT_NULL(test, w->ctx[i]);
		KUNIT_ASSERT_NULL(test,
				  xa_store(&w->top->ep.rx_ctxs, i, &w->ctx[i]->ep, GFP_KERNEL));
	}
	kfi_conn_set_init(&w->listener, NULL, &hw_ops);
	return w;
}

/* Check that the set has no connection. */
static void hw_set_is_empty(struct hw *w, struct kfi_conn_set *set)
{
	KUNIT_EXPECT_EQ(w->test, 0u, set->nr_pending);
	KUNIT_EXPECT_TRUE(w->test, list_empty(&set->conns));
	KUNIT_EXPECT_NULL(w->test, rcu_access_pointer(set->conn));
}

/* Stop everything and check that no connection is left. */
static void hw_close(struct hw *w)
{
	struct hw_ep *all[] = { w->top, w->ctx[0], w->ctx[1], w->ep };
	int i;

	kfi_conn_set_stop(&w->listener, -ECONNREFUSED);
	kfi_conn_set_drain(&w->listener);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		hw_ep_stop(all[i], -ECANCELED);
	synchronize_rcu();	/* see kfi_conn_set_wait_move() */
	hw_set_is_empty(w, &w->listener);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		hw_set_is_empty(w, &all[i]->conn_set);
		hw_ep_free(all[i]);
	}
	destroy_workqueue(w->wq);
	KUNIT_EXPECT_EQ(w->test, 0, atomic_read(&w->nr_conns));
	KUNIT_EXPECT_EQ(w->test, 0, atomic_read(&w->twice));
	KUNIT_EXPECT_EQ(w->test, 0, atomic_read(&w->odd));
}

/* A connection that is not listed, with a reference for the caller. NULL: no memory */
static struct hw_conn *hw_conn(struct hw *w)
{
	struct hw_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->w = w;
	refcount_set(&conn->ref, 1);
	INIT_WORK(&conn->down, hw_down);
	atomic_inc(&w->nr_conns);
	return conn;
}

/* ---- the cases ---- */

/* The request was answered, so nobody else would end it, and it would count as pending for ever. */
static void accepts_too_late(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_conn(w);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_EQ(test, 0, kfi_conn_set_add(&w->listener, &conn->pc));
	kfi_conn_set_stop(&w->ep->conn_set, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, kfi_conn_set_accept(&conn->pc, &w->ep->conn_set));
	KUNIT_EXPECT_EQ(test, 0u, conn->accepted);
	KUNIT_EXPECT_TRUE(test, hw_failed(&conn->pc));
	KUNIT_EXPECT_EQ(test, -ECONNABORTED, conn->err);
	flush_workqueue(w->wq);
	KUNIT_EXPECT_EQ(test, 0u, w->listener.nr_pending);
	hw_put(&conn->pc);
	hw_close(w);
}

/* ---- several threads ---- */

#define RACE_THREADS	6
#define RACE_CALLERS	3
#define RACE_EACH	500
#define RACE_STOPS	6
#define RACE_BROKEN	6

/**
 * struct race - counts of the threads
 * @calling: callers that have not finished
 * @listed: connections that were listed
 * @adopted: connections that a context has adopted
 * @accepted: connections that an endpoint has accepted
 * @stops: contexts that were closed
 */
struct race {
	struct hw	*w;
	atomic_t	calling, listed, adopted, accepted, stops, broken;
};

/* The set of a connection that has not begun to end stays until this call returns. */
static void race_known(struct hw_conn *conn)
{
	rcu_read_lock();
	if (!hw_failed(&conn->pc))
		kfi_conn_set_admitted(&conn->pc);
	rcu_read_unlock();
}

static void race_call(struct race *r, struct rnd_state *rnd)
{
	struct hw *w = r->w;
	bool msg = prandom_u32_state(rnd) & 1;
	struct hw_conn *conn = hw_conn(w);

	if (!conn)
		return;
	if (kfi_conn_set_add(msg ? &w->listener : &w->top->conn_set, &conn->pc)) {
		hw_put(&conn->pc);
		schedule_timeout_uninterruptible(1);
		return;
	}
	atomic_inc(&r->listed);
	crew_dawdle(rnd);
	if (msg && prandom_u32_state(rnd) % 4 == 0) {
		kfi_conn_set_reject(&conn->pc);
		hw_fail(&conn->pc, -ECONNREFUSED);
	} else if (msg && kfi_conn_set_accept(&conn->pc, &w->ep->conn_set)) {
		atomic_inc(&r->accepted);
		kfi_conn_set_publish(&conn->pc);
	} else if (!msg && kfi_conn_set_adopt(&conn->pc, prandom_u32_state(rnd) % HW_CTXS)) {
		atomic_inc(&r->adopted);
		race_known(conn);
	} else {
		hw_fail(&conn->pc, -ECONNREFUSED);
	}
	hw_put(&conn->pc);
}

/* On one CPU the other threads run seldom: callers go on until there was enough of everything. */
static bool race_goes_on(struct race *r, unsigned int calls)
{
	return calls < RACE_EACH || atomic_read(&r->stops) < RACE_STOPS ||
	       atomic_read(&r->broken) < RACE_BROKEN;
}

/* Close a context as kfi.ko does, and open it again. */
static void race_reopen(struct race *r, struct rnd_state *rnd)
{
	struct xarray *ctxs = &r->w->top->ep.rx_ctxs;
	unsigned int i = prandom_u32_state(rnd) % HW_CTXS;
	struct hw_ep *fresh = hw_ep(r->w, KFI_CLASS_RX_CTX), *old = r->w->ctx[i];

	if (!fresh)
		return;
	xa_erase(ctxs, i);
	crew_dawdle(rnd);
	if (prandom_u32_state(rnd) & 1)
		synchronize_rcu_expedited();
	kfi_conn_set_stop(&old->conn_set, -ECANCELED);
	crew_dawdle(rnd);
	kfi_conn_set_drain(&old->conn_set);
	hw_set_is_empty(r->w, &old->conn_set);
	hw_ep_free(old);
	r->w->ctx[i] = fresh;
	xa_store(ctxs, i, &fresh->ep, GFP_KERNEL);
	atomic_inc(&r->stops);
}

static void race_break_one(struct race *r, struct kfi_conn_set *set, unsigned int n)
{
	struct kfi_peer_conn *pc;

	spin_lock_bh(&set->lock);
	list_for_each_entry(pc, &set->conns, entry) {
		if (n--)
			continue;
		hw_fail(pc, -ECONNRESET);
		atomic_inc(&r->broken);
		break;
	}
	spin_unlock_bh(&set->lock);
}

static void race_break(struct race *r, struct rnd_state *rnd)
{
	struct kfi_conn_set *sets[] = {
		&r->w->top->conn_set, &r->w->listener, &r->w->ep->conn_set,
	};

	race_break_one(r, sets[prandom_u32_state(rnd) % ARRAY_SIZE(sets)],
		       prandom_u32_state(rnd) % 4);
	crew_dawdle(rnd);
}

static void race_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct race *r = arg;
	unsigned int i;

	if (id < RACE_CALLERS) {
		for (i = 0; race_goes_on(r, i); i++)
			race_call(r, rnd);
		atomic_dec(&r->calling);
		return;
	}
	while (atomic_read(&r->calling)) {
		if (id == RACE_CALLERS)
			race_reopen(r, rnd);
		else
			race_break(r, rnd);
		schedule_timeout_uninterruptible(1);
	}
}

static void everything_ends_once(struct kunit *test)
{
	struct race *r = kfi_test_zalloc(test, sizeof(*r));
	int listed;

	r->w = hw_open(test);
	atomic_set(&r->calling, RACE_CALLERS);
	crew_run(test, RACE_THREADS, race_thread, r);
	listed = atomic_read(&r->listed);
	kunit_info(test, "%d listed, %d adopted, %d accepted, %d broken, %d contexts\n", listed,
		   atomic_read(&r->adopted), atomic_read(&r->accepted), atomic_read(&r->broken),
		   atomic_read(&r->stops));
	/* otherwise there were no races */
	KUNIT_EXPECT_GT(test, atomic_read(&r->adopted), RACE_EACH / 8);
	KUNIT_EXPECT_GT(test, atomic_read(&r->accepted), RACE_EACH / 8);
	KUNIT_EXPECT_GE(test, atomic_read(&r->broken), RACE_BROKEN);
	hw_ep_stop(r->w->top, -ECANCELED);
	hw_ep_stop(r->w->ctx[0], -ECANCELED);
	hw_ep_stop(r->w->ctx[1], -ECANCELED);
	hw_ep_stop(r->w->ep, -ECANCELED);
	kfi_conn_set_stop(&r->w->listener, -ECANCELED);
	kfi_conn_set_drain(&r->w->listener);
	KUNIT_EXPECT_EQ(test, listed, atomic_read(&r->w->ended));
	hw_close(r->w);
}

KFI_SUITE(kfi_conn_set_race,
	KUNIT_CASE(accepts_too_late),
	KUNIT_CASE_SLOW(everything_ends_once));
