// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile guests: random accesses, descriptors, maps and messages, under sanitizers. Memory that no
 * window shows must not change. And a test with all threads of a real run at once.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"
#include "unit.h"

#define SHOWN_FROM	0x100000u
#define SHOWN_SIZE	0x10000u
#define FUZZ_STEPS	300000
#define CROWD_STEPS	3000

static struct bed bed;
static uint64_t seed;

/* xorshift; the seed is printed, and is constant unless NTBSIM_SEED is set */
static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t below(uint64_t n)
{
	return random64() % n;
}

/* Numbers on which bounds checks tend to fail */
static uint64_t nasty(void)
{
	static const uint64_t base[] = {
		0,	    RAM_SIZE,	  BASE_REGISTERS, BASE_WINDOW1, BASE_WINDOW2, SHOWN_FROM,
		0xfee00000, NTB_EM_BASE1, UINT32_MAX,	  UINT64_MAX,	0x2000,	      WINDOW_SIZE
	};

	return base[below(sizeof(base) / sizeof(*base))] + below(256) - (below(4) ? 0 : 128);
}

static uint64_t offset_in(const struct device *dev, unsigned int bar)
{
	static const unsigned int places[] = { NTB_CONTROL,  NTB_IM_STATUS,   NTB_IM_SPAD,
					       NTB_VECTORS,  NTB_IM_DOORBELL, NTB_B2B_SPAD,
					       NTB_EM_XBASE, NTB_EM_BAR0,     0x80,
					       0x100,	     0x180,	      0x200 };

	if (!bar && below(4))
		return places[below(sizeof(places) / sizeof(*places))] + below(0x30);
	return below(dev->id->bar[bar]);
}

static void touch(struct device *dev)
{
	static const unsigned int bars[] = { 0, 0, 2, 4 };
	unsigned int bar = bars[below(4)];
	uint64_t data[8], offset;
	size_t len = below(3) ? 1u << below(4) : 1 + below(64);

	if (!dev->id->bar[bar])
		bar = 0;
	offset = offset_in(dev, bar);
	if (offset + len > dev->id->bar[bar])
		return;
	for (unsigned int i = 0; i < 8; i++)
		data[i] = below(2) ? nasty() : random64();
	if (below(3))
		dev->ops->write(dev, bar, offset, data, len);
	else
		dev->ops->read(dev, bar, offset, data, len);
}

/* Close the windows of b again after b's own registers were changed: only a is hostile. */
static void show_some(void)
{
	open_window(&bed, 1, 2, SHOWN_FROM, SHOWN_SIZE);
	open_window(&bed, 1, 4, SHOWN_FROM, SHOWN_SIZE);
}

static void chain(unsigned int number)
{
	uint64_t at = 0x2000 + 0x1000 * number;

	for (unsigned int i = 0; i < 4; i++)
		descriptor(&bed, 0, at, i, random64() & 0x29, nasty(), nasty(),
			   below(2) ? below(5000) : nasty());
	channel_setup(&bed, 0, number, below(8) ? 0x1000 : nasty(), below(8) ? at : nasty());
	channel_write(&bed, 0, number, IOAT_DMACOUNT, below(8), 2);
}

static void message(struct device *dev, const int pair[2])
{
	struct vfu_message *msg = dev->message;
	char trash[4096];

	msg->header = (struct vfu_header) {
		.command = below(16), .flags = below(8) ? 0 : random64(),
	};
	msg->len = below(96);
	msg->header.size = sizeof(msg->header) + msg->len;
	for (unsigned int i = 0; i < 12; i++)
		((uint64_t *)msg->body)[i] = below(2) ? below(64) : nasty();
	msg->fds = 0;
	if (msg->header.command == VFU_DMA_MAP && below(2)) {
		msg->fds = 1;
		msg->fd[0] = dup(bed.file[0]);
	}
	dev->fd = pair[0];
	client_message(dev, msg);
	dev->fd = -1;
	vfu_release(msg);
	while (recv(pair[1], trash, sizeof(trash), MSG_DONTWAIT) > 0)
		;
}

static void step(const int pair[2])
{
	struct device *devices[] = { &bed.world.ntb[0][0].dev, &bed.world.host[0].ioat.dev };
	struct device *dev = devices[below(2)];

	switch (below(8)) {
	case 0:
		chain(below(IOAT_CHANNELS));
		break;
	case 1:
		message(dev, pair);
		break;
	case 2:
		devices[1]->ops->work(devices[1]);
		break;
	default:
		touch(dev);
	}
}

/* Restore what a's random accesses have destroyed, so that it goes on. */
static void mend(void)
{
	uint16_t command = PCI_MEMORY | PCI_MASTER;
	uint64_t bars[] = { BASE_REGISTERS, BASE_WINDOW1, BASE_WINDOW2 };
	struct device *devices[] = { &bed.world.ntb[0][0].dev, &bed.world.host[0].ioat.dev };

	for (unsigned int i = 0; i < 2; i++) {
		memory_clear(&devices[i]->memory);
		memory_map(&devices[i]->memory, 0, RAM_SIZE, bed.file[0], 0, true);
		pci_write(&devices[i]->pci, PCI_AT_COMMAND, &command, 2);
	}
	for (unsigned int i = 0; i < 3; i++)
		pci_write(&devices[0]->pci, PCI_AT_BAR0 + 8 * i, &bars[i], 8);
	reg_write(devices[0], 0, NTB_CONTROL, 0, 4);
	reg_write(devices[1], 0, IOAT_INTRCTRL, IOAT_INTRCTRL_MASTER, 1);
	show_some();
}

