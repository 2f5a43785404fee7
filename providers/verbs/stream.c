// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - the byte streams of a link: SENDs to receives that the peer has posted, and WRITEs to
 * places.
 *
 *   kv_post_unit()	sends frames and payload, in the stream or to places of the peer
 *   kv_stream_sent()	softirq: work requests have ended
 *   kv_recv_done()	softirq: a SEND of the peer has arrived
 *   kv_read()		passes received bytes to the protocol
 *   kv_stream_run()	sends messages of the link itself
 *
 * Each SEND has the number of receives that its sender has posted since the connection began. The
 * peer never sends more SENDs than that, so no device has to wait for a receive. Only a SEND
 * without bytes of the stream may use the last KVW_RESERVE receives, so that both sides can always
 * report new receives. The protocol's credits are independent of this.
 *
 * The head and short payload of a SEND are copied to the buffer of its work request. The device
 * reads longer payload from the memory of its owner, until kv_sent_to() has passed it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "verbs.h"

#define KV_COPY		256	/* payload up to this length is copied */

/* ---- messages of the link ---- */

/* Fill in the head of a SEND, with all pending KV_DUE_* bits. */
static void kv_put_head(struct kv_stream *s, struct kv_sqe *e)
{
	struct kvw_head *head = e->buf;

	*head = (struct kvw_head) {
		.limit = cpu_to_le32(s->recvs_posted),
		.flags = cpu_to_le16((s->due & BIT(KV_DUE_PING) ? KVW_F_PING : 0) |
				     (s->due & BIT(KV_DUE_PONG) ? KVW_F_PONG : 0)),
	};
	s->recvs_advertised = s->recvs_posted;
	s->due = 0;
	s->sent++;
}

/* Put a SEND: @bytes of the buffer of @e, including the head, then its mapped segments. */
static void kv_put_send(struct kv_stream *s, struct kv_sqe *e, u32 bytes)
{
	kv_put_head(s, e);
	kv_put_buf(&s->qp, e, bytes);
	e->wr.send.opcode = IB_WR_SEND;
	kv_sq_put(&s->qp, e, &e->wr.send, e->mapped);
}

static bool kv_stream_open_now(const struct kv_stream *s)
{
	return s->qp.up && !s->ended && !s->qp.broken;
}

static void kv_stream_post(struct kv_stream *s)
{
	int ret = kv_sq_post(&s->qp);

	if (unlikely(ret))
		kv_stream_end(s, ret);
}

/* Send pending messages of the link, and invalidations. Called under the lock. */
void kv_stream_run(struct kv_stream *s)
{
	struct kv_sqe *e;

	lockdep_assert_held(&s->qp.lock);
	if (!kv_stream_open_now(s))
		return;
	while (kv_put_ending(s))
		;
	if (s->due && kv_sq_room(&s->qp) && s->limit != s->sent) {
		e = kv_sq_get(&s->qp, KV_SQ_OTHER);
		e->nsge = 1;
		kv_put_send(s, e, sizeof(struct kvw_head));
	}
	kv_stream_post(s);
}

/*
 * Request an answer from the peer. It arrives after all SENDs that the peer has sent before. Called
 * under the lock.
 */
static void kv_stream_ping(struct kv_stream *s)
{
	s->pinged = true;
	__set_bit(KV_DUE_PING, &s->due);
	kv_stream_run(s);
}

/* ---- sending ---- */

/* Remember the position of payload in the memory of its owner: @e is the last such request. */
static void kv_mapped(struct kv_stream *s, struct kv_sqe *e)
{
	e->kind = KV_SQ_MAPPED;
	if (s->mapped++)
		s->last_mapped->next = s->posted;
	else
		s->read_to = s->posted;
	s->last_mapped = e;
}

/*
 * Map payload, which begins at @s->posted, and add it to the segments of @e. Return: bytes; 0 if
 * the caller has to copy it
 */
static u32 kv_map(struct kv_stream *s, struct kv_sqe *e, struct kfi_unit *unit, u32 len,
		  unsigned int pieces)
{
	struct iov_iter from = *unit->payload;
	ssize_t n;

	if (!(unit->flags & KFI_UNIT_SPLICE) || len <= KV_COPY || !pieces)
		return 0;
	n = kv_sq_map(&s->qp, e, &from, len, pieces, DMA_TO_DEVICE);
	if (unlikely(n < 0)) {
		kv_sq_unmap(&s->qp, e);
		e->nsge = min_t(u8, e->nsge, 1);
		return 0;
	}
	*unit->payload = from;
	kv_mapped(s, e);
	return n;
}

