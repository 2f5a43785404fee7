// SPDX-License-Identifier: GPL-2.0
/*
 * Homes of connections: who is let in, who moves where, who may be posted to, and that a home that
 * stops waits for the end of all.
 */
#include "home_world.h"

/* One that is listed, or that would have been: *@ret says. */
static struct hw_conn *hw_listed(struct hw *w, struct kfi_home *home, bool dialed, int *ret)
{
	struct hw_conn *conn = hw_conn(w, dialed);

	KUNIT_ASSERT_NOT_NULL(w->test, conn);
	*ret = kfi_home_list(home, &conn->pc, NULL);
	return conn;
}

static struct hw_conn *hw_called(struct hw *w, struct kfi_home *home)
{
	struct hw_conn *conn;
	int ret;

	conn = hw_listed(w, home, STRANGE, &ret);
	KUNIT_EXPECT_EQ(w->test, 0, ret);
	return conn;
}

/* Listed there, and left alone. Return: what came of it. */
static int hw_try(struct hw *w, struct kfi_home *home, bool dialed)
{
	int ret;

	hw_put(&hw_listed(w, home, dialed, &ret)->pc);
	return ret;
}

/* ---- let in ---- */

static void strangers_are_bounded(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home *home = &w->ep->home;
	struct hw_conn *conn = hw_called(w, home);

	KUNIT_EXPECT_EQ(test, 0, hw_try(w, home, STRANGE));
	KUNIT_EXPECT_EQ(test, -EBUSY, hw_try(w, home, STRANGE));
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, home, DIALED));
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, home, DIALED));
	KUNIT_EXPECT_EQ(test, 2u, home->nstrangers);
	kfi_home_known(&conn->pc);
	kfi_home_known(&conn->pc);
	KUNIT_EXPECT_EQ(test, 1u, home->nstrangers);
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, home, STRANGE));
	KUNIT_EXPECT_EQ(test, -EBUSY, hw_try(w, home, STRANGE));
	KUNIT_EXPECT_EQ(test, 5, atomic_read(&w->nr_conns));
	hw_put(&conn->pc);
	hw_close(w);
}

static bool hw_pending(const struct kfi_peer_conn *pc)
{
	return !to_hw_conn(pc)->said;
}

static bool hw_akin(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b)
{
	return to_hw_conn(a)->source == to_hw_conn(b)->source;
}

/* Somebody calls from @source. */
static struct hw_conn *hw_caller(struct hw *w, int source, int *ret)
{
	struct hw_conn *conn = hw_conn(w, STRANGE);

	KUNIT_ASSERT_NOT_NULL(w->test, conn);
	conn->source = source;
	*ret = kfi_home_list(&w->listener, &conn->pc, NULL);
	return conn;
}

/*
 * The oldest caller that has said nothing makes room for the next one: of its address, if that
 * has as many as it may have, else of all.
 */
static void silent_make_room(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home_ops ops = *w->listener.ops;
	/* source, and who is failed then: its number, or -1 */
	static const struct { int source, gone; } callers[] = {
		{ 1, -1 }, { 2, -1 }, { 1, -1 },
		{ 1, 0 },	/* the address has two already */
		{ 3, 1 },	/* there are three */
		{ 3, 2 },	/* 2, 3 and 4 are there; 3 has said something */
		{ 4 }, { 3 },	/* turned away */
	};
	struct hw_conn *conns[ARRAY_SIZE(callers)];
	struct completion go;
	int i, j, ret;

	hw_backlog = 3;
	ops.source_backlog = &(unsigned int){ 2 };
	ops.pending = hw_pending;
	ops.akin = hw_akin;
	w->listener.ops = &ops;
	init_completion(&go);
	w->hold = &go;
	for (i = 0; i < ARRAY_SIZE(callers); i++) {
		conns[i] = hw_caller(w, callers[i].source, &ret);
		conns[i]->said = i == 3;
		/*
		 * Those that have failed are still here: twice as many as there may be are too
		 * many.
		 */
		KUNIT_EXPECT_EQ_MSG(test, i < 6 ? 0 : -EBUSY, ret, "caller %d", i);
		for (j = 0; j < i && i < 6; j++)
			KUNIT_EXPECT_EQ_MSG(test, j <= callers[i].gone, hw_failed(&conns[j]->pc),
					    "caller %d of %d", j, i);
	}
	complete_all(&go);
	flush_workqueue(w->wq);
	hw_put(&hw_caller(w, 5, &ret)->pc);
	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_EQ(test, -EBUSY, conns[0]->err);
	for (i = 0; i < ARRAY_SIZE(callers); i++)
		hw_put(&conns[i]->pc);
	hw_close(w);
}

