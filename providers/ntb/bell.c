// SPDX-License-Identifier: GPL-2.0
/*
 * bell.c - signals, with which a side wakes the other one.
 *
 * Each queue has doorbell bits of its own, if there are enough (ntw_bells()), so that a bridge with
 * several vectors can interrupt another CPU for each queue. A vector of several queues wakes all of
 * them. One of these bits is used, the others only if it does not ring.
 *
 * A bit that is rung while it is set causes no interrupt. So it stays set as long as the queue
 * handles records, and is cleared when there are none (nt_in_settle()): what the peer sends
 * meanwhile does not interrupt. The write that clears it takes time to reach the bridge, and a bit
 * that is rung meanwhile is cleared with it. A read comes behind that write, and what the peer has
 * written before it rang has arrived then. So the queue reads the register and looks at its rings
 * once more; answers have left by then, and do not wait for the read. Queues that share a bit do
 * the same. A ring behind the write of one of them interrupts it, even if another one clears the
 * bit after that.
 *
 * Without MSI, an interrupt comes again as long as its bit is set, so the handler clears it.
 *
 * If the interrupt itself was lost, its bit stays set and would never interrupt again. So all bits
 * are cleared at each heartbeat, before the rings are looked at.
 */
#include <linux/bitops.h>
#include <linux/io.h>
#include <linux/module.h>
#include <kfi_param.h>
#include "bridge.h"

static char nt_signal[8] = "auto";
KFI_PARAM_TEXT(signal, nt_signal, 0444,
	       "what rings the peer's doorbell: cpu, or auto: the engine, if it can (default auto)");

static bool nt_cpu_rings;

int nt_bell_check_params(void)
{
	nt_cpu_rings = !strcmp(nt_signal, "cpu");
	if (nt_cpu_rings || !strcmp(nt_signal, "auto"))
		return 0;
	pr_err("kfi_ntb: signal=%s is neither auto nor cpu\n", nt_signal);
	return -EINVAL;
}

/* One bit at a time: the drivers of such bridges ring the lowest one only. */
static void nt_bells_work(struct work_struct *work)
{
	struct nt_link *link = container_of(work, struct nt_link, bells.work);
	u64 due = atomic64_xchg(&link->bells.due, 0);

	for (; due; due &= due - 1)
		ntb_peer_db_set(link->ntb, due & -due);
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
	INIT_WORK(&bells->work, nt_bells_work);
	/* It takes a mutex, up to Linux 7.1. */
	bells->sleeps = nt_driver_is(link->ntb, "pci-vntb");
	bells->level = link->ntb->pdev && link->ntb->pdev->bus &&
		       !pci_dev_msi_enabled(link->ntb->pdev);
	bells->first = __ffs64(valid);
	while (bells->count < NTW_BELLS_MAX && bells->first + bells->count < 64 &&
	       valid >> (bells->first + bells->count) & 1)
		bells->bits |= BIT_ULL(bells->first + bells->count++);
	ntb_db_clear(link->ntb, bells->bits);
	return ntb_db_clear_mask(link->ntb, bells->bits);
}

void nt_bell_exit(struct nt_link *link)
{
	if (link->bells.sleeps)
		flush_work(&link->bells.work);
	ntb_db_set_mask(link->ntb, link->bells.bits);
	ntb_db_clear(link->ntb, link->bells.bits);
}

/*
 * The last bit. The first one of each queue must not be rung here, because the proof has to show
 * that the engine rings it.
 */
static unsigned int nt_bell_knocker(const struct nt_bells *bells)
{
	return bells->peer_count - 1;
}

void nt_bell_knock(struct nt_link *link)
{
	const struct nt_bells *bells = &link->bells;

	ntb_peer_db_set(link->ntb, BIT_ULL(bells->peer_first + nt_bell_knocker(bells)));
}

u64 nt_bell_used(const struct nt_link *link)
{
	unsigned int i;
	u64 used = 0;

	for (i = 0; i < link->queues; i++)
		used |= BIT_ULL(link->ring[i].bell);
	return used;
}

void nt_bell_try(struct nt_link *link)
{
	const struct nt_bells *bells = &link->bells;
	unsigned int i;

	for (i = 0; i < bells->peer_count; i++)
		ntb_peer_db_set(link->ntb, BIT_ULL(bells->peer_first + i));
}

