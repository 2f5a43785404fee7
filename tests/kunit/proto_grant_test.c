// SPDX-License-Identifier: GPL-2.0
/*
 * Grants of the message protocol between two endpoints whose links have places, see
 * pair_world.h. Endpoint 0 writes to regions of endpoint 1, so it has end 0 of the wire. A write to
 * places that are not exposed is a stray, which fails each test at its end.
 */
#include <linux/delay.h>
#include "pair_world.h"

#define PG_LEN		20000U
#define PG_KEY		77

/**
 * struct pg_world - a region of endpoint 1, in the first PG_LEN bytes of its area
 * @mr: the region
 * @io: a region for one I/O
 * @job: its registration or invalidation
 */
static struct pg_world {
	struct kfid_mr		*mr;
	struct kfid_mr		*io;
	struct job		job;
} pg;

static int pg_post(u64 key, u64 at, u32 len)
{
	return kfi_write(pm.ep[0], pm.area[0], len, NULL, pm.addr[1], at, key, NULL);
}

/* Write to a region, and wait for the end. Return: its errno. */
static int pg_write(u64 key, u64 at, u32 len, u8 seed)
{
	int ret;

	memset(pm.area[0], seed, len);
	ret = pg_post(key, at, len) ?: pm_wait_one();
	if (!ret)
		KUNIT_EXPECT_NULL(pm.test, memchr_inv(pm.area[1] + at, seed, len));
	return ret;
}

/*
 * Write twice, at first perhaps over a connection that is about to end. Then there is a lasting
 * grant: the third write needs no RTW.
 */
static void pg_granted(u64 key)
{
	int rtws;

	KUNIT_ASSERT_TRUE(pm.test, fake_soon(!pg_write(key, 0, PG_LEN, 1)));
	KUNIT_ASSERT_EQ(pm.test, 0, pg_write(key, 0, PG_LEN, 2));
	rtws = pm_frames(KFW_RTW);
	KUNIT_ASSERT_EQ(pm.test, 0, pg_write(key, 0, PG_LEN, 3));
	KUNIT_ASSERT_EQ(pm.test, rtws, pm_frames(KFW_RTW));
}

static int pg_init(struct kunit *test)
{
	int ret = pm_init(test);

	if (ret)
		return ret;
	memset(&pg, 0, sizeof(pg));
	pm.sure = true;
	return pm_reg(PG_KEY, PG_LEN, &pg.mr);
}

static void pg_exit(struct kunit *test)
{
	if (pg.io)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pg.io->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pg.mr->fid));
	pm_exit(test);
}

/* ---- one round trip ---- */

/* Of many writes two send an RTW, and the second gets a lasting grant. Each is one WRITE. */
static void second_write_granted(struct kunit *test)
{
	int i;

	kfi_to_ep(pm.ep[1])->eager_size = 8192;	/* of messages, not of writes */
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, 6000, i));
	KUNIT_EXPECT_EQ(test, 2, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 2, pm_frames(KFW_GRANT));
	KUNIT_EXPECT_EQ(test, 40, pm_frames(KFW_WRITE));
	KUNIT_EXPECT_EQ(test, 40ll * 6000, atomic64_read(&pm.placed));
}

#define PG_LONG		(KFW_PLACED_MAX + 1)

/*
 * The region ends while parts of a payload have been sent: RECALLED waits for the WRITE, and
 * nothing lands behind it.
 */
