// SPDX-License-Identifier: GPL-2.0
/*
 * qp.c - queue pairs: their life. The runner (run.c) moves requests.
 *
 *	post		-> ring: KIB_WAITS	any context; waits until there is a connection
 *	runner		-> KIB_STARTED		given to the endpoint, in the order of the ring
 *	a callback	-> KIB_DONE		in any order
 *	runner		-> entry in an ib_cq	in the order of the ring again
 *
 * The context with the claim of &kib_qp.runner starts and reports the requests of both queues, with
 * bottom halves off. A poster starts requests, but reports none (see cq.c); one that has interrupts
 * off leaves both to run_bh.
 *
 * The endpoint of an RC queue pair exists from the call or the accept (pair.c) to the end of the
 * queue pair, which is: a request has failed, or the ULP wants it. end_work closes the endpoint
 * then: the callbacks of all requests that were started come before kfi_close() returns. After
 * that, in the state FLUSH, the others end with IB_WC_WR_FLUSH_ERR, as those that are posted later,
 * until a modify to RESET lets the queue pair begin anew. The endpoint is changed by the runner, for
 * a process that waits for that (struct kib_turn).
 */
#include <linux/capability.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "kib.h"

/* Queue pairs of all devices by number: a packet or a call may arrive at that of another device. */
static DEFINE_XARRAY_ALLOC(kib_qps);
static u32 kib_next_qp;

#define QP_NUMBERS	XA_LIMIT(2, 0xfffffe)	/* 1 is GSI */

/* ---- the endpoint ---- */

/* Move from one state to a later one; nothing happens in another state. Return: whether it was */
static bool qp_move(struct kib_qp *qp, enum kib_qp_state from, enum kib_qp_state to)
{
	return cmpxchg(&qp->state, from, to) == from;
}

static void turn_endpoint(struct kib_qp *qp, struct kib_turn *turn)
{
	qp->ep = turn->ep;
}

/* Change the endpoint while nobody uses it. */
static void qp_set_endpoint(struct kib_qp *qp, struct kfid_ep *ep)
{
	struct kib_turn turn = { .fn = turn_endpoint, .ep = ep };

	kib_qp_turn(qp, &turn);
}

/* All endpoints of a shared receive queue have its completion queue. */
static int qp_bind(struct kib_qp *qp, struct kfid_ep *ep)
{
	struct kib_srq *srq = qp->ib.srq ? to_kib_srq(qp->ib.srq) : NULL;

	if (!srq)
		return kfi_ep_bind(ep, &qp->cq->fid, KFI_TRANSMIT | KFI_RECV);
	return kfi_ep_bind(ep, &qp->cq->fid, KFI_TRANSMIT) ?:
	       kfi_ep_bind(ep, &srq->cq->fid, KFI_RECV) ?: kfi_ep_bind(ep, &srq->srx->fid, 0);
}

/* Operations of the endpoint that may be in progress */
static u32 qp_tx_size(const struct kib_qp *qp)
{
	return clamp_t(u32, 2 * qp->sq.depth, qp->owner ? KIB_TX_MIN : 2, KIB_TX);
}

static u32 qp_rx_size(const struct kib_qp *qp)
{
	return clamp_t(u32, qp->rq.depth, 1, KIB_RX);
}

static int qp_setopt(struct kfid_ep *ep, int option, size_t value)
{
	return kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, option, &value, sizeof(value));
}

static int qp_set_access(const struct kib_qp *qp, struct kfid_ep *ep)
{
	return qp_setopt(ep, KFI_OPT_REMOTE_ACCESS, kib_rights(kib_qp_access(qp)));
}

/* The endpoint of a process has no reserved port, no memory reserves, and no long messages that wait. */
static int qp_options(const struct kib_qp *qp, struct kfid_ep *ep)
{
	int ret = qp_set_access(qp, ep);

	if (ret)
		return ret;
	/*
	 * Verbs: a message has ended when its receive has. Where the provider does not have the
	 * option, its device works so.
	 */
	qp_setopt(ep, KFI_OPT_ACK_DELIVERED, 1);
	if (qp->owner)
		return qp_setopt(ep, KFI_OPT_UNPRIVILEGED, 1);
	/*
	 * Not all providers have these. Verbs require that a receive is posted before its message
	 * comes. So a request for the receive would only be a delay.
	 */
	qp_setopt(ep, KFI_OPT_RECLAIM, 1);
	qp_setopt(ep, KFI_OPT_EAGER_SIZE, SIZE_MAX);
	return 0;
}

