// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - the life of a connection.
 *
 *   kfp_conn_new()	allocates a connection; the handshake follows (hello.c)
 *   kfp_dial()		allocates one that dials a peer
 *   kfp_conn_prepare()	the handshake is complete
 *   kfp_conn_start()	frames flow (tx.c, rx.c)
 *   kfp_conn_fail()	begins the end, in any context; the first reason is kept (work.c)
 *   kfp_conn_down()	process context: unpublishes the connection, closes the link, returns the
 *			receives, and when the link has released all memory, completes each
 *			operation exactly once
 *
 * No function in this file waits for a peer, except that the close of a link may wait for a bounded
 * time (&kfi_link_ops.close). Each operation of a consumer completes with the reason of the
 * failure.
 */
#include <linux/export.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "peers.h"

/*
 * Free the buffers, in process context, because they may be vmalloc'ed. The last reference can be
 * dropped in softirq, with a message that no receive has taken.
 */
static void kfp_conn_free_buffers(struct kfp_conn *conn)
{
	kfp_answers_free(conn);
	kvfree(conn->rx.segs);
	kvfree(conn->tx.held);
	kfree(conn->auth);
	kfp_protocols_call(free, conn);
	conn->auth = NULL;
	conn->rx.segs = NULL;
	conn->tx.held = NULL;
	kfp_conn_unpay(conn);
}

void kfp_conn_put(struct kfp_conn *conn)
{
	struct kfi_proto *proto = conn->link.proto;

	if (!refcount_dec_and_test(&conn->ref))
		return;
	/* kfp_conn_end() has freed them, unless the connection was in no connection set. */
	kfp_conn_free_buffers(conn);
	kmem_cache_free(proto->cache, conn);
	/* The module of @proto may be gone after the decrement: only the address is used. */
	if (atomic_dec_and_test(&proto->conns))
		wake_up_var(&proto->conns);
}

/*
 * The endpoint that has accepted the call pays from here on, which may have another account than
 * the passive endpoint. Return: 0, -ENOBUFS
 */
int kfp_conn_charge(struct kfp_conn *conn, struct kfi_account *payer)
{
	int ret;

	if (payer == conn->payer)
		return 0;
	ret = kfi_account_charge(payer, conn->paid);
	if (ret)
		return ret;
	kfi_account_uncharge(conn->payer, conn->paid);
	conn->payer = payer;
	return 0;
}

/*
 * Return the bytes of the buffers of a connection, and of what its peer's requests may hold: each
 * has an answer, and a message object, or operands and old values of an atomic operation; reads
 * with several segments have copies of them. The smallest allowances are beyond the bounds of
 * account.c, which bound those of the kernel, and a process pays for its allowances there.
 */
static size_t kfp_conn_bytes(const struct kfp_conn *conn)
{
	size_t request = sizeof(struct kfp_answer) +
			 max(sizeof(struct kfp_inmsg), (size_t)2 * KFW_ATOMIC_MAX);
	size_t bytes = KFP_STAGE + KFP_SEGS_BYTES + conn->link.proto->buffers +
		       (KFW_READ_SEGS + KFW_RMA_MAX) * sizeof(struct kfw_rma);

	if (conn->ops->expose) {
		request += sizeof(struct kfp_places);
		bytes += KFP_GRANTS_BYTES;
	}
	if (conn->account && !kfi_ep_account(&conn->ep->ep))
		bytes += kfp_allowance_mem(KFP_ACCOUNT_MIN);
	return bytes + kfp_params(conn)->requests * request;
}

/*
 * Allocate the buffers of a connection. A connection of a caller gets them after the hello of the
 * caller, and with a key after its proof; before that it consists of a link and this object. May
 * sleep. Return: 0; -ENOMEM; -ENOBUFS if the account of the fabric is full.
 */
