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

/* Collect the next piece: as many pages as one post takes. */
static unsigned int rw_piece(struct kfi_rw *rw, struct bio_vec *vec, size_t *len,
			     struct scatterlist **next)
{
	struct scatterlist *sg = rw->sg;
	unsigned int n = 0;
	u32 part;

	*len = 0;
	for (; sg && n < rw->conn->tx_segs && *len < rw->todo; sg = sg_next(sg)) {
		part = min_t(u32, sg->length, rw->todo - *len);
		bvec_set_page(&vec[n++], sg_page(sg), part, sg->offset);
		*len += part;
	}
	*next = sg;
	return n;
}

/* Return KFI_MORE if kfi_round_end() will send the message, else 0. */
static u64 round_more(struct kfi_conn *conn)
{
	if (READ_ONCE(conn->round) != current || !in_task())
		return 0;
	conn->held = (conn->held + 1) % ROUND_MAX;
	return conn->held ? KFI_MORE : 0;
}

/* Flags of the post that has the message */
static u64 msg_flags(struct kfi_rw *rw)
{
	return (rw->invalidate ? KFI_INVALIDATE : 0) | round_more(rw->conn);
}

/* The last piece and the message are one post, unless that is too long. */
static ssize_t post_write(struct kfi_rw *rw, const struct kfi_msg_rma *data, bool last)
{
	u64 flags = KFI_CQE | KFI_INJECT_COMPLETE;	/* the pages may be released late */
	ssize_t ret;

	if (last && rw->msg) {
		ret = __kfi_replymsg(rw->conn->ep, data, rw->msg, rw->msg_len,
				     flags | msg_flags(rw));
		if (!ret)
			rw->msg = NULL;
		if (ret != -EMSGSIZE)
			return ret;
	}
	return __kfi_writemsg(rw->conn->ep, data, flags | (last && !rw->msg ? 0 : KFI_MORE));
}

static ssize_t post_piece(struct kfi_rw *rw)
{
	struct bio_vec vec[KFI_ULP_SEGS];
	struct kfi_rma_iov remote = { .key = rw->key, .addr = rw->addr + rw->len - rw->todo };
	struct kfi_msg_rma msg = {
		.type = KFI_BVEC, .msg_biov = vec, .rma_iov = &remote, .rma_iov_count = 1,
		.addr = rw->conn->peer, .context = &rw->cqe,
	};
	struct scatterlist *next;
	ssize_t ret;
	bool last;

	msg.iov_count = rw_piece(rw, vec, &remote.len, &next);
	if (WARN_ON_ONCE(!msg.iov_count))
		return -EINVAL;
	last = remote.len == rw->todo;
	ret = rw->reply ? post_write(rw, &msg, last) :
			  __kfi_readmsg(rw->conn->ep, &msg, KFI_CQE | (last ? 0 : KFI_MORE));
	if (ret)
		return ret;
	rw->todo -= remote.len;
	rw->sg = next;
	return 0;
}

static ssize_t post_data(struct kfi_rw *rw)
{
	ssize_t ret;

	atomic_inc(&rw->refs);
	if (rw->place && rw->reply)
		ret = kfi_place_put(rw->conn->ep, rw->place, rw->todo,
				    KFI_CQE | (rw->msg ? KFI_MORE : 0), &rw->cqe);
	else
		ret = post_piece(rw);
	if (ret)
		atomic_dec(&rw->refs);	/* does not reach 0: the caller counts, too */
	else if (rw->place && rw->reply)
		rw->todo = 0;
	return ret;
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

/* Post up to RW_PIECES pieces of the data, and the message behind the last one. */
static ssize_t post_some(struct kfi_rw *rw)
{
	unsigned int n = RW_PIECES;
	ssize_t ret = 0;

	while (!ret && rw->todo && n--)
		ret = post_data(rw);
	if (!ret && !rw->todo && rw->msg)
		ret = post_msg(rw);
	return ret;
}

/*
 * Post what remains of a transfer, a part in each section, because bottom halves are off there. A
 * connection that has connected again meanwhile does not end.
 * Return: 0; -EAGAIN: continue later.
 */
static ssize_t rw_post(struct kfi_rw *rw)
{
	struct kfi_conn *conn = rw->conn;
	ssize_t ret;
	bool more;

	do {
		if (!kfi_conn_enter(conn))
			return -ESHUTDOWN;
		if (rw->epoch != READ_ONCE(conn->epoch)) {
			kfi_conn_exit(conn);
			return -ESHUTDOWN;
		}
		ret = post_some(rw);
		more = !ret && rw->todo;
		if (ret && ret != -EAGAIN)
			kfi_conn_fail(conn, ret);
		kfi_conn_exit(conn);
	} while (more);
	return ret;
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

static void rw_continue(struct kfi_rw *rw)
{
	ssize_t ret = rw_post(rw);

	if (ret == -EAGAIN) {
		rw_defer(rw, true);
		return;
	}
	if (ret)
		WRITE_ONCE(rw->err, ret);
	rw_put(rw);
}

static void rw_begin(struct kfi_rw *rw)
{
	if (unlikely(in_hardirq() || irqs_disabled()))
		rw_defer(rw, false);
	else
		rw_continue(rw);
}

void kfi_conn_post_work(struct work_struct *work)
{
	struct kfi_conn *conn = container_of(work, struct kfi_conn, post_work);
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->deferred));
	struct kfi_rw *rw, *next;

	llist_for_each_entry_safe(rw, next, node, deferred)
		rw_continue(rw);
}

static void rw_init(struct kfi_rw *rw, struct scatterlist *sg, u32 len)
{
	rw->cqe.done = rw_moved;
	rw->err = 0;
	rw->sg = sg;
	rw->len = len;
	rw->todo = len;
	atomic_set(&rw->refs, 1);
}

void kfi_rw_read(struct kfi_rw *rw, struct scatterlist *sg, u32 len)
{
	rw_init(rw, sg, len);
	rw->reply = false;
	rw->msg = NULL;
	rw_begin(rw);
}
EXPORT_SYMBOL_GPL(kfi_rw_read);

void kfi_rw_reply(struct kfi_rw *rw, struct scatterlist *sg, u32 len, const void *msg, u32 msg_len,
		  bool invalidate)
{
	rw_init(rw, sg, len);
	rw->reply = true;
	rw->msg = msg;
	rw->msg_len = msg_len;
	rw->invalidate = invalidate;
	rw_begin(rw);
}
EXPORT_SYMBOL_GPL(kfi_rw_reply);
