/* SPDX-License-Identifier: GPL-2.0 */
/*
 * device.h - a device, and what it consists of: counters, the memory of its guest, configuration
 * space
 */
#ifndef VFIO_DEVICE_H
#define VFIO_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"	/* of the simulator: MODEL_COUNTERS */

/* Counters of a device: exact, from its first connection on. A reader computes differences. */

/* One row for each counter: name, description */
#define COUNTER_TABLE(ROW) \
	ROW(connections,	"clients that have connected") \
	ROW(resets,		"resets asked for by the client") \
	ROW(mmio_reads,		"CPU reads of registers") \
	ROW(mmio_writes,	"CPU writes to registers") \
	ROW(mmio_refused,	"accesses to nothing, or of a size or at a place that no register has") \
	ROW(config_reads,	"reads of configuration space") \
	ROW(config_writes,	"writes to configuration space") \
	ROW(interrupts,		"interrupts sent to the guest") \
	ROW(interrupts_lost,	"interrupts that a fault switch swallowed") \
	ROW(interrupts_moot,	"interrupts without a vector to go to") \
	MODEL_COUNTERS(ROW)

enum counter {
#define COUNTER_ENUM(name, ...) COUNT_##name,
	COUNTER_TABLE(COUNTER_ENUM)
#undef COUNTER_ENUM
	COUNTERS
};

struct counters {
	_Atomic uint64_t value[COUNTERS];
};

/* Relaxed: counters are not ordered among themselves. */
static inline void count_add(struct counters *counters, enum counter which, uint64_t amount)
{
	atomic_fetch_add_explicit(&counters->value[which], amount, memory_order_relaxed);
}

static inline void count(struct counters *counters, enum counter which)
{
	count_add(counters, which, 1);
}

static inline uint64_t counted(const struct counters *counters, enum counter which)
{
	return atomic_load_explicit(&counters->value[which], memory_order_relaxed);
}

/* The memory of a guest for one of its devices: what the client has mapped for it. */

#define MEMORY_RANGES 256

struct memory_range {
	uint64_t address;	/* on the guest's bus */
	uint64_t size;
	uint8_t *host;		/* where it is mapped here */
	bool writable;
};

/* @lock is held for reading while bytes are accessed, for writing while ranges change. */
struct memory {
	pthread_rwlock_t lock;
	struct memory_range range[MEMORY_RANGES];	/* sorted by address, disjoint */
	unsigned int ranges;
};

void memory_init(struct memory *mem);
void memory_clear(struct memory *mem);

/* All return 0 or a negative errno. The caller keeps the file descriptor. */
int memory_map(struct memory *mem, uint64_t address, uint64_t size, int fd, uint64_t offset,
	       bool writable);
int memory_unmap(struct memory *mem, uint64_t address, uint64_t size);

/* -EFAULT: not all of it is mapped; then nothing was copied. */
int memory_read(struct memory *mem, uint64_t address, void *data, size_t len);
int memory_write(struct memory *mem, uint64_t address, const void *data, size_t len);

/*
 * memory_copy() - from one guest's memory to the same or another's
 *
 * Aligned units of 1, 2, 4 and 8 bytes arrive in one piece. What was copied is visible before
 * anything that the caller does next, as with posted writes on PCI Express.
 *
 * Return: 0, MEMORY_NO_SOURCE or MEMORY_NO_TARGET; then nothing has been touched.
 */
enum { MEMORY_NO_SOURCE = 1, MEMORY_NO_TARGET };
int memory_copy(struct memory *to, uint64_t target, struct memory *from, uint64_t source,
		size_t len);

/*
 * Configuration space of an endpoint: registers that the client reads once, and the few that have a
 * meaning later. Base addresses are ordinary writes for the device. The client has the MSI-X table;
 * the device only tells its address.
 */

#define PCI_CONFIG_SIZE	4096
#define PCI_BARS	6

#define PCI_AT_COMMAND	0x04
#define PCI_AT_BAR0	0x10
/* where the drivers expect it: GEN3_DEVCTRL_OFFSET is 0x98 */
#define PCI_AT_EXPRESS	0x90
#define PCI_AT_MSIX	0x80

#define PCI_MEMORY	0x2
#define PCI_MASTER	0x4

