/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device: configuration space, interrupts, the guest's memory, and the client that is connected
 * to it, if any. What its registers do is the model's: ntb.c, ioat.c.
 *
 * Each device has a thread, which takes the client's messages in their order and does the device's
 * own work between them. A client that goes away takes its memory and interrupts along; the device
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

#define DEVICE_VECTORS	33
#define DEVICE_IDLE	(-1)

struct device;
struct vfu_message;

struct device_ops {
	/* Registers as after power-on. Under the device's lock, for writing. */
	void (*reset)(struct device *dev);
	/* A client has come or gone. Under the device's lock, for writing. */
	void (*attach)(struct device *dev, bool there);
	/* CPU accesses that lie wholly in that BAR, whatever their size. Without the lock. */
	void (*read)(struct device *dev, unsigned int bar, uint64_t offset, void *data, size_t len);
	void (*write)(struct device *dev, unsigned int bar, uint64_t offset, const void *data,
		      size_t len);
	/*
	 * Go on with what is to be done; microseconds until there is more, or DEVICE_IDLE. May be
	 * NULL.
	 */
	long (*work)(struct device *dev);
};

struct device {
	const struct device_ops *ops;
	const struct pci_identity *id;
	char name[16];
	pthread_t thread;
	/*
	 * Protects pci, irq[] and the registers. The NTBs of a link share one, as each acts on the
	 * other. Who holds it may take send_lock or the lock of a struct memory, never another
	 * device's.
	 */
	pthread_rwlock_t *lock;
	struct pci pci;
	int irq[DEVICE_VECTORS];	/* eventfds, or -1 */
	struct memory memory;
	struct counters counters;
	atomic_uint lose_irqs;		/* fault switch: how many more interrupts get lost */
	int listener;
	pthread_mutex_t send_lock;	/* whole messages on the stream; protects fd and next_id */
	int fd;				/* the client, or -1. Written by the thread alone */
	uint16_t next_id;
	struct vfu_message *message;	/* the thread's */
};

/*
 * Make it; it listens at @path, or can't be connected to if that is NULL (unit tests). 0 or a
 * negative errno.
 */
int device_init(struct device *dev, const struct device_ops *ops, const struct pci_identity *id,
		const char *name, pthread_rwlock_t *lock, const char *path);
int device_start(struct device *dev);

/* Under the device's lock: an edge on that vector. False if the fault switch has swallowed it. */
bool device_interrupt(struct device *dev, unsigned int vector);
/* A write of an interrupt message to the guest's bus. 0 or a negative errno. */
int device_message(struct device *dev, uint64_t address, const void *data, size_t len);

/* For client.c: a client has gone, or wants a reset. */
void device_reset(struct device *dev);
void device_drop_irqs(struct device *dev, unsigned int from, unsigned int count);

/* client.c: the meaning of one message. 0, or a negative errno if the stream is of no more use. */
int client_message(struct device *dev, struct vfu_message *msg);

#endif
