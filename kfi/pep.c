// SPDX-License-Identifier: GPL-2.0
/*
 * pep.c - passive endpoints, and the connection requests that wait at them.
 *
 * A request (struct kfi_connreq) is part of a structure of the provider. It is in kfi_pep.connreqs
 * while it waits for the consumer. The context that removes the request from the list, under
 * kfi_pep.req_lock, owns it: an endpoint that will accept it, kfi_reject(), the close of the
 * passive endpoint, or the provider, when the peer has gone. The handle in the info of the event
 * is a number that no other request ever has. So an outdated handle yields -EINVAL, although
 * another request may have the memory of the one that the consumer means.
 *
 * Locks, outermost first: kfi_fabric.lock, kfi_pep.lock (bindings, listen, end), kfi_pep.req_lock
 * (requests). ops->listen() is called under kfi_pep.lock, and ops->pep_open() and ops->pep_close()
 * under kfi_fabric.lock. A provider's report takes kfi_pep.req_lock only, so these calls may wait
 * for it to end.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "auth.h"
#include "ep.h"
#include "eq.h"

#define PEP_BACKLOG	128
#define PEP_REQUEST_BYTES	4096	/* an info and an event, roughly */

/* ---- requests ---- */

/* Number of the newest request of all */
static atomic_long_t newest_request;

static kfid_t connreq_handle(const struct kfi_connreq *req)
{
	return (kfid_t)req->number;
}

static bool replace_addr(void **addr, size_t *len, const void *by, size_t by_len)
{
	kfree(*addr);
	*addr = kmemdup(by, by_len, GFP_KERNEL_ACCOUNT);
	*len = by_len;
	return *addr || !by_len;
}

static struct kfi_info *connreq_info(const struct kfi_pep *pep, struct kfi_connreq *req,
				     const void *peer, const void *self, size_t addrlen)
{
	struct kfi_info *info = kfi_info_copy(pep->info);

	if (!info)
		return NULL;
	info->handle = connreq_handle(req);
	if (replace_addr(&info->dest_addr, &info->dest_addrlen, peer, addrlen) &&
	    (!self || replace_addr(&info->src_addr, &info->src_addrlen, self, addrlen)))
		return info;
	kfi_freeinfo(info);
	return NULL;
}

/*
 * The event is queued under pep->req_lock, so that the request is in the list before a consumer can
 * name it.
 */
static int pep_add_connreq(struct kfi_pep *pep, struct kfi_connreq *req, struct kfi_info *info,
			   const void *data, size_t len)
{
	int ret;

	lockdep_assert_held(&pep->req_lock);
	if (!pep->listening)
		return -ESHUTDOWN;
	if (pep->nr_connreqs >= pep->backlog)
		return -EBUSY;
	ret = kfi_account_charge(pep->fabric->account, PEP_REQUEST_BYTES);
	if (ret)
		return ret;
	ret = kfi_eq_event(pep->eq, KFI_CONNREQ, &pep->fid.fid, info, data, len);
	if (ret) {
		kfi_account_uncharge(pep->fabric->account, PEP_REQUEST_BYTES);
		return -EBUSY;
	}
	list_add_tail(&req->entry, &pep->connreqs);
	pep->nr_connreqs++;
	return 0;
}

int kfi_pep_connreq(struct kfi_pep *pep, struct kfi_connreq *req, const void *peer,
		    const void *self, size_t addrlen, const void *data, size_t len)
{
	const struct kfi_account *payer = pep->fabric->account;
	struct mem_cgroup *memcg;
	struct kfi_info *info;
	int ret;

	if (len > KFI_CM_DATA_MAX || addrlen > KFI_ADDR_MAX)
		return -EINVAL;
	req->number = atomic_long_inc_return(&newest_request);
	req->pep = pep;
	INIT_LIST_HEAD(&req->entry);
	memcg = set_active_memcg(payer ? payer->memcg : NULL);
	info = connreq_info(pep, req, peer, self, addrlen);
	set_active_memcg(memcg);
	if (!info)
		return -ENOMEM;
	mutex_lock(&pep->req_lock);
	ret = pep_add_connreq(pep, req, info, data, len);
	mutex_unlock(&pep->req_lock);
	if (ret)
		kfi_freeinfo(info);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_pep_connreq);

static void pep_remove(struct kfi_pep *pep, struct kfi_connreq *req)
{
	lockdep_assert_held(&pep->req_lock);
	list_del_init(&req->entry);
	pep->nr_connreqs--;
	kfi_account_uncharge(pep->fabric->account, PEP_REQUEST_BYTES);
}

bool kfi_connreq_gone(struct kfi_connreq *req)
{
	struct kfi_pep *pep = req->pep;
	bool waited;

	mutex_lock(&pep->req_lock);
	waited = !list_empty(&req->entry);
	if (waited) {
		pep_remove(pep, req);
		kfi_eq_purge_request(pep->eq, connreq_handle(req));
	}
	mutex_unlock(&pep->req_lock);
	return waited;
}
EXPORT_SYMBOL_GPL(kfi_connreq_gone);

