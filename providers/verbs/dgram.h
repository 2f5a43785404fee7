/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dgram.h - datagram endpoints: one UD queue pair each (dgram.c), and ways to those that it sends to (way.c).
 *
 * A way is what kfi_peer.h calls a connection, though nothing is connected: the address handle, queue pair number and key that
 * the peer has told through the connection manager. It is found by the first datagram to a peer, and only so long believed.
 *
 * Locks: kfi_peer.lock, then kv_dgram.lock. kv_dgram.rx_lock is taken alone.
 */
#ifndef _KFI_VERBS_DGRAM_H
#define _KFI_VERBS_DGRAM_H

#include "verbs.h"

#define KV_DGRAM_TX	128		/* datagrams with the device, each direction */
#define KV_DGRAM_RX	256
#define KV_GRH		sizeof(struct ib_grh)	/* the device puts the network's header in front of what came */

/**
 * struct kv_datagram - memory for one datagram
 * @cqe:	its completion
 * @link:	in &kv_dgram.free or @rxq
 * @way:	whom it goes to; NULL: with us
 * @mem: @dma: @size: bytes
 * @d:		its header; @from: its sender; @src_qp: his queue pair
 */
struct kv_datagram {
	struct ib_cqe		cqe;
	struct kv_dgram		*dg;
	struct list_head	link;
	struct kv_way		*way;
	void			*mem;
	u64			dma;
	u32			size;
	struct kvw_dgram	d;
	union kfi_inaddr	from;
	u32			src_qp;
};

/**
 * struct kv_dgram - what a datagram endpoint has beyond the common part
 * @vep:	back
 * @kdom:	with a reference until it has stopped
 * @qkey:	random: who has not asked us can't send to us, nor who has asked whoever had our queue pair's number before
 * @mtu:	longest datagram with its header
 * @lock:	protects @stopping, @queue, @free, @nsending, @ways, &kv_way.users, and posting to the send queue
 * @queue:	operations with a way, in posting order; @free: buffers for them; @nsending: buffers with the device
 * @ways:	every way not yet taken down
 * @rx_lock:	protects @rxq, @rx_busy, @rx_stopped, @nposted
 * @rxq:	datagrams to look at; @rx_busy: somebody does; @rx_stopped: nobody may any more
 * @nposted:	receive buffers that are with the device, or will be again
 * @space:	waits for room in the receive CQ
 * @idle:	wakes who waits for one of the numbers to become 0
 * @husk:	stays, for the device has not given back all (@kept)
 * @bufs:	KV_DGRAM_TX to send from, the others to receive into
 */
struct kv_dgram {
	struct kv_ep		*vep;
	struct kv_domain	*kdom;
	struct ib_cq		*cq;
	struct ib_qp		*qp;
	u32			qkey;
	u32			mtu;

	spinlock_t		lock ____cacheline_aligned;
	bool			stopping;
	struct list_head	queue;
	struct list_head	free;
	unsigned int		nsending;
	struct list_head	ways;

	spinlock_t		rx_lock ____cacheline_aligned;
	struct list_head	rxq;
	bool			rx_busy;
	bool			rx_stopped;
	unsigned int		nposted;
	struct kfi_cq_waiter	space;

	wait_queue_head_t	idle;
	struct llist_node	husk;
	bool			kept;
	struct kv_datagram	bufs[KV_DGRAM_TX + KV_DGRAM_RX];
};

/**
 * struct kv_way - how to reach a peer
 * @pc:		what kfi.ko knows of it
 * @ref:	list, and who has made it
 * @entry:	in &kv_dgram.ways
 * @name:	the peer's
 * @id:		asks for the rest
 * @failed:	bit 0: its end has begun, with @error
 * @users:	operations and datagrams that go there
 * @ah: @qpn: @qkey: where to; @mtu: longest datagram; @src: our address as the peer sees it
 * @deadline:	for the answer, and then for believing it
 */
struct kv_way {
	struct kfi_peer_conn	pc;
	refcount_t		ref;
	struct kv_dgram		*dg;
	struct list_head	entry;
	union kfi_inaddr	name;
	struct rdma_cm_id	*id;
	unsigned long		failed;
	int			error;
	unsigned int		users;
	struct ib_ah		*ah;
	u32			qpn;
	u32			qkey;
	u32			mtu;
	u8			src[16];
	u64			tx_bytes;
	struct work_struct	start_work;
	struct work_struct	down_work;
	struct delayed_work	deadline;
};

/** struct kv_dgram_op - our part of an operation: where it goes, and how it ended */
struct kv_dgram_op {
	struct kv_way	*way;
	int		err;
};

static inline struct kv_way *to_kv_way(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct kv_way, pc);
}

static inline struct kv_dgram_op *kv_dgram_op(const struct kfi_oper *op)
{
	return op->priv;
}

/* dgram.c */
void kv_dgram_kick(struct kv_dgram *dg);
void kv_dgram_queue(struct kv_way *way, struct kfi_oper *op);
void kv_dgram_flush(struct kv_way *way);

/* way.c */
bool kv_ways_gone(struct kv_dgram *dg, int err);
void kv_way_left(struct kv_way *way);
void kv_way_heard(struct kv_dgram *dg, kfi_addr_t from, u32 qpn);
int kv_way_asked(struct rdma_cm_id *id, struct rdma_cm_event *event);
void kv_way_gid(const union kfi_inaddr *name, u8 *gid);

#endif /* _KFI_VERBS_DGRAM_H */
