// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: open, enable, stop, close, and who their peers are.
 */
#include "verbs.h"

int kv_ep_open(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);
	int ret = 0;

	ep->tx_levels = kv_levels(ep->info->ep_attr);
	kfi_peers_init(&vep->peers, ep, &kv_peer_ops, kv_cm_wq);
	kfi_home_init(&vep->home, &vep->peers, &kv_home_ops, kv_cm_wq);
	kv_door_init(&vep->door);
	spin_lock_init(&vep->fresh_lock);
	INIT_LIST_HEAD(&vep->fresh);
	spin_lock_init(&vep->held_lock);
	INIT_LIST_HEAD(&vep->held);
	spin_lock_init(&vep->rq.lock);
	INIT_LIST_HEAD(&vep->rq.waiting);
	if (!kv_is_plain(ep->info) && ep->domain->prov_keys)
		return -EINVAL;		/* they name our regions by keys of ours */
	if (ep->sep)
		return ep->ctx < KV_CTX_MAX ? 0 : -EINVAL;
	if (kv_is_plain(ep->info))
		ret = kv_plain_open(vep);
	if (ret)
		return ret;
	return kfi_inaddr_name_source(&to_kv_domain(ep->domain)->names, ep->info, &vep->addr);
}

/* A context goes by the name of its scalable endpoint, which listens for it: kfi_home_adopt(). */
static void kv_ctx_enable(struct kv_ep *vep, const struct kv_ep *top)
{
	vep->addr = top->addr;
	vep->peers.incarnation = top->peers.incarnation;
}

int kv_ep_enable(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);

	if (ep->sep) {
		kv_ctx_enable(vep, to_kv_ep(ep->sep));
		return 0;
	}
	if (ep->type == KFI_EP_RDM)
		return kv_cm_listen(kfi_ep_net(ep), &vep->addr, kv_backlog, kv_cm_ep_handler, vep, &vep->id);
	return 0;
}

/* What is in the send queues has reached the peers; or nobody waits for that connection. */
static bool kv_ep_settled(struct kv_ep *vep)
{
	struct kv_conn *conn;
	bool settled = true;

	spin_lock_bh(&vep->home.lock);
	list_for_each_entry(conn, &vep->home.conns, pc.entry)
		settled &= kv_conn_settled(conn);
	spin_unlock_bh(&vep->home.lock);
	return settled;
}

/* Consumers may have been told that what is there is sent. A peer that has gone does not hold us up for long. */
static void kv_ep_settle(struct kv_ep *vep)
{
	unsigned long until = jiffies + msecs_to_jiffies(KV_SETTLE_MS);

	while (!wait_event_timeout(vep->home.idle, kv_ep_settled(vep), msecs_to_jiffies(20)))
		if (time_after(jiffies, until))
			return;
}

/* Connections go down in their own works, which wait for no peer. */
void kv_ep_stop(struct kfi_ep *ep, int err)
{
	struct kv_ep *vep = to_kv_ep(ep);

	kfi_home_stop(&vep->home, err);
	if (vep->id)
		rdma_destroy_id(vep->id);
	vep->id = NULL;
	kv_door_close(&vep->door);
	if (err == -ECANCELED)
		kv_ep_settle(vep);
	kfi_home_drain(&vep->home);
	kv_rq_end(vep, err);
}

void kv_ep_restart(struct kfi_ep *ep)
{
	kv_rq_restart(to_kv_ep(ep));
}

void kv_ep_close(struct kfi_ep *ep)
{
	kfi_peers_free(&to_kv_ep(ep)->peers);
}

int kv_ep_getname(struct kfi_ep *ep, void *addr)
{
	return kfi_inaddr_name_write(&to_kv_domain(ep->domain)->names,
				     &to_kv_ep(ep->sep ?: ep)->addr, addr);
}

int kv_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	return kfi_inaddr_name_set(&to_kv_domain(ep->domain)->names, addr, len, &to_kv_ep(ep)->addr);
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

void kv_show(const union kfi_inaddr *name, const struct kv_conn *conn, struct kfi_peer_info *info)
{
	kfi_inaddr_str(name, kfi_inaddr_len(name->sa.sa_family), info->addr, sizeof(info->addr));
	if (!conn)
		return;
	info->state = kv_conn_state(conn);
	info->cpu = -1;
	info->tx_bytes = READ_ONCE(conn->tx_bytes);
	info->rx_bytes = READ_ONCE(conn->rx_bytes);
	info->pending = READ_ONCE(conn->requests);
}

void kv_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kv_ep *vep = to_kv_ep(ep);

	kfi_home_show(&vep->home, &vep->peer_name, after, emit, arg);
}
