// SPDX-License-Identifier: GPL-2.0
/*
 * Places that devices write, over the message protocol, see pair_world.h. Devices of endpoint 0
 * write to regions of endpoint 1, so endpoint 0 has end 0 of the wire. What a device writes arrives
 * when the link is told to let it arrive, so a protocol without the fence fails each put.
 */
#include <linux/delay.h>
#include "pair_world.h"

#define PP_LEN		12000U
#define PP_KEY		78
#define PP_PLACES	6

/**
 * struct pp_world - a region of endpoint 1, in the first PP_LEN bytes of its area
 * @mr: the region
 * @place: handles of endpoint 0
 * @io: a region for one I/O, of the same memory; @job: begins and ends it
 */
static struct pp_world {
	struct kfid_mr		*mr;
	struct kfid_mr		*io;
	struct job		job;
	struct kfid_place	*place[PP_PLACES];
} pp;

static int pp_reg(void)
{
	return pm_reg(PP_KEY, PP_LEN, &pp.mr);
}

static int pp_init(struct kunit *test)
{
	int ret = pm_init(test), i;

	memset(&pp, 0, sizeof(pp));
	pm.sure = true;
	for (i = 0; !ret && i < PP_PLACES; i++)
		ret = kfi_place_open(&pm.w->domain.fid, PP_LEN / PAGE_SIZE + 2, &pp.place[i], NULL);
	return ret ?: pp_reg();
}

static void pp_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < PP_PLACES; i++) {
		kfi_place_drop(pp.place[i]);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pp.place[i]->fid));
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pp.mr->fid));
	pm_exit(test);
}

static int pp_post_get(int i, u64 key, u64 at, u64 len)
{
	struct kfi_rma_iov rma = { .addr = at, .len = len, .key = key };

	return kfi_place_get(pm.ep[0], pp.place[i], pm.addr[1], &rma, 0, NULL);
}

/* Return: errno of the get. */
static int pp_get(int i, u64 at, u64 len)
{
	return pp_post_get(i, PP_KEY, at, len) ?: pm_wait_one();
}

static int pp_put(int i, size_t len)
{
	return kfi_place_put(pm.ep[0], pp.place[i], len, KFI_COMPLETION, NULL) ?: pm_wait_one();
}

/* Begin to close the region, which waits. */
static void pp_close_begin(void)
{
	pm_close_begin(pp.mr);
	KUNIT_ASSERT_FALSE(pm.test, pm_close_ends(100));
}

/* The region ends now. Register it again. */
static void pp_close_end(void)
{
	KUNIT_ASSERT_TRUE(pm.test, pm_close_ends(10000));
	KUNIT_ASSERT_EQ(pm.test, 0, pp_reg());
}

/* ---- in order ---- */

/* The first get sends an RTW, and each put is one WRITE, behind the bytes of the device. */
static void one_rtw(struct kunit *test)
{
	int i;

	for (i = 1; i <= 30; i++) {
		memset(pm.area[1], 0xee, PP_LEN);
		KUNIT_ASSERT_EQ(test, 0, pp_get(0, 100, 5000));
		KUNIT_EXPECT_EQ(test, (size_t)5000, pp.place[0]->len);
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&pm.pins));
		pm_device_writes(pp.place[0], i, 4000);
		KUNIT_ASSERT_EQ(test, 0, pp_put(0, 4000));
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1] + 100, i, 4000));
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1], 0xee, 100));
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1] + 4100, 0xee, PP_LEN - 4100));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.pins));
	}
	KUNIT_EXPECT_EQ(test, 1, pm_frames(KFW_RTW));
	KUNIT_EXPECT_EQ(test, 1, pm_frames(KFW_GRANT));
	KUNIT_EXPECT_EQ(test, 30, pm_frames(KFW_WRITE));
	KUNIT_EXPECT_EQ(test, 30, atomic_read(&pm.fences));
}

/* What a peer has no right to, and what it gives no grant for */
static void refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EACCES, pp_get(0, 1, PP_LEN));
	KUNIT_EXPECT_EQ(test, -EACCES, pp_post_get(0, PP_KEY + 1, 0, 1) ?: pm_wait_one());
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_GRANT));
	pm_proto.params.grants = 0;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, pp_get(0, 0, PP_LEN));
	pm_proto.params.grants = 8;
	KUNIT_EXPECT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	KUNIT_EXPECT_EQ(test, 0, pp_put(0, PP_LEN));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_RECALL));
}

