// SPDX-License-Identifier: GPL-2.0
/*
 * Which host is behind a cable of kfi_usb4, and how both hosts call the ends of a way. The module has
 * no exported functions, so their source is compiled into this one.
 */
#include "suite.h"
#include "../../providers/usb4/same.c"

/* A cable of this host to the host b, which has not logged in yet; UUIDs of one byte are enough. */
static struct u4_seen cable(u8 local, u8 remote, u32 here)
{
	struct u4_seen seen = { .host = "b", .here = here };

	seen.local[0] = local;
	seen.remote[0] = remote;
	return seen;
}

static struct u4_seen logged_in(u8 local, u8 remote, u32 here, u32 there, u64 hardware)
{
	struct u4_seen seen = cable(local, remote, here);

	seen.said = (struct u4_said) { .machine = 1, .hardware = hardware, .place = there };
	return seen;
}

/* A host that has booted may have another UUID, and the cable may be in another port. */
static void booted_host(struct kunit *test)
{
	struct u4_seen then = logged_in(0xa0, 0xb0, 1, 3, 77), now;
	unsigned int alike;

	now = cable(0xa0, 0xb0, 1);
	alike = u4_same(&then, &now);
	KUNIT_EXPECT_GT(test, alike, 0U);
	now = logged_in(0xa0, 0xb0, 1, 3, 77);
	KUNIT_EXPECT_GT(test, u4_same(&then, &now), alike);

	now = logged_in(0xa0, 0xb7, 1, 3, 77);
	KUNIT_EXPECT_GT(test, u4_same(&then, &now), 0U);
	now = logged_in(0xa1, 0xb7, 5, 7, 77);
	KUNIT_EXPECT_GT(test, u4_same(&then, &now), 0U);
	now = logged_in(0xa1, 0xb7, 5, 7, 0);	/* its firmware does not say what it is */
	KUNIT_EXPECT_GT(test, u4_same(&then, &now), 0U);
	/* renamed, and no other UUID */
	now = logged_in(0xa0, 0xb0, 1, 3, 77);
	strscpy(now.host, "bee");
	KUNIT_EXPECT_GT(test, u4_same(&then, &now), 0U);
}

static void another_host(struct kunit *test)
{
	struct u4_seen then = logged_in(0xa0, 0xb0, 1, 3, 77), now;

	now = logged_in(0xa0, 0xc0, 1, 3, 77);
	strscpy(now.host, "c");
	KUNIT_EXPECT_EQ(test, u4_same(&then, &now), 0U);
	/* two machines with one name */
	now = logged_in(0xa0, 0xb7, 1, 3, 78);
	KUNIT_EXPECT_EQ(test, u4_same(&then, &now), 0U);
	/* a card that was moved to another machine, of whatever name */
	now = logged_in(0xa0, 0xb0, 1, 3, 78);
	KUNIT_EXPECT_EQ(test, u4_same(&then, &now), 0U);
}

/* Of two ways that wait for a host with another UUID, each gets the cable between its ports. */
static void two_cables(struct kunit *test)
{
	const struct u4_seen way[2] = {
		logged_in(0xa0, 0xb0, 1, 3, 0), logged_in(0xa0, 0xb0, 3, 1, 0),
	};
	/* @there is 0 where the host has not logged in yet */
	static const struct {
		u32 here, there;
	} is[] = {
		{ 1, 0 }, { 3, 0 },
		{ 1, 3 }, { 3, 1 },
		/* moved to another port here: the other end tells them apart */
		{ 5, 3 }, { 5, 1 },
		/* crossed: this end does */
		{ 1, 1 }, { 3, 3 },
	};
	struct u4_seen now;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(is); i++) {
		now = is[i].there ? logged_in(0xa0, 0xb7, is[i].here, is[i].there, 0) :
				    cable(0xa0, 0xb7, is[i].here);
		KUNIT_EXPECT_GT(test, u4_same(&way[i & 1], &now), u4_same(&way[!(i & 1)], &now));
	}
}

/* What the host at one end finds is what the one at the other end finds, turned round. */
static void agree(struct kunit *test, const struct u4_said *a, const struct u4_said *b, u8 own,
		  u8 peer)
{
	struct u4_seen at_a = cable(0xa0, 0xb0, 1), at_b = cable(0xb0, 0xa0, 3);
	u8 names[4][U4W_UUID];

	at_a.said = *b;
	at_b.said = *a;
	KUNIT_EXPECT_EQ(test, u4_agree(&at_a, a, names[0], names[1]), names[0][1] == 'a');
	KUNIT_EXPECT_EQ(test, u4_agree(&at_b, b, names[2], names[3]), names[2][1] == 'b');
	KUNIT_EXPECT_EQ(test, names[0][0], own);
	KUNIT_EXPECT_EQ(test, names[1][0], peer);
	KUNIT_EXPECT_EQ(test, memcmp(names[0], names[3], U4W_UUID), 0);
	KUNIT_EXPECT_EQ(test, memcmp(names[1], names[2], U4W_UUID), 0);
}

static struct u4_said says(char who, enum u4w_names names, u8 own, u8 peer)
{
	struct u4_said said = { .machine = 1, .names = names };

	if (!names)
		return said;
	said.own[0] = own;
	said.peer[0] = peer;
	said.own[1] = who;
	said.peer[1] = who;
	return said;
}

