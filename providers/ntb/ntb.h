/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb.h - the objects of the endpoint half of kfi_ntb, and who may touch them. It stands on link.h.
 *
 * Locks, outermost first, all with bottom halves off:
 *
 *   kfi_home.lock		of an endpoint or a listener, see kfi_home.h
 *   kfi_peers.lock, kfi_peer.lock	see kfi_peer.h; inside of them our callbacks may take nt_conn.lock
 *   nt_conn.lock		everything marked (L) in struct nt_conn. Under it records are posted (link.h), so they reach the ring in the
 *				order in which they were decided on; kfi.ko's matching may be asked; nothing is completed, and no handler runs
 *
 * What ends under nt_conn.lock is collected in a struct nt_done on the stack, and completed when the lock has been dropped. So a
 * consumer may post with locks of his own that his handlers take too.
 *
 * Records come one at a time from the link's tasklet, in an RCU section in which the connection was found (struct nt_burst). So what only
 * arriving records touch needs no lock: it is marked (T). conn.c ends a connection after a grace period.
 */
#ifndef _KFI_NTB_NTB_H
#define _KFI_NTB_NTB_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <kfi_commit.h>
#include <kfi_credit.h>
#include <kfi_home.h>
#include <trace/events/kfi.h>
#include "link.h"
#include "record.h"

#define NT_SENDS	128		/* records of a connection on their way */
#define NT_RESERVE	8		/* of them kept for answers */
#define NT_TURN		16U		/* messages that have waited for credit, before others may send */
#define NT_BOUNCES	4		/* pieces of memory regions on their way to a reader */
#define NT_BOUNCE	16384U		/* bytes of one */
#define NT_PLACES	NTW_SPOTS_MAX	/* pieces of a window that one operation's payload goes to */
#define NT_STRETCH	NT_LOAD_MAX	/* bytes of it that one record stands for */
#define NT_CHECKED	262144U		/* ... with a CRC, which is computed under a lock */
#define NT_AHEAD	8		/* writes whose places are asked for before it is their turn */
#define NT_SHY		4		/* ... in vain in a row, until most are not asked any more ... */
#define NT_SHY_SKIP	64		/* ... but one of so many */
#define NT_IOV_MAX	256
#define NT_DEPTH	4096		/* operations of an endpoint, each direction */
#define NT_INJECT	512
#define NT_CTX_MAX	256		/* contexts of a scalable endpoint, in each direction */
#define NT_STOCK	8		/* callers that are answered when there is no memory */
#define NT_ANSWERED	32		/* callers that are looked at before others' works run */
#define NT_COMMITS	4		/* hands that call regions' owners, for each connection */

/* Module parameters (main.c) */
extern unsigned int nt_eager_size;
extern unsigned int nt_unexpected;
extern unsigned int nt_requests;
extern unsigned int nt_connect_timeout_ms;
extern unsigned int nt_max_peers;
extern unsigned int nt_backlog;

extern struct workqueue_struct *nt_cm_wq;	/* unbound: connections come and go */
extern struct workqueue_struct *nt_commit_wq;	/* unbound: calls of regions' owners, and nothing else */
extern struct workqueue_struct *nt_mirror_wq;	/* unbound: mirrors, for which works of nt_cm_wq wait */

struct nt_auth;
struct nt_conn;
struct nt_ep;
struct nt_pep;

/**
 * struct nt_listener - a port of a bridge that somebody listens at
 * @port: its number; 0: none
 * @nep: @npep: who; one of them
 *
 * In &nt_dev.ports; who takes it out waits for &nt_dev.answering, with which others look there.
 */
struct nt_listener {
	u32		port;
	struct nt_ep	*nep;
	struct nt_pep	*npep;
};

/**
 * struct nt_mirror - records to our own end of a bridge
 * @lock: protects @queue; @buf: one of them, for @work
 */
struct nt_mirror {
	struct nt_dev		*dev;
	spinlock_t		lock;
	struct list_head	queue;
	struct work_struct	work;
	void			*buf;
};

/**
 * struct nt_burst - records that are handled in a row, in one RCU section; of who handles them, alone
 * @conn: whom the last one was for; @mirror: they come from our own end
 */
struct nt_burst {
	struct nt_conn	*conn;
	bool		mirror;
};

/**
 * struct nt_kin - which machine is at the other end of a bridge, as it has said; way.c
 * @host: 0: it has not; @bridge: its number of the bridge; @here: it has said so in this life of the link
 */
struct nt_kin {
	u64	host;
	u32	bridge;
	bool	here;
};

