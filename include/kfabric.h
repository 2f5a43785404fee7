/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: base types, discovery, and what all objects share
 */
#ifndef KFABRIC_H
#define KFABRIC_H

#include <linux/bvec.h>
#include <linux/limits.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/uio.h>

struct net;

/**
 * DOC: Overview
 *
 * kfabric gives kernel code one interface for messages, tagged messages,
 * remote memory access and atomics over any transport that has a provider
 * module. The interface follows libfabric 2.x: names differ by the prefix
 * only (fi_send() is kfi_send(), struct fid_ep is struct kfid_ep), constants
 * have the same values, and the manual pages of libfabric describe the
 * semantics wherever the comments here say nothing else.
 *
 * A consumer asks for a service with kfi_getinfo(), opens a fabric and a
 * domain from the answer, then queues (kfi_eq_open(), kfi_cq_open()), an
 * address vector (kfi_av_open()) and endpoints (kfi_endpoint()), binds them
 * (kfi_ep_bind()) and enables the endpoint (kfi_enable()).
 *
 * Objects are opaque. Each begins with a struct kfid; kfi_close() ends it.
 */

/**
 * DOC: Calling contexts
 *
 * *Setup* calls (discovery, open, bind, enable, connection management, close)
 * sleep and allocate with GFP_KERNEL. Callers in the path of memory reclaim
 * wrap them in memalloc_noio_save().
 *
 * *Data* calls (post, cancel, read of a queue, per-I/O registration) do not
 * sleep. They are legal in process context and in softirq, under spin locks
 * that are not taken in hard interrupts, and from completion handlers. They
 * are not legal in hard interrupts or with interrupts disabled.
 *
 * A completion or event handler may post, read its queue and cancel. It may
 * not close the object it was called for, nor anything that object depends
 * on. kfi_close() returns only after the last handler has returned.
 *
 * A message structure, its vectors and a descriptor array may be on the
 * caller's stack: a post copies them. The data buffers belong to the provider
 * from the post until the completion of the operation.
 */

/**
 * DOC: Differences from libfabric
 *
 * - kfi_cq_open() and kfi_eq_open() take a handler;
 * - message structures say by a type what their vector consists of;
 * - the kernel-only flags lie in bits 60 to 63 and the kernel-only
 *   enumerators at 0x1000 and above;
 * - a timeout is in milliseconds, a negative one means forever, and waits can
 *   be ended by a fatal signal;
 * - kfi_tostr() returns memory that the caller frees;
 * - not here, because nothing in a kernel wants them: file descriptors as
 *   wait objects, wait and poll sets, asynchronous address insertion, device
 *   memory, collectives. Enumerators of such things exist where the numbering
 *   needs them and are refused.
 */

/* The version of libfabric whose interface and constants these headers have */
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
	KFI_ATOMIC_OP_LAST	= 19,	/* fixed in libfabric, not the last */
	KFI_DATATYPE_LAST	= 14,	/* fixed in libfabric, not the last */
};

/*
 * Flags. Bits from 1 up are shared by calls, capabilities and completions;
 * bits from 59 down belong to one call or one class; 60 to 63 are kernel-only.
 */

/* Capabilities (kfi_info.caps) and completion flags: interfaces */
#define KFI_MSG			(1ULL << 1)
#define KFI_RMA			(1ULL << 2)
#define KFI_TAGGED		(1ULL << 3)
#define KFI_ATOMIC		(1ULL << 4)
#define KFI_ATOMICS		KFI_ATOMIC
#define KFI_MULTICAST		(1ULL << 5)	/* no provider has it */
#define KFI_COLLECTIVE		(1ULL << 6)	/* no provider has it */

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
#define KFI_TRIGGER		(1ULL << 20)
#define KFI_FENCE		(1ULL << 21)
#define KFI_COMPLETION		(1ULL << 24)
#define KFI_EVENT		KFI_COMPLETION
#define KFI_INJECT		(1ULL << 25)
#define KFI_INJECT_COMPLETE	(1ULL << 26)
#define KFI_TRANSMIT_COMPLETE	(1ULL << 27)
#define KFI_DELIVERY_COMPLETE	(1ULL << 28)
#define KFI_AFFINITY		(1ULL << 29)	/* signaling_vector is valid */
#define KFI_COMMIT_COMPLETE	(1ULL << 30)
#define KFI_MATCH_COMPLETE	(1ULL << 31)

/* Capabilities and modifiers of calls */
#define KFI_PEER_TRANSFER	(1ULL << 36)
#define KFI_AV_USER_ID		(1ULL << 41)
#define KFI_PEER		(1ULL << 43)
#define KFI_TAGGED_DIRECTED_RECV (1ULL << 45)
#define KFI_TAGGED_MULTI_RECV	(1ULL << 46)
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

/* Receive operations on tagged messages; address vectors */
#define KFI_CLAIM		(1ULL << 59)
#define KFI_DISCARD		(1ULL << 58)
#define KFI_AUTH_KEY		(1ULL << 57)

/* kfi_ep_bind() of a completion queue: only KFI_COMPLETION completes */
#define KFI_SELECTIVE_COMPLETION (1ULL << 59)

