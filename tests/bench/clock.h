/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the clock of all measurements, see peer/clock.c.
 */
#ifndef _KFI_BENCH_CLOCK_H
#define _KFI_BENCH_CLOCK_H

#include <linux/types.h>

extern bool bench_clock_wall;	/* the plain clock, to compare with what runs in user space */

u64 bench_clock(void);
void bench_clock_open(void);
void bench_clock_close(void);

#endif /* _KFI_BENCH_CLOCK_H */
