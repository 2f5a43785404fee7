// SPDX-License-Identifier: GPL-2.0
/*
 * Copies from memory of other devices: a thread is the client that reads it, and misbehaves.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"
#include "unit.h"

#define RECORD	0x1000ull
#define CHAIN	0x2000ull
#define TARGET	0x20000ull
#define CMB	0xf0000000ull	/* a BAR of another device */
#define BOTH	(IOAT_DESC_COMPLETE | IOAT_DESC_INT)

/* What the client does when it is asked for bytes */
enum mode {
	ANSWER,
	ACCESS_FIRST,	/* reads and writes registers, and waits for the answers */
	RESET_FIRST,	/* resets the channel */
	SUSPEND_FIRST,
	RESTART_FIRST,	/* resets the channel, and starts it with another chain */
	REFUSE,
	ANSWER_LESS,	/* fewer bytes than it says */
	COUNT_LESS,	/* says that there are fewer */
	HANG_UP,
};

static struct bed bed;

static struct client {
	int fd;
	enum mode mode;
	unsigned int reads;
	uint64_t bytes;
} client;

static uint8_t pattern(uint64_t address)
{
	return address * 7 + (address >> 12);
}

/* Access a register of channel 0, and wait for the answer. */
static void access_register(struct client *c, uint16_t command, unsigned int reg, uint64_t value,
			    uint32_t len)
{
	struct {
		struct vfu_header header;
		struct vfu_region_io io;
		uint64_t value;
	} request = {
		.header = { .id = 99, .command = command, .size = sizeof(request) },
		.io = { .offset = IOAT_HEADER + reg, .region = 0, .count = len }, .value = value,
	};
	static struct vfu_message answer;

	WANT(write(c->fd, &request, sizeof(request)) == sizeof(request));
	WANT(!vfu_receive(c->fd, &answer));
	WANT(answer.header.id == 99 && answer.header.command == command &&
	     answer.header.flags == VFU_TYPE_REPLY);
}

static void before(struct client *c)
{
	switch (c->mode) {
	case ACCESS_FIRST:
		access_register(c, VFU_REGION_READ, IOAT_CHANSTS, 0, 8);
		access_register(c, VFU_REGION_WRITE, IOAT_CHANERR_MASK, 0x55, 4);
		break;
	case RESET_FIRST:
	case RESTART_FIRST:
		access_register(c, VFU_REGION_WRITE, IOAT_CHANCMD, IOAT_CMD_RESET, 1);
		if (c->mode == RESET_FIRST)
			break;
		access_register(c, VFU_REGION_WRITE, IOAT_CHANCMP, RECORD, 8);
		access_register(c, VFU_REGION_WRITE, IOAT_CHAINADDR, CHAIN + 64, 8);
		access_register(c, VFU_REGION_WRITE, IOAT_DMACOUNT, 1, 2);
		break;
	case SUSPEND_FIRST:
		access_register(c, VFU_REGION_WRITE, IOAT_CHANCMD, IOAT_CMD_SUSPEND, 1);
		break;
	default:
		break;
	}
}

static void answer(struct client *c, const struct vfu_header *to, const struct vfu_dma *dma)
{
	static struct {
		struct vfu_dma dma;
		uint8_t bytes[VFU_MAX_DATA];
	} body;
	size_t len = dma->count;

	body.dma = *dma;
	WANT(len && len <= sizeof(body.bytes));
	for (size_t i = 0; i < len; i++)
		body.bytes[i] = pattern(dma->address + i);
	if (c->mode == REFUSE) {
		WANT(!vfu_reply(c->fd, to, EFAULT, NULL, 0));
		return;
	}
	if (c->mode == COUNT_LESS)
		body.dma.count--;
	if (c->mode == ANSWER_LESS)
		len--;
	WANT(!vfu_reply(c->fd, to, 0, &body, sizeof(body.dma) + len));
}

static void *client_main(void *arg)
{
	static struct vfu_message msg;
	struct client *c = arg;

	while (!vfu_receive(c->fd, &msg)) {
		struct vfu_dma dma;

		WANT(msg.header.command == VFU_DMA_READ && msg.len == sizeof(dma));
		memcpy(&dma, msg.body, sizeof(dma));
		c->reads++;
		c->bytes += dma.count;
		if (c->mode == HANG_UP) {
			shutdown(c->fd, SHUT_RDWR);
			break;
		}
		before(c);
		answer(c, &msg.header, &dma);
	}
	return NULL;
}

