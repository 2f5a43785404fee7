// SPDX-License-Identifier: GPL-2.0
/*
 * tqueue.c - a queue of a host: acceptance, NVMe's connect, release.
 *
 * A queue ends when its connection ends, when an operation on it fails, or when its controller or
 * port is removed. Commands that are being executed then complete without an answer.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "target.h"

enum {
	KFNT_FIRST_CMDS	= 2,	/* commands of a queue before NVMe's connect */
	KFNT_SPARE_CMDS	= 32,	/* further ones, for commands whose answers are being sent */
};

/* All queues whose release has not begun */
static LIST_HEAD(kfnt_queues);
static DEFINE_SPINLOCK(kfnt_queues_lock);

static struct kfnt_queue *to_queue(struct kfi_conn *conn)
{
	return container_of(conn, struct kfnt_queue, conn);
}

/* ---- memory ---- */

static struct kfnt_queue *kfnt_queue_new(struct kfi_caller *caller,
					 const struct nvme_rdma_cm_req *req)
{
	struct kfnt_port *port = container_of(caller->listener, struct kfnt_port, listener);
	struct kfnt_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	if (!queue)
		return NULL;
	kfi_conn_init(&queue->conn, &kfnt_conn_ops);
	queue->qid = le16_to_cpu(req->qid);
	queue->depth = le16_to_cpu(req->hsqsize) + 1;
	queue->inline_size = queue->qid ? port->nport->inline_data_size : 0;
	queue->digests = kfn_cm_get_digests(req->rsvd) & KFN_DIGESTS;
	/* The CPU reads the data for its digest. */
	queue->has_places = kfnt_bypass() && caller->info->caps & KFI_PLACE && !queue->digests;
	strscpy(queue->traddr, caller->at, sizeof(queue->traddr));
	nvmet_cq_init(&queue->cq);
	if (nvmet_sq_init(&queue->sq, &queue->cq)) {
		nvmet_cq_put(&queue->cq);
		kfree(queue);
		return NULL;
	}
	kref_get(&port->ref);
	queue->port = port;
	spin_lock_bh(&kfnt_queues_lock);
	list_add_tail(&queue->entry, &kfnt_queues);
	spin_unlock_bh(&kfnt_queues_lock);
	return queue;
}

static void kfnt_queue_leave(struct kfnt_queue *queue)
{
	spin_lock_bh(&kfnt_queues_lock);
	list_del(&queue->entry);
	spin_unlock_bh(&kfnt_queues_lock);
}

/* No command is executed, and the connection is closed. */
static void kfnt_queue_free(struct kfnt_queue *queue)
{
	nvmet_cq_put(&queue->cq);
	kfnt_port_put(queue->port);
	kfree(queue);
}

/* ---- acceptance ---- */

/* Return the number of commands of the longest I/O queue that a host may request */
unsigned int kfnt_queue_limit(struct nvmet_port *nport)
{
	return max_t(int, kfnt_port_queue_size(nport, KFN_QUEUE_DEFAULT), KFN_QUEUE_DEFAULT);
}

/* Return: 0, or the reason of a refusal. */
static enum nvme_rdma_cm_status kfnt_check(struct nvmet_port *nport,
					   const struct nvme_rdma_cm_req *req, size_t len)
{
	unsigned int depth, limit;

	if (len < sizeof(*req))
		return NVME_RDMA_CM_INVALID_LEN;
	depth = le16_to_cpu(req->hsqsize) + 1;
	limit = req->qid ? kfnt_queue_limit(nport) : NVME_AQ_DEPTH;
	if (le16_to_cpu(req->recfmt) != NVME_RDMA_CM_FMT_1_0)
		return NVME_RDMA_CM_INVALID_RECFMT;
	if (depth < 2 || depth > limit)
		return NVME_RDMA_CM_INVALID_HSQSIZE;
	if (le16_to_cpu(req->hrqsize) < depth)
		return NVME_RDMA_CM_INVALID_HRQSIZE;
	return 0;
}

/* kfi_verbs gives a queue pair at most KFN_QUEUE_MAX receives. */
static int kfnt_accept(struct kfi_caller *caller, const struct nvme_rdma_cm_req *req)
{
	struct kfnt_queue *queue = kfnt_queue_new(caller, req);
	struct nvme_rdma_cm_rep rep = { .recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0) };
	struct kfi_conn_attr attr = {
		.first = KFNT_FIRST_CMDS,
		.rx_priv = sizeof(struct kfnt_cmd),
	};
	int ret;

	if (!queue)
		return -ENOMEM;
	rep.crqsize = cpu_to_le16(queue->depth);
	kfn_cm_set_digests(rep.rsvd, queue->digests);
	attr.rx_len = kfn_head_len(sizeof(struct nvme_command), queue->digests);
	attr.depth = queue->depth;
	attr.spare = min3(queue->depth, (unsigned int)KFNT_SPARE_CMDS,
			  KFN_QUEUE_MAX - queue->depth);
	attr.rx_more = queue->inline_size;
	attr.where = queue->qid ? KFI_CONN_ROUNDS : KFI_CONN_WORK;
	ret = kfi_conn_accept(&queue->conn, caller, &attr, &rep, sizeof(rep));
	if (!ret)
		return 0;
	kfnt_queue_leave(queue);
	nvmet_sq_destroy(&queue->sq);
	kfnt_queue_free(queue);
	return ret;
}

