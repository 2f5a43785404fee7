/* SPDX-License-Identifier: GPL-2.0 */
/*
 * null.h - kfi_bench_null: RDMA devices that cost next to nothing, which show the cost of their
 * consumers
 *
 * A device is created on an Ethernet interface, like a soft one (rdma link add NAME type null
 * netdev IF). It has GIDs and the MAC address of the interface, by which other devices of this
 * module find it: RoCE without a wire. A connected queue pair finds its peer by number, which is
 * unique in the module, when it becomes ready to receive.
 *
 * The call that posts a work request executes it: it copies the payload of a message into the
 * receive that the peer has posted, and adds completions to the queues. Consumers are notified as
 * by a device whose interrupt comes before the call returns: once for all completions of a call,
 * with bottom halves disabled and no lock of this module held. So a completion queue in softirq is
 * polled as soon as the poster has enabled bottom halves again, at the latest when the call
 * returns, and never from within its own poll.
 *
 * Nothing is retried: a message without a receive, or any refusal of the peer, ends the connection.
 *
 * For tests a device may be broken: with the parameter deaf=1 a queue pair that is stopped keeps
 * its receives; with deaf=2 it completes them when it is reset, when no consumer expects that any
 * more.
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
 * struct nd_device - a device
 * @entry: in the list of all devices, under RCU
 * @gsi: its queue pair 1, under RCU
 */
struct nd_device {
	struct ib_device	ib;
	struct list_head	entry;
	u8			mac[ETH_ALEN];
	struct nd_qp __rcu	*gsi;
};

/**
 * struct nd_ah - destination of datagrams, and their header at the receiver
 */
struct nd_ah {
	struct ib_ah		ib;
	u8			mac[ETH_ALEN];
	u8			net_type;
	union rdma_network_hdr	hdr;
};

/**
 * struct nd_cq - completions in a ring
 * @lock: protects all of it; innermost
 * @armed: notify at the next completion, or the next solicited one
 * @due: a notification is pending
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
 * @lock: protects @state and receives; the sending peer takes it
 * @peer: the other end of a connection, under RCU; changed under nd_wires
 * @callers: queue pairs whose @peer is this one
 * @caller: in &nd_qp.callers of the peer
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

/**
 * struct nd_mr - a fast registration; @key: its present key, 0: none
 */
struct nd_mr {
	struct ib_mr		ib;
	u32			index;
	u32			key;
	int			access;
	u32			max_pages;
	u32			npages;
	u64			pages[];
};

/**
 * struct nd_place - position of a message in the memory of a receive
 */
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
