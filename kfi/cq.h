/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cq.h - the inside of a completion queue, for kfi/cq*.c and the unit tests.
 */
#ifndef _KFI_CQ_H
#define _KFI_CQ_H

#include <linux/cache.h>
#include <linux/interrupt.h>
#include "core.h"

/** enum kfi_cq_where - where the handler and the done()s of a queue run */
enum kfi_cq_where {
	KFI_CQ_IN_WORK,		/* a workqueue, bound to a CPU or not */
	KFI_CQ_IN_SOFTIRQ,	/* a tasklet, or kfi_batch_end() */
	KFI_CQ_IN_POLL,		/* kfi_cq_poll() */
};

/**
 * struct kfi_cq_slot - one entry, one cache line
 * @e:		what a reader gets; every format is a prefix of it
 * @src:	sender
 * @err:	positive error number, 0 for a success
 * @prov_errno:	the provider's own number
 *
 * What only errors have (olen) lies in an array of its own.
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
 * The first part is constant after open.
 * @size:	slots that may be reserved or queued: exactly what the consumer asked for
 * @mask:	slots of the ring less one; a power of two, at least @size
 * @where:	context of the callbacks; @cpu: CPU of the work, or WORK_CPU_UNBOUND
 * @threshold:	sread waits for as many entries as its argument says
 * @waitable:	has a wait object
 * @rounds:	the handler is due behind done()s, too
 * @local:	the work runs on the CPU that has made the completion, instead of @cpu
 * @ring:	the entries; @olen: bytes that did not fit, by the same index
 *
 * What posters touch, lock-free:
 * @free:	slots neither reserved nor queued. A post takes one, which becomes an entry, and the reader of the
 *		entry gives it back: reserved + queued <= size at all times.
 * @nr_space:	waiters in @space, so that giving back costs a load
 *
 * What completions and readers touch:
 * @lock:	protects everything from here to @signals. A leaf lock, taken with bottom halves off; nobody is called
 *		under it.
 * @head: @tail: entries read and written so far (mod 2^32); read without the lock to see whether there is any
 * @armed:	the next entry calls the handler (without a handler always set and never used)
 * @event:	an entry has disarmed it: the handler will be due
 * @scheduled:	somebody has undertaken to run the callbacks: it is set by whoever queues the context or polls, and
 *		cleared by whoever finds nothing left to do. So callbacks of one queue never run in parallel and
 *		keep the order of completion.
 * @closing:	no callbacks any more
 * @signaled:	kfi_cq_signal() found nobody waiting: the next sread returns at once
 * @sleepers:	as many entries wake the sleeping readers; 0: nobody sleeps
 * @waiting:	readers inside a waiting call
 * @signals:	counts kfi_cq_signal() that found some
 * @done:	finished operations whose done() is due, by link
 *
 * @calling:	endpoint whose done() runs right now; written by the owner of @scheduled
 * @due:	the handler is; the owner's of @scheduled
 * @batch:	the next one in the list of a CPU's batch; the owner's of @scheduled
 *
 * Of a directly polled queue:
 * @polled:	the jiffy in which somebody last polled it
 * @hot:	sources that he looks at, by &kfi_source_at.link, for readers under RCU; @hot_lock: for all others; a leaf,
 *		interrupts off
 *
 * @space_lock:	protects @space, @space_calling and waiter links; bottom halves off; a leaf lock
 * @space:	those who wait for a free slot; @space_calling: whose fn() runs; @space_work: calls them
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
	bool			threshold;
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
	bool			scheduled;
	bool			closing;
	bool			signaled;
	u32			sleepers;
	u32			waiting;
	u32			signals;
	struct list_head	done;

	struct kfi_ep		*calling ____cacheline_aligned_in_smp;
	bool			due;
	struct kfi_cq		*batch;
	struct work_struct	work;
	struct tasklet_struct	tasklet;
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

/* cq_run.c: the contexts of callbacks */

int kfi_cq_run_init(struct kfi_cq *cq);
/* No callback runs or will run after it. */
void kfi_cq_run_stop(struct kfi_cq *cq);
void kfi_cq_schedule(struct kfi_cq *cq);

/* Who claims the queue, or looks for more to do, takes the event along. The lock is held. */
static inline void kfi_cq_take_event(struct kfi_cq *cq)
{
	cq->due = cq->event && !cq->closing;
	cq->event = false;
}

/* Something has arrived, the lock is held: is the context to be scheduled? Then call kfi_cq_schedule() without the lock. */
static inline bool kfi_cq_claim(struct kfi_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (cq->where == KFI_CQ_IN_POLL || cq->scheduled)
		return false;
	cq->scheduled = true;
	kfi_cq_take_event(cq);
	return true;
}

/* source.c: where the completions of a directly polled queue come from */

int kfi_source_setup(void);
void kfi_source_teardown(void);
/* The queue is being polled: handle up to @budget of what has come for it. Return: how many; they need not be in this queue. */
int kfi_cq_look(struct kfi_cq *cq, int budget);
/* Somebody is @waiting, and goes to sleep: softirq looks from now on. */
void kfi_cq_sleeps(struct kfi_cq *cq);

/* op.c's side: queue a finished operation with KFI_CQE; may an endpoint go? */
void kfi_cq_done(struct kfi_cq *cq, struct kfi_oper *op);
void kfi_op_free(struct kfi_oper *op);
bool kfi_cq_busy_for(struct kfi_cq *cq, const struct kfi_ep *ep);

/* cq_space.c: who waits for a free slot */

int kfi_cq_space_setup(void);
void kfi_cq_space_teardown(void);
/* As if @w had waited and a slot were free now. */
void kfi_cq_call_waiter(struct kfi_cq *cq, struct kfi_cq_waiter *w);

void kfi_cq_space_init(struct kfi_cq *cq);
void kfi_cq_space_stop(struct kfi_cq *cq);
/* There is room, and somebody waits for it. */
void kfi_cq_call_waiters(struct kfi_cq *cq);

/* @n slots are free again. */
static inline void kfi_cq_freed(struct kfi_cq *cq, u32 n)
{
	atomic_add(n, &cq->free);
	smp_mb__after_atomic();		/* pairs with kfi_cq_wait_space() */
	if (unlikely(READ_ONCE(cq->nr_space)))
		kfi_cq_call_waiters(cq);
}

/* A slot for one entry. Lock-free. */
static inline bool kfi_cq_reserve(struct kfi_cq *cq)
{
	return atomic_dec_if_positive(&cq->free) >= 0;
}

static inline void kfi_cq_unreserve(struct kfi_cq *cq)
{
	kfi_cq_freed(cq, 1);
}

#endif /* _KFI_CQ_H */
