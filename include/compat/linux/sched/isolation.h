/* SPDX-License-Identifier: GPL-2.0 */
/* cpu_is_isolated() came with 6.4, and with later stable releases of 6.1. */
#ifndef _KFI_COMPAT_LINUX_SCHED_ISOLATION_H
#define _KFI_COMPAT_LINUX_SCHED_ISOLATION_H

#include_next <linux/sched/isolation.h>

#ifndef KFI_HAVE_CPU_IS_ISOLATED
static inline bool cpu_is_isolated(int cpu)
{
	return false;	/* blk-mq of such a kernel uses an isolated CPU as any other */
}
#endif

#endif
