// SPDX-License-Identifier: GPL-2.0
/*
 * ud.c - address handles, and queue pairs of datagrams: UD, and GSI, by which ib_cm and others of
 * the kernel send MADs. They have no endpoint: their messages are packets of talk.c.
 *
 *	send	the runner copies the message to a packet, and the request has ended
 *	receive	kib_ud_came() queues the packet at the queue pair, and runs it. The runner copies it
 *		to the next receive. Without one the packet is lost; but it waits while the context
 *		of a shared receive queue gives one back
 *
 * A queue pair takes a message whose Q_Key is its own, and that is for a GID of its device. A Q_Key
 * with the upper bit, as that of GSI, is sent only by a queue pair that has it itself, and only
 * those who may send raw packets set one: so a process sends no MADs.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_pack.h>
#include "kib.h"

/* ---- address handles ---- */

/* Store where an address handle, or the attributes of a queue pair, lead. Return: 0 or -EINVAL */
int kib_dest(const struct rdma_ah_attr *attr, struct kib_dest *dest)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct net_device *netdev;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	memset(dest, 0, sizeof(*dest));
	dest->dgid = grh->dgid;
	dest->sgid = grh->sgid_attr->gid;
	dest->sgid_index = grh->sgid_index;
	dest->hop_limit = grh->hop_limit;
	rcu_read_lock();
	netdev = rdma_read_gid_attr_ndev_rcu(grh->sgid_attr);
	dest->ifindex = IS_ERR(netdev) ? 0 : netdev->ifindex;
	rcu_read_unlock();
	return dest->ifindex ? 0 : -EINVAL;
}

int kib_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct kib_ah *ah = container_of(ib, struct kib_ah, ib);
	struct kfi_payer *payer = kib_payer(ib->pd->uobject ? ib->pd->uobject->context : NULL);
	int ret = kib_dest(attr->ah_attr, &ah->dest);

	if (ret || !payer)
		return ret;
	ret = kfi_payer_take(payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	ah->payer = ret ? NULL : payer;
	return ret;
}

/* The MAD layer finds the request that an answer is for by this. */
int kib_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	struct kib_dest *dest = &container_of(ib, struct kib_ah, ib)->dest;

	*attr = (struct rdma_ah_attr) { .type = ib->type };
	rdma_ah_set_grh(attr, &dest->dgid, 0, dest->sgid_index, dest->hop_limit, 0);
	rdma_ah_set_port_num(attr, 1);
	return 0;
}

int kib_destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct kib_ah *ah = container_of(ib, struct kib_ah, ib);

	kfi_payer_give(ah->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	return 0;
}

/* ---- send ---- */

static u32 ud_qkey(const struct kib_qp *qp, u32 asked)
{
	return asked & KIB_QKEY_CONTROLLED ? READ_ONCE(qp->qkey) : asked;
}

/* Store where a message goes: the address handle may go before it starts. Return: 0 or -EINVAL */
int kib_ud_fill(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (!ud->ah || ud->ah->device != qp->ib.device || s->len > KIB_MTU)
		return -EINVAL;
	s->dest = container_of(ud->ah, struct kib_ah, ib)->dest;
	s->remote_qpn = ud->remote_qpn;
	s->rkey = ud_qkey(qp, ud->remote_qkey);
	return 0;
}

/* For the runner. The message has ended when this returns, whatever becomes of it. */
void kib_ud_send(struct kib_qp *qp, struct kib_slot *s)
{
	struct kib_packet *packet = kib_packet_new(s->len, GFP_ATOMIC | __GFP_NOWARN);
	struct kib_packet_head *head;

	if (!packet)
		return;
	packet->of_process = qp->owner;
	head = &packet->head;
	head->type = KIB_PACKET_UD;
	head->src_qpn = cpu_to_be32(qp->ib.qp_num);
	head->dst_qpn = cpu_to_be32(s->remote_qpn);
	head->qkey = cpu_to_be32(s->rkey);
	if (s->opcode == IB_WR_SEND_WITH_IMM) {
		head->flags = KIB_PACKET_IMM;
		head->imm = cpu_to_be32(s->imm);
	}
	memcpy(head->sgid, &s->dest.sgid, sizeof(head->sgid));
	memcpy(head->dgid, &s->dest.dgid, sizeof(head->dgid));
	if (s->len && _copy_from_iter(packet->data, s->len, &s->iter) != s->len) {
		kfree(packet);
		return;
	}
	kib_packet_send(qp->dev->fabric, s->dest.ifindex, packet);
}

/* ---- receive ---- */

/*
 * A message for a queue pair has come. Context: softirq. Return: whether kib_rx_put() follows
 */
