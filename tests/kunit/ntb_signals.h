/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb_signals.h - cases of kfi_ntb_ring: signals that are left out, lost or early, and room that is
 * waited for.
 */
#ifndef _KFI_KUNIT_NTB_SIGNALS_H
#define _KFI_KUNIT_NTB_SIGNALS_H

/*
 * Signals come before the records that they announce. No heartbeat and no other signal comes, so
 * the receiver has to look again by itself. It tells the peer when that has happened often enough,
 * and not because of signals that come behind their records.
 */
static void late_data(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 i, n = 0;

	KUNIT_EXPECT_TRUE(test, reported(a));
	a->mute = true;
	msleep(50);	/* no signal is expected any more for what was found before */
	for (i = 0; i < NT_LATE; i++) {
		KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, n++, 0, false));
		nt_ring_rung(&b->ring);
		KUNIT_ASSERT_TRUE(test, got_all(b, n));
	}
	KUNIT_EXPECT_EQ(test, 0ULL, b->ring.stats.late);
	for (i = 0; i < NT_LATE / 2; i++) {
		KUNIT_EXPECT_FALSE(test, READ_ONCE(b->ring.in.overtaken));
		nt_ring_rung(&b->ring);
		usleep_range(300, 400);
		KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, n++, 0, false));
		KUNIT_ASSERT_TRUE(test, got_all(b, n));
		usleep_range(300, 400);
	}
	KUNIT_EXPECT_EQ(test, (u64)NT_LATE / 2, b->ring.stats.late);
	KUNIT_EXPECT_FALSE(test, nt_ring_peer_late(&a->ring));
	nt_ring_beat(&b->ring, 0);
	KUNIT_EXPECT_TRUE(test, nt_ring_peer_late(&a->ring));
	KUNIT_EXPECT_FALSE(test, nt_ring_peer_late(&b->ring));
	a->mute = false;
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* A record whose signal has met a doorbell bit that was not clear yet is found all the same. */
static void signal_is_missed(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;

	KUNIT_EXPECT_TRUE(test, reported(a));
	a->mute = true;
	b->misses = true;
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, 0, 0, false));
	nt_ring_rung(&b->ring);
	KUNIT_EXPECT_TRUE(test, got_all(b, 2));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* A line without records, whose signal is missed in the same way, is seen as well. */
static void line_is_missed(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 serial;

	KUNIT_EXPECT_TRUE(test, reported(a));
	a->mute = true;
	b->beats = true;
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, 0, 0, false));
	nt_ring_rung(&b->ring);
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	msleep(20);
	serial = a->ring.out.serial;
	KUNIT_EXPECT_EQ(test, serial, b->ring.in.seen & ~NTW_FLAGS);
}

/* Let @end believe that its peer has sent a line that says whether it polls. */
static void peer_polls(struct end *end, u32 own_id, bool awake)
{
	struct ntw_ctl *ctl = (void *)end->mem + QUEUE;
	u32 serial = (nt_ring_peer_serial(&end->ring) & ~NTW_FLAGS) + NTW_SERIAL_STEP;

	serial |= awake ? NTW_AWAKE : 0;
	WRITE_ONCE(ctl->line.serial, cpu_to_le64(ntw_word(own_id, serial)));
}

