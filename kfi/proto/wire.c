// SPDX-License-Identifier: GPL-2.0
/*
 * wire.c - decode frames, encode and decode hellos and the values of atomic operations; stage.c
 * encodes frames. All functions are pure; the fuzzer compiles this file in user space.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "wire.h"

#define KFW_ALWAYS	0xffff

/*
 * What each type of frame may contain: one row for each type. kfw_decode() also checks that the
 * members of a frame agree with each other.
 */
static const struct kfw_rule {
	u16  flags;		/* flags that may be set */
	u16  must;		/* flags that must be set */
	bool eager;		/* the payload is bounded by the announced eager size */
	bool payload;		/* a payload is allowed */
	u16  segments;		/* at least one segment is required, and at most so many */
	bool places;		/* places are allowed */
	u16  grant;		/* the frame names a grant if this flag is set; KFW_ALWAYS */
	u16  message;		/* bytes that the message behind the segments may have */
	bool atomic;		/* payload and length follow kfw_atomic_ok() */
} kfw_rules[KFW_TYPES] = {
	[KFW_MSG]	= { .flags = KFW_F_TAGGED | KFW_F_CQ_DATA | KFW_F_ACK | KFW_F_INV |
				     KFW_F_LAZY,
			    .payload = true, .eager = true },
	[KFW_RTS]	= { .flags = KFW_F_TAGGED | KFW_F_CQ_DATA | KFW_F_RMA | KFW_F_INV },
	[KFW_CTS]	= { .places = true },
	[KFW_DATA]	= { .flags = KFW_F_PLACED, .payload = true },
	[KFW_WRITE]	= { .flags = KFW_F_CQ_DATA | KFW_F_COMMIT | KFW_F_LAZY | KFW_F_PLACED |
				     KFW_F_DEVICE,
			    .payload = true, .segments = KFW_RMA_MAX, .grant = KFW_F_PLACED },
	[KFW_READ]	= { .segments = KFW_RMA_MAX, .places = true },
	[KFW_READ_DATA]	= { .flags = KFW_F_PLACED, .payload = true },
	[KFW_TREAD]	= { .flags = KFW_F_TAGGED | KFW_F_RMA, .must = KFW_F_TAGGED | KFW_F_RMA,
			    .places = true },
	[KFW_ACK]	= {},
	[KFW_CREDIT]	= {},
	[KFW_BYE]	= {},
	[KFW_ATOMIC]	= { .flags = KFW_F_CQ_DATA | KFW_F_FETCH | KFW_F_COMPARE | KFW_F_COMMIT,
			    .segments = KFW_RMA_MAX, .atomic = true },
	[KFW_RTW]	= { .flags = KFW_F_DEVICE, .segments = 1 },
	[KFW_GRANT]	= { .flags = KFW_F_COMMIT | KFW_F_ONCE, .places = true,
			    .grant = KFW_ALWAYS },
	[KFW_RECALL]	= { .grant = KFW_ALWAYS },
	[KFW_RECALLED]	= { .grant = KFW_ALWAYS },
	[KFW_REPLY]	= { .flags = KFW_F_ACK | KFW_F_LAZY | KFW_F_INV, .payload = true,
			    .segments = 1, .message = KFW_REPLY_MAX },
};

static bool kfw_segments_ok(const struct kfw_rule *rule, const struct kfw_frame *f)
{
	if (rule->segments)
		return f->rma_count >= 1 && f->rma_count <= rule->segments;
	return f->rma_count == (f->flags & KFW_F_INV || (f->type == KFW_GRANT && f->places));
}

/*
 * A grant has a number and an id. The GRANT that gives it has one segment and names places, and a
 * WRITE that uses it has one segment. A GRANT without places gives none.
 */
