// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - bridges and domains.
 *
 * The removal of a bridge takes these steps:
 *
 *	nt_dev_unlist()		domain_open, pep_open and listen do not find the bridge any more
 *	kfi_device_gone()	closes listeners and stops endpoints
 *	nt_link_stop()		takes the link down. All records have had their callbacks then, so
 *				connections drop their last references
 *	nt_dev_drop_domains()	drops the references of domains
 *	&nt_dev.idle		waits for the last reference, of a consumer that is closing an
 *				object, or of a query
 *	nt_link_remove()	frees the link
 */
#include <linux/ntb.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "ntb.h"

#define NT_PORT_AUTO	0x10000U	/* first of the ports that are chosen automatically */
#define NT_BRIDGES	16		/* bridges that nt_devs_each() visits, at most */
#define NT_REMOVE_LATE	(30 * HZ)	/* a removal that waits longer is logged */

/* Protects nt_devs, nt_devs_number and nt_domains. No function of kfi.ko is called under it. */
static DEFINE_MUTEX(nt_devs_lock);
static LIST_HEAD(nt_devs);
static u32 nt_devs_number;	/* of the last bridge that was added */
static LIST_HEAD(nt_domains);

/* ---- references ---- */

void nt_dev_get(struct nt_dev *dev)
{
	refcount_inc(&dev->users);
}

void nt_dev_put(struct nt_dev *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->idle);
}

struct nt_dev *nt_dev_find(const char *name, u32 side)
{
	struct nt_dev *dev, *found = NULL;

	mutex_lock(&nt_devs_lock);
	list_for_each_entry(dev, &nt_devs, entry) {
		if (name ? strcmp(nt_link_name(dev->link), name) : nt_link_side(dev->link) != side)
			continue;
		nt_dev_get(dev);
		found = dev;
		break;
	}
	mutex_unlock(&nt_devs_lock);
	return found;
}

/* @fn may sleep and take nt_devs_lock, so it is called without the lock. */
int nt_devs_each(int (*fn)(struct nt_dev *dev, void *arg), void *arg)
{
	struct nt_dev *dev, *all[NT_BRIDGES];
	unsigned int i, n = 0;
	int ret = 0;

	mutex_lock(&nt_devs_lock);
	list_for_each_entry(dev, &nt_devs, entry) {
		if (n == ARRAY_SIZE(all))
			break;
		nt_dev_get(dev);
		all[n++] = dev;
	}
	mutex_unlock(&nt_devs_lock);
	for (i = 0; i < n; i++) {
		ret = ret ?: fn(all[i], arg);
		nt_dev_put(all[i]);
	}
	return ret;
}

/* ---- domains ---- */

/*
 * The caller holds the fabric's lock. So if the removal of the bridge begins after nt_dev_find(),
 * kfi_device_gone() waits until this function has returned, and ends this domain, too.
 */
int nt_domain_open(struct kfi_domain *domain)
{
	struct nt_domain *ndom = to_nt_domain(domain);
	struct nt_dev *dev = nt_dev_find(domain->name, 0);

	if (!dev)
		return -ENODEV;
	if (nt_link_side(dev->link) == NT_NO_SIDE) {
		nt_dev_put(dev);
		return -EAGAIN;
	}
	ndom->dev = dev;
	domain->addrlen = sizeof(struct ntw_addr);
	domain->device = dev;
	domain->limits = (struct kfi_domain_limits) {
		.numa_node = dev_to_node(ntb_get_dma_dev(dev->link->ntb)),
		.mr_page_limit = SIZE_MAX,
		.sge_limit = KFI_PROTO_IOV_MAX,
		.short_msg_limit = nt_proto.params.eager_size,
		.place_device = nt_pages_device(dev->link),
		.place_min = NT_COPY,
		.p2p_device = nt_p2p_device(dev->link),
	};
	/* A consumer may use them until the close. */
	get_device(domain->limits.place_device);
	get_device(domain->limits.p2p_device);
	mutex_lock(&nt_devs_lock);
	list_add_tail(&ndom->entry, &nt_domains);
	mutex_unlock(&nt_devs_lock);
	return 0;
}

/* Return: true at the first call: the caller then drops the reference of the domain */
static bool nt_domain_leave(struct nt_domain *ndom)
{
	lockdep_assert_held(&nt_devs_lock);
	if (list_empty(&ndom->entry))
		return false;
	list_del_init(&ndom->entry);
	return true;
}

