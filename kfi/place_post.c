// SPDX-License-Identifier: GPL-2.0
/* place_post.c - posting of the get and the put of a place. place.c has the handles. */
#include <linux/export.h>
#include "place.h"
#include "post.h"

/*
 * Post the operation for the first @len bytes of the place, of which it counts @reported. After an
 * error the place is in state @before again.
 */
static ssize_t place_post(struct kfid_ep *fid, struct kfi_dev_place *place, enum kfi_opcode code,
			  size_t len, size_t reported, u64 flags, void *context, int before)
{
	struct kfi_oper *op;
	ssize_t ret;

	place->reported = reported;
	rcu_read_lock_bh();
	op = kfi_tx_begin(fid, code, context, flags);
	ret = PTR_ERR_OR_ZERO(op);
	if (!ret) {
		op->addr = place->addr;
		op->data = 0;
		op->tag = 0;
		op->place = place;
		op->rma[0] = place->rma;
		op->rma[0].len = len;
		op->rma_count = 1;
		ret = kfi_op_payload(op, KFI_KVEC, NULL, 0);
		op->len = reported;
		ret = kfi_tx_start(op, ret);
	}
	rcu_read_unlock_bh();
	if (ret)
		kfi_place_set(place, before);
	return ret;
}

ssize_t kfi_place_get(struct kfid_ep *fid, struct kfid_place *pfid, kfi_addr_t addr,
		      const struct kfi_rma_iov *rma, uint64_t flags, void *context)
{
	struct kfi_dev_place *place = to_dev_place(pfid);
	struct kfi_ep *ep = kfi_to_ep(fid);

	if (!rma || !rma->len)
		return -EINVAL;
	if (place->domain != ep->domain)
		return -KFI_EDOMAIN;
	if (rma->len > ep->max_msg_size)
		return -EMSGSIZE;
	if (!kfi_place_move(place, KFI_PLACE_FREE, KFI_PLACE_GETTING))
		return -KFI_EOPBADSTATE;
	place->ep_life = READ_ONCE(ep->life);
	place->addr = addr;
	place->rma = *rma;
	return place_post(fid, place, KFI_OPC_PLACE_GET, rma->len, 0, flags | KFI_COMPLETION,
			  context, KFI_PLACE_FREE);
}
EXPORT_SYMBOL_GPL(kfi_place_get);

ssize_t kfi_place_put(struct kfid_ep *fid, struct kfid_place *pfid, size_t len, uint64_t flags,
		      void *context)
{
	struct kfi_dev_place *place = to_dev_place(pfid);

	if (!kfi_place_move(place, KFI_PLACE_GOT, KFI_PLACE_PUTTING))
		return -KFI_EOPBADSTATE;
	if (place->ep_life != READ_ONCE(kfi_to_ep(fid)->life) || len > place->rma.len) {
		kfi_place_set(place, KFI_PLACE_GOT);
		return -EINVAL;
	}
	return place_post(fid, place, KFI_OPC_PLACE_PUT, len, len, flags, context, KFI_PLACE_GOT);
}
EXPORT_SYMBOL_GPL(kfi_place_put);
