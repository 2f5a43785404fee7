/* SPDX-License-Identifier: GPL-2.0 */
/* bits.h - regions that may differ, and extents that are active */
#ifndef KFM_BITS_H
#define KFM_BITS_H

#include "proto.h"

struct kfm;
struct kfm_peer;

#define KFM_ACTIVE_MAX		1000u	/* extents; beyond that some are cleaned */
#define KFM_ACTIVE_BLOCKS	DIV_ROUND_UP(KFM_EXTENTS_MAX / 8, KFM_MAP_BLOCK)

int kfm_active_flush(struct kfm *m);
void kfm_touch(struct kfm *m, u64 sector, u32 len);
void kfm_active_set(struct kfm_peer *p, u64 sector, u32 len);
bool kfm_active_durable(const struct kfm *m, u64 sector, u32 len);
void kfm_active_clear(struct kfm_peer *p, u32 extent);
void kfm_cached_set(struct kfm_peer *p, u64 sector, u32 len);
void kfm_cached_lost(struct kfm_peer *p);
void kfm_oos_set(struct kfm_peer *p, u64 sector, u32 len);
void kfm_extent_oos(struct kfm_peer *p, u32 extent);
void kfm_oos_clear(struct kfm_peer *p, u64 sector, u32 len);
bool kfm_oos_any(const struct kfm_peer *p, u64 sector, u32 len);
void kfm_oos_zero(struct kfm_peer *p);
int kfm_oos_fill(struct kfm_peer *p);
int kfm_oos_flush(struct kfm *m);
bool kfm_wire_any(const struct kfm_peer *p);
void kfm_wire_fill(struct kfm_peer *p);
int kfm_wire_merge(struct kfm_peer *p);
void kfm_bits_clear(struct kfm_peer *p);
int kfm_bits_flush(struct kfm *m);
int kfm_bits_create(struct kfm *m);
int kfm_bits_load(struct kfm *m);

/* cool.c */
void kfm_bits_run(struct kfm *m);
void kfm_bits_cool(struct kfm *m);
int kfm_bits_rest(struct kfm *m);
bool kfm_flush_settles(struct kfm *m);

#endif /* KFM_BITS_H */
