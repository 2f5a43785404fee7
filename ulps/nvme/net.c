// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - from the options of `nvme connect` to a domain.
 *
 * The provider is the first one that serves the address; `host_iface` names the domain (an
 * interface, an RDMA device), `host_traddr` the local address, `tos` the traffic class, and the
 * module parameter `provider` the provider. `tls` demands that the provider protects connections.
 */
#include <linux/inet.h>
#include "host.h"

/*
 * Nothing was found. Is the reason what @need and @host_traddr do not ask for any more? Then log
 * it, @why and @name, with the provider that reaches the target without it. A connection never goes
 * on without it. Return: @err; -ENODATA if there is another reason
 */
static int kfn_lacks(struct kfn_ctrl *ctrl, struct kfi_need need, const char *host_traddr,
		     const char *why, const char *name, int err)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	struct kfi_info *info;

	need.load = false;
	if (kfi_find(ctrl->net, &need, host_traddr, opts->traddr, opts->trsvcid, &info))
		return -ENODATA;
	dev_err(ctrl->ctrl.device, "%s, which reaches %s:%s, %s%s\n",
		info->fabric_attr->prov_name, opts->traddr, opts->trsvcid, why, name);
	kfi_freeinfo(info);
	return err;
}

static bool kfn_is_address(struct kfn_ctrl *ctrl, const char *text)
{
	struct sockaddr_storage address;

	return !inet_pton_with_scope(ctrl->net, AF_UNSPEC, text, NULL, &address);
}

/* Why was nothing found? Return: an errno, the one of nvme-tcp if that knows the reason */
static int kfn_not_found(struct kfn_ctrl *ctrl, const struct kfi_need *need)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	struct kfi_need less = *need;
	int ret = -ENODATA;
	u16 service;

	if (kstrtou16(opts->trsvcid, 10, &service)) {
		dev_err(ctrl->ctrl.device, "%s is no service\n", opts->trsvcid);
		return -EINVAL;
	}
	if (less.caps & KFI_PROTECTED) {
		less.caps &= ~KFI_PROTECTED;
		ret = kfn_lacks(ctrl, less, opts->host_traddr,
				"has no TLS: load kfi_sockets with its parameter tls", "",
				-EOPNOTSUPP);
		less.caps = need->caps;
	}
	if (ret == -ENODATA && less.tclass != KFI_TC_UNSPEC) {
		less.tclass = KFI_TC_UNSPEC;
		ret = kfn_lacks(ctrl, less, opts->host_traddr,
				"has no traffic classes: connect without tos", "", -EOPNOTSUPP);
		less.tclass = need->tclass;
	}
	if (ret == -ENODATA && opts->host_traddr)
		ret = kfn_lacks(ctrl, less, NULL, "does not do so from host_traddr=",
				opts->host_traddr, kfn_is_address(ctrl, opts->host_traddr) ?
				-EADDRNOTAVAIL : -EINVAL);
	if (ret == -ENODATA && opts->host_iface) {
		less.device = NULL;
		ret = kfn_lacks(ctrl, less, NULL, "does not do so by host_iface=",
				opts->host_iface, -ENODEV);
	}
	return ret;
}

/*
 * The first connection of a controller may load a provider, because `nvme connect` waits for it. A
 * reconnect may not.
 */
static int kfn_find(struct kfn_ctrl *ctrl, struct kfi_info **info)
{
	struct nvmf_ctrl_options *opts = ctrl->ctrl.opts;
	struct kfi_need need = KFN_NEED;
	char provider[KFI_NAME_MAX];
	int ret;

	kfn_provider(provider);
	need.inject = kfn_head_len(sizeof(struct nvme_command), ctrl->digests);
	need.provider = provider;
	need.device = opts->host_iface;
	need.load = !ctrl->pages;
	if (opts->tos >= 0)	/* the two other bits of the byte, ECN, are of the transport */
		need.tclass = kfi_tc_dscp_set(opts->tos >> 2);
	if (kfn_tls() || kfn_demands_tls(opts))
		need.caps |= KFI_PROTECTED;
	ret = kfi_find(ctrl->net, &need, opts->host_traddr, opts->traddr, opts->trsvcid, info);
	if (ret == -ENODATA)
		ret = kfn_not_found(ctrl, &need);
	if (ret == -ENODATA)
		dev_err(ctrl->ctrl.device,
			"no provider of kfabric reaches %s:%s from here: " KFN_REMEDY "\n",
			opts->traddr, opts->trsvcid);
	return ret;
}

/* The limits of the block queues are those of the first network: a later one must support them. */
static int kfn_net_check(struct kfn_ctrl *ctrl, const struct kfi_domain_limits *limits)
{
	unsigned int pages = min_t(size_t, limits->mr_page_limit ?: KFN_PAGES_MAX, KFN_PAGES_MAX);

	if (!ctrl->pages) {
		ctrl->virt_mask = limits->virt_boundary_mask;
		ctrl->pages = pages;
		return 0;
	}
	if (!(limits->virt_boundary_mask & ~ctrl->virt_mask) && pages >= ctrl->pages)
		return 0;
	dev_err(ctrl->ctrl.device, "the new path to the target has smaller limits than the old one\n");
	return -EOPNOTSUPP;
}

/**
 * kfn_net_close() - drop the domain, and what the queues have kept
 * @ctrl: controller; none of its queues is connected or being connected
 */
void kfn_net_close(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++)
		kfi_conn_close(&ctrl->queues[i].conn);
	if (ctrl->dom)
		kfi_dom_put(ctrl->dom);
	kfi_freeinfo(ctrl->info);
	ctrl->dom = NULL;
	ctrl->info = NULL;
}

/**
 * kfn_net_open() - find the provider and the domain that reach the target
 * @ctrl: controller, none of whose queues is connected
 *
 * Return: 0 or a negative error.
 */
int kfn_net_open(struct kfn_ctrl *ctrl)
{
	struct kfi_info *info;
	struct kfi_dom *dom;
	int ret;

	ret = kfn_find(ctrl, &info);
	if (ret)
		return ret;
	dom = kfi_dom_get(ctrl->net, info, THIS_MODULE);
	ret = PTR_ERR_OR_ZERO(dom) ?: kfn_net_check(ctrl, &dom->limits);
	if (ret || dom != ctrl->dom) {
		kfn_net_close(ctrl);
	} else {
		kfi_dom_put(ctrl->dom);
		kfi_freeinfo(ctrl->info);
	}
	if (ret) {
		if (!IS_ERR(dom))
			kfi_dom_put(dom);
		kfi_freeinfo(info);
		return ret;
	}
	ctrl->dom = dom;
	ctrl->info = info;
	dev_info(ctrl->ctrl.device, "%s:%s over %s, %s%s%s\n", ctrl->ctrl.opts->traddr,
		 ctrl->ctrl.opts->trsvcid, info->fabric_attr->prov_name, info->domain_attr->name,
		 ctrl->digests & KFN_DIGEST_HEADER ? ", header digest" : "",
		 ctrl->digests & KFN_DIGEST_DATA ? ", data digest" : "");
	return 0;
}
