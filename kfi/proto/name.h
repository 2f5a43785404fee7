/* SPDX-License-Identifier: GPL-2.0 */
/*
 * name.h - names of peers: what the protocol does where a link leaves an operation for names out,
 * because all bytes of its names count.
 */
#ifndef _KFI_PROTO_NAME_H
#define _KFI_PROTO_NAME_H

#include <linux/jhash.h>
#include <linux/string.h>
#include <kfi_link.h>

static inline size_t kfp_name_len(const struct kfi_link_ops *ops, const void *name)
{
	return ops->len ? ops->len(name) : ops->name_len;
}

static inline int kfp_name_cmp(const struct kfi_link_ops *ops, const void *a, const void *b)
{
	return ops->cmp ? ops->cmp(a, b) : memcmp(a, b, ops->name_len);
}

static inline u32 kfp_name_hash(const struct kfi_link_ops *ops, const void *name)
{
	return ops->hash ? ops->hash(name) : jhash(name, ops->name_len, 0);
}

static inline int kfp_name_read(const struct kfi_link_ops *ops, const struct kfi_ep *ep,
				const void *addr, void *name)
{
	if (ops->name)
		return ops->name(ep, addr, name);
	memcpy(name, addr, ops->name_len);
	return 0;
}

static inline int kfp_name_write(const struct kfi_link_ops *ops, const struct kfi_ep *ep,
				 const void *name, void *addr)
{
	if (ops->address)
		return ops->address(ep, name, addr);
	memcpy(addr, name, ops->name_len);
	return ops->name_len;
}

static inline void kfp_name_origin(const struct kfi_link_ops *ops, const void *name, void *origin)
{
	if (ops->origin) {
		ops->origin(name, origin);
		return;
	}
	memcpy(origin, name, ops->origin_len);
	memset(origin + ops->origin_len, 0, ops->name_len - ops->origin_len);
}

static inline size_t kfp_name_wire(const struct kfi_link_ops *ops, const void *name, u8 *bytes)
{
	if (ops->wire_name)
		return ops->wire_name(name, bytes);
	memcpy(bytes, name, ops->name_len);
	return ops->name_len;
}

#endif /* _KFI_PROTO_NAME_H */
