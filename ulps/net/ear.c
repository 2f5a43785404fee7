// SPDX-License-Identifier: GPL-2.0
/*
 * ear.c - local addresses at which peers are awaited. Several peers, also of several devices, may
 * reach this node by one address.
 */
#include <linux/in.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "knet.h"

/* ---- calls ---- */

static bool same_ip(const struct sockaddr_storage *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->sa_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       (!a6->sin6_scope_id || a6->sin6_scope_id == b6->sin6_scope_id);
}

static bool is_ip(u32 format)
{
	return format >= KFI_SOCKADDR && format <= KFI_SOCKADDR_IN6;
}

/* A way has one other end, whatever its name is. */
static bool is_peer(const struct knet_peer *peer, const struct kfi_info *info)
{
	if (peer->addr.ss_family == AF_UNSPEC)
		return !is_ip(info->addr_format);
	return is_ip(info->addr_format) && same_ip(&peer->addr, info->dest_addr);
}

static int called(struct kfi_caller *caller)
{
	struct knet_ear *ear = container_of(caller->listener, struct knet_ear, listener);
	struct knet_peer *peer;
	int ret = -EACCES;

	mutex_lock(&ear->lock);
	list_for_each_entry(peer, &ear->peers, ear_entry) {
		if (!is_peer(peer, caller->info))
			continue;
		ret = knet_answer(peer, &ear->secret, caller, caller->data);
		break;
	}
	mutex_unlock(&ear->lock);
	return ret;
}

/* ---- life ---- */

/* Drop a user of an address. Return: the ear, if it was the last one: it listens no more */
static struct knet_ear *put(struct knet_net *ns, struct knet_ear *ear)
{
	lockdep_assert_held(&ns->ears_lock);
	if (--ear->users)
		return NULL;
	list_del(&ear->entry);
	kfi_listener_close(&ear->listener);
	return ear;
}

/* Its connections may take long to end, so the lock is not held. */
static void end(struct knet_ear *ear)
{
	if (!ear)
		return;
	kfi_listener_wait(&ear->listener);
	kfree_sensitive(ear);
}

static struct knet_ear *open(struct knet *kn, const struct kfi_need *need,
			     const struct knet_secret *secret, const char *node)
{
	struct knet_ear *ear = kzalloc(sizeof(*ear), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ear)
		return ERR_PTR(-ENOMEM);
	ear->secret = *secret;
	strscpy(ear->device, need->device, sizeof(ear->device));
	strscpy(ear->node, node, sizeof(ear->node));
	mutex_init(&ear->lock);
	INIT_LIST_HEAD(&ear->peers);
	ear->listener.called = called;
	ear->listener.weak = true;
	ear->listener.need_privilege = true;
	ear->listener.account = kfi_payer_account(kn->ns->payer);
	ret = kfi_listener_open(&ear->listener, kn->net, need, node, knet_service, THIS_MODULE);
	if (ret) {
		kfree_sensitive(ear);
		return ERR_PTR(ret);
	}
	list_add(&ear->entry, &kn->ns->ears);
	return ear;
}

static bool is_at(const struct knet_ear *ear, const char *device, const struct knet_secret *secret,
		  const char *node)
{
	return !strcmp(ear->device, device) && !strcmp(ear->node, node) &&
	       knet_same_secret(&ear->secret, secret);
}

static struct knet_ear *get(struct knet *kn, const struct kfi_need *need,
			    const struct knet_secret *secret, const char *node)
{
	struct knet_ear *ear;

	lockdep_assert_held(&kn->ns->ears_lock);
	list_for_each_entry(ear, &kn->ns->ears, entry)
		if (is_at(ear, need->device, secret, node))
			goto found;
	ear = open(kn, need, secret, node);
	if (IS_ERR(ear))
		return ear;
found:
	ear->users++;
	return ear;
}

/* A caller is known by its address, so it can be the peer of one device only. */
static int enter(struct knet_ear *ear, struct knet_peer *peer)
{
	struct knet_peer *other;
	int ret = 0;

	mutex_lock(&ear->lock);
	list_for_each_entry(other, &ear->peers, ear_entry)
		if (peer->addr.ss_family == AF_UNSPEC ||
		    same_ip(&other->addr, (struct sockaddr *)&peer->addr))
			ret = -EADDRINUSE;
	if (!ret)
		list_add(&peer->ear_entry, &ear->peers);
	mutex_unlock(&ear->lock);
	return ret;
}

/* Return: as put() */
static struct knet_ear *leave(struct knet_peer *peer)
{
	struct knet_ear *ear = peer->ear;

	if (!ear)
		return NULL;
	mutex_lock(&ear->lock);
	list_del(&peer->ear_entry);
	mutex_unlock(&ear->lock);
	peer->ear = NULL;
	return put(peer->kn->ns, ear);
}

/* Write a local address as kfi_listener_open() takes it. %pIS has another form for the scope. */
static void print_ip(const struct sockaddr *addr, char *node, size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (addr->sa_family == AF_INET6 && in6->sin6_scope_id)
		snprintf(node, size, "%pISc%%%u", addr, in6->sin6_scope_id);
	else
		snprintf(node, size, "%pISc", addr);
}

/*
 * Await the peer at the address by which it is dialed, with the secret for that. The address
 * changes with those of this node.
 * Context: &knet_peer.work. Return: 0 or a negative error
 */
int knet_ear_join(struct knet_peer *peer, const struct kfi_need *need,
		  const struct knet_secret *secret, const struct kfi_info *info)
{
	struct knet_ear *ear, *old = NULL, *unused = NULL;
	struct knet_net *ns = peer->kn->ns;
	char node[KNET_NODE];
	int ret = 0;

	if (is_ip(info->addr_format))
		print_ip(info->src_addr, node, sizeof(node));
	else
		strscpy(node, need->device, sizeof(node));
	mutex_lock(&ns->ears_lock);
	if (peer->ear && is_at(peer->ear, need->device, secret, node))
		goto unlock;
	old = leave(peer);
	ear = get(peer->kn, need, secret, node);
	ret = PTR_ERR_OR_ZERO(ear);
	if (ret)
		goto unlock;
	ret = enter(ear, peer);
	if (ret)
		unused = put(ns, ear);
	else
		peer->ear = ear;
unlock:
	mutex_unlock(&ns->ears_lock);
	end(old);
	end(unused);
	return ret;
}

/* No call for the peer is answered any more. Context: &knet_peer.work */
void knet_ear_leave(struct knet_peer *peer)
{
	struct knet_net *ns = peer->kn->ns;
	struct knet_ear *old;

	mutex_lock(&ns->ears_lock);
	old = leave(peer);
	mutex_unlock(&ns->ears_lock);
	end(old);
}
