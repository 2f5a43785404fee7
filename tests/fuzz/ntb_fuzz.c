// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_fuzz.c - libFuzzer on what endpoints of kfi_ntb decode. Whatever a peer sends, what decode lets through lies inside the record and
 * keeps the promises that the receive path relies on; and encode makes the same bytes of it again.
 *
 * Input: what to leave to chance, and what it is (one byte), bytes behind the record's head (two), the head, then those bytes; what is missing is 0.
 */
#include "fuzz.h"
#include "record.h"

#define EAGER	4096U
#define ROOM	(sizeof(struct ntw_hdr) + NTW_TAIL_MAX)

/* ---- records ---- */

/* Independent of the table: who may say what. */
static u16 bits_of(u8 type)
{
	switch (type) {
	case NTW_MSG:
		return NTW_F_TAGGED | NTW_F_CQ_DATA | NTW_F_ACK | NTW_F_INV;
	case NTW_RTS:
		return NTW_F_TAGGED | NTW_F_CQ_DATA | NTW_F_RMA | NTW_F_INV;
	case NTW_TREAD:
		return NTW_F_TAGGED | NTW_F_RMA;
	case NTW_WRITE:
		return NTW_F_CQ_DATA | NTW_F_COMMIT | NTW_F_LAST | NTW_F_ASK;
	case NTW_MORE:
		return NTW_F_LAST;
	case NTW_DATA:
	case NTW_READ_DATA:
		return NTW_F_LAST | NTW_F_PLACED;
	case NTW_CLOSE:
		return NTW_F_ACK;
	case NTW_ATOMIC:
		return NTW_F_CQ_DATA | NTW_F_FETCH | NTW_F_COMPARE | NTW_F_COMMIT;
	case NTW_FLUSH:
		return NTW_F_COMMIT;
	default:
		return 0;
	}
}

/* What a slot has to keep fits into it; what has segments has no more than there is room for. */
static void check_sizes(const struct ntw_frame *f, u32 len)
{
	bool segs = f->type == NTW_WRITE || f->type == NTW_READ || f->type == NTW_ATOMIC || f->type == NTW_FLUSH;

	PROMISE(sizeof(struct ntw_hdr) + f->nsegs * sizeof(struct ntw_seg) + f->nspots * sizeof(struct ntw_spot) + f->payload == len);
	PROMISE(f->nspots <= NTW_SPOTS_MAX);
	PROMISE(!f->nspots || f->type == NTW_CTS || f->type == NTW_READ || f->type == NTW_TREAD);
	PROMISE(!(f->bits & NTW_F_PLACED) || (f->len && !f->payload));
	PROMISE(f->type != NTW_WRITE || !(f->bits & NTW_F_ASK) || (f->len && !f->payload));
	PROMISE(f->nsegs <= NTW_SEGS_MAX);
	PROMISE(!segs || f->nsegs);
	PROMISE(segs || f->nsegs == !!(f->bits & NTW_F_INV));
	PROMISE(f->len <= NTW_LEN_MAX);
	PROMISE(f->type != NTW_MSG || (f->payload == f->len && f->payload <= EAGER));
	PROMISE(f->type != NTW_WRITE || f->payload <= f->len);
	PROMISE(f->type != NTW_ATOMIC || (f->len && f->len <= NTW_ATOMIC_MAX && f->payload <= 2 * NTW_ATOMIC_MAX));
}

static void check_bits(const struct ntw_frame *f)
{
	PROMISE(!(f->bits & ~bits_of(f->type)));
	PROMISE(!(f->bits & NTW_F_RMA) || f->bits & NTW_F_TAGGED);
	PROMISE(f->type != NTW_TREAD || f->bits == (NTW_F_TAGGED | NTW_F_RMA));
	PROMISE(!(f->bits & NTW_F_FETCH) || !(f->bits & NTW_F_COMPARE));
	/* Who wants old values has no use for remote CQ data, nor a commit. */
	PROMISE(!(f->bits & (NTW_F_FETCH | NTW_F_COMPARE)) || !(f->bits & (NTW_F_CQ_DATA | NTW_F_COMMIT)));
}