/*
 * Kernel-only capability: an RMA operation posted with KFI_TAGGED names a
 * posted tagged receive of the peer, by its tag in rma_iov.key, instead of a
 * memory region. It moves the data to or from the buffer of that receive and
 * consumes the receive; both sides see a completion.
 */
#define KFI_TAGGED_RMA		(1ULL << 60)

/*
 * Kernel-only operation flags.
 *
 * KFI_CQE: the context of the operation points to a struct kfi_cqe, whose
 *	done() is called instead of an entry being put into the queue.
 * KFI_INVALIDATE: the peer's region with the key inv_key of the message is
 *	invalidated before the peer's receive completes. The receive completion
 *	has KFI_INVALIDATE in its flags and the key in its data; so a message
 *	can't carry remote CQ data as well (-EINVAL).
 * KFI_NO_COMPLETION: success is not reported, whatever the queue's binding
 *	and the default flags say. Failure is.
 * KFI_OPFLAGS_DEFAULT: add op_flags of the endpoint's attributes. The calls
 *	without a flags argument pass it.
 */
#define KFI_CQE			(1ULL << 60)
#define KFI_INVALIDATE		(1ULL << 61)
#define KFI_NO_COMPLETION	(1ULL << 62)
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
	KFI_ADDR_LOOP = 0x1000,	/* 8 bytes, the loop provider's */
};

/*
 * A kfi_addr_t names a peer inside one address vector: an index of the
 * vector, and in its top rx_ctx_bits the receive context (kfi_rx_addr()). It
 * means nothing outside that vector and nothing to other nodes.
 */
typedef uint64_t		kfi_addr_t;
#define KFI_ADDR_UNSPEC		((uint64_t)-1)
#define KFI_ADDR_NOTAVAIL	((uint64_t)-1)
#define KFI_KEY_NOTAVAIL	((uint64_t)-1)
#define KFI_SHARED_CONTEXT	SIZE_MAX
#define KFI_AV_AUTH_KEY		SIZE_MAX

/**
 * enum kfi_av_type - how an address vector hands out addresses
 * @KFI_AV_UNSPEC: the provider chooses, which gives a table
 * @KFI_AV_MAP: refused, for its number only
 * @KFI_AV_TABLE: addresses are indices in the order of insertion
 */
enum kfi_av_type {
	KFI_AV_UNSPEC,
	KFI_AV_MAP,
	KFI_AV_TABLE,
};

/* Requirements of a domain on memory registration (kfi_domain_attr.mr_mode) */
#define KFI_MR_UNSPEC		0
#define KFI_MR_BASIC		(1 << 0)	/* refused */
#define KFI_MR_SCALABLE		(1 << 1)	/* refused */
#define KFI_MR_LOCAL		(1 << 2)	/* never required in a kernel */
#define KFI_MR_RAW		(1 << 3)
#define KFI_MR_VIRT_ADDR	(1 << 4)
#define KFI_MR_ALLOCATED	(1 << 5)
#define KFI_MR_PROV_KEY		(1 << 6)
#define KFI_MR_MMU_NOTIFY	(1 << 7)
#define KFI_MR_RMA_EVENT	(1 << 8)
#define KFI_MR_ENDPOINT		(1 << 9)
#define KFI_MR_COLLECTIVE	(1 << 11)

/**
 * enum kfi_progress - who drives operations forward
 * @KFI_PROGRESS_UNSPEC: the provider chooses, which gives automatic progress
 * @KFI_PROGRESS_AUTO: the provider, without calls by the consumer
 * @KFI_PROGRESS_MANUAL: asked for, it is granted by automatic progress
 * @KFI_PROGRESS_CONTROL_UNIFIED: as KFI_PROGRESS_MANUAL
 */
enum kfi_progress {
	KFI_PROGRESS_UNSPEC,
	KFI_PROGRESS_AUTO,
	KFI_PROGRESS_MANUAL,
	KFI_PROGRESS_CONTROL_UNIFIED,
};

/**
 * enum kfi_threading - what a consumer serializes itself
 * @KFI_THREAD_UNSPEC: the provider chooses, which gives KFI_THREAD_SAFE
 * @KFI_THREAD_SAFE: nothing
 * @KFI_THREAD_FID: deprecated, taken for KFI_THREAD_SAFE
 * @KFI_THREAD_DOMAIN: all calls on a domain
 * @KFI_THREAD_COMPLETION: all calls that share a completion queue
 * @KFI_THREAD_ENDPOINT: deprecated, taken for KFI_THREAD_SAFE
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
 * @KFI_RM_UNSPEC: the provider chooses, which gives KFI_RM_ENABLED
 * @KFI_RM_DISABLED: the consumer needs none; it has it nevertheless
 * @KFI_RM_ENABLED: a post that would overrun a queue answers -EAGAIN
 */
enum kfi_resource_mgmt {
	KFI_RM_UNSPEC,
	KFI_RM_DISABLED,
	KFI_RM_ENABLED,
};

