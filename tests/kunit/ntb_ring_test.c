// SPDX-License-Identifier: GPL-2.0
/*
 * Two rings of kfi_ntb over plain memory, without a bridge. The signal of a ring queues the
 * BH work of the other one. The work item of the engine copies, or a channel that takes every
 * liberty that the dmaengine interface allows. tests/link shows more of what channels do, with a
 * bridge that is simulated.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "suite.h"
#include "ntb_map.h"
#include "../../providers/ntb/piece.c"
#include "../../providers/ntb/dma.c"
#include "../../providers/ntb/in.c"
#include "../../providers/ntb/shadow.c"
#include "../../providers/ntb/line.c"
#include "../../providers/ntb/bulk.c"
#include "../../providers/ntb/ring.c"

#include "ntb_ends.h"
#include "ntb_signals.h"

/* ---- traffic ---- */

/*
 * Send a record: through the message ring if it is short, there is room, and the peer has handled
 * all records in the bulk ring; then the order is kept.
 */
static int send(struct end *end, u32 seq)
{
	/* short records, and long ones that bypass the shadow, at all offsets of the end */
	size_t len = seq % 5 ? seq % 97 : seq * 13 % 2000;
	bool behind = READ_ONCE(end->used);

	smp_rmb();	/* pairs with rec_sent() */
	if (!behind && nt_ring_acked(&end->ring, READ_ONCE(end->bulk_end)) && len < 97 &&
	    !put(end, NTW_MSG, seq, len, seq % 3)) {
		end->messages++;
		return 0;
	}
	return post(end, seq, len, seq % 3);
}

static int sender(void *arg)
{
	struct end *end = arg;
	u32 i;

	for (i = 0; i < MANY; i++) {
		if (!wait_event_timeout(end->wait, READ_ONCE(end->used) != ~0UL, PATIENCE))
			break;
		/* Wait from time to time, so that the message ring is used, too. */
		if (i % 64 == 0)
			usleep_range(1000, 2000);
		if (send(end, i))
			break;
		end->posted++;
	}
	nt_ring_kick(&end->ring);
	nt_ring_drain(&end->ring);
	return 0;
}

static void two_threads(struct kunit *test)
{
	struct pair *pair = test->priv;
	struct task_struct *task[2];
	int i;

	for (i = 0; i < 2; i++) {
		task[i] = kthread_run(sender, &pair->end[i], "ntb_ring%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task[i]));
		get_task_struct(task[i]);
	}
	for (i = 0; i < 2; i++) {
		struct end *end = &pair->end[i];

		KUNIT_EXPECT_GT(test,
				wait_event_timeout(end->wait, READ_ONCE(end->got) == MANY,
						   2 * PATIENCE),
				0L);
	}
	for (i = 0; i < 2; i++) {
		kthread_stop(task[i]);
		put_task_struct(task[i]);
		KUNIT_EXPECT_EQ(test, MANY, pair->end[i].posted);
		KUNIT_EXPECT_GT(test, pair->end[i].messages, 0U);
		KUNIT_EXPECT_EQ(test, 0U, pair->end[i].wrong);
		KUNIT_EXPECT_EQ(test, 0U, pair->end[i].faults);
		KUNIT_EXPECT_GT(test, pair->end[i].ring.stats.bytes_in, (u64)10 * RING_LEN);
	}
}

/* A record behind which nothing comes needs no line, and has a signal. */
static void no_line(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;

	KUNIT_EXPECT_TRUE(test, reported(a));
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, 0, 0, false));
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	KUNIT_EXPECT_EQ(test, 1ULL, a->ring.stats.bursts);
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* ---- an engine that reports a failure of a copy which was made ---- */

/*
 * A line whose copy is reported to have failed may have been read by the peer, which then may use
 * the memory that the line announces: the ring must not copy there again.
 */
static void line_was_there(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct placed *p = kfi_test_zalloc(test, sizeof(*p));
	u8 *bytes = kfi_test_zalloc(test, 64);

	memset(bytes, 0xa5, 64);
	msleep(20);	/* first lines */
	end_pause(a);
	KUNIT_EXPECT_EQ(test, 0, post_placed(a, p, bytes, 64, false));
	flush_work(&a->ring.engine.work);
	/* The ring signals only when it reaps the line, so let the peer look now. */
	nt_ring_schedule(&b->ring);
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(b->mem + PLACED_AT, 0xa5, 64), NULL);
	memset(b->mem + PLACED_AT, 0x5a, 64);
	KUNIT_EXPECT_EQ(test, 1U, fail_made(&a->ring, NT_LINE));
	end_resume(a);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&p->sent, PATIENCE), 0UL);
	KUNIT_EXPECT_EQ(test, 0, p->err);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(b->mem + PLACED_AT, 0x5a, 64), NULL);
	KUNIT_EXPECT_EQ(test, 1U, b->got);
	KUNIT_EXPECT_EQ(test, 1ULL, a->ring.stats.dma_errors);
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* ---- a bridge that loses a write and carries those behind it ---- */

