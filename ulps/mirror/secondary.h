/* SPDX-License-Identifier: GPL-2.0 */
/* secondary.h - what a secondary does with the messages of a primary */
#ifndef KFM_SECONDARY_H
#define KFM_SECONDARY_H

struct kfm;
struct kfm_msg;
struct kfm_peer;

void kfm_secondary_hello(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_secondary_message(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_secondary_tick(struct kfm *m);

#endif /* KFM_SECONDARY_H */
