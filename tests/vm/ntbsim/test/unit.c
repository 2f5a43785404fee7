// SPDX-License-Identifier: GPL-2.0
/*
 * unit.c - tests of the devices without QEMU, the bed that they and fuzz.c use, and the program. What
 * the kernel's drivers and kfi_ntb notice is not tested here.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "protocol.h"

static void put_bar(struct device *dev, unsigned int bar, uint64_t base)
{
	pci_write(&dev->pci, PCI_AT_BAR0 + 4 * bar, &base, 8);
}

static void join(struct bed *bed, struct device *dev, unsigned int side, int *events)
{
	uint16_t command = PCI_MEMORY | PCI_MASTER;

	WANT(!memory_map(&dev->memory, 0, RAM_SIZE, bed->file[side], 0, true));
	pci_write(&dev->pci, PCI_AT_COMMAND, &command, 2);
	for (unsigned int i = 0; i < dev->id->vectors; i++) {
		events[i] = eventfd(0, EFD_NONBLOCK);
		WANT(events[i] >= 0);
		dev->irq[i] = dup(events[i]);
	}
	pthread_rwlock_wrlock(dev->lock);
	dev->ops->attach(dev, true);
	pthread_rwlock_unlock(dev->lock);
}

void bed_make(struct bed *bed)
{
	struct world_options options = { .links = 1, .window = { WINDOW_SIZE, WINDOW_SIZE } };

	memset(bed, 0, sizeof(*bed));
	WANT(!world_init(&bed->world, &options));
	for (unsigned int side = 0; side < 2; side++) {
		struct device *ntb = &bed->world.ntb[0][side].dev;

		bed->file[side] = memfd_create("ram", 0);
		WANT(!ftruncate(bed->file[side], RAM_SIZE));
		bed->ram[side] = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				      bed->file[side], 0);
		WANT(bed->ram[side] != MAP_FAILED);
		join(bed, ntb, side, bed->event[side]);
		join(bed, &bed->world.host[side].ioat.dev, side, bed->dma_event[side]);
		put_bar(ntb, 0, BASE_REGISTERS);
		put_bar(ntb, 2, BASE_WINDOW1);
		put_bar(ntb, 4, BASE_WINDOW2);
	}
	for (unsigned int side = 0; side < 2; side++) {
		struct device *ntb = &bed->world.ntb[0][side].dev;

		reg_write(ntb, 0, NTB_IM_MASK, 0, 8);
		reg_write(ntb, 0, NTB_CONTROL, 0, 4);
		reg_write(&bed->world.host[side].ioat.dev, 0, IOAT_INTRCTRL, IOAT_INTRCTRL_MASTER,
			  1);
	}
	for (unsigned int side = 0; side < 2; side++) {
		WANT(events(bed->event[side][0]) == 1);
		reg_write(&bed->world.ntb[0][side].dev, 0, NTB_IM_STATUS, 1ull << NTB_LINK_BIT, 8);
	}
}

void bed_end(struct bed *bed)
{
	struct device *dev;

	for (unsigned int n = 0; (dev = world_device(&bed->world, n)); n++) {
		memory_clear(&dev->memory);
		device_drop_irqs(dev, 0, DEVICE_VECTORS);
		free(dev->message);
	}
	for (unsigned int side = 0; side < 2; side++) {
		memory_clear(&bed->world.host[side].ioat.fetched);
		munmap(bed->ram[side], RAM_SIZE);
		close(bed->file[side]);
		for (unsigned int i = 0; i < DEVICE_VECTORS; i++)
			close(bed->event[side][i]);
		for (unsigned int i = 0; i < IOAT_CHANNELS; i++)
			close(bed->dma_event[side][i]);
	}
	close(bed->world.wake);
}

uint64_t reg_read(struct device *dev, unsigned int bar, uint64_t offset, size_t len)
{
	uint64_t value = 0;

	dev->ops->read(dev, bar, offset, &value, len);
	return value;
}

void reg_write(struct device *dev, unsigned int bar, uint64_t offset, uint64_t value, size_t len)
{
	dev->ops->write(dev, bar, offset, &value, len);
}

unsigned int events(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

void open_window(struct bed *bed, unsigned int side, unsigned int bar, uint64_t base, uint64_t size)
{
	struct device *dev = &bed->world.ntb[0][side].dev;
	unsigned int at = bar == 2 ? 0 : NTB_WINDOW_STEP;

	reg_write(dev, 0, NTB_IM_XBASE + at, base, 8);
	reg_write(dev, 0, NTB_IM_XLIMIT + at, (bar == 2 ? BASE_WINDOW1 : BASE_WINDOW2) + size, 8);
	reg_write(dev, 0, NTB_EM_XLIMIT + at, (bar == 2 ? NTB_EM_BASE1 : NTB_EM_BASE2) + size, 8);
}

void channel_write(struct bed *bed, unsigned int side, unsigned int number, unsigned int reg,
		   uint64_t value, size_t len)
{
	reg_write(&bed->world.host[side].ioat.dev, 0, IOAT_HEADER * (number + 1) + reg, value, len);
}

void channel_setup(struct bed *bed, unsigned int side, unsigned int number, uint64_t record,
		   uint64_t chain)
{
	channel_write(bed, side, number, IOAT_CHANCMD, IOAT_CMD_RESET, 1);
	channel_write(bed, side, number, IOAT_CHANCTRL,
		      IOAT_CTRL_REARM | IOAT_CTRL_ERR_COMPLETE | IOAT_CTRL_ERR_INT, 2);
	channel_write(bed, side, number, IOAT_CHANCMP, (uint32_t)record, 4);
	channel_write(bed, side, number, IOAT_CHANCMP + 4, record >> 32, 4);
	channel_write(bed, side, number, IOAT_CHAINADDR, (uint32_t)chain, 4);
	channel_write(bed, side, number, IOAT_CHAINADDR + 4, chain >> 32, 4);
}

void descriptor(struct bed *bed, unsigned int side, uint64_t chain, unsigned int n,
		uint32_t control, uint64_t target, uint64_t source, uint32_t size)
{
	struct ioat_descriptor desc = {
		.size = size, .control = control, .source = source, .target = target,
		.next = chain + 64 * (n + 1),
	};

	memcpy(bed->ram[side] + chain + 64 * n, &desc, sizeof(desc));
}

void channel_run(struct bed *bed, unsigned int side, unsigned int number, uint16_t count)
{
	struct device *dev = &bed->world.host[side].ioat.dev;

	channel_write(bed, side, number, IOAT_DMACOUNT, count, 2);
	while (dev->ops->work(dev) != DEVICE_IDLE)
		;
}

/* ---- registers and windows ---- */

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

/* ---- Run all tests. A test that fails aborts; one that hangs is killed. ---- */

#define SECONDS 100

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "ntb",		test_ntb },
	{ "windows",		test_windows },
	{ "crowd",		test_crowd },
	{ "fuzz",		test_fuzz },
};

int main(void)
{
	alarm(SECONDS);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		tests[i].run();
		printf("ok      ntbsim.%s\n", tests[i].name);
		fflush(stdout);
	}
	printf("%zu passed, 0 failed\n", ARRAY_SIZE(tests));
	return 0;
}
