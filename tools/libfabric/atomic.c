// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * atomic.c - atomic operations on memory of peers
 *
 * The kernel takes operands, and values to compare with, as one piece each, and copies them before
 * the call returns, so vectors of several segments are joined here. Targets and results are one
 * piece as well; several segments are accepted if they are adjacent.
 */
#include "kfi_fi.h"

#define OPERANDS_MAX	1024	/* bytes of a vector that is joined */

#define WRITE_DEFAULTS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE)

static const size_t sizes[] = {
	[FI_INT8]		= sizeof(int8_t),
	[FI_UINT8]		= sizeof(uint8_t),
	[FI_INT16]		= sizeof(int16_t),
	[FI_UINT16]		= sizeof(uint16_t),
	[FI_INT32]		= sizeof(int32_t),
	[FI_UINT32]		= sizeof(uint32_t),
	[FI_INT64]		= sizeof(int64_t),
	[FI_UINT64]		= sizeof(uint64_t),
	[FI_FLOAT]		= sizeof(float),
	[FI_DOUBLE]		= sizeof(double),
	[FI_FLOAT_COMPLEX]	= 2 * sizeof(float),
	[FI_DOUBLE_COMPLEX]	= 2 * sizeof(double),
	[FI_LONG_DOUBLE]	= sizeof(long double),
	[FI_LONG_DOUBLE_COMPLEX] = 2 * sizeof(long double),
	[FI_INT128]		= 16,
	[FI_UINT128]		= 16,
};

/* Arguments of a call. Absent vectors are NULL. */
struct atomic_call {
	enum kfi_user_opcode	opcode;
	enum fi_datatype	datatype;
	enum fi_op		op;
	fi_addr_t		peer;
	const struct fi_ioc	*iov;
	size_t			iov_count;
	const struct fi_ioc	*compare;
	size_t			compare_count;
	const struct fi_ioc	*result;
	size_t			result_count;
	const struct fi_rma_ioc	*rma;
	size_t			rma_count;
	uint64_t		data;
	void			*context;
	uint64_t		flags;
};

static struct kfi_ep *to_ep(struct fid_ep *fid)
{
	return kfi_container(fid, struct kfi_ep, fid);
}

/*
 * Return the operands as one piece: their own memory if it is one piece, else a copy in @room. NULL
 * if there are too many.
 */
static const void *gather(const struct fi_ioc *iov, size_t count, size_t size, uint8_t *room)
{
	size_t i, len = 0;

	if (count == 1)
		return iov->addr;
	for (i = 0; i < count; i++) {
		if (iov[i].count > (OPERANDS_MAX - len) / size)
			return NULL;
		memcpy(room + len, iov[i].addr, iov[i].count * size);
		len += iov[i].count * size;
	}
	return room;
}

static size_t elements(const struct fi_ioc *iov, size_t count)
{
	size_t i, sum = 0;

	for (i = 0; i < count; i++)
		sum += iov[i].count;
	return sum;
}

static bool results_adjoin(const struct fi_ioc *iov, size_t count, size_t size)
{
	size_t i;

	for (i = 1; i < count; i++)
		if ((char *)iov[i - 1].addr + iov[i - 1].count * size != (char *)iov[i].addr)
			return false;
	return true;
}

static bool targets_adjoin(const struct fi_rma_ioc *rma, size_t count, size_t size)
{
	size_t i;

	for (i = 1; i < count; i++)
		if (rma[i - 1].addr + rma[i - 1].count * size != rma[i].addr ||
		    rma[i - 1].key != rma[i].key)
			return false;
	return true;
}

static size_t target_elements(const struct fi_rma_ioc *rma, size_t count)
{
	size_t i, sum = 0;

	for (i = 0; i < count; i++)
		sum += rma[i].count;
	return sum;
}

