/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf.h - the objects of kfi_perf.ko, an in-kernel consumer that measures.
 *
 * A flow is one endpoint with its queue, buffers and operations; it moves
 * control messages and payload. A run (client) and a session (server) each own
 * a flow and a thread, and differ in what they do when payload has come or gone
 * (struct perf_role).
 *
 * With KFI_PERF_WAIT_BLOCK only the flow's thread touches a flow: it reads the
 * queue, handles events and posts. With KFI_PERF_WAIT_SOFTIRQ events are handled
 * by done() callbacks under flow.lock, and the thread takes that lock for what
 * it does itself (flow_call()).
 *
 * Locks, outermost first: perf_net.lock (mutex), flow.lock (spin, bh).
 */
#ifndef _KFI_PERF_H
#define _KFI_PERF_H

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_mem.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <linux/kfi_perf.h>

#include "proto.h"

#define PERF_IOV_MAX	16		/* chunks of a buffer */
#define PERF_CHUNK	(1UL << 20)	/* bytes of a chunk, but for the last */
#define PERF_CTL_OPS	4		/* control messages each way */
#define PERF_SLICE_MS	100		/* a sleep is never longer, to see stop requests */
#define PERF_NAME_MAX	256
#define PERF_HELLOS	16		/* receives for hellos */

/* ---- buf.c: memory and patterns ---- */

/**
 * struct perf_buf - a buffer
 * @mem: enum kfi_perf_mem
 * @len: bytes
 * @chunk: bytes of each chunk but the last
 * @nr: chunks; @va: where they lie
 * @dom: KFI_PERF_MEM_DOMAIN: the one chunk
 */
struct perf_buf {
	u8		mem;
	size_t		len;
	size_t		chunk;
	unsigned int	nr;
	void		*va[PERF_IOV_MAX];
	struct kfi_mem	*dom;
};

/**
 * struct perf_vec - the first bytes of a buffer as a message wants them
 * @type: which of the two
 * @count: entries
 */
struct perf_vec {
	enum kfi_iov_type	type;
	unsigned int		count;
	union {
		struct kvec	kvec[1];
		struct bio_vec	bvec[PERF_IOV_MAX];
	};
};

/* @domain: whose memory it is with KFI_PERF_MEM_DOMAIN, and stays open */
struct perf_buf *perf_buf_alloc(struct kfid_domain *domain, size_t len, u8 mem);
void perf_buf_free(struct perf_buf *buf);
void perf_buf_vec(const struct perf_buf *buf, size_t len, struct perf_vec *vec);

/* Messages lie in a region at multiples of this. */
static inline size_t perf_stride(const struct perf_hello *h)
{
	return round_up((size_t)h->size, 64);
}

u64 perf_seed(u64 seed, u64 seq);
/* Bytes @from to @from + @len of the buffer; @from is a multiple of 8. */
void perf_fill(struct perf_buf *buf, size_t from, size_t len, u64 seed);
bool perf_check(const struct perf_buf *buf, size_t from, size_t len, u64 seed);
/* What no pattern leaves behind. */
void perf_wipe(struct perf_buf *buf, size_t from, size_t len);

/* ---- samples.c: latencies ---- */

/**
 * struct perf_samples - a bounded random choice of all samples
 * @ns: the choice; @room: how many fit; @seen: samples so far
 * @min: @max: of all samples
 */
struct perf_samples {
	u32	*ns;
	u32	room;
	u64	seen;
	u32	min;
	u32	max;
};

int perf_samples_init(struct perf_samples *s, u64 expected);
void perf_samples_free(struct perf_samples *s);
void perf_samples_add(struct perf_samples *s, u64 ns);
void perf_samples_sort(struct perf_samples *s);
/* After sorting. */
u32 perf_samples_at(const struct perf_samples *s, unsigned int permille);

/* ---- flow.c, flow_post.c: one endpoint and what moves over it ---- */

enum perf_op_kind {
	PERF_OP_CTL_TX,
	PERF_OP_CTL_RX,		/* a receive too small for payload */
	PERF_OP_RX,		/* a receive for payload, or with KFI_PERF_SEND for both */
	PERF_OP_TX,
};