/* Ordering guarantees (msg_order): A after B, of read, write and send */
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
 * enum kfi_ep_type - the service of an endpoint
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
	KFI_PROTO_LOOP = 0x1000,	/* inside one kernel */
	KFI_PROTO_KFI_TCP,		/* kfi_sockets over TCP */
	KFI_PROTO_KFI_UDP,		/* kfi_sockets over UDP */
	KFI_PROTO_KFI_RC,		/* kfi_verbs, RDM over reliable queues */
	KFI_PROTO_KFI_NTB,		/* kfi_ntb */
};

/* Tag layouts (kfi_ep_attr.mem_tag_format) */
enum {
	KFI_TAG_BITS,
	KFI_TAG_MPI,
	KFI_TAG_CCL,
	KFI_TAG_MAX_FORMAT = (1ULL << 16),
};

/**
 * enum kfi_iov_type - what the vector of a message or region consists of
 * @KFI_KVEC: struct kvec, kernel virtual addresses. Memory of vmalloc() is
 *	allowed; on-stack memory is not unless the operation is injected.
 * @KFI_BVEC: struct bio_vec, pages not mapped for any device
 * @KFI_SGL: struct scatterlist, mapped by the consumer for the domain's DMA
 *	device (kfi_domain_limits()). A count is the number of mapped entries;
 *	a length is the sum of sg_dma_len(). Entries may be chained.
 */
enum kfi_iov_type {
	KFI_KVEC = 1,
	KFI_BVEC,
	KFI_SGL,
};

/* Traffic classes (tclass): a DSCP, or a label that the provider maps */
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
 * kfi_tc_dscp_set() - traffic class for a DSCP value
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
 * kfi_tc_dscp_get() - DSCP value of a traffic class
 * @tclass: a tclass member
 *
 * Context: Any.
 * Return: the code point, or 0 if the class is not given by a DSCP.
 */
static inline uint8_t kfi_tc_dscp_get(uint32_t tclass)
{
	return tclass & KFI_TC_DSCP ? (uint8_t)tclass : 0;
}

/* Mode bits: duties that a provider asks of the consumer. Ours ask none. */
#define KFI_CONTEXT		(1ULL << 59)
#define KFI_MSG_PREFIX		(1ULL << 58)
#define KFI_ASYNC_IOV		(1ULL << 57)
#define KFI_RX_CQ_DATA		(1ULL << 56)
#define KFI_LOCAL_MR		(1ULL << 55)
#define KFI_CONTEXT2		(1ULL << 52)

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
};

/**
 * struct kfid - the head of every object
 * @fclass: KFI_CLASS_ value; constant
 * @context: the consumer's pointer from the call that opened the object
 */
struct kfid {
	size_t			fclass;
	void			*context;
};

typedef struct kfid		*kfid_t;

/**
 * struct kfid_fabric - a fabric: the network that domains share
 * @fid: head
 * @api_version: the version that the consumer gave to kfi_getinfo()
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
 * struct kfid_ep - an endpoint, or a transmit or receive context of one
 * @fid: head; its class tells which
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
 * struct kfid_stx - a transmit context that endpoints share
 * @fid: head
 */
struct kfid_stx {
	struct kfid		fid;
};

/**
 * struct kfid_mc - a multicast group; no provider has one
 * @fid: head
 */
struct kfid_mc {
	struct kfid		fid;
};

/**
 * struct kfid_mr - a memory region
 * @fid: head
 * @mem_desc: local descriptor, for the desc argument of posts; may be NULL
 * @key: what a peer needs to name the region; KFI_KEY_NOTAVAIL if none
 */
struct kfid_mr {
	struct kfid		fid;
	void			*mem_desc;
	uint64_t		key;
};

/**
 * typedef kfi_comp_handler - a completion queue has become non-empty
 * @cq: the queue
 * @context: the context given to kfi_cq_open()
 *
 * Edge triggered: called once when an entry arrives in an armed queue. A read
 * that finds the queue empty arms it again, so a reader that reads until
 * -EAGAIN misses nothing. It is not called for operations with KFI_CQE.
 *
 * Context: as the queue's flags say (KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT), else a
 * workqueue. It may post, read and cancel; it may not close.
 */
typedef void (*kfi_comp_handler)(struct kfid_cq *cq, void *context);

/**
 * typedef kfi_event_handler - an event queue has become non-empty
 * @eq: the queue
 * @context: the context given to kfi_eq_open()
 *
 * Edge triggered, in the manner of kfi_comp_handler.
 *
 * Context: Workqueue; may sleep. It may open, accept, reject and read. It may
 * close endpoints, but not the event queue.
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

/**
 * struct kfi_tx_attr - attributes of a transmit context, fi_endpoint(3)
 * @caps: capabilities, a subset of those of the info
 * @mode: mode bits
 * @op_flags: flags of posts that have no flags argument
 * @msg_order: KFI_ORDER_ guarantees
 * @inject_size: largest injected message, bytes
 * @size: operations that can be outstanding
 * @iov_limit: entries of a local vector
 * @rma_iov_limit: entries of a remote vector
 * @tclass: traffic class, KFI_TC_
 */
