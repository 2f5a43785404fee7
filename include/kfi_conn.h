/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kit for ULPs, kfi_ulp.ko: domains, connections, receives and listeners. It is a consumer of
 * the other headers, and a ULP may use both. kfi_req.h has requests with an answer, kfi_rw.h data
 * between a scatterlist and a peer's region. docs/ulp-guide.md explains how to use it.
 *
 * Objects, but domains, are part of the ULP's structures. Nothing is allocated after
 * kfi_conn_open(), or kfi_conn_accept() and kfi_conn_ready(). Work queues belong to the ULP: if
 * two ULPs shared one, the end of a target that waits for a disk could block the reconnect of the
 * host that has this disk.
 */
#ifndef KFI_CONN_H
#define KFI_CONN_H

#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <kfi_cm.h>
#include <kfi_rma.h>

struct kfi_account;
struct kfi_conn;
struct kfi_dom;
struct kfi_fab;
struct kfi_listener;
struct kfi_req;
struct kfi_rxbuf;

/* ---- what a ULP needs, and the domain that has it ---- */

/**
 * struct kfi_need - what a ULP needs of its endpoints
 * @provider: name, or NULL or "" for any
 * @device: name of an interface or RDMA device, which alone is used then; or NULL or "" for any
 * @type: KFI_EP_MSG or KFI_EP_RDM
 * @caps: capabilities, besides KFI_MSG and KFI_RMA
 * @order: KFI_ORDER_
 * @level: completion level that transmits may ask for, and that kfi_send() and the like have; 0: any
 *	that the provider has, and none
 * @max_len: bytes of the longest message, read or write
 * @inject: bytes of the longest message that is sent from a buffer of the caller
 * @tx_segs: pieces of memory of one post; 0: any
 * @rx_segs: pieces of memory of one receive; 0: any
 * @key_size: bytes of a key in the ULP's messages; 0: any
 * @tclass: traffic class, KFI_TC_UNSPEC: none
 * @auth_key: authorization key, or NULL
 * @auth_key_size: bytes of @auth_key
 * @one_peer: only domains whose network has one other end (KFI_ONE_PEER). The peer needs no address
 * @load: load KFI_MODULE_IP if no provider serves the address. Only if the caller may wait for user
 *	space, so not in a reconnect for which memory reclaim may wait
 */
struct kfi_need {
	const char		*provider;
	const char		*device;
	enum kfi_ep_type	type;
	u64			caps;
	u64			order;
	u64			level;
	size_t			max_len;
	size_t			inject;
	unsigned int		tx_segs;
	unsigned int		rx_segs;
	unsigned int		key_size;
	u32			tclass;
	const void		*auth_key;
	size_t			auth_key_size;
	bool			one_peer;
	bool			load;
};

enum {
	KFI_SECRET_MIN	= 16,		/* bytes of a secret */
	KFI_SECRET_MAX	= 256,
};

/**
 * kfi_secret_get() - copy a secret, for &kfi_need.auth_key
 * @name: description of a key of type logon, which the keyrings of the caller have
 * @secret: KFI_SECRET_MAX bytes
 *
 * User space is not asked for a key that is not there.
 *
 * Context: Process context, may sleep.
 * Return: length of the secret; -EINVAL if it is too short or too long; -EOPNOTSUPP without
 * CONFIG_KEYS; -EKEYREVOKED; or another error of request_key().
 */
#ifdef CONFIG_KEYS
int kfi_secret_get(const char *name, u8 *secret);
#else
static inline int kfi_secret_get(const char *name, u8 *secret)
{
	return -EOPNOTSUPP;
}
#endif

/**
 * kfi_find() - find what serves an address
 * @net: network namespace
 * @need: what is needed
 * @src: local address, or NULL
 * @dst: address of the peer; NULL: the address @src is listened at, or is that of an RDM endpoint
 * @service: service at @dst, or at @src without @dst. NULL without both: any address that is free.
 *	With &kfi_need.one_peer and without both, it is a service at the other end
 * @info: the answer, a list with the best entry first. The caller frees it with kfi_freeinfo()
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENODATA if no provider serves the address; or another negative error.
 */
