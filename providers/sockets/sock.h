/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sock.h - the objects of kfi_sockets and who may touch them.
 *
 * Locks, outermost first:
 *
 *   kfi_home.lock		of an endpoint or a listener, see kfi_home.h
 *   the socket lock		everything marked (S) in struct ks_conn: the stream in both directions. Softirq owns it
 *				in our callbacks; others take it as ks_conn_lock() does, and the posting path only tries.
 *   kfi_peers.lock, kfi_peer.lock	see kfi_peer.h: of what is above, posts may have the socket lock around them
 *   ks_conn.lock (spin, bh)	inbound messages, answers, credits we grant. Leaf, apart from kfi.ko's own leaf locks and
 *   ks_helds.lock (spin, bh)	how much each peer has made us hold (held.c)
 *
 * The posting path (tx.c) takes none of these but tries the socket lock: consumers may post from a completion handler
 * that runs under it (see kfi_batch_begin()), and with locks of their own held that their handlers take too.
 *
 * A connection is published by RCU (kfi_peer.conn, kfi_home.conn). Whoever posts to it does so inside rcu_read_lock();
 * conn.c unpublishes it and waits a grace period before it collects what was posted.
 */
#ifndef _KFI_SOCKETS_SOCK_H
#define _KFI_SOCKETS_SOCK_H

#include <linux/hashtable.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <net/sock.h>
#include <kfi_commit.h>
#include <kfi_credit.h>
#include <kfi_cxi_ext.h>
#include <kfi_home.h>
#include <kfi_inaddr.h>
#include <trace/events/kfi.h>
#include "wire.h"

#define KS_STAGE	(16 * 1024)	/* frames gathered for one call into TCP */
#define KS_INLINE	1024		/* payload up to this long is gathered too */
#define KS_SMALL	32		/* operands and old values up to this long need no memory of their own */
#define KS_LAZY_MAX	8		/* answers that wait for company; fewer than any peer may have requests under way */
#define KS_SPLICE_MIN	4096		/* shorter payload is copied: cheaper than page references */
#define KS_COMMITS	4		/* commits under way at once, per connection: each keeps a thread */
#define KS_RX_STEPS	2048		/* frames, or parts of such, that one run looks at */
#define KS_RDV		64		/* rendezvous under way at once, per connection and direction */
#define KS_DGRAM_MAX	(65507 - 48 - sizeof(struct skw_hdr))	/* longest datagram payload: UDP's over IPv6 */
#define KS_DGRAM_RX	65536
#define KS_CTX_MAX	256		/* contexts of a scalable endpoint, in each direction */
#define KS_GRANT_MAX	(64ULL << 20)	/* bytes granted at once; a longer message is granted alone */
#define KS_RATE_MIN	(256U << 10)	/* bytes each second that a payload has to come with */
#define KS_PORT_MIN	512		/* reserved ports that we dial from: */
#define KS_PORT_MAX	1023
#define KS_PROBE_MS	2000U		/* in which a live peer acknowledges something */
#define KS_HELD_MIN	16U		/* units of each window that every connection gets */
#define KS_HELD_SPARE	1024U		/* units that a source may have when all have too much */
#define KS_TX_BUDGET	(2 << 20)	/* bytes handed to TCP in one hold of the socket lock */

/* Module parameters (main.c) */
extern unsigned int ks_eager_size;
extern unsigned int ks_window;
extern unsigned int ks_window_peer;
extern unsigned int ks_window_source;
extern unsigned int ks_window_total;
extern unsigned int ks_requests;
extern unsigned int ks_connect_timeout_ms;
extern unsigned int ks_keepidle_s;
extern unsigned int ks_keepintvl_s;
extern unsigned int ks_keepcnt;
extern unsigned int ks_user_timeout_ms;
extern unsigned int ks_max_peers;
extern unsigned int ks_hello_timeout_ms;
extern unsigned int ks_source_peers;
extern unsigned int ks_source_backlog;
extern unsigned int ks_backlog;
extern ushort ks_short_port;
extern bool ks_splice;
extern bool ks_reserved_ports;

