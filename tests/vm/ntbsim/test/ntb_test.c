// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "unit.h"
#include "world.h"

static struct bed bed;
static struct device *a, *b;

static void begin(void)
{
	bed_make(&bed);
	a = &bed.world.ntb[0][0].dev;
	b = &bed.world.ntb[0][1].dev;
}

static unsigned int all_events(unsigned int side)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < NTB_MSIX_VECTORS; i++)
		n += events(bed.event[side][i]);
	return n;
}

static void test_doorbell(unsigned int bit)
{
	uint64_t at = NTB_IM_DOORBELL + 4 * bit, mask = 1ull << bit;

	reg_write(a, 0, at, 1, 4);
	WANT(reg_read(b, 0, NTB_IM_STATUS, 8) == mask && !reg_read(a, 0, NTB_IM_STATUS, 8));
	/* "The vectors at reset is 1-32,0" */
	WANT(events(bed.event[1][bit + 1]) == 1 && !all_events(1));
	reg_write(a, 0, at, 1, 4);
	WANT(!all_events(1));
	reg_write(b, 0, NTB_IM_STATUS, ~mask, 8);
	WANT(reg_read(b, 0, NTB_IM_STATUS, 8) == mask);
	reg_write(b, 0, NTB_IM_STATUS, mask, 8);
	WANT(!reg_read(b, 0, NTB_IM_STATUS, 8));
	reg_write(b, 0, NTB_IM_MASK, mask, 8);
	reg_write(a, 0, at, 1, 4);
	WANT(!all_events(1) && reg_read(b, 0, NTB_IM_STATUS, 8) == mask);
	reg_write(b, 0, NTB_IM_MASK, 0, 8);
	WANT(events(bed.event[1][bit + 1]) == 1 && !all_events(1));
	reg_write(b, 0, NTB_IM_STATUS, mask, 8);
	/* only ones ring, and only their own bits */
	reg_write(a, 0, at, 2, 4);
	WANT(!reg_read(b, 0, NTB_IM_STATUS, 8) && !all_events(1));
}

static void test_vectors(void)
{
	reg_write(b, 0, NTB_VECTORS + 3, 7, 1);
	reg_write(a, 0, NTB_IM_DOORBELL + 12, 1, 4);
	WANT(events(bed.event[1][7]) == 1 && !all_events(1));
	reg_write(b, 0, NTB_IM_STATUS, 8, 8);
	/* an invalid vector */
	reg_write(b, 0, NTB_VECTORS + 3, 200, 1);
	reg_write(a, 0, NTB_IM_DOORBELL + 12, 1, 4);
	WANT(!all_events(1) && counted(&b->counters, COUNT_interrupts_moot) == 1);
	reg_write(b, 0, NTB_IM_STATUS, 8, 8);
}

static void test_scratchpads(void)
{
	for (unsigned int i = 0; i < NTB_SPADS; i++) {
		reg_write(a, 0, NTB_B2B_SPAD + 4 * i, 0x100 + i, 4);
		reg_write(b, 0, NTB_B2B_SPAD + 4 * i, 0x200 + i, 4);
	}
	for (unsigned int i = 0; i < NTB_SPADS; i++) {
		WANT(reg_read(b, 0, NTB_IM_SPAD + 4 * i, 4) == 0x100 + i);
		WANT(reg_read(a, 0, NTB_IM_SPAD + 4 * i, 4) == 0x200 + i);
		WANT(reg_read(a, 0, NTB_B2B_SPAD + 4 * i, 4) == 0x100 + i);
	}
	WANT(counted(&b->counters, COUNT_scratchpads) == NTB_SPADS);
}