struct kfi_tx_attr {
	uint64_t		caps;
	uint64_t		mode;
	uint64_t		op_flags;
	uint64_t		msg_order;
	size_t			inject_size;
	size_t			size;
	size_t			iov_limit;
	size_t			rma_iov_limit;
	uint32_t		tclass;
};

/**
 * struct kfi_rx_attr - attributes of a receive context, fi_endpoint(3)
 * @caps: capabilities, a subset of those of the info
 * @mode: mode bits
 * @op_flags: flags of posts that have no flags argument
 * @msg_order: KFI_ORDER_ guarantees
 * @size: receives that can be outstanding
 * @iov_limit: entries of a local vector
 */
struct kfi_rx_attr {
	uint64_t		caps;
	uint64_t		mode;
	uint64_t		op_flags;
	uint64_t		msg_order;
	size_t			size;
	size_t			iov_limit;
};

/**
 * struct kfi_ep_attr - attributes of an endpoint, fi_endpoint(3)
 * @type: service
 * @protocol: wire protocol, KFI_PROTO_
 * @protocol_version: version of the protocol, the provider's numbering
 * @max_msg_size: largest message or RMA operation, bytes
 * @msg_prefix_size: bytes before a buffer with KFI_MSG_PREFIX; 0
 * @max_order_raw_size: bytes up to which a read sees a write before it
 * @max_order_war_size: bytes up to which a write waits for a read before it
 * @max_order_waw_size: bytes up to which writes keep their order
 * @mem_tag_format: bits of a tag that can be used, or a KFI_TAG_ value
 * @tx_ctx_cnt: transmit contexts; KFI_SHARED_CONTEXT to share one
 * @rx_ctx_cnt: receive contexts; KFI_SHARED_CONTEXT to share one
 * @auth_key_size: bytes of @auth_key
 * @auth_key: authorization key, opaque to the core
 */
struct kfi_ep_attr {
	enum kfi_ep_type	type;
	uint32_t		protocol;
	uint32_t		protocol_version;
	size_t			max_msg_size;
	size_t			msg_prefix_size;
	size_t			max_order_raw_size;
	size_t			max_order_war_size;
	size_t			max_order_waw_size;
	uint64_t		mem_tag_format;
	size_t			tx_ctx_cnt;
	size_t			rx_ctx_cnt;
	size_t			auth_key_size;
	uint8_t			*auth_key;
};

/**
 * struct kfi_domain_attr - attributes of a domain, fi_domain(3)
 * @domain: in hints, an open domain that the answer has to belong to; not
 *	referenced by an info
 * @name: name of the device or interface
 * @threading: what the consumer serializes
 * @control_progress: progress of control operations
 * @data_progress: progress of data operations
 * @progress: another name of @data_progress
 * @resource_mgmt: protection against overrun
 * @av_type: kind of address vector
 * @mr_mode: KFI_MR_ requirements. In hints, those the consumer can meet.
 * @mr_key_size: bytes of a region's key. In hints, the most that the consumer
 *	can carry; 0 means any.
 * @cq_data_size: bytes of remote CQ data, at most 8
 * @cq_cnt: completion queues that are expected to be opened
 * @ep_cnt: endpoints that are expected to be opened
 * @tx_ctx_cnt: transmit contexts that are expected
 * @rx_ctx_cnt: receive contexts that are expected
 * @max_ep_tx_ctx: transmit contexts of one endpoint
 * @max_ep_rx_ctx: receive contexts of one endpoint
 * @max_ep_stx_ctx: shared transmit contexts; 0 if there are none
 * @max_ep_srx_ctx: shared receive contexts; 0 if there are none
 * @cntr_cnt: counters that are expected to be opened
 * @mr_iov_limit: entries of the vector of a region
 * @caps: domain capabilities
 * @mode: mode bits
 * @auth_key: default authorization key
 * @auth_key_size: bytes of @auth_key
 * @max_err_data: bytes of err_data of an error entry
 * @mr_cnt: regions that can exist
 * @tclass: default traffic class
 * @max_ep_auth_key: authorization keys of one endpoint
 * @max_group_id: largest collective group number; 0
 */
struct kfi_domain_attr {
	struct kfid_domain	*domain;
	char			*name;
	enum kfi_threading	threading;
	enum kfi_progress	control_progress;
	union {
		enum kfi_progress	data_progress;
		enum kfi_progress	progress;
	};
	enum kfi_resource_mgmt	resource_mgmt;
	enum kfi_av_type	av_type;
	int			mr_mode;
	size_t			mr_key_size;
	size_t			cq_data_size;
	size_t			cq_cnt;
	size_t			ep_cnt;
	size_t			tx_ctx_cnt;
	size_t			rx_ctx_cnt;
	size_t			max_ep_tx_ctx;
	size_t			max_ep_rx_ctx;
	size_t			max_ep_stx_ctx;
	size_t			max_ep_srx_ctx;
	size_t			cntr_cnt;
	size_t			mr_iov_limit;
	uint64_t		caps;
	uint64_t		mode;
	uint8_t			*auth_key;
	size_t			auth_key_size;
	size_t			max_err_data;
	size_t			mr_cnt;
	uint32_t		tclass;
	size_t			max_ep_auth_key;
	uint32_t		max_group_id;
};