int kfi_find(struct net *net, const struct kfi_need *need, const char *src, const char *dst,
	     const char *service, struct kfi_info **info);

/**
 * struct kfi_dom - a domain that the connections of one module share
 * @domain: domain
 * @limits: its limits
 * @closing: called before @domain is closed, if the ULP has set it; process context
 * @priv: for the ULP
 * @name: its name
 *
 * The other members are the kit's. A region that is bound to no endpoint can be accessed by the
 * peers of all endpoints of the domain: so domains are not shared between modules, and the regions
 * of the kit are bound.
 */
struct kfi_dom {
	struct kfid_domain	*domain;
	struct kfi_domain_limits limits;
	void			(*closing)(struct kfi_dom *dom);
	void			*priv;
	/* private: */
	struct list_head	entry;
	struct kfi_fab		*fab;
	unsigned int		users;
	struct kfi_account	*account;
	int			mr_mode;
	u64			caps;
	/* public: */
	char			name[];
};

/**
 * kfi_dom_get() - open a domain, or take another reference to the one that is open
 * @net: network namespace of @info
 * @info: what kfi_find() has found
 * @owner: THIS_MODULE
 *
 * The domain that this module has open for the same provider, device, capabilities and mr_mode is
 * used, unless its device or namespace has gone. Allocations do not wait for I/O.
 *
 * Context: Process context, may sleep.
 * Return: the domain, to be dropped with kfi_dom_put(); or ERR_PTR.
 */
struct kfi_dom *kfi_dom_get(struct net *net, const struct kfi_info *info, struct module *owner);

/**
 * kfi_dom_get_paid() - as kfi_dom_get(), for a domain whose endpoints an account pays for
 * @net: network namespace of @info
 * @info: what kfi_find() has found
 * @owner: THIS_MODULE
 * @account: the account, which the ULP keeps until all its domains and listeners in @net are
 *	closed; or NULL. Domains are shared by those with the same account
 *
 * Context: Process context, may sleep.
 * Return: as kfi_dom_get().
 */
struct kfi_dom *kfi_dom_get_paid(struct net *net, const struct kfi_info *info,
				 struct module *owner, struct kfi_account *account);

/**
 * kfi_dom_put() - drop a reference; the last one closes the domain
 * @dom: domain. Connections have references of their own
 *
 * Context: Process context, may sleep.
 */
void kfi_dom_put(struct kfi_dom *dom);

/* ---- connections ---- */

/**
 * enum kfi_conn_where - context of the functions of a connection
 * @KFI_CONN_SOFTIRQ: softirq
 * @KFI_CONN_WORK: work item, on the CPU that has received
 * @KFI_CONN_ROUNDS: the same, and answers of kfi_rw_reply() to messages that arrived together are
 *	sent together
 * @KFI_CONN_POLL: kfi_conn_poll()
 * @KFI_CONN_READ: there are none: the ULP posts without KFI_CQE, and reads &kfi_conn.cq, for which
 *	it may sleep; or it has &kfi_conn_ops.ready. With KFI_CQE and KFI_NO_COMPLETION a failure
 *	is reported in a work item. The queue has room for &kfi_conn_attr.tx and
 *	&kfi_conn_attr.depth
 */
enum kfi_conn_where {
	KFI_CONN_SOFTIRQ,
	KFI_CONN_WORK,
	KFI_CONN_ROUNDS,
	KFI_CONN_POLL,
	KFI_CONN_READ,
};

