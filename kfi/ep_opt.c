// SPDX-License-Identifier: GPL-2.0
/* Options (kfi_getopt(), kfi_setopt()) and commands (kfi_control()) of endpoints. */
#include <linux/sched/mm.h>
#include "ep.h"
#include "mr.h"

/* ---- options ---- */

#define EP_REMOTE_ACCESS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_ATOMIC)

static int ep_get_size(struct kfi_ep *ep, int optname, size_t *value)
{
	switch (optname) {
	case KFI_OPT_MIN_MULTI_RECV:
		*value = READ_ONCE(kfi_rx_owner(ep)->min_multi_recv);
		return 0;
	case KFI_OPT_EAGER_SIZE:
		*value = ep->eager_size;
		return ep->eager_max ? 0 : -ENOPROTOOPT;
	case KFI_OPT_RECLAIM:
		*value = ep->reclaim;
		return 0;
	case KFI_OPT_AV_ONLY:
		*value = ep->av_only;
		return ep->ops->av_only && ep->type == KFI_EP_RDM ? 0 : -ENOPROTOOPT;
	case KFI_OPT_UNPRIVILEGED:
		*value = ep->unprivileged;
		return 0;
	case KFI_OPT_NEED_PRIVILEGE:
		*value = ep->need_privilege;
		return ep->ops->need_privilege && ep->type == KFI_EP_MSG ? 0 : -ENOPROTOOPT;
	case KFI_OPT_ACK_DELIVERED:
		*value = ep->ack_delivered;
		return ep->eager_size && ep->type == KFI_EP_MSG ? 0 : -ENOPROTOOPT;
	case KFI_OPT_REMOTE_ACCESS:
		*value = EP_REMOTE_ACCESS & ~READ_ONCE(ep->remote_denied);
		return ep->domain->prov_keys ? -ENOPROTOOPT : 0;
	case KFI_OPT_OP_TIMEOUT_MS:
		*value = ep->op_timeout_ms;
		return 0;
	case KFI_OPT_CM_DATA_SIZE:
		*value = min_t(size_t, ep->ops->cm_data_size, KFI_CM_DATA_MAX);
		return 0;
	case KFI_OPT_TX_SIZE:
		*value = kfi_tx_owner(ep)->tx.depth;
		return 0;
	case KFI_OPT_RX_SIZE:
		*value = kfi_rx_owner(ep)->rx.depth;
		return 0;
	case KFI_OPT_MAX_MSG_SIZE:
	case KFI_OPT_MAX_TAGGED_SIZE:
	case KFI_OPT_MAX_RMA_SIZE:
		*value = ep->max_msg_size;
		return 0;
	case KFI_OPT_INJECT_MSG_SIZE:
	case KFI_OPT_INJECT_TAGGED_SIZE:
	case KFI_OPT_INJECT_RMA_SIZE:
		*value = ep->inject_size;
		return 0;
	case KFI_OPT_MAX_ATOMIC_SIZE:
		*value = ep->ops->atomic_size;
		return ep->caps & KFI_ATOMIC ? 0 : -ENOPROTOOPT;
	case KFI_OPT_INJECT_ATOMIC_SIZE:
		*value = min(ep->inject_size, ep->ops->atomic_size);
		return ep->caps & KFI_ATOMIC ? 0 : -ENOPROTOOPT;
	default:
		return -ENOPROTOOPT;
	}
}

static int pep_get_size(const struct kfi_pep *pep, int optname, size_t *value)
{
	switch (optname) {
	case KFI_OPT_CM_DATA_SIZE:
		*value = min_t(size_t, pep->ops->cm_data_size, KFI_CM_DATA_MAX);
		return 0;
	case KFI_OPT_NEED_PRIVILEGE:
		*value = pep->need_privilege;
		return pep->ops->need_privilege ? 0 : -ENOPROTOOPT;
	default:
		return -ENOPROTOOPT;
	}
}

int kfi_getopt(struct kfid *fid, int level, int optname, void *optval, size_t *optlen)
{
	bool passive = fid && fid->fclass == KFI_CLASS_PEP;
	size_t value, room;
	int ret;

	if ((!passive && !kfi_fid_ep(fid)) || !optval || !optlen)
		return -EINVAL;
	if (level != KFI_OPT_ENDPOINT)
		return -ENOPROTOOPT;
	if (passive)
		ret = pep_get_size(container_of(fid, struct kfi_pep, fid.fid), optname, &value);
	else
		ret = ep_get_size(kfi_fid_ep(fid), optname, &value);
	if (ret)
		return ret;
	room = *optlen;
	*optlen = sizeof(value);
	if (room < sizeof(value))
		return -KFI_ETOOSMALL;
	memcpy(optval, &value, sizeof(value));
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_getopt);

/* Set an option that providers read when they connect. It can't be changed after kfi_enable(). */
static int ep_set_early(struct kfi_ep *ep, bool *option, bool value)
{
	int ret = 0;

	mutex_lock(&ep->lock);
	if (ep->state == KFI_EP_IDLE)
		*option = value;
	else
		ret = -KFI_EOPBADSTATE;
	mutex_unlock(&ep->lock);
	return ret;
}

