/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fixture.h - the objects around one endpoint, made by hand, and a provider that moves no data.
 * Only the code under test is real.
 */
#ifndef _KFI_KUNIT_FIXTURE_H
#define _KFI_KUNIT_FIXTURE_H

#include <linux/completion.h>
#include "suite.h"
#include "../../kfi/core.h"

/**
 * struct kfi_world_opts - options of a world; 0 means the default
 * @depth: receives that fit
 * @cq_size: entries that fit
 * @caps: of the endpoint
 * @mr_mode: of the domain
 * @key_size: of the domain
 */
struct kfi_world_opts {
	u32	depth;
	u32	cq_size;
	u64	caps;
	int	mr_mode;
	size_t	key_size;
};

#define KFI_WORLD_ADDRLEN	8

/**
 * struct kfi_world - the objects
 * @matched: calls of rx_matched
 * @dropped: calls of rx_drop
 * @hold: rx_matched stores the message in @held instead of completing it
 * @hold_lock: protects @held and @nr_held. The work item of the matching may deliver on another CPU
 *	than the post, so the order of two messages in @held says nothing
 * @nr_held: messages in @held
 */
struct kfi_world {
	struct kunit		*test;
	struct kfi_prov_ops	ops;
	struct kfi_provider	prov;
	struct kfi_fabric	fabric;
	struct kfi_domain	domain;
	struct kfi_domain_attr	domain_attr;
	struct kfi_info		info;
	struct kfi_ep		ep;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	atomic_t		matched;
	atomic_t		dropped;
	bool			hold;
	spinlock_t		hold_lock;
	unsigned int		nr_held;
	struct kfi_rx		*held[64];
};

struct kfi_world *kfi_world_open(struct kunit *test, const struct kfi_world_opts *opts);
/* Close the world. kfi_match_close() or messages must have ended all receives before. */
void kfi_world_close(struct kfi_world *w);

/*
 * Return an operation for a receive into @buf that is not posted yet, or NULL if there is no room.
 * @tag counts if @kind is KFI_TAGGED.
 */
struct kfi_oper *kfi_world_recv(struct kfi_world *w, u64 kind, void *buf, size_t len, void *context,
				u64 flags);
/* Post it, and handle unexpected messages as post.c does. */
int kfi_world_post(struct kfi_world *w, struct kfi_oper *op);

/* Wait until no receive searches for an unexpected message any more. */
void kfi_world_search_end(struct kfi_world *w);

static inline int kfi_post_multi(struct kfi_world *w, void *buf, size_t len, void *context)
{
	return kfi_world_post(w, kfi_world_recv(w, KFI_MSG, buf, len, context, KFI_MULTI_RECV));
}

int kfi_post_tag(struct kfi_world *w, u64 tag, u64 ignore, void *context);
/* Take the next completion, with or without error. Return: was there one? */
bool kfi_world_entry(struct kfi_world *w, struct kfi_cq_err_entry *wc);
/* Insert a made-up address into w->av. Return its handle. */
kfi_addr_t kfi_world_peer(struct kfi_world *w, u64 address);

/* ---- memory regions ---- */

#define RW	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* Return a region of @buf with this key, which the test closes. */
struct kfid_mr *kfi_world_region(struct kfi_world *w, void *buf, size_t len, u64 key);
/* Has a peer this access? */
bool may(struct kfi_world *w, u64 key, u64 addr, size_t len, u64 access);

/**
 * struct job - a work item and the result of its call
 * @calls: calls of done()
 * @err: argument of done()
 */
struct job {
	struct kfi_mr_work	work;
	struct completion	done;
	int			calls, err;
};

void job_init(struct job *j);
/* Register or invalidate, and wait for done(). */
int attach(struct kfid_mr *mr, void *buf, size_t len, struct job *j);
int attach_key(struct kfid_mr *mr, void *buf, size_t len, u64 key, struct job *j);
int detach(struct kfid_mr *mr, struct job *j);

#endif /* _KFI_KUNIT_FIXTURE_H */
