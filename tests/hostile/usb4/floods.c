// SPDX-License-Identifier: GPL-2.0
/*
 * floods.c - too much of something, and connections that break the rules. None of this ends the
 * life, unless the peer acknowledges nothing, and none of it takes memory for each frame or record.
 */
#include <linux/slab.h>
#include <linux/delay.h>
#include "hostile.h"

#define FRAMES		2000U
#define CALLS		5000U
#define BACKLOG		32U	/* callers that a listener keeps, a parameter of kfi_usb4 */
#define CALLERS		600U
#define CALLER_MEM	(256UL << 10)	/* of a connection; a caller has less */
#define STREAM_BYTES	2048U	/* more than a caller may send before its hello was read */

static bool goes_on(struct hu *hu, const char *what)
{
	if (hu_answers(hu))
		return true;
	pr_err("hostile: wrong: the life %s: %s\n", hu_get(hu, over) ? "ends" : "is stuck", what);
	return false;
}

/* ---- frames ---- */

bool hu_asks(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	unsigned int i;
	int ret = 0;

	for (i = 0; i < FRAMES && !ret; i++)
		ret = hu_state(hu, U4W_ASKS);
	return hu_check(!ret, "the victim does not read") &
	       hu_bounded(before, HU_FLOOD, "answers to ASKS") & goes_on(hu, "ASKS");
}

/* Compose calls to a port without a listener, as many as one frame has room for. */
static unsigned int add_calls(struct hu *hu)
{
	struct kmw_calling c = { .from = 1, .to = HU_PORT_NOBODY, .window = KFI_MUX_WINDOW_MIN };
	struct kfi_mux_rec rec;
	unsigned int n = 0;

	hu->content.len = 0;
	do {
		c.number = hu_number(hu);
		kmw_encode_call(&c, &rec);
	} while (hu_add(hu, &rec, NULL, 0) && ++n);
	return n;
}

/* The victim has frames that it can repeat. */
bool hu_gaps(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	unsigned int i;
	int ret;

	hu_set(hu, mute, true);
	add_calls(hu);
	ret = hu_records(hu);
	for (i = 0; i < FRAMES / 2 && !ret; i++)
		ret = hu_state(hu, U4W_GAP);
	hu_set(hu, mute, false);
	return hu_check(!ret, "the victim does not read") &
	       hu_bounded(before, HU_FLOOD, "repetitions") & goes_on(hu, "GAP");
}

bool hu_duplicates(struct hu *hu)
{
	u32 number = hu_number(hu), i;
	struct u4w_frame f;
	int ret = 0;

	hu->content.len = 0;
	hu_add_call(hu, number, HU_PORT_NOBODY, KFI_MUX_WINDOW_MIN);
	f = hu_header(hu, hu->content.len);
	for (i = 0; i < FRAMES && !ret; i++)
		ret = hu_framed(hu, &f, hu->content.bytes, hu->content.len);
	ret = ret ?: hu_records(hu);
	return hu_check(!ret, "the victim does not read") & goes_on(hu, "one number many times") &
	       hu_check(hu_got(hu, number).answers == 1, "a frame is handled more than once");
}

/* The peer is there, and reads, but acknowledges nothing: the life ends after timeout_s. */
bool hu_unacknowledged(struct hu *hu)
{
	unsigned long before = hu_mem_free(), begin;
	unsigned int n = 0;
	bool ok;
	int ret = 0;

	hu_set(hu, mute, true);
	while (n < CALLS && !ret) {
		n += add_calls(hu);
		ret = hu_records_unacked(hu);
	}
	begin = jiffies;
	ok = hu_check(!ret, "the victim does not read");
	while (!hu_state(hu, U4W_ASKS) && time_before(jiffies, begin + 3 * HU_TIMEOUT_S * HZ))
		msleep(100);
	return ok & hu_bounded(before, HU_FLOOD, "answers without acknowledgement") &
	       hu_check(hu_get(hu, over), "the life goes on without acknowledgements") &
	       hu_check(time_after(jiffies, begin + (HU_TIMEOUT_S - 1) * HZ), "it ends too early") &
	       hu_check(time_before(jiffies, begin + (HU_TIMEOUT_S + 2) * HZ), "it ends too late");
}

/* ---- calls ---- */

bool hu_calls(struct hu *hu)
{
	unsigned long before = hu_mem_free();
	unsigned int n = 0, i, answered = 0;
	u32 first = hu->number + 1;
	int ret = 0;

	while (n < CALLS && !ret) {
		n += add_calls(hu);
		ret = hu_records(hu);
	}
	msleep(200);
	for (i = 0; i < n; i++)
		answered += hu_got(hu, first + i).answers;
	pr_info("hostile: %u of %u calls were answered\n", answered, n);
	return hu_check(!ret, "the victim does not read") &
	       hu_check(answered && answered <= n, "the number of answers is wrong") &
	       hu_bounded(before, HU_FLOOD, "calls") & goes_on(hu, "calls");
}

