// SPDX-License-Identifier: GPL-2.0
/*
 * rdm.c - reliable-datagram endpoints: TCP connections to the peers that kfi.ko keeps for us, see kfi_peer.h.
 */
#include <linux/sched/mm.h>
#include <net/ip.h>
#include "sock.h"

int ks_rdm_tx(struct ks_ep *sep, struct kfi_oper *op)
{
	struct kfi_peer_conn *way;

	rcu_read_lock();
	way = kfi_peer_way(&sep->peers, op);
	if (!IS_ERR_OR_NULL(way))
		ks_tx_post(to_ks_conn(way), op);
	rcu_read_unlock();
	return PTR_ERR_OR_ZERO(way);
}

void ks_addr_removed(struct kfi_ep *ep, u32 index)
{
	kfi_peers_removed(&to_ks_ep(ep)->peers, index);
}

/* ---- dialling ---- */

/*
 * Without an authorization key a peer believes our name because the port that we call from is
 * reserved.
 */
static bool ks_dial_reserved(const struct ks_ep *sep)
{
	return ks_reserved_ports && sep->ep.type == KFI_EP_RDM && !sep->ep.unprivileged &&
	       !sep->ep.info->ep_attr->auth_key_size;
}

/*
 * Reserved ports in turn. Connections to different destinations share them (SO_REUSEADDR): who
 * has a port is known when TCP connects. In a work item, which may bind them in any namespace.
 */
static int ks_dial_bind_reserved(struct socket *sock, union kfi_inaddr *from)
{
	static atomic_t turn;
	struct net *net = sock_net(sock->sk);
	unsigned int tries, port;
	int ret = -EADDRINUSE;

	sock_set_reuseaddr(sock->sk);
	for (tries = KS_PORT_MIN; tries <= KS_PORT_MAX && ret == -EADDRINUSE; tries++) {
		port = KS_PORT_MAX - (unsigned int)atomic_inc_return(&turn) % (KS_PORT_MAX - KS_PORT_MIN + 1);
		if (inet_is_local_reserved_port(net, port))
			continue;
		kfi_inaddr_set_port(from, cpu_to_be16(port));
		ret = kernel_bind(sock, (void *)&from->sa, kfi_inaddr_len(from->sa.sa_family));
	}
	return ret;
}

/* From our own address, so that the peer knows us by it. */
static int ks_dial_socket(struct ks_ep *sep, int family, struct socket **sockp)
{
	union kfi_inaddr from = sep->addr;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(kfi_ep_net(&sep->ep), family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	ks_conn_tune(sock, sep->ep.info->tx_attr->tclass);
	kfi_inaddr_set_port(&from, 0);
	if (ks_dial_reserved(sep))
		ret = ks_dial_bind_reserved(sock, &from);
	else
		ret = kernel_bind(sock, (void *)&from.sa, kfi_inaddr_len(from.sa.sa_family));
	if (ret) {
		sock_release(sock);
		return ret;
	}
	*sockp = sock;
	return 0;
}

/* The port is taken: with the next one. In greet_work, which nobody takes the socket away from. */
int ks_dial_again(struct ks_conn *conn)
{
	struct socket *sock, *old = conn->sock;
	int ret = -EADDRNOTAVAIL;

	if (ks_dial_reserved(conn->sep))
		ret = ks_dial_socket(conn->sep, conn->name.sa.sa_family, &sock);
	if (ret)
		return ret;
	ks_conn_detach(conn);
	ks_conn_reclaimed(conn);
	conn->sock = sock;
	conn->sk = sock->sk;
	sock_release(old);
	ks_conn_reclaim(conn);
	ks_conn_attach(conn);
	return 0;
}

/* Messages say whom they are from by this; 0: the peer has no name in this domain. */
static void ks_conn_named(struct ks_conn *conn)
{
	const struct ks_domain *sdom = to_ks_domain(conn->sep->ep.domain);
	u8 raw[KFI_ADDR_MAX] __aligned(8);
	int len = kfi_inaddr_name_write(&sdom->names, &conn->name, raw);

	if (len > 0)
		memcpy(conn->av_name, raw, len);
}

/* A connection object that will dial @to, listed at its endpoint; with a reference for the caller. */
struct ks_conn *ks_dial(struct ks_ep *sep, const union kfi_inaddr *to, struct kfi_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */
	struct ks_conn *conn;
	struct socket *sock;
	int ret;

	ret = ks_dial_socket(sep, to->sa.sa_family, &sock);
	memalloc_noio_restore(noio);
	if (ret)
		return ERR_PTR(ret);
	conn = ks_conn_new(sep, NULL, sock);
	if (!conn) {
		sock_release(sock);
		return ERR_PTR(-ENOMEM);
	}
	conn->name = *to;
	ks_conn_named(conn);
	conn->pc.dialed = true;
	ret = ks_conn_alloc(conn);
	if (!ret && peer)
		ret = ks_held_join(conn);
	ret = ret ?: kfi_home_list(&sep->home, &conn->pc, peer);
	if (ret) {
		ks_held_down(conn);
		sock_release(sock);
		ks_conn_put(conn);
		return ERR_PTR(ret);
	}
	return conn;
}

/* Start the TCP connect, in greet_work, of a connection made by ks_dial(). What fails is reported through ks_conn_fail(). */
void ks_dial_start(struct ks_conn *conn)
{
	ks_greet_start(conn, KS_CALLING);
}

static struct kfi_peer_conn *ks_peer_dial(struct kfi_peer *peer)
{
	struct ks_conn *conn = ks_dial(to_ks_ep(peer->peers->ep), (void *)peer->name, peer);

	return IS_ERR(conn) ? ERR_CAST(conn) : &conn->pc;
}

/* ---- for kfi.ko ---- */

static int ks_peer_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	return kfi_inaddr_name_read(&to_ks_domain(ep->domain)->names, addr, name);
}

