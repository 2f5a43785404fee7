// SPDX-License-Identifier: GPL-2.0
/* Translation, limits, and accesses that passed them. */
#include <string.h>

#include "world.h"

/* Addresses of interrupt messages on this architecture */
#define MESSAGES_FROM	0xfee00000ull
#define MESSAGES_TO	0xfeefffffull

static struct ntb *peer_of(const struct ntb *ntb)
{
	return ntb->link->ntb[!ntb->side];
}

bool window_open(const struct ntb *ntb)
{
	return ntb->link->carries;
}

/*
 * What a limit register leaves of a window that begins at @base: nothing if it is equal, up to the
 * limit if that is in the window; otherwise it has no effect (datasheet, SBAR4LMT, notes).
 */
static uint64_t limited(uint64_t limit, uint64_t base, uint64_t size)
{
	if (limit < base || limit - base > size)
		return size;
	return limit - base;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * ntb_hw_gen3.c writes two limits. That of the external BAR is relative to the window's address on
 * the link. That of the internal BAR is set to the same address to close the window
 * (gen3_setup_b2b_mw()), but to the sum of the own BAR's base and the size to open it
 * (intel_ntb3_mw_set_trans()): it is compared with both.
 */
uint64_t window_room(const struct ntb *ntb, unsigned int bar)
{
	unsigned int at = bar == 2 ? 0 : NTB_WINDOW_STEP;
	uint64_t external = bar == 2 ? NTB_EM_BASE1 : NTB_EM_BASE2;
	uint64_t size = ntb->id.bar[bar];
	uint64_t limit = ntb_value(ntb, NTB_IM_XLIMIT + at, 8);

	return least(limited(ntb_value(ntb, NTB_EM_XLIMIT + at, 8), external, size),
		     least(limited(limit, external, size),
			   limited(limit, pci_base(&ntb->dev.pci, bar), size)));
}

static void miss(struct ntb *at)
{
	count(&at->dev.counters, COUNT_misses);
}

/* Translate an access behind @at; false if it is not permitted. */
static bool translate(struct ntb *at, unsigned int bar, uint64_t offset, size_t len,
		      uint64_t *address)
{
	uint64_t room = window_room(at, bar);

	*address = ntb_value(at, NTB_IM_XBASE + (bar == 2 ? 0 : NTB_WINDOW_STEP), 8) + offset;
	return len <= room && offset <= room - len && pci_is_master(&at->dev.pci);
}

static bool is_message(uint64_t address, size_t len)
{
	return len == 4 && !(address & 3) && address >= MESSAGES_FROM && address <= MESSAGES_TO;
}

static void message(struct ntb *at, uint64_t address, const void *data, size_t len)
{
	if (!device_message(&at->dev, address, data, len))
		count(&at->dev.counters, COUNT_msis);
}

void window_read(struct ntb *ntb, unsigned int bar, uint64_t offset, void *data, size_t len)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t address;

	if (window_open(ntb)) {
		if (translate(peer, bar, offset, len, &address) &&
		    !memory_read(&peer->dev.memory, address, data, len)) {
			count_add(&peer->dev.counters, COUNT_window_bytes_out, len);
			return;
		}
		miss(peer);
	}
	memset(data, 0xff, len);
}

void window_write(struct ntb *ntb, unsigned int bar, uint64_t offset, const void *data, size_t len)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t address;

	if (!window_open(ntb))
		count(&ntb->dev.counters, COUNT_dropped);
	else if (!translate(peer, bar, offset, len, &address))
		miss(peer);
	else if (is_message(address, len))
		message(peer, address, data, len);
	else if (memory_write(&peer->dev.memory, address, data, len))
		miss(peer);
	else
		count_add(&peer->dev.counters, COUNT_window_bytes_in, len);
}

int window_dma_write(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		     uint64_t source, size_t len)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t address;
	uint32_t data;

	count(&ntb->dev.counters, COUNT_window_dma_writes);
	if (!window_open(ntb)) {
		count(&ntb->dev.counters, COUNT_dropped);
		return 0;
	}
	if (!translate(peer, bar, offset, len, &address)) {
		miss(peer);
		return 0;
	}
	if (is_message(address, len)) {
		if (memory_read(memory, source, &data, sizeof(data)))
			return WINDOW_READ_ERROR;
		message(peer, address, &data, sizeof(data));
		return 0;
	}
	switch (memory_copy(&peer->dev.memory, address, memory, source, len)) {
	case MEMORY_NO_SOURCE:
		return WINDOW_READ_ERROR;
	case MEMORY_NO_TARGET:
		miss(peer);
		return 0;
	}
	count_add(&peer->dev.counters, COUNT_window_bytes_in, len);
	return 0;
}

int window_dma_read(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		    uint64_t target, size_t len)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t address;
	int rc;

	count(&ntb->dev.counters, COUNT_window_dma_reads);
	if (!window_open(ntb))
		return WINDOW_READ_ERROR;
	rc = MEMORY_NO_SOURCE;
	if (translate(peer, bar, offset, len, &address))
		rc = memory_copy(memory, target, &peer->dev.memory, address, len);
	if (rc == MEMORY_NO_SOURCE) {
		miss(peer);
		return WINDOW_READ_ERROR;
	}
	if (rc == MEMORY_NO_TARGET)
		return WINDOW_WRITE_ERROR;
	count_add(&peer->dev.counters, COUNT_window_bytes_out, len);
	return 0;
}
