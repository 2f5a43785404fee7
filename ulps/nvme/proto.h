/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - what host and target say to one another besides NVMe's own capsules.
 *
 * A queue is a connection. The host's request and the target's answer carry these structures as private data; they are as long
 * and laid out as those of NVMe over RDMA (TP 4.x, figure "RDMA_CM_REQUEST"), with a format number of their own.
 *
 *	host				target
 *	kfn_request		-->
 *				<--	kfn_accept, or a refusal with kfn_reject
 *	SQE [, data]		-->			a message: 64 bytes, and what follows in the capsule
 *				<->			RMA on the region that the SQE's keyed SGL names
 *				<--	CQE		a message: 16 bytes, may invalidate that region
 */
#ifndef KFN_PROTO_H
#define KFN_PROTO_H

#include <linux/build_bug.h>
#include <linux/sizes.h>
#include <linux/nvme.h>

#define KFN_FORMAT	0x4b01	/* of the structures below */
#define KFN_PORT	"4420"	/* the service of a host that names none */

enum {
	KFN_INLINE_DEFAULT	= SZ_16K,	/* data in a capsule, unless the port says otherwise */
	KFN_INLINE_MAX		= SZ_32K,
	KFN_QUEUE_DEFAULT	= 128,		/* commands of an I/O queue, unless the port says otherwise */
	KFN_QUEUE_MAX		= 1024,
	KFN_PAGES_MAX		= 256,		/* pages of a command's region */
	KFN_MDTS		= 9,		/* 2^9 * 4 KiB = 2 MiB */
	KFN_DATA_MAX		= SZ_4K << KFN_MDTS,
	KFN_KEY_SIZE		= 4,		/* what a keyed SGL has room for */
};

/**
 * struct kfn_request - private data of a connection request
 * @format:	KFN_FORMAT
 * @qid:	0 for the admin queue
 * @hrqsize:	commands that the host has room for the answers of
 * @hsqsize:	commands that it may send, less 1
 * @cntlid:	of the controller, unless @qid is 0
 * @reserved:	0
 */
struct kfn_request {
	__le16	format;
	__le16	qid;
	__le16	hrqsize;
	__le16	hsqsize;
	__le16	cntlid;
	u8	reserved[22];
};
static_assert(sizeof(struct kfn_request) == 32);

/**
 * struct kfn_accept - private data of an acceptance
 * @format:	KFN_FORMAT
 * @crqsize:	commands that the target has room for
 * @reserved:	0
 */
struct kfn_accept {
	__le16	format;
	__le16	crqsize;
	u8	reserved[28];
};
static_assert(sizeof(struct kfn_accept) == 32);

/**
 * struct kfn_reject - private data of a refusal
 * @format:	KFN_FORMAT
 * @status:	enum kfn_status
 */
struct kfn_reject {
	__le16	format;
	__le16	status;
};
static_assert(sizeof(struct kfn_reject) == 4);

/* Why a target refuses; the numbers are those of NVMe over RDMA. */
enum kfn_status {
	KFN_INVALID_LENGTH	= 0x01,
	KFN_INVALID_FORMAT	= 0x02,
	KFN_INVALID_QID		= 0x03,
	KFN_INVALID_HSQSIZE	= 0x04,
	KFN_INVALID_HRQSIZE	= 0x05,
	KFN_NO_RESOURCES	= 0x06,
	KFN_INVALID_CNTLID	= 0x09,
};

static inline const char *kfn_status_text(u16 status)
{
	switch (status) {
	case KFN_INVALID_LENGTH:
		return "wrong length of the request";
	case KFN_INVALID_FORMAT:
		return "unknown format";
	case KFN_INVALID_QID:
		return "wrong queue number";
	case KFN_INVALID_HSQSIZE:
		return "wrong queue size";
	case KFN_INVALID_HRQSIZE:
		return "no room for answers";
	case KFN_NO_RESOURCES:
		return "out of resources";
	case KFN_INVALID_CNTLID:
		return "wrong controller number";
	default:
		return "unknown reason";
	}
}

#endif /* KFN_PROTO_H */
