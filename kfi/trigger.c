// SPDX-License-Identifier: GPL-2.0
/*
 * trigger.c - operations that wait for a counter: posts with KFI_TRIGGER, and deferred work that is
 * queued on a domain.
 *
 * Such an operation is posted at once, except that it is not passed to the provider: it is checked
 * and filled in, and has a place in its pool and a slot in its completion queue. So the consumer
 * gets -EAGAIN when it queues the operation, an operation that has been accepted needs nothing more
 * to start, and the sizes of the endpoint's queues bound the number of operations.
 *
 *	waiting --(counter reaches the threshold)--> due --(work item of the counter)--> started
 *
 * A context that changes a counter, in any context and under any locks, moves the operations that
 * are due to kfi_cntr.due, ordered by threshold. This is final: a later kfi_cntr_set() to a smaller
 * value moves nothing back. The work item of the counter (kfi_cntr.work) starts the operations in
 * kfi_cntr.due one after the other, without a lock held, as a consumer would.
 *
 * An operation that waits or is due is in one list, protected by kfi_cntr.lock of its counter.
 * The context that removes the operation from the list owns it: the work item, a cancel, a flush,
 * or the end of its endpoint. None of them waits for another.
 *
 * Operations that wait for a counter, and those that will change it, keep it from being closed.
 * Both drop their count before the consumer can see the last completion, and go on to use the
 * counter inside the same RCU read section; the close of the counter waits for a grace period. So a
 * consumer that has seen the last completion can close the counter.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "atomic.h"
#include "ep.h"
#include "trigger.h"

static_assert(sizeof(struct kfi_trigger) <= sizeof(struct kfi_context2));

struct workqueue_struct *kfi_start_wq;

static struct kfi_trigger *trigger_of(const struct kfi_oper *op)
{
	struct kfi_ep *ep = op->ep;

	if (op->code >= KFI_OPC_RECV)
		return &ep->triggers[ep->tx.depth + op->index];
	return &kfi_tx_owner(ep)->triggers[op->index];
}

bool kfi_trigger_waits(struct kfi_ep *ep, const struct kfi_oper *op)
{
	struct kfi_trigger *triggers = kfi_tx_owner(ep)->triggers;

	return triggers && READ_ONCE(triggers[op->index].cntr);
}

/*
 * Return trigger number @i of an endpoint: those of its transmits first, then those of its
 * receives, then NULL. With a shared transmit context, a trigger may belong to another endpoint
 * (op->ep).
 */
static struct kfi_trigger *trigger_at(struct kfi_ep *ep, u32 i)
{
	struct kfi_ep *owner = kfi_tx_owner(ep);

	if (!ep->triggers)
		return NULL;
	if (i < owner->tx.depth)
		return &owner->triggers[i];
	i -= owner->tx.depth;
	return i < ep->rx.depth ? &ep->triggers[ep->tx.depth + i] : NULL;
}

/* ---- lists of a counter ---- */

/*
 * A post with KFI_TRIGGER waits for successes, deferred work for completions with or without error.
 */
static struct list_head *trigger_list(struct kfi_cntr *cntr, const struct kfi_trigger *t)
{
	return &cntr->waiting[t->work ? KFI_CNTR_ENDED : KFI_CNTR_SUCCEEDED];
}

/* Insert by threshold; equal thresholds stay in the order of insertion. */
static void trigger_insert(struct kfi_cntr *cntr, struct kfi_trigger *t)
{
	struct list_head *list = trigger_list(cntr, t);
	struct kfi_trigger *before;

	lockdep_assert_held(&cntr->lock);
	list_for_each_entry_reverse(before, list, link)
		if (before->threshold <= t->threshold)
			break;
	list_add(&t->link, &before->link);
}

static void trigger_unlink(struct kfi_trigger *t)
{
	struct kfi_cntr *cntr = t->cntr;

	lockdep_assert_held(&cntr->lock);
	list_del(&t->link);
	WRITE_ONCE(t->cntr, NULL);
	kfi_obj_put(&cntr->obj);
}

