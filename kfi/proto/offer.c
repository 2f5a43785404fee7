// SPDX-License-Identifier: GPL-2.0
/*
 * offer.c - what endpoints of the message protocol offer in getinfo, over every link.
 */
#include <linux/export.h>
#include "conn.h"

#define KFP_INJECT	512	/* bytes of an injected payload */
#define KFP_MR_IOV_MAX	1024	/* segments of a region */

#define KFP_MSG_CAPS	(KFI_MSG | KFI_TAGGED | KFI_SEND | KFI_RECV |			\
			 KFI_RMA | KFI_ATOMIC | KFI_READ | KFI_WRITE |			\
			 KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_RMA_EVENT | KFI_MULTI_RECV)
#define KFP_RDM_CAPS	(KFP_MSG_CAPS | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_TAGGED_RMA |	\
			 KFI_NAMED_RX_CTX)
#define KFP_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/*
 * Frames are sent in posting order, except messages that wait for credit: RMA and messages of the
 * other class may overtake them. A read returns what the region contains when its answer is sent,
 * which may be after later writes have arrived: no WAR. Atomic operations are performed in the
 * order of their arrival.
 */
#define KFP_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW |	\
			 KFI_ORDER_RAR | KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW |		\
			 KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

void kfi_proto_offer(struct kfi_info *info, enum kfi_ep_type type,
		     const struct kfi_proto_offer *offer)
{
	bool rdm = type == KFI_EP_RDM;

	info->caps = (rdm ? KFP_RDM_CAPS : KFP_MSG_CAPS) | (offer->caps & ~KFI_DATA_CHECK);
	*info->tx_attr = (struct kfi_tx_attr) {
		.caps = info->caps,
		.op_flags = KFP_OP_FLAGS | KFI_PROTO_LEVELS,
		.msg_order = KFP_ORDER,
		.inject_size = KFP_INJECT,
		.size = offer->depth,
		.iov_limit = KFI_PROTO_IOV_MAX,
		.rma_iov_limit = KFI_PROTO_RMA_MAX,
		.tclass = offer->tclass,
	};
	*info->rx_attr = (struct kfi_rx_attr) {
		.caps = info->caps,
		.op_flags = KFP_OP_FLAGS,
		.msg_order = KFP_ORDER,
		.size = offer->depth,
		.iov_limit = KFI_PROTO_IOV_MAX,
	};
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = type,
		.protocol = offer->protocol,
		.protocol_version = KFI_PROTO_VERSION,
		.max_msg_size = offer->max_msg,
		.max_order_raw_size = SIZE_MAX,
		.max_order_waw_size = SIZE_MAX,
		.mem_tag_format = ~0ULL,
	};
	*info->domain_attr = (struct kfi_domain_attr) {
		.mr_key_size = sizeof(u64),
		.cq_data_size = sizeof(u64),
		.max_ep_tx_ctx = rdm ? KFI_PROTO_CTX_MAX : 1,
		.max_ep_rx_ctx = rdm ? KFI_PROTO_CTX_MAX : 1,
		.max_ep_auth_key = 1,
		.mr_iov_limit = KFP_MR_IOV_MAX,
		.caps = offer->caps & (KFI_LOCAL_COMM | KFI_REMOTE_COMM | KFI_DATA_CHECK),
	};
}
EXPORT_SYMBOL_GPL(kfi_proto_offer);
