/* SPDX-License-Identifier: GPL-2.0 */
/* meta.h - superblock and bitmaps */
#ifndef KFM_META_H
#define KFM_META_H

#include <linux/bio.h>

struct kfm;
struct kfm_peer;

u32 kfm_bio_add(struct bio *bio, void *buf, u32 len);
int kfm_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len);
int kfm_super_load(struct kfm *m);
int kfm_super_save(struct kfm *m);
int kfm_bits_load(struct kfm_peer *p);
int kfm_bits_flush(struct kfm *m);
void kfm_bit_set(struct kfm *m, u32 region);
bool kfm_bit_durable(const struct kfm *m, u32 region);
bool kfm_bits_any(const struct kfm_peer *p);
void kfm_bits_clear(struct kfm_peer *p);
int kfm_bits_clean(struct kfm *m);
void kfm_oos_set(struct kfm_peer *p, u32 region);
void kfm_oos_clear(struct kfm_peer *p, u32 region);
int kfm_oos_fill(struct kfm_peer *p);
int kfm_oos_merge(struct kfm_peer *p);
void kfm_oos_load(struct kfm *m);
void kfm_oos_add_bits(struct kfm_peer *p);

#endif /* KFM_META_H */
