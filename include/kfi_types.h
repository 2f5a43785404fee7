/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: flags, enumerations, and the common part of all objects
 */
#ifndef KFI_TYPES_H
#define KFI_TYPES_H

#include <linux/limits.h>
#include <linux/types.h>

/* Version of libfabric with the same interface and constants as these headers */
#define KFI_MAJOR_VERSION	2
#define KFI_MINOR_VERSION	1
#define KFI_REVISION_VERSION	0

#define KFI_VERSION(major, minor)	(((major) << 16) | (minor))
#define KFI_MAJOR(version)		((version) >> 16)
#define KFI_MINOR(version)		((version) & 0xFFFF)
#define KFI_VERSION_GE(v1, v2)		((v1) >= (v2))
#define KFI_VERSION_LT(v1, v2)		((v1) < (v2))

enum {
	KFI_NAME_MAX		= 64,	/* bytes of a name, with its NUL */
	KFI_ATOMIC_OP_LAST	= 19,	/* as in libfabric; there are later operations */
	KFI_DATATYPE_LAST	= 14,	/* as in libfabric; there are later types */
};

/*
 * Flags. Bits from 1 upwards have the same meaning for operations, capabilities
 * and completions. Bits from 59 downwards depend on the function or the class of
 * the object. Bits 60 to 63 exist only in kfabric.
 */

/* Capabilities (kfi_info.caps) and completion flags: interfaces */
#define KFI_MSG			(1ULL << 1)
#define KFI_RMA			(1ULL << 2)
#define KFI_TAGGED		(1ULL << 3)
#define KFI_ATOMIC		(1ULL << 4)
#define KFI_ATOMICS		KFI_ATOMIC
#define KFI_MULTICAST		(1ULL << 5)	/* not supported */
#define KFI_COLLECTIVE		(1ULL << 6)	/* not supported */

/* Capabilities, completion flags, access rights, bind flags: directions */
#define KFI_READ		(1ULL << 8)
#define KFI_WRITE		(1ULL << 9)
#define KFI_RECV		(1ULL << 10)
#define KFI_SEND		(1ULL << 11)
#define KFI_TRANSMIT		KFI_SEND
#define KFI_REMOTE_READ		(1ULL << 12)
#define KFI_REMOTE_WRITE	(1ULL << 13)

/* Operation flags */
#define KFI_MULTI_RECV		(1ULL << 16)
#define KFI_REMOTE_CQ_DATA	(1ULL << 17)
#define KFI_MORE		(1ULL << 18)
#define KFI_PEEK		(1ULL << 19)
#define KFI_TRIGGER		(1ULL << 20)	/* not supported */
#define KFI_FENCE		(1ULL << 21)	/* not supported */
#define KFI_COMPLETION		(1ULL << 24)
#define KFI_EVENT		KFI_COMPLETION
#define KFI_INJECT		(1ULL << 25)
#define KFI_INJECT_COMPLETE	(1ULL << 26)
#define KFI_TRANSMIT_COMPLETE	(1ULL << 27)
#define KFI_DELIVERY_COMPLETE	(1ULL << 28)
#define KFI_AFFINITY		(1ULL << 29)	/* signaling_vector is valid */
#define KFI_COMMIT_COMPLETE	(1ULL << 30)
#define KFI_MATCH_COMPLETE	(1ULL << 31)

/*
 * Completion levels: when a transmit completes. Without one it is as with INJECT.
 * A level that an endpoint does not have is refused, not weakened.
 *
 * KFI_INJECT_COMPLETE: the local buffer may be used again.
 * KFI_TRANSMIT_COMPLETE: the peer has the data.
 * KFI_DELIVERY_COMPLETE: the message is in the receiver's buffer; a reader at the
 *	peer sees what was written.
 * KFI_MATCH_COMPLETE: a receive has been found for the message.
 * KFI_COMMIT_COMPLETE: what was written survives a loss of power at the peer.
 */