static void closes_between_parts(struct kunit *test)
{
	u8 *to = kvmalloc(PG_LONG, GFP_KERNEL), *from = kvzalloc(PG_LONG, GFP_KERNEL);
	struct kfid_mr *mr;
	int round, err;

	KUNIT_ASSERT_TRUE(test, from && to);
	for (round = 0; round < 20; round++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&pm.w->domain.fid, to, PG_LONG,
						    KFI_REMOTE_WRITE, 0, 300 + round, 0, &mr,
						    NULL));
		if (round & 1) {	/* a lasting grant; otherwise one for the write */
			KUNIT_ASSERT_EQ(test, 0, pg_post(300 + round, 0, PG_LEN) ?: pm_wait_one());
			KUNIT_ASSERT_EQ(test, 0, pg_post(300 + round, 0, PG_LEN) ?: pm_wait_one());
		}
		KUNIT_ASSERT_EQ(test, 0, (int)kfi_write(pm.ep[0], from, PG_LONG, NULL, pm.addr[1],
							0, 300 + round, NULL));
		fsleep(pm_random(20000));
		KUNIT_ASSERT_EQ(test, 0, kfi_close(&mr->fid));
		memset(to, 0x55, PG_LONG);
		err = pm_wait_one();
		KUNIT_EXPECT_TRUE(test, !err || err == -EREMOTEIO || err == -EACCES);
		KUNIT_EXPECT_NULL(test, memchr_inv(to, 0x55, PG_LONG));
	}
	KUNIT_EXPECT_FALSE(test, pm_closed(0) || pm_closed(1));
	KUNIT_EXPECT_TRUE(test, fake_soon(!atomic_read(&pm.refs)));
	kvfree(from);
	kvfree(to);
}

/*
 * Short writes to a link that exposes only long memory soon send no RTW any more; each long one
 * does.
 */
static void short_writes_need_no_rtw(struct kunit *test)
{
	int i;

	pm_proto.params.grants = 0;
	pm.expose_min = PG_LEN;
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN / 2, i));
	KUNIT_EXPECT_EQ(test, KFP_RTW_FAILURES, pm_frames(KFW_RTW));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN, i));
		KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN / 2, i));
	}
	KUNIT_EXPECT_EQ(test, KFP_RTW_FAILURES + 3, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 3ll * PG_LEN, atomic64_read(&pm.placed));
}

/* A write with KFI_COMMIT_COMPLETE does not use the grant of a region without persist(). */
static void commit_sends_rtw(struct kunit *test)
{
	struct kvec near = { pm.area[0], PG_LEN };
	struct kfi_rma_iov rma = { .len = PG_LEN, .key = PG_KEY };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &near, .iov_count = 1, .addr = pm.addr[1],
		.rma_iov = &rma, .rma_iov_count = 1,
	};

	pg_granted(PG_KEY);
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_writemsg(pm.ep[0], &msg, KFI_COMMIT_COMPLETE));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, pm_wait_one());
	KUNIT_EXPECT_EQ(test, 3, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 3ll * PG_LEN, atomic64_read(&pm.placed));
}

/* ---- ends of a region ---- */

/* A region is closed while writes are under way: each of them ends, and none comes later. */
static void close_under_load(struct kunit *test)
{
	int round, i, n, err, good = 0, bad = 0;

	for (round = 0; round < 30; round++) {
		pg_granted(PG_KEY);
		n = 1 + pm_random(16);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_EQ(test, 0, pg_post(PG_KEY, 0, PG_LEN));
		fsleep(pm_random(1500));
		KUNIT_ASSERT_EQ(test, 0, kfi_close(&pg.mr->fid));
		memset(pm.area[1], 0x55, PG_LEN);
		for (i = 0; i < n; i++) {
			err = pm_wait_one();
			KUNIT_EXPECT_TRUE(test, !err || err == -EREMOTEIO || err == -EACCES);
			good += !err;
			bad += !!err;
		}
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1], 0x55, PG_LEN));
		KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &pg.mr));
	}
	KUNIT_EXPECT_EQ(test, pm_frames(KFW_RECALL), pm_frames(KFW_RECALLED));
	KUNIT_EXPECT_GT(test, good, 0);
	KUNIT_EXPECT_GT(test, bad, 0);
	KUNIT_EXPECT_FALSE(test, pm_closed(0) || pm_closed(1));
}

/*
 * The initiator does not know yet that the region ends, and another one has its key: what is
 * written because of the old grant goes to the old region, and fails.
 */
static void key_again(struct kunit *test)
{
	struct kfid_mr *next;
	int writes;

	pg_granted(PG_KEY);
	writes = pm_frames(KFW_WRITE);
	set_bit(0, &pm.deaf);
	pm_close_begin(pg.mr);
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RECALL) == 1));
	KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &next));
	KUNIT_ASSERT_EQ(test, 0, pg_post(PG_KEY, 0, PG_LEN));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_WRITE) > writes));
	clear_bit(0, &pm.deaf);
	KUNIT_EXPECT_EQ(test, -EREMOTEIO, pm_wait_one());
	KUNIT_ASSERT_TRUE(test, pm_close_ends(10000));
	pg.mr = next;
	KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN, 3));
}

