/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a guest for one of its devices: what the client has mapped for it. */
#ifndef NTBSIM_MEMORY_H
#define NTBSIM_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
