/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: event queues, completion queues, counters
 */
#ifndef KFI_EQ_H
#define KFI_EQ_H

#include <kfabric.h>
#include <kfi_errno.h>

/**
 * enum kfi_wait_obj - how a consumer can wait for a queue or counter
 * @KFI_WAIT_NONE: waiting is not possible; kfi_cq_sread() and the like return
 *	-EINVAL
 * @KFI_WAIT_UNSPEC: the same as KFI_WAIT_QUEUE
 * @KFI_WAIT_SET: not supported
 * @KFI_WAIT_FD: not supported
 * @KFI_WAIT_MUTEX_COND: not supported
 * @KFI_WAIT_YIELD: the same as KFI_WAIT_QUEUE
 * @KFI_WAIT_POLLFD: not supported
 * @KFI_WAIT_QUEUE: a wait queue of the kernel; exists only in kfabric
 */
enum kfi_wait_obj {
	KFI_WAIT_NONE,
	KFI_WAIT_UNSPEC,
	KFI_WAIT_SET,
	KFI_WAIT_FD,
	KFI_WAIT_MUTEX_COND,
	KFI_WAIT_YIELD,
	KFI_WAIT_POLLFD,
	KFI_WAIT_QUEUE = 0x1000,
};

/**
 * struct kfi_eq_attr - attributes of an event queue, fi_eq(3)
 * @size: number of entries that have to fit; 0 for the default, 256
 * @flags: KFI_WRITE to allow kfi_eq_write(); KFI_AFFINITY if @signaling_vector
 *	is valid
 * @wait_obj: &enum kfi_wait_obj
 * @signaling_vector: CPU on which the handler runs
 */
struct kfi_eq_attr {
	size_t			size;
	uint64_t		flags;
	enum kfi_wait_obj	wait_obj;
	int			signaling_vector;
};

/* Events, with the type of the entry */
enum {
	KFI_NOTIFY,		/* never raised */
	KFI_CONNREQ,		/* struct kfi_eq_cm_entry */
	KFI_CONNECTED,		/* struct kfi_eq_cm_entry */
	KFI_SHUTDOWN,		/* struct kfi_eq_cm_entry */
	KFI_MR_COMPLETE,	/* never raised: registration is synchronous */
	KFI_AV_COMPLETE,	/* never raised: insertion is synchronous */
	KFI_JOIN_COMPLETE,	/* never raised: there is no multicast */
};

/**
 * struct kfi_eq_entry - an event that does not concern a connection
 * @fid: the object
 * @context: context of the object
 * @data: depends on the event
 */
struct kfi_eq_entry {
	kfid_t			fid;
	void			*context;
	uint64_t		data;
};

/**
 * struct kfi_eq_err_entry - an error event
 * @fid: the object
 * @context: context of the object
 * @data: depends on the error
 * @err: positive error number
 * @prov_errno: error number of the provider
 * @err_data: in: buffer for additional data, or NULL; out: the data, such as
 *	the private data of a rejection. Without a buffer it is valid until the
 *	next read of the queue.
 * @err_data_size: in: length of the buffer, or 0; out: length of the data
 */
struct kfi_eq_err_entry {
	kfid_t			fid;
	void			*context;
	uint64_t		data;
	int			err;
	int			prov_errno;
	void			*err_data;
	size_t			err_data_size;
};

/**
 * struct kfi_eq_cm_entry - an event that concerns a connection
 * @fid: the passive endpoint for KFI_CONNREQ, else the endpoint; or a domain for
 *	KFI_SHUTDOWN, whose device or namespace has gone
 * @info: with KFI_CONNREQ, info to open the new endpoint with. It belongs to
 *	the reader, which frees it with kfi_freeinfo() after kfi_accept() or
 *	kfi_reject(). Else NULL.
 * @data: private data of the peer, as much as the reader's buffer has room
 *	for. Its length is the result of the read minus the size of this
 *	structure.
 */
struct kfi_eq_cm_entry {
	kfid_t			fid;
	struct kfi_info		*info;
	uint8_t			data[];
};

