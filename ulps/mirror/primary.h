/* SPDX-License-Identifier: GPL-2.0 */
/* primary.h - what a primary does with the messages of its peers */
#ifndef KFM_PRIMARY_H
#define KFM_PRIMARY_H

struct kfm_msg;
struct kfm_peer;

void kfm_primary_message(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_primary_tick(struct kfm_peer *p);

#endif /* KFM_PRIMARY_H */
