// SPDX-License-Identifier: GPL-2.0
/*
 * places.c - what a peer does with places: those of the victim, and those that it names itself.
 */
#include <linux/delay.h>
#include <kfi_rma.h>
#include "hostile.h"

#define PORT		3000
#define OP		7	/* number of our operation */

/* Write @len bytes of our memory to the victim's. Return: 0, or negative if its device refuses */
static int put(struct hv *hv, u64 at, u32 key, u32 len)
{
	struct ib_sge sge = { hv->dma, len, hv->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &hv->send, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED },
		.remote_addr = at, .rkey = key,
	};

	hv->sent = 1;
	if (ib_post_send(hv->qp, &wr.wr, NULL))
		return -EIO;
	wait_event_timeout(hv->wait, READ_ONCE(hv->sent) <= 0, msecs_to_jiffies(HV_WAIT_MS));
	return hv->sent;
}

/* Ask to send a long message, for which there is a receive. @place: the first place of the CTS */
static bool granted(struct hv *hv, struct kfw_place *place)
{
	struct kfw_frame rts = { .type = KFW_RTS, .id = OP, .gen = 1, .len = VICTIM_BUF };

	if (!check(!hv_frame(hv, &rts, NULL, 0), "can't ask") ||
	    !check(hv_wait(hv, KFW_CTS, 1, HV_WAIT_MS), "no CTS") ||
	    !check(hv->heard[KFW_CTS].last.places, "no place is named"))
		return false;
	*place = hv->heard[KFW_CTS].places[0];
	return check(le32_to_cpu(place->len) == VICTIM_BUF, "another length");
}

static int announce(struct hv *hv)
{
	struct kfw_frame data = {
		.type = KFW_DATA, .flags = KFW_F_PLACED, .id = OP, .gen = 1, .len = VICTIM_BUF,
		.slot = hv->heard[KFW_CTS].last.slot,
	};

	return hv_frame(hv, &data, NULL, 0);
}

