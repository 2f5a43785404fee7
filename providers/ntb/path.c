// SPDX-License-Identifier: GPL-2.0
/*
 * path.c - several bridges to one machine: which of them a connection uses.
 * docs/wire-ntb-endpoints.md, "Several bridges", has the reasons.
 *
 *   nt_machine_send()	the link is up: tell the other end which machine this is
 *   nt_machine_in() the other end tells which machine it is; then nt_machine_work() lets calls that
 *		wait for another bridge use this one
 *   nt_path()	the bridge by which an RDM endpoint calls: its own, or another one between the
 *		same two machines
 */
#include <linux/module.h>
#include <linux/random.h>
#include "ntb.h"

enum { NT_PATHS_OWN, NT_PATHS_STANDBY, NT_PATHS_SPREAD };

static unsigned int nt_failover = NT_PATHS_STANDBY;
module_param_named(failover, nt_failover, uint, 0644);
MODULE_PARM_DESC(failover, "other bridges to the same machine: 0 not used, 1 while the endpoint's own has no link, 2 in turn (default 1)");

static u64 nt_host;		/* number of this machine */
static atomic_t nt_bridges;	/* the last number that was given to a bridge of this machine */

void nt_paths_init(void)
{
	do
		nt_host = get_random_u64();
	while (!nt_host);
	atomic_set(&nt_bridges, get_random_u32());
}

/* ---- machines at the other end ---- */

static void nt_machine_work(struct work_struct *work);

void nt_machine_init(struct nt_dev *dev)
{
	do
		dev->number = atomic_inc_return(&nt_bridges);
	while (!dev->number);
	INIT_WORK(&dev->machine_work, nt_machine_work);
}

/* Tell the peer which machine this is. The record of the life before has had its callbacks. */
void nt_machine_send(struct nt_dev *dev)
{
	struct nt_rec *rec = &dev->machine_rec;

	memset(rec, 0, sizeof(*rec));
	ntw_encode_machine(nt_host, dev->number, &rec->rec,
			   (struct ntw_machine *)(rec->head + sizeof(struct ntw_rec)));
	rec->head_len = sizeof(struct ntw_rec) + sizeof(struct ntw_machine);
	/* if the link is down again, the next life repeats it */
	nt_post(dev->link, rec, false);
}

/* The machine is kept: it tells which other bridges lead there. */
void nt_machine_lost(struct nt_dev *dev)
{
	spin_lock_bh(&dev->lock);
	dev->machine.here = false;
	spin_unlock_bh(&dev->lock);
}

/*
 * Called in softirq. A peer may claim to be any machine; authorization keys protect endpoints that
 * do not trust it.
 */
void nt_machine_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct ntw_machine raw;
	u32 bridge;
	u64 host;

	if (len != sizeof(raw))
		return;
	memcpy(&raw, body, sizeof(raw));
	barrier_data(&raw);
	if (ntw_decode_machine(rec, &raw, len, &host, &bridge))
		return;
	spin_lock_bh(&dev->lock);
	dev->machine = (struct nt_machine) { .host = host, .bridge = bridge, .here = true };
	spin_unlock_bh(&dev->lock);
	nt_machine_changed(dev);
}

static struct nt_machine nt_machine(struct nt_dev *dev)
{
	struct nt_machine machine;

	spin_lock_bh(&dev->lock);
	machine = dev->machine;
	spin_unlock_bh(&dev->lock);
	return machine;
}

/*
 * Does @other lead to the same machine as @dev, and is its link up? If that is this machine itself,
 * both ends of a bridge are among our bridges, and only those of the same side qualify.
 */
static bool nt_same_machine(struct nt_dev *dev, struct nt_dev *other)
{
	struct nt_machine a = nt_machine(dev), b = nt_machine(other);

	if (dev == other || !a.host || a.host != b.host || !b.here || !nt_link_is_up(other->link))
		return false;
	return a.host != nt_host || nt_link_side(dev->link) == nt_link_side(other->link);
}

/* ---- the endpoint's bridge for a call that came by @dev ---- */

struct nt_search {
	struct nt_dev	*dev, *found;
	u32		number;
};

static int nt_called_match(struct nt_dev *dev, void *arg)
{
	struct nt_search *s = arg;

	if (dev->number != s->number || !nt_same_machine(dev, s->dev))
		return 0;
	nt_dev_get(dev);
	s->found = dev;
	return 1;
}

