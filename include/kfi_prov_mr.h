/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_mr.h - memory regions, as providers see them. kfi_prov.h includes this file.
 */
#ifndef _KFI_PROV_MR_H
#define _KFI_PROV_MR_H

#include <kfi_prov_obj.h>

/**
 * struct kfi_mr - a memory region
 * @fid: handle of the consumer, which has the key, and the address of the first byte, as peers name
 *	them
 * @ep: endpoint that the region is bound to; NULL if all endpoints of the domain may use it
 * @len: length in bytes
 * @live: peers may use the region. Cleared when the region is closed or invalidated
 * @enabled: the bindings are complete
 * @per_io: kfi_mr_alloc() has created the region
 * @hashed: the region is in &kfi_domain.mrs
 * @ref: references of the structure, which give no right to use the memory
 * @access: KFI_REMOTE_READ, KFI_REMOTE_WRITE and rights of the owner
 * @state: state of a per-I/O region, see kfi/mr_io.c
 * @slot: index in &kfi_domain.slots, or 0 if the region has none
 * @serial: number from which the next key is made, if the region has a slot
 * @iter: kvec or bvec iterator over the whole region
 * @iov: copy of the segments
 * @unit: common length in bytes of all segments except the first and the last; 0 if they have no
 *	common length
 * @domain: domain of the region
 * @obj: common part of all objects
 * @bind_lock: serializes kfi_mr_bind() and kfi_mr_enable(): protects changes of @ep, @cntr and
 *	@cntr_access, and of @enabled unless @per_io
 * @node: in &kfi_domain.mrs
 * @flags: flags of the registration: KFI_RMA_EVENT, KFI_RMA_PMEM
 * @prov_key: in a domain with &kfi_domain.prov_keys: the key, which the provider sets in mr_bind
 *	or mr_attach. It is unique in the domain as long as memory is registered under it
 * @iov_limit: room for segments
 * @claims: number of segments in memory of kfi_mem_alloc(), which can't be freed meanwhile
 * @cntr: bound counter, or NULL
 * @cntr_access: operations that @cntr counts
 * @persist: function of the owner for KFI_COMMIT_COMPLETE, or NULL
 * @uses: number of calls of @persist that have not ended (kfi/commit.c) and of leases
 *	(kfi_mr_lease()), plus 1 until the region ends
 * @lease_lock: protects @leases and @changing; bottom halves off. A leaf
 * @leases: leases that are recalled, struct kfi_mr_lease
 * @changing: kfi_mr_bind() waits until there are no leases
 * @rcu: frees the structure, or ends an invalidation
 * @work: asynchronous registration or invalidation in progress, or NULL
 * @bound: a per-I/O region that is bound to @ep: entry in &kfi_ep.regions, under a lock of kfi/mr.c
 * @priv: for the provider
 *
 * The members from @fid to @ref fill a cache line, in which an access that is refused finds why,
 * and those from @access to @unit are what one that is allowed needs besides.
 */
struct kfi_mr {
	struct kfid_mr		fid;
	struct kfi_ep		*ep;
	size_t			len;
	bool			live;
	bool			enabled;
	bool			per_io;
	bool			hashed;
	struct kref		ref;
	u64			access;
	int			state;
	u32			slot;
	u64			serial;
	struct iov_iter		iter;
	union {
		struct kvec	*kvec;
		struct bio_vec	*bvec;
	} iov;
	size_t			unit;
	struct kfi_domain	*domain;
	struct kfi_obj		obj;
	struct mutex		bind_lock;
	struct rhash_head	node;
	u64			flags;
	u64			prov_key;
	size_t			iov_limit;
	size_t			claims;
	struct kfi_cntr		*cntr;
	u64			cntr_access;
	int			(*persist)(struct kfid_mr *mr, u64 offset, size_t len,
					   struct kfi_persist *p);
	refcount_t		uses;
	spinlock_t		lease_lock;
	struct list_head	leases;
	bool			changing;
	struct rcu_head		rcu;
	struct kfi_mr_work	*work;
	struct list_head	bound;
	void			*priv;
};

/**
 * kfi_mr_get() - check a peer's request to access a region
 * @ep: endpoint that has received the request
 * @key: key in the request, not trusted
 * @addr: address in the request, not trusted
 * @len: length in the request, not trusted
 * @access: KFI_REMOTE_READ, KFI_REMOTE_WRITE or both
 * @iter: set to the requested bytes: ITER_SOURCE if @access has KFI_REMOTE_READ, else ITER_DEST
 *
 * The provider moves bytes only in an RCU read section (with bottom halves off it is in one), after
 * kfi_mr_live() has returned true in the same section, and uses @iter only there. The end of a
 * region waits for such sections and not for the peer. The provider keeps the reference until the
 * last byte has moved and kfi_remote_rma() has returned.
 *
 * Context: process or softirq.
 * Return: the region, with a reference; ERR_PTR(-EACCES) if there is no such key, if the region is
 * bound to another endpoint, or if the range or the right is not allowed.
 */
struct kfi_mr *kfi_mr_get(struct kfi_ep *ep, u64 key, u64 addr, u64 len, u64 access,
			  struct iov_iter *iter);
