/* SPDX-License-Identifier: GPL-2.0 */
/*
 * engine.h - the engine of kfi/proto: it transports what the protocols give it.
 *
 * The engine has the transmit side of a connection (stage, runner, arbitration, credit), its
 * receive side, the answers that it owes to the peer, and the end of its operations. It names no
 * operation of the API and no frame. A protocol is one file; the engine calls it by the rows
 * below, which rows.c puts together:
 *
 *	struct kfp_op_row	an operation of this side, by its code
 *	struct kfp_frame_row	a frame of the peer, by its type
 *	struct kfp_answer_row	an answer that this side owes to the peer
 *	struct kfp_protocol	a protocol in the life of a connection
 *
 * (L) marks members that the lock of the link protects, see conn.h.
 */
#ifndef _KFI_PROTO_ENGINE_H
#define _KFI_PROTO_ENGINE_H

#include <kfi_link.h>
#include "credit.h"
#include "name.h"
#include "wire.h"

#define KFP_STAGE	(16 * 1024)	/* bytes of frames encoded for one unit */
#define KFP_INLINE	1024		/* payload up to this length is copied behind its frame */
#define KFP_SMALL	32		/* bytes of operands or old values without an allocation */
#define KFP_LAZY_MAX	8		/* delayed ACKs; fewer than the requests of any peer */
#define KFP_PAIRED	4		/* requests in turn with operations, see kfp_turn() */
#define KFP_RATE_MIN	(256U << 10)	/* least rate of a payload, bytes per second */
#define KFP_SEGS_BYTES	(KFW_RMA_MAX * sizeof(struct kfw_rma) + \
			 KFW_PLACES_MAX * sizeof(struct kfw_place))
#define KFP_RX_STEPS	2048		/* pieces of the stream handled in one run */
#define KFP_TX_BUDGET	(2 << 20)	/* bytes posted in one hold of the link's lock */

struct kfp_answer;
struct kfp_commit;
struct kfp_conn;
struct kfp_inmsg;
struct kfp_permit;
struct kfp_places;

/** enum kfp_cls - credit classes */
enum kfp_cls {
	KFP_CLS_MSG,
	KFP_CLS_TAG,
	KFP_CLS,		/* number of classes; of a row: the operation takes no credit */
};

/* ---- rows ---- */

/**
 * struct kfp_op_row - how a protocol sends the operations with one code
 * @cls: &enum kfp_cls
 * @returns: the peer returns data, which arrives before its ACK
 * @silent: the operation may need no frame, so the link must not wait for one
 * @post: optional: called for a post, before the connection is looked up. Stores in *@conn the
 *	connection that the operation is bound to. Returns 0; -ECANCELED: the operation is complete;
 *	another negative errno refuses the post. In an RCU read section
 * @cost: credits that @send takes, unless @cls is KFP_CLS. (L)
 * @next: optional, with KFP_CLS: the operation is the first one of the queue. Returns the operation
 *	to be sent next: this one, a later one of which a frame can be sent meanwhile, or NULL.
 *	Changes nothing, because it is also called to look ahead. The default sends the operation as
 *	soon as the peer accepts another request. (L)
 * @send: encode what is due: the request, or after a CTS a part of the payload, and again until all
 *	of it is sent. Takes the operation out of the list in which it waits, unless it has to wait
 *	there. With a class it returns false if there is no credit; then nothing has changed. (L)
 * @granted: of an operation that sends an RTW: the GRANT has arrived, which has given this side
 *	the permit, or none if it is NULL. Returns 0 or -EPROTO. (L)
 * @data: with @returns: data has arrived behind the frame in &kfp_rx.f: select its destination.
 *	Returns 0 or -EPROTO. (L)
 * @returned: optional, with @returns: the data is complete. (L)
 * @answered: optional: the ACK of the peer has arrived, with any status. (L)
 * @acked: optional: the ACK of the peer reports success. Returns the result of the operation. (L)
 */
struct kfp_op_row {
	u8	cls;
	bool	returns;
	bool	silent;
	int	(*post)(struct kfi_oper *op, struct kfp_conn **conn);
	u32	(*cost)(const struct kfp_conn *conn, const struct kfi_oper *op);
	struct kfi_oper *(*next)(struct kfp_conn *conn, struct kfi_oper *op);
	bool	(*send)(struct kfp_conn *conn, struct kfi_oper *op);
	int	(*granted)(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p);
	int	(*data)(struct kfp_conn *conn, struct kfi_oper *op);
	void	(*returned)(struct kfp_conn *conn, struct kfi_oper *op);
	void	(*answered)(struct kfp_conn *conn, struct kfi_oper *op);
	int	(*acked)(struct kfp_conn *conn, struct kfi_oper *op);
};

