// SPDX-License-Identifier: GPL-2.0
/* Proofs of authorization keys: HMAC-SHA256, tested with the vectors of RFC 4231. */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/uio.h>
#include "../../kfi/core.h"

static void expect_proof(struct kunit *test, u8 byte, size_t size, const char *text, const u8 *want)
{
	u8 *key = kunit_kzalloc(test, size, GFP_KERNEL), proof[KFI_AUTH_PROOF];
	struct kfi_ep_attr attr = { .auth_key = key, .auth_key_size = size };
	struct kvec whole = { (void *)text, strlen(text) };
	struct kvec parts[] = { { (void *)text, 3 },
				{ NULL, 0 },
				{ (void *)(text + 3), strlen(text) - 3 } };

	KUNIT_ASSERT_NOT_NULL(test, key);
	memset(key, byte, size);
	kfi_auth_proof(&attr, &whole, 1, proof);
	KUNIT_EXPECT_EQ(test, 0, memcmp(proof, want, sizeof(proof)));
	/* The division into parts makes no difference. */
	kfi_auth_proof(&attr, parts, ARRAY_SIZE(parts), proof);
	KUNIT_EXPECT_EQ(test, 0, memcmp(proof, want, sizeof(proof)));
	key[size - 1] ^= 1;
	kfi_auth_proof(&attr, &whole, 1, proof);
	KUNIT_EXPECT_NE(test, 0, memcmp(proof, want, sizeof(proof)));
}

static void auth_proof(struct kunit *test)
{
	static const u8 first[KFI_AUTH_PROOF] = {
		0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf,
		0xce, 0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83,
		0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7,
	};
	static const u8 sixth[KFI_AUTH_PROOF] = {
		0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26,
		0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28,
		0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54,
	};

	expect_proof(test, 0x0b, 20, "Hi There", first);
	expect_proof(test, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
		     sixth);
}

/* A wrong bit in any byte is detected; bytes behind @len are not read. */
static void auth_proved(struct kunit *test)
{
	u8 proof[KFI_AUTH_PROOF] = { 1, 2, 3 }, said[KFI_AUTH_PROOF];
	unsigned int i;

	for (i = 0; i < 8 * sizeof(said); i++) {
		memcpy(said, proof, sizeof(said));
		KUNIT_EXPECT_TRUE(test, kfi_auth_proved(proof, said, sizeof(said)));
		said[i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_FALSE(test, kfi_auth_proved(proof, said, sizeof(said)));
		KUNIT_EXPECT_FALSE(test, kfi_auth_proved(proof, said, i / 8 + 1));
		KUNIT_EXPECT_TRUE(test, kfi_auth_proved(proof, said, i / 8));
	}
}

static void auth_same(struct kunit *test)
{
	struct kfi_ep_attr a = { .auth_key = "abc", .auth_key_size = 3 }, b = a, none = {};

	KUNIT_EXPECT_TRUE(test, kfi_auth_same(&a, &b));
	KUNIT_EXPECT_TRUE(test, kfi_auth_same(&none, &none));
	KUNIT_EXPECT_FALSE(test, kfi_auth_same(&a, &none));
	KUNIT_EXPECT_FALSE(test, kfi_auth_same(&none, &a));
	b.auth_key_size = 2;
	KUNIT_EXPECT_FALSE(test, kfi_auth_same(&a, &b));
	b = (struct kfi_ep_attr) { .auth_key = "abd", .auth_key_size = 3 };
	KUNIT_EXPECT_FALSE(test, kfi_auth_same(&a, &b));
}

static struct kunit_case auth_cases[] = {
	KUNIT_CASE(auth_proof),
	KUNIT_CASE(auth_proved),
	KUNIT_CASE(auth_same),
	{}
};

static struct kunit_suite auth_suite = {
	.name = "kfi_auth",
	.test_cases = auth_cases,
};

kunit_test_suite(auth_suite);