extern struct workqueue_struct *ks_wq;		/* bound: data path off softirq */
extern struct workqueue_struct *ks_cm_wq;	/* unbound: connections come and go */
extern struct workqueue_struct *ks_commit_wq;	/* unbound: calls of regions' owners, and nothing else */
extern struct kmem_cache *ks_inmsg_cache;
extern struct kmem_cache *ks_conn_cache;

/**
 * struct ks_stage - where a CPU gathers frames, in cache whichever connection they are for
 * @taken: in use; by nobody else but a run inside a run: some devices deliver while they transmit
 */
struct ks_stage {
	u8	buf[KS_STAGE] ____cacheline_aligned;
	bool	taken;
};

extern struct ks_stage __percpu *ks_stages;

struct ks_auth;
struct ks_conn;

/**
 * struct ks_domain - one address family in one namespace
 * @domain: common part; @names: how names look there
 */
struct ks_domain {
	struct kfi_domain	domain;
	struct kfi_inaddr_names	names;
};

/** enum ks_held_level - whose unexpected messages are counted together */
enum ks_held_level {
	KS_HELD_PEER,
	KS_HELD_SOURCE,		/* all peers with the same address, see kfi_inaddr_origin() */
	KS_HELD_ALL,		/* all peers of an endpoint */
	KS_HELD_LEVELS
};

/**
 * struct ks_held - how much a peer, an address or an endpoint makes us hold; all under
 * ks_helds.lock
 * @node: in &ks_helds.by_name; @level: enum ks_held_level
 * @name: of a peer, or with port 0 an address; @name and @level together tell accounts apart
 * @up: the account of the next level, which counts the same units
 * @users: connections, or accounts of the level below
 * @units: windows of live connections, and what dead ones have left; @left: the latter
 * @live: connections that are not down
 * @dead: connections that are down and have left messages, oldest first
 */
struct ks_held {
	struct hlist_node	node;
	u8			level;
	union kfi_inaddr	name;
	struct ks_held		*up;
	unsigned int		users;
	u32			units;
	u32			left;
	unsigned int		live;
	struct list_head	dead;
};

/** struct ks_helds - the accounts of an endpoint; see held.c */
struct ks_helds {
	spinlock_t		lock;
	struct ks_held		all;
	DECLARE_HASHTABLE(by_name, 6);
};

/**
 * struct ks_ep - an endpoint
 * @ep:		common part
 * @peers:	RDM: whom it talks to
 * @addr:	own name; port fixed at enable
 * @listener:	RDM: where peers connect
 * @udp:	DGRAM: its socket
 * @accept:	takes connections off @listener
 * @home:	its connections; strangers are those whose hello has not been read yet
 * @peer_name:	MSG: whom we are connected to
 * @helds:	RDM: how much its peers make it hold
 * @dgram:	DGRAM: its queues (dgram.c)
 */
struct ks_ep {
	struct kfi_ep		ep;
	struct kfi_peers	peers;
	union kfi_inaddr		addr;
	struct socket		*listener;
	struct socket		*udp;
	struct delayed_work	accept;
	struct kfi_home		home;
	union kfi_inaddr	peer_name;
	struct ks_helds		helds;
	struct ks_dgram		*dgram;
};

/**
 * struct ks_pep - a passive endpoint
 * @pep: common part; @addr: where it listens; @listener: its socket; @accept: takes connections off it
 * @home: connections in handshake or waiting for the consumer
 */
struct ks_pep {
	struct kfi_pep		pep;
	union kfi_inaddr	addr;
	struct socket		*listener;
	struct delayed_work	accept;
	struct kfi_home		home;
};

/** enum ks_answer_kind - what we owe a peer */
enum ks_answer_kind {
	KS_ANSWER_ACK,
	KS_ANSWER_CTS,
	KS_ANSWER_READ,		/* the data of a region, then the verdict */
	KS_ANSWER_TREAD,	/* the data of a tagged receive, then the verdict */
	KS_ANSWER_FETCHED,	/* old values, and the verdict */
	KS_ANSWER_COMMIT,	/* the verdict, when the owners have made it durable */
};

