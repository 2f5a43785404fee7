/* SPDX-License-Identifier: GPL-2.0 */
/* counters.h - what is counted of bridges and engines, besides what is counted of every device */
#ifndef NTBSIM_COUNTERS_H
#define NTBSIM_COUNTERS_H

#define MODEL_COUNTERS(ROW) \
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

#endif
