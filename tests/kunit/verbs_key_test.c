// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection of kfi_verbs knows of its peer's regions. The source is compiled into this module, for a provider exports
 * nothing; of the connection it gets what it looks at, and its packets end here.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include "../../providers/verbs/key.c"

/**
 * struct peer - a connection, and the peer's end of it
 * @asked: what it was last sent; @packets: how often
 */
struct peer {
	struct kunit		*test;
	struct kv_conn		conn;
	struct kvw_packet	asked;
	unsigned int		packets;
};

/* In place of tx.c's. */
void kv_put_packet(struct kv_conn *conn, struct kvw_packet *p, const struct kvw_desc *descs, int wr_flags)
{
	struct peer *peer = container_of(conn, struct peer, conn);

	KUNIT_EXPECT_EQ(peer->test, KVW_KEY, p->type);
	KUNIT_EXPECT_EQ(peer->test, 0, p->count);
	peer->asked = *p;
	peer->packets++;
}

/* In place of slot.c's. */
void kv_grow(struct kv_conn *conn, u8 what)
{
}

/* In place of tx.c's: the jiffy is over when a case says so. */
void kv_ask_later(struct kv_conn *conn)
{
	conn->asks_later = true;
}

static struct peer *peer_new(struct kunit *test)
{
	struct peer *peer = kunit_kzalloc(test, sizeof(*peer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, peer);
	peer->test = test;
	peer->conn.keys = kunit_kcalloc(test, KV_KEYS, sizeof(*peer->conn.keys), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->conn.keys);
	spin_lock_init(&peer->conn.lock);
	peer->conn.requests_max = 100;
	peer->conn.credit_tx[KVW_CLS_CTL].limit = 1000;
	return peer;
}

static int find_right(struct peer *peer, u64 key, u64 addr, u64 len, u8 right, struct kv_run *run)
{
	int ret;

	spin_lock_bh(&peer->conn.lock);
	ret = kv_key_find(&peer->conn, key, addr, len, right, run);
	spin_unlock_bh(&peer->conn.lock);
	return ret;
}

static int find(struct peer *peer, u64 key, u64 addr, u64 len)
{
	struct kv_run run;

	return find_right(peer, key, addr, len, KVW_K_READ, &run);
}

/* The answer to what was last asked, about a region of @len bytes at @base: @count descriptors from byte @first on. */
static struct kvw_packet answer(const struct peer *peer, u64 base, u64 len, u64 first, u16 count)
{
	return (struct kvw_packet) {
		.type = KVW_KEY_IS, .flags = KVW_K_READ, .id = peer->asked.id, .gen = peer->asked.gen,
		.tag = base, .len = len, .data = first, .count = count,
	};
}

/* Descriptor @i of every region here: it lies at (i + 1) GiB, under the device's key i + 1. */
static struct kvw_desc desc(unsigned int i, u64 len)
{
	return (struct kvw_desc){ cpu_to_le64((i + 1ULL) << 30), cpu_to_le64(i + 1), cpu_to_le64(len) };
}

static int tell(struct peer *peer, const struct kvw_packet *p, const struct kvw_desc *descs)
{
	int ret;

	spin_lock_bh(&peer->conn.lock);
	ret = kv_got_key(&peer->conn, p, descs);
	spin_unlock_bh(&peer->conn.lock);
	return ret;
}

/* It is refused. */
static void refuse(struct peer *peer, u16 status)
{
	struct kvw_packet p = answer(peer, 0, 0, 0, 0);

	p.status = status;
	KUNIT_EXPECT_EQ(peer->test, 0, tell(peer, &p, NULL));
}

/* Ask for a region of @len bytes at 0 and hear of it as a whole. */
static void learn(struct peer *peer, u64 key, u64 len)
{
	struct kvw_desc d = desc(0, len);
	struct kvw_packet p;

	KUNIT_ASSERT_EQ(peer->test, -EAGAIN, find(peer, key, 0, len));
	KUNIT_ASSERT_EQ(peer->test, key, peer->asked.tag);
	p = answer(peer, 0, len, 0, 1);
	KUNIT_ASSERT_EQ(peer->test, 0, tell(peer, &p, &d));
	KUNIT_ASSERT_EQ(peer->test, 0, find(peer, key, 0, len));
}

/* Is it known, or being asked for? Does not ask. */
static bool knows(struct peer *peer, u64 key)
{
	return key_known(&peer->conn, key);
}

/* ---- asking ---- */

static void asked_for_once(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	struct kvw_desc d = desc(0, 4096);
	struct kvw_packet p;
	struct kv_run run;

	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 0x1010, 16));
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 0x1020, 16));
	KUNIT_EXPECT_EQ(test, 1, peer->packets);
	KUNIT_EXPECT_EQ(test, 7, peer->asked.tag);
	KUNIT_EXPECT_EQ(test, 0x1010, peer->asked.data);
	KUNIT_EXPECT_EQ(test, 1, peer->conn.requests);
	KUNIT_EXPECT_EQ(test, 1, peer->conn.credit_tx[KVW_CLS_CTL].used);

	p = answer(peer, 0x1000, 4096, 0, 1);
	p.flags = KVW_K_WRITE | KVW_K_TELL;
	KUNIT_EXPECT_EQ(test, 0, tell(peer, &p, &d));
	KUNIT_EXPECT_EQ(test, 0, peer->conn.requests);
	KUNIT_EXPECT_EQ(test, 0, find_right(peer, 7, 0x1010, 16, KVW_K_WRITE, &run));
	KUNIT_EXPECT_EQ(test, (1ULL << 30) + 0x10, run.addr);
	KUNIT_EXPECT_EQ(test, 16, run.len);
	KUNIT_EXPECT_EQ(test, 1, run.rkey);
	KUNIT_EXPECT_TRUE(test, run.tell);
	KUNIT_EXPECT_EQ(test, -EACCES, find_right(peer, 7, 0x1010, 16, KVW_K_READ, &run));
	KUNIT_EXPECT_EQ(test, 1, peer->packets);
}

