// SPDX-License-Identifier: GPL-2.0
/*
 * cq.c - completion queues.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include "null.h"

int nd_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		 struct uverbs_attr_bundle *attrs)
{
	struct nd_cq *cq = to_nd_cq(ib);
	u32 size = roundup_pow_of_two(attr->cqe);

	spin_lock_init(&cq->lock);
	cq->mask = size - 1;
	cq->ring = kvcalloc(size, sizeof(*cq->ring), GFP_KERNEL);
	ib->cqe = size;
	return cq->ring ? 0 : -ENOMEM;
}

/* No queue pair is left that could find it. */
int nd_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(to_nd_cq(ib)->ring);
	return 0;
}

/* Interrupts are off. Whoever it is news for is told by nd_cq_tell(), when no lock is held. */
void nd_cq_put(struct nd_cq *cq, const struct ib_wc *wc, bool solicited)
{
	spin_lock(&cq->lock);
	if (!WARN_ON_ONCE(cq->head - cq->tail > cq->mask))
		cq->ring[cq->head++ & cq->mask] = *wc;
	if (cq->armed && (solicited || cq->armed == IB_CQ_NEXT_COMP)) {
		cq->armed = 0;
		cq->due = true;
	}
	spin_unlock(&cq->lock);
}

void nd_cq_tell(struct nd_cq *cq)
{
	if (READ_ONCE(cq->due) && xchg(&cq->due, false))
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

int nd_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct nd_cq *cq = to_nd_cq(ib);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < count && cq->tail != cq->head; n++)
		wc[n] = cq->ring[cq->tail++ & cq->mask];
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int nd_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct nd_cq *cq = to_nd_cq(ib);
	unsigned long irq;
	bool missed;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, irq);
	return flags & IB_CQ_REPORT_MISSED_EVENTS && missed;
}
