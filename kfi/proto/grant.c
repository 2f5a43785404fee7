// SPDX-License-Identifier: GPL-2.0
/*
 * grant.c - lasting grants: memory of a region to which the peer writes repeatedly stays exposed,
 * so that writes to it need no RTW.
 *
 *	initiator			owner of the region
 *	  RTW			--->
 *				<---	GRANT, CTS	kfp_send_grant(), kfp_rx_grant()
 *	  bytes, WRITE with PLACED --->			kfp_permit_over(), kfp_rx_placed()
 *				<---	ACK
 *				<---	RECALL		kfp_grants_work(), kfp_rx_recall()
 *	  RECALLED		--->			kfp_send_recalls(), kfp_rx_recalled()
 *
 * The owner has a struct kfp_grant. It holds the region by a lease (kfi_mr_lease()):
 *
 *	GIVEN		from its GRANT on the peer may write at any moment
 *	RECALLED	the RECALL is due or sent, because the region has ended or the grant makes
 *			room for another one
 *	(freed)		RECALLED has arrived, or the link is closed
 *
 * The initiator has a struct kfp_permit. It is found by its key until the RECALL arrives, and is
 * then in a list until its RECALLED is encoded. The link has accepted the payload of a write before
 * the next frame is encoded, so the RECALLED follows the last byte that was written because of the
 * grant. A permit that is recalled while devices write its memory (device_place.c) is added to the
 * list when they have finished.
 *
 * All functions are called under the link's lock, or after the end of the link, except
 * kfp_grant_recall() and kfp_grants_kick(), which are called in any context and queue the work
 * item.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include "grant.h"

/**
 * struct kfp_grant - memory of this side to which the peer may write without an RTW; all (L),
 * except @ended and @awaited
 * @lease: of the region
 * @x: description of the memory for the link
 * @conn: the connection
 * @ended: the region ends, or changes. Written in any context
 * @awaited: the core has recalled the lease, so a call may wait for its end. Written in any context
 * @recalled: the RECALL is due or sent
 * @sent: the RECALL is sent
 * @timed: @awaited was seen: the peer is late peer_timeout_ms after @since, see kfp_recalls_late()
 * @slot: index in &kfp_grants.given
 * @id: id
 * @key: key of the region
 * @addr: address of the first byte, as the peer names it
 * @len: bytes
 * @used: jiffies: last write, last get with an RTW, or when @recalled was set
 * @since: jiffies: start of the wait for the answer, when the RECALL is due, and again when it is
 *	encoded
 * @paused: &kfp_rx.paused at that time
 */
struct kfp_grant {
	struct kfi_mr_lease	lease;
	struct kfi_exposed	x;
	struct kfp_conn		*conn;
	bool			ended;
	bool			awaited;
	bool			recalled;
	bool			sent;
	bool			timed;
	u8			slot;
	u64			id;
	u64			key;
	u64			addr;
	u64			len;
	unsigned long		used;
	unsigned long		since;
	unsigned long		paused;
};

/* kfp_conn_close() waits for the RCU section of the caller. */
void kfp_grants_kick(struct kfp_conn *conn)
{
	if (!test_bit(KFP_DEAD, &conn->flags))
		mod_delayed_work_on(kfp_conn_cpu(conn), kfp_wq, &conn->grants->work, 0);
}

/* ---- owner: give ---- */

static void kfp_grant_recall(struct kfi_mr_lease *lease)
{
	struct kfp_grant *g = container_of(lease, struct kfp_grant, lease);
	struct kfp_conn *conn = g->conn;

	WRITE_ONCE(g->awaited, true);
	WRITE_ONCE(g->ended, true);
	kfp_grants_kick(conn);
}

/* The peer has written to this region with places. Record it: its next RTW may get a grant. */
void kfp_grant_written(struct kfp_conn *conn, u64 key)
{
	conn->grants->written[hash_64(key, KFP_GRANT_BITS)] = key;
}