/* Parts of registers, constant bits, and offsets without a register. */
static void test_accesses(void)
{
	reg_write(a, 0, NTB_IM_XBASE, 0x12345678, 4);
	reg_write(a, 0, NTB_IM_XBASE + 4, 0x9a, 4);
	WANT(reg_read(a, 0, NTB_IM_XBASE, 8) == 0x9a12300000 &&
	     reg_read(a, 0, NTB_IM_XBASE + 4, 4) == 0x9a);
	reg_write(a, 0, NTB_IM_XLIMIT, 0x12345678, 8);
	WANT(reg_read(a, 0, NTB_IM_XLIMIT, 8) == 0x12345000);
	WANT(reg_read(a, 0, NTB_EM_BAR0 + 8, 8) == (NTB_EM_BASE1 | NTB_EM_FLAGS));
	reg_write(a, 0, NTB_EM_BAR0 + 8, 0, 8);
	WANT(reg_read(a, 0, NTB_EM_BAR0 + 8, 8) == (NTB_EM_BASE1 | NTB_EM_FLAGS));
	WANT(!counted(&a->counters, COUNT_mmio_refused));
	reg_write(a, 0, NTB_IM_XBASE + 6, 1, 4);
	reg_write(a, 0, NTB_IM_DOORBELL + 2, 1, 4);
	reg_write(a, 0, NTB_BAR0_SIZE - 4, 1, 4);
	WANT(!reg_read(a, 0, 0x3000, 8) && counted(&a->counters, COUNT_mmio_refused) == 4);
}

void test_ntb(void)
{
	begin();
	for (unsigned int bit = 0; bit < NTB_DOORBELLS; bit++)
		test_doorbell(bit);
	test_vectors();
	test_scratchpads();
	test_accesses();
	/* a reset brings the link down and tells the other end */
	device_reset(a);
	WANT(!bed.world.link[0].carries && events(bed.event[1][0]) == 1);
	WANT(reg_read(a, 0, NTB_B2B_SPAD, 4) == UINT32_MAX && !reg_read(a, 0, NTB_IM_SPAD, 4));
	bed_end(&bed);
}

static uint64_t room(uint64_t internal, uint64_t external)
{
	reg_write(b, 0, NTB_IM_XLIMIT, internal, 8);
	reg_write(b, 0, NTB_EM_XLIMIT, external, 8);
	return window_room(&bed.world.ntb[0][1], 2);
}

/* The notes of the datasheet, and the two ways in which ntb_hw_gen3.c uses limits. */
static void test_limits(void)
{
	WANT(room(0, 0) == WINDOW_SIZE);
	WANT(room(NTB_EM_BASE1, 0) == 0);
	WANT(room(BASE_WINDOW1, NTB_EM_BASE1) == 0);
	WANT(room(BASE_WINDOW1 + WINDOW_SIZE, NTB_EM_BASE1 + WINDOW_SIZE) == WINDOW_SIZE);
	WANT(room(BASE_WINDOW1 + 0x3000, NTB_EM_BASE1 + 0x3000) == 0x3000);
	WANT(room(BASE_WINDOW1 + 0x3000, NTB_EM_BASE1 + 0x2000) == 0x2000);
	WANT(room(0, NTB_EM_BASE1 + 0x2000) == 0x2000);
	WANT(room(BASE_WINDOW1 - 0x1000, NTB_EM_BASE1 - 0x1000) == WINDOW_SIZE);
	WANT(room(BASE_WINDOW1 + 2 * WINDOW_SIZE, NTB_EM_BASE1 + 2 * WINDOW_SIZE) == WINDOW_SIZE);
}

static void test_through(unsigned int bar)
{
	uint64_t base = bar == 2 ? 0x100000 : 0x300000;
	char text[8] = "";

	open_window(&bed, 1, bar, base, 0x2000);
	a->ops->write(a, bar, 0x1ff8, "through", 8);
	WANT(!strcmp((char *)bed.ram[1] + base + 0x1ff8, "through"));
	a->ops->read(a, bar, 0x1ff8, text, 8);
	WANT(!strcmp(text, "through"));
	/* not by a byte */
	a->ops->write(a, bar, 0x1ff9, "beyond", 8);
	WANT(!strcmp((char *)bed.ram[1] + base + 0x1ff8, "through") && !bed.ram[1][base + 0x2000]);
	WANT(reg_read(a, bar, 0x1ffd, 4) == UINT32_MAX &&
	     reg_read(a, bar, WINDOW_SIZE - 4, 4) == UINT32_MAX);
	WANT(reg_read(b, 0, NTB_MISSES, 2) == counted(&b->counters, COUNT_misses));
	/* translation to an address without memory */
	open_window(&bed, 1, bar, 0x7ff00000, WINDOW_SIZE);
	a->ops->write(a, bar, 0, "nowhere", 8);
	WANT(reg_read(a, bar, 0, 4) == UINT32_MAX);
	open_window(&bed, 1, bar, base, 0);
	a->ops->write(a, bar, 0, "closed", 8);
	WANT(!bed.ram[1][base]);
}

