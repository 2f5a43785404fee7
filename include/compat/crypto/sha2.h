/* SPDX-License-Identifier: GPL-2.0 */
/* struct sha256_ctx: so since 6.17; before, struct sha256_state with the same calls. */
#ifndef _KFI_COMPAT_CRYPTO_SHA2_H
#define _KFI_COMPAT_CRYPTO_SHA2_H

#include_next <crypto/sha2.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define sha256_ctx	sha256_state
#endif

#endif
