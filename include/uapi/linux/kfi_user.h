/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * kfi_user.h - /dev/kfi: kfabric for processes
 *
 * Each open of /dev/kfi is a context. It belongs to the user, the network namespace and the address
 * space of the process that has opened it. Calls from another address space, such as that of a
 * forked child, fail with EIO. Objects of a context have handles, which are positive numbers.
 * Values of enumerations and flags (object classes, capabilities, endpoint types, operation flags,
 * events) are those of libfabric 2.x.
 *
 * All structures have the same layout for 32-bit and 64-bit programs; pointers are 64-bit numbers.
 * The length of a structure is part of the request number. Later versions may add members at the
 * end of a structure. A kernel accepts the structures of all earlier versions, in which the missing
 * members are 0, and longer structures if the additional members are 0 (else E2BIG).
 * Members with the name reserved have to be 0.
 *
 * An ioctl returns 0, or -1 with errno set. Errors that have no errno are the FI_E numbers of
 * libfabric (256 and above), for example 259, FI_EAVAIL. A call that fails changes nothing, unless
 * its description says something else. A handle that denotes no object, or an object of the wrong
 * class, is refused with EBADF.
 */
#ifndef _UAPI_LINUX_KFI_USER_H
#define _UAPI_LINUX_KFI_USER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KFI_USER_DEVICE		"/dev/kfi"
#define KFI_USER_ABI		1
#define KFI_USER_NAME_MAX	64	/* bytes of a name with its NUL */
#define KFI_USER_ADDR_MAX	64	/* bytes of an address */
#define KFI_USER_DATA_MAX	256	/* bytes of private data, and of an authorization key */
#define KFI_USER_IOV_MAX	16	/* segments of a vector, local or remote */
#define KFI_USER_COPY_MAX	16384	/* bytes that a post copies; longer buffers are pinned */

#define KFI_USER_MAGIC		0xBB

/**
 * struct kfi_user_version - argument of KFI_IOC_VERSION
 * @abi: out: KFI_USER_ABI of the kernel
 * @api: out: version of the interface that kfi.ko implements, major << 16 | minor
 * @features: out: 0
 */
struct kfi_user_version {
	__u32	abi;
	__u32	api;
	__u64	features;
};

/**
 * struct kfi_user_info - &struct fi_info in one piece
 *
 * The members have the names and meanings of libfabric's structures. In hints, 0 means that any
 * value will do. Strings end with a NUL.
 */
struct kfi_user_info {
	__u64	caps;
	__u64	mode;
	__u32	addr_format;
	__u32	src_addrlen;
	__u32	dest_addrlen;
	__u32	reserved;
	__u8	src_addr[KFI_USER_ADDR_MAX];
	__u8	dest_addr[KFI_USER_ADDR_MAX];

	struct {
		__u64	caps;
		__u64	mode;
		__u64	op_flags;
		__u64	msg_order;
		__u64	inject_size;
		__u64	size;
		__u64	iov_limit;
		__u64	rma_iov_limit;	/* 0 in rx */
		__u32	tclass;		/* 0 in rx */
		__u32	reserved;
	} tx, rx;

	struct {
		__u32	type;
		__u32	protocol;
		__u32	protocol_version;
		__u32	auth_key_size;
		__u64	max_msg_size;
		__u64	msg_prefix_size;
		__u64	max_order_raw_size;
		__u64	max_order_war_size;
		__u64	max_order_waw_size;
		__u64	mem_tag_format;
		__u64	tx_ctx_cnt;	/* all bits set: FI_SHARED_CONTEXT */
		__u64	rx_ctx_cnt;
		__u8	auth_key[KFI_USER_DATA_MAX];
	} ep;

