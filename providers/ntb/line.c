// SPDX-License-Identifier: GPL-2.0
/*
 * line.c - what the CPU writes to the peer: records of the message ring, lines, and signals. ring.c
 * describes the protocol.
 *
 * The lock is held in all of this file, except in nt_ring_beat() and nt_ring_bye(), which take it.
 */
#include "ring.h"

/*
 * Copy the records that the peer was not told of from the shadow to the message ring. Their first
 * line comes last, because the peer may find them without being told: when it sees the first
 * header, all else is there. A CRC alone would let one of 2^32 parts of a record pass for all of
 * it.
 */
static void nt_line_records(struct nt_ring *ring)
{
	struct nt_rx *bulk = &ring->in.rx[NTW_BULK];
	struct nt_out *out = &ring->out;
	struct nt_tx *tx = &out->tx[NTW_MSG];
	u32 at = tx->produced & (tx->size - 1), len = tx->placed - tx->produced;
	u32 to = nt_out_at(out, NTW_MSG), n = min(len, tx->size - at);

	bulk->reported = bulk->to_report;
	nt_shadow_seal(out, bulk->reported);
	if (n < len)
		nt_engine_write(&ring->engine, to, tx->shadow, len - n);
	if (n > NTW_ALIGN)
		nt_engine_write(&ring->engine, to + at + NTW_ALIGN, tx->shadow + at + NTW_ALIGN,
				n - NTW_ALIGN);
	if (len > NTW_ALIGN)
		wmb();		/* pairs with nt_in_header() */
	nt_engine_write(&ring->engine, to + at, tx->shadow + at, NTW_ALIGN);
	tx->produced = tx->placed;
}

static __le64 nt_line_word(const struct nt_ring *ring, u64 value)
{
	return cpu_to_le64(ntw_word(ring->out.peer_id, value));
}

static void nt_line_write(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_in *in = &ring->in;
	struct ntw_line line = {};
	unsigned int i;

	out->line_at = jiffies;
	out->serial += NTW_SERIAL_STEP;
	out->leaving = !in->awake && (out->leaving || out->awake);
	WRITE_ONCE(out->awake, in->awake);
	line.produced = nt_line_word(ring, out->tx[NTW_MSG].produced);
	for (i = 0; i < NTW_RINGS; i++) {
		in->rx[i].reported = in->rx[i].to_report;
		line.consumed[i] = nt_line_word(ring, in->rx[i].reported);
	}
	line.echo = nt_line_word(ring, in->seen);
	line.serial = nt_line_word(ring, out->serial | (out->awaits_answer ? NTW_ASK : 0) |
					 (out->awake ? NTW_AWAKE : 0));
	nt_engine_write_line(&ring->engine, out->base + offsetof(struct ntw_ctl, line), &line);
}

/*
 * Return: true if the signal of the last line can be left out. It can only if the peer is awake,
 * that is, if it polls. If the peer stops polling before it has seen that line, it sends a line
 * with a signal, and nt_in_sleep() finds @unsignalled set. A line that asks always has a signal,
 * because this side may send nothing else until it has the answer. The first line without NTW_AWAKE
 * has one, too: if both sides sent theirs without a signal, because each has seen the other one
 * awake, neither would see the last line of the other.
 */
static bool nt_line_unsignalled(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	bool leaving = out->leaving;

	out->leaving = false;
	if (!nt_peer_awake(ring) || out->awaits_answer || leaving)
		return false;
	out->unsignalled = true;
	out->unsignalled_serial = out->serial;
	ring->stats.signals_saved++;
	return true;
}

void nt_line_signal(struct nt_ring *ring)
{
	ring->stats.signals++;
	ring->ops->signal(ring);
}

/*
 * Return: true if records can go without a line: the peer finds them by their CRCs, nothing else
 * is to be reported at once, and the peer gets a signal. The records say what we have handled of
 * its bulk ring, for which it waits (nt_ring_acked()); all else is reported by the next line.
 */
static bool nt_line_spared(const struct nt_ring *ring)
{
	const struct nt_out *out = &ring->out;

	return out->crc && nt_unannounced(out) && !out->due && !out->awaits_answer &&
	       !nt_peer_awake(ring);
}

void nt_line_send(struct nt_ring *ring)
{
	struct nt_rx *bulk = &ring->in.rx[NTW_BULK];
	struct nt_out *out = &ring->out;
	bool records = nt_unannounced(out), signal = records || out->wake;
	bool spared = nt_line_spared(ring);

	lockdep_assert_held(&ring->lock);
	if (records) {
		nt_line_records(ring);
		ring->stats.messages++;
	} else {
		ring->stats.lines++;
	}
	if (spared) {
		wmb();		/* before a doorbell */
		ring->stats.bursts++;
	} else {
		nt_line_write(ring);
	}
	out->tx[NTW_MSG].go = false;
	out->due = false;
	out->wake = false;
	if (!spared && !signal)
		return;
	bulk->told = bulk->reported;
	if (spared || !nt_line_unsignalled(ring))
		nt_line_signal(ring);
}

void nt_line_reset(struct nt_out *out)
{
	out->serial = 0;
	out->echoed = 0;
	out->awaits_answer = false;
	out->awake = false;
	out->leaving = false;
	out->unsignalled = false;
	out->due = true;
	out->wake = true;
}

void nt_ring_beat(struct nt_ring *ring, unsigned int ms)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP) {
		out->due |= time_after_eq(jiffies, out->line_at + msecs_to_jiffies(ms));
		out->tx[NTW_MSG].go |= nt_unannounced(out);
		out->tx[NTW_BULK].go |= nt_filled(out);
		nt_engine_poll(&ring->engine);
		nt_out_push(ring);
		/* Each time, because a write may be lost */
		if (READ_ONCE(ring->in.overtaken))
			nt_engine_write_word(&ring->engine,
					     out->base + offsetof(struct ntw_ctl, line.late),
					     ntw_word(out->peer_id, 1));
	}
	spin_unlock_bh(&ring->lock);
	nt_ring_schedule(ring);
}

void nt_ring_bye(struct nt_ring *ring, u32 peer_id, u32 bye)
{
	spin_lock_bh(&ring->lock);
	nt_engine_write_word(&ring->engine, offsetof(struct ntw_ctl, line.bye),
			     ntw_word(peer_id, bye));
	nt_line_signal(ring);
	spin_unlock_bh(&ring->lock);
}
