// SPDX-License-Identifier: GPL-2.0
/*
 * match.c - matching of messages with receives.
 *
 * struct kfi_match of an endpoint has the receives that were posted before their message, and the
 * messages that arrived before their receive (unexpected messages). kfi_match.lock protects both.
 * No provider is called and no payload is copied under it.
 *
 * Invariant: no unexpected message fits a posted receive that is in a ring. So an arriving message
 * is compared with posted receives only, a new receive with unexpected messages only, and neither
 * overtakes the other.
 *
 * A peer decides how many messages wait, so a receive compares itself with at most kfi_match.steps
 * of them in one hold of the lock. If there are more, the receive is not in a ring yet but in the
 * queue of receives that search (struct kfi_match_search), a work item continues the search, and
 * all later receives of that kind, untagged or tagged, queue behind it. So the order of posting is
 * kept, as if the receives were posted a little later; match_return() is the exception. Messages
 * that arrive meanwhile are found by the searches, because they are added behind all others.
 *
 * The first receive of that queue may also be a multi-receive buffer that has room for a message
 * while the completion queue has no free slot. Then messages of that kind wait behind it, until the
 * queue has a slot (kfi_match.stalled).
 *
 * A shared receive context has a struct kfi_match for its endpoints, see shared.c. A message is
 * passed to its provider inside an RCU read section, for which the end of an endpoint waits.
 *
 * Cost: receives without ignore bits and source are found in O(1), others by walking a list.
 * Messages without receive are found by tag, or by sender for directed receives; only receives with
 * ignore bits walk all tagged messages. Thousands of receives are not in the CPU caches, so the
 * cost is the number of cache lines: three of struct kfi_oper and one of the table. So a bucket is
 * one pointer, and there is no other index: kfi_cancel() scans the pool.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "ep.h"
#include "landing.h"

#define MATCH_BITS_MIN	6
#define MATCH_BITS_MAX	16
#define MATCH_SOURCE_BITS	7	/* log2 of the buckets of senders, for untagged and for tagged */
#define MATCH_STEPS	512	/* messages that are compared in one hold of the lock */

static inline bool rx_tagged(const struct kfi_rx *rx)
{
	return rx->flags & KFI_TAGGED;
}

static inline bool op_tagged(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TRECV;
}

/* Drop m->lock, then complete the buffers in m->released. Bottom halves are off, and stay off. */
static noinline void unlock_and_end(struct kfi_match *m) __releases(&m->lock)
{
	LIST_HEAD(released);

	list_splice_init(&m->released, &released);
	spin_unlock(&m->lock);
	kfi_land_end_all(&released);
}

static inline void match_unlock(struct kfi_match *m) __releases(&m->lock)
{
	if (likely(list_empty(&m->released)))
		spin_unlock(&m->lock);
	else
		unlock_and_end(m);
}

/* ---- rings of receives in posting order; *ring is the oldest, its predecessor the newest ---- */

static struct kfi_oper *ring_next(const struct kfi_oper *first, struct kfi_oper *op)
{
	struct kfi_oper *next = list_next_entry(op, link);

	return next == first ? NULL : next;
}

/* Insert @op before @pos, or as the newest receive if @pos is NULL. */
static void ring_add(struct kfi_oper **ring, struct kfi_oper *op, struct kfi_oper *pos)
{
	if (*ring)
		list_add_tail(&op->link, pos ? &pos->link : &(*ring)->link);
	else
		INIT_LIST_HEAD(&op->link);
	if (pos == *ring)
		*ring = op;
}

/* A product alone would cause long searches for tags at a common stride, with 6 of 100 keys. */
static inline u32 bucket_of(const struct kfi_match *m, u64 tag)
{
	u64 x = tag ^ m->hash_key[0];

	x = (x * m->hash_key[1]) ^ mul_u64_u64_shr(x, m->hash_key[1], 64);
	return (x * GOLDEN_RATIO_64) >> (64 - m->bits);
}

static inline struct kfi_oper **exact_ring(const struct kfi_match *m, u64 tag)
{
	return &m->exact[bucket_of(m, tag)];
}

