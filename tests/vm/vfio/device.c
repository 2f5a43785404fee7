// SPDX-License-Identifier: GPL-2.0
/* A device: one client after another, messages and work in turns. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "protocol.h"

/* A client that takes no message for this long has stopped. */
#define SEND_SECONDS 2

int device_init(struct device *dev, const struct device_ops *ops, const struct pci_identity *id,
		const char *name, pthread_rwlock_t *lock, const char *dir)
{
	char path[PATH_MAX];

	dev->ops = ops;
	dev->id = id;
	dev->lock = lock;
	dev->fd = -1;
	dev->listener = -1;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	for (unsigned int i = 0; i < DEVICE_VECTORS; i++)
		dev->irq[i] = -1;
	pthread_mutex_init(&dev->send_lock, NULL);
	memory_init(&dev->memory);
	dev->message = malloc(sizeof(*dev->message));
	if (!dev->message)
		return -ENOMEM;
	device_reset(dev);
	snprintf(path, sizeof(path), "%s/%s", dir, dev->name);
	dev->listener = listen_at(path);
	return dev->listener < 0 ? dev->listener : 0;
}

void device_reset(struct device *dev)
{
	pthread_rwlock_wrlock(dev->lock);
	pci_reset(&dev->pci, dev->id);
	dev->ops->reset(dev);
	pthread_rwlock_unlock(dev->lock);
}

void device_drop_irqs(struct device *dev, unsigned int from, unsigned int count)
{
	for (unsigned int i = from; i < from + count && i < DEVICE_VECTORS; i++) {
		if (dev->irq[i] >= 0)
			close(dev->irq[i]);
		dev->irq[i] = -1;
	}
}

static bool lose_one(struct device *dev)
{
	unsigned int left = atomic_load(&dev->lose_irqs);

	while (left) {
		if (atomic_compare_exchange_weak(&dev->lose_irqs, &left, left - 1))
			return true;
	}
	return false;
}

bool device_interrupt(struct device *dev, unsigned int vector)
{
	uint64_t one = 1;

	if (vector >= DEVICE_VECTORS || dev->irq[vector] < 0) {
		count(&dev->counters, COUNT_interrupts_moot);
	} else if (lose_one(dev)) {
		count(&dev->counters, COUNT_interrupts_lost);
		return false;
	} else if (write(dev->irq[vector], &one, sizeof(one)) == sizeof(one)) {
		count(&dev->counters, COUNT_interrupts);
	}
	return true;
}

int device_message(struct device *dev, uint64_t address, const void *data, size_t len)
{
	int rc = -ENOTCONN;

	pthread_mutex_lock(&dev->send_lock);
	if (dev->fd >= 0)
		rc = vfu_dma_write(dev->fd, dev->next_id++, address, data, len);
	/* half a message may have been sent */
	if (rc && rc != -ENOTCONN)
		shutdown(dev->fd, SHUT_RDWR);
	pthread_mutex_unlock(&dev->send_lock);
	return rc;
}

static bool is_answer(const struct vfu_header *header, uint16_t command, uint16_t id)
{
	return (header->flags & VFU_TYPE_MASK) == VFU_TYPE_REPLY && header->command == command &&
	       header->id == id;
}

/* Receive messages until the answer is in dev->message. */
static int await_answer(struct device *dev, uint16_t command, uint16_t id)
{
	struct vfu_message *msg = dev->message;
	int rc;

	for (;;) {
		rc = vfu_receive(dev->fd, msg);
		if (rc || is_answer(&msg->header, command, id))
			return rc;
		rc = client_message(dev, msg);
		vfu_release(msg);
		if (rc)
			return rc;
	}
}

static int take_answer(struct vfu_message *msg, void *data, size_t len)
{
	const struct vfu_dma *dma = (const void *)msg->body;

	if (msg->header.flags & VFU_ERROR)
		return -EFAULT;
	if (msg->len != sizeof(*dma) + len || dma->count != len)
		return -EPROTO;
	memcpy(data, dma->data, len);
	return 0;
}

int device_fetch(struct device *dev, uint64_t address, void *data, size_t len)
{
	uint16_t id;
	int rc;

	if (dev->fd < 0)
		return -ENOTCONN;
	pthread_mutex_lock(&dev->send_lock);
	id = dev->next_id++;
	rc = vfu_dma_read(dev->fd, id, address, len);
	pthread_mutex_unlock(&dev->send_lock);
	if (!rc)
		rc = await_answer(dev, VFU_DMA_READ, id);
	if (!rc) {
		rc = take_answer(dev->message, data, len);
		vfu_release(dev->message);
	}
	/* serve() then finds the end of the stream */
	if (rc && rc != -EFAULT)
		shutdown(dev->fd, SHUT_RDWR);
	return rc;
}

static void set_client(struct device *dev, int fd)
{
	pthread_mutex_lock(&dev->send_lock);
	dev->fd = fd;
	pthread_mutex_unlock(&dev->send_lock);
	pthread_rwlock_wrlock(dev->lock);
	dev->ops->attach(dev, fd >= 0);
	pthread_rwlock_unlock(dev->lock);
}

/* The guest's state is gone before the next client may connect. */
static void lose_client(struct device *dev)
{
	int fd = dev->fd;

	set_client(dev, -1);
	close(fd);
	pthread_rwlock_wrlock(dev->lock);
	device_drop_irqs(dev, 0, DEVICE_VECTORS);
	pthread_rwlock_unlock(dev->lock);
	memory_clear(&dev->memory);
	device_reset(dev);
}

