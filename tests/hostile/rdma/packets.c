// SPDX-License-Identifier: GPL-2.0
/* packets.c - packets that are wrong, claim what is not true, or are many; datagrams and MADs. */
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include "cases.h"

/* ---- packets ---- */

/* A packet that is not the READY for which the device has asked makes it call nobody. */
static bool deaf(struct hi_heard *h, const void *packet, size_t len)
{
	int before = READ_ONCE(h->calls);

	if (!check(!hi_say(HI_HIGH, packet, len), "a packet can't be sent"))
		return false;
	msleep(100);
	if (check(READ_ONCE(h->calls) == before, "the device believes a packet"))
		return true;
	print_hex_dump(KERN_ERR, "packet: ", DUMP_PREFIX_NONE, 16, 1, packet,
		       min_t(size_t, len, 64), false);
	return false;
}

bool packets(void)
{
	static const struct {
		u8 at, value;
	} wrong[] = {
		{ offsetof(struct kib_packet_head, magic), 0 },
		{ offsetof(struct kib_packet_head, magic) + 3, 0 },
		{ offsetof(struct kib_packet_head, version), KIB_VERSION + 1 },
		{ offsetof(struct kib_packet_head, version), 0 },
		{ offsetof(struct kib_packet_head, type), 0 },
		{ offsetof(struct kib_packet_head, type), KIB_PACKET_UD },
		{ offsetof(struct kib_packet_head, type), KIB_PACKET_ASK },
		{ offsetof(struct kib_packet_head, type), 4 },
		{ offsetof(struct kib_packet_head, type), 255 },
		{ offsetof(struct kib_packet_head, flags), 2 },
		{ offsetof(struct kib_packet_head, flags), 0x81 },
		{ offsetof(struct kib_packet_head, version_min), KIB_VERSION + 1 },
		{ offsetof(struct kib_packet_head, src_qpn), 1 },
		{ offsetof(struct kib_packet_head, src_qpn) + 3, 0xff },
		{ offsetof(struct kib_packet_head, dst_qpn), 1 },
		{ offsetof(struct kib_packet_head, sgid), 1 },
		{ offsetof(struct kib_packet_head, sgid) + 15, 8 },
	};
	struct kib_packet_head head, good;
	struct hi_peer p = {};
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = pair_up(HI_HIGH, true, &q, &h) &&
		  check(hi_hear(&h->asks, 1), "the device does not ask");
	size_t i;

	if (!ok)
		return ended() && ok;
	good = hi_head(HI_HIGH, KIB_PACKET_READY, h->number, q->ib->qp_num);
	good.secret = cpu_to_be64(h->said);
	for (i = 0; ok && i < ARRAY_SIZE(wrong); i++) {
		head = good;
		((u8 *)&head)[wrong[i].at] = wrong[i].value;
		ok = deaf(h, &head, sizeof(head));
	}
	for (i = 0; ok && i < sizeof(good); i++)
		ok = deaf(h, &good, i);
	memset(buf, 0, sizeof(good) + HI_MTU + 1);
	memcpy(buf, &good, sizeof(good));
	ok = ok && deaf(h, buf, sizeof(good) + HI_MTU + 1) && meet(q, h, HI_HIGH, &p) &&
	     say(&p, 0, 100);
	/* what comes when the two are connected changes nothing */
	ok = ok && deaf(h, &good, sizeof(good)) && say(&p, 1, 100);
	hi_end(&p);
	return ended() && ok;
}

/* READY that has come before RESET, of the same peer and number, is not for what comes after it. */
bool stale(void)
{
	struct hi_heard *h = hi_number();
	struct hi_qp *q = hi_qp_new(true);
	struct hi_peer p = {};
	bool ok = check(q && !hi_qp_init(q), "a queue pair can't be had");

	ok = ok && check(!hi_ready(h, q->ib->qp_num), "a packet can't be sent");
	msleep(50);
	h->said ^= 1;
	ok = ok && check(!hi_qp_reset(q) && !hi_qp_up(q, HI_HIGH, h->number), "RESET fails") &&
	     check(hi_hear(&h->asks, 1), "the device does not ask");
	msleep(200);
	ok = ok && check(!h->calls, "a READY outlives RESET") && meet(q, h, HI_HIGH, &p) &&
	     check(!h->wrong, "a READY outlives RESET") && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}

