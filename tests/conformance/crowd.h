/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crowd.h - several endpoints of side B that share contexts, each with a peer of its own on side A.
 */
#ifndef KFI_CONFORMANCE_CROWD_H
#define KFI_CONFORMANCE_CROWD_H

#include "harness.h"

#define CROWD		3
#define LONG		(256 * 1024)

/**
 * struct crowd - endpoints that share, and the peer of each
 * @host:	what belongs to all that share: domain, queues, vector, listener. As a node it is the shared receive context
 * @srx: @stx:	what they share, or NULL
 * @cntrs:	a receive counter for each, if wanted
 * @b: those that share; @a: their peers
 * @nr:		how many of them there are
 */
struct crowd {
	struct test		*t;
	struct node		host;
	struct kfid_ep		*srx;
	struct kfid_stx		*stx;
	struct kfid_cntr	*cntrs[CROWD];
	struct node		a[CROWD], b[CROWD];
	int			nr;
};

#define KEEP(t, call, fid)						\
({									\
	int __ret = EXPECT_EQ(t, call, 0) ? 0 : -EIO;			\
	if (!__ret)							\
		test_keep(t, fid);					\
	__ret;								\
})

extern struct kfi_rx_attr plain_rx;
extern struct kfi_tx_attr plain_tx;

/* Side B without endpoints. @rx, @tx: attributes of the contexts; NULL: there is none of this kind. NULL: the case has failed. */
struct crowd *crowd_host(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx);
/* Endpoint @i, connected with its peer or known to it. 0 or a negative errno. */
int crowd_join(struct crowd *c, int i);
/* All peers, and the endpoints that they talk to. */
struct crowd *crowd_meet(struct crowd *c);
struct crowd *crowd_open(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx);

/* Each answers 0 or, having failed the case, a negative errno. */
int crowd_recv(struct crowd *c, void *buf, size_t len, void *ctx);
int crowd_send(struct crowd *c, int i, const void *buf, size_t len, void *ctx);
/* A message of endpoint @i's peer, and where it ended: *@rx. */
int crowd_pass(struct crowd *c, int i, void *buf, size_t len, comp_t *rx);

#endif /* KFI_CONFORMANCE_CROWD_H */
