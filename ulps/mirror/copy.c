// SPDX-License-Identifier: GPL-2.0
/*
 * copy.c - what a secondary stores of its own copy when that is worth less than before. All of it
 * is the worker's.
 */
#include "bits.h"
#include "copy.h"
#include "event.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "session.h"

/* Store that the primary may go on without this copy. */
int kfm_store_outdated(struct kfm *m)
{
	m->was_insync = false;
	if (m->sb.state != KFM_UPTODATE)
		return 0;
	m->sb.state = KFM_OUTDATED;
	return kfm_super_save(m);
}

/**
 * kfm_invalidate() - make this copy blank
 * @m: formatted secondary; its session ends
 *
 * Return: 0 if the new state is durable, or a negative error.
 */
int kfm_invalidate(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;

	kfm_peers_end(m);
	m->was_insync = false;
	m->sb.state = KFM_BLANK;
	m->sb.flags &= KFM_SB_KEPT;
	memset(&m->sb.gens, 0, sizeof(m->sb.gens));
	memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
	kfm_for_each_peer(p, m) {
		p->session = 0;		/* an ATTACH under way is for the old copy */
		*kfm_pair(p) = (struct kfm_pair) {
			.node = kfm_pair(p)->node, .flags = kfm_pair(p)->flags & KFM_PAIR_WITNESS,
		};
	}
	ret = kfm_super_save(m);
	if (ret)
		return ret;
	kfm_for_each_peer(p, m)
		kfm_bits_clear(p);
	return kfm_bits_flush(m) ?: kfm_log_start(m, kfm_random(), 0, 0);
}

/**
 * kfm_log_unusable() - the device has damaged the log, so acknowledged writes are missing
 * @m: formatted secondary, to which a primary attaches
 *
 * The copy is worthless, but this node knows its generation, and so votes as before: with policy
 * quorum it may be one of two that are left.
 *
 * Return: 0, and the copy is durably blank; or a negative error.
 */
int kfm_log_unusable(struct kfm *m)
{
	struct kfm_super before = m->sb;
	int ret;

	m->was_insync = false;
	m->sb.state = KFM_BLANK;
	m->sb.gens.source = 0;
	ret = kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	kfm_event(m, "invalid");
	return kfm_log_start(m, kfm_random(), 0, 0);
}

/**
 * kfm_writes_missing() - acknowledged writes are missing in this copy
 * @m: formatted secondary; its session ends
 *
 * Return: 0, and the copy is durably blank; or a negative error.
 */
int kfm_writes_missing(struct kfm *m)
{
	DMERR("%s: records have been overwritten: this copy is given up", kfm_name(m));
	kfm_event(m, "invalid");
	return kfm_invalidate(m);
}
