/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: operations that start when a counter reaches a value
 */
#ifndef KFI_TRIGGER_H
#define KFI_TRIGGER_H

#include <kfi_atomic.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

/**
 * DOC: Triggered and deferred work
 *
 * A *triggered* operation is posted with KFI_TRIGGER and a context that begins
 * with struct kfi_triggered_context. *Deferred work* is queued on a domain by
 * kfi_control() with KFI_QUEUE_WORK and taken back by KFI_CANCEL_WORK or
 * KFI_FLUSH_WORK. Either starts when its counter has reached the threshold,
 * at once if it has already. See fi_trigger(3); both work with every provider,
 * on endpoints with the capability KFI_TRIGGER (others answer -EOPNOTSUPP).
 *
 * When it is posted or queued, an operation is checked and takes its place in
 * the endpoint's queue and its slot in the completion queue: all answers of the
 * posting call come then, -EAGAIN among them, and no more than the endpoint's
 * queue sizes can wait. The message, its vectors and the triggered context may
 * be used again when the call returns; the payload belongs to the operation
 * until it has ended, as always. Only KFI_INJECT differs: a triggered post
 * copies its payload at once, deferred work when it starts.
 *
 * Triggered posts compare their threshold with the counter's value, deferred
 * work with the sum of value and errors. What a change of the counter has made
 * due starts, whatever becomes of the counter then; in the order of
 * thresholds, equal ones in the order in which they were queued, from a work
 * item of the counter. Work that changes counters is started in that order,
 * too. A provider that has no room (-EAGAIN) is asked again for a second, and
 * what is due behind waits; another error at the start is an error completion.
 *
 * Triggered posts end like any other. Deferred work increases its
 * completion counter by one, success or error, in place of the endpoint's
 * counters, and makes an entry in the completion queue only with
 * KFI_COMPLETION or when it fails.
 *
 * kfi_cancel() ends a triggered post that has not started with -ECANCELED.
 * KFI_CANCEL_WORK takes back work that has not started: 0, and nothing more is
 * heard of it; -ENOENT, it has started, or was never queued. KFI_FLUSH_WORK
 * does so with all work of a domain or, as a command of a counter, all work
 * that waits for that one; its argument is NULL.
 *
 * What waits keeps its counters and the domain from being closed (-EBUSY), not
 * the endpoint: closing that ends it with -ECANCELED, a disconnect or the loss
 * of its network ends it with the error that its other operations get.
 */

/**
 * enum kfi_trigger_event - what starts an operation
 * @KFI_TRIGGER_THRESHOLD: a counter reaches a value
 * @KFI_TRIGGER_XPU: refused, for its number only
 */
enum kfi_trigger_event {
	KFI_TRIGGER_THRESHOLD,
	KFI_TRIGGER_XPU,
};

/**
 * enum kfi_op_type - kind of deferred operation
 * @KFI_OP_RECV: kfi_recvmsg()
 * @KFI_OP_SEND: kfi_sendmsg()
 * @KFI_OP_TRECV: kfi_trecvmsg()
 * @KFI_OP_TSEND: kfi_tsendmsg()
 * @KFI_OP_READ: kfi_readmsg()
 * @KFI_OP_WRITE: kfi_writemsg()
 * @KFI_OP_ATOMIC: kfi_atomicmsg()
 * @KFI_OP_FETCH_ATOMIC: kfi_fetch_atomicmsg()
 * @KFI_OP_COMPARE_ATOMIC: kfi_compare_atomicmsg()
 * @KFI_OP_CNTR_SET: kfi_cntr_set()
 * @KFI_OP_CNTR_ADD: kfi_cntr_add()
 */
enum kfi_op_type {
	KFI_OP_RECV,
	KFI_OP_SEND,
	KFI_OP_TRECV,
	KFI_OP_TSEND,
	KFI_OP_READ,
	KFI_OP_WRITE,
	KFI_OP_ATOMIC,
	KFI_OP_FETCH_ATOMIC,
	KFI_OP_COMPARE_ATOMIC,
	KFI_OP_CNTR_SET,
	KFI_OP_CNTR_ADD,
};

/**
 * struct kfi_trigger_threshold - a counter and a value
 * @cntr: the counter
 * @threshold: the value, successes
 */
struct kfi_trigger_threshold {
	struct kfid_cntr	*cntr;
	size_t			threshold;
};

/**
 * struct kfi_op_msg - a message for later
 * @ep: the endpoint
 * @msg: the message
 * @flags: flags of the call
 */