static int qp_endpoint(struct kib_qp *qp, struct kfi_info *info, struct kfid_ep **ep)
{
	int ret;

	info->tx_attr->size = qp_tx_size(qp);
	info->rx_attr->size = qp_rx_size(qp);
	if (qp->ib.srq)
		info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	ret = kfi_eq_open(qp->dev->fabric->fabric, NULL, &qp->eq, kib_pair_event, qp);
	if (ret)
		return ret;
	ret = kfi_endpoint(to_kib_pd(qp->ib.pd)->domain, info, ep, qp);
	if (ret)
		goto close_eq;
	ret = qp_bind(qp, *ep) ?: kfi_ep_bind(*ep, &qp->eq->fid, 0) ?:
	      qp_options(qp, *ep) ?: kfi_enable(*ep);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&(*ep)->fid));
close_eq:
	WARN_ON(kfi_close(&qp->eq->fid));
	return ret;
}

/* The endpoint is connected: receives may start, and sends in RTS. */
void kib_qp_ready(struct kib_qp *qp)
{
	if (!qp_move(qp, KIB_QP_CONNECTING, KIB_QP_READY))
		return;
	kib_count(qp->dev, KIB_CONNECTED, 1);
	kib_qp_kick(qp);
}

/* The same of one that needs no endpoint */
void kib_qp_ready_local(struct kib_qp *qp)
{
	if (qp_move(qp, KIB_QP_IDLE, KIB_QP_CONNECTING))
		kib_qp_ready(qp);
}

/* Requests that are posted from here on fail. Return: whether they would not have until now */
static bool qp_error(struct kib_qp *qp)
{
	if (qp_move(qp, KIB_QP_IDLE, KIB_QP_ERROR) ||
	    qp_move(qp, KIB_QP_CONNECTING, KIB_QP_ERROR))
		return false;
	return qp_move(qp, KIB_QP_READY, KIB_QP_ERROR);
}

/* The longest time that an owner waits for the orderly end of its connection */
#define QP_LAST_WORDS	(HZ / 5)

/*
 * The owner moves the queue pair to ERR, as rdma_disconnect() does, or destroys it. A card has sent
 * by then what was posted, and has acknowledged what the owner has received: the last message of
 * a peer must not fail because its receiver was fast. So the connection ends in order, if it can
 * do so soon. A process that dies does not wait for that, nor does one for the queue pair of another
 * one, whose device goes. Process context
 */
static void qp_last_words(struct kib_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (!qp->ep || READ_ONCE(qp->state) != KIB_QP_READY || kfi_shutdown(qp->ep, 0))
		return;
	if (current->flags & PF_EXITING || (qp->owner && task_tgid(current) != qp->owner) ||
	    fatal_signal_pending(current) || !READ_ONCE(qp->dev->net))
		return;
	wait_var_event_timeout(&qp->lost, READ_ONCE(qp->lost), QP_LAST_WORDS);
}

/* Close the endpoint, if there is one, and end all requests. */
void kib_qp_close(struct kib_qp *qp)
{
	struct kfid_ep *ep = qp->ep;

	lockdep_assert_held(&qp->lock);
	qp_error(qp);
	if (ep) {
		qp_set_endpoint(qp, NULL);
		kib_qp_kick(qp);
		WARN_ON(kfi_close(&ep->fid));
		WARN_ON(kfi_close(&qp->eq->fid));	/* waits for kib_pair_event() */
	}
	qp_move(qp, KIB_QP_ERROR, KIB_QP_FLUSH);
	kib_qp_kick(qp);
	if (READ_ONCE(qp->local))
		kib_local_end(qp);
}