/*
 * Return the bridge whose port is called, with a reference; NULL if there is none, or if calls to
 * it may not come by @dev. May sleep.
 */
struct nt_dev *nt_called_dev(struct nt_dev *dev, u32 number)
{
	struct nt_search s = { .dev = dev, .number = number };

	if (!number) {
		nt_dev_get(dev);
		return dev;
	}
	/* With failover=0 no peer is believed to be the machine behind another bridge. */
	if (READ_ONCE(nt_failover) != NT_PATHS_OWN)
		nt_devs_each(nt_called_match, &s);
	return s.found;
}

/* Return &ntw_call.bridge of a call by @path for the peer of @own */
u32 nt_call_number(struct nt_dev *path, struct nt_dev *own)
{
	return path == own ? 0 : nt_machine(own).bridge;
}

/* ---- choice of the bridge for a call ---- */

/**
 * struct nt_choice - search among the bridges that lead to the same machine as @own
 * @own: bridge of the calling endpoint
 * @taken: the bridge that was found, with a reference
 * @skip: number of bridges to skip; -1: only count them
 * @n: number of bridges that were found
 */
struct nt_choice {
	struct nt_dev	*own, *taken;
	int		skip, n;
};

static int nt_choose(struct nt_dev *dev, void *arg)
{
	struct nt_choice *c = arg;

	if (dev == c->own ? !nt_link_is_up(dev->link) : !nt_same_machine(c->own, dev))
		return 0;
	if (c->n++ != c->skip)
		return 0;
	nt_dev_get(dev);
	c->taken = dev;
	return 1;
}

/*
 * Return the bridge by which @nep calls @to, with a reference; its own bridge if there is no
 * better. May sleep. In mode 2 the ports of both endpoints choose the bridge, so that all
 * connections between two endpoints use the same one.
 */
struct nt_dev *nt_path(struct nt_ep *nep, const struct ntw_addr *to)
{
	struct nt_choice c = { .own = nep->dev };
	unsigned int paths = READ_ONCE(nt_failover);

	if (paths != NT_PATHS_OWN && to->side == cpu_to_le32(nt_link_peer_side(nep->dev->link)) &&
	    (paths == NT_PATHS_SPREAD || !nt_link_is_up(nep->dev->link))) {
		if (paths == NT_PATHS_SPREAD) {
			c.skip = -1;
			nt_devs_each(nt_choose, &c);
			c.skip = c.n ?
				 (le32_to_cpu(nep->addr.port) + le32_to_cpu(to->port)) % c.n : 0;
			c.n = 0;
		}
		nt_devs_each(nt_choose, &c);
	}
	if (!c.taken) {
		nt_dev_get(nep->dev);
		c.taken = nep->dev;
	}
	return c.taken;
}

/*
 * A call by @dev has found the link down: is there another bridge now whose link is up? May sleep
 */
bool nt_path_other(struct nt_ep *nep, struct nt_dev *dev, const struct ntw_addr *to)
{
	struct nt_dev *path = nt_path(nep, to);
	bool other = path != dev;

	nt_dev_put(path);
	return other;
}

/*
 * It has become known where bridge @arg leads. Calls that wait for the link of their own bridge,
 * @dev, are made again, and then use that bridge.
 */
static int nt_machine_wake(struct nt_dev *dev, void *arg)
{
	struct nt_stream *s;
	unsigned long id;

	if (!READ_ONCE(nt_failover) || nt_link_is_up(dev->link) || !nt_same_machine(dev, arg))
		return 0;
	rcu_read_lock();
	xa_for_each(&dev->streams, id, s) {
		spin_lock_bh(&s->lock);
		if (s->state == NT_NEW && s->end &&
		    s->end->link.ep->ep.type == KFI_EP_RDM)
			nt_stream_end(s, -EALREADY);	/* "again": see kfi_peer_lost() */
		spin_unlock_bh(&s->lock);
	}
	rcu_read_unlock();
	return 0;
}

static void nt_machine_work(struct work_struct *work)
{
	nt_devs_each(nt_machine_wake, container_of(work, struct nt_dev, machine_work));
}

void nt_machine_changed(struct nt_dev *dev)
{
	queue_work(nt_cm_wq, &dev->machine_work);
}
