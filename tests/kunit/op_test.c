// SPDX-License-Identifier: GPL-2.0
/* Operations: pool entries, generations, and how each kind ends. */
#include "fake.h"
#include "../../kfi/pool.h"

/*
 * The operation is free before the consumer can see its completion. Whoever sleeps for an entry is
 * woken by it, so a function in the place of a sleeper sees what a reader on another CPU may see.
 */
struct sleeper {
	struct wait_queue_entry	wait;
	struct kfi_op_pool	*pool;
	unsigned int		woken;
	unsigned int		used;
};

static int sleeper_woken(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	struct sleeper *s = container_of(wait, struct sleeper, wait);

	s->woken++;
	s->used += kfi_pool_used(s->pool);
	return 0;
}

static void op_freed_first(struct kunit *test)
{
	struct sleeper s = {};
	struct kfi_oper *op;
	struct fake_rig o;
	struct kfi_cq *cq;
	int i;

	fake_rig_open(test, &o, 4, 0);
	cq = kfi_to_cq(o.cq);
	s.pool = &o.fake->ep.tx;
	init_waitqueue_func_entry(&s.wait, sleeper_woken);
	add_wait_queue(&cq->wait, &s.wait);
	for (i = 0; i < 3; i++) {
		op = kfi_op_get(&o.fake->ep, s.pool, o.fake->ep.tx_cq, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op));
		cq->asleep = true;
		kfi_tx_complete(op, i == 2 ? -EIO : 0);
	}
	remove_wait_queue(&cq->wait, &s.wait);
	KUNIT_EXPECT_EQ(test, 3U, s.woken);
	KUNIT_EXPECT_EQ(test, 0U, s.used);
	fake_rig_close(&o);
}

KFI_SUITE(kfi_op,
	KUNIT_CASE(op_freed_first));
