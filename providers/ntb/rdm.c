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

static void nt_peer_put(struct kfi_peer_conn *pc)
{
	nt_conn_put(to_nt_conn(pc));
}

static void nt_peer_fail(struct kfi_peer_conn *pc, int err)
{
	nt_conn_fail(to_nt_conn(pc), err);
}

static bool nt_peer_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(NT_FAILED, &to_nt_conn(pc)->flags);
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
	struct nt_ep *nep = conn->nep;

	spin_lock_bh(&nep->lock);
	nep->nstrangers -= conn->stranger;
	conn->stranger = false;
	spin_unlock_bh(&nep->lock);
	trace_kfi_connect(&nep->ep);
	kfi_peer_publish(&conn->pc);
	nt_tx_kick(conn);
}

/* The list of @top is left for that of a context of it. Their locks are held. */
static bool nt_rdm_move(struct nt_conn *conn, struct nt_ep *top, struct nt_ep *nep)
{
	if (test_bit(NT_FAILED, &conn->flags) || nep->stopping || nep->nstrangers >= nt_backlog)
		return false;
	list_move_tail(&conn->entry, &nep->conns);
	conn->nep = nep;
	top->nstrangers--;
	nep->nstrangers++;
	wake_up_all(&top->idle);
	return true;
}

/* To the receive context that the peer has named, from the scalable endpoint that listens for all. False: there is none. */
static bool nt_rdm_adopt(struct nt_conn *conn, u32 rx_ctx)
{
	struct nt_ep *top = conn->nep, *nep;
	struct kfi_ep *ctx;
	bool there;

	rcu_read_lock();	/* it may be going: then it says so under its lock */
	ctx = kfi_ep_rx_ctx(&top->ep, rx_ctx);
	there = ctx;
	if (ctx && ctx != &top->ep) {
		nep = to_nt_ep(ctx);
		spin_lock_bh(&top->lock);
		spin_lock_nested(&nep->lock, SINGLE_DEPTH_NESTING);
		there = nt_rdm_move(conn, top, nep);
		spin_unlock(&nep->lock);
		spin_unlock_bh(&top->lock);
	}
	rcu_read_unlock();
	return there;
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

	if (!nt_rdm_adopt(conn, g->dst_ctx))
		return -ECONNREFUSED;
	ret = kfi_peer_admit(&conn->nep->peers, &conn->pc, &call);
	if (ret)
		return ret;
	spin_lock_bh(&conn->lock);
	nt_conn_open(conn);
	spin_unlock_bh(&conn->lock);
	if (nt_say(conn, NTW_ACCEPT, 0))
		nt_conn_fail(conn, -ECONNRESET);
	else
		nt_rdm_ready(conn);
	return 0;
}
