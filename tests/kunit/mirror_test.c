// SPDX-License-Identifier: GPL-2.0
/*
 * What kfi_mirror stores: what is encoded is decoded, what is damaged is refused, a replay finds
 * the complete records in their order and stops at the first gap, and generations tell which copy
 * is newer. Records and messages that make no sense are left to fuzzing
 * (tests/fuzz/mirror_fuzz.c).
 */
#include "suite.h"
#include <linux/vmalloc.h>
#include "../../ulps/mirror/sizes.c"
#include "../../ulps/mirror/proto.c"

#define SECTORS		16384u

static struct kfm_super some_super(void)
{
	return (struct kfm_super) {
		.serial = 7, .uuid = "0123456789abcde", .sectors = SECTORS,
		.gens = { .cur = 3, .history = { 2, 1 } },
		.state = KFM_UPTODATE, .flags = KFM_SB_PRIMARY, .node = 8, .peers = 2,
		.pairs = {
			{ .node = 9, .base = 2, .source = 3, .flags = KFM_PAIR_ALONE },
			{ .node = 10, .base = 3 },
		},
	};
}

/* The version of a block is another one, with a right checksum. */
static void block_version(void *block, size_t at, u32 version, size_t crc)
{
	*(__le32 *)(block + at) = cpu_to_le32(version);
	*(__le32 *)(block + crc) = cpu_to_le32(crc_skipping(block, crc, KFM_SECTOR));
}

/* No byte of a superblock may change unnoticed, and another version is not taken for damage. */
static void super_damaged(struct kunit *test)
{
	struct kfm_super s = some_super(), out;
	struct kfm_le_super le;
	unsigned int i;

	kfm_super_encode(&s, &le);
	for (i = 0; i < sizeof(le); i++) {
		((u8 *)&le)[i] ^= 0x10;
		KUNIT_EXPECT_NE_MSG(test, kfm_super_decode(&le, &out), 0, "byte %u", i);
		((u8 *)&le)[i] ^= 0x10;
	}
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, &out), 0);
	le.version = cpu_to_le32(KFM_VERSION + 1);
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, &out), -EBADMSG);
	block_version(&le, offsetof(struct kfm_le_super, version), KFM_VERSION + 1,
		      offsetof(struct kfm_le_super, crc));
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, &out), -EPROTONOSUPPORT);
	le.magic = 0;
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, &out), -EMEDIUMTYPE);
	memset(&le, 0, sizeof(le));
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, &out), -ENODATA);
}

/* A superblock of the version before is read: it remembers nothing of other places. */
static void super_before(struct kunit *test)
{
	const size_t version = offsetof(struct kfm_le_super, version);
	const size_t crc = offsetof(struct kfm_le_super, crc);
	struct kfm_super *s = kfi_test_zalloc(test, sizeof(*s));
	struct kfm_super *out = kfi_test_zalloc(test, sizeof(*out));
	struct kfm_le_super le;

	*s = some_super();
	kfm_super_encode(s, &le);
	block_version(&le, version, KFM_VERSION_UNTOLD, crc);
	KUNIT_ASSERT_EQ(test, kfm_super_decode(&le, out), 0);
	KUNIT_EXPECT_EQ(test, out->serial, s->serial);
	KUNIT_EXPECT_FALSE(test, out->plain || out->coarse);
	KUNIT_EXPECT_TRUE(test, !out->head && !out->heard[0].super);
	s->head = 3;
	s->heard[KFM_PEERS - 1] = (struct kfm_heard) { 5, 6 };
	s->maps[1] = 9;
	s->regions[KFM_SAMPLES - 1] = 8;
	s->flags |= KFM_SB_REST | KFM_SB_SAMPLE;
	kfm_super_encode(s, &le);
	KUNIT_ASSERT_EQ(test, kfm_super_decode(&le, out), 0);
	KUNIT_EXPECT_TRUE(test, out->head == 3 && out->heard[KFM_PEERS - 1].head == 6);
	KUNIT_EXPECT_TRUE(test, out->maps[1] == 9 && out->regions[KFM_SAMPLES - 1] == 8);
	block_version(&le, version, KFM_VERSION_UNTOLD, crc);
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, out), -EBADMSG);
}

