/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - limits of host and target. They exchange the format of NVMe over RDMA:
 *
 *	host				target
 *	nvme_rdma_cm_req	-->
 *				<--	nvme_rdma_cm_rep, or a refusal with nvme_rdma_cm_rej
 *	SQE [, data]		-->	(a message: 64 bytes, and the data of the capsule)
 *				<->	RMA on the region that the SQE's keyed SGL names
 *				<--	CQE (a message: 16 bytes, may invalidate that region)
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

#define KFN_PORT	__stringify(NVME_RDMA_IP_PORT)	/* default service */

enum {
	KFN_INLINE_DEFAULT	= SZ_16K,	/* data in a capsule; default of a port */
	KFN_INLINE_MAX		= SZ_32K,
	KFN_QUEUE_DEFAULT	= 128,		/* commands of an I/O queue; default of a port */
	KFN_QUEUE_MAX		= 1024,
	KFN_PAGES_MAX		= 256,		/* pages of a command's region */
	KFN_MDTS		= 9,		/* 2^9 * 4 KiB = 2 MiB */
	KFN_DATA_MAX		= SZ_4K << KFN_MDTS,
	KFN_KEY_SIZE		= 4,		/* bytes of a key in a keyed SGL */
	/* pieces of memory of a post; usual devices support as many */
	KFN_TX_SEGS		= 16,
	KFN_RX_SEGS		= 2,		/* a command and its data */
};

/* What both sides need of kfabric. Any provider may offer it */
#define KFN_NEED (struct kfi_need) {								\
	.type = KFI_EP_MSG, .max_len = KFN_DATA_MAX, .inject = sizeof(struct nvme_command),	\
	.order = KFI_ORDER_SAS | KFI_ORDER_SAW,		/* an answer comes behind its data */	\
	.tx_segs = KFN_TX_SEGS, .rx_segs = KFN_RX_SEGS, .key_size = KFN_KEY_SIZE,		\
}

/* Part of the message that no provider serves an address */
#define KFN_REMEDY	"load kfi_sockets, kfi_verbs or kfi_ntb; a traddr is an address in digits, not a name"

#endif /* KFN_PROTO_H */
