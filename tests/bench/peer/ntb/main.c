// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench_ntb - ntb_transport and a DMA engine inside the kernel, measured by kfi_bench. It uses
 * nothing of kfabric.
 */
#include <linux/module.h>
#include "nb.h"

EXPORT_SYMBOL_GPL(bench_dma_8);
EXPORT_SYMBOL_GPL(bench_dma_64);
EXPORT_SYMBOL_GPL(bench_dma_4k);
EXPORT_SYMBOL_GPL(bench_dma_64k);
EXPORT_SYMBOL_GPL(bench_window_8);
EXPORT_SYMBOL_GPL(bench_window_4k);
EXPORT_SYMBOL_GPL(bench_window_64k);
EXPORT_SYMBOL_GPL(bench_window_blocks_4k);
EXPORT_SYMBOL_GPL(bench_window_blocks);
EXPORT_SYMBOL_GPL(bench_window_placed);
EXPORT_SYMBOL_GPL(bench_window_placed_long);
EXPORT_SYMBOL_GPL(bench_window_long);
EXPORT_SYMBOL_GPL(bench_nt_roundtrip);
EXPORT_SYMBOL_GPL(bench_nt_messages_64);
EXPORT_SYMBOL_GPL(bench_nt_messages_4k);

static int __init nb_init(void)
{
	int err = nb_transport_init();

	if (err)
		return err;
	err = nb_window_init();
	if (err)
		nb_transport_exit();
	return err;
}

static void __exit nb_exit(void)
{
	nb_window_exit();
	nb_transport_exit();
}

module_init(nb_init);
module_exit(nb_exit);
MODULE_DESCRIPTION("ntb_transport and a DMA engine, beside kfabric's benchmarks");
MODULE_LICENSE("GPL");
