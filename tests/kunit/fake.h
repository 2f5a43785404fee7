/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake.h - a provider for the tests of queues and endpoints, which keeps operations until the test
 * ends them
 */
#ifndef _KFI_KUNIT_FAKE_H
#define _KFI_KUNIT_FAKE_H

#include "fixture.h"
#include "../../kfi/cntr.h"
#include "../../kfi/cq.h"
#include "../../kfi/ep.h"
#include "../../kfi/eq.h"

/**
 * struct fake_ep - an endpoint of the fake provider
 * @ep: common part, first
 * @lock: protects @ops
 * @ops: accepted transmits, oldest first
 * @refuse: error that the tx call returns instead of accepting; 0: none
 * @slow: duration of the tx call in microseconds
 * @late: tx calls that were in progress or began after ep_stop had begun; the core permits none
 * @stopped: argument of ep_stop, 0 before
 * @stops: calls of ep_stop
 * @noio: ep_open and ep_stop were called in a scope without I/O
 */
struct fake_ep {
	struct kfi_ep		ep;
	spinlock_t		lock;
	struct list_head	ops;
	int			refuse;
	unsigned int		slow;
	atomic_t		late;
	int			stopped;
	int			stops;
	bool			noio;
};

/* A connection request and what was done with it */
struct fake_req {
	struct kfi_connreq	req;
	int			rejected;
};

static inline struct fake_ep *to_fake(struct kfid_ep *fid)
{
	return container_of(kfi_to_ep(fid), struct fake_ep, ep);
}

/* Open a world with the fake provider, in which kfi_endpoint() opens endpoints as well. */
struct kfi_world *fake_open(struct kunit *test);
void fake_close(struct kfi_world *w);
/* The same with endpoints over the message protocol, whose links the test has. */
struct kfi_world *fake_proto_open(struct kunit *test);
/* For struct kfi_link_ops and struct kfi_proto: names are numbers of 64 bits. */
size_t fake_name_len(const void *name);
int fake_name_cmp(const void *a, const void *b);
u32 fake_name_hash(const void *name);
int fake_name_address(const struct kfi_ep *ep, const void *name, void *addr);
void fake_name_str(const void *name, size_t len, char *buf, size_t size);
/* Return an info for an endpoint of that world; the test may change it. */
struct kfi_info *fake_info(struct kfi_world *w, enum kfi_ep_type type);
struct kfid_cq *fake_cq(struct kfi_world *w, u32 size, u64 flags, kfi_comp_handler handler,
			void *context);
struct kfid_eq *fake_eq(struct kfi_world *w, u32 size);
/* Open and enable an RDM endpoint with @cq for both directions. */
struct kfid_ep *fake_rdm(struct kfi_world *w, struct kfi_info *info, struct kfid_cq *cq);
/**
 * struct fake_rig - an RDM endpoint of the fake provider, and what it needs
 * @w: the world
 * @info: of the endpoint
 * @cq: queue for both directions
 * @ep: the endpoint
 * @fake: the same
 */
struct fake_rig {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct fake_ep		*fake;
};

/* Open all, and enable the endpoint. */
void fake_rig_open(struct kunit *test, struct fake_rig *r, u32 cq_size, u64 cq_flags);
void fake_rig_close(struct fake_rig *r);
/* End the oldest transmit. Return: was there one? */
bool fake_finish(struct fake_ep *fake, int err);
/* Poll @cond for up to two seconds. */
#define fake_soon(cond)							\
({									\
	unsigned long __end = jiffies + 2 * HZ;				\
	bool __ok;							\
	while (!(__ok = (cond)) && time_before(jiffies, __end))		\
		schedule_timeout_uninterruptible(1);			\
	__ok;								\
})

#endif /* _KFI_KUNIT_FAKE_H */
