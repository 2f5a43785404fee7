// SPDX-License-Identifier: GPL-2.0
/*
 * The log of a secondary of kfi_mirror, of which the test is the primary, and the disks: what is
 * made durable, what is refused, and what is written to the leg.
 */
#include "mirror_log_world.h"

/* A group is durable, whatever it follows, and nothing besides. */
static void log_persists(struct kunit *test)
{
	struct ml *l = ml_make(test);
	u32 at = 0, begin;
	u64 seq;

	begin = ml_put(l, 0, (struct kfm_rec) { .seq = 1, .sector = 11 });
	for (seq = 2, at = begin; seq <= 4; seq++)
		at = ml_put(l, at, (struct kfm_rec) {
			.seq = seq, .sector = 20 * seq, .len = seq * KFM_SECTOR,
		});
	ml_put(l, at, (struct kfm_rec) { .seq = 5, .sector = 15 });
	KUNIT_EXPECT_EQ(test, ml_persist(l, begin, at - begin), 0);
	KUNIT_EXPECT_TRUE(test, ml_durable(l, begin, at - begin));
	KUNIT_EXPECT_FALSE(test, ml_durable(l, 0, begin));
	KUNIT_EXPECT_FALSE(test, ml_durable(l, at, KFM_SECTOR));
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, begin), 0);
}

/* What an honest primary never writes is refused, and changes nothing. */
static void log_refuses(struct kunit *test)
{
	static const struct kfm_rec recs[] = {
		{ .seq = 1, .log = ML_LOG + 1 },
		{ .seq = 1, .gen = ML_GEN + 1 },
		{ .seq = KFM_WINDOW + 1 },
		{ .seq = U64_MAX },
	};
	struct ml *l = ml_make(test);
	const struct kfm_log *log = &l->w->m.log;
	const u32 one = kfm_rec_room(KFM_SECTOR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(recs); i++)
		KUNIT_EXPECT_EQ_MSG(test, ml_record(l, 0, recs[i]), -EPROTO, "record %u", i);
	ml_put(l, 0, (struct kfm_rec) { .seq = 1 });
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, 0), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 1, one), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, one - KFM_SECTOR), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, one - 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, one + 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, KFM_RING_MIN - KFM_SECTOR, one), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, KFM_RING_MIN, one), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, KFM_RING_MIN + KFM_SECTOR, one), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_persist(l, U64_MAX - KFM_SECTOR + 1, one), -EPROTO);
	/* more data than was written */
	ml_put(l, 0, (struct kfm_rec) { .seq = 1, .len = 2 * KFM_SECTOR });
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, one), -EPROTO);
	/* damaged */
	ml_put(l, 0, (struct kfm_rec) { .seq = 1 });
	ml_head(l, 0)->sector = cpu_to_le64(1);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, one), -EBADMSG);
	for (i = 0; i < KFM_WINDOW; i++)
		KUNIT_EXPECT_EQ(test, log->recs[i].seq, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(l->disk + KFM_RING_AT, 0, KFM_RING_MIN));
	/* twice */
	KUNIT_EXPECT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1 }), 0);
	KUNIT_EXPECT_EQ(test, ml_record(l, one, (struct kfm_rec) { .seq = 1 }), -EPROTO);
}

/* All records of a group are checked before any is taken. */
static void log_refuses_groups(struct kunit *test)
{
	struct ml *l = ml_make(test);
	const struct kfm_log *log = &l->w->m.log;
	u32 at = 0;
	u64 seq;

	at = ml_put(l, 0, (struct kfm_rec) { .seq = 1 });
	at = ml_put(l, at, (struct kfm_rec) { .seq = 3 });
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, at), -EPROTO);
	at = ml_put(l, 0, (struct kfm_rec) { .seq = KFM_WINDOW });
	at = ml_put(l, at, (struct kfm_rec) { .seq = KFM_WINDOW + 1 });
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, at), -EPROTO);
	for (seq = 1, at = 0; seq <= KFM_GROUP + 1; seq++)
		at = ml_put(l, at, (struct kfm_rec) { .seq = seq });
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, at), -EPROTO);
	for (seq = 0; seq < KFM_WINDOW; seq++)
		KUNIT_EXPECT_EQ(test, log->recs[seq].seq, 0);
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, at - kfm_rec_room(KFM_SECTOR)), 0);
	KUNIT_EXPECT_EQ(test, log->recs[KFM_GROUP].seq, KFM_GROUP);
}

/* A record that the log device did not take is not durable, and not applied. */
static void log_device_fails(struct kunit *test)
{
	struct ml *l = ml_make(test);

	l->err = -EIO;
	KUNIT_EXPECT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 9 }), -EIO);
	l->err = 0;
	kfm_log_apply(&l->w->m, true);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
}

/* Records are applied in their order, up to the first one that is not durable. */
static void log_applies(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	u32 at = 0, second, fourth;

	at = second = ml_put(l, at, (struct kfm_rec) { .seq = 1, .sector = 30 });
	at = ml_put(l, at, (struct kfm_rec) { .seq = 2, .sector = 40, .len = 4 * KFM_SECTOR });
	at = fourth = ml_put(l, at, (struct kfm_rec) { .seq = 3, .sector = 43 });
	at = ml_put(l, at, (struct kfm_rec) { .seq = 4, .sector = 50 });
	KUNIT_ASSERT_EQ(test, ml_persist(l, second, fourth - second), 0);
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	KUNIT_ASSERT_EQ(test, ml_persist(l, 0, second), 0);
	/* the third record overlaps the second one */
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, l->legs, 4);
	KUNIT_EXPECT_EQ(test, l->leg[0], 30);
	KUNIT_EXPECT_EQ(test, l->leg[2], 40);
	KUNIT_EXPECT_EQ(test, l->leg[3], 43);
	KUNIT_EXPECT_EQ(test, l->flushes, 1);
	KUNIT_EXPECT_EQ(test, l->w->sent[0][KFM_APPLIED].seq, 2);
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, l->legs, 6);
	KUNIT_EXPECT_EQ(test, l->leg[4], 43);
	KUNIT_EXPECT_EQ(test, l->w->sent[0][KFM_APPLIED].seq, 3);
	KUNIT_EXPECT_EQ(test, m->log.head.at, fourth);
	/* a replay finds what is durable, and not the fourth record */
	m->log.open = false;
	KUNIT_EXPECT_EQ(test, kfm_log_replay(m), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.seq, 4);
	KUNIT_EXPECT_EQ(test, l->legs, 6);
}

