// SPDX-License-Identifier: GPL-2.0
/*
 * What endpoints of kfi_ntb say to each other: what one side encodes the other decodes, and what no side says is refused. The fuzzer looks for
 * the rest (tests/fuzz). The source is compiled into this module: a provider exports nothing.
 */
#include <kunit/test.h>
#include "../../providers/ntb/record.c"

#define EAGER	4096U
#define HDR	((u32)sizeof(struct ntw_hdr))
#define SEG	((u32)sizeof(struct ntw_seg))
#define SPOT	((u32)sizeof(struct ntw_spot))

static struct ntw_frame full_frame(u8 type, u16 bits, u64 len)
{
	return (struct ntw_frame) {
		.type = type, .bits = bits, .conn = 0x12345678, .id = 0x23456789, .gen = 0x3456789a, .slot = 0x456789ab,
		.credit = { 0x1111, 0x2222, 0xfffe }, .status = 0x1234, .op = 3, .datatype = 7,
		.len = len, .tag = 0x0123456789abcdefULL, .data = 0xfedcba9876543210ULL,
		.crc = 0x56789abc,
	};
}

/* As a record with @rest bytes behind header, segments and spots. */
static int try_frame(struct kunit *test, const struct ntw_frame *f, u32 rest)
{
	struct ntw_rec rec, rec2;
	struct ntw_hdr hdr, hdr2;
	struct ntw_frame back;
	int ret;

	ntw_encode(f, &rec, &hdr);
	ret = ntw_decode(&rec, &hdr, HDR + ntw_tail(f) + rest, EAGER, &back);
	if (ret)
		return ret;
	KUNIT_EXPECT_EQ(test, rest, back.payload);
	ntw_encode(&back, &rec2, &hdr2);
	KUNIT_EXPECT_MEMEQ(test, &rec, &rec2, sizeof(rec));
	KUNIT_EXPECT_MEMEQ(test, &hdr, &hdr2, sizeof(hdr));
	return 0;
}

#define TRY(type, bits, len, rest) ({						\
	struct ntw_frame _f = full_frame(type, bits, len);			\
	try_frame(test, &_f, rest); })
#define TRY_WITH(type, bits, len, rest, segs, spots) ({				\
	struct ntw_frame _f = full_frame(type, bits, len);			\
	_f.nsegs = segs; _f.nspots = spots;					\
	try_frame(test, &_f, rest); })

/* A message has all of its bytes, and no more than may have to wait. */
static void messages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_MSG, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_MSG, NTW_F_TAGGED | NTW_F_CQ_DATA | NTW_F_ACK, EAGER, EAGER));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_MSG, 0, EAGER + 1, EAGER + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_MSG, 0, 8, 7));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_MSG, 0, 8, 9));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_MSG, NTW_F_LAST, 8, 8));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_RTS, 0, NTW_LEN_MAX, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_RTS, 0, NTW_LEN_MAX + 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_RTS, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_RTS, NTW_F_RMA, 8, 0));		/* of which receive? */
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_RTS, NTW_F_RMA | NTW_F_TAGGED, 8, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_TREAD, NTW_F_RMA | NTW_F_TAGGED, 8, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_TREAD, NTW_F_TAGGED, 8, 0));
}

/* The key that is to be invalidated is a segment, and nothing else of a message is. */
static void segments_of_messages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_MSG, NTW_F_INV, 8, 8, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_MSG, NTW_F_INV, 8, 8, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_MSG, NTW_F_INV, 8, 8, 2, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_MSG, 0, 8, 8, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_ACK, 0, 0, 0, 1, 0));
}

static void writes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_WRITE, NTW_F_LAST, 100, 100, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_WRITE, 0, 100, 99, NTW_SEGS_MAX, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_WRITE, 0, 100, 0, NTW_SEGS_MAX, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_LAST, 100, 99, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, 0, 100, 100, 1, 0));		/* all, and not the last */
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_LAST, 100, 100, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_LAST, 100, 100, NTW_SEGS_MAX + 1, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_WRITE, NTW_F_ASK, 100, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_ASK, 100, 1, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_ASK, 0, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_ASK | NTW_F_LAST, 100, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_MORE, NTW_F_LAST, 0, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_MORE, NTW_F_LAST, 0, 0));
}

