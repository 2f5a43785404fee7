// SPDX-License-Identifier: GPL-2.0
/*
 * Which queue and doorbell a connection of kfi_ntb has. What one side encodes the other decodes,
 * and invalid values are refused: that is tested by fuzzing (tests/fuzz/ntb_fuzz.c). kfi_ntb
 * exports nothing, so its source is compiled into this module.
 */
#include "suite.h"
#include "../../providers/ntb/wire.c"
#include "../../providers/ntb/record.c"

/* Return the bits that wake a queue. */
static u64 bells_of(unsigned int queue, unsigned int queues, unsigned int bells)
{
	unsigned int turn;
	u64 bits = 0;

	for (turn = 0; turn < bells; turn++)
		bits |= BIT_ULL(ntw_bell(queue, queues, bells, turn));
	return bits;
}

/* Each doorbell wakes one queue, if there are enough, and each queue has as many as the others. */
static void bells_of_queues(struct kunit *test)
{
	unsigned int queue, queues, bells;
	u64 all, bits;

	for (queues = 1; queues <= NTW_QUEUES_MAX; queues++) {
		for (bells = 1; bells <= NTW_BELLS_MAX; bells++) {
			for (all = 0, queue = 0; queue < queues; queue++) {
				bits = bells_of(queue, queues, bells);
				KUNIT_EXPECT_GE(test, hweight64(bits), max(bells / queues, 1U));
				if (bells >= queues)
					KUNIT_EXPECT_EQ(test, 0, all & bits);
				all |= bits;
			}
			KUNIT_EXPECT_EQ(test, ~0ULL >> (64 - bells), all);
		}
	}
}

/*
 * A pair of ports has one queue, whoever calls. Connections of one port with many, of many pairs of
 * ports, and of callers without a port, are spread over all queues.
 */
static void queues_of_calls(struct kunit *test)
{
	unsigned int queues, count[4][NTW_QUEUES_MAX], i, kind, queue;
	struct ntw_calling calls[4], back;

	for (queues = 1; queues <= NTW_QUEUES_MAX; queues++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < 64 * queues; i++) {
			calls[0] = (struct ntw_calling) { .from = 4420, .to = 0x10000 + i };
			calls[1] = (struct ntw_calling) { .from = 0x10000 + i, .to = 4420 };
			calls[2] = (struct ntw_calling) { .from = 0x10000 + i, .to = 0x10000 + i };
			calls[3] = (struct ntw_calling) { .number = 0x1234567 + i, .to = 4420 };
			for (kind = 0; kind < 4; kind++) {
				queue = ntw_call_queue(&calls[kind], true, queues);
				count[kind][queue]++;
				back.from = calls[kind].to;
				back.to = calls[kind].from;
				if (kind != 3)
					KUNIT_EXPECT_EQ(test, queue,
							ntw_call_queue(&back, false, queues));
			}
		}
		for (kind = 0; kind < 4; kind++)
			for (i = 0; i < queues; i++)
				KUNIT_EXPECT_GE(test, count[kind][i], 32U);
	}
}

KFI_SUITE(kfi_ntb_wire,
	KUNIT_CASE(bells_of_queues),
	KUNIT_CASE(queues_of_calls));
