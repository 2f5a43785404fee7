// SPDX-License-Identifier: GPL-2.0
/*
 * The wire format of kfi_verbs: what one side encodes the other decodes, and what no side says is refused. The fuzzer looks for the
 * rest (tests/fuzz). The source is compiled into this module: a provider exports nothing.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include "../../providers/verbs/wire.c"

#define DESC	((int)sizeof(struct kvw_desc))

union header {
	struct kvw_hdr	hdr;
	u8		bytes[KVW_HDR_MAX + 3 * sizeof(struct kvw_desc)];
};

static struct kvw_packet full_packet(u8 type, u8 flags, u8 count)
{
	return (struct kvw_packet) {
		.type = type, .flags = flags, .status = 0x1234, .count = count, .spent = 5, .id = 0x12345678, .gen = 0x9abcdef0,
		.epoch = 0x0fedcba9, .credit = { 0x1111, 0x2222, 0xfffe }, .len = 1ULL << 40,
		.tag = 0x0123456789abcdefULL, .data = 0xfedcba9876543210ULL,
	};
}

/* Segments behind a header of @head bytes, whose lengths are all in @lens. */
static void put_segments(union header *one, u32 head, const u64 *lens, u8 count)
{
	struct kvw_desc *descs = (void *)one->bytes + head;
	u8 i;

	for (i = 0; i < count && i < 3; i++)
		descs[i] = (struct kvw_desc){ .len = cpu_to_le64(lens[i]) };
}

/* A packet with @rest bytes behind its header is what it says, or not. */
static int try_packet(struct kunit *test, u8 type, u8 flags, u8 count, int rest)
{
	struct kvw_packet p = full_packet(type, flags, count), back;
	union header one, again;
	u32 head = kvw_encode(&p, &one.hdr);
	int ret;

	put_segments(&one, head, (const u64 []){ p.len, 0, 0 }, count);
	ret = kvw_decode(&one.hdr, head + rest, &back);
	if (ret)
		return ret;
	KUNIT_EXPECT_EQ(test, head, back.head);
	KUNIT_EXPECT_EQ(test, head, kvw_encode(&back, &again.hdr));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&one, &again, head));
	KUNIT_EXPECT_EQ(test, p.epoch, back.epoch);
	KUNIT_EXPECT_EQ(test, p.spent, back.spent);
	KUNIT_EXPECT_EQ(test, p.credit[KVW_CLS_CTL], back.credit[KVW_CLS_CTL]);
	if (type == KVW_MSG)
		KUNIT_EXPECT_EQ(test, (u64)(rest - count * DESC), back.len);
	return 0;
}