/**
 * kfi_eq_open() - open an event queue
 * @fabric: the fabric
 * @attr: attributes, or NULL for defaults
 * @eq: where to store the queue; close it with kfi_close()
 * @handler: called when an event arrives in an armed queue, see
 *	kfi_event_handler; or NULL
 * @context: pointer of the consumer, passed to @handler
 *
 * This function is fi_eq_open(3) with an additional handler. The size of the
 * queue limits kfi_eq_write() and connection requests. All other events are
 * always queued.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if a size or CPU is out of range; -KFI_EBADFLAGS;
 * -EOPNOTSUPP if the wait object is not supported; -ENOMEM.
 */
int kfi_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr,
		struct kfid_eq **eq, kfi_event_handler handler, void *context);

/**
 * kfi_eq_read() - read the next event
 * @eq: the queue
 * @event: where to store the number of the event
 * @buf: where to store the entry; the event determines its structure
 * @len: bytes at @buf. Private data that does not fit is cut off.
 * @flags: KFI_PEEK to leave the event in the queue, else 0
 *
 * See fi_eq_read(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: length of the entry; -EAGAIN if there is no event; -KFI_EAVAIL if the
 * next one is an error (kfi_eq_readerr()); -KFI_ETOOSMALL if @len has no room
 * for the structure; -KFI_EBADFLAGS.
 */
ssize_t kfi_eq_read(struct kfid_eq *eq, uint32_t *event, void *buf,
		    size_t len, uint64_t flags);

/**
 * kfi_eq_readerr() - read the next error
 * @eq: the queue
 * @buf: where to store the error; err_data and err_data_size have to be set
 * @flags: KFI_PEEK to leave the error in the queue, else 0
 *
 * Context: Process context or softirq, does not sleep.
 * Return: sizeof(*buf); -EAGAIN if the next entry is not an error;
 * -KFI_EBADFLAGS.
 */
ssize_t kfi_eq_readerr(struct kfid_eq *eq, struct kfi_eq_err_entry *buf,
		       uint64_t flags);

/**
 * struct kfi_event - an event or an error, as kfi_eq_next() returns it
 * @event: KFI_CONNREQ, KFI_CONNECTED, KFI_SHUTDOWN, or the number of kfi_eq_write();
 *	of an error KFI_NOTIFY
 * @err: 0, or the negative error number of an error
 * @fid: the object, or NULL
 * @info: with KFI_CONNREQ as in struct kfi_eq_cm_entry, else NULL
 * @data: private data of the peer, or what was written, complete. Valid until the
 *	next read of the queue
 * @len: length of @data in bytes
 */
struct kfi_event {
	uint32_t		event;
	int			err;
	kfid_t			fid;
	struct kfi_info		*info;
	const void		*data;
	size_t			len;
};

/**
 * kfi_eq_next() - read the next event or error
 * @eq: the queue
 * @ev: where to store it
 *
 * One call for kfi_eq_read() and kfi_eq_readerr(), for handlers: an empty queue is
 * armed. One context at a time may use the data. libfabric has no counterpart.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: false if the queue is empty.
 */
bool kfi_eq_next(struct kfid_eq *eq, struct kfi_event *ev);

/**
 * kfi_eq_write() - write an event to a queue
 * @eq: queue that was opened with KFI_WRITE
 * @event: number of the event
 * @buf: the entry, at most one page
 * @len: length in bytes
 * @flags: 0
 *
 * Context: Process context or softirq, does not sleep.
 * Return: @len; -EAGAIN if the queue is full; -EINVAL if the queue was not
 * opened for writing, or @len is too large; -KFI_EBADFLAGS; -ENOMEM.
 */
ssize_t kfi_eq_write(struct kfid_eq *eq, uint32_t event, const void *buf,
		     size_t len, uint64_t flags);

/**
 * kfi_eq_sread() - wait for an event and read it
 * @eq: a queue with a wait object
 * @event: as kfi_eq_read()
 * @buf: as kfi_eq_read()
 * @len: as kfi_eq_read()
 * @timeout: milliseconds; negative: no time limit
 * @flags: as kfi_eq_read()
 *
 * Context: Process context, may sleep; a fatal signal ends the wait.
 * Return: as kfi_eq_read(); -EAGAIN after the timeout; -EINTR after a fatal
 * signal; -EINVAL if the queue has no wait object.
 */
