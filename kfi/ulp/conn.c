// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - a connection, from the open of its endpoint to the close.
 *
 *	kfi_conn_open()		objects and memory: new, or those of the last connection
 *	kfi_conn_connect()	OPEN and LIVE are set (an RDM endpoint: in kfi_conn_open())
 *	kfi_conn_fail()		the first call after that clears LIVE, and reports the loss
 *	kfi_conn_stop()		clears both; the reset of the endpoint waits for posts in progress,
 *				ends operations and regions, and waits for all functions
 *
 * listener.c has what differs for accepted connections: they are closed, not stopped.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "ulp.h"

void kfi_conn_init(struct kfi_conn *conn, const struct kfi_conn_ops *ops)
{
	memset(conn, 0, sizeof(*conn));
	conn->ops = ops;
	conn->peer = KFI_ADDR_UNSPEC;
	conn->inject_cqe.done = kfi_inject_failed;
	mutex_init(&conn->lock);
	init_completion(&conn->connected);
	INIT_LIST_HEAD(&conn->entry);
	INIT_LIST_HEAD(&conn->waiting);
	INIT_DELAYED_WORK(&conn->ready_work, kfi_conn_ready_work);
	INIT_WORK(&conn->end_work, kfi_conn_end_work);
	INIT_WORK(&conn->post_work, kfi_conn_post_work);
	init_llist_head(&conn->deferred);
}
EXPORT_SYMBOL_GPL(kfi_conn_init);

/* ---- the end, as it is noticed ---- */