static void packets_that_are(struct kunit *test)
{
	static const struct {
		u8 type, flags, count;
		int rest;
	} good[] = {
		{ KVW_READY, 0, 0, 0 },
		{ KVW_MSG, 0, 0, 0 },
		{ KVW_MSG, 0, 0, KVW_PAGE - 16 },
		{ KVW_MSG, 0, 0, KVW_PACKET - 16 },
		{ KVW_MSG, KVW_F_TAGGED | KVW_F_CQ_DATA | KVW_F_LANDED, 0, 100 },
		{ KVW_MSG, KVW_F_INV | KVW_F_ARRIVED, 1, KVW_ROOM },
		{ KVW_RTS, KVW_F_TAGGED | KVW_F_RMA, KVW_DESC_MAX, KVW_DESC_MAX * DESC },
		{ KVW_RTS, KVW_F_INV, 2, 2 * DESC },
		{ KVW_TREAD, KVW_F_TAGGED | KVW_F_RMA, 1, DESC },
		{ KVW_FIN, 0, 0, 0 },
		{ KVW_KEY, 0, 0, 0 },
		{ KVW_KEY_IS, KVW_K_READ | KVW_K_WRITE | KVW_K_TELL, 3, 3 * DESC },
		{ KVW_DONE, KVW_F_READ | KVW_F_LANDED | KVW_F_CQ_DATA, 1, DESC },
		{ KVW_DONE, KVW_F_PART, 2, 2 * DESC },
		{ KVW_DONE, KVW_F_PART | KVW_F_READ, 1, DESC },
		{ KVW_DONE, KVW_F_PART | KVW_F_LANDED | KVW_F_COMMIT, 1, DESC },
		{ KVW_FLUSH, KVW_F_LANDED, 1, DESC },
		{ KVW_VOID, KVW_F_TAGGED, 0, 0 },
		{ KVW_CREDIT, 0, 0, 0 },
		{ KVW_BYE, 0, 0, 0 },
		{ KVW_OLD, 0, 0, 0 },
		{ KVW_OLD, 0, 0, KVW_ATOMIC_MAX },
		{ KVW_OLD, 0, 0, KVW_PAGE - 24 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, 0, try_packet(test, good[i].type, good[i].flags, good[i].count, good[i].rest),
				    "row %u", i);
}

static void packets_that_are_not(struct kunit *test)
{
	static const struct {
		u8 type, flags, count;
		int rest;
	} bad[] = {
		{ 0, 0, 0, 0 },
		{ KVW_TYPES, 0, 0, 0 },
		{ 255, 0, 0, 0 },
		{ KVW_BYE, 0, 0, -1 },
		{ KVW_BYE, 0, 0, 1 },
		{ KVW_BYE, KVW_F_TAGGED, 0, 0 },
		{ KVW_MSG, KVW_F_TAGGED, 0, -1 },
		{ KVW_MSG, KVW_F_RMA | KVW_F_TAGGED, 0, 0 },
		{ KVW_MSG, KVW_F_ARRIVED | KVW_F_LANDED, 0, 0 },	/* a packet has one answer */
		{ KVW_MSG, KVW_F_INV, 0, 0 },
		{ KVW_MSG, 0, 1, DESC },
		{ KVW_MSG, KVW_F_INV, 2, 2 * DESC },
		{ KVW_MSG, KVW_F_INV, 1, DESC - 1 },
		{ KVW_MSG, 0, 2, 2 * DESC },
		{ KVW_RTS, KVW_F_INV, 0, 0 },
		{ KVW_RTS, KVW_F_RMA, 1, DESC },
		{ KVW_RTS, KVW_F_LANDED, 1, DESC },
		{ KVW_RTS, 0, 1, DESC + 9 },
		{ KVW_RTS, 0, 1, DESC - 1 },
		{ KVW_RTS, 0, 0, -8 },					/* a part is missing */
		{ KVW_RTS, 0, KVW_DESC_MAX + 1, (KVW_DESC_MAX + 1) * DESC },
		{ KVW_RTS, 0, 0xff, DESC },
		{ KVW_TREAD, KVW_F_TAGGED, 1, DESC },
		{ KVW_TREAD, KVW_F_RMA, 1, DESC },
		{ KVW_FIN, 0, 0, -8 },
		{ KVW_KEY, 0, 1, DESC },
		{ KVW_KEY_IS, 0x10, 1, DESC },
		{ KVW_DONE, 0, 0, 0 },
		{ KVW_DONE, KVW_F_TAGGED, 1, DESC },
		{ KVW_DONE, KVW_F_PART | KVW_F_CQ_DATA, 1, DESC },	/* nobody hears of a part */
		{ KVW_DONE, KVW_F_PART | KVW_F_LANDED, 1, DESC },
		{ KVW_FLUSH, KVW_F_PART | KVW_F_LANDED, 1, DESC },
		{ KVW_VOID, KVW_F_CQ_DATA, 0, 0 },
		{ KVW_OLD, KVW_F_FETCH, 0, 8 },
		{ KVW_OLD, 0, 1, DESC },
		{ KVW_OLD, 0, 0, KVW_PAGE - 23 },			/* only a message may be longer than a page */
		{ KVW_MSG, 0, 0, KVW_PACKET - 15 },
		{ KVW_MSG, KVW_F_INV | KVW_F_ARRIVED, 1, KVW_PACKET - 23 },
		{ KVW_ATOMIC, 0, 1, DESC + 8 },				/* 2^40 bytes of targets */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EPROTO, try_packet(test, bad[i].type, bad[i].flags, bad[i].count, bad[i].rest),
				    "row %u", i);
}

/* Of an atomic operation all follows from its length: operands, values to compare with, and the answer. */
static void atomics(struct kunit *test)
{
	static const struct {
		u8 op, flags, count;
		u64 len;
		int rest, ret;
	} rows[] = {
		{ 2, 0, 1, 8, DESC + 8, 0 },
		{ 2, KVW_F_FETCH | KVW_F_CQ_DATA | KVW_F_COMMIT, 2, 16, 2 * DESC + 16, 0 },
		{ 12, KVW_F_COMPARE, 1, 8, DESC + 16, 0 },
		{ KVW_OP_READ, KVW_F_FETCH, 16, KVW_ATOMIC_MAX, 16 * DESC, 0 },
		{ 2, 0, 1, KVW_ATOMIC_MAX, DESC + KVW_ATOMIC_MAX, 0 },
		{ 2, 0, 1, KVW_ATOMIC_MAX + 1, DESC + KVW_ATOMIC_MAX + 1, -EPROTO },
		{ 2, 0, 1, 0, DESC, -EPROTO },
		{ 2, 0, 0, 8, 8, -EPROTO },
		{ 2, 0, 1, 8, DESC + 7, -EPROTO },
		{ 2, 0, 1, 8, DESC + 9, -EPROTO },
		{ 12, KVW_F_COMPARE, 1, 8, DESC + 8, -EPROTO },
		{ 12, KVW_F_COMPARE | KVW_F_FETCH, 1, 8, DESC + 16, -EPROTO },
		{ KVW_OP_READ, 0, 1, 8, DESC, -EPROTO },
		{ KVW_OP_READ, KVW_F_FETCH, 1, 8, DESC + 8, -EPROTO },
		{ 2, KVW_F_TAGGED, 1, 8, DESC + 8, -EPROTO },
	};
	struct kvw_packet p, back;
	union header one;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		p = full_packet(KVW_ATOMIC, rows[i].flags, rows[i].count);
		p.status = KVW_ATOMIC_STATUS(rows[i].op, 8);
		p.len = rows[i].len;
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ret,
				    kvw_decode(&one.hdr, kvw_encode(&p, &one.hdr) + rows[i].rest, &back), "row %u", i);
	}
}

