// SPDX-License-Identifier: GPL-2.0
/*
 * expose.c - memory of ours to which the peer writes directly. docs/wire-ntb-endpoints.md
 * gives the reasons.
 *
 *   nt_expose()		lets the peer write to memory
 *   nt_conceal()		ends that when the frame that follows the payload has come
 *   nt_wait_access_end()	ends that for a connection that is closed: it waits until the peer
 *				has sent its CLOSE, or the life of the link has ended
 */
#include <linux/slab.h>
#include "ntb.h"

/* ---- memory for one transfer. The callers hold the lock of the connection ---- */

/* Find the place of a region that is mapped. Return: 1; 0: there is none. */
static int nt_mr_place(const struct nt_stream *ns, const struct kfi_exposed *x, u64 len,
		       struct nt_place *place)
{
	const struct nt_mr *nmr = x->mr ? to_nt_mr(x->mr) : NULL;
	u64 at = nmr ? READ_ONCE(nmr->at) : 0;

	if (!at || !nt_link_flat_in_use(nt_stream_link(ns)) || len > U32_MAX)
		return 0;
	*place = (struct nt_place) { .at = at + (x->addr - x->mr->fid.addr), .len = len };
	return 1;
}

static struct nt_exposure *nt_exposure_find(struct nt_stream *ns, u32 key)
{
	struct nt_exposure *e;

	list_for_each_entry(e, &ns->exposures, entry)
		if (e->key == key)
			return e;
	return NULL;
}

/*
 * With a CRC, each record that announces payload has the key of a struct nt_exposure. After the keys
 * have wrapped around, memory of a lasting grant may still have the next key.
 */
static u32 nt_exposure_key(struct nt_stream *ns)
{
	do {
		ns->key += 2;	/* the bit of NTW_K_WINDOW is 0 */
		ns->wrapped |= !ns->key;
	} while (ns->wrapped && nt_exposure_find(ns, ns->key));
	return ns->key;
}

static struct nt_exposure *nt_exposure_new(struct nt_stream *ns, const struct iov_iter *iter,
					   u64 len, bool lasting)
{
	struct nt_exposure *e = list_first_entry_or_null(&ns->unexposed, struct nt_exposure, entry);

	if (e)
		list_del(&e->entry);
	else
		e = kmalloc(sizeof(*e), GFP_ATOMIC | __GFP_NOWARN);
	if (!e)
		return NULL;
	*e = (struct nt_exposure) {
		.key = nt_exposure_key(ns), .iter = *iter, .len = len, .lasting = lasting,
	};
	list_add_tail(&e->entry, &ns->exposures);
	return e;
}

/* The memory is the owner's again. */
static void nt_exposure_end(struct nt_stream *ns, struct nt_exposure *e)
{
	if (e->at)
		nt_window_unmap(nt_stream_link(ns), e->at, e->len);
	e->at = 0;
}

/* Map memory that is in no window, for this transfer. Return: 1; 0: it can't be mapped. */
static int nt_exposure_map(struct nt_stream *ns, struct nt_exposure *e, struct nt_place *place)
{
	if (nt_window_map_once(nt_stream_link(ns), &e->iter, e->len, &e->at))
		return 0;
	*place = (struct nt_place) { .at = e->at, .len = e->len };
	return 1;
}

int nt_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_link_place *place, unsigned int max)
{
	struct nt_stream *ns = nt_stream_of(link);
	struct nt_exposure *e = NULL;
	struct nt_place at[NT_PLACES];
	int i, n;

	if (ns->s.ended || ns->s.state != KFI_MUX_OPEN || !len || !max)
		return -EOPNOTSUPP;
	n = nt_mr_place(ns, x, len, at) ?:
	    nt_window_places(nt_stream_link(ns), iter, len, at, min(max, NT_PLACES));
	if (!n && !nt_window_maps(nt_stream_link(ns)))
		return -ENOSPC;
	if (!n || nt_stream_link(ns)->checks) {
		e = nt_exposure_new(ns, iter, len, x->lasting);
		if (!e)
			return -ENOMEM;
	}
	n = n ?: nt_exposure_map(ns, e, at);
	if (!n) {
		list_move(&e->entry, &ns->unexposed);
		return -ENOSPC;
	}
	for (i = 0; i < n; i++) {
		place[i] = (struct kfi_link_place) {
			.at = at[i].at & ~NTW_FLAT, .len = at[i].len,
			.key = (e ? e->key : 0) | (at[i].at & NTW_FLAT ? NTW_K_WINDOW : 0),
		};
	}
	x->priv[0] = e;
	ns->s.exposed++;
	return n;
}

