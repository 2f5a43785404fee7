// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq.c - completion queues
 *
 * Completions are in a ring that is mapped from the kernel, so that a program which spins on a
 * queue makes no system call. The comment of struct kfi_user_ring says which side writes which
 * member. With cq->lock the threads of a program are one reader.
 *
 * The kernel may refuse an operation that was gathered with FI_MORE when it is posted later. The
 * ring has no entry for such an error, so the error is put into cq->late, which is read first.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

#include "kfi_fi.h"

/*
 * A thread that spins on an empty ring may keep its peer from the CPU. After YIELD_FROM reads it
 * yields the CPU at every YIELD_EVERYth read.
 */
#define YIELD_FROM	2048
#define YIELD_EVERY	256

/* How often a reader retries gathered operations for which the kernel had no room */
#define STUCK_LOOKS	64
#define STUCK_WAIT_MS	1

#define DEFAULT_SIZE	0	/* the kernel's default */

/* ---- the ring, under cq->lock ---- */

static bool cq_empty(const struct kfi_cq *cq)
{
	return cq->head == __atomic_load_n(&cq->ring->tail, __ATOMIC_ACQUIRE);
}

static const struct kfi_user_cqe *cq_slot(const struct kfi_cq *cq, uint32_t at)
{
	return &cq->slots[at & cq->mask];
}

static void cq_advance(struct kfi_cq *cq, uint32_t slots)
{
	cq->head += slots;
	__atomic_store_n(&cq->ring->head, cq->head, __ATOMIC_RELEASE);
	cq->moved = true;
	cq->idle = 0;
}

/*
 * The ring is empty: does the kernel have completions that did not fit? The barrier orders the
 * store of head before the load of overflow; the kernel stores overflow before it loads head. So
 * one of the two sees the other's store, and no completion is missed.
 */
static bool cq_overflowed(struct kfi_cq *cq)
{
	if (cq->moved) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		cq->moved = false;
	}
	return __atomic_load_n(&cq->ring->overflow, __ATOMIC_RELAXED);
}

/*
 * Let the kernel move completions that did not fit. Return: true if there are entries in the ring.
 */
static bool cq_fill(struct kfi_cq *cq)
{
	struct kfi_user_handle arg = { .handle = cq->handle };

	if (!cq_empty(cq))
		return true;
	if (!cq_overflowed(cq))
		return false;
	kfi_call(cq->domain->fabric, KFI_IOC_DRAIN, &arg);
	cq->moved = true;
	return !cq_empty(cq);
}

static void cq_copy(const struct kfi_cq *cq, void *buf, size_t at, const struct kfi_user_cqe *cqe)
{
	struct fi_cq_tagged_entry entry = {
		.op_context	= (void *)(uintptr_t)cqe->context,
		.flags		= cqe->flags,
		.len		= cqe->len,
		.buf		= (void *)(uintptr_t)cqe->buf,
		.data		= cqe->data,
		.tag		= cqe->tag,
	};

	/* Each format is the beginning of the next one. */
	switch (cq->format) {
	case FI_CQ_FORMAT_TAGGED:
		((struct fi_cq_tagged_entry *)buf)[at] = entry;
		break;
	case FI_CQ_FORMAT_DATA:
		memcpy((struct fi_cq_data_entry *)buf + at, &entry,
		       sizeof(struct fi_cq_data_entry));
		break;
	case FI_CQ_FORMAT_MSG:
		memcpy((struct fi_cq_msg_entry *)buf + at, &entry, sizeof(struct fi_cq_msg_entry));
		break;
	default:
		memcpy((struct fi_cq_entry *)buf + at, &entry, sizeof(struct fi_cq_entry));
		break;
	}
}

/* Return: number of entries that were taken, -FI_EAGAIN, or -FI_EAVAIL if an error is next. */
static ssize_t cq_take(struct kfi_cq *cq, void *buf, size_t count, fi_addr_t *src_addr)
{
	uint32_t n = 0, tail;	/* sums wrap around as head and tail do */

	if (!STAILQ_EMPTY(&cq->late))
		return -FI_EAVAIL;
	if (!cq_fill(cq))
		return -FI_EAGAIN;
	tail = __atomic_load_n(&cq->ring->tail, __ATOMIC_ACQUIRE);
	while (n < count && cq->head + n != tail) {
		const struct kfi_user_cqe *cqe = cq_slot(cq, cq->head + n);

		if (cqe->err)
			break;
		cq_copy(cq, buf, n, cqe);
		if (src_addr)
			src_addr[n] = cqe->src_addr;
		n++;
	}
	if (n) {
		cq_advance(cq, n);
		return n;
	}
	return cq_slot(cq, cq->head)->err ? -FI_EAVAIL : -FI_EAGAIN;
}

/* ---- reading ---- */

