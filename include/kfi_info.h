/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: infos, which describe what providers offer, and queries for them
 */
#ifndef KFI_INFO_H
#define KFI_INFO_H

#include <kfi_types.h>

struct net;
struct notifier_block;

/**
 * DOC: Hints
 *
 * Everything begins with kfi_getinfo(). One info of its answer describes one kind
 * of endpoint of one domain of one fabric, and is what kfi_fabric(), kfi_domain()
 * and kfi_endpoint() take. An answer meets all hints, and is in reach: a provider
 * answers only for a node that it can use, so a consumer may take the first one.
 *
 * - caps of an answer are those of the hints, and those that cost nothing
 *   (KFI_MULTI_RECV and the like). KFI_MSG or KFI_TAGGED without a direction means
 *   KFI_SEND and KFI_RECV; KFI_RMA or KFI_ATOMIC without one means KFI_READ,
 *   KFI_WRITE, KFI_REMOTE_READ and KFI_REMOTE_WRITE.
 * - op_flags of the answer support a completion level among those of the hints.
 *   No capability shows which levels a provider has.
 * - Default sizes are small: ask for what is needed.
 * - Requirements on regions (mr_mode) are checked only if there is a domain_attr.
 *
 * An RDM endpoint of the sockets provider that reaches a node::
 *
 *	struct kfi_info *hints = kfi_allocinfo(), *info;
 *
 *	if (!hints)
 *		return -ENOMEM;
 *	hints->caps = KFI_MSG | KFI_RMA;
 *	hints->ep_attr->type = KFI_EP_RDM;
 *	hints->tx_attr->op_flags = KFI_DELIVERY_COMPLETE;
 *	hints->domain_attr->mr_mode = KFI_MR_ENDPOINT | KFI_MR_PROV_KEY;
 *	hints->fabric_attr->prov_name = kstrdup("sockets", GFP_KERNEL);
 *	ret = kfi_getinfo(KFI_VERSION(2, 1), "192.0.2.7", "7471", 0, hints, &info);
 *	kfi_freeinfo(hints);
 */

