/* SPDX-License-Identifier: GPL-2.0 */
/*
 * eq.h - the inside of an event queue.
 */
#ifndef _KFI_EQ_PRIV_H
#define _KFI_EQ_PRIV_H

#include "core.h"

/**
 * struct kfi_eq - an event queue
 * @fid: @obj: @fabric: as everywhere
 * @handler:	consumer's, or NULL
 * @size:	events that consumers and connection requests may queue; outcomes of connections always fit, for their
 *		number is bounded by that of the endpoints
 * @cpu:	where the handler runs
 * @waitable: has a wait object; @writable: kfi_eq_write() is allowed
 * @lock:	protects @events, @count, @armed, @last; bottom halves off; a leaf lock
 * @events:	struct kfi_eq_item in order of arrival
 * @count:	their number
 * @armed:	the next event calls the handler
 * @last:	the error read last, whose data the reader may still look at
 * @work:	calls the handler
 * @wait:	sleeping readers
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

/* A connection request has gone before anybody read of it. */
void kfi_eq_forget_request(struct kfi_eq *eq, const struct kfid *handle);

#endif /* _KFI_EQ_PRIV_H */
