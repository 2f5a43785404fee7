// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: numbers, look-up, end.
 */
#include "loop.h"

/*
 * Return the number that the info requests, 0 for any. The info of an endpoint that accepts a
 * request has the number of the listener, so the endpoint gets a number of its own.
 */
static u64 loop_requested_id(const struct kfi_ep *ep)
{
	const struct kfi_loop_addr *a = ep->info->src_addr;

	if (!a || ep->info->src_addrlen != sizeof(*a) || ep->connreq)
		return 0;
	return a->id;
}

int loop_ep_open(struct kfi_ep *ep)
{
	struct loop_ep *le = to_loop_ep(ep);

	ep->tx_levels = LOOP_LEVELS;
	le->ln = loop_net(kfi_ep_net(ep));
	refcount_set(&le->users, 1);
	atomic_set(&le->nr_tx, 0);
	spin_lock_init(&le->lock);
	INIT_LIST_HEAD(&le->unexpected);
	INIT_LIST_HEAD(&le->stalled);
	INIT_LIST_HEAD(&le->waiting);
	INIT_LIST_HEAD(&le->committing);
	INIT_LIST_HEAD(&le->commits);
	INIT_LIST_HEAD(&le->room.link);
	le->room.fn = loop_room;
	INIT_WORK(&le->retry, loop_retry);
	INIT_WORK(&le->cm_work, loop_cm_work);
	le->err = -ENOTCONN;
	le->keyed = ep->info->ep_attr->auth_key_size;
	if (ep->sep)
		return 0;
	le->id = loop_requested_id(ep);
	if (le->id && !loop_addr_ok(le->id))
		return -EINVAL;
	return loop_id_reserve(&le->ln->eps, &le->ln->next_ep, &le->id);
}

int loop_ep_enable(struct kfi_ep *ep)
{
	struct loop_ep *le = to_loop_ep(ep);

	if (ep->sep)	/* the scalable endpoint is enabled, so its number is constant */
		le->id = to_loop_ep(ep->sep)->id;
	if (ep->type == KFI_EP_RDM) {
		spin_lock_bh(&le->lock);
		WRITE_ONCE(le->up, true);
		spin_unlock_bh(&le->lock);
	}
	if (ep->sep)
		return 0;
	/* The entry is reserved, so the store allocates nothing and cannot fail. */
	return xa_err(xa_store(&le->ln->eps, le->id, le, GFP_KERNEL));
}

int loop_getname(struct kfi_ep *ep, void *addr)
{
	struct kfi_loop_addr *a = addr;

	a->id = to_loop_ep(ep->sep ?: ep)->id;
	return sizeof(*a);
}

int loop_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	struct loop_ep *le = to_loop_ep(ep);
	const struct kfi_loop_addr *a = addr;
	u64 id;
	int err;

	if (len != sizeof(*a) || !loop_addr_ok(a->id))
		return -EINVAL;
	id = a->id;
	if (id == le->id)
		return 0;
	err = loop_id_reserve(&le->ln->eps, &le->ln->next_ep, &id);
	if (err)
		return err;
	xa_erase(&le->ln->eps, le->id);
	le->id = id;
	return 0;
}

/*
 * The number stays reserved in the array, so no allocation is needed. cm_work may still report what
 * has happened before the reset; kfi.ko ignores that.
 */
void loop_ep_restart(struct kfi_ep *ep)
{
	struct loop_ep *le = to_loop_ep(ep);

	cancel_work_sync(&le->cm_work);
	spin_lock_bh(&le->lock);
	le->stopped = false;
	le->peer_id = 0;
	le->err = -ENOTCONN;
	spin_unlock_bh(&le->lock);
	loop_hold(le, false);
	refcount_set(&le->users, 1);
	xa_store(&le->ln->eps, le->id, le, GFP_KERNEL);
}

/* ---- look-up ---- */

struct loop_ep *loop_ep_get(struct loop_net *ln, u64 id, u32 rx_ctx)
{
	struct loop_ep *le;
	struct kfi_ep *to;

	rcu_read_lock();
	le = xa_load(&ln->eps, id);
	to = le ? kfi_ep_rx_ctx(&le->ep, rx_ctx) : NULL;
	le = to && refcount_inc_not_zero(&to_loop_ep(to)->users) ? to_loop_ep(to) : NULL;
	rcu_read_unlock();
	return le;
}

void loop_ep_put(struct loop_ep *le)
{
	loop_unpin(&le->users);
}

/* ---- end ---- */

/*
 * Take back own messages that still wait for a receive at peers. A message that a receive has just
 * taken is completed by loop_rx_matched().
 */
static void loop_unqueue(struct loop_ep *le, struct list_head *own)
{
	struct loop_op *p, *next;

	lockdep_assert_held(&le->lock);
	list_for_each_entry_safe(p, next, &le->unexpected, node)
		if (kfi_rx_unqueue(&p->rx))
			list_move_tail(&p->node, own);
}

void loop_end_all(struct list_head *ops, int err)
{
	struct loop_op *p, *next;

	list_for_each_entry_safe(p, next, ops, node)
		loop_tx_end(p, err);
}

/* le->up is false, so no operation waits for @le any more, and none will begin to wait. */
static void loop_retry_stop(struct loop_ep *le)
{
	cancel_work_sync(&le->retry);
	if (!le->ep.rx_cq)
		return;
	kfi_cq_cancel_wait(le->ep.rx_cq, &le->room);
	/*
	 * @room may have queued the work before the wait was cancelled. The work finds no
	 * operation, and does not wait again.
	 */
	cancel_work_sync(&le->retry);
}

void loop_ep_down(struct loop_ep *le, int err)
{
	LIST_HEAD(own);
	LIST_HEAD(peers);

	spin_lock_bh(&le->lock);
	if (le->up)
		le->err = err;
	WRITE_ONCE(le->up, false);
	loop_unqueue(le, &own);
	spin_unlock_bh(&le->lock);
	loop_unstall(le, &own, &peers);
	loop_uncommit(le, &own, &peers);
	loop_end_all(&own, err);
	loop_end_all(&peers, -ECONNRESET);
	loop_retry_stop(le);
	/* Pairs with loop_tx_begin(), which increments nr_tx and then reads up. */
	smp_mb();
	wait_var_event(&le->nr_tx, !atomic_read(&le->nr_tx));
}

void loop_ep_stop(struct kfi_ep *ep, int err)
{
	struct loop_ep *le = to_loop_ep(ep);

	loop_cm_stop(le);
	if (READ_ONCE(ep->state) == KFI_EP_SHUT)	/* loop_ep_restart() follows */
		xa_store(&le->ln->eps, le->id, XA_ZERO_ENTRY, GFP_KERNEL);
	else if (!ep->sep)
		xa_erase(&le->ln->eps, le->id);
	loop_ep_down(le, err);
	loop_wait_unpinned(&le->users);
}

void loop_ep_close(struct kfi_ep *ep)
{
	/* cm_work may wait for a grace period, which loop_ep_stop() must not do. */
	cancel_work_sync(&to_loop_ep(ep)->cm_work);
	/* Look-ups may have found the endpoint in the array before it was removed. */
	synchronize_rcu();
}
