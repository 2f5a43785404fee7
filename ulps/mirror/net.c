// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - the endpoints for a peer, and messages. All but the completions runs in the worker, with
 * the mirror claimed (claim.c).
 *
 * An endpoint is opened after resume and closed by suspend. A lost peer does not close it: an RDM
 * endpoint connects again with the next post. Completions run in softirq.
 */
#include <linux/sched/mm.h>
#include <linux/string.h>
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "record.h"
#include "write.h"

static struct kfm_rail *to_rail(struct kfi_conn *conn)
{
	return container_of(conn, struct kfm_rail, conn);
}

/* ---- messages ---- */

static void received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_rx *rx = container_of(cqe, struct kfm_rx, rx.cqe);
	struct kfm_peer *p = to_rail(rx->rx.conn)->p;
	struct kfm *m = p->m;
	unsigned long flags;

	rx->err = wc->err;
	rx->rx.len = wc->len;
	rcu_read_lock();
	spin_lock_irqsave(&m->lock, flags);
	list_add_tail(&rx->entry, &p->inbox);
	spin_unlock_irqrestore(&m->lock, flags);
	kfm_kick(m);
	rcu_read_unlock();
}

static void sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_slot *slot = container_of(cqe, struct kfm_slot, cqe);

	WRITE_ONCE(slot->rail->sent_err, wc->err);
	kfm_signal(slot->rail->p->m, &slot->busy);
}

/**
 * kfm_net_send_by() - send a message, or do nothing
 * @rail: by which rail
 * @msg: message; the UUID and the number of this node are filled in. If it has no version, it gets
 *	that of the session, or the lowest one if there is no session
 *
 * A message that is lost is repeated by a timer, or is contained in a later one.
 */
void kfm_net_send_by(struct kfm_rail *rail, const struct kfm_msg *msg)
{
	const struct kfm_super *sb = &rail->p->m->sb;
	struct kfm_slot *slot = rail->tx;
	struct kfm_msg copy = *msg;
	struct kvec iov;
	struct kfi_msg post = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = rail->conn.peer,
	};

	if (!kfm_rail_up(rail))
		return;
	while (slot < &rail->tx[KFM_TX] && kfm_busy(&slot->busy))
		slot++;
	if (slot == &rail->tx[KFM_TX])
		return;
	memcpy(copy.uuid, sb->uuid, sizeof(copy.uuid));
	copy.node = sb->node;
	if (msg->type == KFM_HELLO || msg->type == KFM_REFUSED)
		copy.version = KFM_MSG_FORM;
	else if (!msg->version)
		copy.version = rail->p->version;
	kfm_msg_encode(&copy, &slot->data);
	iov = (struct kvec) { .iov_base = &slot->data, .iov_len = sizeof(slot->data) };
	post.context = &slot->cqe;
	slot->cqe.done = sent;
	slot->busy = true;
	if (kfi_sendmsg(rail->conn.ep, &post, KFI_CQE))
		slot->busy = false;
}

/* The same by the rail of the session */
void kfm_net_send(struct kfm_peer *p, const struct kfm_msg *msg)
{
	kfm_net_send_by(p->rail, msg);
}

/* The next message by an endpoint that is open, and not only being opened */
static struct kfm_rx *next_rx(struct kfm_peer *p)
{
	struct kfm_rx *rx, *found = NULL;

	spin_lock_irq(&p->m->lock);
	list_for_each_entry(rx, &p->inbox, entry) {
		if (kfm_rail_up(to_rail(rx->rx.conn))) {
			found = rx;
			list_del(&rx->entry);
			break;
		}
	}
	spin_unlock_irq(&p->m->lock);
	return found;
}

/* Return: as kfm_msg_decode() does. The connection may have failed; then there is no message. */
static int decode(const struct kfm_rx *rx, struct kfm_msg *msg)
{
	int ret;

	if (rx->err)
		return rx->err == KFI_ETRUNC ? -EPROTO : -ENOTCONN;	/* the message is too long */
	ret = kfm_msg_decode(rx->rx.head, rx->rx.len, msg);
	return ret == -EPROTONOSUPPORT && msg->type != KFM_HELLO ? -EPROTO : ret;
}

/**
 * kfm_net_receive() - take the next message that has arrived, and post its receive again
 * @p: the peer; kfm_peer.came becomes the rail by which the message has come
 * @msg: the message
 *
 * Return: 0; -EPROTONOSUPPORT for a HELLO in another version, of which @msg has the session;
 * -ENODATA: there is none; -ENOTCONN: a receive has ended without one; -EPROTO: the peer breaks the
 * protocol; -ENODEV: the device is gone. The last two end the endpoint: kfm_rail_close().
 */
int kfm_net_receive(struct kfm_peer *p, struct kfm_msg *msg)
{
	struct kfm_rx *rx = next_rx(p);
	int ret;

	if (!rx)
		return -ENODATA;
	p->came = to_rail(rx->rx.conn);
	ret = decode(rx, msg);
	if (ret == -EPROTO)
		return ret;
	return kfi_rx_done(&rx->rx) ? -ENODEV : ret;
}

/* ---- endpoint ---- */

