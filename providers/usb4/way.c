// SPDX-License-Identifier: GPL-2.0
/*
 * way.c - ways to other hosts, which are domains to consumers, and their names.
 *
 * A way is created when the first cable to a host has logged in. When the cable is pulled, the way
 * stays if a consumer uses it: connections are held for some time (hold.c), and then end, but
 * endpoints, listeners and network devices find the host again when a cable to it is plugged, in
 * whatever port, also if the host has booted. Two cables to one host are two ways.
 *
 * A way has names for both ends, which are UUIDs of the host interfaces that its first cable joins.
 * They stay, because consumers have them, and both hosts use the same: a host that has booted takes
 * those of the host that has kept the way (same.h). So no consumer sees that a UUID has changed.
 */
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/dmi.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/unaligned.h>
#include "usb4.h"

#define U4_UNPLUGGED	32	/* ways without a cable */
#define U4_NAMES	(5 * HZ)	/* so often the names of hosts are compared */

static DEFINE_MUTEX(u4_ways_lock);
static LIST_HEAD(u4_ways);
static LIST_HEAD(u4_lone);	/* cables that have no way yet; under u4_ways_lock */
static u32 u4_lone_number;
static u64 u4_machine, u4_hardware;	/* &u4_said.machine and &u4_said.hardware of this host */

/* ---- what identifies hosts ---- */

/*
 * What the firmware says may be the same in many machines, so if it differs these are two machines,
 * and otherwise nothing follows. The hash does not show serial numbers.
 */
static u64 u4_hardware_hash(void)
{
	static const int fields[] = { DMI_PRODUCT_UUID, DMI_PRODUCT_SERIAL, DMI_BOARD_SERIAL };
	siphash_key_t key = { { 0, 0x6b66616275736234ULL } };
	const char *text;
	u64 hash = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		text = dmi_get_system_info(fields[i]);
		if (!text || !*text)
			continue;
		key.key[0] = i;
		hash ^= siphash(text, strlen(text), &key);
	}
	return hash;
}

void u4_ways_init(void)
{
	u4_machine = get_random_u64() | 1;
	u4_hardware = u4_hardware_hash();
}

void u4_cable_place(struct u4_cable *c)
{
	snprintf(c->where, sizeof(c->where), "%s, port %llx", dev_name(c->dma), c->xd->route);
	c->here = jhash(c->where, strlen(c->where), 0);
	c->host = get_device(c->dma);
}

/*
 * The other host says how it is called. What isn't part of a host name becomes a dash; a host
 * without a name is called by the beginning of its UUID.
 */
void u4_host_name(struct u4_cable *c, char *host, size_t size)
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

static void u4_cable_seen(struct u4_cable *c, const struct u4_said *said, struct u4_seen *seen)
{
	*seen = (struct u4_seen) { .here = c->here, .said = *said };
	u4_host_name(c, seen->host, sizeof(seen->host));
	export_uuid(seen->local, c->xd->local_uuid);
	export_uuid(seen->remote, c->xd->remote_uuid);
}

/* The way is connected, or is about to be. */
static bool u4_way_live(const struct u4_way *way)
{
	lockdep_assert_held(&u4_ways_lock);
	return way->plugged && READ_ONCE(way->plugged->state) != U4_LOGIN;
}

/*
 * As u4_same(). A machine that is connected by another cable has not booted, so a host that says
 * that it is another machine is one.
 */
static unsigned int u4_way_same(const struct u4_way *way, const struct u4_seen *seen)
{
	u64 then = way->seen.said.machine, now = seen->said.machine;
	struct u4_way *other;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(other, &u4_ways, entry)
		if (now && then && now != then && other != way && u4_way_live(other) &&
		    other->seen.said.machine == then)
			return 0;
	return u4_same(&way->seen, seen);
}

/* ---- names ---- */

/* Return: true if a way has that name, but @also */
static bool u4_name_taken(const char *name, const struct u4_way *also)
{
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		if (way != also && (!strcmp(way->name, name) || !strcmp(way->now, name)))
			return true;
	return false;
}

/* Return: true if @name is that of @host and a number */
static bool u4_name_of(const char *name, const char *host)
{
	size_t len = strlen(host);

	return !strncmp(name, host, len) && name[len] == '.' && !strchr(name + len + 1, '.');
}

