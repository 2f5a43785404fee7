// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of the process. Their pages are pinned until the region is closed, and mapped in
 * one piece, so that a region of any length has one segment for each piece of the process's vector.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "user.h"

#define ACCESS		(KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | \
			 KFI_REMOTE_WRITE)
#define WRITES		(KFI_RECV | KFI_READ | KFI_REMOTE_WRITE)

void ku_mr_release(struct ku_mr *mr)
{
	while (mr->nr_pins)
		ku_pin_put(mr->pins[--mr->nr_pins]);
}

/* Add one piece of the vector. The region keeps its pin. */
static int add_piece(struct ku_mr *mr, const struct kfi_user_iovec *piece, bool write,
		     struct kvec *kvec)
{
	struct ku_pin *pin = ku_pin_new(mr->obj.ctx, piece->base, piece->len, write);
	void *mapped;

	if (IS_ERR(pin))
		return PTR_ERR(pin);
	mr->pins[mr->nr_pins++] = pin;
	mapped = ku_pin_map(pin);
	if (IS_ERR(mapped))
		return PTR_ERR(mapped);
	kvec->iov_base = mapped + ku_pin_offset(pin, piece->base);
	kvec->iov_len = piece->len;
	return 0;
}

static int reg(struct ku_mr *mr, struct kfid_domain *domain, const struct kfi_user_mr *open)
{
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	struct kvec kvec[KFI_USER_IOV_MAX];
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC,
		.mr_iov = kvec,
		.iov_count = open->iov_count,
		.access = open->access,
		.offset = open->offset,
		.requested_key = open->requested_key,
		.context = mr,
	};
	unsigned int i;
	int ret;

	if (copy_from_user(iov, u64_to_user_ptr(open->iov), open->iov_count * sizeof(*iov)))
		return -EFAULT;
	for (i = 0; i < open->iov_count; i++) {
		ret = add_piece(mr, &iov[i], open->access & WRITES, &kvec[i]);
		if (ret)
			return ret;
	}
	return kfi_mr_regattr(domain, &attr, open->flags, &mr->mr);
}

int ku_ioc_mr(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_mr *open = arg;
	struct ku_domain *domain;
	struct ku_mr *mr;
	int ret;

	if (open->reserved || !open->iov_count || open->iov_count > KFI_USER_IOV_MAX ||
	    open->access & ~ACCESS)
		return -EINVAL;
	if (open->flags & ~KFI_RMA_EVENT)
		return -KFI_EBADFLAGS;
	domain = ku_domain_get(ctx, open->domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	mr = ku_obj_new(ctx, &domain->obj, sizeof(*mr), KFI_CLASS_MR, open->cookie);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto put_domain;
	}
	ret = reg(mr, domain->domain, open);
	if (ret) {
		ku_mr_release(mr);
		ku_obj_abandon(&mr->obj);
		goto put_domain;
	}
	mr->obj.fid = &mr->mr->fid;
	open->handle = mr->obj.handle;
	open->key = kfi_mr_key(mr->mr);
	ku_obj_publish(&mr->obj);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}
