// SPDX-License-Identifier: GPL-2.0
/*
 * The message protocol between two endpoints whose links have places for payload, see pair_world.h.
 */
#include <linux/delay.h>
#include "pair_world.h"

/**
 * struct pm_slot - an operation from one endpoint to the other, and its two pieces of memory
 * @kind: &enum pm_kind
 * @from: the endpoint that posts it
 * @pending: completions to come: PM_TX, PM_RX
 * @blind: the data is not looked at
 * @err: of the transmit
 */
struct pm_slot {
	u8	kind, from, pending, seed;
	bool	blind;
	u32	len;
	int	err;
	u64	tag;
	char	ctx[2];
};

enum pm_kind { PM_MSG, PM_WRITE, PM_READ, PM_TWRITE, PM_TREAD, PM_KINDS };
#define PM_SEGS	8
#define PM_TX	1
#define PM_RX	2

static struct pm_slot pm_slots[PM_SLOTS];

/* ---- operations ---- */

static u8 *pm_memory(const struct pm_slot *s, bool far)
{
	return pm.area[s->from ^ far] + (s - pm_slots) * PM_MAX;
}

static bool pm_pulls(const struct pm_slot *s)
{
	return s->kind == PM_READ || s->kind == PM_TREAD;
}

static bool pm_has_receive(const struct pm_slot *s)
{
	return s->kind == PM_MSG || s->kind == PM_TWRITE || s->kind == PM_TREAD;
}

/* Each byte tells where it belongs. */
static u8 pm_byte(const struct pm_slot *s, u32 at)
{
	return s->seed + at % 251;
}

static bool pm_arrived(const struct pm_slot *s, const u8 *to)
{
	u32 i;

	for (i = 0; i < s->len && to[i] == pm_byte(s, i); i++)
		;
	return i == s->len;
}

/* The far memory of RMA, in some segments. Return: their number */
static unsigned int pm_segments(const struct pm_slot *s, struct kfi_rma_iov *rma)
{
	unsigned int i, n = pm_random(2) ? 1 : min(1 + pm_random(PM_SEGS), s->len);
	u32 at = 0;

	for (i = 0; i < n; i++, at += rma[i - 1].len)
		rma[i] = (struct kfi_rma_iov) {
			.addr = (s - pm_slots) * PM_MAX + at, .key = pm.mr[!s->from]->key,
			.len = i + 1 < n ? s->len / n : s->len - at,
		};
	return n;
}

/* Post the operation of a slot, and the receive that it needs. */
static void pm_slot_post(struct pm_slot *s)
{
	struct kvec near = { pm_memory(s, false), s->len };
	struct kfi_rma_iov rma[PM_SEGS];
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &near, .iov_count = 1, .addr = pm.addr[!s->from],
		.rma_iov = rma, .rma_iov_count = pm_segments(s, rma), .context = &s->ctx[0],
	};
	u64 tagged = pm_has_receive(s) ? KFI_TAGGED : 0;
	u8 *from = pm_memory(s, pm_pulls(s));
	ssize_t ret;
	u32 i;

	for (i = 0; i < s->len; i++)
		from[i] = pm_byte(s, i);
	memset(pm_memory(s, !pm_pulls(s)), ~s->seed, s->len);
	s->pending = PM_TX;
	if (tagged) {
		msg.rma_iov_count = 1;
		rma[0] = (struct kfi_rma_iov) { .len = s->len, .key = s->tag };
		s->pending |= PM_RX;
		KUNIT_ASSERT_EQ(pm.test, 0,
				(int)kfi_trecv(pm.ep[!s->from], pm_memory(s, true), s->len, NULL,
					       KFI_ADDR_UNSPEC, s->tag, 0, &s->ctx[1]));
	}
	if (s->kind == PM_MSG)
		ret = kfi_tsend(pm.ep[s->from], near.iov_base, s->len, NULL, msg.addr, s->tag,
				&s->ctx[0]);
	else if (pm_pulls(s))
		ret = kfi_readmsg(pm.ep[s->from], &msg, KFI_OPFLAGS_DEFAULT | tagged);
	else
		ret = kfi_writemsg(pm.ep[s->from], &msg, KFI_OPFLAGS_DEFAULT | tagged);
	KUNIT_ASSERT_EQ(pm.test, 0, (int)ret);
}

