// SPDX-License-Identifier: GPL-2.0
/*
 * Posts: an array of descriptors, each of which becomes one call of kfi.ko.
 *
 * A descriptor is copied before it is checked. The context of an operation of kfi.ko is always a
 * struct ku_op: no number of the process is used as a pointer.
 */
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "user.h"

#define POST_MAX	256	/* descriptors of one call */

#define LEVELS		(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | \
			 KFI_MATCH_COMPLETE | KFI_COMMIT_COMPLETE)
#define TX_FLAGS	(KFI_COMPLETION | KFI_MORE)
#define SEND_FLAGS	(TX_FLAGS | KFI_INJECT | KFI_REMOTE_CQ_DATA | LEVELS)
#define RX_FLAGS	(KFI_COMPLETION | KFI_MORE | KFI_MULTI_RECV)
#define PEEK_FLAGS	(KFI_PEEK | KFI_CLAIM | KFI_DISCARD)

/*
 * Flags that a descriptor of each kind may have: those that kfi.ko takes, without those that name
 * kernel objects.
 */
static const u64 post_flags[] = {
	[KFI_USER_RECV]			= RX_FLAGS,
	[KFI_USER_SEND]			= SEND_FLAGS,
	[KFI_USER_TRECV]		= RX_FLAGS | PEEK_FLAGS,
	[KFI_USER_TSEND]		= SEND_FLAGS,
	[KFI_USER_READ]			= TX_FLAGS,
	[KFI_USER_WRITE]		= SEND_FLAGS,
	[KFI_USER_ATOMIC]		= SEND_FLAGS,
	[KFI_USER_FETCH_ATOMIC]		= TX_FLAGS,
	[KFI_USER_COMPARE_ATOMIC]	= TX_FLAGS,
};

/*
 * Every operation gets an entry in the queue of kfi.ko, which reports its end to this module. The
 * process gets only the entries that it has requested.
 */
static u64 kernel_flags(const struct kfi_user_desc *desc)
{
	return desc->flags | KFI_COMPLETION;
}

/* ---- messages ---- */

static ssize_t post_msg(struct ku_ep *ep, const struct kfi_user_desc *desc, struct ku_op *op)
{
	struct kfi_msg msg = {
		.type = KFI_ITER,
		.msg_iter = &op->iter,
		.iov_count = 1,
		.addr = desc->addr,
		.context = op,
		.data = desc->data,
	};

	if (desc->opcode == KFI_USER_RECV)
		return kfi_recvmsg(ep->ep, &msg, kernel_flags(desc));
	return kfi_sendmsg(ep->ep, &msg, kernel_flags(desc));
}

static ssize_t post_tagged(struct ku_ep *ep, const struct kfi_user_desc *desc, struct ku_op *op)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_ITER,
		.msg_iter = &op->iter,
		.iov_count = 1,
		.addr = desc->addr,
		.tag = desc->tag,
		.ignore = desc->ignore,
		.context = op,
		.data = desc->data,
	};

	if (desc->opcode == KFI_USER_TRECV)
		return kfi_trecvmsg(ep->ep, &msg, kernel_flags(desc));
	return kfi_tsendmsg(ep->ep, &msg, kernel_flags(desc));
}

/* ---- receives ---- */

/* Add a receive to the list of its endpoint. After that it can be cancelled. */
static void list_receive(struct ku_ep *ep, struct ku_op *op)
{
	spin_lock_bh(&op->ctx->ops_lock);
	op->ep = ep;
	list_add_tail(&op->link, &ep->receives);
	spin_unlock_bh(&op->ctx->ops_lock);
}

static void unlist_receive(struct ku_op *op)
{
	spin_lock_bh(&op->ctx->ops_lock);
	list_del_init(&op->link);
	spin_unlock_bh(&op->ctx->ops_lock);
}

/*
 * Return the operation that has claimed a message for this context; its reference passes to the
 * caller.
 */
