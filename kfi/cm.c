// SPDX-License-Identifier: GPL-2.0
/*
 * Connections and names of endpoints: the calls of consumers, and the reports of providers.
 *
 * Calls of consumers run under &kfi_ep.lock or &kfi_pep.lock. Reports of providers take neither,
 * because calls that hold these locks wait for providers; ep_state.c describes how they are
 * ordered.
 */
#include <linux/sched/mm.h>
#include "auth.h"
#include "ep.h"
#include "eq.h"
#include <trace/events/kfi.h>

int kfi_cm_check_data(const struct kfi_prov_ops *ops, const void *data, size_t len)
{
	if (len > min_t(size_t, ops->cm_data_size, KFI_CM_DATA_MAX) || (len && !data))
		return -EINVAL;
	return 0;
}

/* ---- consumers ---- */

/* Enable the endpoint if it is not enabled, and check that it can start a connection now. */
static int ep_ready_to_connect(struct kfi_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->type != KFI_EP_MSG)
		return -EOPNOTSUPP;
	if (ep->state == KFI_EP_IDLE) {
		ret = kfi_ep_enable(ep);
		if (ret)
			return ret;
	}
	switch (READ_ONCE(ep->state)) {
	case KFI_EP_ENABLED:
		return 0;
	case KFI_EP_CONNECTED:
		return -EISCONN;
	case KFI_EP_DEAD:
		return -ENODEV;
	default:
		return -KFI_EOPBADSTATE;
	}
}

static int ep_connect(struct kfi_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	int ret;

	ret = ep_ready_to_connect(ep);
	if (ret)
		return ret;
	if (ep->connreq)
		return -KFI_EOPBADSTATE;
	if (ep->ops->addr_check &&
	    ep->ops->addr_check(ep->domain, ep->info->addr_format, addr))
		return -EINVAL;
	kfi_ep_move(ep, KFI_EP_CONNECTING);
	ret = ep->ops->connect(ep, addr, param, paramlen);
	if (ret)
		kfi_ep_move(ep, KFI_EP_ENABLED);
	return ret;
}

int kfi_connect(struct kfid_ep *fid, const void *addr, const void *param, size_t paramlen)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	unsigned int noio;
	int ret;

	might_sleep();
	if (!addr)
		return -EINVAL;
	if (!ep->ops->connect)
		return -EOPNOTSUPP;
	ret = kfi_cm_check_data(ep->ops, param, paramlen);
	if (ret)
		return ret;
	noio = memalloc_noio_save();	/* see docs/locking.md */
	mutex_lock(&ep->lock);
	ret = ep_connect(ep, addr, param, paramlen);
	mutex_unlock(&ep->lock);
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_connect);

/* The provider owns the request from the call of its accept operation on, whatever that returns. */
static int ep_accept(struct kfi_ep *ep, const void *param, size_t paramlen)
{
	struct kfi_pep *pep;
	int ret;

	ret = ep_ready_to_connect(ep);
	if (ret)
		return ret;
	if (!ep->connreq)
		return -KFI_EOPBADSTATE;
	pep = ep->connreq->pep;
	if (!kfi_auth_same(ep->info->ep_attr, pep->info->ep_attr))
		return -KFI_EKEYREJECTED;	/* the peer has proved the listener's key */
	kfi_ep_move(ep, KFI_EP_CONNECTING);
	ret = ep->ops->accept(ep, param, paramlen);
	ep->connreq = NULL;
	kfi_obj_put(&pep->obj);
	if (ret)
		kfi_ep_move(ep, KFI_EP_SHUT);
	return ret;
}

int kfi_accept(struct kfid_ep *fid, const void *param, size_t paramlen)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	unsigned int noio;
	int ret;

	might_sleep();
	if (!ep->ops->accept)
		return -EOPNOTSUPP;
	ret = kfi_cm_check_data(ep->ops, param, paramlen);
	if (ret)
		return ret;
	noio = memalloc_noio_save();	/* see docs/locking.md */
	mutex_lock(&ep->lock);
	ret = ep_accept(ep, param, paramlen);
	mutex_unlock(&ep->lock);
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_accept);

void kfi_ep_reject(struct kfi_ep *ep)
{
	struct kfi_connreq *req = ep->connreq;
	struct kfi_pep *pep;

	if (!req)
		return;
	pep = req->pep;
	ep->connreq = NULL;
	ep->ops->reject(pep, req, NULL, 0);
	kfi_obj_put(&pep->obj);
}

int kfi_shutdown(struct kfid_ep *fid, uint64_t flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	int ret = -ENOTCONN;

	might_sleep();
	if (flags)
		return -KFI_EBADFLAGS;
	if (!ep->ops->shutdown || ep->type != KFI_EP_MSG)
		return -EOPNOTSUPP;
	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) == KFI_EP_CONNECTED)
		ret = ep->ops->shutdown(ep);
	mutex_unlock(&ep->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_shutdown);

/* ---- reports of providers ---- */

int kfi_ep_connected(struct kfi_ep *ep, const void *data, size_t len)
{
	might_sleep();
	if (kfi_ep_move(ep, KFI_EP_CONNECTED) < 0)
		return -ECANCELED;
	trace_kfi_connect(ep);
	kfi_eq_event(ep->eq, KFI_CONNECTED, &ep->fid.fid, NULL, data,
		     min_t(size_t, len, KFI_CM_DATA_MAX));
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_ep_connected);

