// SPDX-License-Identifier: GPL-2.0
/*
 * device_place.c - places that devices of this machine write (kfi_place.h), over a link with
 * ops->pages().
 *
 *	initiator			owner of the region
 *	  RTW with DEVICE	--->			kfp_send_place_get(), kfp_rx_rtw()
 *				<---	GRANT		kfp_send_grant()
 *	  kfp_dev_place_granted(): the consumer has the place, and devices write
 *	  WRITE with PLACED, DEVICE -->			kfp_send_place_put(), kfp_rx_placed()
 *				<---	ACK
 *	  kfi_proto_place_end()
 *
 * A place is a use of a grant (grant.c) that lasts longer than a write. The RTW and its answer are
 * not sent if there is a lasting grant already. A region for one I/O gives one for each place,
 * which ends with the WRITE, or with RECALLED if the consumer drops the place. As long as a grant
 * has a place, its RECALLED is not sent (kfp_permit.out). As long as a connection has a place, its
 * link is pinned, even after the end of the connection, because the devices can't be stopped.
 *
 * The consumer may drop a place in softirq, at any time, and a connection may end at any time. So
 * kfp_dev_places_lock, which is a leaf, protects the members that lead from a place to its
 * connection, and kfp_permit.out. The other functions are called under the link's lock, or after
 * the end of the link.
 */
#include <linux/export.h>
#include "grant.h"

static DEFINE_SPINLOCK(kfp_dev_places_lock);

static struct kfi_proto_place *to_proto_place(struct kfi_dev_place *place)
{
	return container_of(place, struct kfi_proto_place, place);
}

/* ---- initiator: get ---- */

/*
 * Give the consumer a piece of the memory of a grant, unless the connection has failed: then
 * kfp_dev_places_abandon() may have run already. Return: 0, or the negative errno of the get.
 */
static int kfp_dev_place_fill(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p)
{
	struct kfi_proto_place *kp = to_proto_place(op->place);
	bool failed;
	void *pin = conn->ops->pages(&conn->link, p->places.place, p->places.count,
				     op->rma[0].addr - p->addr, op->rma[0].len, op->place);

	if (pin == ERR_PTR(-EPROTO))
		kfp_conn_fail(conn, -EPROTO);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	kp->ops = conn->ops;
	kp->pin = pin;
	spin_lock_bh(&kfp_dev_places_lock);
	failed = test_bit(KFP_FAILED, &conn->flags);
	if (!failed) {
		kp->permit = p;
		p->out++;
		list_add_tail(&kp->entry, &conn->grants->out);
		WRITE_ONCE(kp->conn, conn);
	}
	spin_unlock_bh(&kfp_dev_places_lock);
	if (!failed)
		return 0;
	kp->ops->unpin(kp->pin, op->place);
	kp->pin = NULL;
	return -ECONNRESET;
}

/* The owner has answered. It gives no permit if this side has one already. */
static int kfp_dev_place_granted(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p)
{
	int ret = -EOPNOTSUPP;

	if (!p || !p->once)
		p = conn->grants ? kfp_permit_over(conn, &op->rma[0]) : NULL;
	list_del(&op->link);
	conn->tx.requests--;
	if (p)
		ret = kfp_dev_place_fill(conn, op, p);
	if (p && p->once) {
		p->op = NULL;
		if (ret)
			kfp_permit_return(conn, p);
	}
	kfp_op_end(conn, op, ret);
	return 0;
}

/*
 * Begin a get: complete it if there is a grant, otherwise send an RTW. Over a link without pages
 * the get fails at once, because an answer of the peer would be useless.
 */
static bool kfp_send_place_get(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_permit *p = conn->grants ? kfp_permit_over(conn, &op->rma[0]) : NULL;
	struct kfw_hdr *hdr;

	list_del(&op->link);
	if (p || !conn->link.pages) {
		kfp_op_end(conn, op,
			   conn->link.pages ? kfp_dev_place_fill(conn, op, p) : -EOPNOTSUPP);
		return true;
	}
	kfp_op_request(conn, op);
	hdr = kfp_send_op_frame(conn, op, KFW_RTW, KFW_F_DEVICE);
	hdr->rma_count = cpu_to_le16(1);
	hdr->len = cpu_to_le64(op->rma[0].len);
	kfp_send_segments(conn, op);
	kfp_op_requested(conn, op);
	return true;
}

const struct kfp_op_row kfp_place_get_op = {
	.cls = KFP_CLS,
	.silent = true,
	.send = kfp_send_place_get,
	.granted = kfp_dev_place_granted,
};

/* ---- initiator: put ---- */

/*
 * Release a place after its devices have finished. If the link reports no error, all that they
 * have written has arrived, and this side may report to the owner that nothing lands any more.
 * Otherwise that is not known: the connection ends, and the grant keeps the count of the place, so
 * that its RECALLED is not sent. The connection may have ended before, or may end during the call.
 * Return: true if the connection goes on; then *@put, unless @put is NULL, is the grant.
 */