/**
 * struct kfp_frame_row - what a frame of one type means. All functions: (L), bottom halves off
 * @request: the frame begins something new: a transmit context, which accepts answers only, refuses
 *	it
 * @region: the payload goes to &kfp_rx.mr, and only while that region is live
 * @receive: header and segments are in &kfp_rx.f and &kfp_rx.segs: select the destination of the
 *	payload. Returns 0; -EAGAIN or -ENOMEM: the frame can't be handled now, and @receive is called
 *	again; any other negative errno ends the connection
 * @more: optional: the payload at &kfp_rx.into is complete. Returns true after it has selected
 *	another destination, for the bytes that follow
 * @finish: optional: the whole payload has arrived: completions, events, answers. Returns 0;
 *	-EAGAIN or -ENOMEM: a queue is full, or there is no memory, and @finish is called again; any
 *	other negative errno ends the connection
 * @abort: optional: the connection is down, and @finish has not returned 0. Not (L): the link is
 *	closed
 */
struct kfp_frame_row {
	bool	request;
	bool	region;
	int	(*receive)(struct kfp_conn *conn);
	bool	(*more)(struct kfp_conn *conn);
	int	(*finish)(struct kfp_conn *conn);
	void	(*abort)(struct kfp_conn *conn, int err);
};

/**
 * struct kfp_answer_row - kinds of answer
 * @returns: the answer returns data; others go ahead of its parts
 * @send: encode the answer, or its next part. Sets &kfp_tx.yields if a granted payload may follow. (L)
 * @done: the answer has been sent completely: free it, kfp_answer_put() for one of the pool. (L)
 * @drop: optional: the connection has ended, and an answer of the pool was not sent
 */
struct kfp_answer_row {
	bool	returns;
	void	(*send)(struct kfp_conn *conn, struct kfp_answer *answer);
	void	(*done)(struct kfp_conn *conn, struct kfp_answer *answer);
	void	(*drop)(struct kfp_conn *conn, struct kfp_answer *answer);
};

/**
 * struct kfp_protocol - a protocol in the life of a connection; each function is optional
 * @init: the connection is allocated. Must not fail
 * @alloc: the peer may be admitted: allocate what the protocol needs. May sleep. Returns 0, -ENOMEM
 * @urgent: encode one of the frames counted by &kfp_tx.urgent, which go before all others. At most one
 *	protocol has such frames. (L)
 * @watch: called every now and then. Returns whether the peer is late; what it has sent since the
 *	last call excuses it for @extra jiffies, see kfp_extend(). The network was held for @held
 *	jiffies since, which kfp_rx_now() does not count any more. (L)
 * @yield: messages that wait for a receive go behind those of others. Any context, best effort
 * @shrink: the connection is down: drop what its peer has left here, if nothing was promised
 *
 * The end of a connection, in process context, in this order; @closing to @end only if frames have
 * flowed, and @free twice:
 * @failing: the connection has failed, and may still be used
 * @stop: no callback of the link runs, and no post: cancel the work items of the protocol. Called
 *	twice, because a work item may have queued another one
 * @closing: nothing of the connection runs; the link is closed next, which may wait for a peer that
 *	waits for this side
 * @closed: the link is closed, and no byte arrives: collect what is inbound in lists of the protocol
 * @abort: return the receives and regions of what was collected
 * @end: the link has released all memory
 * @free: free the buffers
 */
struct kfp_protocol {
	void	(*init)(struct kfp_conn *conn);
	int	(*alloc)(struct kfp_conn *conn);
	void	(*urgent)(struct kfp_conn *conn);
	bool	(*watch)(struct kfp_conn *conn, unsigned long extra, unsigned long held);
	void	(*yield)(struct kfp_conn *conn);
	void	(*shrink)(struct kfp_conn *conn);
	void	(*failing)(struct kfp_conn *conn);
	void	(*stop)(struct kfp_conn *conn);
	void	(*closing)(struct kfp_conn *conn);
	void	(*closed)(struct kfp_conn *conn);
	void	(*abort)(struct kfp_conn *conn, int err);
	void	(*end)(struct kfp_conn *conn, int err);
	void	(*free)(struct kfp_conn *conn);
};

