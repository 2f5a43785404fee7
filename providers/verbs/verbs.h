/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs.h - objects of kfi_verbs, and the locks that protect them.
 *
 * Locks, outermost first:
 *
 *   rdma_cm's handler lock	the events of one identifier, one at a time
 *   kfi_conn_set.lock		of an endpoint or a passive endpoint, see kfi_conn_set.h
 *   kv_conn.rx_lock (spin, bh)	MSG: receives that the device has filled before KFI_CONNECTED was
 *				reported to the consumer
 *   kv_qp.lock (spin, bh)	the send queue, and the operations that wait for room in it. For RDM
 *				it is the lock of the link (kfi_link.h), under which the protocol
 *				runs; for MSG a post takes it, and completions are reported to
 *				consumers after it was dropped (struct kv_done)
 *   kv_ep.reg_lock (spin, bh)	MSG: regions that wait for the send queue
 *   kv_region.lock (spin, bh)	MSG: the registration of a region
 *   kv_rq.lock (spin, bh)	MSG: receives; taken with none of the locks above held
 *
 * Under the last two, and under kv_qp.lock, locks of the driver and of the DMA mapping are taken.
 *
 * Completions are handled where the completion queue of the device is polled: in softirq, or with
 * bottom halves off by the reader of the consumer's queue (cq.c).
 */
#ifndef _KFI_VERBS_VERBS_H
#define _KFI_VERBS_VERBS_H

#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <kfi_conn_set.h>
#include <kfi_link.h>
#include <kfi_poll_dev.h>
#include <kfi_prov.h>
#include <trace/events/kfi.h>
#include "dev.h"
#include "wire.h"

#define KV_SQ_ROOM	3		/* the most entries that one step puts into a send queue */
#define KV_INLINE	64		/* MSG: payload up to this length is copied */
#define KV_SIGNAL	16		/* one of so many work requests is reported */
/*
 * Time to empty the send queue when a connection ends. With the times that rdma_cm sets, RoCE
 * repeats a lost request after 540 ms, and the repeated request may be lost as well.
 */
#define KV_CLOSE_MS	2000
#define KV_REFUSE_MS	50		/* the same for a caller that was never admitted */
#define KV_LINGER_MS	1000		/* MSG: time for the peer to receive a refusal */
#define KV_EARLY_PING_MS	100	/* iWARP: time for the listener to accept */
#define KV_PROBE_MS	2000		/* time for the answer when a caller has the same name */

/* Module parameters (main.c) */
extern unsigned int kv_short_port;
extern struct kfi_proto kv_proto;

extern struct workqueue_struct *kv_cm_wq;	/* unbound: connections begin and work */
extern struct workqueue_struct *kv_end_wq;	/* unbound: connections end */
extern struct workqueue_struct *kv_region_wq;	/* unbound: may wait for memory */

extern struct kfi_prov_ops kv_msg_ops;

struct kv_conn;
struct kv_stream;

/**
 * struct kv_listener - listens for calls, see cm.c
 * @id: listening identifier, or NULL
 * @called: a peer calls with @id and @param. Takes over @id by kv_cm_take() and returns 0, or
 *	returns a negative errno: the call is refused. Under the handler lock, in NOIO context
 * @again: the address has moved: kv_cm_unbind(), kv_cm_bind(). Called by @again_work, once more
 *	after an error
 * @only: the device that it may listen at; NULL: any
 * @refusal: private data of a refusal, @refusal_len bytes
 * @addr: the address, which the owner of the listener has
 * @lock: protects @open and @moved
 * @open: @again_work may be queued
 * @moved: the address has moved since the listener was prepared
 * @told: the log has that it does not listen; used by @again_work
 */
struct kv_listener {
	struct rdma_cm_id	*id;
	int			(*called)(struct kv_listener *listener, struct rdma_cm_id *id,
					  const struct rdma_conn_param *param);
	int			(*again)(struct kv_listener *listener);
	const struct ib_device	*only;
	const void		*refusal;
	u8			refusal_len;
	const union kfi_inaddr	*addr;
	spinlock_t		lock;
	bool			open;
	bool			moved;
	bool			told;
	struct delayed_work	again_work;
};

