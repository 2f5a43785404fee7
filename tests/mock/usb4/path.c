// SPDX-License-Identifier: GPL-2.0
/*
 * path.c - paths of frames: from a ring of this host to a HopID of a cable, and from one to a ring
 *
 * They are entries of this host's own router, so they stay when the cable is pulled, until the
 * core or the driver removes them.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/slab.h>
#include "mock.h"

#define TM_ENABLE_MS	2	/* some ten packets to the router */

/* Would the two use the same entry of the router? */
static bool tm_collide(const struct tm_tunnel *a, const struct tm_tunnel *b)
{
	bool same_port = a->port == b->port;
	bool tx = a->tx_ring > 0 && b->tx_ring > 0, rx = a->rx_ring > 0 && b->rx_ring > 0;

	return (tx && (a->tx_ring == b->tx_ring ||
		       (same_port && a->tx_hopid == b->tx_hopid))) ||
	       (rx && (a->rx_ring == b->rx_ring || (same_port && a->rx_hopid == b->rx_hopid)));
}

static bool tm_is_hopid(int hopid)
{
	return hopid >= TM_MIN_HOPID && hopid <= TM_MAX_HOPID;
}

/* Under tb->lock. */
static int tm_tunnel_add(struct tm_host *host, const struct tm_tunnel *like)
{
	struct tm_tunnel *t;

	if (WARN_ON(!like->tx_ring || !like->rx_ring || (like->tx_ring < 0 && like->rx_ring < 0)))
		return -ENOMEM;
	if ((like->tx_ring > 0 && !tm_is_hopid(like->tx_hopid)) ||
	    (like->rx_ring > 0 && !tm_is_hopid(like->rx_hopid)))
		return -ENOMEM;
	list_for_each_entry(t, &host->tunnels, entry)
		if (tm_collide(t, like))
			return -ENOMEM;
	t = kmemdup(like, sizeof(*like), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	spin_lock_irq(&tm_lock);
	list_add_tail(&t->entry, &host->tunnels);
	tm_engine_go_on();
	spin_unlock_irq(&tm_lock);
	return 0;
}

static void tm_tunnel_remove(struct tm_host *host, struct tm_tunnel *t)
{
	spin_lock_irq(&tm_lock);
	list_del(&t->entry);
	spin_unlock_irq(&tm_lock);
	kfree(t);
}

void tm_paths_drop(struct tm_port *port)
{
	struct tm_host *host = port->host;
	struct tm_tunnel *t, *next;

	lockdep_assert_held(&host->tb->lock);
	list_for_each_entry_safe(t, next, &host->tunnels, entry)
		if (t->port == port)
			tm_tunnel_remove(host, t);
}

/* It works for a cable that was pulled as well: what is left then is in the way of the next one. */
int tb_xdomain_enable_paths(struct tb_xdomain *xd, int transmit_path, int transmit_ring,
			    int receive_path, int receive_ring)
{
	struct tm_port *port = tm_port_of(xd);
	const struct tm_tunnel like = {
		.port = port, .tx_ring = transmit_ring, .tx_hopid = transmit_path,
		.rx_hopid = receive_path, .rx_ring = receive_ring,
	};
	int err;

	mutex_lock(&xd->tb->lock);
	msleep(TM_ENABLE_MS);
	/* In the kernel the memory of the domain is free. */
	err = WARN_ON(port->host->unbound) ? -ENODEV : 0;
	if (!err)
		err = tm_tunnel_add(port->host, &like);
	mutex_unlock(&xd->tb->lock);
	if (!err)
		atomic_inc(&xd->ntunnels);
	return err;
}
EXPORT_SYMBOL_GPL(tb_xdomain_enable_paths);

static bool tm_same(int wanted, int has)
{
	return wanted <= 0 || wanted == has;
}

/* -1 is any. */
static bool tm_names(const struct tm_tunnel *wanted, const struct tm_tunnel *t)
{
	if (t->port != wanted->port || !wanted->tx_ring || !wanted->rx_ring)
		return false;
	return tm_same(wanted->tx_ring, t->tx_ring) && tm_same(wanted->tx_hopid, t->tx_hopid) &&
	       tm_same(wanted->rx_ring, t->rx_ring) && tm_same(wanted->rx_hopid, t->rx_hopid);
}

/* With a cable that was pulled it does nothing, and the core has removed the paths or will. */
int tb_xdomain_disable_paths(struct tb_xdomain *xd, int transmit_path, int transmit_ring,
			     int receive_path, int receive_ring)
{
	struct tm_port *port = tm_port_of(xd);
	const struct tm_tunnel wanted = {
		.port = port, .tx_ring = transmit_ring, .tx_hopid = transmit_path,
		.rx_hopid = receive_path, .rx_ring = receive_ring,
	};
	struct tm_tunnel *t, *next;

	if (!READ_ONCE(xd->is_unplugged)) {
		mutex_lock(&xd->tb->lock);
		WARN_ON(port->host->unbound);
		list_for_each_entry_safe(t, next, &port->host->tunnels, entry)
			if (tm_names(&wanted, t))
				tm_tunnel_remove(port->host, t);
		mutex_unlock(&xd->tb->lock);
	}
	atomic_dec(&xd->ntunnels);
	return 0;
}
EXPORT_SYMBOL_GPL(tb_xdomain_disable_paths);

/* ---- HopIDs: what both hosts have to agree upon ---- */

static int tm_hopid_alloc(struct ida *ids, int hopid, unsigned int most)
{
	if (hopid < 0)
		hopid = TM_MIN_HOPID;
	if (hopid < TM_MIN_HOPID || hopid > most)
		return -EINVAL;
	return ida_alloc_range(ids, hopid, most, GFP_KERNEL);
}

/* If @hopid is taken, it is the next one: the caller has to compare. */
int tb_xdomain_alloc_in_hopid(struct tb_xdomain *xd, int hopid)
{
	return tm_hopid_alloc(&xd->in_hopids, hopid, xd->local_max_hopid);
}
EXPORT_SYMBOL_GPL(tb_xdomain_alloc_in_hopid);

void tb_xdomain_release_in_hopid(struct tb_xdomain *xd, int hopid)
{
	ida_free(&xd->in_hopids, hopid);
}
EXPORT_SYMBOL_GPL(tb_xdomain_release_in_hopid);

int tb_xdomain_alloc_out_hopid(struct tb_xdomain *xd, int hopid)
{
	return tm_hopid_alloc(&xd->out_hopids, hopid, xd->remote_max_hopid);
}
EXPORT_SYMBOL_GPL(tb_xdomain_alloc_out_hopid);

void tb_xdomain_release_out_hopid(struct tb_xdomain *xd, int hopid)
{
	ida_free(&xd->out_hopids, hopid);
}
EXPORT_SYMBOL_GPL(tb_xdomain_release_out_hopid);