void kfi_conn_fail(struct kfi_conn *conn, int err)
{
	rcu_read_lock();	/* a stop waits for @lost; a release that begins does not free @conn */
	cmpxchg(&conn->err, 0, err);
	smp_mb();	/* either this function finds LIVE, or kfi_conn_live() finds @err */
	if (test_and_clear_bit(KFI_CONN_LIVE, &conn->flags)) {
		if (conn->ops->lost)
			conn->ops->lost(conn, err);
		if (conn->listener)
			queue_work(conn->ops->end_wq, &conn->end_work);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(kfi_conn_fail);

static void conn_outcome(struct kfi_conn *conn)
{
	void (*answered)(struct kfi_conn *conn) = conn->ops->answered;

	/* A waiter may free the connection then. A ULP with answered() keeps it until that ends. */
	complete_all(&conn->connected);
	if (answered)
		answered(conn);
}

/* A refusal fails the receives, too, and these must not hide the answer of the peer: conn_event(). */
void kfi_conn_cancel(struct kfi_conn *conn)
{
	kfi_conn_fail(conn, -ECANCELED);
	conn_outcome(conn);
}
EXPORT_SYMBOL_GPL(kfi_conn_cancel);

/* The connection may have failed before it was live. */
void kfi_conn_live(struct kfi_conn *conn)
{
	rcu_read_lock();	/* a release that begins meanwhile does not free @conn yet */
	set_bit(KFI_CONN_LIVE, &conn->flags);
	smp_mb__after_atomic();	/* pairs with kfi_conn_fail() */
	if (READ_ONCE(conn->err))
		kfi_conn_fail(conn, READ_ONCE(conn->err));
	rcu_read_unlock();
}

/* The first outcome of an attempt to connect has the answer of the peer. */
static void conn_answer(struct kfi_conn *conn, const struct kfi_event *ev)
{
	void *answer = xchg(&conn->answer, NULL);

	if (answer) {
		*conn->answer_len = min(*conn->answer_len, ev->len);
		memcpy(answer, ev->data, *conn->answer_len);
	}
	conn_outcome(conn);
}

static void conn_event(struct kfid_eq *eq, void *context)
{
	struct kfi_conn *conn = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (ev.err || ev.event == KFI_SHUTDOWN)
			kfi_conn_fail(conn, ev.err ?: -ECONNRESET);
		conn_answer(conn, &ev);
	}
}

/* ---- objects ---- */

int kfi_conn_option(struct kfid *fid, int name, size_t value)
{
	int ret = value ? kfi_setopt(fid, KFI_OPT_ENDPOINT, name, &value, sizeof(value)) : 0;

	return ret == -ENOPROTOOPT || ret == -EOPNOTSUPP ? 0 : ret;
}

/* A request takes one transmit, whose completion may arrive later than the answer. */
static size_t conn_transmits(const struct kfi_conn_attr *attr)
{
	return attr->tx ?: 2 * (attr->depth + attr->spare);
}

static int conn_endpoint(struct kfi_conn *conn)
{
	const struct kfi_conn_attr *attr = &conn->attr;

	conn->info->tx_attr->size = conn_transmits(attr);
	/* a larger connection before this one may have left more receives */
	conn->info->rx_attr->size = max(attr->depth + attr->spare, conn->rx[0].n);
	return kfi_endpoint(conn->dom->domain, conn->info, &conn->ep, conn);
}

static int conn_peer(struct kfi_conn *conn)
{
	int ret = kfi_ep_bind(conn->ep, &conn->av->fid, 0);

	if (ret || !conn->attr.peer[0])
		return ret;
	ret = kfi_av_insertsvc(conn->av, conn->attr.peer[0], conn->attr.peer[1], &conn->peer, 0,
			       NULL);
	return ret == 1 ? 0 : ret < 0 ? ret : -EADDRNOTAVAIL;
}

static int conn_enable(struct kfi_conn *conn)
{
	const struct kfi_conn_attr *attr = &conn->attr;
	struct kfid *ep = &conn->ep->fid;

	return kfi_ep_bind(conn->ep, &conn->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_conn_option(ep, KFI_OPT_EAGER_SIZE, attr->eager) ?:
	       kfi_conn_option(ep, KFI_OPT_RECLAIM, attr->reclaim) ?:
	       kfi_conn_option(ep, KFI_OPT_AV_ONLY, attr->av_only) ?:
	       kfi_conn_option(ep, KFI_OPT_OP_TIMEOUT_MS, attr->timeout_ms) ?:
	       kfi_conn_option(ep, KFI_OPT_NEED_PRIVILEGE, attr->need_privilege) ?:
	       (conn->eq ? kfi_ep_bind(conn->ep, &conn->eq->fid, 0) : conn_peer(conn)) ?:
	       kfi_enable(conn->ep);
}

static int conn_regions(struct kfi_conn *conn)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; conn->mrs && i < conn->room && !ret; i++)
		ret = kfi_mr_alloc(conn->dom->domain, conn->attr.region_segs, 0, &conn->mrs[i],
				   NULL) ?:
		      kfi_mr_bind(conn->mrs[i], &conn->ep->fid, 0);
	return ret;
}

static int conn_queues(struct kfi_conn *conn)
{
	static const u64 flags[] = {
		[KFI_CONN_SOFTIRQ]	= KFI_CQ_SOFTIRQ,
		[KFI_CONN_WORK]		= KFI_CQ_LOCAL,
		[KFI_CONN_ROUNDS]	= KFI_CQ_LOCAL | KFI_CQ_ROUNDS,
		[KFI_CONN_POLL]		= KFI_CQ_DIRECT,
		[KFI_CONN_READ]		= 0,
	};
	const struct kfi_conn_attr *attr = &conn->attr;
	bool read = attr->where == KFI_CONN_READ;
	struct kfi_cq_attr cq = {	/* all operations of the kit have a done() */
		.size = read ? attr->tx + attr->depth : 16, .format = KFI_CQ_FORMAT_DATA,
		.flags = flags[attr->where], .wait_obj = read ? KFI_WAIT_QUEUE : KFI_WAIT_NONE,
	};
	kfi_comp_handler handler = attr->where == KFI_CONN_ROUNDS ? kfi_round_end : NULL;
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	int ret;

	if (read && conn->ops->ready) {
		cq.flags = KFI_CQ_SOFTIRQ;
		cq.wait_obj = KFI_WAIT_NONE;
		handler = conn->ops->ready;
	}
	ret = kfi_cq_open(conn->dom->domain, &cq, &conn->cq, handler, conn);
	if (ret)
		return ret;
	if (conn->info->ep_attr->type == KFI_EP_RDM)
		return kfi_av_open(conn->dom->domain, &av, &conn->av, NULL);
	return kfi_eq_open(conn->dom->fab->fabric, NULL, &conn->eq, conn_event, conn);
}