static u64 pg_attach(void)
{
	KUNIT_ASSERT_EQ(pm.test, 0, attach(pg.io, pm.area[1], PG_LEN, &pg.job));
	return pg.io->key;
}

static void pg_detach(void)
{
	job_init(&pg.job);
	local_bh_disable();
	KUNIT_EXPECT_EQ(pm.test, 0, kfi_mr_invalidate(pg.io, &pg.job.work));
	local_bh_enable();
	KUNIT_ASSERT_NE(pm.test, 0ul, wait_for_completion_timeout(&pg.job.done, 10 * HZ));
}

/*
 * A region for one I/O has a grant for each write, and an invalidation in softirq ends its writes
 * under way.
 */
static void invalidation_ends(struct kunit *test)
{
	int round, i, n, err;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&pm.w->domain.fid, 1, 0, &pg.io, NULL));
	for (round = 0; round < 20; round++) {
		key = pg_attach();
		for (i = 0; i < 3; i++)
			KUNIT_ASSERT_EQ(test, 0, pg_write(key, 0, PG_LEN, i));
		n = pm_random(8);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_EQ(test, 0, pg_post(key, 0, PG_LEN));
		fsleep(pm_random(500));
		pg_detach();
		memset(pm.area[1], 0x55, PG_LEN);
		for (i = 0; i < n; i++) {
			err = pm_wait_one();
			KUNIT_EXPECT_TRUE(test, !err || err == -EREMOTEIO || err == -EACCES);
		}
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1], 0x55, PG_LEN));
	}
	KUNIT_EXPECT_GE(test, pm_frames(KFW_RTW), 60);
	KUNIT_EXPECT_FALSE(test, pm_closed(0) || pm_closed(1));
}

/* A send that invalidates ends a region for one I/O that was written to several times. */
static void kill_ends(struct kunit *test)
{
	u64 key;
	int i;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&pm.w->domain.fid, 1, 0, &pg.io, NULL));
	key = pg_attach();
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, pg_write(key, 0, PG_LEN, i));
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_kill(kfi_to_ep(pm.ep[1]), key));
	KUNIT_EXPECT_EQ(test, -EACCES, pg_write(key, 0, PG_LEN, 3));
	KUNIT_EXPECT_NE(test, key, pg_attach());
	pg_detach();
}

/* Another endpoint alone may use the region. */
static void binding_recalls(struct kunit *test)
{
	pg_granted(PG_KEY);
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_bind(pg.mr, &pm.ep[0]->fid, 0));
	KUNIT_EXPECT_EQ(test, 1, pm_frames(KFW_RECALLED));
	KUNIT_EXPECT_EQ(test, -EACCES, pg_write(PG_KEY, 0, PG_LEN, 4));
	/* so that the endpoint can be closed */
	KUNIT_ASSERT_EQ(test, 0, kfi_close(&pg.mr->fid));
	KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &pg.mr));
}

/*
 * A peer that does not answer loses its connection after peer_timeout_ms, and the region ends. In
 * places of the peer nothing lands afterwards.
 */
static void silence_ends(struct kunit *test)
{
	unsigned long begin;

	pm_proto.params.peer_timeout_ms = 300;
	pg_granted(PG_KEY);
	set_bit(0, &pm.deaf);
	begin = jiffies;
	KUNIT_ASSERT_EQ(test, 0, kfi_close(&pg.mr->fid));
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + msecs_to_jiffies(290)));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + msecs_to_jiffies(5000)));
	KUNIT_EXPECT_EQ(test, 1, pm_frames(KFW_RECALL));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_RECALLED));
	KUNIT_EXPECT_TRUE(test, pm_closed(1));
	clear_bit(0, &pm.deaf);
	KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &pg.mr));
	pm_cut();
}

/* ---- bounds ---- */

