// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: open and close, and how an entry gets into the ring.
 *
 * No completion is lost, because no operation starts without a slot for its completion. A post
 * takes a slot from &kfi_cq.free without a lock, or returns -EAGAIN. The completion makes the slot
 * an entry, and the reader (cq_read.c) returns the slot. An operation with a done() callback needs
 * no slot: the finished operation itself is queued in &kfi_cq.done, then in &kfi_cq.due, until the
 * context of the queue (cq_run.c) calls done().
 *
 * cq.h describes the structure and its locks.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/mm.h>
#include "cq.h"
#include "queue.h"

#define KFI_CQ_SIZE_MIN		64
#define KFI_CQ_SIZE_MAX		(1U << 22)
#define KFI_CQ_FLAGS		(KFI_AFFINITY | KFI_CQ_SOFTIRQ | KFI_CQ_DIRECT | KFI_CQ_ROUNDS | \
				 KFI_CQ_LOCAL)

struct kfi_obj *kfi_cq_obj(struct kfi_cq *cq)
{
	return &cq->obj;
}

static void kfi_cq_set_slot(struct kfi_cq *cq, u32 i, const struct kfi_cq_err_entry *wc)
{
	struct kfi_cq_slot *slot = &cq->ring[i];

	slot->e.op_context = wc->op_context;
	slot->e.flags = wc->flags;
	slot->e.len = wc->len;
	slot->e.buf = wc->buf;
	slot->e.data = wc->data;
	slot->e.tag = wc->tag;
	slot->src = wc->src_addr;
	slot->err = wc->err;
	slot->prov_errno = wc->prov_errno;
	if (unlikely(wc->err))
		cq->olen[i] = wc->olen;
}

/* Do sleeping readers have to be woken? */
static bool kfi_cq_wakes(struct kfi_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (likely(!cq->asleep))
		return false;
	cq->asleep = false;
	return true;
}

void __kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc)
{
	bool claimed = false, wake;

	spin_lock(&cq->lock);
	WARN_ON_ONCE(cq->tail - cq->head >= cq->size);
	kfi_cq_set_slot(cq, cq->tail & cq->mask, wc);
	WRITE_ONCE(cq->tail, cq->tail + 1);
	if (cq->handler && cq->armed) {
		WRITE_ONCE(cq->armed, false);
		cq->event = true;
		claimed = kfi_cq_claim(cq);
	}
	wake = kfi_cq_wakes(cq);
	spin_unlock(&cq->lock);

	if (claimed)
		kfi_cq_schedule(cq);
	if (wake)
		wake_up_all(&cq->wait);
}

void kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc)
{
	local_bh_disable();
	__kfi_cq_fill(cq, wc);
	local_bh_enable();
}

static int kfi_cq_check(const struct kfi_cq_attr *attr, kfi_comp_handler handler)
{
	if (attr->flags & ~KFI_CQ_FLAGS)
		return -KFI_EBADFLAGS;
	if ((attr->flags & KFI_CQ_ROUNDS) && !handler)
		return -EINVAL;
	if ((attr->flags & KFI_CQ_SOFTIRQ) && (attr->flags & KFI_CQ_DIRECT))
		return -EINVAL;
	if ((attr->flags & KFI_CQ_LOCAL) &&
	    (attr->flags & (KFI_CQ_SOFTIRQ | KFI_CQ_DIRECT | KFI_AFFINITY)))
		return -EINVAL;
	if ((unsigned int)attr->format > KFI_CQ_FORMAT_TAGGED || attr->size > KFI_CQ_SIZE_MAX)
		return -EINVAL;
	if (attr->wait_cond != KFI_CQ_COND_NONE)
		return -EINVAL;
	if (kfi_queue_cpu(attr->flags, attr->signaling_vector) < 0)
		return -EINVAL;
	return kfi_queue_wait_obj(attr->wait_obj);
}

