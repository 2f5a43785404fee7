/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_RTNETLINK_H
#define _KFI_COMPAT_NET_RTNETLINK_H

#include_next <net/rtnetlink.h>

/*
 * Since 6.15 &rtnl_link_ops.newlink gets a structure. Define @name with the arguments that the
 * kernel has, for @fn with those of the newest one.
 */
#ifdef KFI_HAVE_NEWLINK_PARAMS
#define KFI_DEFINE_NEWLINK(name, fn)							\
static int name(struct net_device *dev, struct rtnl_newlink_params *params,		\
		struct netlink_ext_ack *extack)						\
{											\
	return fn(dev, params, extack);							\
}
#else
struct rtnl_newlink_params {
	struct net *src_net;
	struct nlattr **tb;
	struct nlattr **data;
};

static inline struct net *rtnl_newlink_link_net(struct rtnl_newlink_params *params)
{
	return params->src_net;
}

#define KFI_DEFINE_NEWLINK(name, fn)							\
static int name(struct net *src_net, struct net_device *dev, struct nlattr *tb[],	\
		struct nlattr *data[], struct netlink_ext_ack *extack)			\
{											\
	struct rtnl_newlink_params params = { src_net, tb, data };			\
											\
	return fn(dev, &params, extack);						\
}
#endif

#endif
