/* SPDX-License-Identifier: GPL-2.0 */
/*
 * WQ_PERCPU came with 6.17. Before, every workqueue without WQ_UNBOUND is bound to CPUs.
 *
 * Work items that run in softirq (system_bh_wq) came with 6.9, and disable_work_sync() with 6.10.
 * Before, such a work item is a tasklet; a user includes <linux/interrupt.h> for it, because this
 * header can't: that one includes it. queue_bh_work() is called in any context, hard interrupts
 * too. While the work item is disabled, queue_bh_work() may have no effect.
 */
#ifndef _KFI_COMPAT_LINUX_WORKQUEUE_H
#define _KFI_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

#ifndef KFI_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#ifndef KFI_HAVE_BH_WORK
#define bh_work_struct		tasklet_struct
#define INIT_BH_WORK(work, fn)	tasklet_setup(work, fn)
#define queue_bh_work(work)	tasklet_schedule(work)
#define cancel_bh_work_sync(work)	tasklet_kill(work)
#define disable_bh_work_sync(work)	tasklet_disable(work)
#define enable_bh_work(work)	tasklet_enable(work)
#else
#define bh_work_struct		work_struct
#define INIT_BH_WORK(work, fn)	INIT_WORK(work, fn)
#define queue_bh_work(work)	queue_work(system_bh_wq, work)
#define cancel_bh_work_sync(work)	cancel_work_sync(work)
#define disable_bh_work_sync(work)	disable_work_sync(work)
#define enable_bh_work(work)	enable_work(work)
#endif

#endif
