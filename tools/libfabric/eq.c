// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * eq.c - event queues
 *
 * The kernel returns events and errors in one sequence. But fi_eq_read() must not consume errors,
 * fi_eq_readerr() must not consume other events, both may peek, and neither may consume an event if
 * the buffer is too small. So the library reads an event from the kernel into eq->next, and
 * programs read it from there.
 *
 * An event in eq->next is not in the kernel any more. So the library sets a signal in the kernel,
 * which wakes threads that sleep there or poll the descriptor.
 */
#include <stdio.h>

#include "kfi_fi.h"

#define EQ_FLAGS	FI_PEEK

/* ---- the next event, under eq->lock ---- */

static bool is_connection(const struct kfi_user_event *event)
{
	return event->event == FI_CONNREQ || event->event == FI_CONNECTED ||
	       event->event == FI_SHUTDOWN;
}

static void eq_drop(struct kfi_eq *eq)
{
	fi_freeinfo(eq->next.info);
	eq->next.info = NULL;
	eq->pending = false;
}

/*
 * Make the info of a connection request. It contains what the program has agreed on when it opened
 * the passive endpoint; the kernel has only a part of that. If there is no memory for a request, it
 * is rejected, so that the peer is notified.
 */
static int eq_make_request(struct kfi_eq *eq, const struct kfi_user_info *flat)
{
	struct kfi_pep *pep = (struct kfi_pep *)(uintptr_t)eq->next.event.cookie;
	struct kfi_connreq *req;
	struct fi_info *info;

	info = kfi_info_unpack(flat, eq->fabric->fid.api_version);
	req = info ? kfi_connreq_new(pep, eq->next.event.connreq) : NULL;
	if (!req) {
		fi_freeinfo(info);
		kfi_handle_close(eq->fabric, eq->next.event.connreq);
		return -FI_ENOMEM;
	}
	info->handle = &req->fid;
	info->domain_attr->mr_mode = pep->info->domain_attr->mr_mode;
	info->domain_attr->av_type = pep->info->domain_attr->av_type;
	if (pep->info->tx_attr)
		info->tx_attr->op_flags = pep->info->tx_attr->op_flags;
	if (pep->info->rx_attr)
		info->rx_attr->op_flags = pep->info->rx_attr->op_flags;
	if (pep->info->fabric_attr->prov_name)
		info->fabric_attr->prov_name = strdup(pep->info->fabric_attr->prov_name);
	eq->next.info = info;
	return 0;
}

/* Called after a call that may have fetched an event while other threads went to sleep */
static void eq_unlock(struct kfi_eq *eq)
{
	struct kfi_user_handle arg = { .handle = eq->handle };

	if (eq->pending) {
		eq->signalled = true;
		kfi_call(eq->fabric, KFI_IOC_SIGNAL, &arg);
	}
	pthread_mutex_unlock(&eq->lock);
}

/*
 * There is no event, so the descriptor must not stay readable: consume the signal by a wait, which
 * fails, unless an event has arrived.
 */
static void eq_unsignal(struct kfi_eq *eq)
{
	struct kfi_user_wait arg = { .handle = eq->handle };

	if (eq->signalled && kfi_call(eq->fabric, KFI_IOC_WAIT, &arg))
		eq->signalled = false;
}

/* Return: 0 if there is an event in eq->next, -FI_EAGAIN, or another error. */
static int eq_fetch(struct kfi_eq *eq)
{
	struct kfi_user_info flat;
	int ret;

	if (eq->pending)
		return 0;
	eq->next.event = (struct kfi_user_event){
		.eq		= eq->handle,
		.buf		= (uintptr_t)eq->next.data,
		.len		= sizeof(eq->next.data),
		.info		= (uintptr_t)&flat,
		.info_size	= sizeof(flat),
	};
	ret = kfi_call(eq->fabric, KFI_IOC_EQ_READ, &eq->next.event);
	if (ret == -FI_EAGAIN)
		eq_unsignal(eq);
	if (ret)
		return ret;
	if (eq->next.event.len > sizeof(eq->next.data))
		eq->next.event.len = sizeof(eq->next.data);
	if (!eq->next.event.err && !eq->next.event.written && eq->next.event.event == FI_CONNREQ) {
		ret = eq_make_request(eq, &flat);
		if (ret)
			return ret;
	}
	eq->pending = true;
	return 0;
}