int kfp_conn_alloc(struct kfp_conn *conn)
{
	const struct kfp_protocol *const *p;
	struct mem_cgroup *memcg;
	gfp_t gfp = kfp_gfp(conn);
	int ret = kfp_conn_pay(conn, kfp_conn_bytes(conn), true);

	if (ret)
		return ret;
	memcg = set_active_memcg(kfp_memcg(conn));
	conn->tx.held = kvmalloc(KFP_STAGE, gfp);
	conn->tx.stage = conn->tx.held;
	conn->rx.segs = kvmalloc(KFP_SEGS_BYTES, gfp);
	do {
		ret = kfp_answers_more(conn, gfp);
		/* Memory reclaim may wait for answers, so those need no memory. */
	} while (!ret && conn->ep->ep.reclaim && conn->nr_pool < kfp_params(conn)->requests);
	set_active_memcg(memcg);
	if (!conn->tx.held || !conn->rx.segs)
		return -ENOMEM;
	for (p = kfp_protocols; *p && !ret; p++)
		if ((*p)->alloc)
			ret = (*p)->alloc(conn);
	if (!ret)
		kfp_callers_add(conn);
	return ret;
}

static void kfp_conn_down(struct work_struct *work);
static void kfp_conn_watch(struct work_struct *work);

static void kfp_conn_init(struct kfp_conn *conn)
{
	int cls, level;

	refcount_set(&conn->ref, 1);
	init_llist_head(&conn->posted);
	INIT_LIST_HEAD(&conn->tx.queue);
	INIT_LIST_HEAD(&conn->tx.waiting);
	INIT_LIST_HEAD(&conn->tx.unsent);
	INIT_LIST_HEAD(&conn->tx.reading);
	INIT_LIST_HEAD(&conn->tx.granted);
	for (cls = 0; cls < KFP_CLS; cls++)
		INIT_LIST_HEAD(&conn->tx.stalled[cls]);
	spin_lock_init(&conn->lock);
	kfi_runner_init(&conn->runner);
	INIT_LIST_HEAD(&conn->answers);
	INIT_LIST_HEAD(&conn->lazy);
	INIT_LIST_HEAD(&conn->free_answers);
	kfp_protocols_call(init, conn);
	INIT_LIST_HEAD(&conn->rx.space.link);
	conn->rx.space.fn = kfp_rx_space;
	kfp_rx_set_at(conn, KFP_RX_HELLO);
	INIT_DELAYED_WORK(&conn->tx_work, kfp_tx_work);
	INIT_DELAYED_WORK(&conn->rx_work, kfp_rx_work);
	INIT_DELAYED_WORK(&conn->more_work, kfp_more_work);
	INIT_DELAYED_WORK(&conn->watch_work, kfp_conn_watch);
	INIT_DELAYED_WORK(&conn->hello_work, kfp_hello_work);
	INIT_DELAYED_WORK(&conn->down_work, kfp_conn_down);
	conn->link.cpu = raw_smp_processor_id();	/* until bytes arrive */
	for (level = 0; level < KFP_ACCOUNT_LEVELS; level++)
		INIT_LIST_HEAD(&conn->dead[level]);
	INIT_LIST_HEAD(&conn->of_origin);
	INIT_LIST_HEAD(&conn->caller);
}

/*
 * Allocate a connection in handshake, which @pe dials, or whose peer has @called @pe or @ppep.
 * Return: ERR_PTR(-ENOMEM); ERR_PTR(-ENOBUFS) if the account of the fabric is full.
 */
struct kfp_conn *kfp_conn_new(struct kfi_proto *proto, struct kfi_proto_ep *pe,
			      struct kfi_proto_pep *ppep, bool called)
{
	struct kfi_account *payer = pe ? kfi_ep_account(&pe->ep) : ppep->pep.fabric->account;
	struct mem_cgroup *memcg = set_active_memcg(payer ? payer->memcg : NULL);
	const struct kfi_proto_params *params = &proto->params;
	struct kfp_conn *conn;
	int ret;

	conn = kmem_cache_zalloc(proto->cache, payer ? GFP_NOIO | __GFP_ACCOUNT : GFP_NOIO);
	set_active_memcg(memcg);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&proto->conns);
	kfp_conn_init(conn);
	conn->ep = pe;
	conn->pep = ppep;
	conn->ops = proto->ops;
	conn->link.proto = proto;
	conn->link.ep = pe;
	conn->link.hold = pe ? pe->ep.hold : ppep->pep.hold;
	conn->payer = called ? kfp_caller_payer(payer) : payer;
	conn->allowance = params->unexpected;
	conn->link.eager = params->eager_size;
	conn->deadline = kfp_now(conn) + msecs_to_jiffies(READ_ONCE(params->connect_timeout_ms));
	ret = kfp_conn_pay(conn, offsetof(struct kfp_conn, link) + conn->ops->link_size, false) ?:
	      kfp_auth_new(conn);
	if (ret) {
		kfp_conn_put(conn);
		return ERR_PTR(ret);
	}
	return conn;
}