/**
 * struct nt_dev - a bridge
 * @link:	the bridge; there as long as we have a reference
 * @entry:	in the list of all
 * @users:	what uses it: an open domain until the device goes, a listener, a connection, a query under way
 * @idle:	wakes the removal
 * @conns:	connections by the number that peers address them by; found under RCU
 * @ports:	struct nt_listener by port
 * @answering:	who has found a listener there holds it until the connection is listed: nt_port_give()
 * @next_conn: @next_port: where to look for a free number; not soon used again, and random at first, so that what was meant for an
 *		earlier one finds nobody
 * @going:	the bridge goes: its link may go first
 * @back:	wakes who waits for the end of a life of the link, or a peer's last word
 * @lock:	protects @callers, @ncallers, @stock, @kin
 * @callers:	hellos that nobody has looked at yet
 * @ncallers:	hellos and answers to them that there are, of the peer and of our own end; each bounded by backlog
 * @stock:	room for a few that come when there is no memory
 * @remains:	connections to the peer that have ended, and whose memory a message that nobody has received keeps, or a record that
 *		the peer has not handled; beyond backlog nobody is let in
 * @cm_work:	looks at @callers
 * @mirror:	for endpoints of one end that talk to each other
 * @burst:	of the link's tasklet
 * @number:	of this end, which the peer is told; @kin: the other end; @kin_rec: what we say of that; @kin_work: what it leads to
 */
struct nt_dev {
	struct nt_link		*link;
	struct list_head	entry;
	refcount_t		users;
	struct completion	idle;
	struct xarray		conns;
	struct xarray		ports;
	struct mutex		answering;
	u32			next_conn;
	u32			next_port;
	bool			going;
	wait_queue_head_t	back;
	spinlock_t		lock;
	struct list_head	callers;
	unsigned int		ncallers[2];
	struct list_head	stock;
	atomic_t		remains;
	struct work_struct	cm_work;
	struct nt_mirror	mirror;
	struct nt_burst		burst;
	u32			number;
	struct nt_kin		kin;
	struct nt_rec		kin_rec;
	struct work_struct	kin_work;
};

/**
 * struct nt_domain - an open domain: one bridge
 * @domain: common part
 * @dev: its bridge; not to be followed when that has gone, but through something that has a reference
 * @entry: in the list of domains, until the bridge goes: then its reference has gone
 */
struct nt_domain {
	struct kfi_domain	domain;
	struct nt_dev		*dev;
	struct list_head	entry;
};

/**
 * struct nt_mr - a memory region
 * @mr:	common part
 * @slot: of one for a single use: who has it now
 * @at:	where the peer of @dev finds it in a window over what is registered; 0: nowhere. It has a reference of @dev then
 */
struct nt_mr {
	struct kfi_mr	mr;
	struct nt_slot	*slot;
	u64		at;
	struct nt_dev	*dev;
};

/**
 * struct nt_ep - an endpoint
 * @ep:		common part
 * @peers:	RDM: whom it talks to
 * @dev:	its bridge; there until ep_stop has returned
 * @addr:	own name; port fixed at enable
 * @listener:	RDM: where peers call
 * @home:	its connections
 * @peer_name:	MSG: whom we are connected to
 */
struct nt_ep {
	struct kfi_ep		ep;
	struct kfi_peers	peers;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
	struct kfi_home		home;
	struct ntw_addr		peer_name;
};

/**
 * struct nt_pep - a passive endpoint
 * @pep: common part; @dev: its bridge, with a reference; @addr: where it listens
 * @home: requests that nobody has answered
 */
struct nt_pep {
	struct kfi_pep		pep;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
	struct kfi_home		home;
};

/**
 * struct nt_send - a record of a connection on its way; one of its pool, so that posting allocates nothing and an operation can end before
 * its record has been heard of
 * @rec:	the link's
 * @conn:	whose; has a reference of it while under way
 * @entry:	in &nt_conn.idle or &nt_conn.flying (L)
 * @op:		operation whose memory it reads, counted in &nt_op.sends until it was sent; (L)
 * @slot:	slot whose memory it reads, which ends then; (L)
 * @bounce:	memory of its own, or NULL; (L)
 * @mr:		region whose memory it reads, held, or NULL; @key: of it; @over: its owner waited at @watch's last look; (L)
 * @read:	it is the last of a READ of so many bytes from @mr, whose owner is told when it was sent; 0: no. (L)
 * @hears:	@op is told when the peer has handled it
 * @place:	where the payload goes, if not into the record
 */