ssize_t kfi_eq_sread(struct kfid_eq *eq, uint32_t *event, void *buf,
		     size_t len, int timeout, uint64_t flags);

/**
 * DOC: Completions
 *
 * Every operation that was posted ends exactly once: with an entry in the
 * completion queue of its endpoint, with a call of its own done() (KFI_CQE), or
 * silently if it succeeds and no completion was requested. A post reserves what
 * its completion needs, or returns -EAGAIN, so no completion is lost and a queue
 * does not overrun.
 *
 * An error stops the reader: kfi_cq_read() returns -KFI_EAVAIL until
 * kfi_cq_readerr() has taken the entry.
 *
 * Handlers and done() never run inside a post, or in a function of a provider
 * that completes: a consumer may hold a lock when it posts, and take it in its
 * handler. With KFI_CQE the request contains the callback::
 *
 *	static void my_done(struct kfid_cq *cq, struct kfi_cqe *cqe,
 *			    const struct kfi_cq_err_entry *wc)
 *	{
 *		struct my_request *req = container_of(cqe, struct my_request, cqe);
 *
 *		my_finish(req, wc->err);
 *	}
 */

/**
 * enum kfi_cq_format - structure of the entries of a completion queue
 * @KFI_CQ_FORMAT_UNSPEC: the same as KFI_CQ_FORMAT_CONTEXT
 * @KFI_CQ_FORMAT_CONTEXT: struct kfi_cq_entry
 * @KFI_CQ_FORMAT_MSG: struct kfi_cq_msg_entry
 * @KFI_CQ_FORMAT_DATA: struct kfi_cq_data_entry
 * @KFI_CQ_FORMAT_TAGGED: struct kfi_cq_tagged_entry
 */
enum kfi_cq_format {
	KFI_CQ_FORMAT_UNSPEC,
	KFI_CQ_FORMAT_CONTEXT,
	KFI_CQ_FORMAT_MSG,
	KFI_CQ_FORMAT_DATA,
	KFI_CQ_FORMAT_TAGGED,
};

/**
 * struct kfi_cq_entry - a completion
 * @op_context: context of the operation
 */
struct kfi_cq_entry {
	void			*op_context;
};

/**
 * struct kfi_cq_msg_entry - a completion with flags and length
 * @op_context: context of the operation
 * @flags: kind of the operation: KFI_MSG, KFI_TAGGED, KFI_RMA or KFI_ATOMIC
 *	with KFI_SEND, KFI_RECV, KFI_READ, KFI_WRITE, KFI_REMOTE_READ or
 *	KFI_REMOTE_WRITE; and KFI_REMOTE_CQ_DATA, KFI_MULTI_RECV, KFI_INVALIDATE,
 *	KFI_INVALIDATE_DUE
 * @len: number of bytes received; undefined for other operations
 */
struct kfi_cq_msg_entry {
	void			*op_context;
	uint64_t		flags;
	size_t			len;
};

/**
 * struct kfi_cq_data_entry - a completion with remote CQ data
 * @op_context: context of the operation
 * @flags: as in struct kfi_cq_msg_entry
 * @len: as in struct kfi_cq_msg_entry
 * @buf: address of the message in a multi-receive buffer; else undefined
 * @data: with KFI_REMOTE_CQ_DATA the data of the peer; with KFI_INVALIDATE or
 *	KFI_INVALIDATE_DUE the key
 */
struct kfi_cq_data_entry {
	void			*op_context;
	uint64_t		flags;
	size_t			len;
	void			*buf;
	uint64_t		data;
};

/**
 * struct kfi_cq_tagged_entry - a completion with a tag
 * @op_context: context of the operation
 * @flags: as in struct kfi_cq_msg_entry
 * @len: as in struct kfi_cq_msg_entry
 * @buf: as in struct kfi_cq_data_entry
 * @data: as in struct kfi_cq_data_entry
 * @tag: tag of a received tagged message
 */
