// SPDX-License-Identifier: GPL-2.0
/*
 * rdm.c - reliable-datagram endpoints: connections to the peers that kfi.ko keeps for us, see kfi_peer.h.
 */
#include "verbs.h"

/* Inside rcu_read_lock(), see @tx of struct kfi_prov_ops. */
int kv_rdm_tx(struct kv_ep *vep, struct kfi_oper *op)
{
	struct kfi_peer_conn *way = kfi_peer_way(&vep->peers, op);

	if (!IS_ERR_OR_NULL(way))
		kv_tx_post(to_kv_conn(way), op);
	return PTR_ERR_OR_ZERO(way);
}

void kv_addr_removed(struct kfi_ep *ep, u32 index)
{
	kfi_peers_removed(&to_kv_ep(ep)->peers, index);
}

/* ---- for kfi.ko ---- */

int kv_peer_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	const struct kfi_inaddr_names *names = &to_kv_domain(ep->domain)->names;

	return kfi_inaddr_name_read(names, addr, name) ?: kfi_inaddr_check(names->family, name);
}

/* Messages say by this whom they are from; all 0: the peer has no name in this domain. */
void kv_conn_named(struct kv_conn *conn)
{
	const struct kv_domain *kdom = to_kv_domain(conn->vep->ep.domain);
	u8 raw[KFI_ADDR_MAX] __aligned(8);
	int len = kfi_inaddr_name_write(&kdom->names, &conn->name, raw);

	if (len > 0)
		memcpy(conn->av_name, raw, len);
}

static struct kfi_peer_conn *kv_peer_dial(struct kfi_peer *peer)
{
	struct kv_conn *conn = kv_dial(to_kv_ep(peer->peers->ep), (void *)peer->name, peer);

	return IS_ERR(conn) ? ERR_CAST(conn) : &conn->pc;
}

static void kv_peer_start(struct kfi_peer_conn *pc)
{
	kv_cm_step(to_kv_conn(pc), KV_STEP_CALL);
}

static void kv_peer_queue(struct kfi_peer_conn *pc, struct kfi_oper *op)
{
	struct kv_conn *conn = to_kv_conn(pc);

	kv_op(op)->conn = conn;
	spin_lock_bh(&conn->lock);
	list_add_tail(&op->link, &conn->queue);
	conn->waits = true;
	spin_unlock_bh(&conn->lock);
}

static void kv_peer_show(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *pc,
			 struct kfi_peer_info *info)
{
	kv_show(name, pc ? to_kv_conn(pc) : NULL, info);
}

const struct kfi_peer_ops kv_peer_ops = {
	.name_len	= sizeof(union kfi_inaddr),
	.max_peers	= &kv_max_peers,
	.patience_ms	= &kv_connect_timeout_ms,
	.name		= kv_peer_name,
	.cmp		= kfi_inaddr_cmp,
	.dial		= kv_peer_dial,
	.start		= kv_peer_start,
	.put		= kv_peer_put,
	.fail		= kv_peer_fail,
	.failed		= kv_peer_failed,
	.queue		= kv_peer_queue,
	.show		= kv_peer_show,
};

/* ---- hellos ---- */

/* Our call was accepted. False: the peer's own call has been accepted by us in the meantime and stands. */
bool kv_rdm_accepted(struct kv_conn *conn)
{
	if (!kfi_peer_stands(&conn->pc))
		return false;
	conn->pc.incarnation = conn->greeting.incarnation;
	return true;
}

/* Both sides may send. */
void kv_rdm_ready(struct kv_conn *conn)
{
	kfi_home_known(&conn->pc);
	trace_kfi_connect(&conn->vep->ep);
	kfi_peer_publish(&conn->pc);
}

void kv_rdm_lost(struct kv_conn *conn, int err)
{
	if (conn->pc.ready)
		trace_kfi_disconnect(&conn->vep->ep, err);
	kfi_peer_lost(&conn->pc, err);
}

/*
 * A peer calls, and may. What ends the connection before comes from the list that it is on: rdma_cm has nothing to say about it yet.
 * Return: 0, or why it is refused.
 */
int kv_rdm_admit(struct kv_conn *conn)
{
	const struct kvw_greeting *g = &conn->greeting;
	union kfi_inaddr self;
	struct kfi_peer_call call = {
		.name = &conn->name,
		.self = &self,
		.src_ctx = g->src_ctx,
		.incarnation = g->incarnation,
		.stream = g->stream,
		.known = g->known,
	};

	kv_conn_named(conn);
	kv_cm_name(&self, &conn->id->route.addr.src_addr, kfi_inaddr_port(&conn->vep->addr));
	if (!g->incarnation || !kfi_home_adopt(&conn->pc, g->dst_ctx))
		return -ECONNREFUSED;
	if (!kv_held_admits(conn))
		return -EBUSY;
	return kfi_peer_admit(&conn->vep->peers, &conn->pc, &call);
}