/* Open the endpoint. @info has the address of the peer, or the call that will be accepted. */
int kib_qp_open(struct kib_qp *qp, struct kfi_info *info)
{
	struct kfid_ep *ep;
	int ret;

	lockdep_assert_held(&qp->lock);
	if (READ_ONCE(qp->state) != KIB_QP_IDLE)
		return -EINVAL;
	ret = qp_endpoint(qp, info, &ep);
	if (ret)
		return ret;
	qp_set_endpoint(qp, ep);
	if (!qp_move(qp, KIB_QP_IDLE, KIB_QP_CONNECTING)) {
		kib_qp_close(qp);
		return -ECONNABORTED;
	}
	return 0;
}

/* The call has failed before the queue pair was ready, so no request was started. */
void kib_qp_reopen(struct kib_qp *qp)
{
	struct kfid_ep *ep = qp->ep;

	lockdep_assert_held(&qp->lock);
	if (!qp_move(qp, KIB_QP_CONNECTING, KIB_QP_IDLE) || !ep)
		return;
	qp_set_endpoint(qp, NULL);
	WARN_ON(kfi_close(&ep->fid));
	WARN_ON(kfi_close(&qp->eq->fid));	/* waits for kib_pair_event() */
	WRITE_ONCE(qp->lost, false);
}

/*
 * The connection of a queue pair that was ready is lost. The requests that it had have ended, and
 * the first of them that is not reported yet is one that was sent in vain. A process whose queue
 * pair had none learns by the next one, as with hardware; that of a ULP ends, and flushes the next
 * one.
 */
void kib_qp_lost(struct kib_qp *qp)
{
	bool idle = READ_ONCE(qp->sq.tail) == READ_ONCE(qp->sq.head);

	if (qp->owner && idle)
		return;
	WRITE_ONCE(qp->late, !idle);
	kib_qp_fail(qp);
}

static void qp_end_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(work, struct kib_qp, end_work);
	bool ends;

	mutex_lock(&qp->lock);
	/* Not if it was reset meanwhile; and kib_destroy_qp() does all of this itself. */
	ends = READ_ONCE(qp->state) >= KIB_QP_ERROR && !READ_ONCE(qp->destroyed);
	if (ends)
		kib_qp_close(qp);
	mutex_unlock(&qp->lock);
	if (ends)
		kib_srq_last(qp);
}

/*
 * The queue pair has to end, and no request succeeds any more. Context: any. Return: whether this
 * is the first of its troubles
 */
bool kib_qp_fail(struct kib_qp *qp)
{
	bool first = qp_error(qp);

	queue_work(kib_wq, &qp->end_work);
	return first;
}

/* ---- life ---- */

/* What has come together is reported together. Softirq */
static void qp_round(struct kfid_cq *cq, void *context)
{
	kib_qp_run(context);
}

static int qp_cq(struct kib_qp *qp)
{
	struct kfi_cq_attr attr = {	/* each operation has a done() */
		.size = 16, .format = KFI_CQ_FORMAT_DATA, .flags = KFI_CQ_SOFTIRQ | KFI_CQ_ROUNDS,
	};

	return kfi_cq_open(to_kib_pd(qp->ib.pd)->domain, &attr, &qp->cq, qp_round, qp);
}

/* Bytes of the memory where a process posts receives */
static size_t qp_user_bytes(const struct kib_qp *qp)
{
	return sizeof(*qp->user) + kib_recv_user_size(&qp->rq) * qp->rq.depth;
}

static int qp_map(struct kib_qp *qp, struct ib_udata *udata)
{
	struct kib_ucontext *uc = rdma_udata_to_drv_context(udata, struct kib_ucontext, ib);
	void *mem = kib_map_new(&uc->ib, udata, qp_user_bytes(qp), &qp->map);

	if (IS_ERR(mem))
		return PTR_ERR(mem);
	qp->user = mem;
	qp->few = true;
	qp->user->wake = true;
	return 0;
}

/* The queues, the endpoint that it gets when it is connected, and the endpoint's queues */
static size_t qp_bytes(const struct kib_qp *qp)
{
	return kib_ring_bytes(&qp->sq) + kib_ring_bytes(&qp->rq) +
	       KFI_PAYER_ENDPOINT_BYTES +
	       2 * KFI_PAYER_OTHER_BYTES +
	       (qp_tx_size(qp) + qp_rx_size(qp)) * KFI_PAYER_OPER_BYTES;
}