/**
 * struct kv_rq - receives of a MSG endpoint, see plain.c
 * @lock: protects the following members, and posting to the receive queue of @conn
 * @closed: the endpoint has stopped or its connection has ended: posts are refused
 * @conn: the connection whose queue pair takes receives, or NULL
 * @waiting: receives that were posted while @conn was NULL
 */
struct kv_rq {
	spinlock_t		lock;
	bool			closed;
	struct kv_conn		*conn;
	struct list_head	waiting;
};

/**
 * struct kv_ep - an endpoint
 * @pe: the protocol's part; MSG endpoints use only its connection set
 * @addr: own name; the port is fixed at enable
 * @listener: RDM: for links
 * @pd: MSG: protection domain of its queue pairs and regions; NULL after the device was removed.
 *	Valid with a reference of kv_domain_get()
 * @pd_entry: MSG: in &kv_domain.pds as long as @pd is valid
 * @rq: MSG: its receives
 * @reg_lock: protects @reg_queue; taken inside kv_qp.lock
 * @reg_queue: MSG: regions whose registrations are the next requests for the send queue (rkey.c)
 */
struct kv_ep {
	struct kfi_proto_ep	pe;
	union kfi_inaddr	addr;
	struct kv_listener	listener;
	struct ib_pd		*pd;
	struct list_head	pd_entry;
	struct kv_rq		rq;
	spinlock_t		reg_lock;
	struct list_head	reg_queue;
};

/**
 * struct kv_pep - a passive endpoint
 * @pep: common part
 * @addr: address on which it listens
 * @listener: for connection requests
 * @dev: device of @listener, or NULL if it listens on all devices
 * @conn_set: connection requests that were not answered
 */
struct kv_pep {
	struct kfi_pep		pep;
	union kfi_inaddr	addr;
	struct kv_listener	listener;
	struct kv_dev		*dev;
	struct kfi_conn_set	conn_set;
};

/**
 * struct kv_frmr - local memory that the peer may write to
 * @entry: in &kv_stream.frmrs or &kv_stream.ending
 * @mr: fast registration; its key changes with each use
 * @sg: room for &kv_domain.max_frmr_pages entries
 * @nents: entries of @sg that are mapped
 * @x: what is exposed; this registration holds a part of it
 * @next: registration of the next part of @x
 */
struct kv_frmr {
	struct list_head	entry;
	struct ib_mr		*mr;
	struct scatterlist	*sg;
	unsigned int		nents;
	struct kfi_exposed	*x;
	struct kv_frmr		*next;
};

/** enum kv_sqe_kind - purpose of a work request */
enum kv_sqe_kind {
	KV_SQ_OTHER,		/* its completion only frees entries of the ring */
	KV_SQ_MESSAGE,		/* MSG: a SEND; its completion ends @op, unless that is NULL */
	KV_SQ_PART,		/* MSG: a part of @op, or its SEND; @op ends with the last one */
	KV_SQ_BYE,		/* MSG: an empty WRITE; its completion ends the connection */
	KV_SQ_REGION,		/* MSG: @region is registered */
	KV_SQ_INV,		/* RDM: @frmr is invalidated */
	KV_SQ_MAPPED,		/* RDM: the device has read payload in the memory of its owner */
};

/**
 * struct kv_sqe - a work request in a send queue. Requests complete in order: the report of one
 *	request completes all requests before it
 * @cqe: its completion
 * @qp: the queue pair
 * @kind: enum kv_sqe_kind
 * @read: the request is a READ
 * @done: the request has ended, with @err
 * @atom: RMA: first request of its operation, and not longer than a packet: if the peer's device
 *	refuses it, no byte has moved
 * @notify: kfi.ko waits for kfi_mr_registered() of @region
 * @nsge: local segments
 * @mapped: the last @mapped segments are memory of a consumer
 * @unmapped: bitmap of segments that must not be unmapped
 * @dir: DMA direction of the mapped segments
 * @op: KV_SQ_MESSAGE, KV_SQ_PART: the operation; @frmr: KV_SQ_INV; @region: KV_SQ_REGION
 * @next: KV_SQ_MAPPED: position in the stream of the payload of the next such request
 * @buf: &kv_qp.buf_size bytes
 * @dma: address of @buf for the device
 * @wr: the request in the format of the RDMA core; @sge: its local segments
 */
