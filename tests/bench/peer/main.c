// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench_tcp - raw TCP inside the kernel, measured by kfi_bench beside kfabric. It uses nothing
 * of kfabric.
 */
#include <linux/module.h>
#include "raw.h"
#include "../mem.h"

EXPORT_SYMBOL_GPL(bench_clock);
EXPORT_SYMBOL_GPL(bench_clock_wall);
EXPORT_SYMBOL_GPL(bench_mem_alloc);
EXPORT_SYMBOL_GPL(bench_mem_free);
EXPORT_SYMBOL_GPL(bench_mem_stamp);
EXPORT_SYMBOL_GPL(bench_mem_check);
EXPORT_SYMBOL_GPL(bench_tcp_pingpong_block);
EXPORT_SYMBOL_GPL(bench_tcp_pingpong_softirq);
EXPORT_SYMBOL_GPL(bench_tcp_stream_copy);
EXPORT_SYMBOL_GPL(bench_tcp_stream_copy_block);
EXPORT_SYMBOL_GPL(bench_tcp_stream_splice);
EXPORT_SYMBOL_GPL(bench_tcp_messages_single);
EXPORT_SYMBOL_GPL(bench_tcp_messages_batch);
EXPORT_SYMBOL_GPL(bench_tcp_many_1);
EXPORT_SYMBOL_GPL(bench_tcp_many_16);
EXPORT_SYMBOL_GPL(bench_tcp_many_64);
EXPORT_SYMBOL_GPL(bench_tcp_many_256);

static int __init bench_tcp_init(void)
{
	bench_clock_open();
	return 0;
}

static void __exit bench_tcp_exit(void)
{
	bench_clock_close();
}

module_init(bench_tcp_init);
module_exit(bench_tcp_exit);
MODULE_DESCRIPTION("raw in-kernel TCP, the limit for kfabric's benchmarks");
MODULE_LICENSE("GPL");