/* Capabilities, and flags of functions */
#define KFI_PEER_TRANSFER	(1ULL << 36)
#define KFI_AV_USER_ID		(1ULL << 41)
#define KFI_PEER		(1ULL << 43)
#define KFI_TAGGED_DIRECTED_RECV (1ULL << 45)
#define KFI_TAGGED_MULTI_RECV	(1ULL << 46)	/* not supported */
#define KFI_EXACT_DIRECTED_RECV	(1ULL << 48)
#define KFI_RMA_PMEM		(1ULL << 49)
#define KFI_SOURCE_ERR		(1ULL << 50)
#define KFI_LOCAL_COMM		(1ULL << 51)
#define KFI_REMOTE_COMM		(1ULL << 52)
#define KFI_SHARED_AV		(1ULL << 53)
#define KFI_PROV_ATTR_ONLY	(1ULL << 54)
#define KFI_NUMERICHOST		(1ULL << 55)
#define KFI_RMA_EVENT		(1ULL << 56)
#define KFI_SOURCE		(1ULL << 57)
#define KFI_NAMED_RX_CTX	(1ULL << 58)
#define KFI_DIRECTED_RECV	(1ULL << 59)

/* Device memory: not supported; the numbers are libfabric's */
#define KFI_MR_DMABUF		(1ULL << 40)
#define KFI_HMEM_HOST_ALLOC	(1ULL << 45)
#define KFI_HMEM_DEVICE_ONLY	(1ULL << 46)
#define KFI_HMEM		(1ULL << 47)

/* Flags of tagged receives; KFI_AUTH_KEY: of address vectors, not supported */
#define KFI_CLAIM		(1ULL << 59)
#define KFI_DISCARD		(1ULL << 58)
#define KFI_AUTH_KEY		(1ULL << 57)

/* kfi_ep_bind(): only operations with KFI_COMPLETION, and failures, write a completion */
#define KFI_SELECTIVE_COMPLETION (1ULL << 59)

/*
 * Capability that exists only in kfabric: an RMA operation that is posted with
 * KFI_TAGGED names a posted tagged receive of the peer instead of a region;
 * rma_iov.key is the tag. The operation moves data to or from the buffer of the
 * receive and completes it. Both sides get a completion. It never waits at the
 * peer: without such a receive it ends with EACCES. If the receive is shorter, what
 * fits is moved, and both sides get ETRUNC.
 */
#define KFI_TAGGED_RMA		(1ULL << 60)

/*
 * Capability that exists only in kfabric: devices of this machine can write to
 * regions of peers, see kfi_place.h.
 */
#define KFI_PLACE		(1ULL << 61)

/*
 * Capability that exists only in kfabric: what connections carry is encrypted and authenticated,
 * and each peer has proved which machine it is, docs/security.md. A consumer that needs this
 * requests it, and is not served without it.
 */
#define KFI_PROTECTED		(1ULL << 62)

/*
 * Capability of a domain that exists only in kfabric: the network has a checksum from end to end,
 * so an operation whose bytes have changed on their way fails, or the bytes are sent again.
 */
#define KFI_DATA_CHECK		(1ULL << 63)

/*
 * Capability of a domain that exists only in kfabric: its endpoints send and receive only by the
 * network interface after which the domain is named. kfi_getinfo() grants it to a consumer that
 * requests it, or that names the interface and no capabilities of the domain; others reach their
 * peers as the routing tables say.
 */
#define KFI_BOUND		(1ULL << 60)

/*
 * Capability of a domain that exists only in kfabric: the network has one other end, as a bridge or
 * a cable between two machines. All peers of its endpoints are there, so a query with the name of
 * the domain and a service, and without a node, finds an address at the other end. No two domains
 * of a machine that have this capability have the same name.
 */
#define KFI_ONE_PEER		(1ULL << 61)