struct kv_sqe {
	struct ib_cqe		cqe;
	struct kv_qp		*qp;
	u8			kind;
	bool			read;
	bool			done;
	bool			atom;
	bool			notify;
	u8			nsge;
	u8			mapped;
	u32			unmapped;
	enum dma_data_direction	dir;
	int			err;
	union {
		struct kfi_oper		*op;
		struct kv_frmr		*frmr;
		struct kv_region	*region;
	};
	u64			next;
	void			*buf;
	u64			dma;
	union {
		struct ib_send_wr	send;
		struct ib_rdma_wr	rdma;
		struct ib_reg_wr	reg;
	} wr;
	struct ib_sge		sge[KV_SGE + 1];
};

/** enum kv_cm_state - see cm.c */
enum kv_cm_state {
	KV_CM_NEW,
	KV_CM_CALLING,
	KV_CM_CALLED,
	KV_CM_CONNECTED,
};

/* kv_qp.steps, in the order of their execution; see cm.c */
enum {
	KV_STEP_CALL,
	KV_STEP_CONNECT,
	KV_STEP_ACCEPT,
	KV_STEP_READY,
};

/**
 * struct kv_qp_ops - what the owner of a queue pair does
 * @open: create the queue pair and post the first receives. A step
 * @answered: the peer has accepted or rejected the call of this side, with private data. Returns
 *	the error of a rejection, or of a connection that this side ends. Handler lock
 * @ready: the connection is established: calls kv_cm_up(). A step, called once
 * @watch: once in an interval: look whether the peer is alive, see kv_watch(). Returns whether a
 *	peer is dead that is silent for @timeout. Under the lock
 * @fail: end the connection; the first reason counts. Any context, without the lock
 * @stopped: the device has stopped the queue pair by itself. Process context
 * @sent: completion of a work request
 */
struct kv_qp_ops {
	int	(*open)(struct kv_qp *qp);
	int	(*answered)(struct kv_qp *qp, const void *data, u8 len, bool accepted);
	void	(*ready)(struct kv_qp *qp);
	bool	(*watch)(struct kv_qp *qp, unsigned long timeout);
	void	(*fail)(struct kv_qp *qp, int err);
	void	(*stopped)(struct kv_qp *qp);
	void	(*sent)(struct ib_cq *cq, struct ib_wc *wc);
};

/**
 * struct kv_qp - a queue pair with its send queue, and the connection that rdma_cm makes for it;
 *	MSG and RDM share it
 * @ops: operations of the owner
 * @vep: its endpoint; MSG: NULL while a request waits at a passive endpoint
 * @ib: queue pair of the device; NULL before it is created and after it is destroyed
 * @kdom: domain of @vep, referenced
 * @id: identifier of rdma_cm, see cm.c
 * @state: enum kv_cm_state. Written under the handler lock, or before another context knows @id
 * @to: address that is called
 * @data: private data for the peer, @data_len bytes
 * @reads_served: READs of the peer that this side serves at a time
 * @steps: KV_STEP_* bits, executed by @step_work
 * @cq: completion queue
 * @ncqe: entries reserved in a shared @cq; 0: @cq is not shared, and is polled by @poll_dev
 * @poll_dev: see cq.c
 * @event_work: the device has reported an event
 * @watch_work: checks whether the peer answers
 * @lock: protects the following members
 * @up: the connection is established: frames or operations may be sent
 * @detached: kv_cm_detach(): no step is queued any more, and nothing of a consumer is posted
 * @silent: nothing was received from the peer since @since, jiffies
 * @broken: a request was refused by the device or has failed: no more requests are posted
 * @fenced: only registrations follow the last invalidation, see kv_put_fence()
 * @lkey: key of local memory, of the queue pair's protection domain
 * @in_request: longest data that is passed to the device inside the work request, bytes
 * @depth: entries of @sq, a power of two
 * @buf_size: bytes of &kv_sqe.buf, a power of two
 * @chain: work requests that were not posted to the device yet; @chain_end: the last one
 * @sq: ring of work requests
 * @head: next entry to fill
 * @tail: oldest entry that is not complete
 * @reported: all entries before this one have ended, except READs, each of which has its own report
 * @due: the device will report an entry before this one
 * @reads: READs in flight, at most @reads_max, the number that the peer's device serves at a time
 * @mtu: bytes of a packet: an access of at most so many bytes moves all of them or none
 * @last_active: time of the last completion that shows that the peer works, jiffies
 */
