/* SPDX-License-Identifier: GPL-2.0 */
/* av.h - internals of an address vector: av.c (addresses), av_svc.c (addresses given as text). */
#ifndef _KFI_AV_H
#define _KFI_AV_H

#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/xarray.h>
#include "core.h"

/**
 * struct kfi_av - an address vector
 * @fid: the consumer's handle
 * @obj: common part
 * @domain: parent
 * @addrlen: bytes of an address
 * @rx_ctx_bits: number of top bits of a handle that name a receive context
 * @lock: serialises insertion and removal, and protects @next and @eps. Look-ups use RCU
 * @table: entries by index
 * @next: index at which the search for a free index continues
 * @by_addr: entries by address
 * @params: parameters of @by_addr; the length of the key is known at open only
 * @eps: endpoints that are bound to the vector, by &kfi_ep.av_entry
 *
 * kfi_av_open() allocates it. av_close() frees it, when no endpoint is bound to it.
 */
struct kfi_av {
	struct kfid_av		fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	size_t			addrlen;
	int			rx_ctx_bits;
	struct mutex		lock;
	struct xarray		table;
	u32			next;
	struct rhashtable	by_addr;
	struct rhashtable_params params;
	struct list_head	eps;
};

static inline struct kfi_av *kfi_to_av(struct kfid_av *fid)
{
	return container_of(fid, struct kfi_av, fid);
}

int kfi_av_check_insert(u64 flags, const void *context);
/*
 * Insert address number @i of a call, and report the result as the flags of the call request. *@err
 * is positive on entry if the address could not be resolved; on return it is 0 or a positive errno.
 * Returns true if the address was inserted.
 */
bool kfi_av_put_one(struct kfi_av *av, const void *addr, size_t i, kfi_addr_t *handles, u64 flags,
		    void *context, int *err);

#endif /* _KFI_AV_H */
