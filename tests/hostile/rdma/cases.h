/* SPDX-License-Identifier: GPL-2.0 */
/* cases.h - what the files of cases share. Their functions return false for a failure. */
#ifndef KFI_IB_HOSTILE_CASES_H
#define KFI_IB_HOSTILE_CASES_H

#include <linux/prandom.h>
#include "hostile.h"

/* cases.c */
extern struct rnd_state rnd;
extern u8 *buf;		/* 2 * HI_BUF bytes, whose contents nobody relies on */

/* Report what has failed. Return: @truth */
bool check(bool truth, const char *what);
bool wait_until(atomic_t *value, int least);
/* Make a queue pair that leads to the peer. */
bool pair_up(enum hi_side side, bool shared, struct hi_qp **q, struct hi_heard **h);
/* Say READY, as often as a node does, until the device has called. */
bool answer(struct hi_qp *q, struct hi_heard *h);
/* Connect a queue pair that leads to the peer. */
bool meet(struct hi_qp *q, struct hi_heard *h, enum hi_side side, struct hi_peer *p);
/* Send message number @nr of a connection. */
bool say(struct hi_peer *p, u32 nr, size_t len);
/* Wait for the ends of all queue pairs. */
bool ended(void);

/* calls.c */
/* A call with this number is refused. */
bool no_entry(u32 qpn, u64 secret);
bool hellos(void);
bool lengths(void);
bool secrets(void);
bool call_flood(void);

/* packets.c */
bool packets(void);
bool stale(void);
bool ready_flood(void);
bool ask_flood(void);
bool forged(void);
bool nobody(void);
bool versions(void);
bool ud(void);
bool mads(void);
bool dead(void);

/* lives.c */
bool second_call(void);
bool gone_caller(void);
bool states(void);
bool phases(void);
bool within(void);
bool silent(void);

#endif /* KFI_IB_HOSTILE_CASES_H */