/* Nothing is sent over a link that has no pages for what the peer would answer. */
static void pageless(struct kunit *test)
{
	pm.pageless = true;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, pp_get(0, 0, PP_LEN));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_RTW));
}

/* ---- ends ---- */

/*
 * A region for one I/O: the put ends the grant, so a message behind it does not find the region in
 * use. A place that is dropped ends the grant, too. An owner that invalidates before the put
 * recalls the grant, and the put ends it.
 */
static void one_io(struct kunit *test)
{
	struct kfi_mr *mr;
	int round;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&pm.w->domain.fid, 1, 0, &pp.io, NULL));
	mr = container_of(pp.io, struct kfi_mr, fid);
	for (round = 1; round <= 9; round++) {
		KUNIT_ASSERT_EQ(test, 0, attach(pp.io, pm.area[1], PP_LEN, &pp.job));
		KUNIT_ASSERT_EQ(test, 0, pp_post_get(0, pp.io->key, 0, PP_LEN) ?: pm_wait_one());
		KUNIT_EXPECT_EQ(test, round, pm_frames(KFW_RTW));
		if (round % 3 == 0) {
			pm_device_writes(pp.place[0], round, PP_LEN);
			KUNIT_EXPECT_EQ(test, 0, pp_put(0, PP_LEN));
			KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1], round, PP_LEN));
			KUNIT_EXPECT_EQ(test, 0, kfi_mr_kill(kfi_to_ep(pm.ep[1]), pp.io->key));
			continue;
		}
		job_init(&pp.job);
		if (round % 3 == 1) {
			KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(pp.place[0]));
			KUNIT_EXPECT_TRUE(test,
					  fake_soon(refcount_read(&mr->uses) == 1));
			KUNIT_EXPECT_EQ(test, 1 + round / 3, pm_frames(KFW_RECALLED));
			KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(pp.io, &pp.job.work));
		} else {
			KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(pp.io, &pp.job.work));
			KUNIT_EXPECT_EQ(test, 0,
					wait_for_completion_timeout(&pp.job.done, HZ / 20));
			KUNIT_EXPECT_EQ(test, 1 + round / 3, pm_frames(KFW_RECALL));
			KUNIT_EXPECT_EQ(test, -EREMOTEIO, pp_put(0, PP_LEN));
		}
		KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&pp.job.done, 10 * HZ));
	}
	KUNIT_EXPECT_EQ(test, 3, pm_frames(KFW_RECALL));
	KUNIT_EXPECT_EQ(test, 3, pm_frames(KFW_RECALLED));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pp.io->fid));
}

/* The region waits for its places; puts fail meanwhile, and the last place ends the wait. */
static void close_waits(struct kunit *test)
{
	int round;

	for (round = 0; round < 6; round++) {
		KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
		KUNIT_ASSERT_EQ(test, 0, pp_get(1, 0, PP_LEN));
		pp_close_begin();
		KUNIT_EXPECT_EQ(test, round + 1, pm_frames(KFW_RECALL));
		KUNIT_EXPECT_EQ(test, round, pm_frames(KFW_RECALLED));
		KUNIT_EXPECT_EQ(test, -EACCES, pp_get(2, 0, PP_LEN));
		pm_device_writes(pp.place[0], round, PP_LEN);
		KUNIT_EXPECT_EQ(test, -EREMOTEIO, pp_put(0, PP_LEN));
		KUNIT_EXPECT_FALSE(test, pm_close_ends(50));
		KUNIT_EXPECT_EQ(test, round, pm_frames(KFW_RECALLED));
		if (round % 3 == 0) {
			KUNIT_EXPECT_EQ(test, 0, pp_put(1, 0));
		} else if (round % 3 == 1) {
			local_bh_disable();
			KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(pp.place[1]));
			local_bh_enable();
		} else {
			KUNIT_EXPECT_EQ(test, -EREMOTEIO, pp_put(1, 1));
		}
		pp_close_end();
		KUNIT_EXPECT_EQ(test, round + 1, pm_frames(KFW_RECALLED));
	}
}

