// SPDX-License-Identifier: GPL-2.0
/*
 * talk.c - packets between two kernels: each GID has an RDM endpoint of kfabric at that address,
 * with a connection to each peer, which it opens when it is needed.
 *
 *	kib_packet_send()	any context: the packet waits in &kib_talk.tx
 *	talk_work()		finds the address of the peer, and posts the packet
 *	talk_sent()		softirq: frees it
 *	talk_received()		softirq: kib_packet_came(); the buffer is posted again when that, or
 *				kib_rx_put(), is done with it
 *
 * Packets are those of UD queue pairs, which may be lost. So one for which there is no room is
 * dropped, and pair.c repeats its own. No peer has more than TALK_PEER packets in flight, and those
 * of processes have a part of the room, so peers that do not answer leave room for the others. The
 * endpoint belongs to the kernel: it calls from reserved ports, and takes no callers from others.
 * So a packet comes from the kernel of another node. READY has to come from the address that it
 * names, which is known when this side has sent ASK (talk_is_from()). In a message of a UD queue
 * pair the GID of the sender is that node's word.
 */
#include <linux/if_vlan.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "kib.h"

#define TALK_TX		1024U	/* packets that wait and are in flight */
#define TALK_PROCESSES	512U	/* the same while a process may add one */
#define TALK_PEER	64	/* packets in flight to one peer */
#define TALK_PEER_PROCESSES 32	/* the same while a process may add one */
#define TALK_ANSWERS	8	/* answers to packets of other versions in a second */
#define TALK_PEERS	(TALK_TX + 1)	/* peers whose address is known: one has no packets */

/**
 * struct kib_peer - another node, or this one
 * @entry: in &kib_talk.peers
 * @gid: its GID
 * @addr: its address
 * @packets: in flight
 * @rcu: talk_is_from() may have found it
 */
struct kib_peer {
	struct list_head	entry;
	union ib_gid		gid;
	kfi_addr_t		addr;
	atomic_t		packets;
	struct rcu_head		rcu;
};

/* ---- send ---- */

/* Return: a packet for @len bytes behind the head, or NULL. Context: as @gfp */
struct kib_packet *kib_packet_new(u32 len, gfp_t gfp)
{
	struct kib_packet *packet = kmalloc(struct_size(packet, data, len), gfp);

	if (!packet)
		return NULL;
	packet->len = len;
	packet->peer = NULL;
	packet->of_process = false;
	packet->head = (struct kib_packet_head) {
		.magic = cpu_to_be32(KIB_MAGIC), .version = kib_speaks.highest,
		.version_min = kfi_versions_lowest(&kib_speaks),
	};
	return packet;
}

static void packet_end(struct kib_talk *talk, struct kib_packet *packet)
{
	unsigned long flags;

	if (packet->peer)
		atomic_dec(&packet->peer->packets);
	spin_lock_irqsave(&talk->lock, flags);
	talk->nr_tx--;
	if (!list_empty(&talk->tx) && !talk->closing)	/* kib_talk_close() cancels the work */
		queue_work(kib_wq, &talk->work);
	spin_unlock_irqrestore(&talk->lock, flags);
	kfree(packet);
}

static void talk_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	packet_end(cq->fid.context, container_of(cqe, struct kib_packet, cqe));
}

/* Return: the endpoint of a GID of an interface, or NULL. Under RCU or &kib_fabric.places_lock */
static struct kib_talk *talk_find(struct kib_fabric *fabric, int ifindex, const union ib_gid *gid)
{
	struct kib_talk *talk;

	list_for_each_entry_rcu(talk, &fabric->talks, entry,
				lockdep_is_held(&fabric->places_lock))
		if (*fabric->way ||
		    (talk->ifindex == ifindex && !memcmp(&talk->gid, gid, sizeof(*gid))))
			return talk;
	return NULL;
}

/*
 * Send a packet, or drop it; it belongs to this function. @head.dgid says where to, and @ifindex
 * and @head.sgid from where. Context: any but hard interrupts
 */
