/* SPDX-License-Identifier: GPL-2.0 */
/* inaddr.h - shared by inaddr.c (names that are an IP address and a port) and short.c */
#ifndef _KFI_INADDR_PRIVATE_H
#define _KFI_INADDR_PRIVATE_H

#include <kfi_inaddr.h>

/**
 * kfi_inaddr_resolve() - convert a node and a service to the name of a peer
 * @net: network namespace, for the interface names in link-local addresses
 * @family: AF_INET or AF_INET6
 * @node: IP address as text. Names of hosts are not resolved
 * @service: port as text
 * @addr: where to store the name
 *
 * Return: length of the name; -EINVAL if @node and @service are no name of a peer.
 */
int kfi_inaddr_resolve(struct net *net, int family, const char *node, const char *service,
		       union kfi_inaddr *addr);

/**
 * kfi_inaddr_short_wanted() - check whether a query requests short names, as kfilnd does
 * @q: the query
 *
 * Return: true if offers with short names have to come before all others.
 */
bool kfi_inaddr_short_wanted(const struct kfi_query *q);

#endif /* _KFI_INADDR_PRIVATE_H */
