// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_ntb_mock - simulated NTBs, back to back in one kernel, and a DMA engine in software. Any
 * ntb_client runs on it under KASAN, lockdep and kmemleak, or at the speed of memcpy(). README.md
 * lists its rules and their sources.
 *
 *   main.c  this: the module        end.c     the device for clients    link.c   when it is up
 *   bell.c  doorbells, interrupts   cross.c   accesses through it       io.c     addresses
 *   dma.c   the engine              dma_run.c copies and their faults   post.c   delayed writes
 *   control.c  commands, counters, in debugfs
 */
#include <linux/module.h>
#include <linux/sizes.h>
#include "command.h"
#include "mock.h"

struct nm_bridge nm_bridge[NM_BRIDGES];

unsigned int nm_bridges = 1;
module_param_named(bridges, nm_bridges, uint, 0444);
MODULE_PARM_DESC(bridges, "number of bridges, two devices each (1-4)");

unsigned int nm_windows = 2;
module_param_named(windows, nm_windows, uint, 0444);
MODULE_PARM_DESC(windows, "memory windows of a device (1-4)");

static unsigned int last_mib;
module_param(last_mib, uint, 0444);
MODULE_PARM_DESC(last_mib, "MiB of the last window, a power of two (up to 65536); 0: as the others (default 0)");

unsigned int nm_fewer;
module_param_named(fewer, nm_fewer, uint, 0444);
MODULE_PARM_DESC(fewer, "the first so many bridges do not show their last window (default 0)");

static unsigned int align_kib;
module_param(align_kib, uint, 0444);
MODULE_PARM_DESC(align_kib, "what translated memory has to be aligned to, a power of two; 0: the window's size, as Intel's");

unsigned int nm_vectors = NM_BELLS;
module_param_named(vectors, nm_vectors, uint, 0444);
MODULE_PARM_DESC(vectors, "interrupt vectors of doorbells (1 or 31)");

bool nm_inline;
module_param_named(inline_irqs, nm_inline, bool, 0444);
MODULE_PARM_DESC(inline_irqs, "a doorbell that is rung with interrupts on interrupts there, not some time later: for figures");

bool nm_no_zero;
module_param_named(no_zero, nm_no_zero, bool, 0444);
MODULE_PARM_DESC(no_zero, "a translation of no length is refused, and there is no other call to close a window (Intel's, on Ice Lake)");

bool nm_no_clear;
module_param_named(no_clear, nm_no_clear, bool, 0444);
MODULE_PARM_DESC(no_clear, "a window is closed by a translation of no length alone (most drivers)");

bool nm_same_port;
module_param_named(same_port, nm_same_port, bool, 0444);
MODULE_PARM_DESC(same_port, "both ends are port 0 (Switchtec, EPF)");

unsigned int nm_dma_bells;
module_param_named(dma_bells, nm_dma_bells, uint, 0444);
MODULE_PARM_DESC(dma_bells, "doorbells of the engine: 0: they ring; 1: their data are longer than their register; 2: nothing rings (Switchtec)");

u64 nm_dead_bells;
module_param_named(dead_bells, nm_dead_bells, ullong, 0444);
MODULE_PARM_DESC(dead_bells, "mask of doorbells that never ring");

bool nm_moves;
module_param_named(moves, nm_moves, bool, 0444);
MODULE_PARM_DESC(moves, "with no_close: a window can show other memory of the same length (EPF)");

bool nm_slow_bells;
module_param_named(slow_bells, nm_slow_bells, bool, 0444);
MODULE_PARM_DESC(slow_bells, "ringing may sleep, and rings the lowest bit only (EPF)");

bool nm_no_close;
module_param_named(no_close, nm_no_close, bool, 0444);
MODULE_PARM_DESC(no_close, "a window can't be closed or shortened, and the calls say that it was (EPF)");

bool nm_eio_close;
module_param_named(eio_close, nm_eio_close, bool, 0444);
MODULE_PARM_DESC(eio_close, "with no_zero: the translation of no length closes the window all the same (Ice Lake)");

bool nm_unsafe;
module_param_named(unsafe, nm_unsafe, bool, 0444);
MODULE_PARM_DESC(unsafe, "doorbells must not be used while data move (Xeons before Skylake)");

char *nm_driver_name = "kfi_ntb_mock";
module_param_named(driver, nm_driver_name, charp, 0444);
MODULE_PARM_DESC(driver, "name of the bridges' driver, by which clients know it (default kfi_ntb_mock)");

unsigned int nm_late_ms;
module_param_named(late_event_ms, nm_late_ms, uint, 0444);
MODULE_PARM_DESC(late_event_ms, "a link that came up is reported again so many milliseconds later; 0: never (AMD)");

static unsigned int delay_ms;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "milliseconds of link training; 0: the link is up at once");

