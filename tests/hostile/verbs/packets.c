// SPDX-License-Identifier: GPL-2.0
/*
 * packets.c - what a peer does with packets, credits and messages.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "hostile.h"

#define PORT		2000
#define BOGUS		0xdead00U

/* ---- one packet that nobody says ---- */

struct breach {
	const char		*what;
	struct kvw_packet	p;
	struct kvw_desc		desc;
	u32			len;		/* payload */
	bool			raw;		/* the header alone, @len bytes of it */
};

#define P(t, ...)	{ .type = KVW_##t, __VA_ARGS__ }

static const struct breach breaches[] = {
	{ "nothing",			P(MSG), .raw = true },
	{ "half a header",		P(MSG), .len = 15, .raw = true },
	{ "type 0",			{ .type = 0 }, .len = 64 },
	{ "an unknown type",		{ .type = KVW_TYPES }, .len = 64 },
	{ "type 255",			{ .type = 255 }, .len = 64 },
	{ "no room for its parts",	P(RTS), .len = 16, .raw = true },
	{ "more descriptors than it is long", P(RTS, .count = 200, .len = 5000), .len = 30, .raw = true },
	{ "a message with a descriptor", P(MSG, .count = 1) },
	{ "a message for two answers",	P(MSG, .flags = KVW_F_ARRIVED | KVW_F_LANDED), .len = 8 },
	{ "a flag of others",		P(CREDIT, .flags = 1) },
	{ "INV without a key",		P(MSG, .flags = KVW_F_INV), .len = 8 },
	{ "INV of an ordinary region",	P(MSG, .flags = KVW_F_INV, .count = 1), { .addr = cpu_to_le64(VICTIM_KEY) }, 8 },
	{ "a message longer than any",	P(RTS, .count = 1, .len = 1ULL << 32),
	  { .len = cpu_to_le64(1ULL << 32) } },
	{ "a tagged write longer than any",
	  P(RTS, .flags = KVW_F_RMA | KVW_F_TAGGED, .count = 1, .len = 1ULL << 32),
	  { .len = cpu_to_le64(1ULL << 32) } },
	{ "RMA without a tag",		P(RTS, .flags = KVW_F_RMA, .count = 1, .len = 64) },
	{ "spent classes that are not",	P(CREDIT, .spent = 0xf8) },
	{ "an answer to nothing",	P(FIN, .id = 3, .gen = 1) },
	{ "an answer with no place",	P(FIN, .id = U32_MAX, .gen = U32_MAX) },
	{ "old values of nothing",	P(OLD, .id = 1), .len = 64 },
	{ "a region nobody has asked for", P(KEY_IS, .count = 1, .len = 4096), { .len = cpu_to_le64(4096) } },
	{ "a region at no place",	P(KEY_IS, .id = 1u << 31, .count = 1, .len = 4096), { .len = cpu_to_le64(4096) } },
	{ "READY again",		P(READY) },
	{ "DONE of nothing",		P(DONE) },
	{ "FLUSH of nothing",		P(FLUSH, .flags = KVW_F_LANDED) },
	{ "durable reads",		P(DONE, .flags = KVW_F_READ | KVW_F_COMMIT | KVW_F_LANDED, .count = 1) },
	{ "an atomic operation without operands", P(ATOMIC, .count = 1, .len = 8) },
	{ "one of too much",		P(ATOMIC, .count = 1, .len = 4000), .len = 4000 },
	{ "one of nothing",		P(ATOMIC, .count = 1) },
	{ "a tagged read",		P(TREAD, .flags = KVW_F_TAGGED | KVW_F_RMA, .count = 1, .len = 64) },
	{ "more credit than a window",	P(CREDIT, .credit = { 2 * KVW_WINDOW_MAX + 1, KVW_FIRST, KVW_FIRST }) },
	{ "absurd credit",		P(CREDIT, .credit = { KVW_FIRST, KVW_FIRST, 0x8000 }) },
};

static bool breach(struct hostile *h, const struct breach *b, u16 port)
{
	struct hv *hv = hv_open(&h->v, port);
	struct kvw_packet p = b->p;
	u8 *body = kzalloc(HV_BUF, GFP_KERNEL);
	bool ok = check(!IS_ERR(hv) && body, "not let in");

	if (ok && b->raw) {
		kvw_encode(&p, (void *)body);
		hv_send(hv, body, b->len, 0);
	} else if (ok) {
		hv_say(hv, &p, &b->desc, body, b->len, 0);
	}
	ok = ok && check(hv_ended(hv), "bad packets are taken for good ones");
	if (!ok)
		pr_err("hostile: wrong: %s\n", b->what);
	if (!IS_ERR(hv))
		hv_close(hv);
	kfree(body);
	return ok;
}

