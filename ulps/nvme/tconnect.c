// SPDX-License-Identifier: GPL-2.0
/*
 * tconnect.c - limits for connections on which NVMe's connect was not executed yet. Any host can
 * make such a connection.
 *
 * For such a connection the target itself allocates little memory: KFNT_FIRST_CMDS commands. But
 * the endpoint is created only once, with pools of transmits and receives for the queue size that
 * the host has announced. So a port limits the sum of the announced commands, not the number of
 * connections, and a connection without a connect command ends after some time. The rest of a queue
 * is allocated while its connect command is executed, before the answer to it.
 */
#include "target.h"

/* A host may make the connections of all its queues before it sends the first NVMe connect. */
enum { KFNT_UNCONNECTED_QUEUES = 256 };

/* Return the number of commands of the longest I/O queue that a host may request */
unsigned int kfnt_queue_limit(struct nvmet_port *nport)
{
	return max_t(int, kfnt_port_queue_size(nport, KFN_QUEUE_DEFAULT), KFN_QUEUE_DEFAULT);
}

/**
 * kfnt_unconnected_get() - count a connection on which NVMe's connect has not arrived
 * @port: port of the connection
 * @n: number of commands for which its endpoint has room
 *
 * Return: false if there are too many.
 */
bool kfnt_unconnected_get(struct kfnt_port *port, unsigned int n)
{
	if (atomic_add_return(n, &port->unconnected) <=
	    KFNT_UNCONNECTED_QUEUES * kfnt_queue_limit(port->nport))
		return true;
	kfnt_unconnected_put(port, n);
	return false;
}

void kfnt_unconnected_put(struct kfnt_port *port, unsigned int n)
{
	atomic_sub(n, &port->unconnected);
}

void kfnt_timeout_work(struct work_struct *work)
{
	struct kfnt_queue *queue = container_of(to_delayed_work(work), struct kfnt_queue,
						timeout_work);

	if (!test_bit(KFNT_Q_INSTALLED, &queue->flags))
		kfnt_queue_fail(queue, "no NVMe connect has come", ETIMEDOUT);
}

/**
 * kfnt_may_connect() - check a command before the core does, if it is a connect
 * @queue: its queue
 * @c: the command
 *
 * A connect has to name the number and size that the private data of the host announced, for which
 * the queue was allocated. If kfnt_install_queue() refused another number, the core would keep the
 * number and the controller of that connect. A second connect could then give the queue another
 * controller, whose array of queues may be too short for the number. So the core executes only one
 * connect of a queue.
 *
 * Return: false if the queue has to end, without an answer to the command.
 */
bool kfnt_may_connect(struct kfnt_queue *queue, const struct nvmf_connect_command *c)
{
	unsigned int qid = le16_to_cpu(c->qid), size = le16_to_cpu(c->sqsize) + 1;

	if (test_bit(KFNT_Q_INSTALLED, &queue->flags) || c->opcode != nvme_fabrics_command ||
	    c->fctype != nvme_fabrics_type_connect)
		return true;
	if (qid == queue->qid && size <= queue->depth)
		return !test_bit(KFNT_Q_CONNECT_CAME, &queue->flags);
	pr_warn_ratelimited("nvmet-kfi: a queue that was announced as %u with %u commands connects as %u with %u\n",
			    queue->qid, queue->depth, qid, size);
	return false;
}

/**
 * kfnt_install_queue() - allocate the rest of a queue, when the core has found its controller
 * @sq: submission queue
 *
 * Context: Execution of the connect command, process context.
 * Return: 0; or the status of the answer, and the queue ends.
 */
u16 kfnt_install_queue(struct nvmet_sq *sq)
{
	struct kfnt_queue *queue = container_of(sq, struct kfnt_queue, sq);
	unsigned int n = queue->nr_cmds - KFNT_FIRST_CMDS;

	queue->more = kfnt_cmds_alloc(queue, n);
	if (!queue->more || kfnt_cmds_receive(queue->more, n)) {
		kfnt_queue_fail(queue, "no room for all its commands", ENOMEM);
		return NVME_SC_INTERNAL;
	}
	kfnt_places_open(queue);
	if (!test_and_set_bit(KFNT_Q_INSTALLED, &queue->flags))
		kfnt_unconnected_put(queue->listener->port, queue->nr_cmds);
	return 0;
}