/*
 * A CALL with a body that is not right. Return: the victim answers it with @status; 0: it does not
 */
static bool call_is(struct hu *hu, struct kmw_calling c, u8 version, u16 features, u32 status)
{
	struct kfi_mux_rec rec;
	struct hu_got got;

	kmw_encode_call(&c, &rec);
	((struct kmw_call *)rec.body)->version = version;
	((struct kmw_call *)rec.body)->version_min = version;
	((struct kmw_call *)rec.body)->features = cpu_to_le16(features);
	hu->content.len = 0;
	hu_add(hu, &rec, NULL, 0);
	if (!hu_check(!hu_records(hu) && hu_answers(hu), "the life ends"))
		return false;
	got = hu_got(hu, c.number);
	if (got.answers == !!status && got.status == status)
		return true;
	pr_err("hostile: wrong: %u answers, status %u to a call of %u from %u, window %u\n",
	       got.answers, got.status, c.to, c.from, c.window);
	return false;
}

bool hu_windows(struct hu *hu)
{
	static const u32 windows[] = {
		0, 1, KFI_MUX_WINDOW_MIN - 1, KMW_WINDOW_MAX + 1, S32_MAX, ~0U,
	};
	struct kmw_calling c = { .from = 1, .to = HU_PORT_NOBODY, .window = KFI_MUX_WINDOW_MIN };
	struct kmw_calling strange;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		strange = c;
		strange.number = hu_number(hu);
		strange.window = windows[i];
		ok &= call_is(hu, strange, KMW_VERSION, 0, 0);
	}
	strange = c;
	ok &= call_is(hu, strange, KMW_VERSION, 0, 0);		/* the number 0 */
	strange.number = hu_number(hu);
	strange.to = 0;
	ok &= call_is(hu, strange, KMW_VERSION, 0, 0);
	strange.to = KMW_PORT_MAX + 1;
	ok &= call_is(hu, strange, KMW_VERSION, 0, 0);
	strange = c;
	strange.number = hu_number(hu);
	strange.from = KMW_PORT_MAX + 1;
	ok &= call_is(hu, strange, KMW_VERSION, 0, 0);
	strange.from = 1;
	/* features that the victim does not have are no reason to refuse */
	ok &= call_is(hu, strange, KMW_VERSION, ~0, ECONNREFUSED);
	strange.number = hu_number(hu);
	ok &= call_is(hu, strange, KMW_VERSION + 1, 0, EPROTONOSUPPORT);
	return ok;
}

/* ---- numbers that no connection has ---- */

bool hu_unknown(struct hu *hu)
{
	struct kmw_calling c = { .window = KFI_MUX_WINDOW_MIN };
	struct kfi_mux_piece piece = { .len = 4096 };
	unsigned long before = hu_mem_free();
	struct kfi_mux_rec rec;
	unsigned int i, closes = 0;
	u32 first = hu->number + 1;
	bool ok = true;

	for (i = 0; i < CALLS && ok; i++) {
		c.number = hu_number(hu);
		hu->content.len = 0;
		kmw_encode_answer(&c, HU_NOBODY + i % 7, &rec);
		hu_add(hu, &rec, NULL, 0);
		kmw_encode_data(i, i, HU_NOBODY, &rec);
		hu_add(hu, &rec, &rec, i % sizeof(rec));
		kmw_encode_data(i, i, HU_NOBODY, &rec);
		kmw_encode_placed(&piece, &rec);
		hu_add(hu, &rec, NULL, 0);
		kmw_encode_close(i % 8, HU_NOBODY, &rec);
		hu_add(hu, &rec, NULL, 0);
		ok = hu_check(!hu_records_unacked(hu), "the victim does not read");
		if (i % (HU_WINDOW / 2) == 0)
			ok = ok && goes_on(hu, "records for no connection");
	}
	msleep(200);
	for (i = first; i != hu->number; i++)
		closes += hu_got(hu, i).closes;
	pr_info("hostile: %u of %u answers were closed\n", closes, CALLS);
	return ok & hu_check(closes, "an ANSWER to no call is not answered by CLOSE") &
	       hu_bounded(before, HU_FLOOD, "records for no connection") &
	       goes_on(hu, "records for no connection");
}

/* ---- connections ---- */