static void pg_many(struct kunit *test, u64 n, int rounds)
{
	u64 key;

	for (; rounds; rounds--)
		for (key = 0; key < n; key++)
			KUNIT_EXPECT_EQ(test, 0, pg_write(200 + key, 0, PG_LEN, key));
}

/* More regions than grants: those in use keep theirs, and one that was not used makes room. */
static void bounds(struct kunit *test)
{
	struct kfid_mr *mr[4];
	int i, rtws;

	pm_proto.params.grants = 3;
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, pm_reg(200 + i, PG_LEN, &mr[i]));
	pg_many(test, 4, 6);
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_RECALL));
	KUNIT_EXPECT_EQ(test, 3 * 2 + 6, pm_frames(KFW_RTW));
	msleep(1100);
	KUNIT_EXPECT_EQ(test, 0, pg_write(203, 0, PG_LEN, 9));	/* an RTW; another grant goes */
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RECALLED) == 1));
	KUNIT_EXPECT_EQ(test, 0, pg_write(203, 0, PG_LEN, 9));	/* an RTW, with a lasting grant */
	rtws = pm_frames(KFW_RTW);
	KUNIT_EXPECT_EQ(test, 0, pg_write(203, 0, PG_LEN, 10));
	KUNIT_EXPECT_EQ(test, rtws, pm_frames(KFW_RTW));
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[i]->fid));
	KUNIT_EXPECT_EQ(test, 4, pm_frames(KFW_RECALLED));
}

#define PG_BIG	500000U

/*
 * Two regions take nearly all bytes of the connection. Of others a part is granted, or none: then
 * one that was not used makes room.
 */
static void bounds_of_connection(struct kunit *test)
{
	struct kfid_mr *mr[5];
	int i, rtws;

	pm_proto.params.grant_mib = 1;
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, 0, pm_reg(200 + i, PG_BIG, &mr[i]));
	pg_many(test, 5, 3);
	rtws = pm_frames(KFW_RTW);
	KUNIT_EXPECT_EQ(test, 0, pg_write(201, PG_LEN, PG_LEN, 7));
	KUNIT_EXPECT_EQ(test, rtws, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 0, pg_write(202, 0, PG_LEN, 7));
	KUNIT_EXPECT_EQ(test, rtws, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 0, pg_write(202, PG_LEN, PG_LEN, 7));
	KUNIT_EXPECT_EQ(test, rtws + 1, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_RECALL));
	msleep(1100);
	KUNIT_EXPECT_EQ(test, 0, pg_write(204, 0, PG_LEN, 8));	/* an RTW; the first grant goes */
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RECALLED) == 1));
	KUNIT_EXPECT_EQ(test, 0, pg_write(204, 0, PG_LEN, 9));
	rtws = pm_frames(KFW_RTW);
	KUNIT_EXPECT_EQ(test, 0, pg_write(204, 0, PG_LEN, 10));
	KUNIT_EXPECT_EQ(test, rtws, pm_frames(KFW_RTW));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[i]->fid));
}

/* ---- a hostile peer ---- */

/**
 * struct pg_nonsense - a frame that no peer sends which follows the protocol
 * @to: end of the wire
 * @type: its type; @flags: its flags; @slot: number of the grant
 * @id: of the grant
 * @at: with a segment: address
 * @len: its length; 0: no segment
 * @places: with places
 */
