/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - limits of host and target. What they exchange is the format of NVMe over RDMA:
 *
 *	host				target
 *	nvme_rdma_cm_req	-->
 *				<--	nvme_rdma_cm_rep, or a refusal with nvme_rdma_cm_rej
 *	SQE [, data]		-->			a message: 64 bytes, and what follows in the capsule
 *				<->			RMA on the region that the SQE's keyed SGL names
 *				<--	CQE		a message: 16 bytes, may invalidate that region
 */
#ifndef KFN_PROTO_H
#define KFN_PROTO_H

#include <linux/build_bug.h>
#include <linux/sizes.h>
#include <linux/stringify.h>
#include <linux/nvme.h>
#include <linux/nvme-rdma.h>

static_assert(sizeof(struct nvme_rdma_cm_req) == 32);
static_assert(sizeof(struct nvme_rdma_cm_rep) == 32);
static_assert(sizeof(struct nvme_rdma_cm_rej) == 4);

#define KFN_PORT	__stringify(NVME_RDMA_IP_PORT)	/* the service of a host that names none */

enum {
	KFN_INLINE_DEFAULT	= SZ_16K,	/* data in a capsule, unless the port says otherwise */
	KFN_INLINE_MAX		= SZ_32K,
	KFN_QUEUE_DEFAULT	= 128,		/* commands of an I/O queue, unless the port says otherwise */
	KFN_QUEUE_MAX		= 1024,
	KFN_PAGES_MAX		= 256,		/* pages of a command's region */
	KFN_MDTS		= 9,		/* 2^9 * 4 KiB = 2 MiB */
	KFN_DATA_MAX		= SZ_4K << KFN_MDTS,
	KFN_KEY_SIZE		= 4,		/* what a keyed SGL has room for */
	KFN_TX_SEGS		= 16,		/* pieces of memory of a post: usual devices can */
	KFN_RX_SEGS		= 2,		/* a command and its data */
};

#endif /* KFN_PROTO_H */
