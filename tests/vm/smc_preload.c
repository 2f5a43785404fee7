// SPDX-License-Identifier: GPL-2.0
/*
 * smc_preload.c - with LD_PRELOAD, a program that opens sockets of TCP gets those of SMC, which become
 * TCP's again where the other side has no SMC or no RDMA device
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define SMCPROTO_SMC	0	/* of IPv4 */
#define SMCPROTO_SMC6	1

#ifndef AF_SMC
#define AF_SMC	43
#endif

int socket(int family, int type, int protocol)
{
	int (*next)(int family, int type, int protocol) = dlsym(RTLD_NEXT, "socket");
	int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (kind == SOCK_STREAM && (family == AF_INET || family == AF_INET6) &&
	    (!protocol || protocol == IPPROTO_TCP))
		return next(AF_SMC, type, family == AF_INET6 ? SMCPROTO_SMC6 : SMCPROTO_SMC);
	return next(family, type, protocol);
}
