/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lnd.h - a consumer that opens, posts, reads completions and closes as Lustre's kfilnd does. Two
 * of them communicate in lnd_cases.c. tests/kfilnd has every call in the form in which the LND
 * makes it.
 */
#ifndef KFI_CONFORMANCE_LND_H
#define KFI_CONFORMANCE_LND_H

#include <linux/workqueue.h>
#include "harness.h"

#define LND_CAPS	(C_MSG | C_TAGGED | C_RMA | KFI_TAGGED_RMA | KFI_DIRECTED_RECV | KFI_MULTI_RECV | KFI_NAMED_RX_CTX)

#define LND_PARTS	2	/* partitions: contexts of each kind */
#define LND_BUFS	4	/* multi-receive buffers of a partition */
#define LND_BUF		16384	/* bytes of each */
#define LND_MSG		4096	/* longest immediate message */
#define LND_BULK	65536	/* bytes of a bulk transfer */
#define LND_TNS		16	/* transactions at a time that a side starts, and that it serves */
#define LND_BITS	8	/* bits of a handle that name a context */

enum lnd_type { LND_HELLO, LND_WELCOME, LND_IMMEDIATE, LND_PUT, LND_GET, LND_SKIP };

/* Sent in slab memory; both sides are one kernel. */
struct lnd_msg {
	u8	type;
	u8	rx;		/* receive context at which the sender waits */
	u32	len;		/* payload of an immediate, bytes of a bulk transfer */
	u64	tag;
	u64	seed;
	u8	data[];
};

/**
 * struct lnd_tn - a transaction, of the side that starts it or that serves it
 * @left: events to come
 * @err: the first error among them, positive
 * @kind: enum lnd_type of the message
 */
struct lnd_tn {
	struct lnd		*l;
	struct lnd_part		*part;
	struct lnd_msg		*msg;
	u8			*buf;
	u8			kind;
	bool			served;
	unsigned long		busy;
	u64			tag, status;
	atomic_t		left;
	int			err;
	struct completion	ended;
};

struct lnd_cq {
	struct lnd_part		*part;
	struct kfid_cq		*cq;
	struct work_struct	work;
};

struct lnd_part {
	struct lnd	*l;
	int		nr;
	struct kfid_ep	*rx, *tx;
	struct lnd_cq	rxcq, txcq;
	u8		*bufs;
};

/**
 * struct lnd - one side
 * @served: bytes that were received correctly, by enum lnd_type
 * @lossy: the peer may be lost: serving may fail
 */
struct lnd {
	struct test		*t;
	struct node		n;
	struct kfid_av		*av;
	struct kfid_ep		*sep;
	kfi_addr_t		peer;
	struct lnd_part		part[LND_PARTS];
	struct lnd_tn		tn[LND_TNS], serve[LND_TNS];
	struct workqueue_struct	*wq;
	atomic_t		served[LND_SKIP + 1], buffers;
	bool			stopping, lossy;
	u64			tags;
};

/* Each returns 0 or, having failed the case, a negative errno. */
int lnd_open(struct test *t, struct lnd *l, int side);
int lnd_know(struct lnd *l, const struct lnd *peer);
/* Cancel the buffers, wait for their events, close in the LND's order. */
void lnd_close(struct lnd *l);
void lnd_free(struct lnd *l);

/* Start transaction @i; lnd_wait() returns its error, positive. */
int lnd_start(struct lnd *l, int i, enum lnd_type kind, size_t len, u64 seed);
int lnd_wait(struct lnd *l, int i, unsigned int ms);

#endif /* KFI_CONFORMANCE_LND_H */
