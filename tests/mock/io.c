// SPDX-License-Identifier: GPL-2.0
/*
 * io.c - addresses of windows and registers: a range of physical addresses without memory. The last
 * windows of all ends come first, because they may be larger, then the other windows, each aligned
 * to its size, then a page of registers for each end.
 *
 * The kernel's emulation of I/O memory (lib/logic_iomem.c) calls this file for accesses of the CPU.
 * With pages=1 the first window of each end has another address: that of memory with struct pages,
 * which nobody accesses. An address there stands for that of the window in the range.
 *
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
static struct resource *nm_paged;		/* all of @nm_ram, and what is between them */
static struct page *nm_ram[2 * NM_BRIDGES];	/* by end: its first window */

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

static phys_addr_t nm_range_addr(const struct nm_end *end, int window)
{
	if (window == nm_windows - 1)
		return nm_range->start + nm_end_number(end) * nm_last_size;
	return nm_range->start + nm_last_len() +
	       (nm_end_number(end) * (nm_windows - 1) + window) * nm_window_size;
}

phys_addr_t nm_window_addr(const struct nm_end *end, int window)
{
	struct page *ram = window ? NULL : nm_ram[nm_end_number(end)];

	return ram ? page_to_phys(ram) : nm_range_addr(end, window);
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

/* Return the address in the range that an address stands for. */
static phys_addr_t nm_in_range(phys_addr_t addr)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nm_ram); i++)
		if (nm_ram[i] && addr - page_to_phys(nm_ram[i]) < nm_window_size)
			return nm_range_addr(nm_end_of(i), 0) + addr - page_to_phys(nm_ram[i]);
	return addr;
}

bool nm_find(phys_addr_t addr, struct nm_place *place)
{
	addr = nm_in_range(addr);
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

/* The same for an address with pages. */
static long nm_paged_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
			 void **priv)
{
	phys_addr_t addr = nm_in_range(nm_paged->start + offset);

	if (addr == nm_paged->start + offset)
		return -EINVAL;		/* memory of somebody else */
	return nm_io_map(addr - nm_range->start, size, ops, priv);
}

static const struct logic_iomem_region_ops nm_paged_region = { .map = nm_paged_map };

static struct resource *nm_describe(void)
{
	struct resource *range = kzalloc(sizeof(*range), GFP_KERNEL);

	if (range) {
		range->name = "kfi_ntb_mock";
		range->flags = IORESOURCE_MEM;
	}
	return range;
}

static void nm_forget(struct resource *range)
{
	release_resource(range);
	range->name = NULL;
	range->start = 1;
	range->end = 0;
}

static void nm_ram_free(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nm_ram); i++) {
		if (nm_ram[i])
			__free_pages(nm_ram[i], get_order(nm_window_size));
		nm_ram[i] = NULL;
	}
}

static int nm_ram_alloc(void)
{
	phys_addr_t first = -1ULL, last = 0, addr;
	struct resource *range;
	int i, err = -ENOMEM;

	range = nm_describe();
	if (!range)
		return err;
	for (i = 0; i < 2 * nm_bridges; i++) {
		nm_ram[i] = alloc_pages(GFP_KERNEL | __GFP_NOWARN, get_order(nm_window_size));
		if (!nm_ram[i])
			goto free;
		addr = page_to_phys(nm_ram[i]);
		first = min(first, addr);
		last = max(last, addr + nm_window_size - 1);
	}
	range->start = first;
	range->end = last;
	err = logic_iomem_add_region(range, &nm_paged_region);
	nm_paged = range;
	if (!err)
		return 0;
free:
	nm_ram_free();
	kfree(range);
	return err;
}

int nm_io_init(void)
{
	u64 len = nm_windows_len() + 2 * nm_bridges * PAGE_SIZE;
	struct resource *range = nm_describe();
	int err;

	if (!range)
		return -ENOMEM;
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
	err = nm_pages ? nm_ram_alloc() : 0;
	if (err)
		nm_forget(range);
	return err;
}

/* All clients, and their mappings, are gone. */
void nm_io_exit(void)
{
	if (nm_paged)
		nm_forget(nm_paged);
	nm_ram_free();
	nm_forget(nm_range);
}
