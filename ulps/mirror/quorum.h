/* SPDX-License-Identifier: GPL-2.0 */
/* quorum.h - whether enough nodes have what a primary writes, and policy quorum */
#ifndef KFM_QUORUM_H
#define KFM_QUORUM_H

#include "proto.h"

struct kfm;
struct kfm_peer;

bool kfm_quorate(const struct kfm *m);
bool kfm_generation_known(const struct kfm *m);
bool kfm_may_write(const struct kfm *m);
bool kfm_writes_may_end(const struct kfm *m);
void kfm_quorum_ask(struct kfm *m);
bool kfm_may_go_alone(const struct kfm_peer *p);
bool kfm_may_copy(const struct kfm_peer *p, u32 state);
bool kfm_vote_taken(const struct kfm_peer *p, const struct kfm_msg *state);
bool kfm_promote_voted(const struct kfm *m);
void kfm_quorum_begin(struct kfm *m, u64 gen);
void kfm_quorum_stored(struct kfm *m);
void kfm_quorum_newer(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_quorum_tick(struct kfm *m);

#endif /* KFM_QUORUM_H */
