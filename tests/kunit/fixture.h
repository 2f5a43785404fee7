/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fixture.h - a small world for unit tests: the objects around one endpoint, made by hand, and a
 * provider that moves nothing. What is under test is real, what is around it is as little as it
 * needs.
 */
#ifndef _KFI_KUNIT_FIXTURE_H
#define _KFI_KUNIT_FIXTURE_H

#include <kunit/test.h>
#include "../../kfi/core.h"

/**
 * struct kfi_world_opts - what differs between worlds; 0 means a default
 * @depth: receives that fit
 * @cq_size: entries that fit
 * @caps: of the endpoint
 * @mr_mode: @key_size: of the domain
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
 * @matched: how often .rx_matched was called; @dropped: .rx_drop
 * @hold: .rx_matched keeps the message in @held instead of completing it
 * @nr_held: messages in @held, oldest first
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
	unsigned int		nr_held;
	struct kfi_rx		*held[64];
};

struct kfi_world *kfi_world_open(struct kunit *test, const struct kfi_world_opts *opts);
/* The receives must be gone by now: kfi_match_close() or all matched. */
void kfi_world_close(struct kfi_world *w);

/*
 * An operation for a receive into @buf, not yet posted; NULL: no room. @tag: with KFI_TAGGED in
 * @kind.
 */
struct kfi_oper *kfi_world_recv(struct kfi_world *w, u64 kind, void *buf, size_t len, void *context,
				u64 flags);
/* Post it, and do what ep.c would with unexpected messages. */
int kfi_world_post(struct kfi_world *w, struct kfi_oper *op);

static inline int kfi_post_msg(struct kfi_world *w, void *buf, size_t len, void *context)
{
	return kfi_world_post(w, kfi_world_recv(w, KFI_MSG, buf, len, context, 0));
}

static inline int kfi_post_multi(struct kfi_world *w, void *buf, size_t len, void *context)
{
	return kfi_world_post(w, kfi_world_recv(w, KFI_MSG, buf, len, context, KFI_MULTI_RECV));
}

int kfi_post_tag(struct kfi_world *w, u64 tag, u64 ignore, void *context);
/* Take the next completion, good or bad. Return: was there one? */
bool kfi_world_entry(struct kfi_world *w, struct kfi_cq_err_entry *wc);
/* An address handle in w->av for a made-up address. */
kfi_addr_t kfi_world_peer(struct kfi_world *w, u64 address);

#endif /* _KFI_KUNIT_FIXTURE_H */
