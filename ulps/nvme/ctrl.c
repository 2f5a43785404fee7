// SPDX-License-Identifier: GPL-2.0
/*
 * ctrl.c - a controller: set-up, end, recovery.
 *
 * The calls into the NVMe core are in the order of its other transports. The states of nvme_ctrl
 * serialise them.
 */
#include <linux/blk-mq.h>
#include <linux/sched/mm.h>
#include "host.h"

/* ---- the admin queue ---- */

/*
 * Set the tags in which answers look up their commands. Before this call no command was sent on the
 * queue, and blk-mq may not have allocated its tags.
 */
static int kfn_queue_tags(struct kfn_queue *queue)
{
	struct blk_mq_tag_set *set = queue->qid ? &queue->ctrl->tag_set :
						  &queue->ctrl->admin_tag_set;
	unsigned int index = queue->qid ? queue->qid - 1 : 0;

	if (index >= set->nr_hw_queues || !set->tags[index])
		return -ENODEV;
	queue->tags = set->tags[index];
	smp_mb__before_atomic();	/* pairs with test_bit_acquire() */
	set_bit(KFN_Q_TAGS, &queue->flags);
	return 0;
}

static int kfn_nvme_connect(struct kfn_ctrl *ctrl, unsigned int qid)
{
	return qid ? nvmf_connect_io_queue(&ctrl->ctrl, qid) :
		     nvmf_connect_admin_queue(&ctrl->ctrl);
}

static int kfn_connect_queue(struct kfn_ctrl *ctrl, unsigned int qid)
{
	int ret;

	ret = kfn_queue_tags(&ctrl->queues[qid]) ?: kfn_nvme_connect(ctrl, qid);
	if (!ret) {
		set_bit(KFN_Q_LIVE, &ctrl->queues[qid].flags);
		return 0;
	}
	kfn_queues_end(ctrl, qid, qid + 1);
	dev_info(ctrl->ctrl.device, "queue %u: NVMe connect failed (%d)\n", qid, ret);
	return ret;
}

static void kfn_set_limits(struct kfn_ctrl *ctrl)
{
	ctrl->ctrl.max_segments = ctrl->pages;
	ctrl->ctrl.max_hw_sectors = min(ctrl->pages << (PAGE_SHIFT - SECTOR_SHIFT),
					(unsigned int)KFN_DATA_MAX >> SECTOR_SHIFT);
	ctrl->ctrl.max_integrity_segments = 0;
}

/* Enable and identify the controller. After a failure the caller has to stop the admin queue. */
static int kfn_admin_enable(struct kfn_ctrl *ctrl)
{
	int ret;

	/* The core and kfn_check_target() reduce it to what this target supports. */
	ctrl->ctrl.sqsize = ctrl->ctrl.opts->queue_size - 1;
	ret = kfn_connect_queue(ctrl, 0);
	if (ret)
		return ret;
	ret = nvme_enable_ctrl(&ctrl->ctrl);
	if (ret)
		return ret;
	kfn_set_limits(ctrl);
	nvme_unquiesce_admin_queue(&ctrl->ctrl);
	ret = nvme_init_ctrl_finish(&ctrl->ctrl, false);
	if (!ret)
		return 0;
	nvme_quiesce_admin_queue(&ctrl->ctrl);
	blk_sync_queue(ctrl->ctrl.admin_q);
	return ret;
}

static int kfn_admin_setup(struct kfn_ctrl *ctrl, bool new)
{
	int ret;

	ret = kfn_net_open(ctrl);
	if (ret)
		return ret;
	ctrl->ctrl.numa_node = ctrl->dom->limits.numa_node;
	ret = kfn_queue_start(ctrl, 0, NVME_AQ_DEPTH);
	if (ret)
		goto close_net;
	if (new) {
		ret = nvme_alloc_admin_tag_set(&ctrl->ctrl, &ctrl->admin_tag_set, &kfn_admin_mq_ops,
					       sizeof(struct kfn_req));
		if (ret)
			goto stop_queue;
	}
	ret = kfn_admin_enable(ctrl);
	if (!ret)
		return 0;

	kfn_queues_end(ctrl, 0, 1);
	nvme_cancel_admin_tagset(&ctrl->ctrl);
	if (new)
		nvme_remove_admin_tag_set(&ctrl->ctrl);
stop_queue:
	kfn_queues_end(ctrl, 0, 1);
	cancel_work_sync(&ctrl->ctrl.async_event_work);	/* a target may send events early */
close_net:
	if (new)
		kfn_net_close(ctrl);
	return ret;
}

