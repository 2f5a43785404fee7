// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of a process: their payload, and their end.
 *
 * Payload to be sent is copied while the process posts it, up to KFI_USER_COPY_MAX bytes: a copy
 * costs less than a pin, and the process can't change it afterwards. Longer payload, and memory for
 * receives, is pinned (pin.c).
 *
 * If RLIMIT_MEMLOCK is exhausted, payload up to COPY_LONG_MAX is copied as well: the limit may be
 * used up by receives whose messages arrive only after this message was sent.
 *
 * Copies, and vectors of several pins, are charged to the user.
 */
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "user.h"

#define COPY_LONG_MAX	SZ_1M

static struct kmem_cache *ku_ops;

int ku_op_init(void)
{
	ku_ops = KMEM_CACHE_USERCOPY(ku_op, SLAB_ACCOUNT, small);
	return ku_ops ? 0 : -ENOMEM;
}

void ku_op_exit(void)
{
	kmem_cache_destroy(ku_ops);
}

struct ku_op *ku_op_new(struct ku_ctx *ctx, const struct kfi_user_desc *desc)
{
	struct ku_op *op = kmem_cache_alloc(ku_ops, GFP_KERNEL);

	if (!op)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&op->link);
	op->ep = NULL;
	op->ctx = ctx;
	refcount_set(&op->ref, 1);
	op->ended = false;
	op->receive = ku_is_receive(desc);
	op->nr_pins = 0;
	op->context = desc->context;
	op->flags = desc->flags;
	op->bvec = NULL;
	op->copy = NULL;
	op->room = 0;
	op->user_buf = 0;
	op->fetched = NULL;
	return op;
}

void ku_op_release_memory(struct ku_op *op)
{
	while (op->nr_pins)
		ku_pin_release(op->pins[--op->nr_pins], op->receive);
	kvfree(op->bvec);
	op->bvec = NULL;
	kvfree(op->copy);
	op->copy = NULL;
	if (op->room)
		ku_stock_give(op->ctx, op->room, op->receive);
	op->room = 0;
	op->user_buf = 0;
}

void ku_op_put(struct ku_op *op)
{
	if (!refcount_dec_and_test(&op->ref))
		return;
	ku_op_release_memory(op);
	kmem_cache_free(ku_ops, op);
}

/* Allocate memory that belongs to the operation until it ends. */
static int alloc_charged(struct ku_op *op, size_t bytes, void *to)
{
	int ret = ku_stock_take(op->ctx, bytes, op->receive);
	void *mem;

	if (ret)
		return ret;
	op->room += bytes;
	mem = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	*(void **)to = mem;
	return mem ? 0 : -ENOMEM;
}

/* ---- payload ---- */

/*
 * Copy the segments of a descriptor, whose sum has to be its length. Return: number, or an error.
 */
static int load_iov(const struct kfi_user_desc *desc, struct kfi_user_iovec *iov)
{
	u64 sum = 0;
	int i;

	if (desc->len > LONG_MAX)
		return -EMSGSIZE;
	if (!desc->iov_count) {
		iov[0].base = desc->buf;
		iov[0].len = desc->len;
		return 1;
	}
	if (desc->iov_count > KFI_USER_IOV_MAX)
		return -EINVAL;
	if (copy_from_user(iov, u64_to_user_ptr(desc->buf), desc->iov_count * sizeof(*iov)))
		return -EFAULT;
	for (i = 0; i < desc->iov_count; i++)
		if (check_add_overflow(sum, iov[i].len, &sum))
			return -EINVAL;
	return sum == desc->len ? desc->iov_count : -EINVAL;
}

static void set_kvec(struct ku_op *op, void *base, size_t len)
{
	op->kvec.iov_base = base;
	op->kvec.iov_len = len;
	iov_iter_kvec(&op->iter, ITER_SOURCE, &op->kvec, 1, len);
}