void test_windows(void)
{
	uint16_t off = PCI_MEMORY;

	begin();
	test_limits();
	test_through(2);
	test_through(4);
	WANT(counted(&b->counters, COUNT_misses) == 12 &&
	     counted(&b->counters, COUNT_window_bytes_in) == 16);
	/* without bus mastering neither end reaches that memory */
	open_window(&bed, 1, 2, 0x100000, WINDOW_SIZE);
	pci_write(&b->pci, PCI_AT_COMMAND, &off, 2);
	a->ops->write(a, 2, 0, "master", 8);
	WANT(!bed.ram[1][0x100000]);
	bed_end(&bed);
}

static void locked(void (*change)(struct link *link))
{
	struct link *link = &bed.world.link[0];

	pthread_rwlock_wrlock(&link->lock);
	change(link);
	pthread_rwlock_unlock(&link->lock);
}

static void down(struct link *link)
{
	link->held_down = true;
	link_update(link);
}

static void up(struct link *link)
{
	link->held_down = false;
	link_update(link);
}

static void slow(struct link *link)
{
	link->delay_ms = 60000;
}

static void stick(struct link *link)
{
	link_stick(link, true);
}

static void unstick(struct link *link)
{
	link_stick(link, false);
}

static void flap_twice(struct link *link)
{
	link->delay_ms = 0;
	link_flap(link, 2, 5, 7);
}

static uint64_t status(struct device *dev)
{
	return pci_get(&dev->pci, NTB_AT_LINK_STATUS, 2) & NTB_LINK_ACTIVE;
}

static void test_flaps(struct link *link)
{
	uint64_t now = link_now() + 1, ups = counted(&a->counters, COUNT_link_ups);

	locked(flap_twice);
	WANT(link_tick(link, now) == now + 5 && !link->carries);
	WANT(link_tick(link, now + 4) == now + 5 && !link->carries);
	WANT(link_tick(link, now + 5) == now + 12 && link->carries);
	WANT(link_tick(link, now + 12) == now + 17 && !link->carries);
	WANT(link_tick(link, now + 17) == LINK_NEVER && link->carries);
	WANT(counted(&a->counters, COUNT_link_ups) == ups + 2);
}

void test_link(void)
{
	struct link *link;

	begin();
	link = &bed.world.link[0];
	WANT(status(a) && status(b));
	reg_write(b, 0, NTB_CONTROL, NTB_CONTROL_DISABLE, 4);
	WANT(!status(a) && !status(b) && events(bed.event[0][0]) == 1);
	reg_write(a, 0, NTB_IM_DOORBELL, 1, 4);
	reg_write(a, 0, NTB_B2B_SPAD, 5, 4);
	WANT(!(reg_read(b, 0, NTB_IM_STATUS, 8) & 1) && !reg_read(b, 0, NTB_IM_SPAD, 4));
	reg_write(b, 0, NTB_CONTROL, 0, 4);
	WANT(status(a) && status(b));

	locked(stick);
	locked(down);
	WANT(!link->carries && status(a));
	open_window(&bed, 1, 2, 0x100000, WINDOW_SIZE);
	a->ops->write(a, 2, 0, "dropped", 8);
	WANT(!bed.ram[1][0x100000] && counted(&a->counters, COUNT_dropped) == 1);
	locked(unstick);
	WANT(!status(a) && !status(b));

	locked(slow);
	locked(up);
	WANT(!link->carries);
	link_tick(link, link_now() + 59000);
	WANT(!link->carries);
	/* going down during training restarts it */
	locked(down);
	WANT(link_tick(link, link_now() + 61000) == LINK_NEVER && !link->carries);
	locked(up);
	link_tick(link, link_now() + 61000);
	WANT(link->carries && status(a));
	test_flaps(link);
	bed_end(&bed);
}
