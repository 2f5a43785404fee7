/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - a peer of kfi_usb4 that breaks the protocol. Its driver is bound to the service of
 * host b of the mock (tests/mock/usb4), and kfi_usb4 to that of host a, in the same kernel. The
 * peer shares the wire format with kfi_usb4 (wire.h, same.h, kfi/mux/record.h) and no other code. "The
 * victim" is kfi_usb4 at host a.
 *
 *	main.c		the module, and the list of cases
 *	message.c	messages of the control channel
 *	peer.c		rings, frames, and lives that begin and end as they should
 *	frames.c	cases: single frames that are wrong
 *	floods.c	cases: too much of something, and connections
 *	logins.c	cases: messages that are wrong, and peers that do nothing
 */
#ifndef KFI_USB4_HOSTILE_H
#define KFI_USB4_HOSTILE_H

#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/thunderbolt.h>
#include <linux/uuid.h>
#include "../../../kfi/mux/record.h"
#include "../../../providers/usb4/same.h"
#include "../victim.h"

#define HU_FRAMES	64U	/* frames of each of our rings */
#define HU_WINDOW	256U	/* that kfi_usb4 has, too, so it is that of the life */
#define HU_NUMBERS	8192U	/* connections of ours that are remembered */
#define HU_SEND_MS	2000U	/* limit for a frame to be sent, or acknowledged */
#define HU_WAIT_MS	10000U	/* limit for an event that has to happen */
#define HU_REPLY_MS	500U	/* the same for a reply */
#define HU_TIMEOUT_S	5	/* parameter timeout_s of kfi_usb4 */
#define HU_HOLD_S	4	/* the same of hold_s */
#define HU_UP_MS	500U	/* that gives a life which goes on more time than a login takes */
#define HU_PORT_NOBODY	0x7ffffff0U	/* no endpoint listens there */
#define HU_NOBODY	0x7ffffff1U	/* no connection has this number soon */
#define HU_FLOOD	(3UL << 20)	/* memory that thousands of anything may take */

/**
 * enum hu_reply - how the peer replies to a LOGIN
 * @HU_HONEST: as it should
 * @HU_NONE: not at all
 * @HU_TYPE: by a LOGOUT_REPLY
 * @HU_ECHO: by the LOGIN itself
 * @HU_FROM: as another host
 * @HU_TO: to another host
 * @HU_OTHER: with another incarnation than that of its own LOGIN
 * @HU_ZERO: with the incarnation 0
 * @HU_STATUS: with a status that no errno has
 * @HU_SHORT: by a message that is too short
 * @HU_BUSY: EBUSY, for ever
 * @HU_VERSION: with another version
 * @HU_REPLIES: number of these
 */
enum hu_reply {
	HU_HONEST, HU_NONE, HU_TYPE, HU_ECHO, HU_FROM, HU_TO, HU_OTHER, HU_ZERO, HU_STATUS,
	HU_SHORT, HU_BUSY, HU_VERSION, HU_REPLIES
};

/**
 * struct hu_slot - a frame and its memory
 * @frame: the frame, as the core knows it
 * @hu: the peer
 * @mem: U4W_FRAME bytes
 * @busy: sending side: the ring has it
 */
struct hu_slot {
	struct ring_frame	frame;
	struct hu		*hu;
	void			*mem;
	bool			busy;
};

/**
 * struct hu_got - what the victim has sent for one of our connections
 * @number: our number of the connection
 * @from: the victim's number; 0: unknown
 * @status: of the last ANSWER
 * @answers: number of ANSWERs
 * @closes: number of CLOSEs
 */
struct hu_got {
	u32		number;
	u32		from;
	u32		status;
	unsigned int	answers, closes;
};

/**
 * struct hu_content - records that go into one frame
 * @len: bytes of @bytes
 * @bytes: the records
 */
struct hu_content {
	u32	len;
	u8	bytes[U4W_CONTENT] __aligned(4);
};

