// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the data path: an operation from its post to its completion.
 *
 * The context that posts an operation performs it at the peer at once, with three exceptions:
 * - a message finds no receive. It is unexpected: the operation waits in the peer's matching;
 * - the peer's completion queue is full. The operation is stalled, and later operations that
 *   must not overtake it wait, too (stall.c);
 * - a commit is requested: a work item calls persist() of the region (rma.c).
 */
#include "loop.h"

/* ---- begin and completion ---- */

static void loop_tx_put(struct loop_ep *le)
{
	/*
	 * The endpoint may be freed after the last operation: only its address is used after that.
	 */
	if (atomic_dec_and_test(&le->nr_tx))
		wake_up_var(&le->nr_tx);
}

static int loop_tx_begin(struct loop_ep *le)
{
	atomic_inc(&le->nr_tx);
	/* Pairs with loop_ep_down(), which clears up and then reads nr_tx. */
	smp_mb__after_atomic();
	if (READ_ONCE(le->up))
		return 0;
	loop_tx_put(le);
	return READ_ONCE(le->err);
}

void loop_tx_end(struct loop_op *p, int err)
{
	struct loop_ep *le = to_loop_ep(p->op->ep);

	if (p->mr)
		kfi_mr_put(p->mr);
	loop_commit_free(p->commit);
	kfi_tx_complete(p->op, err);
	loop_tx_put(le);
}

kfi_addr_t loop_src(const struct loop_ep *from, const struct loop_ep *to)
{
	struct kfi_loop_addr a = { .id = from->id };

	return to->ep.av ? kfi_av_reverse(to->ep.av, &a) : KFI_ADDR_NOTAVAIL;
}

/* ---- messages, and tagged RMA, which accesses a tagged receive ---- */

static void loop_rx_fill(struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_rx *rx = &p->rx;

	rx->len = op->len;
	rx->name = &to_loop_ep(op->ep)->id;	/* the number is a struct kfi_loop_addr */
	rx->tag = op->tag;
	rx->data = op->data;
	rx->flags = op->code == KFI_OPC_SEND ? KFI_MSG : KFI_TAGGED;
	if (op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD)
		rx->flags |= KFI_RMA | (op->code == KFI_OPC_TWRITE ? KFI_WRITE : KFI_READ);
	rx->flags |= op->flags & KFI_REMOTE_CQ_DATA;
	if (p->ended) {
		rx->flags |= KFI_INVALIDATE;
		rx->data = op->inv_key;
	}
}

/* The message has its receive: copy the payload and complete both sides. */
static void loop_deliver(struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_rx *rx = &p->rx;
	size_t len = min(rx->len, rx->room), done;
	int err = 0;

	if (op->code == KFI_OPC_TREAD)
		done = loop_copy(&op->iter, &rx->iter, len);
	else
		done = loop_copy(&rx->iter, &op->iter, len);
	kfi_stat_add(op->ep, copied, done);
	if (done < len)
		err = -EFAULT;
	else if ((rx->flags & KFI_RMA) && rx->len > rx->room)
		err = -KFI_ETRUNC;	/* truncation is an error of RMA, but not of a message */
	kfi_rx_complete(rx, err == -EFAULT ? err : 0);
	loop_tx_end(p, err);
}

/*
 * Look for the receive; a message without one is unexpected. from->lock orders this with
 * loop_rx_matched() and loop_rx_drop(), which may be called at once, and with loop_ep_down() of the
 * sender, which takes unexpected messages back.
 */
static enum kfi_rx_verdict loop_arrive(struct loop_ep *from, struct loop_ep *to, struct loop_op *p)
{
	bool queue = p->op->code == KFI_OPC_SEND || p->op->code == KFI_OPC_TSEND;
	enum kfi_rx_verdict verdict = KFI_RX_CLOSED;

	spin_lock_bh(&from->lock);
	if (from->up)
		verdict = kfi_rx_arrive(&to->ep, &p->rx, queue);
	if (verdict == KFI_RX_QUEUED)
		list_add_tail(&p->node, &from->unexpected);
	spin_unlock_bh(&from->lock);
	return verdict;
}

static void loop_unqueue_one(struct loop_op *p)
{
	struct loop_ep *from = to_loop_ep(p->op->ep);

	spin_lock_bh(&from->lock);
	list_del(&p->node);
	spin_unlock_bh(&from->lock);
}

/* An unexpected message has its receive now. Called in the context of the receiver's post. */
void loop_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct loop_op *p = container_of(rx, struct loop_op, rx);

	loop_unqueue_one(p);
	loop_deliver(p);
}

void loop_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct loop_op *p = container_of(rx, struct loop_op, rx);

	loop_unqueue_one(p);
	loop_tx_end(p, -ECONNRESET);
}

