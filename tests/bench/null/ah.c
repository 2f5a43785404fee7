// SPDX-License-Identifier: GPL-2.0
/*
 * ah.c - addresses of datagrams. Before a datagram stands what RoCE version 2 would have had on the
 * wire: a global routing header, which is an IPv6 header, or an IPv4 header in its last 20 bytes.
 */
#include <linux/ip.h>
#include <linux/in.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include "null.h"

#define ND_HOPS		64

static void nd_put_ipv4(struct iphdr *ip, const union ib_gid *from, const union ib_gid *to)
{
	*ip = (struct iphdr) {
		.version = 4, .ihl = 5, .ttl = ND_HOPS, .protocol = IPPROTO_UDP,
		.saddr = ((const struct in6_addr *)from)->s6_addr32[3],
		.daddr = ((const struct in6_addr *)to)->s6_addr32[3],
	};
	ip->check = ip_fast_csum(ip, ip->ihl);
}

static void nd_put_grh(struct ib_grh *grh, const union ib_gid *from, const union ib_gid *to)
{
	*grh = (struct ib_grh) {
		.version_tclass_flow = cpu_to_be32(6 << 28),
		.next_hdr = IPPROTO_UDP,
		.hop_limit = ND_HOPS,
		.sgid = *from,
		.dgid = *to,
	};
}

int nd_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	const struct ib_global_route *route = rdma_ah_read_grh(attr->ah_attr);
	struct nd_ah *ah = to_nd_ah(ib);

	ether_addr_copy(ah->mac, attr->ah_attr->roce.dmac);
	if (ipv6_addr_v4mapped((const struct in6_addr *)&route->dgid)) {
		ah->net_type = RDMA_NETWORK_IPV4;
		nd_put_ipv4(&ah->hdr.roce4grh, &route->sgid_attr->gid, &route->dgid);
	} else {
		ah->net_type = RDMA_NETWORK_IPV6;
		nd_put_grh(&ah->hdr.ibgrh, &route->sgid_attr->gid, &route->dgid);
	}
	return 0;
}

int nd_destroy_ah(struct ib_ah *ib, u32 flags)
{
	return 0;
}
