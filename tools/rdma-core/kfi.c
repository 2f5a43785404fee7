// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kfi.c - the provider of rdma-core for the devices of kfi_ib
 *
 * Completion queues and receive queues are in memory that the kernel has mapped, too
 * (include/kfi_ib.h). All else is a command of uverbs; libibverbs has the functions that make it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "../../include/kfi_ib.h"
#include "private.h"

/*
 * A completion queue. @lock protects the memory, but for what the kernel writes: several threads
 * may read it, or destroy queue pairs.
 */
struct kfi_cq {
	struct ibv_cq		cq;
	pthread_spinlock_t	lock;
	struct kfi_ib_cq	*mem;
	size_t			bytes;
};

/* A queue pair. @lock protects the memory, if there is one, and @head, the receives posted. */
struct kfi_qp {
	struct ibv_qp		qp;
	pthread_spinlock_t	lock;
	struct kfi_ib_rq	*mem;
	size_t			bytes;
	uint32_t		head;
	uint32_t		depth;
	uint32_t		sge;
};

/* Map the queue that the driver has made. Return: NULL after an error */
static void *queue_map(struct ibv_context *ctx, const struct kfi_ib_queue_resp *resp)
{
	void *mem = mmap(NULL, resp->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
			 resp->offset);

	return mem == MAP_FAILED ? NULL : mem;
}

static int kfi_query_device(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);

	return ibv_cmd_query_device_any(ctx, input, attr, size, &resp, &resp_size);
}

static int kfi_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct query_port cmd = {};

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* Return @obj; or NULL after an error, when it is freed */
static void *created(void *obj, int err)
{
	if (!err)
		return obj;
	free(obj);
	errno = err;
	return NULL;
}

/* Return @err, with which an object was destroyed that is freed then */
static int destroyed(void *obj, int err)
{
	if (!err)
		free(obj);
	return err;
}

/* ---- protection domains, regions ---- */

static struct ibv_pd *kfi_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	struct alloc_pd cmd = {};

	if (!pd)
		return NULL;
	return created(pd, ibv_cmd_alloc_pd(ctx, pd, &cmd, sizeof(cmd), &resp, sizeof(resp)));
}

static int kfi_dealloc_pd(struct ibv_pd *pd)
{
	return destroyed(pd, ibv_cmd_dealloc_pd(pd));
}

static struct ibv_mr *kfi_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t hca_va,
				 int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	struct reg_mr cmd = {};

	if (!mr)
		return NULL;
	return created(mr, ibv_cmd_reg_mr(pd, addr, len, hca_va, access, mr, &cmd, sizeof(cmd),
					  &resp, sizeof(resp)));
}

static int kfi_dereg_mr(struct verbs_mr *mr)
{
	return destroyed(mr, ibv_cmd_dereg_mr(mr));
}

/* ---- address handles ---- */

static struct ibv_ah *kfi_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ib_uverbs_create_ah_resp resp;
	struct ibv_ah *ah = calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	return created(ah, ibv_cmd_create_ah(pd, ah, attr, &resp, sizeof(resp)));
}

static int kfi_destroy_ah(struct ibv_ah *ah)
{
	return destroyed(ah, ibv_cmd_destroy_ah(ah));
}

/* ---- completion queues ---- */

