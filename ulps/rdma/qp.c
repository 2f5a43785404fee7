// SPDX-License-Identifier: GPL-2.0
/*
 * qp.c - queue pairs: their life, and the runner that moves requests.
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
 * The endpoint exists from connect or accept to the end of the queue pair, which is: a request or
 * the connection has failed, or the ULP wants it. end_work closes the endpoint then: the callbacks
 * of all requests that were started come before kfi_close() returns. After that, in the state
 * FLUSH, the others end with IB_WC_WR_FLUSH_ERR, as those that are posted later. To change the
 * endpoint, a context takes the claim.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/slab.h>
#include "kib.h"

enum ib_wc_status kib_status(int err)
{
	switch (err) {
	case 0:
		return IB_WC_SUCCESS;
	case EACCES:
		return IB_WC_REM_ACCESS_ERR;
	case EREMOTEIO:
		return IB_WC_REM_OP_ERR;
	case KFI_ETRUNC:
	case EMSGSIZE:
		return IB_WC_LOC_LEN_ERR;
	case ETIMEDOUT:
		return IB_WC_RETRY_EXC_ERR;
	case EPROTO:
		return IB_WC_FATAL_ERR;
	case EINVAL:
		return IB_WC_LOC_QP_OP_ERR;
	default:
		return IB_WC_WR_FLUSH_ERR;	/* the connection has ended */
	}
}

/* ---- the runner ---- */

/*
 * Passes of a run. Processes on other CPUs, or the handler of a completion queue, may leave a note
 * in each pass, and bottom halves are off meanwhile.
 */
#define QP_PASSES	8

/*
 * A pass starts before it reports, so it reports what its starts have ended. What a report lets
 * start has a note: posts, callbacks and room leave one. What is left after the last pass is for
 * run_bh, which yields to tasks when softirqs last. kib_destroy_qp() waits for the part without the
 * claim: bottom halves are off, which is an RCU section.
 */
static void qp_run(struct kib_qp *qp, bool report)
{
	int passes = QP_PASSES;
	long notes;

	if (!kfi_runner_enter(&qp->runner))
		return;
	do {
		if (!passes--) {
			kfi_runner_drop(&qp->runner);
			queue_bh_work(&qp->run_bh);
			return;
		}
		notes = kfi_runner_begin(&qp->runner);
		kib_recv_start(qp);
		kib_send_start(qp);
		if (report) {
			kib_send_report(qp);
			kib_recv_report(qp);
		} else if (kib_ring_ended(&qp->sq) || kib_recv_next(qp)) {
			queue_bh_work(&qp->run_bh);
		}
		if (kib_recv_tell(qp))
			kfi_runner_enter(&qp->runner);	/* leaves a note */
	} while (!kfi_runner_leave(&qp->runner, notes));
}

/* Start and report. Context: softirq, or process context with bottom halves off; not in a post */
void kib_qp_run(struct kib_qp *qp)
{
	qp_run(qp, true);
}

/* A request was posted. Context: any */
void kib_qp_posted(struct kib_qp *qp)
{
	if (in_hardirq() || irqs_disabled()) {
		queue_bh_work(&qp->run_bh);
		return;
	}
	local_bh_disable();
	qp_run(qp, false);
	local_bh_enable();
}

static void qp_run_bh(struct bh_work_struct *bh)
{
	kib_qp_run(container_of(bh, struct kib_qp, run_bh));
}

/* There may be room in the endpoint now. */
void kib_qp_room(struct kfid_ep *ep, void *context)
{
	struct kib_qp *qp = context;

	WRITE_ONCE(qp->stopped, false);
	kib_qp_run(qp);
}

static void qp_again_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(to_delayed_work(work), struct kib_qp, again);

	WRITE_ONCE(qp->stopped, false);
	kib_qp_kick(qp);
}

/* Move from one state to a later one; nothing happens in another state. Return: whether it was */
static bool qp_move(struct kib_qp *qp, enum kib_qp_state from, enum kib_qp_state to)
{
	return cmpxchg(&qp->state, from, to) == from;
}

/* Change the endpoint while nobody uses it. */
static void qp_set_endpoint(struct kib_qp *qp, struct kfid_ep *ep)
{
	lockdep_assert_held(&qp->lock);
	while (!kfi_runner_claim(&qp->runner))
		usleep_range(10, 50);
	qp->ep = ep;
	kfi_runner_drop(&qp->runner);
}