/**
 * struct ks_answer - a reply waiting to be sent
 * @link:	in &ks_conn.answers, &ks_conn.lazy, &ks_conn.commits or &ks_conn.free_answers, under ks_conn.lock
 * @pooled:	returns to @free_answers (the others sit in a struct ks_inmsg)
 * @iter: @len: payload of the segment under way; @mr, @key: region it comes from, referenced while under way
 * @nsegs: segments of a read or commit; @seg: next one; @seg0: the only one of a read, or @segs when there are more
 * @values: old values as they go out, @len bytes: @small, or memory of their own
 * @durable0: the only segment of a commit, or @durable when there are more
 */
struct ks_answer {
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
	struct skw_rma		seg0;
	struct skw_rma		*segs;
	void			*values;
	struct kfi_commit_seg	*durable;
	union {
		u8			small[KS_SMALL];
		struct kfi_commit_seg	durable0;
	};
};

/** enum ks_in_state - where an inbound message object is, under ks_conn.lock */
enum ks_in_state {
	KS_IN_ARRIVING,		/* eager payload is coming into @buf */
	KS_IN_READY,		/* eager payload is all in @buf */
	KS_IN_ASKED,		/* RTS or TREAD seen, not granted yet */
	KS_IN_GRANTED,		/* CTS given or data being returned */
	KS_IN_ANSWERED,		/* the receive has ended: a verdict is due */
	KS_IN_REFUSED,		/* tagged RMA without a receive: a verdict is due */
	KS_IN_LOST,		/* its connection went down first */
};

/**
 * struct ks_inmsg - a message that had to wait: for its receive, or for its payload
 * @rx:		the matching's view
 * @conn:	referenced
 * @entry:	in &ks_conn.inmsgs
 * @answer:	CTS, read data or verdict owed for it
 * @state:	enum ks_in_state; @matched: rx.op is or was set
 * @since:	KS_IN_GRANTED, CTS has left: jiffies; the first byte of the payload is late when this
 *		is user_timeout_ms ago. What else the peer sends moves it on, see ks_paced()
 * @limit: jiffies: the payload is late then, whatever else the peer sends
 * @lost_receive: KS_IN_LOST: a receive is to be given back
 * @read:	a TREAD: data flows out of the receive
 * @cls:	credit class; @cost: units to give back
 * @promised:	more was promised than that it has left its sender: it is never dropped
 * @buf:	eager payload; @vec: the same as the receiving iterator needs it
 */
struct ks_inmsg {
	struct kfi_rx		rx;
	struct ks_conn		*conn;
	struct list_head	entry;
	struct ks_answer	answer;
	u8			state;
	bool			matched;
	bool			lost_receive;
	bool			read;
	bool			promised;
	u8			cls;
	u32			cost;
	unsigned long		since;
	unsigned long		limit;
	u32			id;
	u32			gen;
	void			*buf;
	struct kvec		vec;
};

/** enum ks_cls - credit classes */
enum ks_cls { KS_CLS_MSG, KS_CLS_TAG, KS_CLS };

/** enum ks_conn_state - (S) */
enum ks_conn_state {
	KS_NEW,			/* not started: nothing is to be done */
	KS_CALLING,		/* connect() is to be called */
	KS_DIALING,		/* TCP connects */
	KS_GREETING,		/* our hello is out, or the peer's is awaited */
	KS_ADMITTING,		/* RDM, passive side: the caller's name may be in use: ks_peer_probe() */
	KS_WAITING,		/* MSG, passive side: the consumer has not decided yet */
	KS_ACCEPTED,		/* MSG, passive side: it has, the answer is to be sent */
	KS_REJECTED,
	KS_READY,		/* frames flow */
};

/* ks_conn.flags */
enum {
	KS_DEAD,		/* taken down: nothing is started any more */
	KS_FAILED,		/* ks_conn_fail() was called */
	KS_BYE_SENT,
	KS_BYE_WANTED,
	KS_BYE_LEFT,		/* all of it is with TCP: the peer's end is awaited */
	KS_ABORT,		/* close with a reset */
};

/** enum ks_tx_stage - what the transmit side is in the middle of (S) */
enum ks_tx_stage {
	KS_TX_FRAMES,		/* nothing, or a stage buffer partly written */
	KS_TX_PAYLOAD,		/* an operation's payload partly written */
	KS_TX_ANSWER,		/* an answer's payload partly written */
};

