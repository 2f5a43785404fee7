// SPDX-License-Identifier: GPL-2.0
/* Event queues, and the connection requests that are read from them. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "user.h"

#define EQ_SIZE_MAX	65536U
#define EQ_SIZE		256U	/* events of a queue without a size */
#define EQ_ROOM		512	/* bytes of an event, roughly */

/* Set in events of KFI_IOC_EQ_WRITE, which kfi.ko returns as they were written. */
#define EVENT_WRITTEN	(1U << 31)

/**
 * struct written_event - contents of an event of KFI_IOC_EQ_WRITE
 * @cookie: number of the object that the event is about
 * @data: data of the event
 * @bytes: further data
 */
struct written_event {
	u64	cookie;
	u64	data;
	u8	bytes[KFI_USER_DATA_MAX];
};

static struct kfid_eq *eq_of(struct ku_obj *obj)
{
	return container_of(obj->fid, struct kfid_eq, fid);
}

static void eq_handler(struct kfid_eq *eq, void *context)
{
	ku_waiter_wake(context);
}

/* Is there an event? The read has no buffer, so it leaves the event in the queue. */
bool ku_eq_ready(struct ku_obj *obj)
{
	u32 event;
	u8 nothing;

	return kfi_eq_read(eq_of(obj), &event, &nothing, 0, KFI_PEEK) != -EAGAIN;
}

int ku_ioc_eq(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_eq *open = arg;
	struct kfi_eq_attr attr = {
		.size = open->size ?: EQ_SIZE,
		.flags = open->flags,
		.wait_obj = KFI_WAIT_NONE,
	};
	struct ku_obj *fabric, *obj;
	struct kfid_eq *eq;
	int ret;

	if (open->flags & ~KFI_WRITE || open->size > EQ_SIZE_MAX)
		return -EINVAL;
	fabric = ku_obj_get(ctx, open->fabric, KFI_CLASS_FABRIC);
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);
	obj = ku_obj_new(ctx, fabric, sizeof(*obj), KFI_CLASS_EQ, open->cookie);
	if (IS_ERR(obj)) {
		ret = PTR_ERR(obj);
		goto put_fabric;
	}
	ret = ku_obj_charge(obj, attr.size * EQ_ROOM);
	if (ret)
		goto abandon;
	ret = ku_waiter_open(obj);
	if (ret)
		goto abandon;
	ret = kfi_eq_open(container_of(fabric->fid, struct kfid_fabric, fid), &attr, &eq,
			  eq_handler, obj);
	if (ret)
		goto close_waiter;
	obj->fid = &eq->fid;
	open->handle = obj->handle;
	ku_obj_publish(obj);
	goto put_fabric;

close_waiter:
	ku_waiter_close(obj);
abandon:
	ku_obj_abandon(obj);
put_fabric:
	ku_obj_put(fabric);
	return ret;
}

/* ---- reading ---- */

/**
 * struct ku_event - an event that was taken from the queue
 * @read: structure for the process
 * @info: info of a connection request, else NULL
 * @pep: handle of its passive endpoint
 * @bytes: private data of the peer, of an error, or data that the process has written
 */
struct ku_event {
	struct kfi_user_event	*read;
	struct kfi_info		*info;
	u32			pep;
	u8			bytes[KFI_USER_DATA_MAX];
};

/* Store the cookie and handle of the event's object, which is not closed meanwhile. */
static void event_about(struct ku_ctx *ctx, struct ku_event *event, const struct kfid *fid)
{
	const struct ku_obj *obj = fid ? fid->context : NULL;

	lockdep_assert_held(&ctx->events);
	if (!obj)
		return;
	event->read->cookie = obj->cookie;
	event->pep = obj->handle;
}

static void take_cm(struct ku_ctx *ctx, struct ku_event *event, const struct kfi_eq_cm_entry *entry,
		    size_t len)
{
	event_about(ctx, event, entry->fid);
	event->read->len = len - sizeof(*entry);
	memcpy(event->bytes, entry->data, event->read->len);
	/* A request that is only peeked at stays in the queue, which may drop it at any time. */
	if (!(event->read->flags & KFI_PEEK))
		event->info = entry->info;
}

static int take_error(struct ku_ctx *ctx, struct kfid_eq *eq, struct ku_event *event)
{
	struct kfi_eq_err_entry entry = {
		.err_data = event->bytes,
		.err_data_size = sizeof(event->bytes),
	};
	ssize_t ret;

	ret = kfi_eq_readerr(eq, &entry, event->read->flags);
	if (ret < 0)
		return ret;
	event_about(ctx, event, entry.fid);
	event->read->event = 0;
	event->read->err = entry.err;
	event->read->prov_errno = entry.prov_errno;
	event->read->data = entry.data;
	event->read->len = 0;
	/* Without data err_data does not point to @bytes. */
	if (entry.err_data == event->bytes)
		event->read->len = min(entry.err_data_size, sizeof(event->bytes));
	return 0;
}

