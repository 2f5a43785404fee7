/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_netdev.h - network devices that stand for a domain
 *
 * A consumer that makes a network device of a domain whose network has one other end says so, and
 * another consumer that is given the network device finds the domain: kfi_ib makes RDMA devices of
 * those of kfi_net. Neither has to know the other one.
 */
#ifndef _KFI_NETDEV_H
#define _KFI_NETDEV_H

#include <linux/list.h>
#include <linux/types.h>

struct net_device;

/**
 * struct kfi_netdev - a network device, and its domain
 * @entry: for kfi.ko
 * @dev: the network device
 * @domain: name of the domain, which does not change
 */
struct kfi_netdev {
	struct list_head		entry;
	const struct net_device		*dev;
	const char			*domain;
};

/**
 * kfi_netdev_add() - let others find the domain of a network device
 * @nd: both; belongs to the caller, and exists until kfi_netdev_remove()
 *
 * Context: Process context, may sleep.
 */
void kfi_netdev_add(struct kfi_netdev *nd);

/**
 * kfi_netdev_remove() - the network device is about to be freed
 * @nd: as for kfi_netdev_add()
 *
 * Context: Process context, may sleep.
 */
void kfi_netdev_remove(struct kfi_netdev *nd);

/**
 * kfi_netdev_domain() - return the domain of a network device
 * @dev: the network device, which the caller keeps
 * @domain: where to store the name
 * @size: bytes at @domain; KFI_NAME_MAX is enough
 *
 * Context: Process context, may sleep.
 * Return: true; false if the device stands for no domain.
 */
bool kfi_netdev_domain(const struct net_device *dev, char *domain, size_t size);

#endif /* _KFI_NETDEV_H */
