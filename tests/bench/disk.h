/* SPDX-License-Identifier: GPL-2.0 */
/*
 * disk.h - loads on disks, see disk.c.
 */
#ifndef _KFI_BENCH_DISK_H
#define _KFI_BENCH_DISK_H

#include <linux/sizes.h>
#include "bench.h"

#define KB_DISK_SPAN	SZ_4M	/* of a disk: that much of it is used */

/* bench_variant.arg */
enum {
	KB_DISK_WRITE	= 1,
	KB_DISK_RANDOM	= 2,
	KB_DISK_BLANK	= 4,	/* what is written is gone */
};

void *kb_disk_open(struct bench_env *env, const struct bench_variant *v);
s64 kb_disk_run(void *priv, u32 ops);
s64 kb_disk_cpu(void *priv);
void kb_disk_close(void *priv);

/* @_disk: NAME of /dev/bench/NAME, and of the variant */
#define KB_DISK(_disk, _arg, _size, _depth)	(&(const struct bench_variant) {	\
		.name	= _disk,							\
		.open	= kb_disk_open,							\
		.run	= kb_disk_run,							\
		.cpu	= kb_disk_cpu,							\
		.close	= kb_disk_close,						\
		.arg	= _arg,								\
		.size	= _size,							\
		.depth	= _depth,							\
	})

#endif /* _KFI_BENCH_DISK_H */