/* What DONE says is the owner's to hear: it is as long as its segments. */
static void accesses(struct kunit *test)
{
	static const struct {
		u64 len;
		u8 count;
		u64 segs[3];
		int ret;
	} rows[] = {
		{ 8, 1, { 8 }, 0 },
		{ 0, 1, { 0 }, 0 },
		{ 24, 3, { 8, 0, 16 }, 0 },
		{ U64_MAX, 2, { U64_MAX - 1, 1 }, 0 },
		{ 9, 1, { 8 }, -EPROTO },
		{ 7, 1, { 8 }, -EPROTO },
		{ 1ULL << 32, 1, { 0 }, -EPROTO },
		{ 0, 1, { 1ULL << 32 }, -EPROTO },
		{ U64_MAX, 1, { 1 }, -EPROTO },
		{ 1, 2, { U64_MAX, 2 }, -EPROTO },		/* modulo 2^64 it is */
		{ 0, 3, { 1ULL << 63, 1ULL << 63, 0 }, -EPROTO },
	};
	struct kvw_packet p, back;
	union header one;
	unsigned int i;
	u32 head;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		p = full_packet(KVW_DONE, KVW_F_CQ_DATA, rows[i].count);
		p.len = rows[i].len;
		head = kvw_encode(&p, &one.hdr);
		put_segments(&one, head, rows[i].segs, rows[i].count);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ret,
				    kvw_decode(&one.hdr, head + rows[i].count * DESC, &back),
				    "row %u", i);
	}
}

