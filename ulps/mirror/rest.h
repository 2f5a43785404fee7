/* SPDX-License-Identifier: GPL-2.0 */
/* rest.h - what the disks of a node that was stopped in order still have when it starts */
#ifndef KFM_REST_H
#define KFM_REST_H

#include "mirror.h"
#include "peer.h"

u32 kfm_rest_map(const struct kfm_peer *p);
void kfm_rest_begin(struct kfm *m);
void kfm_rest_check(struct kfm *m);
void kfm_rest_end(struct kfm *m);

/*
 * The leg is written at @sector: its region is one of the next sample. The mirror is claimed; or,
 * at a secondary, kfm_log.lock is held.
 */
static inline void kfm_rest_wrote(struct kfm *m, u64 sector)
{
	u32 region = sector >> m->shift;

	if (m->wrote_last[m->wrote_at % KFM_SAMPLES] != region)
		m->wrote_last[++m->wrote_at % KFM_SAMPLES] = region;
}

#endif /* KFM_REST_H */
