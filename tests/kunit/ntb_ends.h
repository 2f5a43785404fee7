/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb_ends.h - two ends of kfi_ntb's rings for KUnit, over plain memory: the signal of an end
 * queues the BH work of the other one.
 *
 * A test includes this file after the sources of the rings.
 */
#ifndef _KFI_KUNIT_NTB_ENDS_H
#define _KFI_KUNIT_NTB_ENDS_H

#define RING_LEN	16384U
#define LOAD		(NT_LOAD_MAX / 4)
#define QUEUE		(NTW_CTL_SIZE + NTW_RINGS * RING_LEN)	/* queue 1 of two is tested */
#define ARENA		(2 * QUEUE)
#define INBOUND		(ARENA + LOAD)
#define LINES		64U		/* records of an end that are out at a time */
#define MANY		1500U
#define PATIENCE	(20 * HZ)

struct end {
	struct nt_ring	ring;
	struct end	*other;
	u8		*mem;
	u32		got, wrong, faults, rooms;
	/* records */
	struct nt_rec	rec[LINES];
	u8		buf[LINES][2048];
	struct kvec	vec[LINES];
	unsigned long	used;		/* a bit for each record that is out */
	u32		posted, sent, lost;
	u32		messages;	/* records of the message ring */
	bool		mute;		/* it sends no signals */
	bool		misses;		/* a record comes before its bit is clear */
	bool		beats;		/* ... a line comes */
	u32		beat_at;	/* it sends a line with this record */
	bool		rings;		/* its signals are doorbells */
	u64		bulk_end;
	wait_queue_head_t wait;
};

struct pair {
	struct end	end[2];
};

static u8 fill(u32 seq)
{
	return seq * 37 + 11;
}

static void op_signal(struct nt_ring *ring)
{
	struct end *end = container_of(ring, struct end, ring);

	if (end->rings)
		nt_ring_rung(&end->other->ring);
	else if (!end->mute)
		nt_ring_schedule(&end->other->ring);
}

static void op_record(struct nt_ring *ring, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct end *end = container_of(ring, struct end, ring);

	if (end->beat_at && end->got == end->beat_at)
		nt_ring_beat(ring, 0);
	end->wrong += le32_to_cpu(rec->conn) != end->got || memchr_inv(body, fill(end->got), len);
	WRITE_ONCE(end->got, end->got + 1);
	wake_up(&end->wait);
}

static void op_fault(struct nt_ring *ring, const char *why)
{
	struct end *end = container_of(ring, struct end, ring);

	WRITE_ONCE(end->faults, end->faults + 1);
	wake_up(&end->wait);
}

static void op_room(struct nt_ring *ring)
{
	struct end *end = container_of(ring, struct end, ring);

	WRITE_ONCE(end->rooms, end->rooms + 1);
	wake_up(&end->wait);
}

static struct end *end_of(struct nt_rec *rec)
{
	return (struct end *)rec->place;	/* a record without places does not use it */
}

static void rec_sent(struct nt_rec *rec, int err)
{
	struct end *end = end_of(rec);

	memset((void *)rec->iter.kvec->iov_base, 0, rec->len);
	WRITE_ONCE(end->bulk_end, max(end->bulk_end, rec->end));
	err ? end->lost++ : end->sent++;
	smp_mb__before_atomic();	/* @bulk_end before the bit */
	clear_bit(rec - end->rec, &end->used);
	wake_up(&end->wait);
}

static int post(struct end *end, u32 seq, size_t len, bool more)
{
	unsigned int i = find_first_zero_bit(&end->used, LINES);
	struct nt_rec *rec = &end->rec[i];
	int ret;

	*rec = (struct nt_rec) {
		.sent = rec_sent, .head_len = sizeof(struct ntw_rec), .len = len,
		.rec = { .type = NTW_FIRST, .conn = cpu_to_le32(seq) },
		.place = (struct nt_place *)end,
	};
	memset(end->buf[i], fill(seq), len);
	end->vec[i] = (struct kvec) { .iov_base = end->buf[i], .iov_len = len };
	iov_iter_kvec(&rec->iter, ITER_SOURCE, &end->vec[i], 1, len);
	set_bit(i, &end->used);
	ret = nt_ring_post(&end->ring, rec, more);
	if (ret)
		clear_bit(i, &end->used);
	return ret;
}

static int put(struct end *end, enum ntw_which which, u32 seq, u32 len, bool more)
{
	struct ntw_rec head = { .type = NTW_FIRST, .conn = cpu_to_le32(seq) };
	struct kvec vec = { &head, sizeof(head) }, bytes;
	struct iov_iter iter;
	u8 buf[512];
	int ret;

	memset(buf, fill(seq), sizeof(buf));
	bytes = (struct kvec) { buf, len };
	iov_iter_kvec(&iter, ITER_SOURCE, &bytes, 1, len);
	local_bh_disable();
	ret = nt_ring_put(&end->ring, which, &vec, 1, &iter, len, more);
	local_bh_enable();
	return ret;
}

static void op_settle(struct nt_ring *ring)
{
	struct end *end = container_of(ring, struct end, ring);

	if (end->misses)
		put(end->other, NTW_MSG, end->got, 0, false);
	end->misses = false;
	if (end->beats)
		nt_ring_beat(&end->other->ring, 0);
	end->beats = false;
}

static const struct nt_ring_ops ops = {
	.signal = op_signal, .record = op_record, .room = op_room, .settle = op_settle,
	.fault = op_fault,
};

