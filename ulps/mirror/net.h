/* SPDX-License-Identifier: GPL-2.0 */
/* net.h - rails, which are the endpoints for a peer, and their messages */
#ifndef KFM_NET_H
#define KFM_NET_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include <kfi_conn.h>
#include "proto.h"

struct kfm_peer;

#define KFM_RAILS	4	/* to a peer, at most */
#define KFM_RX		16	/* receives posted */
#define KFM_TX		16	/* messages being sent */

/**
 * struct kfm_rx - a receive
 * @rx: the kit's part
 * @entry: in kfm_peer.inbox while a message waits for the worker
 * @err: result, KFI_E
 */
struct kfm_rx {
	struct kfi_rxbuf	rx;
	struct list_head	entry;
	int			err;
};

/**
 * struct kfm_slot - a message that is sent
 * @rail: where
 * @cqe: completion
 * @busy: the provider owns the slot. Cleared with release semantics
 * @data: the message
 */
struct kfm_slot {
	struct kfm_rail		*rail;
	struct kfi_cqe		cqe;
	bool			busy;
	struct kfm_le_msg	data;
};

/**
 * struct kfm_rail - one of several ways to a peer, with an endpoint of its own (rail.c); used by
 * @work while @opening is true, otherwise by the worker
 *
 * The constructor sets the members above @work; they do not change until the destructor.
 *
 * @p: the peer
 * @provider: name of the provider, or "any"
 * @local: node and service of this end
 * @remote: node and service of the peer
 * @work: opens the endpoint. It allocates memory, which may have to wait for writes to this mirror
 * @opening: @work is queued or running. Cleared with release semantics
 * @up: @conn is open
 * @checked: its network notices bytes that have changed on their way (KFI_DATA_CHECK)
 * @conn: the endpoint
 * @retry: time of the next attempt to open the endpoint, jiffies
 * @logged_err: error of the last attempt, so that it is logged once
 * @sent_err: result of the last message that was sent, KFI_E; written in softirq
 * @tx: messages being sent
 * @slots_mr: of a secondary: its primary may write to its slots by this rail
 * @open: of a primary: the slots of the peer may be written by this rail in this session
 * @slots_key: key of the slots
 * @slots_addr: address of the first one
 * @live: time at which the peer last answered RAIL, jiffies
 * @bytes: posted by this rail to slots in this session, and not known to be durable
 * @failed: it has failed in this session. Written by the context that has claimed the mirror
 * @pause: how long it was not used after its last failure, jiffies; 0 if it has been in order since
 * @again: time until which it is not used, jiffies, if @pause
 */
struct kfm_rail {
	struct kfm_peer		*p;
	char			*provider;
	char			*local[2];
	char			*remote[2];
	struct work_struct	work;
	bool			opening;
	bool			up;
	bool			checked;
	struct kfi_conn		conn;
	unsigned long		retry;
	int			logged_err;
	int			sent_err;
	struct kfm_slot		tx[KFM_TX];
	struct kfid_mr		*slots_mr;
	bool			open;
	u64			slots_key;
	u64			slots_addr;
	unsigned long		live;
	u32			bytes;
	bool			failed;
	unsigned long		pause;
	unsigned long		again;
};

typedef int kfm_persist_fn(struct kfid_mr *mr, uint64_t offset, size_t len, struct kfi_persist *p);

extern const struct kfi_conn_ops kfm_conn_ops;
void kfm_net_work(struct work_struct *work);
void kfm_net_close(struct kfm_rail *rail);
int kfm_net_region(struct kfm_rail *rail, void *buf, size_t len, u64 access,
		   kfm_persist_fn *persist, struct kfid_mr **mr);
void kfm_net_send(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_net_send_by(struct kfm_rail *rail, const struct kfm_msg *msg);
int kfm_net_receive(struct kfm_peer *p, struct kfm_msg *msg);

/* Waits for calls of persist(); after this no byte of the peer lands. */
static inline void kfm_net_region_end(struct kfid_mr **mr)
{
	if (*mr)
		WARN_ON(kfi_close(&(*mr)->fid));
	*mr = NULL;
}

#endif /* KFM_NET_H */
