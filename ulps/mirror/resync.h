/* SPDX-License-Identifier: GPL-2.0 */
/* resync.h - resynchronisation of a peer */
#ifndef KFM_RESYNC_H
#define KFM_RESYNC_H

#include <linux/types.h>

struct kfm;
struct kfm_peer;
struct kfm_write;

void kfm_resync_run(struct kfm *m);
void kfm_resync_reads(struct kfm *m);
bool kfm_resync_waits(const struct kfm_peer *p);
void kfm_resync_begin(struct kfm_peer *p);
void kfm_resync_stop(struct kfm_peer *p);
void kfm_resync_part(struct kfm_write *w);
void kfm_resync_notes(struct kfm *m);
bool kfm_resync_allowed(struct kfm_peer *p);

#endif /* KFM_RESYNC_H */
