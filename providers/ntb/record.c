// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - the one place where the records of endpoints are encoded and decoded. Pure functions: the fuzzer builds this file in
 * user space.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "record.h"

/** enum ntw_body - what may lie behind the segments */
enum ntw_body {
	NTW_B_NONE,		/* nothing */
	NTW_B_WHOLE,		/* all of @len, and no more than may have to wait */
	NTW_B_FIRST,		/* the first bytes of @len, or none */
	NTW_B_SOME,		/* at least one byte */
	NTW_B_REST,		/* bytes, or none if they are the last */
	NTW_B_VALUES,		/* of an atomic operation */
};

/* What each type may carry. One row a type; decode has no special cases beyond it. */
static const struct ntw_rule {
	bool	known;
	bool	segs;		/* needs at least one segment */
	bool	spots;		/* may have some */
	u8	body;
	u16	bits;		/* allowed */
	u16	must;		/* of these, required */
} ntw_rules[NTW_SAYS] = {
	[NTW_MSG]	= { .known = true, .bits = NTW_F_TAGGED | NTW_F_CQ_DATA | NTW_F_ACK | NTW_F_INV, .body = NTW_B_WHOLE },
	[NTW_RTS]	= { .known = true, .bits = NTW_F_TAGGED | NTW_F_CQ_DATA | NTW_F_RMA | NTW_F_INV },
	[NTW_TREAD]	= { .known = true, .bits = NTW_F_TAGGED | NTW_F_RMA, .must = NTW_F_TAGGED | NTW_F_RMA, .spots = true },
	[NTW_CTS]	= { .known = true, .spots = true },
	[NTW_DATA]	= { .known = true, .bits = NTW_F_LAST | NTW_F_PLACED, .body = NTW_B_REST },
	[NTW_WRITE]	= { .known = true, .bits = NTW_F_CQ_DATA | NTW_F_COMMIT | NTW_F_LAST | NTW_F_ASK, .segs = true, .body = NTW_B_FIRST },
	[NTW_MORE]	= { .known = true, .bits = NTW_F_LAST, .body = NTW_B_SOME },
	[NTW_READ]	= { .known = true, .segs = true, .spots = true },
	[NTW_READ_DATA]	= { .known = true, .bits = NTW_F_LAST | NTW_F_PLACED, .body = NTW_B_REST },
	[NTW_ACK]	= { .known = true },
	[NTW_ATOMIC]	= { .known = true, .bits = NTW_F_CQ_DATA | NTW_F_FETCH | NTW_F_COMPARE | NTW_F_COMMIT, .segs = true,
			    .body = NTW_B_VALUES },
	[NTW_FLUSH]	= { .known = true, .bits = NTW_F_COMMIT, .segs = true },
	[NTW_CREDIT]	= { .known = true },
	[NTW_BYE]	= { .known = true },
	[NTW_CLOSE]	= { .known = true, .bits = NTW_F_ACK },
};

#define NTW_OP_READ	10

static bool ntw_values_ok(const struct ntw_frame *f)
{
	bool fetch = f->bits & NTW_F_FETCH, compare = f->bits & NTW_F_COMPARE;
	u64 operands = f->op == NTW_OP_READ ? 0 : f->len;

	if ((fetch && compare) || ((fetch || compare) && f->bits & (NTW_F_CQ_DATA | NTW_F_COMMIT)))
		return false;
	if (!f->len || f->len > NTW_ATOMIC_MAX || (f->op == NTW_OP_READ && !fetch))
		return false;
	return f->payload == operands + (compare ? f->len : 0);
}

static bool ntw_body_ok(const struct ntw_frame *f, const struct ntw_rule *rule, u32 eager)
{
	switch (rule->body) {
	case NTW_B_WHOLE:
		return f->payload == f->len && f->payload <= eager;
	case NTW_B_FIRST:
		if (f->bits & NTW_F_ASK)
			return f->len && !f->payload && !(f->bits & NTW_F_LAST);
		return f->bits & NTW_F_LAST ? f->payload == f->len : f->payload < f->len;
	case NTW_B_SOME:
		return f->payload;
	case NTW_B_REST:
		if (f->bits & NTW_F_PLACED)
			return f->len && !f->payload;
		return f->payload || f->bits & NTW_F_LAST;
	case NTW_B_VALUES:
		return ntw_values_ok(f);
	default:
		return !f->payload;
	}
}

static bool ntw_segs_ok(const struct ntw_frame *f, const struct ntw_rule *rule)
{
	if (f->nspots > (rule->spots ? NTW_SPOTS_MAX : 0))
		return false;
	if (rule->segs)
		return f->nsegs >= 1 && f->nsegs <= NTW_SEGS_MAX;
	return f->nsegs == (f->bits & NTW_F_INV ? 1 : 0);
}