/**
 * struct perf_op - one operation, posted or free
 * @cqe: softirq: how it comes back
 * @flow: whose
 * @entry: in &perf_flow.tx_free or ctl_free while free
 * @kind: enum perf_op_kind
 * @echo: a received message on its way back; a receive again afterwards
 * @index: among its kind
 * @seq: number of the message it carries
 * @buf: its memory
 */
struct perf_op {
	struct kfi_cqe		cqe;
	struct perf_flow	*flow;
	struct list_head	entry;
	u8			kind;
	bool			echo;
	u32			index;
	u64			seq;
	struct perf_buf		*buf;
};

/**
 * struct perf_role - what a side does with payload; all called as events are
 * @data: a message of @len bytes is in @op's buffer; @op is the role's now
 * @sent: transmit operation @op has ended well; it is the role's now
 * @pump: post what can be posted
 */
struct perf_role {
	void (*data)(struct perf_flow *flow, struct perf_op *op, size_t len);
	void (*sent)(struct perf_flow *flow, struct perf_op *op);
	void (*pump)(struct perf_flow *flow);
};

/**
 * struct perf_flow - one endpoint and what moves over it
 *
 * Constant once it is open:
 * @net: namespace; not referenced, flows end before it does
 * @hello: what is measured; @role: what this side does
 * @ep_type: KFI_EP_MSG or KFI_EP_RDM; @softirq: done() callbacks
 * @info: what the endpoint was opened with
 * @fabric: @domain: borrowed by sessions (@own_domain false)
 * @eq: @cq: @av: @ep: its objects; @mr: region for the peer, with @region
 * @peer: whom we talk to
 * @base: @key: the peer's region
 * @inject: largest message that is injected
 * @ops: @nops: all operations
 * @inject_op: takes the failures of injected messages
 *
 * Under @lock with KFI_PERF_WAIT_SOFTIRQ, else the thread's:
 * @tx_free: @ctl_free: operations that are not posted
 * @rx_lost: receives that could not be posted yet
 * @inbox: control messages for the thread, @in_head to @in_tail
 * @received: @rx_bytes: payload that has come; @verified: @bad: of it
 * @ctl_busy: control messages being sent
 * @blocked: a post found no room
 *
 * @lock: see above
 * @wq: softirq: the thread waits here
 * @stop: the thread is to give up
 * @err: first error, negative; @what: in what
 * @closing: errors don't matter any more
 * @activity: counts events but the ends of our control messages
 * @last: when @activity was last seen to change, jiffies
 * @space_work: posts when there is room again
 * @tick: called by the thread several times a second, or NULL
 */
struct perf_flow {
	struct net		*net;
	struct perf_hello	hello;
	const struct perf_role	*role;
	u32			ep_type;
	bool			softirq;
	bool			own_domain;
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	struct kfid_ep		*ep;
	struct kfid_mr		*mr;
	struct perf_buf		*region;
	kfi_addr_t		peer;
	u64			base;
	u64			key;
	size_t			inject;
	struct perf_op		*ops;
	unsigned int		nops;
	struct perf_op		inject_op;

	struct list_head	tx_free;
	struct list_head	ctl_free;
	struct list_head	rx_lost;
	struct perf_ctl		inbox[2 * PERF_CTL_OPS];
	unsigned int		in_head;
	unsigned int		in_tail;
	u64			received;
	u64			rx_bytes;
	u64			verified;
	u64			bad;
	unsigned int		ctl_busy;
	bool			blocked;

	spinlock_t		lock;
	wait_queue_head_t	wq;
	bool			stop;
	int			err;
	const char		*what;
	bool			closing;
	u64			activity;
	u64			activity_seen;
	unsigned long		last;
	struct work_struct	space_work;
	void			(*tick)(struct perf_flow *flow);
};

/**
 * struct perf_shape - how many operations and buffers a side needs
 * @tx: transmit operations for payload; @tx_len: bytes of their buffers
 * @rx: receives for payload; @rx_len: bytes of their buffers
 */
struct perf_shape {
	unsigned int	tx;
	size_t		tx_len;
	unsigned int	rx;
	size_t		rx_len;
};

/*
 * Whoever has started the thread ends it: kthread_stop(). Its wake-up counts from before the look.
 */
static inline void perf_await_stop(void)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

static inline bool perf_is_rma(const struct perf_hello *h)
{
	return h->op == KFI_PERF_WRITE || h->op == KFI_PERF_READ;
}

