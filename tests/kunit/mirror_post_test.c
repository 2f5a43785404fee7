// SPDX-License-Identifier: GPL-2.0
/*
 * Which records a primary of kfi_mirror posts, and when (ulps/mirror/post.c): groups in the log of
 * a peer, and direct records in its slots.
 */
#include "mirror_world.h"

/* Records that could not be posted are posted together. */
static void post_group(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	unsigned int i;

	w->full = true;
	for (i = 0; i < 3; i++)
		mw_write(w, i, i);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->groups[0], 0);
	w->full = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->groups[0], 1);
	KUNIT_EXPECT_EQ(test, w->group[0].count, 3);
	KUNIT_EXPECT_EQ(test, w->group[0].at, 0);
	KUNIT_EXPECT_EQ(test, w->group[0].bytes, 3 * kfm_rec_room(PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 7);
	KUNIT_EXPECT_EQ(test, w->peers[0].ring.tail, 3 * kfm_rec_room(PAGE_SIZE));
}

/* A record waits for others while many are in flight, and for none while few are. */
static void post_group_waits(struct kunit *test)
{
	static const unsigned int groups[] = { 1, 2, 3, 3, 4 };
	struct mw *w = mw_synced(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		mw_write_run(w, i, i);
		KUNIT_EXPECT_EQ(test, w->groups[0], groups[i]);
	}
	KUNIT_EXPECT_EQ(test, w->group[0].count, 2);
	mw_write_run(w, i, i);
	KUNIT_EXPECT_EQ(test, w->groups[0], 4);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0x1f);
	KUNIT_EXPECT_EQ(test, w->groups[0], 5);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0x3f);
}

/* A group ends where the ring ends. */
static void post_group_wraps(struct kunit *test)
{
	const u32 room = kfm_rec_room(PAGE_SIZE);
	struct mw *w = mw_synced(test);
	struct kfm_ring *ring = &w->peers[0].ring;
	unsigned int i;

	ring->next.at = ring->len - 2 * room - KFM_SECTOR;
	w->full = true;
	for (i = 0; i < 3; i++)
		mw_write(w, i, i);
	mw_run(w);
	w->full = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->groups[0], 2);
	KUNIT_EXPECT_EQ(test, w->group[0].count, 1);
	KUNIT_EXPECT_EQ(test, w->group[0].at, 0);
	KUNIT_EXPECT_EQ(test, ring->next.at, room);
	KUNIT_EXPECT_EQ(test, ring->next.head, 3 * room + KFM_SECTOR);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 7);
}

static void write_long(struct mw *w, unsigned int number, u32 region)
{
	mw_write_at(w, number, (u64)region << w->m.shift, KFM_DIRECT_DEFAULT);
}

/* The record with this number in the order of the posts is durable at the peer. */
static void durable(struct mw *w, unsigned int number)
{
	w->posted[0][number]->busy = false;
	mw_run(w);
}

/* Long records are direct, if the peer has a slot, and use the slot that was used last. */
static void post_direct(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);
	const struct kfm_slots *s = &w->peers[0].slots;
	u32 first, room = KFM_DIRECT_DEFAULT + sizeof(struct kfm_le_direct);
	unsigned int i;

	mw_write_run(w, 0, 0);
	KUNIT_EXPECT_FALSE(test, w->group[0].direct);
	write_long(w, 1, 1);
	mw_run(w);
	first = w->group[0].at;
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	KUNIT_EXPECT_EQ(test, w->group[0].bytes, room);
	KUNIT_EXPECT_EQ(test, s->count, 3);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, s->count, 4);
	KUNIT_EXPECT_EQ(test, w->done, 3);
	/* a group is in one slot: that which was used last */
	w->full = true;
	for (i = 2; i < 7; i++)
		write_long(w, i, i);
	mw_run(w);
	w->full = false;
	w->groups[0] = 0;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->groups[0], 2);
	KUNIT_EXPECT_EQ(test, s->count, 2);
	KUNIT_EXPECT_EQ(test, w->group[0].count, 1);
	KUNIT_EXPECT_EQ(test, w->group[0].at, first - KFM_DIRECT_SLOT);
	KUNIT_EXPECT_EQ(test, w->peers[0].ring.next.seq, 2);
	/* without a free slot a record waits for one, and is not logged */
	mw_ack_run(w, 0);
	for (i = 0; i < 5; i++)
		mw_write_at(w, i, (u64)(8 + 4 * i) << w->m.shift, KFM_WRITE_MAX);
	for (i = 0; i < 3; i++)
		mw_run(w);
	KUNIT_EXPECT_EQ(test, s->count, 0);
	KUNIT_EXPECT_EQ(test, w->nr_posted[0], 4);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	KUNIT_EXPECT_EQ(test, w->nr_posted[0], 1);
	KUNIT_EXPECT_EQ(test, w->peers[0].ring.next.seq, 2);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0x7f);
}

