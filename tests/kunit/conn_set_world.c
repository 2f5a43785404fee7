// SPDX-License-Identifier: GPL-2.0
/* The provider without a network, see conn_set_world.h. */
#include <linux/slab.h>
#include "conn_set_world.h"

unsigned int hw_backlog;

/* ---- operations of the provider ---- */

static void hw_get(struct kfi_peer_conn *pc)
{
	refcount_inc(&to_hw_conn(pc)->ref);
}

void hw_put(struct kfi_peer_conn *pc)
{
	struct hw_conn *conn = to_hw_conn(pc);

	if (!refcount_dec_and_test(&conn->ref))
		return;
	atomic_dec(&conn->w->nr_conns);
	kfree(conn);
}

void hw_fail(struct kfi_peer_conn *pc, int err)
{
	struct hw_conn *conn = to_hw_conn(pc);

	atomic_inc(&conn->fails);
	if (test_and_set_bit(0, &conn->failed))
		return;
	conn->err = err;
	hw_get(pc);
	queue_work(conn->w->wq, &conn->down);
}

bool hw_failed(const struct kfi_peer_conn *pc)
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
	if (conn->w->hold)
		wait_for_completion(conn->w->hold);
	if (conn->pc.conn_set != set || conn->moved != moved)
		atomic_inc(&conn->w->odd);
	if (test_and_set_bit(1, &conn->failed))
		atomic_inc(&conn->w->twice);
	atomic_inc(&conn->w->ended);
	kfi_conn_set_remove(&conn->pc);
	hw_put(&conn->pc);	/* the reference of the work item */
}

/* ---- the world ---- */

struct hw_ep *hw_ep(struct hw *w, size_t fclass)
{
	struct hw_ep *he = kzalloc(sizeof(*he), GFP_KERNEL);

	if (!he)
		return NULL;
	he->ep.fid.fid.fclass = fclass;
	xa_init(&he->ep.rx_ctxs);
	kfi_conn_set_init(&he->conn_set, &he->ep, &hw_ops, w->wq);
	return he;
}

void hw_ep_stop(struct hw_ep *he, int err)
{
	kfi_conn_set_stop(&he->conn_set, err);
	kfi_conn_set_drain(&he->conn_set);
}

void hw_ep_free(struct hw_ep *he)
{
	xa_destroy(&he->ep.rx_ctxs);
	kfree(he);
}

struct hw *hw_open(struct kunit *test)
{
	struct hw *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	hw_backlog = 2;
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
	kfi_conn_set_init(&w->listener, NULL, &hw_ops, w->wq);
	return w;
}

void hw_set_is_empty(struct hw *w, struct kfi_conn_set *set)
{
	KUNIT_EXPECT_EQ(w->test, 0u, set->nr_pending);
	KUNIT_EXPECT_TRUE(w->test, list_empty(&set->conns));
	KUNIT_EXPECT_NULL(w->test, rcu_access_pointer(set->conn));
}

void hw_close(struct hw *w)
{
	struct hw_ep *all[] = { w->top, w->ctx[0], w->ctx[1], w->ep };
	int i;

	kfi_conn_set_stop(&w->listener, -ECONNREFUSED);
	kfi_conn_set_drain(&w->listener);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		hw_ep_stop(all[i], -ECANCELED);
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

struct hw_conn *hw_conn(struct hw *w, bool dialed)
{
	struct hw_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->w = w;
	conn->pc.dialed = dialed;
	refcount_set(&conn->ref, 1);
	INIT_WORK(&conn->down, hw_down);
	atomic_inc(&w->nr_conns);
	return conn;
}