static bool breaches_each(struct hostile *h)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(breaches); i++)
		ok &= breach(h, &breaches[i], PORT + i);
	return ok;
}

/* Whatever comes; a packet of one byte more than any has, too. */
static bool noise(struct hostile *h)
{
	u8 *body = kzalloc(HV_BUF, GFP_KERNEL);
	unsigned int i, n, len;
	struct hv *hv;
	bool ok = body;

	for (i = 0; i < 24 && ok; i++) {
		hv = hv_open(&h->v, PORT + i);
		ok = check(!IS_ERR(hv), "not let in");
		for (n = 0; n < 12 && ok && !hv_gone(hv); n++) {
			len = i ? get_random_u32() % 400 : KVW_PACKET + 1;
			get_random_bytes(body, len);
			body[0] = 1 + body[0] % (KVW_TYPES - 1);
			body[1] &= get_random_u8() & get_random_u8();
			body[10] %= 3;
			body[11] = 0;
			hv_send(hv, body, len, 0);
		}
		if (!IS_ERR(hv))
			hv_close(hv);
	}
	kfree(body);
	return ok;
}

/* ---- credits ---- */

/* Messages for which there is no receive, without end. */
static bool overdrawn(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	struct kvw_packet p = { .type = KVW_MSG };
	unsigned int i;
	bool ok = check(!IS_ERR(hv), "not let in");

	for (i = 0; i < 4 * KVW_FIRST && ok && !hv_gone(hv); i++)
		hv_say(hv, &p, NULL, "unwanted", 8, 0);
	ok = ok && check(hv_ended(hv), "who has no credit goes on");
	if (!IS_ERR(hv))
		hv_close(hv);
	/* Those that he had credit for are there. */
	for (i = 0; i < KVW_FIRST && ok; i++)
		ok = check(!victim_post(&h->v) && !victim_done(&h->v, HV_WAIT_MS), "what came whole is lost");
	return ok;
}