extern const struct kfp_op_row *const kfp_op_rows[KFI_OPC_CODES];
extern const struct kfp_frame_row *const kfp_frame_rows[KFW_TYPES];
extern const struct kfp_protocol *const kfp_protocols[];	/* ends with NULL */

/* Call a function of each protocol that has it. */
#define kfp_protocols_call(fn, ...)						\
	do {									\
		const struct kfp_protocol *const *__p;				\
										\
		for (__p = kfp_protocols; *__p; __p++)				\
			if ((*__p)->fn)						\
				(*__p)->fn(__VA_ARGS__);			\
	} while (0)

/* ---- operations ---- */

/** enum kfp_op_state - states of an operation (L); an answer of the peer has to agree with them */
enum kfp_op_state {
	KFP_OP_QUEUED,
	KFP_OP_SENDING,
	KFP_OP_REQUESTED,	/* RTS or RTW sent: CTS, GRANT or ACK may arrive */
	KFP_OP_GRANTED,		/* the next part of the payload is to be sent */
	KFP_OP_UNANSWERED,	/* all is sent: returned data or ACK may arrive */
	KFP_OP_UNSENT,		/* nothing is due but kfi_link_sent() or kfi_link_concealed() */
};

/**
 * struct kfp_op - the engine's part of a transmit operation; all (L)
 * @conn: connection that the operation was posted to
 * @end: KFP_OP_UNANSWERED, KFP_OP_UNSENT: value of &kfi_link.posted behind the last byte of the
 *	operation; U64_MAX if it waits for kfi_link_concealed()
 * @got: bytes of returned data that have arrived
 * @permit: a write: where its payload goes; a permit for one write, or that of the parts that were
 *	sent; or NULL
 * @result: KFP_OP_UNSENT: result of the operation
 * @places: where the payload goes: of the peer, or for returned data of this side; or NULL
 * @slot: slot number of the CTS
 * @state: &enum kfp_op_state
 * @spliced: the link references the pages of the payload
 * @wants_answer: an answer is due after the payload
 * @request: the operation takes an answer of the peer's pool, see kfp_op_request()
 * @unplaced: counted in &kfp_tx.unplaced, see kfp_op_unplaced()
 */
struct kfp_op {
	struct kfp_conn	*conn;
	u64		end;
	union {
		u64	got;
		struct kfp_permit *permit;
		int	result;
	};
	struct kfp_places *places;
	u16		slot;
	u8		state;
	bool		spliced;
	bool		wants_answer;
	bool		request;
	bool		unplaced;
};

static_assert(sizeof(struct kfp_op) <= KFI_PROTO_TX_PRIV);

static inline struct kfp_op *kfp_op(const struct kfi_oper *op)
{
	return op->priv;
}

/* Return the number of payload bytes that the link has not accepted; each link advances the iterator. */
static inline u64 kfp_op_left(const struct kfi_oper *op)
{
	return iov_iter_count(&op->iter);
}

static inline const struct kfp_op_row *kfp_op_row(const struct kfi_oper *op)
{
	return kfp_op_rows[op->code];
}

/* ---- answers ---- */

/**
 * struct kfp_answer - an answer that waits to be sent
 * @link: entry in &kfp_conn.answers, &kfp_conn.lazy, &kfp_conn.free_answers or &kfp_rdvs.waiting,
 *	under kfp_conn.lock
 * @row: what kind of answer it is
 * @status: status of the ACK: 0 or a positive errno
 * @nsegs: number of segments of a read
 * @seg: index of the next segment
 * @device: of an RTW: devices of the peer will write
 * @id: number of the peer's operation
 * @gen: generation of the peer's operation
 * @len: bytes of the current segment, or of the old values
 * @left: bytes of the current segment that are to be sent
 * @iter: data of the current segment
 * @mr: region of the current segment, referenced
 * @key: key of @mr
 * @seg0: the segment of a read with one segment, or of an RTW
 * @segs: all segments of a read with several segments
 * @places: places of the peer for returned data, or NULL
 * @placed: bytes of the segments that were sent: where in @places the next part goes
 * @lease: keeps the region of the current segment while the link references its pages, or NULL
 * @values: old values in wire format, @len bytes: @small or an allocation
 * @durable: a commit that has not begun
 * @small: short old values
 * @zeros: sent in place of the data of a region that has ended
 *
 * An answer belongs to &kfp_conn.pool, or it is a part of the object that it answers.
 */
