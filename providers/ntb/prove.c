// SPDX-License-Identifier: GPL-2.0
/*
 * prove.c - a link proves what works before it is up. After both hellos each side writes a word to
 * the end of the other's memory, because a window may show less than its driver says: the owner of
 * the memory then uses less of it in the next life. After that the engine of each queue writes some
 * bytes to the peer, and the doorbell of each queue is rung once. The peer reports what it has
 * seen. What does not work is left to the CPU, with a message that names it. What fails only later, or
 * only now and then, is found by the CRC and by timeouts. handshake.c carries the reports, with the
 * hello.
 */
#include "bridge.h"

/* milliseconds until the peer has reported what has arrived */
#define NT_PROVE_MS	1000

static u32 nt_prove_word(const struct nt_link *link, const __le64 *word)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), link->own_id, &value) ? value : 0;
}

static const struct ntw_ctl *nt_prove_ctl(const struct nt_link *link, unsigned int queue)
{
	return link->win.mem + ntw_queue_at(queue, link->win.ring);
}

/* Has the peer's engine written to a queue of ours what it should have? */
static bool nt_prove_seen(const struct nt_link *link, unsigned int queue)
{
	const struct ntw_ctl *ctl = nt_prove_ctl(link, queue);
	const u8 *bytes = (const u8 *)ctl + ntw_ring_at(NTW_BULK, link->win.ring);
	u32 i, len;

	if (!nt_prove_word(link, &ctl->proof[0]))
		return false;
	dma_rmb();
	len = nt_prove_word(link, &ctl->proof[1]);
	/* This is done in each step, so a peer must not choose how much it is. */
	if (len > NT_PROOF + 1)
		return false;
	for (i = 0; i < len; i++)
		if (bytes[i] != ntw_proof_byte(link->own_id, i))
			return false;
	return len;
}

int nt_prove_window(struct nt_link *link)
{
	const struct nt_window *win = &link->win;

	if (link->proof > NT_PROOF_WINDOW ||
	    nt_prove_word(link, win->mem + win->end) == win->end / sizeof(u64))
		return 0;
	/* The peer has written the word before it has said so, and repeats both. */
	if (link->proof == NT_PROOF_NONE || link->peer_ready < NTW_READY_END)
		link->proof_until = jiffies + msecs_to_jiffies(NT_PROVE_MS);
	link->proof = NT_PROOF_WINDOW;
	return time_before(jiffies, link->proof_until) ? -EAGAIN : -ENXIO;
}

u64 nt_prove_report(struct nt_link *link)
{
	struct nt_engine *e = &link->ring[0].engine;
	u64 rang = atomic64_read(&link->bells.rang);
	const u32 words[] = { 0, rang, rang >> 32 };
	u32 seen = 0;
	unsigned int i;

	for (i = 0; i < link->queues; i++)
		if (nt_prove_seen(link, i))
			seen |= BIT(i);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		nt_engine_write_word(e, offsetof(struct ntw_ctl, seen) + i * sizeof(u64),
				     ntw_word(link->peer_id, i ? words[i] : seen));
	return rang ^ (u64)seen << (64 - NTW_QUEUES_MAX);
}

/*
 * Give the engines what they have to prove. Return: the queues whose engine has not been given all
 * of it, or has not completed it; all queues with an engine in *@uses
 */
static u32 nt_prove_engines(struct nt_link *link, u32 *uses)
{
	u32 busy = 0;
	unsigned int i;

	*uses = 0;
	for (i = 0; i < link->queues; i++) {
		if (!nt_engine_uses_chan(&link->ring[i].engine))
			continue;
		*uses |= BIT(i);
		if (!(nt_ring_prove(&link->ring[i], link->peer_id) &
		      nt_ring_wait_idle(&link->ring[i], 1)))
			busy |= BIT(i);
	}
	return busy;
}

/*
 * The engines of the queues @busy do not complete their copies. Those that can't be stopped may
 * still write, so the link waits for them, and for as long as it does the log says so.
 * Return: the queues whose engine was stopped
 */
static u32 nt_prove_stop(struct nt_link *link, u32 busy)
{
	static const struct nt_reason hangs = {
		"it does not complete its copies", "reset it, and load kfi_ntb again"
	};
	struct nt_ring *ring;
	unsigned int i;
	u32 stopped = 0;

	for (i = 0; i < link->queues; i++) {
		ring = &link->ring[i];
		if (!(busy & BIT(i)))
			continue;
		if (nt_ring_abort(ring) &&
		    nt_ring_wait_idle(ring, msecs_to_jiffies(NT_ABORT_MS))) {
			nt_engine_give_up(&ring->engine, &hangs, false);
			stopped |= BIT(i);
			continue;
		}
		dev_warn_ratelimited(&link->ntb->dev,
				     "%s of DMA engine %s (%s) does not complete its copies and can't be stopped: the link waits\n",
				     dma_chan_name(ring->engine.chan), dev_name(ring->engine.dev),
				     nt_engine_driver(&ring->engine));
	}
	if (stopped != busy)
		link->proof_hangs = jiffies + msecs_to_jiffies(NT_END_MS);
	return stopped;
}

