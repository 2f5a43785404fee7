// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ep.c - endpoints, their aliases, and shared contexts
 */
#include "kfi_fi.h"

#define TX_DEFAULTS	(FI_COMPLETION | FI_INJECT | KFI_LEVELS)
#define RX_DEFAULTS	(FI_COMPLETION | FI_MULTI_RECV)

static struct kfi_ep *to_ep(fid_t fid)
{
	return kfi_container(fid, struct kfi_ep, fid.fid);
}

/* ---- options ---- */

/* Numbers and flags of options are the kernel's, whose values have 64 bits. */
int kfi_getopt(const struct kfi_fabric *fabric, uint32_t handle, int level, int name, void *value,
	       size_t *len)
{
	uint64_t wide;
	struct kfi_user_opt arg = {
		.handle	= handle,
		.level	= level,
		.name	= name,
		.len	= sizeof(wide),
		.value	= (uintptr_t)&wide,
	};
	size_t narrow, room = *len;
	int ret;

	if (level != FI_OPT_ENDPOINT || name < 0)
		return -FI_ENOPROTOOPT;
	ret = kfi_call(fabric, KFI_IOC_GETOPT, &arg);
	if (ret)
		return ret;
	*len = sizeof(narrow);
	if (room < sizeof(narrow))
		return -FI_ETOOSMALL;
	narrow = wide > SIZE_MAX ? SIZE_MAX : wide;
	memcpy(value, &narrow, sizeof(narrow));
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct kfi_ep *ep = to_ep(fid);

	return kfi_getopt(ep->domain->fabric, ep->handle, level, name, value, len);
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct kfi_ep *ep = to_ep(fid);
	uint64_t wide = 0;
	struct kfi_user_opt arg = {
		.handle	= ep->handle,
		.level	= level,
		.name	= name,
		.len	= sizeof(wide),
		.value	= (uintptr_t)&wide,
	};
	size_t narrow;

	if (level != FI_OPT_ENDPOINT || name < 0)
		return -FI_ENOPROTOOPT;
	/* The kernel has no option of another size. */
	if (len == sizeof(narrow)) {
		memcpy(&narrow, value, sizeof(narrow));
		wide = narrow;
	} else {
		arg.len = 0;
	}
	return kfi_call(ep->domain->fabric, KFI_IOC_SETOPT, &arg);
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct kfi_ep *ep = to_ep(fid);
	struct kfi_user_cancel arg = { .ep = ep->handle, .context = (uintptr_t)context };

	kfi_flush(ep->domain);
	return kfi_call(ep->domain->fabric, KFI_IOC_CANCEL, &arg);
}

static struct fi_ops_ep ep_ops = {
	.size		= sizeof(struct fi_ops_ep),
	.cancel		= ep_cancel,
	.getopt		= ep_getopt,
	.setopt		= ep_setopt,
	.tx_ctx		= kfi_no_tx_ctx,
	.rx_ctx		= kfi_no_rx_ctx,
	.rx_size_left	= kfi_no_size_left,
	.tx_size_left	= kfi_no_size_left,
};

/* ---- binding ---- */

/*
 * Record the queue for operations that fail before the kernel has received them, and whether all
 * operations get an entry in it.
 */
static void note_cq(struct kfi_ep *ep, struct kfi_cq *cq, uint64_t flags)
{
	uint64_t always = flags & FI_SELECTIVE_COMPLETION ? 0 : KFI_USER_COMPLETION;

	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_always = always;
	}
	if (flags & FI_RECV || ep->fid.fid.fclass == FI_CLASS_SRX_CTX) {
		ep->rx_cq = cq;
		ep->rx_always = always;
	}
}

