// SPDX-License-Identifier: GPL-2.0
/*
 * xdomain.c - the other host behind a cable, and the services that it announces
 *
 * A plug event adds an xdomain, which some time later reads the properties of the other host, is
 * put on the bus, and gets a service for each directory. An unplug event removes it. Everything
 * happens on the ordered workqueue of the domain, as in the kernel. Of the protocol by which hosts
 * read their properties only the time and its retries are simulated.
 */
#include <linux/export.h>
#include <linux/idr.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "mock.h"

/* As in the kernel, in milliseconds */
#define TM_NOTIFY_MS	50
#define TM_REREAD_MS	100
#define TM_RETRY_MS	1000
#define TM_RETRIES	10

#define TM_DISCOVER_MS	200	/* from the plug event until host a reads the properties of b */

/* ---- services ---- */

static ssize_t key_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", tb_to_service(dev)->key);
}
static DEVICE_ATTR_RO(key);

static ssize_t prtcid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", tb_to_service(dev)->prtcid);
}
static DEVICE_ATTR_RO(prtcid);

static struct attribute *tm_service_attrs[] = { &dev_attr_key.attr, &dev_attr_prtcid.attr, NULL };
ATTRIBUTE_GROUPS(tm_service);

static int tm_service_uevent(const struct device *dev, struct kobj_uevent_env *env)
{
	const struct tb_service *svc = container_of_const(dev, struct tb_service, dev);

	return add_uevent_var(env, "MODALIAS=tbsvc:k%sp%08Xv%08Xr%08X", svc->key, svc->prtcid,
			      svc->prtcvers, svc->prtcrevs);
}

static void tm_service_release(struct device *dev)
{
	struct tb_service *svc = tb_to_service(dev);
	struct tb_xdomain *xd = tb_service_parent(svc);

	tb_property_free_dir(svc->remote_properties);
	ida_free(&xd->service_ids, svc->id);
	kfree(svc->key);
	kfree(svc);
	tb_xdomain_put(xd);
}

const struct device_type tb_service_type = {
	.name		= "thunderbolt_service",
	.groups		= tm_service_groups,
	.uevent		= tm_service_uevent,
	.release	= tm_service_release,
};
EXPORT_SYMBOL_GPL(tb_service_type);

static u32 tm_value(struct tb_property_dir *dir, const char *key)
{
	const struct tb_property *p = tb_property_find(dir, key, TB_PROPERTY_TYPE_VALUE);

	return p ? p->value.immediate : 0;
}

/* Return a service that has everything but its device's parent, or NULL. */
static struct tb_service *tm_service_new(const struct tb_property *p)
{
	struct tb_service *svc = kzalloc(sizeof(*svc), GFP_KERNEL);

	if (!svc)
		return NULL;
	svc->key = kstrdup(p->key, GFP_KERNEL);
	svc->remote_properties = tb_property_copy_dir(p->value.dir);
	if (!svc->key || !svc->remote_properties) {
		tb_property_free_dir(svc->remote_properties);
		kfree(svc->key);
		kfree(svc);
		return NULL;
	}
	svc->prtcid = tm_value(svc->remote_properties, "prtcid");
	svc->prtcvers = tm_value(svc->remote_properties, "prtcvers");
	svc->prtcrevs = tm_value(svc->remote_properties, "prtcrevs");
	svc->prtcstns = tm_value(svc->remote_properties, "prtcstns");
	mutex_init(&svc->lock);
	return svc;
}

static int tm_service_add(struct tb_xdomain *xd, const struct tb_property *p)
{
	struct tb_service *svc = tm_service_new(p);
	int err;

	if (!svc)
		return -ENOMEM;
	svc->id = ida_alloc(&xd->service_ids, GFP_KERNEL);
	if (svc->id < 0) {
		err = svc->id;
		tb_property_free_dir(svc->remote_properties);
		kfree(svc->key);
		kfree(svc);
		return err;
	}
	device_initialize(&svc->dev);
	svc->dev.bus = &tb_bus_type;
	svc->dev.type = &tb_service_type;
	svc->dev.parent = get_device(&xd->dev);
	err = dev_set_name(&svc->dev, "%s.%d", dev_name(&xd->dev), svc->id);
	if (!err)
		err = device_add(&svc->dev);
	if (err)
		put_device(&svc->dev);
	return err;
}

static int tm_service_remove(struct device *dev, void *unused)
{
	device_unregister(dev);
	return 0;
}

static int tm_service_remove_gone(struct device *dev, void *data)
{
	struct tb_service *svc = tb_to_service(dev);
	struct tb_xdomain *xd = data;

	if (svc && !tb_property_find(xd->remote_properties, svc->key, TB_PROPERTY_TYPE_DIRECTORY))
		device_unregister(dev);
	return 0;
}