/* ---- floods ---- */

#define FLOOD		2000	/* packets */
#define FLIGHT		64	/* at a time */

struct flight {
	struct hi_op		op;
	struct kib_packet_head	head;
	bool			flies;
};

static bool flight_end(struct flight *f)
{
	bool sent = !f->flies || !hi_wait(&f->op);

	f->flies = false;
	return sent;
}

/* Say a packet again and again. @vary: from other numbers, and with other secrets */
static bool flood(enum hi_side from, const struct kib_packet_head *head, int n, bool vary)
{
	struct flight *flights = kcalloc(FLIGHT, sizeof(*flights), GFP_KERNEL), *f;
	bool ok = flights;
	int i;

	for (i = 0; ok && i < n; i++) {
		f = &flights[i % FLIGHT];
		ok = flight_end(f);
		f->head = *head;
		if (vary) {
			f->head.src_qpn = cpu_to_be32(prandom_u32_state(&rnd) >> 8 | 1 << 23);
			f->head.secret = cpu_to_be64(prandom_u32_state(&rnd));
		}
		f->flies = ok && !hi_say_begin(from, &f->op, &f->head, sizeof(f->head));
		ok = ok && f->flies;
	}
	for (i = 0; flights && i < FLIGHT; i++)
		ok &= flight_end(&flights[i]);
	kfree(flights);
	return check(ok, "packets can't be sent");
}

/* It is connected as soon as one that nobody has disturbed. */
static bool soon(struct hi_qp *q, struct hi_heard *h, enum hi_side side, struct hi_peer *p)
{
	unsigned long start = jiffies;

	return meet(q, h, side, p) &&
	       check(time_before(jiffies, start + 2 * HZ), "a flood delays a queue pair");
}

/* READY of others, at a queue pair in INIT, which keeps one, and at one that has asked */
bool ready_flood(void)
{
	struct kib_packet_head head;
	struct hi_heard *h = hi_number();
	struct hi_qp *q = hi_qp_new(true);
	struct hi_peer p = {};
	bool ok = check(q && !hi_qp_init(q), "a queue pair can't be had");

	if (!ok)
		return ended() && ok;
	head = hi_head(HI_HIGH, KIB_PACKET_READY, h->number, q->ib->qp_num);
	ok = !hi_ready(h, q->ib->qp_num) && flood(HI_HIGH, &head, FLOOD, true) &&
	     check(!hi_qp_rtr(q, HI_HIGH, h->number) && !hi_qp_rts(q), "RTR fails") &&
	     flood(HI_HIGH, &head, FLOOD, true) &&
	     check(!h->calls, "READY of another is believed") &&
	     soon(q, h, HI_HIGH, &p) && flood(HI_HIGH, &head, FLOOD, true) && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}

/*
 * A node claims the GID and the number of another one. It gets no queue pair, and nobody is called,
 * because the address below is its own. Over a bridge there is no other node, and no address: the
 * device calls with a number that is wrong, and is refused; when the right READY comes, it calls
 * with that.
 */