/**
 * struct kfi_fabric_attr - attributes of a fabric, fi_fabric(3)
 * @fabric: in hints, an open fabric that the answer has to belong to; not
 *	referenced by an info
 * @name: name of the fabric
 * @prov_name: name of the provider. In hints, the provider that is wanted; its
 *	module is loaded if need be.
 * @prov_version: version of the provider, KFI_VERSION()
 * @api_version: version of the interface that the consumer asked for
 */
struct kfi_fabric_attr {
	struct kfid_fabric	*fabric;
	char			*name;
	char			*prov_name;
	uint32_t		prov_version;
	uint32_t		api_version;
};

/**
 * struct kfi_device_attr - the device behind a domain
 * @name: name that the operating system gives it
 * @device_id: vendor's number of the product
 * @device_version: revision of the product
 * @vendor_id: vendor's number
 * @driver: name of the driver
 * @firmware: version of the firmware
 *
 * Each string may be NULL.
 */
struct kfi_device_attr {
	char			*name;
	char			*device_id;
	char			*device_version;
	char			*vendor_id;
	char			*driver;
	char			*firmware;
};

/**
 * enum kfi_bus_type - the bus a device sits on
 * @KFI_BUS_UNSPEC: not said
 * @KFI_BUS_UNKNOWN: another name of KFI_BUS_UNSPEC
 * @KFI_BUS_PCI: PCI; kfi_bus_attr.attr.pci is valid
 */
enum kfi_bus_type {
	KFI_BUS_UNSPEC,
	KFI_BUS_UNKNOWN = KFI_BUS_UNSPEC,
	KFI_BUS_PCI,
};

/**
 * struct kfi_pci_attr - place of a PCI device
 * @domain_id: PCI domain
 * @bus_id: bus
 * @device_id: slot
 * @function_id: function
 */
struct kfi_pci_attr {
	uint16_t		domain_id;
	uint8_t			bus_id;
	uint8_t			device_id;
	uint8_t			function_id;
};

/**
 * struct kfi_bus_attr - where a device sits
 * @bus_type: kind of bus
 * @attr: place on it
 * @attr.pci: valid with KFI_BUS_PCI
 */
struct kfi_bus_attr {
	enum kfi_bus_type	bus_type;
	union {
		struct kfi_pci_attr	pci;
	} attr;
};

/**
 * enum kfi_link_state - state of a link
 * @KFI_LINK_UNKNOWN: not known
 * @KFI_LINK_DOWN: no carrier
 * @KFI_LINK_UP: ready
 */
enum kfi_link_state {
	KFI_LINK_UNKNOWN,
	KFI_LINK_DOWN,
	KFI_LINK_UP,
};

/**
 * struct kfi_link_attr - the link of a device
 * @address: link-level address as text, or NULL
 * @mtu: largest packet, bytes
 * @speed: bits per second; 0 if unknown
 * @state: state when the info was made
 * @network_type: "Ethernet", "InfiniBand"..., or NULL
 */
struct kfi_link_attr {
	char			*address;
	size_t			mtu;
	size_t			speed;
	enum kfi_link_state	state;
	char			*network_type;
};

/**
 * struct kfid_nic - description of a network device, part of an info
 * @fid: head, class KFI_CLASS_NIC; not to be closed
 * @device_attr: device, or NULL
 * @bus_attr: place, or NULL
 * @link_attr: link, or NULL
 */
struct kfid_nic {
	struct kfid		fid;
	struct kfi_device_attr	*device_attr;
	struct kfi_bus_attr	*bus_attr;
	struct kfi_link_attr	*link_attr;
};

/**
 * struct kfi_info - one service that a provider offers, fi_getinfo(3)
 * @next: next answer, or NULL
 * @caps: capabilities
 * @mode: mode bits; ours are 0
 * @addr_format: format of the addresses
 * @src_addrlen: bytes of @src_addr
 * @dest_addrlen: bytes of @dest_addr
 * @src_addr: local address, or NULL
 * @dest_addr: peer's address, or NULL
 * @handle: a connection request, in the info of a KFI_CONNREQ event; or a
 *	passive endpoint to take an address from
 * @tx_attr: attributes of transmit contexts
 * @rx_attr: attributes of receive contexts
 * @ep_attr: attributes of endpoints
 * @domain_attr: attributes of the domain
 * @fabric_attr: attributes of the fabric
 * @nic: device, or NULL
 *
 * An info is plain memory: it holds no reference to anything. All that its
 * pointers lead to, other than @handle and the two open objects in the
 * attributes, belongs to it, was allocated by kmalloc() or a relative, and is
 * freed by kfi_freeinfo(). A consumer may exchange a pointer of its hints for
 * one that kfree() takes, or NULL.
 */
struct kfi_info {
	struct kfi_info		*next;
	uint64_t		caps;
	uint64_t		mode;
	uint32_t		addr_format;
	size_t			src_addrlen;
	size_t			dest_addrlen;
	void			*src_addr;
	void			*dest_addr;
	kfid_t			handle;
	struct kfi_tx_attr	*tx_attr;
	struct kfi_rx_attr	*rx_attr;
	struct kfi_ep_attr	*ep_attr;
	struct kfi_domain_attr	*domain_attr;
	struct kfi_fabric_attr	*fabric_attr;
	struct kfid_nic		*nic;
};