/* Run the queues in a process that holds no claim. */
void kib_qp_kick(struct kib_qp *qp)
{
	local_bh_disable();
	kib_qp_run(qp);
	local_bh_enable();
}

/* ---- the endpoint ---- */

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

/*
 * A process has the endpoint that it would have by /dev/kfi: kfi_user.ko lets it set none of these
 * options.
 */
static int qp_options(const struct kib_qp *qp, struct kfid_ep *ep, bool reserved)
{
	int ret = qp_setopt(ep, KFI_OPT_RESERVED_PORT, reserved);

	if (ret || qp->owner)
		return ret ?: qp_setopt(ep, KFI_OPT_UNPRIVILEGED, 1);
	/*
	 * Not all providers have these. Verbs require that a receive is posted before its message
	 * comes. So a request for the receive would only be a delay.
	 */
	qp_setopt(ep, KFI_OPT_RECLAIM, 1);
	qp_setopt(ep, KFI_OPT_EAGER_SIZE, SIZE_MAX);
	return 0;
}

static int qp_endpoint(struct kib_qp *qp, struct kfi_info *info, bool reserved,
		       struct kfid_ep **ep)
{
	int ret;

	info->tx_attr->size = qp_tx_size(qp);
	info->rx_attr->size = qp_rx_size(qp);
	if (qp->ib.srq)
		info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	if (qp->owner)
		info->tx_attr->inject_size = KIB_INLINE;	/* for send_is_early() */
	ret = kfi_eq_open(qp->dev->fabric->fabric, NULL, &qp->eq, kib_cm_event, qp);
	if (ret)
		return ret;
	ret = kfi_endpoint(to_kib_pd(qp->ib.pd)->domain, info, ep, qp);
	if (ret)
		goto close_eq;
	ret = qp_bind(qp, *ep) ?: kfi_ep_bind(*ep, &qp->eq->fid, 0) ?:
	      qp_options(qp, *ep, reserved) ?: kfi_enable(*ep);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&(*ep)->fid));
close_eq:
	WARN_ON(kfi_close(&qp->eq->fid));
	return ret;
}

/* The endpoint is connected: sends may start, unless the queue pair ends already. */
void kib_qp_ready(struct kib_qp *qp)
{
	if (!qp_move(qp, KIB_QP_CONNECTING, KIB_QP_READY))
		return;
	kib_count(qp->dev, KIB_CONNECTED, 1);
	kib_qp_kick(qp);
	if (READ_ONCE(qp->shut))	/* qp_move() is a barrier: pairs with qp_shut() */
		mod_delayed_work(kib_wq, &qp->shut_work, 0);
}

/* Requests that are posted from here on fail. Return: whether they would not have until now */
static bool qp_error(struct kib_qp *qp)
{
	if (qp_move(qp, KIB_QP_IDLE, KIB_QP_ERROR) ||
	    qp_move(qp, KIB_QP_CONNECTING, KIB_QP_ERROR))
		return false;
	return qp_move(qp, KIB_QP_READY, KIB_QP_ERROR);
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
		WARN_ON(kfi_close(&qp->eq->fid));	/* waits for kib_cm_event() */
	}
	qp_move(qp, KIB_QP_ERROR, KIB_QP_FLUSH);
	kib_qp_kick(qp);
}

/*
 * Open the endpoint, and post the receives. @info has the addresses, or the call that will be
 * accepted. @reserved: it calls from a reserved port.
 */
int kib_qp_open(struct kib_qp *qp, struct kfi_info *info, bool reserved)
{
	struct kfid_ep *ep;
	int ret;

	lockdep_assert_held(&qp->lock);
	if (READ_ONCE(qp->state) != KIB_QP_IDLE)
		return -EINVAL;
	ret = qp_endpoint(qp, info, reserved, &ep);
	if (ret)
		return ret;
	qp_set_endpoint(qp, ep);
	if (!qp_move(qp, KIB_QP_IDLE, KIB_QP_CONNECTING)) {
		kib_qp_close(qp);
		return -ECONNABORTED;
	}
	kib_qp_kick(qp);
	return 0;
}

/*
 * Begin the orderly end, once. A connection that this side has accepted can't end before the answer
 * was sent, or the caller would take the end for a refusal: kib_qp_ready() queues shut_work then.
 * Return: 0; or a negative error
 */
