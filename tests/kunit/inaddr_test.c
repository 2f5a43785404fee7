// SPDX-License-Identifier: GPL-2.0
/*
 * IP names: text, order, and what queries ask for. The addresses exist in every namespace, or
 * nowhere.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include <linux/mm.h>
#include <net/net_namespace.h>
#include <kfi_inaddr.h>

static union kfi_inaddr in4(u32 ip, u16 port)
{
	return (union kfi_inaddr) { .in = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip),
	} };
}

static void inaddr_text(struct kunit *test)
{
	static const struct {
		const char	*node, *service;
		int		family, ret;
		const char	*text;
	} cases[] = {
		{ "192.0.2.7", "4791", AF_INET, sizeof(struct sockaddr_in), "192.0.2.7:4791" },
		{ "2001:db8::7", "1", AF_INET6, sizeof(struct sockaddr_in6), "[2001:db8::7]:1" },
		{ "192.0.2.7", "0", AF_INET, -EINVAL },
		{ "192.0.2.7", "65536", AF_INET, -EINVAL },
		{ "192.0.2.7", "ssh", AF_INET, -EINVAL },
		{ "192.0.2.7", NULL, AF_INET, -EINVAL },
		{ NULL, "1", AF_INET, -EINVAL },
		{ "192.0.2", "1", AF_INET, -EINVAL },
		{ "0.0.0.0", "1", AF_INET, -EINVAL },
		{ "::", "1", AF_INET6, -EINVAL },
		{ "192.0.2.7", "1", AF_INET6, -EINVAL },
		{ "2001:db8::7", "1", AF_INET, -EINVAL },
		{ "lo", "1", AF_INET, -EINVAL },
	};
	union kfi_inaddr addr;
	char text[64];
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = kfi_inaddr_resolve(&init_net, cases[i].family, cases[i].node,
					 cases[i].service, &addr);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret, ret, "%d", i);
		if (ret < 0)
			continue;
		kfi_inaddr_str(&addr, ret, text, sizeof(text));
		KUNIT_EXPECT_STREQ(test, cases[i].text, text);
	}
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
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_ip_cmp(&names[0], &names[1]));
}

static void inaddr_source(struct kunit *test)
{
	union kfi_inaddr src = in4(0xc0000207, 5), got;
	struct kfi_info info = { .addr_format = KFI_SOCKADDR_IN6 };

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_source(&info, &got));
	KUNIT_EXPECT_EQ(test, AF_INET6, got.sa.sa_family);
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_any(&got));
	info.src_addr = &src;
	info.src_addrlen = sizeof(src.in);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_source(&info, &got));
	info.addr_format = KFI_SOCKADDR_IN;
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_source(&info, &got));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&src, &got));
	info.src_addrlen--;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_source(&info, &got));
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

static void inaddr_replace(struct kunit *test)
{
	union kfi_inaddr name = in4(0xc0000207, 5), other = in4(0xc0000208, 6);
	union kfi_inaddr six = { .in6.sin6_family = AF_INET6 };

	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_replace(&name, &other, sizeof(other.in) - 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_replace(&name, &six, sizeof(six.in6)));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_replace(&name, &six, sizeof(six.in)));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_replace(&name, &other, sizeof(other.in)));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&name, &other));
}

static void inaddr_filter(struct kunit *test)
{
	struct kfi_inaddr_local local = { .addr = in4(0xc0000207, 0) },
				other = { .addr = in4(0xc0000208, 0) };
	struct kfi_inaddr_local six = { .addr.in6.sin6_family = AF_INET6 };
	struct kfi_query q = {
		.net = &init_net, .node = "192.0.2.7", .service = "9", .flags = KFI_SOURCE
	};
	struct kfi_inaddr_filter filter;

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_EQ(test, 9, ntohs(filter.port));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &local));
	KUNIT_EXPECT_FALSE(test, kfi_inaddr_matches(&filter, &other));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_named(&filter, "any"));

	q.node = "0.0.0.0";		/* one of each family */
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &local));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &other));
	KUNIT_EXPECT_FALSE(test, kfi_inaddr_matches(&filter, &six));
	q.node = "::";
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_FALSE(test, kfi_inaddr_matches(&filter, &local));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &six));

	q.node = "eth7";		/* any device may have the name */
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_named(&filter, "eth7"));
	KUNIT_EXPECT_FALSE(test, kfi_inaddr_named(&filter, "eth8"));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &other));

	q.flags = 0;			/* but not a destination */
	KUNIT_EXPECT_EQ(test, -ENODATA, kfi_inaddr_filter(&q, &filter));
	q.node = NULL;
	q.service = "x";
	q.flags = KFI_SOURCE;
	KUNIT_EXPECT_EQ(test, -ENODATA, kfi_inaddr_filter(&q, &filter));
}

