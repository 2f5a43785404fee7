// SPDX-License-Identifier: GPL-2.0
/*
 * rows.c - the protocols: which file handles which operation and which frame, and in which order the
 * protocols end a connection.
 */
#include "grant.h"
#include "conn.h"

const struct kfp_op_row *const kfp_op_rows[KFI_OPC_CODES] = {
	[KFI_OPC_SEND]			= &kfp_msg_op,		/* message.c */
	[KFI_OPC_TSEND]			= &kfp_tmsg_op,
	[KFI_OPC_REPLY]			= &kfp_reply_op,
	[KFI_OPC_TWRITE]		= &kfp_twrite_op,
	[KFI_OPC_TREAD]			= &kfp_tread_op,	/* tread.c */
	[KFI_OPC_WRITE]			= &kfp_write_op,	/* write.c */
	[KFI_OPC_READ]			= &kfp_read_op,		/* read.c */
	[KFI_OPC_ATOMIC]		= &kfp_atomic_op,	/* atomic.c */
	[KFI_OPC_FETCH_ATOMIC]		= &kfp_fetch_op,
	[KFI_OPC_COMPARE_ATOMIC]	= &kfp_fetch_op,
	[KFI_OPC_PLACE_GET]		= &kfp_place_get_op,	/* device_place.c */
	[KFI_OPC_PLACE_PUT]		= &kfp_place_put_op,
};

const struct kfp_frame_row *const kfp_frame_rows[KFW_TYPES] = {
	[KFW_MSG]	= &kfp_msg_frame,		/* message.c */
	[KFW_RTS]	= &kfp_rts_frame,
	[KFW_REPLY]	= &kfp_reply_frame,
	[KFW_CTS]	= &kfp_cts_frame,		/* rendezvous.c */
	[KFW_DATA]	= &kfp_data_frame,
	[KFW_TREAD]	= &kfp_tread_frame,		/* tread.c */
	[KFW_WRITE]	= &kfp_write_frame,		/* write.c */
	[KFW_READ]	= &kfp_read_frame,		/* read.c */
	[KFW_READ_DATA]	= &kfp_read_data_frame,
	[KFW_ATOMIC]	= &kfp_atomic_frame,		/* atomic.c */
	[KFW_RTW]	= &kfp_rtw_frame,		/* grant.c */
	[KFW_GRANT]	= &kfp_grant_frame,
	[KFW_RECALL]	= &kfp_recall_frame,
	[KFW_RECALLED]	= &kfp_recalled_frame,
	[KFW_ACK]	= &kfp_ack_frame,		/* oper.c */
	[KFW_CREDIT]	= &kfp_credit_frame,		/* tx.c */
	[KFW_BYE]	= &kfp_bye_frame,
};

/*
 * At the end of a connection the reads go first, because an answer that is being sent may be a part of
 * a message; grants and exposed memory go last, because messages and writes use them.
 */
const struct kfp_protocol *const kfp_protocols[] = {
	&kfp_read_protocol,
	&kfp_inmsg_protocol,
	&kfp_tread_protocol,
	&kfp_rdv_protocol,
	&kfp_commit_protocol,
	&kfp_dev_place_protocol,
	&kfp_grant_protocol,
	&kfp_memory_protocol,
	NULL
};
