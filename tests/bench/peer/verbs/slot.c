// SPDX-License-Identifier: GPL-2.0
/*
 * slot.c - prepared work requests, and memory that the peer may write.
 */
#include <linux/mm.h>
#include "rv.h"

static int rv_slot_map(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size,
		       enum dma_data_direction dir)
{
	struct ib_device *ib = end->id->device;

	slot->buf = buf;
	slot->dir = dir;
	slot->sge = (struct ib_sge){ .length = size, .lkey = end->pd->local_dma_lkey };
	if (!size)
		return 0;
	slot->sge.addr = ib_dma_map_single(ib, buf, size, dir);
	if (!ib_dma_mapping_error(ib, slot->sge.addr))
		return 0;
	slot->sge.length = 0;
	return -EIO;
}

/* A receive, which is also posted. */
int rv_slot_recv(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner)
{
	int ret = rv_slot_map(end, slot, buf, size, DMA_FROM_DEVICE);

	slot->owner = owner;
	slot->cqe.done = done;
	slot->recv = (struct ib_recv_wr) {
		.wr_cqe = &slot->cqe, .sg_list = &slot->sge, .num_sge = size ? 1 : 0,
	};
	return ret ?: rv_post_recv(end, slot);
}

/* Inline data is taken from where the processor has it, when the request is posted. */
int rv_slot_send(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner)
{
	bool in_request = size && size <= RV_INLINE;
	int ret = rv_slot_map(end, slot, buf, in_request ? 0 : size, DMA_TO_DEVICE);

	slot->owner = owner;
	slot->cqe.done = done;
	slot->send.wr = (struct ib_send_wr) {
		.wr_cqe = &slot->cqe,
		.sg_list = &slot->sge,
		.num_sge = size ? 1 : 0,
		.opcode = IB_WR_SEND,
	};
	if (in_request) {
		slot->sge.addr = (uintptr_t)buf;
		slot->sge.length = size;
		slot->send.wr.send_flags = IB_SEND_INLINE;
	}
	return ret;
}

/* Also of a slot that was never made. */
void rv_slot_free(struct rv_end *end, struct rv_slot *slot)
{
	if (slot->sge.length && !(slot->send.wr.send_flags & IB_SEND_INLINE))
		ib_dma_unmap_single(end->id->device, slot->sge.addr, slot->sge.length, slot->dir);
	slot->sge.length = 0;
}

/* ---- regions ---- */

struct rv_registration {
	struct ib_cqe		cqe;
	struct completion	done;
	int			err;
};

static void rv_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rv_registration *r = container_of(wc->wr_cqe, struct rv_registration, cqe);

	r->err = wc->status == IB_WC_SUCCESS ? 0 : -EIO;
	complete(&r->done);
}

static int rv_register(struct rv_end *end, struct ib_mr *mr)
{
	struct rv_registration r = { .cqe.done = rv_registered };
	struct ib_reg_wr wr = {
		.wr = { .wr_cqe = &r.cqe, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	init_completion(&r.done);
	ret = ib_post_send(end->qp, &wr.wr, NULL);
	if (ret)
		return ret;
	wait_for_completion(&r.done);	/* a queue pair returns what it was given */
	return r.err;
}

int rv_region_open(struct rv_end *end, struct rv_region *region, struct page *page, u32 size)
{
	struct ib_device *ib = end->id->device;
	struct ib_mr *mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(size, PAGE_SIZE));

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_table(&region->sg, 1);
	sg_set_page(&region->sg, page, size, 0);
	if (!ib_dma_map_sg(ib, &region->sg, 1, DMA_FROM_DEVICE)) {
		ib_dereg_mr(mr);
		return -EIO;
	}
	region->mr = mr;
	if (ib_map_mr_sg(mr, &region->sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	return rv_register(end, mr);
}

/* Also of a region that was never made. */
void rv_region_close(struct rv_end *end, struct rv_region *region)
{
	if (!region->mr)
		return;
	ib_dereg_mr(region->mr);
	ib_dma_unmap_sg(end->id->device, &region->sg, 1, DMA_FROM_DEVICE);
	region->mr = NULL;
}