static int tm_service_has_key(struct device *dev, const void *key)
{
	struct tb_service *svc = tb_to_service(dev);

	return svc && !strcmp(svc->key, key);
}

static void tm_service_update(struct tb_service *svc, const struct tb_property *p)
{
	struct tb_property_dir *dir = tb_property_copy_dir(p->value.dir);

	mutex_lock(&svc->lock);
	tb_property_free_dir(svc->remote_properties);
	svc->remote_properties = dir;
	mutex_unlock(&svc->lock);
	kobject_uevent(&svc->dev.kobj, KOBJ_CHANGE);
}

/* Only the work item of the xdomain changes services, and what was read. */
static void tm_services_update(struct tb_xdomain *xd)
{
	struct tb_property *p;
	struct device *dev;
	int err;

	device_for_each_child_reverse(&xd->dev, xd, tm_service_remove_gone);
	tb_property_for_each(xd->remote_properties, p) {
		if (p->type != TB_PROPERTY_TYPE_DIRECTORY)
			continue;
		dev = device_find_child(&xd->dev, p->key, tm_service_has_key);
		if (dev) {
			tm_service_update(tb_to_service(dev), p);
			put_device(dev);
			continue;
		}
		err = tm_service_add(xd, p);
		if (err)
			dev_warn(&xd->dev, "no service %s: %d\n", p->key, err);
	}
}

/* ---- the xdomain ---- */

static ssize_t unique_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", tb_to_xdomain(dev)->remote_uuid);
}
static DEVICE_ATTR_RO(unique_id);

static ssize_t device_name_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", tb_to_xdomain(dev)->device_name);
}
static DEVICE_ATTR_RO(device_name);

static struct attribute *tm_xdomain_attrs[] = {
	&dev_attr_unique_id.attr, &dev_attr_device_name.attr, NULL
};
ATTRIBUTE_GROUPS(tm_xdomain);

static void tm_xdomain_release(struct device *dev)
{
	struct tb_xdomain *xd = tb_to_xdomain(dev);

	put_device(dev->parent);
	tb_property_free_dir(xd->remote_properties);
	ida_destroy(&xd->out_hopids);
	ida_destroy(&xd->in_hopids);
	ida_destroy(&xd->service_ids);
	kfree(xd->local_uuid);
	kfree(xd->remote_uuid);
	kfree(xd->device_name);
	kfree(xd->vendor_name);
	kfree(container_of(xd, struct tm_xdomain, xd));
}

const struct device_type tb_xdomain_type = {
	.name		= "thunderbolt_xdomain",
	.release	= tm_xdomain_release,
};
EXPORT_SYMBOL_GPL(tb_xdomain_type);

/* Return the xdomain that this port has now, with a reference, or NULL. */
static struct tb_xdomain *tm_xdomain_of(struct tm_port *port)
{
	struct tb_xdomain *xd;
	unsigned long flags;

	spin_lock_irqsave(&tm_lock, flags);
	xd = tb_xdomain_get(port->xd);
	spin_unlock_irqrestore(&tm_lock, flags);
	return xd;
}

/* Return the name of a host, to be freed: its letter, once or by command more often; or NULL */
static char *tm_called_as(const struct tm_host *host)
{
	u32 len = clamp(READ_ONCE(host->called), 1U, 60U);
	char *name = kzalloc(len + 1, GFP_KERNEL);

	if (name)
		memset(name, host->name, len);
	return name;
}

int tm_xdomains_rename(struct tm_host *host)
{
	struct tb_xdomain *xd;
	char *name;
	int i;

	for (i = 0; i < tm_cables; i++) {
		xd = tm_xdomain_of(&tm_cable[i].port[!host->index]);
		if (!xd)
			continue;
		name = tm_called_as(host);
		mutex_lock(&xd->lock);
		if (name)
			swap(xd->device_name, *(const char **)&name);
		mutex_unlock(&xd->lock);
		kfree(name);
		tb_xdomain_put(xd);
	}
	return 0;
}

static void tm_queue(struct tb_xdomain *xd, struct delayed_work *work, unsigned int ms)
{
	mutex_lock(&xd->lock);
	if (!xd->removing)
		queue_delayed_work(xd->tb->wq, work, msecs_to_jiffies(ms));
	mutex_unlock(&xd->lock);
}

/* Host b is a quarter slower, so that there is a time when only one has read. */
static void tm_discover(struct tb_xdomain *xd)
{
	unsigned int ms = TM_DISCOVER_MS;

	if (tm_port_of(xd)->host->index)
		ms += ms / 4;
	xd->state_retries = TM_RETRIES;
	tm_queue(xd, &xd->state_work, ms);
}