/*
 * Operation flags that exist only in kfabric.
 *
 * KFI_CQE: the context of the operation points to a struct kfi_cqe, whose
 *	done() is called instead of an entry being written to the queue.
 * KFI_INVALIDATE: the peer's per-I/O region with the key inv_key is invalidated
 *	before the peer's receive completes. The completion of the receive has
 *	KFI_INVALIDATE in its flags and the key in its data, so the message can't
 *	have remote CQ data (-EINVAL). If the provider can't invalidate the
 *	region, because peers or the device still use it, the completion has
 *	KFI_INVALIDATE_DUE and the key: no peer can begin to use the region any
 *	more, and the owner has to invalidate it. If the owner was doing so
 *	already, the completion has neither flag. The sender gets no report of
 *	this.
 * KFI_NO_COMPLETION: success writes no completion, whatever the binding of the
 *	queue and the default flags are. Failure writes one.
 * KFI_OPFLAGS_DEFAULT: add the default flags of the endpoint. Functions without
 *	a flags argument use it.
 */
#define KFI_CQE			(1ULL << 60)
#define KFI_INVALIDATE		(1ULL << 61)
#define KFI_INVALIDATE_DUE	(1ULL << 62)	/* of a completion */
#define KFI_NO_COMPLETION	(1ULL << 62)	/* of an operation */
#define KFI_OPFLAGS_DEFAULT	(1ULL << 63)

/* Formats of endpoint addresses (kfi_info.addr_format) */
enum {
	KFI_FORMAT_UNSPEC,
	KFI_SOCKADDR,		/* struct sockaddr, of either family */
	KFI_SOCKADDR_IN,	/* struct sockaddr_in */
	KFI_SOCKADDR_IN6,	/* struct sockaddr_in6 */
	KFI_SOCKADDR_IB,	/* struct sockaddr_ib */
	KFI_ADDR_PSMX,
	KFI_ADDR_GNI,
	KFI_ADDR_BGQ,
	KFI_ADDR_MLX,
	KFI_ADDR_STR,		/* text, NUL terminated */
	KFI_ADDR_PSMX2,
	KFI_ADDR_IB_UD,
	KFI_ADDR_EFA,
	KFI_ADDR_PSMX3,
	KFI_ADDR_OPX,
	KFI_ADDR_CXI,		/* struct kcxi_addr, kfi_cxi_ext.h */
	KFI_ADDR_UCX,
	/* Formats that exist only in kfabric. Such addresses have no ports of IP. */
	KFI_ADDR_LOOP = 0x1000,	/* 8 bytes: kfi_loop */
	KFI_ADDR_NTB,		/* kfi_ntb: side of a bridge and port, two __le32 */
	KFI_ADDR_USB4,		/* kfi_usb4: UUID for an end of a way, 16 bytes, and port, __le32 */
};

/*
 * A kfi_addr_t names a peer in one address vector. Its top rx_ctx_bits are the
 * number of a receive context (kfi_rx_addr()), the others an index in the vector.
 * It has no meaning for other address vectors and other nodes.
 */
typedef uint64_t		kfi_addr_t;
#define KFI_ADDR_UNSPEC		((uint64_t)-1)
#define KFI_ADDR_NOTAVAIL	((uint64_t)-1)
#define KFI_KEY_NOTAVAIL	((uint64_t)-1)
#define KFI_SHARED_CONTEXT	SIZE_MAX
#define KFI_AV_AUTH_KEY		SIZE_MAX

/**
 * enum kfi_av_type - type of an address vector
 * @KFI_AV_UNSPEC: the same as KFI_AV_TABLE
 * @KFI_AV_MAP: not supported
 * @KFI_AV_TABLE: addresses are indices in the order of insertion
 */
enum kfi_av_type {
	KFI_AV_UNSPEC,
	KFI_AV_MAP,
	KFI_AV_TABLE,
};