/**
 * struct kfi_tx_attr - attributes of a transmit context, fi_endpoint(3)
 * @caps: capabilities, a subset of those of the info
 * @mode: mode bits
 * @op_flags: default operation flags
 * @msg_order: ordering guarantees, KFI_ORDER_
 * @comp_order: not used. It exists for sources that set it; libfabric 2 does not
 *	have it
 * @inject_size: largest injected message, bytes
 * @size: number of operations that can be outstanding
 * @iov_limit: number of entries of a local vector
 * @rma_iov_limit: number of entries of a remote vector
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
 * @op_flags: default operation flags
 * @msg_order: ordering guarantees, KFI_ORDER_
 * @comp_order: not used. It exists for sources that set it; libfabric 2 does not
 *	have it
 * @size: number of receives that can be outstanding
 * @iov_limit: number of entries of a local vector
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
 * @type: type of the endpoint
 * @protocol: wire protocol, KFI_PROTO_
 * @protocol_version: version of the protocol, defined by the provider
 * @max_msg_size: largest message or RMA operation, bytes
 * @msg_prefix_size: 0; KFI_MSG_PREFIX is not supported
 * @max_order_raw_size: bytes up to which a read sees an earlier write
 * @max_order_war_size: bytes up to which a write waits for an earlier read
 * @max_order_waw_size: bytes up to which writes keep their order
 * @mem_tag_format: bits of a tag that can be used, or a KFI_TAG_ value
 * @tx_ctx_cnt: number of transmit contexts; KFI_SHARED_CONTEXT to share one
 * @rx_ctx_cnt: number of receive contexts; KFI_SHARED_CONTEXT to share one
 * @auth_key_size: length of @auth_key, bytes, at most 256; 0 to use the key of
 *	the domain
 * @auth_key: authorization key. Two endpoints can communicate if both have the
 *	same key, or neither has one. A peer with another key is refused with
 *	-KFI_EKEYREJECTED: for a connection in an error event, for an operation
 *	of an unconnected endpoint in the completion.
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
 * @domain: in hints, an open domain that the answers have to belong to. An info
 *	holds no reference of it.
 * @name: name of the device or interface
 * @threading: calls that the consumer serializes
 * @control_progress: progress of control operations
 * @data_progress: progress of data operations
 * @progress: another name of @data_progress
 * @resource_mgmt: protection against overrun
 * @av_type: type of address vectors
 * @mr_mode: requirements on memory registration, KFI_MR_. In hints, those that
 *	the consumer can meet.
 * @mr_key_size: length of a region's key, bytes. In hints, the longest key that
 *	the consumer can handle; 0 means any.
 * @cq_data_size: length of remote CQ data, bytes, at most 8
 * @cq_cnt: number of completion queues that the consumer will open
 * @ep_cnt: number of endpoints that the consumer will open
 * @tx_ctx_cnt: number of transmit contexts that the consumer will open
 * @rx_ctx_cnt: number of receive contexts that the consumer will open
 * @max_ep_tx_ctx: highest number of transmit contexts of an endpoint
 * @max_ep_rx_ctx: highest number of receive contexts of an endpoint
 * @max_ep_stx_ctx: highest number of endpoints that can share a transmit
 *	context; 0 if this is not supported
 * @max_ep_srx_ctx: highest number of endpoints that can share a receive context;
 *	0 if this is not supported
 * @cntr_cnt: number of counters that the consumer will open
 * @mr_iov_limit: number of entries of a region's vector
 * @caps: capabilities of the domain
 * @mode: mode bits
 * @auth_key: authorization key of endpoints that have none
 * @auth_key_size: length of @auth_key, bytes
 * @max_err_data: length of err_data of an error entry, bytes
 * @mr_cnt: number of regions that the consumer will register
 * @tclass: default traffic class
 * @max_ep_auth_key: number of authorization keys of an endpoint: 1; 0 if keys are
 *	not supported: then hints with a key get no answer
 * @max_group_id: 0; collectives are not supported
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
 * @fabric: in hints, an open fabric that the answers have to belong to. An info
 *	holds no reference of it.
 * @name: name of the fabric
 * @prov_name: name of the provider. In hints, the only provider that may answer;
 *	its module is loaded if necessary.
 * @prov_version: version of the provider, KFI_VERSION()
 * @api_version: version of the interface that the consumer has requested
 */
struct kfi_fabric_attr {
	struct kfid_fabric	*fabric;
	char			*name;
	char			*prov_name;
	uint32_t		prov_version;
	uint32_t		api_version;
};

/**
 * struct kfi_info - a service that a provider offers, fi_getinfo(3)
 * @next: next info, or NULL
 * @caps: capabilities
 * @mode: mode bits; 0 for the providers of this tree
 * @addr_format: format of the addresses, KFI_SOCKADDR_IN, ... KFI_ADDR_STR in hints: @src_addr is
 *	text, a local IP address or interface
 * @src_addrlen: length of @src_addr, bytes
 * @dest_addrlen: length of @dest_addr, bytes
 * @src_addr: local address, or NULL
 * @dest_addr: address of the peer, or NULL
 * @handle: in the info of a KFI_CONNREQ event, the connection request, for kfi_endpoint() and
 *	kfi_reject(); it points to no object. Else NULL
 * @tx_attr: attributes of transmit contexts
 * @rx_attr: attributes of receive contexts
 * @ep_attr: attributes of endpoints
 * @domain_attr: attributes of the domain
 * @fabric_attr: attributes of the fabric
 * @nic: NULL: no provider describes its device here
 *
 * An info is plain memory and holds no references. It owns everything that its
 * pointers lead to, except @handle and the two open objects in the attributes.
 * kfi_freeinfo() frees this memory with kfree(). A consumer may replace a pointer
 * in its hints by NULL or by other memory of kmalloc().
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
 * KFI_MODULE_IP - the provider that serves the IP addresses of all interfaces, for request_module()
 *
 * For a consumer that names no provider, and has found none for an IP address or an interface.
 */
