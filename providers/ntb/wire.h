/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - what kfi_ntb says to its peer: scratchpads, the control page, and how records lie in the ring. Nothing else is in this file.
 *
 * All integers in memory are little endian. docs/wire-ntb.md tells the story.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers below only.
 */
#ifndef _KFI_NTB_WIRE_H
#define _KFI_NTB_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#else
#include "wire-user.h"
#endif

#define NTW_MAGIC		0x4e46		/* "FN": the upper half of the first scratchpad */
#define NTW_VERSION		1		/* the newest; a side says the range that it can speak */
#define NTW_VERSION_MIN		1		/* the oldest */

/* The inbound memory: control page, ring, arena */
#define NTW_CTL_SIZE		4096U
#define NTW_RING_AT		NTW_CTL_SIZE
#define NTW_RING_SHIFT_MIN	14
#define NTW_RING_SHIFT_MAX	22
#define NTW_ALIGN		16U		/* records begin and end on it */
#define NTW_SIZE_MAX		(1ULL << 32)	/* bytes of it */
#define NTW_FLAT_SHIFT_MIN	12
#define NTW_FLAT_SHIFT_MAX	52
#define NTW_FLAT_MAX		(1ULL << NTW_FLAT_SHIFT_MAX)	/* bytes of a flat window */
#define NTW_FLAT		(1ULL << 63)	/* in a number that names a byte of the other side's memory: that it is one of the flat window */
#define NTW_BELLS_MAX		16		/* doorbell bits of a link */
#define NTW_REC_MAX		32768U		/* bytes of a record, or an eighth of the ring if that is less */

/* Scratchpads that one side writes at the other: so many of 32 bits */
enum ntw_pad {
	NTW_PAD_MAGIC,		/* NTW_MAGIC << 16 | oldest version << 8 | newest */
	NTW_PAD_STATE,		/* enum ntw_state | shift of the ring << 8 | first doorbell bit << 16 | how many << 24 */
	NTW_PAD_MINE,		/* the writer's incarnation; never 0 while it speaks */
	NTW_PAD_YOURS,		/* the reader's, as the writer has read it, or 0 */
	NTW_PAD_SIZE,		/* inbound memory in KiB */
	NTW_PAD_CHECK,		/* ntw_pad_check() of those before */
	NTW_PADS
};

/** enum ntw_state - how far the writer of the scratchpads is */
enum ntw_state {
	NTW_AWAY,		/* nobody there, or going */
	NTW_QUIET,		/* reads nothing but scratchpads; nothing of an earlier life is under way from here any more */
	NTW_OPEN,		/* its inbound memory is open to the incarnation that it has repeated */
};

/** struct ntw_hand - the scratchpads, decoded */
struct ntw_hand {
	u8	version;	/* spoken: the newest that both can */
	u8	state;
	u8	ring_shift;
	u8	bell, bells;	/* the first bit of the writer's doorbell register that is for us, and how many, to be used in turn */
	u32	mine, yours;
	u32	size_kib;
};

/*
 * A word of the control page: a number modulo 2^32, and above it the incarnation of who reads it. Words of another incarnation are none.
 * Each is written with one 8-byte write.
 */
static inline u64 ntw_word(u32 incarnation, u32 value)
{
	return (u64)incarnation << 32 | value;
}

/* In &ntw_line.serial */
#define NTW_ASK		1U
#define NTW_AWAKE	2U
#define NTW_FLAGS	3U
#define NTW_SERIAL_STEP	4U

/**
 * struct ntw_line - the words that change while the link is up; all of them tagged, ntw_word(). One aligned cache line, always written
 * from the first to the last byte: who sees a word new sees those before it at least as new
 * @produced:	bytes of the reader's ring that hold records
 * @consumed:	bytes of the writer's ring that the writer has handled: the reader may forget what it sent up to here
 * @echo:	the last @serial that the writer has seen of the reader
 * @serial:	grows by NTW_SERIAL_STEP with each line, and lines come with time: a sign of life. Who sees it has the line up to here, and all that
 *		was written before by the same way. NTW_ASK: the writer wants a line and a signal back; in all lines until one has echoed the
 *		first. NTW_AWAKE: the writer looks by itself, and needs no signal, until a line without it
 * @bye:	1: the writer's life ends
 */
struct ntw_line {
	__le64	produced;
	__le64	consumed;
	__le64	echo;
	__le64	serial;
	__le64	bye;
	__le64	zero[3];
};

static_assert(sizeof(struct ntw_line) == 64, "line");

/* Ways of the writer to be woken, besides its doorbell: bits of &ntw_hello.signals */
#define NTW_S_MSI	0x01	/* a 4-byte write of @msi_data to its window @msi_window, byte @msi_at */

/* Bits of &ntw_hello.features */
#define NTW_FEAT_CRC	0x01	/* &ntw_rec.check is a CRC of the record */
#define NTW_FEAT_CRC_PLACED	0x02	/* records that announce placed payload have a CRC of it */
#define NTW_FEATS	(NTW_FEAT_CRC | NTW_FEAT_CRC_PLACED)

