/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - objects of the message protocol, and the locks that protect them.
 *
 * Locks, outermost first:
 *
 *   kfi_proto.accepting (mutex)	order of events of passive endpoints: kfp_msg_accept() and
 *				kfp_hello_request(). One for each provider
 *   kfi_conn_set.lock		of an endpoint or a passive endpoint, see kfi_conn_set.h
 *   the link's lock		the members marked (L): the streams of a connection in both
 *				directions. See kfi_link.h
 *   kfi_peers.lock, kfi_peer.lock	see peers.h. A post takes them, perhaps under the
 *				link's lock
 *   kfp_conn.lock (spin, bh)	inbound messages, answers, credits granted to the peer. Only leaf
 *				locks of the core and kfp_accounts.lock are taken under it
 *   kfp_accounts.lock (spin, bh)	accounts of unexpected messages (account.c). A leaf
 *   kfp_dev_places_lock (spin, bh)	the members that lead from a place of devices to its
 *				connection (device_place.c). A leaf; there is one for the module
 *
 * A post (tx.c) never waits for the link's lock; it only tries to take it. A consumer may post from
 * a completion handler that runs under the link's lock (see kfi_batch_begin()), and while it holds
 * locks of its own that its handlers take, too.
 *
 * kfi_peer.conn and kfi_conn_set.conn publish a connection by RCU. A post finds the connection and
 * uses it inside rcu_read_lock(). The end of the connection (conn.c) clears the pointer and waits
 * for a grace period before it collects the operations that were posted.
 */
#ifndef _KFI_PROTO_H
#define _KFI_PROTO_H

#include <linux/refcount.h>
#include <kfi_commit.h>
#include <kfi_link.h>
#include <trace/events/kfi.h>
#include "account.h"
#include "credit.h"
#include "wire.h"

#define KFP_STAGE	(16 * 1024)	/* bytes of frames encoded for one unit */
#define KFP_INLINE	1024		/* payload up to this length is copied behind its frame */
#define KFP_SMALL	32		/* bytes of operands or old values without an allocation */
#define KFP_LAZY_MAX	8		/* delayed ACKs; fewer than the requests of any peer */
#define KFP_COMMITS	4		/* work items of a connection that run commits */
#define KFP_RDV		64		/* granted rendezvous of a connection and direction */
#define KFP_RDV_BYTES	(64ULL << 20)	/* bytes granted at once, or one longer message */
#define KFP_RATE_MIN	(256U << 10)	/* least rate of a payload, bytes per second */
#define KFP_SEGS_BYTES	(KFW_RMA_MAX * sizeof(struct kfw_rma) + \
			 KFW_PLACES_MAX * sizeof(struct kfw_place))
#define KFP_GRANTS_BYTES	(32 << 10)	/* objects of all lasting grants, roughly */
#define KFP_TX_BUDGET	(2 << 20)	/* bytes posted in one hold of the link's lock */
#define KFP_RTW_SEGS	4		/* most segments of a write with an RTW */
#define KFP_RTW_AHEAD	8		/* first operations whose RTW may be sent */
#define KFP_RTW_FAILURES	4	/* answers in a row without places: few RTWs follow */
#define KFP_RTW_RETRY	64		/* then one of so many writes sends an RTW */

extern struct workqueue_struct *kfp_wq;		/* bound: data path outside of softirq */
extern struct workqueue_struct *kfp_cm_wq;	/* unbound: handshakes */
extern struct workqueue_struct *kfp_end_wq;	/* unbound: ends, which may wait for a peer */
extern struct workqueue_struct *kfp_commit_wq;	/* bound: only calls of persist() */
extern struct kmem_cache *kfp_inmsg_cache;
extern struct kmem_cache *kfp_places_cache;

/**
 * struct kfp_stage - buffer of a CPU in which frames are encoded; it stays in the CPU's cache
 * @buf: the buffer
 * @in_use: the buffer is in use. A run can begin inside a run, because some devices deliver while
 *	they transmit
 */
struct kfp_stage {
	u8	buf[KFP_STAGE] ____cacheline_aligned;
	bool	in_use;
};

extern struct kfp_stage __percpu *kfp_stages;

struct kfp_auth;
struct kfp_conn;
struct kfp_grants;
struct kfp_permit;

/**
 * struct kfp_piece - a piece of memory of this side that the peer may write to
 * @x: description of the piece for the link; x.mr is referenced and held
 * @key: key of x.mr
 */
struct kfp_piece {
	struct kfi_exposed	x;
	u64			key;
};

/**
 * struct kfp_places - where the payload of one transfer goes; all (L)
 * @entry: entry in &kfp_conn.spare_places
 * @count: number of places
 * @pieces: number of pieces of this side's memory; 0: the places are the peer's
 * @place: the places, in the order of the payload
 * @piece: the pieces that the peer may write to
 * @op: operation that the memory belongs to, or NULL
 * @in: message that the memory belongs to, or NULL
 * @ended: when it was noticed that a region with pieces has ended, in jiffies; 0: not yet
 * @rtw: the RTW of a write, decoded
 * @segs: its segments
 */
struct kfp_places {
	struct list_head	entry;
	u16			count;
	u16			pieces;
	struct kfi_link_place	place[KFW_PLACES_MAX];
	struct kfp_piece	piece[KFP_RTW_SEGS];
	struct kfi_oper		*op;
	struct kfp_inmsg	*in;
	unsigned long		ended;
	struct kfw_frame	rtw;
	struct kfw_rma		segs[KFP_RTW_SEGS];
};

