// SPDX-License-Identifier: GPL-2.0
/*
 * user.c - what processes have by /dev/infiniband/uverbs*: contexts, and regions of their memory.
 * docs/verbs-device.md, "Processes"
 *
 * The pages of a region are pinned, and mapped in one piece, so that a part of it is one entry of
 * a vector. Its life has two ends. kib_dereg_mr() takes it from requests that come later, and from
 * peers. The memory stays until the last request that was posted before has ended, because a
 * process is not to be trusted to wait for that: it may end the region first, and dies without any
 * order.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kib.h"

#define USER_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |	\
			 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_OPTIONAL)

/* ---- contexts ---- */

/*
 * uverbs gives restrack a reference of the calling task before the context is opened, and does not
 * drop the reference if a process that has asked by ioctl() is refused: a user with too many
 * contexts could keep any number of dead processes in memory. restrack can do without it.
 */
static void context_forget_task(struct ib_ucontext *context)
{
	if (context->res.task)
		put_task_struct(context->res.task);
	context->res.task = NULL;
}

int kib_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	struct kib_ucontext *uc = container_of(context, struct kib_ucontext, ib);

	mutex_init(&uc->maps_lock);
	INIT_LIST_HEAD(&uc->maps);
	uc->payer = kfi_payer_open();
	if (!IS_ERR(uc->payer))
		return 0;
	mutex_destroy(&uc->maps_lock);
	context_forget_task(context);
	return PTR_ERR(uc->payer);
}

void kib_dealloc_ucontext(struct ib_ucontext *context)
{
	struct kib_ucontext *uc = container_of(context, struct kib_ucontext, ib);

	kib_maps_end(uc);
	kfi_payer_put(uc->payer);
}

/* The device goes: the core ends the objects of processes, which keep what they have mapped. */
void kib_disassociate_ucontext(struct ib_ucontext *context)
{
}

/* ---- regions ---- */

static void user_mr_free(struct work_struct *work)
{
	struct kib_mr *mr = container_of(to_rcu_work(work), struct kib_mr, free_work);

	vunmap(mr->mapped);
	ib_umem_release(mr->umem);
	kfi_payer_give(mr->payer, KFI_PAYER_REGIONS, mr->room);
	kfi_payer_put(mr->payer);
	kfree(mr);
}

/* Context: any */
void kib_user_mr_put(struct kib_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		queue_rcu_work(kib_wq, &mr->free_work);
}

/*
 * Return: the region that has the element, referenced; NULL if there is none, or it may not be
 * used like that. Context: interrupts or bottom halves are off, which is an RCU section
 */
struct kib_mr *kib_user_mr_get(struct ib_pd *pd, const struct ib_sge *sge, int dir)
{
	struct kib_mr *mr = kib_mr_find(to_kib_dev(pd->device), pd, sge->lkey);
	u64 at;

	if (!mr || !mr->umem || (dir == ITER_DEST && !(mr->access & IB_ACCESS_LOCAL_WRITE)))
		return NULL;
	at = sge->addr - mr->iova;
	if (at > mr->umem->length || sge->length > mr->umem->length - at)
		return NULL;
	return refcount_inc_not_zero(&mr->refs) ? mr : NULL;
}

static int user_mr_map(struct kib_mr *mr)
{
	size_t nr = ib_umem_num_pages(mr->umem), i = 0;
	struct sg_page_iter iter;
	struct page **pages;

	pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0)
		pages[i++] = sg_page_iter_page(&iter);
	mr->mapped = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return mr->mapped ? 0 : -ENOMEM;
}

/* Let peers access the memory by the key of the region, if they may. */
static int user_mr_share(struct kib_mr *mr, struct kib_pd *pd)
{
	struct kvec vec = {
		.iov_base = kib_user_mr_at(mr, mr->iova), .iov_len = mr->umem->length,
	};
	u64 access = kib_rights(mr->access);

	return access ? kfi_mr_regv(pd->domain, &vec, 1, access, mr->iova, mr->key, 0, &mr->mr,
				    mr) : 0;
}

/* The region can be found when it is complete. */
static int user_mr_enter(struct kib_mr *mr, struct kib_pd *pd)
{
	struct xarray *mrs = &to_kib_dev(pd->ib.device)->mrs;
	int ret;

	ret = user_mr_map(mr) ?: kib_mr_number(to_kib_dev(pd->ib.device), mr, NULL);
	if (ret)
		return ret;
	ret = user_mr_share(mr, pd);
	if (ret)
		xa_erase(mrs, mr->key >> 8);
	else
		xa_store(mrs, mr->key >> 8, mr, GFP_KERNEL);	/* its entry is reserved */
	return ret;
}

/*
 * With an entry of a scatterlist, and one of a page table, for each page. The RDMA core counts the
 * pages against RLIMIT_MEMLOCK for each process alone, so a user has the limit as many times as it
 * has processes. Those whom it limits have the pages charged to their account, which bounds the
 * sum.
 */
static size_t user_mr_bytes(u64 start, u64 length)
{
	u64 pages = DIV_ROUND_UP(offset_in_page(start) + length, PAGE_SIZE);
	size_t each = sizeof(struct scatterlist) + sizeof(pte_t);

	if (!capable(CAP_IPC_LOCK) && rlimit(RLIMIT_MEMLOCK) != RLIM_INFINITY)
		each += PAGE_SIZE;
	return KFI_PAYER_REGION_BYTES + pages * each;
}

/* Return: the region without its memory, or an error pointer */
static struct kib_mr *user_mr_new(struct kib_pd *pd, size_t room)
{
	int ret = kfi_payer_take(pd->payer, KFI_PAYER_REGIONS, room);
	struct kib_mr *mr;

	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		kfi_payer_give(pd->payer, KFI_PAYER_REGIONS, room);
		return ERR_PTR(-ENOMEM);
	}
	mr->payer = kfi_payer_get(pd->payer);
	mr->room = room;
	mr->ib.pd = &pd->ib;
	spin_lock_init(&mr->lock);
	refcount_set(&mr->refs, 1);
	INIT_RCU_WORK(&mr->free_work, user_mr_free);
	return mr;
}

struct ib_mr *kib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 addr, int access,
			      KFI_IB_DMAH_ARG struct ib_udata *udata)
{
	struct ib_umem *umem;
	struct kib_mr *mr;
	int ret;

	if (access & ~USER_ACCESS || KFI_IB_DMAH_GIVEN)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || length > KIB_MAX_REGION)
		return ERR_PTR(-EINVAL);
	mr = user_mr_new(to_kib_pd(pd), user_mr_bytes(start, length));
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->iova = addr;
	mr->access = access;
	umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(umem)) {
		ret = PTR_ERR(umem);
		goto put_mr;
	}
	mr->umem = umem;
	ret = user_mr_enter(mr, to_kib_pd(pd));
	if (!ret)
		return &mr->ib;
put_mr:
	kib_user_mr_put(mr);
	return ERR_PTR(ret);
}
