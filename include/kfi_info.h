/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: what providers offer, and asking for it
 */
#ifndef KFI_INFO_H
#define KFI_INFO_H

#include <kfi_types.h>

struct net;

/**
 * struct kfi_tx_attr - attributes of a transmit context, fi_endpoint(3)
 * @caps: capabilities, a subset of those of the info
 * @mode: mode bits
 * @op_flags: flags of posts that have no flags argument
 * @msg_order: KFI_ORDER_ guarantees
 * @comp_order: not used, gone from libfabric 2; for sources that set it
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
	uint64_t		comp_order;
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
 * @comp_order: not used, gone from libfabric 2; for sources that set it
 * @size: receives that can be outstanding
 * @iov_limit: entries of a local vector
 */
struct kfi_rx_attr {
	uint64_t		caps;
	uint64_t		mode;
	uint64_t		op_flags;
	uint64_t		msg_order;
	uint64_t		comp_order;
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
 * @auth_key: authorization key: endpoints talk only to those with the same one,
 *	and those without only to one another. A peer with another is refused with
 *	-KFI_EKEYREJECTED: a connection by an error event, an operation of a
 *	connectionless endpoint by its completion. At most 256 bytes; without one
 *	the endpoint goes by its domain's
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
 * @max_ep_stx_ctx: endpoints that can share one transmit context; 0 if none can
 * @max_ep_srx_ctx: endpoints that can share one receive context; 0 if none can
 * @cntr_cnt: counters that are expected to be opened
 * @mr_iov_limit: entries of the vector of a region
 * @caps: domain capabilities
 * @mode: mode bits
 * @auth_key: authorization key of endpoints that have none of their own
 * @auth_key_size: bytes of @auth_key
 * @max_err_data: bytes of err_data of an error entry
 * @mr_cnt: regions that can exist
 * @tclass: default traffic class
 * @max_ep_auth_key: authorization keys of one endpoint: 1, or 0 if keys can't
 *	be had; then hints with a key get no answer
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

#endif /* KFI_INFO_H */
