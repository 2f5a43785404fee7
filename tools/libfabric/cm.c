// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cm.c - names of endpoints, passive endpoints, connections
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "kfi_fi.h"

#define SOCKADDR_IB_LEN	48	/* struct sockaddr_ib of rdma_cm */

/* ---- connection requests ---- */

struct kfi_connreq *kfi_connreq_new(struct kfi_pep *pep, uint32_t handle)
{
	struct kfi_connreq *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->fid.fclass = FI_CLASS_CONNREQ;
	req->fabric = pep->fabric;
	req->handle = handle;
	pthread_mutex_lock(&pep->fabric->lock);
	LIST_INSERT_HEAD(&pep->connreqs, req, entry);
	pthread_mutex_unlock(&pep->fabric->lock);
	return req;
}

/* The kernel rejects a request that is closed without further use. */
void kfi_connreq_free(struct kfi_connreq *req)
{
	struct kfi_fabric *fabric = req->fabric;

	pthread_mutex_lock(&fabric->lock);
	LIST_REMOVE(req, entry);
	pthread_mutex_unlock(&fabric->lock);
	kfi_handle_close(fabric, req->handle);
	free(req);
}

/*
 * The passive endpoint is closed. The program may still have the info, so the memory of its handle
 * stays valid, but it denotes no request any more.
 */
static void orphan_requests(struct kfi_pep *pep)
{
	struct kfi_fabric *fabric = pep->fabric;
	struct kfi_connreq *req;

	pthread_mutex_lock(&fabric->lock);
	while ((req = LIST_FIRST(&pep->connreqs))) {
		LIST_REMOVE(req, entry);
		kfi_handle_close(fabric, req->handle);
		req->handle = 0;
		LIST_INSERT_HEAD(&fabric->orphans, req, entry);
	}
	pthread_mutex_unlock(&fabric->lock);
}

/* ---- names ---- */

/* Get a name of an endpoint or passive endpoint */
static int name_call(const struct kfi_fabric *fabric, uint32_t handle, unsigned long request,
		     void *addr, size_t *addrlen)
{
	struct kfi_user_name arg = {
		.handle		= handle,
		.addr		= (uintptr_t)addr,
		.addrlen	= *addrlen > KFI_USER_ADDR_MAX ? KFI_USER_ADDR_MAX : *addrlen,
	};
	int ret;

	ret = kfi_call(fabric, request, &arg);
	if (!ret || ret == -FI_ETOOSMALL)
		*addrlen = arg.addrlen;
	return ret;
}

static int setname(const struct kfi_fabric *fabric, uint32_t handle, void *addr, size_t addrlen)
{
	if (addrlen > KFI_USER_ADDR_MAX)
		return -FI_EINVAL;
	return name_call(fabric, handle, KFI_IOC_SETNAME, addr, &addrlen);
}

static int ep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	return setname(ep->domain->fabric, ep->handle, addr, addrlen);
}

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	return name_call(ep->domain->fabric, ep->handle, KFI_IOC_GETNAME, addr, addrlen);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);

	return name_call(ep->domain->fabric, ep->handle, KFI_IOC_GETPEER, addr, addrlen);
}

/* ---- connections ---- */

/* fi_connect() has no argument for the length of the address. */
static size_t address_len(const struct kfi_ep *ep, const void *addr)
{
	const struct sockaddr *sa = addr;

	switch (ep->addr_format) {
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6:
		if (sa->sa_family == AF_INET6)
			return sizeof(struct sockaddr_in6);
		return sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IB:
		return SOCKADDR_IB_LEN;
	default:
		return ep->addrlen;
	}
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t paramlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	struct kfi_user_name arg = {
		.handle		= ep->handle,
		.addr		= (uintptr_t)addr,
		.addrlen	= addr ? address_len(ep, addr) : 0,
		.param		= (uintptr_t)param,
		.paramlen	= paramlen,
	};

	if (!addr || paramlen > KFI_USER_DATA_MAX)
		return -FI_EINVAL;
	return kfi_call(ep->domain->fabric, KFI_IOC_CONNECT, &arg);
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	struct kfi_user_name arg = {
		.handle		= ep->handle,
		.param		= (uintptr_t)param,
		.paramlen	= paramlen,
	};

	if (paramlen > KFI_USER_DATA_MAX)
		return -FI_EINVAL;
	return kfi_call(ep->domain->fabric, KFI_IOC_ACCEPT, &arg);
}

/* Gathered operations are sent before the shutdown. */
static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	struct kfi_user_shutdown arg = { .handle = ep->handle, .flags = flags };

	kfi_flush(ep->domain);
	return kfi_call(ep->domain->fabric, KFI_IOC_SHUTDOWN, &arg);
}

