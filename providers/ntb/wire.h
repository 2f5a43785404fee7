/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - format of what kfi_ntb writes to its peer: scratchpads, the control page, and records in
 * the rings. Nothing else is in this file.
 *
 * All integers in memory are little endian. docs/wire-ntb.md describes the protocol.
 *
 * This file also compiles in user space, for the fuzzer: it uses fixed-endian types and the helpers
 * below only.
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
#include <kfi_versions.h>

#define NTW_MAGIC		0x4e46		/* "FN": the upper half of the first scratchpad */
#define NTW_VERSION		8		/* highest version that this side speaks */
#define NTW_VERSION_MIN		8		/* lowest version that this side speaks */

/*
 * Inbound memory: queues, one behind the other, and the arena. A queue has a control page, a
 * message ring and a bulk ring. "The size of the rings" is that of the bulk ring
 */
#define NTW_QUEUES_MAX		8		/* queues of a link */
#define NTW_CTL_SIZE		4096U
#define NTW_RING_SHIFT_MIN	14
#define NTW_RING_SHIFT_MAX	22
/* records begin and end at a multiple of it: a line of the CPU's caches and write buffers */
#define NTW_ALIGN		64U
#define NTW_SIZE_MAX		(1ULL << 32)	/* bytes of inbound memory */
#define NTW_FLAT_SHIFT_MIN	12
#define NTW_FLAT_SHIFT_MAX	52
#define NTW_FLAT_MAX		(1ULL << NTW_FLAT_SHIFT_MAX)	/* bytes of a flat window */
/* Set in an address of memory of the other side if the memory is in the other side's flat window */
#define NTW_FLAT		(1ULL << 63)
#define NTW_BELLS_MAX		64		/* doorbell bits of a link */
/* maximum length of a record: a frame of kfi_net. It is at most a quarter of the ring, too */
#define NTW_REC_MAX		65536U

/**
 * enum ntw_which - the two rings of a side, in the order of their memory
 */
enum ntw_which {
	NTW_MSG,		/* short records, which the CPU writes */
	NTW_BULK,		/* all others, which the engine writes */
	NTW_RINGS
};

/* Bytes of a ring, for rings of @ring bytes. Its records are short, so the message ring is, too */
static inline u32 ntw_ring_size(enum ntw_which which, u32 ring)
{
	u32 least = 1U << NTW_RING_SHIFT_MIN;

	if (which == NTW_BULK)
		return ring;
	return ring / 4 > least ? ring / 4 : least;
}

/* Byte of a queue at which one of its rings begins, for rings of @ring bytes */
static inline u32 ntw_ring_at(enum ntw_which which, u32 ring)
{
	u32 at = NTW_CTL_SIZE;

	if (which > NTW_MSG)
		at += ntw_ring_size(NTW_MSG, ring);
	return which > NTW_BULK ? at + ring : at;
}

/* Byte of the inbound memory at which a queue begins */
static inline u32 ntw_queue_at(unsigned int queue, u32 ring)
{
	return queue * ntw_ring_at(NTW_RINGS, ring);
}

/* Byte of the inbound memory at which the arena begins, behind all queues */
static inline u32 ntw_arena_at(unsigned int queues, u32 ring)
{
	return ntw_queue_at(queues, ring);
}

/* Scratchpads of 32 bits, which each side writes on the other side */
enum ntw_pad {
	NTW_PAD_MAGIC,	/* NTW_MAGIC << 16 | oldest version << 8 | newest; in all versions */
	/*
	 * enum ntw_state | queues << 4 | shift of a ring << 8 | side << 13 | first bell << 16 |
	 * tried << 22 | bells << 24
	 */
	NTW_PAD_STATE,
	NTW_PAD_OWN_ID,		/* the writer's incarnation; 0 only while it is away */
	NTW_PAD_PEER_ID,	/* the reader's incarnation as the writer has read it, or 0 */
	/* log2 of the inbound memory in KiB << 24 | KiB of the writer's window to the reader */
	NTW_PAD_SIZE,
	NTW_PAD_CHECK,		/* checksum of the scratchpads before */
	NTW_PADS
};

#define NTW_SIZE_SHIFT	24
#define NTW_REACH_MASK	((1U << NTW_SIZE_SHIFT) - 1)

/**
 * enum ntw_state - state of the writer of the scratchpads
 */
