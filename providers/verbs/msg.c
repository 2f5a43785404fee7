// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - connected endpoints: connect, accept, reject, shutdown, and passive endpoints.
 */
#include "verbs.h"

/* The connection in use; inside rcu_read_lock(). NULL: there is none. */
struct kv_conn *kv_msg_way(struct kv_ep *vep)
{
	struct kfi_peer_conn *way = kfi_home_way(&vep->home);

	return likely(way) ? to_kv_conn(way) : NULL;
}

/* ---- connecting ---- */

static int kv_msg_tell(struct kv_conn *conn)
{
	struct kfi_ep *ep = &conn->vep->ep;

	trace_kfi_connect(ep);
	return kfi_ep_connected(ep, conn->data_in, conn->pc.dialed ? conn->data_in_len : 0);
}

/* The consumer may send as soon as it hears KFI_CONNECTED: publish first. The request's data was delivered with the request. */
void kv_msg_ready(struct kv_conn *conn)
{
	conn->vep->peer_name = conn->name;
	kfi_home_publish(&conn->pc);
	if (kv_msg_tell(conn))
		kv_conn_fail(conn, -ECANCELED);
}

/*
 * There was a connection, it turns out, and it is over: nothing is published any more. Return: the consumer has been told, and kv_msg_lost()
 * will tell him the rest
 */
bool kv_msg_was_ready(struct kv_conn *conn)
{
	conn->vep->peer_name = conn->name;
	if (kv_msg_tell(conn))
		return false;
	WRITE_ONCE(conn->state, KV_READY);
	WRITE_ONCE(conn->error, kv_conn_was(conn));
	return true;
}

/* The connection, or the attempt, is over; its operations have ended. */
void kv_msg_lost(struct kv_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->vep->ep;

	if (READ_ONCE(conn->vep->home.stop_err))
		return;
	if (conn->state == KV_READY) {
		trace_kfi_disconnect(ep, err);
		kfi_ep_disconnected(ep, err);
		return;
	}
	if (err == -ECONNRESET)
		err = -ECONNREFUSED;
	kfi_ep_refused(ep, err, conn->data_in, conn->rejected ? conn->data_in_len : 0);
}

/* kfi.ko has compared @len with our cm_data_size. */
static void kv_set_data(struct kv_conn *conn, const void *data, size_t len)
{
	memcpy(conn->data_out, data, len);
	conn->data_out_len = len;
}

int kv_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	struct kv_ep *vep = to_kv_ep(ep);
	union kfi_inaddr to = {};
	struct kv_conn *conn;

	memcpy(&to, addr, ep->domain->addrlen);
	conn = kv_dial(vep, &to, NULL);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	vep->peer_name = to;
	kv_set_data(conn, data, len);
	kv_cm_step(conn, KV_STEP_CALL);
	kv_conn_put(conn);
	return 0;
}

int kv_msg_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct kv_conn *conn = container_of(ep->connreq, struct kv_conn, req);
	struct kv_domain *kdom = to_kv_domain(ep->domain);
	bool there = kv_domain_get(kdom);

	kv_set_data(conn, data, len);
	if (!there || !kfi_home_accept(&conn->pc, &to_kv_ep(ep)->home)) {
		if (there)
			kv_domain_put(kdom);
		kv_rq_end(to_kv_ep(ep), -ECONNABORTED);
		kfi_ep_refused(ep, -ECONNABORTED, NULL, 0);	/* an event, like every other failure */
	}
	kv_conn_put(conn);	/* the request's */
	return 0;
}

/* What was posted before is sent first; then the peer hears of it, and both sides are shut. */
int kv_msg_shutdown(struct kfi_ep *ep)
{
	struct kv_ep *vep = to_kv_ep(ep);
	struct kv_conn *conn;

	rcu_read_lock();
	conn = kv_msg_way(vep);
	if (conn) {
		spin_lock_bh(&conn->lock);
		set_bit(KV_BYE_WANTED, &conn->flags);
		conn->waits = true;
		spin_unlock_bh(&conn->lock);
		kv_tx_kick(conn);
	}
	rcu_read_unlock();
	return conn ? 0 : -ENOTCONN;
}

int kv_msg_getpeer(struct kfi_ep *ep, void *addr)
{
	memcpy(addr, &to_kv_ep(ep)->peer_name, ep->domain->addrlen);
	return ep->domain->addrlen;
}

/* ---- passive endpoints ---- */

int kv_pep_open(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);

	kfi_home_init(&vpep->home, NULL, &kv_home_ops, kv_cm_wq);
	if (pep->info->ep_attr->auth_key_size)
		return -EOPNOTSUPP;
	return kfi_inaddr_source(pep->info, &vpep->addr);
}

/* Where it can be told which, it goes with its device. */
int kv_pep_listen(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);
	int ret;

	ret = kv_cm_listen(read_pnet(&pep->fabric->net), &vpep->addr, pep->backlog, kv_cm_pep_handler, vpep, &vpep->id);
	if (ret || !vpep->id->device)
		return ret;
	vpep->dev = kv_dev_get(vpep->id->device);
	pep->device = vpep->dev;
	if (vpep->dev)
		return 0;
	rdma_destroy_id(vpep->id);
	vpep->id = NULL;
	return -ENODEV;
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
	kfi_home_reject(&conn->pc);
	kv_conn_put(conn);	/* the request's */
	return 0;
}

void kv_pep_close(struct kfi_pep *pep)
{
	struct kv_pep *vpep = to_kv_pep(pep);

	if (vpep->id)
		rdma_destroy_id(vpep->id);
	vpep->id = NULL;
	flush_workqueue(kv_cm_wq);	/* what was rejected is told why */
	kfi_home_stop(&vpep->home, -ECONNREFUSED);
	kfi_home_drain(&vpep->home);
	if (vpep->dev)
		kv_dev_put(vpep->dev);
	vpep->dev = NULL;
}
