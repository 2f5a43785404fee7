/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: event queues, completion queues, counters
 */
#ifndef KFI_EQ_H
#define KFI_EQ_H

#include <kfabric.h>
#include <kfi_errno.h>

/**
 * enum kfi_wait_obj - how a consumer waits for a queue or counter
 * @KFI_WAIT_NONE: not at all: sread and wait are refused
 * @KFI_WAIT_UNSPEC: the provider chooses, which gives KFI_WAIT_QUEUE
 * @KFI_WAIT_SET: refused, for its number only
 * @KFI_WAIT_FD: refused, for its number only
 * @KFI_WAIT_MUTEX_COND: refused, for its number only
 * @KFI_WAIT_YIELD: taken for KFI_WAIT_QUEUE
 * @KFI_WAIT_POLLFD: refused, for its number only
 * @KFI_WAIT_QUEUE: a wait queue of the kernel
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
 * @size: entries that have to fit; 0 for the provider's default
 * @flags: KFI_WRITE allows kfi_eq_write(); KFI_AFFINITY: @signaling_vector is
 *	valid
 * @wait_obj: KFI_WAIT_NONE or KFI_WAIT_QUEUE
 * @signaling_vector: CPU that the handler is to run on
 */
struct kfi_eq_attr {
	size_t			size;
	uint64_t		flags;
	enum kfi_wait_obj	wait_obj;
	int			signaling_vector;
};

/* Events */
enum {
	KFI_NOTIFY,		/* struct kfi_eq_entry: a link or device changed */
	KFI_CONNREQ,		/* struct kfi_eq_cm_entry */
	KFI_CONNECTED,		/* struct kfi_eq_cm_entry */
	KFI_SHUTDOWN,		/* struct kfi_eq_cm_entry */
	KFI_MR_COMPLETE,	/* struct kfi_eq_entry */
	KFI_AV_COMPLETE,	/* never raised: insertion is synchronous */
	KFI_JOIN_COMPLETE,	/* never raised: there is no multicast */
};

/**
 * struct kfi_eq_entry - an event that is not about a connection
 * @fid: the object
 * @context: its context
 * @data: depends on the event
 */
struct kfi_eq_entry {
	kfid_t			fid;
	void			*context;
	uint64_t		data;
};

/**
 * struct kfi_eq_err_entry - a failure
 * @fid: the object
 * @context: its context
 * @data: depends on what failed
 * @err: positive error number
 * @prov_errno: the provider's own number, for kfi_eq_strerror()
 * @err_data: in: a buffer for more data, or NULL. Out: that data, e.g. the
 *	private data of a rejection. Without a buffer of the caller's it is
 *	valid until the next read of the queue.
 * @err_data_size: in: bytes of the buffer, or 0; out: bytes of data
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
 * struct kfi_eq_cm_entry - an event about a connection
 * @fid: the passive endpoint for KFI_CONNREQ, else the endpoint
 * @info: with KFI_CONNREQ, what to open the new endpoint with. It belongs to
 *	the reader, who frees it with kfi_freeinfo() after kfi_accept() or
 *	kfi_reject(). Else NULL.
 * @data: private data of the peer, as much as the reader's buffer has room
 *	for. Its length is the result of the read less sizeof(this).
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
 * @eq: where to put the queue
 * @handler: called when the queue becomes non-empty, or NULL
 * @context: consumer's pointer, given to @handler
 *
 * Unlike fi_eq_open(3), with a handler. Exactly @attr->size entries fit, plus
 * those that the core itself has to report.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -EOPNOTSUPP (wait object), -ENOMEM.
 */
int kfi_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr,
		struct kfid_eq **eq, kfi_event_handler handler, void *context);

/**
 * kfi_eq_read() - take the next event
 * @eq: the queue
 * @event: where to put its number
 * @buf: where to put the entry; the structure depends on the event
 * @len: bytes of @buf. Private data that does not fit is cut off.
 * @flags: KFI_PEEK to leave the event in the queue
 *
 * Context: Process context or softirq, does not sleep.
 * Return: bytes of the entry; -EAGAIN if there is none, -KFI_EAVAIL if the next
 * one is an error (kfi_eq_readerr()), -KFI_ETOOSMALL if @len has no room for the
 * structure, -KFI_EBADFLAGS.
 */
ssize_t kfi_eq_read(struct kfid_eq *eq, uint32_t *event, void *buf,
		    size_t len, uint64_t flags);

