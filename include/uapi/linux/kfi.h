/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * kfi.h - generic netlink interface of kfabric: open objects, their statistics, and the map of node
 * numbers to addresses
 *
 * Each command concerns the network namespace of the socket. The commands KFI_CMD_GET_ are dumps
 * (NLM_F_DUMP) and need no privilege. If objects are opened or closed during a dump, the dump still
 * shows each object that exists all the time exactly once. The other commands need CAP_NET_ADMIN in
 * the user namespace that owns the network namespace.
 *
 * Values of enumerations and flags (capabilities, endpoint types, ...) are those of the FI_
 * constants of libfabric. Additional values of kfabric are above them.
 *
 * A request with an unknown attribute is refused. A reader of answers has to ignore unknown
 * attributes.
 */
#ifndef _UAPI_LINUX_KFI_H
#define _UAPI_LINUX_KFI_H

#define KFI_GENL_NAME		"kfi"
#define KFI_GENL_VERSION	1

#define KFI_MAP_ID_MAX		0xfffff	/* highest KFI_A_MAP_ID */

/**
 * enum kfi_cmd - requests; an answer has the number of its request
 *
 * @KFI_CMD_UNSPEC: not used
 * @KFI_CMD_GET_PROVIDER: list the providers that are loaded, which are the same in all namespaces.
 *	Answer: PROV_NAME, PROV_VERSION
 * @KFI_CMD_GET_INFO: list what kfi_getinfo() returns.
 *	Request: optional PROV_NAME (the provider is not loaded; use modprobe kfi-provider-NAME),
 *	EP_TYPE, NODE, SERVICE, SOURCE, CAPS.
 *	Answer, one message for each info: PROV_NAME, PROV_VERSION, FABRIC_NAME, DOMAIN_NAME,
 *	EP_TYPE, CAPS, MODE, ADDR_FORMAT, SRC_ADDR, DEST_ADDR if known, and the nests TX_ATTR,
 *	RX_ATTR, EP_ATTR, DOMAIN_ATTR.
 *	Fails with ENODATA if there is none
 * @KFI_CMD_GET_FABRIC: list open fabrics.
 *	Answer: PROV_NAME, FABRIC_ID, FABRIC_NAME
 * @KFI_CMD_GET_DOMAIN: list open domains.
 *	Answer: PROV_NAME, FABRIC_ID, FABRIC_NAME, DOMAIN_ID, DOMAIN_NAME, REGISTERED
 * @KFI_CMD_GET_EP: list open endpoints and passive endpoints.
 *	Request: optional EP_ID.
 *	Answer: PROV_NAME, FABRIC_ID, FABRIC_NAME, EP_ID, EP_TYPE, EP_STATE, CAPS, SRC_ADDR and
 *	DEST_ADDR if known; except for passive endpoints DOMAIN_ID, DOMAIN_NAME, TX_ATTR and
 *	RX_ATTR
 * @KFI_CMD_GET_PEER: list the peers of endpoints.
 *	Request: optional EP_ID.
 *	Answer: PROV_NAME, DOMAIN_NAME, EP_ID, PEER
 * @KFI_CMD_GET_STATS: read the statistics of endpoints.
 *	Request: optional EP_ID.
 *	Answer: PROV_NAME, DOMAIN_NAME, EP_ID, EP_TYPE, STATS, and a CNTR for each bound counter
 * @KFI_CMD_GET_MAP: list the map of node numbers.
 *	Answer, in the order of numbers: MAP_ID, MAP_ADDR
 * @KFI_CMD_ADD_MAP: give a node number to an address.
 *	Request: MAP_ID, MAP_ADDR.
 *	Fails with EEXIST if the number or the address is in the map; ERANGE if the number is not
 *	1 to %KFI_MAP_ID_MAX; EINVAL if no node can have the address, or if an attribute is missing
 *	or has a wrong size; ENOSPC if the map is full; EPERM
 * @KFI_CMD_DEL_MAP: remove a node number from the map. Endpoints go on with the addresses that they
 *	use already.
 *	Request: MAP_ID.
 *	Fails with ENOENT if the map has no such number, ERANGE, EINVAL, EPERM
 * @KFI_CMD_GET_PLACE: list the devices of this machine that may write to memory of peers, or were
 *	found not to be able to.
 *	Answer: PROV_NAME, DOMAIN_ID, DOMAIN_NAME, PLACE
 * @KFI_CMD_GET_DEVICE: list what providers use of their devices, and what they do without. Nothing
 *	need be open on a device.
 *	Answer, one message for each part of a device: PROV_NAME, DOMAIN_NAME, PART
 */
