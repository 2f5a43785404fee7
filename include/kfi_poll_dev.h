/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_poll_dev.h - devices whose completions are polled by the readers of completion queues, so
 * that they need not interrupt.
 *
 * For providers whose device reports completions by interrupts and can be polled instead. If all
 * completion queues of an endpoint are KFI_CQ_DIRECT, a consumer usually polls them, and the device
 * need not interrupt: the poll looks at the device. But the consumer may stop polling, and a
 * connection has work that no consumer waits for (credits, keys, the end of the peer). So a polled
 * device is always in one of three states, and in each state its completions are noticed:
 *
 *	ARMED	the device reports the next completion by kfi_poll_dev_event()
 *	HOT	readers and pollers of the queues look at the device; the device need not report
 *	DUE	as HOT, and softirq looks at the device, and arms it when nothing is left
 *
 *	ARMED --> HOT	the device reports, and the queues are being polled
 *	ARMED --> DUE	the device reports, and the queues are not being polled, or a reader sleeps
 *	HOT --> DUE	for one or two jiffies the queues were not polled, or nothing was found; or
 *			a reader is about to sleep
 *	DUE --> ARMED	softirq has found nothing more
 *
 * So a device with few completions interrupts, a busy device does not, and a poller looks at busy
 * devices only. A completion that arrives just after the consumer has stopped polling is delayed by
 * two or three jiffies, once.
 */
#ifndef _KFI_POLL_DEV_H
#define _KFI_POLL_DEV_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct kfi_cq;
struct kfi_ep;
struct kfi_poll_bh;
struct kfi_poll_dev;

/**
 * enum kfi_poll_dev_state - state of a polled device, see the beginning of this file
 * @KFI_POLL_DEV_STOPPED: kfi_poll_dev_stop() was called
 * @KFI_POLL_DEV_ARMED: the device reports the next completion
 * @KFI_POLL_DEV_HOT: readers and pollers of the queues look at the device
 * @KFI_POLL_DEV_DUE: softirq looks at the device too, and arms it
 */
enum kfi_poll_dev_state {
	KFI_POLL_DEV_STOPPED,
	KFI_POLL_DEV_ARMED,
	KFI_POLL_DEV_HOT,
	KFI_POLL_DEV_DUE,
};

/**
 * struct kfi_poll_dev_ops - operations of a polled device
 * @poll: handle up to @budget completions of the device, in their order. Returns their number.
 *	Called by one CPU at a time, with bottom halves off, and perhaps under locks of the
 *	consumer. So it completes operations of the endpoint of @dev only, and calls no consumer
 * @arm: make the device report the next completion by kfi_poll_dev_event(). Returns true if
 *	completions may have arrived before, which the device does not report. Called in softirq
 */
struct kfi_poll_dev_ops {
	int	(*poll)(struct kfi_poll_dev *dev, int budget);
	bool	(*arm)(struct kfi_poll_dev *dev);
};

/**
 * struct kfi_poll_dev_at - a polled device in the list of one completion queue
 * @link: in &kfi_cq.hot while @dev is HOT or DUE
 * @cq: the queue; NULL if the endpoint has one queue for both directions, or only one queue
 * @dev: the polled device
 */
struct kfi_poll_dev_at {
	struct list_head	link;
	struct kfi_cq		*cq;
	struct kfi_poll_dev	*dev;
};

/**
 * struct kfi_poll_dev - a polled device; the provider's structure contains it
 * @ops: operations of the provider
 * @at: completion queues of the endpoint
 * @lock: protects @state and &kfi_poll_dev_at.link of @at. Taken with interrupts off; the lock of
 *	the list in a queue is inside it
 * @state: &enum kfi_poll_dev_state
 * @found: a poll has found completions since the last run of @tick
 * @poll_lock: held around &kfi_poll_dev_ops.poll, with bottom halves off. A reader that can't get
 *	it does not wait
 * @bh: polls and arms the device while @state is DUE
 * @tick: checks once in a jiffy whether the device stays HOT
 *
 * All members belong to kfi.ko from kfi_poll_dev_start() to kfi_poll_dev_stop().
 */
struct kfi_poll_dev {
	const struct kfi_poll_dev_ops	*ops;
	struct kfi_poll_dev_at		at[2];
	spinlock_t			lock;
	u8				state;
	bool				found;
	spinlock_t			poll_lock;
	struct kfi_poll_bh		*bh;
	struct delayed_work		tick;
};

/**
 * kfi_poll_dev_wanted() - check whether an endpoint can have a polled device
 * @ep: endpoint that is enabled, or about to be
 *
 * Context: process.
 * Return: true if the endpoint has completion queues, all of them are KFI_CQ_DIRECT, and it has no
 * counter. A consumer that waits for a counter polls no queue.
 */
bool kfi_poll_dev_wanted(const struct kfi_ep *ep);

/**
 * kfi_poll_dev_start() - start polling a device
 * @dev: zeroed structure
 * @ops: operations of the provider
 * @ep: endpoint for which kfi_poll_dev_wanted() is true. Its queues exist until kfi_poll_dev_stop()
 *
 * @ops may be called before this function returns. Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kfi_poll_dev_start(struct kfi_poll_dev *dev, const struct kfi_poll_dev_ops *ops,
		       struct kfi_ep *ep);

/**
 * kfi_poll_dev_event() - report that the device has completions
 * @dev: the polled device, which may be stopped
 *
 * The device need not report again before &kfi_poll_dev_ops.arm; further reports have no effect.
 * Context: any, also hard interrupt, under any locks.
 */
void kfi_poll_dev_event(struct kfi_poll_dev *dev);

/**
 * kfi_poll_dev_stop() - stop polling a device
 * @dev: a started device
 *
 * When this function returns, no operation of the polled device runs, and none will run. The caller
 * holds no lock that these operations take. Context: process, may sleep.
 */
void kfi_poll_dev_stop(struct kfi_poll_dev *dev);

#endif /* _KFI_POLL_DEV_H */
