// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - one bridge: its state machine and its signs of life.
 *
 *	DOWN -> QUIET -> OPEN -> HELLO -> UP
 *	  ^_______|________|_______|______|    the bridge's link goes down, or the peer has
 *					       another incarnation
 *
 *	DOWN	no write of ours is under way, and the peer can write nothing
 *	QUIET	we have written a new incarnation to the peer's scratchpads. Until the peer
 *		repeats it, writes of the peer for an earlier life may be under way
 *	OPEN	the peer has repeated it, so none of its earlier writes is under way. Our window is
 *		open
 *	HELLO	the peer's window is open to us, and we have written a hello through it
 *	UP	the peer has written its hello: records can be sent
 *
 * A life begins with QUIET and ends with DOWN. nt_life_end() takes the same steps whatever the
 * reason is: it gives no more copies to the engine, waits for copies under way, tells the peer,
 * closes the windows, ends all records, and tells the endpoints. Flaps, faults and timers only set
 * a bit and queue the work item.
 *
 * In each step the work item repeats its scratchpads or its hello, because a write is lost if the
 * bridge's link goes down at that moment.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include "bridge.h"

unsigned int nt_heartbeat_ms = 100;
module_param_named(heartbeat_ms, nt_heartbeat_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_ms, "milliseconds between two signs of life (default 100)");

static unsigned int nt_timeout_ms = 1000;
module_param_named(timeout_ms, nt_timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms, "ms without a sign of life before a peer is dead (default 1000)");

static bool nt_use_dma = true;
module_param_named(use_dma, nt_use_dma, bool, 0444);
MODULE_PARM_DESC(use_dma, "copy with a DMA engine, if there is one (default yes)");

static unsigned int nt_direct_max = 1024;
module_param_named(direct, nt_direct_max, uint, 0444);
MODULE_PARM_DESC(direct, "bytes of a record that the CPU writes, at most (default 1024)");

bool nt_crc = true;
module_param_named(crc, nt_crc, bool, 0444);
MODULE_PARM_DESC(crc, "protect records by a CRC, if both ends enable it (default yes)");

bool nt_crc_placed;
module_param_named(crc_placed, nt_crc_placed, bool, 0444);
MODULE_PARM_DESC(crc_placed,
		 "protect placed payload by a CRC, if both ends enable it (default no)");

/*
 * Milliseconds between two steps of the handshake. The interval doubles, up to NT_PACE_MAX, until
 * the state of the link changes
 */
#define NT_PACE_MIN	10
#define NT_PACE_MAX	100
/* milliseconds between two attempts to allocate memory for the window */
#define NT_PACE_NO_MEMORY	2000
/* no sign of life is sent if a line was sent in the last 1/NT_BEAT_PART of the interval */
#define NT_BEAT_PART	4
#define NT_END_MS	2000	/* ms for copies that the engine has before they are aborted */
#define NT_CLOSE_MS	100	/* ms between two attempts to close the window */
#define NT_CLOSE_TRIES	20

static struct workqueue_struct *nt_wq;
static struct dentry *nt_debugfs;

/* Links that were started. The lock is held while nt_links_halt() stops them, one by one. */
static DEFINE_MUTEX(nt_links_lock);
static LIST_HEAD(nt_links);

void nt_link_queue(struct nt_link *link)
{
	if (!READ_ONCE(link->stopping))
		mod_delayed_work(nt_wq, &link->work, 0);
}

static void nt_link_set(struct nt_link *link, enum nt_link_state state)
{
	WRITE_ONCE(link->state, state);
	link->pace = NT_PACE_MIN;
}

/* ---- faults ---- */

void nt_link_fault(struct nt_link *link, unsigned int life, const char *why)
{
	bool meant;

	spin_lock_bh(&link->lock);
	meant = link->life == life;
	if (meant) {
		link->why = why;
		set_bit(NT_EV_FAULT, &link->events);
	}
	spin_unlock_bh(&link->lock);
	if (meant)
		nt_link_queue(link);
}

