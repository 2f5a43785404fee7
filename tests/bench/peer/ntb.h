/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb.h - what kfi_bench_ntb can measure. Weak: without that module, and the NTBs and the DMA
 * engine that it needs (../../mock), kfi_bench has everything else.
 */
#ifndef _KFI_BENCH_NTB_H
#define _KFI_BENCH_NTB_H

#include "../bench.h"

extern const struct bench_variant bench_dma_8 __weak;
extern const struct bench_variant bench_dma_64 __weak;
extern const struct bench_variant bench_dma_4k __weak;
extern const struct bench_variant bench_dma_64k __weak;
extern const struct bench_variant bench_window_8 __weak;
extern const struct bench_variant bench_window_4k __weak;
extern const struct bench_variant bench_window_64k __weak;
extern const struct bench_variant bench_window_blocks_4k __weak;
extern const struct bench_variant bench_window_blocks __weak;
extern const struct bench_variant bench_window_placed __weak;
extern const struct bench_variant bench_window_placed_long __weak;
extern const struct bench_variant bench_window_long __weak;
extern const struct bench_variant bench_nt_roundtrip __weak;
extern const struct bench_variant bench_nt_messages_64 __weak;
extern const struct bench_variant bench_nt_messages_4k __weak;

#endif /* _KFI_BENCH_NTB_H */