/* ---- reading ---- */

/* Cookies are addresses of the library's objects, which begin with their fid. */
static struct fid *event_fid(const struct kfi_user_event *event)
{
	return (struct fid *)(uintptr_t)event->cookie;
}

static ssize_t copy_written(const struct kfi_event *next, void *buf, size_t len)
{
	if (len < next->event.len)
		return -FI_ETOOSMALL;
	memcpy(buf, next->data, next->event.len);
	return next->event.len;
}

static ssize_t copy_connection(const struct kfi_event *next, void *buf, size_t len)
{
	struct fi_eq_cm_entry *entry = buf;
	size_t room = len - sizeof(*entry);

	if (len < sizeof(*entry))
		return -FI_ETOOSMALL;
	if (room > next->event.len)
		room = next->event.len;
	entry->fid = event_fid(&next->event);
	entry->info = next->info;
	memcpy(entry->data, next->data, room);
	return sizeof(*entry) + room;
}

static ssize_t copy_other(const struct kfi_event *next, void *buf, size_t len)
{
	struct fi_eq_entry *entry = buf;
	struct fid *fid = event_fid(&next->event);

	if (len < sizeof(*entry))
		return -FI_ETOOSMALL;
	entry->fid = fid;
	entry->context = fid ? fid->context : NULL;
	entry->data = next->event.data;
	return sizeof(*entry);
}

static ssize_t eq_take(struct kfi_eq *eq, uint32_t *event, void *buf, size_t len, bool peek)
{
	ssize_t ret;

	ret = eq_fetch(eq);
	if (ret)
		return ret;
	if (eq->next.event.err)
		return -FI_EAVAIL;
	if (eq->next.event.written)
		ret = copy_written(&eq->next, buf, len);
	else if (is_connection(&eq->next.event))
		ret = copy_connection(&eq->next, buf, len);
	else
		ret = copy_other(&eq->next, buf, len);
	if (ret < 0)
		return ret;
	*event = eq->next.event.event;
	if (!peek) {
		eq->next.info = NULL;	/* the reader owns it */
		eq->pending = false;
	}
	return ret;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	ssize_t ret;

	if (flags & ~EQ_FLAGS)
		return -FI_EBADFLAGS;
	if (eq->fabric->fd < 0)
		return -FI_EIO;
	pthread_mutex_lock(&eq->lock);
	ret = eq_take(eq, event, buf, len, flags & FI_PEEK);
	eq_unlock(eq);
	return ret;
}