/* The fault belongs to the current life, because a ring reports none after its life has ended. */
static void nt_on_fault(struct nt_ring *ring, const char *why)
{
	struct nt_link *link = nt_ring_link(ring);

	nt_link_fault(link, nt_link_life(link), why);
}

static const struct nt_ring_ops nt_ring_ops = {
	.signal		= nt_bell_ring,
	.burst_begin	= nt_rx_burst_begin,
	.burst_end	= nt_rx_burst_end,
	.record		= nt_rx_record,
	.room		= nt_conns_room,
	.fault		= nt_on_fault,
};

/* ---- events of the bridge: hard interrupts ---- */

static bool nt_carrier(struct nt_link *link)
{
	return ntb_link_is_up(link->ntb, NULL, NULL) & BIT_ULL(NT_PEER);
}

static void nt_on_link(void *ctx)
{
	struct nt_link *link = ctx;

	/*
	 * A report that the link is up is a flap, too, because writes may have been lost before.
	 * This does no harm before our hello, because everything is repeated until the peer has
	 * received it. A peer that has received our hello may have sent records, even if its hello
	 * has not come yet.
	 */
	WRITE_ONCE(link->ring.lost, true);
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

/* ---- end of a life ---- */

/* The driver may report the end of the bridge's link later, after an interrupt. */
static bool nt_link_gone(struct nt_link *link)
{
	unsigned int tries;

	for (tries = 0; nt_carrier(link) && tries < NT_CLOSE_TRIES; tries++)
		msleep(NT_CLOSE_MS);
	return !nt_carrier(link);
}

/*
 * A window can't be closed, so the bridge has to stop carrying writes. With some drivers its link
 * can't be disabled, or only from the other end. Without bus mastering a PCI function writes
 * nothing to memory, and sends no interrupt messages either.
 */
static void nt_link_expose(struct nt_link *link)
{
	struct pci_dev *pdev = link->ntb->pdev;
	int ret;

	WRITE_ONCE(link->exposed, true);
	ret = ntb_link_disable(link->ntb);
	if (!ret && nt_link_gone(link)) {
		dev_err(&link->ntb->dev,
			"a window stays open: the link of the bridge is disabled\n");
	} else if (pdev && pdev->bus) {
		pci_clear_master(pdev);
		dev_err(&link->ntb->dev,
			"a window stays open, and so does the link of the bridge (%d): the bridge is no bus master any more\n",
			ret);
	} else {
		dev_err(&link->ntb->dev,
			"a window stays open, and so does the link of the bridge (%d): the peer can still write to memory\n",
			ret);
	}
}

/*
 * Close the windows. Memory that the peer may still write to must not be reused: if a window can't
 * be closed, the inbound memory stays allocated, and no further memory is taken from it.
 */
static void nt_life_shut(struct nt_link *link)
{
	unsigned int tries;

	for (tries = 0; nt_win_close(&link->win, link->ntb) | nt_flat_close(&link->flat, link->ntb);
	     tries++) {
		dev_warn_ratelimited(&link->ntb->dev, "window %d can't be closed\n",
				     link->win.open ? link->win.index : link->flat.index);
		if (tries == NT_CLOSE_TRIES) {
			nt_link_expose(link);
			break;
		}
		msleep(NT_CLOSE_MS);
	}
	nt_engine_close(&link->ring.engine);
}

/*
 * Wait for the engine, however long that takes, because memory that the engine may still read or
 * write must not be reused. Only at the end of this kernel the wait is limited.
 * Return: true if the engine has no copies of ours.
 */
static bool nt_life_quiesce(struct nt_link *link)
{
	while (nt_ring_end(&link->ring, NT_END_MS)) {
		dev_warn_ratelimited(&link->ntb->dev, "the DMA engine does not come to an end\n");
		if (READ_ONCE(link->halting))
			return false;
	}
	return true;
}

/* Count lives. Faults that are reported for the old life have no effect any more. */
static void nt_life_count(struct nt_link *link)
{
	spin_lock_bh(&link->lock);
	WRITE_ONCE(link->life, link->life + 1);
	clear_bit(NT_EV_FAULT, &link->events);
	spin_unlock_bh(&link->lock);
}

static void nt_life_end(struct nt_link *link, const char *why)
{
	bool was_up = link->state == NT_LINK_UP, had_hello = link->state >= NT_LINK_HELLO;
	bool quiet = true;

	if (link->hung)
		return;
	nt_link_set(link, NT_LINK_DOWN);
	if (was_up) {
		dev_info_ratelimited(&link->ntb->dev, "link down: %s\n", why);
		link->resets++;
		quiet = nt_life_quiesce(link);
	}
	if (!quiet) {
		/*
		 * The engine still uses memory of ours, and its driver may call us. So nothing is
		 * unmapped or freed, records do not end, and this module stays loaded.
		 */
		WRITE_ONCE(link->hung, true);
		__module_get(THIS_MODULE);
		nt_win_close(&link->win, link->ntb);
		nt_flat_close(&link->flat, link->ntb);
		return;
	}
	if (had_hello)
		nt_ring_bye(&link->ring, link->yours);
	/*
	 * After this no write of the peer arrives. Only then may the owners of memory be told that
	 * they can reuse it.
	 */
	nt_life_shut(link);
	if (!was_up)
		return;
	nt_ring_off(&link->ring);
	nt_life_count(link);
	nt_conns_link_down(link);
}

/* ---- beginning of a life: each step returns true if the next one has to be tried at once ---- */

/* Allocate the memory that a life needs. A failure is logged once. */
static bool nt_life_memory(struct nt_link *link)
{
	int ret = nt_win_alloc(&link->win, link->ntb);

	if (ret && !link->no_memory)
		dev_warn(&link->ntb->dev,
			 "no memory for the window, in one piece and aligned as the bridge wants it (%d)\n",
			 ret);
	if (!ret)
		ret = nt_flat_ready(link, !link->no_memory);
	link->no_memory = ret;
	return !ret;
}

/*
 * Return: true if no life can begin, because devices have places. The peer begins none either: it
 * waits for our incarnation.
 */
static bool nt_life_held(struct nt_link *link)
{
	unsigned int pins = nt_pages_pinned(link);

	if (pins && !link->held)
		dev_warn(&link->ntb->dev,
			 "devices of this machine still write to the peer's memory (%u places): the link stays down\n",
			 pins);
	link->held = pins;
	return pins;
}

static bool nt_step_down(struct nt_link *link)
{
	if (link->exposed || nt_life_held(link) || !nt_life_memory(link))
		return false;
	/* A doorbell bit that is still set would cause no interrupt when it is rung again. */
	ntb_db_clear(link->ntb, link->bells.mine);
	do
		link->mine = get_random_u32();
	while (!link->mine);
	link->yours = 0;
	nt_link_set(link, NT_LINK_QUIET);
	nt_handshake_write(link, NTW_QUIET);
	return true;
}

/* Both sides are quiet: all writes from now on, in either direction, belong to this life. */
static int nt_life_open(struct nt_link *link, const struct ntw_handshake *handshake)
{
	struct iosys_map peer = IOSYS_MAP_INIT_VADDR_IOMEM(link->win.peer);
	size_t len = min_t(u64, link->win.peer_len, (u64)handshake->size_kib * 1024);
	int ret;

	if (len < ntw_arena_at(1U << handshake->ring_shift))
		return -ENOSPC;
	ret = nt_ring_shadow(&link->ring, 1U << handshake->ring_shift);
	if (ret)
		return ret;
	ret = nt_engine_open(&link->ring.engine, link->win.peer_base, len, &peer);
	if (ret)
		return ret;
	ret = nt_win_open(&link->win, link->ntb);
	if (!ret)
		ret = nt_flat_open(&link->flat, link->ntb);
	if (ret)
		nt_life_shut(link);
	return ret;
}

static bool nt_step_quiet(struct nt_link *link)
{
	struct ntw_handshake handshake;
	int ret;

	/* nt_life_open() has failed, and a window could not be closed. */
	if (link->exposed) {
		nt_link_set(link, NT_LINK_DOWN);
		return false;
	}
	ret = nt_handshake_read(link, &handshake);
	if (!ret)
		link->yours = handshake.mine;
	nt_handshake_write(link, NTW_QUIET);
	if (ret || handshake.yours != link->mine)
		return false;
	ret = nt_life_open(link, &handshake);
	if (ret) {
		dev_warn_ratelimited(&link->ntb->dev, "the window can't be opened (%d)\n", ret);
		return false;
	}
	nt_link_set(link, NT_LINK_OPEN);
	return true;
}

/*
 * Check that the peer still has the incarnation that we have read, and end this life if it has not.
 * Return: 0: it has; -EAGAIN: it could not be read; -ESTALE: it has another one.
 */
static int nt_same_life(struct nt_link *link, struct ntw_handshake *handshake)
{
	int ret = nt_handshake_read(link, handshake);

	if (ret)
		return -EAGAIN;
	if (handshake->mine == link->yours && handshake->yours == link->mine)
		return 0;
	nt_life_end(link, "another life of the peer");
	return -ESTALE;
}

static bool nt_step_open(struct nt_link *link)
{
	struct ntw_handshake handshake;
	int ret = nt_same_life(link, &handshake);

	if (ret == -ESTALE)
		return true;
	nt_handshake_write(link, NTW_OPEN);
	if (ret || handshake.state != NTW_OPEN)
		return false;
	/* From here on a flap may lose more than words that are repeated. */
	WRITE_ONCE(link->ring.lost, false);
	clear_bit(NT_EV_FLAP, &link->events);
	nt_link_set(link, NT_LINK_HELLO);
	return true;
}

static void nt_life_up(struct nt_link *link, const struct ntw_hello_info *g)
{
	unsigned int i;

	link->beat = 0;
	link->beat_at = jiffies;
	for (i = 0; i < NT_PROGRESS; i++)
		link->watch[i] = (struct nt_watch) { .at = jiffies };
	link->ring.direct = nt_direct_max;
	link->ring.crc = nt_crc && g->features & NTW_FEAT_CRC;
	WRITE_ONCE(link->checks, nt_crc_placed && g->features & NTW_FEAT_CRC_PLACED);
	link->ups++;
	WRITE_ONCE(link->win.reach, min(g->reach, link->win.size));
	/* nt_conns_link_up() has to return before the first record is handled. */
	disable_bh_work_sync(&link->ring.run);
	nt_ring_on(&link->ring, link->win.mem, link->win.ring, link->mine, link->yours);
	nt_link_set(link, NT_LINK_UP);
	dev_info_ratelimited(&link->ntb->dev, "link up: %zu bytes here, %zu there, %s\n",
			     link->win.size, link->ring.engine.size,
			     link->ring.engine.chan ? dma_chan_name(link->ring.engine.chan) :
						      "no DMA engine");
	if (nt_link_exposes_all(link))
		dev_warn_ratelimited(&link->ntb->dev,
				     "the peer can write to all memory of this machine\n");
	nt_conns_link_up(link);
	enable_bh_work(&link->ring.run);
	nt_ring_schedule(&link->ring);	/* for signals that came while it was disabled */
	nt_ring_beat(&link->ring, 0);
}

static bool nt_step_hello(struct nt_link *link)
{
	struct ntw_hello_info g;
	struct ntw_handshake handshake;
	int ret;

	if (test_bit(NT_EV_FLAP, &link->events)) {
		nt_life_end(link, "the bridge says so");
		return true;
	}
	ret = nt_same_life(link, &handshake);
	if (ret == -ESTALE)
		return true;
	nt_hello_write(link);
	ret = ret ?: nt_hello_read(link, &handshake, &g);
	if (ret == -EAGAIN)
		return false;
	if (ret || nt_flat_use(link, &g))
		nt_life_end(link, "a hello that is none");
	else if (nt_bell_open(link))
		nt_life_end(link, "the peer can't be woken");
	else
		nt_life_up(link, &g);
	return false;
}

/* ---- while the link is up ---- */

static bool nt_late(unsigned long since)
{
	return time_after(jiffies, since + msecs_to_jiffies(nt_timeout_ms));
}

static bool nt_peer_silent(struct nt_link *link)
{
	u32 beat = nt_ring_peer_serial(&link->ring);

	if (beat == link->beat)
		return nt_late(link->beat_at);
	link->beat = beat;
	link->beat_at = jiffies;
	return false;
}

/*
 * Return why operations would wait for ever, or NULL: the peer sends signs of life, but does not
 * handle what it has received, or this side's engine does not copy.
 */
static const char *nt_life_stuck(struct nt_link *link)
{
	static const char *const why[] = {
		[NT_PEER_MSG]	= "the peer does not handle what it gets",
		[NT_PEER_BULK]	= "the peer does not handle what it gets",
		[NT_ENGINE]	= "the DMA engine does not copy",
	};
	struct nt_watch *w;
	unsigned int i;
	u64 done;

	for (i = 0; i < NT_PROGRESS; i++) {
		w = &link->watch[i];
		if (!nt_ring_progress(&link->ring, i, &done) || done != w->done) {
			w->done = done;
			w->at = jiffies;
		} else if (nt_late(w->at)) {
			return why[i];
		}
	}
	return NULL;
}

static const char *nt_life_fault(struct nt_link *link)
{
	const char *why;

	spin_lock_bh(&link->lock);
	why = link->why;
	spin_unlock_bh(&link->lock);
	return why;
}

/* Return why this life is over, or NULL */
static const char *nt_life_over(struct nt_link *link)
{
	if (!nt_carrier(link) || test_bit(NT_EV_FLAP, &link->events))
		return "the bridge says so";
	if (test_bit(NT_EV_FAULT, &link->events))
		return nt_life_fault(link);
	if (nt_ring_peer_bye(&link->ring))
		return "the peer says so";
	if (nt_peer_silent(link))
		return "the peer is silent";
	return nt_life_stuck(link);
}

static bool nt_step_up(struct nt_link *link)
{
	const char *why = nt_life_over(link);

	if (why)
		nt_life_end(link, why);
	else
		nt_ring_beat(&link->ring, nt_heartbeat_ms / NT_BEAT_PART);
	return false;
}

static bool nt_step(struct nt_link *link)
{
	static bool (*const steps[])(struct nt_link *link) = {
		[NT_LINK_DOWN]	= nt_step_down,
		[NT_LINK_QUIET]	= nt_step_quiet,
		[NT_LINK_OPEN]	= nt_step_open,
		[NT_LINK_HELLO]	= nt_step_hello,
		[NT_LINK_UP]	= nt_step_up,
	};

	return steps[link->state](link);
}

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
	if (link->state != NT_LINK_UP && !nt_carrier(link)) {
		if (link->state != NT_LINK_DOWN)
			nt_life_end(link, "the bridge says so");
		return;		/* the bridge reports when that changes */
	}
	while (nt_step(link))
		;
	link->pace = min(2 * link->pace, NT_PACE_MAX);
	ms = link->state == NT_LINK_UP ? nt_heartbeat_ms :
	     link->no_memory ? NT_PACE_NO_MEMORY : link->pace;
	if (!READ_ONCE(link->stopping))
		queue_delayed_work(nt_wq, &link->work, msecs_to_jiffies(ms));
}

