// SPDX-License-Identifier: GPL-2.0
/*
 * gone.c - the end of objects whose network namespace or device is removed
 *
 * Both cases end objects in the same way, at once and without waiting for a consumer: the objects
 * stay allocated until the consumer closes them, and their calls return -ENODEV. An object that is
 * opened at the same time, under the locks that are taken here, either sees that its parent is
 * dead, or is found in the parent's list and killed.
 *
 * Lock order: &kfi_fabric.lock, then &kfi_pep.lock, or &kfi_domain.lock and &kfi_ep.lock. A
 * reconnect for which memory reclaim waits takes them, too, so memory is allocated under them
 * without I/O. The list of all fabrics is not locked meanwhile: the end of a fabric may take long,
 * and must not stop a task that opens another one.
 */
#include <linux/notifier.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include <kfi_conn_set.h>

#include "ep.h"
#include "registry.h"

/* Endpoints that are bound to shared contexts are killed before the shared contexts. */
static void kill_eps(struct kfi_domain *domain, bool shared)
{
	struct kfi_ep *ep;

	lockdep_assert_held(&domain->lock);
	list_for_each_entry(ep, &domain->eps, obj.entry)
		if (kfi_ep_is_shared(ep) == shared)
			kfi_ep_kill(ep);
}

/*
 * Begin the ends of all connections, so that they run in parallel. The end of a connection waits
 * for its packets in queues of this machine, and a namespace that ends makes the ends of others
 * wait. Peers of an RDM endpoint end in parallel anyway.
 */
static void end_conns(struct kfi_domain *domain)
{
	struct kfi_ep *ep;

	lockdep_assert_held(&domain->lock);
	list_for_each_entry(ep, &domain->eps, obj.entry)
		if (ep->type == KFI_EP_MSG && ep->conn_set)
			kfi_conn_set_end(ep->conn_set, -ENODEV);
}

static void kill_domain(struct kfi_domain *domain)
{
	mutex_lock(&domain->lock);
	if (!domain->dead) {
		WRITE_ONCE(domain->dead, true);
		kill_eps(domain, false);
		kill_eps(domain, true);
		kfi_mr_device_gone(domain);
		if (domain->eq)
			kfi_eq_event(domain->eq, KFI_SHUTDOWN, &domain->fid.fid, NULL, NULL, 0);
	}
	mutex_unlock(&domain->lock);
}

/* No domain is dead yet: what is opened in between ends with its domain. */
static void begin_ends(struct kfi_fabric *fabric, const void *device)
{
	struct kfi_domain *domain;

	lockdep_assert_held(&fabric->lock);
	list_for_each_entry(domain, &fabric->domains, obj.entry) {
		if (device && domain->device != device)
			continue;
		mutex_lock(&domain->lock);
		end_conns(domain);
		mutex_unlock(&domain->lock);
	}
}

/*
 * Does a passive endpoint use the device? The provider sets &kfi_pep.device under &kfi_pep.lock,
 * for example in its listen operation.
 */
static bool uses_device(struct kfi_pep *pep, const void *device)
{
	bool ret;

	mutex_lock(&pep->lock);
	ret = pep->device == device;
	mutex_unlock(&pep->lock);
	return ret;
}

/**
 * kfi_fabric_kill() - end the objects of a fabric
 * @fabric: fabric; the caller prevents its close
 * @device: end the objects that use this device; NULL: all objects
 */
void kfi_fabric_kill(struct kfi_fabric *fabric, const void *device)
{
	unsigned int noio = memalloc_noio_save();
	struct kfi_domain *domain;
	struct kfi_pep *pep;

	mutex_lock(&fabric->lock);
	begin_ends(fabric, device);
	list_for_each_entry(pep, &fabric->peps, obj.entry)
		if (!device || uses_device(pep, device))
			kfi_pep_kill(pep);
	list_for_each_entry(domain, &fabric->domains, obj.entry)
		if (!device || domain->device == device)
			kill_domain(domain);
	mutex_unlock(&fabric->lock);
	memalloc_noio_restore(noio);
}

/* ---- devices come ---- */

static BLOCKING_NOTIFIER_HEAD(devices);

/* The functions look at what there is, so they are not told what has changed. */
static void devices_changed(void)
{
	blocking_notifier_call_chain(&devices, 0, NULL);
}

/** kfi_device_new() - see kfi_prov_ops.h */
void kfi_device_new(void)
{
	devices_changed();
}
EXPORT_SYMBOL_GPL(kfi_device_new);

void kfi_register_devices_notifier(struct notifier_block *nb)
{
	blocking_notifier_chain_register(&devices, nb);
}
EXPORT_SYMBOL_GPL(kfi_register_devices_notifier);

void kfi_unregister_devices_notifier(struct notifier_block *nb)
{
	blocking_notifier_chain_unregister(&devices, nb);
}
EXPORT_SYMBOL_GPL(kfi_unregister_devices_notifier);

/* ---- the end of a device ---- */

static int device_left(struct kfi_fabric *fabric, void *device)
{
	kfi_fabric_kill(fabric, device);
	return 0;
}

/**
 * kfi_device_gone() - see kfi_prov.h
 * @device: the pointer that the provider has stored in the objects
 */
void kfi_device_gone(const void *device)
{
	kfi_walk_fabrics(NULL, device_left, (void *)device);
	devices_changed();
}
EXPORT_SYMBOL_GPL(kfi_device_gone);

/* ---- the end of a namespace ---- */

static int kill_fabric(struct kfi_fabric *fabric, void *arg)
{
	WRITE_ONCE(fabric->dead, true);
	kfi_fabric_kill(fabric, NULL);
	write_pnet(&fabric->net, NULL);
	*(bool *)arg = true;
	return 0;
}

/*
 * On return no RCU reader uses the pointers to the namespace any more that it has read from a
 * fabric.
 */
static void __net_exit exit_net(struct net *net)
{
	bool any = false;

	kfi_walk_fabrics(net, kill_fabric, &any);
	if (any)
		synchronize_rcu_expedited();
}

static struct pernet_operations kfi_net_ops = {
	.exit	= exit_net,
};

/**
 * kfi_fabric_init() - register for the end of network namespaces
 *
 * Registered as a pernet device, because these are called while the interfaces of the namespace
 * still work, so that providers can notify their peers.
 *
 * Return: 0 or a negative errno.
 */
int kfi_fabric_init(void)
{
	return register_pernet_device(&kfi_net_ops);
}

/** kfi_fabric_exit() - undo kfi_fabric_init() */
void kfi_fabric_exit(void)
{
	unregister_pernet_device(&kfi_net_ops);
	WARN_ON(!list_empty(&kfi_fabrics));
}
