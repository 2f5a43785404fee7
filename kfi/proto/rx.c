// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receive side. A frame passes through these functions:
 *
 *   kfi_link_rx()		the link has received bytes and holds its lock
 *   ops->read()		the link offers the bytes piece by piece
 *   kfi_link_rx_head()		collects the bytes of hellos, headers and segments
 *   kfp_frame_row.receive()	header and segments are complete: selects the destination of the
 *				payload, in the file of the protocol
 *   kfi_link_rx_payload()		the link has copied payload, once, to its destination
 *   kfp_frame_row.finish()	completes the receive, queues the answer
 *
 * A frame that can't be handled now (completion queue full, no memory) blocks this connection and
 * no other; rx_work tries again. A peer that violates the protocol loses its connection through
 * kfp_conn_fail().
 */
#include <linux/export.h>
#include "peers.h"

/*
 * Set what the link does with the next bytes. The hello work calls this function without the link's
 * lock, while the link is stopped; the store of @want lets the link continue.
 */
static __always_inline void __kfp_rx_set_at(struct kfp_conn *conn, u8 at)
{
	static const u8 wants[] = {
		[KFP_RX_HELLO] = KFI_WANT_HEAD,
		[KFP_RX_HELD] = KFI_WANT_STOP,
		[KFP_RX_HDR] = KFI_WANT_HEAD,
		[KFP_RX_SEGS] = KFI_WANT_HEAD,
		[KFP_RX_BLOCKED] = KFI_WANT_STOP,
		[KFP_RX_PAYLOAD] = KFI_WANT_PAYLOAD,
		[KFP_RX_SKIP] = KFI_WANT_SKIP,
	};

	WRITE_ONCE(conn->rx.at, at);
	smp_store_release(&conn->link.want, wants[at]);	/* pairs with the link's read() */
}

void kfp_rx_set_at(struct kfp_conn *conn, u8 at)
{
	__kfp_rx_set_at(conn, at);
}

void kfp_rx_next(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	memset(&rx->done, 0, sizeof(rx->done));
	rx->have = 0;
	rx->row = NULL;
	rx->in = NULL;
	rx->commit = NULL;
	__kfp_rx_set_at(conn, KFP_RX_HDR);
}

/* Return the address of the peer for a completion. */
kfi_addr_t kfp_rx_src(struct kfp_conn *conn)
{
	struct kfi_ep *ep = &conn->ep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, conn->av_name);
}

/* ---- the state machine ---- */

static int kfp_rx_credit(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_tx *tx = &conn->tx;

	if (kfi_credit_update(&tx->credit[KFP_CLS_MSG], f->credit_msg,
			      tx->allowance[KFP_CLS_MSG]) < 0 ||
	    kfi_credit_update(&tx->credit[KFP_CLS_TAG], f->credit_tag,
			      tx->allowance[KFP_CLS_TAG]) < 0)
		return -EPROTO;
	return 0;
}

static void kfp_rx_block(struct kfp_conn *conn, int err)
{
	struct kfp_rx *rx = &conn->rx;

	kfp_rx_set_at(conn, KFP_RX_BLOCKED);
	rx->blocked = jiffies;
	if (err == -EAGAIN && conn->ep->ep.rx_cq &&
	    kfi_cq_wait_space(conn->ep->ep.rx_cq, &rx->space))
		return;
	kfp_conn_queue(conn, &conn->rx_work, err == -EAGAIN ? 0 : 1);
}

static void kfp_rx_error(struct kfp_conn *conn, int err)
{
	kfp_rx_set_at(conn, KFP_RX_BLOCKED);
	kfp_conn_fail(conn, err);
}

/* The current segment, or the payload, is complete; or there is no payload. */
static void kfp_rx_payload_done(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfp_frame_row *row = rx->row;
	int ret;

	do {
		if (conn->link.left) {
			__kfp_rx_set_at(conn, KFP_RX_PAYLOAD);
			if (row->region)
				conn->link.want = KFI_WANT_REGION;
			return;
		}
	} while (row->more && row->more(conn));
	if (rx->skip) {
		conn->link.left = rx->skip;
		rx->skip = 0;
		kfp_rx_set_at(conn, KFP_RX_SKIP);
		return;
	}
	rx->finishing = true;
	ret = row->finish ? row->finish(conn) : 0;
	if (!ret)
		kfp_rx_next(conn);
	else if (ret == -EAGAIN)
		kfp_rx_block(conn, ret);
	else
		kfp_rx_error(conn, ret);
}

/*
 * Header and segments are complete. Also called to try again a frame that was blocked. What was
 * done is not repeated then: kfp_rx_once(), and for a WRITE whose payload has landed
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
	conn->link.left = 0;
	rx->skip = 0;
	rx->row = kfp_frame_rows[rx->f.type];
	if (unlikely(kfi_peer_tx_ctx(&conn->ep->ep)) && rx->row->request)
		ret = -EPROTO;		/* a transmit context accepts answers only */
	else
		ret = rx->row->receive(conn);
	rx->since = jiffies;
	if (!ret)
		kfp_rx_payload_done(conn);
	else if (ret == -EAGAIN || ret == -ENOMEM)
		kfp_rx_block(conn, ret);
	else
		kfp_rx_error(conn, ret);
}