/*
 * Post an operation of any kind for each slot; or, if @target is a region, only writes and reads of
 * that region. The link of the target may still read a region from which a read has ended.
 */
static void pm_batch_post(int target)
{
	static u64 tag;
	struct pm_slot *s;

	KUNIT_EXPECT_TRUE(pm.test, fake_soon(!atomic_read(&pm.refs)));
	for (s = pm_slots; s < pm_slots + PM_SLOTS; s++) {
		*s = (struct pm_slot) {
			.kind = pm_random(PM_KINDS), .from = pm_random(2), .seed = pm_random(256),
			.len = 1 + pm_random(pm_random(3) ? PM_MAX : 600), .tag = ++tag,
		};
		if (target >= 0) {
			s->kind = pm_random(2) ? PM_WRITE : PM_READ;
			s->from = !target;
			s->blind = s->kind == PM_WRITE;
		}
		pm_slot_post(s);
	}
}

/* Check the data when its receiver gets the completion, and overwrite memory that was returned. */
static void pm_slot_ended(struct pm_slot *s, u8 what, int err)
{
	bool data = what == (s->kind == PM_MSG || s->kind == PM_TWRITE ? PM_RX : PM_TX);
	u8 *to = pm_memory(s, !pm_pulls(s));

	KUNIT_EXPECT_TRUE(pm.test, s->pending & what);
	s->pending &= ~what;
	if (what == PM_TX)
		s->err = err;
	if (data && !err && !s->blind)
		KUNIT_EXPECT_TRUE(pm.test, pm_arrived(s, to));
	if (pm_has_receive(s))
		memset(pm_memory(s, what == PM_RX), 0xee, s->len);
	else
		memset(pm_memory(s, false), 0xee, s->len);
}

static bool pm_reap(int i)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_tagged_entry e;
	struct pm_slot *s;
	char *ctx;
	ssize_t ret = kfi_cq_read(pm.cq[i], &e, 1);

	if (ret == -KFI_EAVAIL)
		ret = kfi_cq_readerr(pm.cq[i], &err, 0);
	if (ret != 1)
		return false;
	ctx = err.err ? err.op_context : e.op_context;
	s = &pm_slots[(ctx - (char *)pm_slots) / sizeof(*s)];
	pm_slot_ended(s, ctx == &s->ctx[0] ? PM_TX : PM_RX, -err.err);
	return true;
}

/* Wait until nothing is pending except @but. */
static bool pm_settled(u8 but)
{
	unsigned int i;

	while (pm_reap(0) || pm_reap(1))
		;
	for (i = 0; i < PM_SLOTS; i++)
		if (pm_slots[i].pending & ~but)
			return false;
	return true;
}

static void pm_wait(u8 but)
{
	unsigned long end = jiffies + 20 * HZ;
	const struct pm_slot *s;
	bool ok;

	while (!(ok = pm_settled(but)) && time_before(jiffies, end))
		usleep_range(100, 200);
	for (s = pm_slots; !ok && s < pm_slots + PM_SLOTS; s++)
		if (s->pending)
			kunit_info(pm.test, "slot %td: kind %u from %u len %u waits for %u\n",
				   s - pm_slots, s->kind, s->from, s->len, s->pending);
	KUNIT_ASSERT_TRUE(pm.test, ok);
}

/* ---- the tests ---- */

/* All kinds of operation in both directions at once. */
static void all_kinds(struct kunit *test)
{
	int round, i;

	for (round = 0; round < 40; round++) {
		pm_batch_post(-1);
		pm_wait(0);
		for (i = 0; i < PM_SLOTS; i++)
			KUNIT_EXPECT_EQ(test, 0, pm_slots[i].err);
	}
	KUNIT_EXPECT_GT(test, atomic64_read(&pm.placed), 0ll);
	KUNIT_EXPECT_GT(test, atomic_read(&pm.lates), 0);
}

