/* SPDX-License-Identifier: GPL-2.0 */
/*
 * null.h - kfi_bench_null: RDMA devices that cost next to nothing, to see what their users cost.
 *
 * A device is made on an Ethernet interface like a soft one (rdma link add NAME type null netdev
 * IF) and has its GIDs and its MAC address, by which the others of this module find it: RoCE
 * without a wire. Queue pairs of connections find their peer by its number, which is unique in the
 * module, when they are made ready to receive.
 *
 * A work request is carried out by the call that posts it: the payload of a message is copied into
 * the receive that the peer has posted, completions are put into the queues. Users are told of them
 * like by a device whose interrupt comes before the call returns: the notification is given with
 * bottom halves disabled and no lock of ours held, once for all that one call has done, so that a
 * completion queue in softirq is polled as soon as the poster has enabled them again, at the latest
 * when the call returns, and never on the stack of one that is being polled.
 *
 * Nothing is retried: a message without a receive, and whatever the peer refuses, ends the
 * connection.
 *
 * A device may also be broken, for tests: with the parameter deaf=1 a queue pair that is stopped
 * keeps its receives, with 2 it tells of them only when it is reset, which is when nobody expects
 * that any more.
 */
#ifndef _KFI_BENCH_NULL_H
#define _KFI_BENCH_NULL_H

#include <linux/if_ether.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define ND_SGE		16
#define ND_WR		16384	/* work requests of a queue */
#define ND_PAGES	512	/* of a registration */

/**
 * struct nd_device - an end of what would be the wire
 * @entry: in the list of all, under RCU
 * @gsi: its queue pair 1, under RCU
 */
struct nd_device {
	struct ib_device	ib;
	struct list_head	entry;
	u8			mac[ETH_ALEN];
	struct nd_qp __rcu	*gsi;
};

/** struct nd_ah - whom datagrams go to, and the header that stands before them there */
struct nd_ah {
	struct ib_ah		ib;
	u8			mac[ETH_ALEN];
	u8			net_type;
	union rdma_network_hdr	hdr;
};

/**
 * struct nd_cq - completions in a ring
 * @lock: protects all of it; innermost
 * @armed: tell of the next completion, or of the next solicited one
 * @due: somebody is to be told
 */
struct nd_cq {
	struct ib_cq		ib;
	spinlock_t		lock;
	u32			head;
	u32			tail;
	u32			mask;
	enum ib_cq_notify_flags	armed;
	bool			due;
	struct ib_wc		*ring;
};

/** struct nd_recv - a posted receive */
struct nd_recv {
	u64		wr_id;
	u32		nsge;
	struct ib_sge	sge[];
};

/**
 * struct nd_qp - a queue pair
 * @lock: protects @state and receives; taken by the peer that sends
 * @peer: the other end of a connection, under RCU; changed under nd_wires
 * @callers: those whose @peer we are; @caller: in that list of ours
 * @ring: receives, each @stride bytes
 */
struct nd_qp {
	struct ib_qp		ib;
	spinlock_t		lock;
	enum ib_qp_state	state;
	u32			qkey;
	struct nd_qp __rcu	*peer;
	struct hlist_head	callers;
	struct hlist_node	caller;
	bool			signal_all;
	u32			head;
	u32			tail;
	u32			size;
	u32			stride;
	void			*ring;
};

/** struct nd_mr - a fast registration; @key: by which it may be used now, 0 if it may not */
struct nd_mr {
	struct ib_mr		ib;
	u32			index;
	u32			key;
	int			access;
	u32			max_pages;
	u32			npages;
	u64			pages[];
};

/** struct nd_place - how far a message has come in the memory of a receive */
struct nd_place {
	const struct ib_sge	*sge;
	u32			nsge;
	u32			at;
};

static inline struct nd_device *to_nd_device(struct ib_device *ib)
{
	return container_of(ib, struct nd_device, ib);
}

static inline struct nd_ah *to_nd_ah(struct ib_ah *ib)
{
	return container_of(ib, struct nd_ah, ib);
}

static inline struct nd_cq *to_nd_cq(struct ib_cq *ib)
{
	return container_of(ib, struct nd_cq, ib);
}

static inline struct nd_qp *to_nd_qp(struct ib_qp *ib)
{
	return container_of(ib, struct nd_qp, ib);
}

static inline struct nd_mr *to_nd_mr(struct ib_mr *ib)
{
	return container_of(ib, struct nd_mr, ib);
}

/* main.c */
extern int nd_deaf;
struct nd_device *nd_device_find(const u8 *mac);	/* under RCU */

/* ah.c */
int nd_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
int nd_destroy_ah(struct ib_ah *ib, u32 flags);

/* cq.c */
int nd_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		 struct uverbs_attr_bundle *attrs);
int nd_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int nd_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc);
int nd_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
void nd_cq_put(struct nd_cq *cq, const struct ib_wc *wc, bool solicited);
void nd_cq_tell(struct nd_cq *cq);

/* mr.c */
struct ib_mr *nd_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages);
int nd_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
int nd_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset);
void nd_mr_valid(const struct ib_reg_wr *wr);
bool nd_mr_invalid(struct ib_device *ib, u32 key);
bool nd_mr_write(struct ib_pd *pd, const struct ib_rdma_wr *wr);
bool nd_mr_read(struct ib_pd *pd, const struct ib_rdma_wr *wr);

/* qp.c */
int nd_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int nd_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int nd_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
struct nd_qp *nd_qp_find(u32 number);			/* under RCU */

/* work.c */
int nd_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int nd_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
void nd_qp_end(struct nd_qp *qp, enum ib_qp_state state, bool flush);
bool nd_put(struct nd_place *place, const void *from, u32 len);

#endif /* _KFI_BENCH_NULL_H */
