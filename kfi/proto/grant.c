// SPDX-License-Identifier: GPL-2.0
/*
 * grant.c - grants: memory of a region to which the peer writes on its own. Its payload is written
 * there ahead of the WRITE that announces it.
 *
 *	initiator			owner of the region
 *	  RTW			--->			kfp_send_rtw(), kfp_rx_rtw()
 *				<---	GRANT		kfp_send_grant(), kfp_rx_grant()
 *	  bytes, WRITE with PLACED --->			kfp_send_placed(), kfp_rx_placed()
 *				<---	ACK
 *				<---	RECALL		kfp_grants_work(), kfp_rx_recall()
 *	  RECALLED		--->			kfp_send_recalls(), kfp_rx_recalled()
 *
 * A grant is for one write, which ends it, or lasting: then later writes need no RTW. The owner of
 * the memory has a struct kfp_grant. It holds the region by a lease (kfi_mr_lease()):
 *
 *	GIVEN		from its GRANT on the peer may write at any moment
 *	RECALLED	the RECALL is due or sent, because the region has ended, the peer may not
 *			write any more, or a lasting grant makes room for another one
 *	(ended)		its one WRITE or RECALLED has arrived, or the link is closed
 *
 * The initiator has a struct kfp_permit. A lasting one is found by its key until the RECALL
 * arrives; one for a single write belongs to that. RECALLED is sent when neither a device
 * (device_place.c) nor a payload of which a part was sent uses the permit any more, or if the one
 * write does not use it. The link has accepted the payload of a write before the next frame is
 * encoded, so RECALLED follows the last byte that was written because of the grant. RECALL and the
 * end of a grant for one write may cross: the peer then ignores what it receives for a grant that
 * has ended.
 *
 * All functions are called under the link's lock, or after the end of the link, except
 * kfp_grant_recall() and kfp_grants_kick(), which are called in any context and queue the work
 * item.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include "grant.h"

/**
 * struct kfp_grant - memory of a region of this side that the peer may write; all (L), except
 *	@ended and @awaited
 * @lease: of the region
 * @exposed: the memory, until it is concealed: for some time the link may go on after @given
 * @conn: the connection
 * @given: the peer may write. The members below are those of this grant
 * @once: for one write
 * @ended: the region ends or changes, or the peer may not write any more. Written in any context
 * @awaited: the core has recalled the lease: a call may wait for its end, or the memory may not be
 *	the peer's any more. Written in any context
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
	struct kfp_exposed	exposed;
	struct kfp_conn		*conn;
	bool			given;
	bool			once;
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

/*
 * Recall the lasting grant that was not used for the longest time, unless it was used in the last
 * second: a peer that writes in turn to more memory than it can have grants for gets no more of
 * them. If the recall of a grant began less than a second ago, its end makes room. After that it
 * may be waiting for a device, so another one is recalled.
 */