/* Put one SEND with as much of the unit as fits. Return: 0, -EAGAIN */
static int kv_send(struct kv_stream *s, struct kfi_unit *unit)
{
	u32 at = sizeof(struct kvw_head), head, n = 0;
	struct kv_sqe *e;

	if (kv_sq_room(&s->qp) < KV_SQ_ROOM || s->limit - s->sent <= KVW_RESERVE)
		return -EAGAIN;
	e = kv_sq_get(&s->qp, KV_SQ_OTHER);
	e->nsge = 1;
	head = min(unit->len - unit->done, s->qp.buf_size - at);
	memcpy(e->buf + at, unit->head + unit->done, head);
	at += head;
	unit->done += head;
	s->posted += head;
	if (unit->done == unit->len && unit->left) {
		n = min_t(u64, unit->left, KVW_SEND_MAX - at);
		head = kv_map(s, e, unit, n, min_t(u32, KV_SGE, s->qp.kdom->max_send_sge - 1));
		if (head) {
			n = head;
		} else {
			n = min(n, s->qp.buf_size - at);
			WARN_ON_ONCE(kfi_copy_from(e->buf + at, unit->payload, n) != n);
			at += n;
		}
		unit->left -= n;
	}
	s->posted += n;
	kv_put_send(s, e, at);
	return 0;
}

/* Find the place that has byte @at of the payload. @at: position in that place */
static const struct kfi_link_place *kv_place_find(const struct kfi_unit *unit, u64 *at)
{
	const struct kfi_link_place *place = unit->place;

	for (; place < unit->place + unit->nplaces; place++) {
		if (*at < place->len)
			return place;
		*at -= place->len;
	}
	return NULL;
}

/* Write payload to one place of the peer, by one work request. Return: 0, -EAGAIN, -EPROTO */
static int kv_send_placed(struct kv_stream *s, struct kfi_unit *unit, u64 at)
{
	const struct kfi_link_place *place = kv_place_find(unit, &at);
	struct kv_sqe *e;
	u32 len, n;

	if (!place)
		return -EPROTO;
	if (kv_sq_room(&s->qp) < KV_SQ_ROOM)
		return -EAGAIN;
	e = kv_sq_get(&s->qp, KV_SQ_OTHER);
	len = min3(unit->left, place->len - at, (u64)s->qp.kdom->max_wr_size);
	n = kv_map(s, e, unit, len, min_t(u32, KV_SGE, s->qp.kdom->max_send_sge));
	if (!n) {
		n = min(len, s->qp.buf_size);
		WARN_ON_ONCE(kfi_copy_from(e->buf, unit->payload, n) != n);
		e->nsge = 1;
		kv_put_buf(&s->qp, e, n);
	}
	e->wr.rdma.wr.opcode = IB_WR_RDMA_WRITE;
	e->wr.rdma.remote_addr = place->at + at;
	e->wr.rdma.rkey = place->key;
	unit->left -= n;
	s->posted += n;
	kv_sq_put(&s->qp, e, &e->wr.rdma.wr, e->mapped);
	return 0;
}

int kv_post_unit(struct kfi_link *link, struct kfi_unit *unit)
{
	struct kv_stream *s = kv_stream_of(link);
	u64 before = unit->left;
	int ret = 0;

	if (!kv_stream_open_now(s))
		return -EAGAIN;		/* kfi_link_down() was called, or kfi_link_up() follows */
	while (!ret && unit->nplaces && unit->left)
		ret = kv_send_placed(s, unit, unit->at + before - unit->left);
	while (!ret && !unit->nplaces && (unit->done < unit->len || unit->left))
		ret = kv_send(s, unit);
	s->starved |= ret == -EAGAIN;
	kv_stream_post(s);	/* also after places, because no frame may follow in this run */
	return ret;
}

/* Shorter payload is copied in any case. */
bool kv_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len)
{
	return len > KV_COPY;
}

/* Return the position of the oldest payload that the device may still read. */
u64 kv_sent_to(const struct kfi_link *link)
{
	const struct kv_stream *s = kv_stream_of(link);

	if (!s)
		return U64_MAX;		/* closed */
	return s->mapped ? s->read_to : s->posted;
}

/* Requests end in the order of the stream. */
static void kv_sent_one(struct kv_sqe *e, int err, void *stream)
{
	struct kv_stream *s = stream;

	if (e->kind == KV_SQ_INV) {
		kv_frmr_ended(s, e->frmr, err);
	} else {
		s->mapped--;
		s->read_to = e->next;
	}
}