	struct {
		char	name[KFI_USER_NAME_MAX];
		__u32	threading;
		__u32	control_progress;
		__u32	data_progress;
		__u32	resource_mgmt;
		__u32	av_type;
		__u32	mr_mode;
		__u32	tclass;
		__u32	auth_key_size;
		__u64	mr_key_size;
		__u64	cq_data_size;
		__u64	cq_cnt;
		__u64	ep_cnt;
		__u64	tx_ctx_cnt;
		__u64	rx_ctx_cnt;
		__u64	max_ep_tx_ctx;
		__u64	max_ep_rx_ctx;
		__u64	max_ep_stx_ctx;
		__u64	max_ep_srx_ctx;
		__u64	cntr_cnt;
		__u64	mr_iov_limit;
		__u64	caps;
		__u64	mode;
		__u64	max_err_data;
		__u64	mr_cnt;
		__u8	auth_key[KFI_USER_DATA_MAX];
	} domain;

	struct {
		char	name[KFI_USER_NAME_MAX];
		char	prov_name[KFI_USER_NAME_MAX];
		__u32	prov_version;
		__u32	api_version;
	} fabric;
};

/**
 * struct kfi_user_getinfo - argument of KFI_IOC_GETINFO, see fi_getinfo(3)
 * @version: version of the interface that the caller uses
 * @count: in: number of structures that @infos has room for; out: number of answers, of which those
 *	that fit were stored
 * @flags: FI_SOURCE, FI_NUMERICHOST, FI_PROV_ATTR_ONLY
 * @node: string of up to 255 bytes, or 0
 * @service: string of up to 63 bytes, or 0
 * @hints: &struct kfi_user_info, or 0
 * @infos: array of &struct kfi_user_info, or 0
 * @info_size: bytes of one &struct kfi_user_info of the caller
 * @reserved: 0
 *
 * The answers of the best provider come first. Errors: ENODATA if there is no answer, EINVAL,
 * ENOMEM. The file mode of /dev/kfi decides which users may open objects, so there is no EPERM.
 */
struct kfi_user_getinfo {
	__u32	version;
	__u32	count;
	__u64	flags;
	__u64	node;
	__u64	service;
	__u64	hints;
	__u64	infos;
	__u32	info_size;
	__u32	reserved;
};

/*
 * Opening objects. The caller chooses @cookie, which comes back with events. @handle is the result.
 * Errors: EMFILE if a limit of the user is reached, ENOMEM.
 */

/**
 * struct kfi_user_fabric - argument of KFI_IOC_FABRIC, see fi_fabric(3)
 * @prov_name: name of the provider
 * @name: name of the fabric
 * @api_version: version of the interface that the caller uses
 * @handle: out
 * @cookie: number of the caller's choice
 */
struct kfi_user_fabric {
	char	prov_name[KFI_USER_NAME_MAX];
	char	name[KFI_USER_NAME_MAX];
	__u32	api_version;
	__u32	handle;
	__u64	cookie;
};

/**
 * struct kfi_user_open - argument of KFI_IOC_DOMAIN, KFI_IOC_PASSIVE_EP, KFI_IOC_ENDPOINT,
 *	KFI_IOC_STX and KFI_IOC_SRX
 * @parent: the fabric of a domain or passive endpoint; the domain of the others
 * @handle: out
 * @cookie: number of the caller's choice
 * @info: &struct kfi_user_info. It is used as hints, and the object is opened with the first answer
 *	to them
 * @info_size: bytes at @info
 * @connreq: KFI_IOC_ENDPOINT: connection request that the endpoint will accept, or 0
 */
struct kfi_user_open {
	__u32	parent;
	__u32	handle;
	__u64	cookie;
	__u64	info;
	__u32	info_size;
	__u32	connreq;
};

/**
 * struct kfi_user_cq - argument of KFI_IOC_CQ, see fi_cq(3)
 * @domain: parent
 * @handle: out
 * @cookie: number of the caller's choice
 * @size: number of entries that have to fit, 0 for a default
 * @flags: 0
 * @ring_entries: out: number of slots in the ring, a power of two
 * @ring_bytes: out: length of the mapping: mmap(0, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
 *	fd of /dev/kfi, (off_t)handle * page size)
 */
struct kfi_user_cq {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u64	size;
	__u64	flags;
	__u32	ring_entries;
	__u32	ring_bytes;
};