static struct kfi_connreq *pep_find(struct kfi_pep *pep, const struct kfid *handle)
{
	struct kfi_connreq *req;

	lockdep_assert_held(&pep->req_lock);
	list_for_each_entry(req, &pep->connreqs, entry)
		if (connreq_handle(req) == handle)
			return req;
	return NULL;
}

static struct kfi_connreq *pep_take(struct kfi_pep *pep, const struct kfid *handle)
{
	struct kfi_connreq *req;

	mutex_lock(&pep->req_lock);
	req = pep_find(pep, handle);
	if (req)
		pep_remove(pep, req);
	mutex_unlock(&pep->req_lock);
	return req;
}

struct kfi_connreq *kfi_connreq_take(struct kfi_fabric *fabric, const struct kfid *handle)
{
	struct kfi_connreq *req = NULL;
	struct kfi_pep *pep;

	mutex_lock(&fabric->lock);
	list_for_each_entry(pep, &fabric->peps, obj.entry) {
		req = pep_take(pep, handle);
		if (!req)
			continue;
		kfi_obj_get(&pep->obj);
		break;
	}
	mutex_unlock(&fabric->lock);
	return req;
}

/*
 * Charge the request again without a check, because its memory has existed all the time. If the
 * account has been filled meanwhile, a check would make this side reject the caller.
 */
bool kfi_connreq_put_back(struct kfi_connreq *req)
{
	struct kfi_pep *pep = req->pep;
	bool back;

	mutex_lock(&pep->req_lock);
	back = pep->listening;
	if (back) {
		kfi_account_uncharge(pep->fabric->account, -(size_t)PEP_REQUEST_BYTES);
		list_add(&req->entry, &pep->connreqs);
		pep->nr_connreqs++;
	}
	mutex_unlock(&pep->req_lock);
	if (back)
		kfi_obj_put(&pep->obj);
	return back;
}

int kfi_reject(struct kfid_pep *pep_fid, kfid_t handle, const void *param, size_t paramlen)
{
	struct kfi_pep *pep = kfi_to_pep(pep_fid);
	struct kfi_connreq *req;
	int ret;

	ret = kfi_cm_check_data(pep->ops, param, paramlen);
	if (ret)
		return ret;
	req = pep_take(pep, handle);
	return req ? pep->ops->reject(pep, req, param, paramlen) : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_reject);

/* ---- the passive endpoint ---- */

static struct kfi_pep *make_pep(struct kfi_fabric *fabric, const struct kfi_info *info,
				void *context)
{
	const struct kfi_prov_ops *ops = fabric->prov->ops;
	struct kfi_pep *pep;

	pep = kzalloc(max(sizeof(*pep), ops->pep_size), GFP_KERNEL_ACCOUNT);
	if (!pep)
		return NULL;
	pep->info = kfi_info_copy(info);
	if (!pep->info || kfi_auth_inherit(pep->info, pep->info->domain_attr)) {
		kfi_freeinfo(pep->info);
		kfree(pep);
		return NULL;
	}
	pep->fid.fid.fclass = KFI_CLASS_PEP;
	pep->fid.fid.context = context;
	pep->fabric = fabric;
	pep->ops = ops;
	pep->backlog = PEP_BACKLOG;
	mutex_init(&pep->lock);
	mutex_init(&pep->req_lock);
	INIT_LIST_HEAD(&pep->connreqs);
	kfi_obj_init(&pep->obj);
	return pep;
}

static void free_pep(struct kfi_pep *pep)
{
	kfi_freeinfo(pep->info);
	mutex_destroy(&pep->req_lock);
	mutex_destroy(&pep->lock);
	kfree(pep);
}

/* Check the authorization keys of the endpoint and of the domain. */
static bool pep_key_ok(const struct kfi_info *info)
{
	const struct kfi_domain_attr *domain = info->domain_attr;
	const struct kfi_ep_attr *ep = info->ep_attr;

	return kfi_auth_key_ok(ep->auth_key, ep->auth_key_size) &&
	       (!domain || kfi_auth_key_ok(domain->auth_key, domain->auth_key_size));
}

int kfi_passive_ep(struct kfid_fabric *fabric_fid, struct kfi_info *info, struct kfid_pep **pep_fid,
		   void *context)
{
	struct kfi_fabric *fabric = container_of(fabric_fid, struct kfi_fabric, fid);
	struct kfi_pep *pep;
	unsigned int noio;
	int ret = -ENODEV;

	might_sleep();
	if (!info || !info->ep_attr || info->ep_attr->type != KFI_EP_MSG || !pep_key_ok(info))
		return -EINVAL;
	if (!fabric->prov->ops->pep_open)
		return -EOPNOTSUPP;
	pep = make_pep(fabric, info, context);
	if (!pep)
		return -ENOMEM;
	noio = memalloc_noio_save();	/* see docs/locking.md */
	mutex_lock(&fabric->lock);
	if (!fabric->dead)
		ret = pep->ops->pep_open(pep);
	if (!ret) {
		kfi_obj_get(&fabric->obj);
		kfi_obj_link(&pep->obj, &fabric->peps);
	}
	mutex_unlock(&fabric->lock);
	memalloc_noio_restore(noio);
	if (ret) {
		free_pep(pep);
		return ret;
	}
	*pep_fid = &pep->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_passive_ep);

