// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: entries of the queue of kfi.ko are moved into a ring that the process maps.
 *
 * The handler of the queue (softirq) moves entries under ku_ring.lock as long as the ring has room.
 * Entries that do not fit stay in the queue of kfi.ko, where they occupy slots that posts and
 * messages need: no entry is lost, and no queue grows. The flag "overflow" then requests that the
 * reader calls KFI_IOC_DRAIN:
 *
 *	kernel				reader
 *	(1) overflow = 1		(1) head = tail
 *	(2) full barrier		(2) full barrier
 *	(3) is there room now?		(3) is overflow 1?
 *
 * At least one of the two sees what the other has stored. The only word of the mapping that the
 * kernel reads is the reader's position. With a wrong position the ring seems to be full, or
 * entries are overwritten that the same process has not read.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "user.h"

#define RING_MIN	64U
#define RING_MAX	(1U << 20)
#define RING_ROUND	256U		/* entries that are moved with bottom halves off */
#define SLOTS_AT	PAGE_SIZE

static_assert(sizeof(struct kfi_user_ring) == 128);
static_assert(sizeof(struct kfi_user_cqe) == 64);
static_assert(sizeof(struct kfi_user_cqe_err) == sizeof(struct kfi_user_cqe));

/* ---- moving entries ---- */

static u32 ring_room(const struct ku_ring *ring)
{
	u32 used = ring->tail - READ_ONCE(ring->head->head);

	return used > ring->mask ? 0 : ring->mask + 1 - used;
}

/*
 * Return: number of free slots if it is at least @need; otherwise set "overflow" and return 0.
 */
static u32 room_or_overflow(struct ku_ring *ring, u32 need)
{
	u32 room;

	if (!ring->head)
		return KU_BATCH;	/* a hidden queue */
	room = ring_room(ring);
	if (likely(room >= need))
		return room;
	WRITE_ONCE(ring->head->overflow, 1);
	smp_mb();	/* see above */
	room = ring_room(ring);
	return room >= need ? room : 0;
}

static void show_slot(struct ku_ring *ring, const struct ku_op *op,
		      const struct kfi_cq_err_entry *e)
{
	struct kfi_user_cqe *slot;

	if (!ring->head)
		return;
	slot = &ring->slots[ring->tail++ & ring->mask];
	slot->context = op ? op->context : 0;
	slot->flags = e->flags & ~GENMASK_ULL(63, 60);
	slot->len = e->len;
	slot->buf = op && op->user_buf && e->buf ? op->user_buf + (e->buf - op->kvec.iov_base) : 0;
	slot->data = e->data;
	slot->tag = e->tag;
	slot->src_addr = e->src_addr;
	slot->err = e->err;
	slot->prov_errno = e->prov_errno;
	if (unlikely(e->err)) {
		struct kfi_user_cqe_err *err = (void *)&ring->slots[ring->tail++ & ring->mask];

		memset(err, 0, sizeof(*err));
		err->olen = e->olen;
	}
}

/* Move one completion. The slot is written before the operation is freed. */
static void move_entry(struct ku_ring *ring, const struct kfi_cq_err_entry *e)
{
	struct ku_op *op = e->op_context;

	if (!op || e->err || op->flags & KFI_COMPLETION)
		show_slot(ring, op, e);
	if (op)
		ku_op_done(op, e->flags, e->err);
}

static bool move_error(struct ku_ring *ring)
{
	struct kfi_cq_err_entry e = {};

	if (room_or_overflow(ring, 2) < 2 || kfi_cq_readerr(ring->cq, &e, 0) != 1)
		return false;
	move_entry(ring, &e);
	return true;
}

static bool move_batch(struct ku_ring *ring)
{
	u32 room = room_or_overflow(ring, 1);
	struct kfi_cq_err_entry e = {};
	ssize_t n, i;

	if (!room)
		return false;
	n = kfi_cq_readfrom(ring->cq, ring->batch, min_t(u32, room, KU_BATCH), ring->src);
	if (n == -KFI_EAVAIL)
		return move_error(ring);
	for (i = 0; i < n; i++) {
		e.op_context = ring->batch[i].op_context;
		e.flags = ring->batch[i].flags;
		e.len = ring->batch[i].len;
		e.buf = ring->batch[i].buf;
		e.data = ring->batch[i].data;
		e.tag = ring->batch[i].tag;
		e.src_addr = ring->src[i];
		move_entry(ring, &e);
	}
	return n > 0;
}

/* Move up to RING_ROUND entries. Return: true if there may be more. */
static bool move_round(struct ku_ring *ring)
{
	u32 before = ring->tail;
	unsigned int left = RING_ROUND / KU_BATCH;
	bool more = true;

	lockdep_assert_held(&ring->lock);
	while (more && left--)
		more = move_batch(ring);
	if (ring->head && ring->tail != before)
		/* the slots are written before the tail */
		smp_store_release(&ring->head->tail, ring->tail);
	return more;
}

static void ring_handler(struct kfid_cq *cq, void *context)
{
	struct ku_ring *ring = context;
	bool more;

	spin_lock_bh(&ring->lock);
	more = move_round(ring);
	if (more && !ring->ending)
		schedule_work(&ring->work);	/* lets other softirqs run */
	spin_unlock_bh(&ring->lock);
	if (ring->obj.waiter)
		ku_waiter_wake(&ring->obj);
}