/* A place is free again when its stranger has ended, and not before. */
static void place_of_the_ended(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_called(w, &w->listener);
	struct completion go;

	init_completion(&go);
	w->hold = &go;
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, &w->listener, STRANGE));
	hw_fail(&conn->pc, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, -EBUSY, hw_try(w, &w->listener, STRANGE));
	complete_all(&go);
	flush_workqueue(w->wq);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->ended));
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, &w->listener, STRANGE));
	hw_put(&conn->pc);
	hw_close(w);
}

static void stopped_lets_nobody_in(struct kunit *test)
{
	struct hw *w = hw_open(test);

	kfi_home_stop(&w->ep->home, -ENODEV);
	KUNIT_EXPECT_TRUE(test, w->ep->peers.stopping);
	KUNIT_EXPECT_EQ(test, -ENODEV, hw_try(w, &w->ep->home, STRANGE));
	KUNIT_EXPECT_EQ(test, -ENODEV, hw_try(w, &w->ep->home, DIALED));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->nr_conns));
	hw_close(w);
}

/* ---- move ---- */

static void expect_at(struct hw *w, struct hw_conn *conn, struct kfi_home *home, unsigned int moved)
{
	KUNIT_EXPECT_PTR_EQ(w->test, home, conn->pc.home);
	KUNIT_EXPECT_PTR_EQ(w->test, &conn->pc.entry, home->conns.prev);
	KUNIT_EXPECT_EQ(w->test, moved, conn->moved);
}

static void context_adopts(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home *top = &w->top->home, *home = &w->ctx[1]->home;
	struct hw_conn *conn = hw_called(w, top);

	KUNIT_EXPECT_FALSE(test, kfi_home_adopt(&conn->pc, HW_CTXS));
	expect_at(w, conn, top, 0);
	KUNIT_EXPECT_TRUE(test, kfi_home_adopt(&conn->pc, 1));
	expect_at(w, conn, home, 1);
	KUNIT_EXPECT_EQ(test, 0u, top->nstrangers);
	KUNIT_EXPECT_EQ(test, 1u, home->nstrangers);
	kfi_home_known(&conn->pc);
	KUNIT_EXPECT_EQ(test, 0u, home->nstrangers);
	hw_put(&conn->pc);
	hw_close(w);
}

/* Who listens for himself: nothing moves. */
static void endpoint_keeps(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_called(w, &w->ep->home);

	KUNIT_EXPECT_FALSE(test, kfi_home_adopt(&conn->pc, 1));
	KUNIT_EXPECT_TRUE(test, kfi_home_adopt(&conn->pc, 0));
	expect_at(w, conn, &w->ep->home, 0);
	hw_put(&conn->pc);
	hw_close(w);
}

static void adopts_not(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home *top = &w->top->home;
	struct hw_conn *conn = hw_called(w, top);
	struct completion go;

	/* full */
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, &w->ctx[0]->home, STRANGE));
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, &w->ctx[0]->home, STRANGE));
	KUNIT_EXPECT_FALSE(test, kfi_home_adopt(&conn->pc, 0));
	/* stopped */
	kfi_home_stop(&w->ctx[1]->home, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, kfi_home_adopt(&conn->pc, 1));
	/* failed */
	hw_ep_stop(w->ctx[0], -ECANCELED);
	w->ctx[0]->home.stop_err = 0;	/* another one at its place */
	init_completion(&go);
	w->hold = &go;
	hw_fail(&conn->pc, -ECONNRESET);
	KUNIT_EXPECT_FALSE(test, kfi_home_adopt(&conn->pc, 0));
	expect_at(w, conn, top, 0);
	KUNIT_EXPECT_EQ(test, 1u, top->nstrangers);
	complete_all(&go);
	hw_put(&conn->pc);
	hw_close(w);
}

static void endpoint_accepts(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_called(w, &w->listener);

	hw_backlog = 1;		/* who was accepted is no stranger there */
	KUNIT_EXPECT_EQ(test, 0, hw_try(w, &w->ep->home, STRANGE));
	KUNIT_EXPECT_TRUE(test, kfi_home_accept(&conn->pc, &w->ep->home));
	expect_at(w, conn, &w->ep->home, 1);
	KUNIT_EXPECT_EQ(test, 1u, conn->accepted);
	KUNIT_EXPECT_EQ(test, 0u, w->listener.nstrangers);
	KUNIT_EXPECT_EQ(test, 1u, w->ep->home.nstrangers);
	hw_put(&conn->pc);
	hw_close(w);
}

static void answers_once(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_called(w, &w->listener), *gone = hw_called(w, &w->listener);
	struct completion go;

	init_completion(&go);
	w->hold = &go;
	kfi_home_reject(&conn->pc);
	KUNIT_EXPECT_EQ(test, 1u, conn->rejected);
	expect_at(w, gone, &w->listener, 0);
	hw_fail(&gone->pc, -ECONNRESET);
	kfi_home_reject(&gone->pc);
	KUNIT_EXPECT_FALSE(test, kfi_home_accept(&gone->pc, &w->ep->home));
	KUNIT_EXPECT_EQ(test, 0u, gone->accepted + gone->rejected);
	expect_at(w, gone, &w->listener, 0);
	complete_all(&go);
	hw_put(&conn->pc);
	hw_put(&gone->pc);
	hw_close(w);
}