static void kfp_grant_make_room(struct kfp_grants *grants)
{
	struct kfp_grant *g, *oldest = NULL;
	unsigned int i;

	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		g = grants->given[i];
		if (!g || !g->given || g->once)
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

/* Return the object of a slot that is free, or NULL. */
static struct kfp_grant *kfp_grant_free(struct kfp_grants *grants)
{
	struct kfp_grant *g;
	unsigned int i;

	for (i = 0; i < KFW_GRANTS_MAX; i++) {
		g = grants->given[i];
		if (g && (g->given || g->exposed.concealed))
			continue;
		if (!g) {
			g = kzalloc(sizeof(*g), GFP_ATOMIC | __GFP_NOWARN);
			grants->given[i] = g;
		}
		if (g)
			*g = (struct kfp_grant) {
				.lease.recall = kfp_grant_recall, .conn = grants->conn, .slot = i,
				.used = jiffies,
			};
		return g;
	}
	return NULL;
}

/* Return the lasting grant that contains the first @len bytes of the segment, or NULL. */
static struct kfp_grant *kfp_grant_over(const struct kfp_grants *grants, const struct kfw_rma *seg,
					u64 len)
{
	u64 key = le64_to_cpu(seg->key), addr = le64_to_cpu(seg->addr);
	unsigned int left = grants->lasting;
	struct kfp_grant *const *at, *g;

	for (at = grants->given; left; at++) {
		g = *at;
		if (!g || !g->given || g->once)
			continue;
		if (g->key == key && addr - g->addr <= g->len && len <= g->len - (addr - g->addr))
			return g;
		left--;
	}
	return NULL;
}

/*
 * May a write to the region have a lasting grant? It may if the peer has sent an RTW for the
 * region before, and has no grant of a part of it. A region for one I/O has none: a send that
 * invalidates it would find it in use.
 */
static bool kfp_grant_lasts(struct kfp_grants *grants, const struct kfi_mr *mr,
			    const struct kfw_rma *seg)
{
	u64 key = le64_to_cpu(seg->key), *last = &grants->asked[hash_64(key, KFP_GRANT_BITS)];
	bool again = *last == key;

	*last = key;
	return again && !mr->per_io && !kfp_grant_over(grants, seg, 1);
}

/* Do the bounds of lasting grants permit another one? */
static bool kfp_grant_fits(const struct kfp_conn *conn, u64 len)
{
	const struct kfi_proto_params *params = kfp_params(conn);
	const struct kfp_grants *grants = conn->grants;
	u64 most = (u64)READ_ONCE(params->grant_mib) << 20;

	most -= min(most, grants->bytes);
	return grants->lasting < READ_ONCE(params->grants) && len <= min_t(u64, most, KFW_PAYLOAD_MAX);
}

/* Count a lasting grant that begins (@n is 1) or ends (@n is -1). */
static void kfp_grant_count(struct kfp_grants *grants, const struct kfp_grant *g, int n)
{
	grants->lasting += n;
	grants->bytes += n * (s64)g->len;
}

/* The peer can't write to the memory any more: its region may end. */
static void kfp_grant_concealed(struct kfp_conn *conn, struct kfp_exposed *e)
{
	kfi_mr_unlease(e->x.mr, &container_of(e, struct kfp_grant, exposed)->lease);
}

/*
 * Expose memory of the region, which has a lease. Return: number of places; 0: the link does not
 * expose it; -ENOSPC: a bound refuses it, here or of the link.
 */
static int kfp_grant_expose(struct kfp_grant *g, u64 addr, u64 len, const struct iov_iter *iter,
			    struct kfi_link_place *place)
{
	struct kfp_conn *conn = g->conn;
	int n;

	if (!g->once && !kfp_grant_fits(conn, len))
		return -ENOSPC;
	g->exposed.x.lasting = !g->once;
	g->exposed.x.addr = g->addr = addr;
	g->len = len;
	n = kfp_expose(conn, &g->exposed, iter, len, place, kfp_grant_concealed);
	if (n > 0 && !g->once)
		kfp_grant_count(conn->grants, g, 1);
	return n == -ENOSPC ? n : max(n, 0);
}

/*
 * Give a lasting grant of the whole region, which has a lease, or if that is not possible, of the
 * segment. Return: as kfp_grant_expose().
 */
static int kfp_grant_lasting(struct kfp_grant *g, const struct kfw_rma *seg,
			     const struct iov_iter *iter, struct kfi_link_place *place)
{
	struct kfi_mr *mr = g->exposed.x.mr;
	struct iov_iter whole = mr->iter;
	int n;

	whole.data_source = ITER_DEST;
	n = kfp_grant_expose(g, mr->fid.addr, mr->len, &whole, place);
	if (n <= 0)
		n = kfp_grant_expose(g, le64_to_cpu(seg->addr), le64_to_cpu(seg->len), iter, place);
	if (n == -ENOSPC)
		kfp_grant_make_room(g->conn->grants);
	return n;
}

/*
 * Give a grant that includes the segment: a lasting one for a device, unless the region is one for
 * a single I/O, and for a write if possible. Return: number of places; 0 if there is no grant.
 */
static int kfp_grant_new(struct kfp_grant *g, const struct kfw_rma *seg, bool device,
			 struct kfi_link_place *place)
{
	struct kfi_ep *ep = &g->conn->ep->ep;
	u64 addr = le64_to_cpu(seg->addr), len = le64_to_cpu(seg->len);
	struct iov_iter iter;
	struct kfi_mr *mr;
	bool leased;
	int n = -ENOSPC;

	g->key = le64_to_cpu(seg->key);
	mr = kfi_mr_get(ep, g->key, addr, len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return 0;
	g->once = device ? mr->per_io : !kfp_grant_lasts(g->conn->grants, mr, seg);
	g->exposed.x.mr = mr;
	leased = kfi_mr_lease(ep, mr, g->key, &g->lease);
	kfi_mr_put(mr);
	if (!leased)
		return 0;
	if (!g->once) {
		n = kfp_grant_lasting(g, seg, &iter, place);
		g->once = n == -ENOSPC && !device;
	}
	if (g->once)
		n = kfp_grant_expose(g, addr, len, &iter, place);
	if (n > 0)
		return n;
	kfi_mr_unlease(g->exposed.x.mr, &g->lease);
	return 0;
}

/*
 * Give a grant for an RTW. Return: NULL if none is possible, or if there is one already. Then the
 * GRANT has crossed the RTW, or the grant is being recalled.
 */
static struct kfp_grant *kfp_grant_give(struct kfp_conn *conn, const struct kfp_answer *answer,
					struct kfi_link_place *place, int *n)
{
	const struct kfw_rma *seg = &answer->seg0;
	struct kfp_grants *grants = conn->grants;
	struct kfp_grant *g;

	if (!grants || (answer->device && conn->link.checks))
		return NULL;
	g = kfp_grant_over(grants, seg, le64_to_cpu(seg->len));
	if (g) {
		if (!g->recalled)
			g->used = jiffies;
		return NULL;
	}
	g = kfp_grant_free(grants);
	if (!g) {
		kfp_grant_make_room(grants);
		return NULL;
	}
	*n = kfp_grant_new(g, seg, answer->device, place);
	if (!*n)
		return NULL;
	g->given = true;
	g->id = ++grants->last;
	return g;
}

static void kfp_send_grant(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfi_link_place place[KFW_PLACES_MAX] __uninitialized;	/* @n of them are set */
	struct kfw_hdr *hdr;
	struct kfp_grant *g;
	int n;

	g = kfp_grant_give(conn, answer, place, &n);
	hdr = kfp_send_answer_frame(conn, answer, KFW_GRANT);
	if (g) {
		hdr->flags = cpu_to_le16((g->once ? KFW_F_ONCE : 0) |
					 (g->exposed.x.mr->persist ? KFW_F_COMMIT : 0));
		hdr->rma_count = cpu_to_le16(1);
		hdr->grant = cpu_to_le16(g->slot);
		hdr->grant_id = cpu_to_le64(g->id);
		hdr->len = cpu_to_le64(g->len);
		hdr->places = n;
		kfp_send_segment(conn, g->addr, g->len, g->key);
		kfp_send_places(conn, place, n);
	}
	kfp_answer_put(conn, answer);
}

static const struct kfp_answer_row kfp_rtw_row = {
	.send = kfp_send_grant,
};

static int kfp_rx_rtw(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_answer *answer;
	int ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE);

	if (ret)
		return ret;
	if (rx->status)
		return kfp_rx_ack(conn, rx->status);
	answer = kfp_answer_get(conn, &kfp_rtw_row);
	if (!answer)
		return -EPROTO;
	answer->device = rx->f.flags & KFW_F_DEVICE;
	answer->seg0 = rx->segs[0];
	spin_lock_bh(&conn->lock);
	kfp_answer_queue(conn, answer);
	spin_unlock_bh(&conn->lock);
	return 0;
}

const struct kfp_frame_row kfp_rtw_frame = {
	.request = true,
	.receive = kfp_rx_rtw,
};

/* ---- owner: use ---- */

/* Return the grant of this side that the current frame is about, or NULL. */
static struct kfp_grant *kfp_grant_named(const struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_grant *g = conn->grants ? conn->grants->given[f->grant] : NULL;

	return g && g->given && g->id == f->grant_id ? g : NULL;
}

static void kfp_grant_conceal(struct kfp_conn *conn, struct kfp_grant *g)
{
	if (kfp_conceal(conn, &g->exposed))
		kfp_grant_concealed(conn, &g->exposed);
}

/* End a grant because of which the peer writes nothing any more. */
static void kfp_grant_end(struct kfp_conn *conn, struct kfp_grant *g)
{
	g->given = false;
	conn->tx.urgent -= g->recalled && !g->sent;
	if (!g->once)
		kfp_grant_count(conn->grants, g, -1);
	kfp_grant_conceal(conn, g);
}

/*
 * Handle a WRITE whose payload is in the memory of a grant. The region may have ended meanwhile,
 * and another one may have its key. Devices may write a place at any time between its get and its
 * put, so the contents of a place are valid only if the lease was not recalled until now. The
 * region is kept for the event; its owner does not have to wait for that. Return: 0, perhaps with
 * a status; -EPROTO.
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
	    (rx->mr != g->exposed.x.mr || (rx->f.flags & KFW_F_DEVICE && READ_ONCE(g->awaited)))) {
		kfi_mr_put(rx->mr);
		rx->mr = ERR_PTR(-EACCES);
	}
	if (IS_ERR(rx->mr)) {
		rx->mr = NULL;
		rx->status = EREMOTEIO;
	}
	if (g->once)
		kfp_grant_end(conn, g);
	rx->landed = true;
	kfi_stat_add(&conn->ep->ep, placed, len);
	return 0;
}

/* ---- owner: recall ---- */

static int kfp_rx_recalled(struct kfp_conn *conn)
{
	struct kfp_grant *g = kfp_grant_named(conn);

	if (!g || !(g->sent || g->once))
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
		if (p && p->given && !p->busy && !READ_ONCE(p->out) &&
		    (p->recalled || (p->once && !p->op)))
			kfp_permit_return(conn, p);
		g = conn->grants->given[i];
		if (!g || !g->given || !READ_ONCE(g->ended))
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
 * Has the peer kept a grant for too long? RECALL and RECALLED go ahead of all other frames, and
 * only the payload of a write to the region may be long in front of them, so other bytes of the
 * connection do not extend the time: a peer that waits for a device may continue with other
 * transfers for ever. While this side does not read, the answer may have arrived, but the owner of
 * the region must not wait for ever: such pauses count afterwards, up to peer_timeout_ms.
 */
static bool kfp_recalls_late(struct kfp_conn *conn, unsigned long extra, unsigned long held)
{
	unsigned long timeout = kfp_peer_timeout(conn), pause;
	struct kfp_grant *g;
	bool late = false;
	unsigned int i;

	for (i = 0; conn->grants && i < KFW_GRANTS_MAX; i++) {
		g = conn->grants->given[i];
		if (!g || !g->given || !g->timed)
			continue;
		g->since += held;
		g->paused += held;
		pause = min(conn->rx.paused - g->paused, timeout);
		late |= time_after(jiffies, g->since + timeout + pause);
	}
	return late;
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

void kfp_permit_return(struct kfp_conn *conn, struct kfp_permit *p)
{
	p->given = false;
	hlist_add_head(&p->entry, &conn->grants->returned);
	conn->tx.urgent++;
}

/* Send the WRITE for a payload in the memory of the grant. */
void kfp_permit_write(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p, u16 flags)
{
	struct kfw_hdr *hdr = kfp_send_op_frame(conn, op, KFW_WRITE, KFW_F_PLACED | flags);

	hdr->rma_count = cpu_to_le16(1);
	hdr->grant = cpu_to_le16(p->slot);
	hdr->grant_id = cpu_to_le64(p->id);
	kfp_send_segments(conn, op);
	p->busy = false;
	if (p->once)
		p->given = false;
	else if (p->recalled && !READ_ONCE(p->out))
		kfp_permit_return(conn, p);
}

static bool kfp_permit_includes(const struct kfp_permit *p, const struct kfi_rma_iov *seg)
{
	return p->key == seg->key && seg->addr - p->addr <= p->len &&
	       seg->len <= p->len - (seg->addr - p->addr);
}

struct kfp_permit *kfp_permit_over(const struct kfp_conn *conn, const struct kfi_rma_iov *seg)
{
	struct kfp_permit *p;

	hlist_for_each_entry(p, &conn->grants->by_key[hash_64(seg->key, KFP_GRANT_BITS)], entry)
		if (kfp_permit_includes(p, seg))
			return p;
	return NULL;
}

/* Return the object for the permit that the current frame gives; NULL: its number is in use. */
static struct kfp_permit *kfp_permit_slot(struct kfp_grants *grants, const struct kfw_frame *f)
{
	struct kfp_permit *p = grants->permits[f->grant];

	if (p)
		return p->given || !hlist_unhashed(&p->entry) ? NULL : p;
	p = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	grants->permits[f->grant] = p;
	return p ?: ERR_PTR(-ENOMEM);
}

/*
 * Store the permit that a GRANT gives for the operation. The link checks the places when they are
 * used. Return: the permit; ERR_PTR(-ENOMEM); ERR_PTR(-EPROTO) if it does not agree with the RTW,
 * if its number is in use, or if its id is not new.
 */
static struct kfp_permit *kfp_permit_new(struct kfp_conn *conn, struct kfi_oper *op)
{
	const struct kfw_frame *f = &conn->rx.f;
	const struct kfw_rma *seg = &conn->rx.segs[0];
	struct kfp_grants *grants = conn->grants;
	struct kfp_permit *p;

	if (!grants || op->rma[0].key != le64_to_cpu(seg->key) || le64_to_cpu(seg->len) != f->len ||
	    f->grant_id <= grants->newest)
		return ERR_PTR(-EPROTO);
	p = kfp_permit_slot(grants, f);
	if (IS_ERR_OR_NULL(p))
		return p ?: ERR_PTR(-EPROTO);
	p->once = f->flags & KFW_F_ONCE;
	p->recalled = false;
	p->commits = f->flags & KFW_F_COMMIT;
	p->slot = f->grant;
	p->op = op;
	p->id = f->grant_id;
	p->key = le64_to_cpu(seg->key);
	p->addr = le64_to_cpu(seg->addr);
	p->len = f->len;
	if (kfp_places_read(conn, f->len, &p->places) ||
	    (p->once && !kfp_permit_includes(p, &op->rma[0])))
		return ERR_PTR(-EPROTO);
	p->given = true;
	grants->newest = p->id;
	if (!p->once)
		hlist_add_head(&p->entry, &grants->by_key[hash_64(p->key, KFP_GRANT_BITS)]);
	return p;
}

/* Handle a GRANT, the answer to the RTW of a write or of a place. */
static int kfp_rx_grant(struct kfp_conn *conn)
{
	struct kfi_oper *op = kfp_answered_op(conn, &conn->rx.f);
	struct kfp_permit *p = NULL;

	if (!op || kfp_op(op)->state != KFP_OP_REQUESTED || !kfp_op_row(op)->granted)
		return -EPROTO;
	if (conn->rx.f.places)
		p = kfp_permit_new(conn, op);
	return IS_ERR(p) ? PTR_ERR(p) : kfp_op_row(op)->granted(conn, op, p);
}

/*
 * The peer recalls a grant. Later writes use an RTW, and so does the one write of a grant, unless
 * a part of its payload was sent.
 */
static int kfp_rx_recall(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_permit *p = conn->grants ? conn->grants->permits[f->grant] : NULL;
	bool out;

	if (!p || p->id != f->grant_id || p->recalled)
		return -EPROTO;
	out = kfp_permit_recall(p);
	if (!p->given)
		return 0;	/* its only WRITE, or RECALLED, has crossed this */
	hlist_del_init(&p->entry);
	if (out || p->busy)
		return 0;
	if (p->once && p->op)
		kfp_op(p->op)->permit = NULL;
	kfp_permit_return(conn, p);
	return 0;
}

/* ---- both sides ---- */

static void kfp_send_recall(struct kfp_conn *conn, u8 type, u16 slot, u64 id)
{
	struct kfw_hdr *hdr = kfp_send_frame(conn, type);

	hdr->grant = cpu_to_le16(slot);
	hdr->grant_id = cpu_to_le64(id);
}

/* Send a RECALL or RECALLED that is due, one of &kfp_tx.urgent. Neither needs credit. */
static void kfp_send_recalls(struct kfp_conn *conn)
{
	struct kfp_grants *grants = conn->grants;
	struct kfp_grant *g = NULL;
	struct kfp_permit *p;
	unsigned int i;

	conn->tx.urgent--;
	if (!hlist_empty(&grants->returned)) {
		p = hlist_entry(grants->returned.first, struct kfp_permit, entry);
		hlist_del_init(&p->entry);
		kfp_send_recall(conn, KFW_RECALLED, p->slot, p->id);
	} else {
		for (i = 0; i < KFW_GRANTS_MAX; i++) {
			g = grants->given[i];
			if (g && g->given && g->recalled && !g->sent)
				break;
		}
		if (WARN_ON_ONCE(i == KFW_GRANTS_MAX))
			return;
		g->sent = true;
		kfp_grant_clock(conn, g);
		kfp_send_recall(conn, KFW_RECALL, g->slot, g->id);
	}
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
	struct kfp_grant *g;
	unsigned int i;

	for (i = 0; conn->grants && i < KFW_GRANTS_MAX; i++) {
		g = conn->grants->given[i];
		if (g && g->given)
			kfp_grant_end(conn, g);
		else if (g && g->exposed.concealed)
			kfp_grant_conceal(conn, g);
	}
}

static void kfp_grants_free(struct kfp_conn *conn)
{
	struct kfp_grants *grants = conn->grants;
	unsigned int i;

	for (i = 0; grants && i < KFW_GRANTS_MAX; i++) {
		kfree(grants->given[i]);
		kfree(grants->permits[i]);
	}
	kfree(grants);
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
