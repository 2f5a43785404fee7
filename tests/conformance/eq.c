// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues.
 */
#include <linux/ktime.h>
#include "harness.h"

/* Open a queue that may be written. */
static struct kfid_eq *open_eq(struct test *t, struct node *n, size_t size)
{
	struct kfi_eq_attr attr = {
		.size = size, .flags = KFI_WRITE, .wait_obj = KFI_WAIT_QUEUE,
	};
	struct kfid_eq *eq;

	if (!EXPECT_EQ(t, kfi_eq_open(n->fabric, &attr, &eq, NULL, NULL), 0))
		return NULL;
	test_keep(t, &eq->fid);
	return eq;
}

static struct node *open_fabric(struct test *t)
{
	struct node *n = test_new(t, struct node);

	return !node_open(t, n, 0, NULL) ? n : NULL;
}

static ssize_t write_one(struct kfid_eq *eq, struct node *n, u64 data)
{
	struct kfi_eq_entry e = { .fid = &n->domain->fid, .context = n, .data = data };

	return kfi_eq_write(eq, KFI_NOTIFY, &e, sizeof(e), 0);
}

/* Exactly the requested number of events fits; they are read in order. */
static void size_and_order(struct test *t)
{
	struct node *n = open_fabric(t);
	struct kfi_eq_entry e;
	struct kfid_eq *eq;
	u32 event;
	int i;

	REQUIRE(t, n);
	eq = open_eq(t, n, 17);
	REQUIRE(t, eq);
	EXPECT_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), -EAGAIN);
	for (i = 0; i < 17; i++)
		REQUIRE_EQ(t, write_one(eq, n, i), sizeof(e));
	EXPECT_EQ(t, write_one(eq, n, 17), -EAGAIN);
	for (i = 0; i < 17; i++) {
		event = 99;
		REQUIRE_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), sizeof(e));
		EXPECT_EQ(t, event, KFI_NOTIFY);
		EXPECT_EQ(t, e.data, i);
		EXPECT(t, e.context == n && e.fid == &n->domain->fid);
		/* There is room for one again. */
		if (i < 3)
			EXPECT_EQ(t, write_one(eq, n, 17 + i), sizeof(e));
	}
	for (i = 0; i < 3; i++) {
		REQUIRE_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), sizeof(e));
		EXPECT_EQ(t, e.data, 17 + i);
	}
	EXPECT_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), -EAGAIN);
}

static void peek(struct test *t)
{
	struct node *n = open_fabric(t);
	struct kfi_eq_entry e = {};
	struct kfid_eq *eq;
	u32 event;
	int i;

	REQUIRE(t, n);
	eq = open_eq(t, n, 4);
	REQUIRE(t, eq);
	REQUIRE_EQ(t, write_one(eq, n, 5), sizeof(e));
	REQUIRE_EQ(t, write_one(eq, n, 6), sizeof(e));
	for (i = 0; i < 3; i++) {
		REQUIRE_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), KFI_PEEK), sizeof(e));
		EXPECT_EQ(t, e.data, 5);
	}
	REQUIRE_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), sizeof(e));
	EXPECT_EQ(t, e.data, 5);
	REQUIRE_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), sizeof(e));
	EXPECT_EQ(t, e.data, 6);
}

static void refusals(struct test *t)
{
	struct kfi_eq_attr attr = { .size = 4, .wait_obj = KFI_WAIT_NONE };
	struct kfi_eq_err_entry err = {};
	struct node *n = open_fabric(t);
	struct kfi_eq_entry e;
	struct kfid_eq *eq;
	u32 event;

	REQUIRE(t, n);
	REQUIRE_EQ(t, kfi_eq_open(n->fabric, &attr, &eq, NULL, NULL), 0);
	test_keep(t, &eq->fid);
	/* It can't be written, nor waited for. */
	EXPECT_EQ(t, write_one(eq, n, 1), -EINVAL);
	EXPECT_EQ(t, kfi_eq_sread(eq, &event, &e, sizeof(e), 0, 0), -EINVAL);
	eq = open_eq(t, n, 4);
	REQUIRE(t, eq);
	REQUIRE_EQ(t, write_one(eq, n, 1), sizeof(e));
	EXPECT_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e) - 1, 0), -KFI_ETOOSMALL);
	EXPECT_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), BIT_ULL(40)), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_eq_readerr(eq, &err, 0), -EAGAIN);
	/* None of that has consumed it. */
	EXPECT_EQ(t, kfi_eq_read(eq, &event, &e, sizeof(e), 0), sizeof(e));
	attr.wait_obj = KFI_WAIT_FD;
	EXPECT_EQ(t, kfi_eq_open(n->fabric, &attr, &eq, NULL, NULL), -EOPNOTSUPP);
	attr.wait_obj = KFI_WAIT_NONE;
	attr.flags = BIT_ULL(40);
	EXPECT_EQ(t, kfi_eq_open(n->fabric, &attr, &eq, NULL, NULL), -KFI_EBADFLAGS);
}

static void timeout(struct test *t)
{
	struct node *n = open_fabric(t);
	struct kfi_eq_entry e;
	ktime_t start;
	u32 event;
	s64 ms;

	REQUIRE(t, n);
	start = ktime_get();
	EXPECT_EQ(t, kfi_eq_sread(n->eq, &event, &e, sizeof(e), 200, 0), -EAGAIN);
	ms = ktime_ms_delta(ktime_get(), start);
	/* Ticks of a busy virtual machine come late, and then several at once. */
	EXPECT(t, ms >= 100);
	EXPECT(t, ms < 5000);
}

const struct test_case eq_cases[] = {
	{ "eq.size_and_order", T_ALL, CASE_ONCE, 0, size_and_order },
	{ "eq.peek", T_ALL, CASE_ONCE, 0, peek },
	{ "eq.refusals", T_ALL, CASE_ONCE, 0, refusals },
	{ "eq.timeout", T_ALL, CASE_ONCE, 0, timeout },
	{ }
};
