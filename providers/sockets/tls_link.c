// SPDX-License-Identifier: GPL-2.0
/*
 * tls_link.c - a TCP connection with TLS, as a link of the message protocol.
 *
 * Encryption sleeps, so work items send and receive, and the lock of the link is not the socket
 * lock: post() copies to a ring, and read() passes on what is in a buffer. Neither lock is taken
 * under the other one.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/vmalloc.h>
#include <net/handshake.h>
#include <net/tcp.h>
#include <net/tls.h>
#include <net/tls_prot.h>
#include "tls.h"

#define KS_TLS_RUN	16		/* records, or calls of sendmsg(), in one run of a work item */
#define KS_TLS_RETRY	(HZ / 10)	/* until a work item looks again for memory, or room */
#define KS_TLS_LINGER	(2 * HZ)	/* for the last bytes */
#define KS_TLS_TICKET	4		/* NewSessionTicket, the type of a handshake message */

/* ---- callbacks of the socket, under the socket lock ---- */

static void ks_tls_wait_event(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;

	if (link)
		mod_delayed_work(ks_cm_wq, &to_ks_tls(link)->shake, 0);
}

static void ks_tls_wait_space(struct sock *sk)
{
}

const struct ks_callbacks ks_tls_wait_callbacks = {
	.data_ready	= ks_tls_wait_event,
	.write_space	= ks_tls_wait_space,
	.state_change	= ks_tls_wait_event,
};

/* Records are put together by recvmsg(), so TLS's own callback is not called. */
static void ks_tls_rx_event(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;

	if (link)
		mod_delayed_work(ks_wq, &to_ks_tls(link)->rx, 0);
}

/* TLS's own callback sends records that TCP has accepted in part. */
static void ks_tls_write_space(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;

	if (!link || !sk_stream_is_writeable(sk))
		return;
	to_ks_link(link)->old_write_space(sk);
	mod_delayed_work(ks_wq, &to_ks_tls(link)->tx, 0);
}

static const struct ks_callbacks ks_tls_callbacks = {
	.data_ready	= ks_tls_rx_event,
	.write_space	= ks_tls_write_space,
	.state_change	= ks_tls_rx_event,
};

/* ---- the lock ---- */

static bool ks_tls_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&to_ks_tls(link)->lock);
}

static bool ks_tls_lock(struct kfi_link *link)
{
	spin_lock_bh(&to_ks_tls(link)->lock);
	return true;
}

static void ks_tls_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&to_ks_tls(link)->lock);
}

/* No more bytes come. */
static void ks_tls_end(struct ks_tls_link *tl, int err)
{
	lockdep_assert_held(&tl->lock);
	if (tl->ended)
		return;
	WRITE_ONCE(tl->ended, err);
	if (!tl->closing)
		kfi_link_down(&tl->kl.link);
}

static int ks_tls_ended(const struct kfi_link *link)
{
	return READ_ONCE(to_ks_tls(link)->ended);
}

/* ---- transmit ---- */

static int ks_tls_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct ks_tls_link *tl = to_ks_tls(link);
	size_t room = KS_TLS_OUT - (tl->put - tl->sent), at, n;

	if (tl->ended || tl->closing)
		return -EAGAIN;		/* the end was reported */
	while (room && (unit->done < unit->len || unit->left)) {
		at = tl->put % KS_TLS_OUT;
		n = min_t(size_t, room, KS_TLS_OUT - at);
		if (unit->done < unit->len) {
			n = min_t(size_t, n, unit->len - unit->done);
			memcpy(tl->out + at, unit->head + unit->done, n);
			unit->done += n;
		} else {
			n = min_t(u64, n, unit->left);
			kfi_copy_from(tl->out + at, unit->payload, n);
			unit->left -= n;
		}
		tl->put += n;
		room -= n;
	}
	mod_delayed_work(ks_wq, &tl->tx, 0);
	if (unit->done == unit->len && !unit->left)
		return 0;
	tl->full = true;
	return -EAGAIN;
}

/* All bytes were copied. */
static u64 ks_tls_sent_to(const struct kfi_link *link)
{
	return to_ks_tls(link)->put;
}

/*
 * Send what is in the ring, in records that are as long as they can be. Return: 0 if the ring is
 * empty; bytes; a negative errno
 */
