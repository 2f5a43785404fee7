// SPDX-License-Identifier: GPL-2.0
/*
 * dgram.c - DGRAM endpoints over UDP.
 *
 * A message is one datagram: a header (wire.h), then the payload. A datagram that finds no receive
 * is dropped, as UDP drops a datagram without a buffer. Two work items of the endpoint send and
 * receive, because the send path of UDP may sleep, and posts may come from softirq.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/udp.h>
#include "sock.h"
#include "wire.h"

#define KS_DGRAM_RX	65536
/* what the account of the fabric pays for; UDP bounds what its sockets queue */
#define KS_DGRAM_BYTES	(2 * KS_DGRAM_RX + SZ_8K)
/* longest payload over IPv6 */
#define KS_DGRAM_MAX	(65507 - 48 - sizeof(struct ksw_datagram))

/* longest time that the send of a datagram may block; then the datagram is lost */
#define KS_DGRAM_SEND	(HZ / 4)

/**
 * struct ks_dgram - state of a DGRAM endpoint
 * @ke: the endpoint
 * @posted: operations to send, newest first
 * @tx: work item that sends
 * @rx: work item that receives
 * @space: waits for room in the completion queue
 * @old_data_ready: UDP's own callback
 * @buf: buffers of two datagrams: the first is used by @tx, the second by @rx
 */
struct ks_dgram {
	struct ks_ep		*ke;
	struct llist_head	posted;
	struct work_struct	tx;
	struct work_struct	rx;
	struct kfi_cq_waiter	space;
	void			(*old_data_ready)(struct sock *sk);
	void			*buf;
};

int ks_dgram_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct ks_ep *ke = to_ks_ep(ep);
	struct ks_dgram *dg = ke->dgram;
	union kfi_inaddr to;

	memset(op->priv, 0, KFI_PROTO_TX_PRIV);	/* no connection: kfp_op.conn is NULL */
	if (kfi_av_addr(ke->pe.ep.av, op->addr, &to) < 0)
		return -EINVAL;
	rcu_read_lock();
	if (READ_ONCE(ke->pe.conn_set.stop_err)) {
		rcu_read_unlock();
		return -ENODEV;
	}
	llist_add(&op->lnode, &dg->posted);
	/* also with KFI_MORE: the work item sends all that is posted */
	queue_work(ks_wq, &dg->tx);
	rcu_read_unlock();
	return 0;
}

static int ks_dgram_send(struct ks_ep *ke, struct kfi_oper *op)
{
	bool data = op->flags & KFI_REMOTE_CQ_DATA;
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct ksw_datagram *hdr = ke->dgram->buf;
	struct kvec vec = { hdr, sizeof(*hdr) + op->len };
	union kfi_inaddr to = {};
	int ret;

	ret = kfi_av_addr(ke->pe.ep.av, op->addr, &to);
	if (ret < 0)
		return ret;
	*hdr = (struct ksw_datagram) {
		.magic = cpu_to_le32(KSW_MAGIC),
		.version = cpu_to_le16(KSW_VERSION),
		.flags = cpu_to_le16(data ? KSW_F_CQ_DATA : 0),
		.data = cpu_to_le64(data ? op->data : 0),
	};
	if (kfi_copy_from(hdr + 1, &op->iter, op->len) != op->len)
		return -EFAULT;
	kfi_stat_add(&ke->pe.ep, copied, op->len);
	msg.msg_name = &to;
	msg.msg_namelen = ret;
	ret = kernel_sendmsg(ke->udp, &msg, &vec, 1, vec.iov_len);
	if (ret == -EAGAIN)
		return -ENOBUFS;
	return ret < 0 ? ret : 0;
}

