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
 * @info: an answer of kfi_getinfo() for this fabric
 * @domain: where to put the domain; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * See fi_domain(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -ENODEV if the device has gone, -ENOMEM.
 */
int kfi_domain(struct kfid_fabric *fabric, struct kfi_info *info,
	       struct kfid_domain **domain, void *context);

/* kfi_domain_bind(): report finished registrations to the event queue */
#define KFI_REG_MR		(1ULL << 59)

/**
 * kfi_domain_bind() - bind an event queue to a domain
 * @domain: the domain
 * @fid: head of the event queue. It gets the events of the device (KFI_NOTIFY,
 *	KFI_SHUTDOWN when it goes).
 * @flags: 0; KFI_REG_MR is not supported, as registrations finish before they
 *	return
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
 * enum kfi_refusal - what an access to a peer's region costs that has ended
 *	meanwhile
 * @KFI_REFUSAL_ALONE: the operation, which ends as kfi_rma.h says
 * @KFI_REFUSAL_CONN: the peer's device may be the one to refuse, and ends the
 *	connection: a KFI_EP_MSG endpoint is disconnected, a KFI_EP_RDM endpoint
 *	connects anew with its next post. What else was under way there ends with
 *	the connection's error, its outcome unknown, and is not done again. The
 *	operation itself ends with EACCES if no byte has moved, else EREMOTEIO;
 *	as nobody can tell, of more than a packet also where none has.
 * @KFI_REFUSAL_MUTE: the same, but the device says no more than that the
 *	connection has ended: the operation has its error, or EREMOTEIO; a write
 *	without completion level may have succeeded before
 */
enum kfi_refusal {
	KFI_REFUSAL_ALONE = 0x1000,
	KFI_REFUSAL_CONN,
	KFI_REFUSAL_MUTE,
};

/**
 * struct kfi_domain_limits - what a consumer has to know of a domain
 * @dma_device: device to map KFI_SGL vectors for. Never NULL: software
 *	providers have one whose mapping is direct.
 * @numa_node: node close to the device, or NUMA_NO_NODE
 * @virt_boundary_mask: no element of a region but the first may begin, and none
 *	but the last may end, at an address with these bits set; 0 means any may.
 *	For blk_queue_virt_boundary().
 * @mr_page_limit: pages of one per-I/O region
 * @sge_limit: elements of the vector of one operation
 * @refusal: what an access to a region that has ended costs
 * @short_msg_limit: bytes of a message that leaves at once, to a peer of the
 *	same kind; a longer one is fetched by its receiver, which takes a round
 *	trip more, and longer than an access to a per-I/O region would. 0: no
 *	message is
 * @addrlen: bytes of one address, as in address vectors
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
};

/**
 * kfi_domain_limits() - ask a domain for its limits
 * @domain: the domain
 * @limits: where to put them
 *
 * The device stays valid as long as the domain is open.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -ENODEV if the device has gone.
 */
int kfi_domain_limits(struct kfid_domain *domain,
		      struct kfi_domain_limits *limits);

/**
 * kfi_cq_open() - open a completion queue
 * @domain: the domain
 * @attr: attributes, or NULL for defaults
 * @cq: where to put the queue; close it with kfi_close()
 * @handler: called when the queue becomes non-empty, or NULL
 * @context: consumer's pointer, given to @handler
 *
 * Unlike fi_cq_open(3), with a handler.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP (wait object), -ENODEV,
 * -ENOMEM.
 */
int kfi_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr,
		struct kfid_cq **cq, kfi_comp_handler handler, void *context);

/**
 * kfi_cntr_open() - open a counter
 * @domain: the domain
 * @attr: attributes, or NULL for defaults
 * @cntr: where to put the counter; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * See fi_cntr(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP (wait object), -ENODEV,
 * -ENOMEM.
 */
int kfi_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr,
		  struct kfid_cntr **cntr, void *context);

/**
 * DOC: Memory regions
 *
 * Kernel memory is pinned already, so local buffers need no registration. A
 * region exists to let peers read or write memory, by its key.
 *
 * A *long-lived* region is made by kfi_mr_reg() and its variants, which may
 * sleep, and ended by kfi_close(). A *per-I/O* region is a handle that
 * kfi_mr_alloc() makes once; kfi_mr_register() attaches memory to it and
 * kfi_mr_invalidate() detaches it, both without sleeping. When an invalidation
 * or close has completed, not one byte can land in the memory any more.
 *
 * Whoever knows a key is not thereby trusted: a region is bound to an
 * endpoint (kfi_mr_bind()), and only its peers can use it, unless the owner
 * leaves it to the whole domain.
 */

