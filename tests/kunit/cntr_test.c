// SPDX-License-Identifier: GPL-2.0
/* Counters. */
#include "crew.h"
#include "fake.h"

static struct kunit_case eq_cases[] = {
	{}
};

static struct kunit_suite eq_suite = {
	.name = "kfi_eq",
	.test_cases = eq_cases,
};

kunit_test_suite(eq_suite);

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

static void count(void *cntr, unsigned int id, struct rnd_state *rnd)
{
	int i;

	for (i = 0; i < COUNT_EACH; i++)
		kfi_cntr_count(cntr, i % 5 ? 0 : EIO);
}

static void cntr_is_exact(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfid_cntr *cntr;

	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, NULL, &cntr, NULL));
	crew_run(test, COUNT_TASKS, count, kfi_to_cntr(cntr));
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
