// SPDX-License-Identifier: GPL-2.0
/*
 * dgram.c - datagram endpoints over UDP.
 *
 * One message, one datagram: a header as on a stream (struct skw_hdr, type SKW_MSG), then the payload. What finds no
 * receive is dropped, as UDP drops what finds no buffer. Sending and receiving run in two works of the endpoint: UDP's
 * own send path may sleep, and posts may come from softirq.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/udp.h>
#include "sock.h"

#define KS_DGRAM_SEND	(HZ / 4)	/* a link that does not move loses datagrams, and does not hold up an end */

/**
 * struct ks_dgram - what a datagram endpoint has beyond the common part
 * @sep: back
 * @posted: operations to send, newest first
 * @tx: sends them; @rx: receives
 * @space: waits for a slot in the receive queue
 * @old_data_ready: UDP's
 * @buf: two datagrams: one being sent, one being received
 */
struct ks_dgram {
	struct ks_ep		*sep;
	struct llist_head	posted;
	struct work_struct	tx;
	struct work_struct	rx;
	struct kfi_cq_waiter	space;
	void			(*old_data_ready)(struct sock *sk);
	void			*buf;
};

int ks_dgram_tx(struct ks_ep *sep, struct kfi_oper *op)
{
	struct ks_dgram *dg = sep->dgram;
	union kfi_inaddr to;

	if (kfi_av_addr(sep->ep.av, op->addr, &to) < 0)
		return -EINVAL;
	rcu_read_lock();
	if (READ_ONCE(sep->home.stop_err)) {
		rcu_read_unlock();
		return -ENODEV;
	}
	llist_add(&op->lnode, &dg->posted);
	queue_work(ks_wq, &dg->tx);	/* KFI_MORE or not: the work takes all that is there when it runs */
	rcu_read_unlock();
	return 0;
}

static int ks_dgram_send(struct ks_ep *sep, struct kfi_oper *op)
{
	struct skw_frame f = {
		.type = SKW_MSG, .payload = op->len, .len = op->len, .data = op->data,
		.flags = op->flags & KFI_REMOTE_CQ_DATA ? SKW_F_CQ_DATA : 0,
	};
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct skw_hdr *hdr = sep->dgram->buf;
	struct kvec vec = { hdr, sizeof(*hdr) + op->len };
	union kfi_inaddr to = {};
	int ret;

	ret = kfi_av_addr(sep->ep.av, op->addr, &to);
	if (ret < 0)
		return ret;
	skw_encode(&f, hdr);
	if (kfi_copy_from(hdr + 1, &op->iter, op->len) != op->len)
		return -EFAULT;
	kfi_stat_add(&sep->ep, copied, op->len);
	msg.msg_name = &to;
	msg.msg_namelen = ret;
	ret = kernel_sendmsg(sep->udp, &msg, &vec, 1, vec.iov_len);
	if (ret == -EAGAIN)
		return -ENOBUFS;
	return ret < 0 ? ret : 0;
}

static void ks_dgram_tx_work(struct work_struct *work)
{
	struct ks_dgram *dg = container_of(work, struct ks_dgram, tx);
	struct kfi_home *home = &dg->sep->home;
	unsigned int noio = memalloc_noio_save();
	struct llist_node *posted;
	struct kfi_oper *op, *next;
	int err, ret;

	posted = llist_reverse_order(llist_del_all(&dg->posted));
	/*
	 * What has not been sent when the endpoint stops ends without a try: each could wait for
	 * KS_DGRAM_SEND.
	 */
	llist_for_each_entry_safe(op, next, posted, lnode) {
		err = READ_ONCE(home->stop_err);
		ret = err ?: ks_dgram_send(dg->sep, op);
		if (ret == -EPIPE)
			ret = READ_ONCE(home->stop_err) ?: ret;	/* ks_dgram_stop() has woken us */
		kfi_tx_complete(op, ret);
	}
	memalloc_noio_restore(noio);
}

/* A datagram lies in the buffer. Return: false when the completion queue is full: the datagram waits. */
static bool ks_dgram_deliver(struct ks_ep *sep, const union kfi_inaddr *from, const struct skw_frame *f)
{
	struct ks_dgram *dg = sep->dgram;
	struct kfi_rx rx = {
		.len = f->len, .data = f->data,
		.flags = KFI_MSG | (f->flags & SKW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0),
		.src = sep->ep.caps & KFI_SOURCE ? kfi_av_reverse(sep->ep.av, from) : KFI_ADDR_NOTAVAIL,
	};

	switch (kfi_rx_arrive(&sep->ep, &rx, false)) {
	case KFI_RX_MATCHED:
		if (kfi_copy_to(&rx.iter, dg->buf + KS_DGRAM_RX + sizeof(struct skw_hdr), rx.room) != rx.room)
			WARN_ON_ONCE(1);
		kfi_rx_complete(&rx, 0);
		return true;
	case KFI_RX_FULL:
		return false;
	default:
		kfi_stat_inc(&sep->ep, unexpected);
		return true;
	}
}

/* Anybody can send to a UDP port: what is no message of ours is dropped without a word. */
static bool ks_dgram_valid(const struct skw_hdr *hdr, int got, struct skw_frame *f)
{
	return got >= (int)sizeof(*hdr) && !skw_decode(hdr, KS_DGRAM_MAX, f) && f->type == SKW_MSG &&
	       !(f->flags & ~SKW_F_CQ_DATA) && f->payload == got - sizeof(*hdr);
}

