/* SPDX-License-Identifier: GPL-2.0 */
/*
 * conn_set_world.h - endpoints, contexts and a listener of a provider without a network, for the
 * tests of connection sets (struct kfi_conn_set)
 */
#ifndef _KFI_KUNIT_CONN_SET_WORLD_H
#define _KFI_KUNIT_CONN_SET_WORLD_H

#include <linux/completion.h>
#include <kfi_conn_set.h>
#include "fake.h"

#define HW_CTXS	2
#define CALLED	false	/* called by the peer */
#define DIALED	true

/**
 * struct hw - the world
 * @top: a scalable endpoint that listens for @ctx
 * @listener: set of a passive endpoint
 * @ep: an endpoint that accepts
 * @nr_conns: connections that have not been freed
 * @ended: connections that have ended
 * @twice: connections that have ended more than once
 * @odd: connections that were moved or answered in a wrong state
 * @hold: if set, connections wait for it before they end
 */
struct hw {
	struct kunit		*test;
	struct workqueue_struct	*wq;
	struct hw_ep		*top, *ctx[HW_CTXS], *ep;
	struct kfi_conn_set	listener;
	struct completion	*hold;
	atomic_t		nr_conns, ended, twice, odd;
};

struct hw_ep {
	struct kfi_ep		ep;
	struct kfi_conn_set	conn_set;
};

/**
 * struct hw_conn - a connection
 * @failed: bit 0: its end has begun, with @err; bit 1: it has ended
 * @fails: how often its end was requested
 * @source: its address
 * @said: it has sent a hello, so it is not pending
 * @moved: how often it was moved
 * @accepted: how often it was accepted
 * @rejected: how often it was rejected
 */
struct hw_conn {
	struct kfi_peer_conn	pc;
	struct hw		*w;
	refcount_t		ref;
	unsigned long		failed;
	int			err;
	atomic_t		fails;
	unsigned int		moved, accepted, rejected;
	int			source;
	bool			said;
	struct work_struct	down;
};

extern unsigned int hw_backlog;

static inline struct hw_conn *to_hw_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct hw_conn, pc);
}

struct hw *hw_open(struct kunit *test);
/* Stop everything and check that no connection is left. */
void hw_close(struct hw *w);
/* Open an endpoint or context. NULL: no memory. */
struct hw_ep *hw_ep(struct hw *w, size_t fclass);
void hw_ep_stop(struct hw_ep *he, int err);
void hw_ep_free(struct hw_ep *he);
/* Check that the set has no connection. */
void hw_set_is_empty(struct hw *w, struct kfi_conn_set *set);

/* A connection that is not listed, with a reference for the caller. NULL: no memory */
struct hw_conn *hw_conn(struct hw *w, bool dialed);
void hw_put(struct kfi_peer_conn *pc);
void hw_fail(struct kfi_peer_conn *pc, int err);
bool hw_failed(const struct kfi_peer_conn *pc);

#endif /* _KFI_KUNIT_CONN_SET_WORLD_H */
