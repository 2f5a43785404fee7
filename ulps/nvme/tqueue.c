// SPDX-License-Identifier: GPL-2.0
/*
 * tqueue.c - a queue of a host, from the acceptance to the release.
 *
 * A queue ends when its connection ends, when an operation on it fails, or when its controller or
 * port is removed. The first of these events queues release_work; commands that are being executed
 * then complete without an answer.
 */
#include <linux/slab.h>
#include <linux/wait.h>
#include "target.h"

/* All queues whose release has not begun */
static LIST_HEAD(kfnt_queues);
static DEFINE_SPINLOCK(kfnt_queues_lock);

/* Number of queues that exist */
static atomic_t kfnt_queues_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(kfnt_queues_gone);

enum { KFNT_SPARE_CMDS = 32 };

static void kfnt_queue_free(struct kfnt_queue *queue);

/* ---- events ---- */

/* Commands that were received before this event wait in the backlog. */
static void kfnt_queue_connected(struct kfnt_queue *queue)
{
	set_bit(KFNT_Q_CONNECTED, &queue->flags);
	smp_mb__after_atomic();	/* pairs with kfnt_wait() */
	queue_work(kfnt_post_wq, &queue->resume_work);
}

static void kfnt_queue_event(struct kfid_eq *eq, void *context)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry)] __aligned(8);
	struct kfi_eq_err_entry err = {};
	struct kfnt_queue *queue = context;
	u32 event;
	ssize_t n;

	for (;;) {
		n = kfi_eq_read(eq, &event, buf, sizeof(buf), 0);
		if (n == -KFI_EAVAIL && kfi_eq_readerr(eq, &err, 0) < 0)
			continue;
		if (n < 0 && n != -KFI_EAVAIL)
			return;
		if (n < 0 || event == KFI_SHUTDOWN)
			kfnt_queue_end(queue);
		else if (event == KFI_CONNECTED)
			kfnt_queue_connected(queue);
	}
}

/* ---- endpoint ---- */

/* A command that finds no free transmit operation waits in the backlog. */
static int kfnt_queue_endpoint(struct kfnt_queue *queue, struct kfid_domain *domain,
			       struct kfi_info *info)
{
	struct kfi_domain_limits limits;
	int ret = kfi_domain_limits(domain, &limits);

	if (ret)
		return ret;
	queue->p2p_client = limits.p2p_device;
	queue->p2p_min = limits.short_msg_limit;
	queue->has_places = info->caps & KFI_PLACE;
	info->tx_attr->size = 2 * queue->nr_cmds;
	info->rx_attr->size = queue->nr_cmds;
	return kfi_endpoint(domain, info, &queue->ep, queue);
}

/**
 * kfnt_queue_open() - open the endpoint for a request
 * @queue: new queue
 * @domain: domain of the request
 * @info: info of the request; if this function fails, the request may still be refused with it
 *
 * Return: 0, or a negative error with nothing left open.
 */
int kfnt_queue_open(struct kfnt_queue *queue, struct kfid_domain *domain, struct kfi_info *info)
{
	/* All operations have a done(). Commands are executed on the CPU that has received them. */
	struct kfi_cq_attr attr = {
		.size = 16, .format = KFI_CQ_FORMAT_DATA, .flags = KFI_CQ_ROUNDS | KFI_CQ_LOCAL,
	};
	int ret;

	ret = kfi_cq_open(domain, &attr, &queue->comp, kfnt_round_end, queue);
	if (ret)
		return ret;
	ret = kfi_eq_open(queue->listener->fabric, NULL, &queue->events, kfnt_queue_event, queue);
	if (ret)
		goto close_cq;
	ret = kfnt_queue_endpoint(queue, domain, info);
	if (ret)
		goto close_eq;
	ret = kfi_ep_bind(queue->ep, &queue->comp->fid, KFI_TRANSMIT | KFI_RECV) ?:
	      kfi_ep_bind(queue->ep, &queue->events->fid, 0) ?:
	      kfi_enable(queue->ep);
	if (ret)
		goto close_ep;
	set_bit(KFNT_Q_OPEN, &queue->flags);
	ret = kfnt_cmds_receive(queue->cmds, KFNT_FIRST_CMDS);
	if (!ret)
		return 0;

close_ep:
	clear_bit(KFNT_Q_OPEN, &queue->flags);
	kfi_close(&queue->ep->fid);
close_eq:
	kfi_close(&queue->events->fid);
close_cq:
	kfi_close(&queue->comp->fid);
	return ret;
}

