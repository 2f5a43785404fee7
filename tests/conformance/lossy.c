// SPDX-License-Identifier: GPL-2.0
/*
 * Cases on a wire that loses packets, which RDMA devices and TCP have to repeat. The script makes
 * the wire lose packets after the pairs were connected, because a lost connection request takes
 * seconds.
 */
#include "harness.h"

#define PARTING_PAIRS	10

/* A sender that closes at once waits until lost packets were repeated. */
static void parting_lossy(struct test *t)
{
	struct pair *p[PARTING_PAIRS];
	int i;

	for (i = 0; i < PARTING_PAIRS; i++) {
		p[i] = pair_open(t, NULL, NULL);
		REQUIRE(t, p[i]);
		still_works(p[i]);
	}
	REQUIRE(t, script_ask(t, "lossy", 0));
	for (i = 0; i < PARTING_PAIRS && !t->failures; i++)
		pair_part(p[i], i & 1);
	script_ask(t, "lossless", 0);
}

static void stress_lossy(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);

	REQUIRE(t, p);
	still_works(p);
	REQUIRE(t, script_ask(t, "lossy", 0));
	stress_pairs(t, &p, 1);
	script_ask(t, "lossless", 0);
}

const struct test_case lossy_cases[] = {
	{ "lossy.parting", T_REL, CASE_SCRIPT, C_MSG, parting_lossy },
	{ "lossy.stress", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, stress_lossy },
	{ }
};
