// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints: open, enable, stop, close, names.
 */
#include "verbs.h"

static int kv_rdm_open(struct kfi_ep *ep)
{
	if (ep->domain->prov_keys)
		return -EINVAL;		/* the domain's keys are the device's: only for MSG */
	return kfi_proto_ep_open(ep, &kv_proto);
}

int kv_ep_open(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);
	int ret = 0;

	ep->tx_levels = kv_levels(ep->type);
	spin_lock_init(&vep->reg_lock);
	INIT_LIST_HEAD(&vep->reg_queue);
	kv_listener_init(&vep->listener);
	spin_lock_init(&vep->rq.lock);
	INIT_LIST_HEAD(&vep->rq.waiting);
	if (!ep->sep)
		ret = kfi_inaddr_name_source(&to_kv_domain(ep->domain)->names, ep->info,
					     &vep->addr);
	if (ret)
		return ret;
	return kv_is_plain(ep->info) ? kv_plain_open(vep) : kv_rdm_open(ep);
}

/* A context has the name of its scalable endpoint, which listens for it: kfi_conn_set_adopt(). */
static void kv_ctx_enable(struct kv_ep *vep, const struct kv_ep *top)
{
	vep->addr = top->addr;
	vep->pe.peers.incarnation = top->pe.peers.incarnation;
}

static void kv_ep_unlisten(struct kfi_proto_ep *pe)
{
	kv_listener_close(&container_of(pe, struct kv_ep, pe)->listener);
}

static int kv_ep_listen(struct kv_ep *vep)
{
	return kv_cm_bind(&vep->listener, kfi_ep_net(&vep->pe.ep), &vep->addr,
			  kv_proto.params.backlog);
}

/* kv_ep_unlisten() waits for it. */
static int kv_ep_listen_again(struct kv_listener *listener)
{
	kv_cm_unbind(listener);
	return kv_ep_listen(container_of(listener, struct kv_ep, listener));
}

int kv_ep_enable(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);
	int ret;

	if (ep->sep) {
		kv_ctx_enable(vep, to_kv_ep(ep->sep));
		return 0;
	}
	if (ep->type != KFI_EP_RDM)
		return 0;
	vep->listener.called = kv_link_called;
	vep->listener.again = kv_ep_listen_again;
	vep->listener.refusal = &kv_front;
	vep->listener.refusal_len = sizeof(kv_front);
	vep->listener.only = to_kv_domain(ep->domain)->ib;
	vep->listener.moved = false;
	ret = kv_ep_listen(vep);
	if (!ret)
		kv_listener_open(&vep->listener);
	return ret;
}

/*
 * An operation may complete while its request is still in the send queue. So the close begins with
 * a shutdown. A peer that does not answer delays it by at most KV_CLOSE_MS.
 */
static void kv_ep_linger(struct kv_ep *vep)
{
	struct kfi_conn_set *set = &vep->pe.conn_set;

	if (!kv_msg_shutdown(&vep->pe.ep))
		wait_event_timeout(set->idle, list_empty(&set->conns),
				   msecs_to_jiffies(KV_CLOSE_MS));
}

/* Connections end in their own work items, which do not wait for a peer. */
void kv_ep_stop(struct kfi_ep *ep, int err)
{
	struct kv_ep *vep = to_kv_ep(ep);

	if (ep->type == KFI_EP_RDM) {
		kfi_proto_ep_stop(ep, err, kv_ep_unlisten);
		return;
	}
	kfi_conn_set_stop(&vep->pe.conn_set, err);
	if (err == -ECANCELED)
		kv_ep_linger(vep);
	kfi_conn_set_drain(&vep->pe.conn_set);
	kv_rq_end(vep, err);
}

void kv_ep_restart(struct kfi_ep *ep)
{
	kv_rq_restart(to_kv_ep(ep));
}

void kv_ep_close(struct kfi_ep *ep)
{
	kv_pd_close(to_kv_domain(ep->domain), to_kv_ep(ep));	/* RDM: does nothing */
	kfi_proto_ep_close(ep);
}

int kv_ep_getname(struct kfi_ep *ep, void *addr)
{
	return kfi_inaddr_name_write(&to_kv_domain(ep->domain)->names,
				     &to_kv_ep(ep->sep ?: ep)->addr, addr);
}

int kv_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	return kfi_inaddr_name_set(&to_kv_domain(ep->domain)->names, addr, len,
				   &to_kv_ep(ep)->addr);
}

/* ---- for `kfi show` ---- */

/* Called for MSG endpoints, which have one peer at most. */
void kv_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kfi_peer_info info = { .nr = 1, .state = "connected", .cpu = -1,
				      .protection = "none", .identity = "address" };
	struct kv_conn *conn;

	rcu_read_lock();
	conn = after ? NULL : kv_msg_conn(to_kv_ep(ep));
	if (conn) {
		kfi_inaddr_str(&conn->name, kfi_inaddr_len(conn->name.sa.sa_family), info.addr,
			       sizeof(info.addr));
		info.tx_bytes = READ_ONCE(conn->tx_bytes);
		info.rx_bytes = READ_ONCE(conn->rx_bytes);
		emit(arg, &info);
	}
	rcu_read_unlock();
}
