// SPDX-License-Identifier: GPL-2.0
/*
 * heads.c - what a peer does with SENDs: their heads, their lengths, their number.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include "hostile.h"

#define PORT		2000

static const struct {
	const char	*what;
	u32		limit;		/* 0: the one that is due */
	u16		flags;
	u16		zero;
	u32		len;		/* bytes of the SEND */
} wrong_heads[] = {
	{ "nothing",			0, 0, 0, 0 },
	{ "half a head",		0, 0, 0, 4 },
	{ "a byte less than a head",	0, 0, 0, 7 },
	{ "an unknown flag",		0, 4, 0, 8 },
	{ "all flags",			0, 0xffff, 0, 8 },
	{ "something behind the flags",	0, 0, 1, 8 },
	{ "fewer receives than before",	KVW_FIRST - 1, 0, 0, 8 },
	{ "absurdly many receives",	KVW_FIRST + KVW_RECVS_MAX + 64, 0, 0, 8 },
	{ "a negative number of them",	0x80000000, 0, 0, 8 },
	{ "more bytes than a receive",	0, 0, 0, KVW_SEND_MAX + 1 },
};

static bool head_ends(struct hostile *h, unsigned int i)
{
	struct hv *hv = hv_open(&h->v, PORT + i);
	struct kvw_head *head = kzalloc(2 * HV_BUF, GFP_KERNEL);
	bool ok = check(!IS_ERR(hv) && head, "not let in");

	if (ok) {
		head->limit = cpu_to_le32(wrong_heads[i].limit ?: READ_ONCE(hv->posted));
		head->flags = cpu_to_le16(wrong_heads[i].flags);
		head->zero = cpu_to_le16(wrong_heads[i].zero);
		hv_send(hv, head, wrong_heads[i].len, 0);
	}
	ok = ok && check(hv_ended(hv), "a wrong SEND is taken for a good one");
	if (!ok)
		pr_err("hostile: wrong: %s\n", wrong_heads[i].what);
	if (!IS_ERR(hv))
		hv_close(hv);
	kfree(head);
	return ok;
}

static bool heads(struct hostile *h)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(wrong_heads); i++)
		ok &= head_ends(h, i);
	return ok;
}

/* What takes a receive, and is no SEND of a link. */
static bool odd(struct hostile *h)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_SEND_WITH_INV,
	};
	unsigned int i;
	struct hv *hv;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(opcodes) && ok; i++) {
		struct ib_rdma_wr wr = { .wr = {
			.opcode = opcodes[i], .send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x4711),
		} };
		struct ib_sge sge;

		hv = hv_open(&h->v, PORT + i);
		if (!check(!IS_ERR(hv), "not let in"))
			return false;
		sge = (struct ib_sge) { hv->out_dma, 8, hv->pd->local_dma_lkey };
		memset(hv->out, 0, 8);
		hv->out[0] = KVW_FIRST;
		wr.wr.wr_cqe = &hv->send;
		if (opcodes[i] != IB_WR_RDMA_WRITE_WITH_IMM) {
			wr.wr.sg_list = &sge;
			wr.wr.num_sge = 1;
		}
		ok = check(!ib_post_send(hv->qp, &wr.wr, NULL), "can't be posted") &&
		     check(hv_ended(hv), "another request is taken for a SEND");
		hv_close(hv);
	}
	return ok;
}

/* Bytes that are no frames. */
static bool noise(struct hostile *h)
{
	u8 *body = kzalloc(HV_BUF, GFP_KERNEL);
	unsigned int i, n, len;
	struct hv *hv;
	bool ok = body;

	for (i = 0; i < 16 && ok; i++) {
		hv = hv_open(&h->v, PORT + i);
		ok = check(!IS_ERR(hv), "not let in");
		for (n = 0; n < 12 && ok && !hv_gone(hv); n++) {
			len = get_random_u32() % 400;
			get_random_bytes(body, len);
			hv_say(hv, body, len, 0);
		}
		if (!IS_ERR(hv))
			hv_close(hv);
	}
	kfree(body);
	return ok;
}

/* Many pings: each SEND is answered by room for another one, and the last by a pong. */
static bool pings(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	unsigned int i, pongs = 0;
	bool ok = check(!IS_ERR(hv), "not let in");

	for (i = 0; i < 1000 && ok; i++)
		ok = check(!hv_say(hv, NULL, 0, KVW_F_PING), "a ping is not taken");
	if (ok)
		pongs = READ_ONCE(hv->pongs);
	ok = ok && check(!hv_say(hv, NULL, 0, KVW_F_PING), "a ping is not taken") &&
	     check(wait_event_timeout(hv->wait, READ_ONCE(hv->pongs) > pongs,
				      msecs_to_jiffies(HV_WAIT_MS)), "no pong");
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/*
 * A peer that gives no receive back: the victim sends no more than the peer has receives for, and
 * what it can't send ends with the connection.
 */
static bool deaf(struct hostile *h)
{
	struct hv_call call = { .port = PORT, .recvs = KVW_FIRST };
	kfi_addr_t to = hv_knows(&h->v, PORT);
	struct hv *hv = hv_new();
	unsigned int i, n = 2 * KVW_FIRST, posted = 0;
	bool ok = hv && check(!hv_call(hv, &h->v, &call), "not let in");
	int ret;

	for (i = 0; i < n && ok; i++) {
		ret = kfi_send(h->v.ep, h->v.buf, 3000, NULL, to, NULL);
		ok = check(!ret, "can't send");
		posted += !ret;
	}
	ok = ok && check(hv_wait(hv, KFW_MSG, 1, HV_WAIT_MS), "no message") &&
	     check(!hv_wait(hv, KFW_MSG, KVW_FIRST, HV_NOT_MS), "more than there is room for") &&
	     check(!hv_gone(hv), "a slow peer has lost its connection");
	if (hv)
		hv_close(hv);
	for (i = 0; i < posted; i++)
		ok &= check(victim_done(&h->v, HV_WAIT_MS) != -EAGAIN, "a send does not end");
	return ok;
}

const struct hostile_case head_cases[] = {
	{ "heads",	heads },
	{ "odd",	odd },
	{ "noise",	noise },
	{ "pings",	pings },
	{ "deaf",	deaf },
	{}
};
