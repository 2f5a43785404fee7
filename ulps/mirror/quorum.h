/* SPDX-License-Identifier: GPL-2.0 */
/* quorum.h - whether enough nodes have what a primary writes, and policy quorum */
#ifndef KFM_QUORUM_H
#define KFM_QUORUM_H

#include "proto.h"

struct kfm;
struct kfm_peer;

enum kfm_verdict kfm_quorum_compare(const struct kfm *m, const struct kfm_gens *mine,
				    const struct kfm_gens *peer, u32 peer_state);
bool kfm_most(const struct kfm *m, unsigned int others);
bool kfm_quorate(const struct kfm *m);
bool kfm_generation_known(const struct kfm *m);
bool kfm_may_write(const struct kfm *m);
bool kfm_writes_may_end(const struct kfm *m);
void kfm_quorum_ask(struct kfm_peer *p);
bool kfm_may_go_alone(const struct kfm_peer *p);
bool kfm_may_copy(const struct kfm_peer *p, const struct kfm_msg *state);
bool kfm_may_sync(const struct kfm_peer *p);
void kfm_quorum_stored(struct kfm *m);
struct kfm_gens kfm_counted_gens(const struct kfm *m);
struct kfm_gens kfm_quorum_kept(const struct kfm *m);
void kfm_reads_extend(struct kfm *m);

/* vote.c */
bool kfm_quorum_full(const struct kfm *m, u64 node);
bool kfm_quorum_admits(struct kfm_peer *p, u64 node);
void kfm_quorum_forget(struct kfm_peer *p);
void kfm_quorum_announce(struct kfm *m, struct kfm_msg *synced);
void kfm_quorum_take(struct kfm *m, const struct kfm_msg *synced);
u32 kfm_quorum_flags(const struct kfm *m);
void kfm_quorum_vote(struct kfm_peer *p, const struct kfm_msg *state, enum kfm_verdict verdict);
bool kfm_promote_voted(const struct kfm *m);
void kfm_quorum_promoted(struct kfm *m, const struct kfm_super *before, bool force);
int kfm_quorum_force(struct kfm *m);
void kfm_quorum_begin(struct kfm *m, u64 gen);
bool kfm_quorum_witness(struct kfm *m);
void kfm_quorum_resume(struct kfm *m);

/* minority.c */
void kfm_quorum_newer(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_quorum_tick(struct kfm *m);

#endif /* KFM_QUORUM_H */