/* A batch for a peer that polls has no signal, unless the peer stops before it has found it. */
static void bulk_to_awake(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u64 signals;

	KUNIT_EXPECT_TRUE(test, reported(a));
	KUNIT_EXPECT_TRUE(test, reported(b));
	end_pause(b);
	signals = a->ring.stats.signals;
	peer_polls(a, 100, true);
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_BULK, 0, 300, false));
	msleep(20);
	KUNIT_EXPECT_EQ(test, signals, a->ring.stats.signals);
	nt_ring_schedule(&a->ring);
	msleep(20);
	KUNIT_EXPECT_EQ(test, signals, a->ring.stats.signals);
	peer_polls(a, 100, false);
	nt_ring_schedule(&a->ring);
	msleep(20);
	KUNIT_EXPECT_EQ(test, signals + 1, a->ring.stats.signals);
	end_resume(b);
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* A sender that found no room is called when there is some, at once if there is some already. */
static void room_in(struct kunit *test, enum ntw_which which)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 seq, round;

	end_pause(b);
	seq = put_all(a, which, 0, true);
	KUNIT_EXPECT_GT(test, seq, 10U);
	nt_ring_want(&a->ring, which);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0U, READ_ONCE(a->rooms));
	end_resume(b);
	for (round = 1; round < 50; round++) {
		KUNIT_ASSERT_TRUE(test, rooms_are(a, round));
		seq += put_all(a, which, seq, round & 1);
		nt_ring_want(&a->ring, which);
	}
	KUNIT_ASSERT_TRUE(test, rooms_are(a, round));
	nt_ring_want(&a->ring, which);
	KUNIT_EXPECT_TRUE(test, rooms_are(a, round + 1));
	KUNIT_EXPECT_TRUE(test, got_all(b, seq));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

static void room_for_messages(struct kunit *test)
{
	room_in(test, NTW_MSG);
}

static void room_for_bulk(struct kunit *test)
{
	room_in(test, NTW_BULK);
}

/*
 * The peer does not look at its ring: records wait, can be taken back, and arrive when it looks
 * again, though nobody has asked it. Until then the ring sees that it handles nothing.
 */
static void no_room(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u64 given, later;
	u32 i;

	end_pause(b);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, 0, post(a, i, 1000, false));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, list_empty(&a->ring.out.waiting));
	KUNIT_EXPECT_LE(test, a->ring.out.tx[NTW_BULK].placed, (u64)RING_LEN);
	KUNIT_EXPECT_FALSE(test, nt_ring_unpost(&a->ring, &a->rec[0]));
	KUNIT_EXPECT_TRUE(test, nt_ring_unpost(&a->ring, &a->rec[19]));
	KUNIT_EXPECT_FALSE(test, nt_ring_unpost(&a->ring, &a->rec[19]));
	KUNIT_EXPECT_EQ(test, 0U, b->got);
	KUNIT_EXPECT_TRUE(test, nt_ring_progress(&a->ring, NT_PEER_BULK, &given));
	nt_ring_beat(&a->ring, 0);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, nt_ring_progress(&a->ring, NT_PEER_BULK, &later));
	KUNIT_EXPECT_EQ(test, given, later);
	end_resume(b);
	KUNIT_EXPECT_TRUE(test, got_all(b, 19));
	KUNIT_EXPECT_EQ(test, 0U, b->wrong);
	KUNIT_EXPECT_EQ(test, 0U, a->ring.out.ask);
	KUNIT_EXPECT_TRUE(test, reported(a));
}

/*
 * What was reported without a signal still counts: the peer that waits for half of the bulk ring
 * gets a signal for it, though less than half was handled since.
 */
static void room_is_told(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 i, n = 13, len = RING_LEN / 17 - sizeof(struct ntw_rec);

	KUNIT_EXPECT_TRUE(test, reported(a));
	end_pause(b);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, 0, post(a, i, len, false));
	msleep(20);
	nt_ring_want(&a->ring, NTW_BULK);
	b->beat_at = NT_BULK_BUDGET;	/* in the second run */
	end_resume(b);
	KUNIT_EXPECT_TRUE(test, got_all(b, n));
	KUNIT_EXPECT_TRUE(test, rooms_are(a, 1));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* A signal for room has no records, so it has not overtaken them. */
static void room_is_not_late(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 seq = 0, round;

	KUNIT_EXPECT_TRUE(test, reported(a));
	b->rings = true;
	for (round = 1; round < 10; round++) {
		end_pause(b);
		seq += put_all(a, NTW_BULK, seq, false);
		nt_ring_want(&a->ring, NTW_BULK);
		msleep(20);
		KUNIT_EXPECT_EQ(test, 0U, a->ring.in.looks);
		end_resume(b);
		KUNIT_ASSERT_TRUE(test, rooms_are(a, round));
		KUNIT_EXPECT_EQ(test, 0U, a->ring.in.looks);
		KUNIT_EXPECT_TRUE(test, got_all(b, seq));
	}
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

#endif
