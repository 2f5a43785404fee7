// SPDX-License-Identifier: GPL-2.0
/*
 * cq.c - completion queues: a ring of entries. Queue pairs of several protection domains may share
 * one, so it is not a queue of kfabric; each queue pair has one of these, too.
 *
 * An entry has its room before its request leaves its ring: a request that has ended stays there
 * while the queue is full. So nothing is lost if a ULP has made the queue for requests that
 * succeed, and unsignalled ones are flushed.
 *
 * The handler of the ULP is called with bottom halves off, never inside a post: a ULP may hold a
 * lock while it posts that its handler takes.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include "kib.h"

static size_t cq_bytes(const struct kib_cq *cq)
{
	return KFI_PAYER_OTHER_BYTES + cq->ib.cqe * sizeof(*cq->wc);
}

int kib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct kib_cq *cq = to_kib_cq(ib);
	int ret;

	if (!attr->cqe || attr->cqe > KIB_MAX_CQE || attr->flags)
		return -EINVAL;
	ib->cqe = roundup_pow_of_two(attr->cqe);	/* the counters of the ring wrap */
	cq->payer = kib_payer(kfi_ib_cq_context(attrs));
	ret = kfi_payer_take(cq->payer, KFI_PAYER_OTHERS, cq_bytes(cq));
	if (ret)
		return ret;
	cq->wc = kvcalloc(ib->cqe, sizeof(*cq->wc), GFP_KERNEL_ACCOUNT);
	if (!cq->wc) {
		kfi_payer_give(cq->payer, KFI_PAYER_OTHERS, cq_bytes(cq));
		return -ENOMEM;
	}
	spin_lock_init(&cq->lock);
	return 0;
}

int kib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct kib_cq *cq = to_kib_cq(ib);

	kvfree(cq->wc);
	kfi_payer_give(cq->payer, KFI_PAYER_OTHERS, cq_bytes(cq));
	return 0;
}

/* Entries that are looked at in one go with interrupts off */
#define CQ_ENTRIES	1024

static struct ib_wc *cq_entry(const struct kib_cq *cq, u32 number)
{
	return &cq->wc[number & (cq->ib.cqe - 1)];
}

/* Entries were taken out. Return: whether requests wait for their room: cq_run() is due */
static bool cq_freed(struct kib_cq *cq, int n)
{
	lockdep_assert_held(&cq->lock);
	if (!n || atomic_sub_return(n, &cq->used) > cq->ib.cqe / 2 || !cq->full)
		return false;
	cq->full = false;
	return true;
}

/* Run the queue pairs of the queue. Context: any; a ULP may hold its locks */
static void cq_run(struct ib_cq *ib)
{
	unsigned long number;
	struct kib_qp *qp;

	rcu_read_lock();	/* kib_destroy_qp() waits for us */
	xa_for_each(&to_kib_dev(ib->device)->qps, number, qp)
		if (qp->ib.send_cq == ib || qp->ib.recv_cq == ib)
			queue_bh_work(&qp->run_bh);
	rcu_read_unlock();
}

/*
 * Take entries out, but those of queue pairs that are gone. Return: how many; *@more says whether
 * to go on: a long queue may not keep interrupts off
 */
static int cq_take(struct kib_cq *cq, int count, struct ib_wc *wc, bool *more)
{
	const struct ib_wc *entry;
	int n = 0, seen = 0;

	lockdep_assert_held(&cq->lock);
	while (n < count && seen < CQ_ENTRIES && cq->tail != cq->head) {
		entry = cq_entry(cq, cq->tail++);
		seen++;
		if (entry->qp)
			wc[n++] = *entry;
	}
	*more = n < count && cq->tail != cq->head;
	return n;
}

/*
 * uverbs reads one entry at a time, and looks at its queue pair when that may be destroyed
 * already. A process that reads a queue in two threads may get the wrong number; the library does
 * not.
 */
int kib_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	bool run = false, more;
	unsigned long flags;
	int n = 0;
	u32 tail;

	do {
		spin_lock_irqsave(&cq->lock, flags);
		tail = cq->tail;
		n += cq_take(cq, count - n, wc + n, &more);
		if (n && ib->uobject) {
			cq->of.qp_num = wc->qp->qp_num;
			wc->qp = &cq->of;
		}
		run |= cq_freed(cq, cq->tail - tail);
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (more);
	if (unlikely(run))
		cq_run(ib);
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

/*
 * Take the room of an entry; kib_cq_add() follows. Return: false if the queue is full; then its
 * queue pairs run again when half of it is free
 */
bool kib_cq_reserve(struct ib_cq *ib)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool room;

	if (likely(atomic_add_unless(&cq->used, 1, ib->cqe)))
		return true;
	spin_lock_irqsave(&cq->lock, flags);
	room = atomic_add_unless(&cq->used, 1, ib->cqe);
	cq->full |= !room;
	spin_unlock_irqrestore(&cq->lock, flags);
	return room;
}

/* Add an entry. Context: softirq, or process context with bottom halves off; not inside a post */
void kib_cq_add(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool call;

	spin_lock_irqsave(&cq->lock, flags);
	*cq_entry(cq, cq->head++) = *wc;
	call = cq->armed;
	cq->armed = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (call)
		ib->comp_handler(ib, ib->cq_context);
}

/* Take entries of queue pairs that are gone from the front. Return: whether there are more */
static bool cq_skip(struct kib_cq *cq, bool *run)
{
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	for (; n < CQ_ENTRIES && cq->tail != cq->head && !cq_entry(cq, cq->tail)->qp; n++)
		cq->tail++;
	*run |= cq_freed(cq, n);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n == CQ_ENTRIES;
}

/* The queue pair is destroyed: kib_poll_cq() skips its entries, which name it. */
void kib_cq_forget(struct ib_cq *ib, struct ib_qp *qp)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool run = false;
	u32 at, head;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	at = cq->tail;
	head = cq->head;	/* it adds no more */
	spin_unlock_irqrestore(&cq->lock, flags);
	while (at != head) {
		spin_lock_irqsave(&cq->lock, flags);
		for (i = 0; i < CQ_ENTRIES && at != head; i++, at++)
			if (cq_entry(cq, at)->qp == qp)
				cq_entry(cq, at)->qp = NULL;
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	while (cq_skip(cq, &run))
		;
	if (run)	/* those that wait for room would wait for a poll otherwise */
		cq_run(ib);
}
