/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - the wire format of the message protocol. Nothing else is in this file.
 *
 * All integers are little endian. Each side of a link sends a hello first, and frames after it. A
 * frame is a fixed header, header.rma_count remote segments, and header.payload bytes. A message
 * that needs no more has a shorter header.
 * docs/wire-protocol.md describes the protocol.
 *
 * This file also compiles in user space, for the fuzzer. It uses only fixed-endian types and the
 * helpers below.
 */
#ifndef _KFI_PROTO_WIRE_H
#define _KFI_PROTO_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif
#include <kfi_versions.h>

#define KFW_MAGIC		0x5049464b	/* "KFIP" */
#define KFW_VERSION		3		/* highest version that this side speaks */
#define KFW_VERSION_MIN		3		/* lowest version that this side speaks */
#define KFW_DATA_MAX		256		/* private data in a hello */
#define KFW_RMA_MAX		256		/* remote segments in one frame */
#define KFW_READ_SEGS		2048		/* segments of all unanswered READs with several */
#define KFW_PLACES_MAX		16		/* places in one frame */
#define KFW_PAYLOAD_MAX		(1ULL << 30)	/* longest message, write or read */
#define KFW_FRAME_MAX		(256U << 10)	/* payload of one frame; more follows in others */
#define KFW_PLACED_MAX		(1U << 20)	/* a part of a payload in places */
#define KFW_ATOMIC_MAX		512		/* target bytes of one atomic operation */
#define KFW_REPLY_MAX		64		/* message of a REPLY, which costs one credit */
#define KFW_GRANTS_MAX		64		/* grants that one side gives at a time */

#define KFW_AUTH_LEN		32		/* a random number or a proof */
#define KFW_FEAT_AUTH		0x100		/* HMAC-SHA256 with the authorization key */
#define KFW_FEAT_PROTECTION	0xffff		/* features that are demanded, not offered */
#define KFW_FEATS		0		/* what this side offers */

extern const struct kfi_versions kfw_speaks;

/** enum kfw_hello_kind - kinds of hello */
enum kfw_hello_kind {
	KFW_HELLO = 1,		/* the first hello, sent by the connecting side */
	KFW_ACCEPT,		/* answer: the connection is established */
	KFW_REJECT,		/* answer: refused with @status; the link ends */
	KFW_CHALLENGE,		/* answer: requests a proof of the key */
	KFW_PROOF,		/* the proof, sent by the connecting side */
};

/**
 * struct kfw_hello - first message on a link, in each direction
 * @magic: KFW_MAGIC
 * @version: highest version that the sender speaks
 * @version_min: the lowest one, see kfi_versions_read()
 * @len: bytes of this structure, in all versions
 * @kind: enum kfw_hello_kind
 * @ep_type: 1 = MSG, 3 = RDM (libfabric's enumeration)
 * @port: RDM: port at which the sender listens. The origin of the link and the port are its name
 * @data_len: bytes of private data behind this structure, at most KFW_DATA_MAX
 * @auth_len: bytes of authentication data behind the private data: KFW_AUTH_LEN with
 *	KFW_FEAT_AUTH, else 0
 * @incarnation: random number, chosen when the endpoint was enabled. Distinguishes an endpoint
 *	that was restarted from its predecessor. CHALLENGE, PROOF: that of the sender
 * @call_id: HELLO: random name of this connection
 * @known: HELLO: name of the last connection of the sender with this peer, 0 if there was none
 * @allowance_msg: credits (KFW_CREDIT_BYTES bytes each) for untagged unexpected messages that the
 *	sender holds
 * @allowance_tag: credits for tagged unexpected messages that the sender holds
 * @requests: unanswered requests that the sender accepts
 * @eager: longest payload that the sender accepts without rendezvous
 * @status: REJECT: reason, a positive errno
 * @features: KFW_FEAT_AUTH in each hello of the connection except REJECT, or in none. Bits 0-7
 *	are reserved for encryption, bits 8-15 for authentication: one that the receiver does not
 *	know is refused. Bits 16-31 are optional parts of the protocol that the sender has: the
 *	receiver ignores one that it does not know
 * @src_ctx: HELLO: number of the transmit context that calls, from 1; 0 if there is none
 * @dst_ctx: HELLO: receive context to which the sender will send
 * @zero: 0, ignored
 *
 * The size, and the members up to @auth_len and @features, are the same in all versions: each side
 * can read to the end of a hello, whatever version it is of, and answer by a REJECT that says what
 * this side speaks.
 */