enum kfi_cmd {
	KFI_CMD_UNSPEC,
	KFI_CMD_GET_PROVIDER,
	KFI_CMD_GET_INFO,
	KFI_CMD_GET_FABRIC,
	KFI_CMD_GET_DOMAIN,
	KFI_CMD_GET_EP,
	KFI_CMD_GET_PEER,
	KFI_CMD_GET_STATS,
	KFI_CMD_GET_MAP,
	KFI_CMD_ADD_MAP,
	KFI_CMD_DEL_MAP,
	KFI_CMD_GET_PLACE,
	KFI_CMD_GET_DEVICE,
	/* private: */
	__KFI_CMD_MAX,
	KFI_CMD_MAX = __KFI_CMD_MAX - 1
};

/**
 * enum kfi_nl_ep_state - values of KFI_A_EP_STATE
 * @KFI_NL_EP_IDLE: opened, not enabled
 * @KFI_NL_EP_ENABLED: RDM, DGRAM: can transfer. MSG: receives can be posted
 * @KFI_NL_EP_CONNECTING: connect or accept is in progress
 * @KFI_NL_EP_CONNECTED: connected
 * @KFI_NL_EP_SHUT: the connection has ended or failed
 * @KFI_NL_EP_DEAD: the namespace or the device has gone
 * @KFI_NL_EP_LISTENING: passive endpoint that listens
 */
enum kfi_nl_ep_state {
	KFI_NL_EP_IDLE,
	KFI_NL_EP_ENABLED,
	KFI_NL_EP_CONNECTING,
	KFI_NL_EP_CONNECTED,
	KFI_NL_EP_SHUT,
	KFI_NL_EP_DEAD,
	KFI_NL_EP_LISTENING,
};

/**
 * enum kfi_attr - attributes of messages
 * @KFI_A_UNSPEC: not used
 * @KFI_A_PAD: aligns 64-bit values
 * @KFI_A_PROV_NAME: string, name of the provider, at most 63 bytes
 * @KFI_A_PROV_VERSION: u32, major number << 16 | minor number
 * @KFI_A_NODE: string, address or name of an interface, at most 255 bytes
 * @KFI_A_SERVICE: string, port number or the like, at most 63 bytes
 * @KFI_A_SOURCE: flag, NODE and SERVICE name the local side
 * @KFI_A_FABRIC_ID: u32, number of an open fabric
 * @KFI_A_FABRIC_NAME: string
 * @KFI_A_DOMAIN_ID: u32, number of an open domain
 * @KFI_A_DOMAIN_NAME: string
 * @KFI_A_EP_ID: u32, number of an endpoint
 * @KFI_A_EP_TYPE: u32, FI_EP_
 * @KFI_A_EP_STATE: u32, &enum kfi_nl_ep_state
 * @KFI_A_CAPS: u64, capabilities
 * @KFI_A_MODE: u64, mode bits
 * @KFI_A_ADDR_FORMAT: u32, FI_SOCKADDR, ...
 * @KFI_A_SRC_ADDR: string, local address in the notation of the provider
 * @KFI_A_DEST_ADDR: string, address of the peer
 * @KFI_A_TX_ATTR: nest of &enum kfi_ctx_attr
 * @KFI_A_RX_ATTR: nest of &enum kfi_ctx_attr
 * @KFI_A_EP_ATTR: nest of &enum kfi_ep_nl_attr
 * @KFI_A_DOMAIN_ATTR: nest of &enum kfi_domain_nl_attr
 * @KFI_A_PEER: nest of &enum kfi_peer_attr
 * @KFI_A_STATS: nest of &enum kfi_stats_attr
 * @KFI_A_CNTR: nest of &enum kfi_cntr_nl_attr
 * @KFI_A_MAP_ID: u32, node number, 1 to %KFI_MAP_ID_MAX
 * @KFI_A_MAP_ADDR: IPv4 address of a node, 4 bytes in network order
 * @KFI_A_REGISTERED: u64, number of times that a region of the domain was made available to peers
 *	since the domain was opened. Each registration of a per-I/O region counts
 * @KFI_A_PLACE: nest of &enum kfi_place_attr
 * @KFI_A_PART: nest of &enum kfi_part_attr
 */
