// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - one bridge: what happens to it from its addition to its removal. life.c has the state
 * machine, which a work item runs. Interrupts, faults and timers only set a bit and queue it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include "ntb.h"

static bool nt_use_dma = true;
module_param_named(use_dma, nt_use_dma, bool, 0444);
MODULE_PARM_DESC(use_dma, "copy with a DMA engine, if there is one (default yes)");

static unsigned int nt_queues;
module_param_named(queues, nt_queues, uint, 0444);
MODULE_PARM_DESC(queues,
		 "queues of a bridge, 1 to 8; 0: one for each CPU, up to 4 (default 0)");

#define NT_QUEUES_AUTO	4U	/* queues, if the parameter does not say how many */
/* A report that comes so soon after another one repeats it: ntb_hw_amd does so after a second */
#define NT_SETTLE	(3 * HZ)
/* reports that are taken for flaps: a driver that makes more of them repeats itself */
#define NT_REPEATS	3
#define NT_FORGET	(600 * HZ)	/* reports so far apart do not repeat one another */

static struct workqueue_struct *nt_wq;
/* For the engines: the link's work item waits for their work items, whose drivers may sleep */
static struct workqueue_struct *nt_copy_wq;
static struct dentry *nt_debugfs;

/* Links that were started. The lock is held while nt_on_reboot() stops them, one by one. */
static DEFINE_MUTEX(nt_links_lock);
static LIST_HEAD(nt_links);

void nt_link_queue(struct nt_link *link)
{
	if (!READ_ONCE(link->stopping))
		mod_delayed_work(nt_wq, &link->work, 0);
}

/* ---- faults ---- */

void nt_link_fault(struct nt_link *link, unsigned int life, const char *why)
{
	bool meant;

	spin_lock_bh(&link->lock);
	meant = link->mux.life == life;
	if (meant) {
		link->why = why;
		set_bit(NT_EV_FAULT, &link->events);
	}
	spin_unlock_bh(&link->lock);
	if (meant)
		nt_link_queue(link);
}

/*
 * The fault belongs to the current life, because a ring reports none after its life has ended. The
 * other queues stop, too: the bridge may have lost payload that a record of another queue announces.
 * The caller may hold the lock of its ring, so the locks of the other rings are not taken.
 */
static void nt_on_fault(struct nt_ring *ring, const char *why)
{
	struct nt_link *link = nt_ring_link(ring);
	unsigned int i;

	for (i = 0; i < READ_ONCE(link->queues); i++)
		cmpxchg(&link->ring[i].state, NT_UP, NT_ENDING);
	nt_link_fault(link, nt_link_life(link), why);
}

static const struct nt_ring_ops nt_ring_ops = {
	.signal		= nt_bell_ring,
	.burst_begin	= nt_rx_burst_begin,
	.burst_end	= nt_rx_burst_end,
	.record		= nt_rx_record,
	.room		= nt_rx_room,
	.settle		= nt_bell_settle,
	.fault		= nt_on_fault,
};

/* ---- events of the bridge: hard interrupts ---- */

static void nt_on_link(void *ctx)
{
	struct nt_link *link = ctx;
	bool up = nt_carrier(link), again = up && link->carrier;
	bool soon = time_before(jiffies, link->carrier_at + NT_SETTLE);
	bool late = time_after(jiffies, link->carrier_at + NT_FORGET);
	unsigned int i;

	link->carrier = up;
	link->carrier_at = jiffies;
	if (!again || late)
		link->repeats = 0;
	if (again && (soon || link->repeats++ >= NT_REPEATS))
		return nt_link_queue(link);
	/*
	 * Another report that the link is up is a flap, too, because writes may have been lost
	 * before. This does no harm before our hello, because everything is repeated until the peer
	 * has received it. A peer that has received our hello may have sent records, even if its
	 * hello has not come yet.
	 */
	for (i = 0; i < link->rings; i++)
		WRITE_ONCE(link->ring[i].lost, true);
	if (READ_ONCE(link->state) >= NT_LINK_HELLO)
		set_bit(NT_EV_FLAP, &link->events);
	nt_link_queue(link);
}

static void nt_on_bell(void *ctx, int vector)
{
	nt_bell_received(ctx, vector);
}

static const struct ntb_ctx_ops nt_ctx_ops = {
	.link_event	= nt_on_link,
	.db_event	= nt_on_bell,
};

