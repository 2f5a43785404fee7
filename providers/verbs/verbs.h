/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs.h - the objects of kfi_verbs and who may touch them.
 *
 * Locks, outermost first:
 *
 *   rdma_cm's handler lock	events of one identifier: one at a time (cm.c)
 *   kfi_home.lock		of an endpoint or a listener, see kfi_home.h
 *   kv_conn.rx_lock (spin, bh)	packets that have come: they are looked at under it, one after the other. No post takes it
 *   kv_conn.lock (spin, bh)	the send side: queues, the send queue's ring, credits in both directions, keys. Posting holds it and
 *				so does ib_post_send(); completions of consumers are made after it was dropped (struct kv_done)
 *   kv_door.lock (spin, bh)	callers that have been asked for a proof. Leaf
 *
 * A connection is published by RCU (kfi_peer.conn, kfi_home.conn). Whoever posts to it does so inside an RCU read section; conn.c unpublishes it
 * and waits a grace period before it collects what was posted.
 *
 * Everything that arrives is handled where the device's completion queue is polled: softirq, or with bottom halves off by who reads
 * the consumer's queue (cq.c). kfi_source.looking is outside of all these locks but rdma_cm's, and only tried by readers.
 */
#ifndef _KFI_VERBS_VERBS_H
#define _KFI_VERBS_VERBS_H

#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <kfi_credit.h>
#include <kfi_home.h>
#include <kfi_prov.h>
#include <kfi_source.h>
#include <trace/events/kfi.h>
#include "plain.h"
#include "dev.h"
#include "drain.h"
#include "slot.h"
#include "wire.h"

#define KV_SQ_ROOM	(KV_DESCS + 3)	/* the most that one step of the send side puts there */
#define KV_BUF		1024		/* header, descriptors and short payload of a packet */
#define KV_INLINE	64		/* payload up to this long is copied behind the header */
#define KV_SIGNAL	16		/* every so many work requests are reported, so that the ring moves on */
#define KV_KEYS		32		/* regions of the peer that a connection remembers */
#define KV_CLS_LONG	2		/* classes that have long messages: KVW_CLS_MSG and KVW_CLS_TAG */
#define KV_POOL_SINKS	KV_CLS_LONG	/* registrations for READs on iWARP, behind those of the classes */
#define KV_POOLS	(KV_POOL_SINKS + 1)
#define KV_LINGER_MS	1000		/* for what our device has said to the peer's to be heard */
#define KV_SETTLE_MS	500		/* for what is in the send queue when we close */
#define KV_NUDGE_MS	100		/* for a listener to be through with its accept, see kv_watch_start() */
#define KV_MISC		12		/* receives for READY, BYE, three CREDITs of each class, and one to nudge */

/* Module parameters (main.c) */
extern unsigned int kv_window;
extern unsigned int kv_answers;
extern unsigned int kv_connect_timeout_ms;
extern unsigned int kv_keepalive_s;
extern unsigned int kv_timeout_ms;
extern unsigned int kv_backlog;
extern unsigned int kv_max_peers;
extern unsigned int kv_held_max;
extern unsigned int kv_short_port;

extern struct workqueue_struct *kv_cm_wq;	/* unbound: connections come and go */
extern struct workqueue_struct *kv_region_wq;	/* unbound: what may wait for memory, and nobody for it */
extern struct workqueue_struct *kv_commit_wq;	/* unbound: calls of regions' owners, and nothing else */

struct kv_auth;
struct kv_conn;

/**
 * struct kv_door - those who have called an endpoint with an authorization key, and have been asked to prove that they have it
 * @lock: protects the rest; @challenges: the oldest first, @nchallenges of them, at most kv_backlog
 * @ticket: number of the next one
 */
struct kv_door {
	spinlock_t		lock;
	struct list_head	challenges;
	unsigned int		nchallenges;
	u16			ticket;
};

/**
 * struct kv_ep - an endpoint
 * @ep:		common part
 * @addr:	own name; port fixed at enable
 * @id:		RDM: where peers call; @door: likewise
 * @peers:	RDM: who they are
 * @home:	its connections; @idle of it is woken for kv_ep_settle(), too
 * @peer_name:	MSG: whom we are connected to
 * @rq:		MSG: its receives
 * @held:	RDM: dead connections that have left messages, see held.c; @nheld: these messages; under @held_lock
 * @fresh:	MSG: regions whose registration goes into the send queue next, see region.c; under @fresh_lock, which is inside
 *		of kv_conn.lock
 */
