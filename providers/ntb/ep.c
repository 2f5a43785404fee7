// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: open, enable, stop, close, and who their peers are.
 */
#include "ntb.h"

int nt_ep_open(struct kfi_ep *ep)
{
	struct nt_ep *nep = to_nt_ep(ep);

	nep->dev = to_nt_domain(ep->domain)->dev;
	ep->tx_levels = nt_levels();
	kfi_peers_init(&nep->peers, ep, &nt_peer_ops, nt_cm_wq);
	kfi_home_init(&nep->home, &nep->peers, &nt_home_ops, nt_cm_wq);
	nep->listener.nep = nep;
	if (ep->sep)
		return ep->ctx < NT_CTX_MAX ? 0 : -EINVAL;
	return nt_source(ep->info, nep->dev, &nep->addr);
}

/* A context goes by the name of its scalable endpoint, which listens for it: kfi_home_adopt(). */
static void nt_ctx_enable(struct nt_ep *nep, const struct nt_ep *top)
{
	nep->addr = top->addr;
	nep->peers.incarnation = top->peers.incarnation;
}

int nt_ep_enable(struct kfi_ep *ep)
{
	struct nt_ep *nep = to_nt_ep(ep);
	int ret;

	if (ep->sep) {
		nt_ctx_enable(nep, to_nt_ep(ep->sep));
		return 0;
	}
	if (ep->type != KFI_EP_RDM)
		return 0;
	nep->listener.port = le32_to_cpu(nep->addr.port);
	ret = nt_port_take(nep->dev, &nep->listener);
	if (ret)
		nep->listener.port = 0;
	else
		nep->addr.port = cpu_to_le32(nep->listener.port);
	return ret;
}

/* Connections go down in their own works, which wait for nobody but the engine. */
void nt_ep_stop(struct kfi_ep *ep, int err)
{
	struct nt_ep *nep = to_nt_ep(ep);

	kfi_home_stop(&nep->home, err);
	nt_port_give(nep->dev, &nep->listener);
	kfi_home_drain(&nep->home);
}

void nt_ep_close(struct kfi_ep *ep)
{
	kfi_peers_free(&to_nt_ep(ep)->peers);
}

int nt_ep_getname(struct kfi_ep *ep, void *addr)
{
	struct nt_ep *nep = to_nt_ep(ep->sep ?: ep);

	memcpy(addr, &nep->addr, sizeof(nep->addr));
	return sizeof(nep->addr);
}

int nt_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	struct nt_ep *nep = to_nt_ep(ep);
	struct ntw_addr name;

	if (len != sizeof(name))
		return -EINVAL;
	memcpy(&name, addr, len);
	if (le32_to_cpu(name.side) != nt_link_side(nep->dev->link) || le32_to_cpu(name.port) > INT_MAX)
		return -EINVAL;
	nep->addr = name;
	return 0;
}

/* ---- for `kfi show` ---- */

static const char *nt_conn_state(const struct nt_conn *conn)
{
	static const char * const names[] = {
		[NT_NEW] = "connecting", [NT_CALLING] = "handshake", [NT_ASKED] = "handshake", [NT_WAITING] = "waiting",
		[NT_READY] = "connected",
	};

	return test_bit(NT_FAILED, &conn->flags) ? "lost" : names[conn->state];
}

void nt_show(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *pc,
	     struct kfi_peer_info *info)
{
	const struct nt_conn *conn;

	nt_addr_str(name, sizeof(struct ntw_addr), info->addr, sizeof(info->addr));
	info->cpu = -1;
	if (!pc)
		return;
	conn = to_nt_conn(pc);
	info->state = nt_conn_state(conn);
	info->tx_bytes = READ_ONCE(conn->tx_bytes);
	info->rx_bytes = READ_ONCE(conn->rx_bytes);
	info->pending = NT_SENDS - READ_ONCE(conn->nidle);
	info->unexpected_bytes = READ_ONCE(conn->unexpected);
}

void nt_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct nt_ep *nep = to_nt_ep(ep);

	kfi_home_show(&nep->home, &nep->peer_name, after, emit, arg);
}
