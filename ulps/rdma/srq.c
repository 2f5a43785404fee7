// SPDX-License-Identifier: GPL-2.0
/*
 * srq.c - shared receive queues: a shared receive context of kfabric. The core gives the oldest
 * receive to whichever connection has a message, and says which one that was.
 *
 *	post		-> &kib_srq.waiting	any context
 *	runner		-> the context		in the order of the posts
 *	srq_done()	-> &kib_qp.taken	softirq; the message has ended
 *	kib_recv_report() -> entry in an ib_cq, &kib_srq.free
 *
 * A message of this node (local.c), and a datagram (ud.c), take a receive that the context has not
 * got yet, or one that it gives back.
 *
 * The receives of one connection are reported in the order of its messages: a long one may end
 * after a later one, so &kfi_cqe.nr says which is next. A connection waits for no message of
 * another one, but for receives: those that have ended behind a long message stay taken until
 * that ends, at the latest by its deadline in the core.
 *
 * A queue outlives its queue pairs. kfi_close() of an endpoint waits for each srq_done() that
 * names it, so a receive belongs to a queue pair that exists from there to its report.
 */
#include <linux/hardirq.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kib.h"

/* ---- events ---- */

static void srq_event(struct kib_srq *srq)
{
	struct ib_event event = {
		.device = srq->ib.device, .element.srq = &srq->ib,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}

/*
 * Is the event due? Then it is no longer armed. uverbs queues events without a bound until the
 * process reads them, so a process that arms it again and again gets one for each receive that a
 * message takes, and not one for each call.
 */
static bool srq_is_low(struct kib_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (srq->told || srq->left >= srq->limit)
		return false;
	srq->limit = 0;
	srq->told = true;
	return true;
}

/*
 * Tell the ULP once, when the endpoint is closed: what the queue pair's messages have taken is
 * reported, and they take no more. The report of the last one may wait for an invalidation, or for
 * room in the completion queue, and queues end_work again. Called by end_work only, without locks,
 * because the ULP may call back.
 */
void kib_srq_last(struct kib_qp *qp)
{
	struct ib_event event = {
		.device = qp->ib.device, .element.qp = &qp->ib,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
	};

	if (!qp->ib.srq || qp->last_told || READ_ONCE(qp->rq.tail) != READ_ONCE(qp->rq.head))
		return;
	WRITE_ONCE(qp->last_told, true);
	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/* ---- the way of a receive ---- */

/* The next receive for the context, which is counted in &kib_srq.moving */
static struct kib_slot *srq_waiting(struct kib_srq *srq)
{
	struct kib_slot *s;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	s = srq->reserved ? NULL :
	    list_first_entry_or_null(&srq->waiting, struct kib_slot, wait);
	if (s) {
		list_del_init(&s->wait);
		srq->moving++;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return s;
}

static void srq_put_back(struct kib_srq *srq, struct kib_slot *s)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	list_add(&s->wait, &srq->waiting);
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* The context gets the receive, or has it no longer. */
static void srq_posted(struct kib_srq *srq, struct kib_slot *s, bool has)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	if (has)
		list_add_tail(&s->wait, &srq->posted);
	else
		list_del_init(&s->wait);
	spin_unlock_irqrestore(&srq->lock, flags);
}

static void srq_moving(struct kib_srq *srq, int n)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	srq->moving += n;
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* The receives have changed: queue pairs that kib_srq_take() has given none may wait for one. */
static void srq_wake(struct kib_srq *srq)
{
	kib_qps_run(&srq->wanting, &srq->lock);
}

/*
 * Give the context what it has room for; each receive that ends makes room. It takes none after
 * its device has gone. Bottom halves are off.
 */
static void srq_run(struct kib_srq *srq)
{
	struct kib_slot *s;
	struct kfi_msg msg;
	long notes;
	int err;

	if (!kfi_runner_enter(&srq->runner))
		return;
	do {
		notes = kfi_runner_begin(&srq->runner);
		while ((s = srq_waiting(srq))) {
			kib_recv_msg(s, &msg);
			srq_posted(srq, s, true);
			err = kfi_recvmsg(srq->srx, &msg, KFI_CQE);
			if (err) {
				srq_posted(srq, s, false);
				srq_put_back(srq, s);
			}
			srq_moving(srq, -1);
			if (err)
				break;
		}
	} while (!kfi_runner_leave(&srq->runner, notes));
	srq_wake(srq);
}

/* The queue pairs that srq_done() has woken were queued before this, and have run. */
static void srq_run_bh(struct bh_work_struct *bh)
{
	struct kib_srq *srq = container_of(bh, struct kib_srq, run_bh);

	WRITE_ONCE(srq->reserved, false);
	srq_run(srq);
}

/* The receive is in no list: it is reported, or ends with the queue. */
static void srq_free(struct kib_srq *srq, struct kib_slot *s)
{
	unsigned long flags;

	kib_slot_release(&srq->ring, s);
	spin_lock_irqsave(&srq->lock, flags);
	list_add_tail(&s->wait, &srq->free);
	spin_unlock_irqrestore(&srq->lock, flags);
}

static void srq_taken(struct kib_srq *srq)
{
	unsigned long flags;
	bool low;

	spin_lock_irqsave(&srq->lock, flags);
	srq->left--;
	srq->told = false;
	low = srq_is_low(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low)
		srq_event(srq);
}

static void srq_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kib_slot *s = container_of(cqe, struct kib_slot, cqe);
	struct kib_srq *srq = cq->fid.context;
	struct kib_qp *qp;

	srq_posted(srq, s, false);
	if (!cqe->ep && wc->err == ECANCELED && !READ_ONCE(srq->ends)) {
		WRITE_ONCE(srq->reserved, true);
		srq_put_back(srq, s);
		srq_moving(srq, -1);
		srq_wake(srq);
		queue_bh_work(&srq->run_bh);	/* the context gets what they do not take */
		return;
	}
	if (!cqe->ep) {
		srq_free(srq, s);
		return;
	}
	qp = cqe->ep->fid.context;
	s->qp = qp;
	/* The callbacks of a queue are called one after the other. */
	WRITE_ONCE(qp->rq.head, qp->rq.head + 1);
	srq_taken(srq);
	kib_recv_done(cq, cqe, wc);
	kib_qp_run(qp);
	srq_run(srq);
}

/* The receive has ended. Nearly always it is the last one of its queue pair. */
static void srq_ended(struct kib_slot *s)
{
	struct kib_qp *qp = s->qp;
	struct kib_slot *before;
	unsigned long flags;

	spin_lock_irqsave(&qp->rq.lock, flags);
	list_for_each_entry_reverse(before, &qp->taken, wait)
		if (before->cqe.nr < s->cqe.nr)
			break;
	list_add(&s->wait, &before->wait);
	spin_unlock_irqrestore(&qp->rq.lock, flags);
}

/* Receives that the context is asked for at a time */
#define SRQ_TRIES	16

/*
 * Ask the context for a receive, the oldest first. One that can't be cancelled, because a message
 * is coming to it, moves to the end of the list. Return: whether one comes back (srq_done())
 */
static bool srq_ask(struct kib_srq *srq)
{
	struct kib_slot *s, *first = NULL;
	unsigned long flags;
	int tries;

	for (tries = 0; tries < SRQ_TRIES; tries++) {
		spin_lock_irqsave(&srq->lock, flags);
		s = list_first_entry_or_null(&srq->posted, struct kib_slot, wait);
		if (s)
			list_move_tail(&s->wait, &srq->posted);
		spin_unlock_irqrestore(&srq->lock, flags);
		if (!s || s == first)
			return false;
		first = first ?: s;
		if (!kfi_cancel(&srq->srx->fid, &s->cqe)) {
			srq_moving(srq, 1);
			return true;
		}
	}
	return false;
}

/*
 * Take a receive that has room for @room bytes. Return: NULL: there is none, or the next one is too
 * short; -EAGAIN: one is on its way between the queue and the context. The queue pair runs again
 * when there may be one (srq_wake()). For its runner
 */
struct kib_slot *kib_srq_take(struct kib_qp *qp, u32 room)
{
	struct kib_srq *srq = to_kib_srq(qp->ib.srq);
	struct kib_slot *s;
	unsigned long flags;
	bool small, moving;

	spin_lock_irqsave(&srq->lock, flags);
	s = list_first_entry_or_null(&srq->waiting, struct kib_slot, wait);
	small = s && s->len < room;
	if (s && !small)
		list_del_init(&s->wait);
	else if (!s && list_empty(&qp->wants.entry))
		list_add_tail(&qp->wants.entry, &srq->wanting);
	moving = srq->moving > 0;
	spin_unlock_irqrestore(&srq->lock, flags);
	if (small)
		return NULL;
	if (s) {
		s->qp = qp;
		s->cqe.nr = qp->rq.head;
		WRITE_ONCE(qp->rq.head, qp->rq.head + 1);
		srq_taken(srq);
		return s;
	}
	return moving || srq_ask(srq) ? ERR_PTR(-EAGAIN) : NULL;
}

/* The receive that is to be reported next, if it has ended. For the runner of the queue pair */
struct kib_slot *kib_srq_next(struct kib_qp *qp)
{
	struct kib_slot *s;
	unsigned long flags;

	spin_lock_irqsave(&qp->rq.lock, flags);
	s = list_first_entry_or_null(&qp->taken, struct kib_slot, wait);
	if (s && (u32)s->cqe.nr != qp->rq.tail)
		s = NULL;
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	return s;
}

/* What kib_srq_next() has returned is about to be reported. */
void kib_srq_reported(struct kib_qp *qp, struct kib_slot *s)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->rq.lock, flags);
	list_del(&s->wait);
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	srq_free(to_kib_srq(qp->ib.srq), s);
}