struct kv_ep {
	struct kfi_ep		ep;
	struct kfi_home		home;
	union kfi_inaddr	addr;
	union kfi_inaddr	peer_name;
	struct kv_rq		rq;
	struct rdma_cm_id	*id;
	struct kv_door		door;
	struct kfi_peers	peers;
	spinlock_t		held_lock;
	struct list_head	held;
	unsigned int		nheld;
	spinlock_t		fresh_lock;
	struct list_head	fresh;
};

/**
 * struct kv_pep - a passive endpoint
 * @pep: common part; @addr: where it listens; @id: its listening identifier; @dev: the device of that, or NULL: any
 * @home: requests that nobody has answered
 */
struct kv_pep {
	struct kfi_pep		pep;
	union kfi_inaddr	addr;
	struct rdma_cm_id	*id;
	struct kv_dev		*dev;
	struct kfi_home		home;
};

/**
 * struct kv_frmr - memory that the peer may touch for the time of one message, or of one READ
 * @link:	in its pool, or in &kv_op.frmrs, or the READ's alone
 * @mr:		fast registration, its key changes with every use
 * @sg: @nents: what is mapped for it, in direction @dir
 * @valid:	registered and not invalidated
 */
struct kv_frmr {
	struct list_head	link;
	struct ib_mr		*mr;
	struct scatterlist	*sg;
	unsigned int		nents;
	enum dma_data_direction	dir;
	bool			valid;
	u8			pool;
};

/** enum kv_sqe_kind - what a work request was for */
enum kv_sqe_kind {
	KV_SQ_PACKET,		/* a SEND; with @op, it completes that */
	KV_SQ_PART,		/* of @op, which ends with all of them: READ or WRITE, or a SEND that is answered */
	KV_SQ_FETCH,		/* READ or WRITE of a message in @slot */
	KV_SQ_PROBE,		/* nobody waits for it: that it ends is enough */
	KV_SQ_HANGUP,		/* that it ends is the end of the connection */
	KV_SQ_REG,		/* nobody waits for it: what follows in the queue sees it done */
	KV_SQ_INV,		/* @frmr, of @op, is nobody's any more */
	KV_SQ_REGION,		/* @region is registered */
};

/**
 * struct kv_sqe - a work request in the send queue. They complete in order: one that is reported stands for all before it
 * @cqe:	its completion
 * @kind:	enum kv_sqe_kind
 * @read:	a READ; @done: it has ended, with @err
 * @atom:	READ or WRITE: the first of its operation, and one packet: if it is refused not a byte of that has moved
 * @chunk:	of @region; @tells: kfi.ko waits for kfi_mr_registered() of it
 * @sge: @nsge: local segments; @mapped: those of them from @sge[@nsge - @mapped] on are the consumer's, to be unmapped,
 *		but those in @unmapped, a bit each
 * @wr:		what the device is given
 * @buf:	KV_BUF bytes; @dma: as the device knows them
 */
struct kv_sqe {
	struct ib_cqe		cqe;
	struct kv_conn		*conn;
	u8			kind;
	bool			read;
	bool			done;
	bool			atom;
	bool			tells;
	u8			nsge;
	u8			mapped;
	u32			unmapped;
	enum dma_data_direction	dir;
	struct kfi_oper		*op;
	struct kv_slot		*slot;
	struct kv_frmr		*frmr;
	struct kv_region	*region;
	unsigned int		chunk;
	int			err;
	void			*buf;
	u64			dma;
	union {
		struct ib_send_wr	send;
		struct ib_rdma_wr	rdma;
		struct ib_reg_wr	reg;
	} wr;
	struct ib_sge		sge[KV_SGE + 1];
};

/* kv_conn.flags */
enum {
	KV_FAILED,		/* kv_conn_fail() was called */
	KV_DEAD,		/* taken down: nothing is posted any more */
	KV_DOWN,		/* kv_conn_down() has taken it down */
	KV_REST,		/* ... and what has come before is still looked at */
	KV_OVER,		/* ... and nobody knows of it any more */
	KV_LAST,		/* a probe was sent behind everything, which ends at kv_conn.last */
	KV_BYE_WANTED,
	KV_BYE_SENT,
	KV_FLUSHED,		/* the device has stopped by itself */
	KV_WAS_READY,		/* it was KV_READY when it failed */
	KV_NOTIFIED,		/* rdma_cm knows from us that the connection stands, and will say so: */
	KV_ESTABLISHED,		/* it has said so */
	KV_STEP_CALL,		/* for step_work, see cm.c */
	KV_STEP_AGAIN,
	KV_STEP_CONNECT,
	KV_STEP_ACCEPT,
	KV_STEP_REJECT,
	KV_STEP_HEARD,
	KV_STEP_READY,
};

