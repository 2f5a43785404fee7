// SPDX-License-Identifier: GPL-2.0
/*
 * call.c - callers. A CALL is recorded in softirq, and answered by a work item of its way.
 *
 * Until the work item handles it, a CALL occupies a struct kmx_caller, of which there is a fixed
 * number. If none is free, the caller gets no answer, and gives up after its time limit. For a
 * caller that is admitted, the message protocol creates a connection; it bounds their number
 * (struct kfi_proto_params).
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "mux.h"

struct kfi_wire kmx_wire = { .name = "records of connections", .speaks = &kmw_speaks };

/* ---- recorded callers ---- */

int kmx_callers_init(struct kfi_mux *mux)
{
	unsigned int i;

	INIT_LIST_HEAD(&mux->callers);
	INIT_LIST_HEAD(&mux->spares);
	INIT_WORK(&mux->work, kmx_callers_work);
	mux->caller_mem = kvcalloc(KMX_CALLERS, sizeof(*mux->caller_mem), GFP_KERNEL);
	if (!mux->caller_mem)
		return -ENOMEM;
	for (i = 0; i < KMX_CALLERS; i++)
		list_add(&mux->caller_mem[i].entry, &mux->spares);
	return 0;
}

/* Record @call, of which all members but @entry are set. Any context */
static void kmx_caller_note(struct kfi_mux *mux, const struct kmx_caller *call)
{
	struct kmx_caller *caller;

	spin_lock_bh(&mux->lock);
	caller = list_first_entry_or_null(&mux->spares, struct kmx_caller, entry);
	if (caller) {
		caller->close = call->close;
		caller->life = call->life;
		caller->lane = call->lane;
		caller->call = call->call;
		list_move_tail(&caller->entry, &mux->callers);
	}
	spin_unlock_bh(&mux->lock);
	if (caller)
		queue_work(mux->prov->wq, &mux->work);
}

static bool kmx_caller_next(struct kfi_mux *mux, struct kmx_caller *call)
{
	struct kmx_caller *caller;

	spin_lock_bh(&mux->lock);
	caller = list_first_entry_or_null(&mux->callers, struct kmx_caller, entry);
	if (caller) {
		*call = *caller;
		list_move(&caller->entry, &mux->spares);
	}
	spin_unlock_bh(&mux->lock);
	return caller;
}

/* The way has gone down, so no caller waits for an answer any more. */
void kmx_callers_drop(struct kfi_mux *mux)
{
	spin_lock_bh(&mux->lock);
	list_splice_init(&mux->callers, &mux->spares);
	spin_unlock_bh(&mux->lock);
}

/* ---- records of the peer, in softirq ---- */

void kmx_call_in(struct kfi_mux *mux, unsigned int lane, const struct kfi_mux_rec *rec)
{
	struct kmx_caller caller = { .life = kfi_mux_life(mux), .lane = lane };
	int ret = kmw_decode_call(rec, &caller.call);

	if (!ret || ret == -EPROTONOSUPPORT)
		kmx_caller_note(mux, &caller);
}

/*
 * Handle an ANSWER to a call that was given up. The other side has a connection now, so send it a
 * CLOSE.
 */
static void kmx_answer_late(struct kfi_mux *mux, unsigned int lane, const struct kmw_calling *c)
{
	struct kmx_caller caller = {
		.life = kfi_mux_life(mux), .lane = lane, .close = true, .call.number = c->number,
	};

	if (c->number)
		kmx_caller_note(mux, &caller);
}

/* Have the log and "kfi show" name the peer if no version is common. Any context */
static void kmx_versions_heard(struct kfi_mux *mux, const struct kmw_calling *c)
{
	if (c->agreed.highest)
		kfi_wire_met(&init_net, &kmx_wire, mux->name);
	else
		kfi_wire_refused(&init_net, &kmx_wire, mux->name, &c->speaks);
}

void kmx_answer_in(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_stream *s,
		   const struct kfi_mux_rec *rec)
{
	struct kmw_calling c = {};
	int ret = kmw_decode_answer(rec, &c);

	if (!s) {
		if (!ret)
			kmx_answer_late(mux, lane, &c);
		return;
	}
	spin_lock(&s->lock);
	if (!s->end || s->state != KFI_MUX_CALLED) {
		if (s->state == KFI_MUX_OPEN)
			kfi_mux_end(s, -EPROTO);
		else if (!ret)
			kmx_answer_late(mux, lane, &c);	/* the call is being given up */
	} else if (ret) {
		if (ret == -EPROTONOSUPPORT)
			kmx_versions_heard(mux, &c);
		kfi_mux_end(s, ret);
	} else if (c.status) {
		kfi_mux_end(s, kfi_link_refusal(c.status));
	} else {
		kmx_versions_heard(mux, &c);
		kmx_stream_open(s, c.number, c.window);
		kfi_link_up(&s->end->link);
	}
	spin_unlock(&s->lock);
}

/* ---- answers, in the work item ---- */