/* The host of the way may have another name. That of the way is a name of it, too. */
static void u4_way_rename(struct u4_way *way)
{
	unsigned int n = 0;

	lockdep_assert_held(&u4_ways_lock);
	if (u4_name_of(way->name, way->seen.host)) {
		*way->now = '\0';
		return;
	}
	if (u4_name_of(way->now, way->seen.host))
		return;
	*way->now = '\0';
	do
		snprintf(way->now, sizeof(way->now), "%s.%u", way->seen.host, n++);
	while (u4_name_taken(way->now, way));
	u4_way_say(way, "its host has another name, so it is also called ", way->now);
}

/*
 * Copy the name that the administrator has given to the last port of the way; the port is not that
 * of another cable. Return: false: there is none
 */
static bool u4_way_port(const struct u4_way *way, char *name, size_t size)
{
	char ports[U4_PORTS], place[sizeof(way->plugged->where)], *at = ports, *entry, *is;
	struct u4_way *other;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(other, &u4_ways, entry)
		if (!way->plugged && other->plugged && other->host == way->host &&
		    other->route == way->route)
			return false;
	kfi_param_read(ports, u4_ports, sizeof(ports));
	snprintf(place, sizeof(place), "%s/%llx", dev_name(way->host), way->route);
	while ((entry = strsep(&at, ","))) {
		is = strchr(entry, '=');
		if (!is || is == entry || strcmp(is + 1, place))
			continue;
		*is = '\0';
		return strscpy(name, entry, size) > 0;
	}
	return false;
}

bool u4_called(struct kfi_mux *mux, const char *name)
{
	struct u4_way *way = to_u4_way(mux);
	char port[U4_NAME];
	bool called;

	mutex_lock(&u4_ways_lock);
	called = (*way->now && !strcmp(way->now, name)) ||
		 (u4_way_port(way, port, sizeof(port)) && !strcmp(port, name) &&
		  !u4_name_taken(name, NULL));
	mutex_unlock(&u4_ways_lock);
	return called;
}

/* Return: true if two machines that are connected now say that they are called so */
static bool u4_name_disputed(const char *host, const struct u4_way *also)
{
	u64 machine = strcmp(init_utsname()->nodename, host) ? 0 : u4_machine;
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry) {
		if (strcmp(way->seen.host, host) || (way != also && !u4_way_live(way)))
			continue;
		if (machine && machine != way->seen.said.machine)
			return true;
		machine = way->seen.said.machine;
	}
	return false;
}

/*
 * Find the end of the way that is called so. A name that two machines claim stands for none of
 * them. If a cable joins two host interfaces of one machine, the ends of both its ways have the
 * names.
 */
static int u4_host_side(const struct u4_way *way, const char *host, void *side)
{
	bool own = !strcmp(init_utsname()->nodename, host);
	bool peer = !strcmp(way->seen.host, host);
	struct u4_way *other;

	lockdep_assert_held(&u4_ways_lock);
	if (u4_name_disputed(host, NULL))
		return -ENOTUNIQ;
	if (own && peer)
		return -EINVAL;
	if (own || peer) {
		memcpy(side, own ? way->mux.own : way->mux.peer, UUID_SIZE);
		return 0;
	}
	list_for_each_entry(other, &u4_ways, entry) {
		if (other->seen.said.machine != u4_machine || strcmp(other->seen.host, host))
			continue;
		memcpy(side, other->mux.peer, UUID_SIZE);
		return 0;
	}
	return -EINVAL;
}

/* The UUID of a host interface stands for its end, which may have the name of an earlier one. */
static void u4_uuid_side(const struct u4_way *way, const uuid_t *uuid, u8 *side)
{
	const struct kfi_mux *mux = &way->mux;

	lockdep_assert_held(&u4_ways_lock);
	export_uuid(side, uuid);
	if (!memcmp(side, mux->own, UUID_SIZE) || !memcmp(side, mux->peer, UUID_SIZE))
		return;
	if (!memcmp(side, way->seen.remote, UUID_SIZE))
		memcpy(side, mux->peer, UUID_SIZE);
	else if (!memcmp(side, way->seen.local, UUID_SIZE))
		memcpy(side, mux->own, UUID_SIZE);
}

