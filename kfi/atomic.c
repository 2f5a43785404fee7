// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations: no provider has them, and this is the one place that says so.
 */
#include <linux/export.h>
#include "core.h"

ssize_t kfi_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg, uint64_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_atomicmsg);

ssize_t kfi_fetch_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg, struct kfi_ioc *resultv,
			    void **result_desc, size_t result_count, uint64_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_fetch_atomicmsg);

ssize_t kfi_compare_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg, const struct kfi_ioc *comparev,
			      void **compare_desc, size_t compare_count, struct kfi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_compare_atomicmsg);

int kfi_ep_query_atomic(struct kfid_ep *ep, enum kfi_datatype datatype, enum kfi_op op,
			struct kfi_atomic_attr *attr, uint64_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_ep_query_atomic);
