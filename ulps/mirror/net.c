// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - the endpoint for a peer, messages, and regions. All but the completions runs with the
 * mirror claimed (main.c): messages and regions in the worker, writes to the ring also elsewhere.
 *
 * The endpoint is opened after resume and closed by suspend. A lost peer does not close it: an RDM
 * endpoint connects again with the next post. Completions run in softirq.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "mirror.h"

#define KFM_IOV	(2 * KFM_GROUP)		/* head and data of each record */
#define MALFORMED_PAUSE	HZ
#define API	KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)

static struct kfi_info *make_hints(const struct kfm_peer *p)
{
	struct kfi_info *hints = kfi_allocinfo();
	const struct kfm *m = p->m;

	if (!hints)
		return NULL;
	if (m->secret) {
		hints->ep_attr->auth_key = kmemdup(m->secret, m->secret_len, GFP_KERNEL);
		hints->ep_attr->auth_key_size = m->secret_len;
		if (!hints->ep_attr->auth_key)
			goto free;
	}
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->ep_attr->max_msg_size = KFM_GROUP_BYTES;
	hints->tx_attr->size = KFM_SLOTS + KFM_TX + 1;
	hints->tx_attr->msg_order = KFI_ORDER_SAS;
	hints->tx_attr->iov_limit = KFM_IOV;
	hints->rx_attr->size = KFM_RX;
	hints->rx_attr->msg_order = KFI_ORDER_SAS;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | KFI_MR_PROV_KEY |
				      KFI_MR_ENDPOINT;
	if (!strcmp(p->provider, "any"))
		return hints;
	hints->fabric_attr->prov_name = kstrdup(p->provider, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		return hints;
free:
	kfi_freeinfo(hints);
	return NULL;
}

/* ---- messages ---- */

static void received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_slot *slot = container_of(cqe, struct kfm_slot, cqe);
	struct kfm_peer *p = slot->p;
	struct kfm *m = p->m;
	unsigned long flags;

	slot->err = wc->err;
	slot->len = wc->len;
	rcu_read_lock();
	spin_lock_irqsave(&m->lock, flags);
	list_add_tail(&slot->entry, &p->inbox);
	spin_unlock_irqrestore(&m->lock, flags);
	kfm_kick(m);
	rcu_read_unlock();
}

static void sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_slot *slot = container_of(cqe, struct kfm_slot, cqe);

	WRITE_ONCE(slot->p->net.sent_err, wc->err);
	kfm_signal(slot->p->m, &slot->busy);
}

static ssize_t post_receive(struct kfm_slot *slot)
{
	struct kvec iov = { .iov_base = &slot->data, .iov_len = sizeof(slot->data) };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = KFI_ADDR_UNSPEC,
		.context = &slot->cqe,
	};

	slot->cqe.done = received;
	return kfi_recvmsg(slot->p->net.ep, &msg, KFI_CQE);
}

/**
 * kfm_net_send() - send a message, or do nothing
 * @p: to whom
 * @msg: message; the UUID and the number of this node are filled in
 *
 * A message that is lost is repeated by a timer, or is contained in a later one.
 */
void kfm_net_send(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_slot *slot = p->net.tx;
	struct kfm_msg copy = *msg;
	struct kvec iov;
	struct kfi_msg post = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = p->net.peer,
	};

	if (!kfm_net_up(p))
		return;
	while (slot < &p->net.tx[KFM_TX] && kfm_busy(&slot->busy))
		slot++;
	if (slot == &p->net.tx[KFM_TX])
		return;
	memcpy(copy.uuid, p->m->sb.uuid, sizeof(copy.uuid));
	copy.node = p->m->sb.node;
	kfm_msg_encode(&copy, &slot->data);
	iov = (struct kvec) { .iov_base = &slot->data, .iov_len = sizeof(slot->data) };
	slot->cqe.done = sent;
	slot->busy = true;
	post.context = &slot->cqe;
	if (kfi_sendmsg(p->net.ep, &post, KFI_CQE))
		slot->busy = false;
}

