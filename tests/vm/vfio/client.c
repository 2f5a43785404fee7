// SPDX-License-Identifier: GPL-2.0
/* Messages of the client: a table of commands, each with the minimum length of its body. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "protocol.h"

struct request {
	struct device *dev;
	struct vfu_message *msg;
};

static int answer(struct request *rq, int error, const void *body, size_t len)
{
	int rc;

	pthread_mutex_lock(&rq->dev->send_lock);
	rc = vfu_reply(rq->dev->fd, &rq->msg->header, error, body, len);
	pthread_mutex_unlock(&rq->dev->send_lock);
	return rc;
}

static int do_version(struct request *rq)
{
	struct {
		uint16_t major, minor;
		char json[128];
	} mine = { 0 };
	const struct vfu_version *theirs = (const void *)rq->msg->body;

	if (theirs->major != mine.major)
		return -EPROTONOSUPPORT;
	snprintf(mine.json, sizeof(mine.json),
		 "{\"capabilities\":{\"max_msg_fds\":%u,\"max_data_xfer_size\":%u,\"max_dma_maps\":%u}}",
		 VFU_MAX_FDS, VFU_MAX_DATA, MEMORY_RANGES);
	return answer(rq, 0, &mine, offsetof(typeof(mine), json) + strlen(mine.json) + 1);
}

/* This process can't access memory without a file: DMA of the guest to it fails, as it should. */
static int do_dma_map(struct request *rq)
{
	const struct vfu_map *map = (const void *)rq->msg->body;
	int rc = 0;

	if (rq->msg->fds)
		rc = memory_map(&rq->dev->memory, map->address, map->size, rq->msg->fd[0],
				map->offset, map->flags & VFU_MAP_WRITE);
	return answer(rq, -rc, NULL, 0);
}

static int do_dma_unmap(struct request *rq)
{
	const struct vfu_unmap *unmap = (const void *)rq->msg->body;
	int rc = 0;

	if (unmap->flags & VFU_UNMAP_ALL)
		memory_clear(&rq->dev->memory);
	else
		rc = memory_unmap(&rq->dev->memory, unmap->address, unmap->size);
	return answer(rq, -rc, unmap, sizeof(*unmap));
}

static int do_device_info(struct request *rq)
{
	struct vfu_device_info info = {
		.argsz = sizeof(info), .flags = VFU_DEVICE_CAN_RESET | VFU_DEVICE_IS_PCI,
		.regions = VFU_REGIONS, .irqs = VFU_IRQS,
	};

	return answer(rq, 0, &info, sizeof(info));
}

static uint64_t region_size(const struct device *dev, uint32_t index)
{
	if (index == VFU_REGION_CONFIG)
		return PCI_CONFIG_SIZE;
	return index < PCI_BARS ? dev->id->bar[index] : 0;
}

/*
 * The client may not map any region: every access must come here, so that translation and limits
 * hold.
 */
static int do_region_info(struct request *rq)
{
	struct vfu_region_info info;

	memcpy(&info, rq->msg->body, sizeof(info));
	info.argsz = sizeof(info);
	info.size = region_size(rq->dev, info.index);
	info.flags = info.size ? VFU_REGION_CAN_READ | VFU_REGION_CAN_WRITE : 0;
	info.offset = 0;
	info.capabilities = 0;
	return answer(rq, 0, &info, sizeof(info));
}

static int do_irq_info(struct request *rq)
{
	struct vfu_irq_info info;

	memcpy(&info, rq->msg->body, sizeof(info));
	info.argsz = sizeof(info);
	info.flags = VFU_IRQ_EVENTFD;
	info.count = info.index == VFU_IRQ_MSIX ? rq->dev->id->vectors : 0;
	return answer(rq, 0, &info, sizeof(info));
}

/* Vectors beyond the number of descriptors in the message lose theirs. */
static void take_irqs(struct device *dev, const struct vfu_set_irqs *set, struct vfu_message *msg)
{
	for (unsigned int i = 0; i < set->count; i++) {
		unsigned int vector = set->start + i;

		device_drop_irqs(dev, vector, 1);
		if (i >= msg->fds)
			continue;
		dev->irq[vector] = msg->fd[i];
		msg->fd[i] = -1;
	}
}

