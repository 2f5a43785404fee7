/* SPDX-License-Identifier: GPL-2.0 */
/* host.h - shared by the files of nvme-kfi.ko. */
#ifndef KFN_HOST_H
#define KFN_HOST_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <kfi_cm.h>
#include <host/nvme.h>
#include <host/fabrics.h>
#include "proto.h"

struct kfn_ctrl;
struct kfn_queue;

/**
 * struct kfn_net - fabric and domain in which the queues of a controller have their endpoints
 * @info: the answer of kfi_getinfo() that was chosen; its dest_addr is the target
 * @fabric: fabric
 * @domain: domain of all queues
 * @limits: limits of @domain
 * @stale: the network of @domain was removed: the next set-up opens another domain
 *
 * It is opened before the admin queue is connected for the first time, and closed with the
 * controller or when another provider, or another domain, is chosen. The calls that set up and take
 * down the admin queue serialise all use.
 */
struct kfn_net {
	struct kfi_info			*info;
	struct kfid_fabric		*fabric;
	struct kfid_domain		*domain;
	struct kfi_domain_limits	limits;
	bool				stale;
};

/**
 * struct kfn_rsp - a posted receive for one answer
 * @cqe: its completion
 * @queue: its queue
 * @data: what the target sends; read when the receive has completed
 */
struct kfn_rsp {
	struct kfi_cqe		cqe;
	struct kfn_queue	*queue;
	struct nvme_completion	data;
};

/* Flags of struct kfn_queue */
enum {
	KFN_Q_ALLOCATED,	/* a connection exists, which kfn_queue_stop() ends. Under @lock */
	KFN_Q_OPEN,		/* operations may be posted and the queue polled, under RCU */
	KFN_Q_TAGS,		/* @tags is set: answers may come */
	KFN_Q_BROKEN,		/* the connection has failed, or the queue is being stopped */
	KFN_Q_LIVE,		/* NVMe's connect has succeeded: blk-mq may use the queue */
};

/**
 * struct kfn_queue - a queue: a connected endpoint and its resources
 * @ctrl: controller
 * @qid: number; 0 for the admin queue
 * @size: commands of the queue; tags are smaller numbers
 * @flags: KFN_Q_*
 * @lock: held while the queue is stopped, and while the commands of a stopped queue are cancelled
 * @ep: endpoint. It outlives a connection, with @cq, @eq and @mrs: see kfn_queue_disconnect().
 *	NULL: none of them is open. Posts use it while KFN_Q_OPEN is set and for a grace period
 *	after that; handlers may always use it
 * @cq: completions of both directions
 * @eq: connection events
 * @depth: commands that @ep and @mrs have room for, @size or more
 * @polled: @cq makes no interrupts
 * @room: commands that @rsps, @vecs and @sqes have room for. They outlive a connection, too
 * @rsps: receives
 * @tags: blk-mq's tags of this queue, under RCU and KFN_Q_TAGS. Handlers may run while blk-mq
 *	changes the number of queues, which replaces the array with this pointer and may free the
 *	tags
 * @mrs: a memory region for each tag
 * @vecs: pages of each tag's region, KFN_PAGES_MAX each
 * @sqes: commands that are sent with data, by tag; in pages of their own, which a provider may send
 *	without a copy
 * @works: invalidations in flight, plus 1 until the queue stops. An invalidation is counted before
 *	it is started, and is not started if @works is 0
 * @idle: woken when @works becomes 0
 * @inject_cqe: done() of injected commands, called only if they fail
 * @epoch: number of the connection. Requests of an earlier connection may still have KFN_R_SENT
 * @lost_work: ends the commands of a queue whose connection was lost while the controller is being
 *	set up or taken down
 * @connected: completed when the connection is established or has failed
 * @cm_error: 0, or the error of the connection
 *
 * Set-up and stop run in process context. The states of nvme_ctrl serialise them, except for
 * time-outs, which stop a queue that is being set up: therefore @lock. Functions that run beside a
 * stop (queue_rq, ->poll, asynchronous events) test KFN_Q_OPEN inside an RCU read section, and the
 * stop waits for a grace period after it has cleared the flag and before it closes anything.
 */
struct kfn_queue {
	struct kfn_ctrl		*ctrl;
	unsigned int		qid;
	unsigned int		size;
	unsigned long		flags;
	struct mutex		lock;
	struct kfid_ep		*ep;
	struct kfid_cq		*cq;
	struct kfid_eq		*eq;
	unsigned int		depth;
	bool			polled;
	unsigned int		room;
	struct kfn_rsp		*rsps;
	struct blk_mq_tags	*tags;
	struct kfid_mr		**mrs;
	struct bio_vec		*vecs;
	struct nvme_command	*sqes;
	atomic_t		works;
	wait_queue_head_t	idle;
	struct kfi_cqe		inject_cqe;
	u32			epoch;
	struct work_struct	lost_work;
	struct completion	connected;
	int			cm_error;
};