struct pci_identity {
	uint16_t vendor;
	uint16_t device;
	uint32_t class;		/* 24 bits */
	uint8_t revision;
	unsigned int vectors;
	uint32_t msix_table;	/* offset in BAR 0 */
	uint32_t msix_pending;
	uint64_t bar[PCI_BARS];	/* sizes; the second entry of a 64-bit BAR is 0 */
	unsigned int prefetchable;	/* a bit for each BAR */
};

struct pci {
	uint8_t config[PCI_CONFIG_SIZE];
	uint8_t writable[PCI_CONFIG_SIZE];	/* bits that a write changes */
	uint64_t bar[PCI_BARS];
};

void pci_reset(struct pci *pci, const struct pci_identity *id);

/* Bytes behind the end read as ones and are not written. */
void pci_read(const struct pci *pci, uint64_t offset, void *data, size_t len);
void pci_write(struct pci *pci, uint64_t offset, const void *data, size_t len);

/* For use by the device itself. */
void pci_put(struct pci *pci, unsigned int offset, uint64_t value, size_t len);
uint64_t pci_get(const struct pci *pci, unsigned int offset, size_t len);

uint64_t pci_base(const struct pci *pci, unsigned int bar);
bool pci_claims(const struct pci *pci, unsigned int bar, uint64_t address, size_t len);
bool pci_is_master(const struct pci *pci);

/*
 * A device: configuration space, interrupts, the guest's memory, and the connected client, if any.
 * Its registers are in the models of a simulator.
 *
 * Each device has a thread, which takes the client's messages in order and does the device's own
 * work between them. When a client disconnects, its memory and interrupts are removed; the device
 * is reset and waits for the next.
 */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define DEVICE_VECTORS	33
#define DEVICE_IDLE	(-1)

struct device;
struct vfu_message;

struct device_ops {
	/* Registers as after power-on. Under the device's lock, for writing. */
	void (*reset)(struct device *dev);
	/* A client has connected or disconnected. Under the device's lock, for writing. */
	void (*attach)(struct device *dev, bool there);
	/* CPU accesses within that BAR, of any size. Without the lock. */
	void (*read)(struct device *dev, unsigned int bar, uint64_t offset, void *data, size_t len);
	void (*write)(struct device *dev, unsigned int bar, uint64_t offset, const void *data,
		      size_t len);
	/*
	 * Do some work; return the microseconds until there is more, or DEVICE_IDLE. May be NULL.
	 */
	long (*work)(struct device *dev);
};

struct device {
	const struct device_ops *ops;
	const struct pci_identity *id;
	char name[16];
	pthread_t thread;
	/*
	 * Protects pci, irq[] and the registers. Devices that access one another share one. The
	 * holder may take send_lock or the lock of a struct memory, never
	 * another device's.
	 */
	pthread_rwlock_t *lock;
	struct pci pci;
	int irq[DEVICE_VECTORS];	/* eventfds, or -1 */
	struct memory memory;
	struct counters counters;
	atomic_uint lose_irqs;		/* fault switch: number of interrupts that will get lost */
	int listener;
	pthread_mutex_t send_lock;	/* keeps messages whole; protects fd and next_id */
	int fd;				/* the client, or -1. Written by the thread only */
	uint16_t next_id;
	struct vfu_message *message;	/* owned by the thread */
};

/* Initialize. The device listens at @dir/@name. 0 or a negative errno. */
int device_init(struct device *dev, const struct device_ops *ops, const struct pci_identity *id,
		const char *name, pthread_rwlock_t *lock, const char *dir);
int device_start(struct device *dev);

/* Under the device's lock: an edge on that vector. False if the fault switch has dropped it. */
bool device_interrupt(struct device *dev, unsigned int vector);
/* Write an interrupt message to the guest's bus. 0 or a negative errno. */
int device_message(struct device *dev, uint64_t address, const void *data, size_t len);

/*
 * Read from the guest's bus what is no memory of the guest: have the client do it, and handle its
 * other messages until the answer comes. So registers may be written meanwhile. The device's thread
 * only, without a lock. 0; -EFAULT: there is nothing at @address; another negative errno if the
 * stream can't be used any more.
 */
int device_fetch(struct device *dev, uint64_t address, void *data, size_t len);

/* For client.c: a client has disconnected, or requests a reset. */
void device_reset(struct device *dev);
void device_drop_irqs(struct device *dev, unsigned int from, unsigned int count);

/* client.c: handle one message. 0, or a negative errno if the stream can't be used any more. */
int client_message(struct device *dev, struct vfu_message *msg);

#endif
