// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - receive: the contents of socket buffers are passed to the protocol, in softirq when
 * they arrive, or in a work item of the protocol. The protocol copies payload once, to its
 * destination. All functions are called under the socket lock.
 */
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

/* Return the address of @len bytes of a buffer if they are contiguous, as mostly; else NULL. */
static const void *ks_rx_flat(const struct sk_buff *skb, unsigned int off, size_t len)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	unsigned int linear = skb_headlen(skb);

	if (off < linear)
		return off + len <= linear ? skb->data + off : NULL;
	off -= linear;
	if (!skb_shinfo(skb)->nr_frags || !skb_frags_readable(skb) ||
	    off + len > skb_frag_size(frag) || PageHighMem(skb_frag_page(frag)))
		return NULL;
	return skb_frag_address(frag) + off;
}

/* Pass on the contents of a buffer. If the protocol leaves some of them, TCP's window closes. */
static int ks_rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	const void *flat = ks_rx_flat(skb, off, len);
	struct kfi_link *link = desc->arg.data;
	struct skb_seq_state seq;
	size_t used = 0, n, here;
	const u8 *bytes;

	if (likely(flat))
		return kfi_link_rx_bytes(link, flat, len);
	skb_prepare_seq_read(skb, off, off + len, &seq);
	do {
		here = min_t(size_t, skb_seq_read(used, &bytes, &seq), len - used);
		if (unlikely(!here)) {	/* memory of a device, which the CPU can't read */
			kfi_link_fail(link, -EFAULT);
			break;
		}
		n = kfi_link_rx_bytes(link, bytes, here);
		used += n;
	} while (n && n == here && used < len);
	skb_abort_seq_read(&seq);
	return used;
}

void ks_read(struct kfi_link *link)
{
	read_descriptor_t desc = { .arg.data = link, .count = 1 };
	struct sock *sk = to_ks_link(link)->sk;

	/*
	 * tcp_read_sock() stops at an urgent byte, and what is behind it would stay in the socket
	 * unnoticed. No link sends urgent data.
	 */
	if (unlikely(tcp_sk(sk)->urg_data))
		kfi_link_fail(link, -EPROTO);
	else
		tcp_read_sock(sk, &desc, ks_rx_actor);
}