static struct ku_op *take_claim(struct ku_ep *ep, u64 context)
{
	struct ku_ctx *ctx = ep->obj.ctx;
	struct ku_op *op, *found = NULL;

	spin_lock_bh(&ctx->ops_lock);
	list_for_each_entry(op, &ep->receives, link)
		if (op->ended && op->context == context) {
			found = op;
			list_del_init(&op->link);
			break;
		}
	spin_unlock_bh(&ctx->ops_lock);
	return found;
}

/*
 * Return a new operation; or the one that has claimed the message, because kfi.ko finds the claim
 * by its context. That one has no memory of the process: ku_op_sink() pins none for a peek.
 */
static struct ku_op *receive_op(struct ku_ep *ep, const struct kfi_user_desc *desc)
{
	struct ku_op *op;

	if ((desc->flags & (KFI_PEEK | KFI_CLAIM)) != KFI_CLAIM)
		return ku_op_new(ep->obj.ctx, desc);
	op = take_claim(ep, desc->context);
	if (!op)
		return ERR_PTR(-EINVAL);
	op->ended = false;
	op->flags = desc->flags;
	return op;
}

/* Undo a receive that could not be posted. If it was for a claimed message, the claim is kept. */
static void receive_failed(struct ku_ep *ep, struct ku_op *op, const struct kfi_user_desc *desc)
{
	unlist_receive(op);
	if ((desc->flags & (KFI_PEEK | KFI_CLAIM)) != KFI_CLAIM) {
		ku_op_put(op);
		return;
	}
	ku_op_release_memory(op);
	op->flags = KFI_PEEK | KFI_CLAIM;
	op->ended = true;
	list_receive(ep, op);
}

static int post_receive(struct ku_ep *ep, const struct kfi_user_desc *desc)
{
	struct ku_op *op = receive_op(ep, desc);
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	ret = ku_op_sink(op, desc);
	list_receive(ep, op);
	if (!ret && desc->opcode == KFI_USER_RECV)
		ret = post_msg(ep, desc, op);
	else if (!ret)
		ret = post_tagged(ep, desc, op);
	if (ret)
		receive_failed(ep, op, desc);
	return ret;
}

/* ---- transmits ---- */

static int load_rma(const struct kfi_user_desc *desc, struct kfi_rma_iov *rma)
{
	struct kfi_user_rma user[KFI_USER_IOV_MAX];
	unsigned int i;

	if (!desc->rma_count) {
		rma[0].addr = desc->rma_addr;
		rma[0].len = desc->len;
		rma[0].key = desc->rma_key;
		return 1;
	}
	if (desc->rma_count > KFI_USER_IOV_MAX)
		return -EINVAL;
	if (copy_from_user(user, u64_to_user_ptr(desc->rma_addr), desc->rma_count * sizeof(*user)))
		return -EFAULT;
	for (i = 0; i < desc->rma_count; i++) {
		rma[i].addr = user[i].addr;
		rma[i].len = user[i].len;
		rma[i].key = user[i].key;
	}
	return desc->rma_count;
}

static ssize_t post_rma(struct ku_ep *ep, const struct kfi_user_desc *desc, struct ku_op *op)
{
	struct kfi_rma_iov rma[KFI_USER_IOV_MAX];
	struct kfi_msg_rma msg = {
		.type = KFI_ITER,
		.msg_iter = &op->iter,
		.iov_count = 1,
		.addr = desc->addr,
		.rma_iov = rma,
		.context = op,
		.data = desc->data,
	};
	int count = load_rma(desc, rma);

	if (count < 0)
		return count;
	msg.rma_iov_count = count;
	if (desc->opcode == KFI_USER_READ)
		return kfi_readmsg(ep->ep, &msg, kernel_flags(desc));
	return kfi_writemsg(ep->ep, &msg, kernel_flags(desc));
}

