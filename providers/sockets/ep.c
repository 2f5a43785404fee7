// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - domains, endpoints and passive endpoints: open, enable, stop, close, names.
 */
#include <linux/slab.h>
#include "sock.h"

int ks_domain_open(struct kfi_domain *domain)
{
	int ret = kfi_inaddr_names_open(&to_ks_domain(domain)->names, domain, ks_short_port);

	if (ret)
		return ret;
	domain->limits.numa_node = NUMA_NO_NODE;
	domain->limits.mr_page_limit = SIZE_MAX;
	domain->limits.sge_limit = domain->info->domain_attr->mr_iov_limit;
	return 0;
}

/* ---- endpoints ---- */

int ks_ep_open(struct kfi_ep *ep)
{
	struct ks_ep *ke = to_ks_ep(ep);
	int ret;

	ep->tx_levels = ks_levels(ep->type);
	INIT_DELAYED_WORK(&ke->accept, ks_ep_accept_work);
	if (ep->type == KFI_EP_DGRAM)
		ep->ops = &ks_dgram_ops;
	/*
	 * A datagram can't prove the key, so DGRAM endpoints accept no key, not even one of the
	 * domain. It has no TLS, either.
	 */
	if (ep->type == KFI_EP_DGRAM && (ep->info->ep_attr->auth_key_size || ks_tls_on()))
		return -EOPNOTSUPP;
	ret = ep->sep ? 0 : kfi_inaddr_name_source(&to_ks_domain(ep->domain)->names, ep->info,
						   &ke->addr);
	return ret ?: kfi_proto_ep_open(ep, &ks_proto);
}

/* A context has the name of its scalable endpoint, which listens for it: kfi_conn_set_adopt(). */
static void ks_ctx_enable(struct ks_ep *ke, const struct ks_ep *top)
{
	ke->addr = top->addr;
	ke->pe.peers.incarnation = top->pe.peers.incarnation;
}

static int ks_ep_listen(struct ks_ep *ke)
{
	struct kfi_ep *ep = &ke->pe.ep;
	const struct kfi_info *info = ep->domain->info;
	int backlog = ks_proto.params.backlog, ret;

	if (!kfi_inaddr_port(&ke->addr) && kfi_proto_need_privilege(ep))
		ret = ks_listen_reserved(kfi_ep_net(ep), info, &ke->addr, backlog, &ke->accept,
					 &ke->listener);
	else
		ret = ks_listen(kfi_ep_net(ep), info, &ke->addr, backlog, &ke->accept,
				&ke->listener);
	if (!ret)
		ks_stay(&ke->stay, info, ke->listener);
	return ret;
}

int ks_ep_enable(struct kfi_ep *ep)
{
	struct ks_ep *ke = to_ks_ep(ep);

	if (ep->sep) {
		ks_ctx_enable(ke, to_ks_ep(ep->sep));
		return 0;
	}
	if (ep->type == KFI_EP_DGRAM)
		return ks_dgram_enable(ke);
	if (ep->type == KFI_EP_RDM)
		return ks_ep_listen(ke);
	return 0;
}

/* Accept no more connections and datagrams. Existing connections are not affected. */
static void ks_ep_unlisten(struct kfi_proto_ep *pe)
{
	struct ks_ep *ke = container_of(pe, struct ks_ep, pe);

	ks_stay_end(&ke->stay);
	if (ke->listener)
		ks_unlisten(ke->listener, &ke->accept);
	ke->listener = NULL;
	if (pe->ep.type == KFI_EP_DGRAM)
		ks_dgram_stop(ke, pe->conn_set.stop_err);
}

void ks_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, ks_ep_unlisten);
}

void ks_ep_close(struct kfi_ep *ep)
{
	if (ep->type == KFI_EP_DGRAM)
		ks_dgram_close(to_ks_ep(ep));
	kfi_proto_ep_close(ep);
}

int ks_ep_getname(struct kfi_ep *ep, void *addr)
{
	struct ks_ep *ke = to_ks_ep(ep->sep ?: ep);

	return kfi_inaddr_name_write(&to_ks_domain(ep->domain)->names, &ke->addr, addr);
}

int ks_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	return kfi_inaddr_name_set(&to_ks_domain(ep->domain)->names, addr, len,
				   &to_ks_ep(ep)->addr);
}

int ks_ep_getpeer(struct kfi_ep *ep, void *addr)
{
	const union kfi_inaddr *peer = (void *)to_proto_ep(ep)->peer_name;
	size_t len = kfi_inaddr_len(peer->sa.sa_family);

	memcpy(addr, peer, len);
	return len;
}

/* ---- passive endpoints ---- */

int ks_pep_open(struct kfi_pep *pep)
{
	struct ks_pep *kp = to_ks_pep(pep);

	kfi_proto_pep_open(pep, &ks_proto);
	INIT_DELAYED_WORK(&kp->accept, ks_pep_accept_work);
	return kfi_inaddr_source(pep->info, &kp->addr);
}

int ks_pep_listen(struct kfi_pep *pep)
{
	struct ks_pep *kp = to_ks_pep(pep);
	int ret;

	ret = ks_listen(read_pnet(&pep->fabric->net), pep->info, &kp->addr, pep->backlog,
			&kp->accept, &kp->listener);
	if (!ret)
		ks_stay(&kp->stay, pep->info, kp->listener);
	return ret;
}

int ks_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct ks_pep *kp = to_ks_pep(pep);
	size_t len = kfi_inaddr_len(kp->addr.sa.sa_family);

	memcpy(addr, &kp->addr, len);
	return len;
}

int ks_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	return kfi_inaddr_replace(&to_ks_pep(pep)->addr, addr, len);
}

void ks_pep_close(struct kfi_pep *pep)
{
	struct ks_pep *kp = to_ks_pep(pep);

	ks_stay_end(&kp->stay);
	if (kp->listener)
		ks_unlisten(kp->listener, &kp->accept);
	kp->listener = NULL;
	kfi_proto_pep_close(pep);
}