enum kfi_attr {
	KFI_A_UNSPEC,
	KFI_A_PAD,
	KFI_A_PROV_NAME,
	KFI_A_PROV_VERSION,
	KFI_A_NODE,
	KFI_A_SERVICE,
	KFI_A_SOURCE,
	KFI_A_FABRIC_ID,
	KFI_A_FABRIC_NAME,
	KFI_A_DOMAIN_ID,
	KFI_A_DOMAIN_NAME,
	KFI_A_EP_ID,
	KFI_A_EP_TYPE,
	KFI_A_EP_STATE,
	KFI_A_CAPS,
	KFI_A_MODE,
	KFI_A_ADDR_FORMAT,
	KFI_A_SRC_ADDR,
	KFI_A_DEST_ADDR,
	KFI_A_TX_ATTR,
	KFI_A_RX_ATTR,
	KFI_A_EP_ATTR,
	KFI_A_DOMAIN_ATTR,
	KFI_A_PEER,
	KFI_A_STATS,
	KFI_A_CNTR,
	KFI_A_MAP_ID,
	KFI_A_MAP_ADDR,
	KFI_A_REGISTERED,
	KFI_A_PLACE,
	KFI_A_PART,
	/* private: */
	__KFI_A_MAX,
	KFI_A_MAX = __KFI_A_MAX - 1
};

/**
 * enum kfi_ctx_attr - attributes of the transmit or receive side of an endpoint, all u64
 * @KFI_CTX_A_UNSPEC: not used
 * @KFI_CTX_A_PAD: aligns 64-bit values
 * @KFI_CTX_A_CAPS: capabilities
 * @KFI_CTX_A_OP_FLAGS: default operation flags
 * @KFI_CTX_A_MSG_ORDER: ordering guarantees, FI_ORDER_
 * @KFI_CTX_A_SIZE: number of operations that can be outstanding
 * @KFI_CTX_A_IOV_LIMIT: number of entries of a local vector
 * @KFI_CTX_A_INJECT_SIZE: largest injected message, bytes (transmit)
 * @KFI_CTX_A_RMA_IOV_LIMIT: number of entries of a remote vector (transmit)
 * @KFI_CTX_A_TCLASS: traffic class, FI_TC_ (transmit)
 */
enum kfi_ctx_attr {
	KFI_CTX_A_UNSPEC,
	KFI_CTX_A_PAD,
	KFI_CTX_A_CAPS,
	KFI_CTX_A_OP_FLAGS,
	KFI_CTX_A_MSG_ORDER,
	KFI_CTX_A_SIZE,
	KFI_CTX_A_IOV_LIMIT,
	KFI_CTX_A_INJECT_SIZE,
	KFI_CTX_A_RMA_IOV_LIMIT,
	KFI_CTX_A_TCLASS,
	/* private: */
	__KFI_CTX_A_MAX,
	KFI_CTX_A_MAX = __KFI_CTX_A_MAX - 1
};

