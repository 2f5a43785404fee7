// SPDX-License-Identifier: GPL-2.0
/*
 * perf_test.c - does the tester find faults? Patterns, control messages and quantiles, without a
 * transport.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/random.h>

#include "buf.c"
#include "proto.c"
#include "samples.c"

/* ---- patterns ---- */

static struct perf_buf *get_buf(struct kunit *test, size_t len, u8 mem)
{
	struct perf_buf *buf = perf_buf_alloc(NULL, len, mem);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	return buf;
}

static u8 *byte_at(struct perf_buf *buf, size_t at)
{
	u8 *p;

	piece(buf, at, 1, &p);
	return p;
}

static void pattern_notices_each_byte(struct kunit *test)
{
	struct perf_buf *buf = get_buf(test, 77, KFI_PERF_MEM_KVEC);
	size_t i;

	KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 77, 1));
	perf_fill(buf, 0, 77, 1);
	KUNIT_EXPECT_TRUE(test, perf_check(buf, 0, 77, 1));
	for (i = 0; i < 77; i++) {
		*byte_at(buf, i) ^= 1 << (i % 8);
		KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 77, 1));
		*byte_at(buf, i) ^= 1 << (i % 8);
	}
	KUNIT_EXPECT_TRUE(test, perf_check(buf, 0, 77, 1));
	perf_buf_free(buf);
}

static void pattern_spans_chunks(struct kunit *test)
{
	size_t len = 2 * PERF_CHUNK + 100, at;
	struct perf_buf *buf = get_buf(test, len, KFI_PERF_MEM_PAGES);
	static const size_t probes[] = { 0, PERF_CHUNK - 1, PERF_CHUNK, 2 * PERF_CHUNK + 99 };
	int i;

	perf_fill(buf, 0, len, 5);
	KUNIT_EXPECT_TRUE(test, perf_check(buf, 0, len, 5));
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		at = probes[i];
		*byte_at(buf, at) ^= 0x80;
		KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, len, 5));
		*byte_at(buf, at) ^= 0x80;
	}
	/* The bytes do not depend on the chunks. */
	KUNIT_EXPECT_FALSE(test, perf_check(buf, 64, len - 64, 5));
	perf_buf_free(buf);
}

static void pattern_notices_other_message(struct kunit *test)
{
	struct perf_buf *buf = get_buf(test, 64, KFI_PERF_MEM_KVEC);
	u64 seq;

	for (seq = 1; seq < 100; seq++) {
		perf_fill(buf, 0, 64, perf_seed(7, seq));
		KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 64, perf_seed(7, seq - 1)));
		KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 64, perf_seed(8, seq)));
		KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 8, perf_seed(7, seq + 1)));
	}
	perf_buf_free(buf);
}

static void wipe_leaves_nothing(struct kunit *test)
{
	struct perf_buf *buf = get_buf(test, 256, KFI_PERF_MEM_KVEC);

	perf_fill(buf, 0, 256, 3);
	perf_wipe(buf, 128, 64);
	KUNIT_EXPECT_TRUE(test, perf_check(buf, 0, 128, 3));
	KUNIT_EXPECT_FALSE(test, perf_check(buf, 0, 192, 3));
	perf_buf_free(buf);
}

static void vector_is_the_buffer(struct kunit *test)
{
	size_t len = PERF_CHUNK + 1000;
	struct perf_buf *buf = get_buf(test, len, KFI_PERF_MEM_PAGES);
	struct perf_vec *vec = kunit_kzalloc(test, sizeof(*vec), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, vec);
	perf_buf_vec(buf, len, vec);
	KUNIT_EXPECT_EQ(test, vec->type, KFI_BVEC);
	KUNIT_EXPECT_EQ(test, vec->count, 2);
	KUNIT_EXPECT_EQ(test, vec->bvec[0].bv_len + vec->bvec[1].bv_len, len);
	perf_buf_vec(buf, 10, vec);
	KUNIT_EXPECT_EQ(test, vec->count, 1);
	KUNIT_EXPECT_EQ(test, vec->bvec[0].bv_len, 10);
	perf_buf_free(buf);
	KUNIT_EXPECT_NULL(test,
			  perf_buf_alloc(NULL, PERF_IOV_MAX * PERF_CHUNK + 1, KFI_PERF_MEM_PAGES));
}

