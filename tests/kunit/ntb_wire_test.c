// SPDX-License-Identifier: GPL-2.0
/*
 * What links of kfi_ntb exchange before there are records, the heads of records, and records of
 * connections: what one side encodes the other decodes, and invalid values are refused. Fuzzing
 * tests the rest (tests/fuzz). kfi_ntb exports nothing, so its source is compiled into this module.
 */
#include <kunit/test.h>
#include "../../providers/ntb/wire.c"
#include "../../providers/ntb/record.c"

#define RING	65536U

static struct ntw_handshake full_handshake(void)
{
	return (struct ntw_handshake) {
		.version = NTW_VERSION,
		.state = NTW_OPEN,
		.queues = 3,
		.ring_shift = 18,
		.bell = 48,
		.bells = 16,
		.own_id = 0x12345678,
		.peer_id = 0x9abcdef0,
		.size_kib = 4096,
	};
}

static int try_handshake(const struct ntw_handshake *handshake)
{
	struct ntw_handshake back;
	u32 pads[NTW_PADS];

	ntw_encode_handshake(handshake, pads);
	return ntw_decode_handshake(pads, &back);
}

static void scratchpads(struct kunit *test)
{
	struct ntw_handshake handshake = full_handshake(), back;
	u32 pads[NTW_PADS];

	ntw_encode_handshake(&handshake, pads);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_handshake(pads, &back));
	KUNIT_EXPECT_MEMEQ(test, &handshake, &back, sizeof(handshake));
	pads[NTW_PAD_PEER_ID]++;	/* half-written */
	KUNIT_EXPECT_EQ(test, -EAGAIN, ntw_decode_handshake(pads, &back));
	memset(pads, 0xff, sizeof(pads));
	KUNIT_EXPECT_EQ(test, -EAGAIN, ntw_decode_handshake(pads, &back));
}

static void other_versions(struct kunit *test)
{
	struct ntw_handshake handshake = full_handshake(), back;
	u32 pads[NTW_PADS];

	ntw_encode_handshake(&handshake, pads);
	pads[NTW_PAD_MAGIC] = NTW_MAGIC << 16 | NTW_VERSION_MIN << 8 | (NTW_VERSION + 1);
	pads[NTW_PAD_CHECK] = pad_check(pads);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_handshake(pads, &back));
	KUNIT_EXPECT_EQ(test, NTW_VERSION, back.version);
	pads[NTW_PAD_MAGIC] = NTW_MAGIC << 16 | (NTW_VERSION + 1) << 8 | (NTW_VERSION + 1);
	pads[NTW_PAD_CHECK] = pad_check(pads);
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, ntw_decode_handshake(pads, &back));
}

