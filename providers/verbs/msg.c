// SPDX-License-Identifier: GPL-2.0
/* msg.c - MSG endpoints: connect, accept, reject, shutdown, and passive endpoints. */
#include "verbs.h"

/* The connection, or NULL if there is none. Inside rcu_read_lock() */
struct kv_conn *kv_msg_conn(struct kv_ep *vep)
{
	struct kfi_peer_conn *pc = kfi_conn_set_conn(&vep->pe.conn_set);

	return likely(pc) ? to_kv_conn(pc) : NULL;
}

/* ---- connecting ---- */

static void kv_msg_named(struct kv_ep *vep, const union kfi_inaddr *name)
{
	memcpy(vep->pe.peer_name, name, sizeof(*name));
}

static int kv_msg_report_connected(struct kv_conn *conn)
{
	struct kfi_ep *ep = &conn->qp.vep->pe.ep;

	trace_kfi_connect(ep);
	return kfi_ep_connected(ep, conn->data_in, conn->pc.dialed ? conn->data_in_len : 0);
}

/* The consumer may send as soon as it gets KFI_CONNECTED, so the connection is published first. */
void kv_msg_ready(struct kv_conn *conn)
{
	kv_msg_named(conn->qp.vep, &conn->name);
	kfi_conn_set_publish(&conn->pc);
	if (kv_msg_report_connected(conn))
		kv_conn_fail(conn, -ECANCELED);
}

/*
 * A connection has ended before KFI_CONNECTED was reported. Report it now, without publishing the
 * connection. Return: true if it was reported; then kv_msg_lost() will report the end.
 */
bool kv_msg_was_ready(struct kv_conn *conn)
{
	kv_msg_named(conn->qp.vep, &conn->name);
	if (kv_msg_report_connected(conn))
		return false;
	WRITE_ONCE(conn->qp.up, true);
	WRITE_ONCE(conn->error, kv_conn_end_reason(conn));
	return true;
}

/* Report the end of a connection, or of an attempt to connect. All its operations have ended. */
void kv_msg_lost(struct kv_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->qp.vep->pe.ep;

	if (READ_ONCE(conn->qp.vep->pe.conn_set.stop_err))
		return;
	if (conn->qp.up) {
		trace_kfi_disconnect(ep, err);
		kfi_ep_disconnected(ep, err);
		return;
	}
	if (err == -ECONNRESET)
		err = -ECONNREFUSED;
	kfi_ep_refused(ep, err, conn->data_in, conn->rejected ? conn->data_in_len : 0);
}

/* kfi.ko has checked that @len is at most &kfi_prov_ops.cm_data_size. */
static void kv_set_data(struct kv_conn *conn, const void *data, size_t len)
{
	memcpy(conn->data_out, data, len);
	conn->qp.data_len = len;
}

int kv_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	struct kv_ep *vep = to_kv_ep(ep);
	union kfi_inaddr to = {};
	struct kv_conn *conn;

	memcpy(&to, addr, kfi_inaddr_name_len(addr));
	conn = kv_dial(vep, &to);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	kv_msg_named(vep, &to);
	kv_set_data(conn, data, len);
	kv_conn_deadline(conn);
	kv_cm_step(&conn->qp, KV_STEP_CALL);
	kv_conn_put(conn);
	return 0;
}

int kv_msg_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct kv_conn *conn = container_of(ep->connreq, struct kv_conn, req);
	struct kv_domain *kdom = to_kv_domain(ep->domain);
	bool there = kv_domain_get(kdom);

	kv_set_data(conn, data, len);
	if (!there || !kfi_conn_set_accept(&conn->pc, &to_kv_ep(ep)->pe.conn_set)) {
		if (there)
			kv_domain_put(kdom);
		else
			kv_conn_fail(conn, -ECONNABORTED);
		kv_rq_end(to_kv_ep(ep), -ECONNABORTED);
		kfi_ep_refused(ep, -ECONNABORTED, NULL, 0);
	}
	kv_conn_put(conn);	/* the request's */
	return 0;
}

