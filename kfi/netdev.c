// SPDX-License-Identifier: GPL-2.0
/* netdev.c - network devices that stand for a domain, see kfi_netdev.h. */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <kfi_netdev.h>

static DEFINE_MUTEX(netdevs_lock);	/* protects the list. A leaf */
static LIST_HEAD(netdevs);

void kfi_netdev_add(struct kfi_netdev *nd)
{
	mutex_lock(&netdevs_lock);
	list_add(&nd->entry, &netdevs);
	mutex_unlock(&netdevs_lock);
}
EXPORT_SYMBOL_GPL(kfi_netdev_add);

void kfi_netdev_remove(struct kfi_netdev *nd)
{
	mutex_lock(&netdevs_lock);
	list_del(&nd->entry);
	mutex_unlock(&netdevs_lock);
}
EXPORT_SYMBOL_GPL(kfi_netdev_remove);

bool kfi_netdev_domain(const struct net_device *dev, char *domain, size_t size)
{
	struct kfi_netdev *nd;
	bool found = false;

	mutex_lock(&netdevs_lock);
	list_for_each_entry(nd, &netdevs, entry) {
		if (nd->dev != dev)
			continue;
		strscpy(domain, nd->domain, size);
		found = true;
		break;
	}
	mutex_unlock(&netdevs_lock);
	return found;
}
EXPORT_SYMBOL_GPL(kfi_netdev_domain);
