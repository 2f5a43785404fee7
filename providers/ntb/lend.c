// SPDX-License-Identifier: GPL-2.0
/*
 * lend.c - memory of ours that the peer writes to by itself: for one operation at a time, and how we come to know that this is over.
 * docs/wire-ntb-endpoints.md, "Payload without copies", has the reasons.
 *
 *   nt_places()	is this memory in the window? Where?
 *   nt_loan_begin()	it is being named to the peer: under the lock, and not once the connection is going
 *   nt_loan_end()	the last record about it has been handled
 *   nt_lend_region()	the same for all segments of a write; nt_region_back()
 *   nt_lend_recall()	the connection ends: all that is lent comes back, by the peer's last word or by the end of the link's life
 *   nt_watch_work()	somebody waits for the end of a region, and the peer does not come to it
 */
#include "ntb.h"

#define NT_RETURN_MS	5000	/* for the peer's last word */

/* ---- where memory is ---- */

unsigned int nt_places(const struct nt_conn *conn, const struct iov_iter *iter, size_t len, struct nt_place *place, unsigned int max)
{
	return conn->direct && len ? nt_window_places(conn->dev->link, iter, len, place, max) : 0;
}

/* Copied before they are looked at; nt_post() sees to it that we can write there. Return: they have @len bytes. */
bool nt_places_take(const void *from, unsigned int n, u64 len, struct nt_place *place)
{
	struct ntw_spot spot;
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < n; i++) {
		memcpy(&spot, from + i * sizeof(spot), sizeof(spot));
		barrier_data(&spot);
		if (ntw_decode_spot(&spot, &place[i].at, &place[i].len))
			return false;
		sum += place[i].len;
	}
	return !n || sum == len;
}

void nt_places_say(const struct nt_place *place, unsigned int n, struct ntw_spot *spots)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ntw_encode_spot(place[i].at, place[i].len, &spots[i]);
}

/* Of what was lent to us, @len bytes from @at on. Return: entries of @to, which has NT_PLACES. */
unsigned int nt_places_cut(const struct nt_place *from, unsigned int n, u64 at, size_t len, struct nt_place *to)
{
	unsigned int i, count = 0;

	for (i = 0; i < n && len; i++) {
		u32 skip = min_t(u64, at, from[i].len), part = min_t(size_t, len, from[i].len - skip);

		at -= skip;
		len -= part;
		if (part)
			to[count++] = (struct nt_place) { .at = from[i].at + skip, .len = part };
	}
	return count;
}

/* ---- counts ---- */

void nt_count_in(struct nt_conn *conn, size_t bytes, bool placed)
{
	rcu_read_lock();	/* nt_way_home() */
	nt_payload_in(READ_ONCE(conn->dev)->link, bytes, placed);
	rcu_read_unlock();
	if (placed)
		kfi_stat_add(&conn->nep->ep, placed, bytes);
	else
		kfi_stat_add(&conn->nep->ep, bounced, bytes);
}

/* What the peer has lent for a request that is kept in @slot; @payload: behind its spots. Return: 0, -EPROTO */
int nt_slot_spots(struct nt_slot *slot, const void *payload)
{
	const struct ntw_frame *f = &slot->f;

	if (f->nspots && !slot->conn->direct)
		return -EPROTO;
	slot->nplaces = f->nspots;
	return nt_places_take(payload - f->nspots * sizeof(struct ntw_spot), f->nspots, f->len, slot->place) ? 0 : -EPROTO;
}

/* ---- loans. The lock is held ---- */

/* Who ends his region waits for this one. */
static void nt_watch(struct nt_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->nwatched++ && !delayed_work_pending(&conn->watch))
		queue_delayed_work(nt_cm_wq, &conn->watch, msecs_to_jiffies(nt_connect_timeout_ms));
}

static void nt_unwatch(struct nt_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->nwatched--;
}

bool nt_loan_begin(struct nt_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (test_bit(NT_DEAD, &conn->flags))
		return false;
	conn->nloans++;
	return true;
}

void nt_loan_end(struct nt_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->nloans--;
}