static void one_result(struct kunit *test)
{
	struct u4_said a, b;

	a = says('a', U4W_NAMES_NONE, 0, 0);
	b = says('b', U4W_NAMES_NONE, 0, 0);
	agree(test, &a, &b, 0xa0, 0xb0);
	/* the host that has not booted has a way */
	a = says('a', U4W_NAMES_WAIT, 0xa4, 0xb4);
	agree(test, &a, &b, 0xa4, 0xb4);
	a = says('a', U4W_NAMES_NONE, 0, 0);
	b = says('b', U4W_NAMES_WAIT, 0xb5, 0xa5);
	agree(test, &a, &b, 0xa5, 0xb5);
	/* both have one: that of the cable is worth more than one that waits */
	a = says('a', U4W_NAMES_WAIT, 0xa4, 0xb4);
	agree(test, &a, &b, 0xa4, 0xb4);
	b = says('b', U4W_NAMES_HAVE, 0xb5, 0xa5);
	agree(test, &a, &b, 0xa5, 0xb5);
	a = says('a', U4W_NAMES_HAVE, 0xa4, 0xb4);
	agree(test, &a, &b, 0xa4, 0xb4);
}

/* What a LOGIN says comes out as it was. */
static void round_trip(struct kunit *test)
{
	struct u4_said said = {
		.machine = 0x0123456789abcdefULL, .hardware = 0xfedcba9876543210ULL,
		.place = 0x13579bdf, .names = U4W_NAMES_HAVE, .own = { 1, 2 }, .peer = { 3 },
		.held = { .own = 0x11223344, .peer = 0x55667788, .next = 0x99aabbcc, .high = 7 },
	}, out;
	struct u4w_msg msg = {};

	u4_said_put(&said, &msg);
	memset(&out, 0xff, sizeof(out));
	u4_said_get(&msg, &out);
	KUNIT_EXPECT_EQ(test, memcmp(&said, &out, sizeof(said)), 0);
}

#define FAR	0xfffffff0U	/* numbers of frames wrap */
#define WINDOW	256

/*
 * A life goes on if both hosts hold the same one, and each has sent what the other one expects.
 * What host a finds is what host b finds, if none of them lies about frames that were acknowledged.
 */
static void resumed(struct kunit *test)
{
	static const struct {
		const char	*what;
		u64		machine;
		struct u4_held	a, b;
		u32		una_a, una_b;
		bool		at_a, at_b;
	} rows[] = {
		{ "nothing was sent", 1, { 5, 6, 0, 0 }, { 6, 5, 0, 0 }, 0, 0, true, true },
		{ "all has arrived", 1, { 5, 6, 9, FAR }, { 6, 5, FAR, 9 }, FAR, 9, true, true },
		{ "some has arrived", 1, { 5, 6, 7, FAR + 40 }, { 6, 5, FAR + 20, 9 }, FAR, 5,
		  true, true },
		{ "a window", 1, { 5, 6, FAR, 0 }, { 6, 5, 0, FAR + WINDOW }, 0, FAR, true, true },
		{ "b has begun anew", 2, { 5, 6, 9, 9 }, { 6, 5, 9, 9 }, 9, 9, false, true },
		{ "b holds none", 1, { 5, 6, 9, 9 }, {}, 9, 9, false, false },
		{ "b holds another", 1, { 5, 6, 9, 9 }, { 7, 5, 9, 9 }, 9, 9, false, false },
		{ "b means another", 1, { 5, 6, 9, 9 }, { 6, 7, 9, 9 }, 9, 9, false, false },
		{ "not turned round", 1, { 5, 6, 9, 9 }, { 5, 6, 9, 9 }, 9, 9, false, false },
		{ "b expects what was not sent", 1, { 5, 6, 9, 9 }, { 6, 5, 10, 9 }, 9, 9,
		  false, false },
		{ "b expects what it had", 1, { 5, 6, 9, 9 }, { 6, 5, 8, 9 }, 9, 9, false, true },
		{ "b has sent less than came", 1, { 5, 6, 9, 9 }, { 6, 5, 9, 8 }, 9, 8,
		  false, false },
		{ "more than a window", 1, { 5, 6, FAR, 0 }, { 6, 5, 0, FAR + WINDOW + 1 }, 0, FAR,
		  false, true },
		{ "far away", 1, { 5, 6, 9, 9 }, { 6, 5, 9 + (1U << 31), 9 }, 9, 9, false, false },
	};
	struct u4_said a = { .machine = 1 }, b = {};
	const char *why;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		b.machine = rows[i].machine;
		a.held = rows[i].a;
		b.held = rows[i].b;
		why = u4_may_resume(&a, &b, 1, rows[i].una_a, WINDOW);
		KUNIT_EXPECT_EQ_MSG(test, !why, rows[i].at_a, "a: %s", rows[i].what);
		why = u4_may_resume(&b, &a, 1, rows[i].una_b, WINDOW);
		KUNIT_EXPECT_EQ_MSG(test, !why, rows[i].at_b, "b: %s", rows[i].what);
	}
}

KFI_SUITE(kfi_usb4_same,
	KUNIT_CASE(booted_host),
	KUNIT_CASE(another_host),
	KUNIT_CASE(two_cables),
	KUNIT_CASE(one_result),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(resumed));