static bool trigger_collect_one(struct kfi_cntr *cntr, struct list_head *list, u64 reached)
{
	struct kfi_trigger *t, *next;
	bool any = false;

	list_for_each_entry_safe(t, next, list, link) {
		if (t->threshold > reached)
			break;
		list_move_tail(&t->link, &cntr->due);
		any = true;
	}
	return any;
}

/* Move what is due to cntr->due. Return: true if there was anything. */
static bool trigger_collect(struct kfi_cntr *cntr)
{
	struct list_head *succeeded = &cntr->waiting[KFI_CNTR_SUCCEEDED], *ended = &cntr->waiting[KFI_CNTR_ENDED];
	u64 value = atomic64_read(&cntr->value), errors = atomic64_read(&cntr->errors);
	bool any;

	lockdep_assert_held(&cntr->lock);
	any = trigger_collect_one(cntr, succeeded, value);
	any |= trigger_collect_one(cntr, ended, value + errors);
	WRITE_ONCE(cntr->armed, !list_empty(succeeded) || !list_empty(ended));
	return any;
}

void kfi_trigger_check(struct kfi_cntr *cntr)
{
	bool any;

	spin_lock_bh(&cntr->lock);
	any = trigger_collect(cntr);
	spin_unlock_bh(&cntr->lock);
	if (any)
		queue_delayed_work(kfi_start_wq, &cntr->work, 0);
}

/*
 * Add @t to the lists of the counter; from then on the context that removes it owns it. Called
 * inside an RCU read section.
 */
static void trigger_wait(struct kfi_cntr *cntr, struct kfi_trigger *t)
{
	bool any;

	kfi_obj_get(&cntr->obj);
	if (t->target)
		kfi_obj_get(&t->target->obj);
	spin_lock_bh(&cntr->lock);
	WRITE_ONCE(t->cntr, cntr);
	trigger_insert(cntr, t);
	WRITE_ONCE(cntr->armed, true);
	/* pairs with kfi_cntr_changed(): either it sees cntr->armed, or its change is seen here */
	smp_mb();
	any = trigger_collect(cntr);
	spin_unlock_bh(&cntr->lock);
	if (any)
		queue_delayed_work(kfi_start_wq, &cntr->work, 0);
}

/*
 * Lock the counter that @t waits for. Return: the counter, or NULL if @t does not wait. Only a
 * waiting trigger keeps its counter open, so t->cntr must be read again under the lock. RCU keeps
 * the memory of the counter until then.
 */
static struct kfi_cntr *trigger_lock(struct kfi_trigger *t)
{
	struct kfi_cntr *cntr;

	rcu_read_lock();
	cntr = READ_ONCE(t->cntr);
	if (cntr) {
		spin_lock_bh(&cntr->lock);
		if (t->cntr != cntr) {
			spin_unlock_bh(&cntr->lock);
			cntr = NULL;
		}
	}
	rcu_read_unlock();
	return cntr;
}

/* ---- triggers that do not start ---- */

/* Drop deferred work without a completion. */
static void trigger_drop(struct kfi_oper *op, struct kfi_cntr *target)
{
	if (op)
		kfi_op_abort(op);
	if (target)
		kfi_obj_put(&target->obj);
}

void kfi_trigger_end(struct kfi_ep *ep, int err)
{
	struct kfi_trigger *t;
	struct kfi_cntr *cntr;
	bool found;
	u32 i;

	for (i = 0; (t = trigger_at(ep, i)); i++) {
		cntr = trigger_lock(t);
		if (!cntr)
			continue;
		found = t->op->ep == ep;
		if (found)
			trigger_unlink(t);
		spin_unlock_bh(&cntr->lock);
		if (found)
			kfi_post_fail(t->op, err);
	}
}

