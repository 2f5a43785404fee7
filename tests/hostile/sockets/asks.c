// SPDX-License-Identifier: GPL-2.0
/*
 * asks.c - writes that ask, and places. A link over TCP has no places: a CTS names none, and the
 * DATA for an ASK is performed as a WRITE.
 */
#include <linux/string.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include "hostile.h"

#define ASK_LEN		40000U
#define ASK_SEGS	5	/* one more than a target accepts */
#define ASK_KEY		7
#define ASK_SOON_MS	1000U	/* less than an unused grant has */

/* A frame with segments of the region, or with places, behind its header */
struct ask_frame {
	struct kfw_hdr	hdr;
	union {
		struct kfw_rma		segs[ASK_SEGS];
		struct kfw_place	places[KFW_PLACES_MAX + 1];
	};
} __packed;

/* Send an ASK for @len bytes in @nsegs segments that follow each other. */
static int ask_put(struct hs *hs, u32 id, u64 key, u8 flags, u16 nsegs, u32 len)
{
	struct ask_frame f = {
		.hdr = {
			.type = KFW_ASK, .flags = flags, .id = cpu_to_le32(id), .len = cpu_to_le64(len),
			.rma_count = cpu_to_le16(nsegs), .data = cpu_to_le64(id),
			.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
		},
	};
	u32 i, at = 0, n;

	for (i = 0; i < nsegs; i++, at += n) {
		n = i + 1 < nsegs ? len / nsegs : len - at;
		f.segs[i] = (struct kfw_rma) {
			.addr = cpu_to_le64(at), .len = cpu_to_le64(n), .key = cpu_to_le64(key),
		};
	}
	return hs_put(hs, &f, sizeof(f.hdr) + nsegs * sizeof(f.segs[0]));
}

static struct kfw_hdr ask_data(const struct kfw_hdr *cts)
{
	return (struct kfw_hdr) {
		.type = KFW_DATA, .id = cts->id, .gen = cts->gen, .slot = cts->slot,
	};
}

/* Say that @len bytes are in places. */
static int ask_placed(struct hs *hs, const struct kfw_hdr *cts, u8 type, u32 len)
{
	struct kfw_hdr hdr = {
		.type = type, .flags = KFW_F_PLACED, .len = cpu_to_le64(len),
		.id = cts->id, .gen = cts->gen, .slot = cts->slot,
		.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
	};

	return hs_put(hs, &hdr, sizeof(hdr));
}

static bool ask_granted(struct hs *hs, struct kfw_hdr *cts)
{
	return check(!hs_hear(hs, KFW_CTS, cts, HS_WAIT_MS), "an ASK is not granted") &&
	       check(!cts->status, "a link without places names some");
}

static bool ask_answered(struct hs *hs, u32 id, u16 status)
{
	struct kfw_hdr ack;

	return check(!hs_hear(hs, KFW_ACK, &ack, HS_WAIT_MS), "no ACK") &&
	       check(le32_to_cpu(ack.id) == id && le16_to_cpu(ack.status) == status, "another ACK");
}

static struct hs *ask_open(struct victim *v, struct hs_call *call)
{
	struct hs *hs;

	call->incarnation++;
	hs = hs_open(v, call);
	check(!IS_ERR(hs), "the peer is not admitted");
	return hs;
}

/* The region is all of the victim's buffer, which has other bytes than those that a peer sends. */
static bool ask_region(struct victim *v)
{
	memset(v->buf, 0xa5, v->buf_len);
	return check(!victim_region(v, v->buf, v->buf_len, KFI_REMOTE_WRITE, ASK_KEY), "no region");
}

static bool ask_region_ends(struct victim *v)
{
	struct kfid_mr *mr = v->mr;

	v->mr = NULL;
	return check(!kfi_close(&mr->fid), "the region can't be closed");
}