struct nt_send {
	struct nt_rec		rec;
	struct nt_conn		*conn;
	struct list_head	entry;
	struct kfi_oper		*op;
	struct nt_slot		*slot;
	void			*bounce;
	struct kfi_mr		*mr;
	u64			key;
	u64			read;
	bool			hears, over;
	struct kvec		vec;
	struct nt_place		place[NT_PLACES];
};

/** enum nt_slot_state - where a slot is (L) */
enum nt_slot_state {
	NT_SLOT_FREE,
	NT_SLOT_QUEUED,		/* in &nt_conn.rxq, or in the hands of who works on that */
	NT_SLOT_MESSAGE,	/* all of a message, in the matching or on its way to the receive */
	NT_SLOT_ASKED,		/* RTS, TREAD: in the matching */
	NT_SLOT_GRANTED,	/* RTS: has its receive, payload is to come */
	NT_SLOT_OFFERED,	/* WRITE that has asked: payload is to come */
	NT_SLOT_READING,	/* TREAD, READ: bytes are going out */
	NT_SLOT_WRITING,	/* WRITE: bytes are coming in (T) */
	NT_SLOT_OWNERS,		/* a commit: owners of regions are asked */
	NT_SLOT_ANSWER,		/* an ACK or old values wait to be sent */
	NT_SLOT_LOST,		/* its connection went first */
};

/**
 * struct nt_slot - room for one record that has to wait, and for its answer; each credit of the peer stands for one
 * @rx:		the matching's view
 * @conn:	whose; referenced while it is in the matching
 * @entry:	in &nt_conn.slots, .rxq, .answers, .reads, .commits (L)
 * @f:		the record; @seg: its segments
 * @state:	enum nt_slot_state; @answer: type of the record that it owes; @status: what that says; @cls: whose credit it is
 * @killed:	the key that it invalidates has been looked at; @inv_over: and is dead
 * @came:	WRITE: bytes that have come, also if nobody wants them any more
 * @at:		bytes that have been moved; @iseg: segment; @iter, @mr, @key, @left: of it
 * @ndurable: @durable: ranges whose owners are to be asked, with references
 * @held: @nheld: regions that are lent for it, held (T); while @lent (L) also to be looked at under the lock; @over: an owner waited at
 *		&nt_conn.watch's last look (L)
 * @place: @nplaces: RTS, TREAD's receive, WRITE: what is lent to the peer; READ, TREAD: what the peer has lent
 * @len:	bytes in @buf
 */
struct nt_slot {
	struct kfi_rx		rx;
	struct nt_conn		*conn;
	struct list_head	entry;
	struct ntw_frame	f;
	u8			state;
	u8			answer;
	u8			cls;
	bool			killed, inv_over;
	u16			status;
	u16			iseg;
	u16			ndurable;
	u64			came;
	u64			at;
	u64			left;
	u64			key;
	struct kfi_mr		*mr;
	struct iov_iter		iter;
	struct kfi_rma_iov	seg[NTW_SEGS_MAX];
	struct kfi_commit_seg	durable[NTW_SEGS_MAX];
	u8			nheld, nplaces;
	bool			lent, over;
	struct kfi_mr		*held[NTW_SEGS_MAX];
	struct nt_place		place[NT_PLACES];
	struct kvec		vec;
	u32			len;
	u8			buf[] __aligned(8);
};

/** enum nt_conn_state */
enum nt_conn_state {
	NT_NEW,			/* nothing has been said */
	NT_CALLING,		/* HELLO is out, or the link is awaited */
	NT_ASKED,		/* called: a proof is awaited */
	NT_WAITING,		/* called, MSG: the consumer decides */
	NT_READY,		/* records flow */
};

/* nt_conn.flags */
enum {
	NT_FAILED,		/* nt_conn_fail() was called */
	NT_DEAD,		/* taken down: nothing is started any more */
	NT_BYE_WANTED,
	NT_BYE_SENT,
	NT_CLOSED,		/* the peer knows that it is over, or never heard of us */
	NT_LINKLESS,		/* its call waits for the link, perhaps: nt_conns_link_up() looks */
	NT_CLOSE_SENT,
	NT_MUTE,		/* the peer has got our last word */
	NT_RETURNED,		/* we have the peer's */
};

/* What step_work has to do: bits of &nt_conn.steps */
enum {
	NT_STEP_CALL,
	NT_STEP_CONNECTED,	/* MSG: tell the consumer that his call was accepted */
	NT_STEP_ASKED,		/* the caller may go on: admit him, or ask the consumer */
	NT_STEP_ACCEPT,
	NT_STEP_REJECT,
};

