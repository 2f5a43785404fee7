// SPDX-License-Identifier: GPL-2.0
/* identity.c - Ethernet addresses of what stays. Functions without state, which KUnit tests. */
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "identity.h"

/* What firmware has in all machines of a kind. The kernel drops the UUIDs of zeros and of ones. */
static const char *const dummies[] = {
	"00020003-0004-0005-0006-000700080009",
	"03000200-0400-0500-0006-000700080009",
	"11111111-2222-3333-4444-555555555555",
	"12345678-1234-5678-90ab-cddeefaabbcc",
	"12345678-1234-1234-1234-123456789012",
	"fefefefe-fefe-fefe-fefe-fefefefefefe",
};

bool knet_identifies(const char *uuid)
{
	unsigned int i, same = 1;

	if (!uuid || strlen(uuid) != 36)
		return false;
	for (i = 0; i < ARRAY_SIZE(dummies); i++)
		if (!strcasecmp(uuid, dummies[i]))
			return false;
	for (i = 1; i < 36; i++)
		same += uuid[i] == uuid[0] || uuid[i] == '-';
	return same != 36;
}

void knet_make_address(const char *uuid, const char *device, u64 port, unsigned int n, u8 *mac)
{
	static const siphash_key_t key = { { 0x6b66696e6574ULL, 0x61646472657373ULL } };
	char text[160];
	u8 hash[sizeof(u64)];
	int len;

	len = scnprintf(text, sizeof(text), "%s %s %llx %u", uuid, device, port, n);
	put_unaligned_le64(siphash(text, len, &key), hash);
	memcpy(mac, hash, ETH_ALEN);
	mac[0] = (mac[0] & ~1) | 2;	/* of one station, locally administered */
}