int kfnt_called(struct kfi_caller *caller)
{
	struct kfnt_port *port = container_of(caller->listener, struct kfnt_port, listener);
	enum nvme_rdma_cm_status status = kfnt_check(port->nport, caller->data, caller->len);
	struct nvme_rdma_cm_rej rej = { .recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0) };

	caller->listener->ready_ms = kfnt_connect_ms();
	if (!status && kfnt_accept(caller, caller->data))
		status = NVME_RDMA_CM_NO_RSC;
	if (!status)
		return 0;
	pr_warn_ratelimited("nvmet-kfi: a host is refused: %s\n", nvme_rdma_cm_msg(status));
	rej.sts = cpu_to_le16(status);
	kfi_conn_reject(caller, &rej, sizeof(rej));
	return 0;
}

/* ---- NVMe's connect ---- */

/**
 * kfnt_may_connect() - check a command before the core does, if it is a connect
 * @queue: its queue, on which no controller is installed
 * @c: the command
 *
 * A connect has to name the number and size that the private data of the host announced, for which
 * the queue was allocated. If kfnt_install_queue() fails, the core keeps the number of that
 * connect. A second connect could then give the queue another controller, whose array of queues may
 * be too short for the number. So the core executes only one connect of a queue. On an installed
 * queue the core itself refuses another connect.
 *
 * Return: false if the queue has to end, without an answer to the command.
 */
bool kfnt_may_connect(struct kfnt_queue *queue, const struct nvmf_connect_command *c)
{
	unsigned int qid = le16_to_cpu(c->qid), size = le16_to_cpu(c->sqsize) + 1;

	if (c->opcode != nvme_fabrics_command || c->fctype != nvme_fabrics_type_connect)
		return true;
	if (qid == queue->qid && size <= queue->depth)
		return !test_bit(KFNT_Q_CONNECT_CAME, &queue->flags);
	pr_warn_ratelimited("nvmet-kfi: a queue that was announced as %u with %u commands connects as %u with %u\n",
			    queue->qid, queue->depth, qid, size);
	return false;
}

/* The core has found the controller of a queue. Execution of connect, process context */
u16 kfnt_install_queue(struct nvmet_sq *sq)
{
	struct kfnt_queue *queue = container_of(sq, struct kfnt_queue, sq);

	if (kfi_conn_ready(&queue->conn))
		return NVME_SC_INTERNAL;
	kfnt_places_open(queue);
	set_bit(KFNT_Q_INSTALLED, &queue->flags);
	return 0;
}

/* ---- end ---- */

void kfnt_lost(struct kfi_conn *conn, int err)
{
	const char *what = err == -EBUSY ? "too many connections without NVMe connect" :
			   err == -ETIMEDOUT ? "no NVMe connect has come" :
			   err == -EBADMSG ? "a wrong header digest" : "it has failed";

	if (err != -ESHUTDOWN && err != -ECANCELED && err != -ECONNRESET)
		pr_warn_ratelimited("nvmet-kfi: queue %u: %s (%d)\n", to_queue(conn)->qid, what,
				    err);
}

/*
 * No command begins during nvmet_sq_destroy(), which does not permit that. It waits for commands
 * that are being executed; their answers are dropped, those of hard interrupts by
 * kfi_conn_drain(). After that no command has a place.
 */
void kfnt_release(struct kfi_conn *conn)
{
	struct kfnt_queue *queue = to_queue(conn);

	kfnt_queue_leave(queue);
	nvmet_sq_destroy(&queue->sq);
	kfi_conn_drain(conn);
	kfnt_places_close(queue);
	kfi_conn_close(conn);
	kfnt_queue_free(queue);
}

void kfnt_delete_ctrl(struct nvmet_ctrl *ctrl)
{
	struct kfnt_queue *queue;

	spin_lock_bh(&kfnt_queues_lock);
	list_for_each_entry(queue, &kfnt_queues, entry)
		if (queue->sq.ctrl == ctrl)
			kfi_conn_fail(&queue->conn, -ESHUTDOWN);
	spin_unlock_bh(&kfnt_queues_lock);
}