struct kfi_link *kfi_link_new(struct kfi_proto_ep *pe, struct kfi_proto_pep *ppep)
{
	struct kfp_conn *conn = kfp_conn_new(pe ? pe->proto : ppep->proto, pe, ppep, true);

	return IS_ERR(conn) ? NULL : &conn->link;
}
EXPORT_SYMBOL_GPL(kfi_link_new);

int kfi_link_called(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);
	const struct kfi_proto_params *params = kfp_params(conn);
	struct kfi_conn_set *set = conn->ep ? &conn->ep->conn_set : &conn->pep->conn_set;
	char name[KFI_ADDR_MAX];
	int ret;

	conn->deadline = kfp_now(conn) +
			 msecs_to_jiffies(min(READ_ONCE(params->hello_timeout_ms),
					      READ_ONCE(params->connect_timeout_ms)));
	ret = kfi_conn_set_add(set, &conn->pc);
	if (ret == -EBUSY) {
		link->proto->addr_str(link->name, conn->ops->name_len, name, sizeof(name));
		net_warn_ratelimited("kfi_%s: too many connections in handshake, %s turned away\n",
				     link->proto->name, name);
	}
	if (ret)
		conn->ops->close(link, true);
	kfp_conn_put(conn);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_link_called);

/*
 * Store in &kfp_conn.av_name the address of the peer, which completions report as the source of its
 * messages. It stays zero if the peer has no address in this domain.
 */
void kfp_conn_named(struct kfp_conn *conn)
{
	u8 raw[KFI_ADDR_MAX] __aligned(8);
	int len = kfp_name_write(conn->ops, &conn->ep->ep, conn->link.name, raw);

	if (len > 0)
		memcpy(conn->av_name, raw, len);
}

/* ---- dialing ---- */

/*
 * Nothing is sent to a name at which any process of the peer's machine can listen. Called in the
 * work item that dials @peer; NULL: an MSG endpoint, whose consumer gets the error of its call.
 */
static int kfp_dial_refuse(const struct kfp_conn *conn, struct kfi_peer *peer)
{
	const struct kfi_proto *proto = conn->link.proto;
	char name[KFI_ADDR_MAX];

	if (peer && !peer->warned) {
		peer->warned = true;
		proto->addr_str(conn->link.name, proto->ops->name_len, name, sizeof(name));
		pr_warn("kfi_%s: %s is not called, because any process can listen there: use a port below 1024, or an authorization key, see kfi_%s(7)\n",
			proto->name, name, proto->name);
	}
	return -EACCES;
}

/*
 * Allocate a connection that will dial @to, and add it to its endpoint. Return it with a reference
 * for the caller. @peer is NULL for an MSG endpoint.
 */
struct kfp_conn *kfp_dial(struct kfi_proto_ep *pe, const void *to, struct kfi_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */
	struct kfp_conn *conn;
	int ret;

	conn = kfp_conn_new(pe->proto, pe, NULL, false);
	ret = PTR_ERR_OR_ZERO(conn);
	if (ret)
		goto restore;
	memcpy(conn->link.name, to, conn->ops->name_len);
	kfp_conn_named(conn);
	conn->pc.dialed = true;
	ret = conn->ops->open(&conn->link);
	if (ret)
		goto put;
	ret = kfp_trusted(conn) ? kfp_conn_alloc(conn) : kfp_dial_refuse(conn, peer);
	if (!ret && peer)
		ret = kfp_account_join(conn);
	else if (!ret)
		kfp_account_msg_join(conn);
	if (peer)
		kfi_peer_join(peer, &conn->pc);
	ret = ret ?: kfi_conn_set_add(&pe->conn_set, &conn->pc);
	if (!ret)
		goto restore;
	if (peer)
		kfi_peer_leave(&conn->pc);
	kfp_account_down(conn);
	conn->ops->close(&conn->link, true);
put:
	kfp_conn_put(conn);
restore:
	memalloc_noio_restore(noio);
	return ret ? ERR_PTR(ret) : conn;
}

/* Start a connection of kfp_dial() in the hello work. kfp_conn_fail() reports a failure. */
void kfp_dial_start(struct kfp_conn *conn)
{
	kfp_hello_start(conn, KFP_CALLING);
}