/**
 * struct kfi_user_ring - beginning of the mapping of a completion queue
 * @tail: number of slots that the kernel has filled, modulo 2^32. The reader loads it with acquire
 *	semantics
 * @overflow: 1 if the kernel has completions for which the ring had no room. A reader that has
 *	emptied the ring (stored @head), executes a full memory barrier, and then finds it to be 1,
 *	calls KFI_IOC_DRAIN
 * @mask: number of slots minus 1
 * @slots_at: offset of the first slot in the mapping
 * @reserved0: not used
 * @head: number of slots that the reader has taken, modulo 2^32. The reader stores it with release
 *	semantics. A wrong value can only lose completions of the same process
 * @reserved1: not used
 */
struct kfi_user_ring {
	__u32	tail;
	__u32	overflow;
	__u32	mask;
	__u32	slots_at;
	__u32	reserved0[12];
	__u32	head;			/* begins a cache line */
	__u32	reserved1[15];
};

/**
 * struct kfi_user_cqe - a slot of the ring: one completion
 * @context: context of the operation; 0 if a peer has initiated the operation
 * @flags: FI_SEND, FI_RECV, ... as in &struct fi_cq_msg_entry
 * @len: number of bytes received; with FI_ETRUNC the length of the message
 * @buf: address of the message in a multi-receive buffer
 * @data: remote CQ data
 * @tag: tag of a tagged message
 * @src_addr: sender, with FI_SOURCE; else FI_ADDR_NOTAVAIL
 * @err: 0 or a positive error number. If it is not 0, the next slot is a &struct kfi_user_cqe_err
 * @prov_errno: error number of the provider
 */
struct kfi_user_cqe {
	__u64	context;
	__u64	flags;
	__u64	len;
	__u64	buf;
	__u64	data;
	__u64	tag;
	__u64	src_addr;
	__s32	err;
	__s32	prov_errno;
};

/**
 * struct kfi_user_cqe_err - the slot that follows a completion with an error
 * @olen: number of bytes that did not fit
 * @reserved: 0
 */
struct kfi_user_cqe_err {
	__u64	olen;
	__u64	reserved[7];
};

/**
 * struct kfi_user_eq - argument of KFI_IOC_EQ, see fi_eq(3)
 * @fabric: parent
 * @handle: out
 * @cookie: number of the caller's choice
 * @size: number of entries that have to fit, 0 for a default
 * @flags: FI_WRITE to allow KFI_IOC_EQ_WRITE, or 0
 */
struct kfi_user_eq {
	__u32	fabric;
	__u32	handle;
	__u64	cookie;
	__u64	size;
	__u64	flags;
};

/**
 * struct kfi_user_cntr - argument of KFI_IOC_CNTR, see fi_cntr(3)
 * @domain: parent
 * @handle: out
 * @cookie: number of the caller's choice
 * @events: FI_CNTR_EVENTS_COMP
 * @reserved: 0
 *
 * mmap(0, page size, PROT_READ, MAP_SHARED, fd, (off_t)handle * page size) maps a &struct
 * kfi_user_count.
 */
struct kfi_user_cntr {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u32	events;
	__u32	reserved;
};

/**
 * struct kfi_user_count - mapping of a counter
 * @value: value of the counter
 * @errors: value of its error counter
 */
struct kfi_user_count {
	__u64	value;
	__u64	errors;
};

/**
 * struct kfi_user_av - argument of KFI_IOC_AV, see fi_av(3)
 * @domain: parent
 * @handle: out
 * @cookie: number of the caller's choice
 * @count: number of addresses that are expected
 * @rx_ctx_bits: number of top bits of an fi_addr_t that name a receive context
 * @addrlen: out: length of an address, bytes
 *
 * An fi_addr_t is an index in the order of insertion (FI_AV_TABLE).
 */
struct kfi_user_av {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u64	count;
	__u32	rx_ctx_bits;
	__u32	addrlen;
};

/**
 * struct kfi_user_iovec - a segment of the caller's memory
 * @base: address of the first byte
 * @len: length in bytes
 */
struct kfi_user_iovec {
	__u64	base;
	__u64	len;
};

