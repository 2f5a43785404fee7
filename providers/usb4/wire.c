// SPDX-License-Identifier: GPL-2.0
/*
 * wire.c - checks messages, and decodes and encodes the headers of frames and records. All
 * functions are pure: the fuzzer builds this file in user space.
 */
#include "wire.h"

const struct kfi_versions u4w_speaks = {
	.lowest = U4W_VERSION_MIN, .highest = U4W_VERSION, .features = U4W_FEATS,
};

int u4w_check_msg(const struct u4w_msg *msg, size_t size)
{
	u32 words = (sizeof(*msg) - U4W_MSG_HEAD) / 4;
	struct kfi_versions theirs, agreed;

	if (size < offsetof(struct u4w_msg, incarnation))
		return -EPROTO;
	if (msg->type < U4W_LOGIN || msg->type > U4W_LOGOUT_REPLY)
		return -EPROTO;
	theirs = u4w_versions(msg);
	if (kfi_versions_agree(&u4w_speaks, &theirs, &agreed))
		return msg->type <= U4W_LOGIN_REPLY ? -EPROTONOSUPPORT : -EPROTO;
	if (size < sizeof(*msg) || (msg->length_sn & U4W_MSG_LENGTH) != words)
		return -EPROTO;
	if (!msg->incarnation || msg->status > 0xfff)
		return -EPROTO;
	if (msg->type != U4W_LOGIN)
		return 0;
	if (msg->status || msg->hop < U4W_HOP_MIN || msg->hop > U4W_HOP_MAX ||
	    msg->window < U4W_WINDOW_MIN || msg->window > U4W_WINDOW_MAX)
		return -EPROTO;
	if ((!msg->machine[0] && !msg->machine[1]) || msg->names > U4W_NAMES_LATER)
		return -EPROTO;
	if (!msg->held[0] != !msg->held[1] || (!msg->held[0] && (msg->next || msg->high)))
		return -EPROTO;
	if (msg->names == U4W_NAMES_NONE || msg->names == U4W_NAMES_LATER)
		return 0;
	return memcmp(msg->own, msg->peer, U4W_UUID) ? 0 : -EPROTO;
}

int u4w_decode_frame(const void *frame, u32 size, struct u4w_frame *f)
{
	const struct u4w_head *head = frame;

	if (size < sizeof(*head) || size > U4W_FRAME)
		return -EPROTO;
	*f = (struct u4w_frame) {
		.seq = le32_to_cpu(head->seq), .ack = le32_to_cpu(head->ack),
		.life = le32_to_cpu(head->life), .len = le16_to_cpu(head->len),
		.type = head->type, .bits = head->bits,
	};
	if (f->len > size - sizeof(*head) || f->bits & ~U4W_BITS)
		return -EPROTO;
	switch (f->type) {
	case U4W_RECORDS:
		return f->len ? 0 : -EPROTO;
	case U4W_STATE:
		return f->len ? -EPROTO : 0;
	default:
		return -EPROTO;
	}
}

void u4w_encode_frame(const struct u4w_frame *f, struct u4w_head *head)
{
	*head = (struct u4w_head) {
		.seq = cpu_to_le32(f->seq), .ack = cpu_to_le32(f->ack),
		.life = cpu_to_le32(f->life), .len = cpu_to_le16(f->len),
		.type = f->type, .bits = f->bits,
	};
}

int u4w_decode_rec(const void *content, u32 left, struct kfi_mux_rec *rec)
{
	const struct u4w_rec *head = content;

	if (left < sizeof(*head) || head->zero || head->zero2)
		return -EPROTO;
	rec->type = head->type;
	rec->bits = le16_to_cpu(head->bits);
	rec->conn = le32_to_cpu(head->conn);
	rec->len = le16_to_cpu(head->len);
	return u4w_rec_size(rec->len) <= left ? 0 : -EPROTO;
}

void u4w_encode_rec(const struct kfi_mux_rec *rec, u32 len, struct u4w_rec *head)
{
	*head = (struct u4w_rec) {
		.type = rec->type, .bits = cpu_to_le16(rec->bits),
		.conn = cpu_to_le32(rec->conn), .len = cpu_to_le16(len),
	};
}
