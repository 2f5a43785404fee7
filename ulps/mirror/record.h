/* SPDX-License-Identifier: GPL-2.0 */
/* record.h - groups of records, and the posts that transfer them */
#ifndef KFM_RECORD_H
#define KFM_RECORD_H

#include "ring.h"

struct kfm_peer;
struct kfm_rail;
struct kfm_write;

/* Head and data of each record of a post, and two pieces of data that go on in another chunk */
#define KFM_IOV		(2 * KFM_GROUP + 2)

/**
 * struct kfm_group - records that are written at once: they follow one another in the log of a
 * peer, or are in one slot
 * @writes: their writes
 * @count: how many
 * @direct: they are in a slot
 * @rail: by which they go
 * @at: offset of the first one in the log, or of its head in the slots
 * @bytes: room of all
 * @ends: in the log: value of &kfm_place.head after each
 * @next: in the log: place behind them
 */
struct kfm_group {
	struct kfm_write	*writes[KFM_GROUP];
	unsigned int		count;
	bool			direct;
	struct kfm_rail		*rail;
	u32			at;
	u32			bytes;
	u64			ends[KFM_GROUP];
	struct kfm_place	next;
};

ssize_t kfm_net_fetch(struct kfm_peer *p, u64 key, u64 addr, u32 len);
ssize_t kfm_net_read(struct kfm_peer *p, struct kfm_write *w, u32 patch);
ssize_t kfm_net_write(struct kfm_peer *p, const struct kfm_group *g);

#endif /* KFM_RECORD_H */
