/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.h - shared by the files of kfi_user.ko.
 *
 * A context (struct ku_ctx) is one open of /dev/kfi. It has a table of objects (struct ku_obj),
 * each of which represents one object of kfi.ko. An ioctl finds an object by its handle and holds a
 * reference (ku_obj.users) while it runs; the close of the object waits until the references are
 * dropped.
 *
 * Locks, outermost first:
 *	ku_obj.lock	(mutex) see struct ku_obj; that of an endpoint before that of a shared
 *			context
 *	ku_ctx.events	(mutex) held while an event is read and its object is used, so that the
 *			object is not closed meanwhile
 *	ku_ctx.pinning	(mutex) one thread at a time fills the cache of pinned memory
 *	ku_ring.lock	one CPU at a time moves completions; bottom halves off
 *	ku_ctx.ops_lock	lists of posted receives; bottom halves off
 *	ku_cache.lock	the tree of pinned memory
 */
#ifndef _KFI_USER_H
#define _KFI_USER_H

#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <kfabric.h>
#include <kfi_account.h>
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_payer.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <linux/kfi_user.h>

/**
 * struct ku_cache - memory of a context that stays pinned after the operation that needed it
 * @lock: protects @tree, @idle and @pins. Notifiers of the memory management take it, so nothing is
 *	allocated under it
 * @tree: pins by address
 * @idle: the same pins, the least recently used one first
 * @pins: number of pins
 */
struct ku_cache {
	spinlock_t		lock;
	struct rb_root_cached	tree;
	struct list_head	idle;
	unsigned int		pins;
};

/**
 * struct ku_ctx - one open of /dev/kfi
 * @mm: address space of the opener: calls from other address spaces are refused. The context holds
 *	a reference of the structure (mm_count), not of the address space
 * @net: network namespace of the opener
 * @payer: to which objects and kernel memory are charged, and pinned memory to its user
 * @objs: objects by handle
 * @next: where the search for a free handle begins; under the lock of @objs
 * @events: see above
 * @pinning: see above
 * @cache: pinned memory
 * @pins: number of pins, in the cache or not
 * @held: pages that posted operations hold: transmits, receives. A page that several operations
 *	hold is counted for each of them
 * @stock: bytes that are charged to the user for copies and not used; limits.c
 * @stocked: bytes that are charged to the user for copies
 * @received: bytes of these that receives hold
 * @ops_lock: protects ku_ep.receives and ku_op.link
 * @reap: pins that have lost their last reference, possibly in softirq
 * @reap_work: unpins them
 */
struct ku_ctx {
	struct mm_struct	*mm;
	struct net		*net;
	struct kfi_payer	*payer;
	struct xarray		objs;
	u32			next;
	struct mutex		events;
	struct mutex		pinning;
	struct ku_cache		cache;
	atomic_t		pins;
	atomic_long_t		held[2];
	atomic_long_t		stock;
	atomic_long_t		stocked;
	atomic_long_t		received;
	spinlock_t		ops_lock;
	struct llist_head	reap;
	struct work_struct	reap_work;
};

/**
 * struct ku_obj - an object of a context
 * @ctx: its context
 * @fid: the object of kfi.ko
 * @class: KFI_CLASS_*
 * @handle: its handle in the table
 * @cookie: number that the process has given
 * @users: references: one held by the table, and one by each running call
 * @maps: mappings of a queue or counter, and one until the object has ended; the last one frees it
 * @bound: number of objects that depend on this one; it can't be closed before them
 * @targets: objects on which it depends: its fabric or domain, and those that it is bound to
 * @nr_targets: number of @targets
 * @closing: close has begun: calls that sleep on the object return
 * @waiter: waiter of a queue or counter; else NULL
 * @lock: (mutex) held while the object is bound to others, enabled or connected, for which kfi.ko
 *	requires one call at a time; protects @targets, @room and the members that struct ku_ep
 *	names
 * @room: bytes that are charged to the user for the object
 * @rcu: frees it
 */