/* Called with ku_ctx.events held, so no memory of the process is accessed. */
static int take_event(struct ku_ctx *ctx, struct kfid_eq *eq, struct ku_event *event)
{
	union {
		struct kfi_eq_entry entry;
		struct kfi_eq_cm_entry cm;
		struct written_event written;
		u8 room[sizeof(struct kfi_eq_cm_entry) + KFI_USER_DATA_MAX];
	} buf;
	struct kfi_user_event *read = event->read;
	ssize_t len;
	u32 number;

	len = kfi_eq_read(eq, &number, &buf, sizeof(buf), read->flags);
	if (len == -KFI_EAVAIL)
		return take_error(ctx, eq, event);
	if (len < 0)
		return len;
	read->event = number & ~EVENT_WRITTEN;
	if (number & EVENT_WRITTEN) {
		read->written = 1;
		read->cookie = buf.written.cookie;
		read->data = buf.written.data;
		read->len = len - offsetof(struct written_event, bytes);
		memcpy(event->bytes, buf.written.bytes, read->len);
	} else if (number == KFI_CONNREQ || number == KFI_CONNECTED || number == KFI_SHUTDOWN) {
		take_cm(ctx, event, &buf.cm, len);
	} else {
		event_about(ctx, event, buf.entry.fid);
		read->data = buf.entry.data;
		read->len = 0;
	}
	return 0;
}

/* Make the request an object of the context. */
static int give_request(struct ku_ctx *ctx, struct ku_event *event)
{
	struct kfi_user_event *read = event->read;
	struct ku_connreq *req;
	int ret;

	req = ku_obj_new(ctx, NULL, sizeof(*req), KFI_CLASS_CONNREQ, 0);
	if (IS_ERR(req))
		return PTR_ERR(req);
	/* before ku_obj_publish(), after which another call may find the request and end it */
	ret = read->info ? ku_info_to_user(event->info, read->info, read->info_size) : 0;
	if (ret) {
		ku_obj_abandon(&req->obj);
		return ret;
	}
	req->pep = event->pep;
	req->info = event->info;
	event->info = NULL;
	read->connreq = req->obj.handle;
	ku_obj_publish(&req->obj);
	return 0;
}

static int give_event(struct ku_ctx *ctx, struct ku_event *event, u32 room)
{
	struct kfi_user_event *read = event->read;
	int ret = 0;

	if (event->info)
		ret = give_request(ctx, event);
	if (!ret && copy_to_user(u64_to_user_ptr(read->buf), event->bytes, min(room, read->len)))
		ret = -EFAULT;
	return ret;
}

/* Refuse a request that can't be reported to the process. */
static void refuse(struct ku_ctx *ctx, struct ku_event *event)
{
	struct ku_connreq req = { .obj.ctx = ctx, .pep = event->pep, .info = event->info };

	if (event->read->connreq)
		ku_obj_close(ctx, event->read->connreq);
	else
		ku_connreq_end(&req);
	event->read->connreq = 0;
}

int ku_ioc_eq_read(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_event *read = arg;
	struct ku_event event = { .read = read };
	u32 room = read->len;
	struct ku_obj *obj;
	int ret;

	if (read->flags & ~KFI_PEEK)
		return -KFI_EBADFLAGS;
	if (read->info_size > PAGE_SIZE)	/* before the event is taken off the queue */
		return -E2BIG;
	read->written = 0;
	read->connreq = 0;
	read->cookie = 0;
	read->data = 0;
	read->err = 0;
	read->prov_errno = 0;
	obj = ku_obj_get(ctx, read->eq, KFI_CLASS_EQ);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	mutex_lock(&ctx->events);
	ret = take_event(ctx, eq_of(obj), &event);
	mutex_unlock(&ctx->events);
	if (!ret) {
		ret = give_event(ctx, &event, room);
		if (ret)
			refuse(ctx, &event);
	}
	ku_obj_put(obj);
	return ret;
}

/* Refuse a request that was not answered. Its peer and its passive endpoint may have ended. */
void ku_connreq_end(struct ku_connreq *req)
{
	struct kfid_pep *pep;
	struct ku_obj *obj;

	if (!req->info)
		return;
	obj = ku_obj_get(req->obj.ctx, req->pep, KFI_CLASS_PEP);
	if (!IS_ERR(obj)) {
		pep = container_of(obj->fid, struct kfid_pep, fid);
		kfi_reject(pep, req->info->handle, NULL, 0);
		ku_obj_put(obj);
	}
	kfi_freeinfo(req->info);
	req->info = NULL;
}

/* ---- writing ---- */

int ku_ioc_eq_write(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_event *write = arg;
	struct written_event event = { .cookie = write->cookie, .data = write->data };
	struct ku_obj *obj;
	ssize_t ret;

	if (write->flags)
		return -KFI_EBADFLAGS;
	if (write->len > sizeof(event.bytes) || write->event & EVENT_WRITTEN)
		return -EINVAL;
	if (copy_from_user(event.bytes, u64_to_user_ptr(write->buf), write->len))
		return -EFAULT;
	obj = ku_obj_get(ctx, write->eq, KFI_CLASS_EQ);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = kfi_eq_write(eq_of(obj), write->event | EVENT_WRITTEN, &event,
			   offsetof(struct written_event, bytes) + write->len, 0);
	ku_obj_put(obj);
	return min_t(ssize_t, ret, 0);
}