int ntw_decode(const struct ntw_rec *rec, const struct ntw_hdr *hdr, u32 len, u32 eager, struct ntw_frame *f)
{
	const struct ntw_rule *rule;
	u32 head;
	int cls;

	if (rec->type < NTW_MSG || rec->type >= NTW_SAYS || len < sizeof(*hdr))
		return -EPROTO;
	rule = &ntw_rules[rec->type];
	*f = (struct ntw_frame) {
		.type = rec->type, .bits = le16_to_cpu(rec->bits), .conn = le32_to_cpu(rec->conn),
		.nsegs = hdr->nsegs, .nspots = hdr->nspots, .op = hdr->op, .datatype = hdr->datatype,
		.status = le16_to_cpu(hdr->status), .slot = le32_to_cpu(hdr->slot),
		.id = le32_to_cpu(hdr->id), .gen = le32_to_cpu(hdr->gen),
		.len = le64_to_cpu(hdr->len), .data = le64_to_cpu(hdr->data),
	};
	if (f->bits & NTW_F_PLACED)
		f->crc = le32_to_cpu(hdr->crc);
	else
		f->tag = le64_to_cpu(hdr->tag);
	for (cls = 0; cls < NTW_CLS; cls++)
		f->credit[cls] = le16_to_cpu(hdr->credit[cls]);
	if (!rule->known || f->bits & ~rule->bits || ~f->bits & rule->must || !ntw_segs_ok(f, rule))
		return -EPROTO;
	if ((f->bits & NTW_F_PLACED) && hdr->zero)
		return -EPROTO;
	head = sizeof(*hdr) + ntw_tail(f);
	if (len < head || f->len > NTW_LEN_MAX)
		return -EPROTO;
	f->payload = len - head;
	if ((f->bits & NTW_F_RMA) && !(f->bits & NTW_F_TAGGED))
		return -EPROTO;
	return ntw_body_ok(f, rule, eager) ? 0 : -EPROTO;
}

void ntw_encode(const struct ntw_frame *f, struct ntw_rec *rec, struct ntw_hdr *hdr)
{
	int cls;

	*rec = (struct ntw_rec) { .type = f->type, .bits = cpu_to_le16(f->bits), .conn = cpu_to_le32(f->conn) };
	*hdr = (struct ntw_hdr) {
		.id = cpu_to_le32(f->id), .gen = cpu_to_le32(f->gen), .status = cpu_to_le16(f->status),
		.slot = cpu_to_le32(f->slot), .nsegs = f->nsegs, .nspots = f->nspots, .op = f->op, .datatype = f->datatype,
		.len = cpu_to_le64(f->len), .data = cpu_to_le64(f->data),
	};
	if (f->bits & NTW_F_PLACED)
		hdr->crc = cpu_to_le32(f->crc);
	else
		hdr->tag = cpu_to_le64(f->tag);
	for (cls = 0; cls < NTW_CLS; cls++)
		hdr->credit[cls] = cpu_to_le16(f->credit[cls]);
}

/* ---- the handshake ---- */

static bool ntw_windows_ok(const struct ntw_calling *c)
{
	int cls;

	for (cls = 0; cls < NTW_CLS; cls++)
		if (!c->window[cls] || c->window[cls] > NTW_WINDOW_MAX)
			return false;
	return true;
}

/* Of those that begin a connection. */
static bool ntw_terms_ok(const struct ntw_calling *c)
{
	return c->incarnation && c->eager >= 64 && ntw_windows_ok(c);
}

int ntw_decode_call(const struct ntw_rec *rec, const struct ntw_call *call, u32 len, struct ntw_calling *c)
{
	u32 auth_len = le16_to_cpu(call->auth_len), features = le32_to_cpu(call->features);
	int cls;

	if (!ntw_is_call(rec->type) || len < sizeof(*call))
		return -EPROTO;
	if (call->version_min > NTW_EP_VERSION || call->version < NTW_EP_VERSION_MIN)
		return -EPROTONOSUPPORT;
	if (features & ~NTW_FEAT_AUTH || call->zero || rec->bits)
		return -EOPNOTSUPP;
	*c = (struct ntw_calling) {
		.type = rec->type, .ep_type = call->ep_type, .auth = features & NTW_FEAT_AUTH,
		.version = call->version < NTW_EP_VERSION ? call->version : NTW_EP_VERSION,
		.from = le32_to_cpu(call->from), .to = le32_to_cpu(call->to), .conn = le32_to_cpu(call->conn),
		.incarnation = le64_to_cpu(call->incarnation), .stream = le64_to_cpu(call->stream),
		.known = le64_to_cpu(call->known), .eager = le16_to_cpu(call->eager),
		.data_len = le16_to_cpu(call->data_len), .src_ctx = le16_to_cpu(call->src_ctx),
		.dst_ctx = le16_to_cpu(call->dst_ctx),
	};
	*(c->type == NTW_HELLO ? &c->bridge : &c->status) = le32_to_cpu(call->status);
	for (cls = 0; cls < NTW_CLS; cls++)
		c->window[cls] = le16_to_cpu(call->window[cls]);
	if (c->data_len > NTW_DATA_MAX || auth_len != (c->auth ? NTW_AUTH_LEN : 0) ||
	    len != sizeof(*call) + c->data_len + auth_len)
		return -EPROTO;
	switch (c->type) {
	case NTW_REJECT:
		return c->auth ? -EPROTO : 0;
	case NTW_RINGING:
		return c->conn && !c->data_len && !c->auth ? 0 : -EPROTO;
	case NTW_CHALLENGE:
	case NTW_PROOF:
		return c->conn && c->auth && !c->data_len ? 0 : -EPROTO;
	default:
		return c->conn && ntw_terms_ok(c) ? 0 : -EPROTO;
	}
}