/* Return the length of a payload: one part or two, or one byte more than a part, or any length. */
static u32 pm_length(int i, u32 part)
{
	const u32 lens[] = { part, part + 1, 2 * part, 1 + pm_random(2 * part) };

	return lens[i % ARRAY_SIZE(lens)];
}

/*
 * The payload comes in as few parts as it may, in places or in frames, and the memory of RMA is in
 * several segments. Each byte arrives where it belongs.
 */
static void long_payload(struct kunit *test)
{
	struct pm_slot *s = &pm_slots[0];
	int round, parts;
	u32 part;

	memset(pm_slots, 0, sizeof(pm_slots));
	pm_proto.params.grants = 0;
	for (round = 0; round < 8 * PM_KINDS; round++) {
		pm.sure = round / PM_KINDS & 1;
		pm.expose_min = pm.sure ? 0 : U64_MAX;
		part = pm.sure ? KFW_PLACED_MAX : KFW_FRAME_MAX;
		KUNIT_ASSERT_TRUE(test, fake_soon(!atomic_read(&pm.refs)));
		*s = (struct pm_slot) {
			.kind = round % PM_KINDS, .seed = round, .tag = round + 1,
			.len = pm_length(round / (2 * PM_KINDS), part),
		};
		parts = pm_frames(KFW_DATA) + pm_frames(KFW_READ_DATA);
		pm_slot_post(s);
		pm_wait(0);
		KUNIT_EXPECT_EQ(test, 0, s->err);
		parts = pm_frames(KFW_DATA) + pm_frames(KFW_READ_DATA) - parts;
		if (pm_has_receive(s) && s->len > pm_proto.params.eager_size)
			KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(s->len, part), parts);
	}
	KUNIT_EXPECT_GT(test, atomic64_read(&pm.placed), 0ll);
}

/* Short and long writes to the same memory: those that go to places do not overtake others. */
static void writes_in_order(struct kunit *test)
{
	int round, i;

	for (round = 0; round < 60; round++) {
		memset(pm_slots, 0, sizeof(pm_slots));
		for (i = 0; i < 8; i++) {
			struct pm_slot *s = &pm_slots[i];
			ssize_t ret;

			s->kind = PM_WRITE;
			s->pending = PM_TX;
			s->len = i == 7 || pm_random(2) ? PM_MAX : 100;
			memset(pm_memory(s, false), i, s->len);
			ret = kfi_write(pm.ep[0], pm_memory(s, false), s->len, NULL, pm.addr[1],
					(PM_SLOTS - 1) * PM_MAX, pm.mr[1]->key, &s->ctx[0]);
			KUNIT_ASSERT_EQ(test, 0, (int)ret);
		}
		for (i = 0; i < 8; i++)
			pm_slots[i].len = 0;	/* pm_slot_ended() does not check the data */
		pm_wait(0);
		KUNIT_EXPECT_NULL(test,
				  memchr_inv(pm.area[1] + (PM_SLOTS - 1) * PM_MAX, 7, PM_MAX));
	}
}

/* When a region has ended its memory belongs to the owner again, whatever the peer does. */
static void region_ends(struct kunit *test)
{
	int round, i;

	for (round = 0; round < 40; round++) {
		i = pm_random(2);
		pm_batch_post(i);
		fsleep(pm_random(3000));
		KUNIT_ASSERT_EQ(test, 0, kfi_close(&pm.mr[i]->fid));
		memset(pm.area[i], 0x77, PM_AREA);
		KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&pm.w->domain.fid, pm.area[i], PM_AREA,
						    KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0,
						    100 + round, 0, &pm.mr[i], NULL));
		pm_wait(0);
		KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[i], 0x77, PM_AREA));
	}
}

static void pm_register(struct kunit *test, u64 key)
{
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&pm.w->domain.fid, pm.area[1], PM_AREA,
					    KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, key, 0,
					    &pm.mr[1], NULL));
}

static int pm_read_all(void)
{
	return kfi_read(pm.ep[0], pm.area[0], PM_MAX, NULL, pm.addr[1], 0, pm.mr[1]->key, NULL);
}

