/* SPDX-License-Identifier: GPL-2.0 */
/* hints.h - the service that both sides request from kfabric. Any provider may offer it. */
#ifndef KFN_HINTS_H
#define KFN_HINTS_H

#include <linux/kmod.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfabric.h>
#include "proto.h"

#define KFN_API		KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)
#define KFN_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW)	/* an answer comes behind its data */

/* Copy a string that the user has set; "" and NULL mean that it is not set. */
static inline int kfn_hint(char **to, const char *name)
{
	if (!name || !*name)
		return 0;
	*to = kstrdup(name, GFP_KERNEL);
	return *to ? 0 : -ENOMEM;
}

/**
 * kfn_hints() - what a queue needs of its endpoint
 * @prov: name of the provider, or NULL for any
 * @domain: device or interface, or NULL for any
 *
 * Return: hints, to be freed with kfi_freeinfo(), or NULL.
 */
static inline struct kfi_info *kfn_hints(const char *prov, const char *domain)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->ep_attr->max_msg_size = KFN_DATA_MAX;
	hints->tx_attr->msg_order = KFN_ORDER;
	hints->tx_attr->iov_limit = KFN_TX_SEGS;
	hints->tx_attr->inject_size = sizeof(struct nvme_command);
	hints->rx_attr->msg_order = KFN_ORDER;
	hints->rx_attr->iov_limit = KFN_RX_SEGS;
	hints->domain_attr->mr_key_size = KFN_KEY_SIZE;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | KFI_MR_PROV_KEY |
				      KFI_MR_ENDPOINT;
	if (!kfn_hint(&hints->fabric_attr->prov_name, prov) &&
	    !kfn_hint(&hints->domain_attr->name, domain))
		return hints;
	kfi_freeinfo(hints);
	return NULL;
}

/**
 * kfn_getinfo() - query kfabric for the provider that serves an address
 * @net: network namespace
 * @node: address
 * @service: service
 * @flags: KFI_SOURCE for a local address, or 0
 * @hints: result of kfn_hints()
 * @load: load kfi_sockets if no provider serves the address and @hints name none. The caller may
 *	wait for user space: it is not in a recovery, for which memory reclaim may wait
 * @infos: the answer, to be freed with kfi_freeinfo()
 *
 * A provider that @hints name is loaded by kfi.ko.
 *
 * Return: 0; -ENODATA if no provider serves the address; or another negative error.
 */
static inline int kfn_getinfo(struct net *net, const char *node, const char *service, u64 flags,
			      struct kfi_info *hints, bool load, struct kfi_info **infos)
{
	int ret = kfi_getinfo_net(net, KFN_API, node, service, flags, hints, infos);

	if (ret != -ENODATA || !load || hints->fabric_attr->prov_name)
		return ret;
	request_module("kfi-provider-sockets");
	return kfi_getinfo_net(net, KFN_API, node, service, flags, hints, infos);
}

/* Part of the message that no provider serves an address */
#define KFN_REMEDY	"load kfi_sockets, kfi_verbs or kfi_ntb; a traddr is an address in digits, not a name"

#endif /* KFN_HINTS_H */
