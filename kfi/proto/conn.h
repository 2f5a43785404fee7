/* SPDX-License-Identifier: GPL-2.0 */
/*
 * conn.h - a connection of the message protocol, and the locks that protect it.
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
 *   callers_lock (spin, bh)	connections to endpoints of the kernel (callers.c). A leaf
 *   kfp_dev_places_lock (spin, bh)	the members that lead from a place of devices to its
 *				connection (device_place.c). A leaf; there is one for the module
 *
 * A post (kfi_proto_tx()) never waits for the link's lock; it only tries to take it. A consumer may
 * post from a completion handler that runs under the link's lock (see kfi_batch_begin()), and while
 * it holds locks of its own that its handlers take, too.
 *
 * kfi_peer.conn and kfi_conn_set.conn publish a connection by RCU. A post finds the connection and
 * uses it inside rcu_read_lock(). The end of the connection (conn.c) clears the pointer and waits
 * for a grace period before it collects the operations that were posted.
 */
#ifndef _KFI_PROTO_CONN_H
#define _KFI_PROTO_CONN_H

#include <linux/refcount.h>
#include <kfi_payer.h>
#include <kfi_runner.h>
#include <trace/events/kfi.h>
#include "account.h"
#include "engine.h"
#include "message.h"
#include "rma.h"

#define KFP_GRANTS_BYTES	(32 << 10)	/* objects of all grants, roughly */

extern struct kfi_wire kfp_wire;		/* what "kfi show versions" lists */
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
struct kfp_grants;

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
	KFP_SECURING,		/* kfi_link_securing() was called */
	KFP_UP,			/* kfi_link_up() was called */
	KFP_BYE_SENT,
	KFP_BYE_WANTED,
	KFP_BYE_POSTED,		/* the link has accepted the BYE: the peer closes */
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
 * @runner: the claim of the transmit side, and notes that there may be something to transmit
 * @state: &enum kfp_conn_state
 * @ops: operations of the link
 * @concealed: memory that kfi_link_concealed() passes to its burst (L)
 * @spare_places: struct kfp_places for reuse (L)
 * @reads: reads (L)
 * @writes: writes (L)
 * @grants: grants in both directions; NULL if the link has no places
 * @tx: transmit side (L)
 * @rx: receive side (L)
 * @lock: protects the members from @credit_due to @orphaned
 * @credit_due: a credit update has to be sent
 * @credit_freed: @credit has changed since the last frame, or @credit_due is set
 * @answers: answers to be sent, in this order
 * @lazy: ACKs that may wait for other frames
 * @nr_lazy: number of entries in @lazy
 * @credit: credit granted to the peer; what was advertised changes under (L), too, and what was used
 *	under (L) alone
 * @messages: inbound messages
 * @free_answers: unused answers of @pool
 * @pool: answers, in pieces: one for each request that the peer has had outstanding. Grows under
 *	(L), before a request is handled that needs another one
 * @nr_pool: number of answers in @pool
 * @rdvs: long messages of the peer that have found their receive
 * @commits: commits for the peer
 * @orphaned: the connection is down and has left messages: kfp_inmsg_free() reports each to the
 *	account
 * @allowance: credits for unexpected messages that this side announces, for each class
 * @late_acks: ACKs of unexpected messages follow when they are received, because this side does
 *	not promise to keep them when the connection is down (account.c), or its consumer wants so
 * @account: RDM: account of the peer, from kfp_account_join() until the endpoint holds nothing
 *	of this connection; under kfp_accounts.lock
 * @credits: credits charged to @account; under kfp_accounts.lock
 * @payer: account of the domain, or of the fabric of a passive endpoint; that of callers.c; or
 *	NULL. Used until the connection leaves its connection set
 * @paid: bytes charged to @payer for the connection and its buffers
 * @caller: entry in the list of callers.c, under callers_lock
 * @leaving: the connection ends to make room for another one; under callers_lock
 * @dead: entries in &kfp_account.dead of each level; under kfp_accounts.lock
 * @of_origin: entry in &kfp_account.conns; under kfp_accounts.lock
 * @late: the connection is ended because its peer was late
 * @ref: references: connection set, queued work items, inbound messages, and the consumer while
 *	it decides about @req
 * @error: reason of the failure, negative errno; kfp_conn_fail() sets it once
 * @pep: passive endpoint that was called, until the request is accepted; changes with @ep
 * @av_name: RDM: address of the peer in the format of address vectors
 * @deadline: end of the handshake, kfp_now()
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
	struct kfi_runner	runner;
	u8			state;
	const struct kfi_link_ops *ops;
	struct kfi_exposed	*concealed;
	struct kfp_spares	spare_places;
	struct kfp_grants	*grants;

	struct kfp_tx		tx ____cacheline_aligned;
	struct kfp_rx		rx ____cacheline_aligned;
	struct kfp_reads	reads;
	struct kfp_writes	writes;

	spinlock_t		lock ____cacheline_aligned;
	bool			credit_due;
	bool			credit_freed;
	struct list_head	answers;
	struct list_head	lazy;
	unsigned int		nr_lazy;
	struct kfi_credit_rx	credit[KFP_CLS];
	struct kfp_messages	messages;
	struct list_head	free_answers;
	struct kfp_answers	*pool;
	unsigned int		nr_pool;
	struct kfp_rdvs		rdvs;
	struct kfp_commits	commits;

	bool			orphaned;
	u32			allowance;
	bool			late_acks;
	struct kfp_account	*account;
	u32			credits;
	struct kfi_account	*payer;
	size_t			paid;
	struct list_head	caller;
	bool			leaving;
	struct list_head	dead[KFP_ACCOUNT_LEVELS];
	struct list_head	of_origin;
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

