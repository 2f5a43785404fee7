/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory.h - memory to which the link of the other side writes directly, see memory.c.
 */
#ifndef _KFI_PROTO_MEMORY_H
#define _KFI_PROTO_MEMORY_H

#include "engine.h"

/**
 * struct kfp_places - where the payload of one transfer goes; all (L)
 * @entry: entry in &kfp_conn.spare_places
 * @count: number of places
 * @own: the places are memory of this side, which the peer may write; else they are the peer's
 * @place: the places, in the order of the payload
 * @x: with @own: description of the memory for the link
 * @owner: with @own: what the memory belongs to, for @concealed
 * @concealed: kfp_conceal() has returned false, and now the peer can't write to the memory any more:
 *	calls kfp_conceal() again
 */
struct kfp_places {
	struct list_head	entry;
	u16			count;
	bool			own;
	struct kfi_link_place	place[KFW_PLACES_MAX];
	struct kfi_exposed	x;
	void			*owner;
	void			(*concealed)(struct kfp_conn *conn, void *owner);
};

struct kfp_places *kfp_expose(struct kfp_conn *conn, const struct iov_iter *iter, u64 len,
			      void (*concealed)(struct kfp_conn *conn, void *owner), void *owner);
bool __kfp_conceal(struct kfp_conn *conn, struct kfp_places **places);
void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x);
int kfp_places_read(struct kfp_conn *conn, u64 len, struct kfp_places *places);
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to);

bool kfp_rx_lengths_ok(const struct kfp_rx *rx);
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access);
void kfp_rx_put_mr(struct kfp_conn *conn);

/* Each operation and each answer ends with this, and few have places. */
static inline bool kfp_conceal(struct kfp_conn *conn, struct kfp_places **places)
{
	return likely(!*places) || __kfp_conceal(conn, places);
}

extern const struct kfp_protocol kfp_memory_protocol;

#endif /* _KFI_PROTO_MEMORY_H */