/**
 * struct kfi_conn_ops - functions of a ULP
 * @ready: with KFI_CONN_READ: the queue, which a read has found empty, has an entry; and done() of
 *	operations with KFI_CQE is called in softirq. @conn is the connection. May be called from
 *	kfi_conn_open() on, until a stop has returned. NULL: a thread waits for entries
 * @received: done() of receives. It begins with kfi_rx_take() or kfi_rx_got()
 * @req_done: a request of kfi_req.h has ended; called once for each kfi_req_send() that has
 *	returned 0, except for requests without an answer at the time of a stop. @err is 0, or that
 *	of a send after kfi_req_map(). Called where the last of its events happens: in a function of
 *	the connection, in softirq when the region ends, in kfi_req_send() or kfi_req_put()
 * @answered: kfi_conn_dialed() has an outcome now. May be called more than once for a
 *	kfi_conn_dial(), in process context. NULL: nobody waits for that
 * @lost: the connection can't be used any more. Called once for each connection, in any context
 *	including hard interrupts; not after kfi_conn_stop(), nor if kfi_conn_connect() or
 *	kfi_conn_dialed() fails. The
 *	error of an accepted connection is -ETIMEDOUT after &kfi_listener.ready_ms, -EBUSY if it
 *	made room for another caller, -ESHUTDOWN after kfi_listener_close(). NULL: nothing to do
 * @ending: accepted connections: no post begins between kfi_conn_enter() and kfi_conn_exit() any
 *	more, and the endpoint will be closed. Called once, in @end_wq, before @release: the ULP
 *	closes what is bound to the endpoint (kfi_region_open()), and waits for its tasks that post
 *	outside of such sections. NULL: nothing to do
 * @release: accepted connections: the connection was stopped. Called once, in @end_wq. The ULP
 *	waits for its own work, calls kfi_conn_close() and frees the connection
 * @end_wq: accepted connections: WQ_MEM_RECLAIM, of this ULP alone; calls @release
 * @post_wq: with kfi_rw.h: the same, but another queue, for which @end_wq waits; posts what had no
 *	room
 */
struct kfi_conn_ops {
	kfi_comp_handler ready;
	void (*received)(struct kfid_cq *cq, struct kfi_cqe *cqe,
			 const struct kfi_cq_err_entry *wc);
	void (*req_done)(struct kfi_req *req, int err);
	void (*answered)(struct kfi_conn *conn);
	void (*lost)(struct kfi_conn *conn, int err);
	void (*ending)(struct kfi_conn *conn);
	void (*release)(struct kfi_conn *conn);
	struct workqueue_struct	*end_wq, *post_wq;
};

/**
 * struct kfi_conn_attr - size of a connection
 * @depth: messages of the peer that are awaited, and requests in flight
 * @spare: further receives, for messages whose buffers are still used
 * @first: accepted connections: receives before kfi_conn_ready(); 0: all, without a login
 * @rx_len: bytes of a message's head; 0: the ULP posts all receives
 * @rx_more: bytes behind the head, in pages; 0: none
 * @rx_priv: bytes of the ULP's structure, whose first member is struct kfi_rxbuf; 0: that alone
 * @tx: posts in flight; 0: 2 * (@depth + @spare)
 * @tx_len: bytes of a request's message, for requests with data behind it
 * @region_segs: pieces of memory of a request's region; 0: no regions
 * @where: context of the functions of the connection: @received, @req_done and &kfi_rw.done
 * @eager: KFI_OPT_EAGER_SIZE, see kfi_setopt(); 0: that of the provider
 * @account: accepted connections: pays for the connection, see kfi_dom_get_paid(); or NULL
 * @reclaim: memory reclaim may wait for this connection
 * @timeout_ms: time limit of each operation; 0: none
 * @av_only: RDM: callers that are not the peer are refused, where the provider can do that
 * @need_privilege: MSG: KFI_OPT_NEED_PRIVILEGE, where the provider has that
 * @peer: RDM: address and service of the only peer; NULL: the ULP inserts peers into &kfi_conn.av
 */
struct kfi_conn_attr {
	unsigned int		depth, spare, first;
	size_t			rx_len, rx_more, rx_priv;
	unsigned int		tx;
	size_t			tx_len;
	unsigned int		region_segs;
	enum kfi_conn_where	where;
	size_t			eager;
	struct kfi_account	*account;
	bool			reclaim;
	unsigned int		timeout_ms;
	bool			av_only;
	bool			need_privilege;
	const char		*peer[2];
};

