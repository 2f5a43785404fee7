/* SPDX-License-Identifier: GPL-2.0 */
/* recent.h - the ranges of the last records that a secondary has applied */
#ifndef KFM_RECENT_H
#define KFM_RECENT_H

#include "proto.h"

struct kfm;
struct kfm_peer;

/* The range of a record that a secondary has applied, or is writing to its leg: see recent.c */
struct kfm_recent {
	u64	seq;
	u64	sector;
	u32	len;
};

void kfm_recent_announce(const struct kfm_peer *p, struct kfm_msg *msg);
void kfm_recent_set(struct kfm *m, struct kfm_recent *table, const struct kfm_rec *recs,
		    unsigned int count);
int kfm_recent_add(struct kfm *m, const struct kfm_rec *recs, unsigned int count);
void kfm_recent_clean(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_recent_begin(struct kfm *m);

#endif /* KFM_RECENT_H */
