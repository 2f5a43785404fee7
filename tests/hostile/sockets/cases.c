// SPDX-License-Identifier: GPL-2.0
/* cases.c - what the peer does, and how the victim must react. */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_tagged.h>
#include "hostile.h"

#define TAG_X	0xaa
#define TAG_Y	0xbb

static struct kfw_hdr hs_rts(u64 tag, u32 id, u64 len)
{
	return (struct kfw_hdr) {
		.type = KFW_RTS,
		.flags = KFW_F_TAGGED,
		.tag = cpu_to_le64(tag),
		.id = cpu_to_le32(id),
		.len = cpu_to_le64(len),
	};
}

static struct kfw_hdr hs_msg(u64 tag)
{
	return (struct kfw_hdr) { .type = KFW_MSG, .flags = KFW_F_TAGGED, .tag = cpu_to_le64(tag) };
}

/* A receive is still posted and takes the message of another peer. */
static bool still_posted(struct victim *v, u64 tag, void *context)
{
	const struct hs_call call = { .node = 3, .port = 701 };
	struct kfw_hdr msg = hs_msg(tag);
	struct hs *hs = hs_open(v, &call);
	void *done;
	bool ok;

	if (!check(!IS_ERR(hs), "another peer is not admitted"))
		return false;
	ok = check(!hs_send(hs, &msg, 64), "another peer can't send") &&
	     check(!victim_ended(v, HS_WAIT_MS, &done) && done == context,
		   "a receive was lost with the peer that had it");
	hs_close(hs);
	return ok;
}

#define LOSSES	24

/*
 * Two long messages for each of two receives, then the end of the connection. The first message
 * of each pair has its receive when the connection ends, the second one waits in the matching:
 * the receive that the first one gives back must not go to the second.
 */
static bool lost_after_rts(struct victim *v)
{
	static const u64 tags[] = { TAG_X, TAG_X, TAG_Y, TAG_Y };
	struct hs_call call = { .port = 702 };
	struct kfw_hdr frames[ARRAY_SIZE(tags)];
	int i, round, x, y;
	struct hs *hs;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(tags); i++) {
		frames[i] = hs_rts(tags[i], i, 32768);
		frames[i].credit_msg = cpu_to_le32(1024);
		frames[i].credit_tag = cpu_to_le32(1024);
	}
	ok = check(!hs_post(v, TAG_X, &x) && !hs_post(v, TAG_Y, &y), "no receive can be posted");
	for (round = 0; ok && round < LOSSES; round++) {
		call.incarnation = round + 1;
		hs = hs_open(v, &call);
		ok = check(!IS_ERR(hs), "the peer is not admitted again");
		if (!ok)
			break;
		ok = check(!hs_put(hs, frames, sizeof(frames)), "the peer can't send");
		if (round & 1)
			msleep(20);
		/*
		 * In every third round a grant is used in part, so that its payload is incomplete.
		 */
		if (round % 3 == 2) {
			struct kfw_hdr cts, data = {
				.type = KFW_DATA, .payload = cpu_to_le64(32768),
				.len = cpu_to_le64(32768),
			};

			ok &= check(!hs_recv(hs, KFW_CTS, &cts, HS_WAIT_MS),
				    "a long message is not granted");
			data.id = cts.id;
			data.slot = cts.slot;
			data.credit_msg = cpu_to_le32(1024);
			data.credit_tag = cpu_to_le32(1024);
			ok &= check(!hs_put(hs, &data, sizeof(data)), "the peer can't send data");
		}
		hs_reset(hs);
	}
	return ok && still_posted(v, TAG_X, &x) && still_posted(v, TAG_Y, &y);
}

/*
 * The peer reads the header of a message whose pages TCP has by reference, keeps its receive
 * window closed and acknowledges the message. The pages must not go back to their owner: TCP
 * still has to send them.
 */
static bool early_ack(struct victim *v)
{
	const struct hs_call call = { .port = 703, .rcvbuf = 1 };
	struct kfw_hdr hdr, ack = { .type = KFW_ACK };
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	struct bio_vec vec;
	struct hs *hs;
	void *done;
	int x, ret;
	bool ok;

	if (!check(pages, "no memory"))
		return false;
	bvec_set_page(&vec, pages, 2 * PAGE_SIZE, 0);
	hs = hs_open(v, &call);
	ok = check(!IS_ERR(hs), "the peer is not admitted");
	if (!ok)
		goto free;
	ok = check(!kfi_sendbv(v->ep, &vec, NULL, 1, hs_known(v, 1, call.port), &x),
		   "nothing can be sent") &&
	     check(!hs_get(hs, &hdr, sizeof(hdr), HS_WAIT_MS) && hdr.type == KFW_MSG &&
			   hdr.flags & KFW_F_ACK,
		   "no message that wants an acknowledgement");
	ack.id = hdr.id;
	ack.gen = hdr.gen;
	ok = ok && check(!hs_send(hs, &ack, 0), "the peer can't send");
	ret = ok ? victim_ended(v, HS_WAIT_MS, &done) : 0;
	pr_info("hostile: the send ended with %d\n", ret);
	ok = ok &&
	     check(ret < 0 && done == &x,
		   "the send has succeeded before its bytes were acknowledged") &&
	     check(hs_ended(hs, HS_WAIT_MS), "the connection goes on");
	hs_reset(hs);
free:
	__free_pages(pages, 1);
	return ok;
}

