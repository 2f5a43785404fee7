// SPDX-License-Identifier: GPL-2.0
/*
 * wire.c - encode and decode. Pure functions: decode trusts nothing, and what it lets through the rest need not check again.
 * The fuzzer builds this file in user space.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "wire.h"

/* What each type of packet may have. */
static const struct {
	u8	flags;
	u8	count_min, count_max;
	bool	payload;	/* bytes follow the descriptors */
} rules[KVW_TYPES] = {
	[KVW_READY]	= {},
	[KVW_MSG]	= { KVW_F_TAGGED | KVW_F_CQ_DATA | KVW_F_ARRIVED | KVW_F_LANDED | KVW_F_INV, 0, 1, true },
	[KVW_RTS]	= { KVW_F_TAGGED | KVW_F_CQ_DATA | KVW_F_RMA | KVW_F_INV, 0, KVW_DESC_MAX },
	[KVW_TREAD]	= { KVW_F_TAGGED | KVW_F_RMA, 0, KVW_DESC_MAX },
	[KVW_FIN]	= {},
	[KVW_KEY]	= {},
	[KVW_KEY_IS]	= { KVW_K_READ | KVW_K_WRITE | KVW_K_TELL | KVW_K_COMMIT, 0, KVW_DESC_MAX },
	[KVW_DONE]	= { KVW_F_CQ_DATA | KVW_F_LANDED | KVW_F_READ | KVW_F_COMMIT | KVW_F_PART,
			    1, KVW_DESC_MAX },
	[KVW_FLUSH]	= { KVW_F_LANDED | KVW_F_COMMIT, 1, KVW_DESC_MAX },
	[KVW_VOID]	= { KVW_F_TAGGED },
	[KVW_CREDIT]	= {},
	[KVW_BYE]	= {},
	[KVW_ATOMIC]	= { KVW_F_CQ_DATA | KVW_F_FETCH | KVW_F_COMPARE | KVW_F_COMMIT, 1, KVW_DESC_MAX, true },
	[KVW_OLD]	= { 0, 0, 0, true },
};

/* Its operands, and values to compare with, are all there. */
static noinline bool atomic_ok(const struct kvw_packet *p, u32 payload)
{
	if (!p->len || p->len > KVW_ATOMIC_MAX || (p->flags & KVW_F_FETCH && p->flags & KVW_F_COMPARE))
		return false;
	if (KVW_ATOMIC_OP(p->status) == KVW_OP_READ && !(p->flags & KVW_F_FETCH))
		return false;
	return payload == kvw_operands(p) + kvw_compares(p);
}

/* What is left of @bytes is payload, which alone says how long it is. */
static bool shape_ok(struct kvw_packet *p, u32 bytes)
{
	u32 descs = p->count * sizeof(struct kvw_desc);

	if (p->count < rules[p->type].count_min || p->count > rules[p->type].count_max || bytes < p->head + descs)
		return false;
	bytes -= p->head + descs;
	if (p->type == KVW_ATOMIC)
		return atomic_ok(p, bytes);
	if (rules[p->type].payload)
		p->len = bytes;
	return rules[p->type].payload || !bytes;
}

/*
 * The length that the owner of the memory is told is that of the segments, which are checked
 * against its regions.
 */
static noinline bool segments_ok(const struct kvw_desc *descs, const struct kvw_packet *p)
{
	u64 left = p->len, len;
	unsigned int i;

	for (i = 0; i < p->count; i++) {
		len = le64_to_cpu(descs[i].len);
		if (len > left)
			return false;
		left -= len;
	}
	return !left;
}

/* What flags of a message ask for. */
static bool message_ok(const struct kvw_packet *p)
{
	if (p->type == KVW_MSG && p->count != kvw_msg_descs(p->flags))
		return false;
	if (p->flags & KVW_F_INV && !p->count)
		return false;
	if (p->flags & KVW_F_ARRIVED && p->flags & KVW_F_LANDED)
		return false;
	if (p->flags & KVW_F_RMA && !(p->flags & KVW_F_TAGGED))
		return false;
	return p->type != KVW_TREAD || p->flags == (KVW_F_TAGGED | KVW_F_RMA);
}

