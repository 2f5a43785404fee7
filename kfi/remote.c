// SPDX-License-Identifier: GPL-2.0
/*
 * remote.c - RMA and atomic operations that a peer has performed here: the entry for remote CQ
 * data, and the counters of the endpoint and the region.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include "cq.h"

static void remote_entry(struct kfi_ep *ep, u64 flags, size_t len, u64 data, kfi_addr_t src)
{
	struct kfi_cq_err_entry wc = {
		.flags = (flags & KFI_ATOMIC ?: KFI_RMA) | KFI_REMOTE_CQ_DATA |
			 (flags & (KFI_REMOTE_READ | KFI_REMOTE_WRITE)),
		.len = len,
		.data = data,
		.src_addr = ep->caps & KFI_SOURCE ? src : KFI_ADDR_NOTAVAIL,
	};

	kfi_cq_fill(ep->rx_cq, &wc);
}

/*
 * Count an access to a region. The counter of the region may be closed as soon as the region is
 * closed, so it is used only while the region is live. The key shows whether it is still the region
 * that was accessed: a per-I/O region can't be attached again before this section ends, because the
 * end of a region that has holders waits for RCU readers (mr_io.c).
 */
static void count_region(struct kfi_mr *mr, u64 key, u64 flags)
{
	rcu_read_lock();
	/* pairs with mr_bind_cntr() */
	if (kfi_mr_live(mr, key) && (flags & smp_load_acquire(&mr->cntr_access)))
		kfi_cntr_count(mr->cntr, 0);
	rcu_read_unlock();
}

int kfi_remote_rma(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, u64 flags, size_t len, u64 data,
		   kfi_addr_t src)
{
	bool write = flags & KFI_REMOTE_WRITE, entry = (flags & KFI_REMOTE_CQ_DATA) && ep->rx_cq;

	if (entry && !kfi_cq_reserve(ep->rx_cq))
		return -EAGAIN;
	if (entry)
		remote_entry(ep, flags, len, data, src);
	if (mr)
		count_region(mr, key, flags);
	kfi_cntr_count(ep->cntr[write ? KFI_CNTR_REMOTE_WRITE : KFI_CNTR_REMOTE_READ], 0);
	kfi_stat_inc(ep, rma_in_ops);
	kfi_stat_add(ep, rma_in_bytes, len);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_remote_rma);
