/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * kfi_user.h - /dev/kfi: kfabric for processes
 *
 * Each open of /dev/kfi is a context. It belongs to the user, the network namespace and
 * the address space of the process that opened it: calls from another address space, such
 * as that of a forked child, fail with EIO. Objects of a context are named by handles,
 * which are positive numbers. Values of enumerations and flags (object classes,
 * capabilities, endpoint types, operation flags, events) are those of libfabric 2.x.
 *
 * All structures have the same layout for 32-bit and 64-bit programs; pointers are 64-bit
 * numbers. The length of a structure is part of the request number. Structures may grow at
 * their end: a kernel takes those of all versions from the first one on (what is missing is 0),
 * and longer ones than it knows if the rest is 0 (else E2BIG). Fields that are named reserved
 * have to be 0.
 *
 * An ioctl returns 0, or -1 with errno set. Errors that have no errno are KFI_E numbers of
 * libfabric (256 and above), such as 259, "an error is available". Calls that fail change
 * nothing unless their description says so.
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
#define KFI_USER_COPY_MAX	16384	/* bytes that a post copies: longer buffers are pinned */

#define KFI_USER_MAGIC		0xBB

/**
 * struct kfi_user_version - KFI_IOC_VERSION
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
 * struct kfi_user_info - struct fi_info in one piece
 *
 * Members are those of libfabric's structures. In hints, 0 means that any value will do. Strings
 * end with a NUL. @present tells which optional parts an answer has.
 */
struct kfi_user_info {
	__u64	caps;
	__u64	mode;
	__u32	addr_format;
	__u32	src_addrlen;
	__u32	dest_addrlen;
	__u32	present;		/* KFI_USER_HAS_ */
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
		__u64	tx_ctx_cnt;	/* all ones: FI_SHARED_CONTEXT */
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

	/* The network device, with KFI_USER_HAS_NIC */
	struct {
		char	device[KFI_USER_NAME_MAX];
		char	driver[KFI_USER_NAME_MAX];
		char	link_address[KFI_USER_NAME_MAX];
		char	network_type[KFI_USER_NAME_MAX];
		__u64	mtu;
		__u64	speed;		/* bits per second */
		__u32	link_state;
		__u32	bus_type;
		__u16	pci_domain;
		__u8	pci_bus;
		__u8	pci_device;
		__u8	pci_function;
		__u8	reserved[3];
	} nic;
};

#define KFI_USER_HAS_NIC	(1U << 0)

/**
 * struct kfi_user_getinfo - KFI_IOC_GETINFO: fi_getinfo(3)
 * @version: version of the interface that the caller is written to
 * @count: in: structures at @infos; out: how many answers there are. Those that fit were stored.
 * @flags: FI_SOURCE, FI_NUMERICHOST, FI_PROV_ATTR_ONLY
 * @node: @service: strings of up to 255 and 63 bytes, or 0
 * @hints: struct kfi_user_info, or 0
 * @infos: array of struct kfi_user_info, or 0
 * @info_size: bytes of one struct kfi_user_info of the caller's
 * @reserved: 0
 *
 * Answers the best provider first. Errors: ENODATA, EINVAL, ENOMEM, EPERM never: what may
 * be opened is decided by the mode of the device.
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
 * Opening objects. @cookie is the caller's and comes back with events; @handle is the answer.
 * Limits of the user are answered by EMFILE; too little memory by ENOMEM.
 */

/** struct kfi_user_fabric - KFI_IOC_FABRIC: fi_fabric(3) */
struct kfi_user_fabric {
	char	prov_name[KFI_USER_NAME_MAX];
	char	name[KFI_USER_NAME_MAX];
	__u32	api_version;
	__u32	handle;
	__u64	cookie;
};

