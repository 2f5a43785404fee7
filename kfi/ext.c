// SPDX-License-Identifier: GPL-2.0
/* Extensions that consumers open by name, kfi_open_ops(). They are the same for all providers. */
#include <kfi_cxi_ext.h>
#include "registry.h"

static int domain_device(struct kfid *fid, struct device **device)
{
	struct kfi_domain_limits limits;
	int ret;

	if (!fid || fid->fclass != KFI_CLASS_DOMAIN || !device)
		return -EINVAL;
	ret = kfi_domain_limits(container_of(fid, struct kfid_domain, fid), &limits);
	if (!ret)
		*device = limits.dma_device;
	return ret;
}

/*
 * Resources are always allocated dynamically, by the attributes of each object, so nothing has to
 * be switched.
 */
static int enable_dynamic_rsrc_alloc(struct kfid *fid, bool enable)
{
	return fid && fid->fclass == KFI_CLASS_FABRIC ? 0 : -EINVAL;
}

static struct kfi_cxi_domain_ops domain_ops = {
	.get_device = domain_device,
};

static struct kfi_cxi_fabric_ops fabric_ops = {
	.enable_dynamic_rsrc_alloc = enable_dynamic_rsrc_alloc,
};

int kfi_domain_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops, void *context)
{
	if (strcmp(name, KFI_CXI_DOM_OPS_1))
		return -ENOSYS;
	*ops = &domain_ops;
	return 0;
}

int kfi_fabric_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops, void *context)
{
	if (strcmp(name, KFI_CXI_FAB_OPS_1))
		return -ENOSYS;
	*ops = &fabric_ops;
	return 0;
}
