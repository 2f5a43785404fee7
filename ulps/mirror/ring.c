// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - where the next record goes in the log of a peer, and which part of the log is in use.
 * All functions run with the mirror claimed.
 */
#include "mirror.h"
#include "peer.h"
#include "ring.h"

void kfm_ring_begin(struct kfm_peer *p, const struct kfm_msg *grant)
{
	p->ring = (struct kfm_ring) {
		.key = grant->ring_key, .addr = grant->ring_addr, .len = grant->ring_len,
		.next.seq = 1,
		.patch_key = grant->patch_key, .patch_addr = grant->patch_addr,
		.patches = grant->flags & KFM_M_PATCHES ? KFM_PATCHES : 1,
	};
}

/*
 * Find the place of a record of @room bytes from @next on, and move @next behind it. Return: false
 * if the ring has no room, or too many records that are not applied.
 */
bool kfm_ring_take(const struct kfm_ring *ring, struct kfm_place *next, u32 room, u32 *at)
{
	u32 take;

	*at = kfm_ring_place(ring->len, next->at, room, &take);
	if (next->head + take - ring->tail > ring->len || next->seq - ring->applied >= KFM_WINDOW)
		return false;
	*next = (struct kfm_place) {
		.at = *at + room, .head = next->head + take, .seq = next->seq + 1,
	};
	return true;
}

/* The records up to @seq are applied. A number outside the open records is ignored. */
void kfm_ring_applied(struct kfm_ring *ring, u64 seq)
{
	if (seq <= ring->applied || seq >= ring->next.seq)
		return;
	ring->tail = ring->ends[seq % KFM_WINDOW];
	ring->applied = seq;
}