struct kv_qp {
	const struct kv_qp_ops	*ops;
	struct kv_ep		*vep;
	struct ib_qp		*ib;
	struct kv_domain	*kdom;
	struct rdma_cm_id	*id;
	u8			state;
	const union kfi_inaddr	*to;
	const void		*data;
	u8			data_len;
	u8			reads_served;
	unsigned long		steps;
	struct work_struct	step_work;
	struct delayed_work	watch_work;
	struct ib_cq		*cq;
	unsigned int		ncqe;
	struct kfi_poll_dev	poll_dev;
	struct work_struct	event_work;

	spinlock_t		lock ____cacheline_aligned;
	bool			up;
	bool			detached;
	bool			silent;
	bool			broken;
	bool			fenced;
	u32			lkey;
	u32			in_request;
	u32			depth;
	u32			buf_size;
	struct ib_send_wr	*chain;
	struct ib_send_wr	*chain_end;
	struct kv_sqe		*sq;
	u32			head, tail, reported;
	u32			due;
	unsigned int		reads, reads_max;
	u32			mtu;
	unsigned long		last_active;
	unsigned long		since;
};

/**
 * struct kv_qp_need - properties of a queue pair to be created
 * @pd: protection domain
 * @depth: entries of the send queue, a power of two
 * @buf_size: &kv_qp.buf_size
 * @receives: entries of the receive queue
 * @recv_sge: segments of a receive
 */
struct kv_qp_need {
	struct ib_pd		*pd;
	u32			depth;
	u32			buf_size;
	u32			receives;
	u32			recv_sge;
};

/* ------------------------------------------------------------------ */
/* MSG: a queue pair without the message protocol (plain.c)		      */
/* ------------------------------------------------------------------ */

/* kv_conn.flags */
enum {
	KV_FAILED,		/* kv_conn_fail() was called */
	KV_BYE_WANTED,
	KV_BYE_SENT,
	KV_FLUSHED,		/* the device has stopped the queue pair by itself */
	KV_WAS_UP,		/* KFI_CONNECTED was reported when the connection failed */
	KV_REJECTED,		/* the consumer has rejected the request */
};

/**
 * struct kv_conn - the connection of a MSG endpoint
 * @qp: its queue pair. &kv_qp.lock protects the operations that were posted. &kv_qp.vep changes
 *	with @pc's connection set; &kv_qp.up: KFI_CONNECTED is reported, and operations are sent
 * @flags: bits, see above
 * @waits: operations wait for room: set when kv_tx_left() becomes true, cleared by kv_tx_run()
 * @queue: operations in posting order
 * @failed: operations to be completed when the connection is down
 * @op: RMA operation that is partly in the send queue
 * @inflight: operations that end with the completion of work requests
 * @tx_bytes: payload sent; @rx_bytes: payload received
 * @rx_lock: protects @held and @rx_held
 * @rqe: the ring of receives, see recv.c: @rq_mask, @rq_tail, and @rq_head under &kv_rq.lock
 * @rx_held: KFI_CONNECTED was not reported to the consumer yet: receives wait in @held
 * @ref: references: one held by the connection set, one by each queued work item, and one by the
 *	consumer until it accepts or rejects @req
 * @pc: common part
 * @error: reason for the end of the connection, negative
 * @name: address of the peer
 * @data_in: private data of the peer, @data_in_len bytes
 * @data_out: private data for the peer, &kv_qp.data
 * @rejected: the peer's consumer has rejected the call
 * @requested: @req was reported to the consumer
 * @down_work: takes the connection down
 * @more_work: sends operations with KFI_MORE that no other operation followed
 * @deadline: ends an attempt to connect or a shutdown that takes too long
 */