void kib_packet_send(struct kib_fabric *fabric, int ifindex, struct kib_packet *packet)
{
	const union ib_gid *from = (const void *)packet->head.sgid;
	struct kib_talk *talk;
	unsigned long flags;

	rcu_read_lock();
	talk = talk_find(fabric, ifindex, from);
	if (talk) {
		spin_lock_irqsave(&talk->lock, flags);
		if (!talk->closing &&
		    talk->nr_tx < (packet->of_process ? TALK_PROCESSES : TALK_TX)) {
			talk->nr_tx++;
			list_add_tail(&packet->entry, &talk->tx);
			queue_work(kib_wq, &talk->work);
			packet = NULL;
		}
		spin_unlock_irqrestore(&talk->lock, flags);
	}
	rcu_read_unlock();
	kfree(packet);
}

/* The oldest peer without packets goes. */
static void peer_forget(struct kib_talk *talk)
{
	struct kib_peer *peer;

	list_for_each_entry_reverse(peer, &talk->peers, entry) {
		if (atomic_read(&peer->packets))
			continue;
		xa_erase(&talk->peers_by_addr, peer->addr);
		kfi_av_remove(talk->av, &peer->addr, 1, 0);
		list_del(&peer->entry);
		talk->nr_peers--;
		kfree_rcu(peer, rcu);
		return;
	}
}

static struct kib_peer *peer_new(struct kib_talk *talk, const union ib_gid *gid)
{
	struct kib_peer *peer;
	struct kfi_info *info;
	int n;

	if (talk->nr_peers >= TALK_PEERS)
		peer_forget(talk);
	if (talk->nr_peers >= TALK_PEERS ||
	    kib_find_gid(talk->dev, KFI_EP_RDM, talk->ifindex, NULL, gid, &info))
		return NULL;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (peer)
		peer->gid = *gid;
	n = peer ? kfi_av_insert(talk->av, info->dest_addr, 1, &peer->addr, 0, NULL) : 0;
	kfi_freeinfo(info);
	if (n == 1 && xa_err(xa_store(&talk->peers_by_addr, peer->addr, peer, GFP_KERNEL))) {
		kfi_av_remove(talk->av, &peer->addr, 1, 0);
		n = 0;
	}
	if (n != 1) {
		kfree(peer);
		return NULL;
	}
	list_add(&peer->entry, &talk->peers);
	talk->nr_peers++;
	return peer;
}

static struct kib_peer *peer_get(struct kib_talk *talk, const union ib_gid *gid)
{
	struct kib_peer *peer;

	list_for_each_entry(peer, &talk->peers, entry) {
		if (memcmp(&peer->gid, gid, sizeof(*gid)))
			continue;
		list_move(&peer->entry, &talk->peers);
		return peer;
	}
	return peer_new(talk, gid);
}

/* The packet is for this node, to which its network need not lead. Return: -ENOENT: it has ended */
static int packet_loop(struct kib_talk *talk, struct kib_packet *packet, int ifindex)
{
	struct kib_rx *rx = kmalloc(sizeof(*rx), GFP_KERNEL);

	if (!rx)
		return -ENOMEM;
	rx->talk = talk;
	rx->looped = true;
	rx->len = packet->len;
	rx->head = packet->head;
	memcpy(rx->data, packet->data, packet->len);
	atomic_inc(&talk->kept);
	local_bh_disable();
	if (!kib_packet_came(talk->fabric, ifindex, rx))
		kib_rx_put(rx);
	local_bh_enable();
	return -ENOENT;
}

static struct kib_packet *packet_next(struct kib_talk *talk)
{
	struct kib_packet *packet;

	spin_lock_irq(&talk->lock);
	packet = list_first_entry_or_null(&talk->tx, struct kib_packet, entry);
	if (packet)
		list_del(&packet->entry);
	spin_unlock_irq(&talk->lock);
	return packet;
}

