/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - what kfi_sockets puts on a TCP stream or in a UDP datagram. Nothing else is in this file.
 *
 * All integers are little endian. A stream starts with one hello in each direction and goes on with frames; a frame is
 * a fixed header, header.rma_count remote segments, and header.payload bytes. docs/wire-sockets.md tells the story.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers below only.
 */
#ifndef _KFI_SOCKETS_WIRE_H
#define _KFI_SOCKETS_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif

#define SKW_MAGIC		0x5349464b	/* "KFIS" */
#define SKW_VERSION		3		/* the newest; a hello carries the range it can speak */
#define SKW_VERSION_MIN		1		/* the oldest */
#define SKW_VERSION_ATOMIC	2		/* from here on there are ATOMIC frames */
#define SKW_VERSION_COMMIT	2		/* ... FLUSH frames and SKW_F_COMMIT */
#define SKW_VERSION_LAZY	3		/* ... SKW_F_LAZY */
#define SKW_DATA_MAX		256		/* private data of a connection request or answer */
#define SKW_RMA_MAX		256		/* remote segments in one frame */
#define SKW_PAYLOAD_MAX		0xffffffffULL	/* a frame's payload: 32 bits hold it */
#define SKW_ATOMIC_MAX		512		/* bytes of targets of one atomic operation */

#define SKW_AUTH_LEN		32		/* authentication data: a random number or a proof */
#define SKW_FEAT_AUTH		0x100		/* HMAC-SHA256 with the endpoints' authorization key */

/** enum skw_hello_kind - what a hello says */
enum skw_hello_kind {
	SKW_HELLO = 1,		/* the side that connected speaks first */
	SKW_ACCEPT,		/* the answer: go ahead */
	SKW_REJECT,		/* the answer: no, for @status; the stream ends */
	SKW_CHALLENGE,		/* the answer: prove that you have the key */
	SKW_PROOF,		/* the proof */
};

/**
 * struct skw_hello - first thing on a stream, in each direction
 * @magic:	SKW_MAGIC
 * @kind:	enum skw_hello_kind
 * @ep_type:	1 = MSG, 3 = RDM (libfabric's enumeration)
 * @version:	newest version that the sender can speak, @version_min: oldest; spoken is the newest that both can
 * @port:	RDM: where the sender listens; with the stream's source address this is its name
 * @data_len:	private data that follows this structure, at most SKW_DATA_MAX
 * @incarnation: random, chosen when the endpoint was enabled: tells a restarted endpoint from its predecessor
 * @stream:	HELLO: random name of this stream
 * @known:	HELLO: name of the last stream that the sender had with this peer, 0 if none
 * @window_msg:	units (SKW_UNIT bytes) of untagged messages the sender of this hello will hold unexpected
 * @window_tag:	the same for tagged ones
 * @requests:	requests without an answer that it can keep track of
 * @eager:	longest payload it takes without rendezvous
 * @status:	REJECT: reason, a positive errno
 * @features:	SKW_FEAT_AUTH, in every hello of the stream but REJECT or in none. Bits 0-7 are kept for encryption, 8-15 for
 *		authentication
 * @src_ctx:	HELLO: 0, or the sender's transmit context that calls, counted from 1
 * @dst_ctx:	HELLO: the receive context that it wants to send to
 * @auth_len:	bytes of authentication data after the private data: SKW_AUTH_LEN with SKW_FEAT_AUTH, else 0
 */
struct skw_hello {
	__le32	magic;
	u8	kind;
	u8	ep_type;
	__le16	version;
	__le16	version_min;
	__le16	port;
	__le16	data_len;
	__le16	auth_len;
	__le64	incarnation;
	__le64	stream;
	__le64	known;
	__le32	window_msg;
	__le32	window_tag;
	__le32	requests;
	__le32	eager;
	__le32	status;
	__le32	features;
	__le16	src_ctx;
	__le16	dst_ctx;
	__le32	zero;
} __packed;

static_assert(sizeof(struct skw_hello) == 72, "hello");

/** enum skw_type - frames */
enum skw_type {
	SKW_MSG = 1,	/* message with its payload */
	SKW_RTS,	/* message too long to come unasked; the payload waits for a CTS */
	SKW_CTS,	/* send the payload of request @id; put @slot into the DATA frame */
	SKW_DATA,	/* that payload, for the receiver's @slot */
	SKW_WRITE,	/* RMA write: @rma_count segments, then the payload */
	SKW_READ,	/* RMA read: @rma_count segments */
	SKW_READ_DATA,	/* payload for request @id; an ACK with the verdict follows it */
	SKW_TREAD,	/* tagged RMA read of the buffer that waits for @tag */
	SKW_ACK,	/* request @id has ended with @status */
	SKW_CREDIT,	/* only the credit fields matter */
	SKW_BYE,	/* orderly end: nothing follows */
	SKW_ATOMIC,	/* atomic operation: @rma_count segments, operands, values to compare with */
	SKW_FLUSH,	/* earlier writes to @rma_count segments are to be visible, or durable */
	SKW_TYPES
};

