// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - what a peer does with keys: the victim's, and those that it tells.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <kfi_rma.h>
#include "hostile.h"

#define PORT		3000
#define KEY_OURS	0x77

/* The victim's memory from byte @at on, for the device. */
static bool ask(struct hv *hv, u64 at, struct kvw_desc *desc)
{
	struct kvw_packet key = { .type = KVW_KEY, .tag = VICTIM_KEY, .data = at, .id = 1, .gen = 1 };
	unsigned int n, tries;

	for (tries = 0; tries < 50; tries++) {
		n = hv_count(hv, KVW_KEY_IS);
		if (hv_say(hv, &key, NULL, NULL, 0, 0) || !hv_wait(hv, KVW_KEY_IS, n + 1, HV_WAIT_MS))
			return check(false, "no answer");
		*desc = hv->heard[KVW_KEY_IS].descs[0];
		if (!hv->heard[KVW_KEY_IS].last.status)
			return true;
		if (hv->heard[KVW_KEY_IS].last.status != EAGAIN)
			return check(false, "no region");
		msleep(20);
	}
	return check(false, "no region in time");
}

/* RDMA with the victim's memory works */
static int move(struct hv *hv, const struct kvw_desc *desc)
{
	struct ib_sge sge = { hv->dma, 64, hv->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &hv->send, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = le64_to_cpu(desc->addr), .rkey = le64_to_cpu(desc->key),
	};

	hv->sent = 1;
	if (ib_post_send(hv->qp, &wr.wr, NULL))
		return -EIO;
	wait_event_timeout(hv->wait, READ_ONCE(hv->sent) <= 0, msecs_to_jiffies(HV_WAIT_MS));
	return hv->sent;
}

/* Its device forgets a region that is none of ours, and it is told so, or not: others are served all the same. */
static bool invalidated(struct hostile *h, u8 flags, unsigned int round)
{
	struct kvw_packet p = { .type = KVW_MSG, .flags = flags, .count = !!flags };
	struct kvw_desc desc, other = { .addr = cpu_to_le64(VICTIM_KEY) };
	struct hv *hv = hv_open(&h->v, PORT + round);
	bool ok = check(!IS_ERR(hv), "not let in") && ask(hv, 0, &desc);
	struct hv *next;

	ok = ok && check(!move(hv, &desc), "its memory can't be written");
	if (ok)
		hv_say(hv, &p, flags ? &other : NULL, "dead", 4, le64_to_cpu(desc.key));	/* broken off before it is heard, perhaps */
	ok = ok && check(hv_ended(hv), "who invalidates what is not his goes on");
	if (!IS_ERR(hv))
		hv_close(hv);
	next = hv_open(&h->v, PORT + 10 + round);
	ok = ok && check(!IS_ERR(next), "not let in") && ask(next, 0, &desc) &&
	     check(!move(next, &desc), "others can't write any more");
	if (!IS_ERR(next))
		hv_close(next);
	return ok;
}

static bool invalidations(struct hostile *h)
{
	return invalidated(h, 0, 0) & invalidated(h, KVW_F_INV, 1);
}

/* ---- the victim's own accesses ---- */

static bool victim_writes(struct hostile *h, struct hv *hv, kfi_addr_t to, size_t len)
{
	unsigned int n = hv_count(hv, KVW_KEY);

	return check(!kfi_write(h->v.ep, h->v.buf, len, NULL, to, 0, KEY_OURS, NULL), "can't write") &&
	       check(hv_wait(hv, KVW_KEY, n + 1, HV_WAIT_MS), "nobody asks");
}

/* The answer to what the victim has asked for: its region has @len bytes, of which it is told @n descriptors */
static int tell(struct hv *hv, u16 status, u64 len, const struct kvw_desc *descs, unsigned int n)
{
	struct kvw_packet p = hv->heard[KVW_KEY].last;

	p = (struct kvw_packet){
		.type = KVW_KEY_IS, .id = p.id, .gen = p.gen, .status = status, .count = n, .len = len,
		.flags = status ? 0 : KVW_K_READ | KVW_K_WRITE,
	};
	return hv_say(hv, &p, descs, NULL, 0, 0);
}

