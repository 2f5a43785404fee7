/* SPDX-License-Identifier: GPL-2.0 */
/* core.h - declarations that the files of kfi.ko share, and that other modules do not see. */
#ifndef _KFI_CORE_H
#define _KFI_CORE_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include <kfi_prov.h>

/* ---- objects (obj.c), and the operations of each class of them (fid.c) ---- */

/**
 * struct kfi_fid_class - operations on the objects of one class
 * @name: name of the class, for messages
 * @close: close the object. Never NULL
 * @bind: bind another object to it
 * @control: kfi_control()
 * @ops_open: kfi_open_ops()
 *
 * For a NULL operation fid.c returns -EOPNOTSUPP.
 */
struct kfi_fid_class {
	const char *name;
	int (*close)(struct kfid *fid);
	int (*bind)(struct kfid *fid, struct kfid *bfid, u64 flags);
	int (*control)(struct kfid *fid, int command, void *arg);
	int (*ops_open)(struct kfid *fid, const char *name, u64 flags, void **ops, void *context);
};

extern const struct kfi_fid_class kfi_fabric_class;	/* fabric.c */
extern const struct kfi_fid_class kfi_domain_class;	/* domain.c */
extern const struct kfi_fid_class kfi_ep_class;		/* ep.c, also for contexts */
extern const struct kfi_fid_class kfi_pep_class;	/* pep.c */
extern const struct kfi_fid_class kfi_cq_class;		/* cq.c */
extern const struct kfi_fid_class kfi_eq_class;		/* eq.c */
extern const struct kfi_fid_class kfi_cntr_class;	/* cntr.c */
extern const struct kfi_fid_class kfi_av_class;		/* av.c */
extern const struct kfi_fid_class kfi_mr_class;		/* mr.c */
extern const struct kfi_fid_class kfi_place_class;	/* place.c */

void kfi_obj_init(struct kfi_obj *obj);
/*
 * Add @obj to a list of its parent (&kfi_domain.eps, &kfi_fabric.peps, ...). The caller holds the
 * parent's lock. The list stays ordered by id, because a netlink dump resumes behind the last id
 * shown.
 */
void kfi_obj_link(struct kfi_obj *obj, struct list_head *list);

/** kfi_obj_get() - add a user: a child, or a binding to another object */
static inline void kfi_obj_get(struct kfi_obj *obj)
{
	atomic_inc(&obj->users);
}

/** kfi_obj_put() - remove a user */
static inline void kfi_obj_put(struct kfi_obj *obj)
{
	WARN_ON_ONCE(atomic_dec_return(&obj->users) < 0);
}

/**
 * kfi_obj_retire() - begin to close an object
 * @obj: object
 *
 * Return: true if the object has no users. It can't be used from then on (users < 0).
 */
static inline bool kfi_obj_retire(struct kfi_obj *obj)
{
	return atomic_cmpxchg(&obj->users, 0, -(1 << 30)) == 0;
}

/*
 * Return the endpoint or context of a handle. Returns NULL for handles of other classes, and for a
 * shared transmit context.
 */
static inline struct kfi_ep *kfi_fid_ep(struct kfid *fid)
{
	switch (fid ? fid->fclass : KFI_CLASS_UNSPEC) {
	case KFI_CLASS_EP:
	case KFI_CLASS_SEP:
	case KFI_CLASS_TX_CTX:
	case KFI_CLASS_RX_CTX:
	case KFI_CLASS_SRX_CTX:
		return container_of(fid, struct kfi_ep, fid.fid);
	default:
		return NULL;
	}
}

/* ---- provider.c, fabric.c, gone.c, domain.c, netlink.c (discovery and registry) ---- */

/*
 * Find a provider by its name, and pin its module. May load the module. Returns NULL if there is no
 * such provider.
 */
struct kfi_provider *kfi_provider_get(const char *name);
void kfi_provider_put(struct kfi_provider *prov);
int kfi_fabric_init(void);
void kfi_fabric_exit(void);
/*
 * Call &kfi_prov_ops.resolve while the namespace exists. Takes &kfi_domain.lock. Returns -ENODEV if
 * the namespace or the device is gone.
 *
 * Race between opening an endpoint and the end of its namespace or device: the opener of an
 * endpoint (passive endpoint) holds &kfi_domain.lock (&kfi_fabric.lock). Under the lock it tests
 * the parent's dead flag, calls the provider, and calls kfi_obj_link(). gone.c sets the dead flag
 * before it takes the lock, or under it, and then kills the objects in the list. So either the open
 * fails, or gone.c finds the object.
 */