struct kfw_hello {
	__le32	magic;
	u8	version;
	u8	version_min;
	__le16	len;
	u8	kind;
	u8	ep_type;
	__le16	port;
	__le16	data_len;
	__le16	auth_len;
	__le64	incarnation;
	__le64	call_id;
	__le64	known;
	__le32	allowance_msg;
	__le32	allowance_tag;
	__le32	requests;
	__le32	eager;
	__le32	status;
	__le32	features;
	__le16	src_ctx;
	__le16	dst_ctx;
	__le32	zero;
} __packed;

static_assert(sizeof(struct kfw_hello) == 72, "hello");
/* The same in all versions */
static_assert(offsetof(struct kfw_hello, magic) == 0 && offsetof(struct kfw_hello, version) == 4 &&
	      offsetof(struct kfw_hello, len) == 6 && offsetof(struct kfw_hello, kind) == 8 &&
	      offsetof(struct kfw_hello, data_len) == 12 &&
	      offsetof(struct kfw_hello, features) == 60, "members of a hello");

/** enum kfw_type - types of frame */
enum kfw_type {
	KFW_MSG = 1,	/* message with its payload */
	KFW_RTS,	/* request to send a message by rendezvous */
	KFW_CTS,	/* grants request @id: the payload follows in DATA for @slot */
	KFW_DATA,	/* a part of the payload of a granted request, for the receiver's @slot */
	KFW_WRITE,	/* RMA write: @rma_count segments, then the payload, or a part of it */
	KFW_READ,	/* RMA read: @rma_count segments */
	KFW_READ_DATA,	/* payload for request @id; an ACK with the status follows */
	KFW_TREAD,	/* tagged RMA read from the receive that waits for @tag */
	KFW_ACK,	/* request @id has ended with @status */
	KFW_CREDIT,	/* carries only the credit fields */
	KFW_BYE,	/* orderly end: no frame follows */
	KFW_ATOMIC,	/* atomic operation: segments, operands, compare values */
	KFW_RTW,	/* request to write: a segment */
	KFW_GRANT,	/* answer to an RTW: places of a segment, or none */
	KFW_RECALL,	/* the grant must not be used any more */
	KFW_RECALLED,	/* nothing is written because of the grant after this frame */
	KFW_REPLY,	/* RMA write, and a message that arrives after its payload */
	KFW_PLAIN,	/* MSG without flags: struct kfw_plain, and the payload */
	KFW_TYPES
};

/* Flags of a frame */
#define KFW_F_TAGGED	0x001	/* MSG, RTS, TREAD: matched by tag */
#define KFW_F_CQ_DATA	0x002	/* MSG, RTS, WRITE, ATOMIC: @data is valid */
#define KFW_F_ACK	0x004	/* MSG, REPLY: an ACK is due when the payload has arrived */
#define KFW_F_LAZY	0x008	/* MSG, WRITE, REPLY: the ACK may be delayed */
#define KFW_F_RMA	0x010	/* RTS: tagged RMA write; TREAD: always set */
#define KFW_F_INV	0x020	/* MSG, RTS, REPLY: the key of the segment is to be invalidated */
#define KFW_F_PLACED	0x040	/* DATA, READ_DATA, WRITE: the payload is in places */
#define KFW_F_COMMIT	0x080	/* the ACK means that the data is durable; GRANT: it can be */
#define KFW_F_FETCH	0x100	/* ATOMIC: the old values are returned */
#define KFW_F_COMPARE	0x200	/* ATOMIC: compare values follow the operands */
#define KFW_F_DEVICE	0x400	/* RTW: devices will write. WRITE with PLACED: they have written */
#define KFW_F_ONCE	0x800	/* GRANT: for one WRITE, which ends it */