static int ks_tls_send(struct ks_tls_link *tl, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL };
	size_t at = tl->sent % KS_TLS_OUT, len;

	spin_lock_bh(&tl->lock);
	len = tl->put - tl->sent;
	spin_unlock_bh(&tl->lock);
	if (!len)
		return 0;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, tl->out_pages, ARRAY_SIZE(tl->out_pages),
		      at + len);
	iov_iter_advance(&msg.msg_iter, at);
	return sock_sendmsg(tl->kl.sock, &msg);
}

static void ks_tls_sent(struct ks_tls_link *tl, int bytes)
{
	bool full;

	spin_lock_bh(&tl->lock);
	tl->sent += bytes;
	full = tl->full;
	tl->full = false;
	if (full && !tl->closing)
		kfi_link_room(&tl->kl.link);
	spin_unlock_bh(&tl->lock);
}

/*
 * The ring is empty. TLS may still have a part of a record. If TCP had no memory for it, and has
 * nothing else to send, no callback follows: then say that there is room, until TCP takes it.
 */
static void ks_tls_tx_rest(struct ks_tls_link *tl)
{
	struct sock *sk = tl->kl.sk;

	if (!READ_ONCE(tls_get_ctx(sk)->partially_sent_record))
		return;
	lock_sock(sk);
	tl->kl.old_write_space(sk);
	release_sock(sk);
	queue_delayed_work(ks_wq, &tl->tx, KS_TLS_RETRY);
}

static void ks_tls_tx_run(struct ks_tls_link *tl)
{
	unsigned int run;
	int ret;

	for (run = 0; run < KS_TLS_RUN; run++) {
		if (READ_ONCE(tl->closing))
			return;
		ret = ks_tls_send(tl, MSG_DONTWAIT);
		if (!ret) {
			ks_tls_tx_rest(tl);
			return;
		}
		if (ret == -EAGAIN || ret == -ENOMEM) {
			/* Without memory no callback follows. */
			queue_delayed_work(ks_wq, &tl->tx, KS_TLS_RETRY);
			return;
		}
		if (ret < 0) {
			spin_lock_bh(&tl->lock);
			ks_tls_end(tl, ret == -EPIPE ? -ECONNRESET : ret);
			spin_unlock_bh(&tl->lock);
			return;
		}
		ks_tls_sent(tl, ret);
	}
	queue_delayed_work(ks_wq, &tl->tx, 0);
}

static void ks_tls_tx_work(struct work_struct *work)
{
	struct ks_tls_link *tl = container_of(to_delayed_work(work), struct ks_tls_link, tx);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */

	ks_tls_tx_run(tl);
	memalloc_noio_restore(noio);
}

/* ---- receive ---- */

static void ks_tls_read(struct kfi_link *link)
{
	struct ks_tls_link *tl = to_ks_tls(link);

	tl->in_at += kfi_link_rx_bytes(link, tl->in + tl->in_at, tl->in_len - tl->in_at);
	if (tl->in_at < tl->in_len)
		return;
	if (tl->parked && !tl->closing)
		mod_delayed_work(ks_wq, &tl->rx, 0);
	tl->parked = false;
}

/* A record that is no data. Return: 0: it means nothing; a negative errno: the end */
static int ks_tls_control(const struct ks_tls_link *tl, u8 type, int len)
{
	const u8 *bytes = tl->in;

	if (type == TLS_RECORD_TYPE_ALERT && len >= 2) {
		if (bytes[1] == TLS_ALERT_DESC_CLOSE_NOTIFY)
			return -ESHUTDOWN;
		return bytes[0] == TLS_ALERT_LEVEL_WARNING ? 0 : -ECONNRESET;
	}
	if (type == TLS_RECORD_TYPE_HANDSHAKE && len && bytes[0] == KS_TLS_TICKET)
		return 0;
	return -EPROTO;
}

/*
 * Fill the empty buffer. Return: bytes; 0: a record without data; -EAGAIN, -ENOMEM: not now;
 * another negative errno: the end
 */
