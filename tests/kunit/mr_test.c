// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: access, keys, positions of iterators; and regions of kfi_mr_alloc(), with the order
 * of registrations, invalidations and accesses of a peer.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include "fixture.h"

/*
 * A length from the wire has 64 bits, also on a kernel whose size_t has 32: 2^32 bytes must not
 * become 0.
 */
static_assert(__same_type(kfi_mr_get,
			  struct kfi_mr *(struct kfi_ep *, u64, u64, u64, u64, struct iov_iter *)));

static char mem[4096];

static struct kfid_mr *reg(struct kfi_world *w, u64 access, u64 offset, u64 key)
{
	struct kfid_mr *mr = NULL;

	KUNIT_EXPECT_EQ(w->test, 0,
			kfi_mr_reg(&w->domain.fid, mem, sizeof(mem), access, offset, key, 0, &mr,
				   NULL));
	return mr;
}

static void range_is_checked(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *mr = reg(w, RW, 0x10000, KFI_KEY_NOTAVAIL);
	u64 key = kfi_mr_key(mr);
	static const struct { u64 addr; size_t len; bool ok; } rows[] = {
		{ 0x10000, 4096, true },
		{ 0x10000, 0, true },
		{ 0x11000, 0, true },
		{ 0x10fff, 1, true },
		{ 0x10fff, 2, false },
		{ 0x11000, 1, false },
		{ 0x11001, 0, false },
		{ 0x0ffff, 1, false },
		{ 0x0ffff, 2, false },
		{ 0, 1, false },
		{ U64_MAX, 1, false },
		{ 0x10000, 4097, false },
		{ 0x10000, SIZE_MAX, false },
		{ 0x10800, SIZE_MAX - 0x7ff, false },
		{ 0x10001, SIZE_MAX, false },
		{ U64_MAX - 15, 0x10010 + 16, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ok,
				    may(w, key, rows[i].addr, rows[i].len, KFI_REMOTE_WRITE),
				    "row %d", i);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

static void keys_fit_32_bits_and_differ(struct kunit *test)
{
	struct kfi_world_opts opts = { .mr_mode = KFI_MR_PROV_KEY, .key_size = 4 };
	struct kfi_world *w = kfi_world_open(test, &opts);
	u64 last = 0, ones = 0, zeros = 0;
	int i;

	for (i = 0; i < 64; i++) {
		struct kfid_mr *mr = reg(w, RW, 0, 0);

		KUNIT_EXPECT_LE(test, mr->key, (u64)U32_MAX);
		KUNIT_EXPECT_NE(test, mr->key, last);
		last = mr->key;
		ones |= last;
		zeros |= ~last;
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	}
	/* what is beside the slot */
	KUNIT_EXPECT_EQ(test, (u64)U32_MAX, ones | w->domain.slot_mask);
	KUNIT_EXPECT_EQ(test, ~0ULL, zeros | w->domain.slot_mask);
	kfi_world_close(w);
}

/* Read @len bytes at @at through the region, and compare them with the flat copy. */
static void compare_range(struct kfi_world *w, u64 key, const char *flat, size_t at, size_t len,
			  char *out)
{
	struct iov_iter iter;
	struct kfi_mr *mr = kfi_mr_get(&w->ep, key, at, len, KFI_REMOTE_READ, &iter);

	KUNIT_ASSERT_FALSE(w->test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(w->test, len, iov_iter_count(&iter));
	KUNIT_EXPECT_EQ(w->test, len, copy_from_iter(out, len, &iter));
	KUNIT_EXPECT_EQ_MSG(w->test, 0, memcmp(out, flat + at, len), "%zu at %zu", len, at);
	kfi_mr_put(mr);
}

static void check_ranges(struct kfi_world *w, struct kfid_mr *mr, const char *flat, size_t size,
			 char *out)
{
	int i;

	for (i = 0; i < 300; i++) {
		size_t at = get_random_u32() % size, len = get_random_u32() % (size - at + 1);

		compare_range(w, mr->key, flat, at, len, out);
	}
	compare_range(w, mr->key, flat, 0, size, out);
	compare_range(w, mr->key, flat, size, 0, out);
}

/*
 * The iterator is at the right byte for equal segments (found by division) and others (found by
 * search).
 */
static void iterator_position(struct kunit *test)
{
	static const u16 shapes[][8] = {
		{ 100, 64, 64, 64, 64, 64, 64, 30 },
		{ 64, 64, 64, 64, 64, 64, 64, 64 },
		{ 1, 500, 500, 500, 500, 500, 500, 500 },
		{ 3, 7, 64, 1, 0, 5, 100, 9 },
		{ 5 }, { 5, 6 }, { 5, 6, 7 },
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	char *flat = kfi_test_zalloc(test, 8192), *out = flat + 4096;
	struct kvec iov[8];
	struct kfid_mr *mr;
	int s, i, n;

	get_random_bytes(flat, 4096);
	for (s = 0; s < ARRAY_SIZE(shapes); s++) {
		size_t size = 0;

		for (i = n = 0; i < 8; i++) {
			iov[i] = (struct kvec) { flat + size, shapes[s][i] };
			size += shapes[s][i];
			if (shapes[s][i])
				n = i + 1;
		}
		KUNIT_ASSERT_EQ(test, 0,
				kfi_mr_regv(&w->domain.fid, iov, n, RW, 0, s, 0, &mr, NULL));
		check_ranges(w, mr, flat, size, out);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	}
	kfi_world_close(w);
}

/* An operation of a peer that never ends does not delay kfi_close(), and loses its access. */
static void close_does_not_wait_for_peers(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *fid = reg(w, RW, 0, KFI_KEY_NOTAVAIL);
	struct iov_iter iter;
	u64 key = fid->key;
	struct kfi_mr *mr;

	mr = kfi_mr_get(&w->ep, key, 0, 8, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_TRUE(test, kfi_mr_live(mr, key));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid->fid));
	KUNIT_EXPECT_FALSE(test, kfi_mr_live(mr, key));
	kfi_mr_put(mr);
	kfi_world_close(w);
}

KFI_SUITE(kfi_mr,
	KUNIT_CASE(range_is_checked),
	KUNIT_CASE(keys_fit_32_bits_and_differ),
	KUNIT_CASE(iterator_position),
	KUNIT_CASE(close_does_not_wait_for_peers));

/* ---- regions of kfi_mr_alloc() ---- */

/*
 * Data has landed, and is reported late because a queue was full. The region was registered again
 * meanwhile: the access is not counted.
 */
static void a_former_use_is_reported(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_cntr *cntr;
	struct iov_iter iter;
	struct kfi_mr *slow;
	struct kfid_mr *mr;
	struct job j;
	u64 old;

	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, NULL, &cntr, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	old = mr->key;
	slow = kfi_mr_get(&w->ep, old, 0, 64, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(slow));
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem + 64, 64, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, slow, old, KFI_REMOTE_WRITE, 64, 0, 0));
	KUNIT_EXPECT_EQ(test, 0ULL, kfi_cntr_read(cntr));
	KUNIT_EXPECT_TRUE(test, may(w, mr->key, 0, 64, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, slow, mr->key, KFI_REMOTE_WRITE, 64, 0, 0));
	KUNIT_EXPECT_EQ(test, 1ULL, kfi_cntr_read(cntr));
	kfi_mr_put(slow);
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr->fid));
	kfi_world_close(w);
}

