/* SPDX-License-Identifier: GPL-2.0 */
/*
 * core.h - what the files of kfi.ko share with one another and with nobody else.
 */
#ifndef _KFI_CORE_H
#define _KFI_CORE_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include <kfi_prov.h>

/* ---- fid.c: one table row for each class of handle ---- */

/**
 * struct kfi_fid_class - what can be done with a handle of one class
 * A NULL slot answers -EOPNOTSUPP (close is never NULL).
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
extern const struct kfi_fid_class kfi_ep_class;		/* ep.c, and with contexts ctx.c, shared.c */
extern const struct kfi_fid_class kfi_alias_class;	/* alias.c */
extern const struct kfi_fid_class kfi_pep_class;	/* pep.c */
extern const struct kfi_fid_class kfi_cq_class;		/* cq.c */
extern const struct kfi_fid_class kfi_eq_class;		/* eq.c */
extern const struct kfi_fid_class kfi_cntr_class;	/* cntr.c */
extern const struct kfi_fid_class kfi_av_class;		/* av.c */
extern const struct kfi_fid_class kfi_mr_class;		/* mr.c */

void kfi_obj_init(struct kfi_obj *obj);
/* Into the parent's list, whose lock is held (domain->eps, fabric->peps...): keeps it ordered by id, as netlink needs. */
void kfi_obj_link(struct kfi_obj *obj, struct list_head *list);

/** kfi_obj_get() - a child or binding appears */
static inline void kfi_obj_get(struct kfi_obj *obj)
{
	atomic_inc(&obj->users);
}

/** kfi_obj_put() - a child or binding is gone */
static inline void kfi_obj_put(struct kfi_obj *obj)
{
	WARN_ON_ONCE(atomic_dec_return(&obj->users) < 0);
}

/** kfi_obj_retire() - about to close: true if nothing uses the object; from then on it can't be used (users < 0) */
static inline bool kfi_obj_retire(struct kfi_obj *obj)
{
	return atomic_cmpxchg(&obj->users, 0, -(1 << 30)) == 0;
}

/**
 * struct kfi_ep_alias - another handle of an endpoint or context
 * @fid: consumer's handle; @ep: what it stands for, kept open
 * @tx_flags: @rx_flags: default op flags of what is posted by this handle
 */
struct kfi_ep_alias {
	struct kfid_ep	fid;
	struct kfi_ep	*ep;
	u64		tx_flags;
	u64		rx_flags;
};

/* What a handle stands for: itself, unless it is an alias. */
static inline struct kfid *kfi_real_fid(struct kfid *fid)
{
	if (fid && fid->fclass == KFI_CLASS_ALIAS)
		return &container_of(fid, struct kfi_ep_alias, fid.fid)->ep->fid.fid;
	return fid;
}

/* The endpoint of a handle that can be nothing else. */
static inline struct kfi_ep *kfi_real_ep(struct kfid_ep *fid)
{
	return container_of(kfi_real_fid(&fid->fid), struct kfi_ep, fid.fid);
}

/* An endpoint of any kind, by its handle; NULL: it is something else. */
static inline struct kfi_ep *kfi_fid_ep(struct kfid *fid)
{
	fid = kfi_real_fid(fid);
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

struct kfi_provider *kfi_provider_get(const char *name);	/* by name, module pinned; NULL if none; may load it */
void kfi_provider_put(struct kfi_provider *prov);
int kfi_fabric_init(void);		/* pernet registration */
void kfi_fabric_exit(void);
/*
 * ops->resolve with the fabric kept alive: -ENODEV when its namespace is gone. Takes domain->lock. Opening an endpoint
 * or passive endpoint: hold domain->lock (fabric->lock), look at its dead, then call the provider and
 * kfi_obj_link(); gone.c sets dead first, or under the lock, and kills what it finds.
 */
int kfi_domain_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int kfi_netlink_init(void);
void kfi_netlink_exit(void);
/* Walk all endpoints of a namespace under the proper mutexes; fn may sleep. Nonzero stops. */
typedef int (*kfi_ep_fn)(struct kfi_ep *ep, void *arg);
int kfi_walk_eps(struct net *net, kfi_ep_fn fn, void *arg);

/* ---- info.c ---- */

struct kfi_info *kfi_info_copy(const struct kfi_info *info);	/* one entry, not the chain; NULL: no memory */

/* ---- op.c: operations and their completion ---- */

int kfi_pool_init(struct kfi_op_pool *pool, struct kfi_ep *ep, u32 depth, u32 iov_limit, u32 rma_limit,
		  size_t inline_size, size_t priv);
void kfi_pool_exit(struct kfi_op_pool *pool);
/* An operation with a CQ slot reserved (unless it needs none), or ERR_PTR(-EAGAIN). */
struct kfi_oper *kfi_op_get(struct kfi_ep *ep, struct kfi_op_pool *pool, struct kfi_cq *cq, u64 flags);
/* Undo kfi_op_get() of an operation that never started. */
void kfi_op_abort(struct kfi_oper *op);
/*
 * The end of every operation: makes the CQ entry, or queues its done(), or (successful and silent) only gives the slot
 * back; counts; frees @op; wakes whoever waits for space. @wc->op_context is filled here, its err_data by who shows it. @ep is the
 * endpoint that it is counted for: @op->ep, or the one whose message came into a receive of a shared context.
 */
void kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);
void __kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);	/* bottom halves off */
/* One entry of an operation that goes on (multi-receive): counts and fills a slot that the caller has reserved. Bottom halves off. */
void kfi_op_part(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc);

