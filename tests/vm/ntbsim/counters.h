/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a device: exact, from its first connection on. A reader computes differences. */
#ifndef NTBSIM_COUNTERS_H
#define NTBSIM_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

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
	ROW(doorbells,		"doorbells rung here by the peer") \
	ROW(doorbells_masked,	"... of which masked, or not yet cleared: no interrupt") \
	ROW(scratchpads,	"scratchpads written here by the peer") \
	ROW(msis,		"interrupt messages that the peer wrote through a window") \
	ROW(window_cpu_reads,	"CPU reads through a window, to the peer's memory") \
	ROW(window_cpu_writes,	"CPU writes through a window, to the peer's memory") \
	ROW(window_dma_reads,	"DMA reads through a window, from the peer's memory") \
	ROW(window_dma_writes,	"DMA writes through a window, to the peer's memory") \
	ROW(window_bytes_in,	"bytes that the peer has put here") \
	ROW(window_bytes_out,	"bytes that the peer has taken here") \
	ROW(misses,		"accesses of the peer that translation or limit refused") \
	ROW(dropped,		"writes to the peer that a dead link swallowed") \
	ROW(link_ups,		"times that the link came up") \
	ROW(link_downs,		"times that the link went down") \
	ROW(descriptors,	"DMA descriptors executed, copies only") \
	ROW(descriptors_null,	"DMA descriptors executed that copy nothing") \
	ROW(dma_bytes,		"bytes copied by DMA") \
	ROW(foreign_bytes,	"... of which read from memory of other devices, by messages") \
	ROW(register_writes,	"DMA writes to registers: doorbells, scratchpads") \
	ROW(completions,	"completion records written") \
	ROW(dma_errors,		"errors that halted a DMA channel")

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

#endif
