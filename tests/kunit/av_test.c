// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors: handles, both directions of look-up, ranges of text addresses, and readers
 * without locks.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "../../kfi/av.h"
#include "crew.h"
#include "fixture.h"

static u64 addr_of(struct kfi_world *w, kfi_addr_t handle)
{
	size_t len = sizeof(u64);
	u64 addr = 0;

	return kfi_av_lookup(w->av, handle, &addr, &len) ? 0 : addr;
}

static void handles_count_from_zero(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	u64 addr[4] = { 10, 11, 12, 13 };
	kfi_addr_t h[4];
	int i;

	KUNIT_ASSERT_EQ(test, 4, kfi_av_insert(w->av, addr, 4, h, 0, NULL));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, (u64)i, h[i]);
		KUNIT_EXPECT_EQ(test, addr[i], addr_of(w, h[i]));
		KUNIT_EXPECT_EQ(test, h[i], kfi_av_reverse(w->ep.av, &addr[i]));
	}
	KUNIT_EXPECT_EQ(test, 1, kfi_av_insert(w->av, &(u64){ 14 }, 1, NULL, 0, NULL));
	KUNIT_EXPECT_EQ(test, 14ULL, addr_of(w, 4));
	kfi_world_close(w);
}

static void bad_addresses(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	u64 addr[3] = { 0, 7, 0 };	/* 0 is invalid */
	kfi_addr_t h[3];
	int err[3] = { -1, -1, -1 };

	KUNIT_EXPECT_EQ(test, 0, kfi_av_insert(w->av, addr, 1, h, 0, NULL));
	KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h[0]);
	KUNIT_EXPECT_EQ(test, 1, kfi_av_insert(w->av, addr, 3, h, KFI_SYNC_ERR, err));
	KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h[0]);
	KUNIT_EXPECT_EQ(test, 7ULL, addr_of(w, h[1]));
	KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h[2]);
	KUNIT_EXPECT_EQ(test, EINVAL, err[0]);
	KUNIT_EXPECT_EQ(test, 0, err[1]);
	KUNIT_EXPECT_EQ(test, EINVAL, err[2]);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insert(w->av, addr, 3, h, KFI_SYNC_ERR, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insert(w->av, addr, 0, h, 0, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insert(w->av, NULL, 1, h, 0, NULL));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS,
			kfi_av_insert(w->av, addr, 1, h, KFI_AV_USER_ID, NULL));
	kfi_world_close(w);
}

static void same_address_same_handle(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t a = kfi_world_peer(w, 5), b = kfi_world_peer(w, 5), c = kfi_world_peer(w, 6);
	u64 addr = 5;

	KUNIT_EXPECT_EQ(test, a, b);
	KUNIT_EXPECT_NE(test, a, c);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &a, 1, 0));
	KUNIT_EXPECT_EQ(test, 5ULL, addr_of(w, a));
	KUNIT_EXPECT_EQ(test, a, kfi_av_reverse(w->ep.av, &addr));
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &a, 1, 0));
	KUNIT_EXPECT_EQ(test, 0ULL, addr_of(w, a));
	KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, kfi_av_reverse(w->ep.av, &addr));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, &a, 1, 0));
	kfi_world_close(w);
}

static void removal(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h[3] = { kfi_world_peer(w, 5), 99, kfi_world_peer(w, 6) };
	kfi_addr_t bad[] = { KFI_ADDR_UNSPEC, 1ULL << 32, 1ULL << 40, U32_MAX, 2 };
	u8 buf[KFI_ADDR_MAX];
	size_t len;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		len = sizeof(buf);
		KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_lookup(w->av, bad[i], buf, &len));
		KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_addr(w->ep.av, bad[i], buf));
		KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, &bad[i], 1, 0));
	}
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_av_remove(w->av, h, 1, KFI_MORE));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, h, 0, 0));
	/* 99 is not in the vector; the others are removed */
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, h, 3, 0));
	KUNIT_EXPECT_EQ(test, 0ULL, addr_of(w, h[0]));
	KUNIT_EXPECT_EQ(test, 0ULL, addr_of(w, h[2]));
	kfi_world_close(w);
}

