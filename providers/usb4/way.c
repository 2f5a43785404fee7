// SPDX-License-Identifier: GPL-2.0
/*
 * way.c - ways to other hosts, which are domains to consumers, and their names.
 *
 * A way is created with the first cable to a host. When the cable is pulled, the way stays if a
 * consumer uses it: connections end, but endpoints, listeners and network devices find the host
 * again when a cable to it is plugged, in whatever port. Two cables to one host are two ways.
 */
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/unaligned.h>
#include "usb4.h"

#define U4_UNPLUGGED	32	/* ways without a cable */
#define U4_LEAVE_MS	2000	/* for a cable that was removed to leave its way */

static DEFINE_MUTEX(u4_ways_lock);
static LIST_HEAD(u4_ways);

/* ---- names ---- */

/*
 * The other host says how it is called. What isn't part of a host name becomes a dash; a host
 * without a name is called by the beginning of its UUID.
 */
static void u4_host_name(struct u4_cable *c, char *host, size_t size)
{
	struct tb_xdomain *xd = c->xd;
	char *at;

	mutex_lock(&xd->lock);
	if (xd->device_name && isalnum(*xd->device_name))
		strscpy(host, xd->device_name, size);
	else
		snprintf(host, size, "%8phN", xd->remote_uuid);
	mutex_unlock(&xd->lock);
	for (at = host; *at; at++)
		if (!isascii(*at) || (!isalnum(*at) && *at != '.'))
			*at = '-';
}

static bool u4_name_used(const char *name)
{
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		if (!strcmp(way->name, name))
			return true;
	return false;
}

/* Find the end that is called so. A name that two hosts claim stands for none of them. */
static int u4_host_side(const char *host, void *side)
{
	bool own = !strcmp(init_utsname()->nodename, host), peer;
	const u8 *found = NULL, *end;
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry) {
		peer = !strcmp(way->host, host);
		if (!peer && !own)
			continue;
		end = peer ? way->mux.peer : way->mux.own;
		if ((peer && own) || (found && memcmp(found, end, UUID_SIZE)))
			return -EINVAL;
		found = end;
	}
	if (!found)
		return -EINVAL;
	memcpy(side, found, UUID_SIZE);
	return 0;
}

int u4_side(const char *text, void *side)
{
	uuid_t uuid;
	int ret;

	if (strlen(text) == UUID_STRING_LEN && !uuid_parse(text, &uuid)) {
		export_uuid(side, &uuid);
		return 0;
	}
	mutex_lock(&u4_ways_lock);
	ret = u4_host_side(text, side);
	mutex_unlock(&u4_ways_lock);
	return ret;
}

void u4_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	if (len < UUID_SIZE + sizeof(__le32))
		snprintf(buf, size, "usb4:?");
	else
		snprintf(buf, size, "usb4:%pUb:%u", addr, get_unaligned_le32(addr + UUID_SIZE));
}

/* ---- ways ---- */

static bool u4_way_leads_to(const struct u4_way *way, const struct tb_xdomain *xd)
{
	return !memcmp(way->mux.own, xd->local_uuid, UUID_SIZE) &&
	       !memcmp(way->mux.peer, xd->remote_uuid, UUID_SIZE);
}

/* Other hosts choose their UUIDs, and consumers may keep the way of each. */
static bool u4_ways_too_many(void)
{
	struct u4_way *way;
	unsigned int n = 0;

	list_for_each_entry(way, &u4_ways, entry)
		n += !way->plugged;
	return n >= U4_UNPLUGGED;
}

static struct u4_way *u4_way_new(struct u4_cable *c)
{
	struct u4_way *way;
	unsigned int n = 0;

	if (u4_ways_too_many())
		return ERR_PTR(-EUSERS);
	way = kzalloc(sizeof(*way), GFP_KERNEL);
	if (!way)
		return ERR_PTR(-ENOMEM);
	u4_host_name(c, way->host, sizeof(way->host));
	do
		snprintf(way->name, sizeof(way->name), "%s.%u", way->host, n++);
	while (u4_name_used(way->name));
	if (kfi_mux_init(&way->mux, &u4_prov, way->name)) {
		kfree(way);
		return ERR_PTR(-ENOMEM);
	}
	kfi_mux_set_ends(&way->mux, c->xd->local_uuid, c->xd->remote_uuid);
	list_add_tail(&way->entry, &u4_ways);
	return way;
}

/* The way is not listed any more. */
static void u4_way_free(struct u4_way *way)
{
	kfi_mux_gone(&way->mux);
	kfi_mux_drop(&way->mux);
	while (!kfi_mux_idle(&way->mux, 30 * HZ))
		pr_warn("kfi_usb4: %s waits for its users\n", way->name);
	kfi_mux_destroy(&way->mux);
	kfree(way);
}