struct fi_ops_cm kfi_cm_ops = {
	.size		= sizeof(struct fi_ops_cm),
	.setname	= ep_setname,
	.getname	= ep_getname,
	.getpeer	= ep_getpeer,
	.connect	= ep_connect,
	.listen		= kfi_no_listen,
	.accept		= ep_accept,
	.reject		= kfi_no_reject,
	.shutdown	= ep_shutdown,
	.join		= kfi_no_join,
};

/* ---- passive endpoints ---- */

static int pep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	return setname(pep->fabric, pep->handle, addr, addrlen);
}

static int pep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	return name_call(pep->fabric, pep->handle, KFI_IOC_GETNAME, addr, addrlen);
}

static int pep_listen(struct fid_pep *fid)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid);
	struct kfi_user_handle arg = { .handle = pep->handle };

	return kfi_call(pep->fabric, KFI_IOC_LISTEN, &arg);
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t paramlen)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid);
	struct kfi_connreq *req = kfi_container(handle, struct kfi_connreq, fid);
	struct kfi_user_name arg = {
		.handle		= pep->handle,
		.param		= (uintptr_t)param,
		.paramlen	= paramlen,
	};
	int ret;

	if (!handle || handle->fclass != FI_CLASS_CONNREQ || paramlen > KFI_USER_DATA_MAX)
		return -FI_EINVAL;
	arg.connreq = req->handle;
	ret = kfi_call(pep->fabric, KFI_IOC_REJECT, &arg);
	if (!ret)
		kfi_connreq_free(req);
	return ret;
}

struct fi_ops_cm kfi_pep_cm_ops = {
	.size		= sizeof(struct fi_ops_cm),
	.setname	= pep_setname,
	.getname	= pep_getname,
	.getpeer	= kfi_no_getpeer,
	.connect	= kfi_no_connect,
	.listen		= pep_listen,
	.accept		= kfi_no_accept,
	.reject		= pep_reject,
	.shutdown	= kfi_no_shutdown,
	.join		= kfi_no_join,
};

static int pep_close(struct fid *fid)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);
	int ret;

	ret = kfi_handle_close(pep->fabric, pep->handle);
	if (ret)
		return ret;
	if (pep->eq)
		kfi_eq_purge(pep->eq, fid);
	orphan_requests(pep);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);
	struct kfi_eq *eq;
	int ret;

	if (bfid->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	eq = kfi_container(bfid, struct kfi_eq, fid.fid);
	ret = kfi_bind(pep->fabric, pep->handle, eq->handle, flags);
	if (!ret)
		pep->eq = eq;
	return ret;
}

static int pep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	return kfi_getopt(pep->fabric, pep->handle, level, name, value, len);
}

static struct fi_ops pep_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= pep_close,
	.bind		= pep_bind,
	.control	= kfi_no_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_ep pep_ops = {
	.size		= sizeof(struct fi_ops_ep),
	.cancel		= kfi_no_cancel,
	.getopt		= pep_getopt,
	.setopt		= kfi_no_setopt,
	.tx_ctx		= kfi_no_tx_ctx,
	.rx_ctx		= kfi_no_rx_ctx,
	.rx_size_left	= kfi_no_size_left,
	.tx_size_left	= kfi_no_size_left,
};

int kfi_pep_open(struct fid_fabric *ffid, struct fi_info *info, struct fid_pep **fid, void *context)
{
	struct kfi_fabric *fabric = kfi_container(ffid, struct kfi_fabric, fid);
	struct kfi_user_open arg = {
		.parent		= fabric->handle,
		.info_size	= sizeof(struct kfi_user_info),
	};
	const char *provider = NULL;
	struct kfi_user_info flat;
	struct kfi_pep *pep;
	int ret;

	if (!info->domain_attr || !info->fabric_attr ||
	    kfi_info_pack(info, fabric->fid.api_version, &flat, &provider))
		return -FI_EINVAL;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	ret = -FI_ENOMEM;
	pep->info = fi_dupinfo(info);
	if (!pep->info)
		goto free;
	arg.info = (uintptr_t)&flat;
	arg.cookie = (uintptr_t)pep;
	ret = kfi_call(fabric, KFI_IOC_PASSIVE_EP, &arg);
	if (ret)
		goto free;
	pep->fabric = fabric;
	pep->handle = arg.handle;
	LIST_INIT(&pep->connreqs);
	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.fid.context = context;
	pep->fid.fid.ops = &pep_fid_ops;
	pep->fid.ops = &pep_ops;
	pep->fid.cm = &kfi_pep_cm_ops;
	*fid = &pep->fid;
	return 0;

free:
	fi_freeinfo(pep->info);
	free(pep);
	return ret;
}