static void absurd_scratchpads(struct kunit *test)
{
	struct ntw_handshake handshake;

#define WITH(field, value) ({							\
	handshake = full_handshake();						\
	handshake.field = (value);						\
	try_handshake(&handshake);						\
})
	KUNIT_EXPECT_EQ(test, -EAGAIN, WITH(state, NTW_AWAY));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(state, NTW_OPEN + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(own_id, 0));
	KUNIT_EXPECT_EQ(test, 0, WITH(peer_id, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(ring_shift, NTW_RING_SHIFT_MIN - 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(ring_shift, NTW_RING_SHIFT_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(ring_shift, 255));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(bells, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(bells, NTW_BELLS_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(bell, 49));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(queues, 0));
	KUNIT_EXPECT_EQ(test, 0, WITH(queues, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(queues, NTW_QUEUES_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(size_kib, 3 * (4 + 2 * 256) - 1));
	KUNIT_EXPECT_EQ(test, 0, WITH(size_kib, 3 * (4 + 2 * 256)));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(size_kib, U32_MAX));
#undef WITH
}

static struct ntw_hello_info full_hello(void)
{
	return (struct ntw_hello_info) {
		.version = NTW_VERSION,
		.own_id = 1,
		.peer_id = 2,
		.queues = 2,
		.ring = RING,
		.size = 1 << 20,
		.reach = 1 << 19,
		.heartbeat = 100,
		.features = NTW_FEATS,
		.flat_shift = 40,
		.flat_window = 3,
		.flat_at = (1ULL << 40) - 8,
	};
}

static int try_hello(const struct ntw_hello_info *g)
{
	struct ntw_hello_info back;
	struct ntw_hello hello;

	ntw_encode_hello(g, &hello);
	return ntw_decode_hello(&hello, &back);
}

static void hellos(struct kunit *test)
{
	struct ntw_hello_info g = full_hello(), back;
	struct ntw_hello hello;

	ntw_encode_hello(&g, &hello);
	KUNIT_EXPECT_EQ(test, 0, ntw_decode_hello(&hello, &back));
	KUNIT_EXPECT_EQ(test, g.size, back.size);
	KUNIT_EXPECT_EQ(test, g.reach, back.reach);
	KUNIT_EXPECT_EQ(test, g.features, back.features);
	KUNIT_EXPECT_EQ(test, g.peer_id, back.peer_id);
	KUNIT_EXPECT_EQ(test, g.flat_shift, back.flat_shift);
	KUNIT_EXPECT_EQ(test, g.flat_at, back.flat_at);
	KUNIT_EXPECT_EQ(test, g.flat_window, back.flat_window);
	KUNIT_EXPECT_EQ(test, g.queues, back.queues);
	hello.features = cpu_to_le32(NTW_FEATS + 1);
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_hello(&hello, &back));
	hello.check = cpu_to_le32(ntw_check(&hello, offsetof(struct ntw_hello, check)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ntw_decode_hello(&hello, &back));
}

static void absurd_hellos(struct kunit *test)
{
	struct ntw_hello_info g;

#define WITH(field, value) ({ g = full_hello(); g.field = (value); try_hello(&g); })
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(own_id, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(peer_id, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(heartbeat, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(ring, RING + 16));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(ring, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(queues, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(queues, NTW_QUEUES_MAX + 1));
	KUNIT_EXPECT_EQ(test, 0, WITH(size, 4096 + 2 * RING));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(size, 4096 + 2 * RING - 1024));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(size, RING));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(size, NTW_SIZE_MAX + 1024));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(version, NTW_VERSION + 1));
	KUNIT_EXPECT_EQ(test, 0, WITH(flat_shift, NTW_FLAT_SHIFT_MAX));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_shift, NTW_FLAT_SHIFT_MAX + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_shift, U8_MAX));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_shift, NTW_FLAT_SHIFT_MIN - 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_at, 1ULL << 40));	/* behind its end */
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_at, 4));
	KUNIT_EXPECT_EQ(test, -EPROTO, WITH(flat_shift, 0));		/* in no window */
	g.flat_window = 0;
	KUNIT_EXPECT_EQ(test, -EPROTO, try_hello(&g));
	g.flat_at = 0;
	KUNIT_EXPECT_EQ(test, 0, try_hello(&g));
#undef WITH
}

/* Return the bits that wake a queue. */
static u64 bells_of(unsigned int queue, unsigned int queues, unsigned int bells)
{
	unsigned int turn;
	u64 bits = 0;

	for (turn = 0; turn < bells; turn++)
		bits |= BIT_ULL(ntw_bell(queue, queues, bells, turn));
	return bits;
}

/* Each doorbell wakes one queue, if there are enough, and each queue has as many as the others. */
static void bells_of_queues(struct kunit *test)
{
	unsigned int queue, queues, bells;
	u64 all, bits;

	for (queues = 1; queues <= NTW_QUEUES_MAX; queues++) {
		for (bells = 1; bells <= NTW_BELLS_MAX; bells++) {
			for (all = 0, queue = 0; queue < queues; queue++) {
				bits = bells_of(queue, queues, bells);
				KUNIT_EXPECT_GE(test, hweight64(bits), max(bells / queues, 1U));
				if (bells >= queues)
					KUNIT_EXPECT_EQ(test, 0, all & bits);
				all |= bits;
			}
			KUNIT_EXPECT_EQ(test, ~0ULL >> (64 - bells), all);
		}
	}
}

/*
 * A pair of ports has one queue, whoever calls. Connections of one port with many, of many pairs of
 * ports, and of callers without a port, are spread over all queues.
 */
