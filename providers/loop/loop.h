/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - objects of kfi_loop.
 *
 * The endpoints of the provider use the message protocol of kfi.ko; the provider is a link, see
 * kfi_link.h. Both ends of a connection are in one kernel and share a struct loop_pipe: each end
 * has a ring with the bytes that the other end has posted, and a table of the memory that the other
 * end may write to.
 *
 * Locks, outermost first:
 *
 *   loop_calling (mutex)	numbers of objects, and a call, from the look-up of a listener to
 *				kfi_link_up(). An endpoint that stops to listen takes it, so no
 *				call begins after that
 *   loop_end.lock (spin, bh)	the link's lock: one side of the rings of both ends, and the calls
 *				of the link
 *   loop_end.places_lock (spin, bh)	exposed memory. The other end holds it while it copies
 *
 * The locks of two ends are never held together. post() runs under the lock of its own end, copies
 * to the ring of the other end, and queues &loop_end.deliver of the other end. Only this work item
 * calls kfi_link_rx(), kfi_link_room() and kfi_link_down(), under the lock of its end. It runs in
 * softirq, mostly as soon as the context that posts enables bottom halves. So no consumer is called
 * in a post, and ends that answer each other do not recurse: each answer is another run of a work
 * item, and the kernel bounds how long a softirq runs such work items.
 */
#ifndef _KFI_LOOP_H
#define _KFI_LOOP_H

#include <linux/interrupt.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <kfi_link.h>

#define LOOP_RING	SZ_32K		/* bytes that wait for an end; a power of two */
#define LOOP_PLACES	256		/* pieces of memory that an end exposes at a time */

/* An address is a number in host byte order, because it never leaves the host. 0 is no address. */
struct kfi_loop_addr {
	u64 id;
};

/**
 * struct loop_self - the number of an object, under loop_calling
 * @entry: in the list of all numbers; not for a context, which has that of its scalable endpoint
 * @net: cookie of its namespace
 * @passive: of a passive endpoint; those have numbers of their own
 * @listens: peers can call the object. Endpoints for MSG never listen
 * @id: unique in the namespace
 */
struct loop_self {
	struct list_head	entry;
	u64			net;
	bool			passive;
	bool			listens;
	u64			id;
};

/* struct loop_ep - an endpoint */
struct loop_ep {
	struct kfi_proto_ep	pe;
	struct loop_self	self;
};

/* struct loop_pep - a passive endpoint */
struct loop_pep {
	struct kfi_proto_pep	ppep;
	struct loop_self	self;
};

/**
 * struct loop_exposure - memory of an end that the other end may write to
 * @len: bytes of the memory; 0: the entry is free
 * @key: &kfi_link_place.key: the index of the entry, and above it the number of its use
 * @iter: the memory
 * @mr: region that it belongs to, or NULL
 */
struct loop_exposure {
	u64		len;
	u32		key;
	struct iov_iter	iter;
	struct kfi_mr	*mr;
};

/**
 * struct loop_end - an end of a pipe
 * @lock: the link's lock; protects @link and @ended
 * @link: the link, which gets the calls; NULL before it is up and after it was detached
 * @ended: @closed of the other end, as the link reports it. Read without the lock
 * @full: this end waits for room in the ring of the other end, which reads this
 * @closed: the link is closed: -ESHUTDOWN, or -ECONNRESET if it was aborted
 * @deliver: work item that makes the calls of the link
 * @head: bytes that the other end has ever added to @ring
 * @tail: bytes that this end has ever taken from @ring
 * @places_lock: protects the following members
 * @place: exposed memory
 * @ring: bytes that this end has not read. One producer and one consumer: no lock protects it
 */
struct loop_end {
	spinlock_t		lock;
	struct kfi_link		*link;
	int			ended;
	bool			full;
	int			closed;
	struct bh_work_struct	deliver;
	u64			head ____cacheline_aligned;
	u64			tail ____cacheline_aligned;
	spinlock_t		places_lock;
	struct loop_exposure	place[LOOP_PLACES];
	u8			ring[LOOP_RING];
};

/* struct loop_pipe - the ends of the caller and of the called side. Each link has a reference */
struct loop_pipe {
	refcount_t	ref;
	struct loop_end	end[2];
};

/**
 * struct loop_link - a link
 * @link: common part
 * @pipe: the pipe; NULL before the call and after the close
 * @nr: index of the own end in &loop_pipe.end
 * @id: number of this side, as the peer knows it
 */
struct loop_link {
	struct kfi_link		link;
	struct loop_pipe	*pipe;
	u8			nr;
	u64			id;
};

static inline struct loop_ep *to_loop_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct loop_ep, pe.ep);
}

static inline struct loop_pep *to_loop_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct loop_pep, ppep.pep);
}

static inline struct loop_link *to_loop_link(const struct kfi_link *link)
{
	return container_of(link, struct loop_link, link);
}

static inline struct loop_end *loop_own(const struct kfi_link *link)
{
	return &to_loop_link(link)->pipe->end[to_loop_link(link)->nr];
}

static inline struct loop_end *loop_other(const struct kfi_link *link)
{
	return &to_loop_link(link)->pipe->end[!to_loop_link(link)->nr];
}

/* main.c */
extern struct kfi_proto loop_proto;

/* ep.c: endpoints and passive endpoints */
extern struct mutex loop_calling;
/* Return what has the number, or NULL. Under loop_calling */
struct loop_self *loop_find(u64 net, bool passive, u64 id);
int loop_ep_open(struct kfi_ep *ep);
int loop_ep_enable(struct kfi_ep *ep);
void loop_ep_stop(struct kfi_ep *ep, int err);
void loop_ep_close(struct kfi_ep *ep);
int loop_getname(struct kfi_ep *ep, void *addr);
int loop_setname(struct kfi_ep *ep, const void *addr, size_t len);
int loop_getpeer(struct kfi_ep *ep, void *addr);
int loop_pep_open(struct kfi_pep *pep);
void loop_pep_close(struct kfi_pep *pep);
int loop_pep_getname(struct kfi_pep *pep, void *addr);
int loop_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int loop_listen(struct kfi_pep *pep);

/* link.c: names, and the life of a link */
extern const struct kfi_link_ops loop_link_ops;

/* stream.c: the rings */
int loop_post(struct kfi_link *link, struct kfi_unit *unit);
void loop_read(struct kfi_link *link);

/* place.c: memory that the other end writes to directly */
int loop_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
		struct kfi_link_place *place, unsigned int max);
int loop_conceal(struct kfi_link *link, struct kfi_exposed *x);
void loop_conceal_all(struct loop_end *self);
int loop_place(struct loop_end *to, struct kfi_unit *unit);
void *loop_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n, u64 at,
	       u64 len, struct kfi_dev_place *to);
int loop_unpin(void *pin, const struct kfi_dev_place *place);

#endif /* _KFI_LOOP_H */
