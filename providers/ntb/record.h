/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - what the endpoints of kfi_ntb say to each other, in records of the ring (wire.h). Nothing else is in this file.
 *
 * All integers are little endian. A record is a struct ntw_rec, then either a struct ntw_call (the handshake) or a struct ntw_hdr with
 * &ntw_hdr.nsegs segments, then payload up to its end. docs/wire-ntb.md tells the story.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers below only.
 */
#ifndef _KFI_NTB_RECORD_H
#define _KFI_NTB_RECORD_H

#include "wire.h"

#define NTW_EP_VERSION		3		/* of what is in this file; a call says the range that it can speak. 2 had other spots */
#define NTW_EP_VERSION_MIN	3
#define NTW_DATA_MAX		256U		/* private data of a call or its answer */
#define NTW_AUTH_LEN		32U		/* a random number or a proof */
#define NTW_SEGS_MAX		8U		/* remote segments of a record */
#define NTW_SPOTS_MAX		8U		/* spots of a record */
#define NTW_ATOMIC_MAX		512U		/* bytes of targets of one atomic operation */
#define NTW_LEN_MAX		(1ULL << 30)	/* of a message or transfer */
#define NTW_WINDOW_MAX		16384U		/* credits of a class */

#define NTW_FEAT_AUTH		0x100		/* HMAC-SHA256 with the endpoints' authorization key */

/** struct ntw_addr - name of an endpoint: which end of the bridge, and a number there */
struct ntw_addr {
	__le32	side;
	__le32	port;
};

static_assert(sizeof(struct ntw_addr) == 8, "address");

/** enum ntw_say - types of records, see &ntw_rec.type */
enum ntw_say {
	NTW_HELLO = NTW_FIRST,	/* call: to a port, &ntw_rec.conn is 0 */
	NTW_RINGING,		/* call: a consumer was asked, or the listener has a name for the connection */
	NTW_ACCEPT,		/* call: go ahead */
	NTW_REJECT,		/* call: no, for &ntw_call.status; this connection ends */
	NTW_CHALLENGE,		/* call: prove that you have the key */
	NTW_PROOF,		/* call: the proof */
	NTW_MSG,		/* a message with its payload */
	NTW_RTS,		/* a message too long for that: the payload waits for a CTS */
	NTW_TREAD,		/* tagged RMA read of the receive that waits for @tag */
	NTW_CTS,		/* send @len bytes of the payload of request @id, to transfer @slot; with spots: straight to them */
	NTW_DATA,		/* bytes of transfer @slot, from @data on */
	NTW_WRITE,		/* RMA write: segments, and the first bytes */
	NTW_MORE,		/* the next bytes of the write under way */
	NTW_READ,		/* RMA read: segments; with spots: the answer goes straight to them */
	NTW_READ_DATA,		/* bytes of request @id, from @data on */
	NTW_ACK,		/* request @id has ended with @status */
	NTW_ATOMIC,		/* segments, operands, values to compare with */
	NTW_FLUSH,		/* earlier writes to the segments are to be visible, or durable */
	NTW_CREDIT,		/* only the credits matter */
	NTW_BYE,		/* nothing more is posted here: hang up when you have handled it */
	NTW_CLOSE,		/* the connection is no more; the last record of its sender */
	NTW_KIN,		/* struct ntw_kin: which machine this is, for no connection. Who does not know it drops it */
	NTW_SAYS
};

/* Bits of a record (&ntw_rec.bits) */
#define NTW_F_TAGGED	0x0001	/* MSG, RTS: matched by tag */
#define NTW_F_CQ_DATA	0x0002	/* MSG, RTS, WRITE, ATOMIC: @data is for the receiver's completion */
#define NTW_F_ACK	0x0004	/* MSG: an ACK is wanted when it is in its receive. CLOSE: a CLOSE, at once */
#define NTW_F_RMA	0x0008	/* RTS: tagged RMA write; TREAD */
#define NTW_F_INV	0x0010	/* MSG, RTS: one segment follows whose key is to be invalidated */
#define NTW_F_LAST	0x0020	/* DATA, WRITE, MORE, READ_DATA: all bytes have been sent */
#define NTW_F_FETCH	0x0040	/* ATOMIC: old values are wanted */
#define NTW_F_COMPARE	0x0080	/* ATOMIC: with values to compare with; old values are wanted */
#define NTW_F_COMMIT	0x0100	/* WRITE, ATOMIC without old values, FLUSH: the ACK says that the segments are durable */