/**
 * struct hu - the peer
 * @xd: the victim's host, as host b sees it; NULL: the driver is not bound
 * @rx: receiving ring
 * @tx: sending ring
 * @in: its frames
 * @out: its frames
 * @content: records that are being composed, by the cases
 * @frame: a frame that is being composed, the same
 * @rnd: random numbers, which the parameter seed repeats
 * @running: the rings run, and the path is configured
 * @out_hop: HopID on which we send
 * @in_hop: HopID on which the victim sends
 * @number: our last number of a connection
 * @said: what our LOGINs say of us
 *
 * @lock: protects the next members
 * @narrow: our LOGINs have a smaller window
 * @mute: send no STATE frames, and acknowledge nothing new
 * @reply: how LOGINs are replied to
 * @incarnation: ours
 * @theirs: incarnation of the victim's last LOGIN
 * @their_hop: its HopID
 * @agreed: the victim's LOGIN @theirs was replied to with status 0 and @incarnation
 * @logins: number of LOGINs of the victim
 * @replies: number of its replies
 * @answer: its last reply
 *
 * @born_own: our incarnation when the life began
 * @born_peer: that of the victim
 * @life: incarnation of the victim in this life; 0: there is none
 * @over: the victim has ended this life
 * @seq: number of our next frame
 * @acked: the victim has acknowledged all lower numbers
 * @next: number of the victim's next frame
 * @told: &u4w_head.ack that we send
 * @heard: the victim has heard us in this life
 * @states: STATE frames of the victim
 * @got: what was sent for our connections
 */
struct hu {
	struct tb_xdomain	*xd;
	struct tb_ring		*rx, *tx;
	struct hu_slot		in[HU_FRAMES], out[HU_FRAMES];
	struct hu_content	content;
	u8			frame[U4W_FRAME] __aligned(4);
	struct rnd_state	rnd;
	bool			running;
	int			out_hop, in_hop;
	u32			number;
	struct u4_said		said;
	bool			narrow;

	spinlock_t		lock;
	bool			mute;
	enum hu_reply		reply;
	u32			incarnation;
	u32			theirs, their_hop;
	bool			agreed;
	unsigned int		logins, replies;
	struct u4w_msg		answer;

	u32			born_own, born_peer;
	u32			life;
	bool			over;
	u32			seq, acked, next, told;
	bool			heard;
	unsigned int		states;
	struct hu_got		got[HU_NUMBERS];
};

/*
 * All functions run in process context, and return 0 or a negative error if nothing else is said.
 */

/* Set or read a member of the peer under its lock. */
#define hu_set(hu, member, value)					\
do {									\
	spin_lock(&(hu)->lock);						\
	(hu)->member = (value);						\
	spin_unlock(&(hu)->lock);					\
} while (0)
#define hu_get(hu, member)						\
({									\
	typeof((hu)->member) __value;					\
									\
	spin_lock(&(hu)->lock);						\
	__value = (hu)->member;						\
	spin_unlock(&(hu)->lock);					\
	__value;							\
})

/* message.c */
int hu_messages_init(struct hu *hu);
void hu_messages_exit(struct hu *hu);
/* an honest message of our present incarnation */
struct u4w_msg hu_msg(struct hu *hu, enum u4w_msg_type type);
/* send the first @size bytes of a message, whatever it says; nothing waits for a reply */
void hu_say(struct hu *hu, const struct u4w_msg *msg, size_t size);
/* send it and wait for a reply: &hu.answer. Return: 0, -ETIMEDOUT */
int hu_ask(struct hu *hu, const struct u4w_msg *msg);
/* take an incarnation that the victim does not know */
void hu_reborn(struct hu *hu);
/* Log in with a new incarnation: both sides have agreed on &hu.theirs */
int hu_login(struct hu *hu);

