// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * device.c - /dev/kfi: open, calls, mappings, waiting, and fork
 *
 * A child of fork() has a copy of the parent's descriptors, but its calls would fail, and the rings
 * are not mapped in it. With an open copy in the child, the kernel's objects would exist after the
 * exit of the parent. So the child closes its copies, and each of its calls returns -FI_EIO.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kfi_fi.h"

/*
 * All fabrics that have the device open. The lock protects the list, and the opening and closing of
 * descriptors. It is held across fork(), so that the child finds each descriptor in the list.
 */
static pthread_mutex_t kfi_fabrics_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, kfi_fabric) kfi_fabrics = LIST_HEAD_INITIALIZER(kfi_fabrics);

static void before_fork(void)
{
	pthread_mutex_lock(&kfi_fabrics_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&kfi_fabrics_lock);
}

static void in_child(void)
{
	struct kfi_fabric *fabric;

	/*
	 * A fabric of kfi_getinfo() is on the stack of a thread that does not exist in the child.
	 */
	while ((fabric = LIST_FIRST(&kfi_fabrics))) {
		LIST_REMOVE(fabric, entry);
		close(fabric->fd);
		fabric->fd = -1;
	}
	pthread_mutex_unlock(&kfi_fabrics_lock);
}

int kfi_device_watch_fork(void)
{
	return pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- calls ---- */

static int open_tracked(struct kfi_fabric *fabric)
{
	int ret = 0;

	pthread_mutex_lock(&kfi_fabrics_lock);
	fabric->fd = open(KFI_USER_DEVICE, O_RDWR | O_CLOEXEC);
	if (fabric->fd < 0)
		ret = -errno;
	else
		LIST_INSERT_HEAD(&kfi_fabrics, fabric, entry);
	pthread_mutex_unlock(&kfi_fabrics_lock);
	return ret;
}

void kfi_device_close(struct kfi_fabric *fabric)
{
	pthread_mutex_lock(&kfi_fabrics_lock);
	if (fabric->fd >= 0) {
		LIST_REMOVE(fabric, entry);
		close(fabric->fd);
	}
	pthread_mutex_unlock(&kfi_fabrics_lock);
}

int kfi_device_open(struct kfi_fabric *fabric, uint32_t *api)
{
	struct kfi_user_version version = {};
	int ret;

	ret = open_tracked(fabric);
	if (ret) {
		FI_INFO(&kfi_prov, FI_LOG_CORE, "%s: %s (%s)\n", KFI_USER_DEVICE, strerror(-ret),
			ret == -EACCES ? "is this user in the group kfi?" : "modprobe kfi_user");
		return ret;
	}
	ret = kfi_call(fabric, KFI_IOC_VERSION, &version);
	if (ret)
		goto close;
	if (version.abi != KFI_USER_ABI) {
		FI_WARN(&kfi_prov, FI_LOG_CORE,
			"the kernel speaks version %u of the interface, this library %u\n",
			version.abi, KFI_USER_ABI);
		ret = -FI_ENODATA;
		goto close;
	}
	*api = version.api;
	return 0;

close:
	kfi_device_close(fabric);
	return ret;
}

int kfi_call(const struct kfi_fabric *fabric, unsigned long request, void *arg)
{
	if (fabric->fd < 0)
		return -FI_EIO;
	return ioctl(fabric->fd, request, arg) ? -errno : 0;
}

int kfi_handle_close(const struct kfi_fabric *fabric, uint32_t handle)
{
	struct kfi_user_handle arg = { .handle = handle };

	return kfi_call(fabric, KFI_IOC_CLOSE, &arg);
}

int kfi_bind(const struct kfi_fabric *fabric, uint32_t handle, uint32_t target, uint64_t flags)
{
	struct kfi_user_bind arg = { .handle = handle, .target = target, .flags = flags };

	return kfi_call(fabric, KFI_IOC_BIND, &arg);
}

void *kfi_map(const struct kfi_fabric *fabric, uint32_t handle, size_t bytes, bool writable)
{
	void *map = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			 fabric->fd, (off_t)handle * sysconf(_SC_PAGESIZE));

	return map == MAP_FAILED ? NULL : map;
}

/* ---- waiting ---- */

int kfi_wait_init(struct kfi_wait *wait, enum fi_wait_obj obj)
{
	wait->obj = obj;
	wait->fd = -1;
	switch (obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_YIELD:
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

int kfi_wait_control(struct kfi_fabric *fabric, uint32_t handle, struct kfi_wait *wait, int command,
		     void *arg)
{
	struct kfi_user_handle call = { .handle = handle };
	int ret = 0;

	switch (command) {
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = wait->obj;
		return 0;
	case FI_GETWAIT:
		break;
	default:
		return -FI_ENOSYS;
	}
	if (wait->obj != FI_WAIT_FD)
		return -FI_ENODATA;
	if (fabric->fd < 0)
		return -FI_EIO;
	pthread_mutex_lock(&fabric->lock);
	if (wait->fd < 0) {
		ret = kfi_call(fabric, KFI_IOC_GETWAIT, &call);
		if (!ret)
			wait->fd = call.fd;
	}
	if (!ret)
		*(int *)arg = wait->fd;
	pthread_mutex_unlock(&fabric->lock);
	return ret;
}

void kfi_wait_close(struct kfi_wait *wait)
{
	if (wait->fd >= 0)
		close(wait->fd);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

uint64_t kfi_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ms() + timeout_ms;
}

int kfi_time_left(uint64_t deadline)
{
	uint64_t now;

	if (deadline == UINT64_MAX)
		return -1;
	now = now_ms();
	return deadline > now ? deadline - now : 0;
}
