/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: domains, memory regions, address vectors
 */
#ifndef KFI_DOMAIN_H
#define KFI_DOMAIN_H

#include <linux/list.h>
#include <kfabric.h>
#include <kfi_eq.h>
#include <kfi_mem.h>

struct device;

/**
 * kfi_domain() - open a domain
 * @fabric: the fabric
 * @info: info of kfi_getinfo() for this fabric
 * @domain: where to store the domain; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * See fi_domain(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @info is incomplete, of another provider, or has an
 * invalid key or a name that is too long; -ENODEV if the device or the namespace
 * has gone; -ENOMEM; or an error of the provider.
 */
int kfi_domain(struct kfid_fabric *fabric, struct kfi_info *info,
	       struct kfid_domain **domain, void *context);

/* Flag of kfi_domain_bind(): report completed registrations to the event queue; not supported */
#define KFI_REG_MR		(1ULL << 59)

/**
 * kfi_domain_bind() - bind an event queue to a domain
 * @domain: domain without endpoints
 * @fid: head of the event queue. It gets KFI_SHUTDOWN when the device or the
 *	namespace goes.
 * @flags: 0. KFI_REG_MR is not supported (-EOPNOTSUPP), because registrations
 *	are complete when the call returns.
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind().
 */
static inline int
kfi_domain_bind(struct kfid_domain *domain, struct kfid *fid, uint64_t flags)
{
	return kfi_bind(&domain->fid, fid, flags);
}

/**
 * enum kfi_refusal - effect of an RMA operation on a peer's region that has
 *	ended
 * @KFI_REFUSAL_OP: the operation fails as kfi_rma.h describes, and nothing
 *	else happens
 * @KFI_REFUSAL_CONN: the device of the peer may detect the access, and end the
 *	connection: a KFI_EP_MSG endpoint is disconnected, a KFI_EP_RDM endpoint
 *	connects again with its next post. The other outstanding operations of
 *	the connection complete with the error of the connection; their outcome
 *	is unknown, and they are not repeated. The operation itself completes
 *	with EACCES if no byte has moved, else with EREMOTEIO. An operation of
 *	more than one packet completes with EREMOTEIO in either case, because the
 *	initiator can't distinguish the two.
 */
enum kfi_refusal {
	KFI_REFUSAL_OP = 0x1000,
	KFI_REFUSAL_CONN,
};

/**
 * struct kfi_domain_limits - properties of a domain that are in no info
 * @dma_device: device to map KFI_SGL vectors for. Never NULL: software providers
 *	have a device with direct mapping.
 * @numa_node: node near the device, or NUMA_NO_NODE
 * @virt_boundary_mask: no element of a region except the first may begin, and
 *	none except the last may end, at an address with one of these bits set;
 *	0: no restriction. A block driver sets the virt_boundary_mask of its
 *	queue to this value.
 * @mr_page_limit: number of pages in one per-I/O region; 0: no limit
 * @sge_limit: number of elements in the vector of one operation
 * @refusal: effect of an RMA operation on a region that has ended
 * @short_msg_limit: length in bytes up to which a message to a peer with the
 *	same provider is sent at once, unless the endpoint of the peer has chosen
 *	another one (KFI_OPT_EAGER_SIZE). A longer message is transferred when its
 *	receive is found, which takes an additional round trip, and longer than
 *	RMA to a per-I/O region. 0: every message is sent at once.
 * @addrlen: length of an address in an address vector, bytes
 * @place_device: device that owns the pages of places (kfi_place.h), which exists
 *	as long as the domain is open. NULL: they are system memory
 * @place_min: length in bytes below which a place is not faster than a write
 * @p2p_device: device that reads the memory of sends and writes, for
 *	pci_p2pdma_distance(): they may have pages of other PCI devices, such as
 *	those of pci_p2pmem_alloc_sgl(), if the distance is not negative. NULL: posts
 *	with such pages return -EOPNOTSUPP, as receives, reads, injected messages and
 *	registrations do in every domain. Exists as long as the domain is open.
 * @speed: of a domain with KFI_ONE_PEER: bits per second of the link to the peer when the
 *	domain was opened, in millions; 0: unknown
 * @port_device: of a domain with KFI_ONE_PEER: the device that the link to the peer was plugged
 *	into when the domain was opened, such as a bridge or a host interface. Its name stays over
 *	boots. NULL: unknown. Exists as long as the domain is open, though it may be removed from
 *	the machine
 * @port: number of the port of @port_device, which stays as well; 0: it has one port
 */
