// SPDX-License-Identifier: GPL-2.0
/*
 * Where copies may differ, as a node of kfi_mirror knows it after a loss of power, and what it
 * resynchronises. mirror_world.c checks each change of what is durable.
 */
#include "mirror_world.h"

static void bit(u8 *map, u32 nr)
{
	map[nr / 8] |= 1 << nr % 8;
}

/* What is loaded is the bits of regions, and all regions of active extents, and no others. */
static void bits_load(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	u8 *active = w->durable + KFM_BITMAP_AT, *oos = active + 2 * KFM_BLOCK;

	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	bit(active, 2);
	bit(active, 8);				/* behind the end, as the next two are */
	memset(active + 9, 0xff, KFM_BLOCK - 9);
	memset(oos + 8, 0xff, KFM_BLOCK - 8);
	bit(oos, 17);
	bit(oos + KFM_BLOCK, 60);
	mw_seal(w);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 8);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos[2], 0xff);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 1);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos[7], 1 << 4);
	KUNIT_EXPECT_EQ(test, kfm_bits_rest(&w->m), 0);
	KUNIT_EXPECT_EQ(test, active[0], 0);
	KUNIT_EXPECT_EQ(test, oos[2], 0xff);
}

/* Bitmaps without checksums become those of this version, and a loss of power loses no bit. */
static void bits_sealed(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm_super before = w->m.sb;
	bool crashed = true;
	unsigned int i;

	before.plain = true;
	w->watched = false;	/* the superblock says that all may differ */
	for (i = 1; crashed; i++) {
		memset(w->durable, 0, MW_META);
		memcpy(w->meta, w->durable, MW_META);
		w->m.sb = before;
		KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m) ?: kfm_super_save(&w->m), 0);
		bit(w->durable + KFM_BITMAP_AT, 0);	/* an extent has 4 MiB there */
		bit(w->durable + KFM_BITMAP_AT + 3 * KFM_BLOCK, 7);
		memcpy(w->meta, w->durable, MW_META);
		w->io_left = i;
		KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
		KUNIT_EXPECT_TRUE(test, w->m.sb.plain);
		crashed = kfm_bits_load(&w->m);
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_FALSE(test, w->m.sb.plain);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, MW_REGIONS);
		KUNIT_EXPECT_TRUE(test, test_bit_le(7, w->peers[1].oos));
	}
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 1);
}

/* Each bit of a sector of the bitmaps: what that describes may differ, and no set bit is lost. */
static void bits_damaged(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	u8 *before = kfi_test_zalloc(test, MW_META);
	unsigned int i;

	w->watched = false;
	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	kfm_active_set(&w->peers[0], 0, KFM_SECTOR);
	mw_differs(w, 0, 60);
	memcpy(before, w->durable, MW_META);
	for (i = 0; i < 8 * KFM_SECTOR; i++) {
		memcpy(w->durable, before, MW_META);
		w->durable[KFM_BITMAP_AT + (i % 2 ? 2 : 0) * KFM_BLOCK + i / 8] ^= 1 << i % 8;
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_EQ_MSG(test, w->peers[0].oos_count, MW_REGIONS, "bit %u", i);
		KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 0);
		/* it is mended, and stays so */
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, MW_REGIONS);
	}
	memcpy(w->durable, before, MW_META);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 9);
	/* a sector at another place is damaged as well */
	memcpy(w->durable + KFM_BITMAP_AT + 2 * KFM_BLOCK,
	       w->durable + KFM_BITMAP_AT + 3 * KFM_BLOCK, KFM_SECTOR);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, MW_REGIONS);
}

