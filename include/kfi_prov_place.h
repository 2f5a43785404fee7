/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_place.h - places, as providers see them. kfi_prov.h includes this file.
 */
#ifndef _KFI_PROV_PLACE_H
#define _KFI_PROV_PLACE_H

#include <kfi_place.h>
#include <kfi_prov_obj.h>

/**
 * struct kfi_dev_place - a handle for places; the provider's structure begins with it
 * @fid: handle of the consumer. kfi_place_fill() sets what the consumer reads
 * @domain: domain of the handle
 * @state: state, see kfi/place.c. Changed by cmpxchg(). Owned by kfi.ko
 * @ep_life: &kfi_ep.life of the endpoint of the get, to compare with that of the put
 * @addr: peer of the get
 * @rma: memory of the get
 * @reported: the length of the put in bytes; 0 during a get
 * @bvec: the pages
 * @seg_limit: room in @bvec
 */
struct kfi_dev_place {
	struct kfid_place	fid;
	struct kfi_domain	*domain;
	int			state;
	u64			ep_life;
	kfi_addr_t		addr;
	struct kfi_rma_iov	rma;
	size_t			reported;
	struct bio_vec		*bvec;
	size_t			seg_limit;
};

/**
 * kfi_place_fill() - describe the pages of a place
 * @place: &kfi_oper.place of a KFI_OPC_PLACE_GET
 * @iter: the memory, as kvec or bvec
 *
 * Adjacent pages become one segment. Context: process or softirq.
 * Return: 0; -EMSGSIZE if there are too many segments; -EOPNOTSUPP if a part of the memory has no
 * struct page.
 */
int kfi_place_fill(struct kfi_dev_place *place, struct iov_iter iter);

#endif /* _KFI_PROV_PLACE_H */