struct kfi_domain_limits {
	struct device		*dma_device;
	int			numa_node;
	uint64_t		virt_boundary_mask;
	size_t			mr_page_limit;
	size_t			sge_limit;
	enum kfi_refusal	refusal;
	size_t			short_msg_limit;
	size_t			addrlen;
	struct device		*place_device;
	size_t			place_min;
	struct device		*p2p_device;
	unsigned int		speed;
	struct device		*port_device;
	uint64_t		port;
};

/**
 * kfi_domain_limits() - return the limits of a domain
 * @domain: the domain
 * @limits: where to store the limits
 *
 * The device is valid until the domain is closed. libfabric has no counterpart.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -ENODEV if the device or the namespace has gone; -EINVAL if @domain
 * is no domain.
 */
int kfi_domain_limits(struct kfid_domain *domain,
		      struct kfi_domain_limits *limits);

/**
 * kfi_cq_open() - open a completion queue
 * @domain: the domain
 * @attr: attributes, or NULL for defaults
 * @cq: where to store the queue; close it with kfi_close()
 * @handler: called when an entry arrives in an armed queue, see
 *	kfi_comp_handler; or NULL
 * @context: pointer of the consumer, passed to @handler
 *
 * This function is fi_cq_open(3) with an additional handler.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if the size or CPU is out of range, or flags contradict
 * each other; -KFI_EBADFLAGS; -EOPNOTSUPP if the wait object is not supported;
 * -ENODEV if the device or the namespace has gone; -ENOMEM.
 */
int kfi_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr,
		struct kfid_cq **cq, kfi_comp_handler handler, void *context);

/**
 * kfi_cntr_open() - open a counter
 * @domain: the domain
 * @attr: attributes, or NULL for defaults
 * @cntr: where to store the counter; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * See fi_cntr(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if events is unknown; -KFI_EBADFLAGS; -EOPNOTSUPP if the
 * wait object is not supported; -ENODEV if the device or the namespace has gone;
 * -ENOMEM.
 */
int kfi_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr,
		  struct kfid_cntr **cntr, void *context);

/**
 * DOC: Memory regions
 *
 * Kernel memory is pinned already, so local buffers need no registration. A
 * region lets peers read or write memory by its key.
 *
 * A consumer that sends kfi_mr_key() and kfi_mr_addr() to its peer, and does not
 * compute them, works with every kind of domain. A peer can use a key when it has
 * received a message that was posted, to the endpoint to which the region is
 * bound, after kfi_mr_enable() or kfi_mr_register(). If the device chooses the
 * keys (KFI_MR_PROV_KEY), a long-lived region has none until it is bound to its
 * endpoint; a key that reaches the peer by another path, or before the endpoint is
 * connected, may not be usable yet; and kfi_mr_enable() on a connected endpoint
 * waits up to a second for the device. If kfabric chooses them, a key is usable at
 * once.
 *
 * A *long-lived* region is created by kfi_mr_reg() and its variants, which may
 * sleep, and ends by kfi_close(). A *per-I/O* region is a handle that
 * kfi_mr_alloc() creates once. kfi_mr_register() attaches memory to it, and
 * kfi_mr_invalidate() detaches the memory, both without sleeping. When an
 * invalidation or kfi_close() has completed, no peer can access the memory.
 *
 * The end of a region waits for accesses that are in progress. The wait is
 * bounded where a peer may write without a request for each write (kfi_ntb, RDM
 * endpoints of kfi_verbs): a peer that sends nothing loses its connection after
 * peer_timeout_ms, and a peer that sends slowly loses it at the latest after the
 * time that the longest payload takes at 256 KiB per second. A place
 * (kfi_place.h) of kfi_loop has no such bound: the end waits for the consumer
 * that has the place. The end also waits for calls of persist() that have not
 * ended; a message in the kernel log names a region that waits for a place every
 * 30 seconds.
 * kfi_close() of a region and kfi_mr_bind() of an endpoint wait in the call; after
 * kfi_mr_invalidate() done() is called when the wait is over.
 *
 * A key alone is no protection. A region that is bound to an endpoint
 * (kfi_mr_bind()) can only be accessed by the peers of that endpoint. A region
 * that is not bound can be accessed by the peers of all endpoints in the domain.
 */

