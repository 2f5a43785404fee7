/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_inaddr.h - names that consist of an IP address and a port, for providers over IP: comparison,
 * text, the addresses of a network namespace, and the names in a query.
 *
 * In a query, a node is an IPv4 or IPv6 address, or, for the local side, the name of an interface.
 * A service is a port number. The name of a fabric is its subnet, as in libfabric's providers over
 * IP.
 *
 * A domain that was opened with the address format KFI_ADDR_CXI has short names, &struct kcxi_addr,
 * for its consumer: a number for the node and a number for the port. The provider itself uses IP
 * addresses and ports in this case too, see &struct kfi_inaddr_names.
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
struct socket;

/**
 * union kfi_inaddr - a name: IP address and port
 * @sa: for the family
 * @in: AF_INET
 * @in6: AF_INET6
 */
union kfi_inaddr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/**
 * kfi_inaddr_len() - return the length of a name
 * @family: AF_INET or AF_INET6
 *
 * Return: length in bytes.
 */
static inline size_t kfi_inaddr_len(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/**
 * kfi_inaddr_format_family() - return the family of the names in a format
 * @format: &kfi_info.addr_format
 *
 * Return: AF_INET6, or AF_INET for all other formats.
 */
static inline int kfi_inaddr_format_family(u32 format)
{
	return format == KFI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
}

/**
 * kfi_inaddr_family() - return the family of the names in an info
 * @info: the info
 *
 * Return: as kfi_inaddr_format_family().
 */
static inline int kfi_inaddr_family(const struct kfi_info *info)
{
	return kfi_inaddr_format_family(info->addr_format);
}

/**
 * kfi_inaddr_port() - return the port of a name
 * @a: the name
 */
static inline __be16 kfi_inaddr_port(const union kfi_inaddr *a)
{
	return a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port;
}

/**
 * kfi_inaddr_set_port() - set the port of a name
 * @a: the name
 * @port: the port
 */
static inline void kfi_inaddr_set_port(union kfi_inaddr *a, __be16 port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = port;
	else
		a->in.sin_port = port;
}

/* The functions up to kfi_inaddr_replace() do not sleep, and may be called in any context. */

/**
 * kfi_inaddr_cmp() - compare two names, for &kfi_link_ops.cmp
 * @a: a name
 * @b: another name
 *
 * The order does not depend on the byte order of the machine, so it is the same on both sides.
 * Names with the same link-local IPv6 address and port differ if both have a scope, and not the
 * same one. A name without a scope equals those with any scope, because it names no link.
 *
 * Return: < 0, 0 or > 0.
 */
int kfi_inaddr_cmp(const void *a, const void *b);
/**
 * kfi_inaddr_hash() - compute a hash of a name
 * @name: the name
 *
 * Return: a hash that is the same for names that kfi_inaddr_cmp() finds equal.
 */
u32 kfi_inaddr_hash(const void *name);
/*
 * The operations len(), origin(), set_port() and wire_name() of a link whose names are &union
 * kfi_inaddr. Limits for peers are counted by the IPv4 address, or by the first 64 bits of the IPv6
 * address, because a host may have any number of addresses in its IPv6 network; the link-local
 * addresses of two links are two networks. On the wire a name is an IPv6 address, or a mapped IPv4
 * address (::ffff:0:0/96), and a port, both big endian: 18 bytes. The scope of an address is local
 * to a host, and no part of it.
 */
size_t kfi_inaddr_name_len(const void *name);
void kfi_inaddr_name_origin(const void *name, void *into);
void kfi_inaddr_name_set_port(void *name, u16 port);
size_t kfi_inaddr_name_wire(const void *name, u8 *bytes);
/**
 * kfi_inaddr_any() - check whether the address of a name is the wildcard address
 * @a: the name
 */
bool kfi_inaddr_any(const union kfi_inaddr *a);
/**
 * kfi_inaddr_str() - implement &kfi_prov_ops.addr_str
 * @addr: name in either form: short, or IP address and port
 * @len: length of @addr, which distinguishes the forms
 * @buf: where to print
 * @size: bytes at @buf
 */
void kfi_inaddr_str(const void *addr, size_t len, char *buf, size_t size);
/**
 * kfi_inaddr_check() - check whether a peer can have a name
 * @family: AF_INET or AF_INET6
 * @a: the name
 *
 * Return: 0; -EINVAL if the family is another one, the address is the wildcard, or the port is 0.
 */
int kfi_inaddr_check(int family, const union kfi_inaddr *a);

/**
 * kfi_inaddr_source() - return the name to which an endpoint binds or at which it listens
 * @info: info that the endpoint is opened with
 * @addr: where to store the name. It is the wildcard address and port 0 if @info has no source
 *
 * Return: 0; -EINVAL if the source has another family or length than the format of @info.
 */
int kfi_inaddr_source(const struct kfi_info *info, union kfi_inaddr *addr);

/**
 * kfi_inaddr_replace() - implement &kfi_prov_ops.pep_setname
 * @name: present name, replaced
 * @addr: new name
 * @len: length of @addr
 *
 * Return: 0; -EINVAL if the new name has another family or length.
 */
int kfi_inaddr_replace(union kfi_inaddr *name, const void *addr, size_t len);

/* ---- names in the format of a domain ---- */

/** KFI_SHORT_PORT_MAX - highest port that service 0 of a short name can denote */
#define KFI_SHORT_PORT_MAX	61440

/**
 * struct kfi_inaddr_names - format of the names in a domain
 * @domain: the domain
 * @family: AF_INET or AF_INET6; MSG endpoints may have the other one
 * @short_names: the consumer uses short names. The members below are for short names
 * @prefix: number of bits of @subnet
 * @subnet: the number of a node is the host part of its address in this subnet, unless the map of
 *	the administrator (`kfi map`) has another address for the number, or another number for
 *	the address
 * @base: port that service 0 denotes
 *
 * Does not change after kfi_inaddr_names_open().
 */
struct kfi_inaddr_names {
	const struct kfi_domain	*domain;
	int			family;
	bool			short_names;
	u8			prefix;
	__be32			subnet;
	u16			base;
};

/**
 * kfi_inaddr_names_open() - prepare the names of a domain, in &kfi_prov_ops.domain_open
 * @names: filled in
 * @domain: the domain, whose &kfi_domain.addrlen is set
 * @base: port that service 0 of a short name denotes, at most KFI_SHORT_PORT_MAX
 *
 * Warns in the kernel log if the local address of a domain with short names has no number in the
 * map: the number is derived from the address, and changes with it.
 *
 * Context: process. Return: 0; -EINVAL if there are short names and the name of the fabric is no
 * IPv4 subnet.
 */
int kfi_inaddr_names_open(struct kfi_inaddr_names *names, struct kfi_domain *domain, u16 base);
/**
 * kfi_inaddr_name_read() - convert a name of the consumer to an IP address and a port
 * @names: names of the domain
 * @addr: name of the consumer, whose format was checked
 * @name: where to store the address and port
 *
 * A name that is not short is copied as its family says, and not checked.
 *
 * Context: any, inside rcu_read_lock(), or where the namespace can't go.
 * Return: 0; -EINVAL if the short name denotes no address; -ENODEV if the namespace has gone.
 */
int kfi_inaddr_name_read(const struct kfi_inaddr_names *names, const void *addr,
			 union kfi_inaddr *name);
/**
 * kfi_inaddr_name_write() - convert an IP address and a port to a name of the consumer
 * @names: names of the domain
 * @name: address and port
 * @addr: room for KFI_ADDR_MAX bytes
 *
 * Context: as kfi_inaddr_name_read().
 * Return: length of the name; -EADDRNOTAVAIL if there is no short name for the address and port;
 * -ENODEV if the namespace has gone.
 */
int kfi_inaddr_name_write(const struct kfi_inaddr_names *names, const union kfi_inaddr *name,
			  void *addr);
/**
 * kfi_inaddr_name_set() - implement &kfi_prov_ops.setname
 * @names: names of the domain
 * @addr: name of the consumer
 * @len: length of @addr
 * @name: where to store the address and port; not changed after an error
 *
 * Context: as kfi_inaddr_name_read().
 * Return: 0; -EINVAL if @addr is no name in this domain; -ENODEV if the namespace has gone.
 */
int kfi_inaddr_name_set(const struct kfi_inaddr_names *names, const void *addr, size_t len,
			union kfi_inaddr *name);
/**
 * kfi_inaddr_name_check() - implement &kfi_prov_ops.addr_check
 * @names: names of the domain
 * @format: of the name
 * @addr: the name
 *
 * Context: any. Return: 0; -EINVAL if no peer can have this name; -ENODEV if the namespace has
 * gone.
 */
int kfi_inaddr_name_check(const struct kfi_inaddr_names *names, u32 format, const void *addr);
/**
 * kfi_inaddr_name_resolve() - implement &kfi_prov_ops.resolve
 * @names: names of the domain
 * @node: IP address, or the number of a node with short names
 * @service: port, or the service number with short names
 * @addr: room for KFI_ADDR_MAX bytes
 *
 * Context: process; the namespace can't go.
 * Return: length of the name; -EINVAL if they are no name of a peer; -ENODEV.
 */
int kfi_inaddr_name_resolve(const struct kfi_inaddr_names *names, const char *node,
			    const char *service, void *addr);
/**
 * kfi_inaddr_name_source() - kfi_inaddr_source() for a domain that may have short names
 * @names: names of the domain
 * @info: info that the endpoint is opened with
 * @addr: where to store the IP address and port
 *
 * Only RDM endpoints can have short names, and their info must have a source. Only an MSG endpoint
 * can have another family than its domain, because it has no address vector.
 *
 * Context: as kfi_inaddr_name_read(). Return: 0; -EINVAL if there is no such source; -ENODEV if the
 * namespace has gone.
 */
int kfi_inaddr_name_source(const struct kfi_inaddr_names *names, const struct kfi_info *info,
			   union kfi_inaddr *addr);

/**
 * struct kfi_inaddr_local - a local address
 * @addr: the address, with port 0
 * @fabric: subnet as text
 * @ifname: name of the interface
 * @subnet: IPv4: subnet as a number
 * @prefix: number of bits of the subnet
 */
struct kfi_inaddr_local {
	union kfi_inaddr	addr;
	char			fabric[KFI_NAME_MAX];
	char			ifname[IFNAMSIZ];
	__be32			subnet;
	u8			prefix;
};

/**
 * struct kfi_inaddr_locals - local addresses of a namespace
 * @n: number of addresses
 * @at: the addresses
 */
struct kfi_inaddr_locals {
	unsigned int		n;
	struct kfi_inaddr_local	at[];
};

/**
 * struct kfi_inaddr_filter - the names in a query
 * @src: local address. Family 0: any address; the wildcard: any address of its family
 * @name: name of a local interface or device, see kfi_inaddr_named(); NULL: any
 * @ifname: name of the interface that the query names, perhaps by an alternative name, as @name or
 *	as the domain; or ""
 * @port: local port, 0: any. With a short name, its service
 * @nic: number of the local node in a short name; 0: any
 * @dest: peer. Family 0: the query names none
 */
struct kfi_inaddr_filter {
	union kfi_inaddr	src;
	const char		*name;
	char			ifname[IFNAMSIZ];
	__be16			port;
	u32			nic;
	union kfi_inaddr	dest;
};

/**
 * kfi_inaddr_filter() - read the node, the service and the names in the hints of a query
 * @q: the query
 * @domains: domains are named after interfaces
 * @filter: filled in
 *
 * If the query names a peer and no local address, the local address is that of the route to the
 * peer: of the route by the interface, if the query names one.
 *
 * Context: process, may sleep.
 * Return: 0; -ENODATA if there is a name of another kind, if the query names two interfaces, or if
 * there is no route to the peer.
 */
int kfi_inaddr_filter(const struct kfi_query *q, bool domains, struct kfi_inaddr_filter *filter);
/**
 * kfi_inaddr_locals() - list the addresses of the interfaces that are up
 * @net: network namespace
 * @filter: only addresses that match it, and only those of &kfi_inaddr_filter.ifname if that is
 *	set. A VRF has the addresses of its interfaces
 *
 * The addresses of loopback interfaces come last. Context: process, may sleep.
 * Return: the list, which the caller frees with kvfree(); NULL if there is no memory.
 */
struct kfi_inaddr_locals *kfi_inaddr_locals(struct net *net,
					    const struct kfi_inaddr_filter *filter);
/**
 * kfi_inaddr_named() - check whether an interface or device matches a query
 * @filter: the names of the query
 * @name: name of an interface or device
 */
static inline bool kfi_inaddr_named(const struct kfi_inaddr_filter *filter, const char *name)
{
	return !filter->name || !strcmp(filter->name, name) || !strcmp(filter->ifname, name);
}
/**
 * kfi_inaddr_bind_device() - bind a socket to an interface, or to the VRF of an interface
 * @sock: socket, neither bound to an address nor connected
 * @ifname: name of the interface
 * @only: bind it to the interface. Otherwise to its VRF, because the addresses of an interface in a
 *	VRF exist only there; to nothing, if the interface is in none or has gone
 *
 * Context: process. Return: 0; -ENODEV if there is no such interface and @only is set.
 */
int kfi_inaddr_bind_device(struct socket *sock, const char *ifname, bool only);

/**
 * kfi_inaddr_offer() - set the names in an offer
 * @info: the offer, which points to @local and @filter afterwards
 * @local: local address and port
 * @filter: the names of the query, of which the peer is used; or NULL
 */
void kfi_inaddr_offer(struct kfi_info *info, struct kfi_inaddr_local *local,
		      struct kfi_inaddr_filter *filter);

/**
 * kfi_inaddr_getinfo() - answer a query with the local addresses that match
 * @q: the query
 * @filter: the names of the query
 * @offer: called for each of these addresses, to add its offers. @filter holds the names of the
 *	query. @short_names: only RDM endpoints, under the short name of the address if it has one;
 *	otherwise all types, under the address with the port of the query. Return: 0; -ENODATA:
 *	nothing is offered at this address; another negative errno ends the answer
 *
 * If the query requests short names, as kfilnd does, these come before all others.
 *
 * Context: process, may sleep.
 * Return: 0; -ENODATA if nothing is offered; -ENOMEM; -EINTR if the task is being killed; an error
 * of @offer.
 */
int kfi_inaddr_getinfo(struct kfi_query *q, struct kfi_inaddr_filter *filter,
		       int (*offer)(struct kfi_query *q, struct kfi_inaddr_local *local,
				    struct kfi_inaddr_filter *filter, bool short_names));

/**
 * kfi_inaddr_short_offer() - set the short name in an offer
 * @q: the query
 * @filter: the names of the query; @filter->port is the service
 * @local: local address
 * @name: where to store the short name
 * @info: the offer, which points to @name afterwards
 *
 * Context: process.
 * Return: true; false if the address has no short name, or one that does not match the query.
 */
bool kfi_inaddr_short_offer(const struct kfi_query *q, const struct kfi_inaddr_filter *filter,
			    const struct kfi_inaddr_local *local, struct kcxi_addr *name,
			    struct kfi_info *info);

#endif /* _KFI_INADDR_H */