static int ep_set_eager(struct kfi_ep *ep, size_t value)
{
	int ret = 0;

	if (!ep->eager_max)
		return -ENOPROTOOPT;
	if (value == SIZE_MAX)
		value = ep->eager_max;
	if (!value)
		return -EINVAL;
	if (value > ep->eager_max)
		return -EMSGSIZE;
	mutex_lock(&ep->lock);
	if (ep->state == KFI_EP_IDLE) {
		ep->eager_size = value;
		ep->eager_set = true;
	} else {
		ret = -KFI_EOPBADSTATE;
	}
	mutex_unlock(&ep->lock);
	return ret;
}

static int ep_set_remote_access(struct kfi_ep *ep, size_t value)
{
	if (ep->domain->prov_keys || ep->fid.fid.fclass != KFI_CLASS_EP)
		return -ENOPROTOOPT;
	if (value & ~EP_REMOTE_ACCESS)
		return -EINVAL;
	WRITE_ONCE(ep->remote_chosen, true);
	WRITE_ONCE(ep->remote_denied, EP_REMOTE_ACCESS & ~value);
	if (!(value & KFI_REMOTE_WRITE))
		kfi_mr_recall_ep(ep);
	return 0;
}

static int ep_set_size(struct kfi_ep *ep, int optname, size_t value)
{
	bool shared = ep->fid.fid.fclass == KFI_CLASS_SRX_CTX;

	switch (optname) {
	case KFI_OPT_EAGER_SIZE:
		return ep_set_eager(ep, value);
	case KFI_OPT_RECLAIM:
		return shared ? -ENOPROTOOPT : ep_set_early(ep, &ep->reclaim, value);
	case KFI_OPT_AV_ONLY:
		if (shared || !ep->ops->av_only || ep->type != KFI_EP_RDM)
			return -ENOPROTOOPT;
		return ep_set_early(ep, &ep->av_only, value);
	case KFI_OPT_UNPRIVILEGED:
		return ep_set_early(ep, &ep->unprivileged, value);
	case KFI_OPT_NEED_PRIVILEGE:
		if (shared || !ep->ops->need_privilege || ep->type != KFI_EP_MSG)
			return -ENOPROTOOPT;
		return ep_set_early(ep, &ep->need_privilege, value);
	case KFI_OPT_ACK_DELIVERED:
		if (!ep->eager_size || ep->type != KFI_EP_MSG)
			return -ENOPROTOOPT;
		return ep_set_early(ep, &ep->ack_delivered, value);
	case KFI_OPT_REMOTE_ACCESS:
		return ep_set_remote_access(ep, value);
	case KFI_OPT_OP_TIMEOUT_MS:
		return kfi_overdue_set(ep, value);
	default:
		if (ep->srx)
			return -EOPNOTSUPP;	/* the shared receive context has the option */
		WRITE_ONCE(ep->min_multi_recv, value);
		return 0;
	}
}

static bool ep_may_set(int optname)
{
	return optname == KFI_OPT_MIN_MULTI_RECV || optname == KFI_OPT_RECLAIM ||
	       optname == KFI_OPT_AV_ONLY || optname == KFI_OPT_OP_TIMEOUT_MS ||
	       optname == KFI_OPT_UNPRIVILEGED || optname == KFI_OPT_EAGER_SIZE ||
	       optname == KFI_OPT_NEED_PRIVILEGE || optname == KFI_OPT_REMOTE_ACCESS ||
	       optname == KFI_OPT_ACK_DELIVERED;
}

static bool pep_may_set(const struct kfi_pep *pep, int optname)
{
	return optname == KFI_OPT_NEED_PRIVILEGE && pep->ops->need_privilege;
}

static int pep_set_privilege(struct kfi_pep *pep, bool value)
{
	int ret = 0;

	mutex_lock(&pep->lock);
	if (pep->listening)
		ret = -KFI_EOPBADSTATE;
	else
		pep->need_privilege = value;
	mutex_unlock(&pep->lock);
	return ret;
}

int kfi_setopt(struct kfid *fid, int level, int optname, const void *optval, size_t optlen)
{
	bool passive = fid && fid->fclass == KFI_CLASS_PEP;
	struct kfi_pep *pep = passive ? container_of(fid, struct kfi_pep, fid.fid) : NULL;
	struct kfi_ep *ep = passive ? NULL : kfi_fid_ep(fid);
	size_t value;

	if ((!pep && !ep) || !optval)
		return -EINVAL;
	if (level != KFI_OPT_ENDPOINT || !(pep ? pep_may_set(pep, optname) : ep_may_set(optname)))
		return -ENOPROTOOPT;
	if (optlen != sizeof(value))
		return -EINVAL;
	memcpy(&value, optval, sizeof(value));
	return pep ? pep_set_privilege(pep, value) : ep_set_size(ep, optname, value);
}
EXPORT_SYMBOL_GPL(kfi_setopt);

/* ---- commands ---- */

int kfi_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kfi_ep *ep = container_of(fid, struct kfi_ep, fid.fid);
	unsigned int noio;
	int ret;

	if (command != KFI_ENABLE)
		return -EOPNOTSUPP;
	noio = memalloc_noio_save();	/* see docs/locking.md */
	mutex_lock(&ep->lock);
	ret = kfi_ep_enable(ep);
	mutex_unlock(&ep->lock);
	memalloc_noio_restore(noio);
	return ret;
}