/* The victim sends two pages to a peer, which reads them. Return false if it can't be. */
static bool hs_fetch(struct victim *v, struct hs *hs, u8 node, u16 port, struct page *pages,
		     struct kfw_hdr *ack, void *context)
{
	struct kfw_hdr hdr;
	struct bio_vec vec;

	bvec_set_page(&vec, pages, 2 * PAGE_SIZE, 0);
	if (kfi_sendbv(v->ep, &vec, NULL, 1, hs_known(v, node, port), context) ||
	    hs_recv(hs, KFW_MSG, &hdr, HS_WAIT_MS) || !(hdr.flags & KFW_F_ACK) ||
	    hs_skip(hs, 2 * PAGE_SIZE, HS_WAIT_MS))
		return check(false, "no message that wants an acknowledgement");
	*ack = (struct kfw_hdr) { .type = KFW_ACK, .id = hdr.id, .gen = hdr.gen };
	return true;
}

/*
 * A peer acknowledges what was sent to another one, and has read more than that itself. It loses
 * its connection, and the message waits for the acknowledgement of the other peer.
 */
static bool ack_of_another(struct victim *v)
{
	const struct hs_call call = { .port = 725 }, thief = { .node = 2, .port = 726 };
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	struct hs *hs, *other;
	struct kfw_hdr ack;
	void *done;
	int i, x;
	bool ok;

	if (!check(pages, "no memory"))
		return false;
	hs = hs_open(v, &call);
	other = hs_open(v, &thief);
	ok = check(!IS_ERR(hs) && !IS_ERR(other), "the peers are not admitted");
	for (i = 0; ok && i < 2; i++)
		ok = hs_fetch(v, other, 2, thief.port, pages, &ack, &x) &&
		     check(!hs_send(other, &ack, 0) && !victim_ended(v, HS_WAIT_MS, &done),
			   "a message does not end with its acknowledgement");
	ok = ok && hs_fetch(v, hs, 1, call.port, pages, &ack, &x) &&
	     check(!hs_send(other, &ack, 0) && hs_ended(other, HS_WAIT_MS),
		   "the connection of the other peer goes on") &&
	     check(victim_ended(v, HS_NOT_MS, &done) == -EAGAIN,
		   "the send has ended without its peer") &&
	     check(!hs_send(hs, &ack, 0) && !victim_ended(v, HS_WAIT_MS, &done) && done == &x,
		   "the send does not end with the acknowledgement of its peer");
	if (!IS_ERR(hs))
		hs_close(hs);
	if (!IS_ERR(other))
		hs_reset(other);
	__free_pages(pages, 1);
	return ok;
}

#define EAGER	3840U		/* payload of the messages below: EAGER_UNITS units of credit */
#define EAGER_UNITS	15U
#define TAG_HELD	0xcc

/*
 * Send @n unexpected messages, the last one with a request for an acknowledgement, or all with
 * @promised, whose acknowledgements may be missing. Return: the number of acknowledgements.
 */
static int leave_messages(struct hs *hs, int n, bool promised)
{
	unsigned int ms = promised ? HS_NOT_MS : HS_WAIT_MS;
	struct kfw_hdr msg = hs_msg(TAG_HELD), ack;
	int i, acks = 0;

	for (i = 0; i < n; i++) {
		msg.flags = KFW_F_TAGGED | (promised || i == n - 1 ? KFW_F_ACK : 0);
		msg.id = cpu_to_le32(i);
		if (hs_send(hs, &msg, EAGER))
			break;
	}
	while (acks < (promised ? n : 1) && !hs_recv(hs, KFW_ACK, &ack, ms))
		acks++;
	return acks;
}

/* As many messages as the window of the connection allows. */
static int window_messages(const struct hs *hs)
{
	return le32_to_cpu(hs->said.window_tag) / EAGER_UNITS;
}

#define RECONNECTS	60