/*
 * Recall the grant that was not used for the longest time, unless it was used in the last second: a
 * peer that writes in turn to more memory than it can have grants for gets no more grants. If the
 * recall of a grant began less than a second ago, its end makes room. After that it may be waiting
 * for a device, so another one is recalled.
 */
static void kfp_grant_make_room(struct kfp_grants *grants)
{
	struct kfp_grant *g, *oldest = NULL;
	unsigned int i;

	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		g = grants->given[i];
		if (!g)
			continue;
		if (READ_ONCE(g->ended)) {
			if (!g->recalled || time_before(jiffies, g->used + HZ))
				return;		/* there will be room */
			continue;		/* it waits for a place */
		}
		if (!oldest || time_before(g->used, oldest->used))
			oldest = g;
	}
	if (!oldest || time_before(jiffies, oldest->used + HZ))
		return;
	WRITE_ONCE(oldest->ended, true);
	kfp_grants_kick(grants->conn);
}

/* Return a free slot, or -1. */
static int kfp_grant_slot(const struct kfp_grants *grants)
{
	unsigned int most = READ_ONCE(kfp_params(grants->conn)->grants), i;

	for (i = 0; i < min_t(unsigned int, most, KFW_GRANTS_MAX); i++)
		if (!grants->given[i])
			return i;
	return -1;
}

/*
 * Return the grant that contains the first @len bytes of the segment, or NULL. If the peer sends an
 * RTW although there is a grant, the GRANT has crossed the RTW, or the grant is being recalled.
 */
static struct kfp_grant *kfp_grant_over(const struct kfp_grants *grants, const struct kfw_rma *seg,
					u64 len)
{
	u64 key = le64_to_cpu(seg->key), addr = le64_to_cpu(seg->addr);
	struct kfp_grant *g;
	unsigned int i;

	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		g = grants->given[i];
		if (g && g->key == key && addr - g->addr <= g->len &&
		    len <= g->len - (addr - g->addr))
			return g;
	}
	return NULL;
}

/*
 * Expose memory of the region, which has a lease. Return: number of places; 0: the link does not
 * expose it; -ENOSPC: a bound refuses it.
 */
static int kfp_grant_expose(struct kfp_grant *g, u64 addr, u64 len, const struct iov_iter *iter,
			    struct kfi_link_place *place)
{
	struct kfp_conn *conn = g->conn;
	u64 most = (u64)READ_ONCE(kfp_params(conn)->grant_mib) << 20;
	int n;

	most -= min(most, conn->grants->bytes);
	if (len > min_t(u64, most, KFW_PAYLOAD_MAX) || !kfp_account_grant(conn, 1, len))
		return -ENOSPC;
	g->x.mr = g->lease.mr;
	g->x.lasting = true;
	g->x.addr = g->addr = addr;
	g->len = len;
	n = conn->ops->expose(&conn->link, &g->x, iter, len, place, KFW_PLACES_MAX);
	if (n <= 0)
		kfp_account_grant(conn, -1, len);
	return max(n, 0);
}

static void kfp_grant_free(struct kfp_grant *g)
{
	kfi_mr_unlease(&g->lease);
	kfree(g);
}

/*
 * May the peer have a grant of the region? The RTW of a write gets a grant only of the region that
 * was exposed for it, and not if that region is for one I/O: a send that invalidates it would find
 * it in use. A place always needs a grant.
 */
static bool kfp_grant_fits(const struct kfi_mr *mr, const struct kfp_places *write)
{
	return !write || (mr == write->piece[0].x.mr && !mr->per_io);
}

/* Return a grant without memory, which has a lease of the region; or NULL. */
static struct kfp_grant *kfp_grant_lease(struct kfp_conn *conn, struct kfi_mr *mr, u64 key)
{
	struct kfp_grant *g = kzalloc(sizeof(*g), GFP_ATOMIC | __GFP_NOWARN);

	if (!g)
		return NULL;
	g->conn = conn;
	g->key = key;
	g->used = jiffies;
	g->lease.recall = kfp_grant_recall;
	if (kfi_mr_lease(&conn->ep->ep, mr, key, &g->lease))
		return g;
	kfree(g);
	return NULL;
}

