/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_source.h - where the completions of an endpoint come from, if readers of its queues look there themselves. For providers
 * whose device interrupts, and can be looked at instead.
 *
 * Of an endpoint whose queues are all KFI_CQ_DIRECT somebody polls the queues, mostly. As long as he does, the device need not
 * interrupt: he finds what has come. But he may stop, and a connection has work that no consumer waits for. So a source is in one
 * of three states, and never without somebody who will look:
 *
 *	ARMED	the device tells of what comes next
 *	HOT	whoever reads or polls a queue looks here first; the device is not asked to tell
 *	DUE	softirq looks here, and arms the device when there is nothing left; who polls does not wait for that
 *
 *	ARMED --> HOT	the device has told, and the queues are being polled
 *	ARMED --> DUE	the device has told, and nobody polls, or somebody sleeps
 *	HOT --> DUE	for a jiffy or two nobody has polled, or nothing came; or a reader is about to sleep
 *	DUE --> ARMED	nothing is left
 *
 * So a device that has little to say interrupts, one that is busy doesn't, and who polls pays for the busy ones only. What comes
 * while nobody polls any more waits for two or three jiffies at most, once.
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

/** enum kfi_source_state - see above */
enum kfi_source_state {
	KFI_SOURCE_STOPPED,
	KFI_SOURCE_ARMED,
	KFI_SOURCE_HOT,
	KFI_SOURCE_DUE,
};

/**
 * struct kfi_source_ops - what a provider does for it
 * @poll:	handle up to @budget of what has come, in its order. Nobody else does meanwhile. Bottom halves are off, and a
 *		consumer's locks may be held; so it completes operations of this endpoint only, and calls no consumer. Return: how
 *		many
 * @arm:	have the device tell (kfi_source_event()) of what comes next. Return: true if something may have come before, and it
 *		does not tell of that. Softirq
 */
struct kfi_source_ops {
	int	(*poll)(struct kfi_source *src, int budget);
	bool	(*arm)(struct kfi_source *src);
};

/** struct kfi_source_at - a source in a queue; @link: in &kfi_cq.hot while it is HOT or DUE; @cq: NULL: of another place */
struct kfi_source_at {
	struct list_head	link;
	struct kfi_cq		*cq;
	struct kfi_source	*src;
};

/**
 * struct kfi_source - see above; part of a provider's structure, and kfi.ko's from kfi_source_start() to kfi_source_stop()
 * @ops:	the provider's
 * @at:		the queues of its endpoint
 * @lock:	protects @state and @at's links; interrupts are off, and inside of it is that of a queue's list
 * @state:	enum kfi_source_state
 * @found:	whoever polled has found something since @tick last looked
 * @looking:	one at a time; bottom halves off. A reader who finds it taken goes away
 * @tasklet:	looks, and arms
 * @tick:	sees whether it is still to be HOT
 */
struct kfi_source {
	const struct kfi_source_ops	*ops;
	struct kfi_source_at		at[2];
	spinlock_t			lock;
	u8				state;
	bool				found;
	spinlock_t			looking;
	struct tasklet_struct		tasklet;
	struct delayed_work		tick;
};

/**
 * kfi_source_wanted() - is this endpoint for it?
 * @ep: enabled, or about to be
 *
 * Return: true if it has queues, and all are KFI_CQ_DIRECT, and no counters: who waits for one of these polls nothing.
 */
bool kfi_source_wanted(const struct kfi_ep *ep);

/**
 * kfi_source_start() - from here on something may come
 * @src: zeroed
 * @ops: what to call
 * @ep: kfi_source_wanted(); its queues stay until kfi_source_stop()
 *
 * Context: may sleep.
 */
void kfi_source_start(struct kfi_source *src, const struct kfi_source_ops *ops, struct kfi_ep *ep);

/**
 * kfi_source_event() - the device tells that something has come
 * @src: a source, also one that has been stopped
 *
 * It need not tell again before it is armed; that it does makes no difference. Context: any, under any locks.
 */
void kfi_source_event(struct kfi_source *src);

/**
 * kfi_source_stop() - nothing comes any more
 * @src: started
 *
 * When this returns nobody is in @poll or @arm, or will be. Context: may sleep; no lock that these take is held.
 */
void kfi_source_stop(struct kfi_source *src);

#endif /* _KFI_SOURCE_H */