/**
 * kfi_eq_readerr() - take the next error
 * @eq: the queue
 * @buf: where to put it; err_data and err_data_size have to be set
 * @flags: KFI_PEEK to leave the error in the queue
 *
 * Context: Process context or softirq, does not sleep.
 * Return: sizeof(*buf); -EAGAIN if the next entry is no error,
 * -KFI_EBADFLAGS.
 */
ssize_t kfi_eq_readerr(struct kfid_eq *eq, struct kfi_eq_err_entry *buf,
		       uint64_t flags);

/**
 * kfi_eq_write() - put an event into a queue
 * @eq: a queue opened with KFI_WRITE
 * @event: its number
 * @buf: the entry
 * @len: bytes of it
 * @flags: 0
 *
 * Context: Process context or softirq, does not sleep.
 * Return: @len; -EAGAIN if the queue is full, -EINVAL if it is not open for
 * writing, -KFI_EBADFLAGS, -ENOMEM.
 */
ssize_t kfi_eq_write(struct kfid_eq *eq, uint32_t event, const void *buf,
		     size_t len, uint64_t flags);

/**
 * kfi_eq_sread() - wait for an event and take it
 * @eq: a queue with a wait object
 * @event: as kfi_eq_read()
 * @buf: as kfi_eq_read()
 * @len: as kfi_eq_read()
 * @timeout: milliseconds; negative: for ever
 * @flags: as kfi_eq_read()
 *
 * Context: Process context, sleeps killably.
 * Return: as kfi_eq_read(); -EAGAIN after the timeout, -EINTR if a fatal signal
 * came, -EINVAL if the queue has no wait object.
 */
ssize_t kfi_eq_sread(struct kfid_eq *eq, uint32_t *event, void *buf,
		     size_t len, int timeout, uint64_t flags);

/**
 * kfi_eq_strerror() - text for the provider's error number
 * @eq: the queue
 * @prov_errno: prov_errno of the entry
 * @err_data: err_data of the entry, or NULL
 * @buf: buffer for the text, or NULL
 * @len: bytes of @buf
 *
 * Context: Any.
 * Return: the text: @buf, or a constant string.
 */
const char *kfi_eq_strerror(struct kfid_eq *eq, int prov_errno,
			    const void *err_data, char *buf, size_t len);

/**
 * enum kfi_cq_format - what an entry of a completion queue consists of
 * @KFI_CQ_FORMAT_UNSPEC: the provider chooses
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
 * @flags: what completed: KFI_MSG, KFI_TAGGED, KFI_RMA, KFI_ATOMIC with
 *	KFI_SEND, KFI_RECV, KFI_READ, KFI_WRITE, KFI_REMOTE_READ,
 *	KFI_REMOTE_WRITE and KFI_REMOTE_CQ_DATA, KFI_MULTI_RECV, KFI_INVALIDATE
 * @len: bytes received; undefined for other operations
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
 * @buf: where the message lies, for multi-receive buffers; else undefined
 * @data: with KFI_REMOTE_CQ_DATA, the peer's data; with KFI_INVALIDATE, the key
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
 * struct kfi_cq_err_entry - a failed operation, or all about a completion
 * @op_context: context of the operation
 * @flags: as in struct kfi_cq_msg_entry
 * @len: bytes that were transferred; with ETRUNC, the message's full length
 * @buf: as in struct kfi_cq_data_entry
 * @data: as in struct kfi_cq_data_entry
 * @tag: tag of a tagged message
 * @olen: with ETRUNC, bytes that did not fit
 * @err: positive error number; 0 in a kfi_cqe of a success
 * @prov_errno: the provider's own number, for kfi_cq_strerror()
 * @err_data: as in struct kfi_eq_err_entry
 * @err_data_size: as in struct kfi_eq_err_entry
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
 *
 * Embedded in the consumer's request. An operation posted with KFI_CQE has
 * a pointer to this as its context; @done then gets it back in place of an
 * entry in the queue. wc is valid during the call only; wc->err is 0 or a
 * positive error number, and every member is filled in regardless of the
 * format of the queue.
 *
 * What the operation occupied is free before @done runs, so it may post
 * again, and may free the request. It may not close anything the operation
 * was posted to.
 *
 * Context: as the queue's flags say (KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT), else a
 * workqueue.
 */
struct kfi_cqe {
	void (*done)(struct kfid_cq *cq, struct kfi_cqe *cqe,
		     const struct kfi_cq_err_entry *wc);
};

/**
 * enum kfi_cq_wait_cond - what a reader waits for
 * @KFI_CQ_COND_NONE: an entry
 * @KFI_CQ_COND_THRESHOLD: as many entries as the size_t at cond says
 */