/** enum kv_conn_state - written in cm.c, under kv_conn.lock */
enum kv_conn_state {
	KV_NEW,
	KV_CALLING,		/* resolving, connecting, and no answer yet */
	KV_WAITING,		/* MSG, passive side: the consumer has not decided yet */
	KV_ACCEPTED,		/* the call is: READY is to be said, or awaited */
	KV_READY,
};

/**
 * struct kv_key - a region of the peer
 * @key:	kfabric's; @asked: the address that was asked for; @gen: tells answers apart
 * @status:	why there is none; @rights: KVW_K_
 * @base:	address of its first byte, @len: bytes
 * @first:	bytes from here up to @end are in @desc
 */
struct kv_key {
	u64	key;
	u64	asked;
	u32	gen;
	u8	state;
	u8	rights;
	u16	status;
	u64	base, len;
	u64	first, end;
	u16	count;
	struct {
		u64	addr;
		u64	len;
		u32	rkey;
	} desc[KV_DESCS];
};

/** struct kv_run - contiguous bytes of a region of the peer; @tell: it wants to hear of accesses; @commit: they can be durable */
struct kv_run {
	u64	addr;
	u64	len;
	u32	rkey;
	bool	tell;
	bool	commit;
};

/**
 * struct kv_conn - one RC queue pair
 * @ref:	list, works, unexpected messages, the consumer while he decides about @req
 * @vep:	its endpoint; NULL while a request waits at @pep; both change with @pc's home
 * @pc:		what kfi.ko knows of it
 * @plain:	of a MSG endpoint: a queue pair without our protocol, see plain.c; @stands: it has been connected
 * @queue:	operations in posting order; @stalled: those without credit; @waiting: a FIN is due; @ending: their
 *		registrations are being taken back; @failed: to be completed when the connection is down
 * @waits:	not kv_tx_idle(): set by who makes it so, cleared by kv_tx_run()
 * @op:		RMA that is partly in the send queue
 * @answers:	slots with something to say; @fetches: slots whose data is to be moved
 * @due:	the device will report something of the send queue before this
 * @last:	what was in the send queue when the endpoint closed is before this
 * @room:	for payload and descriptors in a packet that the peer takes; @takes: bytes of a packet that we have agreed to take
 * @in_request:	packets up to so many bytes go to the device with the work request
 * @chain:	work requests that are filled in and not yet given to the device
 * @sq:		ring: @head is the next to fill, @tail the oldest not completed; what is before @told has been reported, but for READs,
 *		which are each for itself
 * @broken:	the device has refused some of it, or failed at it, and gets no more
 * @fenced:	nothing but registrations is behind an invalidation, see kv_put_fence()
 * @credit_tx: @credit_rx: by class; @window: the peer's
 * @requests:	unanswered, at most @requests_max
 * @grow:	classes that are short of receives, and answers as the bit behind them; @grow_work makes more
 * @batches:	receive buffers; changed by @grow_work alone once the connection is open
 * @inflight:	operations that end with work requests
 * @mtu:	bytes of a packet: of as many all have moved, or none
 * @atomics:	atomic operations that have not been answered: RMA behind them waits
 * @reads:	READs under way, at most @reads_max, which the peer's device serves at once: one more would hold up the send queue
 * @left:	messages that it has left, being dead; @left_entry: in &kv_ep.held
 * @parts:	of an access that the peer has told us of in part: how many have come, whether it reads,
 *		their bytes, and whether a segment is in no region. Under @rx_lock
 * @peer_epoch:	what it last told; @keys: regions of it that we know, see key.c; @key_turn: which to forget next
 * @asks_later:	the peer could not tell of a region: it is not asked before the next jiffy
 * @frmrs:	free registrations by pool, @nfrmrs: their numbers; @frmr_mem: @frmr_sg: their memory
 * @rqe:	MSG: the ring of receives, see plain.c; @rq_head under &kv_rq.lock
 * @rxq:	packets to look at; @rx_waits: for @space; @rx_held: until the consumer knows of the connection
 * @space:	waits for room in the receive CQ
 * @held:	MSG: messages to be told of then
 * @heard:	jiffies of the last sign of life; @probing: one is waited for, since @probed
 * @nudge:	something is to be said soon, whatever it is
 * @name:	the peer; @av_name: as address vectors have it
 * @drain:	the last of its queue pair; @kept: that has not given back everything, and @husk stays
 */