void nt_domain_close(struct kfi_domain *domain)
{
	struct nt_domain *ndom = to_nt_domain(domain);

	mutex_lock(&nt_devs_lock);
	if (nt_domain_leave(ndom))
		nt_dev_put(ndom->dev);
	mutex_unlock(&nt_devs_lock);
	put_device(domain->limits.place_device);
	put_device(domain->limits.p2p_device);
}

static void nt_dev_drop_domains(struct nt_dev *dev)
{
	struct nt_domain *ndom, *next;

	mutex_lock(&nt_devs_lock);
	list_for_each_entry_safe(ndom, next, &nt_domains, entry)
		if (ndom->dev == dev && nt_domain_leave(ndom))
			nt_dev_put(dev);
	mutex_unlock(&nt_devs_lock);
}

struct nt_dev *nt_domain_dev(struct kfi_domain *domain)
{
	struct nt_domain *ndom = to_nt_domain(domain);
	struct nt_dev *dev = NULL;

	mutex_lock(&nt_devs_lock);
	if (!list_empty(&ndom->entry)) {
		dev = ndom->dev;
		nt_dev_get(dev);
	}
	mutex_unlock(&nt_devs_lock);
	return dev;
}

/* ---- memory for consumers. The domain can't die during nt_mem_alloc() ---- */

int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem)
{
	struct nt_link *link = to_nt_domain(domain)->dev->link;

	mem->addr = nt_mem_get(link, mem->len);
	if (IS_ERR(mem->addr))
		return PTR_ERR(mem->addr);
	mem->priv = link->win.in;
	mem->numa_node = link->win.in->node;
	return 0;
}

void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem)
{
	nt_mem_put(mem->priv, mem->addr, mem->len);
}

/* ---- ports ---- */

int nt_port_take(struct nt_dev *dev, struct nt_listener *l)
{
	int ret;

	if (l->port) {
		ret = xa_insert(&dev->ports, l->port, l, GFP_KERNEL);
		return ret == -EBUSY ? -EADDRINUSE : ret;
	}
	ret = xa_alloc_cyclic(&dev->ports, &l->port, l, XA_LIMIT(NT_PORT_AUTO, INT_MAX),
			      &dev->next_port, GFP_KERNEL);
	if (ret >= 0)
		return 0;
	l->port = 0;
	return ret == -EBUSY ? -EADDRNOTAVAIL : ret;
}

/* On return no caller is being added to the listener, and none is added later. */
void nt_port_give(struct nt_dev *dev, struct nt_listener *l)
{
	if (!l->port || xa_cmpxchg(&dev->ports, l->port, l, NULL, GFP_KERNEL) != l)
		return;
	mutex_lock(&dev->answering);
	mutex_unlock(&dev->answering);
}

/* ---- callbacks of the link ---- */

/* Completion handlers run in kfi_batch_end(), not after each record. */
void nt_rx_burst_begin(struct nt_ring *ring) __acquires(RCU)
{
	rcu_read_lock();
	kfi_batch_begin();
}

void nt_rx_burst_end(struct nt_ring *ring) __releases(RCU)
{
	kfi_batch_end();
	rcu_read_unlock();
}

void nt_rx_record(struct nt_ring *ring, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct nt_dev *dev = nt_ring_link(ring)->priv;
	struct nt_stream *s = xa_load(&dev->streams, le32_to_cpu(rec->conn));

	/* An honest peer sends nothing through another queue than that of the call. */
	if (s && READ_ONCE(s->ring) != ring)
		return;
	switch (rec->type) {
	case NTW_CALL:
		nt_call_in(dev, ring, rec, body, len);
		break;
	case NTW_ANSWER:
		nt_answer_in(dev, ring, s, rec, body, len);
		break;
	case NTW_DATA:
		if (s)
			nt_data_in(s, rec, body, len);
		break;
	case NTW_CLOSE:
		if (s)
			nt_close_in(s, rec, len);
		break;
	}
}

void nt_conns_named(struct nt_link *link)
{
	kfi_device_new();
}

/* Send the CALLs that have waited for the link, and those that an earlier life has lost. */
void nt_conns_link_up(struct nt_link *link)
{
	struct nt_dev *dev = link->priv;
	struct nt_stream *s;
	unsigned long id;

	/* The link is up before the connections are read; pairs with nt_dial(). */
	smp_mb();
	rcu_read_lock();
	xa_for_each(&dev->streams, id, s) {
		spin_lock_bh(&s->lock);
		nt_stream_call(s);
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
}

/*
 * The life of the link that the connection belongs to has ended. A call that was not answered is
 * no connection yet: the peer may have ended its side of the life before it could read the CALL,
 * so it is sent again in the next life, as one that is made while the link is down.
 */
static void nt_stream_link_down(struct nt_stream *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == NT_CALLED) {
		s->state = NT_NEW;
		s->bulk_end = 0;	/* the positions of a ring begin again */
	} else if (s->state != NT_NEW) {
		nt_stream_end(s, -ECONNRESET);
	}
}

