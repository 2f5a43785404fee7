/* SPDX-License-Identifier: GPL-2.0 */
/*
 * genl_info_dump() came with 6.6. Before, struct genl_dumpit_info itself contains the attributes of
 * the request, under the same name (attrs).
 *
 * struct genl_split_ops came with 6.2. Where a command has either doit or dumpit, and no pre_doit,
 * struct genl_ops is initialized by the same names.
 */
#ifndef _KFI_COMPAT_NET_GENETLINK_H
#define _KFI_COMPAT_NET_GENETLINK_H

#include_next <net/genetlink.h>

#ifndef KFI_HAVE_GENL_INFO_DUMP
static inline const struct genl_dumpit_info *
genl_info_dump(struct netlink_callback *cb)
{
	return genl_dumpit_info(cb);
}
#endif

#ifndef KFI_HAVE_GENL_SPLIT_OPS
#define genl_split_ops	genl_ops
#define split_ops	ops
#define n_split_ops	n_ops
#endif

#endif /* _KFI_COMPAT_NET_GENETLINK_H */