struct kfp_answer {
	struct list_head	link;
	const struct kfp_answer_row *row;
	u16			status;
	u16			nsegs;
	u16			seg;
	bool			device;
	u32			id;
	u32			gen;
	u64			len;
	u64			left;
	struct iov_iter		iter;
	struct kfi_mr		*mr;
	u64			key;
	struct kfw_rma		seg0;
	struct kfw_rma		*segs;
	struct kfp_places	*places;
	u64			placed;
	struct kfp_lease	*lease;
	void			*values;
	struct kfp_commit	*durable;
	union {
		u8			small[KFP_SMALL];
		struct bio_vec		zeros;
	};
};

/* ---- the two directions of a connection ---- */

/** enum kfp_tx_at - position of the transmit side (L) */
enum kfp_tx_at {
	KFP_TX_FRAMES,		/* between frames, or in the frames of the stage */
	KFP_TX_PAYLOAD,		/* in the payload of the last frame */
	KFP_TX_STOPPED,		/* no frame is encoded any more: a fence has failed */
};

/**
 * struct kfp_payload - payload that is being sent behind the frames of the stage (L)
 * @iter: the bytes
 * @left: bytes that the link has not accepted
 * @into: places of the peer that they go to, or NULL
 * @at: where in @into the next byte goes
 * @spliced: the link may reference the pages
 * @check: optional: the bytes may have become invalid: replaces them. Returns how many of them may
 *	be sent. Called before each unit
 * @sent: the link has accepted all of them
 */
struct kfp_payload {
	struct iov_iter		*iter;
	u64			left;
	const struct kfp_places	*into;
	u64			at;
	bool			spliced;
	u64			(*check)(struct kfp_conn *conn);
	void			(*sent)(struct kfp_conn *conn);
};

/**
 * struct kfp_reading - memory that the link still reads (L)
 * @link: entry in &kfp_tx.reading
 * @end: value of &kfi_link.posted behind the last byte
 * @read: the link does not read it any more
 */
struct kfp_reading {
	struct list_head	link;
	u64			end;
	void			(*read)(struct kfp_conn *conn, struct kfp_reading *reading);
};

/*
 * The transmit side, all (L). The members that each frame needs fill two cache lines; the other
 * members follow.
 */
struct kfp_tx {
	struct list_head	queue;		/* operations in posting order */
	struct list_head	stalled[KFP_CLS];/* without credit, in order, by class */
	struct list_head	granted;	/* CTS received, payload not sent yet */

	struct kfi_credit_tx	credit[KFP_CLS];
	u32			allowance[KFP_CLS];/* announced by the peer */
	u32			requests;	/* unanswered requests */
	u32			requests_max;
	u32			unplaced;	/* see kfp_op_unplaced() */
	u32			unplaced_commits; /* of these, that an owner of memory answers */
	u32			eager;		/* the peer's limit */
	u32			staged;		/* bytes of encoded frames in @stage */
	u32			written;	/* of these, bytes that the link has accepted */
	u8			at;		/* &enum kfp_tx_at */
	bool			yields;		/* one operation of @granted is next */
	bool			shares;		/* operations of @queue are next */
	bool			idle;		/* nothing was left behind the stage */
	u8			urgent;		/* frames that are due before all others */
	u8			*stage;		/* frames to be sent: @held, or a kfp_stage */

	struct list_head	waiting;	/* sent, the answer is due */
	struct list_head	unsent;		/* the link still reads their memory, by kfp_op.end */
	struct list_head	reading;	/* struct kfp_reading, by @end */
	struct kfi_oper		*op;		/* its payload is being sent */
	struct kfp_answer	*answer;	/* its data is being sent */
	struct kfp_payload	payload;	/* of @op or @answer */
	u8			*held;		/* frames that the link has not accepted */
};

/** enum kfp_rx_at - position of the receive side (L) */
enum kfp_rx_at {
	KFP_RX_HELLO,		/* in a hello */
	KFP_RX_HELD,		/* behind a complete hello; the hello work handles it */
	KFP_RX_HDR,
	KFP_RX_SEGS,
	KFP_RX_BLOCKED,		/* stopped: CQ full, or no memory, or the connection ends */
	KFP_RX_PAYLOAD,
	KFP_RX_SKIP,
};

