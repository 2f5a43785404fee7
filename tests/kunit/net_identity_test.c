// SPDX-License-Identifier: GPL-2.0
/* Ethernet addresses of kfi_net that stay. Their source is compiled into this module. */
#include <linux/etherdevice.h>
#include "suite.h"
#include "../../ulps/net/identity.c"

static const char one[] = "4c4c4544-0051-3010-8034-b4c04f4d3533";
static const char two[] = "4c4c4544-0051-3010-8034-b4c04f4d3534";

/* The same port has the same address, and all that differs makes another one. */
static void addresses(struct kunit *test)
{
	static const struct {
		const char	*uuid, *device;
		u64		port;
		unsigned int	n;
	} all[] = {
		{ one, "0000:00:0d.2", 1, 0 }, { two, "0000:00:0d.2", 1, 0 },
		{ one, "0000:00:0d.3", 1, 0 }, { one, "0000:00:0d.2", 3, 0 },
		{ one, "0000:00:0d.2", 1, 1 }, { one, "0000:00:0d.2", 0x301, 0 },
	};
	u8 mac[ARRAY_SIZE(all)][ETH_ALEN], again[ETH_ALEN];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		knet_make_address(all[i].uuid, all[i].device, all[i].port, all[i].n, mac[i]);
		knet_make_address(all[i].uuid, all[i].device, all[i].port, all[i].n, again);
		KUNIT_EXPECT_MEMEQ(test, mac[i], again, ETH_ALEN);
		KUNIT_EXPECT_TRUE(test, is_valid_ether_addr(mac[i]));
		KUNIT_EXPECT_TRUE(test, is_local_ether_addr(mac[i]));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_MEMNEQ(test, mac[i], mac[j], ETH_ALEN);
	}
}

/* These addresses are in files of administrators: a change here changes them. */
static void addresses_stay(struct kunit *test)
{
	u8 mac[ETH_ALEN];
	char text[20];

	knet_make_address(one, "0000:00:0d.2", 1, 0, mac);
	snprintf(text, sizeof(text), "%pM", mac);
	KUNIT_EXPECT_STREQ(test, text, "ea:ed:66:55:c6:b9");
}

static void identities(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, knet_identifies(one));
	KUNIT_EXPECT_FALSE(test, knet_identifies(NULL));
	KUNIT_EXPECT_FALSE(test, knet_identifies(""));
	KUNIT_EXPECT_FALSE(test, knet_identifies("Not Settable"));
	KUNIT_EXPECT_FALSE(test, knet_identifies("03000200-0400-0500-0006-000700080009"));
	KUNIT_EXPECT_FALSE(test, knet_identifies("FEFEFEFE-FEFE-FEFE-FEFE-FEFEFEFEFEFE"));
	KUNIT_EXPECT_FALSE(test, knet_identifies("00000000-0000-0000-0000-000000000000"));
	KUNIT_EXPECT_FALSE(test, knet_identifies("ffffffff-ffff-ffff-ffff-ffffffffffff"));
}

KFI_SUITE(kfi_net_identity,
	KUNIT_CASE(addresses),
	KUNIT_CASE(addresses_stay),
	KUNIT_CASE(identities));