/* Wait for a message, but no longer than until there is work to do. */
static bool has_message(struct device *dev, long microseconds)
{
	struct pollfd p = { .fd = dev->fd, .events = POLLIN };
	struct timespec wait = { microseconds / 1000000, microseconds % 1000000 * 1000 };

	return ppoll(&p, 1, microseconds == DEVICE_IDLE ? NULL : &wait, NULL) > 0;
}

static void serve(struct device *dev)
{
	struct vfu_message *msg = dev->message;
	int rc = 0;

	while (!rc) {
		if (!has_message(dev, dev->ops->work ? dev->ops->work(dev) : DEVICE_IDLE))
			continue;
		rc = vfu_receive(dev->fd, msg);
		if (!rc) {
			rc = client_message(dev, msg);
			vfu_release(msg);
		}
	}
	if (rc != -ECONNRESET)
		fprintf(stderr, "%s: the client makes no sense: %s\n", dev->name, strerror(-rc));
}

static void *device_main(void *arg)
{
	struct timeval limit = { .tv_sec = SEND_SECONDS };
	struct device *dev = arg;
	int fd;

	for (;;) {
		fd = accept4(dev->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		count(&dev->counters, COUNT_connections);
		set_client(dev, fd);
		serve(dev);
		lose_client(dev);
	}
	return NULL;
}

int device_start(struct device *dev)
{
	int rc = pthread_create(&dev->thread, NULL, device_main, dev);

	if (!rc)
		pthread_setname_np(dev->thread, dev->name);
	return -rc;
}

/* ---- configuration space ---- */

#define CAPABILITIES	0x10	/* status: there is a capability list */
#define ID_EXPRESS	0x10
#define ID_MSIX		0x11
/*
 * An endpoint integrated in the root complex, as both devices are (capability version 2, type 9).
 */
#define EXPRESS_FLAGS	0x0092

void pci_put(struct pci *pci, unsigned int offset, uint64_t value, size_t len)
{
	memcpy(pci->config + offset, &value, len);
}

uint64_t pci_get(const struct pci *pci, unsigned int offset, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, pci->config + offset, len);
	return value;
}

static void allow(struct pci *pci, unsigned int offset, uint64_t bits, size_t len)
{
	memcpy(pci->writable + offset, &bits, len);
}

static void put_bars(struct pci *pci, const struct pci_identity *id)
{
	for (unsigned int i = 0; i < PCI_BARS; i += 2) {
		unsigned int at = PCI_AT_BAR0 + 4 * i;

		pci->bar[i] = id->bar[i];
		if (!id->bar[i])
			continue;
		pci_put(pci, at, 0x4 | (id->prefetchable & (1u << i) ? 0x8 : 0), 8);
		allow(pci, at, ~(id->bar[i] - 1), 8);
	}
}

void pci_reset(struct pci *pci, const struct pci_identity *id)
{
	memset(pci, 0, sizeof(*pci));
	pci_put(pci, 0x00, id->vendor, 2);
	pci_put(pci, 0x02, id->device, 2);
	pci_put(pci, 0x06, CAPABILITIES, 2);
	pci_put(pci, 0x08, (uint64_t)id->class << 8 | id->revision, 4);
	pci_put(pci, 0x2c, id->vendor, 2);
	pci_put(pci, 0x34, PCI_AT_MSIX, 1);
	allow(pci, PCI_AT_COMMAND, PCI_MEMORY | PCI_MASTER | 0x400, 2);
	put_bars(pci, id);

	pci_put(pci, PCI_AT_MSIX, ID_MSIX | PCI_AT_EXPRESS << 8, 2);
	pci_put(pci, PCI_AT_MSIX + 2, id->vectors - 1, 2);
	allow(pci, PCI_AT_MSIX + 2, 0xc000, 2);
	pci_put(pci, PCI_AT_MSIX + 4, id->msix_table, 4);
	pci_put(pci, PCI_AT_MSIX + 8, id->msix_pending, 4);

	pci_put(pci, PCI_AT_EXPRESS, ID_EXPRESS, 2);
	pci_put(pci, PCI_AT_EXPRESS + 2, EXPRESS_FLAGS, 2);
	allow(pci, PCI_AT_EXPRESS + 8, 0x7fff, 2);
}

void pci_read(const struct pci *pci, uint64_t offset, void *data, size_t len)
{
	size_t there = 0;

	if (offset < PCI_CONFIG_SIZE)
		there = len < PCI_CONFIG_SIZE - offset ? len : PCI_CONFIG_SIZE - offset;
	memcpy(data, pci->config + (there ? offset : 0), there);
	memset((uint8_t *)data + there, 0xff, len - there);
}

void pci_write(struct pci *pci, uint64_t offset, const void *data, size_t len)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < len && offset < PCI_CONFIG_SIZE; i++, offset++) {
		uint8_t mask = pci->writable[offset];

		pci->config[offset] = (pci->config[offset] & ~mask) | (byte[i] & mask);
	}
}

uint64_t pci_base(const struct pci *pci, unsigned int bar)
{
	return pci_get(pci, PCI_AT_BAR0 + 4 * bar, 8) & ~0xfull;
}

bool pci_claims(const struct pci *pci, unsigned int bar, uint64_t address, size_t len)
{
	uint64_t base = pci_base(pci, bar);

	return pci->bar[bar] && base && (pci_get(pci, PCI_AT_COMMAND, 2) & PCI_MEMORY) &&
	       address >= base && len <= pci->bar[bar] && address - base <= pci->bar[bar] - len;
}

bool pci_is_master(const struct pci *pci)
{
	return pci_get(pci, PCI_AT_COMMAND, 2) & PCI_MASTER;
}