static void pep_set_listening(struct kfi_pep *pep, bool listening)
{
	lockdep_assert_held(&pep->lock);
	mutex_lock(&pep->req_lock);
	pep->listening = listening;
	mutex_unlock(&pep->req_lock);
}

/*
 * A request that arrives before kfi_listen() has returned may be refused. kfi_pep_connreq() cannot
 * wait for pep->lock, because the provider may wait in ops->listen() for the end of the report.
 */
int kfi_listen(struct kfid_pep *pep_fid)
{
	unsigned int noio = memalloc_noio_save();	/* see docs/locking.md */
	struct kfi_pep *pep = kfi_to_pep(pep_fid);
	int ret;

	mutex_lock(&pep->lock);
	if (pep->dead)
		ret = -ENODEV;
	else if (!pep->eq)
		ret = -KFI_ENOEQ;
	else if (pep->listening)
		ret = -KFI_EOPBADSTATE;
	else
		ret = pep->ops->listen(pep);
	if (!ret)
		pep_set_listening(pep, true);
	mutex_unlock(&pep->lock);
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_listen);

static struct kfi_connreq *pep_take_any(struct kfi_pep *pep)
{
	struct kfi_connreq *req;

	mutex_lock(&pep->req_lock);
	req = list_first_entry_or_null(&pep->connreqs, struct kfi_connreq, entry);
	if (req)
		pep_remove(pep, req);
	mutex_unlock(&pep->req_lock);
	return req;
}

/*
 * Accept no more requests, reject those that wait, and close the passive endpoint at the provider.
 * Only the first call does this. Return: true if it was this call.
 */
static bool pep_stop(struct kfi_pep *pep)
{
	struct kfi_connreq *req;
	bool dead;

	mutex_lock(&pep->lock);
	dead = pep->dead;
	pep->dead = true;
	pep_set_listening(pep, false);
	mutex_unlock(&pep->lock);
	if (dead)
		return false;
	while ((req = pep_take_any(pep)))
		pep->ops->reject(pep, req, NULL, 0);
	pep->ops->pep_close(pep);
	synchronize_rcu_expedited();	/* see kfi_conn_set_wait_move() */
	return true;
}

void kfi_pep_kill(struct kfi_pep *pep)
{
	if (pep_stop(pep) && pep->eq)
		kfi_eq_error(pep->eq, &pep->fid.fid, -ENODEV, NULL, 0);
}

static int close_pep(struct kfid *fid)
{
	struct kfi_pep *pep = container_of(fid, struct kfi_pep, fid.fid);
	struct kfi_fabric *fabric = pep->fabric;
	unsigned int noio;
	bool retired;

	/*
	 * fabric->lock is held all the time: the end of the namespace sees the passive endpoint
	 * either open or gone, and so does an endpoint that takes one of its requests.
	 */
	noio = memalloc_noio_save();	/* see docs/locking.md */
	mutex_lock(&fabric->lock);
	retired = kfi_obj_retire(&pep->obj);
	if (retired) {
		pep_stop(pep);
		list_del(&pep->obj.entry);
	}
	mutex_unlock(&fabric->lock);
	memalloc_noio_restore(noio);
	if (!retired)
		return -EBUSY;
	if (pep->eq) {
		kfi_eq_purge(pep->eq, fid);
		kfi_obj_put(&pep->eq->obj);
	}
	free_pep(pep);
	kfi_obj_put(&fabric->obj);
	return 0;
}

static int pep_bind_eq(struct kfi_pep *pep, struct kfi_eq *eq, u64 flags)
{
	lockdep_assert_held(&pep->lock);
	if (flags)
		return -KFI_EBADFLAGS;
	if (eq->fabric != pep->fabric)
		return -KFI_EDOMAIN;
	if (pep->eq)
		return -EINVAL;
	if (pep->listening)
		return -KFI_EOPBADSTATE;
	kfi_obj_get(&eq->obj);
	pep->eq = eq;
	return 0;
}

static int bind_pep(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct kfi_pep *pep = container_of(fid, struct kfi_pep, fid.fid);
	int ret;

	if (bfid->fclass != KFI_CLASS_EQ)
		return -EINVAL;
	mutex_lock(&pep->lock);
	ret = pep_bind_eq(pep, container_of(bfid, struct kfi_eq, fid.fid), flags);
	mutex_unlock(&pep->lock);
	return ret;
}

const struct kfi_fid_class kfi_pep_class = {
	.name = "pep",
	.close = close_pep,
	.bind = bind_pep,
};