static void ks_peer_start(struct kfi_peer_conn *pc)
{
	ks_dial_start(to_ks_conn(pc));
}

static void ks_peer_queue(struct kfi_peer_conn *pc, struct kfi_oper *op)
{
	struct ks_conn *conn = to_ks_conn(pc);

	ks_op(op)->conn = conn;
	llist_add(&op->lnode, &conn->posted);
}

const struct kfi_peer_ops ks_peer_ops = {
	.name_len	= sizeof(union kfi_inaddr),
	.max_peers	= &ks_max_peers,
	.patience_ms	= &ks_connect_timeout_ms,
	.name		= ks_peer_name,
	.cmp		= kfi_inaddr_cmp,
	.dial		= ks_peer_dial,
	.start		= ks_peer_start,
	.put		= ks_peer_put,
	.fail		= ks_peer_fail,
	.probe		= ks_peer_probe,
	.failed		= ks_peer_failed,
	.queue		= ks_peer_queue,
	.show		= ks_show,
};

/* ---- hellos ---- */

/* In greet_work, which ks_conn_down() waits for. */
static void ks_rdm_publish(struct ks_conn *conn)
{
	ks_conn_start(conn);
	kfi_peer_publish(&conn->pc);
	ks_tx_kick(conn);
}

/* Our call was accepted. False: the peer's own call has been accepted by us in the meantime and stands. */
bool ks_rdm_ready(struct ks_conn *conn)
{
	if (!kfi_peer_stands(&conn->pc))
		return false;
	conn->pc.incarnation = conn->greeting.incarnation;
	ks_rdm_publish(conn);
	return true;
}

/*
 * Does the caller have to show by its port that its kernel, or an administrator's process, has
 * made the hello? See docs/wire-sockets.md. Peers of a process's endpoint are other processes,
 * which have no such ports.
 */
static bool ks_rdm_believed(const struct ks_conn *conn)
{
	return conn->auth || conn->reserved || !ks_reserved_ports || conn->sep->ep.unprivileged;
}

static bool ks_rdm_known(const struct ks_conn *conn)
{
	const struct kfi_ep *ep = &conn->sep->ep;

	return !ep->av_only || (ep->av && kfi_av_reverse(ep->av, conn->av_name) != KFI_ADDR_NOTAVAIL);
}

/*
 * A peer calls, and its hello says under which name. Port 0 is refused: no endpoint listens there.
 * Return: 0 admitted and ready; -EAGAIN: ks_rdm_admit() has to be called again; other negative:
 * the connection is to be closed.
 */
int ks_rdm_called(struct ks_conn *conn)
{
	const struct skw_greeting *g = &conn->greeting;
	int ret = -ECONNREFUSED;

	if (!g->port)
		return -EPROTO;
	kfi_inaddr_set_port(&conn->name, cpu_to_be16(g->port));
	ks_conn_named(conn);
	if (!ks_rdm_believed(conn))
		ret = -EACCES;
	else if (kfi_home_adopt(&conn->pc, g->dst_ctx))
		ret = ks_rdm_known(conn) ? ks_held_join(conn) ?: ks_conn_alloc(conn) : -EACCES;
	if (ret) {
		ks_greet_answer(conn, SKW_REJECT, -ret);
		return ret;
	}
	conn->deadline = jiffies + msecs_to_jiffies(READ_ONCE(ks_connect_timeout_ms));
	WRITE_ONCE(conn->state, KS_ADMITTING);
	return ks_rdm_admit(conn);
}

int ks_rdm_admit(struct ks_conn *conn)
{
	const struct skw_greeting *g = &conn->greeting;
	union kfi_inaddr self = conn->sep->addr;
	struct kfi_peer_call call = {
		.name = &conn->name,
		.self = &self,
		.src_ctx = g->src_ctx,
		.incarnation = g->incarnation,
		.stream = g->stream,
		.known = g->known,
	};
	int ret;

	kernel_getsockname(conn->sock, &self.sa);
	ret = kfi_peer_admit(&conn->sep->peers, &conn->pc, &call);
	if (ret == -EINPROGRESS)
		return -EAGAIN;
	if (ret) {
		ks_greet_answer(conn, SKW_REJECT, -ret);
		return ret;
	}
	kfi_home_known(&conn->pc);
	ret = ks_greet_answer(conn, SKW_ACCEPT, 0);
	if (ret)
		return ret;
	ks_rdm_publish(conn);
	return 0;
}