/* What a header carries, for docs/wire-verbs.md. */
static void headers(struct kunit *test)
{
	static const struct {
		u8 type, flags;
		u32 bytes;
		bool id, len, tag, data;
	} heads[] = {
		{ KVW_READY, 0, 16 },
		{ KVW_MSG, 0, 16 },
		{ KVW_MSG, KVW_F_INV, 16 },
		{ KVW_MSG, KVW_F_TAGGED, 24, .tag = true },
		{ KVW_MSG, KVW_F_LANDED | KVW_F_TAGGED | KVW_F_CQ_DATA, 40, .id = true, .tag = true, .data = true },
		{ KVW_MSG, KVW_F_ARRIVED, 24, .id = true },
		{ KVW_RTS, 0, 32, .id = true, .len = true },
		{ KVW_RTS, KVW_F_TAGGED | KVW_F_CQ_DATA, 48, true, true, true, true },
		{ KVW_TREAD, KVW_F_TAGGED | KVW_F_RMA, 40, .id = true, .len = true, .tag = true },
		{ KVW_FIN, 0, 24, .id = true },
		{ KVW_KEY, 0, 40, .id = true, .tag = true, .data = true },
		{ KVW_KEY_IS, KVW_K_WRITE, 48, true, true, true, true },
		{ KVW_KEY_IS, KVW_K_READ, 48, true, true, true, true },
		{ KVW_DONE, 0, 24, .len = true },
		{ KVW_DONE, KVW_F_LANDED | KVW_F_CQ_DATA, 40, .id = true, .len = true, .data = true },
		{ KVW_FLUSH, KVW_F_LANDED, 32, .id = true, .len = true },
	};
	struct kvw_packet p, back;
	unsigned int i, rest;
	union header one;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		p = full_packet(heads[i].type, heads[i].flags, heads[i].type == KVW_DONE || heads[i].type == KVW_FLUSH ||
				(heads[i].type == KVW_MSG && heads[i].flags & KVW_F_INV));
		rest = p.count * DESC;
		KUNIT_EXPECT_EQ_MSG(test, heads[i].bytes, kvw_encode(&p, &one.hdr), "row %u", i);
		put_segments(&one, heads[i].bytes, &p.len, p.count);
		KUNIT_ASSERT_EQ_MSG(test, 0, kvw_decode(&one.hdr, heads[i].bytes + rest, &back), "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, heads[i].id ? p.id : 0, back.id, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, heads[i].id ? p.gen : 0, back.gen, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, heads[i].len ? p.len : 0, back.len, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, heads[i].tag ? p.tag : 0, back.tag, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, heads[i].data ? p.data : 0, back.data, "row %u", i);
	}
}

/* A class per packet that spends a credit: tagged ones never pay with the others'. */
static void classes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, KVW_CLS_MSG, kvw_cls(KVW_MSG, KVW_F_CQ_DATA));
	KUNIT_EXPECT_EQ(test, KVW_CLS_TAG, kvw_cls(KVW_RTS, KVW_F_TAGGED));
	KUNIT_EXPECT_EQ(test, KVW_CLS_TAG, kvw_cls(KVW_VOID, KVW_F_TAGGED));
	KUNIT_EXPECT_EQ(test, KVW_CLS_TAG, kvw_cls(KVW_TREAD, KVW_F_TAGGED | KVW_F_RMA));
	KUNIT_EXPECT_EQ(test, KVW_CLS_CTL, kvw_cls(KVW_KEY, 0));
	KUNIT_EXPECT_EQ(test, KVW_CLS_CTL, kvw_cls(KVW_DONE, KVW_F_CQ_DATA));
	KUNIT_EXPECT_EQ(test, KVW_CLS_CTL, kvw_cls(KVW_ATOMIC, KVW_F_FETCH));
	KUNIT_EXPECT_EQ(test, KVW_CLS, kvw_cls(KVW_OLD, 0));
	KUNIT_EXPECT_EQ(test, KVW_CLS, kvw_cls(KVW_FIN, 0));
	KUNIT_EXPECT_EQ(test, KVW_CLS, kvw_cls(KVW_KEY_IS, KVW_K_READ));
	KUNIT_EXPECT_EQ(test, KVW_CLS, kvw_cls(KVW_CREDIT, 0));
}

/* ---- hellos ---- */

