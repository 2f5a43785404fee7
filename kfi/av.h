/* SPDX-License-Identifier: GPL-2.0 */
/*
 * av.h - the inside of an address vector: av.c (addresses), av_svc.c (addresses given as text)
 */
#ifndef _KFI_AV_H
#define _KFI_AV_H

#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/xarray.h>
#include "core.h"

/**
 * struct kfi_av - an address vector
 * @fid: @obj: @domain: as everywhere
 * @addrlen:	bytes of an address
 * @rx_ctx_bits: top bits of a handle that name a receive context
 * @lock:	serialises insertion and removal
 * @table:	entries by index; @next: where the search for a free index goes on
 * @by_addr:	entries by address; @params: of it (the length of a key is known at open only)
 * @eps:	endpoints bound to it, by av_entry, under @lock
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
/* *@err: in: positive if there is no address at all; out: why not */
bool kfi_av_put_one(struct kfi_av *av, const void *addr, size_t i, kfi_addr_t *handles, u64 flags, void *context,
		    int *err);

#endif /* _KFI_AV_H */
