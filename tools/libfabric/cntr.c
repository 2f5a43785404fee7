// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cntr.c - counters: read in memory that is mapped from the kernel, changed by calls */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfi_fi.h"

/* As in cq.c: a thread that spins yields the CPU at intervals. */
#define YIELD_FROM	2048
#define YIELD_EVERY	256

static uint64_t cntr_value(const struct kfi_cntr *cntr)
{
	return __atomic_load_n(&cntr->count->value, __ATOMIC_ACQUIRE);
}

static uint64_t cntr_errors(const struct kfi_cntr *cntr)
{
	return __atomic_load_n(&cntr->count->errors, __ATOMIC_ACQUIRE);
}

/* A child of fork() does not have the mapping, and reads 0. */
static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);
	unsigned int idle;
	uint64_t value;

	if (cntr->domain->fabric->fd < 0)
		return 0;
	kfi_flush(cntr->domain);
	value = cntr_value(cntr);
	if (value != atomic_load_explicit(&cntr->last, memory_order_relaxed)) {
		atomic_store_explicit(&cntr->last, value, memory_order_relaxed);
		atomic_store_explicit(&cntr->idle, 0, memory_order_relaxed);
		return value;
	}
	idle = atomic_load_explicit(&cntr->idle, memory_order_relaxed) + 1;
	atomic_store_explicit(&cntr->idle, idle, memory_order_relaxed);
	if (idle >= YIELD_FROM && !(idle % YIELD_EVERY))
		sched_yield();
	return value;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	if (cntr->domain->fabric->fd < 0)
		return 0;
	kfi_flush(cntr->domain);
	return cntr_errors(cntr);
}

static int cntr_change(struct fid_cntr *fid, enum kfi_user_count_op op, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);
	struct kfi_user_count_change arg = { .cntr = cntr->handle, .op = op, .value = value };

	return kfi_call(cntr->domain->fabric, KFI_IOC_COUNT, &arg);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(fid, KFI_USER_COUNT_ADD, value);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(fid, KFI_USER_COUNT_SET, value);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(fid, KFI_USER_COUNT_ADDERR, value);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(fid, KFI_USER_COUNT_SETERR, value);
}

/*
 * As in cq_sreadfrom(), a sleep is short while gathered operations wait for room in the kernel. The
 * kernel ends a wait when it counts an error; errors before each sleep are checked here.
 */
static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);
	struct kfi_user_wait arg = { .handle = cntr->handle, .threshold = threshold };
	uint64_t deadline, errors;
	int left, ret;

	if (cntr->wait.obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	if (cntr->domain->fabric->fd < 0)
		return -FI_EIO;
	deadline = kfi_deadline(timeout);
	errors = cntr_errors(cntr);
	for (;;) {
		kfi_flush(cntr->domain);
		if (cntr_value(cntr) >= threshold)
			return 0;
		if (cntr_errors(cntr) != errors)
			return -FI_EAVAIL;
		left = kfi_time_left(deadline);
		if (!left)
			return -FI_ETIMEDOUT;
		arg.timeout_ms = left;
		arg.errors = errors;
		if (atomic_load(&cntr->domain->batched))
			arg.timeout_ms = 1;
		ret = kfi_call(cntr->domain->fabric, KFI_IOC_WAIT, &arg);
		if (ret && ret != -FI_ETIMEDOUT && ret != -FI_EAGAIN)
			return ret;
	}
}

static int cntr_close(struct fid *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid.fid);
	int ret;

	ret = kfi_handle_close(cntr->domain->fabric, cntr->handle);
	if (ret)
		return ret;
	munmap((void *)cntr->count, cntr->map_bytes);
	kfi_wait_close(&cntr->wait);
	free(cntr);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid.fid);

	return kfi_wait_control(cntr->domain->fabric, cntr->handle, &cntr->wait, command, arg);
}

static struct fi_ops cntr_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= cntr_close,
	.bind		= kfi_no_bind,
	.control	= cntr_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_cntr cntr_ops = {
	.size		= sizeof(struct fi_ops_cntr),
	.read		= cntr_read,
	.readerr	= cntr_readerr,
	.add		= cntr_add,
	.set		= cntr_set,
	.wait		= cntr_wait,
	.adderr		= cntr_adderr,
	.seterr		= cntr_seterr,
};

int kfi_cntr_open(struct fid_domain *dfid, struct fi_cntr_attr *attr, struct fid_cntr **fid,
		  void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_cntr arg = {
		.domain = domain->handle,
		.events = attr ? attr->events : FI_CNTR_EVENTS_COMP,
	};
	struct kfi_cntr *cntr;
	int ret;

	if (attr && attr->flags)
		return -FI_EBADFLAGS;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	ret = kfi_wait_init(&cntr->wait, attr ? attr->wait_obj : FI_WAIT_UNSPEC);
	if (ret)
		goto free;
	arg.cookie = (uintptr_t)cntr;
	ret = kfi_call(domain->fabric, KFI_IOC_CNTR, &arg);
	if (ret)
		goto free;
	cntr->map_bytes = sysconf(_SC_PAGESIZE);
	cntr->count = kfi_map(domain->fabric, arg.handle, cntr->map_bytes, false);
	if (!cntr->count) {
		ret = -errno;
		goto close;
	}
	cntr->domain = domain;
	cntr->handle = arg.handle;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	*fid = &cntr->fid;
	return 0;

close:
	kfi_handle_close(domain->fabric, arg.handle);
free:
	free(cntr);
	return ret;
}