/* Move all entries, with pauses. */
static void ring_move(struct ku_ring *ring)
{
	bool more;

	do {
		spin_lock_bh(&ring->lock);
		more = move_round(ring);
		spin_unlock_bh(&ring->lock);
		cond_resched();
	} while (more);
	if (ring->obj.waiter)
		ku_waiter_wake(&ring->obj);
}

static void ring_work(struct work_struct *work)
{
	ring_move(container_of(work, struct ku_ring, work));
}

bool ku_ring_ready(struct ku_ring *ring)
{
	return READ_ONCE(ring->tail) != READ_ONCE(ring->head->head) ||
	       READ_ONCE(ring->head->overflow);
}

/* ---- open and close ---- */

static int ring_alloc(struct ku_ring *ring, u32 slots)
{
	size_t bytes = PAGE_ALIGN(SLOTS_AT + slots * sizeof(struct kfi_user_cqe));
	void *mem;

	mem = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!mem)
		return -ENOMEM;
	ring->head = mem;
	ring->slots = mem + SLOTS_AT;
	ring->nr_pages = bytes >> PAGE_SHIFT;
	ring->mask = slots - 1;
	ring->head->mask = ring->mask;
	ring->head->slots_at = SLOTS_AT;
	return 0;
}

static int ring_open(struct ku_ring *ring, struct kfid_domain *domain, size_t size)
{
	struct kfi_cq_attr attr = {
		.size = size,
		.flags = KFI_CQ_SOFTIRQ,
		.format = KFI_CQ_FORMAT_TAGGED,
		.wait_obj = KFI_WAIT_NONE,
	};

	spin_lock_init(&ring->lock);
	INIT_WORK(&ring->work, ring_work);
	return kfi_cq_open(domain, &attr, &ring->cq, ring_handler, ring);
}

struct ku_ring *ku_ring_hidden(struct ku_ctx *ctx, struct kfid_domain *domain, size_t size)
{
	struct ku_ring *ring = kvzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->obj.ctx = ctx;
	ret = ring_open(ring, domain, size);
	if (!ret)
		return ring;
	kvfree(ring);
	return ERR_PTR(ret);
}

int ku_ioc_cq(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_cq *open = arg;
	struct ku_ring *ring;
	struct ku_domain *domain;
	u32 slots;
	int ret;

	if (open->flags || open->size > RING_MAX)
		return -EINVAL;
	domain = ku_domain_get(ctx, open->domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	slots = roundup_pow_of_two(max_t(u32, open->size ?: 1024, RING_MIN));
	ring = ku_obj_new(ctx, &domain->obj, sizeof(*ring), KFI_CLASS_CQ, open->cookie);
	if (IS_ERR(ring)) {
		ret = PTR_ERR(ring);
		goto put_domain;
	}
	/* kfi.ko uses about as many bytes for an entry. */
	ret = ku_obj_charge(&ring->obj, 2 * slots * sizeof(struct kfi_user_cqe));
	if (ret)
		goto abandon;
	ret = ring_alloc(ring, slots);
	if (ret)
		goto abandon;
	ret = ku_waiter_open(&ring->obj);
	if (ret)
		goto free_mem;
	ret = ring_open(ring, domain->domain, slots);
	if (ret)
		goto close_waiter;
	ring->obj.fid = &ring->cq->fid;
	open->handle = ring->obj.handle;
	open->ring_entries = slots;
	open->ring_bytes = ring->nr_pages << PAGE_SHIFT;
	ku_obj_publish(&ring->obj);
	goto put_domain;

close_waiter:
	ku_waiter_close(&ring->obj);
free_mem:
	vfree(ring->head);
abandon:
	ku_obj_abandon(&ring->obj);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}

/*
 * No endpoint is bound to the queue any more, so no entry is added. Entries that were not read are
 * dropped, with the memory that their operations hold.
 */
int ku_ring_end(struct ku_ring *ring)
{
	struct kfi_user_ring *head = ring->head;
	int ret;

	spin_lock_bh(&ring->lock);
	ring->ending = true;	/* the handler does not schedule the work any more */
	ring->head = NULL;
	spin_unlock_bh(&ring->lock);
	cancel_work_sync(&ring->work);
	ring_move(ring);
	ret = kfi_close(&ring->cq->fid);
	spin_lock_bh(&ring->lock);
	ring->head = head;
	ring->ending = false;
	spin_unlock_bh(&ring->lock);
	return ret;
}

int ku_ring_map(struct ku_ring *ring, struct vm_area_struct *vma)
{
	unsigned long i, at = vma->vm_start;
	int ret = 0;

	if (vma_pages(vma) != ring->nr_pages)
		return -EINVAL;
	for (i = 0; !ret && i < ring->nr_pages; i++, at += PAGE_SIZE)
		ret = vm_insert_page(vma, at, vmalloc_to_page((void *)ring->head + i * PAGE_SIZE));
	return ret;
}

/* Called when the reader has seen the flag "overflow". */
int ku_ioc_drain(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *drain = arg;
	struct ku_ring *ring;
	struct ku_obj *obj;

	obj = ku_obj_get(ctx, drain->handle, KFI_CLASS_CQ);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ring = to_ku_ring(obj);
	spin_lock_bh(&ring->lock);
	WRITE_ONCE(ring->head->overflow, 0);
	spin_unlock_bh(&ring->lock);
	ring_move(ring);
	ku_obj_put(obj);
	return 0;
}
