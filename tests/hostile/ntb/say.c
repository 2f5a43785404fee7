// SPDX-License-Identifier: GPL-2.0
/*
 * say.c - single records, each as such well-formed: what they are about is another matter.
 */
#include <linux/random.h>
#include "hostile.h"

static int hp_say_call(struct hp *hp, u32 to, const struct ntw_calling *c, unsigned int copies)
{
	struct {
		struct ntw_call call;
		u8 auth[NTW_AUTH_LEN];
	} body;
	struct ntw_rec rec;

	ntw_encode_call(c, to, &rec, &body.call);
	get_random_bytes(body.auth, sizeof(body.auth));
	return hp_post(hp, &rec, &body, sizeof(body.call) + (c->auth ? sizeof(body.auth) : 0), copies);
}

int hp_say_hello(struct hp *hp, const struct hp_call *call)
{
	struct ntw_calling c = {
		.type = NTW_HELLO, .ep_type = KFI_EP_RDM, .auth = call->key, .window = { HP_WINDOW, HP_WINDOW, HP_WINDOW }, .eager = 4096,
		.from = call->from, .to = call->to, .conn = call->number, .incarnation = call->incarnation, .stream = get_random_u64(),
	};

	return hp_say_call(hp, 0, &c, call->copies);
}

int hp_say_ringing(struct hp *hp, u32 to, u32 number)
{
	struct ntw_calling c = { .type = NTW_RINGING, .conn = number };

	return hp_say_call(hp, to, &c, 1);
}

/* @len bytes behind the header, of which @f->len are said to be payload */
static int hp_say_frame(struct hp *hp, struct ntw_frame *f, const void *text, u32 len)
{
	struct {
		struct ntw_hdr hdr;
		u8 text[HP_TEXT];
	} body;
	struct ntw_rec rec;
	int cls;

	for (cls = 0; cls < NTW_CLS; cls++)
		f->credit[cls] = HP_WINDOW;
	len = min_t(u32, len, sizeof(body.text));
	ntw_encode(f, &rec, &body.hdr);
	memcpy(body.text, text, len);
	return hp_post(hp, &rec, &body, sizeof(body.hdr) + len, 1);
}

int hp_say_close(struct hp *hp, u32 to, u16 bits)
{
	struct ntw_frame f = { .type = NTW_CLOSE, .conn = to, .bits = bits };

	return hp_say_frame(hp, &f, "", 0);
}

int hp_say_asking(struct hp *hp, u32 to, u64 key, u64 len)
{
	struct ntw_frame f = { .type = NTW_WRITE, .bits = NTW_F_ASK, .conn = to, .nsegs = 1, .len = len };
	struct {
		struct ntw_hdr hdr;
		struct ntw_seg seg;
	} body = { .seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) } };
	struct ntw_rec rec;

	ntw_encode(&f, &rec, &body.hdr);
	return hp_post(hp, &rec, &body, sizeof(body), 1);
}

int hp_say_msg(struct hp *hp, u32 to, const void *text, u32 len)
{
	struct ntw_frame f = { .type = NTW_MSG, .conn = to, .len = min_t(u32, len, HP_TEXT) };

	return hp_say_frame(hp, &f, text, len);
}

int hp_say_touch(struct hp *hp, u32 to, u64 key)
{
	struct ntw_frame f = { .type = NTW_WRITE, .bits = NTW_F_CQ_DATA | NTW_F_LAST, .conn = to, .nsegs = 1 };
	struct ntw_seg seg = { .key = cpu_to_le64(key) };

	return hp_say_frame(hp, &f, &seg, sizeof(seg));
}

int hp_say_take(struct hp *hp, u32 number, u32 len)
{
	struct hp_heard heard = hp_heard(hp, number);
	struct ntw_frame f = {
		.type = NTW_CTS, .conn = heard.from, .id = heard.id, .gen = heard.gen, .slot = 1,
		.nspots = 1, .len = len,
	};
	struct ntw_spot spot;

	ntw_encode_spot(NTW_RING_AT + HP_RING, len, &spot);
	return hp_say_frame(hp, &f, &spot, sizeof(spot));
}

int hp_say_placed(struct hp *hp, u32 number, u32 len, u32 crc)
{
	struct hp_heard heard = hp_heard(hp, number);
	struct ntw_frame f = {
		.type = NTW_DATA, .bits = NTW_F_PLACED | NTW_F_LAST, .conn = heard.from,
		.slot = heard.slot, .len = len, .crc = crc,
	};

	return hp_say_frame(hp, &f, "", 0);
}
