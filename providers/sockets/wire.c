// SPDX-License-Identifier: GPL-2.0
/*
 * wire.c - the one place where kfi_sockets' frames are encoded and decoded. Pure functions: the fuzzer builds this file
 * in user space.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "wire.h"

/* What each type of frame may carry. One row a type; decode has no special cases beyond it. */
static const struct skw_rule {
	u8   flags;		/* allowed */
	u8   must;		/* of these, required */
	bool eager;		/* payload bounded by the announced eager size */
	bool payload;		/* may have payload at all */
	bool segments;		/* needs at least one segment, and lengths are theirs */
	bool atomic;		/* payload and length are those of skw_atomic_ok() */
} skw_rules[SKW_TYPES] = {
	[SKW_MSG]	= { .flags = SKW_F_TAGGED | SKW_F_CQ_DATA | SKW_F_ACK | SKW_F_INV | SKW_F_LAZY,
			    .payload = true, .eager = true },
	[SKW_RTS]	= { .flags = SKW_F_TAGGED | SKW_F_CQ_DATA | SKW_F_RMA | SKW_F_INV },
	[SKW_CTS]	= {},
	[SKW_DATA]	= { .payload = true },
	[SKW_WRITE]	= { .flags = SKW_F_CQ_DATA | SKW_F_COMMIT | SKW_F_LAZY, .payload = true, .segments = true },
	[SKW_READ]	= { .segments = true },
	[SKW_READ_DATA]	= { .payload = true },
	[SKW_TREAD]	= { .flags = SKW_F_TAGGED | SKW_F_RMA, .must = SKW_F_TAGGED | SKW_F_RMA },
	[SKW_ACK]	= {},
	[SKW_CREDIT]	= {},
	[SKW_BYE]	= {},
	[SKW_ATOMIC]	= { .flags = SKW_F_CQ_DATA | SKW_F_FETCH | SKW_F_COMPARE | SKW_F_COMMIT,
			    .segments = true, .atomic = true },
	[SKW_FLUSH]	= { .flags = SKW_F_COMMIT, .segments = true },
};

static bool skw_segments_ok(const struct skw_rule *rule, const struct skw_frame *f)
{
	if (rule->segments)
		return f->rma_count >= 1 && f->rma_count <= SKW_RMA_MAX;
	return f->rma_count == (f->flags & SKW_F_INV ? 1 : 0);
}

/* ---- atomic operations ---- */

#define SKW_OP_READ	10
#define SKW_OPS_CHANGE	0x80bffU	/* min max sum prod, lor land bor band lxor bxor, write; diff */
#define SKW_OPS_COMPARE	0x7f000U	/* cswap and its relations, mswap */

u8 skw_value_size(u16 slot)
{
	/* int8 uint8 int16 ... uint64; then what is refused; 14, 15: int128 uint128 */
	static const u8 sizes[] = { 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 0, 0, 0, 16, 16 };
	u8 type = skw_atomic_type(slot);

	return type < sizeof(sizes) ? sizes[type] : 0;
}

/* Does the kind of operation, given by the flags, know this one? Who wants old values has no use for remote CQ data, nor a commit. */
static bool skw_atomic_op_ok(u8 flags, u8 op)
{
	u32 ops = SKW_OPS_CHANGE;

	if ((flags & SKW_F_FETCH) && (flags & SKW_F_COMPARE))
		return false;
	if ((flags & (SKW_F_CQ_DATA | SKW_F_COMMIT)) && (flags & (SKW_F_FETCH | SKW_F_COMPARE)))
		return false;
	if (flags & SKW_F_FETCH)
		ops |= 1U << SKW_OP_READ;
	else if (flags & SKW_F_COMPARE)
		ops = SKW_OPS_COMPARE;
	return op < 32 && (ops >> op & 1);
}

static bool skw_atomic_ok(const struct skw_frame *f)
{
	u8 size = skw_value_size(f->slot), op = skw_atomic_op(f->slot);
	u64 operands = op == SKW_OP_READ ? 0 : f->len;

	if (!size || !skw_atomic_op_ok(f->flags, op))
		return false;
	if (!f->len || f->len > SKW_ATOMIC_MAX || f->len % size)
		return false;
	return f->payload == operands + (f->flags & SKW_F_COMPARE ? f->len : 0);
}

