// SPDX-License-Identifier: GPL-2.0
/* dev.c - the network device, and `ip link add`. */
#include <linux/inetdevice.h>
#include <linux/random.h>
#include <net/netdev_lock.h>
#include <net/rtnetlink.h>
#include "knet.h"

static void knet_free(struct net_device *dev)
{
	struct knet *kn = netdev_priv(dev);

	free_percpu(kn->counters);
	free_percpu(dev->tstats);
}

/* Called when the device is registered. If a later step of that fails, knet_destroy() follows. */
static int knet_alloc(struct net_device *dev)
{
	struct knet *kn = netdev_priv(dev);

	netdev_lockdep_set_classes(dev);	/* frames are sent by another device below */
	kn->counters = alloc_percpu_gfp(struct knet_counters, GFP_KERNEL_ACCOUNT);
	dev->tstats = __netdev_alloc_pcpu_stats(struct pcpu_sw_netstats, GFP_KERNEL_ACCOUNT);
	if (kn->counters && dev->tstats)
		return 0;
	knet_free(dev);
	return -ENOMEM;
}

/* ---- up and down ---- */

static int knet_open(struct net_device *dev)
{
	struct knet *kn = netdev_priv(dev);
	unsigned int i;

	mutex_lock(&kn->lock);
	kn->running = true;
	kn->load = kn->lower;
	kn->session = get_random_u64();
	ether_addr_copy(kn->mac, dev->dev_addr);
	for (i = 1; i < kn->end; i++)
		if (knet_peer(kn, i))
			knet_peer_again(knet_peer(kn, i), 0);
	mutex_unlock(&kn->lock);
	netif_tx_start_all_queues(dev);
	return 0;
}

static void fail_links(struct knet *kn, int err, bool hide)
{
	struct knet_peer *peer;
	unsigned int i;

	lockdep_assert_held(&kn->lock);
	for (i = 1; i < kn->end; i++) {
		peer = knet_peer(kn, i);
		if (!peer || !peer->owner)
			continue;
		if (hide)
			knet_link_hide(peer->owner);
		kfi_conn_fail(&peer->owner->conn, err);
	}
}

/* No frame is received from here on. The links end later: their ends may need the RTNL. */
static int knet_stop(struct net_device *dev)
{
	struct knet *kn = netdev_priv(dev);
	unsigned int i;

	netif_tx_stop_all_queues(dev);
	mutex_lock(&kn->lock);
	kn->running = false;
	fail_links(kn, -ENETDOWN, true);
	for (i = 1; i < kn->end; i++)
		if (knet_peer(kn, i))
			knet_peer_again(knet_peer(kn, i), 0);
	mutex_unlock(&kn->lock);
	return 0;
}

/* Peers learn the address when they connect. */
void knet_mac_changed(struct knet *kn)
{
	mutex_lock(&kn->lock);
	ether_addr_copy(kn->mac, kn->dev->dev_addr);
	kn->session = get_random_u64();
	fail_links(kn, -ESTALE, false);
	mutex_unlock(&kn->lock);
}

static int knet_set_mac(struct net_device *dev, void *addr)
{
	int ret = eth_mac_addr(dev, addr);

	if (!ret)
		knet_mac_changed(netdev_priv(dev));
	return ret;
}

bool knet_same_secret(const struct knet_secret *a, const struct knet_secret *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* Connections from before end, and calls in progress, by the session. Process context */
void knet_set_secret(struct knet *kn, const struct knet_secret *secret)
{
	unsigned int i;

	mutex_lock(&kn->lock);
	kn->secret = *secret;
	kn->session = get_random_u64();
	fail_links(kn, -ESTALE, false);
	for (i = 1; i < kn->end; i++)
		if (knet_peer(kn, i))
			knet_peer_again(knet_peer(kn, i), 0);
	mutex_unlock(&kn->lock);
}

/* Frames for all multicast addresses come anyway. Without this no address can be added. */
static void knet_set_rx_mode(struct net_device *dev)
{
}

/*
 * The device goes. The ends of its peers begin here, under the RTNL, and of all devices that go
 * together; knet_destroy() waits for them.
 */
static void knet_peers_end(struct net_device *dev)
{
	knet_peers_remove(netdev_priv(dev));
}

static int knet_iflink(const struct net_device *dev)
{
	const struct knet *kn = netdev_priv(dev);

	return kn->lower ?: dev->ifindex;
}

/*
 * Without ndo_tx_timeout: the time limit of operations ends a connection that takes no frame, and
 * it stands still while a cable is out.
 */
static const struct net_device_ops knet_ops = {
	.ndo_init		= knet_alloc,
	.ndo_uninit		= knet_peers_end,
	.ndo_open		= knet_open,
	.ndo_stop		= knet_stop,
	.ndo_start_xmit		= knet_xmit,
	.ndo_select_queue	= knet_select_queue,
	.ndo_set_rx_mode	= knet_set_rx_mode,
	.ndo_set_mac_address	= knet_set_mac,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_get_stats64	= dev_get_tstats64,
	.ndo_get_iflink		= knet_iflink,
	.ndo_get_phys_port_name	= knet_port_name,
};

/* ---- life ---- */

bool knet_is(const struct net_device *dev)
{
	return dev->netdev_ops == &knet_ops;
}

/*
 * Called without the RTNL, when there is no reference to the device any more; and with it, if the
 * device could not be registered.
 */
static void knet_destroy(struct net_device *dev)
{
	struct knet *kn = netdev_priv(dev);

	knet_peers_wait(kn);
	if (kn->registered)
		knet_port_exit(kn);
	memzero_explicit(&kn->secret, sizeof(kn->secret));
	knet_free(dev);
	knet_leave(kn);
}

#define KNET_FEATURES	(NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 |	\
			 NETIF_F_TSO_ECN)