/* Receive all messages with TAG_HELD that are there. */
static int held_messages(struct victim *v)
{
	int n = 0, x;
	void *done;

	while (!hs_post(v, TAG_HELD, &x) && !victim_ended(v, HS_NOT_MS, &done))
		n++;
	return n;
}

/*
 * A peer leaves its window full of messages and reconnects, again and again: messages that were not
 * promised to their sender make room for others each time.
 */
static bool reconnects(struct victim *v)
{
	struct hs_call call = { .node = 4, .port = 704 };
	const struct hs_call live = { .node = 3, .port = 705 };
	struct hs *hs, *other = hs_open(v, &live);
	int i, n, left = 0;
	u64 dropped;
	bool ok = check(!IS_ERR(other) && leave_messages(other, 3, false) == 1,
			"another peer is not served");

	for (i = 0; ok && i < RECONNECTS; i++) {
		call.incarnation = i + 1;
		hs = hs_open(v, &call);
		ok = check(!IS_ERR(hs), "the peer is not admitted again");
		if (!ok)
			break;
		n = window_messages(hs);
		ok = check(!n || leave_messages(hs, n, false) == 1, "messages are not taken");
		left += n;
		hs_reset(hs);
	}
	n = held_messages(v) - 3;
	dropped = victim_stat(v, dropped);
	pr_info("hostile: %d of %d messages were held, %llu dropped\n", n, left, dropped);
	if (!IS_ERR(other))
		hs_close(other);
	return ok &&
	       check(n >= 0 && n * EAGER_UNITS <= 8192, "more is held than a peer may leave") &&
	       check(n >= 16, "messages were dropped without need") &&
	       check(left > n && dropped == left - n,
		     "messages were dropped that are not counted");
}

/*
 * The same with promised messages, whose sender knows that they have arrived: they are kept. When
 * the peer has left as many as it may, it is still admitted, but its messages are acknowledged when
 * they are received.
 */
static bool promises(struct victim *v)
{
	struct hs_call call = { .node = 4, .port = 706 };
	int i, n, acks, kept, acked = 0, late = 0;
	struct kfw_hdr ack;
	struct hs *hs = NULL;
	bool ok = true;

	for (i = 0; ok && i < RECONNECTS && late < 4; i++) {
		if (hs)
			hs_reset(hs);
		call.incarnation = i + 1;
		hs = hs_open(v, &call);
		if (!check(!IS_ERR(hs), "acknowledged messages lock out their peer"))
			return false;
		n = window_messages(hs);
		acks = leave_messages(hs, n, true);
		ok = check(acks == n || (n && !acks), "messages are not taken");
		acked += acks;
		late += n - acks;
	}
	kept = held_messages(v);
	pr_info("hostile: %d acknowledged, %d later, %d kept\n", acked, late, kept);
	ok = ok && check(acked * EAGER_UNITS <= 8192, "more is held than a peer may leave") &&
	     check(late == 4, "acknowledged messages are held without bound") &&
	     check(kept + victim_stat(v, dropped) == acked + late && kept > acked,
		   "a message was lost whose sender knows that it has arrived") &&
	     check(!hs_recv(hs, KFW_ACK, &ack, HS_WAIT_MS), "a received message has no ACK");
	hs_close(hs);
	return ok;
}

/* Many peers of one address. */
static bool one_address(struct victim *v)
{
	struct hs_call call = { .node = 5 };
	int i, n, units = 0, acked = 0;
	struct hs *hs;

	for (i = 0; i < 60; i++) {
		call.port = 2000 + i;
		hs = hs_open(v, &call);
		if (IS_ERR(hs))
			continue;
		units += 2 * le32_to_cpu(hs->said.window_tag);
		n = window_messages(hs);
		acked += leave_messages(hs, n, true);
		hs_reset(hs);
	}
	n = held_messages(v);
	pr_info("hostile: %d messages of one address, windows of %d units\n", n, units);
	return check(acked <= n, "a message was lost whose sender knows that it has arrived") &&
	       check(n * EAGER_UNITS <= 32768, "more is held than one address may leave");
}

/* All receives are granted, no payload is ever sent, and another frame is sent now and then. */
static bool unused_grants(struct victim *v)
{
	struct hs_call call = { .port = 707 };
	struct kfw_hdr credit = { .type = KFW_CREDIT }, cts = {}, rts;
	unsigned long begin = jiffies;
	struct hs *hs = hs_open(v, &call);
	int i, x, given = 0;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	for (i = 0; ok && i < 100; i++) {
		rts = hs_rts(TAG_X, i, 32768);
		ok = check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &rts, 0), "no request");
	}
	while (ok && !hs_recv(hs, KFW_CTS, &cts, HS_NOT_MS))
		given = le32_to_cpu(cts.credit_tag) - 1024;
	ok = ok && check(given <= 64, "there is credit for messages that were not granted");
	while (ok && time_before(jiffies, begin + msecs_to_jiffies(HS_WAIT_MS)) &&
	       !hs_ended(hs, HS_NOT_MS))
		hs_send(hs, &credit, 0);
	ok = ok && check(time_before(jiffies, begin + msecs_to_jiffies(HS_WAIT_MS)),
			 "grants are held for ever");
	hs_reset(hs);
	return ok && still_posted(v, TAG_X, &x);
}