/* An endpoint at host a: the way of host b, which has no cable, may be listed for a moment. */
static bool open_victim(struct hu *hu, struct victim *v)
{
	struct victim_attr attr = { .provider = "usb4", .buf_len = 1024, .cq_size = 64 };
	unsigned int i;

	for (i = 0; i < 50; i++) {
		if (!victim_open(v, &attr)) {
			if (!memcmp(v->name, hu->xd->remote_uuid, UUID_SIZE))
				return true;
			victim_close(v);
		}
		msleep(100);
	}
	return hu_check(false, "no endpoint");
}

static u32 victim_port(const struct victim *v)
{
	return le32_to_cpup((const __le32 *)(v->name + UUID_SIZE));
}

/*
 * The connection is open, no byte has come, and the window is that of a caller without a hello.
 * Bytes that are no hello would end the connection even within the window: tests/hostile/ntb sends
 * frames that are right, beyond the window of a connection that was admitted.
 */
static void add_wrong(struct hu *hu, u32 number, unsigned int kind)
{
	struct kfi_mux_piece piece = { .len = 16, .key = 1 };
	struct kmw_calling c = { .number = number, .window = KFI_MUX_WINDOW_MIN };
	u32 to = hu_got(hu, number).from, len = 0;
	u8 *bytes = kzalloc(STREAM_BYTES, GFP_KERNEL);
	struct kfi_mux_rec rec;

	kmw_encode_data(0, KFI_MUX_WINDOW_MIN, to, &rec);
	switch (kind) {
	case 0:		/* a byte beyond the window */
		len = KFI_MUX_WINDOW_MIN + 1;
		break;
	case 1:
		len = STREAM_BYTES;
		break;
	case 2:		/* bytes are missing */
		kmw_encode_data(1, KFI_MUX_WINDOW_MIN, to, &rec);
		break;
	case 3:		/* the limit is lowered */
		kmw_encode_data(0, KFI_MUX_WINDOW_MIN - 1, to, &rec);
		break;
	case 4:		/* it is raised too far */
		kmw_encode_data(0, KMW_WINDOW_MAX + 1, to, &rec);
		break;
	case 5:		/* an unknown bit */
		rec.bits = 2;
		break;
	case 6:		/* bytes in memory that no cable has */
		kmw_encode_placed(&piece, &rec);
		break;
	case 7:
		piece.len = 0;
		kmw_encode_placed(&piece, &rec);
		break;
	case 8:
		kmw_encode_placed(&piece, &rec);
		len = 4;
		break;
	case 9:		/* a body that is not whole */
		rec.len = sizeof(struct kmw_data) - 1;
		break;
	case 10:	/* no ANSWER is due */
		kmw_encode_answer(&c, to, &rec);
		break;
	default:	/* nothing is wrong, and a CLOSE is asked for */
		kmw_encode_close(KMW_C_RETURN, to, &rec);
	}
	hu->content.len = 0;
	if (bytes)
		hu_add(hu, &rec, bytes, len);
	kfree(bytes);
}

bool hu_streams(struct hu *hu)
{
	struct victim v;
	unsigned int kind;
	bool ok = true;
	u32 number;

	if (!open_victim(hu, &v))
		return false;
	for (kind = 0; kind < 12 && ok; kind++) {
		number = hu_call(hu, victim_port(&v));
		ok = hu_check(number && hu_got(hu, number).from, "the victim refuses a call");
		if (!ok)
			break;
		add_wrong(hu, number, kind);
		ok = hu_check(!hu_records(hu), "the life ends") &&
		     hu_check(victim_until(hu_got(hu, number).closes == 1, HU_SEND_MS),
			      "the connection goes on") &&
		     goes_on(hu, "a connection that is wrong");
		if (!ok)
			pr_err("hostile: kind %u\n", kind);
	}
	victim_close(&v);
	return ok;
}

/*
 * Callers that say nothing have no more memory than the listener allows. An honest call of a port
 * that nobody listens at has its answer meanwhile.
 */
bool hu_strangers(struct hu *hu)
{
	unsigned long before;
	struct victim v;
	unsigned int i;
	bool ok = true;

	if (!open_victim(hu, &v))
		return false;
	before = hu_mem_free();
	for (i = 0; i < CALLERS && ok; i++) {
		hu->content.len = 0;
		hu_add_call(hu, hu_number(hu), victim_port(&v), KMW_WINDOW_MAX);
		ok = hu_check(!hu_records(hu), "the victim does not read");
	}
	ok &= goes_on(hu, "callers that say nothing") &
	      hu_bounded(before, BACKLOG * CALLER_MEM, "callers that say nothing");
	victim_close(&v);
	return ok;
}