struct kv_conn {
	struct ib_qp		*qp;
	struct kv_ep		*vep;
	struct kv_domain	*kdom;
	unsigned long		flags;
	spinlock_t		lock;
	u8			state;
	bool			credit_due;
	bool			ready_due;
	bool			probing;
	bool			asks_later;
	bool			fenced;
	bool			broken;
	bool			waits;
	u8			grow;
	bool			nudge;
	bool			plain;
	bool			stands;
	struct list_head	queue;
	struct list_head	stalled[KVW_CLS];
	struct list_head	waiting;
	struct list_head	ending;
	struct list_head	failed;
	struct list_head	answers;
	struct list_head	fetches;
	struct kfi_oper		*op;
	u32			in_request;
	u32			room;
	u32			takes;
	struct ib_send_wr	*chain;
	struct ib_send_wr	*chain_end;
	struct kv_sqe		*sq;
	u32			head, tail, told;
	u32			last;
	u32			due;
	struct kfi_credit_tx	credit_tx[KVW_CLS];
	struct kfi_credit_rx	credit_rx[KVW_CLS];
	u32			window[KVW_CLS];
	u32			requests, requests_max;
	unsigned int		inflight;
	unsigned int		atomics;
	unsigned int		reads, reads_max;
	u32			mtu;
	u32			peer_epoch;
	unsigned int		left;
	struct list_head	left_entry;
	struct {
		u64		len;
		u8		count;
		bool		read;
		bool		refused;
	} parts;
	unsigned int		key_turn;
	struct kv_key		*keys;
	struct list_head	frmrs[KV_POOLS];
	unsigned int		nfrmrs[KV_POOLS];
	u64			tx_bytes, rx_bytes;

	spinlock_t		rx_lock ____cacheline_aligned;
	struct list_head	rxq;
	struct list_head	held;
	struct kv_rqe		*rqe;
	u32			rq_mask, rq_tail;
	u32			rq_head;
	bool			rx_waits;
	bool			rx_held;
	struct kfi_cq_waiter	space;
	unsigned long		heard;
	unsigned long		probed;

	refcount_t		ref ____cacheline_aligned;
	struct kfi_peer_conn	pc;
	int			error;
	struct rdma_cm_id	*id;
	struct ib_cq		*cq;
	unsigned int		ncqe;		/* of it, which others use too; 0: it is ours alone, and @source's */
	struct kfi_source	source;
	struct kv_frmr		*frmr_mem;
	struct scatterlist	*frmr_sg;
	struct kv_pep		*pep;
	struct kv_auth		*auth;		/* with an authorization key, auth.c */
	union kfi_inaddr	name;
	u8			av_name[sizeof(union kfi_inaddr)] __aligned(8);
	u8			serves;		/* READs of the peer at once */
	struct kvw_greeting	greeting;	/* the peer's */
	u8			data_in[KVW_DATA_MAX];	/* private data of MSG: the peer's, and ours */
	u8			data_in_len;
	u8			data_out[KVW_DATA_MAX];
	u8			data_out_len;
	bool			rejected;	/* by the peer's consumer */
	bool			requested;	/* @req was shown to the consumer */
	bool			answered;	/* ... and rdma_cm has our answer */
	struct list_head	batches;
	struct kv_drain		drain;
	struct llist_node	husk;
	bool			kept;
	struct work_struct	grow_work;
	struct work_struct	step_work;
	struct work_struct	down_work;
	struct work_struct	event_work;
	struct delayed_work	more_work;
	struct delayed_work	watch_work;
	struct delayed_work	deadline;
	struct kfi_connreq	req;
};

/** enum kv_op_state - where an operation is, under kv_conn.lock; checked before a peer's answer is believed */
enum kv_op_state {
	KV_OP_QUEUED = 0,
	KV_OP_SENT,		/* in the send queue */
	KV_OP_ASKED,		/* a FIN may come */
	KV_OP_ENDING,		/* it came */
};

/**
 * struct kv_op - our part of a transmit operation
 * @conn:	which connection's answer it waits for
 * @begun:	RMA: some of it has gone to the send queue
 * @issued:	RMA, and a message in one packet that is answered: no more of it will go to the send queue, where @wrs work requests of
 *		it are
 * @tell:	RMA: a region's owner wants to hear of it; @checked: segments whose regions are known
 * @regs:	registrations that it takes, 0: not looked up yet
 * @told:	RMA: segments that the peer has been told of; @asked: packets of it that have not
 *		been answered; @said: what the answers say
 * @seg: @at:	RMA: the remote segment under way, and how much of it has been asked for
 * @ninv:	registrations still to be invalidated
 * @err:	what it will be completed with
 * @iter:	RMA: what is left of the local memory, once it has begun
 * @frmrs:	its registrations
 */
struct kv_op {
	struct kv_conn		*conn;
	u8			state;
	bool			begun;
	bool			issued;
	bool			tell;
	u16			regs;
	u16			checked;
	u16			told;
	u16			asked;
	u16			seg;
	int			said;
	unsigned int		wrs;
	u64			at;
	unsigned int		ninv;
	int			err;
	struct iov_iter		iter;
	struct list_head	frmrs;
};

