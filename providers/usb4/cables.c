// SPDX-License-Identifier: GPL-2.0
/*
 * cables.c - all cables: how one is found, woken, told that its life has ended, and freed. It calls
 * no other file but ring.c, for the frames.
 */
#include <linux/slab.h>
#include "usb4.h"

#define U4_CABLES	32	/* cables that are visited at a time */

static DEFINE_SPINLOCK(u4_cables_lock);	/* taken with bottom halves off */
static LIST_HEAD(u4_cables);

struct u4_cable *u4_cable_find(u64 route, const void *local, const void *remote)
{
	struct u4_cable *c, *found = NULL;

	spin_lock_bh(&u4_cables_lock);
	list_for_each_entry(c, &u4_cables, entry) {
		if (!c->removed && c->xd->route == route &&
		    !memcmp(c->xd->local_uuid, local, U4W_UUID) &&
		    !memcmp(c->xd->remote_uuid, remote, U4W_UUID)) {
			kref_get(&c->ref);
			found = c;
			break;
		}
	}
	spin_unlock_bh(&u4_cables_lock);
	return found;
}

static void u4_cable_free(struct u4_cable *c)
{
	u4_frames_free(c);
	put_device(c->host);
	tb_xdomain_put(c->xd);
	kvfree(c);
}

static void u4_cable_release(struct kref *ref)
{
	u4_cable_free(container_of(ref, struct u4_cable, ref));
}

void u4_cable_put(struct u4_cable *c)
{
	kref_put(&c->ref, u4_cable_release);
}

void u4_cable_kick(struct u4_cable *c)
{
	spin_lock_bh(&u4_cables_lock);
	if (!c->removed)
		mod_delayed_work(u4_wq, &c->work, 0);
	spin_unlock_bh(&u4_cables_lock);
}

void u4_cable_remove(struct u4_cable *c)
{
	spin_lock_bh(&u4_cables_lock);
	c->removed = true;
	mod_delayed_work(u4_wq, &c->work, 0);
	spin_unlock_bh(&u4_cables_lock);
}

bool u4_cable_removed(struct u4_cable *c)
{
	bool removed;

	spin_lock_bh(&u4_cables_lock);
	removed = c->removed;
	spin_unlock_bh(&u4_cables_lock);
	return removed;
}

void u4_cable_unlist(struct u4_cable *c)
{
	spin_lock_bh(&u4_cables_lock);
	list_del_init(&c->entry);
	spin_unlock_bh(&u4_cables_lock);
}

void u4_cables_each(void (*fn)(struct u4_cable *c), const struct device *dma)
{
	struct u4_cable *c, *all[U4_CABLES];
	unsigned int i, n = 0;

	spin_lock_bh(&u4_cables_lock);
	list_for_each_entry(c, &u4_cables, entry) {
		if (dma && c->dma != dma)
			continue;
		if (n == U4_CABLES)
			break;
		kref_get(&c->ref);
		all[n++] = c;
	}
	spin_unlock_bh(&u4_cables_lock);
	for (i = 0; i < n; i++) {
		fn(all[i]);
		u4_cable_put(all[i]);
	}
}

void u4_cable_list(struct u4_cable *c)
{
	spin_lock_bh(&u4_cables_lock);
	list_add_tail(&c->entry, &u4_cables);
	spin_unlock_bh(&u4_cables_lock);
}

void u4_cable_fault(struct u4_cable *c, const char *why)
{
	cmpxchg(&c->fault, NULL, why);
	u4_cable_kick(c);
}

void u4_cable_lost(struct u4_cable *c, const char *why)
{
	cmpxchg(&c->lost, NULL, why);
	u4_cable_kick(c);
}
