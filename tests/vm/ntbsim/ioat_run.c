// SPDX-License-Identifier: GPL-2.0
/*
 * Execution of descriptors. A descriptor is read once, then checked: the guest may change it at any
 * time.
 */
#include <string.h>

#include "world.h"

/* Limits of one turn of a channel, after which other channels and registers have a turn */
#define TURN_DESCRIPTORS	64
#define TURN_BYTES		(4u << 20)
/* What one message reads from another device */
#define FETCH_BYTES		4096

static bool write_completion(struct ioat *ioat, struct ioat_channel *ch)
{
	uint64_t record = ch->last | ch->state;

	if ((ch->completion & 7) ||
	    memory_write(&ioat->dev.memory, ch->completion, &record, sizeof(record)))
		return false;
	count(&ioat->dev.counters, COUNT_completions);
	return true;
}

/*
 * ioat_cleanup() looks for a halt in the completion record and for its cause in CHANERR; ioat_eh()
 * calls BUG() for all but read and write errors, because only a driver can cause the others.
 */
static void halt(struct ioat *ioat, unsigned int number, uint32_t error)
{
	struct ioat_channel *ch = &ioat->channel[number];

	count(&ioat->dev.counters, COUNT_dma_errors);
	ch->error |= error;
	ch->state = IOAT_HALTED;
	if (ch->control & IOAT_CTRL_ERR_COMPLETE)
		write_completion(ioat, ch);
	if (ch->control & IOAT_CTRL_ERR_INT)
		ioat_interrupt(ioat, number);
}

static uint32_t fetch(struct ioat *ioat, struct ioat_channel *ch, struct ioat_descriptor *desc)
{
	if (ch->next & (sizeof(*desc) - 1))
		return IOAT_ERR_CHAIN_ADDR;
	if (!pci_is_master(&ioat->dev.pci) ||
	    memory_read(&ioat->dev.memory, ch->next, desc, sizeof(*desc)))
		return IOAT_ERR_NEXT_ADDR;
	return 0;
}

/* The switch that makes the n-th copy fail */
static uint32_t fail_now(struct ioat *ioat)
{
	unsigned int left = atomic_load(&ioat->fail_in);

	while (left) {
		if (atomic_compare_exchange_weak(&ioat->fail_in, &left, left - 1))
			return left == 1 ? atomic_load(&ioat->fail_with) : 0;
	}
	return 0;
}

/* Read the source from another device. The guest may write registers meanwhile. */
static uint32_t fetch_source(struct ioat *ioat, const struct ioat_descriptor *desc)
{
	uint8_t bytes[FETCH_BYTES];
	uint32_t at, len;

	for (at = 0; at < desc->size; at += len) {
		len = desc->size - at < sizeof(bytes) ? desc->size - at : sizeof(bytes);
		if (device_fetch(&ioat->dev, desc->source + at, bytes, len) ||
		    memory_write(&ioat->fetched, at, bytes, len))
			return IOAT_ERR_READ_DATA;
	}
	return 0;
}

static uint32_t copy(struct ioat *ioat, const struct ioat_channel *ch,
		     const struct ioat_descriptor *desc)
{
	struct memory *memory = &ioat->dev.memory, *from = memory;
	uint32_t error, restarts = ch->restarts;
	uint64_t source = desc->source;

	if (!desc->size || desc->size > 1u << IOAT_XFERCAP_LOG)
		return IOAT_ERR_LENGTH;
	error = fail_now(ioat);
	if (error)
		return error;
	if (!host_knows(ioat->host, memory, source)) {
		error = fetch_source(ioat, desc);
		if (error || ch->restarts != restarts)
			return error;
		from = &ioat->fetched;
		source = 0;
	}
	switch (host_copy(ioat->host, memory, desc->target, from, source, desc->size)) {
	case HOST_READ_ERROR:
		return IOAT_ERR_READ_DATA;
	case HOST_WRITE_ERROR:
		return IOAT_ERR_WRITE_DATA;
	}
	count(&ioat->dev.counters, COUNT_descriptors);
	count_add(&ioat->dev.counters, COUNT_dma_bytes, desc->size);
	if (from == &ioat->fetched)
		count_add(&ioat->dev.counters, COUNT_foreign_bytes, desc->size);
	return 0;
}

static uint32_t execute(struct ioat *ioat, const struct ioat_channel *ch,
			const struct ioat_descriptor *desc)
{
	if (desc->control >> IOAT_DESC_OP_SHIFT != IOAT_OP_COPY)
		return IOAT_ERR_CONTROL;
	if (!(desc->control & IOAT_DESC_NULL))
		return copy(ioat, ch, desc);
	count(&ioat->dev.counters, COUNT_descriptors_null);
	return 0;
}

/* The descriptor was executed: report it as it requests. */
static uint32_t complete(struct ioat *ioat, unsigned int number, const struct ioat_descriptor *desc)
{
	struct ioat_channel *ch = &ioat->channel[number];

	ch->last = ch->next;
	ch->next = desc->next;
	ch->done++;
	if (ch->done == ch->count)
		ch->state = IOAT_DONE;
	if ((desc->control & IOAT_DESC_COMPLETE) && !write_completion(ioat, ch))
		return IOAT_ERR_COMPLETION;
	if (desc->control & IOAT_DESC_INT)
		ioat_interrupt(ioat, number);
	return 0;
}

/* Slow DMA: a copy begins after its delay. Return: does it have to wait? */
static bool wait_for(struct ioat *ioat, struct ioat_channel *ch)
{
	uint32_t slow = atomic_load(&ioat->slow_us);
	uint64_t now;

	if (!slow && !ch->ready_at)
		return false;
	now = ioat_now();
	if (!ch->ready_at)
		ch->ready_at = now + slow;
	if (now < ch->ready_at)
		return true;
	ch->ready_at = 0;
	return false;
}

bool ioat_run(struct ioat *ioat, unsigned int number)
{
	struct ioat_channel *ch = &ioat->channel[number];
	struct ioat_descriptor desc;
	uint32_t bytes = 0, restarts, error;

	for (unsigned int i = 0; i < TURN_DESCRIPTORS && bytes < TURN_BYTES; i++) {
		if (ch->state != IOAT_ACTIVE || ch->done == ch->count || wait_for(ioat, ch))
			return false;
		restarts = ch->restarts;
		error = fetch(ioat, ch, &desc);
		if (!error)
			error = execute(ioat, ch, &desc);
		if (ch->restarts != restarts)
			return true;	/* the guest has reset the channel during the copy */
		if (!error)
			error = complete(ioat, number, &desc);
		if (error) {
			halt(ioat, number, error);
			return false;
		}
		bytes += desc.size;
	}
	return true;
}