/* Return: 0; -EAGAIN: the endpoint has no room; or another negative error: the packet is lost */
static int packet_post(struct kib_talk *talk, struct kib_packet *packet)
{
	const union ib_gid *gid = (const void *)packet->head.dgid;
	int ifindex = kib_local_ifindex(talk->fabric, gid);
	struct kib_peer *peer = ifindex ? NULL : peer_get(talk, gid);
	struct kvec vec = { &packet->head, sizeof(packet->head) + packet->len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .context = &packet->cqe,
	};
	int ret;

	if (ifindex)
		return packet_loop(talk, packet, ifindex);
	if (!peer || atomic_read(&peer->packets) >=
		     (packet->of_process ? TALK_PEER_PROCESSES : TALK_PEER))
		return -EHOSTUNREACH;
	packet->cqe.done = talk_sent;
	packet->peer = peer;
	msg.addr = peer->addr;
	atomic_inc(&peer->packets);
	ret = kfi_sendmsg(talk->ep, &msg, KFI_CQE);
	if (!ret)
		return 0;
	atomic_dec(&peer->packets);
	packet->peer = NULL;
	return ret;
}

static void talk_work(struct work_struct *work)
{
	struct kib_talk *talk = container_of(work, struct kib_talk, work);
	unsigned int noio = memalloc_noio_save();	/* reclaim may wait for a new connection */
	struct kib_packet *packet;

	/* An endpoint may have room for fewer: then packets are lost. */
	while ((packet = packet_next(talk)))
		if (packet_post(talk, packet))
			packet_end(talk, packet);
	memalloc_noio_restore(noio);
}

/* ---- receive ---- */

/*
 * Is the packet for a GID of the device? Then store the VLAN of that in @rx->vlan. Context: any
 * but hard interrupts
 */
bool kib_rx_is_for(struct kib_rx *rx, struct kib_dev *dev)
{
	const struct ib_gid_attr *attr;
	const struct net_device *netdev;

	attr = rdma_find_gid(&dev->ib, (const void *)rx->head.dgid, IB_GID_TYPE_ROCE_UDP_ENCAP,
			     NULL);
	if (IS_ERR(attr))
		return false;
	rcu_read_lock();
	netdev = rdma_read_gid_attr_ndev_rcu(attr);
	rx->vlan = !IS_ERR(netdev) && is_vlan_dev(netdev) ? vlan_dev_vlan_id(netdev) : KIB_NO_VLAN;
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return true;
}

static int rx_post(struct kib_rx *rx)
{
	struct kvec vec = { &rx->head, sizeof(rx->head) + KIB_MTU };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .context = &rx->cqe,
	};

	return kfi_recvmsg(rx->talk->ep, &msg, KFI_CQE);
}

/* A queue pair no longer uses what was received. Context: any but hard interrupts */
void kib_rx_put(struct kib_rx *rx)
{
	struct kib_talk *talk = rx->talk;

	if (rx->looped)
		kfree(rx);
	else
		rx_post(rx);	/* fails when the endpoint, or its device, goes */
	if (atomic_dec_and_test(&talk->kept))	/* it may be freed now */
		wake_up_var(&talk->kept);
}

const struct kfi_versions kib_speaks = { .lowest = KIB_VERSION_MIN, .highest = KIB_VERSION };

struct kfi_wire kib_wire = { .name = "RDMA devices", .speaks = &kib_speaks };

/*
 * Say to the sender of a packet what this node speaks, so that the other node names this one, too.
 * An answer is as short as the packet, or shorter, has no answer itself, and is limited for the
 * endpoint, whoever the senders pose as. It gets no more room than packets of processes.
 */
static void packet_answer(const struct kib_rx *rx)
{
	const struct kib_packet_head *head = &rx->head;
	struct kib_packet *packet;

	if (head->type == KIB_PACKET_VERSIONS || !__ratelimit(&rx->talk->answers))
		return;
	packet = kib_packet_new(0, GFP_ATOMIC);
	if (!packet)
		return;		/* the other node says more */
	packet->of_process = true;
	packet->head.type = KIB_PACKET_VERSIONS;
	packet->head.src_qpn = head->dst_qpn;
	packet->head.dst_qpn = head->src_qpn;
	memcpy(packet->head.sgid, head->dgid, sizeof(packet->head.sgid));
	memcpy(packet->head.dgid, head->sgid, sizeof(packet->head.dgid));
	kib_packet_send(rx->talk->fabric, rx->talk->ifindex, packet);
}