/* Return the ring that @op belongs to. */
static struct kfi_oper **ring_of(struct kfi_match *m, const struct kfi_oper *op)
{
	if (!op_tagged(op))
		return &m->msgs;
	return op->ignore ? &m->wild : exact_ring(m, op->tag);
}

/* ---- search ---- */

static inline struct list_head *unexp_list(struct kfi_match *m, bool tagged)
{
	return tagged ? &m->unexp_tags : &m->unexp_msgs;
}

static inline struct list_head *unexp_bucket(const struct kfi_match *m, u64 tag)
{
	return &m->unexp_hash[bucket_of(m, tag)];
}

/* The unexpected messages of a kind from the senders that share a bucket with @name. */
static struct list_head *source_bucket(const struct kfi_match *m, bool tagged, const void *name,
				       size_t len)
{
	u32 bucket = jhash(name, len, m->hash_key[0]) >> (32 - MATCH_SOURCE_BITS);

	return &m->unexp_source[bucket * 2 + tagged];
}

static inline bool tag_fits(const struct kfi_oper *op, const struct kfi_rx *rx)
{
	return !op_tagged(op) || !((op->tag ^ rx->tag) & ~op->ignore);
}

/* A receive may permit tagged RMA of only one direction, see kfi_trecvmsg(). */
static bool access_fits(const struct kfi_oper *op, const struct kfi_rx *rx)
{
	u64 access = op->flags & (KFI_REMOTE_READ | KFI_REMOTE_WRITE);
	u64 needed = rx->flags & KFI_READ ? KFI_REMOTE_READ : KFI_REMOTE_WRITE;

	return !access || access & needed;
}

/* op->addr is the index of a directed receive, else KFI_ADDR_UNSPEC, see kfi_match_direct(). */
static inline bool fits(const struct kfi_oper *op, const struct kfi_rx *rx)
{
	if (!tag_fits(op, rx))
		return false;
	if (unlikely(op->addr != KFI_ADDR_UNSPEC) &&
	    (rx->src == KFI_ADDR_NOTAVAIL || op->addr != kfi_av_index(op->ep->av, rx->src)))
		return false;
	return likely(!(rx->flags & KFI_RMA)) || access_fits(op, rx);
}

/* Return the oldest receive of a ring that fits @rx. @first is the oldest one of the ring. */
static struct kfi_oper *oldest_op(struct kfi_oper *first, const struct kfi_rx *rx)
{
	struct kfi_oper *op;

	for (op = first; op; op = ring_next(first, op))
		if (fits(op, rx))
			break;
	return op;
}

static inline struct kfi_oper *find_op(struct kfi_match *m, const struct kfi_rx *rx)
{
	struct kfi_oper *exact, *wild;

	if (!rx_tagged(rx))
		return oldest_op(m->msgs, rx);
	exact = oldest_op(*exact_ring(m, rx->tag), rx);
	wild = oldest_op(m->wild, rx);
	if (exact && wild)
		return exact->seq < wild->seq ? exact : wild;
	return exact ?: wild;
}

/**
 * struct walk - a walk over unexpected messages, in the order of arrival
 * @head: list of all messages that may fit; NULL: there are none
 * @at: entry of the last message that was compared, or @head
 * @node: offset of the entries of that list in struct kfi_rx
 * @left: number of messages that may still be compared
 * @len: bytes of @name; 0 if any sender fits
 * @name: address of the sender. The handle of a message that has waited may be outdated, see
 *	match_source.c
 */
struct walk {
	struct list_head	*head;
	struct list_head	*at;
	size_t			node;
	unsigned int		left;
	int			len;
	u8			name[KFI_ADDR_MAX];
};