/* What a peer may do: its data is written, its event comes, and its mistakes are answered. */
bool asks_served(struct victim *v)
{
	struct hs_call call = { .port = 719 };
	struct kfw_hdr cts, first, data;
	struct hs *hs = ask_open(v, &call);
	void *done;
	bool ok;

	if (IS_ERR(hs))
		return false;
	ok = ask_region(v) &&
	     check(!ask_put(hs, 1, ASK_KEY, KFW_F_CQ_DATA, 4, ASK_LEN), "no ASK") &&
	     ask_granted(hs, &cts);
	data = ask_data(&cts);
	ok = ok && check(!hs_say(hs, &data, ASK_LEN), "no DATA") && ask_answered(hs, 1, 0) &&
	     check(!victim_ended(v, HS_WAIT_MS, &done), "the write has no event") &&
	     check(!memchr_inv(v->buf, 0x5a, ASK_LEN), "the data is not there") &&
	     check(v->buf[ASK_LEN] == 0xa5, "too much was written");

	/* A wrong key, and no bytes at all */
	ok = ok && check(!ask_put(hs, 2, ASK_KEY + 1, 0, 1, ASK_LEN), "no ASK") &&
	     ask_answered(hs, 2, EACCES) &&
	     check(!ask_put(hs, 3, ASK_KEY, 0, 1, 0), "no ASK") && ask_granted(hs, &cts);
	data = ask_data(&cts);
	ok = ok && check(!hs_say(hs, &data, 0), "no DATA") && ask_answered(hs, 3, 0);

	/* The same number twice: each has a grant of its own. The second one is used first. */
	memset(v->buf, 0xa5, v->buf_len);
	ok = ok && check(!ask_put(hs, 4, ASK_KEY, 0, 1, 100) && !ask_put(hs, 4, ASK_KEY, 0, 2, 200),
			 "no ASK") &&
	     ask_granted(hs, &first) && ask_granted(hs, &cts);
	data = ask_data(&cts);
	ok = ok && check(!hs_say(hs, &data, 200), "no DATA") && ask_answered(hs, 4, 0) &&
	     check(!memchr_inv(v->buf, 0x5a, 200), "the data is not there");
	memset(v->buf, 0xa5, v->buf_len);

	/* The region ends between CTS and DATA. */
	data = ask_data(&first);
	ok = ok && ask_region_ends(v) && check(!hs_say(hs, &data, 100), "no DATA") &&
	     ask_answered(hs, 4, EACCES) &&
	     check(v->buf[0] == 0xa5, "an ended region was written to");
	hs_close(hs);
	return ok;
}

/* An ASK is as good as a grant: the peer has to send, and holds no region meanwhile. */
bool asks_unused(struct victim *v)
{
	struct hs_call call = { .port = 720 };
	struct kfw_hdr cts, credit = { .type = KFW_CREDIT };
	unsigned long begin = jiffies;
	struct hs *hs = ask_open(v, &call);
	bool ok, ended = false;

	if (IS_ERR(hs))
		return false;
	ok = ask_region(v) && check(!ask_put(hs, 1, ASK_KEY, 0, 1, ASK_LEN), "no ASK") &&
	     ask_granted(hs, &cts);
	while (ok && !ended && time_before(jiffies, begin + msecs_to_jiffies(HS_WAIT_MS))) {
		hs_say(hs, &credit, 0);
		ended = hs_ended(hs, HS_NOT_MS);
	}
	ok = ok && check(ended, "an ASK is held for ever");
	hs_reset(hs);

	/* A reset between ASK and DATA */
	hs = ask_open(v, &call);
	if (IS_ERR(hs))
		return false;
	ok = ok && check(!ask_put(hs, 1, ASK_KEY, 0, 1, ASK_LEN), "no ASK") &&
	     ask_granted(hs, &cts);
	hs_reset(hs);
	begin = jiffies;
	ok = ok && ask_region_ends(v) &&
	     check(time_before(jiffies, begin + HZ), "the end of a region waits for a dead peer");
	return ok;
}

enum ask_break {
	ASK_PLACED,
	ASK_TWICE,
	ASK_LENGTH,
	ASK_UNGRANTED,
	ASK_TOO_LONG,
	ASK_BARE,
	ASK_LAZY,
	ASK_FLOOD,
	ASK_READ_PLACES,
	ASK_MANY_PLACES,
	ASK_CTS_PLACES,
	ASK_READ_PLACED,
	ASK_BREAKS
};

static const char *const ask_breaks[ASK_BREAKS] = {
	[ASK_PLACED]		= "the payload is in places that were not named",
	[ASK_TWICE]		= "DATA comes twice",
	[ASK_LENGTH]		= "DATA has another length than its ASK",
	[ASK_UNGRANTED]		= "DATA comes for a slot that is free",
	[ASK_TOO_LONG]		= "an ASK has too many segments",
	[ASK_BARE]		= "an ASK has no segments",
	[ASK_LAZY]		= "an ASK has a flag of other frames",
	[ASK_FLOOD]		= "there are more ASKs than requests",
	[ASK_READ_PLACES]	= "a READ names a place",
	[ASK_MANY_PLACES]	= "a READ names 17 places",
	[ASK_CTS_PLACES]	= "a CTS names a place",
	[ASK_READ_PLACED]	= "the data of no READ is in its places",
};