/** enum ks_rx_stage - what the receive side is in the middle of (S) */
enum ks_rx_stage {
	KS_RX_HDR,
	KS_RX_SEGS,
	KS_RX_BLOCKED,		/* header complete, cannot go on now: CQ full or no memory */
	KS_RX_PAYLOAD,
	KS_RX_SKIP,
};

/** enum ks_rx_target - where the payload goes (S) */
enum ks_rx_target {
	KS_TO_NOWHERE,		/* nothing follows, or it is thrown away */
	KS_TO_RX,		/* a receive that was waiting */
	KS_TO_INMSG,		/* eager, no receive yet */
	KS_TO_RDV,		/* rendezvous into its receive */
	KS_TO_MR,		/* RMA write */
	KS_TO_OP,		/* answer to our read */
	KS_TO_ATOMIC,		/* operands, then the operation */
	KS_TO_TELL,		/* that is done: the rest is to tell of it */
};

/* All of it (S). What every frame needs fills two cache lines, what the others need comes behind. */
struct ks_tx {
	struct list_head	queue;		/* in posting order */
	struct list_head	stalled[KS_CLS];/* no credit; later ones of the class queue up behind */
	struct list_head	granted;	/* CTS received, payload to be sent */

	struct kfi_credit_tx	credit[KS_CLS];
	u32			window[KS_CLS];	/* peer's */
	u32			requests;	/* unanswered */
	u32			requests_max;
	u32			eager;		/* peer's limit */
	u32			staged;
	u32			written;
	u8			at;		/* enum ks_tx_stage */
	bool			yields;		/* it is the turn of one of @granted */
	u8			*stage;		/* frames to be written: @held, or this CPU's buffer during a run */
	u64			bytes;

	struct list_head	waiting;	/* sent, an answer is due */
	struct kfi_oper		*op;		/* whose payload is under way */
	struct ks_answer	*answer;
	u8			*held;		/* KS_STAGE bytes: frames that TCP would not take yet */
	u16			version;	/* of the format that both speak */
};

/* What every frame needs first. */
struct ks_rx {
	u8			at;		/* enum ks_rx_stage */
	u8			to;		/* enum ks_rx_target */
	bool			counted;	/* credit of the blocked frame has been charged */
	bool			finishing;	/* blocked after the payload, not before it */
	bool			inv_over;	/* the region that the message is to invalidate is over */
	u16			status;		/* verdict so far on the current RMA */
	u16			seg;
	u16			steps;		/* left of this run, see stream.c */
	u32			have;		/* bytes of header or segments so far */
	u64			left;		/* payload to be placed */
	u64			skip;		/* payload to be thrown away after it */
	unsigned long		heard;		/* jiffies: last bytes, or last time that we asked for some */
	unsigned long		since;		/* jiffies: begin of the payload, see ks_paced() */
	u64			bytes;
	u64			watched;	/* @bytes when ks_rx_late() was called last */
	struct iov_iter		*into;		/* where the payload goes: the receive's, the operation's, or @iter */
	struct ks_inmsg		*in;

	struct skw_frame	f;
	struct kfi_rx		rx;

	struct kfi_oper		*op;
	struct kfi_mr		*mr;
	u64			key;
	struct iov_iter		iter;
	struct skw_rma		*segs;		/* SKW_RMA_MAX */
	unsigned long		blocked;	/* jiffies: when KS_RX_BLOCKED began, or was looked at last */
	struct ks_answer	*commit;	/* taken already, with the regions that are to be durable */
	struct kfi_cq_waiter	space;
	struct skw_hdr		hdr;		/* that came in pieces */
	void			*values;	/* of an atomic operation: @small, or memory of their own */
	struct kvec		vec;		/* the same */
	u8			small[KS_SMALL] __aligned(8);
};

/** struct ks_committer - one of the hands that call regions' owners */
struct ks_committer {
	struct work_struct	work;
	struct ks_conn		*conn;		/* referenced while it is at work */
};