/* Begin a new life of both ends, with records whose CRC covers payload of engines, or not. */
static void crc_all(struct kunit *test, bool a_all, bool b_all)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;

	end_off(a);
	end_off(b);
	memset(a->mem, 0, ARENA);
	memset(b->mem, 0, ARENA);
	a->ring.crc_all = a_all;
	b->ring.crc_all = b_all;
	end_on(a, 100, 101);
	end_on(b, 101, 100);
}

/*
 * A wrong byte in what a CRC covers is a fault: neither that record nor those behind it are
 * handled.
 */
static void torn_at(struct kunit *test, enum ntw_which which, u32 len, size_t at)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 got = b->got, faults = b->faults;
	u64 from;

	end_pause(b);
	from = a->ring.out.tx[which].placed;
	KUNIT_EXPECT_EQ(test, 0,
			which == NTW_MSG ? put(a, which, got, len, false) :
					   post(a, got, len, false));
	flush_work(&a->ring.engine.work);
	b->mem[QUEUE + ntw_ring_at(which, RING_LEN) + (from + at) % RING_LEN] ^= 4;
	/* The line shows that a record of the message ring was to be complete. */
	nt_ring_beat(&a->ring, 0);
	end_resume(b);
	KUNIT_EXPECT_GT(test, wait_event_timeout(b->wait, READ_ONCE(b->faults) != faults, PATIENCE),
			0L);
	KUNIT_EXPECT_EQ(test, got, b->got);
	KUNIT_EXPECT_EQ(test, 0U, b->wrong);
	crc_all(test, a->ring.crc_all, b->ring.crc_all);
}

static void torn_records(struct kunit *test)
{
	struct end *b = &((struct pair *)test->priv)->end[1];

	torn_at(test, NTW_BULK, 1900, 1);	/* the length */
	torn_at(test, NTW_BULK, 1900, 6);
	torn_at(test, NTW_BULK, 1900, 12);	/* the CRC itself */
	torn_at(test, NTW_BULK, 1900, 16);
	torn_at(test, NTW_BULK, 1900, 1900);
	torn_at(test, NTW_MSG, 300, 300);
	crc_all(test, false, false);
	torn_at(test, NTW_BULK, 1900, 1);
	torn_at(test, NTW_BULK, 1900, 5);	/* how much the CRC covers */
	torn_at(test, NTW_BULK, 1900, 12);
	/* the CPU copies it, so the CRC covers all of it */
	torn_at(test, NTW_BULK, 900, 900);
	crc_all(test, false, true);
	/* No byte of it is wrong, but all of them were to be covered. */
	torn_at(test, NTW_BULK, 1900, 4000);
	KUNIT_EXPECT_EQ(test, 11ULL, b->ring.stats.crc_errors);
}

/*
 * The body of a record has another one, whose CRC is right for the place where it lies, one round
 * of the ring later. When the reader comes there, it finds nothing, because it clears what it has
 * handled.
 */
static void forged_record(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct {
		struct ntw_rec rec __aligned(NTW_ALIGN), forged __aligned(NTW_ALIGN);
	} both = {
		.rec.type = NTW_FIRST,
		.forged = {
			.type = NTW_FIRST,
			.check = cpu_to_le32((NTW_ALIGN + RING_LEN) ^ b->ring.in.own_id),
		},
	};
	struct kvec vec = { &both, sizeof(both) };
	u32 i, all = (RING_LEN + NTW_ALIGN - sizeof(both)) / NTW_ALIGN;

	both.forged.check = cpu_to_le32(nt_rec_check(&both.forged, NULL, 0));
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 0, nt_ring_put(&a->ring, NTW_MSG, &vec, 1, NULL, 0, false));
	local_bh_enable();
	for (i = 1; i <= all; i++) {
		KUNIT_ASSERT_EQ(test, 0, put(a, NTW_MSG, i, 0, false));
		KUNIT_ASSERT_TRUE(test, i % 32 || reported(a));
	}
	KUNIT_EXPECT_TRUE(test, got_all(b, i));
	KUNIT_EXPECT_EQ(test, (u64)RING_LEN + NTW_ALIGN, a->ring.out.tx[NTW_MSG].placed);
	nt_ring_schedule(&b->ring);
	msleep(20);
	KUNIT_EXPECT_EQ(test, i, b->got);
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, i, 0, false));
	KUNIT_EXPECT_TRUE(test, got_all(b, i + 1));
	/* the first, which has other bytes than expected */
	KUNIT_EXPECT_EQ(test, 1U, b->wrong);
	KUNIT_EXPECT_EQ(test, 0U, a->faults + b->faults);
}

