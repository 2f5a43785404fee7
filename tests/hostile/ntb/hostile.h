/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - a peer of kfi_ntb that breaks the protocol. The peer has one end of a bridge and
 * kfi_ntb has the other end, in the same kernel; the victims (../victim.h) are endpoints of
 * kfi_ntb. The peer shares the wire format with kfi_ntb (wire.h, kfi/mux/record.h) and no other
 * code: the CPU copies the bytes, and a thread polls for records of kfi_ntb.
 *
 *	peer.c	 the link, lines and records
 *	cases.c	 what it does to the victim	queues.c  the same, with several queues
 */
#ifndef KFI_NTB_HOSTILE_H
#define KFI_NTB_HOSTILE_H

#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/sched.h>
#include <kfabric.h>
#include "../../../kfi/proto/wire.h"
#include "../../../kfi/mux/record.h"
#include "../../../providers/ntb/wire.h"
#include "../victim.h"

#define HP_MEM		131072U		/* our inbound memory */
#define HP_END		(HP_MEM - NTW_ALIGN)	/* the last line of it */
#define HP_REACH_KIB	4096U		/* length of our window */
#define HP_QUEUES	2U		/* queues that have room in it */
#define HP_RING_SHIFT	14
#define HP_RING		(1U << HP_RING_SHIFT)
#define HP_BLOCK	8192U		/* maximum of bytes that are written at once */
#define HP_NUMBERS	4096U		/* connections of ours that are remembered */
#define HP_WINDOW	65536U		/* receive window of a stream */
#define HP_CREDIT	64U		/* units of messages, and requests, that the peer grants */
#define HP_BEAT_MS	20
#define HP_WAIT_MS	30000U		/* limit for an event that has to happen */
#define HP_PORT		1000U		/* the first port that the peer calls from */
#define HP_PLACED	16384U		/* bytes of a message that is placed */
#define VICTIM_BUF	1024U		/* bytes of a message */
#define VICTIM_CQ	64U		/* entries of its completion queue */

enum hp_state { HP_DOWN, HP_QUIET, HP_OPEN, HP_HELLO, HP_UP };

/* bits for what the victim has sent: records, hellos, frames */
#define HP_RECEIVED(type)	BIT_ULL(type)
#define HP_HELLO(kind)	BIT_ULL(32 + (kind))
#define HP_FRAME(type)	BIT_ULL(40 + (type))

/**
 * struct hp_received - what the victim has sent for one of our connections
 * @number: our number of the connection
 * @types: HP_RECEIVED(), HP_HELLO(), HP_FRAME()
 * @from: the victim's number; 0: unknown
 * @status: of the last ANSWER
 * @bits: of the last CLOSE
 * @places: number of places in the last GRANT
 * @grant: header of the last GRANT
 * @seg: its segment
 * @at: address of the first place
 * @key: key of the first place
 * @id: of the last RTS
 * @gen: of the last RTS
 * @placed: bytes that were written to our places
 * @crc: of the last bytes that were placed
 * @queues: bits of the queues through which it came
 */
struct hp_received {
	u32	number;
	u64	types;
	u32	from;
	u32	status;
	u16	bits;
	u16	places;
	struct kfw_hdr	grant;
	struct kfw_rma	seg;
	u64	at;
	u32	key;
	u32	id, gen;
	u32	placed;
	u32	crc;
	u32	queues;
};

/**
 * struct hp_pads - what the peer announces in its scratchpads about its memory and doorbell. The
 * hello repeats all but the doorbell; its number of queues is that of those to be used
 * @queues: see struct ntw_handshake for all of them
 */
struct hp_pads {
	u8	queues, ring_shift;
	u8	bell, bells;
	u32	size_kib;
};

/**
 * struct hp_stream - the connection whose streams are followed: the last one that was called
 * @number: our number of the connection
 * @sent: bytes sent in DATA
 * @put: bytes announced as placed
 * @got: bytes received in DATA
 * @in: bytes that were not parsed yet
 * @have: number of bytes in @in
 * @hello_done: the hello was received
 */
struct hp_stream {
	u32	number;
	u64	sent, put, got;
	u8	in[4096];
	u32	have;
	bool	hello_done;
};