static void qp_free(struct kib_qp *qp)
{
	if (qp->cq)
		WARN_ON(kfi_close(&qp->cq->fid));
	kvfree(qp->sq.slots);
	kvfree(qp->rq.slots);
	kib_map_end(qp->map);
	put_pid(qp->owner);
	if (qp->local)
		kib_local_leave(qp);
	kfree(qp->bounce);
	kfi_payer_give(to_kib_pd(qp->ib.pd)->payer, KFI_PAYER_ENDPOINTS, qp->room);
	mutex_destroy(&qp->lock);
}

/* Of the kernel nobody has a use for inline data. */
static bool qp_possible(const struct ib_qp_init_attr *attr, bool of_process)
{
	const struct ib_qp_cap *cap = &attr->cap;

	return cap->max_send_wr <= KIB_MAX_WR && cap->max_recv_wr <= KIB_MAX_WR &&
	       cap->max_send_sge <= KIB_MAX_SGE && cap->max_recv_sge <= KIB_MAX_SGE &&
	       cap->max_inline_data <= (of_process ? KIB_INLINE : 0) &&
	       attr->send_cq && attr->recv_cq;
}

static bool qp_type_ok(const struct ib_qp_init_attr *attr, bool of_process)
{
	switch (attr->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return true;
	case IB_QPT_GSI:
		return !of_process && !attr->srq;
	default:
		return false;
	}
}

/* Let others find the queue pair. Return: 0 or a negative error */
static int qp_number(struct kib_qp *qp)
{
	u32 number = 1;
	int ret;

	if (qp->ib.qp_type == IB_QPT_GSI) {
		ret = cmpxchg(&qp->dev->gsi, NULL, qp) ? -EBUSY : 0;
	} else {
		if (!kib_next_qp)	/* numbers from before a boot are not used again soon */
			kib_next_qp = get_random_u32_below(0xfffffe);
		ret = xa_alloc_cyclic(&kib_qps, &number, qp, QP_NUMBERS, &kib_next_qp,
				      GFP_KERNEL_ACCOUNT);
	}
	qp->ib.qp_num = number;
	return min(ret, 0);
}

static void qp_forget(struct kib_qp *qp)
{
	if (qp->ib.qp_type == IB_QPT_GSI)
		WRITE_ONCE(qp->dev->gsi, NULL);
	else
		xa_erase(&kib_qps, qp->ib.qp_num);
}

/*
 * Find the queue pair that a packet or a call at an interface is for: that of this number, or of
 * the device of the interface. Context: RCU read section, for which kib_destroy_qp() waits
 */
struct kib_qp *kib_qp_find(struct kib_fabric *fabric, int ifindex, u32 number)
{
	struct kib_qp *qp;
	struct kib_dev *dev;

	if (number != 1) {
		qp = xa_load(&kib_qps, number);
		return qp && qp->dev->fabric == fabric ? qp : NULL;
	}
	list_for_each_entry_rcu(dev, &fabric->devs, fabric_entry)
		if (dev->netdev->ifindex == ifindex)
			return READ_ONCE(dev->gsi);
	/* the interface may be a VLAN that has no device */
	list_for_each_entry_rcu(dev, &fabric->devs, fabric_entry)
		if (kib_dev_serves(dev, ifindex))
			return READ_ONCE(dev->gsi);
	return NULL;
}

/* Say what the queue pair has. The other members are the RDMA core's. */
static void qp_cap(const struct kib_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.depth;
	cap->max_recv_wr = qp->rq.depth;
	cap->max_send_sge = qp->sq.sge;
	cap->max_recv_sge = qp->rq.sge;
	cap->max_inline_data = qp->owner ? KIB_INLINE : 0;
}

