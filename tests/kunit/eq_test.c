// SPDX-License-Identifier: GPL-2.0
/* Event queues, and counters. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include "fake.h"

struct cm_room {
	struct kfi_eq_cm_entry	entry;
	u8			data[16];
};

/*
 * Private data is truncated to the buffer, the structure is not. An info belongs to the reader, or
 * is freed with the unread event.
 */
static void eq_cm_events(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfid_eq *eq = fake_eq(w, 2);
	struct kfi_eq *q = kfi_to_eq(eq);
	struct kfid fid = {}, other = {};
	struct cm_room room;
	u32 event;

	KUNIT_EXPECT_EQ(test, 0,
			kfi_eq_event(q, KFI_CONNREQ, &fid, kfi_allocinfo(), "0123456789abcdef",
				     16));
	KUNIT_EXPECT_EQ(test, 0, kfi_eq_event(q, KFI_CONNREQ, &fid, kfi_allocinfo(), "xy", 2));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_eq_event(q, KFI_CONNREQ, &fid, NULL, NULL, 0));
	/* always has room */
	KUNIT_EXPECT_EQ(test, 0, kfi_eq_event(q, KFI_SHUTDOWN, &other, NULL, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_eq_error(q, &other, -ECONNREFUSED, "no", 2));

	KUNIT_EXPECT_EQ(test, -KFI_ETOOSMALL,
			kfi_eq_read(eq, &event, &room, sizeof(room.entry) - 1, 0));
	KUNIT_EXPECT_EQ(test, sizeof(room.entry) + 4,
			kfi_eq_read(eq, &event, &room, sizeof(room.entry) + 4, 0));
	KUNIT_EXPECT_EQ(test, KFI_CONNREQ, event);
	KUNIT_EXPECT_PTR_EQ(test, &fid, room.entry.fid);
	KUNIT_EXPECT_NOT_NULL(test, room.entry.info);
	KUNIT_EXPECT_EQ(test, 0, memcmp(room.data, "0123", 4));
	kfi_freeinfo(room.entry.info);

	kfi_eq_purge(q, &fid);		/* the other request, with its info */
	KUNIT_EXPECT_EQ(test, sizeof(room.entry), kfi_eq_read(eq, &event, &room, sizeof(room), 0));
	KUNIT_EXPECT_EQ(test, KFI_SHUTDOWN, event);
	KUNIT_EXPECT_PTR_EQ(test, &other, room.entry.fid);
	KUNIT_EXPECT_EQ(test, -KFI_EAVAIL, kfi_eq_read(eq, &event, &room, sizeof(room), 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&eq->fid));
	fake_close(w);
}

static struct kunit_case eq_cases[] = {
	KUNIT_CASE(eq_cm_events),
	{}
};

static struct kunit_suite eq_suite = {
	.name = "kfi_eq",
	.test_cases = eq_cases,
};

kunit_test_suite(eq_suite);

/* ---- counters ---- */

static struct kfid_cntr *open_cntr(struct kfi_world *w, struct kfi_cntr_attr attr)
{
	struct kfid_cntr *cntr = NULL;

	KUNIT_ASSERT_EQ(w->test, 0, kfi_cntr_open(&w->domain.fid, &attr, &cntr, NULL));
	return cntr;
}

struct seen {
	unsigned int calls;
	u64 value, errors;
};

static void see(struct kfid_cntr *cntr, void *context)
{
	struct seen *seen = context;

	seen->calls++;
	seen->value = kfi_cntr_read(cntr);
	seen->errors = kfi_cntr_readerr(cntr);
}

/* The handler reads the new value, whichever call has changed it. */
static void cntr_handler(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfi_cntr_attr attr = { .handler = see };
	struct seen seen = {};
	struct kfid_cntr *cntr;

	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, &attr, &cntr, &seen));
	KUNIT_EXPECT_EQ(test, 0, seen.calls);
	kfi_cntr_count(kfi_to_cntr(cntr), 0);
	KUNIT_EXPECT_EQ(test, 1, seen.value);
	kfi_cntr_count(kfi_to_cntr(cntr), EIO);
	KUNIT_EXPECT_EQ(test, 1, seen.errors);
	kfi_cntr_add(cntr, 4);
	KUNIT_EXPECT_EQ(test, 5, seen.value);
	kfi_cntr_adderr(cntr, 2);
	KUNIT_EXPECT_EQ(test, 3, seen.errors);
	kfi_cntr_set(cntr, 0);
	kfi_cntr_seterr(cntr, 0);
	KUNIT_EXPECT_EQ(test, 0, seen.value + seen.errors);
	KUNIT_EXPECT_EQ(test, 6, seen.calls);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr->fid));
	fake_close(w);
}

#define COUNT_TASKS	4
#define COUNT_EACH	20000

struct count {
	struct kfi_cntr	*cntr;
	atomic_t	left;
};

static int count_fn(void *arg)
{
	struct count *c = arg;
	int i;

	for (i = 0; i < COUNT_EACH; i++)
		kfi_cntr_count(c->cntr, i % 5 ? 0 : EIO);
	atomic_dec(&c->left);
	return 0;
}

static void cntr_is_exact(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfid_cntr *cntr = open_cntr(w, (struct kfi_cntr_attr){ .wait_obj = KFI_WAIT_QUEUE });
	struct count c = { .cntr = kfi_to_cntr(cntr), .left = ATOMIC_INIT(COUNT_TASKS) };
	int i;

	for (i = 0; i < COUNT_TASKS; i++)
		kthread_run(count_fn, &c, "kfi_count");
	for (i = 0; i < 10 && !fake_soon(!atomic_read(&c.left)); i++)
		;
	KUNIT_EXPECT_EQ(test, COUNT_TASKS * COUNT_EACH / 5 * 4, kfi_cntr_read(cntr));
	KUNIT_EXPECT_EQ(test, COUNT_TASKS * COUNT_EACH / 5, kfi_cntr_readerr(cntr));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr->fid));
	fake_close(w);
}

static struct kunit_case cntr_cases[] = {
	KUNIT_CASE(cntr_handler),
	KUNIT_CASE(cntr_is_exact),
	{}
};

static struct kunit_suite cntr_suite = {
	.name = "kfi_cntr",
	.test_cases = cntr_cases,
};

kunit_test_suite(cntr_suite);
