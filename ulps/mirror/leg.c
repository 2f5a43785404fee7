// SPDX-License-Identifier: GPL-2.0
/*
 * leg.c - what is written to the leg of a primary, and read from it. What follows when it has
 * failed is in detach.c.
 */
#include "leg.h"
#include "mirror.h"
#include "write.h"
#include "zero.h"

static void leg_continue(struct kfm *m)
{
	if (in_hardirq() || irqs_disabled())
		kfm_kick(m);
	else
		kfm_run_atomic(m, NULL);
}

/*
 * Any context. While a record of the write is at a provider, there is nothing to do: the record's
 * completion, which comes later, finds that the leg has the data. Another context may end and reuse
 * the write as soon as @leg_busy is false; then nothing is left to do here, whatever
 * kfm_posts_busy() says of the next write.
 */
static void leg_end_io(struct bio *bio)
{
	struct kfm_write *w = container_of(bio, struct kfm_write, leg);
	blk_status_t status = bio->bi_status;
	struct kfm *m = w->m;

	w->leg_status = status;
	rcu_read_lock();	/* see kfm_signal() */
	smp_store_release(&w->leg_busy, false);	/* pairs with kfm_busy() */
	smp_mb();		/* before kfm_posts_busy(); pairs with record_done(), see claim.c */
	if (status)
		kfm_kick(m);
	else if (!kfm_posts_busy(w))
		leg_continue(m);
	rcu_read_unlock();
}

/**
 * kfm_leg_prepare() - prepare a write to the leg: the caller submits &kfm_write.leg
 * @w: write of data, or a flush. It belongs to the cgroup and has the priority of its submitter,
 *	whoever executes it
 * @op: operation and flags
 */
void kfm_leg_prepare(struct kfm_write *w, blk_opf_t op)
{
	struct kvec pieces[KFM_CHUNKS];
	unsigned int i, n = kfm_write_pieces(w, KFM_DATA_AT, kfm_write_data(w), pieces);

	bio_init(&w->leg, w->m->leg->bdev, w->vecs, KFM_CHUNKS, op);
	if (w->bio) {
		bio_clone_blkg_association(&w->leg, w->bio);
		w->leg.bi_ioprio = w->bio->bi_ioprio;
	}
	w->leg.bi_iter.bi_sector = w->sector;
	w->leg.bi_end_io = leg_end_io;
	for (i = 0; i < n; i++)
		__bio_add_page(&w->leg, virt_to_page(pieces[i].iov_base), pieces[i].iov_len,
			       offset_in_page(pieces[i].iov_base));
	w->leg_busy = true;
}

/* A detached node has no leg. A write there is what its peers have of it; a read has no data. */
static void leg_left_out(struct kfm_write *w, blk_opf_t op)
{
	w->leg_status = op_is_write(op) ? BLK_STS_OK : BLK_STS_IOERR;
	w->leg_busy = false;
	kfm_kick(w->m);
}

/* Write the data to the leg, or read it from the leg. Context: the worker. */
void kfm_write_leg(struct kfm_write *w, blk_opf_t op)
{
	if (w->m->detached) {
		leg_left_out(w, op);
		return;
	}
	kfm_leg_prepare(w, op);
	if (w->kind == KFM_ZEROES)
		queue_work(kfm_store_wq, &w->zero);
	else
		submit_bio(&w->leg);
}
