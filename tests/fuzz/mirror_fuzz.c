// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_fuzz.c - libFuzzer on the decoders of kfi_mirror. Whatever a disk or a peer says, what
 * decode lets through keeps the promises that the code behind it relies on, and encode makes the
 * same bytes of it again.
 *
 * Input: what it is (one byte), then the bytes; what is missing is 0. Checksums are made right, and
 * magic numbers and versions are set, unless the first byte says otherwise.
 */
#include "proto.h"

u32 crc32c(u32 crc, const void *p, size_t len);

u32 crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *byte = p;
	int i;

	while (len--) {
		crc ^= *byte++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static void fuzz_super(struct kfm_le_super *le, int honest)
{
	struct kfm_le_super again;
	struct kfm_super s;

	if (honest) {
		le->magic = cpu_to_le64(KFM_SUPER_MAGIC);
		le->version = cpu_to_le32(le->serial & 1 ? KFM_VERSION_COARSE :
					  le->node & 1 ? KFM_VERSION_UNTOLD : KFM_VERSION);
		le->crc = 0;
		le->crc = cpu_to_le32(crc32c(~0U, le, sizeof(*le)));
	}
	if (kfm_super_decode(le, &s))
		return;
	PROMISE(s.sectors && s.state < KFM_STATES && !(s.flags & ~KFM_SB_FLAGS));
	PROMISE(s.peers && s.peers <= KFM_PEERS && s.node);
	PROMISE(s.sectors <= KFM_SECTORS_MAX);
	PROMISE(kfm_wire_bytes(s.sectors) <= KFM_WIRE_REGIONS_MAX / 8);
	kfm_super_encode(&s, &again);
	if (le32_to_cpu(le->version) == KFM_VERSION_UNTOLD) {	/* it is written as the present one */
		PROMISE(!s.head && !(s.flags & KFM_SB_REST));
		again.version = le->version;
		again.crc = le->crc;
	}
	PROMISE(!memcmp(le, &again, sizeof(again)));
}

static void fuzz_log(struct kfm_le_log *le, int honest)
{
	struct kfm_le_log again;
	struct kfm_log_head h;

	if (honest) {
		le->magic = cpu_to_le64(KFM_LOG_MAGIC);
		le->version = cpu_to_le32(le->serial & 1 ? KFM_LOG_UNTOLD : KFM_LOG_VERSION);
		le->crc = 0;
		le->crc = cpu_to_le32(crc32c(~0U, le, sizeof(*le)));
	}
	if (kfm_log_decode(le, &h))
		return;
	PROMISE(h.at <= h.ring && h.ring <= KFM_RING_MAX && !(h.at % KFM_SECTOR));
	kfm_log_encode(&h, &again);
	if (le32_to_cpu(le->version) != KFM_LOG_VERSION) {
		PROMISE(!h.super && !h.owner && !h.number);
		again.version = le->version;
		again.crc = le->crc;
	}
	PROMISE(!memcmp(le, &again, sizeof(again)));
}

/* @near: the record is about as large as the mirror */
static void fuzz_rec(struct kfm_le_rec *le, int honest, int near)
{
	struct kfm_rec r;
	u64 sectors = 1 + le64_to_cpu(le->log) % 5000;

	if (honest)
		le->magic = cpu_to_le32(KFM_REC_MAGIC);
	if (near) {
		le->sector = cpu_to_le64(le64_to_cpu(le->sector) % (sectors + 2));
		le->len = cpu_to_le32(le32_to_cpu(le->len) % (KFM_WRITE_MAX + 2 * KFM_SECTOR) /
				      KFM_SECTOR * KFM_SECTOR);
	}
	if (kfm_rec_decode(le, sectors, &r))
		return;
	PROMISE(r.seq && r.len && r.len <= KFM_WRITE_MAX && !(r.len % KFM_SECTOR));
	PROMISE(r.sector < sectors && r.sector + r.len / KFM_SECTOR <= sectors);
}

static void fuzz_direct(struct kfm_le_direct *le, int honest)
{
	struct kfm_le_direct again;
	u64 sectors = 1 + le64_to_cpu(le->log) % 5000;
	struct kfm_rec r;
	u32 crc;

	if (honest) {
		le->magic = cpu_to_le32(KFM_DIRECT_MAGIC);
		le->len = cpu_to_le32(le32_to_cpu(le->len) % (KFM_WRITE_MAX + 2 * KFM_SECTOR) /
				      KFM_SECTOR * KFM_SECTOR);
		if (le32_to_cpu(le->flags) & KFM_D_ZEROES)	/* and longer */
			le->len = cpu_to_le32(le32_to_cpu(le->len) * 64);
		le->crc = 0;
		le->crc = cpu_to_le32(crc32c(~0U, le, sizeof(*le)));
	}
	if (kfm_direct_decode(le, sectors, &r))
		return;
	if (r.flags & KFM_D_FLUSH) {
		PROMISE(r.seq && !r.len && !r.sector && r.flags == KFM_D_FLUSH);
	} else {
		PROMISE(r.seq && r.len && !(r.len % KFM_SECTOR));
		PROMISE(r.len <= (r.flags & KFM_D_ZEROES ? KFM_ZEROES_MAX : KFM_WRITE_MAX));
		PROMISE(!(r.flags & (KFM_D_CRC | KFM_D_CACHED) && r.flags & KFM_D_ZEROES));
	}
	PROMISE(r.sector < sectors && r.sector + r.len / KFM_SECTOR <= sectors);
	crc = le32_to_cpu(le->data_crc);
	if (!(r.flags & KFM_D_CRC) && crc)	/* not looked at */
		return;
	kfm_direct_encode(&r, r.flags & KFM_D_CRC ? &crc : NULL, &again);
	PROMISE(!memcmp(le, &again, sizeof(again)));
}

static void fuzz_msg(struct kfm_le_msg *le, int honest)
{
	struct kfm_le_msg again;
	struct kfm_msg m;

	if (honest) {
		le->magic = cpu_to_le32(KFM_MSG_MAGIC);
		le->version = cpu_to_le16(KFM_MSG_VERSION);
		le->type = cpu_to_le16(le16_to_cpu(le->type) % (KFM_MSG_TYPES + 1));
		le->flags = cpu_to_le32(le32_to_cpu(le->flags) & KFM_M_FLAGS);
	}
	if (kfm_msg_decode(le, sizeof(*le), &m))
		return;
	PROMISE(m.type && m.type < KFM_MSG_TYPES && m.session && m.state < KFM_STATES);
	PROMISE(m.node || m.type == KFM_REFUSED);
	PROMISE(m.type != KFM_REFUSED || m.arg);
	if (m.type == KFM_GRANT && m.flags & KFM_M_WITNESS)
		PROMISE(!m.ring_len && !m.arg && !m.bitmap_len && m.flags == KFM_M_WITNESS);
	else if (m.type == KFM_GRANT && m.ring_len)
		PROMISE(m.ring_len >= KFM_RING_MIN && m.ring_len <= KFM_RING_MAX);
	else if (m.type == KFM_GRANT)
		PROMISE(m.arg);
	PROMISE(m.type != KFM_GRANT || m.arg || !(m.flags & KFM_M_ZEROES));
	PROMISE(m.type != KFM_HELLO || (m.arg < KFM_QUORUM && m.sectors && m.lbs));
	PROMISE((m.type != KFM_HELLO && m.type != KFM_STATE) || (m.peers && m.peers <= KFM_PEERS));
	PROMISE(m.type != KFM_ATTACH || (m.gens.cur && (!m.arg || m.gens.source)));
	PROMISE((m.type != KFM_COPY && m.type != KFM_HASH) ||
		(m.arg && m.arg <= KFM_WRITE_MAX && !(m.arg % KFM_SECTOR) && m.id));
	kfm_msg_encode(&m, &again);
	PROMISE(!memcmp(le, &again, sizeof(again)));
	PROMISE(kfm_msg_decode(le, sizeof(*le) - 1, &m) == -EPROTO);
}

/* A scan of a ring ends, inside of it, whatever is there. */
static void fuzz_ring(const u8 *data, size_t size)
{
	struct kfm_log_head h = { .id = 1, .gen = 1, .seq = 1 };
	u8 *ring = calloc(1, size + 1);
	struct kfm_rec r;

	memcpy(ring, data, size);
	while (!kfm_ring_next(ring, size, 5000, &h, &r)) {
		PROMISE(r.at + KFM_REC_DATA_AT + r.len <= size && r.seq == h.seq);
		h.seq++;
		h.at = r.at + kfm_rec_room(r.len);
	}
	free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u8 block[KFM_SECTOR] __attribute__((aligned(8))) = {};
	int honest;

	if (!size)
		return 0;
	honest = !(data[0] & 8);
	memcpy(block, data + 1, size - 1 < sizeof(block) ? size - 1 : sizeof(block));
	switch (data[0] & 7) {
	case 0:
		fuzz_super((void *)block, honest);
		break;
	case 1:
		fuzz_log((void *)block, honest);
		break;
	case 2:
		fuzz_rec((void *)block, honest, data[0] & 16);
		break;
	case 3:
		fuzz_msg((void *)block, honest);
		break;
	case 4:
		fuzz_direct((void *)block, honest);
		break;
	default:
		fuzz_ring(data + 1, size - 1);
	}
	return 0;
}
