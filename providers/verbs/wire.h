/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - what kfi_verbs says to its peer: private data of the connection manager, and packets, which are RDMA SENDs.
 * Nothing else is in this file. Payload of RMA and of long messages goes by RDMA READ and WRITE and has no format.
 *
 * All integers are little endian. docs/wire-verbs.md tells the story.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers below only.
 */
#ifndef _KFI_VERBS_WIRE_H
#define _KFI_VERBS_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif

#define KVW_MAGIC		0x5649464b	/* "KFIV" */
#define KVW_VERSION		4		/* the newest; a hello carries the range it can speak */
#define KVW_VERSION_MIN		1		/* the oldest */
#define KVW_VERSION_LONG	3		/* the oldest whose hello says how long a packet may be */
#define KVW_VERSION_PARTS	4		/* the oldest that knows KVW_F_PART */
#define KVW_RDM			3		/* kvw_hello.ep_type: RDM, in libfabric's enumeration */
#define KVW_DATA_MAX		32		/* private data of a consumer, which MSG endpoints send without a hello */
#define KVW_WINDOW_MAX		4096		/* packets of a class */
#define KVW_FIRST		16		/* of them, what may be sent before the receiver has said more */
#define KVW_STATUS_MAX		4095		/* a positive errno */
#define KVW_NONCE		32		/* bytes of a random number, and of an accepting side's proof */
#define KVW_PROOF_LEN		12		/* bytes of a calling side's proof: what a request has room for */
#define KVW_FEAT_AUTH		0x80		/* HMAC-SHA256 with the endpoints' authorization key */
#define KVW_ATOMIC_MAX		256		/* bytes of targets of one atomic operation */
#define KVW_PAGE		4096		/* longest packet but of MSG, and of MSG where nothing else is agreed on */
#define KVW_PACKET		(KVW_PAGE + 512) /* our longest: a page, and what consumers have in front of one */

/** enum kvw_cls - what flow control tells apart: none of them can be held up by another one */
enum kvw_cls {
	KVW_CLS_MSG,		/* untagged messages */
	KVW_CLS_TAG,		/* tagged messages and tagged RMA */
	KVW_CLS_CTL,		/* requests that wait for no receive */
	KVW_CLS
};

/** enum kvw_kind - whose hello it is */
enum kvw_kind {
	KVW_HELLO = 1,
	KVW_ACCEPT,
	KVW_REJECT,
	KVW_CHALLENGE,	/* private data of a refusal: call again, and prove that you have my key */
	KVW_PROOF,	/* ... of that call; it belongs to the hello before it */
};

/**
 * struct kvw_names - the end of a hello between RDM endpoints
 * @incarnation: random, chosen when the endpoint was enabled
 * @stream:	name of this connection, chosen by who dials; @known: of the last one it knows with this peer
 * @port:	where the sender listens: with the connection's source address this is its name
 * @src_ctx:	0, or the transmit context that calls, counted from 1; @dst_ctx: the receive context it wants
 */
struct kvw_names {
	__le64	incarnation;
	__le64	stream;
	__le64	known;
	__le16	port;
	__le16	src_ctx;
	__le16	dst_ctx;
	__le16	zero;
} __packed;

/**
 * struct kvw_hello - private data of request, answer and refusal
 * @magic:	KVW_MAGIC
 * @kind:	enum kvw_kind
 * @ep_type:	KVW_RDM
 * @version:	newest that the sender speaks; @version_min: oldest. Spoken is the newest that both can
 * @zero1:	0
 * @features:	KVW_FEAT_AUTH, in all that the two say but REJECT or in nothing. The other bits are kept for encryption
 * @status:	REJECT: a positive errno; @ticket: CHALLENGE: its number, which PROOF repeats
 * @window:	HELLO, ACCEPT: packets of each class that the sender will have receives for, at most; KVW_FIRST of them now
 * @answers:	... and answers likewise: so many requests may be unanswered
 * @packet:	... and bytes that each of those receives takes, at least KVW_PAGE. Before KVW_VERSION_LONG nobody looks
 * @proof:	PROOF
 * @names:	of the sender
 * @nonce:	with KVW_FEAT_AUTH, HELLO and CHALLENGE: a random number, and no @names
 */
struct kvw_hello {
	__le32	magic;
	u8	kind;
	u8	ep_type;
	u8	version;
	u8	version_min;
	u8	zero1;
	u8	features;
	union {
		__le16	status;
		__le16	ticket;
	};
	union {
		struct {
			__le16	window[KVW_CLS];
			__le16	answers;
			__le16	packet;
			__le16	zero;
		} __packed;
		u8	proof[KVW_PROOF_LEN];
	};
	union {
		struct kvw_names	names;
		u8			nonce[KVW_NONCE];
	};
} __packed;

/* The connection manager of InfiniBand leaves 56 bytes of a request to us. */
static_assert(sizeof(struct kvw_hello) == 56, "hello");