static int kfi_destroy_cq(struct ibv_cq *ibcq)
{
	struct kfi_cq *cq = (struct kfi_cq *)ibcq;
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	if (cq->mem)
		munmap(cq->mem, cq->bytes);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

static struct ibv_cq *kfi_create_cq(struct ibv_context *ctx, int cqe,
				    struct ibv_comp_channel *channel, int vector)
{
	struct {
		struct ib_uverbs_create_cq_resp core;
		struct kfi_ib_queue_resp queue;
	} resp = {};
	struct kfi_cq *cq = calloc(1, sizeof(*cq));
	struct create_cq cmd = {};

	if (!cq)
		return NULL;
	if (!created(cq, ibv_cmd_create_cq(ctx, cqe, channel, vector, &cq->cq, &cmd, sizeof(cmd),
					   &resp.core, sizeof(resp))))
		return NULL;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	cq->bytes = resp.queue.bytes;
	cq->mem = queue_map(ctx, &resp.queue);
	if (cq->mem)
		return &cq->cq;
	kfi_destroy_cq(&cq->cq);
	errno = ENOMEM;
	return NULL;
}

/* Return: the entry with this number, counted from 0; it may not be there yet */
static struct kfi_ib_cqe *cq_entry(const struct kfi_cq *cq, uint32_t number)
{
	return &cq->mem->entries[number & (cq->cq.cqe - 1)];
}

static bool cq_has(const struct kfi_cq *cq, uint32_t number)
{
	return __atomic_load_n(&cq_entry(cq, number)->number, __ATOMIC_ACQUIRE) == number + 1;
}

/*
 * struct ibv_wc does not say what header is in front of a datagram. Cards of mlx5 say so by the
 * service level, and UCX looks at that, whatever the device: 2 is IPv4, 1 is IPv6, and 8 RoCE v2.
 */
static uint8_t cqe_sl(const struct kfi_ib_cqe *e)
{
	return !(e->flags & KIB_CQE_GRH) ? 0 : e->flags & KIB_CQE_IPV4 ? 8 | 2 : 8 | 1;
}

/* Read entries, except those of destroyed queue pairs. Return: how many; @cq->lock is held */
static int cq_read(struct kfi_cq *cq, int nr, struct ibv_wc *wc)
{
	const struct kfi_ib_cqe *e;
	uint32_t first = cq->mem->tail, tail = first;
	int n = 0;

	for (; n < nr && cq_has(cq, tail); tail++) {
		e = cq_entry(cq, tail);
		if (!e->qp_num)
			continue;
		wc[n++] = (struct ibv_wc){
			.wr_id = e->wr_id, .status = e->status, .opcode = e->opcode,
			.byte_len = e->byte_len, .imm_data = e->data, .qp_num = e->qp_num,
			.wc_flags = e->flags & KIB_CQE_FLAGS, .src_qp = e->src_qp, .sl = cqe_sl(e),
		};
	}
	__atomic_store_n(&cq->mem->tail, tail, __ATOMIC_RELEASE);
	if (!n && tail != first)	/* callers read @full without another poll */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return n;
}

/* If requests wait for room, and all is read, let the kernel report them. Return: 0 or an error */
static int cq_run(struct kfi_cq *cq)
{
	struct ibv_wc wc;

	if (!__atomic_load_n(&cq->mem->full, __ATOMIC_RELAXED))
		return 0;
	return ibv_cmd_poll_cq(&cq->cq, 1, &wc);
}

static int kfi_poll_cq(struct ibv_cq *ibcq, int nr, struct ibv_wc *wc)
{
	struct kfi_cq *cq = (struct kfi_cq *)ibcq;
	bool gone = __atomic_load_n(&cq->mem->gone, __ATOMIC_ACQUIRE);
	int n;

	pthread_spin_lock(&cq->lock);
	n = cq_read(cq, nr, wc);
	pthread_spin_unlock(&cq->lock);
	if (n || !nr)
		return n;
	return gone ? -EIO : cq_run(cq);
}

/* The driver takes each receive for a solicited one. */
static int kfi_req_notify_cq(struct ibv_cq *ibcq, int solicited)
{
	struct kfi_cq *cq = (struct kfi_cq *)ibcq;

	__atomic_store_n(&cq->mem->armed, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* callers poll again after this */
	return -cq_run(cq);
}

/* Let nobody read the entries of a queue pair that is destroyed. */
static void cq_forget(struct kfi_cq *cq, uint32_t qp_num)
{
	uint32_t number;

	pthread_spin_lock(&cq->lock);
	for (number = cq->mem->tail; cq_has(cq, number); number++)
		if (cq_entry(cq, number)->qp_num == qp_num)
			cq_entry(cq, number)->qp_num = 0;
	pthread_spin_unlock(&cq->lock);
}

/* Forget what the queue pair has reported: it is destroyed, or begins anew. */
static void qp_forget(struct ibv_qp *qp)
{
	cq_forget((struct kfi_cq *)qp->send_cq, qp->qp_num);
	if (qp->recv_cq != qp->send_cq)
		cq_forget((struct kfi_cq *)qp->recv_cq, qp->qp_num);
}

/* ---- shared receive queues ---- */

static struct ibv_srq *kfi_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ib_uverbs_create_srq_resp resp;
	struct ibv_srq *srq = calloc(1, sizeof(*srq));
	struct create_srq cmd = {};

	if (!srq)
		return NULL;
	return created(srq, ibv_cmd_create_srq(pd, srq, attr, &cmd, sizeof(cmd), &resp,
					       sizeof(resp)));
}

static int kfi_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct modify_srq cmd = {};

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

static int kfi_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

static int kfi_destroy_srq(struct ibv_srq *srq)
{
	return destroyed(srq, ibv_cmd_destroy_srq(srq));
}

/* ---- queue pairs ---- */

static int kfi_destroy_qp(struct ibv_qp *ibqp)
{
	struct kfi_qp *qp = (struct kfi_qp *)ibqp;
	int err = ibv_cmd_destroy_qp(ibqp);

	if (err)
		return err;
	qp_forget(ibqp);
	if (qp->mem)
		munmap(qp->mem, qp->bytes);
	pthread_spin_destroy(&qp->lock);
	free(qp);
	return 0;
}

static struct ibv_qp *kfi_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct {
		struct ib_uverbs_create_qp_resp core;
		struct kfi_ib_queue_resp queue;
	} resp = {};
	struct kfi_qp *qp = calloc(1, sizeof(*qp));
	struct create_qp cmd = {};

	if (!qp)
		return NULL;
	if (!created(qp, ibv_cmd_create_qp(pd, &qp->qp, attr, &cmd, sizeof(cmd), &resp.core,
					   sizeof(resp))))
		return NULL;
	pthread_spin_init(&qp->lock, PTHREAD_PROCESS_PRIVATE);
	qp->depth = attr->cap.max_recv_wr;
	qp->sge = attr->cap.max_recv_sge;
	qp->bytes = resp.queue.bytes;
	if (!qp->bytes)		/* it has a shared receive queue */
		return &qp->qp;
	qp->mem = queue_map(pd->context, &resp.queue);
	if (qp->mem)
		return &qp->qp;
	/* libibverbs fills these in later. */
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	kfi_destroy_qp(&qp->qp);
	errno = ENOMEM;
	return NULL;
}

