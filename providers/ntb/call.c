// SPDX-License-Identifier: GPL-2.0
/*
 * call.c - callers. A CALL is recorded in softirq, and answered by a work item of its bridge.
 *
 * Until the work item handles it, a CALL occupies a struct nt_caller, of which there is a fixed
 * number. If none is free, the caller gets no answer, and gives up after its time limit. For a
 * caller that is admitted, the message protocol creates a connection; it bounds their number
 * (struct kfi_proto_params).
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "ntb.h"

/* ---- recorded callers ---- */

int nt_callers_init(struct nt_dev *dev)
{
	unsigned int i;

	INIT_LIST_HEAD(&dev->callers);
	INIT_LIST_HEAD(&dev->spares);
	INIT_WORK(&dev->cm_work, nt_callers_work);
	dev->caller_mem = kvcalloc(NT_CALLERS, sizeof(*dev->caller_mem), GFP_KERNEL);
	if (!dev->caller_mem)
		return -ENOMEM;
	for (i = 0; i < NT_CALLERS; i++)
		list_add(&dev->caller_mem[i].entry, &dev->spares);
	return 0;
}

void nt_callers_free(struct nt_dev *dev)
{
	kvfree(dev->caller_mem);
}

/* Record @call, of which all members but @entry are set. Any context */
static void nt_caller_note(struct nt_dev *dev, const struct nt_caller *call)
{
	struct nt_caller *caller;

	spin_lock_bh(&dev->lock);
	caller = list_first_entry_or_null(&dev->spares, struct nt_caller, entry);
	if (caller) {
		caller->version = call->version;
		caller->close = call->close;
		caller->life = call->life;
		caller->ring = call->ring;
		caller->call = call->call;
		list_move_tail(&caller->entry, &dev->callers);
	}
	spin_unlock_bh(&dev->lock);
	if (caller)
		queue_work(nt_cm_wq, &dev->cm_work);
}

static bool nt_caller_next(struct nt_dev *dev, struct nt_caller *call)
{
	struct nt_caller *caller;

	spin_lock_bh(&dev->lock);
	caller = list_first_entry_or_null(&dev->callers, struct nt_caller, entry);
	if (caller) {
		*call = *caller;
		list_move(&caller->entry, &dev->spares);
	}
	spin_unlock_bh(&dev->lock);
	return caller;
}

/* The link has gone down, so no caller waits for an answer any more. */
void nt_callers_drop(struct nt_dev *dev)
{
	spin_lock_bh(&dev->lock);
	list_splice_init(&dev->callers, &dev->spares);
	spin_unlock_bh(&dev->lock);
}

/* ---- records of the peer, in softirq ---- */

void nt_call_in(struct nt_dev *dev, struct nt_ring *ring, const struct ntw_rec *rec,
		const void *body, size_t len)
{
	struct nt_caller caller = { .life = nt_link_life(dev->link), .ring = ring };
	struct ntw_call raw;
	int ret;

	if (len != sizeof(raw))
		return;
	memcpy(&raw, body, sizeof(raw));
	barrier_data(&raw);
	ret = ntw_decode_call(rec, &raw, len, &caller.call);
	caller.version = ret == -EPROTONOSUPPORT;
	if (!ret || caller.version)
		nt_caller_note(dev, &caller);
}

/*
 * Handle an ANSWER to a call that was given up. The other side has a connection now, so send it a
 * CLOSE.
 */
static void nt_answer_late(struct nt_dev *dev, struct nt_ring *ring, const struct ntw_calling *c)
{
	struct nt_caller caller = {
		.life = nt_link_life(dev->link), .ring = ring, .close = true,
		.call.number = c->number,
	};

	if (c->number)
		nt_caller_note(dev, &caller);
}

void nt_answer_in(struct nt_dev *dev, struct nt_ring *ring, struct nt_stream *s,
		  const struct ntw_rec *rec, const void *body, size_t len)
{
	struct ntw_answer raw;
	struct ntw_calling c;
	int ret = -EPROTO;

	if (len == sizeof(raw)) {
		memcpy(&raw, body, sizeof(raw));
		barrier_data(&raw);
		ret = ntw_decode_answer(rec, &raw, len, &c);
	}
	if (!s) {
		if (!ret)
			nt_answer_late(dev, ring, &c);
		return;
	}
	spin_lock(&s->lock);
	if (!s->end || s->state != NT_CALLED) {
		if (s->state == NT_OPEN)
			nt_stream_end(s, -EPROTO);
		else if (!ret)
			nt_answer_late(dev, ring, &c);	/* the call is being given up */
	} else if (ret) {
		nt_stream_end(s, ret);
	} else if (c.status) {
		nt_stream_end(s, kfi_link_refusal(c.status));
	} else {
		nt_stream_open(s, c.number, c.window);
		kfi_link_up(&s->end->link);
	}
	spin_unlock(&s->lock);
}

/* ---- answers, in the work item ---- */

/**
 * struct nt_refusal - a record to a number for which there is no connection here
 * @rec: the record
 * @dev: the bridge, with a reference
 */
struct nt_refusal {
	struct nt_rec	rec;
	struct nt_dev	*dev;
};

