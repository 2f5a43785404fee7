/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The vfio-user protocol, as far as QEMU uses it for a PCI device: messages over a stream socket in
 * host byte order. Layouts as in QEMU's docs/interop/vfio-user.rst, whose structures are those of
 * linux/vfio.h.
 */
#ifndef VFIO_PROTOCOL_H
#define VFIO_PROTOCOL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP,
	VFU_DMA_UNMAP,
	VFU_DEVICE_INFO,
	VFU_REGION_INFO,
	VFU_REGION_IO_FDS,
	VFU_IRQ_INFO,
	VFU_SET_IRQS,
	VFU_REGION_READ,
	VFU_REGION_WRITE,
	VFU_DMA_READ,
	VFU_DMA_WRITE,
	VFU_DEVICE_RESET,
};

/* vfu_header.flags */
#define VFU_TYPE_MASK	0xf
#define VFU_TYPE_REPLY	0x1
#define VFU_NO_REPLY	0x10
#define VFU_ERROR	0x20

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* of the whole message with this header */
	uint32_t flags;
	uint32_t error;		/* errno */
};
static_assert(sizeof(struct vfu_header) == 16, "header");

struct vfu_version {
	uint16_t major;
	uint16_t minor;
	char json[];
};
static_assert(sizeof(struct vfu_version) == 4, "version");

#define VFU_MAP_READ	0x1
#define VFU_MAP_WRITE	0x2
struct vfu_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t size;
};
static_assert(sizeof(struct vfu_map) == 32, "map");

#define VFU_UNMAP_ALL	0x2
struct vfu_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t address;
	uint64_t size;
};
static_assert(sizeof(struct vfu_unmap) == 24, "unmap");

#define VFU_DEVICE_CAN_RESET	0x1
#define VFU_DEVICE_IS_PCI	0x2
struct vfu_device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t regions;
	uint32_t irqs;
};
static_assert(sizeof(struct vfu_device_info) == 16, "device info");

/* Regions and interrupts have fixed numbers, see enum in linux/vfio.h. */
#define VFU_REGION_CONFIG	7
#define VFU_REGIONS		9
#define VFU_IRQ_MSIX		2
#define VFU_IRQS		5

#define VFU_REGION_CAN_READ	0x1
#define VFU_REGION_CAN_WRITE	0x2
struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t capabilities;
	uint64_t size;
	uint64_t offset;
};
static_assert(sizeof(struct vfu_region_info) == 32, "region info");

#define VFU_IRQ_EVENTFD	0x1
struct vfu_irq_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};
static_assert(sizeof(struct vfu_irq_info) == 16, "irq info");

#define VFU_SET_NONE	0x1
#define VFU_SET_EVENTFD	0x4
#define VFU_SET_TRIGGER	0x20
struct vfu_set_irqs {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
};
static_assert(sizeof(struct vfu_set_irqs) == 20, "set irqs");

struct vfu_region_io {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[];
};
static_assert(sizeof(struct vfu_region_io) == 16, "region io");

struct vfu_dma {
	uint64_t address;
	uint64_t count;
	uint8_t data[];
};
static_assert(sizeof(struct vfu_dma) == 16, "dma");

/* What the answer to VFU_VERSION offers */
#define VFU_MAX_FDS	8
#define VFU_MAX_DATA	(1u << 20)
#define VFU_MAX_BODY	(VFU_MAX_DATA + 64)

struct vfu_message {
	struct vfu_header header;
	uint32_t len;			/* of the body */
	unsigned int fds;
	int fd[VFU_MAX_FDS];		/* -1 once taken */
	uint8_t body[VFU_MAX_BODY] __attribute__((aligned(8)));
};

/*
 * vfu_receive() - wait for a message
 *
 * Return: 0, -ECONNRESET at the end of the stream, -EPROTO if it is invalid (the stream can't be
 * used any more then).
 */
int vfu_receive(int fd, struct vfu_message *msg);
/* Close descriptors that were not taken. */
void vfu_release(struct vfu_message *msg);

/* Answer, unless the sender does not want one. @error is an errno, 0 for success. */
int vfu_reply(int fd, const struct vfu_header *to, int error, const void *body, size_t len);

/*
 * Have the client write to the guest's bus, which is how interrupt messages are sent. The reply
 * need not be awaited.
 */
int vfu_dma_write(int fd, uint16_t id, uint64_t address, const void *data, size_t len);
/* Have the client read from the guest's bus. The reply is a struct vfu_dma with the bytes. */
int vfu_dma_read(int fd, uint16_t id, uint64_t address, size_t len);

/*
 * Create a stream socket that listens at @path, and remove what was there. Return: a negative errno
 * on failure
 */
int listen_at(const char *path);

#endif
