// SPDX-License-Identifier: GPL-2.0
/*
 * trma.c - move data between a command's pages and the host's region, and send answers.
 *
 * The context that owns a command posts the transfers of its data in pieces, then, if the command
 * was executed, its answer. It does not wait for the data before it posts the answer, because
 * endpoints keep the order. If the endpoint has no room, or if the connection is not established
 * although the host's first command has arrived, the command is put into the backlog, from which a
 * work item continues it.
 *
 * Data that the disk has written to a place needs no transfer, but the put of the place, which is
 * ordered as one.
 *
 * If the transfer of data to the host fails, the host may have received the answer already, so the
 * connection ends.
 */
#include "hints.h"
#include "target.h"

enum { KFNT_ROUND_MAX = 16 };	/* answers that are sent together, at most */

static void kfnt_put(struct kfnt_cmd *cmd);

static void kfnt_moved(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfnt_cmd *cmd = container_of(cqe, struct kfnt_cmd, moved);

	if (wc->err)
		WRITE_ONCE(cmd->err, -wc->err);
	kfnt_put(cmd);
}

void kfnt_answer_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfnt_queue *queue = container_of(cqe, struct kfnt_queue, answer_cqe);

	if (wc->err)
		kfnt_queue_fail(queue, "an answer was not sent", wc->err);
}

/* ---- posting ---- */

/* Collect the next piece: as many pages as one post takes. */
static unsigned int kfnt_piece(struct kfnt_cmd *cmd, struct bio_vec *vec, size_t *len,
			       struct scatterlist **next)
{
	struct scatterlist *sg = cmd->sg;
	unsigned int n = 0;
	u32 part;

	*len = 0;
	for (; sg && n < KFN_TX_SEGS && *len < cmd->todo; sg = sg_next(sg)) {
		part = min_t(u32, sg->length, cmd->todo - *len);
		bvec_set_page(&vec[n++], sg_page(sg), part, sg->offset);
		*len += part;
	}
	*next = sg;
	return n;
}

static ssize_t kfnt_post_piece(struct kfnt_cmd *cmd)
{
	struct bio_vec vec[KFN_TX_SEGS];
	struct kfi_rma_iov remote = {
		.key = cmd->key, .addr = cmd->addr + cmd->req.transfer_len - cmd->todo,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_BVEC,
		.msg_biov = vec,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = &cmd->moved,
	};
	struct scatterlist *next;
	ssize_t ret;

	msg.iov_count = kfnt_piece(cmd, vec, &remote.len, &next);
	if (WARN_ON_ONCE(!msg.iov_count))
		return -EINVAL;
	atomic_inc(&cmd->refs);
	/* another piece or the answer follows; the pages may be released late */
	if (cmd->reply && !cmd->checking)
		ret = kfi_writemsg(cmd->queue->ep, &msg, KFI_CQE | KFI_MORE | KFI_INJECT_COMPLETE);
	else
		ret = kfi_readmsg(cmd->queue->ep, &msg,
				  KFI_CQE | (remote.len < cmd->todo ? KFI_MORE : 0));
	if (ret) {
		atomic_dec(&cmd->refs);
		return ret;
	}
	cmd->todo -= remote.len;
	cmd->sg = next;
	return 0;
}

/* ---- rounds: answers to commands that arrived and ended in one round are sent together ---- */

/* Return KFI_MORE if kfnt_round_end() will send the answer, else 0. */
static u64 kfnt_more(struct kfnt_queue *queue)
{
	if (READ_ONCE(queue->round) != current || !in_task())
		return 0;
	queue->held = (queue->held + 1) % KFNT_ROUND_MAX;
	return queue->held ? KFI_MORE : 0;
}

/* Handler of the completion queue, called after the last done() of a round. */
void kfnt_round_end(struct kfid_cq *cq, void *context)
{
	struct kfnt_queue *queue = context;

	WRITE_ONCE(queue->round, NULL);
	if (!queue->held)
		return;
	queue->held = 0;
	rcu_read_lock();
	if (test_bit(KFNT_Q_OPEN, &queue->flags))
		kfi_ep_tx_flush(queue->ep);
	rcu_read_unlock();
}

static ssize_t kfnt_post_answer(struct kfnt_cmd *cmd)
{
	struct kvec iov = { &cmd->cqe, sizeof(cmd->cqe) };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.context = &cmd->queue->answer_cqe,
		.inv_key = cmd->key,
	};

	return kfi_sendmsg(cmd->queue->ep, &msg,
			   KFI_CQE | KFI_INJECT | KFI_NO_COMPLETION |
				   (cmd->inv ? KFI_INVALIDATE : 0) | kfnt_more(cmd->queue));
}

/* Post the remaining operations of a command. Return: 0; -EAGAIN or -ENOTCONN: continue later. */
static ssize_t kfnt_post(struct kfnt_cmd *cmd)
{
	ssize_t ret = -ESHUTDOWN;

	rcu_read_lock();
	if (test_bit(KFNT_Q_OPEN, &cmd->queue->flags)) {
		do
			ret = !cmd->todo ? 0 :
			      cmd->place && !cmd->checking ? kfnt_place_put(cmd) :
							     kfnt_post_piece(cmd);
		while (!ret && cmd->todo);
		if (!ret && cmd->reply && !cmd->checking)
			ret = kfnt_post_answer(cmd);
	}
	rcu_read_unlock();
	return ret;
}

