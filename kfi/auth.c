// SPDX-License-Identifier: GPL-2.0
/*
 * Authorization keys: endpoints communicate only with endpoints that have the same key.
 *
 * An open endpoint or passive endpoint has its key in info->ep_attr: its own key, or that of its
 * domain. The provider checks that a peer has the same key when they connect. A provider whose
 * peers are on other machines exchanges proofs: an HMAC (RFC 2104) with the key over the data that
 * both sides have sent, which includes a random number of each side.
 */
#include <crypto/sha2.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "auth.h"
#include "core.h"
#include "proof.h"

static_assert(KFI_AUTH_PROOF == SHA256_DIGEST_SIZE);

bool kfi_auth_key_ok(const u8 *key, size_t size)
{
	return !size || (key && size <= KFI_AUTH_KEY_MAX);
}

int kfi_auth_inherit(struct kfi_info *info, const struct kfi_domain_attr *domain)
{
	struct kfi_ep_attr *attr = info->ep_attr;

	if (attr->auth_key_size || !domain || !domain->auth_key_size)
		return 0;
	attr->auth_key = kmemdup(domain->auth_key, domain->auth_key_size,
				 GFP_KERNEL_ACCOUNT);
	if (!attr->auth_key)
		return -ENOMEM;
	attr->auth_key_size = domain->auth_key_size;
	return 0;
}

bool kfi_auth_same(const struct kfi_ep_attr *a, const struct kfi_ep_attr *b)
{
	return a->auth_key_size == b->auth_key_size &&
	       (!a->auth_key_size || !memcmp(a->auth_key, b->auth_key, a->auth_key_size));
}

/* Start an HMAC pass: hash one block that has the key, xored with @mix. */
static void hash_begin(struct sha256_ctx *ctx, const struct kfi_ep_attr *attr, u8 mix)
{
	u8 block[SHA256_BLOCK_SIZE] = {};
	unsigned int i;

	if (attr->auth_key_size > sizeof(block))
		sha256(attr->auth_key, attr->auth_key_size, block);
	else
		memcpy(block, attr->auth_key, attr->auth_key_size);
	for (i = 0; i < sizeof(block); i++)
		block[i] ^= mix;
	sha256_init(ctx);
	sha256_update(ctx, block, sizeof(block));
	memzero_explicit(block, sizeof(block));
}

void kfi_auth_proof(const struct kfi_ep_attr *attr, const struct kvec *parts, size_t count,
		    u8 *proof)
{
	struct sha256_ctx ctx;

	hash_begin(&ctx, attr, 0x36);
	for (; count--; parts++)
		sha256_update(&ctx, parts->iov_base, parts->iov_len);
	sha256_final(&ctx, proof);
	hash_begin(&ctx, attr, 0x5c);
	sha256_update(&ctx, proof, KFI_AUTH_PROOF);
	sha256_final(&ctx, proof);
}

/*
 * crypto_memneq() is not used because not all supported kernels export it to modules. The
 * comparison takes the same time wherever the first difference is.
 */
bool kfi_auth_proved(const u8 *proof, const u8 *received, size_t len)
{
	u8 differs = 0;

	while (len--) {
		differs |= *proof++ ^ *received++;
		OPTIMIZER_HIDE_VAR(differs);	/* prevents an early exit */
	}
	return !differs;
}
