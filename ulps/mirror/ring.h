/* SPDX-License-Identifier: GPL-2.0 */
/* ring.h - places of records: in the log of a peer, and in its slots */
#ifndef KFM_RING_H
#define KFM_RING_H

#include "proto.h"

struct kfm_peer;

/**
 * struct kfm_place - where the next record goes in the log of a peer
 * @at: offset of the record; a record that does not fit there begins at 0
 * @head: bytes used since the session began, never wrapped
 * @seq: sequence number of the record
 */
struct kfm_place {
	u32	at;
	u64	head;
	u64	seq;
};

/**
 * struct kfm_ring - the primary's view of the log of a peer
 * @key: key of the ring
 * @addr: address of its first byte
 * @len: bytes; 0 if the peer has no log: there is room for no record
 * @next: place of the next record
 * @tail: like &kfm_place.head: bytes that are applied and may be overwritten
 * @applied: records up to this one are in the leg
 * @ends: value of &kfm_place.head after each record that is not applied yet
 * @patch_key: key of the patches, see repair.c
 * @patch_addr: address of the first byte
 * @patches: how many
 */
struct kfm_ring {
	u64	key;
	u64	addr;
	u32	len;
	struct kfm_place next;
	u64	tail;
	u64	applied;
	u64	ends[KFM_WINDOW];
	u64	patch_key;
	u64	patch_addr;
	u32	patches;
};

/**
 * struct kfm_slots - a primary's view of the slots of a peer; used by the context that has claimed
 * the mirror
 * @data_crc: the data of direct records has a CRC
 * @zeroes: a direct record may have KFM_D_ZEROES
 * @caches: the peer takes records that its leg may keep in a volatile cache, so it has to be sent
 *	each flush. Also after the session: what that has left in the cache
 * @number: of the last direct record of the session
 * @free: unused slots, the one that was used last at the end
 * @count: how many
 * @logged: what the records write that are not known to be behind the durable head of the peer's
 *	log, by sequence number
 */
struct kfm_slots {
	bool		data_crc;
	bool		zeroes;
	bool		caches;
	u64		number;
	u8		free[KFM_SLOTS_MAX];
	unsigned int	count;
	struct kfm_rec	logged[KFM_WINDOW];
};

void kfm_ring_begin(struct kfm_peer *p, const struct kfm_msg *grant);
bool kfm_ring_take(const struct kfm_ring *ring, struct kfm_place *next, u32 room, u32 *at);
void kfm_ring_applied(struct kfm_ring *ring, u64 seq);

#endif /* KFM_RING_H */
