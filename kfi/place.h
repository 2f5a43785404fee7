/* SPDX-License-Identifier: GPL-2.0 */
/* place.h - handles for places (place.c), for the calls that post (place_post.c). */
#ifndef _KFI_CORE_PLACE_H
#define _KFI_CORE_PLACE_H

#include "core.h"

/** enum kfi_place_state - states of &kfi_dev_place.state, see place.c */
enum kfi_place_state {
	KFI_PLACE_FREE,
	KFI_PLACE_GETTING,
	KFI_PLACE_GOT,
	KFI_PLACE_PUTTING,
	KFI_PLACE_CLOSED,
};

static inline struct kfi_dev_place *to_dev_place(struct kfid_place *fid)
{
	return container_of(fid, struct kfi_dev_place, fid);
}

static inline bool kfi_place_move(struct kfi_dev_place *place, int from, int to)
{
	return cmpxchg(&place->state, from, to) == from;
}

/* The handle may be used by another context from here on. */
static inline void kfi_place_set(struct kfi_dev_place *place, int state)
{
	/* pairs with cmpxchg() in kfi_place_move() */
	smp_store_release(&place->state, state);
}

#endif /* _KFI_CORE_PLACE_H */
