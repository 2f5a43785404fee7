// SPDX-License-Identifier: GPL-2.0
/*
 * frames.c - single frames that are wrong. A frame ends the life of the victim, or is dropped;
 * docs/wire-usb4.md says which.
 */
#include <linux/slab.h>
#include "hostile.h"

#define BURST	64U	/* frames until the victim has ended its life */

/* The frame that was sent ends the life. */
static bool ends(struct hu *hu, const char *what)
{
	if (hu_ends(hu, HU_SEND_MS))
		return true;
	pr_err("hostile: wrong: the life goes on after a frame: %s\n", what);
	return false;
}

/* The frame that was sent is dropped, or taken, and the life goes on. */
static bool goes_on(struct hu *hu, const char *what)
{
	if (hu_answers(hu))
		return true;
	pr_err("hostile: wrong: the life %s after a frame: %s\n",
	       hu_get(hu, over) ? "ends" : "is stuck", what);
	return false;
}

/* ---- random bytes ---- */

/* Frames of random bytes: of all lengths, in lives that end soon. */
static bool bursts(struct hu *hu, int (*send)(struct hu *hu, u8 *mem, u32 size))
{
	u8 *mem = kmalloc(U4W_FRAME, GFP_KERNEL);
	u32 size = 1, i;
	int ret = 0;

	while (mem && size <= U4W_FRAME && !ret) {
		ret = hu_begin(hu);
		for (i = 0; i < BURST && size <= U4W_FRAME && !ret; i++) {
			prandom_bytes_state(&hu->rnd, mem, U4W_FRAME);
			ret = send(hu, mem, size);
			size += !ret;
		}
		if (ret == -ENOTCONN)
			ret = 0;	/* the same length once more, in the next life */
		else if (!hu_ends(hu, 100))
			hu_end(hu);
	}
	kfree(mem);
	return hu_check(mem && !ret, "random frames can't be sent");
}

static int send_random(struct hu *hu, u8 *mem, u32 size)
{
	return hu_frame(hu, mem, size);
}

bool hu_random(struct hu *hu)
{
	return bursts(hu, send_random);
}

/* The header is right, as far as it fits, and often the first record's, too. */
static int send_records(struct hu *hu, u8 *mem, u32 size)
{
	const u32 head = sizeof(struct u4w_head);
	struct u4w_frame f = hu_header(hu, size > head ? size - head : 0);
	struct u4w_rec *rec = (struct u4w_rec *)(mem + head);
	int ret;

	u4w_encode_frame(&f, (struct u4w_head *)mem);
	if (size & 1) {
		rec->type = KMW_CALL + rec->type % 4;
		rec->zero = 0;
		rec->zero2 = 0;
		rec->bits &= cpu_to_le16(3);
		rec->len = cpu_to_le16(f.len / 2);
	}
	ret = hu_frame(hu, mem, size);
	if (!ret && f.type == U4W_RECORDS)
		hu_set(hu, seq, f.seq + 1);
	return ret;
}

bool hu_random_records(struct hu *hu)
{
	return bursts(hu, send_records);
}

/* ---- headers ---- */

/**
 * struct header - a header with one member that is not right
 * @what: the member
 * @add: what is added to an honest frame
 * @then: it ends the life, or is dropped, or its records are handled all the same
 */
static const struct header {
	const char		*what;
	struct u4w_frame	add;
	enum { DROPPED, ENDS, TAKEN } then;
} headers[] = {
	{ "seq, one ahead", { .seq = 1 } },
	{ "seq, the window ahead", { .seq = HU_WINDOW } },
	{ "seq, beyond the window", { .seq = HU_WINDOW + 1 }, ENDS },
	{ "seq, as far ahead as can be", { .seq = S32_MAX }, ENDS },
	{ "seq, one behind", { .seq = -1 } },
	{ "seq, far behind", { .seq = 0x80000000 } },
	{ "ack, of a frame that was not sent", { .ack = 1 }, ENDS },
	{ "ack, as far ahead as can be", { .ack = S32_MAX }, ENDS },
	{ "ack, one behind", { .ack = -1 }, TAKEN },
	{ "ack, far behind", { .ack = 0x80000000 }, TAKEN },
	{ "life, another one", { .life = 1 } },
	{ "life, far from it", { .life = 0x80000000 } },
	{ "len, one too much", { .len = 1 }, ENDS },
	{ "len, as much as can be", { .len = 0xffff - 32 }, ENDS },
	{ "len, 0 of a frame with records", { .len = -32 }, ENDS },
	{ "len, less than the record has", { .len = -4 }, ENDS },
	{ "type, 0", { .type = -1 }, ENDS },
	{ "type, a STATE frame with records", { .type = 1 }, ENDS },
	{ "type, 3", { .type = 2 }, ENDS },
	{ "type, 255", { .type = 254 }, ENDS },
	{ "bits, the next one", { .bits = 0x08 }, ENDS },
	{ "bits, the last one", { .bits = 0x80 }, ENDS },
	{ "bits, GAP without a reason", { .bits = U4W_GAP }, TAKEN },
};

/* A frame with a CALL, of 32 bytes */
static int send_header(struct hu *hu, const struct header *h, u32 number)
{
	struct u4w_frame f;
	int ret;

	hu->content.len = 0;
	hu_add_call(hu, number, HU_PORT_NOBODY, KFI_MUX_WINDOW_MIN);
	f = hu_header(hu, hu->content.len);
	f.seq += h->add.seq;
	f.ack += h->add.ack;
	f.life += h->add.life;
	f.len += h->add.len;
	f.type += h->add.type;
	f.bits += h->add.bits;
	ret = hu_framed(hu, &f, hu->content.bytes, hu->content.len);
	if (!ret && h->then == TAKEN)
		hu_set(hu, seq, f.seq + 1);
	return ret;
}