/*
 * The connection ends: a place stays pinned until its consumer ends it, and what is put is not
 * written. The next connection has nothing to do with it.
 */
static void link_ends(struct kunit *test)
{
	int round;

	for (round = 0; round < 8; round++) {
		KUNIT_ASSERT_TRUE(test, fake_soon(!pp_get(0, 0, PP_LEN)));
		KUNIT_ASSERT_EQ(test, 0, pp_get(1, 0, PP_LEN));
		pm_cut();
		KUNIT_ASSERT_TRUE(test, fake_soon(pm_broken()));
		if (round & 1) {
			KUNIT_ASSERT_TRUE(test, fake_soon(!pp_get(2, 0, PP_LEN)));
			KUNIT_EXPECT_EQ(test, 3, atomic_read(&pm.pins));
			KUNIT_EXPECT_EQ(test, 0, pp_put(2, PP_LEN));
		}
		KUNIT_EXPECT_EQ(test, 2, atomic_read(&pm.pins));
		KUNIT_EXPECT_EQ(test, -ECONNRESET, pp_put(0, PP_LEN));
		if (round & 2)
			KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(pp.place[1]));
		else
			KUNIT_EXPECT_EQ(test, 0, pp_put(1, 0));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.pins));
	}
	/* one WRITE for each place of the second connections */
	KUNIT_EXPECT_EQ(test, 4, pm_frames(KFW_WRITE));
}

/*
 * The close of a link may wait for the pins of the other side, so the pins of operations end before
 * it: those of puts that are answered late, and of puts that are not encoded.
 */
static void end_unpins(struct kunit *test)
{
	int i;

	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	KUNIT_ASSERT_EQ(test, 0, pp_get(1, 0, PP_LEN));
	set_bit(1, &pm.deaf);
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_place_put(pm.ep[0], pp.place[0], PP_LEN, KFI_COMPLETION,
						    NULL));
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&pm.pins) == 1));
	for (i = 0; i < 10; i++)	/* more than the link takes */
		KUNIT_ASSERT_EQ(test, 0, (int)kfi_write(pm.ep[0], pm.area[0], 2000, NULL,
							pm.addr[1], PP_LEN, pm.mr[1]->key, NULL));
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_place_put(pm.ep[0], pp.place[1], PP_LEN, KFI_COMPLETION,
						    NULL));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&pm.pins));
	pm_cut();
	clear_bit(1, &pm.deaf);
	KUNIT_ASSERT_TRUE(test, fake_soon(pm_broken()));
	for (i = 0; i < 12; i++)
		pm_wait_one();
	KUNIT_EXPECT_EQ(test, 0, pm.close_pins);
}

static struct pm_wire *pp_wire(void)
{
	struct pm_wire *wire;

	mutex_lock(&pm.lock);
	wire = pm.wire;
	mutex_unlock(&pm.lock);
	return wire;
}

/* A put during the end of its connection fails at once. It does not look for another connection. */
static void end_takes_long(struct kunit *test)
{
	struct pm_wire *wire;

	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	wire = pp_wire();
	WRITE_ONCE(pm.slow, true);
	pm_cut();
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&pm.closing) == 2));
	KUNIT_EXPECT_EQ(test, -ECONNRESET, pp_put(0, PP_LEN));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.pins));
	KUNIT_EXPECT_PTR_EQ(test, wire, pp_wire());
	WRITE_ONCE(pm.slow, false);
}

/*
 * The fence fails: it is not known what lands, so the connection ends, and the put with it. A
 * message behind the put would say that the bytes are there, so it is not sent.
 */
static void fence_fails(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	pm.fence_err = -EIO;
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_place_put(pm.ep[0], pp.place[0], PP_LEN,
						    KFI_COMPLETION | KFI_MORE, NULL));
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_send(pm.ep[0], pm.area[0], 100, NULL, pm.addr[1], NULL));
	KUNIT_EXPECT_EQ(test, -EIO, pm_wait_one());
	KUNIT_EXPECT_EQ(test, -EIO, pm_wait_one());
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_WRITE));
	KUNIT_EXPECT_EQ(test, 0, pm_frames(KFW_MSG));
	pm.fence_err = 0;
	KUNIT_ASSERT_TRUE(test, fake_soon(!pp_get(0, 0, PP_LEN)));
	pm.fence_err = -EIO;
	KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(pp.place[0]));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	pm.fence_err = 0;
}