/* ---- control messages ---- */

static const struct perf_ctl a_hello = {
	.type = PERF_HELLO,
	.hello = {
		.op = KFI_PERF_WRITE, .mode = KFI_PERF_BANDWIDTH, .wait = KFI_PERF_WAIT_SOFTIRQ,
		.mem = KFI_PERF_MEM_KVEC, .verify = true, .size = 12345, .depth = 17,
		.seed = 0x0123456789abcdefULL, .timeout_ms = 4000,
	},
	.addrlen = 3,
	.addr = { 1, 2, 3 },
};

static void hello_survives(struct kunit *test)
{
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX];
	size_t len = perf_encode(&a_hello, buf);

	KUNIT_ASSERT_EQ(test, perf_decode(buf, len, &got), 0);
	KUNIT_EXPECT_EQ(test, got.hello.op, a_hello.hello.op);
	KUNIT_EXPECT_EQ(test, got.hello.mode, a_hello.hello.mode);
	KUNIT_EXPECT_EQ(test, got.hello.wait, a_hello.hello.wait);
	KUNIT_EXPECT_EQ(test, got.hello.mem, a_hello.hello.mem);
	KUNIT_EXPECT_TRUE(test, got.hello.verify);
	KUNIT_EXPECT_EQ(test, got.hello.size, a_hello.hello.size);
	KUNIT_EXPECT_EQ(test, got.hello.depth, a_hello.hello.depth);
	KUNIT_EXPECT_EQ(test, got.hello.seed, a_hello.hello.seed);
	KUNIT_EXPECT_EQ(test, got.hello.timeout_ms, a_hello.hello.timeout_ms);
	KUNIT_EXPECT_EQ(test, got.addrlen, 3);
	KUNIT_EXPECT_EQ(test, memcmp(got.addr, a_hello.addr, 3), 0);
}

static void others_survive(struct kunit *test)
{
	struct perf_ctl ctl = { .type = PERF_WELCOME, .status = 111, .base = 1ULL << 40, .key = 9 };
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX];

	KUNIT_ASSERT_EQ(test, perf_decode(buf, perf_encode(&ctl, buf), &got), 0);
	KUNIT_EXPECT_EQ(test, got.status, 111);
	KUNIT_EXPECT_EQ(test, got.base, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, got.key, 9);
	ctl = (struct perf_ctl){ .type = PERF_CHECKED, .seq = 5, .count = 6, .errors = 7 };
	KUNIT_ASSERT_EQ(test, perf_decode(buf, perf_encode(&ctl, buf), &got), 0);
	KUNIT_EXPECT_EQ(test, got.type, PERF_CHECKED);
	KUNIT_EXPECT_EQ(test, got.seq, 5);
	KUNIT_EXPECT_EQ(test, got.count, 6);
	KUNIT_EXPECT_EQ(test, got.errors, 7);
	ctl = (struct perf_ctl){ .type = PERF_BYE };
	KUNIT_EXPECT_EQ(test, perf_decode(buf, perf_encode(&ctl, buf), &got), 0);
}

static void refuses_every_other_length(struct kunit *test)
{
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX + 1] = {};
	size_t len = perf_encode(&a_hello, buf), i;

	for (i = 0; i <= sizeof(buf); i++)
		KUNIT_EXPECT_EQ(test, perf_decode(buf, i, &got), i == len ? 0 : -EPROTO);
}

