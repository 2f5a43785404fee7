// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - places of a connection: memory of the peer that devices of this machine write to.
 * pages.c finds their pages. docs/wire-ntb-endpoints.md gives the reasons.
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
	struct nt_stream *ns = nt_stream_of(link);
	struct kfi_mux_stream *s = &ns->s;
	struct nt_place cut[NT_PLACES];
	struct bio_vec bv[NT_PLACES];
	struct iov_iter iter;
	unsigned int count;
	int ret;

	if (s->ended || s->closing || s->state != KFI_MUX_OPEN || kfi_mux_over(s))
		return ERR_PTR(-EOPNOTSUPP);
	if (nt_places_cut(&unit, at, len, false, cut, &count) != len)
		return ERR_PTR(-EPROTO);
	ret = nt_pages(nt_stream_link(ns), cut, count, bv);
	if (ret)
		return ERR_PTR(ret == -EINVAL ? -EPROTO : -EOPNOTSUPP);
	iov_iter_bvec(&iter, ITER_DEST, bv, count, len);
	ret = kfi_place_fill(to, iter);
	if (ret)
		return ERR_PTR(ret);
	refcount_inc(&s->ref);
	atomic_inc(&ns->pins);
	nt_pages_pin(nt_stream_link(ns));
	return ns;
}

/*
 * If it is not known whether all bytes have arrived, the life has to end. Until it does, no CLOSE
 * may tell the peer that nothing is written any more, so the number of pins never becomes 0 again.
 * The caller may hold the lock of this or another connection, so a work item sends the CLOSE.
 */
int nt_unpin(void *pin, const struct kfi_dev_place *place)
{
	struct nt_stream *ns = pin;
	struct nt_link *link = nt_stream_link(ns);
	int ret = nt_pages_fence(link, ns->s.life, place->bvec, place->fid.count);
	bool last = false;

	if (ret == -EIO)
		nt_link_fault(link, ns->s.life, "the peer's memory can't be read");
	nt_pages_unpin(link);
	/* A full barrier; pairs with nt_held() */
	if (ret != -EIO)
		last = atomic_dec_and_test(&ns->pins);
	if (!last || !READ_ONCE(ns->held) || !queue_work(nt_prov.wq, &ns->held_work))
		kfi_mux_stream_put(&ns->s);
	return ret;
}

bool nt_held(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);

	lockdep_assert_held(&s->lock);
	WRITE_ONCE(ns->held, true);
	/* Either nt_unpin() sees @held, or this function sees that no pin is left. */
	smp_mb();
	if (!atomic_read(&ns->pins))
		WRITE_ONCE(ns->held, false);
	return ns->held;
}

void nt_held_work(struct work_struct *work)
{
	struct nt_stream *ns = container_of(work, struct nt_stream, held_work);

	spin_lock_bh(&ns->s.lock);
	if (ns->held)
		kfi_mux_close_again(&ns->s);
	spin_unlock_bh(&ns->s.lock);
	kfi_mux_stream_put(&ns->s);
}