/* ---- the order of the two rings ---- */

/*
 * A record of the bulk ring that arrives before a record of the message ring which was put there
 * earlier is handled after it; but it does not wait for those that were put there later.
 */
static void bulk_comes_after(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct ntw_line *line = &((struct ntw_ctl *)(b->mem + QUEUE))->line, lines[3];
	struct ntw_rec *rec[2];
	u8 type[2];
	u32 i;

	msleep(20);	/* first lines */
	lines[0] = *line;
	for (i = 0; i < 2; i++) {
		rec[i] = (void *)b->mem + QUEUE + ntw_ring_at(NTW_MSG, RING_LEN) +
			 a->ring.out.tx[NTW_MSG].placed;
		end_pause(b);
		KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, 2 * i, 40, false));
		KUNIT_EXPECT_EQ(test, 0, post(a, 2 * i + 1, 1900, false));
		flush_work(&a->ring.engine.work);
		lines[i + 1] = *line;
		/* What the CPU has written has not arrived. */
		*line = lines[0];
		type[i] = rec[i]->type;
		rec[i]->type = NTW_NONE;
		end_resume(b);
		msleep(20);
		KUNIT_EXPECT_EQ(test, 0U, b->got);
		KUNIT_EXPECT_GT(test, b->ring.in.rx[NTW_BULK].avail, 0ULL);
	}
	for (i = 1; i <= 2; i++) {
		end_pause(b);
		rec[i - 1]->type = type[i - 1];
		if (i == 2)
			*line = lines[2];
		end_resume(b);
		msleep(20);
		KUNIT_EXPECT_EQ(test, 2 * i, READ_ONCE(b->got));
	}
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/*
 * Who answers through the bulk ring says that it has handled what came there, without a sign of
 * life: short records then have the message ring again.
 */
static void bulk_answer_reports(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;

	msleep(20);	/* first lines */
	KUNIT_EXPECT_EQ(test, 0, post(a, 0, 40, false));
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, nt_ring_acked(&a->ring, nt_ring_placed(&a->ring)));
	KUNIT_EXPECT_EQ(test, 0, post(b, 0, 40, false));
	KUNIT_EXPECT_TRUE(test, got_all(a, 1));
	KUNIT_EXPECT_TRUE(test, nt_ring_acked(&a->ring, nt_ring_placed(&a->ring)));
}

/* So does a short record, which has no line for that. It can't report more than was sent. */
static void record_reports(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u64 bursts;

	msleep(20);	/* first lines */
	KUNIT_EXPECT_EQ(test, 0, post(a, 0, 40, false));
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	msleep(20);
	bursts = b->ring.stats.bursts;
	KUNIT_EXPECT_EQ(test, 0, put(b, NTW_MSG, 0, 8, false));
	KUNIT_EXPECT_TRUE(test, got_all(a, 1));
	KUNIT_EXPECT_TRUE(test, nt_ring_acked(&a->ring, nt_ring_placed(&a->ring)));
	KUNIT_EXPECT_EQ(test, bursts + 1, b->ring.stats.bursts);
	b->ring.in.rx[NTW_BULK].to_report += NTW_ALIGN;
	KUNIT_EXPECT_EQ(test, 0, put(b, NTW_MSG, 1, 8, false));
	KUNIT_EXPECT_TRUE(test, wait_event_timeout(a->wait, READ_ONCE(a->faults), PATIENCE));
}

/* Records of the message ring leave when records of the bulk ring follow that can't. */
static void no_wait_for_batches(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	u32 i;

	msleep(20);	/* first lines */
	end_pause(a);
	for (i = 0; i < NT_BATCHES; i++)
		KUNIT_EXPECT_EQ(test, 0, post(a, i, 8, false));
	flush_work(&a->ring.engine.work);
	nt_ring_schedule(&b->ring);
	KUNIT_EXPECT_TRUE(test, got_all(b, i));
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, i, 8, true));
	KUNIT_EXPECT_EQ(test, 0, post(a, i + 1, 8, false));
	nt_ring_schedule(&b->ring);
	KUNIT_EXPECT_TRUE(test, got_all(b, i + 1));
	end_resume(a);
	KUNIT_EXPECT_TRUE(test, got_all(b, i + 2));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
}

