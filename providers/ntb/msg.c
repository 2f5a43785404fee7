// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - connected endpoints: passive endpoints, connect, accept, reject, shutdown.
 */
#include "ntb.h"

/* The connection in use; inside rcu_read_lock(). NULL: there is none. */
static struct nt_conn *nt_msg_way(struct nt_ep *nep)
{
	struct kfi_peer_conn *way = kfi_home_way(&nep->home);

	return likely(way) ? to_nt_conn(way) : NULL;
}

int nt_msg_tx(struct nt_ep *nep, struct kfi_oper *op)
{
	struct nt_conn *conn;
	int ret = 0;

	rcu_read_lock();
	conn = nt_msg_way(nep);
	if (unlikely(!conn))
		ret = -ENOTCONN;
	else if (unlikely(test_bit(NT_BYE_WANTED, &conn->flags)))
		ret = -ESHUTDOWN;
	else
		nt_tx_post(conn, op);
	rcu_read_unlock();
	return ret;
}

/* ---- connecting ---- */

/*
 * The consumer may send as soon as he hears KFI_CONNECTED: publish first. What fails from here on is a lost connection, no refused
 * one. Softirq, or step_work.
 */
void nt_msg_ready(struct nt_conn *conn)
{
	struct nt_ep *nep = conn->nep;

	nep->peer_name = conn->name;
	trace_kfi_connect(&nep->ep);
	kfi_home_publish(&conn->pc);
	nt_step(conn, NT_STEP_CONNECTED);
}

/* The connection, or the attempt, is over; its operations have ended. */
void nt_msg_lost(struct nt_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->nep->ep;

	if (READ_ONCE(conn->nep->home.stop_err))
		return;
	if (conn->state == NT_READY) {
		/* It may have ended before its beginning was told. */
		if (test_and_clear_bit(NT_STEP_CONNECTED, &conn->steps))
			kfi_ep_connected(ep, conn->data_in, conn->pc.dialed ? conn->peer.data_len : 0);
		trace_kfi_disconnect(ep, err);
		kfi_ep_disconnected(ep, err);
		return;
	}
	if (err == -ECONNRESET)
		err = -ECONNREFUSED;
	kfi_ep_refused(ep, err, conn->data_in, conn->pc.dialed && conn->peer.type == NTW_REJECT ? conn->peer.data_len : 0);
}

int nt_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	struct nt_ep *nep = to_nt_ep(ep);
	struct ntw_addr to;
	struct nt_conn *conn;

	memcpy(&to, addr, sizeof(to));
	conn = nt_dial(nep, &to, NULL);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	nt_set_data(conn, data, len);
	nep->peer_name = to;
	nt_step(conn, NT_STEP_CALL);
	nt_conn_put(conn);
	return 0;
}

/* Ask the consumer, who has a reference until he has answered, or the request is taken back. In step_work. */
int nt_msg_request(struct nt_conn *conn)
{
	int ret;

	nt_say(conn, NTW_RINGING, 0);
	nt_conn_get(conn);
	conn->requested = true;
	conn->state = NT_WAITING;
	ret = kfi_pep_connreq(&conn->npep->pep, &conn->req, &conn->name, sizeof(conn->name), conn->data_in, conn->peer.data_len);
	if (ret) {
		conn->requested = false;
		nt_conn_put(conn);
		ret = -ECONNREFUSED;
	}
	return ret;
}

int nt_msg_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct nt_conn *conn = container_of(ep->connreq, struct nt_conn, req);

	nt_set_data(conn, data, len);
	if (conn->dev != to_nt_ep(ep)->dev || !kfi_home_accept(&conn->pc, &to_nt_ep(ep)->home))
		kfi_ep_refused(ep, -ECONNABORTED, NULL, 0);	/* an event, like every other failure */
	nt_conn_put(conn);	/* the request's */
	return 0;
}

/* What was posted before is sent and answered first; then the peer hears of it, and both sides are shut. */
int nt_msg_shutdown(struct kfi_ep *ep)
{
	struct nt_ep *nep = to_nt_ep(ep);
	struct nt_conn *conn;

	rcu_read_lock();
	conn = nt_msg_way(nep);
	if (conn) {
		set_bit(NT_BYE_WANTED, &conn->flags);
		nt_tx_kick(conn);
	}
	rcu_read_unlock();
	return conn ? 0 : -ENOTCONN;
}

int nt_msg_getpeer(struct kfi_ep *ep, void *addr)
{
	memcpy(addr, &to_nt_ep(ep)->peer_name, sizeof(struct ntw_addr));
	return sizeof(struct ntw_addr);
}

/* ---- passive endpoints ---- */

static struct nt_dev *nt_pep_dev(const struct kfi_info *info)
{
	const struct ntw_addr *src = info->src_addrlen == sizeof(*src) ? info->src_addr : NULL;

	if (info->domain_attr && info->domain_attr->name)
		return nt_dev_find(info->domain_attr->name, 0);
	return src ? nt_dev_find(NULL, le32_to_cpu(src->side)) : NULL;
}

/* The fabric's lock is held, for which kfi_device_gone() waits: it closes what is open on its bridge. */
int nt_pep_open(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);
	int ret;

	kfi_home_init(&npep->home, NULL, &nt_home_ops, nt_cm_wq);
	npep->listener.npep = npep;
	npep->dev = nt_pep_dev(pep->info);
	if (!npep->dev)
		return -ENODEV;
	ret = nt_source(pep->info, npep->dev, &npep->addr);
	if (ret)
		nt_dev_put(npep->dev);
	pep->device = npep->dev;
	return ret;
}

int nt_pep_listen(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);
	int ret;

	npep->listener.port = le32_to_cpu(npep->addr.port);
	ret = nt_port_take(npep->dev, &npep->listener);
	if (ret)
		npep->listener.port = 0;
	else
		npep->addr.port = cpu_to_le32(npep->listener.port);
	return ret;
}

int nt_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct nt_pep *npep = to_nt_pep(pep);

	memcpy(addr, &npep->addr, sizeof(npep->addr));
	return sizeof(npep->addr);
}

int nt_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	struct nt_pep *npep = to_nt_pep(pep);
	struct ntw_addr name;

	if (len != sizeof(name))
		return -EINVAL;
	memcpy(&name, addr, len);
	if (name.side != npep->addr.side || le32_to_cpu(name.port) > INT_MAX)
		return -EINVAL;
	npep->addr = name;
	return 0;
}

int nt_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len)
{
	struct nt_conn *conn = container_of(req, struct nt_conn, req);

	nt_set_data(conn, data, len);
	kfi_home_reject(&conn->pc);
	nt_conn_put(conn);	/* the request's */
	return 0;
}

void nt_pep_close(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);

	nt_port_give(npep->dev, &npep->listener);
	flush_workqueue(nt_cm_wq);	/* what was rejected is told why */
	kfi_home_stop(&npep->home, -ECONNREFUSED);
	kfi_home_drain(&npep->home);
	nt_dev_put(npep->dev);
}
