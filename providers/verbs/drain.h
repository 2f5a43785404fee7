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

/** struct kv_drain_end - the last request of a queue; @done: it has been given back */
struct kv_drain_end {
	struct ib_cqe		cqe;
	struct completion	done;
};

/** struct kv_drain - the last ones of a queue pair, for which it has room; they stay as long as what else it was given */
struct kv_drain {
	struct kv_drain_end	sends;
	struct kv_drain_end	receives;
};

/* All of these may sleep. False: the device has not given back everything, and kv_forget() is due. */
bool kv_drain(struct ib_qp *qp, struct kv_drain *drain);
/* The device forgets what it has, as far as it can be trusted with that. */
void kv_forget(struct ib_qp *qp);
/* For all that it has not given back, before a grace period: the completion that comes after all. */
void kv_late_done(struct ib_cq *cq, struct ib_wc *wc);
/* What such completions name is in this memory, which is never freed. Any context. */
void kv_keep(struct llist_node *node);

#endif /* _KFI_VERBS_DRAIN_H */
