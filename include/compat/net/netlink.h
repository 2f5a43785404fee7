/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Before 6.8 a policy takes a pointer to a range that may be modified, and does not modify it. */
#ifndef _KFI_COMPAT_NET_NETLINK_H
#define _KFI_COMPAT_NET_NETLINK_H

#include_next <net/netlink.h>

#ifndef KFI_HAVE_NLA_CONST_RANGE
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range) {				\
	.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp),			\
	.validation_type = NLA_VALIDATE_RANGE_PTR,			\
	.range = (struct netlink_range_validation *)(_range),		\
}
#endif

#endif /* _KFI_COMPAT_NET_NETLINK_H */
