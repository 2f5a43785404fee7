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
 *
 * A host may demand digests in reserved bytes of nvme_rdma_cm_req. A target that has them confirms
 * that in nvme_rdma_cm_rep, and a struct kfn_digest is then behind each SQE and each CQE.
 */
#ifndef KFN_PROTO_H
#define KFN_PROTO_H

#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/sizes.h>
#include <linux/string.h>
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

/* Digests of a connection, as those of NVMe over TCP: CRC32C */
enum {
	KFN_DIGEST_HEADER	= 1,	/* of SQEs and CQEs; an error ends the queue */
	KFN_DIGEST_DATA		= 2,	/* an error fails the command, which the host repeats */
	KFN_DIGESTS		= KFN_DIGEST_HEADER | KFN_DIGEST_DATA,

	KFN_DIGEST_MAGIC	= 0x3167444b,	/* others may leave anything there */
};

/**
 * struct kfn_digest - what is behind an SQE or CQE
 * @data: KFN_DIGEST_DATA: digest of the data of a write, or of a read that has succeeded; else 0
 * @header: KFN_DIGEST_HEADER: digest of the SQE or CQE, and @data; else 0
 */
struct kfn_digest {
	__le32	data;
	__le32	header;
};

struct kfn_sqe {
	struct nvme_command	cmd;
	struct kfn_digest	digest;
};

struct kfn_cqe {
	struct nvme_completion	cqe;
	struct kfn_digest	digest;
};

static_assert(sizeof(struct kfn_sqe) == 72);
static_assert(sizeof(struct kfn_cqe) == 24);

/* In the reserved bytes of nvme_rdma_cm_req, what the host demands; of nvme_rdma_cm_rep the same */
struct kfn_cm_digests {
	__le32	magic;
	u8	digests;
} __packed;

static inline void kfn_cm_set_digests(u8 *rsvd, u8 digests)
{
	const struct kfn_cm_digests cm = {
		.magic = cpu_to_le32(KFN_DIGEST_MAGIC), .digests = digests,
	};

	if (digests)
		memcpy(rsvd, &cm, sizeof(cm));
}

static inline u8 kfn_cm_get_digests(const u8 *rsvd)
{
	struct kfn_cm_digests cm;

	memcpy(&cm, rsvd, sizeof(cm));
	return le32_to_cpu(cm.magic) == KFN_DIGEST_MAGIC ? cm.digests : 0;
}

/* Return: bytes of an SQE or CQE of @len bytes in a message of a connection with @digests */
static inline size_t kfn_head_len(size_t len, u8 digests)
{
	return len + (digests ? sizeof(struct kfn_digest) : 0);
}

static inline __le32 kfn_header_digest(const void *head, size_t len)
{
	return cpu_to_le32(~crc32c(~0U, head, len + offsetof(struct kfn_digest, header)));
}

/* Fill in the digest behind an SQE or CQE of @len bytes, which are not changed after that */
static inline void kfn_seal(void *head, size_t len, u8 digests, __le32 data)
{
	struct kfn_digest *digest = head + len;

	digest->data = data;
	digest->header = digests & KFN_DIGEST_HEADER ? kfn_header_digest(head, len) : 0;
}

static inline bool kfn_sealed(const void *head, size_t len, u8 digests)
{
	const struct kfn_digest *digest = head + len;

	return !(digests & KFN_DIGEST_HEADER) || digest->header == kfn_header_digest(head, len);
}

/* What both sides need of kfabric. Any provider may offer it */
#define KFN_NEED (struct kfi_need) {								\
	.type = KFI_EP_MSG, .max_len = KFN_DATA_MAX, .inject = sizeof(struct nvme_command),	\
	.order = KFI_ORDER_SAS | KFI_ORDER_SAW,		/* an answer comes behind its data */	\
	.tx_segs = KFN_TX_SEGS, .rx_segs = KFN_RX_SEGS, .key_size = KFN_KEY_SIZE,		\
}

/* Part of the message that no provider serves an address */
#define KFN_REMEDY	"load kfi_sockets, kfi_verbs, kfi_ntb or kfi_usb4; " \
			"a traddr is an IP address in digits, or for a bridge or a cable " \
			"a name that kfi show devices lists"

#endif /* KFN_PROTO_H */
