/* SPDX-License-Identifier: GPL-2.0 */
/* run.h - the round of the worker, and that of the writes */
#ifndef KFM_RUN_H
#define KFM_RUN_H

#include <linux/workqueue.h>

struct bio_list;
struct kfm;

void kfm_worker(struct work_struct *work);
void kfm_worker_tick(struct work_struct *work);
void kfm_leg_check(struct kfm *m);
void kfm_writes_run(struct kfm *m);
bool kfm_writes_run_atomic(struct kfm *m, struct bio_list *legs);

#endif /* KFM_RUN_H */
