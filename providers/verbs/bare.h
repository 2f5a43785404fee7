/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bare.h - connections that are queue pairs without our protocol, see bare.c.
 */
#ifndef _KFI_VERBS_BARE_H
#define _KFI_VERBS_BARE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/rdma_cm.h>
#include <kfi_prov.h>
#include "dev.h"

struct kv_conn;
struct kv_done;
struct kv_ep;

/**
 * struct kv_rq - receives of a bare endpoint, see bare.c
 * @lock:	protects the rest, and posting to the receive queue of @conn
 * @conn:	has a queue pair that takes them; @waiting: they wait until there is one
 * @over:	there will be none
 */
struct kv_rq {
	spinlock_t		lock;
	bool			over;
	struct kv_conn		*conn;
	struct list_head	waiting;
};

int kv_bare_open(struct kv_ep *vep);
int kv_bare_recv(struct kfi_ep *ep, struct kfi_oper *op);
struct kfi_oper *kv_bare_cancel(struct kfi_ep *ep, void *context);
void kv_bare_put(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done);
int kv_rq_create(struct kv_conn *conn);
void kv_rq_stop(struct kv_conn *conn);
void kv_rq_late(struct kv_conn *conn);
void kv_rq_lost(struct kv_conn *conn);
void kv_rq_end(struct kv_ep *vep, int err);
void kv_rq_restart(struct kv_ep *vep);
void kv_bare_tune(struct kv_conn *conn);
int kv_bare_called(struct kv_conn *conn, const struct rdma_cm_id *id, const struct rdma_conn_param *param);
void kv_bare_established(struct kv_conn *conn, const struct rdma_conn_param *param);
int kv_bare_rejected(struct kv_conn *conn, struct rdma_cm_event *event);
void kv_bare_ready(struct kv_conn *conn);

static inline bool kv_is_bare(const struct kfi_info *info)
{
	return info->ep_attr->protocol == KFI_PROTO_RDMA_CM_IB_RC;
}

/* Pieces of a message, each way; @device: that it takes in a request */
static inline unsigned int kv_bare_pieces(unsigned int device)
{
	return min_t(unsigned int, KV_SGE, device);
}

#endif /* _KFI_VERBS_BARE_H */
