/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h - time that bytes take at a resource of limited speed, such as a bus or a disk. Bytes of
 * all users pass one after the other, in the order in which the users ask.
 */
#ifndef KFI_NTB_MOCK_BUDGET_H
#define KFI_NTB_MOCK_BUDGET_H

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

/*
 * A user asks for its next bytes when a timer has told it that the last ones have passed, and
 * timers are late. A resource that was idle for no longer than this has not lost the time.
 */
#define NM_BUDGET_LATE_NS	NSEC_PER_MSEC
#define NM_BUDGET_PIECE_US	100

struct nm_budget {
	spinlock_t	lock;
	u32		mbs;	/* millions of bytes per second; 0: no limit. READ_ONCE */
	/* when all bytes have passed that users have asked for. Under @lock */
	ktime_t		end;
};

static inline void nm_budget_init(struct nm_budget *budget, u32 mbs)
{
	spin_lock_init(&budget->lock);
	budget->mbs = mbs;
	budget->end = 0;
}

/*
 * Bytes that users should ask for at a time: each user gets as many in its turn, however long its
 * transfer is.
 */
static inline size_t nm_budget_piece(u32 mbs)
{
	return mbs ? round_up((u64)mbs * NM_BUDGET_PIECE_US, SZ_4K) : SZ_1G;
}

/* Return when these bytes have passed, which may be in the past. Any context. */
static inline ktime_t nm_budget_take(struct nm_budget *budget, size_t bytes)
{
	u32 mbs = READ_ONCE(budget->mbs);
	ktime_t end, idle;
	unsigned long flags;

	if (!mbs)
		return 0;
	spin_lock_irqsave(&budget->lock, flags);
	idle = ktime_sub_ns(ktime_get(), NM_BUDGET_LATE_NS);
	end = ktime_compare(budget->end, idle) > 0 ? budget->end : idle;
	end = ktime_add_ns(end, div_u64((u64)bytes * 1000, mbs));
	budget->end = end;
	spin_unlock_irqrestore(&budget->lock, flags);
	return end;
}

/* Process context */
static inline void nm_budget_wait(ktime_t end)
{
	while (ktime_compare(end, ktime_get()) > 0) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&end, HRTIMER_MODE_ABS);
	}
}

#endif