static struct kvw_greeting full_greeting(u8 kind)
{
	return (struct kvw_greeting) {
		.kind = kind, .version = KVW_VERSION, .window = { 1, 64, KVW_WINDOW_MAX }, .answers = 3,
		.packet = KVW_PACKET, .status = kind == KVW_REJECT ? ECONNREFUSED : 0, .incarnation = 0x0123456789abcdefULL,
		.stream = 2, .known = ~0ULL, .port = 4791, .src_ctx = 1, .dst_ctx = 0xffff,
	};
}

static void hellos_go_round(struct kunit *test)
{
	struct kvw_greeting g, back;
	u8 data[sizeof(struct kvw_accept) + 100];
	u8 kind;

	for (kind = KVW_HELLO; kind <= KVW_REJECT; kind++) {
		memset(data, 0xff, sizeof(data));	/* what is behind it is nobody's */
		g = full_greeting(kind);
		kvw_encode_hello(&g, (struct kvw_hello *)data);
		KUNIT_EXPECT_EQ(test, 0, kvw_decode_hello(data, sizeof(data), &back));
		KUNIT_EXPECT_EQ(test, 0, memcmp(&g, &back, sizeof(g)));
	}
}

/* With a key: what is random or a proof stays as the caller has put it, and there is nothing where it is. */
static void hellos_with_a_key(struct kunit *test)
{
	struct kvw_greeting g, back;
	struct kvw_accept said;
	u8 kind;

	for (kind = KVW_HELLO; kind <= KVW_PROOF; kind++) {
		if (kind == KVW_REJECT)
			continue;
		g = full_greeting(kind);
		g.auth = true;
		g.ticket = kind >= KVW_CHALLENGE ? 0xfedc : 0;
		kvw_encode_hello(&g, &said.hello);
		if (kind == KVW_HELLO || kind == KVW_CHALLENGE) {
			memset(said.hello.nonce, 0xff, KVW_NONCE);
			g = (struct kvw_greeting) {
				.kind = kind, .version = KVW_VERSION, .auth = true, .ticket = g.ticket,
				.window = { 1, 64, KVW_WINDOW_MAX }, .answers = 3, .packet = KVW_PACKET,
			};
		} else if (kind == KVW_PROOF) {
			memset(said.hello.proof, 0xff, KVW_PROOF_LEN);
			memset(g.window, 0, sizeof(g.window));
			g.answers = 0;
			g.packet = 0;
		}
		KUNIT_EXPECT_EQ(test, 0, kvw_decode_hello(&said, sizeof(said), &back));
		KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(&g, &back, sizeof(g)), "kind %u", kind);
	}
}

static int try_auth(u8 kind, u8 ep_type, u8 features, size_t len)
{
	struct kvw_greeting g = full_greeting(kind), back;
	struct kvw_accept said = {};

	kvw_encode_hello(&g, &said.hello);
	said.hello.features = features;
	said.hello.ep_type = ep_type;
	return kvw_decode_hello(&said, len, &back);
}

static void keys_that_are_not(struct kunit *test)
{
	const size_t hello = sizeof(struct kvw_hello), accept = sizeof(struct kvw_accept);

	KUNIT_EXPECT_EQ(test, 0, try_auth(KVW_HELLO, KVW_RDM, KVW_FEAT_AUTH, hello));
	KUNIT_EXPECT_EQ(test, 0, try_auth(KVW_PROOF, KVW_RDM, KVW_FEAT_AUTH, hello));
	KUNIT_EXPECT_EQ(test, 0, try_auth(KVW_ACCEPT, KVW_RDM, KVW_FEAT_AUTH, accept));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_ACCEPT, KVW_RDM, KVW_FEAT_AUTH, accept - 1));	/* no proof */
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_REJECT, KVW_RDM, KVW_FEAT_AUTH, hello));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_CHALLENGE, KVW_RDM, 0, hello));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_PROOF, KVW_RDM, 0, hello));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_PROOF + 1, KVW_RDM, KVW_FEAT_AUTH, hello));
	KUNIT_EXPECT_EQ(test, -EPROTO, try_auth(KVW_HELLO, 2, KVW_FEAT_AUTH, hello));		/* of datagrams */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, try_auth(KVW_HELLO, KVW_RDM, KVW_FEAT_AUTH | 1, accept));
}