/* Who may not ask now has changed nothing. */
static void asked_for_later(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	struct kv_conn *conn = &peer->conn;

	conn->requests = conn->requests_max;
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 0, 16));
	conn->requests = 0;
	conn->credit_tx[KVW_CLS_CTL].limit = 0;
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 0, 16));
	KUNIT_EXPECT_EQ(test, 0, peer->packets);
	KUNIT_EXPECT_EQ(test, 0, conn->requests);
	KUNIT_EXPECT_EQ(test, 0, conn->credit_tx[KVW_CLS_CTL].used);
	KUNIT_EXPECT_FALSE(test, knows(peer, 7));
	conn->credit_tx[KVW_CLS_CTL].limit = 1;
	learn(peer, 7, 16);
}

/* ---- what is known ---- */

static void within_its_bounds(struct kunit *test)
{
	static const struct {
		u64 addr, len;
		int ret;
	} cases[] = {
		{ 0x1000, 0x100, 0 },
		{ 0x10ff, 1, 0 },
		{ 0x1100, 0, 0 },
		{ 0x1000, 0x101, -EACCES },
		{ 0x10ff, 2, -EACCES },
		{ 0x1100, 1, -EACCES },
		{ 0x1101, 0, -EACCES },
		{ 0x0fff, 1, -EACCES },
		{ 0x0fff, 0, -EACCES },
		{ 0x1001, ~0ULL, -EACCES },
		{ ~0ULL, 0x1100, -EACCES },
		{ 0, 0, -EACCES },
	};
	struct peer *peer = peer_new(test);
	struct kvw_desc d = desc(0, 0x100);
	struct kvw_packet p;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0x1000, 1));
	p = answer(peer, 0x1000, 0x100, 0, 1);
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, &d));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret, find(peer, 7, cases[i].addr, cases[i].len), "row %u", i);
	KUNIT_EXPECT_EQ(test, 1, peer->packets);
}

