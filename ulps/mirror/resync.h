/* SPDX-License-Identifier: GPL-2.0 */
/* resync.h - resynchronisation of a peer */
#ifndef KFM_RESYNC_H
#define KFM_RESYNC_H

#include "peer.h"

struct kfm;
struct kfm_write;

#define KFM_RATE_MAX	(1u << 30)	/* KiB a second */

int kfm_rate_parse(const char *word, unsigned int *kib);
void kfm_resync_run(struct kfm *m);
void kfm_resync_reads(struct kfm *m);
bool kfm_resync_waits(const struct kfm_peer *p);
void kfm_resync_begin(struct kfm_peer *p);
void kfm_resync_part(struct kfm_write *w);
void kfm_resync_notes(struct kfm *m);
bool kfm_resync_allowed(struct kfm_peer *p);

/* Stop the resynchronisation. Parts that are being read or sent are dropped when they end. */
static inline void kfm_resync_stop(struct kfm_peer *p)
{
	p->rs_round++;
}

#endif /* KFM_RESYNC_H */