/* Flags of struct kfn_req */
enum {
	/*
	 * The target has to send an answer, on the connection of @epoch. The context that clears
	 * the flag calls kfn_req_put() for the answer.
	 */
	KFN_R_SENT,
	KFN_R_ATTACHED,	/* memory is attached to the tag's region in @queue */
	KFN_R_REQUEUE,	/* there was no room to send the command: blk-mq has to try again */
};

/**
 * struct kfn_req - a request
 * @req: the core's part; has to be the first member
 * @cmd: the SQE
 * @queue: its queue
 * @flags: KFN_R_*
 * @epoch: epoch of @queue when KFN_R_SENT was set
 * @pending: number of events that have to happen before the request may be completed: the arrival
 *	of its answer; the return of queue_rq, because a target may send an answer before it has the
 *	command; and the completion of the send of a capsule with data. The last event detaches the
 *	region, unless the target has done so, and then completes the request
 * @work: invalidation
 * @sent: done() of a command with data in the capsule
 * @key: key of the region
 * @status: status of the answer, as it is in the CQE
 * @result: result of the answer
 */
struct kfn_req {
	struct nvme_request	req;
	struct nvme_command	cmd;
	struct kfn_queue	*queue;
	unsigned long		flags;
	u32			epoch;
	atomic_t		pending;
	struct kfi_mr_work	work;
	struct kfi_cqe		sent;
	u32			key;
	__le16			status;
	union nvme_result	result;
};

/**
 * struct kfn_ctrl - a controller
 * @ctrl: the core's part
 * @queues: the queues that the options request, and the admin queue; the core's count may become
 *	smaller
 * @nr_queues: number of @queues
 * @kfi: fabric and domain
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
	struct kfn_net		kfi;
	struct net		*net;
	netns_tracker		ns_tracker;
	struct blk_mq_tag_set	tag_set;
	struct blk_mq_tag_set	admin_tag_set;
	struct mutex		tags_lock;
	u64			virt_mask;
	unsigned int		pages;
	bool			in_capsule;
	struct nvme_command	aen;
	struct work_struct	err_work;
	struct delayed_work	reconnect_work;
	struct list_head	entry;
	u32			io_queues[HCTX_MAX_TYPES];
};

static inline struct kfn_ctrl *to_kfn(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct kfn_ctrl, ctrl);
}

/* May operations be posted? Called under RCU, or in a handler of the queue */
static inline bool kfn_queue_open(const struct kfn_queue *queue)
{
	return test_bit(KFN_Q_OPEN, &queue->flags);
}

/* host.c */
extern struct workqueue_struct *kfn_wq;
/* Targets may read the memory of reads */
extern bool kfn_verify;
const char *kfn_provider(void);
unsigned int kfn_connect_ms(void);

/* hlayout.c */
int kfn_check_layouts(void);

/* net.c */
int kfn_net_open(struct kfn_ctrl *ctrl);
void kfn_net_close(struct kfn_ctrl *ctrl);

/* queue.c */
int kfn_queue_start(struct kfn_ctrl *ctrl, unsigned int qid, unsigned int size);
void kfn_queues_stop(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end);
void kfn_queues_end(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end);
void kfn_queues_release(struct kfn_ctrl *ctrl);
void kfn_queue_broken(struct kfn_queue *queue);
void kfn_lost_work(struct work_struct *work);

/* region.c */
int kfn_regions_open(struct kfn_queue *queue);
void kfn_regions_quiesce(struct kfn_queue *queue);
int kfn_regions_detach(struct kfn_queue *queue);
void kfn_regions_close(struct kfn_queue *queue);
void kfn_room_free(struct kfn_queue *queue);
int kfn_room_make(struct kfn_queue *queue);
unsigned int kfn_request_vec(struct request *rq, struct bio_vec *vec, unsigned int room);
int kfn_region_register(struct kfn_req *req, struct request *rq);
bool kfn_region_detach(struct kfn_req *req);

/* io.c */
extern const struct blk_mq_ops kfn_mq_ops, kfn_admin_mq_ops;
int kfn_rsp_post(struct kfn_rsp *rsp);
void kfn_inject_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
void kfn_req_put(struct kfn_req *req);
void kfn_req_complete(struct kfn_req *req);
void kfn_submit_async_event(struct nvme_ctrl *ctrl);

/* ctrl.c */
int kfn_setup(struct kfn_ctrl *ctrl, bool new);
bool kfn_recover(struct kfn_ctrl *ctrl);
void kfn_ctrl_init(struct kfn_ctrl *ctrl);
void kfn_delete_ctrl(struct nvme_ctrl *ctrl);
void kfn_stop_ctrl(struct nvme_ctrl *ctrl);

#endif /* KFN_HOST_H */
