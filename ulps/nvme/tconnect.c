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
 *
 * A host that makes connections and is silent must not lock out others. So a new connection is not
 * refused when the limit is reached: the oldest ones without a connect command end. If one source
 * has more than half of the port's commands, its own connections end. So a source can't end those
 * of others, but one that is alone has the whole port. A source is an IPv4 address, or an IPv6
 * network of 64 bits. Peers with other addresses, such as the ends of bridges, are one source.
 *
 * The release of an ended queue takes time, so as many commands again are permitted for queues that
 * are being released.
 */
#include <net/ipv6.h>
#include "target.h"

/* A host may make the connections of all its queues before it sends the first NVMe connect. */
enum { KFNT_UNCONNECTED_QUEUES = 256 };

/* Return the number of commands of the longest I/O queue that a host may request */
unsigned int kfnt_queue_limit(struct nvmet_port *nport)
{
	return max_t(int, kfnt_port_queue_size(nport, KFN_QUEUE_DEFAULT), KFN_QUEUE_DEFAULT);
}

static void kfnt_queue_source(struct kfnt_queue *queue, const struct kfi_info *info)
{
	const struct sockaddr_in6 *in6 = info->dest_addr;
	const struct sockaddr_in *in = info->dest_addr;

	if (info->addr_format == KFI_SOCKADDR_IN)
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &queue->source);
	else if (info->addr_format == KFI_SOCKADDR_IN6)
		ipv6_addr_prefix(&queue->source, &in6->sin6_addr, 64);
}

static bool kfnt_same_source(const struct kfnt_queue *a, const struct kfnt_queue *b)
{
	return ipv6_addr_equal(&a->source, &b->source);
}

/* End the oldest queues until @new has its place below @limit. */
static void kfnt_make_place(struct kfnt_port *port, const struct kfnt_queue *new,
			    unsigned int limit)
{
	unsigned int all = new->nr_cmds, own = new->nr_cmds;
	struct kfnt_queue *queue, *next;

	lockdep_assert_held(&port->lock);
	list_for_each_entry(queue, &port->waiting, waiting) {
		all += queue->nr_cmds;
		own += kfnt_same_source(queue, new) ? queue->nr_cmds : 0;
	}
	list_for_each_entry_safe(queue, next, &port->waiting, waiting) {
		if (all <= limit)
			return;
		if (own > limit / 2 && !kfnt_same_source(queue, new))
			continue;
		all -= queue->nr_cmds;
		list_del_init(&queue->waiting);
		kfnt_queue_fail(queue, "too many connections without NVMe connect", EBUSY);
	}
}

/**
 * kfnt_unconnected_get() - count a queue on which NVMe's connect has not arrived
 * @port: port of the connection
 * @queue: new queue
 * @info: info of the request
 *
 * It may end older queues of the port.
 *
 * Return: false if too many ended queues are still being released.
 */
bool kfnt_unconnected_get(struct kfnt_port *port, struct kfnt_queue *queue,
			  const struct kfi_info *info)
{
	unsigned int limit = KFNT_UNCONNECTED_QUEUES * kfnt_queue_limit(port->nport);
	bool room;

	kfnt_queue_source(queue, info);
	spin_lock(&port->lock);
	room = port->unconnected + queue->nr_cmds <= 2 * limit;
	if (room) {
		kfnt_make_place(port, queue, limit);
		port->unconnected += queue->nr_cmds;
		set_bit(KFNT_Q_COUNTED, &queue->flags);
		list_add_tail(&queue->waiting, &port->waiting);
	}
	spin_unlock(&port->lock);
	return room;
}

static void kfnt_uncount(struct kfnt_port *port, struct kfnt_queue *queue)
{
	lockdep_assert_held(&port->lock);
	if (test_and_clear_bit(KFNT_Q_COUNTED, &queue->flags))
		port->unconnected -= queue->nr_cmds;
	list_del_init(&queue->waiting);
}

/* The queue is being freed, or dropped. */
void kfnt_unconnected_put(struct kfnt_port *port, struct kfnt_queue *queue)
{
	spin_lock(&port->lock);
	kfnt_uncount(port, queue);
	spin_unlock(&port->lock);
}

/* NVMe's connect is being executed. Return: false if the queue has been ended to make place. */
static bool kfnt_connected(struct kfnt_port *port, struct kfnt_queue *queue)
{
	bool waiting;

	spin_lock(&port->lock);
	waiting = !list_empty(&queue->waiting);
	if (waiting)
		kfnt_uncount(port, queue);
	spin_unlock(&port->lock);
	return waiting;
}

void kfnt_timeout_work(struct work_struct *work)
{
	struct kfnt_queue *queue = container_of(to_delayed_work(work), struct kfnt_queue,
						timeout_work);

	if (test_bit(KFNT_Q_COUNTED, &queue->flags))
		kfnt_queue_fail(queue, "no NVMe connect has come", ETIMEDOUT);
}

/**
 * kfnt_may_connect() - check a command before the core does, if it is a connect
 * @queue: its queue
 * @c: the command
 *
 * A connect has to name the number and size that the private data of the host announced, for which
 * the queue was allocated. If kfnt_install_queue() fails, the core keeps the number of that connect.
 * A second connect could then give the queue another controller, whose array of queues may be too
 * short for the number. So the core executes only one connect of a queue. On an installed queue the
 * core itself refuses another connect.
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

	if (!kfnt_connected(queue->listener->port, queue))
		return NVME_SC_INTERNAL;
	queue->more = kfnt_cmds_alloc(queue, n);
	if (!queue->more || kfnt_cmds_receive(queue->more, n)) {
		kfnt_queue_fail(queue, "no room for all its commands", ENOMEM);
		return NVME_SC_INTERNAL;
	}
	kfnt_places_open(queue);
	set_bit(KFNT_Q_INSTALLED, &queue->flags);
	return 0;
}
