// SPDX-License-Identifier: GPL-2.0
/*
 * kick.c - the work queues of the module, and how any context tells the worker that it has
 * something to do. The worker itself is in run.c.
 */
#include <linux/random.h>
#include "mirror.h"

/* The worker of each mirror */
struct workqueue_struct *kfm_wq;
/* A queue with a rescuer of its own: to open an endpoint may have to wait for the worker. */
struct workqueue_struct *kfm_open_wq;
/* The same: the worker waits for what is written to the log (kfm_log_close()). */
struct workqueue_struct *kfm_store_wq;

void kfm_queues_exit(void)
{
	if (kfm_store_wq)
		destroy_workqueue(kfm_store_wq);
	if (kfm_open_wq)
		destroy_workqueue(kfm_open_wq);
	if (kfm_wq)
		destroy_workqueue(kfm_wq);
}

/*
 * Not WQ_HIGHPRI: the worker would preempt the thread that submits writes at the first one, and
 * post each record by itself.
 */
int kfm_queues_init(void)
{
	kfm_wq = alloc_workqueue("kfi_mirror", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	kfm_open_wq = alloc_workqueue("kfi_mirror_open", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	kfm_store_wq = alloc_workqueue("kfi_mirror_log", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (kfm_wq && kfm_open_wq && kfm_store_wq)
		return 0;
	kfm_queues_exit();
	return -ENOMEM;
}

/*
 * Queue the worker. Any context. The mirror must not go meanwhile: callers are in an RCU read
 * section, for which the destructor waits, or have a bio in flight, or are the worker, persist(),
 * or a call of device-mapper.
 */
void kfm_kick(struct kfm *m)
{
	queue_work(kfm_wq, &m->work);
}

/**
 * kfm_signal() - clear a busy flag, and queue the worker
 * @m: mirror. Its destructor may begin as soon as @busy is false. It waits for a grace period, and
 *	so for this function
 * @busy: flag of what the provider or the block layer has owned. Cleared with release semantics
 */
void kfm_signal(struct kfm *m, bool *busy)
{
	rcu_read_lock();
	smp_store_release(busy, false);	/* pairs with kfm_busy() */
	kfm_kick(m);
	rcu_read_unlock();
}

/* A random number that is not 0 */
u64 kfm_random(void)
{
	return get_random_u64() | 1;
}