/* ---- reports of the link ---- */

/* kfp_conn_close() does not wait for this context: ops->detach() does. */
void kfi_link_securing(struct kfi_link *link)
{
	set_bit(KFP_SECURING, &link_conn(link)->flags);
}
EXPORT_SYMBOL_GPL(kfi_link_securing);

void kfi_link_up(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);
	struct kfi_conn_set *set = conn->pc.conn_set;

	if (test_and_set_bit(KFP_UP, &conn->flags))
		return;
	if (conn->pc.dialed) {
		kfp_hello_kick(conn);	/* from a callback of the link: ops->detach() waits for it */
		return;
	}
	/*
	 * The connection moves only after KFP_NEW. It may be failed to make room then, too. Then
	 * kfp_conn_close() takes the lock first: it neither frees the connection nor cancels
	 * the hello work before the end of this section. Two fail it in KFP_NEW, too:
	 * kfi_conn_set_drain(), which can't happen before this section, see kfi_link_new(); and
	 * after kfi_link_securing() other callers, whose victim ops->detach() keeps until this is
	 * done.
	 */
	spin_lock_bh(&set->lock);
	kfp_hello_start(conn, KFP_HELLO);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_link_up);

void kfi_link_down(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);

	/* pairs with kfp_conn_start(), which has set up @rx before */
	if (smp_load_acquire(&conn->state) != KFP_READY) {
		kfp_hello_kick(conn);
		return;
	}
	/*
	 * The last bytes of the peer may not have been read yet. If they can't be read now,
	 * kfp_conn_watch() ends the connection later.
	 */
	WRITE_ONCE(conn->rx.last_rx, jiffies);
	if (conn->ops->ended(link) != -ESHUTDOWN)
		kfp_conn_check(conn);
	else if (conn->rx.at != KFP_RX_BLOCKED)
		kfp_conn_queue(conn, &conn->rx_work, 0);
}
EXPORT_SYMBOL_GPL(kfi_link_down);

void kfi_link_fail(struct kfi_link *link, int err)
{
	kfp_conn_fail(link_conn(link), err);
}
EXPORT_SYMBOL_GPL(kfi_link_fail);

/* ---- frames flow ---- */

static unsigned long kfp_watch_interval(const struct kfp_conn *conn)
{
	unsigned int timeout = jiffies_to_msecs(kfp_peer_timeout(conn));

	return msecs_to_jiffies(clamp(timeout / 2, 100U, 5000U));
}

/* The handshake is complete: prepare for frames. Called in the hello work. */
void kfp_conn_prepare(struct kfp_conn *conn)
{
	const struct kfw_hello_info *info = &conn->hello_info;
	struct kfp_tx *tx = &conn->tx;

	if (conn->ops->admit)
		conn->ops->admit(&conn->link);
	tx->allowance[KFP_CLS_MSG] = info->allowance_msg;
	tx->allowance[KFP_CLS_TAG] = info->allowance_tag;
	tx->requests_max = info->requests;
	tx->eager = info->eager;
	kfi_credit_init(&tx->credit[KFP_CLS_MSG], &conn->credit[KFP_CLS_MSG], conn->allowance,
			info->allowance_msg);
	kfi_credit_init(&tx->credit[KFP_CLS_TAG], &conn->credit[KFP_CLS_TAG], conn->allowance,
			info->allowance_tag);
	conn->rx.last_rx = jiffies;
	conn->rx.held = kfi_held(conn->link.hold);
	kfp_rx_next(conn);
}

/*
 * After kfp_conn_prepare(): frames flow. Bytes may have arrived already. If the connection was
 * published before, operations may have been posted: the caller calls kfp_tx_kick().
 */
void kfp_conn_start(struct kfp_conn *conn)
{
	/* Pairs with the loads in kfp_rx_run() and kfp_tx_run(), which read nothing else before. */
	smp_store_release(&conn->state, KFP_READY);
	kfp_conn_queue(conn, &conn->rx_work, 0);	/* also checks the link */
	kfp_conn_queue(conn, &conn->watch_work, kfp_watch_interval(conn));
}

/*
 * End the connection of a peer that is alive but late. The link reports peers that are dead. A live
 * peer could keep the receives that it was granted for ever, because they can't be canceled any
 * more. The peer has peer_timeout_ms for the next bytes of a frame, and for the payload of each
 * grant, and a payload has to arrive at a least rate, see kfp_rx_late(), and to be taken at that
 * rate if it comes out of a receive. Regions that have ended are returned to their owners.
 */
