// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_fuzz.c - libFuzzer on the decoders of kfi_verbs. Whatever a peer sends, what decode lets
 * through lies inside the packet and keeps the promises that the receive path relies on; and encode
 * makes the same bytes of it again.
 *
 * Input: what to leave to chance (one byte), length of the packet or of the private data (two), its
 * bytes; what is missing is 0.
 */
#include "fuzz.h"
#include "wire.h"

#define PRIVATE_MOST 255	/* the connection manager counts in a byte, and pads */

/* ---- packets ---- */

/* Independent of the table: who may say what. */
static u8 flags_of(u8 type)
{
	switch (type) {
	case KVW_MSG:
		return KVW_F_TAGGED | KVW_F_CQ_DATA | KVW_F_ARRIVED | KVW_F_LANDED | KVW_F_INV;
	case KVW_RTS:
		return KVW_F_TAGGED | KVW_F_CQ_DATA | KVW_F_RMA | KVW_F_INV;
	case KVW_TREAD:
		return KVW_F_TAGGED | KVW_F_RMA;
	case KVW_KEY_IS:
		return KVW_K_READ | KVW_K_WRITE | KVW_K_TELL | KVW_K_COMMIT;
	case KVW_DONE:
		return KVW_F_CQ_DATA | KVW_F_LANDED | KVW_F_READ | KVW_F_COMMIT | KVW_F_PART;
	case KVW_FLUSH:
		return KVW_F_LANDED | KVW_F_COMMIT;
	case KVW_ATOMIC:
		return KVW_F_CQ_DATA | KVW_F_FETCH | KVW_F_COMPARE | KVW_F_COMMIT;
	case KVW_VOID:
		return KVW_F_TAGGED;
	default:
		return 0;
	}
}

static void check_flags(const struct kvw_packet *p)
{
	bool message = p->type == KVW_MSG || p->type == KVW_RTS || p->type == KVW_TREAD;

	PROMISE(!(p->flags & ~flags_of(p->type)));
	/* Of a part nobody hears, so nobody waits for room while it is looked at. */
	PROMISE(p->type != KVW_DONE || !(p->flags & KVW_F_PART) || !(p->flags & KVW_F_CQ_DATA));
	if (!message)
		return;
	PROMISE(!(p->flags & KVW_F_RMA) || p->flags & KVW_F_TAGGED);
	PROMISE(!(p->flags & KVW_F_INV) || p->count);	/* its key is in the first descriptor */
	PROMISE(p->type != KVW_TREAD || p->flags == (KVW_F_TAGGED | KVW_F_RMA));
	PROMISE(p->type != KVW_MSG || p->count == !!(p->flags & KVW_F_INV));
	/* a slot has room for one answer */
	PROMISE(!(p->flags & KVW_F_ARRIVED) || !(p->flags & KVW_F_LANDED));
}

/* All of it fits an answer, and a slot beside what is kept there to make it durable. */
static void check_atomic(const struct kvw_packet *p, u32 payload)
{
	bool read = (p->status & 0xff) == 10;

	PROMISE(p->count && p->len && p->len <= KVW_ATOMIC_MAX);
	PROMISE(!(p->flags & KVW_F_FETCH) || !(p->flags & KVW_F_COMPARE));
	PROMISE(!read || p->flags & KVW_F_FETCH);
	PROMISE(payload == (read ? 0 : p->len) + (p->flags & KVW_F_COMPARE ? p->len : 0));
	PROMISE(kvw_olds(p) == (p->flags & (KVW_F_FETCH | KVW_F_COMPARE) ? p->len : 0));
}

static void check_shape(const struct kvw_packet *p, u32 bytes)
{
	u32 descs = p->count * sizeof(struct kvw_desc), head = p->head + descs;
	bool may = p->type == KVW_RTS || p->type == KVW_TREAD || p->type == KVW_KEY_IS ||
		   p->type == KVW_DONE || p->type == KVW_FLUSH || p->type == KVW_ATOMIC;

	PROMISE(p->head >= sizeof(struct kvw_hdr) && p->head <= KVW_HDR_MAX && p->head % 8 == 0);
	PROMISE(p->spent < 8);
	PROMISE(p->count <= KVW_DESC_MAX && head <= bytes && head <= KVW_PAGE);
	/* all else is read in one piece */
	PROMISE(bytes <= (p->type == KVW_MSG ? KVW_PACKET : KVW_PAGE));
	if (p->type == KVW_ATOMIC)
		check_atomic(p, bytes - head);
	else
		PROMISE(p->type == KVW_MSG || p->type == KVW_OLD ? p->len == bytes - head :
								   bytes == head);
	PROMISE(!p->count || may || (p->type == KVW_MSG && p->count <= 3));
	PROMISE((p->type != KVW_DONE && p->type != KVW_FLUSH) || p->count);
}

