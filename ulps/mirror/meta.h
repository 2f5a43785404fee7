/* SPDX-License-Identifier: GPL-2.0 */
/* meta.h - the superblock, and I/O of the metadata device */
#ifndef KFM_META_H
#define KFM_META_H

#include <linux/bio.h>

struct kfm;
struct kfm_super;

u32 kfm_bio_add(struct bio *bio, void *buf, u32 len);
int kfm_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len);
int kfm_blank(struct kfm *m, struct block_device *bdev);
int kfm_super_load(struct kfm *m);
int kfm_super_settle(struct kfm *m, const struct kfm_super *known);
int kfm_super_save(struct kfm *m);

#endif /* KFM_META_H */
