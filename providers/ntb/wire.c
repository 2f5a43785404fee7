// SPDX-License-Identifier: GPL-2.0
/*
 * wire.c - encodes and decodes scratchpads and the structures in shared memory. All functions are
 * pure. This file also compiles in user space, see wire.h.
 */
#include "wire.h"

const struct kfi_versions ntw_speaks = {
	.lowest = NTW_VERSION_MIN, .highest = NTW_VERSION, .features = NTW_FEATS,
};

struct kfi_versions ntw_pads_versions(const u32 pads[NTW_PADS])
{
	return kfi_versions_read(pads[NTW_PAD_MAGIC], pads[NTW_PAD_MAGIC] >> 8, 0);
}

/* FNV-1a */
u32 ntw_check(const void *data, size_t len)
{
	const u8 *byte = data;
	u32 sum = 0x811c9dc5;

	while (len--)
		sum = (sum ^ *byte++) * 0x01000193;
	return sum;
}

/* The same over 32-bit numbers, independent of the byte order of the machine */
static u32 pad_check(const u32 pads[NTW_PADS])
{
	__le32 bytes[NTW_PAD_CHECK];
	unsigned int i;

	for (i = 0; i < NTW_PAD_CHECK; i++)
		bytes[i] = cpu_to_le32(pads[i]);
	return ntw_check(bytes, sizeof(bytes));
}

static u32 pad_size(const struct ntw_handshake *handshake)
{
	u32 shift = 0;

	while (handshake->size_kib >> shift > 1)
		shift++;
	return shift << NTW_SIZE_SHIFT | handshake->reach_kib;
}

void ntw_encode_handshake(const struct ntw_handshake *handshake, u32 pads[NTW_PADS])
{
	pads[NTW_PAD_MAGIC] = (u32)NTW_MAGIC << 16 | NTW_VERSION_MIN << 8 | NTW_VERSION;
	pads[NTW_PAD_STATE] = handshake->state | (u32)handshake->queues << 4 |
			      (u32)handshake->ring_shift << 8 | (u32)handshake->side << 13 |
			      (u32)handshake->bell << 16 | (u32)handshake->bells << 24;
	if (handshake->tried)
		pads[NTW_PAD_STATE] |= (u32)(handshake->tried - NTW_OPEN) << 22;
	pads[NTW_PAD_OWN_ID] = handshake->own_id;
	pads[NTW_PAD_PEER_ID] = handshake->peer_id;
	pads[NTW_PAD_SIZE] = pad_size(handshake);
	pads[NTW_PAD_CHECK] = pad_check(pads);
}

/* Return: true if the values are valid for a writer that is not away */
static bool handshake_sane(const struct ntw_handshake *handshake)
{
	u64 need;

	if (handshake->state > NTW_TRY_SCRAP || handshake->tried > NTW_TRY_SCRAP ||
	    handshake->side > 2 || !handshake->own_id || !handshake->queues ||
	    handshake->queues > NTW_QUEUES_MAX || handshake->ring_shift < NTW_RING_SHIFT_MIN ||
	    handshake->ring_shift > NTW_RING_SHIFT_MAX)
		return false;
	if (!handshake->bells || handshake->bells > NTW_BELLS_MAX ||
	    handshake->bell + handshake->bells > 64)
		return false;
	need = ntw_arena_at(handshake->queues, 1U << handshake->ring_shift);
	return (u64)handshake->size_kib * 1024 >= need &&
	       (u64)handshake->size_kib * 1024 <= NTW_SIZE_MAX &&
	       (u64)handshake->reach_kib * 1024 <= NTW_SIZE_MAX;
}

int ntw_decode_handshake(const u32 pads[NTW_PADS], struct ntw_handshake *handshake)
{
	u32 magic = pads[NTW_PAD_MAGIC], state = pads[NTW_PAD_STATE];
	struct kfi_versions theirs = ntw_pads_versions(pads), agreed;
	u8 shift = pads[NTW_PAD_SIZE] >> NTW_SIZE_SHIFT;
	int ret;

	/* With some drivers, scratchpads without a peer read as all zeros or all ones. */
	if (magic >> 16 != NTW_MAGIC)
		return -EAGAIN;
	/* Nothing else is known of what another version writes, nor where its checksum is. */
	ret = kfi_versions_agree(&ntw_speaks, &theirs, &agreed);
	if (ret)	/* no version writes what is no range: it is damaged */
		return ret == -EPROTO ? -EAGAIN : ret;
	if (pads[NTW_PAD_CHECK] != pad_check(pads))
		return -EAGAIN;
	*handshake = (struct ntw_handshake) {
		.version = agreed.highest,
		.state = state & 0xf,
		.queues = state >> 4 & 0xf,
		.ring_shift = state >> 8 & 0x1f,
		.side = state >> 13 & 3,
		.bell = state >> 16 & 0x3f,
		.tried = state >> 22 & 3 ? NTW_OPEN + (state >> 22 & 3) : 0,
		.bells = state >> 24,
		.own_id = pads[NTW_PAD_OWN_ID],
		.peer_id = pads[NTW_PAD_PEER_ID],
		.size_kib = shift < 32 ? 1U << shift : 0,
		.reach_kib = pads[NTW_PAD_SIZE] & NTW_REACH_MASK,
	};
	if (handshake->state == NTW_AWAY)
		return -EAGAIN;
	if (state & 0x8000)
		return -EPROTO;
	return handshake_sane(handshake) ? 0 : -EPROTO;
}