/*
 * End all receives. The state forbids posts already. After a grace period all receives that were
 * allowed are in the matching.
 */
static void ep_end_receives(struct kfi_ep *ep, int err)
{
	synchronize_rcu_expedited();
	kfi_rx_flush(ep, err);
}

void kfi_ep_refused(struct kfi_ep *ep, int err, const void *data, size_t len)
{
	might_sleep();
	if (READ_ONCE(ep->state) != KFI_EP_CONNECTING || kfi_ep_move(ep, KFI_EP_SHUT) < 0)
		return;
	trace_kfi_disconnect(ep, err);
	ep_end_receives(ep, err);
	kfi_eq_error(ep->eq, &ep->fid.fid, err, data, min_t(size_t, len, KFI_CM_DATA_MAX));
}
EXPORT_SYMBOL_GPL(kfi_ep_refused);

void kfi_ep_disconnected(struct kfi_ep *ep, int err)
{
	might_sleep();
	if (READ_ONCE(ep->state) != KFI_EP_CONNECTED || kfi_ep_move(ep, KFI_EP_SHUT) < 0)
		return;
	trace_kfi_disconnect(ep, err);
	ep_end_receives(ep, err ?: -ESHUTDOWN);
	kfi_eq_event(ep->eq, KFI_SHUTDOWN, &ep->fid.fid, NULL, NULL, 0);
}
EXPORT_SYMBOL_GPL(kfi_ep_disconnected);

/* ---- names ---- */

static int give_name(const void *name, int len, void *addr, size_t *addrlen)
{
	size_t room = *addrlen;

	if (len < 0)
		return len;
	*addrlen = len;
	if (addr)
		memcpy(addr, name, min_t(size_t, room, len));
	return room < len ? -KFI_ETOOSMALL : 0;
}

static int ep_name(struct kfi_ep *ep, void *name)
{
	int ret = -ENODEV;

	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) != KFI_EP_DEAD)
		ret = ep->ops->getname ? ep->ops->getname(ep, name) : -EOPNOTSUPP;
	mutex_unlock(&ep->lock);
	return ret;
}

static int pep_name(struct kfi_pep *pep, void *name)
{
	int ret = -ENODEV;

	mutex_lock(&pep->lock);
	if (!pep->dead)
		ret = pep->ops->pep_getname ? pep->ops->pep_getname(pep, name) : -EOPNOTSUPP;
	mutex_unlock(&pep->lock);
	return ret;
}

int kfi_getname(kfid_t fid, void *addr, size_t *addrlen)
{
	u8 name[KFI_ADDR_MAX];

	if (!fid || !addrlen)
		return -EINVAL;
	switch (fid->fclass) {
	case KFI_CLASS_EP:
	case KFI_CLASS_SEP:
	case KFI_CLASS_TX_CTX:
	case KFI_CLASS_RX_CTX:
		return give_name(name, ep_name(container_of(fid, struct kfi_ep, fid.fid), name),
				 addr, addrlen);
	case KFI_CLASS_PEP:
		return give_name(name, pep_name(container_of(fid, struct kfi_pep, fid.fid), name),
				 addr, addrlen);
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_GPL(kfi_getname);

static int ep_set_name(struct kfi_ep *ep, const void *addr, size_t len)
{
	int ret;

	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) == KFI_EP_DEAD)
		ret = -ENODEV;
	else if (ep->state != KFI_EP_IDLE)
		ret = -KFI_EOPBADSTATE;
	else
		ret = ep->ops->setname ? ep->ops->setname(ep, addr, len) : -EOPNOTSUPP;
	mutex_unlock(&ep->lock);
	return ret;
}

static int pep_set_name(struct kfi_pep *pep, const void *addr, size_t len)
{
	int ret;

	mutex_lock(&pep->lock);
	if (pep->dead)
		ret = -ENODEV;
	else if (pep->listening)
		ret = -KFI_EOPBADSTATE;
	else
		ret = pep->ops->pep_setname ? pep->ops->pep_setname(pep, addr, len) : -EOPNOTSUPP;
	mutex_unlock(&pep->lock);
	return ret;
}

int kfi_setname(kfid_t fid, void *addr, size_t addrlen)
{
	if (!fid || !addr || !addrlen || addrlen > KFI_ADDR_MAX)
		return -EINVAL;
	switch (fid->fclass) {
	case KFI_CLASS_EP:
	case KFI_CLASS_SEP:
		return ep_set_name(container_of(fid, struct kfi_ep, fid.fid), addr, addrlen);
	case KFI_CLASS_PEP:
		return pep_set_name(container_of(fid, struct kfi_pep, fid.fid), addr, addrlen);
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_GPL(kfi_setname);

int kfi_getpeer(struct kfid_ep *fid, void *addr, size_t *addrlen)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	u8 name[KFI_ADDR_MAX];
	int ret = -ENOTCONN;

	if (!addrlen)
		return -EINVAL;
	if (!ep->ops->getpeer || ep->type != KFI_EP_MSG)
		return -EOPNOTSUPP;
	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) == KFI_EP_CONNECTED)
		ret = ep->ops->getpeer(ep, name);
	mutex_unlock(&ep->lock);
	return give_name(name, ret, addr, addrlen);
}
EXPORT_SYMBOL_GPL(kfi_getpeer);
