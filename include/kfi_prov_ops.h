/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_ops.h - what a provider does, as kfi.ko calls it. A part of kfi_prov.h.
 */
#ifndef _KFI_PROV_OPS_H
#define _KFI_PROV_OPS_H

#include <kfi_prov_obj.h>

struct kfi_mem;
struct kfi_oper;
struct kfi_query;
struct kfi_rx;

/**
 * struct kfi_peer_info - one peer of an endpoint, for `kfi show`
 * @nr: its number among the peers of the endpoint, from 1 on, which no other gets
 * @addr: text
 * @state: text
 * @cpu: where its work runs, -1 none
 * @tx_bytes: said to it
 * @rx_bytes: heard of it
 * @pending: operations that wait for it
 * @unexpected_bytes: of its messages that wait for receives
 * @reconnects: connections to it, but for the first
 */
struct kfi_peer_info {
	u32		nr;
	char		addr[KFI_ADDR_MAX];
	const char	*state;
	int		cpu;
	u64		tx_bytes, rx_bytes, pending, unexpected_bytes, reconnects;
};

/**
 * struct kfi_prov_ops - what a provider does
 *
 * Mandatory ops are listed in kfi/provider.c and checked at registration. A NULL optional op means "not supported": the
 * core answers -EOPNOTSUPP in one place.
 *
 * @fabric_size: bytes of the provider's structure that *starts with* the common one (0 = the common one alone)
 * @domain_size: likewise
 * @ep_size: likewise
 * @pep_size: likewise
 * @mr_size: likewise
 * @tx_priv: bytes of @kfi_op.priv of transmit operations
 * @rx_priv: of receive operations
 * @getinfo:	offer what there is for q->node (only your own nodes: else return -ENODATA). May sleep, no locks held
 * @resolve:	turn node and service into an address of this domain's format; room for KFI_ADDR_MAX bytes.
 *		Return: length; -EINVAL: not an address. May sleep
 * @addr_check: is this a well-formed address of the format? Return 0 or -EINVAL (NULL: every byte string is)
 * @addr_str:	print an address
 * @addr_removed: optional: a handle's index has left the address vector of @ep, and means nothing any more: forget what you
 *		keep by it. May sleep, no lock of yours held, until ep_close. A post that races with this is answered either way,
 *		one that comes later is -EINVAL
 * @fabric_open: optional
 * @fabric_close: optional
 * @domain_open: fill &kfi_domain.limits and .addrlen
 * @domain_close: undo it
 * @ep_open:	endpoint structure made: set ep->tx_levels to the completion levels that were on offer for this type
 * @ep_close:	about to be freed; it is stopped
 * @ep_enable:	bindings are complete; start. RDM and DGRAM: the address is fixed from here on
 * @ep_restart:	optional: kfi_ep_reset() of a MSG endpoint, after @ep_stop: be as after @ep_enable. The connections of its
 *		&kfi_home are listed again already
 * @ep_stop:	let go of the network at once and end every accepted transmit with @err through kfi_tx_complete() before
 *		returning; no kfi_rx_* call for this endpoint after it. Messages under way into receives end with @err
 *		too. May sleep, but never waits for a peer or a consumer. Called before ep_close, also when the
 *		namespace or device goes (then the consumer closes much later), and once for each @ep_restart
 * @tx:		start a transmit, inside rcu_read_lock_bh(): bottom halves are off. op->code says what. Return: 0 = accepted, will be completed exactly once (perhaps
 *		already was); negative errno = refused, nothing happened, never -EAGAIN for ever. KFI_MORE in op->flags
 *		lets it wait for the next post (a later post, or completion of anything, must flush). KFI_FENCE is none of
 *		its business: kfi.ko calls when all that was before has been completed
 * @tx_flush:	optional: posts with KFI_MORE ended without a last one. Inside rcu_read_lock_bh()
 * @cancel_tx:	optional: kfi_cancel() of a transmit; 0 if a completion with -ECANCELED follows, else -ENOENT. @op may have
 *		ended just now and even be in use again: look it up among your own, under your own lock
 * @rx_posted:	optional, with the next: of endpoints with &kfi_ep.hw_recv: a receive for a queue of the hardware, inside rcu_read_lock_bh(). Return: 0: it
 *		will be completed exactly once (kfi_recv_complete()), in the order of posting, also by the end of its connection
 *		(before kfi_ep_disconnected() or kfi_ep_refused()) and by @ep_stop; negative errno: refused, -ESHUTDOWN after any of these
 * @rx_cancel:	the oldest receive with this @context that the hardware has not been given yet, or can give back, or NULL. It is kfi.ko's
 *		again, and ended there
 * @rx_matched:	an unexpected message now has its receive: rx->op and rx->iter are set; deliver it, then
 *		kfi_rx_complete()
 * @rx_drop:	the endpoint closes: the unexpected message is the provider's again
 * @getname:	local address of an endpoint
 * @pep_getname: of a passive one. Return length
 * @setname:	before enable
 * @pep_setname: before listen
 * @getpeer:	address of the connected peer. Return length
 * @connect:	MSG: start connecting; the answer comes by kfi_ep_connected() / kfi_ep_refused()
 * @accept:	MSG: accept ep->connreq; the provider owns the request from now on
 * @shutdown:	MSG: orderly end: what was accepted before is still sent; kfi_ep_disconnected() follows (also locally)
 * @reject:	refuse a request and free it
 * @pep_open: a passive endpoint; @listen and @pep_close are its too
 * @pep_close: nobody uses it any more
 * @listen: KFI_CONNREQ events may come from now on
 * @flush:	see kfi_flush(); op->code KFI_OPC_FLUSH comes through @tx when this is true
 * @av_only:	@ep_enable and those who call follow KFI_OPT_AV_ONLY (&kfi_ep.av_only)
 * @mr_reg:	optional, with the next, for hardware that moves bytes by itself: a region, or a handle for single I/Os (@per_io, without
 *		memory yet), is made. Keys are kfi.ko's all the same. With &kfi_mr.fixed its pages are to stay. May sleep. Return: 0 or negative errno
 * @mr_dereg:	undo it: no byte can land after it. The region is dead; comes once for each that succeeded, also when the device
 *		goes. May sleep, but never waits for a consumer
 * @mr_end:	optional: the memory leaves a handle for single I/Os, which is dead. Softirq, under rcu_read_lock(). Return: false if no byte can land any more, else
 *		true, and kfi_mr_settle() will follow
 * @mr_attach:	optional: memory has been attached to a handle for single I/Os, and no peer knows its key yet: can the hardware hold it?
 *		Softirq. Return: 0 or -EINVAL
 * @mr_known:	optional: may the hardware still move bytes of a dead region? Softirq
 * @mem_alloc:	optional, with the next: memory that peers reach better than any other, of @mem->len bytes (whole pages), zeroed, beginning
 *		with a page: fill @mem->addr, ->numa_node, ->priv. May sleep; not while the device goes. Return: 0; -ENOMEM: there
 *		is no more; -EAGAIN: not yet
 * @mem_free:	give it back; no region is in it. May sleep; also long after the device has gone
 * @peers:	call @emit for each peer with a number above @after, in the order of the numbers,
 *		until it answers nonzero; may not sleep inside emit. Peers up to @after cost next to
 *		nothing: a long list is asked for in pieces
 * @cm_data_size: longest private data, bytes
 * @atomic_size: @tx takes atomic operations on so many bytes of targets; 0: no endpoint has KFI_ATOMIC
 * @atomic_targets: ... in so many segments at most; 0: as many as tx_attr.rma_iov_limit says
 */
