// SPDX-License-Identifier: GPL-2.0
/*
 * port.c - ports: where they listen.
 *
 * Several providers may serve an address (TCP and RDMA on the same interface). A port listens over
 * each of them, unless the module parameter `provider` names one, and is enabled if one of them
 * succeeds. If the address covers several (0.0.0.0, ::, the name of an interface), the port has a
 * listener for each address that exists when the port is enabled.
 */
#include <linux/inet.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "hints.h"
#include "target.h"

/* ---- ports ---- */

static struct kfnt_port *kfnt_port_new(struct nvmet_port *nport)
{
	struct kfnt_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	kref_init(&port->ref);
	INIT_LIST_HEAD(&port->listeners);
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->waiting);
	port->nport = nport;
	port->net = get_net_track(current->nsproxy->net_ns, &port->ns_tracker, GFP_KERNEL);
	return port;
}

static void kfnt_port_free(struct kref *ref)
{
	struct kfnt_port *port = container_of(ref, struct kfnt_port, ref);

	put_net_track(port->net, &port->ns_tracker);
	kfree(port);
}

static void kfnt_port_put(struct kfnt_port *port)
{
	kref_put(&port->ref, kfnt_port_free);
}

/* Set defaults for attributes of the port that were not set, and limit the others. */
static void kfnt_port_defaults(struct nvmet_port *nport)
{
	if (nport->inline_data_size < 0)
		nport->inline_data_size = KFN_INLINE_DEFAULT;
	nport->inline_data_size = min_t(int, nport->inline_data_size, KFN_INLINE_MAX);
	kfnt_port_limit_queue_size(nport, KFN_QUEUE_DEFAULT, KFN_QUEUE_MAX);
}

/* ---- listeners ---- */

static void kfnt_listener_free(struct kref *ref)
{
	struct kfnt_listener *listener = container_of(ref, struct kfnt_listener, ref);
	struct kfnt_domain *dom, *next;

	list_for_each_entry_safe(dom, next, &listener->domains, entry)
		kfnt_domain_put(dom);
	if (listener->fabric)
		WARN_ON(kfi_close(&listener->fabric->fid));
	kfnt_port_put(listener->port);
	kfree(listener);
}

void kfnt_listener_put(struct kfnt_listener *listener)
{
	kref_put(&listener->ref, kfnt_listener_free);
}

static void kfnt_listener_close(struct kfnt_listener *listener)
{
	mutex_lock(&listener->lock);
	if (listener->pep)
		WARN_ON(kfi_close(&listener->pep->fid));
	listener->pep = NULL;
	mutex_unlock(&listener->lock);
	if (listener->eq)
		WARN_ON(kfi_close(&listener->eq->fid));
	kfnt_listener_put(listener);
}

static int kfnt_listener_open(struct kfnt_listener *listener, struct kfi_info *info)
{
	int ret;

	ret = kfi_fabric_net(listener->port->net, info->fabric_attr, &listener->fabric, NULL);
	if (ret)
		return ret;
	ret = kfi_eq_open(listener->fabric, NULL, &listener->eq, kfnt_listener_event, listener);
	if (ret)
		return ret;
	return kfi_passive_ep(listener->fabric, info, &listener->pep, listener) ?:
	       kfi_pep_bind(listener->pep, &listener->eq->fid, 0) ?:
	       kfi_listen(listener->pep);
}

static bool kfnt_addr_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/*
 * Set the text of a listener's address: the text of the port, or the address of the listener if
 * the port has a wildcard or a name, to which no host can connect.
 */
static void kfnt_listener_name(struct kfnt_listener *listener, const struct kfi_info *info)
{
	const char *traddr = listener->port->nport->disc_addr.traddr;
	struct sockaddr_storage addr = {};

	memcpy(listener->traddr, traddr, NVMF_TRADDR_SIZE);
	if (info->addr_format != KFI_SOCKADDR_IN && info->addr_format != KFI_SOCKADDR_IN6)
		return;
	if (inet_pton_with_scope(listener->port->net, AF_UNSPEC, traddr, NULL, &addr) ||
	    kfnt_addr_any(&addr))
		snprintf(listener->traddr, NVMF_TRADDR_SIZE, "%pISc", info->src_addr);
}

static int kfnt_listen(struct kfnt_port *port, struct kfi_info *info)
{
	struct kfnt_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	int ret;

	if (!listener)
		return -ENOMEM;
	kref_init(&listener->ref);
	INIT_LIST_HEAD(&listener->domains);
	mutex_init(&listener->lock);
	kref_get(&port->ref);
	listener->port = port;
	kfnt_listener_name(listener, info);
	ret = kfnt_listener_open(listener, info);
	if (ret) {
		pr_warn("nvmet-kfi: port %u: can't listen on %s:%s over %s (%d)\n",
			le16_to_cpu(port->nport->disc_addr.portid), listener->traddr,
			port->nport->disc_addr.trsvcid, info->fabric_attr->prov_name, ret);
		kfnt_listener_close(listener);
		return ret;
	}
	list_add_tail(&listener->entry, &port->listeners);
	pr_info("nvmet-kfi: port %u: %s:%s over %s\n", le16_to_cpu(port->nport->disc_addr.portid),
		listener->traddr, port->nport->disc_addr.trsvcid, info->fabric_attr->prov_name);
	return 0;
}