/* A READ with @places places of a byte each, or a CTS for @rts with places of its length */
static int ask_names(struct hs *hs, const struct kfw_hdr *rts, u16 places)
{
	struct ask_frame f = {
		.hdr = {
			.type = rts ? KFW_CTS : KFW_READ, .status = cpu_to_le16(places),
			.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
		},
	};
	struct kfw_rma seg = { .len = cpu_to_le64(places), .key = cpu_to_le64(ASK_KEY) };
	int i, ret;

	for (i = 0; i < places; i++)
		f.places[i].len = cpu_to_le32(rts ? le64_to_cpu(rts->len) : 1);
	if (rts) {
		f.hdr.id = rts->id;
		f.hdr.gen = rts->gen;
		return hs_put(hs, &f, sizeof(f.hdr) + places * sizeof(f.places[0]));
	}
	f.hdr.rma_count = cpu_to_le16(1);
	f.hdr.len = cpu_to_le64(places);
	ret = hs_put(hs, &f.hdr, sizeof(f.hdr));
	/* The connection may end because of the header. */
	if (!ret && !hs_put(hs, &seg, sizeof(seg)))
		hs_put(hs, f.places, places * sizeof(f.places[0]));
	return ret;
}

static bool ask_break(struct victim *v, struct hs *hs, enum ask_break what,
		      const struct hs_call *call)
{
	struct kfw_hdr cts = {}, data;
	bool ok = true;
	u32 i;

	if (what == ASK_PLACED || what == ASK_TWICE || what == ASK_LENGTH)
		ok = check(!ask_put(hs, 1, ASK_KEY, 0, 1, ASK_LEN), "no ASK") &&
		     ask_granted(hs, &cts);
	data = ask_data(&cts);
	switch (what) {
	case ASK_PLACED:
		return ok && !ask_placed(hs, &cts, KFW_DATA, ASK_LEN);
	case ASK_TWICE:
		return ok && !hs_say(hs, &data, ASK_LEN) && ask_answered(hs, 1, 0) &&
		       !hs_say(hs, &data, ASK_LEN);
	case ASK_LENGTH:
		return ok && !hs_say(hs, &data, ASK_LEN - 1);
	case ASK_UNGRANTED:
		return !hs_say(hs, &data, ASK_LEN);
	case ASK_TOO_LONG:
		return !ask_put(hs, 1, ASK_KEY, 0, ASK_SEGS, ASK_LEN);
	case ASK_BARE:
		return !ask_put(hs, 1, ASK_KEY, 0, 0, ASK_LEN);
	case ASK_LAZY:
		return !ask_put(hs, 1, ASK_KEY, KFW_F_LAZY, 1, ASK_LEN);
	case ASK_FLOOD:
		/* The connection may end before the peer has sent all of them. */
		for (i = 0; ok && i <= le32_to_cpu(hs->said.requests); i++)
			ok = !ask_put(hs, i, ASK_KEY, 0, 1, ASK_LEN);
		return true;
	case ASK_READ_PLACES:
		return !ask_names(hs, NULL, 1);
	case ASK_MANY_PLACES:
		return !ask_names(hs, NULL, KFW_PLACES_MAX + 1);
	case ASK_CTS_PLACES:
		return !kfi_send(v->ep, v->buf, v->buf_len, NULL, hs_known(v, 1, call->port), v) &&
		       !hs_hear(hs, KFW_RTS, &cts, HS_WAIT_MS) && !ask_names(hs, &cts, 1);
	case ASK_READ_PLACED:
		return !ask_placed(hs, &cts, KFW_READ_DATA, ASK_LEN);
	default:
		return false;
	}
}

/* What breaks the protocol: each ends the connection at once, and nothing else. */
bool asks_broken(struct victim *v)
{
	struct hs_call call = { .port = 721 };
	enum ask_break what;
	struct hs *hs;
	void *done;
	bool ok = ask_region(v);

	for (what = 0; ok && what < ASK_BREAKS; what++) {
		hs = ask_open(v, &call);
		if (IS_ERR(hs))
			return false;
		pr_info("hostile: %s\n", ask_breaks[what]);
		ok = check(ask_break(v, hs, what, &call), "the peer can't send") &&
		     check(hs_ended(hs, ASK_SOON_MS), ask_breaks[what]);
		if (ok && what == ASK_CTS_PLACES)
			ok = check(victim_ended(v, HS_WAIT_MS, &done) < 0 && done == v,
				   "a send has succeeded without its payload");
		hs_reset(hs);
	}
	return ok && ask_region_ends(v);
}
