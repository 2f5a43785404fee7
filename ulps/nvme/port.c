// SPDX-License-Identifier: GPL-2.0
/*
 * port.c - ports: where they listen.
 *
 * Several providers may serve an address (TCP and RDMA on the same interface). A port listens over
 * each of them, unless the module parameter `provider` names one, and is enabled if one of them
 * succeeds. If the address covers several (0.0.0.0, ::, the name of an interface), it listens at
 * each answer of the providers: kfi_sockets serves addresses that are added later to a wildcard,
 * others serve each address that exists when the port is enabled or that comes later, again when a
 * device that has gone is back. A port whose address no device has yet waits for it. With the treq
 * `required` it listens only over providers that protect connections.
 */
#include <linux/inet.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "target.h"

/* A host may make the connections of all its queues before it sends the first NVMe connect. */
enum { KFNT_UNCONNECTED_QUEUES = 256 };

static void kfnt_port_free(struct kref *ref)
{
	kfree(container_of(ref, struct kfnt_port, ref));
}

void kfnt_port_put(struct kfnt_port *port)
{
	kref_put(&port->ref, kfnt_port_free);
}

static int kfnt_port_limit(const char *name, int value, int preset, int most)
{
	if (value < 0)
		return preset;
	if (value > most)
		pr_warn("nvmet-kfi: %s is %d at most, not %d\n", name, most, value);
	return min(value, most);
}

/* Set defaults for attributes of the port that were not set, and limit the others. */
static void kfnt_port_defaults(struct nvmet_port *nport)
{
	nport->inline_data_size = kfnt_port_limit("param_inline_data_size", nport->inline_data_size,
						  KFN_INLINE_DEFAULT, KFN_INLINE_MAX);
	kfnt_port_set_queue_size(nport, kfnt_port_limit("param_max_queue_size",
							kfnt_port_queue_size(nport, -1),
							KFN_QUEUE_DEFAULT, KFN_QUEUE_MAX));
}

/*
 * Discovery shows hosts the family of the port. An address that is of no family, as that of a
 * bridge or the name of an interface, is in any of them.
 */
static bool kfnt_port_family_fits(const struct nvmf_disc_rsp_page_entry *addr)
{
	struct sockaddr_storage ss;
	int other = addr->adrfam == NVMF_ADDR_FAMILY_IP4 ? AF_INET6 :
		    addr->adrfam == NVMF_ADDR_FAMILY_IP6 ? AF_INET : AF_UNSPEC;

	return other == AF_UNSPEC ||
	       inet_pton_with_scope(current->nsproxy->net_ns, other, addr->traddr, NULL, &ss);
}

static int kfnt_port_listen(struct kfnt_port *port)
{
	struct nvmf_disc_rsp_page_entry *addr = &port->nport->disc_addr;
	const char *service = *addr->trsvcid ? addr->trsvcid : KFN_PORT;
	struct kfi_need need = KFN_NEED;
	char provider[KFI_NAME_MAX];
	int ret;

	if (!kfnt_port_family_fits(addr)) {
		pr_err("nvmet-kfi: %s is no address of addr_adrfam\n", addr->traddr);
		return -EINVAL;
	}
	kfnt_provider(provider);
	need.provider = provider;
	need.load = true;
	if ((addr->treq & NVME_TREQ_SECURE_CHANNEL_MASK) == NVMF_TREQ_REQUIRED)
		need.caps |= KFI_PROTECTED;
	port->listener.called = kfnt_called;
	port->listener.wait = true;
	port->listener.max_unready = KFNT_UNCONNECTED_QUEUES * kfnt_queue_limit(port->nport);
	ret = kfi_listener_open(&port->listener, current->nsproxy->net_ns, &need, addr->traddr,
				service, THIS_MODULE);
	if (ret)
		pr_err("nvmet-kfi: no provider of kfabric has the address %s:%s%s (%d): "
		       KFN_REMEDY "\n", addr->traddr, service,
		       need.caps & KFI_PROTECTED ? " and TLS, which treq requires" : "", ret);
	return ret;
}

int kfnt_add_port(struct nvmet_port *nport)
{
	struct kfnt_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	int ret;

	if (!port)
		return -ENOMEM;
	kref_init(&port->ref);
	port->nport = nport;
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
 * them on a queue of its own: on nvmet_wq, releases that wait for commands could leave no place for
 * the items that execute these commands. So an item of nvmet_wq waits for that queue. Another task
 * may have taken the release of a queue and not queued it yet: it does that in an RCU section.
 */
static void kfnt_await_releases(struct work_struct *work)
{
	synchronize_rcu();
	flush_workqueue(kfnt_conn_ops.end_wq);
}

static DECLARE_WORK(kfnt_await_work, kfnt_await_releases);

/* No port is left, so after that no queue is. */
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

	kfi_listener_close(&port->listener);
	queue_work(nvmet_wq, &kfnt_await_work);
	nport->priv = NULL;
	kfnt_port_put(port);
}