/**
 * struct ks_conn - one TCP connection
 * Members marked (S) belong to whoever holds the socket lock; @tx and @rx are (S). What a post touches is the first cache line;
 * what a message touches is few lines more, see there: with many peers that is the cost of one.
 * @ref:	list, works, inbound messages that outlive it, the consumer while he decides about @req
 * @sep:	its endpoint; NULL while a request waits at a passive endpoint
 * @pep:	listener that took it, until accepted; both change with @pc's home, and not once KS_FAILED is set
 * @posted:	operations of posters in any context; the transmit side collects them
 * @busy:	bit 0: somebody runs the transmit side, or has promised to. @kick: there may be something to transmit. Words of
 *		their own: a load of several flags right after the store of one waits for the store to reach the cache.
 * @cpu:	on which the last packet was received; written under the socket lock
 * @error:	why it failed, negative errno; set once by ks_conn_fail()
 * @lock:	protects @inmsgs, @nr_inmsgs and their states, @spares, @answers, @lazy,
 *		@free_answers, @commits, @committing, @rdv, @granted, @credit,
 *		@credit_due
 * @window:	units of unexpected messages, of each class, that we announce; @eager: longest
 *		payload without rendezvous
 * @held:	RDM: the account of the peer, from ks_held_join() until nothing of this connection
 *		is held; with @held_units and @held_dead under ks_helds.lock
 * @held_units: what @held is charged with; @held_dead: in &ks_held.dead of each level
 * @held_left:	ks_held_down() was called and has found messages; under @lock
 * @commits:	answers that wait for a hand; @committing: hands at work, bits
 */
struct ks_conn {
	struct sock		*sk;		/* @sock's */
	struct ks_ep		*sep;
	struct llist_head	posted;
	unsigned long		flags;
	unsigned long		busy;
	bool			kick;
	u8			state;
	int			cpu;
	struct socket		*sock;

	struct ks_tx		tx ____cacheline_aligned;
	struct ks_rx		rx ____cacheline_aligned;

	spinlock_t		lock ____cacheline_aligned;
	bool			credit_due;
	struct list_head	answers;
	struct list_head	lazy;		/* those that may wait for another frame to go with */
	unsigned int		nr_lazy;
	struct kfi_credit_rx	credit[KS_CLS];
	struct list_head	inmsgs;
	unsigned int		nr_inmsgs;	/* also those that are being ended */
	struct list_head	free_answers;
	struct list_head	rdv_wait;	/* matched rendezvous that found no free slot */
	struct list_head	spares;		/* message objects to be used again, */
	unsigned int		nr_spares;	/* as many as rendezvous can be under way */
	struct ks_answer	*pool;
	u64			unexpected;	/* bytes held */
	struct ks_inmsg		*rdv[KS_RDV];
	u64			granted;	/* payload of long messages that have a slot, or are coming in */
	struct list_head	commits;
	unsigned long		committing;
	struct ks_committer	committers[KS_COMMITS];

	bool			held_left;
	u32			window;
	u32			eager;
	struct ks_held		*held;
	u32			held_units;
	struct list_head	held_dead[KS_HELD_LEVELS];

	refcount_t		ref;
	int			error;
	struct ks_pep		*pep;
	union kfi_inaddr	name;		/* the peer's */
	u8			av_name[sizeof(union kfi_inaddr)] __aligned(8);	/* RDM: as address vectors have it */
	unsigned long		deadline;	/* of the handshake, jiffies */
	unsigned long		probed;		/* jiffies: when ks_peer_probe() has asked, under kfi_peer.lock; 0: it has not */
	unsigned long		probe_patience;	/* jiffies in which an answer to that is awaited */
	bool			reserved;	/* the caller's port is one that only an administrator's processes may bind */
	struct kfi_peer_conn	pc;		/* its place at its home, and RDM at its peer */
	struct delayed_work	tx_work;
	struct delayed_work	rx_work;
	struct delayed_work	watch_work;	/* ends a peer that keeps receives and does not fill them */
	struct delayed_work	more_work;	/* flushes posts with KFI_MORE that nothing follows */
	struct delayed_work	greet_work;
	struct work_struct	down_work;
	void			(*old_data_ready)(struct sock *sk);
	void			(*old_write_space)(struct sock *sk);
	void			(*old_state_change)(struct sock *sk);