static void ks_dgram_tx_work(struct work_struct *work)
{
	struct ks_dgram *dg = container_of(work, struct ks_dgram, tx);
	struct kfi_conn_set *set = &dg->ke->pe.conn_set;
	unsigned int noio = memalloc_noio_save();
	struct llist_node *posted;
	struct kfi_oper *op, *next;
	int ret;

	posted = llist_reverse_order(llist_del_all(&dg->posted));
	llist_for_each_entry_safe(op, next, posted, lnode) {
		ret = ks_dgram_send(dg->ke, op);
		/* After ks_dgram_stop() has shut the socket down, each send fails at once. */
		if (ret)
			ret = READ_ONCE(set->stop_err) ?: ret;
		kfi_tx_complete(op, ret);
	}
	memalloc_noio_restore(noio);
}

/*
 * Deliver the datagram in the buffer. Return false if the completion queue is full; then the
 * datagram stays in the socket.
 */
static bool ks_dgram_deliver(struct ks_ep *ke, const union kfi_inaddr *from, size_t len)
{
	struct ks_dgram *dg = ke->dgram;
	const struct ksw_datagram *hdr = dg->buf + KS_DGRAM_RX;
	struct kfi_rx rx = {
		.len = len, .data = le64_to_cpu(hdr->data),
		.flags = KFI_MSG | (hdr->flags ? KFI_REMOTE_CQ_DATA : 0),
		.src = ke->pe.ep.caps & KFI_SOURCE ? kfi_av_reverse(ke->pe.ep.av, from) :
						     KFI_ADDR_NOTAVAIL,
	};

	switch (kfi_rx_arrive(&ke->pe.ep, &rx, false)) {
	case KFI_RX_MATCHED:
		if (kfi_copy_to(&rx.iter, hdr + 1, rx.room) != rx.room)
			WARN_ON_ONCE(1);
		kfi_rx_complete(&rx, 0);
		return true;
	case KFI_RX_FULL:
		return false;
	default:
		kfi_stat_inc(&ke->pe.ep, unexpected);
		return true;
	}
}

/* Any host can send to a UDP port. A datagram of another format is dropped silently. */
static bool ks_dgram_valid(const struct ksw_datagram *hdr, int got)
{
	return got >= (int)sizeof(*hdr) && got <= (int)(sizeof(*hdr) + KS_DGRAM_MAX) &&
	       le32_to_cpu(hdr->magic) == KSW_MAGIC && le16_to_cpu(hdr->version) == KSW_VERSION &&
	       !(le16_to_cpu(hdr->flags) & ~KSW_F_CQ_DATA) && (hdr->flags || !hdr->data);
}

size_t ks_dgram_max(void)
{
	return KS_DGRAM_MAX;
}

#define KS_DGRAM_BUDGET	64