static u64 atomic_kind(u32 opcode)
{
	switch (opcode) {
	case KFI_USER_FETCH_ATOMIC:
		return KFI_FETCH_ATOMIC;
	case KFI_USER_COMPARE_ATOMIC:
		return KFI_COMPARE_ATOMIC;
	default:
		return 0;
	}
}

static ssize_t post_atomic(struct ku_ep *ep, const struct kfi_user_desc *desc, struct ku_op *op,
			   size_t count)
{
	struct kfi_ioc operands = { .addr = op->copy, .count = count };
	struct kfi_ioc compare = { .addr = op->copy + desc->len, .count = count };
	struct kfi_ioc result = { .addr = op->fetched, .count = count };
	struct kfi_rma_ioc target = {
		.addr = desc->rma_addr,
		.count = count,
		.key = desc->rma_key,
	};
	struct kfi_msg_atomic msg = {
		.msg_iov = &operands,
		.iov_count = 1,
		.addr = desc->addr,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = desc->atomic_type,
		.op = desc->atomic_op,
		.context = op,
		.data = desc->data,
	};

	if (desc->opcode == KFI_USER_ATOMIC)
		return kfi_atomicmsg(ep->ep, &msg, kernel_flags(desc));
	if (desc->opcode == KFI_USER_FETCH_ATOMIC)
		return kfi_fetch_atomicmsg(ep->ep, &msg, &result, NULL, 1, kernel_flags(desc));
	return kfi_compare_atomicmsg(ep->ep, &msg, &compare, NULL, 1, &result, NULL, 1,
				     kernel_flags(desc));
}

/* The number of operands is limited to what the endpoint supports. */
static ssize_t prepare_atomic(struct ku_ep *ep, const struct kfi_user_desc *desc, struct ku_op *op,
			      size_t *count)
{
	struct kfi_atomic_attr attr;
	int ret;

	if (desc->iov_count || desc->rma_count)
		return -EINVAL;
	ret = kfi_ep_query_atomic(ep->ep, desc->atomic_type, desc->atomic_op, &attr,
				  atomic_kind(desc->opcode));
	if (ret)
		return ret;
	if (!desc->len || desc->len % attr.size)
		return -EINVAL;
	*count = desc->len / attr.size;
	if (*count > attr.count)
		return -EMSGSIZE;
	return ku_op_atomic(op, desc, desc->len);
}

static int post_transmit(struct ku_ep *ep, const struct kfi_user_desc *desc)
{
	struct ku_op *op = ku_op_new(ep->obj.ctx, desc);
	size_t count;
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	switch (desc->opcode) {
	case KFI_USER_SEND:
		ret = ku_op_source(op, desc) ?: post_msg(ep, desc, op);
		break;
	case KFI_USER_TSEND:
		ret = ku_op_source(op, desc) ?: post_tagged(ep, desc, op);
		break;
	case KFI_USER_WRITE:
		ret = ku_op_source(op, desc) ?: post_rma(ep, desc, op);
		break;
	case KFI_USER_READ:
		ret = ku_op_sink(op, desc) ?: post_rma(ep, desc, op);
		break;
	default:
		ret = prepare_atomic(ep, desc, op, &count) ?: post_atomic(ep, desc, op, count);
		break;
	}
	if (ret)
		ku_op_put(op);
	return ret;
}

/* ---- KFI_IOC_POST ---- */

static int post_one(struct ku_ep *ep, struct kfi_user_desc *desc)
{
	u32 opcode = desc->opcode;

	if (opcode >= ARRAY_SIZE(post_flags) || desc->reserved[0] || desc->reserved[1])
		return -EINVAL;
	if (desc->flags & ~post_flags[array_index_nospec(opcode, ARRAY_SIZE(post_flags))])
		return -KFI_EBADFLAGS;
	if (desc->flags & PEEK_FLAGS && desc->flags & KFI_MULTI_RECV)
		return -EINVAL;
	if (ku_is_receive(desc))
		return post_receive(ep, desc);
	if (ep->obj.class != KFI_CLASS_EP)
		return -EINVAL;
	/* before the payload is pinned */
	return desc->len > ep->max_msg_size ? -EMSGSIZE : post_transmit(ep, desc);
}