/* Bitmaps of version 3 become those of this one, and a loss of power meanwhile loses no bit. */
static void bits_upgraded(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm_super before = w->m.sb;
	unsigned int lost = 0, i;
	bool crashed;

	before.coarse = true;
	w->watched = false;	/* the superblock says that all may differ */
	for (i = 1; i < 10; i++) {
		memset(w->durable, 0, MW_META);
		memcpy(w->meta, w->durable, MW_META);
		w->m.sb = before;
		KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m) ?: kfm_super_save(&w->m), 0);
		bit(w->durable + KFM_BITMAP_AT, 1);
		bit(w->durable + KFM_BITMAP_AT + KFM_BLOCK, 7);
		memcpy(w->meta, w->durable, MW_META);
		w->io_left = i;
		KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
		KUNIT_EXPECT_TRUE(test, w->m.sb.coarse);
		crashed = kfm_bits_load(&w->m);
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_FALSE(test, w->m.sb.coarse);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos[1], 0xff);
		KUNIT_EXPECT_EQ(test, w->peers[1].oos[7], 0xff);
		lost += w->peers[0].oos_count == MW_REGIONS;
		if (!crashed)
			break;
	}
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 8);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 8);
	KUNIT_EXPECT_EQ(test, i, 9);	/* superblock twice, 4 blocks, superblock twice */
	KUNIT_EXPECT_EQ(test, lost, 6);	/* the first leaves version 3, and the last this one */
	/* the same in the form of messages */
	kfm_wire_fill(&w->peers[1]);
	KUNIT_EXPECT_EQ(test, w->peers[1].wire[0], 1 << 7);
	kfm_bits_clear(&w->peers[1]);
	KUNIT_EXPECT_EQ(test, kfm_wire_merge(&w->peers[1]), 0);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 8);
}

/*
 * All of the new part of a mirror that has grown is out of sync, and what was before still is,
 * also after a loss of power meanwhile.
 */
static void bits_grown(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm_super before = w->m.sb;
	bool crashed = true;
	unsigned int i;

	before.sectors = 1000;	/* 31 regions, and a part of one */
	w->watched = false;
	for (i = 1; crashed; i++) {
		memset(w->durable, 0, MW_META);
		memcpy(w->meta, w->durable, MW_META);
		w->m.sb = before;
		KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m) ?: kfm_super_save(&w->m), 0);
		bit(w->durable + KFM_BITMAP_AT + KFM_BLOCK, 0);
		bit(w->durable + KFM_BITMAP_AT + 2 * KFM_BLOCK, 3);
		mw_seal(w);
		memcpy(w->meta, w->durable, MW_META);
		w->io_left = i;
		KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
		KUNIT_EXPECT_EQ(test, w->m.sb.sectors, 1000);
		crashed = kfm_bits_load(&w->m);
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_EQ(test, w->m.sb.sectors, w->m.sectors);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
		KUNIT_EXPECT_TRUE(test, test_bit_le(3, w->peers[0].oos));
		KUNIT_EXPECT_EQ(test, find_next_zero_bit_le(w->peers[0].oos, 64, 31), 64);
		KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, MW_REGIONS);
	}
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 34);
	w->m.sectors = 1000;
	KUNIT_EXPECT_EQ(test, kfm_super_load(&w->m), -EINVAL);
}

/* An extent is cleaned when nothing was written there for a while, and no write is in flight. */
static void bits_cleaned(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	const u8 *active = w->durable + KFM_BITMAP_AT;
	struct kfm_peer *p = &w->peers[0];

	w->leg_waits = true;
	mw_write_at(w, 0, (16 << w->m.shift) - 8, PAGE_SIZE * 2);	/* extents 1 and 2 */
	mw_write_run(w, 1, 63);
	KUNIT_EXPECT_EQ(test, *active, 0x86);
	mw_leg_ends(w, BLK_STS_OK);
	mw_ack(w, 0);
	w->m.renewed -= 16 * HZ;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, *active, 0x86);	/* they were touched */
	mw_write(w, 2, 8);
	w->m.renewed -= 16 * HZ;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, *active, 0x82);	/* 7 is in use */
	mw_leg_ends(w, BLK_STS_OK);
	mw_leg_ends(w, BLK_STS_OK);
	mw_run(w);
	/* the peer goes without the last write, so its region stays */
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	KUNIT_EXPECT_EQ(test, kfm_go_alone(p), 0);
	w->posted[0][0]->err = -EIO;
	w->posted[0][0]->busy = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 7);
	KUNIT_EXPECT_EQ(test, kfm_bits_rest(&w->m), 0);
	KUNIT_EXPECT_EQ(test, *active, 0);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, p->oos_count, 1);
	KUNIT_EXPECT_TRUE(test, kfm_oos_any(p, 8 << w->m.shift, KFM_SECTOR));
}