/* The end of a region does not wait until the link has room for data that was read from it. */
static void region_ends_unsent(struct kunit *test)
{
	int round, err, reads = 0;

	pm_proto.params.peer_timeout_ms = 300;
	KUNIT_ASSERT_EQ(test, 0, pm_read_all() ?: pm_wait_one());
	for (round = 0; round < 12; round++) {
		reads = pm_frames(KFW_READ);
		set_bit(1, &pm.clogged);
		KUNIT_ASSERT_EQ(test, 0, pm_read_all());
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_READ) > reads));
		msleep(20);
		pm_close_begin(pm.mr[1]);
		KUNIT_EXPECT_TRUE(test, pm_close_ends(5000));
		memset(pm.area[1], 0x77, PM_AREA);
		clear_bit(1, &pm.clogged);
		err = pm_wait_one();
		KUNIT_EXPECT_TRUE(test, err == -EREMOTEIO || err == -EACCES);
		KUNIT_EXPECT_NULL(test, memchr(pm.area[0], 0x77, PM_MAX));
		memset(pm.area[1], 0, PM_AREA);
		pm_register(test, 100 + round);
	}
}

static atomic_long_t pm_paid;
static unsigned int pm_max_mib;

static int pm_gather(const struct kfi_rma_iov *rma)
{
	struct kvec vec = { pm.area[0], KFW_RMA_MAX };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = pm.addr[1],
		.rma_iov = rma, .rma_iov_count = KFW_RMA_MAX,
	};

	return kfi_readmsg(pm.ep[0], &msg, KFI_COMPLETION);
}

/*
 * The account of the target is full. The segments of reads were paid for when the connection began,
 * and a read for which there is no room waits for the answers to earlier ones.
 */
static void reads_paid(struct kunit *test)
{
	const unsigned int fit = KFW_READ_SEGS / KFW_RMA_MAX;
	struct kfi_rma_iov *rma = kfi_test_zalloc(test, KFW_RMA_MAX * sizeof(*rma));
	static struct kfi_account account = { .bytes = &pm_paid, .max_mib = &pm_max_mib };
	unsigned int i;

	for (i = 0; i < KFW_RMA_MAX; i++)
		rma[i] = (struct kfi_rma_iov) { .addr = i, .len = 1, .key = pm.mr[1]->key };
	pm_max_mib = 64;
	pm.w->domain.account = &account;
	KUNIT_ASSERT_EQ(test, 0, pm_read_all() ?: pm_wait_one());
	WRITE_ONCE(pm_max_mib, 0);
	set_bit(1, &pm.clogged);
	for (i = 0; i < fit + 3; i++)
		KUNIT_ASSERT_EQ(test, 0, pm_gather(rma));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_READ) == 1 + fit));
	clear_bit(1, &pm.clogged);
	for (i = 0; i < fit + 3; i++)
		KUNIT_EXPECT_EQ(test, 0, pm_wait_one());
}

static int pm_receive_and_send(void)
{
	return kfi_recv(pm.ep[1], pm.area[1], 64, NULL, KFI_ADDR_UNSPEC, NULL) ?:
	       kfi_send(pm.ep[0], pm.area[0], 64, NULL, pm.addr[1], NULL);
}

/*
 * The owner of a region closes it and does not read its completion queue meanwhile. The queue is
 * full, so this side does not read the end of a write to the region: it is behind the end of
 * another one, whose data needs an entry.
 */