/* ---- the work item ---- */

static void nt_link_work(struct work_struct *work)
{
	struct nt_link *link = container_of(to_delayed_work(work), struct nt_link, work);
	unsigned int ms;

	/*
	 * A context that has found stopping clear may queue the work item after nt_link_halt() has
	 * set it and cancelled the work item.
	 */
	if (READ_ONCE(link->stopping))
		return;
	ms = nt_life_run(link);
	if (ms && !READ_ONCE(link->stopping))
		queue_delayed_work(nt_wq, &link->work, msecs_to_jiffies(ms));
}

/* ---- init and exit ---- */

static void nt_queues_exit(struct nt_link *link)
{
	while (link->rings)
		nt_ring_exit(&link->ring[--link->rings]);
}

/* There are fewer queues than wanted if there are fewer channels, or if memory is short. */
static int nt_queues_init(struct nt_link *link, unsigned int wanted)
{
	struct nt_ring *ring = link->ring;
	int ret = 0;

	for (; link->rings < wanted; link->rings++, ring++) {
		ring->index = link->rings;
		ret = nt_ring_init(ring, &nt_ring_ops, dev_to_node(ntb_get_dma_dev(link->ntb)),
				   nt_use_dma, nt_copy_wq, ring->index ? link->ring : NULL);
		if (ret)
			break;
	}
	link->queues = 1;
	link->win.wanted = link->rings;
	return link->rings ? 0 : ret;
}

void nt_link_named(struct nt_link *link)
{
	__le32 own = cpu_to_le32(link->side), peer = cpu_to_le32(link->peer_side);

	kfi_mux_set_ends(&link->mux, &own, &peer);
}

struct nt_link *nt_link_add(struct ntb_dev *ntb)
{
	unsigned int queues = nt_queues ?: min(num_online_cpus(), NT_QUEUES_AUTO);
	struct nt_link *link;
	int ret = -ENODEV;

	if (ntb_spad_count(ntb) < NTW_PADS) {
		dev_err(&ntb->dev, "%d scratchpads, kfi_ntb wants %d\n", ntb_spad_count(ntb),
			NTW_PADS);
		return ERR_PTR(ret);
	}
	if (ntb_db_is_unsafe(ntb) || ntb_spad_is_unsafe(ntb)) {
		dev_err(&ntb->dev,
			"doorbells and scratchpads of this bridge must not be used while data move, so kfi_ntb does not use it\n");
		return ERR_PTR(ret);
	}
	link = kvzalloc_node(struct_size(link, ring, queues), GFP_KERNEL,
			     dev_to_node(ntb_get_dma_dev(ntb)));
	if (!link)
		return ERR_PTR(-ENOMEM);
	link->ntb = ntb;
	link->side = ntb_port_number(ntb);
	link->peer_side = ntb_peer_port_number(ntb, NT_PEER);
	link->draws = link->side == link->peer_side;
	if (link->draws)
		link->side = NT_NO_SIDE;
	ret = kfi_mux_init(&link->mux, &nt_prov, dev_name(&ntb->dev));
	if (ret)
		goto free_link;
	INIT_LIST_HEAD(&link->entry);
	link->begun = jiffies - HZ;	/* long ago */
	spin_lock_init(&link->lock);
	INIT_DELAYED_WORK(&link->work, nt_link_work);
	ret = nt_win_init(&link->win, ntb);
	if (ret)
		goto destroy_mux;
	ret = nt_flat_init(&link->flat, ntb, &link->win);
	if (ret)
		goto exit_win;
	ret = nt_queues_init(link, queues);
	if (ret)
		goto exit_win;
	nt_paged_init(&link->paged, ntb, link->win.index);
	link->debugfs = debugfs_create_dir(dev_name(&ntb->dev), nt_debugfs);
	nt_link_show(link);
	link->mux.caps = nt_pages_device(link) ? KFI_PLACE : 0;
	if (!link->draws)
		nt_link_named(link);
	return link;
exit_win:
	nt_win_exit(&link->win, ntb, false);
destroy_mux:
	kfi_mux_destroy(&link->mux);
free_link:
	kvfree(link);
	return ERR_PTR(ret);
}

/*
 * Let no window of ours show anything, not even the memory on which it is parked. There is no
 * further life. Return: true: a window still shows inbound memory.
 */