enum kfi_cq_wait_cond {
	KFI_CQ_COND_NONE,
	KFI_CQ_COND_THRESHOLD,
};

/*
 * Flags of a completion queue: where its handler and the done() of its
 * operations run. Without any of them: in a workqueue that is safe for
 * memory reclaim, and they may sleep.
 *
 * KFI_CQ_SOFTIRQ: in softirq, often right where the data arrived.
 * KFI_CQ_DIRECT: in kfi_cq_poll() and nowhere else. A provider may leave it to
 * the readers of such a queue to look at its device, which need not interrupt
 * then: kfi_cq_poll() does so, and a read that finds nothing.
 *
 * KFI_CQ_ROUNDS: the handler is called behind each round of done()s, too: all
 * that were due have been called, or as many as run at once. What they have
 * posted with KFI_MORE can be sent off there.
 *
 * KFI_CQ_LOCAL: in a workqueue, on the CPU on which the completion was made,
 * which is mostly the one that has received the packets. Not with
 * KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT or KFI_AFFINITY.
 */
#define KFI_CQ_SOFTIRQ		(1ULL << 60)
#define KFI_CQ_DIRECT		(1ULL << 61)
#define KFI_CQ_ROUNDS		(1ULL << 62)
#define KFI_CQ_LOCAL		(1ULL << 63)

/**
 * struct kfi_cq_attr - attributes of a completion queue, fi_cq(3)
 * @size: entries that have to fit; 0 for the provider's default. Each
 *	outstanding operation without KFI_CQE reserves one, so nothing is ever
 *	lost.
 * @flags: KFI_CQ_SOFTIRQ, KFI_CQ_DIRECT or KFI_CQ_LOCAL; KFI_CQ_ROUNDS, with a handler;
 *	KFI_AFFINITY: @signaling_vector is valid
 * @format: format of the entries
 * @wait_obj: KFI_WAIT_NONE or KFI_WAIT_QUEUE
 * @signaling_vector: CPU that the handler is to run on
 * @wait_cond: what kfi_cq_sread() waits for
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
 * kfi_cq_read() - take completions
 * @cq: the queue
 * @buf: where to put them; the format is the queue's
 * @count: how many fit into @buf
 *
 * Several CPUs may read one queue at the same time.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: number taken, at least 1; -EAGAIN if there is none (also if @count is
 * 0), -KFI_EAVAIL if the next one is an error (kfi_cq_readerr()).
 */
ssize_t kfi_cq_read(struct kfid_cq *cq, void *buf, size_t count);

/**
 * kfi_cq_readfrom() - take completions with their senders
 * @cq: the queue
 * @buf: as kfi_cq_read()
 * @count: as kfi_cq_read()
 * @src_addr: where to put @count senders, or NULL. KFI_ADDR_NOTAVAIL for other
 *	operations than receives, without KFI_SOURCE, and for peers that are not
 *	in the address vector.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: as kfi_cq_read().
 */
ssize_t kfi_cq_readfrom(struct kfid_cq *cq, void *buf, size_t count,
			kfi_addr_t *src_addr);

/**
 * kfi_cq_readerr() - take the next error
 * @cq: the queue
 * @buf: where to put it; err_data and err_data_size have to be set, or have to
 *	be 0
 * @flags: 0
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 1; -EAGAIN if the next entry is no error, -KFI_EBADFLAGS.
 */
ssize_t kfi_cq_readerr(struct kfid_cq *cq, struct kfi_cq_err_entry *buf,
		       uint64_t flags);

/**
 * kfi_cq_sread() - wait for completions and take them
 * @cq: a queue with a wait object
 * @buf: as kfi_cq_read()
 * @count: as kfi_cq_read()
 * @cond: pointer to a size_t with KFI_CQ_COND_THRESHOLD, else NULL
 * @timeout: milliseconds; negative: for ever
 *
 * Context: Process context, sleeps killably.
 * Return: as kfi_cq_read(); -EAGAIN after the timeout or kfi_cq_signal(),
 * -EINTR if a fatal signal came, -EINVAL if the queue has no wait object.
 */
ssize_t kfi_cq_sread(struct kfid_cq *cq, void *buf, size_t count,
		     const void *cond, int timeout);

/**
 * kfi_cq_sreadfrom() - wait for completions and take them with their senders
 * @cq: as kfi_cq_sread()
 * @buf: as kfi_cq_sread()
 * @count: as kfi_cq_sread()
 * @src_addr: as kfi_cq_readfrom()
 * @cond: as kfi_cq_sread()
 * @timeout: as kfi_cq_sread()
 *
 * Context: Process context, sleeps killably.
 * Return: as kfi_cq_sread().
 */