/**
 * enum kfi_ep_nl_attr - endpoint attributes of an info, all u64
 * @KFI_EP_A_UNSPEC: not used
 * @KFI_EP_A_PAD: aligns 64-bit values
 * @KFI_EP_A_PROTOCOL: protocol: FI_PROTO_, or from 0x1000 a protocol of kfabric
 * @KFI_EP_A_PROTOCOL_VERSION: version of the protocol
 * @KFI_EP_A_MAX_MSG_SIZE: largest message, bytes
 * @KFI_EP_A_MEM_TAG_FORMAT: bits of a tag that can be used
 */
enum kfi_ep_nl_attr {
	KFI_EP_A_UNSPEC,
	KFI_EP_A_PAD,
	KFI_EP_A_PROTOCOL,
	KFI_EP_A_PROTOCOL_VERSION,
	KFI_EP_A_MAX_MSG_SIZE,
	KFI_EP_A_MEM_TAG_FORMAT,
	/* private: */
	__KFI_EP_A_MAX,
	KFI_EP_A_MAX = __KFI_EP_A_MAX - 1
};

/**
 * enum kfi_domain_nl_attr - domain attributes of an info, all u64
 * @KFI_DOMAIN_A_UNSPEC: not used
 * @KFI_DOMAIN_A_PAD: aligns 64-bit values
 * @KFI_DOMAIN_A_MR_MODE: FI_MR_ bits
 * @KFI_DOMAIN_A_MR_KEY_SIZE: length of a key, bytes
 * @KFI_DOMAIN_A_MR_IOV_LIMIT: number of entries of a region's vector
 * @KFI_DOMAIN_A_CQ_DATA_SIZE: length of remote CQ data, bytes
 * @KFI_DOMAIN_A_MAX_EP_TX_CTX: number of transmit contexts of an endpoint
 * @KFI_DOMAIN_A_MAX_EP_RX_CTX: number of receive contexts of an endpoint
 * @KFI_DOMAIN_A_MAX_EP_STX_CTX: number of endpoints that can share a transmit context
 * @KFI_DOMAIN_A_MAX_EP_SRX_CTX: number of endpoints that can share a receive context
 */
enum kfi_domain_nl_attr {
	KFI_DOMAIN_A_UNSPEC,
	KFI_DOMAIN_A_PAD,
	KFI_DOMAIN_A_MR_MODE,
	KFI_DOMAIN_A_MR_KEY_SIZE,
	KFI_DOMAIN_A_MR_IOV_LIMIT,
	KFI_DOMAIN_A_CQ_DATA_SIZE,
	KFI_DOMAIN_A_MAX_EP_TX_CTX,
	KFI_DOMAIN_A_MAX_EP_RX_CTX,
	KFI_DOMAIN_A_MAX_EP_STX_CTX,
	KFI_DOMAIN_A_MAX_EP_SRX_CTX,
	/* private: */
	__KFI_DOMAIN_A_MAX,
	KFI_DOMAIN_A_MAX = __KFI_DOMAIN_A_MAX - 1
};

/**
 * enum kfi_peer_attr - a peer of an endpoint
 * @KFI_PEER_A_UNSPEC: not used
 * @KFI_PEER_A_PAD: aligns 64-bit values
 * @KFI_PEER_A_ADDR: string
 * @KFI_PEER_A_STATE: string, state of the connection; the words are those of the provider
 * @KFI_PEER_A_CPU: u32, CPU on which the work of the connection runs; absent if it has none
 * @KFI_PEER_A_TX_BYTES: u64, bytes sent
 * @KFI_PEER_A_RX_BYTES: u64, bytes received
 * @KFI_PEER_A_PENDING: u64, number of operations that are outstanding
 * @KFI_PEER_A_UNEXPECTED_BYTES: u64, bytes of messages that wait for receives
 * @KFI_PEER_A_RECONNECTS: u64, number of connections after the first
 * @KFI_PEER_A_PROTECTION: string, what encrypts and authenticates the connection, "none" if
 *	nothing does; absent if there is no connection
 * @KFI_PEER_A_IDENTITY: string, what has shown who the peer is: "psk" or "x509", keys of its
 *	machine; "key", the authorization key of the endpoint; "port", a port that needs privileges
 *	there; "address", only its address; absent if there is no connection
 */