#define KU_TARGETS	16
struct ku_obj {
	struct ku_ctx		*ctx;
	struct kfid		*fid;
	u32			class;
	u32			handle;
	u64			cookie;
	refcount_t		users;
	refcount_t		maps;
	atomic_t		bound;
	struct ku_obj		*targets[KU_TARGETS];
	unsigned int		nr_targets;
	bool			closing;
	struct ku_waiter	*waiter;
	struct mutex		lock;
	size_t			room;
	struct rcu_head		rcu;
};

/**
 * struct ku_domain - a domain
 * @obj: common part
 * @domain: the domain of kfi.ko
 * @info: info of the provider with which the domain was opened
 * @addrlen: bytes of an address
 */
struct ku_domain {
	struct ku_obj		obj;
	struct kfid_domain	*domain;
	struct kfi_info		*info;
	size_t			addrlen;
};

/**
 * struct ku_waiter - sleepers on an object, and descriptors of KFI_IOC_GETWAIT that are polled
 * @ref: references: one held by the object, and one by each descriptor
 * @wait: sleepers and pollers
 * @signalled: KFI_IOC_SIGNAL was called, and no sleeper has consumed it
 * @obj: the object; NULL when it is closed. Read under RCU
 * @rcu: frees it
 *
 * The waiter outlives its object if the process keeps a descriptor.
 */
struct ku_waiter {
	struct kref		ref;
	wait_queue_head_t	wait;
	unsigned long		signalled;
	struct ku_obj __rcu	*obj;
	struct rcu_head		rcu;
};

/**
 * struct ku_ring - a completion queue
 * @obj: common part
 * @cq: the queue of kfi.ko, whose handler moves entries into the ring
 * @lock: held by the CPU that moves entries; protects the following members up to @src
 * @head: head of the mapping, or NULL for a hidden queue. The process may write anything there at
 *	any time; the kernel reads only the reader's position
 * @slots: slots of the mapping
 * @mask: number of slots - 1
 * @tail: number of slots that were filled
 * @nr_pages: pages of the mapping
 * @work: moves entries that the handler has not moved
 * @ending: the queue is about to be closed
 * @batch: entries that are being moved
 * @src: senders of these entries
 */
#define KU_BATCH	16
struct ku_ring {
	struct ku_obj		obj;
	struct kfid_cq		*cq;
	spinlock_t		lock;
	struct kfi_user_ring	*head;
	struct kfi_user_cqe	*slots;
	u32			mask;
	u32			tail;
	unsigned int		nr_pages;
	struct work_struct	work;
	bool			ending;
	struct kfi_cq_tagged_entry batch[KU_BATCH];
	kfi_addr_t		src[KU_BATCH];
};

/**
 * struct ku_ep - an endpoint, passive endpoint or shared context
 * @obj: common part
 * @ep: the endpoint of kfi.ko; not used for a passive endpoint
 * @domain: its domain; NULL for a passive endpoint
 * @addr_format: format of its names
 * @max_msg_size: longest message, and RMA operation
 * @depth: operations that can be posted at a time
 * @receives: posted receives, the oldest one first, and messages that were peeked at and claimed;
 *	under ku_ctx.ops_lock
 * @hidden: queue for a direction that has only a counter: it reports the end of operations to
 *	kfi_user.ko
 * @counted: directions that have a counter: KFI_TRANSMIT, KFI_RECV
 * @queued: directions that have a queue
 *
 * ku_obj.lock protects @hidden, @counted and @queued.
 */
struct ku_ep {
	struct ku_obj		obj;
	struct kfid_ep		*ep;
	struct kfid_domain	*domain;
	u32			addr_format;
	size_t			max_msg_size;
	size_t			depth;
	struct list_head	receives;
	struct ku_ring		*hidden;
	u64			counted;
	u64			queued;
};

