// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* domain.c - domains, in which queues, vectors, regions and endpoints are opened */
#include <endian.h>

#include "kfi_fi.h"

static int domain_close(struct fid *fid)
{
	struct kfi_domain *domain = kfi_container(fid, struct kfi_domain, fid.fid);
	int ret;

	ret = kfi_handle_close(domain->fabric, domain->handle);
	if (ret)
		return ret;
	pthread_mutex_destroy(&domain->post_lock);
	free(domain);
	return 0;
}

/* Keys have at most 64 bits, so a raw key is the key itself, little-endian (see mr.c). */
static int map_raw_key(const struct fi_mr_map_raw *map)
{
	uint64_t key;

	if (map->flags)
		return -FI_EBADFLAGS;
	if (!map->raw_key || !map->key || map->key_size != sizeof(key))
		return -FI_EINVAL;
	memcpy(&key, map->raw_key, sizeof(key));
	*map->key = le64toh(key);
	return 0;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	switch (command) {
	case FI_MAP_RAW_MR:
		return map_raw_key(arg);
	case FI_UNMAP_KEY:
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			  void *context)
{
	return -FI_ENOSYS;
}

static int no_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
			struct fid_poll **poll)
{
	return -FI_ENOSYS;
}

static int no_query_collective(struct fid_domain *domain, enum fi_collective_op op,
			       struct fi_collective_attr *attr, uint64_t flags)
{
	return -FI_ENOSYS;
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			    uint64_t flags, void *context)
{
	return flags ? -FI_ENOSYS : kfi_ep_open(domain, info, ep, context);
}

struct fi_ops kfi_domain_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= domain_close,
	.bind		= kfi_no_bind,
	.control	= domain_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_domain domain_ops = {
	.size			= sizeof(struct fi_ops_domain),
	.av_open		= kfi_av_open,
	.cq_open		= kfi_cq_open,
	.endpoint		= kfi_ep_open,
	.scalable_ep		= no_scalable_ep,
	.cntr_open		= kfi_cntr_open,
	.poll_open		= no_poll_open,
	.stx_ctx		= kfi_stx_open,
	.srx_ctx		= kfi_srx_open,
	.query_atomic		= kfi_query_atomic,
	.query_collective	= no_query_collective,
	.endpoint2		= domain_endpoint2,
};

int kfi_domain_open(struct fid_fabric *ffid, struct fi_info *info, struct fid_domain **fid,
		    void *context)
{
	struct kfi_fabric *fabric = kfi_container(ffid, struct kfi_fabric, fid);
	struct kfi_user_open arg = {
		.parent		= fabric->handle,
		.info_size	= sizeof(struct kfi_user_info),
	};
	uint32_t version = fabric->fid.api_version;
	const char *provider = NULL;
	struct kfi_domain *domain;
	int ret;

	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	if (!info->domain_attr || kfi_info_pack(info, version, &domain->info, &provider)) {
		free(domain);
		return -FI_EINVAL;
	}
	/* The meaning of addresses is set for each region: see base_offset() in mr.c. */
	domain->mr_mode = domain->info.domain.mr_mode;
	arg.info = (uintptr_t)&domain->info;
	arg.cookie = (uintptr_t)domain;
	ret = kfi_call(fabric, KFI_IOC_DOMAIN, &arg);
	if (ret) {
		free(domain);
		return ret;
	}
	domain->fabric = fabric;
	domain->handle = arg.handle;
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &kfi_domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &kfi_mr_ops;
	pthread_mutex_init(&domain->post_lock, NULL);
	LIST_INIT(&domain->batches);
	*fid = &domain->fid;
	return 0;
}