/**
 * kfi_version() - version of the interface that the core implements
 *
 * Context: Any.
 * Return: KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION) of kfi.ko.
 */
uint32_t kfi_version(void);

/**
 * kfi_getinfo() - ask all providers for a service
 * @version: KFI_VERSION() the consumer is written to; 0 for any
 * @node: address, host interface name or the like, or NULL
 * @service: port number or the like, or NULL
 * @flags: KFI_SOURCE if @node and @service name the local side; and
 *	KFI_NUMERICHOST, KFI_PROV_ATTR_ONLY
 * @hints: what is wanted, or NULL for everything. Zero members mean "any".
 *	Neither kept nor changed.
 * @info: where to put the list of answers, best first
 *
 * A provider answers only for a node that is its own, and only with all the
 * capabilities that are asked for. A provider that @hints name is loaded
 * first ("kfi-provider-<name>"). The network namespace is the caller's.
 * See fi_getinfo(3).
 *
 * Context: Process context, may sleep.
 * Return: 0 and a list to be freed with kfi_freeinfo(); -ENODATA if nobody
 * offers that (unknown provider, node or capability), -ENOSYS if @version is
 * newer than kfi_version(), -KFI_EBADFLAGS, -EINVAL, -ENOMEM. On an error
 * @info is set to NULL and nothing else has changed.
 */
int kfi_getinfo(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct kfi_info *hints,
		struct kfi_info **info);

/**
 * kfi_getinfo_net() - kfi_getinfo() in a given network namespace
 * @net: the namespace. The caller holds it during the call; the answers hold
 *	no reference to it.
 * @version: as there
 * @node: as there
 * @service: as there
 * @flags: as there
 * @hints: as there
 * @info: as there
 *
 * Context: Process context, may sleep.
 * Return: as kfi_getinfo().
 */
int kfi_getinfo_net(struct net *net, uint32_t version, const char *node,
		    const char *service, uint64_t flags,
		    const struct kfi_info *hints, struct kfi_info **info);

/**
 * kfi_allocinfo() - make an empty info with all its attribute structures
 *
 * Context: Process context, may sleep.
 * Return: a zeroed info to be freed with kfi_freeinfo(), or NULL.
 */
struct kfi_info *kfi_allocinfo(void);

/**
 * kfi_dupinfo() - copy one info and all that belongs to it
 * @info: what to copy; its list is not followed. NULL is kfi_allocinfo().
 *
 * Context: Process context, may sleep.
 * Return: the copy, to be freed with kfi_freeinfo(), or NULL.
 */
struct kfi_info *kfi_dupinfo(const struct kfi_info *info);

/**
 * kfi_freeinfo() - free a list of infos and all that belongs to them
 * @info: first of the list, or NULL
 *
 * Context: Any but hard interrupts.
 */
void kfi_freeinfo(struct kfi_info *info);

/**
 * kfi_fabric() - open a fabric
 * @attr: the fabric_attr of an answer of kfi_getinfo()
 * @fabric: where to put the fabric; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * The fabric belongs to the caller's network namespace and holds a reference
 * to the provider's module. When the namespace goes away the fabric's objects
 * are drained and answer -ENODEV. See fi_fabric(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENODATA if the provider has gone or does not know the name,
 * -EINVAL, -ENOMEM.
 */
int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric,
	       void *context);

/**
 * kfi_fabric_net() - kfi_fabric() in a given network namespace
 * @net: the namespace that the fabric will belong to
 * @attr: as there
 * @fabric: as there
 * @context: as there
 *
 * Context: Process context, may sleep.
 * Return: as kfi_fabric().
 */
int kfi_fabric_net(struct net *net, struct kfi_fabric_attr *attr,
		   struct kfid_fabric **fabric, void *context);

/**
 * kfi_close() - end an object
 * @fid: its head
 *
 * Closing an endpoint ends all its outstanding operations: one ECANCELED for
 * each has been queued when the call returns, and no handler runs or will
 * run on its behalf. Entries that are in a completion queue stay there.
 * Closing a region waits until no peer can touch its memory any more.
 *
 * Context: Process context, may sleep. Not from a handler of this object.
 * Return: 0; -EBUSY if other objects depend on this one, which then stays as
 * it was.
 */
int kfi_close(struct kfid *fid);

/**
 * kfi_bind() - associate two objects
 * @fid: what to bind to: an endpoint, passive endpoint, domain or region
 * @bfid: what to bind
 * @flags: see the typed calls
 *
 * kfi_ep_bind(), kfi_pep_bind(), kfi_scalable_ep_bind(), kfi_domain_bind() and
 * kfi_mr_bind() are this call with types.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for classes that do not go together or a second binding
 * of a kind, -KFI_EDOMAIN for objects of different domains, -KFI_EBADFLAGS,
 * -KFI_EOPBADSTATE if @fid is enabled already, -EOPNOTSUPP.
 */