/* The leg is written from the ring, unless it can't do that, or must not see a change. */
static void log_in_place(struct kunit *test)
{
	struct ml *l = ml_make(test);
	u32 at = 0;

	at = ml_put(l, at, (struct kfm_rec) { .seq = 1, .sector = 8, .len = KFM_WRITE_MAX });
	KUNIT_ASSERT_EQ(test, ml_persist(l, 0, at), 0);
	kfm_log_apply(&l->w->m, true);
	KUNIT_EXPECT_EQ(test, l->in_place, 1);
	KUNIT_EXPECT_EQ(test, l->leg[1], 8 + KFM_WRITE_MAX / KFM_SECTOR - 1);
	l->stable = true;
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 2, .sector = 3 }), 0);
	kfm_log_apply(&l->w->m, true);
	l->stable = false;
	l->alignment = PAGE_SIZE - 1;
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 3, .sector = 4 }), 0);
	kfm_log_apply(&l->w->m, true);
	l->alignment = KFM_SECTOR - 1;
	l->block = KFM_BLOCK;
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) {
		.seq = 4, .sector = 16, .len = KFM_BLOCK,
	}), 0);
	kfm_log_apply(&l->w->m, true);
	KUNIT_EXPECT_EQ(test, l->legs, 8);
	KUNIT_EXPECT_EQ(test, l->in_place, 1);
}

/* A record that the peer overwrites when it was durable is not applied. */
static void log_overwritten(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;

	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	ml_head(l, 0)->sector = cpu_to_le64(9);
	KUNIT_EXPECT_EQ(test, kfm_log_apply(m, true), -EBADMSG);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	KUNIT_EXPECT_FALSE(test, m->log.failed);
	/* the log device has it as it was */
	m->log.open = false;
	KUNIT_EXPECT_EQ(test, kfm_log_replay(m), 0);
	KUNIT_EXPECT_EQ(test, l->legs, 2);
	KUNIT_EXPECT_EQ(test, l->leg[0], 8);
}

/* The table is loaded again; the log device has another size now. Return: as kfm_log_load() */
static int ml_reload(struct ml *l, u64 ring)
{
	struct kfm *m = &l->w->m;

	kfm_log_free(m);
	memset(&m->log, 0, sizeof(m->log));
	spin_lock_init(&m->log.lock);
	l->ring = ring;
	KUNIT_ASSERT_EQ(l->w->test, kfm_log_alloc(m), 0);
	return kfm_log_load(m);
}

/* The node starts again: what it knew of the log is gone. */
static int ml_restart(struct ml *l)
{
	struct kfm_log *log = &l->w->m.log;

	log->open = false;
	log->acked = 0;
	memset(log->recs, 0, sizeof(log->recs));
	return kfm_log_replay(&l->w->m);
}

