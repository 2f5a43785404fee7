// SPDX-License-Identifier: GPL-2.0
/*
 * property.c - directories of properties, which announce services
 *
 * They are the kernel's own. One kernel has one set of them, so both hosts announce the same, or
 * after a command nothing. A directory that is read is copied, and not packed into a block as it is
 * for another computer.
 */
#include <linux/export.h>
#include "mock.h"
#include <../drivers/thunderbolt/property.c>

DEFINE_MUTEX(tm_share_lock);

/* What hosts announce; its generation increases with each change. Under tm_share_lock. */
static struct tb_property_dir *tm_root;
static u32 tm_generation;

/*
 * Like the kernel, tell the xdomains that are on the bus. One that is added a moment later may have
 * been read before.
 */
static int tm_notify_one(struct device *dev, void *unused)
{
	struct tb_xdomain *xd = tb_to_xdomain(dev);

	if (xd)
		tm_properties_notify(xd);
	return 0;
}

static void tm_properties_notify_all(void)
{
	bus_for_each_dev(&tb_bus_type, NULL, NULL, tm_notify_one);
}

void tm_properties_changed(void)
{
	mutex_lock(&tm_share_lock);
	tm_generation++;
	mutex_unlock(&tm_share_lock);
	tm_properties_notify_all();
}

/* A host on which no service driver is loaded announces none, and takes none. */
struct tb_property_dir *tm_properties_read(u32 *generation)
{
	bool silent = READ_ONCE(tm_host[0].silent) || READ_ONCE(tm_host[1].silent);
	struct tb_property_dir *dir;
	struct tb_property *p, *next;

	mutex_lock(&tm_share_lock);
	dir = tb_property_copy_dir(tm_root);
	*generation = tm_generation;
	mutex_unlock(&tm_share_lock);
	if (!dir)
		return NULL;
	list_for_each_entry_safe(p, next, &dir->properties, list)
		if (silent && p->type == TB_PROPERTY_TYPE_DIRECTORY) {
			list_del(&p->list);
			tb_property_free(p);
		}
	return dir;
}

int tb_register_property_dir(const char *key, struct tb_property_dir *dir)
{
	int err;

	if (!key || strlen(key) > TB_PROPERTY_KEY_SIZE)
		return -EINVAL;
	mutex_lock(&tm_share_lock);
	if (tb_property_find(tm_root, key, TB_PROPERTY_TYPE_DIRECTORY))
		err = -EEXIST;
	else
		err = tb_property_add_dir(tm_root, key, dir);
	mutex_unlock(&tm_share_lock);
	if (!err)
		tm_properties_changed();
	return err;
}
EXPORT_SYMBOL_GPL(tb_register_property_dir);

void tb_unregister_property_dir(const char *key, struct tb_property_dir *dir)
{
	struct tb_property *p;

	mutex_lock(&tm_share_lock);
	p = tb_property_find(tm_root, key, TB_PROPERTY_TYPE_DIRECTORY);
	if (p && p->value.dir == dir)
		tb_property_remove(p);
	mutex_unlock(&tm_share_lock);
	tm_properties_changed();
}
EXPORT_SYMBOL_GPL(tb_unregister_property_dir);

int tm_properties_init(void)
{
	tm_root = tb_property_create_dir(NULL);
	return tm_root ? 0 : -ENOMEM;
}

/* No driver is left that has registered one. */
void tm_properties_exit(void)
{
	tb_property_free_dir(tm_root);
}
