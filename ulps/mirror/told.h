/* SPDX-License-Identifier: GPL-2.0 */
/* told.h - what the nodes remember of each other, and what is on their disks */
#ifndef KFM_TOLD_H
#define KFM_TOLD_H

#include <linux/types.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;

void kfm_told_speaks(const struct kfm *m, struct kfm_msg *msg);
void kfm_told_hears(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_told_tells(const struct kfm_peer *p, struct kfm_msg *msg);
bool kfm_told_knows(const struct kfm *m, const struct kfm_msg *msg);
bool kfm_told_takes(struct kfm *m, const struct kfm_msg *msg);
bool kfm_told_longer(const struct kfm_peer *p);

#endif /* KFM_TOLD_H */
