// SPDX-License-Identifier: GPL-2.0
/*
 * held.c - messages that dead connections have left with an RDM endpoint.
 *
 * A live connection holds what its credits allow. When it ends, whole messages may wait in the
 * matching for their receives. They can't be dropped, because the device has told their senders
 * that they have arrived. So the connection stays, with the buffers of these messages and no
 * others, and a peer that calls again and again may leave more each time. When the peer's address,
 * or all addresses together, have left as much as they may, callers are refused until some of the
 * messages are received. A connection that this side dials is never refused, for its consumer has
 * chosen the peer.
 *
 * kv_ep.held_lock protects kv_ep.held, the list of such connections, and the sums. It is a leaf
 * inside of kv_conn.lock.
 */
#include <linux/mm.h>
#include "verbs.h"

/* The device has returned every buffer, and those without a message are of no use any more. */
static void kv_slot_trim(struct kv_slot *slot, int err)
{
	if (slot->unexpected) {
		slot->conn->left++;
	} else if (!slot->holds) {
		free_page((unsigned long)slot->mem);
		slot->mem = NULL;
	}
}

/*
 * The connection is down, and nothing of it goes to the matching any more. A device that is broken
 * may still write to the buffers of a connection that is kept.
 */
void kv_held_down(struct kv_conn *conn)
{
	struct kv_ep *vep = conn->vep;

	if (!vep || vep->ep.type != KFI_EP_RDM || conn->kept)
		return;
	spin_lock_bh(&conn->lock);
	kv_slots_each(conn, kv_slot_trim, 0);
	if (conn->left) {
		spin_lock(&vep->held_lock);
		list_add_tail(&conn->left_entry, &vep->held);
		vep->nheld += conn->left;
		spin_unlock(&vep->held_lock);
	}
	spin_unlock_bh(&conn->lock);
}

/*
 * A message that a dead connection has left is gone. The caller holds the connection's lock, and a
 * reference of the connection.
 */
void kv_held_freed(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	struct kv_ep *vep = conn->vep;

	lockdep_assert_held(&conn->lock);
	free_page((unsigned long)slot->mem);
	slot->mem = NULL;
	spin_lock(&vep->held_lock);
	vep->nheld--;
	if (!--conn->left)
		list_del(&conn->left_entry);
	spin_unlock(&vep->held_lock);
}

/*
 * May @conn, which calls, leave messages too? The list is walked once for each call. It grows only
 * while callers are admitted, so it has hardly more than kv_held_max connections.
 */
bool kv_held_admits(struct kv_conn *conn)
{
	union kfi_inaddr origin = kfi_inaddr_origin(&conn->name), other;
	struct kv_ep *vep = conn->vep;
	unsigned int all, akin = 0;
	struct kv_conn *one;

	spin_lock_bh(&vep->held_lock);
	all = vep->nheld;
	list_for_each_entry(one, &vep->held, left_entry) {
		other = kfi_inaddr_origin(&one->name);
		if (!kfi_inaddr_ip_cmp(&other, &origin))
			akin += one->left;
	}
	spin_unlock_bh(&vep->held_lock);
	return all < READ_ONCE(kv_held_max) && akin < DIV_ROUND_UP(READ_ONCE(kv_held_max), 4);
}