/* What costs no credit, as fast as it can be said. */
static bool flood(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	struct kvw_packet key = { .type = KVW_KEY, .tag = 4711 };
	unsigned int i;
	bool ok = check(!IS_ERR(hv), "not let in");

	for (i = 0; i < 2000 && ok; i++)
		ok = check(!hv_say_type(hv, KVW_CREDIT, 0), "CREDIT is not taken");
	for (i = 1; i <= 200 && ok; i++) {
		key.id = i;
		ok = check(!hv_say(hv, &key, NULL, NULL, 0, 0) && hv_wait(hv, KVW_KEY_IS, i, HV_WAIT_MS), "no answer") &&
		     check(hv->heard[KVW_KEY_IS].last.status == EACCES, "there is a region");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/* Epochs only have to be others, and may come again. */
static bool epochs(struct hostile *h)
{
	static const u32 epoch[] = { 7, 3, 0x80000001, 7, U32_MAX, 1 };
	struct hv *hv = hv_open(&h->v, PORT);
	struct kvw_packet p;
	unsigned int i;
	bool ok = check(!IS_ERR(hv), "not let in");

	for (i = 0; i < ARRAY_SIZE(epoch) && ok; i++) {
		p = (struct kvw_packet){ .type = KVW_MSG, .epoch = epoch[i] };
		ok = check(!victim_post(&h->v) && !hv_say(hv, &p, NULL, "hello", 5, 0) && !victim_done(&h->v, HV_WAIT_MS),
			   "a message with another epoch is lost");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/* ---- messages ---- */

/* Messages that are not there: their receive, which is for whoever comes, ends in error, or is there for the next one. */
static bool fetches(struct hostile *h)
{
	static const struct kvw_desc descs[] = {
		{ cpu_to_le64(0x1000), cpu_to_le64(BOGUS), cpu_to_le64(8000) },
		{ cpu_to_le64(0x1000), cpu_to_le64(BOGUS), cpu_to_le64(100) },
		{ cpu_to_le64(U64_MAX - 10), cpu_to_le64(U64_MAX), cpu_to_le64(U64_MAX) },
	};
	struct kvw_packet end = { .type = KVW_MSG };
	unsigned int i;
	struct hv *hv;
	int ret = 0;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(descs) && ok; i++) {
		struct kvw_packet p = { .type = KVW_RTS, .id = 1, .gen = 1, .count = 1, .len = 8000 };

		hv = hv_open(&h->v, PORT + i);
		ok = check(!IS_ERR(hv), "not let in") && check(ret == -EAGAIN || !victim_post(&h->v), "no receive");
		if (ok)
			hv_say(hv, &p, &descs[i], NULL, 0, 0);	/* it may be broken off before we hear that it was sent */
		ok = ok && check(hv_ended(hv), "whose memory is not there goes on");
		ret = victim_done(&h->v, HV_NOT_MS);
		ok = ok && check(ret, "a message that is not there is received");
		if (!IS_ERR(hv))
			hv_close(hv);
	}
	return ok && (ret != -EAGAIN || (check(!hv_say(h->good, &end, NULL, "there", 5, 0), "can't send") &&
					 check(!victim_done(&h->v, HV_WAIT_MS), "the receive is lost")));
}

/*
 * An answer to a message that has not come yet: as long as the device may send it, it is not the consumer's. We have receives for @n
 * messages, by which we learn the names of the victim's operations.
 */
static bool early(struct hostile *h, struct hv *hv, kfi_addr_t to, unsigned int n)
{
	struct kvw_packet fin = { .type = KVW_FIN };
	struct hv_heard *heard = &hv->heard[KVW_MSG];
	struct kfi_msg msg = { .type = KFI_KVEC, .addr = to };
	struct kvec iov = { h->v.buf, 2000 };
	unsigned int i;
	bool ok = true;

	msg.msg_iov = &iov;
	msg.iov_count = 1;
	for (i = 1; i <= n && ok; i++) {
		ok = check(!kfi_sendmsg(h->v.ep, &msg, KFI_DELIVERY_COMPLETE), "can't send") &&
		     check(hv_wait(hv, KVW_MSG, i, HV_WAIT_MS), "no message");
		fin.id = heard->last.id;
		fin.gen = heard->last.gen;
		ok = ok && check(!hv_say(hv, &fin, NULL, NULL, 0, 0) && !victim_done(&h->v, HV_WAIT_MS), "not answered");
	}
	memset(h->v.buf, 0x5a, 2000);
	ok = ok && check(!kfi_sendmsg(h->v.ep, &msg, KFI_DELIVERY_COMPLETE), "can't send");
	msleep(100);
	fin = (struct kvw_packet){ .type = KVW_FIN, .id = fin.id, .gen = fin.gen + 1 };
	ok = ok && check(!hv_say(hv, &fin, NULL, NULL, 0, 0), "can't answer") &&
	     check(victim_done(&h->v, HV_NOT_MS) == -EAGAIN, "a buffer is given back that the device still sends from");
	memset(h->v.buf, 0xa5, ok ? 0 : 2000);
	hv_listen(hv, 8);
	return ok && check(!victim_done(&h->v, HV_WAIT_MS), "it does not end") &&
	       check(hv_wait(hv, KVW_MSG, n + 1, HV_WAIT_MS), "it does not come") &&
	       check(heard->bytes == 2000 && heard->body[0] == 0x5a && heard->body[1999] == 0x5a, "it is another one");
}

static bool answers(struct hostile *h)
{
	struct hv_call call = { .port = PORT, .recvs = 2 };
	struct hv *hv = hv_new();
	kfi_addr_t to = hv_knows(&h->v, PORT);
	bool ok = hv && check(!hv_call(hv, &h->v, &call), "not let in") && check(to != KFI_ADDR_NOTAVAIL, "no name");

	msleep(100);	/* until READY has been heard: else the victim would call us */
	ok = ok && early(h, hv, to, 2);
	if (hv)
		hv_close(hv);
	return ok;
}

/* ---- lengths ---- */

static struct hv *speaker(struct hostile *h, u16 port, u8 version, u16 packet)
{
	struct hv_call call = { .port = port, .version = version, .packet = packet };
	struct hv *hv = hv_new();

	if (!check(hv && !hv_call(hv, &h->v, &call), "not let in") && hv) {
		hv_close(hv);
		hv = NULL;
	}
	msleep(100);	/* until READY has been heard: else the victim would call us */
	return hv;
}

/* A message in a packet of @bytes is received whole, or the connection ends. */
static bool said_in(struct hostile *h, struct hv *hv, u32 bytes, bool good)
{
	struct kvw_packet p = { .type = KVW_MSG };
	u32 len = bytes - sizeof(struct kvw_hdr);
	u8 *body = kmalloc(len, GFP_KERNEL);
	bool ok = check(body && !victim_post(&h->v), "no receive");

	get_random_bytes(body, ok ? len : 0);
	if (!ok) {
	} else if (good) {
		ok = check(!hv_say(hv, &p, NULL, body, len, 0) && !victim_done(&h->v, HV_WAIT_MS), "a long packet is not taken") &&
		     check(!memcmp(h->v.buf, body, len), "it is taken for another one");
	} else {
		hv_say(hv, &p, NULL, body, len, 0);	/* it may be broken off before we hear that it was sent */
		ok = check(hv_ended(hv), "a packet that is too long is taken") &&
		     check(victim_done(&h->v, HV_NOT_MS) == -EAGAIN, "it is received") &&
		     check(!hv_say(h->good, &p, NULL, "there", 5, 0) && !victim_done(&h->v, HV_WAIT_MS), "the receive is lost");
	}
	kfree(body);
	return ok;
}

/* Who speaks an older version has agreed on a page, whatever we have receives for. */
static bool too_long(struct hostile *h)
{
	static const struct {
		u8 version;
		u32 bytes;
	} rows[] = { { KVW_VERSION, KVW_PACKET }, { KVW_VERSION_LONG - 1, KVW_PAGE } };
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(rows) && ok; i++) {
		struct hv *hv = speaker(h, PORT + i, rows[i].version, 0);

		ok = hv && said_in(h, hv, KVW_PAGE - 1, true) && said_in(h, hv, KVW_PAGE, true) &&
		     said_in(h, hv, rows[i].bytes, true) && said_in(h, hv, rows[i].bytes + 1, false);
		if (hv)
			hv_close(hv);
	}
	return ok;
}

/* What we are told in one packet, and what longer message we are asked to fetch, when we say that we take packets of @packet bytes. */
static bool told_in(struct hostile *h, u16 port, u8 version, u16 packet, u32 most)
{
	struct hv *hv = speaker(h, port, version, packet);
	kfi_addr_t to = hv_knows(&h->v, port);
	u32 len = most - KVW_HDR_MAX;
	int ret;
	bool ok = hv && check(to != KFI_ADDR_NOTAVAIL, "no name") &&
		  check(!kfi_send(h->v.ep, h->v.buf, len, NULL, to, NULL) && hv_wait(hv, KVW_MSG, 1, HV_WAIT_MS), "no message") &&
		  check(hv->heard[KVW_MSG].bytes == len && !memcmp(hv->heard[KVW_MSG].body, h->v.buf, len), "another message") &&
		  check(!victim_done(&h->v, HV_WAIT_MS), "it does not end") &&
		  check(!kfi_send(h->v.ep, h->v.buf, len + 1, NULL, to, NULL) && hv_wait(hv, KVW_RTS, 1, HV_WAIT_MS),
			"a message is too long for us") &&
		  check(hv_count(hv, KVW_MSG) == 1, "a message comes twice");

	if (hv)
		hv_close(hv);
	ret = ok ? victim_done(&h->v, HV_WAIT_MS) : 0;		/* with us it ends, in error */
	return ok && check(ret && ret != -EAGAIN, "nobody has fetched it");
}

/* However much we say that we take, nobody has to send it. */
static bool boasts(struct hostile *h)
{
	return told_in(h, PORT, 0, 0xffff, KVW_PACKET) && told_in(h, PORT + 1, 0, KVW_PAGE + 100, KVW_PAGE + 100) &&
	       told_in(h, PORT + 2, 0, KVW_PAGE, KVW_PAGE) && told_in(h, PORT + 3, KVW_VERSION_LONG - 1, 0xffff, KVW_PAGE);
}

const struct hostile_case packet_cases[] = {
	{ "breaches",	breaches_each },
	{ "noise",	noise },
	{ "overdrawn",	overdrawn },
	{ "flood",	flood },
	{ "epochs",	epochs },
	{ "fetches",	fetches },
	{ "answers",	answers },
	{ "too_long",	too_long },
	{ "boasts",	boasts },
	{}
};
