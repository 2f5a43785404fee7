// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: reading and waiting.
 *
 * The handler is edge-triggered. A read that finds the queue empty arms the queue, under
 * &kfi_cq.lock, which also protects the addition of entries. So each entry either is found by that
 * read, or finds the queue armed and schedules the handler.
 */
#include "cq.h"
#include "queue.h"

/* Every format is a prefix of the longest one. */
static_assert(offsetof(struct kfi_cq_tagged_entry, flags) ==
	      offsetof(struct kfi_cq_data_entry, flags));
static_assert(offsetof(struct kfi_cq_tagged_entry, data) ==
	      offsetof(struct kfi_cq_data_entry, data));
static_assert(offsetof(struct kfi_cq_msg_entry, len) == offsetof(struct kfi_cq_data_entry, len));

static void *kfi_cq_emit(const struct kfi_cq *cq, void *buf, const struct kfi_cq_slot *slot)
{
	switch (cq->format) {
	case KFI_CQ_FORMAT_MSG:
		return memcpy(buf, &slot->e, sizeof(struct kfi_cq_msg_entry)) +
		       sizeof(struct kfi_cq_msg_entry);
	case KFI_CQ_FORMAT_DATA:
		return memcpy(buf, &slot->e, sizeof(struct kfi_cq_data_entry)) +
		       sizeof(struct kfi_cq_data_entry);
	case KFI_CQ_FORMAT_TAGGED:
		return memcpy(buf, &slot->e, sizeof(slot->e)) + sizeof(slot->e);
	default:
		return memcpy(buf, &slot->e, sizeof(struct kfi_cq_entry)) +
		       sizeof(struct kfi_cq_entry);
	}
}

/*
 * Read up to @count successful entries. Returns their number; 0 if the queue is empty or the first
 * entry is an error.
 */
static size_t kfi_cq_pop(struct kfi_cq *cq, void *buf, size_t count, kfi_addr_t *src)
{
	const struct kfi_cq_slot *slot;
	u32 head = cq->head;
	size_t n;

	lockdep_assert_held(&cq->lock);
	for (n = 0; n < count && head != cq->tail; n++, head++) {
		slot = &cq->ring[head & cq->mask];
		if (unlikely(slot->err))
			break;
		buf = kfi_cq_emit(cq, buf, slot);
		if (src)
			src[n] = slot->src;
	}
	WRITE_ONCE(cq->head, head);
	return n;
}

/* Without the lock: is the queue empty and armed? */
static bool kfi_cq_empty_armed(const struct kfi_cq *cq)
{
	if (READ_ONCE(cq->head) != READ_ONCE(cq->tail))
		return false;
	/* an entry that another reader has taken may have cleared an earlier value of @armed */
	smp_rmb();
	return READ_ONCE(cq->armed);
}

#define KFI_READ_BUDGET	16	/* completions of devices that one read handles */

/* Is there nothing to read, and for a directly polled queue nothing at the devices either? */
static bool kfi_cq_idle(struct kfi_cq *cq)
{
	return kfi_cq_empty_armed(cq) &&
	       (cq->where != KFI_CQ_IN_POLL || !kfi_cq_poll_devs(cq, KFI_READ_BUDGET));
}

