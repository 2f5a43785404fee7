// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - names, and the life of a link of the message protocol (kfi_link.h): a call makes a pipe
 * and the links of both ends.
 */
#include <linux/slab.h>
#include "loop.h"

/* ---- names: a number. All endpoints are in one kernel, and have the same origin ---- */

static void loop_name_self(struct kfi_link *link, void *name)
{
	((struct kfi_loop_addr *)name)->id = to_loop_link(link)->id;
}

/* ---- the link's lock ---- */

static bool loop_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&loop_own(link)->lock);
}

static bool loop_lock(struct kfi_link *link)
{
	spin_lock_bh(&loop_own(link)->lock);
	return true;
}

static void loop_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&loop_own(link)->lock);
}

/* ---- callbacks ---- */

/* Make the calls of a link. If the other end was aborted, the bytes that are left are dropped. */
static void loop_deliver(struct bh_work_struct *work)
{
	struct loop_end *self = container_of(work, struct loop_end, deliver);
	struct kfi_link *link;

	spin_lock_bh(&self->lock);
	link = self->link;
	if (link) {
		/* What was posted before the close is in the ring: pairs with loop_close(). */
		WRITE_ONCE(self->ended, smp_load_acquire(&loop_other(link)->closed));
		WRITE_ONCE(link->cpu, raw_smp_processor_id());
		if (self->ended != -ECONNRESET)
			kfi_link_rx(link);
		if (self->full) {
			WRITE_ONCE(self->full, false);
			kfi_link_room(link);
		}
		if (self->ended)
			kfi_link_down(link);
	}
	spin_unlock_bh(&self->lock);
}

static int loop_ended(const struct kfi_link *link)
{
	return to_loop_link(link)->pipe ? READ_ONCE(loop_own(link)->ended) : 0;
}

/* A name that another caller claims: has the endpoint that had it ended? */
static int loop_probe(struct kfi_link *link)
{
	return READ_ONCE(loop_other(link)->closed) ? -1 : 1;
}

/* All bytes are copied by post(). */
static u64 loop_sent_to(const struct kfi_link *link)
{
	return link->posted;
}

/* ---- begin ---- */

static struct loop_pipe *loop_pipe_new(void)
{
	struct loop_pipe *pipe = kvzalloc(sizeof(*pipe), GFP_NOIO);
	struct loop_end *end;

	if (!pipe)
		return NULL;
	refcount_set(&pipe->ref, 1);
	for (end = pipe->end; end < pipe->end + 2; end++) {
		spin_lock_init(&end->lock);
		spin_lock_init(&end->places_lock);
		INIT_BH_WORK(&end->deliver, loop_deliver);
	}
	return pipe;
}

static void loop_pipe_put(struct loop_pipe *pipe)
{
	if (!refcount_dec_and_test(&pipe->ref))
		return;
	cancel_bh_work_sync(&pipe->end[0].deliver);
	cancel_bh_work_sync(&pipe->end[1].deliver);
	kvfree(pipe);
}

static void loop_attach(struct kfi_link *link, struct loop_pipe *pipe, u8 nr, u64 id)
{
	struct loop_link *kl = to_loop_link(link);

	kl->pipe = pipe;
	kl->nr = nr;
	kl->id = id;
	link->pages = true;
}

/* From here on the work item makes calls of the link. */
static void loop_up(struct kfi_link *link)
{
	struct loop_end *self = loop_own(link);

	spin_lock_bh(&self->lock);
	self->link = link;
	spin_unlock_bh(&self->lock);
	queue_bh_work(&self->deliver);	/* the other end may have closed before */
	kfi_link_up(link);
}

static struct kfi_link *loop_called(struct loop_self *to)
{
	if (to->passive)
		return kfi_link_new(NULL, &container_of(to, struct loop_pep, self)->ppep);
	return kfi_link_new(&container_of(to, struct loop_ep, self)->pe, NULL);
}

/* Make a pipe, and the link of the endpoint or passive endpoint that is called. */
static int loop_call(struct kfi_link *link, struct loop_self *to)
{
	u64 from = to_loop_ep(&link->ep->ep)->self.id;
	struct loop_pipe *pipe = loop_pipe_new();
	struct kfi_link *called;

	if (!pipe)
		return -ENOMEM;
	loop_attach(link, pipe, 0, from);
	called = loop_called(to);
	if (!called)
		return -ECONNREFUSED;
	refcount_inc(&pipe->ref);
	loop_attach(called, pipe, 1, to->id);
	((struct kfi_loop_addr *)called->name)->id = from;
	if (kfi_link_called(called))
		return -ECONNREFUSED;
	loop_up(called);
	loop_up(link);
	return 0;
}

static int loop_open(struct kfi_link *link)
{
	return 0;
}

static int loop_dial(struct kfi_link *link)
{
	u64 to = ((struct kfi_loop_addr *)link->name)->id;
	u64 net = to_loop_ep(&link->ep->ep)->self.net;
	int ret = -ECONNREFUSED;
	struct loop_self *self;

	mutex_lock(&loop_calling);
	self = loop_find(net, link->ep->ep.type == KFI_EP_MSG, to);
	if (self && self->listens)
		ret = loop_call(link, self);
	mutex_unlock(&loop_calling);
	return ret;
}

/* ---- end ---- */

static void loop_detach(struct kfi_link *link)
{
	struct loop_end *self;

	if (!to_loop_link(link)->pipe)
		return;
	self = loop_own(link);
	spin_lock_bh(&self->lock);	/* waits for a call */
	self->link = NULL;
	spin_unlock_bh(&self->lock);
}

/* What this end has posted stays in the ring of the other end, which reads it, or is closed. */
static void loop_close(struct kfi_link *link, bool abort)
{
	struct loop_link *kl = to_loop_link(link);

	if (!kl->pipe)
		return;
	/* pairs with loop_deliver() */
	smp_store_release(&loop_own(link)->closed, abort ? -ECONNRESET : -ESHUTDOWN);
	loop_conceal_all(loop_own(link));
	queue_bh_work(&loop_other(link)->deliver);
	loop_pipe_put(kl->pipe);
	kl->pipe = NULL;
}

const struct kfi_link_ops loop_link_ops = {
	.link_size	= sizeof(struct loop_link),
	.name_len	= sizeof(struct kfi_loop_addr),
	.place_min	= 4096,

	.self		= loop_name_self,

	.open		= loop_open,
	.dial		= loop_dial,
	.ended		= loop_ended,
	.detach		= loop_detach,
	.close		= loop_close,
	.probe		= loop_probe,

	.trylock	= loop_trylock,
	.lock		= loop_lock,
	.unlock		= loop_unlock,

	.post		= loop_post,
	.sent_to	= loop_sent_to,
	.read		= loop_read,

	.expose		= loop_expose,
	.conceal	= loop_conceal,
	.pages		= loop_pages,
	.unpin		= loop_unpin,
};
