// SPDX-License-Identifier: GPL-2.0
/*
 * Credits: a sender never sends more than there is room for, a receiver never accepts more, and
 * what was freed always returns to the sender, also when the counts wrap around.
 */
#include <linux/prandom.h>
#include <linux/random.h>
#include "../../kfi/proto/credit.h"
#include "crew.h"

static void take_and_charge(struct kunit *test)
{
	struct kfi_credit_tx tx;
	struct kfi_credit_rx rx;

	kfi_credit_init(&tx, &rx, 10, 7);
	KUNIT_EXPECT_TRUE(test, kfi_credit_take(&tx, 0));
	KUNIT_EXPECT_TRUE(test, kfi_credit_take(&tx, 5));
	KUNIT_EXPECT_FALSE(test, kfi_credit_take(&tx, 3));
	KUNIT_EXPECT_EQ(test, 5u, tx.used);
	KUNIT_EXPECT_TRUE(test, kfi_credit_take(&tx, 2));
	KUNIT_EXPECT_FALSE(test, kfi_credit_take(&tx, 1));
	KUNIT_EXPECT_TRUE(test, kfi_credit_charge(&rx, 10));
	KUNIT_EXPECT_FALSE(test, kfi_credit_charge(&rx, 1));
	KUNIT_EXPECT_FALSE(test, kfi_credit_charge(&rx, U32_MAX));
	KUNIT_EXPECT_EQ(test, 10u, rx.used);
}

static void update_is_suspicious(struct kunit *test)
{
	struct kfi_credit_tx tx;
	struct kfi_credit_rx rx;

	kfi_credit_init(&tx, &rx, 8, 8);
	KUNIT_ASSERT_TRUE(test, kfi_credit_take(&tx, 6));
	KUNIT_EXPECT_EQ(test, 1, kfi_credit_update(&tx, 12, 8));
	KUNIT_EXPECT_EQ(test, 0, kfi_credit_update(&tx, 12, 8));	/* a duplicate */
	KUNIT_EXPECT_EQ(test, 0, kfi_credit_update(&tx, 9, 8));		/* an old one */
	KUNIT_EXPECT_EQ(test, 12u, tx.limit);
	/* more was freed than was used */
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_credit_update(&tx, 15, 8));
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_credit_update(&tx, 12u + S32_MAX, 8));
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_credit_update(&tx, 12u - 9, 8));
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_credit_update(&tx, 12u + 0x80000000u, 8));
	KUNIT_EXPECT_EQ(test, 12u, tx.limit);
	KUNIT_EXPECT_EQ(test, 1, kfi_credit_update(&tx, 14, 8));
}

static void huge_windows_are_cut(struct kunit *test)
{
	struct kfi_credit_tx tx;
	struct kfi_credit_rx rx;

	kfi_credit_init(&tx, &rx, U32_MAX, U32_MAX);
	KUNIT_EXPECT_EQ(test, (u32)S32_MAX, rx.allowance);
	KUNIT_EXPECT_EQ(test, (u32)S32_MAX, tx.limit);
}

/*
 * Both ends of a connection run at random while the counts wrap around; advertisements are lost,
 * repeated and late. Always 0 <= used - freed <= allowance, and no valid message is refused; at
 * the end everything can be sent.
 */
static void traffic(struct kunit *test, u32 allowance)
{
	u32 inflight = 0, held = 0, sent = 0, adverts[2], i, n;
	u64 seed = get_random_u64();
	struct kfi_credit_tx tx;
	struct kfi_credit_rx rx;
	struct rnd_state rnd;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&rnd, seed);
	kfi_credit_init(&tx, &rx, allowance, allowance);
	tx.used = rx.used = rx.freed = U32_MAX - 500;
	tx.limit = rx.advertised = rx.freed + allowance;
	adverts[0] = adverts[1] = rx.advertised;
	for (i = 0; i < 20000; i++) {
		n = 1 + prandom_u32_state(&rnd) % 4;
		switch (prandom_u32_state(&rnd) % 4) {
		case 0:
			if (!kfi_credit_take(&tx, n))
				break;
			inflight += n;
			sent += n;
			break;
		case 1:
			n = min(n, inflight);
			KUNIT_ASSERT_TRUE(test, kfi_credit_charge(&rx, n));
			inflight -= n;
			held += n;
			break;
		case 2:
			n = min(n, held);
			held -= n;
			if (!kfi_credit_free(&rx, n))
				break;
			adverts[0] = adverts[1];
			adverts[1] = kfi_credit_advert(&rx);
			break;
		case 3:
			KUNIT_ASSERT_GE(test, kfi_credit_update(&tx, adverts[n % 2], allowance), 0);
			break;
		}
		KUNIT_ASSERT_LE(test, inflight + held, allowance);
		KUNIT_ASSERT_LE(test, tx.limit - tx.used, allowance);
		KUNIT_ASSERT_EQ(test, rx.used - rx.freed, held);
	}
	KUNIT_ASSERT_TRUE(test, kfi_credit_charge(&rx, inflight));
	kfi_credit_free(&rx, held + inflight);
	kfi_credit_update(&tx, kfi_credit_advert(&rx), allowance);
	KUNIT_EXPECT_TRUE(test, kfi_credit_take(&tx, allowance));
	KUNIT_EXPECT_FALSE(test, kfi_credit_take(&tx, 1));
	KUNIT_EXPECT_GT(test, sent, 500);	/* or what was freed was not advertised */
}

static void random_traffic_over_the_wrap(struct kunit *test)
{
	traffic(test, 1);
	traffic(test, 2);
	traffic(test, 13);
}

KFI_SUITE(kfi_credit,
	KUNIT_CASE(take_and_charge),
	KUNIT_CASE(update_is_suspicious),
	KUNIT_CASE(huge_windows_are_cut),
	KUNIT_CASE(random_traffic_over_the_wrap));
