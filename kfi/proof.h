/* SPDX-License-Identifier: GPL-2.0 */
/* proof.h - proofs of authorization keys (auth.c), for the message protocol. */
#ifndef _KFI_PROOF_H
#define _KFI_PROOF_H

#include <kfi_prov.h>

/** KFI_AUTH_PROOF - length in bytes of a proof that a side has an authorization key */
#define KFI_AUTH_PROOF		32

/**
 * kfi_auth_proof() - compute a proof that this side has an authorization key
 * @attr: attributes of an endpoint with a key
 * @parts: the data that the proof covers. It contains a random number of the side that verifies
 * @count: number of entries in @parts
 * @proof: where to store KFI_AUTH_PROOF bytes, the HMAC-SHA256 of @parts
 *
 * Context: any but hard interrupt.
 */
void kfi_auth_proof(const struct kfi_ep_attr *attr, const struct kvec *parts, size_t count,
		    u8 *proof);

/**
 * kfi_auth_proved() - compare a proof of the peer with the expected one, in constant time
 * @proof: expected proof of kfi_auth_proof(), or its first bytes
 * @received: what the peer has sent
 * @len: bytes to compare
 *
 * Context: any. Return: true if they are equal.
 */
bool kfi_auth_proved(const u8 *proof, const u8 *received, size_t len);

#endif /* _KFI_PROOF_H */