/* Return: false if the peer's queue has no room. */
static bool loop_message(struct loop_ep *to, struct loop_op *p)
{
	struct loop_ep *from = to_loop_ep(p->op->ep);
	int err;

	if ((p->op->flags & KFI_INVALIDATE) && !p->killed) {
		err = kfi_mr_kill(&to->ep, p->op->inv_key);
		if (err == -EACCES) {
			loop_tx_end(p, err);
			return true;
		}
		p->killed = true;
		/* if @err is set, the owner of the region has to invalidate it, or has done so */
		p->ended = !err;
	}
	loop_rx_fill(p);
	switch (loop_arrive(from, to, p)) {
	case KFI_RX_MATCHED:
		loop_deliver(p);
		break;
	case KFI_RX_QUEUED:
		break;	/* @p may have been completed and must not be used */
	case KFI_RX_FULL:
		return false;
	case KFI_RX_NONE:
		loop_tx_end(p, -EACCES);	/* tagged RMA: no receive has this key */
		break;
	case KFI_RX_CLOSED:
		loop_tx_end(p, READ_ONCE(from->up) ? -ECONNRESET : from->err);
		break;
	}
	return true;
}

/* ---- entry ---- */

bool loop_perform(struct loop_ep *to, struct loop_op *p)
{
	if (!READ_ONCE(to->up)) {
		loop_tx_end(p, -ECONNRESET);
		return true;
	}
	switch (p->op->code) {
	case KFI_OPC_READ:
	case KFI_OPC_WRITE:
	case KFI_OPC_ATOMIC:
	case KFI_OPC_FETCH_ATOMIC:
	case KFI_OPC_COMPARE_ATOMIC:
	case KFI_OPC_PLACE_PUT:
		return loop_rma(to, p);
	case KFI_OPC_PLACE_GET:
		loop_place_get(to, p);
		return true;
	default:
		return loop_message(to, p);
	}
}

/* Return the peer with a reference. */
static struct loop_ep *loop_peer(struct loop_ep *from, u64 id, u32 rx_ctx)
{
	struct loop_ep *to = loop_ep_get(from->ln, id, rx_ctx);

	if (!to)
		return NULL;
	if (to->ep.type == from->ep.type && READ_ONCE(to->up) &&
	    (to->ep.type == KFI_EP_RDM || to->peer_id == from->id))
		return to;
	loop_ep_put(to);
	return NULL;
}

/* Check what depends on the operation alone, and find the address of the peer. */
static int loop_tx_check(struct loop_ep *from, struct kfi_oper *op, u64 *id, u32 *rx_ctx)
{
	u8 addr[KFI_ADDR_MAX] __aligned(8);
	int len;

	if ((op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD) &&
	    (op->rma_count != 1 || op->rma[0].addr))
		return -EINVAL;
	if ((op->flags & KFI_COMMIT_COMPLETE) && op->code != KFI_OPC_WRITE &&
	    op->code != KFI_OPC_ATOMIC)
		return -EOPNOTSUPP;
	*id = from->peer_id;
	*rx_ctx = 0;
	if (from->ep.type == KFI_EP_MSG)
		return 0;
	len = kfi_av_addr(from->ep.av, op->addr, addr);
	if (len < 0)
		return len;
	*id = ((struct kfi_loop_addr *)addr)->id;
	*rx_ctx = kfi_av_rx_ctx(from->ep.av, op->addr);
	return 0;
}

/* The keys of connected endpoints were compared when the connection was requested. */
static bool loop_keys_match(const struct loop_ep *from, const struct loop_ep *to)
{
	if (likely(!from->keyed && !to->keyed) || from->ep.type == KFI_EP_MSG)
		return true;
	return kfi_auth_same(from->ep.info->ep_attr, to->ep.info->ep_attr);
}

int loop_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct loop_ep *from = to_loop_ep(ep), *to;
	struct loop_op *p = op->priv;
	u32 rx_ctx;
	u64 id;
	int err;

	err = loop_tx_check(from, op, &id, &rx_ctx) ?: loop_tx_begin(from);
	if (err)
		return err;
	p->op = op;
	p->mr = NULL;
	p->commit = NULL;
	p->killed = false;
	p->ended = false;
	to = loop_peer(from, id, rx_ctx);
	if (!to) {
		loop_tx_end(p, ep->type == KFI_EP_MSG ? -ENOTCONN : -EHOSTUNREACH);
		return 0;
	}
	if (unlikely(!loop_keys_match(from, to))) {
		loop_tx_end(p, -KFI_EKEYREJECTED);
		goto out;
	}
	if (READ_ONCE(to->congested) && loop_stall(from, to, p, false))
		goto out;
	if (!loop_perform(to, p))
		loop_stall(from, to, p, true);
out:
	loop_ep_put(to);
	return 0;
}