/* Requirements of a domain on memory registration (kfi_domain_attr.mr_mode) */
#define KFI_MR_UNSPEC		0
#define KFI_MR_BASIC		(1 << 0)	/* not supported */
#define KFI_MR_SCALABLE		(1 << 1)	/* not supported */
#define KFI_MR_LOCAL		(1 << 2)	/* never required in a kernel */
#define KFI_MR_RAW		(1 << 3)
#define KFI_MR_VIRT_ADDR	(1 << 4)
#define KFI_MR_ALLOCATED	(1 << 5)
#define KFI_MR_PROV_KEY		(1 << 6)
#define KFI_MR_MMU_NOTIFY	(1 << 7)
#define KFI_MR_RMA_EVENT	(1 << 8)
#define KFI_MR_ENDPOINT		(1 << 9)
#define KFI_MR_HMEM		(1 << 10)	/* not supported */
#define KFI_MR_COLLECTIVE	(1 << 11)	/* not supported */

/**
 * enum kfi_progress - progress of operations
 * @KFI_PROGRESS_UNSPEC: the same as KFI_PROGRESS_AUTO
 * @KFI_PROGRESS_AUTO: operations progress without calls of the consumer
 * @KFI_PROGRESS_MANUAL: accepted in hints; the info has KFI_PROGRESS_AUTO
 * @KFI_PROGRESS_CONTROL_UNIFIED: as KFI_PROGRESS_MANUAL
 */
enum kfi_progress {
	KFI_PROGRESS_UNSPEC,
	KFI_PROGRESS_AUTO,
	KFI_PROGRESS_MANUAL,
	KFI_PROGRESS_CONTROL_UNIFIED,
};

/**
 * enum kfi_threading - calls that the consumer serializes
 * @KFI_THREAD_UNSPEC: the same as KFI_THREAD_SAFE
 * @KFI_THREAD_SAFE: none
 * @KFI_THREAD_FID: deprecated; the info has KFI_THREAD_SAFE
 * @KFI_THREAD_DOMAIN: all calls on a domain
 * @KFI_THREAD_COMPLETION: all calls that share a completion queue
 * @KFI_THREAD_ENDPOINT: deprecated; the info has KFI_THREAD_SAFE
 */
enum kfi_threading {
	KFI_THREAD_UNSPEC,
	KFI_THREAD_SAFE,
	KFI_THREAD_FID,
	KFI_THREAD_DOMAIN,
	KFI_THREAD_COMPLETION,
	KFI_THREAD_ENDPOINT,
};

/**
 * enum kfi_resource_mgmt - protection against overrun queues
 * @KFI_RM_UNSPEC: the same as KFI_RM_ENABLED
 * @KFI_RM_DISABLED: the consumer needs no protection; it gets it nevertheless
 * @KFI_RM_ENABLED: a post that would overrun a queue returns -EAGAIN
 */
enum kfi_resource_mgmt {
	KFI_RM_UNSPEC,
	KFI_RM_DISABLED,
	KFI_RM_ENABLED,
};

/* Ordering guarantees (msg_order), for example RAW: a read after a write; S is a send */
#define KFI_ORDER_NONE		0ULL
#define KFI_ORDER_RAR		(1ULL << 0)
#define KFI_ORDER_RAW		(1ULL << 1)
#define KFI_ORDER_RAS		(1ULL << 2)
#define KFI_ORDER_WAR		(1ULL << 3)
#define KFI_ORDER_WAW		(1ULL << 4)
#define KFI_ORDER_WAS		(1ULL << 5)
#define KFI_ORDER_SAR		(1ULL << 6)
#define KFI_ORDER_SAW		(1ULL << 7)
#define KFI_ORDER_SAS		(1ULL << 8)
#define KFI_ORDER_STRICT	0x1FF
#define KFI_ORDER_DATA		(1ULL << 16)
#define KFI_ORDER_RMA_RAR	(1ULL << 32)
#define KFI_ORDER_RMA_RAW	(1ULL << 33)
#define KFI_ORDER_RMA_WAR	(1ULL << 34)
#define KFI_ORDER_RMA_WAW	(1ULL << 35)
#define KFI_ORDER_ATOMIC_RAR	(1ULL << 36)
#define KFI_ORDER_ATOMIC_RAW	(1ULL << 37)
#define KFI_ORDER_ATOMIC_WAR	(1ULL << 38)
#define KFI_ORDER_ATOMIC_WAW	(1ULL << 39)