/** struct kvw_accept - an ACCEPT with KVW_FEAT_AUTH: there is room for more in an answer */
struct kvw_accept {
	struct kvw_hello	hello;
	u8			proof[KVW_NONCE];
} __packed;

/** enum kvw_type - packets */
enum kvw_type {
	KVW_READY = 1,	/* the side that called has heard the answer */
	KVW_MSG,	/* message with its payload */
	KVW_RTS,	/* message too long for a packet: fetch it from @count descriptors, then say FIN */
	KVW_TREAD,	/* tagged RMA read: put the receive with @tag into @count descriptors, then say FIN */
	KVW_FIN,	/* request @id has ended with @status */
	KVW_KEY,	/* who is region @tag, from byte @data on? */
	KVW_KEY_IS,	/* it is @count descriptors */
	KVW_DONE,	/* RMA on regions has ended: tell their owner */
	KVW_FLUSH,	/* earlier writes to @count segments are to be visible, or durable */
	KVW_VOID,	/* a message that its sender could not send after all: its credit alone */
	KVW_CREDIT,	/* only the credit fields matter */
	KVW_BYE,	/* orderly end: nothing follows */
	KVW_ATOMIC,	/* do this to @count segments; operands and values to compare with are behind them */
	KVW_OLD,	/* request @id has been done: what was there before */
	KVW_TYPES
};

/* Flags of a packet */
#define KVW_F_TAGGED	0x01	/* MSG, RTS: matched by tag */
#define KVW_F_CQ_DATA	0x02	/* MSG, RTS, DONE: @data is for the receiver's completion */
#define KVW_F_ARRIVED	0x04	/* MSG: wants a FIN when it is here */
#define KVW_F_LANDED	0x08	/* MSG: wants a FIN when it is in its receive; DONE, FLUSH: when all before it is visible */
#define KVW_F_RMA	0x10	/* RTS: tagged RMA write */
#define KVW_F_PART	0x10	/* DONE: of an access with more segments, which the next DONE has */
#define KVW_F_INV	0x20	/* MSG, RTS: the first descriptor's @addr is a key that is to be invalidated */
#define KVW_F_READ	0x40	/* DONE: of a read */
#define KVW_F_COMMIT	0x80	/* DONE of a write, FLUSH, ATOMIC: the answer says that the segments are durable */
#define KVW_F_FETCH	0x04	/* ATOMIC: wants OLD */
#define KVW_F_COMPARE	0x40	/* ATOMIC: the same, and there are values to compare with */
/* Flags of KEY_IS */
#define KVW_K_READ	0x01	/* may be read */
#define KVW_K_WRITE	0x02	/* may be written */
#define KVW_K_TELL	0x04	/* every access is to be told by DONE */
#define KVW_K_COMMIT	0x08	/* writes can be made durable */
#define KVW_K_ALL	0x0f

/**
 * struct kvw_hdr - how every packet begins
 * @type:	enum kvw_type
 * @flags:	KVW_F_*
 * @status:	FIN, KEY_IS: 0 or a positive errno; ATOMIC: libfabric's numbers of the operation, and of the type in the upper half
 * @credit:	sender's cumulative limit of packets, by class, modulo 2^16
 * @count:	descriptors
 * @spent:	classes in which the sender has used up its credit, a bit each
 * @epoch:	grows when a key that the sender has told of is no longer valid: older ones are to be forgotten
 * @part:	what packets of this type with these flags have, see kvw_parts(), in that order
 *
 * Behind the parts are the descriptors, and behind them the payload.
 */
struct kvw_hdr {
	u8	type;
	u8	flags;
	__le16	status;
	__le16	credit[KVW_CLS];
	u8	count;
	u8	spent;
	__le32	epoch;
	__le64	part[];
};

static_assert(sizeof(struct kvw_hdr) == 16, "packet header");

/* Parts of a header */
#define KVW_P_ID	0x01	/* request: the initiator's operation and, in the upper half, its generation; echoed in the answer */
#define KVW_P_LEN	0x02	/* length of a long message, of an access, or of a region */
#define KVW_P_TAG	0x04	/* of a message; KEY: the region's key; KEY_IS: its first address */
#define KVW_P_DATA	0x08	/* of a message or an access; KEY: first address wanted; KEY_IS: first byte told */
#define KVW_PARTS	4

/** struct kvw_desc - memory: @key is the device's; in DONE, FLUSH and ATOMIC, kfabric's */
struct kvw_desc {
	__le64	addr;
	__le64	key;
	__le64	len;
} __packed;

static_assert(sizeof(struct kvw_desc) == 24, "descriptor");

#define KVW_HDR_MAX	(sizeof(struct kvw_hdr) + KVW_PARTS * sizeof(__le64))
#define KVW_ROOM	(KVW_PACKET - KVW_HDR_MAX)	/* for payload and descriptors of a MSG, whatever the header is */
#define KVW_DESC_MAX	((KVW_PAGE - KVW_HDR_MAX) / sizeof(struct kvw_desc))

