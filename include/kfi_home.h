/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_home.h - where connections belong: the endpoint or the listener that has to end them before it goes. For providers that have
 * connections.
 *
 * A connection is in the list of one home, from the moment that somebody may have to end it, and moves at most once: from a scalable
 * endpoint that listens to the receive context that is called, or from a listener to the endpoint that accepts.
 *
 *	we call					somebody calls: a stranger, of whom there are only so many
 *	kfi_home_list()				kfi_home_list()
 *						RDM: kfi_home_adopt(), kfi_peer_admit(), kfi_home_known()
 *						MSG: kfi_home_accept() or kfi_home_reject(), when the consumer has decided
 *	MSG: kfi_home_publish()			MSG: kfi_home_publish()
 *	RDM: kfi_peer_publish()			RDM: kfi_peer_publish()
 *
 * Its end may begin at any moment (ops->fail()), also by kfi_home_drain(). Then, once, in process context and in this order:
 *
 *	kfi_home_stays()
 *	no publication of it runs or will come
 *	kfi_home_unpublish()
 *	a grace period: posters that still saw it are through
 *	the provider ends every operation that it was given, and says so (kfi_peer_lost() or to the consumer)
 *	kfi_home_unlist()
 *
 * kfi_home.lock has bottom halves off. Two are held when a connection moves, the listening one's first. Under it a provider's locks may be
 * taken under which none of this is called, and nothing is completed. Its callbacks may not sleep, but for @put.
 */
#ifndef _KFI_HOME_H
#define _KFI_HOME_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfi_peer.h>

/**
 * struct kfi_home_ops - what a provider does for the connections of a home
 * @backlog:	how many strangers a home has at the most. Read at each use: may be a module's parameter
 *
 * @get:	one more reference, for the list
 * @put:	that one given back, from kfi_home_unlist(); may sleep
 * @fail:	begin the end of a connection, for this reason; the first counts. It is asked for again as long as the connection is there
 * @failed:	has its end begun? From then on it does not move
 * @carrier:	the connection that has a transmit operation, from the post or &kfi_peer_ops.queue
 *		on; NULL: none has it yet. Read without a lock, for an operation that may end at
 *		this moment, so the answer is only compared with connections of the home. NULL: the
 *		provider's endpoints do not have KFI_OPT_OP_TIMEOUT_MS
 * @moved:	&kfi_peer_conn.home is another one, which is an endpoint's. With the locks of both
 * @pending:	has the caller not yet said, or not yet proved, who it is? Such a connection may
 *		be failed to make room for a new one. With @akin; NULL: a new caller is turned
 *		away instead
 * @akin:	do these two callers have the same source address? At the most @source_backlog
 *		callers of one address are kept waiting
 * @source_backlog: as @backlog
 * @answer:	MSG: the consumer has accepted, or not. Queue a work item that tells the caller; what begins the end of a connection has to
 *		end that. After @moved, with the same locks; or with that of the listener. NULL: the provider has no listeners
 */
struct kfi_home_ops {
	const unsigned int	*backlog;
	const unsigned int	*source_backlog;

	void	(*get)(struct kfi_peer_conn *conn);
	void	(*put)(struct kfi_peer_conn *conn);
	void	(*fail)(struct kfi_peer_conn *conn, int err);
	bool	(*failed)(const struct kfi_peer_conn *conn);
	const struct kfi_peer_conn *(*carrier)(const struct kfi_oper *op);
	void	(*moved)(struct kfi_peer_conn *conn);
	bool	(*pending)(const struct kfi_peer_conn *conn);
	bool	(*akin)(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b);
	void	(*answer)(struct kfi_peer_conn *conn, bool accepted);
};

/**
 * struct kfi_home - where connections belong; embedded by the provider in its endpoint and in its passive endpoint
 * @conn:	MSG: the connection in use, RCU; see kfi_home_way()
 * @peers:	the endpoint's, whatever its type; NULL: a listener's home
 * @ops:	the provider's
 * @wq:		where connections end
 * @lock:	protects what follows, the homes and places of the connections in @conns, and the publication of @conn
 * @conns:	every connection that has not ended, by &kfi_peer_conn.entry; each with a reference
 * @nstrangers:	those of them that have called and have neither been admitted nor accepted yet
 * @strangers:	these, oldest first
 * @stop_err:	why no more are listed; 0 before kfi_home_stop(). Read with READ_ONCE() elsewhere
 * @idle:	woken when a connection leaves; a provider may wait here for something else and wake it
 *
 * It is there until kfi_home_drain() has returned; so is every connection that is in @conns, and the work that ends it.
 */
struct kfi_home {
	struct kfi_peer_conn __rcu *conn;
	struct kfi_peers	*peers;
	const struct kfi_home_ops *ops;
	struct workqueue_struct	*wq;
	spinlock_t		lock;
	unsigned int		nstrangers;
	struct list_head	strangers;
	struct list_head	conns;
	int			stop_err;
	wait_queue_head_t	idle;
};

/**
 * kfi_home_init() - an endpoint or a listener is made
 * @home: in the provider's structure, zeroed
 * @peers: the endpoint's, after kfi_peers_init(), whose endpoint has this home from now on (&kfi_ep.home); NULL: a listener
 * @ops: the provider's
 * @wq: where its connections end
 */
void kfi_home_init(struct kfi_home *home, struct kfi_peers *peers, const struct kfi_home_ops *ops, struct workqueue_struct *wq);

