// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kfi.c - the provider of rdma-core for the devices of kfi_ib
 *
 * Nothing is mapped: each post and each poll is a command of uverbs, as are all others, so that
 * the kernel has all state. libibverbs has the functions that make these commands.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "../../include/kfi_ib.h"
#include "private.h"

/*
 * The kernel stores the number of a completion's queue pair for one reader of a queue at a time.
 */
struct kfi_cq {
	struct ibv_cq	cq;
	pthread_mutex_t	lock;
};

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

/* ---- completion queues ---- */

static struct ibv_cq *kfi_create_cq(struct ibv_context *ctx, int cqe,
				    struct ibv_comp_channel *channel, int vector)
{
	struct ib_uverbs_create_cq_resp resp;
	struct kfi_cq *cq = calloc(1, sizeof(*cq));
	struct create_cq cmd = {};

	if (!cq)
		return NULL;
	pthread_mutex_init(&cq->lock, NULL);
	return created(cq, ibv_cmd_create_cq(ctx, cqe, channel, vector, &cq->cq, &cmd, sizeof(cmd),
					     &resp, sizeof(resp)));
}

static int kfi_destroy_cq(struct ibv_cq *cq)
{
	return destroyed(cq, ibv_cmd_destroy_cq(cq));
}

static int kfi_poll_cq(struct ibv_cq *ibcq, int nr, struct ibv_wc *wc)
{
	struct kfi_cq *cq = (struct kfi_cq *)ibcq;
	int ret;

	pthread_mutex_lock(&cq->lock);
	ret = ibv_cmd_poll_cq(ibcq, nr, wc);
	pthread_mutex_unlock(&cq->lock);
	return ret;
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

static struct ibv_qp *kfi_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp;
	struct ibv_qp *qp = calloc(1, sizeof(*qp));
	struct create_qp cmd = {};

	if (!qp)
		return NULL;
	return created(qp, ibv_cmd_create_qp(pd, qp, attr, &cmd, sizeof(cmd), &resp,
					     sizeof(resp)));
}

static int kfi_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct modify_qp cmd = {};

	return ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
}

static int kfi_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	struct query_qp cmd = {};

	return ibv_cmd_query_qp(qp, attr, mask, init, &cmd, sizeof(cmd));
}

static int kfi_destroy_qp(struct ibv_qp *qp)
{
	return destroyed(qp, ibv_cmd_destroy_qp(qp));
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
	.create_cq	 = kfi_create_cq,
	.create_qp	 = kfi_create_qp,
	.create_srq	 = kfi_create_srq,
	.dealloc_pd	 = kfi_dealloc_pd,
	.dereg_mr	 = kfi_dereg_mr,
	.destroy_cq	 = kfi_destroy_cq,
	.destroy_qp	 = kfi_destroy_qp,
	.destroy_srq	 = kfi_destroy_srq,
	.free_context	 = kfi_free_context,
	.modify_qp	 = kfi_modify_qp,
	.modify_srq	 = kfi_modify_srq,
	.poll_cq	 = kfi_poll_cq,
	.post_recv	 = ibv_cmd_post_recv,
	.post_send	 = ibv_cmd_post_send,
	.post_srq_recv	 = ibv_cmd_post_srq_recv,
	.query_device_ex = kfi_query_device,
	.query_port	 = kfi_query_port,
	.query_qp	 = kfi_query_qp,
	.query_srq	 = kfi_query_srq,
	.reg_mr		 = kfi_reg_mr,
	.req_notify_cq	 = ibv_cmd_req_notify_cq,
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