/* Close the objects of a connection on which nothing is in progress. The memory stays. */
void kfi_conn_release(struct kfi_conn *conn)
{
	unsigned int i;

	for (i = 0; conn->mrs && i < conn->room; i++) {
		if (conn->mrs[i])
			WARN_ON(kfi_close(&conn->mrs[i]->fid));
		conn->mrs[i] = NULL;
	}
	if (conn->ep)
		WARN_ON(kfi_close(&conn->ep->fid));
	if (conn->av)
		WARN_ON(kfi_close(&conn->av->fid));
	if (conn->eq)
		WARN_ON(kfi_close(&conn->eq->fid));
	if (conn->cq)
		WARN_ON(kfi_close(&conn->cq->fid));
	conn->ep = NULL;
	conn->av = NULL;
	conn->eq = NULL;
	conn->cq = NULL;
	kfi_freeinfo(conn->info);
	conn->info = NULL;
	if (conn->dom)
		kfi_dom_put(conn->dom);
	conn->dom = NULL;
}

/* ---- memory ---- */

static void conn_free(struct kfi_conn *conn)
{
	kfi_rxset_free(conn, &conn->rx[0]);
	kfi_rxset_free(conn, &conn->rx[1]);
	kvfree(conn->mrs);
	if (conn->tx)
		free_pages_exact(conn->tx, conn->room * conn->attr.tx_len);
	conn->mrs = NULL;
	conn->tx = NULL;
	conn->room = 0;
}

/* The sizes of receives and messages are those of @conn->attr. */
static int conn_alloc(struct kfi_conn *conn)
{
	const struct kfi_conn_attr *attr = &conn->attr;
	int ret = kfi_rxset_alloc(conn, &conn->rx[0], attr->first ?: attr->depth + attr->spare);

	if (ret)
		return ret;
	conn->room = attr->depth;
	if (attr->region_segs)
		conn->mrs = kvcalloc(conn->room, sizeof(*conn->mrs), GFP_KERNEL);
	if (attr->tx_len)
		conn->tx = alloc_pages_exact(conn->room * attr->tx_len, GFP_KERNEL);
	if ((conn->mrs || !attr->region_segs) && (conn->tx || !attr->tx_len))
		return 0;
	conn_free(conn);
	return -ENOMEM;
}

static bool room_fits(const struct kfi_conn *conn, const struct kfi_conn_attr *new)
{
	const struct kfi_conn_attr *old = &conn->attr;

	return conn->room >= new->depth &&
	       conn->rx[0].n >= (new->first ?: new->depth + new->spare) &&
	       old->rx_len == new->rx_len && old->rx_more == new->rx_more &&
	       old->rx_priv == new->rx_priv && old->tx_len == new->tx_len &&
	       !old->region_segs == !new->region_segs;
}

/* The memory may be that of a larger connection, so the endpoint is compared by itself. */
static bool objects_fit(const struct kfi_conn *conn, const struct kfi_dom *dom,
			const struct kfi_info *info, const struct kfi_conn_attr *new)
{
	const struct kfi_conn_attr *old = &conn->attr;

	return conn->ep && conn->dom == dom && conn->info->src_addrlen == info->src_addrlen &&
	       !memcmp(conn->info->src_addr, info->src_addr, info->src_addrlen) &&
	       old->where == new->where && old->region_segs == new->region_segs &&
	       old->tx == new->tx && old->reclaim == new->reclaim &&
	       old->timeout_ms == new->timeout_ms && old->eager == new->eager &&
	       old->need_privilege == new->need_privilege &&
	       conn->info->tx_attr->size >= conn_transmits(new) &&
	       room_fits(conn, new);
}