/* Begin at the oldest message. */
static void walk_begin(struct kfi_match *m, const struct kfi_oper *op, struct walk *walk)
{
	bool tagged = op_tagged(op);

	walk->left = m->steps;
	walk->len = 0;
	if (unlikely(op->addr != KFI_ADDR_UNSPEC)) {
		walk->len = kfi_av_addr(op->ep->av, op->addr, walk->name);
		walk->head = walk->len > 0 ? source_bucket(m, tagged, walk->name, walk->len) : NULL;
		walk->node = offsetof(struct kfi_rx, by_source);
	} else if (tagged && !op->ignore) {
		walk->head = unexp_bucket(m, op->tag);
		walk->node = offsetof(struct kfi_rx, bucket);
	} else {
		walk->head = unexp_list(m, tagged);
		walk->node = offsetof(struct kfi_rx, link);
	}
	walk->at = walk->head;
}

static inline bool walk_ended(const struct walk *walk)
{
	return !walk->head || walk->at->next == walk->head;
}

/* Return the next message that fits @op, and stay in front of it; NULL: none, or none is left. */
static struct kfi_rx *walk_next(struct walk *walk, const struct kfi_oper *op)
{
	struct kfi_rx *rx;

	for (; !walk_ended(walk) && walk->left; walk->at = walk->at->next) {
		walk->left--;
		rx = (void *)walk->at->next - walk->node;
		if (tag_fits(op, rx) && (!walk->len || !memcmp(rx->name, walk->name, walk->len)))
			return rx;
	}
	return NULL;
}

static inline void enqueue_op(struct kfi_match *m, struct kfi_oper *op)
{
	lockdep_assert_held(&m->lock);
	op->seq = m->seq++;
	WRITE_ONCE(op->state, KFI_RECV_POSTED);
	ring_add(ring_of(m, op), op, NULL);
}

static inline void dequeue_op(struct kfi_match *m, struct kfi_oper *op)
{
	struct kfi_oper **ring = ring_of(m, op);

	lockdep_assert_held(&m->lock);
	WRITE_ONCE(op->state, KFI_RECV_TAKEN);
	if (*ring == op)
		*ring = ring_next(op, op);
	list_del_init(&op->link);
}

static void add_unexpected(struct kfi_match *m, struct kfi_rx *rx)
{
	struct kfi_ep *owner = kfi_rx_owner(rx->ep);
	bool tagged = rx_tagged(rx);

	lockdep_assert_held(&m->lock);
	list_add_tail(&rx->link, unexp_list(m, tagged));
	INIT_LIST_HEAD(&rx->bucket);
	INIT_LIST_HEAD(&rx->by_source);
	if (tagged)
		list_add_tail(&rx->bucket, unexp_bucket(m, rx->tag));
	if (m->unexp_source && owner->av && rx->name)
		list_add_tail(&rx->by_source, source_bucket(m, tagged, rx->name,
							    owner->domain->addrlen));
}

void kfi_match_dequeue(struct kfi_match *m, struct kfi_rx *rx)
{
	struct list_head **at = &m->search[rx_tagged(rx)].at;

	lockdep_assert_held(&m->lock);
	if (unlikely(*at) && (*at == &rx->link || *at == &rx->bucket || *at == &rx->by_source))
		*at = (*at)->prev;
	list_del_init(&rx->link);
	list_del_init(&rx->bucket);
	list_del_init(&rx->by_source);
}

static noinline void release_recv(struct kfi_match *m, struct kfi_oper *op)
{
	WRITE_ONCE(op->state, KFI_RECV_RELEASED);
	if (!op->landings)
		list_add_tail(&op->link, &m->released);
}

/*
 * Assign a part of @op to @rx. KFI_LAND_NO_ROOM: a multi-receive buffer has no room for @rx and is
 * released. If no message is in progress into it, match_unlock() completes it.
 */
static inline enum kfi_land claim(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx *rx)
{
	enum kfi_land land = kfi_land_in(op, rx);

	lockdep_assert_held(&m->lock);
	if (land != KFI_LAND_MORE && land != KFI_LAND_FULL && op->state == KFI_RECV_POSTED)
		dequeue_op(m, op);
	if (land == KFI_LAND_NO_ROOM)
		release_recv(m, op);
	return land;
}

/* ---- receives that search ---- */

static void set_slow(struct kfi_match *m, bool tagged)
{
	lockdep_assert_held(&m->lock);
	m->slow[tagged] = m->closed || !list_empty(&m->search[tagged].ops);
}

