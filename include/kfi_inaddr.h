/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_inaddr.h - names that are an IP address and a port, for providers that have such: arithmetic, text, the addresses of a
 * namespace, and what a query asks for among them.
 *
 * A node is an IPv4 or IPv6 address, or (for the local side) the name of an interface; a service is a port number. A
 * fabric is named after the subnet, as libfabric's providers over IP do.
 */
#ifndef _KFI_INADDR_H
#define _KFI_INADDR_H

#include <linux/if.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>

#include <kfi_prov.h>

/** union kfi_inaddr - a name: IPv4 or IPv6 address and port */
union kfi_inaddr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/** kfi_inaddr_len() - bytes of a name; @family: AF_INET or AF_INET6 */
static inline size_t kfi_inaddr_len(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/** kfi_inaddr_family() - of the names in an info */
static inline int kfi_inaddr_family(const struct kfi_info *info)
{
	return info->addr_format == KFI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
}

static inline __be16 kfi_inaddr_port(const union kfi_inaddr *a)
{
	return a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port;
}

static inline void kfi_inaddr_set_port(union kfi_inaddr *a, __be16 port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = port;
	else
		a->in.sin_port = port;
}

/* None of these sleeps. */

/** kfi_inaddr_ip_cmp() - order of two addresses without their ports: negative, 0, positive */
int kfi_inaddr_ip_cmp(const union kfi_inaddr *a, const union kfi_inaddr *b);
/** kfi_inaddr_cmp() - order of two names, as &kfi_peer_ops.cmp wants it. The same on both ends of a connection, so it settles simultaneous calls */
int kfi_inaddr_cmp(const void *a, const void *b);
bool kfi_inaddr_equal(const union kfi_inaddr *a, const union kfi_inaddr *b);
/** kfi_inaddr_any() - is it the address that stands for all of ours? */
bool kfi_inaddr_any(const union kfi_inaddr *a);
/** kfi_inaddr_str() - print a name: &kfi_prov_ops.addr_str of a provider whose names are all such */
void kfi_inaddr_str(const void *addr, size_t len, char *buf, size_t size);
/** kfi_inaddr_check() - can a peer have this name? @family: AF_INET or AF_INET6. Return: 0, -EINVAL */
int kfi_inaddr_check(int family, const union kfi_inaddr *a);

/**
 * kfi_inaddr_resolve() - turn a node and a service into the name of a peer; nothing is looked up beyond this machine
 * @net: namespace, which gives interfaces in link-local addresses a meaning
 * @family: AF_INET or AF_INET6
 * @node: address
 * @service: port
 * @addr: where to put the name
 * Return: its length, -EINVAL.
 */
int kfi_inaddr_resolve(struct net *net, int family, const char *node, const char *service, union kfi_inaddr *addr);

/**
 * kfi_inaddr_source() - where an endpoint opened with an info will listen or bind
 * @info: info
 * @addr: its source; all of ours, any port, if it has none
 * Return: 0, -EINVAL.
 */
int kfi_inaddr_source(const struct kfi_info *info, union kfi_inaddr *addr);

/**
 * struct kfi_inaddr_local - an address of a namespace
 * @addr:	address; port 0
 * @fabric:	its subnet as text
 * @ifname:	the interface that has it
 * @subnet:	IPv4: the same as a number
 * @prefix:	bits of it
 */
struct kfi_inaddr_local {
	union kfi_inaddr	addr;
	char			fabric[KFI_NAME_MAX];
	char			ifname[IFNAMSIZ];
	__be32			subnet;
	u8			prefix;
};

/** struct kfi_inaddr_locals - all of them, as far as there is room; @n: number; @at: each */
struct kfi_inaddr_locals {
	unsigned int		n;
	struct kfi_inaddr_local	at[64];
};

/**
 * kfi_inaddr_locals() - the addresses of the interfaces that are up
 * @net: namespace
 * Context: process; takes the RTNL. Return: what to kvfree(), or NULL: no memory.
 */
struct kfi_inaddr_locals *kfi_inaddr_locals(struct net *net);

/**
 * struct kfi_inaddr_wish - what a query asks for: which of our addresses, which port, and towards whom
 * @src:	family 0: any; the address that stands for all: any of its family
 * @name:	of an interface or device, or NULL: any. Check it with kfi_inaddr_named()
 * @port:	of our side, 0: any
 * @dest:	family 0: nobody in particular
 */
struct kfi_inaddr_wish {
	union kfi_inaddr	src;
	const char		*name;
	__be16			port;
	union kfi_inaddr	dest;
};

/**
 * kfi_inaddr_wish() - read node, service and the names among the hints
 * @q: query
 * @wish: where to put it
 *
 * For a destination it asks the routes of the namespace for the source.
 * Context: process. Return: 0; -ENODATA: not a name of this kind, or no way there.
 */
int kfi_inaddr_wish(const struct kfi_query *q, struct kfi_inaddr_wish *wish);
/** kfi_inaddr_grants() - is it one of the addresses that are asked for? */
bool kfi_inaddr_grants(const struct kfi_inaddr_wish *wish, const struct kfi_inaddr_local *local);
/** kfi_inaddr_named() - is @name one that is asked for? */
static inline bool kfi_inaddr_named(const struct kfi_inaddr_wish *wish, const char *name)
{
	return !wish->name || !strcmp(wish->name, name);
}

/**
 * kfi_inaddr_offer() - put the names into an offer, which borrows them
 * @info: offer
 * @local: our address
 * @wish: what was asked for, with the destination, or NULL
 */
void kfi_inaddr_offer(struct kfi_info *info, struct kfi_inaddr_local *local, struct kfi_inaddr_wish *wish);

#endif /* _KFI_INADDR_H */