#define RELAYS		6
#define RELAY_MS	5000U	/* two of them, of 2 s each, and some time; all would take 12 s */

/*
 * Many connections of one address request to send to one receive, and none sends. The message of
 * another peer, which came behind all of them, gets the receive after the first one was late.
 */
static bool relay_hold(struct victim *v)
{
	struct hs_call call = { .node = 16 };
	const struct hs_call honest = { .node = 17, .port = 727 };
	struct kfw_hdr rts = hs_rts(TAG_X, 1, 32768), msg = hs_msg(TAG_X), ack;
	struct hs *all[RELAYS] = {}, *hs = hs_open(v, &honest);
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");
	void *done;
	int i, x;

	for (i = 0; ok && i < RELAYS; i++) {
		call.port = 4000 + i;
		all[i] = hs_open(v, &call);
		ok = check(!IS_ERR(all[i]), "the relay is not admitted");
		if (!ok)
			all[i] = NULL;
		ok = ok && check(!hs_send(all[i], &rts, 0), "no request");
	}
	msg.flags |= KFW_F_ACK;
	ok = ok && check(!hs_send(hs, &msg, 64) && !hs_recv(hs, KFW_ACK, &ack, HS_WAIT_MS),
			 "the peer can't send") &&
	     check(!hs_post(v, TAG_X, &x), "no receive can be posted") &&
	     check(!victim_ended(v, RELAY_MS, &done) && done == &x,
		   "connections of one address hold a receive one after the other");
	for (i = 0; i < RELAYS; i++)
		if (all[i])
			hs_reset(all[i]);
	if (!IS_ERR(hs))
		hs_close(hs);
	return ok;
}

/* One byte now and then of a frame whose header has matched a receive: the receive must return. */
static bool drips(struct hs *hs, const char *what)
{
	unsigned long begin = jiffies;
	u8 byte = 0x5a;
	bool ended;

	do {
		ended = hs_put(hs, &byte, 1) || hs_ended(hs, 100);
	} while (!ended && time_before(jiffies, begin + msecs_to_jiffies(HS_WAIT_MS)));
	hs_reset(hs);
	return check(ended, what);
}

/* A message that is longer than any may be, and one that is longer than its receive. */
static bool too_long(struct victim *v)
{
	struct hs_call call = { .node = 18, .port = 721 };
	struct kfw_hdr cts = {}, data = { .type = KFW_DATA };
	struct kfw_hdr rts = hs_rts(TAG_X, 1, (1ULL << 30) + 1);
	struct hs *hs = hs_open(v, &call);
	u8 *bytes = kzalloc(VICTIM_BUF, GFP_KERNEL);
	void *done;
	int x;
	bool ok = check(!IS_ERR(hs) && bytes, "the peer is not admitted");

	if (!ok)
		return false;
	ok = check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &rts, 0) &&
		   hs_recv(hs, KFW_CTS, &cts, HS_WAIT_MS),
		   "a message of more than the longest length is granted");
	hs_reset(hs);
	call.incarnation = 2;
	hs = hs_open(v, &call);
	if (!check(!IS_ERR(hs), "the peer is not admitted again"))
		return false;
	rts = hs_rts(TAG_X, 1, KFW_PAYLOAD_MAX);
	ok = ok && check(!hs_send(hs, &rts, 0) && !hs_recv(hs, KFW_CTS, &cts, HS_WAIT_MS), "no grant");
	data.id = cts.id;
	data.gen = cts.gen;
	data.slot = cts.slot;
	ok = ok && check(!hs_begin(hs, &data, NULL, KFW_PAYLOAD_MAX) && !hs_put(hs, bytes, VICTIM_BUF),
			 "the peer can't begin a payload") &&
	     check(victim_ended(v, HS_NOT_MS, &done) == -KFI_ETRUNC && done == &x,
		   "the rest of a message holds a receive that is full");
	hs_reset(hs);
	kfree(bytes);
	return ok;
}