/* A short record is direct while it is the only one in flight. */
static void post_direct_single(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);

	w->m.single_direct = true;
	mw_write_run(w, 0, 0);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	mw_write_run(w, 1, 1);
	KUNIT_EXPECT_FALSE(test, w->group[0].direct);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 3);
}

/* The data of direct records has a CRC over a network without one, and if the table says so. */
static void post_direct_crc(struct kunit *test)
{
	static const struct {
		bool checked, all, crc;
	} rows[] = {
		{ true, false, false }, { true, true, true },
		{ false, false, true }, { false, true, true },
	};
	const struct kfm_le_direct *head;
	struct kfm_write *write;
	struct mw *w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		w = mw_make(test, 1);
		w->newer = true;
		w->slots = 4;
		w->m.data_crc = rows[i].all;
		w->peers[0].rail->checked = rows[i].checked;
		mw_primary(w, 6);
		mw_join(w, 0, 5);
		write_long(w, 0, 1);
		mw_run(w);
		write = w->group[0].writes[0];
		head = kfm_write_head(&w->peers[0], write);
		KUNIT_EXPECT_EQ_MSG(test, le32_to_cpu(head->flags), rows[i].crc ? KFM_D_CRC : 0,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, write->crc_known, rows[i].crc, "row %u", i);
	}
}

/*
 * Records of the log have the numbers of their writes, if the peer takes them; SYNCED tells up to
 * which one all have ended.
 */
static void post_numbers(struct kunit *test)
{
	const struct kfm_le_rec *head;
	struct kfm_write *write;
	unsigned int i;
	struct mw *w;

	for (i = 0; i < 2; i++) {
		w = mw_make(test, 1);
		w->newer = i;
		mw_primary(w, 6);
		mw_join(w, 0, 5);
		mw_synced_ok(w, 0);
		mw_write_run(w, 0, 0);
		mw_write_run(w, 1, 1);
		write = w->group[0].writes[0];
		head = kfm_write_head(&w->peers[0], write);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(head->number), i ? write->number : 0);
		KUNIT_EXPECT_EQ(test, w->m.logged, i ? write->number : 0);
		w->m.sb.gens.cur++;
		w->peers[0].next = jiffies;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED].gens.cur, 7);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED].number, i ? write->number - 2 : 0);
		mw_ack(w, 0);
		mw_synced_ok(w, 0);
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->done, 3);
		w->m.sb.gens.cur++;
		w->peers[0].next = jiffies;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED].number, w->m.logged);
	}
}

/* All records are direct if the peer has no log, and wait for a slot. */
static void post_no_log(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	unsigned int i;

	w->newer = true;
	w->slots = 2;
	w->no_log = true;
	w->m.direct_min = KFM_DIRECT_OFF;
	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	for (i = 0; i < 2; i++) {
		mw_write_at(w, i, i << w->m.shift, KFM_SECTOR);
		mw_run(w);
		KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	}
	for (; i < 6; i++)
		mw_write(w, i, i);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->groups[0], 2);
	durable(w, 1);
	KUNIT_EXPECT_EQ(test, w->done, 2);
	KUNIT_EXPECT_EQ(test, w->groups[0], 3);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	KUNIT_EXPECT_EQ(test, w->group[0].count, 4);
	KUNIT_EXPECT_EQ(test, w->peers[0].ring.next.seq, 1);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0x3f);
}

