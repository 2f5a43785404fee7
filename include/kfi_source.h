/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_source.h - sources: devices that can be polled by the readers of completion queues.
 *
 * For providers whose device reports completions by interrupts and can be polled instead. If all
 * completion queues of an endpoint are KFI_CQ_DIRECT, a consumer usually polls them, and the device
 * need not interrupt: the poll looks at the device. But the consumer may stop polling, and a
 * connection has work that no consumer waits for (credits, keys, the end of the peer). So a source
 * is always in one of three states, and in each state its completions are noticed:
 *
 *	ARMED	the device reports the next completion by kfi_source_event()
 *	HOT	readers and pollers of the queues look at the device; the device need not report
 *	DUE	as HOT, and a tasklet looks at the device, and arms it when nothing is left
 *
 *	ARMED --> HOT	the device reports, and the queues are being polled
 *	ARMED --> DUE	the device reports, and the queues are not being polled, or a reader sleeps
 *	HOT --> DUE	for one or two jiffies the queues were not polled, or nothing was found; or
 *			a reader is about to sleep
 *	DUE --> ARMED	the tasklet has found nothing more
 *
 * So a device with few completions interrupts, a busy device does not, and a poller looks at busy
 * devices only. A completion that arrives just after the consumer has stopped polling is delayed by
 * two or three jiffies, once.
 */
#ifndef _KFI_SOURCE_H
#define _KFI_SOURCE_H

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct kfi_cq;
struct kfi_ep;
struct kfi_source;

/**
 * enum kfi_source_state - state of a source, see the beginning of this file
 * @KFI_SOURCE_STOPPED: kfi_source_stop() was called
 * @KFI_SOURCE_ARMED: the device reports the next completion
 * @KFI_SOURCE_HOT: readers and pollers of the queues look at the device
 * @KFI_SOURCE_DUE: a tasklet looks at the device too, and arms it
 */
enum kfi_source_state {
	KFI_SOURCE_STOPPED,
	KFI_SOURCE_ARMED,
	KFI_SOURCE_HOT,
	KFI_SOURCE_DUE,
};

/**
 * struct kfi_source_ops - operations of a source
 * @poll: handle up to @budget completions of the device, in their order. Returns their number.
 *	Called by one CPU at a time, with bottom halves off, and perhaps under locks of the
 *	consumer. So it completes operations of the source's endpoint only, and calls no consumer
 * @arm: make the device report the next completion by kfi_source_event(). Returns true if
 *	completions may have arrived before, which the device does not report. Called in softirq
 */
struct kfi_source_ops {
	int	(*poll)(struct kfi_source *src, int budget);
	bool	(*arm)(struct kfi_source *src);
};

/**
 * struct kfi_source_at - a source in the list of one completion queue
 * @link: in &kfi_cq.hot while the source is HOT or DUE
 * @cq: the queue; NULL if the endpoint has one queue for both directions, or only one queue
 * @src: the source
 */
struct kfi_source_at {
	struct list_head	link;
	struct kfi_cq		*cq;
	struct kfi_source	*src;
};

/**
 * struct kfi_source - a source; the provider's structure contains it
 * @ops: operations of the provider
 * @at: completion queues of the endpoint
 * @lock: protects @state and &kfi_source_at.link of @at. Taken with interrupts off; the lock of the
 *	list in a queue is inside it
 * @state: &enum kfi_source_state
 * @found: a poll has found completions since the last run of @tick
 * @poll_lock: held around &kfi_source_ops.poll, with bottom halves off. A reader that can't get it
 *	does not wait
 * @tasklet: polls and arms the device while the source is DUE
 * @tick: checks once in a jiffy whether the source stays HOT
 *
 * All members belong to kfi.ko from kfi_source_start() to kfi_source_stop().
 */
struct kfi_source {
	const struct kfi_source_ops	*ops;
	struct kfi_source_at		at[2];
	spinlock_t			lock;
	u8				state;
	bool				found;
	spinlock_t			poll_lock;
	struct tasklet_struct		tasklet;
	struct delayed_work		tick;
};

/**
 * kfi_source_wanted() - check whether an endpoint can have a source
 * @ep: endpoint that is enabled, or about to be
 *
 * Context: process.
 * Return: true if the endpoint has completion queues, all of them are KFI_CQ_DIRECT, and it has no
 * counter. A consumer that waits for a counter polls no queue.
 */
bool kfi_source_wanted(const struct kfi_ep *ep);

/**
 * kfi_source_start() - start polling a device
 * @src: zeroed structure
 * @ops: operations of the provider
 * @ep: endpoint for which kfi_source_wanted() is true. Its queues exist until kfi_source_stop()
 *
 * @ops may be called before this function returns. Context: process, may sleep.
 */
void kfi_source_start(struct kfi_source *src, const struct kfi_source_ops *ops, struct kfi_ep *ep);

/**
 * kfi_source_event() - report that the device has completions
 * @src: the source, which may be stopped
 *
 * The device need not report again before &kfi_source_ops.arm; further reports have no effect.
 * Context: any, also hard interrupt, under any locks.
 */
void kfi_source_event(struct kfi_source *src);

/**
 * kfi_source_stop() - stop polling a device
 * @src: a started source
 *
 * When this function returns, no operation of the source runs, and none will run. The caller holds
 * no lock that these operations take. Context: process, may sleep.
 */
void kfi_source_stop(struct kfi_source *src);

#endif /* _KFI_SOURCE_H */
