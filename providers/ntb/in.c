// SPDX-License-Identifier: GPL-2.0
/*
 * in.c - reads what the peer has written. The peer may write anything at any time, so everything
 * is copied once, and then the copy is checked. ring.c describes the protocol.
 */
#include "ring.h"

void nt_in_reset(struct nt_ring *ring, const void *inbound, u32 size, u32 mine)
{
	ring->in = (struct nt_in) {
		.ctl = inbound, .ring = inbound + NTW_RING_AT, .size = size, .mine = mine,
		.crc = ring->crc,
	};
}

/*
 * Read a position from a word into *@now. It must not be less than @old or more than @max.
 * Return: false if the word is invalid.
 */
static bool nt_read_word(const struct nt_ring *ring, const __le64 *word, u64 old, u64 max, u64 *now)
{
	u32 value;

	*now = old;
	if (!ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), ring->in.mine, &value))
		return true;
	*now += (u32)(value - (u32)old);
	return value % NTW_ALIGN == 0 && *now <= max;
}

/*
 * The peer has handled our bytes up to @acked, so there is room. Posts on other CPUs increase
 * out.produced before the peer can consume the bytes, so the check comes after the words were read.
 */
static bool nt_in_handled(struct nt_ring *ring, u64 acked)
{
	bool good;

	spin_lock(&ring->lock);
	good = acked <= ring->out.produced;
	if (good)
		ring->out.acked = acked;
	spin_unlock(&ring->lock);
	return good;
}

bool nt_in_look(struct nt_ring *ring)
{
	const struct ntw_line *line = &ring->in.ctl->line;
	struct nt_in *in = &ring->in;
	u64 consumed, produced;

	/*
	 * Our echo of a serial means that the words of that line were handled. So serial and echo
	 * are read before them.
	 */
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->serial)), in->mine, &in->serial);
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->echo)), in->mine, &in->echo);
	dma_rmb();
	if (!nt_read_word(ring, &line->consumed, ring->out.acked, U64_MAX, &consumed))
		return false;
	/* This @produced is at least as new as @consumed, because it is read later. */
	dma_rmb();
	if (!nt_read_word(ring, &line->produced, in->avail, in->got + in->size, &produced))
		return false;
	/* The position is read before the records. */
	dma_rmb();
	in->avail = produced;
	if (in->got >= in->pair_produced) {
		in->pair_consumed = consumed;
		in->pair_produced = produced;
	}
	return consumed == ring->out.acked || nt_in_handled(ring, consumed);
}

/*
 * Check the CRC. If a bridge loses a write and carries later ones, the ring has old bytes instead.
 * The CRC is no protection against the peer, which may change bytes while they are checked.
 */
static bool nt_in_whole(const struct nt_in *in, const struct ntw_rec *rec, u32 at, __le32 crc)
{
	u32 len = rec->type == NTW_SKIP ? 0 : le32_to_cpu(rec->len) - sizeof(*rec);

	return le32_to_cpu(crc) == nt_rec_check(rec, in->ring + at + sizeof(*rec), len);
}

/* Handle one record. Return: bytes of the ring that it takes; negative: it is invalid */
static int nt_in_one(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	u32 at = in->got & (in->size - 1);
	struct ntw_rec rec;
	__le32 crc;
	int span;

	memcpy(&rec, in->ring + at, sizeof(rec));
	/* Prevent the compiler from reading the ring instead of the copy from here on. */
	barrier_data(&rec);
	crc = rec.check;
	if (in->crc)
		rec.check = cpu_to_le32((u32)in->got ^ in->mine);
	span = ntw_decode_rec(&rec, (u32)in->got, in->avail - in->got, in->size, in->mine);
	if (in->crc && (span < 0 || !nt_in_whole(in, &rec, at, crc))) {
		ring->stats.crc_errors++;
		in->torn = true;
		return -EPROTO;
	}
	if (span < 0 || rec.type == NTW_SKIP)
		return span;
	in->ack |= rec.flags & NTW_R_ACK;
	ring->stats.records_in++;
	ring->ops->record(ring, &rec, in->ring + at + sizeof(rec),
			  le32_to_cpu(rec.len) - sizeof(rec));
	return span;
}

bool nt_in_take(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	unsigned int n;
	int span;

	for (n = 0; in->got != in->avail && n < NT_BUDGET; n++) {
		span = nt_in_one(ring);
		if (span < 0)
			return false;
		in->got += span;
		ring->stats.bytes_in += span;
	}
	if (in->got >= in->pair_produced)
		in->handled_to = in->pair_consumed;
	return true;
}

/*
 * Return: true if there are records that exceed the budget, or that have come meanwhile. If the
 * last line had NTW_AWAKE, the function also returns true for NT_LINGER runs after that.
 */
bool nt_in_more(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	u32 produced;

	if (in->got != in->avail ||
	    (ntw_decode_word(le64_to_cpu(READ_ONCE(in->ctl->line.produced)), in->mine, &produced) &&
	     produced != (u32)in->avail)) {
		in->idle = 0;
		return true;
	}
	if (!READ_ONCE(ring->out.awake) || in->idle >= NT_LINGER)
		return false;
	in->idle++;
	return true;
}

/* Record which of our lines the peer has seen. A peer that claims more harms only itself. */
static void nt_in_echo(struct nt_in *in, struct nt_out *out)
{
	out->echoed = in->echo & ~NTW_FLAGS;
	if (out->asking && (s32)(out->echoed - out->ask) >= 0)
		out->asking = false;
	if (out->quiet && (s32)(out->echoed - out->unrung) >= 0)
		out->quiet = false;
}

/*
 * If the last line had NTW_AWAKE and the tasklet does not run again, send a line without it. If the
 * peer is not awake any more, wake it for a line that it has not seen.
 */
static void nt_in_sleep(struct nt_in *in, struct nt_out *out)
{
	if ((!out->awake || in->awake) && (!out->quiet || in->seen & NTW_AWAKE))
		return;
	out->quiet = false;	/* the next line has a signal, or sets @quiet again */
	out->due = true;
	out->wake = true;
}

void nt_in_due(struct nt_ring *ring, bool more)
{
	struct nt_in *in = &ring->in;
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	nt_in_echo(in, out);
	in->to_report = in->got;
	in->seen = in->serial;
	in->awake = more;
	nt_in_sleep(in, out);
	/*
	 * Unless a record asks for it, progress is not reported at once, but with the next line, or
	 * when 1/NT_LAG of the ring was handled, before the peer runs out of room.
	 */
	out->due |= in->ack || (in->awake && !out->awake) ||
		    in->to_report - in->reported >= in->size / NT_LAG;
	out->wake |= in->ack;
	in->ack = false;
	if (!(in->seen & NTW_ASK) || in->seen == in->answered)
		return;
	in->answered = in->seen;
	out->due = true;
	out->wake = true;
}