/**
 * struct kfp_hold - a region that the link still reads, for data that was returned to the peer
 * @link: entry in &kfp_tx.holds or &kfp_conn.spare_holds
 * @mr: the region, held
 * @end: value of &kfi_link.posted behind the last byte
 */
struct kfp_hold {
	struct list_head	link;
	struct kfi_mr		*mr;
	u64			end;
};

/** enum kfp_answer_kind - kinds of answer to a request of the peer */
enum kfp_answer_kind {
	KFP_ANSWER_ACK,
	KFP_ANSWER_CTS,
	KFP_ANSWER_READ,	/* the data of a region, then an ACK */
	KFP_ANSWER_TREAD,	/* the data of a tagged receive, then an ACK */
	KFP_ANSWER_FETCHED,	/* old values and an ACK */
	KFP_ANSWER_COMMIT,	/* an ACK after the owners have made the data durable */
	KFP_ANSWER_PLACE,	/* a GRANT, if there is none yet, and an ACK */
};

/**
 * struct kfp_answer - an answer that waits to be sent
 * @link: entry in &kfp_conn.answers, &kfp_conn.lazy, &kfp_conn.commits or
 *	&kfp_conn.free_answers, under kfp_conn.lock
 * @kind: &enum kfp_answer_kind
 * @pooled: the answer belongs to &kfp_conn.pool. Other answers are part of a struct kfp_inmsg
 * @status: status of the ACK: 0 or a positive errno
 * @slot: slot number of a CTS
 * @nsegs: number of segments of a read or commit
 * @seg: index of the next segment
 * @id: number of the peer's operation
 * @gen: generation of the peer's operation
 * @len: remaining bytes of the current segment
 * @iter: data of the current segment
 * @mr: region of the current segment, referenced
 * @key: key of @mr
 * @seg0: the segment of a read with one segment, or of a place
 * @segs: all segments of a read with several segments
 * @places: READ, TREAD: places of the peer, or NULL
 * @placed: bytes that were sent: the position in @places, whether they went there or not
 * @hold: keeps the region of the current segment while the link references its pages, or NULL
 * @spliced: the link references the pages of the current segment
 * @placing: the current segment goes to @places
 * @end: TREAD: value of &kfi_link.posted behind the last byte
 * @values: old values in wire format, @len bytes: @small or an allocation
 * @durable: segments of a commit: @durable0 or an allocation
 * @small: short old values
 * @durable0: the segment of a commit with one segment
 * @zeros: sent in place of the data of a region that has ended
 */
struct kfp_answer {
	struct list_head	link;
	u8			kind;
	bool			pooled;
	u16			status;
	u16			slot;
	u16			nsegs;
	u16			seg;
	u32			id;
	u32			gen;
	u64			len;
	struct iov_iter		iter;
	struct kfi_mr		*mr;
	u64			key;
	struct kfw_rma		seg0;
	struct kfw_rma		*segs;
	struct kfp_places	*places;
	u64			placed;
	struct kfp_hold		*hold;
	bool			spliced;
	bool			placing;
	u64			end;
	void			*values;
	struct kfi_commit_seg	*durable;
	union {
		u8			small[KFP_SMALL];
		struct kfi_commit_seg	durable0;
		struct bio_vec		zeros;
	};
};

/** enum kfp_inmsg_state - states of an inbound message, under kfp_conn.lock */
enum kfp_inmsg_state {
	KFP_IN_ARRIVING,	/* eager payload arrives in @buf */
	KFP_IN_READY,		/* eager payload is complete in @buf */
	KFP_IN_REQUESTED,	/* an RTS or TREAD has arrived and is not granted */
	KFP_IN_GRANTED,		/* CTS is queued or sent, or data is being returned */
	KFP_IN_ANSWERED,	/* the receive is complete, an ACK is due or queued */
	KFP_IN_REFUSED,		/* tagged RMA found no receive, an ACK is due */
	KFP_IN_LOST,		/* the connection went down before the end */
};

/**
 * struct kfp_inmsg - an inbound message that waits for its receive or for its payload
 * @rx: the part of the message that the matching uses
 * @conn: its connection, referenced
 * @entry: entry in &kfp_conn.inmsgs
 * @answer: CTS, read data or ACK that is due for the message
 * @state: &enum kfp_inmsg_state
 * @matched: a receive was found: rx.op is or was set
 * @lost_receive: KFP_IN_LOST: the receive has to be returned to the matching
 * @read: the message is a TREAD: its data comes out of the receive
 * @landed: the payload is in the receive, to which the peer may still write
 * @late_ack: the sender gets its ACK when the message is received, see &kfp_conn.late_acks
 * @no_drop: never dropped, because the sender has got an ACK for it, or it has invalidated a region
 * @cls: credit class
 * @cost: units of credit to return
 * @since: KFP_IN_GRANTED and the CTS is sent: jiffies. The first byte of the payload is late
 *	peer_timeout_ms after it. Other bytes of the peer advance it, see kfp_extend()
 * @limit: jiffies at which the payload is late in any case
 * @id: number of the peer's operation
 * @gen: generation of the peer's operation
 * @places: KFP_IN_GRANTED: places of the exposed receive. For an RTW: the decoded request (L)
 * @rtw_answer: set if the object is an RTW and no message: the answer of the pool that its write
 *	needs
 * @buf: eager payload
 * @vec: describes @buf for the receiving iterator
 */
