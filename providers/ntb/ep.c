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
	spin_lock_init(&nep->lock);
	kfi_peers_init(&nep->peers, ep, &nt_peer_ops, nt_cm_wq);
	INIT_LIST_HEAD(&nep->conns);
	init_waitqueue_head(&nep->idle);
	nep->listener.nep = nep;
	if (ep->sep)
		return ep->ctx < NT_CTX_MAX ? 0 : -EINVAL;
	return nt_source(ep->info, nep->dev, &nep->addr);
}

/* A context goes by the name of its scalable endpoint, which listens for it: nt_rdm_adopt(). */
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

/* Fail every connection that is left; the first of them, or NULL. */
static struct nt_conn *nt_ep_first(struct nt_ep *nep)
{
	struct nt_conn *conn;

	spin_lock_bh(&nep->lock);
	list_for_each_entry(conn, &nep->conns, entry)
		nt_conn_fail(conn, nep->stop_err);
	conn = list_first_entry_or_null(&nep->conns, struct nt_conn, entry);
	spin_unlock_bh(&nep->lock);
	return conn;
}

/* Connections go down in their own works, which wait for nobody but the engine; all together take one grace period or two. */
void nt_ep_stop(struct kfi_ep *ep, int err)
{
	struct nt_ep *nep = to_nt_ep(ep);

	kfi_peers_stop(&nep->peers);
	spin_lock_bh(&nep->lock);
	nep->stopping = true;
	nep->stop_err = err;
	spin_unlock_bh(&nep->lock);
	nt_port_give(nep->dev, &nep->listener);
	wait_event(nep->idle, !nt_ep_first(nep));
	synchronize_rcu();		/* posters that saw us running have parked their operations */
	kfi_peers_flush(&nep->peers, err);
	flush_workqueue(nt_cm_wq);	/* the last nt_conn_down() may still be in its last lines */
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

void nt_show(const void *name, const struct kfi_peer_conn *pc, struct kfi_peer_info *info)
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

void nt_ep_peers(struct kfi_ep *ep, int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct nt_ep *nep = to_nt_ep(ep);
	struct kfi_peer_info info = {};
	struct nt_conn *conn;

	rcu_read_lock();
	conn = rcu_dereference(nep->conn);
	if (conn) {
		nt_show(&conn->name, &conn->pc, &info);
		emit(arg, &info);
	}
	rcu_read_unlock();
	kfi_peers_show(&nep->peers, emit, arg);
}