static void queues_of_calls(struct kunit *test)
{
	unsigned int queues, count[4][NTW_QUEUES_MAX], i, kind, queue;
	struct ntw_calling calls[4], back;

	for (queues = 1; queues <= NTW_QUEUES_MAX; queues++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < 64 * queues; i++) {
			calls[0] = (struct ntw_calling) { .from = 4420, .to = 0x10000 + i };
			calls[1] = (struct ntw_calling) { .from = 0x10000 + i, .to = 4420 };
			calls[2] = (struct ntw_calling) { .from = 0x10000 + i, .to = 0x10000 + i };
			calls[3] = (struct ntw_calling) { .number = 0x1234567 + i, .to = 4420 };
			for (kind = 0; kind < 4; kind++) {
				queue = ntw_call_queue(&calls[kind], true, queues);
				count[kind][queue]++;
				back.from = calls[kind].to;
				back.to = calls[kind].from;
				if (kind != 3)
					KUNIT_EXPECT_EQ(test, queue,
							ntw_call_queue(&back, false, queues));
			}
		}
		for (kind = 0; kind < 4; kind++)
			for (i = 0; i < queues; i++)
				KUNIT_EXPECT_GE(test, count[kind][i], 32U);
	}
}

static void words(struct kunit *test)
{
	u32 value = 7;

	KUNIT_EXPECT_TRUE(test, ntw_decode_word(ntw_word(5, 0xffffffff), 5, &value));
	KUNIT_EXPECT_EQ(test, U32_MAX, value);
	KUNIT_EXPECT_FALSE(test, ntw_decode_word(ntw_word(4, 1), 5, &value));
	KUNIT_EXPECT_EQ(test, U32_MAX, value);
}

#define ME	0xabcd0123U

static int try_rec(u8 type, u32 len, u32 at, u32 avail)
{
	struct ntw_rec rec = {
		.type = type, .len = cpu_to_le32(len), .check = cpu_to_le32(at ^ ME),
	};

	return ntw_decode_rec(&rec, at, avail, RING, ME);
}

static void record_heads(struct kunit *test)
{
	struct ntw_rec rec = {
		.type = NTW_FIRST, .len = cpu_to_le32(16), .check = cpu_to_le32(ME),
	};

	KUNIT_EXPECT_EQ(test, 16, try_rec(NTW_FIRST, 16, 0, 16));
	KUNIT_EXPECT_EQ(test, 32, try_rec(255, 17, RING - 32, 4096));
	KUNIT_EXPECT_EQ(test, (int)RING / 8, try_rec(NTW_FIRST, RING / 8, 0xffffc000, RING / 8));
	KUNIT_EXPECT_EQ(test, (int)RING, try_rec(NTW_SKIP, RING, 0, RING));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, 15, 0, 4096));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, 0, 0, 4096));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, U32_MAX, 0, 4096));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_SKIP, U32_MAX, 0, RING));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, RING / 8 + 1, 0, RING));
	/* beyond what was produced */
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, 33, 0, 32));
	/* wraps around */
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST, 33, RING - 32, 4096));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_NONE, 16, 0, 16));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_rec(NTW_FIRST - 1, 16, 0, 16));
	KUNIT_EXPECT_EQ(test, 16, ntw_decode_rec(&rec, 0, 16, RING, ME));
	/* from the previous turn of the ring */
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_rec(&rec, RING, 16, RING, ME));
	/* from another life of the link */
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_rec(&rec, 0, 16, RING, ME + 1));
	rec.zero = 1;
	KUNIT_EXPECT_EQ(test, -EPROTO, ntw_decode_rec(&rec, 0, 16, RING, ME));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(scratchpads),
	KUNIT_CASE(other_versions),
	KUNIT_CASE(absurd_scratchpads),
	KUNIT_CASE(hellos),
	KUNIT_CASE(absurd_hellos),
	KUNIT_CASE(bells_of_queues),
	KUNIT_CASE(queues_of_calls),
	KUNIT_CASE(words),
	KUNIT_CASE(record_heads),
	{}
};

static struct kunit_suite suite = {
	.name = "kfi_ntb_wire",
	.test_cases = cases,
};
kunit_test_suite(suite);

/* ---- records of connections ---- */

static const struct ntw_calling call = {
	.number = 0x12345678, .from = 0x10001, .to = 77, .window = 65536,
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

/* Each of these calls has one fault and is refused. */
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

/* Another version is refused with an answer, which needs the number of the call. */
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

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_call),
	KUNIT_CASE(record_call_invalid),
	KUNIT_CASE(record_call_version),
	KUNIT_CASE(record_answer),
	KUNIT_CASE(record_data),
	KUNIT_CASE(record_close),
	{}
};

static struct kunit_suite record_suite = {
	.name = "kfi_ntb_record",
	.test_cases = record_cases,
};
kunit_test_suite(record_suite);