/* On failure no object is open. */
int kfi_conn_objects(struct kfi_conn *conn, struct kfi_dom *dom, const struct kfi_info *info,
		     const struct kfi_conn_attr *attr)
{
	int ret = 0;

	/* The requests of these have no regions here: they may run when the endpoint is closed. */
	if (attr->region_segs && (conn->listener || info->ep_attr->type == KFI_EP_RDM))
		return -EINVAL;
	if (objects_fit(conn, dom, info, attr)) {
		conn->attr.depth = attr->depth;
		conn->attr.spare = attr->spare;
		return 0;
	}
	kfi_conn_release(conn);
	if (!room_fits(conn, attr)) {
		conn_free(conn);
		conn->attr = *attr;
		ret = conn_alloc(conn);
	}
	if (ret)
		return ret;
	conn->attr = *attr;
	conn->dom = kfi_dom_ref(dom);
	conn->info = kfi_dupinfo(info);
	ret = conn->info ? conn_queues(conn) ?: conn_endpoint(conn) ?: conn_enable(conn) ?:
			   conn_regions(conn) : -ENOMEM;
	if (ret) {
		kfi_conn_release(conn);
		return ret;
	}
	conn->tx_segs = min_t(size_t, conn->info->tx_attr->iov_limit ?: 1, KFI_ULP_SEGS);
	conn->reply_max = kfi_ep_reply_max(conn->ep);
	return 0;
}

/* ---- the connection ---- */

static void conn_begin(struct kfi_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->epoch, conn->epoch + 1);
	conn->active = true;
	WRITE_ONCE(conn->err, 0);
	reinit_completion(&conn->connected);
}

/*
 * End what is in progress. The reset waits for a grace period itself, so no section of
 * kfi_conn_enter() and no @lost is left. Objects of a device that has gone, of an endpoint that
 * can't be reset, or with entries that nobody has read, are closed.
 */
static void conn_disconnect(struct kfi_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->active = false;
	if (conn->av || conn->attr.where == KFI_CONN_READ || kfi_ep_reset(conn->ep)) {
		synchronize_rcu_expedited();	/* sections use the objects */
		kfi_conn_release(conn);
	}
	kfi_rxset_stopped(conn, &conn->rx[0]);
	kfi_conn_drain(conn);
}

/* Operations may begin. Receives that the ULP has given back before that are posted. */
static void conn_opened(struct kfi_conn *conn)
{
	int ret;

	set_bit(KFI_CONN_OPEN, &conn->flags);
	smp_mb__after_atomic();	/* pairs with kfi_rx_done() */
	ret = kfi_rxset_post(conn, &conn->rx[0]);
	if (ret)
		kfi_conn_fail(conn, ret);
	kfi_conn_live(conn);
}