/* A long and a short message: each holds its receive no longer than its length permits. */
static bool drip(struct victim *v)
{
	struct hs_call call = { .port = 714 };
	struct kfw_hdr cts = {}, data = { .type = KFW_DATA };
	struct kfw_hdr rts = hs_rts(TAG_X, 1, KFW_PAYLOAD_MAX), msg = hs_msg(TAG_Y);
	struct hs *hs = hs_open(v, &call);
	int x, y;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	ok = check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &rts, 0) &&
		   !hs_recv(hs, KFW_CTS, &cts, HS_WAIT_MS), "no grant");
	data.id = cts.id;
	data.gen = cts.gen;
	data.slot = cts.slot;
	ok = check(ok && !hs_begin(hs, &data, NULL, KFW_PAYLOAD_MAX),
		   "the peer can't begin a payload");
	ok &= drips(hs, "a long message holds its receive as long as single bytes come");
	call.incarnation = 2;
	hs = hs_open(v, &call);
	if (!check(!IS_ERR(hs), "the peer is not admitted again"))
		return false;
	ok &= check(!hs_post(v, TAG_Y, &y) && !hs_begin(hs, &msg, NULL, 4096),
		    "the peer can't begin a message");
	ok &= drips(hs, "a short message holds its receive as long as single bytes come");
	return ok && still_posted(v, TAG_X, &x) && still_posted(v, TAG_Y, &y);
}

#define CHUNK	65536U
#define CHUNKS	45U		/* one each 100 ms: more than twice the time that a grant has */

/* A write is in progress when the grant arrives: the payload of the grant follows it. */
static bool write_first(struct victim *v)
{
	const struct kfw_rma seg = {
		.len = cpu_to_le64(CHUNK * CHUNKS), .key = cpu_to_le64(0xbad)
	};
	const struct hs_call call = { .port = 715 };
	struct kfw_hdr cts = {}, ack = {}, rts = hs_rts(TAG_X, 1, 32768);
	struct kfw_hdr write = { .type = KFW_WRITE, .id = cpu_to_le32(2) };
	struct kfw_hdr data = { .type = KFW_DATA };
	struct hs *hs = hs_open(v, &call);
	u8 *chunk = kzalloc(CHUNK, GFP_KERNEL);
	void *done;
	int i, x;
	bool ok = check(!IS_ERR(hs) && chunk, "the peer is not admitted");

	if (!ok)
		goto free;
	ok = check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &rts, 0) &&
		   !hs_recv(hs, KFW_CTS, &cts, HS_WAIT_MS), "no grant") &&
	     check(!hs_begin(hs, &write, &seg, CHUNK * CHUNKS), "no write");
	for (i = 0; ok && i < CHUNKS; i++) {
		msleep(100);
		ok = check(!hs_put(hs, chunk, CHUNK),
			   "the connection has ended while a payload arrived");
	}
	data.id = cts.id;
	data.gen = cts.gen;
	data.slot = cts.slot;
	ok = ok && check(!hs_recv(hs, KFW_ACK, &ack, HS_WAIT_MS) &&
			 le16_to_cpu(ack.status) == EACCES, "the write has no verdict") &&
	     check(!hs_send(hs, &data, 32768) && !victim_ended(v, HS_WAIT_MS, &done) && done == &x,
		   "the message does not arrive");
free:
	if (!IS_ERR(hs))
		hs_reset(hs);
	kfree(chunk);
	return ok;
}

#define READS	16

/* struct turns_said - reads, and a grant behind them, in one segment of TCP */
struct turns_said {
	struct {
		struct kfw_hdr	hdr;
		struct kfw_rma	seg;
	} __packed reads[READS];
	struct kfw_hdr	cts;
} __packed;

