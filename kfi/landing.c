// SPDX-License-Identifier: GPL-2.0
/*
 * landing.c - how receives complete: where a message goes in the buffer of its receive, and the
 * entry in the completion queue; and what is counted of the RMA of peers.
 *
 * Multi-receive buffers. A message is placed behind the earlier messages of the buffer; its
 * completion has the address. The buffer is released when less than KFI_OPT_MIN_MULTI_RECV bytes
 * are left, or when a message is longer than the rest of the buffer. Such a message goes to the
 * next buffer; only an empty buffer truncates a message. Several messages can be in transfer to one
 * buffer (&kfi_oper.landings) and complete in any order. The flag KFI_MULTI_RECV, which returns the
 * buffer to the consumer, is set in the completion of the last of them after the release. If none
 * is in transfer when the buffer is released, the buffer gets an entry of its own, with length 0
 * and KFI_MULTI_RECV as its only flag, which no message has.
 *
 * CQ slots. The slot that was reserved when the buffer was posted is for the message that fills the
 * buffer, or for the entry that releases it without a message. Each other message reserves a slot
 * when it is matched. If the last completion is of a message that has a slot of its own, the slot
 * of the buffer is left over and is returned.
 *
 * Order. &kfi_match.order is held from the decision that a message is not the last one until its
 * entry is in the queue. The last entry is written after its context has held that lock, so it is
 * behind all other entries of the buffer.
 *
 * A transfer that fails, because the sender is lost, makes no entry unless it is the last one of
 * the buffer: no message was received, and its bytes of the buffer remain unused. If it is the last
 * one, the entry has the error ECANCELED: the buffer is returned without a message.
 *
 * Locks: &kfi_match.lock protects &kfi_oper.state, landings and consumed of receives.
 */
#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/uio.h>
#include "cq.h"
#include "landing.h"

/* Flags of &kfi_rx.flags that the completion has */
#define KFI_RX_FLAGS	(KFI_MSG | KFI_TAGGED | KFI_RMA | KFI_READ | KFI_WRITE |	\
			 KFI_REMOTE_CQ_DATA | KFI_INVALIDATE | KFI_INVALIDATE_DUE)

static inline void *first_byte(const struct iov_iter *iter)
{
	const struct bio_vec *bv;

	if (!iter->nr_segs)
		return NULL;
	if (iov_iter_is_kvec(iter))
		return iter->kvec->iov_base + iter->iov_offset;
	bv = iter->bvec;
	if (PageHighMem(bv->bv_page))
		return NULL;
	return page_address(bv->bv_page) + bv->bv_offset + iter->iov_offset;
}

/* Reserve a CQ slot. A receive that is only counted has no queue. */
static bool get_slot(struct kfi_oper *op)
{
	return !op->cq || kfi_cq_reserve(op->cq);
}

static void put_slot(struct kfi_oper *op)
{
	if (op->cq)
		kfi_cq_unreserve(op->cq);
}

/*
 * Say in the consumer's request whose message has taken the receive. The consumers of RDM
 * endpoints know that by the source; a receive of theirs may also be returned, see kfi_rx_abort().
 */
static noinline void land_shared(struct kfi_oper *op, struct kfi_ep *ep)
{
	struct kfi_cqe *cqe = op->context;

	lockdep_assert_held(&ep->srx->match.lock);
	if (!(op->flags & KFI_CQE) || ep->type != KFI_EP_MSG)
		return;
	cqe->ep = &ep->fid;
	cqe->nr = ep->srx_nr++;
	atomic_inc(&ep->srx_left);	/* kfi_cq_pass() */
}

enum kfi_land kfi_land_in(struct kfi_oper *op, struct kfi_rx *rx)
{
	bool multi = op->flags & KFI_MULTI_RECV;
	enum kfi_land land = KFI_LAND_DONE;
	size_t left;