static void note_cntr(struct kfi_ep *ep, struct kfi_cntr *cntr, uint64_t flags)
{
	if (flags & FI_SEND)
		ep->cntr[KFI_COUNT_SEND] = cntr;
	if (flags & FI_RECV)
		ep->cntr[KFI_COUNT_RECV] = cntr;
	if (flags & FI_READ)
		ep->cntr[KFI_COUNT_READ] = cntr;
	if (flags & FI_WRITE)
		ep->cntr[KFI_COUNT_WRITE] = cntr;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct kfi_ep *ep = to_ep(fid);
	const struct kfi_fabric *fabric = ep->domain->fabric;
	int ret;

	switch (bfid->fclass) {
	case FI_CLASS_CQ: {
		struct kfi_cq *cq = kfi_container(bfid, struct kfi_cq, fid.fid);

		ret = kfi_bind(fabric, ep->handle, cq->handle, flags & ~FI_SELECTIVE_COMPLETION);
		if (!ret)
			note_cq(ep, cq, flags);
		return ret;
	}
	case FI_CLASS_CNTR: {
		struct kfi_cntr *cntr = kfi_container(bfid, struct kfi_cntr, fid.fid);

		ret = kfi_bind(fabric, ep->handle, cntr->handle, flags);
		if (!ret)
			note_cntr(ep, cntr, flags);
		return ret;
	}
	case FI_CLASS_EQ: {
		struct kfi_eq *eq = kfi_container(bfid, struct kfi_eq, fid.fid);

		ret = kfi_bind(fabric, ep->handle, eq->handle, flags);
		if (!ret)
			ep->eq = eq;
		return ret;
	}
	case FI_CLASS_SRX_CTX: {
		struct kfi_ep *srx = to_ep(bfid);

		ret = kfi_bind(fabric, ep->handle, srx->handle, flags);
		if (!ret)
			ep->srx = srx;
		return ret;
	}
	case FI_CLASS_STX_CTX:
		return kfi_bind(fabric, ep->handle,
				kfi_container(bfid, struct kfi_stx, fid.fid)->handle, flags);
	case FI_CLASS_AV:
		return kfi_bind(fabric, ep->handle,
				kfi_container(bfid, struct kfi_av, fid.fid)->handle, flags);
	default:
		return -FI_EINVAL;
	}
}

/* ---- commands ---- */

/* A shared context without a queue of its own uses that of its first endpoint. */
static int ep_enable(struct kfi_ep *ep)
{
	struct kfi_user_handle arg = { .handle = ep->handle };
	int ret;

	ret = kfi_call(ep->domain->fabric, KFI_IOC_ENABLE, &arg);
	if (!ret && ep->srx && !ep->srx->rx_cq) {
		ep->srx->rx_cq = ep->rx_cq;
		ep->srx->rx_always = ep->rx_always;
	}
	return ret;
}

/* The direction in the argument selects the default flags. */
static uint64_t *default_flags(struct kfi_ep *ep, uint64_t direction)
{
	switch (direction & (FI_TRANSMIT | FI_RECV)) {
	case FI_TRANSMIT:
		return &ep->tx_flags;
	case FI_RECV:
		return &ep->rx_flags;
	default:
		return NULL;
	}
}

static int set_default_flags(struct kfi_ep *ep, uint64_t arg)
{
	uint64_t *flags = default_flags(ep, arg), value = arg & ~(FI_TRANSMIT | FI_RECV);

	if (!flags)
		return -FI_EINVAL;
	if (value & ~(flags == &ep->tx_flags ? TX_DEFAULTS : RX_DEFAULTS))
		return -FI_EBADFLAGS;
	*flags = value;
	return 0;
}

static int get_default_flags(struct kfi_ep *ep, uint64_t *arg)
{
	uint64_t *flags = default_flags(ep, *arg);

	if (!flags)
		return -FI_EINVAL;
	*arg = *flags;
	return 0;
}

static struct fi_ops alias_fid_ops;

