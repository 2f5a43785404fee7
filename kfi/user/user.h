/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.h - what the files of kfi_user.ko share.
 *
 * A context (struct ku_ctx) is one open of /dev/kfi. It has a table of objects (struct ku_obj),
 * each of which stands for one object of kfi.ko. An ioctl finds an object by its handle and holds
 * it by ku_obj.users while it runs; closing waits until that count has dropped.
 *
 * Locks, outermost first:
 *	ku_obj.lock	(mutex) see there; of an endpoint before that of a shared context
 *	ku_ctx.events	(mutex) reading an event and using the object that it names, against the
 *			end of that object
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
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <linux/kfi_user.h>

struct ku_user;

/**
 * struct ku_cache - memory of a context that stays pinned after the operation that needed it
 * @lock:	protects @tree, @idle and @pins. Notifiers of the memory management take it, so
 *		nothing is allocated under it
 * @tree:	pins by address
 * @idle:	the same pins, the least recently used one first
 * @pins:	how many there are
 */
struct ku_cache {
	spinlock_t		lock;
	struct rb_root_cached	tree;
	struct list_head	idle;
	unsigned int		pins;
};

/**
 * struct ku_ctx - one open of /dev/kfi
 * @mm:		the opener's address space: calls from others are refused. The structure is held
 *		(mm_count), not its users
 * @net:	the opener's network namespace
 * @user:	who pays for objects and pinned memory
 * @objs:	objects by handle
 * @next:	where the search for a free handle begins; under the lock of @objs
 * @events:	see above
 * @pinning:	see above
 * @cache:	pinned memory
 * @pins:	how many pins there are, in the cache or not
 * @held:	pages that operations under way hold: transmits, receives. A page that several hold
 *		counts for each of them
 * @copied:	bytes of long sends under way that were copied
 * @ops_lock:	protects ku_ep.receives and ku_op.link
 * @reap:	pins that have lost their last reference, possibly in softirq
 * @reap_work:	unpins them
 */
struct ku_ctx {
	struct mm_struct	*mm;
	struct net		*net;
	struct ku_user		*user;
	struct xarray		objs;
	u32			next;
	struct mutex		events;
	struct mutex		pinning;
	struct ku_cache		cache;
	atomic_t		pins;
	atomic_long_t		held[2];
	atomic_long_t		copied;
	spinlock_t		ops_lock;
	struct llist_head	reap;
	struct work_struct	reap_work;
};

/**
 * struct ku_obj - an object of a context
 * @ctx:	its context
 * @fid:	the object of kfi.ko
 * @class:	KFI_CLASS_
 * @handle:	its number in the table
 * @cookie:	the process's number
 * @users:	one for the table, and one for each call under way
 * @bound:	objects that stand on this one; it can't be closed before them
 * @closing:	close has begun: calls that sleep on the object return
 * @waiter:	of queues and counters; else NULL
 * @targets:	what it stands on: its fabric or domain, and what it is bound to
 * @nr_targets:	how many
 * @lock:	(mutex) held while it is bound to others, enabled or connected, of which kfi.ko
 *		wants one call at a time; protects @targets, @room and what struct ku_ep says
 * @room:	bytes that ku_limits_room() has charged for it
 */