bool forged(void)
{
	struct kib_packet_head head;
	struct hi_peer p = {};
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = pair_up(HI_HIGH, true, &q, &h);
	int i;

	if (!ok)
		return ended() && ok;
	head = hi_head(HI_HIGH, KIB_PACKET_READY, h->number, q->ib->qp_num);
	for (i = 0; ok && i < 5; i++) {
		head.secret = cpu_to_be64(h->said + 1 + i);
		ok = check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent");
		msleep(50);
	}
	ok = ok && check(!h->info, "a call has a number that nobody has said") &&
	     check(hi_bridge() || !READ_ONCE(h->calls), "READY of another node is believed") &&
	     flood(HI_LOW, &head, FLOOD, false) && soon(q, h, HI_HIGH, &p) && say(&p, 0, 100);
	/* the same of the number of a queue pair for which the device waits: only it is answered */
	hi_end(&p);
	ok &= ended();
	ok = ok && pair_up(HI_LOW, true, &q, &h);
	if (!ok)
		return ended() && ok;
	head = hi_head(HI_LOW, KIB_PACKET_ASK, h->number, q->ib->qp_num);
	ok = flood(HI_HIGH, &head, FLOOD, false) && soon(q, h, HI_LOW, &p) && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}

/* ASK at a queue pair in each phase; each is answered at most once */
bool ask_flood(void)
{
	struct kib_packet_head head;
	struct hi_heard *h = hi_number();
	struct hi_qp *q = hi_qp_new(true);
	struct hi_peer p = {};
	bool ok = check(q && !hi_qp_init(q), "a queue pair can't be had");

	if (!ok)
		return ended() && ok;
	head = hi_head(HI_LOW, KIB_PACKET_ASK, h->number, q->ib->qp_num);
	ok = flood(HI_LOW, &head, FLOOD, false) &&
	     check(!h->readys, "a queue pair is READY before RTR") &&
	     check(!hi_qp_rtr(q, HI_LOW, h->number) && !hi_qp_rts(q), "RTR fails") &&
	     flood(HI_LOW, &head, FLOOD, false) && flood(HI_LOW, &head, FLOOD, true) &&
	     check(h->readys <= FLOOD + 10, "a packet has more than one answer") &&
	     soon(q, h, HI_LOW, &p) && flood(HI_LOW, &head, FLOOD, false) && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}

/* Packets of all types to numbers that nobody has, or that are no queue pair of that type */
bool nobody(void)
{
	struct kib_packet_head head = hi_head(HI_LOW, KIB_PACKET_UD, 1, 0);
	static const u32 special[] = { 0, 2, 0xffffff, 0x1000000, U32_MAX };
	bool ok = true;
	int i;

	for (i = 0; ok && i < 300; i++) {
		head.type = 1 + i % 3;
		head.dst_qpn = cpu_to_be32(i < 15 ? special[i / 3] : prandom_u32_state(&rnd));
		head.qkey = cpu_to_be32(HI_QKEY);
		ok = check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent");
	}
	return ok;
}

/* ---- versions ---- */

#define ANSWERS		8	/* of the device, in a second */

/*
 * A node of another version hears what the device speaks, at once, and seldom. Its answer to that
 * has none.
 */
bool versions(void)
{
	struct hi_heard *h = hi_number();
	struct kib_packet_head head = hi_head(HI_LOW, KIB_PACKET_ASK, h->number, 0xabcdef);
	unsigned long start;
	int n;
	bool ok;

	head.version = KIB_VERSION + 1;
	msleep(1100);		/* those of earlier cases no longer count */
	start = jiffies;
	ok = check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent") &&
	     check(hi_hear(&h->versions, 1), "another version is not answered") &&
	     check(time_before(jiffies, start + 2 * HZ), "another version is answered late") &&
	     check(kfi_wire_any_refused(), "another version is not named") &&
	     flood(HI_LOW, &head, FLOOD, false);
	msleep(200);
	n = 1 + ANSWERS * (2 + (jiffies - start) / HZ);
	ok = ok && check(h->versions > 1 && h->versions <= n, "answers have no limit");
	msleep(1100);
	head.type = KIB_PACKET_VERSIONS;
	n = h->versions;
	ok = ok && check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent");
	msleep(200);
	ok = ok && check(h->versions == n, "an answer is answered");
	head.type = KIB_PACKET_ASK;
	return ok && check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent") &&
	       check(hi_hear(&h->versions, n + 1), "a flood ends the answers");
}

/* ---- datagrams ---- */

