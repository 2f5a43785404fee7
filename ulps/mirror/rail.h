/* SPDX-License-Identifier: GPL-2.0 */
/* rail.h - several ways to a peer */
#ifndef KFM_RAIL_H
#define KFM_RAIL_H

#include <linux/types.h>

struct kfm_msg;
struct kfm_peer;
struct kfm_rail;

void kfm_rails_open(struct kfm_peer *p);
struct kfm_rail *kfm_rail_next(struct kfm_rail *from);
unsigned long kfm_rails_wait(const struct kfm_peer *p, unsigned long most);
bool kfm_rails_lost(struct kfm_peer *p);
void kfm_rails_others_failed(struct kfm_peer *p);
void kfm_rails_ask(struct kfm_peer *p);
void kfm_rails_begin(struct kfm_peer *p, const struct kfm_msg *grant);
void kfm_rail_granted(struct kfm_peer *p, const struct kfm_msg *msg);
struct kfm_rail *kfm_rail_for_slots(const struct kfm_peer *p);
unsigned int kfm_rails_used(const struct kfm_peer *p);

#endif /* KFM_RAIL_H */
