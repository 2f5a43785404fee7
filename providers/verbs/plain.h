/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plain.h - connections that are queue pairs without our protocol, see plain.c.
 */
#ifndef _KFI_VERBS_PLAIN_H
#define _KFI_VERBS_PLAIN_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/rdma_cm.h>
#include <kfi_prov.h>
#include "dev.h"

struct kv_conn;
struct kv_done;
struct kv_ep;

/**
 * struct kv_rq - receives of a MSG endpoint, see plain.c
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

extern struct kfi_prov_ops kv_msg_ops;

int kv_plain_open(struct kv_ep *vep);
int kv_plain_recv(struct kfi_ep *ep, struct kfi_oper *op);
struct kfi_oper *kv_plain_cancel(struct kfi_ep *ep, void *context);
int kv_plain_tx(struct kfi_ep *ep, struct kfi_oper *op);
bool kv_plain_next(struct kv_conn *conn, struct kv_done *done);
int kv_rq_create(struct kv_conn *conn);
void kv_rq_stop(struct kv_conn *conn);
void kv_rq_late(struct kv_conn *conn);
void kv_rq_lost(struct kv_conn *conn);
void kv_rq_end(struct kv_ep *vep, int err);
void kv_rq_restart(struct kv_ep *vep);
void kv_plain_tune(struct kv_conn *conn);
int kv_plain_called(struct kv_conn *conn, const struct rdma_cm_id *id, const struct rdma_conn_param *param);
void kv_plain_established(struct kv_conn *conn, const struct rdma_conn_param *param);
int kv_plain_rejected(struct kv_conn *conn, struct rdma_cm_event *event);
void kv_plain_ready(struct kv_conn *conn);

static inline bool kv_is_plain(const struct kfi_info *info)
{
	return info->ep_attr && info->ep_attr->type == KFI_EP_MSG;
}

/* Pieces of a message, each way; @device: that it takes in a request */
static inline unsigned int kv_plain_pieces(unsigned int device)
{
	return min_t(unsigned int, KV_SGE, device);
}

#endif /* _KFI_VERBS_PLAIN_H */
