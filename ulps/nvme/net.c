// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - from the options of `nvme connect` to a domain.
 *
 * The provider is the first one that kfi_getinfo() returns for the address; `host_iface` names the
 * domain (an interface, an RDMA device), `host_traddr` the local address, `tos` the traffic class,
 * and the module parameter `provider` the provider.
 */
#include "hints.h"
#include "host.h"

/* @load: see kfn_getinfo() */
static int kfn_source(struct kfn_ctrl *ctrl, struct kfi_info *hints, bool load)
{
	struct kfi_info *near;
	int ret;

	if (!(ctrl->ctrl.opts->mask & NVMF_OPT_HOST_TRADDR))
		return 0;
	ret = kfn_getinfo(ctrl->net, ctrl->ctrl.opts->host_traddr, NULL, KFI_SOURCE, hints, load,
			  &near);
	if (ret)
		return ret;
	hints->addr_format = near->addr_format;
	hints->src_addrlen = near->src_addrlen;
	hints->src_addr = near->src_addr;
	near->src_addr = NULL;
	near->src_addrlen = 0;
	kfi_freeinfo(near);
	return 0;
}

/*
 * Is the traffic class the reason that nothing was found? Not every provider has them; a connection
 * never goes on without the one of `tos`.
 */
static bool kfn_lacks_tclass(struct kfn_ctrl *ctrl, struct kfi_info *hints)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	struct kfi_info *info;

	hints->tx_attr->tclass = KFI_TC_UNSPEC;
	if (opts->tos < 0 ||
	    kfn_getinfo(ctrl->net, opts->traddr, opts->trsvcid, 0, hints, false, &info))
		return false;
	dev_err(ctrl->ctrl.device,
		"%s, which reaches %s:%s, has no traffic classes: connect without tos\n",
		info->fabric_attr->prov_name, opts->traddr, opts->trsvcid);
	kfi_freeinfo(info);
	return true;
}

/* @load: see kfn_getinfo() */
static int kfn_target(struct kfn_ctrl *ctrl, struct kfi_info *hints, bool load,
		      struct kfi_info **info)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	int ret = kfn_source(ctrl, hints, load);

	if (ret)
		return ret;
	if (opts->tos >= 0)	/* the two other bits of the byte, ECN, are of the transport */
		hints->tx_attr->tclass = kfi_tc_dscp_set(opts->tos >> 2);
	ret = kfn_getinfo(ctrl->net, opts->traddr, opts->trsvcid, 0, hints, load, info);
	return ret == -ENODATA && kfn_lacks_tclass(ctrl, hints) ? -EOPNOTSUPP : ret;
}

/*
 * The first connection of a controller may load a provider, because `nvme connect` waits for it. A
 * reconnect may not.
 */
static int kfn_find(struct kfn_ctrl *ctrl, struct kfi_info **info)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	const char *iface = opts->mask & NVMF_OPT_HOST_IFACE ? opts->host_iface : NULL;
	struct kfi_info *hints = kfn_hints(kfn_provider(), iface);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfn_target(ctrl, hints, !ctrl->pages, info);
	kfi_freeinfo(hints);
	if (ret == -ENODATA)
		dev_err(ctrl->ctrl.device,
			"no provider of kfabric reaches %s:%s from here: " KFN_REMEDY "\n",
			opts->traddr, opts->trsvcid);
	return ret;
}

/* The limits of the block queues are those of the first network: a later one must support them. */
static int kfn_net_check(struct kfn_ctrl *ctrl, bool new)
{
	const struct kfi_domain_limits *limits = &ctrl->kfi.limits;
	unsigned int pages = min_t(size_t, limits->mr_page_limit ?: KFN_PAGES_MAX, KFN_PAGES_MAX);

	if (new) {
		ctrl->virt_mask = limits->virt_boundary_mask;
		ctrl->pages = pages;
		return 0;
	}
	if (!(limits->virt_boundary_mask & ~ctrl->virt_mask) && pages >= ctrl->pages)
		return 0;
	dev_err(ctrl->ctrl.device, "the new path to the target has smaller limits than the old one\n");
	return -EOPNOTSUPP;
}

