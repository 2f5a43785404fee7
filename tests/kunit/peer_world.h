/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peer_world.h - a protocol without links, for the tests of peers: its endpoints have numbers as
 * names, and the far end of a connection is the test, or an endpoint of the same world. kfi.ko
 * exports nothing of the peers, so their source is compiled into this module.
 */
#ifndef _KFI_KUNIT_PEER_WORLD_H
#define _KFI_KUNIT_PEER_WORLD_H

#include "fake.h"
/* Other tests of this module define these functions, too. */
#define kfp_conn_put	pw_conn_put
#define kfp_conn_fail	pw_conn_fail
#include "../../kfi/proto/peers.h"

extern unsigned int pw_shows;	/* calls of kfp_peer_info() */

#define PW_EPS		4
#define PW_THREADS	8	/* threads whose posts are numbered */
#define PW_COUNT_BITS	20

/**
 * struct pw - the world
 * @eps: its endpoints
 * @live: endpoints of the world answer calls to their names, and posts arrive at once; otherwise
 *	the test does all that
 * @dial_err: what kfp_dial() returns
 * @while_dialing: called in the middle of kfp_dial()
 * @while_naming: called at the end of &kfi_link_ops.name
 * @kept: connections that the test may look at until the world closes
 * @nr_conns: connections that have not been freed
 * @wrong: operations that arrived at another peer, or before an earlier one
 * @ended: operations that arrived or were ended by a connection
 */
struct pw {
	struct kunit		*test;
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct pw_ep		*eps[PW_EPS];
	unsigned int		nr_eps;
	bool			live;
	int			dial_err;
	void			(*while_dialing)(struct kfi_peer *peer);
	void			(*while_naming)(struct pw *pw);
	spinlock_t		lock;
	struct list_head	kept;
	atomic_t		nr_conns;
	atomic_t		wrong;
	atomic_t		ended;
};

/**
 * struct pw_ep - an endpoint
 * @name: its name
 * @dials: calls that were begun
 * @last: the last connection that was dialed and started
 */
struct pw_ep {
	struct kfi_proto_ep	pe;
	u64			name;
	unsigned int		dials;
	struct pw_conn		*last;
};

/**
 * enum pw_said - what the far end has said last
 */
enum pw_said { PW_NOTHING, PW_CALL, PW_ACCEPT, PW_REFUSE, PW_LET_IN, PW_DONE };

/**
 * struct pw_conn - a connection
 * @pe: its endpoint
 * @to: name of the far end
 * @keep: in &pw.kept
 * @kc: KFP_FAILED is set when its end has begun, with @err; @kc.posted: its operations
 * @started: kfp_dial_start() was called
 * @lock: protects @said, @why
 * @far: the other end, with a reference (live)
 * @seen: number of the last operation of each thread that arrived
 */
struct pw_conn {
	struct kfp_conn		kc;
	struct pw_ep		*pe;
	u64			to;
	refcount_t		ref;
	struct list_head	keep;
	int			err;
	bool			started;
	spinlock_t		lock;
	enum pw_said		said;
	int			why;
	struct pw_conn		*far;
	u32			seen[PW_THREADS];
	struct work_struct	hello, run, down;
};

extern struct kfi_proto pw_proto;
/* What &kfi_link_ops.probe finds out about an established connection */
extern int pw_there;

static inline struct pw_conn *to_pw_conn(const struct kfi_peer_conn *pc)
{
	return container_of(to_kfp_conn(pc), struct pw_conn, kc);
}

void pw_open(struct kunit *test, struct pw *pw);
void pw_close(struct pw *pw);
/* Open and enable an endpoint with the next name. */
struct pw_ep *pw_ep(struct pw *pw);
/* Wait until all work items, and those that they queue, have run; timers have not. */
void pw_settle(struct pw *pw);
/*
 * Post to @addr, which has the name @name; live connections check the name. @context: a number > 0,
 * see pw_context().
 */
int pw_send(struct pw_ep *pe, kfi_addr_t addr, u64 name, unsigned long context);

static inline int pw_post(struct pw_ep *pe, kfi_addr_t addr, unsigned long context)
{
	return pw_send(pe, addr, 0, context);
}

/*
 * The context of operation @count of a thread: live connections check that operations of a thread
 * over the same connection arrive in order.
 */
static inline unsigned long pw_context(unsigned int hand, u32 count)
{
	return (unsigned long)hand << PW_COUNT_BITS | count;
}

/* Read the next entry: return its context, and its error in *@err; 0: there is none. */
unsigned long pw_entry(struct pw *pw, int *err);
/* Return the contexts of operations that wait at @peer or that @conn has, as decimal digits. */
unsigned long pw_waiting(struct kfi_peer *peer);
unsigned long pw_given(struct pw_conn *conn);
/* Free the oldest peer, as a call does that needs its place. Called under kfi_peers.lock. */
bool pw_reclaim(struct kfi_peers *peers);
/* Return the peer with this name and &kfi_peer.ctx_id, or NULL. */
struct kfi_peer *pw_peer(struct pw_ep *pe, u64 name, int ctx_id);

/*
 * A peer calls. Return the connection, with a reference if the world is live, and the answer in
 * *@ret.
 */
struct pw_conn *pw_called(struct pw_ep *pe, const struct kfi_peer_call *call, int *ret);
/* The far end has accepted, or is told that its call was. Return: false: another call stands. */
bool pw_accepted(struct pw_conn *conn, u64 incarnation);
/* Live: what the far end says. PW_LET_IN: a connection of pw_called() is accepted and published. */
void pw_say(struct pw_conn *conn, enum pw_said what, int why);
void pw_fail(struct pw_conn *conn, int err);
void pw_get(struct pw_conn *conn);
void pw_put(struct pw_conn *conn);

#endif /* _KFI_KUNIT_PEER_WORLD_H */