/* ---- published ---- */

static struct hw_conn *way(struct kfi_home *home)
{
	struct kfi_peer_conn *pc;

	rcu_read_lock();
	pc = kfi_home_way(home);
	rcu_read_unlock();
	return pc ? to_hw_conn(pc) : NULL;
}

static void publishes_what_stands(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home *home = &w->ep->home;
	struct hw_conn *conn = hw_called(w, home), *other = hw_called(w, home);

	KUNIT_EXPECT_NULL(test, way(home));
	kfi_home_publish(&conn->pc);
	KUNIT_EXPECT_PTR_EQ(test, conn, way(home));
	hw_fail(&other->pc, -ECONNRESET);	/* unpublishes itself, and nobody else */
	kfi_home_publish(&other->pc);
	flush_workqueue(w->wq);
	KUNIT_EXPECT_PTR_EQ(test, conn, way(home));
	hw_fail(&conn->pc, -ECONNRESET);
	flush_workqueue(w->wq);
	KUNIT_EXPECT_NULL(test, way(home));
	kfi_home_publish(&conn->pc);
	KUNIT_EXPECT_NULL(test, way(home));
	hw_put(&conn->pc);
	hw_put(&other->pc);
	hw_close(w);
}

/* ---- the end ---- */

struct drain {
	struct work_struct	work;
	struct kfi_home		*home;
	struct completion	over;
};

static void drain_work(struct work_struct *work)
{
	struct drain *d = container_of(work, struct drain, work);

	kfi_home_drain(d->home);
	complete(&d->over);
}

/* It waits for the last one; the first reason of each counts. */
static void drain_ends_all(struct kunit *test)
{
	struct hw *w = hw_open(test);
	struct kfi_home *home = &w->ep->home;
	struct hw_conn *a = hw_called(w, home), *b = hw_called(w, home);
	struct completion go;
	struct drain d = { .home = home };

	init_completion(&go);
	init_completion(&d.over);
	w->hold = &go;
	hw_fail(&a->pc, -ECONNRESET);
	kfi_home_stop(home, -ECANCELED);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&b->fails));
	INIT_WORK_ONSTACK(&d.work, drain_work);
	schedule_work(&d.work);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&b->fails)));
	KUNIT_EXPECT_FALSE(test, completion_done(&d.over));
	complete_all(&go);
	flush_work(&d.work);
	destroy_work_on_stack(&d.work);
	KUNIT_EXPECT_TRUE(test, completion_done(&d.over));
	KUNIT_EXPECT_EQ(test, -ECONNRESET, a->err);
	KUNIT_EXPECT_EQ(test, -ECANCELED, b->err);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->ended));
	hw_home_is_left(w, home);
	hw_put(&a->pc);
	hw_put(&b->pc);
	hw_close(w);
}

static int show_one(void *arg, const struct kfi_peer_info *peer)
{
	(*(unsigned int *)arg)++;
	return 0;
}

static void show(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *conn,
		 struct kfi_peer_info *info)
{
	if (conn)
		info->state = name;
}

static void shows_who_is_connected(struct kunit *test)
{
	static const struct kfi_peer_ops ops = { .show = show };
	struct hw *w = hw_open(test);
	struct hw_conn *conn = hw_called(w, &w->ep->home);
	unsigned int seen = 0;

	w->ep->peers.ops = &ops;
	kfi_home_show(&w->ep->home, "name", 0, show_one, &seen);
	KUNIT_EXPECT_EQ(test, 0u, seen);
	kfi_home_publish(&conn->pc);
	kfi_home_show(&w->ep->home, "name", 0, show_one, &seen);
	KUNIT_EXPECT_EQ(test, 1u, seen);
	kfi_home_show(&w->ep->home, "name", 1, show_one, &seen);
	KUNIT_EXPECT_EQ(test, 1u, seen);
	hw_put(&conn->pc);
	hw_close(w);
}

static struct kunit_case home_cases[] = {
	KUNIT_CASE(strangers_are_bounded),
	KUNIT_CASE(silent_make_room),
	KUNIT_CASE(place_of_the_ended),
	KUNIT_CASE(stopped_lets_nobody_in),
	KUNIT_CASE(context_adopts),
	KUNIT_CASE(endpoint_keeps),
	KUNIT_CASE(adopts_not),
	KUNIT_CASE(endpoint_accepts),
	KUNIT_CASE(answers_once),
	KUNIT_CASE(publishes_what_stands),
	KUNIT_CASE(drain_ends_all),
	KUNIT_CASE(shows_who_is_connected),
	{}
};

static struct kunit_suite home_suite = {
	.name = "kfi_home",
	.test_cases = home_cases,
};
kunit_test_suite(home_suite);