static int ks_tls_recv(struct ks_tls_link *tl)
{
	union {
		struct cmsghdr	cmsg;
		u8		buf[CMSG_SPACE(sizeof(u8))];
	} u;
	struct msghdr msg = { .msg_control = &u, .msg_controllen = sizeof(u) };
	u8 type;
	int ret;

	iov_iter_bvec(&msg.msg_iter, ITER_DEST, tl->in_pages, ARRAY_SIZE(tl->in_pages), KS_TLS_IN);
	ret = sock_recvmsg(tl->kl.sock, &msg, MSG_DONTWAIT);
	if (ret < 0)
		return ret;
	if (msg.msg_controllen == sizeof(u))	/* no record */
		return ret ? -EPROTO : -ECONNRESET;
	type = tls_get_record_type(tl->kl.sk, &u.cmsg);
	return type == TLS_RECORD_TYPE_DATA ? ret : ks_tls_control(tl, type, ret);
}

/* Return: true if the buffer is empty, and bytes are wanted. */
static bool ks_tls_rx_wanted(struct ks_tls_link *tl)
{
	bool wanted;

	spin_lock_bh(&tl->lock);
	tl->parked = tl->in_at < tl->in_len;
	wanted = !tl->parked && !tl->closing && !tl->ended;
	/* Bytes that the protocol does not read now must not hide that TCP has given up. */
	if (tl->parked && READ_ONCE(tl->kl.sk->sk_state) == TCP_CLOSE)
		ks_tls_end(tl, -ECONNRESET);
	spin_unlock_bh(&tl->lock);
	return wanted;
}

static void ks_tls_rx_run(struct ks_tls_link *tl)
{
	struct kfi_link *link = &tl->kl.link;
	unsigned int run;
	int ret;

	for (run = 0; run < KS_TLS_RUN; run++) {
		if (!ks_tls_rx_wanted(tl))
			return;
		ret = ks_tls_recv(tl);
		if (ret == -EAGAIN || ret == -ENOMEM) {
			/* A part of a record, or a whole one for which there was no memory */
			if (ret == -ENOMEM ||
			    !skb_queue_empty_lockless(&tl->kl.sk->sk_receive_queue))
				queue_delayed_work(ks_wq, &tl->rx, KS_TLS_RETRY);
			return;
		}
		spin_lock_bh(&tl->lock);
		if (ret < 0) {
			ks_tls_end(tl, ret);
		} else {
			tl->in_at = 0;
			tl->in_len = ret;
			WRITE_ONCE(link->cpu, raw_smp_processor_id());
			if (!tl->closing)
				kfi_link_rx(link);
		}
		spin_unlock_bh(&tl->lock);
	}
	queue_delayed_work(ks_wq, &tl->rx, 0);
}

static void ks_tls_rx_work(struct work_struct *work)
{
	struct ks_tls_link *tl = container_of(to_delayed_work(work), struct ks_tls_link, rx);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */

	ks_tls_rx_run(tl);
	memalloc_noio_restore(noio);
}

/* ---- begin ---- */

static void ks_tls_prepare(struct ks_tls_link *tl, bool dialed)
{
	spin_lock_init(&tl->lock);
	tl->dialed = dialed;
	INIT_DELAYED_WORK(&tl->shake, ks_tls_shake_work);
	INIT_DELAYED_WORK(&tl->rx, ks_tls_rx_work);
	INIT_DELAYED_WORK(&tl->tx, ks_tls_tx_work);
	init_completion(&tl->done);
}

static int ks_tls_open(struct kfi_link *link)
{
	ks_tls_prepare(to_ks_tls(link), true);
	return ks_open(link);
}

static int ks_tls_dial(struct kfi_link *link)
{
	int ret = ks_dial_with(link, &ks_tls_wait_callbacks);

	if (!ret)
		ks_tls_start(to_ks_tls(link), KS_TLS_WAIT,
			     READ_ONCE(ks_proto.params.connect_timeout_ms));
	return ret;
}

void ks_tls_called(struct kfi_link *link)
{
	ks_tls_prepare(to_ks_tls(link), false);
}

void ks_tls_accepted(struct kfi_link *link)
{
	ks_tls_start(to_ks_tls(link), KS_TLS_CALLED,
		     READ_ONCE(ks_proto.params.hello_timeout_ms));
}