/* Flags of a registration */
#define KFI_MR_SINGLE_USE	(1ULL << 41)	/* not supported */

struct kfi_persist;	/* a call of persist() */

/**
 * struct kfi_mr_attr - memory to register, fi_mr(3)
 * @type: which member of the union is valid
 * @mr_iov: KFI_KVEC
 * @mr_biov: KFI_BVEC
 * @mr_sgl: KFI_SGL
 * @iov_count: number of entries, of KFI_SGL mapped entries
 * @access: KFI_REMOTE_READ and KFI_REMOTE_WRITE for peers, and KFI_ATOMIC for those of
 *	endpoints with KFI_OPT_REMOTE_ACCESS; KFI_SEND, KFI_RECV,
 *	KFI_READ, KFI_WRITE for the owner
 * @offset: address that peers use for the first byte, usually 0. Ignored for
 *	KFI_KVEC if the domain has KFI_MR_VIRT_ADDR.
 * @requested_key: key of the region, without KFI_MR_PROV_KEY;
 *	KFI_KEY_NOTAVAIL for one that can't be guessed
 * @context: pointer of the consumer, stored in kfid.context
 * @auth_key_size: 0
 * @auth_key: NULL
 * @persist: function that makes @len bytes of the region durable, from the byte
 *	at @offset in the region, for KFI_COMMIT_COMPLETE of peers. NULL if the
 *	memory is not persistent; such operations complete with EOPNOTSUPP then.
 *	It is called in a workqueue with WQ_MEM_RECLAIM and may sleep. It returns
 *	0 or a negative error, with which the operation of the peer completes
 *	(EIO replaces EACCES); or -EIOCBQUEUED if that is not known yet: then the
 *	owner calls kfi_persist_done() with @p, once, perhaps before the function
 *	returns. A few calls of a connection run at the same time, and any number
 *	may wait for kfi_persist_done(). The end of the region waits for all of
 *	them, so they must not wait for that end. The end of an endpoint does not
 *	wait for them.
 */
struct kfi_mr_attr {
	enum kfi_iov_type	type;
	union {
		const struct kvec		*mr_iov;
		const struct bio_vec		*mr_biov;
		const struct scatterlist	*mr_sgl;
	};
	size_t			iov_count;
	uint64_t		access;
	uint64_t		offset;
	uint64_t		requested_key;
	void			*context;
	size_t			auth_key_size;
	uint8_t			*auth_key;
	int (*persist)(struct kfid_mr *mr, uint64_t offset, size_t len, struct kfi_persist *p);
};

/**
 * kfi_persist_done() - end a call of persist() that has returned -EIOCBQUEUED, or will
 * @p: argument of the call; not valid afterwards
 * @err: 0 if the bytes are durable, or a negative error
 *
 * The region may end when this has been called and persist() has returned.
 *
 * Context: Process context or softirq, does not sleep.
 */