/* The same of the head of a log */
static void log_before(struct kunit *test)
{
	const size_t version = offsetof(struct kfm_le_log, version);
	const size_t crc = offsetof(struct kfm_le_log, crc);
	struct kfm_log_head h = { .serial = 4, .id = 5, .seq = 1, .ring = KFM_RING_MIN }, head;
	struct kfm_le_log log;

	kfm_log_encode(&h, &log);
	block_version(&log, version, KFM_LOG_UNTOLD, crc);
	KUNIT_ASSERT_EQ(test, kfm_log_decode(&log, &head), 0);
	KUNIT_EXPECT_TRUE(test, head.serial == 4 && !head.owner);
	h.super = 1;
	kfm_log_encode(&h, &log);
	KUNIT_EXPECT_EQ(test, kfm_log_decode(&log, &head), 0);
	KUNIT_EXPECT_EQ(test, head.super, 1);
	block_version(&log, version, KFM_LOG_UNTOLD, crc);
	KUNIT_EXPECT_EQ(test, kfm_log_decode(&log, &head), -EBADMSG);
}

/* The checksum of @s is right, and the contents are not. Make it a valid one again. */
static void super_refused(struct kunit *test, struct kfm_super *s)
{
	struct kfm_le_super le;

	kfm_super_encode(s, &le);
	KUNIT_EXPECT_EQ(test, kfm_super_decode(&le, s), -EBADMSG);
	*s = some_super();
}

static void super_invalid(struct kunit *test)
{
	struct kfm_super s = some_super();

	s.sectors = 0;
	super_refused(test, &s);
	s.sectors = KFM_SECTORS_MAX + 1;
	super_refused(test, &s);
	s.state = KFM_STATES;
	super_refused(test, &s);
	s.flags = KFM_SB_FLAGS + 1;
	super_refused(test, &s);
	s.coarse = true;
	s.flags = KFM_SB_BITS_LOST;
	super_refused(test, &s);
	s.gens.cur = 0;
	super_refused(test, &s);
	s.gens.base = 2;
	super_refused(test, &s);
	s.node = 0;
	super_refused(test, &s);
	s.peers = 0;
	super_refused(test, &s);
	s.peers = KFM_PEERS + 1;
	super_refused(test, &s);
	s.pairs[1].flags = KFM_PAIR_FLAGS + 1;
	super_refused(test, &s);
}

/* Put a record into a ring. Return: the byte behind it. */
static u32 put(u8 *ring, u32 at, u64 log, u64 seq, u32 len)
{
	struct kfm_rec r = { .log = log, .gen = 3, .seq = seq, .sector = seq, .len = len };
	u8 *data = ring + at + KFM_REC_DATA_AT;

	memset(data, seq, len);
	kfm_rec_encode(&r, data, (struct kfm_le_rec *)(ring + at + KFM_REC_HEAD_AT));
	return at + kfm_rec_room(len);
}

/* How many records does a replay find? @at: the end of the last one */
static unsigned int replay_to(const u8 *ring, struct kfm_log_head h, u32 *at)
{
	unsigned int count = 0;
	struct kfm_rec r;

	while (!kfm_ring_next(ring, KFM_RING_MIN, SECTORS, &h, &r)) {
		h.seq++;
		h.at = r.at + kfm_rec_room(r.len);
		count++;
	}
	*at = h.at;
	return count;
}

static unsigned int replay(const u8 *ring, struct kfm_log_head h)
{
	u32 at;

	return replay_to(ring, h, &at);
}

