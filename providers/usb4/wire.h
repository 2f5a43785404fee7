/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - format of what kfi_usb4 sends to its peer: messages of the login, frames, and the header
 * of a record in a frame. Nothing else is in this file. docs/wire-usb4.md describes the protocol.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers
 * below only.
 */
#ifndef _KFI_USB4_WIRE_H
#define _KFI_USB4_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif
#include <kfi_mux_rec.h>
#include <kfi_versions.h>

#define U4W_VERSION	3	/* highest version that this side speaks */
#define U4W_VERSION_MIN	3	/* lowest version that this side speaks */
#define U4W_FEATS	0
#define U4W_UUID	16

/* ---- messages ---- */

/**
 * enum u4w_msg_type - types of messages. A reply is its request's type and one
 */
enum u4w_msg_type {
	U4W_LOGIN = 1,
	U4W_LOGIN_REPLY,
	U4W_LOGOUT,
	U4W_LOGOUT_REPLY,
};

/**
 * enum u4w_names - how the sender of a LOGIN knows the names of the way
 * @U4W_NAMES_NONE: it has none, and takes those of the receiver
 * @U4W_NAMES_WAIT: a way that seems to lead to the receiver waits for a cable, and has them
 * @U4W_NAMES_HAVE: the way of this cable has them
 * @U4W_NAMES_LATER: it has to know first whom it talks to: the receiver replies EAGAIN, and
 *	another LOGIN follows
 */
enum u4w_names {
	U4W_NAMES_NONE,
	U4W_NAMES_WAIT,
	U4W_NAMES_HAVE,
	U4W_NAMES_LATER,
};

#define U4W_MSG_SN_SHIFT	27		/* of &u4w_msg.length_sn */
#define U4W_MSG_LENGTH		0x3fU
#define U4W_MSG_ROUTE_REPLY	0x80000000U	/* of &u4w_msg.route_hi, set on the way */

/**
 * struct u4w_msg - a message. Its words are in the order of the CPU; the core converts them
 * @route_hi: route to the other host; the upper half
 * @route_lo: the lower half
 * @length_sn: words behind the first three, and a number of two bits
 * @proto: UUID of the protocol, by which the core finds the receiver
 * @from: UUID of the sender's host
 * @to: UUID of the receiver's host
 * @type: &enum u4w_msg_type
 * @version: what the sender speaks: the highest version, the lowest one << 8, and features << 16
 * @incarnation: that of the sender. Of a LOGOUT: of the life that ends
 * @hop: HopID on which the sender transmits
 * @window: frames that the sender keeps room for, and that it may have unacknowledged
 * @status: of a reply: 0, or a positive errno
 *
 * The following members are valid in a LOGIN:
 *
 * @machine: random number of the sender's machine, another one whenever the driver is loaded
 * @hardware: what the sender's firmware says of the machine, as a hash; 0: nothing
 * @place: the port of the cable in the sender's machine, as a hash
 * @names: &enum u4w_names
 * @own: with U4W_NAMES_WAIT and U4W_NAMES_HAVE: name of the sender
 * @peer: the same: name of the receiver
 * @held: of the login with which the life began that the sender holds: incarnations of the sender
 *	and of the receiver; both 0: it holds none
 * @next: with @held: number of the next frame that the sender expects
 * @high: with @held: one more than the highest number that the sender has sent
 */
struct u4w_msg {
	u32	route_hi;
	u32	route_lo;
	u32	length_sn;
	u8	proto[U4W_UUID];
	u8	from[U4W_UUID];
	u8	to[U4W_UUID];
	u32	type;
	u32	version;
	u32	incarnation;
	u32	hop;
	u32	window;
	u32	status;
	u32	machine[2];
	u32	hardware[2];
	u32	place;
	u32	names;
	u8	own[U4W_UUID];
	u8	peer[U4W_UUID];
	u32	held[2];
	u32	next;
	u32	high;
};
static_assert(sizeof(struct u4w_msg) == 156, "wire format");

#define U4W_MSG_HEAD	12	/* bytes of a message that its length does not count */
#define U4W_HOP_MIN	8U	/* smaller HopIDs are reserved */
#define U4W_HOP_MAX	2047U
#define U4W_WINDOW_MIN	16U
#define U4W_WINDOW_MAX	4096U

extern const struct kfi_versions u4w_speaks;

static inline struct kfi_versions u4w_versions(const struct u4w_msg *msg)
{
	return kfi_versions_read(msg->version, msg->version >> 8, msg->version >> 16);
}

