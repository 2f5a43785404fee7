// SPDX-License-Identifier: GPL-2.0
/*
 * in.c - reads what the peer has written. The peer may write anything at any time, so everything
 * is copied once, and then the copy is checked. ring.c describes the protocol.
 */
#include "ring.h"

void nt_in_reset(struct nt_ring *ring, void *inbound, u32 size, u32 own_id)
{
	struct nt_in *in = &ring->in;
	unsigned int i;

	*in = (struct nt_in) {
		.ctl = inbound, .size = size, .own_id = own_id,
		.crc = ring->crc, .crc_all = ring->crc_all,
	};
	for (i = 0; i < NTW_RINGS; i++)
		in->rx[i].ring = inbound + ntw_ring_at(i, size);
}

/*
 * Read a position from a word into *@now. It must not be less than @old or more than @max.
 * Return: false if the word is invalid.
 */
static bool nt_read_word(const struct nt_ring *ring, const __le64 *word, u64 old, u64 max, u64 *now)
{
	u32 value;

	*now = old;
	if (!ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), ring->in.own_id, &value))
		return true;
	*now += (u32)(value - (u32)old);
	return value % NTW_ALIGN == 0 && *now <= max;
}

/*
 * The peer has handled our bytes up to *@word of a ring, so there is room. Posts on other CPUs
 * increase @produced before the peer can consume the bytes, so it is compared after the word was
 * read.
 */
static bool nt_in_consumed(struct nt_ring *ring, struct nt_tx *tx, const __le64 *word)
{
	u64 acked;
	bool good;

	if (!nt_read_word(ring, word, tx->acked, U64_MAX, &acked))
		return false;
	if (acked == tx->acked)
		return true;
	spin_lock(&ring->lock);
	good = acked <= tx->produced;
	if (good)
		WRITE_ONCE(tx->acked, acked);
	spin_unlock(&ring->lock);
	return good;
}

/* A line may be older than records of the message ring that were found without one. */
static bool nt_in_older(const struct nt_in *in, const struct nt_rx *rx, const __le64 *word)
{
	u32 value;

	return in->crc && rx == &in->rx[NTW_MSG] &&
	       ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), in->own_id, &value) &&
	       (s32)(value - (u32)rx->avail) < 0;
}

static bool nt_in_produced(struct nt_ring *ring, struct nt_rx *rx, const __le64 *word)
{
	return nt_in_older(&ring->in, rx, word) ||
	       nt_read_word(ring, word, rx->avail, rx->got + ring->in.size, &rx->avail);
}

/*
 * Read the line of the engine, when the records of the one before were handled: these would
 * otherwise wait for the position in the message ring that belongs to later ones. @after is at most
 * the size of the ring ahead, because the peer can't have placed more. It may be that of a newer
 * line, or one that was passed long ago. It may also belong to a line that the peer has made empty
 * because a copy has failed (nt_chan_give()): then the line comes again, with a signal.
 */
static bool nt_in_bulk_line(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	struct nt_rx *bulk = &in->rx[NTW_BULK];
	u64 got = in->rx[NTW_MSG].got / NTW_ALIGN, avail = bulk->avail;
	u32 after;
	s32 more;

	if (bulk->got != avail)
		return true;
	if (!nt_in_produced(ring, bulk, &in->ctl->bulk.produced))
		return false;
	if (bulk->avail == avail)
		return true;
	/* Pairs with the order of the words of the line. */
	dma_rmb();
	if (!ntw_decode_word(le64_to_cpu(READ_ONCE(in->ctl->bulk.after)), in->own_id, &after)) {
		bulk->avail = avail;
		return true;
	}
	more = after - (u32)got;
	in->after = more > 0 ? (got + more) * NTW_ALIGN : 0;
	return more <= (s32)(in->size / NTW_ALIGN);
}

bool nt_in_poll(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	const struct ntw_line *line = &in->ctl->line;
	unsigned int i;

	/*
	 * Our echo of a serial means that the words of that line were handled. So serial and echo
	 * are read before them.
	 */
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->serial)), in->own_id, &in->serial);
	ntw_decode_word(le64_to_cpu(READ_ONCE(line->echo)), in->own_id, &in->echo);
	dma_rmb();
	for (i = 0; i < NTW_RINGS; i++)
		if (!nt_in_consumed(ring, &ring->out.tx[i], &line->consumed[i]))
			return false;
	if (!nt_in_produced(ring, &in->rx[NTW_MSG], &line->produced) || !nt_in_bulk_line(ring))
		return false;
	/* The positions are read before the records. */
	dma_rmb();
	return true;
}

/*
 * Check the CRC. If a bridge loses a write and carries later ones, the ring has old bytes instead.
 * The CRC is no protection against the peer, which may change bytes while they are checked.
 */
