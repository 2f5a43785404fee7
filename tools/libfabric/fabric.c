// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* fabric.c - a fabric is one open of the device; all other objects are opened through it */
#include "kfi_fi.h"

static int fabric_close(struct fid *fid)
{
	struct kfi_fabric *fabric = kfi_container(fid, struct kfi_fabric, fid.fid);
	struct kfi_connreq *req;
	int ret;

	ret = kfi_handle_close(fabric, fabric->handle);
	if (ret)
		return ret;
	kfi_device_close(fabric);
	while ((req = LIST_FIRST(&fabric->orphans))) {
		LIST_REMOVE(req, entry);
		free(req);
	}
	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
	return 0;
}

/*
 * May the program poll() the descriptors of these objects? Not if there is something to read: an
 * event that the library has taken from the kernel, or gathered operations for which the kernel had
 * no room, do not make a descriptor readable.
 */
static int fabric_trywait(struct fid_fabric *fid, struct fid **fids, int count)
{
	struct kfi_fabric *fabric = kfi_container(fid, struct kfi_fabric, fid);
	struct kfi_cntr *cntr;
	int i;

	if (fabric->fd < 0)
		return -FI_EIO;
	for (i = 0; i < count; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			if (kfi_cq_ready(kfi_container(fids[i], struct kfi_cq, fid.fid)))
				return -FI_EAGAIN;
			break;
		case FI_CLASS_EQ:
			if (kfi_eq_ready(kfi_container(fids[i], struct kfi_eq, fid.fid)))
				return -FI_EAGAIN;
			break;
		case FI_CLASS_CNTR:
			cntr = kfi_container(fids[i], struct kfi_cntr, fid.fid);
			kfi_flush(cntr->domain);
			if (atomic_load(&cntr->domain->batched))
				return -FI_EAGAIN;
			break;
		default:
			return -FI_EINVAL;
		}
	}
	return 0;
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
			struct fid_wait **wait)
{
	return -FI_ENOSYS;
}

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, uint64_t flags, void *context)
{
	return flags ? -FI_ENOSYS : kfi_domain_open(fabric, info, domain, context);
}

struct fi_ops kfi_fabric_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= fabric_close,
	.bind		= kfi_no_bind,
	.control	= kfi_no_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_fabric fabric_ops = {
	.size		= sizeof(struct fi_ops_fabric),
	.domain		= kfi_domain_open,
	.passive_ep	= kfi_pep_open,
	.eq_open	= kfi_eq_open,
	.wait_open	= no_wait_open,
	.trywait	= fabric_trywait,
	.domain2	= fabric_domain2,
};

int kfi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fid, void *context)
{
	struct kfi_user_fabric arg = {};
	struct kfi_fabric *fabric;
	uint32_t api;
	int ret;

	if (kfi_name_split(attr->name, arg.prov_name, arg.name))
		return -FI_EINVAL;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	ret = kfi_device_open(fabric, &api);
	if (ret)
		goto free;
	strcpy(fabric->prov_name, arg.prov_name);
	strcpy(fabric->name, arg.name);
	arg.api_version = attr->api_version < api ? attr->api_version : api;
	arg.cookie = (uintptr_t)fabric;
	ret = kfi_call(fabric, KFI_IOC_FABRIC, &arg);
	if (ret)
		goto close;
	fabric->handle = arg.handle;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &kfi_fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	pthread_mutex_init(&fabric->lock, NULL);
	LIST_INIT(&fabric->orphans);
	*fid = &fabric->fid;
	return 0;

close:
	kfi_device_close(fabric);
free:
	free(fabric);
	return ret;
}