void kfi_persist_done(struct kfi_persist *p, int err);

/**
 * kfi_mr_regattr() - register memory
 * @domain: the domain
 * @attr: memory to register; copied
 * @flags: KFI_RMA_EVENT: a counter counts the operations of peers
 *	(kfi_mr_bind()). KFI_RMA_PMEM: the memory is persistent; attr->persist
 *	has to be set.
 * @mr: where to store the region; close it with kfi_close()
 *
 * The memory belongs to the caller and has to exist until the region is closed.
 * If the domain has KFI_MR_ENDPOINT in its mr_mode, or with KFI_RMA_EVENT, peers
 * can access the region after kfi_mr_bind() and kfi_mr_enable(). See fi_mr(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOKEY if the key is in use; -EINVAL if the vector is empty or
 * too long, the type or the access rights are unknown, or the key is too long;
 * -KFI_EBADFLAGS; -EOPNOTSUPP if there is an authorization key, or the memory
 * has pages of a PCI device (is_pci_p2pdma_page()); -ENODEV if the device or the
 * namespace has gone; -ENOMEM; or an error of the provider.
 */
int kfi_mr_regattr(struct kfid_domain *domain, const struct kfi_mr_attr *attr,
		   uint64_t flags, struct kfid_mr **mr);

/**
 * kfi_mr_regv() - register a vector of kernel memory
 * @domain: the domain
 * @iov: the vector; copied
 * @count: number of entries
 * @acs: access rights, as access of struct kfi_mr_attr
 * @offset: as in struct kfi_mr_attr
 * @requested_key: as in struct kfi_mr_attr
 * @flags: as kfi_mr_regattr()
 * @mr: as kfi_mr_regattr()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * Context: Process context, may sleep.
 * Return: as kfi_mr_regattr().
 */
static inline int
kfi_mr_regv(struct kfid_domain *domain, const struct kvec *iov, size_t count,
	    uint64_t acs, uint64_t offset, uint64_t requested_key,
	    uint64_t flags, struct kfid_mr **mr, void *context)
{
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC,
		.mr_iov = iov,
		.iov_count = count,
		.access = acs,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return kfi_mr_regattr(domain, &attr, flags, mr);
}

/**
 * kfi_mr_reg() - register a buffer
 * @domain: the domain
 * @buf: first byte
 * @len: length in bytes
 * @acs: as kfi_mr_regv()
 * @offset: as kfi_mr_regv()
 * @requested_key: as kfi_mr_regv()
 * @flags: as kfi_mr_regv()
 * @mr: as kfi_mr_regv()
 * @context: as kfi_mr_regv()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_mr_regattr().
 */
static inline int
kfi_mr_reg(struct kfid_domain *domain, const void *buf, size_t len,
	   uint64_t acs, uint64_t offset, uint64_t requested_key,
	   uint64_t flags, struct kfid_mr **mr, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };

	return kfi_mr_regv(domain, &iov, 1, acs, offset, requested_key, flags,
			   mr, context);
}

/**
 * kfi_mr_regbv() - register a vector of pages
 * @domain: the domain
 * @biov: the vector; copied
 * @count: number of entries
 * @acs: as kfi_mr_regv()
 * @offset: as kfi_mr_regv()
 * @requested_key: as kfi_mr_regv()
 * @flags: as kfi_mr_regv()
 * @mr: as kfi_mr_regv()
 * @context: as kfi_mr_regv()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_mr_regattr().
 */
static inline int
kfi_mr_regbv(struct kfid_domain *domain, const struct bio_vec *biov,
	     size_t count, uint64_t acs, uint64_t offset,
	     uint64_t requested_key, uint64_t flags, struct kfid_mr **mr,
	     void *context)
{
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC,
		.mr_biov = biov,
		.iov_count = count,
		.access = acs,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return kfi_mr_regattr(domain, &attr, flags, mr);
}

