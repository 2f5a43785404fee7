/* SPDX-License-Identifier: GPL-2.0 */
/*
 * queue.h - helpers shared by completion queues, event queues and counters
 */
#ifndef _KFI_QUEUE_H
#define _KFI_QUEUE_H

#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <kfi_eq.h>

/* kfi_queue_wait_obj() - check the wait object of an attribute; return 0 or -EOPNOTSUPP */
static inline int kfi_queue_wait_obj(enum kfi_wait_obj obj)
{
	switch (obj) {
	case KFI_WAIT_NONE:
	case KFI_WAIT_UNSPEC:
	case KFI_WAIT_YIELD:
	case KFI_WAIT_QUEUE:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * kfi_queue_cpu() - return the CPU for callbacks, WORK_CPU_UNBOUND for any, or -EINVAL if @vector
 * is no possible CPU
 */
static inline int kfi_queue_cpu(u64 flags, int vector)
{
	if (!(flags & KFI_AFFINITY))
		return WORK_CPU_UNBOUND;
	if (vector < 0 || vector >= nr_cpu_ids || !cpu_possible(vector))
		return -EINVAL;
	return vector;
}

/*
 * kfi_queue_timeout() - convert milliseconds of the API to jiffies; a negative value means no
 * timeout
 */
static inline long kfi_queue_timeout(int ms)
{
	return ms < 0 ? MAX_SCHEDULE_TIMEOUT : msecs_to_jiffies(ms);
}

/*
 * kfi_queue_sleep_state() - a task waits killable; a kernel thread waits without adding to the load
 * average
 */
static inline unsigned int kfi_queue_sleep_state(void)
{
	return current->flags & PF_KTHREAD ? TASK_IDLE : TASK_KILLABLE;
}

/* kfi_queue_killed() - return true if a fatal signal must end the wait */
static inline bool kfi_queue_killed(unsigned int state)
{
	return state == TASK_KILLABLE && fatal_signal_pending(current);
}

/* kfi_callback_work() - queue the work item that runs the callbacks of a queue (cq_run.c) */
void kfi_callback_work(int cpu, struct work_struct *work);

#endif /* _KFI_QUEUE_H */