#define KU_TARGETS	16
struct ku_obj {
	struct ku_ctx		*ctx;
	struct kfid		*fid;
	u32			class;
	u32			handle;
	u64			cookie;
	refcount_t		users;
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
 * @obj:	common part
 * @domain:	the domain of kfi.ko
 * @info:	the provider's answer that it was opened with
 * @addrlen:	bytes of an address
 */
struct ku_domain {
	struct ku_obj		obj;
	struct kfid_domain	*domain;
	struct kfi_info		*info;
	size_t			addrlen;
};

/**
 * struct ku_waiter - what sleepers wait for, and what a descriptor of KFI_IOC_GETWAIT polls
 *
 * It outlives its object if the process keeps the descriptor.
 * @ref:	the object's and the descriptors'
 * @wait:	sleepers and pollers
 * @signalled:	KFI_IOC_SIGNAL came, and no sleeper has taken it
 * @obj:	the object; NULL when it is closed. Read under RCU
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
 * @obj:	common part
 * @cq:		the queue of kfi.ko, whose handler moves entries into the ring
 * @lock:	held by the CPU that moves entries: protects what follows
 * @head:	head of the mapping, or NULL: nobody reads completions of this queue. The process
 *		may write anything there at any time; the kernel reads only the reader's position
 * @slots:	slots of the mapping
 * @mask:	slots - 1
 * @tail:	slots filled so far
 * @nr_pages:	pages of the mapping
 * @work:	moves what the handler has left
 * @ending:	the queue is about to be closed
 * @batch:	entries on their way
 * @src:	their senders
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
 * @obj:	common part
 * @ep:		the endpoint of kfi.ko, not of passive ones
 * @domain:	its domain, or of a passive endpoint NULL
 * @addr_format: of its names
 * @max_msg_size: longest message, and RMA operation
 * @depth:	operations that can be under way
 * @receives:	posted receives, the oldest one first, and messages that were peeked at and claimed;
 *		under ku_ctx.ops_lock
 * @hidden:	queue of a direction that has a counter alone: kfi_user.ko has to know when
 *		operations end
 * @counted:	directions that have a counter: KFI_TRANSMIT, KFI_RECV
 * @queued:	directions that have a queue
 *
 * @hidden and what follows are protected by ku_obj.lock.
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
 * @obj:	common part, without a fid
 * @pep:	handle of the passive endpoint
 * @info:	its info, whose handle names the request; NULL once an endpoint has taken it
 */
struct ku_connreq {
	struct ku_obj		obj;
	u32			pep;
	struct kfi_info		*info;
};

/** struct ku_av - an address vector; @addrlen: bytes of an address */
struct ku_av {
	struct ku_obj		obj;
	struct kfid_av		*av;
	u32			addrlen;
};

/**
 * struct ku_cntr - a counter
 * @obj:	common part
 * @cntr:	the counter of kfi.ko
 * @lock:	held while @count is written; bottom halves off
 * @count:	the page that the process maps
 */
struct ku_cntr {
	struct ku_obj		obj;
	struct kfid_cntr	*cntr;
	spinlock_t		lock;
	struct kfi_user_count	*count;
};

/** struct ku_mr - a region; @pins: its memory */
struct ku_mr {
	struct ku_obj		obj;
	struct kfid_mr		*mr;
	unsigned int		nr_pins;
	struct ku_pin		*pins[KFI_USER_IOV_MAX];
};

/**
 * struct ku_pin - a piece of the process's memory that is pinned
 * @ref:	operations and regions that use it, and the cache
 * @ctx:	its context
 * @node:	its bytes, in the cache's tree
 * @notifier:	tells when the process gives the memory up; inserted if @cached
 * @idle:	in ku_cache.idle, while it is in the cache
 * @reap:	in ku_ctx.reap
 * @bvec:	its pages, one an entry
 * @nr_pages:	how many
 * @mapped:	the pages in kernel address space, or NULL; under ku_ctx.pinning
 * @writable:	pinned for writing
 * @cached:	known to the memory management
 * @dead:	no longer the process's memory: it does not get into the cache. Under ku_cache.lock
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
 * struct ku_op - an operation under way
 *
 * kfi.ko has a pointer to it as the operation's context; ku_op_done() frees it.
 * @link:	receives: in ku_ep.receives, under ku_ctx.ops_lock
 * @ep:		receives: the endpoint while the operation is in its list; under ku_ctx.ops_lock
 * @ctx:	its context
 * @ref:	its own, and that of a call that cancels it
 * @context:	the process's number
 * @flags:	KFI_COMPLETION: success is reported; KFI_MULTI_RECV, KFI_PEEK, KFI_CLAIM as posted
 * @ended:	a message that was peeked at and claimed waits for the receive that takes it
 * @iter:	its payload, over one of the following
 * @kvec:	of a copy, or of a mapped pin
 * @bvec:	of several pins
 * @copy:	memory of a payload that was copied, if it is longer than @small
 * @room:	bytes of @copy that ku_limits_room() has charged
 * @receive:	it receives; else it transmits
 * @pins:	what it holds
 * @nr_pins:	how many
 * @user_buf:	multi-receive: the process's address of the buffer, whose kernel address is in @kvec
 * @result:	fetching atomics: where the process wants the old values
 * @fetched:	... and where kfi.ko puts them, in @copy
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

/* ---- limits.c: what one user may have ---- */

enum ku_kind { KU_CONTEXTS, KU_ENDPOINTS, KU_REGIONS, KU_OTHERS, KU_KINDS };

struct ku_user *ku_user_get(void);			/* of the caller; ERR_PTR */
void ku_user_put(struct ku_user *user);
int ku_limits_take(struct ku_user *user, enum ku_kind kind);	/* 0, -EMFILE */
void ku_limits_give(struct ku_user *user, enum ku_kind kind);
/* Bytes of queues and pools. 0, -EMFILE */
int ku_limits_room(struct ku_user *user, size_t bytes);
void ku_limits_room_back(struct ku_user *user, size_t bytes);
/* Pages that the caller may have pinned. */
unsigned long ku_limits_lockable(void);
/* Pinned pages against RLIMIT_MEMLOCK. 0, -ENOMEM */
int ku_limits_lock(struct ku_ctx *ctx, unsigned long pages);
/* Would there be room for so many, if @ending other pages were not pinned? */
bool ku_limits_lock_later(struct ku_ctx *ctx, unsigned long pages, unsigned long ending);
void ku_limits_unlock(struct ku_ctx *ctx, unsigned long pages);
/* May the caller use this local address? 0, -EACCES */
int ku_limits_addr(struct ku_ctx *ctx, u32 format, const void *addr, size_t len);

/* ---- object.c: the table; open.c, bind.c ---- */
enum ku_kind ku_obj_kind(u32 class);		/* what a class is counted as */

/*
 * Room in the table for an object of @size bytes that stands on @parent, which the caller holds, or
 * on nothing; ERR_PTR. It can't be found before ku_obj_publish().
 */
void *ku_obj_new(struct ku_ctx *ctx, struct ku_obj *parent, size_t size, u32 class, u64 cookie);
void ku_obj_publish(struct ku_obj *obj);
void ku_obj_abandon(struct ku_obj *obj);		/* instead of publishing it */
/* @obj stands on @target from now on: there has to be room in its table. With @obj->lock held. */
void ku_obj_add_target(struct ku_obj *obj, struct ku_obj *target);
/* An object of @class, held until ku_obj_put(); ERR_PTR(-EBADF). KFI_CLASS_UNSPEC: of any class. */
struct ku_obj *ku_obj_get(struct ku_ctx *ctx, u32 handle, u32 class);
void ku_obj_put(struct ku_obj *obj);
int ku_obj_close(struct ku_ctx *ctx, u32 handle);
void ku_obj_close_all(struct ku_ctx *ctx);		/* nobody else uses the context any more */
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

/* An endpoint or shared receive context, held; ERR_PTR. */
struct ku_ep *ku_ep_get(struct ku_ctx *ctx, u32 handle);
/* An open domain, held; ERR_PTR. */
struct ku_domain *ku_domain_get(struct ku_ctx *ctx, u32 handle);
/* Around a call of kfi.ko that enables an endpoint, with its lock held: 0, or a negative errno. */
int ku_ep_prepare(struct ku_ep *ep);
void ku_ep_enabled(struct ku_ep *ep);

/* ---- info.c: struct kfi_user_info and struct kfi_info ---- */

/* From the process's memory; ERR_PTR. Free it with kfi_freeinfo(). */
struct kfi_info *ku_info_from_user(u64 from, u32 size);
int ku_info_to_user(const struct kfi_info *info, u64 to, u32 size);
int ku_ioc_getinfo(struct ku_ctx *ctx, void *arg);
/* A string of the process's, or NULL for 0; ERR_PTR. */
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
/* A queue that nobody reads, for an endpoint that only counts; ERR_PTR. */
struct ku_ring *ku_ring_hidden(struct ku_ctx *ctx, struct kfid_domain *domain, size_t size);
int ku_ring_end(struct ku_ring *ring);
void ku_ring_free(struct ku_ring *ring);
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
 * Pin bytes of the process for an operation, or find them in the cache; ERR_PTR. @write: they
 * will be written to. @receive: the operation is a receive. @own: pages that the operation holds
 * already, by its other segments. -EAGAIN: there will be room when other operations of the same
 * direction have ended.
 */
struct ku_pin *ku_pin_get(struct ku_ctx *ctx, u64 base, u64 len, bool write, bool receive,
			  unsigned long own);
/* The same for a region: for it alone, and not in the cache. */
struct ku_pin *ku_pin_new(struct ku_ctx *ctx, u64 base, u64 len, bool write);
/* The operation has ended. Process or softirq. */
void ku_pin_release(struct ku_pin *pin, bool receive);
/* The region has ended. Process or softirq. */
void ku_pin_put(struct ku_pin *pin);
/* The pages in kernel address space; ERR_PTR. Sleeps. */
void *ku_pin_map(struct ku_pin *pin);
/* Offset of a byte of the process in the pin. */
static inline size_t ku_pin_offset(const struct ku_pin *pin, u64 base)
{
	return base - pin->node.start;
}
int ku_ioc_mr(struct ku_ctx *ctx, void *arg);
void ku_mr_release(struct ku_mr *mr);

/* ---- post.c, op.c ---- */

static inline bool ku_is_receive(const struct kfi_user_desc *desc)
{
	return desc->opcode == KFI_USER_RECV || desc->opcode == KFI_USER_TRECV;
}

int ku_op_init(void);
void ku_op_exit(void);
struct ku_op *ku_op_new(struct ku_ctx *ctx, const struct kfi_user_desc *desc);	/* ERR_PTR */
void ku_op_put(struct ku_op *op);
/* It has no memory of the process any more. */
void ku_op_release_memory(struct ku_op *op);
/* The payload of a descriptor that is sent: copied or pinned. 0 or a negative errno. */
int ku_op_source(struct ku_op *op, const struct kfi_user_desc *desc);
/* ... that is received into. */
int ku_op_sink(struct ku_op *op, const struct kfi_user_desc *desc);
int ku_op_atomic(struct ku_op *op, const struct kfi_user_desc *desc, size_t len);
/* A completion that has @op as context was shown to the process. Bottom halves off. */
void ku_op_done(struct ku_op *op, u64 flags, int err);
int ku_ioc_post(struct ku_ctx *ctx, void *arg);
int ku_ioc_cancel(struct ku_ctx *ctx, void *arg);
int ku_ioc_query_atomic(struct ku_ctx *ctx, void *arg);

#endif /* _KFI_USER_H */