static int copy_in(struct ku_op *op, const struct kfi_user_iovec *iov, int count, size_t len)
{
	void *to = op->small;
	int i, ret;

	if (len > sizeof(op->small)) {
		ret = alloc_charged(op, len, &op->copy);
		if (ret)
			return ret;
		to = op->copy;
	}
	set_kvec(op, to, len);
	for (i = 0; i < count; to += iov[i++].len)
		if (copy_from_user(to, u64_to_user_ptr(iov[i].base), iov[i].len))
			return -EFAULT;
	return 0;
}

/*
 * Return the number of pages of a pin that contain @len bytes, beginning at @base, and in *@first
 * the index of the first page.
 */
static size_t pin_pages_of(const struct ku_pin *pin, u64 base, size_t len, size_t *first)
{
	size_t at = ku_pin_offset(pin, base);

	*first = at >> PAGE_SHIFT;
	return DIV_ROUND_UP(offset_in_page(at) + len, PAGE_SIZE);
}

/* One segment: the iterator uses the vector of the pin. */
static void set_pin(struct iov_iter *iter, const struct ku_pin *pin, u64 base, size_t len)
{
	size_t first, pages = pin_pages_of(pin, base, len, &first);

	iov_iter_bvec(iter, ITER_SOURCE, pin->bvec + first, pages, offset_in_page(base) + len);
	iov_iter_advance(iter, offset_in_page(base));
}

static int hold_pin(struct ku_op *op, const struct kfi_user_iovec *piece, bool write)
{
	unsigned long own = 0;
	struct ku_pin *pin;
	unsigned int i;

	if (WARN_ON_ONCE(op->nr_pins == ARRAY_SIZE(op->pins)))
		return -EINVAL;
	for (i = 0; i < op->nr_pins; i++)
		own += op->pins[i]->nr_pages;
	pin = ku_pin_get(op->ctx, piece->base, piece->len, write, op->receive, own);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	op->pins[op->nr_pins++] = pin;
	return 0;
}

/*
 * Several segments: the iterator uses a vector of its own, of whole pages except at the ends of
 * each segment.
 */
static int join_pins(struct ku_op *op, const struct kfi_user_iovec *iov, int count, size_t len)
{
	size_t pages = 0, first, n, used = 0, left, take, off;
	const struct ku_pin *pin;
	unsigned int p = 0;
	int i, ret;

	for (i = 0; i < count; i++)
		if (iov[i].len)
			pages += pin_pages_of(op->pins[p++], iov[i].base, iov[i].len, &first);
	ret = alloc_charged(op, pages * sizeof(*op->bvec), &op->bvec);
	if (ret)
		return ret;
	for (i = 0, p = 0; i < count; i++) {
		if (!iov[i].len)
			continue;
		pin = op->pins[p++];
		n = pin_pages_of(pin, iov[i].base, iov[i].len, &first);
		off = offset_in_page(iov[i].base);
		for (left = iov[i].len; n; n--, left -= take, off = 0) {
			take = min_t(size_t, left, PAGE_SIZE - off);
			bvec_set_page(&op->bvec[used++], pin->bvec[first++].bv_page, take, off);
		}
	}
	iov_iter_bvec(&op->iter, ITER_SOURCE, op->bvec, used, len);
	return 0;
}

static int pin_iov(struct ku_op *op, const struct kfi_user_iovec *iov, int count, size_t len,
		   bool write)
{
	int i, ret;

	for (i = 0; i < count; i++) {
		ret = iov[i].len ? hold_pin(op, &iov[i], write) : 0;
		if (ret)
			return ret;
	}
	if (!op->nr_pins) {
		set_kvec(op, op->small, 0);
		return 0;
	}
	if (count > 1)
		return join_pins(op, iov, count, len);
	set_pin(&op->iter, op->pins[0], iov[0].base, len);
	return 0;
}

/* Copy instead of pinning; release pins of other segments. @ret: error of the pin that failed */
static int copy_long(struct ku_op *op, const struct kfi_user_iovec *iov, int count, size_t len,
		     int ret)
{
	int copied;

	ku_op_release_memory(op);
	if (len > COPY_LONG_MAX)
		return ret;
	copied = copy_in(op, iov, count, len);
	return copied == -ENOMEM ? ret : copied;
}

