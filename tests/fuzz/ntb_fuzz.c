// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_fuzz.c - libFuzzer on the decoders of kfi_ntb: scratchpads, hellos and heads of records of a
 * link, and the records of connections. Whatever a peer writes, a value that decode accepts keeps
 * the promises that the receive path relies on, and encode produces the same bytes from it.
 *
 * Input: the decoder and options (one byte). For records of connections the number of bytes behind
 * the record's head follows (two), the head, then those bytes; else the bytes. Missing bytes are 0.
 */
#include "wire.h"
#include "record.h"

#define BODY	64U

/* ---- links ---- */

/* correct the check, which is no secret and would stop a fuzzer */
#define MEND	0x80

static void fuzz_handshake(const uint8_t *data, size_t size, bool mend)
{
	u32 pads[NTW_PADS] = {}, again[NTW_PADS];
	struct ntw_handshake handshake;

	memcpy(pads, data, size < sizeof(pads) ? size : sizeof(pads));
	if (mend) {
		pads[NTW_PAD_MAGIC] = (u32)NTW_MAGIC << 16 | NTW_VERSION_MIN << 8 | NTW_VERSION;
		pads[NTW_PAD_CHECK] = ntw_check(pads, NTW_PAD_CHECK * sizeof(*pads));
	}
	if (ntw_decode_handshake(pads, &handshake))
		return;
	PROMISE(handshake.own_id && handshake.state > NTW_AWAY && handshake.state <= NTW_TRY_OFF);
	PROMISE(handshake.side <= 2 && handshake.tried <= NTW_TRY_OFF);
	PROMISE(handshake.version >= NTW_VERSION_MIN && handshake.version <= NTW_VERSION);
	PROMISE(handshake.ring_shift >= NTW_RING_SHIFT_MIN &&
		handshake.ring_shift <= NTW_RING_SHIFT_MAX);
	PROMISE(handshake.bells && handshake.bells <= NTW_BELLS_MAX &&
		handshake.bell + handshake.bells <= 64);
	PROMISE(handshake.queues && handshake.queues <= NTW_QUEUES_MAX);
	PROMISE((u64)handshake.size_kib * 1024 >=
		ntw_arena_at(handshake.queues, 1U << handshake.ring_shift));
	PROMISE((u64)handshake.size_kib * 1024 <= NTW_SIZE_MAX);
	ntw_encode_handshake(&handshake, again);
	PROMISE(!memcmp(&again[NTW_PAD_STATE], &pads[NTW_PAD_STATE], 4 * sizeof(u32)));
}

static void fuzz_hello(const uint8_t *data, size_t size, bool mend)
{
	struct ntw_hello hello = {}, again;
	struct ntw_hello_info g;

	memcpy(&hello, data, size < sizeof(hello) ? size : sizeof(hello));
	if (mend) {
		hello.magic = htole16(NTW_MAGIC);
		hello.version = htole16(NTW_VERSION);
		hello.check = htole32(ntw_check(&hello, offsetof(struct ntw_hello, check)));
	}
	if (ntw_decode_hello(&hello, &g))
		return;
	PROMISE(g.own_id && g.peer_id && g.heartbeat);
	PROMISE(g.ring >= 1U << NTW_RING_SHIFT_MIN && g.ring <= 1U << NTW_RING_SHIFT_MAX &&
		!(g.ring & (g.ring - 1)));
	PROMISE(g.queues && g.queues <= NTW_QUEUES_MAX);
	PROMISE(g.size >= ntw_arena_at(1, g.ring) && g.size <= NTW_SIZE_MAX);
	PROMISE(g.flat_shift <= NTW_FLAT_SHIFT_MAX &&
		(g.flat_shift || (!g.flat_window && !g.flat_at)));
	PROMISE(!g.flat_shift ||
		(g.flat_shift >= NTW_FLAT_SHIFT_MIN && g.flat_at + 8 <= 1ULL << g.flat_shift));
	ntw_encode_hello(&g, &again);
	PROMISE(!memcmp(&again, &hello, sizeof(hello)));
}

/* Position and ring: values that a link may have */
struct where {
	u32	at, avail, incarnation;
	u8	shift;
};

static void fuzz_rec(const uint8_t *data, size_t size, bool mend)
{
	struct { struct ntw_rec rec; struct where where; } in = {};
	u32 ring, at, avail, rest;
	int span;

	memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	ring = 1U << (NTW_RING_SHIFT_MIN +
		      in.where.shift % (NTW_RING_SHIFT_MAX - NTW_RING_SHIFT_MIN + 1));
	at = in.where.at & ~(NTW_ALIGN - 1);
	avail = (in.where.avail % ring & ~(NTW_ALIGN - 1)) + NTW_ALIGN;
	if (mend)
		in.rec.check = htole32(at ^ in.where.incarnation);
	span = ntw_decode_rec(&in.rec, at, avail, ring, in.where.incarnation);
	if (span < 0)
		return;
	rest = ring - (at & (ring - 1));
	PROMISE(span >= (int)sizeof(struct ntw_rec) && span % NTW_ALIGN == 0);
	PROMISE((u32)span <= avail && (u32)span <= rest);
	PROMISE(le32toh(in.rec.len) <= (u32)span && le32toh(in.rec.len) >= sizeof(struct ntw_rec));
	PROMISE(in.rec.type == NTW_SKIP || (in.rec.type >= NTW_FIRST && (u32)span <= ring / 8));
	PROMISE(le32toh(in.rec.check) == (at ^ in.where.incarnation));
}