/* ---- init and exit ---- */

struct nt_link *nt_link_add(struct ntb_dev *ntb, void *priv)
{
	struct nt_link *link;
	int ret = -ENODEV;

	if (ntb_spad_count(ntb) < NTW_PADS) {
		dev_err(&ntb->dev, "%d scratchpads, kfi_ntb wants %d\n", ntb_spad_count(ntb),
			NTW_PADS);
		return ERR_PTR(ret);
	}
	link = kzalloc_node(sizeof(*link), GFP_KERNEL, dev_to_node(ntb_get_dma_dev(ntb)));
	if (!link)
		return ERR_PTR(-ENOMEM);
	link->ntb = ntb;
	link->priv = priv;
	INIT_LIST_HEAD(&link->entry);
	spin_lock_init(&link->lock);
	link->pace = NT_PACE_MIN;
	INIT_DELAYED_WORK(&link->work, nt_link_work);
	ret = nt_win_init(&link->win, ntb);
	if (ret)
		goto free_link;
	ret = nt_flat_init(&link->flat, ntb, &link->win);
	if (ret)
		goto exit_win;
	ret = nt_ring_init(&link->ring, &nt_ring_ops, dev_to_node(ntb_get_dma_dev(ntb)),
			   nt_use_dma, nt_wq);
	if (ret)
		goto exit_win;
	nt_paged_init(&link->paged, ntb, link->win.index);
	link->debugfs = debugfs_create_dir(dev_name(&ntb->dev), nt_debugfs);
	nt_link_show(link);
	return link;
exit_win:
	nt_win_exit(&link->win, ntb, false);
free_link:
	kfree(link);
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

void nt_links_halt(void)
{
	struct nt_link *link;

	mutex_lock(&nt_links_lock);
	list_for_each_entry(link, &nt_links, entry) {
		WRITE_ONCE(link->halting, true);
		nt_link_halt(link);
		/* The next kernel uses this memory for something else. */
		nt_link_shut(link);
	}
	mutex_unlock(&nt_links_lock);
}

/*
 * Without this the window would stay open when the next kernel runs (kexec), and the peer would
 * notice the end only after its time limit.
 */
static int nt_on_reboot(struct notifier_block *nb, unsigned long action, void *arg)
{
	nt_links_halt();
	return NOTIFY_DONE;
}

/* Called after the notifiers that still write data */
static struct notifier_block nt_reboot = { .notifier_call = nt_on_reboot, .priority = INT_MIN };

int nt_link_start(struct nt_link *link)
{
	int ret = ntb_set_ctx(link->ntb, link, &nt_ctx_ops);

	if (ret)
		return ret;
	ret = nt_bell_init(link);
	if (ret)
		goto clear_ctx;
	ret = ntb_link_enable(link->ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	if (ret && ret != -EINVAL) {	/* -EINVAL: the link is enabled from the other end */
		nt_link_stop(link);
		return ret;
	}
	mutex_lock(&nt_links_lock);
	list_add_tail(&link->entry, &nt_links);
	mutex_unlock(&nt_links_lock);
	nt_link_queue(link);
	return 0;
clear_ctx:
	ntb_clear_ctx(link->ntb);
	return ret;
}

void nt_link_remove(struct nt_link *link)
{
	bool shown;

	/* nt_pages_unpin() may have queued the work item after nt_link_halt() has cancelled it. */
	cancel_delayed_work_sync(&link->work);
	shown = nt_link_shut(link);
	debugfs_remove_recursive(link->debugfs);
	nt_ring_exit(&link->ring);
	nt_paged_exit(&link->paged, link->ntb);
	nt_flat_exit(link);
	nt_win_exit(&link->win, link->ntb, shown);
	kfree(link);
}

static int nt_check_params(void)
{
	if (!nt_heartbeat_ms || nt_timeout_ms < 2 * nt_heartbeat_ms) {
		pr_err("kfi_ntb: timeout_ms=%u is less than two heartbeats of %u ms\n",
		       nt_timeout_ms, nt_heartbeat_ms);
		return -EINVAL;
	}
	return nt_bell_check_params() ?: nt_win_check_params() ?: nt_flat_check_params();
}

int nt_links_init(void)
{
	int ret = nt_check_params();

	if (ret)
		return ret;
	nt_wq = alloc_workqueue("kfi_ntb", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!nt_wq)
		return -ENOMEM;
	ret = register_reboot_notifier(&nt_reboot);
	if (ret) {
		destroy_workqueue(nt_wq);
		return ret;
	}
	nt_debugfs = debugfs_create_dir("kfi_ntb", NULL);
	return 0;
}

void nt_links_exit(void)
{
	unregister_reboot_notifier(&nt_reboot);
	debugfs_remove_recursive(nt_debugfs);
	destroy_workqueue(nt_wq);
}