/**
 * struct kfi_user_open - KFI_IOC_DOMAIN, _PASSIVE_EP, _ENDPOINT, _STX, _SRX
 * @parent: the fabric of a domain or passive endpoint, else the domain
 * @handle: out
 * @cookie: the caller's
 * @info: struct kfi_user_info
 * @info_size: bytes of it
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
 * struct kfi_user_cq - KFI_IOC_CQ: fi_cq_open(3)
 * @domain: its domain
 * @handle: out
 * @cookie: the caller's
 * @size: entries that have to fit, 0 for a default
 * @flags: 0
 * @ring_entries: out: slots of the ring, a power of two
 * @ring_bytes: out: length of the mapping: mmap(0, ring_bytes, PROT_READ | PROT_WRITE,
 *	MAP_SHARED, fd of /dev/kfi, (off_t)handle * page size)
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
 * struct kfi_user_ring - head of the mapping of a completion queue; slots follow at @slots_at
 * @tail: count of slots that the kernel has filled, modulo 2^32. Load it with acquire order.
 * @head: count of slots that the reader has taken. Store it with release order. A reader that
 *	lies loses its own completions, nothing else.
 * @overflow: the kernel has completions for which the ring had no room. A reader that has
 *	emptied the ring, and then finds this to be 1 (a full barrier lies between), calls
 *	KFI_IOC_DRAIN.
 * @mask: slots - 1
 * @slots_at: offset of the first slot in the mapping
 */
struct kfi_user_ring {
	__u32	tail;
	__u32	overflow;
	__u32	mask;
	__u32	slots_at;
	__u32	reserved0[12];
	__u32	head;			/* on a cache line of its own */
	__u32	reserved1[15];
};

/**
 * struct kfi_user_cqe - a slot of the ring: a completion
 * @context: context of the operation; 0 for what a peer has done
 * @flags: FI_SEND, FI_RECV ... as in struct fi_cq_msg_entry
 * @len: bytes received; with FI_ETRUNC the length of the message
 * @buf: where a message lies in a multi-receive buffer
 * @data: remote CQ data
 * @tag: tag of a tagged message
 * @src_addr: sender, with FI_SOURCE; else FI_ADDR_NOTAVAIL
 * @err: 0, or a positive error number: then the next slot is a struct kfi_user_cqe_err
 * @prov_errno: number of the provider
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
 * struct kfi_user_cqe_err - slot after a failed completion
 * @olen: bytes that did not fit
 * @reserved: 0
 */
struct kfi_user_cqe_err {
	__u64	olen;
	__u64	reserved[7];
};

/**
 * struct kfi_user_eq - KFI_IOC_EQ: fi_eq_open(3)
 * @fabric: its fabric
 * @handle: out
 * @cookie: the caller's
 * @size: entries, 0 for a default
 * @flags: FI_WRITE: KFI_IOC_EQ_WRITE is allowed
 */
struct kfi_user_eq {
	__u32	fabric;
	__u32	handle;
	__u64	cookie;
	__u64	size;
	__u64	flags;
};

/**
 * struct kfi_user_cntr - KFI_IOC_CNTR: fi_cntr(3)
 * @domain: its domain
 * @handle: out
 * @cookie: the caller's
 * @events: FI_CNTR_EVENTS_COMP or _BYTES
 * @reserved: 0
 *
 * mmap(0, page size, PROT_READ, MAP_SHARED, fd, (off_t)handle * page size) shows a struct
 * kfi_user_count.
 */
struct kfi_user_cntr {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u32	events;
	__u32	reserved;
};

/** struct kfi_user_count - mapping of a counter: successes and failures so far */
struct kfi_user_count {
	__u64	value;
	__u64	errors;
};

/**
 * struct kfi_user_av - KFI_IOC_AV: fi_av(3)
 * @domain: its domain
 * @handle: out
 * @cookie: the caller's
 * @count: addresses that are expected
 * @rx_ctx_bits: top bits of an fi_addr_t that name a receive context
 * @addrlen: out: bytes of one address
 *
 * Addresses are indices in the order of insertion (FI_AV_TABLE).
 */
struct kfi_user_av {
	__u32	domain;
	__u32	handle;
	__u64	cookie;
	__u64	count;
	__u32	rx_ctx_bits;
	__u32	addrlen;
};

/** struct kfi_user_iovec - a piece of the caller's memory */
struct kfi_user_iovec {
	__u64	base;
	__u64	len;
};

