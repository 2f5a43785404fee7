/* SPDX-License-Identifier: GPL-2.0 */
/* WQ_PERCPU: said explicitly since 6.17; before, a queue was bound unless it was WQ_UNBOUND. */
#ifndef _KFI_COMPAT_LINUX_WORKQUEUE_H
#define _KFI_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define WQ_PERCPU	0
#endif

#endif
