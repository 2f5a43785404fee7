/* SPDX-License-Identifier: GPL-2.0 */
/* verbs.h - what verbs.c and lives.c share */
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

/* lives.c */
void lives(bool shared);

#endif /* VERBS_H */