/* Run @count descriptors of a chain with such a client. */
static void run(enum mode mode, uint16_t count)
{
	struct device *dev = &bed.world.host[0].ioat.dev;
	pthread_t thread;
	int pair[2];

	WANT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	client = (struct client) { .fd = pair[1], .mode = mode };
	dev->fd = pair[0];
	memset(bed.ram[0] + TARGET, 0, 0x10000);
	memset(bed.ram[0] + RECORD, 0, 8);
	WANT(!pthread_create(&thread, NULL, client_main, &client));
	channel_setup(&bed, 0, 0, RECORD, CHAIN);
	channel_run(&bed, 0, 0, count);
	dev->fd = -1;
	shutdown(pair[0], SHUT_RDWR);
	WANT(!pthread_join(thread, NULL));
	close(pair[0]);
	close(pair[1]);
}

static uint32_t error(void)
{
	return channel_read(&bed, 0, 0, IOAT_CHANERR, 4);
}

static bool landed(const uint8_t *at, uint64_t address, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != pattern(address + i))
			return false;
	return true;
}

static bool untouched(void)
{
	for (size_t i = 0; i < 0x10000; i++)
		if (bed.ram[0][TARGET + i])
			return false;
	return true;
}

static void test_lengths(void)
{
	static const uint32_t lens[] = { 1, 4095, 4096, 4097, 0x10000 };
	struct counters *counters = &bed.world.host[0].ioat.dev.counters;

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		uint64_t bytes = counted(counters, COUNT_foreign_bytes);

		descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, CMB + i, lens[i]);
		run(ANSWER, 1);
		WANT(!error() && landed(bed.ram[0] + TARGET, CMB + i, lens[i]));
		WANT(client.bytes == lens[i] && client.reads == (lens[i] + 4095) / 4096);
		WANT(counted(counters, COUNT_foreign_bytes) - bytes == lens[i]);
	}
	/* the whole of the longest copy, and into the peer's memory */
	open_window(&bed, 1, 2, 0x100000, WINDOW_SIZE);
	descriptor(&bed, 0, CHAIN, 0, BOTH, BASE_WINDOW1, CMB, 1u << IOAT_XFERCAP_LOG);
	run(ANSWER, 1);
	WANT(!error() && landed(bed.ram[1] + 0x100000, CMB, 1u << IOAT_XFERCAP_LOG));
}

/* Memory and windows are not asked for. */
static void test_known(void)
{
	struct ioat *ioat = &bed.world.host[0].ioat;
	struct memory *memory = &ioat->dev.memory;

	WANT(host_knows(&bed.world.host[0], memory, 0));
	WANT(host_knows(&bed.world.host[0], memory, RAM_SIZE - 1));
	WANT(!host_knows(&bed.world.host[0], memory, RAM_SIZE));
	WANT(host_knows(&bed.world.host[0], memory, BASE_REGISTERS));
	WANT(host_knows(&bed.world.host[0], memory, BASE_WINDOW1 + WINDOW_SIZE - 1));
	WANT(!host_knows(&bed.world.host[0], memory, BASE_WINDOW1 + WINDOW_SIZE));
	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, BASE_WINDOW1, 64);
	run(ANSWER, 1);
	WANT(!client.reads && !error());
}

/* Registers are served while the engine waits. */
static void test_meanwhile(void)
{
	struct counters *counters = &bed.world.host[0].ioat.dev.counters;
	uint64_t bytes;

	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, CMB, 8192);
	run(ACCESS_FIRST, 1);
	WANT(!error() && landed(bed.ram[0] + TARGET, CMB, 8192));
	WANT(channel_read(&bed, 0, 0, IOAT_CHANERR_MASK, 4) == 0x55);
	/* nothing lands for a channel that was stopped, and nothing is counted */
	bytes = counted(counters, COUNT_foreign_bytes);
	run(RESET_FIRST, 1);
	WANT(untouched() && channel_read(&bed, 0, 0, IOAT_CHANSTS, 8) == IOAT_HALTED);
	run(SUSPEND_FIRST, 1);
	WANT(untouched() && channel_read(&bed, 0, 0, IOAT_CHANSTS, 8) == IOAT_SUSPENDED);
	WANT(counted(counters, COUNT_foreign_bytes) == bytes);
	/* the new chain is executed, and nothing of the old one is reported */
	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, CMB, 64);
	descriptor(&bed, 0, CHAIN, 1, BOTH, TARGET + 0x1000, TARGET + 0x2000, 8);
	run(RESTART_FIRST, 1);
	WANT(untouched());
	WANT(channel_read(&bed, 0, 0, IOAT_CHANSTS, 8) == (CHAIN + 64) + IOAT_DONE);
}

static void test_bad_clients(void)
{
	static const enum mode modes[] = { REFUSE, ANSWER_LESS, COUNT_LESS, HANG_UP };

	descriptor(&bed, 0, CHAIN, 0, BOTH, TARGET, CMB, 5000);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		run(modes[i], 1);
		WANT(untouched() && error() == IOAT_ERR_READ_DATA && client.reads == 1);
	}
}

void test_ioat_foreign(void)
{
	bed_make(&bed);
	test_lengths();
	test_known();
	test_meanwhile();
	test_bad_clients();
	bed_end(&bed);
}
