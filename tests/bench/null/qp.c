// SPDX-License-Identifier: GPL-2.0
/*
 * qp.c - queue pairs, and which of them are connected.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include "null.h"

#define ND_FIRST_QP	16	/* 0 and 1 are special everywhere */

/*
 * By number. Numbers are not used again soon: the connection manager remembers those of the past
 * for a while.
 */
static DEFINE_XARRAY_ALLOC(nd_qps);
static u32 nd_next_qp = ND_FIRST_QP;

/* Protects &nd_qp.peer and &nd_qp.callers of all. */
static DEFINE_MUTEX(nd_wires);

struct nd_qp *nd_qp_find(u32 number)
{
	return xa_load(&nd_qps, number);
}

/* ---- life ---- */

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

/* Nobody who looks for it finds it any more. */
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

/* A peer that has gone meanwhile is found out about by the first who sends to it. */
static void nd_wire(struct nd_qp *qp, u32 number)
{
	struct nd_qp *peer;

	mutex_lock(&nd_wires);
	/* stays: nd_unwire() comes after it can be found no more */
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