void tm_properties_notify(struct tb_xdomain *xd)
{
	tm_queue(xd, &xd->properties_changed_work, TM_NOTIFY_MS);
}

/* The other host hears that it should read again. One that has not put us on its bus does not. */
static void tm_notify_work(struct work_struct *work)
{
	struct tb_xdomain *xd = container_of(to_delayed_work(work), struct tb_xdomain,
					     properties_changed_work);
	struct tb_xdomain *peer = tm_xdomain_of(tm_peer(tm_port_of(xd)));

	if (peer && device_is_registered(&peer->dev))
		tm_queue(peer, &peer->state_work, TM_REREAD_MS);
	tb_xdomain_put(peer);
}

/* Return: was there anything new? */
static bool tm_take_properties(struct tb_xdomain *xd, struct tb_property_dir *dir, u32 generation)
{
	bool new;

	mutex_lock(&xd->lock);
	new = !xd->remote_properties || generation > xd->remote_property_block_gen;
	if (new) {
		swap(xd->remote_properties, dir);
		xd->remote_property_block_gen = generation;
	}
	mutex_unlock(&xd->lock);
	tb_property_free_dir(dir);
	return new;
}

static void tm_state_work(struct work_struct *work)
{
	struct tb_xdomain *xd = container_of(to_delayed_work(work), struct tb_xdomain, state_work);
	struct tb_property_dir *dir;
	u32 generation;

	dir = tm_properties_read(&generation);
	if (!dir) {
		if (xd->state_retries-- > 0)
			tm_queue(xd, &xd->state_work, TM_RETRY_MS);
		return;
	}
	if (!tm_take_properties(xd, dir, generation))
		return;
	if (!device_is_registered(&xd->dev)) {
		if (device_add(&xd->dev)) {
			dev_err(&xd->dev, "failed to add the xdomain\n");
			return;
		}
		dev_info(&xd->dev, "new host %s\n", xd->device_name);
	}
	tm_services_update(xd);
}

/* A host interface may have another UUID after each boot, and each port may belong to one. */
static uuid_t *tm_uuid_of(const struct tm_port *port)
{
	uuid_t uuid = port->host->uuid;

	uuid.b[4] = READ_ONCE(port->host->boots);
	uuid.b[5] = tm_interfaces ? 1 + port->cable->index : 0;
	return kmemdup(&uuid, sizeof(uuid), GFP_KERNEL);
}

static struct tb_xdomain *tm_xdomain_new(struct tm_port *port)
{
	struct tm_xdomain *tx = kzalloc(sizeof(*tx), GFP_KERNEL);
	const struct tm_host *peer = tm_peer(port)->host;
	struct tb *tb = port->host->tb;
	struct tb_xdomain *xd;

	if (!tx)
		return NULL;
	tx->port = port;
	xd = &tx->xd;
	xd->tb = tb;
	xd->route = port->route;
	xd->vendor = 0x1d6b;
	xd->device = 4;
	xd->local_max_hopid = TM_MAX_HOPID;
	xd->remote_max_hopid = TM_MAX_HOPID;
	xd->link_speed = 20;
	xd->link_width = TB_LINK_WIDTH_SINGLE;
	xd->link_usb4 = true;
	mutex_init(&xd->lock);
	ida_init(&xd->service_ids);
	ida_init(&xd->in_hopids);
	ida_init(&xd->out_hopids);
	INIT_DELAYED_WORK(&xd->state_work, tm_state_work);
	INIT_DELAYED_WORK(&xd->properties_changed_work, tm_notify_work);
	device_initialize(&xd->dev);
	xd->dev.parent = get_device(&tb->dev);
	xd->dev.bus = &tb_bus_type;
	xd->dev.type = &tb_xdomain_type;
	xd->dev.groups = tm_xdomain_groups;
	xd->local_uuid = tm_uuid_of(port);
	xd->remote_uuid = tm_uuid_of(tm_peer(port));
	xd->device_name = tm_called_as(peer);
	xd->vendor_name = kstrdup("Linux", GFP_KERNEL);
	if (xd->local_uuid && xd->remote_uuid && xd->device_name && xd->vendor_name &&
	    !dev_set_name(&xd->dev, "%d-%llx", tb->index, port->route))
		return xd;
	put_device(&xd->dev);
	return NULL;
}

static void tm_set_xdomain(struct tm_port *port, struct tb_xdomain *xd)
{
	lockdep_assert_held(&port->host->tb->lock);
	spin_lock_irq(&tm_lock);
	port->xd = xd;
	spin_unlock_irq(&tm_lock);
}

