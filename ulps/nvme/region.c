// SPDX-License-Identifier: GPL-2.0
/*
 * region.c - memory of a request, which the target reads and writes.
 *
 * Each tag of a queue has a memory region of its own. If the data of a request is not in the
 * capsule, its pages are attached to the region, the SQE names the region, and the request
 * completes only after the region was detached: by the target, with the message that has the CQE,
 * or else by the host.
 */
#include <linux/blk-mq.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "host.h"

static bool kfn_work_get(struct kfn_queue *queue)
{
	return atomic_inc_not_zero(&queue->works);
}

static void kfn_work_put(struct kfn_queue *queue)
{
	if (atomic_dec_and_test(&queue->works))
		wake_up(&queue->idle);
}

static struct kfid_mr *kfn_region(struct kfn_req *req)
{
	return req->queue->mrs[blk_mq_rq_from_pdu(req)->tag];
}

/* ---- attach ---- */

static bool kfn_adjacent(const struct bio_vec *a, const struct bio_vec *b)
{
	return page_to_phys(a->bv_page) + a->bv_offset + a->bv_len ==
	       page_to_phys(b->bv_page) + b->bv_offset;
}

/**
 * kfn_request_vec() - collect the pieces of memory of a request
 * @rq: request with data
 * @vec: where to put them
 * @room: number of pieces that fit
 *
 * Contiguous memory is one piece: &kfi_domain_limits.virt_boundary_mask, which is a limit of the
 * block queues, applies to such pieces.
 *
 * Return: number of pieces, or 0 if there are more than @room.
 */
unsigned int kfn_request_vec(struct request *rq, struct bio_vec *vec, unsigned int room)
{
	struct req_iterator iter;
	struct bio_vec bv;
	unsigned int n = 0;

	if (rq->rq_flags & RQF_SPECIAL_PAYLOAD) {
		vec[0] = rq->special_vec;
		return 1;
	}
	rq_for_each_bvec(bv, rq, iter) {
		if (n && kfn_adjacent(&vec[n - 1], &bv)) {
			vec[n - 1].bv_len += bv.bv_len;
			continue;
		}
		if (WARN_ON_ONCE(n == room))
			return 0;
		vec[n++] = bv;
	}
	return n;
}

static void kfn_region_name(struct kfn_req *req, u32 len)
{
	struct nvme_keyed_sgl_desc *sgl = &req->cmd.common.dptr.ksgl;

	sgl->addr = cpu_to_le64(kfi_mr_addr(kfn_region(req)));
	put_unaligned_le24(len, sgl->length);
	put_unaligned_le32(req->key, sgl->key);
	sgl->type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
}

/**
 * kfn_region_register() - attach a request's data and put the region into its SQE
 * @req: request
 * @rq: the same
 *
 * The caller does not wait for the registration: it takes effect before the target can react to the
 * command. An answer that a malicious target sends before it has the command does not complete the
 * request, because queue_rq counts in @pending.
 *
 * Return: 0; -EAGAIN, or another negative error.
 */
int kfn_region_register(struct kfn_req *req, struct request *rq)
{
	struct kfn_queue *queue = req->queue;
	struct bio_vec *vec = &queue->vecs[rq->tag * KFN_PAGES_MAX];
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC,
		.mr_biov = vec,
		.access = rq_data_dir(rq) == WRITE ? KFI_REMOTE_READ :
			  KFI_REMOTE_WRITE | (READ_ONCE(kfn_verify) ? KFI_REMOTE_READ : 0),
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	int ret;

	attr.iov_count = kfn_request_vec(rq, vec, KFN_PAGES_MAX);
	if (!attr.iov_count)
		return -EINVAL;
	ret = kfi_mr_register(kfn_region(req), &attr, NULL);
	if (ret)
		return ret;
	req->key = kfi_mr_key(kfn_region(req));
	set_bit(KFN_R_ATTACHED, &req->flags);
	kfn_region_name(req, blk_rq_payload_bytes(rq));
	return 0;
}

/* ---- detach ---- */

static void kfn_region_gone(struct kfi_mr_work *work, int err)
{
	struct kfn_req *req = container_of(work, struct kfn_req, work);
	struct kfn_queue *queue = req->queue;

	kfn_req_complete(req);
	kfn_work_put(queue);
}

/**
 * kfn_region_detach() - end the target's access to the memory of a request
 * @req: request whose @pending is 0
 *
 * If the queue is being stopped, the stop detaches all regions, and the caller of the stop cancels
 * the request. Then this function does nothing.
 *
 * Return: true if the caller must not complete the request.
 */