/* ---- end ---- */

static void kfnt_queue_leave(struct kfnt_queue *queue)
{
	spin_lock(&kfnt_queues_lock);
	list_del_init(&queue->entry);
	spin_unlock(&kfnt_queues_lock);
}

/* Run resume_work: as the queue is closed, its posts fail, and the waiting commands end. */
static void kfnt_queue_drain(struct kfnt_queue *queue)
{
	queue_work(kfnt_post_wq, &queue->resume_work);
	flush_work(&queue->resume_work);
}

/*
 * After the grace period no operation is posted any more. The close of the endpoint ends posted
 * operations and waits for every done(), so no command begins during nvmet_sq_destroy(), which does
 * not permit that. nvmet_sq_destroy() waits for commands that are being executed; their answers are
 * dropped. If a disk completed a command in a hard interrupt, resume_work drops its answer, so it
 * has to run once more.
 */
static void kfnt_release_work(struct work_struct *work)
{
	struct kfnt_queue *queue = container_of(work, struct kfnt_queue, release_work);

	kfnt_queue_leave(queue);
	cancel_delayed_work_sync(&queue->timeout_work);
	clear_bit(KFNT_Q_OPEN, &queue->flags);
	synchronize_rcu();
	WARN_ON(kfi_close(&queue->ep->fid));
	WARN_ON(kfi_close(&queue->events->fid));
	kfnt_queue_drain(queue);
	nvmet_sq_destroy(&queue->sq);
	kfnt_queue_drain(queue);
	WARN_ON(kfi_close(&queue->comp->fid));
	nvmet_cq_put(&queue->cq);
	kfnt_queue_free(queue);
}

/**
 * kfnt_queue_end() - begin the release of a queue
 * @queue: queue
 *
 * A queue that the acceptor still owns is only marked: the acceptor may drop it.
 *
 * Context: Any. The queue exists at least until the caller's RCU section, handler or command ends.
 */
void kfnt_queue_end(struct kfnt_queue *queue)
{
	set_bit(KFNT_Q_FAILED, &queue->flags);
	rcu_read_lock();	/* after a grace period a release that was taken is queued */
	/* A full barrier, as in kfnt_queue_begin(): one of both sees the flag of the other. */
	if (!test_and_set_bit(KFNT_Q_RELEASE_TAKEN, &queue->flags))
		queue_work(kfnt_wq, &queue->release_work);
	rcu_read_unlock();
}

/**
 * kfnt_queue_fail() - begin the release of a queue after an error, and log the error
 * @queue: as kfnt_queue_end()
 * @what: text for the log, unless the connection has ended before
 * @err: positive error number
 */
void kfnt_queue_fail(struct kfnt_queue *queue, const char *what, int err)
{
	if (!test_bit(KFNT_Q_FAILED, &queue->flags) && err != ESHUTDOWN && err != ECANCELED)
		pr_warn_ratelimited("nvmet-kfi: queue %u: %s (%d)\n", queue->qid, what, err);
	kfnt_queue_end(queue);
}

void kfnt_queue_enter(struct kfnt_queue *queue)
{
	queue_delayed_work(kfnt_wq, &queue->timeout_work, kfnt_connect_timeout());
	spin_lock(&kfnt_queues_lock);
	list_add_tail(&queue->entry, &kfnt_queues);
	spin_unlock(&kfnt_queues_lock);
}

/**
 * kfnt_queue_begin() - the acceptor has finished with a queue
 * @queue: queue in the list; the caller must not use it any more
 */
void kfnt_queue_begin(struct kfnt_queue *queue)
{
	rcu_read_lock();	/* a release that begins meanwhile does not free the queue yet */
	clear_bit(KFNT_Q_RELEASE_TAKEN, &queue->flags);
	smp_mb__after_atomic();	/* pairs with test_and_set_bit() in kfnt_queue_end() */
	if (test_bit(KFNT_Q_FAILED, &queue->flags))
		kfnt_queue_end(queue);
	rcu_read_unlock();
}