bool kib_ud_came(struct kib_qp *qp, struct kib_rx *rx)
{
	enum kib_qp_state state = READ_ONCE(qp->state);

	if (kib_is_connected(qp) || state != KIB_QP_READY ||
	    be32_to_cpu(rx->head.qkey) != READ_ONCE(qp->qkey) || !kib_rx_is_for(rx, qp->dev))
		return false;
	llist_add(&rx->node, &qp->came);
	kib_qp_run(qp);
	return true;
}

/* The header that a message of RoCE has in front: of IPv4 in its latter half */
static void ud_header(const struct kib_packet_head *head, u32 len, union rdma_network_hdr *hdr)
{
	const struct in6_addr *from = (const void *)head->sgid, *to = (const void *)head->dgid;

	memset(hdr, 0, sizeof(*hdr));
	if (ipv6_addr_v4mapped(to)) {
		hdr->roce4grh = (struct iphdr) {
			.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
			.tot_len = cpu_to_be16(sizeof(struct iphdr) + len),
			.saddr = from->s6_addr32[3], .daddr = to->s6_addr32[3],
		};
		hdr->roce4grh.check = ip_fast_csum(&hdr->roce4grh, hdr->roce4grh.ihl);
		return;
	}
	hdr->ibgrh = (struct ib_grh) {
		.version_tclass_flow = cpu_to_be32(6U << 28), .paylen = cpu_to_be16(len),
		.next_hdr = IPPROTO_UDP, .hop_limit = 64,
	};
	memcpy(&hdr->ibgrh.sgid, from, sizeof(*from));
	memcpy(&hdr->ibgrh.dgid, to, sizeof(*to));
}

/* @s has room for the message. */
static void ud_receive(struct kib_slot *s, const struct kib_rx *rx)
{
	union rdma_network_hdr hdr;
	u32 len = sizeof(hdr) + rx->len;

	ud_header(&rx->head, rx->len, &hdr);
	if (_copy_to_iter(&hdr, sizeof(hdr), &s->iter) != sizeof(hdr) ||
	    _copy_to_iter(rx->data, rx->len, &s->iter) != rx->len) {
		s->status = IB_WC_LOC_PROT_ERR;
		return;
	}
	s->len = len;
	s->remote_qpn = be32_to_cpu(rx->head.src_qpn);
	s->wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	s->v4 = ipv6_addr_v4mapped((const void *)rx->head.dgid);
	s->vlan = rx->vlan;
	if (rx->vlan != KIB_NO_VLAN)
		s->wc_flags |= IB_WC_WITH_VLAN;
	if (rx->head.flags & KIB_PACKET_IMM) {
		s->wc_flags |= IB_WC_WITH_IMM;
		s->imm = be32_to_cpu(rx->head.imm);
	}
}

/*
 * Return: a receive with room for @len bytes, which no other message gets; NULL: there is none; or
 * -EAGAIN: that of a shared queue may come, and the queue pair runs again
 */
static struct kib_slot *ud_take(struct kib_qp *qp, u32 len)
{
	struct kib_slot *s;

	if (qp->ib.srq)
		return READ_ONCE(qp->state) == KIB_QP_READY ? kib_srq_take(qp, len) : NULL;
	s = kib_recv_ready(qp);
	if (!s || s->len < len)
		return NULL;
	qp->rq.next++;
	return s;
}

/*
 * Give messages to receives. One that is too long for its receive is lost, and the receive is there
 * for the next one: any node may send one to GSI. Return: whether none waits
 */
static bool ud_give(struct kib_qp *qp)
{
	struct kib_slot *s;
	struct kib_rx *rx;

	for (; qp->held; kib_rx_put(rx)) {
		rx = llist_entry(qp->held, struct kib_rx, node);
		s = ud_take(qp, sizeof(union rdma_network_hdr) + rx->len);
		if (IS_ERR(s))
			return false;
		qp->held = rx->node.next;
		if (!s)
			continue;
		ud_receive(s, rx);
		s->ended(s);
	}
	return true;
}

/* Give the messages that have come until now to receives. For the runner */
void kib_ud_receive(struct kib_qp *qp)
{
	if (!ud_give(qp))
		return;
	qp->held = llist_reverse_order(llist_del_all(&qp->came));
	ud_give(qp);
}

/* The queue pair is destroyed, and no runner has it. */
void kib_ud_end(struct kib_qp *qp)
{
	struct kib_rx *rx, *next;

	llist_for_each_entry_safe(rx, next, qp->held, node)
		kib_rx_put(rx);
	llist_for_each_entry_safe(rx, next, llist_del_all(&qp->came), node)
		kib_rx_put(rx);
}