static void region_ends_blocked(struct kunit *test)
{
	int i;

	pm_proto.params.peer_timeout_ms = 300;
	pm_proto.params.grants = 0;
	pm.sure = true;
	for (i = 0; i < PM_CQ; i++)
		KUNIT_ASSERT_EQ(test, 0, pm_receive_and_send() ?: pm_wait_one());
	KUNIT_ASSERT_EQ(test, 0, kfi_writedata(pm.ep[0], pm.area[0], PM_MAX, NULL, 1, pm.addr[1], 0,
					       pm.mr[1]->key, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_write(pm.ep[0], pm.area[0], PM_MAX, NULL, pm.addr[1], PM_MAX,
					   pm.mr[1]->key, NULL));
	msleep(800);
	KUNIT_EXPECT_FALSE(test, pm_closed(1));
	pm_close_begin(pm.mr[1]);
	KUNIT_EXPECT_TRUE(test, pm_close_ends(5000));
	KUNIT_EXPECT_TRUE(test, pm_closed(1));
	KUNIT_EXPECT_LT(test, pm_wait_one(), 0);
	KUNIT_EXPECT_LT(test, pm_wait_one(), 0);
	pm_register(test, 100);
}

/* ---- replies ---- */

#define PM_REPLIES	12

static int pm_reply(u32 i, u32 len, u64 key, u64 flags)
{
	struct kvec vec = { pm.area[0] + i * PM_MAX, len };
	struct kfi_rma_iov rma = { .addr = i * PM_MAX, .len = len, .key = key };
	struct kfi_msg_rma data = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = pm.addr[1],
		.rma_iov = &rma, .rma_iov_count = 1,
	};
	ssize_t ret;

	memset(vec.iov_base, i + 1, len);
	memset(pm.area[1] + rma.addr, 0, len);
	rcu_read_lock_bh();
	ret = __kfi_replymsg(pm.ep[0], &data, &i, sizeof(i), KFI_COMPLETION | flags);
	rcu_read_unlock_bh();
	return ret;
}

/* Wait for a message of endpoint 1. Return: false if none has come within @ms. */
static bool pm_answer(unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	struct kfi_cq_tagged_entry e;

	while (kfi_cq_read(pm.cq[1], &e, 1) != 1) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	KUNIT_EXPECT_EQ(pm.test, (u64)(KFI_MSG | KFI_RECV), e.flags);
	KUNIT_EXPECT_EQ(pm.test, sizeof(u32), e.len);
	return true;
}

/*
 * Each message arrives after its data, and in the order of the posts, whether it finds a receive or
 * waits for one. The link reports what it has read, so an ACK is sent only if one is requested.
 */
static void replies(struct kunit *test)
{
	u32 *got = kfi_test_zalloc(test, PM_REPLIES * sizeof(*got)), len[PM_REPLIES];
	int round, i, acks;

	for (round = 0; round < 40; round++) {
		u64 level = round & 1 ? KFI_TRANSMIT_COMPLETE : KFI_INJECT_COMPLETE;

		acks = pm_frames(KFW_ACK);
		for (i = 0; i < PM_REPLIES; i++) {
			len[i] = 1 + pm_random(pm_random(2) ? 100 : 4096);
			if (round & 2)
				KUNIT_ASSERT_EQ(test, 0, (int)kfi_recv(pm.ep[1], &got[i], 4, NULL,
								       KFI_ADDR_UNSPEC, NULL));
			KUNIT_ASSERT_EQ(test, 0, pm_reply(i, len[i], pm.mr[1]->key, level));
		}
		for (i = 0; i < PM_REPLIES; i++) {
			if (!(round & 2))
				KUNIT_ASSERT_EQ(test, 0, (int)kfi_recv(pm.ep[1], &got[i], 4, NULL,
								       KFI_ADDR_UNSPEC, NULL));
			KUNIT_ASSERT_TRUE(test, pm_answer(20000));
			KUNIT_EXPECT_EQ(test, (u32)i, got[i]);
			KUNIT_EXPECT_NULL(test, memchr_inv(pm.area[1] + i * PM_MAX, i + 1, len[i]));
		}
		for (i = 0; i < PM_REPLIES; i++)
			KUNIT_EXPECT_EQ(test, 0, pm_wait_one());
		KUNIT_EXPECT_EQ(test, round & 1 ? PM_REPLIES : 0, pm_frames(KFW_ACK) - acks);
	}
	/* What is better sent to places is not one operation. */
	KUNIT_EXPECT_EQ(test, -EMSGSIZE, pm_reply(0, 4097, pm.mr[1]->key, 0));
}

/*
 * The message of a reply whose data has no region does not arrive. The operation fails; or, if it
 * has ended when the failure becomes known, the connection does.
 */
