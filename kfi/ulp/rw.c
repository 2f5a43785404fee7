// SPDX-License-Identifier: GPL-2.0
/*
 * rw.c - transfers between a scatterlist and a peer's region, and messages behind them.
 *
 * The context that owns a transfer posts its data in pieces, then its message. It does not wait for
 * the data before it posts the message, because endpoints keep the order. If the endpoint has no
 * room, post_work continues the transfer. One that begins in a hard interrupt, where nothing may
 * be posted, begins in post_work.
 */
#include <linux/mm.h>
#include <kfi_rw.h>
#include "ulp.h"

enum {
	ROUND_MAX	= 16,	/* messages that are sent together, at most */
	RW_PIECES	= 4,	/* posted without a pause */
};

/* ---- posting ---- */

/* Flags of the post that has the message: with KFI_MORE kfi_round_end() will send it. */
static u64 msg_flags(struct kfi_rw *rw)
{
	u64 flags = rw->invalidate ? KFI_INVALIDATE : 0;
	struct kfi_conn *conn = rw->conn;

	if (READ_ONCE(conn->round) != current || !in_task())
		return flags;
	conn->held = (conn->held + 1) % ROUND_MAX;
	return flags | (conn->held ? KFI_MORE : 0);
}

/*
 * Post the next piece of the data: a place, or as many pages as one post takes. The last piece and
 * the message are one post, unless that is too long. Pages of a write may be released late.
 */
static ssize_t post_piece(struct kfi_rw *rw)
{
	struct bio_vec vec[KFI_ULP_SEGS];
	struct kfi_rma_iov remote = { .key = rw->key, .addr = rw->addr + rw->len - rw->todo };
	struct kfi_msg_rma data = {
		.type = KFI_BVEC, .msg_biov = vec, .rma_iov = &remote, .rma_iov_count = 1,
		.addr = rw->conn->peer, .context = &rw->cqe,
	};
	struct kfid_ep *ep = rw->conn->ep;
	struct scatterlist *sg = rw->sg;
	bool last, whole;
	ssize_t ret;
	u32 part;

	if (unlikely(rw->place) && rw->reply) {
		ret = kfi_place_put(ep, rw->place, rw->todo, KFI_CQE | (rw->msg ? KFI_MORE : 0),
				    &rw->cqe);
		rw->todo = ret ? rw->todo : 0;
		return ret;
	}
	for (; sg && data.iov_count < rw->conn->tx_segs && remote.len < rw->todo;
	     sg = sg_next(sg)) {
		part = min_t(u32, sg->length, rw->todo - remote.len);
		bvec_set_page(&vec[data.iov_count++], sg_page(sg), part, sg->offset);
		remote.len += part;
	}
	if (WARN_ON_ONCE(!data.iov_count))
		return -EINVAL;
	last = remote.len == rw->todo;
	whole = last && rw->msg && remote.len <= rw->conn->reply_max &&
		rw->msg_len <= KFI_REPLY_LEN;
	if (!rw->reply)
		ret = __kfi_readmsg(ep, &data, KFI_CQE | (last ? 0 : KFI_MORE));
	else if (whole)
		ret = __kfi_replymsg(ep, &data, rw->msg, rw->msg_len,
				     KFI_CQE | KFI_INJECT_COMPLETE | msg_flags(rw));
	else
		ret = __kfi_writemsg(ep, &data, KFI_CQE | KFI_INJECT_COMPLETE |
						(last && !rw->msg ? 0 : KFI_MORE));
	if (ret)
		return ret;
	if (whole)
		rw->msg = NULL;
	rw->todo -= remote.len;
	rw->sg = sg;
	return 0;
}

/* Handler of the completion queue, called after the last done() of a round. */
void kfi_round_end(struct kfid_cq *cq, void *context)
{
	struct kfi_conn *conn = context;

	WRITE_ONCE(conn->round, NULL);
	if (!conn->held)
		return;
	conn->held = 0;
	kfi_conn_flush(conn);
}

static ssize_t post_msg(struct kfi_rw *rw)
{
	struct kvec iov = { (void *)rw->msg, rw->msg_len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = rw->conn->peer,
		.context = &rw->conn->inject_cqe, .inv_key = rw->key,
	};

	return __kfi_sendmsg(rw->conn->ep, &msg,
			     KFI_CQE | KFI_INJECT | KFI_NO_COMPLETION | msg_flags(rw));
}

