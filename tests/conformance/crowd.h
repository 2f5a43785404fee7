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
 * struct crowd - endpoints that share contexts, and the peer of each
 * @host: common objects of those that share: domain, queues, vector, listener. As a node it is the
 *	shared receive context
 * @srx: shared receive context, or NULL
 * @stx: shared transmit context, or NULL
 * @cntrs: a receive counter for each, if wanted
 * @b: endpoints that share
 * @a: their peers
 * @nr: number of @b and of @a
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

/*
 * Open side B without endpoints. @rx, @tx: attributes of the contexts; NULL: there is none of this
 * kind. Return: NULL after having failed the case.
 */
struct crowd *crowd_host(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx);
/* Open endpoint @i, and connect it with its peer or introduce it. Return: 0 or a negative errno. */
int crowd_join(struct crowd *c, int i);
/* Open all peers, and the endpoints that they communicate with. */
struct crowd *crowd_meet(struct crowd *c);
struct crowd *crowd_open(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx);

/* Each returns 0 or, having failed the case, a negative errno. */
int crowd_recv(struct crowd *c, void *buf, size_t len, void *ctx);
int crowd_send(struct crowd *c, int i, const void *buf, size_t len, void *ctx);
/* Send a message from endpoint @i's peer; *@rx is its completion at the receiver. */
int crowd_pass(struct crowd *c, int i, void *buf, size_t len, comp_t *rx);

#endif /* KFI_CONFORMANCE_CROWD_H */
