/* SPDX-License-Identifier: GPL-2.0 */
/* leg.h - the leg of a primary, and what follows when it has failed */
#ifndef KFM_LEG_H
#define KFM_LEG_H

#include <linux/blk_types.h>

struct kfm;
struct kfm_peer;
struct kfm_write;

void kfm_leg_prepare(struct kfm_write *w, blk_opf_t op);
void kfm_write_leg(struct kfm_write *w, blk_opf_t op);

/* source.c */
bool kfm_is_source(const struct kfm_peer *p);
bool kfm_has_source(const struct kfm *m, const struct kfm_peer *but);
struct kfm_peer *kfm_only_copy(const struct kfm *m);
bool kfm_may_do_without(const struct kfm_peer *p);
bool kfm_lacks_data(const struct kfm_peer *p);
bool kfm_peer_optional(const struct kfm_peer *p);
bool kfm_detached_stored(const struct kfm *m);
void kfm_source_back(const struct kfm_peer *p);

/* detach.c */
void kfm_leg_run(struct kfm *m);
int kfm_detach(struct kfm *m);

#endif /* KFM_LEG_H */
