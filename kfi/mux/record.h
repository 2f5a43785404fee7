/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - format of the records of connections, behind the header that a provider gives them.
 * Nothing else is in this file. All integers are little endian. docs/wire-mux.md describes their
 * meaning.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers
 * below only.
 */
#ifndef _KFI_MUX_RECORD_H
#define _KFI_MUX_RECORD_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif
#include <kfi_mux_rec.h>
#include <kfi_versions.h>

#define KMW_VERSION	1	/* highest version that this side speaks */
#define KMW_VERSION_MIN	1	/* lowest version that this side speaks */
#define KMW_FEATS	0

extern const struct kfi_versions kmw_speaks;

#define KMW_WINDOW_MAX	(16U << 20)
#define KMW_PORT_MAX	0x7fffffffU

/**
 * enum kmw_type - types of the records of connections, see &kfi_mux_rec.type
 */
enum kmw_type {
	KMW_CALL = 16,	/* open a connection; &kfi_mux_rec.conn is 0 */
	KMW_ANSWER,	/* the port has accepted the call, or has refused it */
	KMW_DATA,	/* bytes of the stream, or none */
	KMW_CLOSE,	/* the connection has ended; without KMW_C_HELD no record follows */
	KMW_TYPES
};

/* Bits of a CLOSE (&kfi_mux_rec.bits) */
#define KMW_C_ABORT	0x0001	/* bytes that were not read yet are lost */
#define KMW_C_RETURN	0x0002	/* the sender waits for a CLOSE, which is to be sent at once */
#define KMW_C_HELD	0x0004	/* devices of the sender may still write: another CLOSE follows */
#define KMW_C_BITS	(KMW_C_ABORT | KMW_C_RETURN | KMW_C_HELD)

/* Bits of DATA (&kfi_mux_rec.bits) */
#define KMW_D_PLACED	0x0001	/* a struct kmw_placed follows, and no bytes */

static_assert((KMW_C_BITS | KMW_D_PLACED) <= 0xff, "bits");

/**
 * struct kmw_call - follows the header of a CALL
 * @version: highest version that the sender speaks
 * @version_min: the lowest one, see kfi_versions_read()
 * @features: optional parts of the format that the sender has
 * @number: the sender's number of the connection, not 0
 * @from: port of the sender, or 0 if it has none
 * @to: port that is called
 * @window: bytes that the receiver may send at first
 */
struct kmw_call {
	u8	version;
	u8	version_min;
	__le16	features;
	__le32	number;
	__le32	from;
	__le32	to;
	__le32	window;
};

static_assert(sizeof(struct kmw_call) == 20, "call");

/**
 * struct kmw_answer - follows the header of an ANSWER
 * @number: the sender's number of the connection; 0 if the call is refused
 * @window: bytes that the receiver may send at first
 * @status: 0, or the reason of a refusal, a positive errno
 * @version: highest version that the sender speaks; 0: version 1 alone
 * @version_min: the lowest one
 * @features: as in &struct kmw_call
 */
struct kmw_answer {
	__le32	number;
	__le32	window;
	__le32	status;
	u8	version;
	u8	version_min;
	__le16	features;
};

static_assert(sizeof(struct kmw_answer) == 16, "answer");
/* The same in all versions */
static_assert(offsetof(struct kmw_call, number) == 4 && offsetof(struct kmw_answer, version) == 12,
	      "members of calls and answers");

/**
 * struct kmw_data - follows the header of a DATA record; the bytes follow it
 * @pos: bytes that were sent before, in DATA and to places, modulo 2^32
 * @limit: total bytes in DATA that the receiver may send in the other direction, modulo 2^32
 */
struct kmw_data {
	__le32	pos;
	__le32	limit;
};

static_assert(sizeof(struct kmw_data) == KFI_MUX_DATA_LEN, "data");

/**
 * struct kmw_placed - bytes were written to memory of the receiver, ahead of the record
 * @len: number of bytes, not 0
 * @key: the provider's
 * @crc: the provider's
 * @at: the provider's
 *
 * Follows struct kmw_data if the record has KMW_D_PLACED.
 */
