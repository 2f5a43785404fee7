// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_fuzz.c - libFuzzer on the records of connections of kfi_ntb. Whatever a peer sends, a record
 * that decode accepts keeps the promises that the receive path relies on, and encode produces the
 * same bytes from it.
 *
 * Input: the kind of record (one byte), the number of bytes behind the record's head (two), the
 * head, then those bytes; missing bytes are 0.
 */
#include "fuzz.h"
#include "record.h"

#define BODY	64U

static void check_call(const struct ntw_rec *rec, const struct ntw_call *body, u32 len)
{
	struct ntw_calling c;
	struct ntw_call body2;
	struct ntw_rec rec2;

	if (ntw_decode_call(rec, body, len, &c))
		return;
	PROMISE(len == sizeof(*body) && c.number && c.to && c.to <= INT32_MAX &&
		c.from <= INT32_MAX);
	PROMISE(c.window >= NTW_WINDOW_MIN && c.window <= NTW_WINDOW_MAX);
	PROMISE(body->version_min <= NTW_CONN_VERSION && body->version >= NTW_CONN_VERSION_MIN);
	ntw_encode_call(&c, &rec2, &body2);
	body2.version = body->version;
	body2.version_min = body->version_min;
	PROMISE(rec2.type == rec->type && !memcmp(&body2, body, sizeof(body2)));
}

static void check_answer(const struct ntw_rec *rec, const struct ntw_answer *body, u32 len)
{
	struct ntw_answer body2;
	struct ntw_calling c;
	struct ntw_rec rec2;

	if (ntw_decode_answer(rec, body, len, &c))
		return;
	PROMISE(len == sizeof(*body) && rec->conn);
	PROMISE(!c.status == !!c.number);
	PROMISE(c.status || (c.window >= NTW_WINDOW_MIN && c.window <= NTW_WINDOW_MAX));
	ntw_encode_answer(&c, le32_to_cpu(rec->conn), &rec2, &body2);
	PROMISE(rec2.conn == rec->conn && !memcmp(&body2, body, sizeof(body2)));
}

static void check_data(const struct ntw_rec *rec, const u8 *body, u32 len)
{
	const struct ntw_data *data = (const void *)body;
	const struct ntw_placed *placed = (const void *)(data + 1);
	struct ntw_placed placed2 = {};
	struct ntw_piece piece;
	struct ntw_data data2;
	struct ntw_rec rec2;

	if (ntw_decode_data(rec, data, placed, len, &piece))
		return;
	PROMISE(rec->conn && len >= sizeof(*data));
	/* The bytes are in the record, or in a place. */
	PROMISE(piece.len + sizeof(*data) + (piece.placed ? sizeof(*placed) : 0) == len);
	PROMISE(!piece.len || !piece.placed);
	if (piece.placed)
		ntw_encode_placed(&piece, le32_to_cpu(rec->conn), &rec2, &data2, &placed2);
	else
		ntw_encode_data(piece.pos, piece.limit, le32_to_cpu(rec->conn), &rec2, &data2);
	PROMISE(rec2.bits == rec->bits && rec2.conn == rec->conn);
	PROMISE(!memcmp(&data2, data, sizeof(data2)));
	PROMISE(!piece.placed || !memcmp(&placed2, placed, sizeof(placed2)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct { struct ntw_rec rec; u8 body[BODY] __attribute__((aligned(8))); } in = {};
	struct ntw_rec *rec = &in.rec;
	u16 len;

	if (size < 3)
		return 0;
	memcpy(&len, data + 1, sizeof(len));
	memcpy(&in, data + 3, size - 3 < sizeof(in) ? size - 3 : sizeof(in));
	/* Correct length and bits, which few inputs have by chance. */
	if (data[0] & 8)
		rec->bits &= cpu_to_le16(NTW_D_PLACED | NTW_C_BITS);
	switch (data[0] & 7) {
	case 0:
		rec->type = NTW_CALL;
		check_call(rec, (void *)in.body, data[0] & 16 ? sizeof(struct ntw_call) : len);
		break;
	case 1:
		rec->type = NTW_ANSWER;
		check_answer(rec, (void *)in.body, data[0] & 16 ? sizeof(struct ntw_answer) : len);
		break;
	case 2:
		rec->type = NTW_DATA;
		check_data(rec, in.body, data[0] & 16 ? sizeof(struct ntw_data) +
			   sizeof(struct ntw_placed) : len);
		break;
	case 3:
		if (!ntw_decode_close(rec, len))
			PROMISE(!len && rec->conn && !(le16_to_cpu(rec->bits) & ~NTW_C_BITS));
		break;
	default:
		check_data(rec, in.body, len);
		break;
	}
	return 0;
}