static void expect_run(struct peer *peer, u64 at, u64 len, unsigned int i, u64 off, u64 bytes)
{
	struct kv_run run;

	KUNIT_ASSERT_EQ_MSG(peer->test, 0, find_right(peer, 7, at, len, KVW_K_READ, &run), "at %llu", at);
	KUNIT_EXPECT_EQ_MSG(peer->test, ((i + 1ULL) << 30) + off, run.addr, "at %llu", at);
	KUNIT_EXPECT_EQ_MSG(peer->test, i + 1, run.rkey, "at %llu", at);
	KUNIT_EXPECT_EQ_MSG(peer->test, bytes, run.len, "at %llu", at);
}

/* A region of 1000 bytes in pieces of 100, of which an answer has three. */
static void windows(struct kunit *test)
{
	struct kvw_desc descs[] = { desc(0, 100), desc(1, 100), desc(2, 100) };
	struct peer *peer = peer_new(test);
	struct kvw_packet p;

	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 430, 500));
	p = answer(peer, 0, 1000, 400, 3);
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, descs));
	expect_run(peer, 430, 500, 0, 30, 70);
	expect_run(peer, 499, 500, 0, 99, 1);
	expect_run(peer, 500, 500, 1, 0, 100);
	expect_run(peer, 620, 30, 2, 20, 30);
	expect_run(peer, 699, 2, 2, 99, 1);
	/* Behind it and before it: the peer is asked again, for that byte, and what was known is forgotten. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 700, 1));
	KUNIT_EXPECT_EQ(test, 2, peer->packets);
	KUNIT_EXPECT_EQ(test, 700, peer->asked.data);
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 430, 1));
	p = answer(peer, 0, 1000, 700, 3);
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, descs));
	expect_run(peer, 700, 300, 0, 0, 100);
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 699, 1));
	KUNIT_EXPECT_EQ(test, 699, peer->asked.data);
	KUNIT_EXPECT_EQ(test, 3, peer->packets);
}

/* The end of a region is in its last window, though no descriptor has a byte there. */
static void nothing_at_the_end(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	struct kvw_packet p;
	struct kv_run run;

	learn(peer, 7, 100);
	KUNIT_EXPECT_EQ(test, 0, find_right(peer, 7, 100, 0, KVW_K_READ, &run));
	KUNIT_EXPECT_EQ(test, 0, run.len);
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 8, 0, 0));
	p = answer(peer, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, tell(peer, &p, NULL));
	KUNIT_EXPECT_EQ(test, 0, find(peer, 8, 0, 0));
	KUNIT_EXPECT_EQ(test, -EACCES, find(peer, 8, 0, 1));
}

/* ---- refusals ---- */

static void refused_to_who_has_asked(struct kunit *test)
{
	static const struct {
		u16 status;
		int ret;
	} cases[] = {
		{ EACCES, -EACCES },
		{ ENOMEM, -ENOMEM },
		{ MAX_ERRNO - 1, -(MAX_ERRNO - 1) },
		{ MAX_ERRNO, -EREMOTEIO },
		{ 0xffff, -EREMOTEIO },
	};
	struct peer *peer = peer_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));
		KUNIT_EXPECT_EQ(test, i + 1, peer->packets);
		refuse(peer, cases[i].status);
		KUNIT_EXPECT_EQ(test, 0, peer->conn.requests);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret, find(peer, 7, 0, 1), "status %u", cases[i].status);
	}
	/* It has changed meanwhile: no refusal, ask again, but not at once. */
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));
	refuse(peer, EAGAIN);
	i = peer->packets;
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));
	KUNIT_EXPECT_EQ(test, i, peer->packets);
	peer->conn.asks_later = false;
	learn(peer, 7, 10);
}

static void expect_bogus(struct peer *peer, const struct kvw_packet *p, const struct kvw_desc *descs, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(peer->test, -EPROTO, tell(peer, p, descs), "%s", what);
}