#define KFI_MODULE_IP	"kfi-provider-sockets"

/**
 * kfi_getinfo() - find providers of a service
 * @version: version of the interface that the consumer uses, KFI_VERSION(); 0
 *	for any
 * @node: address, name of a local interface or the like, or NULL
 * @service: port number or the like, or NULL
 * @flags: KFI_SOURCE if @node and @service name the local side;
 *	KFI_NUMERICHOST, which has no effect, as names of hosts are never looked
 *	up; KFI_PROV_ATTR_ONLY for one answer from each provider, with its name and
 *	version alone. A wildcard, or a service alone, means all local addresses.
 * @hints: what is wanted, or NULL for everything. Members that are 0 mean "any".
 *	Not changed, and not used after the call.
 * @info: where to store the list of answers, best first
 *
 * A provider answers if it supports all capabilities in @hints, and can use
 * @node. If @hints name a provider, no other provider answers, and its module is
 * loaded if necessary ("kfi-provider-<name>"). The network namespace is that of
 * the caller. See fi_getinfo(3).
 *
 * Context: Process context, may sleep.
 * Return: 0 and a list, to be freed by kfi_freeinfo(); -ENODATA if no provider
 * offers the service (unknown provider, node or capability); -ENOSYS if @version is
 * newer than kfi_version(); -KFI_EBADFLAGS; -EINVAL if KFI_SOURCE comes without
 * node and service; -ENOTUNIQ if @node is the name of several machines and stands
 * for none of them; -ENOMEM. After an error @info is NULL.
 */
int kfi_getinfo(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct kfi_info *hints,
		struct kfi_info **info);

/**
 * kfi_getinfo_net() - kfi_getinfo() in another network namespace
 * @net: the namespace. The caller holds a reference during the call; the answers
 *	hold none.
 * @version: as kfi_getinfo()
 * @node: as kfi_getinfo()
 * @service: as kfi_getinfo()
 * @flags: as kfi_getinfo()
 * @hints: as kfi_getinfo()
 * @info: as kfi_getinfo()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_getinfo().
 */
int kfi_getinfo_net(struct net *net, uint32_t version, const char *node,
		    const char *service, uint64_t flags,
		    const struct kfi_info *hints, struct kfi_info **info);

/**
 * kfi_allocinfo() - allocate an empty info with all its attribute structures
 *
 * See fi_allocinfo(3).
 *
 * Context: Process context, may sleep.
 * Return: a zeroed info, to be freed by kfi_freeinfo(); NULL if there is no
 * memory.
 */
struct kfi_info *kfi_allocinfo(void);

/**
 * kfi_dupinfo() - copy one info, with everything that it owns
 * @info: info to copy, without the rest of its list; NULL for kfi_allocinfo()
 *
 * See fi_dupinfo(3).
 *
 * Context: Process context, may sleep.
 * Return: the copy, to be freed by kfi_freeinfo(); NULL if there is no memory.
 */
struct kfi_info *kfi_dupinfo(const struct kfi_info *info);

/**
 * kfi_freeinfo() - free a list of infos, with everything that they own
 * @info: first info of the list, or NULL
 *
 * See fi_freeinfo(3).
 *
 * Context: Any but hard interrupt.
 */
void kfi_freeinfo(struct kfi_info *info);

/**
 * kfi_register_devices_notifier() - call a function when devices come and go
 * @nb: called, without a message, when kfi_getinfo() may have other answers than before because
 *	the device of a provider has come or gone. Not each provider reports it. The function may
 *	sleep. It must not wait for a consumer of the device, nor open or close an object
 *
 * libfabric has no counterpart.
 *
 * Context: Process context, may sleep.
 */
void kfi_register_devices_notifier(struct notifier_block *nb);

/**
 * kfi_unregister_devices_notifier() - undo kfi_register_devices_notifier()
 * @nb: on return it is not called, and will not be
 *
 * Context: Process context, may sleep.
 */
void kfi_unregister_devices_notifier(struct notifier_block *nb);

#endif /* KFI_INFO_H */
