/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf.h - the objects of kfi_perf.ko, a consumer in the kernel that measures.
 *
 * A flow is one endpoint with its queue, buffers and operations; it moves control messages and
 * payload. A run (client) and a session (server) each own a flow and a thread, and differ in their
 * reactions to payload that was received or sent (struct perf_role).
 *
 * The kit (kfi_conn.h) opens, connects and closes; receives of payload are not the kit's, because
 * they are in the memory that is measured. With KFI_PERF_WAIT_BLOCK only the flow's thread uses a
 * flow: it reads the queue, handles events and posts. With KFI_PERF_WAIT_SOFTIRQ done() callbacks
 * handle events under flow.lock, and the thread takes that lock for its own work (perf_flow_call()).
 * Neither posts between kfi_conn_enter() and kfi_conn_exit(), as the endpoint is closed when the
 * thread has ended and nothing else posts (perf_flow_end()).
 *
 * Locks, outermost first: perf_net.lock (mutex); server.lock (spinlock); flow.lock (spinlock, bh).
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

#include <kfi_conn.h>
#include <kfi_mem.h>
#include <kfi_tagged.h>
#include <linux/kfi_perf.h>

#include "proto.h"

#define PERF_IOV_MAX	16		/* chunks of a buffer */
#define PERF_CHUNK	(1UL << 20)	/* bytes of a chunk, except the last */
#define PERF_CHUNK_MAX	(4UL << 20)	/* the same of a buffer that has too many otherwise */
#define PERF_CTL_OPS	4		/* control messages in each direction */
#define PERF_SLICE_MS	100		/* maximum sleep, after which stop requests are checked */
#define PERF_NAME_MAX	256
#define PERF_HELLOS	16		/* receives for hellos */

/* ---- buf.c: memory and patterns ---- */

/**
 * struct perf_buf - a buffer
 * @mem: enum kfi_perf_mem
 * @len: bytes
 * @chunk: bytes of each chunk but the last
 * @nr: number of chunks
 * @va: their addresses
 * @dom: KFI_PERF_MEM_DOMAIN: the only chunk
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
 * struct perf_vec - the vector of the first bytes of a buffer
 * @type: which member of the union is used
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

/* Bytes of the chunks of a buffer of pages */
static inline size_t perf_chunk(size_t len)
{
	size_t chunk = PERF_CHUNK;

	while (chunk < PERF_CHUNK_MAX && len > PERF_IOV_MAX * chunk)
		chunk *= 2;
	return chunk;
}

/* @domain: owner of the memory with KFI_PERF_MEM_DOMAIN; must stay open */
struct perf_buf *perf_buf_alloc(struct kfid_domain *domain, size_t len, u8 mem);
void perf_buf_free(struct perf_buf *buf);
void perf_buf_vec(const struct perf_buf *buf, size_t len, struct perf_vec *vec);

/* Distance of messages in a region */
static inline size_t perf_stride(const struct perf_hello *h)
{
	return round_up((size_t)h->size, 64);
}

u64 perf_seed(u64 seed, u64 seq);
/* Write bytes @from to @from + @len of the pattern; @from is a multiple of 8. */
void perf_fill(struct perf_buf *buf, size_t from, size_t len, u64 seed);
bool perf_check(const struct perf_buf *buf, size_t from, size_t len, u64 seed);
/* Overwrite with bytes that are in no pattern. */
void perf_wipe(struct perf_buf *buf, size_t from, size_t len);

/* ---- samples.c: latencies ---- */

/**
 * struct perf_samples - a bounded random subset of all samples
 * @ns: the subset
 * @room: its capacity
 * @seen: samples so far
 * @min: of all samples
 * @max: of all samples
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
/* Valid after sorting. */
u32 perf_samples_at(const struct perf_samples *s, unsigned int permille);

/* ---- flow.c, flow_open.c, flow_post.c: one endpoint and its traffic ---- */