/* Each bit of both heads: nothing is replayed, and the copy can't be promoted. */
static void log_head_damaged(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	unsigned int i;
	u8 *byte;

	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	for (i = 0; i < 2 * 8 * KFM_SECTOR; i++) {
		byte = l->disk + i / 8 % KFM_SECTOR + i / (8 * KFM_SECTOR) * KFM_BLOCK;
		*byte ^= 1 << i % 8;
		KUNIT_EXPECT_EQ_MSG(test, kfm_log_load(m), -EBADMSG, "bit %u", i);
		*byte ^= 1 << i % 8;
	}
	l->disk[KFM_BLOCK + 70] ^= 2;
	KUNIT_EXPECT_EQ(test, ml_restart(l), -EBADMSG);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	/* the next log has both heads */
	KUNIT_EXPECT_EQ(test, kfm_log_start(m, ML_LOG + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
}

/* A head of a later version: the node does not start, the log names the versions, and stays. */
static void log_other_version(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	u8 *was = kfi_test_zalloc(test, 2 * KFM_BLOCK), *now = kfi_test_zalloc(test, 2 * KFM_BLOCK);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	memcpy(was, l->disk, 2 * KFM_BLOCK);
	for (i = 0; i < 2; i++) {
		memcpy(l->disk, was, 2 * KFM_BLOCK);
		mw_version(l->disk + i * KFM_BLOCK, KFM_LOG_VERSION + 1);
		memcpy(now, l->disk, 2 * KFM_BLOCK);
		KUNIT_EXPECT_EQ(test, kfm_log_load(m), -EPROTONOSUPPORT);
		KUNIT_EXPECT_STREQ(test, mw_heard,
				   "mirror: the log has version 6, and this module reads 3 to 5: use a newer kfabric");
		KUNIT_EXPECT_MEMEQ(test, l->disk, now, 2 * KFM_BLOCK);
	}
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	memcpy(l->disk, was, 2 * KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, ml_restart(l), 0);
	KUNIT_EXPECT_EQ(test, l->legs, 2);
}

/*
 * Heads that are earlier ones, with their right checksums: both do not follow one another; or they
 * do, and the superblock or a peer knows of a later one. Nothing is replayed, until the next log.
 */
static void log_head_earlier(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	u8 *was = kfi_test_zalloc(test, 2 * KFM_BLOCK), *now = kfi_test_zalloc(test, 2 * KFM_BLOCK);
	struct kfm_msg hello = { .type = KFM_HELLO, .told_node = m->sb.node };
	unsigned int i;

	memcpy(was, l->disk, 2 * KFM_BLOCK);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, kfm_head_save(m, &m->log.head), 0);
	memcpy(now, l->disk, 2 * KFM_BLOCK);
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	for (i = 0; i < 2; i++) {
		memcpy(l->disk + i * KFM_BLOCK, was + i * KFM_BLOCK, KFM_BLOCK);
		KUNIT_EXPECT_EQ_MSG(test, kfm_log_load(m), -EBADMSG, "place %u", i);
		memcpy(l->disk, now, 2 * KFM_BLOCK);
		KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
	}
	memcpy(l->disk, was, 2 * KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
	hello.told_head = m->log.head.serial;
	KUNIT_EXPECT_FALSE(test, kfm_told_takes(m, &hello));
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
	m->sb.head = m->log.head.serial + 1;
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), -EBADMSG);
	m->sb.head = 0;
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
	hello.told_head++;
	KUNIT_EXPECT_FALSE(test, kfm_told_takes(m, &hello));
	KUNIT_EXPECT_EQ(test, ml_restart(l), -EBADMSG);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	KUNIT_EXPECT_EQ(test, kfm_log_start(m, ML_LOG + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), 0);
	KUNIT_EXPECT_GT(test, m->log.head.serial, hello.told_head);
	/* the superblock has its number */
	KUNIT_EXPECT_EQ(test, kfm_super_save(m), 0);
	KUNIT_EXPECT_EQ(test, m->sb.head, m->log.head.serial);
	m->log.head.super = 0;
	KUNIT_EXPECT_EQ(test, kfm_head_save(m, &m->log.head) ?: kfm_log_load(m), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.super, m->sb.serial);
	/* that of another node of the mirror */
	m->sb.node++;
	KUNIT_EXPECT_EQ(test, kfm_log_load(m), -EMEDIUMTYPE);
}

/* A log begins, and the device loses one of both heads: the old log is not taken for the present one. */
static void log_begins(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	u8 *was = kfi_test_zalloc(test, 2 * KFM_BLOCK);
	unsigned int i;
	int ret;

	for (i = 0; i < 2; i++) {
		memcpy(was, l->disk, 2 * KFM_BLOCK);
		KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG + 1 + i, ML_GEN, MW_NODE), 0);
		memcpy(l->disk + i * KFM_BLOCK, was + i * KFM_BLOCK, KFM_BLOCK);
		ret = kfm_log_load(m);
		KUNIT_EXPECT_TRUE(test, ret == -EBADMSG || m->log.head.id == ML_LOG + 1 + i);
		KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG + 1 + i, ML_GEN, MW_NODE), 0);
	}
}

enum { TAIL_WHOLE, TAIL_BITS, TAIL_BYTE, TAIL_ZEROS, TAIL_NOISE, TAIL_LOST, TAILS };

/*
 * The last records of a log, of which @depth were in flight, are lost in any way. This node has
 * started again, so it can't know; the log of a peer goes further.
 */
static void log_tail_lost(struct kunit *test, unsigned int depth, unsigned int how)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	struct kfm_peer *p = m->peers[0];
	const u32 room = kfm_rec_room(8 * KFM_SECTOR);
	u32 at = 0, gone;
	unsigned int i;
	u8 *data;

	m->log.epoch = 9;
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG, ML_GEN, MW_NODE), 0);
	for (i = 1; i <= 12; i++)
		at = ml_put(l, at, (struct kfm_rec) {
			.seq = i, .sector = 8 * i, .len = 8 * KFM_SECTOR, .number = 100 + i,
		});
	KUNIT_ASSERT_EQ(test, ml_persist(l, 0, 12 * room - depth * room), 0);
	KUNIT_EXPECT_EQ(test, m->log.end, 112 - depth);
	l->waits = true;
	for (i = depth; i; i--)
		KUNIT_ASSERT_EQ(test, ml_start(l, i, (12 - i) * room, room), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, m->log.end, 112 - depth);
	for (i = depth; i; i--)
		ml_log_ends(bio_list_pop(&l->writes));
	KUNIT_EXPECT_EQ(test, m->log.end, 112);
	gone = (12 - (how == TAIL_WHOLE ? 0 : depth)) * room;
	data = l->disk + KFM_RING_AT + gone + KFM_REC_DATA_AT + KFM_SECTOR;
	if (how == TAIL_BITS) {
		data[100] ^= 4;
		data[200] ^= 8;
	} else if (how == TAIL_BYTE) {
		data[100] ^= 0xff;
	} else if (how == TAIL_ZEROS || how == TAIL_NOISE) {
		memset(data, how == TAIL_NOISE ? 0x5a : 0, KFM_SECTOR);
	} else if (how == TAIL_LOST) {
		memset(l->disk + KFM_RING_AT + gone, 0, 12 * room - gone);
	}
	m->log.open = false;
	m->log.begun = 0;
	memset(m->log.recs, 0, sizeof(m->log.recs));
	m->log.acked = 0;
	KUNIT_ASSERT_EQ(test, kfm_log_load(m), 0);
	kfm_log_scan(m);
	KUNIT_EXPECT_EQ(test, m->log.end, how == TAIL_WHOLE ? 112 : 112 - depth);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	p->log_epoch = 9;
	p->log_number = 112;
	KUNIT_EXPECT_EQ_MSG(test, kfm_log_replay(m), 0, "depth %u, %u", depth, how);
	KUNIT_EXPECT_EQ_MSG(test, kfm_told_longer(p), how != TAIL_WHOLE, "depth %u, %u", depth,
			    how);
	if (how == TAIL_WHOLE) {
		KUNIT_EXPECT_EQ(test, m->log.head.number, 112);
		KUNIT_ASSERT_EQ(test, kfm_log_load(m), 0);
		KUNIT_EXPECT_EQ(test, m->log.head.number, 112);
	}
}