int kib_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct kib_qp *qp = to_kib_qp(ib);
	int ret;

	if (!qp_type_ok(attr, udata) || attr->create_flags)
		return -EOPNOTSUPP;
	if (!qp_possible(attr, udata) || (attr->srq && attr->srq->pd != ib->pd))
		return -EINVAL;
	kib_ring_init(&qp->sq, attr->cap.max_send_wr, attr->cap.max_send_sge, KIB_ROOM);
	if (attr->srq)
		spin_lock_init(&qp->rq.lock);
	else
		kib_ring_init(&qp->rq, attr->cap.max_recv_wr, attr->cap.max_recv_sge, 0);
	qp->owner = udata ? get_pid(task_tgid(current)) : NULL;
	qp->room = qp_bytes(qp);
	ret = kfi_payer_take(to_kib_pd(ib->pd)->payer, KFI_PAYER_ENDPOINTS, qp->room);
	if (ret) {
		put_pid(qp->owner);
		return ret;
	}
	qp->dev = to_kib_dev(ib->device);
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	mutex_init(&qp->lock);
	spin_lock_init(&qp->heard_lock);
	init_llist_head(&qp->came);
	spin_lock_init(&qp->asked_lock);
	INIT_LIST_HEAD(&qp->asked);
	kib_qp_runner_init(qp);
	INIT_DELAYED_WORK(&qp->pair_work, kib_pair_work);
	INIT_WORK(&qp->end_work, qp_end_work);
	INIT_LIST_HEAD(&qp->taken);
	ret = kib_ring_alloc(&qp->sq, qp);
	if (!attr->srq)
		ret = ret ?: kib_ring_alloc(&qp->rq, qp);
	if (udata && !attr->srq)
		ret = ret ?: qp_map(qp, udata);
	if (kib_is_connected(qp))
		ret = ret ?: qp_cq(qp);
	ret = ret ?: qp_number(qp);
	if (ret) {
		qp_free(qp);
		return ret;
	}
	qp_cap(qp, &attr->cap);
	return 0;
}

/*
 * Wait until each request has been reported: an invalidation may take longer than the endpoint.
 * @destroyed is set, so the runner wakes this task.
 */
static void qp_drain(struct kib_qp *qp)
{
	wait_var_event(&qp->destroyed, READ_ONCE(qp->sq.tail) == READ_ONCE(qp->sq.head) &&
		       READ_ONCE(qp->rq.tail) == READ_ONCE(qp->rq.head));
}

/* The ULP posts no more. */
int kib_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct kib_qp *qp = to_kib_qp(ib);

	qp_forget(qp);
	WRITE_ONCE(qp->destroyed, true);	/* nothing waits for room in a queue any more */
	mutex_lock(&qp->lock);
	qp_last_words(qp);
	kib_pair_end(qp);
	kib_qp_close(qp);
	mutex_unlock(&qp->lock);
	qp_drain(qp);
	/* for mr_ended(), qp_run(), kib_packet_came(), kib_pair_called() */
	synchronize_rcu_expedited();
	cancel_delayed_work_sync(&qp->pair_work);
	kib_pair_refuse(qp);
	kib_qp_kick(qp);	/* of what was asked meanwhile, all ends */
	kib_qp_quiesce(qp);
	WARN_ON(!list_empty(&qp->asked));
	kib_ud_end(qp);
	kib_cq_forget(ib->send_cq, ib);
	kib_cq_forget(ib->recv_cq, ib);
	qp_free(qp);
	return 0;
}

/* ---- modify, query ---- */

/* The state that verbs have for it */
static enum ib_qp_state qp_ib_state(const struct kib_qp *qp)
{
	return READ_ONCE(qp->state) >= KIB_QP_ERROR ? IB_QPS_ERR : qp->ib_state;
}

static void turn_anew(struct kib_qp *qp, struct kib_turn *turn)
{
	qp->sq_stop = false;
	qp->sq_failed = false;
	qp->rq_stop = false;
	qp->rq_failed = false;
	qp->last_told = false;
	qp->stopped = false;
	qp->barrier = NULL;
	qp->rts = false;
	qp->lost = false;	/* no event comes any more */
	qp->late = false;
	if (qp->local)
		kib_local_leave(qp);
	if (qp->ib.srq) {	/* the next endpoint counts its receives from 0 */
		qp->rq.head = 0;
		qp->rq.tail = 0;
	} else if (qp->map) {	/* what was posted, and was not taken yet, is dropped, too */
		qp->rq.head = READ_ONCE(qp->user->head);
		qp->rq.next = qp->rq.head;
		qp->rq.tail = qp->rq.head;
		/* as kib_recv_report() */
		smp_store_release(&qp->user->tail, qp->rq.tail);
	}
	WRITE_ONCE(qp->state, KIB_QP_IDLE);
	WRITE_ONCE(qp->destroyed, false);
}

