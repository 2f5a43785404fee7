/* SPDX-License-Identifier: GPL-2.0 */
/*
 * message.h - inbound messages that wait for their receive or for their payload, see inmsg.c;
 * and the protocols of message.c and tread.c.
 */
#ifndef _KFI_PROTO_MESSAGE_H
#define _KFI_PROTO_MESSAGE_H

#include "rendezvous.h"

/** enum kfp_inmsg_state - states of an inbound message, under kfp_conn.lock */
enum kfp_inmsg_state {
	KFP_IN_ARRIVING,	/* eager payload arrives in @buf */
	KFP_IN_READY,		/* eager payload is complete in @buf */
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
 * @rdv: its rendezvous, and the answer that is due for it: CTS, returned data or ACK
 * @granted: KFP_IN_REQUESTED: called when the receive was found. Under kfp_conn.lock
 * @state: &enum kfp_inmsg_state
 * @matched: a receive was found: rx.op is or was set
 * @lost_receive: KFP_IN_LOST: the receive has to be returned to the matching
 * @landed: the payload is in the receive, to which the peer may still write
 * @late_ack: the sender gets its ACK when the message is received, see &kfp_conn.late_acks
 * @no_drop: never dropped, because the sender has got an ACK for it, or it has invalidated a region
 * @cls: credit class
 * @cost: units of credit to return
 * @spliced: TREAD: the link reads the receive itself (L)
 * @reading: TREAD: the receive, until the link has read it (L)
 * @vec: MSG: describes @buf for the receiving iterator (L)
 * @buf: eager payload
 */
struct kfp_inmsg {
	struct kfi_rx		rx;
	struct kfp_conn		*conn;
	struct list_head	entry;
	struct kfp_rdv		rdv;
	void			(*granted)(struct kfp_inmsg *in);
	u8			state;
	bool			matched;
	bool			lost_receive;
	bool			landed;
	bool			late_ack;
	bool			no_drop;
	bool			spliced;
	u8			cls;
	u32			cost;
	union {
		struct kfp_reading	reading;
		struct kvec		vec;
	};
	void			*buf;
};

/**
 * struct kfp_messages - inbound messages of a connection. kfp_conn.lock protects @all, @nr, @spares
 *	and @unexpected
 * @all: messages
 * @nr: number of messages, including those that are being ended
 * @spares: message objects for reuse
 * @unexpected: bytes of unexpected messages
 * @treads: number of TREADs whose data is to be sent; each holds a receive
 * @lost: messages of a connection that has ended; only the end uses it
 * @watched: &kfi_link.posted at the last kfp_treads_late() (L)
 * @since: the data of a TREAD has waited since; 0: none (L)
 */
struct kfp_messages {
	struct list_head	all;
	unsigned int		nr;
	struct kfp_spares	spares;
	u64			unexpected;
	atomic_t		treads;
	struct list_head	lost;
	u64			watched;
	unsigned long		since;
};

/* inmsg.c */
struct kfp_inmsg *kfp_inmsg_new(struct kfp_conn *conn, const struct kfw_frame *f, u32 cost);
void kfp_inmsg_free(struct kfp_inmsg *in);
void kfp_inmsg_arrived(struct kfp_inmsg *in);
void kfp_inmsg_ack(struct kfp_inmsg *in, u8 state, u16 status);
void kfp_inmsg_refuse(struct kfp_inmsg *in, u16 status);

/* message.c */
int kfp_rx_request(struct kfp_conn *conn, void (*granted)(struct kfp_inmsg *in));

extern const struct kfp_protocol kfp_inmsg_protocol, kfp_tread_protocol;
extern const struct kfp_op_row kfp_msg_op, kfp_tmsg_op, kfp_twrite_op, kfp_tread_op;
extern const struct kfp_frame_row kfp_msg_frame, kfp_rts_frame, kfp_tread_frame;

#endif /* _KFI_PROTO_MESSAGE_H */
