/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uverbs.h - what ib_uverbs notes of a completion queue, which it keeps to itself.
 *
 * The RDMA core tells a driver how to report a completion to a process, and not whether the process
 * has read what was reported before. Without that an unread event for each completion that the
 * process arms takes kernel memory that nobody pays for.
 */
#ifndef _KIB_UVERBS_H
#define _KIB_UVERBS_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

/**
 * struct kib_uverbs_cq - the beginning of struct ib_ucq_object, the same since Linux 5.6
 * @uobject: public part
 * @event_file: file of asynchronous events
 * @event_list: unread asynchronous events
 * @events_reported: number of those that were read
 * @comp_list: unread completion events
 * @comp_events_reported: number of those that were read
 */
struct kib_uverbs_cq {
	struct ib_uobject	uobject;
	void			*event_file;
	struct list_head	event_list;
	u32			events_reported;
	struct list_head	comp_list;
	u32			comp_events_reported;
};

/*
 * Return: what uverbs notes of a queue that is being created, so it has no events; NULL if that is
 * not what is there, because a later kernel has another structure
 */
static inline const struct kib_uverbs_cq *kib_uverbs_cq(const struct ib_cq *cq)
{
	const struct kib_uverbs_cq *noted = (const void *)cq->uobject;
	bool same = list_empty(&noted->event_list) && list_empty(&noted->comp_list) &&
		    !noted->events_reported && !noted->comp_events_reported;

	if (!same)
		pr_warn_once("kfi_ib: unknown uverbs, completion events that a process does not read have no bound\n");
	return same ? noted : NULL;
}

#endif /* _KIB_UVERBS_H */
