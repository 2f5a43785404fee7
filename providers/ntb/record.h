/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - format of the records of connections (wire.h has that of the rings). Nothing else is in
 * this file. All integers are little endian. docs/wire-ntb-endpoints.md describes their meaning.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers
 * below only.
 */
#ifndef _KFI_NTB_RECORD_H
#define _KFI_NTB_RECORD_H

#include "wire.h"

#define NTW_CONN_VERSION	1
#define NTW_CONN_VERSION_MIN	1
#define NTW_WINDOW_MIN		1024U	/* bytes of a window: room for a hello of the protocol */
#define NTW_WINDOW_MAX		(16U << 20)

/** struct ntw_addr - name of an endpoint: an end of a bridge, and a number at this end */
struct ntw_addr {
	__le32	side;
	__le32	port;
};

static_assert(sizeof(struct ntw_addr) == 8, "address");

/**
 * enum ntw_conn_type - types of the records of connections, see &ntw_rec.type
 */
enum ntw_conn_type {
	NTW_CALL = NTW_FIRST,	/* open a connection; &ntw_rec.conn is 0 */
	NTW_ANSWER,		/* the port has accepted the call, or has refused it */
	NTW_DATA,		/* bytes of the stream, or none */
	NTW_CLOSE,		/* the connection has ended; without NTW_C_HELD no record follows */
	NTW_CONN_TYPES
};

/* Bits of a CLOSE (&ntw_rec.bits) */
#define NTW_C_ABORT	0x0001	/* bytes that were not read yet are lost */
#define NTW_C_RETURN	0x0002	/* the sender waits for a CLOSE, which is to be sent at once */
#define NTW_C_HELD	0x0004	/* devices of the sender may still write: another CLOSE follows */
#define NTW_C_BITS	(NTW_C_ABORT | NTW_C_RETURN | NTW_C_HELD)

/* Bits of DATA (&ntw_rec.bits) */
#define NTW_D_PLACED	0x0001	/* a struct ntw_placed follows, and no bytes */

/**
 * struct ntw_call - follows the header of a CALL
 * @version: newest version that the sender supports
 * @version_min: oldest version that the sender supports. The newest common version is used
 * @zero: 0
 * @number: the sender's number of the connection, not 0
 * @from: port of the sender, or 0 if it has none
 * @to: port that is called
 * @window: bytes that the receiver may send at first
 */
struct ntw_call {
	u8	version;
	u8	version_min;
	__le16	zero;
	__le32	number;
	__le32	from;
	__le32	to;
	__le32	window;
};

static_assert(sizeof(struct ntw_call) == 20, "call");

/**
 * struct ntw_answer - follows the header of an ANSWER
 * @number: the sender's number of the connection; 0 if the call is refused
 * @window: bytes that the receiver may send at first
 * @status: 0, or the reason of a refusal, a positive errno
 * @zero: 0
 */
struct ntw_answer {
	__le32	number;
	__le32	window;
	__le32	status;
	__le32	zero;
};

static_assert(sizeof(struct ntw_answer) == 16, "answer");

/**
 * struct ntw_data - follows the header of a DATA record; the bytes follow it
 * @pos: bytes that were sent before, in DATA and to places, modulo 2^32
 * @limit: total bytes in DATA that the receiver may send in the other direction, modulo 2^32
 */
struct ntw_data {
	__le32	pos;
	__le32	limit;
};

static_assert(sizeof(struct ntw_data) == 8, "data");

/**
 * struct ntw_placed - bytes were written to memory of the receiver, ahead of the record
 * @len: number of bytes, not 0
 * @key: with a CRC: &kfi_link_place.key of the memory, else 0
 * @crc: with NTW_FEAT_CRC_PLACED: CRC32C of the bytes, begun with ~0 and not inverted; else 0
 * @at: with a CRC: offset at which the bytes begin, from the first place with this key; else 0
 *
 * Follows struct ntw_data if the record has NTW_D_PLACED.
 */
struct ntw_placed {
	__le32	len;
	__le32	key;
	__le32	crc;
	__le32	at;
};

static_assert(sizeof(struct ntw_placed) == 16, "placed");

/* Bit of &kfi_link_place.key. The owner of the place chooses the other bits */
#define NTW_K_WINDOW	0x0001	/* 0: inbound memory; 1: flat window */

/** struct ntw_calling - a CALL or an ANSWER in host order */
struct ntw_calling {
	u32	number;
	u32	from, to;
	u32	window;
	u32	status;
};

/**
 * struct ntw_piece - a DATA record in host order
 * @pos: see struct ntw_data
 * @limit: see struct ntw_data
 * @len: number of bytes
 * @placed: bytes that were written to places; see struct ntw_placed for @key, @crc and @at
 * @key: key of the memory
 * @crc: CRC of the bytes
 * @at: where the bytes begin
 */
struct ntw_piece {
	u32	pos;
	u32	limit;
	u32	len;
	u32	placed;
	u32	key;
	u32	crc;
	u32	at;
};

/*
 * Pure functions. @body is a copy of the @len bytes that follow the header. Return: 0; -EPROTO: the
 * record is invalid; -EPROTONOSUPPORT: no common version, with the number of the caller in @c
 */
int ntw_decode_call(const struct ntw_rec *rec, const struct ntw_call *body, u32 len,
		    struct ntw_calling *c);
int ntw_decode_answer(const struct ntw_rec *rec, const struct ntw_answer *body, u32 len,
		      struct ntw_calling *c);
/*
 * Pure function. @body is a copy of the first of the @len bytes that follow the header, and @placed
 * a copy of what follows it, if that is present. Return: 0, -EPROTO
 */
int ntw_decode_data(const struct ntw_rec *rec, const struct ntw_data *body,
		    const struct ntw_placed *placed, u32 len, struct ntw_piece *piece);
/* Pure function. Return: 0, -EPROTO */
int ntw_decode_close(const struct ntw_rec *rec, u32 len);

/*
 * Return the queue, of @queues, of the connection for a call. A pair of ports has the same queue
 * whoever calls; calls without a port are spread by their number. @first: the caller's side has the
 * lower number, or, if both have the same, the caller's port does. Pure function
 */
unsigned int ntw_call_queue(const struct ntw_calling *call, bool first, unsigned int queues);

void ntw_encode_call(const struct ntw_calling *c, struct ntw_rec *rec, struct ntw_call *body);
/* @conn: the receiver's number of the connection */
void ntw_encode_answer(const struct ntw_calling *c, u32 conn, struct ntw_rec *rec,
		       struct ntw_answer *body);
void ntw_encode_data(u32 pos, u32 limit, u32 conn, struct ntw_rec *rec, struct ntw_data *body);
void ntw_encode_placed(const struct ntw_piece *piece, u32 conn, struct ntw_rec *rec,
		       struct ntw_data *body, struct ntw_placed *placed);
void ntw_encode_close(u16 bits, u32 conn, struct ntw_rec *rec);

#endif /* _KFI_NTB_RECORD_H */
