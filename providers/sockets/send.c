// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - transmit: frames that the protocol has encoded, and the payload of the last one. All
 * functions are called under the socket lock.
 */
#include <linux/bvec.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

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