static void skw_encode_value(u8 *p, u8 size)
{
	u16 v2;
	u32 v4;
	u64 v8;

	switch (size) {
	case 2:
		memcpy(&v2, p, size);
		put_unaligned_le16(v2, p);
		break;
	case 4:
		memcpy(&v4, p, size);
		put_unaligned_le32(v4, p);
		break;
	case 8:
		memcpy(&v8, p, size);
		put_unaligned_le64(v8, p);
	}
}

static void skw_decode_value(u8 *p, u8 size)
{
	u16 v2;
	u32 v4;
	u64 v8;

	switch (size) {
	case 2:
		v2 = get_unaligned_le16(p);
		memcpy(p, &v2, size);
		break;
	case 4:
		v4 = get_unaligned_le32(p);
		memcpy(p, &v4, size);
		break;
	case 8:
		v8 = get_unaligned_le64(p);
		memcpy(p, &v8, size);
	}
}

/* 128 bits are two words, the lower one first; only a host that has the higher one first has to swap them. */
static void skw_swap_words(u8 *p)
{
#ifdef __BIG_ENDIAN
	u64 words[2];

	memcpy(words, p, sizeof(words));
	memcpy(p, &words[1], sizeof(u64));
	memcpy(p + sizeof(u64), &words[0], sizeof(u64));
#endif
}

void skw_encode_values(void *values, size_t len, u8 size)
{
	u8 word = size > 8 ? 8 : size, *p = values, *end = p + len;

	for (; size == 16 && p < end; p += size)
		skw_swap_words(p);
	for (p = values; size > 1 && p < end; p += word)
		skw_encode_value(p, word);
}

void skw_decode_values(void *values, size_t len, u8 size)
{
	u8 word = size > 8 ? 8 : size, *p = values, *end = p + len;

	for (; size > 1 && p < end; p += word)
		skw_decode_value(p, word);
	for (p = values; size == 16 && p < end; p += size)
		skw_swap_words(p);
}

/* ---- frames ---- */

int skw_decode(const struct skw_hdr *hdr, u32 eager, struct skw_frame *f)
{
	const struct skw_rule *rule;

	if (hdr->type == 0 || hdr->type >= SKW_TYPES)
		return -EPROTO;
	rule = &skw_rules[hdr->type];
	*f = (struct skw_frame) {
		.type = hdr->type,
		.flags = hdr->flags,
		.rma_count = le16_to_cpu(hdr->rma_count),
		.slot = le16_to_cpu(hdr->slot),
		.status = le16_to_cpu(hdr->status),
		.id = le32_to_cpu(hdr->id),
		.gen = le32_to_cpu(hdr->gen),
		.credit_msg = le32_to_cpu(hdr->credit_msg),
		.credit_tag = le32_to_cpu(hdr->credit_tag),
		.payload = le64_to_cpu(hdr->payload),
		.len = le64_to_cpu(hdr->len),
		.tag = le64_to_cpu(hdr->tag),
		.data = le64_to_cpu(hdr->data),
	};
	if ((f->flags & ~rule->flags) || (~f->flags & rule->must) || !skw_segments_ok(rule, f))
		return -EPROTO;
	if (rule->atomic)
		return skw_atomic_ok(f) ? 0 : -EPROTO;
	if (f->payload > (rule->payload ? rule->eager ? eager : SKW_PAYLOAD_MAX : 0))
		return -EPROTO;
	if (f->len > SKW_PAYLOAD_MAX || (rule->payload && f->len != f->payload))
		return -EPROTO;
	if ((f->flags & SKW_F_RMA) && !(f->flags & SKW_F_TAGGED))
		return -EPROTO;
	return 0;
}

