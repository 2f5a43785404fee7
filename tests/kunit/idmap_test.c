// SPDX-License-Identifier: GPL-2.0
/*
 * idmap_test.c - the map of fabric ids when it is full, and while it changes. What may be added
 * and how it is shown is tested through netlink (tests/netlink/map.py).
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "crew.h"
#include "../../kfi/registry.h"

#define MOST	65536	/* entries that fit */

static __be32 ip(u32 host)
{
	return htonl(0x0a000000 + host);
}

static int add(u32 id, __be32 addr)
{
	return kfi_idmap_add(&init_net, id, addr);
}

static int del(u32 id)
{
	return kfi_idmap_del(&init_net, id);
}

/* Count the ids from @from on, at most @max; *@last is the last of them. */
static int count_from(u32 from, int max, u32 *last)
{
	__be32 addr;
	u32 id;
	int n;

	for (id = from, n = 0; n < max && !kfi_idmap_next(&init_net, &id, &addr); id++, n++)
		*last = id;
	return n;
}

static void clear_map(struct kunit *test)
{
	u32 id = 0;

	while (count_from(0, 1, &id) && !del(id))
		;
	KUNIT_EXPECT_EQ(test, count_from(0, 1, &id), 0);
}

/* ---- the cases ---- */

static void test_full(struct kunit *test)
{
	u32 id, last = 0;

	for (id = 1; id <= MOST; id++)
		KUNIT_ASSERT_EQ(test, add(id, ip(id)), 0);
	KUNIT_EXPECT_EQ(test, add(MOST + 1, ip(MOST + 1)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add(1, ip(MOST + 1)), -EEXIST);
	KUNIT_EXPECT_EQ(test, add(MOST + 1, ip(1)), -EEXIST);
	KUNIT_EXPECT_EQ(test, del(7), 0);
	KUNIT_EXPECT_EQ(test, add(MOST + 1, ip(MOST + 1)), 0);
	KUNIT_EXPECT_EQ(test, add(7, ip(7)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, count_from(0, 2 * MOST, &last), MOST);
}

/* ---- concurrent changes ---- */

#define IDS	40	/* ids that are added and removed */

/**
 * struct looker - a thread that looks up ids which another thread changes
 * @failed: changes that have failed
 * @found: successful look-ups
 * @wrong: look-ups with a result that was not added
 */
struct looker {
	bool		stop;
	unsigned int	failed, found, wrong;
};

static void look(struct looker *l, u32 id)
{
	__be32 addr;
	u32 other;

	if (!kfi_idmap_addr(&init_net, id, &addr)) {
		l->found++;
		l->wrong += addr != ip(id);
	}
	if (!kfi_idmap_id(&init_net, ip(id), &other)) {
		l->found++;
		l->wrong += other != id;
	}
	if (!kfi_idmap_next(&init_net, &id, &addr)) {
		l->found++;
		l->wrong += addr != ip(id);
	}
}

/* Thread 0 changes the map, the other one looks. */
static void change(void *arg, unsigned int thread, struct rnd_state *rnd)
{
	struct looker *l = arg;
	u32 id, n;

	for (n = 0; thread && !READ_ONCE(l->stop); n++) {
		look(l, 1 + n % IDS);
		crew_turn();
	}
	for (n = 0; !thread && n < 600; n++) {
		for (id = 1; id <= IDS; id++)
			l->failed += n & 1 ? !!del(id) : !!add(id, ip(id));
		crew_turn();
	}
	WRITE_ONCE(l->stop, true);
}

static void test_changing(struct kunit *test)
{
	struct looker *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	crew_run(test, 2, change, l);
	KUNIT_EXPECT_EQ(test, l->failed, 0U);
	KUNIT_EXPECT_GT(test, l->found, 100U);
	KUNIT_EXPECT_EQ(test, l->wrong, 0U);
}

static struct kunit_case idmap_cases[] = {
	KUNIT_CASE_SLOW(test_full),
	KUNIT_CASE(test_changing),
	{ }
};

static struct kunit_suite idmap_suite = {
	.name = "kfi-idmap",
	.exit = clear_map,
	.test_cases = idmap_cases,
};
kunit_test_suite(idmap_suite);