static void ring_replay(struct kunit *test)
{
	struct kfm_log_head h = { .id = 5, .gen = 3, .seq = 1 };
	u8 *ring = kfi_test_zalloc(test, KFM_RING_MIN);
	u32 at = 0, third = 0;
	u64 seq;

	KUNIT_EXPECT_EQ(test, replay(ring, h), 0);
	for (seq = 1; seq <= 5; seq++) {
		third = seq == 3 ? at : third;
		at = put(ring, at, 5, seq, seq * KFM_SECTOR);
	}
	KUNIT_EXPECT_EQ(test, replay(ring, h), 5);
	/* of an older log, or one that follows a gap */
	put(ring, at, 4, 6, KFM_SECTOR);
	KUNIT_EXPECT_EQ(test, replay(ring, h), 5);
	put(ring, at, 5, 7, KFM_SECTOR);
	KUNIT_EXPECT_EQ(test, replay(ring, h), 5);
	/* the last byte of a record did not arrive: it and those behind it do not count */
	ring[third + KFM_REC_DATA_AT + 3 * KFM_SECTOR - 1] ^= 1;
	KUNIT_EXPECT_EQ(test, replay(ring, h), 2);
}

/*
 * Each bit of the records of a log, of which the first two have marks behind them: all records are
 * found, or the damage is. In a mark, and in what nobody checks, a bit is not missed. What was not
 * written, or was cut short, is no damage.
 */
static void ring_damaged(struct kunit *test)
{
	const struct kfm_log_head h = { .id = 5, .gen = 3, .seq = 1 };
	u8 *ring = kfi_test_zalloc(test, KFM_RING_MIN);
	struct kfm_log_head end = h;
	u32 at = 0, marks[3], bit;
	u64 seq;

	for (seq = 1; seq <= 3; seq++) {
		marks[seq - 1] = at;
		kfm_mark_encode(5, seq, (struct kfm_le_mark *)(ring + at));
		at = put(ring, at, 5, seq, seq * KFM_SECTOR);
	}
	end.seq = 4;
	end.at = at;
	KUNIT_EXPECT_FALSE(test, kfm_ring_damaged(ring, 16 * KFM_SECTOR, SECTORS, &end));
	for (bit = 0; bit < 8 * at; bit++) {
		ring[bit / 8] ^= 1 << bit % 8;
		end = h;
		end.seq += replay_to(ring, h, &end.at);
		if (end.seq < 4)
			KUNIT_EXPECT_TRUE_MSG(test, kfm_ring_damaged(ring, 16 * KFM_SECTOR, SECTORS,
								     &end), "bit %u", bit);
		ring[bit / 8] ^= 1 << bit % 8;
	}
	/* sectors of the last one were not written; the one before was, but all of it is gone */
	memset(ring + at - 2 * KFM_SECTOR, 0x5a, 2 * KFM_SECTOR);
	end = h;
	end.seq += replay_to(ring, h, &end.at);
	KUNIT_EXPECT_EQ(test, end.seq, 3);
	KUNIT_EXPECT_FALSE(test, kfm_ring_damaged(ring, 16 * KFM_SECTOR, SECTORS, &end));
	memset(ring + marks[1], 0xa5, marks[2] - marks[1]);
	end = h;
	end.seq += replay_to(ring, h, &end.at);
	KUNIT_EXPECT_EQ(test, end.seq, 2);
	KUNIT_EXPECT_TRUE(test, kfm_ring_damaged(ring, 16 * KFM_SECTOR, SECTORS, &end));
	/* marks of an older log say nothing of this one */
	kfm_mark_encode(4, 9, (struct kfm_le_mark *)(ring + marks[2]));
	KUNIT_EXPECT_FALSE(test, kfm_ring_damaged(ring, 16 * KFM_SECTOR, SECTORS, &end));
}

