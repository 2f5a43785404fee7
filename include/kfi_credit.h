/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_credit.h - the arithmetic of flow control: how much a peer may send before we have made room again.
 *
 * Both halves count cumulatively, modulo 2^32, and advertise a limit instead of an increment: an advertisement that
 * is lost, repeated or reordered does no harm, and one that is absurd shows. A window is below 2^31 units, so the
 * difference of two counts tells their order. Units are the provider's choice, as are the locks.
 *
 *	receiver:	freed <= used <= told <= freed + window
 *	sender:		used <= limit <= used + window
 */
#ifndef _KFI_CREDIT_H
#define _KFI_CREDIT_H

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

/** KFI_CREDIT_WINDOW_MAX - largest window, in units */
#define KFI_CREDIT_WINDOW_MAX	((u32)S32_MAX)

/**
 * struct kfi_credit_tx - the sender's half of a credit window
 * @limit: cumulative units the peer has granted
 * @used: cumulative units spent
 */
struct kfi_credit_tx {
	u32 limit;
	u32 used;
};

/**
 * struct kfi_credit_rx - the receiver's half
 * @window: most units outstanding
 * @freed: cumulative units freed
 * @told: last limit advertised
 * @used:	cumulative units the peer has spent, as seen here
 */
struct kfi_credit_rx {
	u32 window;
	u32 freed;
	u32 told;
	u32 used;
};

/**
 * kfi_credit_init() - a fresh connection
 * @tx: sender's half
 * @rx: receiver's half
 * @window: units that we grant the peer
 * @peer_window: units that the peer grants us
 */
static inline void kfi_credit_init(struct kfi_credit_tx *tx, struct kfi_credit_rx *rx, u32 window, u32 peer_window)
{
	window = min(window, KFI_CREDIT_WINDOW_MAX);
	*tx = (struct kfi_credit_tx){ .limit = min(peer_window, KFI_CREDIT_WINDOW_MAX) };
	*rx = (struct kfi_credit_rx){ .window = window, .told = window };
}

/** kfi_credit_covers() - would kfi_credit_take() of @n succeed? */
static inline bool kfi_credit_covers(const struct kfi_credit_tx *tx, u32 n)
{
	return tx->limit - tx->used >= n;
}

/** kfi_credit_take() - spend @n units to send. Return: false: not enough, nothing was taken. */
static inline bool kfi_credit_take(struct kfi_credit_tx *tx, u32 n)
{
	if (!kfi_credit_covers(tx, n))
		return false;
	tx->used += n;
	return true;
}

/**
 * kfi_credit_update() - an advertisement arrived
 * @tx: sender's half
 * @limit: as the peer said, not trusted
 * @window: the window the peer announced when the connection was made
 *
 * An honest peer has freed no more than we have used, so its limit is at most one window ahead of @tx->used. An
 * older limit than the one we know (by at most a window) is a repetition.
 * Return: 1 more room than before, 0 none, -EPROTO absurd.
 */
static inline int kfi_credit_update(struct kfi_credit_tx *tx, u32 limit, u32 window)
{
	if ((s32)(limit - tx->limit) <= 0)
		return tx->limit - limit <= window ? 0 : -EPROTO;
	if (limit - tx->used > window)
		return -EPROTO;
	tx->limit = limit;
	return 1;
}

/**
 * kfi_credit_widen() - the limit whose lower half is on the wire: the nearest one to what is known
 * @tx: sender's half
 * @limit: of an advertisement; windows are below 2^15 units then
 */
static inline u32 kfi_credit_widen(const struct kfi_credit_tx *tx, u16 limit)
{
	return tx->limit + (s16)(limit - (u16)tx->limit);
}

/** kfi_credit_charge() - a message of @n units arrived. Return: false: the peer had no credit for it. */
static inline bool kfi_credit_charge(struct kfi_credit_rx *rx, u32 n)
{
	if (rx->told - rx->used < n)
		return false;
	rx->used += n;
	return true;
}

/** kfi_credit_free() - @n units are free again. Return: true: worth telling the peer now (half the window). */
static inline bool kfi_credit_free(struct kfi_credit_rx *rx, u32 n)
{
	if (WARN_ON_ONCE(rx->used - rx->freed < n))
		n = rx->used - rx->freed;
	rx->freed += n;
	return rx->freed + rx->window - rx->told >= max(rx->window / 2, 1u);
}

/** kfi_credit_advert() - the limit to put on the wire; remembers that it was told */
static inline u32 kfi_credit_advert(struct kfi_credit_rx *rx)
{
	rx->told = rx->freed + rx->window;
	return rx->told;
}

#endif /* _KFI_CREDIT_H */