/**
 * struct kv_done - what is to be done when kv_conn.lock has been dropped
 * @ops: operations that have ended, in their order; @ops_end: where the next goes; @slots: messages whose data has been moved
 */
struct kv_done {
	struct llist_node	*ops;
	struct llist_node	**ops_end;
	struct list_head	slots;
};

#define KV_DONE(d)	{ NULL, &(d).ops, LIST_HEAD_INIT((d).slots) }

static inline void kv_done_op(struct kv_done *done, struct kfi_oper *op)
{
	op->lnode.next = NULL;
	*done->ops_end = &op->lnode;
	done->ops_end = &op->lnode.next;
}

static inline struct kv_op *kv_op(const struct kfi_oper *op)
{
	return op->priv;
}

static inline struct kv_ep *to_kv_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct kv_ep, ep);
}

static inline struct kv_conn *to_kv_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct kv_conn, pc);
}

static inline struct kv_pep *to_kv_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct kv_pep, pep);
}

/* ep.c */
int kv_ep_open(struct kfi_ep *ep);
int kv_ep_enable(struct kfi_ep *ep);
void kv_ep_stop(struct kfi_ep *ep, int err);
void kv_ep_restart(struct kfi_ep *ep);
void kv_ep_close(struct kfi_ep *ep);
int kv_ep_getname(struct kfi_ep *ep, void *addr);
int kv_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
void kv_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

void kv_show(const union kfi_inaddr *name, const struct kv_conn *conn, struct kfi_peer_info *info);

/* rdm.c */
extern const struct kfi_peer_ops kv_peer_ops;
int kv_peer_name(const struct kfi_ep *ep, const void *addr, void *name);
int kv_rdm_tx(struct kv_ep *vep, struct kfi_oper *op);
void kv_addr_removed(struct kfi_ep *ep, u32 index);
void kv_conn_named(struct kv_conn *conn);
bool kv_rdm_accepted(struct kv_conn *conn);
int kv_rdm_admit(struct kv_conn *conn);
void kv_rdm_ready(struct kv_conn *conn);
void kv_rdm_lost(struct kv_conn *conn, int err);

/* msg.c */
struct kv_conn *kv_msg_way(struct kv_ep *vep);
int kv_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int kv_msg_accept(struct kfi_ep *ep, const void *data, size_t len);
int kv_msg_shutdown(struct kfi_ep *ep);
int kv_msg_getpeer(struct kfi_ep *ep, void *addr);
void kv_msg_ready(struct kv_conn *conn);
bool kv_msg_was_ready(struct kv_conn *conn);
void kv_msg_lost(struct kv_conn *conn, int err);
int kv_pep_open(struct kfi_pep *pep);
void kv_pep_close(struct kfi_pep *pep);
int kv_pep_getname(struct kfi_pep *pep, void *addr);
int kv_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int kv_pep_listen(struct kfi_pep *pep);
int kv_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);

/* cm.c: rdma_cm */
int kv_cm_id(struct kv_conn *conn);
void kv_cm_step(struct kv_conn *conn, int step);
void kv_cm_name(union kfi_inaddr *name, const struct sockaddr_storage *addr, __be16 port);
int kv_cm_error(const struct rdma_cm_event *event);
int kv_cm_listen(struct net *net, union kfi_inaddr *addr, int backlog, rdma_cm_event_handler handler, void *context,
		 struct rdma_cm_id **idp);
int kv_cm_pep_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int kv_cm_ep_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int kv_cm_got_ready(struct kv_conn *conn);
void kv_cm_settle(struct kv_conn *conn);
void kv_cm_hang_up(struct kv_conn *conn);
void kv_cm_step_work(struct work_struct *work);

/* auth.c: what an authorization key adds to it */
int kv_auth_new(struct kv_conn *conn);
u8 kv_auth_kind(const struct kv_conn *conn);
u16 kv_auth_ticket(const struct kv_conn *conn);
size_t kv_auth_outgoing(struct kv_conn *conn, struct kvw_accept *say);
int kv_auth_challenged(struct kv_conn *conn, const struct kvw_hello *challenge);
int kv_auth_accepted(struct kv_conn *conn, const struct kvw_accept *said);
int kv_auth_called(struct kv_conn *conn, struct kv_door *door, struct rdma_cm_id *id, const struct kvw_hello *hello);
void kv_auth_warn(const void *name);
void kv_door_init(struct kv_door *door);
void kv_door_close(struct kv_door *door);

