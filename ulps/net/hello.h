/* SPDX-License-Identifier: GPL-2.0 */
/* hello.h - what goes over the network: private data of connections, and frames. */
#ifndef KNET_HELLO_H
#define KNET_HELLO_H

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/types.h>
#include <linux/virtio_net.h>

#define KNET_MAGIC	0x6b6e6574U

enum { KNET_VERSION = 1 };

/* What an answer says; 0 in a call */
enum knet_status {
	KNET_OK,	/* the call is accepted */
	KNET_WAIT,	/* the side that answers has the lower address, and calls */
	KNET_BUSY,	/* the connection before this one has not ended yet: call again */
	KNET_SAME,	/* both have the same Ethernet address */
};

/**
 * struct knet_hello - private data of a call and of its answer
 * @magic: KNET_MAGIC
 * @version: KNET_VERSION
 * @status: &enum knet_status
 * @reserved: 0
 * @session: random number since the device of the sender came up: it has restarted if this changes
 * @mac: Ethernet address of the sender
 * @pad: 0
 */
struct knet_hello {
	__le32	magic;
	__le16	version;
	u8	status;
	u8	reserved;
	__le64	session;
	u8	mac[ETH_ALEN];
	u8	pad[2];
} __packed;

/* A message is a struct virtio_net_hdr in little-endian order, and the frame. */
enum {
	KNET_FRAME	= 65535 + ETH_HLEN + 2 * VLAN_HLEN,	/* bytes of the longest frame */
	KNET_MSG	= KNET_FRAME + sizeof(struct virtio_net_hdr),
};

#endif /* KNET_HELLO_H */