/**
 * struct kfi_user_mr - argument of KFI_IOC_MR, see fi_mr(3)
 * @domain: parent
 * @handle: out
 * @cookie: number of the caller's choice
 * @iov: array of &struct kfi_user_iovec
 * @iov_count: number of entries at @iov, at most KFI_USER_IOV_MAX
 * @reserved: 0
 * @access: FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE
 * @offset: address that peers use for the first byte
 * @requested_key: key, or FI_KEY_NOTAVAIL to have the kernel choose one
 * @flags: FI_RMA_EVENT or 0
 * @key: out: the key
 *
 * The memory is pinned until the region is closed. Errors: ENOMEM also if RLIMIT_MEMLOCK does not
 * allow to pin the memory; EFAULT also for memory that can't be pinned for a long time, such as a
 * writable mapping of a file; EOPNOTSUPP for DAX memory.
 */
struct kfi_user_mr {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u64	iov;
	__u32	iov_count;
	__u32	reserved;
	__u64	access;
	__u64	offset;
	__u64	requested_key;
	__u64	flags;
	__u64	key;
};

/**
 * struct kfi_user_handle - argument of KFI_IOC_CLOSE, KFI_IOC_ENABLE, KFI_IOC_LISTEN,
 *	KFI_IOC_DRAIN, KFI_IOC_SIGNAL and KFI_IOC_GETWAIT
 * @handle: the object
 * @fd: KFI_IOC_GETWAIT: out: file descriptor that poll() reports as readable when the completion
 *	queue or event queue is not empty
 *
 * KFI_IOC_CLOSE fails with EBUSY while other objects use the object.
 */
struct kfi_user_handle {
	__u32	handle;
	__u32	fd;
};

/**
 * struct kfi_user_bind - argument of KFI_IOC_BIND, see fi_endpoint(3)
 * @handle: endpoint, passive endpoint, domain or region
 * @target: object to bind to it
 * @flags: flags of the binding, without FI_SELECTIVE_COMPLETION: see KFI_USER_COMPLETION
 */
struct kfi_user_bind {
	__u32	handle;
	__u32	target;
	__u64	flags;
};

/**
 * struct kfi_user_opt - argument of KFI_IOC_GETOPT and KFI_IOC_SETOPT
 * @handle: endpoint or shared receive context; KFI_IOC_GETOPT also passive endpoint
 * @level: FI_OPT_ENDPOINT
 * @name: FI_OPT_
 * @len: number of bytes at @value, 8; KFI_IOC_GETOPT: out: length of the value
 * @value: address of the value, a __u64 for each option
 */
struct kfi_user_opt {
	__u32	handle;
	__u32	level;
	__u32	name;
	__u32	len;
	__u64	value;
};

/**
 * struct kfi_user_name - argument of KFI_IOC_GETNAME, KFI_IOC_GETPEER, KFI_IOC_SETNAME,
 *	KFI_IOC_CONNECT, KFI_IOC_ACCEPT and KFI_IOC_REJECT
 * @handle: the endpoint or passive endpoint
 * @connreq: KFI_IOC_REJECT: connection request
 * @addrlen: number of bytes at @addr; KFI_IOC_GETNAME, KFI_IOC_GETPEER: out: length of the address,
 *	also with FI_ETOOSMALL
 * @paramlen: number of bytes at @param
 * @addr: address
 * @param: private data for the peer
 */
struct kfi_user_name {
	__u32	handle;
	__u32	connreq;
	__u32	addrlen;
	__u32	paramlen;
	__u64	addr;
	__u64	param;
};

/**
 * struct kfi_user_shutdown - argument of KFI_IOC_SHUTDOWN, see fi_cm(3)
 * @handle: the endpoint
 * @reserved: 0
 * @flags: 0
 */
struct kfi_user_shutdown {
	__u32	handle;
	__u32	reserved;
	__u64	flags;
};

/**
 * struct kfi_user_av_insert - argument of KFI_IOC_AV_INSERT, see fi_av(3)
 * @av: address vector
 * @count: number of addresses, at most 4096; out: number of addresses that were inserted
 * @addrs: the addresses, each of &kfi_user_av.addrlen bytes
 * @fi_addrs: array of @count __u64 for the results, or 0
 * @errs: array of @count __s32, for 0 or a positive error number of each address; or 0
 * @addrs_size: number of bytes at @addrs
 * @reserved: 0
 */