static void log_tail(struct kunit *test)
{
	unsigned int how;

	for (how = 0; how < TAILS; how++) {
		log_tail_lost(test, 1, how);
		log_tail_lost(test, 4, how);
	}
}

/* A node that has come back has what was written before, though its log has not seen that. */
static void log_catches_up(struct kunit *test)
{
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	const u32 one = kfm_rec_room(KFM_SECTOR);

	kfm_log_reached(m, 50);		/* of a primary without numbers */
	KUNIT_EXPECT_EQ(test, m->log.head.number, 0);
	m->log.epoch = 9;
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG, ML_GEN, MW_NODE), 0);
	kfm_log_reached(m, 50);
	KUNIT_ASSERT_EQ(test, kfm_log_load(m), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.number, 50);
	/* not before all that is in the log is applied, which may be lost until then */
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) {
		.seq = 1, .sector = 8, .number = 60 }), 0);
	kfm_log_reached(m, 70);
	KUNIT_EXPECT_EQ(test, m->log.end, 70);
	KUNIT_EXPECT_EQ(test, m->log.head.number, 50);
	KUNIT_ASSERT_EQ(test, kfm_log_apply(m, true), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.number, 70);
	KUNIT_ASSERT_EQ(test, ml_record(l, one, (struct kfm_rec) {
		.seq = 2, .sector = 8, .number = 71 }), 0);
	KUNIT_EXPECT_EQ(test, m->log.end, 71);
	/* the next session with the same primary goes on from there; another one begins */
	KUNIT_ASSERT_EQ(test, kfm_log_apply(m, true), 0);
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.number, 71);
	m->log.epoch = 10;
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG + 2, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.number, 0);
	KUNIT_EXPECT_EQ(test, m->log.head.epoch, 10);
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG + 3, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.epoch, 0);
}

/*
 * A record that was durable does not check any more: that is noticed by those behind it. What was
 * written behind a record that is not durable says nothing of that.
 */
static void log_record_damaged(struct kunit *test)
{
	struct ml *l = ml_make(test);
	u32 first, second, third;

	first = ml_put(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 });
	second = ml_put(l, first, (struct kfm_rec) { .seq = 2, .sector = 9 });
	third = ml_put(l, second, (struct kfm_rec) { .seq = 3, .sector = 10 });
	KUNIT_ASSERT_EQ(test, ml_persist(l, 0, first), 0);
	KUNIT_ASSERT_EQ(test, ml_persist(l, second, third - second), 0);
	/* in the way of a loss of power */
	memset(l->disk + KFM_RING_AT + first, 0xff, second - first);
	KUNIT_EXPECT_EQ(test, ml_restart(l), 0);
	KUNIT_EXPECT_EQ(test, l->legs, 2);

	l = ml_make(test);
	ml_put(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 });
	ml_put(l, first, (struct kfm_rec) { .seq = 2, .sector = 9 });
	ml_put(l, second, (struct kfm_rec) { .seq = 3, .sector = 10 });
	KUNIT_ASSERT_EQ(test, ml_persist(l, first, second - first), 0);
	KUNIT_ASSERT_EQ(test, ml_persist(l, 0, first), 0);
	KUNIT_ASSERT_EQ(test, ml_persist(l, second, third - second), 0);
	memset(l->disk + KFM_RING_AT + first, 0xff, second - first);
	KUNIT_EXPECT_EQ(test, ml_restart(l), -EBADMSG);
	KUNIT_EXPECT_EQ(test, ml_restart(l), -EBADMSG);		/* each time */
	KUNIT_EXPECT_EQ(test, l->legs, 2);
}

/* A log keeps its size when its device grows: behind the end of the old ring it begins again. */
static void log_grows(struct kunit *test)
{
	const u32 last = KFM_RING_MIN - kfm_rec_room(KFM_SECTOR);
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;

	m->log.head.at = last;
	KUNIT_ASSERT_EQ(test, kfm_head_save(m, &m->log.head), 0);
	KUNIT_ASSERT_EQ(test, ml_record(l, last, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 2, .sector = 9 }), 0);
	KUNIT_ASSERT_EQ(test, ml_reload(l, ML_RING_MAX), 0);
	KUNIT_EXPECT_EQ(test, kfm_log_replay(m), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.seq, 3);
	KUNIT_EXPECT_EQ(test, l->legs, 4);
	/* the next log has all of the device, and does not fit into the old one */
	KUNIT_EXPECT_EQ(test, kfm_log_start(m, ML_LOG + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, m->log.ring_len, ML_RING_MAX);
	KUNIT_EXPECT_EQ(test, ml_reload(l, ML_RING_MAX), 0);
	KUNIT_EXPECT_EQ(test, m->log.ring_len, ML_RING_MAX);
	KUNIT_EXPECT_EQ(test, ml_reload(l, KFM_RING_MIN), -ENOSPC);
}

