// SPDX-License-Identifier: GPL-2.0
/*
 * The life of an endpoint.
 *
 *	IDLE ------> ENABLED <------> CONNECTING ------> CONNECTED
 *	               | ^                |                  |
 *	               v |                v                  v
 *	              SHUT <--------------+------------------+
 *
 *	any state --> DEAD
 *
 * kfi_enable() leads to ENABLED, where RDM and DGRAM endpoints stay. kfi_connect() and kfi_accept() lead on to CONNECTING,
 * and back to ENABLED if the provider refuses the call at once. The provider reports CONNECTED or SHUT. kfi_ep_reset()
 * leads to SHUT from wherever the endpoint is, and from there to ENABLED. DEAD is the end: kfi_close() was called, or the
 * network has gone.
 *
 * A consumer's calls (bind, enable, connect, accept, shutdown, close) and kfi_ep_kill() are serialised by kfi_ep.lock. The
 * provider's reports are not, for they come while such calls wait for the provider: so each arrow is a cmpxchg, and
 * who walks it does what belongs to it, once. Posts look at the state inside an RCU read section; whoever ends the state in
 * which posting is allowed and relies on that waits for a grace period.
 */
#include "ep.h"

static const unsigned long kfi_ep_arrows[] = {
	[KFI_EP_IDLE]		= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_DEAD),
	[KFI_EP_ENABLED]	= BIT(KFI_EP_CONNECTING) | BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_CONNECTING]	= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_CONNECTED) | BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_CONNECTED]	= BIT(KFI_EP_SHUT) | BIT(KFI_EP_DEAD),
	[KFI_EP_SHUT]		= BIT(KFI_EP_ENABLED) | BIT(KFI_EP_DEAD),
	[KFI_EP_DEAD]		= 0,
};

bool kfi_ep_arrow(int from, int to)
{
	return kfi_ep_arrows[from] & BIT(to);
}

int kfi_ep_move(struct kfi_ep *ep, int to)
{
	int from = READ_ONCE(ep->state);

	while (kfi_ep_arrow(from, to))
		if (try_cmpxchg(&ep->state, &from, to))
			return from;
	return -1;
}
