/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modules.h - variants of kfi_bench_verbs and kfi_bench_ntb. Weak symbols: without these modules,
 * and the RDMA core, or the NTBs and DMA engine that they need, kfi_bench has all others.
 */
#ifndef _KFI_BENCH_MODULES_H
#define _KFI_BENCH_MODULES_H

#include "../bench.h"

extern const struct bench_variant bench_rv_pingpong_block __weak;
extern const struct bench_variant bench_rv_pingpong_softirq __weak;
extern const struct bench_variant bench_rv_messages_single __weak;
extern const struct bench_variant bench_rv_messages_chain __weak;
extern const struct bench_variant bench_rv_stream_send __weak;
extern const struct bench_variant bench_rv_stream_write __weak;
extern const struct bench_variant bench_rv_write_8 __weak;
extern const struct bench_variant bench_rv_write_4k __weak;

extern const struct bench_variant bench_window_blocks_4k __weak;
extern const struct bench_variant bench_window_blocks __weak;
extern const struct bench_variant bench_window_placed __weak;
extern const struct bench_variant bench_window_long __weak;
extern const struct bench_variant bench_nt_roundtrip __weak;
extern const struct bench_variant bench_nt_messages_64 __weak;

#endif /* _KFI_BENCH_MODULES_H */
