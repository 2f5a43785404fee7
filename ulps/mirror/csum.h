/* SPDX-License-Identifier: GPL-2.0 */
/* csum.h - resynchronisation by checksums */
#ifndef KFM_CSUM_H
#define KFM_CSUM_H

#include <linux/types.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;
struct kfm_write;

u64 kfm_csum_hash(const struct kfm_write *w);
bool kfm_csum_waits(struct kfm_write *w);
void kfm_csum_answered(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_csum_requested(struct kfm_peer *p, const struct kfm_msg *msg);
int kfm_csum_serve(struct kfm *m);
bool kfm_csum_behind(const struct kfm *m);

#endif /* KFM_CSUM_H */