/* ---- posts ---- */

int kib_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct kib_srq *srq = to_kib_srq(ib);
	struct kib_slot *s;
	unsigned long flags;
	const struct ib_recv_wr *first = wr;
	int ret = 0;

	/* The lock is taken for each request, because a process chooses how many it posts. */
	for (; wr; wr = wr->next) {
		spin_lock_irqsave(&srq->lock, flags);
		s = list_first_entry_or_null(&srq->free, struct kib_slot, wait);
		ret = s ? kib_recv_fill(ib->pd, &srq->ring, s, wr) : -ENOMEM;
		if (!ret) {
			s->cqe.done = srq_done;
			s->ended = srq_ended;
			list_move_tail(&s->wait, &srq->waiting);
			srq->left++;
		}
		spin_unlock_irqrestore(&srq->lock, flags);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	if (wr == first)
		return ret;		/* nothing was posted */
	srq_wake(srq);
	if (in_hardirq() || irqs_disabled()) {
		queue_bh_work(&srq->run_bh);
		return ret;
	}
	local_bh_disable();
	srq_run(srq);
	local_bh_enable();
	return ret;
}

/* ---- life ---- */

/* Receives of the context at a time */
static size_t srq_rx_size(const struct kib_srq *srq)
{
	size_t most = to_kib_dev(srq->ib.device)->info->rx_attr->size;

	return min3((size_t)srq->ring.depth, (size_t)KIB_RX, most);
}