/* May gathered operations for which there was no room be posted again? */
static bool cq_may_retry(const struct kfi_cq *cq, ssize_t taken)
{
	return atomic_load_explicit(&cq->domain->stuck, memory_order_relaxed) &&
	       (taken > 0 || !(cq->idle % STUCK_LOOKS));
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	unsigned int idle;
	bool retry;
	ssize_t ret;

	if (cq->domain->fabric->fd < 0)
		return -FI_EIO;
	if (!atomic_load_explicit(&cq->domain->stuck, memory_order_relaxed))
		kfi_flush(cq->domain);
	pthread_mutex_lock(&cq->lock);
	ret = cq_take(cq, buf, count, src_addr);
	idle = ret == -FI_EAGAIN ? ++cq->idle : 0;
	retry = cq_may_retry(cq, ret);
	pthread_mutex_unlock(&cq->lock);
	if (retry)
		kfi_flush(cq->domain);
	if (idle >= YIELD_FROM && !(idle % YIELD_EVERY))
		sched_yield();
	return ret;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static int signal_kernel(struct kfi_cq *cq)
{
	struct kfi_user_handle arg = { .handle = cq->handle };

	return kfi_call(cq->domain->fabric, KFI_IOC_SIGNAL, &arg);
}

/*
 * The late errors were read: consume the signal for them by a wait. If the ring has entries, the
 * wait succeeds because of these, and the kernel keeps the signal.
 */
static void cq_unsignal(struct kfi_cq *cq)
{
	struct kfi_user_wait arg = { .handle = cq->handle };

	if (!cq->signalled || !kfi_call(cq->domain->fabric, KFI_IOC_WAIT, &arg))
		return;
	cq->signalled = false;
	/* fi_cq_signal() uses the same signal of the kernel: restore it for a sleeper. */
	if (atomic_load(&cq->signal_pending))
		signal_kernel(cq);
}

/* Take the next error entry: a late one, or one of the ring with its second slot */
static bool cq_take_error(struct kfi_cq *cq, struct kfi_user_cqe *cqe, uint64_t *olen)
{
	struct kfi_late *late = STAILQ_FIRST(&cq->late);

	*olen = 0;
	if (late) {
		STAILQ_REMOVE_HEAD(&cq->late, entry);
		*cqe = late->cqe;
		free(late);
		if (STAILQ_EMPTY(&cq->late))
			cq_unsignal(cq);
		return true;
	}
	if (!cq_fill(cq) || !cq_slot(cq, cq->head)->err)
		return false;
	*cqe = *cq_slot(cq, cq->head);
	*olen = ((const struct kfi_user_cqe_err *)cq_slot(cq, cq->head + 1))->olen;
	cq_advance(cq, 2);
	return true;
}

/*
 * The structure of libfabric 2 is longer than that of a program that was built with libfabric 1.
 * Members behind err_data_size are not written: fi_cq_readerr() of 2.x has set them.
 */
static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	struct kfi_user_cqe cqe;
	uint64_t olen;
	bool found;

	if (flags)
		return -FI_EBADFLAGS;
	if (cq->domain->fabric->fd < 0)
		return -FI_EIO;
	pthread_mutex_lock(&cq->lock);
	found = cq_take_error(cq, &cqe, &olen);
	pthread_mutex_unlock(&cq->lock);
	if (!found)
		return -FI_EAGAIN;
	buf->op_context = (void *)(uintptr_t)cqe.context;
	buf->flags = cqe.flags;
	buf->len = cqe.len;
	buf->buf = (void *)(uintptr_t)cqe.buf;
	buf->data = cqe.data;
	buf->tag = cqe.tag;
	buf->olen = olen;
	buf->err = cqe.err;
	buf->prov_errno = cqe.prov_errno;
	if (cq->domain->fabric->fid.api_version < KFI_API_MODES || !buf->err_data_size)
		buf->err_data = NULL;
	buf->err_data_size = 0;
	return 1;
}

/*
 * Sleep until there is an entry. A threshold is treated as one entry, which the interface permits:
 * the reader calls again. While operations wait for room in the kernel, a sleep is short, because
 * an entry of another queue may show that there is room.
 */
static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	struct kfi_user_wait arg = { .handle = cq->handle };
	uint64_t deadline;
	ssize_t ret;
	int left;

	if (cq->wait.obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	if (!count)
		return cq_readfrom(fid, buf, count, src_addr);
	deadline = kfi_deadline(timeout);
	for (;;) {
		kfi_flush(cq->domain);
		ret = cq_readfrom(fid, buf, count, src_addr);
		if (ret != -FI_EAGAIN)
			return ret;
		left = kfi_time_left(deadline);
		if (!left)
			return -FI_EAGAIN;
		arg.timeout_ms = left;
		if (atomic_load(&cq->domain->batched) && (left < 0 || left > STUCK_WAIT_MS))
			arg.timeout_ms = STUCK_WAIT_MS;
		ret = kfi_call(cq->domain->fabric, KFI_IOC_WAIT, &arg);
		/* fi_cq_signal() was called, or it is the signal of an error that was read since */
		if (ret == -FI_EAGAIN && atomic_exchange(&cq->signal_pending, false))
			return cq_readfrom(fid, buf, count, src_addr);
		if (ret && ret != -FI_EAGAIN && ret != -FI_ETIMEDOUT)
			return ret;
	}
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);

	atomic_store(&cq->signal_pending, true);
	return signal_kernel(cq);
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = fi_strerror(prov_errno < 0 ? -prov_errno : prov_errno);

	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

