/* SPDX-License-Identifier: GPL-2.0 */
/*
 * credit.h - arithmetic of flow control by credits.
 *
 * Sender and receiver count credits, from the beginning of the connection, modulo 2^32. The
 * receiver advertises a limit: the count up to which the sender may send. As it advertises no
 * increments, an advertisement that is lost, repeated or reordered does no harm, and an invalid
 * one can be detected. An allowance is less than 2^31 credits, so the difference of two counts
 * shows their order. The protocol defines what a credit is, and the locks that protect the
 * structures.
 *
 *	receiver:	freed <= used <= advertised <= freed + allowance
 *	sender:		used <= limit <= used + allowance
 */
#ifndef _KFI_PROTO_CREDIT_H
#define _KFI_PROTO_CREDIT_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

/** KFI_CREDIT_MAX - largest allowance, in credits */
#define KFI_CREDIT_MAX	((u32)S32_MAX)

/**
 * struct kfi_credit_tx - credit of the sender
 * @limit: last limit that the peer has advertised
 * @used: credits that were sent
 */
struct kfi_credit_tx {
	u32 limit;
	u32 used;
};

/**
 * struct kfi_credit_rx - credit of the receiver
 * @allowance: credits that the peer may have outstanding
 * @freed: credits that were received and freed
 * @advertised: last limit that was advertised
 * @used: credits that were received
 */
struct kfi_credit_rx {
	u32 allowance;
	u32 freed;
	u32 advertised;
	u32 used;
};

/**
 * kfi_credit_init() - set both credits of a new connection
 * @tx: credit of the sender on this side
 * @rx: credit of the receiver on this side
 * @allowance: credits that this side grants the peer
 * @peer_allowance: credits that the peer grants this side
 */
static inline void kfi_credit_init(struct kfi_credit_tx *tx, struct kfi_credit_rx *rx,
				   u32 allowance, u32 peer_allowance)
{
	allowance = min(allowance, KFI_CREDIT_MAX);
	*tx = (struct kfi_credit_tx){ .limit = min(peer_allowance, KFI_CREDIT_MAX) };
	*rx = (struct kfi_credit_rx){ .allowance = allowance, .advertised = allowance };
}

/**
 * kfi_credit_covers() - check whether there is credit to send
 * @tx: credit of the sender
 * @n: credits
 *
 * Return: true if kfi_credit_take() of @n would succeed.
 */
static inline bool kfi_credit_covers(const struct kfi_credit_tx *tx, u32 n)
{
	return tx->limit - tx->used >= n;
}

/**
 * kfi_credit_take() - use credit to send
 * @tx: credit of the sender
 * @n: credits
 *
 * Return: true; false if there is not enough credit, then none is used.
 */
static inline bool kfi_credit_take(struct kfi_credit_tx *tx, u32 n)
{
	if (tx->limit - tx->used < n)
		return false;
	tx->used += n;
	return true;
}

/**
 * kfi_credit_update() - handle an advertisement of the peer
 * @tx: credit of the sender
 * @limit: limit that the peer has advertised, not trusted
 * @allowance: allowance that the peer has granted at the beginning of the connection
 *
 * The peer can have freed only what was sent, so a valid limit is at most one allowance above
 * @tx->used. A limit that is older than @tx->limit, by at most one allowance, was repeated or
 * reordered.
 *
 * Return: 1 if there is more credit than before, 0 if there is not, -EPROTO if the limit is
 * invalid.
 */
static inline int kfi_credit_update(struct kfi_credit_tx *tx, u32 limit, u32 allowance)
{
	if ((s32)(limit - tx->limit) <= 0)
		return tx->limit - limit <= allowance ? 0 : -EPROTO;
	if (limit - tx->used > allowance)
		return -EPROTO;
	tx->limit = limit;
	return 1;
}

/**
 * kfi_credit_charge() - charge a message that has arrived
 * @rx: credit of the receiver
 * @n: credits of the message
 *
 * One context at a time charges messages and advertises credit. Others may free credit meanwhile.
 *
 * Return: true; false if the peer had no credit for the message.
 */
static inline bool kfi_credit_charge(struct kfi_credit_rx *rx, u32 n)
{
	if (rx->advertised - rx->used < n)
		return false;
	WRITE_ONCE(rx->used, rx->used + n);
	return true;
}

/**
 * kfi_credit_free() - free the credits of a message
 * @rx: credit of the receiver
 * @n: credits
 *
 * Return: true if half of the allowance or more is free and not advertised yet, so that an
 * advertisement should be sent now.
 */
static inline bool kfi_credit_free(struct kfi_credit_rx *rx, u32 n)
{
	u32 held = READ_ONCE(rx->used) - rx->freed;

	if (WARN_ON_ONCE(held < n))
		n = held;
	rx->freed += n;
	return rx->freed + rx->allowance - rx->advertised >= max(rx->allowance / 2, 1u);
}

/**
 * kfi_credit_advert() - return the limit to send to the peer, and record it as advertised
 * @rx: credit of the receiver
 */
static inline u32 kfi_credit_advert(struct kfi_credit_rx *rx)
{
	rx->advertised = rx->freed + rx->allowance;
	return rx->advertised;
}

#endif /* _KFI_PROTO_CREDIT_H */
