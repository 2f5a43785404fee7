// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post.c - posts operations to the kernel, one by one or gathered
 *
 * An operation without FI_MORE is one system call, whose result is that of fi_send() and the like.
 * An operation with FI_MORE is gathered: the call succeeds, and the kernel gets the operation
 * together with the next one without FI_MORE, or when the batch is full, or when a queue or counter
 * of the domain is read. An operation is not gathered if its arguments may change after the call:
 * with FI_INJECT the program may change the buffer at once, and a vector of several segments is in
 * the program's memory, too. Such an operation is posted at once, after the operations that were
 * gathered before.
 *
 * An operation for which the kernel has no room stays in its batch. Another error becomes an error
 * completion.
 *
 * The two directions of an endpoint are gathered separately: a receive never waits for room to
 * send.
 */
#include "kfi_fi.h"

ssize_t kfi_post_one(const struct kfi_ep *ep, struct kfi_user_desc *desc)
{
	struct kfi_user_post arg = { .descs = (uintptr_t)desc, .count = 1 };
	int ret;

	ret = kfi_call(ep->domain->fabric, KFI_IOC_POST, &arg);
	return ret ? ret : arg.err;
}

/* ---- late errors ---- */

static const struct {
	uint64_t flags;
	enum kfi_counted counted;
} kinds[] = {
	[KFI_USER_RECV]			= { FI_MSG | FI_RECV, KFI_COUNT_RECV },
	[KFI_USER_SEND]			= { FI_MSG | FI_SEND, KFI_COUNT_SEND },
	[KFI_USER_TRECV]		= { FI_TAGGED | FI_RECV, KFI_COUNT_RECV },
	[KFI_USER_TSEND]		= { FI_TAGGED | FI_SEND, KFI_COUNT_SEND },
	[KFI_USER_READ]			= { FI_RMA | FI_READ, KFI_COUNT_READ },
	[KFI_USER_WRITE]		= { FI_RMA | FI_WRITE, KFI_COUNT_WRITE },
	[KFI_USER_ATOMIC]		= { FI_ATOMIC | FI_WRITE, KFI_COUNT_WRITE },
	[KFI_USER_FETCH_ATOMIC]		= { FI_ATOMIC | FI_READ, KFI_COUNT_READ },
	[KFI_USER_COMPARE_ATOMIC]	= { FI_ATOMIC | FI_READ, KFI_COUNT_READ },
};

/* Return: false without memory for the completion. */
static bool fail_late(struct kfi_ep *ep, const struct kfi_user_desc *desc, int err)
{
	struct kfi_user_cqe cqe = {
		.context	= desc->context,
		.flags		= kinds[desc->opcode].flags,
		.tag		= desc->tag,
		.src_addr	= FI_ADDR_NOTAVAIL,
		.err		= err,
	};
	struct kfi_cq *cq = kfi_is_recv(desc) ? ep->rx_cq : ep->tx_cq;
	struct kfi_cntr *cntr = ep->cntr[kinds[desc->opcode].counted];

	if (cq && !kfi_cq_add_late(cq, &cqe))
		return false;
	if (cntr)
		fi_cntr_adderr(&cntr->fid, 1);
	return true;
}

/* ---- batches, under domain->post_lock ---- */

static bool may_wait(const struct kfi_user_desc *desc)
{
	return desc->flags & FI_MORE && !(desc->flags & FI_INJECT) && !desc->iov_count &&
	       !desc->rma_count;
}

static void batch_set_count(struct kfi_batch *batch, unsigned int count)
{
	struct kfi_domain *domain = batch->ep->domain;
	unsigned int before = atomic_exchange(&batch->count, count);

	if (!before && count) {
		LIST_INSERT_HEAD(&domain->batches, batch, entry);
		atomic_fetch_add(&domain->batched, 1);
	} else if (before && !count) {
		LIST_REMOVE(batch, entry);
		atomic_fetch_sub(&domain->batched, 1);
	}
}

/*
 * Post a batch to the kernel. Operations for which there is no room stay; operations that are
 * refused fail.
 *
 * @sync: the last operation is that of the present call, which returns its error, so the operation
 *	never stays. Return: 0, or the error of that operation.
 */
static int batch_post(struct kfi_batch *batch, bool sync)
{
	unsigned int at = 0, count = atomic_load(&batch->count);
	int ret = 0;

	batch->descs[count - 1].flags &= ~FI_MORE;	/* no operation follows */
	while (at < count) {
		struct kfi_user_post arg = {
			.descs	= (uintptr_t)&batch->descs[at],
			.count	= count - at,
		};
		int err = kfi_call(batch->ep->domain->fabric, KFI_IOC_POST, &arg);

		if (!err) {
			at += arg.posted;
			err = arg.err;
		}
		if (at >= count || !err || err == -FI_EAGAIN || err == -FI_EINTR)
			break;
		if (sync && at == count - 1) {
			ret = err;
			break;
		}
		if (!fail_late(batch->ep, &batch->descs[at], -err))
			break;
		at++;
	}
	if (sync && at < count) {
		count--;
		if (!ret)
			ret = -FI_EAGAIN;
	}
	if (at < count)
		atomic_store(&batch->ep->domain->stuck, true);
	memmove(batch->descs, batch->descs + at, (count - at) * sizeof(*batch->descs));
	batch_set_count(batch, count - at);
	return ret;
}

static ssize_t batch_add(struct kfi_batch *batch, const struct kfi_user_desc *desc)
{
	unsigned int count = atomic_load(&batch->count);

	if (!batch->descs) {
		batch->descs = calloc(KFI_BATCH_MAX, sizeof(*batch->descs));
		if (!batch->descs)
			return -FI_EAGAIN;
	}
	if (count == KFI_BATCH_MAX) {
		batch_post(batch, false);
		count = atomic_load(&batch->count);
		if (count == KFI_BATCH_MAX)
			return -FI_EAGAIN;
	}
	batch->descs[count] = *desc;
	batch_set_count(batch, count + 1);
	return may_wait(desc) ? 0 : batch_post(batch, true);
}

ssize_t kfi_post_gather(struct kfi_ep *ep, struct kfi_batch *batch,
			const struct kfi_user_desc *desc)
{
	struct kfi_domain *domain = ep->domain;
	ssize_t ret;

	if (desc->flags & FI_TRIGGER)
		return -FI_EBADFLAGS;	/* the context would be a structure of another kind */
	if (domain->fabric->fd < 0)
		return -FI_EIO;
	pthread_mutex_lock(&domain->post_lock);
	ret = batch_add(batch, desc);
	pthread_mutex_unlock(&domain->post_lock);
	return ret;
}

void kfi_flush_batches(struct kfi_domain *domain)
{
	struct kfi_batch *batch, *next;

	if (domain->fabric->fd < 0)
		return;
	pthread_mutex_lock(&domain->post_lock);
	atomic_store(&domain->stuck, false);
	for (batch = LIST_FIRST(&domain->batches); batch; batch = next) {
		next = LIST_NEXT(batch, entry);
		batch_post(batch, false);
	}
	pthread_mutex_unlock(&domain->post_lock);
}

/* An endpoint is closed: its gathered operations are dropped. */
void kfi_batch_drop(struct kfi_ep *ep)
{
	int i;

	pthread_mutex_lock(&ep->domain->post_lock);
	for (i = 0; i < 2; i++) {
		batch_set_count(&ep->batch[i], 0);
		free(ep->batch[i].descs);
	}
	pthread_mutex_unlock(&ep->domain->post_lock);
}
