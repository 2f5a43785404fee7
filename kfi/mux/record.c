// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - encodes and decodes the records of connections. All functions are pure: the fuzzer
 * builds this file in user space.
 */
#include "record.h"

const struct kfi_versions kmw_speaks = {
	.lowest = KMW_VERSION_MIN, .highest = KMW_VERSION, .features = KMW_FEATS,
};

static bool kmw_window_ok(u32 window)
{
	return window >= KFI_MUX_WINDOW_MIN && window <= KMW_WINDOW_MAX;
}

int kmw_decode_call(const struct kfi_mux_rec *rec, struct kmw_calling *c)
{
	const struct kmw_call *body = (const void *)rec->body;
	int ret;

	if (rec->type != KMW_CALL || rec->bits || rec->conn || rec->len != sizeof(*body))
		return -EPROTO;
	*c = (struct kmw_calling) {
		.speaks = kfi_versions_read(body->version, body->version_min,
					    le16_to_cpu(body->features)),
		.number = le32_to_cpu(body->number), .from = le32_to_cpu(body->from),
		.to = le32_to_cpu(body->to), .window = le32_to_cpu(body->window),
	};
	if (!c->number)
		return -EPROTO;
	ret = kfi_versions_agree(&kmw_speaks, &c->speaks, &c->agreed);
	if (ret)
		return ret;
	if (!c->to || c->to > KMW_PORT_MAX || c->from > KMW_PORT_MAX)
		return -EPROTO;
	return kmw_window_ok(c->window) ? 0 : -EPROTO;
}

unsigned int kmw_call_lane(const struct kmw_calling *call, bool first, unsigned int lanes)
{
	u32 from = call->from ? call->from : call->number;
	u64 ports = first ? from | (u64)call->to << 32 : call->to | (u64)from << 32;
	u32 hash = 0x811c9dc5;
	unsigned int i;

	for (i = 0; i < sizeof(ports); i++)
		hash = (hash ^ (u8)(ports >> 8 * i)) * 0x01000193;
	/* The upper bits select the lane. In FNV-1a they depend too little on the last bytes. */
	hash = (hash ^ hash >> 16) * 0x9e3779b1;
	return (u64)hash * lanes >> 32;
}

void kmw_encode_call(const struct kmw_calling *c, struct kfi_mux_rec *rec)
{
	*rec = (struct kfi_mux_rec) { .type = KMW_CALL, .len = sizeof(struct kmw_call) };
	*(struct kmw_call *)rec->body = (struct kmw_call) {
		.version = kmw_speaks.highest, .version_min = kmw_speaks.lowest,
		.features = cpu_to_le16(kmw_speaks.features),
		.number = cpu_to_le32(c->number), .from = cpu_to_le32(c->from),
		.to = cpu_to_le32(c->to), .window = cpu_to_le32(c->window),
	};
}

int kmw_decode_answer(const struct kfi_mux_rec *rec, struct kmw_calling *c)
{
	const struct kmw_answer *body = (const void *)rec->body;
	int ret;

	if (rec->type != KMW_ANSWER || rec->bits || !rec->conn || rec->len != sizeof(*body))
		return -EPROTO;
	*c = (struct kmw_calling) {
		.speaks = kfi_versions_read(body->version ?: 1, body->version_min,
					    le16_to_cpu(body->features)),
		.number = le32_to_cpu(body->number), .window = le32_to_cpu(body->window),
		.status = le32_to_cpu(body->status),
	};
	ret = kfi_versions_agree(&kmw_speaks, &c->speaks, &c->agreed);
	if (ret)
		return ret;
	if (c->status)
		return c->number || c->window ? -EPROTO : 0;
	return c->number && kmw_window_ok(c->window) ? 0 : -EPROTO;
}

void kmw_encode_answer(const struct kmw_calling *c, u32 conn, struct kfi_mux_rec *rec)
{
	*rec = (struct kfi_mux_rec) {
		.type = KMW_ANSWER, .conn = conn, .len = sizeof(struct kmw_answer),
	};
	*(struct kmw_answer *)rec->body = (struct kmw_answer) {
		.version = kmw_speaks.highest == 1 ? 0 : kmw_speaks.highest,
		.version_min = kfi_versions_lowest(&kmw_speaks),
		.features = cpu_to_le16(kmw_speaks.features),
		.number = cpu_to_le32(c->number), .window = cpu_to_le32(c->window),
		.status = cpu_to_le32(c->status),
	};
}

void kmw_encode_placed(const struct kfi_mux_piece *piece, struct kfi_mux_rec *rec)
{
	struct kmw_placed *placed = (void *)(rec->body + sizeof(struct kmw_data));

	rec->bits = KMW_D_PLACED;
	rec->len = sizeof(struct kmw_data) + sizeof(*placed);
	*placed = (struct kmw_placed) {
		.len = cpu_to_le32(piece->len), .key = cpu_to_le32(piece->key),
		.crc = cpu_to_le32(piece->crc), .at = cpu_to_le32(piece->at),
	};
}

int kmw_decode_close(const struct kfi_mux_rec *rec)
{
	if (rec->type != KMW_CLOSE || !rec->conn || rec->len)
		return -EPROTO;
	return rec->bits & ~KMW_C_BITS ? -EPROTO : 0;
}

void kmw_encode_close(u16 bits, u32 conn, struct kfi_mux_rec *rec)
{
	*rec = (struct kfi_mux_rec) { .type = KMW_CLOSE, .conn = conn, .bits = bits };
}
