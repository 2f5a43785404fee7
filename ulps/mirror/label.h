/* SPDX-License-Identifier: GPL-2.0 */
/* label.h - whose copy a leg has */
#ifndef KFM_LABEL_H
#define KFM_LABEL_H

#include <linux/types.h>

struct kfm;

u64 kfm_behind_data(u64 sectors);
int kfm_label_may_create(struct kfm *m);
int kfm_label_create(struct kfm *m);
int kfm_label_check(struct kfm *m);
int kfm_label_move(struct kfm *m);
int kfm_label_renew(struct kfm *m);
int kfm_label_name(const struct kfm *m);

#endif /* KFM_LABEL_H */
