/* SPDX-License-Identifier: GPL-2.0 */
/* read.h - reads that wait for the other copies after a promotion */
#ifndef KFM_READ_H
#define KFM_READ_H

#include <linux/bio.h>

struct kfm;

void kfm_read_hold(struct kfm *m, struct bio *bio);
void kfm_read_remote(struct kfm *m, struct bio *bio);
bool kfm_reads_wait(const struct kfm *m);
void kfm_reads_run(struct kfm *m);

#endif /* KFM_READ_H */