struct kv_conn {
	struct kv_qp		qp;
	unsigned long		flags;
	bool			waits;
	struct list_head	queue;
	struct list_head	failed;
	struct kfi_oper		*op;
	unsigned int		inflight;
	u64			tx_bytes, rx_bytes;

	spinlock_t		rx_lock ____cacheline_aligned;
	struct list_head	held;
	struct kv_rqe		*rqe;
	u32			rq_mask, rq_tail;
	u32			rq_head;
	bool			rx_held;

	refcount_t		ref ____cacheline_aligned;
	struct kfi_peer_conn	pc;
	int			error;
	union kfi_inaddr	name;
	u8			data_in[KVW_DATA_MAX];
	u8			data_in_len;
	u8			data_out[KVW_DATA_MAX];
	bool			rejected;
	bool			requested;
	struct work_struct	down_work;
	struct delayed_work	more_work;
	struct delayed_work	deadline;
	struct kfi_connreq	req;
};

/**
 * struct kv_op - private part of a transmit operation of a MSG endpoint
 * @conn: its connection
 * @begun: RMA: a work request of the operation was put into the send queue
 * @issued: RMA: no more work requests of the operation will follow
 * @wrs: RMA: work requests that have not ended, with the SEND of a reply
 * @err: result of the operation
 * @seg: RMA: remote segment of the next work request; @at: its position in the segment
 * @iter: RMA: local memory for the next work requests
 */
struct kv_op {
	struct kv_conn		*conn;
	bool			begun;
	bool			issued;
	u16			seg;
	int			err;
	unsigned int		wrs;
	u64			at;
	struct iov_iter		iter;
};

/** struct kv_done - @ops: operations that have ended, in order; @ops_end: end of this list */
struct kv_done {
	struct llist_node	*ops;
	struct llist_node	**ops_end;
};

#define KV_DONE(d)	{ NULL, &(d).ops }

static inline void kv_done_op(struct kv_done *done, struct kfi_oper *op)
{
	op->lnode.next = NULL;
	*done->ops_end = &op->lnode;
	done->ops_end = &op->lnode.next;
}

static inline struct kv_op *kv_op(const struct kfi_oper *op)
{
	return op->priv;
}

static inline struct kv_ep *to_kv_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct kv_ep, pe.ep);
}

static inline struct kv_conn *to_kv_conn(const struct kfi_peer_conn *pc)
{
	return container_of(pc, struct kv_conn, pc);
}

static inline struct kv_pep *to_kv_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct kv_pep, pep);
}

static inline bool kv_is_plain(const struct kfi_info *info)
{
	return info->ep_attr && info->ep_attr->type == KFI_EP_MSG;
}

/* Return the limit of segments of a message. @device: limit of the device for a request */
static inline unsigned int kv_plain_pieces(unsigned int device)
{
	return min_t(unsigned int, KV_SGE, device);
}

/* ------------------------------------------------------------------ */
/* RDM: a link of the message protocol				      */
/* ------------------------------------------------------------------ */

/**
 * struct kv_link - the link of a connection of an RDM endpoint
 * @link: the protocol's part
 * @stream: its queue pair; NULL after the close
 */
struct kv_link {
	struct kfi_link		link;
	struct kv_stream	*stream;
};

/**
 * struct kv_buf - a receive
 * @cqe: its completion
 * @stream: the stream
 * @page: memory; @dma: its address for the device
 * @at: position of the first byte that the protocol has not read
 * @len: bytes that were received, including the head
 */
struct kv_buf {
	struct ib_cqe		cqe;
	struct kv_stream	*stream;
	struct page		*page;
	u64			dma;
	u32			at;
	u32			len;
};

/* kv_stream.due */
enum {
	KV_DUE_LIMIT,		/* report the number of receives that were posted */
	KV_DUE_PING,		/* request an answer */
	KV_DUE_PONG,		/* answer a ping */
};