static u32 removed_index;
static int notified;

static void note_removed(struct kfi_ep *ep, u32 index)
{
	removed_index = index;
	notified++;
}

/*
 * addr_removed() is called for each endpoint from kfi_av_join() to kfi_av_leave(), once for an
 * index, when the last handle of the address was removed.
 */
static void removal_is_notified(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t other = kfi_world_peer(w, 4), h = kfi_world_peer(w, 5);
	struct kfi_ep *ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	kfi_world_peer(w, 5);
	w->ops.addr_removed = note_removed;
	ep->ops = &w->ops;
	notified = 0;
	kfi_av_join(w->ep.av, ep);
	KUNIT_EXPECT_PTR_EQ(test, w->ep.av, ep->av);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, notified);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, notified);
	KUNIT_EXPECT_EQ(test, (u32)h, removed_index);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, &h, 1, 0));
	kfi_av_leave(w->ep.av, ep);
	kfi_obj_put(kfi_av_obj(w->ep.av));
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &other, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, notified);
	kfi_world_close(w);
}

static void removed_index_rests(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t last = KFI_ADDR_NOTAVAIL;
	u64 i;

	for (i = 1; i <= 300; i++) {
		kfi_addr_t h = kfi_world_peer(w, i);

		KUNIT_ASSERT_EQ(test, i - 1, h);
		KUNIT_ASSERT_NE(test, last, h);
		KUNIT_ASSERT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
		last = h;
	}
	kfi_world_close(w);
}

static void receive_context_bits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h, rx;
	u64 got = 0;
	int i;

	kfi_world_peer(w, 1);
	h = kfi_world_peer(w, 2);
	for (i = 0; i < 256; i += 51) {
		rx = kfi_rx_addr(h, i, 8);
		KUNIT_EXPECT_EQ(test, (u32)h, kfi_av_index(w->ep.av, rx));
		KUNIT_EXPECT_EQ(test, 8, kfi_av_addr(w->ep.av, rx, &got));
		KUNIT_EXPECT_EQ(test, 2ULL, got);
	}
	/* the bits between context and index are checked */
	KUNIT_EXPECT_EQ(test, U32_MAX, kfi_av_index(w->ep.av, h | 1ULL << 40));
	KUNIT_EXPECT_EQ(test, U32_MAX, kfi_av_index(w->ep.av, KFI_ADDR_UNSPEC));
	rx = kfi_rx_addr(h, 3, 8);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &rx, 1, 0));
	KUNIT_EXPECT_EQ(test, 0ULL, addr_of(w, h));
	kfi_world_close(w);
}

static void lookup_into_short_buffers(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h = kfi_world_peer(w, 0x0102030405060708ULL);
	u64 want = 0x0102030405060708ULL;
	u8 buf[16];
	size_t len;

	for (len = 0; len < 8; len++) {
		size_t n = len;

		memset(buf, 0xee, sizeof(buf));
		KUNIT_EXPECT_EQ(test, 0, kfi_av_lookup(w->av, h, buf, &n));
		KUNIT_EXPECT_EQ(test, (size_t)8, n);
		KUNIT_EXPECT_EQ(test, 0, memcmp(buf, &want, len));
		KUNIT_EXPECT_EQ(test, 0xee, buf[len]);
	}
	len = 16;
	KUNIT_EXPECT_EQ(test, 0, kfi_av_lookup(w->av, h, buf, &len));
	KUNIT_EXPECT_EQ(test, (size_t)8, len);
	kfi_world_close(w);
}