/* The queue, and the context with its completion queue */
static size_t srq_bytes(const struct kib_srq *srq)
{
	return kib_ring_bytes(&srq->ring) + KFI_PAYER_ENDPOINT_BYTES + KFI_PAYER_OTHER_BYTES +
	       srq_rx_size(srq) * KFI_PAYER_OPER_BYTES;
}

/* As qp_options() */
static int srq_options(const struct kib_srq *srq)
{
	size_t yes = 1;

	return srq->ib.uobject ? kfi_setopt(&srq->srx->fid, KFI_OPT_ENDPOINT, KFI_OPT_UNPRIVILEGED,
					    &yes, sizeof(yes)) : 0;
}

static int srq_context(struct kib_srq *srq)
{
	struct kfid_domain *domain = to_kib_pd(srq->ib.pd)->domain;
	struct kfi_rx_attr rx = { .size = srq_rx_size(srq) };
	struct kfi_cq_attr attr = {	/* each receive has a done() */
		.size = 16, .format = KFI_CQ_FORMAT_DATA, .flags = KFI_CQ_SOFTIRQ,
	};
	int ret = kfi_cq_open(domain, &attr, &srq->cq, NULL, srq);

	if (ret)
		return ret;
	ret = kfi_srx_context(domain, &rx, &srq->srx, srq);
	if (ret)
		goto close_cq;
	ret = kfi_ep_bind(srq->srx, &srq->cq->fid, KFI_RECV) ?: srq_options(srq) ?:
	      kfi_enable(srq->srx);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&srq->srx->fid));