int ku_op_source(struct ku_op *op, const struct kfi_user_desc *desc)
{
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	int count = load_iov(desc, iov), ret;

	if (count < 0)
		return count;
	if (desc->len <= KFI_USER_COPY_MAX)
		return copy_in(op, iov, count, desc->len);
	ret = pin_iov(op, iov, count, desc->len, false);
	if (ret == -EAGAIN || ret == -ENOMEM)
		ret = copy_long(op, iov, count, desc->len, ret);
	return ret;
}

/*
 * Map a multi-receive buffer in one piece: messages are stored in it one after the other, and their
 * addresses are reported.
 */
static int map_multi(struct ku_op *op, const struct kfi_user_iovec *iov, int count)
{
	void *mapped;
	int ret;

	if (count != 1 || !iov->len)
		return -EINVAL;
	ret = hold_pin(op, iov, true);
	if (ret)
		return ret;
	mapped = ku_pin_map(op->pins[0]);
	if (IS_ERR(mapped))
		return PTR_ERR(mapped);
	op->user_buf = iov->base;
	set_kvec(op, mapped + ku_pin_offset(op->pins[0], iov->base), iov->len);
	return 0;
}

/* A receive that only peeks at a message, or drops it, has no buffer. */
int ku_op_sink(struct ku_op *op, const struct kfi_user_desc *desc)
{
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	int count;

	if (desc->flags & (KFI_PEEK | KFI_DISCARD)) {
		set_kvec(op, op->small, 0);
		return 0;
	}
	count = load_iov(desc, iov);
	if (count < 0)
		return count;
	if (desc->flags & KFI_MULTI_RECV)
		return map_multi(op, iov, count);
	return pin_iov(op, iov, count, desc->len, true);
}

/*
 * Prepare an atomic operation: @len bytes of operands, as many of values to compare with, and as
 * many of old values. kfi.ko takes only kernel addresses, so the old values are copied to the
 * process's memory when the operation has ended.
 */
int ku_op_atomic(struct ku_op *op, const struct kfi_user_desc *desc, size_t len)
{
	bool compare = desc->opcode == KFI_USER_COMPARE_ATOMIC;
	bool fetch = desc->opcode != KFI_USER_ATOMIC;
	struct kfi_user_iovec result = { .base = desc->result, .len = len };
	int ret;

	ret = alloc_charged(op, 3 * len, &op->copy);
	if (ret)
		return ret;
	memset(op->copy, 0, 3 * len);
	if (desc->atomic_op != KFI_ATOMIC_READ &&
	    copy_from_user(op->copy, u64_to_user_ptr(desc->buf), len))
		return -EFAULT;
	if (compare && copy_from_user(op->copy + len, u64_to_user_ptr(desc->compare), len))
		return -EFAULT;
	if (!fetch)
		return 0;
	ret = hold_pin(op, &result, true);
	if (ret)
		return ret;
	op->fetched = op->copy + 2 * len;
	set_pin(&op->result, op->pins[0], result.base, len);
	op->result.data_source = ITER_DEST;
	return 0;
}

/* ---- end ---- */

/*
 * Take a receive from the list of its endpoint. A message that was peeked at and claimed stays
 * there for the receive that will take it, which needs the same context. Return: true if it stays.
 */
static bool leave_list(struct ku_op *op, int err)
{
	bool claimed;

	if (list_empty_careful(&op->link))
		return false;
	spin_lock(&op->ctx->ops_lock);
	claimed = !err && op->ep && (op->flags & (KFI_PEEK | KFI_CLAIM)) == (KFI_PEEK | KFI_CLAIM);
	op->ended = claimed;
	if (!claimed)
		list_del_init(&op->link);
	spin_unlock(&op->ctx->ops_lock);
	return claimed;
}

void ku_op_done(struct ku_op *op, u64 flags, int err)
{
	if (op->flags & KFI_MULTI_RECV && !(flags & KFI_MULTI_RECV))
		return;		/* more messages are received into the buffer, or will be */
	if (op->fetched && !err)
		WARN_ON_ONCE(!copy_to_iter(op->fetched, iov_iter_count(&op->result), &op->result));
	if (!leave_list(op, err))
		ku_op_put(op);
}