void ntw_encode_hello(const struct ntw_hello_info *g, struct ntw_hello *hello)
{
	*hello = (struct ntw_hello) {
		.magic = cpu_to_le16(NTW_MAGIC),
		.version = cpu_to_le16(g->version),
		.own_id = cpu_to_le32(g->own_id),
		.peer_id = cpu_to_le32(g->peer_id),
		.ring = cpu_to_le32(g->ring),
		.size = cpu_to_le32(g->size / 1024),
		.end = cpu_to_le32(g->end / sizeof(u64)),
		.heartbeat = cpu_to_le32(g->heartbeat),
		.flat_at = cpu_to_le64(g->flat_at),
		.flat_window = cpu_to_le16(g->flat_window),
		.flat_shift = g->flat_shift,
		.queues = g->queues,
		.features = cpu_to_le32(g->features),
	};
	hello->check = cpu_to_le32(ntw_check(hello, offsetof(struct ntw_hello, check)));
}

static bool flat_sane(const struct ntw_hello_info *g)
{
	if (!g->flat_shift)
		return !g->flat_window && !g->flat_at;
	if (g->flat_shift < NTW_FLAT_SHIFT_MIN || g->flat_shift > NTW_FLAT_SHIFT_MAX ||
	    g->flat_at % sizeof(u64))
		return false;
	return g->flat_at < 1ULL << g->flat_shift;
}

static bool hello_sane(const struct ntw_hello_info *g)
{
	if (!g->own_id || !g->peer_id || !g->heartbeat || g->ring & (g->ring - 1))
		return false;
	if (g->ring < 1U << NTW_RING_SHIFT_MIN || g->ring > 1U << NTW_RING_SHIFT_MAX)
		return false;
	if (!g->queues || g->queues > NTW_QUEUES_MAX)
		return false;
	return g->size >= ntw_arena_at(1, g->ring) && g->size <= NTW_SIZE_MAX &&
	       g->end >= ntw_arena_at(1, g->ring) - sizeof(u64) && g->end < g->size &&
	       flat_sane(g);
}

int ntw_decode_hello(const struct ntw_hello *hello, struct ntw_hello_info *g)
{
	u16 version = le16_to_cpu(hello->version);

	if (le16_to_cpu(hello->magic) != NTW_MAGIC || version < NTW_VERSION_MIN ||
	    version > NTW_VERSION ||
	    le32_to_cpu(hello->check) != ntw_check(hello, offsetof(struct ntw_hello, check)))
		return -EPROTO;
	*g = (struct ntw_hello_info) {
		.version = version,
		.own_id = le32_to_cpu(hello->own_id),
		.peer_id = le32_to_cpu(hello->peer_id),
		.ring = le32_to_cpu(hello->ring),
		.size = (u64)le32_to_cpu(hello->size) * 1024,
		.heartbeat = le32_to_cpu(hello->heartbeat),
		.end = (u64)le32_to_cpu(hello->end) * sizeof(u64),
		.flat_at = le64_to_cpu(hello->flat_at),
		.flat_window = le16_to_cpu(hello->flat_window),
		.flat_shift = hello->flat_shift,
		.queues = hello->queues,
		.features = le32_to_cpu(hello->features) & NTW_FEATS,
	};
	return hello_sane(g) ? 0 : -EPROTO;
}

int ntw_decode_rec(const struct ntw_rec *rec, enum ntw_which which, u32 at, u32 avail, u32 ring,
		   u32 incarnation)
{
	u32 len = ntw_rec_len(rec), rest = ring - (at & (ring - 1)), span;
	u32 head = which == NTW_BULK ? le32_to_cpu(rec->head) : 0;

	if (le32_to_cpu(rec->check) != (at ^ incarnation))
		return -EPROTO;
	if (len > ntw_rec_max(ring))
		return -EPROTO;
	span = ntw_rec_span(len);
	if (span > avail || span > rest)
		return -EPROTO;
	if (rec->type != NTW_SKIP && rec->type < NTW_FIRST)
		return -EPROTO;
	if (head && (rec->type == NTW_SKIP || head < sizeof(*rec) || head > len))
		return -EPROTO;
	return span;
}
