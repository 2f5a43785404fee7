// SPDX-License-Identifier: GPL-2.0
/*
 * yield.c - for programs that poll, on a machine with one CPU: an empty poll yields the CPU to the
 * other side, which would get it only at the end of a time slice otherwise. Loaded by LD_PRELOAD
 * into libfabric's fi_pingpong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);
	int n;

	if (!next)
		next = dlsym(RTLD_NEXT, "epoll_wait");
	n = next(fd, events, max, timeout);
	if (!n && !timeout)
		sched_yield();
	return n;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);
	int n;

	if (!next)
		next = dlsym(RTLD_NEXT, "poll");
	n = next(fds, count, timeout);
	if (!n && !timeout)
		sched_yield();
	return n;
}
