/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rma.h - state of reads and writes, see read.c and write.c.
 */
#ifndef _KFI_PROTO_RMA_H
#define _KFI_PROTO_RMA_H

#include "rendezvous.h"

#define KFP_RTW_AHEAD	8		/* first operations whose RTW may be sent */
#define KFP_RTW_FAILURES	4	/* answers in a row without places: few RTWs follow */
#define KFP_RTW_RETRY	64		/* then one of so many writes sends an RTW */

/**
 * struct kfp_rtw - a long write of the peer, from its RTW to the last part of its payload, or from the
 *	first part to the last; all (L), except @rdv
 * @rdv: its rendezvous. Without an RTW only the slot KFW_SLOT_WRITE
 * @entry: entry in &kfp_writes.rtws or &kfp_writes.spare_rtws
 * @answer: the answer of the pool that the write needs, until its first part arrives; or NULL
 * @f: the RTW or WRITE
 * @segs: its segments: @few or an allocation
 * @few: few segments
 * @rest: between two parts in frames: what &kfp_rx has of the write while a part arrives
 * @left: between two parts in frames: bytes of the current segment that are to come
 * @ended: when it was noticed that a region that is exposed has ended, in jiffies; 0: not yet
 */
struct kfp_rtw {
	struct kfp_rdv		rdv;
	struct list_head	entry;
	struct kfp_answer	*answer;
	struct kfw_frame	f;
	struct kfw_rma		*segs;
	struct kfw_rma		few[KFP_RTW_SEGS];
	struct {
		struct kfi_mr		*mr;
		u64			key;
		struct iov_iter		iter;
		struct kfp_answer	*commit;
		u16			seg;
		u16			status;
	} rest;
	u64			left;
	unsigned long		ended;
};

/**
 * struct kfp_writes - writes of a connection; all (L)
 * @rtw_failed: longest write whose answer had no places
 * @rtw_failures: such answers in a row, for writes up to that length
 * @rtw_skips: long writes without an RTW since then
 * @rtws: struct kfp_rtw: writes of the peer that wait for their slot or for DATA
 * @part: the write of which a part arrives that is not the only one, or NULL
 * @part_left: bytes of this part behind &kfi_link.left
 * @spare_rtws: struct kfp_rtw for reuse
 */
struct kfp_writes {
	u64			rtw_failed;
	u8			rtw_failures;
	u8			rtw_skips;
	struct list_head	rtws;
	struct kfp_rtw		*part;
	u64			part_left;
	struct kfp_spares	spare_rtws;
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
extern const struct kfp_frame_row kfp_write_frame, kfp_rtw_frame;
extern const struct kfp_frame_row kfp_read_frame, kfp_read_data_frame;
extern const struct kfp_frame_row kfp_atomic_frame;

#endif /* _KFI_PROTO_RMA_H */
