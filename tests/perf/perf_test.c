// SPDX-License-Identifier: GPL-2.0
/*
 * perf_test.c - does the tester find faults? Patterns, control messages and quantiles, without a
 * transport.
 */
#include <linux/module.h>
#include <linux/random.h>

#include "../../ulps/perf/buf.c"
#include "../../ulps/perf/proto.c"
#include "../../ulps/perf/samples.c"
#include "../kunit/suite.h"

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
			  perf_buf_alloc(NULL, PERF_IOV_MAX * PERF_CHUNK_MAX + 1, KFI_PERF_MEM_PAGES));
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

static void refuses_bad_hellos(struct kunit *test)
{
	static const struct {
		size_t	at;
		u8	byte;
	} faults[] = {
		{ 0, 0 }, { 5, 0 }, { 5, 99 }, { 6, 1 },
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

/* A client of later versions gets an answer, and one that speaks this version, too, is served. */
static void agrees_on_versions(struct kunit *test)
{
	struct perf_wire_hello *hello;
	struct perf_ctl got;
	u8 buf[PERF_CTL_MAX];
	size_t len = perf_encode(&a_hello, buf);

	hello = (void *)buf;
	hello->hdr.version = PERF_VERSION + 1;
	KUNIT_EXPECT_EQ(test, perf_decode(buf, len, &got), -EPROTONOSUPPORT);
	KUNIT_EXPECT_EQ(test, got.addrlen, a_hello.addrlen);
	hello->flags |= 1 << 4;
	KUNIT_EXPECT_EQ(test, perf_decode(buf, len, &got), 0);
	KUNIT_EXPECT_EQ(test, got.version, PERF_VERSION);
	hello->hdr.version = PERF_VERSION_MIN - 1;
	KUNIT_EXPECT_EQ(test, perf_decode(buf, len, &got), -EPROTONOSUPPORT);
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

KFI_SUITE(kfi_perf,
	KUNIT_CASE(pattern_notices_each_byte),
	KUNIT_CASE(pattern_spans_chunks),
	KUNIT_CASE(pattern_notices_other_message),
	KUNIT_CASE(vector_is_the_buffer),
	KUNIT_CASE(refuses_bad_hellos),
	KUNIT_CASE(agrees_on_versions),
	KUNIT_CASE(decodes_noise),
	KUNIT_CASE(quantiles_are_exact));

MODULE_DESCRIPTION("kfabric: unit tests of kfi_perf");
MODULE_LICENSE("GPL");
