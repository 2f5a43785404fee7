// SPDX-License-Identifier: GPL-2.0
/*
 * way.c - ways and domains, and what a provider reports of its ways: records, room, up and down.
 *
 * The removal of a way takes these steps:
 *
 *	kfi_mux_unlist()	domain_open, pep_open and listen do not find the way any more;
 *				kfi_mux_retire() does the same if nobody uses the way
 *	kfi_mux_gone()		closes listeners and stops endpoints
 *	(the provider takes the way down) All records have had their callbacks then, so
 *				connections drop their last references
 *	kfi_mux_drop()		drops the references of domains
 *	kfi_mux_idle()		waits for the last reference, of a consumer that is closing an
 *				object, or of a query
 *	kfi_mux_destroy()	frees what belongs to the multiplexer
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "mux.h"

/* ---- references ---- */

void kmx_get(struct kfi_mux *mux)
{
	refcount_inc(&mux->users);
}

void kfi_mux_put(struct kfi_mux *mux)
{
	if (refcount_dec_and_test(&mux->users))
		complete(&mux->idle);
}
EXPORT_SYMBOL_GPL(kfi_mux_put);

bool kmx_is_called(struct kfi_mux *mux, const char *name)
{
	return !strcmp(mux->name, name) || (mux->ops->called && mux->ops->called(mux, name));
}

struct kmx_search {
	const char	*name;
	struct kfi_mux	*found;
};

static int kmx_called(struct kfi_mux *mux, void *arg)
{
	struct kmx_search *search = arg;

	if (!kmx_is_called(mux, search->name))
		return 0;
	kmx_get(mux);
	search->found = mux;
	return 1;
}

/* Return the way whose other name that is, with a reference, or NULL. */
static struct kfi_mux *kmx_find_called(struct kfi_mux_prov *mp, const char *name)
{
	struct kmx_search search = { .name = name };

	if (mp->ops->called)
		kfi_mux_each(mp, kmx_called, &search);
	return search.found;
}

struct kfi_mux *kfi_mux_find(struct kfi_mux_prov *mp, const char *name)
{
	struct kfi_mux *mux, *found = NULL;

	mutex_lock(&mp->lock);
	list_for_each_entry(mux, &mp->list, entry) {
		if (strcmp(mux->name, name))
			continue;
		kmx_get(mux);
		found = mux;
		break;
	}
	mutex_unlock(&mp->lock);
	return found ?: kmx_find_called(mp, name);
}
EXPORT_SYMBOL_GPL(kfi_mux_find);

struct kfi_mux *kmx_find_side(struct kfi_mux_prov *mp, const void *side)
{
	struct kfi_mux *mux, *found = ERR_PTR(-ENODEV);

	mutex_lock(&mp->lock);
	list_for_each_entry(mux, &mp->list, entry) {
		if (!kfi_mux_named(mux) || !kmx_is_side(mux, mux->own, side))
			continue;
		if (!IS_ERR(found)) {
			found = ERR_PTR(-ENOTUNIQ);
			break;
		}
		found = mux;
	}
	if (!IS_ERR(found))
		kmx_get(found);
	mutex_unlock(&mp->lock);
	return found;
}

/* Return the first way of a number from @after + 1 to @last, with a reference; or NULL. */
static struct kfi_mux *kmx_next(struct kfi_mux_prov *mp, u32 after, u32 last)
{
	struct kfi_mux *mux, *found = NULL;

	mutex_lock(&mp->lock);
	list_for_each_entry(mux, &mp->list, entry) {
		if (mux->number <= after || mux->number > last)
			continue;
		kmx_get(mux);
		found = mux;
		break;
	}
	mutex_unlock(&mp->lock);
	return found;
}

/*
 * @fn may sleep and look for ways, so it is called without the lock. Ways that are added meanwhile
 * are not visited, so that the loop ends.
 */