/* Our own engine reads a region on the peer's behalf: it is held as long. */
bool nt_source_hold(struct nt_conn *conn, struct kfi_mr *mr, u64 key)
{
	if (!kfi_mr_hold(mr, key))
		return false;
	nt_watch(conn);
	return true;
}

void nt_source_release(struct nt_conn *conn, struct kfi_mr *mr)
{
	nt_unwatch(conn);
	kfi_mr_unhold(mr);
}

/* ---- regions that are written to. The link's tasklet, or the end of the connection ---- */

/* One that is for a single use is lent to one at a time. */
static bool nt_mr_lend(struct nt_slot *slot, struct kfi_mr *mr, u64 key)
{
	bool once = mr->flags & KFI_MR_SINGLE_USE;

	if (once && cmpxchg(&to_nt_mr(mr)->slot, NULL, slot))
		return false;
	if (kfi_mr_hold(mr, key))
		return true;
	if (once)
		WRITE_ONCE(to_nt_mr(mr)->slot, NULL);
	return false;
}

static void nt_mr_back(struct kfi_mr *mr)
{
	if (mr->flags & KFI_MR_SINGLE_USE)
		WRITE_ONCE(to_nt_mr(mr)->slot, NULL);
	kfi_mr_unhold(mr);
}

/* A segment of a region that is mapped has one place, if the peer is at the other end of that bridge. What it says is true once the region is held. */
static unsigned int nt_mr_place(const struct nt_conn *conn, struct kfi_mr *mr, const struct kfi_rma_iov *seg, struct nt_place *place)
{
	u64 at = READ_ONCE(to_nt_mr(mr)->at);

	if (!at || to_nt_mr(mr)->dev != conn->dev || !conn->direct || !nt_link_lends(conn->dev->link))
		return 0;
	*place = (struct nt_place) { .at = at + (seg->addr - mr->offset), .len = seg->len };
	return 1;
}

static unsigned int nt_mr_places(struct nt_slot *slot, struct kfi_mr *mr, const struct kfi_rma_iov *seg, const struct iov_iter *iter)
{
	struct nt_place *place = slot->place + slot->nplaces;
	unsigned int n, max = NT_PLACES - slot->nplaces;

	if (!max)
		return 0;
	n = nt_mr_place(slot->conn, mr, seg, place);
	return n ?: nt_places(slot->conn, iter, seg->len, place, max);
}

/* ---- a CRC of what is placed ---- */

u32 nt_stretch(const struct nt_conn *conn)
{
	return nt_link_checks(conn->dev->link) ? NT_CHECKED : NT_STRETCH;
}

u32 nt_crc_out(const struct nt_conn *conn, const struct nt_send *s)
{
	return nt_link_checks(conn->dev->link) ? nt_iter_crc(~0U, s->rec.iter, 0, s->rec.len) : 0;
}

static int nt_crc_verdict(struct nt_conn *conn, const struct ntw_frame *f, u32 crc)
{
	if (crc == f->crc)
		return 0;
	nt_link_torn(conn->dev->link, conn->life);
	return -ECONNRESET;
}

int nt_placed_check(struct nt_conn *conn, const struct ntw_frame *f, const struct iov_iter *it,
		    u64 at)
{
	if (!nt_link_checks(conn->dev->link))
		return 0;
	if (f->len > NT_CHECKED)
		return -EPROTO;
	return nt_crc_verdict(conn, f, nt_iter_crc(~0U, *it, at, f->len));
}