/**
 * enum kfi_ep_type - type of an endpoint
 * @KFI_EP_UNSPEC: any
 * @KFI_EP_MSG: connected, reliable, ordered
 * @KFI_EP_DGRAM: unconnected, unreliable
 * @KFI_EP_RDM: unconnected, reliable
 */
enum kfi_ep_type {
	KFI_EP_UNSPEC,
	KFI_EP_MSG,
	KFI_EP_DGRAM,
	KFI_EP_RDM,
};

/* Wire protocols (kfi_ep_attr.protocol), numbered as in libfabric */
enum {
	KFI_PROTO_UNSPEC,
	KFI_PROTO_RDMA_CM_IB_RC,
	KFI_PROTO_IWARP,
	KFI_PROTO_IB_UD,
	KFI_PROTO_PSMX,
	KFI_PROTO_UDP,
	KFI_PROTO_SOCK_TCP,
	KFI_PROTO_MXM,
	KFI_PROTO_IWARP_RDM,
	KFI_PROTO_IB_RDM,
	KFI_PROTO_GNI,
	KFI_PROTO_RXM,
	KFI_PROTO_RXD,
	KFI_PROTO_MLX,
	KFI_PROTO_NETWORKDIRECT,
	KFI_PROTO_PSMX2,
	KFI_PROTO_SHM,
	KFI_PROTO_MRAIL,
	KFI_PROTO_RSTREAM,
	KFI_PROTO_RDMA_CM_IB_XRC,
	KFI_PROTO_EFA,
	KFI_PROTO_PSMX3,
	KFI_PROTO_RXM_TCP,
	KFI_PROTO_OPX,
	KFI_PROTO_CXI,
	KFI_PROTO_XNET,
	KFI_PROTO_COLL,
	KFI_PROTO_UCX,
	KFI_PROTO_SM2,
	KFI_PROTO_CXI_RNR,
	KFI_PROTO_LPP,
	KFI_PROTO_LNX,
	KFI_PROTO_LOOP = 0x1000,	/* kfi_loop, inside one kernel */
	KFI_PROTO_KFI_TCP,		/* kfi_sockets, TCP */
	KFI_PROTO_KFI_UDP,		/* kfi_sockets, UDP */
	KFI_PROTO_KFI_RC,		/* kfi_verbs, reliable connected queue pairs */
	KFI_PROTO_KFI_NTB,		/* kfi_ntb */
	KFI_PROTO_KFI_UD,		/* kfi_verbs, unreliable datagrams */
	KFI_PROTO_KFI_USB4,		/* kfi_usb4 */
};

/* Tag layouts (kfi_ep_attr.mem_tag_format) */
enum {
	KFI_TAG_BITS,
	KFI_TAG_MPI,
	KFI_TAG_CCL,
	KFI_TAG_MAX_FORMAT = (1ULL << 16),
};

/**
 * enum kfi_iov_type - type of the vector of a message or region
 * @KFI_KVEC: struct kvec, kernel virtual addresses. Memory of vmalloc() is
 *	allowed; memory on the stack only with KFI_INJECT.
 * @KFI_BVEC: struct bio_vec, pages that are not mapped for a device
 * @KFI_SGL: struct scatterlist, mapped by the consumer for the domain's DMA
 *	device (kfi_domain_limits()). A count is the number of mapped entries;
 *	a length is the sum of sg_dma_len(). Entries may be chained.
 * @KFI_ITER: one struct iov_iter over kernel virtual addresses or pages, for
 *	messages and RMA. The iov_iter is copied, but the vector behind it is
 *	not, and has to exist until the operation has ended. The vector may have
 *	more than iov_limit entries, and several operations may use parts of one
 *	vector. The count is 1, and the direction of the iov_iter is ignored.
 */
