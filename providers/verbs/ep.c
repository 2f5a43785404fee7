// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: open, enable, stop, close, and who their peers are.
 */
#include <linux/random.h>
#include "verbs.h"

int kv_ep_open(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);

	ep->tx_levels = kv_levels(ep->type);
	spin_lock_init(&vep->lock);
	INIT_LIST_HEAD(&vep->conns);
	init_waitqueue_head(&vep->idle);
	return kfi_inaddr_source(ep->info, &vep->addr);
}

int kv_ep_enable(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);

	do {
		vep->incarnation = get_random_u64();
	} while (!vep->incarnation);
	return 0;
}

/* Fail every connection that is left; the first of them, or NULL. */
static struct kv_conn *kv_ep_first(struct kv_ep *vep)
{
	struct kv_conn *conn;

	spin_lock_bh(&vep->lock);
	list_for_each_entry(conn, &vep->conns, entry)
		kv_conn_fail(conn, vep->stop_err);
	conn = list_first_entry_or_null(&vep->conns, struct kv_conn, entry);
	spin_unlock_bh(&vep->lock);
	return conn;
}

/* Connections go down in their own works, which wait for no peer. */
void kv_ep_stop(struct kfi_ep *ep, int err)
{
	struct kv_ep *vep = to_kv_ep(ep);

	spin_lock_bh(&vep->lock);
	vep->stopping = true;
	vep->stop_err = err;
	spin_unlock_bh(&vep->lock);
	wait_event(vep->idle, !kv_ep_first(vep));
	flush_workqueue(kv_cm_wq);	/* the last kv_conn_down() may still be in its last lines */
}

void kv_ep_close(struct kfi_ep *ep)
{
}

int kv_ep_getname(struct kfi_ep *ep, void *addr)
{
	memcpy(addr, &to_kv_ep(ep)->addr, ep->domain->addrlen);
	return ep->domain->addrlen;
}

int kv_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	struct kv_ep *vep = to_kv_ep(ep);

	if (len != ep->domain->addrlen || ((const union kfi_inaddr *)addr)->sa.sa_family != to_kv_domain(ep->domain)->family)
		return -EINVAL;
	memcpy(&vep->addr, addr, len);
	return 0;
}

/* ---- for `kfi show` ---- */

static const char *kv_conn_state(const struct kv_conn *conn)
{
	static const char * const names[] = {
		[KV_NEW] = "connecting", [KV_CALLING] = "connecting", [KV_WAITING] = "waiting",
		[KV_ACCEPTED] = "handshake", [KV_READY] = "connected",
	};

	return test_bit(KV_FAILED, &conn->flags) ? "lost" : names[conn->state];
}

void kv_ep_peers(struct kfi_ep *ep, int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kv_ep *vep = to_kv_ep(ep);
	struct kfi_peer_info info;
	struct kv_conn *conn;

	spin_lock_bh(&vep->lock);
	list_for_each_entry(conn, &vep->conns, entry) {
		info = (struct kfi_peer_info) {
			.state = kv_conn_state(conn),
			.cpu = -1,
			.tx_bytes = READ_ONCE(conn->tx_bytes),
			.rx_bytes = READ_ONCE(conn->rx_bytes),
			.pending = READ_ONCE(conn->requests),
		};
		kfi_inaddr_str(&conn->name, kfi_inaddr_len(conn->name.sa.sa_family), info.addr, sizeof(info.addr));
		if (emit(arg, &info))
			break;
	}
	spin_unlock_bh(&vep->lock);
}
