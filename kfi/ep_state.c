// SPDX-License-Identifier: GPL-2.0
/*
 * The states of an endpoint.
 *
 *	IDLE ------> ENABLED <------> CONNECTING ------> CONNECTED
 *	               | ^                |                  |
 *	               v |                v                  v
 *	              SHUT <--------------+------------------+
 *
 *	any state --> DEAD
 *
 * kfi_enable() leads to ENABLED, where RDM and DGRAM endpoints stay. kfi_connect() and kfi_accept()
 * lead to CONNECTING. If the provider refuses the call at once, the endpoint returns to ENABLED
 * after kfi_connect(), and goes to SHUT after kfi_accept(). Otherwise the provider reports
 * CONNECTED or SHUT later. kfi_ep_reset() leads to SHUT from any state but IDLE and DEAD, and from
 * there to ENABLED. DEAD is final: kfi_close() was called, or the namespace or the device has gone.
 *
 * The calls of the consumer (bind, enable, connect, accept, shutdown, close) and kfi_ep_kill() are
 * serialised by &kfi_ep.lock. The reports of the provider are not, because the provider makes them
 * while such a call waits for the provider. Therefore each transition is a cmpxchg, and the context
 * whose cmpxchg has succeeded does the work that belongs to the transition, once. Posts read the
 * state inside an RCU read section. A context that leaves a state in which posts are allowed waits
 * for a grace period before it relies on that.
 */
#include "ep.h"

static const unsigned long kfi_ep_transitions[] = {
	[KFI_EP_IDLE]		= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_DEAD),
	[KFI_EP_ENABLED]	= BIT(KFI_EP_CONNECTING) | BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_CONNECTING]	= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_CONNECTED) |
				  BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_CONNECTED]	= BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_SHUT]		= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_DEAD),
	[KFI_EP_DEAD]		= 0,
};

bool kfi_ep_transition(int from, int to)
{
	return kfi_ep_transitions[from] & BIT(to);
}

int kfi_ep_move(struct kfi_ep *ep, int to)
{
	int from = READ_ONCE(ep->state);

	while (kfi_ep_transition(from, to))
		if (try_cmpxchg(&ep->state, &from, to))
			return from;
	return -1;
}