static void kfp_conn_watch(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, watch_work);
	unsigned long timeout = kfp_peer_timeout(conn);
	bool silent, ended, late;

	if (test_bit(KFP_FAILED, &conn->flags))
		return;
	if (!test_bit(KFP_DEAD, &conn->flags) && conn->ops->lock(&conn->link)) {
		silent = time_after(jiffies, READ_ONCE(conn->rx.last_rx) + timeout);
		ended = conn->ops->ended(&conn->link);
		late = kfp_rx_late(conn);
		if (silent && timeout && ended) {
			kfp_conn_check(conn);	/* its last bytes could not be read for too long */
		} else if (timeout && !ended && late) {
			conn->late = true;
			kfp_conn_fail(conn, -ETIMEDOUT);
		}
		conn->ops->unlock(&conn->link);
	}
	kfp_conn_queue(conn, &conn->watch_work, kfp_watch_interval(conn));
}

/* ---- the end ---- */

/* Report the end. RDM: operations fail, receives stay. MSG: the endpoint is shut down. */
static void kfp_conn_report(struct kfp_conn *conn)
{
	if (conn->pc.peer)
		kfi_peer_lost(&conn->pc, conn->error);
	else if (conn->ep && conn->ep->ep.type == KFI_EP_RDM)
		return;		/* a caller without a valid hello */
	else if (conn->ep)
		kfp_msg_lost(conn, conn->error);
	else if (conn->requested && kfi_connreq_gone(&conn->req))
		kfp_conn_put(conn);	/* no accept or reject will drop this reference */
}

/* On return no other context uses the connection, the link is closed, and nothing is inbound. */
static void kfp_conn_close(struct kfp_conn *conn)
{
	kfi_conn_set_wait_move(&conn->pc);
	/* Before the grace period: some operations are posted without a look-up of the connection. */
	kfp_protocols_call(failing, conn);
	cancel_delayed_work_sync(&conn->hello_work);	/* it publishes the connection */
	if (conn->pc.peer)
		kfi_peer_unpublish(&conn->pc);
	else
		kfi_conn_set_unpublish(&conn->pc);
	if (conn->state == KFP_READY && kfp_lazy_take(conn))
		kfp_tx_kick(conn);	/* the peer gets the ACKs that have waited */
	conn->ops->detach(&conn->link);
	set_bit(KFP_DEAD, &conn->flags);
	/*
	 * Posts that have found the connection are complete. They find it after kfp_conn_start()
	 * only: a caller that comes and goes costs no grace period. Concurrent ends share one.
	 */
	if (conn->state == KFP_READY)
		synchronize_rcu_expedited();
	cancel_delayed_work_sync(&conn->hello_work);	/* it was queued again, and did nothing */
	if (conn->ep && conn->ep->ep.rx_cq)
		kfi_cq_cancel_wait(conn->ep->ep.rx_cq, &conn->rx.space);
	cancel_delayed_work_sync(&conn->watch_work);
	kfp_protocols_call(stop, conn);
	cancel_delayed_work_sync(&conn->rx_work);
	cancel_delayed_work_sync(&conn->tx_work);
	cancel_delayed_work_sync(&conn->more_work);	/* rx_work and tx_work may have queued it */
	kfp_protocols_call(stop, conn);	/* what they have queued does nothing */
	if (conn->state == KFP_READY)
		kfp_protocols_call(closing, conn);
	conn->ops->close(&conn->link, conn->error == -EPROTO ||
				      (conn->state == KFP_READY && !kfp_drained(conn)));
	if (conn->state == KFP_READY) {
		/*
		 * No byte of the peer arrives any more: return what its messages and writes hold,
		 * and take no receive from here on. Collect all messages before the first receive
		 * returns to the matching.
		 */
		kfp_protocols_call(closed, conn);
		if (conn->late)
			kfp_account_yield(conn);
		kfp_rx_abort(conn, conn->error);
		kfp_protocols_call(abort, conn, conn->error);
	}
	conn->closed = true;
}

/*
 * Return the buffers that the link has read until now to their owners, and remove the connection.
 */
