// SPDX-License-Identifier: GPL-2.0
/* The traffic class of an endpoint, as the IP packets have it that arrive at the other side. */
#include <linux/in.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/unaligned.h>
#include <uapi/linux/if_ether.h>
#include <uapi/linux/if_packet.h>
#include <uapi/linux/ip.h>
#include <uapi/linux/ipv6.h>
#include <uapi/linux/udp.h>
#include "harness.h"

#define DSCP	46

/* The headers of a packet that are looked at */
union packet {
	struct iphdr	v4;
	struct ipv6hdr	v6;
	u8		raw[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
};

/* Is it TCP or UDP to this port? Then also return its DSCP. Ports are where UDP has them. */
static bool packet_is_for(const union packet *packet, __be16 port, u8 *dscp)
{
	bool v4 = packet->v4.version == 4;
	u8 proto = v4 ? packet->v4.protocol : packet->v6.nexthdr;
	size_t header = v4 ? sizeof(packet->v4) : sizeof(packet->v6);
	const struct udphdr *udp = (void *)packet->raw + header;

	*dscp = (v4 ? packet->v4.tos : get_unaligned_be16(packet->raw) >> 4 & 0xff) >> 2;
	return (proto == IPPROTO_TCP || proto == IPPROTO_UDP) && udp->dest == port;
}

/* Count the packets to @port that have arrived, and those of them with the class. */
static void count_packets(struct socket *sock, __be16 port, int *all, int *with)
{
	union packet packet;
	struct sockaddr_ll from;
	struct kvec vec = { &packet, sizeof(packet) };
	struct msghdr msg = {};
	u8 dscp;

	*all = *with = 0;
	for (;;) {
		memset(&packet, 0, sizeof(packet));
		msg.msg_name = &from;
		if (kernel_recvmsg(sock, &msg, &vec, 1, sizeof(packet), MSG_DONTWAIT) < 0)
			return;
		if (from.sll_pkttype != PACKET_HOST || !packet_is_for(&packet, port, &dscp))
			continue;
		*all += 1;
		*with += dscp == DSCP;
	}
}

static void marked(struct test *t)
{
	struct node_opts opts = { .tclass = KFI_TC_DSCP | DSCP };
	const struct sockaddr_in *addr;
	struct socket *sock;
	struct pair *p;
	int all, with;

	if (strcmp(t->w->provider, "sockets")) {
		test_skip(t, "its packets are not seen here");
		return;
	}
	REQUIRE_EQ(t, sock_create_kern(t->w->side[1].net, AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL),
				       &sock), 0);
	p = pair_open(t, &opts, &opts);
	if (EXPECT(t, p)) {
		still_works(p);
		/* the port is in the same place for IPv4 and IPv6 */
		addr = (const void *)p->b.addr;
		count_packets(sock, addr->sin_port, &all, &with);
		EXPECT(t, with > 0);
		EXPECT_EQ(t, with, all);
	}
	sock_release(sock);
}

const struct test_case tclass_cases[] = {
	{ "tclass.marked", T_ALL, 0, C_MSG, marked },
	{ }
};