static void reply_refused(struct kunit *test)
{
	static u32 got;
	int ret;

	KUNIT_ASSERT_EQ(test, 0, (int)kfi_recv(pm.ep[1], &got, 4, NULL, KFI_ADDR_UNSPEC, NULL));
	KUNIT_ASSERT_EQ(test, 0, pm_reply(0, 3000, 77, KFI_TRANSMIT_COMPLETE));
	KUNIT_EXPECT_EQ(test, -EACCES, pm_wait_one());
	KUNIT_EXPECT_FALSE(test, pm_answer(50));
	KUNIT_EXPECT_FALSE(test, pm_broken());
	KUNIT_ASSERT_EQ(test, 0, pm_reply(0, 3000, 77, KFI_INJECT_COMPLETE));
	/* It fails, or if it has completed before that is known, its connection does. */
	ret = pm_wait_one();
	KUNIT_EXPECT_TRUE(test, ret == -EACCES || (!ret && fake_soon(pm_broken())));
	KUNIT_EXPECT_FALSE(test, pm_answer(50));
	KUNIT_ASSERT_EQ(test, 0, pm_reply(0, 3000, pm.mr[1]->key, KFI_TRANSMIT_COMPLETE));
	KUNIT_EXPECT_EQ(test, 0, pm_wait_one());
	KUNIT_EXPECT_TRUE(test, pm_answer(20000));
}

/*
 * Cancel the receives that are left. A receive of a message that the end of the link interrupts
 * can't be canceled, and then it is posted again.
 */
static bool pm_canceled(void)
{
	struct pm_slot *s;

	for (s = pm_slots; s < pm_slots + PM_SLOTS; s++)
		if (s->pending)
			kfi_cancel(&pm.ep[!s->from]->fid, &s->ctx[1]);
	return pm_settled(0);
}

/*
 * A peer does not take what it reads from a receive: the receive is returned, and not canceled.
 */
static void tread_ends_unsent(struct kunit *test)
{
	memset(pm_slots, 0, sizeof(pm_slots));
	pm_proto.params.peer_timeout_ms = 300;
	KUNIT_ASSERT_EQ(test, 0, pm_read_all() ?: pm_wait_one());
	/* The receive below covers the memory whose data the link may still refer to. */
	KUNIT_ASSERT_TRUE(test, fake_soon(!atomic_read(&pm.refs)));
	set_bit(1, &pm.clogged);
	pm_slots[0] = (struct pm_slot) { .kind = PM_TREAD, .seed = 5, .len = PM_MAX, .tag = 77 };
	pm_slot_post(&pm_slots[0]);
	msleep(50);
	KUNIT_EXPECT_EQ(test, -ENOENT, (int)kfi_cancel(&pm.ep[1]->fid, &pm_slots[0].ctx[1]));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_settled(PM_RX)));
	KUNIT_EXPECT_LT(test, pm_slots[0].err, 0);
	KUNIT_EXPECT_TRUE(test, pm_closed(1));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_canceled()));
	clear_bit(1, &pm.clogged);
}

/* The link ends at a random moment. Each operation ends once, and all memory is returned. */
static void link_ends(struct kunit *test)
{
	int round;

	for (round = 0; round < 60; round++) {
		pm_batch_post(-1);
		fsleep(pm_random(4000));
		pm_cut();
		pm_wait(PM_RX);
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_canceled()));
	}
}

/* The same between parts of a long payload. */
static void link_ends_in_parts(struct kunit *test)
{
	struct pm_slot *s = &pm_slots[0];
	int round;

	memset(pm_slots, 0, sizeof(pm_slots));
	for (round = 0; round < 40; round++) {
		KUNIT_EXPECT_TRUE(test, fake_soon(!atomic_read(&pm.refs)));
		pm.expose_min = round & 1 ? U64_MAX : 0;
		*s = (struct pm_slot) {
			.kind = round % PM_KINDS, .from = pm_random(2), .seed = round, .tag = round + 1,
			.len = PM_AREA,
		};
		pm_slot_post(s);
		fsleep(pm_random(20000));
		pm_cut();
		pm_wait(PM_RX);
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_canceled()));
	}
}

/*
 * A peer does not use its grant. The link is closed, and something still reads its payload. The
 * connection takes no receive, and has returned the one that it had granted.
 */