static struct kfm_slot *next_slot(struct kfm_peer *p)
{
	struct kfm_slot *slot;

	spin_lock_irq(&p->m->lock);
	slot = list_first_entry_or_null(&p->inbox, struct kfm_slot, entry);
	if (slot)
		list_del(&slot->entry);
	spin_unlock_irq(&p->m->lock);
	return slot;
}

/* A peer that breaks the protocol, or speaks another version, has no endpoint for a while. */
static void cut_off(struct kfm_peer *p)
{
	DMWARN_LIMIT("%s: %s has sent something malformed", kfm_name(p->m), p->remote[0]);
	kfm_net_close(p);
	p->net.retry = jiffies + MALFORMED_PAUSE;
}

/**
 * kfm_net_receive() - pass messages that have arrived to peer.c, and post their receives again
 * @p: the peer
 *
 * A peer may send without a pause: what is more than the receives that were posted waits until the
 * worker has done all else that is due.
 */
void kfm_net_receive(struct kfm_peer *p)
{
	unsigned int budget = KFM_RX;
	struct kfm_slot *slot;
	struct kfm_msg msg;
	int err;

	while (kfm_net_up(p) && (slot = next_slot(p))) {
		err = slot->err;	/* of the connection, unless the message is too long */
		if (err ? err == KFI_ETRUNC : kfm_msg_decode(&slot->data, slot->len, &msg)) {
			cut_off(p);
			return;
		}
		if (post_receive(slot)) {
			kfm_net_close(p);	/* the device is gone */
			return;
		}
		if (!err)
			kfm_peer_message(p, &msg);
		if (!--budget) {
			kfm_kick(p->m);
			return;
		}
	}
}

/* ---- RMA ---- */

static void fetched(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_peer *p = container_of(cqe, struct kfm_peer, fetch);

	p->fetch_err = -wc->err;
	kfm_signal(p->m, &p->fetch_busy);
}

/* Begin a read. @busy becomes false when it has ended, or now, if it does not begin. */
static ssize_t rma_read(struct kfm_peer *p, void *buf, u64 key, u64 addr, u32 len,
			struct kfi_cqe *cqe, bool *busy)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = p->net.peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = cqe,
	};
	ssize_t ret;

	*busy = true;
	ret = kfi_readmsg(p->net.ep, &msg, KFI_CQE);
	if (ret)
		*busy = false;
	return ret;
}

/* Read the peer's bitmap. */
ssize_t kfm_net_fetch(struct kfm_peer *p, u64 key, u64 addr, u32 len)
{
	p->fetch.done = fetched;
	return rma_read(p, p->peer_bits, key, addr, len, &p->fetch, &p->fetch_busy);
}

static void record_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_post *next, *post = container_of(cqe, struct kfm_post, cqe);
	struct kfm *m = post->w->m;

	rcu_read_lock();	/* see kfm_signal() */
	for (; post; post = next) {
		next = post->next;
		post->err = -wc->err;
		smp_store_release(&post->busy, false);	/* pairs with kfm_busy(), see claim.c */
	}
	kfm_run_atomic(m, NULL);
	rcu_read_unlock();
}

/* Read what the peer has copied to its window. */
ssize_t kfm_net_read(struct kfm_peer *p, struct kfm_write *w)
{
	struct kfm_post *post = &w->posts[p->index];

	post->next = NULL;
	post->cqe.done = record_done;
	return rma_read(p, w->buf + KFM_DATA_AT, p->ring.window_key, p->ring.window_addr, w->len,
			&post->cqe, &post->busy);
}

/*
 * All of a record's room: zeros before its head, the head, and the data. All heads are in front of
 * the data, but only one can be next to it.
 */
static unsigned int rec_iov(const struct kfm_peer *p, const struct kfm_write *w, struct kvec *iov)
{
	iov[0] = (struct kvec) {
		.iov_base = kfm_write_head(p, w) - KFM_REC_HEAD_AT, .iov_len = KFM_REC_DATA_AT,
	};
	if (!p->index) {
		iov[0].iov_len += w->len;
		return 1;
	}
	iov[1] = (struct kvec) { .iov_base = w->buf + KFM_DATA_AT, .iov_len = w->len };
	return 2;
}

