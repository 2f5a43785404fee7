/* SPDX-License-Identifier: GPL-2.0 */
/*
 * measure.h - running the variants of a case in turns.
 */
#ifndef _KFI_BENCH_MEASURE_H
#define _KFI_BENCH_MEASURE_H

#include <linux/seq_file.h>
#include "bench.h"

#define BENCH_VARIANTS	12

/** struct bench_text - what a measurement has to say */
struct bench_text {
	char	*buf;
	size_t	len;
	size_t	size;
};

/**
 * struct bench_case - variants that are compared; @variant ends with NULL. Without any: the module
 * of its limit is not loaded
 */
struct bench_case {
	const char			*name;
	const struct bench_variant	*variant[BENCH_VARIANTS + 1];
};

extern const struct bench_case bench_cases[];	/* cases.c; ends without a name */

int bench_measure(struct bench_env *env, const char *name, u32 rounds, u32 ms,
		  struct bench_text *text);
void bench_list(struct seq_file *seq);

#endif /* _KFI_BENCH_MEASURE_H */