void kfnt_delete_ctrl(struct nvmet_ctrl *ctrl)
{
	struct kfnt_queue *queue;

	spin_lock(&kfnt_queues_lock);
	list_for_each_entry(queue, &kfnt_queues, entry)
		if (queue->sq.ctrl == ctrl)
			kfnt_queue_end(queue);
	spin_unlock(&kfnt_queues_lock);
}

/* End queues of the port, also those on which no host has connected to a controller. */
void kfnt_end_port(struct kfnt_port *port)
{
	struct kfnt_queue *queue;

	spin_lock(&kfnt_queues_lock);
	list_for_each_entry(queue, &kfnt_queues, entry)
		if (queue->listener->port == port)
			kfnt_queue_end(queue);
	spin_unlock(&kfnt_queues_lock);
}

void kfnt_wait_queues(void)
{
	wait_event(kfnt_queues_gone, !atomic_read(&kfnt_queues_alive));
}

/* ---- memory ---- */

/**
 * kfnt_queue_new() - allocate a queue without connection
 * @listener: listener to which the request has come
 * @info: info of the request
 * @qid: number that the host has chosen
 * @depth: commands that the host may send
 *
 * Return: a queue, which the caller owns until kfnt_queue_begin() or kfnt_queue_drop(); or NULL.
 */
struct kfnt_queue *kfnt_queue_new(struct kfnt_listener *listener, const struct kfi_info *info,
				  unsigned int qid, unsigned int depth)
{
	struct kfnt_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	if (!queue)
		return NULL;
	INIT_LIST_HEAD(&queue->entry);
	INIT_LIST_HEAD(&queue->waiting);
	INIT_LIST_HEAD(&queue->backlog);
	init_llist_head(&queue->deferred);
	spin_lock_init(&queue->lock);
	INIT_DELAYED_WORK(&queue->timeout_work, kfnt_timeout_work);
	INIT_WORK(&queue->release_work, kfnt_release_work);
	INIT_WORK(&queue->resume_work, kfnt_resume_work);
	queue->answer_cqe.done = kfnt_answer_failed;
	set_bit(KFNT_Q_RELEASE_TAKEN, &queue->flags);	/* until kfnt_queue_begin() */
	queue->qid = qid;
	queue->depth = depth;
	/* kfi_verbs gives a queue pair at most KFN_QUEUE_MAX receives. */
	queue->nr_cmds = min_t(unsigned int, depth + min_t(unsigned int, depth, KFNT_SPARE_CMDS),
			       KFN_QUEUE_MAX);
	queue->inline_size = qid ? listener->port->nport->inline_data_size : 0;
	if (!kfnt_unconnected_get(listener->port, queue, info))
		goto free;
	queue->cmds = kfnt_cmds_alloc(queue, KFNT_FIRST_CMDS);
	if (!queue->cmds)
		goto uncount;
	nvmet_cq_init(&queue->cq);
	if (nvmet_sq_init(&queue->sq, &queue->cq))
		goto free_cmds;
	kref_get(&listener->ref);
	queue->listener = listener;
	atomic_inc(&kfnt_queues_alive);
	return queue;

free_cmds:
	nvmet_cq_put(&queue->cq);
	kfnt_cmds_free(queue, queue->cmds, KFNT_FIRST_CMDS);
uncount:
	kfnt_unconnected_put(listener->port, queue);
free:
	kfree(queue);
	return NULL;
}

/*
 * The exit of the module waits until the last queue is freed. After the wake-up this function uses
 * no data of the module, and its code stays until the exit has destroyed the workqueues.
 */
static void kfnt_queue_free(struct kfnt_queue *queue)
{
	kfnt_cmds_free(queue, queue->cmds, KFNT_FIRST_CMDS);
	kfnt_cmds_free(queue, queue->more, queue->nr_cmds - KFNT_FIRST_CMDS);
	kfnt_places_close(queue);
	kfnt_unconnected_put(queue->listener->port, queue);
	if (queue->dom)
		kfnt_domain_put(queue->dom);
	kfnt_listener_put(queue->listener);
	kfree(queue);
	if (atomic_dec_and_test(&kfnt_queues_alive))
		wake_up(&kfnt_queues_gone);
}

/* Drop a queue that was never opened. */
void kfnt_queue_drop(struct kfnt_queue *queue)
{
	nvmet_sq_destroy(&queue->sq);
	nvmet_cq_put(&queue->cq);
	kfnt_queue_free(queue);
}
