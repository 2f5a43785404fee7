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
#include "uverbs.h"

static bool cq_is_mapped(const struct kib_cq *cq)
{
	return cq->map;
}

int kib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = kfi_ib_cq_context(attrs);
	struct kib_cq *cq = to_kib_cq(ib);
	void *mem;
	int ret;

	if (!attr->cqe || attr->cqe > KIB_MAX_CQE || attr->flags)
		return -EINVAL;
	ib->cqe = roundup_pow_of_two(attr->cqe);	/* the counters of the ring wrap */
	cq->payer = kib_payer(context);
	/* Memory that a process maps has a charge of its own, and the kernel has no payer. */
	ret = kfi_payer_take(cq->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	if (ret)
		return ret;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->waiting);
	if (context) {
		mem = kib_map_new(context, kfi_ib_cq_udata(attrs),
				  struct_size(cq->user, entries, ib->cqe), &cq->map);
		cq->user = mem;
		cq->uverbs = kib_uverbs_cq(ib);
	} else {
		mem = kvcalloc(ib->cqe, sizeof(*cq->wc), GFP_KERNEL_ACCOUNT) ?: ERR_PTR(-ENOMEM);
		cq->wc = mem;
	}
	if (!IS_ERR(mem))
		return 0;
	kfi_payer_give(cq->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	return PTR_ERR(mem);
}

int kib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct kib_cq *cq = to_kib_cq(ib);

	if (cq_is_mapped(cq)) {
		WRITE_ONCE(cq->user->gone, 1);
		kib_map_end(cq->map);
	} else {
		kvfree(cq->wc);
	}
	kfi_payer_give(cq->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	return 0;
}

/* Entries that are looked at in one go with interrupts off */
#define CQ_ENTRIES	1024

static struct ib_wc *cq_entry(const struct kib_cq *cq, u32 number)
{
	return &cq->wc[number & (cq->ib.cqe - 1)];
}

/* Entries that were read. A process that claims another number loses its own entries alone. */
static u32 cq_tail(const struct kib_cq *cq)
{
	return cq_is_mapped(cq) ? READ_ONCE(cq->user->tail) : READ_ONCE(cq->tail);
}

/* Room that is taken by entries, and by those that kib_cq_add() is about to write */
static u32 cq_used(const struct kib_cq *cq)
{
	return atomic_read(&cq->reserved) - cq_tail(cq);
}

static void cq_set_full(struct kib_cq *cq, bool full)
{
	lockdep_assert_held(&cq->lock);
	cq->full = full;
	if (cq_is_mapped(cq))
		WRITE_ONCE(cq->user->full, full);
}

/* Entries were read. Return: whether requests wait for their room: kib_qps_run() is due */
static bool cq_freed(struct kib_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (likely(!cq->full) || cq_used(cq) > cq->ib.cqe / 2)
		return false;
	cq_set_full(cq, false);
	return true;
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
		entry = cq_entry(cq, cq->tail);
		WRITE_ONCE(cq->tail, cq->tail + 1);	/* cq_tail() */
		seen++;
		if (entry->qp)
			wc[n++] = *entry;
	}
	*more = n < count && cq->tail != cq->head;
	return n;
}

/* A process has read all entries, and requests wait for their room. */
static void cq_poll_mapped(struct kib_cq *cq)
{
	bool run;

	spin_lock_irq(&cq->lock);
	run = cq_freed(cq);
	spin_unlock_irq(&cq->lock);
	if (run)
		kib_qps_run(&cq->waiting, &cq->lock);
}

int kib_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	bool run = false, more;
	unsigned long flags;
	int n = 0;

	if (cq_is_mapped(cq)) {
		cq_poll_mapped(cq);
		return 0;
	}
	do {
		spin_lock_irqsave(&cq->lock, flags);
		n += cq_take(cq, count - n, wc + n, &more);
		run |= cq_freed(cq);
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (more);
	if (unlikely(run))
		kib_qps_run(&cq->waiting, &cq->lock);
	return n;
}

/*
 * Each receive counts as solicited, because the sender's wish is not sent. A process sets
 * &kfi_ib_cq.armed instead.
 */
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

static bool cq_try_reserve(struct kib_cq *cq)
{
	int reserved = atomic_read(&cq->reserved);

	do {
		if ((u32)reserved - cq_tail(cq) >= cq->ib.cqe)
			return false;
	} while (!atomic_try_cmpxchg(&cq->reserved, &reserved, reserved + 1));
	return true;
}

