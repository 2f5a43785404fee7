// SPDX-License-Identifier: GPL-2.0
/*
 * Which doorbells a queue of kfi_ntb has. What one side encodes the other decodes, and invalid
 * values are refused: that is tested by fuzzing (tests/fuzz/ntb_fuzz.c). kfi_ntb exports nothing,
 * so its source is compiled into this module.
 */
#include "suite.h"
#include "../../providers/ntb/wire.c"

/* Each doorbell wakes one queue, if there are enough, and each queue has as many as the others. */
static void bells_of_queues(struct kunit *test)
{
	unsigned int queue, queues, bells;
	u64 all, bits;

	for (queues = 1; queues <= NTW_QUEUES_MAX; queues++) {
		for (bells = 1; bells <= NTW_BELLS_MAX; bells++) {
			for (all = 0, queue = 0; queue < queues; queue++) {
				bits = ntw_bells(queue, queues, bells);
				KUNIT_EXPECT_GE(test, hweight64(bits), max(bells / queues, 1U));
				if (bells >= queues)
					KUNIT_EXPECT_EQ(test, 0, all & bits);
				all |= bits;
			}
			KUNIT_EXPECT_EQ(test, ~0ULL >> (64 - bells), all);
		}
	}
}

KFI_SUITE(kfi_ntb_wire,
	KUNIT_CASE(bells_of_queues));