/* Flags of struct kfi_conn */
enum {
	KFI_CONN_OPEN,		/* operations may be posted, under RCU */
	KFI_CONN_LIVE,		/* kfi_conn_fail() has to report the loss */
	KFI_CONN_COUNTED,	/* &kfi_listener.unready has its cost; under &kfi_listener.lock */
};

/* Owner of a receive, &kfi_rxbuf.state */
enum {
	KFI_RXBUF_IDLE,		/* the kit: it is posted when the connection opens */
	KFI_RXBUF_POSTED,	/* the endpoint, and functions of the connection */
	KFI_RXBUF_KEPT,		/* the ULP, until kfi_rx_done() */
};

/* Receives, in one or two allocations: before and after kfi_conn_ready() */
struct kfi_rxset {
	void			*bufs;
	void			*heads;
	unsigned int		n;
};

/**
 * struct kfi_conn - an endpoint with its queues, receives and regions; part of the ULP's queue
 * @ops: functions
 * @attr: sizes
 * @dom: domain, held while objects are open
 * @ep: endpoint; posts use it between kfi_conn_enter() and kfi_conn_exit(); functions of the
 *	connection, and tasks that end before a stop or in &kfi_conn_ops.ending, at any time
 * @cq: completions of both directions
 * @av: RDM: addresses
 * @peer: RDM: the peer
 * @tx_segs: pieces of memory that a post may have, at most 16
 *
 * Flags are atomic. The mutex (lock) serialises open, connect, stop, close and the name. Functions
 * that run beside a stop test KFI_CONN_OPEN inside an RCU section, and kfi_ep_reset() waits for a
 * grace period after the stop has cleared the flag. &kfi_listener.lock protects the entries in
 * lists. The second set of receives is made by kfi_conn_ready(), before they are posted. round and
 * held are used by the task that runs the functions; other tasks only compare round with
 * themselves.
 */
struct kfi_conn {
	const struct kfi_conn_ops *ops;
	struct kfi_conn_attr	attr;
	struct kfi_dom		*dom;
	struct kfid_ep		*ep;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	kfi_addr_t		peer;
	unsigned int		tx_segs;
	/* private: */
	size_t			reply_max;
	unsigned long		flags;
	u32			epoch;
	struct kfid_mr		**mrs;
	void			*tx;
	struct kfi_cqe		inject_cqe;
	struct kfi_rxset	rx[2];
	unsigned int		room;		/* requests with memory and regions */
	struct task_struct	*round;
	unsigned int		held;
	struct mutex		lock;
	struct kfid_eq		*eq;
	struct kfi_info		*info;
	bool			active;		/* a stop has something to end */
	struct completion	connected;
	int			err;		/* argument of the first kfi_conn_fail() */
	void			*answer;
	size_t			*answer_len;
	struct kfi_listener	*listener;
	struct in6_addr		source;
	struct list_head	entry, waiting;
	struct delayed_work	ready_work;
	struct work_struct	end_work, post_work;
	struct llist_head	deferred;
};

/**
 * kfi_conn_init() - prepare a connection; allocates nothing
 * @conn: connection, any content
 * @ops: functions, which exist as long as @conn
 *
 * Context: Any. Until the connection is open, kfi_conn_enter() returns false, kfi_conn_stop() and
 * kfi_conn_close() do nothing, and what returns an error returns -ENOTCONN.
 */
void kfi_conn_init(struct kfi_conn *conn, const struct kfi_conn_ops *ops);

/**
 * kfi_conn_open() - open the objects of a connection and allocate its memory
 * @conn: stopped connection
 * @dom: domain; the connection takes a reference
 * @info: what kfi_find() has found
 * @attr: sizes; copied
 *
 * What a former connection has left is used again if it fits. Memory does with the same sizes, and
 * no larger depth; if it does not, no receive may be kept (kfi_rx_got()). The objects of an MSG
 * endpoint do, besides, with the same domain and local address, if @info was found for the same
 * &struct kfi_need. If both fit, nothing is allocated. An RDM endpoint may receive before this
 * function returns 0.
 *
 * Context: Process context, may sleep. A reconnect for which reclaim may wait is in a NOIO scope.
 * Return: 0, or a negative error with no objects open.
 */