enum kfi_peer_attr {
	KFI_PEER_A_UNSPEC,
	KFI_PEER_A_PAD,
	KFI_PEER_A_ADDR,
	KFI_PEER_A_STATE,
	KFI_PEER_A_CPU,
	KFI_PEER_A_TX_BYTES,
	KFI_PEER_A_RX_BYTES,
	KFI_PEER_A_PENDING,
	KFI_PEER_A_UNEXPECTED_BYTES,
	KFI_PEER_A_RECONNECTS,
	KFI_PEER_A_PROTECTION,
	KFI_PEER_A_IDENTITY,
	/* private: */
	__KFI_PEER_A_MAX,
	KFI_PEER_A_MAX = __KFI_PEER_A_MAX - 1
};

/**
 * enum kfi_stats_attr - statistics of an endpoint since it was opened, all u64
 * @KFI_STATS_A_UNSPEC: not used
 * @KFI_STATS_A_PAD: aligns 64-bit values
 * @KFI_STATS_A_TX_OPS: transmit operations that were posted
 * @KFI_STATS_A_TX_BYTES: bytes of payload in TX_OPS
 * @KFI_STATS_A_RX_OPS: receives that were completed
 * @KFI_STATS_A_RX_BYTES: bytes of payload in RX_OPS
 * @KFI_STATS_A_RMA_IN_OPS: RMA and atomic operations that peers have performed on this side
 * @KFI_STATS_A_RMA_IN_BYTES: bytes of payload in RMA_IN_OPS
 * @KFI_STATS_A_ERRORS: operations that were completed with an error
 * @KFI_STATS_A_AGAIN: posts that failed with EAGAIN
 * @KFI_STATS_A_UNEXPECTED: messages that arrived before their receive was posted
 * @KFI_STATS_A_COPIED: bytes of payload that were copied to send them
 * @KFI_STATS_A_SPLICED: bytes of payload that were sent from the pages of the consumer
 * @KFI_STATS_A_PLACED: bytes of payload that hardware has placed at their destination for an
 *	operation of this side. RMA of a peer that no code on this side takes part in is not
 *	counted
 * @KFI_STATS_A_BOUNCED: bytes of payload that hardware has placed elsewhere, and a CPU has copied
 * @KFI_STATS_A_DROPPED: unexpected messages of lost peers that were dropped to make room
 * @KFI_STATS_A_GRANTED: bytes of payload that were written to regions of peers by lasting grants,
 *	without a request for each write
 */
enum kfi_stats_attr {
	KFI_STATS_A_UNSPEC,
	KFI_STATS_A_PAD,
	KFI_STATS_A_TX_OPS,
	KFI_STATS_A_TX_BYTES,
	KFI_STATS_A_RX_OPS,
	KFI_STATS_A_RX_BYTES,
	KFI_STATS_A_RMA_IN_OPS,
	KFI_STATS_A_RMA_IN_BYTES,
	KFI_STATS_A_ERRORS,
	KFI_STATS_A_AGAIN,
	KFI_STATS_A_UNEXPECTED,
	KFI_STATS_A_COPIED,
	KFI_STATS_A_SPLICED,
	KFI_STATS_A_PLACED,
	KFI_STATS_A_BOUNCED,
	KFI_STATS_A_DROPPED,
	KFI_STATS_A_GRANTED,
	/* private: */
	__KFI_STATS_A_MAX,
	KFI_STATS_A_MAX = __KFI_STATS_A_MAX - 1
};