static bool lie(struct hostile *h, u16 port, u64 len, u64 rkey, u64 told, unsigned int n)
{
	struct kvw_desc descs[20];
	struct hv *hv = hv_open(&h->v, port);
	kfi_addr_t to = hv_knows(&h->v, port);
	unsigned int i;
	int ret;
	bool ok = check(!IS_ERR(hv), "not let in");

	msleep(50);
	for (i = 0; ok && i < n; i++)
		descs[i] = (struct kvw_desc){ cpu_to_le64(hv->dma), cpu_to_le64(rkey), cpu_to_le64(told) };
	ok = ok && victim_writes(h, hv, to, 100);
	if (ok)
		tell(hv, 0, len, descs, n);	/* it may be broken off before we hear that it was sent */
	ret = ok ? victim_done(&h->v, HV_WAIT_MS) : 0;
	if (ok)
		pr_info("hostile: a write to false memory %u ends with %d\n", port - PORT, ret);
	ok = ok && check(ret < 0 && ret != -EAGAIN, "what is not there is written to") && check(hv_ended(hv), "a liar goes on");
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

static bool lies(struct hostile *h)
{
	return lie(h, PORT, 4096, BIT_ULL(40), 4096, 1) & lie(h, PORT + 1, 4096, 1, U64_MAX, 1) &
	       lie(h, PORT + 2, 4096, 1, 0, 1) & lie(h, PORT + 3, U64_MAX, 1, U64_MAX / 2 + 1, 2) &
	       lie(h, PORT + 4, 8192, 1, 100, 17) & lie(h, PORT + 5, 8192, 0xdead00, 8192, 1);
}

/* It is refused in the middle; that it ends does not depend on when something else does. */
static bool midway(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	kfi_addr_t to = hv_knows(&h->v, PORT);
	struct kvw_desc desc;
	bool ok = check(!IS_ERR(hv), "not let in");
	unsigned int i;
	int ret = -EAGAIN;

	msleep(50);
	if (ok)
		desc = (struct kvw_desc){ cpu_to_le64(hv->dma), cpu_to_le64(hv->pd->unsafe_global_rkey), cpu_to_le64(4096) };
	ok = ok && victim_writes(h, hv, to, 8192) && check(!tell(hv, 0, 8192, &desc, 1), "can't answer") &&
	     check(hv_wait(hv, KVW_KEY, 2, HV_WAIT_MS), "nobody asks for the rest") &&
	     check(!tell(hv, EACCES, 0, NULL, 0), "can't answer");
	for (i = 0; i < 20 && ok && ret == -EAGAIN; i++) {
		hv_say_type(hv, KVW_CREDIT, 0);		/* somebody is there */
		ret = victim_done(&h->v, 100);
	}
	pr_info("hostile: a write that is refused halfway ends with %d\n", ret);
	ok = ok && check(ret == -EREMOTEIO, "it does not end");
	while (ret == -EAGAIN)
		ret = victim_done(&h->v, HV_WAIT_MS);
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/* ---- what it says of accesses ---- */

/* A write to two segments, which is told with remote CQ data: @len bytes in all. */
static int say_done(struct hv *hv, u64 first_key, u64 first_len, u64 len)
{
	struct kvw_packet p = {
		.type = KVW_DONE, .flags = KVW_F_CQ_DATA, .count = 2, .len = len, .data = 1
	};
	struct kvw_desc descs[] = {
		{ 0, cpu_to_le64(first_key), cpu_to_le64(first_len) },
		{ cpu_to_le64(4096), cpu_to_le64(VICTIM_KEY), cpu_to_le64(64) },
	};

	return hv_say(hv, &p, descs, NULL, 0, 0);
}

/* The victim's consumer hears of no more bytes than the peer may have written. */
static bool tales(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT);
	bool ok = check(!IS_ERR(hv), "not let in");

	ok = ok && check(!say_done(hv, VICTIM_KEY, 100, 164), "can't tell") &&
	     check(!victim_done(&h->v, HV_WAIT_MS), "an access is not told");
	ok = ok && check(!say_done(hv, 0xdead, 1 << 20, (1 << 20) + 64), "can't tell") &&
	     check(victim_done(&h->v, HV_NOT_MS) == -EAGAIN, "an access to no region is told") &&
	     check(!say_done(hv, VICTIM_KEY, VICTIM_MEM + 1, VICTIM_MEM + 65), "can't tell") &&
	     check(victim_done(&h->v, HV_NOT_MS) == -EAGAIN, "an access beyond a region is told");
	/* Segments may overlap, but the region has no more bytes for that. */
	ok = ok && check(!say_done(hv, VICTIM_KEY, VICTIM_MEM, VICTIM_MEM + 64), "can't tell") &&
	     check(!victim_done(&h->v, HV_WAIT_MS), "an access is not told") &&
	     check(h->v.done_len == VICTIM_MEM, "more bytes are told than the region has");
	if (ok)
		say_done(hv, VICTIM_KEY, 100, 165);	/* broken off before it is heard, perhaps */
	ok = ok && check(hv_ended(hv), "who tells of more bytes than it names goes on") &&
	     check(victim_done(&h->v, 0) == -EAGAIN, "bytes that nobody has named are told");
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/* A part of an access; it is told as a write if @flags say nothing else. */
static int say_part(struct hv *hv, u8 flags)
{
	struct kvw_packet p = {
		.type = KVW_DONE, .flags = flags | KVW_F_PART, .count = 1, .len = 4096
	};
	struct kvw_desc desc = { 0, cpu_to_le64(VICTIM_KEY), cpu_to_le64(4096) };

	return hv_say(hv, &p, &desc, NULL, 0, 0);
}

/* @n parts, the first of which are of a read: the connection ends, and nothing is told. */
static bool parts_end(struct hostile *h, u16 port, unsigned int n, unsigned int reads)
{
	struct hv *hv = hv_open(&h->v, port);
	bool ok = check(!IS_ERR(hv), "not let in");
	unsigned int i;

	/* The connection may be broken off before the last of them is heard. */
	for (i = 0; ok && i < n; i++)
		say_part(hv, i < reads ? KVW_F_READ : 0);
	if (ok)
		say_done(hv, VICTIM_KEY, 100, 164);
	ok = ok && check(hv_ended(hv), "parts that are not of one access are taken") &&
	     check(victim_done(&h->v, 0) == -EAGAIN, "an access that nobody has made is told");
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

static bool parts(struct hostile *h)
{
	return parts_end(h, PORT, 1, 1) & parts_end(h, PORT + 1, 2, 1) &
	       parts_end(h, PORT + 2, 17, 0);
}

/* ---- what it leaves ---- */

#define LEFT_EACH	4U

/* Messages that nobody receives, and the end of the connection. Return: it was let in. */
static bool leave_some(struct hostile *h, u16 port, unsigned int *left)
{
	struct kvw_packet p = { .type = KVW_MSG };
	struct hv *hv = hv_open(&h->v, port);
	unsigned int i;

	if (IS_ERR(hv))
		return false;
	msleep(20);	/* what comes before the victim has published the connection ends with it */
	for (i = 0; i < LEFT_EACH; i++)
		*left += !hv_say(hv, &p, NULL, "dead", 4, 0);
	hv_close(hv);
	msleep(100);	/* its end is heard of, in time or a few connections later */
	return true;
}

/*
 * A peer that calls again and again leaves no more than its share of held_max (see run). When that
 * is received, the peer is let in again.
 */
static bool leftovers(struct hostile *h)
{
	unsigned int calls, left = 0, share = DIV_ROUND_UP(HELD_MAX, 4);
	struct hv *hv;
	bool ok;

	for (calls = 0; calls < share && leave_some(h, PORT + calls, &left); calls++)
		;
	pr_info("hostile: %u messages left by %u connections\n", left, calls);
	ok = check(left >= share && left < share + 4 * LEFT_EACH,
		   "a peer may leave more, or less") &&
	     check(!victim_receive(&h->v, left, HV_WAIT_MS), "messages are lost");
	hv = ok ? hv_open(&h->v, PORT + calls) : ERR_PTR(-EIO);
	ok = ok && check(!IS_ERR(hv), "the peer is not let in again");
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

const struct hostile_case rma_cases[] = {
	{ "invalidations",	invalidations },
	{ "lies",		lies },
	{ "midway",		midway },
	{ "tales",		tales },
	{ "parts",		parts },
	{ "leftovers",		leftovers },
	{}
};