/**
 * struct kv_stream - byte streams in both directions, and the queue pair that transports them
 * @qp: the queue pair. Its lock is the lock of the link, and protects all members
 * @link: the link, until it is detached
 * @pinged: a ping was sent or is to be sent, and was not answered
 * @due: KV_DUE_* bits that the next SEND has to transmit
 * @ended: reason for the end of the connection, a negative errno, or 0
 * @limit: receives that the peer has posted since the connection began
 * @sent: SENDs since the connection began, never more than @limit
 * @posted: bytes that were accepted from the protocol
 * @mapped: KV_SQ_MAPPED requests in the send queue, @last_mapped the last one
 * @read_to: with @mapped: position of the payload of the first of these requests
 * @starved: kfi_link_room() has to be called when there is room
 * @receiving: kv_recv_done() runs, and calls kv_stream_run() at its end
 * @early_ping: iWARP: send a ping, because the listener may have missed the first SEND
 * @stuck: the device has to report a work request, and has reported none since @stuck_since
 * @nbufs: number of receives
 * @recvs_posted: receives posted since the connection began; @recvs_advertised: value last sent to
 *	the peer
 * @bufs: all receives
 * @rxq: ring of the receives that wait to be read, from @rxq_tail to @rxq_head
 * @frmrs: free registrations; @ending: registrations to be invalidated when there is room
 * @frmr_mem: all registrations; @frmr_sg: memory of their scatterlists
 * @event_wait: woken when a SEND of the peer has arrived, or the link has ended
 * @probing: time of the last probe of the protocol, jiffies, or 0
 * @known: this side has called, or the protocol has admitted the peer; used only by work items of
 *	the protocol
 */
struct kv_stream {
	struct kv_qp		qp;
	struct kfi_link		*link;
	bool			pinged;
	unsigned long		due;
	int			ended;
	u32			limit, sent;
	u64			posted;
	u32			mapped;
	struct kv_sqe		*last_mapped;
	u64			read_to;
	bool			starved;
	bool			receiving;
	bool			early_ping;
	bool			stuck;
	unsigned long		stuck_since;
	u32			nbufs;
	u32			recvs_posted, recvs_advertised;
	struct kv_buf		*bufs;
	struct kv_buf		*rxq[KV_RECVS];
	u32			rxq_head, rxq_tail;
	struct list_head	frmrs;
	struct list_head	ending;
	struct kv_frmr		*frmr_mem;
	struct scatterlist	*frmr_sg;
	wait_queue_head_t	event_wait;
	unsigned long		probing;
	bool			known;
};

static inline struct kv_link *to_kv_link(const struct kfi_link *link)
{
	return container_of(link, struct kv_link, link);
}

static inline struct kv_stream *kv_stream_of(const struct kfi_link *link)
{
	return to_kv_link(link)->stream;
}

/* ep.c */
int kv_ep_open(struct kfi_ep *ep);
int kv_ep_enable(struct kfi_ep *ep);
void kv_ep_stop(struct kfi_ep *ep, int err);
void kv_ep_restart(struct kfi_ep *ep);
void kv_ep_close(struct kfi_ep *ep);
int kv_ep_getname(struct kfi_ep *ep, void *addr);
int kv_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
void kv_ep_peers(struct kfi_ep *ep, u32 after,
		 int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/* msg.c: connected endpoints, and passive endpoints */
struct kv_conn *kv_msg_conn(struct kv_ep *vep);
int kv_msg_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int kv_msg_accept(struct kfi_ep *ep, const void *data, size_t len);
int kv_msg_shutdown(struct kfi_ep *ep);
int kv_msg_getpeer(struct kfi_ep *ep, void *addr);
void kv_msg_ready(struct kv_conn *conn);
bool kv_msg_was_ready(struct kv_conn *conn);
void kv_msg_lost(struct kv_conn *conn, int err);
int kv_pep_open(struct kfi_pep *pep);
void kv_pep_close(struct kfi_pep *pep);
int kv_pep_getname(struct kfi_pep *pep, void *addr);
int kv_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int kv_pep_listen(struct kfi_pep *pep);
int kv_pep_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);

/*
 * cm.c: rdma_cm. Process context, except for kv_cm_step() (any context) and kv_cm_up() (under the
 * lock). kv_cm_create() and kv_cm_bind() return 0 or a negative errno.
 */
