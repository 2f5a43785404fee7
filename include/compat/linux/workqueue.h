/* SPDX-License-Identifier: GPL-2.0 */
/* WQ_PERCPU came with 6.17. Before, every workqueue without WQ_UNBOUND is bound to CPUs. */
#ifndef _KFI_COMPAT_LINUX_WORKQUEUE_H
#define _KFI_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define WQ_PERCPU	0
#endif

#endif