/* ---- the path of a transfer ---- */

static void rw_put(struct kfi_rw *rw)
{
	if (atomic_dec_and_test(&rw->refs))
		rw->done(rw, READ_ONCE(rw->err));
}

static void rw_moved(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rw *rw = container_of(cqe, struct kfi_rw, cqe);

	if (wc->err) {
		WRITE_ONCE(rw->err, -wc->err);
		if (rw->reply)
			kfi_conn_fail(rw->conn, -wc->err);
	}
	rw_put(rw);
}

static void conn_room(struct kfid_ep *ep, void *context)
{
	struct kfi_conn *conn = context;

	queue_work(conn->ops->post_wq, &conn->post_work);
}

/* Continue in post_work, when there is @room or at once. Hard interrupts too, if not for room. */
static void rw_defer(struct kfi_rw *rw, bool room)
{
	struct kfi_conn *conn = rw->conn;
	int ret = -ESHUTDOWN;

	rcu_read_lock();	/* keeps @conn: once @rw is in the list both may end */
	llist_add(&rw->deferred, &conn->deferred);
	if (room && test_bit(KFI_CONN_OPEN, &conn->flags))
		ret = kfi_ep_tx_space(conn->ep, conn_room, conn);
	if (ret && ret != -EALREADY)	/* another transfer waits for room already */
		queue_work(conn->ops->post_wq, &conn->post_work);
	rcu_read_unlock();
}

/*
 * Post what remains of a transfer, up to RW_PIECES pieces of the data in each section, because
 * bottom halves are off there, and the message behind the last one. A connection that has connected
 * again meanwhile does not end.
 */
static void rw_continue(struct kfi_rw *rw)
{
	struct kfi_conn *conn = rw->conn;
	unsigned int n;
	ssize_t ret;

	do {
		ret = -ESHUTDOWN;
		if (!kfi_conn_enter(conn))
			break;
		if (likely(rw->epoch == READ_ONCE(conn->epoch))) {
			for (ret = 0, n = 0; !ret && rw->todo && n < RW_PIECES; n++) {
				atomic_inc(&rw->refs);
				ret = post_piece(rw);
				if (unlikely(ret))	/* the caller counts, too: not to 0 */
					atomic_dec(&rw->refs);
			}
			if (!ret && !rw->todo && rw->msg)
				ret = post_msg(rw);
			if (unlikely(ret && ret != -EAGAIN))
				kfi_conn_fail(conn, ret);
		}
		kfi_conn_exit(conn);
	} while (!ret && rw->todo);
	if (ret == -EAGAIN) {
		rw_defer(rw, true);
		return;
	}
	if (ret)
		WRITE_ONCE(rw->err, ret);
	rw_put(rw);
}

void kfi_conn_post_work(struct work_struct *work)
{
	struct kfi_conn *conn = container_of(work, struct kfi_conn, post_work);
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->deferred));
	struct kfi_rw *rw, *next;

	llist_for_each_entry_safe(rw, next, node, deferred)
		rw_continue(rw);
}

static void rw_begin(struct kfi_rw *rw, struct scatterlist *sg, u32 len)
{
	rw->cqe.done = rw_moved;
	rw->err = 0;
	rw->sg = sg;
	rw->len = len;
	rw->todo = len;
	atomic_set(&rw->refs, 1);
	if (unlikely(in_hardirq() || irqs_disabled()))
		rw_defer(rw, false);
	else
		rw_continue(rw);
}

void kfi_rw_read(struct kfi_rw *rw, struct scatterlist *sg, u32 len)
{
	rw->reply = false;
	rw->msg = NULL;
	rw_begin(rw, sg, len);
}
EXPORT_SYMBOL_GPL(kfi_rw_read);

void kfi_rw_reply(struct kfi_rw *rw, struct scatterlist *sg, u32 len, const void *msg, u32 msg_len,
		  bool invalidate)
{
	rw->reply = true;
	rw->msg = msg;
	rw->msg_len = msg_len;
	rw->invalidate = invalidate;
	rw_begin(rw, sg, len);
}
EXPORT_SYMBOL_GPL(kfi_rw_reply);