static void printing(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	u8 addr[8] = { 1, 2, 3, 4, 5, 6, 7, 0xff };
	char buf[32];
	size_t len = sizeof(buf);

	KUNIT_EXPECT_PTR_EQ(test, (const char *)buf, kfi_av_straddr(w->av, addr, buf, &len));
	KUNIT_EXPECT_STREQ(test, "01020304050607ff", buf);
	KUNIT_EXPECT_EQ(test, (size_t)17, len);
	len = 5;
	kfi_av_straddr(w->av, addr, buf, &len);
	KUNIT_EXPECT_STREQ(test, "0102", buf);
	KUNIT_EXPECT_EQ(test, (size_t)17, len);
	len = 0;
	buf[0] = 'x';
	kfi_av_straddr(w->av, addr, buf, &len);
	KUNIT_EXPECT_EQ(test, 'x', buf[0]);
	kfi_world_close(w);
}

static void services(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h;
	int err = -1;

	KUNIT_EXPECT_EQ(test, 1, kfi_av_insertsvc(w->av, "0x11", "7", &h, 0, NULL));
	KUNIT_EXPECT_EQ(test, 0x1100000007ULL, addr_of(w, h));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_av_insertsvc(w->av, "elsewhere", "7", &h, KFI_SYNC_ERR, &err));
	KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h);
	KUNIT_EXPECT_EQ(test, EINVAL, err);
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS,
			kfi_av_insertsvc(w->av, "1", "7", &h, KFI_PEEK, NULL));
	w->ops.resolve = NULL;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_av_insertsvc(w->av, "1", "7", &h, 0, NULL));
	kfi_world_close(w);
}

static const char *asked[8];
static char asked_text[8][48];
static int nr_asked;

static int record_resolve(struct kfi_domain *domain, const char *node, const char *service,
			  void *addr)
{
	u64 n = nr_asked + 1;

	if (nr_asked == ARRAY_SIZE(asked))
		return -EINVAL;
	snprintf(asked_text[nr_asked], sizeof(asked_text[0]), "%s:%s", node, service ?: "-");
	asked[nr_asked] = asked_text[nr_asked];
	nr_asked++;
	memcpy(addr, &n, sizeof(n));
	return sizeof(n);
}

static void ranges(struct kunit *test)
{
	static const struct {
		const char *node, *svc;
		size_t nodes, svcs;
		const char *want[4];
	} rows[] = {
		{ "10.0.0.255",
		  "5000",
		  2,
		  2,
		  { "10.0.0.255:5000", "10.0.0.255:5001", "10.0.1.0:5000", "10.0.1.0:5001" } },
		{ "fe80::ffff", "1", 2, 1, { "fe80::ffff:1", "fe80::1:0:1" } },
		{ "node09", "9", 2, 2, { "node09:9", "node09:10", "node10:9", "node10:10" } },
		{ "host", NULL, 1, 1, { "host:-" } },
	};
	static const char * const last[] = {
		"host", "255.255.255.255", "fe80::ffff:ffff:ffff:ffff", "n18446744073709551615",
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h[4];
	int r, i;

	w->ops.resolve = record_resolve;
	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		int n = rows[r].nodes * rows[r].svcs;

		nr_asked = 0;
		KUNIT_EXPECT_EQ(test, n,
				kfi_av_insertsym(w->av, rows[r].node, rows[r].nodes, rows[r].svc,
						 rows[r].svcs, h, 0, NULL));
		KUNIT_ASSERT_EQ(test, n, nr_asked);
		for (i = 0; i < n; i++)
			KUNIT_EXPECT_STREQ(test, rows[r].want[i], asked[i]);
	}
	/* a name without a number at its end can't be counted up, nor can the last address */
	for (r = 0; r < ARRAY_SIZE(last); r++) {
		nr_asked = 0;
		KUNIT_EXPECT_EQ(test, 1, kfi_av_insertsym(w->av, last[r], 2, "1", 1, h, 0, NULL));
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h[1]);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insertsym(w->av, "a1", 0, "1", 1, h, 0, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insertsym(w->av, "a1", SIZE_MAX, "1", 3, h, 0, NULL));
	kfi_world_close(w);
}

