// SPDX-License-Identifier: GPL-2.0
/*
 * gone.c - what becomes of objects when what they stand on goes: their namespace, or the device under some of them
 *
 * Both ends are the same but for what they end. All of it becomes husks, at once and without waiting for a consumer: an
 * object that is opened under the locks taken here either sees its parent dead, or is found and killed.
 */
#include <net/net_namespace.h>

#include "ep.h"
#include "registry.h"

/* First those that share contexts, then the contexts. */
static void kill_eps(struct kfi_domain *domain, bool shared)
{
	struct kfi_ep *ep;

	lockdep_assert_held(&domain->lock);
	list_for_each_entry(ep, &domain->eps, obj.entry)
		if (kfi_ep_is_shared(ep) == shared)
			kfi_ep_kill(ep);
}

static void kill_domain(struct kfi_domain *domain)
{
	mutex_lock(&domain->lock);
	if (!domain->dead) {
		WRITE_ONCE(domain->dead, true);
		kill_eps(domain, false);
		kill_eps(domain, true);
		kfi_mr_lose(domain);
		if (domain->eq)
			kfi_eq_event(domain->eq, KFI_SHUTDOWN, &domain->fid.fid, NULL, NULL, 0);
	}
	mutex_unlock(&domain->lock);
}

/* A provider says in listen what a listener stands on, under its lock. */
static bool stands_on(struct kfi_pep *pep, const void *device)
{
	bool ret;

	mutex_lock(&pep->lock);
	ret = pep->device == device;
	mutex_unlock(&pep->lock);
	return ret;
}

/**
 * kfi_fabric_kill() - end what a fabric has
 * @fabric: fabric that can't be closed meanwhile
 * @device: what stands on it, or NULL: all
 */
void kfi_fabric_kill(struct kfi_fabric *fabric, const void *device)
{
	struct kfi_domain *domain;
	struct kfi_pep *pep;

	mutex_lock(&fabric->lock);
	list_for_each_entry(pep, &fabric->peps, obj.entry)
		if (!device || stands_on(pep, device))
			kfi_pep_kill(pep);
	list_for_each_entry(domain, &fabric->domains, obj.entry)
		if (!device || domain->device == device)
			kill_domain(domain);
	mutex_unlock(&fabric->lock);
}

/* ---- the end of a device ---- */

/**
 * kfi_device_gone() - see kfi_prov.h
 * @device: what the provider has called it
 */
void kfi_device_gone(const void *device)
{
	struct kfi_fabric *fabric;

	mutex_lock(&kfi_fabrics_lock);
	list_for_each_entry(fabric, &kfi_fabrics, obj.entry)
		kfi_fabric_kill(fabric, device);
	mutex_unlock(&kfi_fabrics_lock);
}
EXPORT_SYMBOL_GPL(kfi_device_gone);

/* ---- the end of a namespace ---- */

/* Nothing below may touch the namespace any more. */
static int kill_fabric(struct kfi_fabric *fabric, void *arg)
{
	WRITE_ONCE(fabric->dead, true);
	kfi_fabric_kill(fabric, NULL);
	write_pnet(&fabric->net, NULL);
	*(bool *)arg = true;
	return 0;
}

/* Who has read a fabric's namespace under RCU is through with it when this returns. */
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
 * kfi_fabric_init() - listen to the end of namespaces
 *
 * As a "device", so that our turn comes while the namespace's interfaces still
 * work and peers can be told.
 * Return: 0 or a negative errno.
 */
int kfi_fabric_init(void)
{
	return register_pernet_device(&kfi_net_ops);
}

/**
 * kfi_fabric_exit() - stop listening
 */
void kfi_fabric_exit(void)
{
	unregister_pernet_device(&kfi_net_ops);
	WARN_ON(!list_empty(&kfi_fabrics));
}