void kfi_match_set_closed(struct kfi_match *m, bool closed)
{
	WRITE_ONCE(m->closed, closed);
	set_slow(m, false);
	set_slow(m, true);
}

/* Queue @op behind the receives that search. */
static void search_add(struct kfi_match *m, struct kfi_oper *op)
{
	lockdep_assert_held(&m->lock);
	WRITE_ONCE(op->state, KFI_RECV_POSTED);
	list_add_tail(&op->link, &m->search[op_tagged(op)].ops);
	set_slow(m, op_tagged(op));
}

void kfi_match_withdraw(struct kfi_match *m, struct kfi_oper *op)
{
	bool tagged = op_tagged(op), first = list_is_first(&op->link, &m->search[tagged].ops);

	dequeue_op(m, op);
	set_slow(m, tagged);
	if (!first)
		return;
	m->search[tagged].at = NULL;
	m->stalled[tagged] = false;
	if (!list_empty(&m->search[tagged].ops) && !m->closed)
		queue_work(kfi_wq_unbound, &m->work);
}

/* The search is over: @op goes to its place in its ring. Posting order is the order of op->seq. */
static void insert_op(struct kfi_match *m, struct kfi_oper *op)
{
	struct kfi_oper **ring = ring_of(m, op), *first = *ring, *pos = NULL;

	list_del(&op->link);
	if (first && list_prev_entry(first, link)->seq > op->seq)
		for (pos = first; pos->seq < op->seq; pos = list_next_entry(pos, link))
			;
	ring_add(ring, op, pos);
}

/*
 * Let @op take the unexpected messages that fit it; they go to m->ready. Return: false if the walk
 * has to be continued.
 */
static bool search_op(struct kfi_match *m, struct kfi_oper *op, struct walk *walk)
{
	struct kfi_rx *rx;
	enum kfi_land land;

	while ((rx = walk_next(walk, op))) {
		kfi_match_source(rx);
		land = claim(m, op, rx);
		if (land == KFI_LAND_FULL)
			m->stalled[op_tagged(op)] = true;
		if (land == KFI_LAND_FULL || land == KFI_LAND_NO_ROOM)
			return land != KFI_LAND_FULL;
		kfi_match_dequeue(m, rx);
		list_add_tail(&rx->link, &m->ready);
		if (land == KFI_LAND_DONE)
			return true;
	}
	return walk_ended(walk);
}

static bool search_peek(struct kfi_match *m, struct kfi_oper *op, struct walk *walk)
{
	struct kfi_rx *rx = walk_next(walk, op);

	if (!rx && !walk_ended(walk))
		return false;
	dequeue_op(m, op);
	kfi_match_peeked(m, op, rx);
	return true;
}

/* Continue the searches of a kind, in the order of posting, for m->steps messages. */
static void run_searches(struct kfi_match *m, bool tagged)
{
	struct kfi_match_search *s = &m->search[tagged];
	unsigned int left = m->steps;
	struct kfi_oper *op;
	struct walk walk;
	bool ended;

	lockdep_assert_held(&m->lock);
	m->stalled[tagged] = false;
	while ((op = list_first_entry_or_null(&s->ops, struct kfi_oper, link)) && left) {
		walk_begin(m, op, &walk);
		walk.left = left;
		if (s->at && walk.head)
			walk.at = s->at;
		ended = op->flags & KFI_PEEK ? search_peek(m, op, &walk) :
					       search_op(m, op, &walk);
		s->at = ended ? NULL : walk.at;
		if (!ended)
			break;
		if (op->state == KFI_RECV_POSTED)
			insert_op(m, op);
		left = walk.left ? walk.left - 1 : 0;	/* many receives take time, too */
	}
	set_slow(m, tagged);
	if (op && !m->stalled[tagged] && !m->closed)
		queue_work(kfi_wq_unbound, &m->work);
}

static bool must_wait(const struct kfi_match *m)
{
	return (m->stalled[0] || m->stalled[1]) && !m->closed;
}

