// SPDX-License-Identifier: GPL-2.0
/*
 * Homes with many at once: callers who are adopted and accepted, connections that break, contexts
 * that close and are opened anew meanwhile.
 */
#include <linux/slab.h>
#include "crew.h"
#include "home_world.h"

#define RACE_HANDS	6
#define RACE_CALLERS	3
#define RACE_EACH	500
#define RACE_STOPS	6
#define RACE_BROKEN	6

/**
 * struct race - @calling: callers that are not through; @listed, @adopted, @accepted: connections;
 * @stops: of contexts
 */
struct race {
	struct hw	*w;
	atomic_t	calling, listed, adopted, accepted, stops, broken;
};

/* The end waits for us, if it has not begun: its home is still there. */
static void race_known(struct hw_conn *conn)
{
	rcu_read_lock();
	if (!hw_failed(&conn->pc))
		kfi_home_known(&conn->pc);
	rcu_read_unlock();
}

static void race_call(struct race *r, struct rnd_state *rnd)
{
	struct hw *w = r->w;
	bool msg = prandom_u32_state(rnd) & 1;
	struct hw_conn *conn = hw_conn(w, STRANGE);

	if (!conn)
		return;
	if (kfi_home_list(msg ? &w->listener : &w->top->home, &conn->pc, NULL)) {
		hw_put(&conn->pc);
		schedule_timeout_uninterruptible(1);
		return;
	}
	atomic_inc(&r->listed);
	crew_dawdle(rnd);
	if (msg && kfi_home_accept(&conn->pc, &w->ep->home)) {
		atomic_inc(&r->accepted);
		kfi_home_publish(&conn->pc);
	} else if (!msg && kfi_home_adopt(&conn->pc, prandom_u32_state(rnd) % HW_CTXS)) {
		atomic_inc(&r->adopted);
		race_known(conn);
	} else {
		hw_fail(&conn->pc, -ECONNREFUSED);
	}
	hw_put(&conn->pc);
}

/* On one CPU the others run seldom: the callers go on until there was enough of everything. */
static bool race_goes_on(struct race *r, unsigned int calls)
{
	return calls < RACE_EACH || atomic_read(&r->stops) < RACE_STOPS ||
	       atomic_read(&r->broken) < RACE_BROKEN;
}

/* A context closes as kfi.ko closes it, and is opened anew. */
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
	kfi_home_stop(&old->home, -ECANCELED);
	crew_dawdle(rnd);
	kfi_home_drain(&old->home);
	hw_home_is_left(r->w, &old->home);
	hw_ep_free(old);
	r->w->ctx[i] = fresh;
	xa_store(ctxs, i, &fresh->ep, GFP_KERNEL);
	atomic_inc(&r->stops);
}

static void race_break_one(struct race *r, struct kfi_home *home, unsigned int n)
{
	struct kfi_peer_conn *pc;

	spin_lock_bh(&home->lock);
	list_for_each_entry(pc, &home->conns, entry) {
		if (n--)
			continue;
		hw_fail(pc, -ECONNRESET);
		atomic_inc(&r->broken);
		break;
	}
	spin_unlock_bh(&home->lock);
}

static void race_break(struct race *r, struct rnd_state *rnd)
{
	struct kfi_home *homes[] = { &r->w->top->home, &r->w->listener, &r->w->ep->home };

	race_break_one(r, homes[prandom_u32_state(rnd) % ARRAY_SIZE(homes)],
		       prandom_u32_state(rnd) % 4);
	crew_dawdle(rnd);
}

static void race_hand(void *arg, unsigned int id, struct rnd_state *rnd)
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
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	int listed;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->w = hw_open(test);
	hw_backlog = 64;
	atomic_set(&r->calling, RACE_CALLERS);
	crew_run(test, RACE_HANDS, race_hand, r);
	listed = atomic_read(&r->listed);
	kunit_info(test, "%d listed, %d adopted, %d accepted, %d broken, %d contexts\n", listed,
		   atomic_read(&r->adopted), atomic_read(&r->accepted), atomic_read(&r->broken),
		   atomic_read(&r->stops));
	/* or nothing was tested */
	KUNIT_EXPECT_GT(test, atomic_read(&r->adopted), RACE_EACH / 8);
	KUNIT_EXPECT_GT(test, atomic_read(&r->accepted), RACE_EACH / 8);
	KUNIT_EXPECT_GE(test, atomic_read(&r->broken), RACE_BROKEN);
	hw_ep_stop(r->w->top, -ECANCELED);
	hw_ep_stop(r->w->ctx[0], -ECANCELED);
	hw_ep_stop(r->w->ctx[1], -ECANCELED);
	hw_ep_stop(r->w->ep, -ECANCELED);
	kfi_home_stop(&r->w->listener, -ECANCELED);
	kfi_home_drain(&r->w->listener);
	KUNIT_EXPECT_EQ(test, listed, atomic_read(&r->w->ended));
	hw_close(r->w);
}

static struct kunit_case home_race_cases[] = {
	KUNIT_CASE_SLOW(everything_ends_once),
	{}
};

static struct kunit_suite home_race_suite = {
	.name = "kfi_home_race",
	.test_cases = home_race_cases,
};
kunit_test_suite(home_race_suite);