/* Deferred work is canceled by its structure, see kfi_work_cancel(). */
int kfi_trigger_cancel(struct kfi_ep *ep, void *context)
{
	struct kfi_trigger *t;
	struct kfi_cntr *cntr;
	bool found;
	u32 i;

	for (i = 0; (t = trigger_at(ep, i)); i++) {
		cntr = trigger_lock(t);
		if (!cntr)
			continue;
		found = !t->work && t->op->ep == ep && t->op->context == context;
		if (found)
			trigger_unlink(t);
		spin_unlock_bh(&cntr->lock);
		if (found) {
			kfi_post_fail(t->op, -ECANCELED);
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- start ---- */

/**
 * struct trigger_run - what the work item has taken from cntr->due
 * @t: trigger of an operation, or NULL if a counter is to be changed. In the latter case the
 *	consumer's structure must not be used any more, and the other members have a copy
 * @type: KFI_OP_CNTR_SET or KFI_OP_CNTR_ADD
 * @value: value to set or add
 * @target: counter to be changed
 */
struct trigger_run {
	struct kfi_trigger	*t;
	enum kfi_op_type	type;
	u64			value;
	struct kfi_cntr		*target;
};

static bool trigger_take(struct kfi_cntr *cntr, struct trigger_run *run)
{
	struct kfi_trigger *t;

	spin_lock_bh(&cntr->lock);
	t = list_first_entry_or_null(&cntr->due, struct kfi_trigger, link);
	if (t) {
		run->t = t->op ? t : NULL;
		if (!t->op) {
			run->type = t->work->op_type;
			run->value = t->work->op.cntr->value;
			run->target = t->target;
		}
		trigger_unlink(t);
	}
	spin_unlock_bh(&cntr->lock);
	return t;
}

static void trigger_change(const struct trigger_run *run)
{
	rcu_read_lock();
	kfi_obj_put(&run->target->obj);
	if (run->type == KFI_OP_CNTR_SET)
		kfi_cntr_set(&run->target->fid, run->value);
	else
		kfi_cntr_add(&run->target->fid, run->value);
	rcu_read_unlock();
}

/*
 * The provider has no room: return @t to the head of cntr->due, unless that was done
 * KFI_START_TRIES times, or the counter is being closed (its consumer did not wait for the
 * operations that it has started). The caller is still in the RCU read section in which the state
 * of the endpoint allowed the post, so the end of the endpoint finds @t (kfi_trigger_end()).
 */
static bool trigger_again(struct kfi_cntr *cntr, struct kfi_trigger *t)
{
	if (t->tries >= KFI_START_TRIES || !atomic_inc_unless_negative(&cntr->obj.users))
		return false;
	spin_lock_bh(&cntr->lock);
	WRITE_ONCE(t->cntr, cntr);
	list_add(&t->link, &cntr->due);
	queue_delayed_work(kfi_start_wq, &cntr->work, msecs_to_jiffies(1 << t->tries++));
	spin_unlock_bh(&cntr->lock);
	return true;
}

static int trigger_inject(struct kfi_trigger *t)
{
	if (!t->inject)
		return 0;
	t->inject = false;
	t->op->flags |= KFI_INJECT;
	return kfi_op_inject(t->op);
}

/* Return: false if the provider has no room; then operations behind @t must wait, too. */
static bool trigger_start(struct kfi_cntr *cntr, struct kfi_trigger *t)
{
	struct kfi_oper *op = t->op;
	bool later = false;
	int ret;

	rcu_read_lock_bh();
	/* after success @t and @op may be in use again */
	ret = trigger_inject(t) ?: kfi_post_start(op);
	if (ret == -EAGAIN)
		later = trigger_again(cntr, t);
	if (ret && !later)
		kfi_post_fail(op, ret);
	rcu_read_unlock_bh();
	return !later;
}

static void trigger_work(struct work_struct *work)
{
	struct kfi_cntr *cntr = container_of(to_delayed_work(work), struct kfi_cntr, work);
	struct trigger_run run;

	while (trigger_take(cntr, &run)) {
		if (!run.t)
			trigger_change(&run);
		else if (!trigger_start(cntr, run.t))
			break;
		cond_resched();
	}
}

/* ---- posts ---- */

static int check_cntr(const struct kfi_domain *domain, struct kfid_cntr *fid)
{
	if (!fid || fid->fid.fclass != KFI_CLASS_CNTR)
		return -EINVAL;
	return kfi_to_cntr(fid)->domain == domain ? 0 : -KFI_EDOMAIN;
}

/*
 * As in every post, the RCU read section includes the check of the endpoint's state and the
 * insertion into the list; the end of the endpoint waits for a grace period before it looks there.
 * The provider does not see this post, so posts with KFI_MORE before it are flushed.
 */
static int trigger_op(struct kfi_ep *ep, struct kfi_post *post, const struct kfi_trigger *how)
{
	struct kfi_trigger t = *how;
	struct kfi_oper *op;
	int ret;

	lockdep_assert_irqs_enabled();
	rcu_read_lock_bh();
	op = kfi_post_make(ep, post);
	ret = PTR_ERR_OR_ZERO(op);
	if (!ret && how->inject && op->len > ep->inject_size) {
		kfi_op_abort(op);
		ret = -EINVAL;
	}
	if (!ret) {
		op->flags |= KFI_TRIGGER;
		/*
		 * Other contexts read the triggers of the pool: this one must not seem to wait
		 * before trigger_wait().
		 */
		t.op = op;
		t.cntr = NULL;
		*trigger_of(op) = t;
		trigger_wait(how->cntr, trigger_of(op));
	}
	if (post->code < KFI_OPC_RECV)
		kfi_post_flush(ep);
	rcu_read_unlock_bh();
	return ret;
}

ssize_t kfi_trigger_post(struct kfi_ep *ep, struct kfi_post *post)
{
	const struct kfi_triggered_context *context = post->context;
	struct kfi_trigger how = {};
	int ret;

	if (!ep->triggers || (context && context->event_type != KFI_TRIGGER_THRESHOLD))
		return -EOPNOTSUPP;
	/* The context cannot be a struct kfi_cqe as well. A peek or claim completes at once. */
	if (!context || post->flags & (KFI_CQE | KFI_PEEK | KFI_CLAIM | KFI_DISCARD))
		return -EINVAL;
	ret = check_cntr(ep->domain, context->trigger.threshold.cntr);
	if (ret)
		return ret;
	how.cntr = kfi_to_cntr(context->trigger.threshold.cntr);
	how.threshold = context->trigger.threshold.threshold;
	post->flags &= ~(KFI_TRIGGER | KFI_MORE);
	return trigger_op(ep, post, &how);
}

bool kfi_trigger_ended(const struct kfi_oper *op, int err)
{
	const struct kfi_trigger *t = trigger_of(op);
	struct kfi_cntr *target = t->target;

	if (!t->work)
		return false;
	if (target) {
		rcu_read_lock();
		kfi_obj_put(&target->obj);
		kfi_cntr_count_len(target, err, 1);	/* one, even if the counter counts bytes */
		rcu_read_unlock();
	}
	return true;
}

/* ---- deferred work ---- */

static struct kfid_ep *work_describe_atomic(const struct kfi_deferred_work *work, struct kfi_post *post,
					    struct kfi_post_atomic *atomic)
{
	const struct kfi_op_compare_atomic *compare = work->op.compare_atomic;
	const struct kfi_op_fetch_atomic *fetch = work->op.fetch_atomic;
	const struct kfi_op_atomic *base = work->op.atomic;

	switch (work->op_type) {
	case KFI_OP_ATOMIC:
		kfi_post_atomic(post, atomic, KFI_OPC_ATOMIC, &base->msg, base->flags);
		return base->ep;
	case KFI_OP_FETCH_ATOMIC:
		kfi_post_atomic(post, atomic, KFI_OPC_FETCH_ATOMIC, &fetch->msg, fetch->flags);
		atomic->result = fetch->fetch.msg_iov;
		atomic->result_count = fetch->fetch.iov_count;
		return fetch->ep;
	default:
		kfi_post_atomic(post, atomic, KFI_OPC_COMPARE_ATOMIC, &compare->msg, compare->flags);
		atomic->result = compare->fetch.msg_iov;
		atomic->result_count = compare->fetch.iov_count;
		atomic->compare = compare->compare.msg_iov;
		atomic->compare_count = compare->compare.iov_count;
		return compare->ep;
	}
}

/* Describe the work as a post. @atomic: room for the part that atomic operations need. */
static int work_describe(const struct kfi_deferred_work *work, struct kfi_post *post, struct kfi_post_atomic *atomic,
			 struct kfid_ep **ep)
{
	const struct kfi_op_tagged *tagged = work->op.tagged;
	const struct kfi_op_msg *msg = work->op.msg;
	const struct kfi_op_rma *rma = work->op.rma;

	switch (work->op_type) {
	case KFI_OP_SEND:
	case KFI_OP_RECV:
		*ep = msg->ep;
		kfi_post_msg(post, work->op_type == KFI_OP_SEND ? KFI_OPC_SEND : KFI_OPC_RECV, &msg->msg, msg->flags);
		return 0;
	case KFI_OP_TSEND:
	case KFI_OP_TRECV:
		*ep = tagged->ep;
		kfi_post_tagged(post, work->op_type == KFI_OP_TSEND ? KFI_OPC_TSEND : KFI_OPC_TRECV, &tagged->msg,
				tagged->flags);
		return 0;
	case KFI_OP_READ:
	case KFI_OP_WRITE:
		*ep = rma->ep;
		kfi_post_rma(post, work->op_type == KFI_OP_WRITE, &rma->msg, rma->flags);
		return 0;
	case KFI_OP_ATOMIC:
	case KFI_OP_FETCH_ATOMIC:
	case KFI_OP_COMPARE_ATOMIC:
		*ep = work_describe_atomic(work, post, atomic);
		return 0;
	default:
		return -EINVAL;
	}
}

static int work_queue_op(struct kfi_domain *domain, struct kfi_deferred_work *work, struct kfi_trigger *how)
{
	struct kfi_post_atomic atomic = {};
	struct kfi_post post __uninitialized;
	struct kfid_ep *fid;
	struct kfi_ep *ep;
	int ret;

	ret = work_describe(work, &post, &atomic, &fid);
	if (ret)
		return ret;
	ep = fid ? kfi_fid_ep(&fid->fid) : NULL;
	if (!ep)
		return -EINVAL;
	if (ep->domain != domain)
		return -KFI_EDOMAIN;
	if (!ep->triggers)
		return -EOPNOTSUPP;
	kfi_post_ep(fid, &post);
	/* Deferred work has one completion, which is counted once. */
	if (post.flags & (KFI_MULTI_RECV | KFI_PEEK | KFI_CLAIM | KFI_DISCARD))
		return -EINVAL;
	how->inject = post.flags & kfi_post_flags(post.code) & KFI_INJECT;
	if (how->inject)
		post.flags &= ~KFI_INJECT;
	post.flags &= ~KFI_MORE;
	if (!(post.flags & (KFI_COMPLETION | KFI_CQE)))
		post.flags |= KFI_NO_COMPLETION;
	return trigger_op(ep, &post, how);
}

static int work_queue_cntr(struct kfi_domain *domain, struct kfi_deferred_work *work, struct kfi_trigger *how)
{
	struct kfi_trigger *t = (struct kfi_trigger *)&work->context;
	struct kfi_cntr *cntr = how->cntr;
	int ret;

	if (work->completion_cntr)
		return -EINVAL;
	ret = check_cntr(domain, work->op.cntr->cntr);
	if (ret)
		return ret;
	*t = *how;
	t->cntr = NULL;
	t->target = kfi_to_cntr(work->op.cntr->cntr);
	trigger_wait(cntr, t);
	return 0;
}

int kfi_work_queue(struct kfi_domain *domain, struct kfi_deferred_work *work)
{
	struct kfi_trigger how = {};
	int ret;

	if (!work || !work->op.msg)
		return -EINVAL;
	ret = check_cntr(domain, work->triggering_cntr);
	if (!ret && work->completion_cntr)
		ret = check_cntr(domain, work->completion_cntr);
	if (ret)
		return ret;
	how.cntr = kfi_to_cntr(work->triggering_cntr);
	how.threshold = work->threshold;
	how.work = work;
	if (work->op_type == KFI_OP_CNTR_SET || work->op_type == KFI_OP_CNTR_ADD)
		return work_queue_cntr(domain, work, &how);
	if (work->completion_cntr)
		how.target = kfi_to_cntr(work->completion_cntr);
	return work_queue_op(domain, work, &how);
}

/*
 * Return the first trigger in the list that belongs to @work, or to any deferred work if @work is
 * NULL.
 */
static struct kfi_trigger *work_find(struct list_head *list, const struct kfi_deferred_work *work)
{
	struct kfi_trigger *t;

	list_for_each_entry(t, list, link)
		if (work ? t->work == work : !!t->work)
			return t;
	return NULL;
}

/* Return: true if there was such work and it had not started. */
static bool work_drop(struct kfi_cntr *cntr, const struct kfi_deferred_work *work)
{
	struct kfi_cntr *target = NULL;
	struct kfi_oper *op = NULL;
	struct kfi_trigger *t;

	spin_lock_bh(&cntr->lock);
	t = work_find(&cntr->due, work) ?: work_find(&cntr->waiting[KFI_CNTR_ENDED], work);
	if (t) {
		op = t->op;
		target = t->target;
		trigger_unlink(t);
	}
	spin_unlock_bh(&cntr->lock);
	trigger_drop(op, target);
	return t;
}

int kfi_work_cancel(struct kfi_domain *domain, struct kfi_deferred_work *work)
{
	int ret;

	if (!work)
		return -EINVAL;
	ret = check_cntr(domain, work->triggering_cntr);
	if (ret)
		return ret;
	return work_drop(kfi_to_cntr(work->triggering_cntr), work) ? 0 : -ENOENT;
}

void kfi_work_flush_cntr(struct kfi_cntr *cntr)
{
	while (work_drop(cntr, NULL))
		cond_resched();
}

int kfi_work_flush(struct kfi_domain *domain)
{
	struct kfi_cntr *cntr;

	might_sleep();
	mutex_lock(&domain->lock);
	list_for_each_entry(cntr, &domain->cntrs, obj.entry)
		kfi_work_flush_cntr(cntr);
	mutex_unlock(&domain->lock);
	return 0;
}

/* ---- life ---- */

int kfi_trigger_ep_init(struct kfi_ep *ep)
{
	if (!(ep->caps & KFI_TRIGGER))
		return 0;
	ep->triggers = kvcalloc((size_t)ep->tx.depth + ep->rx.depth, sizeof(*ep->triggers), GFP_KERNEL);
	return ep->triggers ? 0 : -ENOMEM;
}

void kfi_trigger_ep_exit(struct kfi_ep *ep)
{
	kvfree(ep->triggers);
}

void kfi_trigger_cntr_init(struct kfi_cntr *cntr)
{
	int i;

	spin_lock_init(&cntr->lock);
	for (i = 0; i < KFI_CNTR_SENSES; i++)
		INIT_LIST_HEAD(&cntr->waiting[i]);
	INIT_LIST_HEAD(&cntr->due);
	INIT_DELAYED_WORK(&cntr->work, trigger_work);
}

void kfi_trigger_cntr_stop(struct kfi_cntr *cntr)
{
	/* contexts that have dropped their count have changed the counter */
	synchronize_rcu_expedited();
	cancel_delayed_work_sync(&cntr->work);
	WARN_ON_ONCE(!list_empty(&cntr->due) || !list_empty(&cntr->waiting[KFI_CNTR_ENDED]) ||
		     !list_empty(&cntr->waiting[KFI_CNTR_SUCCEEDED]));
}

int kfi_trigger_setup(void)
{
	kfi_start_wq = alloc_workqueue("kfi_start", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	return kfi_start_wq ? 0 : -ENOMEM;
}

void kfi_trigger_teardown(void)
{
	destroy_workqueue(kfi_start_wq);
}
