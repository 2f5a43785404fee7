/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far_runs.h - changes of a piece of memory since the other machine has seen it last, in both
 * directions.
 *
 * Both sides have a twin of each window: the contents that both know. A change is a difference
 * between memory and twin.
 */
#ifndef KFI_CONFORMANCE_FAR_RUNS_H
#define KFI_CONFORMANCE_FAR_RUNS_H

#include "far_buf.h"

/*
 * Encode the differences between @mem and @twin from @lo to @hi, and make the twin equal. Return:
 * number of runs
 */
u32 far_runs_put(struct far_buf *b, const u8 *mem, u8 *twin, size_t lo, size_t hi);
/* Apply @n runs to memory and twin, which have @size bytes. Return: false if one is invalid. */
bool far_runs_get(struct far_buf *b, u32 n, u8 *mem, u8 *twin, size_t size);

#endif /* KFI_CONFORMANCE_FAR_RUNS_H */
