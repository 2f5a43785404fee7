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
		.ctl = inbound, .own_id = own_id,
		.crc = ring->crc, .crc_all = ring->crc_all,
		.unsettled = true,	/* a signal may have come before the rings were on */
	};
	for (i = 0; i < NTW_RINGS; i++) {
		in->rx[i].ring = inbound + ntw_ring_at(i, size);
		in->rx[i].size = ntw_ring_size(i, size);
	}
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

/* Return: true if a word that a line has is older than @than, which came with a record. */
static bool nt_in_older(const struct nt_in *in, const __le64 *word, u64 than)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), in->own_id, &value) &&
	       (s32)(value - (u32)than) < 0;
}

/*
 * The peer has handled our bytes up to @acked of a ring, so there is room. Posts on other CPUs
 * increase @produced before the peer can consume the bytes, so it is compared after @acked was
 * read. Return: false if that is more than we have sent
 */
static bool nt_in_acked(struct nt_ring *ring, struct nt_tx *tx, u64 acked)
{
	bool good;

	if (acked == tx->acked)
		return true;
	spin_lock(&ring->lock);
	good = acked <= tx->produced;
	if (good)
		WRITE_ONCE(tx->acked, acked);
	spin_unlock(&ring->lock);
	return good;
}

static bool nt_in_consumed(struct nt_ring *ring, enum ntw_which which)
{
	const __le64 *word = &ring->in.ctl->line.consumed[which];
	struct nt_tx *tx = &ring->out.tx[which];
	u64 acked;

	if (which == NTW_BULK && nt_in_older(&ring->in, word, tx->acked))
		return true;
	return nt_read_word(ring, word, tx->acked, U64_MAX, &acked) &&
	       nt_in_acked(ring, tx, acked);
}

/* A record of the message ring says, too, how much of our bulk ring the peer has handled. */
static bool nt_in_done(struct nt_ring *ring, const struct ntw_rec *rec)
{
	struct nt_tx *tx = &ring->out.tx[NTW_BULK];
	u32 done = le32_to_cpu(rec->done);
	s32 more = done - (u32)tx->acked;

	return more <= 0 || (done % NTW_ALIGN == 0 && nt_in_acked(ring, tx, tx->acked + more));
}

