// SPDX-License-Identifier: GPL-2.0
/*
 * read.c - reads of a node that has been promoted, until it is open.
 *
 * It may have what was in flight when the primary died, while another copy lacks that. If that
 * copy were promoted next, what was read would be gone. So reads wait for what the end of a write
 * waits for: then each peer has the same copy, or one that can't be promoted because it is being
 * resynchronised, or this node goes on without it. What the bits of both nodes say has been
 * compared before a session is up. From then on map() passes reads to the leg without the worker.
 *
 * With `reads quorum` reads wait again while another node may have been promoted. A node follows
 * this primary until that was silent for the time-out (other_primary(), secondary.c), and a node
 * that was resumed has no vote for as long (vote.c). So reads go on for half of the time-out since
 * PINGs were sent that more than half of the nodes have answered (reads_until, quorum.c): however
 * late the answer is seen, its sender has heard this primary since then. That is compared with the
 * clock at each read, as the worker may not run. A clock that stands still, as that of a virtual
 * machine that is paused, is not covered.
 */
#include "mirror.h"
#include "quorum.h"
#include "read.h"
#include "write.h"

/* Add a read to a list that the worker takes. */
static void hand_over(struct kfm *m, struct bio_list *list, struct bio *bio)
{
	unsigned long flags;

	rcu_read_lock();	/* the worker may end the bio, which keeps the mirror */
	spin_lock_irqsave(&m->lock, flags);
	bio_list_add(list, bio);
	spin_unlock_irqrestore(&m->lock, flags);
	kfm_kick(m);
	rcu_read_unlock();
}

/**
 * kfm_read_hold() - let a read wait until this node is open
 * @m: primary
 * @bio: read, which is for the leg already. The worker submits or ends it
 *
 * Context: any.
 */
void kfm_read_hold(struct kfm *m, struct bio *bio)
{
	hand_over(m, &m->held, bio);
}

/**
 * kfm_read_remote() - let a peer serve a read that the leg has failed, or can't serve
 * @m: primary
 * @bio: read, with its &struct kfm_read. The worker ends it (repair.c)
 *
 * Context: any.
 */
void kfm_read_remote(struct kfm *m, struct bio *bio)
{
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));

	r->tried = true;
	r->failed_peers = 0;
	r->mismatches = 0;
	r->deadline = jiffies + m->timeout;
	bio->bi_iter = r->iter;
	bio->bi_status = BLK_STS_OK;
	hand_over(m, &m->unread, bio);
}

/* May another node be primary by now, so that a read might be old? Any context. */
bool kfm_reads_wait(const struct kfm *m)
{
	return m->reads_quorum && m->policy == KFM_QUORUM &&
	       time_after(jiffies, READ_ONCE(m->reads_until));
}

/**
 * kfm_reads_run() - submit the reads that were held, or end them if this node will not be open
 * @m: mirror
 *
 * Context: the worker.
 */
void kfm_reads_run(struct kfm *m)
{
	bool fails = !m->primary || m->meta_failed || m->leg_failed;
	struct bio_list held;
	struct bio *bio;
	bool go;

	if (!m->open && m->primary && kfm_writes_may_end(m))
		WRITE_ONCE(m->open, true);
	go = m->primary && m->open && !kfm_reads_wait(m);
	if (!go && !fails && !READ_ONCE(m->noflush))
		return;
	spin_lock_irq(&m->lock);
	held = m->held;
	bio_list_init(&m->held);
	spin_unlock_irq(&m->lock);
	while ((bio = bio_list_pop(&held))) {
		if (go && m->detached) {
			kfm_read_remote(m, bio);
			continue;
		}
		if (go) {
			bio->bi_opf |= REQ_META;	/* see kfm_writes_launch() */
			submit_bio_noacct(bio);
			continue;
		}
		bio->bi_status = fails ? BLK_STS_IOERR : BLK_STS_DM_REQUEUE;
		bio_endio(bio);
	}
}
