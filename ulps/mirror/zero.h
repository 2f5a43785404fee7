/* SPDX-License-Identifier: GPL-2.0 */
/* zero.h - discard and write-zeroes */
#ifndef KFM_ZERO_H
#define KFM_ZERO_H

#include <linux/bio.h>
#include <linux/workqueue.h>

struct kfm;
struct kfm_peer;

int kfm_zero(struct block_device *bdev, u64 sector, u32 len, blk_opf_t flags);
void kfm_zero_work(struct work_struct *work);
bool kfm_zeroes_taken(const struct kfm *m);
void kfm_zeroes_left_out(struct kfm_peer *p);

static inline bool kfm_bio_zeroes(const struct bio *bio)
{
	return bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES;
}

#endif /* KFM_ZERO_H */