/*
 * Take the room of an entry; kib_cq_add() follows. Return: false if the queue is full; then the
 * queue pair runs again when half of it is free
 */
bool kib_cq_reserve(struct ib_cq *ib, struct kib_wait *wait)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool room;

	if (likely(cq_try_reserve(cq)))
		return true;
	spin_lock_irqsave(&cq->lock, flags);
	cq_set_full(cq, true);	/* also for another one that has found no room */
	smp_mb();	/* a process reads &kfi_ib_cq.full when it has written @tail */
	room = cq_try_reserve(cq);
	if (!room && list_empty(&wait->entry))
		list_add_tail(&wait->entry, &cq->waiting);
	spin_unlock_irqrestore(&cq->lock, flags);
	return room;
}

/* Unread events of a short queue: some programs arm it more than once before they read one */
#define CQ_EVENTS	16U
#define CQ_EVENTS_MAX	4096U	/* nobody pays for them */

/*
 * May another event be reported to a process? It may leave as many unread as the queue has entries,
 * within these bounds.
 * After that it has events to read anyway. uverbs may have had no memory for some that were
 * counted; when all are read they are forgotten.
 */
static bool cq_may_report(struct kib_cq *cq)
{
	const struct kib_uverbs_cq *uverbs = cq->uverbs;
	u32 read;

	lockdep_assert_held(&cq->lock);
	if (!uverbs)
		return true;
	read = READ_ONCE(uverbs->comp_events_reported);
	if (list_empty(&uverbs->comp_list))
		cq->events = read;
	if ((s32)(cq->events - read) >= (s32)clamp_t(u32, cq->ib.cqe, CQ_EVENTS, CQ_EVENTS_MAX))
		return false;
	cq->events++;
	return true;
}

/* Write an entry of a process. Return: whether it has armed the queue, and gets an event */
static bool cq_add_mapped(struct kib_cq *cq, const struct ib_wc *wc)
{
	struct kfi_ib_cq *user = cq->user;
	struct kfi_ib_cqe *e = &user->entries[cq->head++ & (cq->ib.cqe - 1)];

	e->wr_id = wc->wr_id;
	e->status = wc->status;
	e->opcode = wc->opcode;
	e->byte_len = wc->byte_len;
	e->data = (__force u32)wc->ex.imm_data;	/* or the key, of the same size */
	e->qp_num = wc->qp->qp_num;
	e->src_qp = wc->src_qp;
	e->flags = (wc->wc_flags & IB_WC_GRH ? KIB_CQE_GRH : 0) |
		   (wc->wc_flags & IB_WC_WITH_IMM ? KIB_CQE_IMM : 0) |
		   (wc->wc_flags & IB_WC_WITH_INVALIDATE ? KIB_CQE_INV : 0) |
		   (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE &&
		    wc->network_hdr_type == RDMA_NETWORK_IPV4 ? KIB_CQE_IPV4 : 0);
	smp_store_release(&e->number, cq->head);	/* a process looks at it first */
	smp_mb();	/* a process looks for an entry when it has set @armed */
	if (likely(!READ_ONCE(user->armed)) || !cq_may_report(cq))
		return false;
	WRITE_ONCE(user->armed, 0);
	return true;
}

/* Add an entry. Context: softirq, or process context with bottom halves off; not inside a post */
void kib_cq_add(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool call;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq_is_mapped(cq)) {
		call = cq_add_mapped(cq, wc);
	} else {
		*cq_entry(cq, cq->head++) = *wc;
		call = cq->armed;
		cq->armed = false;
	}
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
		WRITE_ONCE(cq->tail, cq->tail + 1);
	*run |= cq_freed(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n == CQ_ENTRIES;
}

/*
 * The queue pair is destroyed: kib_poll_cq() skips its entries, which name it. The library of a
 * process does that itself.
 */
void kib_cq_forget(struct ib_cq *ib, struct ib_qp *qp)
{
	struct kib_cq *cq = to_kib_cq(ib);
	unsigned long flags;
	bool run = false;
	u32 at, head;
	int i;

	if (cq_is_mapped(cq))
		return;
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
		kib_qps_run(&cq->waiting, &cq->lock);
}
