// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "unit.h"

#define RECORD	0x1000ull
#define CHAIN	0x2000ull
#define SOURCE	0x10000ull
#define TARGET	0x20000ull
#define BOTH	(IOAT_DESC_COMPLETE | IOAT_DESC_INT)

static struct bed bed;

static uint64_t record(unsigned int side)
{
	uint64_t value;

	memcpy(&value, bed.ram[side] + RECORD, sizeof(value));
	return value;
}

static uint64_t state(void)
{
	return channel_read(&bed, 0, 0, IOAT_CHANSTS, 8);
}

static void test_chain(void)
{
	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	descriptor(&bed, 0, CHAIN, 0, BOTH | IOAT_DESC_NULL, 0, 0, 8);
	channel_run(&bed, 0, 0, 1);
	WANT(record(0) == (CHAIN | IOAT_DONE) && state() == record(0) &&
	     events(bed.dma_event[0][0]) == 1);

	memcpy(bed.ram[0] + SOURCE, "first", 6);
	descriptor(&bed, 0, CHAIN, 1, 0, TARGET, SOURCE, 6);
	descriptor(&bed, 0, CHAIN, 2, BOTH, TARGET + 100, TARGET, 6);
	descriptor(&bed, 0, CHAIN, 3, BOTH, TARGET + 200, TARGET, 6);
	channel_run(&bed, 0, 0, 3);
	WANT(!strcmp((char *)bed.ram[0] + TARGET + 100, "first") && !bed.ram[0][TARGET + 200]);
	WANT(record(0) == (CHAIN + 128) + IOAT_DONE);
	/* one interrupt until the driver has rearmed, then the one that came meanwhile */
	WANT(!events(bed.dma_event[0][0]));
	channel_write(&bed, 0, 0, IOAT_CHANCTRL, IOAT_CTRL_REARM, 2);
	WANT(events(bed.dma_event[0][0]) == 1);
	channel_write(&bed, 0, 0, IOAT_CHANCTRL, IOAT_CTRL_REARM, 2);
	WANT(!events(bed.dma_event[0][0]));
	WANT(counted(&bed.world.host[0].ioat.dev.counters, COUNT_descriptors) == 2);
}

/* A count that wraps around, and a chain that is a ring. */
static void test_wrap(void)
{
	struct ioat_descriptor desc = {
		.size = 1, .source = SOURCE, .target = TARGET, .next = CHAIN
	};
	struct counters *counters = &bed.world.host[0].ioat.dev.counters;
	uint64_t before = counted(counters, COUNT_descriptors);

	memcpy(bed.ram[0] + CHAIN, &desc, sizeof(desc));
	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	channel_run(&bed, 0, 0, 65535);
	channel_run(&bed, 0, 0, 9);
	WANT(counted(counters, COUNT_descriptors) - before == 65535 + 10);
}

/* Through the bridge: into a window, out of it, to a doorbell and a scratchpad. */
static void test_bridge(void)
{
	open_window(&bed, 1, 2, 0x100000, WINDOW_SIZE);
	memcpy(bed.ram[0] + SOURCE, "across", 7);
	*(uint32_t *)(bed.ram[0] + SOURCE + 64) = 1;
	channel_setup(&bed, 0, 1, RECORD, CHAIN);
	descriptor(&bed, 0, CHAIN, 0, 0, BASE_WINDOW1 + 0x500, SOURCE, 7);
	descriptor(&bed, 0, CHAIN, 1, 0, TARGET, BASE_WINDOW1 + 0x501, 6);
	descriptor(&bed, 0, CHAIN, 2, 0, BASE_REGISTERS + NTB_IM_DOORBELL + 20, SOURCE + 64, 4);
	descriptor(&bed, 0, CHAIN, 3, 0, BASE_REGISTERS + NTB_B2B_SPAD, SOURCE, 4);
	channel_run(&bed, 0, 1, 4);
	WANT(!strcmp((char *)bed.ram[1] + 0x100500, "across") &&
	     !strcmp((char *)bed.ram[0] + TARGET, "cross"));
	WANT(events(bed.event[1][6]) == 1);
	WANT(reg_read(&bed.world.ntb[0][1].dev, 0, NTB_IM_SPAD, 4) == 0x6f726361);
	WANT(channel_read(&bed, 0, 1, IOAT_CHANSTS, 8) == CHAIN + 192 + IOAT_DONE);
	/* beyond the limit: only the target counts it */
	open_window(&bed, 1, 2, 0x100000, 0x1000);
	descriptor(&bed, 0, CHAIN, 4, 0, BASE_WINDOW1 + 0xffa, SOURCE, 7);
	channel_run(&bed, 0, 1, 5);
	WANT(!channel_read(&bed, 0, 1, IOAT_CHANERR, 4) && !bed.ram[1][0x100ffa]);
	WANT(counted(&bed.world.ntb[0][1].dev.counters, COUNT_misses) == 1);
}

