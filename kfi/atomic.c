// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations: the posting calls, and the queries for what an endpoint or a domain supports.
 */
#include <linux/export.h>
#include <linux/uio.h>
#include "post.h"

/* ---- from a call to an operation ---- */

/*
 * Convert a local vector of elements to segments of bytes. @max bounds the bytes of the call.
 * Returns the number of bytes, -EINVAL or -EMSGSIZE.
 */
static ssize_t take_elements(struct kvec *to, const struct kfi_ioc *from, size_t count,
			     size_t limit, size_t size, size_t max)
{
	size_t len = 0, i;

	if (count > limit || (count && !from))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (from[i].count > (max - len) / size)
			return -EMSGSIZE;
		if (from[i].count && !from[i].addr)
			return -EINVAL;
		to[i] = (struct kvec){ .iov_base = from[i].addr, .iov_len = from[i].count * size };
		len += to[i].iov_len;
	}
	return len;
}

/*
 * The initiator can check only that the target addresses are multiples of the element size. The
 * target checks how its memory is aligned.
 */
static ssize_t take_targets(struct kfi_oper *op, const struct kfi_rma_ioc *from, size_t count,
			    size_t size)
{
	size_t max = op->ep->ops->atomic_size, len = 0, i;

	if (!from || count > op->ep->rma_iov_limit)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (from[i].count > (max - len) / size)
			return -EMSGSIZE;
		if (from[i].addr % size)
			return -EINVAL;
		op->rma[i] = (struct kfi_rma_iov) {
			.addr = from[i].addr, .len = from[i].count * size, .key = from[i].key,
		};
		len += op->rma[i].len;
	}
	op->rma_count = count;
	return len ?: -EINVAL;
}

/*
 * Describe one of the three local vectors. It has to be as long as the targets if the kind of
 * operation uses it (@wanted); otherwise it is ignored.
 */
static int take_vector(struct kfi_oper *op, struct iov_iter *iter, unsigned int dir,
		       struct kvec *to, const struct kfi_ioc *from, size_t count, bool wanted)
{
	size_t size = kfi_atomic_size(op->atomic->datatype), want = wanted ? op->len : 0;
	ssize_t len;

	if (!wanted)
		count = 0;
	len = take_elements(to, from, count, op->ep->tx.iov_limit, size, want);
	if (len != want)
		return -EINVAL;		/* -EMSGSIZE too: the targets passed that check */
	iov_iter_kvec(iter, dir, to, count, len);
	return 0;
}

/* Return 0, -EOPNOTSUPP, -EMSGSIZE or -EINVAL. */
static int fill_atomic(struct kfi_oper *op, const struct kfi_msg_atomic *msg,
		       const struct kfi_ioc *compare, size_t compares,
		       const struct kfi_ioc *result, size_t results)
{
	struct kfi_oper_atomic *a = op->atomic;
	ssize_t len;
	int ret;

	op->addr = msg->addr;
	op->data = msg->data;
	op->tag = 0;
	if (!kfi_atomic_valid(op->code, msg->op, msg->datatype))
		return -EOPNOTSUPP;
	len = take_targets(op, msg->rma_iov, msg->rma_iov_count, kfi_atomic_size(msg->datatype));
	if (len < 0)
		return len;
	op->len = len;
	a->op = msg->op;
	a->datatype = msg->datatype;
	ret = take_vector(op, &op->iter, ITER_SOURCE, op->iov.kvec, msg->msg_iov, msg->iov_count,
			  msg->op != KFI_ATOMIC_READ);
	if (!ret)
		ret = take_vector(op, &a->compare, ITER_SOURCE, a->iov, compare, compares,
				  op->code == KFI_OPC_COMPARE_ATOMIC);
	if (!ret)
		ret = take_vector(op, &a->result, ITER_DEST, a->iov + op->ep->tx.iov_limit, result,
				  results, op->code != KFI_OPC_ATOMIC);
	if (!ret && (op->flags & KFI_INJECT))
		ret = kfi_op_inject(op);
	return ret;
}