/*
 * The receive side, all (L). The members that each frame needs come first. Those of @done, @seg,
 * and from @in to @small belong to the protocol of the frame; rx.c looks at @mr and @key, too, and
 * sets @status.
 */
struct kfp_rx {
	/* of this frame; eight bytes, which one store clears */
	struct_group_tagged(kfp_rx_done, done,
		bool		finishing;	/* the payload is complete, the end is due */
		bool		counted;	/* kfp_rx_once() was called */
		u8		invalidated;	/* 1: its region has ended, 2: the owner has to end it */
		bool		matched;	/* the payload of a message goes to @rx */
		bool		landed;		/* the payload of a write is in its regions */
		bool		performed;	/* the atomic operation is; its event may be due */
		u16		status;		/* status of the current RMA so far */
	);
	u32			have;		/* bytes of the header or of the segments */
	u8			at;		/* &enum kfp_rx_at */
	bool			asked;		/* a request came after the last operation */
	u16			seg;		/* next segment of a write */
	const struct kfp_frame_row *row;	/* of the frame that is being handled */
	struct iov_iter		*into;		/* destination of the payload */
	u64			left;		/* bytes of it to come, or to be dropped */
	u64			skip;		/* bytes to drop behind the payload */
	unsigned int		steps;		/* pieces that this run may handle */
	u8			paired;		/* requests in turn with operations, see kfp_turn() */
	unsigned long		last_rx;	/* jiffies: last bytes */
	unsigned long		since;		/* jiffies: start of the payload; kfp_extend() */
	u64			bytes;		/* received on this connection, hellos excluded */
	u64			watched;	/* @bytes at the last call of kfp_rx_late() */
	struct kfw_frame	f;		/* the frame that is being handled */

	struct kfp_inmsg	*in;		/* the message that the payload belongs to */
	struct kfi_rx		rx;		/* the message as the matching sees it */
	struct kfi_oper		*op;		/* operation that waits for the data */
	struct kfi_mr		*mr;		/* region that is accessed, referenced; or NULL */
	u64			key;		/* its key */
	struct iov_iter		iter;		/* destination, unless it is in @rx, @in or @op */
	struct kfp_answer	*commit;	/* answer that holds the regions of a commit */
	void			*values;	/* operands and old values: @small or allocated */
	struct kvec		vec;		/* describes @values */
	u8			small[KFP_SMALL] __aligned(8);

	struct kfw_rma		*segs;		/* KFW_RMA_MAX, then places, or a message */
	unsigned long		blocked;	/* jiffies: start or last check of KFP_RX_BLOCKED */
	unsigned long		paused;		/* jiffies in KFP_RX_BLOCKED, and @held, so far */
	unsigned long		held;		/* kfi_held() at the last call of kfp_rx_late() */
	struct kfi_cq_waiter	space;
	struct kfw_hdr		hdr;		/* header that arrived in pieces */
};

static_assert(sizeof_field(struct kfp_rx, done) == sizeof(u64));

/**
 * struct kfp_spares - objects of one kind for reuse, so that a series of long transfers allocates
 * no
 *	memory. The caller serializes all calls
 * @list: the objects
 * @nr: number of entries in @list, at most KFP_SPARES
 */
struct kfp_spares {
	struct list_head	list;
	unsigned int		nr;
};

#define KFP_SPARES	64

static inline void kfp_spares_init(struct kfp_spares *spares)
{
	INIT_LIST_HEAD(&spares->list);
	spares->nr = 0;
}

/* Return the entry of an object, or NULL. */
static inline struct list_head *kfp_spare_get(struct kfp_spares *spares)
{
	struct list_head *entry = spares->list.next;

	if (!spares->nr)
		return NULL;
	list_del(entry);
	spares->nr--;
	return entry;
}

/* Return false if there are enough, and the caller has to free the object. */
static inline bool kfp_spare_put(struct kfp_spares *spares, struct list_head *entry)
{
	if (spares->nr == KFP_SPARES)
		return false;
	list_add(entry, &spares->list);
	spares->nr++;
	return true;
}

/*
 * stage.c: encode into the stage. Each function adds to what is in the stage. (L)
 *
 * A frame begins with its header. The first three functions set type and credit, and with an
 * operation or an answer its number; of an operation also length, tag and remote CQ data. The
 * caller sets the other members, which are 0.
 */
