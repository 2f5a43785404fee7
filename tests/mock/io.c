// SPDX-License-Identifier: GPL-2.0
/*
 * io.c - addresses of windows and registers: a range of physical addresses without memory. The last
 * windows of all ends come first, because they may be larger, then the other windows, each aligned
 * to its size, then a page of registers for each end.
 *
 * The kernel's emulation of I/O memory (lib/logic_iomem.c) calls this file for accesses of the CPU.
 * A range can't be unregistered. So the description of the range is allocated and never freed: at
 * unload its end is set before its beginning, so that no address is found in it and its operations
 * are never called.
 */
#include <linux/ioport.h>
#include <linux/logic_iomem.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "mock.h"

/* maximum of a mapping: a longer one would overlap the addresses of the next */
#define NM_MAP_MAX	SZ_16M

static struct resource *nm_range;

static unsigned int nm_end_number(const struct nm_end *end)
{
	return 2 * end->bridge->index + end->port;
}

static u64 nm_last_len(void)
{
	return 2 * nm_bridges * nm_last_size;
}

static u64 nm_windows_len(void)
{
	return nm_last_len() + 2 * nm_bridges * (nm_windows - 1) * nm_window_size;
}

phys_addr_t nm_window_addr(const struct nm_end *end, int window)
{
	if (window == nm_windows - 1)
		return nm_range->start + nm_end_number(end) * nm_last_size;
	return nm_range->start + nm_last_len() +
	       (nm_end_number(end) * (nm_windows - 1) + window) * nm_window_size;
}

phys_addr_t nm_regs_addr(const struct nm_end *end)
{
	return nm_range->start + nm_windows_len() + nm_end_number(end) * PAGE_SIZE;
}

static struct nm_end *nm_end_of(unsigned int number)
{
	return &nm_bridge[number / 2].end[number % 2];
}

static void nm_locate(u64 offset, struct nm_place *place)
{
	u64 n;

	if (offset < nm_last_len()) {
		place->end = nm_end_of(offset / nm_last_size);
		place->window = nm_windows - 1;
		place->at = offset % nm_last_size;
		place->room = nm_last_size - place->at;
	} else if (offset < nm_windows_len()) {
		n = (offset - nm_last_len()) / nm_window_size;
		place->end = nm_end_of(n / (nm_windows - 1));
		place->window = n % (nm_windows - 1);
		place->at = offset % nm_window_size;
		place->room = nm_window_size - place->at;
	} else {
		offset -= nm_windows_len();
		place->end = nm_end_of(offset / PAGE_SIZE);
		place->window = -1;
		place->at = offset % PAGE_SIZE;
		place->room = PAGE_SIZE - place->at;
	}
	place->life = READ_ONCE(place->end->bridge->life);
}

bool nm_find(phys_addr_t addr, struct nm_place *place)
{
	if (addr < nm_range->start || addr > nm_range->end)
		return false;
	nm_locate(addr - nm_range->start, place);
	return true;
}

/*
 * The private word of a mapping is the offset of its first byte in the range: that of a page of
 * registers, or a multiple of NM_MAP_MAX in a window.
 */
static bool nm_io_place(void *priv, unsigned int offset, size_t len, struct nm_place *place)
{
	nm_locate((unsigned long)priv, place);
	if (len > place->room || offset > place->room - len)
		return false;
	place->at += offset;
	return true;
}

static unsigned long nm_io_read(void *priv, unsigned int offset, int size)
{
	unsigned long value = ~0UL;
	struct nm_place place;

	if (nm_io_place(priv, offset, size, &place))
		nm_read(&place, &value, size, false);
	return value;
}

static void nm_io_write(void *priv, unsigned int offset, int size, unsigned long value)
{
	struct nm_place place;

	if (nm_io_place(priv, offset, size, &place))
		nm_write(&place, &value, size, false);
}

static void nm_io_copy_from(void *priv, void *buffer, unsigned int offset, int size)
{
	struct nm_place place;

	if (nm_io_place(priv, offset, size, &place))
		nm_read(&place, buffer, size, false);
	else
		memset(buffer, 0xff, size);
}

static void nm_io_copy_to(void *priv, unsigned int offset, const void *buffer, int size)
{
	struct nm_place place;

	if (nm_io_place(priv, offset, size, &place))
		nm_write(&place, buffer, size, false);
}

static const struct logic_iomem_ops nm_io_ops = {
	.read = nm_io_read,
	.write = nm_io_write,
	.copy_from = nm_io_copy_from,
	.copy_to = nm_io_copy_to,
};

/* A mapping covers one window or the registers of one end. */
static long nm_io_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
		      void **priv)
{
	struct nm_place place;
	u64 at;

	nm_locate(offset, &place);
	at = place.at % NM_MAP_MAX;
	if (size > place.room || at + size > NM_MAP_MAX)
		return -EINVAL;
	*ops = &nm_io_ops;
	*priv = (void *)(offset - (unsigned long)at);
	return at;
}

static const struct logic_iomem_region_ops nm_io_region = { .map = nm_io_map };

int nm_io_init(void)
{
	u64 len = nm_windows_len() + 2 * nm_bridges * PAGE_SIZE;
	struct resource *range = kzalloc(sizeof(*range), GFP_KERNEL);
	int err;

	if (!range)
		return -ENOMEM;
	range->name = "kfi_ntb_mock";
	range->flags = IORESOURCE_MEM;
	/* Find a free range; logic_iomem requests it again. */
	err = allocate_resource(&iomem_resource, range, len, SZ_4G, -1ULL,
				max3(nm_window_size, nm_last_size, (u64)SZ_16M), NULL, NULL);
	if (!err) {
		release_resource(range);
		err = logic_iomem_add_region(range, &nm_io_region);
	}
	if (err) {
		kfree(range);
		return err;
	}
	nm_range = range;
	return 0;
}

/* All clients, and their mappings, are gone. */
void nm_io_exit(void)
{
	release_resource(nm_range);
	nm_range->name = NULL;
	nm_range->start = 1;
	nm_range->end = 0;
}
