/* SPDX-License-Identifier: GPL-2.0 */
/* leave.h - an orderly stop of a secondary */
#ifndef KFM_LEAVE_H
#define KFM_LEAVE_H

#include "proto.h"

struct kfm;
struct kfm_cmd;
struct kfm_peer;

void kfm_leave_send(struct kfm_peer *p);
void kfm_leave(struct kfm *m, struct kfm_cmd *cmd);
void kfm_leave_tick(struct kfm *m);
void kfm_leave_message(struct kfm_peer *p);
void kfm_leave_end(struct kfm *m, int ret);
enum kfm_verdict kfm_state_compare(const struct kfm_peer *p, const struct kfm_msg *state);

#endif /* KFM_LEAVE_H */