struct kfi_cq_tagged_entry {
	void			*op_context;
	uint64_t		flags;
	size_t			len;
	void			*buf;
	uint64_t		data;
	uint64_t		tag;
};

/**
 * struct kfi_cq_err_entry - a completion with all members, for errors and done()
 * @op_context: context of the operation
 * @flags: as in struct kfi_cq_msg_entry
 * @len: number of bytes received; with ETRUNC length of the whole message
 * @buf: as in struct kfi_cq_data_entry
 * @data: as in struct kfi_cq_data_entry
 * @tag: tag of a tagged message
 * @olen: with ETRUNC number of bytes that did not fit
 * @err: positive error number; 0 in the done() of an operation that succeeded
 * @prov_errno: error number of the provider
 * @err_data: not changed by kfi_cq_readerr(); no provider has error data
 * @err_data_size: always 0
 * @src_addr: sender, with KFI_SOURCE; else KFI_ADDR_NOTAVAIL
 */
struct kfi_cq_err_entry {
	void			*op_context;
	uint64_t		flags;
	size_t			len;
	void			*buf;
	uint64_t		data;
	uint64_t		tag;
	size_t			olen;
	int			err;
	int			prov_errno;
	void			*err_data;
	size_t			err_data_size;
	kfi_addr_t		src_addr;
};

/**
 * struct kfi_cqe - completion callback of one operation
 * @done: called once when the operation has ended
 * @ep: set by kfabric in a receive that was posted to a shared receive context of MSG endpoints:
 *	the endpoint whose message has taken it, whose kfi_close() waits for @done; NULL if none has
 * @nr: with @ep: how many receives of the context messages of @ep have taken before
 *
 * The consumer's request contains it, as it contains ib_cqe in the RDMA core.
 * The context of an operation that is posted with KFI_CQE points to it, and
 * @done is called with this pointer instead of an entry being written to the
 * queue. wc is valid during the call only. wc->err is 0 or a positive error
 * number, and all members are set, whatever the format of the queue. libfabric
 * has no counterpart.
 *
 * Operations may share one, if @done need not know which of them has ended.
 *
 * The operation is free before @done runs, so @done may post again, and may free
 * the request. It must not close an object that the operation has used.
 *
 * Context: a work item, unless the queue has KFI_CQ_SOFTIRQ or KFI_CQ_DIRECT.
 */
struct kfi_cqe {
	void (*done)(struct kfid_cq *cq, struct kfi_cqe *cqe,
		     const struct kfi_cq_err_entry *wc);
	struct kfid_ep *ep;
	uint64_t nr;
};

/**
 * enum kfi_cq_wait_cond - condition of kfi_cq_sread()
 * @KFI_CQ_COND_NONE: the queue has an entry
 * @KFI_CQ_COND_THRESHOLD: not supported
 */
enum kfi_cq_wait_cond {
	KFI_CQ_COND_NONE,
	KFI_CQ_COND_THRESHOLD,
};

/*
 * Flags of a completion queue, which exist only in kfabric. They determine where
 * the callbacks run: the handler of the queue and the done() of its operations.
 * The default is a workqueue with WQ_MEM_RECLAIM, where callbacks may sleep.
 *
 * KFI_CQ_SOFTIRQ: callbacks run in softirq, often in the softirq in which the
 *	data has arrived.
 * KFI_CQ_DIRECT: callbacks run in kfi_cq_poll(). kfi_close() and kfi_ep_reset()
 *	of an endpoint call the done() of its last operations, too. The device
 *	of a provider need not interrupt if all queues of an endpoint are of this
 *	kind, and it has no counter: kfi_cq_poll(), and a read of an empty queue,
 *	poll the device. Completions do not depend on that: unless it is polled
 *	every millisecond or two, softirq handles them, at first up to three
 *	jiffies later. Not with KFI_CQ_SOFTIRQ.
 * KFI_CQ_ROUNDS: the handler is also called after each batch of done(), so that
 *	it can start the operations that they have posted with KFI_MORE.
 * KFI_CQ_LOCAL: callbacks run in the workqueue on the CPU on which the operation
 *	has completed, usually the CPU that has received the packets. Not with
 *	KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT or KFI_AFFINITY.
 */
