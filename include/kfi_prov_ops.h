/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_ops.h - the operations of a provider, which kfi.ko calls. Included by kfi_prov.h.
 */
#ifndef _KFI_PROV_OPS_H
#define _KFI_PROV_OPS_H

#include <kfi_prov_obj.h>

struct kfi_dev_place;
struct kfi_mem;
struct kfi_oper;
struct kfi_query;
struct kfi_rx;

/**
 * struct kfi_peer_info - one peer of an endpoint, for "kfi show"
 * @nr: number of the peer, from 1; no two peers of an endpoint have the same
 * @addr: address as text
 * @state: state of the connection as text
 * @protection: what encrypts and authenticates the connection, as text; NULL if there is none
 * @identity: what has shown who the peer is, as text; NULL if there is no connection
 * @cpu: CPU on which the work of the connection runs, or -1
 * @tx_bytes: bytes sent to the peer
 * @rx_bytes: bytes received from the peer
 * @pending: number of operations that are outstanding
 * @unexpected_bytes: bytes of messages from the peer that wait for receives
 * @reconnects: number of connections to the peer after the first
 */
struct kfi_peer_info {
	u32		nr;
	char		addr[KFI_ADDR_MAX];
	const char	*state;
	const char	*protection;
	const char	*identity;
	int		cpu;
	u64		tx_bytes, rx_bytes, pending, unexpected_bytes, reconnects;
};

/**
 * struct kfi_part - a part of a device, for "kfi show devices"
 * @domain: name of the device's domain
 * @device: number of the device, from 1
 * @nr: number of the part, from 1; no two parts of a device have the same
 * @name: what it is, and its name if it has one
 * @state: how it is used; or what stands in for it, and why
 * @help: what an administrator can do about that; or NULL
 */
struct kfi_part {
	const char	*domain;
	u32		device, nr;
	const char	*name, *state, *help;
};