/** struct nt_say - what is said in the handshake besides the call; there until it was sent */
struct nt_say {
	struct kvec	vec;
	u8		buf[NTW_DATA_MAX + NTW_AUTH_LEN];
};

/** struct nt_hand - one of the hands that call regions' owners */
struct nt_hand {
	struct work_struct	work;
	struct nt_conn		*conn;
};

/**
 * struct nt_conn - a connection
 * @ref:	list, works, records under way, slots in the matching, the consumer while he decides about @req
 * @dev:	the bridge it goes by, with a reference: its endpoint's, or another one to the same machine (way.c)
 * @nep:	its endpoint; NULL while a request waits at a passive endpoint
 * @npep:	that; both change with @pc's home, and not once NT_FAILED is set
 * @id:		its number here; @peer_id: at the peer, 0: not known yet
 * @life:	of the link that it belongs to
 * @mirror:	the peer is at our own end
 * @error:	why it failed, set once by nt_conn_fail()
 * @queue:	posted operations; @stalled: messages without credit, later ones of their class queue up behind; @granted: with a CTS;
 *		@waiting: all others: each is on one of them until its end
 * @op:		a write or read under way on our side: what was posted behind it waits; it is in @waiting
 * @kick:	something has been posted with the word that more follows
 * @series:	the last operation was posted with KFI_MORE; @held: others of its series lie in the ring; @posts: of all series; @posts_seen: by
 *		more_work
 * @window:	credits that the peer grants
 * @rx_busy: @blocked: somebody works on @rxq; he waits for room in a completion queue
 * @ended:	the peer has gone; the connection ends when @rxq is empty
 * @write:	the peer's write under way (T)
 * @rx_freed:	credits that messages have given back in this burst (T)
 * @direct:	there is a window between us
 * @nasked:	writes that have asked and wait for their turn; @shy: asked in vain, in a row; @skipped: not asked since then
 * @nloans:	operations for which something is lent to the peer
 * @nwatched:	of them, and of records that read regions, those that owners may wait for
 */
struct nt_conn {
	spinlock_t		lock;
	struct nt_ep		*nep;
	struct nt_dev		*dev;
	unsigned long		flags;
	u32			id, peer_id;
	unsigned int		life;
	u8			state;
	bool			mirror;
	bool			remains;	/* counted in dev->remains */

	/* sending (L) */
	struct list_head	queue;
	struct list_head	stalled[NTW_CLS_REQ];
	struct list_head	granted;
	struct list_head	waiting;
	struct kfi_oper		*op;
	struct kfi_credit_tx	credit_tx[NTW_CLS];
	u16			window[NTW_CLS];
	u32			eager;		/* longest payload in one record that may have to wait there */
	u32			room;		/* of any record */
	bool			kick;
	bool			series, held;
	u32			posts, posts_seen;
	bool			credit_due;
	unsigned int		turn;		/* of what is sent next */
	unsigned int		nidle;
	atomic_t		unsent;		/* records whose sent() is not through: what could be over at once must not be before them */
	struct list_head	idle;
	struct list_head	flying;
	void			*bounces[NT_BOUNCES];
	unsigned int		nbounces;

	/* receiving (L) */
	struct kfi_credit_rx	credit_rx[NTW_CLS];
	struct list_head	slots;
	struct list_head	answers;
	struct list_head	reads;
	struct list_head	rxq;
	struct list_head	commits;
	unsigned long		committing;
	bool			rx_busy;
	bool			blocked;
	int			ended;
	struct kfi_cq_waiter	space;
	struct nt_slot		*write;
	u16			rx_freed[NTW_CLS_REQ];
	u64			unexpected;
	u64			tx_bytes, rx_bytes;

	/* payload without copies (L) */
	bool			direct;
	unsigned int		nasked, shy, skipped;
	unsigned int		nloans;
	unsigned int		nwatched;

	refcount_t		ref;
	int			error;
	struct nt_pep		*npep;
	struct ntw_addr		name;		/* the peer's */
	struct kfi_peer_conn	pc;		/* its place at its home, and RDM at its peer */
	struct work_struct	step_work;
	struct work_struct	down_work;
	struct work_struct	free_work;	/* the last reference has gone */
	struct delayed_work	deadline;
	struct delayed_work	watch;
	struct delayed_work	more_work;	/* flushes posts with KFI_MORE that nothing follows */
	struct nt_hand		hands[NT_COMMITS];
	struct nt_rec		last;		/* CLOSE */

