/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hello.h - the private data with which two devices connect queue pairs:
 *
 *	caller				listener
 *	kib_hello, data of the ULP -->	(the connection request)
 *				<--	kib_answer, data of the ULP: accepted, or refused
 *
 * A device has one service, whatever the number of its listeners. The hello says which of them is
 * meant. All numbers are big-endian, as in other headers of RDMA.
 */
#ifndef KIB_HELLO_H
#define KIB_HELLO_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define KIB_MAGIC	0x6b666962	/* "kfib" */
#define KIB_VERSION	1

/**
 * struct kib_hello - a call
 * @magic: KIB_MAGIC
 * @version: KIB_VERSION
 * @family: 4 or 6
 * @ird: RDMA reads that the caller answers at a time
 * @ord: RDMA reads that it has in progress at a time
 * @src_port: port of the caller, in the port space of rdma_cm
 * @dst_port: port that it calls, in that of this device's host
 * @zero: 0
 * @src: address of the caller; of IPv4 the first four bytes
 * @dst: address that it calls
 */
struct kib_hello {
	__be32	magic;
	u8	version;
	u8	family;
	__be16	ird;
	__be16	ord;
	__be16	src_port;
	__be16	dst_port;
	__be16	zero;
	u8	src[16];
	u8	dst[16];
};

/**
 * struct kib_answer - the answer to a call
 * @magic: KIB_MAGIC
 * @version: KIB_VERSION
 * @zero: 0
 * @ird: as in struct kib_hello, of the listener
 * @ord: the same
 * @zero2: 0
 */
struct kib_answer {
	__be32	magic;
	u8	version;
	u8	zero;
	__be16	ird;
	__be16	ord;
	__be16	zero2;
};

static_assert(sizeof(struct kib_hello) == 48 && sizeof(struct kib_answer) == 12);

/*
 * Remote CQ data of a message. The lower 32 bits are the immediate data. A write with immediate
 * data is a write, and an empty message behind it, which has KIB_CQ_WRITE and the number of bytes
 * that were written.
 */
#define KIB_CQ_WRITE		(1ULL << 63)
#define KIB_CQ_LEN_SHIFT	32
#define KIB_CQ_LEN_MASK		0x7fffffffULL

#endif /* KIB_HELLO_H */