/*
 * What it spends, the receiver has a buffer for; what spends nothing is paid for by what it
 * answers.
 */
static void check_class(const struct kvw_packet *p)
{
	u8 cls = kvw_cls(p->type, p->flags);
	bool tagged = p->type == KVW_TREAD || (p->type != KVW_KEY_IS && p->flags & KVW_F_TAGGED);
	bool request = p->type == KVW_KEY || p->type == KVW_DONE || p->type == KVW_FLUSH ||
		       p->type == KVW_ATOMIC;

	PROMISE(cls <= KVW_CLS);
	PROMISE(tagged == (cls == KVW_CLS_TAG));
	PROMISE(request == (cls == KVW_CLS_CTL));
}

/* The length that an owner is told is that of the segments, which the receive path checks. */
static void check_segments(const struct kvw_hdr *hdr, const struct kvw_packet *p)
{
	const struct kvw_desc *desc = (const void *)((const u8 *)hdr + p->head);
	u64 sum = 0;
	u8 i;

	for (i = 0; i < p->count && p->type == KVW_DONE; i++)
		PROMISE(!__builtin_add_overflow(sum, le64_to_cpu(desc[i].len), &sum));
	PROMISE(p->type != KVW_DONE || sum == p->len);
}

/* The receive path reads all that is promised: the address checks notice if it is not there. */
static void read_all(const struct kvw_hdr *hdr, const struct kvw_packet *p)
{
	const u8 *at = (const u8 *)hdr + p->head;
	u64 len = p->count * sizeof(struct kvw_desc) +
		  (p->type == KVW_MSG || p->type == KVW_OLD ? p->len : 0);

	if (p->type == KVW_ATOMIC)
		len += kvw_operands(p) + kvw_compares(p);

	while (len--)
		asm volatile("" : : "r" (*at++));
}

static void check_packet(const struct kvw_hdr *hdr, u32 bytes)
{
	struct kvw_packet p;
	union {
		struct kvw_hdr	hdr;
		u8		bytes[KVW_HDR_MAX];
	} same, back;

	if (kvw_decode(hdr, bytes, &p))
		return;
	PROMISE(p.type > 0 && p.type < KVW_TYPES);
	check_flags(&p);
	check_shape(&p, bytes);
	check_class(&p);
	check_segments(hdr, &p);
	read_all(hdr, &p);
	memcpy(&same, hdr, p.head);
	PROMISE(kvw_encode(&p, &back.hdr) == p.head);
	PROMISE(!memcmp(&back, &same, p.head));
}

static u64 total_of(const void *descs, u8 count, u32 room)
{
	const struct kvw_desc *desc = descs;
	u64 sum = 0;

	for (; count-- && room >= sizeof(*desc); room -= sizeof(*desc))
		sum += le64_to_cpu((desc++)->len);
	return sum;
}

/* Few inputs have a length that fits by chance. */
static void fit_packet(struct kvw_hdr *hdr, u32 bytes, u8 how)
{
	u32 parts, head;

	hdr->type = 1 + hdr->type % (KVW_TYPES - 1);
	if (how & 8)
		hdr->flags &= flags_of(hdr->type);
	parts = kvw_parts(hdr->type, hdr->flags);
	head = sizeof(*hdr) + 8 * __builtin_popcount(parts);
	hdr->count = how & 4 || bytes < head ? hdr->count & 1 :
					       (bytes - head) / sizeof(struct kvw_desc);
	if (hdr->type == KVW_DONE && bytes >= head)
		hdr->part[!!(parts & KVW_P_ID)] =
			cpu_to_le64(total_of((u8 *)hdr + head, hdr->count, bytes - head));
}

static void fuzz_packet(const u8 *data, size_t size, u32 bytes, u8 how)
{
	u8 *packet;

	bytes %= KVW_PACKET + 2;
	packet = calloc(1, bytes ?: 1);
	memcpy(packet, data, size < bytes ? size : bytes);
	if (how & 2 && bytes >= sizeof(struct kvw_hdr))
		fit_packet((struct kvw_hdr *)packet, bytes, how);
	check_packet((struct kvw_hdr *)packet, bytes);
	free(packet);
}