enum kfi_iov_type {
	KFI_KVEC = 1,
	KFI_BVEC,
	KFI_SGL,
	KFI_ITER = 0x1000,
};

/* Traffic classes (tclass): a DSCP value, or a label that the provider maps */
enum {
	KFI_TC_UNSPEC = 0,
	KFI_TC_DSCP = 0x100,
	KFI_TC_LABEL = 0x200,
	KFI_TC_BEST_EFFORT = KFI_TC_LABEL,
	KFI_TC_LOW_LATENCY,
	KFI_TC_DEDICATED_ACCESS,
	KFI_TC_BULK_DATA,
	KFI_TC_SCAVENGER,
	KFI_TC_NETWORK_CTRL,
};

/**
 * kfi_tc_dscp_set() - return the traffic class for a DSCP value
 * @dscp: differentiated services code point, 0 to 63
 *
 * Context: Any.
 * Return: the value for a tclass member.
 */
static inline uint32_t kfi_tc_dscp_set(uint8_t dscp)
{
	return KFI_TC_DSCP | dscp;
}

/**
 * kfi_tc_dscp_get() - return the DSCP value of a traffic class
 * @tclass: a tclass member
 *
 * Context: Any.
 * Return: the code point; 0 if the traffic class is no DSCP value.
 */
static inline uint8_t kfi_tc_dscp_get(uint32_t tclass)
{
	return tclass & KFI_TC_DSCP ? (uint8_t)tclass : 0;
}

/* Mode bits: what a provider requires of the consumer. No provider of this tree sets any. */
#define KFI_CONTEXT		(1ULL << 59)
#define KFI_MSG_PREFIX		(1ULL << 58)
#define KFI_ASYNC_IOV		(1ULL << 57)
#define KFI_RX_CQ_DATA		(1ULL << 56)
#define KFI_LOCAL_MR		(1ULL << 55)
#define KFI_CONTEXT2		(1ULL << 52)

/* Types and kinds of atomic operations; kfi_atomic.h has the functions. */

#define KFI_COLLECTIVE_OFFSET	256

/**
 * enum kfi_datatype - type of an atomic operand
 * @KFI_INT8: 8 bits, signed
 * @KFI_UINT8: 8 bits, unsigned
 * @KFI_INT16: 16 bits, signed
 * @KFI_UINT16: 16 bits, unsigned
 * @KFI_INT32: 32 bits, signed
 * @KFI_UINT32: 32 bits, unsigned
 * @KFI_INT64: 64 bits, signed
 * @KFI_UINT64: 64 bits, unsigned
 * @KFI_FLOAT: not supported, because the kernel has no floating point
 * @KFI_DOUBLE: not supported
 * @KFI_FLOAT_COMPLEX: not supported
 * @KFI_DOUBLE_COMPLEX: not supported
 * @KFI_LONG_DOUBLE: not supported
 * @KFI_LONG_DOUBLE_COMPLEX: not supported
 * @KFI_INT128: 128 bits, signed; on 64-bit machines
 * @KFI_UINT128: 128 bits, unsigned; on 64-bit machines
 * @KFI_FLOAT16: not supported
 * @KFI_BFLOAT16: not supported
 * @KFI_FLOAT8_E4M3: not supported
 * @KFI_FLOAT8_E5M2: not supported
 * @KFI_VOID: not supported
 */