	/* handshake */
	struct skw_hello	hello_in;
	u32			hello_have;
	u8			data_in[SKW_DATA_MAX];
	struct skw_greeting	greeting;
	u8			data_out[SKW_DATA_MAX];
	u16			data_out_len;
	struct ks_auth		*auth;		/* with an authorization key (auth.c) */
	u8			auth_in[SKW_AUTH_LEN];
	u8			auth_out[SKW_AUTH_LEN];
	bool			requested;	/* @req was shown to the consumer */
	struct kfi_connreq	req;
};

/** struct ks_op - our part of a transmit operation */
struct ks_op {
	struct ks_conn	*conn;		/* (S) which connection's answer it waits for */
	union {
		u64	left;		/* (S) KS_OP_SENDING: payload not yet written */
		u64	end;		/* (S) KS_OP_UNANSWERED: the value of ks_tx.bytes when its last byte is with TCP */
	};
	u64		got;		/* (S) bytes of a read that have arrived */
	u16		slot;		/* CTS */
	u8		state;		/* enum ks_op_state (S) */
	bool		spliced;	/* (S) */
	bool		answered;	/* (S) an answer is due once the payload is out */
	bool		asked;		/* (S) went by rendezvous: takes no answer of the peer's pool */
};

/** enum ks_op_state - where an operation is (S); checked before a peer's answer is believed */
enum ks_op_state {
	KS_OP_QUEUED,
	KS_OP_SENDING,
	KS_OP_ASKED,		/* RTS out: CTS or ACK may come */
	KS_OP_GRANTED,		/* CTS came, payload not all out */
	KS_OP_UNANSWERED,	/* everything is out: READ_DATA or ACK may come */
};

static inline struct ks_op *ks_op(const struct kfi_oper *op)
{
	return op->priv;
}

/* An atomic operation whose answer has old values */
static inline bool ks_op_fetches(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_FETCH_ATOMIC || op->code == KFI_OPC_COMPARE_ATOMIC;
}

static inline struct ks_ep *to_ks_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct ks_ep, ep);
}

static inline struct ks_conn *to_ks_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct ks_conn, pc);
}

static inline struct ks_pep *to_ks_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct ks_pep, pep);
}

static inline struct ks_domain *to_ks_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct ks_domain, domain);
}

/* addr.c */
int ks_getinfo(struct kfi_query *q);
int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int ks_addr_check(struct kfi_domain *domain, const void *addr);
u64 ks_levels(enum kfi_ep_type type);

/* ep.c */
int ks_domain_open(struct kfi_domain *domain);
int ks_ep_open(struct kfi_ep *ep);
int ks_ep_enable(struct kfi_ep *ep);
void ks_ep_stop(struct kfi_ep *ep, int err);
void ks_ep_close(struct kfi_ep *ep);
int ks_ep_getname(struct kfi_ep *ep, void *addr);
int ks_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
void ks_show(const void *name, const struct kfi_peer_conn *pc, struct kfi_peer_info *info);
void ks_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/* listen.c */
int ks_listen(struct net *net, union kfi_inaddr *addr, int backlog, struct delayed_work *work, struct socket **sockp);
void ks_unlisten(struct socket *sock, struct delayed_work *work);
void ks_ep_accept_work(struct work_struct *work);
void ks_pep_accept_work(struct work_struct *work);

/* rdm.c */
extern const struct kfi_peer_ops ks_peer_ops;
struct ks_conn *ks_dial(struct ks_ep *sep, const union kfi_inaddr *to, struct kfi_peer *peer);
void ks_dial_start(struct ks_conn *conn);
int ks_rdm_called(struct ks_conn *conn);
int ks_rdm_admit(struct ks_conn *conn);
int ks_dial_again(struct ks_conn *conn);
bool ks_rdm_ready(struct ks_conn *conn);
int ks_rdm_tx(struct ks_ep *sep, struct kfi_oper *op);
void ks_addr_removed(struct kfi_ep *ep, u32 index);

