// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: kfi.ko counts, and a page that the process maps shows it.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include "user.h"

static struct kfid_cntr *cntr_of(struct ku_obj *obj)
{
	return container_of(obj->fid, struct kfid_cntr, fid);
}

/*
 * Several CPUs may run this function at the same time. The counter is read under the lock, so the
 * last call stores the latest values.
 */
static void cntr_handler(struct kfid_cntr *cntr, void *context)
{
	struct ku_cntr *c = context;

	spin_lock_bh(&c->lock);
	WRITE_ONCE(c->count->errors, kfi_cntr_readerr(cntr));
	WRITE_ONCE(c->count->value, kfi_cntr_read(cntr));
	spin_unlock_bh(&c->lock);
	ku_waiter_wake(&c->obj);
}

int ku_ioc_cntr(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_cntr *open = arg;
	struct kfi_cntr_attr attr = {
		.events = open->events,
		.wait_obj = KFI_WAIT_NONE,
		.handler = cntr_handler,
	};
	struct ku_cntr *cntr;
	struct ku_domain *domain;
	int ret;

	if (open->reserved)
		return -EINVAL;
	domain = ku_domain_get(ctx, open->domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	cntr = ku_obj_new(ctx, &domain->obj, sizeof(*cntr), KFI_CLASS_CNTR, open->cookie);
	if (IS_ERR(cntr)) {
		ret = PTR_ERR(cntr);
		goto put_domain;
	}
	spin_lock_init(&cntr->lock);
	ret = -ENOMEM;
	cntr->count = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!cntr->count)
		goto abandon;
	ret = ku_waiter_open(&cntr->obj);
	if (ret)
		goto free_page;
	ret = kfi_cntr_open(domain->domain, &attr, &cntr->cntr, cntr);
	if (ret)
		goto close_waiter;
	cntr->obj.fid = &cntr->cntr->fid;
	open->handle = cntr->obj.handle;
	ku_obj_publish(&cntr->obj);
	goto put_domain;

close_waiter:
	ku_waiter_close(&cntr->obj);
free_page:
	free_page((unsigned long)cntr->count);
abandon:
	ku_obj_abandon(&cntr->obj);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}

int ku_cntr_map(struct ku_cntr *cntr, struct vm_area_struct *vma)
{
	if (vma_pages(vma) != 1 || vma->vm_flags & VM_WRITE)
		return -EINVAL;
	vm_flags_clear(vma, VM_MAYWRITE);
	return vm_insert_page(vma, vma->vm_start, virt_to_page(cntr->count));
}

int ku_ioc_count(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_count_change *change = arg;
	struct ku_obj *obj;
	int ret = -EINVAL;

	obj = ku_obj_get(ctx, change->cntr, KFI_CLASS_CNTR);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	switch (change->op) {
	case KFI_USER_COUNT_ADD:
		ret = kfi_cntr_add(cntr_of(obj), change->value);
		break;
	case KFI_USER_COUNT_SET:
		ret = kfi_cntr_set(cntr_of(obj), change->value);
		break;
	case KFI_USER_COUNT_ADDERR:
		ret = kfi_cntr_adderr(cntr_of(obj), change->value);
		break;
	case KFI_USER_COUNT_SETERR:
		ret = kfi_cntr_seterr(cntr_of(obj), change->value);
		break;
	}
	ku_obj_put(obj);
	return ret;
}