enum kfi_datatype {
	KFI_INT8,
	KFI_UINT8,
	KFI_INT16,
	KFI_UINT16,
	KFI_INT32,
	KFI_UINT32,
	KFI_INT64,
	KFI_UINT64,
	KFI_FLOAT,
	KFI_DOUBLE,
	KFI_FLOAT_COMPLEX,
	KFI_DOUBLE_COMPLEX,
	KFI_LONG_DOUBLE,
	KFI_LONG_DOUBLE_COMPLEX,
	KFI_INT128,
	KFI_UINT128,
	KFI_FLOAT16,
	KFI_BFLOAT16,
	KFI_FLOAT8_E4M3,
	KFI_FLOAT8_E5M2,
	KFI_VOID = KFI_COLLECTIVE_OFFSET,
};

/**
 * enum kfi_op - what an atomic operation does, fi_atomic(3)
 * @KFI_MIN: target = min(operand, target)
 * @KFI_MAX: target = max(operand, target)
 * @KFI_SUM: target += operand
 * @KFI_PROD: target *= operand
 * @KFI_LOR: target = operand || target
 * @KFI_LAND: target = operand && target
 * @KFI_BOR: target |= operand
 * @KFI_BAND: target &= operand
 * @KFI_LXOR: target = !operand != !target
 * @KFI_BXOR: target ^= operand
 * @KFI_ATOMIC_READ: result = target
 * @KFI_ATOMIC_WRITE: target = operand
 * @KFI_CSWAP: if compare == target, target = operand
 * @KFI_CSWAP_NE: if compare != target, target = operand
 * @KFI_CSWAP_LE: if compare <= target, target = operand
 * @KFI_CSWAP_LT: if compare < target, target = operand
 * @KFI_CSWAP_GE: if compare >= target, target = operand
 * @KFI_CSWAP_GT: if compare > target, target = operand
 * @KFI_MSWAP: target = (operand & compare) | (target & ~compare)
 * @KFI_DIFF: target -= operand
 * @KFI_NOOP: not supported
 */
enum kfi_op {
	KFI_MIN,
	KFI_MAX,
	KFI_SUM,
	KFI_PROD,
	KFI_LOR,
	KFI_LAND,
	KFI_BOR,
	KFI_BAND,
	KFI_LXOR,
	KFI_BXOR,
	KFI_ATOMIC_READ,
	KFI_ATOMIC_WRITE,
	KFI_CSWAP,
	KFI_CSWAP_NE,
	KFI_CSWAP_LE,
	KFI_CSWAP_LT,
	KFI_CSWAP_GE,
	KFI_CSWAP_GT,
	KFI_MSWAP,
	KFI_DIFF,
	KFI_NOOP = KFI_COLLECTIVE_OFFSET,
};

/* Classes of objects (kfid.fclass) */
enum {
	KFI_CLASS_UNSPEC,
	KFI_CLASS_FABRIC,
	KFI_CLASS_DOMAIN,
	KFI_CLASS_EP,
	KFI_CLASS_SEP,
	KFI_CLASS_RX_CTX,
	KFI_CLASS_SRX_CTX,
	KFI_CLASS_TX_CTX,
	KFI_CLASS_STX_CTX,
	KFI_CLASS_PEP,
	KFI_CLASS_INTERFACE,
	KFI_CLASS_AV,
	KFI_CLASS_MR,
	KFI_CLASS_EQ,
	KFI_CLASS_CQ,
	KFI_CLASS_CNTR,
	KFI_CLASS_WAIT,
	KFI_CLASS_POLL,
	KFI_CLASS_CONNREQ,
	KFI_CLASS_MC,
	KFI_CLASS_NIC,
	KFI_CLASS_AV_SET,
	KFI_CLASS_MR_CACHE,
	KFI_CLASS_MEM_MONITOR,
	KFI_CLASS_PEER_CQ,
	KFI_CLASS_PEER_SRX,
	KFI_CLASS_LOG,
	KFI_CLASS_PEER_AV,
	KFI_CLASS_PEER_AV_SET,
	KFI_CLASS_PEER_CNTR,
	KFI_CLASS_PROFILE,
	KFI_CLASS_PLACE = 0x1000,	/* see kfi_place.h */
};