/* Of too many active extents a quarter is cleaned, those that are not in use first. */
static void bits_crowd(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];
	struct kfm *m = &w->m;
	u32 e;

	w->watched = false;	/* extents have one region */
	m->extent_shift = m->shift;
	m->extents = 2000;
	for (e = 0; e < KFM_ACTIVE_MAX; e++)
		kfm_active_set(p, (u64)e << m->shift, KFM_SECTOR);
	kfm_bits_run(m);
	KUNIT_EXPECT_EQ(test, p->active_count, KFM_ACTIVE_MAX);
	kfm_active_set(p, (u64)e << m->shift, KFM_SECTOR);
	kfm_bits_run(m);
	KUNIT_EXPECT_EQ(test, p->active_count, KFM_ACTIVE_MAX + 1 - KFM_ACTIVE_MAX / 4);
	KUNIT_EXPECT_EQ(test, find_next_bit_le(p->active, m->extents, 0), KFM_ACTIVE_MAX / 4);
	for (e = 250; e < 350; e++)
		kfm_active_set(p, (u64)e << m->shift, KFM_SECTOR);
	for (e = 0; e < 250; e++)
		kfm_active_set(p, (u64)e << m->shift, KFM_SECTOR);
	kfm_bits_run(m);
	KUNIT_EXPECT_EQ(test, find_next_zero_bit_le(p->active, m->extents, 0), 350);
	KUNIT_EXPECT_EQ(test, find_next_bit_le(p->active, m->extents, 350), 600);
	KUNIT_EXPECT_EQ(test, find_next_bit_le(w->durable + KFM_BITMAP_AT, m->extents, 350), 600);
}

/* A part is a run of regions; those of parts that are durable at the peer are in sync. */
static void bits_parts(struct kunit *test)
{
	static const struct { u32 first, count; } parts[] = {
		{ 3, 3 }, { 10, 1 }, { 20, 4 }, { 24, 1 },
	};
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_write *part;
	unsigned int i;
	u32 r;

	mw_primary(w, 6);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		for (r = 0; r < parts[i].count; r++)
			mw_differs(w, 0, parts[i].first + r);
	mw_differs(w, 0, 63);
	mw_join(w, 0, 5);
	mw_run(w);
	KUNIT_ASSERT_EQ(test, w->nr_posted[0], ARRAY_SIZE(parts));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		part = w->posted[0][i]->w;
		KUNIT_EXPECT_EQ(test, part->sector, parts[i].first << w->m.shift);
		KUNIT_EXPECT_EQ(test, part->len, (parts[i].count * KFM_SECTOR) << w->m.shift);
	}
	KUNIT_EXPECT_EQ(test, p->oos_count, 10);
	/* the leg can't read the last one, which is tried again after a while */
	w->leg_waits = true;
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->oos_count, 1);
	mw_leg_ends(w, BLK_STS_IOERR);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, bio_list_empty(&w->legs));
	KUNIT_EXPECT_EQ(test, p->oos_count, 1);
	p->rs_tried -= 6 * HZ;
	mw_run(w);
	mw_run(w);
	w->leg_waits = false;
	mw_leg_ends(w, BLK_STS_OK);
	mw_run(w);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->oos_count, 0);
	/* that is announced at once, and not with the next PING */
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED], 0);
	KUNIT_EXPECT_TRUE(test, time_before_eq(p->next, jiffies));
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED], 1);
}

/* Nothing is known of the node. */
static const struct kfm_super none;