/* Say a datagram of @len bytes of data. */
static bool datagram(u32 qpn, u32 qkey, size_t len)
{
	struct kib_packet_head head = hi_head(HI_LOW, KIB_PACKET_UD, 1, qpn);

	head.qkey = cpu_to_be32(qkey);
	memcpy(buf, &head, sizeof(head));
	return check(!hi_say(HI_LOW, buf, sizeof(head) + len), "a packet can't be sent");
}

/* A datagram arrives as number @nr. Those before it, which do not count, cost no receive. */
static bool arrives(u32 qpn, size_t len, int nr)
{
	msleep(20);
	return check(atomic_read(&hi_seen.datagrams) == nr - 1, "a datagram is received") &&
	       datagram(qpn, HI_QKEY, len) &&
	       check(wait_until(&hi_seen.datagrams, nr), "a datagram gets lost");
}

/*
 * A peer that sends what the queue pair does not take, or has no room for, gets nothing done to it:
 * neither does a receive end, nor the queue pair.
 */
bool ud(void)
{
	int i, qpn = hi_ud_open(), bad = atomic_read(&hi_seen.bad_datagrams);
	int nr = atomic_read(&hi_seen.datagrams);
	struct kib_packet_head head;
	struct hi_heard *h = NULL;
	struct hi_qp *q = NULL;
	bool ok = check(qpn > 0, "a queue pair of datagrams can't be had");

	/* without a receive */
	for (i = 0; ok && i < 200; i++)
		ok = datagram(qpn, HI_QKEY, i);
	msleep(20);
	ok = ok && check(!hi_ud_post(1), "a receive can't be posted") && arrives(qpn, 100, ++nr);
	/* with the wrong key */
	ok = ok && check(!hi_ud_post(4), "a receive can't be posted") &&
	     datagram(qpn, HI_QKEY ^ 1, 8) && datagram(qpn, 0, 8) &&
	     datagram(qpn, IB_QP1_QKEY, 8) && datagram(qpn, HI_QKEY | BIT(31), 8) &&
	     arrives(qpn, 0, ++nr);
	/* for a GID of another node */
	head = hi_head(HI_LOW, KIB_PACKET_UD, 1, qpn);
	head.qkey = cpu_to_be32(HI_QKEY);
	head.dgid[15] ^= 1;
	ok = ok && check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent");
	memset(head.dgid, 0, sizeof(head.dgid));
	ok = ok && check(!hi_say(HI_LOW, &head, sizeof(head)), "a packet can't be sent");
	/* longer than the receive, or than a datagram */
	ok = ok && datagram(qpn, HI_QKEY, HI_UD_ROOM + 1) && datagram(qpn, HI_QKEY, HI_MTU) &&
	     datagram(qpn, HI_QKEY, HI_MTU + 1) && datagram(qpn, HI_QKEY, 60000) &&
	     arrives(qpn, HI_UD_ROOM, ++nr);
	/* a connection for it; a datagram for a queue pair that has one */
	head = hi_head(HI_HIGH, KIB_PACKET_READY, 1, qpn);
	ok = ok && pair_up(HI_LOW, true, &q, &h) && no_entry(qpn, 0) &&
	     check(!hi_say(HI_HIGH, &head, sizeof(head)), "a packet can't be sent") &&
	     datagram(q->ib->qp_num, HI_QKEY, 8) && datagram(q->ib->qp_num, 0, 8) &&
	     arrives(qpn, 1, ++nr) && arrives(qpn, 1, ++nr) &&
	     check(!hi_ud_post(1), "it has ended") && arrives(qpn, 1, ++nr) &&
	     check(atomic_read(&hi_seen.bad_datagrams) == bad, "a peer ends a receive");
	hi_ud_close();
	return ended() && ok;
}

#define MADS			500
#define CM_CLASS_VERSION	2
#define CM_DREQ			0x15	/* a disconnect request */

