/* SPDX-License-Identifier: GPL-2.0 */
/*
 * genl_info_dump() came with 6.7. Before, struct genl_dumpit_info itself contains the attributes of
 * the request, under the same name (attrs).
 */
#ifndef _KFI_COMPAT_NET_GENETLINK_H
#define _KFI_COMPAT_NET_GENETLINK_H

#include_next <net/genetlink.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline const struct genl_dumpit_info *
genl_info_dump(struct netlink_callback *cb)
{
	return genl_dumpit_info(cb);
}
#endif

#endif /* _KFI_COMPAT_NET_GENETLINK_H */