struct kfi_user_av_insert {
	__u32	av;
	__u32	count;
	__u64	addrs;
	__u64	fi_addrs;
	__u64	errs;
	__u32	addrs_size;
	__u32	reserved;
};

/**
 * struct kfi_user_av_svc - argument of KFI_IOC_AV_INSERTSVC, as fi_av_insertsvc() and
 *	fi_av_insertsym()
 * @av: address vector
 * @count: out: number of addresses that were inserted
 * @node: string, as in &struct kfi_user_getinfo
 * @service: string, as in &struct kfi_user_getinfo
 * @nodecnt: number of nodes
 * @svccnt: number of services of each node. @nodecnt times @svccnt is at most 4096
 * @fi_addrs: array of @nodecnt times @svccnt __u64 for the results, or 0
 */
struct kfi_user_av_svc {
	__u32	av;
	__u32	count;
	__u64	node;
	__u64	service;
	__u32	nodecnt;
	__u32	svccnt;
	__u64	fi_addrs;
};

/**
 * struct kfi_user_av_remove - argument of KFI_IOC_AV_REMOVE
 * @av: address vector
 * @count: number of addresses, at most 4096
 * @fi_addrs: array of @count __u64
 *
 * If one of them is not in the address vector (EINVAL), the others are removed all the same.
 */
struct kfi_user_av_remove {
	__u32	av;
	__u32	count;
	__u64	fi_addrs;
};

/**
 * struct kfi_user_av_lookup - argument of KFI_IOC_AV_LOOKUP and KFI_IOC_AV_STRADDR
 * @av: address vector
 * @addrlen: number of bytes at @addr; KFI_IOC_AV_LOOKUP: out: length of the address
 * @fi_addr: KFI_IOC_AV_LOOKUP: address to look up
 * @addr: KFI_IOC_AV_LOOKUP: where to store the address; KFI_IOC_AV_STRADDR: the address
 * @str: KFI_IOC_AV_STRADDR: where to print. The text is always terminated
 * @len: KFI_IOC_AV_STRADDR: number of bytes at @str; out: number of bytes that the text needs
 * @reserved: 0
 */
struct kfi_user_av_lookup {
	__u32	av;
	__u32	addrlen;
	__u64	fi_addr;
	__u64	addr;
	__u64	str;
	__u32	len;
	__u32	reserved;
};

/**
 * struct kfi_user_event - argument of KFI_IOC_EQ_READ and KFI_IOC_EQ_WRITE, see fi_eq(3)
 * @eq: event queue
 * @event: FI_CONNREQ, ...; 0 for an error
 * @flags: KFI_IOC_EQ_READ: FI_PEEK or 0
 * @err: out: 0, or the positive error number of &struct fi_eq_err_entry
 * @prov_errno: out: error number of the provider
 * @cookie: cookie of the object that the event is about; of an event of KFI_IOC_EQ_WRITE the one
 *	that was written
 * @data: data of the event
 * @connreq: out: with FI_CONNREQ, a handle of the connection request for KFI_IOC_ENDPOINT or
 *	KFI_IOC_REJECT. It is closed like an object, which rejects the request if neither of them
 *	has used it
 * @len: number of bytes at @buf; out: number of bytes of private data, of error data, or of the
 *	data of KFI_IOC_EQ_WRITE
 * @buf: address of the data. KFI_IOC_EQ_WRITE: data of the event, at most 256 bytes
 * @info: with FI_CONNREQ, address for a &struct kfi_user_info, or 0
 * @info_size: number of bytes at @info
 * @written: out: 1 if KFI_IOC_EQ_WRITE has written the event
 *
 * KFI_IOC_EQ_READ reads events and errors. It fails with EAGAIN if there is none. With FI_PEEK a
 * connection request has no @connreq and no @info.
 */
struct kfi_user_event {
	__u32	eq;
	__u32	event;
	__u64	flags;
	__s32	err;
	__s32	prov_errno;
	__u64	cookie;
	__u64	data;
	__u32	connreq;
	__u32	len;
	__u64	buf;
	__u64	info;
	__u32	info_size;
	__u32	written;
};