	lockdep_assert_held(&op->ep->match.lock);
	if (unlikely(multi)) {
		left = op->len - op->consumed;
		if (rx->len > left && op->consumed)
			return KFI_LAND_NO_ROOM;
		left -= min(rx->len, left);
		if (left >= max_t(size_t, op->ep->min_multi_recv, 1)) {
			if (!get_slot(op))
				return KFI_LAND_FULL;
			land = KFI_LAND_MORE;
		}
	}
	if (unlikely(rx->ep->srx))
		land_shared(op, rx->ep);
	rx->op = op;
	rx->room = min(rx->len, op->len - op->consumed);
	rx->iter = op->iter;
	rx->buf = first_byte(&rx->iter);
	iov_iter_truncate(&rx->iter, rx->room);
	if (rx->flags & KFI_READ)
		rx->iter.data_source = ITER_SOURCE;
	op->landings++;
	if (unlikely(multi)) {
		iov_iter_advance(&op->iter, rx->room);
		op->consumed += rx->room;
	}
	return land;
}

static __always_inline void land_entry(const struct kfi_rx *rx, int err,
				       struct kfi_cq_err_entry *wc)
{
	wc->flags = (rx->flags & KFI_RX_FLAGS) | KFI_RECV;
	wc->len = err ? 0 : rx->len;
	wc->buf = rx->buf;
	wc->data = rx->data;
	wc->tag = rx->tag;
	wc->olen = 0;
	wc->err = -err;
	wc->prov_errno = -err;
	wc->src_addr = rx->ep->caps & KFI_SOURCE ? rx->src : KFI_ADDR_NOTAVAIL;
	if (!err && rx->len > rx->room && !(rx->op->flags & (KFI_PEEK | KFI_DISCARD))) {
		wc->err = KFI_ETRUNC;
		wc->olen = rx->len - rx->room;
	}
}

void kfi_land_entry(const struct kfi_rx *rx, int err, struct kfi_cq_err_entry *wc)
{
	land_entry(rx, err, wc);
}

/*
 * Return a multi-receive buffer without a message, because it has been released for lack of room,
 * or because it has been canceled. Or complete a peek.
 */
static void release_buffer(struct kfi_oper *op)
{
	struct kfi_cq_err_entry peeked, wc = { .flags = KFI_MULTI_RECV, .src_addr = KFI_ADDR_NOTAVAIL };

	if (op->state == KFI_RECV_CANCELED) {
		kfi_recv_end(op, -ECANCELED);
	} else if (op->flags & KFI_PEEK) {
		peeked = op->wc;
		kfi_op_finish(op, op->ep, &peeked);
	} else {
		kfi_op_finish(op, op->ep, &wc);
	}
}

void kfi_land_end_all(struct list_head *released)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, released, link)
		release_buffer(op);
}

/*
 * Make the entry of a message that is not the last one of its buffer, in the slot that was reserved
 * for it.
 */
static void intermediate(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc,
			 int err)
{
	lockdep_assert_held(&op->ep->match.order);
	if (err) {
		kfi_stat_inc(ep, errors);
		put_slot(op);
		return;
	}
	kfi_op_part(op, ep, wc);
}

static void land_multi(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc, int err)
{
	struct kfi_match *m = &op->ep->match;
	bool last, released = false;

	spin_lock_bh(&m->order);
	spin_lock(&m->lock);
	last = op->state != KFI_RECV_POSTED && op->landings == 1;
	spin_unlock(&m->lock);
	if (!last) {
		intermediate(op, ep, wc, err);
		spin_lock(&m->lock);
		released = !--op->landings && op->state != KFI_RECV_POSTED;
		spin_unlock(&m->lock);
	}
	spin_unlock_bh(&m->order);
	if (released)
		release_buffer(op);
	if (!last)
		return;
	if (op->state != KFI_RECV_TAKEN)
		put_slot(op);
	wc->flags |= KFI_MULTI_RECV;
	if (err)
		wc->err = ECANCELED;
	kfi_op_finish(op, ep, wc);
}

