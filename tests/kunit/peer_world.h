/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peer_world.h - a provider without a wire, for the tests of peers: its endpoints have numbers for
 * names and connections that the test, or another endpoint of the same world, is the far end of.
 */
#ifndef _KFI_KUNIT_PEER_WORLD_H
#define _KFI_KUNIT_PEER_WORLD_H

#include <kfi_home.h>
#include "fake.h"

extern unsigned int pw_shows;	/* calls of ops->show */

#define PW_EPS		4
#define PW_HANDS	8	/* that number what they post */
#define PW_COUNT_BITS	20

/**
 * struct pw - the world
 * @eps: its endpoints
 * @wq: everything that is not done by the test
 * @live: calls are answered by the endpoint with the name, and what is posted arrives at once; else
 *	the test does it all
 * @dial_err: what ops->dial answers
 * @while_dialing: called in the middle of ops->dial
 * @kept: connections that the test may look at until the world closes
 * @nr_conns: connections that have not been freed
 * @wrong: operations that arrived at somebody else, or before one posted earlier
 * @ended: operations that arrived or were ended by a connection
 */
struct pw {
	struct kunit		*test;
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct pw_ep		*eps[PW_EPS];
	unsigned int		nr_eps;
	struct workqueue_struct	*wq;
	bool			live;
	int			dial_err;
	void			(*while_dialing)(struct kfi_peer *peer);
	spinlock_t		lock;
	struct list_head	kept;
	atomic_t		nr_conns;
	atomic_t		wrong;
	atomic_t		ended;
};

/**
 * struct pw_ep - an endpoint
 * @name: what others call it
 * @dials: calls begun
 * @home: every connection that has not ended
 * @last: the last that was dialled, and started
 */
struct pw_ep {
	struct kfi_ep		ep;
	struct kfi_peers	peers;
	u64			name;
	unsigned int		dials;
	struct kfi_home		home;
	struct pw_conn		*last;
};

/** enum pw_said - what the far end has said last */
enum pw_said { PW_NOTHING, PW_CALL, PW_ACCEPT, PW_REFUSE, PW_LET_IN, PW_DONE };

/**
 * struct pw_conn - a connection
 * @pe: whose; @to: name of the far end
 * @keep: in &pw.kept
 * @failed: bit 0: its end has begun, for @err
 * @started: by ops->start
 * @lock: protects @ops, @said, @why
 * @ops: operations that it was given, in the order of their posts
 * @far: the other end, referenced (live)
 * @seen: the last number that each hand has sent through it
 */
struct pw_conn {
	struct kfi_peer_conn	pc;
	struct pw_ep		*pe;
	u64			to;
	refcount_t		ref;
	struct list_head	keep;
	unsigned long		failed;
	int			err;
	bool			started;
	spinlock_t		lock;
	struct list_head	ops;
	enum pw_said		said;
	int			why;
	struct pw_conn		*far;
	u32			seen[PW_HANDS];
	struct work_struct	greet, run, down;
};

extern unsigned int pw_max_peers, pw_patience_ms;
/* What a probe of an established connection finds: &kfi_peer_ops.probe */
extern int pw_there;

static inline struct pw_conn *to_pw_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct pw_conn, pc);
}

void pw_open(struct kunit *test, struct pw *pw);
void pw_close(struct pw *pw);
/* An enabled endpoint; the next name. */
struct pw_ep *pw_ep(struct pw *pw);
/* Everything that is queued now, and what that queues, has run; timers have not. */
void pw_settle(struct pw *pw);
/*
 * Post to @addr, which is @name's; that is looked at where live ones arrive. @context: a number >
 * 0, see pw_context().
 */
int pw_send(struct pw_ep *pe, kfi_addr_t addr, u64 name, unsigned long context);

static inline int pw_post(struct pw_ep *pe, kfi_addr_t addr, unsigned long context)
{
	return pw_send(pe, addr, 0, context);
}

/*
 * The @count'th of a hand: live ones of a hand that go through the same connection arrive in this
 * order.
 */
static inline unsigned long pw_context(unsigned int hand, u32 count)
{
	return (unsigned long)hand << PW_COUNT_BITS | count;
}

/* The next entry of the queue: its context, and its error in *@err; 0: there is none. */
unsigned long pw_entry(struct pw *pw, int *err);
/* Contexts of what waits at @peer or was given to @conn, as decimal digits. */
unsigned long pw_waiting(struct kfi_peer *peer);
unsigned long pw_given(struct pw_conn *conn);
/* The peer with this name and lane, or NULL. */
struct kfi_peer *pw_peer(struct pw_ep *pe, u64 name, int lane);

/* Somebody calls. The connection, and the verdict in *@ret. Live: NULL, or with a reference. */
struct pw_conn *pw_called(struct pw_ep *pe, const struct kfi_peer_call *call, int *ret);
/* The far end has accepted, or been told that it is. Return: false: another call stands. */
bool pw_accepted(struct pw_conn *conn, u64 incarnation);
/*
 * Live: the far end's words; PW_LET_IN: one of pw_called() is told that it may, and is published.
 */
void pw_say(struct pw_conn *conn, enum pw_said what, int why);
void pw_fail(struct pw_conn *conn, int err);
void pw_get(struct pw_conn *conn);
void pw_put(struct pw_conn *conn);

#endif /* _KFI_KUNIT_PEER_WORLD_H */