/**
 * struct kfi_user_wait - argument of KFI_IOC_WAIT
 * @handle: completion queue, event queue or counter
 * @timeout_ms: milliseconds; negative: no time limit
 * @threshold: counter: value to wait for
 * @errors: counter: value of the error counter that the caller has read
 *
 * Returns when the queue is not empty, or the counter has reached @threshold. Errors: FI_EAVAIL if
 * the error counter has another value than @errors; EAGAIN after KFI_IOC_SIGNAL; ETIMEDOUT; EINTR
 * if a signal has arrived; EBADF if the object is being closed.
 */
struct kfi_user_wait {
	__u32	handle;
	__s32	timeout_ms;
	__u64	threshold;
	__u64	errors;
};

/**
 * enum kfi_user_count_op - what KFI_IOC_COUNT does
 * @KFI_USER_COUNT_ADD: add to the counter
 * @KFI_USER_COUNT_SET: set the counter
 * @KFI_USER_COUNT_ADDERR: add to the error counter
 * @KFI_USER_COUNT_SETERR: set the error counter
 */
enum kfi_user_count_op {
	KFI_USER_COUNT_ADD,
	KFI_USER_COUNT_SET,
	KFI_USER_COUNT_ADDERR,
	KFI_USER_COUNT_SETERR,
};

/**
 * struct kfi_user_count_change - argument of KFI_IOC_COUNT, see fi_cntr(3)
 * @cntr: the counter
 * @op: &enum kfi_user_count_op
 * @value: operand
 */
struct kfi_user_count_change {
	__u32	cntr;
	__u32	op;
	__u64	value;
};

/**
 * struct kfi_user_query_atomic - argument of KFI_IOC_QUERY_ATOMIC, see fi_atomic(3)
 * @handle: domain or endpoint
 * @datatype: FI_INT8, ...
 * @op: FI_MIN, ...
 * @reserved: 0
 * @flags: 0, FI_FETCH_ATOMIC or FI_COMPARE_ATOMIC
 * @count: out: number of operands of one operation
 * @size: out: size of an operand, bytes
 */
struct kfi_user_query_atomic {
	__u32	handle;
	__u32	datatype;
	__u32	op;
	__u32	reserved;
	__u64	flags;
	__u64	count;
	__u64	size;
};

/**
 * enum kfi_user_opcode - kind of an operation
 * @KFI_USER_RECV: receive
 * @KFI_USER_SEND: send
 * @KFI_USER_TRECV: tagged receive
 * @KFI_USER_TSEND: tagged send
 * @KFI_USER_READ: RMA read
 * @KFI_USER_WRITE: RMA write
 * @KFI_USER_ATOMIC: atomic operation
 * @KFI_USER_FETCH_ATOMIC: atomic operation that returns the old values
 * @KFI_USER_COMPARE_ATOMIC: atomic operation that compares, and returns the old values
 */
enum kfi_user_opcode {
	KFI_USER_RECV,
	KFI_USER_SEND,
	KFI_USER_TRECV,
	KFI_USER_TSEND,
	KFI_USER_READ,
	KFI_USER_WRITE,
	KFI_USER_ATOMIC,
	KFI_USER_FETCH_ATOMIC,
	KFI_USER_COMPARE_ATOMIC,
};

/**
 * struct kfi_user_desc - one operation of KFI_IOC_POST
 * @opcode: &enum kfi_user_opcode
 * @ep: endpoint; for receives also a shared receive context
 * @flags: flags as for libfabric's msg calls, with KFI_USER_COMPLETION. The caller applies default
 *	flags and selective completion
 * @context: context of the completion
 * @addr: peer, an index in the address vector; for a receive FI_ADDR_UNSPEC means any
 * @tag: tag of a tagged message
 * @ignore: bits of the tag that a tagged receive ignores
 * @data: remote CQ data
 * @buf: local buffer; or, if @iov_count is not 0, an array of &struct kfi_user_iovec
 * @len: length of the local buffer or the sum of the lengths in the array, bytes; also for atomic
 *	operations
 * @rma_addr: address in the peer's region; or, if @rma_count is not 0, an array of &struct
 *	kfi_user_rma. Atomic operations: address of the first target
 * @rma_key: key of the peer's region
 * @result: address for the old values of atomic operations
 * @compare: address of the operands that an atomic operation compares with
 * @iov_count: number of segments at @buf, or 0
 * @rma_count: number of segments at @rma_addr, or 0
 * @atomic_op: FI_MIN, ...
 * @atomic_type: FI_INT8, ...
 * @reserved: 0
 *
 * Sends and writes of at most KFI_USER_COPY_MAX bytes are copied before the call returns. Longer
 * buffers, and buffers that the operation writes to, are pinned until it ends. If RLIMIT_MEMLOCK
 * does not allow that, sends and writes of up to 1 MiB are copied. Other operations fail with
 * EAGAIN if the limit will allow it after other operations of the same direction have ended, else
 * with ENOMEM.
 */