/** struct kvw_packet - a decoded header in host order; parts that it does not have are 0, but @len of MSG and OLD is their payload's */
struct kvw_packet {
	u8	type;
	u8	flags;
	u8	count;
	u8	head;		/* bytes of the header */
	u8	spent;
	u16	status;
	u16	credit[KVW_CLS];
	u32	epoch;
	u32	id;
	u32	gen;
	u64	len;
	u64	tag;
	u64	data;
};

/** struct kvw_greeting - a decoded hello in host order */
struct kvw_greeting {
	u8	kind;
	u8	version;
	bool	auth;
	u16	window[KVW_CLS];
	u16	answers;
	u16	packet;
	u16	status, ticket;
	u64	incarnation, stream, known;
	u16	port, src_ctx, dst_ctx;
};

/*
 * kvw_decode() - check a packet and bring its header into host order
 * @bytes: of the packet, which is at @hdr
 * Pure. Only the first KVW_PAGE bytes, or all if there are fewer, need be in one piece: what is behind them is payload.
 * Return: 0, -EPROTO: no peer that follows the protocol says this.
 */
int kvw_decode(const struct kvw_hdr *hdr, u32 bytes, struct kvw_packet *p);

/*
 * Return: 0: what is random, or a proof, is all there, too; -EPROTO, -EPROTONOSUPPORT (another version), -EOPNOTSUPP (a feature
 * bit that we do not know).
 */
int kvw_decode_hello(const void *data, size_t len, struct kvw_greeting *g);

/* Return: bytes of the header, at most KVW_HDR_MAX. */
u32 kvw_encode(const struct kvw_packet *p, struct kvw_hdr *hdr);
/* What is random, or a proof, is left to the caller. */
void kvw_encode_hello(const struct kvw_greeting *g, struct kvw_hello *hello);

/* Which parts a header has: KVW_P_*. Of a type that is none of ours: nothing. */
static inline u8 kvw_parts(u8 type, u8 flags)
{
	u8 parts = 0;

	switch (type) {
	case KVW_MSG:
	case KVW_RTS:
		parts = type == KVW_RTS ? KVW_P_ID | KVW_P_LEN : 0;
		parts |= flags & (KVW_F_ARRIVED | KVW_F_LANDED) ? KVW_P_ID : 0;
		parts |= flags & KVW_F_TAGGED ? KVW_P_TAG : 0;
		break;
	case KVW_TREAD:
		return KVW_P_ID | KVW_P_LEN | KVW_P_TAG;
	case KVW_FIN:
	case KVW_OLD:
		return KVW_P_ID;
	case KVW_KEY:
		return KVW_P_ID | KVW_P_TAG | KVW_P_DATA;
	case KVW_KEY_IS:
		return KVW_P_ID | KVW_P_LEN | KVW_P_TAG | KVW_P_DATA;
	case KVW_ATOMIC:
		parts = KVW_P_ID | KVW_P_LEN;
		break;
	case KVW_DONE:
	case KVW_FLUSH:
		parts = KVW_P_LEN | (flags & KVW_F_LANDED ? KVW_P_ID : 0);
		break;
	default:
		return 0;
	}
	return parts | (flags & KVW_F_CQ_DATA ? KVW_P_DATA : 0);
}

/* ATOMIC: what is in @status, and bytes that it brings and is answered by */
#define KVW_ATOMIC_STATUS(op, type)	((u16)((op) | (type) << 8))
#define KVW_ATOMIC_OP(status)		((status) & 0xff)
#define KVW_ATOMIC_TYPE(status)		((status) >> 8)
#define KVW_OP_READ			10	/* has no operands */

static inline u32 kvw_operands(const struct kvw_packet *p)
{
	return KVW_ATOMIC_OP(p->status) == KVW_OP_READ ? 0 : p->len;
}

static inline u32 kvw_compares(const struct kvw_packet *p)
{
	return p->flags & KVW_F_COMPARE ? p->len : 0;
}

static inline u32 kvw_olds(const struct kvw_packet *p)
{
	return p->flags & (KVW_F_FETCH | KVW_F_COMPARE) ? p->len : 0;
}

/* Descriptors of a MSG. */
static inline u8 kvw_msg_descs(u8 flags)
{
	return flags & KVW_F_INV ? 1 : 0;
}

/* The class of a packet, or KVW_CLS: it answers, or spends nothing. */
static inline u8 kvw_cls(u8 type, u8 flags)
{
	switch (type) {
	case KVW_MSG:
	case KVW_RTS:
	case KVW_VOID:
		return flags & KVW_F_TAGGED ? KVW_CLS_TAG : KVW_CLS_MSG;
	case KVW_TREAD:
		return KVW_CLS_TAG;
	case KVW_KEY:
	case KVW_DONE:
	case KVW_FLUSH:
	case KVW_ATOMIC:
		return KVW_CLS_CTL;
	default:
		return KVW_CLS;
	}
}

#endif /* _KFI_VERBS_WIRE_H */