enum ntw_state {
	NTW_AWAY,		/* the writer is not present, or is about to leave */
	/* the writer uses scratchpads only; none of its earlier writes is under way */
	NTW_QUIET,
	NTW_OPEN,		/* its inbound memory is open to the incarnation in NTW_PAD_PEER_ID */
	/*
	 * as NTW_QUIET: the writer has opened its inbound memory and closed it, and asks the reader
	 * to write to it: &struct ntw_ctl.shut, and the last word of queue 0
	 */
	NTW_TRY_CLOSED,
	/* the same, and it has given the window a translation of length 0 */
	NTW_TRY_OFF,
	/* the same, and the window shows other memory of the same length */
	NTW_TRY_SCRAP,
};

/**
 * struct ntw_handshake - the scratchpads, decoded
 * @version: the version that both sides use
 * @state: enum ntw_state
 * @queues: queues in the writer's inbound memory
 * @ring_shift: 1 << @ring_shift is the size of the writer's rings, see ntw_ring_size()
 * @side: 1 + number of the writer's end, if both ends agree on their numbers, because the driver
 *	gives both the same; 0: they have not yet, or the driver gives them different ones
 * @tried: the last of the reader's states NTW_TRY_* for which the writer has written; 0: none
 * @bell: first bit of the writer's doorbell register that the reader uses
 * @bells: number of these bits, see ntw_bells()
 * @own_id: incarnation of the writer
 * @peer_id: incarnation of the reader, or 0
 * @size_kib: inbound memory of the writer in KiB, a power of two
 * @reach_kib: KiB of the reader's inbound memory that the writer's window is long enough to reach.
 *	The reader chooses its rings accordingly, before it repeats @own_id
 */
struct ntw_handshake {
	u8	version;
	u8	state;
	u8	queues;
	u8	ring_shift;
	u8	side;
	u8	tried;
	u8	bell, bells;
	u32	own_id, peer_id;
	u32	size_kib, reach_kib;
};

/*
 * Return the bits that wake a queue, counted from the first of @bells bits, when @queues queues are
 * in use. Each queue has adjacent bits of its own, if there are enough: bridges have a vector for
 * each bit, or for several adjacent ones. Otherwise a bit wakes several queues
 */
static inline u64 ntw_bells(unsigned int queue, unsigned int queues, unsigned int bells)
{
	unsigned int first = queue * bells / queues, end = (queue + 1) * bells / queues;

	return ~0ULL >> (64 - (end > first ? end - first : 1)) << first;
}

/*
 * Return a word of the control page: a number modulo 2^32, and above it the incarnation of the
 * reader. The reader ignores words with another incarnation. Each word is written with one 8-byte
 * write.
 */
static inline u64 ntw_word(u32 incarnation, u32 value)
{
	return (u64)incarnation << 32 | value;
}

/* Flags in &ntw_line.serial */
#define NTW_ASK		1U
#define NTW_AWAKE	2U
#define NTW_FLAGS	3U
#define NTW_SERIAL_STEP	4U

/**
 * struct ntw_line - words that the CPU writes while the link is up, all of them tagged: ntw_word()
 * @produced: bytes of the reader's message ring that hold records
 * @consumed: bytes of each of the writer's rings that the writer has handled. The reader may reuse
 *	the memory of what it has sent up to here
 * @echo: the last @serial of the reader that the writer has seen
 * @serial: grows by NTW_SERIAL_STEP with each line. Lines are also sent as time passes, so it is a
 *	sign of life. A reader that sees a value also sees the positions of the line, and all
 *	that the writer's CPU has written before. NTW_ASK: the writer asks for a line and a signal;
 *	it is set in all lines until an echo shows that the first of them was seen. NTW_AWAKE: the
 *	writer polls and needs no signal for a line, until it sends a line without the flag
 * @bye: 1: the writer's life ends; 2: because it has received other bytes than were sent
 * @late: not 0: the writer has found that doorbells of the reader overtake what it has written
 * @zero: 0
 *
 * The line is one aligned cache line. @produced and @consumed are written before @echo and
 * @serial: a reader that sees a new one of these sees positions that are at least as new.
 */
struct ntw_line {
	__le64	produced;
	__le64	consumed[NTW_RINGS];
	__le64	echo;
	__le64	serial;
	__le64	bye;
	__le64	late;
	__le64	zero;
};

static_assert(sizeof(struct ntw_line) == 64, "line");

/**
 * struct ntw_bulk_line - words that the engine writes behind records of the bulk ring, tagged
 * @after: position in the message ring, in units of NTW_ALIGN: records of the bulk ring below
 *	@produced come after the records of the message ring below it
 * @produced: bytes of the reader's bulk ring that hold records
 *
 * @after is written before @produced.
 */
struct ntw_bulk_line {
	__le64	after;
	__le64	produced;
};

