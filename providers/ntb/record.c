// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - encodes and decodes the records of connections. All functions are pure: the fuzzer
 * builds this file in user space.
 */
#include "record.h"

#define NTW_PORT_MAX	0x7fffffffU

static bool ntw_window_ok(u32 window)
{
	return window >= NTW_WINDOW_MIN && window <= NTW_WINDOW_MAX;
}

int ntw_decode_call(const struct ntw_rec *rec, const struct ntw_call *body, u32 len,
		    struct ntw_calling *c)
{
	if (rec->type != NTW_CALL || rec->bits || rec->conn || len != sizeof(*body))
		return -EPROTO;
	*c = (struct ntw_calling) {
		.number = le32_to_cpu(body->number), .from = le32_to_cpu(body->from),
		.to = le32_to_cpu(body->to), .window = le32_to_cpu(body->window),
	};
	if (!c->number || body->version_min > body->version)
		return -EPROTO;
	if (body->version < NTW_CONN_VERSION_MIN || body->version_min > NTW_CONN_VERSION)
		return -EPROTONOSUPPORT;
	if (body->zero || !c->to || c->to > NTW_PORT_MAX || c->from > NTW_PORT_MAX)
		return -EPROTO;
	return ntw_window_ok(c->window) ? 0 : -EPROTO;
}

unsigned int ntw_call_queue(const struct ntw_calling *call, bool first, unsigned int queues)
{
	u32 from = call->from ? call->from : call->number;
	__le32 ports[] = {
		cpu_to_le32(first ? from : call->to), cpu_to_le32(first ? call->to : from),
	};
	u32 hash = ntw_check(ports, sizeof(ports));

	/* The upper bits select the queue. In FNV-1a they depend too little on the last bytes. */
	hash = (hash ^ hash >> 16) * 0x9e3779b1;
	return (u64)hash * queues >> 32;
}

void ntw_encode_call(const struct ntw_calling *c, struct ntw_rec *rec, struct ntw_call *body)
{
	*rec = (struct ntw_rec) { .type = NTW_CALL };
	*body = (struct ntw_call) {
		.version = NTW_CONN_VERSION, .version_min = NTW_CONN_VERSION_MIN,
		.number = cpu_to_le32(c->number), .from = cpu_to_le32(c->from),
		.to = cpu_to_le32(c->to), .window = cpu_to_le32(c->window),
	};
}

int ntw_decode_answer(const struct ntw_rec *rec, const struct ntw_answer *body, u32 len,
		      struct ntw_calling *c)
{
	if (rec->type != NTW_ANSWER || rec->bits || !rec->conn || len != sizeof(*body) ||
	    body->zero)
		return -EPROTO;
	*c = (struct ntw_calling) {
		.number = le32_to_cpu(body->number), .window = le32_to_cpu(body->window),
		.status = le32_to_cpu(body->status),
	};
	if (c->status)
		return c->number || c->window ? -EPROTO : 0;
	return c->number && ntw_window_ok(c->window) ? 0 : -EPROTO;
}

void ntw_encode_answer(const struct ntw_calling *c, u32 conn, struct ntw_rec *rec,
		       struct ntw_answer *body)
{
	*rec = (struct ntw_rec) { .type = NTW_ANSWER, .conn = cpu_to_le32(conn) };
	*body = (struct ntw_answer) {
		.number = cpu_to_le32(c->number), .window = cpu_to_le32(c->window),
		.status = cpu_to_le32(c->status),
	};
}

int ntw_decode_data(const struct ntw_rec *rec, const struct ntw_data *body,
		    const struct ntw_placed *placed, u32 len, struct ntw_piece *piece)
{
	u16 bits = le16_to_cpu(rec->bits);

	if (rec->type != NTW_DATA || bits & ~NTW_D_PLACED || !rec->conn || len < sizeof(*body))
		return -EPROTO;
	*piece = (struct ntw_piece) {
		.pos = le32_to_cpu(body->pos), .limit = le32_to_cpu(body->limit),
		.len = len - sizeof(*body),
	};
	if (!(bits & NTW_D_PLACED))
		return 0;
	if (len != sizeof(*body) + sizeof(*placed) || !placed->len)
		return -EPROTO;
	piece->len = 0;
	piece->placed = le32_to_cpu(placed->len);
	piece->key = le32_to_cpu(placed->key);
	piece->crc = le32_to_cpu(placed->crc);
	piece->at = le32_to_cpu(placed->at);
	return 0;
}

void ntw_encode_data(u32 pos, u32 limit, u32 conn, struct ntw_rec *rec, struct ntw_data *body)
{
	*rec = (struct ntw_rec) { .type = NTW_DATA, .conn = cpu_to_le32(conn) };
	*body = (struct ntw_data) { .pos = cpu_to_le32(pos), .limit = cpu_to_le32(limit) };
}

void ntw_encode_placed(const struct ntw_piece *piece, u32 conn, struct ntw_rec *rec,
		       struct ntw_data *body, struct ntw_placed *placed)
{
	ntw_encode_data(piece->pos, piece->limit, conn, rec, body);
	rec->bits = cpu_to_le16(NTW_D_PLACED);
	*placed = (struct ntw_placed) {
		.len = cpu_to_le32(piece->placed), .key = cpu_to_le32(piece->key),
		.crc = cpu_to_le32(piece->crc), .at = cpu_to_le32(piece->at),
	};
}

int ntw_decode_close(const struct ntw_rec *rec, u32 len)
{
	if (rec->type != NTW_CLOSE || !rec->conn || len)
		return -EPROTO;
	return le16_to_cpu(rec->bits) & ~NTW_C_BITS ? -EPROTO : 0;
}

void ntw_encode_close(u16 bits, u32 conn, struct ntw_rec *rec)
{
	*rec = (struct ntw_rec) {
		.type = NTW_CLOSE, .conn = cpu_to_le32(conn), .bits = cpu_to_le16(bits),
	};
}
