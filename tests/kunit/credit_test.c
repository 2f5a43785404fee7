// SPDX-License-Identifier: GPL-2.0
/*
 * Credits: a sender never sends more than there is room for, a receiver never accepts more, and
 * what was freed always returns to the sender, also when the counts wrap around.
 */
#include <kunit/test.h>
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

/* Each credit freed of an allowance of one is advertised at once, or both sides would wait. */
static void window_of_one(struct kunit *test)
{
	struct kfi_credit_tx tx;
	struct kfi_credit_rx rx;
	int i;

	kfi_credit_init(&tx, &rx, 1, 1);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_TRUE(test, kfi_credit_take(&tx, 1));
		KUNIT_ASSERT_FALSE(test, kfi_credit_take(&tx, 1));
		KUNIT_ASSERT_TRUE(test, kfi_credit_charge(&rx, 1));
		KUNIT_ASSERT_TRUE(test, kfi_credit_free(&rx, 1));
		KUNIT_ASSERT_EQ(test, 1, kfi_credit_update(&tx, kfi_credit_advert(&rx), 1));
	}
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
 * repeated and late. Always 0 <= used - freed <= allowance, and no valid message is refused; at the
 * end everything can be sent.
 */
static void random_traffic_over_the_wrap(struct kunit *test)
{
	u32 allowance = 13, inflight = 0, held = 0, adverts[2], i, n;
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
			if (kfi_credit_take(&tx, n))
				inflight += n;
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
}

/* ---- several CPUs ---- */

#define WIRE_WINDOW	17
#define WIRE_CREDITS	8000	/* credits that each sender sends */
#define WIRE_SENDERS	2
#define WIRE_THREADS	5

/**
 * struct wire - both ends of a connection, with the locks that a provider has for them
 * @tx: the sender's half, under @tx_lock
 * @rx: the receiver's half, under @rx_lock
 * @advert: the last advertisement; senders read it at any time
 * @sent: credits sent and not received
 * @held: credits received and not freed
 * @busy: @sent and @held together
 * @left: senders that have not finished
 * @freed: credits that were freed
 * @wrong: how often a half refused or permitted what it must not
 */
struct wire {
	spinlock_t		tx_lock, rx_lock;
	struct kfi_credit_tx	tx;
	struct kfi_credit_rx	rx;
	u32			advert;
	atomic_t		sent, held, busy, left, freed, wrong, most;
};

/* Take up to @n credits from @count. Return: how many. */
static int wire_grab(atomic_t *count, int n)
{
	int have = atomic_read(count), got;

	do {
		got = min(have, n);
	} while (got && !atomic_try_cmpxchg(count, &have, have - got));
	return got;
}

static void wire_send(struct wire *w, struct rnd_state *rnd)
{
	int n, left = WIRE_CREDITS, busy;
	bool taken;

	while (left) {
		n = min_t(int, left, 1 + prandom_u32_state(rnd) % 5);
		spin_lock(&w->tx_lock);
		if (kfi_credit_update(&w->tx, READ_ONCE(w->advert), WIRE_WINDOW) < 0)
			atomic_inc(&w->wrong);
		taken = kfi_credit_take(&w->tx, n);
		spin_unlock(&w->tx_lock);
		crew_dawdle(rnd);
		if (!taken) {
			crew_turn();
			continue;
		}
		busy = atomic_add_return(n, &w->busy);
		if (busy > WIRE_WINDOW)
			atomic_inc(&w->wrong);
		if (busy > atomic_read(&w->most))
			atomic_set(&w->most, busy);
		atomic_add(n, &w->sent);
		left -= n;
	}
	atomic_dec(&w->left);
}

/* Charge credits that were sent, and free those that were charged, here or in another thread. */
static void wire_receive(struct wire *w, struct rnd_state *rnd)
{
	int n;

	while (atomic_read(&w->left) || atomic_read(&w->busy)) {
		n = wire_grab(&w->sent, 1 + prandom_u32_state(rnd) % 5);
		spin_lock(&w->rx_lock);
		if (n && !kfi_credit_charge(&w->rx, n))
			atomic_inc(&w->wrong);
		spin_unlock(&w->rx_lock);
		atomic_add(n, &w->held);
		crew_dawdle(rnd);
		n = wire_grab(&w->held, 1 + prandom_u32_state(rnd) % 7);
		atomic_sub(n, &w->busy);
		atomic_add(n, &w->freed);
		spin_lock(&w->rx_lock);
		if (n && kfi_credit_free(&w->rx, n))
			WRITE_ONCE(w->advert, kfi_credit_advert(&w->rx));
		spin_unlock(&w->rx_lock);
		crew_dawdle(rnd);
		crew_turn();
	}
}

static void wire_end(void *arg, unsigned int id, struct rnd_state *rnd)
{
	if (id < WIRE_SENDERS)
		wire_send(arg, rnd);
	else
		wire_receive(arg, rnd);
}

/*
 * There are never more credits in use than there is room for, no credit that was granted is
 * refused, and all credits arrive.
 */
static void window_holds_on_all_cpus(struct kunit *test)
{
	struct wire *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	spin_lock_init(&w->tx_lock);
	spin_lock_init(&w->rx_lock);
	kfi_credit_init(&w->tx, &w->rx, WIRE_WINDOW, WIRE_WINDOW);
	/* wrap around */
	w->tx.used = w->rx.used = w->rx.freed = U32_MAX - WIRE_CREDITS;
	w->tx.limit = w->rx.advertised = w->advert = w->rx.freed + WIRE_WINDOW;
	atomic_set(&w->left, WIRE_SENDERS);
	crew_run(test, WIRE_THREADS, wire_end, w);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->wrong));
	KUNIT_EXPECT_EQ(test, WIRE_SENDERS * WIRE_CREDITS, atomic_read(&w->freed));
	KUNIT_EXPECT_EQ(test, w->rx.used, w->rx.freed);
	KUNIT_EXPECT_EQ(test, w->tx.used, w->rx.used);
	/* or it was never nearly full */
	KUNIT_EXPECT_GT(test, atomic_read(&w->most), WIRE_WINDOW / 2);
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(take_and_charge),
	KUNIT_CASE(window_of_one),
	KUNIT_CASE(update_is_suspicious),
	KUNIT_CASE(huge_windows_are_cut),
	KUNIT_CASE(random_traffic_over_the_wrap),
	KUNIT_CASE_SLOW(window_holds_on_all_cpus),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "kfi_credit",
	.test_cases = credit_cases,
};
kunit_test_suite(credit_suite);