static void check_record(const struct ntw_rec *rec, const struct ntw_hdr *hdr, u32 len)
{
	struct ntw_rec rec2;
	struct ntw_hdr hdr2;
	struct ntw_frame f;

	if (ntw_decode(rec, hdr, len, EAGER, &f))
		return;
	PROMISE(f.type >= NTW_MSG && f.type < NTW_SAYS);
	check_sizes(&f, len);
	check_bits(&f);
	ntw_encode(&f, &rec2, &hdr2);
	PROMISE(rec2.type == rec->type && rec2.bits == rec->bits && rec2.conn == rec->conn);
	PROMISE(!memcmp(&hdr2, hdr, sizeof(hdr2)));
}

/* ---- the handshake ---- */

static void check_call(const struct ntw_rec *rec, const struct ntw_call *call, u32 len)
{
	struct ntw_calling c;
	struct ntw_rec rec2;
	struct ntw_call call2;

	if (ntw_decode_call(rec, call, len, &c))
		return;
	PROMISE(ntw_is_call(c.type));
	PROMISE(c.data_len <= NTW_DATA_MAX);
	PROMISE(sizeof(*call) + c.data_len + (c.auth ? NTW_AUTH_LEN : 0) == len);
	PROMISE(c.version >= NTW_EP_VERSION_MIN && c.version <= NTW_EP_VERSION);
	PROMISE(c.type == NTW_REJECT || c.conn);
	if (c.type == NTW_HELLO || c.type == NTW_ACCEPT)
		PROMISE(c.window[0] && c.window[1] && c.window[2] && c.window[0] <= NTW_WINDOW_MAX && c.eager && c.incarnation);
	ntw_encode_call(&c, le32_to_cpu(rec->conn), &rec2, &call2);
	PROMISE(rec2.type == rec->type && rec2.conn == rec->conn);
	PROMISE(call2.incarnation == call->incarnation && call2.stream == call->stream && call2.conn == call->conn &&
		call2.data_len == call->data_len && call2.auth_len == call->auth_len && call2.status == call->status);
}

/* ---- memory that is lent ---- */

/* It lies in one of the windows, and says which. */
static void check_spot(const struct ntw_spot *spot)
{
	struct ntw_spot again;
	u32 len;
	u64 at;

	if (ntw_decode_spot(spot, &at, &len))
		return;
	PROMISE((at & ~NTW_FLAT) + len <= (at & NTW_FLAT ? NTW_FLAT_MAX : NTW_SIZE_MAX));
	ntw_encode_spot(at, len, &again);
	PROMISE(!memcmp(&again, spot, sizeof(again)));
}

/* Few inputs have a length that fits by chance. */
static u32 fit(struct ntw_rec *rec, struct ntw_hdr *hdr, u8 how, u32 len)
{
	u32 head;

	if (how & 1)
		rec->type = NTW_MSG + rec->type % (NTW_SAYS - NTW_MSG);
	if (how & 2)
		rec->bits &= cpu_to_le16(bits_of(rec->type));
	if (how & 4)
		hdr->nsegs %= NTW_SEGS_MAX + 1;
	hdr->nspots = how & 8 ? 0 : hdr->nspots;
	head = sizeof(*hdr) + hdr->nsegs * sizeof(struct ntw_seg) + hdr->nspots * sizeof(struct ntw_spot);
	if (how & 16)
		hdr->len = cpu_to_le64(len > head ? len - head : 0);
	return how & 32 ? head : len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct { struct ntw_rec rec; u8 body[ROOM] __attribute__((aligned(8))); } in = {};
	u8 how;
	u16 len;

	if (size < 3)
		return 0;
	how = data[0];
	memcpy(&len, data + 1, sizeof(len));
	memcpy(&in, data + 3, size - 3 < sizeof(in) ? size - 3 : sizeof(in));
	if (how & 128) {
		check_spot((struct ntw_spot *)in.body);
	} else if (how & 64) {
		in.rec.type = how & 1 ? NTW_HELLO + in.rec.type % (NTW_PROOF - NTW_HELLO + 1) : in.rec.type;
		in.rec.bits = 0;
		check_call(&in.rec, (struct ntw_call *)in.body, len);
	} else {
		len = fit(&in.rec, (struct ntw_hdr *)in.body, how, len);
		check_record(&in.rec, (struct ntw_hdr *)in.body, len);
	}
	return 0;
}
