// SPDX-License-Identifier: GPL-2.0
/* The label of a leg: whose copy it is, and of which time. */
#include "mirror_world.h"

/* A secondary whose leg has got a label; it is in use. */
static struct mw *labelled(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm *m = &w->m;

	w->watched = false;	/* the superblock says that all may differ */
	memset(m->sb.uuid, 3, sizeof(m->sb.uuid));
	m->sb.flags |= KFM_SB_LABEL;
	KUNIT_ASSERT_EQ(test, kfm_label_may_create(m, m->sb.uuid), 0);
	KUNIT_ASSERT_EQ(test, kfm_label_create(m) ?: kfm_super_save(m), 0);
	KUNIT_ASSERT_EQ(test, kfm_label_renew(m), 0);
	return w;
}

/* The node starts with what is on its disks. Return: is it in doubt? Or an error. */
static int starts(struct mw *w)
{
	int ret = mw_load(w) ?: kfm_label_check(&w->m) ?: kfm_bits_load(&w->m);

	return ret ?: !!(w->m.sb.flags & KFM_SB_DOUBT);
}

/* What an earlier start, or an earlier end, has left on the leg is not trusted. */
static void label_old(struct kunit *test)
{
	struct mw *w = labelled(test);
	u8 *old = kfi_test_zalloc(test, KFM_BLOCK), *right = kfi_test_zalloc(test, KFM_BLOCK);

	KUNIT_EXPECT_EQ(test, starts(w), 0);
	memcpy(old, w->label[0], KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
	memcpy(right, w->label[0], KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_UPTODATE);
	memcpy(w->label[0], old, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 1);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_BLANK);
	/* nothing of that is stored: the right leg may come back */
	KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
	KUNIT_EXPECT_MEMEQ(test, w->label[0], old, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 1);
	memcpy(w->label[0], right, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_UPTODATE);
	/* a primary attaches, and begins to make the copy the same: the leg is the right one now */
	memcpy(w->label[0], old, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 1);
	w->m.sb.state = KFM_INCONSISTENT;
	KUNIT_EXPECT_EQ(test, kfm_super_save(&w->m) ?: kfm_label_renew(&w->m), 0);
	KUNIT_EXPECT_EQ(test, starts(w), 1);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_INCONSISTENT);
}

/* The power fails between any two writes: what is there is right. */
static void label_power(struct kunit *test)
{
	struct mw *w = labelled(test);
	unsigned int i;
	int ret = 1;

	for (i = 1; ret; i++) {
		w->io_left = i;
		ret = kfm_label_renew(&w->m);
		w->m.meta_failed = false;
		KUNIT_EXPECT_EQ_MSG(test, starts(w), 0, "write %u", i);
	}
	KUNIT_EXPECT_EQ(test, i, 7);	/* 5 writes, and then none fails */
}

/*
 * The power fails twice, and what was said to have failed may be there all the same: also then each
 * label that may be found is right.
 */
static void label_power_twice(struct kunit *test)
{
	struct mw *w = labelled(test);
	u8 *old = kfi_test_zalloc(test, KFM_BLOCK);
	unsigned int i, k, lands;

	for (i = 0; i < 50; i++) {
		for (k = 0; k < 2; k++) {
			lands = i % 2;
			memcpy(old, w->label[0], KFM_BLOCK);
			w->io_left = 1 + (k ? i / 10 : i / 2 % 5);
			w->io_lands = lands;
			kfm_label_renew(&w->m);
			w->m.meta_failed = false;
			w->io_lands = false;
			KUNIT_EXPECT_EQ_MSG(test, starts(w), 0, "%u of %u", k, i);
		}
		KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
		KUNIT_EXPECT_EQ(test, starts(w), 0);
		memcpy(w->label[0], old, KFM_BLOCK);
		KUNIT_EXPECT_EQ_MSG(test, starts(w), 1, "%u", i);
		w->m.sb.state = KFM_UPTODATE;
		w->m.sb.flags = KFM_SB_LABEL;
		KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
	}
}

/* Whatever error a leg gives, it says nothing of the label. */
static void label_unreadable(struct kunit *test)
{
	static const int errors[] = {
		-EIO, -ENODATA, -ENOLINK, -ETIMEDOUT, -ENODEV, -EREMOTEIO, -EILSEQ, -EBUSY, -ENOSPC,
	};
	struct mw *w = labelled(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		w->io_err = errors[i];
		KUNIT_EXPECT_EQ(test, kfm_label_check(&w->m), 0);
		KUNIT_EXPECT_EQ(test, kfm_label_may_create(&w->m, w->m.sb.uuid), -EIO);
		w->io_err = 0;
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_LABEL);
		/* it may be that of another disk, so it stays as it is */
		memset(w->label[0], 9, KFM_BLOCK);
		KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(w->label[0], 9, KFM_BLOCK));
	}
}