/* A MAD of ib_cm, or of whomever, with random contents */
static void mad_random(struct ib_mad_hdr *mad)
{
	prandom_bytes_state(&rnd, mad, sizeof(struct ib_mad));
	if (prandom_u32_state(&rnd) % 4 == 0)
		return;
	mad->base_version = IB_MGMT_BASE_VERSION;
	mad->mgmt_class = prandom_u32_state(&rnd) % 4 ? IB_MGMT_CLASS_CM :
							  prandom_u32_state(&rnd);
	mad->class_version = CM_CLASS_VERSION;
	mad->method = prandom_u32_state(&rnd) % 4 ? IB_MGMT_METHOD_SEND :
						      prandom_u32_state(&rnd);
	mad->attr_id = cpu_to_be16(0x10 + prandom_u32_state(&rnd) % 12);
}

/* ib_cm answers a disconnect request for a connection that it does not have. */
static bool cm_answers(void)
{
	struct kib_packet_head *head = (void *)buf;
	struct ib_mad_hdr *mad = (void *)(head + 1);
	u64 tid = prandom_u32_state(&rnd) | 1ULL << 40;
	int i;

	for (i = 0; READ_ONCE(hi_mad) != tid && i < 50; i++) {
		memset(buf, 0, sizeof(*head) + sizeof(struct ib_mad));
		*mad = (struct ib_mad_hdr) {
			.base_version = IB_MGMT_BASE_VERSION, .mgmt_class = IB_MGMT_CLASS_CM,
			.class_version = CM_CLASS_VERSION, .method = IB_MGMT_METHOD_SEND,
			.attr_id = cpu_to_be16(CM_DREQ), .tid = cpu_to_be64(tid),
		};
		if (!datagram(1, IB_QP1_QKEY, sizeof(struct ib_mad)))
			return false;
		msleep(100);
	}
	return check(READ_ONCE(hi_mad) == tid, "ib_cm does not answer");
}

/*
 * MADs of all kinds and lengths, and with keys that are not that of the queue pair 1, do not end
 * the connection manager of the device: it answers afterwards.
 */
bool mads(void)
{
	struct kib_packet_head *head = (void *)buf;
	bool ok = cm_answers();
	int i;

	for (i = 0; ok && i < MADS; i++) {
		mad_random((void *)(head + 1));
		ok = datagram(1, IB_QP1_QKEY, i % 4 ? sizeof(struct ib_mad) :
						      prandom_u32_state(&rnd) % 256);
	}
	ok = ok && cm_answers();
	for (i = 0; ok && i < MADS / 10; i++) {
		mad_random((void *)(head + 1));
		ok = datagram(1, i % 2 ? prandom_u32_state(&rnd) : HI_QKEY, sizeof(struct ib_mad));
	}
	for (i = 0; ok && i < MADS / 10; i++) {
		mad_random((void *)(head + 1));
		ok = datagram(1, IB_QP1_QKEY, sizeof(struct ib_mad) + 1 + i * 70);
	}
	return ok && cm_answers();
}

#define DEAD	300	/* nodes */

/*
 * Datagrams for many nodes that are not there are in flight for seconds. They keep no queue pair
 * from its peer, and no MAD from its. Over a bridge the peer gets all of them.
 */
bool dead(void)
{
	struct hi_peer p[HI_SIDES] = {};
	bool ok = check(hi_ud_open() > 0, "a queue pair of datagrams can't be had");
	unsigned long start;
	struct hi_heard *h;
	struct hi_qp *q;
	int i;

	for (i = 0; ok && i < HI_SIDES; i++)
		ok = check(!hi_ud_dead(DEAD), "a datagram can't be sent") &&
		     pair_up(i, true, &q, &h) && soon(q, h, i, &p[i]) && say(&p[i], 0, 100);
	ok = ok && check(!hi_ud_dead(DEAD), "a datagram can't be sent");
	start = jiffies;
	ok = ok && cm_answers() &&
	     check(time_before(jiffies, start + 2 * HZ), "datagrams of others delay a MAD");
	for (i = 0; i < HI_SIDES; i++)
		hi_end(&p[i]);
	hi_ud_close();
	return ended() && ok;
}
