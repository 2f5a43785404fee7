/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_inaddr.h - names that are an IP address and a port, for providers that have such: arithmetic, text, the addresses of a
 * namespace, and what a query asks for among them.
 *
 * A node is an IPv4 or IPv6 address, or (for the local side) the name of an interface; a service is a port number. A
 * fabric is named after the subnet, as libfabric's providers over IP do.
 *
 * A domain that was opened for the address format KFI_ADDR_CXI has short names instead, struct
 * kcxi_addr: a number for the node and one for the port. The provider itself has addresses and
 * ports all the same, see struct kfi_inaddr_names.
 */
#ifndef _KFI_INADDR_H
#define _KFI_INADDR_H

#include <linux/if.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>

#include <kfi_prov.h>

struct kcxi_addr;

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
/** kfi_inaddr_hash() - of a name: the same for names that kfi_inaddr_cmp() finds equal */
u32 kfi_inaddr_hash(const void *name);
bool kfi_inaddr_equal(const union kfi_inaddr *a, const union kfi_inaddr *b);
/**
 * kfi_inaddr_origin() - the part of a name that limits for peers count by
 * @name: name of a peer
 *
 * An IPv4 address, or the first 64 bits of an IPv6 address: a host may have any number of addresses
 * of its IPv6 network. Return: that, with port 0.
 */
union kfi_inaddr kfi_inaddr_origin(const union kfi_inaddr *name);
/** kfi_inaddr_any() - is it the address that stands for all of ours? */
bool kfi_inaddr_any(const union kfi_inaddr *a);
/**
 * kfi_inaddr_str() - print a name, short or not: &kfi_prov_ops.addr_str of a provider whose names are all such
 * @addr: the name
 * @len: its bytes
 * @buf: where to print it
 * @size: bytes of @buf
 */
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
 * kfi_inaddr_replace() - &kfi_prov_ops.pep_setname of a provider whose names are all such
 * @name: the present name
 * @addr: the new one, of the same family
 * @len: its bytes
 * Return: 0, -EINVAL.
 */
int kfi_inaddr_replace(union kfi_inaddr *name, const void *addr, size_t len);

/* ---- names as the consumers of a domain have them ---- */

/** KFI_SHORT_PORT_MAX - the largest port that service 0 of a short name can stand for */
#define KFI_SHORT_PORT_MAX	61440

/**
 * struct kfi_inaddr_names - how names look in a domain
 * @domain:	the domain
 * @family:	AF_INET or AF_INET6
 * @brief:	they are short names
 * @prefix:	... and the number of a node is the host part of an address in @subnet, which has so
 *		many bits,
 * @subnet:	unless the map of kfi_idmap_addr() says otherwise
 * @base:	... and the number of a port counts from here
 *
 * Does not change after kfi_inaddr_names_open().
 */
struct kfi_inaddr_names {
	const struct kfi_domain	*domain;
	int			family;
	bool			brief;
	u8			prefix;
	__be32			subnet;
	u16			base;
};

/**
 * kfi_inaddr_names_open() - how do names look in this domain? Sets @domain->addrlen; from
 * &kfi_prov_ops.domain_open
 * @names: in the provider's structure
 * @domain: the domain
 * @base: port that service 0 of a short name stands for, at most KFI_SHORT_PORT_MAX
 *
 * Warns of an own address whose number is not in the map: it would change with the address.
 * Context: process. Return: 0, -EINVAL: short names without an IPv4 subnet.
 */
int kfi_inaddr_names_open(struct kfi_inaddr_names *names, struct kfi_domain *domain, u16 base);
/**
 * kfi_inaddr_name_read() - a name of the consumer's
 * @names: of the domain
 * @addr: the name, domain->addrlen bytes
 * @name: the address and port that it stands for
 *
 * What is not short is copied, and not looked at. Context: any, inside rcu_read_lock() or where the
 * namespace can't go. Return: 0; -EINVAL: it stands for nothing; -ENODEV: the namespace goes.
 */
int kfi_inaddr_name_read(const struct kfi_inaddr_names *names, const void *addr,
			 union kfi_inaddr *name);
/**
 * kfi_inaddr_name_write() - the way back
 * @names: of the domain
 * @name: address and port
 * @addr: room for KFI_ADDR_MAX bytes
 *
 * Context: as kfi_inaddr_name_read(). Return: bytes; -EADDRNOTAVAIL: it has no name in this domain;
 * -ENODEV.
 */
int kfi_inaddr_name_write(const struct kfi_inaddr_names *names, const union kfi_inaddr *name,
			  void *addr);
/**
 * kfi_inaddr_name_set() - &kfi_prov_ops.setname
 * @names: of the domain
 * @addr: name of the consumer's
 * @len: its bytes
 * @name: the address and port that it stands for; unchanged after an error
 *
 * Context: as kfi_inaddr_name_read(). Return: 0, -EINVAL, -ENODEV.
 */
int kfi_inaddr_name_set(const struct kfi_inaddr_names *names, const void *addr, size_t len,
			union kfi_inaddr *name);
/** kfi_inaddr_name_check() - &kfi_prov_ops.addr_check. Return: 0, -EINVAL, -ENODEV */
int kfi_inaddr_name_check(const struct kfi_inaddr_names *names, const void *addr);
/** kfi_inaddr_name_resolve() - &kfi_prov_ops.resolve. Return: bytes, -EINVAL, -ENODEV */
int kfi_inaddr_name_resolve(const struct kfi_inaddr_names *names, const char *node,
			    const char *service, void *addr);
/**
 * kfi_inaddr_name_source() - kfi_inaddr_source() in such a domain
 * @names: of the domain
 * @info: what an endpoint is opened with
 * @addr: where it will listen or bind
 *
 * Short names are for RDM endpoints, and have to be there. Return: 0, -EINVAL, -ENODEV.
 */
int kfi_inaddr_name_source(const struct kfi_inaddr_names *names, const struct kfi_info *info,
			   union kfi_inaddr *addr);

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
 * @port:	of our side, 0: any; of a short name, its service
 * @nic:	of a short name: number of our node; 0: any
 * @dest:	family 0: nobody in particular
 */
struct kfi_inaddr_wish {
	union kfi_inaddr	src;
	const char		*name;
	__be16			port;
	u32			nic;
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

/**
 * kfi_inaddr_short_wanted() - does a query ask for short names, as kfilnd's does?
 * @q: query
 *
 * Return: true: they are to be offered before all others.
 */
bool kfi_inaddr_short_wanted(const struct kfi_query *q);
/**
 * kfi_inaddr_short_offer() - put our short name at an address into an offer
 * @q: query
 * @wish: what it asks for; @wish->port is the service
 * @local: our address
 * @name: room for the name, which the offer borrows
 * @info: offer
 *
 * Return: false: the address has none, or not the one that is asked for.
 */
bool kfi_inaddr_short_offer(const struct kfi_query *q, const struct kfi_inaddr_wish *wish,
			    const struct kfi_inaddr_local *local, struct kcxi_addr *name,
			    struct kfi_info *info);

#endif /* _KFI_INADDR_H */