/* msg.c */
int ks_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int ks_msg_accept(struct kfi_ep *ep, const void *data, size_t len);
int ks_msg_shutdown(struct kfi_ep *ep);
int ks_msg_getpeer(struct kfi_ep *ep, void *addr);
void ks_msg_lost(struct ks_conn *conn, int err);
void ks_msg_ready(struct ks_conn *conn);
int ks_msg_accepted(struct ks_conn *conn);
int ks_msg_tx(struct ks_ep *sep, struct kfi_oper *op);
int ks_pep_open(struct kfi_pep *pep);
void ks_pep_close(struct kfi_pep *pep);
int ks_pep_getname(struct kfi_pep *pep, void *addr);
int ks_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int ks_pep_listen(struct kfi_pep *pep);
int ks_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);

/* auth.c: what an authorization key adds to it */
int ks_auth_new(struct ks_conn *conn);
void ks_auth_outgoing(struct ks_conn *conn, const struct skw_hello *hello);
int ks_auth_answered(struct ks_conn *conn);
int ks_auth_asked(struct ks_conn *conn);

/* greet.c: the handshake */
int ks_greet_say(struct ks_conn *conn, u8 kind);
void ks_greet_work(struct work_struct *work);
void ks_greet_start(struct ks_conn *conn, int state);
int ks_greet_answer(struct ks_conn *conn, u8 kind, int status);
void ks_greet_kick(struct ks_conn *conn);
void ks_greet_bye(struct ks_conn *conn);

/* conn.c: life of a connection */
extern const struct kfi_home_ops ks_home_ops;
void ks_peer_put(struct kfi_peer_conn *pc);
void ks_peer_fail(struct kfi_peer_conn *pc, int err);
bool ks_peer_failed(const struct kfi_peer_conn *pc);
struct ks_conn *ks_conn_new(struct ks_ep *sep, struct ks_pep *pep, struct socket *sock);
int ks_conn_alloc(struct ks_conn *conn);
void ks_conn_get(struct ks_conn *conn);
void ks_conn_put(struct ks_conn *conn);
void ks_conn_fail(struct ks_conn *conn, int err);
void ks_conn_down(struct work_struct *work);
void ks_conn_attach(struct ks_conn *conn);
void ks_conn_detach(struct ks_conn *conn);
void ks_conn_reclaimed(struct ks_conn *conn);
int ks_peer_probe(struct kfi_peer_conn *pc);
void ks_conn_reclaim(struct ks_conn *conn);
void ks_conn_start(struct ks_conn *conn);
void ks_conn_watch(struct work_struct *work);
bool ks_conn_trylock(struct ks_conn *conn);
bool ks_conn_lock(struct ks_conn *conn);
void ks_conn_unlock(struct ks_conn *conn);
void ks_conn_check(struct ks_conn *conn);
int ks_conn_cpu(const struct ks_conn *conn);
void ks_conn_queue(struct ks_conn *conn, struct delayed_work *work, unsigned long delay);
void ks_conn_tune(struct socket *sock, u32 tclass);

/* tx.c: the send path */
int ks_tx(struct kfi_ep *ep, struct kfi_oper *op);
void ks_tx_flush(struct kfi_ep *ep);
void ks_tx_post(struct ks_conn *conn, struct kfi_oper *op);
void ks_tx_kick(struct ks_conn *conn);
void ks_tx_work(struct work_struct *work);
void ks_more_work(struct work_struct *work);
void ks_tx_run_locked(struct ks_conn *conn);
bool ks_tx_follows(struct ks_conn *conn);
bool ks_drained(const struct ks_conn *conn);
void ks_tx_flush_all(struct ks_conn *conn, int err);
void ks_op_sent(struct ks_conn *conn, struct kfi_oper *op, bool answered);
void ks_verdict_queue(struct ks_conn *conn, struct ks_answer *answer, bool lazy);
void ks_answer_queue(struct ks_conn *conn, struct ks_answer *answer);
void ks_answer_done(struct ks_conn *conn, struct ks_answer *answer);
void ks_write_space(struct sock *sk);
/* its parts, for atomic.c */
struct skw_frame ks_op_frame(const struct kfi_oper *op, u8 type);
void ks_put_frame(struct ks_conn *conn, struct skw_frame *f);
void ks_put_segments(struct ks_conn *conn, const struct kfi_oper *op);
void ks_put_verdict(struct ks_conn *conn, struct ks_answer *answer);
void ks_op_sent(struct ks_conn *conn, struct kfi_oper *op, bool answered);

