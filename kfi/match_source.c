// SPDX-License-Identifier: GPL-2.0
/*
 * match_source.c - handles of senders: which handle a directed receive names, and which handle the
 * sender of a message has.
 *
 * The handle of a sender changes while its message waits, when the consumer inserts the sender's
 * address into the address vector or removes it. So kfi_match_source() sets kfi_rx.src when a
 * message arrives and again when a receive takes it, and a directed receive searches waiting
 * messages by the address behind its handle (walk_begin() in match.c).
 *
 * An insertion does not walk through the waiting messages. It need not: a receive that names the
 * new handle is posted after the insertion, under kfi_match.lock, and an arriving message looks the
 * handle up under the same lock. If the post has the lock first, the look-up finds the handle;
 * otherwise the post finds the message. A consumer that names a handle before it has inserted the
 * address gets only the messages that arrive after the insertion.
 */
#include "ep.h"
#include "landing.h"

#define DIRECTED	(KFI_DIRECTED_RECV | KFI_TAGGED_DIRECTED_RECV)

/*
 * Convert op->addr to what fits() compares: a table index, or KFI_ADDR_UNSPEC for any
 * sender.
 */
void kfi_match_direct(struct kfi_ep *ep, struct kfi_oper *op)
{
	u64 need = op->code == KFI_OPC_TRECV ? DIRECTED : KFI_DIRECTED_RECV;

	if (!(ep->caps & need) || !ep->av)
		op->addr = KFI_ADDR_UNSPEC;
	else
		op->addr = kfi_av_index(ep->av, op->addr);
}

void kfi_match_source(struct kfi_rx *rx)
{
	struct kfi_ep *ep = rx->ep, *owner = kfi_rx_owner(ep);

	lockdep_assert_held(&owner->match.lock);
	if (!rx->name)
		return;
	rx->src = KFI_ADDR_NOTAVAIL;
	if (ep->av && (ep->caps | owner->caps) & (KFI_SOURCE | DIRECTED))
		rx->src = kfi_av_reverse(ep->av, rx->name);
}
