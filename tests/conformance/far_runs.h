/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far_runs.h - what has changed in a piece of memory since the other machine saw it last, both ways.
 *
 * Both ends hold a twin of each window: what they both know it to be. A change is where memory and twin differ.
 */
#ifndef KFI_CONFORMANCE_FAR_RUNS_H
#define KFI_CONFORMANCE_FAR_RUNS_H

#include "far_buf.h"

/* Add what differs between @mem and @twin from @lo to @hi, and make the twin equal. How many runs? */
u32 far_runs_put(struct far_buf *b, const u8 *mem, u8 *twin, size_t lo, size_t hi);
/* Apply @n runs to both, which have @size bytes. False: there is nonsense among them. */
bool far_runs_get(struct far_buf *b, u32 n, u8 *mem, u8 *twin, size_t size);

#endif /* KFI_CONFORMANCE_FAR_RUNS_H */
