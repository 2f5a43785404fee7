/* SPDX-License-Identifier: GPL-2.0 */
/* cq.h - internals of a completion queue, for other files of kfi/ and the unit tests. */
#ifndef _KFI_CQ_H
#define _KFI_CQ_H

#include <linux/cache.h>
#include <linux/interrupt.h>
#include <linux/workqueue.h>
#include "core.h"

/*
 * KFI_BH_BUDGET - callbacks, or completions of a device, in one run of a BH work item. The kernel
 * runs an item that queues itself up to ten times in a row, and does not look at need_resched() in
 * between. With a large budget a consumer that posts in done() keeps the tasks of its CPU from
 * running.
 */
#define KFI_BH_BUDGET	32

/** enum kfi_cq_where - context of the handler and of the done() callbacks of a queue */
enum kfi_cq_where {
	KFI_CQ_IN_WORK,		/* a work item, bound to a CPU or not */
	KFI_CQ_IN_SOFTIRQ,	/* a BH work item, or kfi_batch_end() */
	KFI_CQ_IN_POLL,		/* kfi_cq_poll() */
};

/**
 * struct kfi_cq_slot - one entry, one cache line
 * @e: the entry as a reader gets it; every format is a prefix of it
 * @src: sender
 * @err: positive error number, 0 for success
 * @prov_errno: error number of the provider
 *
 * The member that only errors have (olen) is in an array of its own.
 */
struct kfi_cq_slot {
	struct kfi_cq_tagged_entry	e;
	kfi_addr_t			src;
	int				err;
	int				prov_errno;
};

/**
 * struct kfi_cq - a completion queue
 *
 * kfi_cq_open() allocates it. kfi_cq_close() frees it, when no object is bound to it.
 *
 * The first group is constant after open.
 * @size: number of slots that may be reserved or queued, exactly as the consumer has requested
 * @mask: number of slots of the ring - 1. The ring has a power of two slots, at least @size
 * @where: context of the callbacks
 * @cpu: CPU of the work item, or WORK_CPU_UNBOUND
 * @waitable: has a wait object
 * @rounds: the handler is also called after a round of done() callbacks
 * @local: the work item runs on the CPU that made the completion, instead of @cpu
 * @ring: the entries
 * @olen: number of bytes that did not fit, for the entry of the same index in @ring
 *
 * Posters change these without a lock.
 * @free: number of slots that are neither reserved nor queued. A post takes a slot, the completion
 *	makes it an entry, and the reader of the entry returns it. So reserved + queued <= @size at
 *	all times
 * @nr_space: number of waiters in @space, so that the return of a slot only has to load it
 *
 * Completions and readers change these.
 * @lock: protects the members from here to @signals. A leaf lock, taken with bottom halves off. No
 *	callback and no provider is called under it
 * @head: number of entries that have been read, mod 2^32. kfi_cq_empty_armed() compares @head with
 *	@tail without the lock
 * @tail: number of entries that have been written, mod 2^32
 * @armed: the next entry schedules the handler. Always set, and not used, if there is no handler
 * @event: an entry has cleared @armed; the handler will have to run
 * @closing: the handler is not called any more
 * @signaled: kfi_cq_signal() found no waiting reader; the next sread returns at once
 * @asleep: a reader sleeps, and the next entry wakes all that do
 * @waiting: number of readers that wait in sread
 * @signals: number of calls of kfi_cq_signal() that found a waiting reader
 * @done: finished operations whose done() callback has to run, by &kfi_oper.lnode, the last one
 *	first. No lock protects it
 *
 * @runner: claimed by the completion that schedules a context for the callbacks, or by
 *	kfi_cq_poll(). Only the owner of the claim runs callbacks, so callbacks of one queue do not
 *	run in parallel and keep the order of completion
 *
 * Only the owner of the claim changes these.
 * @calling: endpoint of whose operations one is freed, or its done() callback runs, at present.
 *	kfi_cq_busy_for() reads it without a lock
 * @due: operations that a pass has taken from @done, the oldest first. Others compare it with NULL
 * @batch: next queue in the list of a CPU's batch
 * @work: context of KFI_CQ_IN_WORK
 * @bh: context of KFI_CQ_IN_SOFTIRQ
 *
 * @wait: sleeping readers
 *
 * These belong to a directly polled queue.
 * @polled: jiffies when the queue was last polled
 * @hot: devices that a poll of the queue polls, by &kfi_poll_dev_at.link. Readers use RCU
 * @hot_lock: protects changes of @hot. A leaf lock, taken with interrupts off
 *
 * @space_lock: protects @space, @nr_space, @space_calling and the links of waiters. A leaf lock,
 *	taken with bottom halves off
 * @space: waiters for a free slot (struct kfi_cq_waiter)
 * @space_calling: the waiter whose callback runs
 * @space_work: calls the waiters
 */