/* Link the posts, which complete together, and mark them. */
static void group_busy(const struct kfm_peer *p, const struct kfm_group *g, bool busy)
{
	struct kfm_post *post, *next = NULL;
	unsigned int i;

	for (i = g->count; i--; next = post) {
		post = &g->writes[i]->posts[p->index];
		post->next = next;
		post->busy = busy;
	}
}

/* Write a group of records to the peer's ring, durably. */
ssize_t kfm_net_write(struct kfm_peer *p, const struct kfm_group *g)
{
	struct kfi_cqe *cqe = &g->writes[0]->posts[p->index].cqe;
	struct kvec iov[KFM_IOV];
	struct kfi_rma_iov rma = {
		.addr = p->ring.addr + g->at, .len = g->bytes, .key = p->ring.key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.addr = p->net.peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = cqe,
	};
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < g->count; i++)
		msg.iov_count += rec_iov(p, g->writes[i], &iov[msg.iov_count]);
	cqe->done = record_done;
	group_busy(p, g, true);
	ret = kfi_writemsg(p->net.ep, &msg, KFI_CQE | KFI_COMMIT_COMPLETE);
	if (ret)
		group_busy(p, g, false);
	return ret;
}

/**
 * kfm_net_region() - let the peer access memory
 * @p: peer with an open endpoint
 * @buf: memory
 * @len: bytes
 * @access: KFI_REMOTE_
 * @persist: makes bytes durable, or NULL
 * @mr: the region
 *
 * Return: 0 or a negative error.
 */
int kfm_net_region(struct kfm_peer *p, void *buf, size_t len, u64 access,
		   int (*persist)(struct kfid_mr *mr, u64 offset, size_t len),
		   struct kfid_mr **mr)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC,
		.mr_iov = &iov,
		.iov_count = 1,
		.access = access,
		.requested_key = KFI_KEY_NOTAVAIL,
		.context = p->m,
		.persist = persist,
	};
	int ret;

	if (!kfm_net_up(p))
		return -ENOTCONN;
	ret = kfi_mr_regattr(p->net.domain, &attr, persist ? KFI_RMA_PMEM : 0, mr);
	if (ret)
		return ret;
	/* the peer of this endpoint alone: a key that leaks is of no use elsewhere */
	ret = kfi_mr_bind(*mr, &p->net.ep->fid, 0);
	if (!ret && p->net.ends)
		ret = kfi_mr_enable(*mr);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&(*mr)->fid));
	*mr = NULL;
	return ret;
}

/* ---- endpoint ---- */

static int set_option(struct kfid_ep *ep, int name, size_t value)
{
	int ret = kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, name, &value, sizeof(value));

	return ret == -ENOPROTOOPT || ret == -EOPNOTSUPP ? 0 : ret;
}

/*
 * Callers that are not the peer are refused where the provider can do that: all but loop. One
 * without a time limit may keep a buffer of a lost session for longer, and new writes wait if it
 * keeps all of them.
 */
static int set_options(const struct kfm *m, struct kfid_ep *ep)
{
	return set_option(ep, KFI_OPT_AV_ONLY, 1) ?: set_option(ep, KFI_OPT_RECLAIM, 1) ?:
	       set_option(ep, KFI_OPT_OP_TIMEOUT_MS, jiffies_to_msecs(m->timeout));
}