/*
 * Give a grant that includes the segment: of the whole region, or if that is not possible, of the
 * segment.
 * @write: exposed memory of the write of an RTW; NULL if the grant is for a place. Return: number
 * of places; 0 if there is no grant.
 */
static int kfp_grant_new(struct kfp_conn *conn, const struct kfw_rma *seg,
			 const struct kfp_places *write, int slot, struct kfi_link_place *place)
{
	u64 key = le64_to_cpu(seg->key), addr = le64_to_cpu(seg->addr);
	u64 len = le64_to_cpu(seg->len);
	struct kfp_grants *grants = conn->grants;
	struct iov_iter iter, whole;
	struct kfp_grant *g = NULL;
	struct kfi_mr *mr;
	int n;

	mr = kfi_mr_get(&conn->ep->ep, key, addr, len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return 0;
	if (kfp_grant_fits(mr, write))
		g = kfp_grant_lease(conn, mr, key);
	kfi_mr_put(mr);
	if (!g)
		return 0;
	whole = mr->iter;
	whole.data_source = ITER_DEST;
	n = kfp_grant_expose(g, mr->fid.addr, mr->len, &whole, place);
	if (n <= 0)
		n = kfp_grant_expose(g, addr, len, &iter, place);
	if (n <= 0) {
		kfp_grant_free(g);
		if (n == -ENOSPC)
			kfp_grant_make_room(grants);
		return 0;
	}
	g->id = ++grants->last;
	g->slot = slot;
	grants->given[slot] = g;
	grants->bytes += g->len;
	return n;
}

/* Give a grant that includes the segment, if that is possible, and send the GRANT. */
static void kfp_give_grant(struct kfp_conn *conn, u32 id, u32 gen, const struct kfw_rma *seg,
			   const struct kfp_places *write)
{
	struct kfw_frame f = { .type = KFW_GRANT, .id = id, .gen = gen, .rma_count = 1 };
	struct kfp_grants *grants = conn->grants;
	struct kfi_link_place place[KFW_PLACES_MAX];
	const struct kfp_grant *g;
	int slot, n;

	slot = kfp_grant_slot(grants);
	if (slot < 0) {
		kfp_grant_make_room(grants);
		return;
	}
	n = kfp_grant_new(conn, seg, write, slot, place);
	if (!n)
		return;
	g = grants->given[slot];
	f.flags = g->lease.mr->persist ? KFW_F_COMMIT : 0;
	f.grant = slot;
	f.grant_id = g->id;
	f.len = g->len;
	f.places = n;
	kfp_send_frame(conn, &f);
	kfp_send_segment(conn, g->addr, g->len, g->key);
	kfp_send_places(conn, place, n);
}

/*
 * The CTS for the write with this number is next: if the peer has written to this region before, give
 * it a lasting grant, and send the GRANT ahead of the CTS. @write: what was exposed for the write.
 */
void kfp_send_grant(struct kfp_conn *conn, u32 id, u32 gen, const struct kfw_rma *seg,
		    const struct kfp_places *write)
{
	struct kfp_grants *grants = conn->grants;
	u64 key = le64_to_cpu(seg->key);

	if (grants->written[hash_64(key, KFP_GRANT_BITS)] == key && !kfp_grant_over(grants, seg, 1))
		kfp_give_grant(conn, id, gen, seg, write);
}

bool kfp_send_place_grant(struct kfp_conn *conn, const struct kfp_answer *answer)
{
	const struct kfw_rma *seg = &answer->seg0;
	u64 len = le64_to_cpu(seg->len);
	struct kfp_grant *g;

	if (!conn->grants || conn->link.checks)
		return false;
	if (!kfp_grant_over(conn->grants, seg, len))
		kfp_give_grant(conn, answer->id, answer->gen, seg, NULL);
	g = kfp_grant_over(conn->grants, seg, len);
	if (g && !g->recalled)
		g->used = jiffies;
	return g;
}

/* ---- owner: use ---- */

/* Return the grant of this side that the current frame is about, or NULL. */
static struct kfp_grant *kfp_grant_named(const struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_grant *g = conn->grants ? conn->grants->given[f->grant] : NULL;

	return g && g->id == f->grant_id ? g : NULL;
}

/*
 * Handle a WRITE whose payload is in the memory of a grant. The region may have ended meanwhile,
 * and another one may have its key. Devices may write a place at any time between its get and its
 * put, so the contents of a place are valid only if the lease was not recalled until now. Return:
 * 0, perhaps with a status; -EPROTO.
 */
int kfp_rx_placed(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u64 addr = le64_to_cpu(rx->segs[0].addr), len = le64_to_cpu(rx->segs[0].len);
	struct kfp_grant *g = kfp_grant_named(conn);

	if (!g || le64_to_cpu(rx->segs[0].key) != g->key || len != rx->f.len ||
	    addr - g->addr > g->len || len > g->len - (addr - g->addr))
		return -EPROTO;
	g->used = jiffies;
	rx->key = g->key;
	rx->mr = kfi_mr_get(&conn->ep->ep, rx->key, addr, len, KFI_REMOTE_WRITE, &rx->iter);
	if (!IS_ERR(rx->mr) &&
	    (rx->mr != g->lease.mr || (rx->f.flags & KFW_F_DEVICE && READ_ONCE(g->awaited)))) {
		kfi_mr_put(rx->mr);
		rx->mr = ERR_PTR(-EACCES);
	}
	if (IS_ERR(rx->mr)) {
		rx->mr = NULL;
		rx->status = EREMOTEIO;
	}
	rx->landed = true;
	kfi_stat_add(&conn->ep->ep, placed, len);
	return 0;
}

/* ---- owner: recall ---- */

/* End a grant because of which no byte of the peer can land any more: its region may end. */
static void kfp_grant_end(struct kfp_conn *conn, struct kfp_grant *g)
{
	conn->grants->given[g->slot] = NULL;
	conn->grants->bytes -= g->len;
	conn->tx.urgent -= g->recalled && !g->sent;
	WARN_ON_ONCE(conn->ops->conceal(&conn->link, &g->x));
	kfp_account_grant(conn, -1, g->len);
	kfp_grant_free(g);
}

static int kfp_rx_recalled(struct kfp_conn *conn)
{
	struct kfp_grant *g = kfp_grant_named(conn);

	if (!g || !g->sent)
		return -EPROTO;
	kfp_grant_end(conn, g);
	return 0;
}

/*
 * Start the wait for the answer of the peer. The time for the bytes that the link has to deliver
 * before the RECALL is added, as in kfp_rdv_clock().
 */
static void kfp_grant_clock(struct kfp_conn *conn, struct kfp_grant *g)
{
	g->since = jiffies + kfp_delivery_time(conn);
	g->paused = conn->rx.paused;
}

/* RECALLED is due for a grant of the peer. */
static void kfp_permit_return(struct kfp_conn *conn, struct kfp_permit *p)
{
	hlist_add_head(&p->entry, &conn->grants->returned);
	conn->tx.urgent++;
}

/*
 * Begin the recalls that are due. No call waits for a grant that only makes room, so it has no
 * deadline.
 */
static void kfp_grants_check(struct kfp_conn *conn)
{
	struct kfp_permit *p;
	struct kfp_grant *g;
	unsigned int i;

	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		p = conn->grants->permits[i];
		if (p && p->recalled && hlist_unhashed(&p->entry) && !READ_ONCE(p->out))
			kfp_permit_return(conn, p);
		g = conn->grants->given[i];
		if (!g || !READ_ONCE(g->ended))
			continue;
		if (!g->recalled) {
			g->recalled = true;
			g->used = jiffies;
			conn->tx.urgent++;
		}
		if (READ_ONCE(g->awaited) && !g->timed) {
			g->timed = true;
			kfp_grant_clock(conn, g);
		}
	}
}