struct kfp_inmsg {
	struct kfi_rx		rx;
	struct kfp_conn		*conn;
	struct list_head	entry;
	struct kfp_answer	answer;
	u8			state;
	bool			matched;
	bool			lost_receive;
	bool			read;
	bool			landed;
	bool			late_ack;
	bool			no_drop;
	u8			cls;
	u32			cost;
	unsigned long		since;
	unsigned long		limit;
	u32			id;
	u32			gen;
	struct kfp_places	*places;
	struct kfp_answer	*rtw_answer;
	void			*buf;
	struct kvec		vec;
};

/** enum kfp_cls - credit classes */
enum kfp_cls { KFP_CLS_MSG, KFP_CLS_TAG, KFP_CLS };

/** enum kfp_conn_state - written by the hello work; kfp_hello_start() writes it to begin a step */
enum kfp_conn_state {
	KFP_NEW,		/* not started */
	KFP_CALLING,		/* ops->dial() has to be called */
	KFP_DIALING,		/* ops->dial() was called, the link is not up yet */
	KFP_HELLO,		/* a hello is being sent, or the peer's is awaited */
	KFP_ADMITTING,		/* RDM, called side: waits for ops->probe() */
	KFP_WAITING,		/* MSG, called side: the consumer has not decided */
	KFP_ACCEPTED,		/* MSG, called side: accepted, the answer is due */
	KFP_REJECTED,
	KFP_ANSWERED,		/* called side: the ACCEPT has not left completely */
	KFP_READY,		/* frames flow */
};

/* kfp_conn.flags */
enum {
	KFP_DEAD,		/* the end has begun: no work is started any more */
	KFP_FAILED,		/* kfp_conn_fail() was called */
	KFP_UP,			/* kfi_link_up() was called */
	KFP_BYE_SENT,
	KFP_BYE_WANTED,
	KFP_BYE_POSTED,		/* the link has accepted the BYE: the peer closes */
};

/** enum kfp_tx_at - position of the transmit side (L) */
enum kfp_tx_at {
	KFP_TX_FRAMES,		/* between frames, or in the frames of the stage */
	KFP_TX_PAYLOAD,		/* in the payload of an operation */
	KFP_TX_ANSWER,		/* in the payload of an answer */
	KFP_TX_STOPPED,		/* no frame is encoded any more: a fence has failed */
};

/** enum kfp_rx_at - position of the receive side (L) */
enum kfp_rx_at {
	KFP_RX_HELLO,		/* in a hello */
	KFP_RX_HELD,		/* behind a complete hello; the hello work handles it */
	KFP_RX_HDR,
	KFP_RX_SEGS,
	KFP_RX_BLOCKED,		/* stopped behind a header: CQ full or no memory */
	KFP_RX_PAYLOAD,
	KFP_RX_SKIP,
};

/** enum kfp_rx_to - destination of the payload (L) */
enum kfp_rx_to {
	KFP_TO_NOWHERE,		/* no payload, or it is dropped */
	KFP_TO_RX,		/* a posted receive */
	KFP_TO_INMSG,		/* the buffer of an unexpected eager message */
	KFP_TO_RDV,		/* the receive of a rendezvous */
	KFP_TO_MR,		/* a region: RMA write */
	KFP_TO_OP,		/* the buffer of a read or fetching operation */
	KFP_TO_ATOMIC,		/* the operands of an atomic operation */
	KFP_TO_EVENT,		/* performed; only the event is missing */
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
	u32			window[KFP_CLS];/* announced by the peer */
	u32			requests;	/* unanswered requests */
	u32			requests_max;
	u32			read_segs;	/* of unanswered reads, see kfp_read_segs() */
	u32			unplaced;	/* unanswered changes of memory, see kfp_unplaced() */
	u32			eager;		/* the peer's limit */
	u32			staged;		/* bytes of encoded frames in @stage */
	u32			written;	/* of these, bytes that the link has accepted */
	u8			at;		/* &enum kfp_tx_at */
	bool			yields;		/* one operation of @granted is next */
	u8			recalls;	/* RECALLs and RECALLEDs that are due */
	u64			rtw_failed;	/* longest write whose answer had no places */
	u8			rtw_failures;	/* such answers in a row, for writes up to that length */
	u8			rtw_skips;	/* long writes without an RTW since then */
	u8			*stage;		/* frames to be sent: @held, or a kfp_stage */

	struct list_head	waiting;	/* sent, the answer is due */
	struct list_head	unsent;		/* the link still reads their memory, by kfp_op.end */
	struct list_head	holds;		/* struct kfp_hold, by @end */
	struct list_head	returned;	/* struct kfp_inmsg: TREADs that the link still reads */
	u64			watched;	/* &kfi_link.posted at the last kfp_treads_late() */
	unsigned long		since;		/* the data of a TREAD has waited since; 0: none */
	struct kfi_oper		*op;		/* its payload is being sent */
	const struct kfp_places	*into;		/* @op uses a lasting grant: its places ... */
	u64			into_at;	/* ... and where in them the payload begins */
	struct kfp_answer	*answer;	/* its data is being sent */
	u8			*held;		/* frames that the link has not accepted */
};

