// SPDX-License-Identifier: GPL-2.0
/* Messages, and commands of the control socket. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "protocol.h"
#include "unit.h"

static struct bed bed;

/* Send a message and check the answer. */
static void ask(struct device *dev, int end, uint16_t command, const void *body, uint32_t len,
		uint32_t error)
{
	struct vfu_message *msg = dev->message;
	struct vfu_header reply;
	char rest[128];

	memset(msg->body, 0, 256);
	msg->header = (struct vfu_header) {
		.id = 7, .command = command, .size = sizeof(reply) + len,
	};
	msg->len = len;
	memcpy(msg->body, body, len);
	WANT(!client_message(dev, msg));
	WANT(recv(end, &reply, sizeof(reply), MSG_DONTWAIT) == sizeof(reply));
	WANT(reply.id == 7 && reply.command == command && reply.error == error);
	WANT(reply.flags == (error ? VFU_TYPE_REPLY | VFU_ERROR : VFU_TYPE_REPLY));
	while (recv(end, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
}

static void test_region_io(struct device *dev, int end)
{
	struct vfu_region_io io = { .region = VFU_REGION_CONFIG, .count = 4 };

	ask(dev, end, VFU_REGION_READ, &io, sizeof(io), 0);
	ask(dev, end, VFU_REGION_READ, &io, sizeof(io) - 1, EINVAL);
	io.offset = PCI_CONFIG_SIZE - 3;
	ask(dev, end, VFU_REGION_READ, &io, sizeof(io), EINVAL);
	io.offset = ~0ull;
	ask(dev, end, VFU_REGION_READ, &io, sizeof(io), EINVAL);
	io = (struct vfu_region_io) { .region = 2, .count = VFU_MAX_DATA + 1 };
	ask(dev, end, VFU_REGION_READ, &io, sizeof(io), EINVAL);
	io = (struct vfu_region_io) { .region = 1, .count = 4 };
	ask(dev, end, VFU_REGION_READ, &io, sizeof(io), EINVAL);
	/* claims more bytes than it has */
	io = (struct vfu_region_io) { .region = 2, .count = 4096 };
	ask(dev, end, VFU_REGION_WRITE, &io, sizeof(io), EINVAL);
}

static void test_irqs(struct device *dev, int end)
{
	struct vfu_set_irqs set = {
		.index = VFU_IRQ_MSIX, .flags = VFU_SET_EVENTFD | VFU_SET_TRIGGER,
	};

	set.start = 30;
	set.count = 4;
	ask(dev, end, VFU_SET_IRQS, &set, sizeof(set), EINVAL);
	set.start = ~0u;
	ask(dev, end, VFU_SET_IRQS, &set, sizeof(set), EINVAL);
	set.start = 1;
	set.count = ~0u;
	ask(dev, end, VFU_SET_IRQS, &set, sizeof(set), EINVAL);
	set.start = 5;
	set.count = 3;
	ask(dev, end, VFU_SET_IRQS, &set, sizeof(set), 0);
	WANT(dev->irq[4] >= 0 && dev->irq[5] < 0 && dev->irq[7] < 0 && dev->irq[8] >= 0);
	set = (struct vfu_set_irqs) {
		.index = VFU_IRQ_MSIX, .flags = VFU_SET_NONE | VFU_SET_TRIGGER,
	};
	ask(dev, end, VFU_SET_IRQS, &set, sizeof(set), 0);
	WANT(dev->irq[4] < 0);
}

/* Messages with descriptors over a stream; streams that end or lie. */
static void test_stream(struct vfu_message *msg)
{
	struct vfu_header header = { .size = sizeof(header) + 4 };
	int pair[2];

	WANT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	WANT(write(pair[0], &header, sizeof(header)) == sizeof(header) &&
	     write(pair[0], "body", 4) == 4);
	WANT(!vfu_receive(pair[1], msg) && msg->len == 4 && !memcmp(msg->body, "body", 4));
	header.size = 15;
	WANT(write(pair[0], &header, sizeof(header)) == sizeof(header) &&
	     vfu_receive(pair[1], msg) == -EPROTO);
	header.size = sizeof(header) + VFU_MAX_BODY + 1;
	WANT(write(pair[0], &header, sizeof(header)) == sizeof(header) &&
	     vfu_receive(pair[1], msg) == -EPROTO);
	header.size = sizeof(header) + 10;
	WANT(write(pair[0], &header, sizeof(header)) == sizeof(header));
	close(pair[0]);
	WANT(vfu_receive(pair[1], msg) == -ECONNRESET);
	WANT(vfu_receive(pair[1], msg) == -ECONNRESET);
	close(pair[1]);
}

void test_client(void)
{
	struct vfu_map map = { .address = 0x1000, .size = 0x1000, .flags = VFU_MAP_WRITE };
	struct vfu_unmap unmap = { .flags = VFU_UNMAP_ALL };
	struct vfu_version version = { .major = 1 };
	struct device *dev;
	int pair[2];

	bed_make(&bed);
	dev = &bed.world.ntb[0][0].dev;
	WANT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	dev->fd = pair[0];
	dev->message->fds = 0;
	ask(dev, pair[1], 0, "", 0, ENOTSUP);
	ask(dev, pair[1], VFU_DMA_READ, "", 0, ENOTSUP);
	ask(dev, pair[1], 999, "", 0, ENOTSUP);
	ask(dev, pair[1], VFU_DMA_MAP, &map, sizeof(map) - 1, EINVAL);
	test_region_io(dev, pair[1]);
	test_irqs(dev, pair[1]);
	dev->message->fds = 1;
	dev->message->fd[0] = bed.file[0];
	ask(dev, pair[1], VFU_DMA_MAP, &map, sizeof(map), EEXIST);
	dev->message->fds = 0;
	ask(dev, pair[1], VFU_DMA_UNMAP, &unmap, sizeof(unmap), 0);
	WANT(!dev->memory.ranges);
	dev->message->header = (struct vfu_header) { .command = VFU_VERSION };
	memcpy(dev->message->body, &version, sizeof(version));
	dev->message->len = sizeof(version);
	WANT(client_message(dev, dev->message) == -EPROTONOSUPPORT);
	test_stream(dev->message);
	dev->fd = -1;
	close(pair[0]);
	close(pair[1]);
	bed_end(&bed);
}

static bool command(const char *words)
{
	char line[128], *answer;
	bool ok;

	snprintf(line, sizeof(line), "%s\n", words);
	answer = control_command(&bed.world, line);
	ok = !strncmp(answer, "{\"ok\":true", 10);
	free(answer);
	return ok;
}

void test_control(void)
{
	static const char *const good[] = {
		"stats", "counters", "link 0 down", "link 0 up", "link 0 delay 5", "link 0 flap 3 10 20",
		"link 0 stuck on", "link 0 stuck off", "link 0 dead-writes fail", "link 0 dead-writes drop",
		"dma.a fail-read 3", "dma.b fail-write 0", "dma.a slow 17", "ntb0.b lose-interrupts 2",
		"  dma.a   lose-interrupts 1 ",
	};
	static const char *const bad[] = {
		"", "stat", "stats x", "link", "link 1 down", "link -1 down", "link 0 sideways", "link 0 delay", "L 0 up",
		"link 0 delay 5x", "link 0 flap 1 2", "link 0 flap 1 2 3 4", "ntb0.a slow 3", "ntb1.a lose-interrupts 1",
		"dma.a slow 1000000001", "dma.a slow 99999999999999999999999", "dma.c slow 1", "link 0 stuck maybe",
	};

	bed_make(&bed);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		WANT(command(good[i]));
	WANT(bed.world.link[0].delay_ms == 5 && bed.world.link[0].flaps == 3);
	WANT(atomic_load(&bed.world.host[0].ioat.fail_in) == 3);
	WANT(atomic_load(&bed.world.host[0].ioat.fail_with) == IOAT_ERR_READ_DATA);
	WANT(atomic_load(&bed.world.host[0].ioat.slow_us) == 17);
	WANT(atomic_load(&bed.world.ntb[0][1].dev.lose_irqs) == 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		WANT(!command(bad[i]));
	bed_end(&bed);
}
