/* SPDX-License-Identifier: GPL-2.0 */
/* attr.h - comparison of the attributes of an offer with the hints (attr.c). */
#ifndef _KFI_ATTR_H
#define _KFI_ATTR_H

#include <linux/minmax.h>
#include <linux/string.h>
#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>

/* Limits that are granted if the hints have none: small, but sufficient to start with */
#define KFI_DEF_QUEUE		256	/* operations in a queue */
#define KFI_DEF_IOV		4	/* entries of a vector */
#define KFI_DEF_INJECT		256	/* bytes */

/* Longest authorization key, bytes */
#define KFI_AUTH_KEY_MAX	256

bool kfi_attr_match(const struct kfi_info *offer, const struct kfi_info *hints);
int kfi_attr_answer(struct kfi_info *info, const struct kfi_info *hints);
u64 kfi_caps_expand(u64 caps);

#endif /* _KFI_ATTR_H */
