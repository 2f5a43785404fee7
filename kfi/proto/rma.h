/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rma.h - state of reads and writes, see read.c and write.c.
 */
#ifndef _KFI_PROTO_RMA_H
#define _KFI_PROTO_RMA_H

#include "rendezvous.h"

#define KFP_RTW_AHEAD	8		/* first operations whose RTW may be sent */
#define KFP_RTW_FAILURES	4	/* answers in a row without a grant: few RTWs follow */
#define KFP_FEW_SEGS	4		/* segments of a write without an allocation */
#define KFP_RTW_RETRY	64		/* then one of so many writes sends an RTW */

/**
 * struct kfp_rest - a write of the peer whose payload comes in parts, from the first part to the
 *	last; all (L), except @rdv
 * @rdv: has the slot KFW_SLOT_WRITE until the last part arrives
 * @f: the WRITE
 * @segs: its segments: @few or an allocation; NULL: there is no such write
 * @few: few segments
 * @mr: between two parts: what &kfp_rx has of the write while a part arrives, and so are the
 *	members up to @status
 * @key: see @mr
 * @iter: see @mr
 * @commit: see @mr
 * @seg: see @mr
 * @status: see @mr
 * @left: between two parts: bytes of the current segment that are to come
 */
struct kfp_rest {
	struct kfp_rdv		rdv;
	struct kfw_frame	f;
	struct kfw_rma		*segs;
	struct kfw_rma		few[KFP_FEW_SEGS];
	struct kfi_mr		*mr;
	u64			key;
	struct iov_iter		iter;
	struct kfp_answer	*commit;
	u16			seg;
	u16			status;
	u64			left;
};

/**
 * struct kfp_writes - writes of a connection; all (L)
 * @rtw_failed: longest write that was given no grant
 * @rtw_failures: such answers in a row, for writes up to that length
 * @rtw_skips: long writes without an RTW since then
 * @part: a part of @rest arrives
 * @part_left: bytes of this part behind &kfi_link.left
 * @rest: the write that comes in parts; there is one at a time
 */
struct kfp_writes {
	u64			rtw_failed;
	u8			rtw_failures;
	u8			rtw_skips;
	bool			part;
	u64			part_left;
	struct kfp_rest		rest;
};

/**
 * struct kfp_reads - reads of a connection; all (L)
 * @segs: segments that the peer keeps of the unanswered reads of this side, at most KFW_READ_SEGS,
 *	see kfp_read_segs()
 * @peer_segs: segments that this side keeps of the unanswered reads of the peer
 * @spare_holds: struct kfp_hold for reuse
 */
struct kfp_reads {
	u32			segs;
	u32			peer_segs;
	struct kfp_spares	spare_holds;
};

int kfp_read_data(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_read_request(struct kfp_conn *conn, struct kfi_oper *op, struct kfw_frame *f);
bool kfp_send_returned(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_returned_sent(struct kfp_conn *conn);

extern const struct kfp_protocol kfp_write_protocol, kfp_read_protocol;
extern const struct kfp_op_row kfp_write_op, kfp_read_op, kfp_atomic_op, kfp_fetch_op;
extern const struct kfp_frame_row kfp_write_frame;
extern const struct kfp_frame_row kfp_read_frame, kfp_read_data_frame;
extern const struct kfp_frame_row kfp_atomic_frame;

#endif /* _KFI_PROTO_RMA_H */
