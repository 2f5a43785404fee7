/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rma.h - state of reads and writes, see read.c and write.c.
 */
#ifndef _KFI_PROTO_RMA_H
#define _KFI_PROTO_RMA_H

#include "engine.h"

#define KFP_RTW_AHEAD	8		/* first operations whose RTW may be sent */
#define KFP_RTW_FAILURES	4	/* answers in a row without a grant: few RTWs follow */
#define KFP_RTW_RETRY	64		/* then one of so many writes sends an RTW */
#define KFP_COMMITS	4		/* threads in persist() for a connection */

/**
 * struct kfp_part - the write of the peer whose payload has begun and is not complete; all (L)
 * @got: bytes that have arrived in earlier frames; 0: there is no such write
 * @first: its first frame
 * @segs: a keyed hash of its segments
 * @status: status so far
 * @commit: answer that holds the regions of a commit
 */
struct kfp_part {
	u64			got;
	struct kfw_frame	first;
	u64			segs;
	u16			status;
	struct kfp_answer	*commit;
};

/**
 * struct kfp_writes - writes of a connection; all (L)
 * @rtw_failed: longest write that was given no grant
 * @rtw_failures: such answers in a row, for writes up to that length
 * @rtw_skips: long writes without an RTW since then
 * @part: there is one at a time
 */
struct kfp_writes {
	u64			rtw_failed;
	u8			rtw_failures;
	u8			rtw_skips;
	struct kfp_part		part;
};

/**
 * struct kfp_reads - reads of a connection; all (L)
 * @segs: segments that the peer keeps of the unanswered reads of this side, at most KFW_READ_SEGS,
 *	see kfp_read_segs()
 * @peer_segs: segments that this side keeps of the unanswered reads of the peer
 * @spare_leases: struct kfp_lease for reuse
 */
struct kfp_reads {
	u32			segs;
	u32			peer_segs;
	struct kfp_spares	spare_leases;
};

/**
 * struct kfp_commits - commits of a connection, under kfp_conn.lock
 * @waiting: those that wait until another one has been begun, in order
 * @running: work items that call persist(), at most KFP_COMMITS
 */
struct kfp_commits {
	struct list_head	waiting;
	unsigned int		running;
};

int kfp_read_data(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_read_request(struct kfp_conn *conn, struct kfi_oper *op, u8 type, u16 flags);
bool kfp_send_returned(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_returned_sent(struct kfp_conn *conn);

/* commit.c */
int kfp_rx_commit(struct kfp_conn *conn);
int kfp_rx_end(struct kfp_conn *conn);

extern const struct kfp_protocol kfp_read_protocol, kfp_commit_protocol;
extern const struct kfp_op_row kfp_write_op, kfp_read_op, kfp_atomic_op, kfp_fetch_op;
extern const struct kfp_frame_row kfp_write_frame;
extern const struct kfp_frame_row kfp_read_frame, kfp_read_data_frame;
extern const struct kfp_frame_row kfp_atomic_frame;

#endif /* _KFI_PROTO_RMA_H */