/* Answers to nothing: what is asked for stays so. */
static void answers_to_nothing(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	struct kvw_desc d = desc(0, 100);
	struct kvw_packet p, good;

	learn(peer, 6, 100);
	p = answer(peer, 0, 100, 0, 1);
	expect_bogus(peer, &p, &d, "twice");
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));
	good = answer(peer, 0, 100, 0, 1);
	p = good;
	p.gen++;
	expect_bogus(peer, &p, &d, "another generation");
	p = good;
	p.id = KV_KEYS;
	expect_bogus(peer, &p, &d, "no such place");
	p.id = U32_MAX;
	expect_bogus(peer, &p, &d, "no such place by far");
	p.id = (good.id + 1) % KV_KEYS;
	expect_bogus(peer, &p, &d, "nothing was asked for there");
	KUNIT_EXPECT_EQ(test, 1, peer->conn.requests);
	KUNIT_EXPECT_EQ(test, 0, tell(peer, &good, &d));
	KUNIT_EXPECT_EQ(test, 0, find(peer, 7, 0, 100));
}

/* Answers that no region has: @first, then descriptors. */
static void answers_that_cannot_be(struct kunit *test)
{
	struct kvw_desc descs[KV_DESCS + 1];
	struct peer *peer;
	unsigned int i;

#define BOGUS(n, what, ...)							\
	do {									\
		struct kvw_packet __p;						\
										\
		for (i = 0; i < ARRAY_SIZE(descs); i++)				\
			descs[i] = desc(i, 1);					\
		peer = peer_new(test);						\
		KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));		\
		__p = answer(peer, 0, 100, 0, n);				\
		__VA_ARGS__;							\
		expect_bogus(peer, &__p, descs, what);				\
	} while (0)

	BOGUS(KV_DESCS + 1, "more than we have room for");
	BOGUS(0xffff, "far more");
	BOGUS(0, "nothing of something");
	BOGUS(1, "a window behind the end", __p.data = 101);
	BOGUS(1, "a window far behind the end", __p.data = ~0ULL);
	BOGUS(1, "bytes at the end", __p.data = 100);
	BOGUS(1, "longer than the region", descs[0] = desc(0, 101));
	BOGUS(1, "longer than all that is", descs[0] = desc(0, ~0ULL));
	BOGUS(2, "longer together", descs[0] = desc(0, 60), descs[1] = desc(1, 41));
	BOGUS(2, "so long together that it wraps", descs[0] = desc(0, 60), descs[1] = desc(1, ~0ULL - 59));
	BOGUS(2, "an empty piece", descs[1] = desc(1, 0));
	BOGUS(1, "no key of a device", descs[0].key = cpu_to_le64(1ULL << 32));
#undef BOGUS
}

/* ---- forgetting ---- */

static void ageing(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	struct kvw_desc d = desc(0, 10);
	struct kvw_packet p;

	learn(peer, 1, 10);
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 2, 0, 1));
	refuse(peer, EACCES);
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 3, 0, 1));
	p = answer(peer, 0, 10, 0, 1);
	kv_keys_age(&peer->conn, 0);
	KUNIT_EXPECT_TRUE(test, knows(peer, 1));
	kv_keys_age(&peer->conn, 1);
	KUNIT_EXPECT_FALSE(test, knows(peer, 1));
	/* Who has asked still hears what became of it. */
	KUNIT_EXPECT_EQ(test, -EACCES, find(peer, 2, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, tell(peer, &p, &d));
	KUNIT_EXPECT_EQ(test, 0, find(peer, 3, 0, 1));
	learn(peer, 1, 10);
	kv_keys_age(&peer->conn, 1);
	KUNIT_EXPECT_TRUE(test, knows(peer, 1));
	kv_keys_age(&peer->conn, 0);	/* another one is another one */
	KUNIT_EXPECT_FALSE(test, knows(peer, 1));
}

static unsigned int known(struct peer *peer, u64 from, unsigned int n)
{
	unsigned int count = 0;

	while (n--)
		count += knows(peer, from + n);
	return count;
}

/* One more than there is room for costs one. */
static void a_full_table_forgets_one(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	u64 key;

	for (key = 0; key < KV_KEYS; key++)
		learn(peer, key, 10);
	KUNIT_EXPECT_EQ(test, KV_KEYS, known(peer, 0, KV_KEYS));
	KUNIT_EXPECT_EQ(test, KV_KEYS, peer->packets);
	learn(peer, 100, 10);
	KUNIT_EXPECT_EQ(test, KV_KEYS - 1, known(peer, 0, KV_KEYS));
	KUNIT_EXPECT_TRUE(test, knows(peer, 100));
}