#define KFI_CQ_SOFTIRQ		(1ULL << 60)
#define KFI_CQ_DIRECT		(1ULL << 61)
#define KFI_CQ_ROUNDS		(1ULL << 62)
#define KFI_CQ_LOCAL		(1ULL << 63)

/**
 * struct kfi_cq_attr - attributes of a completion queue, fi_cq(3)
 * @size: number of entries that have to fit; 0 for the default: room for the
 *	operations of one endpoint in both directions. Each outstanding
 *	operation without KFI_CQE reserves an entry, so the queue never overruns.
 * @flags: KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT or KFI_CQ_LOCAL; KFI_CQ_ROUNDS, with a
 *	handler; KFI_AFFINITY if @signaling_vector is valid
 * @format: format of the entries
 * @wait_obj: &enum kfi_wait_obj
 * @signaling_vector: CPU on which the handler and done() run
 * @wait_cond: condition of kfi_cq_sread()
 */
struct kfi_cq_attr {
	size_t			size;
	uint64_t		flags;
	enum kfi_cq_format	format;
	enum kfi_wait_obj	wait_obj;
	int			signaling_vector;
	enum kfi_cq_wait_cond	wait_cond;
};

/**
 * kfi_cq_read() - read completions
 * @cq: the queue
 * @buf: where to store them, in the format of the queue
 * @count: number of entries that @buf has room for
 *
 * Several CPUs may read one queue at the same time. See fi_cq_read(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: number of entries, at least 1; -EAGAIN if there is none, or @count is
 * 0; -KFI_EAVAIL if the next one is an error (kfi_cq_readerr()).
 */
ssize_t kfi_cq_read(struct kfid_cq *cq, void *buf, size_t count);

/**
 * kfi_cq_readfrom() - read completions with their senders
 * @cq: the queue
 * @buf: as kfi_cq_read()
 * @count: as kfi_cq_read()
 * @src_addr: where to store @count senders, or NULL. KFI_ADDR_NOTAVAIL for
 *	operations other than receives, without KFI_SOURCE, and for peers that
 *	are not in the address vector.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: as kfi_cq_read().
 */
ssize_t kfi_cq_readfrom(struct kfid_cq *cq, void *buf, size_t count,
			kfi_addr_t *src_addr);

/**
 * kfi_cq_readerr() - read the next error
 * @cq: the queue
 * @buf: where to store the error
 * @flags: 0
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 1; -EAGAIN if the next entry is not an error; -KFI_EBADFLAGS.
 */
ssize_t kfi_cq_readerr(struct kfid_cq *cq, struct kfi_cq_err_entry *buf,
		       uint64_t flags);

/**
 * kfi_cq_sread() - wait for completions and read them
 * @cq: a queue with a wait object
 * @buf: as kfi_cq_read()
 * @count: as kfi_cq_read()
 * @cond: ignored
 * @timeout: milliseconds; negative: no time limit
 *
 * Context: Process context, may sleep; a fatal signal ends the wait.
 * Return: as kfi_cq_read(); -EAGAIN after the timeout or kfi_cq_signal();
 * -EINTR after a fatal signal; -EINVAL if the queue has no wait object.
 */
ssize_t kfi_cq_sread(struct kfid_cq *cq, void *buf, size_t count,
		     const void *cond, int timeout);

/**
 * kfi_cq_sreadfrom() - wait for completions and read them with their senders
 * @cq: as kfi_cq_sread()
 * @buf: as kfi_cq_sread()
 * @count: as kfi_cq_sread()
 * @src_addr: as kfi_cq_readfrom()
 * @cond: as kfi_cq_sread()
 * @timeout: as kfi_cq_sread()
 *
 * Context: Process context, may sleep; a fatal signal ends the wait.
 * Return: as kfi_cq_sread().
 */