/* What this side speaks, for &u4w_msg.version */
static inline u32 u4w_version_word(void)
{
	return u4w_speaks.highest | (u32)kfi_versions_lowest(&u4w_speaks) << 8 |
	       u4w_speaks.features << 16;
}

/*
 * Check a message of @size bytes, which is the same in all versions. Its route, protocol and UUIDs
 * are checked where they are known.
 * Return: 0; -EPROTONOSUPPORT: a LOGIN or its reply without a version of this side, of which only
 * @type, @version and the members before are valid; -EPROTO
 */
int u4w_check_msg(const struct u4w_msg *msg, size_t size);

/* ---- frames ---- */

#define U4W_FRAME	4096U	/* bytes of a frame, at most */
#define U4W_PDF_START	1	/* what begins and ends a frame on the cable */
#define U4W_PDF_END	2

/**
 * enum u4w_type - types of frames
 * @U4W_RECORDS: records of connections; repeated until acknowledged
 * @U4W_STATE: the header is all
 */
enum u4w_type {
	U4W_RECORDS = 1,
	U4W_STATE,
};

/* Bits of a frame */
#define U4W_HEARD	0x01	/* the sender has received a frame of this life */
#define U4W_ASKS	0x02	/* the receiver answers by a STATE frame */
#define U4W_GAP		0x04	/* frames from &u4w_head.ack on have got lost */
#define U4W_BITS	(U4W_HEARD | U4W_ASKS | U4W_GAP)

/**
 * struct u4w_head - header of a frame
 * @seq: number of the frame; of a STATE frame: of the next frame with records
 * @ack: number of the next frame that the sender expects
 * @life: incarnation of the receiver
 * @len: bytes behind the header
 * @type: &enum u4w_type
 * @bits: U4W_HEARD, U4W_ASKS, U4W_GAP
 */
struct u4w_head {
	__le32	seq;
	__le32	ack;
	__le32	life;
	__le16	len;
	u8	type;
	u8	bits;
};
static_assert(sizeof(struct u4w_head) == 16, "wire format");

/* Bytes of records in a frame, at most */
#define U4W_CONTENT	(U4W_FRAME - (u32)sizeof(struct u4w_head))

/**
 * struct u4w_frame - a decoded header
 * @seq: see struct u4w_head
 * @ack: the same
 * @life: the same
 * @len: the same; not more than what has arrived
 * @type: the same
 * @bits: the same
 */
struct u4w_frame {
	u32	seq;
	u32	ack;
	u32	life;
	u32	len;
	u8	type;
	u8	bits;
};

/* Decode the header of a frame of which @size bytes have arrived. Return: 0, -EPROTO */
int u4w_decode_frame(const void *frame, u32 size, struct u4w_frame *f);
void u4w_encode_frame(const struct u4w_frame *f, struct u4w_head *head);

/* ---- records ---- */

/**
 * struct u4w_rec - header of a record; the content of a frame is such records, each of which begins
 *	at a multiple of U4W_ALIGN
 * @type: &kfi_mux_rec.type
 * @zero: 0
 * @bits: &kfi_mux_rec.bits
 * @conn: &kfi_mux_rec.conn
 * @len: bytes behind the header
 * @zero2: 0
 */
struct u4w_rec {
	u8	type;
	u8	zero;
	__le16	bits;
	__le32	conn;
	__le16	len;
	__le16	zero2;
};
static_assert(sizeof(struct u4w_rec) == 12, "wire format");

#define U4W_ALIGN	4U

/* Bytes that may follow the header of a record */
#define U4W_REC_MAX	(U4W_CONTENT - (u32)sizeof(struct u4w_rec))

/* Bytes of a record in a frame, with its header and what is between it and the next one */
static inline u32 u4w_rec_size(u32 len)
{
	return (u32)sizeof(struct u4w_rec) + ((len + U4W_ALIGN - 1) & ~(U4W_ALIGN - 1));
}

/*
 * Decode the header of the record at the beginning of @left bytes of a frame's content.
 * Return: 0; -EPROTO: it is invalid, or is not there as a whole
 */
int u4w_decode_rec(const void *content, u32 left, struct kfi_mux_rec *rec);
/* @len: bytes behind the header, with those of &kfi_mux_rec.body */
void u4w_encode_rec(const struct kfi_mux_rec *rec, u32 len, struct u4w_rec *head);

#endif /* _KFI_USB4_WIRE_H */