/*
 * Has the peer kept a grant for too long? RECALL and RECALLED go ahead of all other frames, and no
 * payload in front of them is long, so other bytes of the connection do not extend the time: a peer
 * that waits for a device may continue with other transfers for ever. While this side does not read,
 * the answer may have arrived, but the owner of the region must not wait for ever: such pauses count
 * afterwards, up to peer_timeout_ms.
 */
static unsigned int kfp_recalls_late(struct kfp_conn *conn, unsigned long unused)
{
	unsigned long timeout = kfp_peer_timeout(conn), pause;
	const struct kfp_grant *g;
	bool late = false;
	unsigned int i;

	for (i = 0; conn->grants && i < KFW_GRANTS_MAX; i++) {
		g = conn->grants->given[i];
		if (!g || !g->timed)
			continue;
		pause = min(conn->rx.paused - g->paused, timeout);
		late |= time_after(jiffies, g->since + timeout + pause);
	}
	return late ? KFP_LATE : 0;
}

/* Send the RECALLs and RECALLEDs that are due. */
static void kfp_grants_work(struct work_struct *work)
{
	struct kfp_grants *grants = container_of(to_delayed_work(work), struct kfp_grants, work);
	struct kfp_conn *conn = grants->conn;

	if (test_bit(KFP_DEAD, &conn->flags) || test_bit(KFP_FAILED, &conn->flags))
		return;
	local_bh_disable();
	if (conn->ops->lock(&conn->link)) {
		kfp_burst(conn, kfp_grants_check);
		conn->ops->unlock(&conn->link);
	} else {
		kfp_conn_queue(conn, &grants->work, 1);
	}
	local_bh_enable();
}

