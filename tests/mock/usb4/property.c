// SPDX-License-Identifier: GPL-2.0
/*
 * property.c - directories of properties, which announce services
 *
 * One kernel has one set of them, so both hosts announce the same, unless by command nothing. A
 * directory that is read is copied, and not packed into a block as it is for another computer.
 */
#include <linux/export.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "mock.h"

DEFINE_MUTEX(tm_share_lock);

/* What hosts announce; its generation increases with each change. Under tm_share_lock. */
static struct tb_property_dir *tm_root;
static u32 tm_generation;

/* ---- directories; users serialize accesses ---- */

struct tb_property_dir *tb_property_create_dir(const uuid_t *uuid)
{
	struct tb_property_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);

	if (!dir)
		return NULL;
	INIT_LIST_HEAD(&dir->properties);
	if (!uuid)
		return dir;
	dir->uuid = kmemdup(uuid, sizeof(*uuid), GFP_KERNEL);
	if (dir->uuid)
		return dir;
	kfree(dir);
	return NULL;
}
EXPORT_SYMBOL_GPL(tb_property_create_dir);

static void tm_property_free(struct tb_property *p)
{
	list_del(&p->list);
	if (p->type == TB_PROPERTY_TYPE_DIRECTORY)
		tb_property_free_dir(p->value.dir);
	else if (p->type == TB_PROPERTY_TYPE_DATA || p->type == TB_PROPERTY_TYPE_TEXT)
		kfree(p->value.data);
	kfree(p);
}

void tb_property_free_dir(struct tb_property_dir *dir)
{
	struct tb_property *p;

	if (!dir)
		return;
	while ((p = tb_property_get_next(dir, NULL)))
		tm_property_free(p);
	kfree(dir->uuid);
	kfree(dir);
}
EXPORT_SYMBOL_GPL(tb_property_free_dir);

struct tb_property *tb_property_get_next(struct tb_property_dir *dir, struct tb_property *prev)
{
	struct list_head *next = prev ? prev->list.next : dir->properties.next;

	return next == &dir->properties ? NULL : list_entry(next, struct tb_property, list);
}
EXPORT_SYMBOL_GPL(tb_property_get_next);

struct tb_property *tb_property_find(struct tb_property_dir *dir, const char *key,
				     enum tb_property_type type)
{
	struct tb_property *p;

	tb_property_for_each(dir, p)
		if (p->type == type && !strcmp(p->key, key))
			return p;
	return NULL;
}
EXPORT_SYMBOL_GPL(tb_property_find);

/* A directory that is the value stays. */
void tb_property_remove(struct tb_property *p)
{
	list_del(&p->list);
	kfree(p);
}
EXPORT_SYMBOL_GPL(tb_property_remove);

/* @like has everything but the key. Its data or text are copied. */
static int tm_property_add(struct tb_property_dir *parent, const char *key,
			   const struct tb_property *like, const void *bytes, size_t len)
{
	struct tb_property *p;

	if (!key || strlen(key) > TB_PROPERTY_KEY_SIZE)
		return -EINVAL;
	p = kmemdup(like, sizeof(*like), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	strscpy(p->key, key);
	if (bytes) {
		p->length = DIV_ROUND_UP(len, sizeof(u32));
		p->value.data = kcalloc(p->length, sizeof(u32), GFP_KERNEL);
		if (!p->value.data) {
			kfree(p);
			return -ENOMEM;
		}
		memcpy(p->value.data, bytes, len);
	}
	list_add_tail(&p->list, &parent->properties);
	return 0;
}

int tb_property_add_immediate(struct tb_property_dir *parent, const char *key, u32 value)
{
	const struct tb_property like = {
		.type = TB_PROPERTY_TYPE_VALUE, .length = 1, .value.immediate = value,
	};

	return tm_property_add(parent, key, &like, NULL, 0);
}
EXPORT_SYMBOL_GPL(tb_property_add_immediate);

int tb_property_add_data(struct tb_property_dir *parent, const char *key, const void *buf,
			 size_t buflen)
{
	const struct tb_property like = { .type = TB_PROPERTY_TYPE_DATA };

	return tm_property_add(parent, key, &like, buf, buflen);
}
EXPORT_SYMBOL_GPL(tb_property_add_data);

int tb_property_add_text(struct tb_property_dir *parent, const char *key, const char *text)
{
	const struct tb_property like = { .type = TB_PROPERTY_TYPE_TEXT };

	return tm_property_add(parent, key, &like, text, strlen(text) + 1);
}
EXPORT_SYMBOL_GPL(tb_property_add_text);

int tb_property_add_dir(struct tb_property_dir *parent, const char *key,
			struct tb_property_dir *dir)
{
	const struct tb_property like = { .type = TB_PROPERTY_TYPE_DIRECTORY, .value.dir = dir };

	return tm_property_add(parent, key, &like, NULL, 0);
}
EXPORT_SYMBOL_GPL(tb_property_add_dir);

static int tm_property_copy(struct tb_property_dir *to, const struct tb_property *p)
{
	struct tb_property_dir *dir;
	int err;

	switch (p->type) {
	case TB_PROPERTY_TYPE_DIRECTORY:
		dir = tb_property_copy_dir(p->value.dir);
		if (!dir)
			return -ENOMEM;
		err = tb_property_add_dir(to, p->key, dir);
		if (err)
			tb_property_free_dir(dir);
		return err;
	case TB_PROPERTY_TYPE_DATA:
	case TB_PROPERTY_TYPE_TEXT:
		return tm_property_add(to, p->key, p, p->value.data, p->length * sizeof(u32));
	default:
		return tm_property_add(to, p->key, p, NULL, 0);
	}
}

struct tb_property_dir *tb_property_copy_dir(const struct tb_property_dir *dir)
{
	struct tb_property_dir *copy;
	struct tb_property *p;

	if (!dir)
		return NULL;
	copy = tb_property_create_dir(dir->uuid);
	if (!copy)
		return NULL;
	list_for_each_entry(p, &dir->properties, list) {
		if (tm_property_copy(copy, p)) {
			tb_property_free_dir(copy);
			return NULL;
		}
	}
	return copy;
}
EXPORT_SYMBOL_GPL(tb_property_copy_dir);

/* ---- what the hosts announce ---- */

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
		if (silent && p->type == TB_PROPERTY_TYPE_DIRECTORY)
			tm_property_free(p);
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