enum perf_op_kind {
	PERF_OP_CTL_TX,
	PERF_OP_CTL_RX,		/* a receive too small for payload */
	PERF_OP_RX,		/* a receive for payload, or with KFI_PERF_SEND for both */
	PERF_OP_TX,
};

/**
 * struct perf_op - one operation, posted or free
 * @cqe: softirq: completion callback
 * @flow: its flow
 * @entry: in &perf_flow.tx_free or ctl_free while free
 * @kind: enum perf_op_kind
 * @echo: a received message that is sent back; becomes a receive again
 * @index: among the operations of its kind
 * @seq: number of its message
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
 * struct perf_role - reactions of a side to payload; called like event handlers
 * @data: a message of @len bytes is in @op's buffer; the role owns @op now
 * @sent: transmit @op has ended without error; the role owns it now
 * @pump: post what can be posted
 */
struct perf_role {
	void (*data)(struct perf_flow *flow, struct perf_op *op, size_t len);
	void (*sent)(struct perf_flow *flow, struct perf_op *op);
	void (*pump)(struct perf_flow *flow);
};

/**
 * struct perf_flow - one endpoint and its traffic
 *
 * Constant while it is open:
 * @hello: what is measured
 * @version: version of its control messages; 0 until it is agreed
 * @role: what this side does
 * @ep_type: KFI_EP_MSG or KFI_EP_RDM
 * @softirq: done() callbacks
 * @dom: its domain, held because it has the memory of buffers
 * @conn: its endpoint
 * @mr: region for the peer, with @region
 * @base: base of the peer's region
 * @key: key of the peer's region
 * @inject: maximum length of injected messages
 * @tx_flags: when payload completes, 0: when its buffer can be used again
 * @ops: all operations
 * @nops: their number
 * @inject_op: gets the failures of injected messages
 *
 * Under @lock with KFI_PERF_WAIT_SOFTIRQ, otherwise owned by the thread:
 * @tx_free: operations that are not posted
 * @ctl_free: operations for control messages that are not posted
 * @rx_lost: receives that could not be posted yet
 * @inbox: control messages for the thread, from @in_head to @in_tail
 * @received: messages received
 * @rx_bytes: bytes received
 * @verified: messages verified
 * @bad: messages of these that were wrong
 * @ctl_busy: control messages being sent
 * @blocked: a post found no room
 *
 * @lock: see above
 * @wq: softirq: the thread waits here
 * @stop: the thread has to end
 * @err: first error, negative
 * @what: what has failed
 * @closing: errors are ignored
 * @activity: counts events except the ends of our control messages
 * @last: when @activity was last seen to change, jiffies
 * @space_work: posts when there is room again
 * @tick: called by the thread several times a second, or NULL
 */
