/* SPDX-License-Identifier: GPL-2.0 */
/*
 * drain.h - the end of a queue pair, see drain.c.
 */
#ifndef _KFI_VERBS_DRAIN_H
#define _KFI_VERBS_DRAIN_H

#include <linux/completion.h>
#include <linux/llist.h>
#include <rdma/ib_verbs.h>

extern unsigned int kv_drain_ms;	/* module parameter (main.c) */

/** struct kv_drain_end - @cqe: completion of the last request of a queue; @done: it has ended */
struct kv_drain_end {
	struct ib_cqe		cqe;
	struct completion	done;
};

/**
 * struct kv_drain - the last requests of a queue pair, for which it has room
 * @sends: last request of the send queue
 * @receives: last request of the receive queue
 *
 * This structure has to exist as long as the memory of all other requests.
 */
struct kv_drain {
	struct kv_drain_end	sends;
	struct kv_drain_end	receives;
};

/*
 * Stop the queue pair and wait for its requests. Return: false if the device has not returned all
 * requests; then the caller has to call kv_abandon(). May sleep.
 */
bool kv_drain(struct ib_qp *qp, struct kv_drain *drain);
/* Reset the queue pair: a device that executes the reset has no requests afterwards. May sleep. */
void kv_abandon(struct ib_qp *qp);
/*
 * Completion handler for all requests that the device has not returned, which it may still report.
 * After it was set, the caller waits for an RCU grace period.
 */
void kv_late_done(struct ib_cq *cq, struct ib_wc *wc);
/* Add memory with such completions to a list, so that it is never freed. Any context. */
void kv_leak(struct llist_node *node);

#endif /* _KFI_VERBS_DRAIN_H */
