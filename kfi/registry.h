/* SPDX-License-Identifier: GPL-2.0 */
/*
 * registry.h - shared by discovery, fabrics, domains and netlink
 */
#ifndef _KFI_REGISTRY_H
#define _KFI_REGISTRY_H

#include <linux/kfi.h>
#include "core.h"

/* ---- provider.c ---- */

const char *kfi_missing_op(const struct kfi_prov_ops *ops);
bool kfi_provider_name_ok(const char *name);
struct kfi_provider *kfi_provider_find(const char *name);	/* never loads its module */
typedef int (*kfi_provider_fn)(struct kfi_provider *prov, void *arg);
int kfi_walk_providers(kfi_provider_fn fn, void *arg);

/* ---- fabric.c ---- */

/*
 * All fabrics of all namespaces, ordered by id; for the walks of fabric.c
 */
extern struct list_head kfi_fabrics;

struct net *kfi_current_net(void);
typedef int (*kfi_fabric_fn)(struct kfi_fabric *fabric, void *arg);
int kfi_walk_fabrics(struct net *net, kfi_fabric_fn fn, void *arg);
int kfi_fabric_walk_eps(struct kfi_fabric *fabric, kfi_ep_fn fn, void *arg);

/* ---- gone.c ---- */

void kfi_fabric_kill(struct kfi_fabric *fabric, const void *device);

/* ---- idmap.c: the map of fabric ids ---- */

int kfi_idmap_init(void);
void kfi_idmap_exit(void);
/*
 * Ids are 1 to KFI_MAP_ID_MAX. kfi_idmap_add() and kfi_idmap_del() may sleep. Return: 0; -EINVAL:
 * not a valid id or address; -EEXIST: the id or the address is in the map; -ENOSPC: the map is
 * full; -ENOMEM.
 */
int kfi_idmap_add(struct net *net, u32 id, __be32 addr);
int kfi_idmap_del(struct net *net, u32 id);	/* 0, -ENOENT */
/* Find the first entry whose id is at least *@id. Return: 0, -ENOENT. */
int kfi_idmap_next(struct net *net, u32 *id, __be32 *addr);
/*
 * The address of a number, and the number of an address. Context: any but hard interrupt. Return:
 * 0, or -ENOENT.
 */
int kfi_idmap_addr(struct net *net, u32 id, __be32 *addr);
int kfi_idmap_id(struct net *net, __be32 addr, u32 *id);

/* ---- versions.c; kfi_versions.h declares what wires call ---- */

int kfi_versions_init(void);
void kfi_versions_exit(void);

/* ---- ext.c: kfi_open_ops() of fabrics and domains ---- */

int kfi_domain_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops, void *context);
int kfi_fabric_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops, void *context);

/* ---- device.c: the DMA device of software providers ---- */

int kfi_device_init(void);
void kfi_device_exit(void);
struct device *kfi_soft_device(void);

/* ---- handles ---- */

/* The handle is the first member of every object. */

static inline struct kfi_fabric *kfi_to_fabric(struct kfid_fabric *fid)
{
	return container_of(fid, struct kfi_fabric, fid);
}

static inline struct kfi_eq *kfi_fid_to_eq(struct kfid *fid)
{
	return (struct kfi_eq *)fid;
}

#endif /* _KFI_REGISTRY_H */