#define NTW_F_ASK	0x0200	/* WRITE: all payload waits for a CTS */
#define NTW_F_PLACED	0x0400	/* DATA, READ_DATA: no payload, for @len bytes were written to the next spots, ahead of this */

/* Classes of credits: one credit is a slot at the receiver, which keeps what has to wait there */
enum ntw_cls { NTW_CLS_MSG, NTW_CLS_TAG, NTW_CLS_REQ, NTW_CLS };

/**
 * struct ntw_call - the handshake; behind it @data_len bytes of private data and @auth_len of authentication data
 * @ep_type:	1 = MSG, 3 = RDM (libfabric's enumeration)
 * @version:	newest that the sender can speak, @version_min: oldest; spoken is the newest that both can
 * @from:	HELLO: port of the sender; with the side that it comes from this is its name
 * @to:		HELLO: port that is called
 * @conn:	number by which the sender of this wants to be addressed; not 0
 * @status:	REJECT: reason, a positive errno. HELLO: 0, or &ntw_kin.bridge of the called side's bridge that @to is a port of, if the HELLO
 *		comes by another one
 * @incarnation: random, chosen when the endpoint was opened
 * @stream:	HELLO: random name of this connection
 * @known:	HELLO: name of the last connection that the sender had with this peer, 0 if none
 * @window:	credits of each class that the sender of this grants
 * @eager:	longest payload of a MSG, or of the first record of a request, that it takes
 * @src_ctx:	HELLO: 0, or the sender's transmit context that calls, counted from 1
 * @dst_ctx:	HELLO: the receive context that it wants to send to
 * @features:	NTW_FEAT_AUTH, in every record of the handshake but REJECT or in none
 */
struct ntw_call {
	u8	ep_type;
	u8	version;
	u8	version_min;
	u8	zero;
	__le32	from;
	__le32	to;
	__le32	conn;
	__le64	incarnation;
	__le64	stream;
	__le64	known;
	__le16	window[NTW_CLS];
	__le16	eager;
	__le16	data_len;
	__le16	auth_len;
	__le16	src_ctx;
	__le16	dst_ctx;
	__le32	status;
	__le32	features;
};

static_assert(sizeof(struct ntw_call) == 64, "call");
static_assert(sizeof(struct ntw_rec) + sizeof(struct ntw_call) <= NTW_HEAD_MAX, "call in a head");

/**
 * struct ntw_hdr - all other records
 * @id:		request: the initiator's operation, echoed in CTS, READ_DATA and ACK
 * @gen:	distinguishes reuses of @id, echoed
 * @credit:	lower halves of the sender's cumulative limits, one for each class
 * @status:	ACK, CLOSE: 0 or a positive errno
 * @slot:	CTS, DATA: the target's number of the transfer
 * @nsegs:	segments that follow
 * @nspots:	CTS, READ, TREAD: spots behind them; together as long as the payload, or there are none
 * @op: @datatype: ATOMIC, numbered as in libfabric's enum fi_op and enum fi_datatype
 * @len:	of the message, of all bytes of a request, of the targets of ATOMIC; CTS: bytes wanted; with F_PLACED: bytes that were
 * @tag: @data:	of the message; DATA, READ_DATA: @data is where the payload begins
 * @crc:	with F_PLACED: CRC32C of the @len bytes, begun with ~0 and not inverted, if the hellos
 *		of both sides have NTW_FEAT_CRC_PLACED; else 0
 */
struct ntw_hdr {
	__le32	id;
	__le32	gen;
	__le16	credit[NTW_CLS];
	__le16	status;
	__le32	slot;
	u8	nsegs;
	u8	op;
	u8	datatype;
	u8	nspots;
	__le64	len;
	union {
		__le64	tag;
		struct {
			__le32	crc;
			__le32	zero;
		};
	};
	__le64	data;
};

static_assert(sizeof(struct ntw_hdr) == 48, "header");

/** struct ntw_seg - a remote segment */
struct ntw_seg {
	__le64	addr;
	__le64	len;
	__le64	key;
};

static_assert(sizeof(struct ntw_seg) == 24, "segment");

/** enum ntw_window - what a spot is a part of */
enum ntw_window {
	NTW_W_INBOUND,		/* the inbound memory */
	NTW_W_FLAT,		/* what the flat window shows */
};

/** struct ntw_spot - memory that its owner lends for the payload of one operation: @len bytes at @at of his @window */
struct ntw_spot {
	__le64	at;
	__le32	len;
	__le32	window;
};

