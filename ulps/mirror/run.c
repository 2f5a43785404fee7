// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - the worker's round, and the short round of other contexts: what is due, in this order.
 *
 *   kfm_worker()		messages and what is due of sessions (peer.c), then the writes,
 *			extents that are cleaned (cool.c), and commands (command.c)
 *   kfm_writes_run()	the writes: those that have ended, a leg that has failed, repairs,
 *			comparisons and resynchronisations, new writes, and records to post
 *   kfm_writes_run_atomic()
 *			the same of an undisturbed mirror, in the context that has handed something
 *			over, as far as that needs neither sleep nor metadata: most writes begin in
 *			the context that submits them, and end in the softirq in which the answer of
 *			the peer arrives
 *
 * All of them run with the mirror claimed (claim.c), and call parts that do not call them back. A
 * completion comes back by kfm_run_atomic() or kfm_kick().
 */
#include <linux/sched/mm.h>
#include "bits.h"
#include "command.h"
#include "csum.h"
#include "flush.h"
#include "leg.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "read.h"
#include "repair.h"
#include "resync.h"
#include "run.h"
#include "session.h"
#include "verify.h"
#include "write.h"

/* ---- writes ---- */

/**
 * kfm_leg_check() - find out whether a write to the leg has failed
 * @m: primary
 *
 * This comes before a session is found to have ended, and before a write ends: from now on this
 * node must neither go on without a peer nor be the source of a resynchronisation. The copy of the
 * peer is the good one.
 *
 * Context: any that has claimed the mirror.
 */
void kfm_leg_check(struct kfm *m)
{
	struct kfm_write *w;

	if (m->detached)
		return;
	list_for_each_entry(w, &m->flight, entry)
		m->leg_failed |= !w->peer && !kfm_busy(&w->leg_busy) && w->leg_status;
	m->leg_failed |= kfm_repair_leg_failed(m);
	m->leg_failed |= kfm_verify_leg_failed(m);
}

static void take_new_bios(struct kfm *m)
{
	unsigned long flags;

	spin_lock_irqsave(&m->lock, flags);
	bio_list_merge(&m->queue, &m->arrived);
	bio_list_init(&m->arrived);
	spin_unlock_irqrestore(&m->lock, flags);
}

/* Is there nothing to do but to write, on the leg and to all peers? */
static bool nothing_but_writes(const struct kfm *m)
{
	struct kfm_peer *p;

	if (!m->primary || m->stop || READ_ONCE(m->noflush) || m->meta_failed || m->leg_failed ||
	    m->detached || m->repair.waiting || m->verify.running || !list_empty(&m->repairs) ||
	    !list_empty(&m->reads))
		return false;
	kfm_for_each_peer(p, m) {
		if (p->witness && kfm_is_alone(p) && p->state <= KFM_SESSION_HELLO)
			continue;
		if (p->state != KFM_SESSION_UP || !p->insync || p->oos_count || p->gap)
			return false;
	}
	return kfm_generation_known(m);
}

/**
 * kfm_writes_run_atomic() - advance the writes as far as this is possible without the worker
 * @m: mirror
 * @legs: the caller submits the bios that are added to this list, with the claim released; NULL:
 *	the caller must not sleep, so no write begins
 *
 * All writes of an undisturbed mirror are executed here, except for those whose extent is not
 * active. What changes the state of a session, of the leg or of the metadata is left to the worker
 * as it is, which finds it again. So is what exceeds KFM_ATOMIC_BYTES; a pass ends all writes that
 * can end.
 *
 * Context: the mirror is claimed; bottom halves are off. Return: true if the worker has to run.
 */
bool kfm_writes_run_atomic(struct kfm *m, struct bio_list *legs)
{
	bool worker = false;
	struct kfm_peer *p;

	if (!smp_load_acquire(&m->active))	/* pairs with kfm_preresume() */
		return false;
	if (!nothing_but_writes(m))
		return true;
	take_new_bios(m);
	kfm_writes_reclaim(m);
	kfm_leg_check(m);
	if (m->leg_failed)
		return true;
	kfm_for_each_peer(p, m) {
		if (kfm_acks_collect(p))
			return true;
	}
	kfm_writes_end(m);
	if (legs)
		worker = !kfm_writes_launch_durable(m, legs);
	else
		worker = !bio_list_empty(&m->queue);
	kfm_for_each_peer(p, m)
		worker |= kfm_post_all(p, KFM_ATOMIC_BYTES) != 0;
	return worker;
}

/**
 * kfm_writes_run() - advance all writes as far as possible
 * @m: mirror
 */
void kfm_writes_run(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;

	m->again = false;
	take_new_bios(m);
	kfm_writes_reclaim(m);
	kfm_leg_check(m);
	kfm_for_each_peer(p, m) {
		ret = kfm_acks_collect(p);
		if (ret)
			kfm_peer_lost(p, ret);
	}
	kfm_leg_run(m);
	kfm_repair_run(m);
	kfm_resync_notes(m);
	kfm_verify_run(m);
	if (kfm_csum_serve(m))
		kfm_peers_end(m);
	kfm_reads_run(m);
	if (READ_ONCE(m->noflush)) {
		kfm_resync_reads(m);
		m->only = m->only ?: kfm_only_copy(m);	/* one, until all bios are requeued */
		kfm_writes_requeue(m);
		if (m->leg_failed)
			kfm_flush_leg_failed(m);	/* it is not known after the resume */
		return;
	}
	m->only = NULL;
	/* the suspend was canceled: no completion is checked for the record of a requeued write */
	kfm_for_each_peer(p, m) {
		if (p->gap && p->state == KFM_SESSION_UP)
			kfm_peer_lost(p, -EINTR);
		p->gap = false;
	}
	kfm_writes_end(m);
	kfm_leg_check(m);	/* an error may have come since, and before a flush: settle_leg() */
	kfm_leg_run(m);
	if (m->leg_failed)
		kfm_writes_fail(m);
	else if (m->stepping)
		kfm_writes_give_back(m);
	if (!m->primary || m->meta_failed || m->leg_failed || m->stepping)
		kfm_queue_fail(m);
	else if (kfm_may_write(m))
		kfm_writes_launch(m);
	kfm_resync_run(m);
	kfm_for_each_peer(p, m) {
		ret = kfm_post_all(p, U32_MAX);
		if (ret && ret != -EAGAIN)
			kfm_peer_lost(p, ret);
	}
}

/* ---- the worker ---- */

/* Work items of a mirror: it is time to look again, and the worker */
void kfm_worker_tick(struct work_struct *work)
{
	kfm_kick(container_of(to_delayed_work(work), struct kfm, tick));
}

/* Queue the worker once more, whether anything queues it or not. */
static void worker_rearm(struct kfm *m)
{
	if (m->again || m->log.oldest_at)
		mod_delayed_work(kfm_wq, &m->tick, m->again ? 1 : HZ / 50);
	else
		queue_delayed_work(kfm_wq, &m->tick, HZ / 10);
}

void kfm_worker(struct work_struct *work)
{
	struct kfm *m = container_of(work, struct kfm, work);
	unsigned int noio;

	if (!READ_ONCE(m->active) || !kfm_claim_work(m))
		return;
	noio = memalloc_noio_save();
	kfm_leg_check(m);	/* before a peer is found to be lost */
	if (!m->stop)
		kfm_peers_run(m);
	kfm_writes_run(m);
	if (m->formatted)
		kfm_bits_run(m);
	kfm_commands(m);
	memalloc_noio_restore(noio);
	if (READ_ONCE(m->active))
		worker_rearm(m);
	kfm_unclaim_work(m);
}