/* The receive side, all (L). The members that each frame needs come first. */
struct kfp_rx {
	u8			at;		/* &enum kfp_rx_at */
	u8			to;		/* &enum kfp_rx_to */
	bool			counted;	/* kfp_rx_once() was called for this frame */
	bool			finishing;	/* the payload is complete, the end is due */
	bool			invalidated;	/* the frame has invalidated its region */
	bool			landed;		/* the payload of the write is in its regions */
	u16			status;		/* status of the current RMA so far */
	u16			seg;		/* index of the next segment of a write */
	u32			have;		/* bytes of the hello, header or segments */
	u64			skip;		/* bytes to drop after kfi_link.left */
	unsigned long		last_rx;	/* jiffies: last bytes received or awaited */
	unsigned long		since;		/* jiffies: start of the payload; kfp_extend() */
	u64			bytes;		/* received on this connection, hellos excluded */
	u64			watched;	/* @bytes at the last call of kfp_rx_late() */
	struct kfp_inmsg	*in;		/* KFP_TO_INMSG, KFP_TO_RDV: the message */

	struct kfw_frame	f;		/* the frame that is being handled */
	struct kfi_rx		rx;		/* KFP_TO_RX: the message as the matching sees it */

	struct kfi_oper		*op;		/* KFP_TO_OP: operation that waits for the data */
	struct kfi_mr		*mr;		/* region that is accessed, referenced; or NULL */
	u64			key;		/* its key */
	struct iov_iter		iter;		/* destination, unless it is in @rx, @in or @op */
	struct kfw_rma		*segs;		/* KFW_RMA_MAX, and KFW_PLACES_MAX places */
	unsigned long		blocked;	/* jiffies: start or last check of KFP_RX_BLOCKED */
	struct kfp_answer	*commit;	/* answer that holds the regions of a commit */
	u64			grant_bytes;	/* bytes of writes to lasting grants */
	struct kfi_cq_waiter	space;
	struct kfw_hdr		hdr;		/* header that arrived in pieces */
	void			*values;	/* operands and old values: @small or allocated */
	struct kvec		vec;		/* describes @values */
	u8			small[KFP_SMALL] __aligned(8);
};

/**
 * struct kfp_committer - work item that calls persist() for the owners of regions
 * @work: the work item
 * @conn: its connection, referenced while @work is queued or runs
 */
struct kfp_committer {
	struct work_struct	work;
	struct kfp_conn		*conn;
};

/**
 * struct kfp_hello_out - last hello of this side; only the hello work uses it
 * @hello: fixed part
 * @tail: private data and authentication data
 * @len: bytes to be sent, from @hello on; 0 if the link has accepted all of them
 * @done: of these, bytes that the link has accepted
 */
struct kfp_hello_out {
	struct kfw_hello	hello;
	u8			tail[KFW_DATA_MAX + KFW_AUTH_LEN];
	u16			len;
	u16			done;
};

static_assert(offsetof(struct kfp_hello_out, tail) == sizeof(struct kfw_hello));

/**
 * struct kfp_conn - a connection
 * @ep: its endpoint; NULL while a request waits at a passive endpoint. Changes with the
 *	connection set of @pc, and not after KFP_FAILED is set
 * @posted: operations posted in any context; the transmit side collects them
 * @flags: KFP_DEAD and so on, bits
 * @busy: bit 0: a context runs the transmit side or is going to. @busy and @kick are separate
 *	words, because a load of several flags right after a store to one of them waits until the
 *	store has reached the cache
 * @kick: there may be something to transmit
 * @state: &enum kfp_conn_state
 * @ops: operations of the link
 * @concealed: places that kfi_link_concealed() passes to its burst (L)
 * @spare_places: places for reuse (L), at most KFP_RDV; @nr_spare_places: their number (L)
 * @spare_holds: struct kfp_hold for reuse (L); there are never more than requests
 * @read_segs: segments of the peer's unanswered READs, at most KFW_READ_SEGS (L)
 * @grants: lasting grants in both directions; NULL if the link has no places
 * @tx: transmit side (L)
 * @rx: receive side (L)
 * @lock: protects the members from @credit_due to @orphaned
 * @credit_due: a credit update has to be sent
 * @credit_freed: @credit has changed since the last frame, or @credit_due is set
 * @answers: answers to be sent, in this order
 * @lazy: ACKs that may wait for other frames
 * @nr_lazy: number of entries in @lazy
 * @treads: number of TREADs whose data is to be sent; each holds a receive
 * @credit: credit granted to the peer; what was advertised changes under (L), too
 * @inmsgs: inbound messages
 * @nr_inmsgs: number of inbound messages, including those that are being ended
 * @free_answers: unused answers of @pool
 * @rdv_wait: rendezvous with a receive that wait for a free slot in @rdv
 * @spares: message objects for reuse, at most KFP_RDV
 * @nr_spares: number of entries in @spares
 * @pool: an answer for each request that the peer may have outstanding
 * @unexpected: bytes of unexpected messages
 * @rdv: granted rendezvous whose payload has not begun, by slot
 * @rdv_bytes: bytes of long messages that have a slot or arrive
 * @commits: answers that wait for a committer
 * @committing: committers that run, bits
 * @committers: see struct kfp_committer
 * @orphaned: the connection is down and has left messages: kfp_inmsg_free() reports each to the
 *	account
 * @window: units of unexpected messages that this side announces, for each class
 * @eager: longest payload without rendezvous that this side announces
 * @late_acks: this side does not promise to keep unexpected messages when the connection is down:
 *	their ACKs follow when they are received (account.c)
 * @account: RDM: account of the peer, from kfp_account_join() until the endpoint holds nothing
 *	of this connection; under kfp_accounts.lock
 * @units: units charged to @account; under kfp_accounts.lock
 * @payer: account of the fabric, or NULL. Used until the connection leaves its connection set
 * @paid: bytes charged to @payer for the connection and its buffers
 * @dead: entries in &kfp_account.dead of each level; under kfp_accounts.lock
 * @of_source: entry in &kfp_account.conns; under kfp_accounts.lock
 * @late: the connection is ended because its peer was late
 * @ref: references: connection set, queued work items, inbound messages, and the consumer while
 *	it decides about @req
 * @error: reason of the failure, negative errno; kfp_conn_fail() sets it once
 * @pep: passive endpoint that was called, until the request is accepted; changes with @ep
 * @av_name: RDM: address of the peer in the format of address vectors
 * @deadline: end of the handshake, jiffies
 * @pc: entry in its connection set, and for RDM at its peer
 * @tx_work: runs the transmit side
 * @rx_work: continues to receive
 * @watch_work: ends the connection of a peer that keeps receives and does not fill them
 * @more_work: sends posts with KFI_MORE that no other post follows, and delayed ACKs
 * @hello_work: runs the handshake
 * @down_work: ends the connection
 * @closed: @down_work has closed the link, and waits until the link has released all memory
 * @hello_info: contents of the peer's last hello
 * @auth: state of the authorization, with a key only (auth.c)
 * @data_in: private data of the peer's hello
 * @auth_in: authentication data of the peer's hello
 * @data_out: private data of this side
 * @data_out_len: bytes at @data_out
 * @auth_out: authentication data of this side
 * @hello_out: last hello of this side
 * @refusal: the reason for the REJECT in @hello_out: ends the connection when it has left
 * @requested: @req was given to the consumer
 * @req: connection request
 * @hello_in: the peer's last hello as received; &kfp_rx.have counts it and its tail
 * @link: part of the link; the provider's structure begins here
 *
 * A post accesses the first cache line, and a message only few more lines. With many peers these
 * lines determine the cost of a message.
 */