static void tm_xdomain_unregister(struct tb_xdomain *xd)
{
	if (!device_is_registered(&xd->dev)) {
		put_device(&xd->dev);
		return;
	}
	device_for_each_child_reverse(&xd->dev, NULL, tm_service_remove);
	dev_info(&xd->dev, "host disconnected\n");
	device_unregister(&xd->dev);
}

static void tm_xdomain_stop(struct tb_xdomain *xd)
{
	cancel_delayed_work_sync(&xd->state_work);
	cancel_delayed_work_sync(&xd->properties_changed_work);
}

/* Return: what tm_xdomain_unregister() has to be called for */
static struct tb_xdomain *tm_xdomain_take(struct tm_port *port)
{
	struct tb_xdomain *xd = port->xd;

	lockdep_assert_held(&port->host->tb->lock);
	WRITE_ONCE(xd->is_unplugged, true);
	mutex_lock(&xd->lock);
	xd->removing = true;
	mutex_unlock(&xd->lock);
	tm_xdomain_stop(xd);
	tm_set_xdomain(port, NULL);
	return xd;
}

/* Linux 7.2 unbinds drivers when it has released tb->lock, older ones under it. */
static void tm_unplugged(struct tm_port *port)
{
	struct tb *tb = port->host->tb;
	struct tb_xdomain *xd;

	mutex_lock(&tb->lock);
	xd = tm_xdomain_take(port);
	if (tm_old_core)
		tm_xdomain_unregister(xd);
	tm_paths_drop(port);
	mutex_unlock(&tb->lock);
	if (!tm_old_core)
		tm_xdomain_unregister(xd);
}

static void tm_plugged(struct tm_port *port, u32 life)
{
	struct tb *tb = port->host->tb;
	struct tb_xdomain *xd;

	mutex_lock(&tb->lock);
	xd = tm_xdomain_new(port);
	if (xd) {
		port->life = life;
		tm_set_xdomain(port, xd);
		tm_discover(xd);
	} else {
		queue_delayed_work(tb->wq, &port->hotplug, msecs_to_jiffies(TM_RETRY_MS));
	}
	mutex_unlock(&tb->lock);
}

/* A cable that was pulled and plugged again since is both: life has changed. */
static void tm_hotplug(struct work_struct *work)
{
	struct tm_port *port = container_of(to_delayed_work(work), struct tm_port, hotplug);
	bool plugged;
	u32 life;

	spin_lock_irq(&tm_lock);
	plugged = port->cable->plugged;
	life = port->cable->life;
	spin_unlock_irq(&tm_lock);
	if (port->xd && (!plugged || port->life != life))
		tm_unplugged(port);
	if (plugged && !port->xd && !READ_ONCE(port->host->unbound))
		tm_plugged(port, life);
}

/*
 * Old kernels unbind drivers under tb->lock. Linux 7.2 leaves the xdomains on the bus, and their
 * drivers bound: here they go, too, but only when nothing of the domain is left.
 */
void tm_xdomains_gone(struct tm_host *host)
{
	struct tb_xdomain *xd[TM_CABLES] = {};
	struct tm_port *port;
	int i;

	mutex_lock(&host->tb->lock);
	WRITE_ONCE(host->unbound, true);
	for (i = 0; i < tm_cables; i++) {
		port = &tm_cable[i].port[host->index];
		if (!port->xd)
			continue;
		tm_paths_drop(port);
		xd[i] = tm_xdomain_take(port);
		if (!tm_old_core)
			continue;
		tm_xdomain_unregister(xd[i]);
		xd[i] = NULL;
	}
	mutex_unlock(&host->tb->lock);
	flush_workqueue(host->tb->wq);
	WARN(tm_rings_left(host), "host %c goes, and drivers have rings\n", host->name);
	for (i = 0; i < tm_cables; i++)
		if (xd[i])
			tm_xdomain_unregister(xd[i]);
}

void tm_xdomains_back(struct tm_host *host)
{
	int i;

	WRITE_ONCE(host->unbound, false);
	for (i = 0; i < tm_cables; i++)
		mod_delayed_work(host->tb->wq, &tm_cable[i].port[host->index].hotplug, 0);
}

void tm_port_init(struct tm_port *port)
{
	INIT_DELAYED_WORK(&port->hotplug, tm_hotplug);
}

/* The cable is pulled, and no command plugs it any more. */
void tm_port_exit(struct tm_port *port)
{
	mod_delayed_work(port->host->tb->wq, &port->hotplug, 0);
	flush_delayed_work(&port->hotplug);
}
