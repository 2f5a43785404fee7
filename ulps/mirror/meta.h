/* SPDX-License-Identifier: GPL-2.0 */
/* meta.h - the superblock, and I/O of the metadata device */
#ifndef KFM_META_H
#define KFM_META_H

#include <linux/bio.h>

struct kfm;
struct kfm_super;

#define KFM_BLANK_BYTES	(128 << 10)	/* `create` looks at; btrfs begins with 64 KiB of zeros */
#define KFM_MAP_BLOCKS	16	/* of a bitmap that are read or written at a time */

u32 kfm_bio_add(struct bio *bio, void *buf, u32 len);
int kfm_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len);
int kfm_meta_read(struct kfm *m, u64 byte, void *buf, u32 len);
int kfm_meta_write(struct kfm *m, blk_opf_t flags, u64 byte, void *buf, u32 len);
void kfm_map_encode(const u8 *map, u64 at, u8 *sector);
bool kfm_map_decode(const u8 *sector, u64 at, u8 *map);
int kfm_map_write(struct kfm *m, blk_opf_t flags, u64 at, const u8 *map, u32 blocks);
int kfm_map_read(struct kfm *m, u64 at, u8 *map, u32 blocks, u32 *bad);
int kfm_blank(struct kfm *m, struct block_device *bdev, u64 from, u64 to);
int kfm_meta_blank(struct kfm *m, u64 len);
void kfm_other_version(const struct kfm *m, const char *what, u32 lowest, u32 highest);
int kfm_super_clear(struct kfm *m, u64 at);
bool kfm_in_turn(const u64 *serials);
void kfm_super_doubt(struct kfm *m, const char *why);
int kfm_super_load(struct kfm *m);
int kfm_super_settle(struct kfm *m, const struct kfm_super *known);
int kfm_super_put(struct kfm *m);
int kfm_super_save(struct kfm *m);

#endif /* KFM_META_H */