static void link_ends_unreleased(struct kunit *test)
{
	static char taken, waits;

	pm_proto.params.peer_timeout_ms = 300;
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_tsend(pm.ep[0], pm.area[0], PM_MAX, NULL, pm.addr[1], 2,
						NULL));
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_tsend(pm.ep[0], pm.area[0], PM_MAX, NULL, pm.addr[1], 1,
						NULL));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RTS) == 2));
	set_bit(0, &pm.clogged);
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_trecv(pm.ep[1], pm.area[1], PM_MAX, NULL,
						KFI_ADDR_UNSPEC, 1, 0, &taken));
	KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_CTS)));
	WRITE_ONCE(pm.unreleased, true);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&pm.waits)));
	KUNIT_ASSERT_EQ(test, 0, (int)kfi_trecv(pm.ep[1], pm.area[1] + PM_MAX, PM_MAX, NULL,
						KFI_ADDR_UNSPEC, 2, 0, &waits));
	KUNIT_EXPECT_EQ(test, 0, (int)kfi_cancel(&pm.ep[1]->fid, &waits));
	KUNIT_EXPECT_EQ(test, 0, (int)kfi_cancel(&pm.ep[1]->fid, &taken));
	WRITE_ONCE(pm.unreleased, false);
	clear_bit(0, &pm.clogged);
	KUNIT_EXPECT_LT(test, pm_wait_one(), 0);
	KUNIT_EXPECT_LT(test, pm_wait_one(), 0);
}

/*
 * A part of a payload is late. In places it does not show until all of it is there, so it has the
 * time for its bytes at the least rate beside peer_timeout_ms. It is not late while the network is
 * held, and has its time again afterwards.
 */
static void part_has_its_time(struct kunit *test)
{
	static const struct {
		unsigned int ms;
		bool placed, held, late;
	} rows[] = {
		{ 2000, true, false, false }, { 2000, false, true, false },
		{ 2000, false, false, true }, { 8000, true, false, true },
	};
	static char taken;
	int i, requests, grants;

	pm_proto.params.peer_timeout_ms = 300;
	pm.sure = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pm.expose_min = rows[i].placed ? 0 : U64_MAX;
		requests = pm_frames(KFW_RTS);
		grants = pm_frames(KFW_CTS);
		KUNIT_ASSERT_EQ(test, 0, (int)kfi_tsend(pm.ep[0], pm.area[0], KFW_PLACED_MAX, NULL,
							pm.addr[1], i, NULL));
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_RTS) > requests));
		set_bit(0, &pm.clogged);
		KUNIT_ASSERT_EQ(test, 0, (int)kfi_trecv(pm.ep[1], pm.area[1], KFW_PLACED_MAX, NULL,
							KFI_ADDR_UNSPEC, i, 0, &taken));
		KUNIT_EXPECT_TRUE(test, fake_soon(pm_frames(KFW_CTS) > grants));
		if (rows[i].held)
			kfi_hold_begin(&pm.hold, jiffies);
		msleep(rows[i].ms);
		kfi_hold_end(&pm.hold);
		KUNIT_EXPECT_EQ(test, rows[i].late, pm_closed(1));
		clear_bit(0, &pm.clogged);
		KUNIT_EXPECT_EQ(test, rows[i].late, pm_wait_one() != 0);
		if (rows[i].late)
			KUNIT_EXPECT_TRUE(test, fake_soon(!kfi_cancel(&pm.ep[1]->fid, &taken)));
	}
}

KFI_SUITE_IN(kfi_proto_pair, pm_init, pm_exit,
	KUNIT_CASE(all_kinds),
	KUNIT_CASE(long_payload),
	KUNIT_CASE(writes_in_order),
	KUNIT_CASE(region_ends),
	KUNIT_CASE(region_ends_unsent),
	KUNIT_CASE(region_ends_blocked),
	KUNIT_CASE(reads_paid),
	KUNIT_CASE(replies),
	KUNIT_CASE(reply_refused),
	KUNIT_CASE(tread_ends_unsent),
	KUNIT_CASE(part_has_its_time),
	KUNIT_CASE(link_ends),
	KUNIT_CASE(link_ends_in_parts),
	KUNIT_CASE(link_ends_unreleased));