static int kv_sent_error(const struct ib_wc *wc)
{
	switch (wc->status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_WR_FLUSH_ERR:
		return -ESHUTDOWN;
	case IB_WC_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	default:
		return -ECONNRESET;
	}
}

/* The protocol may send more. */
static void kv_stream_room(struct kv_stream *s)
{
	if (!s->link || !s->starved)
		return;
	s->starved = false;
	kfi_link_room(s->link);
}

void kv_stream_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_sqe *e = container_of(wc->wr_cqe, struct kv_sqe, cqe);
	struct kv_stream *s = container_of(e->qp, struct kv_stream, qp);
	int err = kv_sent_error(wc);

	kfi_batch_begin();
	spin_lock(&s->qp.lock);
	kv_sq_reported(e, err, kv_sent_one, s);
	s->stuck = false;
	if (unlikely(err)) {
		s->qp.broken = true;
		kv_stream_end(s, err);
	} else if (!s->qp.kdom->iwarp) {
		s->qp.last_active = jiffies;	/* over iWARP the peer is not involved */
	}
	if (s->link)
		kfi_link_sent(s->link);
	kv_stream_room(s);
	kv_stream_run(s);
	spin_unlock(&s->qp.lock);
	kfi_batch_end();
}

/* ---- receiving ---- */

static void kv_buf_post(struct kv_stream *s, struct kv_buf *buf)
{
	struct ib_sge sge = { buf->dma, KVW_SEND_MAX, s->qp.lkey };
	struct ib_recv_wr wr = { .wr_cqe = &buf->cqe, .sg_list = &sge, .num_sge = 1 };
	int ret;

	if (s->ended)
		return;
	ib_dma_sync_single_for_device(s->qp.kdom->ib, buf->dma, KVW_SEND_MAX, DMA_FROM_DEVICE);
	ret = ib_post_recv(s->qp.ib, &wr, NULL);
	if (likely(!ret))
		s->recvs_posted++;
	else
		kv_stream_end(s, ret);
}

/* If the peer may wait for new receives, report them in a SEND without other contents. */
static void kv_advertise_soon(struct kv_stream *s)
{
	if (s->recvs_posted - s->recvs_advertised >= s->nbufs / 2)
		__set_bit(KV_DUE_LIMIT, &s->due);
}

void kv_read(struct kfi_link *link)
{
	struct kv_stream *s = kv_stream_of(link);
	struct kv_buf *buf;

	while (s->rxq_tail != s->rxq_head) {
		buf = s->rxq[s->rxq_tail % KV_RECVS];
		buf->at += kfi_link_rx_bytes(link, page_address(buf->page) + buf->at,
					     buf->len - buf->at);
		if (buf->at < buf->len)
			break;
		s->rxq_tail++;
		kv_buf_post(s, buf);
	}
	kv_advertise_soon(s);
	if (!s->receiving)
		kv_stream_run(s);	/* otherwise kv_recv_done() calls it */
}

/* Check a SEND of the peer, and handle its head. */
static int kv_head_in(struct kv_stream *s, struct kv_buf *buf, const struct ib_wc *wc)
{
	struct kvw_head head;
	u32 limit, flags;

	if (wc->opcode != IB_WC_RECV || wc->wc_flags & (IB_WC_WITH_INVALIDATE | IB_WC_WITH_IMM) ||
	    wc->byte_len < sizeof(head))
		return -EPROTO;
	memcpy(&head, page_address(buf->page), sizeof(head));
	limit = le32_to_cpu(head.limit);
	flags = le16_to_cpu(head.flags);
	if (flags & ~(KVW_F_PING | KVW_F_PONG) || head.zero || (s32)(limit - s->limit) < 0 ||
	    limit - s->sent > KVW_RECVS_MAX)
		return -EPROTO;
	s->limit = limit;
	if (flags & KVW_F_PING)
		__set_bit(KV_DUE_PONG, &s->due);
	if (flags & KVW_F_PONG)
		s->pinged = false;
	buf->at = sizeof(head);
	buf->len = wc->byte_len;
	return 0;
}

static void kv_buf_in(struct kv_stream *s, struct kv_buf *buf)
{
	int cpu = raw_smp_processor_id();

	s->receiving = true;
	if (buf->at == buf->len) {
		kv_buf_post(s, buf);
		kv_advertise_soon(s);
	} else {
		s->rxq[s->rxq_head++ % KV_RECVS] = buf;
		if (s->link && s->link->cpu != cpu)
			WRITE_ONCE(s->link->cpu, cpu);	/* work items run on the same CPU */
		if (s->link)
			kfi_link_rx(s->link);
	}
	s->receiving = false;
}

