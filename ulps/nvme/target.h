/* SPDX-License-Identifier: GPL-2.0 */
/* target.h - shared by the files of nvmet-kfi.ko. */
#ifndef KFNT_TARGET_H
#define KFNT_TARGET_H

#include <linux/atomic.h>
#include <linux/in6.h>
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
 * @ref: references: one held by the port itself, and one by each listener
 * @nport: the core's port. It exists until the last queue of the port was released, see
 *	kfnt_remove_port()
 * @net: the network namespace of the process that enabled the port; held
 * @ns_tracker: tracks @net
 * @listeners: one for each provider and each local address that the port's address covers; under
 *	configfs's locks
 * @lock: protects @waiting and @unconnected
 * @waiting: queues that wait for NVMe's connect, the oldest first
 * @unconnected: number of commands for which they, and queues that have ended without a connect and
 *	are not freed yet, have room: queues with KFNT_Q_COUNTED
 */
struct kfnt_port {
	struct kref		ref;
	struct nvmet_port	*nport;
	struct net		*net;
	netns_tracker		ns_tracker;
	struct list_head	listeners;
	spinlock_t		lock;
	struct list_head	waiting;
	unsigned int		unconnected;
};

/**
 * struct kfnt_domain - a domain in which connections of a listener have arrived
 * @ref: references: one held by the listener while the domain is in its list, one by each queue
 * @entry: entry in the listener's list
 * @domain: domain
 * @disks: list of struct kfnt_disk: which disks may write to places of the domain (tplace.c)
 * @name: its name
 */
struct kfnt_domain {
	struct kref		ref;
	struct list_head	entry;
	struct kfid_domain	*domain;
	struct list_head	disks;
	char			name[];
};

/**
 * struct kfnt_listener - a passive endpoint
 * @ref: references: one held by the port, and one by each queue
 * @entry: entry in &kfnt_port.listeners
 * @port: port
 * @traddr: address of the port as it is shown to hosts that have connected here
 * @fabric: fabric of the endpoint and the queues; closed with the last reference
 * @eq: connection requests
 * @lock: held while a request is answered, and while @pep is closed: the close fails with -EBUSY if
 *	a request was read and not answered yet
 * @pep: endpoint; closed with the port, and @eq after it
 * @domains: list of struct kfnt_domain that can be used. Only the handler of @eq, and the drop of
 *	the last reference, change it
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

/**
 * struct kfnt_check - the comparison of the data of a READ that bypasses RAM (tverify.c)
 * @ns: namespace, held until the comparison has ended; NULL: nothing is compared
 * @disk: the data as the disk has it in RAM; NULL: nothing is compared
 * @host: the data as the host has it
 * @n: number of entries of each
 */
struct kfnt_check {
	struct nvmet_ns		*ns;
	struct scatterlist	*disk;
	struct scatterlist	*host;
	unsigned int		n;
};

struct kfnt_place;
struct kfnt_places;
struct kfnt_queue;

