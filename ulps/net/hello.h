/* SPDX-License-Identifier: GPL-2.0 */
/* hello.h - what goes over the network: private data of connections, and frames. */
#ifndef KNET_HELLO_H
#define KNET_HELLO_H

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/types.h>
#include <linux/virtio_net.h>
#include <kfi_versions.h>

#define KNET_MAGIC	0x6b6e6574U

enum {
	KNET_VERSION		= 1,	/* highest version that this side speaks */
	KNET_VERSION_MIN	= 1,	/* lowest version that this side speaks */
	KNET_FEATS		= 0,
};

/* What an answer says; 0 in a call */
enum knet_status {
	KNET_OK,	/* the call is accepted */
	KNET_WAIT,	/* the side that answers has the lower address, and calls */
	KNET_BUSY,	/* the connection before this one has not ended yet: call again */
	KNET_SAME,	/* both have the same Ethernet address */
	KNET_VERSIONS,	/* no version is common */
};

/**
 * struct knet_hello - private data of a call and of its answer
 * @magic: KNET_MAGIC
 * @version: highest version that the sender speaks
 * @version_min: the lowest one, see kfi_versions_read()
 * @status: &enum knet_status
 * @features: optional parts of the format that the sender has
 * @session: random number since the device of the sender came up: it has restarted if this changes
 * @mac: Ethernet address of the sender
 * @pad: 0, ignored
 *
 * The size and the members up to @features are the same in all versions.
 */
struct knet_hello {
	__le32	magic;
	u8	version;
	u8	version_min;
	u8	status;
	u8	features;
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