/**
 * struct hp_queue - one queue of the link
 * @placed: bytes written to the victim's message ring, which has all our records
 * @reported: bytes of these that were announced
 * @freed: bytes of these that the victim has handled
 * @got: bytes of each of our rings that were handled
 * @more: bytes that we claim to have handled besides
 * @serial: of our last line
 * @beat: time of our last line
 * @seen: serial of the victim's last line
 * @echo: serial that was echoed last
 */
struct hp_queue {
	u64		placed, reported, freed;
	u64		got[NTW_RINGS], more[NTW_RINGS];
	u32		serial, seen, echo;
	unsigned long	beat;
};

/**
 * struct hp - the peer
 * @window: window to the victim's memory, for the whole test
 * @mem: our memory that the victim writes, with a control page and two rings, for the whole test
 * @task: polls for records, and beats
 * @lock: protects the following members
 * @bell: the first bit of the victim's doorbell
 * @bells: number of these bits; 0: the victim has announced none yet
 * @ring: size of each of the victim's rings
 * @pads: what the scratchpads announce until both sides are quiet
 * @later: what they announce from then on
 * @hello: what the hello announces
 * @used: queues that are in use
 * @on: the queue for our records
 * @queue: the queues
 * @deaf: bits of queues in which the peer beats, but reports nothing new as handled or seen
 * @no_hello: send no hello
 * @fewer: announce one queue in the hello, when the victim's engines write their proof
 * @features: NTW_FEAT_* as announced
 * @reach_kib: KiB of the victim's memory that the peer claims to reach
 * @end: byte of its memory at which the peer wants a word of the victim
 * @no_end: write no word to the end of the victim's memory
 * @tried: the victim's state NTW_TRY_* to which the peer has answered
 * @left: lives of the link that the victim has ended before they came up
 * @next: number of our next connection
 * @counts: records from the victim, of each type
 * @received: what was sent for each of our last connections
 * @stream: the connection that is followed
 * @block: buffer in which records are composed
 */
struct hp {
	struct ntb_dev		*ntb;
	void __iomem		*window;
	void			*mem;
	dma_addr_t		dma;
	struct task_struct	*task;
	struct mutex		lock;
	enum hp_state		state;
	u32			own_id, peer_id;
	u8			bell, bells;
	u32			ring;
	struct hp_pads		pads, later, hello;
	u8			used;
	unsigned int		on;
	struct hp_queue		queue[HP_QUEUES];
	u32			deaf;
	bool			no_hello;
	bool			fewer;
	u32			features;
	u32			reach_kib;
	u64			end;
	bool			no_end;
	u8			tried;
	u32			left;
	u32			next;
	u64			counts[KMW_TYPES];
	struct hp_received	received[HP_NUMBERS];
	struct hp_stream	stream;
	u8			block[HP_BLOCK] __aligned(8);
};

/* peer.c: process context, no lock */
int hp_start(struct hp *hp, struct ntb_dev *ntb);
void hp_stop(struct hp *hp);
int hp_wait_up(struct hp *hp);	/* 0, -ETIMEDOUT */
void hp_bye(struct hp *hp);	/* begin another life of the link */
/* Set or read a member of the peer under its lock. */
#define hp_set(hp, member, value)					\
do {									\
	mutex_lock(&(hp)->lock);					\
	(hp)->member = (value);						\
	mutex_unlock(&(hp)->lock);					\
} while (0)
#define hp_get(hp, member)						\
({									\
	typeof((hp)->member) __value;					\
									\
	mutex_lock(&(hp)->lock);					\
	__value = (hp)->member;						\
	mutex_unlock(&(hp)->lock);					\
	__value;							\
})
void hp_set_features(struct hp *hp, u32 features);	/* begins another life */
void hp_set_reach(struct hp *hp, u32 kib);	/* the same */
void hp_set_end(struct hp *hp, u64 end);	/* the same */
/* the same: announce @queues in the scratchpads and @hello in the hello */
void hp_set_queues(struct hp *hp, u8 queues, u8 hello);
/* the same: announce @pads at first, @later as soon as the victim may use them, and @hello */
void hp_set_pads(struct hp *hp, struct hp_pads pads, struct hp_pads later, struct hp_pads hello);
struct hp_pads hp_pads(u8 queues);	/* what is true of @queues queues */
/* Break the positions of a queue: claim to have written and handled so many more bytes. */
void hp_add_positions(struct hp *hp, unsigned int queue, u32 placed, u32 message, u32 bulk);
/* Write a word with the victim's incarnation to byte @at of the control page of a queue. */
void hp_write_word(struct hp *hp, unsigned int queue, u32 at, u32 value);
bool hp_hello_received(struct hp *hp);	/* the victim has sent its hello and waits for ours */
/*
 * Records become visible to the victim with the next flush or beat, or when there is no room for
 * more. Return: 0, -ENOTCONN or -ETIMEDOUT
 */