static const struct pg_nonsense {
	u8	to, type;
	u16	flags;
	u16	slot;
	u64	id, at, len;
	u16	places;
} pg_nonsense[] = {	/* the first grant has ended, and the second one has its number */
	{ 1, KFW_RECALLED, 0, 0, 2 },			/* not recalled */
	{ 1, KFW_RECALLED, 0, 0, 1 },			/* ended */
	{ 1, KFW_RECALLED, 0, 1, 3 },			/* no such grant */
	{ 1, KFW_RECALLED, 0, 0, 3 },			/* no such id */
	{ 1, KFW_RECALLED, 0, 64, 2 },			/* no such number */
	{ 1, KFW_WRITE, KFW_F_PLACED, 1, 2, 0, 5000 },	/* no such grant */
	{ 1, KFW_WRITE, KFW_F_PLACED, 0, 3, 0, 5000 },	/* no such id */
	{ 1, KFW_WRITE, KFW_F_PLACED, 0, 1, 0, 5000 },	/* ended */
	{ 1, KFW_WRITE, KFW_F_PLACED, 0, 2, 1, PG_LEN },	/* behind its end */
	{ 1, KFW_WRITE, KFW_F_PLACED, 0, 2, -1ULL, 5000 },	/* before its beginning */
	{ 1, KFW_WRITE, KFW_F_PLACED, 0, 2, PG_LEN + 1, 0xfffff000 },
	{ 1, KFW_GRANT, 0, 0, 2, 0, PG_LEN, 1 },	/* by the side that writes: unasked */
	{ 1, KFW_RECALL, 0, 0, 2 },			/* the same */
	{ 0, KFW_RECALL, 0, 1, 2 },			/* no such grant */
	{ 0, KFW_RECALL, 0, 0, 3 },			/* no such id */
	{ 0, KFW_GRANT, 0, 1, 3, 0, PG_LEN, 1 },	/* unasked */
	{ 0, KFW_GRANT, 0, 0, 3, 0, PG_LEN, 1 },	/* the number is in use */
	{ 0, KFW_RECALLED, 0, 0, 2 },			/* it has given none */
};

static void pg_nonsense_sent(const struct pg_nonsense *n, u64 key)
{
	struct {
		struct kfw_rma		seg;
		struct kfw_place	place;
	} tail = {
		.seg = { cpu_to_le64(n->at), cpu_to_le64(n->len), cpu_to_le64(key) },
		.place = { .len = cpu_to_le32(n->len) },
	};
	struct kfw_hdr hdr = {
		.type = n->type, .flags = cpu_to_le16(n->flags), .grant = cpu_to_le16(n->slot),
		.grant_id = cpu_to_le64(n->id), .len = cpu_to_le64(n->len),
		.rma_count = cpu_to_le16(!!n->len), .places = n->places,
	};

	pm_inject(n->to, hdr, &tail, (n->len ? sizeof(tail.seg) : 0) +
		  n->places * sizeof(tail.place));
}

/* A GRANT for a write that is under way, but has not asked */
static void pg_unasked(const struct pg_nonsense *n)
{
	int writes = pm_frames(KFW_WRITE);

	set_bit(1, &pm.deaf);
	KUNIT_ASSERT_EQ(pm.test, 0, pg_post(PG_KEY, 0, PG_LEN));
	KUNIT_EXPECT_TRUE(pm.test, fake_soon(pm_frames(KFW_WRITE) > writes));
	pg_nonsense_sent(n, PG_KEY);
	fake_soon(pm_closed(0));
	clear_bit(1, &pm.deaf);
	KUNIT_EXPECT_NE(pm.test, 0, pm_wait_one());
}

/* Each of them ends the connection, without an answer, and nothing else. */
static void invalid_frames_end(struct kunit *test)
{
	const struct pg_nonsense *n;
	int acks;

	pm.prompt = true;	/* the numbers of grants are known */
	for (n = pg_nonsense; n < pg_nonsense + ARRAY_SIZE(pg_nonsense); n++) {
		pg_granted(PG_KEY);
		acks = pm_frames(KFW_ACK);
		if (n->to == 0 && n->type == KFW_GRANT)
			pg_unasked(n);
		else
			pg_nonsense_sent(n, PG_KEY);
		if (!fake_soon(pm_broken()))
			KUNIT_FAIL(test, "invalid frame %td is accepted\n", n - pg_nonsense);
		if (n->to == 1 && pm_frames(KFW_ACK) != acks)
			KUNIT_FAIL(test, "invalid frame %td is answered\n", n - pg_nonsense);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pg.mr->fid));
		KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &pg.mr));
		if (!pm_broken())
			pm_cut();
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	}
}

/**
 * struct pg_answer - what the owner answers to an RTW for 5000 bytes
 * @type: type of the frame
 * @flags: its flags
 * @slot: of a grant
 * @id: of a grant
 * @len: length of the segment; 0: there is none
 * @good: the write goes on without the grant. Otherwise the connection ends
 */