/**
 * enum kfi_nl_cntr_dir - values of KFI_CNTR_A_DIR: what a counter counts
 * @KFI_NL_CNTR_SEND: sends
 * @KFI_NL_CNTR_RECV: receives
 * @KFI_NL_CNTR_READ: RMA reads of this side
 * @KFI_NL_CNTR_WRITE: RMA writes of this side
 * @KFI_NL_CNTR_REMOTE_READ: RMA reads of peers
 * @KFI_NL_CNTR_REMOTE_WRITE: RMA writes of peers
 */
enum kfi_nl_cntr_dir {
	KFI_NL_CNTR_SEND,
	KFI_NL_CNTR_RECV,
	KFI_NL_CNTR_READ,
	KFI_NL_CNTR_WRITE,
	KFI_NL_CNTR_REMOTE_READ,
	KFI_NL_CNTR_REMOTE_WRITE,
};

/**
 * enum kfi_cntr_nl_attr - a counter bound to an endpoint
 * @KFI_CNTR_A_UNSPEC: not used
 * @KFI_CNTR_A_PAD: aligns 64-bit values
 * @KFI_CNTR_A_DIR: u32, &enum kfi_nl_cntr_dir
 * @KFI_CNTR_A_VALUE: u64, value of the counter
 * @KFI_CNTR_A_ERRORS: u64, value of its error counter
 */
enum kfi_cntr_nl_attr {
	KFI_CNTR_A_UNSPEC,
	KFI_CNTR_A_PAD,
	KFI_CNTR_A_DIR,
	KFI_CNTR_A_VALUE,
	KFI_CNTR_A_ERRORS,
	/* private: */
	__KFI_CNTR_A_MAX,
	KFI_CNTR_A_MAX = __KFI_CNTR_A_MAX - 1
};

/**
 * enum kfi_place_attr - a device that may write to memory of peers
 * @KFI_PLACE_A_UNSPEC: not used
 * @KFI_PLACE_A_PAD: aligns 64-bit values
 * @KFI_PLACE_A_DEVICE: string, name of the device
 * @KFI_PLACE_A_VERDICT: string, "yes: " or "no: " and the reason
 * @KFI_PLACE_A_COUNT: u32, places that the device has now
 * @KFI_PLACE_A_FENCE: string, whether what the device has written before its completion is known to
 *	arrive before what is sent later: "not needed", as for memory of this machine; or
 *	"unproven": no test on hardware has shown it
 */
enum kfi_place_attr {
	KFI_PLACE_A_UNSPEC,
	KFI_PLACE_A_PAD,
	KFI_PLACE_A_DEVICE,
	KFI_PLACE_A_VERDICT,
	KFI_PLACE_A_COUNT,
	KFI_PLACE_A_FENCE,
	/* private: */
	__KFI_PLACE_A_MAX,
	KFI_PLACE_A_MAX = __KFI_PLACE_A_MAX - 1
};

/**
 * enum kfi_part_attr - a part of a device
 * @KFI_PART_A_UNSPEC: not used
 * @KFI_PART_A_PAD: aligns 64-bit values
 * @KFI_PART_A_NAME: string, what it is, and its name if it has one
 * @KFI_PART_A_STATE: string, how it is used; or what stands in for it, and why
 * @KFI_PART_A_HELP: string, what an administrator can do about that; absent if there is nothing
 */
enum kfi_part_attr {
	KFI_PART_A_UNSPEC,
	KFI_PART_A_PAD,
	KFI_PART_A_NAME,
	KFI_PART_A_STATE,
	KFI_PART_A_HELP,
	/* private: */
	__KFI_PART_A_MAX,
	KFI_PART_A_MAX = __KFI_PART_A_MAX - 1
};

#endif /* _UAPI_LINUX_KFI_H */