/* Write a receive, of which the kernel learns by &kfi_ib_rq.head; the lock is held. */
static int recv_write(struct kfi_qp *qp, const struct ibv_recv_wr *wr)
{
	size_t size = sizeof(struct kfi_ib_recv) + qp->sge * sizeof(struct kfi_ib_sge);
	struct kfi_ib_recv *to;
	int i;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sge)
		return EINVAL;
	if (qp->head - __atomic_load_n(&qp->mem->tail, __ATOMIC_ACQUIRE) >= qp->depth)
		return ENOMEM;
	to = (void *)(qp->mem->slots + size * (qp->head & (qp->depth - 1)));
	to->wr_id = wr->wr_id;
	to->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		to->sge[i] = (struct kfi_ib_sge){
			wr->sg_list[i].addr, wr->sg_list[i].length, wr->sg_list[i].lkey,
		};
	qp->head++;
	return 0;
}

/*
 * What the kernel finds wrong with an element ends the queue pair, as what a device finds: the
 * receive ends with IBV_WC_LOC_PROT_ERR.
 */
static int kfi_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct kfi_qp *qp = (struct kfi_qp *)ibqp;
	struct ibv_recv_wr *first = wr, *none;
	int err = 0, told = 0;
	bool wake;

	if (!qp->mem) {
		*bad = wr;
		return EINVAL;
	}
	pthread_spin_lock(&qp->lock);
	for (; wr; wr = wr->next) {
		err = recv_write(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	__atomic_store_n(&qp->mem->head, qp->head, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wake = __atomic_load_n(&qp->mem->wake, __ATOMIC_RELAXED);
	pthread_spin_unlock(&qp->lock);
	if (wake)
		told = ibv_cmd_post_recv(ibqp, NULL, &none);
	/* After another error than this one the receives are there, and the next post tells it. */
	if (told == EIO && !err) {	/* the device is gone, and the receives with it */
		*bad = first;
		return told;
	}
	return err;
}

static int kfi_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct modify_qp cmd = {};
	int err = ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));

	if (!err && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		qp_forget(qp);
	return err;
}