static void kfn_admin_teardown(struct kfn_ctrl *ctrl, bool remove)
{
	nvme_quiesce_admin_queue(&ctrl->ctrl);
	blk_sync_queue(ctrl->ctrl.admin_q);
	kfn_queues_end(ctrl, 0, 1);
	nvme_cancel_admin_tagset(&ctrl->ctrl);
	if (remove) {
		nvme_unquiesce_admin_queue(&ctrl->ctrl);
		nvme_remove_admin_tag_set(&ctrl->ctrl);
	}
	cancel_work_sync(&ctrl->ctrl.async_event_work);
	kfn_queues_end(ctrl, 0, 1);
	if (remove)
		kfn_net_close(ctrl);
}

/* ---- I/O queues ---- */

/*
 * The core counts the CPUs that are online. A reconnect asks for as many queues as there were, if
 * CPUs have gone since: a queue that blk-mq knows may have requests, which wait for its connection.
 */
static int kfn_io_count(struct kfn_ctrl *ctrl, bool new)
{
	unsigned int n = nvmf_nr_io_queues(ctrl->ctrl.opts);
	int ret;

	if (!new)
		n = max(n, ctrl->tag_set.nr_hw_queues);
	ret = nvme_set_queue_count(&ctrl->ctrl, &n);
	if (ret)
		return ret;
	if (!n) {
		dev_err(ctrl->ctrl.device, "the target grants no I/O queues\n");
		return -ENOMEM;
	}
	ctrl->ctrl.queue_count = n + 1;
	memset(ctrl->io_queues, 0, sizeof(ctrl->io_queues));
	nvmf_set_io_queues(ctrl->ctrl.opts, n, ctrl->io_queues);
	dev_info(ctrl->ctrl.device, "creating %u I/O queues\n", n);
	return 0;
}

/*
 * The number of tags was fixed by the first connection. Longer queues would be of no use, and would
 * need new memory.
 */
static int kfn_io_check_size(struct kfn_ctrl *ctrl, bool new)
{
	if (new)
		return 0;
	ctrl->ctrl.sqsize = min_t(unsigned int, ctrl->ctrl.sqsize, ctrl->tag_set.queue_depth);
	if (ctrl->tag_set.queue_depth <= ctrl->ctrl.sqsize + 1)
		return 0;
	dev_err(ctrl->ctrl.device, "the target's queues have become shorter\n");
	return -EOPNOTSUPP;
}

static int kfn_io_open(struct kfn_ctrl *ctrl)
{
	unsigned int i;
	int ret;

	for (i = 1; i < ctrl->ctrl.queue_count; i++) {
		ret = kfn_queue_start(ctrl, i, ctrl->ctrl.sqsize + 1);
		if (ret) {
			kfn_queues_end(ctrl, 1, i);
			return ret;
		}
	}
	return 0;
}

/* Is a CPU mapped to the queue: any one, or one that can send the NVMe connect? */
static bool kfn_queue_has_cpu(struct kfn_ctrl *ctrl, unsigned int qid, bool usable)
{
	const struct blk_mq_tag_set *set = &ctrl->tag_set;
	unsigned int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < set->nr_maps; i++)
			if (set->map[i].nr_queues && set->map[i].mq_map[cpu] == qid - 1 &&
			    (!usable || kfn_cpu_usable(cpu)))
				return true;
	return false;
}

/*
 * Send the NVMe connect on the queues that have a CPU and are not live yet. A queue whose CPUs have
 * all gone offline has no requests: blk-mq ends them before the last of these CPUs goes.
 */
