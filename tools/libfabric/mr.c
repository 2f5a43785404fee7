// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mr.c - memory regions
 *
 * The kernel pins the memory and charges it to the user's RLIMIT_MEMLOCK. Regions are for peers
 * only: no operation needs a descriptor for its local buffer, so fi_mr_desc() is NULL.
 */
#include <endian.h>

#include "kfi_fi.h"

static int mr_close(struct fid *fid)
{
	struct kfi_mr *mr = kfi_container(fid, struct kfi_mr, fid.fid);
	int ret;

	ret = kfi_handle_close(mr->domain->fabric, mr->handle);
	if (!ret)
		free(mr);
	return ret;
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct kfi_mr *mr = kfi_container(fid, struct kfi_mr, fid.fid);
	const struct kfi_fabric *fabric = mr->domain->fabric;

	switch (bfid->fclass) {
	case FI_CLASS_EP:
		return kfi_bind(fabric, mr->handle,
				kfi_container(bfid, struct kfi_ep, fid.fid)->handle, flags);
	case FI_CLASS_CNTR:
		return kfi_bind(fabric, mr->handle,
				kfi_container(bfid, struct kfi_cntr, fid.fid)->handle, flags);
	default:
		return -FI_EINVAL;
	}
}

static int mr_raw_key(const struct kfi_mr *mr, struct fi_mr_raw_attr *raw)
{
	uint64_t key = htole64(mr->fid.key);
	size_t room;

	if (raw->flags)
		return -FI_EBADFLAGS;
	if (!raw->key_size || !raw->base_addr)
		return -FI_EINVAL;
	room = *raw->key_size;
	*raw->key_size = sizeof(key);
	if (room < sizeof(key) || !raw->raw_key)
		return -FI_ETOOSMALL;
	memcpy(raw->raw_key, &key, sizeof(key));
	*raw->base_addr = mr->offset;
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct kfi_mr *mr = kfi_container(fid, struct kfi_mr, fid.fid);
	struct kfi_user_handle call = { .handle = mr->handle };

	switch (command) {
	case FI_ENABLE:
		/* A region that need not be bound to an endpoint is usable from the beginning. */
		if (!(mr->domain->mr_mode & FI_MR_ENDPOINT))
			return 0;
		return kfi_call(mr->domain->fabric, KFI_IOC_ENABLE, &call);
	case FI_GET_RAW_MR:
		return mr_raw_key(mr, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= mr_close,
	.bind		= mr_bind,
	.control	= mr_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static uint64_t base_offset(const struct kfi_domain *domain, const struct fi_mr_attr *attr)
{
	if (!(domain->mr_mode & FI_MR_VIRT_ADDR))
		return attr->offset;
	return attr->iov_count ? (uintptr_t)attr->mr_iov[0].iov_base : 0;
}

/*
 * With FI_RMA_EVENT the kernel requires fi_mr_enable(), which programs do not call if the info does
 * not require it. A region without the flag reports to a counter, too, once it is bound to one.
 */
static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mrp)
{
	struct kfi_domain *domain = kfi_container(fid, struct kfi_domain, fid.fid);
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	struct kfi_user_mr arg = {
		.domain		= domain->handle,
		.iov		= (uintptr_t)iov,
		.iov_count	= attr->iov_count,
		.access		= attr->access,
		.offset		= base_offset(domain, attr),
		.requested_key	= attr->requested_key,
		.flags		= flags & ~FI_RMA_EVENT,
	};
	struct kfi_mr *mr;
	size_t i;
	int ret;

	if (attr->auth_key_size)
		return -FI_ENOSYS;
	/* What is behind a pointer to memory of a device is not what the program means. */
	if (domain->fabric->fid.api_version >= KFI_API_HMEM && attr->iface != FI_HMEM_SYSTEM)
		return -FI_ENOSYS;
	if (attr->iov_count > KFI_USER_IOV_MAX)
		return -FI_EINVAL;
	for (i = 0; i < attr->iov_count; i++)
		iov[i] = (struct kfi_user_iovec){ (uintptr_t)attr->mr_iov[i].iov_base,
						  attr->mr_iov[i].iov_len };
	if (domain->mr_mode & FI_MR_PROV_KEY)
		arg.requested_key = FI_KEY_NOTAVAIL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	arg.cookie = (uintptr_t)mr;
	ret = kfi_call(domain->fabric, KFI_IOC_MR, &arg);
	if (ret) {
		if (ret == -FI_ENOMEM)
			FI_WARN(&kfi_prov, FI_LOG_MR,
				"can't pin the memory: more than RLIMIT_MEMLOCK (ulimit -l)?\n");
		free(mr);
		return ret;
	}
	mr->domain = domain;
	mr->handle = arg.handle;
	mr->offset = arg.offset;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.key = arg.key;
	*mrp = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov		= iov,
		.iov_count	= count,
		.access		= access,
		.offset		= offset,
		.requested_key	= requested_key,
		.context	= context,
	};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr kfi_mr_ops = {
	.size		= sizeof(struct fi_ops_mr),
	.reg		= mr_reg,
	.regv		= mr_regv,
	.regattr	= mr_regattr,
};
