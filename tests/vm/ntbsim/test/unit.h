/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the devices without QEMU: two hosts with files as memory; register accesses are function
 * calls.
 */
#ifndef NTBSIM_UNIT_H
#define NTBSIM_UNIT_H

#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define RAM_SIZE	(4u << 20)
/* BAR addresses, as assigned by the guests' kernels */
#define BASE_REGISTERS	0xe0000000ull
#define BASE_WINDOW1	0xe1000000ull
#define BASE_WINDOW2	0xe2000000ull
#define WINDOW_SIZE	(1u << 20)

#define WANT(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

struct bed {
	struct world world;
	uint8_t *ram[2];
	int file[2];
	int event[2][DEVICE_VECTORS];		/* of the NTBs */
	int dma_event[2][IOAT_CHANNELS];
};

/*
 * Create a world with clients that have set up everything, and with the link enabled on both ends.
 */
void bed_make(struct bed *bed);
void bed_end(struct bed *bed);

uint64_t reg_read(struct device *dev, unsigned int bar, uint64_t offset, size_t len);
void reg_write(struct device *dev, unsigned int bar, uint64_t offset, uint64_t value, size_t len);
/* Interrupts since the last call */
unsigned int events(int fd);
/* Show that much of an end's memory at @base, as intel_ntb3_mw_set_trans() does. */
void open_window(struct bed *bed, unsigned int side, unsigned int bar, uint64_t base,
		 uint64_t size);

/* Do what ioat_alloc_chan_resources() does: completion record at @record, chain at @chain. */
void channel_setup(struct bed *bed, unsigned int side, unsigned int number, uint64_t record,
		   uint64_t chain);
void channel_write(struct bed *bed, unsigned int side, unsigned int number, unsigned int reg,
		   uint64_t value, size_t len);
/* Descriptor @n of a chain of consecutive ones. */
void descriptor(struct bed *bed, unsigned int side, uint64_t chain, unsigned int n,
		uint32_t control, uint64_t target, uint64_t source, uint32_t size);
/* Allow @count descriptors and work until there is nothing left. */
void channel_run(struct bed *bed, unsigned int side, unsigned int number, uint16_t count);

void test_ntb(void);
void test_windows(void);
void test_crowd(void);
void test_fuzz(void);

#endif