static void killed_by_the_peer(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *mr, *long_lived = kfi_world_region(w, mem, sizeof(mem), 3);
	struct iov_iter iter;
	struct kfi_mr *held;
	struct job j;
	u64 key;

	KUNIT_EXPECT_EQ(test, -EACCES, kfi_mr_kill(&w->ep, 3));
	KUNIT_EXPECT_TRUE(test, may(w, 3, 0, 1, KFI_REMOTE_READ));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	key = mr->key;
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_mr_kill(&w->ep, key + 1));
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_kill(&w->ep, key));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_mr_kill(&w->ep, key));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, detach(mr, &j));
	/* The region can be used again at once; during an operation kfi_mr_kill() is refused. */
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	held = kfi_mr_get(&w->ep, mr->key, 0, 64, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(held));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mr_kill(&w->ep, mr->key));
	kfi_mr_put(held);
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&long_lived->fid));
	kfi_world_close(w);
}

/*
 * The owner invalidates while kfi_mr_kill() is at work. It may be the task or softirq that has
 * preempted kfi_mr_kill(), so it waits for nothing: kfi_mr_kill() ends the owner's work. The
 * message of the peer ends nothing then.
 */
static struct crossing {
	struct job	j;
	bool		known;
	int		ret;
} crossing;

static bool crossed(struct kfi_mr *mr)
{
	job_init(&crossing.j);
	crossing.ret = kfi_mr_invalidate(&mr->fid, &crossing.j.work);
	return crossing.known;
}

