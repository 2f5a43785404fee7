// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - receive: the contents of socket buffers are offered to the protocol piece by piece, in
 * softirq when they arrive, or in a work item of the protocol. Payload is copied once, to its
 * destination. All functions are called under the socket lock.
 */
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

#define KS_HEAD		64	/* bytes of a header that are copied if they are not contiguous */
#define KS_SHORT	1024	/* payload up to this length is copied by memcpy() */

/**
 * struct ks_span - received bytes that are contiguous in memory
 * @bytes: their address
 * @len: their number; 0 if they have to be copied from the buffer
 */
struct ks_span {
	const void	*bytes;
	size_t		len;
};

/* Find the first of @len bytes of a buffer. Mostly all of them are contiguous. */
static struct ks_span ks_rx_span(const struct sk_buff *skb, unsigned int off, size_t len)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	unsigned int linear = skb_headlen(skb);

	if (off < linear)
		return (struct ks_span) { skb->data + off, min_t(size_t, len, linear - off) };
	off -= linear;
	if (!skb_shinfo(skb)->nr_frags || !skb_frags_readable(skb) || off >= skb_frag_size(frag) ||
	    PageHighMem(skb_frag_page(frag)))
		return (struct ks_span) {};
	return (struct ks_span) {
		skb_frag_address(frag) + off, min_t(size_t, len, skb_frag_size(frag) - off),
	};
}

/* Pass a header to the protocol, or the first part of it if it has many segments. */
static size_t ks_rx_head(struct kfi_link *link, struct sk_buff *skb, unsigned int off, size_t len,
			 const struct ks_span *span)
{
	u8 head[KS_HEAD];

	if (likely(span->len >= min_t(size_t, len, KS_HEAD)))
		return kfi_link_rx_head(link, span->bytes, span->len);
	len = min_t(size_t, len, sizeof(head));
	skb_copy_bits(skb, off, head, len);
	return kfi_link_rx_head(link, head, len);
}

static size_t ks_rx_payload(struct kfi_link *link, struct sk_buff *skb, unsigned int off,
			    size_t len, const struct ks_span *span)
{
	struct iov_iter *into = link->into;
	size_t n = min_t(u64, len, link->left);

	if (likely(n == link->left && n <= min_t(size_t, KS_SHORT, span->len) &&
		   iov_iter_is_kvec(into) && into->nr_segs == 1)) {
		memcpy(into->kvec->iov_base + into->iov_offset, span->bytes, n);
		iov_iter_advance(into, n);	/* more data of a read may follow */
	} else {
		WARN_ON_ONCE(skb_copy_datagram_iter(skb, off, into, n));
	}
	kfi_link_rx_payload(link, n);
	return n;
}

static size_t ks_rx_region(struct kfi_link *link, struct sk_buff *skb, unsigned int off, size_t len)
{
	size_t n = min_t(u64, len, link->left);

	rcu_read_lock();
	if (kfi_link_rx_live(link))
		WARN_ON_ONCE(skb_copy_datagram_iter(skb, off, link->into, n));
	rcu_read_unlock();
	kfi_link_rx_payload(link, n);
	return n;
}

static size_t ks_rx_consume(struct kfi_link *link, struct sk_buff *skb, unsigned int off,
			    size_t len, const struct ks_span *span)
{
	switch (smp_load_acquire(&link->want)) {	/* pairs with kfp_rx_set_at() */
	case KFI_WANT_HEAD:
		return ks_rx_head(link, skb, off, len, span);
	case KFI_WANT_PAYLOAD:
		return ks_rx_payload(link, skb, off, len, span);
	case KFI_WANT_REGION:
		return ks_rx_region(link, skb, off, len);
	case KFI_WANT_SKIP:
		len = min_t(u64, len, link->left);
		kfi_link_rx_payload(link, len);
		return len;
	default:
		return 0;	/* TCP's window closes until the protocol continues */
	}
}

/**
 * struct ks_run - a run over the receive queue of a socket
 * @link: the link
 * @steps: remaining steps
 */
struct ks_run {
	struct kfi_link	*link;
	unsigned int	steps;
};

static int ks_rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct ks_run *run = desc->arg.data;
	struct ks_span span = {};
	size_t used, done = 0;

	while (done < len && run->steps) {
		run->steps--;
		if (!span.len)
			span = ks_rx_span(skb, off + done, len - done);
		used = ks_rx_consume(run->link, skb, off + done, len - done, &span);
		if (!used)
			break;
		done += used;
		used = min(used, span.len);
		span.bytes += used;
		span.len -= used;
	}
	return done;
}

/*
 * A receive queue can hold hundreds of thousands of short frames, and this function runs with
 * bottom halves off. So a run ends after KS_RX_STEPS steps, and the protocol calls again later,
 * after other work has had the chance to run on this CPU.
 */
bool ks_read(struct kfi_link *link)
{
	struct ks_run run = { .link = link, .steps = KS_RX_STEPS };
	read_descriptor_t desc = { .arg.data = &run, .count = 1 };
	struct sock *sk = to_ks_link(link)->sk;

	/*
	 * tcp_read_sock() stops at an urgent byte, and what is behind it would stay in the socket
	 * unnoticed. No link sends urgent data.
	 */
	if (unlikely(tcp_sk(sk)->urg_data)) {
		kfi_link_fail(link, -EPROTO);
		return true;
	}
	tcp_read_sock(sk, &desc, ks_rx_actor);
	return run.steps;
}