static void test_suspend(void)
{
	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	atomic_store(&bed.world.host[0].ioat.slow_us, 10000000);
	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, SOURCE, 4);
	channel_write(&bed, 0, 0, IOAT_DMACOUNT, 1, 2);
	WANT(bed.world.host[0].ioat.dev.ops->work(&bed.world.host[0].ioat.dev) > 9000000);
	WANT((state() & 7) == IOAT_ACTIVE);
	channel_write(&bed, 0, 0, IOAT_CHANCMD, IOAT_CMD_SUSPEND, 1);
	WANT((state() & 7) == IOAT_SUSPENDED);
	WANT(bed.world.host[0].ioat.dev.ops->work(&bed.world.host[0].ioat.dev) == DEVICE_IDLE);
	atomic_store(&bed.world.host[0].ioat.slow_us, 0);
}

void test_ioat(void)
{
	bed_make(&bed);
	test_chain();
	test_wrap();
	test_bridge();
	test_suspend();
	bed_end(&bed);
}

/*
 * A chain of one good descriptor and this one: the engine halts at it with this error and executes
 * no more.
 */
static void wrong(uint32_t error, uint32_t control, uint64_t target, uint64_t source, uint32_t size)
{
	events(bed.dma_event[0][0]);
	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	descriptor(&bed, 0, CHAIN, 0, 0, TARGET, SOURCE, 4);
	descriptor(&bed, 0, CHAIN, 1, control, target, source, size);
	channel_run(&bed, 0, 0, 2);
	WANT(channel_read(&bed, 0, 0, IOAT_CHANERR, 4) == error);
	WANT(state() == (CHAIN | IOAT_HALTED) && record(0) == state() &&
	     events(bed.dma_event[0][0]) == 1);
	channel_run(&bed, 0, 0, 3);
	WANT(state() == (CHAIN | IOAT_HALTED));
	channel_write(&bed, 0, 0, IOAT_CHANERR, error, 4);
	WANT(!channel_read(&bed, 0, 0, IOAT_CHANERR, 4));
}

static void test_addresses(void)
{
	wrong(IOAT_ERR_READ_DATA, BOTH, TARGET, RAM_SIZE - 3, 4);
	wrong(IOAT_ERR_READ_DATA, BOTH, TARGET, ~3ull, 8);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, RAM_SIZE - 3, SOURCE, 4);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, BASE_WINDOW1 - 1, SOURCE, 4);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, BASE_REGISTERS + 0x3000, SOURCE, 4);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, BASE_REGISTERS + NTB_IM_DOORBELL, SOURCE, 64);
	open_window(&bed, 1, 2, 0, 0x1000);
	wrong(IOAT_ERR_READ_DATA, BOTH, TARGET, BASE_WINDOW1 + 0xffd, 4);
}

static void test_chains(void)
{
	channel_setup(&bed, 0, 0, RECORD, CHAIN + 8);
	channel_run(&bed, 0, 0, 1);
	WANT(channel_read(&bed, 0, 0, IOAT_CHANERR, 4) == IOAT_ERR_CHAIN_ADDR &&
	     record(0) == IOAT_HALTED);
	channel_setup(&bed, 0, 0, RECORD, RAM_SIZE);
	channel_run(&bed, 0, 0, 1);
	WANT(channel_read(&bed, 0, 0, IOAT_CHANERR, 4) == IOAT_ERR_NEXT_ADDR);
	/* no memory for the completion record */
	channel_setup(&bed, 0, 0, RAM_SIZE, CHAIN);
	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, SOURCE, 4);
	channel_run(&bed, 0, 0, 1);
	WANT(channel_read(&bed, 0, 0, IOAT_CHANERR, 4) == IOAT_ERR_COMPLETION);
}

static void test_switches(void)
{
	struct ioat *ioat = &bed.world.host[0].ioat;

	atomic_store(&ioat->fail_with, IOAT_ERR_WRITE_DATA);
	atomic_store(&ioat->fail_in, 2);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, TARGET, SOURCE, 4);
	WANT(!atomic_load(&ioat->fail_in));
	bed.world.link[0].dead_writes_fail = true;
	reg_write(&bed.world.ntb[0][0].dev, 0, NTB_CONTROL, NTB_CONTROL_DISABLE, 4);
	wrong(IOAT_ERR_WRITE_DATA, BOTH, BASE_WINDOW1, SOURCE, 4);
	wrong(IOAT_ERR_READ_DATA, BOTH, TARGET, BASE_WINDOW1, 4);

	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, SOURCE, 4);
	descriptor(&bed, 0, CHAIN, 1, BOTH, TARGET, SOURCE, 4);
	atomic_store(&ioat->dev.lose_irqs, 1);
	channel_run(&bed, 0, 0, 1);
	WANT(!events(bed.dma_event[0][0]) &&
	     counted(&ioat->dev.counters, COUNT_interrupts_lost) == 1);
	channel_run(&bed, 0, 0, 2);
	WANT(events(bed.dma_event[0][0]) == 1);
}

void test_ioat_errors(void)
{
	bed_make(&bed);
	wrong(IOAT_ERR_CONTROL, BOTH | 0x87u << IOAT_DESC_OP_SHIFT, TARGET, SOURCE, 4);
	wrong(IOAT_ERR_LENGTH, BOTH, TARGET, SOURCE, 0);
	wrong(IOAT_ERR_LENGTH, BOTH, TARGET, SOURCE, (1u << IOAT_XFERCAP_LOG) + 1);
	test_addresses();
	test_chains();
	test_switches();
	bed_end(&bed);
}
