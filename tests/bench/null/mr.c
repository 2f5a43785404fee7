// SPDX-License-Identifier: GPL-2.0
/* mr.c - registered memory. DMA addresses are the kernel's virtual addresses. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "null.h"

static DEFINE_XARRAY_ALLOC1(nd_mrs);
static u32 nd_next_mr;

/* ---- allocate and free ---- */

struct ib_mr *nd_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages)
{
	struct nd_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG || max_pages > ND_PAGES)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(struct_size(mr, pages, max_pages), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_pages;
	ret = xa_alloc_cyclic(&nd_mrs, &mr->index, mr, XA_LIMIT(1, (1 << 24) - 1), &nd_next_mr,
			      GFP_KERNEL);
	if (ret < 0) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->ib.lkey = mr->index << 8;
	mr->ib.rkey = mr->index << 8;
	return &mr->ib;
}

int nd_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct nd_mr *mr = to_nd_mr(ib);

	xa_erase(&nd_mrs, mr->index);
	synchronize_rcu();	/* a peer may be reading or writing */
	kfree(mr);
	return 0;
}

static int nd_set_page(struct ib_mr *ib, u64 addr)
{
	struct nd_mr *mr = to_nd_mr(ib);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->npages++] = addr;
	return 0;
}

int nd_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset)
{
	to_nd_mr(ib)->npages = 0;
	return ib_sg_to_pages(ib, sg, nents, offset, nd_set_page);
}

void nd_mr_valid(const struct ib_reg_wr *wr)
{
	struct nd_mr *mr = to_nd_mr(wr->mr);

	mr->access = wr->access;
	mr->ib.lkey = wr->key;
	mr->ib.rkey = wr->key;
	WRITE_ONCE(mr->key, wr->key);
}

static struct nd_mr *nd_mr_find(u32 key)
{
	struct nd_mr *mr = xa_load(&nd_mrs, key >> 8);

	return mr && READ_ONCE(mr->key) == key ? mr : NULL;
}

/* Invalidate a key of the device itself. The key may be invalid already, as with rxe. */
bool nd_mr_invalid(struct ib_device *ib, u32 key)
{
	struct nd_mr *mr = xa_load(&nd_mrs, key >> 8);

	if (!mr || mr->ib.device != ib || (mr->key && mr->key != key))
		return false;
	WRITE_ONCE(mr->key, 0);
	return true;
}

/* ---- RDMA ---- */

static u32 nd_total(const struct ib_send_wr *wr)
{
	u32 total = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total;
}

/* Return the region of a peer, with the protection domain @pd, if it permits this access. */
static struct nd_mr *nd_mr_target(struct ib_pd *pd, const struct ib_rdma_wr *wr, int access)
{
	struct nd_mr *mr = nd_mr_find(wr->rkey);
	u64 at = mr ? wr->remote_addr - mr->ib.iova : 0;

	if (!mr || mr->ib.pd != pd || !(mr->access & access))
		return NULL;
	return at <= mr->ib.length && nd_total(&wr->wr) <= mr->ib.length - at ? mr : NULL;
}

/* Return where @addr is; *@len is limited to the end of the page. */
static void *nd_mr_at(const struct nd_mr *mr, u64 addr, u32 *len)
{
	u64 at = addr - (mr->ib.iova & ~((u64)mr->ib.page_size - 1));
	u32 in_page = at & (mr->ib.page_size - 1);

	*len = min(*len, mr->ib.page_size - in_page);
	return ib_virt_dma_to_ptr(mr->pages[at / mr->ib.page_size] + in_page);
}

/* Return: false if the peer refuses. */
bool nd_mr_write(struct ib_pd *pd, const struct ib_rdma_wr *wr)
{
	struct nd_mr *mr;
	u64 addr = wr->remote_addr;
	u32 done, len;
	void *to;
	int i;

	if (!nd_total(&wr->wr))
		return true;
	mr = nd_mr_target(pd, wr, IB_ACCESS_REMOTE_WRITE);
	if (!mr)
		return false;
	for (i = 0; i < wr->wr.num_sge; i++)
		for (done = 0; done < wr->wr.sg_list[i].length; done += len, addr += len) {
			len = wr->wr.sg_list[i].length - done;
			to = nd_mr_at(mr, addr, &len);
			memcpy(to, ib_virt_dma_to_ptr(wr->wr.sg_list[i].addr) + done, len);
		}
	return true;
}

bool nd_mr_read(struct ib_pd *pd, const struct ib_rdma_wr *wr)
{
	struct nd_place place = { wr->wr.sg_list, wr->wr.num_sge };
	u64 addr = wr->remote_addr;
	u32 left = nd_total(&wr->wr), len;
	struct nd_mr *mr;
	void *from;

	if (!left)
		return true;
	mr = nd_mr_target(pd, wr, IB_ACCESS_REMOTE_READ);
	if (!mr)
		return false;
	for (; left; left -= len, addr += len) {
		len = left;
		from = nd_mr_at(mr, addr, &len);
		nd_put(&place, from, len);
	}
	return true;
}
