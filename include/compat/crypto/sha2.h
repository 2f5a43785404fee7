/* SPDX-License-Identifier: GPL-2.0 */
/* Before 6.17 struct sha256_ctx is called struct sha256_state; the functions are the same. */
#ifndef _KFI_COMPAT_CRYPTO_SHA2_H
#define _KFI_COMPAT_CRYPTO_SHA2_H

#include_next <crypto/sha2.h>

#ifndef KFI_HAVE_SHA256_CTX
#define sha256_ctx	sha256_state
#endif

#endif
