// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * name.c - names of hosts and services
 *
 * The kernel knows numeric addresses and ports, and names of its own: interfaces, and nodes of loop
 * and ntb. So it is asked first. Only a name for which it has no answer is resolved as by
 * libfabric's own providers, by getaddrinfo(3), and the kernel is asked again with numbers.
 */
#include <netdb.h>
#include <sys/socket.h>

#include "kfi_fi.h"

static bool same(const char *name, const char *numeric)
{
	return !name || !strcmp(name, numeric);
}

/* Return the family of the addresses of a format; -1: they have no names. */
static int family_of(uint32_t addr_format)
{
	switch (addr_format) {
	case FI_FORMAT_UNSPEC:
	case FI_SOCKADDR:
		return AF_UNSPEC;
	case FI_SOCKADDR_IN:
		return AF_INET;
	case FI_SOCKADDR_IN6:
		return AF_INET6;
	default:
		return -1;
	}
}

/**
 * kfi_resolve() - call the kernel with a node and a service, and with what they mean
 * @node: node, or NULL
 * @service: service, or NULL
 * @addr_format: format of the addresses in question
 * @flags: FI_SOURCE, FI_NUMERICHOST
 * @call: calls the kernel
 * @arg: first argument for @call
 * @unknown: what @call returns if the kernel has no answer
 *
 * Return: result of the last @call.
 */
int kfi_resolve(const char *node, const char *service, uint32_t addr_format, uint64_t flags,
		int (*call)(void *arg, const char *node, const char *service), void *arg,
		int unknown)
{
	struct addrinfo hints = {
		.ai_family = family_of(addr_format),
		.ai_socktype = SOCK_STREAM,
		.ai_flags = (flags & FI_SOURCE ? AI_PASSIVE : 0) |
			    (flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0),
	};
	char host[NI_MAXHOST], port[NI_MAXSERV];
	struct addrinfo *list, *ai;
	int ret;

	ret = call(arg, node, service);
	if (ret != unknown || (!node && !service) || hints.ai_family < 0 ||
	    getaddrinfo(node, service, &hints, &list))
		return ret;
	for (ai = list; ai && ret == unknown; ai = ai->ai_next) {
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof(host), port, sizeof(port),
				NI_NUMERICHOST | NI_NUMERICSERV))
			continue;
		if (same(node, host) && same(service, port))
			continue;	/* the kernel knows these already */
		ret = call(arg, node ? host : NULL, service ? port : NULL);
	}
	freeaddrinfo(list);
	return ret;
}