/**
 * kfi_mr_regsgl() - register a mapped scatterlist
 * @domain: the domain
 * @sgl: the list, mapped for the domain's DMA device
 * @count: number of mapped entries
 * @acs: as kfi_mr_regv()
 * @offset: as kfi_mr_regv()
 * @requested_key: as kfi_mr_regv()
 * @flags: as kfi_mr_regv()
 * @mr: as kfi_mr_regv()
 * @context: as kfi_mr_regv()
 *
 * The list and its mapping have to exist until the region is closed.
 *
 * Context: Process context, may sleep.
 * Return: as kfi_mr_regattr().
 */
static inline int
kfi_mr_regsgl(struct kfid_domain *domain, const struct scatterlist *sgl,
	      size_t count, uint64_t acs, uint64_t offset,
	      uint64_t requested_key, uint64_t flags, struct kfid_mr **mr,
	      void *context)
{
	struct kfi_mr_attr attr = {
		.type = KFI_SGL,
		.mr_sgl = sgl,
		.iov_count = count,
		.access = acs,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return kfi_mr_regattr(domain, &attr, flags, mr);
}

/**
 * kfi_mr_desc() - return the local descriptor of a region
 * @mr: the region
 *
 * Context: Any.
 * Return: desc for posts that use this memory; may be NULL.
 */
static inline void *kfi_mr_desc(struct kfid_mr *mr)
{
	return mr->mem_desc;
}

/**
 * kfi_mr_key() - return the key of a region
 * @mr: the region
 *
 * The key of a per-I/O region changes with each registration.
 *
 * Context: Any.
 * Return: key that peers use to access the region, or KFI_KEY_NOTAVAIL.
 */
static inline uint64_t kfi_mr_key(struct kfid_mr *mr)
{
	return mr->key;
}

/**
 * kfi_mr_addr() - return the address of a region's first byte, for peers
 * @mr: the region
 *
 * In a domain without KFI_MR_VIRT_ADDR the address is the offset of the
 * registration. With KFI_MR_VIRT_ADDR it is the virtual address of the first byte
 * of a KFI_KVEC; for pages the provider chooses it. It may change with each
 * registration of a per-I/O region.
 *
 * Context: Any.
 * Return: the address.
 */
static inline uint64_t kfi_mr_addr(struct kfid_mr *mr)
{
	return mr->addr;
}

/**
 * kfi_mr_bind() - bind an endpoint or counter to a region
 * @mr: the region
 * @bfid: head of an endpoint, whose peers alone can access the region; or of a
 *	counter for the operations of peers
 * @flags: 0 for an endpoint; KFI_REMOTE_WRITE, KFI_REMOTE_READ or both for a
 *	counter
 *
 * A region that needs kfi_mr_enable() is bound before that call, a per-I/O region
 * to an endpoint before its first registration, any other region at any time.
 * Binding an endpoint waits until peers of other endpoints do not write to the
 * region without a request any more; see "Memory regions".
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind(); -KFI_EOPBADSTATE if it is too late.
 */
static inline int
kfi_mr_bind(struct kfid_mr *mr, struct kfid *bfid, uint64_t flags)
{
	return kfi_bind(&mr->fid, bfid, flags);
}

/**
 * kfi_mr_enable() - let peers access a region that had to be bound first
 * @mr: the region
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @mr is enabled already, or is a per-I/O region;
 * -KFI_EOPBADSTATE if a binding is missing; or an error of the provider.
 */
static inline int kfi_mr_enable(struct kfid_mr *mr)
{
	return kfi_control(&mr->fid, KFI_ENABLE, NULL);
}

/**
 * struct kfi_mr_work - an asynchronous registration or invalidation
 * @done: called once when the work has ended, in softirq. err is 0 or a negative
 *	error; at present it is always 0.
 *
 * The consumer's request contains it, and has to exist until @done is called.
 * @done may be called before the call that has started the work returns, unless
 * the caller has bottom halves off. It may post, register and invalidate; it
 * must not sleep, and must not close an object.
 */
struct kfi_mr_work {
	void (*done)(struct kfi_mr_work *work, int err);
	/* private: for kfi.ko, so that the work needs no allocation */
	struct list_head	entry;
	void			*internal[2];
};

/**
 * kfi_mr_alloc() - create a per-I/O region
 * @domain: the domain
 * @iov_limit: number of elements or pages that a registration can have, at most
 *	kfi_domain_limits.mr_page_limit
 * @flags: 0
 * @mr: where to store the region; close it with kfi_close(), when no work is in
 *	progress
 * @context: pointer of the consumer, stored in kfid.context
 *
 * A per-I/O region can be bound to an endpoint with kfi_mr_bind() before its
 * first use; otherwise it belongs to the domain. It needs no kfi_mr_enable().
 * libfabric has no counterpart.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @iov_limit is 0 or too high; -KFI_EBADFLAGS; -ENODEV if
 * the device or the namespace has gone; -ENOMEM; or an error of the provider.
 */
int kfi_mr_alloc(struct kfid_domain *domain, size_t iov_limit, uint64_t flags,
		 struct kfid_mr **mr, void *context);

/**
 * kfi_mr_biov() - return where a per-I/O region keeps its pieces of memory
 * @mr: region of kfi_mr_alloc()
 *
 * A consumer may list the pages for kfi_mr_register() in this array, and pass it as
 * mr_biov of the attribute; then nothing is copied. The array has room for the
 * iov_limit of the region. The consumer writes to it only while no memory is attached
 * and no work is in progress.
 *
 * Context: Any.
 * Return: an array, which exists as long as the region.
 */
struct bio_vec *kfi_mr_biov(struct kfid_mr *mr);

/**
 * kfi_mr_register() - attach memory to a per-I/O region
 * @mr: region of kfi_mr_alloc() without memory
 * @attr: memory to register; copied, unless it is listed in kfi_mr_biov(). The
 *	memory, and the mapping of a scatterlist, have to exist until the
 *	invalidation. requested_key is KFI_KEY_NOTAVAIL or 0 for a key that can't
 *	be guessed. Otherwise it is the key, in domains without KFI_MR_PROV_KEY;
 *	the consumer does not use a key again that peers may still use.
 * @work: its done() is called when peers can access the region; NULL if the
 *	consumer needs no report. If the device can't register the memory
 *	after all, operations of peers on it fail; the consumer calls
 *	kfi_mr_invalidate() as usual.
 *
 * When this function has returned 0, kfi_mr_key() is the new key. A message that
 * is posted afterwards to the endpoint that @mr is bound to reaches the peer
 * after the registration has taken effect, so the message may contain the key.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0, and done() of @work will be called. Otherwise done() is not called:
 * -EAGAIN if there is no room now, or other work of @mr is in progress; -EINVAL
 * if the memory is too long or does not fit the virt boundary, the type is
 * unknown, @mr is no per-I/O region, the domain needs a bound endpoint and
 * there is none, or the consumer can't choose this key; -KFI_ENOKEY if the
 * requested key is in use; -KFI_EOPBADSTATE if memory is attached; -EOPNOTSUPP if
 * there is an authorization key; -ENOTCONN if the device chooses the keys and the
 * endpoint is not connected; -ENODEV if the device or the namespace has gone.
 */
int kfi_mr_register(struct kfid_mr *mr, const struct kfi_mr_attr *attr,
		    struct kfi_mr_work *work);

/**
 * kfi_mr_invalidate() - detach the memory from a per-I/O region
 * @mr: region with memory
 * @work: its done() is called when no peer can access the memory, no persist()
 *	runs, and the region can be used again
 *
 * The call is not needed if the peer has invalidated the key (KFI_INVALIDATE):
 * then the completion of the receive has that flag. "Memory regions" has the time
 * limits for done().
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0, and done() will be called. Otherwise done() is not called:
 * -KFI_EOPBADSTATE if no memory is attached, because the peer has invalidated the
 * key, for example. If the peer is doing so at this moment, the call succeeds, and
 * does not wait for that. -EBUSY if done() of the caller's own work has
 * not been called yet, or -EINVAL if @mr is no per-I/O region, which are errors of
 * the caller.
 */
int kfi_mr_invalidate(struct kfid_mr *mr, struct kfi_mr_work *work);

/**
 * DOC: Address vectors
 *
 * An address vector converts addresses of peers to handles of type kfi_addr_t,
 * which posts use, and which means nothing in another vector or to another node.
 * Insertion is synchronous, and does not send anything: the peer need not exist
 * yet. Inserting
 * an address again returns the same handle; the address is removed when
 * kfi_av_remove() has been called as many times. A removed index is used again
 * only after all others.
 */

/* Flags of an address vector and of insertions */
#define KFI_SYMMETRIC		(1ULL << 59)
#define KFI_SYNC_ERR		(1ULL << 58)
#define KFI_UNIVERSE		(1ULL << 57)

/**
 * struct kfi_av_attr - attributes of an address vector, fi_av(3)
 * @type: KFI_AV_UNSPEC or KFI_AV_TABLE; kfi_av_open() sets it to KFI_AV_TABLE
 * @rx_ctx_bits: number of top bits of a kfi_addr_t that hold a receive context,
 *	0 to 16
 * @count: number of addresses that are expected, 0 if unknown. Not a limit.
 * @ep_per_node: number of endpoints of each node that are expected, 0 if unknown
 * @name: NULL; shared address vectors are not supported
 * @map_addr: NULL
 * @flags: 0 or KFI_SYMMETRIC
 */
struct kfi_av_attr {
	enum kfi_av_type	type;
	int			rx_ctx_bits;
	size_t			count;
	size_t			ep_per_node;
	const char		*name;
	void			*map_addr;
	uint64_t		flags;
};

/**
 * kfi_av_open() - open an address vector
 * @domain: the domain
 * @attr: attributes
 * @av: where to store the address vector; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @attr is NULL or an attribute is out of range;
 * -KFI_EBADFLAGS; -EOPNOTSUPP for KFI_AV_MAP, a name or a map_addr; -ENODEV if
 * the device or the namespace has gone; -ENOMEM.
 */
int kfi_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr,
		struct kfid_av **av, void *context);

