/* SPDX-License-Identifier: GPL-2.0 */
/* peerloss.h - traffic whose peer is lost in the middle. */
#ifndef KFI_CONFORMANCE_PEERLOSS_H
#define KFI_CONFORMANCE_PEERLOSS_H

#include "harness.h"

/**
 * struct traffic - sends, writes and reads that go on until the peer is lost
 * @p: the pair; A initiates
 * @r: memory of B
 * @near: memory of A
 * @far: memory of B
 * @len: bytes of each
 * @seen: one bit for each operation that has ended
 * @posted: operations that were posted
 * @ended: operations that have ended
 * @failed: operations that have failed
 * @refused: result of a post that was not -EAGAIN
 * @lost_device: A's device is lost, and all of A with it
 */
struct traffic {
	struct pair	*p;
	struct region	r;
	u8		*near, *far;
	size_t		len;
	unsigned long	*seen;
	u32		posted, ended, failed, most;
	int		refused;
	bool		lost_device;
};

struct traffic *traffic_start(struct test *t, struct pair *p);
/* Fill A's queue; sends find no receive and stay outstanding. */
void traffic_fill(struct traffic *f);
/* Post and read until @most were posted or posts are refused, and all have ended. */
void traffic_lost(struct traffic *f, unsigned int ms);

#endif /* KFI_CONFORMANCE_PEERLOSS_H */