static int qp_shut(struct kib_qp *qp)
{
	bool answering;
	int ret;

	lockdep_assert_held(&qp->lock);
	if (qp->shut_asked)
		return 0;
	smp_mb();	/* &kib_qp.shut is set; pairs with kib_qp_ready() */
	answering = READ_ONCE(qp->state) == KIB_QP_CONNECTING && READ_ONCE(qp->established);
	ret = qp->ep ? kfi_shutdown(qp->ep, 0) : -ENOTCONN;
	qp->shut_asked = !ret;
	return ret == -ENOTCONN && qp->ep && answering ? 0 : ret;
}

/* The orderly end has not begun yet, or takes too long. */
static void qp_shut_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(to_delayed_work(work), struct kib_qp, shut_work);
	int ret;

	mutex_lock(&qp->lock);
	ret = qp_shut(qp);
	mutex_unlock(&qp->lock);
	if (ret || time_after_eq(jiffies, READ_ONCE(qp->shut_end)))
		kib_qp_fail(qp);
	else
		queue_delayed_work(kib_wq, &qp->shut_work, KIB_SHUT_TIME);
}

static void qp_end_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(work, struct kib_qp, end_work);
	u32 head = kib_cq_head(qp->ib.recv_cq);

	mutex_lock(&qp->lock);
	kib_qp_close(qp);
	if (qp->owner)	/* it may destroy the queue pair when it knows */
		kib_cq_wait_read(qp->ib.recv_cq, head);
	kib_cm_end(qp);
	mutex_unlock(&qp->lock);
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
	u32 number;
	int ret;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
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
	qp->early.done = kib_send_early_done;
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	refcount_set(&qp->refs, 1);
	init_completion(&qp->gone);
	mutex_init(&qp->lock);
	spin_lock_init(&qp->cm_lock);
	kfi_runner_init(&qp->runner);
	INIT_BH_WORK(&qp->run_bh, qp_run_bh);
	INIT_DELAYED_WORK(&qp->again, qp_again_work);
	INIT_DELAYED_WORK(&qp->shut_work, qp_shut_work);
	INIT_WORK(&qp->end_work, qp_end_work);
	INIT_LIST_HEAD(&qp->taken);
	ret = kib_ring_alloc(&qp->sq, qp);
	if (!attr->srq)
		ret = ret ?: kib_ring_alloc(&qp->rq, qp);
	if (udata && !attr->srq)
		ret = ret ?: qp_map(qp, udata);
	ret = ret ?: qp_cq(qp);
	if (!ret)
		ret = xa_alloc_cyclic(&qp->dev->qps, &number, qp, XA_LIMIT(2, 0xfffffe),
				      &qp->dev->next_qp, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		qp_free(qp);
		return ret;
	}
	ib->qp_num = number;
	qp_cap(qp, &attr->cap);
	return 0;
}

/* Has the ULP's accept or early write returned, whose bytes are still on their way? */
static bool qp_is_busy(const struct kib_qp *qp)
{
	enum kib_qp_state state = READ_ONCE(qp->state);

	return state == KIB_QP_CONNECTING ? READ_ONCE(qp->established) :
	       state == KIB_QP_READY && atomic_read(&qp->nr_early);
}

/*
 * What has ended for the ULP already should reach the peer: wait until it was sent, or acknowledged,
 * which is within a jiffy. A process that dies does not wait, nor does one whose peer is stuck.
 */
static void qp_wait_early(struct kib_qp *qp)
{
	unsigned long end = jiffies + HZ;

	while (qp_is_busy(qp) && !(current->flags & PF_EXITING) && time_before(jiffies, end))
		usleep_range(200, 2000);
}

/* Wait until each request has been reported: an invalidation may take longer than the endpoint. */
static void qp_drain(struct kib_qp *qp)
{
	while (READ_ONCE(qp->sq.tail) != qp->sq.head ||
	       READ_ONCE(qp->rq.tail) != READ_ONCE(qp->rq.head))
		usleep_range(20, 200);
}