/**
 * struct kfi_prov_ops - operations of a provider
 *
 * kfi/provider.c lists the mandatory operations and checks them at registration. An optional
 * operation that is NULL is not supported; kfi.ko returns -EOPNOTSUPP for it.
 *
 * @domain_size: bytes of the provider's structure, which begins with &struct kfi_domain; 0 if the
 *	provider has none
 * @ep_size: as @domain_size, for &struct kfi_ep
 * @pep_size: as @domain_size, for &struct kfi_pep
 * @mr_size: as @domain_size, for &struct kfi_mr
 * @place_size: as @domain_size, for &struct kfi_dev_place
 * @tx_priv: bytes of &kfi_oper.priv of transmit operations
 *
 * @getinfo: call kfi_query_add() for each combination that the provider offers for &kfi_query.node.
 *	Returns 0; -ENODATA if the node is none of this provider; other errors. What was added is
 *	dropped after an error. May sleep, no locks are held
 * @resolve: convert a node and a service to an address in the format of the domain; @addr has room
 *	for KFI_ADDR_MAX bytes. Returns the length, or -EINVAL if they are no address. May sleep
 * @addr_check: optional: check that an address is well-formed. @format is that of the domain, or
 *	of the MSG endpoint that shall connect. Returns 0 or -EINVAL. Without it, every sequence of
 *	bytes is accepted
 * @addr_str: print an address
 * @addr_removed: optional: an index was removed from the address vector of @ep. The provider drops
 *	what it has stored for the index. A post that runs at the same time may succeed or fail,
 *	later posts return -EINVAL. Called until @ep_close, under the lock of the address vector.
 *	May sleep
 *
 * @domain_open: open a domain: set &kfi_domain.limits and &kfi_domain.addrlen
 * @domain_close: optional: undo @domain_open
 *
 * @ep_open: initialise an endpoint. Sets &kfi_ep.tx_levels to the completion levels that were
 *	offered for its type
 * @ep_close: undo @ep_open, after @ep_stop. The endpoint is freed afterwards
 * @ep_enable: start to transfer. The bindings are complete. The address of an RDM or DGRAM endpoint
 *	does not change any more
 * @ep_restart: optional: kfi_ep_reset() of an MSG endpoint has called @ep_stop, and its connection
 *	set, if it has one, accepts connections again: restore the state after @ep_enable. Without
 *	@ep_restart and connection set kfi_ep_reset() is not supported. May sleep
 * @ep_stop: release the network. Before it returns, every accepted transmit was completed with @err
 *	by kfi_tx_complete(), and so was every receive into which a message was being placed. The
 *	provider calls no kfi_rx_*() function for the endpoint afterwards. May sleep, but must not
 *	wait for a consumer, nor longer than a second for a peer. Called once before @ep_close, also
 *	when the namespace or the device goes, then long before @ep_close; and once before each
 *	@ep_restart
 *
 * @tx: start a transmit; &kfi_oper.code is its kind. Returns 0 if the operation is accepted: it
 *	will be completed once, or has been completed; or a negative errno if it is refused, then
 *	nothing has happened. Must not return -EAGAIN for ever. With KFI_MORE in &kfi_oper.flags
 *	the provider may delay the operation, because another post follows. It starts the delayed
 *	operations with the next post without KFI_MORE, by @tx_flush, or after a short time.
 *	Called inside rcu_read_lock_bh(), must not sleep
 * @tx_flush: optional: start the operations that were delayed by KFI_MORE. Called inside
 *	rcu_read_lock_bh()
 * @rx_posted: optional, with @rx_cancel, for endpoints with &kfi_ep.hw_recv: post a receive to the
 *	hardware. Returns 0 if kfi_recv_complete() will be called once, in the order of posting;
 *	or a negative errno if the receive is refused. The receives of a connection that ends are
 *	completed before kfi_ep_disconnected() or kfi_ep_refused(), those of a stopped endpoint in
 *	@ep_stop; after either @rx_posted returns -ESHUTDOWN. Called inside rcu_read_lock_bh()
 * @rx_cancel: take back the oldest receive with this @context that was not given to the hardware,
 *	or that the hardware gives back. Returns the receive, which kfi.ko completes, or NULL
 * @rx_matched: an unexpected message has a receive now: &kfi_rx.op and &kfi_rx.iter are set. The
 *	provider copies the payload and calls kfi_rx_complete(). Must not sleep
 * @rx_drop: the endpoint closes; the unexpected message belongs to the provider again. Must not
 *	sleep
 *
 * @getname: store the local address of an endpoint. Returns its length
 * @setname: optional: set the local address of an endpoint that is not enabled
 * @getpeer: store the address of the connected peer. Returns its length
 * @connect: MSG: start to connect. kfi_ep_connected() or kfi_ep_refused() reports the result
 * @accept: MSG: accept &kfi_ep.connreq, which belongs to the provider from now on, also after an
 *	error
 * @shutdown: MSG: end the connection after the operations that were accepted before have been sent.
 *	kfi_ep_disconnected() follows, on this side too
 *
 * @pep_open: initialise a passive endpoint. @pep_close, @pep_getname, @listen and @reject are
 *	mandatory with it
 * @pep_close: undo @pep_open and @listen. kfi_pep_connreq() is not called any more when it returns
 * @pep_getname: store the address of a passive endpoint. Returns its length
 * @pep_setname: optional: set the address of a passive endpoint that does not listen
 * @listen: call kfi_pep_connreq() for each connection request from now on
 * @reject: reject a connection request and free it
 *
 * @mr_reg: optional, with @mr_dereg, for hardware that moves bytes of regions: a region, or a
 *	per-I/O region (&kfi_mr.per_io) without memory, is created. kfi.ko chooses the key,
 *	except in a domain with &kfi_domain.prov_keys. Returns 0 or a negative errno. May sleep
 * @mr_bind: mandatory in a domain with &kfi_domain.prov_keys: the region is bound to &kfi_mr.ep.
 *	Sets &kfi_mr.prov_key, unless the region is for single I/Os. Returns 0 or a negative errno;
 *	after an error the region is not bound. Called under &kfi_domain.lock, may sleep, but must
 *	not wait for I/O, nor for a consumer
 * @mr_unbind: mandatory with @mr_bind: undo it for a region whose key no peer has got, because
 *	kfi.ko can't use the key. The region may be bound again. Context: as @mr_bind
 * @mr_dereg: undo @mr_reg of a region that is dead. When it returns, the device does not access the
 *	memory. Called once for each @mr_reg that has succeeded, also when the device goes. May
 *	sleep, but must not wait for a consumer
 * @mr_enable: optional: the bindings of a long-lived region are complete. Peers may use the region
 *	after it has returned 0. May sleep
 * @mr_end: optional: a per-I/O region is dead, and its memory is detached. Returns false if the
 *	device does not access the memory any more; true if it may, then the provider calls
 *	kfi_mr_settle() later. Called in softirq or with bottom halves off, inside rcu_read_lock()
 * @mr_attach: optional: memory is attached to a per-I/O region, whose key no peer has yet.
 *	Returns 0; -EINVAL if the hardware can't register this memory; -ENOTCONN if its endpoint has
 *	no connection. If kfi.ko then cannot use the key, the next call for this region is
 *	@mr_attach or @mr_dereg, without @mr_end. Context as @mr_end
 * @mr_publish: optional: a per-I/O region is live, and its key may be sent to peers. With @notify
 *	the provider calls kfi_mr_registered() later, once. Context as @mr_end
 * @mr_known: optional: returns whether the device may still access the memory of a dead region.
 *	Context as @mr_end
 *
 * @mem_alloc: optional, with @mem_free: allocate zeroed memory that peers reach better than other
 *	memory, page aligned, of &kfi_mem.len bytes, a multiple of the page size. Sets
 *	&kfi_mem.addr, &kfi_mem.numa_node and &kfi_mem.priv. Returns 0; -ENOMEM if there is no
 *	more; -EAGAIN if there is none yet. May sleep. Not called after the device has gone
 * @mem_free: free memory of @mem_alloc, in which no region lies. May sleep. May be called long
 *	after the device has gone
 *
 * @place_end: mandatory with KFI_PLACE: devices of this machine do not write to a place any more.
 *	Releases the resources of the get. Called once for each KFI_OPC_PLACE_GET that has
 *	succeeded, before the put is reported, or because the place was dropped. The endpoint may be
 *	closed, and the device may have gone. Called in process context or softirq, with interrupts
 *	enabled
 *
 * @peers: call @emit for each peer with a number above @after, in the order of the numbers, until
 *	@emit returns nonzero. @emit does not sleep, so it may be called inside an RCU read section.
 *	Skipping the peers up to @after has to be cheap, because a long list is read in pieces
 *
 * @parts: optional: call @emit for each part of each device that the namespace may use, in the
 *	order of their numbers, until @emit returns nonzero. Returns that result, or 0. May sleep,
 *	no locks are held
 *
 * @cm_data_size: longest private data of a connection request or answer, bytes
 * @atomic_size: bytes of targets of the longest atomic operation that @tx accepts; 0 if no endpoint
 *	has KFI_ATOMIC
 * @av_only: @ep_enable and the handling of callers respect &kfi_ep.av_only (KFI_OPT_AV_ONLY)
 * @need_privilege: connects and the handling of callers respect &kfi_ep.need_privilege and
 *	&kfi_pep.need_privilege (KFI_OPT_NEED_PRIVILEGE)
 */