/* Operations that were posted before are sent first; then the connection ends. */
int kv_msg_shutdown(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);
	struct kv_conn *conn;

	rcu_read_lock();
	conn = kv_msg_conn(vep);
	if (conn) {
		spin_lock_bh(&conn->qp.lock);
		set_bit(KV_BYE_WANTED, &conn->flags);
		conn->waits = true;
		spin_unlock_bh(&conn->qp.lock);
		kv_tx_kick(conn);
	}
	rcu_read_unlock();
	return conn ? 0 : -ENOTCONN;
}

int kv_msg_getpeer(struct kfi_ep *ep, void *addr)
{
	size_t len = kfi_inaddr_name_len(to_proto_ep(ep)->peer_name);

	memcpy(addr, to_proto_ep(ep)->peer_name, len);
	return len;
}

/* ---- passive endpoints ---- */

int kv_pep_open(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);

	kfi_conn_set_init(&vpep->conn_set, NULL, &kv_conn_set_ops);
	kv_listener_init(&vpep->listener);
	if (pep->info->ep_attr->auth_key_size)
		return -EOPNOTSUPP;
	return kfi_inaddr_source(pep->info, &vpep->addr);
}

/*
 * If one device has the address, the listener is closed when that device is removed. If the address
 * has moved, the device before is kept until the new one has a listener.
 */
static int kv_pep_bind(struct kv_pep *vpep)
{
	struct kfi_pep *pep = &vpep->pep;
	struct ib_device *ib;
	struct kv_dev *dev;
	int ret;

	lockdep_assert_held(&pep->lock);
	ret = kv_cm_bind(&vpep->listener, read_pnet(&pep->fabric->net), &vpep->addr, pep->backlog);
	if (ret)
		return ret;
	ib = vpep->listener.id->device;
	dev = ib ? kv_dev_get(ib) : NULL;
	if (ib && !dev) {
		kv_cm_unbind(&vpep->listener);
		return -ENODEV;
	}
	if (vpep->dev)
		kv_dev_put(vpep->dev);
	vpep->dev = dev;
	pep->device = dev;
	return 0;
}

/* kv_pep_close() waits for it, without the lock. */
static int kv_pep_listen_again(struct kv_listener *listener)
{
	struct kv_pep *vpep = container_of(listener, struct kv_pep, listener);
	int ret = 0;

	mutex_lock(&vpep->pep.lock);
	if (!vpep->pep.dead) {
		kv_cm_unbind(listener);
		ret = kv_pep_bind(vpep);
	}
	mutex_unlock(&vpep->pep.lock);
	return ret;
}

int kv_pep_listen(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);
	int ret;

	vpep->listener.called = kv_conn_called;
	vpep->listener.again = kv_pep_listen_again;
	vpep->listener.moved = false;
	ret = kv_pep_bind(vpep);
	if (!ret)
		kv_listener_open(&vpep->listener);
	return ret;
}

int kv_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct kv_pep *vpep = to_kv_pep(pep);
	size_t len = kfi_inaddr_len(vpep->addr.sa.sa_family);

	memcpy(addr, &vpep->addr, len);
	return len;
}

int kv_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	return kfi_inaddr_replace(&to_kv_pep(pep)->addr, addr, len);
}

int kv_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len)
{
	struct kv_conn *conn = container_of(req, struct kv_conn, req);

	kv_set_data(conn, data, len);
	kfi_conn_set_reject(&conn->pc);
	kv_conn_put(conn);	/* the request's */
	return 0;
}

void kv_pep_close(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);

	kv_listener_close(&vpep->listener);
	kfi_conn_set_stop(&vpep->conn_set, -ECONNREFUSED);
	kfi_conn_set_drain(&vpep->conn_set);
	if (vpep->dev)
		kv_dev_put(vpep->dev);
	vpep->dev = NULL;
}
