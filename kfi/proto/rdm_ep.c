// SPDX-License-Identifier: GPL-2.0
/*
 * rdm_ep.c - RDM endpoints: hellos and removed addresses; and for "kfi show" the peers of any
 * endpoint. peers.c has the peers, conn.c dials.
 */
#include <linux/export.h>
#include "peers.h"

void kfi_proto_addr_removed(struct kfi_ep *ep, u32 index)
{
	kfi_peers_removed(&to_proto_ep(ep)->peers, index);
}
EXPORT_SYMBOL_GPL(kfi_proto_addr_removed);

/* ---- for "kfi show" ---- */

static const char *kfp_conn_state(const struct kfp_conn *conn)
{
	static const char * const names[] = {
		[KFP_NEW]	= "connecting",
		[KFP_CALLING]	= "connecting",
		[KFP_DIALING]	= "connecting",
		[KFP_HELLO]	= "handshake",
		[KFP_ADMITTING]	= "handshake",
		[KFP_WAITING]	= "waiting",
		[KFP_ACCEPTED]	= "handshake",
		[KFP_ANSWERED]	= "handshake",
		[KFP_REJECTED]	= "rejected",
		[KFP_READY]	= "connected",
	};

	return kfp_conn_failed(&conn->pc) ? "lost" : names[READ_ONCE(conn->state)];
}

/* What has shown who the peer is: the strongest proof that the connection needed. */
static const char *kfp_conn_identity(const struct kfi_proto_ep *pe, const struct kfp_conn *conn)
{
	if (pe->proto->identity)
		return pe->proto->identity;
	if (kfi_auth_secret(&pe->ep))
		return "key";
	return conn->link.privileged ? "port" : "address";
}

void kfp_peer_info(const struct kfi_proto_ep *pe, const void *name, const struct kfi_peer_conn *pc,
		   struct kfi_peer_info *info)
{
	const struct kfi_proto *proto = pe->proto;
	const struct kfp_conn *conn;

	proto->addr_str(name, kfp_name_len(proto->ops, name), info->addr, sizeof(info->addr));
	if (!pc)
		return;
	conn = to_kfp_conn(pc);
	info->state = kfp_conn_state(conn);
	if (READ_ONCE(conn->state) == KFP_READY) {
		info->protection = proto->protection ?: "none";
		info->identity = kfp_conn_identity(pe, conn);
	}
	info->cpu = conn->link.cpu;
	info->tx_bytes = READ_ONCE(conn->link.posted);
	info->rx_bytes = READ_ONCE(conn->rx.bytes);
	info->pending = READ_ONCE(conn->tx.requests);
	info->unexpected_bytes = READ_ONCE(conn->messages.unexpected);
}

void kfi_proto_peers(struct kfi_ep *ep, u32 after,
		     int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	struct kfi_peer_info info = { .nr = 1 };
	struct kfi_peer_conn *pc;

	rcu_read_lock();
	pc = kfi_conn_set_conn(&pe->conn_set);
	if (pc && !after) {
		kfp_peer_info(pe, pe->peer_name, pc, &info);
		emit(arg, &info);
	}
	rcu_read_unlock();
	kfi_peers_show(&pe->peers, after, emit, arg);
}
EXPORT_SYMBOL_GPL(kfi_proto_peers);

/* ---- hellos ---- */

/* Called in the hello work, which kfp_conn_down() waits for. */
void kfp_rdm_publish(struct kfp_conn *conn)
{
	kfp_conn_prepare(conn);
	kfp_conn_start(conn);
	kfi_peer_publish(&conn->pc);
	kfp_tx_kick(conn);
}

/*
 * The peer has accepted the call of this side. Return false if this side has accepted a call of the
 * peer meanwhile, and that connection is kept.
 */
bool kfp_rdm_ready(struct kfp_conn *conn)
{
	if (!kfi_peer_is_dialing(&conn->pc))
		return false;
	conn->pc.incarnation = conn->hello_info.incarnation;
	kfp_rdm_publish(conn);
	return true;
}

static bool kfp_rdm_in_av(const struct kfp_conn *conn)
{
	const struct kfi_ep *ep = &conn->ep->ep;

	return !ep->av_only ||
	       (ep->av && kfi_av_reverse(ep->av, conn->av_name) != KFI_ADDR_NOTAVAIL);
}

/*
 * Handle the hello of a caller, which contains its name. Port 0 is refused, because no endpoint
 * listens there.
 *
 * Return: 0 if the caller is admitted and the connection is ready; -EAGAIN if the hello work has to
 * continue; other negative values end the connection.
 */
int kfp_rdm_called(struct kfp_conn *conn)
{
	const struct kfw_hello_info *info = &conn->hello_info;
	int ret = -ECONNREFUSED;

	if (!info->port)
		return -EPROTO;
	if (conn->ops->set_port)
		conn->ops->set_port(conn->link.name, info->port);
	kfp_conn_named(conn);
	if (!kfp_trusted(conn))
		ret = -EACCES;
	else if (kfi_conn_set_adopt(&conn->pc, info->dst_ctx))
		ret = kfp_rdm_in_av(conn) ? kfp_account_join(conn) ?: kfp_conn_alloc(conn) :
					    -EACCES;
	if (ret)
		return kfp_hello_refuse(conn, -ret, ret);
	conn->deadline = kfp_now(conn) +
			 msecs_to_jiffies(READ_ONCE(kfp_params(conn)->connect_timeout_ms));
	WRITE_ONCE(conn->state, KFP_ADMITTING);
	return kfp_rdm_admit(conn);
}

int kfp_rdm_admit(struct kfp_conn *conn)
{
	const struct kfw_hello_info *info = &conn->hello_info;
	u8 self[KFI_ADDR_MAX] __aligned(8);
	struct kfi_peer_call call = {
		.name = conn->link.name,
		.self = self,
		.src_ctx = info->src_ctx,
		.incarnation = info->incarnation,
		.call_id = info->call_id,
		.known = info->known,
	};
	int ret;

	conn->ops->self(&conn->link, self);
	ret = kfi_peer_admit(&conn->ep->peers, &conn->pc, &call);
	if (ret == -EINPROGRESS)
		return -EAGAIN;
	if (ret)
		return kfp_hello_refuse(conn, -ret, ret);
	kfi_conn_set_admitted(&conn->pc);
	return kfp_hello_accept(conn);
}