/* ---- a channel that takes every liberty of the dmaengine interface ---- */

#include "ntb_chan.h"

/*
 * Only a fence orders copies: no line is copied before the bytes that it announces, and no signal
 * is sent before its line.
 */
static void fences_of(struct kunit *test, bool loose)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct chan *c = chan_begin(test, a, loose);
	u32 i;

	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, 0,
				post(a, i, i % 2 ? 1900 : 40, i % 4 != 3));
	KUNIT_EXPECT_TRUE(test, got_all(b, 40));
	KUNIT_EXPECT_GT(test, c->ran, 10U);
	KUNIT_EXPECT_EQ(test, 0U, c->early);
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
	chan_end(a);
}

static void fences(struct kunit *test)
{
	fences_of(test, false);
}

static void fences_of_task(struct kunit *test)
{
	fences_of(test, true);
}

/*
 * While the engine copies nothing, records of the message ring and signs of life pass, and the side
 * sees that the engine makes no progress.
 */
static void engine_hangs(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct chan *c = chan_begin(test, a, false);
	u64 done, later;
	u32 serial;

	KUNIT_EXPECT_FALSE(test, nt_ring_progress(&a->ring, NT_ENGINE, &done));
	c->hold = true;
	KUNIT_EXPECT_EQ(test, 0, post(a, 1, 1900, false));
	KUNIT_EXPECT_EQ(test, 0, put(a, NTW_MSG, 0, 40, false));
	KUNIT_EXPECT_TRUE(test, got_all(b, 1));
	KUNIT_EXPECT_TRUE(test, nt_ring_progress(&a->ring, NT_ENGINE, &done));
	serial = nt_ring_peer_serial(&b->ring);
	nt_ring_beat(&a->ring, 0);
	KUNIT_EXPECT_NE(test, serial, nt_ring_peer_serial(&b->ring));
	KUNIT_EXPECT_TRUE(test, nt_ring_progress(&a->ring, NT_ENGINE, &later));
	KUNIT_EXPECT_EQ(test, done, later);
	spin_lock_bh(&a->ring.lock);
	c->hold = false;
	chan_issue(&c->chan);
	spin_unlock_bh(&a->ring.lock);
	KUNIT_EXPECT_TRUE(test, got_all(b, 2));
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
	chan_end(a);
}

#define PAYLOADS	600
#define SLOTS		8U
#define SLOT		(NT_BOUNCE + 8192)
#define SPAN		(3 * 1000 + SLOT)

/* A length, and where the payload goes; most are multiples of 8, and many overlap others. */
static size_t some_payload(struct rnd_state *rnd, u64 *at)
{
	size_t len = prandom_u32_state(rnd) % 8 ? 8 + prandom_u32_state(rnd) % 2000 :
						  NT_BOUNCE + prandom_u32_state(rnd) % 4096;

	*at = prandom_u32_state(rnd) % 4 * 1000;
	return prandom_u32_state(rnd) % 4 ? len & ~7UL : len;
}

/*
 * Payloads for the same memory arrive in their order: those that the engine copies; those that it
 * can't copy, because of their length, and the CPU does; those that can't be mapped, and come in
 * parts; and those of which a copy was refused, and is tried again.
 */