/* The hello of @g with one of its bytes changed. */
static int try_hello(const struct kvw_greeting *g, size_t at, u8 value)
{
	struct kvw_greeting back;
	struct kvw_hello hello;

	kvw_encode_hello(g, &hello);
	((u8 *)&hello)[at] = value;
	return kvw_decode_hello(&hello, sizeof(hello), &back);
}

static void hellos_that_are_not(struct kunit *test)
{
	struct kvw_greeting g = full_greeting(KVW_HELLO), back;
	struct kvw_hello hello;

#define BAD(g, field, value)	try_hello(g, offsetof(struct kvw_hello, field), value)
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, magic, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, kind, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, kind, KVW_PROOF + 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, ep_type, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, ep_type, 2));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, zero1, 1));
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, BAD(&g, version, KVW_VERSION_MIN - 1));
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, BAD(&g, version_min, KVW_VERSION + 1));
	KUNIT_EXPECT_EQ(test, 0, BAD(&g, version, KVW_VERSION + 1));	/* who speaks more also speaks this */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, BAD(&g, features, 1));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, window[KVW_CLS_MSG], 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, window[KVW_CLS_CTL], 1));	/* one more than the most */
	KUNIT_EXPECT_EQ(test, -EPROTO, BAD(&g, answers, 0));
#undef BAD
	kvw_encode_hello(&g, &hello);
	KUNIT_EXPECT_EQ(test, -EPROTO, kvw_decode_hello(&hello, sizeof(hello) - 1, &back));
	KUNIT_EXPECT_EQ(test, -EPROTO, kvw_decode_hello(NULL, 0, &back));
	/* A refusal need not say what it would have had room for. */
	g = (struct kvw_greeting){ .kind = KVW_REJECT, .status = EBUSY };
	kvw_encode_hello(&g, &hello);
	KUNIT_EXPECT_EQ(test, 0, kvw_decode_hello(&hello, sizeof(hello), &back));
	KUNIT_EXPECT_EQ(test, EBUSY, back.status);
	hello.status = cpu_to_le16(MAX_ERRNO + 1);
	KUNIT_EXPECT_EQ(test, -EPROTO, kvw_decode_hello(&hello, sizeof(hello), &back));
}

/* How long packets may be: a page at least, whatever more, and a page where nobody has said it. */
static void lengths(struct kunit *test)
{
	static const struct {
		u8 version;
		u16 packet, takes;	/* 0: refused */
	} rows[] = {
		{ 1, 0, KVW_PAGE }, { 2, 0xffff, KVW_PAGE }, { 2, 1, KVW_PAGE },
		{ 3, 0, 0 }, { 3, 1, 0 }, { 3, KVW_PAGE - 1, 0 }, { 3, KVW_PAGE, KVW_PAGE }, { 3, KVW_PAGE + 1, KVW_PAGE + 1 },
		{ 3, KVW_PACKET, KVW_PACKET }, { 3, 0xffff, 0xffff }, { KVW_VERSION + 1, 0, 0 }, { 255, 5000, 5000 },
	};
	struct kvw_greeting g = full_greeting(KVW_HELLO), back;
	struct kvw_hello hello;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		kvw_encode_hello(&g, &hello);
		hello.version = rows[i].version;
		hello.packet = cpu_to_le16(rows[i].packet);
		ret = kvw_decode_hello(&hello, sizeof(hello), &back);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].takes ? 0 : -EPROTO, ret, "row %u", i);
		if (!ret)
			KUNIT_EXPECT_EQ_MSG(test, rows[i].takes, back.packet, "row %u", i);
	}
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(packets_that_are),
	KUNIT_CASE(packets_that_are_not),
	KUNIT_CASE(atomics),
	KUNIT_CASE(headers),
	KUNIT_CASE(accesses),
	KUNIT_CASE(classes),
	KUNIT_CASE(hellos_go_round),
	KUNIT_CASE(hellos_with_a_key),
	KUNIT_CASE(keys_that_are_not),
	KUNIT_CASE(hellos_that_are_not),
	KUNIT_CASE(lengths),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "kfi_verbs_wire",
	.test_cases = wire_cases,
};
kunit_test_suite(wire_suite);