struct kfp_conn {
	struct kfi_proto_ep	*ep;
	struct llist_head	posted;
	unsigned long		flags;
	unsigned long		busy;
	bool			kick;
	u8			state;
	const struct kfi_link_ops *ops;
	struct kfp_places	*concealed;
	struct list_head	spare_places;
	unsigned int		nr_spare_places;
	u32			read_segs;
	struct list_head	spare_holds;
	struct kfp_grants	*grants;

	struct kfp_tx		tx ____cacheline_aligned;
	struct kfp_rx		rx ____cacheline_aligned;

	spinlock_t		lock ____cacheline_aligned;
	bool			credit_due;
	bool			credit_freed;
	struct list_head	answers;
	struct list_head	lazy;
	unsigned int		nr_lazy;
	atomic_t		treads;
	struct kfi_credit_rx	credit[KFP_CLS];
	struct list_head	inmsgs;
	unsigned int		nr_inmsgs;
	struct list_head	free_answers;
	struct list_head	rdv_wait;
	struct list_head	spares;
	unsigned int		nr_spares;
	struct kfp_answer	*pool;
	u64			unexpected;
	struct kfp_inmsg	*rdv[KFP_RDV];
	u64			rdv_bytes;
	struct list_head	commits;
	unsigned long		committing;
	struct kfp_committer	committers[KFP_COMMITS];

	bool			orphaned;
	u32			window;
	u32			eager;
	bool			late_acks;
	struct kfp_account	*account;
	u32			units;
	struct kfi_account	*payer;
	size_t			paid;
	struct list_head	dead[KFP_ACCOUNT_LEVELS];
	struct list_head	of_source;
	bool			late;

	refcount_t		ref;
	int			error;
	struct kfi_proto_pep	*pep;
	u8			av_name[KFI_ADDR_MAX] __aligned(8);
	unsigned long		deadline;
	struct kfi_peer_conn	pc;
	struct delayed_work	tx_work;
	struct delayed_work	rx_work;
	struct delayed_work	watch_work;
	struct delayed_work	more_work;
	struct delayed_work	hello_work;
	struct delayed_work	down_work;
	bool			closed;

	struct kfw_hello_info	hello_info;
	struct kfp_auth		*auth;
	u8			data_in[KFW_DATA_MAX];
	u8			auth_in[KFW_AUTH_LEN];
	u8			data_out[KFW_DATA_MAX];
	u16			data_out_len;
	u8			auth_out[KFW_AUTH_LEN];
	struct kfp_hello_out	hello_out;
	int			refusal;
	bool			requested;
	struct kfi_connreq	req;
	struct kfw_hello	hello_in;

	struct kfi_link		link ____cacheline_aligned;
};

/** enum kfp_op_state - states of an operation (L); an answer of the peer has to agree with them */
enum kfp_op_state {
	KFP_OP_QUEUED,
	KFP_OP_SENDING,
	KFP_OP_REQUESTED,	/* RTS or RTW sent: CTS or ACK may arrive */
	KFP_OP_GRANTED,		/* CTS received, payload not sent completely */
	KFP_OP_UNANSWERED,	/* all is sent: READ_DATA or ACK may arrive */
	KFP_OP_UNSENT,		/* nothing is due but kfi_link_sent() or kfi_link_concealed() */
};

/**
 * struct kfp_op - the protocol's part of a transmit operation; all (L)
 * @conn: connection that the operation was posted to
 * @left: KFP_OP_SENDING: bytes of payload that the link has not accepted
 * @end: KFP_OP_UNANSWERED, KFP_OP_UNSENT: value of &kfi_link.posted behind the last byte of the
 *	operation; U64_MAX if it waits for kfi_link_concealed()
 * @got: bytes of a read that have arrived
 * @result: KFP_OP_UNSENT: result of the operation
 * @places: where the payload goes: of the peer, or for a read of this side; or NULL
 * @slot: slot number of the CTS
 * @state: &enum kfp_op_state
 * @spliced: the link references the pages of the payload
 * @answered: an answer is due after the payload
 * @rendezvous: the operation uses rendezvous: it takes no answer of the peer's pool
 * @by_permit: the payload goes to the places of a lasting grant, &kfp_tx.into
 */