int kfi_mux_each(struct kfi_mux_prov *mp, int (*fn)(struct kfi_mux *mux, void *arg), void *arg)
{
	struct kfi_mux *mux;
	u32 after = 0, last;
	int ret = 0;

	mutex_lock(&mp->lock);
	last = mp->number;
	mutex_unlock(&mp->lock);
	while (!ret && (mux = kmx_next(mp, after, last))) {
		after = mux->number;
		ret = fn(mux, arg);
		kfi_mux_put(mux);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mux_each);

/* ---- domains ---- */

/*
 * The caller holds the fabric's lock. So if the way is taken off the list after kfi_mux_find() has
 * seen it there, kfi_device_gone() waits until this function has returned, and ends this domain,
 * too.
 */
int kfi_mux_domain_open(struct kfi_domain *domain)
{
	struct kfi_mux_prov *mp = to_mux_prov(domain->fabric->prov);
	struct kfi_mux_domain *mdom = to_mux_domain(domain);
	struct kfi_mux *mux = kfi_mux_find(mp, domain->name);

	if (!mux)
		return -ENODEV;
	if (!kfi_mux_named(mux)) {
		kfi_mux_put(mux);
		return -EAGAIN;
	}
	mdom->mux = mux;
	domain->addrlen = kmx_addr_len(mp);
	domain->device = mux;
	mutex_lock(&mp->lock);
	list_add_tail(&mdom->entry, &mp->domains);
	mutex_unlock(&mp->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mux_domain_open);

/* Drop the reference of the domain, at the first call. After that its way may be gone. */
static void kmx_domain_leave(struct kfi_mux_prov *mp, struct kfi_mux_domain *mdom)
{
	lockdep_assert_held(&mp->lock);
	if (list_empty(&mdom->entry))
		return;
	list_del_init(&mdom->entry);
	kfi_mux_put(mdom->mux);
}

void kfi_mux_domain_close(struct kfi_domain *domain)
{
	struct kfi_mux_prov *mp = to_mux_prov(domain->fabric->prov);

	mutex_lock(&mp->lock);
	kmx_domain_leave(mp, to_mux_domain(domain));
	mutex_unlock(&mp->lock);
}
EXPORT_SYMBOL_GPL(kfi_mux_domain_close);

struct kfi_mux *kfi_mux_domain_get(struct kfi_domain *domain)
{
	struct kfi_mux_prov *mp = to_mux_prov(domain->fabric->prov);
	struct kfi_mux_domain *mdom = to_mux_domain(domain);
	struct kfi_mux *mux = NULL;

	mutex_lock(&mp->lock);
	if (!list_empty(&mdom->entry)) {
		mux = mdom->mux;
		kmx_get(mux);
	}
	mutex_unlock(&mp->lock);
	return mux;
}
EXPORT_SYMBOL_GPL(kfi_mux_domain_get);

/* ---- ports ---- */

int kmx_port_take(struct kfi_mux *mux, struct kfi_mux_listener *l)
{
	int ret;

	if (l->port) {
		ret = xa_insert(&mux->ports, l->port, l, GFP_KERNEL);
		return ret == -EBUSY ? -EADDRINUSE : ret;
	}
	ret = xa_alloc_cyclic(&mux->ports, &l->port, l, XA_LIMIT(KMX_PORT_AUTO, INT_MAX),
			      &mux->next_port, GFP_KERNEL);
	if (ret >= 0)
		return 0;
	l->port = 0;
	return ret == -EBUSY ? -EADDRNOTAVAIL : ret;
}

/* On return no caller is being added to the listener, and none is added later. */
void kmx_port_give(struct kfi_mux *mux, struct kfi_mux_listener *l)
{
	if (!l->port || xa_cmpxchg(&mux->ports, l->port, l, NULL, GFP_KERNEL) != l)
		return;
	mutex_lock(&mux->answering);
	mutex_unlock(&mux->answering);
}

/* ---- records and room ---- */

void kfi_mux_rx(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_rec *rec, const void *body)
{
	struct kfi_mux_stream *s = xa_load(&mux->streams, rec->conn);

	/* An honest peer sends nothing through another lane than that of the call. */
	if (s && READ_ONCE(s->lane) != lane)
		return;
	/* The peer may change its memory: everything that is checked is in the copy. */
	if (rec->len >= KFI_MUX_BODY_MAX)	/* most are: the compiler inlines this copy */
		memcpy(rec->body, body, KFI_MUX_BODY_MAX);
	else
		memcpy(rec->body, body, rec->len);
	barrier_data(rec->body);
	switch (rec->type) {
	case KMW_CALL:
		kmx_call_in(mux, lane, rec);
		break;
	case KMW_ANSWER:
		kmx_answer_in(mux, lane, s, rec);
		break;
	case KMW_DATA:
		if (s)
			kmx_data_in(s, rec, body);
		break;
	case KMW_CLOSE:
		if (s)
			kmx_close_in(s, rec);
		break;
	}
}
EXPORT_SYMBOL_GPL(kfi_mux_rx);

/*
 * A connection leaves the list only for its turn, so that it finds the other waiting connections
 * there (kfi_mux_others_wait()). Connections that stall again go behind @last, and have no second
 * turn here.
 */
void kfi_mux_room(struct kfi_mux *mux, unsigned int lane)
{
	struct list_head *stalled = &mux->stalled[lane];
	struct kfi_mux_stream *s, *last;
	bool more;

	kfi_batch_begin();
	spin_lock(&mux->lock);
	last = list_last_entry(stalled, struct kfi_mux_stream, stall);
	do {
		s = list_first_entry_or_null(stalled, struct kfi_mux_stream, stall);
		if (!s)
			break;
		list_del(&s->stall);
		spin_unlock(&mux->lock);
		more = s != last;
		spin_lock(&s->lock);
		s->stalled = false;
		kmx_ctl_run(s);
		if (s->end)
			kfi_link_room(&s->end->link);
		spin_unlock(&s->lock);
		kfi_mux_stream_put(s);
		spin_lock(&mux->lock);
	} while (more);
	spin_unlock(&mux->lock);
	kfi_batch_end();
}
EXPORT_SYMBOL_GPL(kfi_mux_room);

/* ---- up and down ---- */

void kfi_mux_set_ends(struct kfi_mux *mux, const void *own, const void *peer)
{
	memcpy(mux->own, own, mux->prov->side_len);
	memcpy(mux->peer, peer, mux->prov->side_len);
	smp_store_release(&mux->named, true);	/* pairs with kfi_mux_named() */
	if (mux->number)	/* otherwise kfi_mux_list() reports it */
		kfi_device_new();
}
EXPORT_SYMBOL_GPL(kfi_mux_set_ends);

/* Send the CALLs that have waited for the way, and those that an earlier life has lost. */
static void kmx_calls_send(struct kfi_mux *mux)
{
	struct kfi_mux_stream *s;
	unsigned long id;

	/* The way is up before the connections are read; pairs with kfi_mux_dial(). */
	smp_mb();
	rcu_read_lock();
	xa_for_each(&mux->streams, id, s) {
		spin_lock_bh(&s->lock);
		kmx_stream_call(s);
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
}

void kfi_mux_up(struct kfi_mux *mux)
{
	/* behind &kfi_mux.lanes; pairs with kmx_stream_call() */
	smp_store_release(&mux->up, true);
	kmx_calls_send(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_up);

/*
 * The life of the way that the connection belongs to has ended. A call that was not answered is no
 * connection yet: the peer may have ended its side of the life before it could read the CALL, so it
 * is sent again in the next life, as one that is made while the way is down.
 */
static void kmx_stream_way_down(struct kfi_mux_stream *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == KFI_MUX_CALLED) {
		s->state = KFI_MUX_NEW;
		s->behind = 0;	/* positions begin again */
	} else if (s->state != KFI_MUX_NEW) {
		kfi_mux_end(s, -ECONNRESET);
	}
}

void kfi_mux_ending(struct kfi_mux *mux)
{
	struct kfi_mux_stream *s;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&mux->streams, id, s) {
		spin_lock_bh(&s->lock);
		if (s->state == KFI_MUX_OPEN)
			kfi_mux_end(s, -ECONNRESET);
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(kfi_mux_ending);

void kfi_mux_hold(struct kfi_mux *mux, unsigned long since)
{
	kfi_hold_begin(&mux->hold, since);
}
EXPORT_SYMBOL_GPL(kfi_mux_hold);

void kfi_mux_resume(struct kfi_mux *mux)
{
	kfi_hold_end(&mux->hold);
	kmx_calls_send(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_resume);

/*
 * End all connections of the life; calls that were not answered wait for the next one. After the
 * grace period no post of the old life is under way; see kfi_mux_over().
 */
void kfi_mux_down(struct kfi_mux *mux)
{
	struct kfi_mux_stream *s, *next;
	unsigned int i;
	unsigned long id;
	LIST_HEAD(stalled);

	WRITE_ONCE(mux->up, false);
	kfi_hold_end(&mux->hold);
	wake_up_all(&mux->back);
	synchronize_rcu();
	kmx_callers_drop(mux);
	rcu_read_lock();
	xa_for_each(&mux->streams, id, s) {
		spin_lock_bh(&s->lock);
		kmx_stream_way_down(s);
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
	spin_lock_bh(&mux->lock);
	for (i = 0; i < KFI_MUX_LANES; i++)
		list_splice_init(&mux->stalled[i], &stalled);
	spin_unlock_bh(&mux->lock);
	list_for_each_entry_safe(s, next, &stalled, stall) {
		list_del(&s->stall);
		kfi_mux_stream_put(s);
	}
}
EXPORT_SYMBOL_GPL(kfi_mux_down);

/* ---- ways ---- */

int kfi_mux_init(struct kfi_mux *mux, struct kfi_mux_prov *mp, const char *name)
{
	unsigned int i;

	mux->prov = mp;
	mux->ops = mp->ops;
	mux->name = name;
	mux->lanes = 1;
	kfi_hold_init(&mux->hold);
	init_waitqueue_head(&mux->back);
	refcount_set(&mux->users, 1);
	init_completion(&mux->idle);
	xa_init_flags(&mux->streams, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	xa_init_flags(&mux->ports, XA_FLAGS_ALLOC1);
	mutex_init(&mux->answering);
	mux->next_number = get_random_u32() >> 1 | 1;
	mux->next_port = KMX_PORT_AUTO;
	spin_lock_init(&mux->lock);
	for (i = 0; i < KFI_MUX_LANES; i++)
		INIT_LIST_HEAD(&mux->stalled[i]);
	return kmx_callers_init(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_init);

void kfi_mux_destroy(struct kfi_mux *mux)
{
	cancel_work_sync(&mux->work);
	kvfree(mux->caller_mem);
	xa_destroy(&mux->streams);
	xa_destroy(&mux->ports);
}
EXPORT_SYMBOL_GPL(kfi_mux_destroy);

void kfi_mux_list(struct kfi_mux *mux)
{
	struct kfi_mux_prov *mp = mux->prov;

	mutex_lock(&mp->lock);
	mux->number = ++mp->number;
	list_add_tail(&mux->entry, &mp->list);
	mutex_unlock(&mp->lock);
	kfi_device_new();
}
EXPORT_SYMBOL_GPL(kfi_mux_list);

void kfi_mux_unlist(struct kfi_mux *mux)
{
	mutex_lock(&mux->prov->lock);
	list_del(&mux->entry);
	mutex_unlock(&mux->prov->lock);
}
EXPORT_SYMBOL_GPL(kfi_mux_unlist);

/* Whoever finds a way takes a reference under the lock, so nobody gets one after the look here. */
bool kfi_mux_retire(struct kfi_mux *mux)
{
	bool unused;

	mutex_lock(&mux->prov->lock);
	unused = refcount_read(&mux->users) == 1;
	if (unused)
		list_del(&mux->entry);
	mutex_unlock(&mux->prov->lock);
	return unused;
}
EXPORT_SYMBOL_GPL(kfi_mux_retire);

void kfi_mux_gone(struct kfi_mux *mux)
{
	WRITE_ONCE(mux->going, true);
	kfi_device_gone(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_gone);

void kfi_mux_drop(struct kfi_mux *mux)
{
	struct kfi_mux_prov *mp = mux->prov;
	struct kfi_mux_domain *mdom, *next;

	/* After this, callers that were being answered have a connection or were refused. */
	flush_work(&mux->work);
	mutex_lock(&mp->lock);
	list_for_each_entry_safe(mdom, next, &mp->domains, entry)
		if (mdom->mux == mux)
			kmx_domain_leave(mp, mdom);
	mutex_unlock(&mp->lock);
	kfi_mux_put(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_drop);

bool kfi_mux_idle(struct kfi_mux *mux, unsigned long timeout)
{
	return wait_for_completion_timeout(&mux->idle, timeout);
}
EXPORT_SYMBOL_GPL(kfi_mux_idle);

/* ---- providers ---- */

int kfi_mux_prov_init(struct kfi_mux_prov *mp)
{
	const struct kfi_link_ops *ops = mp->proto->ops;
	int ret;

	if (WARN_ON(mp->side_len > KFI_MUX_SIDE_MAX || ops->origin_len != mp->side_len ||
		    ops->name_len != kmx_addr_len(mp) || !is_power_of_2(mp->stream_kib)))
		return -EINVAL;
	mp->proto->buffers = mp->stream_kib * 1024;
	mutex_init(&mp->lock);
	INIT_LIST_HEAD(&mp->list);
	INIT_LIST_HEAD(&mp->domains);
	mp->wq = alloc_workqueue("kfi_%s_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, mp->prov.name);
	if (!mp->wq)
		return -ENOMEM;
	ret = kfi_proto_init(mp->proto);
	if (ret)
		destroy_workqueue(mp->wq);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mux_prov_init);

void kfi_mux_prov_exit(struct kfi_mux_prov *mp)
{
	kfi_proto_exit(mp->proto);
	destroy_workqueue(mp->wq);
}
EXPORT_SYMBOL_GPL(kfi_mux_prov_exit);