close_cq:
	WARN_ON(kfi_close(&srq->cq->fid));
	return ret;
}

int kib_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	struct kib_srq *srq = to_kib_srq(ib);
	int ret;
	u32 i;

	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > KIB_MAX_WR ||
	    attr->attr.max_sge > KIB_MAX_SGE || attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;
	spin_lock_init(&srq->lock);
	INIT_LIST_HEAD(&srq->free);
	INIT_LIST_HEAD(&srq->waiting);
	INIT_LIST_HEAD(&srq->posted);
	INIT_LIST_HEAD(&srq->wanting);
	kfi_runner_init(&srq->runner);
	INIT_BH_WORK(&srq->run_bh, srq_run_bh);
	kib_ring_init(&srq->ring, attr->attr.max_wr, attr->attr.max_sge, 0);
	srq->room = srq_bytes(srq);
	ret = kfi_payer_take(to_kib_pd(ib->pd)->payer, KFI_PAYER_ENDPOINTS, srq->room);
	if (ret)
		return ret;
	ret = kib_ring_alloc(&srq->ring, NULL);
	if (ret)
		goto give_back;
	for (i = 0; i < srq->ring.depth; i++)
		list_add_tail(&kib_slot(&srq->ring, i)->wait, &srq->free);
	ret = srq_context(srq);
	if (ret)
		goto free_ring;
	attr->attr.max_wr = srq->ring.depth;
	attr->attr.max_sge = srq->ring.sge;
	return 0;

free_ring:
	kvfree(srq->ring.slots);
give_back:
	kfi_payer_give(to_kib_pd(ib->pd)->payer, KFI_PAYER_ENDPOINTS, srq->room);
	return ret;
}

/* The length does not change. An event that is due already comes at once, but see srq_is_low(). */
int kib_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct kib_srq *srq = to_kib_srq(ib);
	unsigned long flags;
	bool low;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->ring.depth)
		return -EINVAL;
	spin_lock_irqsave(&srq->lock, flags);
	srq->limit = attr->srq_limit;
	low = srq_is_low(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low)
		srq_event(srq);
	return 0;
}

int kib_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	const struct kib_srq *srq = to_kib_srq(ib);

	attr->max_wr = srq->ring.depth;
	attr->max_sge = srq->ring.sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

/* No queue pair uses the queue, and the ULP posts no more. */
int kib_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct kib_srq *srq = to_kib_srq(ib);
	struct kib_slot *s;

	WRITE_ONCE(srq->ends, true);
	synchronize_rcu_expedited();	/* for srq_done(), which has bottom halves off */
	cancel_bh_work_sync(&srq->run_bh);
	WARN_ON(kfi_close(&srq->srx->fid));
	WARN_ON(kfi_close(&srq->cq->fid));
	list_for_each_entry(s, &srq->waiting, wait)
		kib_slot_release(&srq->ring, s);
	kvfree(srq->ring.slots);
	kfi_payer_give(to_kib_pd(ib->pd)->payer, KFI_PAYER_ENDPOINTS, srq->room);
	return 0;
}