struct kfp_op {
	struct kfp_conn	*conn;
	union {
		u64	left;
		u64	end;
	};
	union {
		u64	got;
		int	result;
	};
	struct kfp_places *places;
	u16		slot;
	u8		state;
	bool		spliced;
	bool		answered;
	bool		rendezvous;
	bool		by_permit;
};

static_assert(sizeof(struct kfp_op) <= KFI_PROTO_TX_PRIV);

static inline struct kfp_op *kfp_op(const struct kfi_oper *op)
{
	return op->priv;
}

/* Does the link report when it has read the memory of a payload? */
static inline bool kfp_reports_sent(const struct kfp_conn *conn)
{
	return conn->ops->flags & KFI_LINK_REPORTS_SENT;
}

/* Return true for an atomic operation that returns old values. */
static inline bool kfp_op_fetches(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_FETCH_ATOMIC || op->code == KFI_OPC_COMPARE_ATOMIC;
}

/*
 * Does the CPU of the peer write to its regions, or check them, when the frames of the operation
 * arrive? A later write with places would overtake them.
 */
static inline bool kfp_unplaced(const struct kfi_oper *op)
{
	const struct kfp_op *pop = kfp_op(op);

	if (op->code == KFI_OPC_WRITE)
		return !(pop->places || pop->by_permit) || pop->conn->link.checks;
	return kfi_opc_is_atomic(op->code);
}

static inline struct kfp_conn *to_kfp_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct kfp_conn, pc);
}

static inline struct kfp_conn *link_conn(const struct kfi_link *link)
{
	return container_of(link, struct kfp_conn, link);
}

static inline const struct kfi_proto_params *kfp_params(const struct kfp_conn *conn)
{
	return &conn->link.proto->params;
}

/* Jiffies that a live peer may be silent */
static inline unsigned long kfp_peer_timeout(const struct kfp_conn *conn)
{
	return msecs_to_jiffies(READ_ONCE(kfp_params(conn)->peer_timeout_ms));
}

/* Jiffies that a transfer of so many bytes takes at the least rate */
static inline unsigned long kfp_transfer_time(u64 bytes)
{
	return min_t(u64, div_u64(bytes * HZ, KFP_RATE_MIN), LONG_MAX);
}

/* Flags of an allocation in a work item: a process pays for its connections (kfi_account.h). */
static inline gfp_t kfp_gfp(const struct kfp_conn *conn)
{
	return conn->payer ? GFP_NOIO | __GFP_ACCOUNT : GFP_NOIO;
}

/*
 * Jiffies that the link may take, at the least rate, until the peer has what was given to the link.
 * Called under the link's lock.
 */
static inline unsigned long kfp_delivery_time(const struct kfp_conn *conn)
{
	u64 bytes = conn->link.posted - conn->ops->sent_to(&conn->link) + conn->tx.staged;

	return kfp_transfer_time(bytes);
}

/* rdm.c: RDM endpoints */
int kfp_rdm_called(struct kfp_conn *conn);
int kfp_rdm_admit(struct kfp_conn *conn);
bool kfp_rdm_ready(struct kfp_conn *conn);
void kfp_rdm_publish(struct kfp_conn *conn);
bool kfp_rdm_trusted(const struct kfp_conn *conn);
void kfp_peer_info(const struct kfi_proto_ep *pe, const void *name, const struct kfi_peer_conn *pc,
		   struct kfi_peer_info *info);

/* msg.c: connected endpoints */
void kfp_msg_lost(struct kfp_conn *conn, int err);
void kfp_msg_ready(struct kfp_conn *conn);
int kfp_msg_accepted(struct kfp_conn *conn);

/* auth.c: the handshake with an authorization key */
int kfp_auth_new(struct kfp_conn *conn);
void kfp_auth_outgoing(struct kfp_conn *conn, const struct kfw_hello *hello);
int kfp_auth_answered(struct kfp_conn *conn);
int kfp_auth_from_caller(struct kfp_conn *conn);

/* hello.c: the handshake */
int kfp_hello_send_auth(struct kfp_conn *conn, u8 kind);
void kfp_hello_work(struct work_struct *work);
void kfp_hello_start(struct kfp_conn *conn, int state);
int kfp_hello_refuse(struct kfp_conn *conn, int status, int err);
int kfp_hello_accept(struct kfp_conn *conn);
void kfp_hello_kick(struct kfp_conn *conn);
void kfp_hello_next(struct kfp_conn *conn);
size_t kfp_hello_bytes(struct kfp_conn *conn, const void *bytes, size_t len);
void kfp_bye_posted(struct kfp_conn *conn);

/* conn.c: life of a connection */
struct kfp_conn *kfp_dial(struct kfi_proto_ep *pe, const void *to, struct kfi_peer *peer);
void kfp_dial_start(struct kfp_conn *conn);
void kfp_conn_named(struct kfp_conn *conn);
void kfp_conn_set_ops_init(struct kfi_proto *proto);
struct kfp_conn *kfp_conn_new(struct kfi_proto *proto, struct kfi_proto_ep *pe,
			      struct kfi_proto_pep *ppep);