static void payload_at_random(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct placed *q, *p = kfi_test_zalloc(test, SLOTS * sizeof(*p));
	u8 *want = kfi_test_zalloc(test, SPAN);
	u8 *from = alloc_pages_exact(SLOTS * SLOT, GFP_KERNEL), *bytes;
	struct chan *c = chan_begin(test, a, false);
	u64 seed = get_random_u64(), at;
	struct rnd_state rnd;
	unsigned int i;
	size_t len, k;

	KUNIT_ASSERT_NOT_NULL(test, from);
	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&rnd, seed);
	unmappable = virt_to_page(from);
	for (i = 0; i < PAYLOADS + SLOTS; i++) {
		q = &p[i % SLOTS];
		if (i >= SLOTS) {
			KUNIT_ASSERT_NE(test, 0UL, wait_for_completion_timeout(&q->sent, PATIENCE));
			KUNIT_EXPECT_EQ(test, 0, q->err);
		}
		if (i >= PAYLOADS)
			continue;
		/* The second half is copied by the engine and by the CPU, in turn. */
		if (i == PAYLOADS / 2)
			c->device.copy_align = DMAENGINE_ALIGN_8_BYTES;
		if (i % (PAYLOADS / 3) == PAYLOADS / 6)
			c->refuse = 1 + prandom_u32_state(&rnd) % 8;
		len = some_payload(&rnd, &at);
		bytes = from + i % SLOTS * SLOT;
		for (k = 0; k < len; k++)
			want[at + k] = bytes[k] = i + k % 251;
		KUNIT_ASSERT_EQ(test, 0, post_placed_at(a, q, ARENA + at, bytes, len,
							i % 3 && i < PAYLOADS - 1));
	}
	KUNIT_EXPECT_TRUE(test, !memcmp(want, b->mem + ARENA, SPAN));
	KUNIT_EXPECT_GT(test, a->ring.engine.count.unmapped, 10ULL);
	KUNIT_EXPECT_EQ(test, 3ULL, a->ring.engine.count.refused);
	KUNIT_EXPECT_GT(test, a->ring.engine.count.work_bytes, (u64)SPAN);
	KUNIT_EXPECT_EQ(test, 0U, a->faults + b->faults);
	unmappable = NULL;
	chan_end(a);
	free_pages_exact(from, SLOTS * SLOT);
}

/*
 * Bytes of a copy that the engine's driver refused to a task are not announced to the peer until
 * they were copied in another try.
 */
static void refused_of_task(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct chan *c = chan_begin(test, a, true);
	u32 i, seq = 0;

	for (i = 1; i < 8; i++) {
		c->refuse = i;
		KUNIT_EXPECT_EQ(test, 0, post(a, seq++, 1900, true));
		KUNIT_EXPECT_EQ(test, 0, post(a, seq++, 40, false));
		if (!wait_event_timeout(b->wait, READ_ONCE(b->got) == seq, PATIENCE / 4))
			break;
	}
	KUNIT_EXPECT_EQ(test, 8U, i);
	KUNIT_EXPECT_EQ(test, seq, b->got);
	KUNIT_EXPECT_GE(test, a->ring.engine.count.refused, 3ULL);
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
	chan_end(a);
}

/* A doorbell that was refused during the proof of an engine says nothing about later lines. */
static void proof_refused(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct chan *c = chan_begin(test, a, false);

	end_off(a);
	c->refuse = 3;	/* behind bytes and words */
	a->ring.engine.cpu = false;
	a->ring.proofs = 0;
	KUNIT_EXPECT_TRUE(test, nt_ring_prove(&a->ring, 101));
	KUNIT_EXPECT_TRUE(test, nt_ring_wait_idle(&a->ring, PATIENCE));
	KUNIT_EXPECT_EQ(test, 0U, c->refuse);
	nt_ring_on(&a->ring, a->mem + QUEUE, RING_LEN, 100, 101);
	KUNIT_EXPECT_EQ(test, 0, post(a, 0, 1900, false));
	wait_event_timeout(b->wait, READ_ONCE(b->got) == 1, PATIENCE / 4);
	KUNIT_EXPECT_EQ(test, 1U, b->got);
	KUNIT_EXPECT_EQ(test, 0U, a->wrong + b->wrong + a->faults + b->faults);
	chan_end(a);
}

/*
 * Payload that the engine can't copy, because of its length, is copied by the CPU; and not before
 * the peer has handled what the engine has copied, because that may arrive later.
 */
static void by_turns(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0], *b = a->other;
	struct placed *p = kfi_test_zalloc(test, 3 * sizeof(*p));
	u8 *bytes = kfi_test_zalloc(test, 64);
	u64 copied;

	chan_begin(test, a, false)->device.copy_align = DMAENGINE_ALIGN_8_BYTES;
	memset(bytes, 'a', 64);
	end_pause(b);
	copied = a->ring.engine.count.work_bytes;
	KUNIT_EXPECT_EQ(test, 0, post_placed(a, &p[0], bytes, 64, false));
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&p[0].sent, PATIENCE), 0UL);
	KUNIT_EXPECT_EQ(test, copied, a->ring.engine.count.work_bytes);
	KUNIT_EXPECT_EQ(test, 0, post_placed_at(a, &p[1], ARENA, bytes, 61, false));
	msleep(20);
	KUNIT_EXPECT_NULL(test, memchr_inv(b->mem + ARENA, 0, 61));
	end_resume(b);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&p[1].sent, PATIENCE), 0UL);
	KUNIT_EXPECT_NULL(test, memchr_inv(b->mem + ARENA, 'a', 61));
	KUNIT_EXPECT_LT(test, copied, a->ring.engine.count.work_bytes);
	copied = a->ring.engine.count.descriptors;
	KUNIT_EXPECT_EQ(test, 0, post_placed(a, &p[2], bytes, 64, false));
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&p[2].sent, PATIENCE), 0UL);
	KUNIT_EXPECT_LT(test, copied, a->ring.engine.count.descriptors);
	KUNIT_EXPECT_TRUE(test, got_all(b, 3));
	KUNIT_EXPECT_EQ(test, 0U, a->faults + b->faults);
	chan_end(a);
}