int kfi_conn_open(struct kfi_conn *conn, struct kfi_dom *dom, const struct kfi_info *info,
		  const struct kfi_conn_attr *attr);

/**
 * kfi_conn_connect() - post the receives, connect, and wait for that
 * @conn: open connection of an MSG endpoint
 * @addr: address of the peer, &kfi_info.dest_addr
 * @data: private data
 * @len: bytes of @data
 * @answer: buffer for the peer's private data, also that of a refusal; or NULL
 * @answer_len: in: bytes of @answer; out: bytes in it, of which some networks add zeros
 * @ms: time limit
 *
 * Messages may arrive, and the connection may be lost, before this function returns.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ECONNREFUSED, -ETIMEDOUT or another negative error: the objects stay open, and
 * nothing is connected. Call
 * kfi_conn_open() before the next attempt.
 */
int kfi_conn_connect(struct kfi_conn *conn, const void *addr, const void *data, size_t len,
		     void *answer, size_t *answer_len, unsigned int ms);

/**
 * kfi_conn_dial() - kfi_conn_connect() without the wait
 * @conn: open connection of an MSG endpoint
 * @addr: address of the peer, &kfi_info.dest_addr
 * @data: private data
 * @len: bytes of @data
 * @answer: as in kfi_conn_connect()
 * @answer_len: the same. Both are used until kfi_conn_dialed() has returned
 *
 * After 0 the ULP calls kfi_conn_dialed(): when &kfi_conn_ops.answered is called, or when it has
 * waited for long enough.
 *
 * Context: Process context, may sleep.
 * Return: 0; or a negative error, as kfi_conn_connect().
 */
int kfi_conn_dial(struct kfi_conn *conn, const void *addr, const void *data, size_t len,
		  void *answer, size_t *answer_len);

/**
 * kfi_conn_dialed() - end kfi_conn_dial()
 * @conn: connection
 *
 * Context: Process context, may sleep.
 * Return: as kfi_conn_connect(). -ETIMEDOUT: there was no outcome yet.
 */
int kfi_conn_dialed(struct kfi_conn *conn);

/**
 * kfi_conn_answered() - does kfi_conn_dialed() have an outcome?
 * @conn: connection
 *
 * Context: Any.
 * Return: true also if the answer is an error.
 */
static inline bool kfi_conn_answered(struct kfi_conn *conn)
{
	return completion_done(&conn->connected);
}

/**
 * kfi_conn_fail() - the connection has to end
 * @conn: connection
 * @err: reason, a negative error
 *
 * The first call for a connection calls &kfi_conn_ops.lost, and queues the release of an accepted
 * connection.
 *
 * Context: Any, hard interrupts too. If @conn connects again, only functions of the connection and
 * sections of kfi_conn_enter() may call it: a stop waits for these, so they can't end the next
 * connection. Others use kfi_req_fail(). An accepted connection exists at least until the caller's
 * RCU section, function of the connection, or use of a message of it ends.
 */
void kfi_conn_fail(struct kfi_conn *conn, int err);

/**
 * kfi_conn_cancel() - the connection has to end, also if it has not come about yet
 * @conn: connection
 *
 * kfi_conn_fail() with -ECANCELED; and kfi_conn_connect() returns if it waits, or
 * &kfi_conn_ops.answered is called.
 *
 * Context: Process context or softirq. Beside a stop it may end the next connection as well.
 */
void kfi_conn_cancel(struct kfi_conn *conn);

/**
 * kfi_conn_stop() - disconnect
 * @conn: connection, not accepted
 *
 * On return no function of the connection runs or will be called, no memory of requests is
 * accessed, and no region of them has memory. Memory is kept for the next connection, and so are
 * the objects of an MSG endpoint unless their device has gone. Requests without an answer, and
 * receives of kfi_rx_got(), are the ULP's. A connect in progress is awaited.
 *
 * Context: Process context, may sleep; not in a function of the connection.
 */
void kfi_conn_stop(struct kfi_conn *conn);