static void nt_prove_begin(struct nt_link *link, enum nt_proof proof)
{
	link->proof = proof;
	link->proof_until = jiffies + msecs_to_jiffies(NT_PROVE_MS);
	link->proof_hangs = link->proof_until + msecs_to_jiffies(NT_END_MS);
	if (link->bells.why)
		nt_bell_try(link);
}

/*
 * Give up the engines of the queues @engines. The others may work: on many Xeons each channel of
 * ioatdma is a function of its own.
 */
static void nt_prove_no_engine(struct nt_link *link, u32 engines)
{
	static const struct nt_reason blind = {
		"what it writes does not reach the peer, or not all of it",
		"check the requester ids of the bridge, ACS and the IOMMU"
	};
	unsigned int i;

	for (i = 0; i < link->queues; i++)
		if (engines & BIT(i) && nt_engine_uses_chan(&link->ring[i].engine))
			nt_engine_give_up(&link->ring[i].engine, &blind, false);
	nt_bell_no_engine(link, "an engine is not used");
}

static void nt_prove_no_bells(struct nt_link *link, u64 lost)
{
	dev_warn_ratelimited(&link->ntb->dev,
			     "doorbells that the DMA engine writes do not ring (%#llx): the CPU rings, as with signal=cpu\n",
			     lost);
	nt_bell_no_engine(link, "what the engine writes does not ring");
}

/* Doorbells that the CPU rings are lost, too: use others. */
static void nt_prove_dead(struct nt_link *link, u64 lost, u64 rang)
{
	dev_warn_ratelimited(&link->ntb->dev,
			     "doorbells of the peer do not ring (%#llx)%s\n", lost,
			     rang ? "" : ", nor does any other: it looks at its rings at each heartbeat");
	nt_bell_replace(link, rang);
}

/*
 * Return: 0: the peer has seen all; -EAGAIN: it may see more; -ENXIO: it sees no more. The queues
 * of whose engine it has not seen all are in *@engines
 */
static int nt_prove_look(struct nt_link *link, u32 *engines, u64 *rang)
{
	const struct ntw_ctl *ctl = nt_prove_ctl(link, 0);
	u32 uses, stopped = 0, busy = nt_prove_engines(link, &uses);

	if (busy && time_after(jiffies, link->proof_hangs))
		stopped = nt_prove_stop(link, busy);
	busy &= ~stopped;
	nt_await(link, busy ? NT_AWAITS_ENGINE : NT_AWAITS_PROOF);
	if (busy)	/* the peer has yet to see what is written late */
		link->proof_until = jiffies + msecs_to_jiffies(NT_PROVE_MS);
	*rang = nt_prove_word(link, &ctl->rang[0]) | (u64)nt_prove_word(link, &ctl->rang[1]) << 32;
	*engines = (uses & ~nt_prove_word(link, &ctl->seen)) | stopped;
	if (!*engines && !(nt_bell_used(link) & ~*rang))
		return busy ? -EAGAIN : 0;
	/* An engine that has not completed its copies may still write, so the link waits for it. */
	if (busy)
		return -EAGAIN;
	/* What was stopped has had its time: nothing more of it arrives. */
	return !stopped && time_before(jiffies, link->proof_until) ? -EAGAIN : -ENXIO;
}

bool nt_prove(struct nt_link *link)
{
	u32 engines;
	u64 rang, lost;
	unsigned int i;
	int ret;

	if (link->proof <= NT_PROOF_WINDOW) {
		for (i = 0; i < link->queues; i++)
			link->ring[i].proofs = 0;
		nt_bell_open(link);
		nt_prove_begin(link, NT_PROOF_ENGINE);
	}
	if (link->proof == NT_PROOF_DONE)
		return true;
	ret = nt_prove_look(link, &engines, &rang);
	if (ret == -EAGAIN)
		return false;
	lost = nt_bell_used(link) & ~rang;
	if (ret && (engines || !link->bells.why)) {
		if (engines)
			nt_prove_no_engine(link, engines);
		else
			nt_prove_no_bells(link, lost);
		nt_prove_begin(link, NT_PROOF_BELLS);
		return false;
	}
	if (ret)
		nt_prove_dead(link, lost, rang);
	link->proof = NT_PROOF_DONE;
	nt_hello_write(link);
	return true;
}
