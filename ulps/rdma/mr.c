// SPDX-License-Identifier: GPL-2.0
/*
 * mr.c - regions of fast registrations. A region is a per-I/O region of kfabric; the ULP chooses
 * the lower byte of its key, and names the key in a message before it is registered.
 *
 * An element of a scatterlist becomes an entry of the region as it is: kfabric's regions have no
 * pages. So a region takes what ib_sg_to_pages() would take, and with IB_MR_TYPE_SG_GAPS any list.
 *
 * A region that is registered without rights of peers is for requests of this side alone, which
 * kfabric serves without a key. So it is not registered at all: KIB_MR_LOCAL.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "kib.h"

#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_RELAXED_ORDERING)

static void mr_ended(struct kfi_mr_work *work, int err);

/* ---- life ---- */

/* Give the region a key, by which kib_mr_find() finds @entry. */
int kib_mr_number(struct kib_dev *dev, struct kib_mr *mr, void *entry)
{
	u32 index;
	int ret = xa_alloc_cyclic(&dev->mrs, &index, entry, XA_LIMIT(1, 0xfffffe), &dev->next_mr,
				  GFP_KERNEL_ACCOUNT);

	if (ret < 0)
		return ret;
	mr->key = index << 8;
	mr->ib.lkey = index << 8;
	mr->ib.rkey = index << 8;
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
	mr->work.done = mr_ended;
	spin_lock_init(&mr->lock);
	INIT_LIST_HEAD(&mr->waiters);
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
	ret = kib_mr_number(to_kib_dev(pd->device), mr, mr);
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

/* End what is registered, and wait until peers can't use the region any more. */
static void mr_end(struct kib_mr *mr)
{
	DECLARE_COMPLETION_ONSTACK(ended);
	bool lasts;

	kib_mr_invalidate(mr, READ_ONCE(mr->key), NULL);
	spin_lock_bh(&mr->lock);
	lasts = mr->state == KIB_MR_ENDING;
	if (lasts)
		mr->ended = &ended;
	spin_unlock_bh(&mr->lock);
	if (lasts)
		wait_for_completion(&ended);
}

/* No request of the kernel uses the region any more, but peers may. */
int kib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct kib_mr *mr = to_kib_mr(ib);

	xa_erase(&to_kib_dev(ib->device)->mrs, mr->ib.rkey >> 8);
	kib_local_wait();
	mr_end(mr);
	if (mr->mr)
		WARN_ON(kfi_close(&mr->mr->fid));
	if (mr->umem) {
		kib_user_mr_put(mr);
		return 0;
	}
	kvfree(mr->vec);
	kfree_rcu(mr, rcu);
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

/*
 * Copy the entries of a part of the region. Return: their number, or 0 if the part is not in the
 * region; with @to NULL only that
 */
unsigned int kib_mr_part(const struct kib_mr *mr, u64 addr, u32 len, struct bio_vec *to)
{
	u64 at = addr - mr->ib.iova;
	unsigned int i, n = 0;
	u32 skip, take;

	if (!len || at > mr->ib.length || len > mr->ib.length - at)
		return 0;
	for (i = 0; i < mr->nr && len; i++) {
		skip = min_t(u64, at, mr->vec[i].bv_len);
		at -= skip;
		take = min(len, mr->vec[i].bv_len - skip);
		if (!take)
			continue;
		if (to)
			to[n] = (struct bio_vec) {
				.bv_page = mr->vec[i].bv_page, .bv_len = take,
				.bv_offset = mr->vec[i].bv_offset + skip,
			};
		len -= take;
		n++;
	}
	return n;
}

/* ---- registration ---- */

/* Return: the region with this key, in an RCU section or until the ULP destroys it; or NULL */
struct kib_mr *kib_mr_find(struct kib_dev *dev, struct ib_pd *pd, u32 key)
{
	struct kib_mr *mr = xa_load(&dev->mrs, key >> 8);

	return mr && mr->ib.pd == pd && READ_ONCE(mr->key) == key ? mr : NULL;
}

static void mr_set(struct kib_mr *mr, u32 key, enum kib_mr_state state)
{
	spin_lock_bh(&mr->lock);
	WRITE_ONCE(mr->key, key);
	mr->state = state;
	spin_unlock_bh(&mr->lock);
}

static bool mr_is(struct kib_mr *mr, u32 key, enum kib_mr_state state)
{
	lockdep_assert_held(&mr->lock);
	return mr->key == key && mr->state == state;
}

/* May requests of this side use the memory by this key? */
bool kib_mr_usable(struct kib_mr *mr, u32 key)
{
	bool usable;

	spin_lock_bh(&mr->lock);
	usable = mr_is(mr, key, KIB_MR_LOCAL) || mr_is(mr, key, KIB_MR_SHARED);
	spin_unlock_bh(&mr->lock);
	return usable;
}

/* Called for one request at a time. Return: 0, -EAGAIN, or another negative error */
int kib_mr_register(struct kib_mr *mr, u32 key, u32 access)
{
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = mr->vec, .iov_count = mr->nr, .offset = mr->ib.iova,
		.requested_key = key, .access = kib_rights(access),
	};
	int ret;

	if (access & ~MR_ACCESS || !mr->nr || key >> 8 != mr->key >> 8 ||
	    READ_ONCE(mr->state) != KIB_MR_FREE)
		return -EINVAL;
	WRITE_ONCE(mr->access, access);
	ret = attr.access ? kfi_mr_register(mr->mr, &attr, NULL) : 0;
	if (!ret)
		mr_set(mr, key, attr.access ? KIB_MR_SHARED : KIB_MR_LOCAL);
	return ret;
}