/* The same while the connection is busy with other things: they are not what the peer waits for. */
static void late_and_busy(struct kunit *test)
{
	unsigned long begin = jiffies;
	int ret = 0;

	pm_proto.params.peer_timeout_ms = 300;
	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	pp_close_begin();
	while (!ret && !pm_closed(0) && time_before(jiffies, begin + 8 * HZ)) {
		ret = kfi_write(pm.ep[0], pm.area[0], PP_LEN, NULL, pm.addr[1], PP_LEN,
				pm.mr[1]->key, NULL);
		KUNIT_ASSERT_EQ(test, 0, ret);
		ret = pm_wait_one();
	}
	KUNIT_EXPECT_LT(test, jiffies - begin, 7ul * HZ);
	pp_close_end();
	KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(pp.place[0]));
}

/* A grant that is recalled and waits for a device does not stop others from making room. */
static void room(struct kunit *test)
{
	struct kfid_mr *mr[2];
	int i;

	pm_proto.params.grants = 2;
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, pm_reg(PP_KEY + 1 + i, PP_LEN, &mr[i]));
	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));		/* and keep it */
	msleep(20);
	KUNIT_ASSERT_EQ(test, 0, pp_post_get(1, PP_KEY + 1, 0, 1) ?: pm_wait_one());
	KUNIT_EXPECT_EQ(test, 0, pp_put(1, 0));
	for (i = 0; i < 3; i++) {
		msleep(1200);
		if (!(pp_post_get(1, PP_KEY + 2, 0, 1) ?: pm_wait_one()))
			break;
	}
	if (i == 3)
		KUNIT_FAIL(test, "a place that is out stops all\n");
	else
		KUNIT_EXPECT_EQ(test, 0, pp_put(1, 0));
	KUNIT_EXPECT_EQ(test, 2, pm_frames(KFW_RECALL));
	KUNIT_EXPECT_EQ(test, 0, pp_put(0, 1));
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[i]->fid));
}

/* Places of both ways to end, and the link in between: each pin ends, and each operation once. */
static void any_order(struct kunit *test)
{
	int round, i, outstanding = 0, good = 0;

	/* All operations fail while a connection ends, and 300 rounds may pass in that time. */
	for (round = 0; round < 300 || (round < 30000 && (good <= 10 || !pm_frames(KFW_WRITE)));
	     round++) {
		i = pm_random(PP_PLACES);
		switch (pm_random(8)) {
		case 0:
			kfi_place_drop(pp.place[i]);
			break;
		case 1 ... 3:
			outstanding += !kfi_place_put(pm.ep[0], pp.place[i], pm_random(4),
						      KFI_COMPLETION, NULL);
			break;
		default:
			outstanding += !pp_post_get(i, PP_KEY, 0, 1 + pm_random(PP_LEN));
		}
		if (outstanding > 8 || !pm_random(4))
			for (; outstanding; outstanding--)
				good += !pm_wait_one();
		if (!pm_random(20) && pm.wire)
			pm_cut();
	}
	for (; outstanding; outstanding--)
		good += !pm_wait_one();
	KUNIT_EXPECT_GT(test, good, 10);
	KUNIT_EXPECT_GT(test, pm_frames(KFW_WRITE), 0);
}

/* ---- peers that break the protocol ---- */

/**
 * struct pp_answer - what the owner answers to the RTW of a get
 * @type: type of the frame
 * @flags: its flags
 * @key: GRANT: key of the segment; @at, @len: its range
 * @err: errno of the get if the connection goes on; 0: it ends
 */