/* A ring in RAM has no more than can be in use, but a log that is longer is replayed. */
static void log_long(struct kunit *test)
{
	const u32 ring = RING_USED + KFM_RING_MIN, at = ring - kfm_rec_room(KFM_SECTOR);
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	struct kfm_log_head head = m->log.head;

	vfree(l->disk);
	l->disk = vzalloc(KFM_RING_AT + ring);
	KUNIT_ASSERT_NOT_NULL(test, l->disk);
	head.ring = ring;
	head.at = at;
	KUNIT_ASSERT_EQ(test, kfm_head_save(m, &head) ?: kfm_head_save(m, &head), 0);
	KUNIT_ASSERT_EQ(test, ml_reload(l, ring), 0);
	KUNIT_EXPECT_EQ(test, m->log.room, RING_USED);
	KUNIT_EXPECT_EQ(test, m->log.ring_len, ring);
	ml_put(l, at, (struct kfm_rec) { .seq = 1, .sector = 8 });
	KUNIT_ASSERT_EQ(test, ring_store(m, at, kfm_rec_room(KFM_SECTOR)), 0);
	ml_put(l, at, (struct kfm_rec) { .seq = 9 });	/* what is in RAM does not count */
	KUNIT_EXPECT_EQ(test, kfm_log_replay(m), 0);
	KUNIT_EXPECT_EQ(test, m->log.head.seq, 2);
	KUNIT_EXPECT_EQ(test, l->leg[0], 8);
	KUNIT_EXPECT_EQ(test, kfm_log_start(m, ML_LOG + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, ml_reload(l, ring), 0);
	KUNIT_EXPECT_EQ(test, m->log.ring_mem, RING_USED);
}

/* No primary writes so long a group; but if a peer does, all of it is durable. */
static void log_long_group(struct kunit *test)
{
	struct ml *l = ml_make(test);
	u32 at = 0;
	u64 seq;

	for (seq = 1; seq <= 3; seq++)
		at = ml_put(l, at, (struct kfm_rec) {
			.seq = seq, .sector = 20 * seq, .len = KFM_WRITE_MAX,
		});
	KUNIT_EXPECT_EQ(test, ml_persist(l, 0, at), 0);
	KUNIT_EXPECT_TRUE(test, ml_durable(l, 0, at));
}

/*
 * Groups are written side by side, and are durable one by one, in any order. With KFM_STORES of
 * them under way the next call waits for its own write.
 */
static void log_side_by_side(struct kunit *test)
{
	struct ml *l = ml_make(test);
	const struct kfm_log *log = &l->w->m.log;
	const u32 one = kfm_rec_room(KFM_SECTOR);
	struct bio *bio;
	unsigned long i;

	l->waits = true;
	for (i = 0; i < KFM_STORES + 2; i++)
		ml_put(l, i * one, (struct kfm_rec) { .seq = i + 1, .sector = i });
	for (i = 0; i < KFM_STORES; i++)
		KUNIT_EXPECT_EQ(test, ml_start(l, i, i * one, one), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, ml_start(l, i, i * one, one), 0);
	KUNIT_EXPECT_TRUE(test, ml_durable(l, i * one, one));
	KUNIT_EXPECT_EQ(test, log->recs[i + 1].seq, i + 1);
	KUNIT_EXPECT_EQ(test, l->ended, 0);
	for (i = 0; i < KFM_STORES; i++)
		KUNIT_EXPECT_EQ(test, log->recs[i + 1].seq, 0);
	for (i = 0; i < KFM_STORES; i++) {
		bio = bio_list_pop(&l->writes);
		KUNIT_ASSERT_NOT_NULL(test, bio);
		l->err = i == 3 ? -EIO : 0;
		ml_log_ends(bio);
		KUNIT_EXPECT_EQ(test, l->ended, i + 1);
		KUNIT_EXPECT_EQ(test, l->results[i], l->err);
		KUNIT_EXPECT_EQ(test, log->recs[i + 1].seq, l->err ? 0 : i + 1);
	}
	l->waits = false;
	l->err = 0;
	i = KFM_STORES + 1;
	KUNIT_EXPECT_EQ(test, ml_start(l, i, i * one, one), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, l->ended, KFM_STORES + 1);
}

/* ---- direct records ---- */

/* The primary writes a group to a slot. Return: bytes */
static u32 ml_fill(struct ml *l, u32 slot, const struct kfm_rec *recs, unsigned int count)
{
	u8 *mem = l->w->m.direct.mem, *head = mem + kfm_slot_at(slot, count);
	u8 *data = mem + kfm_slot_at(slot, 0);
	struct kfm_rec r;
	unsigned int i;
	u32 crc, bytes;

	for (i = 0; i < count; i++) {
		r = recs[i];
		r.log = r.log ?: ML_LOG;
		r.gen = r.gen ?: ML_GEN;
		bytes = r.flags & KFM_D_ZEROES ? 0 : min(r.len, KFM_WRITE_MAX);
		memset(data, r.sector, bytes);
		crc = crc32c(~0U, data, bytes);
		kfm_direct_encode(&r, l->no_crc || !bytes ? NULL : &crc,
				  (void *)(head + i * sizeof(struct kfm_le_direct)));
		data += bytes;
	}
	return data - head;
}

/* The result of the call for a slot, once it has ended */
static int ml_answer(const struct ml *l, u32 slot)
{
	return l->results[slot + 1];
}

/* ... and asks for it to be made durable. Return: the result, or -EIOCBQUEUED while it waits */
static int ml_direct(struct ml *l, u32 slot, const struct kfm_rec *recs, unsigned int count)
{
	u32 len = ml_fill(l, slot, recs, count), ended = l->ended;
	int ret = direct_persist(&l->mr, kfm_slot_at(slot, count), len,
				 (struct kfi_persist *)(slot + 1UL));

	return ret == -EIOCBQUEUED && l->ended > ended ? ml_answer(l, slot) : ret;
}

static int ml_direct_one(struct ml *l, u32 slot, u64 sector)
{
	const struct kfm_rec r = { .seq = slot + 1, .sector = sector, .len = KFM_BLOCK };

	return ml_direct(l, slot, &r, 1);
}

/* A group goes to the leg from its slot, is durable there, and is answered when all of it is. */
static void direct_writes(struct kunit *test)
{
	static const struct kfm_rec recs[] = {
		{ .seq = 1, .sector = 100, .len = KFM_SECTOR },
		{ .seq = 2, .sector = 31, .len = 3 * KFM_BLOCK },
		{ .seq = 3, .sector = 7, .len = 3 * KFM_SECTOR },
	};
	const struct kfm_rec whole = { .seq = 4, .sector = 256, .len = KFM_WRITE_MAX };
	struct ml *l = ml_make(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ml_direct(l, KFM_DIRECT_SLOTS - 1, &whole, 1), 0);
	KUNIT_EXPECT_EQ(test, l->leg[1], 256 + KFM_WRITE_MAX / KFM_SECTOR - 1);
	KUNIT_EXPECT_TRUE(test, l->op & REQ_FUA);
	l->waits = true;
	KUNIT_EXPECT_EQ(test, ml_direct(l, 5, recs, 3), -EIOCBQUEUED);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, l->ended, 1);
		KUNIT_EXPECT_EQ(test, l->leg[2 + 2 * i], recs[i].sector);
		ml_slot_ends(l, BLK_STS_OK);
	}
	KUNIT_EXPECT_EQ(test, l->ended, 2);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 5), 0);
	KUNIT_EXPECT_EQ(test, l->flushes, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(l->disk + KFM_RING_AT, 0, KFM_RING_MIN));
}

