// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - bytes out of TCP: socket buffers go through a small state machine, in softirq when they arrive, or in rx_work.
 *
 * What a frame means, and where its payload belongs, is rx.c's.
 */
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

/* Bytes of a buffer that lie side by side in memory, or NULL: a short frame is mostly there as a whole. */
static const void *ks_rx_bytes(const struct sk_buff *skb, unsigned int off, size_t len)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;

	if (off + len <= skb_headlen(skb))
		return skb->data + off;
	if (off < skb_headlen(skb) || !skb_shinfo(skb)->nr_frags || !skb_frags_readable(skb))
		return NULL;
	off -= skb_headlen(skb);
	if (off + len > skb_frag_size(frag) || PageHighMem(skb_frag_page(frag)))
		return NULL;
	return skb_frag_address(frag) + off;
}

/* Collect @want bytes into @to; true when they are all there. */
static bool ks_rx_collect(struct ks_conn *conn, void *to, u32 want, struct sk_buff *skb, unsigned int off,
			  size_t len, size_t *used)
{
	struct ks_rx *rx = &conn->rx;

	*used = min_t(size_t, len, want - rx->have);
	skb_copy_bits(skb, off, to + rx->have, *used);
	rx->have += *used;
	return rx->have == want;
}

/* The copy: into the receive, the region or the buffer. A region must be alive at this very moment. */
static size_t ks_rx_place(struct ks_conn *conn, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct ks_rx *rx = &conn->rx;
	size_t n = min_t(u64, len, rx->left);
	const void *from;

	/* All of a short message in one buffer: no need for an iterator's generality. */
	if (rx->to == KS_TO_RX && n == rx->left && n <= KS_INLINE && iov_iter_is_kvec(rx->into) &&
	    rx->into->nr_segs == 1) {
		from = ks_rx_bytes(skb, off, n);
		if (likely(from)) {
			memcpy(rx->into->kvec->iov_base + rx->into->iov_offset, from, n);
			rx->left = 0;
			return n;
		}
	}
	rcu_read_lock();
	if (rx->to != KS_TO_MR || (rx->mr && kfi_mr_live(rx->mr, rx->key)))
		WARN_ON_ONCE(skb_copy_datagram_iter(skb, off, rx->into, n));
	else
		rx->status = EREMOTEIO;	/* EACCES says that nothing has moved */
	rcu_read_unlock();
	rx->left -= n;
	return n;
}

/* It is copied before it is looked at: a page that a local sender has spliced in is still his to write. */
static size_t ks_rx_start(struct ks_conn *conn, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct ks_rx *rx = &conn->rx;
	struct skw_hdr hdr;
	const void *bytes = NULL;
	size_t used = sizeof(hdr);

	if (!rx->have && len >= sizeof(hdr))
		bytes = ks_rx_bytes(skb, off, sizeof(hdr));
	if (likely(bytes)) {
		memcpy(&hdr, bytes, sizeof(hdr));
		ks_rx_header(conn, &hdr);
	} else if (ks_rx_collect(conn, &rx->hdr, sizeof(rx->hdr), skb, off, len, &used)) {
		ks_rx_header(conn, &rx->hdr);
	}
	return used;
}

static size_t ks_rx_consume(struct ks_conn *conn, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct ks_rx *rx = &conn->rx;
	size_t used = 0;

	switch (rx->at) {
	case KS_RX_HDR:
		return ks_rx_start(conn, skb, off, len);
	case KS_RX_SEGS:
		if (ks_rx_collect(conn, rx->segs, rx->f.rma_count * sizeof(*rx->segs), skb, off, len, &used))
			ks_rx_proceed(conn);
		return used;
	case KS_RX_PAYLOAD:
		used = ks_rx_place(conn, skb, off, len);
		__kfi_stat_add(&conn->sep->ep, bounced, used);
		if (!rx->left)
			ks_rx_payload_done(conn);
		return used;
	case KS_RX_SKIP:
		used = min_t(u64, len, rx->skip);
		rx->skip -= used;
		if (!rx->skip)
			ks_rx_payload_done(conn);
		return used;
	default:
		return 0;	/* blocked: TCP's window closes until we go on */
	}
}

static int ks_rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct ks_conn *conn = desc->arg.data;
	size_t used, done = 0;

	while (done < len && conn->rx.steps) {
		conn->rx.steps--;
		used = ks_rx_consume(conn, skb, off + done, len - done);
		if (!used)
			break;
		done += used;
	}
	conn->rx.bytes += done;
	if (done)
		WRITE_ONCE(conn->rx.heard, jiffies);
	return done;
}

/*
 * A receive buffer can hold hundreds of thousands of the shortest frames, and all of this runs with
 * bottom halves off. So a run ends after KS_RX_STEPS steps; rx_work goes on with the rest, and lets
 * the CPU have something else in between.
 */
static void ks_rx_run(struct ks_conn *conn)
{
	read_descriptor_t desc = { .arg.data = conn, .count = 1 };

	conn->rx.steps = KS_RX_STEPS;
	if (conn->state == KS_READY && conn->rx.at != KS_RX_BLOCKED && !test_bit(KS_DEAD, &conn->flags))
		tcp_read_sock(conn->sk, &desc, ks_rx_actor);
	if (conn->state != KS_READY || conn->rx.at == KS_RX_BLOCKED)
		return;
	if (!conn->rx.steps)
		ks_conn_queue(conn, &conn->rx_work, 0);
	else
		ks_conn_check(conn);	/* all that came before the end has been read */
}

/*
 * Socket lock held. Handlers run at kfi_batch_end(), when this burst is through; what they post, and what we owe the
 * peer, leaves together right after.
 */
static void ks_rx_burst(struct ks_conn *conn, void (*fn)(struct ks_conn *conn))
{
	bool runner;

	local_bh_disable();
	runner = !test_and_set_bit(0, &conn->busy);
	kfi_batch_begin();
	fn(conn);
	kfi_batch_end();
	if (runner)
		ks_tx_run_locked(conn);
	else
		WRITE_ONCE(conn->kick, true);
	local_bh_enable();
}

void ks_data_ready(struct sock *sk)
{
	struct ks_conn *conn = sk->sk_user_data;
	int cpu = raw_smp_processor_id();

	if (!conn)
		return;
	if (unlikely(conn->cpu != cpu))
		WRITE_ONCE(conn->cpu, cpu);	/* the works follow the packets */
	ks_rx_burst(conn, ks_rx_run);
}

static void ks_rx_again(struct ks_conn *conn)
{
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (conn->rx.at == KS_RX_BLOCKED && !test_bit(KS_FAILED, &conn->flags)) {
		ks_grants_pause(conn, jiffies - conn->rx.blocked);
		ks_rx_proceed(conn);
	}
	ks_rx_run(conn);
}

void ks_rx_work(struct work_struct *work)
{
	struct ks_conn *conn = container_of(to_delayed_work(work), struct ks_conn, rx_work);

	local_bh_disable();
	if (ks_conn_lock(conn)) {
		ks_rx_burst(conn, ks_rx_again);
		ks_conn_unlock(conn);
	} else if (!test_bit(KS_DEAD, &conn->flags)) {
		ks_conn_queue(conn, &conn->rx_work, 1);
	}
	local_bh_enable();
}

/* The completion queue has room again. */
void ks_rx_space(struct kfi_cq_waiter *w)
{
	struct ks_conn *conn = container_of(w, struct ks_conn, rx.space);

	if (!test_bit(KS_DEAD, &conn->flags))
		mod_delayed_work_on(ks_conn_cpu(conn), ks_wq, &conn->rx_work, 0);
}