/* The memory cgroup that pays for what work items and softirqs allocate, or NULL (kfi_account.h) */
static inline struct mem_cgroup *kfp_memcg(const struct kfp_conn *conn)
{
	return conn->payer ? conn->payer->memcg : NULL;
}

/* Bytes that a credit for unexpected messages pays for at most */
#define KFP_CREDIT_MEM	(KFW_CREDIT_BYTES + sizeof(struct kfp_inmsg))

/* Bytes that the peer may make this side hold because of two allowances */
static inline size_t kfp_allowance_mem(u32 allowance)
{
	return 2 * allowance * KFP_CREDIT_MEM;
}

/* Flags of an allocation in a work item: a process pays for its connections. */
static inline gfp_t kfp_gfp(const struct kfp_conn *conn)
{
	return kfp_memcg(conn) ? GFP_NOIO | __GFP_ACCOUNT : GFP_NOIO;
}

/* Flags of an allocation under the link's lock, or in a post */
static inline gfp_t kfp_gfp_atomic(const struct kfp_conn *conn)
{
	return GFP_ATOMIC | __GFP_NOWARN | (kfp_memcg(conn) ? __GFP_ACCOUNT : 0);
}

/* Jiffies, without those for which the network was held: a clock for the handshake and the end */
static inline unsigned long kfp_now(const struct kfp_conn *conn)
{
	return jiffies - kfi_held(conn->link.hold);
}

/*
 * Jiffies, without those in which this side did not read, or for which the network was held when
 * kfp_rx_late() has looked: a clock for what the peer has to send
 */