static bool flags_ok(const struct kvw_packet *p)
{
	if (p->flags & ~rules[p->type].flags)
		return false;
	/*
	 * With a part no consumer hears of the access yet; only what makes it durable is answered
	 * by itself.
	 */
	if (p->type == KVW_DONE && p->flags & KVW_F_PART &&
	    (p->flags & KVW_F_CQ_DATA || !(p->flags & KVW_F_LANDED) != !(p->flags & KVW_F_COMMIT)))
		return false;
	if (p->type == KVW_DONE || p->type == KVW_FLUSH)
		return !(p->flags & KVW_F_COMMIT) || (p->flags & (KVW_F_LANDED | KVW_F_READ)) == KVW_F_LANDED;
	if (p->type == KVW_MSG && !(p->flags & ~(KVW_F_TAGGED | KVW_F_CQ_DATA)))
		return !p->count;	/* as most */
	return p->type == KVW_KEY_IS || p->type == KVW_ATOMIC || message_ok(p);
}

static u8 head_of(u8 parts)
{
	static const u8 count[1 << KVW_PARTS] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };

	return sizeof(struct kvw_hdr) + count[parts] * sizeof(__le64);
}

static u64 take_part(u8 parts, u8 part, const __le64 **at)
{
	return parts & part ? le64_to_cpu(*(*at)++) : 0;
}

static noinline void decode_parts(const struct kvw_hdr *hdr, u8 parts, struct kvw_packet *p)
{
	const __le64 *at = hdr->part;
	u64 id;

	id = take_part(parts, KVW_P_ID, &at);
	p->id = id;
	p->gen = id >> 32;
	p->len = take_part(parts, KVW_P_LEN, &at);
	p->tag = take_part(parts, KVW_P_TAG, &at);
	p->data = take_part(parts, KVW_P_DATA, &at);
}

int kvw_decode(const struct kvw_hdr *hdr, u32 bytes, struct kvw_packet *p)
{
	u8 type, flags, parts;
	int cls;

	if (bytes < sizeof(*hdr))
		return -EPROTO;
	type = hdr->type;	/* in registers: whatever is stored in a byte may be what is read next, for all the compiler knows */
	flags = hdr->flags;
	if (!type || type >= KVW_TYPES)
		return -EPROTO;
	if (bytes > KVW_PAGE && (type != KVW_MSG || bytes > KVW_PACKET))
		return -EPROTO;
	p->type = type;
	p->flags = flags;
	p->count = hdr->count;
	p->spent = hdr->spent;
	parts = kvw_parts(type, flags);
	p->head = head_of(parts);
	if (bytes < p->head)
		return -EPROTO;
	p->status = le16_to_cpu(hdr->status);
	for (cls = 0; cls < KVW_CLS; cls++)
		p->credit[cls] = le16_to_cpu(hdr->credit[cls]);
	p->epoch = le32_to_cpu(hdr->epoch);
	p->id = p->gen = 0;
	p->len = p->tag = p->data = 0;
	if (parts)		/* unlike most messages */
		decode_parts(hdr, parts, p);
	if (!flags_ok(p) || !shape_ok(p, bytes) || p->spent >= 1 << KVW_CLS)
		return -EPROTO;
	if (type == KVW_DONE && !segments_ok((const void *)hdr + p->head, p))
		return -EPROTO;
	return 0;
}

static void put_part(u8 parts, u8 part, u64 value, __le64 **at)
{
	if (parts & part)
		*(*at)++ = cpu_to_le64(value);
}

u32 kvw_encode(const struct kvw_packet *p, struct kvw_hdr *hdr)
{
	u8 parts = kvw_parts(p->type, p->flags);
	__le64 *at = hdr->part;
	int cls;

	hdr->type = p->type;
	hdr->flags = p->flags;
	hdr->status = cpu_to_le16(p->status);
	for (cls = 0; cls < KVW_CLS; cls++)
		hdr->credit[cls] = cpu_to_le16(p->credit[cls]);
	hdr->count = p->count;
	hdr->spent = p->spent;
	hdr->epoch = cpu_to_le32(p->epoch);
	if (!parts)
		return sizeof(*hdr);
	put_part(parts, KVW_P_ID, (u64)p->gen << 32 | p->id, &at);
	put_part(parts, KVW_P_LEN, p->len, &at);
	put_part(parts, KVW_P_TAG, p->tag, &at);
	put_part(parts, KVW_P_DATA, p->data, &at);
	return (u8 *)at - (u8 *)hdr;
}

static void decode_names(const struct kvw_names *n, struct kvw_greeting *g)
{
	g->incarnation = le64_to_cpu(n->incarnation);
	g->stream = le64_to_cpu(n->stream);
	g->known = le64_to_cpu(n->known);
	g->port = le16_to_cpu(n->port);
	g->src_ctx = le16_to_cpu(n->src_ctx);
	g->dst_ctx = le16_to_cpu(n->dst_ctx);
}