/* Flags of a registration */
#define KFI_MR_SINGLE_USE	(1ULL << 41)	/* invalid after one operation */

/**
 * struct kfi_mr_attr - what to register, fi_mr(3)
 * @type: what the vector consists of
 * @mr_iov: KFI_KVEC
 * @mr_biov: KFI_BVEC
 * @mr_sgl: KFI_SGL
 * @iov_count: entries of the vector; mapped entries of KFI_SGL
 * @access: KFI_REMOTE_READ and KFI_REMOTE_WRITE for peers; KFI_SEND, KFI_RECV,
 *	KFI_READ, KFI_WRITE for the owner
 * @offset: address of the first byte for peers, unless the domain has
 *	KFI_MR_VIRT_ADDR. Usually 0.
 * @requested_key: key that is wanted, without KFI_MR_PROV_KEY;
 *	KFI_KEY_NOTAVAIL for one that the core draws at random
 * @context: consumer's pointer, kept in the object
 * @auth_key_size: bytes of @auth_key
 * @auth_key: authorization key, or NULL
 * @persist: makes @len bytes from @offset (in the region, bytes from its
 *	first) durable, for KFI_COMMIT_COMPLETE and kfi_flush() of peers. NULL
 *	if the memory is not persistent: such operations end with EOPNOTSUPP
 *	then. It is called in a workqueue with WQ_MEM_RECLAIM, may sleep, and
 *	returns 0 or a negative error, which the peer gets (EIO for EACCES).
 *	Several calls may run at the same time. The end of the region waits for
 *	them and for no peer, so they must not wait for that end; the end of an
 *	endpoint does not wait.
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
	int (*persist)(struct kfid_mr *mr, uint64_t offset, size_t len);
};

/**
 * struct kfi_mr_modify - argument of KFI_REFRESH
 * @flags: 0
 * @attr: the part of the region to refresh, in its vector
 */
struct kfi_mr_modify {
	uint64_t		flags;
	struct kfi_mr_attr	attr;
};

/**
 * kfi_mr_regattr() - register memory
 * @domain: the domain
 * @attr: what to register; copied
 * @flags: KFI_RMA_EVENT: operations of peers count (kfi_mr_bind()).
 *	KFI_RMA_PMEM: the memory is persistent, and attr->persist is set.
 *	KFI_MR_SINGLE_USE: the first operation of a peer is the last.
 * @mr: where to put the region; end it with kfi_close()
 *
 * The memory stays the caller's and has to exist until the region is closed.
 * With KFI_MR_ENDPOINT in the domain's mr_mode, or KFI_RMA_EVENT, the region
 * is usable after kfi_mr_bind() and kfi_mr_enable() only.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOKEY if the key is in use, -EINVAL (empty or overlong
 * vector, unknown type, unknown rights), -KFI_EBADFLAGS, -KFI_ENOMR if there
 * can't be more regions, -EOPNOTSUPP, -ENOMEM.
 */
int kfi_mr_regattr(struct kfid_domain *domain, const struct kfi_mr_attr *attr,
		   uint64_t flags, struct kfid_mr **mr);

/**
 * kfi_mr_regv() - register a vector of kernel memory
 * @domain: the domain
 * @iov: the vector
 * @count: entries of it
 * @acs: rights, as access of struct kfi_mr_attr
 * @offset: as in struct kfi_mr_attr
 * @requested_key: as in struct kfi_mr_attr
 * @flags: as kfi_mr_regattr()
 * @mr: as kfi_mr_regattr()
 * @context: consumer's pointer, kept in the object
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
 * @len: bytes
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
 * @biov: the vector
 * @count: entries of it
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
 * @count: mapped entries of it
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
 * kfi_mr_desc() - local descriptor of a region
 * @mr: the region
 *
 * Context: Any.
 * Return: what to give as desc when posting from this memory; may be NULL.
 */
static inline void *kfi_mr_desc(struct kfid_mr *mr)
{
	return mr->mem_desc;
}