/* The cache of the leg may keep a record that says so, and a record may be a flush and no more. */
static void direct_flushes(struct kunit *test)
{
	static const struct kfm_rec recs[] = {
		{ .seq = 1, .sector = 8, .len = KFM_BLOCK, .flags = KFM_D_CACHED },
		{ .seq = 2, .flags = KFM_D_FLUSH },
		{ .seq = 3, .flags = KFM_D_FLUSH, .sector = 8 },
		{ .seq = 3, .flags = KFM_D_FLUSH, .len = KFM_BLOCK },
		{ .seq = 3, .flags = KFM_D_FLUSH | KFM_D_CACHED },
		{ .seq = 3, .flags = KFM_D_FLUSH | KFM_D_CRC },
		{ .seq = 3 },
	};
	struct ml *l = ml_make(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, recs, 1), 0);
	KUNIT_EXPECT_FALSE(test, l->op & (REQ_FUA | REQ_PREFLUSH));
	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, recs + 1, 1), 0);
	KUNIT_EXPECT_TRUE(test, l->op & REQ_PREFLUSH);
	for (i = 2; i < ARRAY_SIZE(recs); i++)
		KUNIT_EXPECT_EQ_MSG(test, ml_direct(l, 0, recs + i, 1), -EBADMSG, "row %u", i);
}

/* What an honest primary never writes is refused, and no byte of it is on the leg. */
static void direct_refuses(struct kunit *test)
{
	const u32 end = KFM_DIRECT_SLOTS * KFM_DIRECT_SLOT, head = sizeof(struct kfm_le_direct);
	static const struct {
		struct kfm_rec recs[2];
		unsigned int count;
	} rows[] = {
		{ { { .seq = 1, .len = KFM_BLOCK, .log = ML_LOG + 1 } }, 1 },
		{ { { .seq = 1, .len = KFM_BLOCK, .gen = ML_GEN + 1 } }, 1 },
		{ { { .seq = 0, .len = KFM_BLOCK } }, 1 },
		{ { { .seq = 1, .len = KFM_BLOCK, .sector = MW_REGIONS << 5 } }, 1 },
		{ { { .seq = 1, .len = KFM_BLOCK, .sector = (MW_REGIONS << 5) - 7 } }, 1 },
		{ { { .seq = 1, .len = KFM_BLOCK - 1 } }, 1 },
		/* one of the group overlaps the other one */
		{ { { .seq = 1, .len = KFM_BLOCK },
		    { .seq = 2, .len = KFM_BLOCK, .sector = 7 } }, 2 },
	};
	const struct kfm_rec one = { .seq = 1, .len = KFM_BLOCK };
	struct {
		u64 at;
		size_t len;
	} places[] = {
		{ kfm_slot_at(0, 1), head + KFM_BLOCK - KFM_SECTOR },
		{ kfm_slot_at(0, 1), head + KFM_BLOCK + KFM_SECTOR },
		{ kfm_slot_at(0, 1), head - 1 },
		{ kfm_slot_at(0, 1), 0 },
		{ kfm_slot_at(0, 1) + 1, head + KFM_BLOCK - 1 },
		{ kfm_slot_at(0, 0), KFM_BLOCK },
		{ kfm_slot_at(0, KFM_GROUP + 1), (KFM_GROUP + 1) * head + KFM_BLOCK },
		{ kfm_slot_at(0, 1), KFM_DIRECT_SLOT },
		{ end + kfm_slot_at(0, 1), head + KFM_BLOCK },
		{ U64_MAX - KFM_BLOCK, head + KFM_BLOCK },
	};
	struct ml *l = ml_make(test);
	u8 *mem = l->w->m.direct.mem;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_LT_MSG(test, ml_direct(l, 0, rows[i].recs, rows[i].count), -1,
				    "row %u", i);
	ml_fill(l, 0, &one, 1);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		KUNIT_EXPECT_LT_MSG(test, direct_persist(&l->mr, places[i].at, places[i].len, NULL),
				    -1, "place %u", i);
	for (i = kfm_slot_at(0, 1); i < kfm_slot_at(0, 0) + 1; i++) {
		mem[i] ^= 1;
		KUNIT_EXPECT_EQ_MSG(test, direct_persist(&l->mr, kfm_slot_at(0, 1),
							 head + KFM_BLOCK, NULL),
				    -EBADMSG, "byte %u", i);
		mem[i] ^= 1;
	}
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	KUNIT_EXPECT_EQ(test, l->ended, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&l->w->m.direct.busy));
	/* where the network checks the data there is no CRC of it, and the heads have one */
	l->no_crc = true;
	ml_fill(l, 0, &one, 1);
	mem[kfm_slot_at(0, 1)] ^= 1;
	KUNIT_EXPECT_EQ(test, direct_persist(&l->mr, kfm_slot_at(0, 1), head + KFM_BLOCK, NULL),
			-EBADMSG);
	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, &one, 1), 0);
	KUNIT_EXPECT_EQ(test, l->legs, 2);
}