/* ---- connections ---- */

static void check_call(const struct ntw_rec *rec, const struct ntw_call *body, u32 len)
{
	struct ntw_calling c;
	struct ntw_call body2;
	struct ntw_rec rec2;

	if (ntw_decode_call(rec, body, len, &c))
		return;
	PROMISE(len == sizeof(*body) && c.number && c.to && c.to <= INT32_MAX &&
		c.from <= INT32_MAX);
	PROMISE(c.window >= NTW_WINDOW_MIN && c.window <= NTW_WINDOW_MAX);
	PROMISE(body->version_min <= NTW_CONN_VERSION && body->version >= NTW_CONN_VERSION_MIN);
	ntw_encode_call(&c, &rec2, &body2);
	body2.version = body->version;
	body2.version_min = body->version_min;
	PROMISE(rec2.type == rec->type && !memcmp(&body2, body, sizeof(body2)));
}

static void check_answer(const struct ntw_rec *rec, const struct ntw_answer *body, u32 len)
{
	struct ntw_answer body2;
	struct ntw_calling c;
	struct ntw_rec rec2;

	if (ntw_decode_answer(rec, body, len, &c))
		return;
	PROMISE(len == sizeof(*body) && rec->conn);
	PROMISE(!c.status == !!c.number);
	PROMISE(c.status || (c.window >= NTW_WINDOW_MIN && c.window <= NTW_WINDOW_MAX));
	ntw_encode_answer(&c, le32_to_cpu(rec->conn), &rec2, &body2);
	PROMISE(rec2.conn == rec->conn && !memcmp(&body2, body, sizeof(body2)));
}

static void check_data(const struct ntw_rec *rec, const u8 *body, u32 len)
{
	const struct ntw_data *data = (const void *)body;
	const struct ntw_placed *placed = (const void *)(data + 1);
	struct ntw_placed placed2 = {};
	struct ntw_piece piece;
	struct ntw_data data2;
	struct ntw_rec rec2;

	if (ntw_decode_data(rec, data, placed, len, &piece))
		return;
	PROMISE(rec->conn && len >= sizeof(*data));
	/* The bytes are in the record, or in a place. */
	PROMISE(piece.len + sizeof(*data) + (piece.placed ? sizeof(*placed) : 0) == len);
	PROMISE(!piece.len || !piece.placed);
	if (piece.placed)
		ntw_encode_placed(&piece, le32_to_cpu(rec->conn), &rec2, &data2, &placed2);
	else
		ntw_encode_data(piece.pos, piece.limit, le32_to_cpu(rec->conn), &rec2, &data2);
	PROMISE(rec2.bits == rec->bits && rec2.conn == rec->conn);
	PROMISE(!memcmp(&data2, data, sizeof(data2)));
	PROMISE(!piece.placed || !memcmp(&placed2, placed, sizeof(placed2)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct { struct ntw_rec rec; u8 body[BODY] __attribute__((aligned(8))); } in = {};
	struct ntw_rec *rec = &in.rec;
	u16 len;

	static void (*const link_decoders[])(const uint8_t *data, size_t size, bool mend) = {
		fuzz_handshake, fuzz_hello, fuzz_rec,
	};

	if (size < 3)
		return 0;
	if ((data[0] & 7) >= 5) {
		link_decoders[(data[0] & 7) - 5](data + 1, size - 1, data[0] & MEND);
		return 0;
	}
	memcpy(&len, data + 1, sizeof(len));
	memcpy(&in, data + 3, size - 3 < sizeof(in) ? size - 3 : sizeof(in));
	/* Correct length and bits, which few inputs have by chance. */
	if (data[0] & 8)
		rec->bits &= cpu_to_le16(NTW_D_PLACED | NTW_C_BITS);
	switch (data[0] & 7) {
	case 0:
		rec->type = NTW_CALL;
		check_call(rec, (void *)in.body, data[0] & 16 ? sizeof(struct ntw_call) : len);
		break;
	case 1:
		rec->type = NTW_ANSWER;
		check_answer(rec, (void *)in.body, data[0] & 16 ? sizeof(struct ntw_answer) : len);
		break;
	case 2:
		rec->type = NTW_DATA;
		check_data(rec, in.body, data[0] & 16 ? sizeof(struct ntw_data) +
			   sizeof(struct ntw_placed) : len);
		break;
	case 3:
		if (!ntw_decode_close(rec, len))
			PROMISE(!len && rec->conn && !(le16_to_cpu(rec->bits) & ~NTW_C_BITS));
		break;
	default:
		check_data(rec, in.body, len);
		break;
	}
	return 0;
}