/* Room is made in turn: none stays for ever. */
static void the_oldest_are_forgotten(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	u64 key;

	for (key = 0; key < KV_KEYS; key++)
		learn(peer, key, 10);
	for (key = 100; key < 100 + KV_KEYS; key++)
		learn(peer, key, 10);
	KUNIT_EXPECT_EQ(test, KV_KEYS, known(peer, 100, KV_KEYS));
	KUNIT_EXPECT_EQ(test, 0, known(peer, 0, KV_KEYS));
}

/* As long as there is an empty place nothing is forgotten. */
static void empty_places_come_first(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	u64 key;

	for (key = 0; key < KV_KEYS; key++)
		learn(peer, key, 10);
	KUNIT_ASSERT_EQ(test, 1, kv_key_rkey(&peer->conn, KV_KEYS / 2));
	learn(peer, 100, 10);
	KUNIT_EXPECT_EQ(test, KV_KEYS - 1, known(peer, 0, KV_KEYS));
	KUNIT_EXPECT_TRUE(test, knows(peer, 100));
}

/* What is asked for is not forgotten: its answer comes to the same place. */
static void questions_keep_their_places(struct kunit *test)
{
	struct peer *peer = peer_new(test);
	u64 key;

	for (key = 0; key < KV_KEYS; key++)
		KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, key, 0, 1));
	KUNIT_EXPECT_EQ(test, -EAGAIN, find(peer, 100, 0, 1));
	KUNIT_EXPECT_EQ(test, KV_KEYS, peer->packets);
	KUNIT_EXPECT_EQ(test, KV_KEYS, peer->conn.requests);
	KUNIT_EXPECT_EQ(test, KV_KEYS, peer->conn.credit_tx[KVW_CLS_CTL].used);
	refuse(peer, EACCES);
	KUNIT_EXPECT_EQ(test, -EACCES, find(peer, KV_KEYS - 1, 0, 1));
	learn(peer, 100, 10);
	KUNIT_EXPECT_EQ(test, KV_KEYS - 1, known(peer, 0, KV_KEYS));
}

/* The device's key, for a message that invalidates it: only if it is the region's one and only, and only once. */
static void keys_for_one_use(struct kunit *test)
{
	struct kvw_desc descs[] = { desc(4, 60), desc(5, 40) };
	struct peer *peer = peer_new(test);
	struct kvw_packet p;

	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 7));
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 7, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 7));
	p = answer(peer, 0, 60, 0, 1);
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, descs));
	KUNIT_EXPECT_EQ(test, 5, kv_key_rkey(&peer->conn, 7));
	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 7));
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 8, 0, 1));
	p = answer(peer, 0, 100, 0, 2);
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, descs));
	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 8));
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 9, 0, 1));
	p = answer(peer, 0, 100, 0, 1);	/* a window of it */
	KUNIT_ASSERT_EQ(test, 0, tell(peer, &p, descs));
	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 9));
	KUNIT_ASSERT_EQ(test, -EAGAIN, find(peer, 10, 0, 1));
	refuse(peer, EACCES);
	KUNIT_EXPECT_EQ(test, 0, kv_key_rkey(&peer->conn, 10));
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(asked_for_once),
	KUNIT_CASE(asked_for_later),
	KUNIT_CASE(within_its_bounds),
	KUNIT_CASE(windows),
	KUNIT_CASE(nothing_at_the_end),
	KUNIT_CASE(refused_to_who_has_asked),
	KUNIT_CASE(answers_to_nothing),
	KUNIT_CASE(answers_that_cannot_be),
	KUNIT_CASE(ageing),
	KUNIT_CASE(a_full_table_forgets_one),
	KUNIT_CASE(the_oldest_are_forgotten),
	KUNIT_CASE(empty_places_come_first),
	KUNIT_CASE(questions_keep_their_places),
	KUNIT_CASE(keys_for_one_use),
	{}
};

static struct kunit_suite key_suite = {
	.name = "kfi_verbs_key",
	.test_cases = key_cases,
};
kunit_test_suite(key_suite);
