// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for completion queues, event queues and counters: in an ioctl, or by poll() on a
 * descriptor of KFI_IOC_GETWAIT.
 *
 * The descriptor may outlive the queue, and may be passed to another process. It refers to a struct
 * ku_waiter, whose pointer to the queue is cleared when the queue is closed.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include "user.h"

static void free_waiter(struct kref *ref)
{
	kfree_rcu(container_of(ref, struct ku_waiter, ref), rcu);
}

int ku_waiter_open(struct ku_obj *obj)
{
	struct ku_waiter *waiter = kzalloc(sizeof(*waiter), GFP_KERNEL_ACCOUNT);

	if (!waiter)
		return -ENOMEM;
	kref_init(&waiter->ref);
	init_waitqueue_head(&waiter->wait);
	RCU_INIT_POINTER(waiter->obj, obj);
	obj->waiter = waiter;
	return 0;
}

/* The object was closed: pollers get EPOLLHUP. */
void ku_waiter_close(struct ku_obj *obj)
{
	struct ku_waiter *waiter = obj->waiter;

	if (!waiter)
		return;
	RCU_INIT_POINTER(waiter->obj, NULL);
	wake_up_all(&waiter->wait);
	kref_put(&waiter->ref, free_waiter);
}

void ku_waiter_wake(struct ku_obj *obj)
{
	if (wq_has_sleeper(&obj->waiter->wait))
		wake_up_all(&obj->waiter->wait);
}

static bool is_ready(struct ku_obj *obj)
{
	if (obj->class == KFI_CLASS_CQ)
		return ku_ring_ready(to_ku_ring(obj));
	return obj->class == KFI_CLASS_EQ && ku_eq_ready(obj);
}

/* ---- descriptors ---- */

static __poll_t waiter_poll(struct file *file, poll_table *table)
{
	struct ku_waiter *waiter = file->private_data;
	struct ku_obj *obj;
	__poll_t ready = 0;

	poll_wait(file, &waiter->wait, table);
	smp_mb();	/* pairs with wq_has_sleeper() in ku_waiter_wake() */
	rcu_read_lock();
	obj = rcu_dereference(waiter->obj);
	if (obj && !refcount_inc_not_zero(&obj->users))
		obj = NULL;
	rcu_read_unlock();
	if (!obj)
		return EPOLLERR | EPOLLHUP;
	if (test_bit(0, &waiter->signalled) || is_ready(obj))
		ready = EPOLLIN | EPOLLRDNORM;
	ku_obj_put(obj);
	return ready;
}

static int waiter_release(struct inode *inode, struct file *file)
{
	struct ku_waiter *waiter = file->private_data;

	kref_put(&waiter->ref, free_waiter);
	return 0;
}

static const struct file_operations waiter_fops = {
	.owner		= THIS_MODULE,
	.poll		= waiter_poll,
	.release	= waiter_release,
};

int ku_ioc_getwait(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *get = arg;
	struct ku_obj *obj;
	int fd;

	obj = ku_obj_get(ctx, get->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	fd = -EOPNOTSUPP;
	if (obj->class == KFI_CLASS_CQ || obj->class == KFI_CLASS_EQ) {
		kref_get(&obj->waiter->ref);
		fd = anon_inode_getfd("[kfi]", &waiter_fops, obj->waiter, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			kref_put(&obj->waiter->ref, free_waiter);
	}
	ku_obj_put(obj);
	if (fd < 0)
		return fd;
	get->fd = fd;
	return 0;
}

/* ---- ioctls ---- */

/*
 * Return: 0: continue to sleep; positive: the event that the caller waits for has occurred;
 * negative: the reason for which the wait fails.
 */
static int wait_result(struct ku_obj *obj, const struct kfi_user_wait *wait)
{
	struct kfid_cntr *cntr;

	if (READ_ONCE(obj->closing))
		return -EBADF;
	if (obj->class == KFI_CLASS_CNTR) {
		cntr = container_of(obj->fid, struct kfid_cntr, fid);
		if (kfi_cntr_read(cntr) >= wait->threshold)
			return 1;
		if (kfi_cntr_readerr(cntr) != wait->errors)
			return -KFI_EAVAIL;
	} else if (is_ready(obj)) {
		return 1;
	}
	return test_and_clear_bit(0, &obj->waiter->signalled) ? -EAGAIN : 0;
}

static int wait_for(struct ku_obj *obj, const struct kfi_user_wait *wait)
{
	long timeout = MAX_SCHEDULE_TIMEOUT, left;
	int ret;

	if (wait->timeout_ms >= 0)
		timeout = msecs_to_jiffies(wait->timeout_ms);
	left = wait_event_interruptible_timeout(obj->waiter->wait, (ret = wait_result(obj, wait)),
						timeout);
	if (left < 0)
		/* not restarted automatically, because a part of the time limit has passed */
		return -EINTR;
	if (!ret)
		return -ETIMEDOUT;
	return min(ret, 0);
}

int ku_ioc_wait(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_wait *wait = arg;
	struct ku_obj *obj;
	int ret;

	obj = ku_obj_get(ctx, wait->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = obj->waiter ? wait_for(obj, wait) : -EINVAL;
	ku_obj_put(obj);
	return ret;
}

int ku_ioc_signal(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *signal = arg;
	struct ku_obj *obj;
	int ret = -EINVAL;

	obj = ku_obj_get(ctx, signal->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	if (obj->waiter) {
		set_bit(0, &obj->waiter->signalled);
		wake_up_all(&obj->waiter->wait);
		ret = 0;
	}
	ku_obj_put(obj);
	return ret;
}
