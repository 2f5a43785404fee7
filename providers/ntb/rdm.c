// SPDX-License-Identifier: GPL-2.0
/*
 * rdm.c - reliable-datagram endpoints: connections to the peers that kfi.ko keeps for us, see kfi_peer.h.
 */
#include "ntb.h"

int nt_rdm_tx(struct nt_ep *nep, struct kfi_oper *op)
{
	struct kfi_peer_conn *way;

	rcu_read_lock();
	way = kfi_peer_way(&nep->peers, op);
	if (!IS_ERR_OR_NULL(way))
		nt_tx_post(to_nt_conn(way), op);
	rcu_read_unlock();
	return PTR_ERR_OR_ZERO(way);
}

void nt_addr_removed(struct kfi_ep *ep, u32 index)
{
	kfi_peers_removed(&to_nt_ep(ep)->peers, index);
}

/* ---- for kfi.ko ---- */

static int nt_peer_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	memcpy(name, addr, sizeof(struct ntw_addr));
	return 0;
}

static struct kfi_peer_conn *nt_peer_dial(struct kfi_peer *peer)
{
	struct nt_conn *conn = nt_dial(to_nt_ep(peer->peers->ep), (void *)peer->name, peer);

	return IS_ERR(conn) ? ERR_CAST(conn) : &conn->pc;
}

static void nt_peer_start(struct kfi_peer_conn *pc)
{
	nt_step(to_nt_conn(pc), NT_STEP_CALL);
}

static void nt_peer_queue(struct kfi_peer_conn *pc, struct kfi_oper *op)
{
	struct nt_conn *conn = to_nt_conn(pc);

	nt_op(op)->conn = conn;
	spin_lock_bh(&conn->lock);
	list_add_tail(&op->link, &conn->queue);
	spin_unlock_bh(&conn->lock);
}

const struct kfi_peer_ops nt_peer_ops = {
	.name_len	= sizeof(struct ntw_addr),
	.max_peers	= &nt_max_peers,
	.patience_ms	= &nt_connect_timeout_ms,
	.name		= nt_peer_name,
	.cmp		= nt_addr_cmp,
	.dial		= nt_peer_dial,
	.start		= nt_peer_start,
	.put		= nt_peer_put,
	.fail		= nt_peer_fail,
	.failed		= nt_peer_failed,
	.queue		= nt_peer_queue,
	.show		= nt_show,
};

/* ---- calls ---- */

/* Our call was accepted. False: the peer's own call has been accepted by us in the meantime and stands. */
bool nt_rdm_accepted(struct nt_conn *conn)
{
	if (!kfi_peer_stands(&conn->pc))
		return false;
	conn->pc.incarnation = conn->peer.incarnation;
	return true;
}

/* Both sides may send. */
void nt_rdm_ready(struct nt_conn *conn)
{
	kfi_home_known(&conn->pc);
	trace_kfi_connect(&conn->nep->ep);
	kfi_peer_publish(&conn->pc);
	nt_tx_kick(conn);
}

/* A peer calls, and may. In step_work. Return: 0 admitted and ready, or on its way down; negative: refuse it. */
int nt_rdm_admit(struct nt_conn *conn)
{
	const struct ntw_calling *g = &conn->peer;
	struct ntw_addr self = conn->nep->addr;
	struct kfi_peer_call call = {
		.name = &conn->name,
		.self = &self,
		.src_ctx = g->src_ctx,
		.incarnation = g->incarnation,
		.stream = g->stream,
		.known = g->known,
	};
	int ret;

	if (!kfi_home_adopt(&conn->pc, g->dst_ctx))
		return -ECONNREFUSED;
	ret = kfi_peer_admit(&conn->nep->peers, &conn->pc, &call);
	if (ret)
		return ret;
	if (!nt_way_free(conn))
		return -EALREADY;	/* he calls again, and then it will be */
	if (nt_accept(conn))
		nt_rdm_ready(conn);
	return 0;
}