/* Spots are where somebody lends memory, and nowhere else; what was put there has no bytes in the record. */
static void spots(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_CTS, 0, 100, 0, 0, NTW_SPOTS_MAX));
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_READ, 0, 100, 0, NTW_SEGS_MAX, NTW_SPOTS_MAX));
	KUNIT_EXPECT_EQ(test, 0, TRY_WITH(NTW_TREAD, NTW_F_RMA | NTW_F_TAGGED, 100, 0, 0, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_CTS, 0, 100, 0, 0, NTW_SPOTS_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_WRITE, NTW_F_LAST, 100, 100, 1, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY_WITH(NTW_MSG, 0, 8, 8, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_DATA, NTW_F_PLACED, 100, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_READ_DATA, NTW_F_PLACED | NTW_F_LAST, 100, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_DATA, NTW_F_PLACED, 100, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_DATA, NTW_F_PLACED, 0, 0));
	KUNIT_EXPECT_EQ(test, 0, TRY(NTW_DATA, NTW_F_LAST, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_DATA, 0, 0, 0));
}

/* A record that announces placed payload has a CRC and no tag. Others have a tag. */
static void crc_of_placed(struct kunit *test)
{
	struct ntw_frame f = full_frame(NTW_DATA, NTW_F_PLACED, 100), back;
	struct ntw_rec rec;
	struct ntw_hdr hdr;

	ntw_encode(&f, &rec, &hdr);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode(&rec, &hdr, HDR, EAGER, &back));
	KUNIT_EXPECT_EQ(test, f.crc, back.crc);
	KUNIT_EXPECT_EQ(test, 0ULL, back.tag);
	hdr.zero = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode(&rec, &hdr, HDR, EAGER, &back));
	f = full_frame(NTW_RTS, NTW_F_TAGGED, 100);
	ntw_encode(&f, &rec, &hdr);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode(&rec, &hdr, HDR, EAGER, &back));
	KUNIT_EXPECT_EQ(test, f.tag, back.tag);
	KUNIT_EXPECT_EQ(test, 0U, back.crc);
}

static int try_atomic(struct kunit *test, u16 bits, u8 op, u64 len, u32 rest)
{
	struct ntw_frame f = full_frame(NTW_ATOMIC, bits, len);

	f.nsegs = 1;
	f.op = op;
	return try_frame(test, &f, rest);
}

static void atomics(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, try_atomic(test, 0, 3, 16, 16));
	KUNIT_EXPECT_EQ(test, 0, try_atomic(test, NTW_F_FETCH, 3, NTW_ATOMIC_MAX, NTW_ATOMIC_MAX));
	KUNIT_EXPECT_EQ(test, 0, try_atomic(test, NTW_F_COMPARE, 12, 16, 32));
	KUNIT_EXPECT_EQ(test, 0, try_atomic(test, NTW_F_FETCH, NTW_OP_READ, 16, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, 0, NTW_OP_READ, 16, 0));		/* for nobody */
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, NTW_F_COMPARE, 12, 16, 16));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, NTW_F_COMPARE | NTW_F_FETCH, 12, 16, 32));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, NTW_F_FETCH | NTW_F_COMMIT, 3, 16, 16));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, NTW_F_FETCH | NTW_F_CQ_DATA, 3, 16, 16));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, 0, 3, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_atomic(test, 0, 3, NTW_ATOMIC_MAX + 1, NTW_ATOMIC_MAX + 1));
}

