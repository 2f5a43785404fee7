// SPDX-License-Identifier: GPL-2.0
/*
 * Which lane a connection of the multiplexer has. What one side encodes the other decodes, and
 * invalid values are refused: that is tested by fuzzing (tests/fuzz/mux_fuzz.c). kfi.ko does not
 * export these functions, so their source is compiled into this module.
 */
#include <kfi_mux.h>
#include "suite.h"
#include "../../kfi/mux/record.c"

/*
 * A pair of ports has one lane, whoever calls. Connections of one port with many, of many pairs of
 * ports, and of callers without a port, are spread over all lanes.
 */
static void lanes_of_calls(struct kunit *test)
{
	unsigned int lanes, count[4][KFI_MUX_LANES], i, kind, lane;
	struct kmw_calling calls[4], back;

	for (lanes = 1; lanes <= KFI_MUX_LANES; lanes++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < 64 * lanes; i++) {
			calls[0] = (struct kmw_calling) { .from = 4420, .to = 0x10000 + i };
			calls[1] = (struct kmw_calling) { .from = 0x10000 + i, .to = 4420 };
			calls[2] = (struct kmw_calling) { .from = 0x10000 + i, .to = 0x10000 + i };
			calls[3] = (struct kmw_calling) { .number = 0x1234567 + i, .to = 4420 };
			for (kind = 0; kind < 4; kind++) {
				lane = kmw_call_lane(&calls[kind], true, lanes);
				count[kind][lane]++;
				back.from = calls[kind].to;
				back.to = calls[kind].from;
				if (kind != 3)
					KUNIT_EXPECT_EQ(test, lane,
							kmw_call_lane(&back, false, lanes));
			}
		}
		for (kind = 0; kind < 4; kind++)
			for (i = 0; i < lanes; i++)
				KUNIT_EXPECT_GE(test, count[kind][i], 32U);
	}
}

KFI_SUITE(kfi_mux,
	KUNIT_CASE(lanes_of_calls));
