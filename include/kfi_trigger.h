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
 * kfi_control() with KFI_QUEUE_WORK. Each starts when its counter has reached a
 * threshold, at once if it has already. See fi_trigger(3). Both work with every
 * provider, on endpoints with the capability KFI_TRIGGER; others return
 * -EOPNOTSUPP.
 *
 * The function that posts or queues an operation checks it, and takes its place
 * in the endpoint's queue and its slot in the completion queue. So it returns all
 * errors that a post returns, including -EAGAIN, and the number of operations
 * that can wait is limited by the sizes of the queues. The message, its vectors
 * and the triggered context may be reused when it returns. The payload belongs to
 * the operation until it has ended. With KFI_INJECT a triggered post copies its
 * payload at once, deferred work when it starts.
 *
 * The threshold of a triggered post is compared with the value of the counter,
 * that of deferred work with the sum of the value and the errors. When a counter
 * reaches a threshold the operation starts, even if the counter is set back then.
 * A work item of the counter starts operations in the order of their thresholds,
 * those with the same threshold in the order in which they were queued. Work that
 * changes counters is started in the same order. If a provider returns -EAGAIN,
 * it is tried again for about a second, while operations behind wait. Other
 * errors at the start are reported by the completion.
 *
 * Triggered posts complete like other operations. Deferred work increases its
 * completion counter by one, as a success or an error, instead of the counters of
 * the endpoint. It writes a completion only with KFI_COMPLETION or if it fails.
 *
 * kfi_cancel() cancels a triggered post that has not started, with -ECANCELED.
 * KFI_CANCEL_WORK cancels deferred work: it returns 0 if the work has not
 * started, and nothing reports the work; and -ENOENT if it has started or was
 * never queued. KFI_FLUSH_WORK cancels all deferred work of a domain, or of a
 * counter if it is used on a counter; its argument is NULL.
 *
 * Counters and the domain can't be closed while operations wait for them
 * (-EBUSY). The endpoint can: then its operations complete with -ECANCELED. If it
 * is disconnected, or its device goes, they complete with the error of its other
 * operations.
 */

/**
 * enum kfi_trigger_event - event that starts an operation
 * @KFI_TRIGGER_THRESHOLD: a counter reaches a value
 * @KFI_TRIGGER_XPU: not supported
 */
enum kfi_trigger_event {
	KFI_TRIGGER_THRESHOLD,
	KFI_TRIGGER_XPU,
};

/**
 * enum kfi_op_type - kind of deferred work
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
 * struct kfi_trigger_threshold - counter and threshold
 * @cntr: the counter
 * @threshold: value of the counter at which the operation starts
 */
struct kfi_trigger_threshold {
	struct kfid_cntr	*cntr;
	size_t			threshold;
};

/**
 * struct kfi_op_msg - a message of deferred work
 * @ep: the endpoint
 * @msg: the message
 * @flags: operation flags
 */
struct kfi_op_msg {
	struct kfid_ep		*ep;
	struct kfi_msg		msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_tagged - a tagged message of deferred work
 * @ep: the endpoint
 * @msg: the message
 * @flags: operation flags
 */
struct kfi_op_tagged {
	struct kfid_ep		*ep;
	struct kfi_msg_tagged	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_rma - an RMA operation of deferred work
 * @ep: the endpoint
 * @msg: the operation
 * @flags: operation flags
 */
struct kfi_op_rma {
	struct kfid_ep		*ep;
	struct kfi_msg_rma	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_atomic - an atomic operation of deferred work
 * @ep: the endpoint
 * @msg: the operation
 * @flags: operation flags
 */
struct kfi_op_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	uint64_t		flags;
};

/**
 * struct kfi_op_fetch_atomic - an atomic operation of deferred work that returns
 *	the old values
 * @ep: the endpoint
 * @msg: the operation
 * @fetch: where to store the old values
 * @flags: operation flags
 */
struct kfi_op_fetch_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	struct kfi_msg_fetch	fetch;
	uint64_t		flags;
};

/**
 * struct kfi_op_compare_atomic - an atomic operation of deferred work that
 *	compares, and returns the old values
 * @ep: the endpoint
 * @msg: the operation
 * @fetch: where to store the old values
 * @compare: values to compare with
 * @flags: operation flags
 */
struct kfi_op_compare_atomic {
	struct kfid_ep		*ep;
	struct kfi_msg_atomic	msg;
	struct kfi_msg_fetch	fetch;
	struct kfi_msg_compare	compare;
	uint64_t		flags;
};

/**
 * struct kfi_op_cntr - a change of a counter as deferred work
 * @cntr: the counter
 * @value: new value, or number to add
 */
struct kfi_op_cntr {
	struct kfid_cntr	*cntr;
	uint64_t		value;
};

/**
 * struct kfi_triggered_context - context of an operation with KFI_TRIGGER
 * @event_type: event that starts the operation
 * @trigger: parameters of the event
 * @trigger.threshold: for KFI_TRIGGER_THRESHOLD
 * @trigger.internal: not used
 *
 * Of the same size as struct kfi_context. KFI_CQE is not allowed, because its
 * context is another structure.
 */
struct kfi_triggered_context {
	enum kfi_trigger_event			event_type;
	union {
		struct kfi_trigger_threshold	threshold;
		void				*internal[3];
	} trigger;
};

/**
 * struct kfi_triggered_context2 - the same, of the size of struct kfi_context2
 * @event_type: event that starts the operation
 * @trigger: parameters of the event
 * @trigger.threshold: for KFI_TRIGGER_THRESHOLD
 * @trigger.internal: not used
 */
struct kfi_triggered_context2 {
	enum kfi_trigger_event			event_type;
	union {
		struct kfi_trigger_threshold	threshold;
		void				*internal[7];
	} trigger;
};

/**
 * struct kfi_deferred_work - argument of KFI_QUEUE_WORK and KFI_CANCEL_WORK
 * @context: for kfi.ko, from KFI_QUEUE_WORK until the work has started
 * @threshold: sum of value and errors of @triggering_cntr at which the work
 *	starts
 * @triggering_cntr: the counter that starts the work
 * @completion_cntr: counter that is increased when the work has ended, or NULL;
 *	NULL for KFI_OP_CNTR_SET and KFI_OP_CNTR_ADD
 * @op_type: kind of the operation
 * @op: the operation
 * @op.msg: KFI_OP_SEND, KFI_OP_RECV
 * @op.tagged: KFI_OP_TSEND, KFI_OP_TRECV
 * @op.rma: KFI_OP_READ, KFI_OP_WRITE
 * @op.atomic: KFI_OP_ATOMIC
 * @op.fetch_atomic: KFI_OP_FETCH_ATOMIC
 * @op.compare_atomic: KFI_OP_COMPARE_ATOMIC
 * @op.cntr: KFI_OP_CNTR_SET, KFI_OP_CNTR_ADD
 *
 * The structure has to exist until the work has started or was cancelled.
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
