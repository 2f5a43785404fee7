// SPDX-License-Identifier: GPL-2.0
/*
 * say.c - single records and frames, each as such well-formed: what they are about is another
 * matter.
 */
#include <linux/random.h>
#include "hostile.h"

int hp_say_call(struct hp *hp, u32 number, u32 from, u32 to, unsigned int copies)
{
	struct ntw_calling c = { .number = number, .from = from, .to = to, .window = HP_WINDOW };
	struct ntw_call body;
	struct ntw_rec rec;

	ntw_encode_call(&c, &rec, &body);
	return hp_post(hp, &rec, &body, sizeof(body), copies);
}

int hp_say_answer(struct hp *hp, u32 to, u32 number)
{
	struct ntw_calling c = { .number = number, .window = HP_WINDOW };
	struct ntw_answer body;
	struct ntw_rec rec;

	ntw_encode_answer(&c, to, &rec, &body);
	return hp_post(hp, &rec, &body, sizeof(body), 1);
}

int hp_say_close(struct hp *hp, u32 to, u16 bits)
{
	struct ntw_rec rec;

	ntw_encode_close(bits, to, &rec);
	return hp_post(hp, &rec, NULL, 0, 1);
}

/* ---- streams ---- */

int hp_say_data(struct hp *hp, u32 number, u64 pos, u32 less, u16 bits, u32 len)
{
	struct {
		struct ntw_data data;
		u8 bytes[2048];
	} *body = kzalloc(sizeof(*body), GFP_KERNEL);
	struct ntw_rec rec;
	int ret = -ENOMEM;

	if (!body)
		return ret;
	ntw_encode_data(pos, hp->stream.got + HP_WINDOW - less, hp_heard(hp, number).from, &rec,
			&body->data);
	rec.bits |= cpu_to_le16(bits);
	ret = hp_post(hp, &rec, body,
		      sizeof(body->data) + min_t(u32, len, sizeof(body->bytes)), 1);
	kfree(body);
	return ret;
}

static int hp_say_bytes(struct hp *hp, u32 number, const void *bytes, u32 len)
{
	struct {
		struct ntw_data data;
		u8 bytes[512];
	} body;
	struct ntw_rec rec;

	len = min_t(u32, len, sizeof(body.bytes));
	ntw_encode_data(hp->stream.sent + hp->stream.put, hp->stream.got + HP_WINDOW,
			hp_heard(hp, number).from, &rec, &body.data);
	memcpy(body.bytes, bytes, len);
	hp->stream.sent += len;
	return hp_post(hp, &rec, &body, sizeof(body.data) + len, 1);
}

int hp_say_hello(struct hp *hp, u32 number, u64 incarnation, bool key)
{
	struct kfw_greeting g = {
		.kind = KFW_HELLO, .ep_type = KFI_EP_RDM, .auth = key, .port = 1,
		.incarnation = incarnation, .stream = get_random_u64(),
		.window_msg = HP_CREDIT, .window_tag = HP_CREDIT, .requests = HP_CREDIT,
		.eager = 4096,
	};
	struct {
		struct kfw_hello hello;
		u8 auth[KFW_AUTH_LEN];
	} out;

	kfw_encode_hello(&g, &out.hello);
	get_random_bytes(out.auth, sizeof(out.auth));
	return hp_say_bytes(hp, number, &out, sizeof(out.hello) + (key ? sizeof(out.auth) : 0));
}

/* @len bytes behind the header */
static int hp_say_frame(struct hp *hp, u32 number, struct kfw_frame *f, const void *tail, u32 len)
{
	struct {
		struct kfw_hdr hdr;
		u8 tail[64];
	} out;

	f->credit_msg = HP_CREDIT;
	f->credit_tag = HP_CREDIT;
	kfw_encode(f, &out.hdr);
	memcpy(out.tail, tail, len);
	return hp_say_bytes(hp, number, &out, sizeof(out.hdr) + len);
}

int hp_say_asking(struct hp *hp, u32 number, u64 key, u64 len)
{
	struct kfw_frame f = { .type = KFW_ASK, .rma_count = 1, .id = 7, .gen = 1, .len = len };
	struct kfw_rma seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) };

	return hp_say_frame(hp, number, &f, &seg, sizeof(seg));
}

int hp_say_touch(struct hp *hp, u32 number, u64 key)
{
	struct kfw_frame f = { .type = KFW_WRITE, .flags = KFW_F_CQ_DATA, .rma_count = 1 };
	struct kfw_rma seg = { .key = cpu_to_le64(key) };

	return hp_say_frame(hp, number, &f, &seg, sizeof(seg));
}

int hp_say_take(struct hp *hp, u32 number, u32 len)
{
	struct hp_heard heard = hp_heard(hp, number);
	struct kfw_frame f = {
		.type = KFW_CTS, .id = heard.id, .gen = heard.gen, .slot = 1, .places = 1,
	};
	struct kfw_place place = {
		.at = cpu_to_le64(NTW_RING_AT + HP_RING), .len = cpu_to_le32(len),
	};

	return hp_say_frame(hp, number, &f, &place, sizeof(place));
}

int hp_say_placed(struct hp *hp, u32 number, u32 len, u32 crc)
{
	struct hp_heard heard = hp_heard(hp, number);
	struct ntw_piece piece = {
		.pos = hp->stream.sent + hp->stream.put, .limit = hp->stream.got + HP_WINDOW,
		.placed = len, .key = crc ? heard.key & ~NTW_K_WINDOW : 0, .crc = crc,
	};
	struct kfw_frame f = {
		.type = KFW_DATA, .flags = KFW_F_PLACED, .id = 7, .gen = 1, .slot = heard.slot,
		.len = len,
	};
	struct {
		struct ntw_data data;
		struct ntw_placed placed;
	} body;
	struct ntw_rec rec;

	ntw_encode_placed(&piece, heard.from, &rec, &body.data, &body.placed);
	hp->stream.put += len;
	return hp_post(hp, &rec, &body, sizeof(body), 1) ?: hp_say_frame(hp, number, &f, "", 0);
}
