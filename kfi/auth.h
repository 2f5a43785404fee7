/* SPDX-License-Identifier: GPL-2.0 */
/* auth.h - authorization keys (auth.c), for the files that open objects. */
#ifndef _KFI_AUTH_H
#define _KFI_AUTH_H

#include "attr.h"

/* Is the key short enough to be stored? No key at all is allowed. */
bool kfi_auth_key_ok(const u8 *key, size_t size);
/*
 * Give @info a copy of the key of @domain, which may be NULL, unless @info has a key of its own.
 * Returns 0 or -ENOMEM.
 */
int kfi_auth_inherit(struct kfi_info *info, const struct kfi_domain_attr *domain);

/*
 * Have both endpoints the same authorization key, or neither one? @a, @b: ep_attr of the info of an
 * open endpoint or passive endpoint. Context: any.
 */
bool kfi_auth_same(const struct kfi_ep_attr *a, const struct kfi_ep_attr *b);

#endif /* _KFI_AUTH_H */