/* ---- the calls ---- */

static ssize_t post_atomic(struct kfid_ep *ep, enum kfi_opcode code,
			   const struct kfi_msg_atomic *msg, const struct kfi_ioc *compare,
			   size_t compares, const struct kfi_ioc *result, size_t results,
			   u64 flags)
{
	struct kfi_oper *op;
	ssize_t ret;

	rcu_read_lock_bh();
	op = kfi_tx_begin(ep, code, msg->context, flags);
	ret = PTR_ERR_OR_ZERO(op);
	if (!ret)
		ret = kfi_tx_start(op, fill_atomic(op, msg, compare, compares, result, results));
	rcu_read_unlock_bh();
	return ret;
}

ssize_t kfi_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg, uint64_t flags)
{
	return post_atomic(ep, KFI_OPC_ATOMIC, msg, NULL, 0, NULL, 0, flags);
}
EXPORT_SYMBOL_GPL(kfi_atomicmsg);

ssize_t kfi_fetch_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
			    struct kfi_ioc *resultv, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	return post_atomic(ep, KFI_OPC_FETCH_ATOMIC, msg, NULL, 0, resultv, result_count, flags);
}
EXPORT_SYMBOL_GPL(kfi_fetch_atomicmsg);

ssize_t kfi_compare_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
			      const struct kfi_ioc *comparev, void **compare_desc,
			      size_t compare_count, struct kfi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags)
{
	return post_atomic(ep, KFI_OPC_COMPARE_ATOMIC, msg, comparev, compare_count, resultv,
			   result_count, flags);
}
EXPORT_SYMBOL_GPL(kfi_compare_atomicmsg);

/* ---- queries ---- */

static int query_code(u64 flags)
{
	switch (flags) {
	case 0:
		return KFI_OPC_ATOMIC;
	case KFI_FETCH_ATOMIC:
		return KFI_OPC_FETCH_ATOMIC;
	case KFI_COMPARE_ATOMIC:
		return KFI_OPC_COMPARE_ATOMIC;
	default:
		return -KFI_EBADFLAGS;
	}
}

static int query_atomic(u64 caps, size_t max, unsigned int datatype, unsigned int op,
			struct kfi_atomic_attr *attr, u64 flags)
{
	int code = query_code(flags);

	if (code < 0)
		return code;
	if (!(caps & KFI_ATOMIC) || !kfi_atomic_valid(code, op, datatype) ||
	    max < kfi_atomic_size(datatype))
		return -EOPNOTSUPP;
	attr->size = kfi_atomic_size(datatype);
	attr->count = max / attr->size;
	return 0;
}

int kfi_query_atomic(struct kfid_domain *fid, enum kfi_datatype datatype, enum kfi_op op,
		     struct kfi_atomic_attr *attr, uint64_t flags)
{
	struct kfi_domain *domain;

	if (!fid || fid->fid.fclass != KFI_CLASS_DOMAIN || !attr)
		return -EINVAL;
	domain = kfi_to_domain(fid);
	return query_atomic(domain->info->caps, domain->fabric->prov->ops->atomic_size, datatype,
			    op, attr, flags);
}
EXPORT_SYMBOL_GPL(kfi_query_atomic);

int kfi_ep_query_atomic(struct kfid_ep *fid, enum kfi_datatype datatype, enum kfi_op op,
			struct kfi_atomic_attr *attr, uint64_t flags)
{
	struct kfi_ep *ep = fid ? kfi_fid_ep(&fid->fid) : NULL;

	if (!ep || !attr)
		return -EINVAL;
	return query_atomic(ep->caps, ep->ops->atomic_size, datatype, op, attr, flags);
}
EXPORT_SYMBOL_GPL(kfi_ep_query_atomic);