/* peer.c */
int hu_rings_alloc(struct hu *hu);
void hu_rings_free(struct hu *hu);
/* Start rings and path after hu_login(), with @posted of our receive frames. */
int hu_rings_start(struct hu *hu, unsigned int posted);
void hu_rings_stop(struct hu *hu);
/* Begin a life, unless there is one: log in, start, and wait until the victim hears us. */
int hu_begin(struct hu *hu);
void hu_end(struct hu *hu);		/* log out, and stop */
/*
 * Stop without a word, and log in anew as one that holds @held. With @goes_on the numbers of our
 * frames go on, as if the victim had resumed the life.
 */
int hu_resume(struct hu *hu, const struct u4_held *held, bool goes_on);
/* Return: true if the victim has ended this life, within @ms */
bool hu_ends(struct hu *hu, unsigned int ms);
/* the header of an honest frame: the next one with @len bytes of records, or a STATE frame */
struct u4w_frame hu_header(struct hu *hu, u32 len);
/*
 * Send @size bytes as a frame, whatever they are. Return: 0, -ENOTCONN: the life is over,
 * -ETIMEDOUT
 */
int hu_frame(struct hu *hu, const void *bytes, u32 size);
/* Send a frame with this header, and @len bytes, of which the header need not know. The same */
int hu_framed(struct hu *hu, const struct u4w_frame *f, const void *bytes, u32 len);
int hu_state(struct hu *hu, u8 bits);		/* send an honest STATE frame. The same */
/* Send &hu.content and empty it, and wait for the acknowledgement. The same */
int hu_records(struct hu *hu);
int hu_records_unacked(struct hu *hu);		/* the same, without the wait */
/* Append a record with @len bytes behind &kfi_mux_rec.body. Return: false if it has no room */
bool hu_add(struct hu *hu, const struct kfi_mux_rec *rec, const void *bytes, u32 len);
u32 hu_number(struct hu *hu);			/* number for another connection of ours */
struct hu_got hu_got(struct hu *hu, u32 number);
void hu_add_call(struct hu *hu, u32 number, u32 to, u32 window);
/* Call a port, and wait for the ANSWER. Return: our number of the connection, or 0 */
u32 hu_call(struct hu *hu, u32 to);
/* The victim answers a call in this life. */
bool hu_answers(struct hu *hu);

/* main.c */
bool hu_check(bool truth, const char *what);
unsigned long hu_mem_free(void);
/* Return: less than @most bytes of memory are in use that were free before */
bool hu_bounded(unsigned long before, unsigned long most, const char *what);

/* cases: in a life, which they may end */
bool hu_random(struct hu *hu);
bool hu_random_records(struct hu *hu);
bool hu_headers(struct hu *hu);
bool hu_cut(struct hu *hu);
bool hu_contents(struct hu *hu);
bool hu_many_records(struct hu *hu);

bool hu_asks(struct hu *hu);
bool hu_gaps(struct hu *hu);
bool hu_duplicates(struct hu *hu);
bool hu_unacknowledged(struct hu *hu);
bool hu_calls(struct hu *hu);
bool hu_windows(struct hu *hu);
bool hu_unknown(struct hu *hu);
bool hu_streams(struct hu *hu);
bool hu_strangers(struct hu *hu);

bool hu_ignored(struct hu *hu);
bool hu_versions(struct hu *hu);
bool hu_hops(struct hu *hu);
bool hu_incarnations(struct hu *hu);
bool hu_logouts(struct hu *hu);
bool hu_replies(struct hu *hu);
bool hu_unasked(struct hu *hu);
bool hu_names(struct hu *hu);
bool hu_resumes(struct hu *hu);
bool hu_lies(struct hu *hu);
bool hu_returns(struct hu *hu);
bool hu_turns(struct hu *hu);
bool hu_silent(struct hu *hu);
bool hu_deaf(struct hu *hu);
bool hu_ringless(struct hu *hu);

#endif /* KFI_USB4_HOSTILE_H */