static void nt_refusal_free(struct nt_refusal *r)
{
	struct nt_dev *dev = r->dev;

	kfree(r);
	atomic_dec(&dev->refusals);
	nt_dev_put(dev);
}

static void nt_refusal_sent(struct nt_rec *rec, int err)
{
	nt_refusal_free(container_of(rec, struct nt_refusal, rec));
}

/* The number of refusals is bounded, because a peer that handles no records may go on calling. */
static struct nt_refusal *nt_refusal_new(struct nt_dev *dev)
{
	struct nt_refusal *r = NULL;

	if (atomic_inc_return(&dev->refusals) <= NT_CALLERS)
		r = kzalloc(sizeof(*r), GFP_NOIO);
	if (!r) {
		atomic_dec(&dev->refusals);
		return NULL;
	}
	r->dev = dev;
	nt_dev_get(dev);
	r->rec.sent = nt_refusal_sent;
	return r;
}

static void nt_refuse(struct nt_dev *dev, const struct nt_caller *caller, int err)
{
	struct nt_refusal *r = nt_refusal_new(dev);
	struct ntw_calling c = { .status = -err };
	struct nt_rec *rec;
	u16 len = 0;

	if (!r)
		return;
	rec = &r->rec;
	if (caller->close) {
		ntw_encode_close(NTW_C_ABORT, caller->call.number, &rec->rec);
	} else {
		ntw_encode_answer(&c, caller->call.number, &rec->rec,
				  (void *)rec->head + sizeof(struct ntw_rec));
		len = sizeof(struct ntw_answer);
	}
	rec->head_len = sizeof(struct ntw_rec) + len;
	rcu_read_lock();	/* as nt_stream_over() */
	if (caller->life != nt_link_life(dev->link) || nt_ring_post(caller->ring, rec, false))
		nt_refusal_free(r);
	rcu_read_unlock();
}

/* Publish the connection, which is in its connection set already, and answer the call. */
static void nt_called(struct nt_stream *s, struct kfi_link *link, const struct nt_caller *caller)
{
	/* nt_conns_link_down() waits for this RCU section, and then finds the connection. */
	rcu_read_lock();
	spin_lock_bh(&s->lock);
	s->end = container_of(link, struct nt_end, link);
	s->life = caller->life;
	nt_stream_open(s, caller->call.number, caller->call.window);
	if (s->life != nt_link_life(s->dev->link))
		WRITE_ONCE(s->ended, -ECONNRESET);
	spin_unlock_bh(&s->lock);
	nt_stream_publish(s);
	spin_lock_bh(&s->lock);
	nt_stream_due(s, NT_DUE_ANSWER);
	spin_unlock_bh(&s->lock);
	rcu_read_unlock();
	kfi_link_up(link);
}

/*
 * Admit a caller. Return: 0; the reason of a refusal, negative; 1 if the protocol has closed the
 * connection.
 */
static int nt_caller_admit(struct nt_dev *dev, const struct nt_caller *caller)
{
	struct nt_listener *l = xa_load(&dev->ports, caller->call.to);
	struct kfi_link *link;
	struct ntw_addr *name;
	struct nt_stream *s;

	lockdep_assert_held(&dev->answering);
	if (!l)
		return -ECONNREFUSED;
	s = nt_stream_new(dev, NTW_WINDOW_MIN);
	if (!s)
		return -ENOMEM;
	s->life = caller->life;
	s->ring = caller->ring;
	s->peer = caller->call.number;
	s->port = caller->call.to;
	link = kfi_link_new(l->nep ? &l->nep->pe : NULL, l->npep ? &l->npep->ppep : NULL);
	if (!link) {
		nt_stream_free(s);
		return -ENOMEM;
	}
	container_of(link, struct nt_end, link)->stream = s;
	name = (void *)link->name;
	name->side = cpu_to_le32(nt_link_peer_side(dev->link));
	name->port = cpu_to_le32(caller->call.from);
	if (kfi_link_called(link))
		return 1;
	nt_called(s, link, caller);
	return 0;
}

static void nt_caller_answer(struct nt_dev *dev, const struct nt_caller *caller)
{
	int ret;

	if (caller->close) {
		nt_refuse(dev, caller, 0);
		return;
	}
	if (caller->version) {
		nt_refuse(dev, caller, -EPROTONOSUPPORT);
		return;
	}
	mutex_lock(&dev->answering);
	ret = nt_caller_admit(dev, caller);
	mutex_unlock(&dev->answering);
	if (ret < 0)
		nt_refuse(dev, caller, ret);
}

/*
 * The number of callers that one run handles is bounded, because the peer may go on calling.
 */
void nt_callers_work(struct work_struct *work)
{
	struct nt_dev *dev = container_of(work, struct nt_dev, cm_work);
	unsigned int noio = memalloc_noio_save();
	struct nt_caller caller;
	unsigned int n;

	/* While the bridge is being removed, callers need no answer: its link goes down. */
	for (n = 0; n < NT_ANSWERED && !READ_ONCE(dev->going) && nt_caller_next(dev, &caller); n++)
		nt_caller_answer(dev, &caller);
	memalloc_noio_restore(noio);
	if (n == NT_ANSWERED)
		queue_work(nt_cm_wq, work);
}