/**
 * kfi_mr_key() - key of a region
 * @mr: the region
 *
 * The key of a per-I/O region changes with each registration.
 *
 * Context: Any.
 * Return: what to give to peers, or KFI_KEY_NOTAVAIL.
 */
static inline uint64_t kfi_mr_key(struct kfid_mr *mr)
{
	return mr->key;
}

/**
 * kfi_mr_raw_attr() - key of a region that is longer than 64 bits
 * @mr: the region
 * @base_addr: where to put the address of the first byte
 * @raw_key: where to put the key
 * @key_size: in: bytes at @raw_key; out: bytes of the key
 * @flags: 0
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ETOOSMALL with @key_size set, -KFI_EBADFLAGS, -EOPNOTSUPP.
 */
static inline int
kfi_mr_raw_attr(struct kfid_mr *mr, uint64_t *base_addr, uint8_t *raw_key,
		size_t *key_size, uint64_t flags)
{
	struct kfi_mr_raw_attr attr = {
		.flags = flags,
		.base_addr = base_addr,
		.raw_key = raw_key,
		.key_size = key_size,
	};

	return kfi_control(&mr->fid, KFI_GET_RAW_MR, &attr);
}

/**
 * kfi_mr_map_raw() - turn a peer's raw key into one for RMA operations
 * @domain: the domain
 * @base_addr: the peer's address of the first byte
 * @raw_key: the peer's key
 * @key_size: bytes of it
 * @key: where to put the key; give it back with kfi_mr_unmap_key()
 * @flags: 0
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP, -ENOMEM.
 */
static inline int
kfi_mr_map_raw(struct kfid_domain *domain, uint64_t base_addr,
	       uint8_t *raw_key, size_t key_size, uint64_t *key,
	       uint64_t flags)
{
	struct kfi_mr_map_raw map = {
		.flags = flags,
		.base_addr = base_addr,
		.raw_key = raw_key,
		.key_size = key_size,
		.key = key,
	};

	return kfi_control(&domain->fid, KFI_MAP_RAW_MR, &map);
}

/**
 * kfi_mr_unmap_key() - give back a key of kfi_mr_map_raw()
 * @domain: the domain
 * @key: the key
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP.
 */
static inline int
kfi_mr_unmap_key(struct kfid_domain *domain, uint64_t key)
{
	return kfi_control(&domain->fid, KFI_UNMAP_KEY, &key);
}

/**
 * kfi_mr_bind() - bind an endpoint or counter to a region
 * @mr: the region
 * @bfid: head of an endpoint, whose peers alone may then use the region; or of
 *	a counter of what they do
 * @flags: for an endpoint 0; for a counter KFI_REMOTE_WRITE, KFI_REMOTE_READ or
 *	both
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind().
 */
static inline int
kfi_mr_bind(struct kfid_mr *mr, struct kfid *bfid, uint64_t flags)
{
	return kfi_bind(&mr->fid, bfid, flags);
}

/**
 * kfi_mr_refresh() - tell that pages behind a region have changed
 * @mr: the region, of KFI_KVEC
 * @iov: the part that changed; each entry within one of the region's
 * @count: entries of @iov
 * @flags: 0
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL (empty, or outside the region), -KFI_EBADFLAGS,
 * -EOPNOTSUPP (a region of pages or for each I/O, or the device can't).
 */
static inline int
kfi_mr_refresh(struct kfid_mr *mr, const struct kvec *iov, size_t count,
	       uint64_t flags)
{
	struct kfi_mr_modify modify = {
		.flags = flags,
		.attr.type = KFI_KVEC,
		.attr.mr_iov = iov,
		.attr.iov_count = count,
	};

	return kfi_control(&mr->fid, KFI_REFRESH, &modify);
}

/**
 * kfi_mr_enable() - let peers use a region that had to be bound first
 * @mr: the region
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if it is enabled already, -KFI_EOPBADSTATE if a binding is
 * missing.
 */
static inline int kfi_mr_enable(struct kfid_mr *mr)
{
	return kfi_control(&mr->fid, KFI_ENABLE, NULL);
}

/**
 * struct kfi_mr_work - an asynchronous registration or invalidation
 * @done: called once when the work has ended; err is 0 or a negative error
 *
 * Embedded in the consumer's request, which has to exist until @done is
 * called. @done may be called before the call that started the work returns.
 * It may post, register, invalidate; it may not sleep and not close.
 */