	/* handshake */
	unsigned long		steps;
	struct ntw_calling	peer;		/* what the peer has said */
	u8			data_in[NTW_DATA_MAX];
	u8			data_out[NTW_DATA_MAX];
	u16			data_out_len;
	struct nt_say		say[2];
	struct nt_auth		*auth;
	bool			requested;	/* @req was shown to the consumer */
	struct kfi_connreq	req;

	void			*slot_mem;
	u32			slot_stride, nslots;
	struct nt_send		*sends;
};

/** enum nt_op_state - where an operation is (L); checked before a peer's answer is believed */
enum nt_op_state {
	NT_OP_QUEUED,
	NT_OP_ASKED,		/* RTS or WRITE that asks out: CTS or ACK may come */
	NT_OP_GRANTED,		/* CTS came, payload not all out */
	NT_OP_SENDING,		/* write: not all out */
	NT_OP_SENT,		/* ends when the peer has handled its record */
	NT_OP_UNANSWERED,	/* READ_DATA or ACK may come */
	NT_OP_FINISHED,		/* ends when no record reads its memory any more */
};

/**
 * struct nt_op - our part of a transmit operation; (L) of the connection
 * @conn: which connection's answer it waits for
 * @at: bytes that have gone, or come; @want: bytes that are to go
 * @slot: the target's number of the transfer
 * @sends: records that read its memory
 * @asked: its WRITE is out
 * @lent: the peer writes to its memory
 * @place: @nplaces: READ, TREAD: what is lent; else what the peer has lent
 * @segs: remote segments as they go out, where they do not fit into the header; with spots behind them it is the @tail
 */
struct nt_op {
	struct nt_conn	*conn;
	u64		at;
	u64		want;
	u32		slot;
	int		err;
	u16		sends;
	u8		state;
	bool		asked, lent;
	u8		nplaces;
	struct nt_place	place[NT_PLACES];
	struct kvec	vec;
	union {
		struct ntw_seg	segs[NTW_SEGS_MAX];
		u8		tail[NTW_TAIL_MAX];
	};
};

/** struct nt_done - what has ended under a lock, to be told when it has been dropped */
struct nt_done {
	struct list_head	ops;
};

#define NT_DONE(name)	{ LIST_HEAD_INIT(name.ops) }

static inline struct nt_op *nt_op(const struct kfi_oper *op)
{
	return op->priv;
}

static inline struct nt_ep *to_nt_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct nt_ep, ep);
}

static inline struct nt_pep *to_nt_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct nt_pep, pep);
}

static inline struct nt_domain *to_nt_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct nt_domain, domain);
}

static inline struct nt_mr *to_nt_mr(struct kfi_mr *mr)
{
	return container_of(mr, struct nt_mr, mr);
}

static inline struct nt_conn *to_nt_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct nt_conn, pc);
}

/* An atomic operation whose answer has old values */
static inline bool nt_op_fetches(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_FETCH_ATOMIC || op->code == KFI_OPC_COMPARE_ATOMIC;
}

/* dev.c: bridges come and go */
int nt_devs_init(void);
void nt_devs_exit(void);
/* With a reference, or NULL. By name; else (name NULL) by the side of its own end. May sleep */
struct nt_dev *nt_dev_find(const char *name, u32 side);
void nt_dev_get(struct nt_dev *dev);
void nt_dev_put(struct nt_dev *dev);	/* any context */
/* Each bridge, with a reference while fn runs, until it answers nonzero */
int nt_devs_each(int (*fn)(struct nt_dev *dev, void *arg), void *arg);
int nt_domain_open(struct kfi_domain *domain);
void nt_domain_close(struct kfi_domain *domain);
/* Records have come, for endpoints here. Softirq; nt_burst_record() between the other two */
void nt_burst_begin(struct nt_burst *burst) __acquires(RCU);
void nt_burst_record(struct nt_dev *dev, struct nt_burst *burst, const struct ntw_rec *rec, const void *body, size_t len);
void nt_burst_end(struct nt_burst *burst) __releases(RCU);
/* Its bridge, with a reference; NULL: that goes. May sleep */
struct nt_dev *nt_domain_dev(struct kfi_domain *domain);
int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem);
void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem);
/* Take a port; 0 in @l->port: any. Process context. 0, -EADDRINUSE, -ENOMEM */
int nt_port_take(struct nt_dev *dev, struct nt_listener *l);
void nt_port_give(struct nt_dev *dev, struct nt_listener *l);

