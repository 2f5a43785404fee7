// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - struct kfi_info: allocate, copy, free. An info is plain memory and owns everything that
 * its pointers refer to, except for handles of open objects.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "core.h"

/**
 * kfi_version() - see kfabric.h
 *
 * Return: the version of the API that this module implements.
 */
uint32_t kfi_version(void)
{
	return KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION);
}
EXPORT_SYMBOL_GPL(kfi_version);

static void free_fabric_attr(struct kfi_fabric_attr *attr)
{
	if (!attr)
		return;
	kfree(attr->name);
	kfree(attr->prov_name);
	kfree(attr);
}

static void free_domain_attr(struct kfi_domain_attr *attr)
{
	if (!attr)
		return;
	kfree(attr->name);
	kfree_sensitive(attr->auth_key);
	kfree(attr);
}

static void free_ep_attr(struct kfi_ep_attr *attr)
{
	if (!attr)
		return;
	kfree_sensitive(attr->auth_key);
	kfree(attr);
}

static void free_one(struct kfi_info *info)
{
	kfree(info->src_addr);
	kfree(info->dest_addr);
	kfree(info->tx_attr);
	kfree(info->rx_attr);
	free_ep_attr(info->ep_attr);
	free_domain_attr(info->domain_attr);
	free_fabric_attr(info->fabric_attr);
	kfree(info);
}

/**
 * kfi_freeinfo() - see kfi_info.h
 * @info: first entry of a list, or NULL
 */
void kfi_freeinfo(struct kfi_info *info)
{
	struct kfi_info *next;

	for (; info; info = next) {
		next = info->next;
		free_one(info);
	}
}
EXPORT_SYMBOL_GPL(kfi_freeinfo);

/**
 * kfi_allocinfo() - see kfi_info.h
 *
 * Return: a zeroed info with all attribute structures, or NULL.
 */
struct kfi_info *kfi_allocinfo(void)
{
	struct kfi_info *info = kzalloc(sizeof(*info), GFP_KERNEL_ACCOUNT);

	if (!info)
		return NULL;
	info->tx_attr = kzalloc(sizeof(*info->tx_attr), GFP_KERNEL_ACCOUNT);
	info->rx_attr = kzalloc(sizeof(*info->rx_attr), GFP_KERNEL_ACCOUNT);
	info->ep_attr = kzalloc(sizeof(*info->ep_attr), GFP_KERNEL_ACCOUNT);
	info->domain_attr = kzalloc(sizeof(*info->domain_attr), GFP_KERNEL_ACCOUNT);
	info->fabric_attr = kzalloc(sizeof(*info->fabric_attr), GFP_KERNEL_ACCOUNT);
	if (info->tx_attr && info->rx_attr && info->ep_attr &&
	    info->domain_attr && info->fabric_attr)
		return info;
	kfi_freeinfo(info);
	return NULL;
}
EXPORT_SYMBOL_GPL(kfi_allocinfo);

/*
 * The functions below copy a structure, clear the pointers in the copy, and then copy what the
 * pointers refer to. So if memory runs out half way, the copy can be freed by the functions above.
 */

/* Copy @len bytes to new memory at *@dst. If the source is missing or empty, set *@dst to NULL. */
static bool dup_mem(void *dst, const void *src, size_t len)
{
	void **to = dst;

	*to = NULL;
	if (!src || !len)
		return true;
	*to = kmemdup(src, len, GFP_KERNEL_ACCOUNT);
	return *to;
}

static bool dup_str(char **dst, const char *src)
{
	*dst = kstrdup(src, GFP_KERNEL_ACCOUNT);	/* returns NULL for NULL */
	return *dst || !src;
}

static bool dup_fabric_attr(struct kfi_fabric_attr **to, const struct kfi_fabric_attr *from)
{
	if (!dup_mem(to, from, sizeof(*from)))
		return false;
	if (!from)
		return true;
	(*to)->name = NULL;
	(*to)->prov_name = NULL;
	return dup_str(&(*to)->name, from->name) &&
	       dup_str(&(*to)->prov_name, from->prov_name);
}

static bool dup_domain_attr(struct kfi_domain_attr **to, const struct kfi_domain_attr *from)
{
	if (!dup_mem(to, from, sizeof(*from)))
		return false;
	if (!from)
		return true;
	(*to)->name = NULL;
	(*to)->auth_key = NULL;
	return dup_str(&(*to)->name, from->name) &&
	       dup_mem(&(*to)->auth_key, from->auth_key, from->auth_key_size);
}

static bool dup_ep_attr(struct kfi_ep_attr **to, const struct kfi_ep_attr *from)
{
	if (!dup_mem(to, from, sizeof(*from)))
		return false;
	return !from ||
	       dup_mem(&(*to)->auth_key, from->auth_key, from->auth_key_size);
}

static bool dup_all(struct kfi_info *to, const struct kfi_info *from)
{
	return dup_mem(&to->src_addr, from->src_addr, from->src_addrlen) &&
	       dup_mem(&to->dest_addr, from->dest_addr, from->dest_addrlen) &&
	       dup_mem(&to->tx_attr, from->tx_attr, sizeof(*from->tx_attr)) &&
	       dup_mem(&to->rx_attr, from->rx_attr, sizeof(*from->rx_attr)) &&
	       dup_ep_attr(&to->ep_attr, from->ep_attr) &&
	       dup_domain_attr(&to->domain_attr, from->domain_attr) &&
	       dup_fabric_attr(&to->fabric_attr, from->fabric_attr);
}

/**
 * kfi_info_copy() - copy one info
 * @from: info to copy. The other entries of its list are not copied
 *
 * Return: the copy, or NULL.
 */
struct kfi_info *kfi_info_copy(const struct kfi_info *from)
{
	struct kfi_info *to = kzalloc(sizeof(*to), GFP_KERNEL_ACCOUNT);

	if (!to)
		return NULL;
	to->caps = from->caps;
	to->mode = from->mode;
	to->addr_format = from->addr_format;
	to->src_addrlen = from->src_addrlen;
	to->dest_addrlen = from->dest_addrlen;
	to->handle = from->handle;
	if (dup_all(to, from))
		return to;
	kfi_freeinfo(to);
	return NULL;
}

/**
 * kfi_dupinfo() - see kfi_info.h
 * @info: info to copy; NULL: allocate an empty one
 *
 * Return: the info, or NULL.
 */
struct kfi_info *kfi_dupinfo(const struct kfi_info *info)
{
	return info ? kfi_info_copy(info) : kfi_allocinfo();
}
EXPORT_SYMBOL_GPL(kfi_dupinfo);
