// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receive side. A frame passes through these functions:
 *
 *   kfi_link_rx()		the link has received bytes and holds its lock
 *   ops->read()		the link passes on what it has
 *   kfi_link_rx_bytes()		takes hellos, headers, segments and payload out of the bytes
 *   kfp_frame_row.receive()	header and segments are complete: selects the destination of the
 *				payload, in the file of the protocol
 *   kfp_rx_payload()		copies payload, once, to its destination
 *   kfp_frame_row.finish()	completes the receive, queues the answer
 *
 * A frame that can't be handled now (completion queue full, no memory) blocks this connection and
 * no other; rx_work tries again. A peer that violates the protocol loses its connection through
 * kfp_conn_fail().
 */
#include <linux/export.h>
#include "peers.h"

void kfp_rx_next(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	rx->done = (struct kfp_rx_done){};
	rx->have = 0;
	rx->row = NULL;
	rx->in = NULL;
	rx->commit = NULL;
	kfp_rx_set_at(conn, KFP_RX_HDR);
}

/* Return the address of the peer for a completion. */
kfi_addr_t kfp_rx_src(struct kfp_conn *conn)
{
	struct kfi_ep *ep = &conn->ep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, conn->av_name);
}

/* ---- the regions that a frame names ---- */

/* Has the frame as many bytes as all of its segments? */
bool kfp_rx_lengths_ok(const struct kfp_rx *rx)
{
	u64 left = rx->f.len, len;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > left)
			return false;
		left -= len;
	}
	return !left;
}

/*
 * Check all segments before the first byte is copied. Return: 0, perhaps with a status; -EPROTO.
 */
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access)
{
	struct kfp_rx *rx = &conn->rx;
	u64 left = rx->f.len, len;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > left)
			return -EPROTO;
		left -= len;
		mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(rx->segs[i].key),
				le64_to_cpu(rx->segs[i].addr), len, access, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return left ? -EPROTO : 0;
}

/* Let the next bytes of the payload go to a segment. Return: false if it may not be written. */
bool kfp_rx_open_region(struct kfp_conn *conn, const struct kfw_rma *seg)
{
	struct kfp_rx *rx = &conn->rx;

	rx->left = le64_to_cpu(seg->len);
	rx->key = le64_to_cpu(seg->key);
	rx->into = &rx->iter;
	rx->mr = kfi_mr_get(&conn->ep->ep, rx->key, le64_to_cpu(seg->addr), rx->left,
			    KFI_REMOTE_WRITE, &rx->iter);
	if (!IS_ERR(rx->mr))
		return true;
	rx->mr = NULL;
	return false;
}

void kfp_rx_put_mr(struct kfp_conn *conn)
{
	if (conn->rx.mr)
		kfi_mr_put(conn->rx.mr);
	conn->rx.mr = NULL;
}

/* ---- the state machine ---- */

/* The frame can't be handled now, and rx_work tries again; or it ends the connection. */
static void kfp_rx_stop(struct kfp_conn *conn, int err)
{
	struct kfp_rx *rx = &conn->rx;

	kfp_rx_set_at(conn, KFP_RX_BLOCKED);
	if (err != -EAGAIN && err != -ENOMEM) {
		kfp_conn_fail(conn, err);
		return;
	}
	rx->blocked = jiffies;
	if (err == -EAGAIN && conn->ep->ep.rx_cq &&
	    kfi_cq_wait_space(conn->ep->ep.rx_cq, &rx->space))
		return;
	kfp_conn_queue(conn, &conn->rx_work, err == -EAGAIN ? 0 : 1);
}

/* The current segment, or the payload, is complete; or there is no payload. */
static void kfp_rx_payload_done(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfp_frame_row *row = rx->row;
	int ret;

	do {
		if (rx->left) {
			kfp_rx_set_at(conn, KFP_RX_PAYLOAD);
			return;
		}
	} while (row->more && row->more(conn));
	if (rx->skip) {
		rx->left = rx->skip;
		rx->skip = 0;
		kfp_rx_set_at(conn, KFP_RX_SKIP);
		return;
	}
	rx->finishing = true;
	ret = row->finish ? row->finish(conn) : 0;
	if (!ret)
		kfp_rx_next(conn);
	else
		kfp_rx_stop(conn, ret);
}

/*
 * Header and segments are complete. Also called to try again a frame that was blocked. What was
 * done is not repeated then: kfp_rx_once(), and for a WRITE or REPLY whose payload has landed
 * (&kfp_rx.landed) the look-up of its region.
 */
