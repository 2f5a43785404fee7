/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slot.h - a receive buffer of a connection, with the packet in it; slot.c has their number, rx.c what becomes of a packet.
 */
#ifndef _KFI_VERBS_SLOT_H
#define _KFI_VERBS_SLOT_H

#include <rdma/ib_verbs.h>
#include <kfi_prov.h>
#include "wire.h"

struct kv_conn;

#define KV_TAIL		(KVW_PACKET - KVW_PAGE)	/* of a packet, behind its page */

/* kv_slot.state, under kv_conn.lock */
enum kv_slot_state {
	KV_SLOT_FREE,		/* with the device */
	KV_SLOT_HERE,		/* being looked at */
	KV_SLOT_QUEUED,		/* with the matching: a whole message, or a request */
	KV_SLOT_FETCHING,	/* its receive is found, the data moves */
	KV_SLOT_LOST,		/* its connection went first */
};

/* kv_slot.holds */
#define KV_HOLD_MESSAGE		1
#define KV_HOLD_ANSWER		2

/**
 * struct kv_slot - a receive buffer of a connection, and the packet in it
 * @cqe:	its completion; @link: in &kv_conn.rxq or @fetches; @alink: in @answers
 * @rx:		the matching's view of a message
 * @wr: what the device is given; @sge: the memory: a page at @mem, and if there is a @tail its KV_TAIL bytes for the end of a longer
 *		packet
 * @bytes:	of the packet; @p: its header
 * @state:	enum kv_slot_state; @read: @p is there; @charged: its credit was counted; @performed: its atomic operation was
 * @holds:	the message, and an answer that has not been sent: with none the slot goes back to the device
 * @unexpected: it has gone through the matching's queue, and refers to the connection
 * @answer:	what is to be said about it; @epoch: when that was true
 * @inv_key:	the device's key that was invalidated with it, or 0; @inv_over: the region that it is to invalidate is over
 * @wrs:	FETCHING: work requests in the send queue; @desc: @at: the next bytes; @left: those not yet asked for
 * @err:	of the transfer
 * @work:	calls owners, see commit.c
 */
struct kv_slot {
	struct ib_cqe		cqe;
	struct kv_conn		*conn;
	struct list_head	link;
	struct list_head	alink;
	struct kfi_rx		rx;
	void			*mem;
	void			*tail;
	struct ib_recv_wr	wr;
	struct ib_sge		sge[2];
	u32			bytes;
	u8			state;
	bool			read;
	bool			charged;
	bool			performed;
	bool			unexpected;
	bool			inv_over;
	u8			holds;
	u8			cls;
	u32			inv_key;
	u32			epoch;
	struct kvw_packet	p;
	struct kvw_packet	answer;
	u16			desc;
	u64			at;
	u64			left;
	struct iov_iter		iter;
	unsigned int		wrs;
	int			err;
	struct work_struct	work;
};

/* The device has filled it. */
static inline void kv_slot_sync(const struct kv_slot *slot, struct ib_device *ib)
{
	ib_dma_sync_single_for_cpu(ib, slot->sge[0].addr, KVW_PAGE, DMA_FROM_DEVICE);
	if (unlikely(slot->bytes > KVW_PAGE))
		ib_dma_sync_single_for_cpu(ib, slot->sge[1].addr, KV_TAIL, DMA_FROM_DEVICE);
}

static inline struct kvw_hdr *kv_slot_hdr(const struct kv_slot *slot)
{
	return slot->mem;
}

static inline struct kvw_desc *kv_slot_descs(const struct kv_slot *slot)
{
	return slot->mem + slot->p.head;
}

#endif /* _KFI_VERBS_SLOT_H */