int kfi_conn_open(struct kfi_conn *conn, struct kfi_dom *dom, const struct kfi_info *info,
		  const struct kfi_conn_attr *attr)
{
	int ret;

	mutex_lock(&conn->lock);
	ret = kfi_conn_objects(conn, dom, info, attr);
	if (!ret && conn->av) {
		conn_begin(conn);
		ret = kfi_rxset_post(conn, &conn->rx[0]);
		if (ret)
			conn_disconnect(conn);
		else
			conn_opened(conn);
	}
	mutex_unlock(&conn->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_open);

static int conn_dialed(struct kfi_conn *conn)
{
	int ret;

	lockdep_assert_held(&conn->lock);
	ret = completion_done(&conn->connected) ? READ_ONCE(conn->err) : -ETIMEDOUT;
	if (ret)
		conn_disconnect(conn);	/* waits for conn_event() */
	if (xchg(&conn->answer, NULL))
		*conn->answer_len = 0;
	if (!ret)
		conn_opened(conn);
	return ret;
}

static int conn_dial(struct kfi_conn *conn, const void *addr, const void *data, size_t len,
		     void *answer, size_t *answer_len)
{
	int ret;

	lockdep_assert_held(&conn->lock);
	if (!conn->ep)
		return -ENOTCONN;
	conn_begin(conn);
	conn->answer_len = answer_len;
	conn->answer = answer;
	ret = kfi_rxset_post(conn, &conn->rx[0]) ?: kfi_connect(conn->ep, addr, data, len);
	if (!ret)
		return 0;
	conn_disconnect(conn);
	if (xchg(&conn->answer, NULL))
		*answer_len = 0;
	return ret;
}

int kfi_conn_dial(struct kfi_conn *conn, const void *addr, const void *data, size_t len,
		  void *answer, size_t *answer_len)
{
	int ret;

	mutex_lock(&conn->lock);
	ret = conn_dial(conn, addr, data, len, answer, answer_len);
	mutex_unlock(&conn->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_dial);

int kfi_conn_dialed(struct kfi_conn *conn)
{
	int ret;

	mutex_lock(&conn->lock);
	ret = conn->active ? conn_dialed(conn) : -ENOTCONN;
	mutex_unlock(&conn->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_dialed);

int kfi_conn_connect(struct kfi_conn *conn, const void *addr, const void *data, size_t len,
		     void *answer, size_t *answer_len, unsigned int ms)
{
	int ret;

	mutex_lock(&conn->lock);
	ret = conn_dial(conn, addr, data, len, answer, answer_len);
	if (!ret) {
		wait_for_completion_timeout(&conn->connected, msecs_to_jiffies(ms));
		ret = conn_dialed(conn);
	}
	mutex_unlock(&conn->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_connect);

/* Run post_work: as the connection is not open, what waits there ends. */
void kfi_conn_drain(struct kfi_conn *conn)
{
	if (!conn->ops->post_wq)
		return;
	queue_work(conn->ops->post_wq, &conn->post_work);
	flush_work(&conn->post_work);
}
EXPORT_SYMBOL_GPL(kfi_conn_drain);

void kfi_conn_stop(struct kfi_conn *conn)
{
	mutex_lock(&conn->lock);
	if (conn->active) {
		clear_bit(KFI_CONN_LIVE, &conn->flags);
		clear_bit(KFI_CONN_OPEN, &conn->flags);
		conn_disconnect(conn);
	}
	mutex_unlock(&conn->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_stop);

/* As kfi_conn_close(), for a connection that only the caller knows. */
void kfi_conn_discard(struct kfi_conn *conn)
{
	kfi_conn_release(conn);
	conn_free(conn);
	if (conn->listener)
		kfi_conn_gone(conn);
}

void kfi_conn_close(struct kfi_conn *conn)
{
	kfi_conn_stop(conn);
	if (conn->ops->post_wq)
		synchronize_rcu_expedited();	/* rw_defer() has queued post_work */
	kfi_conn_drain(conn);	/* what the ULP has started after the stop */
	mutex_lock(&conn->lock);
	kfi_conn_discard(conn);
	mutex_unlock(&conn->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_close);

int kfi_conn_name(struct kfi_conn *conn, void *addr, size_t *len)
{
	int ret = -ENOTCONN;

	if (!test_bit(KFI_CONN_OPEN, &conn->flags))
		return ret;	/* a connect may hold the lock for long */
	mutex_lock(&conn->lock);
	if (test_bit(KFI_CONN_OPEN, &conn->flags))
		ret = kfi_getname(&conn->ep->fid, addr, len);
	mutex_unlock(&conn->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_name);
