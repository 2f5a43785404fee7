/* SPDX-License-Identifier: GPL-2.0 */
/*
 * auth.h - authorization keys (auth.c), for those who open objects.
 */
#ifndef _KFI_AUTH_H
#define _KFI_AUTH_H

#include "attr.h"

/* Is it a key that can be kept? None at all is fine. */
bool kfi_auth_key_ok(const u8 *key, size_t size);
/* An endpoint without a key of its own goes by that of @domain, which may be NULL: give @info a copy. 0, -ENOMEM. */
int kfi_auth_inherit(struct kfi_info *info, const struct kfi_domain_attr *domain);

#endif /* _KFI_AUTH_H */