/* While stalled, wait for a free slot of the CQ by match_space(). Called without m->lock. */
static void wait_space(struct kfi_ep *ep)
{
	struct kfi_match *m = &ep->match;
	bool wait;

	do {
		spin_lock_bh(&m->lock);
		if (!m->waiting && must_wait(m)) {
			run_searches(m, false);
			run_searches(m, true);
		}
		wait = !m->waiting && must_wait(m);
		if (wait)
			m->waiting = true;
		match_unlock(m);
		local_bh_enable();
		if (!wait || kfi_cq_wait_space(ep->rx_cq, &m->space))
			return;
		spin_lock_bh(&m->lock);
		m->waiting = false;
		spin_unlock_bh(&m->lock);
	} while (true);
}

static void match_space(struct kfi_cq_waiter *w)
{
	struct kfi_ep *ep = container_of(w, struct kfi_ep, match.space);
	struct kfi_match *m = &ep->match;

	spin_lock_bh(&m->lock);
	m->waiting = false;
	spin_unlock_bh(&m->lock);
	wait_space(ep);
	kfi_match_deliver(ep);
}

/* kfi_match_close() may have looked for the waiter before it was registered: cancel it here. */
static void post_wait(struct kfi_ep *ep)
{
	wait_space(ep);
	if (READ_ONCE(ep->match.closed))
		kfi_cq_cancel_wait(ep->rx_cq, &ep->match.space);
}

static void match_work(struct work_struct *work)
{
	struct kfi_ep *ep = container_of(work, struct kfi_ep, match.work);
	struct kfi_match *m = &ep->match;

	spin_lock_bh(&m->lock);
	if (!m->closed) {
		run_searches(m, false);
		run_searches(m, true);
	}
	match_unlock(m);
	local_bh_enable();
	if (READ_ONCE(m->stalled[0]) || READ_ONCE(m->stalled[1]))
		post_wait(ep);
	kfi_match_deliver(ep);
}

/* Post a receive that takes at most one message. No receive of its kind searches. */
static noinline struct kfi_rx *post_one(struct kfi_match *m, struct kfi_oper *op)
{
	struct kfi_rx *rx;
	struct walk walk;

	walk_begin(m, op, &walk);
	rx = walk_next(&walk, op);
	if (rx) {
		op->seq = m->seq++;
		op->state = KFI_RECV_TAKEN;
		kfi_match_source(rx);
		claim(m, op, rx);
		kfi_match_dequeue(m, rx);
	} else if (walk_ended(&walk)) {
		enqueue_op(m, op);
	} else {
		op->seq = m->seq++;
		search_add(m, op);
		m->search[op_tagged(op)].at = walk.at;
		queue_work(kfi_wq_unbound, &m->work);
	}
	return rx;
}

/*
 * The sender is lost: @op searches for another message behind receives that search already, even
 * newer ones. If there is none it returns to its place in the ring. @op is no multi-receive buffer,
 * so it does not stall. Return: false if closing; then @op has to be completed.
 */
static bool match_return(struct kfi_oper *op)
{
	struct kfi_match *m = &op->ep->match;
	bool closed;

	spin_lock_bh(&m->lock);
	closed = m->closed;
	if (!closed) {
		op->landings = 0;
		search_add(m, op);
		if (list_is_first(&op->link, &m->search[op_tagged(op)].ops))
			run_searches(m, op_tagged(op));
	}
	match_unlock(m);
	local_bh_enable();
	return !closed;
}

void kfi_rx_abort(struct kfi_rx *rx, int err)
{
	struct kfi_oper *op = rx->op;
	struct kfi_ep *ep = rx->ep;

	if (ep->type == KFI_EP_MSG || op->flags & (KFI_MULTI_RECV | KFI_CLAIM | KFI_DISCARD) ||
	    op->addr != KFI_ADDR_UNSPEC || !match_return(op)) {
		kfi_rx_complete(rx, err);
		return;
	}
	rx->op = NULL;
	kfi_match_deliver(kfi_rx_owner(ep));
}
EXPORT_SYMBOL_GPL(kfi_rx_abort);