int kfi_domain_resolve(struct kfi_domain *domain, const char *node, const char *service,
		       void *addr);
int kfi_netlink_init(void);
void kfi_netlink_exit(void);
/*
 * Call @fn for each endpoint of a namespace. @fn may sleep; the mutexes of the fabric and the
 * domain are held. A nonzero result of @fn ends the walk.
 */
typedef int (*kfi_ep_fn)(struct kfi_ep *ep, void *arg);
int kfi_walk_eps(struct net *net, kfi_ep_fn fn, void *arg);

/* ---- info.c ---- */

/* Copy one entry of a chain of infos. Returns NULL if there is no memory. */
struct kfi_info *kfi_info_copy(const struct kfi_info *info);

/* ---- payload.c: the local vector of a post ---- */

/* Do what kfi_op_payload() (post.h) does, for any vector. */
int kfi_op_vector(struct kfi_oper *op, enum kfi_iov_type type, const void *iov, size_t count);
/* Copy the payload that op->iter describes into the operation. Return: 0, -EINVAL. */
int kfi_op_inject(struct kfi_oper *op);

/* ---- op.c: operations and their completion ---- */

int kfi_pool_init(struct kfi_op_pool *pool, struct kfi_ep *ep, u32 depth, u32 iov_limit,
		  u32 rma_limit, size_t inline_size, size_t priv);
void kfi_pool_exit(struct kfi_op_pool *pool);
/* Undo kfi_op_get() (pool.h) for an operation that was not started. */
void kfi_op_abort(struct kfi_oper *op);
/*
 * End an operation: make its entry in the CQ, or queue its done() callback, or, after a success
 * that is not reported to the consumer, release the reserved slot. Update the counters, free @op
 * and wake waiters for space. kfi_op_finish() sets @wc->op_context; the reader of the entry sets
 * err_data. @ep is the endpoint whose counters change: @op->ep, or the endpoint whose message took
 * a receive of a shared context. Process or softirq context.
 */
void kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);
/* As kfi_op_finish(). Bottom halves are off. */
void __kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);
/*
 * Make one entry of an operation that continues (multi-receive), in a slot that the caller has
 * reserved, and update the counters of @ep. Bottom halves are off.
 */
void kfi_op_part(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);

/* ---- cq.c ---- */

/* Store an entry in a reserved slot, wake readers, and schedule the handler. */
void kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc);
/* As kfi_cq_fill(). Bottom halves are off. */
void __kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc);
struct kfi_obj *kfi_cq_obj(struct kfi_cq *cq);
int kfi_cq_init(void);		/* per-CPU batches and workqueues */
/* Work items of handlers, on any CPU */
extern struct workqueue_struct *kfi_wq_unbound;
void kfi_cq_exit(void);

/* ---- overdue.c ---- */

int kfi_overdue_init(void);	/* a workqueue */
void kfi_overdue_exit(void);

/* ---- eq.c ---- */

struct kfi_obj *kfi_eq_obj(struct kfi_eq *eq);
/*
 * Queue an event of @fid. On success the reader of the event owns @info. Returns 0, or -EAGAIN if
 * the queue is full. May sleep.
 */
int kfi_eq_event(struct kfi_eq *eq, u32 event, struct kfid *fid, struct kfi_info *info,
		 const void *data, size_t len);
/* Queue an error event. @err is negative. */
int kfi_eq_error(struct kfi_eq *eq, struct kfid *fid, int err, const void *data, size_t len);
/* Drop the queued events of an object that is being closed. */
void kfi_eq_purge(struct kfi_eq *eq, struct kfid *fid);
/*
 * As kfi_eq_purge(), and wait until the handler has returned for the events that it has already
 * read. Must not be called from the handler.
 */
void kfi_eq_purge_sync(struct kfi_eq *eq, struct kfid *fid);

/* ---- cntr.c ---- */

struct kfi_obj *kfi_cntr_obj(struct kfi_cntr *cntr);
/*
 * Count an operation, or an error if @err is nonzero. @cntr may be NULL. Process or softirq
 * context.
 */
void kfi_cntr_count(struct kfi_cntr *cntr, int err);

/* ---- av.c ---- */

