/* SPDX-License-Identifier: GPL-2.0 */
/* kthread_run_worker() came with 6.14. Before, kthread_create_worker() also started the worker. */
#ifndef _KFI_COMPAT_LINUX_KTHREAD_H
#define _KFI_COMPAT_LINUX_KTHREAD_H

#include_next <linux/kthread.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define kthread_run_worker(flags, ...)	kthread_create_worker(flags, __VA_ARGS__)
#endif

#endif
