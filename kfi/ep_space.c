// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_ep_tx_space(): a callback, after a post has returned -EAGAIN, when a post can succeed again.
 *
 * When the consumer arms the callback, ep_space_arm() finds out whether the pool of operations or
 * the completion queue is full. In both cases the work item of the completion queue (cq_space.c)
 * calls the consumer, without a lock held and with bottom halves off.
 *
 * &kfi_ep.space_lock protects space_fn and space_arg. The callback is called once; it may arm
 * itself again.
 */
#include "cq.h"
#include "ep.h"

static void ep_space_ready(struct kfi_cq_waiter *w)
{
	struct kfi_ep *ep = container_of(w, struct kfi_ep, space);
	void (*fn)(struct kfid_ep *ep, void *context);
	void *arg;

	spin_lock(&ep->space_lock);
	fn = ep->space_fn;
	arg = ep->space_arg;
	ep->space_fn = NULL;
	spin_unlock(&ep->space_lock);
	if (fn)
		fn(&ep->fid, arg);
}

void kfi_ep_space_init(struct kfi_ep *ep)
{
	spin_lock_init(&ep->space_lock);
	INIT_LIST_HEAD(&ep->space.link);
	ep->space.fn = ep_space_ready;
}

/*
 * Don't clear the mark at the pool of a shared context, because other endpoints may wait for it
 * too. The next operation that ends then calls them, and this endpoint without need.
 */
static void ep_space_unstarve(struct kfi_ep *ep)
{
	if (!ep->stx)
		kfi_pool_unstarve(&ep->tx);
}

/* On return the callback does not run, and will not run. */
void kfi_ep_space_disarm(struct kfi_ep *ep)
{
	if (!ep->tx_cq)
		return;
	spin_lock_bh(&ep->space_lock);
	ep->space_fn = NULL;
	spin_unlock_bh(&ep->space_lock);
	ep_space_unstarve(ep);
	kfi_cq_cancel_wait(ep->tx_cq, &ep->space);
}

static int ep_space_arm(struct kfi_ep *ep, void (*fn)(struct kfid_ep *ep, void *context), void *arg)
{
	bool armed;

	spin_lock_bh(&ep->space_lock);
	armed = ep->space_fn;
	if (!armed) {
		ep->space_fn = fn;
		ep->space_arg = arg;
	}
	spin_unlock_bh(&ep->space_lock);
	if (armed)
		return -EALREADY;
	if (kfi_pool_starve(&kfi_tx_owner(ep)->tx))
		return 0;	/* the end of an operation schedules the callback */
	ep_space_unstarve(ep);
	if (!kfi_cq_wait_space(ep->tx_cq, &ep->space))
		kfi_cq_call_waiter(ep->tx_cq, &ep->space);
	return 0;
}

int kfi_ep_tx_space(struct kfid_ep *fid, void (*fn)(struct kfid_ep *ep, void *context),
		    void *context)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	int state = READ_ONCE(ep->state), ret;

	if (!fn) {
		kfi_ep_space_disarm(ep);
		return 0;
	}
	if (state == KFI_EP_DEAD)
		return -ENODEV;
	if (state == KFI_EP_IDLE)
		return -KFI_EOPBADSTATE;
	if (!ep->tx_cq)
		return -KFI_ENOCQ;
	rcu_read_lock();
	ret = ep_space_arm(ep, fn, context);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_ep_tx_space);
