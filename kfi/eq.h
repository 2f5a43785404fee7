/* SPDX-License-Identifier: GPL-2.0 */
/* eq.h - internals of an event queue. */
#ifndef _KFI_EQ_PRIV_H
#define _KFI_EQ_PRIV_H

#include "core.h"

/**
 * struct kfi_eq - an event queue
 * @fid: the consumer's handle
 * @obj: common part
 * @fabric: parent
 * @handler: handler of the consumer, or NULL
 * @size: number of events up to which consumers' events and connection requests are queued. Other
 *	events of connections are queued in any case; the number of endpoints bounds them
 * @cpu: CPU on which the handler runs
 * @waitable: has a wait object
 * @writable: kfi_eq_write() is allowed
 * @lock: protects @events, @count, @armed and @last. A leaf lock, taken with bottom halves off
 * @events: struct kfi_eq_item in the order of arrival
 * @count: length of @events
 * @armed: the next event schedules the handler
 * @last: the error event that was read last; its data stays valid until the next one is read
 * @work: calls the handler
 * @wait: sleeping readers
 *
 * kfi_eq_open() allocates it. kfi_eq_close() frees it, when no object is bound to it.
 */
struct kfi_eq {
	struct kfid_eq		fid;
	struct kfi_obj		obj;
	struct kfi_fabric	*fabric;
	kfi_event_handler	handler;
	u32			size;
	int			cpu;
	bool			waitable;
	bool			writable;
	spinlock_t		lock;
	struct list_head	events;
	u32			count;
	bool			armed;
	struct kfi_eq_item	*last;
	struct work_struct	work;
	wait_queue_head_t	wait;
};

static inline struct kfi_eq *kfi_to_eq(struct kfid_eq *fid)
{
	return container_of(fid, struct kfi_eq, fid);
}

/* Drop the event of a connection request that ends before the consumer has read the event. */
void kfi_eq_purge_request(struct kfi_eq *eq, const struct kfid *handle);

#endif /* _KFI_EQ_PRIV_H */
