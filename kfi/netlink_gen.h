/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	docs/netlink/kfi.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: tools/check/netlink --write $(tests/uml/kernel --source) */

#ifndef _LINUX_KFI_GEN_H
#define _LINUX_KFI_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/kfi.h>

/* Ops table for kfi */
extern const struct genl_split_ops kfi_nl_ops[13];

int kfi_nl_get_info_start(struct netlink_callback *cb);
int kfi_nl_get_info_done(struct netlink_callback *cb);

int kfi_nl_get_provider_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int kfi_nl_get_info_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_fabric_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_domain_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_ep_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_peer_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_stats_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_map_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_add_map_doit(struct sk_buff *skb, struct genl_info *info);
int kfi_nl_del_map_doit(struct sk_buff *skb, struct genl_info *info);
int kfi_nl_get_place_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_device_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_get_versions_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);

#endif /* _LINUX_KFI_GEN_H */
