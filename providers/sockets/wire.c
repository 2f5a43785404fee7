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
} skw_rules[SKW_TYPES] = {
	[SKW_MSG]	= { .flags = SKW_F_TAGGED | SKW_F_CQ_DATA | SKW_F_ACK | SKW_F_INV,
			    .payload = true, .eager = true },
	[SKW_RTS]	= { .flags = SKW_F_TAGGED | SKW_F_CQ_DATA | SKW_F_RMA | SKW_F_INV },
	[SKW_CTS]	= {},
	[SKW_DATA]	= { .payload = true },
	[SKW_WRITE]	= { .flags = SKW_F_CQ_DATA, .payload = true, .segments = true },
	[SKW_READ]	= { .segments = true },
	[SKW_READ_DATA]	= { .payload = true },
	[SKW_TREAD]	= { .flags = SKW_F_TAGGED | SKW_F_RMA, .must = SKW_F_TAGGED | SKW_F_RMA },
	[SKW_ACK]	= {},
	[SKW_CREDIT]	= {},
	[SKW_BYE]	= {},
};

static bool skw_segments_ok(const struct skw_rule *rule, const struct skw_frame *f)
{
	if (rule->segments)
		return f->rma_count >= 1 && f->rma_count <= SKW_RMA_MAX;
	return f->rma_count == (f->flags & SKW_F_INV ? 1 : 0);
}

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
	if (le16_to_cpu(h->version_min) > SKW_VERSION || le16_to_cpu(h->version) < SKW_VERSION)
		return -EPROTONOSUPPORT;
	*g = (struct skw_greeting) {
		.kind = h->kind,
		.ep_type = h->ep_type,
		.version = SKW_VERSION,
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
	};
	if (g->kind < SKW_HELLO || g->kind > SKW_PROOF || g->data_len > SKW_DATA_MAX)
		return -EPROTO;
	if (le32_to_cpu(h->features) & ~SKW_FEAT_AUTH)
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
		.version_min = cpu_to_le16(SKW_VERSION),
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
		.auth_len = cpu_to_le16(g->auth ? SKW_AUTH_LEN : 0),
		.features = cpu_to_le32(g->auth ? SKW_FEAT_AUTH : 0),
	};
}