/* Records that are in flight never overlap, in slots or in the log, and a slot has one group. */
static void direct_in_flight(struct kunit *test)
{
	struct ml *l = ml_make(test);

	l->waits = true;
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 8), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 80), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 1, 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 1, 15), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 15 }),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 1, 16), -EIOCBQUEUED);
	ml_slot_ends(l, BLK_STS_OK);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 0), 0);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 1), -EIOCBQUEUED);
	ml_slot_ends(l, BLK_STS_IOERR);
	ml_slot_ends(l, BLK_STS_OK);
	/* a leg that fails ends the session for good, or the peer would write it again and again */
	KUNIT_EXPECT_EQ(test, ml_answer(l, 1), -EIO);
	KUNIT_EXPECT_TRUE(test, l->w->m.log.failed);
}

/* A record of the log is in the way until the durable head is behind it. */
static void direct_behind_log(struct kunit *test)
{
	static const struct kfm_rec flush = { .seq = 1, .flags = KFM_D_FLUSH };
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;

	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 8 }), 0);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 8), -EPROTO);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 1, 9), 0);
	/* it is on the leg, but a replay would write it again; what was before may be lost */
	l->flush_status = BLK_STS_IOERR;
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, l->leg[2], 8);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 8), -EPROTO);
	l->flush_status = BLK_STS_OK;
	KUNIT_EXPECT_EQ(test, ml_direct(l, 1, &flush, 1), -EIO);
	m->log.failed = false;
	m->log.open = true;
	m->direct.closed = false;
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 8), 0);
}

/* With several peers the bits of the other one are durable first, which the worker sees to. */
static void direct_marks(struct kunit *test)
{
	struct ml *l = ml_make_node(test, 2, true);
	struct kfm *m = &l->w->m;
	struct kfm_rail *other;

	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 0, 8), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 1, 9 << 5), -EIOCBQUEUED);
	KUNIT_EXPECT_EQ(test, l->legs, 0);
	kfm_direct_run(m);
	KUNIT_EXPECT_EQ(test, l->legs, 4);
	KUNIT_EXPECT_EQ(test, l->ended, 2);
	KUNIT_EXPECT_EQ(test, m->peers[1]->oos_count, 2);
	KUNIT_EXPECT_EQ(test, m->peers[0]->oos_count, 0);
	/* a bitmap that can't be stored */
	l->w->io_err = -EIO;
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 2, 20 << 5), -EIOCBQUEUED);
	kfm_direct_run(m);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 2), -EIO);
	/* the session ends before the worker comes to it, and no rail of it is left */
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 3, 8), -EIOCBQUEUED);
	other = mw_rail(l->w, 0);
	other->slots_mr = &l->mr;
	kfm_direct_close(m);
	KUNIT_EXPECT_NULL(test, m->peers[0]->rail->slots_mr);
	KUNIT_EXPECT_NULL(test, other->slots_mr);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 3), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, ml_direct_one(l, 3, 8), -EPROTO);
	KUNIT_EXPECT_EQ(test, l->legs, 4);
}

/* Without a log device a session has slots alone: nothing is stored or replayed but on the leg. */
static void direct_no_log(struct kunit *test)
{
	static const struct kfm_rec recs[] = {
		{ .seq = 1, .sector = 8, .len = KFM_SECTOR },
		{ .seq = 2, .sector = 9, .len = 3 * KFM_SECTOR },
	};
	struct ml *l = ml_make_node(test, 1, false);
	struct kfm *m = &l->w->m;
	u64 id = m->log.head.id;

	KUNIT_EXPECT_NULL(test, m->log.ring);
	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, recs, 2), 0);
	KUNIT_EXPECT_EQ(test, l->leg[0], 8);
	KUNIT_EXPECT_EQ(test, l->leg[3], 11);
	kfm_log_apply(m, true);
	KUNIT_EXPECT_EQ(test, l->w->count[0][KFM_APPLIED], 0);
	/* the session ends, and this node is promoted or gets another one: its records end */
	m->log.open = false;
	l->err = -EIO;	/* nothing of it is I/O */
	KUNIT_EXPECT_EQ(test, kfm_log_load(m) ?: kfm_log_replay(m), 0);
	KUNIT_EXPECT_EQ(test, kfm_log_start(m, id + 1, ML_GEN, MW_NODE), 0);
	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, recs, 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, l->legs, 4);
	KUNIT_EXPECT_NULL(test, memchr_inv(l->disk, 0, KFM_RING_AT + KFM_RING_MIN));
}