#define KS_DGRAM_BUDGET	64

static void ks_dgram_rx_work(struct work_struct *work)
{
	struct ks_dgram *dg = container_of(work, struct ks_dgram, rx);
	struct ks_ep *sep = dg->sep;
	int i, got;

	if (READ_ONCE(sep->home.stop_err))
		return;
	/* Two halves of one buffer: the sending work uses the first, this one the second. */
	for (i = 0; i < KS_DGRAM_BUDGET; i++) {
		struct kvec vec = { dg->buf + KS_DGRAM_RX, KS_DGRAM_RX };
		union kfi_inaddr from = {};
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT, .msg_name = &from, .msg_namelen = sizeof(from) };
		struct skw_frame f;

		/* Peek: a datagram for which there is no completion slot stays in the socket. */
		got = kernel_recvmsg(sep->udp, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT | MSG_PEEK);
		if (got == -EAGAIN)
			return;
		if (got < 0)
			continue;	/* an error of the socket's, which is no datagram */
		if (ks_dgram_valid(dg->buf + KS_DGRAM_RX, got, &f) && !ks_dgram_deliver(sep, &from, &f)) {
			if (kfi_cq_wait_space(sep->ep.rx_cq, &dg->space))
				return;
			continue;	/* room already: the datagram is still there */
		}
		vec = (struct kvec) { dg->buf + KS_DGRAM_RX, 1 };
		kernel_recvmsg(sep->udp, &msg, &vec, 1, 1, MSG_DONTWAIT | MSG_TRUNC);
	}
	queue_work(ks_wq, &dg->rx);
}

static void ks_dgram_space(struct kfi_cq_waiter *w)
{
	queue_work(ks_wq, &container_of(w, struct ks_dgram, space)->rx);
}

static void ks_dgram_ready(struct sock *sk)
{
	struct ks_dgram *dg = sk->sk_user_data;

	if (dg)
		queue_work(ks_wq, &dg->rx);
}

static struct ks_dgram *ks_dgram_new(struct ks_ep *sep)
{
	struct ks_dgram *dg = kzalloc(sizeof(*dg), GFP_KERNEL);

	if (!dg)
		return NULL;
	dg->buf = kvmalloc(2 * KS_DGRAM_RX, GFP_KERNEL);
	if (!dg->buf) {
		kfree(dg);
		return NULL;
	}
	dg->sep = sep;
	init_llist_head(&dg->posted);
	INIT_WORK(&dg->tx, ks_dgram_tx_work);
	INIT_WORK(&dg->rx, ks_dgram_rx_work);
	INIT_LIST_HEAD(&dg->space.link);
	dg->space.fn = ks_dgram_space;
	return dg;
}

static int ks_dgram_bind(struct ks_ep *sep)
{
	union kfi_inaddr *addr = &sep->addr;
	int ret;

	ret = sock_create_kern(kfi_ep_net(&sep->ep), addr->sa.sa_family, SOCK_DGRAM, IPPROTO_UDP, &sep->udp);
	if (ret)
		return ret;
	ret = kernel_bind(sep->udp, (void *)&addr->sa, kfi_inaddr_len(addr->sa.sa_family));
	if (!ret)
		ret = min(0, kernel_getsockname(sep->udp, (void *)&addr->sa));
	if (ret) {
		sock_release(sep->udp);
		sep->udp = NULL;
	}
	return ret;
}

int ks_dgram_enable(struct ks_ep *sep)
{
	struct ks_dgram *dg = ks_dgram_new(sep);
	struct sock *sk;
	int ret;

	if (!dg)
		return -ENOMEM;
	sep->dgram = dg;
	ret = ks_dgram_bind(sep);
	if (ret) {
		ks_dgram_close(sep);
		return ret;
	}
	sk = sep->udp->sk;
	sk->sk_sndtimeo = KS_DGRAM_SEND;
	write_lock_bh(&sk->sk_callback_lock);
	dg->old_data_ready = sk->sk_data_ready;
	sk->sk_user_data = dg;
	sk->sk_data_ready = ks_dgram_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	queue_work(ks_wq, &dg->rx);
	return 0;
}

void ks_dgram_stop(struct ks_ep *sep, int err)
{
	struct ks_dgram *dg = sep->dgram;
	struct kfi_oper *op, *next;
	struct sock *sk;

	if (!dg)
		return;
	sk = sep->udp->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = dg->old_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	synchronize_rcu();	/* callbacks and posters that did not see us stop are through */
	kernel_sock_shutdown(sep->udp, SHUT_WR);	/* wakes a send that waits for room in the socket */
	cancel_work_sync(&dg->tx);
	llist_for_each_entry_safe(op, next, llist_reverse_order(llist_del_all(&dg->posted)), lnode)
		kfi_tx_complete(op, err);
	cancel_work_sync(&dg->rx);	/* a run after this one sees @stopping, and does not wait for space again */
	if (sep->ep.rx_cq)
		kfi_cq_cancel_wait(sep->ep.rx_cq, &dg->space);
	cancel_work_sync(&dg->rx);
	sock_release(sep->udp);
	sep->udp = NULL;
}

void ks_dgram_close(struct ks_ep *sep)
{
	if (!sep->dgram)
		return;
	kvfree(sep->dgram->buf);
	kfree(sep->dgram);
	sep->dgram = NULL;
}