static bool nt_in_produced(struct nt_ring *ring, struct nt_rx *rx, const __le64 *word)
{
	struct nt_in *in = &ring->in;

	if (in->crc && rx == &in->rx[NTW_MSG] && nt_in_older(in, word, rx->avail))
		return true;
	return nt_read_word(ring, word, rx->avail, rx->got + rx->size, &rx->avail);
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
	return more <= (s32)(in->rx[NTW_MSG].size / NTW_ALIGN);
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
		if (!nt_in_consumed(ring, i))
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
static bool nt_in_whole(const struct ntw_rec *rec, u32 head, const void *body, __le32 crc)
{
	u32 len = rec->type == NTW_SKIP ? sizeof(*rec) : head ?: ntw_rec_len(rec);

	return le32_to_cpu(crc) == nt_rec_check(rec, body, len - sizeof(*rec));
}

/*
 * Copy the header at @from to @rec, and check it. @avail: bytes from there on that may be records.
 * Return: bytes of the ring that the record takes, or -EPROTO
 */
static int nt_in_header(const struct nt_in *in, enum ntw_which which, u32 at, u32 avail,
			const void *from, struct ntw_rec *rec)
{
	__le32 crc;
	u32 head;
	int span;

	memcpy(rec, from, sizeof(*rec));
	/* Prevent the compiler from reading the ring instead of the copy from here on. */
	barrier_data(rec);
	/* Pairs with nt_line_records(), if no line has announced the record. */
	dma_rmb();
	crc = rec->check;
	if (in->crc)
		rec->check = cpu_to_le32(at ^ in->own_id);
	span = ntw_decode_rec(rec, which, at, avail, in->rx[which].size, in->own_id);
	/* Each record is as well protected as both sides have agreed. */
	head = which == NTW_BULK ? le32_to_cpu(rec->head) : 0;
	if (head && (in->crc_all || !in->crc))
		return -EPROTO;
	if (span > 0 && in->crc && !nt_in_whole(rec, head, from + sizeof(*rec), crc))
		return -EPROTO;
	return span;
}

/* Clear the type of all headers that a record may have in it, before the peer can reuse it. */
static void nt_in_clear(void *from, int span)
{
	struct ntw_rec *rec;

	for (; span > 0; span -= NTW_ALIGN, from += NTW_ALIGN) {
		rec = from;
		WRITE_ONCE(rec->type, NTW_NONE);
	}
}

/* Return: true if the message ring may have a record that no line has announced. */
static bool nt_in_has_found(const struct nt_in *in)
{
	const struct nt_rx *msg = &in->rx[NTW_MSG];
	const struct ntw_rec *rec = msg->ring + (msg->got & (msg->size - 1));

	return in->crc && READ_ONCE(rec->type) != NTW_NONE;
}

/*
 * Handle one record. One of the message ring that has a CRC shows by it that it is complete, so it
 * needs no line.
 * Return: bytes of the ring that it takes; 0: there is none yet; negative: it is invalid
 */
static int nt_in_one(struct nt_ring *ring, enum ntw_which which)
{
	struct nt_in *in = &ring->in;
	struct nt_rx *rx = &in->rx[which];
	bool announced = rx->got != rx->avail;
	void *from = rx->ring + (rx->got & (rx->size - 1));
	struct ntw_rec rec;
	int span;

	if (!announced && (which != NTW_MSG || !nt_in_has_found(in)))
		return 0;
	span = nt_in_header(in, which, (u32)rx->got, announced ? rx->avail - rx->got : rx->size,
			    from, &rec);
	/* @lost is read as in nt_run_receive(), because the record may have come after that. */
	if (!announced && (span < 0 || READ_ONCE(ring->lost)))
		return 0;
	if (span < 0) {
		ring->stats.crc_errors += in->crc;
		in->torn = in->crc;
		return span;
	}
	if (which == NTW_MSG && !nt_in_done(ring, &rec))
		return -EPROTO;
	if (!announced)
		rx->avail += span;
	if (rec.type != NTW_SKIP) {
		ring->stats.records_in++;
		ring->ops->record(ring, &rec, from + sizeof(rec), le16_to_cpu(rec.len));
	}
	if (which == NTW_MSG && in->crc)
		nt_in_clear(from, span);
	return span;
}

static bool nt_in_ring(struct nt_ring *ring, enum ntw_which which, unsigned int budget)
{
	struct nt_rx *rx = &ring->in.rx[which];
	int span = 1;

	for (; budget && span > 0; budget--) {
		span = nt_in_one(ring, which);
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
	if (!nt_in_ring(ring, NTW_MSG, NT_BUDGET))
		return false;
	return !nt_in_bulk_ready(&ring->in) || nt_in_ring(ring, NTW_BULK, NT_BULK_BUDGET);
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

bool nt_in_streams(struct nt_ring *ring)
{
	const struct nt_rx *msg = &ring->in.rx[NTW_MSG], *bulk = &ring->in.rx[NTW_BULK];
	struct nt_in *in = &ring->in;
	u64 placed = nt_ring_placed(ring);

	if (bulk->got != bulk->to_report || placed != in->placed)
		in->stream = NT_STREAM;
	else if (in->stream)
		in->stream--;
	in->placed = placed;
	return in->stream && (msg->got != msg->to_report || bulk->got != bulk->to_report);
}

bool nt_in_settle(struct nt_ring *ring)
{
	struct nt_in *in = &ring->in;

	if (!in->unsettled)
		return false;
	in->unsettled = false;
	if (ring->ops->settle)
		ring->ops->settle(ring);
	/* Bytes that are later than their signal would wait for the next one. */
	if (in->score && !in->looks) {
		in->looks = 1;
		hrtimer_start(&ring->look, ns_to_ktime(NT_LOOK_NS), HRTIMER_MODE_REL_SOFT);
	}
	dma_rmb();
	return nt_ring_peer_serial(ring) != in->serial || nt_in_news(in) || nt_in_has_found(in);
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
	bool several = ring->stats.records_in - in->records > 1, suspect = in->suspect;

	if (suspect && !rung) {
		ring->stats.late++;
		in->score = min(in->score + 2U, NT_LATE);
		if (in->score == NT_LATE)
			WRITE_ONCE(in->overtaken, true);
	} else if (!suspect && rung && in->score) {
		in->score--;
	}
	in->suspect = false;
	in->looks = 0;
	/* A signal comes soon, or the interrupt of another one was left out. */
	in->early = several || (!rung && !suspect);
	in->early_until = jiffies + 2;
}

/* Return: true if a new line of the peer has a signal of its own, though it has no records. */
static bool nt_in_line_rings(const struct nt_ring *ring)
{
	const struct nt_tx *bulk = &ring->out.tx[NTW_BULK];
	const struct nt_in *in = &ring->in;

	if (in->serial == in->seen)
		return false;
	return in->serial & NTW_ASK || (in->seen & ~in->serial & NTW_AWAKE) ||
	       bulk->acked - in->room >= bulk->size / 2 || READ_ONCE(ring->out.awaits_answer);
}

/*
 * A signal comes behind what it announces, unless the bridge carries doorbells by another way than
 * bytes. Without another look the bytes would be found at the next heartbeat.
 */
void nt_in_late(struct nt_ring *ring, bool rung)
{
	struct nt_in *in = &ring->in;
	u64 msgs = in->rx[NTW_MSG].got + in->rx[NTW_MSG].avail;
	u64 known = msgs + in->rx[NTW_BULK].avail;
	bool line = nt_in_line_rings(ring);

	/* Records of the message ring report room as well, with a signal. */
	if (line || msgs != in->msgs)
		in->room = ring->out.tx[NTW_BULK].acked;
	in->msgs = msgs;
	if (line && !rung) {	/* its signal comes yet */
		in->early = true;
		in->early_until = jiffies + 2;
	}
	if (known != in->known) {
		nt_in_found(ring, rung);
	} else if (rung && !line) {
		in->suspect = !in->early || time_after(jiffies, in->early_until);
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
	struct nt_rx *msg = &in->rx[NTW_MSG], *bulk = &in->rx[NTW_BULK];
	struct nt_out *out = &ring->out;
	bool lags;
	u64 lag;

	lockdep_assert_held(&ring->lock);
	nt_in_echo(in, out);
	in->seen = in->serial;
	/*
	 * One line tells the peer that this side polls, and another one that it has stopped: too
	 * much for a single run.
	 */
	in->awake = more && in->busy;
	in->busy = more;
	nt_in_sleep(ring);
	out->due |= in->awake && !out->awake;
	/*
	 * Progress is not reported at once, but with the next line, or when so much of a ring was
	 * handled that the peer may run out of room. Of the bulk ring that is half: a peer that
	 * waits for room there waits until half of it is free, so it needs the signal, too, and
	 * does not ask; while there is more to handle it may wait for another quarter. Records of
	 * the message ring report that as well, and consumers may be about to send some in answer.
	 * So a line follows in the next run only.
	 */
	msg->to_report = msg->got;
	bulk->to_report = bulk->got;
	out->due |= msg->to_report - msg->reported >= msg->size / 4;
	lag = bulk->to_report - bulk->told;
	lags = lag >= bulk->size / 2 && !nt_msgs_report(out) &&
	       (bulk->got == bulk->avail || lag >= bulk->size / 4 * 3);
	if (lags && in->lags) {
		out->due = true;
		out->wake = true;
	}
	in->lags = lags && !in->lags;
	if (!(in->seen & NTW_ASK) || in->seen == in->answered)
		return;
	in->answered = in->seen;
	out->due = true;
	out->wake = true;
}