void knet_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &knet_ops;
	dev->ethtool_ops = &knet_ethtool_ops;
	dev->sysfs_groups[0] = &knet_group;
	dev->needs_free_netdev = true;
	dev->priv_destructor = knet_destroy;
	/* netpoll would post frames in hard interrupts */
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_DISABLE_NETPOLL;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;	/* a frame gets a header, and is kept */
	dev->hw_features = KNET_FEATURES;
	dev->features = KNET_FEATURES | NETIF_F_RXCSUM | NETIF_F_HIGHDMA;
	dev->vlan_features = KNET_FEATURES;
	dev->needed_headroom = sizeof(struct virtio_net_hdr);
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
}

/* Before the device is registered */
void knet_init(struct net_device *dev, struct net *net)
{
	struct knet *kn = netdev_priv(dev);

	kn->dev = dev;
	kn->net = net;
	mutex_init(&kn->lock);
	init_waitqueue_head(&kn->idle);
	netif_carrier_off(dev);
	if (is_zero_ether_addr(dev->dev_addr))
		eth_hw_addr_random(dev);
}

/* ---- ip link ---- */

static int knet_validate(struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	if (!tb[IFLA_LINK]) {
		NL_SET_ERR_MSG(extack, "no interface below is named: ip link add link DEV ...");
		return -EINVAL;
	}
	if (tb[IFLA_ADDRESS] && (nla_len(tb[IFLA_ADDRESS]) != ETH_ALEN ||
				 !is_valid_ether_addr(nla_data(tb[IFLA_ADDRESS])))) {
		NL_SET_ERR_MSG(extack, "not an Ethernet address");
		return -EADDRNOTAVAIL;
	}
	return 0;
}

static int is_knet(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return knet_is(dev);
}

/* Frames that are sent by a device of this kind would be sent again, and so on. */
static bool above_knet(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};

	return knet_is(dev) || netdev_walk_all_lower_dev(dev, is_knet, &priv);
}

static int newlink(struct net_device *dev, struct rtnl_newlink_params *params,
		   struct netlink_ext_ack *extack)
{
	struct net *net = dev_net(dev);
	struct knet *kn = netdev_priv(dev);
	struct net_device *lower;
	int ret;

	lower = __dev_get_by_index(net, nla_get_u32(params->tb[IFLA_LINK]));
	if (!lower || !net_eq(rtnl_newlink_link_net(params), net)) {
		NL_SET_ERR_MSG(extack, "the interface below has to be in the same namespace");
		return -ENODEV;
	}
	if (above_knet(lower)) {
		NL_SET_ERR_MSG(extack, "the interface below is a kfi device, or above one");
		return -ELOOP;
	}
	knet_init(dev, net);
	kn->below = lower;
	kn->lower = lower->ifindex;
	kfi_netns_immutable(dev);
	ret = knet_enter(kn, net, extack) ?: register_netdevice(dev);
	if (ret) {
		/* if the device was registered for a moment, knet_destroy() does it */
		if (dev->reg_state == NETREG_UNINITIALIZED)
			knet_leave(kn);
		return ret;
	}
	ret = netdev_upper_dev_link(lower, dev, extack);
	if (ret)
		unregister_netdevice(dev);
	return ret;
}

KFI_DEFINE_NEWLINK(knet_newlink, newlink)

static void knet_dellink(struct net_device *dev, struct list_head *head)
{
	struct knet *kn = netdev_priv(dev);

	unregister_netdevice_queue(dev, head);
	netdev_upper_dev_unlink(kn->below, dev);
}

static unsigned int knet_num_tx_queues(void)
{
	return KNET_PEERS + 1;
}

struct rtnl_link_ops knet_link_ops = {
	.kind			= "kfi",
	.priv_size		= sizeof(struct knet),
	.setup			= knet_setup,
	.validate		= knet_validate,
	.newlink		= knet_newlink,
	.dellink		= knet_dellink,
	.get_num_tx_queues	= knet_num_tx_queues,
};
