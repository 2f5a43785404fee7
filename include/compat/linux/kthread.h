/* SPDX-License-Identifier: GPL-2.0 */
/* kthread_run_worker() came with 6.14. Before, kthread_create_worker() also started the worker. */
#ifndef _KFI_COMPAT_LINUX_KTHREAD_H
#define _KFI_COMPAT_LINUX_KTHREAD_H

#include_next <linux/kthread.h>

#ifndef KFI_HAVE_KTHREAD_RUN_WORKER
#define kthread_run_worker(flags, ...)	kthread_create_worker(flags, __VA_ARGS__)
#endif

#endif