static int open_endpoint(struct kfm_peer *p, struct kfi_info *info)
{
	struct kfi_cq_attr cq_attr = { .flags = KFI_CQ_SOFTIRQ, .format = KFI_CQ_FORMAT_CONTEXT };
	struct kfi_av_attr av_attr = { .type = KFI_AV_TABLE };
	struct kfm_net *net = &p->net;
	int ret;

	ret = kfi_cq_open(net->domain, &cq_attr, &net->cq, NULL, NULL);
	if (ret)
		return ret;
	ret = kfi_av_open(net->domain, &av_attr, &net->av, NULL);
	if (ret)
		goto close_cq;
	ret = kfi_endpoint(net->domain, info, &net->ep, NULL);
	if (ret)
		goto close_av;
	ret = kfi_ep_bind(net->ep, &net->cq->fid, KFI_TRANSMIT | KFI_RECV);
	if (!ret)
		ret = kfi_ep_bind(net->ep, &net->av->fid, 0);
	if (!ret)
		ret = set_options(p->m, net->ep);
	if (!ret)
		ret = kfi_av_insertsvc(net->av, p->remote[0], p->remote[1], &net->peer, 0, NULL);
	if (ret == 1)
		ret = kfi_enable(net->ep);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&net->ep->fid));
close_av:
	WARN_ON(kfi_close(&net->av->fid));
close_cq:
	WARN_ON(kfi_close(&net->cq->fid));
	return ret < 0 ? ret : -EADDRNOTAVAIL;
}

static void close_endpoint(struct kfm_net *net)
{
	WARN_ON(kfi_close(&net->ep->fid));
	WARN_ON(kfi_close(&net->av->fid));
	WARN_ON(kfi_close(&net->cq->fid));	/* waits for completions that run */
}

static int open_domain(struct kfm_peer *p, struct kfi_info *info)
{
	struct kfm_net *net = &p->net;
	struct kfid_fabric *fabric;
	int ret;

	ret = kfi_fabric_net(p->m->net_ns, info->fabric_attr, &fabric, NULL);
	if (ret)
		return ret;
	ret = kfi_domain(fabric, info, &net->domain, NULL);
	if (ret)
		goto close_fabric;
	net->ends = info->domain_attr->mr_mode & KFI_MR_ENDPOINT;
	ret = open_endpoint(p, info);
	if (ret)
		goto close_domain;
	net->fabric = fabric;
	return 0;

close_domain:
	WARN_ON(kfi_close(&net->domain->fid));
close_fabric:
	WARN_ON(kfi_close(&fabric->fid));
	return ret;
}

static void net_close(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_net *net = &p->net;

	close_endpoint(net);
	WARN_ON(kfi_close(&net->domain->fid));
	WARN_ON(kfi_close(&net->fabric->fid));
	net->fabric = NULL;
	spin_lock_irq(&m->lock);
	INIT_LIST_HEAD(&p->inbox);
	spin_unlock_irq(&m->lock);
}

/* Open the endpoint and post its receives. Return: 0 or a negative error. */
static int net_open(struct kfm_peer *p)
{
	struct kfm_net *net = &p->net;
	struct kfi_info *hints = make_hints(p), *info;
	unsigned int i;
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(p->m->net_ns, API, p->local[0], p->local[1], KFI_SOURCE, hints,
			      &info);
	kfi_freeinfo(hints);
	if (ret)
		return ret;
	ret = open_domain(p, info);
	kfi_freeinfo(info);
	if (ret)
		return ret;
	for (i = 0; i < KFM_TX; i++)
		net->tx[i].p = p;
	for (i = 0; i < KFM_RX && !ret; i++) {
		net->rx[i].p = p;
		ret = post_receive(&net->rx[i]);
	}
	if (ret)
		net_close(p);
	return ret;
}

/* Open the endpoint. The worker does not wait for it, and queues it again if it fails. */
void kfm_net_work(struct work_struct *work)
{
	struct kfm_peer *p = container_of(work, struct kfm_peer, net.work);
	unsigned int noio = memalloc_noio_save();
	int ret = net_open(p);

	memalloc_noio_restore(noio);
	if (ret && p->net.logged_err != ret)
		DMWARN("%s: can't open an endpoint at %s (%d)", kfm_name(p->m), p->local[0], ret);
	p->net.logged_err = ret;
	kfm_signal(p->m, &p->net.opening);
}

/* Close everything. All completions have run when this returns. */
void kfm_net_close(struct kfm_peer *p)
{
	if (!kfm_net_up(p))
		return;
	if (p->m->log.peer == p)
		kfm_log_close(p->m);
	net_close(p);
}