void ntw_encode_call(const struct ntw_calling *c, u32 to_conn, struct ntw_rec *rec, struct ntw_call *call)
{
	int cls;

	*rec = (struct ntw_rec) { .type = c->type, .conn = cpu_to_le32(to_conn) };
	*call = (struct ntw_call) {
		.ep_type = c->ep_type, .version = NTW_EP_VERSION, .version_min = NTW_EP_VERSION_MIN,
		.from = cpu_to_le32(c->from), .to = cpu_to_le32(c->to), .conn = cpu_to_le32(c->conn),
		.incarnation = cpu_to_le64(c->incarnation), .stream = cpu_to_le64(c->stream),
		.known = cpu_to_le64(c->known), .eager = cpu_to_le16(c->eager),
		.data_len = cpu_to_le16(c->data_len), .auth_len = cpu_to_le16(c->auth ? NTW_AUTH_LEN : 0),
		.src_ctx = cpu_to_le16(c->src_ctx), .dst_ctx = cpu_to_le16(c->dst_ctx),
		.status = cpu_to_le32(c->type == NTW_HELLO ? c->bridge : c->status), .features = cpu_to_le32(c->auth ? NTW_FEAT_AUTH : 0),
	};
	for (cls = 0; cls < NTW_CLS; cls++)
		call->window[cls] = cpu_to_le16(c->window[cls]);
}

/* ---- memory that is lent ---- */

int ntw_decode_spot(const struct ntw_spot *spot, u64 *at, u32 *len)
{
	u32 window = le32_to_cpu(spot->window);
	u64 max = window == NTW_W_FLAT ? NTW_FLAT_MAX : NTW_SIZE_MAX;

	*at = le64_to_cpu(spot->at);
	*len = le32_to_cpu(spot->len);
	if (window > NTW_W_FLAT || *at > max || *len > max - *at)
		return -EPROTO;
	if (window == NTW_W_FLAT)
		*at |= NTW_FLAT;
	return 0;
}

void ntw_encode_spot(u64 at, u32 len, struct ntw_spot *spot)
{
	*spot = (struct ntw_spot) {
		.at = cpu_to_le64(at & ~NTW_FLAT), .len = cpu_to_le32(len),
		.window = cpu_to_le32(at & NTW_FLAT ? NTW_W_FLAT : NTW_W_INBOUND),
	};
}

/* ---- machines ---- */

int ntw_decode_kin(const struct ntw_rec *rec, const struct ntw_kin *kin, u32 len, u64 *host, u32 *bridge)
{
	if (rec->type != NTW_KIN || rec->bits || rec->conn || len != sizeof(*kin) || kin->zero || !kin->host || !kin->bridge)
		return -EPROTO;
	*host = le64_to_cpu(kin->host);
	*bridge = le32_to_cpu(kin->bridge);
	return 0;
}

void ntw_encode_kin(u64 host, u32 bridge, struct ntw_rec *rec, struct ntw_kin *kin)
{
	*rec = (struct ntw_rec) { .type = NTW_KIN };
	*kin = (struct ntw_kin) { .host = cpu_to_le64(host), .bridge = cpu_to_le32(bridge) };
}

/* ---- values of atomic operations ---- */

void ntw_swap_values(void *values, u32 len, u32 size)
{
#ifdef __BIG_ENDIAN
	u8 *p = values, *end = p + len, t;
	u32 i;

	for (; size > 1 && p < end; p += size) {
		for (i = 0; i < size / 2; i++) {
			t = p[i];
			p[i] = p[size - 1 - i];
			p[size - 1 - i] = t;
		}
	}
#endif
}