/* Flags of a frame */
#define SKW_F_TAGGED	0x01	/* MSG, RTS: matched by tag */
#define SKW_F_CQ_DATA	0x02	/* MSG, RTS, WRITE, ATOMIC: @data is for the receiver's completion */
#define SKW_F_ACK	0x04	/* MSG: wants an ACK when the payload has arrived */
#define SKW_F_FETCH	0x08	/* ATOMIC: old values are wanted */
#define SKW_F_LAZY	0x08	/* MSG, WRITE: the ACK may wait for another frame to go with, a moment */
#define SKW_F_RMA	0x10	/* RTS: tagged RMA write */
#define SKW_F_INV	0x20	/* MSG, RTS: one segment follows whose key is to be invalidated */
#define SKW_F_COMPARE	0x40	/* ATOMIC: with values to compare with; old values are wanted */
#define SKW_F_COMMIT	0x80	/* WRITE, ATOMIC without old values, FLUSH: the ACK says that the segments are durable */

/**
 * struct skw_hdr - every frame
 * @type:	enum skw_type
 * @flags:	SKW_F_*
 * @rma_count:	segments that follow
 * @id:		request: the initiator's operation, echoed in CTS, READ_DATA and ACK
 * @gen:	distinguishes reuses of @id, echoed
 * @slot:	CTS, DATA: the target's place for this request; ATOMIC: the operation, and in the high byte the type of the
 *		elements, numbered as in libfabric's enum fi_op and enum fi_datatype
 * @status:	ACK: 0 or a positive errno
 * @credit_msg:	sender's cumulative limit of untagged message units (SKW_UNIT bytes)
 * @credit_tag:	the same, tagged
 * @payload:	bytes that follow the segments
 * @len:	length of the message (RTS, TREAD: of the payload to come; ATOMIC: of the targets)
 * @tag: @data:	of the message
 */
struct skw_hdr {
	u8	type;
	u8	flags;
	__le16	rma_count;
	__le32	id;
	__le32	gen;
	__le16	slot;
	__le16	status;
	__le32	credit_msg;
	__le32	credit_tag;
	__le64	payload;
	__le64	len;
	__le64	tag;
	__le64	data;
} __packed;

static_assert(sizeof(struct skw_hdr) == 56, "frame header");

/** struct skw_rma - a remote segment */
struct skw_rma {
	__le64	addr;
	__le64	len;
	__le64	key;
} __packed;

static_assert(sizeof(struct skw_rma) == 24, "segment");

/* One credit pays for up to this many payload bytes; every message costs at least one. */
#define SKW_UNIT	256

/* What a message of @len payload bytes costs. */
static inline u32 skw_cost(u64 len)
{
	return len ? (len + SKW_UNIT - 1) / SKW_UNIT : 1;
}

/** struct skw_frame - a decoded header in host order */
struct skw_frame {
	u8	type;
	u8	flags;
	u16	rma_count;
	u16	slot;
	u16	status;
	u32	id;
	u32	gen;
	u32	credit_msg;
	u32	credit_tag;
	u64	payload;
	u64	len;
	u64	tag;
	u64	data;
};

/** struct skw_greeting - a decoded hello in host order */
struct skw_greeting {
	u8	kind;
	u8	ep_type;
	bool	auth;
	u16	version;
	u16	port;
	u16	data_len;
	u64	incarnation;
	u64	stream;
	u64	known;
	u32	window_msg;
	u32	window_tag;
	u32	requests;
	u32	eager;
	u32	status;
	u16	src_ctx;
	u16	dst_ctx;
};

/*
 * skw_decode() - check a header and bring it into host order
 * @hdr: as received; @eager: longest unasked payload that we announced
 * Pure. Return: 0, -EPROTO: no peer that follows the protocol says this.
 */
int skw_decode(const struct skw_hdr *hdr, u32 eager, struct skw_frame *frame);

/*
 * skw_decode_hello() - the same for a hello
 * Return: 0, -EPROTO, -EPROTONOSUPPORT (another version), -EOPNOTSUPP (a feature bit that we do not know).
 */
int skw_decode_hello(const struct skw_hello *hello, struct skw_greeting *greeting);

/* An ATOMIC frame: bytes of an element, and its operation. skw_value_size() is 0 for what is no integer. */
u8 skw_value_size(u16 slot);
static inline u8 skw_atomic_op(u16 slot)
{
	return slot & 0xff;
}

static inline u8 skw_atomic_type(u16 slot)
{
	return slot >> 8;
}

static inline u16 skw_atomic_slot(u8 op, u8 datatype)
{
	return op | datatype << 8;
}

/* Operands and old values: @len bytes of elements of @size bytes, in place, from host order to little endian and back. */
void skw_encode_values(void *values, size_t len, u8 size);
void skw_decode_values(void *values, size_t len, u8 size);

void skw_encode(const struct skw_frame *frame, struct skw_hdr *hdr);
void skw_encode_hello(const struct skw_greeting *greeting, struct skw_hello *hello);

#endif /* _KFI_SOCKETS_WIRE_H */