/* conn.c: life of a connection */
extern const struct kfi_home_ops kv_home_ops;
void kv_peer_put(struct kfi_peer_conn *pc);
void kv_peer_fail(struct kfi_peer_conn *pc, int err);
bool kv_peer_failed(const struct kfi_peer_conn *pc);
struct kv_conn *kv_conn_new(struct kv_ep *vep, struct kv_pep *vpep);
int kv_conn_list(struct kv_conn *conn, struct kfi_peer *peer);
struct kv_conn *kv_dial(struct kv_ep *vep, const union kfi_inaddr *to, struct kfi_peer *peer);
void kv_conn_open(struct kv_conn *conn);
void kv_watch_start(struct kv_conn *conn);
void kv_conn_get(struct kv_conn *conn);
void kv_conn_put(struct kv_conn *conn);
void kv_conn_fail(struct kv_conn *conn, int err);
bool kv_conn_settled(struct kv_conn *conn);
int kv_conn_end(const struct kv_conn *conn);
int kv_conn_was(const struct kv_conn *conn);
void kv_conn_flushed(struct kv_conn *conn);
void kv_conn_down(struct work_struct *work);
void kv_conn_again(struct kv_conn *conn);

/* qp.c: what a connection has at the device */
int kv_qp_create(struct kv_conn *conn);
int kv_qp_knock(struct kv_conn *conn);
void kv_qp_destroy(struct kv_conn *conn);
void kv_qp_free(struct kv_conn *conn);
void kv_event_work(struct work_struct *work);
u32 kv_qp_mtu(struct kv_conn *conn);

/* cq.c: its completion queue */
int kv_cq_open(struct kv_conn *conn, unsigned int ncqe, int vector);
void kv_cq_close(struct kv_conn *conn);

/* slot.c: receive buffers */
unsigned int kv_nslots(void);
int kv_slot_post(struct kv_slot *slot);
int kv_slots_create(struct kv_conn *conn);
void kv_slots_open(struct kv_conn *conn);
/* held.c: what dead connections leave */
void kv_held_down(struct kv_conn *conn);
void kv_held_freed(struct kv_slot *slot);
bool kv_held_admits(struct kv_conn *conn);

void kv_slots_each(struct kv_conn *conn, void (*fn)(struct kv_slot *slot, int err), int err);
void kv_slots_unmap(struct kv_conn *conn);
void kv_slots_free(struct kv_conn *conn);
void kv_grow(struct kv_conn *conn, u8 what);
void kv_grow_work(struct work_struct *work);

/* May one more request wait for its answer? If not now then later: whoever was refused is asked again. */
static inline bool kv_may_ask(struct kv_conn *conn)
{
	if (likely(conn->requests < conn->requests_max))
		return true;
	kv_grow(conn, BIT(KVW_CLS));
	return false;
}

/* sq.c: the send queue */
struct kv_sqe *kv_sq_get(struct kv_conn *conn, u8 kind);
void kv_sq_put(struct kv_conn *conn, struct kv_sqe *e, struct ib_send_wr *wr, bool tell);
void kv_sq_post(struct kv_conn *conn);
void kv_put_fence(struct kv_conn *conn, u32 rkey);
void kv_put_reg_as(struct kv_conn *conn, struct kv_sqe *e, struct ib_mr *mr, int access, bool tell);
void kv_put_reg(struct kv_conn *conn, struct kv_sqe *e, struct ib_mr *mr, int access, bool tell);
void kv_sq_flush(struct kv_conn *conn, struct kv_done *done);
ssize_t kv_sq_map(struct kv_conn *conn, struct kv_sqe *e, struct iov_iter *iter, size_t len, unsigned int max,
		  enum dma_data_direction dir);
struct kv_sqe *kv_sq_write(struct kv_conn *conn, u8 kind, struct iov_iter *iter, u64 len, ssize_t *n);
void kv_sq_unmap(struct kv_conn *conn, struct kv_sqe *e);
void kv_send_done(struct ib_cq *cq, struct ib_wc *wc);

static inline bool kv_may_read(const struct kv_conn *conn)
{
	return conn->reads < conn->reads_max;
}

/*
 * Bytes that one READ over iWARP from @addr may ask for. siw answers one of up to some 32 bytes with wrong ones if they cross the border of a page
 * of the region: what begins so close to one ends there.
 */
static inline u64 kv_read_room(u64 addr, u64 len)
{
	u64 room = SZ_4K - (addr & (SZ_4K - 1));

	return room < 64 ? min(len, room) : len;
}

static inline bool kv_tx_open(const struct kv_conn *conn)
{
	return conn->state == KV_READY && !test_bit(KV_DEAD, &conn->flags) && !conn->broken;
}

static inline u32 kv_sq_room(const struct kv_conn *conn)
{
	return KV_SQ - (conn->head - conn->tail);
}