struct kfi_prov_ops {
	size_t	domain_size, ep_size, pep_size, mr_size, place_size;
	size_t	tx_priv;
	size_t	cm_data_size;
	size_t	atomic_size;
	bool	av_only;
	bool	need_privilege;

	int	(*getinfo)(struct kfi_query *q);
	int	(*resolve)(struct kfi_domain *domain, const char *node, const char *service,
			   void *addr);
	int	(*addr_check)(struct kfi_domain *domain, u32 format, const void *addr);
	void	(*addr_str)(const void *addr, size_t len, char *buf, size_t size);
	void	(*addr_removed)(struct kfi_ep *ep, u32 index);

	int	(*domain_open)(struct kfi_domain *domain);
	void	(*domain_close)(struct kfi_domain *domain);

	int	(*ep_open)(struct kfi_ep *ep);
	int	(*ep_enable)(struct kfi_ep *ep);
	void	(*ep_restart)(struct kfi_ep *ep);
	void	(*ep_stop)(struct kfi_ep *ep, int err);
	void	(*ep_close)(struct kfi_ep *ep);

	int	(*tx)(struct kfi_ep *ep, struct kfi_oper *op);
	void	(*tx_flush)(struct kfi_ep *ep);

	int	(*rx_posted)(struct kfi_ep *ep, struct kfi_oper *op);
	struct kfi_oper *(*rx_cancel)(struct kfi_ep *ep, void *context);
	void	(*rx_matched)(struct kfi_ep *ep, struct kfi_rx *rx);
	void	(*rx_drop)(struct kfi_ep *ep, struct kfi_rx *rx);

