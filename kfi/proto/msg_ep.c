// SPDX-License-Identifier: GPL-2.0
/* msg_ep.c - MSG endpoints: connect, accept, reject, shutdown; and passive endpoints. */
#include <linux/export.h>
#include "conn.h"

/*
 * Publish the connection, then report it, because the consumer may send as soon as it gets
 * KFI_CONNECTED; and start it last, so that no receive completes before the consumer may send. A
 * failure from here on is a lost connection, not a refused one.
 */
static void kfp_msg_established(struct kfi_proto_ep *pe, struct kfp_conn *conn)
{
	memcpy(pe->peer_name, conn->link.name, conn->ops->name_len);
	kfp_conn_prepare(conn);
	kfi_conn_set_publish(&conn->pc);
	if (kfi_ep_connected(&pe->ep, conn->data_in, conn->hello_info.data_len))
		kfp_conn_fail(conn, -ECANCELED);
	kfp_conn_start(conn);
	kfp_tx_kick(conn);
}

/* The peer has accepted the call of this side, or the ACCEPT of this side was sent. */
void kfp_msg_ready(struct kfp_conn *conn)
{
	kfp_msg_established(conn->ep, conn);
}

/*
 * Return the length of the private data of a complete answer. The private data of a request was
 * delivered with the request.
 */
static size_t kfp_data_in_len(const struct kfp_conn *conn)
{
	size_t len = conn->hello_info.data_len;

	return conn->pc.dialed && conn->rx.have == sizeof(conn->hello_in) + len ? len : 0;
}

/* Report the end of a connection or of an attempt; its operations have ended. */
void kfp_msg_lost(struct kfp_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->ep->ep;

	if (READ_ONCE(conn->ep->conn_set.stop_err))
		return;
	if (conn->state == KFP_READY) {
		kfi_ep_disconnected(ep, err);
		return;
	}
	if (err == -ECONNRESET)
		err = -ECONNREFUSED;
	kfi_ep_refused(ep, err, conn->data_in, kfp_data_in_len(conn));
}

/* Store the private data. The core has compared @len with KFI_PROTO_DATA_MAX. */
static void kfp_set_data(struct kfp_conn *conn, const void *data, size_t len)
{
	memcpy(conn->data_out, data, len);
	conn->data_out_len = len;
}

int kfi_proto_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	const struct kfi_link_ops *ops = pe->proto->ops;
	u8 to[KFI_ADDR_MAX] __aligned(8) = {};
	struct kfp_conn *conn;

	memcpy(to, addr, kfp_name_len(ops, addr));
	conn = kfp_dial(pe, to, NULL);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	kfp_set_data(conn, data, len);
	memcpy(pe->peer_name, to, ops->name_len);
	kfp_dial_start(conn);
	kfp_conn_put(conn);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_connect);

int kfi_proto_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct kfp_conn *conn = container_of(ep->connreq, struct kfp_conn, req);

	kfp_set_data(conn, data, len);
	if (!kfi_conn_set_accept(&conn->pc, &to_proto_ep(ep)->conn_set))
		kfi_ep_refused(ep, -ECONNABORTED, NULL, 0);	/* an event, as for each failure */
	kfp_conn_put(conn);	/* reference of the request */
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_accept);

/* Send the accept. Called in the hello work. */
int kfp_msg_accepted(struct kfp_conn *conn)
{
	int ret = kfp_conn_charge(conn, kfp_caller_payer(kfi_ep_account(&conn->ep->ep))) ?:
		  kfp_conn_alloc(conn);

	if (ret)
		return ret;
	kfp_account_msg_join(conn);
	conn->hello_info.data_len = 0;	/* delivered with the request */
	return kfp_hello_accept(conn);
}

/*
 * Shut the connection down. Operations that were posted before are sent and answered first; then a
 * BYE is sent, and both sides are shut down.
 */
int kfi_proto_shutdown(struct kfi_ep *ep)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	struct kfi_peer_conn *pc;
	struct kfp_conn *conn;

	rcu_read_lock();
	pc = kfi_conn_set_conn(&pe->conn_set);
	if (pc) {
		conn = to_kfp_conn(pc);
		smp_mb__before_atomic();	/* after all posts, pairs with kfp_bye_due() */
		set_bit(KFP_BYE_WANTED, &conn->flags);
		kfp_tx_kick(conn);
	}
	rcu_read_unlock();
	return pc ? 0 : -ENOTCONN;
}
EXPORT_SYMBOL_GPL(kfi_proto_shutdown);

/* ---- passive endpoints ---- */

int kfi_proto_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len)
{
	struct kfp_conn *conn = container_of(req, struct kfp_conn, req);

	kfp_set_data(conn, data, len);
	kfi_conn_set_reject(&conn->pc);
	kfp_conn_put(conn);	/* reference of the request */
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_reject);

void kfi_proto_pep_open(struct kfi_pep *pep, struct kfi_proto *proto)
{
	struct kfi_proto_pep *ppep = to_proto_pep(pep);

	ppep->proto = proto;
	kfi_conn_set_init(&ppep->conn_set, NULL, &proto->conn_set_ops);
}
EXPORT_SYMBOL_GPL(kfi_proto_pep_open);

/* Only the callers of this passive endpoint: the handshakes of others may take long. */
static void kfp_pep_answer(struct kfi_peer_conn *pc)
{
	flush_work(&to_kfp_conn(pc)->hello_work.work);
}

void kfi_proto_pep_close(struct kfi_pep *pep)
{
	struct kfi_proto_pep *ppep = to_proto_pep(pep);

	/* rejected callers get their answer */
	kfi_conn_set_each(&ppep->conn_set, kfp_pep_answer);
	kfi_conn_set_stop(&ppep->conn_set, -ECONNREFUSED);
	kfi_conn_set_drain(&ppep->conn_set);
}
EXPORT_SYMBOL_GPL(kfi_proto_pep_close);