static ssize_t post_atomic(struct kfi_ep *ep, const struct atomic_call *call)
{
	uint8_t operands[OPERANDS_MAX], comparands[OPERANDS_MAX];
	struct kfi_user_desc desc = {
		.opcode		= call->opcode,
		.flags		= call->flags,
		.context	= (uintptr_t)call->context,
		.addr		= call->peer,
		.data		= call->data,
		.atomic_op	= call->op,
		.atomic_type	= call->datatype,
	};
	size_t size, count;

	if ((unsigned int)call->datatype >= sizeof(sizes) / sizeof(*sizes))
		return -FI_EOPNOTSUPP;
	size = sizes[call->datatype];
	if (!call->rma_count || !targets_adjoin(call->rma, call->rma_count, size))
		return -FI_EINVAL;
	count = target_elements(call->rma, call->rma_count);
	if (count > SIZE_MAX / size)
		return -FI_EINVAL;
	desc.len = count * size;
	desc.rma_addr = call->rma->addr;
	desc.rma_key = call->rma->key;
	if (call->op != FI_ATOMIC_READ) {
		if (elements(call->iov, call->iov_count) != count)
			return -FI_EINVAL;
		desc.buf = (uintptr_t)gather(call->iov, call->iov_count, size, operands);
		if (!desc.buf)
			return -FI_EINVAL;
	}
	if (call->compare) {
		if (elements(call->compare, call->compare_count) != count)
			return -FI_EINVAL;
		desc.compare = (uintptr_t)gather(call->compare, call->compare_count, size,
						 comparands);
		if (!desc.compare)
			return -FI_EINVAL;
	}
	if (call->result) {
		if (elements(call->result, call->result_count) != count ||
		    !results_adjoin(call->result, call->result_count, size))
			return -FI_EINVAL;
		desc.result = (uintptr_t)call->result->addr;
	}
	/* A vector that was joined on this stack can't wait for the next post. */
	if (call->iov_count > 1 || call->compare_count > 1)
		desc.flags &= ~FI_MORE;
	return kfi_post(ep, &desc);
}

static uint64_t write_flags(struct fid_ep *fid)
{
	const struct kfi_ep *ep = to_ep(fid);

	return (ep->tx_flags & WRITE_DEFAULTS) | ep->tx_always;
}

static uint64_t fetch_flags(struct fid_ep *fid)
{
	const struct kfi_ep *ep = to_ep(fid);

	return (ep->tx_flags & FI_COMPLETION) | ep->tx_always;
}

/* Arguments of a call with a message structure */
static struct atomic_call from_msg(enum kfi_user_opcode opcode, const struct fi_msg_atomic *msg,
				   uint64_t flags)
{
	return (struct atomic_call){
		.opcode		= opcode,
		.datatype	= msg->datatype,
		.op		= msg->op,
		.peer		= msg->addr,
		.iov		= msg->msg_iov,
		.iov_count	= msg->iov_count,
		.rma		= msg->rma_iov,
		.rma_count	= msg->rma_iov_count,
		.data		= msg->data,
		.context	= msg->context,
		.flags		= flags,
	};
}

/* ---- without results ---- */

static ssize_t atomic_writev(struct fid_ep *fid, const struct fi_ioc *iov, void **mr_desc,
			     size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc rma = { .addr = addr, .count = elements(iov, count), .key = key };
	struct atomic_call call = {
		.opcode		= KFI_USER_ATOMIC,
		.datatype	= datatype,
		.op		= op,
		.peer		= dest_addr,
		.iov		= iov,
		.iov_count	= count,
		.rma		= &rma,
		.rma_count	= 1,
		.context	= context,
		.flags		= write_flags(fid),
	};

	return post_atomic(to_ep(fid), &call);
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *mr_desc,
			    fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = { .addr = (void *)buf, .count = count };

	return atomic_writev(fid, &iov, NULL, 1, dest_addr, addr, key, datatype, op, context);
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct atomic_call call = from_msg(KFI_USER_ATOMIC, msg, flags | to_ep(fid)->tx_always);

	return post_atomic(to_ep(fid), &call);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	struct fi_ioc iov = { .addr = (void *)buf, .count = count };
	struct fi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	struct atomic_call call = {
		.opcode		= KFI_USER_ATOMIC,
		.datatype	= datatype,
		.op		= op,
		.peer		= dest_addr,
		.iov		= &iov,
		.iov_count	= 1,
		.rma		= &rma,
		.rma_count	= 1,
		.flags		= FI_INJECT,
	};

	return post_atomic(to_ep(fid), &call);
}

/* ---- with results ---- */

static ssize_t atomic_readwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **mr_desc,
				 size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	struct fi_rma_ioc rma = {
		.addr	= addr,
		.count	= elements(resultv, result_count),
		.key	= key,
	};
	struct atomic_call call = {
		.opcode		= KFI_USER_FETCH_ATOMIC,
		.datatype	= datatype,
		.op		= op,
		.peer		= dest_addr,
		.iov		= iov,
		.iov_count	= count,
		.result		= resultv,
		.result_count	= result_count,
		.rma		= &rma,
		.rma_count	= 1,
		.context	= context,
		.flags		= fetch_flags(fid),
	};

	return post_atomic(to_ep(fid), &call);
}