int hp_post(struct hp *hp, struct ntw_rec *rec, const void *body, u32 len, unsigned int copies);
void hp_flush(struct hp *hp);
int hp_wait_taken(struct hp *hp);	/* wait until all were handled: 0 or -ETIMEDOUT */
u32 hp_number(struct hp *hp);		/* number for another connection of ours */
/* Follow the streams of this connection from now on. */
void hp_follow(struct hp *hp, u32 number);
/* Wait for one of these types for the connection. Return: which, or 0 after @ms */
u64 hp_wait(struct hp *hp, u32 number, u64 types, unsigned int ms);
struct hp_received hp_received(struct hp *hp, u32 number);

/*
 * Single records: return values as of hp_post(). @to is the victim's number, @number ours, of the followed
 * connection.
 */
int hp_send_call(struct hp *hp, u32 number, u32 from, u32 to, unsigned int copies);
int hp_send_answer(struct hp *hp, u32 to, u32 number);
int hp_send_close(struct hp *hp, u32 to, u16 bits);
/*
 * Send @len bytes of zeroes as if @pos bytes had been sent before, with a limit that is @less than
 * the last one.
 */
int hp_send_data(struct hp *hp, u32 number, u64 pos, u32 less, u16 bits, u32 len);
int hp_send_hello(struct hp *hp, u32 number, u64 incarnation, bool key);
int hp_send_asking(struct hp *hp, u32 number, u64 key, u64 len);
/* write no byte to the region @key, with an event for the victim's consumer */
int hp_send_touch(struct hp *hp, u32 number, u64 key);
/* receive a message into @len bytes of our inbound memory from @at on, as a place */
int hp_send_take(struct hp *hp, u32 number, u32 at, u32 len);
/* a message with 4 bytes */
int hp_send_message(struct hp *hp, u32 number, u32 value);
/* announce @len bytes, with this CRC, in the memory that the victim has exposed */
int hp_send_placed(struct hp *hp, u32 number, u32 len, u32 crc);

/*
 * cases.c: return the number of failed cases. @mapped: run those with a window over registered
 * memory
 */
int hostile_cases(struct hp *hp, const char *only, bool mapped);
bool hp_check(bool truth, const char *what);
/* open one that sends @len bytes, without a key, or with a key that no peer knows */
int hp_victim(struct victim *v, size_t len, bool key);
int hp_victim_sends(struct hp *hp, struct victim *v);	/* send all of its buffer to us */
void hp_fill(u8 *bytes, u32 len);
/* kfi_ntb answers a call of ours, on the link that comes up */
bool hp_answers(struct hp *hp);
bool hp_stays_down(struct hp *hp);	/* it answers none */
/*
 * Return: our number of the connection, 0: failed. HP_PORT + @from: our port, in the first two; @v
 * NULL: call a port at which nobody listens
 */
u32 hp_call(struct hp *hp, const struct victim *v, u32 from);
u32 hp_answered(struct hp *hp, const struct victim *v, u32 from);	/* it is followed then */
u32 hp_accepted(struct hp *hp, const struct victim *v);		/* the same, by a victim without a key */
/* the same, and the victim has exposed memory to a write */
u32 hp_exposed_to(struct hp *hp, struct victim *v);

/* queues.c */
bool hp_queue_numbers(struct hp *hp, struct victim *none);
bool hp_queue_changes(struct hp *hp, struct victim *none);
bool hp_queue_fewer(struct hp *hp, struct victim *none);
bool hp_queue_of_another(struct hp *hp, struct victim *none);
bool hp_queue_positions(struct hp *hp, struct victim *none);
bool hp_queue_unused(struct hp *hp, struct victim *none);
bool hp_queue_unread(struct hp *hp, struct victim *none);
bool hp_queue_as_place(struct hp *hp, struct victim *none);

#endif