/* Post a multi-receive buffer, a peek, or a receive behind others that search. Drops m->lock. */
static noinline struct kfi_rx *post_search(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_match *m = &ep->match;
	bool tagged = op_tagged(op);

	if (m->closed) {
		spin_unlock(&m->lock);
		return ERR_PTR(-ESHUTDOWN);
	}
	op->seq = m->seq++;
	search_add(m, op);
	if (list_is_first(&op->link, &m->search[tagged].ops) || m->stalled[tagged])
		run_searches(m, tagged);
	match_unlock(m);
	if (READ_ONCE(m->stalled[tagged]))
		post_wait(ep);
	return kfi_match_more(ep);
}

struct kfi_rx *kfi_match_search(struct kfi_ep *ep, struct kfi_oper *op)
{
	spin_lock(&ep->match.lock);
	return post_search(ep, op);
}

struct kfi_rx *kfi_match_post(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *rx = NULL;

	if (op->addr != KFI_ADDR_UNSPEC)
		kfi_match_direct(ep, op);
	spin_lock(&m->lock);
	if (unlikely(op->flags & KFI_MULTI_RECV || m->slow[op_tagged(op)]))
		return post_search(ep, op);
	if (likely(list_empty(unexp_list(m, op_tagged(op)))))
		enqueue_op(m, op);
	else
		rx = post_one(m, op);
	spin_unlock(&m->lock);
	return rx;
}

struct kfi_rx *kfi_match_more(struct kfi_ep *ep)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *rx;

	spin_lock_bh(&m->lock);
	rx = list_first_entry_or_null(&m->ready, struct kfi_rx, link);
	if (rx)
		list_del_init(&rx->link);
	spin_unlock_bh(&m->lock);
	return rx;
}

/*
 * Only one context delivers at a time. A provider may call kfi_rx_abort() in ops->rx_matched(), and
 * the receive takes the next message: a peer could cause deep recursion. The runner delivers what
 * becomes ready meanwhile, inside its RCU read section.
 */
void kfi_match_deliver(struct kfi_ep *ep)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *rx;
	bool runner;
	long notes;

	rcu_read_lock();
	for (runner = kfi_runner_enter(&m->deliver); runner;
	     runner = !kfi_runner_leave(&m->deliver, notes)) {
		notes = kfi_runner_begin(&m->deliver);
		while ((rx = kfi_match_more(ep)))
			rx->ep->ops->rx_matched(rx->ep, rx);
	}
	rcu_read_unlock();
}

/*
 * Tagged RMA does not wait for a receive, so it may take one that still searches. A search looks
 * for messages, which have no order with RMA.
 */
static bool match_searching(struct kfi_match *m, struct kfi_rx *rx)
{
	struct kfi_oper *op;

	list_for_each_entry(op, &m->search[true].ops, link) {
		if (op->flags & KFI_PEEK || !fits(op, rx))
			continue;
		kfi_match_withdraw(m, op);
		WRITE_ONCE(op->state, KFI_RECV_TAKEN);
		claim(m, op, rx);
		return true;
	}
	return false;
}

/* The kind of @rx is stalled. Return: false if it still is after another search. */
static noinline bool arrive_stalled(struct kfi_match *m, bool tagged)
{
	if (!m->waiting)	/* otherwise match_space() does it once, for all */
		run_searches(m, tagged);
	return !m->stalled[tagged];
}

/*
 * The oldest receive that fits takes the message. A multi-receive buffer that has no room for it is
 * released, and the next receive is looked for.
 */
enum kfi_rx_verdict __kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue)
{
	struct kfi_match *m = &kfi_rx_owner(ep)->match;
	enum kfi_land land = KFI_LAND_NO_ROOM;
	enum kfi_rx_verdict verdict;
	struct kfi_oper *op;