/* Return: false: the region has ended, and so has the write: nt_region_landed() */
static bool nt_seg_crc(struct nt_slot *slot, const struct kfi_rma_iov *seg, u64 skip, u64 len,
		       u32 *crc)
{
	struct kfi_ep *ep = &slot->conn->nep->ep;
	struct iov_iter iter;
	struct kfi_mr *mr;
	bool live;

	mr = kfi_mr_get(ep, seg->key, seg->addr, seg->len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return false;
	rcu_read_lock();
	live = kfi_mr_live(mr, seg->key);
	if (live)
		*crc = nt_iter_crc(*crc, iter, skip, len);
	rcu_read_unlock();
	kfi_mr_put(mr);
	return live;
}

int nt_region_check(struct nt_slot *slot, const struct ntw_frame *f)
{
	u64 at = slot->came, left = f->len, n;
	const struct kfi_rma_iov *seg;
	u32 crc = ~0U;

	if (!nt_link_checks(slot->conn->dev->link))
		return 0;
	if (left > NT_CHECKED)
		return -EPROTO;
	for (seg = slot->seg; left && seg < slot->seg + slot->f.nsegs; seg++) {
		if (at >= seg->len) {
			at -= seg->len;
			continue;
		}
		n = min(left, seg->len - at);
		if (!nt_seg_crc(slot, seg, at, n, &crc))
			return 0;
		at = 0;
		left -= n;
	}
	return nt_crc_verdict(slot->conn, f, crc);
}

/* ---- regions that are lent, as a whole ---- */

static void nt_regions_put(struct nt_slot *slot)
{
	while (slot->nheld)
		nt_mr_back(slot->held[--slot->nheld]);
}

static bool nt_lend_seg(struct nt_slot *slot, const struct kfi_rma_iov *seg)
{
	struct nt_conn *conn = slot->conn;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int n;
	bool ok;

	if (!seg->len)
		return true;
	mr = kfi_mr_get(&conn->nep->ep, seg->key, seg->addr, seg->len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return false;
	rcu_read_lock();	/* its vector is there */
	n = kfi_mr_live(mr, seg->key) ? nt_mr_places(slot, mr, seg, &iter) : 0;
	rcu_read_unlock();
	ok = n && nt_mr_lend(slot, mr, seg->key);
	if (ok) {
		slot->held[slot->nheld++] = mr;
		slot->nplaces += n;
	}
	kfi_mr_put(mr);
	return ok;
}

/* All of it or nothing. False: it has to go through the ring. */
bool nt_lend_region(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < slot->f.nsegs && ok; i++)
		ok = nt_lend_seg(slot, &slot->seg[i]);
	if (ok) {
		spin_lock_bh(&conn->lock);
		ok = nt_loan_begin(conn);
		slot->lent = ok;
		slot->over = false;
		if (ok)
			nt_watch(conn);
		spin_unlock_bh(&conn->lock);
	}
	if (ok)
		return true;
	nt_regions_put(slot);
	slot->nplaces = 0;
	return false;
}

/*
 * All has landed. @slot->mr becomes one of the regions, to be told of it: what waits for the consumer then waits with a reference, and
 * the owners need not.
 */
void nt_region_landed(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;
	unsigned int i, n = 0;

	for (i = 0; i < slot->f.nsegs; i++) {
		if (!slot->seg[i].len)
			continue;
		slot->key = slot->seg[i].key;
		if (!kfi_mr_live(slot->held[n], slot->key))
			slot->status = EREMOTEIO;
		kfi_mr_spend(slot->held[n++], slot->key);
	}
	slot->mr = slot->held[n - 1];
	kref_get(&slot->mr->ref);
	nt_region_back(slot);
	spin_lock_bh(&conn->lock);
	nt_loan_end(conn);
	spin_unlock_bh(&conn->lock);
}

/* Nothing of the peer's lands in them any more. */
void nt_region_back(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	if (!slot->nheld)
		return;
	spin_lock_bh(&conn->lock);
	slot->lent = false;
	nt_regions_put(slot);
	nt_unwatch(conn);
	spin_unlock_bh(&conn->lock);
	slot->nplaces = 0;
}

static bool nt_slot_over(const struct nt_slot *slot)
{
	unsigned int i, n = 0;

	for (i = 0; i < slot->f.nsegs; i++)
		if (slot->seg[i].len && !kfi_mr_live(slot->held[n++], slot->seg[i].key))
			return true;
	return false;
}

/* Has the region's owner ended it, and had already at the last look? */
static bool nt_late(bool over, bool *was_over)
{
	bool late = over && *was_over;

	*was_over = over;
	return late;
}

/* What else the peer moves meanwhile is no excuse: it could go on with that for ever. */
static bool nt_owner_waits(struct nt_conn *conn)
{
	struct nt_slot *slot;
	struct nt_send *s;
	bool late = false;
	u32 i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < conn->nslots; i++) {
		slot = nt_slot_at(conn, i);
		if (slot->lent)
			late |= nt_late(nt_slot_over(slot), &slot->over);
	}
	list_for_each_entry(s, &conn->flying, entry)
		if (s->mr)
			late |= nt_late(!kfi_mr_live(s->mr, s->key), &s->over);
	return late;
}