static void kfp_rx_header(struct kfp_conn *conn, const struct kfw_hdr *hdr)
{
	struct kfp_rx *rx = &conn->rx;

	if (kfw_decode(hdr, conn->link.eager, &rx->f) || kfp_rx_credit(conn)) {
		kfp_rx_error(conn, -EPROTO);
		return;
	}
	rx->have = 0;
	if (rx->f.rma_count || rx->f.places)
		__kfp_rx_set_at(conn, KFP_RX_SEGS);
	else
		kfp_rx_proceed(conn);
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

/* Collect bytes of the peer's hello. Called under the link's lock. Return: bytes used. */
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
	if (ret) {
		kfp_rx_error(conn, ret);
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

/* ---- callbacks of the link ---- */

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

size_t kfi_link_rx_head(struct kfi_link *link, const void *bytes, size_t len)
{
	struct kfp_conn *conn = link_conn(link);
	struct kfp_rx *rx = &conn->rx;
	struct kfw_hdr hdr __uninitialized;
	size_t used, want;

	if (likely(rx->at == KFP_RX_HDR)) {
		if (likely(!rx->have && len >= sizeof(hdr))) {
			/* A local sender may still write to a page that it has spliced. */
			memcpy(&hdr, bytes, sizeof(hdr));
			used = sizeof(hdr);
			rx->bytes += used;
			kfp_rx_header(conn, &hdr);
			return used;
		}
		used = kfp_rx_collect(rx, &rx->hdr, sizeof(rx->hdr), bytes, len);
		rx->bytes += used;
		if (rx->have == sizeof(rx->hdr))
			kfp_rx_header(conn, &rx->hdr);
		return used;
	}
	if (rx->at == KFP_RX_SEGS) {
		want = rx->f.rma_count * sizeof(*rx->segs) +
		       rx->f.places * sizeof(struct kfw_place);
		used = kfp_rx_collect(rx, rx->segs, want, bytes, len);
		rx->bytes += used;
		if (rx->have == want)
			kfp_rx_proceed(conn);
		return used;
	}
	return kfp_hello_bytes(conn, bytes, len);
}
EXPORT_SYMBOL_GPL(kfi_link_rx_head);

bool kfi_link_rx_live(struct kfi_link *link)
{
	struct kfp_rx *rx = &link_conn(link)->rx;

	if (rx->mr && kfi_mr_live(rx->mr, rx->key))
		return true;
	rx->status = EREMOTEIO;		/* EACCES would mean that nothing was written */
	return false;
}
EXPORT_SYMBOL_GPL(kfi_link_rx_live);

void kfi_link_rx_payload(struct kfi_link *link, size_t len)
{
	struct kfp_conn *conn = link_conn(link);

	conn->rx.bytes += len;
	if (conn->rx.at == KFP_RX_PAYLOAD)
		__kfi_stat_add(&conn->ep->ep, bounced, len);
	link->left -= len;
	if (!link->left)
		kfp_rx_payload_done(conn);
}
EXPORT_SYMBOL_GPL(kfi_link_rx_payload);

size_t kfi_link_rx_bytes(struct kfi_link *link, const void *bytes, size_t len)
{
	u8 want = smp_load_acquire(&link->want);	/* pairs with kfp_rx_set_at() */

	if (want == KFI_WANT_STOP)
		return 0;
	if (want == KFI_WANT_HEAD)
		return kfi_link_rx_head(link, bytes, len);
	len = min_t(u64, len, link->left);
	if (want == KFI_WANT_REGION)
		rcu_read_lock();
	if (want != KFI_WANT_SKIP && (want != KFI_WANT_REGION || kfi_link_rx_live(link)))
		WARN_ON_ONCE(kfi_copy_to(link->into, bytes, len) != len);
	if (want == KFI_WANT_REGION)
		rcu_read_unlock();
	kfi_link_rx_payload(link, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_link_rx_bytes);

/*
 * Read from the link. The link may hold hundreds of thousands of short frames: its read() ends
 * early, and rx_work continues.
 */
static void kfp_rx_run(struct kfp_conn *conn)
{
	/* pairs with kfp_conn_start() */
	bool ready = smp_load_acquire(&conn->state) == KFP_READY;
	u64 before = conn->rx.bytes;
	bool all;

	/*
	 * During the handshake only hellos are read, and none before the handshake has begun. After
	 * a failure nothing is read: a peer on this machine may have aborted the connection, and
	 * the bytes that are left may be pages that its consumer uses again.
	 */
	if (test_bit(KFP_FAILED, &conn->flags) || conn->rx.at == KFP_RX_BLOCKED ||
	    (!ready && (conn->state == KFP_NEW || conn->rx.at != KFP_RX_HELLO)))
		return;
	all = conn->ops->read(&conn->link);
	if (conn->rx.bytes != before)
		WRITE_ONCE(conn->rx.last_rx, jiffies);
	if (!ready || conn->rx.at == KFP_RX_BLOCKED)
		return;
	if (!all)
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
 * while &kfi_link.want was KFI_WANT_STOP. @at is read under the link's lock, because a read() that
 * has met the end of a hello still looks at @want: without the lock the hello work could set @want
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
 * the last call give the peer one second. Bytes that this side does not read are not late. Called
 * under the link's lock.
 */
bool kfp_rx_late(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfp_protocol *const *p;
	unsigned long timeout = kfp_peer_timeout(conn);
	unsigned long extra = kfp_transfer_time(rx->bytes - rx->watched);
	bool payload = rx->at == KFP_RX_PAYLOAD || rx->at == KFP_RX_SKIP;
	bool late = false;

	for (p = kfp_protocols; *p; p++)
		if ((*p)->watch)
			late |= (*p)->watch(conn, extra);
	rx->watched = rx->bytes;
	rx->since = kfp_extend(rx->since, jiffies, extra);
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