static void kfp_conn_end(struct kfp_conn *conn)
{
	if (conn->state == KFP_READY) {
		kfp_tx_collect(conn);
		kfp_tx_flush_all(conn, conn->error);
		kfp_answers_drop(conn);
		kfp_protocols_call(end, conn, conn->error);
	}
	kfp_callers_remove(conn);
	kfp_account_down(conn);
	kfp_conn_report(conn);
	kfp_conn_free_buffers(conn);
	if (conn->pc.peer)
		kfi_peer_leave(&conn->pc);
	kfi_conn_set_remove(&conn->pc);
}

static void kfp_conn_down(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, down_work);
	unsigned int noio = memalloc_noio_save();
	bool released;

	if (!conn->closed)
		kfp_conn_close(conn);
	released = !conn->ops->released || conn->ops->released(&conn->link);
	if (released)
		kfp_conn_end(conn);
	memalloc_noio_restore(noio);
	if (released)
		kfp_conn_put(conn);	/* reference of this work item */
	else
		queue_delayed_work(kfp_end_wq, &conn->down_work, 1);
}

/* ---- callbacks of the connection sets (kfi_conn_set.h) ---- */

static void kfp_conn_set_get(struct kfi_peer_conn *pc)
{
	kfp_conn_get(to_kfp_conn(pc));
}

static void kfp_conn_set_put(struct kfi_peer_conn *pc)
{
	kfp_conn_put(to_kfp_conn(pc));
}

static void kfp_conn_set_fail(struct kfi_peer_conn *pc, int err)
{
	kfp_conn_fail(to_kfp_conn(pc), err);
}

bool kfp_conn_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(KFP_FAILED, &to_kfp_conn(pc)->flags);
}

static void kfp_conn_set_moved(struct kfi_peer_conn *pc)
{
	struct kfp_conn *conn = to_kfp_conn(pc);

	conn->ep = to_proto_ep(pc->conn_set->ep);
	conn->link.ep = conn->ep;
	WRITE_ONCE(conn->pep, NULL);
}

/*
 * The link of the caller is being secured, or the hello or the proof of the caller has not
 * arrived, or it has no key, and its name is that of a peer that is being probed. With a key the
 * proof is checked before the probe. A request that was given to its consumer is not unproven.
 */
static bool kfp_conn_set_unproven(const struct kfi_peer_conn *pc)
{
	const struct kfp_conn *conn = to_kfp_conn(pc);
	u8 state = READ_ONCE(conn->state);

	return state == KFP_HELLO || (state == KFP_ADMITTING && !conn->auth) ||
	       (state == KFP_NEW && test_bit(KFP_SECURING, &conn->flags));
}

static bool kfp_conn_set_same_origin(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b)
{
	u8 from[KFI_ADDR_MAX] __aligned(8), other[KFI_ADDR_MAX] __aligned(8);
	const struct kfi_link_ops *ops = to_kfp_conn(a)->ops;

	kfp_name_origin(ops, to_kfp_conn(a)->link.name, from);
	kfp_name_origin(ops, to_kfp_conn(b)->link.name, other);
	return !kfp_name_cmp(ops, from, other);
}

/* The hello work sends the answer, and kfp_conn_down() waits for the hello work. */
static void kfp_conn_set_answer(struct kfi_peer_conn *pc, bool accepted)
{
	kfp_hello_start(to_kfp_conn(pc), accepted ? KFP_ACCEPTED : KFP_REJECTED);
}

static const struct kfi_peer_conn *kfp_conn_set_carrier(const struct kfi_oper *op)
{
	const struct kfp_conn *conn = READ_ONCE(kfp_op(op)->conn);

	return conn ? &conn->pc : NULL;
}

void kfp_conn_set_ops_init(struct kfi_proto *proto)
{
	proto->conn_set_ops = (struct kfi_conn_set_ops) {
		.backlog	= &proto->params.backlog,
		.origin_backlog	= &proto->params.origin_backlog,
		.get		= kfp_conn_set_get,
		.put		= kfp_conn_set_put,
		.fail		= kfp_conn_set_fail,
		.failed		= kfp_conn_failed,
		.carrier	= kfp_conn_set_carrier,
		.moved		= kfp_conn_set_moved,
		.unproven	= kfp_conn_set_unproven,
		.same_origin	= kfp_conn_set_same_origin,
		.answer		= kfp_conn_set_answer,
	};
}