/*
 * Let the queue pair begin anew. What was posted, and has not been reported, is dropped: that is
 * what RESET means.
 */
static void qp_reset(struct kib_qp *qp)
{
	struct kib_turn turn = { .fn = turn_anew };

	lockdep_assert_held(&qp->lock);
	kib_pair_end(qp);
	WRITE_ONCE(qp->destroyed, true);	/* nothing is reported */
	kib_qp_close(qp);
	qp_drain(qp);
	mod_delayed_work(kib_wq, &qp->pair_work, 0);	/* refuses a call that has come */
	kib_qp_turn(qp, &turn);
	kib_cq_forget(qp->ib.send_cq, &qp->ib);
	kib_cq_forget(qp->ib.recv_cq, &qp->ib);
}

/* Store the attributes that are in @mask. Return: 0 or -EINVAL */
static int qp_attributes(struct kib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct kib_dest dest;

	if (mask & IB_QP_QKEY && attr->qkey & KIB_QKEY_CONTROLLED && qp->owner &&
	    !capable(CAP_NET_RAW))
		return -EPERM;
	if ((mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > KIB_MAX_READS) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > KIB_MAX_READS) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_AV && kib_dest(&attr->ah_attr, &dest)))
		return -EINVAL;
	if (mask & IB_QP_AV) {
		qp->dest = dest;
		qp->attr.ah_attr = attr->ah_attr;
		qp->attr.ah_attr.grh.sgid_attr = NULL;	/* its reference is the core's */
	}
	if (mask & IB_QP_DEST_QPN)
		qp->remote_qpn = attr->dest_qp_num;
	if (mask & IB_QP_QKEY)
		WRITE_ONCE(qp->qkey, attr->qkey);
	if (mask & IB_QP_TIMEOUT)
		qp->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_ACCESS_FLAGS) {
		WRITE_ONCE(qp->access, attr->qp_access_flags);
		if (qp->ep)
			WARN_ON(qp_set_access(qp, qp->ep));
	}
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	return 0;
}

/* A UD queue pair takes messages from RTR on, and needs no connection. */
static int qp_receives(struct kib_qp *qp)
{
	if (kib_is_connected(qp))
		return kib_pair_begin(qp);
	qp_move(qp, KIB_QP_IDLE, KIB_QP_READY);	/* a bad receive may have ended it */
	return 0;
}

static int qp_enter(struct kib_qp *qp, enum ib_qp_state state)
{
	int ret = 0;

	switch (state) {
	case IB_QPS_RESET:
		qp_reset(qp);
		break;
	case IB_QPS_INIT:
		break;
	case IB_QPS_RTR:
		ret = qp_receives(qp);
		break;
	case IB_QPS_RTS:
		WRITE_ONCE(qp->rts, true);
		break;
	case IB_QPS_ERR:
		qp_last_words(qp);
		kib_qp_fail(qp);
		break;
	default:
		ret = -EOPNOTSUPP;
	}
	if (!ret)
		qp->ib_state = state;
	return ret;
}

int kib_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct kib_qp *qp = to_kib_qp(ib);
	enum ib_qp_state from, to;
	int ret = -EINVAL;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&qp->lock);
	from = qp_ib_state(qp);
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	if (ib_modify_qp_is_ok(from, to, ib->qp_type, mask) &&
	    (!(mask & IB_QP_CUR_STATE) || attr->cur_qp_state == from))
		ret = qp_attributes(qp, attr, mask);
	if (!ret && mask & IB_QP_STATE)
		ret = qp_enter(qp, to);
	mutex_unlock(&qp->lock);
	if (!ret)
		kib_qp_kick(qp);
	return ret;
}

int kib_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct kib_qp *qp = to_kib_qp(ib);

	mutex_lock(&qp->lock);
	*attr = qp->attr;
	attr->qp_state = qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->dest_qp_num = qp->remote_qpn;
	attr->qkey = qp->qkey;
	attr->qp_access_flags = qp->access;
	attr->timeout = qp->timeout;
	attr->retry_cnt = qp->retry_cnt;
	attr->port_num = 1;
	mutex_unlock(&qp->lock);
	qp_cap(qp, &attr->cap);
	init->qp_type = ib->qp_type;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}