int kv_cm_create(struct kv_qp *qp);
void kv_cm_take(struct kv_qp *qp, struct rdma_cm_id *id);
void kv_cm_step(struct kv_qp *qp, int step);
void kv_cm_up(struct kv_qp *qp, unsigned long delay);
void kv_cm_sync(struct kv_qp *qp);
void kv_cm_detach(struct kv_qp *qp);
void kv_cm_close(struct kv_qp *qp);
void kv_cm_free(struct kv_qp *qp);
/* Listen on @addr, and store the port in it. */
void kv_listener_init(struct kv_listener *listener);
void kv_listener_open(struct kv_listener *listener);
void kv_listener_close(struct kv_listener *listener);
int kv_cm_bind(struct kv_listener *listener, struct net *net, union kfi_inaddr *addr, int backlog);
void kv_cm_unbind(struct kv_listener *listener);
void kv_cm_name(union kfi_inaddr *name, const struct sockaddr_storage *addr, __be16 port);
void kv_cm_step_work(struct work_struct *work);
void kv_watch_work(struct work_struct *work);

/* conn.c: life of the connection of a MSG endpoint */
extern const struct kfi_conn_set_ops kv_conn_set_ops;
struct kv_conn *kv_conn_new(struct kv_ep *vep);
struct kv_conn *kv_dial(struct kv_ep *vep, const union kfi_inaddr *to);
void kv_conn_get(struct kv_conn *conn);
void kv_conn_put(struct kv_conn *conn);
void kv_conn_fail(struct kv_conn *conn, int err);
int kv_conn_end_reason(const struct kv_conn *conn);
void kv_conn_flushed(struct kv_conn *conn);
void kv_conn_deadline(struct kv_conn *conn);
int kv_conn_called(struct kv_listener *listener, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param);

/* qp.c: queue pairs */
int kv_qp_depth(void);
void kv_qp_init(struct kv_qp *qp, const struct kv_qp_ops *ops);
int kv_qp_create(struct kv_qp *qp, const struct kv_qp_need *need);
void kv_qp_drain(struct kv_qp *qp);
void kv_qp_destroy(struct kv_qp *qp);
void kv_qp_free(struct kv_qp *qp);

/* cq.c: completion queues */
int kv_cq_open(struct kv_qp *qp, struct kfi_ep *ep, unsigned int ncqe);
void kv_cq_close(struct kv_qp *qp);

/* sq.c: send queues */
struct kv_sqe *kv_sq_get(struct kv_qp *qp, u8 kind);
void kv_sq_put(struct kv_qp *qp, struct kv_sqe *e, struct ib_send_wr *wr, bool signaled);
int kv_sq_post(struct kv_qp *qp);
void kv_put_fence(struct kv_qp *qp, u32 rkey);
void kv_put_inv(struct kv_qp *qp, struct kv_sqe *e, u32 rkey, bool signaled);
void kv_put_reg_as(struct kv_qp *qp, struct kv_sqe *e, struct ib_mr *mr, int access, bool signaled);
void kv_put_reg(struct kv_qp *qp, struct kv_sqe *e, struct ib_mr *mr, int access, bool signaled);
void kv_put_buf(struct kv_qp *qp, struct kv_sqe *e, u32 bytes);
void kv_put_empty_write(struct kv_qp *qp, u8 kind);
ssize_t kv_sq_map(struct kv_qp *qp, struct kv_sqe *e, struct iov_iter *iter, size_t len,
		  unsigned int max, enum dma_data_direction dir);
void kv_sq_unmap(struct kv_qp *qp, struct kv_sqe *e);
void kv_sq_reported(struct kv_sqe *e, int err, void (*end)(struct kv_sqe *e, int err, void *arg),
		    void *arg);
void kv_sq_flush(struct kv_qp *qp, int err, void (*end)(struct kv_sqe *e, int err, void *arg),
		 void *arg);

static inline u32 kv_sq_room(const struct kv_qp *qp)
{
	return qp->depth - (qp->head - qp->tail);
}

/* mem.c: memory of consumers */
size_t kv_take_piece(struct iov_iter *iter, size_t max, struct page **page, size_t *off);
unsigned int kv_take_run(struct iov_iter *iter, struct scatterlist *sg, unsigned int pages,
			 size_t *bytes);