int kfp_conn_alloc(struct kfp_conn *conn);
void kfp_conn_get(struct kfp_conn *conn);
void kfp_conn_put(struct kfp_conn *conn);
void kfp_conn_fail(struct kfp_conn *conn, int err);
bool kfp_conn_failed(const struct kfi_peer_conn *pc);
void kfp_conn_start(struct kfp_conn *conn);
void kfp_conn_check(struct kfp_conn *conn);
int kfp_conn_cpu(const struct kfp_conn *conn);
void kfp_conn_queue(struct kfp_conn *conn, struct delayed_work *work, unsigned long delay);

/* tx.c: the transmit side */
void kfp_tx_kick(struct kfp_conn *conn);
void kfp_tx_work(struct work_struct *work);
void kfp_answer_watch(struct kfp_conn *conn);
bool kfp_treads_late(struct kfp_conn *conn);
void kfp_tx_run(struct kfp_conn *conn);
void kfp_op_end(struct kfp_conn *conn, struct kfi_oper *op, int result);
void kfp_op_sent(struct kfp_conn *conn, struct kfi_oper *op, bool answered);
void kfp_op_unsent(struct kfp_conn *conn, struct kfi_oper *op, int result);
void kfp_tx_flush_all(struct kfp_conn *conn, int err);

/* frames.c: what is sent next */
void kfp_tx_collect(struct kfp_conn *conn);
void kfp_tx_gather(struct kfp_conn *conn);
bool kfp_tx_follows(struct kfp_conn *conn);
bool kfp_tx_empty(struct kfp_conn *conn);
void kfp_lazy_join(struct kfp_conn *conn);
void kfp_ack_queue(struct kfp_conn *conn, struct kfp_answer *answer, bool lazy);
void kfp_answer_queue(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_more_work(struct work_struct *work);
bool kfp_drained(const struct kfp_conn *conn);
/* its parts, for the other files of the protocol */
struct kfw_frame kfp_op_frame(const struct kfi_oper *op, u8 type);
void kfp_send_frame(struct kfp_conn *conn, struct kfw_frame *f);
void kfp_send_segments(struct kfp_conn *conn, const struct kfi_oper *op);
void kfp_send_ack(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_hold_put(struct kfp_conn *conn, struct kfp_hold *hold);
void kfp_hold_drop(struct kfp_conn *conn, struct kfp_answer *answer);

/* rx.c: the receive side */
void kfp_rx_next(struct kfp_conn *conn);
void kfp_rx_proceed(struct kfp_conn *conn);
void kfp_rx_set_at(struct kfp_conn *conn, u8 at);
void kfp_rx_error(struct kfp_conn *conn, int err);
void kfp_rx_abort(struct kfp_conn *conn, int err);
bool kfp_rx_late(struct kfp_conn *conn);
bool kfp_rx_poll(struct kfp_conn *conn);
void kfp_rx_burst(struct kfp_conn *conn, void (*fn)(struct kfp_conn *conn));
void kfp_rx_work(struct work_struct *work);
void kfp_rx_space(struct kfi_cq_waiter *w);

/* dispatch.c: what a received frame means */
int kfp_rx_dispatch(struct kfp_conn *conn);
bool kfp_rx_more(struct kfp_conn *conn);
int kfp_rx_finish(struct kfp_conn *conn);
/* its parts, for the other files of the protocol */
struct kfp_answer *kfp_answer_get(struct kfp_conn *conn);
void kfp_segs_free(struct kfp_conn *conn, struct kfp_answer *answer);
int kfp_rx_ack(struct kfp_conn *conn, u16 status);
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access);
int kfp_rx_write(struct kfp_conn *conn);
kfi_addr_t kfp_rx_src(struct kfp_conn *conn);
void kfp_rx_put_mr(struct kfp_conn *conn);

/* inmsg.c: messages that wait for a receive or for their payload */
struct kfp_inmsg *kfp_inmsg_new(struct kfp_conn *conn, const struct kfw_frame *f, u32 cost);
void kfp_inmsg_free(struct kfp_inmsg *in);
void kfp_inmsg_free_spares(struct kfp_conn *conn);
void kfp_inmsg_arrived(struct kfp_inmsg *in);
void kfp_inmsg_filled(struct kfp_inmsg *in);
void kfp_inmsg_done(struct kfp_inmsg *in);
void kfp_rdv_enqueue_rtw(struct kfp_inmsg *in);
void kfp_rdv_cts_encoded(struct kfp_inmsg *in);
void kfp_inmsg_rtw_done(struct kfp_inmsg *in);
void kfp_inmsg_concealed(struct kfp_inmsg *in);
void kfp_rdv_pause(struct kfp_conn *conn, unsigned long pause);
unsigned long kfp_extend(unsigned long since, unsigned long extra);
bool kfp_rdv_late(struct kfp_conn *conn, unsigned long extra);
bool kfp_rdv_region_late(struct kfp_conn *conn);
void kfp_inmsg_refuse(struct kfp_inmsg *in, u16 status);
void kfp_inmsgs_collect(struct kfp_conn *conn, struct list_head *lost, bool released);
void kfp_inmsgs_abort(struct list_head *lost, int err);
void kfp_inmsgs_drop(struct kfp_conn *conn);
void kfp_inmsgs_yield(struct kfp_conn *conn);
void kfp_answer_done(struct kfp_conn *conn, struct kfp_answer *answer);
void kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost);
void __kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost);	/* with bottom halves off */

