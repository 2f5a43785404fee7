/* SPDX-License-Identifier: GPL-2.0 */
/* hrtimer_setup() came with 6.13. */
#ifndef _KFI_COMPAT_LINUX_HRTIMER_H
#define _KFI_COMPAT_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

#ifndef KFI_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

#endif