static void ks_dgram_rx_work(struct work_struct *work)
{
	struct ks_dgram *dg = container_of(work, struct ks_dgram, rx);
	struct ks_ep *ke = dg->ke;
	int i, got;

	if (READ_ONCE(ke->pe.conn_set.stop_err))
		return;
	for (i = 0; i < KS_DGRAM_BUDGET; i++) {
		struct kvec vec = { dg->buf + KS_DGRAM_RX, KS_DGRAM_RX };
		union kfi_inaddr from = {};
		struct msghdr msg = {
			.msg_flags = MSG_DONTWAIT,
			.msg_name = &from, .msg_namelen = sizeof(from)
		};

		/* Peek: without room in the completion queue the datagram stays in the socket. */
		got = kernel_recvmsg(ke->udp, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT | MSG_PEEK);
		if (got == -EAGAIN)
			return;
		if (got < 0)
			continue;	/* an error of the socket, not a datagram */
		if (ks_dgram_valid(dg->buf + KS_DGRAM_RX, got) &&
		    !ks_dgram_deliver(ke, &from, got - sizeof(struct ksw_datagram))) {
			if (kfi_cq_wait_space(ke->pe.ep.rx_cq, &dg->space))
				return;
			continue;	/* there is room already: read the datagram again */
		}
		vec = (struct kvec) { dg->buf + KS_DGRAM_RX, 1 };
		kernel_recvmsg(ke->udp, &msg, &vec, 1, 1, MSG_DONTWAIT | MSG_TRUNC);
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

static struct ks_dgram *ks_dgram_new(struct ks_ep *ke)
{
	struct kfi_account *payer = kfi_ep_account(&ke->pe.ep);
	struct ks_dgram *dg;

	if (kfi_account_charge(payer, KS_DGRAM_BYTES))
		return ERR_PTR(-ENOBUFS);
	dg = kzalloc(sizeof(*dg), GFP_KERNEL_ACCOUNT);
	if (!dg)
		goto uncharge;
	dg->buf = kvmalloc(2 * KS_DGRAM_RX, GFP_KERNEL_ACCOUNT);
	if (!dg->buf)
		goto free_dgram;
	dg->ke = ke;
	init_llist_head(&dg->posted);
	INIT_WORK(&dg->tx, ks_dgram_tx_work);
	INIT_WORK(&dg->rx, ks_dgram_rx_work);
	INIT_LIST_HEAD(&dg->space.link);
	dg->space.fn = ks_dgram_space;
	return dg;

free_dgram:
	kfree(dg);
uncharge:
	kfi_account_uncharge(payer, KS_DGRAM_BYTES);
	return ERR_PTR(-ENOMEM);
}

static int ks_dgram_bind(struct ks_ep *ke)
{
	union kfi_inaddr *addr = &ke->addr;
	int ret;

	ret = ks_socket(kfi_ep_net(&ke->pe.ep), ke->pe.ep.domain->info, addr->sa.sa_family,
			SOCK_DGRAM, &ke->udp);
	if (ret)
		return ret;
	ret = kernel_bind(ke->udp, (void *)&addr->sa, kfi_inaddr_len(addr->sa.sa_family));
	if (!ret)
		ret = min(0, kernel_getsockname(ke->udp, (void *)&addr->sa));
	if (ret) {
		sock_release(ke->udp);
		ke->udp = NULL;
	}
	return ret;
}

int ks_dgram_enable(struct ks_ep *ke)
{
	struct ks_dgram *dg = ks_dgram_new(ke);
	struct sock *sk;
	int ret;

	if (IS_ERR(dg))
		return PTR_ERR(dg);
	ke->dgram = dg;
	ret = ks_dgram_bind(ke);
	if (ret) {
		ks_dgram_close(ke);
		return ret;
	}
	ks_stay(&ke->stay, ke->pe.ep.domain->info, ke->udp);
	sk = ke->udp->sk;
	sk->sk_sndtimeo = KS_DGRAM_SEND;
	ks_set_tclass(ke->udp, ke->pe.ep.info->tx_attr->tclass);
	write_lock_bh(&sk->sk_callback_lock);
	dg->old_data_ready = sk->sk_data_ready;
	sk->sk_user_data = dg;
	sk->sk_data_ready = ks_dgram_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	queue_work(ks_wq, &dg->rx);
	return 0;
}

void ks_dgram_stop(struct ks_ep *ke, int err)
{
	struct ks_dgram *dg = ke->dgram;
	struct kfi_oper *op, *next;
	struct sock *sk;

	if (!dg)
		return;
	sk = ke->udp->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = dg->old_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	synchronize_rcu();	/* callbacks and posts that did not see the stop are complete */
	/* Wakes a blocked send. The operations behind it could each wait for KS_DGRAM_SEND too. */
	kernel_sock_shutdown(ke->udp, SHUT_WR);
	cancel_work_sync(&dg->tx);
	llist_for_each_entry_safe(op, next, llist_reverse_order(llist_del_all(&dg->posted)), lnode)
		kfi_tx_complete(op, err);
	/* a run that begins after this sees stop_err and does not wait for space */
	cancel_work_sync(&dg->rx);
	if (ke->pe.ep.rx_cq)
		kfi_cq_cancel_wait(ke->pe.ep.rx_cq, &dg->space);
	cancel_work_sync(&dg->rx);
	sock_release(ke->udp);
	ke->udp = NULL;
}

void ks_dgram_close(struct ks_ep *ke)
{
	if (!ke->dgram)
		return;
	kvfree(ke->dgram->buf);
	kfree(ke->dgram);
	kfi_account_uncharge(kfi_ep_account(&ke->pe.ep), KS_DGRAM_BYTES);
	ke->dgram = NULL;
}