static const struct pg_answer {
	u8	type;
	u16	flags;
	u16	slot;
	u64	id;
	u32	len;
	bool	good;
} pg_answers[] = {
	{ .type = KFW_GRANT, .good = true },
	{ KFW_GRANT, 0, 1, 9, 4999, .good = true },	/* of less memory */
	{ KFW_GRANT, KFW_F_ONCE, 1, 9, 4999 },		/* for this write, and too short */
	{ KFW_GRANT, 0, 0, 9, 5000 },			/* the number is in use */
	{ KFW_GRANT, 0, 1, 2, 5000 },			/* the id is not new */
	{ .type = KFW_CTS },
	{ .type = KFW_ACK },
};

/* A write to another region waits for the answer to its RTW. A second one ends the connection. */
static void wrong_answers(struct kunit *test)
{
	const struct pg_answer *a;
	struct kfid_mr *mr;
	int asked, sent;

	pm.prompt = true;	/* the numbers of grants are known */
	for (a = pg_answers; a < pg_answers + ARRAY_SIZE(pg_answers); a++) {
		struct pg_nonsense n = {
			0, a->type, a->flags, a->slot, a->id, 0, a->len, !!a->len
		};

		pg_granted(PG_KEY);
		KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY + 1, PG_LEN, &mr));
		asked = pm_frames(KFW_RTW);
		sent = pm_frames(KFW_WRITE);
		set_bit(1, &pm.deaf);
		KUNIT_ASSERT_EQ(test, 0, pg_post(PG_KEY + 1, 0, 5000));
		KUNIT_ASSERT_TRUE(test, fake_soon(pm_frames(KFW_RTW) > asked));
		pg_nonsense_sent(&n, PG_KEY + 1);
		if (a->good) {
			KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_WRITE) > sent));
			KUNIT_EXPECT_FALSE(test, pm_closed(0));
			msleep(100);	/* until the link has room for the rest of the payload */
			pg_nonsense_sent(&n, PG_KEY + 1);
		}
		if (!fake_soon(pm_closed(0)))
			KUNIT_FAIL(test, "answer %td is accepted\n", a - pg_answers);
		clear_bit(1, &pm.deaf);
		KUNIT_EXPECT_NE(test, 0, pm_wait_one());
		if (!pm_broken())
			pm_cut();
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pg.mr->fid));
		KUNIT_ASSERT_EQ(test, 0, pm_reg(PG_KEY, PG_LEN, &pg.mr));
	}
}

/* The RECALL of a grant and its only WRITE cross: that is in order, once. */
static void recall_crosses(struct kunit *test)
{
	struct pg_nonsense recall = { 0, KFW_RECALL, 0, 0, 1 };

	KUNIT_ASSERT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN, 1));
	pg_nonsense_sent(&recall, PG_KEY);
	KUNIT_EXPECT_EQ(test, 0, pg_write(PG_KEY, 0, PG_LEN, 2));
	KUNIT_EXPECT_FALSE(test, pm_closed(0));
	pm_cut();
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	KUNIT_ASSERT_TRUE(test, fake_soon(!pg_write(PG_KEY, 0, PG_LEN, 3)));
	pg_nonsense_sent(&recall, PG_KEY);
	pg_nonsense_sent(&recall, PG_KEY);
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
}

static struct kunit_case pg_cases[] = {
	KUNIT_CASE(second_write_granted),
	KUNIT_CASE(closes_between_parts),
	KUNIT_CASE(short_writes_need_no_rtw),
	KUNIT_CASE(commit_sends_rtw),
	KUNIT_CASE(close_under_load),
	KUNIT_CASE(key_again),
	KUNIT_CASE(invalidation_ends),
	KUNIT_CASE(kill_ends),
	KUNIT_CASE(binding_recalls),
	KUNIT_CASE(silence_ends),
	KUNIT_CASE(bounds),
	KUNIT_CASE(bounds_of_connection),
	KUNIT_CASE(invalid_frames_end),
	KUNIT_CASE(wrong_answers),
	KUNIT_CASE(recall_crosses),
	{}
};

static struct kunit_suite pg_suite = {
	.name = "kfi_proto_grant",
	.init = pg_init,
	.exit = pg_exit,
	.test_cases = pg_cases,
};
kunit_test_suite(pg_suite);