static bool kfp_dev_place_release(struct kfi_proto_place *kp, struct kfp_permit **put)
{
	int err = kp->ops->unpin(kp->pin, &kp->place);
	struct kfp_conn *conn;
	struct kfp_permit *p;

	kp->pin = NULL;
	rcu_read_lock();	/* keeps the connection; and see kfp_grants_kick() */
	spin_lock_bh(&kfp_dev_places_lock);
	conn = kp->conn;
	p = kp->permit;
	if (conn) {
		list_del(&kp->entry);
		if (put)
			*put = p;
		if (!err && !--p->out && (p->recalled || p->once) && !put)
			kfp_grants_kick(conn);
		WRITE_ONCE(kp->conn, NULL);
		kp->permit = NULL;
	}
	spin_unlock_bh(&kfp_dev_places_lock);
	if (conn && err)
		kfp_conn_fail(conn, err);
	rcu_read_unlock();
	return conn && !err;
}

/*
 * Does the place of the put belong to this connection? The result changes only when the connection
 * ends, or when the place is released.
 */
static bool kfp_dev_place_of(const struct kfp_conn *conn, const struct kfi_proto_place *kp)
{
	return READ_ONCE(kp->conn) == conn;
}

/*
 * Send the WRITE for what devices have written. The place needs no pin after its fence: each frame
 * that reports that nothing lands any more is posted behind this WRITE. If the fence fails, it is
 * not known which bytes have arrived: the connection ends, and with it the operation, and no frame
 * follows, because it could report that the bytes are there.
 */
static bool kfp_send_place_put(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfi_proto_place *kp = to_proto_place(op->place);
	struct kfp_permit *p;

	list_del(&op->link);
	if (!op->len || !kfp_dev_place_of(conn, kp)) {
		kfp_op_end(conn, op, op->len ? -ECONNRESET : 0);
		return true;
	}
	if (!kfp_dev_place_release(kp, &p)) {
		conn->tx.at = KFP_TX_STOPPED;
		list_add_tail(&op->link, &conn->tx.waiting);
		return true;
	}
	kfp_op_request(conn, op);
	kfi_stat_add(op->ep, granted, op->len);
	kfp_permit_write(conn, op, p, KFW_F_DEVICE);
	kfp_op_sent(conn, op, true);
	return true;
}

/*
 * A put belongs to the connection of its place. If that has ended the put fails. It goes to no other
 * connection, and none is dialed for it. So kfp_dev_puts_end() finds it, even if the peer has another
 * connection already.
 */
static int kfp_place_put_post(struct kfi_oper *op, struct kfp_conn **conn)
{
	*conn = READ_ONCE(to_proto_place(op->place)->conn);
	if (*conn)
		return 0;
	kfi_tx_complete(op, op->len ? -ECONNRESET : 0);
	return -ECANCELED;
}

const struct kfp_op_row kfp_place_put_op = {
	.cls = KFP_CLS,
	.silent = true,
	.post = kfp_place_put_post,
	.send = kfp_send_place_put,
};

/* ---- initiator: ends ---- */

/*
 * The devices have finished, but what they have written may still be in transit, even if the place
 * was abandoned. The fence makes it arrive before this side can report to the owner that nothing
 * lands any more. A put that was encoded has done this.
 */
void kfi_proto_place_end(struct kfi_dev_place *place)
{
	struct kfi_proto_place *kp = to_proto_place(place);

	if (kp->pin)
		kfp_dev_place_release(kp, NULL);
}
EXPORT_SYMBOL_GPL(kfi_proto_place_end);

/*
 * The operations of a connection that ends complete after ops->close(), which may wait for the
 * peer, and the peer waits for the pins of this side in the same way. So end the places whose put
 * is not encoded yet before that. Places that consumers have stay pinned. No operation is posted or
 * sent any more.
 */
static void kfp_dev_puts_end(struct kfp_conn *conn)
{
	struct kfi_oper *op;

	kfp_tx_collect(conn);
	list_for_each_entry(op, &conn->tx.queue, link)
		if (op->code == KFI_OPC_PLACE_PUT)
			kfi_proto_place_end(op->place);
}

bool kfp_permit_recall(struct kfp_permit *p)
{
	bool out;

	spin_lock_bh(&kfp_dev_places_lock);
	p->recalled = true;
	out = p->out;
	spin_unlock_bh(&kfp_dev_places_lock);
	return out;
}

/* The connection has failed: detach all places that consumers have. No place is added later. */
static void kfp_dev_places_abandon(struct kfp_conn *conn)
{
	struct kfi_proto_place *kp, *next;

	if (!conn->grants)
		return;
	spin_lock_bh(&kfp_dev_places_lock);
	list_for_each_entry_safe(kp, next, &conn->grants->out, entry) {
		list_del(&kp->entry);
		WRITE_ONCE(kp->conn, NULL);
		kp->permit = NULL;
	}
	spin_unlock_bh(&kfp_dev_places_lock);
}

const struct kfp_protocol kfp_dev_place_protocol = {
	.failing = kfp_dev_places_abandon,
	.closing = kfp_dev_puts_end,
};
