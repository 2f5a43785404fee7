// SPDX-License-Identifier: GPL-2.0
/*
 * bell.c - signals, with which a side wakes the other one.
 *
 * Each queue has doorbell bits of its own, if there are enough (ntw_bell()), so that a bridge with
 * several vectors can interrupt another CPU for each queue. A vector of several queues wakes all of
 * them.
 *
 * The bits of a queue are used in turn. A bit that is rung while it is set causes no interrupt, and
 * a write that clears a bit takes time to reach the bridge. Only a read could tell whether that
 * write has arrived, and the data path does not read from the bridge. With several bits, other
 * signals are sent before the same bit is rung again. If a signal is lost nevertheless, the receiver looks
 * at its rings at its next heartbeat.
 */
#include <linux/bitops.h>
#include <linux/module.h>
#include "bridge.h"

static char *nt_signal = "auto";
module_param_named(signal, nt_signal, charp, 0444);
MODULE_PARM_DESC(signal,
		 "what rings the peer's doorbell: dma, cpu or auto (default auto)");

static enum nt_signal nt_mode;

int nt_bell_check_params(void)
{
	static const char * const modes[] = { "auto", "dma", "cpu" };
	int mode = sysfs_match_string(modes, nt_signal);

	if (mode < 0) {
		pr_err("kfi_ntb: signal=%s is none of auto, dma, cpu\n", nt_signal);
		return -EINVAL;
	}
	nt_mode = mode;
	return 0;
}

/* Use the lowest valid bits of our doorbell register that are adjacent */
int nt_bell_init(struct nt_link *link)
{
	u64 valid = ntb_db_valid_mask(link->ntb);
	struct nt_bells *bells = &link->bells;

	if (!valid) {
		dev_err(&link->ntb->dev, "no doorbell\n");
		return -ENODEV;
	}
	bells->first = __ffs64(valid);
	while (bells->count < NTW_BELLS_MAX && bells->first + bells->count < 64 &&
	       valid >> (bells->first + bells->count) & 1)
		bells->bits |= BIT_ULL(bells->first + bells->count++);
	ntb_db_clear(link->ntb, bells->bits);
	return ntb_db_clear_mask(link->ntb, bells->bits);
}

void nt_bell_exit(struct nt_link *link)
{
	ntb_db_set_mask(link->ntb, link->bells.bits);
	ntb_db_clear(link->ntb, link->bells.bits);
}

/* Let the engine write a doorbell, if the bridge has an address for it */
static bool nt_bell_dma(struct nt_link *link, struct nt_engine *engine, unsigned int bit)
{
	resource_size_t len;
	phys_addr_t at;
	u64 data;

	return !ntb_peer_db_addr(link->ntb, &at, &len, &data, bit) &&
	       nt_engine_bell(engine, at, len, data);
}

/* Return: false if the engine of the queue can write no doorbell */
static bool nt_bells_dma(struct nt_link *link, struct nt_ring *ring)
{
	const struct nt_bells *bells = &link->bells;
	unsigned int first = ntw_bell(ring->index, link->queues, bells->peer_count, 0);
	unsigned int turn = 0, bit = first;

	do {
		if (!nt_bell_dma(link, &ring->engine, bells->peer_first + bit))
			break;
		bit = ntw_bell(ring->index, link->queues, bells->peer_count, ++turn);
	} while (bit != first);
	return turn;
}

int nt_bell_open(struct nt_link *link)
{
	struct nt_bells *bells = &link->bells;
	unsigned int i, turn;
	bool dma = true;

	for (i = 0; i < link->queues; i++) {
		bells->wakes[i] = 0;
		for (turn = 0; turn < bells->count; turn++)
			bells->wakes[i] |= BIT_ULL(bells->first +
						   ntw_bell(i, link->queues, bells->count, turn));
		dma &= nt_mode != NT_SIGNAL_CPU && nt_bells_dma(link, &link->ring[i]);
	}
	if (dma || nt_mode != NT_SIGNAL_DMA)
		return 0;
	dev_err_ratelimited(&link->ntb->dev,
			    "signal=dma: there is no engine, or no doorbell that one can write\n");
	return -EOPNOTSUPP;
}

void nt_bell_ring(struct nt_ring *ring)
{
	struct nt_link *link = nt_ring_link(ring);
	unsigned int bit = ntw_bell(ring->index, READ_ONCE(link->queues), link->bells.peer_count,
				    ring->bell++);

	ntb_peer_db_set(link->ntb, BIT_ULL(link->bells.peer_first + bit));
}

void nt_bell_received(struct nt_link *link, int vector)
{
	u64 bits = ntb_db_vector_mask(link->ntb, vector) & link->bells.bits;
	unsigned int i;

	if (!bits)
		return;
	/* Clear the bits before the rings are read. A bit that is rung later interrupts again. */
	ntb_db_clear(link->ntb, bits);
	atomic64_inc(&link->interrupts);
	if (READ_ONCE(link->state) != NT_LINK_UP)
		nt_link_queue(link);
	else
		for (i = 0; i < READ_ONCE(link->queues); i++)
			if (bits & link->bells.wakes[i])
				nt_ring_schedule(&link->ring[i]);
}