/* way.c: several bridges to one machine */
void nt_ways_init(void);
void nt_kin_init(struct nt_dev *dev);
void nt_kin_say(struct nt_dev *dev);
void nt_kin_lost(struct nt_dev *dev);
void nt_kin_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len);
void nt_kin_look(struct nt_dev *dev);
struct nt_dev *nt_called_dev(struct nt_dev *dev, u32 number);
u32 nt_call_number(const struct nt_conn *conn);
struct nt_dev *nt_way(struct nt_ep *nep, const struct ntw_addr *to);
bool nt_way_other(struct nt_conn *conn);
bool nt_way_free(struct nt_conn *conn);
void nt_way_home(struct nt_conn *conn);

/* mirror.c: as in link.h, to our own end */
int nt_mirror_init(struct nt_mirror *mirror, struct nt_dev *dev);
void nt_mirror_free(struct nt_mirror *mirror);
void nt_mirror_post(struct nt_mirror *mirror, struct nt_rec *rec);
bool nt_mirror_unpost(struct nt_mirror *mirror, struct nt_rec *rec);
void nt_mirror_drain(struct nt_mirror *mirror);
void nt_mirror_work(struct work_struct *work);

/* info.c, addr.c */
int nt_getinfo(struct kfi_query *q);
u64 nt_levels(void);
int nt_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int nt_addr_check(struct kfi_domain *domain, const void *addr);
void nt_addr_str(const void *addr, size_t len, char *buf, size_t size);
int nt_addr_cmp(const void *a, const void *b);
/* The side that a node string names, from a bridge's point of view. 0, -ENODATA */
int nt_node_side(struct nt_dev *dev, const char *node, u32 *side);
int nt_port_parse(const char *service, u32 *port);
int nt_source(const struct kfi_info *info, struct nt_dev *dev, struct ntw_addr *addr);

/* ep.c */
int nt_ep_open(struct kfi_ep *ep);
int nt_ep_enable(struct kfi_ep *ep);
void nt_ep_stop(struct kfi_ep *ep, int err);
void nt_ep_close(struct kfi_ep *ep);
int nt_ep_getname(struct kfi_ep *ep, void *addr);
int nt_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
void nt_show(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *pc,
	     struct kfi_peer_info *info);
void nt_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/* rdm.c */
extern const struct kfi_peer_ops nt_peer_ops;
int nt_rdm_tx(struct nt_ep *nep, struct kfi_oper *op);
void nt_addr_removed(struct kfi_ep *ep, u32 index);
int nt_rdm_admit(struct nt_conn *conn);
bool nt_rdm_accepted(struct nt_conn *conn);
void nt_rdm_ready(struct nt_conn *conn);

/* msg.c */
int nt_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int nt_msg_accept(struct kfi_ep *ep, const void *data, size_t len);
int nt_msg_shutdown(struct kfi_ep *ep);
int nt_msg_getpeer(struct kfi_ep *ep, void *addr);
void nt_msg_lost(struct nt_conn *conn, int err);
void nt_msg_ready(struct nt_conn *conn);
int nt_msg_request(struct nt_conn *conn);
int nt_msg_tx(struct nt_ep *nep, struct kfi_oper *op);
int nt_pep_open(struct kfi_pep *pep);
void nt_pep_close(struct kfi_pep *pep);
int nt_pep_getname(struct kfi_pep *pep, void *addr);
int nt_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int nt_pep_listen(struct kfi_pep *pep);
int nt_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);

/* cm.c: the handshake */
bool nt_accept(struct nt_conn *conn);
void nt_call_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len, bool mirror);
void nt_answer_in(struct nt_conn *conn, const struct ntw_rec *rec, const void *body, size_t len);
int nt_callers_init(struct nt_dev *dev);	/* on failure nt_callers_free() is due, too */
void nt_callers_free(struct nt_dev *dev);
void nt_callers_work(struct work_struct *work);
void nt_callers_drop(struct nt_dev *dev, bool all);	/* of the peer, or all */
void nt_stranger_close(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len, bool mirror);
void nt_step(struct nt_conn *conn, int step);
void nt_step_work(struct work_struct *work);
void nt_deadline_work(struct work_struct *work);
int nt_say(struct nt_conn *conn, u8 type, int status);
void nt_set_data(struct nt_conn *conn, const void *data, size_t len);
void nt_refuse(struct nt_conn *conn, int err);