static bool nt_in_whole(const struct ntw_rec *rec, const void *body, __le32 crc)
{
	u32 len = rec->type == NTW_SKIP ? sizeof(*rec) : rec->head ?: le32_to_cpu(rec->len);

	return le32_to_cpu(crc) == nt_rec_check(rec, body, len - sizeof(*rec));
}

/*
 * Copy the header at @from to @rec, and check it. @avail: bytes from there on that may be records.
 * Return: bytes of the ring that the record takes, or -EPROTO
 */
static int nt_in_header(const struct nt_in *in, u32 at, u32 avail, const void *from,
			struct ntw_rec *rec)
{
	__le32 crc;
	int span;

	memcpy(rec, from, sizeof(*rec));
	/* Prevent the compiler from reading the ring instead of the copy from here on. */
	barrier_data(rec);
	/* Pairs with nt_line_records(), if no line has announced the record. */
	dma_rmb();
	crc = rec->check;
	if (in->crc)
		rec->check = cpu_to_le32(at ^ in->own_id);
	span = ntw_decode_rec(rec, at, avail, in->size, in->own_id);
	/* Each record is as well protected as both sides have agreed. */
	if (rec->head && (in->crc_all || !in->crc))
		return -EPROTO;
	if (span > 0 && in->crc && !nt_in_whole(rec, from + sizeof(*rec), crc))
		return -EPROTO;
	return span;
}

/* Clear the length of all headers that a record may have in it, before the peer can reuse it. */
static void nt_in_clear(void *from, int span)
{
	struct ntw_rec *rec;

	for (; span > 0; span -= NTW_ALIGN, from += NTW_ALIGN) {
		rec = from;
		WRITE_ONCE(rec->len, 0);
	}
}

/*
 * Handle one record. One of the message ring that has a CRC shows by it that it is complete, so it
 * needs no line.
 * Return: bytes of the ring that it takes; 0: there is none yet; negative: it is invalid
 */
static int nt_in_one(struct nt_ring *ring, struct nt_rx *rx)
{
	struct nt_in *in = &ring->in;
	bool found = in->crc && rx == &in->rx[NTW_MSG], announced = rx->got != rx->avail;
	void *from = rx->ring + (rx->got & (in->size - 1));
	struct ntw_rec rec;
	int span;

	if (!announced && (!found || !READ_ONCE(((const struct ntw_rec *)from)->len)))
		return 0;
	span = nt_in_header(in, (u32)rx->got, announced ? rx->avail - rx->got : in->size, from,
			    &rec);
	/*
	 * A CRC of a part does not show that the rest has come. @lost is read as in
	 * nt_run_receive(), because the record may have come after that.
	 */
	if (!announced && (span < 0 || rec.head || READ_ONCE(ring->lost)))
		return 0;
	if (span < 0) {
		ring->stats.crc_errors += in->crc;
		in->torn = in->crc;
		return span;
	}
	if (!announced)
		rx->avail += span;
	if (rec.type != NTW_SKIP) {
		ring->stats.records_in++;
		ring->ops->record(ring, &rec, from + sizeof(rec),
				  le32_to_cpu(rec.len) - sizeof(rec));
	}
	if (found)
		nt_in_clear(from, span);
	return span;
}

static bool nt_in_ring(struct nt_ring *ring, struct nt_rx *rx, unsigned int budget)
{
	int span = 1;

	for (; budget && span > 0; budget--) {
		span = nt_in_one(ring, rx);
		if (span < 0)
			return false;
		rx->got += span;
		ring->stats.bytes_in += span;
	}
	rx->cut = span;
	return true;
}

/* Return: true if records of the bulk ring can be handled, as far as there are any */
static bool nt_in_bulk_ready(const struct nt_in *in)
{
	return in->rx[NTW_MSG].got >= in->after;
}

bool nt_in_handle(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;

	if (!nt_in_ring(ring, &in->rx[NTW_MSG], NT_BUDGET))
		return false;
	return !nt_in_bulk_ready(in) || nt_in_ring(ring, &in->rx[NTW_BULK], NT_BULK_BUDGET);
}

/* Return: true if records have come meanwhile that nt_in_poll() is going to find. */
static bool nt_in_news(const struct nt_in *in)
{
	const struct nt_rx *msg = &in->rx[NTW_MSG], *bulk = &in->rx[NTW_BULK];
	const struct ntw_ctl *ctl = in->ctl;
	u32 produced, after;

	if (ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->line.produced)), in->own_id, &produced) &&
	    (s32)(produced - (u32)msg->avail) > 0)
		return true;
	return bulk->got == bulk->avail &&
	       ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->bulk.after)), in->own_id, &after) &&
	       ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->bulk.produced)), in->own_id, &produced) &&
	       produced != (u32)bulk->avail;
}

/*
 * Return: true if there are records that exceed the budget, or that have come meanwhile. If the
 * last line had NTW_AWAKE, the function also returns true for NT_LINGER runs after that. Records of
 * the bulk ring that wait for the message ring do not count: the peer sends a signal for those.
 */
