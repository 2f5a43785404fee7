// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: events of connections, and events that consumers write.
 *
 * Events are rare, and the contexts that report them may sleep, so each event is allocated. Events
 * of connections must not be lost: they are allocated with __GFP_NOFAIL and, except for connection
 * requests, queued even if the queue is full.
 *
 * eq.h describes the structure and its lock.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "eq.h"
#include "queue.h"

#define KFI_EQ_SIZE		256
#define KFI_EQ_SIZE_MAX		(1U << 20)
#define KFI_EQ_WRITE_MAX	PAGE_SIZE

/**
 * struct kfi_eq_item - one event
 * @link: in &kfi_eq.events
 * @fid: object that the event is about, or NULL
 * @info: of a connection request: passed to the reader, or freed with the item
 * @event: event number
 * @err: positive error number of an error event, else 0
 * @fixed: bytes of @buf that the reader's buffer must hold
 * @len: bytes of @buf
 * @buf: the event as the reader gets it; of an error event the error data only
 */
struct kfi_eq_item {
	struct list_head	link;
	struct kfid		*fid;
	struct kfi_info		*info;
	u32			event;
	int			err;
	size_t			fixed;
	size_t			len;
	u8			buf[] __aligned(8);
};

struct kfi_obj *kfi_eq_obj(struct kfi_eq *eq)
{
	return &eq->obj;
}

static void kfi_eq_free_item(struct kfi_eq_item *item)
{
	if (!item)
		return;
	kfi_freeinfo(item->info);
	kfree(item);
}

static void kfi_eq_call(struct work_struct *work)
{
	struct kfi_eq *eq = container_of(work, struct kfi_eq, work);
	unsigned int noio = memalloc_noio_save();

	eq->handler(&eq->fid, eq->fid.fid.context);
	memalloc_noio_restore(noio);
}

/* Add @item to the queue. With @bounded, return -EAGAIN if the queue is full. */
static int kfi_eq_add(struct kfi_eq *eq, struct kfi_eq_item *item, bool bounded)
{
	bool call;

	spin_lock_bh(&eq->lock);
	if (bounded && eq->count >= eq->size) {
		spin_unlock_bh(&eq->lock);
		return -EAGAIN;
	}
	list_add_tail(&item->link, &eq->events);
	eq->count++;
	call = eq->handler && eq->armed;
	eq->armed = false;
	spin_unlock_bh(&eq->lock);
	if (call)
		kfi_callback_work(eq->cpu, &eq->work);
	wake_up_all(&eq->wait);
	return 0;
}

int kfi_eq_event(struct kfi_eq *eq, u32 event, struct kfid *fid, struct kfi_info *info,
		 const void *data, size_t len)
{
	struct kfi_eq_cm_entry *cm;
	struct kfi_eq_item *item;
	int ret;

	item = kzalloc(struct_size(item, buf, sizeof(*cm) + len), GFP_KERNEL | __GFP_NOFAIL);
	item->fid = fid;
	item->info = info;
	item->event = event;
	item->fixed = sizeof(*cm);
	item->len = sizeof(*cm) + len;
	cm = (void *)item->buf;
	cm->fid = fid;
	cm->info = info;
	memcpy(cm->data, data, len);
	ret = kfi_eq_add(eq, item, event == KFI_CONNREQ);
	if (ret)
		kfree(item);	/* @info still belongs to the caller */
	return ret;
}

int kfi_eq_error(struct kfi_eq *eq, struct kfid *fid, int err, const void *data, size_t len)
{
	struct kfi_eq_item *item;

	item = kzalloc(struct_size(item, buf, len), GFP_KERNEL | __GFP_NOFAIL);
	item->fid = fid;
	item->err = -err;
	item->len = len;
	memcpy(item->buf, data, len);
	return kfi_eq_add(eq, item, false);
}

static bool kfi_eq_is_request(const struct kfi_eq_item *item, const struct kfid *handle)
{
	return item->info && item->info->handle == handle;
}

/* Drop the events of the object @fid, or, if @fid is NULL, the connection request @handle. */
static void kfi_eq_drop(struct kfi_eq *eq, const struct kfid *fid, const struct kfid *handle)
{
	struct kfi_eq_item *item, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&eq->lock);
	list_for_each_entry_safe(item, next, &eq->events, link) {
		if (fid ? item->fid != fid : !kfi_eq_is_request(item, handle))
			continue;
		list_move_tail(&item->link, &gone);
		eq->count--;
	}
	spin_unlock_bh(&eq->lock);
	list_for_each_entry_safe(item, next, &gone, link)
		kfi_eq_free_item(item);
}