ssize_t kfi_cq_readfrom(struct kfid_cq *fid, void *buf, size_t count, kfi_addr_t *src_addr)
{
	struct kfi_cq *cq = kfi_to_cq(fid);
	ssize_t ret;

	if (kfi_cq_idle(cq))
		return -EAGAIN;
	spin_lock_bh(&cq->lock);
	ret = kfi_cq_pop(cq, buf, count, src_addr);
	if (!ret) {
		ret = -EAGAIN;
		if (cq->head == cq->tail)
			WRITE_ONCE(cq->armed, true);
		else if (cq->ring[cq->head & cq->mask].err)
			ret = -KFI_EAVAIL;
	}
	spin_unlock_bh(&cq->lock);
	if (ret > 0)
		kfi_cq_freed(cq, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cq_readfrom);

ssize_t kfi_cq_read(struct kfid_cq *cq, void *buf, size_t count)
{
	return kfi_cq_readfrom(cq, buf, count, NULL);
}
EXPORT_SYMBOL_GPL(kfi_cq_read);

static void kfi_cq_get_error(const struct kfi_cq *cq, struct kfi_cq_err_entry *buf)
{
	u32 i = cq->head & cq->mask;
	const struct kfi_cq_slot *slot = &cq->ring[i];

	lockdep_assert_held(&cq->lock);
	buf->op_context = slot->e.op_context;
	buf->flags = slot->e.flags;
	buf->len = slot->e.len;
	buf->buf = slot->e.buf;
	buf->data = slot->e.data;
	buf->tag = slot->e.tag;
	buf->olen = cq->olen[i];
	buf->err = slot->err;
	buf->prov_errno = slot->prov_errno;
	buf->err_data_size = 0;		/* no provider has error data */
	buf->src_addr = slot->src;
}

ssize_t kfi_cq_readerr(struct kfid_cq *fid, struct kfi_cq_err_entry *buf, uint64_t flags)
{
	struct kfi_cq *cq = kfi_to_cq(fid);
	ssize_t ret = -EAGAIN;

	if (flags)
		return -KFI_EBADFLAGS;
	spin_lock_bh(&cq->lock);
	if (cq->head == cq->tail) {
		WRITE_ONCE(cq->armed, true);
	} else if (cq->ring[cq->head & cq->mask].err) {
		kfi_cq_get_error(cq, buf);
		WRITE_ONCE(cq->head, cq->head + 1);
		ret = 1;
	}
	spin_unlock_bh(&cq->lock);
	if (ret > 0)
		kfi_cq_freed(cq, 1);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cq_readerr);

/* Can a sleeping reader return? If not, record that the next entry has to wake it. */
static bool kfi_cq_ready(struct kfi_cq *cq, u32 signals)
{
	bool ready;

	spin_lock_bh(&cq->lock);
	ready = cq->tail != cq->head || cq->signals != signals;
	if (!ready)
		cq->asleep = true;
	spin_unlock_bh(&cq->lock);
	return ready;
}

/* Sleep. Returns the rest of @timeout (jiffies), 0 if it has expired, or -EINTR. */
static long kfi_cq_sleep(struct kfi_cq *cq, u32 signals, long timeout)
{
	unsigned int state = kfi_queue_sleep_state();
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait(&cq->wait, &wait, state);
		if (kfi_cq_ready(cq, signals) || !timeout)
			break;
		if (kfi_queue_killed(state)) {
			timeout = -EINTR;
			break;
		}
		timeout = schedule_timeout(timeout);
	}
	finish_wait(&cq->wait, &wait);
	return timeout;
}

/*
 * Begin a wait. @signals is set to the number of signals so far, to recognise later ones. Returns
 * false if kfi_cq_signal() was called when no reader waited; then there is no wait to end.
 */
static bool kfi_cq_begin_wait(struct kfi_cq *cq, u32 *signals)
{
	bool signaled;

	spin_lock_bh(&cq->lock);
	signaled = cq->signaled;
	cq->signaled = false;
	*signals = cq->signals;
	if (!signaled)
		WRITE_ONCE(cq->waiting, cq->waiting + 1);
	spin_unlock_bh(&cq->lock);
	if (!signaled)
		kfi_cq_sleeps(cq);
	return !signaled;
}

static void kfi_cq_end_wait(struct kfi_cq *cq)
{
	spin_lock_bh(&cq->lock);
	WRITE_ONCE(cq->waiting, cq->waiting - 1);
	spin_unlock_bh(&cq->lock);
}

ssize_t kfi_cq_sreadfrom(struct kfid_cq *fid, void *buf, size_t count, kfi_addr_t *src_addr,
			 const void *cond, int timeout)
{
	struct kfi_cq *cq = kfi_to_cq(fid);
	long left = kfi_queue_timeout(timeout);
	u32 signals;
	ssize_t ret;

	if (!cq->waitable)
		return -EINVAL;
	might_sleep();
	ret = kfi_cq_readfrom(fid, buf, count, src_addr);
	if (ret != -EAGAIN || !count)
		return ret;
	if (!kfi_cq_begin_wait(cq, &signals))
		return kfi_cq_readfrom(fid, buf, count, src_addr);
	do {
		left = kfi_cq_sleep(cq, signals, left);
		ret = left < 0 ? left : kfi_cq_readfrom(fid, buf, count, src_addr);
	} while (ret == -EAGAIN && left && READ_ONCE(cq->signals) == signals);
	kfi_cq_end_wait(cq);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cq_sreadfrom);

ssize_t kfi_cq_sread(struct kfid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return kfi_cq_sreadfrom(cq, buf, count, NULL, cond, timeout);
}
EXPORT_SYMBOL_GPL(kfi_cq_sread);

/* Wake all readers that wait. If no reader waits, the next one that would wait returns at once. */
int kfi_cq_signal(struct kfid_cq *fid)
{
	struct kfi_cq *cq = kfi_to_cq(fid);

	if (!cq->waitable)
		return -EINVAL;
	spin_lock_bh(&cq->lock);
	if (cq->waiting)
		WRITE_ONCE(cq->signals, cq->signals + 1);
	else
		cq->signaled = true;
	cq->asleep = false;
	spin_unlock_bh(&cq->lock);
	wake_up_all(&cq->wait);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cq_signal);