/* auth.c: what an authorization key adds to it */
int nt_auth_new(struct nt_conn *conn);
void nt_auth_outgoing(struct nt_conn *conn, u8 type, const struct ntw_call *call, struct nt_say *say);
int nt_auth_challenged(struct nt_conn *conn, const u8 *in);
int nt_auth_accepted(struct nt_conn *conn, const struct ntw_call *call, const u8 *in);
void nt_auth_called(struct nt_conn *conn, const struct ntw_call *call, const u8 *in);
int nt_auth_proved(struct nt_conn *conn, const u8 *in);

/* conn.c: life of a connection */
extern const struct kfi_home_ops nt_home_ops;
void nt_peer_put(struct kfi_peer_conn *pc);
void nt_peer_fail(struct kfi_peer_conn *pc, int err);
bool nt_peer_failed(const struct kfi_peer_conn *pc);
struct nt_conn *nt_conn_new(struct nt_dev *dev, struct nt_ep *nep, struct nt_pep *npep);
/* Memory that only a connection with a peer that may have it needs; process context. 0, -ENOMEM */
int nt_conn_furnish(struct nt_conn *conn);
struct nt_conn *nt_dial(struct nt_ep *nep, const struct ntw_addr *to, struct kfi_peer *peer);
int nt_conn_list(struct nt_conn *conn, struct kfi_peer *peer);
void nt_conn_get(struct nt_conn *conn);
void nt_conn_put(struct nt_conn *conn);
void nt_conn_fail(struct nt_conn *conn, int err);
void nt_conn_open(struct nt_conn *conn);
void nt_conn_close(struct nt_conn *conn, bool answer);	/* the last word, once; with @answer the peer's is wanted */

/* send.c: records on their way. The lock is held, but for nt_done_all() */
struct nt_send *nt_send_get(struct nt_conn *conn);
/* To the link, or the mirror. 0, -ENOTCONN: it is not the link that the connection belongs to */
int nt_conn_post(struct nt_conn *conn, struct nt_rec *rec, bool more);
bool nt_room(const struct nt_conn *conn);
bool nt_send_now(struct nt_conn *conn, struct ntw_frame *f, struct iov_iter *iter, u32 len);
int nt_send_post(struct nt_conn *conn, struct nt_send *s, struct ntw_frame *f, const void *tail);
void nt_op_end(struct kfi_oper *op, int err, struct nt_done *done);
void nt_op_finish(struct kfi_oper *op, int err, struct nt_done *done);
void nt_done_all(struct nt_done *done);
void *nt_bounce_get(struct nt_conn *conn);
void nt_bounce_put(struct nt_conn *conn, void *bounce);
void nt_sends_init(struct nt_conn *conn);
void nt_sends_drain(struct nt_conn *conn);	/* no lock; may sleep */
void nt_kick_link(struct nt_conn *conn);

static inline void nt_done(struct nt_done *done)
{
	if (!list_empty(&done->ops))
		nt_done_all(done);
}

/* tx.c: the send path */
int nt_tx(struct kfi_ep *ep, struct kfi_oper *op);
void nt_tx_post(struct nt_conn *conn, struct kfi_oper *op);
void nt_tx_kick(struct nt_conn *conn);
void nt_tx_flush(struct kfi_ep *ep);
void nt_more_work(struct work_struct *work);
void nt_tx_run(struct nt_conn *conn, struct nt_done *done);
void nt_tx_flush_all(struct nt_conn *conn, int err);
struct ntw_frame nt_op_frame(const struct kfi_oper *op, u8 type);
void nt_op_wait(struct nt_conn *conn, struct kfi_oper *op, u8 state);
void nt_op_segs(struct kfi_oper *op);
void nt_op_lend(struct nt_conn *conn, struct kfi_oper *op);
bool nt_put_piece(struct nt_conn *conn, struct nt_send *s, struct kfi_oper *op, struct ntw_frame *f);
struct kfi_oper *nt_answered_op(struct nt_conn *conn, const struct ntw_frame *f);
int nt_got_cts(struct nt_conn *conn, const struct ntw_frame *f, const void *payload);
int nt_got_ack(struct nt_conn *conn, const struct ntw_frame *f, struct nt_done *done);

/* rx.c: the receive path */
void nt_conn_record(struct nt_conn *conn, const struct ntw_rec *rec, const void *body, size_t len);
void nt_rx_settle(struct nt_conn *conn);	/* after a burst of records */
void nt_rx_enter(struct nt_conn *conn, struct nt_slot *slot);
void nt_rx_space(struct kfi_cq_waiter *w);
kfi_addr_t nt_rx_src(struct nt_conn *conn);
void nt_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void nt_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);