/**
 * kfi_av_insert() - insert addresses
 * @av: the address vector
 * @addr: array of addresses in the format of the endpoint's info
 * @count: number of addresses
 * @kfi_addr: where to store @count results, or NULL. KFI_ADDR_NOTAVAIL for an
 *	address that could not be inserted.
 * @flags: KFI_MORE, or KFI_SYNC_ERR to get the reasons
 * @context: with KFI_SYNC_ERR array of @count ints, for 0 or a positive error of
 *	each address; otherwise ignored
 *
 * An unexpected message that a peer has sent before its address was inserted is
 * handled like a later one. A receive that is posted with the new handle
 * (KFI_DIRECTED_RECV) takes it, and completions with KFI_SOURCE and KFI_PEEK
 * have the handle. A receive must not name a handle before this function has
 * returned it.
 *
 * Context: Process context, may sleep.
 * Return: number of addresses that were inserted, 0 to @count: an address that
 * is invalid, or for which there is no memory, is left out. -EINVAL if there is
 * no address, or no @context with KFI_SYNC_ERR; -KFI_EBADFLAGS.
 */
int kfi_av_insert(struct kfid_av *av, const void *addr, size_t count,
		  kfi_addr_t *kfi_addr, uint64_t flags, void *context);

/**
 * kfi_av_insertsvc() - insert an address given as text
 * @av: the address vector
 * @node: node, as for kfi_getinfo()
 * @service: service, as for kfi_getinfo()
 * @kfi_addr: as kfi_av_insert()
 * @flags: as kfi_av_insert()
 * @context: as kfi_av_insert()
 *
 * Context: Process context, may sleep.
 * Return: 1 if the address was inserted; -EINVAL if @node and @service are no
 * address of a peer, or if there is no @context with KFI_SYNC_ERR;
 * -KFI_EBADFLAGS; -EOPNOTSUPP if the provider converts no text; -ENODEV if the
 * device or the namespace has gone; -ENOMEM.
 */