bool kfn_region_detach(struct kfn_req *req)
{
	struct kfn_queue *queue = req->queue;

	if (!test_and_clear_bit(KFN_R_ATTACHED, &req->flags))
		return false;
	if (!kfn_work_get(queue))
		return true;
	req->work.done = kfn_region_gone;
	if (!kfi_mr_invalidate(kfn_region(req), &req->work))
		return true;
	kfn_work_put(queue);	/* the target has detached it */
	return false;
}

/* ---- regions ---- */

static int kfn_region_open(struct kfn_queue *queue, struct kfid_mr **mr)
{
	int ret = kfi_mr_alloc(queue->ctrl->kfi.domain, queue->ctrl->pages, 0, mr, NULL);

	if (ret)
		return ret;
	ret = kfi_mr_bind(*mr, &queue->ep->fid, 0);
	if (!ret)
		return 0;
	kfi_close(&(*mr)->fid);
	*mr = NULL;
	return ret;
}

/**
 * kfn_regions_open() - allocate a region for each tag
 * @queue: queue, whose endpoint is open
 *
 * Return: 0, or a negative error with no region left open.
 */
int kfn_regions_open(struct kfn_queue *queue)
{
	unsigned int i;
	int ret = -ENOMEM;

	queue->mrs = kvcalloc(queue->depth, sizeof(*queue->mrs), GFP_KERNEL);
	if (!queue->mrs)
		goto close;
	for (i = 0; i < queue->depth; i++) {
		ret = kfn_region_open(queue, &queue->mrs[i]);
		if (ret)
			goto close;
	}
	return 0;

close:
	kfn_regions_close(queue);
	return ret;
}

/**
 * kfn_regions_quiesce() - wait for invalidations in flight, and let none begin
 * @queue: queue to which no operation is posted any more
 */
void kfn_regions_quiesce(struct kfn_queue *queue)
{
	kfn_work_put(queue);
	wait_event(queue->idle, !atomic_read(&queue->works));
}

struct kfn_detach {
	struct kfi_mr_work	work;
	struct completion	ended;
};

static void kfn_detached(struct kfi_mr_work *work, int err)
{
	complete(&container_of(work, struct kfn_detach, work)->ended);
}

/* Return: 0 if no memory is attached to the region any more, or a negative error. */
static int kfn_region_empty(struct kfid_mr *mr)
{
	struct kfn_detach detach = { .work.done = kfn_detached };
	int ret;

	init_completion(&detach.ended);
	ret = kfi_mr_invalidate(mr, &detach.work);
	if (ret == -KFI_EOPBADSTATE)
		return 0;
	if (!ret)
		wait_for_completion(&detach.ended);
	return ret;
}

/**
 * kfn_regions_detach() - end all access to the memory of requests, and keep the regions
 * @queue: queue after kfn_regions_quiesce(), without a connection
 *
 * Return: 0; or a negative error: the regions have to be closed.
 */
int kfn_regions_detach(struct kfn_queue *queue)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < queue->depth && !ret; i++)
		ret = kfn_region_empty(queue->mrs[i]);
	return ret;
}

/**
 * kfn_regions_close() - end all access to the memory of requests
 * @queue: queue after kfn_regions_quiesce()
 */
void kfn_regions_close(struct kfn_queue *queue)
{
	unsigned int i;

	for (i = 0; queue->mrs && i < queue->depth; i++)
		if (queue->mrs[i])
			WARN_ON(kfi_close(&queue->mrs[i]->fid));
	kvfree(queue->mrs);
	queue->mrs = NULL;
}

/* ---- memory that outlives a connection ---- */

/**
 * kfn_room_free() - free the memory for commands of a queue
 * @queue: queue, whose endpoint is closed: posted operations refer to the memory
 */
void kfn_room_free(struct kfn_queue *queue)
{
	kvfree(queue->rsps);
	kvfree(queue->vecs);
	if (queue->sqes)
		free_pages_exact(queue->sqes, queue->room * sizeof(*queue->sqes));
	queue->rsps = NULL;
	queue->vecs = NULL;
	queue->sqes = NULL;
}

/**
 * kfn_room_make() - get memory for @depth commands: that of the last connection, or new memory
 * @queue: queue without endpoint
 *
 * Return: 0 or -ENOMEM.
 */
int kfn_room_make(struct kfn_queue *queue)
{
	if (queue->sqes && queue->room >= queue->depth)
		return 0;
	kfn_room_free(queue);
	queue->room = queue->depth;
	queue->rsps = kvcalloc(queue->room, sizeof(*queue->rsps), GFP_KERNEL);
	queue->vecs = kvmalloc_array(queue->room, KFN_PAGES_MAX * sizeof(*queue->vecs), GFP_KERNEL);
	queue->sqes = alloc_pages_exact(queue->room * sizeof(*queue->sqes), GFP_KERNEL);
	if (queue->rsps && queue->vecs && queue->sqes)
		return 0;
	kfn_room_free(queue);
	return -ENOMEM;
}
