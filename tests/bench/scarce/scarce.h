/* SPDX-License-Identifier: GPL-2.0 */
/* scarce.h - functions of kfi_bench_scarce.ko: a weak symbol, as in ../peer/modules.h */
#ifndef _KFI_BENCH_SCARCE_H
#define _KFI_BENCH_SCARCE_H

#include <linux/types.h>

/**
 * struct bench_scarce - functions
 * @read: read bytes of the server's memory, as another program does. May sleep
 * @crossed: bytes that have crossed the server's memory so far
 */
struct bench_scarce {
	void	(*read)(size_t len);
	u64	(*crossed)(void);
};

extern const struct bench_scarce bench_scarce __weak;

#endif /* _KFI_BENCH_SCARCE_H */
