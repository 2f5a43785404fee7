/* SPDX-License-Identifier: GPL-2.0 */
/* flush.h - volatile caches of the legs, and when they are flushed */
#ifndef KFM_FLUSH_H
#define KFM_FLUSH_H

#include "mirror.h"

struct kfm_peer;
struct kfm_write;

/* Has a write ended since the last flush began that has ended? Any context. */
static inline bool kfm_flush_needed(const struct kfm *m)
{
	return m->cache && READ_ONCE(m->flushed) < READ_ONCE(m->written);
}

bool kfm_flush_awaited(const struct kfm *m);
bool kfm_flush_due(const struct kfm *m);
void kfm_flush_begins(struct kfm_write *w);
void kfm_flush_ended(struct kfm_write *w);
void kfm_flush_outdated(struct kfm *m);
void kfm_flush_leg_failed(struct kfm *m);
void kfm_flush_reset(struct kfm *m);
void kfm_flush_lost(struct kfm_peer *p);
void kfm_flush_start(struct kfm_peer *p, u64 start);

#endif /* KFM_FLUSH_H */