/* Zeroes have no data in the slot, and all regions of their range are marked. */
static void direct_zeroes(struct kunit *test)
{
	static const struct kfm_rec recs[] = {
		{ .seq = 1, .sector = 100, .len = KFM_BLOCK },
		{ .seq = 2, .sector = 255, .len = KFM_ZEROES_MAX, .flags = KFM_D_ZEROES },
		{ .seq = 3, .sector = 8500, .len = KFM_BLOCK },
	};
	static const struct kfm_rec bad[] = {
		{ .seq = 4, .len = KFM_ZEROES_MAX + KFM_SECTOR, .flags = KFM_D_ZEROES },
		{ .seq = 4, .len = KFM_BLOCK, .flags = KFM_D_ZEROES | KFM_D_CRC },
		{ .seq = 4, .len = KFM_BLOCK, .flags = KFM_D_NOUNMAP },
		{ .seq = 4, .len = KFM_ZEROES_MAX },
		{ .seq = 4, .sector = MW_REGIONS << 8, .len = KFM_BLOCK, .flags = KFM_D_ZEROES },
		/* it overlaps a record of the log */
		{ .seq = 4, .sector = 1 << 13, .len = KFM_ZEROES_MAX, .flags = KFM_D_ZEROES },
	};
	struct kfm_rec one = { .seq = 4, .len = KFM_BLOCK, .flags = KFM_D_ZEROES | KFM_D_NOUNMAP };
	struct ml *l = ml_make_node(test, 2, true);
	struct kfm *m = &l->w->m;
	unsigned int i;

	m->sectors *= 8;
	m->extents *= 8;
	KUNIT_EXPECT_EQ(test, ml_direct(l, 0, recs, 3), -EIOCBQUEUED);
	kfm_direct_run(m);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 0), 0);
	KUNIT_EXPECT_EQ(test, l->legs, 6);
	KUNIT_EXPECT_EQ(test, l->leg[4], 255);
	KUNIT_EXPECT_EQ(test, l->leg[5], 255 + KFM_ZEROES_MAX / KFM_SECTOR - 1);
	KUNIT_EXPECT_EQ(test, l->zero_flags, 0);
	KUNIT_EXPECT_EQ(test, m->peers[1]->oos_count, 259);
	KUNIT_ASSERT_EQ(test, ml_record(l, 0, (struct kfm_rec) { .seq = 1, .sector = 9000 }), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_LT_MSG(test, ml_direct(l, 1, &bad[i], 1), -1, "row %u", i);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->direct.busy));
	l->zero_err = -EIO;
	KUNIT_EXPECT_EQ(test, ml_direct(l, 1, &one, 1), -EIOCBQUEUED);
	kfm_direct_run(m);
	KUNIT_EXPECT_EQ(test, ml_answer(l, 1), -EIO);
	KUNIT_EXPECT_EQ(test, l->zero_flags, REQ_NOUNMAP);
	KUNIT_EXPECT_TRUE(test, m->log.failed);
}

/* Who has slots: a primary that knows them, and a leg that can be written from them. */
static void direct_granted(struct kunit *test)
{
	static const struct {
		u64 features;
		bool stable;
		unsigned int alignment;
		int ret, ret_no_log;
	} rows[] = {
		{ KFM_F_LEAVE, false, KFM_SECTOR - 1, 0, -EOPNOTSUPP },
		{ KFM_F_DIRECT, true, KFM_SECTOR - 1, 0, -EOPNOTSUPP },
		{ KFM_F_DIRECT, false, PAGE_SIZE - 1, 0, -EOPNOTSUPP },
		/* of ml_region() */
		{ KFM_F_DIRECT, false, KFM_SECTOR - 1, -ENOMEM, -ENOMEM },
	};
	struct ml *l = ml_make(test);
	struct kfm *m = &l->w->m;
	struct dm_dev *logdev = m->logdev;
	unsigned int i;

	m->peers[0]->rail->slots_mr = NULL;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		m->peers[0]->features = rows[i].features;
		l->stable = rows[i].stable;
		l->alignment = rows[i].alignment;
		KUNIT_EXPECT_EQ_MSG(test, kfm_direct_open(m->peers[0]), rows[i].ret, "row %u", i);
		m->logdev = NULL;
		KUNIT_EXPECT_EQ_MSG(test, kfm_direct_open(m->peers[0]), rows[i].ret_no_log,
				    "row %u", i);
		m->logdev = logdev;
	}
}

KFI_SUITE(kfi_mirror_log,
	KUNIT_CASE(direct_writes),
	KUNIT_CASE(direct_flushes),
	KUNIT_CASE(direct_refuses),
	KUNIT_CASE(direct_in_flight),
	KUNIT_CASE(direct_behind_log),
	KUNIT_CASE(direct_marks),
	KUNIT_CASE(direct_zeroes),
	KUNIT_CASE(direct_granted),
	KUNIT_CASE(direct_no_log),
	KUNIT_CASE(log_persists),
	KUNIT_CASE(log_long_group),
	KUNIT_CASE(log_side_by_side),
	KUNIT_CASE(log_refuses),
	KUNIT_CASE(log_refuses_groups),
	KUNIT_CASE(log_device_fails),
	KUNIT_CASE(log_applies),
	KUNIT_CASE(log_in_place),
	KUNIT_CASE(log_overwritten),
	KUNIT_CASE(log_head_damaged),
	KUNIT_CASE(log_other_version),
	KUNIT_CASE(log_head_earlier),
	KUNIT_CASE(log_begins),
	KUNIT_CASE(log_tail),
	KUNIT_CASE(log_catches_up),
	KUNIT_CASE(log_record_damaged),
	KUNIT_CASE(log_grows),
	KUNIT_CASE(log_long));