/* Size for one endpoint with full queues in both directions. */
static u32 kfi_cq_default_size(const struct kfi_domain *domain)
{
	const struct kfi_info *info = domain->info;
	size_t size = 0;

	if (info && info->tx_attr)
		size += info->tx_attr->size;
	if (info && info->rx_attr)
		size += info->rx_attr->size;
	return clamp_t(size_t, size, KFI_CQ_SIZE_MIN, KFI_CQ_SIZE_MAX);
}

static void kfi_cq_set_attr(struct kfi_cq *cq, const struct kfi_cq_attr *attr)
{
	cq->size = attr->size ?: kfi_cq_default_size(cq->domain);
	cq->mask = roundup_pow_of_two(cq->size) - 1;
	cq->format = attr->format ?: KFI_CQ_FORMAT_CONTEXT;
	cq->waitable = attr->wait_obj != KFI_WAIT_NONE;
	cq->rounds = attr->flags & KFI_CQ_ROUNDS;
	cq->local = attr->flags & KFI_CQ_LOCAL;
	cq->cpu = kfi_queue_cpu(attr->flags, attr->signaling_vector);
	cq->where = attr->flags & KFI_CQ_SOFTIRQ ? KFI_CQ_IN_SOFTIRQ :
		    attr->flags & KFI_CQ_DIRECT ? KFI_CQ_IN_POLL : KFI_CQ_IN_WORK;
	atomic_set(&cq->free, cq->size);
}

int kfi_cq_cpu(const struct kfi_cq *cq)
{
	return cq && cq->cpu != WORK_CPU_UNBOUND ? cq->cpu : -1;
}
EXPORT_SYMBOL_GPL(kfi_cq_cpu);

static int kfi_cq_alloc_ring(struct kfi_cq *cq)
{
	int node = cq->domain->limits.numa_node;

	cq->ring = kvzalloc_node(array_size(cq->mask + 1, sizeof(*cq->ring)), GFP_KERNEL_ACCOUNT,
				 node);
	cq->olen = kvzalloc_node(array_size(cq->mask + 1, sizeof(*cq->olen)), GFP_KERNEL_ACCOUNT,
				 node);
	return cq->ring && cq->olen ? 0 : -ENOMEM;
}

static void kfi_cq_free(struct kfi_cq *cq)
{
	kvfree(cq->olen);
	kvfree(cq->ring);
	kfree(cq);
}

int kfi_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cqp,
		kfi_comp_handler handler, void *context)
{
	static const struct kfi_cq_attr none = { .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_cq *cq;
	int ret;

	ret = kfi_cq_check(attr ?: &none, handler);
	if (ret)
		return ret;
	if (READ_ONCE(kfi_to_domain(domain)->dead))
		return -ENODEV;
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return -ENOMEM;
	cq->fid.fid.fclass = KFI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->domain = kfi_to_domain(domain);
	cq->handler = handler;
	kfi_cq_set_attr(cq, attr ?: &none);
	ret = kfi_cq_alloc_ring(cq);
	if (ret)
		goto err_free;
	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->hot_lock);
	INIT_LIST_HEAD(&cq->hot);
	cq->polled = jiffies - HZ;
	init_waitqueue_head(&cq->wait);
	cq->armed = true;
	kfi_cq_space_init(cq);
	ret = kfi_cq_run_init(cq);
	if (ret)
		goto err_free;
	kfi_obj_init(&cq->obj);
	kfi_obj_get(&cq->domain->obj);
	*cqp = &cq->fid;
	return 0;

err_free:
	kfi_cq_free(cq);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cq_open);

/*
 * No object is bound to the queue, so no entry is added any more. Only callbacks that run, and
 * entries that were not read, may be left.
 */
static int kfi_cq_close(struct kfid *fid)
{
	struct kfi_cq *cq = container_of(fid, struct kfi_cq, fid.fid);

	if (!kfi_obj_retire(&cq->obj))
		return -EBUSY;
	kfi_cq_run_stop(cq);
	kfi_cq_space_stop(cq);
	kfi_obj_put(&cq->domain->obj);
	kfi_cq_free(cq);
	return 0;
}

const struct kfi_fid_class kfi_cq_class = {
	.name = "cq",
	.close = kfi_cq_close,
};