static bool untouched(const uint8_t *ram)
{
	for (uint32_t i = 0; i < RAM_SIZE; i++) {
		if (ram[i] != 0x5a && (i < SHOWN_FROM || i >= SHOWN_FROM + SHOWN_SIZE))
			return false;
	}
	return true;
}

void test_fuzz(void)
{
	const char *told = getenv("NTBSIM_SEED");
	int pair[2];

	seed = told ? strtoull(told, NULL, 0) | 1 : 20261120;
	printf("        seed %llu\n", (unsigned long long)seed);
	bed_make(&bed);
	memset(bed.ram[1], 0x5a, RAM_SIZE);
	WANT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (unsigned int i = 0; i < FUZZ_STEPS; i++) {
		if (i % 200 == 0)
			mend();
		step(pair);
		if (i % (FUZZ_STEPS / 20) == 0)
			WANT(untouched(bed.ram[1]));
	}
	WANT(untouched(bed.ram[1]));
	/* it did reach the memory that it may write to */
	WANT(counted(&bed.world.ntb[0][1].dev.counters, COUNT_window_bytes_in) > 100);
	WANT(counted(&bed.world.ntb[0][1].dev.counters, COUNT_misses) > 100);
	WANT(counted(&bed.world.host[0].ioat.dev.counters, COUNT_dma_errors) > 100);
	WANT(counted(&bed.world.host[0].ioat.dev.counters, COUNT_descriptors) > 100);
	close(pair[0]);
	close(pair[1]);
	bed_end(&bed);
}

/* An engine that writes to the other side's memory all the time. */
static void *engine(void *arg)
{
	unsigned int side = (uintptr_t)arg;

	for (unsigned int i = 0; i < CROWD_STEPS; i++) {
		channel_setup(&bed, side, 0, 0x1000, 0x2000);
		descriptor(&bed, side, 0x2000, 0, IOAT_DESC_COMPLETE | IOAT_DESC_INT, BASE_WINDOW1,
			   0x10000, 0x8000);
		descriptor(&bed, side, 0x2000, 1, 0, BASE_REGISTERS + NTB_IM_DOORBELL, 0x10000, 4);
		channel_run(&bed, side, 0, 2);
	}
	return NULL;
}

/* The CPU of one side: translation, doorbells, mapped memory. */
static void *cpu(void *arg)
{
	unsigned int side = (uintptr_t)arg;
	struct device *dev = &bed.world.ntb[0][side].dev;

	for (unsigned int i = 0; i < CROWD_STEPS; i++) {
		open_window(&bed, side, 2, i % 2 ? 0x100000 : 0x200000, i % 3 ? WINDOW_SIZE : 0);
		reg_write(dev, 0, NTB_IM_DOORBELL + 4, 1, 4);
		reg_write(dev, 0, NTB_IM_STATUS, 3, 8);
		reg_write(dev, 2, i * 8 % 0x1000, i, 8);
		if (i % 8)
			continue;
		memory_clear(&dev->memory);
		WANT(!memory_map(&dev->memory, 0, RAM_SIZE, bed.file[side], 0, true));
	}
	return NULL;
}

/* The control socket, and the link's times. */
static void *master(void *arg)
{
	static const char *const lines[] = { "stats",		"link 0 down",
					     "link 0 up",	"link 0 flap 2 0 0",
					     "link 0 stuck on", "link 0 stuck off",
					     "link 0 delay 0" };
	char line[32];

	for (unsigned int i = 0; i < CROWD_STEPS / 10; i++) {
		snprintf(line, sizeof(line), "%s", lines[i % 7]);
		free(control_command(&bed.world, line));
		link_tick(&bed.world.link[0], link_now());
	}
	return NULL;
}

void test_crowd(void)
{
	void *(*const work[])(void *) = { engine, engine, cpu, cpu, master };
	pthread_t thread[5];

	bed_make(&bed);
	/* before an end has limited its windows, all its memory is accessible */
	for (unsigned int side = 0; side < 2; side++)
		open_window(&bed, side, 2, 0x100000, WINDOW_SIZE);
	for (uintptr_t i = 0; i < 5; i++)
		WANT(!pthread_create(&thread[i], NULL, work[i], (void *)(i % 2)));
	for (unsigned int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	/* every thread has worked, and there were no errors */
	for (unsigned int side = 0; side < 2; side++) {
		struct counters *dma = &bed.world.host[side].ioat.dev.counters;

		WANT(counted(dma, COUNT_descriptors) == 2 * CROWD_STEPS &&
		     !counted(dma, COUNT_dma_errors));
	}
	bed_end(&bed);
}