/**
 * struct ntw_hello - said once in each life, before the first record
 * @magic:	NTW_MAGIC
 * @version:	spoken
 * @signals:	NTW_S_*
 * @mine: the writer's incarnation; @yours: the reader's
 * @size:	KiB of the writer's inbound memory; @ring: bytes of its ring, which is at NTW_RING_AT
 * @reach:	KiB of the reader's inbound memory, from its beginning on, that the writer reaches
 * @heartbeat:	milliseconds between two beats of the writer
 * @msi_window: @msi_data: @msi_at: where and what to write to interrupt it
 * @features:	NTW_FEAT_*: what the writer can do, and what is done if both can; a bit that nobody
 *		knows is refused
 * @flat_shift:	so much of the writer's memory, from its beginning on, its window @flat_window shows, too: the flat window. 0: none
 * @flat_at:	byte of it that is &ntw_ctl.flat
 * @check:	ntw_check() of the bytes before
 */
struct ntw_hello {
	__le16	magic;
	u8	version;
	u8	signals;
	__le32	mine;
	__le32	yours;
	__le32	ring;
	__le32	size;
	__le32	reach;
	__le32	heartbeat;
	__le32	msi_window;
	__le64	msi_at;
	__le32	msi_data;
	__le32	features;
	__le64	flat_at;
	__le16	flat_window;
	__le16	flat_shift;
	__le32	check;
};

static_assert(sizeof(struct ntw_hello) == 64, "hello");

/** struct ntw_greeting - a hello in host order; @size and @reach in bytes */
struct ntw_greeting {
	u8	version;
	u8	signals;
	u32	mine, yours;
	u32	ring;
	u64	size, reach;
	u32	heartbeat;
	u32	msi_window;
	u64	msi_at;
	u32	msi_data;
	u32	features;
	u16	flat_window, flat_shift;
	u64	flat_at;
};

/**
 * struct ntw_ctl - how the control page begins; the rest is 0
 * @line:	all the time
 * @hello:	before the first line
 * @ready:	tagged, 1: @hello is whole
 * @flat:	tagged, 1: this has come by the flat window, so the other side reaches it
 */
struct ntw_ctl {
	struct ntw_line		line;
	struct ntw_hello	hello;
	__le64			ready;
	__le64			flat;
};

/** enum ntw_type - records. Those from NTW_FIRST on belong to the endpoints */
enum ntw_type {
	NTW_NONE,		/* no record begins so */
	NTW_SKIP,		/* nothing: fills the end of the ring, or stands where a copy failed */
	NTW_FIRST = 16,
};

/* Flags of a record that are the link's */
#define NTW_R_ACK	0x01	/* a signal with the @consumed that covers this */

/**
 * struct ntw_rec - how every record begins
 * @len:	bytes, with this header and without the padding to NTW_ALIGN
 * @type:	enum ntw_type
 * @flags:	NTW_R_*
 * @bits:	the endpoints'
 * @conn:	the endpoints': which connection, a number that the receiver has chosen
 * @check:	where the record begins: bytes of the ring produced before it, modulo 2^32, xor the
 *		receiver's incarnation. With NTW_FEAT_CRC: CRC32C, begun with ~0 and not inverted, of
 *		the record with that number here; of NTW_SKIP the first NTW_ALIGN bytes alone
 */
struct ntw_rec {
	__le32	len;
	u8	type;
	u8	flags;
	__le16	bits;
	__le32	conn;
	__le32	check;
};

static_assert(sizeof(struct ntw_rec) == NTW_ALIGN, "record");

#define NTW_HEAD_MAX	192U	/* bytes of a record's header, with what the endpoints put behind struct ntw_rec */

/* Most bytes of a record in a ring of @ring bytes */
static inline u32 ntw_rec_max(u32 ring)
{
	return ring / 8 < NTW_REC_MAX ? ring / 8 : NTW_REC_MAX;
}

/* What a record of @len bytes takes of the ring */
static inline u32 ntw_rec_span(u32 len)
{
	return (len + NTW_ALIGN - 1) & ~(NTW_ALIGN - 1);
}

/* A sum that tells a half-written thing from a whole one; no more than that */
u32 ntw_check(const void *data, size_t len);

/*
 * The peer's scratchpads, as read one after another. Pure.
 * Return: 0; -EAGAIN: nobody there, or half-written; -EPROTONOSUPPORT: another version; -EPROTO: no peer says this.
 */
int ntw_decode_hand(const u32 pads[NTW_PADS], struct ntw_hand *hand);
void ntw_encode_hand(const struct ntw_hand *hand, u32 pads[NTW_PADS]);

/* A copy of what is in the control page. Pure. Return: 0, -EPROTO, -EOPNOTSUPP (a feature that we do not know) */
int ntw_decode_hello(const struct ntw_hello *hello, struct ntw_greeting *g);
void ntw_encode_hello(const struct ntw_greeting *g, struct ntw_hello *hello);

/*
 * A word as it was read. Return: true and its number in @value, if it is of @incarnation.
 */
static inline bool ntw_decode_word(u64 word, u32 incarnation, u32 *value)
{
	if (word >> 32 != incarnation)
		return false;
	*value = (u32)word;
	return true;
}

/*
 * A copy of a record's first bytes. Pure.
 * @at: where it begins, modulo 2^32; @avail: bytes from there on that are produced; @ring: bytes of the ring; @incarnation: of who reads
 * A CRC is the caller's to look at: it puts what stands there without one in its place.
 * Return: the bytes it takes of the ring, or -EPROTO: no peer that follows the protocol says this.
 */
int ntw_decode_rec(const struct ntw_rec *rec, u32 at, u32 avail, u32 ring, u32 incarnation);

#endif /* _KFI_NTB_WIRE_H */
