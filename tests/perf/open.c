// SPDX-License-Identifier: GPL-2.0
/*
 * open.c - what to ask kfi_getinfo() for.
 */
#include <linux/slab.h>

#include "perf.h"

static int set_hints(struct kfi_info *hints, const struct perf_ask *ask)
{
	hints->caps = ask->caps;
	hints->ep_attr->type = ask->ep_type;
	hints->ep_attr->max_msg_size = ask->msg;
	hints->tx_attr->size = ask->tx;
	hints->tx_attr->iov_limit = ask->iov;
	hints->tx_attr->msg_order = KFI_ORDER_SAS;
	hints->tx_attr->op_flags = ask->delivery ? KFI_DELIVERY_COMPLETE : 0;
	hints->rx_attr->size = ask->rx;
	hints->rx_attr->iov_limit = ask->iov;
	hints->rx_attr->msg_order = KFI_ORDER_SAS;
	hints->domain_attr->cq_data_size = sizeof(u32);
	hints->domain_attr->mr_iov_limit = ask->mr_iov;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED |
				      KFI_MR_PROV_KEY | KFI_MR_ENDPOINT;
	hints->fabric_attr->fabric = ask->fabric;
	hints->domain_attr->domain = ask->domain;
	if (!ask->prov || !*ask->prov)
		return 0;
	hints->fabric_attr->prov_name = kstrdup(ask->prov, GFP_KERNEL);
	return hints->fabric_attr->prov_name ? 0 : -ENOMEM;
}

/**
 * perf_getinfo() - ask for infos
 * @ask: whom and what to look for
 * @info: where to put the list
 * Return: 0 or a negative error.
 */
int perf_getinfo(const struct perf_ask *ask, struct kfi_info **info)
{
	const char *node = ask->node && *ask->node ? ask->node : NULL;
	u64 flags = node || ask->service ? ask->flags : 0;
	struct kfi_info *hints = kfi_allocinfo();
	int err;

	if (!hints)
		return -ENOMEM;
	err = set_hints(hints, ask);
	if (!err)
		err = kfi_getinfo_net(ask->net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
				      node, ask->service, flags, hints, info);
	kfi_freeinfo(hints);
	return err;
}

u64 perf_caps(const struct perf_hello *hello)
{
	u64 caps = KFI_MSG;

	if (hello->op == KFI_PERF_TAGGED)
		caps |= KFI_TAGGED;
	if (perf_is_rma(hello))
		caps |= KFI_RMA;
	return caps;
}

static size_t chunks(size_t len)
{
	return DIV_ROUND_UP(len, PERF_CHUNK);
}

void perf_ask_flow(struct perf_ask *ask, const struct perf_hello *hello,
		   const struct perf_shape *shape)
{
	size_t region = hello->depth * perf_stride(hello);

	ask->caps = perf_caps(hello);
	ask->tx = shape->tx + PERF_CTL_OPS;
	ask->rx = shape->rx + PERF_CTL_OPS;
	ask->msg = max_t(size_t, hello->size, PERF_CTL_MAX);
	if (hello->mem == KFI_PERF_MEM_PAGES) {
		ask->iov = max(chunks(shape->tx_len), chunks(shape->rx_len));
		ask->mr_iov = perf_is_rma(hello) ? min_t(size_t, chunks(region), PERF_IOV_MAX) : 0;
	}
	ask->delivery = hello->op == KFI_PERF_WRITE;
}