/**
 * kfi_conn_drain() - end the transfers of kfi_rw.h that were started after the stop
 * @conn: stopped connection, or one in &kfi_conn_ops.release
 *
 * kfi_conn_close() does so, too. For a ULP that has to free objects of the domain before that.
 *
 * Context: Process context, may sleep.
 */
void kfi_conn_drain(struct kfi_conn *conn);

/**
 * kfi_conn_close() - kfi_conn_stop(), and free everything
 * @conn: connection, of which the ULP has no receive and no transfer. If it was accepted, call
 *	this in &kfi_conn_ops.release
 *
 * With &kfi_conn_ops.post_wq it waits for the RCU sections that have begun before.
 *
 * Context: Process context, may sleep; not in a function of the connection.
 */
void kfi_conn_close(struct kfi_conn *conn);

/**
 * kfi_conn_enter() - begin a section in which operations may be posted to &kfi_conn.ep
 * @conn: connection
 *
 * The section is the one that a post needs anyway: in it __kfi_sendmsg() and the like post without
 * another one. Bottom halves are off until kfi_conn_exit().
 *
 * Context: Any but hard interrupts, with interrupts enabled.
 * Return: false if the connection is not open; then there is no section.
 */
static inline bool kfi_conn_enter(struct kfi_conn *conn)
{
	rcu_read_lock_bh();
	if (likely(test_bit(KFI_CONN_OPEN, &conn->flags)))
		return true;
	rcu_read_unlock_bh();
	return false;
}

/**
 * kfi_conn_exit() - end a section
 * @conn: connection
 *
 * Context: Where kfi_conn_enter() has returned true.
 */
static inline void kfi_conn_exit(struct kfi_conn *conn)
{
	rcu_read_unlock_bh();
}

/**
 * kfi_conn_poll() - run functions of a connection with KFI_CONN_POLL
 * @conn: connection
 * @budget: number of completions
 *
 * Context: Process context or softirq.
 * Return: number of completions.
 */
static inline int kfi_conn_poll(struct kfi_conn *conn, int budget)
{
	int n = 0;

	rcu_read_lock();	/* with bottom halves on: the functions may take long */
	if (likely(test_bit(KFI_CONN_OPEN, &conn->flags)))
		n = kfi_cq_poll(conn->cq, budget);
	rcu_read_unlock();
	return max(n, 0);
}

/**
 * kfi_conn_flush() - start operations that were posted with KFI_MORE
 * @conn: connection
 *
 * Context: Any but hard interrupts.
 */
static inline void kfi_conn_flush(struct kfi_conn *conn)
{
	if (kfi_conn_enter(conn)) {
		kfi_ep_tx_flush(conn->ep);
		kfi_conn_exit(conn);
	}
}

/**
 * kfi_conn_name() - return the local address of a connected endpoint
 * @conn: connection
 * @addr: buffer
 * @len: in: bytes of @addr; out: bytes of the address
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOTCONN; or the error of kfi_getname().
 */
int kfi_conn_name(struct kfi_conn *conn, void *addr, size_t *len);

/* ---- messages ---- */

/**
 * struct kfi_rxbuf - a receive; the first member of the ULP's structure, &kfi_conn_attr.rx_priv
 * @conn: connection
 * @head: the first &kfi_conn_attr.rx_len bytes
 * @more: the others, in pages; or NULL
 * @len: bytes of the message
 */
struct kfi_rxbuf {
	struct kfi_conn		*conn;
	void			*head;
	struct page		*more;
	u32			len;
	/* private: */
	int			state;
	struct kfi_cqe		cqe;
};

/**
 * kfi_conn_inject() - send a message without a completion
 * @conn: connection
 * @msg: message, at most &kfi_need.inject bytes; copied
 * @len: its length
 * @flags: KFI_MORE or 0
 *
 * If the send fails later, the connection fails.
 *
 * Context: Any but hard interrupts.
 * Return: 0; -ENOTCONN; -EAGAIN if there is no room; or another error of kfi_sendmsg().
 */
ssize_t kfi_conn_inject(struct kfi_conn *conn, const void *msg, size_t len, u64 flags);

