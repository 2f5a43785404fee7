// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - connected endpoints: passive endpoints, connect, accept, reject, shutdown.
 */
#include <linux/slab.h>
#include "sock.h"

/* ---- data path ---- */

/* The connection in use; inside rcu_read_lock(). NULL: there is none. */
static struct ks_conn *ks_msg_way(struct ks_ep *sep)
{
	struct kfi_peer_conn *way = kfi_home_way(&sep->home);

	return likely(way) ? to_ks_conn(way) : NULL;
}

int ks_msg_tx(struct ks_ep *sep, struct kfi_oper *op)
{
	struct ks_conn *conn;
	int ret = 0;

	rcu_read_lock();
	conn = ks_msg_way(sep);
	if (unlikely(!conn))
		ret = -ENOTCONN;
	else if (unlikely(test_bit(KS_BYE_WANTED, &conn->flags)))
		ret = -ESHUTDOWN;
	else
		ks_tx_post(conn, op);
	rcu_read_unlock();
	return ret;
}

/* ---- connecting ---- */

/*
 * The consumer may send as soon as it hears KFI_CONNECTED: publish first. What fails from here on is a lost connection, no
 * refused one.
 */
static void ks_msg_established(struct ks_ep *sep, struct ks_conn *conn)
{
	sep->peer_name = conn->name;
	ks_conn_start(conn);
	kfi_home_publish(&conn->pc);
	if (kfi_ep_connected(&sep->ep, conn->data_in, conn->greeting.data_len))
		ks_conn_fail(conn, -ECANCELED);
}

/* Our call was accepted. */
void ks_msg_ready(struct ks_conn *conn)
{
	ks_msg_established(conn->sep, conn);
}

/* Of an answer that has come whole; the request's was delivered with the request. */
static size_t ks_data_in_len(const struct ks_conn *conn)
{
	size_t len = conn->greeting.data_len;

	return conn->pc.dialed && conn->hello_have == sizeof(conn->hello_in) + len ? len : 0;
}

/* The connection, or the attempt, is over; its operations have ended. */
void ks_msg_lost(struct ks_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->sep->ep;

	if (READ_ONCE(conn->sep->home.stop_err))
		return;
	if (conn->state == KS_READY) {
		kfi_ep_disconnected(ep, err);
		return;
	}
	if (err == -ECONNRESET)
		err = -ECONNREFUSED;
	kfi_ep_refused(ep, err, conn->data_in, ks_data_in_len(conn));
}

/* kfi.ko has compared @len with our cm_data_size. */
static void ks_set_data(struct ks_conn *conn, const void *data, size_t len)
{
	memcpy(conn->data_out, data, len);
	conn->data_out_len = len;
}

int ks_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	struct ks_ep *sep = to_ks_ep(ep);
	union kfi_inaddr to = {};
	struct ks_conn *conn;

	memcpy(&to, addr, kfi_inaddr_len(sep->addr.sa.sa_family));
	conn = ks_dial(sep, &to, NULL);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ks_set_data(conn, data, len);
	sep->peer_name = to;
	ks_dial_start(conn);
	ks_conn_put(conn);
	return 0;
}

int ks_msg_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct ks_conn *conn = container_of(ep->connreq, struct ks_conn, req);

	ks_set_data(conn, data, len);
	if (!kfi_home_accept(&conn->pc, &to_ks_ep(ep)->home))
		kfi_ep_refused(ep, -ECONNABORTED, NULL, 0);	/* an event, like every other failure */
	ks_conn_put(conn);	/* the request's */
	return 0;
}

/* In greet_work. */
int ks_msg_accepted(struct ks_conn *conn)
{
	int ret = ks_conn_alloc(conn) ?: ks_greet_answer(conn, SKW_ACCEPT, 0);

	if (ret)
		return ret;
	conn->greeting.data_len = 0;	/* the request's data was delivered with the request */
	ks_msg_established(conn->sep, conn);
	return 0;
}

/* What was posted before is sent and answered first; then the peer hears of it, and both sides are shut. */
int ks_msg_shutdown(struct kfi_ep *ep)
{
	struct ks_ep *sep = to_ks_ep(ep);
	struct ks_conn *conn;

	rcu_read_lock();
	conn = ks_msg_way(sep);
	if (conn) {
		smp_mb__before_atomic();	/* after all posts: ks_bye_due() */
		set_bit(KS_BYE_WANTED, &conn->flags);
		ks_tx_kick(conn);
	}
	rcu_read_unlock();
	return conn ? 0 : -ENOTCONN;
}

int ks_msg_getpeer(struct kfi_ep *ep, void *addr)
{
	struct ks_ep *sep = to_ks_ep(ep);
	size_t len = kfi_inaddr_len(sep->peer_name.sa.sa_family);

	memcpy(addr, &sep->peer_name, len);
	return len;
}

/* ---- passive endpoints ---- */

int ks_pep_open(struct kfi_pep *pep)
{
	struct ks_pep *spep = to_ks_pep(pep);

	kfi_home_init(&spep->home, NULL, &ks_home_ops, ks_cm_wq);
	INIT_DELAYED_WORK(&spep->accept, ks_pep_accept_work);
	return kfi_inaddr_source(pep->info, &spep->addr);
}

int ks_pep_listen(struct kfi_pep *pep)
{
	struct ks_pep *spep = to_ks_pep(pep);

	return ks_listen(read_pnet(&pep->fabric->net), &spep->addr, pep->backlog, &spep->accept, &spep->listener);
}

int ks_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct ks_pep *spep = to_ks_pep(pep);
	size_t len = kfi_inaddr_len(spep->addr.sa.sa_family);

	memcpy(addr, &spep->addr, len);
	return len;
}

int ks_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	return kfi_inaddr_replace(&to_ks_pep(pep)->addr, addr, len);
}

int ks_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len)
{
	struct ks_conn *conn = container_of(req, struct ks_conn, req);

	ks_set_data(conn, data, len);
	kfi_home_reject(&conn->pc);
	ks_conn_put(conn);	/* the request's */
	return 0;
}

void ks_pep_close(struct kfi_pep *pep)
{
	struct ks_pep *spep = to_ks_pep(pep);

	if (spep->listener)
		ks_unlisten(spep->listener, &spep->accept);
	spep->listener = NULL;
	flush_workqueue(ks_cm_wq);	/* what was rejected is told why */
	kfi_home_stop(&spep->home, -ECONNREFUSED);
	kfi_home_drain(&spep->home);
}