struct kfi_mr_work {
	void (*done)(struct kfi_mr_work *work, int err);
	/* private: room for kfabric, so that the work needs no memory */
	struct list_head	entry;
	void			*internal[2];
};

/**
 * kfi_mr_alloc() - make a handle for per-I/O registration
 * @domain: the domain
 * @iov_limit: elements, or pages, that a registration of it has to hold; at
 *	most kfi_domain_limits.mr_page_limit
 * @flags: 0 or KFI_MR_SINGLE_USE
 * @mr: where to put the handle; end it with kfi_close(), when no work is
 *	under way
 * @context: consumer's pointer, kept in the object
 *
 * Bind the handle to an endpoint with kfi_mr_bind() before its first use;
 * unbound it belongs to the domain. It needs no kfi_mr_enable().
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -KFI_ENOMR, -EOPNOTSUPP, -ENOMEM.
 */
int kfi_mr_alloc(struct kfid_domain *domain, size_t iov_limit, uint64_t flags,
		 struct kfid_mr **mr, void *context);

/**
 * kfi_mr_register() - attach memory to a handle
 * @mr: a handle of kfi_mr_alloc() that has no memory attached
 * @attr: what to register; copied, but the entries of a scatterlist or page
 *	vector have to exist until the invalidation. requested_key has to be
 *	KFI_KEY_NOTAVAIL or 0.
 * @work: its done() is called when peers can use the region; or NULL: nobody
 *	is told, and if the registration comes to nothing after all, which
 *	kfi_mr_invalidate() then ends as any other, the peer's access does
 *
 * When this has returned 0, kfi_mr_key() is the new key. If the handle is
 * bound to an endpoint, a message posted there afterwards reaches the peer
 * after the registration is in effect, so it may carry the key at once. The
 * handle has memory attached only if done() gets 0.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0, and done() of @work will be called; or without such a call: -EAGAIN if the
 * provider's queue is full, -EINVAL (too long, not aligned to the virt
 * boundary, unknown type), -KFI_EOPBADSTATE if memory is attached, -ENODEV.
 */
int kfi_mr_register(struct kfid_mr *mr, const struct kfi_mr_attr *attr,
		    struct kfi_mr_work *work);

/**
 * kfi_mr_invalidate() - detach the memory from a handle
 * @mr: a handle with memory attached
 * @work: its done() is called when no peer can touch the memory any more and
 *	no persist() runs, whatever err says, and the handle can be used again
 *
 * Not needed after the peer has invalidated the key (KFI_INVALIDATE) and the
 * completion of the receive has told so, by that flag.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0, and done() will be called; or without such a call: -EAGAIN if the
 * provider's queue is full, -KFI_EOPBADSTATE if no memory is attached.
 */
int kfi_mr_invalidate(struct kfid_mr *mr, struct kfi_mr_work *work);

/**
 * DOC: Address vectors
 *
 * An address vector turns addresses of peers into kfi_addr_t, which posts
 * take. Insertion is synchronous and looks nothing up in the network beyond
 * the routes of this host. A removed index is not used again before the
 * operations that name it have ended.
 */

/* Flags of an address vector and of insertions */
#define KFI_SYMMETRIC		(1ULL << 59)
#define KFI_SYNC_ERR		(1ULL << 58)
#define KFI_UNIVERSE		(1ULL << 57)

/**
 * struct kfi_av_attr - attributes of an address vector, fi_av(3)
 * @type: KFI_AV_UNSPEC or KFI_AV_TABLE
 * @rx_ctx_bits: top bits of a kfi_addr_t that hold a receive context, 0 to 16
 * @count: addresses that are expected; 0 if unknown. Not a limit.
 * @ep_per_node: endpoints of each node that are expected; 0 if unknown
 * @name: NULL; vectors are not shared by name
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
 * @av: where to put the vector; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP (map, name), -ENOMEM.
 */
int kfi_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr,
		struct kfid_av **av, void *context);