/*
 * Allocate a buffer of pages. TLS encrypts from pages, and decrypts to pages, without a copy of
 * its own, which it makes of memory that the kernel knows by an address.
 */
static u8 *ks_tls_buffer(struct bio_vec *pages, unsigned int bytes)
{
	u8 *buffer = __vmalloc(bytes, GFP_NOIO);
	unsigned int i;

	for (i = 0; buffer && i < DIV_ROUND_UP(bytes, PAGE_SIZE); i++)
		bvec_set_page(&pages[i], vmalloc_to_page(buffer + i * PAGE_SIZE), PAGE_SIZE, 0);
	return buffer;
}

/*
 * Let TLS decrypt to the buffer before it knows the type of a record. It decrypts again what is no
 * data, or has padding, which tlshd's library does not send. A kernel that refuses this copies.
 */
static void ks_tls_expect_data(struct socket *sock)
{
	unsigned int on = 1;

	sock->ops->setsockopt(sock, SOL_TLS, TLS_RX_EXPECT_NO_PAD, KERNEL_SOCKPTR(&on), sizeof(on));
}

/* The handshake is complete. Return: 0, -ENOMEM */
int ks_tls_up(struct ks_tls_link *tl)
{
	tl->out = ks_tls_buffer(tl->out_pages, KS_TLS_OUT);
	tl->in = ks_tls_buffer(tl->in_pages, KS_TLS_IN);
	if (!tl->out || !tl->in)
		return -ENOMEM;
	memcpy(tl->out_pages + KS_TLS_OUT / PAGE_SIZE, tl->out_pages, sizeof(tl->out_pages) / 2);
	ks_tls_expect_data(tl->kl.sock);
	tl->state = KS_TLS_OPEN;
	ks_link_attach(&tl->kl, &ks_tls_callbacks);
	kfi_link_up(&tl->kl.link);
	mod_delayed_work(ks_wq, &tl->rx, 0);	/* bytes may have come before the callbacks */
	return 0;
}

/* ---- end ---- */

static void ks_tls_detach(struct kfi_link *link)
{
	struct ks_tls_link *tl = to_ks_tls(link);

	spin_lock_bh(&tl->lock);
	WRITE_ONCE(tl->closing, true);
	spin_unlock_bh(&tl->lock);
	ks_tls_shake_end(tl);
	ks_link_detach(link);
	cancel_delayed_work_sync(&tl->rx);
	cancel_delayed_work_sync(&tl->tx);
}

/* Send the rest of the ring, and close_notify. */
static void ks_tls_flush(struct ks_tls_link *tl)
{
	unsigned long until = jiffies + KS_TLS_LINGER;
	int ret = 1;

	while (ret > 0 && time_before(jiffies, until)) {
		tl->kl.sk->sk_sndtimeo = max_t(long, until - jiffies, 1);
		ret = ks_tls_send(tl, 0);
		if (ret > 0)
			ks_tls_sent(tl, ret);
	}
	tls_handshake_close(tl->kl.sock);
}

static void ks_tls_close(struct kfi_link *link, bool abort)
{
	struct ks_tls_link *tl = to_ks_tls(link);

	if (tl->state != KS_TLS_OPEN)
		abort = true;
	else if (!abort)
		ks_tls_flush(tl);
	if (tl->state == KS_TLS_SHAKE || tl->state == KS_TLS_OVER)
		kernel_sock_shutdown(tl->kl.sock, SHUT_RDWR);	/* tlshd may have the socket */
	ks_tls_hold_end(tl);
	ks_link_close(link, abort);
	vfree(tl->out);
	vfree(tl->in);
}

void __init ks_tls_ops_init(struct kfi_link_ops *ops)
{
	ops->link_size	= sizeof(struct ks_tls_link);
	ops->open	= ks_tls_open;
	ops->dial	= ks_tls_dial;
	ops->ended	= ks_tls_ended;
	ops->detach	= ks_tls_detach;
	ops->close	= ks_tls_close;
	ops->released	= NULL;
	ops->trylock	= ks_tls_trylock;
	ops->lock	= ks_tls_lock;
	ops->unlock	= ks_tls_unlock;
	ops->post	= ks_tls_post;
	ops->splices	= NULL;
	ops->sent_to	= ks_tls_sent_to;
	ops->read	= ks_tls_read;
}