/* The peer requests many reads and grants a message: the answers must not starve the message. */
static bool turns(struct victim *v)
{
	struct turns_said *said = kzalloc(sizeof(*said), GFP_KERNEL);
	const struct hs_call call = { .port = 716 };
	struct kfw_hdr hdr, rts = {}, ack = { .type = KFW_ACK };
	struct hs *hs = hs_open(v, &call);
	bool granted = false;
	int i, x, first = 0;
	void *done;
	bool ok = check(!IS_ERR(hs) && said, "the peer is not admitted");

	if (!ok)
		goto free;
	ok = check(!victim_region(v, v->buf, v->buf_len, KFI_REMOTE_READ, 1), "no region") &&
	     check(!kfi_send(v->ep, v->buf, v->buf_len, NULL, hs_known(v, 1, call.port), &x),
		   "nothing can be sent") &&
	     check(!hs_recv(hs, KFW_RTS, &rts, HS_WAIT_MS), "no request");
	for (i = 0; ok && i < READS; i++) {
		said->reads[i].hdr = (struct kfw_hdr) {
			.type = KFW_READ, .id = cpu_to_le32(i), .rma_count = cpu_to_le16(1),
			.len = cpu_to_le64(v->buf_len),
			.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
		};
		said->reads[i].seg = (struct kfw_rma) {
			.len = cpu_to_le64(v->buf_len), .key = cpu_to_le64(kfi_mr_key(v->mr)),
		};
	}
	said->cts = (struct kfw_hdr) {
		.type = KFW_CTS, .id = rts.id, .gen = rts.gen,
		.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
	};
	ok = ok && check(!hs_put(hs, said, sizeof(*said)), "the peer can't send");
	while (ok && !granted) {
		ok = check(!hs_get(hs, &hdr, sizeof(hdr), HS_WAIT_MS) &&
			   !hs_skip(hs, le64_to_cpu(hdr.payload), HS_WAIT_MS),
			   "the message does not come");
		granted = hdr.type == KFW_DATA;
		first += hdr.type == KFW_READ_DATA;
	}
	pr_info("hostile: %d of %d reads were answered first\n", first, READS);
	ack.id = rts.id;
	ack.gen = rts.gen;
	ok = ok && check(first && first <= 2,
			 "a granted message waits for all that its receiver reads") &&
	     check(!hs_send(hs, &ack, 0) && !victim_ended(v, HS_WAIT_MS, &done) && done == &x,
		   "the send does not end");
free:
	if (!IS_ERR(hs))
		hs_reset(hs);
	kfree(said);
	return ok;
}

/*
 * An urgent byte between two frames, and more behind it. TCP's reader stops at the byte, and what
 * is behind it must not stay in the socket for ever.
 */
static bool urgent_byte(struct victim *v)
{
	const struct hs_call call = { .node = 17, .port = 720 };
	struct kfw_hdr msg = hs_msg(TAG_X);
	struct hs *hs = hs_open(v, &call);
	void *done;
	int x;
	bool ok;

	if (!check(!IS_ERR(hs), "the peer is not admitted"))
		return false;
	ok = check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &msg, 64) &&
		   !victim_ended(v, HS_WAIT_MS, &done), "the peer is not served") &&
	     check(!hs_put_flags(hs, &msg, 1, MSG_OOB) && !hs_put(hs, &msg, sizeof(msg)),
		   "the peer can't send urgent data") &&
	     check(hs_ended(hs, HS_WAIT_MS), "a peer that sends urgent data is not late");
	hs_reset(hs);
	return ok;
}

#define SILENT		60
#define SILENT_KIB	24UL	/* more than two sockets take, less than a connection */

/* Connections without a hello have no buffers, neither lock out others nor last. */
static bool silence(struct victim *v)
{
	unsigned long pages = global_zone_page_state(NR_FREE_PAGES), kib;
	const struct hs_call silent = { .node = 6 }, other = { .node = 7, .port = 708 },
			     same = { .node = 6, .port = 709 };
	struct hs **all = kcalloc(SILENT, sizeof(*all), GFP_KERNEL), *hs;
	bool ok = check(all, "no memory");
	unsigned long begin;
	int i;

	for (i = 0; ok && i < SILENT; i++) {
		all[i] = hs_connect(v, &silent);
		ok = check(!IS_ERR(all[i]), "TCP does not connect");
		if (!ok)
			all[i] = NULL;
	}
	msleep(100);	/* until the last one is accepted */
	kib = (pages - min(pages, global_zone_page_state(NR_FREE_PAGES))) << (PAGE_SHIFT - 10);
	pr_info("hostile: %d silent connections take %lu KiB\n", SILENT, kib);
	ok = ok && check(kib < SILENT * SILENT_KIB, "a silent connection has buffers");
	hs = ok ? hs_open(v, &other) : ERR_PTR(-EIO);
	ok &= check(!IS_ERR(hs), "silent connections lock out another address");
	if (!IS_ERR(hs))
		hs_close(hs);
	hs = ok ? hs_open(v, &same) : ERR_PTR(-EIO);
	ok &= check(!IS_ERR(hs), "silent connections lock out others of the same address");
	if (!IS_ERR(hs))
		hs_close(hs);
	begin = jiffies;
	for (i = 0; ok && i < SILENT; i++)
		ok = check(hs_ended(all[i], 6000), "a silent connection lasts");
	ok &= check(time_before(jiffies, begin + msecs_to_jiffies(6000)),
		    "silent connections last for more than 3 seconds");
	for (i = 0; all && i < SILENT; i++)
		if (all[i])
			hs_close(all[i]);
	kfree(all);
	return ok;
}

/*
 * One address may have a limited number of connections. The suite loads kfi_sockets with
 * source_peers=24.
 */