void kfi_eq_purge(struct kfi_eq *eq, struct kfid *fid)
{
	kfi_eq_drop(eq, fid, NULL);
}

void kfi_eq_purge_sync(struct kfi_eq *eq, struct kfid *fid)
{
	kfi_eq_drop(eq, fid, NULL);
	if (eq->handler)
		flush_work(&eq->work);
}

void kfi_eq_purge_request(struct kfi_eq *eq, const struct kfid *handle)
{
	kfi_eq_drop(eq, NULL, handle);
}

/*
 * Return the first event if it is of the kind that the caller reads, otherwise NULL with the reason
 * in *@err. An empty queue is armed.
 */
static struct kfi_eq_item *kfi_eq_head(struct kfi_eq *eq, bool error, ssize_t *err)
{
	struct kfi_eq_item *item;

	lockdep_assert_held(&eq->lock);
	item = list_first_entry_or_null(&eq->events, struct kfi_eq_item, link);
	*err = -EAGAIN;
	if (!item)
		eq->armed = true;
	else if (!error && item->err)
		*err = -KFI_EAVAIL;
	else if (error == !!item->err)
		return item;
	return NULL;
}

static void kfi_eq_remove(struct kfi_eq *eq, struct kfi_eq_item *item)
{
	lockdep_assert_held(&eq->lock);
	list_del(&item->link);
	eq->count--;
}

ssize_t kfi_eq_read(struct kfid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct kfi_eq *eq = kfi_to_eq(fid);
	struct kfi_eq_item *item, *old = NULL;
	ssize_t ret;

	if (flags & ~KFI_PEEK)
		return -KFI_EBADFLAGS;
	spin_lock_bh(&eq->lock);
	item = kfi_eq_head(eq, false, &ret);
	if (!item)
		goto out;
	ret = -KFI_ETOOSMALL;
	if (len < item->fixed)
		goto out;
	ret = min(len, item->len);
	*event = item->event;
	memcpy(buf, item->buf, ret);
	if (!(flags & KFI_PEEK)) {
		kfi_eq_remove(eq, item);
		item->info = NULL;	/* belongs to the reader now */
		old = item;
	}
out:
	spin_unlock_bh(&eq->lock);
	kfi_eq_free_item(old);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_eq_read);

static void kfi_eq_get_error(struct kfi_eq_item *item, struct kfi_eq_err_entry *buf)
{
	buf->fid = item->fid;
	buf->context = item->fid ? item->fid->context : NULL;
	buf->data = 0;
	buf->err = item->err;
	buf->prov_errno = item->err;
	if (buf->err_data && buf->err_data_size) {
		buf->err_data_size = min(buf->err_data_size, item->len);
		memcpy(buf->err_data, item->buf, buf->err_data_size);
	} else {
		buf->err_data = item->len ? item->buf : NULL;
		buf->err_data_size = item->len;
	}
}

ssize_t kfi_eq_readerr(struct kfid_eq *fid, struct kfi_eq_err_entry *buf, uint64_t flags)
{
	struct kfi_eq *eq = kfi_to_eq(fid);
	struct kfi_eq_item *item, *old = NULL;
	ssize_t ret;

	if (flags & ~KFI_PEEK)
		return -KFI_EBADFLAGS;
	spin_lock_bh(&eq->lock);
	item = kfi_eq_head(eq, true, &ret);
	if (!item)
		goto out;
	ret = sizeof(*buf);
	kfi_eq_get_error(item, buf);
	if (!(flags & KFI_PEEK)) {
		kfi_eq_remove(eq, item);
		old = eq->last;
		eq->last = item;
	}
out:
	spin_unlock_bh(&eq->lock);
	kfi_eq_free_item(old);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_eq_readerr);

/* An event of a connection begins with struct kfi_eq_cm_entry, which repeats members of the item. */
static void kfi_eq_get_event(struct kfi_eq_item *item, struct kfi_event *ev)
{
	size_t head = item->fid && !item->err ? sizeof(struct kfi_eq_cm_entry) : 0;

	ev->event = item->event;
	ev->err = -item->err;
	ev->fid = item->fid;
	ev->info = item->info;
	ev->data = item->buf + head;
	ev->len = item->len - head;
}

