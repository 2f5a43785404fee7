// SPDX-License-Identifier: GPL-2.0
/*
 * usb4_fuzz.c - libFuzzer on the decoders of kfi_usb4: messages, frames, and the records in them.
 * Whatever a peer sends, a value that is accepted keeps the promises that the receive path relies
 * on, no byte outside of what has arrived is read, and encode produces the same bytes from it.
 *
 * Input: the decoder and options (one byte), then what has arrived.
 */
#include "wire.h"

static void check_msg(u8 options, const u8 *data, size_t size)
{
	struct u4w_msg *msg = (void *)data;
	int ret;

	/* Valid fields, which few inputs have by chance. */
	if (options & 4 && size >= sizeof(*msg)) {
		msg->length_sn = (sizeof(*msg) - U4W_MSG_HEAD) / 4;
		msg->type = U4W_LOGIN + (msg->type & 3);
		/* The range begins, or ends, with a version of this side, or misses it by one. */
		msg->version = (U4W_VERSION + (msg->version & 3)) |
			       (U4W_VERSION_MIN + (msg->version >> 2 & 1)) << 8 |
			       (msg->version & 0xffff0000);
		msg->names &= 7;
		if (options & 8)
			memset(msg->held, 0, sizeof(*msg) - offsetof(struct u4w_msg, held));
	}
	ret = u4w_check_msg(msg, size);
	PROMISE(!ret || ret == -EPROTO || ret == -EPROTONOSUPPORT);
	if (ret == -EPROTO)
		return;
	PROMISE(size >= offsetof(struct u4w_msg, incarnation));
	PROMISE(msg->type >= U4W_LOGIN && msg->type <= U4W_LOGOUT_REPLY);
	if (ret)
		return;
	PROMISE((u8)msg->version >= U4W_VERSION_MIN && (u8)(msg->version >> 8) <= U4W_VERSION);
	PROMISE(size >= sizeof(*msg) && msg->incarnation && msg->status < 4096);
	if (msg->type != U4W_LOGIN)
		return;
	PROMISE(!msg->status && msg->hop >= U4W_HOP_MIN && msg->hop <= U4W_HOP_MAX &&
		msg->window >= U4W_WINDOW_MIN && msg->window <= U4W_WINDOW_MAX);
	PROMISE((msg->machine[0] || msg->machine[1]) && msg->names <= U4W_NAMES_LATER);
	if (msg->names == U4W_NAMES_WAIT || msg->names == U4W_NAMES_HAVE)
		PROMISE(memcmp(msg->own, msg->peer, U4W_UUID));
	PROMISE(!msg->held[0] == !msg->held[1]);
	PROMISE(msg->held[0] || (!msg->next && !msg->high));
}

static void check_records(const u8 *content, u32 len)
{
	struct kfi_mux_rec rec;
	struct u4w_rec head;
	u32 at;

	for (at = 0; at < len; at += u4w_rec_size(rec.len)) {
		if (u4w_decode_rec(content + at, len - at, &rec))
			return;
		PROMISE(at + sizeof(struct u4w_rec) + rec.len <= len && rec.len <= U4W_REC_MAX);
		u4w_encode_rec(&rec, rec.len, &head);
		PROMISE(!memcmp(&head, content + at, sizeof(head)));
	}
	PROMISE(at == len);
}

static void check_frame(u8 options, const u8 *data, size_t size)
{
	struct u4w_head head, *in = (void *)data;
	struct u4w_frame f;

	if (options & 4 && size >= sizeof(*in)) {
		in->bits &= U4W_BITS;
		in->type = U4W_RECORDS + (in->type & 1);
		in->len = htole16(in->type == U4W_RECORDS ? size - sizeof(*in) : 0);
	}
	if (u4w_decode_frame(data, size, &f))
		return;
	PROMISE(f.len <= size - sizeof(head) && f.len <= U4W_CONTENT);
	PROMISE((f.type == U4W_RECORDS && f.len) || (f.type == U4W_STATE && !f.len));
	u4w_encode_frame(&f, &head);
	PROMISE(!memcmp(&head, data, sizeof(head)));
	check_records(data + sizeof(head), f.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u8 *copy;

	if (!size)
		return 0;
	copy = malloc(size - 1);	/* as long as what has arrived, so that a read behind it is seen */
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		check_msg(data[0], copy, size - 1);
	else
		check_frame(data[0], copy, size - 1);
	free(copy);
	return 0;
}
