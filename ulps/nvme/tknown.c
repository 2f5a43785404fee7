// SPDX-License-Identifier: GPL-2.0
/*
 * tknown.c - from a connection, which anybody can make, to a host that NVMe's connect has made known.
 *
 * A connection costs little of our own before that: room for KFNT_FIRST_CMDS commands. But the endpoint is made once, with its pools of
 * transmits and receives, as long as the host has announced its queue to be. So it is commands that are counted for a port, not
 * connections; and none stays long. The rest of a queue is made while its connect command is executed, before that is answered.
 */
#include "target.h"

/* A host makes the connections of all its queues first. */
enum { KFNT_SILENT_QUEUES = 256 };

/* Commands of the longest I/O queue that a host may ask for */
unsigned int kfnt_queue_limit(struct nvmet_port *nport)
{
	return max_t(int, kfnt_port_queue_size(nport, KFN_QUEUE_DEFAULT), KFN_QUEUE_DEFAULT);
}

/**
 * kfnt_silent_get() - one more connection that has said nothing
 * @port:	port that it came in by
 * @n:		commands that its endpoint would have room for
 *
 * Return: false if that is too many.
 */
bool kfnt_silent_get(struct kfnt_port *port, unsigned int n)
{
	if (atomic_add_return(n, &port->silent) <= KFNT_SILENT_QUEUES * kfnt_queue_limit(port->nport))
		return true;
	kfnt_silent_put(port, n);
	return false;
}

void kfnt_silent_put(struct kfnt_port *port, unsigned int n)
{
	atomic_sub(n, &port->silent);
}

void kfnt_silent_work(struct work_struct *work)
{
	struct kfnt_queue *queue = container_of(to_delayed_work(work), struct kfnt_queue, silent_work);

	if (!test_bit(KFNT_Q_KNOWN, &queue->flags))
		kfnt_queue_fail(queue, "no NVMe connect has come", ETIMEDOUT);
}

/* What the host has announced as private data is what the queue was made for. */
static bool kfnt_as_announced(struct kfnt_queue *queue)
{
	if (queue->sq.qid == queue->qid && queue->sq.size <= queue->depth)
		return true;
	pr_warn_ratelimited("nvmet-kfi: a queue that was announced as %u with %u commands connects as %u with %u\n", queue->qid,
			    queue->depth, queue->sq.qid, queue->sq.size);
	return false;
}

/**
 * kfnt_install_queue() - the core has found the controller of a queue
 * @sq:	the queue's
 *
 * Context: Execution of the connect command, process context.
 * Return: 0, or what the host is answered; then it may try again.
 */
u16 kfnt_install_queue(struct nvmet_sq *sq)
{
	struct kfnt_queue *queue = container_of(sq, struct kfnt_queue, sq);
	unsigned int n = queue->nr_cmds - KFNT_FIRST_CMDS;

	if (!kfnt_as_announced(queue))
		return NVME_SC_CONNECT_INVALID_PARAM | NVME_STATUS_DNR;
	if (!queue->more) {
		queue->more = kfnt_cmds_alloc(queue, n);
		if (!queue->more)
			return NVME_SC_INTERNAL;
		if (kfnt_cmds_receive(queue->more, n)) {
			kfnt_queue_fail(queue, "no receives can be posted", EAGAIN);
			return NVME_SC_INTERNAL;
		}
	}
	if (!test_and_set_bit(KFNT_Q_KNOWN, &queue->flags))
		kfnt_silent_put(queue->listener->port, queue->nr_cmds);
	return 0;
}
