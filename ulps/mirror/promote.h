/* SPDX-License-Identifier: GPL-2.0 */
/* promote.h - the roles of a node: it becomes primary, or secondary */
#ifndef KFM_PROMOTE_H
#define KFM_PROMOTE_H

struct kfm;
struct kfm_cmd;
struct kfm_msg;
struct kfm_peer;

void kfm_promote(struct kfm *m, struct kfm_cmd *cmd);
void kfm_promote_answer(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_promote_tick(struct kfm *m);
void kfm_promote_end(struct kfm *m, int ret);
int kfm_demote(struct kfm *m);

#endif /* KFM_PROMOTE_H */