/* What is no record of a connection, and one that is shorter than it says. */
static void no_records(struct kunit *test)
{
	struct ntw_frame f = full_frame(NTW_ACK, 0, 0), back;
	struct ntw_rec rec;
	struct ntw_hdr hdr;
	u32 type;

	for (type = 0; type < NTW_MSG; type++)
		KUNIT_EXPECT_EQ(test, -EPROTO, TRY(type, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_KIN, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(NTW_SAYS, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, TRY(255, 0, 0, 0));
	ntw_encode(&f, &rec, &hdr);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode(&rec, &hdr, HDR, EAGER, &back));
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode(&rec, &hdr, HDR - 1, EAGER, &back));
	f = full_frame(NTW_FLUSH, 0, 0);
	f.nsegs = 2;
	ntw_encode(&f, &rec, &hdr);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode(&rec, &hdr, HDR + 2 * SEG, EAGER, &back));
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode(&rec, &hdr, HDR + 2 * SEG - 1, EAGER, &back));
	f = full_frame(NTW_CTS, 0, 16);
	f.nspots = 2;
	ntw_encode(&f, &rec, &hdr);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode(&rec, &hdr, HDR + 2 * SPOT - 1, EAGER, &back));
}

/* ---- the handshake ---- */

static struct ntw_calling full_calling(u8 type)
{
	bool keyed = type == NTW_CHALLENGE || type == NTW_PROOF;

	return (struct ntw_calling) {
		.type = type, .ep_type = 3, .auth = keyed, .window = { 1, NTW_WINDOW_MAX, 64 }, .eager = 4096, .src_ctx = 3,
		.dst_ctx = 5, .from = 0x11223344, .to = 0x55667788, .conn = 0x12345678, .incarnation = 1ULL << 63, .stream = 77,
		.known = 88, .bridge = type == NTW_HELLO ? 0x99aabbcc : 0, .status = type == NTW_REJECT ? 111 : 0,
	};
}

static int try_calling(struct kunit *test, const struct ntw_calling *c, int more)
{
	struct ntw_call call, call2;
	struct ntw_rec rec, rec2;
	struct ntw_calling back;
	int ret;

	ntw_encode_call(c, 0x4321, &rec, &call);
	ret = ntw_decode_call(&rec, &call, sizeof(call) + c->data_len + (c->auth ? NTW_AUTH_LEN : 0) + more, &back);
	if (ret)
		return ret;
	KUNIT_EXPECT_EQ(test, c->bridge, back.bridge);
	KUNIT_EXPECT_EQ(test, c->status, back.status);
	KUNIT_EXPECT_EQ(test, NTW_EP_VERSION, back.version);
	ntw_encode_call(&back, 0x4321, &rec2, &call2);
	KUNIT_EXPECT_MEMEQ(test, &rec, &rec2, sizeof(rec));
	KUNIT_EXPECT_MEMEQ(test, &call, &call2, sizeof(call));
	return 0;
}

static void calls(struct kunit *test)
{
	struct ntw_calling c;
	u8 type;

	for (type = NTW_HELLO; type <= NTW_PROOF; type++) {
		c = full_calling(type);
		KUNIT_EXPECT_EQ(test, 0, try_calling(test, &c, 0));
		KUNIT_EXPECT_EQ(test, -EPROTO, try_calling(test, &c, 1));
		KUNIT_EXPECT_EQ(test, -EPROTO, try_calling(test, &c, -1));
	}
#define WITH(_type, field, value) ({ c = full_calling(_type); c.field = (value); try_calling(test, &c, 0); })
	KUNIT_EXPECT_EQ(test, 0, WITH(NTW_HELLO, data_len, NTW_DATA_MAX));
	KUNIT_EXPECT_EQ(test, 0, WITH(NTW_HELLO, auth, true));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_HELLO, data_len, NTW_DATA_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_HELLO, conn, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_HELLO, incarnation, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_ACCEPT, eager, 63));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_ACCEPT, window[2], 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_ACCEPT, window[1], NTW_WINDOW_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_REJECT, auth, true));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_RINGING, data_len, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_CHALLENGE, auth, false));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(NTW_PROOF, data_len, 1));
#undef WITH
}

