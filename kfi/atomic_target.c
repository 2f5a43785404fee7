// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations at their target: checks, locks, access to the memory.
 *
 * Each granule of 64 bytes of physical memory has a lock, chosen by a hash of its physical address.
 * Two operations on the same bytes take the same lock, whichever endpoint, domain, provider or
 * alias of the memory they use, and whatever their data types are: a naturally aligned element lies
 * in one granule. Granules share locks, so operations on different memory rarely contend.
 *
 * Loads and stores by the owner of the memory take no lock. They see whole elements of up to a
 * machine word, but a read-modify-write by the owner is not atomic with respect to operations of
 * peers.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "atomic.h"

#define GRANULE		64	/* bytes; a multiple of every element, a divisor of a page */
#define LOCK_BITS	8

/*
 * Each lock protects the bytes of all granules that hash to it. A leaf lock, taken with bottom
 * halves off; no two of them are held at once.
 */
static struct {
	spinlock_t lock;
} ____cacheline_aligned_in_smp granule_locks[1 << LOCK_BITS];

void kfi_atomic_init(void)
{
	unsigned int i;

	for (i = 0; i < 1 << LOCK_BITS; i++)	/* no ARRAY_SIZE(): without SMP its size is 0 */
		spin_lock_init(&granule_locks[i].lock);
}

static spinlock_t *granule_lock(phys_addr_t at)
{
	return &granule_locks[hash_64(at / GRANULE, LOCK_BITS)].lock;
}

/* ---- memory ---- */

/*
 * Elements at the front of a region's iterator that lie in one granule and in one segment. @len is
 * in bytes.
 */
struct piece {
	void		*at;
	phys_addr_t	phys;
	size_t		len;
};

/* Length of such a piece. Returns 0 if an element is not naturally aligned or crosses a segment. */
static size_t piece_len(const struct iov_iter *it, size_t size)
{
	size_t left, at;

	if (iov_iter_is_kvec(it)) {
		left = it->kvec->iov_len - it->iov_offset;
		at = (unsigned long)it->kvec->iov_base + it->iov_offset;
	} else {
		left = it->bvec->bv_len - it->iov_offset;
		at = it->bvec->bv_offset + it->iov_offset;
	}
	if (at % size)
		return 0;
	return rounddown(min3(left, GRANULE - at % GRANULE, iov_iter_count(it)), size);
}

static phys_addr_t kvec_phys(const void *p)
{
	const struct page *page;

	if (virt_addr_valid(p))
		return virt_to_phys((void *)p);
	page = vmalloc_to_page(p);
	/*
	 * Memory without a struct page has no alias, so its virtual address identifies it as well.
	 */
	return page ? page_to_phys(page) + offset_in_page(p) : (unsigned long)p;
}

static void piece_map(const struct iov_iter *it, struct piece *piece)
{
	const struct bio_vec *bv;
	struct page *page;
	size_t off;

	if (iov_iter_is_kvec(it)) {
		piece->at = it->kvec->iov_base + it->iov_offset;
		piece->phys = kvec_phys(piece->at);
		return;
	}
	bv = it->bvec;
	off = bv->bv_offset + it->iov_offset;
	page = bv->bv_page + off / PAGE_SIZE;
	piece->at = kmap_local_page(page) + offset_in_page(off);
	piece->phys = page_to_phys(page) + offset_in_page(off);
}

static void piece_unmap(const struct iov_iter *it, const struct piece *piece)
{
	if (!iov_iter_is_kvec(it))
		kunmap_local(piece->at);
}

/* ---- one segment; inside the RCU section in which the region was found to be live ---- */

/* Does the segment consist of whole, aligned elements? */
static bool segment_ok(struct iov_iter it, size_t size)
{
	size_t n;

	while (iov_iter_count(&it)) {
		n = piece_len(&it, size);
		if (!n)
			return false;
		iov_iter_advance(&it, n);
	}
	return true;
}

/*
 * Copy operands in before the lock is taken, and previous values out after it is released, through
 * the stack: the lock is held for the arithmetic only.
 */
static void piece_apply(struct kfi_atomic *a, const struct piece *piece, size_t size)
{
	struct {
		u8 operand[GRANULE], compare[GRANULE], old[GRANULE];
	} on __aligned(16) = {};
	spinlock_t *lock = granule_lock(piece->phys);
	size_t i;

	if (iov_iter_count(&a->operand))
		WARN_ON_ONCE(kfi_copy_from(on.operand, &a->operand, piece->len) != piece->len);
	if (iov_iter_count(&a->compare))
		WARN_ON_ONCE(kfi_copy_from(on.compare, &a->compare, piece->len) != piece->len);
	spin_lock_bh(lock);
	for (i = 0; i < piece->len; i += size)
		kfi_atomic_element(a->op, a->datatype, piece->at + i, on.operand + i,
				   on.compare + i, on.old + i);
	spin_unlock_bh(lock);
	if (iov_iter_count(&a->result))
		WARN_ON_ONCE(kfi_copy_to(&a->result, on.old, piece->len) != piece->len);
}