bool nt_in_more(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	const struct nt_rx *msg = &in->rx[NTW_MSG], *bulk = &in->rx[NTW_BULK];

	if (msg->got != msg->avail || msg->cut || nt_in_news(in) ||
	    (bulk->got != bulk->avail && nt_in_bulk_ready(in))) {
		in->idle = 0;
		return true;
	}
	if (!READ_ONCE(ring->out.awake) || in->idle >= NT_LINGER)
		return false;
	in->idle++;
	return true;
}

/* What was found now had a signal, or has one that comes yet, or is what a signal has overtaken. */
static void nt_in_found(struct nt_ring *ring, bool rung)
{
	struct nt_in *in = &ring->in;
	bool several = ring->stats.records_in - in->records > 1, awaited = in->looks;

	if (in->suspect && !rung) {
		ring->stats.late++;
		in->score = min(in->score + 2U, NT_LATE);
		if (in->score == NT_LATE)
			WRITE_ONCE(in->overtaken, true);
	} else if (!in->suspect && rung && in->score) {
		in->score--;
	}
	in->suspect = false;
	in->looks = 0;
	/* A signal comes soon, or the interrupt of another one was left out. */
	in->early = several || (!rung && !awaited);
	in->early_until = jiffies + 2;
}

/* Return: true if a new line of the peer has a signal of its own, though it has no records. */
static bool nt_in_line_rings(const struct nt_ring *ring)
{
	const struct nt_in *in = &ring->in;

	if (in->serial == in->seen)
		return false;
	return in->serial & NTW_ASK || (in->seen & ~in->serial & NTW_AWAKE) ||
	       READ_ONCE(ring->out.awaits_answer);
}

/*
 * A signal comes behind what it announces, unless the bridge carries doorbells by another way than
 * bytes. Without another look the bytes would be found at the next heartbeat.
 */
void nt_in_late(struct nt_ring *ring, bool rung)
{
	struct nt_in *in = &ring->in;
	u64 known = in->rx[NTW_MSG].got + in->rx[NTW_MSG].avail + in->rx[NTW_BULK].avail;

	if (known != in->known) {
		nt_in_found(ring, rung);
	} else if (rung) {
		in->suspect = !nt_in_line_rings(ring) &&
			      (!in->early || time_after(jiffies, in->early_until));
		in->early = false;
		in->looks = 1;
	} else if (!in->looks || hrtimer_active(&ring->look)) {
		return;
	} else if (in->looks++ == NT_LOOKS) {
		in->looks = 0;
		in->suspect = false;
	}
	in->known = known;
	in->records = ring->stats.records_in;
	if (in->looks)
		hrtimer_start(&ring->look, ns_to_ktime((u64)NT_LOOK_NS << (in->looks - 1)),
			      HRTIMER_MODE_REL_SOFT);
}

/* Record which of our lines the peer has seen. A peer that claims more harms only itself. */
static void nt_in_echo(struct nt_in *in, struct nt_out *out)
{
	out->echoed = in->echo & ~NTW_FLAGS;
	if (out->awaits_answer && (s32)(out->echoed - out->ask) >= 0)
		out->awaits_answer = false;
	if (out->unsignalled && (s32)(out->echoed - out->unsignalled_serial) >= 0)
		out->unsignalled = false;
}

/*
 * If the last line had NTW_AWAKE and the BH work does not run again, send a line without it. If the
 * peer is not awake any more, wake it for what it has not seen: a line of the CPU, or batches.
 */
static void nt_in_sleep(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;
	struct nt_out *out = &ring->out;

	if (out->tx[NTW_BULK].acked < out->quiet && !(in->seen & NTW_AWAKE)) {
		out->quiet = 0;
		nt_line_signal(ring);
	}
	if ((!out->awake || in->awake) && (!out->unsignalled || in->seen & NTW_AWAKE))
		return;
	out->unsignalled = false;	/* the next line has a signal, or sets @unsignalled again */
	out->due = true;
	out->wake = true;
}

void nt_in_due(struct nt_ring *ring, bool more)
{
	struct nt_in *in = &ring->in;
	struct nt_out *out = &ring->out;
	struct nt_rx *rx;

	lockdep_assert_held(&ring->lock);
	nt_in_echo(in, out);
	in->seen = in->serial;
	in->awake = more;
	nt_in_sleep(ring);
	out->due |= in->awake && !out->awake;
	/*
	 * Progress is not reported at once, but with the next line, or when 1/NT_LAG of a ring was
	 * handled, before the peer runs out of room.
	 */
	for (rx = in->rx; rx < in->rx + NTW_RINGS; rx++) {
		rx->to_report = rx->got;
		out->due |= rx->to_report - rx->reported >= in->size / NT_LAG;
	}
	if (!(in->seen & NTW_ASK) || in->seen == in->answered)
		return;
	in->answered = in->seen;
	out->due = true;
	out->wake = true;
}