static int do_set_irqs(struct request *rq)
{
	const struct vfu_set_irqs *set = (const void *)rq->msg->body;
	struct device *dev = rq->dev;
	unsigned int vectors = dev->id->vectors;

	if (set->index != VFU_IRQ_MSIX)
		return answer(rq, 0, NULL, 0);
	if (set->start > vectors || set->count > vectors - set->start)
		return answer(rq, EINVAL, NULL, 0);
	pthread_rwlock_wrlock(dev->lock);
	if (set->flags & VFU_SET_EVENTFD)
		take_irqs(dev, set, rq->msg);
	else if ((set->flags & VFU_SET_NONE) && !set->count)
		device_drop_irqs(dev, 0, DEVICE_VECTORS);
	pthread_rwlock_unlock(dev->lock);
	return answer(rq, 0, NULL, 0);
}

static bool in_region(const struct device *dev, const struct vfu_region_io *io)
{
	uint64_t size = region_size(dev, io->region);

	return io->count && io->count <= VFU_MAX_DATA && io->count <= size &&
	       io->offset <= size - io->count;
}

static int do_region_read(struct request *rq)
{
	struct vfu_region_io *io = (void *)rq->msg->body;
	struct device *dev = rq->dev;

	if (!in_region(dev, io))
		return answer(rq, EINVAL, NULL, 0);
	if (io->region == VFU_REGION_CONFIG) {
		count(&dev->counters, COUNT_config_reads);
		pthread_rwlock_rdlock(dev->lock);
		pci_read(&dev->pci, io->offset, io->data, io->count);
		pthread_rwlock_unlock(dev->lock);
	} else {
		dev->ops->read(dev, io->region, io->offset, io->data, io->count);
	}
	return answer(rq, 0, io, sizeof(*io) + io->count);
}

static int do_region_write(struct request *rq)
{
	const struct vfu_region_io *io = (const void *)rq->msg->body;
	struct device *dev = rq->dev;

	if (!in_region(dev, io) || rq->msg->len - sizeof(*io) < io->count)
		return answer(rq, EINVAL, NULL, 0);
	if (io->region == VFU_REGION_CONFIG) {
		count(&dev->counters, COUNT_config_writes);
		pthread_rwlock_wrlock(dev->lock);
		pci_write(&dev->pci, io->offset, io->data, io->count);
		pthread_rwlock_unlock(dev->lock);
	} else {
		dev->ops->write(dev, io->region, io->offset, io->data, io->count);
	}
	return answer(rq, 0, io, sizeof(*io));
}

static int do_device_reset(struct request *rq)
{
	count(&rq->dev->counters, COUNT_resets);
	device_reset(rq->dev);
	return answer(rq, 0, NULL, 0);
}

static const struct {
	int (*handle)(struct request *rq);
	uint32_t least;
} commands[] = {
	[VFU_VERSION]		= { do_version,		sizeof(struct vfu_version) },
	[VFU_DMA_MAP]		= { do_dma_map,		sizeof(struct vfu_map) },
	[VFU_DMA_UNMAP]		= { do_dma_unmap,	sizeof(struct vfu_unmap) },
	[VFU_DEVICE_INFO]	= { do_device_info,	sizeof(struct vfu_device_info) },
	[VFU_REGION_INFO]	= { do_region_info,	sizeof(struct vfu_region_info) },
	[VFU_IRQ_INFO]		= { do_irq_info,	sizeof(struct vfu_irq_info) },
	[VFU_SET_IRQS]		= { do_set_irqs,	sizeof(struct vfu_set_irqs) },
	[VFU_REGION_READ]	= { do_region_read,	sizeof(struct vfu_region_io) },
	[VFU_REGION_WRITE]	= { do_region_write,	sizeof(struct vfu_region_io) },
	[VFU_DEVICE_RESET]	= { do_device_reset,	0 },
};

int client_message(struct device *dev, struct vfu_message *msg)
{
	struct request rq = { dev, msg };
	uint16_t command = msg->header.command;

	/* the result of an interrupt message of this device, which nothing needs */
	if ((msg->header.flags & VFU_TYPE_MASK) == VFU_TYPE_REPLY)
		return 0;
	if (command >= ARRAY_SIZE(commands) || !commands[command].handle)
		return answer(&rq, ENOTSUP, NULL, 0);
	if (msg->len < commands[command].least)
		return answer(&rq, EINVAL, NULL, 0);
	return commands[command].handle(&rq);
}