static void killed_crosswise(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct job j;
	struct kfid_mr *mr;
	int i;

	w->ops.mr_known = crossed;
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	for (i = 0; i < 4; i++) {
		crossing.known = i & 1;
		KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
		KUNIT_EXPECT_EQ(test, -ENOENT, kfi_mr_kill(&w->ep, mr->key));
		KUNIT_EXPECT_EQ(test, 0, crossing.ret);
		KUNIT_ASSERT_NE(test, 0UL, wait_for_completion_timeout(&crossing.j.done, HZ));
		KUNIT_EXPECT_EQ(test, 1, crossing.j.calls);
		KUNIT_EXPECT_FALSE(test, may(w, mr->key, 0, 1, KFI_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, detach(mr, &j));
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/* Each registration has a new key. Former keys find no region, nor a later one in the same slot. */
static void keys_of_a_slot(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	u64 mask = w->domain.slot_mask, first, last = 0;
	struct kfid_mr *mr;
	struct job j;
	int i;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	first = mr->key;
	for (i = 0; i < 100; i++) {
		last = mr->key;
		KUNIT_EXPECT_TRUE(test, may(w, last, 0, 1, KFI_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
		KUNIT_EXPECT_FALSE(test, may(w, last, 0, 1, KFI_REMOTE_READ));
		KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
		KUNIT_EXPECT_FALSE(test, may(w, last, 0, 1, KFI_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, first & mask, mr->key & mask);
		KUNIT_EXPECT_NE(test, last, mr->key);
	}
	KUNIT_EXPECT_FALSE(test, may(w, first, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->domain.mrs.nelems));
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	w->domain.next_slot = first & mask;
	mr = reg(w, RW, 0, KFI_KEY_NOTAVAIL);
	KUNIT_EXPECT_EQ(test, first & mask, mr->key & mask);
	KUNIT_EXPECT_FALSE(test, may(w, first, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, may(w, last, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/* Keys that the consumer chooses and those that are drawn are never the same. */
static void chosen_and_drawn_keys(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	u64 mask = w->domain.slot_mask, next;
	struct kfid_mr *fid, *chosen, *none;
	struct kfi_mr *mr;
	struct job j;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &fid, NULL));
	mr = container_of(fid, struct kfi_mr, fid);
	KUNIT_ASSERT_EQ(test, 0, attach(fid, mem, 64, &j));
	KUNIT_EXPECT_EQ(test, -KFI_ENOKEY,
			kfi_mr_reg(&w->domain.fid, mem, 64, RW, 0, fid->key, 0, &none, NULL));
	next = (siphash_1u64(mr->serial, &w->domain.key_secret) & ~mask) | mr->slot;
	chosen = reg(w, RW, 0, next);
	KUNIT_EXPECT_EQ(test, next, chosen->key);
	KUNIT_EXPECT_EQ(test, 0, detach(fid, &j));
	KUNIT_ASSERT_EQ(test, 0, attach(fid, mem, 64, &j));
	KUNIT_EXPECT_NE(test, next, fid->key);
	KUNIT_EXPECT_EQ(test, mr->slot, fid->key & mask);
	KUNIT_EXPECT_TRUE(test, may(w, next, 0, sizeof(mem), KFI_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, may(w, fid->key, 0, sizeof(mem), KFI_REMOTE_READ));
	KUNIT_EXPECT_TRUE(test, may(w, fid->key, 0, 64, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&chosen->fid));
	KUNIT_EXPECT_FALSE(test, may(w, next, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, detach(fid, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid->fid));
	kfi_world_close(w);
}

/* A chosen key that has ended can be chosen again, also if it is the number of a slot. */
static void a_chosen_key_is_free_again(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *fid, *next;
	struct job j;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &fid, NULL));
	key = container_of(fid, struct kfi_mr, fid)->slot;
	KUNIT_ASSERT_EQ(test, 0, attach_key(fid, mem, 64, key, &j));
	KUNIT_EXPECT_EQ(test, key, fid->key);
	KUNIT_EXPECT_TRUE(test, may(w, key, 0, 64, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, detach(fid, &j));
	next = reg(w, RW, 0, key);
	KUNIT_ASSERT_NOT_NULL(test, next);
	KUNIT_EXPECT_TRUE(test, may(w, key, 0, sizeof(mem), KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -KFI_ENOKEY, attach_key(fid, mem, 64, key, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&next->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid->fid));
	kfi_world_close(w);
}

/* Regions beyond the last slot have keys as good as the others. */
static void slots_end(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *mrs[4];
	struct job j[4];
	u64 last;
	int i;

	w->domain.slot_mask = 3;
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mrs[i], NULL));
		KUNIT_ASSERT_EQ(test, 0, attach(mrs[i], mem, 64 * (i + 1), &j[i]));
	}
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->domain.mrs.nelems));
	for (i = 0; i < 4; i++) {
		last = mrs[i]->key;
		KUNIT_EXPECT_TRUE(test, may(w, last, 0, 64 * (i + 1), KFI_REMOTE_READ));
		KUNIT_EXPECT_FALSE(test, may(w, last, 0, 64 * (i + 1) + 1, KFI_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, 0, detach(mrs[i], &j[i]));
		KUNIT_EXPECT_FALSE(test, may(w, last, 0, 1, KFI_REMOTE_READ));
		KUNIT_ASSERT_EQ(test, 0, attach(mrs[i], mem, 64, &j[i]));
		KUNIT_EXPECT_NE(test, last, mrs[i]->key);
		KUNIT_EXPECT_TRUE(test, may(w, mrs[i]->key, 0, 64, KFI_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, 0, detach(mrs[i], &j[i]));
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mrs[i]->fid));
	kfi_world_close(w);
}

KFI_SUITE(kfi_mr_async,
	KUNIT_CASE(a_former_use_is_reported),
	KUNIT_CASE(killed_by_the_peer),
	KUNIT_CASE(killed_crosswise),
	KUNIT_CASE(keys_of_a_slot),
	KUNIT_CASE(chosen_and_drawn_keys),
	KUNIT_CASE(a_chosen_key_is_free_again),
	KUNIT_CASE(slots_end));