struct scatterlist *kv_alloc_sg(unsigned int n, gfp_t gfp);
int kv_map_mr(struct kv_domain *kdom, struct ib_mr *mr, struct scatterlist *sg, unsigned int n,
	      size_t len, enum dma_data_direction dir);

/* plain.c: MSG endpoints */
int kv_plain_open(struct kv_ep *vep);
int kv_plain_recv(struct kfi_ep *ep, struct kfi_oper *op);
struct kfi_oper *kv_plain_cancel(struct kfi_ep *ep, void *context);
int kv_plain_tx(struct kfi_ep *ep, struct kfi_oper *op);
void kv_plain_flush(struct kfi_ep *ep);
void kv_plain_sent(struct ib_cq *cq, struct ib_wc *wc);
void kv_tx_run(struct kv_conn *conn, struct kv_done *done);
void kv_tx_kick(struct kv_conn *conn);
void kv_tx_flush_all(struct kv_conn *conn, int err);
void kv_unlock_bh(struct kv_conn *conn, struct kv_done *done);
void kv_conn_post(struct kv_conn *conn);

/* recv.c: receives of MSG endpoints */
int kv_rq_create(struct kv_conn *conn);
void kv_rq_stop(struct kv_conn *conn);
void kv_rq_lost(struct kv_conn *conn);
void kv_rq_end(struct kv_ep *vep, int err);
void kv_rq_restart(struct kv_ep *vep);
void kv_rq_ready(struct kv_conn *conn);

/* link.c: the life of a link */
extern const struct kfi_link_ops kv_link_ops;
extern const struct kvw_front kv_front;
extern struct kfi_wire kv_wire;
int kv_link_called(struct kv_listener *listener, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param);

/* stream.c: the byte streams of a link */
struct kv_stream *kv_stream_new(struct kv_ep *vep, struct kfi_link *link,
				const struct kv_qp_ops *ops);
int kv_stream_open(struct kv_qp *qp);
void kv_stream_grow(struct kv_stream *s);
bool kv_probing(const struct kv_stream *s);
void kv_stream_up(struct kv_stream *s);
void kv_stream_run(struct kv_stream *s);
void kv_stream_end(struct kv_stream *s, int err);
bool kv_stream_watch(struct kv_qp *qp, unsigned long timeout);
void kv_stream_sent(struct ib_cq *cq, struct ib_wc *wc);
void kv_stream_linger(struct kv_stream *s);
void kv_stream_close(struct kv_stream *s);
void kv_stream_free(struct kv_stream *s);
int kv_post_unit(struct kfi_link *link, struct kfi_unit *unit);
bool kv_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
u64 kv_sent_to(const struct kfi_link *link);
void kv_read(struct kfi_link *link);

/* expose.c: memory that the peer writes to */
void kv_frmrs_alloc(struct kv_stream *s);
void kv_frmrs_free(struct kv_stream *s);
void kv_frmrs_dereg(struct kv_stream *s);
bool kv_put_ending(struct kv_stream *s);
void kv_frmr_ended(struct kv_stream *s, struct kv_frmr *frmr, int err);
int kv_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_link_place *place, unsigned int max);
int kv_conceal(struct kfi_link *link, struct kfi_exposed *x);

/* region.c: regions of MSG endpoints */
int kv_mr_open(struct kfi_mr *mr);
int kv_mr_bind(struct kfi_mr *mr);
void kv_mr_unbind(struct kfi_mr *mr);
void kv_mr_close(struct kfi_mr *mr);
bool kv_mr_end(struct kfi_mr *mr);
int kv_mr_attach(struct kfi_mr *mr);
bool kv_mr_known(struct kfi_mr *mr);
void kv_region_registered(struct kv_sqe *e, int err);
bool kv_region_invalidated(struct kv_domain *kdom, u32 rkey);

/* rkey.c: their keys */
bool kv_region_io_invalidated(struct kv_conn *conn, u32 rkey);
void kv_mr_publish(struct kfi_mr *mr, bool notify);
int kv_mr_enable(struct kfi_mr *mr);
bool kv_put_next_reg(struct kv_conn *conn);
void kv_reg_queue_flush(struct kv_ep *vep);

#endif /* _KFI_VERBS_VERBS_H */