/**
 * struct kfi_user_mr - KFI_IOC_MR: fi_mr(3). The memory is pinned until the region is closed.
 * @domain: its domain
 * @handle: out
 * @cookie: the caller's
 * @iov: array of struct kfi_user_iovec
 * @iov_count: entries, at most KFI_USER_IOV_MAX
 * @reserved: 0
 * @access: FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE
 * @offset: address of the first byte for peers
 * @requested_key: a key, or FI_KEY_NOTAVAIL for one of the kernel's choice
 * @flags: FI_RMA_EVENT
 * @key: out
 *
 * Errors: ENOMEM with memory that is more than RLIMIT_MEMLOCK allows; EFAULT, also for memory that
 * can't be pinned for long (a file's that is mapped for writing); EOPNOTSUPP for that of DAX.
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

/** struct kfi_user_handle - KFI_IOC_CLOSE, _ENABLE, _LISTEN, _DRAIN, _SIGNAL, _GETWAIT */
struct kfi_user_handle {
	__u32	handle;
	__u32	fd;		/* out, _GETWAIT: a descriptor to poll() for input */
};

/** struct kfi_user_bind - KFI_IOC_BIND: fi_ep_bind(3) and its like */
struct kfi_user_bind {
	__u32	handle;
	__u32	target;
	__u64	flags;		/* without FI_SELECTIVE_COMPLETION: see KFI_USER_COMPLETION */
};

/**
 * struct kfi_user_opt - KFI_IOC_GETOPT, KFI_IOC_SETOPT: options of an endpoint
 * @handle: the endpoint
 * @level: FI_OPT_ENDPOINT
 * @name: FI_OPT_
 * @len: bytes at @value; out of a GETOPT: of the option
 * @value: the value
 */
struct kfi_user_opt {
	__u32	handle;
	__u32	level;
	__u32	name;
	__u32	len;
	__u64	value;
};

/**
 * struct kfi_user_name - KFI_IOC_GETNAME, _GETPEER, _SETNAME, _CONNECT, _ACCEPT, _REJECT
 * @handle: the endpoint, or passive endpoint
 * @connreq: _REJECT: the request
 * @addrlen: bytes at @addr; out of _GETNAME and _GETPEER: of the address, also with FI_ETOOSMALL
 * @paramlen: bytes at @param
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

/** struct kfi_user_shutdown - KFI_IOC_SHUTDOWN: fi_shutdown(3) */
struct kfi_user_shutdown {
	__u32	handle;
	__u32	reserved;
	__u64	flags;
};

/**
 * struct kfi_user_av_insert - KFI_IOC_AV_INSERT: fi_av_insert(3)
 * @av: the vector
 * @count: addresses, at most 4096; out: how many were inserted
 * @addrs: the addresses, of the vector's addrlen each
 * @fi_addrs: array of @count __u64 for the results, or 0
 * @errs: array of @count __s32 for 0 or a positive error of each, or 0
 * @addrs_size: bytes at @addrs
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
 * struct kfi_user_av_svc - KFI_IOC_AV_INSERTSVC: fi_av_insertsvc(3) and fi_av_insertsym(3)
 * @av: the vector
 * @count: out: how many were inserted
 * @node: @service: strings, as for KFI_IOC_GETINFO
 * @nodecnt: @svccnt: nodes and services, 1 and 1 for a single address; their product is at most
 *	4096
 * @fi_addrs: array of that many __u64, or 0
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

/** struct kfi_user_av_remove - KFI_IOC_AV_REMOVE: @count __u64 at @fi_addrs, at most 4096 */
struct kfi_user_av_remove {
	__u32	av;
	__u32	count;
	__u64	fi_addrs;
};

/**
 * struct kfi_user_av_lookup - KFI_IOC_AV_LOOKUP, KFI_IOC_AV_STRADDR
 * @av: the vector
 * @addrlen: _LOOKUP: room at @addr, out: bytes of the address; _STRADDR: bytes at @addr
 * @fi_addr: _LOOKUP: what to look up
 * @addr: the address
 * @str: _STRADDR: where to print; always terminated
 * @len: _STRADDR: bytes at @str, out: bytes that the text needs
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
 * struct kfi_user_event - KFI_IOC_EQ_READ, KFI_IOC_EQ_WRITE: fi_eq_read(3)
 * @eq: the queue
 * @event: FI_CONNREQ ...; 0 of an error
 * @flags: _READ: FI_PEEK
 * @err: out: 0; or a positive error, which fi_eq_readerr(3) shows
 * @prov_errno: out: number of the provider
 * @cookie: out: of the object; as written by _WRITE
 * @data: out: data of the event
 * @connreq: out: with FI_CONNREQ a handle of the request, for KFI_IOC_ENDPOINT or KFI_IOC_REJECT.
 *	It is closed like an object, which rejects it if nothing else was done with it.
 * @len: in: bytes at @buf; out: bytes of private data, error data, or of what _WRITE wrote
 * @buf: where the data goes; _WRITE: an entry for _READ to return as it is, at most 256 bytes
 * @info: with FI_CONNREQ, where to put a struct kfi_user_info
 * @info_size: bytes of that
 * @written: out: the event was made by _WRITE
 *
 * _READ fails with EAGAIN if there is no event. An error event is read like any other. A request
 * that is only looked at (FI_PEEK) has no @connreq and no @info.
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
 * struct kfi_user_wait - KFI_IOC_WAIT
 * @handle: a completion queue, event queue or counter
 * @timeout_ms: negative: for ever
 * @threshold: of a counter: the value that is waited for
 * @errors: of a counter: its errors that the caller knows of
 *
 * Returns when the queue is not empty, the counter has reached the value or has other than
 * @errors errors (KFI_EAVAIL). EAGAIN: KFI_IOC_SIGNAL; ETIMEDOUT; EINTR.
 */