/**
 * struct kfnt_cmd - buffer and state of a command, from its receive to the end of its answer
 * @req: the core's part
 * @sqe: the command as it was received; a separate allocation, because a receive needs pages
 * @cqe: the answer
 * @queue: its queue
 * @recv: done() of the receive
 * @moved: done() of the RMA operations, and of the get and put of @place
 * @refs: RMA operations in flight, plus 1 while they are being posted
 * @err: error of an RMA operation or of a post, 0 or negative
 * @reply: true: send the answer after the data; false: execute the command after the data
 * @checking: the command was executed, and the data is read from the host, to be compared
 * @inv: the answer has to detach the host's region
 * @fetch: the data has to be read from that region
 * @key: key of that region
 * @addr: address of the data in it
 * @capsule: bytes of data that were received in the capsule
 * @todo: bytes for which no RMA operation was posted yet
 * @sg: location of these bytes
 * @place: where the disk writes the data of a READ, or NULL: to RAM (tplace.c)
 * @wait: entry in &kfnt_queue.backlog
 * @deferred: entry in &kfnt_queue.deferred
 * @own_sg: scatterlist that describes @data to the core
 * @data: &kfnt_queue.inline_size bytes for data of the capsule, or other short data, or NULL
 *
 * One context at a time owns a command: the receive, the execution, then the context that posts, or
 * the backlog. While @refs is not 0, the RMA operations own it as well.
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
	bool			checking;
	bool			inv;
	bool			fetch;
	u32			key;
	u64			addr;
	u32			capsule;
	u32			todo;
	struct scatterlist	*sg;
	struct kfnt_place	*place;
	struct list_head	wait;
	struct llist_node	deferred;
	struct scatterlist	own_sg;
	struct page		*data;
};

/* Flags of struct kfnt_queue */
enum {
	KFNT_Q_OPEN,		/* operations may be posted, under RCU */
	KFNT_Q_CONNECTED,	/* sends may be posted; commands may be received before */
	/*
	 * release_work must not be queued: it is queued already, or the acceptor still owns the
	 * queue, and kfnt_queue_begin() will clear the flag
	 */
	KFNT_Q_RELEASE_TAKEN,
	KFNT_Q_FAILED,		/* the queue has to end */
	KFNT_Q_CONNECT_CAME,	/* NVMe's connect was passed to the core */
	KFNT_Q_INSTALLED,	/* kfnt_install_queue() has succeeded: the queue has a controller */
	KFNT_Q_COUNTED,		/* &kfnt_port.unconnected has its commands; under &kfnt_port.lock */
};

/**
 * struct kfnt_queue - a connection of a host
 * @entry: entry in the list of all queues, under its lock; empty when the queue is being released
 * @waiting: entry in &kfnt_port.waiting, under its lock; empty: NVMe's connect is executed, or the
 *	queue has been ended to make place for others
 * @source: source of the connection, see tconnect.c
 * @listener: listener to which the host has connected; held
 * @dom: its domain, held; NULL until the queue is open
 * @sq: the core's submission queue
 * @cq: the core's completion queue
 * @ep: endpoint
 * @comp: completions of both directions, in a work item
 * @events: end of the connection
 * @qid: number that the host has chosen
 * @depth: commands that the host may send
 * @inline_size: bytes of data that a capsule may have
 * @nr_cmds: number of @cmds and @more; a few more than @depth, for commands whose answers are being
 *	sent
 * @cmds: the first KFNT_FIRST_CMDS commands, for a host that has not sent NVMe's connect
 * @more: the other commands; NULL until the execution of NVMe's connect allocates them
 * @p2p_client: device that reads memory of disks, or NULL; has the life time of the domain
 * @p2p_min: bytes of data up to which a CPU reads the memory
 * @has_places: @ep was opened with KFI_PLACE
 * @places: handles for places, from NVMe's connect on; NULL: all data goes through RAM
 * @flags: KFNT_Q_*
 * @round: task that runs the done()s of @comp, from the first command of a round to its end. Other
 *	tasks only compare it with themselves
 * @held: answers that were posted with KFI_MORE; used by @round
 * @answer_cqe: done() of answers, which are injected: called only if they fail
 * @timeout_work: ends a queue on which NVMe's connect does not arrive in time
 * @release_work: releases the queue, see kfnt_release_work()
 * @resume_work: continues the commands in @backlog and @deferred
 * @lock: protects @backlog
 * @backlog: commands that wait for room in the endpoint, or for the connection
 * @deferred: commands that were completed in a context in which nothing may be posted, or whose
 *	data is to be compared
 */