/**
 * kfi_home_list() - a connection begins
 * @home: where
 * @conn: known to nobody; with a reference of the caller's, which stays his
 * @peer: from &kfi_peer_ops.dial: whom it calls, and joins (kfi_peer_join()); else NULL
 *
 * Who has not called himself (&kfi_peer_conn.dialed) is a stranger. From here on the connection may be failed, and has to go by
 * kfi_home_unlist(). Context: process or softirq.
 * If there are too many strangers, or too many from its address, the oldest one that is pending
 * is failed with -EBUSY. Return: 0; -ENODEV: no more of them, the home stops; -EBUSY: too many
 * strangers, and none that could be failed.
 */
int kfi_home_list(struct kfi_home *home, struct kfi_peer_conn *conn, struct kfi_peer *peer);

/**
 * kfi_home_adopt() - somebody calls a receive context
 * @conn: his connection, whose home is the endpoint that listens; only the caller moves it
 * @rx_ctx: the context that he has named; 0 for an endpoint that has none
 *
 * It goes to the context's home, and stays a stranger there. Context: process or softirq.
 * Return: false: there is no such context, it stops or has too many strangers, or @conn has failed.
 */
bool kfi_home_adopt(struct kfi_peer_conn *conn, u32 rx_ctx);

/**
 * kfi_home_accept() - &kfi_prov_ops.accept: a request goes from its listener to an endpoint
 * @conn: the request's connection, with a reference
 * @home: the endpoint's, that does not stop
 *
 * ops->answer() has been called then. Context: process or softirq.
 * Return: false: @conn has failed and stays where it is; the consumer is to hear of it as of any other end.
 */
bool kfi_home_accept(struct kfi_peer_conn *conn, struct kfi_home *home);

/** kfi_home_reject() - &kfi_prov_ops.reject: ops->answer() is called, unless @conn has failed. Context: process or softirq */
void kfi_home_reject(struct kfi_peer_conn *conn);

/** kfi_home_known() - a caller was admitted: no stranger any more, if he was one. Context: process or softirq */
void kfi_home_known(struct kfi_peer_conn *conn);

/** kfi_home_publish() - MSG: @conn can be posted to, unless it has failed. Context: process or softirq */
void kfi_home_publish(struct kfi_peer_conn *conn);

/**
 * kfi_home_stays() - @conn has failed: on return it is where it will end, and who has moved or answered it before is through
 * @conn: whose end runs in &kfi_home.wq
 */
void kfi_home_stays(struct kfi_peer_conn *conn);

/** kfi_home_unpublish() - nobody new finds @conn, at its peer or here. Context: process or softirq */
void kfi_home_unpublish(struct kfi_peer_conn *conn);

/**
 * kfi_home_unlist() - a connection has ended
 * @conn: gone on return, with the list's reference, if that was the last
 *
 * It leaves its peer, if it has one (kfi_peer_leave()). Context: as ops->put()
 */
void kfi_home_unlist(struct kfi_peer_conn *conn);

/**
 * kfi_home_stop() - the endpoint or the listener stops: no more connections, and with it kfi_peers_stop()
 * @home: its home
 * @err: why; negative errno
 *
 * Those that are listed go on until kfi_home_drain(). Context: process or softirq.
 */
void kfi_home_stop(struct kfi_home *home, int err);

/**
 * kfi_home_drain() - and then: every connection fails, and has ended on return
 * @home: stopped; nobody lists any more, or is refused
 *
 * All that waited for a peer has ended too (kfi_peers_flush()). Waits for the works in &kfi_home.wq; so long as these wait for nobody
 * else, no peer is waited for. Context: process, sleeps.
 */
void kfi_home_drain(struct kfi_home *home);

/**
 * kfi_home_restart() - connections are listed again
 * @home: of an endpoint of type KFI_EP_MSG, after kfi_home_drain()
 *
 * For kfi.ko, see kfi_ep_reset(). Context: process or softirq.
 */
void kfi_home_restart(struct kfi_home *home);

/**
 * kfi_home_expire() - a transmit operation has taken too long: its connection ends with -ETIMEDOUT
 * @home: of the operation's endpoint
 * @op: the operation, which may have ended meanwhile
 * @gen: the use of the operation's place that has taken too long
 *
 * Context: process or softirq.
 */
void kfi_home_expire(struct kfi_home *home, const struct kfi_oper *op, u32 gen);

/**
 * kfi_home_show() - &kfi_prov_ops.peers: the connection of an MSG endpoint, or all peers (kfi_peers_show())
 * @home: an endpoint's
 * @name: MSG: whom it is connected to, as &kfi_peer_ops.show has it
 * @after: peers with a number above this; the connection of an MSG endpoint is number 1
 * @emit: called for each, until it answers nonzero
 * @arg: for @emit
 */
void kfi_home_show(struct kfi_home *home, const void *name, u32 after,
		   int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/**
 * kfi_home_way() - where does an operation of an MSG endpoint go?
 * @home: the endpoint's
 *
 * Context: any, inside an RCU read section; the connection may be posted to until the end of that. Return: NULL: it is not connected
 */
static inline struct kfi_peer_conn *kfi_home_way(const struct kfi_home *home)
{
	return rcu_dereference_check(home->conn, rcu_read_lock_bh_held());
}

#endif /* _KFI_HOME_H */