/* The mirror grows: other data behind its new end stay there, and an error is no lack of room. */
static void label_moves(struct kunit *test)
{
	struct mw *w = labelled(test);
	struct kfm *m = &w->m;

	m->sb.sectors -= 8;
	w->io_err = -ENOSPC;
	KUNIT_EXPECT_EQ(test, kfm_label_move(m), -EIO);
	w->io_err = 0;
	KUNIT_EXPECT_EQ(test, kfm_label_move(m), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_LABEL);
	memset(w->label[0], 9, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, kfm_label_move(m), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, 0);
	KUNIT_EXPECT_EQ(test, w->label[0][0], 9);
}

/* The last block of a leg with its metadata is not written if that, or the log, ends behind it. */
static void label_tag(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm *m = &w->m;
	struct kfm_label label;

	m->internal = true;
	m->sb.flags |= KFM_SB_INTERNAL;
	m->meta_at = kfm_behind_data(m->sectors) + KFM_BLOCK - kfm_meta_bytes(m->sectors, 1);
	KUNIT_EXPECT_EQ(test, kfm_label_renew(m), 0);
	KUNIT_EXPECT_EQ(test, kfm_label_decode((void *)w->label[1], &label), 0);
	memset(w->label[1], 0, KFM_BLOCK);
	w->blocks = 1;		/* it has become shorter */
	KUNIT_EXPECT_EQ(test, kfm_label_tag(m, m->meta_at, m->sectors), -ENOSPC);
	w->blocks = 2;
	m->log_at = m->meta_at + kfm_meta_bytes(m->sectors, 1) - KFM_RING_AT;
	m->log.ring_len = KFM_BLOCK;
	m->log.room = 0;
	KUNIT_EXPECT_EQ(test, kfm_label_tag(m, m->meta_at, m->sectors), -ENOSPC);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->label, 0, sizeof(w->label)));
}

/* Each bit of the label: the node is in doubt, or the leg is refused. */
static void label_each_bit(struct kunit *test)
{
	struct mw *w = labelled(test);
	unsigned int i;
	int ret;

	for (i = 0; i < 8 * KFM_SECTOR; i++) {
		w->label[0][i / 8] ^= 1 << i % 8;
		ret = starts(w);
		KUNIT_EXPECT_TRUE_MSG(test, ret == 1 || ret == -EPROTONOSUPPORT ||
				      (i < 64 && ret == -EMEDIUMTYPE), "bit %u: %d", i, ret);
		w->label[0][i / 8] ^= 1 << i % 8;
	}
	KUNIT_EXPECT_EQ(test, starts(w), 0);
	memset(w->label[0], 0, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 1);
	w->blocks = 0;
	KUNIT_EXPECT_EQ(test, starts(w), 1);
}

/* The leg of another node, mirror or user is refused, also under a blank copy; not a new disk. */
static void label_other(struct kunit *test)
{
	struct mw *w = labelled(test);
	struct kfm_label label;

	KUNIT_ASSERT_EQ(test, kfm_label_decode((void *)w->label[0], &label), 0);
	label.node++;
	kfm_label_encode(&label, (void *)w->label[0]);
	KUNIT_EXPECT_EQ(test, starts(w), -EMEDIUMTYPE);
	label.node--;
	label.uuid[2] = 4;
	kfm_label_encode(&label, (void *)w->label[0]);
	KUNIT_EXPECT_EQ(test, starts(w), -EMEDIUMTYPE);
	w->m.sb.state = KFM_BLANK;
	KUNIT_EXPECT_EQ(test, kfm_super_save(&w->m), 0);
	KUNIT_EXPECT_EQ(test, starts(w), -EMEDIUMTYPE);
	memset(w->label[0], 9, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), -EMEDIUMTYPE);
	memset(w->label[0], 0, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), 0);
	KUNIT_EXPECT_EQ(test, kfm_label_renew(&w->m), 0);
	KUNIT_EXPECT_EQ(test, kfm_label_decode((void *)w->label[0], &label), 0);
	KUNIT_EXPECT_EQ(test, label.node, w->m.sb.node);
}