/**
 * struct kfid - common part of every object
 * @fclass: KFI_CLASS_ value; does not change
 * @context: pointer of the consumer from the function that opened the object
 */
struct kfid {
	size_t			fclass;
	void			*context;
};

typedef struct kfid		*kfid_t;

/**
 * struct kfid_fabric - a fabric: a network, to which domains belong
 * @fid: head
 * @api_version: version of the interface that the consumer has given to
 *	kfi_getinfo()
 */
struct kfid_fabric {
	struct kfid		fid;
	uint32_t		api_version;
};

/**
 * struct kfid_domain - a domain: one device or interface
 * @fid: head
 */
struct kfid_domain {
	struct kfid		fid;
};

/**
 * struct kfid_eq - an event queue
 * @fid: head
 */
struct kfid_eq {
	struct kfid		fid;
};

/**
 * struct kfid_cq - a completion queue
 * @fid: head
 */
struct kfid_cq {
	struct kfid		fid;
};

/**
 * struct kfid_cntr - a completion counter
 * @fid: head
 */
struct kfid_cntr {
	struct kfid		fid;
};

/**
 * struct kfid_av - an address vector
 * @fid: head
 */
struct kfid_av {
	struct kfid		fid;
};

/**
 * struct kfid_ep - an endpoint, or a transmit or receive context
 * @fid: head; its class distinguishes them
 */
struct kfid_ep {
	struct kfid		fid;
};

/**
 * struct kfid_pep - a passive endpoint, which listens
 * @fid: head
 */
struct kfid_pep {
	struct kfid		fid;
};

/**
 * struct kfid_stx - a transmit context that endpoints can share
 * @fid: head
 */
struct kfid_stx {
	struct kfid		fid;
};

/**
 * struct kfid_mr - a memory region
 * @fid: head
 * @mem_desc: local descriptor, for the desc argument of posts; may be NULL
 * @key: key that peers use to access the region, or KFI_KEY_NOTAVAIL
 * @addr: address of the first byte, as peers name it, see kfi_mr_addr()
 */
struct kfid_mr {
	struct kfid		fid;
	void			*mem_desc;
	uint64_t		key;
	uint64_t		addr;
};

/**
 * typedef kfi_comp_handler - handler of a completion queue
 * @cq: the queue
 * @context: the context given to kfi_cq_open()
 *
 * The handler is called once when an entry arrives in an armed queue. A new queue
 * is armed, and a read that finds the queue empty arms it again, so a handler
 * that reads until -EAGAIN misses no entry. It is not called for operations with
 * KFI_CQE, except after each batch of done() with KFI_CQ_ROUNDS.
 *
 * Context: a work item, unless the queue has KFI_CQ_SOFTIRQ or KFI_CQ_DIRECT. The
 * handler may post, read and cancel. It must not close the queue, or objects that
 * are bound to the queue.
 */
typedef void (*kfi_comp_handler)(struct kfid_cq *cq, void *context);

/**
 * typedef kfi_event_handler - handler of an event queue
 * @eq: the queue
 * @context: the context given to kfi_eq_open()
 *
 * The handler is called once when an event arrives in an armed queue, as
 * kfi_comp_handler.
 *
 * Context: a work item; may sleep. The handler may open, accept, reject and read.
 * It may close endpoints, but not the event queue.
 */
typedef void (*kfi_event_handler)(struct kfid_eq *eq, void *context);

/**
 * struct kfi_ioc - an array of atomic operands in local memory
 * @addr: first operand; aligned to its type
 * @count: number of operands
 */
struct kfi_ioc {
	void			*addr;
	size_t			count;
};

#endif /* KFI_TYPES_H */