static void ring_wraps(struct kunit *test)
{
	struct kfm_log_head h = { .id = 5, .gen = 3, .seq = 100 };
	u32 at = KFM_RING_MIN - 2 * KFM_SECTOR;
	u8 *ring = kfi_test_zalloc(test, KFM_RING_MIN);

	h.at = at;
	KUNIT_EXPECT_EQ(test, put(ring, at, 5, 100, KFM_SECTOR), KFM_RING_MIN);
	at = put(ring, 0, 5, 101, 4 * KFM_SECTOR);
	put(ring, at, 5, 102, KFM_SECTOR);
	KUNIT_EXPECT_EQ(test, replay(ring, h), 3);
	/* a length that leads out of the ring */
	((struct kfm_le_rec *)(ring + h.at + KFM_REC_HEAD_AT))->len = cpu_to_le32(KFM_WRITE_MAX);
	KUNIT_EXPECT_EQ(test, replay(ring, h), 0);
}

/* A record that ends with the ring is followed by one at its begin. */
static void ring_places(struct kunit *test)
{
	const u32 len = KFM_RING_MIN, room = 2 * KFM_SECTOR;
	static const struct {
		u32 before, place, take;
	} rows[] = {
		{ KFM_RING_MIN, KFM_RING_MIN, 0 },
		{ 4 * KFM_SECTOR, 4 * KFM_SECTOR, 0 },
		{ 2 * KFM_SECTOR, 2 * KFM_SECTOR, 0 },
		{ KFM_SECTOR, KFM_RING_MIN, KFM_SECTOR },
		{ 0, KFM_RING_MIN, 0 },
	};
	unsigned int i;
	u32 take;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, kfm_ring_place(len, len - rows[i].before, room, &take),
				    len - rows[i].place, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, take, room + rows[i].take, "row %u", i);
	}
}

/* A later version may add reasons for a refusal, and nothing else is known of its messages. */
static void message_later(struct kunit *test)
{
	struct kfm_msg m = { .type = KFM_REFUSED, .session = 77, .arg = KFM_REFUSALS + 5 }, out = {};
	struct kfm_le_msg le;

	kfm_msg_encode(&m, &le);
	KUNIT_EXPECT_EQ(test, kfm_msg_decode(&le, sizeof(le), &out), 0);
	KUNIT_EXPECT_EQ(test, out.arg, KFM_REFUSALS + 5);
	le.version = cpu_to_le16(KFM_MSG_VERSION + 1);
	le.zero[0] = 1;
	KUNIT_EXPECT_EQ(test, kfm_msg_decode(&le, sizeof(le), &out), 0);
	KUNIT_EXPECT_EQ(test, out.session, 77);
	le.type = cpu_to_le16(KFM_PING);
	KUNIT_EXPECT_EQ(test, kfm_msg_decode(&le, sizeof(le), &out), -EPROTONOSUPPORT);
	KUNIT_EXPECT_EQ(test, out.session, 77);
	le.version = cpu_to_le16(KFM_MSG_VERSION);
	KUNIT_EXPECT_EQ(test, kfm_msg_decode(&le, sizeof(le), &out), -EPROTO);
}