bool hu_headers(struct hu *hu)
{
	const struct header *h;
	bool ok = true;
	u32 number;

	for (h = headers; h < headers + ARRAY_SIZE(headers); h++) {
		number = hu_number(hu);
		/* The victim has nothing to send after it has answered, and expects no ack. */
		if (!hu_check(!hu_begin(hu) && hu_answers(hu), "no life begins") ||
		    !hu_check(!send_header(hu, h, number), "a frame can't be sent"))
			return false;
		ok &= h->then == ENDS ? ends(hu, h->what) : goes_on(hu, h->what);
		ok &= hu_check(hu_got(hu, number).answers == (h->then == TAKEN),
			       "a call is answered, or not, and should not be, or should");
	}
	return ok;
}

/* A frame that is shorter than a header, and headers that end a frame too early or too late */
bool hu_cut(struct hu *hu)
{
	struct u4w_head head;
	struct u4w_frame f;
	u32 size;
	bool ok = true;

	for (size = 1; size < sizeof(head); size++) {
		if (!hu_check(!hu_begin(hu), "no life begins"))
			return false;
		f = hu_header(hu, 0);
		u4w_encode_frame(&f, &head);
		ok &= hu_check(!hu_frame(hu, &head, size), "a frame can't be sent") &&
		      ends(hu, "shorter than its header");
	}
	return ok;
}

/* ---- contents ---- */

/* Send the content that was composed, and with @cut only so many bytes of it. */
static bool send_content(struct hu *hu, u32 cut, bool broken, const char *what)
{
	if (cut)
		hu->content.len = cut;
	if (!hu_check(!hu_records_unacked(hu), "a frame can't be sent"))
		return false;
	return broken ? ends(hu, what) : goes_on(hu, what);
}

static struct u4w_rec *begin_content(struct hu *hu)
{
	if (!hu_check(!hu_begin(hu), "no life begins"))
		return NULL;
	hu->content.len = 0;
	hu_add_call(hu, hu_number(hu), HU_PORT_NOBODY, KFI_MUX_WINDOW_MIN);
	return (struct u4w_rec *)hu->content.bytes;
}

/**
 * struct content - a record that is not right
 * @what: what is wrong
 * @rec: what is added to the header of a CALL
 * @broken: it ends the life; otherwise the record is dropped
 */
static const struct content {
	const char	*what;
	struct u4w_rec	rec;
	bool		broken;
} contents[] = {
	{ "record: the first zero byte", { .zero = 1 }, true },
	{ "record: the other zero bytes", { .zero2 = cpu_to_le16(0x100) }, true },
	{ "record: longer than the frame", { .len = cpu_to_le16(1) }, true },
	{ "record: as long as can be", { .len = cpu_to_le16(0xff00) }, true },
	{ "record: type 0", { .type = -KMW_CALL } },
	{ "record: type 15", { .type = -1 } },
	{ "record: a type that does not exist", { .type = KMW_TYPES - KMW_CALL } },
	{ "record: type 255", { .type = 255 - KMW_CALL } },
	{ "CALL: bits", { .bits = cpu_to_le16(0x8001) } },
	{ "CALL: to a connection", { .conn = cpu_to_le32(1) } },
	{ "ANSWER: of the length of a CALL", { .type = 1 } },
	{ "DATA: for the connection 0", { .type = 2 } },
	{ "CLOSE: for the connection 0, with bytes", { .type = 3 } },
};

static void add_to_record(struct u4w_rec *rec, const struct u4w_rec *add)
{
	rec->type += add->type;
	rec->zero += add->zero;
	le16_add_cpu(&rec->bits, le16_to_cpu(add->bits));
	le32_add_cpu(&rec->conn, le32_to_cpu(add->conn));
	le16_add_cpu(&rec->len, le16_to_cpu(add->len));
	le16_add_cpu(&rec->zero2, le16_to_cpu(add->zero2));
}

bool hu_contents(struct hu *hu)
{
	struct u4w_rec *rec;
	bool ok = true;
	u32 i, whole;

	for (i = 0; i < ARRAY_SIZE(contents); i++) {
		rec = begin_content(hu);
		if (!rec)
			return false;
		add_to_record(rec, &contents[i].rec);
		ok &= send_content(hu, 0, contents[i].broken, contents[i].what);
	}
	for (i = 1; ok; i++) {
		if (!begin_content(hu))
			return false;
		whole = hu->content.len;
		if (i == whole)
			break;
		ok &= send_content(hu, i, true, "a record is cut");
	}
	/* Behind a whole record nothing is left, or a whole header. */
	for (i = 1; i < sizeof(*rec) && ok; i++) {
		if (!begin_content(hu))
			return false;
		whole = hu->content.len;
		memset(hu->content.bytes + whole, 0, sizeof(*rec));
		ok &= send_content(hu, whole + i, true, "bytes behind the last record");
	}
	return ok;
}

/* As many records without bytes as a frame has room for, of types that no connection wants */
bool hu_many_records(struct hu *hu)
{
	struct kfi_mux_rec rec = { .conn = HU_NOBODY };
	bool ok = true;
	int type;

	for (type = KMW_CALL - 1; type <= KMW_TYPES && ok; type++) {
		rec.type = type;
		hu->content.len = 0;
		while (hu_add(hu, &rec, NULL, 0))
			;
		ok = hu_check(hu->content.len / sizeof(struct u4w_rec) > 300, "too few records") &&
		     send_content(hu, 0, false, "300 records");
	}
	return ok;
}