struct kfi_obj *kfi_av_obj(struct kfi_av *av);
/*
 * Add an endpoint to the vector, or remove it. While it is a member, its provider is notified of
 * removed addresses (&kfi_prov_ops.addr_removed). kfi_av_join() also takes the reference that keeps
 * the vector open; kfi_ep_unbind() drops it.
 */
void kfi_av_join(struct kfi_av *av, struct kfi_ep *ep);
void kfi_av_leave(struct kfi_av *av, struct kfi_ep *ep);

/* ---- match.c ---- */

/*
 * @match is a member of an endpoint, @depth the number of its receives. @directed: receives may
 * name their sender.
 */
int kfi_match_init(struct kfi_match *match, u32 depth, bool directed);
void kfi_match_exit(struct kfi_match *match);
/*
 * Post a receive. Bottom halves are off. Returns NULL if the receive is posted; ERR_PTR(-ESHUTDOWN)
 * if @ep is closed; otherwise an unexpected message that now has this receive (&kfi_rx.op and iter
 * are set) and has left the matching. The caller passes the message to &kfi_prov_ops.rx_matched. A
 * multi-receive buffer may take several messages: the caller then calls kfi_match_more() until it
 * returns NULL.
 */
struct kfi_rx *kfi_match_post(struct kfi_ep *ep, struct kfi_oper *op);
struct kfi_rx *kfi_match_more(struct kfi_ep *ep);
/* Pass all messages that kfi_match_more() returns to the provider. No lock is held. */
void kfi_match_deliver(struct kfi_ep *ep);
/*
 * As kfi_match_post(), for a tagged receive with KFI_PEEK, KFI_CLAIM or KFI_DISCARD (match_peek.c).
 * The receive is never posted: it completes with the unexpected message that it finds, or with
 * ENOMSG.
 */
struct kfi_rx *kfi_match_peek(struct kfi_ep *ep, struct kfi_oper *op);
/*
 * Cancel the oldest posted receive with this context. Returns 0, or -ENOENT if no such receive
 * waits; it may have a message already, or be complete.
 */
int kfi_match_cancel(struct kfi_ep *ep, void *context);
/* landing.c: complete, with the negative errno @err, a receive that has got no message. */
void kfi_recv_end(struct kfi_oper *op, int err);
/*
 * Refuse posts and arrivals from now on, complete the posted receives with @err, and pass the
 * unexpected messages to &kfi_prov_ops.rx_drop.
 */
void kfi_match_close(struct kfi_ep *ep, int err);
/* Accept posts and arrivals again. */
void kfi_match_reopen(struct kfi_ep *ep);
/*
 * The first step of closing an endpoint with a shared receive context: remove the endpoint's
 * unexpected messages from the matching of the context, and refuse new ones. After an RCU grace
 * period no poster passes one of these messages to the provider any more.
 */
void kfi_match_leave(struct kfi_ep *ep);

/* ---- mr_key.c ---- */

int kfi_mr_table_init(struct kfi_domain *domain);
void kfi_mr_table_exit(struct kfi_domain *domain);

/* ---- mr.c ---- */

void kfi_mr_init(void);
void kfi_payer_init(void);	/* payer.c */
/* kfi_payer_open() for a process with these credentials, by the caller's memory cgroup */
struct kfi_payer *kfi_payer_open_as(const struct cred *cred);
void kfi_mr_exit(void);		/* waits for RCU callbacks and done() callbacks */
/*
 * The device is being removed: have the provider release every region that is registered with it.
 * The caller holds &kfi_domain.lock.
 */
void kfi_mr_device_gone(struct kfi_domain *domain);
/* For kfi_ep_reset(): no memory is attached to the endpoint's per-I/O regions. May sleep. */
void kfi_mr_detach_all(struct kfi_ep *ep);

/* ---- place.c ---- */

/*
 * A get or a put ends with @err: change the state of its place, and end the place after a put.
 * Called before the completion is reported.
 */
void kfi_place_ended(struct kfi_oper *op, int err);

/* ---- ep.c, pep.c ---- */

/*
 * End an endpoint because its namespace or device is being removed: complete its operations with
 * -ENODEV and raise an event. The endpoint stays allocated, in state KFI_EP_DEAD, until the
 * consumer closes it. May sleep.
 */
void kfi_ep_kill(struct kfi_ep *ep);
void kfi_pep_kill(struct kfi_pep *pep);

#endif /* _KFI_CORE_H */