int kfm_net_region(struct kfm_rail *rail, void *buf, size_t len, u64 access,
		   kfm_persist_fn *persist, struct kfid_mr **mr)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	const struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = access,
		.requested_key = KFI_KEY_NOTAVAIL, .context = rail->p->m, .persist = persist,
	};

	if (!kfm_rail_up(rail))
		return -ENOTCONN;
	return kfi_region_open(&rail->conn, &attr, persist ? KFI_RMA_PMEM : 0, mr);
}

const struct kfi_conn_ops kfm_conn_ops = { .received = received };

/* No callback of the endpoint runs: drop what it has received. */
static void inbox_clear(struct kfm_rail *rail)
{
	struct kfm_peer *p = rail->p;
	struct kfm_rx *rx, *next;

	spin_lock_irq(&p->m->lock);
	list_for_each_entry_safe(rx, next, &p->inbox, entry) {
		if (to_rail(rx->rx.conn) == rail)
			list_del(&rx->entry);
	}
	spin_unlock_irq(&p->m->lock);
}

static bool same_domain(const struct kfi_info *a, const struct kfi_info *b)
{
	return !strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
	       !strcmp(a->domain_attr->name, b->domain_attr->name);
}

/*
 * Find the domain that serves the address of this node. A machine has the same name at each of its
 * cables, each of which leads to one other machine, and those to other machines may come first:
 * take the first one that leads to the peer. Return: -ENETUNREACH if none of them does
 */
static int net_find(const struct kfm_rail *rail, const struct kfi_need *need,
		    struct kfi_info **found)
{
	const struct kfm *m = rail->p->m;
	struct kfi_info *own, *to, *end, *info;
	int ret = kfi_find(m->net_ns, need, rail->local[0], NULL, rail->local[1], &own);

	if (ret)
		return ret;
	*found = own;
	if (!(own->domain_attr->caps & KFI_ONE_PEER))
		return 0;
	ret = kfi_find(m->net_ns, need, NULL, rail->remote[0], rail->remote[1], &to);
	if (ret == -ENODATA) {
		ret = -ENETUNREACH;
	} else if (!ret) {
		ret = -ENETUNREACH;
		for (info = own; info && ret == -ENETUNREACH; info = info->next) {
			bool there = !(info->domain_attr->caps & KFI_ONE_PEER);

			for (end = to; end && !there; end = end->next)
				there = same_domain(info, end);
			if (there) {
				*found = kfi_dupinfo(info);
				ret = *found ? 0 : -ENOMEM;
			}
		}
		kfi_freeinfo(to);
	}
	kfi_freeinfo(own);
	return ret;
}

/*
 * Callers that are not the peer are refused where the provider can do that: all but loop. One
 * without a time limit may keep a buffer of a lost session for longer, and new writes wait if it
 * keeps all of them.
 */
static int net_open(struct kfm_rail *rail)
{
	const struct kfm *m = rail->p->m;
	const struct kfi_need need = {
		.provider = strcmp(rail->provider, "any") ? rail->provider : NULL,
		.type = KFI_EP_RDM, .order = KFI_ORDER_SAS, .max_len = KFM_DIRECT_SLOT,
		.tx_segs = KFM_IOV,
		.auth_key = m->secret, .auth_key_size = m->secret_len,
	};
	const struct kfi_conn_attr attr = {
		.depth = KFM_RX, .tx = KFM_SLOTS + KFM_TX + 1,
		.rx_len = sizeof(struct kfm_le_msg), .rx_priv = sizeof(struct kfm_rx),
		.reclaim = true, .timeout_ms = jiffies_to_msecs(m->timeout), .av_only = true,
		.peer = { rail->remote[0], rail->remote[1] },
	};
	struct kfi_info *info;
	struct kfi_dom *dom;
	int ret;

	ret = net_find(rail, &need, &info);
	if (ret)
		return ret;
	rail->checked = info->domain_attr->caps & KFI_DATA_CHECK;
	dom = kfi_dom_get(m->net_ns, info, THIS_MODULE);
	ret = PTR_ERR_OR_ZERO(dom) ?: kfi_conn_open(&rail->conn, dom, info, &attr);
	if (!IS_ERR(dom))
		kfi_dom_put(dom);	/* the connection has its own reference */
	kfi_freeinfo(info);
	rail->up = !ret;
	if (ret)
		inbox_clear(rail);	/* receives of an open that has failed half-way */
	return ret;
}

/* Open the endpoint. The worker does not wait for it, and queues it again if it fails. */
void kfm_net_work(struct work_struct *work)
{
	struct kfm_rail *rail = container_of(work, struct kfm_rail, work);
	unsigned int noio = memalloc_noio_save(), i;
	struct kfm *m = rail->p->m;
	int ret;

	for (i = 0; i < KFM_TX; i++)
		rail->tx[i].rail = rail;
	ret = net_open(rail);
	memalloc_noio_restore(noio);
	if (ret && rail->logged_err != ret)
		DMWARN("%s: can't open an endpoint at %s for %s (%d)%s", kfm_name(m),
		       rail->local[0], rail->remote[0], ret,
		       ret == -ENETUNREACH ? ": no cable or bridge leads there" : "");
	rail->logged_err = ret;
	kfm_signal(m, &rail->opening);
}

/*
 * Close the endpoint, see kfm_rail_close(). All completions have run when this returns; the memory
 * stays.
 */
void kfm_net_close(struct kfm_rail *rail)
{
	if (!kfm_rail_up(rail))
		return;
	kfi_conn_stop(&rail->conn);
	rail->up = false;
	inbox_clear(rail);
}