static unsigned int narrow_kib;
module_param(narrow_kib, uint, 0444);
MODULE_PARM_DESC(narrow_kib, "KiB that the first window of port 1 has on its own side, if that is less than its size; 0: all (default 0)");

bool nm_pages;
module_param_named(pages, nm_pages, bool, 0444);
MODULE_PARM_DESC(pages, "the first window of each device has struct pages, for what other devices write");

/* One mapping of emulated I/O memory can hold at most four times that. */
const u64 nm_window_size = SZ_4M;
u64 nm_last_size, nm_align, nm_narrow;

static int __init nm_check(void)
{
	nm_last_size = last_mib ? (u64)last_mib * SZ_1M : nm_window_size;
	nm_align = align_kib ? (u64)align_kib * SZ_1K : 0;
	nm_narrow = min((u64)narrow_kib * SZ_1K, nm_window_size);
	if (!nm_bridges || nm_bridges > NM_BRIDGES || !nm_windows || nm_windows > NM_WINDOWS)
		return -EINVAL;
	if (!is_power_of_2(nm_last_size) || nm_last_size < PAGE_SIZE || last_mib > 65536)
		return -EINVAL;
	if (nm_align && (!is_power_of_2(nm_align) || nm_align < PAGE_SIZE))
		return -EINVAL;
	if (nm_fewer && nm_windows == 1)
		return -EINVAL;
	return nm_vectors == 1 || nm_vectors == NM_BELLS ? 0 : -EINVAL;
}

static void nm_bridge_init(struct nm_bridge *bridge, int index)
{
	bridge->index = index;
	bridge->delay_ms = delay_ms;
	nm_link_init(bridge);
	nm_end_init(bridge, 0);
	nm_end_init(bridge, 1);
}

static void nm_bridge_remove(struct nm_bridge *bridge)
{
	nm_end_vanish(&bridge->end[0]);
	nm_end_vanish(&bridge->end[1]);
	nm_link_stop(bridge);
}

static int __init nm_bridge_add(struct nm_bridge *bridge, int index)
{
	int err;

	nm_bridge_init(bridge, index);
	err = nm_end_appear(&bridge->end[0]);
	if (!err)
		err = nm_end_appear(&bridge->end[1]);
	if (err)
		nm_bridge_remove(bridge);
	return err;
}

static int __init nm_add_bridges(void)
{
	int i, err;

	for (i = 0; i < nm_bridges; i++) {
		err = nm_bridge_add(&nm_bridge[i], i);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		nm_bridge_remove(&nm_bridge[i]);
	return err;
}

/* The IOMMU has dropped a mapping: wait for the accesses that may still use it. */
static void nm_accesses_wait(void)
{
	unsigned long flags;
	int i;

	for (i = 0; i < nm_bridges; i++) {
		write_lock_irqsave(&nm_bridge[i].lock, flags);
		write_unlock_irqrestore(&nm_bridge[i].lock, flags);
	}
}

/* kfi_iommu_mock is loaded only by tests that need it. */
static void (**nm_iommu_wait)(void);

static void nm_iommu_join(void)
{
	nm_iommu_wait = symbol_get(kfi_iommu_mock_wait);
	if (nm_iommu_wait)
		WRITE_ONCE(*nm_iommu_wait, nm_accesses_wait);
}

/* No device is left that could map memory. */
static void nm_iommu_leave(void)
{
	if (!nm_iommu_wait)
		return;
	WRITE_ONCE(*nm_iommu_wait, NULL);
	symbol_put(kfi_iommu_mock_wait);
}

static int __init nm_init(void)
{
	int err;

	err = nm_check();
	if (err)
		return err;
	err = nm_io_init();
	if (err)
		return err;
	err = bus_register(&nm_bus);
	if (err)
		goto no_bus;
	nm_iommu_join();
	/* The engine first: clients request a channel when they find a device. */
	err = nm_dma_init();
	if (err)
		goto no_dma;
	err = nm_add_bridges();
	if (err)
		goto no_bridges;
	nm_stats_init();
	return 0;

no_bridges:
	nm_dma_exit();
no_dma:
	nm_iommu_leave();
	bus_unregister(&nm_bus);
no_bus:
	nm_io_exit();
	return err;
}

static void __exit nm_exit(void)
{
	int i;

	nm_stats_exit();
	for (i = 0; i < nm_bridges; i++)
		nm_bridge_remove(&nm_bridge[i]);
	nm_dma_exit();
	nm_iommu_leave();
	bus_unregister(&nm_bus);
	nm_io_exit();
}

module_init(nm_init);
module_exit(nm_exit);
MODULE_DESCRIPTION("NTBs back to back and a DMA engine, in software");
MODULE_LICENSE("GPL");
