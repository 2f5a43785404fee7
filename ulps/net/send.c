// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - frames to peers.
 *
 * A frame is sent as it comes, behind a struct virtio_net_hdr that says what is left to be done:
 * the checksum, and the segmentation. So this side computes neither, and neither does the peer
 * unless it forwards the frame to hardware that can't.
 *
 * Each peer has a transmit queue, so one that is slow does not stop the others. Queue 0 is for
 * frames that go to each peer: a copy is lost where there is no room.
 */
#include <linux/bvec.h>
#include "knet.h"

/**
 * struct knet_cb - &sk_buff.cb of a frame in flight
 * @cqe: done() of the send
 * @link: the link, which ends after all of its sends
 * @bytes: what the byte queue limits know of it; 0: nothing
 */
struct knet_cb {
	struct kfi_cqe		cqe;
	struct knet_link	*link;
	unsigned int		bytes;
};

static struct knet_cb *knet_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct knet_cb) > sizeof(skb->cb));
	return (struct knet_cb *)skb->cb;
}

static struct netdev_queue *link_queue(struct knet_link *link)
{
	return netdev_get_tx_queue(link->peer->kn->dev, link->peer->slot);
}

static void uncharge(struct knet_link *link, unsigned int bytes)
{
	if (!bytes)
		return;
	spin_lock_bh(&link->done_lock);
	netdev_tx_completed_queue(link_queue(link), 1, bytes);
	spin_unlock_bh(&link->done_lock);
}

/* Softirq */
static void knet_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct knet_cb *cb = container_of(cqe, struct knet_cb, cqe);
	struct sk_buff *skb = container_of((char (*)[sizeof_field(struct sk_buff, cb)])cb,
					   struct sk_buff, cb);
	struct knet_link *link = cb->link;

	uncharge(link, cb->bytes);
	if (likely(!wc->err)) {
		dev_consume_skb_any(skb);
		return;
	}
	knet_count(link->peer->kn, KNET_TX_LOST);
	dev_kfree_skb_any(skb);
}

/* Return: the number of pieces */
static unsigned int fill_vec(const struct sk_buff *skb, struct bio_vec *vec)
{
	unsigned int i;

	bvec_set_page(vec++, virt_to_page(skb->data), skb_headlen(skb), offset_in_page(skb->data));
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		bvec_set_page(vec++, skb_frag_page(frag), skb_frag_size(frag), skb_frag_off(frag));
	}
	return 1 + i;
}

static int post(struct knet_link *link, struct sk_buff *skb, u64 flags)
{
	struct bio_vec vec[KNET_SEGS];
	struct kfi_msg msg = {
		.type = KFI_BVEC, .msg_biov = vec, .iov_count = fill_vec(skb, vec),
		.addr = KFI_ADDR_UNSPEC, .context = &knet_cb(skb)->cqe,
	};

	return kfi_sendmsg(link->conn.ep, &msg, KFI_CQE | flags);
}

/* There is room again. Bottom halves are off. */
static void room(struct kfid_ep *ep, void *context)
{
	netif_tx_wake_queue(link_queue(context));
}

/* Return: 0: the queue was stopped, and the frame stays with the stack */
static int stop_queue(struct knet_link *link)
{
	struct netdev_queue *txq = link_queue(link);
	int ret;

	netif_tx_stop_queue(txq);
	ret = kfi_ep_tx_space(link->conn.ep, room, link);
	if (ret && ret != -EALREADY) {
		netif_tx_start_queue(txq);	/* the connection ends */
		return ret;
	}
	knet_count(link->peer->kn, KNET_TX_BUSY);
	return 0;
}

/**
 * struct knet_polled - what this CPU polls
 * @link: the stack gets frames of this link. What it sends there meanwhile, such as
 *	acknowledgements of TCP, waits for the end of the poll, so that the peer is woken once
 * @waits: there is such a frame
 */
struct knet_polled {
	struct knet_link	*link;
	bool			waits;
};

static DEFINE_PER_CPU(struct knet_polled, knet_polled);

void knet_hold(struct knet_link *link)
{
	this_cpu_write(knet_polled.link, link);
	this_cpu_write(knet_polled.waits, false);
}

/*
 * Does a frame wait for the end of the poll? With PREEMPT_RT a poll may be preempted by another one
 * on the same CPU, so nothing waits there.
 */
static bool knet_holds(const struct knet_link *link)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || this_cpu_read(knet_polled.link) != link)
		return false;
	this_cpu_write(knet_polled.waits, true);
	return true;
}

void knet_release(struct knet_link *link)
{
	this_cpu_write(knet_polled.link, NULL);
	if (!this_cpu_read(knet_polled.waits) || !kfi_conn_enter(&link->conn))
		return;
	kfi_ep_tx_flush(link->conn.ep);
	kfi_conn_exit(&link->conn);
}