/* Is a version common? If not, the log and "kfi show" name the sender, as which anyone may pose. */
static bool packet_versions(const struct kib_rx *rx)
{
	const struct kib_packet_head *head = &rx->head;
	struct kfi_versions agreed, theirs = kfi_versions_read(head->version, head->version_min, 0);
	struct net *net = READ_ONCE(rx->talk->dev->net);	/* only compared */
	int ret = kfi_versions_agree(&kib_speaks, &theirs, &agreed);
	char peer[sizeof("0000:0000:0000:0000:0000:0000:255.255.255.255")];

	if (!ret && !kfi_wire_any_refused())
		return true;
	snprintf(peer, sizeof(peer), "%pI6c", head->sgid);
	if (ret == -EPROTONOSUPPORT) {
		kfi_wire_refused(net, &kib_wire, peer, &theirs);
		packet_answer(rx);
	} else if (!ret) {
		kfi_wire_met(net, &kib_wire, peer);
	}
	return !ret;
}

static bool packet_ok(const struct kib_rx *rx, size_t len)
{
	const struct kib_packet_head *head = &rx->head;

	return len >= sizeof(*head) && head->magic == cpu_to_be32(KIB_MAGIC) &&
	       !(head->flags & ~KIB_PACKET_IMM);
}

/*
 * Has the packet come from the address that it names, and to that which it names? The address of
 * READY is that of a peer to which this side has sent a packet. A way has one other end.
 */
static bool talk_is_from(struct kib_talk *talk, const struct kib_packet_head *head, kfi_addr_t from)
{
	struct kib_peer *peer;
	bool is;

	if (*talk->fabric->way)
		return true;
	if (memcmp(head->dgid, &talk->gid, sizeof(talk->gid)))
		return false;
	if (head->type != KIB_PACKET_READY)
		return true;
	rcu_read_lock();
	peer = xa_load(&talk->peers_by_addr, from);
	is = peer && !memcmp(&peer->gid, head->sgid, sizeof(peer->gid));
	rcu_read_unlock();
	return is;
}

static void talk_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			  const struct kfi_cq_err_entry *wc)
{
	struct kib_rx *rx = container_of(cqe, struct kib_rx, cqe);

	rx->len = wc->len - sizeof(rx->head);
	atomic_inc(&rx->talk->kept);
	if (wc->err || READ_ONCE(rx->talk->closing) || !packet_ok(rx, wc->len) ||
	    !talk_is_from(rx->talk, &rx->head, wc->src_addr) || !packet_versions(rx) ||
	    !kib_packet_came(rx->talk->fabric, rx->talk->ifindex, rx))
		kib_rx_put(rx);
}

/* ---- life ---- */

static int talk_receives(struct kib_talk *talk)
{
	struct kib_rx *rx;
	int i, ret = 0;

	for (i = 0; i < KIB_TALK_RX && !ret; i++) {
		rx = kzalloc(sizeof(*rx), GFP_KERNEL);
		if (!rx)
			return -ENOMEM;
		rx->cqe.done = talk_received;
		rx->talk = talk;
		talk->rx[i] = rx;
		ret = rx_post(rx);
	}
	return ret;
}

/* Packets of ib_cm connect the disks of the machine. Not all providers have the option. */
static void talk_options(struct kib_talk *talk)
{
	size_t yes = 1;

	kfi_setopt(&talk->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &yes, sizeof(yes));
}

static int talk_objects(struct kib_talk *talk, struct kfi_info *info)
{
	int ret;

	struct kfi_cq_attr cq = {	/* each operation has a done() */
		.size = 16, .format = KFI_CQ_FORMAT_DATA, .flags = KFI_CQ_SOFTIRQ,
	};
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC };

	info->tx_attr->size = TALK_TX;	/* info has the default size, which is far less */
	info->rx_attr->size = KIB_TALK_RX;
	ret = kfi_domain(talk->fabric->fabric, info, &talk->domain, talk) ?:
	      kfi_cq_open(talk->domain, &cq, &talk->cq, NULL, talk) ?:
	      kfi_av_open(talk->domain, &av, &talk->av, talk) ?:
	      kfi_endpoint(talk->domain, info, &talk->ep, talk);
	if (ret)
		return ret;
	talk_options(talk);
	return kfi_ep_bind(talk->ep, &talk->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(talk->ep, &talk->av->fid, 0) ?: kfi_enable(talk->ep);
}