/**
 * struct ku_connreq - a connection request that was read from an event queue
 * @obj: common part, without a fid
 * @pep: handle of the passive endpoint
 * @info: its info, whose handle names the request; NULL once an endpoint has taken it
 */
struct ku_connreq {
	struct ku_obj		obj;
	u32			pep;
	struct kfi_info		*info;
};

/**
 * struct ku_av - an address vector
 * @obj: common part
 * @av: the address vector of kfi.ko
 * @addrlen: bytes of an address
 */
struct ku_av {
	struct ku_obj		obj;
	struct kfid_av		*av;
	u32			addrlen;
};

/**
 * struct ku_cntr - a counter
 * @obj: common part
 * @cntr: the counter of kfi.ko
 * @lock: held while @count is written; bottom halves off
 * @count: the page that the process maps
 */
struct ku_cntr {
	struct ku_obj		obj;
	struct kfid_cntr	*cntr;
	spinlock_t		lock;
	struct kfi_user_count	*count;
};

/**
 * struct ku_mr - a memory region
 * @obj: common part
 * @mr: the region of kfi.ko
 * @nr_pins: number of @pins
 * @pins: its memory
 */
struct ku_mr {
	struct ku_obj		obj;
	struct kfid_mr		*mr;
	unsigned int		nr_pins;
	struct ku_pin		*pins[KFI_USER_IOV_MAX];
};

/**
 * struct ku_pin - a pinned piece of the process's memory
 * @ref: references: of operations and regions that use the pin, and of the cache
 * @ctx: its context
 * @node: its bytes, in the cache's tree
 * @notifier: called when the process unmaps or discards the memory; inserted if @cached
 * @idle: entry in ku_cache.idle, while it is in the cache
 * @reap: entry in ku_ctx.reap
 * @bvec: its pages, one in each entry
 * @nr_pages: number of pages
 * @mapped: the pages in kernel address space, or NULL; under ku_ctx.pinning
 * @writable: pinned for writing
 * @cached: the memory management has its notifier
 * @dead: the process has unmapped or discarded the memory: it is not put into the cache. Under
 *	ku_cache.lock
 */
struct ku_pin {
	refcount_t		ref;
	struct ku_ctx		*ctx;
	struct interval_tree_node node;
	struct mmu_interval_notifier notifier;
	struct list_head	idle;
	struct llist_node	reap;
	struct bio_vec		*bvec;
	unsigned int		nr_pages;
	void			*mapped;
	bool			writable;
	bool			cached;
	bool			dead;
};

/**
 * struct ku_op - a posted operation
 * @link: receives: entry in ku_ep.receives, under ku_ctx.ops_lock
 * @ep: receives: the endpoint while the operation is in its list; under ku_ctx.ops_lock
 * @ctx: its context
 * @ref: references: one until the operation ends, and one of a call that cancels it
 * @ended: the operation has claimed a message, which waits for the receive that takes it
 * @receive: true: receive; false: transmit
 * @nr_pins: number of @pins
 * @context: number that the process has given
 * @flags: KFI_COMPLETION: success is reported; KFI_MULTI_RECV, KFI_PEEK, KFI_CLAIM as posted
 * @iter: its payload, described by @kvec, by @bvec or by the vector of a pin
 * @kvec: describes a copy, or a mapped pin
 * @bvec: describes several pins
 * @copy: copy of a payload that is longer than @small
 * @room: bytes of @copy and @bvec, which ku_stock_take() has charged
 * @user_buf: multi-receive: the process's address of the buffer, whose kernel address is in @kvec
 * @result: fetching atomics: memory of the process for the old values
 * @fetched: fetching atomics: memory in @copy, where kfi.ko stores the old values
 * @pins: pinned memory that the operation uses
 * @small: copy of a short payload
 *
 * A pointer to this structure is the context of kfi.ko's operation; ku_op_done() frees it.
 */