static bool many_peers(struct victim *v)
{
	struct hs_call call = { .node = 8 }, other = { .node = 9, .port = 710 };
	struct hs *all[40], *hs;
	int i, admitted = 0;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		call.port = 3000 + i;
		all[i] = hs_open(v, &call);
		admitted += !IS_ERR(all[i]);
	}
	ok = check(admitted == 24, "an address has more or less peers than it may have");
	hs = hs_open(v, &other);
	ok &= check(!IS_ERR(hs), "one address has all places");
	if (!IS_ERR(hs))
		hs_close(hs);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!IS_ERR(all[i]))
			hs_close(all[i]);
	return ok;
}

/* Another process on a peer's host claims the name of the peer. */
static bool impostor(struct victim *v)
{
	struct hs_call good = { .node = 10, .port = 711 }, plain = good, another = good;
	struct kfw_hdr msg = hs_msg(TAG_X);
	struct hs *hs = hs_open(v, &good), *hostile;
	void *done;
	int x;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	plain.source = 40000;
	plain.port = 712;
	hostile = hs_open(v, &plain);
	ok &= check(IS_ERR(hostile), "a caller is believed whose port is not reserved");
	if (!IS_ERR(hostile))
		hs_close(hostile);
	another.incarnation = 4712;
	hostile = hs_open(v, &another);
	ok &= check(IS_ERR(hostile), "a stream is replaced while its peer is there");
	if (!IS_ERR(hostile))
		hs_close(hostile);
	ok = ok &&
	     check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &msg, 100),
		   "the peer can't send any more") &&
	     check(!victim_ended(v, HS_WAIT_MS, &done) && done == &x,
		   "the peer is not served any more");
	hs_reset(hs);
	hs = hs_open(v, &another);
	ok &= check(!IS_ERR(hs), "a peer that has restarted is not admitted");
	if (!IS_ERR(hs))
		hs_close(hs);
	return ok;
}

#define CLOSED_MS	4200U	/* TCP has backed off: it probes the window in 2.8 seconds */

/* The consumer of a live peer does not read for a while. No other peer replaces it meanwhile. */
static bool closed_window(struct victim *v)
{
	const struct hs_call call = { .node = 14, .port = 717, .rcvbuf = 1 };
	const struct hs_call hostile = { .node = 14, .port = 717, .incarnation = 4712 };
	struct hs *hs = hs_open(v, &call), *other;
	unsigned long begin;
	void *done;
	int i, x;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	for (i = 0; ok && i < 8; i++)
		ok = check(!kfi_send(v->ep, v->buf, 16000, NULL, hs_known(v, 14, call.port), &x),
			   "nothing can be sent");
	msleep(CLOSED_MS);
	begin = jiffies;
	other = hs_open(v, &hostile);
	pr_info("hostile: decided after %u ms\n", jiffies_to_msecs(jiffies - begin));
	ok &= check(IS_ERR(other), "a stream is replaced while its peer has no room") &&
	      check(READ_ONCE(hs->sock->sk->sk_state) == TCP_ESTABLISHED,
		    "the connection has ended");
	if (!IS_ERR(other))
		hs_reset(other);
	hs_reset(hs);
	while (victim_ended(v, HS_NOT_MS, &done) != -EAGAIN)
		;
	return ok;
}

/*
 * A caller makes the victim probe an established peer and disconnects: the victim must stop to
 * probe.
 */
static bool forgotten_caller(struct victim *v)
{
	const struct hs_call call = { .node = 15, .port = 718 };
	const struct hs_call hostile = { .node = 15, .port = 718, .incarnation = 4712 };
	struct hs *hs = hs_open(v, &call), *other;
	struct kfw_hdr credit;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	other = hs_connect(v, &hostile);
	ok = check(!IS_ERR(other), "TCP does not connect");
	if (ok) {
		ok = check(!hs_hello(other, &hostile), "the caller can't send");
		usleep_range(2000, 3000);
		hs_reset(other);
	}
	ok = ok && check(!hs_recv(hs, KFW_CREDIT, &credit, HS_WAIT_MS), "the peer is not asked");
	msleep(5000);
	/* discard what has arrived so far */
	while (ok && !hs_get(hs, &credit, sizeof(credit), 1))
		;
	ok = ok && check(hs_get(hs, &credit, sizeof(credit), 4000) == -EAGAIN,
			 "the peer is asked for ever");
	hs_reset(hs);
	return ok;
}

/*
 * The hello claims no listening port, so its sender has no name for an account. The message that
 * the connection leaves is charged to an account when the connection ends.
 */