/* ---- hellos ---- */

/*
 * What goes into a proof, or is one, is there; and nobody without a key is asked for any, or has it
 * looked at.
 */
static void check_auth(const struct kvw_hello *hello, const struct kvw_greeting *g, size_t len)
{
	PROMISE(g->auth == !!hello->features);
	PROMISE(!g->auth || g->kind != KVW_REJECT);
	PROMISE((g->kind != KVW_CHALLENGE && g->kind != KVW_PROOF) || g->auth);
	PROMISE(g->kind != KVW_ACCEPT || !g->auth || len >= sizeof(struct kvw_accept));
	if (g->auth && (g->kind == KVW_HELLO || g->kind == KVW_CHALLENGE))
		PROMISE(!g->incarnation && !g->stream && !g->port && !g->dst_ctx);
}

static void check_greeting(const struct kvw_greeting *g)
{
	int cls;

	PROMISE(g->kind >= KVW_HELLO && g->kind <= KVW_PROOF);
	PROMISE(g->version >= KVW_VERSION_MIN && g->version <= KVW_VERSION);
	if (g->kind == KVW_REJECT) {
		PROMISE(g->status <= 4095);	/* an errno, by the kernel's count */
		return;
	}
	if (g->kind == KVW_CHALLENGE || g->kind == KVW_PROOF)
		return;		/* they have no windows */
	for (cls = 0; cls < KVW_CLS; cls++)
		PROMISE(g->window[cls] && g->window[cls] <= KVW_WINDOW_MAX);
	PROMISE(g->answers);
	PROMISE(g->packet >= KVW_PAGE && (g->version >= KVW_VERSION_LONG || g->packet == KVW_PAGE));
}

/* What a sender of our version would have said: nothing in what is nobody's. */
static struct kvw_hello canonical(const struct kvw_hello *hello)
{
	struct kvw_hello h = *hello;

	if (h.version < KVW_VERSION_LONG)
		h.packet = cpu_to_le16(KVW_PAGE);
	h.version = KVW_VERSION;
	h.version_min = KVW_VERSION_MIN;
	if (h.kind == KVW_PROOF)
		memset(h.proof, 0, sizeof(h.proof));
	h.zero = 0;
	if (h.features && (h.kind == KVW_HELLO || h.kind == KVW_CHALLENGE))
		memset(h.nonce, 0, sizeof(h.nonce));
	else
		h.names.zero = 0;
	return h;
}

static void check_hello(const void *data, size_t len)
{
	struct kvw_greeting g, again;
	struct kvw_accept back = {};
	struct kvw_hello same;

	if (kvw_decode_hello(data, len, &g))
		return;
	check_greeting(&g);
	check_auth(data, &g, len);
	same = canonical(data);
	kvw_encode_hello(&g, &back.hello);
	PROMISE(!memcmp(&back.hello, &same, sizeof(same)));
	PROMISE(!kvw_decode_hello(&back, sizeof(back), &again));
	g.version = KVW_VERSION;
	PROMISE(!memcmp(&g, &again, sizeof(g)));
}

/* Few inputs have the magic and the range of versions by chance. */
static void fit_hello(struct kvw_hello *hello, u8 how)
{
	hello->magic = cpu_to_le32(KVW_MAGIC);
	if (how & 4)
		return;
	hello->version_min = KVW_VERSION_MIN;
	hello->version = KVW_VERSION + (how & 8 ? 1 : 0) - (how & 32 ? 1 : 0);
	hello->features = how & 16 ? KVW_FEAT_AUTH : 0;
}

static void fuzz_hello(const u8 *data, size_t size, u32 len, u8 how)
{
	struct kvw_greeting g;
	u8 *private;

	len %= PRIVATE_MOST + 1;
	private = calloc(1, len ?: 1);
	memcpy(private, data, size < len ? size : len);
	if (how & 2 && len >= sizeof(struct kvw_hello))
		fit_hello((struct kvw_hello *)private, how);
	check_hello(private, len);
	free(private);
	PROMISE(kvw_decode_hello(NULL, 0, &g) == -EPROTO);	/* nobody has to send any */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 bytes;
	u8 how;

	if (size < 3)
		return 0;
	how = data[0];
	bytes = get_unaligned_le16(data + 1);
	if (how & 1)
		fuzz_packet(data + 3, size - 3, bytes, how);
	else
		fuzz_hello(data + 3, size - 3, bytes, how);
	return 0;
}