static bool kfnt_same_addr(const struct kfi_info *a, const struct kfi_info *b)
{
	return !strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
	       !strcmp(a->domain_attr->name, b->domain_attr->name) &&
	       a->src_addrlen == b->src_addrlen &&
	       !memcmp(a->src_addr, b->src_addr, a->src_addrlen);
}

/* Is an earlier entry of the list for the same place? The best entry comes first. */
static bool kfnt_listed_before(const struct kfi_info *infos, const struct kfi_info *info)
{
	for (; infos != info; infos = infos->next)
		if (kfnt_same_addr(infos, info))
			return true;
	return false;
}

/* Listen over each provider, at each address. Return: 0 if one of them listens. */
static int kfnt_listen_all(struct kfnt_port *port, struct kfi_info *infos)
{
	struct kfi_info *info;
	int ret = -ENODATA, err;

	for (info = infos; info; info = info->next) {
		if (kfnt_listed_before(infos, info))
			continue;
		err = kfnt_listen(port, info);
		if (ret)
			ret = err;
	}
	return ret;
}

/* Entries with places come first: kfnt_listen_all() skips the others for the same address. */
static int kfnt_port_getinfo(struct kfnt_port *port, struct kfi_info *hints,
			     struct kfi_info **infos)
{
	struct nvmf_disc_rsp_page_entry *addr = &port->nport->disc_addr;
	const char *service = *addr->trsvcid ? addr->trsvcid : KFN_PORT;
	struct kfi_info **end = infos;
	int ret;

	*infos = NULL;
	if (kfnt_bypass()) {
		hints->caps |= KFI_PLACE;
		if (kfn_getinfo(port->net, addr->traddr, service, KFI_SOURCE, hints, false, infos))
			*infos = NULL;
		hints->caps &= ~KFI_PLACE;
	}
	while (*end)
		end = &(*end)->next;
	ret = kfn_getinfo(port->net, addr->traddr, service, KFI_SOURCE, hints, true, end);
	if (ret)
		*end = NULL;
	return *infos ? 0 : ret;
}

static int kfnt_port_listen(struct kfnt_port *port)
{
	struct nvmf_disc_rsp_page_entry *addr = &port->nport->disc_addr;
	struct kfi_info *hints = kfn_hints(kfnt_provider(), NULL), *infos;
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfnt_port_getinfo(port, hints, &infos);
	kfi_freeinfo(hints);
	if (ret) {
		pr_err("nvmet-kfi: no provider of kfabric has the address %s:%s (%d): "
		       KFN_REMEDY "\n", addr->traddr, addr->trsvcid, ret);
		return ret;
	}
	ret = kfnt_listen_all(port, infos);
	kfi_freeinfo(infos);
	return ret;
}

int kfnt_add_port(struct nvmet_port *nport)
{
	struct kfnt_port *port = kfnt_port_new(nport);
	int ret;

	if (!port)
		return -ENOMEM;
	kfnt_port_defaults(nport);
	nport->priv = port;
	ret = kfnt_port_listen(port);
	if (ret) {
		nport->priv = NULL;
		kfnt_port_put(port);
	}
	return ret;
}

/*
 * The queues of a removed port execute commands that use the core's port. The core frees it when it
 * has flushed nvmet_wq, on which the other transports release their queues. This module releases
 * them on kfnt_wq: on nvmet_wq, releases that wait for commands could leave no place for the items
 * that execute these commands. So an item of nvmet_wq waits for kfnt_wq. Another task may have taken
 * the release of a queue before kfnt_end_port() and not queued it yet: it does that in an RCU section.
 */
static void kfnt_await_releases(struct work_struct *work)
{
	synchronize_rcu();
	flush_workqueue(kfnt_wq);
}

static DECLARE_WORK(kfnt_await_work, kfnt_await_releases);

void kfnt_ports_exit(void)
{
	flush_work(&kfnt_await_work);
}

/*
 * This function does not wait for the queues of the port: they may be executing commands that need
 * a lock which the caller holds. The release of each of them is taken when it returns.
 */
void kfnt_remove_port(struct nvmet_port *nport)
{
	struct kfnt_port *port = nport->priv;
	struct kfnt_listener *listener, *next;

	list_for_each_entry_safe(listener, next, &port->listeners, entry) {
		list_del(&listener->entry);
		kfnt_listener_close(listener);
	}
	kfnt_end_port(port);
	queue_work(nvmet_wq, &kfnt_await_work);
	nport->priv = NULL;
	kfnt_port_put(port);
}