int u4_side(struct kfi_mux *mux, const char *text, void *side)
{
	struct u4_way *way = to_u4_way(mux);
	uuid_t uuid;
	int ret = 0;

	mutex_lock(&u4_ways_lock);
	if (strlen(text) == UUID_STRING_LEN && !uuid_parse(text, &uuid))
		u4_uuid_side(way, &uuid, side);
	else
		ret = u4_host_side(way, text, side);
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

/* Other hosts choose their names, and consumers may keep the way of each. */
static bool u4_ways_too_many(void)
{
	struct u4_way *way;
	unsigned int n = 0;

	list_for_each_entry(way, &u4_ways, entry)
		n += !way->plugged;
	return n >= U4_UNPLUGGED;
}

static struct u4_way *u4_way_new(const struct u4_seen *seen, const u8 *own, const u8 *peer)
{
	struct u4_way *way;
	unsigned int n = 0;

	if (u4_ways_too_many())
		return ERR_PTR(-EUSERS);
	way = kzalloc(sizeof(*way), GFP_KERNEL);
	if (!way)
		return ERR_PTR(-ENOMEM);
	do
		snprintf(way->name, sizeof(way->name), "%s.%u", seen->host, n++);
	while (u4_name_taken(way->name, NULL));
	if (kfi_mux_init(&way->mux, &u4_prov, way->name)) {
		kfree(way);
		return ERR_PTR(-ENOMEM);
	}
	kfi_mux_set_ends(&way->mux, own, peer);
	u4_hold_init(way);
	list_add_tail(&way->entry, &u4_ways);
	return way;
}

/* The way is not listed any more. */
static void u4_way_free(struct u4_way *way)
{
	u4_hold_end(way, NULL);
	kfi_mux_gone(&way->mux);
	kfi_mux_drop(&way->mux);
	while (!kfi_mux_idle(&way->mux, 30 * HZ))
		pr_warn("kfi_usb4: %s waits for its users\n", way->name);
	u4_hold_exit(way);
	kfi_mux_destroy(&way->mux);
	put_device(way->host);
	kfree(way);
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

/* ---- cables and their ways ---- */

/* A cable has its way when both hosts have logged in: then it is known which one that is. */
void u4_way_await(struct u4_cable *c)
{
	mutex_lock(&u4_ways_lock);
	c->number = U4_LONE | u4_lone_number++ % U4_LONE;
	list_add_tail(&c->lone, &u4_lone);
	mutex_unlock(&u4_ways_lock);
}

static bool u4_way_is(const struct u4_way *way, const u8 *own, const u8 *peer)
{
	return !memcmp(way->mux.own, own, UUID_SIZE) && !memcmp(way->mux.peer, peer, UUID_SIZE);
}

/*
 * Find the way without a cable that most probably leads to that host, with these names unless @own
 * is NULL. Another cable that logs in may want it.
 */
static struct u4_way *u4_way_waiting(const struct u4_cable *c, const struct u4_seen *seen,
				     const u8 *own, const u8 *peer)
{
	struct u4_way *way, *best = NULL;
	unsigned int same, most = 0;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry) {
		if (way->plugged || (way->wanted && way->wanted != c) ||
		    (own && !u4_way_is(way, own, peer)))
			continue;
		same = u4_way_same(way, seen);
		if (same > most) {
			most = same;
			best = way;
		}
	}
	return best;
}

/* Return: true if a cable to that host was removed, and u4_cable_work() has not seen that yet */
static bool u4_way_leaving(const struct u4_seen *seen)
{
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		if (way->plugged && READ_ONCE(way->plugged->gone) && u4_way_same(way, seen))
			return true;
	return false;
}

static void u4_way_want(struct u4_cable *c, struct u4_way *wanted)
{
	struct u4_way *way;

	lockdep_assert_held(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		if (way->wanted == c)
			way->wanted = NULL;
	if (wanted)
		wanted->wanted = c;
}

int u4_way_guess(struct u4_cable *c, struct u4_said *told)
{
	struct u4_way *way;
	struct u4_said said;
	struct u4_seen seen;
	int ret = 0;

	*told = (struct u4_said) {
		.machine = u4_machine, .hardware = u4_hardware, .place = c->here,
	};
	mutex_lock(&c->login_lock);
	said = c->said_by;
	mutex_unlock(&c->login_lock);
	u4_cable_seen(c, &said, &seen);
	mutex_lock(&u4_ways_lock);
	way = c->way;
	if (way) {
		told->names = U4W_NAMES_HAVE;
	} else if (time_before(jiffies, c->patience) && u4_way_leaving(&seen)) {
		ret = -EAGAIN;
	} else {
		way = u4_way_waiting(c, &seen, NULL, NULL);
		told->names = way ? U4W_NAMES_WAIT : U4W_NAMES_NONE;
		u4_way_want(c, way);
	}
	if (way) {
		memcpy(told->own, way->mux.own, U4W_UUID);
		memcpy(told->peer, way->mux.peer, U4W_UUID);
		u4_hold_tell(way, &told->held);
	}
	mutex_unlock(&u4_ways_lock);
	return ret;
}

static void u4_way_unplug(struct u4_cable *c)
{
	lockdep_assert_held(&u4_ways_lock);
	if (!c->way)
		return;
	c->way->plugged = NULL;
	c->way = NULL;
	mod_delayed_work(u4_wq, &u4_sweep, 0);
}

/* Names that we have told must not be those of another machine that is away. */
static bool u4_names_usurped(const u8 *own, const u8 *peer)
{
	struct u4_way *way;

	list_for_each_entry(way, &u4_ways, entry)
		if (!way->plugged && !way->wanted && u4_way_is(way, own, peer))
			return true;
	return false;
}

/* Say once that a name is of no use. */
static void u4_way_tell(struct u4_way *way)
{
	bool disputed = u4_name_disputed(way->seen.host, way);

	if (disputed && !way->disputed)
		pr_warn_ratelimited("kfi_usb4: %s leads to another machine that is called %s, too; give each a name of its own\n",
				    way->name, way->seen.host);
	way->disputed = disputed;
}

/* The way has a cable: remember its port. */
static void u4_way_place(struct u4_way *way)
{
	const struct u4_cable *c = way->plugged;

	lockdep_assert_held(&u4_ways_lock);
	get_device(c->host);
	put_device(way->host);
	way->host = c->host;
	way->route = c->xd->route;
}

/* ---- names that change ---- */

/* Return: true if cables are plugged */
static bool u4_names_compare(void)
{
	char host[U4_HOST];
	struct u4_way *way;
	bool any;

	mutex_lock(&u4_ways_lock);
	any = !list_empty(&u4_lone);
	list_for_each_entry(way, &u4_ways, entry) {
		if (!way->plugged)
			continue;
		any = true;
		u4_host_name(way->plugged, host, sizeof(host));
		if (!strcmp(host, way->seen.host))
			continue;
		strscpy(way->seen.host, host, sizeof(way->seen.host));
		u4_way_rename(way);
		u4_way_tell(way);
	}
	mutex_unlock(&u4_ways_lock);
	return any;
}

/* Nobody tells a driver when the core has read another name of a host, or this one has got one. */
static void u4_names_fn(struct work_struct *work)
{
	u4_publish_name();
	if (u4_names_compare())
		queue_delayed_work(u4_wq, to_delayed_work(work), U4_NAMES);
}

static DECLARE_DELAYED_WORK(u4_names, u4_names_fn);

void u4_names_watch(void)
{
	queue_delayed_work(u4_wq, &u4_names, U4_NAMES);
}

/* ---- cables that log in ---- */

/* Consumers are told of a new way without the lock, because they look for ways then. */
int u4_way_join(struct u4_cable *c, const struct u4_said *told, const struct u4_said *said)
{
	struct u4_way *way = NULL;
	u8 own[U4W_UUID], peer[U4W_UUID];
	struct u4_seen seen;
	bool ours, new = false;
	int ret = 0;

	u4_cable_seen(c, said, &seen);
	ours = u4_agree(&seen, told, own, peer);
	mutex_lock(&u4_ways_lock);
	if (c->way && (!u4_way_is(c->way, own, peer) || !u4_same(&c->way->seen, &seen))) {
		/* The cable may be the holder, and is about to begin a life of another way. */
		u4_hold_end(c->way, "the cable leads to another host");
		u4_way_unplug(c);
		/* in the order of the list */
		c->number = U4_LONE | u4_lone_number++ % U4_LONE;
		list_add_tail(&c->lone, &u4_lone);
	}
	if (!c->way) {
		way = u4_way_waiting(c, &seen, own, peer);
		u4_way_want(c, NULL);
		if (!way && ours && u4_names_usurped(own, peer)) {
			ret = -ESTALE;
		} else if (!way) {
			way = u4_way_new(&seen, own, peer);
			ret = PTR_ERR_OR_ZERO(way);
			new = !ret;
		}
		if (ret)
			goto unlock;
		list_del_init(&c->lone);
		way->plugged = c;
		c->way = way;
	}
	c->way->seen = seen;
	u4_way_place(c->way);
	u4_way_rename(c->way);
	u4_way_tell(c->way);
unlock:
	mutex_unlock(&u4_ways_lock);
	if (new)
		kfi_mux_list(&way->mux);
	return ret;
}

void u4_way_leave(struct u4_cable *c)
{
	mutex_lock(&u4_ways_lock);
	u4_way_unplug(c);
	u4_way_want(c, NULL);
	list_del_init(&c->lone);
	mutex_unlock(&u4_ways_lock);
}

/* ---- the end of the module ---- */

/* No cable is left, and no consumer; lives that are held, the last queries and refusals end. */
void u4_ways_exit(void)
{
	struct u4_way *way;

	cancel_delayed_work_sync(&u4_names);
	cancel_delayed_work_sync(&u4_sweep);
	mutex_lock(&u4_ways_lock);
	list_for_each_entry(way, &u4_ways, entry)
		u4_hold_end(way, "this machine unloads kfi_usb4");
	mutex_unlock(&u4_ways_lock);
	while (u4_ways_sweep())
		msleep(20);
}

/* ---- domains ---- */

/* Millions of bits per second. An asymmetric link has one lane at least in each direction. */
static unsigned int u4_speed(const struct tb_xdomain *xd)
{
	return 1000 * xd->link_speed * ((unsigned int)xd->link_width == 2 ? 2 : 1);
}

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
	if (way->plugged) {
		domain->limits.numa_node = dev_to_node(&way->plugged->xd->dev);
		domain->limits.speed = u4_speed(way->plugged->xd);
	}
	/* A consumer may use it until the close. */
	domain->limits.port_device = get_device(way->host);
	domain->limits.port = way->route;
	mutex_unlock(&u4_ways_lock);
	return 0;
}

void u4_domain_close(struct kfi_domain *domain)
{
	kfi_mux_domain_close(domain);
	put_device(domain->limits.port_device);
}

/* ---- what the log and `kfi info` show ---- */

/* A peer may begin and end lives as it likes, so all lines about that have one limit. */
void u4_way_say(const struct u4_way *way, const char *what, const char *more)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 20);

	if (__ratelimit(&limit))
		pr_info("kfi_usb4: %s: %s%s\n", way->name, what, more);
}

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