struct kfi_cq {
	struct kfid_cq		fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	kfi_comp_handler	handler;
	u32			size;
	u32			mask;
	enum kfi_cq_format	format;
	enum kfi_cq_where	where;
	int			cpu;
	bool			waitable;
	bool			rounds;
	bool			local;
	struct kfi_cq_slot	*ring;
	u64			*olen;

	atomic_t		free ____cacheline_aligned_in_smp;
	unsigned int		nr_space;

	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			head;
	u32			tail;
	bool			armed;
	bool			event;
	bool			closing;
	bool			signaled;
	bool			asleep;
	u32			waiting;
	u32			signals;
	struct llist_head	done;
	struct kfi_runner	runner;

	struct kfi_ep		*calling ____cacheline_aligned_in_smp;
	struct llist_node	*due;
	struct kfi_cq		*batch;
	struct work_struct	work;
	struct bh_work_struct	bh;
	wait_queue_head_t	wait;

	unsigned long		polled ____cacheline_aligned_in_smp;
	struct list_head	hot;
	spinlock_t		hot_lock;

	spinlock_t		space_lock ____cacheline_aligned_in_smp;
	struct list_head	space;
	struct kfi_cq_waiter	*space_calling;
	struct work_struct	space_work;
};

static inline struct kfi_cq *kfi_to_cq(struct kfid_cq *fid)
{
	return container_of(fid, struct kfi_cq, fid);
}

/* cq_run.c: the contexts that run the callbacks */

int kfi_cq_run_init(struct kfi_cq *cq);
/* Wait until the callbacks that run have returned. None runs later. */
void kfi_cq_run_stop(struct kfi_cq *cq);
void kfi_cq_schedule(struct kfi_cq *cq);

/*
 * Claim the queue for its context, or leave a note, because there is a callback to run. After the
 * callback has run, the queue may be closed: the lock, or the RCU read section of a completion,
 * keeps it until then. If this returns true, the caller has to call kfi_cq_schedule() after it has
 * released the lock.
 */
static inline bool kfi_cq_claim(struct kfi_cq *cq)
{
	lockdep_assert(lockdep_is_held(&cq->lock) || rcu_read_lock_bh_held());
	return cq->where != KFI_CQ_IN_POLL && kfi_runner_enter(&cq->runner);
}

/* poll_dev.c: devices whose completions go to directly polled queues */

int kfi_poll_dev_setup(void);
void kfi_poll_dev_teardown(void);
/*
 * Handle up to @budget completions of the devices whose completions go to the queue. Called by a
 * poll or a read. Returns the number of completions; their entries may be in other queues.
 */
int kfi_cq_poll_devs(struct kfi_cq *cq, int budget);
/*
 * A reader, which is counted in @waiting, will sleep. From now on softirq handles the completions
 * of the devices.
 */
void kfi_cq_sleeps(struct kfi_cq *cq);

/* Queue an operation with KFI_CQE for its done() callback. Bottom halves are off. */
void kfi_cq_done(struct kfi_cq *cq, struct kfi_oper *op);
/* Bottom halves are off, or &kfi_cq.calling is the endpoint of @op, which keeps it. */
void kfi_op_free(struct kfi_oper *op);
/* Is an operation of @ep being freed, or does its done() run? For the end of an endpoint. */
bool kfi_cq_busy_for(struct kfi_cq *cq, const struct kfi_ep *ep);

/* cq_space.c: waiters for a free slot */

int kfi_cq_space_setup(void);
void kfi_cq_space_teardown(void);
/* Make @w wait, whether a slot is free or not. If a slot is free, the work item calls @w soon. */
void kfi_cq_call_waiter(struct kfi_cq *cq, struct kfi_cq_waiter *w);

void kfi_cq_space_init(struct kfi_cq *cq);
void kfi_cq_space_stop(struct kfi_cq *cq);
extern struct workqueue_struct *kfi_cq_space_wq;

/* Return @n slots to the queue. Waiters are called from a work item. */
static inline void kfi_cq_freed(struct kfi_cq *cq, u32 n)
{
	atomic_add(n, &cq->free);
	smp_mb__after_atomic();		/* pairs with kfi_cq_wait_space() */
	if (unlikely(READ_ONCE(cq->nr_space)))
		queue_work(kfi_cq_space_wq, &cq->space_work);
}

/* Take a free slot for one entry, without a lock. */
static inline bool kfi_cq_reserve(struct kfi_cq *cq)
{
	return atomic_dec_if_positive(&cq->free) >= 0;
}

static inline void kfi_cq_unreserve(struct kfi_cq *cq)
{
	kfi_cq_freed(cq, 1);
}

#endif /* _KFI_CQ_H */