/* ---- initiator ---- */

/* Has the operation sent an RTW, whose answer has not arrived? A CTS ends @may_get_grant. */
static bool kfp_op_awaits_grant(const struct kfi_oper *op)
{
	u8 state = kfp_op(op)->state;

	return kfp_op(op)->may_get_grant &&
	       (state == KFP_OP_UNANSWERED || state == KFP_OP_REQUESTED);
}

/*
 * Handle a GRANT, the answer to the RTW of a write or of a place. The link checks the places when
 * they are used. Return: 0; -ENOMEM; -EPROTO if it answers no RTW or does not agree with it, if its
 * number is in use, or if its id is not new.
 */
static int kfp_rx_grant(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	const struct kfw_rma *seg = &conn->rx.segs[0];
	struct kfi_oper *op = kfp_answered_op(conn, f);
	struct kfp_grants *grants = conn->grants;
	struct kfp_permit *p;
	int ret;

	if (!grants || !op || !kfp_op_awaits_grant(op) || op->rma[0].key != le64_to_cpu(seg->key) ||
	    le64_to_cpu(seg->len) != f->len || grants->permits[f->grant] || f->grant_id <= grants->newest)
		return -EPROTO;
	p = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return -ENOMEM;
	ret = kfp_places_take(conn, f->len, &p->places);
	if (ret) {
		kfree(p);
		return ret;
	}
	p->commits = f->flags & KFW_F_COMMIT;
	p->slot = f->grant;
	p->id = f->grant_id;
	p->key = le64_to_cpu(seg->key);
	p->addr = le64_to_cpu(seg->addr);
	p->len = f->len;
	grants->newest = p->id;
	grants->permits[p->slot] = p;
	hlist_add_head(&p->entry, &grants->by_key[hash_64(p->key, KFP_GRANT_BITS)]);
	return 0;
}

struct kfp_permit *kfp_permit_over(const struct kfp_conn *conn, const struct kfi_rma_iov *seg)
{
	struct kfp_permit *p;

	hlist_for_each_entry(p, &conn->grants->by_key[hash_64(seg->key, KFP_GRANT_BITS)], entry)
		if (p->key == seg->key && seg->addr - p->addr <= p->len &&
		    seg->len <= p->len - (seg->addr - p->addr))
			return p;
	return NULL;
}