/* Plain receives may get control messages and payload, and have room for both. */
static inline bool perf_mixed(const struct perf_hello *h, const struct perf_shape *shape)
{
	return h->op == KFI_PERF_SEND && shape->rx;
}

void perf_flow_init(struct perf_flow *flow, struct net *net, u32 ep_type,
		    const struct perf_hello *hello, const struct perf_role *role);
int perf_flow_domain(struct perf_flow *flow);
int perf_flow_ops(struct perf_flow *flow, const struct perf_shape *shape);
int perf_flow_open(struct perf_flow *flow, const struct perf_shape *shape);
int perf_flow_region(struct perf_flow *flow, size_t len);
int perf_flow_post_rx(struct perf_flow *flow);
void perf_flow_close(struct perf_flow *flow);
int perf_flow_fail(struct perf_flow *flow, int err, const char *what);
void perf_flow_stop(struct perf_flow *flow);

/* Events (flow.c); posting (flow_post.c) under the lock, from role callbacks or flow_call() */
void perf_flow_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
void perf_flow_event(struct perf_flow *flow, struct perf_op *op, const struct kfi_cq_err_entry *wc);
void perf_flow_space(struct work_struct *work);
int perf_post_rx(struct perf_flow *flow, struct perf_op *op);
int perf_post_tx(struct perf_flow *flow, struct perf_op *op, size_t len, u64 flags);
int perf_post_rma(struct perf_flow *flow, struct perf_op *op, u64 flags);
int perf_post_ctl(struct perf_flow *flow, const struct perf_ctl *ctl);
bool perf_injects(const struct perf_flow *flow, size_t len);

/* By the flow's thread */
int perf_flow_call(struct perf_flow *flow, int (*fn)(struct perf_flow *flow, void *arg), void *arg);
int perf_flow_wait(struct perf_flow *flow, bool (*until)(struct perf_flow *flow), const char *what);
int perf_flow_send(struct perf_flow *flow, const struct perf_ctl *ctl);
int perf_flow_recv(struct perf_flow *flow, struct perf_ctl *ctl, const char *what);
int perf_flow_flush(struct perf_flow *flow);
int perf_flow_connected(struct perf_flow *flow, const char *what);

/* ---- open.c: discovery and addresses ---- */

/**
 * struct perf_ask - whom and what to look for
 * @net: @prov: @node: @service: @flags: as kfi_getinfo_net() takes them
 * @fabric: @domain: open objects that it has to belong to, or NULL
 * @ep_type: @caps: what is wanted
 * @tx: @rx: operations that can be outstanding
 * @iov: entries of a vector
 * @mr_iov: entries of a region's
 * @msg: largest message, bytes
 * @delivery: completions of writes mean delivery
 */
struct perf_ask {
	struct net	*net;
	const char	*prov, *node, *service;
	u64		flags;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	u32		ep_type;
	u64		caps;
	size_t		tx, rx, iov, mr_iov, msg;
	bool		delivery;
};

int perf_getinfo(const struct perf_ask *ask, struct kfi_info **info);
u64 perf_caps(const struct perf_hello *hello);
void perf_ask_flow(struct perf_ask *ask, const struct perf_hello *hello,
		   const struct perf_shape *shape);

/* ---- server.c, session.c ---- */

struct perf_counts {
	atomic_t	sessions;
	atomic64_t	sessions_total;
	atomic64_t	refused;
	atomic64_t	messages;
	atomic64_t	bytes;
	atomic64_t	errors;
};

/**
 * struct perf_server - answers, on one address or on all of the namespace
 * @entry: in &perf_net.servers; @id: its number
 * @net: namespace; not referenced, servers end before it does
 * @prov: @node: @service: @ep_type: as asked for; @prov and @node may be empty
 * @listeners: one for each address
 * @counts: figures
 */
struct perf_server {
	struct list_head	entry;
	u32			id;
	struct net		*net;
	char			prov[KFI_NAME_MAX];
	char			node[PERF_NAME_MAX];
	char			service[KFI_NAME_MAX];
	u32			ep_type;
	struct list_head	listeners;
	struct perf_counts	counts;
};