static bool kfw_grant_ok(const struct kfw_rule *rule, const struct kfw_frame *f)
{
	if (rule->grant != KFW_ALWAYS && !(rule->grant & f->flags))
		return true;
	if (f->type == KFW_GRANT && !f->places)
		return !f->grant && !f->grant_id && !f->flags && !f->len;
	if (f->grant >= KFW_GRANTS_MAX || !f->grant_id || f->rma_count > 1)
		return false;
	return f->type != KFW_GRANT || f->len;
}

/* What devices have written is not empty, and its WRITE uses a grant and requests nothing else. */
static bool kfw_device_ok(const struct kfw_frame *f)
{
	return f->type != KFW_WRITE || (f->flags == (KFW_F_DEVICE | KFW_F_PLACED) && f->len);
}

/* ---- atomic operations ---- */

#define KFW_OP_READ	10
/* min max sum prod, lor land bor band lxor bxor, write; diff */
#define KFW_OPS_CHANGE	0x80bffU
#define KFW_OPS_COMPARE	0x7f000U	/* cswap and its relations, mswap */

u8 kfw_value_size(u8 datatype)
{
	/* int8 uint8 int16 ... uint64; unsupported types; 14, 15: int128 uint128 */
	static const u8 sizes[] = { 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 0, 0, 0, 16, 16 };

	return datatype < sizeof(sizes) ? sizes[datatype] : 0;
}

/*
 * Is the operation valid for the kind of request that the flags select? A request that returns old
 * values carries no remote CQ data and requests no commit.
 */
static bool kfw_atomic_op_ok(u16 flags, u8 op)
{
	u32 ops = KFW_OPS_CHANGE;

	if ((flags & KFW_F_FETCH) && (flags & KFW_F_COMPARE))
		return false;
	if ((flags & (KFW_F_CQ_DATA | KFW_F_COMMIT)) && (flags & (KFW_F_FETCH | KFW_F_COMPARE)))
		return false;
	if (flags & KFW_F_FETCH)
		ops |= 1U << KFW_OP_READ;
	else if (flags & KFW_F_COMPARE)
		ops = KFW_OPS_COMPARE;
	return op < 32 && (ops >> op & 1);
}

static bool kfw_atomic_ok(const struct kfw_frame *f)
{
	u8 size = kfw_value_size(f->datatype);
	u64 operands = f->op == KFW_OP_READ ? 0 : f->len;

	if (!size || !kfw_atomic_op_ok(f->flags, f->op))
		return false;
	if (!f->len || f->len > KFW_ATOMIC_MAX || f->len % size)
		return false;
	return f->payload == operands + (f->flags & KFW_F_COMPARE ? f->len : 0);
}

static void kfw_encode_value(u8 *p, u8 size)
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

static void kfw_decode_value(u8 *p, u8 size)
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

/* An element of 128 bits is two words, the lower word first. A big-endian host swaps them. */
static void kfw_swap_words(u8 *p)
{
#ifdef __BIG_ENDIAN
	u64 words[2];

	memcpy(words, p, sizeof(words));
	memcpy(p, &words[1], sizeof(u64));
	memcpy(p + sizeof(u64), &words[0], sizeof(u64));
#endif
}

void kfw_encode_values(void *values, size_t len, u8 size)
{
	u8 word = size > 8 ? 8 : size, *p = values, *end = p + len;

	for (; size == 16 && p < end; p += size)
		kfw_swap_words(p);
	for (p = values; size > 1 && p < end; p += word)
		kfw_encode_value(p, word);
}

void kfw_decode_values(void *values, size_t len, u8 size)
{
	u8 word = size > 8 ? 8 : size, *p = values, *end = p + len;

	for (; size > 1 && p < end; p += word)
		kfw_decode_value(p, word);
	for (p = values; size == 16 && p < end; p += size)
		kfw_swap_words(p);
}

/* ---- frames ---- */

/*
 * A frame has all of its payload, a WRITE a part of it, and a frame whose payload is in places has
 * none. Only DATA, READ_DATA and WRITE may have that flag. Each part of a WRITE but the last is of
 * KFW_FRAME_MAX bytes.
 */