/* places.c: payload that the link writes directly to the memory of its receiver */
struct kfp_places *kfp_expose(struct kfp_conn *conn, const struct iov_iter *iter, u64 len);
void kfp_places_free_spares(struct kfp_conn *conn);
void kfp_inmsg_expose(struct kfp_conn *conn, struct kfp_inmsg *in);
bool kfp_places_ended(const struct kfp_places *places);
bool kfp_conceal(struct kfp_conn *conn, struct kfp_places **places);
void kfp_send_places(struct kfp_conn *conn, const struct kfp_places *places);
void kfp_send_place_list(struct kfp_conn *conn, const struct kfi_link_place *place, unsigned int n);
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to);

/* Return the segments that the peer keeps until it has answered the operation. */
static inline u32 kfp_read_segs(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_READ && op->rma_count > 1 ? op->rma_count : 0;
}

/* Is this a write whose payload may go to places? */
static inline bool kfp_rtw_possible(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE && conn->ops->expose && op->len > conn->tx.eager &&
	       op->len >= conn->ops->place_min && op->rma_count <= KFP_RTW_SEGS;
}

/*
 * Does a write use an RTW? Each RTW costs a round trip. If the last answers named no places, only
 * one in KFP_RTW_RETRY of the writes that could use an RTW does so. Longer writes do: the peer may
 * expose only memory for which that is worth it.
 */
static inline bool kfp_uses_rtw(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return kfp_rtw_possible(conn, op) &&
	       (conn->tx.rtw_failures < KFP_RTW_FAILURES || op->len > conn->tx.rtw_failed);
}

void kfp_rtw_skipped(struct kfp_conn *conn, const struct kfi_oper *op);
void kfp_send_rtw(struct kfp_conn *conn, struct kfi_oper *op);
int kfp_rx_rtw(struct kfp_conn *conn);
int kfp_rx_rtw_data(struct kfp_conn *conn, struct kfp_inmsg *in);

/* grant.c: lasting grants */
int kfp_grants_alloc(struct kfp_conn *conn);
void kfp_grants_stop(struct kfp_conn *conn);
void kfp_grants_end(struct kfp_conn *conn);
void kfp_grant_written(struct kfp_conn *conn, u64 key);
void kfp_send_grant(struct kfp_conn *conn, const struct kfp_inmsg *in);
void kfp_send_recalls(struct kfp_conn *conn);
int kfp_rx_grant(struct kfp_conn *conn);
int kfp_rx_placed(struct kfp_conn *conn);
int kfp_rx_recall(struct kfp_conn *conn);
int kfp_rx_recalled(struct kfp_conn *conn);
bool kfp_recalls_late(struct kfp_conn *conn);
void kfp_recalls_pause(struct kfp_conn *conn, unsigned long pause);
struct kfp_permit *kfp_permit_search(const struct kfp_conn *conn, const struct kfi_oper *op);

/* Find the permit that a write can use instead of an RTW. Return: the permit, or NULL. */
static inline struct kfp_permit *kfp_permit_find(const struct kfp_conn *conn,
						 const struct kfi_oper *op)
{
	if (!kfp_rtw_possible(conn, op) || op->rma_count != 1)
		return NULL;
	return kfp_permit_search(conn, op);
}

void kfp_permit_use(struct kfp_conn *conn, const struct kfp_permit *p, const struct kfi_oper *op,
		    struct kfw_frame *f);

/* device_place.c: places that devices write */
int kfp_dev_place_give(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_place_get(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_place_put(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_place_answer(struct kfp_conn *conn, struct kfp_answer *answer);
int kfp_rx_dev_place(struct kfp_conn *conn);
struct kfp_conn *kfp_dev_place_conn(struct kfi_dev_place *place);
/*
 * Called after KFP_FAILED is set: detach all places that consumers have from the connection. No
 * place is added later.
 */
void kfp_dev_places_abandon(struct kfp_conn *conn);
/*
 * Called after KFP_DEAD is set and before the link is closed: end the places whose put was not
 * encoded.
 */
void kfp_dev_puts_end(struct kfp_conn *conn);

/* answer.c: answers of the peer to operations of this side */
int kfp_got_cts(struct kfp_conn *conn, const struct kfw_frame *f);
int kfp_got_ack(struct kfp_conn *conn, const struct kfw_frame *f);
struct kfi_oper *kfp_answered_op(struct kfp_conn *conn, const struct kfw_frame *f);
bool kfp_op_acked(const struct kfp_conn *conn, const struct kfi_oper *op);

/* atomic.c */
void kfp_send_atomic(struct kfp_conn *conn, struct kfi_oper *op);
void kfp_send_fetched(struct kfp_conn *conn, struct kfp_answer *answer);
int kfp_rx_atomic(struct kfp_conn *conn);
int kfp_rx_finish_atomic(struct kfp_conn *conn);
void kfp_rx_atomic_drop(struct kfp_conn *conn);
void kfp_rx_fetched(struct kfi_oper *op);
void kfp_values_free(void **values, const u8 *small);

/* commit.c */
void kfp_send_flush(struct kfp_conn *conn, struct kfi_oper *op);
int kfp_rx_flush(struct kfp_conn *conn);
int kfp_rx_commit(struct kfp_conn *conn);
int kfp_rx_commit_rtw(struct kfp_conn *conn);
int kfp_rx_end(struct kfp_conn *conn);
void kfp_commit_init(struct kfp_conn *conn);
void kfp_commit_drop(struct kfp_answer *answer);

/* proto.c */
int kfp_init(void);
void kfp_exit(void);

#endif /* _KFI_PROTO_H */