static void attributes(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_av_attr attr = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = 17 };
	struct kfid_domain *d = &w->domain.fid;
	struct kfid_av *av;

	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_open(d, NULL, &av, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_open(d, &attr, &av, NULL));
	attr.rx_ctx_bits = -1;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_open(d, &attr, &av, NULL));
	attr.rx_ctx_bits = 16;
	attr.name = "shared";
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_av_open(d, &attr, &av, NULL));
	attr.name = NULL;
	attr.type = KFI_AV_MAP;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_av_open(d, &attr, &av, NULL));
	attr.type = KFI_AV_UNSPEC;
	attr.flags = KFI_READ;
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_av_open(d, &attr, &av, NULL));
	attr.flags = 0;
	attr.count = SIZE_MAX;
	KUNIT_ASSERT_EQ(test, 0, kfi_av_open(d, &attr, &av, NULL));
	KUNIT_EXPECT_EQ(test, KFI_AV_TABLE, attr.type);
	kfi_obj_get(&kfi_to_av(av)->obj);
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&av->fid));
	kfi_obj_put(&kfi_to_av(av)->obj);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&av->fid));
	kfi_world_close(w);
}

#define MANY	5000

static void many_addresses_both_ways(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t *h = kvcalloc(MANY, sizeof(*h), GFP_KERNEL);
	u64 *addr = kvcalloc(MANY, sizeof(*addr), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_TRUE(test, h && addr);
	for (i = 0; i < MANY; i++)
		addr[i] = 0x100000000ULL + i * 7;
	KUNIT_ASSERT_EQ(test, MANY, kfi_av_insert(w->av, addr, MANY, h, 0, NULL));
	for (i = 0; i < MANY; i += 2)
		KUNIT_ASSERT_EQ(test, 0, kfi_av_remove(w->av, &h[i], 1, 0));
	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(test, i % 2 ? addr[i] : 0, addr_of(w, h[i]));
		KUNIT_ASSERT_EQ(test, i % 2 ? h[i] : KFI_ADDR_NOTAVAIL,
				kfi_av_reverse(w->ep.av, &addr[i]));
	}
	kvfree(addr);
	kvfree(h);
	kfi_world_close(w);
}

/*
 * Readers run during insertions and removals: each result is right, and an address that stays is
 * always found.
 */
struct readers {
	struct kfi_world	*w;
	kfi_addr_t		fixed;
	bool			stop;
	atomic_t		wrong, found;
	struct completion	gone;
};

static int reader(void *arg)
{
	struct readers *r = arg;
	u64 addr, got, i = 0;
	kfi_addr_t h;

	while (!READ_ONCE(r->stop)) {
		addr = 1000 + i++ % 32;
		local_bh_disable();
		h = kfi_av_reverse(r->w->ep.av, &addr);
		if (h != KFI_ADDR_NOTAVAIL && kfi_av_addr(r->w->ep.av, h, &got) > 0) {
			atomic_inc(&r->found);
			if (got != addr)
				atomic_inc(&r->wrong);
		}
		addr = 1;
		if (kfi_av_reverse(r->w->ep.av, &addr) != r->fixed)
			atomic_inc(&r->wrong);
		local_bh_enable();
		crew_turn();
	}
	complete(&r->gone);
	return 0;
}

static void readers_need_no_lock(struct kunit *test)
{
	struct readers *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *task;
	kfi_addr_t h[32];
	int i, round;

	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->gone);
	r->w = kfi_world_open(test, NULL);
	r->fixed = kfi_world_peer(r->w, 1);
	task = kthread_create(reader, r, "kfi_av_reader");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	wake_up_process(task);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 32; i++)
			h[i] = kfi_world_peer(r->w, 1000 + i);
		crew_turn();
		KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(r->w->av, h, 32, 0));
	}
	WRITE_ONCE(r->stop, true);
	wait_for_completion(&r->gone);
	kthread_stop_put(task);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->wrong));
	KUNIT_EXPECT_GT(test, atomic_read(&r->found), 10);
	kfi_world_close(r->w);
}

/* ---- several writers ---- */

#define CLUB_NAMES	12
#define CLUB_STEPS	4000
#define CLUB_THREADS	4