int kfi_av_insertsvc(struct kfid_av *av, const char *node, const char *service,
		     kfi_addr_t *kfi_addr, uint64_t flags, void *context);

/**
 * kfi_av_insertsym() - insert the addresses of a range of nodes and services
 * @av: the address vector
 * @node: first node. Its IP address (IPv6: the last 64 bits of it), or the number
 *	at its end, is increased for the others.
 * @nodecnt: number of nodes
 * @service: first service. The number at its end is increased for the others.
 * @svccnt: number of services of each node
 * @kfi_addr: where to store @nodecnt times @svccnt results, the services of a
 *	node together; or NULL
 * @flags: as kfi_av_insert()
 * @context: as kfi_av_insert()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_av_insert(); -EOPNOTSUPP if the provider converts no text;
 * -ENOMEM.
 */
int kfi_av_insertsym(struct kfid_av *av, const char *node, size_t nodecnt,
		     const char *service, size_t svccnt, kfi_addr_t *kfi_addr,
		     uint64_t flags, void *context);

/**
 * kfi_av_remove() - remove addresses
 * @av: the address vector
 * @kfi_addr: array of addresses; the bits of the receive context are ignored
 * @count: number of addresses
 * @flags: 0
 *
 * Outstanding operations to a removed address complete as they would have
 * otherwise. Unexpected messages of the peer stay, with KFI_ADDR_NOTAVAIL as
 * their source: a receive that names the old handle does not take them. When the
 * address is inserted again they have its new handle.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if there is no address, or if an address was not in the
 * vector: the others are removed all the same; -KFI_EBADFLAGS.
 */