struct perf_flow {
	struct perf_hello	hello;
	u8			version;
	const struct perf_role	*role;
	u32			ep_type;
	bool			softirq;
	struct kfi_dom		*dom;
	struct kfi_conn		conn;
	struct kfid_mr		*mr;
	struct perf_buf		*region;
	u64			base;
	u64			key;
	size_t			inject;
	u64			tx_flags;
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
 * struct perf_shape - numbers of operations and lengths of buffers of a side
 * @tx: transmit operations for payload
 * @tx_len: bytes of their buffers
 * @rx: receives for payload
 * @rx_len: bytes of their buffers
 */
struct perf_shape {
	unsigned int	tx;
	size_t		tx_len;
	unsigned int	rx;
	size_t		rx_len;
};

/*
 * Wait for kthread_stop(), which the creator of the thread calls. A wake-up before the check is not
 * lost.
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

/* Plain receives may get both control messages and payload, and have room for both. */
static inline bool perf_mixed(const struct perf_hello *h, const struct perf_shape *shape)
{
	return h->op == KFI_PERF_SEND && shape->rx;
}

void perf_flow_init(struct perf_flow *flow, u32 ep_type, const struct perf_hello *hello,
		    const struct perf_role *role, const struct kfi_conn_ops *ops);
void perf_flow_need(const struct perf_flow *flow, const struct perf_shape *shape,
		    struct kfi_need *need);
int perf_find(struct net *net, const struct kfi_need *need, const char *fabric, const char *node,
	      const char *service, struct kfi_info **info);
struct kfi_conn_attr perf_flow_attr(const struct perf_flow *flow, const struct perf_shape *shape);
int perf_flow_ops(struct perf_flow *flow, struct net *net, const struct kfi_info *info,
		  const struct perf_shape *shape);
int perf_flow_region(struct perf_flow *flow, size_t len);
int perf_flow_post_rx(struct perf_flow *flow);
void perf_flow_end(struct perf_flow *flow);
void perf_flow_free(struct perf_flow *flow);
void perf_flow_close(struct perf_flow *flow);
int perf_flow_fail(struct perf_flow *flow, int err, const char *what);
void perf_flow_stop(struct perf_flow *flow);
void perf_flow_wake(struct perf_flow *flow);

/*
 * Events (flow.c); posts (flow_post.c) under the lock, from callbacks of roles or perf_flow_call()
 */
void perf_flow_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
void perf_flow_event(struct perf_flow *flow, struct perf_op *op, const struct kfi_cq_err_entry *wc);
void perf_flow_space(struct work_struct *work);
int perf_post_rx(struct perf_flow *flow, struct perf_op *op);
int perf_post_tx(struct perf_flow *flow, struct perf_op *op, size_t len, u64 flags);
int perf_post_rma(struct perf_flow *flow, struct perf_op *op, u64 flags);
int perf_post_ctl(struct perf_flow *flow, const struct perf_ctl *ctl);
bool perf_injects(const struct perf_flow *flow, size_t len);

/* In the flow's thread */
int perf_flow_call(struct perf_flow *flow, int (*fn)(struct perf_flow *flow, void *arg), void *arg);
int perf_flow_wait(struct perf_flow *flow, bool (*until)(struct perf_flow *flow), const char *what);
int perf_flow_send(struct perf_flow *flow, const struct perf_ctl *ctl);
int perf_flow_recv(struct perf_flow *flow, struct perf_ctl *ctl, const char *what);
int perf_flow_flush(struct perf_flow *flow);

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
 * struct perf_server - serves one address, or all of the namespace
 * @entry: in &perf_net.servers
 * @id: its id
 * @net: namespace; not referenced, servers end before it does
 * @prov: as requested, may be empty
 * @node: as requested, may be empty
 * @service: as requested
 * @ep_type: as requested
 * @listener: MSG
 * @listens: @listener is open
 * @places: RDM: one for each address
 * @lock: protects the members below; never held while a session is waited for
 * @sessions: all sessions
 * @stopping: none may be added
 * @gone: perf_server_free() waits here for the last session
 * @counts: statistics
 */
struct perf_server {
	struct list_head	entry;
	u32			id;
	struct net		*net;
	char			prov[KFI_NAME_MAX];
	char			node[PERF_NAME_MAX];
	char			service[KFI_NAME_MAX];
	u32			ep_type;
	struct kfi_listener	listener;
	bool			listens;
	struct list_head	places;
	spinlock_t		lock;
	struct list_head	sessions;
	bool			stopping;
	wait_queue_head_t	gone;
	struct perf_counts	counts;
};

/**
 * struct perf_place - an endpoint that receives hellos, RDM. It is closed when no session is left
 * @entry: in &perf_server.places
 * @server: its server
 * @info: of its endpoint
 * @conn: its endpoint
 * @refusal: gets the failures of refusals
 */
struct perf_place {
	struct list_head	entry;
	struct perf_server	*server;
	struct kfi_info		*info;
	struct kfi_conn		conn;
	struct kfi_cqe		refusal;
};

/* Free with perf_server_free(). */
struct perf_server *perf_server_new(struct net *net);
int perf_server_start(struct perf_server *server);
void perf_server_free(struct perf_server *server);
/* Send a WELCOME with an error. Not in a softirq */
void perf_refuse(struct perf_place *place, const struct perf_ctl *hello, int err);

extern struct kfi_conn_ops perf_session_ops;

/* Return: 0, or a negative error: the caller can still be refused. */
int perf_session_accept(struct perf_server *server, const struct perf_ctl *hello,
			struct kfi_caller *caller);
void perf_session_start(struct perf_place *place, const struct perf_ctl *hello);
/* End all sessions, and wait for that. None is added any more. */
void perf_sessions_end(struct perf_server *server);

/* ---- run.c ---- */

/**
 * struct perf_run - one measurement
 * @entry: in &perf_net.runs
 * @id: its id
 * @portid: socket that owns it
 * @net: namespace; not referenced
 * @prov: of the server
 * @node: of the server
 * @service: of the server
 * @ep_type: of the server
 * @task: its thread
 * @free_work: ends the run when its socket has closed
 * @iterations: as requested
 * @duration_ms: as requested
 * @warmup: as requested
 * @batch: as requested
 * @driven: without a thread: a caller in the kernel drives and times it
 *
 * With the lock rules of the flow:
 * @flow: endpoint and buffers
 * @limit: operations that may be posted so far
 * @posted: operations posted, including the warm-up
 * @completed: operations completed, including the warm-up
 * @expired: the time is over
 * @until: when it is, jiffies
 * @t_post: when the present operation was posted (latency)
 * @t_start: begin of the measured time
 * @t_end: end of the measured time
 * @samples: latencies
 *
 * Owned by the thread, read by netlink:
 * @state: enum kfi_perf_state, stored last
 * @err: error of the run
 * @what: what has failed
 * @remote_bad: messages that the server found wrong
 * @checked: messages that the server has checked
 * @lost: messages that the server did not get
 * @t_event: when the last event was sent, jiffies
 * @t_ping: when the last PING was sent, jiffies
 * @leaving: no PING is sent any more
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
	bool			driven;

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
	bool			leaving;
};

/**
 * struct perf_result - what netlink reports about a run
 */
struct perf_result {
	u32	state;
	int	err;
	const char *what;
	u64	iterations, bytes, elapsed_ns;
	u64	lat_min, lat_median, lat_p99, lat_max;
	u64	verified, bad, lost, permille;
};

extern const struct perf_role perf_run_role;
extern const struct kfi_conn_ops perf_run_ops;

int perf_run_start(struct perf_run *run);
void perf_run_free(struct perf_run *run);
void perf_run_result(struct perf_run *run, struct perf_result *res);
bool perf_run_idle(struct perf_flow *flow);
u64 perf_run_total(const struct perf_run *run);

/* A run without a thread: kfi_bench */
int perf_run_join(struct perf_run *run, const struct perf_hello *hello, u64 tx_flags);
int perf_run_begin(struct perf_run *run, u64 ops);
int perf_run_finish(struct perf_run *run);
void perf_run_leave(struct perf_run *run);

/* ---- netlink.c, main.c ---- */

/**
 * struct perf_net - the objects of one namespace
 * @lock: protects the lists and the life of their members
 * @servers: sorted by age
 * @runs: sorted by age
 * @nservers: number of servers
 * @nruns: number of runs
 */
struct perf_net {
	struct mutex		lock;
	struct list_head	servers;
	struct list_head	runs;
	unsigned int		nservers;
	unsigned int		nruns;
};

extern struct workqueue_struct *perf_wq;

struct perf_net *perf_net(struct net *net);
u32 perf_new_id(void);
void perf_need_key(struct kfi_need *need);
int perf_nl_init(void);
void perf_nl_exit(void);
void perf_nl_run_event(struct perf_run *run);

#endif /* _KFI_PERF_H */