/* Open the same endpoint with other default flags */
static int open_alias(struct kfi_ep *ep, struct fi_alias *arg)
{
	struct kfi_ep *alias = malloc(sizeof(*alias));
	int ret;

	if (!alias)
		return -FI_ENOMEM;
	*alias = *ep;
	alias->fid.fid.ops = &alias_fid_ops;
	ret = set_default_flags(alias, arg->flags);
	if (ret) {
		free(alias);
		return ret;
	}
	pthread_mutex_lock(&ep->domain->post_lock);
	ep->base->aliases++;
	pthread_mutex_unlock(&ep->domain->post_lock);
	*arg->fid = &alias->fid.fid;
	return 0;
}

static int alias_close(struct fid *fid)
{
	struct kfi_ep *alias = to_ep(fid);

	pthread_mutex_lock(&alias->domain->post_lock);
	alias->base->aliases--;
	pthread_mutex_unlock(&alias->domain->post_lock);
	free(alias);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct kfi_ep *ep = to_ep(fid);

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep);
	case FI_GETOPSFLAG:
		return get_default_flags(ep, arg);
	case FI_SETOPSFLAG:
		return set_default_flags(ep, *(uint64_t *)arg);
	case FI_ALIAS:
		return open_alias(ep, arg);
	default:
		return -FI_ENOSYS;
	}
}

