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
 * at once if it has already. All that the structures point to has to exist
 * until the operation has ended. See fi_trigger(3).
 *
 * A provider that has neither answers -EOPNOTSUPP.
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
 * As large as struct kfi_context.
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
 * @context: the provider's
 * @threshold: value of @triggering_cntr that starts it
 * @triggering_cntr: the counter that starts it
 * @completion_cntr: a counter to increase when it has ended, or NULL
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
