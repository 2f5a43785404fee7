// SPDX-License-Identifier: GPL-2.0
/* qp.c - queue pairs and their connections */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include "null.h"

#define ND_FIRST_QP	16	/* 0 and 1 are special */

/*
 * By number. Numbers are not reused soon, because the connection manager remembers old ones for a
 * while.
 */
static DEFINE_XARRAY_ALLOC(nd_qps);
static u32 nd_next_qp = ND_FIRST_QP;

/* Protects &nd_qp.peer and &nd_qp.callers of all queue pairs */
static DEFINE_MUTEX(nd_wires);

struct nd_qp *nd_qp_find(u32 number)
{
	return xa_load(&nd_qps, number);
}

/* ---- create and destroy ---- */

static int nd_qp_enter(struct nd_qp *qp)
{
	struct nd_device *dev = to_nd_device(qp->ib.device);
	int ret;

	if (qp->ib.qp_type == IB_QPT_GSI) {
		qp->ib.qp_num = 1;
		rcu_assign_pointer(dev->gsi, qp);
		return 0;
	}
	ret = xa_alloc_cyclic(&nd_qps, &qp->ib.qp_num, qp, XA_LIMIT(ND_FIRST_QP, (1 << 24) - 1),
			      &nd_next_qp, GFP_KERNEL);
	return min(ret, 0);
}

int nd_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(ib);
	int ret;

	if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_UD && attr->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	if (attr->cap.max_recv_wr > ND_WR || attr->cap.max_send_sge > ND_SGE ||
	    attr->cap.max_recv_sge > ND_SGE || attr->srq)
		return -EINVAL;
	spin_lock_init(&qp->lock);
	INIT_HLIST_HEAD(&qp->callers);
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->size = roundup_pow_of_two(attr->cap.max_recv_wr + 1);
	qp->stride = sizeof(struct nd_recv) + attr->cap.max_recv_sge * sizeof(struct ib_sge);
	qp->ring = kvcalloc(qp->size, qp->stride, GFP_KERNEL);
	if (!qp->ring)
		return -ENOMEM;
	ret = nd_qp_enter(qp);
	if (ret)
		kvfree(qp->ring);
	return ret;
}

/* No look-up finds the queue pair any more. */
static void nd_unwire(struct nd_qp *qp)
{
	struct nd_qp *caller;
	struct hlist_node *next;

	mutex_lock(&nd_wires);
	hlist_for_each_entry_safe(caller, next, &qp->callers, caller) {
		hlist_del_init(&caller->caller);
		RCU_INIT_POINTER(caller->peer, NULL);
	}
	hlist_del_init(&qp->caller);
	RCU_INIT_POINTER(qp->peer, NULL);
	mutex_unlock(&nd_wires);
}

int nd_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(ib);

	if (ib->qp_type == IB_QPT_GSI)
		RCU_INIT_POINTER(to_nd_device(ib->device)->gsi, NULL);
	else
		xa_erase(&nd_qps, ib->qp_num);
	nd_unwire(qp);
	synchronize_rcu();
	kvfree(qp->ring);
	return 0;
}

/* ---- states ---- */

/* A peer that has gone meanwhile is noticed by the next send. */
static void nd_wire(struct nd_qp *qp, u32 number)
{
	struct nd_qp *peer;

	mutex_lock(&nd_wires);
	/* stays valid: nd_unwire() runs after it was removed from nd_qps */
	peer = xa_load(&nd_qps, number);
	if (peer) {
		hlist_del_init(&qp->caller);
		hlist_add_head(&qp->caller, &peer->callers);
		rcu_assign_pointer(qp->peer, peer);
	}
	mutex_unlock(&nd_wires);
}

static void nd_set_state(struct nd_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->state = state;
	spin_unlock_irqrestore(&qp->lock, flags);
}