#define KU_SMALL	192
struct ku_op {
	struct list_head	link;
	struct ku_ep		*ep;
	struct ku_ctx		*ctx;
	refcount_t		ref;
	bool			ended;
	bool			receive;
	unsigned int		nr_pins;
	u64			context;
	u64			flags;
	struct iov_iter		iter;
	struct kvec		kvec;
	struct bio_vec		*bvec;
	void			*copy;
	size_t			room;
	u64			user_buf;
	struct iov_iter		result;
	void			*fetched;
	struct ku_pin		*pins[KFI_USER_IOV_MAX + 1];
	u8			small[KU_SMALL] __aligned(16);
};

/* ---- limits.c: limits of one user ---- */

static inline struct kfi_account *ku_account(const struct ku_ctx *ctx)
{
	return kfi_payer_account(ctx->payer);
}

/*
 * Charge a copy that an operation needs. Return: 0; -EAGAIN: there will be room when other operations
 * of the process have ended, of which a transmit does not count receives; -ENOMEM
 */
int ku_stock_take(struct ku_ctx *ctx, size_t bytes, bool receive);
/* Process context or softirq */
void ku_stock_give(struct ku_ctx *ctx, size_t bytes, bool receive);
void ku_stock_empty(struct ku_ctx *ctx);			/* no operation has a copy any more */
/* Return the number of pages that the caller may have pinned */
unsigned long ku_limits_lockable(void);
/* Charge pinned pages to RLIMIT_MEMLOCK. Return: 0, -ENOMEM */
int ku_limits_lock(struct ku_ctx *ctx, unsigned long pages);
/* Would the limit permit @pages more pages if @ending pinned pages were released? */
bool ku_limits_may_lock(struct ku_ctx *ctx, unsigned long pages, unsigned long ending);
void ku_limits_unlock(struct ku_ctx *ctx, unsigned long pages);
/* May the caller use this local address? Return: 0, -EACCES */
int ku_limits_addr(struct ku_ctx *ctx, u32 format, const void *addr, size_t len);

/* ---- object.c: the table; open.c, bind.c ---- */
enum kfi_payer_kind ku_obj_kind(u32 class);	/* the limit against which a class counts */

/*
 * Reserve a handle for an object of @size bytes that depends on @parent, which the caller holds, or
 * on nothing. The object can't be found before ku_obj_publish(). Return: ERR_PTR() on error
 */
void *ku_obj_new(struct ku_ctx *ctx, struct ku_obj *parent, size_t size, u32 class, u64 cookie);
/* Charge further memory of the object, until it ends. Return: 0, -EMFILE */
int ku_obj_charge(struct ku_obj *obj, size_t bytes);
void ku_obj_uncharge(struct ku_obj *obj, size_t bytes);
void ku_obj_publish(struct ku_obj *obj);
void ku_obj_abandon(struct ku_obj *obj);		/* instead of ku_obj_publish() */
/*
 * Let @obj depend on @target. The caller holds @obj->lock, and there has to be room in
 * @obj->targets.
 */
void ku_obj_add_target(struct ku_obj *obj, struct ku_obj *target);
/*
 * Return an object of @class, held until ku_obj_put(), or ERR_PTR(-EBADF). KFI_CLASS_UNSPEC stands
 * for any class.
 */
struct ku_obj *ku_obj_get(struct ku_ctx *ctx, u32 handle, u32 class);
void ku_obj_put(struct ku_obj *obj);
void ku_obj_unmapped(struct ku_obj *obj);	/* drop a reference of ku_obj.maps */
int ku_obj_close(struct ku_ctx *ctx, u32 handle);
/* no other call uses the context any more */
void ku_obj_close_all(struct ku_ctx *ctx);
int ku_ioc_fabric(struct ku_ctx *ctx, void *arg);
int ku_ioc_domain(struct ku_ctx *ctx, void *arg);
int ku_ioc_passive_ep(struct ku_ctx *ctx, void *arg);
int ku_ioc_endpoint(struct ku_ctx *ctx, void *arg);
int ku_ioc_stx(struct ku_ctx *ctx, void *arg);
int ku_ioc_srx(struct ku_ctx *ctx, void *arg);
int ku_ioc_close(struct ku_ctx *ctx, void *arg);
int ku_ioc_bind(struct ku_ctx *ctx, void *arg);
int ku_ioc_enable(struct ku_ctx *ctx, void *arg);
int ku_ioc_getopt(struct ku_ctx *ctx, void *arg);
int ku_ioc_setopt(struct ku_ctx *ctx, void *arg);