/**
 * kfi_av_insert() - insert addresses
 * @av: the vector
 * @addr: array of addresses in the format of the endpoint's info
 * @count: how many
 * @kfi_addr: where to put @count results, or NULL. KFI_ADDR_NOTAVAIL for an
 *	address that could not be inserted.
 * @flags: KFI_MORE, or KFI_SYNC_ERR to get the reasons
 * @context: with KFI_SYNC_ERR, array of @count ints for 0 or a positive error
 *	each; else ignored
 *
 * Messages that a peer has sent before its address was inserted, and that wait
 * for a receive, are the peer's like later ones: a receive that is posted
 * afterwards with the new handle (KFI_DIRECTED_RECV) takes them, and with
 * KFI_SOURCE completions and KFI_PEEK name the handle. A receive must not name a
 * handle before this call has returned it.
 *
 * Context: Process context, may sleep.
 * Return: number of addresses inserted, 0 to @count; -EINVAL, -KFI_EBADFLAGS,
 * -ENOMEM.
 */
int kfi_av_insert(struct kfid_av *av, const void *addr, size_t count,
		  kfi_addr_t *kfi_addr, uint64_t flags, void *context);

/**
 * kfi_av_insertsvc() - insert an address given as text
 * @av: the vector
 * @node: node, as kfi_getinfo() takes it
 * @service: service, as kfi_getinfo() takes it
 * @kfi_addr: as kfi_av_insert()
 * @flags: as kfi_av_insert()
 * @context: as kfi_av_insert()
 *
 * Context: Process context, may sleep.
 * Return: 1 if it was inserted; 0 or a negative error if not.
 */
int kfi_av_insertsvc(struct kfid_av *av, const char *node, const char *service,
		     kfi_addr_t *kfi_addr, uint64_t flags, void *context);

/**
 * kfi_av_insertsym() - insert the services of a range of nodes
 * @av: the vector
 * @node: first node; the following ones count its address up
 * @nodecnt: number of nodes
 * @service: first service; the following ones count up
 * @svccnt: number of services on each node
 * @kfi_addr: @nodecnt times @svccnt results, services of a node together
 * @flags: as kfi_av_insert()
 * @context: as kfi_av_insert()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_av_insert().
 */
int kfi_av_insertsym(struct kfid_av *av, const char *node, size_t nodecnt,
		     const char *service, size_t svccnt, kfi_addr_t *kfi_addr,
		     uint64_t flags, void *context);

/**
 * kfi_av_remove() - remove addresses
 * @av: the vector
 * @kfi_addr: array of addresses; the receive context bits are ignored
 * @count: how many
 * @flags: 0
 *
 * Outstanding operations to a removed address end as they would have. Messages
 * of the peer that wait for a receive stay, and come from KFI_ADDR_NOTAVAIL: a
 * receive that names the old handle does not take them. When the address is
 * inserted again they have its new handle.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if one was not in the vector (the others are removed),
 * -KFI_EBADFLAGS.
 */
int kfi_av_remove(struct kfid_av *av, kfi_addr_t *kfi_addr, size_t count,
		  uint64_t flags);

/**
 * kfi_av_lookup() - address behind a kfi_addr_t
 * @av: the vector
 * @kfi_addr: what to look up
 * @addr: where to put the address
 * @addrlen: in: bytes at @addr; out: bytes of the address, of which no more
 *	were stored than fit: the caller compares
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EINVAL if it is not in the vector.
 */
int kfi_av_lookup(struct kfid_av *av, kfi_addr_t kfi_addr, void *addr,
		  size_t *addrlen);

/**
 * kfi_av_straddr() - print an address
 * @av: the vector, which knows the format
 * @addr: the address
 * @buf: where to print; always terminated if @len is not 0
 * @len: in: bytes of @buf; out: bytes that the whole text needs
 *
 * Context: Any.
 * Return: @buf.
 */
const char *kfi_av_straddr(struct kfid_av *av, const void *addr, char *buf,
			   size_t *len);

/**
 * kfi_rx_addr() - name a receive context of a peer
 * @kfi_addr: the peer
 * @rx_index: number of its receive context
 * @rx_ctx_bits: as the vector was opened with
 *
 * Context: Any.
 * Return: the address of that context.
 */
static inline kfi_addr_t
kfi_rx_addr(kfi_addr_t kfi_addr, int rx_index, int rx_ctx_bits)
{
	if (!rx_ctx_bits)
		return kfi_addr;
	return ((uint64_t)rx_index << (64 - rx_ctx_bits)) | kfi_addr;
}

#endif /* KFI_DOMAIN_H */