static bool no_port(struct victim *v)
{
	const struct hs_call call = { .node = 13 };
	struct hs *hs = hs_open(v, &call);

	if (IS_ERR(hs))
		return true;
	leave_messages(hs, 1, true);
	hs_reset(hs);
	msleep(HS_NOT_MS);
	return check(false, "a caller without a listening port is admitted");
}

/* KFI_OPT_AV_ONLY */
static bool members_only(struct victim *v)
{
	const struct hs_call call = { .node = 11, .port = 713 };
	struct victim closed;
	struct hs *hs;
	bool ok;

	if (!check(!hs_victim(&closed, KFI_EP_RDM, true), "no endpoint that admits members alone"))
		return false;
	hs = hs_open(&closed, &call);
	ok = check(IS_ERR(hs), "somebody is admitted who is no member");
	if (!IS_ERR(hs))
		hs_close(hs);
	hs_known(&closed, call.node, call.port);
	hs = hs_open(&closed, &call);
	ok &= check(!IS_ERR(hs), "a member is not admitted");
	if (!IS_ERR(hs))
		hs_close(hs);
	victim_close(&closed);
	return ok;
}

#define DATAGRAMS	48

/*
 * A datagram endpoint is closed while its link transmits nothing. The suite stops lo before it runs
 * this case alone.
 */
static bool dgram_stop(struct victim *v)
{
	struct victim dgram;
	unsigned long begin;
	kfi_addr_t to;
	int i, x;
	bool ok;

	if (!check(!hs_victim(&dgram, KFI_EP_DGRAM, false), "no datagram endpoint"))
		return false;
	to = hs_known(&dgram, 12, 999);
	for (i = 0, ok = true; ok && i < DATAGRAMS; i++)
		ok = check(!kfi_send(dgram.ep, dgram.buf, 60000, NULL, to, &x),
			   "a datagram is not taken");
	msleep(300);
	begin = jiffies;
	ok &= check(!kfi_close(&dgram.ep->fid), "the endpoint can't be closed");
	dgram.ep = NULL;
	pr_info("hostile: closed after %u ms\n", jiffies_to_msecs(jiffies - begin));
	ok &= check(time_before(jiffies, begin + HZ),
		    "the end of an endpoint waits for its datagrams");
	victim_close(&dgram);
	return ok;
}

/*
 * The end of an operation returns its pages: no packet that waits in a queue of this machine may
 * refer to them any more. The suite makes lo delay its packets before it runs this case alone. The
 * peer has closed its socket when the packets arrive, so TCP drops them.
 */
static bool queued_pages(struct victim *v)
{
	const struct hs_call call = { .node = 16, .port = 719 };
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	struct hs *hs = hs_open(v, &call);
	struct bio_vec vec;
	int x;
	bool ok;

	if (!check(pages && !IS_ERR(hs), "no memory, or the peer is not admitted"))
		return false;
	bvec_set_page(&vec, pages, 2 * PAGE_SIZE, 0);
	ok = check(!kfi_sendbv(v->ep, &vec, NULL, 1, hs_known(v, 16, call.port), &x) &&
		   page_count(pages) > 1, "no packet refers to the pages of a send");
	hs_close(hs);
	ok &= check(!kfi_close(&v->ep->fid), "the endpoint can't be closed");
	v->ep = NULL;
	ok &= check(page_count(pages) == 1, "a send has ended while its packets wait in a queue");
	__free_pages(pages, 1);
	return ok;
}

const struct hostile_case hostile_cases[] = {
	{ "lost_after_rts", lost_after_rts },
	{ "early_ack", early_ack },
	{ "ack_of_another", ack_of_another },
	{ "reconnects", reconnects },
	{ "promises", promises },
	{ "one_address", one_address },
	{ "unused_grants", unused_grants },
	{ "too_long", too_long },
	{ "relay_hold", relay_hold },
	{ "drip", drip },
	{ "write_first", write_first },
	{ "turns", turns },
	{ "urgent_byte", urgent_byte },
	{ "silence", silence },
	{ "many_peers", many_peers },
	{ "impostor", impostor },
	{ "false_acceptor", false_acceptor },
	{ "known_key", known_key },
	{ "relayed_proof", relayed_proof },
	{ "rejected_later", rejected_later },
	{ "forgotten_caller", forgotten_caller },
	{ "no_port", no_port },
	{ "members_only", members_only },
	{ "rtw_served", rtw_served },
	{ "rtw_unused", rtw_unused },
	{ "rtw_broken", rtw_broken },
	{ "shared_ports", shared_ports },
	{ "closed_window", closed_window, .patient = true },
	{ "dgram_stop", dgram_stop, .stopped = true },
	{ "queued_pages", queued_pages, .stopped = true },
	{}
};