static_assert(sizeof(struct ntw_spot) == 16, "spot");

/**
 * struct ntw_kin - said once in each life of a link, so that bridges to the same machine know each other
 * @host:	random, of the writer's machine, the same by all its bridges; not 0
 * @bridge:	the writer's number of its end of this one, not 0
 */
struct ntw_kin {
	__le64	host;
	__le32	bridge;
	__le32	zero;
};

static_assert(sizeof(struct ntw_kin) == 16, "kin");

#define NTW_PREFIX	((u32)(sizeof(struct ntw_rec) + sizeof(struct ntw_hdr)))
#define NTW_HEAD_SEGS	((NTW_HEAD_MAX - NTW_PREFIX) / sizeof(struct ntw_seg))	/* that fit into a head with the header */

/* What may lie between header and payload, and what of it fits into a head */
#define NTW_TAIL_MAX	(NTW_SEGS_MAX * sizeof(struct ntw_seg) + NTW_SPOTS_MAX * sizeof(struct ntw_spot))
#define NTW_TAIL_HEAD	(NTW_HEAD_MAX - NTW_PREFIX)

static_assert(NTW_SPOTS_MAX * sizeof(struct ntw_spot) <= NTW_TAIL_HEAD, "CTS in a head");

/** struct ntw_frame - a record in host order; @payload: bytes behind segments and spots */
struct ntw_frame {
	u8	type;
	u8	nsegs;
	u8	nspots;
	u8	op;
	u8	datatype;
	u16	bits;
	u16	status;
	u16	credit[NTW_CLS];
	u32	conn;
	u32	id;
	u32	gen;
	u32	slot;
	u32	payload;
	u32	crc;
	u64	len;
	u64	tag;
	u64	data;
};

/** struct ntw_calling - a call in host order */
struct ntw_calling {
	u8	type;
	u8	ep_type;
	u8	version;
	bool	auth;
	u16	window[NTW_CLS];
	u16	eager;
	u16	data_len;
	u16	src_ctx;
	u16	dst_ctx;
	u32	from, to;
	u32	conn;
	u32	status;
	u32	bridge;
	u64	incarnation;
	u64	stream;
	u64	known;
};

/* Bytes between header and payload */
static inline u32 ntw_tail(const struct ntw_frame *f)
{
	return f->nsegs * sizeof(struct ntw_seg) + f->nspots * sizeof(struct ntw_spot);
}

static inline bool ntw_is_call(u8 type)
{
	return type >= NTW_HELLO && type <= NTW_PROOF;
}

/*
 * ntw_decode() - check a record and bring it into host order
 * @rec: @hdr: copies; @len: bytes behind struct ntw_rec; @eager: longest payload that we said we take in one record that may have to wait
 * Pure. Return: 0, -EPROTO: no peer that follows the protocol says this.
 */
int ntw_decode(const struct ntw_rec *rec, const struct ntw_hdr *hdr, u32 len, u32 eager, struct ntw_frame *f);
/* To the first NTW_PREFIX bytes of a head */
void ntw_encode(const struct ntw_frame *f, struct ntw_rec *rec, struct ntw_hdr *hdr);

/* The same for the handshake. Return: 0, -EPROTO, -EPROTONOSUPPORT (another version), -EOPNOTSUPP (a feature that we do not know). */
int ntw_decode_call(const struct ntw_rec *rec, const struct ntw_call *call, u32 len, struct ntw_calling *c);
void ntw_encode_call(const struct ntw_calling *c, u32 to_conn, struct ntw_rec *rec, struct ntw_call *call);

/* A spot. @at: ... of inbound memory, or with NTW_FLAT of the flat window. @spot: a copy. Return: 0, -EPROTO: no window has that */
int ntw_decode_spot(const struct ntw_spot *spot, u64 *at, u32 *len);
void ntw_encode_spot(u64 at, u32 len, struct ntw_spot *spot);

/* Which machine is at the other end. @kin: a copy. Return: 0, -EPROTO */
int ntw_decode_kin(const struct ntw_rec *rec, const struct ntw_kin *kin, u32 len, u64 *host, u32 *bridge);
void ntw_encode_kin(u64 host, u32 bridge, struct ntw_rec *rec, struct ntw_kin *kin);

/* Elements of @size bytes, in place, from host order to little endian or back. */
void ntw_swap_values(void *values, u32 len, u32 size);

#endif /* _KFI_NTB_RECORD_H */
