/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modules.h - variants of kfi_bench_ntb. Weak symbols: without this module, and the NTBs and DMA
 * engine that it needs, kfi_bench has all others.
 */
#ifndef _KFI_BENCH_MODULES_H
#define _KFI_BENCH_MODULES_H

#include "../bench.h"

extern const struct bench_variant bench_window_blocks_4k __weak;
extern const struct bench_variant bench_window_blocks __weak;
extern const struct bench_variant bench_window_placed __weak;
extern const struct bench_variant bench_window_long __weak;
extern const struct bench_variant bench_nt_roundtrip __weak;
extern const struct bench_variant bench_nt_messages_64 __weak;

#endif /* _KFI_BENCH_MODULES_H */
