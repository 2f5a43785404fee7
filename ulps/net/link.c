// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - the life of a connection to a peer.
 *
 *	knet_link_begin()	the endpoint is counted, and opened then
 *	knet_link_alloc()	memory of receives; a link that is dialed has none before the answer
 *	knet_link_up()		connected: frames may be sent, and are received
 *	knet_link_hide()	no frame is sent or received any more; knet_link_down() follows
 *	knet_link_down()	all frames have ended; the peer may connect again
 *
 * The last two are called in a work item. ndo_stop() hides a link as well, under the RTNL.
 */
#include "knet.h"

/*
 * Receives are posted when the connection is up, in memory that no peer writes to. So a request for
 * one of them would gain nothing: frames of all lengths come without. Who pays for the device does
 * not get the memory reserve.
 */
struct kfi_conn_attr knet_conn_attr(struct knet *kn)
{
	return (struct kfi_conn_attr) {
		.depth = KNET_BUFS, .tx = KNET_TX, .where = KFI_CONN_READ, .eager = SIZE_MAX,
		.timeout_ms = KNET_OP_MS, .need_privilege = true, .reclaim = !kn->payer,
		.account = kfi_payer_account(kn->payer),
	};
}

/* Count the endpoint that will be opened. knet_link_free() follows, unless this fails. */
int knet_link_begin(struct knet_link *link, struct knet_peer *peer)
{
	link->peer = peer;
	link->broken = false;
	spin_lock_init(&link->done_lock);
	return kfi_payer_take(peer->kn->payer, KFI_PAYER_ENDPOINTS, KNET_EP_BYTES);
}

/* Without all of its receives a peer would be slow for ever, so it is better to connect later. */
int knet_link_alloc(struct knet_link *link)
{
	struct knet *kn = link->peer->kn;
	unsigned int i;
	int ret = kfi_account_charge(kfi_payer_account(kn->payer), KNET_LINK_BYTES);

	if (ret)
		return ret;
	link->paid = true;
	for (i = 0; i < KNET_BUFS; i++) {
		link->bufs[i].page = knet_page(kn, GFP_KERNEL, get_order(KNET_BUF));
		if (!link->bufs[i].page)
			return -ENOMEM;
	}
	return 0;
}

/* The endpoint is closed, or was never open. */
void knet_link_free(struct knet_link *link)
{
	struct kfi_payer *payer = link->peer->kn->payer;
	struct knet_buf *buf;
	unsigned int i;

	for (buf = link->bufs; buf < link->bufs + KNET_BUFS; buf++) {
		if (buf->page)
			put_page(buf->page);
		if (buf->spare)
			put_page(buf->spare);
		*buf = (struct knet_buf){};
	}
	for (i = 0; i < KNET_GIVEN; i++) {
		if (link->given[i])
			put_page(link->given[i]);
		link->given[i] = NULL;
	}
	if (link->paid)
		kfi_account_uncharge(kfi_payer_account(payer), KNET_LINK_BYTES);
	link->paid = false;
	kfi_payer_give(payer, KFI_PAYER_ENDPOINTS, KNET_EP_BYTES);
}

/* The first poll posts the receives. */
void knet_link_up(struct knet_link *link, const struct knet_hello *hello)
{
	struct knet_peer *peer = link->peer;
	struct knet *kn = peer->kn;

	lockdep_assert_held(&kn->lock);
	ether_addr_copy(link->mac, hello->mac);
	link->session = le64_to_cpu(hello->session);
	peer->owner = link;
	peer->met = true;
	napi_enable(&peer->napi);
	link->polling = true;
	local_bh_disable();
	napi_schedule(&peer->napi);
	local_bh_enable();
	rcu_assign_pointer(peer->link, link);
	WRITE_ONCE(kn->speed, link->conn.dom->limits.speed);
	knet_count(kn, KNET_UP);
	if (!kn->up++)
		netif_carrier_on(kn->dev);
}

void knet_link_hide(struct knet_link *link)
{
	struct knet_peer *peer = link->peer;
	struct knet *kn = peer->kn;

	lockdep_assert_held(&kn->lock);
	if (!link->polling)
		return;
	RCU_INIT_POINTER(peer->link, NULL);
	if (!--kn->up)
		netif_carrier_off(kn->dev);
	napi_disable(&peer->napi);
	link->polling = false;
	knet_count(kn, KNET_LOST);
}

/*
 * knet_xmit() may use the link until a grace period has passed. Its queue is not
 * stopped then: without a link frames are dropped.
 */
void knet_link_down(struct knet_link *link)
{
	struct knet_peer *peer = link->peer;
	struct knet *kn = peer->kn;
	struct netdev_queue *txq = netdev_get_tx_queue(kn->dev, peer->slot);

	mutex_lock(&kn->lock);
	knet_link_hide(link);
	mutex_unlock(&kn->lock);
	if (link == &peer->out)
		kfi_conn_stop(&link->conn);
	else
		kfi_conn_close(&link->conn);
	synchronize_net();
	knet_link_free(link);
	mutex_lock(&kn->lock);
	if (peer->owner == link) {
		netdev_tx_reset_queue(txq);
		netif_tx_wake_queue(txq);
		peer->owner = NULL;
	}
	mutex_unlock(&kn->lock);
}