static const struct pp_answer {
	u8	type;
	u16	flags;
	u64	key, at, len;
	int	err;
} pp_answers[] = {
	{ .type = KFW_GRANT, .err = -EOPNOTSUPP },	/* none */
	{ KFW_GRANT, 0, PP_KEY, PP_LEN, 1, -EOPNOTSUPP },	/* of other memory */
	{ KFW_GRANT, 0, PP_KEY, 0, 10, -EOPNOTSUPP },	/* of less memory */
	{ KFW_GRANT, 0, PP_KEY, 0, PP_LEN, 0 },		/* places that are none */
	{ KFW_GRANT, KFW_F_ONCE, PP_KEY, 0, PP_LEN, 0 },	/* the same for one write */
	{ KFW_GRANT, 0, PP_KEY + 1, 0, PP_LEN, 0 },	/* of another region */
	{ .type = KFW_ACK },
	{ .type = KFW_CTS },
	{ .type = KFW_READ_DATA },
	{ .type = KFW_RECALL },
};

static void pp_answer(const struct pp_answer *a)
{
	struct {
		struct kfw_rma		seg;
		struct kfw_place	place;
	} tail = {
		.seg = { cpu_to_le64(a->at), cpu_to_le64(a->len), cpu_to_le64(a->key) },
		.place = { .len = cpu_to_le32(a->len) },
	};
	struct kfw_hdr hdr = {
		.type = a->type, .flags = cpu_to_le16(a->flags), .len = cpu_to_le64(a->len),
		.rma_count = cpu_to_le16(!!a->len), .places = !!a->len,
		.grant_id = cpu_to_le64(a->len ? 2 : 0),
	};

	pm_inject(0, hdr, &tail, a->len ? sizeof(tail) : 0);
}

static void wrong_answers(struct kunit *test)
{
	const struct pp_answer *a;
	int asked, ret;

	for (a = pp_answers; a < pp_answers + ARRAY_SIZE(pp_answers); a++) {
		KUNIT_ASSERT_TRUE(test, fake_soon(!pp_get(1, 0, 1)));
		KUNIT_ASSERT_EQ(test, 0, pp_put(1, 0));
		KUNIT_ASSERT_EQ(test, 0, kfi_close(&pp.mr->fid));	/* and its grant */
		KUNIT_ASSERT_EQ(test, 0, pp_reg());
		set_bit(1, &pm.deaf);
		asked = pm_frames(KFW_RTW);
		KUNIT_ASSERT_EQ(test, 0, pp_post_get(0, PP_KEY, 0, PP_LEN));
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RTW) > asked));
		pp_answer(a);
		ret = pm_wait_one();
		if (a->err && ret != a->err)
			KUNIT_FAIL(test, "answer %td: %d\n", a - pp_answers, ret);
		if (!a->err && (!ret || !fake_soon(pm_closed(0))))
			KUNIT_FAIL(test, "answer %td is accepted\n", a - pp_answers);
		KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_place_drop(pp.place[0]));
		clear_bit(1, &pm.deaf);
		if (!pm_broken())
			pm_cut();
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	}
}

/* Has the initiator no grant for the region? */
static bool pp_without_grant(void)
{
	int ret = pp_get(1, 0, PP_LEN);

	if (!ret)
		kfi_place_drop(pp.place[1]);
	return ret == -EOPNOTSUPP;
}

/* A grant is recalled once, also if it has places. */
static void recalled_twice(struct kunit *test)
{
	struct kfw_hdr recall = { .type = KFW_RECALL, .grant_id = cpu_to_le64(1) };

	KUNIT_ASSERT_EQ(test, 0, pp_get(0, 0, PP_LEN));
	pm_inject(0, recall, NULL, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(pp_without_grant()));
	KUNIT_EXPECT_FALSE(test, pm_closed(0));
	pm_inject(0, recall, NULL, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_broken()));
	KUNIT_EXPECT_EQ(test, -ECONNRESET, pp_put(0, PP_LEN));
}

KFI_SUITE_IN(kfi_proto_place, pp_init, pp_exit,
	KUNIT_CASE(one_rtw),
	KUNIT_CASE(refused),
	KUNIT_CASE(pageless),
	KUNIT_CASE(one_io),
	KUNIT_CASE(close_waits),
	KUNIT_CASE(link_ends),
	KUNIT_CASE(end_unpins),
	KUNIT_CASE(end_takes_long),
	KUNIT_CASE(fence_fails),
	KUNIT_CASE(late_and_busy),
	KUNIT_CASE(room),
	KUNIT_CASE(any_order),
	KUNIT_CASE(wrong_answers),
	KUNIT_CASE(recalled_twice));