static inline struct ku_ep *to_ku_ep(struct ku_obj *obj)
{
	return container_of(obj, struct ku_ep, obj);
}

static inline struct ku_ring *to_ku_ring(struct ku_obj *obj)
{
	return container_of(obj, struct ku_ring, obj);
}

/* Return an endpoint or shared receive context, held; ERR_PTR */
struct ku_ep *ku_ep_get(struct ku_ctx *ctx, u32 handle);
/* Return an open domain, held; ERR_PTR */
struct ku_domain *ku_domain_get(struct ku_ctx *ctx, u32 handle);
/*
 * Called around a call of kfi.ko that enables an endpoint, with its lock held. ku_ep_prepare()
 * returns 0 or a negative errno.
 */
int ku_ep_prepare(struct ku_ep *ep);
void ku_ep_enabled(struct ku_ep *ep);

/* ---- info.c: struct kfi_user_info and struct kfi_info ---- */

bool ku_info_offered(const struct kfi_info *info);
/*
 * Copy an info from the process's memory, to be freed with kfi_freeinfo(). Return: ERR_PTR() on
 * error
 */
struct kfi_info *ku_info_from_user(u64 from, u32 size);
int ku_info_to_user(const struct kfi_info *info, u64 to, u32 size);
int ku_ioc_getinfo(struct ku_ctx *ctx, void *arg);
/* Copy a string of the process; NULL if @from is 0. Return: ERR_PTR() on error */
char *ku_string(u64 from, size_t max);

/* ---- queue.c: waiting for queues and counters ---- */

int ku_waiter_open(struct ku_obj *obj);
void ku_waiter_close(struct ku_obj *obj);
void ku_waiter_wake(struct ku_obj *obj);
int ku_ioc_wait(struct ku_ctx *ctx, void *arg);
int ku_ioc_signal(struct ku_ctx *ctx, void *arg);
int ku_ioc_getwait(struct ku_ctx *ctx, void *arg);

/* ---- ring.c, event.c, count.c ---- */

int ku_ioc_cq(struct ku_ctx *ctx, void *arg);
int ku_ioc_drain(struct ku_ctx *ctx, void *arg);
bool ku_ring_ready(struct ku_ring *ring);
int ku_ring_map(struct ku_ring *ring, struct vm_area_struct *vma);
/* Open a queue that the process does not read, for an endpoint that only counts; ERR_PTR */
struct ku_ring *ku_ring_hidden(struct ku_ctx *ctx, struct kfid_domain *domain, size_t size);
int ku_ring_end(struct ku_ring *ring);
int ku_ioc_eq(struct ku_ctx *ctx, void *arg);
int ku_ioc_eq_read(struct ku_ctx *ctx, void *arg);
int ku_ioc_eq_write(struct ku_ctx *ctx, void *arg);
bool ku_eq_ready(struct ku_obj *obj);
void ku_connreq_end(struct ku_connreq *req);
int ku_ioc_cntr(struct ku_ctx *ctx, void *arg);
int ku_ioc_count(struct ku_ctx *ctx, void *arg);
int ku_cntr_map(struct ku_cntr *cntr, struct vm_area_struct *vma);

/* ---- address.c, connect.c ---- */

