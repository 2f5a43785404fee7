// SPDX-License-Identifier: GPL-2.0
/* show.c - counters for ethtool, and the list of peers in sysfs. */
#include <linux/ethtool.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "knet.h"

/* ---- ethtool ---- */

static const char counter_names[KNET_COUNTERS][ETH_GSTRING_LEN] = {
	[KNET_TX_CSUM]		= "tx_csum_partial",
	[KNET_TX_GSO]		= "tx_gso",
	[KNET_TX_FLOOD]		= "tx_flooded",
	[KNET_TX_BUSY]		= "tx_stopped",
	[KNET_TX_LOST]		= "tx_lost",
	[KNET_RX_CSUM]		= "rx_csum_partial",
	[KNET_RX_GSO]		= "rx_gso",
	[KNET_RX_COPIED]	= "rx_copied",
	[KNET_RX_REUSED]	= "rx_reused",
	[KNET_RX_SMALL]		= "rx_small_pages",
	[KNET_RX_NOMEM]		= "rx_no_memory",
	[KNET_RX_BAD]		= "rx_malformed",
	[KNET_UP]		= "connections",
	[KNET_LOST]		= "disconnections",
	[KNET_REFUSED]		= "calls_refused",
};

static int knet_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? KNET_COUNTERS : -EOPNOTSUPP;
}

static void knet_strings(struct net_device *dev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, counter_names, sizeof(counter_names));
}

static void knet_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct knet *kn = netdev_priv(dev);
	unsigned int i;
	int cpu;

	memset(data, 0, KNET_COUNTERS * sizeof(*data));
	for_each_possible_cpu(cpu)
		for (i = 0; i < KNET_COUNTERS; i++)
			data[i] += READ_ONCE(per_cpu_ptr(kn->counters, cpu)->n[i]);
}

/* By the bus-info kfi_ib finds the way below. A name that does not fit is none. */
static void knet_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	const struct knet *kn = netdev_priv(dev);

	strscpy(info->driver, "kfi_net", sizeof(info->driver));
	if (strscpy(info->bus_info, kn->domain, sizeof(info->bus_info)) < 0)
		*info->bus_info = '\0';
}

/* The speed is that of the interface below, or of the way. Under the RTNL */
static int knet_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	const struct knet *kn = netdev_priv(dev);
	struct ethtool_link_settings *base = &settings->base;

	if (!kn->below || __ethtool_get_link_ksettings(kn->below, settings))
		base->speed = READ_ONCE(kn->speed) ?: SPEED_UNKNOWN;
	base->duplex = DUPLEX_FULL;
	base->port = PORT_OTHER;
	base->autoneg = AUTONEG_DISABLE;
	return 0;
}

const struct ethtool_ops knet_ethtool_ops = {
	.get_drvinfo		= knet_drvinfo,
	.get_link_ksettings	= knet_link_ksettings,
	.get_link		= ethtool_op_get_link,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= knet_sset_count,
	.get_strings		= knet_strings,
	.get_ethtool_stats	= knet_ethtool_stats,
};

/* ---- /sys/class/net/NAME/kfi/peers ---- */

/* Return: bytes that were written */
static int show_down(const struct knet_peer *peer, char *buf, int at)
{
	int err = READ_ONCE(peer->err);
	const char *why = knet_reason(err);

	if (!peer->kn->running)
		why = "this device is down";
	else if (!err)
		why = "it is being called";
	if (why)
		return sysfs_emit_at(buf, at, "%s down: %s\n", peer->node, why);
	return sysfs_emit_at(buf, at, "%s down: calls end with error %d\n", peer->node, -err);
}

static ssize_t peers_show(struct device *d, struct device_attribute *attr, char *buf)
{
	struct knet *kn = netdev_priv(to_net_dev(d));
	struct knet_link *link;
	struct knet_peer *peer;
	unsigned int i;
	int len = 0;

	mutex_lock(&kn->lock);
	for (i = 1; i < kn->end; i++) {
		peer = knet_peer(kn, i);
		if (!peer)
			continue;
		link = rcu_dereference_protected(peer->link, lockdep_is_held(&kn->lock));
		if (link)
			len += sysfs_emit_at(buf, len, "%s up %pM\n", peer->node, link->mac);
		else
			len += show_down(peer, buf, len);
	}
	mutex_unlock(&kn->lock);
	return len;
}

/* An address adds a peer; one behind a minus sign removes it. */
static ssize_t peers_store(struct device *d, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	struct net_device *dev = to_net_dev(d);
	struct knet *kn = netdev_priv(dev);
	char text[KNET_NODE + 1];
	char *node;
	int ret;

	if (!ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!kn->lower)
		return -EOPNOTSUPP;	/* the other end of the way is the only peer */
	if (count >= sizeof(text))
		return -EINVAL;
	strscpy(text, buf, sizeof(text));
	node = strim(text);
	ret = *node == '-' ? knet_peer_remove(kn, node + 1) : knet_peer_add(kn, node);
	return ret ?: count;
}

static DEVICE_ATTR_RW(peers);

/* The description of a key; an empty line: no secret. */
static ssize_t secret_store(struct device *d, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct net_device *dev = to_net_dev(d);
	struct knet_secret secret = {};
	char text[KNET_NODE + 1];
	char *name;
	int ret;

	if (!ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (count >= sizeof(text))
		return -EINVAL;
	strscpy(text, buf, sizeof(text));
	name = strim(text);
	ret = *name ? kfi_secret_get(name, secret.bytes) : 0;
	if (ret < 0)
		return ret;
	secret.len = ret;
	knet_set_secret(netdev_priv(dev), &secret);
	memzero_explicit(&secret, sizeof(secret));
	return count;
}

static DEVICE_ATTR_WO(secret);

static struct attribute *attrs[] = { &dev_attr_peers.attr, &dev_attr_secret.attr, NULL };

const struct attribute_group knet_group = { .name = "kfi", .attrs = attrs };
