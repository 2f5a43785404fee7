/* SPDX-License-Identifier: GPL-2.0 */
/* verbs.h - what verbs.c, lives.c and hand.c share */
#ifndef VERBS_H
#define VERBS_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define SIZE	(1 << 16)	/* of memory() */

extern const struct ibv_qp_init_attr plain;

void judge(const char *name, bool ok);
void die(const char *what) __attribute__((noreturn));
void enter(const char *node);
void *memory(void);
int post_send(struct ibv_qp *qp, void *addr, uint32_t len, uint32_t lkey);
int ended(struct ibv_cq *cq);

/* lives.c: queue pairs that are connected by hand */
#define GID	1	/* index of the IPv4 address */
#define PEERS	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* One of a device, and its region, which peers may access */
struct end {
	struct ibv_context	*verbs;
	struct ibv_pd		*pd;
	struct ibv_cq		*cq;
	struct ibv_srq		*srq;
	struct ibv_qp		*qp;
	struct ibv_mr		*mr;
	char			*mem;
};

void end_open(struct end *e, const char *name, bool shared);
void gid_of(union ibv_gid *gid, const char *address);	/* of IPv4 */
/* Move it to RTS; @access: of the queue pair. Return: 0 or an error */
int end_connect(struct end *e, uint32_t number, const char *address, int access);
int end_reset(struct end *e);
/* What the kernel has of an end goes: this waits for all requests. */
int end_close(struct end *e);
void lives(bool shared);

/* hand.c */
void by_hand(void);
int held(void);

#endif /* VERBS_H */