/* A direct record overlaps nothing in the log of the peer, as far as APPLIED has reported. */
static void post_direct_behind_log(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);

	mw_write_at(w, 0, 263, KFM_SECTOR);
	mw_run(w);
	durable(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	write_long(w, 1, 8);	/* from 256 on */
	mw_run(w);
	KUNIT_EXPECT_FALSE(test, w->group[0].direct);
	durable(w, 1);
	KUNIT_EXPECT_EQ(test, w->done, 3);
	mw_write_at(w, 2, 300, KFM_DIRECT_DEFAULT);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	mw_ack_run(w, 0);	/* all is applied */
	write_long(w, 3, 8);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
}

/* A record of the log waits for those before it, and a direct one for nothing but itself. */
static void post_direct_order(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);

	mw_write_run(w, 0, 0);
	write_long(w, 1, 1);
	mw_run(w);
	mw_write_run(w, 2, 2);
	KUNIT_ASSERT_EQ(test, w->nr_posted[0], 3);
	durable(w, 2);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	durable(w, 1);
	KUNIT_EXPECT_EQ(test, w->done, 2);
	durable(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 7);
}

/* A peer is told up to which record all is settled, in the log and of the direct ones. */
static void post_direct_settled(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 2, false);
	const struct kfm_msg *ping = &w->sent[0][KFM_PING];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		if (i % 2)
			mw_write(w, i, i);
		else
			write_long(w, i, i);
		mw_run(w);
	}
	w->peers[0].next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, ping->flags, KFM_M_SETTLED);
	KUNIT_EXPECT_EQ(test, ping->seq, 0);
	KUNIT_EXPECT_EQ(test, ping->direct, 0);
	/* the first direct record ends everywhere */
	w->posted[0][0]->busy = false;
	w->posted[1][0]->busy = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	w->peers[0].next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, ping->seq, 0);
	KUNIT_EXPECT_EQ(test, ping->direct, 1);
	for (i = 0; i < 2; i++) {	/* some have waited for others */
		mw_ack(w, 0);
		mw_ack_run(w, 1);
	}
	w->peers[0].next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, ping->seq, 3);
	KUNIT_EXPECT_EQ(test, ping->direct, 3);
}

/* What is direct is forgotten as what is logged, also if it comes late. */
static void post_direct_forgotten(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_peer *q = &w->peers[1];
	struct kfm_msg ping = { .type = KFM_PING, .flags = KFM_M_SETTLED, .direct = 1 };
	static const u64 numbers[] = { 2, KFM_WINDOW + 1, 1 };
	struct kfm_rec rec = { .len = KFM_SECTOR };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		rec.seq = numbers[i];
		rec.sector = i << w->m.shift;
		kfm_recent_set(&w->m, w->m.recent_direct, &rec, 1);
	}
	w->m.direct.top = KFM_WINDOW + 1;
	KUNIT_EXPECT_EQ(test, q->oos_count, 3);
	ping.direct = 0;
	kfm_recent_clean(&w->peers[0], &ping);
	KUNIT_EXPECT_EQ(test, q->oos_count, 3);
	ping.direct = 1;
	kfm_recent_clean(&w->peers[0], &ping);
	KUNIT_EXPECT_EQ(test, q->oos_count, 2);
	KUNIT_EXPECT_FALSE(test, test_bit_le(2, q->oos));
	ping.direct = KFM_WINDOW;
	kfm_recent_clean(&w->peers[0], &ping);
	KUNIT_EXPECT_EQ(test, q->oos_count, 1);
	KUNIT_EXPECT_TRUE(test, test_bit_le(1, q->oos));
}

/* A primary whose peers are in sync, and take zeroes */
static struct mw *zeroing(struct kunit *test, unsigned int peers)
{
	struct mw *w = mw_with_slots(test, peers, false);
	unsigned int i;

	w->takes_zeroes = true;
	for (i = 0; i < peers; i++)
		w->peers[i].slots.zeroes = true;
	return w;
}

/*
 * Zeroes are never logged: they wait until the peer has applied what they overlap in its log. The
 * leg writes them by itself, or by hand.
 */