/* The ULP posts no more, and has been told of the end of the connection, or will not be. */
int kib_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct kib_qp *qp = to_kib_qp(ib);

	qp_wait_early(qp);
	xa_erase(&qp->dev->qps, ib->qp_num);
	WRITE_ONCE(qp->destroyed, true);	/* nothing waits for room in a queue any more */
	mutex_lock(&qp->lock);
	kib_qp_close(qp);
	kib_cm_end(qp);
	mutex_unlock(&qp->lock);
	qp_drain(qp);
	synchronize_rcu_expedited();	/* for mr_ended(), cq_run(), qp_run(), kib_get_qp() */
	kib_qp_rem_ref(ib);
	wait_for_completion(&qp->gone);
	cancel_delayed_work_sync(&qp->again);
	cancel_delayed_work_sync(&qp->shut_work);
	cancel_bh_work_sync(&qp->run_bh);
	while (!kfi_runner_idle(&qp->runner))	/* it may be about to queue end_work */
		usleep_range(10, 50);
	cancel_work_sync(&qp->end_work);
	kib_cq_forget(ib->send_cq, ib);
	kib_cq_forget(ib->recv_cq, ib);
	qp_free(qp);
	return 0;
}

/* Called under a spinlock with interrupts off; the caller takes a reference. */
struct ib_qp *kib_get_qp(struct ib_device *ib, int number)
{
	struct kib_qp *qp = xa_load(&to_kib_dev(ib)->qps, number);

	return qp ? &qp->ib : NULL;
}

void kib_qp_add_ref(struct ib_qp *ib)
{
	refcount_inc(&to_kib_qp(ib)->refs);
}

void kib_qp_rem_ref(struct ib_qp *ib)
{
	struct kib_qp *qp = to_kib_qp(ib);

	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->gone);
}

/* ---- modify, query ---- */

/*
 * An orderly end: what was posted is still sent, and the peer is told. Its event ends the queue
 * pair; if that event does not come, because the peer posts no receives for what is left,
 * shut_work ends it. ULPs disconnect in the one work item of iw_cm, for which all connections of
 * the machine wait, so this does not wait for end_work, which may last as long as a link that is
 * down.
 */
static void qp_shutdown(struct kib_qp *qp)
{
	int ret;

	if (!READ_ONCE(qp->shut))
		WRITE_ONCE(qp->shut_end, jiffies + KIB_SHUT_TIME);
	WRITE_ONCE(qp->shut, true);
	if (!mutex_trylock(&qp->lock)) {
		mod_delayed_work(kib_wq, &qp->shut_work, 0);
		return;
	}
	ret = qp_shut(qp);
	mutex_unlock(&qp->lock);
	if (ret)
		kib_qp_fail(qp);
	else
		queue_delayed_work(kib_wq, &qp->shut_work, KIB_SHUT_TIME);
}

static bool qp_is_connected(const struct kib_qp *qp)
{
	enum kib_qp_state state = READ_ONCE(qp->state);

	return state == KIB_QP_CONNECTING || state == KIB_QP_READY;
}

/* The connection changes the state, and so do the ULPs that end it. */
int kib_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct kib_qp *qp = to_kib_qp(ib);

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (!(mask & IB_QP_STATE))
		return 0;
	switch (attr->qp_state) {
	case IB_QPS_ERR:
		kib_qp_fail(qp);
		return 0;
	case IB_QPS_SQD:
		qp_shutdown(qp);
		return 0;
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return READ_ONCE(qp->state) < KIB_QP_ERROR ? 0 : -EINVAL;
	case IB_QPS_RTS:	/* there is no way to it without rdma_cm */
		return qp_is_connected(qp) ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

int kib_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	static const enum ib_qp_state states[] = {
		[KIB_QP_IDLE] = IB_QPS_INIT, [KIB_QP_CONNECTING] = IB_QPS_RTR,
		[KIB_QP_READY] = IB_QPS_RTS, [KIB_QP_ERROR] = IB_QPS_ERR,
		[KIB_QP_FLUSH] = IB_QPS_ERR,
	};
	struct kib_qp *qp = to_kib_qp(ib);

	attr->qp_state = states[READ_ONCE(qp->state)];
	attr->cur_qp_state = attr->qp_state;
	qp_cap(qp, &attr->cap);
	attr->path_mtu = IB_MTU_4096;
	attr->max_rd_atomic = qp->ord;
	attr->max_dest_rd_atomic = qp->ird;
	attr->qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				IB_ACCESS_REMOTE_READ;
	attr->port_num = 1;
	init->qp_type = ib->qp_type;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}