/**
 * struct kfw_hdr - header of a frame
 * @type: enum kfw_type
 * @places: CTS, READ, TREAD, GRANT: number of places that follow the segments
 * @flags: KFW_F_*
 * @rma_count: number of segments that follow
 * @slot: CTS, DATA: the receiver's number for the granted payload
 * @grant: GRANT, RECALL, RECALLED, WRITE with KFW_F_PLACED: number of the grant
 * @status: ACK: 0 or a positive errno
 * @msg_len: REPLY: bytes of the message, which follows the segment
 * @op: ATOMIC: the operation, numbered as in libfabric's enum fi_op
 * @datatype: ATOMIC: the type of the elements, numbered as in libfabric's enum fi_datatype
 * @id: number of the initiator's operation; CTS, DATA, READ_DATA and ACK repeat it
 * @gen: distinguishes successive uses of @id; repeated with it
 * @credit_msg: cumulative limit of credits for untagged messages that the receiver of
 *	this frame may send
 * @credit_tag: cumulative limit of credits for tagged messages
 * @payload: bytes behind the segments, places and the message of a REPLY
 * @len: length of the message, or of all that is written. RTS, READ, TREAD: of the payload to
 *	come. DATA, READ_DATA: of this part. RTW, GRANT: of the segment. ATOMIC: of the targets
 * @tag: MSG, RTS, TREAD: tag of the message
 * @grant_id: with @grant: id of the grant, greater than that of each earlier grant of its
 *	owner on the connection
 * @data: remote CQ data of the message
 *
 * Members that no type of frame has together share their place.
 */
struct kfw_hdr {
	u8	type;
	u8	places;
	__le16	flags;
	__le16	rma_count;
	union {
		__le16	slot;
		__le16	grant;
		__le16	status;
		__le16	msg_len;
		struct {
			u8	op;
			u8	datatype;
		};
	};
	__le32	id;
	__le32	gen;
	__le32	credit_msg;
	__le32	credit_tag;
	__le64	payload;
	__le64	len;
	union {
		__le64	tag;
		__le64	grant_id;
	};
	__le64	data;
} __packed;

static_assert(sizeof(struct kfw_hdr) == 56, "frame header");

/**
 * struct kfw_plain - header of a frame PLAIN
 * @type: KFW_PLAIN
 * @zero: 0
 * @payload: bytes of the message, which follow
 * @credit_msg: as in &struct kfw_hdr
 * @credit_tag: the same
 *
 * The decoded frame is a MSG. Most messages need no other member, and a bridge carries a short one
 * in fewer lines.
 */
struct kfw_plain {
	u8	type;
	u8	zero[3];
	__le32	payload;
	__le32	credit_msg;
	__le32	credit_tag;
} __packed;

static_assert(sizeof(struct kfw_plain) == 16, "header of a plain message");

/* Return the length of the header of a frame of this type. */
static inline size_t kfw_hdr_len(u8 type)
{
	return type == KFW_PLAIN ? sizeof(struct kfw_plain) : sizeof(struct kfw_hdr);
}

/** struct kfw_rma - a remote segment */
struct kfw_rma {
	__le64	addr;
	__le64	len;
	__le64	key;
} __packed;

static_assert(sizeof(struct kfw_rma) == 24, "segment");

/** struct kfw_place - memory that the sender of the frame has exposed, see struct kfi_link_place */
struct kfw_place {
	__le64	at;
	__le32	len;
	__le32	key;
} __packed;

static_assert(sizeof(struct kfw_place) == 16, "place");