void skw_encode(const struct skw_frame *f, struct skw_hdr *hdr)
{
	*hdr = (struct skw_hdr) {
		.type = f->type,
		.flags = f->flags,
		.rma_count = cpu_to_le16(f->rma_count),
		.slot = cpu_to_le16(f->slot),
		.status = cpu_to_le16(f->status),
		.id = cpu_to_le32(f->id),
		.gen = cpu_to_le32(f->gen),
		.credit_msg = cpu_to_le32(f->credit_msg),
		.credit_tag = cpu_to_le32(f->credit_tag),
		.payload = cpu_to_le64(f->payload),
		.len = cpu_to_le64(f->len),
		.tag = cpu_to_le64(f->tag),
		.data = cpu_to_le64(f->data),
	};
}

int skw_decode_hello(const struct skw_hello *h, struct skw_greeting *g)
{
	if (le32_to_cpu(h->magic) != SKW_MAGIC)
		return -EPROTO;
	if (le16_to_cpu(h->version_min) > SKW_VERSION || le16_to_cpu(h->version) < SKW_VERSION_MIN)
		return -EPROTONOSUPPORT;
	*g = (struct skw_greeting) {
		.kind = h->kind,
		.ep_type = h->ep_type,
		.version = le16_to_cpu(h->version) < SKW_VERSION ? le16_to_cpu(h->version) : SKW_VERSION,
		.port = le16_to_cpu(h->port),
		.data_len = le16_to_cpu(h->data_len),
		.incarnation = le64_to_cpu(h->incarnation),
		.stream = le64_to_cpu(h->stream),
		.known = le64_to_cpu(h->known),
		.window_msg = le32_to_cpu(h->window_msg),
		.window_tag = le32_to_cpu(h->window_tag),
		.requests = le32_to_cpu(h->requests),
		.eager = le32_to_cpu(h->eager),
		.status = le32_to_cpu(h->status),
		.src_ctx = le16_to_cpu(h->src_ctx),
		.dst_ctx = le16_to_cpu(h->dst_ctx),
	};
	if (g->kind < SKW_HELLO || g->kind > SKW_PROOF || g->data_len > SKW_DATA_MAX)
		return -EPROTO;
	if ((le32_to_cpu(h->features) & ~SKW_FEAT_AUTH) || h->zero)
		return -EOPNOTSUPP;
	g->auth = h->features;
	if (le16_to_cpu(h->auth_len) != (g->auth ? SKW_AUTH_LEN : 0))
		return -EPROTO;
	if (g->kind == SKW_REJECT)
		return g->auth ? -EPROTO : 0;
	if (g->kind == SKW_CHALLENGE || g->kind == SKW_PROOF)
		return g->auth && !g->data_len ? 0 : -EPROTO;
	/* A window that cannot hold one eager message would stop the stream for ever. */
	if (!g->incarnation || !g->requests || g->requests > 0xffff || !g->eager || g->eager > (1U << 20) ||
	    g->window_msg < skw_cost(g->eager) || g->window_tag < skw_cost(g->eager) ||
	    g->window_msg > (1U << 24) || g->window_tag > (1U << 24))
		return -EPROTO;
	return 0;
}

void skw_encode_hello(const struct skw_greeting *g, struct skw_hello *h)
{
	*h = (struct skw_hello) {
		.magic = cpu_to_le32(SKW_MAGIC),
		.kind = g->kind,
		.ep_type = g->ep_type,
		.version = cpu_to_le16(SKW_VERSION),
		.version_min = cpu_to_le16(SKW_VERSION_MIN),
		.port = cpu_to_le16(g->port),
		.data_len = cpu_to_le16(g->data_len),
		.incarnation = cpu_to_le64(g->incarnation),
		.stream = cpu_to_le64(g->stream),
		.known = cpu_to_le64(g->known),
		.window_msg = cpu_to_le32(g->window_msg),
		.window_tag = cpu_to_le32(g->window_tag),
		.requests = cpu_to_le32(g->requests),
		.eager = cpu_to_le32(g->eager),
		.status = cpu_to_le32(g->status),
		.src_ctx = cpu_to_le16(g->src_ctx),
		.dst_ctx = cpu_to_le16(g->dst_ctx),
		.auth_len = cpu_to_le16(g->auth ? SKW_AUTH_LEN : 0),
		.features = cpu_to_le32(g->auth ? SKW_FEAT_AUTH : 0),
	};
}