/* What may be written by `create` */
static void label_room(struct kunit *test)
{
	static const u8 other[UUID_SIZE] = { 4 };
	struct mw *w = labelled(test);
	struct kfm *m = &w->m;

	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, m->sb.uuid), 0);
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, other), -ENOTUNIQ);
	w->label[0][20] ^= 1;
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, m->sb.uuid), -ENOTUNIQ);
	memset(w->label[0], 0, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, other), 0);
	w->label[0][KFM_BLOCK - 1] = 1;
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, other), -EMEDIUMTYPE);
	w->blocks = 0;
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, other), -ENOSPC);
}

#define PLACE	(6 * KFM_BLOCK)

/* A table whose metadata is at @at, as far as its size tells. Return: 0 or an error */
static int internal_start(struct mw *w, u64 at, const struct kfm_super *known)
{
	struct kfm *m = &w->m;

	m->meta_at = at;
	return kfm_label_locate(m, at, known) ?: kfm_super_load(m) ?: kfm_label_fits(m);
}

/*
 * What the tag says has to be there, and a place outside of the device is none. If a table before
 * this one knows better, the tag of another mirror is one of former times.
 */
static void label_tag_lies(struct kunit *test)
{
	static const struct kfm_super none;
	struct mw *w = mw_make(test, 1);
	struct kfm_super known;
	struct kfm *m = &w->m;
	struct kfm_label tag;

	m->internal = true;
	m->sb.flags |= KFM_SB_INTERNAL;
	m->meta_at = KFM_BLOCK;
	KUNIT_ASSERT_EQ(test, kfm_super_save(m) ?:
			kfm_label_tag(m, PLACE, m->sectors), 0);
	known = m->sb;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), -EMEDIUMTYPE);
	m->sb = known;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &known), -EMEDIUMTYPE);
	known.node++;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &known), 0);
	w->io_err = -EIO;
	KUNIT_EXPECT_EQ(test, kfm_label_locate(m, KFM_BLOCK, &none), -EIO);
	KUNIT_EXPECT_EQ(test, kfm_label_locate(m, KFM_BLOCK, &known), 0);
	w->io_err = 0;
	KUNIT_ASSERT_EQ(test, kfm_label_decode((void *)w->label[1], &tag), 0);
	tag.at = -KFM_BLOCK;
	kfm_label_encode(&tag, (void *)w->label[1]);
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), 0);
	tag.at = KFM_SECTOR;
	kfm_label_encode(&tag, (void *)w->label[1]);
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), 0);
	w->label[1][40] ^= 1;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), 0);
}

/* A label, or a tag, of a later version: the node does not start, the log says so, and it stays. */
static void label_other_version(struct kunit *test)
{
	static const char said[] = "mirror: the label of the leg has version 2, and this module reads 1 to 1: use a newer kfabric";
	static const struct kfm_super none;
	struct mw *w = labelled(test);
	u8 *now = kfi_test_zalloc(test, KFM_BLOCK);
	struct kfm_super known;
	struct kfm *m = &w->m;

	mw_version(w->label[0], KFM_LABEL_VERSION + 1);
	memcpy(now, w->label[0], KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, starts(w), -EPROTONOSUPPORT);
	KUNIT_EXPECT_STREQ(test, mw_heard, said);
	m->sb.state = KFM_BLANK;
	KUNIT_EXPECT_EQ(test, kfm_label_check(m), -EPROTONOSUPPORT);
	KUNIT_EXPECT_EQ(test, kfm_label_may_create(m, m->sb.uuid), -ENOTUNIQ);
	KUNIT_EXPECT_MEMEQ(test, w->label[0], now, KFM_BLOCK);

	w = mw_make(test, 1);
	m = &w->m;
	m->internal = true;
	m->sb.flags |= KFM_SB_INTERNAL;
	m->meta_at = KFM_BLOCK;
	KUNIT_ASSERT_EQ(test, kfm_super_save(m) ?: kfm_label_tag(m, KFM_BLOCK, m->sectors), 0);
	known = m->sb;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), 0);
	mw_version(w->label[1], KFM_LABEL_VERSION + 1);
	memcpy(now, w->label[1], KFM_BLOCK);
	mw_heard[0] = 0;
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &none), -EPROTONOSUPPORT);
	KUNIT_EXPECT_STREQ(test, mw_heard, said);
	KUNIT_EXPECT_EQ(test, internal_start(w, KFM_BLOCK, &known), -EPROTONOSUPPORT);
	KUNIT_EXPECT_MEMEQ(test, w->label[1], now, KFM_BLOCK);
}

