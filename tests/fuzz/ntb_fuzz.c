// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_fuzz.c - libFuzzer on the decoders of kfi_ntb: scratchpads, hellos and heads of records.
 * Whatever a peer writes, a value that decode accepts keeps the promises that the receive path
 * relies on, and encode produces the same bytes from it.
 *
 * Input: the decoder and options (one byte), then the bytes. Missing bytes are 0.
 */
#include "wire.h"

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
	PROMISE(handshake.own_id && handshake.state > NTW_AWAY && handshake.state <= NTW_TRY_SCRAP);
	PROMISE(handshake.side <= 2 && handshake.tried <= NTW_TRY_SCRAP);
	PROMISE(handshake.version >= NTW_VERSION_MIN && handshake.version <= NTW_VERSION);
	PROMISE(handshake.ring_shift >= NTW_RING_SHIFT_MIN &&
		handshake.ring_shift <= NTW_RING_SHIFT_MAX);
	PROMISE(handshake.bells && handshake.bells <= NTW_BELLS_MAX &&
		handshake.bell + handshake.bells <= 64);
	PROMISE(handshake.queues && handshake.queues <= NTW_QUEUES_MAX);
	PROMISE((u64)handshake.size_kib * 1024 >=
		ntw_arena_at(handshake.queues, 1U << handshake.ring_shift));
	PROMISE((u64)handshake.size_kib * 1024 <= NTW_SIZE_MAX);
	PROMISE((u64)handshake.reach_kib * 1024 <= NTW_SIZE_MAX);
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
	PROMISE(g.end + 8 >= ntw_arena_at(1, g.ring) && g.end + 8 <= g.size);
	PROMISE(g.flat_shift <= NTW_FLAT_SHIFT_MAX &&
		(g.flat_shift || (!g.flat_window && !g.flat_at)));
	PROMISE(!g.flat_shift ||
		(g.flat_shift >= NTW_FLAT_SHIFT_MIN && g.flat_at + 8 <= 1ULL << g.flat_shift));
	ntw_encode_hello(&g, &again);
	PROMISE(!(le32toh(again.features) & ~NTW_FEATS));
	hello.features = again.features;	/* unknown ones are ignored */
	hello.check = again.check;
	PROMISE(!memcmp(&again, &hello, sizeof(hello)));
}

/* Position and ring: values that a link may have */
struct where {
	u32	at, avail, incarnation;
	u8	shift, which;
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
	span = ntw_decode_rec(&in.rec, in.where.which % NTW_RINGS, at, avail, ring,
			      in.where.incarnation);
	if (span < 0)
		return;
	rest = ring - (at & (ring - 1));
	PROMISE(span >= (int)sizeof(struct ntw_rec) && span % NTW_ALIGN == 0);
	PROMISE((u32)span <= avail && (u32)span <= rest);
	PROMISE(ntw_rec_len(&in.rec) <= (u32)span && (u32)span <= ring / 4);
	PROMISE(in.rec.type == NTW_SKIP || in.rec.type >= NTW_FIRST);
	PROMISE(le32toh(in.rec.check) == (at ^ in.where.incarnation));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const decoders[])(const uint8_t *data, size_t size, bool mend) = {
		fuzz_handshake, fuzz_hello, fuzz_rec,
	};

	if (size)
		decoders[data[0] % 3](data + 1, size - 1, data[0] & MEND);
	return 0;
}