static bool kfw_payload_ok(const struct kfw_rule *rule, const struct kfw_frame *f, u32 eager)
{
	if (!rule->payload)
		return !f->payload;
	if (f->flags & KFW_F_PLACED)
		return !f->payload && (f->type == KFW_WRITE || f->len <= KFW_PLACED_MAX);
	if (f->type == KFW_WRITE)
		return f->payload == kfw_part(f->len, false) ||
		       (f->payload && f->payload == f->len % KFW_FRAME_MAX);
	return f->payload == f->len && f->payload <= (rule->eager ? eager : KFW_FRAME_MAX);
}

int kfw_decode(const struct kfw_hdr *hdr, u32 eager, struct kfw_frame *f)
{
	const struct kfw_plain *plain = (const struct kfw_plain *)hdr;
	const struct kfw_rule *rule;
	u32 len;

	if (hdr->type == KFW_PLAIN) {
		len = le32_to_cpu(plain->payload);
		*f = (struct kfw_frame) {
			.type = KFW_MSG, .payload = len, .len = len,
			.credit_msg = le32_to_cpu(plain->credit_msg),
			.credit_tag = le32_to_cpu(plain->credit_tag),
		};
		if (len > eager || plain->zero[0] || plain->zero[1] || plain->zero[2])
			return -EPROTO;
		return 0;
	}
	if (hdr->type == 0 || hdr->type >= KFW_TYPES)
		return -EPROTO;
	rule = &kfw_rules[hdr->type];
	/* All members, or the compiler would clear the frame first. */
	*f = (struct kfw_frame) {
		.type = hdr->type,
		.places = hdr->places,
		.flags = le16_to_cpu(hdr->flags),
		.rma_count = le16_to_cpu(hdr->rma_count),
		.slot = le16_to_cpu(hdr->slot),
		.op = 0,
		.datatype = 0,
		.extra = 0,
		.id = le32_to_cpu(hdr->id),
		.gen = le32_to_cpu(hdr->gen),
		.credit_msg = le32_to_cpu(hdr->credit_msg),
		.credit_tag = le32_to_cpu(hdr->credit_tag),
		.payload = le64_to_cpu(hdr->payload),
		.len = le64_to_cpu(hdr->len),
		.tag = le64_to_cpu(hdr->tag),
		.data = le64_to_cpu(hdr->data),
	};
	if ((f->flags & ~rule->flags) || (~f->flags & rule->must) || !kfw_segments_ok(rule, f))
		return -EPROTO;
	if (f->places > (rule->places ? KFW_PLACES_MAX : 0))
		return -EPROTO;
	f->extra = f->rma_count * sizeof(struct kfw_rma) + f->places * sizeof(struct kfw_place);
	if (rule->message)
		f->extra += f->msg_len;
	if ((f->type == KFW_RTW && !f->len) || (rule->message && f->msg_len > rule->message))
		return -EPROTO;
	if ((rule->grant && !kfw_grant_ok(rule, f)) ||
	    (f->flags & KFW_F_DEVICE && !kfw_device_ok(f)))
		return -EPROTO;
	if (rule->atomic) {
		f->op = hdr->op;
		f->datatype = hdr->datatype;
		return kfw_atomic_ok(f) ? 0 : -EPROTO;
	}
	if (f->len > KFW_PAYLOAD_MAX || !kfw_payload_ok(rule, f, eager))
		return -EPROTO;
	if ((f->flags & KFW_F_RMA) && !(f->flags & KFW_F_TAGGED))
		return -EPROTO;
	return 0;
}

const struct kfi_versions kfw_speaks = {
	.lowest = KFW_VERSION_MIN, .highest = KFW_VERSION, .features = KFW_FEATS,
};

int kfw_decode_front(const struct kfw_hello *h)
{
	return le32_to_cpu(h->magic) == KFW_MAGIC && le16_to_cpu(h->len) == sizeof(*h) ?
	       0 : -EPROTO;
}

