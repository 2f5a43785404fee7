/* SPDX-License-Identifier: GPL-2.0 */
/*
 * home_world.h - endpoints, contexts and a listener of a provider without a wire, for the tests of
 * homes.
 */
#ifndef _KFI_KUNIT_HOME_WORLD_H
#define _KFI_KUNIT_HOME_WORLD_H

#include <linux/completion.h>
#include <kfi_home.h>
#include "fake.h"

#define HW_CTXS	2
#define STRANGE	false	/* he has called */
#define DIALED	true

/**
 * struct hw - the world
 * @top: a scalable endpoint that listens, for @ctx; @listener: a passive endpoint's; @ep: who
 *	accepts
 * @nr_conns: connections that have not been freed; @ended: those that have come to their end
 * @twice: ends of one that had ended; @odd: connections that were moved or answered when they must
 *	not
 * @hold: ends wait for it, if it is set
 */
struct hw {
	struct kunit		*test;
	struct workqueue_struct	*wq;
	struct hw_ep		*top, *ctx[HW_CTXS], *ep;
	struct kfi_home		listener;
	struct completion	*hold;
	atomic_t		nr_conns, ended, twice, odd;
};

struct hw_ep {
	struct kfi_ep		ep;
	struct kfi_peers	peers;
	struct kfi_home		home;
};

/**
 * struct hw_conn - a connection
 * @failed: bit 0: its end has begun, for @err; bit 1: it has come
 * @fails: how often it was to begin
 * @source: its address; @said: it is not pending
 * @moved: how often; @accepted, @rejected: how often it was answered so
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
/* Everything stops, and nobody is left anywhere. */
void hw_close(struct hw *w);
/* The contexts and endpoints of the world go with it. NULL: no memory */
struct hw_ep *hw_ep(struct hw *w, size_t fclass);
void hw_ep_stop(struct hw_ep *he, int err);
void hw_ep_free(struct hw_ep *he);
/* Nobody belongs there. */
void hw_home_is_left(struct hw *w, struct kfi_home *home);

/* A connection, listed nowhere, with a reference for the caller. NULL: no memory */
struct hw_conn *hw_conn(struct hw *w, bool dialed);
void hw_put(struct kfi_peer_conn *pc);
void hw_fail(struct kfi_peer_conn *pc, int err);
bool hw_failed(const struct kfi_peer_conn *pc);

#endif /* _KFI_KUNIT_HOME_WORLD_H */