/**
 * struct perf_listener - one address of a server
 * @entry: in &perf_server.listeners
 * @server: whose
 * @info: what it was opened with
 * @fabric: @domain: @eq: its objects, which sessions share
 * @pep: MSG: where clients connect
 * @ep: @cq: @av: RDM: where hellos arrive; @bufs: its receives
 * @task: its thread
 * @sessions: the thread's list
 */
struct perf_listener {
	struct list_head	entry;
	struct perf_server	*server;
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_pep		*pep;
	struct kfid_ep		*ep;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	u8			(*bufs)[PERF_CTL_MAX];
	struct task_struct	*task;
	struct list_head	sessions;
};

int perf_server_start(struct perf_server *server);
void perf_server_free(struct perf_server *server);
/* Send a WELCOME with an error. Takes the handle of @req, not @req itself. */
void perf_refuse(struct perf_listener *l, const struct perf_ctl *hello, struct kfi_info *req,
		 int err);
/* Takes @req, the info of a connection request, or NULL. */
void perf_session_start(struct perf_listener *l, const struct perf_ctl *hello,
			struct kfi_info *req);
void perf_sessions_reap(struct perf_listener *l, bool all);

/* ---- run.c, run_role.c ---- */

/**
 * struct perf_run - one measurement
 * @entry: in &perf_net.runs; @id: its number; @portid: socket it belongs to
 * @net: namespace; not referenced
 * @prov: @node: @service: @ep_type: where the server is
 * @task: its thread; @free_work: ends it when its socket has gone
 * @iterations: @duration_ms: @warmup: @batch: as asked for
 *
 * The flow's, see there:
 * @flow: endpoint and buffers
 * @limit: operations that may be posted so far
 * @posted: @completed: operations, with those of the warm-up
 * @expired: the time is over; @until: when, jiffies
 * @t_post: when the operation in flight was posted (latency)
 * @t_start: @t_end: of what counts
 * @samples: latencies
 *
 * The thread's; netlink looks on:
 * @state: enum kfi_perf_state, stored last; @err: @what: why it failed
 * @remote_bad: @checked: verdicts of the server; @lost: messages it missed
 * @t_event: @t_ping: when the last ones were sent, jiffies
 */
struct perf_run {
	struct list_head	entry;
	u32			id;
	u32			portid;
	struct net		*net;
	char			prov[KFI_NAME_MAX];
	char			node[PERF_NAME_MAX];
	char			service[KFI_NAME_MAX];
	u32			ep_type;
	struct task_struct	*task;
	struct work_struct	free_work;
	u64			iterations;
	u32			duration_ms;
	u32			warmup;
	u32			batch;

	struct perf_flow	flow;
	u64			limit;
	u64			posted;
	u64			completed;
	bool			expired;
	unsigned long		until;
	u64			t_post;
	u64			t_start;
	u64			t_end;
	struct perf_samples	samples;

	u32			state;
	int			err;
	const char		*what;
	u64			remote_bad;
	u64			checked;
	u64			lost;
	unsigned long		t_event;
	unsigned long		t_ping;
};

/** struct perf_result - what netlink tells about a run */
struct perf_result {
	u32	state;
	int	err;
	const char *what;
	u64	iterations, bytes, elapsed_ns;
	u64	lat_min, lat_median, lat_p99, lat_max;
	u64	verified, bad, lost, permille;
};

extern const struct perf_role perf_run_role;

int perf_run_start(struct perf_run *run);
void perf_run_free(struct perf_run *run);
void perf_run_result(struct perf_run *run, struct perf_result *res);
bool perf_run_idle(struct perf_flow *flow);
u64 perf_run_total(const struct perf_run *run);

/* ---- netlink.c, main.c ---- */

/**
 * struct perf_net - what there is in one namespace
 * @lock: protects the lists and the life of what is in them
 * @servers: @runs: by age
 * @nservers: @nruns: their numbers
 */
struct perf_net {
	struct mutex		lock;
	struct list_head	servers;
	struct list_head	runs;
	unsigned int		nservers;
	unsigned int		nruns;
};

extern struct workqueue_struct *perf_wq;
extern unsigned int perf_max_sessions;
extern unsigned int perf_session_mib;

struct perf_net *perf_net(struct net *net);
u32 perf_new_id(void);
int perf_nl_init(void);
void perf_nl_exit(void);
void perf_nl_run_event(struct perf_run *run);

#endif /* _KFI_PERF_H */