/**
 * kfi_rx_take() - copy a message out of its receive, and post the receive again
 * @cqe: argument of &kfi_conn_ops.received
 * @wc: the same
 * @msg: where to copy it
 * @len: bytes that it has to have at least
 *
 * The receive is posted before the message is used, as with kfi_rx_done(): the peer may send again
 * when it is answered.
 *
 * Context: &kfi_conn_ops.received.
 * Return: the connection; NULL if it has failed, or the message is too short. Then the connection
 * fails.
 */
struct kfi_conn *kfi_rx_take(struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc, void *msg,
			     size_t len);

/**
 * kfi_rx_got() - take a receive; the ULP keeps it until kfi_rx_done()
 * @cqe: argument of &kfi_conn_ops.received
 * @wc: the same
 * @len: bytes that the message has to have at least
 *
 * Context: &kfi_conn_ops.received.
 * Return: the receive; NULL as kfi_rx_take().
 */
static inline struct kfi_rxbuf *kfi_rx_got(struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc,
					   size_t len)
{
	struct kfi_rxbuf *rx = container_of(cqe, struct kfi_rxbuf, cqe);

	rx->len = wc->len;
	if (unlikely(wc->err || wc->len < len)) {
		kfi_conn_fail(rx->conn, wc->err ? -wc->err : -EPROTO);
		return NULL;
	}
	WRITE_ONCE(rx->state, KFI_RXBUF_KEPT);
	if (rx->conn->attr.where == KFI_CONN_ROUNDS)
		WRITE_ONCE(rx->conn->round, current);
	return rx;
}

/**
 * kfi_rx_done() - post a receive again, whose message is not used any more
 * @rx: receive of kfi_rx_got(), or one whose @received has not called that
 *
 * If the connection is not open, the receive is posted when it opens.
 *
 * Context: Any but hard interrupts.
 * Return: 0; or the error of the endpoint: the connection has failed.
 */
int kfi_rx_done(struct kfi_rxbuf *rx);

/**
 * kfi_region_open() - let the peer of a connection access memory until kfi_close()
 * @conn: open connection
 * @attr: memory and rights, as for kfi_mr_regattr()
 * @flags: as for kfi_mr_regattr()
 * @mr: the region, which has to be closed before the connection is stopped or closed; of an accepted
 *	connection in &kfi_conn_ops.ending
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative error.
 */
int kfi_region_open(struct kfi_conn *conn, const struct kfi_mr_attr *attr, u64 flags,
		    struct kfid_mr **mr);

/* ---- listeners ---- */

/**
 * struct kfi_caller - a connection request
 * @listener: listener
 * @info: the request; &kfi_info.dest_addr is the caller
 * @data: private data
 * @len: bytes of @data
 * @at: text of the local address at which it has arrived
 */
struct kfi_caller {
	struct kfi_listener	*listener;
	struct kfi_info		*info;
	const void		*data;
	size_t			len;
	const char		*at;
	/* private: */
	void			*place;
};

/**
 * struct kfi_listener - an address that is listened at over each provider that has it
 * @called: a caller. The ULP calls kfi_conn_accept() or kfi_conn_reject() and returns 0, or
 *	returns a negative error: then the caller is refused. One call at a time for each local
 *	address and provider; process context
 * @ready_ms: an accepted connection with &kfi_conn_attr.first ends without kfi_conn_ready() after
 *	so many milliseconds; 0: never
 * @weak: the namespace is not held: the ULP closes the listener when it ends
 * @wait: an address that no device has yet is no error: the listener waits for it, and follows the
 *	addresses that the name covers
 * @need_privilege: KFI_OPT_NEED_PRIVILEGE, where the provider has that
 * @account: pays for callers until they are accepted, see kfi_dom_get_paid(); or NULL. It is that
 *	of the first listener or domain of the module in the namespace
 * @max_unready: sum of depth and spare of such connections, 0: no limit. Beyond it the oldest ones
 *	end; those of one source, if it has more than half of the limit, its own ones. As many again
 *	may be in release
 *
 * The lock, a leaf, protects the lists of connections and the counts. kfi_listener_open(), then
 * @again, then kfi_listener_close() use @places.
 */
