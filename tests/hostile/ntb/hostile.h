/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - a peer of kfi_ntb that breaks the protocol. The peer has one end of a bridge and
 * kfi_ntb has the other end, in the same kernel; the victims (../victim.h) are endpoints of
 * kfi_ntb. The peer shares the wire format with kfi_ntb (wire.h, record.h) and no other code: the
 * CPU copies the bytes, and a thread polls for records of kfi_ntb.
 *
 *	hand.c	 until the link is up		say.c	  single records
 *	peer.c	 lines and records, both ways	mapped.c  what it does to the victim behind an IOMMU
 *	cases.c	 what it does to the victim
 */
#ifndef KFI_NTB_HOSTILE_H
#define KFI_NTB_HOSTILE_H

#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/sched.h>
#include <kfabric.h>
#include "../../../kfi/proto/wire.h"
#include "../../../providers/ntb/record.h"
#include "../victim.h"

#define HP_MEM		65536U		/* our inbound memory */
#define HP_RING_SHIFT	14
#define HP_RING		(1U << HP_RING_SHIFT)
#define HP_BLOCK	8192U		/* bytes that are written at once, at most */
#define HP_NUMBERS	4096U		/* connections of ours that are remembered */
#define HP_WINDOW	65536U		/* bytes of a stream that we take */
#define HP_CREDIT	64U		/* units of messages, and requests, that we grant */
#define HP_BEAT_MS	20
#define HP_WAIT_MS	30000U		/* for whatever has to come */
#define HP_TEXT	64U		/* bytes of a message of ours, at most */
#define VICTIM_BUF	1024U		/* bytes of a message */
#define VICTIM_CQ	64U		/* what it has been told of and has not looked at */

enum hp_state { HP_DOWN, HP_QUIET, HP_OPEN, HP_HELLO, HP_UP };

/* What the victim has said to a connection: records, hellos, frames */
#define HP_SAID(type)	BIT_ULL(type)
#define HP_HELLO(kind)	BIT_ULL(32 + (kind))
#define HP_FRAME(type)	BIT_ULL(40 + (type))

/**
 * struct hp_heard - what the victim has said to one of our connections
 * @number: our number; @types: HP_SAID(), HP_HELLO(), HP_FRAME()
 * @from: its number of the connection, 0: not said; @status: of an ANSWER; @bits: of a CLOSE
 * @places: of the last CTS; @slot: the same; @at: @key: of its first place
 * @id: @gen: of the last RTS
 * @placed: bytes that were written to our places; @crc: of the last ones
 */
struct hp_heard {
	u32	number;
	u64	types;
	u32	from;
	u32	status;
	u16	bits;
	u16	places;
	u16	slot;
	u64	at;
	u32	key;
	u32	id, gen;
	u32	placed;
	u32	crc;
};

/**
 * struct hp_stream - a connection whose streams are followed: the last one that was called
 * @number: our number
 * @sent: bytes that we have sent in DATA; @put: bytes that we have said to be in places
 * @got: bytes that have come in DATA
 * @in: those that were not parsed yet, @have bytes; @greeted: the hello has come
 */
struct hp_stream {
	u32	number;
	u64	sent, put, got;
	u8	in[4096];
	u32	have;
	bool	greeted;
};

/**
 * struct hp - the peer
 * @window: to the victim's memory; @mem: ours, that it writes, with a control page and a ring; both
 *	from start to end
 * @task: looks for what comes, and beats
 * @lock: protects all that follows
 * @bell: the victim's doorbell; @bells: it has said which
 * @ring: bytes of the victim's ring
 * @placed: @told: bytes that we have written there; that it knows of; @freed: that it has handled
 * @got: bytes of our ring that we have handled
 * @serial: of our last line; @beat: when that was
 * @seen: the victim's; @echo: as we have told it
 * @deaf: we beat, but say that we have handled and seen nothing new
 * @shy: we say no hello
 * @flat_shift: @flat_window: what we say of all our memory
 * @features: NTW_FEAT_* that we say
 * @reach: bytes of the victim's memory that we say we reach; @reach_more: of them those that are
 *	not there
 * @left: lives that the victim has ended before they had begun
 * @next: number for our next connection
 * @said: records from the victim, of each type; @heard: the last of each of our connections
 * @stream: the connection that is followed
 * @block: records, as they are put together
 */
