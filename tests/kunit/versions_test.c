// SPDX-License-Identifier: GPL-2.0
/*
 * What two sides of a wire agree on (kfi_versions.h), and the table of peers without a version in
 * common (kfi/versions.c).
 */
#include <net/net_namespace.h>
#include <kfi_versions.h>
#include "suite.h"

#define TABLE	64	/* peers that the table has room for */

/* Both sides compute the same, whatever version each of them is of. */
static void both_sides_agree(struct kunit *test)
{
	static const struct {
		struct kfi_versions a, b;
		u8 version;
		u32 features;
	} rows[] = {
		{ { 1, 1, 0 }, { 1, 1, 0 }, 1, 0 },
		{ { 3, 3, 0 }, { 3, 4, 1 }, 3, 0 },
		{ { 3, 4, 1 }, { 3, 4, 1 }, 4, 1 },
		{ { 3, 5, 7 }, { 4, 4, 0xa }, 4, 2 },
		{ { 1, 9, ~0U }, { 9, 255, 0x80000001 }, 9, 0x80000001 },
		{ { 255, 255, 0 }, { 1, 255, 0 }, 255, 0 },
		{ { 3, 3, 1 }, { 4, 5, 1 }, 0 },
		{ { 3, 3, 1 }, { 1, 2, 1 }, 0 },
		{ { 1, 1, 0 }, { 255, 255, 0 }, 0 },
	};
	struct kfi_versions one, other;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ret = rows[i].version ? 0 : -EPROTONOSUPPORT;
		KUNIT_EXPECT_EQ_MSG(test, ret, kfi_versions_agree(&rows[i].a, &rows[i].b, &one),
				    "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, ret, kfi_versions_agree(&rows[i].b, &rows[i].a, &other),
				    "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].version, one.highest, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].version, one.lowest, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].features, one.features, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, one.highest, other.highest, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, one.features, other.features, "row %d", i);
	}
}

/* A range that is none is not agreed with, and one version is sent as sides without ranges did. */
static void ranges_are_read(struct kunit *test)
{
	static const struct kfi_versions ours = { 3, 5, 1 }, alone = { 4, 4, 0 };
	struct kfi_versions v, agreed;

	v = kfi_versions_read(0, 0, 0);
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_versions_agree(&ours, &v, &agreed));
	v = kfi_versions_read(4, 5, 1);
	KUNIT_EXPECT_EQ(test, -EPROTO, kfi_versions_agree(&ours, &v, &agreed));
	KUNIT_EXPECT_EQ(test, 0U, agreed.highest);
	v = kfi_versions_read(4, 0, 0);
	KUNIT_EXPECT_EQ(test, 4U, v.lowest);
	KUNIT_EXPECT_EQ(test, 0U, kfi_versions_lowest(&alone));
	KUNIT_EXPECT_EQ(test, 3U, kfi_versions_lowest(&ours));
}

static struct kfi_wire wire = {
	.name = "a test", .speaks = &(const struct kfi_versions) { .lowest = 3, .highest = 3 },
};

static void refuse(struct net *net, int peer)
{
	static const struct kfi_versions theirs = { .lowest = 4, .highest = 5 };
	char name[16];

	snprintf(name, sizeof(name), "peer%d", peer);
	kfi_wire_refused(net, &wire, name, &theirs);
}

static void meet(struct net *net, int peer)
{
	char name[16];

	snprintf(name, sizeof(name), "peer%d", peer);
	kfi_wire_met(net, &wire, name);
}

/* A peer is forgotten when both sides have agreed, in its own namespace and on its own wire. */
static void refused_until_met(struct kunit *test)
{
	struct net *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_FALSE(test, kfi_wire_any_refused());
	kfi_wire_register(&wire);
	refuse(&init_net, 1);
	refuse(&init_net, 1);
	KUNIT_EXPECT_TRUE(test, kfi_wire_any_refused());
	meet(other, 1);
	meet(&init_net, 2);
	KUNIT_EXPECT_TRUE(test, kfi_wire_any_refused());
	meet(&init_net, 1);
	KUNIT_EXPECT_FALSE(test, kfi_wire_any_refused());
	refuse(&init_net, 3);
	kfi_wire_unregister(&wire);
	KUNIT_EXPECT_FALSE(test, kfi_wire_any_refused());
}

/* Anybody may pose as any number of peers. Those that were refused last stay. */
static void refused_are_bounded(struct kunit *test)
{
	int i;

	KUNIT_ASSERT_FALSE(test, kfi_wire_any_refused());
	kfi_wire_register(&wire);
	for (i = 0; i < 3 * TABLE; i++) {
		refuse(&init_net, i);
		refuse(&init_net, 0);	/* an honest one that tries again */
	}
	KUNIT_EXPECT_TRUE(test, kfi_wire_any_refused());
	meet(&init_net, 0);
	for (i = 2 * TABLE + 1; i < 3 * TABLE; i++)
		meet(&init_net, i);
	KUNIT_EXPECT_FALSE(test, kfi_wire_any_refused());
	kfi_wire_unregister(&wire);
}

KFI_SUITE(kfi_versions,
	KUNIT_CASE(both_sides_agree),
	KUNIT_CASE(ranges_are_read),
	KUNIT_CASE(refused_until_met),
	KUNIT_CASE(refused_are_bounded));