static void kv_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_buf *buf = container_of(wc->wr_cqe, struct kv_buf, cqe);
	struct kv_stream *s = buf->stream;
	int ret = wc->status == IB_WC_SUCCESS ? 0 :
		  wc->status == IB_WC_WR_FLUSH_ERR ? -ESHUTDOWN : -EIO;

	spin_lock(&s->qp.lock);
	if (!ret) {
		ib_dma_sync_single_for_cpu(s->qp.kdom->ib, buf->dma, KVW_SEND_MAX,
					   DMA_FROM_DEVICE);
		s->qp.last_active = jiffies;
		ret = kv_head_in(s, buf, wc);
	}
	if (ret == -EPROTO && s->link)
		kfi_link_fail(s->link, ret);
	if (ret) {
		kv_stream_end(s, ret);
	} else {
		kv_buf_in(s, buf);
		kv_stream_room(s);
		kv_stream_run(s);
		if (wq_has_sleeper(&s->event_wait))
			wake_up_all(&s->event_wait);
	}
	spin_unlock(&s->qp.lock);
}

/* ---- receives ---- */

/* Allocate and post receives, up to @n in all. Process context. Return: 0, -ENOMEM, -EIO */
static int kv_bufs_add(struct kv_stream *s, u32 n)
{
	struct kv_buf *buf;

	for (; s->nbufs < n; s->nbufs++) {
		buf = &s->bufs[s->nbufs];
		buf->page = alloc_pages(GFP_NOIO, get_order(KVW_SEND_MAX));
		if (!buf->page)
			return -ENOMEM;
		buf->dma = ib_dma_map_page(s->qp.kdom->ib, buf->page, 0, KVW_SEND_MAX,
					   DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(s->qp.kdom->ib, buf->dma)) {
			__free_pages(buf->page, get_order(KVW_SEND_MAX));
			buf->page = NULL;
			return -EIO;
		}
		buf->stream = s;
		buf->cqe.done = kv_recv_done;
		spin_lock_bh(&s->qp.lock);
		kv_buf_post(s, buf);
		spin_unlock_bh(&s->qp.lock);
	}
	return 0;
}

static void kv_bufs_free(struct kv_stream *s)
{
	struct kv_buf *buf = s->bufs;
	u32 i;

	for (i = 0; buf && i < s->nbufs; i++, buf++) {
		ib_dma_unmap_page(s->qp.kdom->ib, buf->dma, KVW_SEND_MAX, DMA_FROM_DEVICE);
		__free_pages(buf->page, get_order(KVW_SEND_MAX));
	}
	kvfree(s->bufs);
}

/*
 * The peer has proved its identity: post more receives, and allocate registrations of memory that
 * the peer may write to. Some of the receives may already have been reported to the peer, so the
 * connection continues even if there is not enough memory for all.
 */
void kv_stream_grow(struct kv_stream *s)
{
	s->known = true;
	if (!kv_bufs_add(s, KV_RECVS))
		kv_frmrs_alloc(s);
	spin_lock_bh(&s->qp.lock);
	kv_advertise_soon(s);
	kv_stream_run(s);
	spin_unlock_bh(&s->qp.lock);
}

/* ---- check whether the peer answers ---- */

/* Is a probe in progress? The result of an old probe is not valid now. */
bool kv_probing(const struct kv_stream *s)
{
	unsigned long since = READ_ONCE(s->probing);

	return since && time_before(jiffies, since + 2 * msecs_to_jiffies(KV_PROBE_MS));
}

/*
 * If the peer is silent, send a ping, which its link answers. A peer may send and still not
 * receive: if it has posted fewer receives than it has reported, the local device waits without
 * limit. Then the requests of the send queue would never end, nor would a region whose registration
 * is one of them. Therefore the check of @stuck.
 */
bool kv_stream_watch(struct kv_qp *qp, unsigned long timeout)
{
	struct kv_stream *s = container_of(qp, struct kv_stream, qp);
	bool ping = qp->silent || s->early_ping || kv_probing(s);
	bool waits = (s32)(qp->due - qp->reported) > 0;

	s->early_ping = false;
	if (ping && !s->pinged)
		kv_stream_ping(s);
	if (!waits || !s->stuck) {
		s->stuck = waits;
		s->stuck_since = jiffies;
	} else if (time_after(jiffies, s->stuck_since + timeout)) {
		kv_stream_end(s, -ETIMEDOUT);
	}
	return true;
}

