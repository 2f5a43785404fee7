// SPDX-License-Identifier: GPL-2.0
/*
 * proto.c - encode and decode what kfi_mirror stores and sends, and compare generations. Pure
 * functions, which tests/fuzz also builds for user space.
 *
 * The decoders of blocks return 0; -ENODATA for a block of zeros; -EMEDIUMTYPE for a block with
 * another magic; -EPROTONOSUPPORT for another version; -EBADMSG for a damaged block.
 */
#ifdef __KERNEL__
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/string.h>
#endif
#include "proto.h"

#ifndef __KERNEL__
u32 crc32c(u32 crc, const void *p, size_t len);
#endif

static bool all_zero(const u8 *p, size_t len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* CRC of @len bytes at @p, of which the member of 4 bytes at @hole counts as 0 */
static u32 crc_skipping(const void *p, size_t hole, size_t len)
{
	static const u8 none[4];
	u32 crc;

	crc = crc32c(~0U, p, hole);
	crc = crc32c(crc, none, sizeof(none));
	return crc32c(crc, (const u8 *)p + hole + sizeof(none), len - hole - sizeof(none));
}

/*
 * @known: is it of a version that this module reads? A block of another one has the CRC at the same
 * place, so damage is not taken for it.
 */
static int check_block(const void *p, u64 magic, u64 found, bool known, u32 crc, size_t hole)
{
	if (all_zero(p, KFM_SECTOR))
		return -ENODATA;
	if (found != magic)
		return -EMEDIUMTYPE;
	if (crc_skipping(p, hole, KFM_SECTOR) != crc)
		return -EBADMSG;
	return known ? 0 : -EPROTONOSUPPORT;
}

static void gens_encode(const struct kfm_gens *g, struct kfm_le_gens *out)
{
	unsigned int i;

	out->cur = cpu_to_le64(g->cur);
	out->base = cpu_to_le64(g->base);
	out->source = cpu_to_le64(g->source);
	for (i = 0; i < KFM_HISTORY; i++)
		out->history[i] = cpu_to_le64(g->history[i]);
}

static void gens_decode(const struct kfm_le_gens *in, struct kfm_gens *g)
{
	unsigned int i;

	g->cur = le64_to_cpu(in->cur);
	g->base = le64_to_cpu(in->base);
	g->source = le64_to_cpu(in->source);
	for (i = 0; i < KFM_HISTORY; i++)
		g->history[i] = le64_to_cpu(in->history[i]);
}

/* Bytes of a bitmap on the device, in the form of the superblock */
static u32 stored_bytes(const struct kfm_super *s, u32 shift)
{
	return s->coarse || s->plain ? kfm_bitmap_bytes(s->sectors, shift) :
				       kfm_map_room(kfm_map_bytes(s->sectors, shift));
}

/* Where the bitmaps are, which follows from the size and the number of peers */
static void layout_encode(const struct kfm_super *s, struct kfm_le_super *out)
{
	u32 shift = s->coarse ? kfm_wire_shift(s->sectors) : kfm_region_shift(s->sectors);
	u32 extent = kfm_extent_shift(s->sectors), at = KFM_BITMAP_AT;

	if (!s->coarse) {
		out->extent_shift = cpu_to_le32(extent);
		out->active_at = cpu_to_le32(at);
		out->active_bytes = cpu_to_le32(stored_bytes(s, extent));
		at += s->peers * stored_bytes(s, extent);
	}
	out->region_shift = cpu_to_le32(shift);
	out->bitmap_at = cpu_to_le32(at);
	out->bitmap_bytes = cpu_to_le32(stored_bytes(s, shift));
}

static bool layout_fits(const struct kfm_le_super *in, const struct kfm_super *s)
{
	struct kfm_le_super want = {};

	layout_encode(s, &want);
	return in->region_shift == want.region_shift && in->bitmap_at == want.bitmap_at &&
	       in->bitmap_bytes == want.bitmap_bytes && in->extent_shift == want.extent_shift &&
	       in->active_at == want.active_at && in->active_bytes == want.active_bytes;
}

static void pair_encode(const struct kfm_pair *pair, struct kfm_le_pair *out)
{
	out->node = cpu_to_le64(pair->node);
	out->base = cpu_to_le64(pair->base);
	out->source = cpu_to_le64(pair->source);
	out->flags = cpu_to_le32(pair->flags);
}

/* Return: 0, or -EBADMSG. A peer behind the last one has nothing but zeros. */
static int pair_decode(const struct kfm_le_pair *in, bool used, struct kfm_pair *pair)
{
	pair->node = le64_to_cpu(in->node);
	pair->base = le64_to_cpu(in->base);
	pair->source = le64_to_cpu(in->source);
	pair->flags = le32_to_cpu(in->flags);
	if (!used)
		return all_zero((const u8 *)in, sizeof(*in)) ? 0 : -EBADMSG;
	return in->zero || pair->flags & ~KFM_PAIR_FLAGS ? -EBADMSG : 0;
}

/* What a superblock has since version 7 */
static void told_encode(const struct kfm_super *s, struct kfm_le_super *out)
{
	unsigned int i;

	out->head = cpu_to_le64(s->head);
	for (i = 0; i < KFM_PEERS; i++) {
		out->heard[i].super = cpu_to_le64(s->heard[i].super);
		out->heard[i].head = cpu_to_le64(s->heard[i].head);
		out->maps[i] = cpu_to_le32(s->maps[i]);
	}
	out->sample = cpu_to_le32(s->sample);
	for (i = 0; i < KFM_SAMPLES; i++)
		out->regions[i] = cpu_to_le32(s->regions[i]);
}

static void told_decode(const struct kfm_le_super *in, struct kfm_super *s)
{
	unsigned int i;

	s->head = le64_to_cpu(in->head);
	for (i = 0; i < KFM_PEERS; i++) {
		s->heard[i].super = le64_to_cpu(in->heard[i].super);
		s->heard[i].head = le64_to_cpu(in->heard[i].head);
		s->maps[i] = le32_to_cpu(in->maps[i]);
	}
	s->sample = le32_to_cpu(in->sample);
	for (i = 0; i < KFM_SAMPLES; i++)
		s->regions[i] = le32_to_cpu(in->regions[i]);
}

void kfm_super_encode(const struct kfm_super *s, struct kfm_le_super *out)
{
	unsigned int i;

	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le64(KFM_SUPER_MAGIC);
	out->version = cpu_to_le32(s->coarse ? KFM_VERSION_COARSE :
				   s->plain ? KFM_VERSION_PLAIN : KFM_VERSION);
	out->serial = cpu_to_le64(s->serial);
	memcpy(out->uuid, s->uuid, sizeof(out->uuid));
	out->node = cpu_to_le64(s->node);
	gens_encode(&s->gens, &out->gens);
	out->sectors = cpu_to_le64(s->sectors);
	layout_encode(s, out);
	out->state = cpu_to_le32(s->state);
	out->flags = cpu_to_le32(s->flags);
	out->peers = cpu_to_le32(s->peers);
	for (i = 0; i < s->peers && i < KFM_PEERS; i++)
		pair_encode(&s->pairs[i], &out->pairs[i]);
	for (i = 0; i < KFM_PEERS; i++)
		out->nodes[i] = cpu_to_le64(s->nodes[i]);
	out->label = cpu_to_le64(s->label);
	out->label_next = cpu_to_le64(s->label_next);
	if (!s->coarse && !s->plain)
		told_encode(s, out);
	out->crc = cpu_to_le32(crc_skipping(out, offsetof(struct kfm_le_super, crc), sizeof(*out)));
}

/* Does a superblock have nothing that came with version 7? */
static bool untold(const struct kfm_le_super *in, u32 flags)
{
	const u8 *from = (const u8 *)&in->head;

	return all_zero(from, (const u8 *)in + sizeof(*in) - from) &&
	       !(flags & (KFM_SB_REST | KFM_SB_SAMPLE));
}

/* Does a superblock have nothing that came with version 6? */
static bool unlabelled(const struct kfm_super *s)
{
	u32 flags = 0;
	unsigned int i;

	for (i = 0; i < KFM_PEERS; i++)
		flags |= s->pairs[i].flags & KFM_PAIR_LEFT;
	return !flags && !s->label && !s->label_next &&
	       !(s->flags & (KFM_SB_LABEL | KFM_SB_INTERNAL));
}

/* A witness has no leg, and a leg with the metadata has no other label. */
static bool label_fits(u32 flags)
{
	flags &= KFM_SB_WITNESS | KFM_SB_LABEL | KFM_SB_INTERNAL;
	return !(flags & (flags - 1));
}

int kfm_super_decode(const struct kfm_le_super *in, struct kfm_super *s)
{
	u32 version = le32_to_cpu(in->version);
	int ret = check_block(in, KFM_SUPER_MAGIC, le64_to_cpu(in->magic),
			      version >= KFM_VERSION_LOWEST && version <= KFM_VERSION,
			      le32_to_cpu(in->crc), offsetof(struct kfm_le_super, crc));
	unsigned int i;

	if (ret)
		return ret;
	s->coarse = version == KFM_VERSION_COARSE;
	s->plain = !s->coarse && version <= KFM_VERSION_PLAIN;
	s->serial = le64_to_cpu(in->serial);
	memcpy(s->uuid, in->uuid, sizeof(s->uuid));
	s->node = le64_to_cpu(in->node);
	gens_decode(&in->gens, &s->gens);
	s->sectors = le64_to_cpu(in->sectors);
	s->state = le32_to_cpu(in->state);
	s->flags = le32_to_cpu(in->flags);
	s->peers = le32_to_cpu(in->peers);
	for (i = 0; i < KFM_PEERS; i++) {
		if (pair_decode(&in->pairs[i], i < s->peers, &s->pairs[i]))
			return -EBADMSG;
		s->nodes[i] = le64_to_cpu(in->nodes[i]);
	}
	s->label = le64_to_cpu(in->label);
	s->label_next = le64_to_cpu(in->label_next);
	told_decode(in, s);
	if (version <= KFM_VERSION_UNTOLD && !untold(in, s->flags))
		return -EBADMSG;
	if (version <= KFM_VERSION_PLAIN ? !unlabelled(s) : !label_fits(s->flags))
		return -EBADMSG;
	if (!s->sectors || s->sectors > KFM_SECTORS_MAX || !s->peers || s->peers > KFM_PEERS ||
	    !layout_fits(in, s) || s->state >= KFM_STATES || s->flags & ~KFM_SB_FLAGS ||
	    (s->coarse && s->flags & KFM_SB_BITS_LOST) || !s->node || s->gens.base ||
	    (version <= KFM_VERSION_TRUSTING && s->flags & KFM_SB_DOUBT) ||
	    (s->state != KFM_BLANK && !s->gens.cur && !s->gens.source) ||
	    !all_zero(in->zero, sizeof(in->zero)))
		return -EBADMSG;
	return 0;
}

void kfm_label_encode(const struct kfm_label *l, struct kfm_le_label *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le64(KFM_LABEL_MAGIC);
	out->version = cpu_to_le32(KFM_LABEL_VERSION);
	memcpy(out->uuid, l->uuid, sizeof(out->uuid));
	out->node = cpu_to_le64(l->node);
	out->mark = cpu_to_le64(l->mark);
	out->sectors = cpu_to_le64(l->sectors);
	out->at = cpu_to_le64(l->at);
	out->flags = cpu_to_le32(l->flags);
	out->crc = cpu_to_le32(crc_skipping(out, offsetof(struct kfm_le_label, crc), sizeof(*out)));
}

int kfm_label_decode(const struct kfm_le_label *in, struct kfm_label *l)
{
	int ret = check_block(in, KFM_LABEL_MAGIC, le64_to_cpu(in->magic),
			      le32_to_cpu(in->version) == KFM_LABEL_VERSION,
			      le32_to_cpu(in->crc), offsetof(struct kfm_le_label, crc));

	if (ret)
		return ret;
	memcpy(l->uuid, in->uuid, sizeof(l->uuid));
	l->node = le64_to_cpu(in->node);
	l->mark = le64_to_cpu(in->mark);
	l->sectors = le64_to_cpu(in->sectors);
	l->at = le64_to_cpu(in->at);
	l->flags = le32_to_cpu(in->flags);
	if (!l->node || !l->sectors || l->sectors > KFM_SECTORS_MAX ||
	    l->flags & ~KFM_LABEL_FLAGS || !(l->flags & KFM_LABEL_INTERNAL) != !l->at ||
	    !all_zero(in->zero, sizeof(in->zero)))
		return -EBADMSG;
	return 0;
}

void kfm_log_encode(const struct kfm_log_head *h, struct kfm_le_log *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le64(KFM_LOG_MAGIC);
	out->version = cpu_to_le32(KFM_LOG_VERSION);
	out->serial = cpu_to_le64(h->serial);
	memcpy(out->uuid, h->uuid, sizeof(out->uuid));
	out->id = cpu_to_le64(h->id);
	out->gen = cpu_to_le64(h->gen);
	out->node = cpu_to_le64(h->node);
	out->seq = cpu_to_le64(h->seq);
	out->at = cpu_to_le32(h->at);
	out->ring = cpu_to_le32(h->ring);
	out->super = cpu_to_le64(h->super);
	out->owner = cpu_to_le64(h->owner);
	out->epoch = cpu_to_le64(h->epoch);
	out->number = cpu_to_le64(h->number);
	out->crc = cpu_to_le32(crc_skipping(out, offsetof(struct kfm_le_log, crc), sizeof(*out)));
}

static bool ring_fits(u32 len)
{
	return len >= KFM_RING_MIN && len <= KFM_RING_MAX && !(len % KFM_BLOCK);
}

int kfm_log_decode(const struct kfm_le_log *in, struct kfm_log_head *h)
{
	u32 version = le32_to_cpu(in->version);
	int ret = check_block(in, KFM_LOG_MAGIC, le64_to_cpu(in->magic),
			      version >= KFM_LOG_LOWEST && version <= KFM_LOG_VERSION,
			      le32_to_cpu(in->crc), offsetof(struct kfm_le_log, crc));

	if (ret)
		return ret;
	h->serial = le64_to_cpu(in->serial);
	memcpy(h->uuid, in->uuid, sizeof(h->uuid));
	h->id = le64_to_cpu(in->id);
	h->gen = le64_to_cpu(in->gen);
	h->node = le64_to_cpu(in->node);
	h->seq = le64_to_cpu(in->seq);
	h->at = le32_to_cpu(in->at);
	h->ring = le32_to_cpu(in->ring);
	h->super = le64_to_cpu(in->super);
	h->owner = le64_to_cpu(in->owner);
	h->epoch = le64_to_cpu(in->epoch);
	h->number = le64_to_cpu(in->number);
	if (version <= KFM_LOG_UNTOLD && (h->super || h->owner || h->epoch || h->number))
		return -EBADMSG;
	if (!ring_fits(h->ring) || h->at % KFM_SECTOR || h->at > h->ring ||
	    !all_zero(in->zero, sizeof(in->zero)))
		return -EBADMSG;
	return 0;
}

/* The CRC of the data continues from that of the head. */
static u32 rec_crc(const struct kfm_le_rec *head, const void *data, u32 len)
{
	u32 crc = crc_skipping(head, offsetof(struct kfm_le_rec, crc), sizeof(*head));

	return crc32c(crc, data, len);
}

void kfm_rec_encode(const struct kfm_rec *r, const void *data, struct kfm_le_rec *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le32(KFM_REC_MAGIC);
	out->log = cpu_to_le64(r->log);
	out->gen = cpu_to_le64(r->gen);
	out->seq = cpu_to_le64(r->seq);
	out->sector = cpu_to_le64(r->sector);
	out->len = cpu_to_le32(r->len);
	out->number = cpu_to_le64(r->number);
	out->crc = cpu_to_le32(rec_crc(out, data, r->len));
}

/* Does a record, of at most @most bytes, lie inside the mirror? */
static bool rec_fits(const struct kfm_rec *r, u32 most, u64 sectors)
{
	return r->seq && r->len && r->len <= most && !(r->len % KFM_SECTOR) &&
	       r->sector < sectors && sectors - r->sector >= r->len / KFM_SECTOR;
}

/**
 * kfm_rec_decode() - read the head of a record
 * @in: a copy of the head, which does not change
 * @sectors: size of the mirror
 * @r: the record; @at is not set
 *
 * Return: 0 if the record lies inside the mirror, else -EBADMSG. The data is not checked.
 */
int kfm_rec_decode(const struct kfm_le_rec *in, u64 sectors, struct kfm_rec *r)
{
	if (le32_to_cpu(in->magic) != KFM_REC_MAGIC || !all_zero(in->zero, sizeof(in->zero)))
		return -EBADMSG;
	r->log = le64_to_cpu(in->log);
	r->gen = le64_to_cpu(in->gen);
	r->seq = le64_to_cpu(in->seq);
	r->sector = le64_to_cpu(in->sector);
	r->len = le32_to_cpu(in->len);
	r->number = le64_to_cpu(in->number);
	return rec_fits(r, KFM_WRITE_MAX, sectors) ? 0 : -EBADMSG;
}

bool kfm_rec_intact(const struct kfm_le_rec *in, const void *data, u32 len)
{
	return rec_crc(in, data, len) == le32_to_cpu(in->crc);
}

/* Without a range, and without any other flag */
static bool flush_fits(const struct kfm_rec *r)
{
	return r->seq && !r->sector && !r->len && r->flags == KFM_D_FLUSH;
}

/* @data_crc: CRC32C of the data, or NULL if there is none, or if it goes without */
void kfm_direct_encode(const struct kfm_rec *r, const u32 *data_crc, struct kfm_le_direct *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le32(KFM_DIRECT_MAGIC);
	out->log = cpu_to_le64(r->log);
	out->gen = cpu_to_le64(r->gen);
	out->number = cpu_to_le64(r->seq);
	out->sector = cpu_to_le64(r->sector);
	out->len = cpu_to_le32(r->len);
	out->data_crc = cpu_to_le32(data_crc ? *data_crc : 0);
	out->flags = cpu_to_le32(r->flags | (data_crc ? KFM_D_CRC : 0));
	out->crc = cpu_to_le32(crc_skipping(out, offsetof(struct kfm_le_direct, crc),
					    sizeof(*out)));
}

/**
 * kfm_direct_decode() - read the head of a direct record
 * @in: a copy of the head, which does not change
 * @sectors: size of the mirror
 * @r: the record; @at is not set
 *
 * Return: 0 if the head is intact, and the record lies inside the mirror or is a flush, else
 * -EBADMSG. The data is not checked.
 */
int kfm_direct_decode(const struct kfm_le_direct *in, u64 sectors, struct kfm_rec *r)
{
	bool zeroes;

	if (le32_to_cpu(in->magic) != KFM_DIRECT_MAGIC || !all_zero(in->zero, sizeof(in->zero)) ||
	    le32_to_cpu(in->flags) & ~KFM_D_FLAGS ||
	    crc_skipping(in, offsetof(struct kfm_le_direct, crc), sizeof(*in)) !=
	    le32_to_cpu(in->crc))
		return -EBADMSG;
	r->log = le64_to_cpu(in->log);
	r->gen = le64_to_cpu(in->gen);
	r->seq = le64_to_cpu(in->number);
	r->sector = le64_to_cpu(in->sector);
	r->len = le32_to_cpu(in->len);
	r->flags = le32_to_cpu(in->flags);
	if (r->flags & KFM_D_FLUSH)
		return flush_fits(r) ? 0 : -EBADMSG;
	zeroes = r->flags & KFM_D_ZEROES;
	if (r->flags & (zeroes ? KFM_D_CRC | KFM_D_CACHED : KFM_D_NOUNMAP))
		return -EBADMSG;
	return rec_fits(r, zeroes ? KFM_ZEROES_MAX : KFM_WRITE_MAX, sectors) ? 0 : -EBADMSG;
}

/* Is that the head of the next record of a log, with room for its data behind @at? */
static bool head_fits(const struct kfm_le_rec *head, u32 ring_len, u64 sectors,
		      const struct kfm_log_head *h, u32 at, struct kfm_rec *r)
{
	return !kfm_rec_decode(head, sectors, r) && r->log == h->id && r->gen == h->gen &&
	       r->seq == h->seq && ring_len - at >= kfm_rec_room(r->len);
}

static int ring_at(const u8 *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h, u32 at,
		   struct kfm_rec *r)
{
	struct kfm_le_rec head;

	if (at > ring_len || ring_len - at < KFM_REC_DATA_AT)
		return -ENODATA;
	memcpy(&head, ring + at + KFM_REC_HEAD_AT, sizeof(head));
	if (!head_fits(&head, ring_len, sectors, h, at, r))
		return -ENODATA;
	if (!kfm_rec_intact(&head, ring + at + KFM_REC_DATA_AT, r->len))
		return -ENODATA;
	r->at = at;
	return 0;
}

/**
 * kfm_ring_next() - find the next complete record of a log
 * @ring: the ring
 * @ring_len: bytes of it
 * @sectors: size of the mirror
 * @h: @seq is the sequence number of the record, @at the end of the record before it
 * @r: the record
 *
 * Return: 0, or -ENODATA if the record is missing or incomplete.
 */
int kfm_ring_next(const void *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h,
		  struct kfm_rec *r)
{
	int ret = ring_at(ring, ring_len, sectors, h, h->at, r);

	return ret && h->at ? ring_at(ring, ring_len, sectors, h, 0, r) : ret;
}

/* ---- damage ---- */

void kfm_mark_encode(u64 log, u64 row, struct kfm_le_mark *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le32(KFM_MARK_MAGIC);
	out->log = cpu_to_le64(log);
	out->row = cpu_to_le64(row);
	out->crc = cpu_to_le32(crc_skipping(out, offsetof(struct kfm_le_mark, crc), sizeof(*out)));
}

/* Does a mark say that the next record of the log, or one behind it, was durable? */
static bool marked(const u8 *at, const struct kfm_log_head *h)
{
	struct kfm_le_mark mark;

	memcpy(&mark, at, sizeof(mark));
	return le32_to_cpu(mark.magic) == KFM_MARK_MAGIC && le64_to_cpu(mark.log) == h->id &&
	       le64_to_cpu(mark.row) > h->seq &&
	       crc_skipping(&mark, offsetof(struct kfm_le_mark, crc), sizeof(mark)) ==
	       le32_to_cpu(mark.crc);
}

/* Does a CRC32C differ by @diff if one of the last @bits bits that it covers is another one? */
static bool one_bit(u32 diff, u32 bits)
{
	u32 s = 0x82f63b78;	/* of the last bit; each bit behind it is one more step */

	for (; bits && s != diff; bits--)
		s = s >> 1 ^ (s & 1 ? 0x82f63b78 : 0);
	return bits;
}

/* Is the next record of the log at @at but for one bit, in its head or in its data? */
static bool nearly_at(const u8 *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h,
		      u32 at)
{
	struct kfm_le_rec head;
	u8 *bytes = (u8 *)&head;
	const u8 *data = ring + at + KFM_REC_DATA_AT;
	struct kfm_rec r;
	unsigned int i;

	if (at > ring_len || ring_len - at < KFM_REC_DATA_AT)
		return false;
	memcpy(&head, ring + at + KFM_REC_HEAD_AT, sizeof(head));
	for (i = 0; i < 8 * sizeof(head); i++) {
		bytes[i / 8] ^= 1 << i % 8;
		if (head_fits(&head, ring_len, sectors, h, at, &r) &&
		    kfm_rec_intact(&head, data, r.len))
			return true;
		bytes[i / 8] ^= 1 << i % 8;
	}
	return head_fits(&head, ring_len, sectors, h, at, &r) &&
	       one_bit(rec_crc(&head, data, r.len) ^ le32_to_cpu(head.crc), 8 * r.len);
}

/**
 * kfm_ring_damaged() - has a record been damaged at which a replay has ended?
 * @ring: the ring, as it is on the device
 * @ring_len: bytes of it
 * @sectors: size of the mirror
 * @h: as for kfm_ring_next(), which has not found the record
 *
 * Mostly the record was never written, or not as a whole: the log ends there. It was damaged if a
 * mark says that it was durable; or if it is there but for one bit, for the last records have no
 * mark behind them. A record that was cut short looks like that by chance only, once in 2^17 for 4
 * KiB.
 *
 * Return: true if the record, which may have been acknowledged, was damaged.
 */
bool kfm_ring_damaged(const void *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h)
{
	u32 at;

	for (at = 0; at < ring_len; at += KFM_SECTOR) {
		if (marked((const u8 *)ring + at, h))
			return true;
	}
	return nearly_at(ring, ring_len, sectors, h, h->at) ||
	       nearly_at(ring, ring_len, sectors, h, 0);
}

/**
 * kfm_ring_place() - find the place of a record
 * @ring_len: bytes of the ring
 * @at: end of the previous record, up to @ring_len
 * @room: bytes that the record takes
 * @take: bytes that are used up, including those skipped at the end of the ring
 *
 * Return: where the record begins.
 */
u32 kfm_ring_place(u32 ring_len, u32 at, u32 room, u32 *take)
{
	bool wrap = ring_len - at < room;

	*take = room + (wrap ? ring_len - at : 0);
	return wrap ? 0 : at;
}

void kfm_msg_encode(const struct kfm_msg *m, struct kfm_le_msg *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = cpu_to_le32(KFM_MSG_MAGIC);
	out->version = cpu_to_le16(m->version ?: KFM_MSG_LOWEST);
	out->type = cpu_to_le16(m->type);
	out->session = cpu_to_le64(m->session);
	memcpy(out->uuid, m->uuid, sizeof(out->uuid));
	gens_encode(&m->gens, &out->gens);
	out->sectors = cpu_to_le64(m->sectors);
	out->lbs = cpu_to_le32(m->lbs);
	out->state = cpu_to_le32(m->state);
	out->flags = cpu_to_le32(m->flags);
	out->arg = cpu_to_le32(m->arg);
	out->seq = cpu_to_le64(m->seq);
	out->ring_key = cpu_to_le64(m->ring_key);
	out->ring_addr = cpu_to_le64(m->ring_addr);
	out->bitmap_key = cpu_to_le64(m->bitmap_key);
	out->bitmap_addr = cpu_to_le64(m->bitmap_addr);
	out->ring_len = cpu_to_le32(m->ring_len);
	out->bitmap_len = cpu_to_le32(m->bitmap_len);
	out->patch_key = cpu_to_le64(m->patch_key);
	out->patch_addr = cpu_to_le64(m->patch_addr);
	out->id = cpu_to_le64(m->id);
	out->sector = cpu_to_le64(m->sector);
	out->crc = cpu_to_le32(m->crc);
	out->node = cpu_to_le64(m->node);
	out->peers = cpu_to_le32(m->peers);
}

static bool msg_fits(const struct kfm_msg *m)
{
	if (!m->type || m->type >= KFM_MSG_TYPES || !m->session || m->flags & ~KFM_M_FLAGS ||
	    m->state >= KFM_STATES || (!m->node && m->type != KFM_REFUSED))
		return false;
	switch (m->type) {
	case KFM_REFUSED:
		return m->arg;	/* a later version may have a reason of its own */
	case KFM_HELLO:
		return m->arg <= KFM_ALONE && m->sectors && m->lbs >= KFM_SECTOR &&
		       m->lbs <= KFM_WRITE_MAX && m->peers && m->peers <= KFM_PEERS;
	case KFM_STATE:
		return m->peers && m->peers <= KFM_PEERS;
	case KFM_ATTACH:
		return m->gens.cur && m->arg <= 1 && (!m->arg || m->gens.source);
	case KFM_SYNCED:
		return m->gens.cur;
	case KFM_GRANT:
		if (m->flags & KFM_M_WITNESS)	/* no copy: nothing to write to, or to read */
			return m->flags == KFM_M_WITNESS && !m->ring_len && !m->bitmap_len &&
			       !m->arg;
		return (m->ring_len ? ring_fits(m->ring_len) : m->arg) &&
		       m->bitmap_len <= KFM_WIRE_REGIONS_MAX / 8 && m->arg <= KFM_SLOTS_MAX &&
		       (m->arg || !(m->flags & KFM_M_ZEROES));
	case KFM_HASHED:
		return m->arg <= 1;
	case KFM_COPY:
		return m->arg && m->arg <= KFM_WRITE_MAX && !(m->arg % KFM_SECTOR) && m->id &&
		       m->patch < KFM_PATCHES;
	case KFM_HASH:
		return m->arg && m->arg <= KFM_WRITE_MAX && !(m->arg % KFM_SECTOR) && m->id;
	default:
		return true;
	}
}

const struct kfi_versions kfm_speaks = { .lowest = KFM_MSG_LOWEST, .highest = KFM_MSG_VERSION };

/**
 * kfm_msg_decode() - read a message
 * @in: bytes
 * @len: how many
 * @m: the message
 *
 * Return: 0; -EPROTONOSUPPORT for a message of another version, of which only @type and @session
 * are known; -EPROTO if it is no valid message. HELLO and REFUSED are the same in all versions.
 */
int kfm_msg_decode(const void *in, size_t len, struct kfm_msg *m)
{
	struct kfm_le_msg le;
	bool known;

	if (len != sizeof(le))
		return -EPROTO;
	memcpy(&le, in, sizeof(le));
	if (le32_to_cpu(le.magic) != KFM_MSG_MAGIC)
		return -EPROTO;
	m->version = le16_to_cpu(le.version);
	m->type = le16_to_cpu(le.type);
	m->session = le64_to_cpu(le.session);
	known = m->version >= KFM_MSG_LOWEST && m->version <= KFM_MSG_VERSION;
	if (!known && m->type != KFM_HELLO && m->type != KFM_REFUSED)
		return -EPROTONOSUPPORT;
	if (known && !all_zero(le.zero, sizeof(le.zero)))
		return -EPROTO;
	memcpy(m->uuid, le.uuid, sizeof(m->uuid));
	gens_decode(&le.gens, &m->gens);
	m->sectors = le64_to_cpu(le.sectors);
	m->lbs = le32_to_cpu(le.lbs);
	m->state = le32_to_cpu(le.state);
	m->flags = le32_to_cpu(le.flags);
	m->arg = le32_to_cpu(le.arg);
	m->seq = le64_to_cpu(le.seq);
	m->ring_key = le64_to_cpu(le.ring_key);
	m->ring_addr = le64_to_cpu(le.ring_addr);
	m->bitmap_key = le64_to_cpu(le.bitmap_key);
	m->bitmap_addr = le64_to_cpu(le.bitmap_addr);
	m->ring_len = le32_to_cpu(le.ring_len);
	m->bitmap_len = le32_to_cpu(le.bitmap_len);
	m->patch_key = le64_to_cpu(le.patch_key);
	m->patch_addr = le64_to_cpu(le.patch_addr);
	m->id = le64_to_cpu(le.id);
	m->sector = le64_to_cpu(le.sector);
	m->crc = le32_to_cpu(le.crc);
	m->node = le64_to_cpu(le.node);
	m->peers = le32_to_cpu(le.peers);
	if (msg_fits(m))
		return 0;
	return known ? -EPROTO : -EPROTONOSUPPORT;
}

/* ---- generations ---- */

/* Return: how many generations ago @gen was the present one; -1 if it is none of them. */
static int gens_age(const struct kfm_gens *g, u64 gen)
{
	unsigned int i;

	if (!gen)
		return -1;
	if (gen == g->cur)
		return 0;
	for (i = 0; i < KFM_HISTORY; i++) {
		if (g->history[i] == gen)
			return i + 1;
	}
	return -1;
}

/**
 * kfm_compare() - compare the generations of a primary, or of a candidate, with those of its peer
 * @mine: generations of this node, whose copy is whole, with base and source for this peer
 * @peer: generations of the peer
 * @peer_state: enum kfm_state of the peer's copy
 *
 * The bitmap for the peer describes all differences in two cases: the peer's copy is whole and not
 * older than @base; or it is partly overwritten by this node's resynchronisation @source, and the
 * bitmap still has the regions that it did not reach.
 */
enum kfm_verdict kfm_compare(const struct kfm_gens *mine, const struct kfm_gens *peer,
			     u32 peer_state)
{
	int age = gens_age(mine, peer->cur);

	if (peer_state == KFM_BLANK)
		return KFM_FULL;
	if (peer_state == KFM_INCONSISTENT) {
		if (peer->source && peer->source == mine->source)
			return KFM_BITS;
		return gens_age(mine, peer->source) < 0 ? KFM_SPLIT : KFM_FULL;
	}
	if (!age)
		return KFM_SAME;
	if (age > 0)
		return age <= gens_age(mine, mine->base) ? KFM_BITS : KFM_FULL;
	return gens_age(peer, mine->cur) < 0 ? KFM_SPLIT : KFM_STALE;
}

/* Begin a generation. @id is a random number other than 0. */
void kfm_gens_raise(struct kfm_gens *gens, u64 id)
{
	if (gens->cur) {
		memmove(&gens->history[1], &gens->history[0],
			sizeof(gens->history) - sizeof(gens->history[0]));
		gens->history[0] = gens->cur;
	}
	gens->cur = id;
}

/* The present generation counts no more: the one before it is the present one again. */
void kfm_gens_lower(struct kfm_gens *gens)
{
	gens->cur = gens->history[0];
	memmove(&gens->history[0], &gens->history[1],
		sizeof(gens->history) - sizeof(gens->history[0]));
	gens->history[KFM_HISTORY - 1] = 0;
}
