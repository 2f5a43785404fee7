// SPDX-License-Identifier: GPL-2.0
/* send.c - single records and frames, each well-formed; their values may be wrong. */
#include <linux/random.h>
#include "hostile.h"

int hp_send_call(struct hp *hp, u32 number, u32 from, u32 to, unsigned int copies)
{
	struct ntw_calling c = { .number = number, .from = from, .to = to, .window = HP_WINDOW };
	struct ntw_call body;
	struct ntw_rec rec;

	ntw_encode_call(&c, &rec, &body);
	return hp_post(hp, &rec, &body, sizeof(body), copies);
}

int hp_send_answer(struct hp *hp, u32 to, u32 number)
{
	struct ntw_calling c = { .number = number, .window = HP_WINDOW };
	struct ntw_answer body;
	struct ntw_rec rec;

	ntw_encode_answer(&c, to, &rec, &body);
	return hp_post(hp, &rec, &body, sizeof(body), 1);
}

int hp_send_close(struct hp *hp, u32 to, u16 bits)
{
	struct ntw_rec rec;

	ntw_encode_close(bits, to, &rec);
	return hp_post(hp, &rec, NULL, 0, 1);
}

/* ---- streams ---- */

/*
 * Fill with frames without content. @at: position in the stream, from the beginning of a frame on.
 * So a stream that lacks some of them, or is longer than it may be, is wrong for no other reason.
 */
static void hp_fill_frames(u8 *bytes, size_t len, u64 at)
{
	struct kfw_frame f = {
		.type = KFW_CREDIT, .credit_msg = HP_CREDIT, .credit_tag = HP_CREDIT,
	};
	struct kfw_hdr hdr;
	size_t i;

	kfw_encode(&f, &hdr);
	for (i = 0; i < len; i++)
		bytes[i] = ((u8 *)&hdr)[(at + i) % sizeof(hdr)];
}

int hp_send_data(struct hp *hp, u32 number, u64 pos, u32 less, u16 bits, u32 len)
{
	struct {
		struct ntw_data data;
		u8 bytes[2048];
	} *body = kzalloc(sizeof(*body), GFP_KERNEL);
	struct ntw_rec rec;
	int ret = -ENOMEM;

	if (!body)
		return ret;
	ntw_encode_data(pos, hp->stream.got + HP_WINDOW - less, hp_received(hp, number).from, &rec,
			&body->data);
	rec.bits |= cpu_to_le16(bits);
	hp_fill_frames(body->bytes, sizeof(body->bytes), pos - hp->stream.sent);
	ret = hp_post(hp, &rec, body,
		      sizeof(body->data) + min_t(u32, len, sizeof(body->bytes)), 1);
	kfree(body);
	return ret;
}

static int hp_send_bytes(struct hp *hp, u32 number, const void *bytes, u32 len)
{
	struct {
		struct ntw_data data;
		u8 bytes[512];
	} body;
	struct ntw_rec rec;

	len = min_t(u32, len, sizeof(body.bytes));
	ntw_encode_data(hp->stream.sent + hp->stream.put, hp->stream.got + HP_WINDOW,
			hp_received(hp, number).from, &rec, &body.data);
	memcpy(body.bytes, bytes, len);
	hp->stream.sent += len;
	return hp_post(hp, &rec, &body, sizeof(body.data) + len, 1);
}

int hp_send_hello(struct hp *hp, u32 number, u64 incarnation, bool key)
{
	struct kfw_hello_info info = {
		.kind = KFW_HELLO, .ep_type = KFI_EP_RDM, .auth = key, .port = 1,
		.incarnation = incarnation, .stream = get_random_u64(),
		.window_msg = HP_CREDIT, .window_tag = HP_CREDIT, .requests = HP_CREDIT,
		.eager = 4096,
	};
	struct {
		struct kfw_hello hello;
		u8 auth[KFW_AUTH_LEN];
	} out;

	kfw_encode_hello(&info, &out.hello);
	get_random_bytes(out.auth, sizeof(out.auth));
	return hp_send_bytes(hp, number, &out, sizeof(out.hello) + (key ? sizeof(out.auth) : 0));
}

/* @len bytes behind the header */
static int hp_send_frame(struct hp *hp, u32 number, struct kfw_frame *f, const void *tail, u32 len)
{
	struct {
		struct kfw_hdr hdr;
		u8 tail[64];
	} out;

	f->credit_msg = HP_CREDIT;
	f->credit_tag = HP_CREDIT;
	kfw_encode(f, &out.hdr);
	memcpy(out.tail, tail, len);
	return hp_send_bytes(hp, number, &out, sizeof(out.hdr) + len);
}

int hp_send_asking(struct hp *hp, u32 number, u64 key, u64 len)
{
	struct kfw_frame f = { .type = KFW_RTW, .rma_count = 1, .id = 7, .gen = 1, .len = len };
	struct kfw_rma seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) };

	return hp_send_frame(hp, number, &f, &seg, sizeof(seg));
}

int hp_send_touch(struct hp *hp, u32 number, u64 key)
{
	struct kfw_frame f = { .type = KFW_WRITE, .flags = KFW_F_CQ_DATA, .rma_count = 1 };
	struct kfw_rma seg = { .key = cpu_to_le64(key) };

	return hp_send_frame(hp, number, &f, &seg, sizeof(seg));
}

int hp_send_take(struct hp *hp, u32 number, u32 at, u32 len)
{
	struct hp_received received = hp_received(hp, number);
	struct kfw_frame f = {
		.type = KFW_CTS, .id = received.id, .gen = received.gen, .slot = 1, .places = 1,
	};
	struct kfw_place place = {
		.at = cpu_to_le64(at), .len = cpu_to_le32(len),
	};

	return hp_send_frame(hp, number, &f, &place, sizeof(place));
}

int hp_send_message(struct hp *hp, u32 number, u32 value)
{
	__le32 bytes = cpu_to_le32(value);
	struct kfw_frame f = { .type = KFW_MSG, .payload = sizeof(bytes), .len = sizeof(bytes) };

	return hp_send_frame(hp, number, &f, &bytes, sizeof(bytes));
}

int hp_send_placed(struct hp *hp, u32 number, u32 len, u32 crc)
{
	struct hp_received received = hp_received(hp, number);
	struct ntw_piece piece = {
		.pos = hp->stream.sent + hp->stream.put, .limit = hp->stream.got + HP_WINDOW,
		.placed = len, .key = crc ? received.key & ~NTW_K_WINDOW : 0, .crc = crc,
	};
	struct kfw_frame f = {
		.type = KFW_DATA, .flags = KFW_F_PLACED, .id = 7, .gen = 1, .slot = received.slot,
		.len = len,
	};
	struct {
		struct ntw_data data;
		struct ntw_placed placed;
	} body;
	struct ntw_rec rec;

	ntw_encode_placed(&piece, received.from, &rec, &body.data, &body.placed);
	hp->stream.put += len;
	return hp_post(hp, &rec, &body, sizeof(body), 1) ?: hp_send_frame(hp, number, &f, "", 0);
}