/*
 * A credit pays for up to KFW_CREDIT_BYTES payload bytes. Each message costs at least one.
 */
#define KFW_CREDIT_BYTES	256

/* Return the cost of a message of @len payload bytes, in credits. */
static inline u32 kfw_cost(u64 len)
{
	return len ? (len + KFW_CREDIT_BYTES - 1) / KFW_CREDIT_BYTES : 1;
}

/*
 * Return the length of the next part of a payload of which @left bytes are left, in a frame or in
 * places. Other frames do not wait in the stream for bytes in places, so such a part is longer: it
 * costs a link about as much as a short one.
 */
static inline u32 kfw_part(u64 left, bool placed)
{
	u32 most = placed ? KFW_PLACED_MAX : KFW_FRAME_MAX;

	return left < most ? left : most;
}

/**
 * struct kfw_frame - a decoded header in host order. @op and @datatype: ATOMIC only. @extra: bytes
 * between the header and the payload
 */
struct kfw_frame {
	u8	type;
	u8	places;
	u16	flags;
	u16	rma_count;
	union {
		u16	slot;
		u16	grant;
		u16	status;
		u16	msg_len;
	};
	u8	op;
	u8	datatype;
	u16	extra;
	u32	id;
	u32	gen;
	u32	credit_msg;
	u32	credit_tag;
	u64	payload;
	u64	len;
	union {
		u64	tag;
		u64	grant_id;
	};
	u64	data;
};

/**
 * struct kfw_hello_info - a decoded hello in host order
 *
 * @speaks: what its sender speaks; set by kfw_decode_hello()
 * @agreed: what both sides use, or nothing; set by kfw_decode_hello()
 */
struct kfw_hello_info {
	struct kfi_versions speaks;
	struct kfi_versions agreed;
	u8	kind;
	u8	ep_type;
	bool	auth;
	u16	port;
	u16	data_len;
	u64	incarnation;
	u64	call_id;
	u64	known;
	u32	allowance_msg;
	u32	allowance_tag;
	u32	requests;
	u32	eager;
	u32	status;
	u16	src_ctx;
	u16	dst_ctx;
};

/*
 * kfw_decode() - check the header of a frame and convert it to host order. @hdr: header as
 * received, kfw_hdr_len() bytes. @eager: longest payload without rendezvous that this side has
 * announced.
 *
 * Pure function. Return: 0, or -EPROTO if no peer that follows the protocol sends such a header.
 */
int kfw_decode(const struct kfw_hdr *hdr, u32 eager, struct kfw_frame *frame);

/* KFW_FROZEN - bytes of a hello that tell whether it is one: magic, versions, len */
#define KFW_FROZEN	8

/*
 * kfw_decode_front() - check the first KFW_FROZEN bytes of a hello
 *
 * Something else may be shorter, so it is refused as soon as these bytes have arrived.
 * Return: 0, -EPROTO.
 */
int kfw_decode_front(const struct kfw_hello *hello);

/*
 * kfw_decode_hello() - check a hello and convert it to host order.
 *
 * Pure function. Return: 0; -EPROTO; -EPROTONOSUPPORT if no version is common: then @kind,
 * @data_len, @auth and @speaks are set; -EOPNOTSUPP if it demands an unknown protection.
 */
int kfw_decode_hello(const struct kfw_hello *hello, struct kfw_hello_info *info);

/* Return the size of an element of an atomic operation, or 0 if its type is not supported. */
u8 kfw_value_size(u8 datatype);

/*
 * Convert @len bytes of elements of @size bytes in place: from host order to little endian, and
 * from little endian to host order.
 */
void kfw_encode_values(void *values, size_t len, u8 size);
void kfw_decode_values(void *values, size_t len, u8 size);

void kfw_encode_hello(const struct kfw_hello_info *info, struct kfw_hello *hello);

#endif /* _KFI_PROTO_WIRE_H */