/* No further operation follows those that were posted with KFI_MORE. */
static void end_series(struct ku_ep *ep, bool more)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	if (more)
		kfi_ep_tx_flush(ep->ep);
	ku_obj_put(&ep->obj);
}

/* The endpoint is looked up once for consecutive descriptors that name the same one. */
static int post_all(struct ku_ctx *ctx, const struct kfi_user_desc __user *descs, u32 count,
		    u32 *posted)
{
	struct kfi_user_desc desc;
	struct ku_ep *ep = NULL;
	bool more = false;
	int ret = 0;

	for (*posted = 0; *posted < count; ++*posted) {
		ret = -EFAULT;
		if (copy_from_user(&desc, &descs[*posted], sizeof(desc)))
			break;
		if (!ep || ep->obj.handle != desc.ep) {
			end_series(ep, more);
			more = false;
			ep = ku_ep_get(ctx, desc.ep);
			ret = PTR_ERR_OR_ZERO(ep);
			if (ret)
				break;
		}
		ret = fatal_signal_pending(current) ? -EINTR : post_one(ep, &desc);
		if (ret)
			break;
		if (!ku_is_receive(&desc))
			more = desc.flags & KFI_MORE;
	}
	end_series(ep, more);
	return ret;
}

int ku_ioc_post(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_post *post = arg;

	if (post->reserved || !post->count || post->count > POST_MAX)
		return -EINVAL;
	post->err = post_all(ctx, u64_to_user_ptr(post->descs), post->count, &post->posted);
	return 0;
}

/* ---- KFI_IOC_CANCEL ---- */

/* Return the oldest receive with this context, with a reference. */
static struct ku_op *find_receive(struct ku_ep *ep, u64 context)
{
	struct ku_ctx *ctx = ep->obj.ctx;
	struct ku_op *op, *found = NULL;

	spin_lock_bh(&ctx->ops_lock);
	list_for_each_entry(op, &ep->receives, link)
		if (!op->ended && op->context == context) {
			/* Its memory is not reused for another operation meanwhile. */
			refcount_inc(&op->ref);
			found = op;
			break;
		}
	spin_unlock_bh(&ctx->ops_lock);
	return found;
}

int ku_ioc_cancel(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_cancel *cancel = arg;
	int ret = -ENOENT;
	struct ku_ep *ep;
	struct ku_op *op;

	if (cancel->reserved)
		return -EINVAL;
	ep = ku_ep_get(ctx, cancel->ep);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	op = find_receive(ep, cancel->context);
	if (op) {
		ret = kfi_cancel(&ep->ep->fid, op);
		ku_op_put(op);
	}
	ku_obj_put(&ep->obj);
	return ret;
}

/* ---- KFI_IOC_QUERY_ATOMIC ---- */

int ku_ioc_query_atomic(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_query_atomic *query = arg;
	struct kfi_atomic_attr attr = {};
	struct ku_obj *obj;
	int ret = -EBADF;

	if (query->reserved)
		return -EINVAL;
	obj = ku_obj_get(ctx, query->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	if (obj->class == KFI_CLASS_DOMAIN)
		ret = kfi_query_atomic(container_of(obj->fid, struct kfid_domain, fid),
				       query->datatype, query->op, &attr, query->flags);
	else if (obj->class == KFI_CLASS_EP)
		ret = kfi_ep_query_atomic(to_ku_ep(obj)->ep, query->datatype, query->op, &attr,
					  query->flags);
	query->count = attr.count;
	query->size = attr.size;
	ku_obj_put(obj);
	return ret;
}