static int kfi_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	struct query_qp cmd = {};

	return ibv_cmd_query_qp(qp, attr, mask, init, &cmd, sizeof(cmd));
}

/* ---- contexts, devices ---- */

static void kfi_free_context(struct ibv_context *ibctx)
{
	struct verbs_context *ctx = verbs_get_ctx(ibctx);

	verbs_uninit_context(ctx);
	free(ctx);
}

static const struct verbs_context_ops ctx_ops = {
	.alloc_pd	 = kfi_alloc_pd,
	.create_ah	 = kfi_create_ah,
	.create_cq	 = kfi_create_cq,
	.create_qp	 = kfi_create_qp,
	.create_srq	 = kfi_create_srq,
	.dealloc_pd	 = kfi_dealloc_pd,
	.dereg_mr	 = kfi_dereg_mr,
	.destroy_ah	 = kfi_destroy_ah,
	.destroy_cq	 = kfi_destroy_cq,
	.destroy_qp	 = kfi_destroy_qp,
	.destroy_srq	 = kfi_destroy_srq,
	.free_context	 = kfi_free_context,
	.modify_qp	 = kfi_modify_qp,
	.modify_srq	 = kfi_modify_srq,
	.poll_cq	 = kfi_poll_cq,
	.post_recv	 = kfi_post_recv,
	.post_send	 = ibv_cmd_post_send,
	.post_srq_recv	 = ibv_cmd_post_srq_recv,
	.query_device_ex = kfi_query_device,
	.query_port	 = kfi_query_port,
	.query_qp	 = kfi_query_qp,
	.query_srq	 = kfi_query_srq,
	.reg_mr		 = kfi_reg_mr,
	.req_notify_cq	 = kfi_req_notify_cq,
};

static struct verbs_context *kfi_alloc_context(struct ibv_device *device, int fd,
					       void *private_data)
{
	struct ib_uverbs_get_context_resp resp;
	struct verbs_context *ctx;
	struct get_context cmd = {};

	ctx = _verbs_init_and_alloc_context(device, fd, sizeof(*ctx), NULL, KFI_IB_DRIVER_ID);
	if (!ctx)
		return NULL;
	if (ibv_cmd_get_context(ctx, &cmd, sizeof(cmd), &resp, sizeof(resp))) {
		kfi_free_context(&ctx->context);
		return NULL;
	}
	verbs_set_ops(ctx, &ctx_ops);
	return ctx;
}

static struct verbs_device *kfi_alloc_device(struct verbs_sysfs_dev *dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void kfi_uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_match_ent matches[] = {
	{ .driver_id = KFI_IB_DRIVER_ID, .kind = VERBS_MATCH_DRIVER_ID },
	{},
};

static const struct verbs_device_ops device_ops = {
	.name			= "kfi",
	.match_min_abi_version	= KIB_UVERBS_ABI_VERSION,
	.match_max_abi_version	= KIB_UVERBS_ABI_VERSION,
	.match_table		= matches,
	.alloc_context		= kfi_alloc_context,
	.alloc_device		= kfi_alloc_device,
	.uninit_device		= kfi_uninit_device,
};

static void __attribute__((constructor)) kfi_register(void)
{
	verbs_register_driver_34(&device_ops);
}