/* Called when the frame that follows the payload was handled, or when the connection has ended. */
int nt_conceal(struct kfi_link *link, struct kfi_exposed *x)
{
	struct nt_stream *ns = nt_stream_of(link);
	struct nt_exposure *e = x->priv[0];

	if (!ns)
		return 0;	/* nt_closed() has freed the exposures */
	ns->s.exposed--;
	if (e) {
		nt_exposure_end(ns, e);
		list_move(&e->entry, &ns->unexposed);
	}
	return 0;
}

void nt_exposures_free(struct nt_stream *ns)
{
	struct nt_exposure *e, *next;

	list_splice(&ns->unexposed, &ns->exposures);
	list_for_each_entry_safe(e, next, &ns->exposures, entry) {
		nt_exposure_end(ns, e);
		kfree(e);
	}
}

/* ---- CRC of what was written ---- */

int nt_placed(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece)
{
	struct nt_stream *ns = to_nt_stream(s);
	struct nt_link *link = nt_stream_link(ns);
	struct nt_exposure *e;

	lockdep_assert_held(&s->lock);
	if (!link->checks)
		return 0;
	e = nt_exposure_find(ns, piece->key);
	if (!e)
		return -EPROTO;
	if (e->lasting && e->behind != s->got) {
		e->behind = s->got;	/* the frame that follows the last write has come */
		e->checked = 0;
	}
	if (piece->len > NT_CHECKED || (u64)piece->at + piece->len > e->len ||
	    piece->len > e->len - e->checked)
		return -EPROTO;
	e->checked += piece->len;
	if (nt_iter_crc(~0U, e->iter, piece->at, piece->len) == piece->crc)
		return 0;
	atomic64_inc(&link->torn);
	WRITE_ONCE(link->damaged, true);
	nt_link_fault(link, s->life, "placed payload is not what was written");
	return -ECONNRESET;
}

/* ---- end of a connection ---- */

static bool nt_access_ended(const struct nt_stream *ns)
{
	return READ_ONCE(ns->s.returned) || kfi_mux_over(&ns->s);
}

/*
 * Wait until the peer can't write to our memory any more. The CLOSE of the peer arrives after all
 * that the peer has written. If the peer does not send it, this life of the link ends.
 */
void nt_wait_access_end(struct nt_stream *ns)
{
	unsigned long wait = msecs_to_jiffies(NT_RETURN_MS);
	struct nt_link *link = nt_stream_link(ns);
	struct kfi_mux *mux = ns->s.mux;

	if (!ns->s.exposed || nt_access_ended(ns))
		return;
	if (READ_ONCE(mux->going))	/* the bridge is being removed: do not wait for the peer */
		nt_link_fault(link, ns->s.life, "it is taken down");
	else if (!wait_event_timeout(mux->back, nt_access_ended(ns), wait))
		nt_link_fault(link, ns->s.life, "a peer does not give back memory");
	wait_event(mux->back, nt_access_ended(ns));
}

/* ---- regions that are mapped (map.c) ---- */

/*
 * Map the memory of a region, until the region ends. This is an optimization: without it each
 * transfer maps its memory (nt_exposure_map()), or is copied.
 */
int nt_mr_reg(struct kfi_mr *mr)
{
	struct nt_mr *nmr = to_nt_mr(mr);
	struct kfi_mux *mux;

	if (mr->per_io || !(mr->access & KFI_REMOTE_WRITE) || !nt_flat_maps())
		return 0;
	mux = kfi_mux_domain_get(mr->domain);
	if (!mux)
		return -ENODEV;
	nmr->link = to_nt_link(mux);
	if (!nt_window_maps(nmr->link) ||
	    nt_window_map(nmr->link, &mr->iter, mr->len, &nmr->at))
		kfi_mux_put(mux);
	return 0;
}

/*
 * Called when no transfer uses the region any more, or when the bridge is being removed, and the
 * memory that was exposed was recalled.
 */
void nt_mr_dereg(struct kfi_mr *mr)
{
	struct nt_mr *nmr = to_nt_mr(mr);

	if (!nmr->at)
		return;
	nt_window_unmap(nmr->link, nmr->at, mr->len);
	WRITE_ONCE(nmr->at, 0);
	kfi_mux_put(&nmr->link->mux);
}
