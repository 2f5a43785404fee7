/* SPDX-License-Identifier: GPL-2.0 */
/*
 * account.h - bounds of the memory that peers make an endpoint hold, see account.c.
 */
#ifndef _KFI_PROTO_ACCOUNT_H
#define _KFI_PROTO_ACCOUNT_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <kfi_account.h>
#include <kfi_prov.h>
#include "wire.h"

struct kfi_proto;
struct kfi_proto_ep;
struct kfp_conn;

#define KFP_ACCOUNT_MIN	16U		/* credits of each allowance of a connection */
#define KFP_AHEAD	8U		/* messages of an eager size that was set */
#define KFP_ACCOUNT_SPARE	1024U	/* credits for an origin when the endpoint is full */
#define KFP_PAYER_SHARE	256U		/* a connection gets 1/n of what the payer has left */

/** enum kfp_account_level - levels at which unexpected messages are counted */
enum kfp_account_level {
	KFP_ACCOUNT_PEER,
	KFP_ACCOUNT_ORIGIN,	/* all peers of an origin, see &kfi_link_ops.origin */
	KFP_ACCOUNT_ALL,		/* all peers of an endpoint */
	KFP_ACCOUNT_LEVELS
};

/**
 * struct kfp_account - account of the unexpected messages of a peer, an origin or an endpoint
 * @node: entry in &kfp_accounts.by_name
 * @level: &enum kfp_account_level; @level and @name identify an account
 * @name: name of the peer or of the origin
 * @up: account of the next level, which counts the same credits
 * @users: number of connections, or of accounts of the level below
 * @credits: allowances of live connections, and messages that dead connections have left
 * @dead_credits: the part of @credits that dead connections have left
 * @live: number of live connections
 * @dead: dead connections that have left messages, oldest first
 * @conns: live connections of an origin, by &kfp_conn.of_origin
 *
 * kfp_accounts.lock protects all members.
 */
struct kfp_account {
	struct hlist_node	node;
	u8			level;
	u8			name[KFI_ADDR_MAX] __aligned(8);
	struct kfp_account	*up;
	unsigned int		users;
	u32			credits;
	u32			dead_credits;
	unsigned int		live;
	struct list_head	dead;
	struct list_head	conns;
};

/**
 * struct kfp_accounts - accounts of an endpoint, see account.c
 * @proto: the protocol object of the provider
 * @lock: protects all other members
 * @all: account of the endpoint
 * @by_name: accounts of peers and origins
 * @payer: account of the fabric, or NULL
 */
struct kfp_accounts {
	const struct kfi_proto	*proto;
	struct kfi_account	*payer;
	spinlock_t		lock;
	struct kfp_account	all;
	DECLARE_HASHTABLE(by_name, 6);
};

/*
 * Credit is returned when half of the allowance is free, so the longest message has to fit into the
 * other half.
 */
static inline u32 kfp_eager_max(u32 allowance)
{
	return min_t(u64, (u64)(allowance / 2) * KFW_CREDIT_BYTES, KFW_FRAME_MAX);
}

struct kfp_accounts *kfp_accounts_new(const struct kfi_proto *proto, struct kfi_account *payer);
int kfp_account_msg_open(struct kfi_proto_ep *pe);
void kfp_account_msg_close(struct kfi_proto_ep *pe);
void kfp_account_msg_join(struct kfp_conn *conn);
int kfp_account_join(struct kfp_conn *conn);
void kfp_account_down(struct kfp_conn *conn);
void kfp_account_freed(struct kfp_conn *conn, u32 credits);
void kfp_account_yield(struct kfp_conn *conn);

#endif /* _KFI_PROTO_ACCOUNT_H */
