// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - records to the peer and from it: init and exit of the rings, and their BH work.
 * shadow.c, line.c and bulk.c send, in.c receives.
 *
 * This is one queue of a link. A connection uses one queue (kfi/mux/stream.c), so queues need no
 * order among each other. They share the window and the link's state machine, and doorbell bits if
 * there are fewer of these than queues. A fault of one of them ends the life of the link.
 *
 * There are two rings for each direction. Those through which A sends lie in B's memory; A writes
 * to them and never reads them. A's CPU writes the *message ring*, which has short records, and A's
 * engine writes the *bulk ring*, which has all others. So a short record does not wait for long
 * ones of other connections. A has a *shadow* of both in memory of its own. A writes records to the
 * shadow, from which they are copied. Positions count bytes since the link came up. A ring's size
 * is a power of two, and position p is at byte p mod size. Each side has two *lines* in the other's
 * control page: the CPU writes one, with `produced` of the message ring and `consumed` of both
 * rings; the engine writes the other one, with `produced` of the bulk ring.
 *
 * States of the bytes of a ring at the sender, in the order of positions:
 *
 *	        acked                produced               placed             acked + size
 *	  handled |   with the peer     |    in the shadow     |       free         |
 *
 * and of the bytes in between at the receiver:
 *
 *	        reported               got                   avail
 *	  reported|       handled       |      to handle       |   not there yet
 *
 * A record of the message ring is copied to the shadow, and from there to the ring, in
 * nt_ring_put(), or at the end of the BH work's run. With "more" it waits for the next post, a kick
 * or a sign of life.
 *
 * States of a record of the bulk ring: *posted*, with its payload mapped for the engine ->
 * (*waiting* for room) -> *placed*, in the batch that is being filled -> its batch is *closed*, and
 * *given* to the engine piece by piece -> *reaped*: its memory is not read any more, is unmapped,
 * and sent() is called.
 *
 * A batch is closed as soon as fewer than NT_BATCHES are under way, so batches become larger while
 * the engine is busy. A batch consists, in this order, of payload that the engine reads from the
 * consumers' memory, runs of the shadow, the line, and the signal. If a copy fails, the copies
 * behind it are aborted. Then batches are given again from the oldest on, to the CPU, which also
 * copies batches with addresses that the engine can't take. When the CPU follows the engine, or
 * the reverse, the peer has to have handled all before it, because there is no order between the
 * two.
 *
 * Order of the two rings. CPU and engine are two paths to the peer, with no order between them. A
 * record of the bulk ring comes after the records of the message ring that were put there before:
 * the line has their position (`after`), and B handles the records of the bulk ring when it has
 * handled the message ring up to there. B never delays records of the message ring. So if a
 * connection has records in the bulk ring that B has not acknowledged, later ones go there, too
 * (stream.c).
 *
 * Order of writes. "Write" means a write to the peer's memory. Writes of one engine with a fence in
 * between, and of the CPU with wmb() in between, arrive in their order; of a line the positions
 * arrive before echo and serial, and of a line of the engine one word before the other. These are
 * the pairs:
 *
 *   A: write records, and payload         B: read produced
 *   (a fence of the engine, or wmb())     dma_rmb()
 *   A: write line (produced)              B: read records
 *
 *	B sees the bytes of each record below `produced`.
 *
 *   A: write records but the first line   B: clear the header's place, write line (consumed)
 *   wmb()                                 B: read the header
 *   A: write that line of 64 bytes        dma_rmb()
 *   A: write signal                       B: read the rest of what its CRC covers
 *
 *	B finds a record of the message ring without a line, if it is complete. Nothing else
 *	passes for one: before A could write there, B has cleared the type of each header that
 *	may be there. A record that is not complete when B reads it has a signal behind it, and
 *	if bytes of it were lost, the next line announces it. A sends records without a line if
 *	that would have nothing else to say, and if B is not awake: a signal that is left out
 *	needs a serial.
 *
 *   A: write records, line by CPU         B: read produced of the bulk ring
 *   (program order, under A's lock)       dma_rmb()
 *   A: write line by engine (after)       B: read after
 *
 *	The line of a record says behind which record of the message ring it comes, because
 *	`after` is the earlier word of the line. B waits until those have arrived.
 *
 *   B: read the record's bytes            A: read consumed
 *   (handling copies before it returns)   (control dependency)
 *   B: write line (consumed)              A: write the shadow, copy
 *
 *	A overwrites no byte before B has read it.
 *
 *   A: engine reads the shadow            A: reap
 *   smp_store_release(state)              smp_load_acquire(state)
 *
 *	A's CPU changes no byte of the shadow, and no line, that the engine still reads: a line is
 *	reused after it was reaped, and a byte of the shadow after `consumed` has covered it, too.
 *	(A peer that acknowledges what it was not sent harms itself.)
 *
 *   A: write line                         B: clear the doorbell, read its register
 *   A: write signal                       B: read the line
 *
 *	No wake-up is lost: a signal that comes after B's write has cleared the doorbell causes
 *	another interrupt, and what comes before a signal that was cleared has arrived when the
 *	register was read, so the read of the line sees it (nt_in_settle()).
 *
 *   A: write line (asking), write signal  B: read serial
 *                                         B: write line (consumed, echo), then signal
 *
 *	A asks if it has no room in the message ring. B answers each new serial that asks with a
 *	line that has `consumed`, and a signal. A asks in all lines until it has the answer,
 *	because B may see only the last of several lines. Half of the bulk ring B reports unasked,
 *	with a signal: A waits until half of it is free.
 *
 *   B: read; write line (not awake,       A: write line; no signal, because B was awake
 *      echo), then signal                 A: read serial, read echo
 *                                         A: write line, then signal
 *
 *	Lines of B have NTW_AWAKE while B polls. A's CPU then sends no signal, and remembers the
 *	serial. The first line of B without NTW_AWAKE has a signal, and its echo shows A what B has
 *	not seen: A then sends a signal again. A line that asks always has a signal, because A may
 *	send nothing else before the answer.
 *
 *   A: engine writes line (produced)      B: read produced of the bulk ring
 *   A: reap; no signal, because B is      B: write line (not awake, consumed), then signal
 *      awake                              A: read serial, read consumed
 *                                         A: write signal
 *
 *	The same for a line of the engine: `consumed` shows A which batches B has found. Whether B
 *	is awake is read again when the engine has copied the line.
 *
 * docs/wire-ntb.md describes what all this requires of the hardware; tests/model has models of it,
 * which fail without any one of these orders.
 *
 * Context: all of this happens in posts and in the BH work, under `lock`, except that payload is
 * mapped and unmapped, records are handled and callbacks are called without it. The link's work
 * item calls nt_ring_on() and nt_ring_off(); in between `state` is NT_UP until nt_ring_end().
 */
#include "ring.h"

/* ---- sending: the lock is held ---- */

/*
 * Return: true if A needs room in the message ring, or has to know that all was handled. B makes
 * room in the bulk ring unasked, see nt_in_due().
 */
static bool nt_needs_room(const struct nt_out *out)
{
	return out->turning ||
	       (out->tx[NTW_MSG].wanted && !nt_shadow_has_room(out, NTW_MSG));
}

/* Let the next line ask the peer for an answer, unless an answer is awaited. */
static void nt_request_answer(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	if (out->awaits_answer || !nt_needs_room(out))
		return;
	out->awaits_answer = true;
	out->ask = out->serial + NTW_SERIAL_STEP;
	out->due = true;
	out->wake = true;
}

/*
 * Batches are given after the records of the message ring were written, so that these arrive first
 * if the engine is idle.
 */
void nt_out_push(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	nt_bulk_close(ring);
	nt_request_answer(ring);
	if (out->due || out->tx[NTW_MSG].go)
		nt_line_send(ring);
	nt_bulk_submit(ring);
	if (!out->turning)
		return;
	nt_request_answer(ring);
	if (out->due)
		nt_line_send(ring);
}

/* ---- the BH work ---- */

static void nt_call_sent(struct nt_ring *ring, struct list_head *done)
{
	struct nt_rec *rec, *next;

	list_for_each_entry_safe(rec, next, done, entry) {
		list_del(&rec->entry);
		nt_rec_unmap(ring, rec);
		/* The record may be freed by the callback. */
		if (rec->sent)
			rec->sent(rec, rec->err);
	}
}

static bool nt_run_reap(struct nt_ring *ring, struct list_head *done)
{
	bool good;

	spin_lock(&ring->lock);
	ring->out.corked = true;
	good = nt_bulk_reap(ring, done);
	spin_unlock(&ring->lock);
	return good;
}

/* Return: true if nt_ring_want() was called, and there is room. */
static bool nt_run_push(struct nt_ring *ring, bool more)
{
	struct nt_out *out = &ring->out;
	bool has_room = false, room;
	unsigned int i;

	spin_lock(&ring->lock);
	out->corked = false;
	if (ring->state == NT_UP) {
		nt_in_due(ring, more);
		nt_out_push(ring);
	}
	for (i = 0; i < NTW_RINGS && ring->state == NT_UP; i++) {
		room = out->tx[i].wanted && nt_shadow_has_room(out, i);
		out->tx[i].wanted &= !room;
		has_room |= room;
	}
	spin_unlock(&ring->lock);
	return has_room;
}

/* Report a fault. Until the link is taken down, nothing is received or sent any more. */
static void nt_run_fault(struct nt_ring *ring, const char *why)
{
	spin_lock(&ring->lock);
	if (ring->state == NT_UP)
		WRITE_ONCE(ring->state, NT_ENDING);
	spin_unlock(&ring->lock);
	ring->ops->fault(ring, why);
}

static void nt_run_protocol_error(struct nt_ring *ring)
{
	ring->stats.protocol_errors += !ring->in.torn;
	nt_run_fault(ring, ring->in.torn ? "bytes of a record are not those that were written" :
					   "the peer does not follow the protocol");
}

/*
 * Handle what the peer has written. If the bridge's link was interrupted between payload and its
 * record, the record is complete and the payload is not. But then the bridge has reported the
 * interruption before it carried the line that was read, so @lost is set.
 */
static void nt_run_receive(struct nt_ring *ring)
{
	bool good = nt_in_poll(ring);

	dma_rmb();
	if (READ_ONCE(ring->lost))
		nt_run_fault(ring, "the bridge says so");
	else if (!good || !nt_in_handle(ring))
		nt_run_protocol_error(ring);
}

/* While the rings are off, the engine has copies of nt_ring_prove() only. */
static void nt_run_proofs(struct nt_ring *ring)
{
	struct nt_engine *e = &ring->engine;

	spin_lock(&ring->lock);
	while (nt_engine_reap(e))
		e->tail++;
	spin_unlock(&ring->lock);
	wake_up_all(&ring->idle);
}

static void nt_ring_run(struct bh_work_struct *work)
{
	struct nt_ring *ring = container_of(work, struct nt_ring, run);
	/* A signal that comes after this queues another run. */
	bool rung = READ_ONCE(ring->rung) && xchg(&ring->rung, false), more, again;
	LIST_HEAD(done);

	ring->in.unsettled |= rung;
	if (READ_ONCE(ring->state) == NT_OFF)
		return nt_run_proofs(ring);
	if (!nt_run_reap(ring, &done))
		nt_run_fault(ring, "the DMA engine does not copy");
	if (ring->ops->burst_begin)
		ring->ops->burst_begin(ring);
	nt_call_sent(ring, &done);
	if (READ_ONCE(ring->state) == NT_UP)
		nt_run_receive(ring);
	if (ring->ops->burst_end)
		ring->ops->burst_end(ring);
	again = nt_in_streams(ring);
	more = READ_ONCE(ring->state) == NT_UP && nt_in_more(ring);
	if (READ_ONCE(ring->state) == NT_UP)
		nt_in_late(ring, rung);
	if (nt_run_push(ring, more))
		ring->ops->room(ring);
	if (more || again || ring->in.lags ||
	    (READ_ONCE(ring->state) == NT_UP && nt_in_settle(ring)))
		nt_ring_schedule(ring);
	if (nt_engine_idle(&ring->engine) && wq_has_sleeper(&ring->idle))
		wake_up_all(&ring->idle);
}

static enum hrtimer_restart nt_ring_look(struct hrtimer *timer)
{
	nt_ring_schedule(container_of(timer, struct nt_ring, look));
	return HRTIMER_NORESTART;
}

/* ---- init and exit ---- */

int nt_ring_init(struct nt_ring *ring, const struct nt_ring_ops *ops, int node, bool use_dma,
		 struct workqueue_struct *wq, const struct nt_ring *first)
{
	struct nt_out *out = &ring->out;
	unsigned int i;
	int ret;

	spin_lock_init(&ring->lock);
	ring->ops = ops;
	ring->state = NT_OFF;
	INIT_LIST_HEAD(&out->waiting);
	INIT_BH_WORK(&ring->run, nt_ring_run);
	hrtimer_setup(&ring->look, nt_ring_look, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	init_waitqueue_head(&ring->idle);
	ret = nt_engine_init(&ring->engine, node, use_dma, &ring->run, wq,
			     first ? &first->engine : NULL);
	if (ret)
		return ret;
	out->lines = nt_engine_alloc(&ring->engine, NT_SLOTS * sizeof(*out->lines),
				     &out->lines_dma);
	if (!out->lines) {
		nt_engine_exit(&ring->engine);
		return -ENOMEM;
	}
	for (i = 0; i < NT_SLOTS; i++) {
		INIT_LIST_HEAD(&out->batch[i].recs);
		out->batch[i].line = &out->lines[i];
		out->batch[i].line_dma = out->lines_dma + i * sizeof(*out->lines);
	}
	return 0;
}

static void nt_shadows_free(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_tx *bulk = &out->tx[NTW_BULK];

	kvfree(out->tx[NTW_MSG].shadow);
	out->tx[NTW_MSG].shadow = NULL;
	nt_engine_free(&ring->engine, bulk->size, bulk->shadow, bulk->dma);
	bulk->shadow = NULL;
	out->size = 0;
}

void nt_ring_exit(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	cancel_work_sync(&ring->engine.work);	/* before the BH work, which it queues */
	hrtimer_cancel(&ring->look);
	cancel_bh_work_sync(&ring->run);
	nt_shadows_free(ring);
	nt_engine_free(&ring->engine, NT_SLOTS * sizeof(*out->lines), out->lines, out->lines_dma);
	nt_engine_exit(&ring->engine);
}

int nt_ring_shadow(struct nt_ring *ring, unsigned int queues, u32 size)
{
	struct nt_out *out = &ring->out;
	struct nt_tx *msg = &out->tx[NTW_MSG], *bulk = &out->tx[NTW_BULK];

	if (out->size != size) {
		nt_shadows_free(ring);
		out->size = size;
		msg->size = ntw_ring_size(NTW_MSG, size);
		msg->shadow = kvzalloc(msg->size, GFP_KERNEL);
		bulk->size = size;
		bulk->shadow = nt_engine_alloc(&ring->engine, size, &bulk->dma);
	}
	if (!msg->shadow || !bulk->shadow) {
		nt_shadows_free(ring);
		return -ENOMEM;
	}
	out->base = ntw_queue_at(ring->index, size);
	out->arena = ntw_arena_at(queues, size);
	return 0;
}

static void nt_out_reset(struct nt_ring *ring, u32 peer_id)
{
	struct nt_out *out = &ring->out;
	struct nt_tx *tx;

	for (tx = out->tx; tx < out->tx + NTW_RINGS; tx++) {
		tx->placed = 0;
		tx->produced = 0;
		tx->acked = 0;
		tx->go = false;
		tx->wanted = false;
	}
	out->peer_id = peer_id;
	out->crc = ring->crc;
	out->crc_all = ring->crc_all;
	nt_line_reset(out);
	nt_bulk_reset(out);
}

void nt_ring_on(struct nt_ring *ring, void *inbound, u32 size, u32 own_id, u32 peer_id)
{
	nt_out_reset(ring, peer_id);
	nt_in_reset(ring, inbound, size, own_id);
	spin_lock_bh(&ring->lock);
	/* The engine is idle. A doorbell that has failed during the proof concerns no line. */
	WRITE_ONCE(ring->engine.broken, false);
	ring->flush = false;
	WRITE_ONCE(ring->rung, false);
	WRITE_ONCE(ring->lives, ring->lives + 1);
	WRITE_ONCE(ring->state, NT_UP);
	spin_unlock_bh(&ring->lock);
	/* The peer may have been up for a while, and may have sent records. */
	nt_ring_schedule(ring);
}

static bool nt_prove_copies(struct nt_ring *ring, u32 peer_id)
{
	struct nt_out *out = &ring->out;
	struct nt_tx *bulk = &out->tx[NTW_BULK];
	struct ntw_bulk_line *word = out->batch[0].line;
	/* Some engines make no copies of an odd length, and report no error. */
	u32 i, len = NT_PROOF + nt_engine_aligned(&ring->engine, 1);
	struct nt_piece bytes = { .addr = bulk->shadow, .dma = bulk->dma, .len = len };
	struct nt_piece words = {
		.addr = word, .dma = out->batch[0].line_dma, .len = sizeof(*word),
	};

	for (i = 0; i < len; i++)
		((u8 *)bulk->shadow)[i] = ntw_proof_byte(peer_id, i);
	*word = (struct ntw_bulk_line) {
		.after = cpu_to_le64(ntw_word(peer_id, 1)),
		.produced = cpu_to_le64(ntw_word(peer_id, len)),
	};
	return nt_engine_copy(&ring->engine, NT_BYTES, &bytes, nt_out_at(out, NTW_BULK), NULL,
			      NT_COPY_FENCE) &&
	       nt_engine_copy(&ring->engine, NT_LINE, &words,
			      out->base + offsetof(struct ntw_ctl, proof), NULL,
			      NT_COPY_FENCE | NT_COPY_LAST);
}

bool nt_ring_prove(struct nt_ring *ring, u32 peer_id)
{
	struct nt_engine *e = &ring->engine;
	unsigned int i = ring->proofs;

	spin_lock_bh(&ring->lock);
	if (!i)
		i += nt_prove_copies(ring, peer_id);
	if (i == 1 && e->bell_len)
		i += nt_engine_ring(e);
	ring->proofs = i;
	nt_engine_go(e);
	spin_unlock_bh(&ring->lock);
	return i > !!e->bell_len;
}

static bool nt_ring_engine_idle(struct nt_ring *ring)
{
	bool quiet;

	spin_lock_bh(&ring->lock);
	quiet = nt_engine_idle(&ring->engine);
	spin_unlock_bh(&ring->lock);
	return quiet;
}

void nt_ring_end(struct nt_ring *ring)
{
	spin_lock_bh(&ring->lock);
	WRITE_ONCE(ring->state, NT_ENDING);
	spin_unlock_bh(&ring->lock);
	queue_bh_work(&ring->run);
}

bool nt_ring_wait_idle(struct nt_ring *ring, unsigned long timeout)
{
	bool idle = wait_event_timeout(ring->idle, nt_ring_engine_idle(ring), timeout);

	if (idle && ring->engine.hangs)
		WRITE_ONCE(ring->engine.hangs, false);
	return idle;
}

bool nt_ring_abort(struct nt_ring *ring)
{
	bool ended = nt_engine_abort(&ring->engine);

	WRITE_ONCE(ring->engine.hangs, !ended);
	return ended;
}

void nt_ring_off(struct nt_ring *ring)
{
	struct nt_rec *rec;
	LIST_HEAD(all);

	spin_lock_bh(&ring->lock);
	WRITE_ONCE(ring->state, NT_OFF);
	spin_unlock_bh(&ring->lock);
	cancel_bh_work_sync(&ring->run);
	/* It queues nothing any more, and the BH work, which starts it, has ended. */
	hrtimer_cancel(&ring->look);
	spin_lock_bh(&ring->lock);
	nt_bulk_abandon(ring, &all);
	spin_unlock_bh(&ring->lock);
	/* No other context calls callbacks of this ring. They expect bottom halves to be off. */
	local_bh_disable();
	list_for_each_entry(rec, &all, entry)
		rec->err = -ENOTCONN;
	nt_call_sent(ring, &all);
	local_bh_enable();
	WRITE_ONCE(ring->lives, ring->lives + 1);
	wake_up_all(&ring->idle);
}

static u32 nt_ring_peer_word(const struct nt_ring *ring, const __le64 *word)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), ring->in.own_id, &value) ? value : 0;
}

