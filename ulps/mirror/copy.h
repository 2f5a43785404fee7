/* SPDX-License-Identifier: GPL-2.0 */
/* copy.h - what a secondary stores of its own copy */
#ifndef KFM_COPY_H
#define KFM_COPY_H

struct kfm;

int kfm_store_outdated(struct kfm *m);
int kfm_invalidate(struct kfm *m);
int kfm_log_unusable(struct kfm *m);
int kfm_writes_missing(struct kfm *m);

#endif /* KFM_COPY_H */
