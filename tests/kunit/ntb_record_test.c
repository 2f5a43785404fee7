// SPDX-License-Identifier: GPL-2.0
/*
 * Records of connections of kfi_ntb: what is encoded is decoded, and what no peer says is refused.
 */
#include <kunit/test.h>
#include "../../providers/ntb/record.c"

static const struct ntw_calling call = {
	.number = 0x12345678, .from = 0x10001, .to = 77, .bridge = 9, .window = 65536,
};

static void record_call(struct kunit *test)
{
	struct ntw_calling c;
	struct ntw_call body;
	struct ntw_rec rec;

	ntw_encode_call(&call, &rec, &body);
	KUNIT_EXPECT_EQ(test, rec.type, NTW_CALL);
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), 0);
	KUNIT_EXPECT_MEMEQ(test, &c, &call, sizeof(c));
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body) + 1, &c), -EPROTO);
	rec.conn = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTO);
}

/* Each of these is refused, and nothing else about the call is wrong. */
static void record_call_invalid(struct kunit *test)
{
	static const struct ntw_calling wrong[] = {
		{ .number = 0, .to = 1, .window = NTW_WINDOW_MIN },
		{ .number = 1, .to = 0, .window = NTW_WINDOW_MIN },
		{ .number = 1, .to = 1U << 31, .window = NTW_WINDOW_MIN },
		{ .number = 1, .to = 1, .from = 1U << 31, .window = NTW_WINDOW_MIN },
		{ .number = 1, .to = 1, .window = NTW_WINDOW_MIN - 1 },
		{ .number = 1, .to = 1, .window = NTW_WINDOW_MAX + 1 },
	};
	struct ntw_calling c;
	struct ntw_call body;
	struct ntw_rec rec;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		ntw_encode_call(&wrong[i], &rec, &body);
		KUNIT_EXPECT_EQ_MSG(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTO,
				    "call %u", i);
	}
	ntw_encode_call(&call, &rec, &body);
	body.zero = cpu_to_le16(1);
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTO);
}

/* Another version is refused with an answer, for which the number has to be known. */
static void record_call_version(struct kunit *test)
{
	struct ntw_calling c = {};
	struct ntw_call body;
	struct ntw_rec rec;

	ntw_encode_call(&call, &rec, &body);
	body.version = NTW_CONN_VERSION + 1;
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), 0);
	body.version_min = NTW_CONN_VERSION + 1;
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTONOSUPPORT);
	KUNIT_EXPECT_EQ(test, c.number, call.number);
	body.version = NTW_CONN_VERSION_MIN - 1;
	body.version_min = 0;
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTONOSUPPORT);
	body.version_min = 1;
	KUNIT_EXPECT_EQ(test, ntw_decode_call(&rec, &body, sizeof(body), &c), -EPROTO);
}

static void record_answer(struct kunit *test)
{
	struct ntw_calling yes = { .number = 5, .window = 4096 }, no = { .status = 111 }, c;
	struct ntw_answer body;
	struct ntw_rec rec;

	ntw_encode_answer(&yes, 3, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_answer(&rec, &body, sizeof(body), &c), 0);
	KUNIT_EXPECT_MEMEQ(test, &c, &yes, sizeof(c));
	body.window = cpu_to_le32(NTW_WINDOW_MAX + 1);
	KUNIT_EXPECT_EQ(test, ntw_decode_answer(&rec, &body, sizeof(body), &c), -EPROTO);
	ntw_encode_answer(&no, 3, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_answer(&rec, &body, sizeof(body), &c), 0);
	KUNIT_EXPECT_EQ(test, c.status, 111U);
	body.number = cpu_to_le32(5);		/* a refusal has no connection */
	KUNIT_EXPECT_EQ(test, ntw_decode_answer(&rec, &body, sizeof(body), &c), -EPROTO);
	ntw_encode_answer(&yes, 0, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_answer(&rec, &body, sizeof(body), &c), -EPROTO);
}

static void record_data(struct kunit *test)
{
	struct ntw_piece piece;
	struct ntw_data body;
	struct ntw_rec rec;

	ntw_encode_data(0xfffffff0, 0x10, 3, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_data(&rec, &body, NULL, sizeof(body) + 100, &piece), 0);
	KUNIT_EXPECT_EQ(test, piece.pos, 0xfffffff0U);
	KUNIT_EXPECT_EQ(test, piece.limit, 0x10U);
	KUNIT_EXPECT_EQ(test, piece.len, 100U);
	KUNIT_EXPECT_EQ(test, ntw_decode_data(&rec, &body, NULL, sizeof(body) - 1, &piece),
			-EPROTO);
	rec.bits = cpu_to_le16(0x8000);
	KUNIT_EXPECT_EQ(test, ntw_decode_data(&rec, &body, NULL, sizeof(body), &piece), -EPROTO);
	ntw_encode_data(0, 0, 0, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_data(&rec, &body, NULL, sizeof(body), &piece), -EPROTO);
}

static void record_close(struct kunit *test)
{
	struct ntw_rec rec;

	ntw_encode_close(NTW_C_ABORT, 3, &rec);
	KUNIT_EXPECT_EQ(test, ntw_decode_close(&rec, 0), 0);
	KUNIT_EXPECT_EQ(test, ntw_decode_close(&rec, 1), -EPROTO);
	rec.bits = cpu_to_le16(~NTW_C_BITS);
	KUNIT_EXPECT_EQ(test, ntw_decode_close(&rec, 0), -EPROTO);
	ntw_encode_close(0, 0, &rec);
	KUNIT_EXPECT_EQ(test, ntw_decode_close(&rec, 0), -EPROTO);
}

static void record_kin(struct kunit *test)
{
	struct ntw_kin body;
	struct ntw_rec rec;
	u32 bridge;
	u64 host;

	ntw_encode_kin(0x1122334455667788, 7, &rec, &body);
	KUNIT_EXPECT_EQ(test, ntw_decode_kin(&rec, &body, sizeof(body), &host, &bridge), 0);
	KUNIT_EXPECT_EQ(test, host, 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, bridge, 7U);
	KUNIT_EXPECT_EQ(test, ntw_decode_kin(&rec, &body, sizeof(body) - 1, &host, &bridge),
			-EPROTO);
	body.bridge = 0;
	KUNIT_EXPECT_EQ(test, ntw_decode_kin(&rec, &body, sizeof(body), &host, &bridge), -EPROTO);
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_call),
	KUNIT_CASE(record_call_invalid),
	KUNIT_CASE(record_call_version),
	KUNIT_CASE(record_answer),
	KUNIT_CASE(record_data),
	KUNIT_CASE(record_close),
	KUNIT_CASE(record_kin),
	{}
};

static struct kunit_suite record_suite = {
	.name = "kfi_ntb_record",
	.test_cases = record_cases,
};
kunit_test_suite(record_suite);