	int	(*getname)(struct kfi_ep *ep, void *addr);
	int	(*setname)(struct kfi_ep *ep, const void *addr, size_t len);
	int	(*getpeer)(struct kfi_ep *ep, void *addr);
	int	(*connect)(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
	int	(*accept)(struct kfi_ep *ep, const void *data, size_t len);
	int	(*shutdown)(struct kfi_ep *ep);

	int	(*pep_open)(struct kfi_pep *pep);
	void	(*pep_close)(struct kfi_pep *pep);
	int	(*pep_getname)(struct kfi_pep *pep, void *addr);
	int	(*pep_setname)(struct kfi_pep *pep, const void *addr, size_t len);
	int	(*listen)(struct kfi_pep *pep);
	int	(*reject)(struct kfi_pep *pep, struct kfi_connreq *req, const void *data,
			  size_t len);

	int	(*mr_reg)(struct kfi_mr *mr);
	int	(*mr_bind)(struct kfi_mr *mr);
	void	(*mr_unbind)(struct kfi_mr *mr);
	void	(*mr_dereg)(struct kfi_mr *mr);
	bool	(*mr_end)(struct kfi_mr *mr);
	int	(*mr_enable)(struct kfi_mr *mr);
	int	(*mr_attach)(struct kfi_mr *mr);
	void	(*mr_publish)(struct kfi_mr *mr, bool notify);
	bool	(*mr_known)(struct kfi_mr *mr);

	int	(*mem_alloc)(struct kfi_domain *domain, struct kfi_mem *mem);
	void	(*mem_free)(struct kfi_domain *domain, struct kfi_mem *mem);

	void	(*place_end)(struct kfi_dev_place *place);

	void	(*peers)(struct kfi_ep *ep, u32 after,
			 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);
	int	(*parts)(struct net *net, int (*emit)(void *arg, const struct kfi_part *part),
			 void *arg);
};

/**
 * kfi_recv_complete() - complete a receive of an endpoint with &kfi_ep.hw_recv
 * @op: receive of &kfi_prov_ops.rx_posted. The provider must not use it after this call
 * @len: length of the message in bytes; all of it was placed
 * @flags: KFI_REMOTE_CQ_DATA; KFI_INVALIDATE or KFI_INVALIDATE_DUE, see kfi_mr_kill(); or 0
 * @data: remote CQ data, or the key
 * @err: 0 or a negative errno; -KFI_ETRUNC if the message was longer than the receive
 *
 * Context: process or softirq, bottom halves off.
 */
void kfi_recv_complete(struct kfi_oper *op, size_t len, u64 flags, u64 data, int err);

/**
 * kfi_device_gone() - end everything that uses a device that is removed
 * @device: the pointer that the provider has stored in &kfi_domain.device and &kfi_pep.device
 *
 * Called once, when the driver of the device is removed. Before that the provider makes
 * domain_open, pep_open and listen refuse the device. This function closes the passive endpoints
 * (pep_close), stops the endpoints (ep_stop with -ENODEV) and deregisters the regions (mr_dereg) of
 * the device, as at the end of a namespace, and reports this to their event queues. It does not
 * wait for consumers, which close the objects at any time later; only ep_close and domain_close are
 * called then. However, a consumer may be in a call that closes or registers an object; the
 * provider has to wait for the end of such calls.
 *
 * Context: process, may sleep. The caller holds no lock that an operation of the provider takes.
 */
void kfi_device_gone(const void *device);

/**
 * kfi_device_new() - report that getinfo offers a device that it did not offer before
 *
 * For devices that a consumer shall use as soon as they exist: kfi_net makes a network device of
 * each domain with KFI_ONE_PEER.
 * kfi_device_gone() reports the opposite.
 *
 * Context: process, may sleep; without locks that getinfo takes.
 */
void kfi_device_new(void);

#endif /* _KFI_PROV_OPS_H */
