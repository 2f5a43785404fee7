// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of the RDMA core and the devices about their work: a tracepoint of the core, counters in
 * sysfs.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include "verbs_watch.h"

#ifdef CONFIG_TRACEPOINTS

static void on_schedule(void *data, struct ib_cq *cq)
{
	struct watch *w = data;
	int i;

	/* Messages of the connection manager have queues of their own. */
	if (cq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)
		return;
	for (i = 0; i < 2; i++)
		if (!strcmp(dev_name(&cq->device->dev), w->name[i]))
			atomic_inc(&w->woken[i]);
}

static void take_cq_schedule(struct tracepoint *tp, void *data)
{
	struct watch *w = data;

	if (!strcmp(tp->name, "cq_schedule"))
		w->tp = tp;
}

static int listen(struct watch *w)
{
	int ret;

	for_each_kernel_tracepoint(take_cq_schedule, w);
	ret = w->tp ? tracepoint_probe_register(w->tp, on_schedule, w) : -ENODEV;
	if (ret)
		w->tp = NULL;
	return ret;
}

static void unlisten(struct watch *w)
{
	tracepoint_probe_unregister(w->tp, on_schedule, w);
	tracepoint_synchronize_unregister();
}

#else

static int listen(struct watch *w)
{
	return -ENODEV;
}

static void unlisten(struct watch *w)
{
}

#endif

static struct file *open_attr(const char *device, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", device, name);
	return filp_open(path, O_RDONLY, 0);
}

static bool is_device(const char *name)
{
	struct file *file = open_attr(name, "node_type");

	if (IS_ERR(file))
		return false;
	filp_close(file, NULL);
	return true;
}

int watch_start(struct watch *w, const char *a, const char *b)
{
	w->name[0] = a;
	w->name[1] = b;
	if (!is_device(a) || !is_device(b))
		return -ENODEV;
	return listen(w);
}

void watch_stop(struct watch *w)
{
	if (w->tp)
		unlisten(w);
}

static int woken(const struct watch *w)
{
	return atomic_read(&w->woken[0]) + atomic_read(&w->woken[1]);
}

/*
 * On iWARP the caller sends a packet 100 ms after the handshake, or later if it is busy
 * (docs/wire-verbs.md).
 */
#define QUIET_MS	300

bool watch_quiet(struct watch *w)
{
	int before, try;

	for (try = 0; try < 20; try++) {
		before = woken(w);
		msleep(QUIET_MS);
		if (before == woken(w))
			break;
	}
	atomic_set(&w->woken[0], 0);
	atomic_set(&w->woken[1], 0);
	return try < 20;
}

s64 watch_counter(const struct watch *w, int side, const char *name)
{
	char path[64], text[32] = {};
	struct file *file;
	loff_t pos = 0;
	s64 value = -1;

	snprintf(path, sizeof(path), "ports/1/hw_counters/%s", name);
	file = open_attr(w->name[side], path);
	if (IS_ERR(file))
		return -1;
	msleep(30);	/* a device updates its counters every 10 ms, and not at every read */
	if (kernel_read(file, text, sizeof(text) - 1, &pos) <= 0 ||
	    kstrtos64(strim(text), 10, &value))
		value = -1;
	filp_close(file, NULL);
	return value;
}
