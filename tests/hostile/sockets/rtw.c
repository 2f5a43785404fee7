// SPDX-License-Identifier: GPL-2.0
/*
 * rtw.c - RTW frames, and places. A link over TCP has no places: a CTS names none, and the DATA
 * for an RTW is performed as a WRITE.
 */
#include <linux/string.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include "hostile.h"

#define RTW_LEN		40000U
#define RTW_SEGS	5	/* one more than a target accepts */
#define RTW_KEY		7
#define RTW_SOON_MS	1000U	/* less time than an unused grant has */

/* A frame with segments of the region, or with places, behind its header */
struct rtw_frame {
	struct kfw_hdr	hdr;
	union {
		struct kfw_rma		segs[RTW_SEGS];
		struct kfw_place	places[KFW_PLACES_MAX + 1];
	};
} __packed;

/* Send an RTW for @len bytes in @nsegs segments that follow each other. */
static int rtw_put(struct hs *hs, u32 id, u64 key, u16 flags, u16 nsegs, u32 len)
{
	struct rtw_frame f = {
		.hdr = {
			.type = KFW_RTW, .flags = cpu_to_le16(flags),
			.id = cpu_to_le32(id), .len = cpu_to_le64(len),
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

static struct kfw_hdr rtw_data(const struct kfw_hdr *cts)
{
	return (struct kfw_hdr) {
		.type = KFW_DATA, .id = cts->id, .gen = cts->gen, .slot = cts->slot,
	};
}

/* Say that @len bytes are in places. */
static int rtw_placed(struct hs *hs, const struct kfw_hdr *cts, u8 type, u32 len)
{
	struct kfw_hdr hdr = {
		.type = type, .flags = cpu_to_le16(KFW_F_PLACED), .len = cpu_to_le64(len),
		.id = cts->id, .gen = cts->gen, .slot = cts->slot,
		.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
	};

	return hs_put(hs, &hdr, sizeof(hdr));
}

static bool rtw_granted(struct hs *hs, struct kfw_hdr *cts)
{
	return check(!hs_recv(hs, KFW_CTS, cts, HS_WAIT_MS), "an RTW is not granted") &&
	       check(!cts->places, "a link without places names some");
}

static bool rtw_answered(struct hs *hs, u32 id, u16 status)
{
	struct kfw_hdr ack;

	return check(!hs_recv(hs, KFW_ACK, &ack, HS_WAIT_MS), "no ACK") &&
	       check(le32_to_cpu(ack.id) == id && le16_to_cpu(ack.status) == status, "another ACK");
}

static struct hs *rtw_open(struct victim *v, struct hs_call *call)
{
	struct hs *hs;

	call->incarnation++;
	hs = hs_open(v, call);
	check(!IS_ERR(hs), "the peer is not admitted");
	return hs;
}

/* The region is all of the victim's buffer, which has other bytes than those that a peer sends. */
static bool rtw_region(struct victim *v)
{
	memset(v->buf, 0xa5, v->buf_len);
	return check(!victim_region(v, v->buf, v->buf_len, KFI_REMOTE_WRITE, RTW_KEY), "no region");
}

static bool rtw_region_ends(struct victim *v)
{
	struct kfid_mr *mr = v->mr;

	v->mr = NULL;
	return check(!kfi_close(&mr->fid), "the region can't be closed");
}

/*
 * A peer that follows the protocol: its data is written, there is an event, and its errors are
 * answered.
 */
bool rtw_served(struct victim *v)
{
	struct hs_call call = { .port = 719 };
	struct kfw_hdr cts, first, data;
	struct hs *hs = rtw_open(v, &call);
	void *done;
	bool ok;

	if (IS_ERR(hs))
		return false;
	ok = rtw_region(v) &&
	     check(!rtw_put(hs, 1, RTW_KEY, KFW_F_CQ_DATA, 4, RTW_LEN), "no RTW") &&
	     rtw_granted(hs, &cts);
	data = rtw_data(&cts);
	ok = ok && check(!hs_send(hs, &data, RTW_LEN), "no DATA") && rtw_answered(hs, 1, 0) &&
	     check(!victim_ended(v, HS_WAIT_MS, &done), "the write has no event") &&
	     check(!memchr_inv(v->buf, 0x5a, RTW_LEN), "the data is not there") &&
	     check(v->buf[RTW_LEN] == 0xa5, "too much was written");

	/* A wrong key, and a length of 0 */
	ok = ok && check(!rtw_put(hs, 2, RTW_KEY + 1, 0, 1, RTW_LEN), "no RTW") &&
	     rtw_answered(hs, 2, EACCES) &&
	     check(!rtw_put(hs, 3, RTW_KEY, 0, 1, 0), "no RTW") && rtw_granted(hs, &cts);
	data = rtw_data(&cts);
	ok = ok && check(!hs_send(hs, &data, 0), "no DATA") && rtw_answered(hs, 3, 0);

	/* A place for devices is checked as a write, and this link has none. */
	ok = ok && check(!rtw_put(hs, 5, RTW_KEY + 1, KFW_F_DEVICE, 1, RTW_LEN), "no RTW") &&
	     rtw_answered(hs, 5, EACCES) &&
	     check(!rtw_put(hs, 6, RTW_KEY, KFW_F_DEVICE, 1, RTW_LEN), "no RTW") &&
	     rtw_answered(hs, 6, EOPNOTSUPP);

	/* The same id twice: each RTW has its own grant. The second grant is used first. */
	memset(v->buf, 0xa5, v->buf_len);
	ok = ok && check(!rtw_put(hs, 4, RTW_KEY, 0, 1, 100) && !rtw_put(hs, 4, RTW_KEY, 0, 2, 200),
			 "no RTW") &&
	     rtw_granted(hs, &first) && rtw_granted(hs, &cts);
	data = rtw_data(&cts);
	ok = ok && check(!hs_send(hs, &data, 200), "no DATA") && rtw_answered(hs, 4, 0) &&
	     check(!memchr_inv(v->buf, 0x5a, 200), "the data is not there");
	memset(v->buf, 0xa5, v->buf_len);

	/* The region ends between CTS and DATA. */
	data = rtw_data(&first);
	ok = ok && rtw_region_ends(v) && check(!hs_send(hs, &data, 100), "no DATA") &&
	     rtw_answered(hs, 4, EACCES) &&
	     check(v->buf[0] == 0xa5, "an ended region was written to");
	hs_close(hs);
	return ok;
}

/* An RTW has a time limit like a grant: the peer has to send, and holds no region meanwhile. */
bool rtw_unused(struct victim *v)
{
	struct hs_call call = { .port = 720 };
	struct kfw_hdr cts, credit = { .type = KFW_CREDIT };
	unsigned long begin = jiffies;
	struct hs *hs = rtw_open(v, &call);
	bool ok, ended = false;

	if (IS_ERR(hs))
		return false;
	ok = rtw_region(v) && check(!rtw_put(hs, 1, RTW_KEY, 0, 1, RTW_LEN), "no RTW") &&
	     rtw_granted(hs, &cts);
	while (ok && !ended && time_before(jiffies, begin + msecs_to_jiffies(HS_WAIT_MS))) {
		hs_send(hs, &credit, 0);
		ended = hs_ended(hs, HS_NOT_MS);
	}
	ok = ok && check(ended, "an RTW is held for ever");
	hs_reset(hs);

	/* A reset between RTW and DATA */
	hs = rtw_open(v, &call);
	if (IS_ERR(hs))
		return false;
	ok = ok && check(!rtw_put(hs, 1, RTW_KEY, 0, 1, RTW_LEN), "no RTW") &&
	     rtw_granted(hs, &cts);
	hs_reset(hs);
	begin = jiffies;
	ok = ok && rtw_region_ends(v) &&
	     check(time_before(jiffies, begin + HZ), "the end of a region waits for a dead peer");
	return ok;
}

enum rtw_break {
	RTW_PLACED,
	RTW_TWICE,
	RTW_LENGTH,
	RTW_UNGRANTED,
	RTW_TOO_LONG,
	RTW_EMPTY,
	RTW_LAZY,
	RTW_FLOOD,
	RTW_READ_PLACES,
	RTW_MANY_PLACES,
	RTW_CTS_PLACES,
	RTW_READ_PLACED,
	RTW_GRANT,
	RTW_RECALL,
	RTW_RECALLED,
	RTW_USES,
	RTW_WRITE_LONG,
	RTW_PLACE_SEGS,
	RTW_PLACE_EMPTY,
	RTW_PLACE_COMMIT,
	RTW_PLACE_WRITE,
	RTW_BREAKS
};

static const char *const rtw_breaks[RTW_BREAKS] = {
	[RTW_PLACED]		= "the payload is in places that were not named",
	[RTW_TWICE]		= "DATA comes twice",
	[RTW_LENGTH]		= "DATA has another length than its RTW",
	[RTW_UNGRANTED]		= "DATA comes for a slot that is free",
	[RTW_TOO_LONG]		= "an RTW has too many segments",
	[RTW_EMPTY]		= "an RTW has no segments",
	[RTW_LAZY]		= "an RTW has a flag of other frames",
	[RTW_FLOOD]		= "there are more RTWs than requests",
	[RTW_READ_PLACES]	= "a READ names a place",
	[RTW_MANY_PLACES]	= "a READ names 17 places",
	[RTW_CTS_PLACES]	= "a CTS names a place",
	[RTW_READ_PLACED]	= "the data of no READ is in its places",
	[RTW_GRANT]		= "a lasting grant is given for nothing",
	[RTW_RECALL]		= "a lasting grant is recalled that was not given",
	[RTW_RECALLED]		= "a lasting grant is returned that was not given",
	[RTW_USES]		= "a lasting grant is used that was not given",
	[RTW_WRITE_LONG]	= "the segment of a WRITE is longer than its payload",
	[RTW_PLACE_SEGS]	= "a place has two segments",
	[RTW_PLACE_EMPTY]	= "a place is empty",
	[RTW_PLACE_COMMIT]	= "a place is to be durable",
	[RTW_PLACE_WRITE]	= "a place is put that was not given",
};

/* A READ with @places places of a byte each, or a CTS for @rts with places of its length */
static int rtw_names(struct hs *hs, const struct kfw_hdr *rts, u16 places)
{
	struct rtw_frame f = {
		.hdr = {
			.type = rts ? KFW_CTS : KFW_READ, .places = places,
			.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
		},
	};
	struct kfw_rma seg = { .len = cpu_to_le64(places), .key = cpu_to_le64(RTW_KEY) };
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

/* A frame about lasting grant 0: a GRANT has a segment and a place, a WRITE has a segment. */
static int rtw_lasting(struct hs *hs, u8 type, u16 flags)
{
	bool gives = type == KFW_GRANT, uses = type == KFW_WRITE;
	struct {
		struct kfw_hdr		hdr;
		struct kfw_rma		seg;
		struct kfw_place	place;
	} f = {
		.hdr = {
			.type = type, .flags = cpu_to_le16(flags), .grant_id = cpu_to_le64(1),
			.rma_count = cpu_to_le16(gives || uses), .places = gives,
			.len = cpu_to_le64(gives || uses ? RTW_LEN : 0),
			.credit_msg = cpu_to_le32(1024), .credit_tag = cpu_to_le32(1024),
		},
		.seg = { .len = cpu_to_le64(RTW_LEN), .key = cpu_to_le64(RTW_KEY) },
		.place = { .len = cpu_to_le32(RTW_LEN) },
	};

	return hs_put(hs, &f, gives ? sizeof(f) : uses ? offsetof(typeof(f), place) :
			      sizeof(f.hdr));
}

static bool rtw_break(struct victim *v, struct hs *hs, enum rtw_break what,
		      const struct hs_call *call)
{
	const struct kfw_rma seg = { .len = cpu_to_le64(RTW_LEN), .key = cpu_to_le64(RTW_KEY) };
	struct kfw_hdr cts = {}, data, write = { .type = KFW_WRITE };
	bool ok = true;
	u32 i;

	if (what == RTW_PLACED || what == RTW_TWICE || what == RTW_LENGTH)
		ok = check(!rtw_put(hs, 1, RTW_KEY, 0, 1, RTW_LEN), "no RTW") &&
		     rtw_granted(hs, &cts);
	data = rtw_data(&cts);
	switch (what) {
	case RTW_PLACED:
		return ok && !rtw_placed(hs, &cts, KFW_DATA, RTW_LEN);
	case RTW_TWICE:
		return ok && !hs_send(hs, &data, RTW_LEN) && rtw_answered(hs, 1, 0) &&
		       !hs_send(hs, &data, RTW_LEN);
	case RTW_LENGTH:
		return ok && !hs_send(hs, &data, RTW_LEN - 1);
	case RTW_UNGRANTED:
		return !hs_send(hs, &data, RTW_LEN);
	case RTW_TOO_LONG:
		return !rtw_put(hs, 1, RTW_KEY, 0, RTW_SEGS, RTW_LEN);
	case RTW_EMPTY:
		return !rtw_put(hs, 1, RTW_KEY, 0, 0, RTW_LEN);
	case RTW_LAZY:
		return !rtw_put(hs, 1, RTW_KEY, KFW_F_LAZY, 1, RTW_LEN);
	case RTW_FLOOD:
		/* The connection may end before the peer has sent all of them. */
		for (i = 0; ok && i <= le32_to_cpu(hs->said.requests); i++)
			ok = !rtw_put(hs, i, RTW_KEY, 0, 1, RTW_LEN);
		return true;
	case RTW_READ_PLACES:
		return !rtw_names(hs, NULL, 1);
	case RTW_MANY_PLACES:
		return !rtw_names(hs, NULL, KFW_PLACES_MAX + 1);
	case RTW_CTS_PLACES:
		return !kfi_send(v->ep, v->buf, v->buf_len, NULL, hs_known(v, 1, call->port), v) &&
		       !hs_recv(hs, KFW_RTS, &cts, HS_WAIT_MS) && !rtw_names(hs, &cts, 1);
	case RTW_READ_PLACED:
		return !rtw_placed(hs, &cts, KFW_READ_DATA, RTW_LEN);
	case RTW_GRANT:
		return !rtw_lasting(hs, KFW_GRANT, 0);
	case RTW_RECALL:
		return !rtw_lasting(hs, KFW_RECALL, 0);
	case RTW_RECALLED:
		return !rtw_lasting(hs, KFW_RECALLED, 0);
	case RTW_USES:
		return !rtw_lasting(hs, KFW_WRITE, KFW_F_PLACED);
	case RTW_WRITE_LONG:
		return !hs_begin(hs, &write, &seg, RTW_LEN - 1);
	case RTW_PLACE_SEGS:
		return !rtw_put(hs, 1, RTW_KEY, KFW_F_DEVICE, 2, RTW_LEN);
	case RTW_PLACE_EMPTY:
		return !rtw_put(hs, 1, RTW_KEY, KFW_F_DEVICE, 1, 0);
	case RTW_PLACE_COMMIT:
		return !rtw_put(hs, 1, RTW_KEY, KFW_F_DEVICE | KFW_F_COMMIT, 1, RTW_LEN);
	case RTW_PLACE_WRITE:
		return !rtw_lasting(hs, KFW_WRITE, KFW_F_PLACED | KFW_F_DEVICE);
	default:
		return false;
	}
}

/* Each of these violations of the protocol ends the connection at once, and nothing else. */
bool rtw_broken(struct victim *v)
{
	struct hs_call call = { .port = 721 };
	enum rtw_break what;
	struct hs *hs;
	void *done;
	bool ok = rtw_region(v);

	for (what = 0; ok && what < RTW_BREAKS; what++) {
		hs = rtw_open(v, &call);
		if (IS_ERR(hs))
			return false;
		pr_info("hostile: %s\n", rtw_breaks[what]);
		ok = check(rtw_break(v, hs, what, &call), "the peer can't send") &&
		     check(hs_ended(hs, RTW_SOON_MS), rtw_breaks[what]);
		if (ok && what == RTW_CTS_PLACES)
			ok = check(victim_ended(v, HS_WAIT_MS, &done) < 0 && done == v,
				   "a send has succeeded without its payload");
		hs_reset(hs);
	}
	return ok && rtw_region_ends(v);
}