int kfi_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);

/* Commands of kfi_control(), with the type of the argument */
enum {
	KFI_GETFIDFLAG,		/* uint64_t * */
	KFI_SETFIDFLAG,		/* uint64_t * */
	KFI_GETOPSFLAG,		/* uint64_t *, with KFI_TRANSMIT or KFI_RECV */
	KFI_SETOPSFLAG,		/* uint64_t *, with KFI_TRANSMIT or KFI_RECV */
	KFI_ALIAS,		/* struct kfi_alias * */
	KFI_GETWAIT,		/* refused */
	KFI_ENABLE,		/* NULL */
	KFI_BACKLOG,		/* int *, connection requests held */
	KFI_GET_RAW_MR,		/* struct kfi_mr_raw_attr * */
	KFI_MAP_RAW_MR,		/* struct kfi_mr_map_raw * */
	KFI_UNMAP_KEY,		/* uint64_t * */
	KFI_QUEUE_WORK,		/* struct kfi_deferred_work * */
	KFI_CANCEL_WORK,	/* struct kfi_deferred_work * */
	KFI_FLUSH_WORK,		/* NULL */
	KFI_REFRESH,		/* struct kfi_mr_modify * */
	KFI_DUP,		/* refused */
	KFI_GETWAITOBJ,		/* enum kfi_wait_obj * */
	KFI_GET_VAL,		/* refused */
	KFI_SET_VAL,		/* refused */
	KFI_EXPORT_FID,		/* refused */
};

/**
 * struct kfi_alias - argument of KFI_ALIAS
 * @fid: where to put the alias
 * @flags: default operation flags of the alias, with KFI_TRANSMIT or KFI_RECV
 */
struct kfi_alias {
	struct kfid		**fid;
	uint64_t		flags;
};

/**
 * struct kfi_mr_raw_attr - argument of KFI_GET_RAW_MR
 * @flags: 0
 * @base_addr: where to put the address of the region's first byte
 * @raw_key: where to put the key
 * @key_size: bytes at @raw_key; replaced by the bytes of the key
 */
struct kfi_mr_raw_attr {
	uint64_t		flags;
	uint64_t		*base_addr;
	uint8_t			*raw_key;
	size_t			*key_size;
};

/**
 * struct kfi_mr_map_raw - argument of KFI_MAP_RAW_MR
 * @flags: 0
 * @base_addr: address of the first byte at the peer
 * @raw_key: the peer's key
 * @key_size: bytes of @raw_key
 * @key: where to put the key for RMA operations
 */
struct kfi_mr_map_raw {
	uint64_t		flags;
	uint64_t		base_addr;
	uint8_t			*raw_key;
	size_t			key_size;
	uint64_t		*key;
};

/**
 * kfi_control() - read or change something of an object
 * @fid: its head
 * @command: see the list above
 * @arg: depends on @command
 *
 * See fi_control(3).
 *
 * Context: Process context, may sleep; KFI_QUEUE_WORK also in softirq.
 * Return: 0; -ENOSYS for an unknown command, -EOPNOTSUPP for one that this
 * class or provider does not have, -EINVAL, or the error of the typed call.
 */
int kfi_control(struct kfid *fid, int command, void *arg);

/**
 * kfi_alias() - a second name of an object, with other default flags
 * @fid: head of an endpoint or context
 * @alias_fid: where to put the alias; close it with kfi_close(), before @fid
 * @flags: default operation flags of the alias, with KFI_TRANSMIT or KFI_RECV
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP, -ENOMEM.
 */
static inline int
kfi_alias(struct kfid *fid, struct kfid **alias_fid, uint64_t flags)
{
	struct kfi_alias alias = { .fid = alias_fid, .flags = flags };

	return kfi_control(fid, KFI_ALIAS, &alias);
}

/**
 * kfi_open_ops() - calls beyond the common interface
 * @fid: head of a fabric or domain
 * @name: name of the set of calls
 * @flags: 0
 * @ops: where to put the set, a structure that @name determines. It is valid
 *	as long as @fid is open.
 * @context: consumer's pointer, or NULL
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOSYS for a name the provider does not know, -KFI_EBADFLAGS.
 */
int kfi_open_ops(struct kfid *fid, const char *name, uint64_t flags,
		 void **ops, void *context);