static void other_versions_of_calls(struct kunit *test)
{
	struct ntw_calling c = full_calling(NTW_HELLO), back;
	struct ntw_call call, old;
	struct ntw_rec rec;

	ntw_encode_call(&c, 0, &rec, &call);
	old = call;
	old.version = NTW_EP_VERSION_MIN;
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_call(&rec, &old, sizeof(old), &back));
	KUNIT_EXPECT_EQ(test, NTW_EP_VERSION_MIN, back.version);
	old.version = NTW_EP_VERSION + 1;
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_call(&rec, &old, sizeof(old), &back));
	KUNIT_EXPECT_EQ(test, NTW_EP_VERSION, back.version);
	old.version_min = NTW_EP_VERSION + 1;
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, ntw_decode_call(&rec, &old, sizeof(old), &back));
	old = call;
	old.version = NTW_EP_VERSION_MIN - 1;
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, ntw_decode_call(&rec, &old, sizeof(old), &back));
	old = call;
	old.features = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ntw_decode_call(&rec, &old, sizeof(old), &back));
	rec.bits = cpu_to_le16(1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ntw_decode_call(&rec, &call, sizeof(call), &back));
	rec = (struct ntw_rec) { .type = NTW_MSG };
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_call(&rec, &call, sizeof(call), &back));
}

/* ---- memory that is lent ---- */

static int try_spot(u64 at, u32 len, u32 window)
{
	struct ntw_spot spot = { .at = cpu_to_le64(at), .len = cpu_to_le32(len), .window = cpu_to_le32(window) }, again;
	u64 back_at;
	u32 back_len;
	int ret = ntw_decode_spot(&spot, &back_at, &back_len);

	if (ret)
		return ret;
	ntw_encode_spot(back_at, back_len, &again);
	return back_at == (at | (window ? NTW_FLAT : 0)) && back_len == len && !memcmp(&again, &spot, sizeof(spot)) ? 0 : -EIO;
}

static void spots_in_windows(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, try_spot(4096, 64, NTW_W_INBOUND));
	KUNIT_EXPECT_EQ(test, 0, try_spot(NTW_SIZE_MAX - 64, 64, NTW_W_INBOUND));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(NTW_SIZE_MAX - 64, 65, NTW_W_INBOUND));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(1ULL << 40, 64, NTW_W_INBOUND));
	KUNIT_EXPECT_EQ(test, 0, try_spot(0, U32_MAX, NTW_W_FLAT));
	KUNIT_EXPECT_EQ(test, 0, try_spot(NTW_FLAT_MAX - 64, 64, NTW_W_FLAT));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(NTW_FLAT_MAX - 64, 65, NTW_W_FLAT));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(U64_MAX - 7, 64, NTW_W_FLAT));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(NTW_FLAT | 4096, 64, NTW_W_INBOUND));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(NTW_FLAT | 4096, 64, NTW_W_FLAT));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_spot(4096, 64, NTW_W_FLAT + 1));
}

/* ---- machines ---- */

static void kin(struct kunit *test)
{
	struct ntw_kin one, other;
	struct ntw_rec rec;
	u64 host = 0;
	u32 bridge = 0;

	ntw_encode_kin(0x0123456789abcdefULL, 0xfedcba98, &rec, &one);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_kin(&rec, &one, sizeof(one), &host, &bridge));
	KUNIT_EXPECT_EQ(test, 0x0123456789abcdefULL, host);
	KUNIT_EXPECT_EQ(test, 0xfedcba98, bridge);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &one, sizeof(one) - 1, &host, &bridge));
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &one, sizeof(one) + 1, &host, &bridge));
	other = one;
	other.host = 0;
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &other, sizeof(one), &host, &bridge));
	other = one;
	other.bridge = 0;
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &other, sizeof(one), &host, &bridge));
	other = one;
	other.zero = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &other, sizeof(one), &host, &bridge));
	rec.conn = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_kin(&rec, &one, sizeof(one), &host, &bridge));
}

static struct kunit_case ntb_record_cases[] = {
	KUNIT_CASE(crc_of_placed),
	KUNIT_CASE(messages),
	KUNIT_CASE(segments_of_messages),
	KUNIT_CASE(writes),
	KUNIT_CASE(spots),
	KUNIT_CASE(spots_in_windows),
	KUNIT_CASE(atomics),
	KUNIT_CASE(no_records),
	KUNIT_CASE(calls),
	KUNIT_CASE(other_versions_of_calls),
	KUNIT_CASE(kin),
	{ }
};

static struct kunit_suite ntb_record_suite = {
	.name = "kfi_ntb_record",
	.test_cases = ntb_record_cases,
};

kunit_test_suite(ntb_record_suite);