/* mem.c: consumers' memory, and pages of our own */
size_t kv_piece(struct iov_iter *iter, struct page **page, size_t *off);
size_t kv_take_piece(struct iov_iter *iter, size_t max, struct page **page, size_t *off);
unsigned int kv_take_run(struct iov_iter *iter, struct scatterlist *sg, unsigned int pages, size_t *bytes);
struct scatterlist *kv_alloc_sg(unsigned int n, gfp_t gfp);
unsigned int kv_count_runs(const struct iov_iter *iter, unsigned int pages);
void kv_pages_free(struct page **pages, unsigned int n);
bool kv_bounces(const struct kv_domain *kdom, struct scatterlist *list, int nents);
int kv_pages_alloc(struct page **pages, unsigned int n, gfp_t gfp);

struct kv_reserve { unsigned int noio, noreclaim; bool reclaim; };
void kv_reserve_begin(struct kv_reserve *r, const struct kfi_ep *ep);
void kv_reserve_end(const struct kv_reserve *r);

/* The send side has nothing to do; the lock is held. */
static inline bool kv_tx_idle(const struct kv_conn *conn)
{
	return list_empty(&conn->queue) && !conn->op && list_empty(&conn->answers) && !conn->credit_due && !conn->ready_due &&
	       list_empty(&conn->stalled[KVW_CLS_MSG]) && list_empty(&conn->stalled[KVW_CLS_TAG]) &&
	       list_empty(&conn->fetches) && list_empty(&conn->ending) && !test_bit(KV_BYE_WANTED, &conn->flags);
}

/* Is there anything that kv_tx_run() would look at? Mostly not. */
static inline bool kv_tx_waits(const struct kv_conn *conn)
{
	lockdep_assert(conn->waits || kv_tx_idle(conn));
	return conn->waits;
}

/* tx.c: the send path */
int kv_tx(struct kfi_ep *ep, struct kfi_oper *op);
void kv_tx_flush(struct kfi_ep *ep);
void kv_tx_post(struct kv_conn *conn, struct kfi_oper *op);
void kv_tx_run(struct kv_conn *conn, struct kv_done *done);
void kv_tx_kick(struct kv_conn *conn);
void kv_tx_flush_all(struct kv_conn *conn, int err);
bool kv_put_control(struct kv_conn *conn);
void kv_more_work(struct work_struct *work);
void kv_ask_later(struct kv_conn *conn);
void kv_done_all(struct kv_done *done);
u8 kv_op_cls(const struct kfi_oper *op);
u32 kv_put_header(struct kv_conn *conn, struct kv_sqe *e, struct kvw_packet *p);
void kv_put_send(struct kv_conn *conn, struct kv_sqe *e, u32 bytes, bool tell);
void kv_put_buf(struct kv_conn *conn, struct kv_sqe *e, u32 bytes);
void kv_sent(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op, u8 answer, struct kv_done *done);
struct kvw_packet kv_op_packet(const struct kfi_oper *op, u8 type);
void kv_op_asked(struct kv_conn *conn, struct kfi_oper *op);
struct kfi_oper *kv_answered_op(struct kv_conn *conn, const struct kvw_packet *p);
void kv_op_answered(struct kv_conn *conn, struct kfi_oper *op);
void kv_op_end(struct kfi_oper *op, int err, struct kv_done *done);
void kv_put_packet(struct kv_conn *conn, struct kvw_packet *p, const struct kvw_desc *descs, int wr_flags);
void kv_put_void(struct kv_conn *conn, const struct kfi_oper *op);
int kv_got_fin(struct kv_conn *conn, const struct kvw_packet *p, struct kv_done *done);

/* No lock is held, bottom halves are off: consumers hear of it. */
static inline void kv_done(struct kv_done *done)
{
	if (done->ops || !list_empty(&done->slots))
		kv_done_all(done);
}

/* What was done under the lock, and then what is to be done without it. */
static inline void kv_unlock_bh(struct kv_conn *conn, struct kv_done *done) __releases(&conn->lock)
{
	spin_unlock(&conn->lock);
	kv_done(done);
	local_bh_enable();
}

/* rdv.c: long messages, at both ends */
bool kv_long_room(const struct kv_conn *conn, struct kfi_oper *op);
void kv_put_long(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done);
void kv_long_end(struct kv_conn *conn, struct kfi_oper *op, int err, struct kv_done *done);
bool kv_put_inv(struct kv_conn *conn);
void kv_frmr_done(struct kv_sqe *e, int err, struct kv_done *done);
void kv_fetch_start(struct kv_conn *conn, struct kv_slot *slot);
bool kv_put_fetch(struct kv_conn *conn, struct kv_done *done);