/* ---- no room, or not connected yet ---- */

static void kfnt_room(struct kfid_ep *ep, void *context)
{
	struct kfnt_queue *queue = context;

	queue_work(kfnt_post_wq, &queue->resume_work);
}

/* Arrange that resume_work is queued when it can continue. Return: -EAGAIN: it can now. */
static int kfnt_arm_resume(struct kfnt_queue *queue, ssize_t err)
{
	if (err == -ENOTCONN)
		return test_bit(KFNT_Q_CONNECTED, &queue->flags) ? -EAGAIN : 0;
	return kfi_ep_tx_space(queue->ep, kfnt_room, queue);
}

static void kfnt_wait(struct kfnt_cmd *cmd, ssize_t err)
{
	struct kfnt_queue *queue = cmd->queue;
	int ret = -ESHUTDOWN;

	spin_lock_bh(&queue->lock);
	list_add_tail(&cmd->wait, &queue->backlog);
	spin_unlock_bh(&queue->lock);
	smp_mb();	/* pairs with kfnt_queue_connected() */
	rcu_read_lock();
	if (test_bit(KFNT_Q_OPEN, &queue->flags))
		ret = kfnt_arm_resume(queue, err);
	if (ret && ret != -EALREADY)
		queue_work(kfnt_post_wq, &queue->resume_work);
	rcu_read_unlock();
}

/* ---- path of a command ---- */

static void kfnt_ended(struct kfnt_cmd *cmd)
{
	int err = READ_ONCE(cmd->err);

	if (cmd->checking) {
		llist_add(&cmd->deferred, &cmd->queue->deferred);
		queue_work(kfnt_post_wq, &cmd->queue->resume_work);
	} else if (cmd->reply) {
		if (err)
			kfnt_queue_fail(cmd->queue, "data was not moved", -err);
		kfnt_cmd_release(cmd);
	} else if (err) {
		nvmet_req_complete(&cmd->req, NVME_SC_DATA_XFER_ERROR);
	} else {
		cmd->req.execute(&cmd->req);
	}
}

static void kfnt_put(struct kfnt_cmd *cmd)
{
	if (atomic_dec_and_test(&cmd->refs))
		kfnt_ended(cmd);
}

static void kfnt_continue(struct kfnt_cmd *cmd)
{
	ssize_t ret = kfnt_post(cmd);

	if (ret == -EAGAIN || ret == -ENOTCONN) {
		kfnt_wait(cmd, ret);
		return;
	}
	if (ret) {
		WRITE_ONCE(cmd->err, ret);
		kfnt_queue_fail(cmd->queue, "nothing can be posted", -ret);
	}
	kfnt_put(cmd);
}

/**
 * kfnt_move() - transfer the data of a command, if it has data; then send its answer or execute it
 * @cmd: command
 * @reply: the command was executed
 *
 * Context: With @reply the contexts in which the core completes commands, except hard interrupts.
 * Without @reply a work item.
 */
void kfnt_move(struct kfnt_cmd *cmd, bool reply)
{
	bool data = !reply || (!nvme_is_write(cmd->sqe) && !cmd->cqe.status);

	cmd->reply = reply;
	cmd->checking = false;
	cmd->err = 0;
	cmd->todo = data && cmd->req.sg ? cmd->req.transfer_len : 0;
	cmd->sg = cmd->req.sg;
	cmd->moved.done = kfnt_moved;
	if (cmd->place && !cmd->todo)
		kfnt_place_failed(cmd);
	atomic_set(&cmd->refs, 1);
	kfnt_continue(cmd);
}

/* The data of a command was read from the host: compare it, then answer. */
static void kfnt_checked(struct kfnt_cmd *cmd)
{
	kfnt_place_check(cmd);
	cmd->checking = false;
	if (cmd->err) {
		kfnt_ended(cmd);
		return;
	}
	atomic_set(&cmd->refs, 1);
	kfnt_continue(cmd);
}

static void kfnt_resume_backlog(struct kfnt_queue *queue)
{
	struct kfnt_cmd *cmd, *next;
	LIST_HEAD(list);

	spin_lock_bh(&queue->lock);
	list_splice_init(&queue->backlog, &list);
	spin_unlock_bh(&queue->lock);
	list_for_each_entry_safe(cmd, next, &list, wait) {
		list_del(&cmd->wait);
		kfnt_continue(cmd);
	}
}

void kfnt_resume_work(struct work_struct *work)
{
	struct kfnt_queue *queue = container_of(work, struct kfnt_queue, resume_work);
	struct llist_node *node = llist_reverse_order(llist_del_all(&queue->deferred));
	struct kfnt_cmd *cmd, *next;

	kfnt_resume_backlog(queue);
	llist_for_each_entry_safe(cmd, next, node, deferred)
		if (cmd->checking)
			kfnt_checked(cmd);
		else
			kfnt_move(cmd, true);
}