/*
 * Send a frame, with its header in front. @queue: the queue of the peer is the caller's, and may
 * be stopped. Return: 0; -EBUSY: the queue was stopped; or another error. The frame is the
 * caller's then
 */
static int knet_send(struct knet_link *link, struct sk_buff *skb, bool queue, bool more)
{
	struct knet_cb old = *knet_cb(skb);
	unsigned int len = skb->len;
	bool kick;
	int ret;

	*knet_cb(skb) = (struct knet_cb) {
		.cqe.done = knet_sent, .link = link, .bytes = queue ? len : 0,
	};
	if (!kfi_conn_enter(&link->conn))
		return -ENOTCONN;
	kick = !more;
	if (queue)
		kick = __netdev_tx_sent_queue(link_queue(link), len, more);
	if (knet_holds(link))
		kick = false;
	ret = post(link, skb, kick ? 0 : KFI_MORE);
	if (unlikely(ret)) {
		uncharge(link, queue ? len : 0);
		if (ret == -EAGAIN && queue && !stop_queue(link))
			ret = -EBUSY;
		kfi_ep_tx_flush(link->conn.ep);
		*knet_cb(skb) = old;	/* the queue's, if it takes the frame back */
	}
	kfi_conn_exit(&link->conn);
	return ret;
}

/* A copy for each peer. Their heads are shared, and not written to. */
static void flood(struct knet *kn, struct sk_buff *skb)
{
	struct knet_link *link;
	struct knet_peer *peer;
	struct sk_buff *copy;
	unsigned int i, end = READ_ONCE(kn->end);

	for (i = 1; i < end; i++) {
		peer = rcu_dereference(kn->peers[i]);
		link = peer ? rcu_dereference(peer->link) : NULL;
		copy = link ? skb_clone(skb, GFP_ATOMIC) : NULL;
		if (link && (!copy || knet_send(link, copy, false, false))) {
			knet_count(kn, KNET_TX_LOST);
			kfree_skb(copy);
		}
	}
	knet_count(kn, KNET_TX_FLOOD);
	consume_skb(skb);
}

/*
 * Find the peer for a frame. If there is only one, it gets every frame: whatever is behind it can
 * be reached by no other way. Return: its number; 0: each peer gets the frame. RCU section
 */
static unsigned int find_slot(struct knet *kn, const u8 *dest)
{
	unsigned int i, only = 0, n = READ_ONCE(kn->nr_peers), end = READ_ONCE(kn->end);
	struct knet_link *link;
	struct knet_peer *peer;

	if (n != 1 && is_multicast_ether_addr(dest))
		return 0;
	for (i = 1; i < end; i++) {
		peer = rcu_dereference(kn->peers[i]);
		link = peer ? rcu_dereference(peer->link) : NULL;
		if (link && ether_addr_equal(link->mac, dest))
			return i;
		only = peer ? i : only;
	}
	return n == 1 ? only : 0;
}

u16 knet_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev)
{
	unsigned int slot;

	rcu_read_lock();
	slot = find_slot(netdev_priv(dev), skb->data);
	rcu_read_unlock();
	return slot;
}

/* Return: 0; -EBUSY; or another error */
static int send_to(struct knet *kn, struct sk_buff *skb, unsigned int slot)
{
	bool queue = skb_get_queue_mapping(skb) == slot;
	struct knet_peer *peer = rcu_dereference(kn->peers[slot]);
	struct knet_link *link = peer ? rcu_dereference(peer->link) : NULL;

	return link ? knet_send(link, skb, queue, queue && netdev_xmit_more()) : -ENOTCONN;
}

netdev_tx_t knet_xmit(struct sk_buff *skb, struct net_device *dev)
{
	unsigned int len = skb->len, slot = find_slot(netdev_priv(dev), skb->data);
	bool gso = skb_is_gso(skb), csum = skb->ip_summed == CHECKSUM_PARTIAL;
	struct knet *kn = netdev_priv(dev);
	struct virtio_net_hdr hdr;
	int ret = 0;

	if (len > KNET_FRAME || virtio_net_hdr_from_skb(skb, &hdr, true, true, 0) ||
	    skb_cow_head(skb, sizeof(hdr)))
		goto drop;
	skb_tx_timestamp(skb);
	memcpy(skb_push(skb, sizeof(hdr)), &hdr, sizeof(hdr));
	if (slot)
		ret = send_to(kn, skb, slot);
	else
		flood(kn, skb);
	if (ret == -EBUSY) {
		skb_pull(skb, sizeof(hdr));
		return NETDEV_TX_BUSY;
	}
	if (ret)
		goto drop;
	if (gso)
		knet_count(kn, KNET_TX_GSO);
	if (csum)
		knet_count(kn, KNET_TX_CSUM);
	dev_sw_netstats_tx_add(dev, 1, len);
	return NETDEV_TX_OK;
drop:
	dev_core_stats_tx_dropped_inc(dev);
	knet_count(kn, KNET_TX_LOST);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}