/* frmr.c: registrations of a connection's own */
int kv_frmrs_alloc(struct kv_conn *conn);
void kv_frmrs_free(struct kv_conn *conn);
void kv_frmrs_dereg(struct kv_conn *conn);
int kv_frmr_map(struct kv_conn *conn, struct kv_frmr *frmr, struct iov_iter *iter, enum dma_data_direction dir);
struct kv_frmr *kv_frmr_take(struct kv_conn *conn, u8 pool, struct list_head *to);
void kv_frmr_give(struct kv_conn *conn, struct kv_frmr *frmr);
struct kv_sqe *kv_sq_read(struct kv_conn *conn, u8 kind, struct iov_iter *iter, u64 addr, u64 len, ssize_t *n);
void kv_sink_done(struct kv_sqe *e, int err);

/* rma.c: RMA of ours */
bool kv_put_rma(struct kv_conn *conn, struct kv_done *done);
bool kv_rma_left(const struct kfi_oper *op, struct kv_op *kop);
void kv_rma_issued(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done);
void kv_rma_descs(const struct kfi_oper *op, unsigned int first, unsigned int n,
		  struct kvw_desc *descs);
void kv_put_probe(struct kv_conn *conn);
void kv_put_mark(struct kv_conn *conn);
void kv_put_hangup(struct kv_conn *conn);
void kv_rma_done(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done);
void kv_rma_landed(struct kv_conn *conn, struct kfi_oper *op, int err, struct kv_done *done);

/* atomic.c */
bool kv_put_atomic(struct kv_conn *conn, struct kfi_oper *op);
bool kv_atomic_fin_ok(const struct kfi_oper *op, u16 status);
int kv_got_old(struct kv_conn *conn, const struct kvw_packet *p, void *values, struct kv_done *done);
int kv_rx_atomic(struct kv_slot *slot);
void kv_atomic_answer(struct kv_slot *slot, u16 status);
void kv_put_old(struct kv_conn *conn, struct kv_slot *slot);

/* key.c: what we know of the peer's regions */
int kv_key_find(struct kv_conn *conn, u64 key, u64 addr, u64 len, u8 right, struct kv_run *run);
int kv_got_key(struct kv_conn *conn, const struct kvw_packet *p, const struct kvw_desc *descs);
void kv_keys_old(struct kv_conn *conn, u32 epoch);
u32 kv_key_rkey(struct kv_conn *conn, u64 key);

/* What a packet says of the peer's epoch. */
static inline void kv_keys_age(struct kv_conn *conn, u32 epoch)
{
	if (unlikely(epoch != conn->peer_epoch))
		kv_keys_old(conn, epoch);
}

/* region.c: memory of ours that peers may name */
int kv_mr_open(struct kfi_mr *mr);
void kv_mr_close(struct kfi_mr *mr);
bool kv_mr_end(struct kfi_mr *mr);
int kv_mr_attach(struct kfi_mr *mr);
bool kv_mr_known(struct kfi_mr *mr);
void kv_region_registered(struct kv_sqe *e, int err);
bool kv_region_taken(struct kv_conn *conn, u64 key, u32 rkey);
bool kv_region_spoilt(struct kv_domain *kdom, u32 rkey);
int kv_rx_key(struct kv_slot *slot);
void kv_mr_publish(struct kfi_mr *mr, bool tell);
int kv_mr_enable(struct kfi_mr *mr);
bool kv_put_fresh(struct kv_conn *conn);
void kv_fresh_lost(struct kv_ep *vep);

/* told.c: what peers say of their accesses to it */
int kv_rx_done(struct kv_slot *slot);
int kv_rx_flush(struct kv_slot *slot);
int kv_tell_owner(struct kv_slot *slot, u64 flags);
void kv_rx_told(struct kv_slot *slot, u16 status);

/* commit.c: what is to be durable */
int kv_commit_possible(struct kv_slot *slot);
void kv_commit_start(struct kv_slot *slot);
void kv_commit_work(struct work_struct *work);

/* rx.c: the receive path */
void kv_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kv_rx_run(struct kv_conn *conn);
void kv_rx_space(struct kfi_cq_waiter *w);
void kv_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void kv_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);
void kv_rx_stop(struct kv_conn *conn);
void kv_rx_lost(struct kv_conn *conn, int err);
void kv_rx_keep(struct kv_conn *conn);
bool kv_rx_rest(struct kv_conn *conn);
kfi_addr_t kv_rx_src(struct kv_conn *conn);
void kv_slot_answer(struct kv_slot *slot, u8 type, u16 status);
void kv_slot_release(struct kv_slot *slot, u8 hold);
void kv_slot_fetched(struct kv_slot *slot);

#endif /* _KFI_VERBS_VERBS_H */