static void kfp_permit_free(struct kfp_conn *conn, struct kfp_permit *p)
{
	hlist_del_init(&p->entry);
	conn->grants->permits[p->slot] = NULL;
	kfp_conceal(conn, &p->places);
	kfree(p);
}

/*
 * The peer recalls a grant. Later writes use an RTW. The RECALLED follows the writes that the link
 * has accepted, and is not sent before the places of the grant have ended.
 */
static int kfp_rx_recall(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_permit *p = conn->grants ? conn->grants->permits[f->grant] : NULL;

	if (!p || p->id != f->grant_id || p->recalled)
		return -EPROTO;
	hlist_del_init(&p->entry);
	if (!kfp_permit_recall(p))
		kfp_permit_return(conn, p);
	return 0;
}

/* ---- both sides ---- */

/* Send a RECALL or RECALLED that is due, one of &kfp_tx.urgent. Neither needs credit. */
static void kfp_send_recalls(struct kfp_conn *conn)
{
	struct kfp_grants *grants = conn->grants;
	struct kfw_frame f = { .type = KFW_RECALLED };
	struct kfp_grant *g = NULL;
	struct kfp_permit *p;
	unsigned int i;

	conn->tx.urgent--;
	if (!hlist_empty(&grants->returned)) {
		p = hlist_entry(grants->returned.first, struct kfp_permit, entry);
		f.grant = p->slot;
		f.grant_id = p->id;
		kfp_permit_free(conn, p);
	} else {
		for (i = 0; i < KFW_GRANTS_MAX; i++) {
			g = grants->given[i];
			if (g && g->recalled && !g->sent)
				break;
		}
		if (WARN_ON_ONCE(i == KFW_GRANTS_MAX))
			return;
		g->sent = true;
		kfp_grant_clock(conn, g);
		f.type = KFW_RECALL;
		f.grant = g->slot;
		f.grant_id = g->id;
	}
	kfp_send_frame(conn, &f);
}

const struct kfp_frame_row kfp_grant_frame = {
	.receive = kfp_rx_grant,
};

const struct kfp_frame_row kfp_recall_frame = {
	.receive = kfp_rx_recall,
};

const struct kfp_frame_row kfp_recalled_frame = {
	.receive = kfp_rx_recalled,
};

/* ---- the life of a connection ---- */

/* Process context, may sleep. */
static int kfp_grants_alloc(struct kfp_conn *conn)
{
	struct kfp_grants *grants;

	if (!conn->ops->expose)
		return 0;
	grants = kzalloc(sizeof(*grants), GFP_NOIO);
	if (!grants)
		return -ENOMEM;
	grants->conn = conn;
	INIT_DELAYED_WORK(&grants->work, kfp_grants_work);
	INIT_LIST_HEAD(&grants->out);
	conn->grants = grants;
	return 0;
}

/* The connection is dead: the work item does nothing any more. */
static void kfp_grants_stop(struct kfp_conn *conn)
{
	if (conn->grants)
		cancel_delayed_work_sync(&conn->grants->work);
}

/* The link is closed: no byte of the peer lands any more. */
static void kfp_grants_end(struct kfp_conn *conn, int err)
{
	struct kfp_grants *grants = conn->grants;
	unsigned int i;

	if (!grants)
		return;
	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		if (grants->given[i])
			kfp_grant_end(conn, grants->given[i]);
		if (grants->permits[i])
			kfp_permit_free(conn, grants->permits[i]);
	}
}

static void kfp_grants_free(struct kfp_conn *conn)
{
	kfree(conn->grants);
	conn->grants = NULL;
}

const struct kfp_protocol kfp_grant_protocol = {
	.alloc = kfp_grants_alloc,
	.urgent = kfp_send_recalls,
	.watch = kfp_recalls_late,
	.stop = kfp_grants_stop,
	.end = kfp_grants_end,
	.free = kfp_grants_free,
};
