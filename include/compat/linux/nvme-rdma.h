/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_LINUX_NVME_RDMA_H
#define _KFI_COMPAT_LINUX_NVME_RDMA_H

#include <linux/types.h>

#ifndef KFI_HAVE_NVME_RDMA_CNTLID

/* The same bytes, before they had a name for the controller */
#define nvme_rdma_cm_req nvme_rdma_cm_req_without_cntlid
#include_next <linux/nvme-rdma.h>
#undef nvme_rdma_cm_req

struct nvme_rdma_cm_req {
	__le16	recfmt;
	__le16	qid;
	__le16	hrqsize;
	__le16	hsqsize;
	__le16	cntlid;
	u8	rsvd[22];
};

#else
#include_next <linux/nvme-rdma.h>
#endif

#endif /* _KFI_COMPAT_LINUX_NVME_RDMA_H */