/* slot.c: what has to wait */
int nt_slots_alloc(struct nt_conn *conn);
struct nt_slot *nt_slot_at(struct nt_conn *conn, u32 index);
u32 nt_slot_index(const struct nt_slot *slot);
struct nt_slot *nt_slot_get(struct nt_conn *conn, u8 cls);	/* the credit has been charged; the lock is held */
void nt_slot_fill(struct nt_slot *slot, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload);
void nt_slot_free(struct nt_slot *slot);			/* the lock is held */
void nt_slot_answer(struct nt_slot *slot, u8 type, u16 status);	/* the lock is held */
void nt_slot_ack(struct nt_slot *slot, u16 status);		/* no lock */
void nt_slots_lost(struct nt_conn *conn, int err);

/* rma.c: write and read, both sides */
/* A slot for a request, NULL: the peer has no credit */
struct nt_slot *nt_request_slot(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, u8 state);
bool nt_put_rma(struct nt_conn *conn);
bool nt_write_asks(const struct nt_conn *conn, const struct kfi_oper *op);
void nt_put_asking(struct nt_conn *conn, struct kfi_oper *op);
bool nt_put_read(struct nt_conn *conn);
int nt_rx_write(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload);
int nt_rx_more(struct nt_conn *conn, const struct ntw_frame *f, const void *payload);
int nt_rx_read(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload);
int nt_rx_write_data(struct nt_slot *slot, const struct ntw_frame *f, const void *payload);
int nt_rx_read_data(struct nt_conn *conn, const struct ntw_frame *f, const void *payload, struct nt_done *done);
int nt_rx_tell(struct nt_slot *slot);
void nt_rma_let_go(struct nt_slot *slot);
void nt_rma_spend(struct nt_slot *slot);	/* no other operation comes behind it, though its owner may not be told of it for a while */

/* lend.c: memory that the peer writes to by itself */
unsigned int nt_places(const struct nt_conn *conn, const struct iov_iter *iter, size_t len, struct nt_place *place, unsigned int max);
bool nt_places_take(const void *from, unsigned int n, u64 len, struct nt_place *place);
void nt_places_say(const struct nt_place *place, unsigned int n, struct ntw_spot *spots);
unsigned int nt_places_cut(const struct nt_place *from, unsigned int n, u64 at, size_t len, struct nt_place *to);
void nt_count_in(struct nt_conn *conn, size_t bytes, bool placed);
int nt_slot_spots(struct nt_slot *slot, const void *payload);
bool nt_loan_begin(struct nt_conn *conn);	/* the lock is held, here and in the next ones */
void nt_loan_end(struct nt_conn *conn);
bool nt_source_hold(struct nt_conn *conn, struct kfi_mr *mr, u64 key);
void nt_source_release(struct nt_conn *conn, struct kfi_mr *mr);
bool nt_lend_region(struct nt_slot *slot);	/* no lock, here and in the next ones */
void nt_region_landed(struct nt_slot *slot);
/* Bytes of placed payload that one record announces, at most; and its CRC, or 0 if there is none */
u32 nt_stretch(const struct nt_conn *conn);
u32 nt_crc_out(const struct nt_conn *conn, const struct nt_send *s);
/*
 * Is what @f announces there? From byte @at of @it on; for a write, behind what has come of @slot.
 * Return: 0: yes, or nobody knows; -ECONNRESET: no, and the link goes; -EPROTO
 */
int nt_placed_check(struct nt_conn *conn, const struct ntw_frame *f, const struct iov_iter *it,
		    u64 at);
int nt_region_check(struct nt_slot *slot, const struct ntw_frame *f);
void nt_region_back(struct nt_slot *slot);
int nt_mr_reg(struct kfi_mr *mr);		/* process context, these two */
void nt_mr_dereg(struct kfi_mr *mr);
void nt_lend_recall(struct nt_conn *conn);	/* sleeps */
void nt_lend_closed(struct nt_conn *conn, u16 bits);
void nt_lend_init(struct nt_conn *conn);

/* atomic.c */
void nt_put_atomic(struct nt_conn *conn, struct kfi_oper *op);
int nt_rx_atomic(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload);
int nt_rx_fetched(struct kfi_oper *op, const void *payload);

/* commit.c */
u16 nt_commit_get(struct nt_slot *slot);
void nt_commit_put(struct nt_slot *slot);
void nt_commit_init(struct nt_conn *conn);
void nt_slot_verdict(struct nt_slot *slot);
int nt_rx_flush(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs);

#endif /* _KFI_NTB_NTB_H */