struct kfi_listener {
	int			(*called)(struct kfi_caller *caller);
	unsigned int		ready_ms, max_unready;
	bool			weak, wait, need_privilege;
	struct kfi_account	*account;
	/* private: */
	struct module		*owner;
	struct net		*net;
	netns_tracker		tracker;
	struct kfi_need		need;
	const char		*node, *service;
	struct list_head	entry, places;
	struct delayed_work	again;
	spinlock_t		lock;
	struct list_head	conns, waiting;
	unsigned int		unready, alive, looks;
	wait_queue_head_t	gone;
};

/**
 * kfi_listener_open() - listen over each provider and at each local address that a name covers
 * @l: listener; the ULP has set the members above
 * @net: network namespace, which the listener holds without &kfi_listener.weak
 * @need: what connections need
 * @node: address, interface, or a wildcard; NULL: all
 * @service: service
 * @owner: THIS_MODULE
 *
 * If the device of an address goes, the listener listens at that address again when a device of the
 * same provider has it again. With &kfi_listener.wait it also listens at addresses that come after
 * this call, no more at those that have gone, and the log says that it waits. An address that can't
 * come is refused all the same: a malformed one, one of a provider that is not loaded, and one
 * whose providers lack what @need says.
 *
 * Context: Process context, may sleep. @called may be called before this function returns.
 * Return: 0 if it listens at one place at least, or waits; -ENODATA if no provider has the address;
 * -EINVAL if it is malformed (with &kfi_listener.wait); or another negative error.
 */
int kfi_listener_open(struct kfi_listener *l, struct net *net, const struct kfi_need *need,
		      const char *node, const char *service, struct module *owner);

/**
 * kfi_listener_close() - accept no further connection, and begin to end those that exist
 * @l: listener
 *
 * It does not wait for the connections, because the caller may hold a lock that they need
 * (configfs). On return the release of each of them was taken by some task, which queues it in an
 * RCU section.
 *
 * Context: Process context, may sleep; not in @called.
 */
void kfi_listener_close(struct kfi_listener *l);

/**
 * kfi_listener_wait() - wait until the last connection was closed
 * @l: closed listener
 *
 * The listener may be freed then, unless the ULP needs it in &kfi_conn_ops.release after
 * kfi_conn_close(): the ULP flushes or destroys &kfi_conn_ops.end_wq before.
 *
 * Context: Process context, may sleep.
 */
void kfi_listener_wait(struct kfi_listener *l);

/**
 * kfi_conn_accept() - open a connection for a caller, and accept
 * @conn: connection after kfi_conn_init()
 * @caller: argument of &kfi_listener.called
 * @attr: sizes; copied
 * @data: private data
 * @len: bytes of @data
 *
 * On return 0 the connection belongs to the kit until &kfi_conn_ops.release, which may have been
 * called already.
 *
 * Context: &kfi_listener.called.
 * Return: 0; -EBUSY if too many connections without kfi_conn_ready() are being released; or another
 * negative error: nothing is open, and the caller can still be refused.
 */
int kfi_conn_accept(struct kfi_conn *conn, struct kfi_caller *caller,
		    const struct kfi_conn_attr *attr, const void *data, size_t len);

/**
 * kfi_conn_reject() - refuse a caller
 * @caller: argument of &kfi_listener.called
 * @data: private data with the reason
 * @len: bytes of @data
 *
 * Context: &kfi_listener.called.
 */
void kfi_conn_reject(struct kfi_caller *caller, const void *data, size_t len);

/**
 * kfi_conn_ready() - the peer of an accepted connection has logged in
 * @conn: connection with &kfi_conn_attr.first. Allocates and posts its other receives
 *
 * Called once.
 *
 * Context: Process context, may sleep; while a message of the connection is being handled, for
 * which &kfi_conn_ops.release waits.
 * Return: 0; -ECONNABORTED if it was ended to make room for others; or another negative error: the
 * connection has failed.
 */
int kfi_conn_ready(struct kfi_conn *conn);

#endif /* KFI_CONN_H */