void nt_bell_replace(struct nt_link *link, u64 rang)
{
	const struct nt_bells *bells = &link->bells;
	unsigned int i;
	u64 good;

	for (i = 0; i < link->queues; i++) {
		good = ntw_bells(i, link->queues, bells->peer_count) & rang;
		if (good)
			link->ring[i].bell = __ffs64(good);
	}
	link->bells.good = rang;
}

void nt_bell_no_engine(struct nt_link *link, const char *why)
{
	unsigned int i;

	for (i = 0; i < link->queues; i++)
		nt_engine_bell_close(&link->ring[i].engine);
	link->bells.why = why;
}

/* Let the engine of the queue write its doorbell. Return why it can't, or NULL */
static const char *nt_bell_dma(struct nt_link *link, struct nt_ring *ring)
{
	const struct nt_bells *bells = &link->bells;
	resource_size_t len;
	phys_addr_t at;
	u64 data;

	if (nt_cpu_rings)
		return "the parameter signal says so";
	if (!nt_engine_uses_chan(&ring->engine))
		return "there is no engine";
	if (ring->bell == nt_bell_knocker(bells))
		return "the CPU rings the bit, too, so the proof shows nothing about the engine";
	if (ntb_peer_db_addr(link->ntb, &at, &len, &data, bells->peer_first + ring->bell))
		return "the bridge has no doorbell for an engine";
	if (!nt_engine_bell(&ring->engine, at, len, data))
		return "the engine can't write what the driver of the bridge says";
	return NULL;
}

void nt_bell_open(struct nt_link *link)
{
	struct nt_bells *bells = &link->bells;
	const char *why = NULL;
	unsigned int i;

	bells->why = NULL;
	bells->good = U64_MAX;
	for (i = 0; i < link->queues; i++) {
		bells->wakes[i] = ntw_bells(i, link->queues, bells->count) << bells->first;
		link->ring[i].bell = __ffs64(ntw_bells(i, link->queues, bells->peer_count));
		why = why ?: nt_bell_dma(link, &link->ring[i]);
	}
	if (why)
		nt_bell_no_engine(link, why);
}

void nt_bell_ring(struct nt_ring *ring)
{
	struct nt_link *link = nt_ring_link(ring);
	const struct nt_bells *bells = &link->bells;
	/* At the end of a life the peer may have other bits already. */
	u64 bit = BIT_ULL((bells->peer_first +
			   (ring->bell < bells->peer_count ? ring->bell : 0)) & 63);

	/* A read does not overtake writes: when it has returned, they have arrived. */
	if (ring->flush)
		readl(link->win.peer);
	if (!bells->sleeps) {
		ntb_peer_db_set(link->ntb, bit);
		return;
	}
	atomic64_or(bit, &link->bells.due);
	queue_work(system_highpri_wq, &link->bells.work);
}

void nt_bell_settle(struct nt_ring *ring)
{
	struct nt_link *link = nt_ring_link(ring);

	ntb_db_clear(link->ntb, link->bells.wakes[ring->index]);
	ntb_db_read(link->ntb);
}

void nt_bell_revive(struct nt_link *link)
{
	ntb_db_clear(link->ntb, link->bells.bits);
}

/*
 * A bit is proved to interrupt if it is set in an interrupt of its vector. A vector may be that of
 * several bits, so the register is read. It does not say which of the bits that are set has
 * caused the interrupt, nor whether the peer's engine or its CPU has rung: the CPU rings the last
 * bit while the link comes up.
 */
static void nt_bell_proved(struct nt_link *link, u64 bits)
{
	struct nt_bells *bells = &link->bells;

	bits &= ntb_db_read(link->ntb);
	ntb_db_clear(link->ntb, bits);
	atomic64_or(bits >> bells->first, &bells->rang);
	nt_link_queue(link);
}

void nt_bell_received(struct nt_link *link, int vector)
{
	u64 bits = ntb_db_vector_mask(link->ntb, vector) & link->bells.bits;
	unsigned int i;

	if (!bits)
		return;
	atomic64_inc(&link->interrupts);
	if (READ_ONCE(link->state) != NT_LINK_UP)
		return nt_bell_proved(link, bits);
	if (link->bells.level)
		ntb_db_clear(link->ntb, bits);
	for (i = 0; i < READ_ONCE(link->queues); i++)
		if (bits & link->bells.wakes[i])
			nt_ring_rung(&link->ring[i]);
}