/* ---- cq.c ---- */

/* Fill a reserved slot and signal. */
void kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc);
void __kfi_cq_fill(struct kfi_cq *cq, const struct kfi_cq_err_entry *wc);	/* bottom halves off */
struct kfi_obj *kfi_cq_obj(struct kfi_cq *cq);
int kfi_cq_init(void);		/* per-CPU batches, workqueue */
void kfi_cq_exit(void);

/* ---- eq.c ---- */

struct kfi_obj *kfi_eq_obj(struct kfi_eq *eq);
/* Queue an event for @fid. @info passes to the reader on success. Return: 0, -EAGAIN (full). May sleep. */
int kfi_eq_event(struct kfi_eq *eq, u32 event, struct kfid *fid, struct kfi_info *info, const void *data, size_t len);
/* Queue an error event; @err negative. */
int kfi_eq_error(struct kfi_eq *eq, struct kfid *fid, int err, const void *data, size_t len);
/* An object closes: its queued events go too. */
void kfi_eq_forget(struct kfi_eq *eq, struct kfid *fid);
/* The same, and on return the handler has done with those that it had read. Not from the handler. */
void kfi_eq_forget_sync(struct kfi_eq *eq, struct kfid *fid);

/* ---- cntr.c ---- */

struct kfi_obj *kfi_cntr_obj(struct kfi_cntr *cntr);
/* NULL is fine. err != 0 counts an error. @len counts with KFI_CNTR_EVENTS_BYTES. Process or softirq. */
void kfi_cntr_count_len(struct kfi_cntr *cntr, int err, size_t len);
static inline void kfi_cntr_count(struct kfi_cntr *cntr, int err)
{
	kfi_cntr_count_len(cntr, err, 0);
}

/* ---- av.c ---- */

struct kfi_obj *kfi_av_obj(struct kfi_av *av);
/* Between the two, the endpoint's provider hears of removed addresses. */
void kfi_av_join(struct kfi_av *av, struct kfi_ep *ep);
void kfi_av_leave(struct kfi_av *av, struct kfi_ep *ep);
/* Is @name the address behind @addr now? Context: any but hard interrupt. */
bool kfi_av_is(struct kfi_av *av, kfi_addr_t addr, const void *name);

/* ---- match.c ---- */

int kfi_match_init(struct kfi_match *match, u32 depth);	/* rx_attr.size; @match is the one inside a struct kfi_ep */
void kfi_match_exit(struct kfi_match *match);
/*
 * Post a receive; bottom halves are off. Return: NULL: it is posted; -ESHUTDOWN: flushed; an unexpected message that fits, matched (op,
 * iter set) and no longer in the matching: the caller hands it to ops->rx_matched(). A multi-receive buffer may take several: then
 * call kfi_match_more() until it answers NULL.
 */
struct kfi_rx *kfi_match_post(struct kfi_ep *ep, struct kfi_oper *op);
struct kfi_rx *kfi_match_more(struct kfi_ep *ep);
/* Hand all that kfi_match_more() has to the provider. No lock is held. */
void kfi_match_deliver(struct kfi_ep *ep);
/*
 * The same for a tagged receive with KFI_PEEK, KFI_CLAIM or KFI_DISCARD: it is not posted but ends with the message it
 * finds among the unexpected ones, or with ENOMSG. match_peek.c
 */
struct kfi_rx *kfi_match_peek(struct kfi_ep *ep, struct kfi_oper *op);
/* Cancel the oldest posted receive with this context. Return: 0, or -ENOENT: none waits (maybe under way, maybe done) */
int kfi_match_cancel(struct kfi_ep *ep, void *context);
/* End a receive that no message has: @err negative. */
void kfi_match_end(struct kfi_oper *op, int err);
/* Refuse posts and arrivals from now on; end posted receives with @err; hand unexpected messages to ops->rx_drop(). */
void kfi_match_close(struct kfi_ep *ep, int err);
/* Take posts and arrivals again. */
void kfi_match_reopen(struct kfi_ep *ep);
/*
 * The first half of kfi_match_close(), for an endpoint with a shared receive context: its messages leave that, and no more come. A grace
 * period later nobody hands one of them to the provider.
 */
void kfi_match_leave(struct kfi_ep *ep);

/* ---- mr.c ---- */

int kfi_mr_table_init(struct kfi_domain *domain);
void kfi_mr_table_exit(struct kfi_domain *domain);
void kfi_mr_init(void);
void kfi_mr_exit(void);		/* at module exit: waits for RCU callbacks and done() queues */
/* The device goes: the provider lets go of every region that is registered with it. domain->lock is held. */
void kfi_mr_lose(struct kfi_domain *domain);
/* KFI_MAP_RAW_MR of a domain: a raw key is the key, little-endian */
int kfi_mr_map_key(const struct kfi_mr_map_raw *map);

/* ---- ep.c, pep.c ---- */

/*
 * The network under an endpoint is gone (namespace exit, device removal): becomes a husk, outstanding operations end
 * with -ENODEV, an event is raised. May sleep.
 */
void kfi_ep_kill(struct kfi_ep *ep);
void kfi_pep_kill(struct kfi_pep *pep);

#endif /* _KFI_CORE_H */
