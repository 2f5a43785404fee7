/* SPDX-License-Identifier: GPL-2.0 */
/* session.h - what any part may do with a session, and with what is stored about a peer */
#ifndef KFM_SESSION_H
#define KFM_SESSION_H

#include "proto.h"

struct kfm;
struct kfm_peer;

void kfm_peer_send(struct kfm_peer *p, u16 type, u32 arg, u64 session);
struct kfm_gens kfm_pair_gens(const struct kfm_peer *p);
bool kfm_node_matches(const struct kfm_peer *p, u64 node);
extern struct kfi_wire kfm_wire;		/* what "kfi show versions" lists */
u16 kfm_peer_versions(const struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_peer_other_version(struct kfm_peer *p, const struct kfm_msg *hello);
void kfm_peer_needs_log(struct kfm_peer *p, const struct kfm_msg *hello);
enum kfm_verdict kfm_peer_compare(const struct kfm_peer *p, const struct kfm_msg *state);
void kfm_peer_hello(struct kfm_rail *rail, u32 flags);
int kfm_pair_change(struct kfm_peer *p, const struct kfm_pair *pair);
int kfm_go_alone(struct kfm_peer *p);
void kfm_policy_tick(struct kfm_peer *p);
void kfm_peer_lost(struct kfm_peer *p, int err);
void kfm_peer_close(struct kfm_peer *p);
void kfm_rail_close(struct kfm_rail *rail);
void kfm_rail_lost(struct kfm_rail *rail, int err);
void kfm_peers_end(struct kfm *m);
void kfm_sessions_drop(struct kfm *m);
void kfm_peers_leg_failed(struct kfm *m);

#endif /* KFM_SESSION_H */