static void kfp_rx_proceed(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	int ret;

	if (rx->finishing) {
		kfp_rx_payload_done(conn);
		return;
	}
	rx->left = 0;
	rx->skip = 0;
	rx->row = kfp_frame_rows[rx->f.type];
	if (unlikely(conn->ep->ep.fid.fid.fclass == KFI_CLASS_TX_CTX) && rx->row->request)
		ret = -EPROTO;		/* a transmit context accepts answers only */
	else if (unlikely(rx->row->request && list_empty(&conn->free_answers)))
		ret = kfp_answers_grow(conn) ?: rx->row->receive(conn);
	else
		ret = rx->row->receive(conn);
	rx->since = jiffies;
	if (!ret)
		kfp_rx_payload_done(conn);
	else
		kfp_rx_stop(conn, ret);
}

/* ---- hellos ---- */

/*
 * Return the destination of the next bytes of a hello: its head, private data or authentication
 * data. Length 0 means that the hello is complete.
 */
static struct kvec kfp_hello_room(struct kfp_conn *conn)
{
	size_t data_len = conn->hello_info.data_len, have = conn->rx.have;

	if (have < sizeof(conn->hello_in))
		return (struct kvec) { (void *)&conn->hello_in + have,
				       sizeof(conn->hello_in) - have };
	have -= sizeof(conn->hello_in);
	if (have < data_len)
		return (struct kvec) { conn->data_in + have, data_len - have };
	have -= data_len;
	return (struct kvec) { conn->auth_in + have,
			       (conn->hello_info.auth ? KFW_AUTH_LEN : 0) - have };
}

/*
 * Collect bytes of the peer's hello. If the peer speaks no version of this side, its hello is read
 * to the end nevertheless, and the hello work refuses it: a link may drop a REJECT if bytes are
 * unread.
 * Called under the link's lock. Return: bytes used.
 */
static size_t kfp_hello_bytes(struct kfp_conn *conn, const void *bytes, size_t len)
{
	struct kvec vec = kfp_hello_room(conn);
	size_t n = min(len, vec.iov_len);
	int ret = 0;

	memcpy(vec.iov_base, bytes, n);
	conn->rx.have += n;
	if (conn->rx.have == sizeof(conn->hello_in))
		ret = kfw_decode_hello(&conn->hello_in, &conn->hello_info);
	else if (conn->rx.have >= KFW_FROZEN && conn->rx.have < sizeof(conn->hello_in))
		ret = kfw_decode_front(&conn->hello_in);
	if (ret && ret != -EPROTONOSUPPORT) {
		kfp_rx_stop(conn, ret);
	} else if (conn->rx.have >= sizeof(conn->hello_in) && !kfp_hello_room(conn).iov_len) {
		kfp_rx_set_at(conn, KFP_RX_HELD);
		kfp_hello_kick(conn);
	}
	return n;
}

/* Wait for another hello, after the last one was handled. Called in the hello work. */
void kfp_rx_hello_next(struct kfp_conn *conn)
{
	conn->rx.have = 0;
	kfp_rx_set_at(conn, KFP_RX_HELLO);
}

/* ---- the bytes of the link ---- */

/*
 * Collect up to @want bytes at @to. Return: bytes used. All of them have arrived when &kfp_rx.have
 * is @want.
 */
static size_t kfp_rx_collect(struct kfp_rx *rx, void *to, size_t want, const void *bytes,
			     size_t len)
{
	size_t n = min(len, want - rx->have);

	memcpy(to + rx->have, bytes, n);
	rx->have += n;
	return n;
}

/* The bytes are copied first: a local sender may still write to a page that it has spliced. */
static size_t kfp_rx_header(struct kfp_conn *conn, const void *bytes, size_t len)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_tx *tx = &conn->tx;
	u8 type = rx->have ? rx->hdr.type : READ_ONCE(*(const u8 *)bytes);
	size_t want = kfw_hdr_len(type), used = want;
	struct kfw_hdr hdr __uninitialized;

	if (likely(!rx->have && len >= want)) {
		if (want == sizeof(struct kfw_plain))
			*(struct kfw_plain *)&hdr = *(const struct kfw_plain *)bytes;
		else
			hdr = *(const struct kfw_hdr *)bytes;
		barrier_data(&hdr);	/* not what is there later */
	} else {
		used = kfp_rx_collect(rx, &rx->hdr, want, bytes, len);
		rx->hdr.type = type;
		if (rx->have < want)
			return used;
		hdr = rx->hdr;
	}
	hdr.type = type;
	if (kfw_decode(&hdr, conn->link.eager, &rx->f) ||
	    kfi_credit_update(&tx->credit[KFP_CLS_MSG], rx->f.credit_msg,
			      tx->allowance[KFP_CLS_MSG]) < 0 ||
	    kfi_credit_update(&tx->credit[KFP_CLS_TAG], rx->f.credit_tag,
			      tx->allowance[KFP_CLS_TAG]) < 0) {
		kfp_rx_stop(conn, -EPROTO);
		return used;
	}
	rx->have = 0;
	if (rx->f.extra)
		kfp_rx_set_at(conn, KFP_RX_SEGS);
	else
		kfp_rx_proceed(conn);
	return used;
}