bool kfi_eq_next(struct kfid_eq *fid, struct kfi_event *ev)
{
	struct kfi_eq *eq = kfi_to_eq(fid);
	struct kfi_eq_item *item, *old = NULL;

	spin_lock_bh(&eq->lock);
	item = list_first_entry_or_null(&eq->events, struct kfi_eq_item, link);
	if (item) {
		kfi_eq_remove(eq, item);
		kfi_eq_get_event(item, ev);
		item->info = NULL;	/* belongs to the reader now */
		old = eq->last;
		eq->last = item;
	} else {
		eq->armed = true;
	}
	spin_unlock_bh(&eq->lock);
	kfi_eq_free_item(old);
	return item;
}
EXPORT_SYMBOL_GPL(kfi_eq_next);

ssize_t kfi_eq_write(struct kfid_eq *fid, uint32_t event, const void *buf, size_t len,
		     uint64_t flags)
{
	struct kfi_eq *eq = kfi_to_eq(fid);
	struct kfi_eq_item *item;
	int ret;

	if (flags)
		return -KFI_EBADFLAGS;
	if (!eq->writable || len > KFI_EQ_WRITE_MAX)
		return -EINVAL;
	item = kzalloc(struct_size(item, buf, len), GFP_ATOMIC);
	if (!item)
		return -ENOMEM;
	item->event = event;
	item->fixed = len;
	item->len = len;
	memcpy(item->buf, buf, len);
	ret = kfi_eq_add(eq, item, true);
	if (!ret)
		return len;
	kfi_eq_free_item(item);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_eq_write);

ssize_t kfi_eq_sread(struct kfid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
		     uint64_t flags)
{
	struct kfi_eq *eq = kfi_to_eq(fid);
	unsigned int state = kfi_queue_sleep_state();
	long left = kfi_queue_timeout(timeout);
	DEFINE_WAIT(wait);
	ssize_t ret;

	if (!eq->waitable)
		return -EINVAL;
	for (;;) {
		prepare_to_wait(&eq->wait, &wait, state);
		ret = kfi_eq_read(fid, event, buf, len, flags);
		if (ret != -EAGAIN || !left)
			break;
		if (kfi_queue_killed(state)) {
			ret = -EINTR;
			break;
		}
		left = schedule_timeout(left);
	}
	finish_wait(&eq->wait, &wait);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_eq_sread);

static int kfi_eq_check(const struct kfi_eq_attr *attr)
{
	if (attr->flags & ~(KFI_WRITE | KFI_AFFINITY))
		return -KFI_EBADFLAGS;
	if (attr->size > KFI_EQ_SIZE_MAX || kfi_queue_cpu(attr->flags, attr->signaling_vector) < 0)
		return -EINVAL;
	return kfi_queue_wait_obj(attr->wait_obj);
}

int kfi_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eqp,
		kfi_event_handler handler, void *context)
{
	static const struct kfi_eq_attr none = { .wait_obj = KFI_WAIT_UNSPEC };
	const struct kfi_eq_attr *a = attr ?: &none;
	struct kfi_eq *eq;
	int ret;

	ret = kfi_eq_check(a);
	if (ret)
		return ret;
	eq = kzalloc(sizeof(*eq), GFP_KERNEL_ACCOUNT);
	if (!eq)
		return -ENOMEM;
	eq->fid.fid.fclass = KFI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fabric = container_of(fabric, struct kfi_fabric, fid);
	eq->handler = handler;
	eq->size = a->size ?: KFI_EQ_SIZE;
	eq->cpu = kfi_queue_cpu(a->flags, a->signaling_vector);
	eq->waitable = a->wait_obj != KFI_WAIT_NONE;
	eq->writable = a->flags & KFI_WRITE;
	eq->armed = true;
	spin_lock_init(&eq->lock);
	INIT_LIST_HEAD(&eq->events);
	INIT_WORK(&eq->work, kfi_eq_call);
	init_waitqueue_head(&eq->wait);
	kfi_obj_init(&eq->obj);
	kfi_obj_get(&eq->fabric->obj);
	*eqp = &eq->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_eq_open);

static int kfi_eq_close(struct kfid *fid)
{
	struct kfi_eq *eq = container_of(fid, struct kfi_eq, fid.fid);
	struct kfi_eq_item *item, *next;

	if (!kfi_obj_retire(&eq->obj))
		return -EBUSY;
	spin_lock_bh(&eq->lock);
	eq->armed = false;
	spin_unlock_bh(&eq->lock);
	cancel_work_sync(&eq->work);
	list_for_each_entry_safe(item, next, &eq->events, link)
		kfi_eq_free_item(item);
	kfi_eq_free_item(eq->last);
	kfi_obj_put(&eq->fabric->obj);
	kfree(eq);
	return 0;
}

const struct kfi_fid_class kfi_eq_class = {
	.name = "eq",
	.close = kfi_eq_close,
};