/* Infos that were returned earlier are valid hints. */
static void inaddr_hints(struct kunit *test)
{
	union kfi_inaddr src = in4(0xc0000207, 7), dest = in4(0xc0000208, 8);
	struct kfi_info hints = {
		.src_addr = &src, .src_addrlen = sizeof(src.in), .dest_addr = &dest,
		.dest_addrlen = sizeof(dest.in),
	};
	struct kfi_query q = { .net = &init_net, .hints = &hints };
	struct kfi_inaddr_local local = { .addr = in4(0xc0000207, 0) };
	struct kfi_inaddr_filter filter;
	struct kfi_info info = {};

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_EQ(test, 7, ntohs(filter.port));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&src, &filter.src));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&dest, &filter.dest));
	KUNIT_EXPECT_TRUE(test, kfi_inaddr_matches(&filter, &local));
	kfi_inaddr_offer(&info, &local, &filter);
	KUNIT_EXPECT_EQ(test, KFI_SOCKADDR_IN, info.addr_format);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&local.addr, info.src_addr);
	KUNIT_EXPECT_EQ(test, sizeof(dest.in), info.dest_addrlen);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&dest, info.dest_addr, sizeof(dest.in)));

	hints.src_addrlen = hints.dest_addrlen = 8;	/* not a length of IP addresses */
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_filter(&q, &filter));
	KUNIT_EXPECT_EQ(test, 0, filter.src.sa.sa_family | filter.dest.sa.sa_family | filter.port);
	kfi_inaddr_offer(&info, &local, &filter);
	KUNIT_EXPECT_EQ(test, 0, info.dest_addrlen);
}

/* An MSG endpoint may have the other family than its domain; an address vector may not. */
static void inaddr_names(struct kunit *test)
{
	struct kfi_inaddr_names names = { .family = AF_INET };
	union kfi_inaddr six = { .in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(7), .sin6_addr.s6_addr = { [0] = 0xfd, [15] = 1 },
	} };
	struct kfi_ep_attr attr = { .type = KFI_EP_MSG };
	struct kfi_info info = {
		.addr_format = KFI_SOCKADDR_IN6, .src_addr = &six, .src_addrlen = sizeof(six.in6),
		.ep_attr = &attr,
	};
	union kfi_inaddr four = in4(0xc0000207, 7), name;
	u8 written[KFI_ADDR_MAX];

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_name_check(&names, KFI_SOCKADDR_IN, &four));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_name_check(&names, KFI_SOCKADDR_IN, &six));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_name_check(&names, KFI_SOCKADDR_IN6, &six));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_name_check(&names, KFI_SOCKADDR_IN6, &four));

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_name_read(&names, &six, &name));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&six, &name));
	KUNIT_EXPECT_EQ(test, sizeof(six.in6), kfi_inaddr_name_write(&names, &six, written));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&six, written, sizeof(six.in6)));

	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_name_source(&names, &info, &name));
	KUNIT_EXPECT_EQ(test, 0, kfi_inaddr_cmp(&six, &name));
	attr.type = KFI_EP_RDM;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_inaddr_name_source(&names, &info, &name));
}

static struct kunit_case inaddr_cases[] = {
	KUNIT_CASE(inaddr_text),
	KUNIT_CASE(inaddr_order),
	KUNIT_CASE(inaddr_source),
	KUNIT_CASE(inaddr_origin),
	KUNIT_CASE(inaddr_wire),
	KUNIT_CASE(inaddr_replace),
	KUNIT_CASE(inaddr_filter),
	KUNIT_CASE(inaddr_hints),
	KUNIT_CASE(inaddr_names),
	{}
};

static struct kunit_suite inaddr_suite = {
	.name = "kfi_inaddr",
	.test_cases = inaddr_cases,
};

kunit_test_suite(inaddr_suite);
