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

/*
 * Return the address of @len contiguous bytes of a buffer, or NULL. A short frame is mostly
 * contiguous.
 */
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

/* A header, or as much as there is of many segments. */
static size_t ks_rx_head(struct kfi_link *link, struct sk_buff *skb, unsigned int off, size_t len)
{
	size_t linear = off < skb_headlen(skb) ? min_t(size_t, len, skb_headlen(skb) - off) : 0;
	u8 head[KS_HEAD];
	const void *bytes;

	if (linear >= min_t(size_t, len, KS_HEAD))
		return kfi_rx_head(link, skb->data + off, linear);
	bytes = ks_rx_bytes(skb, off, len);
	if (bytes)
		return kfi_rx_head(link, bytes, len);
	len = min_t(size_t, len, sizeof(head));
	bytes = ks_rx_bytes(skb, off, len);
	if (!bytes) {
		skb_copy_bits(skb, off, head, len);
		bytes = head;
	}
	return kfi_rx_head(link, bytes, len);
}

static size_t ks_rx_payload(struct kfi_link *link, struct sk_buff *skb, unsigned int off,
			    size_t len)
{
	struct iov_iter *into = link->into;
	size_t n = min_t(u64, len, link->left);
	const void *from = NULL;

	if (n == link->left && n <= KS_SHORT && iov_iter_is_kvec(into) && into->nr_segs == 1)
		from = ks_rx_bytes(skb, off, n);
	if (likely(from)) {
		memcpy(into->kvec->iov_base + into->iov_offset, from, n);
		iov_iter_advance(into, n);	/* the data of a read has several segments */
	} else {
		WARN_ON_ONCE(skb_copy_datagram_iter(skb, off, into, n));
	}
	kfi_rx_placed(link, n);
	return n;
}

static size_t ks_rx_region(struct kfi_link *link, struct sk_buff *skb, unsigned int off, size_t len)
{
	size_t n = min_t(u64, len, link->left);

	rcu_read_lock();
	if (kfi_rx_live(link))
		WARN_ON_ONCE(skb_copy_datagram_iter(skb, off, link->into, n));
	rcu_read_unlock();
	kfi_rx_placed(link, n);
	return n;
}

static size_t ks_rx_consume(struct kfi_link *link, struct sk_buff *skb, unsigned int off,
			    size_t len)
{
	switch (smp_load_acquire(&link->want)) {	/* pairs with kfp_rx_go() */
	case KFI_RX_HEAD:
		return ks_rx_head(link, skb, off, len);
	case KFI_RX_PAYLOAD:
		return ks_rx_payload(link, skb, off, len);
	case KFI_RX_REGION:
		return ks_rx_region(link, skb, off, len);
	case KFI_RX_SKIP:
		len = min_t(u64, len, link->left);
		kfi_rx_placed(link, len);
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
	size_t used, done = 0;

	while (done < len && run->steps) {
		run->steps--;
		used = ks_rx_consume(run->link, skb, off + done, len - done);
		if (!used)
			break;
		done += used;
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

	tcp_read_sock(to_ks_link(link)->sk, &desc, ks_rx_actor);
	return run.steps;
}
