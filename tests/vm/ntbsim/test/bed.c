// SPDX-License-Identifier: GPL-2.0
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

uint64_t channel_read(struct bed *bed, unsigned int side, unsigned int number, unsigned int reg,
		      size_t len)
{
	return reg_read(&bed->world.host[side].ioat.dev, 0, IOAT_HEADER * (number + 1) + reg, len);
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

/* ---- Run all tests. A test that fails aborts; one that hangs is killed. ---- */

#define SECONDS 100

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "memory",		test_memory },
	{ "pci",		test_pci },
	{ "ntb",		test_ntb },
	{ "windows",		test_windows },
	{ "link",		test_link },
	{ "ioat",		test_ioat },
	{ "ioat_errors",	test_ioat_errors },
	{ "ioat_foreign",	test_ioat_foreign },
	{ "client",		test_client },
	{ "control",		test_control },
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