static inline unsigned long kfp_rx_now(const struct kfp_conn *conn)
{
	return jiffies - conn->rx.paused;
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

/* Does the link report when it has read the memory of a payload? */
static inline bool kfp_reports_sent(const struct kfp_conn *conn)
{
	return conn->ops->flags & KFI_LINK_REPORTS_SENT;
}

/* Is a payload of this length worth a place, over a link that has places? */
static inline bool kfp_may_expose(const struct kfp_conn *conn, u64 len)
{
	return conn->ops->expose && len >= conn->ops->place_min;
}

/* May the link reference the pages of a payload? */
static inline bool kfp_can_splice(const struct kfp_conn *conn, const struct iov_iter *iter, u64 len)
{
	return len > KFP_INLINE && conn->ops->splices &&
	       conn->ops->splices(&conn->link, iter, len);
}

/* Does the peer accept another request before it has answered one? */
static inline bool kfp_may_request(const struct kfp_conn *conn)
{
	return conn->tx.requests < conn->tx.requests_max;
}

/* The operation takes an answer of the peer's pool until it is answered. */
static inline void kfp_op_request(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op(op)->request = true;
	conn->tx.requests++;
}

/*
 * The CPU of the peer writes to its regions, or checks them, when the frames of the operation
 * arrive. A later write with places would overtake them, so it waits for the answer.
 */
static inline void kfp_op_unplaced(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op(op)->unplaced = true;
	conn->tx.unplaced++;
	conn->tx.unplaced_commits += !!(op->flags & KFI_COMMIT_COMPLETE);
}

/*
 * The ACK of an operation with KFI_INJECT_COMPLETE may be delayed: its completion shows only that
 * the buffer can be reused.
 */
static inline u16 kfp_lazy(const struct kfi_oper *op)
{
	return op->flags & KFI_INJECT_COMPLETE ? KFW_F_LAZY : 0;
}

/* The flags of a request that the flags of the operation determine */
static inline u16 kfp_op_flags(const struct kfi_oper *op)
{
	return (op->flags & KFI_REMOTE_CQ_DATA ? KFW_F_CQ_DATA : 0) |
	       (op->flags & KFI_COMMIT_COMPLETE ? KFW_F_COMMIT : 0);
}

static inline u8 kfp_rx_cls(const struct kfw_frame *f)
{
	return f->flags & KFW_F_TAGGED ? KFP_CLS_TAG : KFP_CLS_MSG;
}

/*
 * Advance the start @since of a wait by @extra jiffies, because the peer has sent something, but
 * not beyond the present. So a peer that was fast may not be silent for longer.
 */
static inline unsigned long kfp_extend(unsigned long since, unsigned long now, unsigned long extra)
{
	if (time_after(since, now))
		return since;
	return extra < now - since ? since + extra : now;
}

/*
 * Move the receive side. The hello work calls this function without the link's lock, while the link
 * is stopped; the store lets kfi_link_rx_bytes() continue.
 */
static inline void kfp_rx_set_at(struct kfp_conn *conn, u8 at)
{
	smp_store_release(&conn->rx.at, at);	/* pairs with kfi_link_rx_bytes() */
}

/*
 * Run @fn as one burst. Completion handlers run in kfi_batch_end(), after the burst. Their posts
 * and the answers to the peer are then sent together. Called under the link's lock, perhaps by the
 * runner in post().
 */
static __always_inline void kfp_burst(struct kfp_conn *conn, void (*fn)(struct kfp_conn *conn))
{
	bool runner;

	local_bh_disable();
	runner = kfi_runner_enter(&conn->runner);
	kfi_batch_begin();
	fn(conn);
	kfi_batch_end();
	if (runner || kfi_runner_enter(&conn->runner))
		kfp_tx_run(conn);
	local_bh_enable();
}

/* work.c: work items of a connection, and the beginning of its end */
void kfp_conn_get(struct kfp_conn *conn);
int kfp_conn_cpu(const struct kfp_conn *conn);
void kfp_conn_queue(struct kfp_conn *conn, struct delayed_work *work, unsigned long delay);
void kfp_hello_kick(struct kfp_conn *conn);
void kfp_conn_fail(struct kfp_conn *conn, int err);
void kfp_conn_check(struct kfp_conn *conn);

/* conn.c: life of a connection */
struct kfp_conn *kfp_dial(struct kfi_proto_ep *pe, const void *to, struct kfi_peer *peer);
void kfp_dial_start(struct kfp_conn *conn);
void kfp_conn_named(struct kfp_conn *conn);
void kfp_conn_set_ops_init(struct kfi_proto *proto);
struct kfp_conn *kfp_conn_new(struct kfi_proto *proto, struct kfi_proto_ep *pe,
			      struct kfi_proto_pep *ppep, bool called);
int kfp_conn_charge(struct kfp_conn *conn, struct kfi_account *payer);
int kfp_conn_alloc(struct kfp_conn *conn);
void kfp_conn_put(struct kfp_conn *conn);
bool kfp_conn_failed(const struct kfi_peer_conn *pc);
void kfp_conn_prepare(struct kfp_conn *conn);
void kfp_conn_start(struct kfp_conn *conn);

/* callers.c: memory of connections, which bounds those that peers begin */
struct kfi_account *kfp_caller_payer(struct kfi_account *of_consumer);
int kfp_conn_pay(struct kfp_conn *conn, size_t bytes, bool admitted);
void kfp_conn_unpay(struct kfp_conn *conn);
void kfp_callers_add(struct kfp_conn *conn);
void kfp_callers_remove(struct kfp_conn *conn);

/* hello.c: the handshake */
bool kfp_trusted(const struct kfp_conn *conn);
int kfp_hello_send_auth(struct kfp_conn *conn, u8 kind);
void kfp_hello_work(struct work_struct *work);
void kfp_hello_start(struct kfp_conn *conn, int state);
int kfp_hello_refuse(struct kfp_conn *conn, int status, int err);
int kfp_hello_accept(struct kfp_conn *conn);

/* auth.c: the handshake with an authorization key */
int kfp_auth_new(struct kfp_conn *conn);
void kfp_auth_outgoing(struct kfp_conn *conn, const struct kfw_hello *hello);
int kfp_auth_answered(struct kfp_conn *conn);
int kfp_auth_from_caller(struct kfp_conn *conn);

/* rdm_ep.c: RDM endpoints */
int kfp_rdm_called(struct kfp_conn *conn);
int kfp_rdm_admit(struct kfp_conn *conn);
bool kfp_rdm_ready(struct kfp_conn *conn);
void kfp_rdm_publish(struct kfp_conn *conn);
void kfp_peer_info(const struct kfi_proto_ep *pe, const void *name, const struct kfi_peer_conn *pc,
		   struct kfi_peer_info *info);

/* msg_ep.c: connected endpoints */
void kfp_msg_lost(struct kfp_conn *conn, int err);
void kfp_msg_ready(struct kfp_conn *conn);
int kfp_msg_accepted(struct kfp_conn *conn);

/* setup.c */
int kfp_init(void);
void kfp_exit(void);

#endif /* _KFI_PROTO_CONN_H */
