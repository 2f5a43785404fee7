// SPDX-License-Identifier: GPL-2.0
/*
 * mr.c - regions of fast registrations. A region is a per-I/O region of kfabric; the ULP chooses
 * the lower byte of its key, and names the key in a message before it is registered.
 *
 * An element of a scatterlist becomes an entry of the region as it is: kfabric's regions have no
 * pages. So a region takes what ib_sg_to_pages() would take, and with IB_MR_TYPE_SG_GAPS any list.
 *
 * A read of an iWARP device goes to a region. Its key is told to nobody, and kfabric reads into
 * memory without one, so such a region is not registered at all: KIB_MR_LOCAL.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "kib.h"

#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_RELAXED_ORDERING)

/* ---- life ---- */

static int mr_enter(struct kib_dev *dev, struct kib_mr *mr)
{
	u32 index;
	int ret = xa_alloc_cyclic(&dev->mrs, &index, mr, XA_LIMIT(1, 0xfffffe), &dev->next_mr,
				  GFP_KERNEL);

	if (ret < 0)
		return ret;
	mr->key = index << 8;
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	return 0;
}

static struct kib_mr *mr_new(struct kib_pd *pd, unsigned int max)
{
	struct kib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!mr)
		return ERR_PTR(ret);
	mr->max = max;
	mr->boundary = pd->boundary;
	mr->vec = kvcalloc(max, sizeof(*mr->vec), GFP_KERNEL);
	if (mr->vec)
		ret = kfi_mr_alloc(pd->domain, max, 0, &mr->mr, mr);
	if (!ret)
		return mr;
	kvfree(mr->vec);
	kfree(mr);
	return ERR_PTR(ret);
}

struct ib_mr *kib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	struct kib_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max || max > KIB_MAX_PAGES || (type == IB_MR_TYPE_SG_GAPS && to_kib_pd(pd)->boundary))
		return ERR_PTR(-EINVAL);
	mr = mr_new(to_kib_pd(pd), max);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = mr_enter(to_kib_dev(pd->device), mr);
	if (!ret)
		return &mr->ib;
	WARN_ON(kfi_close(&mr->mr->fid));
	kvfree(mr->vec);
	kfree(mr);
	return ERR_PTR(ret);
}

/* No region has all memory: a ULP that gives peers such a key can't use this device. */
struct ib_mr *kib_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

struct mr_end {
	struct kfi_mr_work	work;
	struct completion	ended;
};

static void mr_ended(struct kfi_mr_work *work, int err)
{
	complete(&container_of(work, struct mr_end, work)->ended);
}

/* No request uses the region any more, but peers may. */
int kib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct mr_end end = { .work.done = mr_ended };
	struct kib_mr *mr = to_kib_mr(ib);

	xa_erase(&to_kib_dev(ib->device)->mrs, mr->key >> 8);
	init_completion(&end.ended);
	if (mr->state == KIB_MR_SHARED && !kfi_mr_invalidate(mr->mr, &end.work))
		wait_for_completion(&end.ended);
	WARN_ON(kfi_close(&mr->mr->fid));
	kvfree(mr->vec);
	kfree_rcu(mr, rcu);	/* kib_mr_find() */
	return 0;
}

/* ---- memory ---- */

/* May an element follow the one that ends at @end? */
static bool mr_follows(const struct kib_mr *mr, u64 end, u64 begin)
{
	return !((end | begin) & mr->boundary);
}

/* Return: the number of elements that fit */
int kib_map_mr_sg(struct ib_mr *ib, struct scatterlist *sgl, int nents, unsigned int *offset)
{
	unsigned int skip = offset ? *offset : 0, len;
	struct kib_mr *mr = to_kib_mr(ib);
	struct scatterlist *sg;
	u64 addr, end = 0;
	int i;

	mr->nr = 0;
	ib->length = 0;
	for_each_sg(sgl, sg, nents, i) {
		addr = sg_dma_address(sg) + skip;
		len = sg_dma_len(sg) - skip;
		skip = 0;
		if (!i)
			ib->iova = addr;
		else if (mr->nr == mr->max || !mr_follows(mr, end, addr))
			break;
		bvec_set_page(&mr->vec[mr->nr++], ib_virt_dma_to_page(addr), len,
			      offset_in_page(addr));
		ib->length += len;
		end = addr + len;
	}
	if (offset)
		*offset = 0;
	return i;
}

/* ---- registration ---- */

/* Return: the region with this key, in an RCU section or until the ULP destroys it; or NULL */
struct kib_mr *kib_mr_find(struct kib_dev *dev, struct ib_pd *pd, u32 key)
{
	struct kib_mr *mr = xa_load(&dev->mrs, key >> 8);

	return mr && mr->ib.pd == pd && READ_ONCE(mr->key) == key ? mr : NULL;
}

/* Return: 0, -EAGAIN, or another negative error */
int kib_mr_register(struct kib_mr *mr, u32 key, u32 access)
{
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = mr->vec, .iov_count = mr->nr, .offset = mr->ib.iova,
		.requested_key = key,
	};
	int ret;

	if (access & ~MR_ACCESS || !mr->nr || key >> 8 != mr->key >> 8 ||
	    mr->state != KIB_MR_FREE)
		return -EINVAL;
	if (access & IB_ACCESS_REMOTE_READ)
		attr.access |= KFI_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_WRITE)
		attr.access |= KFI_REMOTE_WRITE;
	ret = attr.access ? kfi_mr_register(mr->mr, &attr, NULL) : 0;
	if (ret)
		return ret;
	WRITE_ONCE(mr->key, key);
	WRITE_ONCE(mr->state, attr.access ? KIB_MR_SHARED : KIB_MR_LOCAL);
	return 0;
}

/*
 * End the registration. Return: 0 if the done() of @work will be called; -EALREADY if there is no
 * registration, because the peer has ended it.
 */
int kib_mr_invalidate(struct kib_mr *mr, struct kfi_mr_work *work)
{
	enum kib_mr_state state = READ_ONCE(mr->state);
	int ret = -EALREADY;

	WRITE_ONCE(mr->state, KIB_MR_FREE);
	if (state == KIB_MR_SHARED)
		ret = kfi_mr_invalidate(mr->mr, work);
	return ret == -KFI_EOPBADSTATE ? -EALREADY : ret;
}