/* A message by way of a place; after its end the place is none. */
static bool late(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	struct kfw_place place;
	bool ok = check(!IS_ERR(hv), "not let in") && check(!victim_post(&h->v), "no receive") &&
		  granted(hv, &place);

	memset(h->v.buf, 0, VICTIM_BUF);
	if (ok) {
		memset(hv->mem, 0x5a, HV_MEM);
		ok = check(!put(hv, le64_to_cpu(place.at), le32_to_cpu(place.key), VICTIM_BUF),
			   "the place can't be written") &&
		     check(!announce(hv), "can't announce") &&
		     check(!victim_done(&h->v, HV_WAIT_MS), "not received") &&
		     check(!memchr_inv(h->v.buf, 0x5a, VICTIM_BUF), "other bytes are received");
	}
	if (ok) {
		memset(hv->mem, 0xa5, HV_MEM);
		ok = check(put(hv, le64_to_cpu(place.at), le32_to_cpu(place.key), 64),
			   "the place can be written after its end") &&
		     check(!memchr_inv(h->v.buf, 0x5a, VICTIM_BUF), "bytes have landed after the end") &&
		     check(hv_ended(hv), "the peer goes on");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/*
 * Beyond the end of a place, or with another key: the device refuses. The receive ends in error, or
 * is there for the next message.
 */
static bool beyond(struct hostile *h)
{
	static const struct {
		s64 at;
		u32 key;
	} rows[] = { { VICTIM_BUF - 32, 0 }, { -64, 0 }, { 0, 1 }, { 0, 0x100 } };
	struct kfw_frame end = { .type = KFW_MSG, .len = 5, .payload = 5 };
	struct kfw_place place;
	unsigned int i;
	struct hv *hv;
	int ret = 0;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(rows) && ok; i++) {
		hv = hv_open(&h->v, PORT + i);
		ok = check(!IS_ERR(hv), "not let in") &&
		     check(ret == -EAGAIN || !victim_post(&h->v), "no receive") &&
		     granted(hv, &place) &&
		     check(put(hv, le64_to_cpu(place.at) + rows[i].at,
			       le32_to_cpu(place.key) + rows[i].key, 64), "that can be written") &&
		     check(hv_ended(hv), "the peer goes on");
		if (!IS_ERR(hv))
			hv_close(hv);
		ret = ok ? victim_done(&h->v, HV_NOT_MS) : 0;
		ok = ok && check(ret, "a message that has not come is received");
	}
	return ok && (ret != -EAGAIN ||
		      (check(!hv_frame(h->good, &end, "there", 5), "can't send") &&
		       check(!victim_done(&h->v, HV_WAIT_MS), "the receive is lost")));
}

/* ---- places that are not there ---- */

/* The victim sends a message that is granted by places which are not there. */
static bool lie(struct hostile *h, u16 port, const struct kfw_place *places, unsigned int n)
{
	struct hv *hv = hv_open(&h->v, port);
	kfi_addr_t to = hv_knows(&h->v, port);
	struct kfw_frame cts = { .type = KFW_CTS, .places = n, .slot = 1 };
	bool ok = check(!IS_ERR(hv), "not let in");
	int ret;

	msleep(50);	/* until the victim has published the connection: else it would call us */
	ok = ok && check(!kfi_send(h->v.ep, h->v.buf, VICTIM_BUF, NULL, to, NULL), "can't send") &&
	     check(hv_wait(hv, KFW_RTS, 1, HV_WAIT_MS), "no question");
	if (ok) {
		cts.id = hv->heard[KFW_RTS].last.id;
		cts.gen = hv->heard[KFW_RTS].last.gen;
		hv_frame(hv, &cts, places, n * sizeof(*places));	/* it may end before */
		ret = victim_done(&h->v, HV_WAIT_MS);
		ok = check(ret && ret != -EAGAIN, "what is not there is written to") &&
		     check(hv_ended(hv), "a liar goes on");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

#define PLACE(at, len, key)	{ cpu_to_le64(at), cpu_to_le32(len), cpu_to_le32(key) }

static bool lies(struct hostile *h)
{
	static const struct kfw_place rows[][2] = {
		{ PLACE(0x1000, VICTIM_BUF, 0xdead00) },
		{ PLACE(U64_MAX - 8, VICTIM_BUF, 1) },
		{ PLACE(0x1000, VICTIM_BUF - 1, 1) },
		{ PLACE(0x1000, U32_MAX, 1) },
		{ PLACE(0x1000, 0, 1), PLACE(0x1000, VICTIM_BUF, 0) },
	};
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		ok &= lie(h, PORT + i, rows[i], rows[i][1].len ? 2 : 1);
	return ok;
}

/* ---- keys that are not the peer's to end ---- */

#define PART	4096	/* bytes of the victim's region that are written */

/* Write to the victim's region. Return: 1, and the place that was named; 0: none was; negative */
static int region_write(struct hv *hv, u32 gen, struct kfw_place *place)
{
	struct kfw_rma seg = { .len = cpu_to_le64(PART), .key = cpu_to_le64(VICTIM_KEY) };
	struct kfw_frame ask = {
		.type = KFW_RTW, .id = OP, .gen = gen, .rma_count = 1, .len = PART,
	};
	struct kfw_frame data = { .type = KFW_DATA, .id = OP, .gen = gen, .len = PART };
	unsigned int cts = hv_count(hv, KFW_CTS), ack = hv_count(hv, KFW_ACK);
	bool placed;

	if (hv_frame(hv, &ask, &seg, sizeof(seg)) || !hv_wait(hv, KFW_CTS, cts + 1, HV_WAIT_MS))
		return -EIO;
	placed = hv->heard[KFW_CTS].last.places;
	*place = hv->heard[KFW_CTS].places[0];
	if (placed && put(hv, le64_to_cpu(place->at), le32_to_cpu(place->key), 64))
		return -EIO;
	data.slot = hv->heard[KFW_CTS].last.slot;
	data.flags = placed ? KFW_F_PLACED : 0;
	data.payload = placed ? 0 : PART;
	if (hv_frame(hv, &data, hv->mem, data.payload) ||
	    !hv_wait(hv, KFW_ACK, ack + 1, HV_WAIT_MS) || hv->heard[KFW_ACK].last.status)
		return -EIO;
	return placed;
}

/* A region without a place gets one soon. */
static bool region_place(struct hv *hv, struct kfw_place *place)
{
	unsigned int tries;
	int ret = 0;

	for (tries = 1; tries < 100 && !ret; tries++) {
		ret = region_write(hv, tries, place);
		if (!ret)
			msleep(20);
	}
	return check(ret > 0, ret ? "a write fails" : "the region has no place");
}

/*
 * The victim's device forgets a key, of a transfer or of a region: others are served all the
 * same.
 */
static bool invalidations(struct hostile *h)
{
	struct kvw_head head = {};
	struct kfw_place place;
	unsigned int i;
	struct hv *hv;
	bool ok = true;

	for (i = 0; i < 3 && ok; i++) {
		hv = hv_open(&h->v, PORT + i);
		ok = check(!IS_ERR(hv), "not let in") && region_place(hv, &place);
		if (ok) {
			head.limit = cpu_to_le32(READ_ONCE(hv->posted));
			hv_send(hv, &head, sizeof(head), le32_to_cpu(place.key));
		}
		ok = ok && check(hv_ended(hv), "a peer that ends a region goes on");
		if (!IS_ERR(hv))
			hv_close(hv);
	}
	return ok;
}

const struct hostile_case place_cases[] = {
	{ "late",		late },
	{ "beyond",		beyond },
	{ "lies",		lies },
	{ "invalidations",	invalidations },
	{}
};