int kfw_decode_hello(const struct kfw_hello *h, struct kfw_hello_info *g)
{
	u32 features = le32_to_cpu(h->features);
	int ret = kfw_decode_front(h);

	if (ret)
		return ret;
	*g = (struct kfw_hello_info) {
		.speaks = kfi_versions_read(h->version, h->version_min,
					    features & ~KFW_FEAT_PROTECTION),
		.kind = h->kind,
		.ep_type = h->ep_type,
		.auth = h->auth_len,
		.port = le16_to_cpu(h->port),
		.data_len = le16_to_cpu(h->data_len),
		.incarnation = le64_to_cpu(h->incarnation),
		.call_id = le64_to_cpu(h->call_id),
		.known = le64_to_cpu(h->known),
		.allowance_msg = le32_to_cpu(h->allowance_msg),
		.allowance_tag = le32_to_cpu(h->allowance_tag),
		.requests = le32_to_cpu(h->requests),
		.eager = le32_to_cpu(h->eager),
		.status = le32_to_cpu(h->status),
		.src_ctx = le16_to_cpu(h->src_ctx),
		.dst_ctx = le16_to_cpu(h->dst_ctx),
	};
	if (g->data_len > KFW_DATA_MAX || le16_to_cpu(h->auth_len) != (g->auth ? KFW_AUTH_LEN : 0))
		return -EPROTO;
	ret = kfi_versions_agree(&kfw_speaks, &g->speaks, &g->agreed);
	if (ret)
		return ret;
	if (g->kind < KFW_HELLO || g->kind > KFW_PROOF)
		return -EPROTO;
	if (features & KFW_FEAT_PROTECTION & ~KFW_FEAT_AUTH)
		return -EOPNOTSUPP;
	if (g->auth != !!(features & KFW_FEAT_AUTH))
		return -EPROTO;
	if (g->kind == KFW_REJECT)
		return g->auth ? -EPROTO : 0;
	if (g->kind == KFW_CHALLENGE || g->kind == KFW_PROOF)
		return g->auth && !g->data_len ? 0 : -EPROTO;
	/* With an allowance smaller than one eager message the link would stop for ever. */
	if (!g->incarnation || !g->requests || g->requests > 0xffff ||
	    !g->eager || g->eager > KFW_FRAME_MAX ||
	    g->allowance_msg < kfw_cost(g->eager) || g->allowance_tag < kfw_cost(g->eager) ||
	    g->allowance_msg > (1U << 24) || g->allowance_tag > (1U << 24))
		return -EPROTO;
	return 0;
}

void kfw_encode_hello(const struct kfw_hello_info *g, struct kfw_hello *h)
{
	*h = (struct kfw_hello) {
		.magic = cpu_to_le32(KFW_MAGIC),
		.kind = g->kind,
		.ep_type = g->ep_type,
		.version = kfw_speaks.highest,
		.version_min = kfi_versions_lowest(&kfw_speaks),
		.len = cpu_to_le16(sizeof(*h)),
		.port = cpu_to_le16(g->port),
		.data_len = cpu_to_le16(g->data_len),
		.incarnation = cpu_to_le64(g->incarnation),
		.call_id = cpu_to_le64(g->call_id),
		.known = cpu_to_le64(g->known),
		.allowance_msg = cpu_to_le32(g->allowance_msg),
		.allowance_tag = cpu_to_le32(g->allowance_tag),
		.requests = cpu_to_le32(g->requests),
		.eager = cpu_to_le32(g->eager),
		.status = cpu_to_le32(g->status),
		.src_ctx = cpu_to_le16(g->src_ctx),
		.dst_ctx = cpu_to_le16(g->dst_ctx),
		.auth_len = cpu_to_le16(g->auth ? KFW_AUTH_LEN : 0),
		.features = cpu_to_le32(kfw_speaks.features | (g->auth ? KFW_FEAT_AUTH : 0)),
	};
}
