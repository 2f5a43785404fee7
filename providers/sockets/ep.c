// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: open, enable, stop, close, and who their peers are.
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

int ks_ep_open(struct kfi_ep *ep)
{
	struct ks_ep *sep = to_ks_ep(ep);

	ep->tx_levels = ks_levels(ep->type);
	kfi_peers_init(&sep->peers, ep, &ks_peer_ops, ks_cm_wq);
	kfi_home_init(&sep->home, &sep->peers, &ks_home_ops, ks_cm_wq);
	ks_helds_init(&sep->helds);
	INIT_DELAYED_WORK(&sep->accept, ks_ep_accept_work);
	/* Nothing in a datagram proves anything, so none is let in; also when the key is the domain's. */
	if (ep->type == KFI_EP_DGRAM && ep->info->ep_attr->auth_key_size)
		return -EOPNOTSUPP;
	if (ep->sep)
		return ep->ctx < KS_CTX_MAX ? 0 : -EINVAL;
	return kfi_inaddr_name_source(&to_ks_domain(ep->domain)->names, ep->info, &sep->addr);
}

/* A context goes by the name of its scalable endpoint, which listens for it: kfi_home_adopt(). */
static void ks_ctx_enable(struct ks_ep *sep, const struct ks_ep *top)
{
	sep->addr = top->addr;
	sep->peers.incarnation = top->peers.incarnation;
}

int ks_ep_enable(struct kfi_ep *ep)
{
	struct ks_ep *sep = to_ks_ep(ep);

	if (ep->sep) {
		ks_ctx_enable(sep, to_ks_ep(ep->sep));
		return 0;
	}
	if (ep->type == KFI_EP_DGRAM)
		return ks_dgram_enable(sep);
	if (ep->type == KFI_EP_RDM)
		return ks_listen(kfi_ep_net(ep), &sep->addr, ks_backlog, &sep->accept, &sep->listener);
	return 0;
}

/* Connections go down in their own works, which wait for nobody. */
void ks_ep_stop(struct kfi_ep *ep, int err)
{
	struct ks_ep *sep = to_ks_ep(ep);

	kfi_home_stop(&sep->home, err);
	if (sep->listener)
		ks_unlisten(sep->listener, &sep->accept);
	sep->listener = NULL;
	if (ep->type == KFI_EP_DGRAM)
		ks_dgram_stop(sep, err);
	kfi_home_drain(&sep->home);
}

void ks_ep_close(struct kfi_ep *ep)
{
	struct ks_ep *sep = to_ks_ep(ep);

	if (ep->type == KFI_EP_DGRAM)
		ks_dgram_close(sep);
	kfi_peers_free(&sep->peers);
}

int ks_ep_getname(struct kfi_ep *ep, void *addr)
{
	struct ks_ep *sep = to_ks_ep(ep->sep ?: ep);

	return kfi_inaddr_name_write(&to_ks_domain(ep->domain)->names, &sep->addr, addr);
}

int ks_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	return kfi_inaddr_name_set(&to_ks_domain(ep->domain)->names, addr, len, &to_ks_ep(ep)->addr);
}

/* ---- for `kfi show` ---- */

static const char *ks_conn_state(const struct ks_conn *conn)
{
	static const char * const names[] = {
		[KS_NEW] = "connecting", [KS_CALLING] = "connecting", [KS_DIALING] = "connecting",
		[KS_GREETING] = "handshake", [KS_ADMITTING] = "handshake", [KS_WAITING] = "waiting", [KS_ACCEPTED] = "handshake",
		[KS_REJECTED] = "rejected", [KS_READY] = "connected",
	};

	return test_bit(KS_FAILED, &conn->flags) ? "lost" : names[conn->state];
}

void ks_show(const void *name, const struct kfi_peer_conn *pc, struct kfi_peer_info *info)
{
	const union kfi_inaddr *addr = name;
	const struct ks_conn *conn;

	kfi_inaddr_str(addr, kfi_inaddr_len(addr->sa.sa_family), info->addr, sizeof(info->addr));
	if (!pc)
		return;
	conn = to_ks_conn(pc);
	info->state = ks_conn_state(conn);
	info->cpu = conn->cpu;
	info->tx_bytes = READ_ONCE(conn->tx.bytes);
	info->rx_bytes = READ_ONCE(conn->rx.bytes);
	info->pending = READ_ONCE(conn->tx.requests);
	info->unexpected_bytes = READ_ONCE(conn->unexpected);
}

void ks_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct ks_ep *sep = to_ks_ep(ep);

	kfi_home_show(&sep->home, &sep->peer_name, after, emit, arg);
}