static void refuses_bad_hellos(struct kunit *test)
{
	static const struct {
		size_t	at;
		u8	byte;
	} faults[] = {
		{ 0, 0 }, { 4, PERF_VERSION + 1 }, { 5, 0 }, { 5, 99 }, { 6, 1 },
		{ offsetof(struct perf_wire_hello, op), __KFI_PERF_OP_MAX },
		{ offsetof(struct perf_wire_hello, mode), __KFI_PERF_MODE_MAX },
		{ offsetof(struct perf_wire_hello, wait), __KFI_PERF_WAIT_MAX },
		{ offsetof(struct perf_wire_hello, mem), __KFI_PERF_MEM_MAX },
		{ offsetof(struct perf_wire_hello, flags), 2 },
		{ offsetof(struct perf_wire_hello, size) + 3, 0xff },
		{ offsetof(struct perf_wire_hello, depth) + 1, 0xff },
		{ offsetof(struct perf_wire_hello, addrlen), 4 },
	};
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX];
	size_t len;
	int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		len = perf_encode(&a_hello, buf);
		buf[faults[i].at] = faults[i].byte;
		KUNIT_EXPECT_EQ_MSG(test, perf_decode(buf, len, &got), -EPROTO, "fault %d", i);
	}
}

static void decodes_noise(struct kunit *test)
{
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX];
	int i;

	for (i = 0; i < 20000; i++) {
		perf_encode(&a_hello, buf);
		buf[get_random_u32() % 60] = get_random_u8();
		buf[get_random_u32() % 60] = get_random_u8();
		if (perf_decode(buf, get_random_u32() % (PERF_CTL_MAX + 1), &got))
			continue;
		KUNIT_EXPECT_LE(test, got.addrlen, PERF_ADDR_MAX);
		KUNIT_EXPECT_LT(test, got.hello.op, __KFI_PERF_OP_MAX);
	}
}

/* ---- samples ---- */

static void quantiles_are_exact(struct kunit *test)
{
	struct perf_samples s;
	u32 i;

	KUNIT_ASSERT_EQ(test, perf_samples_init(&s, 1001), 0);
	for (i = 0; i <= 1000; i++)
		perf_samples_add(&s, (i * 617) % 1001);
	perf_samples_sort(&s);
	KUNIT_EXPECT_EQ(test, s.min, 0);
	KUNIT_EXPECT_EQ(test, s.max, 1000);
	KUNIT_EXPECT_EQ(test, perf_samples_at(&s, 500), 500);
	KUNIT_EXPECT_EQ(test, perf_samples_at(&s, 990), 990);
	perf_samples_free(&s);
}

static void expect_near(struct kunit *test, u32 value, u32 expected, u32 off)
{
	KUNIT_EXPECT_GE(test, value, expected - off);
	KUNIT_EXPECT_LE(test, value, expected + off);
}

static void long_runs_are_sampled_evenly(struct kunit *test)
{
	struct perf_samples s;
	u32 i, n = 4 * SAMPLES_MAX;

	KUNIT_ASSERT_EQ(test, perf_samples_init(&s, U64_MAX), 0);
	for (i = 0; i < n; i++)
		perf_samples_add(&s, i);
	perf_samples_add(&s, 1ULL << 40);
	perf_samples_sort(&s);
	KUNIT_EXPECT_EQ(test, s.max, U32_MAX);
	/* Off by 1% would be 20 standard deviations. */
	expect_near(test, perf_samples_at(&s, 500), n / 2, n / 100);
	expect_near(test, perf_samples_at(&s, 990), n / 100 * 99, n / 100);
	perf_samples_free(&s);
}

static struct kunit_case perf_cases[] = {
	KUNIT_CASE(pattern_notices_each_byte),
	KUNIT_CASE(pattern_spans_chunks),
	KUNIT_CASE(pattern_notices_other_message),
	KUNIT_CASE(wipe_leaves_nothing),
	KUNIT_CASE(vector_is_the_buffer),
	KUNIT_CASE(hello_survives),
	KUNIT_CASE(others_survive),
	KUNIT_CASE(refuses_every_other_length),
	KUNIT_CASE(refuses_bad_hellos),
	KUNIT_CASE(decodes_noise),
	KUNIT_CASE(quantiles_are_exact),
	KUNIT_CASE(long_runs_are_sampled_evenly),
	{}
};

static struct kunit_suite perf_suite = {
	.name		= "kfi_perf",
	.test_cases	= perf_cases,
};
kunit_test_suite(perf_suite);

MODULE_DESCRIPTION("kfabric: unit tests of kfi_perf");
MODULE_LICENSE("GPL");