struct kfi_user_wait {
	__u32	handle;
	__s32	timeout_ms;
	__u64	threshold;
	__u64	errors;
};

/** enum kfi_user_count_op - what KFI_IOC_COUNT does with @value */
enum kfi_user_count_op {
	KFI_USER_COUNT_ADD,
	KFI_USER_COUNT_SET,
	KFI_USER_COUNT_ADDERR,
	KFI_USER_COUNT_SETERR,
};

/** struct kfi_user_count_change - KFI_IOC_COUNT: fi_cntr_add(3) and its like */
struct kfi_user_count_change {
	__u32	cntr;
	__u32	op;
	__u64	value;
};

/**
 * struct kfi_user_query_atomic - KFI_IOC_QUERY_ATOMIC: fi_query_atomic(3)
 * @handle: a domain or endpoint
 * @datatype: @op: @flags: as there
 * @count: @size: out
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

/** enum kfi_user_opcode - kinds of operations */
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
 * @opcode: enum kfi_user_opcode
 * @ep: endpoint, or shared receive context
 * @flags: flags of libfabric's calls, KFI_USER_COMPLETION among them: default flags and selective
 *	completion are the caller's business
 * @context: comes back with the completion
 * @addr: peer: an index of the address vector; FI_ADDR_UNSPEC of a receive: anyone
 * @tag: @ignore: of tagged messages
 * @data: remote CQ data
 * @buf: @len: the local buffer; or with @iov_count an array of struct kfi_user_iovec, and the
 *	sum of its lengths
 * @rma_addr: @rma_key: the remote buffer, of the local one's length; or with @rma_count
 *	@rma_addr is an array of struct kfi_user_rma. Of an atomic operation, the first operand
 * @result: where fetched operands go
 * @compare: operands to compare with
 * @iov_count: segments at @buf, or 0
 * @rma_count: segments at @rma_addr, or 0
 * @atomic_op: @atomic_type: of atomic operations
 *
 * @len of atomic operations is in bytes. Sends and writes of up to KFI_USER_COPY_MAX bytes are
 * copied before the call returns. Longer ones, and what is written to, are pinned until they end.
 * Where RLIMIT_MEMLOCK has no room, what is sent or written is copied up to 1 MiB; other operations
 * get EAGAIN if there will be room when operations of the same direction have ended, else ENOMEM.
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

/* FI_COMPLETION: success makes an entry. Failure always does. */
#define KFI_USER_COMPLETION	(1ULL << 24)

/** struct kfi_user_rma - a piece of a peer's region */
struct kfi_user_rma {
	__u64	addr;
	__u64	len;
	__u64	key;
};

/**
 * struct kfi_user_post - KFI_IOC_POST
 * @descs: array of struct kfi_user_desc
 * @count: how many, at most 256
 * @posted: out: how many were posted: the first ones
 * @err: out: 0, or why the next one was not: a negative error number, of KFI_E too
 * @reserved: 0
 *
 * EFAULT: this structure could not be read, and nothing was posted, or not be written. A fatal
 * signal between two descriptors ends the series with EINTR.
 */
struct kfi_user_post {
	__u64	descs;
	__u32	count;
	__u32	posted;
	__s32	err;
	__u32	reserved;
};

/** struct kfi_user_cancel - KFI_IOC_CANCEL: fi_cancel(3) */
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