/* The peer has ended the registration with this key, unless this side does so at the moment. */
void kib_mr_invalidated(struct kib_mr *mr, u32 key)
{
	spin_lock_bh(&mr->lock);
	if (mr_is(mr, key, KIB_MR_SHARED))
		mr->state = KIB_MR_FREE;
	spin_unlock_bh(&mr->lock);
}

/*
 * The region is kept by the RCU section, and so are the queue pairs of the slots: kib_dereg_mr()
 * and kib_destroy_qp() may find that they wait for nothing any more.
 */
static void mr_ended(struct kfi_mr_work *work, int err)
{
	struct kib_mr *mr = container_of(work, struct kib_mr, work);
	struct kib_slot *s, *next;
	struct kib_qp *qp;
	LIST_HEAD(waiters);

	rcu_read_lock();
	spin_lock_bh(&mr->lock);
	mr->state = KIB_MR_FREE;
	list_splice_init(&mr->waiters, &waiters);
	if (mr->ended)
		complete(mr->ended);
	spin_unlock_bh(&mr->lock);
	local_bh_disable();
	list_for_each_entry_safe(s, next, &waiters, wait) {
		qp = s->qp;
		s->ended(s);	/* from here on another request may have the slot */
		kib_qp_run(qp);
	}
	local_bh_enable();
	rcu_read_unlock();
}

/*
 * End the registration with this key. Return: true if that lasts: then &kib_slot.ended of @s will
 * be called, possibly before this function returns, if there is @s. false: no peer can use the
 * memory by this key
 */
bool kib_mr_invalidate(struct kib_mr *mr, u32 key, struct kib_slot *s)
{
	bool begin, lasts;

	spin_lock_bh(&mr->lock);
	if (mr_is(mr, key, KIB_MR_LOCAL))
		mr->state = KIB_MR_FREE;
	begin = mr_is(mr, key, KIB_MR_SHARED);
	if (begin)
		mr->state = KIB_MR_ENDING;
	lasts = mr_is(mr, key, KIB_MR_ENDING);
	if (lasts && s)
		list_add_tail(&s->wait, &mr->waiters);
	spin_unlock_bh(&mr->lock);
	if (begin && kfi_mr_invalidate(mr->mr, &mr->work))
		mr_ended(&mr->work, 0);		/* the peer has done so */
	return lasts;
}
