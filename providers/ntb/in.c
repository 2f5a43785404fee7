// SPDX-License-Identifier: GPL-2.0
/*
 * in.c - what the peer writes to us. It may write anything at any time: everything is copied once and then checked. See ring.c.
 */
#include "ring.h"

void nt_in_reset(struct nt_ring *ring, const void *inbound, u32 size, u32 mine)
{
	ring->in = (struct nt_in) {
		.ctl = inbound, .ring = inbound + NTW_RING_AT, .size = size, .mine = mine,
		.crc = ring->crc,
	};
}

/* What a word says now, as a position that is at least @old. Return: false: it is absurd. */
static bool nt_word(const struct nt_ring *ring, const __le64 *word, u64 old, u64 max, u64 *now)
{
	u32 value;

	*now = old;
	if (!ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), ring->in.mine, &value))
		return true;
	*now += (u32)(value - (u32)old);
	return value % NTW_ALIGN == 0 && *now <= max;
}

/* Room for us. What was produced grows in posts elsewhere, before the peer can have consumed it: so the check is behind both reads. */
static bool nt_in_heard(struct nt_ring *ring, u64 acked)
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

	/* What is echoed and answered is what has been looked at: so an answer always has news. */
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->serial)), in->mine, &in->serial);
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->echo)), in->mine, &in->echo);
	dma_rmb();
	if (!nt_word(ring, &line->consumed, ring->out.acked, U64_MAX, &consumed))
		return false;
	/* What was produced before this was consumed is at least what is read now. */
	dma_rmb();
	if (!nt_word(ring, &line->produced, in->avail, in->got + in->size, &produced))
		return false;
	/* The index before the records. */
	dma_rmb();
	in->avail = produced;
	if (in->got >= in->pair_produced) {
		in->pair_consumed = consumed;
		in->pair_produced = produced;
	}
	return consumed == ring->out.acked || nt_in_heard(ring, consumed);
}

/*
 * A bridge may lose a write and carry those behind it: then bytes of a turn ago lie in the ring.
 * The peer may change bytes while they are looked at: a CRC is no protection against the peer.
 */
static bool nt_in_whole(const struct nt_in *in, const struct ntw_rec *rec, u32 at, __le32 crc)
{
	u32 len = rec->type == NTW_SKIP ? 0 : le32_to_cpu(rec->len) - sizeof(*rec);

	return le32_to_cpu(crc) == nt_rec_check(rec, in->ring + at + sizeof(*rec), len);
}

/* Return: bytes; negative: it is no record. */
static int nt_in_one(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	u32 at = in->got & (in->size - 1);
	struct ntw_rec rec;
	__le32 crc;
	int span;

	memcpy(&rec, in->ring + at, sizeof(rec));
	/* From here on only the copy counts, whatever the compiler thinks. */
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
	ring->ops->record(ring, &rec, in->ring + at + sizeof(rec), le32_to_cpu(rec.len) - sizeof(rec));
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
		in->hear = in->pair_consumed;
	return true;
}

/* Records that the budget did not reach, or that have come meanwhile; and for a while after them, if the peer knows that we look. */
bool nt_in_more(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	u32 produced;

	if (in->got != in->avail || (ntw_decode_word(le64_to_cpu(READ_ONCE(in->ctl->line.produced)), in->mine, &produced) &&
				     produced != (u32)in->avail)) {
		in->idle = 0;
		return true;
	}
	if (!READ_ONCE(ring->out.awake) || in->idle >= NT_LINGER)
		return false;
	in->idle++;
	return true;
}

/* What the peer has seen of our lines. If it says that it has seen more it hurts itself alone. */
static void nt_in_echo(struct nt_in *in, struct nt_out *out)
{
	out->echoed = in->echo & ~NTW_FLAGS;
	if (out->asking && (s32)(out->echoed - out->ask) >= 0)
		out->asking = false;
	if (out->quiet && (s32)(out->echoed - out->unrung) >= 0)
		out->quiet = false;
}

/* Who was told that we are awake is told when we no longer are; and who no longer is hears of what he has not seen. */
static void nt_in_sleep(struct nt_in *in, struct nt_out *out)
{
	if ((!out->awake || in->awake) && (!out->quiet || in->seen & NTW_AWAKE))
		return;
	out->quiet = false;	/* the line that comes has a signal, or is itself not seen */
	out->due = true;
	out->wake = true;
}

void nt_in_due(struct nt_ring *ring, bool more)
{
	struct nt_in *in = &ring->in;
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	nt_in_echo(in, out);
	in->tell = in->got;
	in->seen = in->serial;
	in->awake = more;
	nt_in_sleep(in, out);
	/* What was handled nobody waits for, if he has not said so: it goes with what goes anyway, before the peer runs out of room. */
	out->due |= in->ack || (in->awake && !out->awake) || in->tell - in->told >= in->size / NT_LAG;
	out->wake |= in->ack;
	in->ack = false;
	if (!(in->seen & NTW_ASK) || in->seen == in->answered)
		return;
	in->answered = in->seen;
	out->due = true;
	out->wake = true;
}
