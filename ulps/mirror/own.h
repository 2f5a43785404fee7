/* SPDX-License-Identifier: GPL-2.0 */
/* own.h - the log of a primary whose leg can tear a sector */
#ifndef KFM_OWN_H
#define KFM_OWN_H

#include <linux/types.h>

struct kfm;
struct kfm_write;

bool kfm_own_full(const struct kfm *m, u32 len);
void kfm_own_take(struct kfm_write *w);
int kfm_own_store(struct kfm_write *w);
bool kfm_own_due(const struct kfm *m);
int kfm_own_trim(struct kfm *m);
int kfm_own_empty(struct kfm *m);
int kfm_own_resume(struct kfm *m);

#endif /* KFM_OWN_H */