	rx->ep = ep;
	rx->op = NULL;
	INIT_LIST_HEAD(&rx->link);
	spin_lock(&m->lock);
	if (m->closed || ep->match.closed) {
		verdict = KFI_RX_CLOSED;
		goto unlock;
	}
	if (unlikely(m->stalled[rx_tagged(rx)]) && !arrive_stalled(m, rx_tagged(rx))) {
		verdict = KFI_RX_FULL;
		goto unlock;
	}
	if (ep->av)
		kfi_match_source(rx);
	else if (rx->name)
		rx->src = KFI_ADDR_NOTAVAIL;
	while (land == KFI_LAND_NO_ROOM && (op = find_op(m, rx)))
		land = claim(m, op, rx);
	if (land != KFI_LAND_NO_ROOM) {
		verdict = land == KFI_LAND_FULL ? KFI_RX_FULL : KFI_RX_MATCHED;
	} else if (unlikely(rx->flags & KFI_RMA) && match_searching(m, rx)) {
		verdict = KFI_RX_MATCHED;
	} else if (queue) {
		add_unexpected(m, rx);
		kfi_stat_inc(ep, unexpected);
		verdict = KFI_RX_QUEUED;
	} else {
		verdict = KFI_RX_NONE;
	}
unlock:
	match_unlock(m);
	return verdict;
}
EXPORT_SYMBOL_GPL(__kfi_rx_arrive);

enum kfi_rx_verdict kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue)
{
	enum kfi_rx_verdict verdict;

	local_bh_disable();
	verdict = __kfi_rx_arrive(ep, rx, queue);
	local_bh_enable();
	return verdict;
}
EXPORT_SYMBOL_GPL(kfi_rx_arrive);

void kfi_rx_yield(struct kfi_rx *rx)
{
	struct kfi_match *m = &kfi_rx_owner(rx->ep)->match;

	spin_lock_bh(&m->lock);
	if (kfi_match_waits(rx) && !m->closed && !rx->ep->match.closed) {
		kfi_match_dequeue(m, rx);
		add_unexpected(m, rx);
	}
	spin_unlock_bh(&m->lock);
}
EXPORT_SYMBOL_GPL(kfi_rx_yield);

static struct list_head *alloc_buckets(unsigned int n)
{
	struct list_head *table = kvmalloc_array(n, sizeof(*table), GFP_KERNEL_ACCOUNT);
	unsigned int i;

	if (table)
		for (i = 0; i < n; i++)
			INIT_LIST_HEAD(&table[i]);
	return table;
}

int kfi_match_init(struct kfi_match *m, u32 depth, bool directed)
{
	memset(m, 0, sizeof(*m));
	spin_lock_init(&m->lock);
	spin_lock_init(&m->order);
	INIT_LIST_HEAD(&m->unexp_msgs);
	INIT_LIST_HEAD(&m->unexp_tags);
	INIT_LIST_HEAD(&m->search[false].ops);
	INIT_LIST_HEAD(&m->search[true].ops);
	INIT_LIST_HEAD(&m->released);
	INIT_LIST_HEAD(&m->ready);
	INIT_LIST_HEAD(&m->claimed);
	INIT_LIST_HEAD(&m->space.link);
	INIT_WORK(&m->work, match_work);
	kfi_runner_init(&m->deliver);
	m->space.fn = match_space;
	m->steps = MATCH_STEPS;
	get_random_bytes(m->hash_key, sizeof(m->hash_key));
	m->bits = clamp_t(unsigned int, order_base_2(depth), MATCH_BITS_MIN, MATCH_BITS_MAX);
	m->exact = kvcalloc(1u << m->bits, sizeof(*m->exact), GFP_KERNEL_ACCOUNT);
	m->unexp_hash = alloc_buckets(1u << m->bits);
	if (directed)
		m->unexp_source = alloc_buckets(2u << MATCH_SOURCE_BITS);
	if (m->exact && m->unexp_hash && (m->unexp_source || !directed))
		return 0;
	kfi_match_exit(m);
	return -ENOMEM;
}

void kfi_match_exit(struct kfi_match *m)
{
	WARN_ON_ONCE(m->msgs || !list_empty(&m->unexp_msgs) || !list_empty(&m->unexp_tags));
	kvfree(m->exact);
	kvfree(m->unexp_hash);
	kvfree(m->unexp_source);
	m->exact = NULL;	/* kfi_match_exit() is called again if an endpoint fails to open */
}
