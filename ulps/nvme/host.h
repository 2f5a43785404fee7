/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host.h - nvme-kfi.ko inside.
 */
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
 * struct kfn_link - how a controller's queues reach the target
 * @info:	the answer of kfi_getinfo() that was chosen; dest_addr is the target
 * @fabric:	fabric
 * @domain:	domain of all queues
 * @limits:	of @domain
 * @stale:	the network below @domain has gone: the next set-up opens another
 *
 * Opened before the admin queue is connected for the first time, and closed with the controller or when another way
 * to the target is chosen. The calls that set up and take down the admin queue serialise all use.
 */
struct kfn_link {
	struct kfi_info			*info;
	struct kfid_fabric		*fabric;
	struct kfid_domain		*domain;
	struct kfi_domain_limits	limits;
	bool				stale;
};

/**
 * struct kfn_rsp - a posted receive for one answer
 * @cqe:	its completion
 * @queue:	whose
 * @data:	what the target sends; looked at once it has completed
 */
struct kfn_rsp {
	struct kfi_cqe		cqe;
	struct kfn_queue	*queue;
	struct nvme_completion	data;
};

/* kfn_queue.flags */
enum {
	KFN_Q_ALLOCATED,	/* kfn_queue_stop() has something to do. @lock */
	KFN_Q_OPEN,		/* may be posted to and polled, under RCU */
	KFN_Q_TAGS,		/* @tags is set: answers may come */
	KFN_Q_BROKEN,		/* the connection has failed, or the queue is being stopped */
	KFN_Q_LIVE,		/* NVMe's connect has succeeded: blk-mq may use it */
};

/**
 * struct kfn_queue - a queue: an endpoint that is connected, and what belongs to it
 * @ctrl:	controller
 * @qid:	0 for the admin queue
 * @size:	commands; tags are below
 * @flags:	KFN_Q_
 * @lock:	one stops at a time, and one ends what commands are left behind that
 * @ep:		endpoint. It outlives a connection, with @cq, @eq and @mrs: see kfn_queue_disconnect(). NULL: none of them
 *		is open. Posters use it from the setting to the end of KFN_Q_OPEN, and a grace period; handlers always
 * @cq:		completions of both directions
 * @eq:		connection events
 * @depth:	commands that @ep and @mrs are for, @size or more
 * @polled:	nobody is interrupted for @cq
 * @room:	commands that there are @rsps, @vecs and @sqes for. They outlive a connection, too
 * @rsps:	receives
 * @tags:	blk-mq's tags of this queue, under RCU and KFN_Q_TAGS: handlers run while blk-mq learns of another number of queues,
 *		which exchanges the array that it has them in, and may free these
 * @mrs:	a handle for each tag
 * @vecs:	pages of each tag's region, KFN_PAGES_MAX each
 * @sqes:	commands that go with data, by tag; in pages of their own, which a provider may send without copying them
 * @works:	invalidations under way, and 1 until the queue stops: who starts one counts first and
 *		gives up at 0
 * @idle:	@works has become 0
 * @lost:	done() of commands that were injected: only failures come
 * @epoch:	number of the connection: requests of an earlier one may still look as if an answer were owed
 * @lost_work:	ends the commands of a queue whose connection has gone while the controller is being set up or taken down
 * @connected:	the connection stands, or @cm_error
 * @cm_error:	why not
 *
 * Setting up and stopping are process context and serialised by the states of nvme_ctrl, but for time-outs: those stop a
 * queue that is being set up, so @lock. What runs beside a stop (queue_rq, ->poll, asynchronous events) looks at KFN_Q_OPEN inside
 * an RCU read section, and the stop waits for a grace period between clearing it and closing anything.
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
	struct kfi_cqe		lost;
	u32			epoch;
	struct work_struct	lost_work;
	struct completion	connected;
	int			cm_error;
};

/* kfn_req.flags */
enum {
	KFN_R_SENT,	/* the target owes an answer, on the connection of @epoch; who clears it has it */
	KFN_R_ATTACHED,	/* @queue's handle for the tag has memory attached */
	KFN_R_AGAIN,	/* there was no room to send it: blk-mq shall try again */
};

/**
 * struct kfn_req - a request
 * @req:	the core's part; has to be the first
 * @cmd:	the SQE
 * @queue:	where it goes
 * @flags:	KFN_R_
 * @epoch:	of @queue when KFN_R_SENT was set
 * @ends:	what has to end before the request may: its answer, queue_rq, for an answer may be guessed, and the send of data in
 *		the capsule. The last one detaches the region, if the target has not, and then completes the request
 * @work:	invalidation
 * @sent:	done() of a command with data in the capsule
 * @key:	of the region
 * @status:	the target's, as it stands in the CQE
 * @result:	the target's
 */
struct kfn_req {
	struct nvme_request	req;
	struct nvme_command	cmd;
	struct kfn_queue	*queue;
	unsigned long		flags;
	u32			epoch;
	atomic_t		ends;
	struct kfi_mr_work	work;
	struct kfi_cqe		sent;
	u32			key;
	__le16			status;
	union nvme_result	result;
};

/**
 * struct kfn_ctrl - a controller
 * @ctrl:	the core's part
 * @queues:	as many as the options ask for and the admin queue; the core's count may become less
 * @nr_queues:	so many
 * @link:	how they reach the target
 * @net:	the namespace that it was made in; held
 * @ns_tracker:	of @net
 * @tag_set:	of I/O queues
 * @admin_tag_set: of the admin queue
 * @virt_mask:	what block queues promise of addresses, since the first connection: every later link has to do with it
 * @pages:	pages of a request, likewise
 * @in_capsule:	the target takes data in capsules
 * @aen:	the SQE of asynchronous events
 * @err_work:	tears down, then has @reconnect_work queued
 * @reconnect_work: sets up again
 * @entry:	in the list of all, under its lock; empty until the controller is whole
 * @io_queues:	by kind
 */
struct kfn_ctrl {
	struct nvme_ctrl	ctrl;
	struct kfn_queue	*queues;
	unsigned int		nr_queues;
	struct kfn_link		link;
	struct net		*net;
	netns_tracker		ns_tracker;
	struct blk_mq_tag_set	tag_set;
	struct blk_mq_tag_set	admin_tag_set;
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

/* Under RCU, or in a handler of the queue's own: may it be posted to? */
static inline bool kfn_queue_open(const struct kfn_queue *queue)
{
	return test_bit(KFN_Q_OPEN, &queue->flags);
}

/* host.c */
extern struct workqueue_struct *kfn_wq;
const char *kfn_provider(void);
unsigned int kfn_connect_ms(void);

/* hlayout.c */
int kfn_check_layouts(void);

/* link.c */
int kfn_link_open(struct kfn_ctrl *ctrl);
void kfn_link_close(struct kfn_ctrl *ctrl);

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
void kfn_lost(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
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