ssize_t kfi_cq_sreadfrom(struct kfid_cq *cq, void *buf, size_t count,
			 kfi_addr_t *src_addr, const void *cond, int timeout);

/**
 * kfi_cq_signal() - end the waits of a queue's readers
 * @cq: a queue with a wait object
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EINVAL if the queue has no wait object.
 */
int kfi_cq_signal(struct kfid_cq *cq);

/**
 * kfi_cq_poll() - run the callbacks of a directly polled queue
 * @cq: a queue with KFI_CQ_DIRECT
 * @budget: how many completions to handle at most
 *
 * Calls done() of each operation with KFI_CQE, and the handler once if other
 * entries have arrived. Made for ->poll of a block driver. May be called on
 * several CPUs at the same time.
 *
 * Context: Process context or softirq, does not sleep; not from done().
 * Return: number of completions handled, 0 to @budget; -EINVAL if the queue is
 * not polled directly.
 */
int kfi_cq_poll(struct kfid_cq *cq, int budget);

/**
 * kfi_cq_strerror() - text for the provider's error number
 * @cq: the queue
 * @prov_errno: prov_errno of the entry
 * @err_data: err_data of the entry, or NULL
 * @buf: buffer for the text, or NULL
 * @len: bytes of @buf
 *
 * Context: Any.
 * Return: the text: @buf, or a constant string.
 */
const char *kfi_cq_strerror(struct kfid_cq *cq, int prov_errno,
			    const void *err_data, char *buf, size_t len);

/**
 * enum kfi_cntr_events - what a counter counts
 * @KFI_CNTR_EVENTS_COMP: operations that have ended
 * @KFI_CNTR_EVENTS_BYTES: bytes that they moved
 */
enum kfi_cntr_events {
	KFI_CNTR_EVENTS_COMP,
	KFI_CNTR_EVENTS_BYTES,
};

/**
 * typedef kfi_cntr_handler - a counter has changed
 * @cntr: the counter
 * @context: the context given to kfi_cntr_open()
 *
 * Called after each change of the value or of the error counter, by the operation
 * that has ended, on several CPUs at the same time. It does not run any more when kfi_close() of the
 * counter returns.
 *
 * Context: Process context or softirq; it may read the counter, and may not sleep.
 */
typedef void (*kfi_cntr_handler)(struct kfid_cntr *cntr, void *context);

/**
 * struct kfi_cntr_attr - attributes of a counter, fi_cntr(3)
 * @events: what to count
 * @wait_obj: KFI_WAIT_NONE or KFI_WAIT_QUEUE
 * @flags: 0
 * @handler: called after each change, or NULL
 */
struct kfi_cntr_attr {
	enum kfi_cntr_events	events;
	enum kfi_wait_obj	wait_obj;
	uint64_t		flags;
	kfi_cntr_handler	handler;
};

/**
 * kfi_cntr_read() - value of a counter
 * @cntr: the counter
 *
 * Context: Any.
 * Return: successes so far.
 */
uint64_t kfi_cntr_read(struct kfid_cntr *cntr);

/**
 * kfi_cntr_readerr() - value of a counter's error counter
 * @cntr: the counter
 *
 * Context: Any.
 * Return: failures so far.
 */
uint64_t kfi_cntr_readerr(struct kfid_cntr *cntr);

/**
 * kfi_cntr_add() - increase a counter
 * @cntr: the counter
 * @value: by how much
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_add(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_set() - set a counter
 * @cntr: the counter
 * @value: to what
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_set(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_adderr() - increase a counter's error counter
 * @cntr: the counter
 * @value: by how much
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_adderr(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_seterr() - set a counter's error counter
 * @cntr: the counter
 * @value: to what
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0.
 */
int kfi_cntr_seterr(struct kfid_cntr *cntr, uint64_t value);

/**
 * kfi_cntr_wait() - wait until a counter reaches a value
 * @cntr: a counter with a wait object
 * @threshold: the value
 * @timeout: milliseconds; negative: for ever
 *
 * Context: Process context, sleeps killably.
 * Return: 0; -ETIMEDOUT, -KFI_EAVAIL if the error counter changed meanwhile,
 * -EINTR if a fatal signal came, -EINVAL if the counter has no wait object.
 */
int kfi_cntr_wait(struct kfid_cntr *cntr, uint64_t threshold, int timeout);

#endif /* KFI_EQ_H */
