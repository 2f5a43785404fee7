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
#include <linux/delay.h>
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
	mr->word = KIB_MR_WORD(index << 8, KIB_MR_FREE);
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

/* Return: whether peers may still use the region */
static bool mr_lasts(struct kib_mr *mr)
{
	kib_mr_invalidate(mr, KIB_MR_KEY(READ_ONCE(mr->word)), NULL);
	return KIB_MR_STATE(smp_load_acquire(&mr->word)) != KIB_MR_FREE; /* pairs with mr_ended() */
}

/* No request uses the region any more, but peers may. */
int kib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct kib_mr *mr = to_kib_mr(ib);

	xa_erase(&to_kib_dev(ib->device)->mrs, mr->ib.rkey >> 8);
	while (mr_lasts(mr))
		usleep_range(20, 200);
	WARN_ON(kfi_close(&mr->mr->fid));
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

	return mr && mr->ib.pd == pd && KIB_MR_KEY(READ_ONCE(mr->word)) == key ? mr : NULL;
}

/* Return: 0, -EAGAIN, or another negative error */
int kib_mr_register(struct kib_mr *mr, u32 key, u32 access)
{
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = mr->vec, .iov_count = mr->nr, .offset = mr->ib.iova,
		.requested_key = key,
	};
	u64 word = READ_ONCE(mr->word);
	int ret;

	if (access & ~MR_ACCESS || !mr->nr || key >> 8 != KIB_MR_KEY(word) >> 8 ||
	    KIB_MR_STATE(word) != KIB_MR_FREE)
		return -EINVAL;
	if (access & IB_ACCESS_REMOTE_READ)
		attr.access |= KFI_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_WRITE)
		attr.access |= KFI_REMOTE_WRITE;
	ret = attr.access ? kfi_mr_register(mr->mr, &attr, NULL) : 0;
	if (!ret)
		WRITE_ONCE(mr->word,
			   KIB_MR_WORD(key, attr.access ? KIB_MR_SHARED : KIB_MR_LOCAL));
	return ret;
}

/* The peer has ended the registration with this key, unless this side does so at the moment. */
void kib_mr_invalidated(struct kib_mr *mr, u32 key)
{
	cmpxchg(&mr->word, KIB_MR_WORD(key, KIB_MR_SHARED), KIB_MR_WORD(key, KIB_MR_FREE));
}

static void mr_wake(struct kib_mr *mr)
{
	struct llist_node *node = llist_del_all(&mr->waiters);
	struct kib_slot *s, *next;

	llist_for_each_entry_safe(s, next, node, wait)
		s->mr_ended(s);
}

/* The waiters may be destroyed with their queue pairs behind the grace period. */
static void mr_ended(struct kfi_mr_work *work, int err)
{
	struct kib_mr *mr = container_of(work, struct kib_mr, work);

	local_bh_disable();
	rcu_read_lock();
	/* pairs with mr_lasts() */
	smp_store_release(&mr->word, KIB_MR_WORD(KIB_MR_KEY(mr->word), KIB_MR_FREE));
	smp_mb();	/* either this finds the slot, or kib_mr_invalidate() the state */
	mr_wake(mr);
	rcu_read_unlock();
	local_bh_enable();
}

/*
 * End the registration with this key. Return: true if that lasts: then @mr_ended() of @s will be
 * called, possibly before this function returns, if there is @s. false: no peer can use the memory,
 * or the key is not that of the region
 */
bool kib_mr_invalidate(struct kib_mr *mr, u32 key, struct kib_slot *s)
{
	const u64 free = KIB_MR_WORD(key, KIB_MR_FREE), ending = KIB_MR_WORD(key, KIB_MR_ENDING);

	cmpxchg(&mr->word, KIB_MR_WORD(key, KIB_MR_LOCAL), free);
	if (cmpxchg(&mr->word, KIB_MR_WORD(key, KIB_MR_SHARED), ending) ==
	    KIB_MR_WORD(key, KIB_MR_SHARED)) {
		mr->work.done = mr_ended;
		if (s)
			llist_add(&s->wait, &mr->waiters);
		if (!kfi_mr_invalidate(mr->mr, &mr->work))
			return true;
		mr_ended(&mr->work, 0);		/* the peer has done so */
		return s;
	}
	if (READ_ONCE(mr->word) != ending || !s)
		return false;
	llist_add(&s->wait, &mr->waiters);
	smp_mb();	/* pairs with mr_ended() */
	if (READ_ONCE(mr->word) != ending)
		mr_wake(mr);
	return true;
}