/*
 * Copy payload, or drop it if its region has ended. Then the status is EREMOTEIO, because EACCES
 * would mean that nothing was written. Bottom halves are off, which is an RCU section: it keeps the
 * memory of a region that is live.
 */
static size_t kfp_rx_payload(struct kfp_conn *conn, const void *bytes, size_t len)
{
	struct kfp_rx *rx = &conn->rx;

	len = min_t(u64, len, rx->left);
	if (likely(!rx->row->region || (rx->mr && kfi_mr_live(rx->mr, rx->key))))
		WARN_ON_ONCE(kfi_copy_to(rx->into, bytes, len) != len);
	else
		rx->status = EREMOTEIO;
	__kfi_stat_add(&conn->ep->ep, bounced, len);
	rx->left -= len;
	if (!rx->left)
		kfp_rx_payload_done(conn);
	return len;
}

static size_t kfp_rx_drop(struct kfp_conn *conn, size_t len)
{
	struct kfp_rx *rx = &conn->rx;

	len = min_t(u64, len, rx->left);
	rx->left -= len;
	if (!rx->left)
		kfp_rx_payload_done(conn);
	return len;
}

size_t kfi_link_rx_bytes(struct kfi_link *link, const void *bytes, size_t len)
{
	struct kfp_conn *conn = link_conn(link);
	struct kfp_rx *rx = &conn->rx;
	size_t done = 0, used;

	for (; done < len && likely(rx->steps); rx->steps--, done += used) {
		switch (smp_load_acquire(&rx->at)) {	/* pairs with kfp_rx_set_at() */
		case KFP_RX_HDR:
			used = kfp_rx_header(conn, bytes + done, len - done);
			continue;
		case KFP_RX_SEGS:
			used = kfp_rx_collect(rx, rx->segs, rx->f.extra, bytes + done, len - done);
			if (rx->have == rx->f.extra)
				kfp_rx_proceed(conn);
			continue;
		case KFP_RX_PAYLOAD:
			used = kfp_rx_payload(conn, bytes + done, len - done);
			continue;
		case KFP_RX_SKIP:
			used = kfp_rx_drop(conn, len - done);
			continue;
		case KFP_RX_HELLO:
			used = kfp_hello_bytes(conn, bytes + done, len - done);
			continue;
		}
		break;	/* it waits */
	}
	if (likely(rx->at != KFP_RX_HELLO && rx->at != KFP_RX_HELD))
		rx->bytes += done;
	return done;
}
EXPORT_SYMBOL_GPL(kfi_link_rx_bytes);

/*
 * Read from the link. The link may hold hundreds of thousands of short frames, and this function
 * runs with bottom halves off. So a run ends after KFP_RX_STEPS pieces, and rx_work continues.
 */
static void kfp_rx_run(struct kfp_conn *conn)
{
	/* pairs with kfp_conn_start() */
	bool ready = smp_load_acquire(&conn->state) == KFP_READY;
	u64 before = conn->rx.bytes;

	/*
	 * During the handshake only hellos are read, and none before the handshake has begun. After
	 * a failure nothing is read: a peer on this machine may have aborted the connection, and
	 * the bytes that are left may be pages that its consumer uses again.
	 */
	if (test_bit(KFP_FAILED, &conn->flags) || conn->rx.at == KFP_RX_BLOCKED ||
	    (!ready && (conn->state == KFP_NEW || conn->rx.at != KFP_RX_HELLO)))
		return;
	conn->rx.steps = KFP_RX_STEPS;
	conn->ops->read(&conn->link);
	if (conn->rx.bytes != before)
		WRITE_ONCE(conn->rx.last_rx, jiffies);
	if (!ready || conn->rx.at == KFP_RX_BLOCKED)
		return;
	if (!conn->rx.steps)
		kfp_conn_queue(conn, &conn->rx_work, 0);
	else
		kfp_conn_check(conn);	/* all bytes that arrived before the end are read */
}

