/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs_watch.h - reports of the RDMA core and the devices about their work, for the cases of
 * verbs.
 */
#ifndef KFI_CONFORMANCE_VERBS_WATCH_H
#define KFI_CONFORMANCE_VERBS_WATCH_H

#include <linux/atomic.h>
#include <linux/types.h>

struct tracepoint;

/**
 * struct watch - completion queues at work
 * @name: devices of both sides
 * @woken: number of times that a device has called the consumer of a completion queue
 * @tp: tracepoint that reports it
 */
struct watch {
	const char		*name[2];
	atomic_t		woken[2];
	struct tracepoint	*tp;
};

/*
 * Return: 0; -ENODEV: these are no RDMA devices, or the RDMA core is a module or can't be traced.
 * watch_stop() has to be called in any case.
 */
int watch_start(struct watch *w, const char *a, const char *b);
void watch_stop(struct watch *w);
/*
 * Wait until all that was under way was reported, and set the counts to 0. Return: false if it does
 * not end.
 */
bool watch_quiet(struct watch *w);
/* Return a counter of the device, or -1 if it has none. */
s64 watch_counter(const struct watch *w, int side, const char *name);

#endif /* KFI_CONFORMANCE_VERBS_WATCH_H */