/*
 * End all connections of the life; calls that were not answered wait for the next one. After the
 * grace period no post of the old life is under way; see nt_stream_over().
 */
void nt_conns_link_down(struct nt_link *link)
{
	struct nt_dev *dev = link->priv;
	struct nt_stream *s, *next;
	unsigned int i;
	unsigned long id;
	LIST_HEAD(stalled);

	wake_up_all(&dev->back);
	synchronize_rcu();
	nt_callers_drop(dev);
	rcu_read_lock();
	xa_for_each(&dev->streams, id, s) {
		spin_lock_bh(&s->lock);
		nt_stream_link_down(s);
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
	spin_lock_bh(&dev->lock);
	for (i = 0; i < NTW_QUEUES_MAX; i++)
		list_splice_init(&dev->stalled[i], &stalled);
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(s, next, &stalled, stall) {
		list_del(&s->stall);
		nt_stream_put(s);
	}
}

/* ---- bridges ---- */

static struct nt_dev *nt_dev_new(struct ntb_dev *ntb)
{
	struct nt_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	struct nt_link *link;
	unsigned int i;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	refcount_set(&dev->users, 1);
	init_completion(&dev->idle);
	xa_init_flags(&dev->streams, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	xa_init_flags(&dev->ports, XA_FLAGS_ALLOC1);
	dev->next_number = get_random_u32() >> 1 | 1;
	dev->next_port = NT_PORT_AUTO;
	spin_lock_init(&dev->lock);
	for (i = 0; i < NTW_QUEUES_MAX; i++)
		INIT_LIST_HEAD(&dev->stalled[i]);
	init_waitqueue_head(&dev->back);
	mutex_init(&dev->answering);
	link = nt_callers_init(dev) ? ERR_PTR(-ENOMEM) : nt_link_add(ntb, dev);
	if (IS_ERR(link)) {
		nt_callers_free(dev);
		kfree(dev);
		return ERR_CAST(link);
	}
	dev->link = link;
	return dev;
}

static void nt_dev_free(struct nt_dev *dev)
{
	cancel_work_sync(&dev->cm_work);
	nt_link_remove(dev->link);
	nt_callers_free(dev);
	xa_destroy(&dev->streams);
	xa_destroy(&dev->ports);
	kfree(dev);
}

static int nt_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct nt_dev *dev = nt_dev_new(ntb);
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = nt_link_start(dev->link);
	if (ret) {
		nt_dev_free(dev);
		return ret;
	}
	mutex_lock(&nt_devs_lock);
	dev->number = ++nt_devs_number;
	list_add_tail(&dev->entry, &nt_devs);
	mutex_unlock(&nt_devs_lock);
	kfi_device_new();
	return 0;
}

static struct nt_dev *nt_dev_unlist(struct ntb_dev *ntb)
{
	struct nt_dev *dev, *found = NULL;

	mutex_lock(&nt_devs_lock);
	list_for_each_entry(dev, &nt_devs, entry) {
		if (dev->link->ntb != ntb)
			continue;
		list_del(&dev->entry);
		found = dev;
		break;
	}
	mutex_unlock(&nt_devs_lock);
	return found;
}

static void nt_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct nt_dev *dev = nt_dev_unlist(ntb);

	if (!dev)
		return;
	/* This kernel ends. The last connection may wait for the engine, so do not wait for it. */
	if (READ_ONCE(dev->link->hung)) {
		nt_link_stop(dev->link);
		return;
	}
	WRITE_ONCE(dev->going, true);
	kfi_device_gone(dev);
	nt_link_stop(dev->link);
	if (READ_ONCE(dev->link->hung))
		return;
	/* After this, callers that were being answered have a connection or were refused. */
	flush_work(&dev->cm_work);
	nt_dev_drop_domains(dev);
	nt_dev_put(dev);
	while (!wait_for_completion_timeout(&dev->idle, NT_REMOVE_LATE))
		dev_warn(&ntb->dev,
			 "the removal waits for consumers; devices write to the peer's memory (%u places)\n",
			 nt_pages_pinned(dev->link));
	nt_dev_free(dev);
}

static struct ntb_client nt_client = {
	.ops = {
		.probe	= nt_probe,
		.remove	= nt_remove,
	},
};

int nt_devs_init(void)
{
	return ntb_register_client(&nt_client);
}

void nt_devs_exit(void)
{
	ntb_unregister_client(&nt_client);
}