static bool nt_link_shut(struct nt_link *link)
{
	bool ring = nt_win_switch_off(&link->win, link->ntb);

	return nt_flat_switch_off(link) || ring;
}

static void nt_link_halt(struct nt_link *link)
{
	WRITE_ONCE(link->stopping, true);
	cancel_delayed_work_sync(&link->work);
	nt_life_end(link, "it is taken down");
	nt_handshake_write(link, NTW_AWAY);
	ntb_link_disable(link->ntb);
	nt_bell_exit(link);
	ntb_clear_ctx(link->ntb);
	/* An interrupt that was under way may have queued the work item. */
	cancel_delayed_work_sync(&link->work);
}

void nt_link_stop(struct nt_link *link)
{
	mutex_lock(&nt_links_lock);
	list_del_init(&link->entry);
	mutex_unlock(&nt_links_lock);
	nt_link_halt(link);
}

/*
 * Without this the window would stay open when the next kernel runs (kexec), and the peer would
 * notice the end only after its time limit.
 */
static int nt_on_reboot(struct notifier_block *nb, unsigned long action, void *arg)
{
	struct nt_link *link;

	mutex_lock(&nt_links_lock);
	list_for_each_entry(link, &nt_links, entry) {
		WRITE_ONCE(link->halting, true);
		nt_link_halt(link);
		/* The next kernel uses this memory for something else. */
		nt_link_shut(link);
		if (link->win.scrap)
			dev_warn(&link->ntb->dev, "a window shows memory until it is reset\n");
	}
	mutex_unlock(&nt_links_lock);
	return NOTIFY_DONE;
}

/* Called after the notifiers that still write data */
static struct notifier_block nt_reboot = { .notifier_call = nt_on_reboot, .priority = INT_MIN };

/* -EINVAL: the link is enabled from the other end. */
static int nt_link_enable(struct nt_link *link)
{
	int ret = ntb_link_enable(link->ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);

	return ret == -EINVAL ? 0 : ret;
}

int nt_link_start(struct nt_link *link)
{
	int ret = ntb_set_ctx(link->ntb, link, &nt_ctx_ops);

	if (ret)
		return ret;
	ret = nt_bell_init(link) ?: nt_link_enable(link);
	if (ret) {	/* the work item may have begun a life since ntb_set_ctx() */
		nt_link_stop(link);
		return ret;
	}
	mutex_lock(&nt_links_lock);
	list_add_tail(&link->entry, &nt_links);
	mutex_unlock(&nt_links_lock);
	nt_link_queue(link);
	return 0;
}

void nt_link_remove(struct nt_link *link)
{
	bool shown;

	/* nt_pages_unpin() may have queued the work item after nt_link_halt() has cancelled it. */
	cancel_delayed_work_sync(&link->work);
	shown = nt_link_shut(link);
	debugfs_remove_recursive(link->debugfs);
	nt_queues_exit(link);
	nt_paged_exit(&link->paged, link->ntb);
	nt_flat_exit(link);
	nt_win_exit(&link->win, link->ntb, shown);
	kfi_mux_destroy(&link->mux);
	kvfree(link);
}

static int nt_check_params(void)
{
	if (nt_queues > NTW_QUEUES_MAX) {
		pr_err("kfi_ntb: queues=%u is more than %u\n", nt_queues, NTW_QUEUES_MAX);
		return -EINVAL;
	}
	return nt_bell_check_params() ?: nt_win_check_params() ?: nt_flat_check_params();
}

static void nt_wqs_destroy(void)
{
	if (nt_copy_wq)
		destroy_workqueue(nt_copy_wq);
	if (nt_wq)
		destroy_workqueue(nt_wq);
}

int nt_links_init(void)
{
	int ret = nt_check_params();

	if (ret)
		return ret;
	nt_wq = alloc_workqueue("kfi_ntb", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	nt_copy_wq = alloc_workqueue("kfi_ntb_copy", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	ret = nt_wq && nt_copy_wq ? register_reboot_notifier(&nt_reboot) : -ENOMEM;
	if (ret)
		nt_wqs_destroy();
	else
		nt_debugfs = debugfs_create_dir("kfi_ntb", NULL);
	return ret;
}

void nt_links_exit(void)
{
	unregister_reboot_notifier(&nt_reboot);
	debugfs_remove_recursive(nt_debugfs);
	nt_wqs_destroy();
}