/* A peer that lives, but does not do what it has asked for. */
static void nt_watch_work(struct work_struct *work)
{
	struct nt_conn *conn = container_of(to_delayed_work(work), struct nt_conn, watch);
	bool late, more;

	spin_lock_bh(&conn->lock);
	late = conn->nwatched && nt_owner_waits(conn);
	more = conn->nwatched && !test_bit(NT_FAILED, &conn->flags);
	spin_unlock_bh(&conn->lock);
	if (late)
		nt_conn_fail(conn, -ETIMEDOUT);
	else if (more)
		queue_delayed_work(nt_cm_wq, &conn->watch, msecs_to_jiffies(nt_connect_timeout_ms));
}

/* ---- regions that are mapped (map.c): those of memory that stays where it is until they end ---- */

/* The peer reaches memory without it, too: what can't be mapped is copied. */
int nt_mr_reg(struct kfi_mr *mr)
{
	struct nt_mr *nmr = to_nt_mr(mr);
	struct nt_dev *dev;

	if (mr->per_io || !(mr->access & KFI_REMOTE_WRITE) || !nt_flat_maps())
		return 0;
	dev = nt_domain_dev(mr->domain);
	if (!dev)
		return -ENODEV;
	if (!nt_window_maps(dev->link) || nt_window_map(dev->link, &mr->iter, mr->len, &nmr->at)) {
		nt_dev_put(dev);
		return 0;
	}
	nmr->dev = dev;
	mr->fixed = true;
	return 0;
}

/* Nobody holds it any more, or the bridge goes, and what is lent has been called back. */
void nt_mr_dereg(struct kfi_mr *mr)
{
	struct nt_mr *nmr = to_nt_mr(mr);

	if (!nmr->at)
		return;
	nt_window_unmap(nmr->dev->link, nmr->at, mr->len);
	WRITE_ONCE(nmr->at, 0);
	nt_dev_put(nmr->dev);
}

/* ---- the end of a connection ---- */

static bool nt_lend_over(const struct nt_conn *conn)
{
	return test_bit(NT_RETURNED, &conn->flags) || conn->life != nt_link_life(conn->dev->link);
}

/* NT_DEAD is set: nothing more is lent. On return nothing of the peer's lands in memory that we have lent, whatever it does. */
void nt_lend_recall(struct nt_conn *conn)
{
	struct nt_dev *dev = conn->dev;
	bool lent;

	spin_lock_bh(&conn->lock);
	lent = conn->nloans;
	spin_unlock_bh(&conn->lock);
	cancel_delayed_work_sync(&conn->watch);
	if (!lent || nt_lend_over(conn))
		return;
	synchronize_rcu_expedited();	/* who posts without having seen NT_DEAD has: this is our last word */
	nt_conn_close(conn, true);
	if (READ_ONCE(dev->going))
		nt_link_fault(dev->link, conn->life, "it is taken down");	/* sooner than a peer may answer */
	else if (!wait_event_timeout(dev->back, nt_lend_over(conn), msecs_to_jiffies(NT_RETURN_MS)))
		nt_link_fault(dev->link, conn->life, "a peer does not give back what was lent to it");
	wait_event(dev->back, nt_lend_over(conn));
}

/*
 * The peer's last word: behind it nothing lands, and nobody hears of us any more. If it has lent us something it wants to hear ours, which is behind all
 * that we have written there. Softirq.
 */
void nt_lend_closed(struct nt_conn *conn, u16 bits)
{
	if (bits & NTW_F_ACK) {
		spin_lock_bh(&conn->lock);
		set_bit(NT_MUTE, &conn->flags);
		spin_unlock_bh(&conn->lock);
		nt_conn_close(conn, false);
	}
	set_bit(NT_CLOSED, &conn->flags);
	set_bit(NT_RETURNED, &conn->flags);
	wake_up_all(&conn->dev->back);
}

void nt_lend_init(struct nt_conn *conn)
{
	INIT_DELAYED_WORK(&conn->watch, nt_watch_work);
}