struct kfnt_queue {
	struct list_head	entry;
	struct list_head	waiting;
	struct in6_addr		source;
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
	struct device		*p2p_client;
	size_t			p2p_min;
	bool			has_places;
	struct kfnt_places	*places;
	unsigned long		flags;
	struct task_struct	*round;
	unsigned int		held;
	struct kfi_cqe		answer_cqe;
	struct delayed_work	timeout_work;
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
unsigned long kfnt_connect_timeout(void);

/* tlayout.c */
int kfnt_check_layouts(void);

/* port.c */
int kfnt_add_port(struct nvmet_port *nport);
void kfnt_remove_port(struct nvmet_port *nport);
void kfnt_ports_exit(void);
void kfnt_listener_put(struct kfnt_listener *listener);

/* accept.c */
void kfnt_domain_put(struct kfnt_domain *dom);
void kfnt_listener_event(struct kfid_eq *eq, void *context);

/* tqueue.c */
struct kfnt_queue *kfnt_queue_new(struct kfnt_listener *listener, const struct kfi_info *info,
				  unsigned int qid, unsigned int depth);
void kfnt_queue_drop(struct kfnt_queue *queue);
int kfnt_queue_open(struct kfnt_queue *queue, struct kfid_domain *domain, struct kfi_info *info);
void kfnt_queue_enter(struct kfnt_queue *queue);
void kfnt_queue_begin(struct kfnt_queue *queue);
void kfnt_queue_end(struct kfnt_queue *queue);
void kfnt_queue_fail(struct kfnt_queue *queue, const char *what, int err);
void kfnt_delete_ctrl(struct nvmet_ctrl *ctrl);
void kfnt_end_port(struct kfnt_port *port);
void kfnt_wait_queues(void);

/* tconnect.c */
unsigned int kfnt_queue_limit(struct nvmet_port *nport);
bool kfnt_unconnected_get(struct kfnt_port *port, struct kfnt_queue *queue,
			  const struct kfi_info *info);
void kfnt_unconnected_put(struct kfnt_port *port, struct kfnt_queue *queue);
void kfnt_timeout_work(struct work_struct *work);
bool kfnt_may_connect(struct kfnt_queue *queue, const struct nvmf_connect_command *c);
u16 kfnt_install_queue(struct nvmet_sq *sq);

/* tcmd.c */
struct kfnt_cmd *kfnt_cmds_alloc(struct kfnt_queue *queue, unsigned int n);
void kfnt_cmds_free(struct kfnt_queue *queue, struct kfnt_cmd *cmds, unsigned int n);
int kfnt_cmds_receive(struct kfnt_cmd *cmds, unsigned int n);
int kfnt_cmd_receive(struct kfnt_cmd *cmd);
void kfnt_cmd_release(struct kfnt_cmd *cmd);
u16 kfnt_map_ram(struct kfnt_cmd *cmd, u32 len);
void kfnt_queue_response(struct nvmet_req *req);

/* trma.c */
void kfnt_move(struct kfnt_cmd *cmd, bool reply);
void kfnt_resume_work(struct work_struct *work);
void kfnt_round_end(struct kfid_cq *cq, void *context);
void kfnt_answer_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);

/* tplace.c */
bool kfnt_bypass(void);
void kfnt_disks_free(struct kfnt_domain *dom);
void kfnt_places_open(struct kfnt_queue *queue);
void kfnt_places_close(struct kfnt_queue *queue);
bool kfnt_place_begin(struct kfnt_cmd *cmd, u32 len);
void kfnt_place_get(struct kfnt_cmd *cmd);
ssize_t kfnt_place_put(struct kfnt_cmd *cmd);
void kfnt_place_failed(struct kfnt_cmd *cmd);
void kfnt_place_check(struct kfnt_cmd *cmd);
void kfnt_place_end(struct kfnt_cmd *cmd);
void kfnt_count_staged(const struct kfnt_cmd *cmd);
void kfnt_places_init(void);
void kfnt_places_exit(void);

/* tverify.c */
bool kfnt_check_begin(const struct kfnt_cmd *cmd, struct kfnt_check *check, u32 len);
void kfnt_check_end(struct kfnt_check *check);
const char *kfnt_check_result(const struct kfnt_cmd *cmd, struct kfnt_check *check, int err);

#endif /* KFNT_TARGET_H */