static bool windows_ok(const struct kvw_greeting *g)
{
	int cls;

	if (g->kind != KVW_HELLO && g->kind != KVW_ACCEPT)
		return true;
	for (cls = 0; cls < KVW_CLS; cls++)
		if (!g->window[cls] || g->window[cls] > KVW_WINDOW_MAX)
			return false;
	return g->answers && g->packet >= KVW_PAGE;
}

static int decode_windows(const struct kvw_hello *h, struct kvw_greeting *g)
{
	int cls;

	if (g->kind == KVW_PROOF)
		return 0;	/* its proof is there */
	for (cls = 0; cls < KVW_CLS; cls++)
		g->window[cls] = le16_to_cpu(h->window[cls]);
	g->answers = le16_to_cpu(h->answers);
	g->packet = g->version < KVW_VERSION_LONG ? KVW_PAGE : le16_to_cpu(h->packet);
	return windows_ok(g) ? 0 : -EPROTO;
}

/* Is a random number where others have names? */
static bool is_random(const struct kvw_greeting *g)
{
	return g->auth && (g->kind == KVW_HELLO || g->kind == KVW_CHALLENGE);
}

static bool has_ticket(const struct kvw_greeting *g)
{
	return g->kind == KVW_CHALLENGE || g->kind == KVW_PROOF;
}

/* Only who has a key asks for a proof or gives one; a refusal says nothing that had to be proved. */
static bool auth_ok(const struct kvw_greeting *g, size_t len)
{
	if (has_ticket(g) && !g->auth)
		return false;
	if (!g->auth)
		return true;
	return g->kind != KVW_REJECT && (g->kind != KVW_ACCEPT || len >= sizeof(struct kvw_accept));
}

static bool greeting_ok(const struct kvw_hello *h, const struct kvw_greeting *g, size_t len)
{
	return g->kind >= KVW_HELLO && g->kind <= KVW_PROOF && h->ep_type == KVW_RDM && auth_ok(g, len) && !h->zero1 &&
	       g->status <= KVW_STATUS_MAX;
}

/* The connection manager pads: what follows the hello is nobody's. */
int kvw_decode_hello(const void *data, size_t len, struct kvw_greeting *g)
{
	const struct kvw_hello *h = data;

	memset(g, 0, sizeof(*g));
	if (!data || len < sizeof(*h) || le32_to_cpu(h->magic) != KVW_MAGIC)
		return -EPROTO;
	if (h->version < KVW_VERSION_MIN || h->version_min > KVW_VERSION || h->version_min > h->version)
		return -EPROTONOSUPPORT;
	if (h->features & ~KVW_FEAT_AUTH)
		return -EOPNOTSUPP;
	g->auth = h->features;
	g->kind = h->kind;
	g->version = h->version < KVW_VERSION ? h->version : KVW_VERSION;
	g->ticket = has_ticket(g) ? le16_to_cpu(h->ticket) : 0;
	g->status = has_ticket(g) ? 0 : le16_to_cpu(h->status);
	if (!greeting_ok(h, g, len))
		return -EPROTO;
	if (!is_random(g))
		decode_names(&h->names, g);
	return decode_windows(h, g);
}

static void encode_windows(const struct kvw_greeting *g, struct kvw_hello *h)
{
	int cls;

	for (cls = 0; cls < KVW_CLS; cls++)
		h->window[cls] = cpu_to_le16(g->window[cls]);
	h->answers = cpu_to_le16(g->answers);
	h->packet = cpu_to_le16(g->packet);
}

void kvw_encode_hello(const struct kvw_greeting *g, struct kvw_hello *h)
{
	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_le32(KVW_MAGIC);
	h->kind = g->kind;
	h->ep_type = KVW_RDM;
	h->version = KVW_VERSION;
	h->version_min = KVW_VERSION_MIN;
	h->features = g->auth ? KVW_FEAT_AUTH : 0;
	if (has_ticket(g))
		h->ticket = cpu_to_le16(g->ticket);
	else
		h->status = cpu_to_le16(g->status);
	if (g->kind != KVW_PROOF)
		encode_windows(g, h);
	if (is_random(g))
		return;
	h->names.incarnation = cpu_to_le64(g->incarnation);
	h->names.stream = cpu_to_le64(g->stream);
	h->names.known = cpu_to_le64(g->known);
	h->names.port = cpu_to_le16(g->port);
	h->names.src_ctx = cpu_to_le16(g->src_ctx);
	h->names.dst_ctx = cpu_to_le16(g->dst_ctx);
}