/* A `create` that has failed can be repeated. What another user has is not overwritten. */
static void label_create_again(struct kunit *test)
{
	static const char uuid[] = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
	struct mw *w = mw_make(test, 1);
	struct kfm *m = &w->m;
	unsigned int i;

	w->watched = false;
	m->logdev = NULL;
	m->formatted = false;
	memset(w->meta, 0, MW_META);
	w->meta[KFM_BITMAP_AT + KFM_BLOCK + 9] = 1;
	KUNIT_EXPECT_EQ(test, mw_order(w, "create", uuid), -EMEDIUMTYPE);
	w->meta[KFM_BITMAP_AT + KFM_BLOCK + 9] = 0;
	for (i = 1; i < 6; i++) {	/* two bitmaps, label, superblock in two places */
		w->io_left = i;
		KUNIT_EXPECT_EQ(test, mw_order(w, "create", uuid), -EIO);
		w->io_err = 0;
	}
	KUNIT_EXPECT_EQ(test, mw_order(w, "create", uuid), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_NO_LOG | KFM_SB_LABEL);
	KUNIT_EXPECT_EQ(test, mw_order(w, "create", uuid), -EEXIST);
}

/* The UUID of the device, where it names a mirror, is that of the metadata. */
static void label_device(struct kunit *test)
{
	static const struct { const char *id; int ret; } ids[] = {
		{ "", 0 }, { "LVM-x", 0 }, { "KFI-MIRROR-short", 0 },
		{ "KFI-MIRROR-03030303-0303-0303-0303-030303030303-r0", 0 },
		{ "KFI-MIRROR-03030303-0303-0303-0303-030303030304-r0", -EMEDIUMTYPE },
	};
	struct mw *w = labelled(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		w->id = ids[i].id;
		KUNIT_EXPECT_EQ_MSG(test, kfm_label_name(&w->m, w->m.sb.uuid), ids[i].ret, "%s",
				    ids[i].id);
	}
}

/* A peer that has said that its copy is outdated comes back with one that is not. */
static void label_left(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	u64 gen = w->m.sb.gens.cur;

	mw_say(w, 0, (struct kfm_msg) { .type = KFM_LEAVE });
	KUNIT_EXPECT_EQ(test, w->m.sb.pairs[0].flags, KFM_PAIR_ALONE | KFM_PAIR_LEFT);
	w->peers[0].state = KFM_SESSION_HELLO;
	mw_state(w, 0, KFM_OUTDATED, gen, 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	w->peers[0].state = KFM_SESSION_HELLO;
	mw_state(w, 0, KFM_UPTODATE, gen, 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, MW_REGIONS);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, 1);
}

/*
 * The disk of a peer is put back to what it was in the middle of a resynchronisation that has ended
 * since: the bitmap does not say what it lacks.
 */
static void label_partial(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	u64 source;

	mw_primary(w, 6);
	mw_run(w);
	mw_state(w, 0, KFM_BLANK, 0, 0);
	source = w->m.sb.pairs[0].source;
	KUNIT_ASSERT_NE(test, source, 0);
	w->peers[0].state = KFM_SESSION_UP;
	w->peers[0].oos_count = 0;
	memset(w->peers[0].oos, 0, w->m.bitmap_bytes);
	w->peers[0].synced_sent = true;
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_SYNCED_OK, .gens.cur = w->m.sb.gens.cur,
	});
	KUNIT_EXPECT_TRUE(test, w->peers[0].insync);
	w->peers[0].state = KFM_SESSION_HELLO;
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_STATE, .state = KFM_INCONSISTENT, .gens.source = source,
		.sectors = w->m.sectors, .peers = 1,
	});
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, MW_REGIONS);
}

KFI_SUITE(kfi_mirror_label,
	KUNIT_CASE(label_partial),
	KUNIT_CASE(label_old),
	KUNIT_CASE(label_power),
	KUNIT_CASE(label_power_twice),
	KUNIT_CASE(label_unreadable),
	KUNIT_CASE(label_moves),
	KUNIT_CASE(label_tag),
	KUNIT_CASE(label_each_bit),
	KUNIT_CASE(label_other),
	KUNIT_CASE(label_room),
	KUNIT_CASE(label_tag_lies),
	KUNIT_CASE(label_other_version),
	KUNIT_CASE(label_create_again),
	KUNIT_CASE(label_device),
	KUNIT_CASE(label_left));
