// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_deaf - a soft RoCE device that is broken: it does not give back the requests of a queue pair
 * that has stopped, or gives them back when the queue pair has been reset, which no consumer
 * expects any more. See script_deaf() of inside.
 *
 * The module takes the place of functions of the driver, as a client of the RDMA core: from the
 * addition of a device to its removal. It may be unloaded when no device is left.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#define DEAF_RECEIVES	1
#define DEAF_SENDS	2
#define DEAF_LATE	4

static int deaf;
module_param(deaf, int, 0644);
MODULE_PARM_DESC(deaf, "what never completes, once a queue pair has stopped: 1: receives, 2: sends; +4: it does, too late");

/** struct deaf_wc - a completion that was kept back; @late: the consumer gets it now */
struct deaf_wc {
	struct list_head	link;
	struct ib_cq		*cq;
	bool			late;
	struct ib_wc		wc;
};

/* All devices have one driver. */
static int (*real_poll_cq)(struct ib_cq *cq, int count, struct ib_wc *wc);
static int (*real_modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata);
static int (*real_post_recv)(struct ib_qp *qp, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad);

/*
 * Posted receives, by their ids: the completion of a flushed request does not tell what it was.
 * Its lock protects deaf_kept as well.
 */
static DEFINE_XARRAY_FLAGS(deaf_receives, XA_FLAGS_LOCK_IRQ);
static LIST_HEAD(deaf_kept);

static int deaf_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *one;
	unsigned long flags;

	xa_lock_irqsave(&deaf_receives, flags);
	for (one = wr; one && qp->qp_type == IB_QPT_RC; one = one->next)
		__xa_store(&deaf_receives, one->wr_id, qp, GFP_ATOMIC);
	xa_unlock_irqrestore(&deaf_receives, flags);
	return real_post_recv(qp, wr, bad);
}

/* Called with the lock. Queue pairs of the connection manager, which are no RC, are not touched. */
static bool deaf_keeps(struct ib_cq *cq, const struct ib_wc *wc)
{
	bool recv = __xa_erase(&deaf_receives, wc->wr_id);
	int now = READ_ONCE(deaf);
	struct deaf_wc *kept;

	if (wc->status != IB_WC_WR_FLUSH_ERR || wc->qp->qp_type != IB_QPT_RC ||
	    !(now & (recv ? DEAF_RECEIVES : DEAF_SENDS)))
		return false;
	kept = now & DEAF_LATE ? kzalloc(sizeof(*kept), GFP_ATOMIC) : NULL;
	if (!kept)
		return true;
	kept->cq = cq;
	kept->wc = *wc;
	list_add_tail(&kept->link, &deaf_kept);
	return true;
}

/* Called with the lock. */
static int deaf_take_late(struct ib_cq *cq, int count, struct ib_wc *wc)
{
	struct deaf_wc *kept, *next;
	int n = 0;

	list_for_each_entry_safe(kept, next, &deaf_kept, link) {
		if (n == count || !kept->late || kept->cq != cq)
			continue;
		wc[n++] = kept->wc;
		list_del(&kept->link);
		kfree(kept);
	}
	return n;
}

static int deaf_poll_cq(struct ib_cq *cq, int count, struct ib_wc *wc)
{
	unsigned long flags;
	int n, more, i;

	xa_lock_irqsave(&deaf_receives, flags);
	n = deaf_take_late(cq, count, wc);
	/* A poll that returns nothing says that there is nothing. */
	do {
		more = real_poll_cq(cq, count - n, wc + n);
		for (i = n, more = more > 0 ? n + more : 0; i < more; i++)
			if (!deaf_keeps(cq, &wc[i]))
				wc[n++] = wc[i];
	} while (more && !n);
	xa_unlock_irqrestore(&deaf_receives, flags);
	return n;
}

static int deaf_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	int ret = real_modify_qp(qp, attr, mask, udata);
	struct deaf_wc *kept;
	unsigned long flags;
	bool any = false;

	if (ret || !(mask & IB_QP_STATE) || attr->qp_state != IB_QPS_RESET)
		return ret;
	xa_lock_irqsave(&deaf_receives, flags);
	list_for_each_entry(kept, &deaf_kept, link) {
		kept->late |= kept->wc.qp == qp;
		any |= kept->late;
	}
	xa_unlock_irqrestore(&deaf_receives, flags);
	if (any)
		qp->recv_cq->comp_handler(qp->recv_cq, qp->recv_cq->cq_context);
	return 0;
}

static int deaf_add(struct ib_device *ib)
{
	if (ib->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	real_poll_cq = ib->ops.poll_cq;
	real_modify_qp = ib->ops.modify_qp;
	real_post_recv = ib->ops.post_recv;
	ib->ops.poll_cq = deaf_poll_cq;
	ib->ops.post_recv = deaf_post_recv;
	ib->ops.modify_qp = deaf_modify_qp;
	return 0;
}

static void deaf_remove(struct ib_device *ib, void *data)
{
	ib->ops.poll_cq = real_poll_cq;
	ib->ops.modify_qp = real_modify_qp;
	ib->ops.post_recv = real_post_recv;
}

static struct ib_client deaf_client = {
	.name	= "kfi_deaf",
	.add	= deaf_add,
	.remove	= deaf_remove,
};

static int __init deaf_init(void)
{
	return ib_register_client(&deaf_client);
}

static void __exit deaf_exit(void)
{
	struct deaf_wc *kept, *next;

	ib_unregister_client(&deaf_client);
	list_for_each_entry_safe(kept, next, &deaf_kept, link)
		kfree(kept);
	xa_destroy(&deaf_receives);
}

module_init(deaf_init);
module_exit(deaf_exit);
MODULE_DESCRIPTION("an RDMA device that does not give back what it was given");
MODULE_LICENSE("GPL");
