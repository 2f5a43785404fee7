/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - what two nodes say to each other. All numbers are big-endian, as in other headers of
 * RDMA.
 *
 * Packets go between the datagram endpoints of two kernels (talk.c): what UD queue pairs send, the
 * MADs of ib_cm among it, and how RC queue pairs find each other (pair.c):
 *
 *	the pair with the lower name		the other one
 *				   ASK -->	(answered when it is in RTR)
 *				<-- READY	with a number that nobody can guess
 *	a call, with that number       -->	accepted
 *
 * A packet of a node without a version in common is answered with VERSIONS, now and then, so that
 * both nodes can name each other. VERSIONS has no answer in any version.
 */
#ifndef KIB_WIRE_H
#define KIB_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <kfi_versions.h>

#define KIB_MAGIC	0x6b666962	/* "kfib" */
#define KIB_VERSION	2	/* highest version that this side speaks */
#define KIB_VERSION_MIN	2	/* lowest version that this side speaks */

enum kib_packet_type {
	KIB_PACKET_UD	= 1,	/* a message of a UD queue pair */
	KIB_PACKET_ASK	= 2,	/* tell me when your queue pair is ready */
	KIB_PACKET_READY = 3,	/* it is: call with @secret */
	KIB_PACKET_VERSIONS = 4,	/* what the sender speaks, and nothing else */
};

#define KIB_PACKET_IMM	1	/* @imm is valid */

/**
 * struct kib_packet_head - the beginning of a packet
 * @magic: KIB_MAGIC
 * @version: highest version that the sender speaks
 * @type: enum kib_packet_type
 * @flags: KIB_PACKET_IMM, or 0
 * @version_min: the lowest one, see kfi_versions_read()
 * @src_qpn: number of the queue pair of the sender
 * @dst_qpn: that of the receiver
 * @qkey: UD: Q_Key; else 0
 * @imm: UD: immediate data, in the order of the program
 * @secret: READY: number of the call; else 0
 * @sgid: GID of the sender
 * @dgid: GID of the receiver
 *
 * Nothing is agreed before a packet is sent, so this head is the same in all versions, and a packet
 * has a form that each version knows that its sender speaks.
 */
struct kib_packet_head {
	__be32	magic;
	u8	version;
	u8	type;
	u8	flags;
	u8	version_min;
	__be32	src_qpn;
	__be32	dst_qpn;
	__be32	qkey;
	__be32	imm;
	__be64	secret;
	u8	sgid[16];
	u8	dgid[16];
};

/**
 * struct kib_hello - the data of a call
 * @magic: KIB_MAGIC
 * @version: highest version that the sender speaks
 * @version_min: the lowest one
 * @zero: 0
 * @qpn: number of the queue pair that is called
 * @zero2: 0
 * @secret: the number that its READY has named
 */
struct kib_hello {
	__be32	magic;
	u8	version;
	u8	version_min;
	u8	zero[2];
	__be32	qpn;
	__be32	zero2;
	__be64	secret;
};

static_assert(sizeof(struct kib_packet_head) == 64 && sizeof(struct kib_hello) == 24);

/*
 * Remote CQ data of a message. The lower 32 bits are the immediate data. A write with immediate
 * data is a write, and an empty message behind it, which has KIB_CQ_WRITE and the number of bytes
 * that were written.
 */
#define KIB_CQ_WRITE		(1ULL << 63)
#define KIB_CQ_LEN_SHIFT	32
#define KIB_CQ_LEN_MASK		0x7fffffffULL

#endif /* KIB_WIRE_H */