/**
 * enum kfi_type - what kfi_tostr() is to print
 * @KFI_TYPE_INFO: struct kfi_info
 * @KFI_TYPE_EP_TYPE: enum kfi_ep_type
 * @KFI_TYPE_CAPS: uint64_t of capabilities
 * @KFI_TYPE_OP_FLAGS: uint64_t of operation flags
 * @KFI_TYPE_ADDR_FORMAT: uint32_t address format
 * @KFI_TYPE_TX_ATTR: struct kfi_tx_attr
 * @KFI_TYPE_RX_ATTR: struct kfi_rx_attr
 * @KFI_TYPE_EP_ATTR: struct kfi_ep_attr
 * @KFI_TYPE_DOMAIN_ATTR: struct kfi_domain_attr
 * @KFI_TYPE_FABRIC_ATTR: struct kfi_fabric_attr
 * @KFI_TYPE_THREADING: enum kfi_threading
 * @KFI_TYPE_PROGRESS: enum kfi_progress
 * @KFI_TYPE_PROTOCOL: uint32_t protocol
 * @KFI_TYPE_MSG_ORDER: uint64_t of KFI_ORDER_
 * @KFI_TYPE_MODE: uint64_t of mode bits
 * @KFI_TYPE_AV_TYPE: enum kfi_av_type
 * @KFI_TYPE_ATOMIC_TYPE: enum kfi_datatype
 * @KFI_TYPE_ATOMIC_OP: enum kfi_op
 * @KFI_TYPE_VERSION: nothing; the version of the core
 * @KFI_TYPE_EQ_EVENT: uint32_t event
 * @KFI_TYPE_CQ_EVENT_FLAGS: uint64_t of completion flags
 * @KFI_TYPE_MR_MODE: int of KFI_MR_ bits
 * @KFI_TYPE_OP_TYPE: enum kfi_op_type
 * @KFI_TYPE_FID: struct kfid
 * @KFI_TYPE_COLLECTIVE_OP: not printed
 * @KFI_TYPE_HMEM_IFACE: not printed
 * @KFI_TYPE_CQ_FORMAT: enum kfi_cq_format
 * @KFI_TYPE_LOG_LEVEL: not printed
 * @KFI_TYPE_LOG_SUBSYS: not printed
 * @KFI_TYPE_AV_ATTR: struct kfi_av_attr
 * @KFI_TYPE_CQ_ATTR: struct kfi_cq_attr
 * @KFI_TYPE_MR_ATTR: struct kfi_mr_attr
 * @KFI_TYPE_CNTR_ATTR: struct kfi_cntr_attr
 * @KFI_TYPE_CQ_ERR_ENTRY: struct kfi_cq_err_entry
 */
enum kfi_type {
	KFI_TYPE_INFO,
	KFI_TYPE_EP_TYPE,
	KFI_TYPE_CAPS,
	KFI_TYPE_OP_FLAGS,
	KFI_TYPE_ADDR_FORMAT,
	KFI_TYPE_TX_ATTR,
	KFI_TYPE_RX_ATTR,
	KFI_TYPE_EP_ATTR,
	KFI_TYPE_DOMAIN_ATTR,
	KFI_TYPE_FABRIC_ATTR,
	KFI_TYPE_THREADING,
	KFI_TYPE_PROGRESS,
	KFI_TYPE_PROTOCOL,
	KFI_TYPE_MSG_ORDER,
	KFI_TYPE_MODE,
	KFI_TYPE_AV_TYPE,
	KFI_TYPE_ATOMIC_TYPE,
	KFI_TYPE_ATOMIC_OP,
	KFI_TYPE_VERSION,
	KFI_TYPE_EQ_EVENT,
	KFI_TYPE_CQ_EVENT_FLAGS,
	KFI_TYPE_MR_MODE,
	KFI_TYPE_OP_TYPE,
	KFI_TYPE_FID,
	KFI_TYPE_COLLECTIVE_OP,
	KFI_TYPE_HMEM_IFACE,
	KFI_TYPE_CQ_FORMAT,
	KFI_TYPE_LOG_LEVEL,
	KFI_TYPE_LOG_SUBSYS,
	KFI_TYPE_AV_ATTR,
	KFI_TYPE_CQ_ATTR,
	KFI_TYPE_MR_ATTR,
	KFI_TYPE_CNTR_ATTR,
	KFI_TYPE_CQ_ERR_ENTRY,
};

/**
 * kfi_tostr_r() - print a value or structure into a buffer
 * @buf: where to print; always terminated if @len is not 0
 * @len: bytes of @buf; longer text is cut off
 * @data: pointer to what @datatype says
 * @datatype: what @data points to
 *
 * Context: Any.
 * Return: @buf, or NULL if @buf is NULL or @len is 0.
 */
char *kfi_tostr_r(char *buf, size_t len, const void *data,
		  enum kfi_type datatype);

/**
 * kfi_tostr() - print a value or structure
 * @data: pointer to what @datatype says
 * @datatype: what @data points to
 *
 * Unlike fi_tostr(3), which answers with a buffer of its own, the text belongs
 * to the caller, who ends it with kfree().
 *
 * Context: Process context, may sleep.
 * Return: the text, or NULL if there is no memory.
 */
char *kfi_tostr(const void *data, enum kfi_type datatype);

/**
 * struct kfi_context - room that a provider with KFI_CONTEXT asks for
 * @internal: the provider's
 */
struct kfi_context {
	void			*internal[4];
};

/**
 * struct kfi_context2 - room that a provider with KFI_CONTEXT2 asks for
 * @internal: the provider's
 */
struct kfi_context2 {
	void			*internal[8];
};

/**
 * struct kfi_recv_context - context of a KFI_CLAIM on a shared context
 * @ep: the endpoint
 * @context: the operation's context
 */
struct kfi_recv_context {
	struct kfid_ep		*ep;
	void			*context;
};

#endif /* KFABRIC_H */
