/* SPDX-License-Identifier: GPL-2.0 */
/* ulp.h - shared by the files of kfi_ulp.ko. */
#ifndef _KFI_ULP_H
#define _KFI_ULP_H

#include <kfi_conn.h>

#define KFI_ULP_SEGS	16	/* pieces of memory of one post, which are on the stack */

/**
 * struct kfi_fab - a fabric that the domains and listeners of a module share
 * @entry: in the list of all
 * @owner: module
 * @net_cookie: of the namespace. No later namespace has the same, so the fabric of one that has
 *	ended is not found any more
 * @fabric: fabric
 * @users: references: of domains, and of places of listeners
 * @lock: protects @doms and &kfi_dom.users; held while a domain is opened
 * @doms: domains, by &kfi_dom.entry
 * @prov: name of the provider, and behind it that of the fabric
 *
 * @entry and @users are under fabs_lock, the lock of dom.c; it and @lock are never held together.
 */
struct kfi_fab {
	struct list_head	entry;
	struct module		*owner;
	u64			net_cookie;
	struct kfid_fabric	*fabric;
	unsigned int		users;
	struct mutex		lock;
	struct list_head	doms;
	char			*name;
	char			prov[];
};

/* dom.c */
/*
 * Make a query with the hints that @need stands for, and load a provider if @need says so. @src:
 * local address in the hints, or NULL. @flags: KFI_SOURCE if @node and @service are local, or 0
 */
int kfi_ulp_query(struct net *net, const struct kfi_need *need, const char *src, const char *node,
		  const char *service, u64 flags, struct kfi_info **info);
int kfi_ulp_may_come(struct net *net, const struct kfi_need *need, const char *node,
		     const char *service);
/* @account: pays for what is opened in the fabric, if there is none yet; or NULL */
struct kfi_fab *kfi_fab_get(struct net *net, const struct kfi_info *info, struct module *owner,
			    struct kfi_account *account);
void kfi_fab_put(struct kfi_fab *fab);
struct kfi_dom *kfi_dom_ref(struct kfi_dom *dom);

/* conn.c */
/* Set an option of an endpoint, unless its provider does not have it, or @value is 0. */
int kfi_conn_option(struct kfid *fid, int name, size_t value);
int kfi_conn_objects(struct kfi_conn *conn, struct kfi_dom *dom, const struct kfi_info *info,
		     const struct kfi_conn_attr *attr);
void kfi_conn_release(struct kfi_conn *conn);
void kfi_conn_discard(struct kfi_conn *conn);
void kfi_conn_live(struct kfi_conn *conn);

/* rx.c */
int kfi_rxset_alloc(struct kfi_conn *conn, struct kfi_rxset *set, unsigned int n);
int kfi_rxset_post(struct kfi_conn *conn, struct kfi_rxset *set);
void kfi_rxset_stopped(struct kfi_conn *conn, struct kfi_rxset *set);
void kfi_rxset_free(struct kfi_conn *conn, struct kfi_rxset *set);
ssize_t __kfi_conn_inject(struct kfi_conn *conn, const void *msg, size_t len, u64 flags);
void kfi_inject_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);

/* listener.c */
void kfi_conn_end_work(struct work_struct *work);
void kfi_conn_ready_work(struct work_struct *work);
void kfi_conn_gone(struct kfi_conn *conn);
int kfi_listeners_init(void);
void kfi_listeners_exit(void);

/* rw.c */
void kfi_conn_post_work(struct work_struct *work);
void kfi_round_end(struct kfid_cq *cq, void *context);

#endif /* _KFI_ULP_H */