static void kmx_refusal_free(struct kfi_mux_ctl *ctl)
{
	struct kfi_mux *mux = ctl->owner;

	kfree(ctl);
	atomic_dec(&mux->refusals);
	kfi_mux_put(mux);
}

/*
 * Allocate a record to a number for which there is no connection here. The number of refusals is
 * bounded, because a peer that handles no records may go on calling.
 */
static struct kfi_mux_ctl *kmx_refusal_new(struct kfi_mux *mux)
{
	struct kfi_mux_ctl *ctl = NULL;

	if (atomic_inc_return(&mux->refusals) <= KMX_CALLERS)
		ctl = kzalloc(mux->ops->ctl_size, GFP_NOIO);
	if (!ctl) {
		atomic_dec(&mux->refusals);
		return NULL;
	}
	ctl->owner = mux;
	ctl->sent = kmx_refusal_free;
	kmx_get(mux);
	return ctl;
}

static void kmx_refuse(struct kfi_mux *mux, const struct kmx_caller *caller, int err)
{
	struct kfi_mux_ctl *ctl = kmx_refusal_new(mux);
	struct kmw_calling c = { .status = -err };

	if (!ctl)
		return;
	if (caller->close)
		kmw_encode_close(KMW_C_ABORT, caller->call.number, &ctl->rec);
	else
		kmw_encode_answer(&c, caller->call.number, &ctl->rec);
	rcu_read_lock();	/* as kfi_mux_over() */
	if (caller->life != kfi_mux_life(mux) || mux->ops->post(mux, caller->lane, ctl))
		kmx_refusal_free(ctl);
	rcu_read_unlock();
}

/* Publish the connection, which is in its connection set already, and answer the call. */
static void kmx_called(struct kfi_mux_stream *s, struct kfi_link *link,
		       const struct kmx_caller *caller)
{
	/* kfi_mux_down() waits for this RCU section, and then finds the connection. */
	rcu_read_lock();
	spin_lock_bh(&s->lock);
	s->end = container_of(link, struct kfi_mux_end, link);
	s->life = caller->life;
	kmx_stream_open(s, caller->call.number, caller->call.window);
	if (kfi_mux_over(s))
		WRITE_ONCE(s->ended, -ECONNRESET);
	spin_unlock_bh(&s->lock);
	kmx_stream_publish(s);
	spin_lock_bh(&s->lock);
	kmx_stream_due(s, KMX_DUE_ANSWER);
	spin_unlock_bh(&s->lock);
	rcu_read_unlock();
	kfi_link_up(link);
}

/*
 * Admit a caller. Return: 0; the reason of a refusal, negative; 1 if the protocol has closed the
 * connection.
 */
static int kmx_caller_admit(struct kfi_mux *mux, const struct kmx_caller *caller)
{
	struct kfi_mux_listener *l = xa_load(&mux->ports, caller->call.to);
	struct kfi_link *link;
	struct kfi_mux_stream *s;

	lockdep_assert_held(&mux->answering);
	if (!l)
		return -ECONNREFUSED;
	s = kmx_stream_new(mux, KFI_MUX_WINDOW_MIN);
	if (!s)
		return -ENOMEM;
	s->life = caller->life;
	s->lane = caller->lane;
	s->peer = caller->call.number;
	s->port = caller->call.to;
	link = kfi_link_new(l->pe, l->ppep);
	if (!link) {
		kmx_stream_free(s);
		return -ENOMEM;
	}
	container_of(link, struct kfi_mux_end, link)->stream = s;
	kmx_addr_set(mux->prov, link->name, mux->peer, caller->call.from);
	if (kfi_link_called(link))
		return 1;
	kmx_called(s, link, caller);
	return 0;
}

static void kmx_caller_answer(struct kfi_mux *mux, const struct kmx_caller *caller)
{
	int ret;

	if (caller->close) {
		kmx_refuse(mux, caller, 0);
		return;
	}
	kmx_versions_heard(mux, &caller->call);
	if (!caller->call.agreed.highest) {
		kmx_refuse(mux, caller, -EPROTONOSUPPORT);
		return;
	}
	mutex_lock(&mux->answering);
	ret = kmx_caller_admit(mux, caller);
	mutex_unlock(&mux->answering);
	if (ret < 0)
		kmx_refuse(mux, caller, ret);
}

/* The number of callers that one run handles is bounded, because the peer may go on calling. */
void kmx_callers_work(struct work_struct *work)
{
	struct kfi_mux *mux = container_of(work, struct kfi_mux, work);
	unsigned int noio = memalloc_noio_save();
	struct kmx_caller caller;
	unsigned int n;

	/* While the way is being removed, callers need no answer: it goes down. */
	for (n = 0; n < KMX_ANSWERED; n++) {
		if (READ_ONCE(mux->going) || !kmx_caller_next(mux, &caller))
			break;
		kmx_caller_answer(mux, &caller);
	}
	memalloc_noio_restore(noio);
	if (n == KMX_ANSWERED)
		queue_work(mux->prov->wq, work);
}