/**
 * struct club - threads that insert and remove the same addresses, each the ones that it has
 * inserted
 * @wrong: look-ups that missed an address which was inserted, or found the wrong one
 * @met: look-ups that found an address which other threads may have inserted
 */
struct club {
	struct kfi_world	*w;
	atomic_t		wrong, met;
};

/* Look up, in both directions, an address that this thread has inserted. */
static void club_check(struct club *c, u64 addr, kfi_addr_t h)
{
	u64 got = 0;

	local_bh_disable();
	if (kfi_av_addr(c->w->ep.av, h, &got) != sizeof(got) || got != addr ||
	    kfi_av_reverse(c->w->ep.av, &addr) != h)
		atomic_inc(&c->wrong);
	local_bh_enable();
}

/* Look up an address that other threads may remove: the result is nothing, or right. */
static void club_peek(struct club *c, u64 addr)
{
	u64 got = 0;
	kfi_addr_t h;

	local_bh_disable();
	h = kfi_av_reverse(c->w->ep.av, &addr);
	if (h != KFI_ADDR_NOTAVAIL && kfi_av_addr(c->w->ep.av, h, &got) > 0) {
		atomic_inc(&c->met);
		if (got != addr)
			atomic_inc(&c->wrong);
	}
	local_bh_enable();
}

static void club_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	kfi_addr_t mine[CLUB_NAMES];
	u32 uses[CLUB_NAMES] = {}, i, step;
	struct club *c = arg;
	u64 addr;

	for (step = 0; step < CLUB_STEPS; step++) {
		i = prandom_u32_state(rnd) % CLUB_NAMES;
		addr = 100 + i;
		if (prandom_u32_state(rnd) % 2 && uses[i] < 3) {
			if (kfi_av_insert(c->w->av, &addr, 1, &mine[i], 0, NULL) != 1)
				atomic_inc(&c->wrong);
			uses[i]++;
		} else if (uses[i]) {
			club_check(c, addr, mine[i]);
			uses[i]--;
			if (kfi_av_remove(c->w->av, &mine[i], 1, 0))
				atomic_inc(&c->wrong);
		}
		crew_dawdle(rnd);
		if (uses[i])
			club_check(c, addr, mine[i]);
		club_peek(c, 100 + prandom_u32_state(rnd) % CLUB_NAMES);
		crew_turn();
	}
	for (i = 0; i < CLUB_NAMES; i++)
		while (uses[i]--)
			if (kfi_av_remove(c->w->av, &mine[i], 1, 0))
				atomic_inc(&c->wrong);
}

/* A thread finds each address that it has inserted and not removed. At the end none is left. */
static void many_writers(struct kunit *test)
{
	struct club c = { .w = kfi_world_open(test, NULL) };
	u64 addr;

	crew_run(test, CLUB_THREADS, club_thread, &c);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&c.wrong));
	KUNIT_EXPECT_GT(test, atomic_read(&c.met), CLUB_STEPS / 10);
	for (addr = 100; addr < 100 + CLUB_NAMES; addr++)
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, kfi_av_reverse(c.w->ep.av, &addr));
	kfi_world_close(c.w);
}

static struct kunit_case av_cases[] = {
	KUNIT_CASE(handles_count_from_zero),
	KUNIT_CASE(bad_addresses),
	KUNIT_CASE(same_address_same_handle),
	KUNIT_CASE(removal),
	KUNIT_CASE(removal_is_notified),
	KUNIT_CASE(removed_index_rests),
	KUNIT_CASE(receive_context_bits),
	KUNIT_CASE(lookup_into_short_buffers),
	KUNIT_CASE(printing),
	KUNIT_CASE(services),
	KUNIT_CASE(ranges),
	KUNIT_CASE(attributes),
	KUNIT_CASE(many_addresses_both_ways),
	KUNIT_CASE(readers_need_no_lock),
	KUNIT_CASE_SLOW(many_writers),
	{}
};

static struct kunit_suite av_suite = {
	.name = "kfi_av",
	.test_cases = av_cases,
};
kunit_test_suite(av_suite);
