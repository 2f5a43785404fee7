// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names, in the formats of kfi_inaddr.h, and the devices that have these addresses.
 *
 * rdma_cm selects the device and the port of a local address, as it does for a connection from that
 * address. This is the same for IPoIB, RoCE and iWARP.
 */
#include <linux/mm.h>
#include <rdma/rdma_cm.h>
#include "dev.h"

int kv_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	return kfi_inaddr_name_resolve(&to_kv_domain(domain)->names, node, service, addr);
}

int kv_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	return kfi_inaddr_name_check(&to_kv_domain(domain)->names, format, addr);
}

/* The device may be removed now. kv_dev_at() destroys the identifier in any case. */
static int kv_no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

struct kv_dev *kv_dev_at(struct net *net, const union kfi_inaddr *addr, u32 *port)
{
	union kfi_inaddr name = *addr;
	struct kv_dev *dev = NULL;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, kv_no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return ERR_CAST(id);
	kfi_inaddr_set_port(&name, 0);
	ret = rdma_bind_addr(id, &name.sa);
	if (!ret && id->device) {
		dev = kv_dev_get(id->device);
		*port = id->port_num;
	}
	rdma_destroy_id(id);
	return ret == -ENOMEM ? ERR_PTR(ret) : dev;
}

static struct kv_dev *kv_find(const struct kfi_domain *domain, const struct kfi_inaddr_locals *all,
			      u32 *port)
{
	struct net *net = read_pnet(&domain->fabric->net);
	struct kv_dev *dev;
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		if (strcmp(all->at[i].fabric, domain->fabric->name))
			continue;
		dev = kv_dev_at(net, &all->at[i].addr, port);
		if (IS_ERR(dev))
			return dev;
		if (!dev)
			continue;
		if (!strcmp(dev_name(&dev->ib->dev), domain->name))
			return dev;
		kv_dev_put(dev);
	}
	return ERR_PTR(-ENODEV);
}

struct kv_dev *kv_dev_of(const struct kfi_domain *domain, const struct kfi_inaddr_names *names,
			 u32 *port)
{
	struct kfi_inaddr_filter filter = {};	/* the address of the domain, if it has one */
	struct kfi_inaddr_locals *all;
	struct kv_dev *dev;

	if (kfi_inaddr_name_source(names, domain->info, &filter.src))
		return ERR_PTR(-EINVAL);
	all = kfi_inaddr_locals(read_pnet(&domain->fabric->net), &filter);
	if (!all)
		return ERR_PTR(-ENOMEM);
	dev = kv_find(domain, all, port);
	kvfree(all);
	return dev;
}
