/* SPDX-License-Identifier: GPL-2.0 */
/* label.h - whose copy a leg has */
#ifndef KFM_LABEL_H
#define KFM_LABEL_H

#include <linux/types.h>

struct kfm;
struct kfm_super;

u64 kfm_behind_data(u64 sectors);
int kfm_label_tag(struct kfm *m, u64 meta_at, u64 sectors);
int kfm_label_locate(struct kfm *m, u64 from, const struct kfm_super *known);
int kfm_label_fits(const struct kfm *m);
int kfm_label_may_create(struct kfm *m, const u8 *uuid);
int kfm_label_create(struct kfm *m);
int kfm_label_check(struct kfm *m);
int kfm_label_move(struct kfm *m);
int kfm_label_renew(struct kfm *m);
int kfm_label_name(const struct kfm *m, const u8 *found);

#endif /* KFM_LABEL_H */
