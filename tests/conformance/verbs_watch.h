/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs_watch.h - what the RDMA core and the devices tell of their work, for the cases of verbs.
 */
#ifndef KFI_CONFORMANCE_VERBS_WATCH_H
#define KFI_CONFORMANCE_VERBS_WATCH_H

#include <linux/atomic.h>
#include <linux/types.h>

struct tracepoint;

/**
 * struct watch - completion queues at work
 * @name: devices of both sides
 * @woken: how often a device has called somebody to a completion queue of a consumer
 * @tp: where that is heard
 */
struct watch {
	const char		*name[2];
	atomic_t		woken[2];
	struct tracepoint	*tp;
};

/* 0; -ENODEV: these are no RDMA devices, or the RDMA core is a module or can't be traced. Stop it in any case. */
int watch_start(struct watch *w, const char *a, const char *b);
void watch_stop(struct watch *w);
/* All that was under way has been reported; count anew. False: it never ends. */
bool watch_quiet(struct watch *w);
/* A counter of the device, or -1: it has none. */
s64 watch_counter(const struct watch *w, int side, const char *name);

#endif /* KFI_CONFORMANCE_VERBS_WATCH_H */