struct kfi_op_msg {
	struct kfid_ep		*ep;
	struct kfi_msg		msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_tagged - a tagged message for later
 * @ep: the endpoint
 * @msg: the message
 * @flags: flags of the call
 */
struct kfi_op_tagged {
	struct kfid_ep		*ep;
	struct kfi_msg_tagged	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_rma - a remote memory access for later
 * @ep: the endpoint
 * @msg: the access
 * @flags: flags of the call
 */
struct kfi_op_rma {
	struct kfid_ep		*ep;
	struct kfi_msg_rma	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_atomic - an atomic operation for later
 * @ep: the endpoint
 * @msg: the operation
 * @flags: flags of the call
 */
struct kfi_op_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_fetch_atomic - a fetching atomic operation for later
 * @ep: the endpoint
 * @msg: the operation
 * @fetch: where to put the results
 * @flags: flags of the call
 */
struct kfi_op_fetch_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	struct kfi_msg_fetch	fetch;
	uint64_t		flags;
};

/**
 * struct kfi_op_compare_atomic - a comparing atomic operation for later
 * @ep: the endpoint
 * @msg: the operation
 * @fetch: where to put the results
 * @compare: what to compare with
 * @flags: flags of the call
 */
struct kfi_op_compare_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	struct kfi_msg_fetch	fetch;
	struct kfi_msg_compare	compare;
	uint64_t		flags;
};

/**
 * struct kfi_op_cntr - a change of a counter for later
 * @cntr: the counter
 * @value: what to set it to, or add to it
 */
struct kfi_op_cntr {
	struct kfid_cntr	*cntr;
	uint64_t		value;
};

/**
 * struct kfi_triggered_context - context of an operation with KFI_TRIGGER
 * @event_type: what starts it
 * @trigger: when
 * @trigger.threshold: with KFI_TRIGGER_THRESHOLD
 * @trigger.internal: the provider's, once the operation is posted
 *
 * As large as struct kfi_context. Not together with KFI_CQE, whose context is
 * another structure.
 */
struct kfi_triggered_context {
	enum kfi_trigger_event			event_type;
	union {
		struct kfi_trigger_threshold	threshold;
		void				*internal[3];
	} trigger;
};

/**
 * struct kfi_triggered_context2 - the same, as large as struct kfi_context2
 * @event_type: what starts it
 * @trigger: when
 * @trigger.threshold: with KFI_TRIGGER_THRESHOLD
 * @trigger.internal: the provider's, once the operation is posted
 */
struct kfi_triggered_context2 {
	enum kfi_trigger_event			event_type;
	union {
		struct kfi_trigger_threshold	threshold;
		void				*internal[7];
	} trigger;
};

/**
 * struct kfi_deferred_work - an operation for later
 * @context: kfabric's, from KFI_QUEUE_WORK until the work has started
 * @threshold: value and errors of @triggering_cntr that start it
 * @triggering_cntr: the counter that starts it
 * @completion_cntr: a counter to increase when it has ended, or NULL; NULL for
 *	KFI_OP_CNTR_SET and KFI_OP_CNTR_ADD
 * @op_type: kind of operation
 * @op: the operation
 * @op.msg: KFI_OP_SEND, KFI_OP_RECV
 * @op.tagged: KFI_OP_TSEND, KFI_OP_TRECV
 * @op.rma: KFI_OP_READ, KFI_OP_WRITE
 * @op.atomic: KFI_OP_ATOMIC
 * @op.fetch_atomic: KFI_OP_FETCH_ATOMIC
 * @op.compare_atomic: KFI_OP_COMPARE_ATOMIC
 * @op.cntr: KFI_OP_CNTR_SET, KFI_OP_CNTR_ADD
 */
struct kfi_deferred_work {
	struct kfi_context2			context;
	uint64_t				threshold;
	struct kfid_cntr			*triggering_cntr;
	struct kfid_cntr			*completion_cntr;
	enum kfi_op_type			op_type;
	union {
		struct kfi_op_msg		*msg;
		struct kfi_op_tagged		*tagged;
		struct kfi_op_rma		*rma;
		struct kfi_op_atomic		*atomic;
		struct kfi_op_fetch_atomic	*fetch_atomic;
		struct kfi_op_compare_atomic	*compare_atomic;
		struct kfi_op_cntr		*cntr;
	} op;
};

#endif /* KFI_TRIGGER_H */
