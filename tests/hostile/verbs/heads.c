// SPDX-License-Identifier: GPL-2.0
/*
 * heads.c - what a peer does with SENDs: their heads, their lengths, their number.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmstat.h>
#include <rdma/restrack.h>
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

#define DEATHS		40U	/* at most BITS_PER_LONG */
#define CONN_KIB	344UL	/* buffers of a connection that are pages */

/* A peer connects, leaves a short message, and dies. Return: false if it can't. */
static bool leave_one(struct victim *v, u32 serial)
{
	struct kfw_frame f = { .type = KFW_MSG, .len = 16, .payload = 16 };
	u64 body[2] = { serial, ~(u64)serial };
	struct hv *hv = hv_open(v, PORT);
	unsigned int ms;
	bool ok = check(!IS_ERR(hv), "not let in again");

	if (!ok)
		return false;
	ok = check(!hv_frame(hv, &f, body, sizeof(body)), "a message can't be sent");
	for (ms = 0; ok && ms < HV_WAIT_MS && victim_stat(v, unexpected) <= serial; ms += 20)
		msleep(20);
	ok = ok && check(ms < HV_WAIT_MS, "an unexpected message does not arrive") &&
	     check(victim_stat(v, unexpected) == serial + 1, "a message is counted twice");
	hv_close(hv);
	return ok;
}

/* Wait until the device has as many queue pairs as before. */
static bool queue_pairs_end(struct hostile *h, int before)
{
	struct ib_device *ib = h->good->id->device;
	unsigned int ms;

	for (ms = 0; ms < HV_WAIT_MS; ms += 20) {
		if (rdma_restrack_count(ib, RDMA_RESTRACK_QP, false) <= before)
			return true;
		msleep(20);
	}
	return check(false, "a message holds the queue pair of a dead peer");
}

/*
 * What a message that waits for its receive holds after the death of its sender is the message, and
 * not the queue pair and the buffers of its connection.
 */
static bool leaves(struct hostile *h)
{
	int before = rdma_restrack_count(h->good->id->device, RDMA_RESTRACK_QP, false);
	unsigned long pages = global_zone_page_state(NR_FREE_PAGES), kib, seen = 0;
	struct victim v;
	unsigned int i;
	char node[16];
	bool ok = true;

	snprintf(node, sizeof(node), "%pI4", &((struct sockaddr_in *)h->v.name)->sin_addr);
	if (!check(!hv_victim(&v, node), "no endpoint"))
		return false;
	for (i = 0; ok && i < DEATHS; i++)
		ok = leave_one(&v, i) && queue_pairs_end(h, before);
	kib = (pages - min(pages, global_zone_page_state(NR_FREE_PAGES))) << (PAGE_SHIFT - 10);
	pr_info("hostile: %lu KiB more than before, %llu messages dropped\n", kib,
		victim_stat(&v, dropped));
	ok = ok && check(kib < DEATHS * CONN_KIB / 2, "a message holds the buffers of a dead peer");
	/*
	 * Messages may be dropped to make room for the windows of later connections. How many, and
	 * which, depends on time: a connection is charged with its windows until its end is
	 * complete, and that can be after the next peer was let in. proto_account_test.c tests what
	 * is dropped.
	 */
	for (i = victim_stat(&v, dropped); ok && i < DEATHS; i++)
		ok = check(!victim_receive(&v, 1, HV_WAIT_MS) && *(u64 *)v.buf < DEATHS &&
			   !__test_and_set_bit(*(u64 *)v.buf, &seen),
			   "a message is lost that was not dropped");
	victim_close(&v);
	return ok;
}

const struct hostile_case head_cases[] = {
	{ "heads",	heads },
	{ "odd",	odd },
	{ "pings",	pings },
	{ "deaf",	deaf },
	{ "leaves",	leaves },
	{}
};