struct kmw_placed {
	__le32	len;
	__le32	key;
	__le32	crc;
	__le32	at;
};

static_assert(sizeof(struct kmw_placed) == 16, "placed");
static_assert(sizeof(struct kmw_data) + sizeof(struct kmw_placed) <= KFI_MUX_BODY_MAX, "body");

/**
 * struct kmw_calling - a CALL or an ANSWER in host order
 *
 * @speaks: what its sender speaks; set by the decoders
 * @agreed: what both sides use, or nothing; set by the decoders
 */
struct kmw_calling {
	struct kfi_versions speaks;
	struct kfi_versions agreed;
	u32	number;
	u32	from, to;
	u32	window;
	u32	status;
};

/**
 * struct kmw_bytes - a DATA record in host order
 * @pos: see struct kmw_data
 * @limit: see struct kmw_data
 * @len: number of bytes that follow
 * @placed: bytes that were written to places; &kfi_mux_piece.len is 0 if there are none
 */
struct kmw_bytes {
	u32			pos;
	u32			limit;
	u32			len;
	struct kfi_mux_piece	placed;
};

/*
 * Pure functions. &kfi_mux_rec.body has a copy of the first KFI_MUX_BODY_MAX bytes behind the
 * header, or of all of them. Return: 0; -EPROTO: the record is invalid; -EPROTONOSUPPORT: no common
 * version, with the number of the other side and what it speaks in @c
 */
int kmw_decode_call(const struct kfi_mux_rec *rec, struct kmw_calling *c);
int kmw_decode_answer(const struct kfi_mux_rec *rec, struct kmw_calling *c);
int kmw_decode_close(const struct kfi_mux_rec *rec);

/*
 * Return the lane, of @lanes, of the connection for a call. A pair of ports has the same lane
 * whoever calls; calls without a port are spread by their number. @first: what identifies the
 * caller's end is smaller than what identifies the other, or if both are equal, the caller's port
 * is. Pure function
 */
unsigned int kmw_call_lane(const struct kmw_calling *call, bool first, unsigned int lanes);

void kmw_encode_call(const struct kmw_calling *c, struct kfi_mux_rec *rec);
/* @conn: the receiver's number of the connection */
void kmw_encode_answer(const struct kmw_calling *c, u32 conn, struct kfi_mux_rec *rec);
/* Turn a DATA record into one that announces bytes in places */
void kmw_encode_placed(const struct kfi_mux_piece *piece, struct kfi_mux_rec *rec);
void kmw_encode_close(u16 bits, u32 conn, struct kfi_mux_rec *rec);

/* Nearly all records are DATA, so these two are inline. */
static inline int kmw_decode_data(const struct kfi_mux_rec *rec, struct kmw_bytes *data)
{
	const struct kmw_data *body = (const void *)rec->body;
	const struct kmw_placed *placed = (const void *)(body + 1);

	if (rec->type != KMW_DATA || rec->bits & ~KMW_D_PLACED || !rec->conn ||
	    rec->len < sizeof(*body))
		return -EPROTO;
	data->pos = le32_to_cpu(body->pos);
	data->limit = le32_to_cpu(body->limit);
	data->len = rec->len - sizeof(*body);
	data->placed.len = 0;
	if (!(rec->bits & KMW_D_PLACED))
		return 0;
	if (data->len != sizeof(*placed) || !placed->len)
		return -EPROTO;
	data->len = 0;
	data->placed = (struct kfi_mux_piece) {
		.len = le32_to_cpu(placed->len), .key = le32_to_cpu(placed->key),
		.crc = le32_to_cpu(placed->crc), .at = le32_to_cpu(placed->at),
	};
	return 0;
}

static inline void kmw_encode_data(u32 pos, u32 limit, u32 conn, struct kfi_mux_rec *rec)
{
	rec->type = KMW_DATA;
	rec->bits = 0;
	rec->conn = conn;
	rec->len = sizeof(struct kmw_data);
	*(struct kmw_data *)rec->body = (struct kmw_data) {
		.pos = cpu_to_le32(pos), .limit = cpu_to_le32(limit),
	};
}

#endif /* _KFI_MUX_RECORD_H */