/* The node starts with a table of @sectors, for which its metadata would be at @at. */
static int bits_start(struct mw *w, u64 at, u64 sectors)
{
	struct kfm *m = &w->m;
	u64 all = m->sectors;
	int ret;

	KUNIT_EXPECT_EQ(w->test, kfm_label_locate(m, at, &none), 0);
	m->sectors = sectors;
	ret = kfm_super_load(m) ?: kfm_label_fits(m);
	m->sectors = all;
	return ret;
}

/*
 * A mirror that has its metadata on the leg grows, and the metadata moves to where other data were.
 * The power fails before any write of it: the node starts with what it knew, in the new place or in
 * the old one, and is never in doubt. Whatever size the next table has, it finds the same one.
 */
static void bits_moved(struct kunit *test)
{
	const u32 room = 4 * KFM_BLOCK;		/* of two superblocks and two bitmaps */
	const u64 old = KFM_BLOCK, new = old + room;
	struct mw *w = mw_make(test, 1);
	u8 *start = kfi_test_zalloc(test, MW_META);
	struct kfm *m = &w->m;
	u64 less = m->sectors - (2 << m->shift);
	unsigned int i, moved = 0;
	int ret = 1;

	w->watched = false;
	m->internal = true;
	m->sb.flags = KFM_SB_INTERNAL;
	m->sb.sectors = less;
	m->meta_at = old;
	KUNIT_ASSERT_EQ(test, kfm_bits_create(m) ?: kfm_super_save(m) ?: kfm_super_save(m), 0);
	mw_differs(w, 0, 3);
	memcpy(start, w->durable, MW_META);
	memset(start + new, 9, room);
	m->meta_at = new;
	for (i = 0; ret; i++) {
		memcpy(w->durable, start, MW_META);
		memcpy(w->meta, start, MW_META);
		memset(w->label, 0, sizeof(w->label));	/* the device has become longer */
		KUNIT_EXPECT_EQ(test, kfm_label_locate(m, old, &none), 0);
		w->io_left = i + 1;
		KUNIT_ASSERT_EQ(test, kfm_super_load(m), 0);
		ret = kfm_bits_load(m);
		w->io_err = 0;
		w->io_left = 0;
		m->meta_failed = false;
		memcpy(w->meta, w->durable, MW_META);
		if (!i)		/* nothing is written, and there is a table before this one */
			KUNIT_EXPECT_EQ(test, kfm_label_locate(m, old, &none), 0);
		else
			KUNIT_EXPECT_EQ_MSG(test, bits_start(w, new, m->sectors), 0, "%u", i);
		moved += m->meta_from == new;
		KUNIT_EXPECT_EQ_MSG(test, bits_start(w, old, less),
				    m->meta_from == new ? -EINVAL : 0,
				    "%u", i);
		KUNIT_ASSERT_TRUE(test, m->formatted);
		KUNIT_EXPECT_EQ_MSG(test, m->sb.flags, KFM_SB_INTERNAL, "%u", i);
		KUNIT_EXPECT_EQ(test, kfm_bits_load(m), 0);
		KUNIT_EXPECT_EQ(test, m->meta_from, new);
		KUNIT_EXPECT_EQ(test, m->sb.sectors, m->sectors);
		KUNIT_EXPECT_EQ_MSG(test, w->peers[0].oos_count, 3, "%u", i);
	}
	/* tag, 2 zeros, 2 bitmaps, 2 superblocks, tag; the old place need not be cleared */
	KUNIT_EXPECT_EQ(test, i, 9);
	KUNIT_EXPECT_EQ(test, moved, 1);
}

KFI_SUITE(kfi_mirror_bits,
	KUNIT_CASE(bits_moved),
	KUNIT_CASE(bits_load),
	KUNIT_CASE(bits_upgraded),
	KUNIT_CASE(bits_sealed),
	KUNIT_CASE(bits_damaged),
	KUNIT_CASE(bits_grown),
	KUNIT_CASE(bits_cleaned),
	KUNIT_CASE(bits_crowd),
	KUNIT_CASE(bits_parts));
