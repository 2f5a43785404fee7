// SPDX-License-Identifier: GPL-2.0
/*
 * route.c - a post of the consumer finds its connection. From here an operation passes through:
 *
 *   kfi_proto_tx()		find the connection, add the operation to its lock-free list
 *   kfp_tx_kick()		become the runner, unless another context is (tx.c)
 *   kfp_tx_run()		post units to the link (tx.c)
 *   kfp_tx_gather()		encode the frames of a unit: the next operations (arbiter.c)
 *   kfp_op_row.send()		encode the operation, in the file of its protocol
 *   kfp_op_sent()		complete it, or wait for the answer of the peer (oper.c)
 */
#include <linux/export.h>
#include "peers.h"

int kfi_proto_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	const struct kfp_op_row *row = kfp_op_row(op);
	struct kfp_conn *conn = NULL;
	struct kfi_peer_conn *pc;
	bool more;
	int ret;

	*kfp_op(op) = (struct kfp_op) { .state = KFP_OP_QUEUED };
	if (unlikely(row->post)) {
		ret = row->post(op, &conn);
		if (ret)
			return ret == -ECANCELED ? 0 : ret;
	}
	if (unlikely(conn)) {
		;	/* the operation belongs to this connection */
	} else if (ep->type == KFI_EP_RDM) {
		pc = kfi_peer_find_conn(&pe->peers, op);
		if (IS_ERR_OR_NULL(pc))
			return PTR_ERR_OR_ZERO(pc);
		conn = to_kfp_conn(pc);
	} else {
		pc = kfi_conn_set_conn(&pe->conn_set);
		if (unlikely(!pc))
			return -ENOTCONN;
		conn = to_kfp_conn(pc);
	}
	if (ep->type != KFI_EP_RDM && unlikely(test_bit(KFP_BYE_WANTED, &conn->flags)))
		return -ESHUTDOWN;
	/*
	 * The end of the connection waits for the RCU section of this post before it collects
	 * @posted.
	 */
	more = op->flags & KFI_MORE;
	kfp_op(op)->conn = conn;
	llist_add(&op->lnode, &conn->posted);	/* from here on the operation may be gone */
	if (!more)
		kfp_tx_kick(conn);
	else if (!delayed_work_pending(&conn->more_work))
		kfp_conn_queue(conn, &conn->more_work, 1);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_tx);

/*
 * Send posts with KFI_MORE that no other post follows. The connection set of an RDM endpoint has no
 * published connection (&kfi_peer.conn has); there more_work of each connection sends them.
 */
void kfi_proto_tx_flush(struct kfi_ep *ep)
{
	struct kfi_peer_conn *pc = kfi_conn_set_conn(&to_proto_ep(ep)->conn_set);

	if (pc && !llist_empty(&to_kfp_conn(pc)->posted))
		kfp_tx_kick(to_kfp_conn(pc));
}
EXPORT_SYMBOL_GPL(kfi_proto_tx_flush);