int kfi_av_remove(struct kfid_av *av, kfi_addr_t *kfi_addr, size_t count,
		  uint64_t flags);

/**
 * kfi_av_lookup() - return the address of a kfi_addr_t
 * @av: the address vector
 * @kfi_addr: the handle; the bits of the receive context are ignored
 * @addr: where to store the address
 * @addrlen: in: bytes at @addr; out: length of the address. If that is more, the
 *	address was cut off.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EINVAL if the handle is not in the vector.
 */
int kfi_av_lookup(struct kfid_av *av, kfi_addr_t kfi_addr, void *addr,
		  size_t *addrlen);

/**
 * kfi_av_straddr() - print an address
 * @av: the address vector, whose domain determines the format
 * @addr: the address
 * @buf: where to print; always terminated if @len is not 0
 * @len: in: bytes at @buf; out: bytes that the whole text needs
 *
 * Context: Any.
 * Return: @buf.
 */
const char *kfi_av_straddr(struct kfid_av *av, const void *addr, char *buf,
			   size_t *len);

/**
 * kfi_rx_addr() - return the handle of a receive context of a peer
 * @kfi_addr: the peer
 * @rx_index: number of the receive context
 * @rx_ctx_bits: as in struct kfi_av_attr
 *
 * Context: Any.
 * Return: handle of that context.
 */
static inline kfi_addr_t
kfi_rx_addr(kfi_addr_t kfi_addr, int rx_index, int rx_ctx_bits)
{
	if (!rx_ctx_bits)
		return kfi_addr;
	return ((uint64_t)rx_index << (64 - rx_ctx_bits)) | kfi_addr;
}

#endif /* KFI_DOMAIN_H */
