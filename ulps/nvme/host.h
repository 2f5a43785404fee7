/* SPDX-License-Identifier: GPL-2.0 */
/* host.h - shared by the files of nvme-kfi.ko. */
#ifndef KFN_HOST_H
#define KFN_HOST_H

#include <linux/blk-mq.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>
#include <kfi_req.h>
#include <host/nvme.h>
#include <host/fabrics.h>
#include "proto.h"

#define KFN_CONNECT_MS	10000	/* that the connection of a queue may take */

struct kfn_ctrl;
struct kfn_queue;

/* Flags of struct kfn_queue */
enum {
	KFN_Q_TAGS,	/* @tags is set: answers may come */
	KFN_Q_LIVE,	/* NVMe's connect has succeeded, and no request has failed to be sent */
};

/**
 * struct kfn_queue - a queue
 * @ctrl: controller
 * @qid: number; 0 for the admin queue
 * @size: commands of the queue; tags are smaller numbers
 * @flags: KFN_Q_*
 * @conn: connection
 * @tags: blk-mq's tags of this queue, under RCU and KFN_Q_TAGS. Answers may come while blk-mq
 *	changes the number of queues, which replaces the array with this pointer and may free the
 *	tags
 * @capsule_room: bytes of data that a capsule may have
 * @lock: held while commands of the stopped queue are cancelled
 * @lost_work: ends the commands of a queue whose connection was lost while the controller is being
 *	set up or taken down
 *
 * The states of nvme_ctrl serialise set-up and stop, except for time-outs, which stop a queue that
 * may be being set up: see kfi_conn_stop().
 */
struct kfn_queue {
	struct kfn_ctrl		*ctrl;
	unsigned int		qid;
	unsigned int		size;
	unsigned long		flags;
	struct kfi_conn		conn;
	struct blk_mq_tags	*tags;
	unsigned int		capsule_room;
	struct mutex		lock;
	struct work_struct	lost_work;
};

/**
 * struct kfn_req - a request
 * @req: the core's part; has to be the first member
 * @cmd: the SQE
 * @sqe: the same, and its digest; with digests @sqe.digest.data becomes that of the answer
 * @kreq: the kit's part
 * @queue: its queue
 * @status: status of the answer, as it is in the CQE
 * @result: result of the answer
 */
struct kfn_req {
	struct nvme_request	req;
	union {
		struct nvme_command	cmd;
		struct kfn_sqe		sqe;
	};
	struct kfi_req		kreq;
	struct kfn_queue	*queue;
	__le16			status;
	union nvme_result	result;
};

/**
 * struct kfn_ctrl - a controller
 * @ctrl: the core's part
 * @queues: the queues that the options request, and the admin queue; the core's count may become
 *	smaller
 * @nr_queues: number of @queues
 * @info: the answer of kfi_find(); its dest_addr is the target
 * @dom: domain of all queues. It is taken before the admin queue is connected for the first time,
 *	and dropped with the controller, or when another provider or domain is chosen
 * @net: the network namespace in which it was created; held
 * @ns_tracker: tracks @net
 * @tag_set: tags of I/O queues
 * @admin_tag_set: tags of the admin queue
 * @tags_lock: held while the number of queues of @tag_set changes, which frees tags at once, and
 *	while kfn_lost_work() looks for requests in the tags; inside it kfn_queue.lock
 * @virt_mask: alignment of addresses that the block queues guarantee since the first connection; a
 *	later network must not need a stricter one
 * @pages: pages of a request, fixed by the first connection; a later network must support as many
 * @in_capsule: the target takes data in capsules
 * @digests: KFN_DIGEST_* that its options demand
 * @aen: the SQE of asynchronous events
 * @err_work: takes the controller down, then queues @reconnect_work
 * @reconnect_work: sets it up again
 * @entry: entry in the list of all controllers, under its lock; empty until the controller is
 *	complete
 * @io_queues: number of I/O queues of each type
 */
struct kfn_ctrl {
	struct nvme_ctrl	ctrl;
	struct kfn_queue	*queues;
	unsigned int		nr_queues;
	struct kfi_info		*info;
	struct kfi_dom		*dom;
	struct net		*net;
	netns_tracker		ns_tracker;
	struct blk_mq_tag_set	tag_set;
	struct blk_mq_tag_set	admin_tag_set;
	struct mutex		tags_lock;
	u64			virt_mask;
	unsigned int		pages;
	bool			in_capsule;
	u8			digests;
	struct kfn_sqe		aen;
	struct work_struct	err_work;
	struct delayed_work	reconnect_work;
	struct list_head	entry;
	u32			io_queues[HCTX_MAX_TYPES];
};

static inline struct kfn_ctrl *to_kfn(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct kfn_ctrl, ctrl);
}

/* host.c */
extern struct workqueue_struct *kfn_wq;
/* Targets may read the memory of reads */
extern bool kfn_verify;
void kfn_provider(char name[KFI_NAME_MAX]);
bool kfn_tls(void);

/* hlayout.c */
int kfn_check_layouts(void);

/* net.c */
int kfn_net_open(struct kfn_ctrl *ctrl);
void kfn_net_close(struct kfn_ctrl *ctrl);

/* queue.c */
int kfn_queue_start(struct kfn_ctrl *ctrl, unsigned int qid, unsigned int size);
void kfn_queues_stop(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end);
void kfn_queues_end(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end);
void kfn_lost(struct kfi_conn *conn, int err);
void kfn_lost_work(struct work_struct *work);

/* io.c */
extern const struct kfi_conn_ops kfn_conn_ops, kfn_digest_conn_ops;
extern const struct blk_mq_ops kfn_mq_ops, kfn_admin_mq_ops;
bool kfn_cpu_usable(unsigned int cpu);
void kfn_submit_async_event(struct nvme_ctrl *ctrl);

/* ctrl.c */
int kfn_setup(struct kfn_ctrl *ctrl, bool new);
bool kfn_recover(struct kfn_ctrl *ctrl);
void kfn_ctrl_init(struct kfn_ctrl *ctrl);
void kfn_delete_ctrl(struct nvme_ctrl *ctrl);
void kfn_stop_ctrl(struct nvme_ctrl *ctrl);

#endif /* KFN_HOST_H */