/* @held: seconds for which the connections are held, or 0 */
static void u4_state_str(const struct u4_cable *c, unsigned int held, char *buf, size_t size)
{
	enum u4_state state;
	size_t len;

	if (!c) {
		len = scnprintf(buf, size, "none is plugged");
	} else {
		state = READ_ONCE(c->state);
		len = scnprintf(buf, size, "%s, %s of %u Gb/s",
				state == U4_UP ? "up" :
				READ_ONCE(c->foreign) ? "refused, see kfi show versions" :
				state == U4_TRYING ? "is coming up" : "logs in",
				u4_width(c->xd), c->xd->link_speed);
	}
	if (held)
		scnprintf(buf + len, size - len, "; connections are held for %u s more", held);
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
	char host[160], cable[96], where[sizeof(way->plugged->where)] = "", frames[192] = "";
	char port[U4_NAME] = "", names[2 * U4_NAME + 4];
	struct kfi_part part = { .domain = way->name, .device = mux->number };
	const struct { const char *name, *state; } all[] = {
		{ "host", host }, { "names", names }, { "cable", cable }, { "port", where },
		{ "frames", frames },
	};
	int i, ret = 0;

	mutex_lock(&u4_ways_lock);
	snprintf(host, sizeof(host), "%s, %pUb%s", way->seen.host, mux->peer,
		 way->disputed ? "; another machine has this name, too" : "");
	u4_way_port(way, port, sizeof(port));
	snprintf(names, sizeof(names), "%s%s%s", way->now, *way->now && *port ? ", " : "", port);
	u4_state_str(way->plugged, u4_hold_left(way), cable, sizeof(cable));
	if (way->plugged) {
		strscpy(where, way->plugged->where, sizeof(where));
		u4_frames_str(&way->plugged->stats, frames, sizeof(frames));
	}
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

/* Cables without a way have the name of the host. */
static int u4_lone_parts(const struct u4_shown *w)
{
	char host[U4_HOST], state[64];
	struct kfi_part part = { .domain = host, .nr = 1, .name = "cable", .state = state };
	struct u4_cable *c;
	int ret = 0;

	mutex_lock(&u4_ways_lock);
	list_for_each_entry(c, &u4_lone, lone) {
		u4_host_name(c, host, sizeof(host));
		u4_state_str(c, 0, state, sizeof(state));
		part.device = c->number;
		ret = w->emit(w->arg, &part);
		if (ret)
			break;
	}
	mutex_unlock(&u4_ways_lock);
	return ret;
}

int u4_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg)
{
	struct u4_shown w = { emit, arg };

	if (net != &init_net)
		return 0;
	return kfi_mux_each(&u4_prov, u4_way_parts, &w) ?: u4_lone_parts(&w);
}
