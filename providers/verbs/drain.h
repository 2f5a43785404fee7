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

/** struct kv_drain_end - the last request of a queue, with completion @cqe; @done: it has ended */
struct kv_drain_end {
	struct ib_cqe		cqe;
	struct completion	done;
};

/**
 * struct kv_drain - the last requests of a queue pair, for which it has room
 * @sends: of the send queue
 * @receives: of the receive queue
 *
 * It has to be kept as long as the memory of all other requests.
 */
struct kv_drain {
	struct kv_drain_end	sends;
	struct kv_drain_end	receives;
};

/*
 * All of these may sleep. False: the device has not returned all requests, and kv_forget() is due.
 */
bool kv_drain(struct ib_qp *qp, struct kv_drain *drain);
/* Reset the queue pair: a device that obeys has no requests afterwards. */
void kv_forget(struct ib_qp *qp);
/*
 * The completion handler of all requests that the device has not returned: it may still report
 * them. To be set before an RCU grace period.
 */
void kv_late_done(struct ib_cq *cq, struct ib_wc *wc);
/* Keep the memory that such completions are in: it is never freed. Any context. */
void kv_keep(struct llist_node *node);

#endif /* _KFI_VERBS_DRAIN_H */