static void refused(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0];
	struct nt_place place = { .at = ARENA - 1, .len = 8 };
	struct nt_rec rec = {
		.head_len = 16, .rec.type = NTW_FIRST, .place = &place, .count = 1, .len = 8
	};

	/* not in the arena */
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));
	place.at = INBOUND - 7;
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));	/* beyond it */
	place = (struct nt_place) { .at = INBOUND - 8, .len = 7 };
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));	/* too short */
	place = (struct nt_place) { .at = NTW_FLAT | 4096, .len = 8 };
	/* in a flat window, of which the peer has none */
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));
	a->ring.engine.flat_len = 8192;
	place.at = NTW_FLAT | (8192 - 7);
	/* beyond the end of the flat window */
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));
	place.at = U64_MAX;
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));
	a->ring.engine.flat_len = 0;
	rec.count = 0;
	rec.len = ntw_rec_max(RING_LEN) - 15;
	KUNIT_EXPECT_EQ(test, -EMSGSIZE, nt_ring_post(&a->ring, &rec, false));
	rec.head_len = 15;
	KUNIT_EXPECT_EQ(test, -EINVAL, nt_ring_post(&a->ring, &rec, false));
	end_off(a);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, post(a, 0, 0, false));
	end_on(a, 200, 101);
}

/* ---- a peer that breaks the protocol ---- */

static struct ntw_ctl *ctl_of(struct kunit *test)
{
	return (struct ntw_ctl *)(((struct pair *)test->priv)->end[0].mem + QUEUE);
}

/*
 * The word @after is written first, so a line without it was made empty while it was read. It comes
 * again; until then it has no effect, and nobody polls for it.
 */
static void bulk_after_nothing(struct kunit *test)
{
	struct end *a = &((struct pair *)test->priv)->end[0];

	end_off(a->other);
	ctl_of(test)->bulk.produced = cpu_to_le64(ntw_word(a->ring.in.own_id, NTW_ALIGN));
	nt_ring_schedule(&a->ring);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0U, a->faults);
	KUNIT_EXPECT_EQ(test, 0ULL, a->ring.in.rx[NTW_BULK].avail);
	KUNIT_EXPECT_FALSE(test, nt_in_more(&a->ring));
	ctl_of(test)->bulk.produced = 0;
	end_on(a->other, 101, 100);
}

KFI_SUITE_IN(kfi_ntb_ring, ring_init, ring_exit,
	KUNIT_CASE(two_threads),
	KUNIT_CASE(no_line),
	KUNIT_CASE(late_data),
	KUNIT_CASE(signal_is_missed),
	KUNIT_CASE(line_is_missed),
	KUNIT_CASE(bulk_to_awake),
	KUNIT_CASE(no_room),
	KUNIT_CASE(room_for_messages),
	KUNIT_CASE(room_for_bulk),
	KUNIT_CASE(room_is_told),
	KUNIT_CASE(room_is_not_late),
	KUNIT_CASE(forged_record),
	KUNIT_CASE(bulk_comes_after),
	KUNIT_CASE(bulk_answer_reports),
	KUNIT_CASE(record_reports),
	KUNIT_CASE(no_wait_for_batches),
	KUNIT_CASE(line_was_there),
	KUNIT_CASE(torn_records),
	KUNIT_CASE(fences),
	KUNIT_CASE(fences_of_task),
	KUNIT_CASE(engine_hangs),
	KUNIT_CASE(payload_at_random),
	KUNIT_CASE(refused_of_task),
	KUNIT_CASE(proof_refused),
	KUNIT_CASE(by_turns),
	KUNIT_CASE(refused),
	KUNIT_CASE(bulk_after_nothing));