/* Without a buffer of the program, error data stays in the queue until the next error is read. */
static void give_err_data(struct kfi_eq *eq, struct fi_eq_err_entry *entry)
{
	size_t len = eq->next.event.len;

	if (eq->fabric->fid.api_version >= KFI_API_MODES && entry->err_data_size &&
	    entry->err_data) {
		if (len > entry->err_data_size)
			len = entry->err_data_size;
		memcpy(entry->err_data, eq->next.data, len);
	} else {
		memcpy(eq->err_data, eq->next.data, len);
		entry->err_data = len ? eq->err_data : NULL;
	}
	entry->err_data_size = len;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	ssize_t ret;

	if (flags & ~EQ_FLAGS)
		return -FI_EBADFLAGS;
	if (eq->fabric->fd < 0)
		return -FI_EIO;
	pthread_mutex_lock(&eq->lock);
	ret = eq_fetch(eq);
	if (!ret && !eq->next.event.err)
		ret = -FI_EAGAIN;
	if (!ret) {
		entry->fid = event_fid(&eq->next.event);
		entry->context = entry->fid ? entry->fid->context : NULL;
		entry->data = eq->next.event.data;
		entry->err = eq->next.event.err;
		entry->prov_errno = eq->next.event.prov_errno;
		give_err_data(eq, entry);
		if (!(flags & FI_PEEK))
			eq_drop(eq);
		ret = sizeof(*entry);
	}
	eq_unlock(eq);
	return ret;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	struct kfi_user_wait arg = { .handle = eq->handle };
	uint64_t deadline;
	ssize_t ret;

	if (eq->wait.obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	deadline = kfi_deadline(timeout);
	for (;;) {
		ret = eq_read(fid, event, buf, len, flags);
		if (ret != -FI_EAGAIN)
			return ret;
		arg.timeout_ms = kfi_time_left(deadline);
		if (!arg.timeout_ms)
			return -FI_EAGAIN;
		ret = kfi_call(eq->fabric, KFI_IOC_WAIT, &arg);
		if (ret && ret != -FI_ETIMEDOUT && ret != -FI_EAGAIN)
			return ret;
	}
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	struct kfi_user_event arg = {
		.eq	= eq->handle,
		.event	= event,
		.buf	= (uintptr_t)buf,
		.len	= len,
	};
	int ret;

	if (flags)
		return -FI_EBADFLAGS;
	if (len > KFI_USER_DATA_MAX)
		return -FI_EINVAL;
	ret = kfi_call(eq->fabric, KFI_IOC_EQ_WRITE, &arg);
	return ret ? ret : (ssize_t)len;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = fi_strerror(prov_errno < 0 ? -prov_errno : prov_errno);

	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

/* ---- for the other files ---- */

void kfi_eq_purge(struct kfi_eq *eq, const struct fid *fid)
{
	pthread_mutex_lock(&eq->lock);
	if (eq->pending && !eq->next.event.written && event_fid(&eq->next.event) == fid)
		eq_drop(eq);
	pthread_mutex_unlock(&eq->lock);
}

bool kfi_eq_ready(struct kfi_eq *eq)
{
	bool ready;

	pthread_mutex_lock(&eq->lock);
	ready = !eq_fetch(eq);
	eq_unlock(eq);
	return ready;
}

/* ---- open and close ---- */

static int eq_close(struct fid *fid)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid.fid);
	int ret;

	ret = kfi_handle_close(eq->fabric, eq->handle);
	if (ret)
		return ret;
	if (eq->pending)
		eq_drop(eq);
	kfi_wait_close(&eq->wait);
	pthread_mutex_destroy(&eq->lock);
	free(eq);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid.fid);

	return kfi_wait_control(eq->fabric, eq->handle, &eq->wait, command, arg);
}

static struct fi_ops eq_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= eq_close,
	.bind		= kfi_no_bind,
	.control	= eq_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

static struct fi_ops_eq eq_ops = {
	.size		= sizeof(struct fi_ops_eq),
	.read		= eq_read,
	.readerr	= eq_readerr,
	.write		= eq_write,
	.sread		= eq_sread,
	.strerror	= eq_strerror,
};

int kfi_eq_open(struct fid_fabric *ffid, struct fi_eq_attr *attr, struct fid_eq **fid,
		void *context)
{
	struct kfi_fabric *fabric = kfi_container(ffid, struct kfi_fabric, fid);
	struct kfi_user_eq arg = { .fabric = fabric->handle };
	struct kfi_eq *eq;
	int ret;

	if (attr && attr->flags & ~(FI_WRITE | FI_AFFINITY))
		return -FI_EBADFLAGS;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	ret = kfi_wait_init(&eq->wait, attr ? attr->wait_obj : FI_WAIT_NONE);
	if (ret)
		goto free;
	arg.size = attr ? attr->size : 0;
	arg.flags = attr ? attr->flags & FI_WRITE : 0;
	arg.cookie = (uintptr_t)eq;
	ret = kfi_call(fabric, KFI_IOC_EQ, &arg);
	if (ret)
		goto free;
	eq->fabric = fabric;
	eq->handle = arg.handle;
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	pthread_mutex_init(&eq->lock, NULL);
	*fid = &eq->fid;
	return 0;

free:
	free(eq);
	return ret;
}
