// SPDX-License-Identifier: GPL-2.0
/*
 * Credits: how much a peer may send before we have made room again.
 *
 * Both halves count cumulatively, modulo 2^32, and advertise a limit instead of an increment: an advertisement that
 * is lost, repeated or reordered does no harm, and one that is absurd shows. A window is below 2^31 units, so the
 * difference of two counts tells their order.
 *
 *	receiver:	freed <= used <= told <= freed + window
 *	sender:		used <= limit <= used + window
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include "core.h"

#define KFI_CREDIT_WINDOW_MAX	((u32)S32_MAX)

/**
 * kfi_credit_init() - a fresh connection
 * @tx: sender's half
 * @rx: receiver's half
 * @window: units that we grant the peer
 * @peer_window: units that the peer grants us
 */
void kfi_credit_init(struct kfi_credit_tx *tx, struct kfi_credit_rx *rx, u32 window, u32 peer_window)
{
	window = min(window, KFI_CREDIT_WINDOW_MAX);
	*tx = (struct kfi_credit_tx){ .limit = min(peer_window, KFI_CREDIT_WINDOW_MAX) };
	*rx = (struct kfi_credit_rx){ .window = window, .told = window };
}
EXPORT_SYMBOL_GPL(kfi_credit_init);

bool kfi_credit_take(struct kfi_credit_tx *tx, u32 n)
{
	if (tx->limit - tx->used < n)
		return false;
	tx->used += n;
	return true;
}
EXPORT_SYMBOL_GPL(kfi_credit_take);

/**
 * kfi_credit_update() - an advertisement arrived
 * @tx: sender's half
 * @limit: as the peer said, not trusted
 * @window: the window the peer announced when the connection was made
 *
 * An honest peer has freed no more than we have used, so its limit is at most one window ahead of @tx->used. An
 * older limit than the one we know (by at most a window) is a repetition.
 */
int kfi_credit_update(struct kfi_credit_tx *tx, u32 limit, u32 window)
{
	if ((s32)(limit - tx->limit) <= 0)
		return tx->limit - limit <= window ? 0 : -EPROTO;
	if (limit - tx->used > window)
		return -EPROTO;
	tx->limit = limit;
	return 1;
}
EXPORT_SYMBOL_GPL(kfi_credit_update);

bool kfi_credit_charge(struct kfi_credit_rx *rx, u32 n)
{
	if (rx->told - rx->used < n)
		return false;
	rx->used += n;
	return true;
}
EXPORT_SYMBOL_GPL(kfi_credit_charge);

bool kfi_credit_free(struct kfi_credit_rx *rx, u32 n)
{
	if (WARN_ON_ONCE(rx->used - rx->freed < n))
		n = rx->used - rx->freed;
	rx->freed += n;
	return rx->freed + rx->window - rx->told >= max(rx->window / 2, 1u);
}
EXPORT_SYMBOL_GPL(kfi_credit_free);

u32 kfi_credit_advert(struct kfi_credit_rx *rx)
{
	rx->told = rx->freed + rx->window;
	return rx->told;
}
EXPORT_SYMBOL_GPL(kfi_credit_advert);
