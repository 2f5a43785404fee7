// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - the two directions of a connection. All functions are called under the socket lock.
 *
 * Transmit: frames that the protocol has encoded, and the payload of the last one. Receive: the
 * contents of socket buffers are passed to the protocol, in softirq when they arrive, or in a work
 * item of the protocol, which copies payload once, to its destination.
 */
#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/rps.h>
#include <net/tcp.h>
#include "sock.h"

/* ---- transmit ---- */

/*
 * TCP has accepted no bytes. If its send queue is empty, the cause was a lack of memory, and no
 * acknowledgement will call ks_write_space().
 */
static int ks_send_err(const struct sock *sk, int sent)
{
	if (sent && sent != -EAGAIN)
		return sent;
	return READ_ONCE(sk->sk_wmem_queued) ? -EAGAIN : -ENOMEM;
}

/*
 * Count the bytes that the peer's TCP has acknowledged. This has to be called at least once for
 * each 4 GiB, because snd_una wraps. &kfi_link.posted can't be used: it does not contain the unit
 * that is being posted.
 */
static void ks_acked(struct ks_link *kl)
{
	u32 una = tcp_sk(kl->sk)->snd_una;

	kl->acked += una - kl->una;
	kl->una = una;
}

int ks_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct ks_link *kl = to_ks_link(link);
	struct msghdr msg = {};
	struct sock *sk = kl->sk;
	struct kvec head;
	int sent;

	/* RFS brings the answer to this CPU. A post by softirq does not tell where it is wanted. */
	if (in_task())
		sock_rps_record_flow(sk);
	if (unlikely(!link->posted))
		kl->una = tcp_sk(sk)->snd_una;		/* nothing was sent before the hello */
	ks_acked(kl);
	while (unit->done < unit->len) {
		head = (struct kvec) { (void *)unit->head + unit->done, unit->len - unit->done };
		msg.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (unit->left ? MSG_MORE : 0);
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &head, 1, head.iov_len);
		sent = tcp_sendmsg_locked(sk, &msg, head.iov_len);
		if (unlikely(sent <= 0))
			return ks_send_err(sk, sent);
		unit->done += sent;
	}
	if (unit->flags & KFI_UNIT_SPLICE)
		kl->spliced = true;
	while (unit->left) {
		msg.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
				(unit->flags & KFI_UNIT_MORE ? MSG_MORE : 0) |
				(unit->flags & KFI_UNIT_SPLICE ? MSG_SPLICE_PAGES : 0);
		msg.msg_iter = *unit->payload;
		iov_iter_truncate(&msg.msg_iter, unit->left);
		sent = tcp_sendmsg_locked(sk, &msg, iov_iter_count(&msg.msg_iter));
		if (unlikely(sent <= 0))
			return ks_send_err(sk, sent);
		iov_iter_advance(unit->payload, sent);
		unit->left -= sent;
	}
	return 0;
}

/* A reference to a page costs more than a copy of fewer bytes. */
#define KS_SPLICE_MIN	4096

bool ks_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len)
{
	const struct bio_vec *bv = iter->bvec;
	unsigned long i;

	if (len < KS_SPLICE_MIN || !MSG_SPLICE_PAGES || !ks_splice || !iov_iter_is_bvec(iter))
		return false;
	for (i = 0; i < iter->nr_segs; i++)
		if (!sendpages_ok(bv[i].bv_page, bv[i].bv_len, bv[i].bv_offset))
			return false;
	return true;
}

/* Bytes that the peer's TCP has acknowledged are not sent again. */
u64 ks_sent_to(const struct kfi_link *link)
{
	struct ks_link *kl = to_ks_link(link);

	ks_acked(kl);
	return kl->acked;
}

/* ---- receive ---- */

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
