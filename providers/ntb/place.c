// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - places of a connection: memory of the peer that devices of this machine write to.
 * pages.c finds their pages. docs/wire-ntb-endpoints.md, "Places", gives the reasons.
 *
 *   nt_place_pages()	finds the pages of a grant of the peer, for a consumer
 *   nt_unpin()		waits until the bytes that its devices have written have arrived. If
 *			the connection has ended meanwhile, the peer still waits for the CLOSE after
 *			which nothing is written any more
 */
#include <linux/bvec.h>
#include "ntb.h"

/*
 * A connection whose CLOSE is due or was sent gets no pages: the CLOSE tells the peer whether
 * devices may still write.
 */
void *nt_place_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n,
		     u64 at, u64 len, struct kfi_dev_place *to)
{
	struct kfi_unit unit = { .place = place, .nplaces = n };
	struct nt_stream *s = nt_stream_of(link);
	struct nt_place cut[NT_PLACES];
	struct bio_vec bv[NT_PLACES];
	struct iov_iter iter;
	unsigned int count;
	int ret;

	if (s->ended || s->closing || s->state != NT_OPEN || nt_stream_over(s))
		return ERR_PTR(-EOPNOTSUPP);
	if (nt_places_cut(&unit, at, len, false, cut, &count) != len)
		return ERR_PTR(-EPROTO);
	ret = nt_pages(s->dev->link, cut, count, bv);
	if (ret)
		return ERR_PTR(ret == -EINVAL ? -EPROTO : -EOPNOTSUPP);
	iov_iter_bvec(&iter, ITER_DEST, bv, count, len);
	ret = kfi_place_fill(to, iter);
	if (ret)
		return ERR_PTR(ret);
	refcount_inc(&s->ref);
	atomic_inc(&s->pins);
	nt_pages_pin(s->dev->link);
	return s;
}

/*
 * If it is not known whether all bytes have arrived, the life has to end. Until it does, no CLOSE
 * may tell the peer that nothing is written any more, so the number of pins never becomes 0 again.
 * The caller may hold the lock of this or another connection, so a work item sends the CLOSE.
 */
int nt_unpin(void *pin, const struct kfi_dev_place *place)
{
	struct nt_stream *s = pin;
	int ret = nt_pages_fence(s->dev->link, s->life, place->bvec, place->fid.count);
	bool last = false;

	if (ret == -EIO)
		nt_link_fault(s->dev->link, s->life, "the peer's memory can't be read");
	nt_pages_unpin(s->dev->link);
	/* A full barrier; pairs with nt_stream_note_held() */
	if (ret != -EIO)
		last = atomic_dec_and_test(&s->pins);
	if (!last || !READ_ONCE(s->held) || !queue_work(nt_cm_wq, &s->held_work))
		nt_stream_put(s);
	return ret;
}

bool nt_stream_note_held(struct nt_stream *s)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->held, true);
	/* Either nt_unpin() sees @held, or this function sees that no pin is left. */
	smp_mb();
	if (!atomic_read(&s->pins))
		WRITE_ONCE(s->held, false);
	return s->held;
}

void nt_held_work(struct work_struct *work)
{
	struct nt_stream *s = container_of(work, struct nt_stream, held_work);

	spin_lock_bh(&s->lock);
	if (s->held)
		nt_stream_due(s, NT_DUE_CLOSE);
	spin_unlock_bh(&s->lock);
	nt_stream_put(s);
}
