// SPDX-License-Identifier: GPL-2.0
/* obj.c - the part that all objects have: its number, and its place in the list of the parent. */
#include "core.h"

/**
 * kfi_obj_init() - initialise the common part of an object
 * @obj: common part of a zeroed object
 *
 * Ids increase: an object that was opened later has a greater id, until 2^32 objects have been
 * opened. So a netlink dump can resume behind an object that has been closed meanwhile.
 */
void kfi_obj_init(struct kfi_obj *obj)
{
	static atomic_t last;

	atomic_set(&obj->users, 0);
	obj->id = atomic_inc_return(&last);
	INIT_LIST_HEAD(&obj->entry);
}

/**
 * kfi_obj_link() - add an object to its parent's list
 * @obj: object
 * @list: list of the parent, ordered by id. The caller holds the parent's lock
 */
void kfi_obj_link(struct kfi_obj *obj, struct list_head *list)
{
	struct kfi_obj *last;

	list_for_each_entry_reverse(last, list, entry)
		if (last->id < obj->id)
			break;
	list_add(&obj->entry, &last->entry);
}
