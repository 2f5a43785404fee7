// SPDX-License-Identifier: GPL-2.0
/*
 * IP names: their order, their source, and their form in proofs. What queries ask for is tested by
 * the list of conformance (info.*).
 */
#include <linux/inet.h>
#include <linux/mm.h>
#include <net/net_namespace.h>
#include <kfi_inaddr.h>
#include "suite.h"

static union kfi_inaddr in4(u32 ip, u16 port)
{
	return (union kfi_inaddr) { .in = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip),
	} };
}

/* The order is total and antisymmetric over all names. */
static void inaddr_order(struct kunit *test)
{
	union kfi_inaddr names[] = {
		in4(0x01000000, 255), in4(0x01000000, 256), in4(0x01000001, 1), in4(0x02000000, 1),
		{ .in6 = { .sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr.s6_addr = { [15] = 1 } } },
		{ .in6 = { .sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr.s6_addr = { [0] = 1 } } },
	};
	int i, j, cmp;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (j = 0; j < ARRAY_SIZE(names); j++) {
			cmp = kfi_inaddr_cmp(&names[i], &names[j]);
			KUNIT_EXPECT_EQ_MSG(test, i < j, cmp < 0, "%d and %d", i, j);
			KUNIT_EXPECT_EQ_MSG(test, i == j, !cmp, "%d and %d", i, j);
		}
	}
}

static union kfi_inaddr in6(u8 first, u32 scope)
{
	return (union kfi_inaddr) { .in6 = { .sin6_family = AF_INET6, .sin6_scope_id = scope,
		.sin6_addr.s6_addr = { first, 0x80, [15] = 1 } } };
}

/* Link-local addresses of two links are two hosts, unless one of the names has no scope. */
static void inaddr_scope(struct kunit *test)
{
	union kfi_inaddr any = in6(0xfe, 0), one = in6(0xfe, 1), two = in6(0xfe, 2);
	union kfi_inaddr wide1 = in6(0x20, 1), wide2 = in6(0x20, 2);

	KUNIT_EXPECT_LT(test, kfi_inaddr_cmp(&one, &two), 0);
	KUNIT_EXPECT_GT(test, kfi_inaddr_cmp(&two, &one), 0);
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&one, &one));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&any, &two));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&wide1, &wide2));
	KUNIT_EXPECT_EQ(test, kfi_inaddr_hash(&any), kfi_inaddr_hash(&two));
}

/* Limits for peers ignore the port, and the host part of an IPv6 address. */
static void inaddr_origin(struct kunit *test)
{
	union kfi_inaddr four[] = { in4(0xc0000207, 5), in4(0xc0000207, 6), in4(0xc0000208, 5) };
	union kfi_inaddr six[] = {
		{ .in6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { [7] = 1, [8] = 1 } } },
		{ .in6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { [7] = 1, [15] = 1 } } },
		{ .in6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { [7] = 2, [8] = 1 } } },
	};
	int i;

	for (i = 0; i < 3; i++) {
		kfi_inaddr_name_origin(&four[i], &four[i]);
		kfi_inaddr_name_origin(&six[i], &six[i]);
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&four[0], &four[1]));
	KUNIT_EXPECT_NE(test, 0, kfi_inaddr_cmp(&four[0], &four[2]));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&six[0], &six[1]));
	KUNIT_EXPECT_NE(test, 0, kfi_inaddr_cmp(&six[0], &six[2]));
}

/* The form of a name that both sides use in proofs: an IPv6 address and a port, big endian. */
static void inaddr_wire(struct kunit *test)
{
	static const u8 four[18] = { [10] = 0xff, 0xff, 0xc0, 0, 2, 7, 0x12, 0x34 };
	static const u8 six[18] = { 0xfe, 0x80, [15] = 9, 0x12, 0x34 };
	union kfi_inaddr name = in4(0xc0000207, 0x1234);
	u8 bytes[18];

	KUNIT_EXPECT_EQ(test, sizeof(bytes), kfi_inaddr_name_wire(&name, bytes));
	KUNIT_EXPECT_MEMEQ(test, four, bytes, sizeof(bytes));
	name = (union kfi_inaddr) { .in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(0x1234), .sin6_scope_id = 3,
		.sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 9 },
	} };
	KUNIT_EXPECT_EQ(test, sizeof(bytes), kfi_inaddr_name_wire(&name, bytes));
	KUNIT_EXPECT_MEMEQ(test, six, bytes, sizeof(bytes));
}

KFI_SUITE(kfi_inaddr,
	KUNIT_CASE(inaddr_order),
	KUNIT_CASE(inaddr_scope),
	KUNIT_CASE(inaddr_origin),
	KUNIT_CASE(inaddr_wire));