int nd_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(ib);
	enum ib_qp_state from = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : READ_ONCE(qp->state);
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;

	if (!ib_modify_qp_is_ok(from, to, ib->qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IB_QP_DEST_QPN)
		nd_wire(qp, attr->dest_qp_num);
	if (to == IB_QPS_RESET)
		nd_unwire(qp);
	if (to == IB_QPS_ERR)
		nd_qp_end(qp, to, !READ_ONCE(nd_deaf));
	else if (to == IB_QPS_RESET)
		nd_qp_end(qp, to, READ_ONCE(nd_deaf) == 2);
	else
		nd_set_state(qp, to);
	return 0;
}

/* ---- completion queues ---- */

int nd_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		 struct uverbs_attr_bundle *attrs)
{
	struct nd_cq *cq = to_nd_cq(ib);
	u32 size = roundup_pow_of_two(attr->cqe);

	spin_lock_init(&cq->lock);
	cq->mask = size - 1;
	cq->ring = kvcalloc(size, sizeof(*cq->ring), GFP_KERNEL);
	ib->cqe = size;
	return cq->ring ? 0 : -ENOMEM;
}

/* No queue pair refers to it any more. */
int nd_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(to_nd_cq(ib)->ring);
	return 0;
}

/* Called with interrupts off. nd_cq_tell() notifies the consumer when no lock is held. */
void nd_cq_put(struct nd_cq *cq, const struct ib_wc *wc, bool solicited)
{
	spin_lock(&cq->lock);
	if (!WARN_ON_ONCE(cq->head - cq->tail > cq->mask))
		cq->ring[cq->head++ & cq->mask] = *wc;
	if (cq->armed && (solicited || cq->armed == IB_CQ_NEXT_COMP)) {
		cq->armed = 0;
		cq->due = true;
	}
	spin_unlock(&cq->lock);
}

void nd_cq_tell(struct nd_cq *cq)
{
	if (READ_ONCE(cq->due) && xchg(&cq->due, false))
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

int nd_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct nd_cq *cq = to_nd_cq(ib);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < count && cq->tail != cq->head; n++)
		wc[n] = cq->ring[cq->tail++ & cq->mask];
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int nd_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct nd_cq *cq = to_nd_cq(ib);
	unsigned long irq;
	bool missed;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, irq);
	return flags & IB_CQ_REPORT_MISSED_EVENTS && missed;
}

/*
 * address handles. A datagram is preceded by the header of RoCE version 2: a global routing
 * header, which is an IPv6 header, or has an IPv4 header in its last 20 bytes.
 */

#define ND_HOPS		64

static void nd_put_ipv4(struct iphdr *ip, const union ib_gid *from, const union ib_gid *to)
{
	*ip = (struct iphdr) {
		.version = 4, .ihl = 5, .ttl = ND_HOPS, .protocol = IPPROTO_UDP,
		.saddr = ((const struct in6_addr *)from)->s6_addr32[3],
		.daddr = ((const struct in6_addr *)to)->s6_addr32[3],
	};
	ip->check = ip_fast_csum(ip, ip->ihl);
}

static void nd_put_grh(struct ib_grh *grh, const union ib_gid *from, const union ib_gid *to)
{
	*grh = (struct ib_grh) {
		.version_tclass_flow = cpu_to_be32(6 << 28),
		.next_hdr = IPPROTO_UDP,
		.hop_limit = ND_HOPS,
		.sgid = *from,
		.dgid = *to,
	};
}

int nd_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	const struct ib_global_route *route = rdma_ah_read_grh(attr->ah_attr);
	struct nd_ah *ah = to_nd_ah(ib);

	ether_addr_copy(ah->mac, attr->ah_attr->roce.dmac);
	if (ipv6_addr_v4mapped((const struct in6_addr *)&route->dgid)) {
		ah->net_type = RDMA_NETWORK_IPV4;
		nd_put_ipv4(&ah->hdr.roce4grh, &route->sgid_attr->gid, &route->dgid);
	} else {
		ah->net_type = RDMA_NETWORK_IPV6;
		nd_put_grh(&ah->hdr.ibgrh, &route->sgid_attr->gid, &route->dgid);
	}
	return 0;
}

int nd_destroy_ah(struct ib_ah *ib, u32 flags)
{
	return 0;
}
