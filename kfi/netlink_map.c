// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_map.c - commands for the map of fabric ids (idmap.c) of the namespace of the socket. The
 * netlink policies have checked sizes, and the range of the id.
 */
#include "netlink.h"

/* ---- dump ---- */

static int put_entry(struct sk_buff *skb, u32 id, __be32 addr)
{
	return nla_put_u32(skb, KFI_A_MAP_ID, id) ?:
	       nla_put_in_addr(skb, KFI_A_MAP_ADDR, addr);
}

static int show_entry(struct kfi_nl_dump *d, u32 id, __be32 addr)
{
	int ret = kfi_nl_begin(d);

	if (ret)
		return ret;
	ret = kfi_nl_end(d, put_entry(d->skb, id, addr));
	if (!ret)
		kfi_nl_done(d->cur, id, 0, 0);
	return ret;
}

/**
 * kfi_nl_get_map_dumpit() - KFI_CMD_GET_MAP, ordered by id
 * @skb: buffer
 * @cb: callback state of the dump
 *
 * Return: bytes in the buffer, 0 at the end, or a negative errno.
 */
int kfi_nl_get_map_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);
	struct kfi_nl_dump d;
	__be32 addr;
	int ret = 0;
	u32 id;

	kfi_nl_dump_init(&d, skb, cb);
	for (id = d.cur->fabric + 1; !ret && !kfi_idmap_next(net, &id, &addr); id++)
		ret = show_entry(&d, id, addr);
	return kfi_nl_dump_result(&d, ret);
}

/* ---- changes ---- */

/*
 * Explain an error of kfi_idmap_add(). After -EEXIST the id is looked up again. If its entry has
 * been removed meanwhile, the message names the address, which may be free by now too.
 */
static void report_add_error(struct genl_info *info, int ret, u32 id)
{
	__be32 addr;

	if (ret == -EINVAL)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KFI_A_MAP_ADDR],
				    "a node cannot have this address");
	else if (ret == -ENOSPC)
		NL_SET_ERR_MSG(info->extack, "the map is full");
	else if (ret == -EEXIST && !kfi_idmap_addr(genl_info_net(info), id, &addr))
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KFI_A_MAP_ID],
				    "the number has an address already");
	else if (ret == -EEXIST)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KFI_A_MAP_ADDR],
				    "the address has a number already");
}

/**
 * kfi_nl_add_map_doit() - KFI_CMD_ADD_MAP
 * @skb: request
 * @info: attributes of the request
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOSPC, -ENOMEM.
 */
int kfi_nl_add_map_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, KFI_A_MAP_ID) || GENL_REQ_ATTR_CHECK(info, KFI_A_MAP_ADDR)) {
		NL_SET_ERR_MSG(info->extack, "a number and an address are needed");
		return -EINVAL;
	}
	id = nla_get_u32(info->attrs[KFI_A_MAP_ID]);
	ret = kfi_idmap_add(genl_info_net(info), id, nla_get_in_addr(info->attrs[KFI_A_MAP_ADDR]));
	if (ret)
		report_add_error(info, ret, id);
	return ret;
}

/**
 * kfi_nl_del_map_doit() - KFI_CMD_DEL_MAP
 * @skb: request
 * @info: attributes of the request
 *
 * Return: 0, -EINVAL, -ENOENT.
 */
int kfi_nl_del_map_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, KFI_A_MAP_ID)) {
		NL_SET_ERR_MSG(info->extack, "a number is needed");
		return -EINVAL;
	}
	ret = kfi_idmap_del(genl_info_net(info), nla_get_u32(info->attrs[KFI_A_MAP_ID]));
	if (ret)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KFI_A_MAP_ID],
				    "the number is not in the map");
	return ret;
}