/**
 * kfi_mr_put() - drop the reference of kfi_mr_get()
 * @mr: the region
 *
 * Context: process or softirq.
 */
void kfi_mr_put(struct kfi_mr *mr);

/**
 * kfi_mr_live() - check whether bytes of a region may be moved
 * @mr: region of kfi_mr_get()
 * @key: key by which the region was found. A per-I/O region may have been registered again since,
 *	with other memory and another key
 *
 * Context: any, in an RCU read section, such as one with bottom halves off.
 * Return: true if they may be moved until the end of that section.
 */
static inline bool kfi_mr_live(const struct kfi_mr *mr, u64 key)
{
	/* pairs with the release that makes a region live: its key and memory are in place */
	return smp_load_acquire(&mr->live) && READ_ONCE(mr->fid.key) == key;
}

/**
 * kfi_mr_find() - find a region by its key, whether peers may use it or not
 * @ep: endpoint that has received the request
 * @key: key in the request, not trusted
 *
 * A per-I/O region whose key kfi.ko has chosen is found only while its registration lasts.
 *
 * Context: any, inside rcu_read_lock(). The region exists until the end of that section.
 * Return: the region; NULL if there is none with this key, or if it is bound to another endpoint.
 */
struct kfi_mr *kfi_mr_find(struct kfi_ep *ep, u64 key);

/**
 * struct kfi_mr_lease - a lease that lasts until it is recalled
 * @entry: entry in &kfi_mr.leases. Owned by kfi.ko
 * @ep: endpoint whose peer may use the region. Owned by kfi.ko
 * @recall: set by the provider: the region ends, or changes so that the lease is not valid any
 *	more, or peers of the endpoint may not write any more (KFI_OPT_REMOTE_ACCESS). The
 *	provider calls kfi_mr_unlease() in bounded time, whatever the peer does, and not from this
 *	function. May be called several times. Called under a spinlock with bottom halves off, in
 *	an RCU section, in process context or softirq; it may set a flag and queue work, but take
 *	no lock
 */
struct kfi_mr_lease {
	struct list_head	entry;
	const struct kfi_ep	*ep;
	void			(*recall)(struct kfi_mr_lease *lease);
};

/**
 * kfi_mr_lease() - delay the end of a region while a device or a link moves bytes of it
 * @ep: with @lease: endpoint whose peer may use the region
 * @mr: region of kfi_mr_get(); the caller has a reference, and the lease gets another one
 * @key: key by which the region was found
 * @lease: NULL for one operation, whose bytes move outside of an RCU section; otherwise
 *	@lease->recall is set, and may be called before this function returns
 *
 * The region does not end before all leases are returned: kfi_close() and the done() of an
 * invalidation wait for them. So the provider has to return each of them in bounded time, whatever
 * the peer does: one for an operation by itself, another one when it is recalled. The exception is
 * a place (kfi_place.h) of kfi_loop, which only the consumer's put or drop can end. A region with
 * leases can become dead; the provider calls kfi_mr_live() again where it matters. Under a lease
 * with @lease the members of the region that describe its memory do not change.
 *
 * Context: process or softirq. Return: true; false if the region is dead already, or with @lease
 * if it is bound to another endpoint or is changing, or if peers of the endpoint may not write.
 */
bool kfi_mr_lease(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, struct kfi_mr_lease *lease);
/**
 * kfi_mr_unlease() - return a lease of kfi_mr_lease()
 * @mr: the region, of which no byte moves any more because of the lease
 * @lease: as in kfi_mr_lease(). recall() is not called after this function has returned
 *
 * Context: process or softirq.
 */
void kfi_mr_unlease(struct kfi_mr *mr, struct kfi_mr_lease *lease);

/**
 * kfi_mr_registered() - report that peers can use a region, or that there are no peers any more
 * @mr: region for which &kfi_prov_ops.mr_publish was called with @notify
 *
 * Called once. Context: process or softirq.
 */
void kfi_mr_registered(struct kfi_mr *mr);
/**
 * kfi_mr_settle() - report that the device can't access an invalidated region any more
 * @mr: region for which &kfi_prov_ops.mr_end has returned true
 *
 * Context: process or softirq.
 */
void kfi_mr_settle(struct kfi_mr *mr);

/**
 * kfi_mr_kill() - invalidate a per-I/O region because a peer's send names its key
 * @ep: endpoint that has received the message
 * @key: key in the message, not trusted
 *
 * The provider calls this before the receive of the message completes. If it returns 0 the receive
 * has KFI_INVALIDATE in its flags, and if it returns -EBUSY, KFI_INVALIDATE_DUE.
 *
 * Context: process or softirq.
 * Return: 0 if no peer can access the memory any more; -EACCES if the region is not a per-I/O
 * region, or is bound to another endpoint, which violates every protocol; -EBUSY if an operation of
 * a peer uses the region, or if the device may still use it: the region is dead, and its owner has
 * to call kfi_mr_invalidate(); -ENOENT if the owner has invalidated the region, or is doing so.
 */
int kfi_mr_kill(struct kfi_ep *ep, u64 key);

#endif /* _KFI_PROV_MR_H */
