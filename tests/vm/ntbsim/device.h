/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device: configuration space, interrupts, the guest's memory, and the connected client, if any.
 * Its registers are in the models: ntb.c, ioat.c.
 *
 * Each device has a thread, which takes the client's messages in order and does the device's own
 * work between them. When a client disconnects, its memory and interrupts are removed; the device
 * is reset and waits for the next.
 */
#ifndef NTBSIM_DEVICE_H
#define NTBSIM_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "memory.h"
#include "pci.h"

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
	 * Protects pci, irq[] and the registers. The NTBs of a link share one, because each
	 * accesses the other. The holder may take send_lock or the lock of a struct memory, never
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

/*
 * Initialize. The device listens at @path; without a path (unit tests) no client can connect. 0 or
 * a negative errno.
 */
int device_init(struct device *dev, const struct device_ops *ops, const struct pci_identity *id,
		const char *name, pthread_rwlock_t *lock, const char *path);
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