struct kfi_prov_ops {
	size_t	fabric_size, domain_size, ep_size, pep_size, mr_size;
	size_t	tx_priv, rx_priv;
	size_t	cm_data_size;
	size_t	atomic_size;
	size_t	atomic_targets;
	bool	flush;
	bool	av_only;

	int	(*getinfo)(struct kfi_query *q);
	int	(*resolve)(struct kfi_domain *domain, const char *node, const char *service, void *addr);
	int	(*addr_check)(struct kfi_domain *domain, const void *addr);
	void	(*addr_str)(const void *addr, size_t len, char *buf, size_t size);
	void	(*addr_removed)(struct kfi_ep *ep, u32 index);

	int	(*fabric_open)(struct kfi_fabric *fabric);
	void	(*fabric_close)(struct kfi_fabric *fabric);
	int	(*domain_open)(struct kfi_domain *domain);
	void	(*domain_close)(struct kfi_domain *domain);

	int	(*ep_open)(struct kfi_ep *ep);
	int	(*ep_enable)(struct kfi_ep *ep);
	void	(*ep_restart)(struct kfi_ep *ep);
	void	(*ep_stop)(struct kfi_ep *ep, int err);
	void	(*ep_close)(struct kfi_ep *ep);

	int	(*tx)(struct kfi_ep *ep, struct kfi_oper *op);
	void	(*tx_flush)(struct kfi_ep *ep);
	int	(*cancel_tx)(struct kfi_ep *ep, struct kfi_oper *op);

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
	int	(*reject)(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);

	int	(*mr_reg)(struct kfi_mr *mr);
	void	(*mr_dereg)(struct kfi_mr *mr);
	bool	(*mr_end)(struct kfi_mr *mr);
	int	(*mr_attach)(struct kfi_mr *mr);
	bool	(*mr_known)(struct kfi_mr *mr);

	int	(*mem_alloc)(struct kfi_domain *domain, struct kfi_mem *mem);
	void	(*mem_free)(struct kfi_domain *domain, struct kfi_mem *mem);

	void	(*peers)(struct kfi_ep *ep, u32 after,
			 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);
};

/**
 * kfi_recv_complete() - a receive of a hardware queue has its message, or will never have one
 * @op:		receive of &kfi_prov_ops.rx_posted; the provider forgets it with this call
 * @len:	bytes of the message, all of which are in their place
 * @flags:	KFI_REMOTE_CQ_DATA or 0
 * @data:	remote CQ data
 * @err:	0 or negative errno; -KFI_ETRUNC: the message was longer than the receive
 *
 * Context: process or softirq, with bottom halves off.
 */
void kfi_recv_complete(struct kfi_oper *op, size_t len, u64 flags, u64 data, int err);

/**
 * kfi_device_gone() - hardware goes: end all that stands on it
 * @device: what the provider has put into &kfi_domain.device and &kfi_pep.device
 *
 * To be called from the driver's removal, once. Before that the provider sees to it that domain_open, pep_open and listen
 * refuse the device. Passive endpoints are closed (pep_close), endpoints stopped (ep_stop with -ENODEV), regions given back
 * (mr_dereg), as when a namespace goes; the event queues of all of them are told. Nothing of this waits for a consumer, who
 * closes what has become of them whenever he likes: then only ep_close and domain_close are called. But a consumer may have
 * been closing or registering something just now, whose end the provider has to wait for. Context: process; no lock of
 * yours that an operation takes.
 */
void kfi_device_gone(const void *device);

#endif /* _KFI_PROV_OPS_H */