void __kfi_rx_complete(struct kfi_rx *rx, int err)
{
	struct kfi_oper *op = rx->op;
	struct kfi_cq_err_entry entry __uninitialized;
	struct kfi_cq_err_entry *wc = op->flags & KFI_CQE ? &op->wc : &entry;

	land_entry(rx, err, wc);
	rx->op = NULL;
	if (op->flags & KFI_MULTI_RECV)
		land_multi(op, rx->ep, wc, err);
	else
		__kfi_op_finish(op, rx->ep, wc);
}
EXPORT_SYMBOL_GPL(__kfi_rx_complete);

void kfi_rx_complete(struct kfi_rx *rx, int err)
{
	local_bh_disable();
	__kfi_rx_complete(rx, err);
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_rx_complete);

void kfi_recv_complete(struct kfi_oper *op, size_t len, u64 flags, u64 data, int err)
{
	struct kfi_cq_err_entry wc __uninitialized;

	wc.flags = flags | KFI_MSG | KFI_RECV;
	wc.len = len;
	wc.buf = first_byte(&op->iter);
	wc.data = data;
	wc.tag = 0;
	wc.olen = 0;
	wc.err = -err;
	wc.prov_errno = -err;
	wc.src_addr = KFI_ADDR_NOTAVAIL;
	__kfi_op_finish(op, op->ep, &wc);
}
EXPORT_SYMBOL_GPL(kfi_recv_complete);

void kfi_recv_end(struct kfi_oper *op, int err)
{
	struct kfi_cq_err_entry wc = {
		.flags = KFI_RECV | (op->code == KFI_OPC_TRECV ? KFI_TAGGED : KFI_MSG) |
			 (op->flags & KFI_MULTI_RECV),
		.tag = op->tag,
		.err = -err,
		.prov_errno = -err,
		.src_addr = KFI_ADDR_NOTAVAIL,
	};

	kfi_op_finish(op, op->ep, &wc);
}

/*
 * ---- RMA and atomic operations that a peer has performed here: the entry for remote CQ data, and
 * the counters of the endpoint and the region ----
 */

static void remote_entry(struct kfi_ep *ep, u64 flags, size_t len, u64 data, kfi_addr_t src)
{
	struct kfi_cq_err_entry wc = {
		.flags = (flags & KFI_ATOMIC ?: KFI_RMA) | KFI_REMOTE_CQ_DATA |
			 (flags & (KFI_REMOTE_READ | KFI_REMOTE_WRITE)),
		.len = len,
		.data = data,
		.src_addr = ep->caps & KFI_SOURCE ? src : KFI_ADDR_NOTAVAIL,
	};

	kfi_cq_fill(ep->rx_cq, &wc);
}

int kfi_remote_rma(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, u64 flags, size_t len, u64 data,
		   kfi_addr_t src)
{
	struct kfi_cntr *cntr = ep->cntr[flags & KFI_REMOTE_WRITE ? KFI_CNTR_REMOTE_WRITE :
								    KFI_CNTR_REMOTE_READ];
	bool entry = (flags & KFI_REMOTE_CQ_DATA) && ep->rx_cq;

	if (entry && !kfi_cq_reserve(ep->rx_cq))
		return -EAGAIN;
	if (entry)
		remote_entry(ep, flags, len, data, src);
	if (mr && unlikely(READ_ONCE(mr->cntr_access) & flags)) {
		/*
		 * The counter of the region may be closed as soon as the region is closed, so it is
		 * used only while the region is live. The key shows whether it is still the region
		 * that was accessed: a per-I/O region can't be attached again before this section
		 * ends, because the end of a region that has holders waits for RCU readers
		 * (mr_io.c).
		 */
		rcu_read_lock();
		/* pairs with mr_bind_cntr() */
		if (kfi_mr_live(mr, key) && (flags & smp_load_acquire(&mr->cntr_access)))
			kfi_cntr_count(mr->cntr, 0);
		rcu_read_unlock();
	}
	if (cntr)
		kfi_cntr_count(cntr, 0);
	kfi_stat_inc(ep, rma_in_ops);
	kfi_stat_add(ep, rma_in_bytes, len);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_remote_rma);