static bool owes_nothing(struct nt_ring *ring)
{
	u64 done;

	return !nt_ring_progress(ring, NT_PEER_MSG, &done) &&
	       !nt_ring_progress(ring, NT_PEER_BULK, &done);
}

/* Let the peer report what it has handled. Return: was that all? */
static bool reported(struct end *end)
{
	unsigned int i;

	for (i = 0; !owes_nothing(&end->ring) && i < 1000; i++) {
		nt_ring_beat(&end->other->ring, 0);
		usleep_range(1000, 2000);
		nt_ring_schedule(&end->ring);
		usleep_range(1000, 2000);
	}
	return owes_nothing(&end->ring);
}

/* Put records into the ring until it is full. Return: how many fit. */
static u32 put_all(struct end *end, enum ntw_which which, u32 seq, bool more)
{
	u32 n = 0;

	while (!put(end, which, seq + n, 300, more))
		n++;
	return n;
}

/* The end has handled @n records. */
static bool got_all(struct end *end, u32 n)
{
	return wait_event_timeout(end->wait, READ_ONCE(end->got) == n, PATIENCE);
}

static bool rooms_are(struct end *end, u32 rooms)
{
	return wait_event_timeout(end->wait, READ_ONCE(end->rooms) == rooms, PATIENCE);
}

/* Let the copies of a kind fail that the ring has not reaped. Return: their number. */
static u32 fail_made(struct nt_ring *ring, enum nt_what what)
{
	struct nt_engine *e = &ring->engine;
	u32 i, n = 0;

	for (i = e->tail; i != e->head; i++) {
		struct nt_desc *d = &e->desc[i & (NT_DESCS - 1)];

		if (d->what != what)
			continue;
		d->state = NT_FAILED;
		n++;
	}
	return n;
}

/* ---- fixture ---- */

static void end_on(struct end *end, u32 own_id, u32 peer_id)
{
	struct iosys_map peer = IOSYS_MAP_INIT_VADDR(end->other->mem);

	nt_engine_open(&end->ring.engine, 0, INBOUND, &peer);
	nt_ring_on(&end->ring, end->mem + QUEUE, RING_LEN, own_id, peer_id);
	nt_ring_beat(&end->ring, 0);
}

/* From end_pause() to end_resume() the end looks at nothing: neither at records nor at copies. */
static void end_pause(struct end *end)
{
	disable_bh_work_sync(&end->ring.run);
}

static void end_resume(struct end *end)
{
	enable_bh_work(&end->ring.run);
	nt_ring_schedule(&end->ring);
}

static void end_off(struct end *end)
{
	nt_ring_end(&end->ring);
	while (!nt_ring_wait_idle(&end->ring, HZ))
		;
	nt_ring_off(&end->ring);
}

static int ring_init(struct kunit *test)
{
	struct pair *pair = kvzalloc(sizeof(*pair), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, pair);
	test->priv = pair;
	for (i = 0; i < 2; i++) {
		struct end *end = &pair->end[i];

		end->other = &pair->end[!i];
		end->mem = kvzalloc(INBOUND, GFP_KERNEL);
		init_waitqueue_head(&end->wait);
		KUNIT_ASSERT_NOT_NULL(test, end->mem);
		KUNIT_ASSERT_EQ(test, 0,
				nt_ring_init(&end->ring, &ops, NUMA_NO_NODE, false,
					     system_unbound_wq, NULL));
		end->ring.index = 1;
		KUNIT_ASSERT_EQ(test, 0, nt_ring_shadow(&end->ring, 2, RING_LEN));
		end->ring.crc = true;
		end->ring.crc_all = true;
	}
	for (i = 0; i < 2; i++)
		end_on(&pair->end[i], 100 + i, 101 - i);
	return 0;
}

static void ring_exit(struct kunit *test)
{
	struct pair *pair = test->priv;
	int i;

	for (i = 0; i < 2; i++)
		end_off(&pair->end[i]);
	for (i = 0; i < 2; i++) {
		nt_ring_exit(&pair->end[i].ring);
		kvfree(pair->end[i].mem);
	}
	kvfree(pair);
}

/* ---- a record whose payload goes to one place ---- */

#define PLACED_AT	(INBOUND - 64)
#define PLACED_HEAD	24	/* no multiple of NTW_ALIGN, as in records of connections */

struct placed {
	struct nt_rec		rec;
	struct nt_place		place;
	struct kvec		vec;
	struct nt_mapping	mapping[NT_MAPPINGS];
	struct completion	sent;
	int			err;
};

static void placed_sent(struct nt_rec *rec, int err)
{
	struct placed *p = container_of(rec, struct placed, rec);

	p->err = err;
	complete(&p->sent);
}

static int post_placed_at(struct end *end, struct placed *p, u64 at, void *from, size_t len,
			  bool more)
{
	*p = (struct placed) {
		.place = { .at = at, .len = len }, .vec = { from, len },
		.rec = { .sent = placed_sent,
			 .head_len = sizeof(struct ntw_rec) + PLACED_HEAD,
			 .rec.type = NTW_FIRST,
			 .len = len,
			 .count = 1,
			 .place = &p->place,
			 .mapping = p->mapping },
	};
	memset(p->rec.head + sizeof(struct ntw_rec), fill(0), PLACED_HEAD);
	init_completion(&p->sent);
	iov_iter_kvec(&p->rec.iter, ITER_SOURCE, &p->vec, 1, len);
	return nt_ring_post(&end->ring, &p->rec, more);
}

static int post_placed(struct end *end, struct placed *p, void *from, size_t len, bool more)
{
	return post_placed_at(end, p, PLACED_AT, from, len, more);
}

#endif