static int kfn_domain_open(struct kfn_ctrl *ctrl)
{
	struct kfn_net *kn = &ctrl->kfi;
	int ret;

	ret = kfi_fabric_net(ctrl->net, kn->info->fabric_attr, &kn->fabric, NULL);
	if (ret)
		return ret;
	ret = kfi_domain(kn->fabric, kn->info, &kn->domain, NULL);
	if (ret)
		goto close_fabric;
	ret = kfi_domain_limits(kn->domain, &kn->limits);
	if (!ret)
		ret = kfn_net_check(ctrl, !ctrl->pages);
	if (ret)
		goto close_domain;
	kn->stale = false;
	return 0;

close_domain:
	kfi_close(&kn->domain->fid);
	kn->domain = NULL;
close_fabric:
	kfi_close(&kn->fabric->fid);
	return ret;
}

static void kfn_domain_close(struct kfn_ctrl *ctrl)
{
	struct kfn_net *kn = &ctrl->kfi;

	if (!kn->domain)
		return;
	kfn_queues_release(ctrl);
	WARN_ON(kfi_close(&kn->domain->fid));
	WARN_ON(kfi_close(&kn->fabric->fid));
	kn->domain = NULL;
}

/* Is the domain of @info the one that is open? */
static bool kfn_domain_fits(const struct kfn_net *kn, const struct kfi_info *info)
{
	return kn->domain && !kn->stale &&
	       !strcmp(info->fabric_attr->prov_name, kn->info->fabric_attr->prov_name) &&
	       !strcmp(info->domain_attr->name, kn->info->domain_attr->name);
}

/*
 * The endpoints that the queues have kept are bound to the source address of their connections. The
 * route to the target may lead from another address by now.
 */
static bool kfn_source_fits(const struct kfn_net *kn, const struct kfi_info *info)
{
	return info->src_addrlen == kn->info->src_addrlen &&
	       !memcmp(info->src_addr, kn->info->src_addr, info->src_addrlen);
}

/**
 * kfn_net_close() - close fabric and domain, and the objects that the queues have kept
 * @ctrl: controller; none of its queues is connected or being connected
 */
void kfn_net_close(struct kfn_ctrl *ctrl)
{
	kfn_domain_close(ctrl);
	kfi_freeinfo(ctrl->kfi.info);
	ctrl->kfi.info = NULL;
}

/**
 * kfn_net_open() - find the provider and the domain that reach the target, and open them
 * @ctrl: controller, none of whose queues is connected
 *
 * If provider and domain have not changed since the last connection, the domain stays open; if the
 * address on this side has not changed either, so do the objects of the queues.
 *
 * Return: 0 or a negative error.
 */
int kfn_net_open(struct kfn_ctrl *ctrl)
{
	struct kfn_net *kn = &ctrl->kfi;
	struct kfi_info *info;
	int ret = 0;

	ret = kfn_find(ctrl, &info);
	if (ret)
		return ret;
	if (!kfn_domain_fits(kn, info))
		kfn_domain_close(ctrl);
	else if (!kfn_source_fits(kn, info))
		kfn_queues_release(ctrl);
	kfi_freeinfo(kn->info);
	kn->info = info;
	if (!kn->domain)
		ret = kfn_domain_open(ctrl);
	if (ret) {
		kfn_net_close(ctrl);
		return ret;
	}
	dev_info(ctrl->ctrl.device, "%s:%s over %s, %s\n", ctrl->ctrl.opts->traddr,
		 ctrl->ctrl.opts->trsvcid, kn->info->fabric_attr->prov_name,
		 kn->info->domain_attr->name);
	return 0;
}