ssize_t kfi_cq_sreadfrom(struct kfid_cq *cq, void *buf, size_t count,
			 kfi_addr_t *src_addr, const void *cond, int timeout);

/**
 * kfi_cq_signal() - end the waits of kfi_cq_sread()
 * @cq: a queue with a wait object
 *
 * If no caller waits, the next call of kfi_cq_sread() does not wait.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EINVAL if the queue has no wait object.
 */
int kfi_cq_signal(struct kfid_cq *cq);

/**
 * kfi_cq_poll() - run the callbacks of a queue with KFI_CQ_DIRECT
 * @cq: the queue
 * @budget: limit for the number of callbacks
 *
 * Calls done() of each operation with KFI_CQE that has ended, and the handler
 * once if other entries have arrived. The function is intended for ->poll of a
 * block driver. It may be called on several CPUs at the same time; one of them
 * runs the callbacks. libfabric has no counterpart.
 *
 * Context: Process context or softirq, does not sleep; not from done().
 * Return: number of callbacks, 0 to @budget; -EINVAL if the queue is not
 * KFI_CQ_DIRECT.
 */
int kfi_cq_poll(struct kfid_cq *cq, int budget);

/**
 * enum kfi_cntr_events - what a counter counts
 * @KFI_CNTR_EVENTS_COMP: operations that have succeeded
 * @KFI_CNTR_EVENTS_BYTES: not supported
 */
enum kfi_cntr_events {
	KFI_CNTR_EVENTS_COMP,
	KFI_CNTR_EVENTS_BYTES,
};

/**
 * typedef kfi_cntr_handler - handler of a counter
 * @cntr: the counter
 * @context: the context given to kfi_cntr_open()
 *
 * The handler is called after each change of the value or of the error counter,
 * in the context that makes the change, and possibly on several CPUs at the same
 * time. When kfi_close() of the counter returns, the handler does not run and will
 * not be called.
 *
 * Context: Process context or softirq, must not sleep. It may read the counter.
 */
typedef void (*kfi_cntr_handler)(struct kfid_cntr *cntr, void *context);

/**
 * struct kfi_cntr_attr - attributes of a counter, fi_cntr(3)
 * @events: KFI_CNTR_EVENTS_COMP
 * @wait_obj: &enum kfi_wait_obj
 * @flags: 0
 * @handler: called after each change, or NULL; exists only in kfabric
 */
struct kfi_cntr_attr {
	enum kfi_cntr_events	events;
	enum kfi_wait_obj	wait_obj;
	uint64_t		flags;
	kfi_cntr_handler	handler;
};

/**
 * kfi_cntr_read() - read the value of a counter
 * @cntr: the counter
 *
 * Context: Any.
 * Return: number of successful operations.
 */
uint64_t kfi_cntr_read(struct kfid_cntr *cntr);

/**
 * kfi_cntr_readerr() - read the value of the error counter of a counter
 * @cntr: the counter
 *
 * Context: Any.
 * Return: number of operations that have failed.
 */
uint64_t kfi_cntr_readerr(struct kfid_cntr *cntr);

/**
 * kfi_cntr_add() - add to a counter
 * @cntr: the counter
 * @value: number to add
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_add(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_set() - set a counter
 * @cntr: the counter
 * @value: new value
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_set(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_adderr() - add to the error counter of a counter
 * @cntr: the counter
 * @value: number to add
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_adderr(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_seterr() - set the error counter of a counter
 * @cntr: the counter
 * @value: new value
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_seterr(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_wait() - wait until a counter reaches a value
 * @cntr: a counter with a wait object
 * @threshold: value to wait for, or a higher one
 * @timeout: milliseconds; negative: no time limit
 *
 * Context: Process context, may sleep; a fatal signal ends the wait.
 * Return: 0; -ETIMEDOUT; -KFI_EAVAIL if the error counter has changed since the
 * call; -EINTR after a fatal signal; -EINVAL if the counter has no wait object.
 */
int kfi_cntr_wait(struct kfid_cntr *cntr, uint64_t threshold, int timeout);

#endif /* KFI_EQ_H */
