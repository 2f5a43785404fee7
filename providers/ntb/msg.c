// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - connected endpoints: passive endpoints, connect, accept, reject, shutdown.
 */
#include "ntb.h"

int nt_msg_tx(struct nt_ep *nep, struct kfi_oper *op)
{
	struct nt_conn *conn;
	int ret = 0;

	rcu_read_lock();
	conn = rcu_dereference(nep->conn);
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
	spin_lock_bh(&nep->lock);
	if (!test_bit(NT_FAILED, &conn->flags))
		rcu_assign_pointer(nep->conn, conn);
	spin_unlock_bh(&nep->lock);
	nt_step(conn, NT_STEP_CONNECTED);
}

/* The connection, or the attempt, is over; its operations have ended. */
void nt_msg_lost(struct nt_conn *conn, int err)
{
	struct kfi_ep *ep = &conn->nep->ep;

	if (READ_ONCE(conn->nep->stopping))
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

/*
 * The request changes hands: from the list of its listener to that of the endpoint. The answer goes out of step_work, which
 * nt_conn_down() waits for. False: the peer has gone, see nt_conn_stays().
 */
static bool nt_msg_adopt(struct nt_ep *nep, struct nt_conn *conn)
{
	struct nt_pep *npep = conn->npep;
	bool there;

	spin_lock_bh(&npep->lock);
	there = !test_bit(NT_FAILED, &conn->flags);
	if (there) {
		list_del_init(&conn->entry);
		npep->nconns--;
		spin_lock(&nep->lock);
		conn->nep = nep;
		WRITE_ONCE(conn->npep, NULL);
		list_add_tail(&conn->entry, &nep->conns);
		spin_unlock(&nep->lock);
		nt_step(conn, NT_STEP_ACCEPT);
		wake_up_all(&npep->idle);
	}
	spin_unlock_bh(&npep->lock);
	return there;
}

int nt_msg_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct nt_conn *conn = container_of(ep->connreq, struct nt_conn, req);

	nt_set_data(conn, data, len);
	if (conn->dev != to_nt_ep(ep)->dev || !nt_msg_adopt(to_nt_ep(ep), conn))
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
	conn = rcu_dereference(nep->conn);
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

	spin_lock_init(&npep->lock);
	INIT_LIST_HEAD(&npep->conns);
	init_waitqueue_head(&npep->idle);
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
	struct nt_pep *npep = to_nt_pep(pep);

	nt_set_data(conn, data, len);
	spin_lock_bh(&npep->lock);
	if (!test_bit(NT_FAILED, &conn->flags))		/* see nt_msg_adopt() */
		nt_step(conn, NT_STEP_REJECT);
	spin_unlock_bh(&npep->lock);
	nt_conn_put(conn);	/* the request's */
	return 0;
}

/* On the list of requests that nobody has answered, which has a reference, and known by a number. */
bool nt_pep_admit(struct nt_pep *npep, struct nt_conn *conn)
{
	bool ok;

	if (nt_conn_number(conn))
		return false;
	spin_lock_bh(&npep->lock);
	ok = !npep->stopping && npep->nconns < nt_backlog;
	if (ok) {
		npep->nconns++;
		list_add_tail(&conn->entry, &npep->conns);
		nt_conn_get(conn);
	}
	spin_unlock_bh(&npep->lock);
	if (!ok)
		nt_conn_unnumber(conn);
	return ok;
}

static struct nt_conn *nt_pep_first(struct nt_pep *npep)
{
	struct nt_conn *conn;

	spin_lock_bh(&npep->lock);
	npep->stopping = true;
	list_for_each_entry(conn, &npep->conns, entry)
		nt_conn_fail(conn, -ECONNREFUSED);
	conn = list_first_entry_or_null(&npep->conns, struct nt_conn, entry);
	spin_unlock_bh(&npep->lock);
	return conn;
}

void nt_pep_close(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);

	nt_port_give(npep->dev, &npep->listener);
	flush_workqueue(nt_cm_wq);	/* what was rejected is told why */
	wait_event(npep->idle, !nt_pep_first(npep));
	flush_workqueue(nt_cm_wq);	/* the last nt_conn_down() may still be in its last lines */
	nt_dev_put(npep->dev);
}
