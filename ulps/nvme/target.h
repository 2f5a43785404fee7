/* SPDX-License-Identifier: GPL-2.0 */
/*
 * target.h - nvmet-kfi.ko inside.
 */
#ifndef KFNT_TARGET_H
#define KFNT_TARGET_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <kfi_cm.h>
#include <kfi_rma.h>
#include <target/nvmet.h>
#include "proto.h"

enum {
	KFNT_FIRST_CMDS		= 2,
};

/**
 * struct kfnt_port - a port of configfs
 * @ref:	the port's own, and each listener's
 * @nport:	the core's port, whose configfs item is held
 * @net:	the namespace of who enabled it; held
 * @ns_tracker:	of @net
 * @listeners:	one for each provider and address of ours that the port's address stands for; under configfs's locks
 * @silent:	commands that connections have room for on which NVMe's connect has not come yet
 */
struct kfnt_port {
	struct kref		ref;
	struct nvmet_port	*nport;
	struct net		*net;
	netns_tracker		ns_tracker;
	struct list_head	listeners;
	atomic_t		silent;
};

/**
 * struct kfnt_domain - a domain that connections of a listener came in by
 * @ref:	the listener's as long as it is listed, and each queue's
 * @entry:	in the listener's list
 * @domain:	domain
 * @name:	its name
 */
struct kfnt_domain {
	struct kref		ref;
	struct list_head	entry;
	struct kfid_domain	*domain;
	char			name[];
};

/**
 * struct kfnt_listener - a passive endpoint
 * @ref:	the port's, and each queue's
 * @entry:	in &kfnt_port.listeners
 * @port:	port
 * @traddr:	what hosts that came in here are told that the port's address is
 * @fabric:	of the endpoint and the queues; closed with the last reference
 * @eq:		connection requests
 * @lock:	a request is being answered, or @pep closed, which is -EBUSY as long as a request is in our hands
 * @pep:	endpoint; closed when the port is, and @eq after it
 * @domains:	struct kfnt_domain, those that are of use; @eq's handler alone adds and takes out, and the last reference
 */
struct kfnt_listener {
	struct kref		ref;
	struct list_head	entry;
	struct kfnt_port	*port;
	char			traddr[NVMF_TRADDR_SIZE];
	struct kfid_fabric	*fabric;
	struct kfid_eq		*eq;
	struct mutex		lock;
	struct kfid_pep		*pep;
	struct list_head	domains;
};

struct kfnt_queue;

/**
 * struct kfnt_cmd - room for a command, from its receive to the end of its answer
 * @req:	the core's part
 * @sqe:	the command as it came; of its own, for the receive wants pages
 * @cqe:	the answer
 * @queue:	where it came
 * @recv:	done() of the receive
 * @moved:	done() of the RMA operations
 * @refs:	RMA operations under way, and who posts them
 * @err:	of the first that failed, 0 or negative
 * @reply:	the answer is to be sent after the data; else the command is to be executed then
 * @inv:	the answer is to detach the host's region
 * @key:	of that region
 * @addr:	of the data in it
 * @capsule:	bytes of data that came in the capsule
 * @todo:	bytes for which an RMA operation has to be posted yet
 * @sg:		where they are
 * @wait:	in &kfnt_queue.backlog
 * @deferred:	in &kfnt_queue.deferred
 * @capsule_sg:	the capsule's data, as the core wants it
 * @data:	room for that data, &kfnt_queue.inline_size bytes, or NULL
 *
 * In one hand at a time: the receive's, that of who executes it, that of who posts (or the backlog), and with @refs the
 * operations'.
 */
struct kfnt_cmd {
	struct nvmet_req	req;
	struct nvme_command	*sqe;
	struct nvme_completion	cqe;
	struct kfnt_queue	*queue;
	struct kfi_cqe		recv;
	struct kfi_cqe		moved;
	atomic_t		refs;
	int			err;
	bool			reply;
	bool			inv;
	u32			key;
	u64			addr;
	u32			capsule;
	u32			todo;
	struct scatterlist	*sg;
	struct list_head	wait;
	struct llist_node	deferred;
	struct scatterlist	capsule_sg;
	struct page		*data;
};

/* kfnt_queue.flags */
enum {
	KFNT_Q_OPEN,		/* may be posted to, under RCU */
	KFNT_Q_CONNECTED,	/* and takes sends; commands may come before */
	KFNT_Q_ENDING,		/* release_work is queued, or will be by the acceptor, which has the queue yet */
	KFNT_Q_FAILED,		/* the queue is to end */
	KFNT_Q_KNOWN,		/* NVMe's connect has come */
};

