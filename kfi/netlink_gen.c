// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	docs/netlink/kfi.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: tools/check/netlink --write $(tests/uml/kernel --source) */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/kfi.h>

/* Integer value ranges */
static const struct netlink_range_validation kfi_a_map_id_range = {
	.min	= 1ULL,
	.max	= KFI_MAP_ID_MAX,
};

/* KFI_CMD_GET_INFO - dump */
static const struct nla_policy kfi_get_info_nl_policy[KFI_A_CAPS + 1] = {
	[KFI_A_PROV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[KFI_A_EP_TYPE] = NLA_POLICY_MAX(NLA_U32, 3),
	[KFI_A_NODE] = { .type = NLA_NUL_STRING, .len = 255, },
	[KFI_A_SERVICE] = { .type = NLA_NUL_STRING, .len = 63, },
	[KFI_A_SOURCE] = { .type = NLA_FLAG, },
	[KFI_A_CAPS] = { .type = NLA_U64, },
};

/* KFI_CMD_GET_EP - dump */
static const struct nla_policy kfi_get_ep_nl_policy[KFI_A_EP_ID + 1] = {
	[KFI_A_EP_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* KFI_CMD_GET_PEER - dump */
static const struct nla_policy kfi_get_peer_nl_policy[KFI_A_EP_ID + 1] = {
	[KFI_A_EP_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* KFI_CMD_GET_STATS - dump */
static const struct nla_policy kfi_get_stats_nl_policy[KFI_A_EP_ID + 1] = {
	[KFI_A_EP_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* KFI_CMD_ADD_MAP - do */
static const struct nla_policy kfi_add_map_nl_policy[KFI_A_MAP_ADDR + 1] = {
	[KFI_A_MAP_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &kfi_a_map_id_range),
	[KFI_A_MAP_ADDR] = { .type = NLA_BE32, },
};

/* KFI_CMD_DEL_MAP - do */
static const struct nla_policy kfi_del_map_nl_policy[KFI_A_MAP_ID + 1] = {
	[KFI_A_MAP_ID] = NLA_POLICY_FULL_RANGE(NLA_U32, &kfi_a_map_id_range),
};

/* Ops table for kfi */
const struct genl_split_ops kfi_nl_ops[13] = {
	{
		.cmd	= KFI_CMD_GET_PROVIDER,
		.dumpit	= kfi_nl_get_provider_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KFI_CMD_GET_INFO,
		.start		= kfi_nl_get_info_start,
		.dumpit		= kfi_nl_get_info_dumpit,
		.done		= kfi_nl_get_info_done,
		.policy		= kfi_get_info_nl_policy,
		.maxattr	= KFI_A_CAPS,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= KFI_CMD_GET_FABRIC,
		.dumpit	= kfi_nl_get_fabric_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= KFI_CMD_GET_DOMAIN,
		.dumpit	= kfi_nl_get_domain_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KFI_CMD_GET_EP,
		.dumpit		= kfi_nl_get_ep_dumpit,
		.policy		= kfi_get_ep_nl_policy,
		.maxattr	= KFI_A_EP_ID,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KFI_CMD_GET_PEER,
		.dumpit		= kfi_nl_get_peer_dumpit,
		.policy		= kfi_get_peer_nl_policy,
		.maxattr	= KFI_A_EP_ID,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KFI_CMD_GET_STATS,
		.dumpit		= kfi_nl_get_stats_dumpit,
		.policy		= kfi_get_stats_nl_policy,
		.maxattr	= KFI_A_EP_ID,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= KFI_CMD_GET_MAP,
		.dumpit	= kfi_nl_get_map_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KFI_CMD_ADD_MAP,
		.doit		= kfi_nl_add_map_doit,
		.policy		= kfi_add_map_nl_policy,
		.maxattr	= KFI_A_MAP_ADDR,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= KFI_CMD_DEL_MAP,
		.doit		= kfi_nl_del_map_doit,
		.policy		= kfi_del_map_nl_policy,
		.maxattr	= KFI_A_MAP_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= KFI_CMD_GET_PLACE,
		.dumpit	= kfi_nl_get_place_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= KFI_CMD_GET_DEVICE,
		.dumpit	= kfi_nl_get_device_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= KFI_CMD_GET_VERSIONS,
		.dumpit	= kfi_nl_get_versions_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
};
