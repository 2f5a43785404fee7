// SPDX-License-Identifier: GPL-2.0
/*
 * mux_fuzz.c - libFuzzer on the decoders of the multiplexer: the records of connections. Whatever a
 * peer writes, a value that decode accepts keeps the promises that the receive path relies on, and
 * encode produces the same bytes from it.
 *
 * Input: the decoder and options (one byte), then a struct kfi_mux_rec. Missing bytes are 0.
 */
#include "record.h"

static void check_call(const struct kfi_mux_rec *rec)
{
	const struct kmw_call *body = (const void *)rec->body;
	struct kmw_calling c;
	struct kfi_mux_rec rec2;
	struct kmw_call *body2 = (void *)rec2.body;

	if (kmw_decode_call(rec, &c))
		return;
	PROMISE(rec->len == sizeof(*body) && c.number && c.to && c.to <= INT32_MAX &&
		c.from <= INT32_MAX);
	PROMISE(c.window >= KFI_MUX_WINDOW_MIN && c.window <= KMW_WINDOW_MAX);
	PROMISE(body->version_min <= KMW_VERSION && body->version >= KMW_VERSION_MIN);
	PROMISE(c.agreed.highest >= KMW_VERSION_MIN && c.agreed.highest <= KMW_VERSION);
	kmw_encode_call(&c, &rec2);
	body2->version = body->version;
	body2->version_min = body->version_min;
	body2->features = body->features;
	PROMISE(rec2.type == rec->type && rec2.len == rec->len);
	PROMISE(!memcmp(body2, body, sizeof(*body)));
}

static void check_answer(const struct kfi_mux_rec *rec)
{
	struct kmw_calling c;
	struct kfi_mux_rec rec2;

	if (kmw_decode_answer(rec, &c))
		return;
	PROMISE(rec->len == sizeof(struct kmw_answer) && rec->conn);
	PROMISE(!c.status == !!c.number);
	PROMISE(c.status || (c.window >= KFI_MUX_WINDOW_MIN && c.window <= KMW_WINDOW_MAX));
	kmw_encode_answer(&c, rec->conn, &rec2);
	PROMISE(rec2.conn == rec->conn && rec2.len == rec->len);
	memcpy(rec2.body + offsetof(struct kmw_answer, version),
	       rec->body + offsetof(struct kmw_answer, version), 4);
	PROMISE(!memcmp(rec2.body, rec->body, rec->len));
}

static void check_data(const struct kfi_mux_rec *rec)
{
	struct kmw_bytes data;
	struct kfi_mux_rec rec2;

	if (kmw_decode_data(rec, &data))
		return;
	PROMISE(rec->conn && rec->len >= sizeof(struct kmw_data));
	/* The bytes are in the record, or in a place. */
	PROMISE(data.len + sizeof(struct kmw_data) +
		(data.placed.len ? sizeof(struct kmw_placed) : 0) == rec->len);
	PROMISE(!data.len || !data.placed.len);
	kmw_encode_data(data.pos, data.limit, rec->conn, &rec2);
	if (data.placed.len)
		kmw_encode_placed(&data.placed, &rec2);
	PROMISE(rec2.bits == rec->bits && rec2.conn == rec->conn);
	PROMISE(!memcmp(rec2.body, rec->body, rec2.len));
}

static void check_close(const struct kfi_mux_rec *rec)
{
	if (!kmw_decode_close(rec))
		PROMISE(!rec->len && rec->conn && !(rec->bits & ~KMW_C_BITS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		void	(*check)(const struct kfi_mux_rec *rec);
		u8	type;
		u32	len;
	} kinds[] = {
		{ check_call, KMW_CALL, sizeof(struct kmw_call) },
		{ check_answer, KMW_ANSWER, sizeof(struct kmw_answer) },
		{ check_data, KMW_DATA, sizeof(struct kmw_data) + sizeof(struct kmw_placed) },
		{ check_close, KMW_CLOSE, 0 },
	};
	struct kfi_mux_rec rec = {};
	unsigned int kind;

	if (!size)
		return 0;
	kind = data[0] & 3;
	memcpy(&rec, data + 1, size - 1 < sizeof(rec) ? size - 1 : sizeof(rec));
	/* Type, bits and length that are valid, which few inputs have by chance. */
	if (data[0] & 4)
		rec.type = kinds[kind].type;
	if (data[0] & 8)
		rec.bits &= KMW_D_PLACED | KMW_C_BITS;
	if (data[0] & 16)
		rec.len = kinds[kind].len;
	kinds[kind].check(&rec);
	return 0;
}