/* ---- for the other files ---- */

bool kfi_cq_ready(struct kfi_cq *cq)
{
	bool ready;

	kfi_flush(cq->domain);
	pthread_mutex_lock(&cq->lock);
	ready = !STAILQ_EMPTY(&cq->late) || cq_fill(cq);
	if (!ready)
		cq_unsignal(cq);
	pthread_mutex_unlock(&cq->lock);
	return ready || atomic_load(&cq->domain->batched);
}

/* The entry exists only in the library, so a signal wakes threads that sleep in the kernel. */
bool kfi_cq_add_late(struct kfi_cq *cq, const struct kfi_user_cqe *cqe)
{
	struct kfi_late *late = malloc(sizeof(*late));

	if (!late)
		return false;
	late->cqe = *cqe;
	pthread_mutex_lock(&cq->lock);
	STAILQ_INSERT_TAIL(&cq->late, late, entry);
	cq->signalled = true;
	signal_kernel(cq);
	pthread_mutex_unlock(&cq->lock);
	return true;
}

/* ---- open and close ---- */

static int cq_close(struct fid *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid.fid);
	struct kfi_late *late;
	int ret;

	ret = kfi_handle_close(cq->domain->fabric, cq->handle);
	if (ret)
		return ret;
	munmap(cq->ring, cq->ring_bytes);
	kfi_wait_close(&cq->wait);
	while ((late = STAILQ_FIRST(&cq->late))) {
		STAILQ_REMOVE_HEAD(&cq->late, entry);
		free(late);
	}
	pthread_mutex_destroy(&cq->lock);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid.fid);

	return kfi_wait_control(cq->domain->fabric, cq->handle, &cq->wait, command, arg);
}

static struct fi_ops cq_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= cq_close,
	.bind		= kfi_no_bind,
	.control	= cq_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_cq cq_ops = {
	.size		= sizeof(struct fi_ops_cq),
	.read		= cq_read,
	.readfrom	= cq_readfrom,
	.readerr	= cq_readerr,
	.sread		= cq_sread,
	.sreadfrom	= cq_sreadfrom,
	.signal		= cq_signal,
	.strerror	= cq_strerror,
};

/* Map the ring, and check its header. */
static int cq_map(struct kfi_cq *cq, const struct kfi_user_cq *arg)
{
	size_t slots = arg->ring_entries;

	cq->ring_bytes = arg->ring_bytes;
	cq->ring = kfi_map(cq->domain->fabric, arg->handle, cq->ring_bytes, true);
	if (!cq->ring)
		return -errno;
	if (!slots || slots & (slots - 1) || cq->ring->slots_at > cq->ring_bytes ||
	    slots * sizeof(*cq->slots) > cq->ring_bytes - cq->ring->slots_at) {
		munmap(cq->ring, cq->ring_bytes);
		return -FI_EOTHER;
	}
	cq->slots = (struct kfi_user_cqe *)((char *)cq->ring + cq->ring->slots_at);
	cq->mask = slots - 1;
	cq->head = cq->ring->head;
	return 0;
}

int kfi_cq_open(struct fid_domain *dfid, struct fi_cq_attr *attr, struct fid_cq **fid,
		void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_cq arg = {
		.domain	= domain->handle,
		.size	= attr ? attr->size : DEFAULT_SIZE,
	};
	struct kfi_cq *cq;
	int ret;

	/* The CPU for the interrupt is only a hint, and ignored. */
	if (attr && attr->flags & ~FI_AFFINITY)
		return -FI_EBADFLAGS;
	if (attr && attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	ret = kfi_wait_init(&cq->wait, attr ? attr->wait_obj : FI_WAIT_NONE);
	if (ret)
		goto free;
	cq->domain = domain;
	arg.cookie = (uintptr_t)cq;
	ret = kfi_call(domain->fabric, KFI_IOC_CQ, &arg);
	if (ret)
		goto free;
	ret = cq_map(cq, &arg);
	if (ret)
		goto close;
	cq->handle = arg.handle;
	cq->format = attr && attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	pthread_mutex_init(&cq->lock, NULL);
	STAILQ_INIT(&cq->late);
	*fid = &cq->fid;
	return 0;

close:
	kfi_handle_close(domain->fabric, arg.handle);
free:
	free(cq);
	return ret;
}