/* Bits of &ntw_hello.features */
#define NTW_FEAT_CRC	0x01	/* &ntw_rec.check is a CRC of the record */
#define NTW_FEAT_CRC_PLACED	0x02	/* records that announce placed payload have a CRC of it */
/*
 * the writer's engine may not report an error: if both sides can, that CRC has to be there, and
 * &ntw_rec.check, with NTW_FEAT_CRC, has to cover all of a record
 */
#define NTW_FEAT_WANT_PLACED	0x04
#define NTW_FEATS	(NTW_FEAT_CRC | NTW_FEAT_CRC_PLACED | NTW_FEAT_WANT_PLACED)

/**
 * struct ntw_hello - written once in each life, to the first queue, before the first record
 * @magic: NTW_MAGIC
 * @version: the version that is used
 * @own_id: the writer's incarnation
 * @peer_id: the reader's incarnation
 * @ring: size of the writer's rings, see ntw_ring_size()
 * @size: KiB of the writer's inbound memory
 * @end: byte of the writer's inbound memory, divided by 8, at which the reader writes this number
 *	as a word, tagged: a window may show less than its driver says. Memory behind it is not
 *	exposed
 * @heartbeat: milliseconds between two signs of life of the writer
 * @features: NTW_FEAT_* that the writer supports. A feature is used if both sides support it. A
 *	hello with an unknown bit is refused
 * @flat_at: byte of the flat window that is &ntw_ctl.flat
 * @flat_window: index of the memory window that is the writer's flat window
 * @flat_shift: 1 << @flat_shift bytes of the writer's memory, from its beginning on, are in the
 *	flat window. 0: there is none
 * @queues: queues that the writer would use: no more than either side has, and the writer reaches.
 *	The smaller number of both hellos is used
 * @check: ntw_check() of the bytes before
 */
struct ntw_hello {
	__le16	magic;
	__le16	version;
	__le32	own_id;
	__le32	peer_id;
	__le32	ring;
	__le32	size;
	__le32	end;
	__le32	heartbeat;
	__le32	features;
	__le64	flat_at;
	__le16	flat_window;
	u8	flat_shift;
	u8	queues;
	__le32	check;
};

static_assert(sizeof(struct ntw_hello) == 48, "hello");

/** struct ntw_hello_info - a hello in host order; @size and @end in bytes */
struct ntw_hello_info {
	u16	version;
	u32	own_id, peer_id;
	u32	ring;
	u64	size, end;
	u32	heartbeat;
	u32	features;
	u16	flat_window;
	u8	flat_shift;
	u8	queues;
	u64	flat_at;
};

/* Values of &ntw_ctl.ready; each includes those before */
enum ntw_ready {
	NTW_READY_HELLO = 1,	/* the hello is complete */
	NTW_READY_END,		/* the writer has written the word to &ntw_hello.end of the reader */
	NTW_READY_UP,		/* the writer knows what works, see &ntw_ctl.proof */
};

/**
 * struct ntw_ctl - the beginning of the control page; the rest is 0
 * @line: changes while the link is up
 * @bulk: changes while the link is up
 * @hello: written before the first line, to the first queue only, as the members below
 * @ready: tagged, enum ntw_ready
 * @flat: tagged, 1: written through the flat window, which shows that the other side reaches it
 * @proof: in each queue, tagged: 1, and the number of bytes at the beginning of its bulk ring that
 *	the engine of the queue has written before, see ntw_proof_byte()
 * @seen: tagged: bits of the writer's queues in which @proof and those bytes have arrived
 * @rang: tagged: the writer's doorbell bits that have rung since its hello, counted from the first
 *	one that it uses
 * @shut: tagged, a state NTW_TRY_*: written when the reader's window is closed
 */
struct ntw_ctl {
	struct ntw_line		line;
	struct ntw_bulk_line	bulk;
	struct ntw_hello	hello;
	__le64			ready;
	__le64			flat;
	__le64			zero[6];
	__le64			proof[2];
	__le64			seen;
	__le64			rang[2];
	/*
	 * If the window of a bridge without a limit shows address 0, what the firmware of a PC has
	 * there stays.
	 */
	__le64			gap[227];
	__le64			shut;
};

static_assert(offsetof(struct ntw_ctl, proof) == 192 && offsetof(struct ntw_ctl, shut) == 2048,
	      "control page");

/* Byte @at of what an engine writes as its proof to the bulk ring of a side with that incarnation */
static inline u8 ntw_proof_byte(u32 incarnation, u32 at)
{
	return incarnation + at * 7 + (at >> 8);
}

/* Byte of the inbound memory that is written to beside &ntw_ctl.shut: the last word of queue 0 */
static inline u32 ntw_shut_at(u32 ring)
{
	return ntw_queue_at(1, ring) - sizeof(u64);
}

/**
 * enum ntw_type - types of records. Those from NTW_FIRST on belong to connections
 */
