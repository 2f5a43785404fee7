// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c - while a link is up: signs of life of both sides, and whether operations make progress.
 * The link's work item runs this at each heartbeat.
 */
#include <linux/module.h>
#include <kfi_param.h>
#include "bridge.h"

unsigned int nt_heartbeat_ms = 100;	/* half of the least timeout_ms */
KFI_TEST_PARAM(heartbeat_ms, nt_heartbeat_ms, uint);

static unsigned int nt_timeout_ms = 1000;
KFI_PARAM(timeout_ms, nt_timeout_ms, silence_ms, 0644,
	  "ms without a sign of life before a peer is dead (default 1000)");

/* no sign of life is sent if a line was sent in the last 1/NT_BEAT_PART of the interval */
#define NT_BEAT_PART	4

static bool nt_late(unsigned long since)
{
	return time_after(jiffies, since + msecs_to_jiffies(nt_timeout_ms));
}

/* The peer's work item sends the signs of life of all queues, so those of the first suffice. */
static bool nt_peer_silent(struct nt_link *link)
{
	u32 beat = nt_ring_peer_serial(&link->ring[0]);

	if (beat == link->beat)
		return nt_late(link->beat_at);
	link->beat = beat;
	link->beat_at = jiffies;
	return false;
}

/*
 * Return why operations of a queue would wait for ever, or NULL: the peer sends signs of life, but
 * does not handle what it has received, or this side's engine does not copy.
 */
static const char *nt_queue_stuck(struct nt_link *link, struct nt_ring *ring)
{
	static const char *const why[] = {
		[NT_PEER_MSG]	= "the peer does not handle what it gets",
		[NT_PEER_BULK] = "what the DMA engine writes is not handled, or does not arrive",
		[NT_ENGINE]	= "the DMA engine does not copy",
	};
	struct nt_watch *w;
	unsigned int i;
	u64 done;

	for (i = 0; i < NT_PROGRESS; i++) {
		w = &link->watch[ring->index][i];
		if (!nt_ring_progress(ring, i, &done) || done != w->done) {
			w->done = done;
			w->at = jiffies;
		} else if (nt_late(w->at)) {
			return why[i];
		}
	}
	return NULL;
}

static const char *nt_life_fault(struct nt_link *link)
{
	const char *why;

	spin_lock_bh(&link->lock);
	why = link->why;
	spin_unlock_bh(&link->lock);
	return why;
}

const char *nt_life_over(struct nt_link *link)
{
	const char *why = NULL;
	unsigned int i;

	if (!nt_carrier(link) || test_bit(NT_EV_FLAP, &link->events))
		return "the bridge says so";
	if (test_bit(NT_EV_FAULT, &link->events))
		return nt_life_fault(link);
	link->lies = nt_ring_peer_bye(&link->ring[0]) == 2;
	if (link->lies)
		return "the peer has received other bytes than were sent";
	if (nt_ring_peer_bye(&link->ring[0]))
		return "the peer says so";
	if (nt_peer_silent(link))
		return "the peer is silent";
	for (i = 0; i < link->queues && !why; i++)
		why = nt_queue_stuck(link, &link->ring[i]);
	return why;
}

/* The peer has found that our doorbells overtake what they announce. */
static void nt_life_flush(struct nt_link *link, struct nt_ring *ring)
{
	if (ring->flush || !nt_ring_peer_late(ring))
		return;
	dev_info_ratelimited(&link->ntb->dev,
			     "doorbells overtake writes: queue %u reads before it rings\n",
			     ring->index);
	nt_ring_flush(ring);
}

void nt_life_beat(struct nt_link *link)
{
	unsigned int i;

	nt_bell_revive(link);
	for (i = 0; i < link->queues; i++) {
		nt_life_flush(link, &link->ring[i]);
		nt_ring_beat(&link->ring[i], nt_heartbeat_ms / NT_BEAT_PART);
	}
}