static void segment_apply(struct kfi_atomic *a, struct iov_iter *it, size_t size)
{
	struct piece piece;

	while (iov_iter_count(it)) {
		piece.len = piece_len(it, size);
		piece_map(it, &piece);
		piece_apply(a, &piece, size);
		piece_unmap(it, &piece);
		iov_iter_advance(it, piece.len);
	}
}

u64 kfi_atomic_word(u64 *at, enum kfi_op op, u64 operand, u64 compare)
{
	spinlock_t *lock = granule_lock(kvec_phys(at));
	u64 old;

	spin_lock_bh(lock);
	kfi_atomic_element(op, KFI_UINT64, at, &operand, &compare, &old);
	spin_unlock_bh(lock);
	return old;
}
EXPORT_SYMBOL_GPL(kfi_atomic_word);

/* ---- the operation ---- */

/* The rights that a region has to have, and the endpoint, if it limits those of its peers */
static u64 atomic_access(const struct kfi_ep *ep, const struct kfi_atomic *a)
{
	if (READ_ONCE(ep->remote_chosen))
		return KFI_ATOMIC;
	if (a->code == KFI_OPC_ATOMIC)
		return KFI_REMOTE_WRITE;
	return a->op == KFI_ATOMIC_READ ? KFI_REMOTE_READ : KFI_REMOTE_READ | KFI_REMOTE_WRITE;
}

static bool atomic_lengths_ok(const struct kfi_atomic *a, const struct kfi_rma_iov *segs,
			      unsigned int count)
{
	size_t left = a->len;
	unsigned int i;

	if (!left || iov_iter_count(&a->operand) != (a->op == KFI_ATOMIC_READ ? 0 : left) ||
	    iov_iter_count(&a->compare) != (a->code == KFI_OPC_COMPARE_ATOMIC ? left : 0) ||
	    iov_iter_count(&a->result) != (a->code == KFI_OPC_ATOMIC ? 0 : left))
		return false;
	for (i = 0; i < count; i++) {
		if (segs[i].len > left)
			return false;
		left -= segs[i].len;
	}
	return count && !left;
}

/*
 * Handle one segment. With @apply perform the operation and return the region with a reference,
 * otherwise check that the operation could be performed and return NULL. All of it runs in one RCU
 * section: either the whole segment is changed, or the region was dead before and nothing is.
 */
static struct kfi_mr *atomic_segment(struct kfi_ep *ep, struct kfi_atomic *a,
				     const struct kfi_rma_iov *seg, bool apply)
{
	size_t size = kfi_atomic_size(a->datatype);
	struct iov_iter it;
	struct kfi_mr *mr;
	int err = 0;

	mr = kfi_mr_get(ep, seg->key, seg->addr, seg->len, atomic_access(ep, a), &it);
	if (IS_ERR(mr))
		return mr;
	rcu_read_lock();
	if (!kfi_mr_live(mr, seg->key))
		err = -EACCES;
	else if (!segment_ok(it, size))
		err = -EINVAL;
	else if (apply)
		segment_apply(a, &it, size);
	rcu_read_unlock();
	if (!err && apply)
		return mr;
	kfi_mr_put(mr);
	return ERR_PTR(err);
}

struct kfi_mr *kfi_atomic_perform(struct kfi_ep *ep, struct kfi_atomic *a,
				  const struct kfi_rma_iov *segs, unsigned int count)
{
	struct kfi_mr *mr = NULL, *next;
	unsigned int i;

	/*
	 * An endpoint that was opened without KFI_ATOMIC does not let peers change its memory this
	 * way.
	 */
	if (!(ep->caps & KFI_ATOMIC))
		return ERR_PTR(-EACCES);
	if (!kfi_atomic_valid(a->code, a->op, a->datatype))
		return ERR_PTR(-EOPNOTSUPP);
	if (!atomic_lengths_ok(a, segs, count))
		return ERR_PTR(-EINVAL);
	for (i = 0; i < count; i++) {
		next = atomic_segment(ep, a, &segs[i], false);
		if (IS_ERR(next))
			return next;
	}
	for (i = 0; i < count; i++) {
		next = atomic_segment(ep, a, &segs[i], true);
		if (mr)
			kfi_mr_put(mr);
		if (IS_ERR(next))	/* not -EACCES, which reports that nothing was changed */
			return i ? ERR_PTR(-EREMOTEIO) : next;
		mr = next;
	}
	return mr;
}
EXPORT_SYMBOL_GPL(kfi_atomic_perform);
