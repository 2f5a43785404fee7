// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench_verbs - raw verbs inside the kernel, measured by kfi_bench beside kfabric. It uses
 * nothing of kfabric.
 */
#include <linux/module.h>
#include "../verbs.h"

EXPORT_SYMBOL_GPL(bench_rv_pingpong_block);
EXPORT_SYMBOL_GPL(bench_rv_pingpong_softirq);
EXPORT_SYMBOL_GPL(bench_rv_pingpong_longer);
EXPORT_SYMBOL_GPL(bench_rv_pingpong_poll);
EXPORT_SYMBOL_GPL(bench_rv_messages_single);
EXPORT_SYMBOL_GPL(bench_rv_messages_chain);
EXPORT_SYMBOL_GPL(bench_rv_messages_longer);
EXPORT_SYMBOL_GPL(bench_rv_stream_send);
EXPORT_SYMBOL_GPL(bench_rv_stream_write);
EXPORT_SYMBOL_GPL(bench_rv_write_8);
EXPORT_SYMBOL_GPL(bench_rv_write_4k);

MODULE_DESCRIPTION("raw in-kernel verbs, the limit for kfabric's benchmarks");
MODULE_LICENSE("GPL");