static int kfn_io_connect(struct kfn_ctrl *ctrl, unsigned int end)
{
	unsigned int i;
	int ret;

	for (i = 1; i < end; i++) {
		if (test_bit(KFN_Q_LIVE, &ctrl->queues[i].flags) ||
		    !kfn_queue_has_cpu(ctrl, i, true))
			continue;
		ret = kfn_connect_queue(ctrl, i);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * No request is in the queues, so no answer is expected. After the grace period no handler uses the
 * tags any more.
 */
static void kfn_io_clear_tags(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	for (i = 1; i < ctrl->ctrl.queue_count; i++)
		clear_bit(KFN_Q_TAGS, &ctrl->queues[i].flags);
	synchronize_rcu();
}

/* A queue that no CPU is mapped to any more has no tags, and gets no commands. */
static void kfn_io_find_tags(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	for (i = 1; i < ctrl->ctrl.queue_count; i++)
		if (test_bit(KFN_Q_LIVE, &ctrl->queues[i].flags))
			kfn_queue_tags(&ctrl->queues[i]);
}

/*
 * blk-mq sets BLK_MQ_S_INACTIVE of a hardware context when its last CPU goes offline, and allocates
 * no request there until one of its CPUs is back. The bit outlives a new map: if the map gives the
 * context an online CPU, the requests of that CPU would wait for ever. So clear it there. The
 * queues are frozen, so no CPU hotplug waits for a request of theirs.
 */
static void kfn_io_unmark(struct blk_mq_tag_set *set)
{
	struct blk_mq_hw_ctx *hctx;
	struct request_queue *q;
	unsigned long i;

	mutex_lock(&set->tag_list_lock);
	cpus_read_lock();
	list_for_each_entry(q, &set->tag_list, tag_set_list)
		queue_for_each_hw_ctx(q, hctx, i)
			if (cpumask_intersects(hctx->cpumask, cpu_online_mask))
				clear_bit(BLK_MQ_S_INACTIVE, &hctx->state);
	cpus_read_unlock();
	mutex_unlock(&set->tag_list_lock);
}

/*
 * The number of queues may have changed, and so may the CPUs that are online: update blk-mq while
 * no request is in the queues.
 */
static int kfn_io_update(struct kfn_ctrl *ctrl)
{
	nvme_start_freeze(&ctrl->ctrl);
	nvme_unquiesce_io_queues(&ctrl->ctrl);
	if (!nvme_wait_freeze_timeout(&ctrl->ctrl)) {
		nvme_unfreeze(&ctrl->ctrl);
		return -ENODEV;
	}
	kfn_io_clear_tags(ctrl);
	mutex_lock(&ctrl->tags_lock);
	blk_mq_update_nr_hw_queues(ctrl->ctrl.tagset, ctrl->ctrl.queue_count - 1);
	mutex_unlock(&ctrl->tags_lock);
	kfn_io_unmark(ctrl->ctrl.tagset);
	kfn_io_find_tags(ctrl);
	nvme_unfreeze(&ctrl->ctrl);
	return 0;
}

/*
 * Disconnect the queues that kfn_map_queues() has mapped no CPU to: no command comes to them. If
 * the CPUs of another queue have gone offline since, its commands would find it closed when they
 * are back, so the set-up has to be repeated. Return: 0 or -EAGAIN
 */
static int kfn_io_end_idle(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	for (i = 1; i < ctrl->ctrl.queue_count; i++) {
		if (!kfn_queue_has_cpu(ctrl, i, false))
			kfn_queues_end(ctrl, i, i + 1);
		else if (!test_bit(KFN_Q_LIVE, &ctrl->queues[i].flags))
			return -EAGAIN;
	}
	return 0;
}

/*
 * First connect the queues for which blk-mq already has hardware contexts and CPUs. When it has
 * mapped the CPUs that are online now, connect the others.
 */
static int kfn_io_start(struct kfn_ctrl *ctrl, bool new)
{
	unsigned int known = min(ctrl->tag_set.nr_hw_queues + 1, ctrl->ctrl.queue_count);
	int ret;

	ret = kfn_io_connect(ctrl, known);
	if (!ret && !new)
		ret = kfn_io_update(ctrl);
	if (!ret)
		ret = kfn_io_connect(ctrl, ctrl->tag_set.nr_hw_queues + 1);
	return ret ?: kfn_io_end_idle(ctrl);
}

static void kfn_io_stop(struct kfn_ctrl *ctrl)
{
	nvme_quiesce_io_queues(&ctrl->ctrl);
	nvme_sync_io_queues(&ctrl->ctrl);
	kfn_queues_end(ctrl, 1, ctrl->ctrl.queue_count);
	nvme_cancel_tagset(&ctrl->ctrl);
}

static int kfn_io_setup(struct kfn_ctrl *ctrl, bool new)
{
	int ret;

	ret = kfn_io_count(ctrl, new) ?: kfn_io_check_size(ctrl, new) ?: kfn_io_open(ctrl);
	if (ret)
		return ret;
	if (new) {
		ret = nvme_alloc_io_tag_set(&ctrl->ctrl, &ctrl->tag_set, &kfn_mq_ops,
					    ctrl->ctrl.opts->nr_poll_queues ? HCTX_MAX_TYPES : 2,
					    sizeof(struct kfn_req));
		if (ret)
			goto stop_queues;
	}
	ret = kfn_io_start(ctrl, new);
	if (!ret)
		return 0;

	kfn_io_stop(ctrl);
	if (new)
		nvme_remove_io_tag_set(&ctrl->ctrl);
stop_queues:
	kfn_queues_end(ctrl, 1, ctrl->ctrl.queue_count);
	return ret;
}

static void kfn_io_teardown(struct kfn_ctrl *ctrl, bool remove)
{
	if (ctrl->ctrl.queue_count < 2 || !ctrl->ctrl.tagset)
		return;
	kfn_io_stop(ctrl);
	if (remove) {
		nvme_unquiesce_io_queues(&ctrl->ctrl);
		nvme_remove_io_tag_set(&ctrl->ctrl);
	}
}

/* ---- both ---- */

/* Does this host support the properties that the target has reported? */
static int kfn_check_target(struct kfn_ctrl *ctrl)
{
	struct nvme_ctrl *nctrl = &ctrl->ctrl;

	if (nctrl->icdoff || !(nctrl->sgls & NVME_CTRL_SGLS_KSDBDS)) {
		dev_err(nctrl->device,
			"the target has an offset of data in capsules, or no keyed SGLs\n");
		return -EOPNOTSUPP;
	}
	if (nctrl->opts->queue_size > nctrl->sqsize + 1)
		dev_warn(nctrl->device, "the target's queues hold %u commands, not %zu\n",
			 nctrl->sqsize + 1, nctrl->opts->queue_size);
	nctrl->sqsize = min3(nctrl->sqsize, (u16)(nctrl->maxcmd - 1), (u16)(KFN_QUEUE_MAX - 1));
	ctrl->in_capsule = nctrl->sgls & NVME_CTRL_SGLS_SAOS;
	return 0;
}

/**
 * kfn_setup() - connect all queues and start
 * @ctrl: controller in the state NVME_CTRL_CONNECTING
 * @new: this is its first set-up
 *
 * Return: 0; a negative error or an NVMe status, with nothing left open.
 */
int kfn_setup(struct kfn_ctrl *ctrl, bool new)
{
	int ret;

	ret = kfn_admin_setup(ctrl, new);
	if (ret)
		return ret;
	ret = kfn_check_target(ctrl);
	if (!ret && ctrl->ctrl.queue_count > 1)
		ret = kfn_io_setup(ctrl, new);
	if (ret)
		goto teardown_admin;
	if (!nvme_change_ctrl_state(&ctrl->ctrl, NVME_CTRL_LIVE)) {
		ret = -EINVAL;	/* the controller is being deleted */
		goto teardown_io;
	}
	nvme_start_ctrl(&ctrl->ctrl);
	return 0;

teardown_io:
	kfn_io_teardown(ctrl, new);
teardown_admin:
	nvme_stop_keep_alive(&ctrl->ctrl);
	kfn_admin_teardown(ctrl, new);
	return ret;
}

/* Shut the controller down, by a command to the target if the connection still exists. */
static void kfn_teardown(struct kfn_ctrl *ctrl, bool remove)
{
	kfn_io_teardown(ctrl, remove);
	nvme_quiesce_admin_queue(&ctrl->ctrl);
	nvme_disable_ctrl(&ctrl->ctrl, remove);
	kfn_admin_teardown(ctrl, remove);
}

void kfn_delete_ctrl(struct nvme_ctrl *nctrl)
{
	kfn_teardown(to_kfn(nctrl), true);
}

void kfn_stop_ctrl(struct nvme_ctrl *nctrl)
{
	struct kfn_ctrl *ctrl = to_kfn(nctrl);

	flush_work(&ctrl->err_work);
	cancel_delayed_work_sync(&ctrl->reconnect_work);
}

/* ---- recovery ---- */

static void kfn_retry_or_delete(struct kfn_ctrl *ctrl, int status)
{
	struct nvme_ctrl *nctrl = &ctrl->ctrl;

	if (nvme_ctrl_state(nctrl) != NVME_CTRL_CONNECTING)
		return;	/* the controller is being reset or deleted */
	if (!nvmf_should_reconnect(nctrl, status)) {
		nvme_delete_ctrl(nctrl);
		return;
	}
	dev_info(nctrl->device, "reconnecting in %u seconds\n", nctrl->opts->reconnect_delay);
	queue_delayed_work(nvme_wq, &ctrl->reconnect_work, nctrl->opts->reconnect_delay * HZ);
}

/*
 * Let requests that wait fail after fast_io_fail_tmo, or because the controller is being deleted.
 * There is no connection, so blk-mq sends none of them.
 */
static void kfn_unquiesce(struct kfn_ctrl *ctrl)
{
	nvme_unquiesce_io_queues(&ctrl->ctrl);
	nvme_unquiesce_admin_queue(&ctrl->ctrl);
}

/*
 * Reclaim may wait for pages that can be written only after this set-up, so no allocation may wait
 * for I/O. The memory reserves are left to writeback, because most of the memory that a set-up
 * needs was kept from the last connection.
 */
static int kfn_setup_again(struct kfn_ctrl *ctrl)
{
	unsigned int noio = memalloc_noio_save();
	int ret = kfn_setup(ctrl, false);

	memalloc_noio_restore(noio);
	if (ret)
		kfn_unquiesce(ctrl);
	return ret;
}

static void kfn_reconnect_work(struct work_struct *work)
{
	struct kfn_ctrl *ctrl = container_of(to_delayed_work(work), struct kfn_ctrl,
					     reconnect_work);
	struct nvme_ctrl *nctrl = &ctrl->ctrl;
	int ret;

	++nctrl->nr_reconnects;
	ret = kfn_setup_again(ctrl);
	if (ret) {
		dev_info(nctrl->device, "attempt %d of %d to reconnect failed (%d)\n",
			 nctrl->nr_reconnects, nctrl->opts->max_reconnects, ret);
		kfn_retry_or_delete(ctrl, ret);
		return;
	}
	dev_info(nctrl->device, "reconnected (attempt %d)\n", nctrl->nr_reconnects);
	kfn_count_reconnects(nctrl);
	nctrl->nr_reconnects = 0;
}

static void kfn_err_work(struct work_struct *work)
{
	struct kfn_ctrl *ctrl = container_of(work, struct kfn_ctrl, err_work);
	struct nvme_ctrl *nctrl = &ctrl->ctrl;

	nvme_stop_keep_alive(nctrl);
	flush_work(&nctrl->async_event_work);
	kfn_io_teardown(ctrl, false);
	nvme_unquiesce_io_queues(nctrl);
	kfn_admin_teardown(ctrl, false);
	nvme_unquiesce_admin_queue(nctrl);
	nvme_auth_stop(nctrl);
	if (nvme_change_ctrl_state(nctrl, NVME_CTRL_CONNECTING))
		kfn_retry_or_delete(ctrl, 0);
}

/**
 * kfn_recover() - begin the recovery after a failure of a connection
 * @ctrl: controller
 *
 * Context: Any but hard interrupts.
 * Return: false if the controller is not live; then no recovery was begun.
 */
bool kfn_recover(struct kfn_ctrl *ctrl)
{
	if (nvme_ctrl_state(&ctrl->ctrl) != NVME_CTRL_LIVE ||
	    !nvme_change_ctrl_state(&ctrl->ctrl, NVME_CTRL_RESETTING))
		return false;
	dev_warn(ctrl->ctrl.device, "connection lost\n");
	queue_work(nvme_reset_wq, &ctrl->err_work);
	return true;
}

static void kfn_reset_work(struct work_struct *work)
{
	struct kfn_ctrl *ctrl = container_of(work, struct kfn_ctrl, ctrl.reset_work);
	int ret;

	nvme_stop_ctrl(&ctrl->ctrl);
	kfn_teardown(ctrl, false);
	/* A deletion may have begun: it waits for this work item, and finds everything closed. */
	if (!nvme_change_ctrl_state(&ctrl->ctrl, NVME_CTRL_CONNECTING)) {
		WARN_ON_ONCE(nvme_ctrl_state(&ctrl->ctrl) != NVME_CTRL_DELETING &&
			     nvme_ctrl_state(&ctrl->ctrl) != NVME_CTRL_DELETING_NOIO);
		kfn_unquiesce(ctrl);
		return;
	}
	ret = kfn_setup_again(ctrl);
	if (!ret)
		return;
	++ctrl->ctrl.nr_reconnects;
	kfn_retry_or_delete(ctrl, ret);
}

void kfn_ctrl_init(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	INIT_LIST_HEAD(&ctrl->entry);
	mutex_init(&ctrl->tags_lock);
	INIT_WORK(&ctrl->err_work, kfn_err_work);
	INIT_WORK(&ctrl->ctrl.reset_work, kfn_reset_work);
	INIT_DELAYED_WORK(&ctrl->reconnect_work, kfn_reconnect_work);
	for (i = 0; i < ctrl->ctrl.queue_count; i++) {
		ctrl->queues[i].ctrl = ctrl;
		ctrl->queues[i].qid = i;
		mutex_init(&ctrl->queues[i].lock);
		kfi_conn_init(&ctrl->queues[i].conn,
			      ctrl->digests ? &kfn_digest_conn_ops : &kfn_conn_ops);
		INIT_WORK(&ctrl->queues[i].lost_work, kfn_lost_work);
	}
}