struct hp {
	struct ntb_dev		*ntb;
	void __iomem		*window;
	void			*mem;
	dma_addr_t		dma;
	struct task_struct	*task;
	struct mutex		lock;
	enum hp_state		state;
	u32			mine, yours;
	u8			bell;
	bool			bells;
	u32			ring;
	u64			placed, told, freed;
	u64			got;
	u32			serial;
	u32			seen, echo;
	unsigned long		beat;
	bool			deaf, shy;
	u16			flat_shift, flat_window;
	u32			features;
	u64			reach;
	s64			reach_more;
	u32			left;
	u32			next;
	u64			said[NTW_SAYS];
	struct hp_heard		heard[HP_NUMBERS];
	struct hp_stream	stream;
	u8			block[HP_BLOCK] __aligned(8);
};

/* hand.c: the lock is held. One step towards a link; and the end of one */
void hp_shake(struct hp *hp);
void hp_down(struct hp *hp);
bool hp_same_life(struct hp *hp);
bool hp_has_greeted(struct hp *hp);
void hp_ring(struct hp *hp);	/* the victim's doorbell */

/* peer.c: process context, no lock */
int hp_start(struct hp *hp, struct ntb_dev *ntb);
void hp_stop(struct hp *hp);
int hp_wait_up(struct hp *hp);	/* 0, -ETIMEDOUT */
void hp_bye(struct hp *hp);	/* the link ends by our will; it comes up again */
void hp_set_deaf(struct hp *hp, bool deaf);
void hp_set_shy(struct hp *hp, bool shy);
void hp_set_flat(struct hp *hp, u16 shift, u16 window);	/* from the next life on, which begins */
void hp_set_features(struct hp *hp, u32 features);	/* the same */
void hp_set_reach(struct hp *hp, s64 more);	/* the same, of the victim's memory */
bool hp_greeted(struct hp *hp);	/* the victim has said hello, and waits for ours */
u32 hp_left(struct hp *hp);	/* so often it has begun another life instead of coming up */
/*
 * The victim sees records when they have been flushed, or a beat goes out, or there is no room for
 * more. 0, -ENOTCONN, -ETIMEDOUT
 */
int hp_post(struct hp *hp, struct ntw_rec *rec, const void *body, u32 len, unsigned int copies);
void hp_flush(struct hp *hp);
int hp_wait_taken(struct hp *hp);	/* all of them have been handled. 0, -ETIMEDOUT */
u32 hp_number(struct hp *hp);		/* for a connection of ours */
u64 hp_said(struct hp *hp, enum ntw_say type);
/* Follow the streams of this connection from now on. */
void hp_follow(struct hp *hp, u32 number);
/* One of these types has been said to it. Return: which, or 0 after @ms */
u64 hp_wait(struct hp *hp, u32 number, u64 types, unsigned int ms);
struct hp_heard hp_heard(struct hp *hp, u32 number);

/*
 * say.c: as hp_post(). @to: the victim's number; @number: ours, of the connection that is followed
 */
int hp_say_call(struct hp *hp, u32 number, u32 from, u32 to, unsigned int copies);
int hp_say_answer(struct hp *hp, u32 to, u32 number);
int hp_say_close(struct hp *hp, u32 to, u16 bits);
/*
 * @len bytes of nothing, as if @pos bytes had been sent before, with a limit that is @less than the
 * last one
 */
int hp_say_data(struct hp *hp, u32 number, u64 pos, u32 less, u16 bits, u32 len);
int hp_say_hello(struct hp *hp, u32 number, u64 incarnation, bool key);
int hp_say_asking(struct hp *hp, u32 number, u64 key, u64 len);
/* a write of nothing to the region @key, of which the victim's consumer is told */
int hp_say_touch(struct hp *hp, u32 number, u64 key);
/* the receive for a message is the first @len bytes behind our ring, which are open for it */
int hp_say_take(struct hp *hp, u32 number, u32 len);
/* what the victim has exposed to us is there, all @len bytes of it, which have that CRC */
int hp_say_placed(struct hp *hp, u32 number, u32 len, u32 crc);

/* cases.c: how many went wrong. @mapped: those that want a window over what is registered */
int hostile_cases(struct hp *hp, const char *only, bool mapped);
bool hp_check(bool truth, const char *what);
/* opens one, with a key that no peer has been told, or without one */
int hp_victim(struct victim *v, bool key);

/* mapped.c */
bool hp_mapped(struct hp *hp, struct victim *v);

#endif
