// SPDX-License-Identifier: GPL-2.0
/* opcode.c - the kinds of operations. */
#include "opcode.h"

#define TX_FLAGS	(KFI_COMPLETION | KFI_MORE | KFI_CQE | KFI_NO_COMPLETION)
#define SEND_FLAGS	(TX_FLAGS | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_INVALIDATE |	\
			 KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE |	\
			 KFI_DELIVERY_COMPLETE | KFI_MATCH_COMPLETE)
#define WRITE_FLAGS	(TX_FLAGS | KFI_INJECT | KFI_REMOTE_CQ_DATA |	\
			 KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE |	\
			 KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE)
#define REPLY_FLAGS	(TX_FLAGS | KFI_INVALIDATE | KFI_INJECT_COMPLETE |	\
			 KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE)
#define RX_FLAGS	(KFI_COMPLETION | KFI_MORE | KFI_CQE | KFI_NO_COMPLETION)
#define ACCESS_FLAGS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

const struct kfi_opcode_row kfi_opcode_rows[KFI_OPC_CODES] = {
	[KFI_OPC_SEND] = {
		.flags = SEND_FLAGS, .caps = KFI_MSG | KFI_SEND, .dir = ITER_SOURCE,
		.wc_flags = KFI_MSG | KFI_SEND, .cntr = KFI_CNTR_SEND,
	},
	[KFI_OPC_TSEND] = {
		.flags = SEND_FLAGS, .caps = KFI_TAGGED | KFI_SEND, .dir = ITER_SOURCE,
		.wc_flags = KFI_TAGGED | KFI_SEND, .cntr = KFI_CNTR_SEND,
	},
	[KFI_OPC_WRITE] = {
		.flags = WRITE_FLAGS, .caps = KFI_RMA | KFI_WRITE, .dir = ITER_SOURCE,
		.wc_flags = KFI_RMA | KFI_WRITE, .cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_READ] = {
		.flags = TX_FLAGS, .caps = KFI_RMA | KFI_READ, .dir = ITER_DEST,
		.wc_flags = KFI_RMA | KFI_READ, .cntr = KFI_CNTR_READ,
	},
	[KFI_OPC_REPLY] = {
		.flags = REPLY_FLAGS, .caps = KFI_MSG | KFI_SEND | KFI_RMA | KFI_WRITE,
		.wc_flags = KFI_MSG | KFI_SEND | KFI_RMA | KFI_WRITE, .dir = ITER_SOURCE,
		.cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_TWRITE] = {
		.flags = WRITE_FLAGS, .caps = KFI_TAGGED_RMA | KFI_WRITE, .dir = ITER_SOURCE,
		.wc_flags = KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND, .cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_TREAD] = {
		.flags = TX_FLAGS, .caps = KFI_TAGGED_RMA | KFI_READ, .dir = ITER_DEST,
		.wc_flags = KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND, .cntr = KFI_CNTR_READ,
	},
	[KFI_OPC_PLACE_GET] = {		/* not counted, see op_counts() */
		.flags = TX_FLAGS & ~KFI_NO_COMPLETION,
		.caps = KFI_PLACE | KFI_RMA | KFI_WRITE, .dir = ITER_SOURCE,
		.wc_flags = KFI_RMA | KFI_WRITE, .cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_PLACE_PUT] = {
		.flags = TX_FLAGS, .caps = KFI_PLACE | KFI_RMA | KFI_WRITE, .dir = ITER_SOURCE,
		.wc_flags = KFI_RMA | KFI_WRITE, .cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_ATOMIC] = {
		.flags = WRITE_FLAGS, .caps = KFI_ATOMIC | KFI_WRITE, .dir = ITER_SOURCE,
		.wc_flags = KFI_ATOMIC | KFI_WRITE, .cntr = KFI_CNTR_WRITE,
	},
	[KFI_OPC_FETCH_ATOMIC] = {
		.flags = TX_FLAGS, .caps = KFI_ATOMIC | KFI_READ, .dir = ITER_SOURCE,
		.wc_flags = KFI_ATOMIC | KFI_READ, .cntr = KFI_CNTR_READ,
	},
	[KFI_OPC_COMPARE_ATOMIC] = {
		.flags = TX_FLAGS, .caps = KFI_ATOMIC | KFI_READ, .dir = ITER_SOURCE,
		.wc_flags = KFI_ATOMIC | KFI_READ, .cntr = KFI_CNTR_READ,
	},
	[KFI_OPC_RECV] = {
		.flags = RX_FLAGS | KFI_MULTI_RECV, .caps = KFI_MSG | KFI_RECV, .dir = ITER_DEST,
		.cntr = KFI_CNTR_RECV,
	},
	[KFI_OPC_TRECV] = {
		.flags = RX_FLAGS | KFI_PEEK_FLAGS | ACCESS_FLAGS,
		.caps = KFI_TAGGED | KFI_RECV, .dir = ITER_DEST, .cntr = KFI_CNTR_RECV,
	},
};
