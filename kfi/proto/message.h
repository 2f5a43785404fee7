/* SPDX-License-Identifier: GPL-2.0 */
/*
 * message.h - inbound messages that wait for their receive or for their payload, see inmsg.c;
 * and the protocols of message.c and tread.c.
 */
#ifndef _KFI_PROTO_MESSAGE_H
#define _KFI_PROTO_MESSAGE_H

#include "engine.h"
#include "memory.h"

#define KFP_RDV		64		/* granted messages of a connection and direction */
#define KFP_RDV_BYTES	(64ULL << 20)	/* bytes granted at once, or one longer message */

/** enum kfp_inmsg_state - states of an inbound message, under kfp_conn.lock */
enum kfp_inmsg_state {
	KFP_IN_ARRIVING,	/* eager payload arrives in @vec */
	KFP_IN_READY,		/* eager payload is complete in @vec */
	KFP_IN_REQUESTED,	/* an RTS or TREAD has arrived and is not granted */
	KFP_IN_GRANTED,		/* CTS is queued or sent, or data is being returned */
	KFP_IN_ANSWERED,	/* the receive is complete, an ACK is due or queued */
	KFP_IN_REFUSED,		/* tagged RMA found no receive, an ACK is due */
	KFP_IN_LOST,		/* the connection went down before the end */
};

/**
 * struct kfp_inmsg - an inbound message
 * @rx: the part of the message that the matching uses
 * @conn: its connection, referenced
 * @entry: entry in &kfp_messages.all, &kfp_messages.lost or &kfp_messages.spares
 * @answer: the answer that is due for it: CTS, returned data or ACK
 * @granted: KFP_IN_REQUESTED: called when the receive was found. Under kfp_conn.lock
 * @state: &enum kfp_inmsg_state
 * @matched: a receive was found: rx.op is or was set
 * @lost_receive: KFP_IN_LOST: the receive has to be returned to the matching
 * @landed: the payload is in the receive, to which the peer may still write
 * @late_ack: the sender gets its ACK when the message is received, see &kfp_conn.late_acks
 * @no_drop: never dropped, because the sender has got an ACK for it, or it has invalidated a region
 * @placed: the parts of a long message are in the exposed receive; before the first one: the CTS
 *	names its places (L)
 * @cls: credit class
 * @slot: number in the CTS, index in &kfp_rdvs.slot
 * @cost: credits to return
 * @got: bytes of a long message that have arrived or are arriving (L)
 * @exposed: the receive, from the CTS on, if the link exposes it (L)
 * @since: the CTS is sent, or a part has begun: kfp_rdv_begin(). The next part is late
 *	peer_timeout_ms after it. Other bytes of the peer advance it, see kfp_extend()
 * @limit: when the message is late in any case: kfp_rx_now()
 * @spliced: TREAD: the link reads the receive itself (L)
 * @reading: TREAD: the receive, until the link has read it (L)
 * @one: MSG: the only element of @vec, unless there are more
 * @vec: eager payload, in @nvecs pieces; or NULL
 */
struct kfp_inmsg {
	struct kfi_rx		rx;
	struct kfp_conn		*conn;
	struct list_head	entry;
	struct kfp_answer	answer;
	void			(*granted)(struct kfp_inmsg *in);
	u8			state;
	bool			matched;
	bool			lost_receive;
	bool			landed;
	bool			late_ack;
	bool			no_drop;
	bool			spliced;
	bool			placed;
	u8			cls;
	u16			slot;
	u32			cost;
	u64			got;
	struct kfp_exposed	exposed;
	unsigned long		since;
	unsigned long		limit;
	union {
		struct kfp_reading	reading;
		struct kvec		one;
	};
	struct kvec		*vec;
	unsigned int		nvecs;
};

/**
 * struct kfp_messages - inbound messages of a connection. kfp_conn.lock protects @all, @spares and
 *	@unexpected
 * @all: messages
 * @spares: message objects for reuse
 * @unexpected: bytes of unexpected messages
 * @treads: number of TREADs whose data is to be sent; each holds a receive
 * @lost: messages of a connection that has ended; only the end uses it
 * @watched: &kfi_link.posted at the last kfp_treads_late() (L)
 * @since: the data of a TREAD has waited since; 0: none (L)
 */
struct kfp_messages {
	struct list_head	all;
	struct kfp_spares	spares;
	u64			unexpected;
	atomic_t		treads;
	struct list_head	lost;
	u64			watched;
	unsigned long		since;
};

/**
 * struct kfp_rdvs - long messages of a connection, under kfp_conn.lock
 * @slot: granted messages of which a part has not begun
 * @bytes: bytes of messages that have a slot or arrive
 * @waiting: messages that wait for a free slot, by &kfp_inmsg.answer
 */
struct kfp_rdvs {
	struct kfp_inmsg	*slot[KFP_RDV];
	u64			bytes;
	struct list_head	waiting;
};

/* inmsg.c */
struct kfp_inmsg *kfp_inmsg_new(struct kfp_conn *conn, const struct kfw_frame *f, u32 cost,
				void (*granted)(struct kfp_inmsg *in));
void kfp_inmsg_free(struct kfp_inmsg *in);
void kfp_inmsg_arrived(struct kfp_inmsg *in);
void kfp_inmsg_ack(struct kfp_inmsg *in, u8 state, u16 status);
void kfp_inmsg_refuse(struct kfp_inmsg *in, u16 status);

/* message.c */
int kfp_rx_request(struct kfp_conn *conn, void (*granted)(struct kfp_inmsg *in), u64 access);

/* rendezvous.c */
void kfp_rdv_enqueue(struct kfp_inmsg *in);	/* under kfp_conn.lock */
void kfp_rdv_send_data(struct kfp_conn *conn, struct kfi_oper *op);

extern const struct kfp_protocol kfp_inmsg_protocol, kfp_tread_protocol, kfp_rdv_protocol;
extern const struct kfp_op_row kfp_msg_op, kfp_tmsg_op, kfp_reply_op, kfp_twrite_op, kfp_tread_op;
extern const struct kfp_frame_row kfp_msg_frame, kfp_rts_frame, kfp_reply_frame, kfp_tread_frame;
extern const struct kfp_frame_row kfp_cts_frame, kfp_data_frame;

#endif /* _KFI_PROTO_MESSAGE_H */