void kfi_link_rx(struct kfi_link *link)
{
	kfp_burst(link_conn(link), kfp_rx_run);
}
EXPORT_SYMBOL_GPL(kfi_link_rx);

static void kfp_rx_resume(struct kfp_conn *conn)
{
	int ended = conn->ops->ended(&conn->link);

	/* The peer may have aborted the connection before it was ready here: see kfp_rx_run(). */
	if (ended && ended != -ESHUTDOWN) {
		kfp_conn_check(conn);
		return;
	}
	WRITE_ONCE(conn->rx.last_rx, jiffies);
	if (conn->rx.at == KFP_RX_BLOCKED && !test_bit(KFP_FAILED, &conn->flags)) {
		conn->rx.paused += jiffies - conn->rx.blocked;
		kfp_rx_proceed(conn);
	}
	kfp_rx_run(conn);
}

void kfp_rx_work(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, rx_work);

	if (test_bit(KFP_DEAD, &conn->flags))
		return;
	local_bh_disable();
	if (conn->ops->lock(&conn->link)) {
		kfp_burst(conn, kfp_rx_resume);
		conn->ops->unlock(&conn->link);
	} else {
		kfp_conn_queue(conn, &conn->rx_work, 1);
	}
	local_bh_enable();
}

/*
 * Read received bytes, for the hello work: they may have arrived before the link's callbacks, or
 * while the hello work had the one before. @at is read under the link's lock, because a read() that
 * has met the end of a hello still looks at it: without the lock the hello work could set it
 * for the next frame, and this read() would handle frames before the connection is ready.
 *
 * Return: 1 if a hello is complete and the link is stopped; 0; -EAGAIN if the link's lock is not
 * available.
 */
int kfp_rx_poll(struct kfp_conn *conn)
{
	bool held;

	if (!conn->ops->lock(&conn->link))
		return -EAGAIN;
	kfp_burst(conn, kfp_rx_run);
	held = conn->rx.at == KFP_RX_HELD;
	conn->ops->unlock(&conn->link);
	return held;
}

/* Callback: the completion queue has room again. */
void kfp_rx_space(struct kfi_cq_waiter *w)
{
	struct kfp_conn *conn = container_of(w, struct kfp_conn, rx.space);

	if (!test_bit(KFP_DEAD, &conn->flags))
		mod_delayed_work_on(kfp_conn_cpu(conn), kfp_wq, &conn->rx_work, 0);
}

/* ---- slow peers, and the end ---- */

/*
 * Is the peer late? It is if it stops inside a frame, if its payload arrives too slowly, if it does
 * not use a grant, or keeps one whose region has ended. A payload holds its receive, and delays the
 * messages behind it, so a single byte now and then is not enough: each KFP_RATE_MIN bytes since
 * the last call give the peer one second. Bytes that this side does not read are not late, and
 * nothing is while the network is held: all clocks go on from here. Called under the link's lock.
 */
bool kfp_rx_late(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfp_protocol *const *p;
	unsigned long timeout = kfp_peer_timeout(conn);
	unsigned long total = kfi_held(conn->link.hold), held = total - rx->held;
	unsigned long extra = kfp_transfer_time(rx->bytes - rx->watched);
	bool payload = rx->at == KFP_RX_PAYLOAD || rx->at == KFP_RX_SKIP;
	bool late = false;

	rx->held = total;
	rx->paused += held;
	WRITE_ONCE(rx->last_rx, kfp_extend(rx->last_rx, jiffies, held));
	for (p = kfp_protocols; *p; p++)
		if ((*p)->watch)
			late |= (*p)->watch(conn, extra, held);
	rx->watched = rx->bytes;
	rx->since = kfp_extend(rx->since, jiffies, extra + held);
	if (rx->at == KFP_RX_BLOCKED)
		return late;
	return late ||
	       ((rx->at != KFP_RX_HDR || rx->have) && time_after(jiffies, rx->last_rx + timeout)) ||
	       (payload && time_after(jiffies, rx->since + timeout));
}

/*
 * The connection is down, and its link is closed. Abort the frame that has arrived in part. If that
 * frame belongs to an object of its protocol, the protocol ends the object.
 */
void kfp_rx_abort(struct kfp_conn *conn, int err)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->at == KFP_RX_HDR || rx->at == KFP_RX_SEGS)
		return;
	if (rx->row && rx->row->abort)
		rx->row->abort(conn, err);
	rx->row = NULL;
}
