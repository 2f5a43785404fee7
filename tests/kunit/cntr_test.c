// SPDX-License-Identifier: GPL-2.0
/* Counters. */
#include "crew.h"
#include "fake.h"

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

KFI_SUITE(kfi_cntr,
	KUNIT_CASE(cntr_is_exact));
