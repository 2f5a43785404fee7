// SPDX-License-Identifier: GPL-2.0
/*
 * cq.c - completion queues: a ring of entries. Queue pairs of several protection domains may share
 * one, so it is not a queue of kfabric; each queue pair has one of these, too.
 *
 * The handler of the ULP is called with bottom halves off, never inside a post: a ULP may hold a
 * lock while it posts that its handler takes.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include "kib.h"

int kib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct kib_cq *cq = to_kib_cq(ib);

	if (!attr->cqe || attr->cqe > KIB_MAX_CQE || attr->flags)
		return -EINVAL;
	ib->cqe = roundup_pow_of_two(attr->cqe);	/* the counters of the ring wrap */
	cq->wc = kvcalloc(ib->cqe, sizeof(*cq->wc), GFP_KERNEL_ACCOUNT);
	if (!cq->wc)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	return 0;
}

int kib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(to_kib_cq(ib)->wc);
	return 0;
}

static struct ib_wc *cq_entry(const struct kib_cq *cq, u32 number)
{
	return &cq->wc[number & (cq->ib.cqe - 1)];
}

/*
 * uverbs reads one entry at a time, and looks at its queue pair when that may be destroyed
 * already. A process that reads a queue in two threads may get the wrong number; the library does
 * not.
 */
int kib_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	while (n < count && cq->tail != cq->head)
		wc[n++] = *cq_entry(cq, cq->tail++);
	if (n && ib->uobject) {
		cq->of.qp_num = wc->qp->qp_num;
		wc->qp = &cq->of;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* Each receive counts as solicited: the sender's wish is not sent. */
int kib_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	cq->armed = true;
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && cq->tail != cq->head;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static void cq_overrun(struct ib_cq *ib)
{
	struct ib_event event = { .device = ib->device, .element.cq = ib, .event = IB_EVENT_CQ_ERR };

	ibdev_err_ratelimited(ib->device, "a completion queue of %d entries is full\n", ib->cqe);
	if (ib->event_handler)
		ib->event_handler(&event, ib->cq_context);
}

/* Add an entry. Context: softirq, or process context with bottom halves off; not inside a post */
void kib_cq_add(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	bool call, overrun = false;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->head - cq->tail < ib->cqe) {
		*cq_entry(cq, cq->head++) = *wc;
	} else {
		overrun = !cq->overrun;
		cq->overrun = true;
	}
	call = cq->armed;
	cq->armed = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (unlikely(overrun)) {
		kib_count(to_kib_dev(ib->device), KIB_OVERRUNS, 1);
		cq_overrun(ib);
	}
	if (call)
		ib->comp_handler(ib, ib->cq_context);
}

/* Remove the entries of a queue pair that is destroyed: they name it. */
void kib_cq_forget(struct ib_cq *ib, struct ib_qp *qp)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	u32 from, to;

	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->tail; from != cq->head; from++) {
		if (cq_entry(cq, from)->qp != qp)
			*cq_entry(cq, to++) = *cq_entry(cq, from);
	}
	cq->head = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}
