// SPDX-License-Identifier: GPL-2.0
/* Counters of completed operations, for consumers that do not need an entry for each operation. */
#include <linux/slab.h>
#include "cntr.h"
#include "queue.h"

struct kfi_obj *kfi_cntr_obj(struct kfi_cntr *cntr)
{
	return &cntr->obj;
}

static void kfi_cntr_changed(struct kfi_cntr *cntr)
{
	smp_mb__after_atomic();		/* pairs with kfi_cntr_wait() */
	/* kfi_cntr_wait() calls prepare_to_wait() before it reads the value */
	if (waitqueue_active(&cntr->wait))
		wake_up_all(&cntr->wait);
	if (cntr->handler)
		cntr->handler(&cntr->fid, cntr->fid.fid.context);
}

void kfi_cntr_count(struct kfi_cntr *cntr, int err)
{
	if (!cntr)
		return;
	if (unlikely(err))
		atomic64_inc(&cntr->errors);
	else
		atomic64_inc(&cntr->value);
	kfi_cntr_changed(cntr);
}

uint64_t kfi_cntr_read(struct kfid_cntr *cntr)
{
	return atomic64_read(&kfi_to_cntr(cntr)->value);
}
EXPORT_SYMBOL_GPL(kfi_cntr_read);

uint64_t kfi_cntr_readerr(struct kfid_cntr *cntr)
{
	return atomic64_read(&kfi_to_cntr(cntr)->errors);
}
EXPORT_SYMBOL_GPL(kfi_cntr_readerr);

int kfi_cntr_add(struct kfid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_to_cntr(fid);

	atomic64_add(value, &cntr->value);
	kfi_cntr_changed(cntr);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cntr_add);

int kfi_cntr_adderr(struct kfid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_to_cntr(fid);

	atomic64_add(value, &cntr->errors);
	kfi_cntr_changed(cntr);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cntr_adderr);

int kfi_cntr_set(struct kfid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_to_cntr(fid);

	atomic64_set(&cntr->value, value);
	smp_mb();	/* atomic64_set() implies no barrier; see kfi_cntr_changed() */
	kfi_cntr_changed(cntr);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cntr_set);

int kfi_cntr_seterr(struct kfid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_to_cntr(fid);

	atomic64_set(&cntr->errors, value);
	smp_mb();	/* as in kfi_cntr_set() */
	kfi_cntr_changed(cntr);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cntr_seterr);

int kfi_cntr_wait(struct kfid_cntr *fid, uint64_t threshold, int timeout)
{
	struct kfi_cntr *cntr = kfi_to_cntr(fid);
	unsigned int state = kfi_queue_sleep_state();
	long left = kfi_queue_timeout(timeout);
	u64 errors = kfi_cntr_readerr(fid);
	DEFINE_WAIT(wait);
	int ret;

	if (!cntr->waitable)
		return -EINVAL;
	for (;;) {
		prepare_to_wait(&cntr->wait, &wait, state);
		ret = 0;
		if (kfi_cntr_read(fid) >= threshold)
			break;
		ret = -KFI_EAVAIL;
		if (kfi_cntr_readerr(fid) != errors)
			break;
		ret = -ETIMEDOUT;
		if (!left)
			break;
		ret = -EINTR;
		if (kfi_queue_killed(state))
			break;
		left = schedule_timeout(left);
	}
	finish_wait(&cntr->wait, &wait);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cntr_wait);

static int kfi_cntr_check(const struct kfi_cntr_attr *attr)
{
	if (attr->flags)
		return -KFI_EBADFLAGS;
	if (attr->events != KFI_CNTR_EVENTS_COMP)
		return -EINVAL;
	return kfi_queue_wait_obj(attr->wait_obj);
}

int kfi_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntrp,
		  void *context)
{
	static const struct kfi_cntr_attr none = { .wait_obj = KFI_WAIT_UNSPEC };
	const struct kfi_cntr_attr *a = attr ?: &none;
	struct kfi_cntr *cntr;
	int ret;

	ret = kfi_cntr_check(a);
	if (ret)
		return ret;
	if (READ_ONCE(kfi_to_domain(domain)->dead))
		return -ENODEV;
	cntr = kzalloc(sizeof(*cntr), GFP_KERNEL_ACCOUNT);
	if (!cntr)
		return -ENOMEM;
	cntr->fid.fid.fclass = KFI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->domain = kfi_to_domain(domain);
	cntr->waitable = a->wait_obj != KFI_WAIT_NONE;
	cntr->handler = a->handler;
	init_waitqueue_head(&cntr->wait);
	kfi_obj_init(&cntr->obj);
	kfi_obj_get(&cntr->domain->obj);
	*cntrp = &cntr->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_cntr_open);

static int kfi_cntr_close(struct kfid *fid)
{
	struct kfi_cntr *cntr = container_of(fid, struct kfi_cntr, fid.fid);

	if (!kfi_obj_retire(&cntr->obj))
		return -EBUSY;
	kfi_obj_put(&cntr->domain->obj);
	kfree(cntr);
	return 0;
}

const struct kfi_fid_class kfi_cntr_class = {
	.name = "cntr",
	.close = kfi_cntr_close,
};