/* send.c: bytes into TCP */
int ks_tx_frames(struct ks_conn *conn);
int ks_tx_payload(struct ks_conn *conn);
int ks_tx_answer(struct ks_conn *conn);

/* rx.c: the receive path. Header and segments are here; the frame can go on; its payload is: socket lock held */
void ks_rx_header(struct ks_conn *conn, const struct skw_hdr *hdr);
void ks_rx_proceed(struct ks_conn *conn);
void ks_rx_payload_done(struct ks_conn *conn);
void ks_rx_abort(struct ks_conn *conn, int err);
bool ks_rx_late(struct ks_conn *conn);

/* stream.c: bytes out of TCP */
void ks_data_ready(struct sock *sk);
void ks_rx_work(struct work_struct *work);
void ks_rx_space(struct kfi_cq_waiter *w);
/* its parts, for atomic.c */
struct ks_answer *ks_answer_get(struct ks_conn *conn);
int ks_rx_ack(struct ks_conn *conn, u16 status);
kfi_addr_t ks_rx_src(struct ks_conn *conn);
void ks_rx_wrote(struct ks_conn *conn);

/* inmsg.c: messages that wait */
void ks_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void ks_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);
struct ks_inmsg *ks_inmsg_new(struct ks_conn *conn, const struct skw_frame *f, u32 cost);
void ks_inmsg_free(struct ks_inmsg *in);
void ks_inmsg_free_spares(struct ks_conn *conn);
void ks_inmsg_arrived(struct ks_inmsg *in);
void ks_inmsg_done(struct ks_inmsg *in);
void ks_inmsg_granted(struct ks_inmsg *in);
void ks_grants_pause(struct ks_conn *conn, unsigned long pause);
unsigned long ks_paced(unsigned long since, unsigned long earned);
bool ks_grants_late(struct ks_conn *conn, unsigned long earned);
void ks_inmsg_refuse(struct ks_inmsg *in, u16 status);
void ks_inmsgs_collect(struct ks_conn *conn, struct list_head *lost);
void ks_inmsgs_abort(struct list_head *lost, int err);
void ks_credit_free(struct ks_conn *conn, u8 cls, u32 cost);
void __ks_credit_free(struct ks_conn *conn, u8 cls, u32 cost);

void ks_inmsgs_drop(struct ks_conn *conn);

/* held.c: how much peers make us hold */
void ks_helds_init(struct ks_helds *helds);
int ks_held_join(struct ks_conn *conn);
void ks_held_down(struct ks_conn *conn);
void ks_held_freed(struct ks_conn *conn, u32 units, bool last);

/* answer.c: acknowledgements from the peer */
int ks_got_cts(struct ks_conn *conn, const struct skw_frame *f);
int ks_got_ack(struct ks_conn *conn, const struct skw_frame *f);
struct kfi_oper *ks_answered_op(struct ks_conn *conn, const struct skw_frame *f);

/* atomic.c */
void ks_put_atomic(struct ks_conn *conn, struct kfi_oper *op);
void ks_put_fetched(struct ks_conn *conn, struct ks_answer *answer);
int ks_rx_atomic(struct ks_conn *conn);
int ks_rx_finish_atomic(struct ks_conn *conn);
void ks_rx_atomic_drop(struct ks_conn *conn);
void ks_rx_fetched(struct kfi_oper *op);
void ks_values_free(void **values, const u8 *small);

/* commit.c */
bool ks_op_too_new(const struct ks_conn *conn, const struct kfi_oper *op);
void ks_put_flush(struct ks_conn *conn, struct kfi_oper *op);
int ks_rx_flush(struct ks_conn *conn);
int ks_rx_commit(struct ks_conn *conn);
int ks_rx_verdict(struct ks_conn *conn);
void ks_commit_init(struct ks_conn *conn);
void ks_commit_drop(struct ks_answer *answer);

/* dgram.c */
int ks_dgram_enable(struct ks_ep *sep);
void ks_dgram_stop(struct ks_ep *sep, int err);
void ks_dgram_close(struct ks_ep *sep);
int ks_dgram_tx(struct ks_ep *sep, struct kfi_oper *op);

#endif /* _KFI_SOCKETS_SOCK_H */