static ssize_t atomic_readwrite(struct fid_ep *fid, const void *buf, size_t count, void *mr_desc,
				void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
				uint64_t key, enum fi_datatype datatype, enum fi_op op,
				void *context)
{
	struct fi_ioc iov = { .addr = (void *)buf, .count = count };
	struct fi_ioc res = { .addr = result, .count = count };

	return atomic_readwritev(fid, &iov, NULL, 1, &res, NULL, 1, dest_addr, addr, key, datatype,
				 op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				   struct fi_ioc *resultv, void **result_desc, size_t result_count,
				   uint64_t flags)
{
	struct atomic_call call = from_msg(KFI_USER_FETCH_ATOMIC, msg,
					   flags | to_ep(fid)->tx_always);

	call.result = resultv;
	call.result_count = result_count;
	return post_atomic(to_ep(fid), &call);
}

static ssize_t atomic_compwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **mr_desc,
				 size_t count, const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	struct fi_rma_ioc rma = { .addr = addr, .count = elements(iov, count), .key = key };
	struct atomic_call call = {
		.opcode		= KFI_USER_COMPARE_ATOMIC,
		.datatype	= datatype,
		.op		= op,
		.peer		= dest_addr,
		.iov		= iov,
		.iov_count	= count,
		.compare	= comparev,
		.compare_count	= compare_count,
		.result		= resultv,
		.result_count	= result_count,
		.rma		= &rma,
		.rma_count	= 1,
		.context	= context,
		.flags		= fetch_flags(fid),
	};

	return post_atomic(to_ep(fid), &call);
}

static ssize_t atomic_compwrite(struct fid_ep *fid, const void *buf, size_t count, void *mr_desc,
				const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = { .addr = (void *)buf, .count = count };
	struct fi_ioc cmp = { .addr = (void *)compare, .count = count };
	struct fi_ioc res = { .addr = result, .count = count };

	return atomic_compwritev(fid, &iov, NULL, 1, &cmp, NULL, 1, &res, NULL, 1, dest_addr, addr,
				 key, datatype, op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				   const struct fi_ioc *comparev, void **compare_desc,
				   size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	struct atomic_call call = from_msg(KFI_USER_COMPARE_ATOMIC, msg,
					   flags | to_ep(fid)->tx_always);

	call.compare = comparev;
	call.compare_count = compare_count;
	call.result = resultv;
	call.result_count = result_count;
	return post_atomic(to_ep(fid), &call);
}

/* ---- query ---- */

static int query(const struct kfi_fabric *fabric, uint32_t handle, enum fi_datatype datatype,
		 enum fi_op op, uint64_t flags, struct fi_atomic_attr *attr)
{
	struct kfi_user_query_atomic arg = {
		.handle		= handle,
		.datatype	= datatype,
		.op		= op,
		.flags		= flags,
	};
	int ret;

	ret = kfi_call(fabric, KFI_IOC_QUERY_ATOMIC, &arg);
	if (ret)
		return ret;
	attr->count = arg.count;
	attr->size = arg.size;
	return 0;
}

int kfi_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	struct kfi_domain *domain = kfi_container(fid, struct kfi_domain, fid);

	return query(domain->fabric, domain->handle, datatype, op, flags, attr);
}

static int valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
		 size_t *count)
{
	struct kfi_ep *ep = to_ep(fid);
	struct fi_atomic_attr attr;
	int ret;

	ret = query(ep->domain->fabric, ep->handle, datatype, op, flags, &attr);
	if (!ret && count)
		*count = attr.count;
	return ret;
}

static int atomic_writevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	return valid(fid, datatype, op, 0, count);
}

static int atomic_readwritevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	return valid(fid, datatype, op, FI_FETCH_ATOMIC, count);
}

static int atomic_compwritevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	return valid(fid, datatype, op, FI_COMPARE_ATOMIC, count);
}

struct fi_ops_atomic kfi_atomic_ops = {
	.size		= sizeof(struct fi_ops_atomic),
	.write		= atomic_write,
	.writev		= atomic_writev,
	.writemsg	= atomic_writemsg,
	.inject		= atomic_inject,
	.readwrite	= atomic_readwrite,
	.readwritev	= atomic_readwritev,
	.readwritemsg	= atomic_readwritemsg,
	.compwrite	= atomic_compwrite,
	.compwritev	= atomic_compwritev,
	.compwritemsg	= atomic_compwritemsg,
	.writevalid	= atomic_writevalid,
	.readwritevalid	= atomic_readwritevalid,
	.compwritevalid	= atomic_compwritevalid,
};