/* ---- begin and end ---- */

/* Return: ERR_PTR(-ENODEV): the device is being removed; ERR_PTR(-ENOMEM) */
struct kv_stream *kv_stream_new(struct kv_ep *vep, struct kfi_link *link,
				const struct kv_qp_ops *ops)
{
	struct kv_domain *kdom = to_kv_domain(vep->pe.ep.domain);
	struct kv_stream *s;

	if (!kv_domain_get(kdom))
		return ERR_PTR(-ENODEV);
	s = kvzalloc(sizeof(*s), GFP_NOIO);
	if (!s) {
		kv_domain_put(kdom);
		return ERR_PTR(-ENOMEM);
	}
	kv_qp_init(&s->qp, ops);
	s->qp.vep = vep;
	s->qp.kdom = kdom;
	s->qp.data = &kv_front;
	s->qp.data_len = sizeof(kv_front);
	s->link = link;
	s->limit = KVW_FIRST;
	s->recvs_advertised = KVW_FIRST;
	INIT_LIST_HEAD(&s->frmrs);
	INIT_LIST_HEAD(&s->ending);
	init_waitqueue_head(&s->event_wait);
	return s;
}

/* Create the queue pair and the first receives. After an error call kv_stream_close(). */
int kv_stream_open(struct kv_qp *qp)
{
	struct kv_stream *s = container_of(qp, struct kv_stream, qp);
	struct kv_qp_need need = {
		.pd = qp->kdom->pd,
		.depth = KV_LINK_SQ,
		.buf_size = KV_LINK_BUF,
		.receives = KV_RECVS,
		.recv_sge = 1,
	};
	int ret = kv_qp_create(qp, &need);

	if (ret)
		return ret;
	s->bufs = kvcalloc(KV_RECVS, sizeof(*s->bufs), GFP_NOIO);
	return s->bufs ? kv_bufs_add(s, KVW_FIRST) : -ENOMEM;
}

/* The connection is established: bytes may be sent, and a SEND may have arrived before. */
void kv_stream_up(struct kv_stream *s)
{
	spin_lock_bh(&s->qp.lock);
	/* The peer may not see a SEND that arrives directly after its answer: siw. */
	s->early_ping = s->qp.kdom->iwarp && s->known;
	kv_cm_up(&s->qp, s->early_ping ? msecs_to_jiffies(KV_EARLY_PING_MS) : 0);
	kv_stream_run(s);
	spin_unlock_bh(&s->qp.lock);
}

/* Record the end of the link, and report it. The first reason counts. Called under the lock. */
void kv_stream_end(struct kv_stream *s, int err)
{
	lockdep_assert_held(&s->qp.lock);
	if (s->ended)
		return;
	WRITE_ONCE(s->ended, err);
	wake_up_all(&s->event_wait);
	if (s->link)
		kfi_link_down(s->link);
}

/* Wait for the answer to a ping. Return: remaining time of @timeout, jiffies; 0: no answer */
static long kv_stream_wait_pong(struct kv_stream *s, long timeout)
{
	return wait_event_timeout(s->event_wait, READ_ONCE(s->ended) || !READ_ONCE(s->pinged),
				  timeout);
}

/*
 * Wait a limited time until the peer has received everything that was sent. The answer to an
 * earlier ping does not cover SENDs after that ping, so first wait for this answer, then send
 * another ping. Nothing else sends a ping any more. For a caller that was not admitted,
 * the time is short: it only has to receive the refusal.
 */
void kv_stream_linger(struct kv_stream *s)
{
	long left = msecs_to_jiffies(s->known ? KV_CLOSE_MS : KV_REFUSE_MS);

	left = kv_stream_wait_pong(s, left);
	if (!left)
		return;
	spin_lock_bh(&s->qp.lock);
	if (kv_stream_open_now(s))
		kv_stream_ping(s);
	spin_unlock_bh(&s->qp.lock);
	kv_stream_wait_pong(s, left);
}

/* On return no data is transferred any more, and the peer has no access to memory of this side. */
void kv_stream_close(struct kv_stream *s)
{
	kv_cm_close(&s->qp);
	kv_frmrs_dereg(s);
	spin_lock_bh(&s->qp.lock);
	kv_sq_flush(&s->qp, -ESHUTDOWN, kv_sent_one, s);
	spin_unlock_bh(&s->qp.lock);
}

void kv_stream_free(struct kv_stream *s)
{
	kv_frmrs_free(s);
	kv_bufs_free(s);
	kv_cm_free(&s->qp);
	kvfree(s);
}
