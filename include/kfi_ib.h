/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_ib.h - what others have to know of kfi_ib, RDMA devices over kfabric, and what it shares with
 * its library for rdma-core (tools/rdma-core)
 *
 * A process has its completion queues and receive queues in memory that it has mapped. Each is a
 * ring whose counters wrap, so the number of entries is a power of two. The kernel believes nothing
 * that it reads there: a process that writes nonsense loses its own entries, or its queue pair.
 */
#ifndef KFI_IB_H
#define KFI_IB_H

#include <linux/types.h>

/*
 * The number by which the RDMA core distinguishes drivers. It has to be none of the kernel's:
 * drivers cast a device that has theirs.
 */
#define KFI_IB_DRIVER_ID	0x6b666962

/* Version of what the driver and its library for rdma-core say to each other */
#define KIB_UVERBS_ABI_VERSION	2

/**
 * struct kfi_ib_queue_resp - answer of the driver when a queue was made
 * @offset: offset at which the context's descriptor maps the memory of the queue
 * @bytes: size of it; 0: nothing is to be mapped
 */
struct kfi_ib_queue_resp {
	__u64	offset;
	__u64	bytes;
};

#define KIB_CQE_GRH	0x01	/* as IBV_WC_GRH */
#define KIB_CQE_IMM	0x02	/* as IBV_WC_WITH_IMM */
#define KIB_CQE_INV	0x08	/* as IBV_WC_WITH_INV */
#define KIB_CQE_FLAGS	0x0b	/* these are flags of struct ibv_wc */
#define KIB_CQE_IPV4	0x100	/* the header in front of a datagram is that of IPv4 */

/**
 * struct kfi_ib_cqe - an entry of a completion queue
 * @wr_id: of the request
 * @status: enum ib_wc_status
 * @opcode: enum ib_wc_opcode
 * @byte_len: bytes of the request
 * @data: immediate data, in network byte order, or the key that was invalidated
 * @qp_num: the queue pair. The process sets it to 0 when that is destroyed, and skips the entry
 * @flags: what @data is, KIB_CQE_
 * @src_qp: of a datagram: number of the queue pair that has sent it
 * @number: how many entries have been added with this one. The kernel writes it last, with a
 *	release: the entry at &kfi_ib_cq.tail is there if its number is @tail + 1
 */
struct kfi_ib_cqe {
	__u64	wr_id;
	__u32	status;
	__u32	opcode;
	__u32	byte_len;
	__u32	data;
	__u32	qp_num;
	__u32	flags;
	__u32	src_qp;
	__u32	number;
};

/**
 * struct kfi_ib_cq - a completion queue of a process
 * @tail: entries that were read. The process writes it, with a release
 * @armed: the next entry raises an event. The process sets it, and executes a full barrier before
 *	it looks at the queue again; the kernel clears it
 * @reserved1: the kernel writes to another cache line
 * @full: requests that have ended wait for room. The kernel sets it. The process polls by a command
 *	of uverbs then, when it has read all entries; that gives no entry, but runs the queue pairs
 * @gone: the device has taken the queue: no entry follows. The kernel sets it
 * @reserved2: 0
 * @entries: &ib_cq.cqe of them
 */
struct kfi_ib_cq {
	__u32	tail;
	__u32	armed;
	__u32	reserved1[14];
	__u32	full;
	__u32	gone;
	__u32	reserved2[14];
	struct kfi_ib_cqe entries[];
};

/* An element of a receive, as struct ib_sge */
struct kfi_ib_sge {
	__u64	addr;
	__u32	length;
	__u32	lkey;
};

/* A receive. As many elements follow as the queue pair was made for. */
struct kfi_ib_recv {
	__u64	wr_id;
	__u32	num_sge;
	__u32	reserved;
	struct kfi_ib_sge sge[];
};

/**
 * struct kfi_ib_rq - a receive queue of a process
 * @head: receives that were posted. The process writes it, with a release, and executes a full
 *	barrier before it reads @wake
 * @reserved1: the kernel writes to another cache line
 * @tail: receives that were reported. The kernel writes it, with a release: their slots are free
 * @wake: the queue pair would not see a post by itself soon: the process posts by a command of
 *	uverbs, without a request. The kernel sets and clears it
 * @reserved2: 0
 * @slots: struct kfi_ib_recv
 */
struct kfi_ib_rq {
	__u32	head;
	__u32	reserved1[15];
	__u32	tail;
	__u32	wake;
	__u32	reserved2[14];
	__u8	slots[];
};

#endif /* KFI_IB_H */