u32 nt_ring_peer_serial(const struct nt_ring *ring)
{
	return nt_ring_peer_word(ring, &ring->in.ctl->line.serial);
}

u32 nt_ring_peer_bye(const struct nt_ring *ring)
{
	return nt_ring_peer_word(ring, &ring->in.ctl->line.bye);
}

bool nt_ring_peer_late(const struct nt_ring *ring)
{
	return nt_ring_peer_word(ring, &ring->in.ctl->line.late);
}

void nt_ring_flush(struct nt_ring *ring)
{
	spin_lock_bh(&ring->lock);
	WRITE_ONCE(ring->flush, true);
	spin_unlock_bh(&ring->lock);
}

bool nt_ring_progress(struct nt_ring *ring, enum nt_progress what, u64 *done)
{
	const struct nt_out *out = &ring->out;
	const struct nt_tx *msg = &out->tx[NTW_MSG], *bulk = &out->tx[NTW_BULK];
	bool waits;

	spin_lock_bh(&ring->lock);
	switch (what) {
	case NT_PEER_MSG:
		*done = msg->acked;
		waits = msg->produced > msg->acked;
		break;
	case NT_PEER_BULK:
		*done = bulk->acked;
		waits = out->arrived > bulk->acked;
		break;
	default:
		*done = ring->engine.tail;
		waits = out->oldest != out->filling;
	}
	spin_unlock_bh(&ring->lock);
	return waits;
}