struct kfw_hdr *kfp_send_frame(struct kfp_conn *conn, u8 type);
struct kfw_hdr *kfp_send_op_frame(struct kfp_conn *conn, const struct kfi_oper *op, u8 type,
				  u16 flags);
struct kfw_hdr *kfp_send_answer_frame(struct kfp_conn *conn, const struct kfp_answer *answer,
				      u8 type);
/* The header of a message that needs neither flags nor a number */
void kfp_send_plain(struct kfp_conn *conn, u8 type, u32 payload);
void kfp_send_segment(struct kfp_conn *conn, u64 addr, u64 len, u64 key);
void kfp_send_segments(struct kfp_conn *conn, const struct kfi_oper *op);
void kfp_send_places(struct kfp_conn *conn, const struct kfi_link_place *place, unsigned int n);
void kfp_send_bytes(struct kfp_conn *conn, const void *bytes, size_t len);
void kfp_send_payload(struct kfp_conn *conn, struct kfi_oper *op, u32 len, bool answered,
		      const struct kfp_places *into, u64 at);

/* answer.c: answers that this side owes to the peer */
int kfp_answers_more(struct kfp_conn *conn, gfp_t gfp);
int kfp_answers_grow(struct kfp_conn *conn);
void kfp_answers_free(struct kfp_conn *conn);
struct kfp_answer *kfp_answer_get(struct kfp_conn *conn, const struct kfp_answer_row *row);
void kfp_answer_put(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_answer_queue(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_answer_rest(struct kfp_conn *conn, struct kfp_answer *answer);
struct kfp_answer *kfp_answer_next(struct kfp_conn *conn);
void kfp_answers_drop(struct kfp_conn *conn);
void kfp_send_ack(struct kfp_conn *conn, struct kfp_answer *answer);
int kfp_rx_ack(struct kfp_conn *conn, u16 status);
void kfp_lazy_join(struct kfp_conn *conn);
bool kfp_lazy_take(struct kfp_conn *conn);
void kfp_turn(struct kfp_conn *conn);
void kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost);
void kfp_credit_return(struct kfp_conn *conn, u8 cls, u32 cost);	/* under kfp_conn.lock */
extern const struct kfp_answer_row kfp_ack_row;

/* oper.c: the end of an operation */
void kfp_op_end(struct kfp_conn *conn, struct kfi_oper *op, int result);
void kfp_op_sent(struct kfp_conn *conn, struct kfi_oper *op, bool answered);
void kfp_op_requested(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_op_concealed(struct kfp_conn *conn, struct kfi_oper *op);
bool kfp_op_acked(const struct kfp_conn *conn, const struct kfi_oper *op);
struct kfi_oper *kfp_answered_op(struct kfp_conn *conn, const struct kfw_frame *f);
void kfp_reading_wait(struct kfp_conn *conn, struct kfp_reading *reading);
void kfp_sent_to(struct kfp_conn *conn, u64 to);
bool kfp_drained(const struct kfp_conn *conn);
void kfp_tx_flush_all(struct kfp_conn *conn, int err);
extern const struct kfp_frame_row kfp_ack_frame;

/* tx.c: the transmit side */
extern const struct kfp_frame_row kfp_bye_frame;
extern const struct kfp_frame_row kfp_credit_frame;
void kfp_tx_collect(struct kfp_conn *conn);	/* (L) */
void kfp_tx_kick(struct kfp_conn *conn);
void kfp_tx_kick_due(struct kfp_conn *conn);
void kfp_tx_run(struct kfp_conn *conn);
void kfp_tx_work(struct work_struct *work);
void kfp_more_work(struct work_struct *work);

/* rx.c: the receive side */
void kfp_rx_next(struct kfp_conn *conn);
void kfp_rx_hello_next(struct kfp_conn *conn);
void kfp_rx_abort(struct kfp_conn *conn, int err);
bool kfp_rx_late(struct kfp_conn *conn);
int kfp_rx_poll(struct kfp_conn *conn);
void kfp_rx_work(struct work_struct *work);
void kfp_rx_space(struct kfi_cq_waiter *w);
kfi_addr_t kfp_rx_src(struct kfp_conn *conn);
bool kfp_rx_lengths_ok(const struct kfp_rx *rx);
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access);
bool kfp_rx_open_region(struct kfp_conn *conn, const struct kfw_rma *seg);
void kfp_rx_put_mr(struct kfp_conn *conn);

#endif /* _KFI_PROTO_ENGINE_H */
