/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory.h - memory to which the link of the other side writes directly, see memory.c.
 */
#ifndef _KFI_PROTO_MEMORY_H
#define _KFI_PROTO_MEMORY_H

#include "engine.h"

/**
 * struct kfp_exposed - memory of this side that the link of the peer may write: a receive, the
 * buffer
 *	of a read, or memory of a region (grant.c); all (L)
 * @x: description of the memory for the link
 * @concealed: kfp_conceal() has returned false, and now the peer can't write any more. NULL: the
 *	memory is not exposed
 */
struct kfp_exposed {
	struct kfi_exposed	x;
	void			(*concealed)(struct kfp_conn *conn, struct kfp_exposed *e);
};

/**
 * struct kfp_places - where the payload of one transfer goes; all (L)
 * @entry: entry in &kfp_conn.spare_places
 * @count: number of places
 * @place: the places, in the order of the payload
 * @exposed: of a read of this side: its buffer, which the places are. Else they are memory of the
 *	peer
 * @op: the read
 */
struct kfp_places {
	struct list_head	entry;
	u16			count;
	struct kfi_link_place	place[KFW_PLACES_MAX];
	struct kfp_exposed	exposed;
	struct kfi_oper		*op;
};

int kfp_expose(struct kfp_conn *conn, struct kfp_exposed *e, const struct iov_iter *iter, u64 len,
	       struct kfi_link_place *place,
	       void (*concealed)(struct kfp_conn *conn, struct kfp_exposed *e));
bool kfp_conceal(struct kfp_conn *conn, struct kfp_exposed *e);
void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x);
struct kfp_places *kfp_places_new(struct kfp_conn *conn);
bool __kfp_places_put(struct kfp_conn *conn, struct kfp_places **places);
int kfp_places_read(struct kfp_conn *conn, u64 len, struct kfp_places *places);
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to);

/* Each operation and each answer ends with this, and few have places. */
static inline bool kfp_places_put(struct kfp_conn *conn, struct kfp_places **places)
{
	return likely(!*places) || __kfp_places_put(conn, places);
}

extern const struct kfp_protocol kfp_memory_protocol;

#endif /* _KFI_PROTO_MEMORY_H */