static int ep_close(struct fid *fid)
{
	struct kfi_ep *ep = to_ep(fid);
	int ret;

	if (ep->aliases)
		return -FI_EBUSY;
	kfi_flush(ep->domain);
	ret = kfi_handle_close(ep->domain->fabric, ep->handle);
	if (ret)
		return ret;
	if (ep->eq)
		kfi_eq_purge(ep->eq, fid);
	kfi_batch_drop(ep);
	free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= ep_close,
	.bind		= ep_bind,
	.control	= ep_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops alias_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= alias_close,
	.bind		= kfi_no_bind,
	.control	= ep_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

/* ---- opening ---- */

/* What endpoints and shared receive contexts have in common */
static struct kfi_ep *ep_new(struct kfi_domain *domain, size_t fclass, void *context)
{
	struct kfi_ep *ep = calloc(1, sizeof(*ep));
	int i;

	if (!ep)
		return NULL;
	ep->domain = domain;
	ep->base = ep;
	ep->tx_always = KFI_USER_COMPLETION;
	ep->rx_always = KFI_USER_COMPLETION;
	for (i = 0; i < 2; i++)
		ep->batch[i].ep = ep;
	ep->fid.fid.fclass = fclass;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = fclass == FI_CLASS_EP ? &kfi_cm_ops : &kfi_no_cm_ops;
	ep->fid.msg = &kfi_msg_ops;
	ep->fid.tagged = &kfi_tagged_ops;
	ep->fid.rma = &kfi_rma_ops;
	ep->fid.atomic = &kfi_atomic_ops;
	return ep;
}

static bool is_directed(uint64_t caps, const struct fi_rx_attr *attr)
{
	return (attr && attr->caps ? attr->caps : caps) & FI_DIRECTED_RECV;
}

int kfi_ep_open(struct fid_domain *dfid, struct fi_info *info, struct fid_ep **fid, void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_open arg = {
		.parent		= domain->handle,
		.info_size	= sizeof(struct kfi_user_info),
	};
	struct kfi_connreq *req = NULL;
	const char *provider = NULL;
	struct kfi_user_info flat;
	struct kfi_ep *ep;
	int ret;

	if (kfi_info_pack(info, domain->fabric->fid.api_version, &flat, &provider))
		return -FI_EINVAL;
	if (info->handle && info->handle->fclass != FI_CLASS_CONNREQ)
		return -FI_ENOSYS;	/* a passive endpoint that is to become an active one */
	if (info->handle) {
		req = kfi_container(info->handle, struct kfi_connreq, fid);
		if (!req->handle)
			return -FI_ECONNABORTED;
		arg.connreq = req->handle;
	}
	ep = ep_new(domain, FI_CLASS_EP, context);
	if (!ep)
		return -FI_ENOMEM;
	arg.info = (uintptr_t)&flat;
	arg.cookie = (uintptr_t)ep;
	ret = kfi_call(domain->fabric, KFI_IOC_ENDPOINT, &arg);
	if (ret) {
		free(ep);
		return ret;
	}
	if (req)
		kfi_connreq_free(req);
	ep->handle = arg.handle;
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags & TX_DEFAULTS : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags & RX_DEFAULTS : 0;
	ep->directed = is_directed(info->caps, info->rx_attr);
	ep->addr_format = info->addr_format;
	ep->addrlen = info->dest_addrlen ? info->dest_addrlen : info->src_addrlen;
	if (!ep->addrlen)
		ep->addrlen = sizeof(uint64_t);	/* for the kernel's formats other than sockaddr */
	*fid = &ep->fid;
	return 0;
}

int kfi_srx_open(struct fid_domain *dfid, struct fi_rx_attr *attr, struct fid_ep **fid,
		 void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_open arg = {
		.parent		= domain->handle,
		.info_size	= sizeof(struct kfi_user_info),
	};
	struct kfi_user_info flat = domain->info;
	struct kfi_ep *srx;
	int ret;

	if (attr)
		kfi_pack_rx(attr, &flat);
	srx = ep_new(domain, FI_CLASS_SRX_CTX, context);
	if (!srx)
		return -FI_ENOMEM;
	arg.info = (uintptr_t)&flat;
	arg.cookie = (uintptr_t)srx;
	ret = kfi_call(domain->fabric, KFI_IOC_SRX, &arg);
	if (ret) {
		free(srx);
		return ret;
	}
	srx->handle = arg.handle;
	srx->rx_flags = flat.rx.op_flags & RX_DEFAULTS;
	srx->directed = is_directed(domain->info.caps, attr);
	*fid = &srx->fid;
	return 0;
}

/* ---- shared transmit contexts ---- */

static int stx_close(struct fid *fid)
{
	struct kfi_stx *stx = kfi_container(fid, struct kfi_stx, fid.fid);
	int ret;

	ret = kfi_handle_close(stx->domain->fabric, stx->handle);
	if (!ret)
		free(stx);
	return ret;
}

static struct fi_ops stx_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= stx_close,
	.bind		= kfi_no_bind,
	.control	= kfi_no_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_ep stx_ops = {
	.size		= sizeof(struct fi_ops_ep),
	.cancel		= kfi_no_cancel,
	.getopt		= kfi_no_getopt,
	.setopt		= kfi_no_setopt,
	.tx_ctx		= kfi_no_tx_ctx,
	.rx_ctx		= kfi_no_rx_ctx,
	.rx_size_left	= kfi_no_size_left,
	.tx_size_left	= kfi_no_size_left,
};

int kfi_stx_open(struct fid_domain *dfid, struct fi_tx_attr *attr, struct fid_stx **fid,
		 void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_open arg = {
		.parent		= domain->handle,
		.info_size	= sizeof(struct kfi_user_info),
	};
	struct kfi_user_info flat = domain->info;
	struct kfi_stx *stx;
	int ret;

	if (attr)
		kfi_pack_tx(attr, &flat);
	stx = calloc(1, sizeof(*stx));
	if (!stx)
		return -FI_ENOMEM;
	arg.info = (uintptr_t)&flat;
	arg.cookie = (uintptr_t)stx;
	ret = kfi_call(domain->fabric, KFI_IOC_STX, &arg);
	if (ret) {
		free(stx);
		return ret;
	}
	stx->domain = domain;
	stx->handle = arg.handle;
	stx->fid.fid.fclass = FI_CLASS_STX_CTX;
	stx->fid.fid.context = context;
	stx->fid.fid.ops = &stx_fid_ops;
	stx->fid.ops = &stx_ops;
	*fid = &stx->fid;
	return 0;
}