/**
 * struct kfnt_queue - a connection of a host's
 * @entry:	in the list of all, under its lock; empty when it is being released
 * @listener:	where it came in; held
 * @dom:	its domain, held; NULL until it is open
 * @sq:		the core's submission queue
 * @cq:		the core's completion queue
 * @ep:		endpoint
 * @comp:	completions of both directions, in a work item
 * @events:	the connection's end
 * @qid:	the host's number
 * @depth:	commands that the host may send
 * @inline_size: bytes of data that a capsule may have
 * @nr_cmds:	of @cmds and @more; some more than @depth, for those whose answers are being sent
 * @cmds:	KFNT_FIRST_CMDS of them, which is what an unknown host gets of ours
 * @more:	the others; NULL before NVMe's connect, whose execution makes them
 * @flags:	KFNT_Q_
 * @round:	who runs done()s of @comp, from the first command of a round to its end; looked at by others, to whom it is none of theirs
 * @held:	answers that were posted as followed by more; @round's
 * @lost:	done() of answers, which are injected: only failures come
 * @silent_work: the end of a queue on which NVMe's connect does not come
 * @release_work: the end; see kfnt_release_work()
 * @resume_work: posts what could not be posted before: @backlog for lack of room or too early, @deferred for the context
 * @lock:	protects @backlog
 * @backlog:	commands that wait for room in the endpoint, or for the connection
 * @deferred:	commands that were completed where nothing may be posted
 */
struct kfnt_queue {
	struct list_head	entry;
	struct kfnt_listener	*listener;
	struct kfnt_domain	*dom;
	struct nvmet_sq		sq;
	struct nvmet_cq		cq;
	struct kfid_ep		*ep;
	struct kfid_cq		*comp;
	struct kfid_eq		*events;
	u16			qid;
	unsigned int		depth;
	unsigned int		inline_size;
	unsigned int		nr_cmds;
	struct kfnt_cmd		*cmds;
	struct kfnt_cmd		*more;
	unsigned long		flags;
	struct task_struct	*round;
	unsigned int		held;
	struct kfi_cqe		lost;
	struct delayed_work	silent_work;
	struct work_struct	release_work;
	struct work_struct	resume_work;
	spinlock_t		lock;
	struct list_head	backlog;
	struct llist_head	deferred;
};

static inline struct kfnt_cmd *to_kfnt_cmd(struct nvmet_req *req)
{
	return container_of(req, struct kfnt_cmd, req);
}

/* target.c */
const struct nvmet_fabrics_ops *kfnt_ops(void);
extern struct workqueue_struct *kfnt_wq, *kfnt_post_wq;
const char *kfnt_provider(void);
unsigned long kfnt_silence(void);

/* tlayout.c */
int kfnt_check_layouts(void);

/* port.c */
int kfnt_add_port(struct nvmet_port *nport);
void kfnt_remove_port(struct nvmet_port *nport);
void kfnt_listener_put(struct kfnt_listener *listener);

/* accept.c */
void kfnt_domain_put(struct kfnt_domain *dom);
void kfnt_listener_event(struct kfid_eq *eq, void *context);

/* tqueue.c */
struct kfnt_queue *kfnt_queue_new(struct kfnt_listener *listener, unsigned int qid, unsigned int depth);
void kfnt_queue_drop(struct kfnt_queue *queue);
int kfnt_queue_open(struct kfnt_queue *queue, struct kfid_domain *domain, struct kfi_info *info);
void kfnt_queue_enter(struct kfnt_queue *queue);
void kfnt_queue_begin(struct kfnt_queue *queue);
void kfnt_queue_end(struct kfnt_queue *queue);
void kfnt_queue_fail(struct kfnt_queue *queue, const char *what, int err);
void kfnt_delete_ctrl(struct nvmet_ctrl *ctrl);
void kfnt_end_port(struct kfnt_port *port);
void kfnt_wait_queues(void);

/* tknown.c */
unsigned int kfnt_queue_limit(struct nvmet_port *nport);
bool kfnt_silent_get(struct kfnt_port *port, unsigned int n);
void kfnt_silent_put(struct kfnt_port *port, unsigned int n);
void kfnt_silent_work(struct work_struct *work);
u16 kfnt_install_queue(struct nvmet_sq *sq);

/* tcmd.c */
struct kfnt_cmd *kfnt_cmds_alloc(struct kfnt_queue *queue, unsigned int n);
void kfnt_cmds_free(struct kfnt_queue *queue, struct kfnt_cmd *cmds, unsigned int n);
int kfnt_cmds_receive(struct kfnt_cmd *cmds, unsigned int n);
int kfnt_cmd_receive(struct kfnt_cmd *cmd);
void kfnt_cmd_release(struct kfnt_cmd *cmd);
void kfnt_queue_response(struct nvmet_req *req);

/* trma.c */
void kfnt_move(struct kfnt_cmd *cmd, bool reply);
void kfnt_resume_work(struct work_struct *work);
void kfnt_round_ends(struct kfid_cq *cq, void *context);
void kfnt_lost(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);

#endif /* KFNT_TARGET_H */