int ku_ioc_av(struct ku_ctx *ctx, void *arg);
int ku_ioc_av_insert(struct ku_ctx *ctx, void *arg);
int ku_ioc_av_insertsvc(struct ku_ctx *ctx, void *arg);
int ku_ioc_av_remove(struct ku_ctx *ctx, void *arg);
int ku_ioc_av_lookup(struct ku_ctx *ctx, void *arg);
int ku_ioc_av_straddr(struct ku_ctx *ctx, void *arg);
int ku_ioc_getname(struct ku_ctx *ctx, void *arg);
int ku_ioc_getpeer(struct ku_ctx *ctx, void *arg);
int ku_ioc_setname(struct ku_ctx *ctx, void *arg);
int ku_ioc_listen(struct ku_ctx *ctx, void *arg);
int ku_ioc_connect(struct ku_ctx *ctx, void *arg);
int ku_ioc_accept(struct ku_ctx *ctx, void *arg);
int ku_ioc_reject(struct ku_ctx *ctx, void *arg);
int ku_ioc_shutdown(struct ku_ctx *ctx, void *arg);

/* ---- pin.c, region.c: the process's memory ---- */

void ku_cache_init(struct ku_ctx *ctx);
void ku_cache_exit(struct ku_ctx *ctx);
/*
 * Pin bytes of the process for an operation, or find them in the cache.
 * @write: the memory will be written to. @receive: the operation is a receive. @own: pages that the
 *	operation already holds for its other segments.
 * Return: ERR_PTR() on error; -EAGAIN: the limit will permit it when other operations of the same
 * direction have ended.
 */
struct ku_pin *ku_pin_get(struct ku_ctx *ctx, u64 base, u64 len, bool write, bool receive,
			  unsigned long own);
/* Pin bytes of the process for a region. The pin is not put into the cache. ERR_PTR() on error */
struct ku_pin *ku_pin_new(struct ku_ctx *ctx, u64 base, u64 len, bool write);
/* Drop the reference of an operation that has ended. Process context or softirq */
void ku_pin_release(struct ku_pin *pin, bool receive);
/* Drop the reference of a region that has ended. Process context or softirq */
void ku_pin_put(struct ku_pin *pin);
/* Return the pages in kernel address space; ERR_PTR. Sleeps */
void *ku_pin_map(struct ku_pin *pin);
/* Return the offset in the pin of address @base of the process */
static inline size_t ku_pin_offset(const struct ku_pin *pin, u64 base)
{
	return base - pin->node.start;
}
int ku_ioc_mr(struct ku_ctx *ctx, void *arg);
void ku_mr_release(struct ku_mr *mr);

/* ---- transfer.c, op.c ---- */

static inline bool ku_is_receive(const struct kfi_user_desc *desc)
{
	return desc->opcode == KFI_USER_RECV || desc->opcode == KFI_USER_TRECV;
}

int ku_op_init(void);
void ku_op_exit(void);
struct ku_op *ku_op_new(struct ku_ctx *ctx, const struct kfi_user_desc *desc);	/* ERR_PTR */
void ku_op_put(struct ku_op *op);
/* Release the memory that the operation uses, and its charge. It can be prepared again. */
void ku_op_release_memory(struct ku_op *op);
/* Copy or pin the payload that a descriptor sends. Return: 0 or a negative errno */
int ku_op_source(struct ku_op *op, const struct kfi_user_desc *desc);
/* Pin the memory into which a descriptor receives. Return: 0 or a negative errno */
int ku_op_sink(struct ku_op *op, const struct kfi_user_desc *desc);
int ku_op_atomic(struct ku_op *op, const struct kfi_user_desc *desc, size_t len);
/* A completion with @op as context was shown to the process. Called with bottom halves off */
void ku_op_done(struct ku_op *op, u64 flags, int err);
int ku_ioc_post(struct ku_ctx *ctx, void *arg);
int ku_ioc_cancel(struct ku_ctx *ctx, void *arg);
int ku_ioc_query_atomic(struct ku_ctx *ctx, void *arg);

#endif /* _KFI_USER_H */