struct kfi_user_desc {
	__u32	opcode;
	__u32	ep;
	__u64	flags;
	__u64	context;
	__u64	addr;
	__u64	tag;
	__u64	ignore;
	__u64	data;
	__u64	buf;
	__u64	len;
	__u64	rma_addr;
	__u64	rma_key;
	__u64	result;
	__u64	compare;
	__u16	iov_count;
	__u16	rma_count;
	__u16	atomic_op;
	__u16	atomic_type;
	__u64	reserved[2];
};

/* FI_COMPLETION: write a completion also if the operation succeeds */
#define KFI_USER_COMPLETION	(1ULL << 24)

/**
 * struct kfi_user_rma - a segment of a peer's region
 * @addr: address of the first byte, as in &struct fi_rma_iov
 * @len: length in bytes
 * @key: key of the region
 */
struct kfi_user_rma {
	__u64	addr;
	__u64	len;
	__u64	key;
};

/**
 * struct kfi_user_post - argument of KFI_IOC_POST
 * @descs: array of &struct kfi_user_desc
 * @count: number of entries at @descs, at most 256
 * @posted: out: number of operations that were posted; they are the first ones
 * @err: out: 0, or the negative error number (errno or FI_E) of the first operation that was not
 *	posted
 * @reserved: 0
 *
 * If this structure could not be read the call fails with EFAULT, and nothing was posted. It also
 * fails with EFAULT if the results could not be written. After a fatal signal @err is -EINTR.
 */
struct kfi_user_post {
	__u64	descs;
	__u32	count;
	__u32	posted;
	__s32	err;
	__u32	reserved;
};

/**
 * struct kfi_user_cancel - argument of KFI_IOC_CANCEL, as fi_cancel() of a receive
 * @ep: endpoint or shared receive context
 * @reserved: 0
 * @context: context of the receive
 */
struct kfi_user_cancel {
	__u32	ep;
	__u32	reserved;
	__u64	context;
};