/* Return: true if a cable to that host was removed, and u4_cable_work() has not seen that yet */
static bool u4_way_leaving(const struct tb_xdomain *xd)
{
	struct u4_way *way;
	bool leaving = false;

	mutex_lock(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		leaving |= way->plugged && READ_ONCE(way->plugged->gone) &&
			   u4_way_leads_to(way, xd);
	mutex_unlock(&u4_ways_lock);
	return leaving;
}

/*
 * A cable that is bound again finds the way that it has just left. Consumers are told of a new way
 * without the lock, because they look for ways then.
 */
int u4_way_join(struct u4_cable *c)
{
	struct u4_way *way;
	bool new = false;
	int ms;

	for (ms = 0; ms < U4_LEAVE_MS && u4_way_leaving(c->xd); ms += 20)
		msleep(20);
	mutex_lock(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		if (!way->plugged && u4_way_leads_to(way, c->xd))
			goto found;
	way = u4_way_new(c);
	if (IS_ERR(way))
		goto unlock;
	new = true;
found:
	way->plugged = c;
	c->way = way;
unlock:
	mutex_unlock(&u4_ways_lock);
	if (new)
		kfi_mux_list(&way->mux);
	return PTR_ERR_OR_ZERO(way);
}

/* Free ways without a cable that nobody uses. Return: true if there are others without one */
static bool u4_ways_sweep(void)
{
	struct u4_way *way, *next;
	bool others = false;
	LIST_HEAD(unused);

	mutex_lock(&u4_ways_lock);
	list_for_each_entry_safe(way, next, &u4_ways, entry) {
		if (way->plugged)
			continue;
		if (kfi_mux_retire(&way->mux))
			list_move(&way->entry, &unused);
		else
			others = true;
	}
	mutex_unlock(&u4_ways_lock);
	list_for_each_entry_safe(way, next, &unused, entry)
		u4_way_free(way);
	return others;
}

static void u4_sweep_fn(struct work_struct *work)
{
	if (u4_ways_sweep())
		queue_delayed_work(u4_wq, to_delayed_work(work), HZ);
}

static DECLARE_DELAYED_WORK(u4_sweep, u4_sweep_fn);

void u4_way_leave(struct u4_cable *c)
{
	mutex_lock(&u4_ways_lock);
	c->way->plugged = NULL;
	mutex_unlock(&u4_ways_lock);
	mod_delayed_work(u4_wq, &u4_sweep, 0);
}

/* No cable is left, and no consumer; the last queries and refusals end. */
void u4_ways_exit(void)
{
	cancel_delayed_work_sync(&u4_sweep);
	while (u4_ways_sweep())
		msleep(20);
}

/* ---- domains ---- */

int u4_domain_open(struct kfi_domain *domain)
{
	int ret = kfi_mux_domain_open(domain);
	struct u4_way *way;

	if (ret)
		return ret;
	way = to_u4_way(container_of(domain, struct kfi_mux_domain, domain)->mux);
	domain->limits = (struct kfi_domain_limits) {
		.numa_node = NUMA_NO_NODE,
		.mr_page_limit = SIZE_MAX,
		.sge_limit = KFI_PROTO_IOV_MAX,
		.short_msg_limit = u4_prov.proto->params.eager_size,
	};
	mutex_lock(&u4_ways_lock);
	if (way->plugged)
		domain->limits.numa_node = dev_to_node(&way->plugged->xd->dev);
	mutex_unlock(&u4_ways_lock);
	return 0;
}

/* ---- what `kfi info` shows ---- */

static const char *u4_width(const struct tb_xdomain *xd)
{
	switch ((unsigned int)xd->link_width) {
	case 1:
		return "one lane";
	case 2:
		return "two lanes";
	default:
		return "asymmetric lanes";
	}
}

static void u4_state_str(const struct u4_cable *c, char *buf, size_t size)
{
	enum u4_state state;

	if (!c) {
		snprintf(buf, size, "none is plugged");
		return;
	}
	state = READ_ONCE(c->state);
	snprintf(buf, size, "%s, %s of %u Gb/s",
		 state == U4_UP ? "up" : state == U4_TRYING ? "is coming up" : "logs in",
		 u4_width(c->xd), c->xd->link_speed);
}

static void u4_frames_str(const struct u4_stats *st, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%llu sent, %llu repeated; %llu received, %llu gaps, %llu damaged, %llu strange; %llu restarts",
		 st->sent, st->repeated, st->received, st->lost, st->damaged, st->strange,
		 st->restarts);
}

struct u4_shown {
	int	(*emit)(void *arg, const struct kfi_part *part);
	void	*arg;
};

static int u4_way_parts(struct kfi_mux *mux, void *arg)
{
	struct u4_way *way = to_u4_way(mux);
	struct u4_shown *w = arg;
	char host[96], cable[64], frames[192] = "";
	struct kfi_part part = { .domain = way->name, .device = mux->number };
	const struct { const char *name, *state; } all[] = {
		{ "host", host }, { "cable", cable }, { "frames", frames },
	};
	int i, ret = 0;

	snprintf(host, sizeof(host), "%s, %pUb", way->host, mux->peer);
	mutex_lock(&u4_ways_lock);
	u4_state_str(way->plugged, cable, sizeof(cable));
	if (way->plugged)
		u4_frames_str(&way->plugged->stats, frames, sizeof(frames));
	mutex_unlock(&u4_ways_lock);
	for (i = 0; i < ARRAY_SIZE(all) && !ret; i++) {
		if (!*all[i].state)
			continue;
		part.nr++;
		part.name = all[i].name;
		part.state = all[i].state;
		ret = w->emit(w->arg, &part);
	}
	return ret;
}

int u4_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg)
{
	struct u4_shown w = { emit, arg };

	return net == &init_net ? kfi_mux_each(&u4_prov, u4_way_parts, &w) : 0;
}