static void post_zeroes(struct kunit *test)
{
	struct mw *w = zeroing(test, 1);
	const struct kfm_le_direct *head;

	w->m.direct_min = KFM_DIRECT_OFF;
	mw_write_at(w, 0, 300, KFM_SECTOR);
	mw_run(w);
	durable(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	w->zero_limit = (32 << w->m.shift) / 4;
	mw_zero_run(w, 1, 0, 32, REQ_OP_WRITE_ZEROES | REQ_NOUNMAP);
	KUNIT_EXPECT_EQ(test, w->zero_bios, 4);
	KUNIT_EXPECT_EQ(test, w->groups[0], 1);
	mw_ack_run(w, 0);	/* all is applied */
	KUNIT_EXPECT_EQ(test, w->groups[0], 2);
	KUNIT_EXPECT_TRUE(test, w->group[0].direct);
	KUNIT_EXPECT_EQ(test, w->group[0].bytes, sizeof(*head));
	head = kfm_write_head(&w->peers[0], w->group[0].writes[0]);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(head->flags), KFM_D_ZEROES | KFM_D_NOUNMAP);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 3);
	w->zero_limit = 0;
	w->zero_bios = 0;
	mw_zero_run(w, 2, 1, 8, REQ_OP_DISCARD);
	KUNIT_EXPECT_EQ(test, w->zero_bios, 2);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 7);
}

/* A peer that does not take zeroes gets none, and neither does the other one. */
static void post_zeroes_refused(struct kunit *test)
{
	struct mw *w = zeroing(test, 2);

	w->peers[1].slots.zeroes = false;
	mw_zero_run(w, 0, 0, 1, REQ_OP_DISCARD);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_EQ(test, w->bios[0].bi_status, BLK_STS_NOTSUPP);
	KUNIT_EXPECT_EQ(test, w->zero_bios, 0);
	KUNIT_EXPECT_EQ(test, w->m.bios + w->m.zeroes, 0);
}

/*
 * A peer that returns with an older program gets what is in flight as regions that differ. The
 * write ends when the copy of the peer is marked, and not before.
 */
static void post_zeroes_left_out(struct kunit *test)
{
	struct mw *w = zeroing(test, 1);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i;

	mw_zero_run(w, 0, 8, 32, REQ_OP_DISCARD);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_ack(w, 0);	/* too late */
	w->takes_zeroes = false;
	mw_join(w, 0, 6);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_EQ(test, p->oos_count, 32);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_join(w, 0, 6);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, 1);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	for (i = 0; i < 64; i++)
		mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->oos_count, 0);
}

/* Zeros are resynchronised without data, if the peer takes that, and its log has nothing there. */
static void post_resync_zeroes(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);
	unsigned int i;

	mw_write_run(w, 0, 8);
	w->posted[0][0]->busy = false;	/* it is durable, and not applied */
	mw_run(w);
	for (i = 0; i < 3; i++) {
		w->nr_posted[0] = 0;
		w->peers[0].slots.zeroes = i != 1;
		w->peers[0].rs_from = 0;
		w->peers[0].csum = !i;
		mw_differs(w, 0, 8 + i);
		mw_run(w);
		mw_run(w);
		w->peers[0].csum = false;
		mw_run(w);
		KUNIT_ASSERT_EQ(test, w->nr_posted[0], 1);
		KUNIT_EXPECT_EQ(test, w->posted[0][0]->w->kind, i == 2 ? KFM_ZEROES : KFM_DATA);
		w->posted[0][0]->busy = false;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	}
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_HASH].seq, 1);	/* it asks for what is logged */
}

KFI_SUITE(kfi_mirror_post,
	KUNIT_CASE(post_resync_zeroes),
	KUNIT_CASE(post_group),
	KUNIT_CASE(post_group_waits),
	KUNIT_CASE(post_group_wraps),
	KUNIT_CASE(post_direct),
	KUNIT_CASE(post_direct_single),
	KUNIT_CASE(post_direct_crc),
	KUNIT_CASE(post_no_log),
	KUNIT_CASE(post_numbers),
	KUNIT_CASE(post_direct_behind_log),
	KUNIT_CASE(post_direct_order),
	KUNIT_CASE(post_direct_settled),
	KUNIT_CASE(post_direct_forgotten),
	KUNIT_CASE(post_zeroes),
	KUNIT_CASE(post_zeroes_refused),
	KUNIT_CASE(post_zeroes_left_out));
