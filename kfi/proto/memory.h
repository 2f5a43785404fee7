/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory.h - memory to which the link of the other side writes directly, see memory.c.
 */
#ifndef _KFI_PROTO_MEMORY_H
#define _KFI_PROTO_MEMORY_H

#include "engine.h"

#define KFP_RTW_SEGS	4		/* most segments of a write with an RTW */

/**
 * struct kfp_piece - a piece of memory of this side that the peer may write to
 * @x: description of the piece for the link; x.mr is referenced and held
 * @key: key of x.mr
 */
struct kfp_piece {
	struct kfi_exposed	x;
	u64			key;
};

/**
 * struct kfp_places - where the payload of one transfer goes; all (L)
 * @entry: entry in &kfp_conn.spare_places
 * @count: number of places
 * @pieces: number of pieces of this side's memory; 0: the places are the peer's
 * @place: the places, in the order of the payload
 * @piece: the pieces that the peer may write to
 * @owner: what the exposed memory belongs to, for @concealed
 * @concealed: kfp_conceal() has returned false, and now the peer can't write to the memory any more:
 *	calls kfp_conceal() again. Not used for memory of regions, which is concealed at once
 */
struct kfp_places {
	struct list_head	entry;
	u16			count;
	u16			pieces;
	struct kfi_link_place	place[KFW_PLACES_MAX];
	struct kfp_piece	piece[KFP_RTW_SEGS];
	void			*owner;
	void			(*concealed)(struct kfp_conn *conn, void *owner);
};

struct kfp_places *kfp_expose(struct kfp_conn *conn, const struct iov_iter *iter, u64 len);
struct kfp_places *kfp_expose_segments(struct kfp_conn *conn, const struct kfw_rma *segs,
				       unsigned int n);
bool kfp_places_ended(const struct kfp_places *places);
bool kfp_conceal(struct kfp_conn *conn, struct kfp_places **places);
void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x);
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to);

int kfp_rx_check_segments(struct kfp_conn *conn, u64 access);
void kfp_rx_put_mr(struct kfp_conn *conn);

extern const struct kfp_protocol kfp_memory_protocol;

#endif /* _KFI_PROTO_MEMORY_H */