static void generations(struct kunit *test)
{
	static const struct kfm_gens mine = {
		.cur = 6, .base = 4, .source = 5, .history = { 5, 4, 3 }
	};
	static const struct {
		struct kfm_gens peer;
		u32 state;
		enum kfm_verdict verdict;
	} rows[] = {
		{ { .cur = 6 }, KFM_UPTODATE, KFM_SAME },
		{ { .cur = 6 }, KFM_OUTDATED, KFM_SAME },
		{ { .cur = 5, .history = { 4 } }, KFM_UPTODATE, KFM_BITS },
		{ { .cur = 4, .history = { 3 } }, KFM_UPTODATE, KFM_BITS },
		{ { .cur = 3 }, KFM_UPTODATE, KFM_FULL },
		{ { .cur = 0 }, KFM_BLANK, KFM_FULL },
		{ { .cur = 7, .history = { 6, 5 } }, KFM_UPTODATE, KFM_STALE },
		{ { .cur = 7, .history = { 5, 4 } }, KFM_UPTODATE, KFM_SPLIT },
		{ { .cur = 9 }, KFM_UPTODATE, KFM_SPLIT },
		{ { .cur = 9, .history = { 0, 0 } }, KFM_UPTODATE, KFM_SPLIT },
		{ { .cur = 3, .source = 5 }, KFM_INCONSISTENT, KFM_BITS },
		/* overwritten by another node, which had the same generation */
		{ { .cur = 3, .source = 6 }, KFM_INCONSISTENT, KFM_FULL },
		{ { .cur = 3, .source = 4 }, KFM_INCONSISTENT, KFM_FULL },
		{ { .cur = 4, .source = 9 }, KFM_INCONSISTENT, KFM_SPLIT },
		{ { .cur = 4 }, KFM_INCONSISTENT, KFM_SPLIT },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, kfm_compare(&mine, &rows[i].peer, rows[i].state),
				    rows[i].verdict, "row %u", i);
}

/* Without a base nothing is known of a copy that is older; one that is the same is not older. */
static void generations_no_base(struct kunit *test)
{
	const struct kfm_gens mine = { .cur = 6, .history = { 5 } };
	struct kfm_gens peer = { .cur = 5 };

	KUNIT_EXPECT_EQ(test, kfm_compare(&mine, &peer, KFM_UPTODATE), KFM_FULL);
	peer.cur = 6;
	KUNIT_EXPECT_EQ(test, kfm_compare(&mine, &peer, KFM_UPTODATE), KFM_SAME);
}

static void generations_raised(struct kunit *test)
{
	struct kfm_gens g = { .cur = 0 };
	u64 n;

	kfm_gens_raise(&g, 1);
	KUNIT_EXPECT_EQ(test, g.history[0], 0);
	for (n = 2; n <= KFM_HISTORY + 3; n++)
		kfm_gens_raise(&g, n);
	KUNIT_EXPECT_EQ(test, g.cur, KFM_HISTORY + 3);
	KUNIT_EXPECT_EQ(test, g.history[0], KFM_HISTORY + 2);
	KUNIT_EXPECT_EQ(test, g.history[KFM_HISTORY - 1], 3);
}

/* Sizes of pieces, as powers of two sectors, and bytes of metadata for one peer */
static void super_layout(struct kunit *test)
{
	static const struct { u64 gib; u32 region, extent, wire; u64 bytes; } rows[] = {
		{ 1, 5, 13, 8, 24576 }, { 256, 5, 13, 9, 2138112 }, { 257, 6, 13, 10, 1085440 },
		{ 512, 6, 13, 10, 2146304 }, { 1024, 7, 13, 11, 2162688 },
		{ 128 << 10, 7, 18, 18, 270696448 },
	};
	unsigned int i;
	u64 sectors;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		sectors = rows[i].gib << 21;
		KUNIT_EXPECT_EQ_MSG(test, kfm_region_shift(sectors), rows[i].region, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, kfm_extent_shift(sectors), rows[i].extent, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, kfm_wire_shift(sectors), rows[i].wire, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, kfm_meta_bytes(sectors, 1), rows[i].bytes, "row %u", i);
	}
}

KFI_SUITE(kfi_mirror,
	KUNIT_CASE(super_damaged),
	KUNIT_CASE(super_invalid),
	KUNIT_CASE(super_layout),
	KUNIT_CASE(super_before),
	KUNIT_CASE(log_before),
	KUNIT_CASE(ring_replay),
	KUNIT_CASE(ring_damaged),
	KUNIT_CASE(ring_wraps),
	KUNIT_CASE(ring_places),
	KUNIT_CASE(message_later),
	KUNIT_CASE(generations),
	KUNIT_CASE(generations_no_base),
	KUNIT_CASE(generations_raised));