enum ntw_type {
	NTW_NONE,		/* never sent */
	/* filler: at the end of a ring, or in the place of a record that could not be copied */
	NTW_SKIP,
	NTW_FIRST = 16,
};

/**
 * struct ntw_rec - header of each record
 * @len: bytes behind this header, without the padding to NTW_ALIGN
 * @type: enum ntw_type. With NTW_FEAT_CRC it is NTW_NONE at the end of the message ring's records,
 *	so a record that follows is found without a line
 * @bits: for connections
 * @conn: for connections: the number that the receiver has chosen
 * @done: message ring: position in the writer's bulk ring up to which the writer has handled what
 *	the reader has sent, as &ntw_line.consumed
 * @head: bulk ring: bytes at the beginning of the record that a CRC covers, if it does not cover
 *	all of them; 0: it does, or there is none
 * @check: where the record begins: bytes of the ring produced before it, modulo 2^32, xor the
 *	receiver's incarnation. With NTW_FEAT_CRC: CRC32C, begun with ~0 and not inverted, of the
 *	record with that number here, or of its first @head bytes; of NTW_SKIP this header alone
 */
struct ntw_rec {
	__le16	len;
	u8	type;
	u8	bits;
	__le32	conn;
	union {
		__le32	done;
		__le32	head;
	};
	__le32	check;
};

static_assert(sizeof(struct ntw_rec) == 16, "record");

/* Bytes of a record, with its header and without the padding */
static inline u32 ntw_rec_len(const struct ntw_rec *rec)
{
	return sizeof(*rec) + le16_to_cpu(rec->len);
}

/** struct ntw_addr - name of an endpoint: an end of a bridge, and a number at this end */
struct ntw_addr {
	__le32	side;
	__le32	port;
};

static_assert(sizeof(struct ntw_addr) == 8, "address");

/* Bit of &kfi_link_place.key. The owner of the place chooses the other bits */
#define NTW_K_WINDOW	0x0001	/* 0: inbound memory; 1: flat window */

/* maximum length of a record's header, with what connections add to struct ntw_rec */
#define NTW_HEAD_MAX	192U

/* Maximum length of a record in rings of @ring bytes */
static inline u32 ntw_rec_max(u32 ring)
{
	return ring / 4 < NTW_REC_MAX ? ring / 4 : NTW_REC_MAX;
}

/* Bytes of the ring that a record of @len bytes takes */
static inline u32 ntw_rec_span(u32 len)
{
	return (len + NTW_ALIGN - 1) & ~(NTW_ALIGN - 1);
}

/*
 * Compute a checksum that tells a complete structure from one that was written in part. It protects
 * from nothing else
 */
u32 ntw_check(const void *data, size_t len);

extern const struct kfi_versions ntw_speaks;

/* What the writer of the scratchpads speaks, if they have NTW_MAGIC */
struct kfi_versions ntw_pads_versions(const u32 pads[NTW_PADS]);

/*
 * Decode the peer's scratchpads, which were read one after another. Pure function.
 * Return: 0; -EAGAIN: there is no peer, or not all of them were written yet; -EPROTONOSUPPORT: no
 * common version; -EPROTO: invalid
 */
int ntw_decode_handshake(const u32 pads[NTW_PADS], struct ntw_handshake *handshake);
void ntw_encode_handshake(const struct ntw_handshake *handshake, u32 pads[NTW_PADS]);

/*
 * Decode a copy of the hello in the control page. Pure function. Return: 0; -EPROTO; -EOPNOTSUPP:
 * an unknown feature
 */
int ntw_decode_hello(const struct ntw_hello *hello, struct ntw_hello_info *g);
void ntw_encode_hello(const struct ntw_hello_info *g, struct ntw_hello *hello);

/* Decode a word. Return: true, and the number in *@value, if it is tagged with @incarnation */
static inline bool ntw_decode_word(u64 word, u32 incarnation, u32 *value)
{
	if (word >> 32 != incarnation)
		return false;
	*value = (u32)word;
	return true;
}

/*
 * Check a copy of a record's header. Pure function.
 * @which: the ring
 * @at: position of the record, modulo 2^32; @avail: bytes from there on that were produced; @ring:
 *	bytes of the ring; @incarnation: the reader's incarnation
 *
 * If records have a CRC, the caller checks it, and sets &ntw_rec.check to the number that is there
 * without a CRC. Return: bytes of the ring that the record takes, or -EPROTO
 */
int ntw_decode_rec(const struct ntw_rec *rec, enum ntw_which which, u32 at, u32 avail, u32 ring,
		   u32 incarnation);

#endif /* _KFI_NTB_WIRE_H */