/* No device finds the endpoint any more. Waits for packets of others; process context */
void kib_talk_close(struct kib_talk *talk)
{
	struct kib_packet *packet;
	struct kib_peer *peer, *next;
	int i;

	spin_lock_irq(&talk->lock);
	talk->closing = true;
	spin_unlock_irq(&talk->lock);
	cancel_work_sync(&talk->work);
	while ((packet = packet_next(talk)))
		packet_end(talk, packet);
	synchronize_rcu_expedited();		/* for talk_received(), which reads @closing */
	/* the runners of the queue pairs are at it */
	wait_var_event(&talk->kept, !atomic_read(&talk->kept));
	if (talk->ep)
		WARN_ON(kfi_close(&talk->ep->fid));	/* all packets have ended */
	cancel_work_sync(&talk->work);
	list_for_each_entry_safe(peer, next, &talk->peers, entry)
		kfree_rcu(peer, rcu);
	xa_destroy(&talk->peers_by_addr);
	if (talk->av)
		WARN_ON(kfi_close(&talk->av->fid));
	if (talk->cq)
		WARN_ON(kfi_close(&talk->cq->fid));
	if (talk->domain)
		WARN_ON(kfi_close(&talk->domain->fid));
	for (i = 0; i < KIB_TALK_RX; i++)
		kfree(talk->rx[i]);
	kfree(talk);
}

static int talk_open(struct kib_dev *dev, struct kfi_info *info, const char *ifname, int ifindex,
		     const union ib_gid *gid)
{
	struct kib_talk *talk = kzalloc(sizeof(*talk), GFP_KERNEL);
	int ret;

	if (!talk)
		return -ENOMEM;
	talk->fabric = dev->fabric;
	talk->dev = dev;
	talk->gid = *gid;
	strscpy(talk->ifname, ifname, sizeof(talk->ifname));
	talk->ifindex = ifindex;
	talk->wanted = true;
	spin_lock_init(&talk->lock);
	INIT_LIST_HEAD(&talk->tx);
	INIT_LIST_HEAD(&talk->peers);
	xa_init(&talk->peers_by_addr);
	INIT_WORK(&talk->work, talk_work);
	ratelimit_state_init(&talk->answers, HZ, TALK_ANSWERS);
	/* The log does not tell of those that were left out: ratelimit_state_exit() is not called. */
	ratelimit_set_flags(&talk->answers, RATELIMIT_MSG_ON_RELEASE);
	ret = talk_objects(talk, info) ?: talk_receives(talk);
	if (ret)
		kib_talk_close(talk);
	else
		list_add_tail_rcu(&talk->entry, &dev->fabric->talks);
	return ret;
}

/* Store the GID of an endpoint's address. Return: whether it has one; that at a way needs none */
static bool info_gid(const struct kib_fabric *fabric, const struct kfi_info *info,
		     union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (*fabric->way)
		return true;
	if (info->addr_format == KFI_SOCKADDR_IN)
		ipv6_addr_set_v4mapped(((struct sockaddr_in *)info->src_addr)->sin_addr.s_addr,
				       (struct in6_addr *)gid);
	else if (info->addr_format == KFI_SOCKADDR_IN6)
		memcpy(gid, &((struct sockaddr_in6 *)info->src_addr)->sin6_addr, sizeof(*gid));
	else
		return false;
	return kib_local_ifindex(fabric, gid);
}

/*
 * Open the missing endpoints at the addresses of an interface that are GIDs, and mark all of these.
 * Under &kib_fabric.places_lock. Return: 0 or a negative error
 */
int kib_talks_open(struct kib_dev *dev, const char *ifname, int ifindex)
{
	struct kfi_info *list, *info;
	struct kib_talk *talk;
	union ib_gid gid;
	int ret, err = 0;

	ret = kib_find(dev, KFI_EP_RDM, ifname, &list);
	for (info = list; info && !ret; info = info->next) {
		if (!info_gid(dev->fabric, info, &gid))
			continue;
		talk = talk_find(dev->fabric, ifindex, &gid);
		if (talk)
			talk->wanted = true;
		else
			err = talk_open(dev, info, ifname, ifindex, &gid) ?: err;
	}
	kfi_freeinfo(list);
	return ret && ret != -ENODATA && ret != -ENODEV ? ret : err;
}