#define KFI_IOC_VERSION		_IOWR(KFI_USER_MAGIC, 0x00, struct kfi_user_version)
#define KFI_IOC_GETINFO		_IOWR(KFI_USER_MAGIC, 0x01, struct kfi_user_getinfo)
#define KFI_IOC_FABRIC		_IOWR(KFI_USER_MAGIC, 0x02, struct kfi_user_fabric)
#define KFI_IOC_DOMAIN		_IOWR(KFI_USER_MAGIC, 0x03, struct kfi_user_open)
#define KFI_IOC_PASSIVE_EP	_IOWR(KFI_USER_MAGIC, 0x04, struct kfi_user_open)
#define KFI_IOC_ENDPOINT	_IOWR(KFI_USER_MAGIC, 0x05, struct kfi_user_open)
#define KFI_IOC_STX		_IOWR(KFI_USER_MAGIC, 0x06, struct kfi_user_open)
#define KFI_IOC_SRX		_IOWR(KFI_USER_MAGIC, 0x07, struct kfi_user_open)
#define KFI_IOC_CQ		_IOWR(KFI_USER_MAGIC, 0x08, struct kfi_user_cq)
#define KFI_IOC_EQ		_IOWR(KFI_USER_MAGIC, 0x09, struct kfi_user_eq)
#define KFI_IOC_CNTR		_IOWR(KFI_USER_MAGIC, 0x0a, struct kfi_user_cntr)
#define KFI_IOC_AV		_IOWR(KFI_USER_MAGIC, 0x0b, struct kfi_user_av)
#define KFI_IOC_MR		_IOWR(KFI_USER_MAGIC, 0x0c, struct kfi_user_mr)
#define KFI_IOC_CLOSE		_IOWR(KFI_USER_MAGIC, 0x10, struct kfi_user_handle)
#define KFI_IOC_BIND		_IOWR(KFI_USER_MAGIC, 0x11, struct kfi_user_bind)
#define KFI_IOC_ENABLE		_IOWR(KFI_USER_MAGIC, 0x12, struct kfi_user_handle)
#define KFI_IOC_GETOPT		_IOWR(KFI_USER_MAGIC, 0x13, struct kfi_user_opt)
#define KFI_IOC_SETOPT		_IOWR(KFI_USER_MAGIC, 0x14, struct kfi_user_opt)
#define KFI_IOC_GETNAME		_IOWR(KFI_USER_MAGIC, 0x18, struct kfi_user_name)
#define KFI_IOC_GETPEER		_IOWR(KFI_USER_MAGIC, 0x19, struct kfi_user_name)
#define KFI_IOC_SETNAME		_IOWR(KFI_USER_MAGIC, 0x1a, struct kfi_user_name)
#define KFI_IOC_LISTEN		_IOWR(KFI_USER_MAGIC, 0x1b, struct kfi_user_handle)
#define KFI_IOC_CONNECT		_IOWR(KFI_USER_MAGIC, 0x1c, struct kfi_user_name)
#define KFI_IOC_ACCEPT		_IOWR(KFI_USER_MAGIC, 0x1d, struct kfi_user_name)
#define KFI_IOC_REJECT		_IOWR(KFI_USER_MAGIC, 0x1e, struct kfi_user_name)
#define KFI_IOC_SHUTDOWN	_IOWR(KFI_USER_MAGIC, 0x1f, struct kfi_user_shutdown)
#define KFI_IOC_AV_INSERT	_IOWR(KFI_USER_MAGIC, 0x20, struct kfi_user_av_insert)
#define KFI_IOC_AV_INSERTSVC	_IOWR(KFI_USER_MAGIC, 0x21, struct kfi_user_av_svc)
#define KFI_IOC_AV_REMOVE	_IOWR(KFI_USER_MAGIC, 0x22, struct kfi_user_av_remove)
#define KFI_IOC_AV_LOOKUP	_IOWR(KFI_USER_MAGIC, 0x23, struct kfi_user_av_lookup)
#define KFI_IOC_AV_STRADDR	_IOWR(KFI_USER_MAGIC, 0x24, struct kfi_user_av_lookup)
#define KFI_IOC_EQ_READ		_IOWR(KFI_USER_MAGIC, 0x28, struct kfi_user_event)
#define KFI_IOC_EQ_WRITE	_IOWR(KFI_USER_MAGIC, 0x29, struct kfi_user_event)
#define KFI_IOC_DRAIN		_IOWR(KFI_USER_MAGIC, 0x2a, struct kfi_user_handle)
#define KFI_IOC_WAIT		_IOWR(KFI_USER_MAGIC, 0x2b, struct kfi_user_wait)
#define KFI_IOC_SIGNAL		_IOWR(KFI_USER_MAGIC, 0x2c, struct kfi_user_handle)
#define KFI_IOC_GETWAIT		_IOWR(KFI_USER_MAGIC, 0x2d, struct kfi_user_handle)
#define KFI_IOC_COUNT		_IOWR(KFI_USER_MAGIC, 0x2e, struct kfi_user_count_change)
#define KFI_IOC_QUERY_ATOMIC	_IOWR(KFI_USER_MAGIC, 0x2f, struct kfi_user_query_atomic)
#define KFI_IOC_POST		_IOWR(KFI_USER_MAGIC, 0x30, struct kfi_user_post)
#define KFI_IOC_CANCEL		_IOWR(KFI_USER_MAGIC, 0x31, struct kfi_user_cancel)

#endif /* _UAPI_LINUX_KFI_USER_H */
