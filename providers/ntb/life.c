// SPDX-License-Identifier: GPL-2.0
/*
 * life.c - the lives of a link: its state machine.
 *
 *	DOWN -> QUIET -> OPEN -> HELLO -> UP
 *	  ^_______|________|_______|______|    the bridge's link goes down, or the peer has
 *					       another incarnation
 *
 *	DOWN	no write of ours is under way, and the peer can write nothing
 *	QUIET	we have written a new incarnation to the peer's scratchpads. Until the peer
 *		repeats it, writes of the peer for an earlier life may be under way. In the first
 *		life the peer then tries whether our closed window is closed
 *	OPEN	the peer has repeated it, so none of its earlier writes is under way. Our window is
 *		open
 *	HELLO	the peer's window is open to us, and we have written a hello through it. When the
 *		peer has, too, each side proves what its engine and its doorbells do (prove.c)
 *	UP	both know that: records can be sent
 *
 * Each step that can't go on says what it waits for (await.c).
 *
 * A life begins with QUIET and ends with DOWN. nt_life_end() takes the same steps whatever the
 * reason is: it gives no more copies to the engine, waits for copies under way, tells the peer,
 * closes the windows, ends all records, and tells the endpoints. Flaps, faults and timers only set
 * a bit and queue the work item.
 *
 * In each step the work item reads all that the next one depends on, and repeats its scratchpads
 * and its hello: a write is lost if the bridge's link goes down at that moment, or may be damaged.
 * A timer runs the work item in each state, so no lost interrupt can keep a link down. It wakes the
 * peer only if something has changed.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/random.h>
#include "bridge.h"

static unsigned int nt_direct_max = 1024;
module_param_named(direct, nt_direct_max, uint, 0444);
MODULE_PARM_DESC(direct, "bytes of a record that the CPU writes, at most (default 1024)");

bool nt_crc = true;
module_param_named(crc, nt_crc, bool, 0444);
MODULE_PARM_DESC(crc, "protect records by a CRC, if both ends enable it (default yes)");

int nt_crc_placed = -1;
module_param_named(crc_placed, nt_crc_placed, int, 0444);
MODULE_PARM_DESC(crc_placed,
		 "protect payload that engines read by a CRC: 1; 0: never; -1: if an engine may hide errors (default -1)");

/*
 * Milliseconds between two steps of the handshake. The interval doubles, up to NT_PACE_MAX, until
 * the state of the link changes
 */
#define NT_PACE_MIN	10U
#define NT_PACE_MAX	100U
/* milliseconds between two looks at the bridge's link, whose driver also reports a change */
#define NT_PACE_CARRIER	250
/* milliseconds between two attempts to allocate memory for the window */
#define NT_PACE_NO_MEMORY	2000
#define NT_CLOSE_MS	100	/* ms between two attempts to close the window */
#define NT_CLOSE_TRIES	20
/*
 * milliseconds that a life has to receive the hello of the peer. The peer's hello may land in
 * memory that it should not reach, so this is doubled for the next life, up to NT_LATE_MAX times
 */
#define NT_LATE_MS	5000
#define NT_LATE_MAX	3

/* A life that does not come up may be one of many: the log has the reason once in a minute. */
#define NT_FAILED_LOG	(60 * HZ)

static void nt_link_set(struct nt_link *link, enum nt_link_state state)
{
	WRITE_ONCE(link->state, state);
	link->pace = NT_PACE_MIN;
}

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
	unsigned int tries, i;

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
	for (i = 0; i < link->rings; i++)
		nt_engine_close(&link->ring[i].engine);
}

/*
 * Wait for the engines for @ms milliseconds, including those of queues that are not used in this
 * life.
 * Return: true if they have no copies of ours
 */
static bool nt_queues_idle(struct nt_link *link, unsigned int ms)
{
	unsigned long until = jiffies + msecs_to_jiffies(ms);
	unsigned int i;

	for (i = 0; i < link->rings; i++)
		if (!nt_ring_wait_idle(&link->ring[i], max(1L, (long)(until - jiffies))))
			return false;
	return true;
}

/*
 * Wait for the engine, however long that takes, because memory that the engine may still read or
 * write must not be reused. Only at the end of this kernel the wait is limited. Operations that the
 * engine has nothing of do not wait for it. Before the link was up, the engine has copies for the
 * proof only.
 * Return: true if the engine has no copies of ours.
 */
static bool nt_life_quiesce(struct nt_link *link, bool was_up)
{
	unsigned int i;
	bool ended;

	nt_await(link, NT_AWAITS_PAUSE);
	for (i = 0; i < link->queues && was_up; i++)
		nt_ring_end(&link->ring[i]);
	while (!nt_queues_idle(link, NT_END_MS)) {
		nt_await(link, NT_AWAITS_END);
		for (ended = true, i = 0; i < link->rings; i++)
			if (!nt_ring_wait_idle(&link->ring[i], 0))
				ended &= nt_ring_abort(&link->ring[i]);
		if (ended && nt_queues_idle(link, NT_ABORT_MS))
			break;
		dev_warn_ratelimited(&link->ntb->dev, "the DMA engine does not come to an end\n");
		if (was_up)
			kfi_mux_ending(&link->mux);
		if (READ_ONCE(link->halting))
			return false;
	}
	return true;
}

/* Count lives. Faults that are reported for the old life have no effect any more. */
static void nt_life_count(struct nt_link *link)
{
	spin_lock_bh(&link->lock);
	WRITE_ONCE(link->mux.life, link->mux.life + 1);
	clear_bit(NT_EV_FAULT, &link->events);
	spin_unlock_bh(&link->lock);
}

static bool nt_life_damaged(const struct nt_link *link)
{
	bool damaged = READ_ONCE(link->damaged);
	unsigned int i;

	for (i = 0; i < link->queues; i++)
		damaged |= link->ring[i].in.torn;
	return damaged;
}

/*
 * The peer has received other bytes than this side has sent. The bridge may have lost them. But
 * engines that do not report errors are not trusted any more. The peer does not say which one it
 * was.
 */
static void nt_life_distrust(struct nt_link *link)
{
	static const struct nt_reason silent = {
		"the peer has not received what it should have written, and it has reported no error",
		NT_LOAD_AGAIN
	};
	struct nt_engine *e;
	unsigned int i;

	for (i = 0; i < link->rings; i++) {
		e = &link->ring[i].engine;
		if (nt_engine_uses_chan(e) && !nt_engine_reports(e))
			nt_engine_give_up(e, &silent, true);
	}
}

static void nt_life_failed(struct nt_link *link, const char *why)
{
	if (why == link->failed && time_before(jiffies, link->failed_at + NT_FAILED_LOG))
		return;
	link->failed = why;
	link->failed_at = jiffies;
	dev_info_ratelimited(&link->ntb->dev, "the link does not come up: %s\n", why);
}

void nt_life_end(struct nt_link *link, const char *why)
{
	bool was_up = link->state == NT_LINK_UP, had_hello = link->state >= NT_LINK_HELLO;
	bool quiet = true;
	unsigned int i;

	if (link->hung)
		return;
	nt_link_set(link, NT_LINK_DOWN);
	if (was_up) {
		dev_info_ratelimited(&link->ntb->dev, "link down: %s\n", why);
		link->resets++;
	} else if (had_hello) {
		nt_life_failed(link, why);
	}
	if (had_hello)
		quiet = nt_life_quiesce(link, was_up);
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
		nt_ring_bye(&link->ring[0], link->peer_id, nt_life_damaged(link) ? 2 : 1);
	if (link->lies)
		nt_life_distrust(link);
	/*
	 * After this no write of the peer arrives. Only then may the owners of memory be told that
	 * they can reuse it.
	 */
	nt_life_shut(link);
	if (!was_up)
		return;
	for (i = 0; i < link->queues; i++)
		nt_ring_off(&link->ring[i]);
	nt_life_count(link);
	kfi_mux_down(&link->mux);
}

/* ---- beginning of a life: each step returns true if the next one has to be tried at once ---- */

/* The driver of the bridge does not do what the link needs. */
static void nt_life_refused(struct nt_link *link, int err)
{
	WRITE_ONCE(link->refused, err);
	nt_await_again(link, NT_AWAITS_DRIVER);
}

/* Allocate the memory that a life needs. A failure is logged once. */
static bool nt_life_memory(struct nt_link *link)
{
	int ret = nt_win_ready(&link->win, link->ntb);

	if (ret == -ENOMEM && !link->no_memory)
		dev_warn(&link->ntb->dev,
			 "no memory for the window, in one piece and aligned as the bridge wants it (%d)\n",
			 ret);
	link->no_memory = ret == -ENOMEM;
	if (ret == -ENOMEM || ret == -ENOSPC)
		nt_await(link, ret == -ENOMEM ? NT_AWAITS_MEMORY : NT_AWAITS_ROOM);
	else if (ret)
		nt_life_refused(link, ret);
	if (ret)
		return false;
	ret = nt_flat_ready(link, !link->no_flat);
	link->no_flat = ret;
	if (ret)
		nt_await(link, NT_AWAITS_FLAT);
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
	if (pins)
		nt_await(link, NT_AWAITS_PLACES);
	return pins;
}

static bool nt_step_down(struct nt_link *link)
{
	unsigned int i;

	if (link->exposed)
		nt_await(link, NT_AWAITS_RELOAD);
	if (link->exposed || nt_life_held(link) || !nt_life_memory(link))
		return false;
	/*
	 * The peer wakes us when it has seen that we have begun, and we may fail at once. This
	 * must not repeat as fast as doorbells do.
	 */
	if (time_before(jiffies, link->begun + msecs_to_jiffies(NT_PACE_MAX)))
		return false;
	link->begun = jiffies;
	/* A doorbell bit that is still set would cause no interrupt when it is rung again. */
	ntb_db_clear(link->ntb, link->bells.bits);
	do
		link->own_id = get_random_u32();
	while (!link->own_id);
	link->peer_id = 0;
	link->proof = NT_PROOF_NONE;
	link->damaged = false;
	link->lies = false;
	for (i = 0; i < link->rings; i++)
		link->ring[i].in.torn = false;
	link->tried = 0;
	link->tries = 0;
	nt_link_set(link, NT_LINK_QUIET);
	nt_handshake_write(link, NTW_QUIET);
	return true;
}

/* Both sides are quiet: all writes from now on, in either direction, belong to this life. */
static int nt_life_open(struct nt_link *link, const struct ntw_handshake *handshake)
{
	struct iosys_map peer = IOSYS_MAP_INIT_VADDR_IOMEM(link->win.peer);
	size_t len = min_t(u64, link->win.peer_len, (u64)handshake->size_kib * 1024);
	u32 ring = 1U << handshake->ring_shift;
	unsigned int i, reached = len / ntw_arena_at(1, ring);
	int ret = 0;

	WRITE_ONCE(link->queues,
		   min3(nt_win_queues(&link->win), (unsigned int)handshake->queues, reached));
	link->peer_end = 0;
	for (i = 0; i < link->queues && !ret; i++)
		ret = nt_ring_shadow(&link->ring[i], handshake->queues, ring) ?:
		      nt_engine_open(&link->ring[i].engine, link->win.peer_base, len, &peer);
	if (!ret)
		ret = nt_win_open(&link->win, link->ntb);
	if (!ret)
		ret = nt_flat_open(&link->flat, link->ntb);
	if (ret) {
		nt_life_refused(link, ret);
		nt_life_shut(link);
	}
	return ret;
}

/*
 * If the driver gives both ends the same number, they agree on 0 and 1: an end that has a number
 * keeps it, because endpoints have names, and otherwise the incarnations decide. Both sides decide
 * about the same two, because each has read that the other one has read its own. Return: false:
 * there is no number, and the life has to begin again.
 */
static bool nt_life_side(struct nt_link *link, const struct ntw_handshake *handshake)
{
	u32 side = link->side;

	if (!link->draws)
		return true;
	if (side == NT_NO_SIDE && link->own_id != link->peer_id) {
		side = handshake->side ? handshake->side == 1 : link->own_id > link->peer_id;
		link->peer_side = !side;
		WRITE_ONCE(link->side, side);
		dev_info(&link->ntb->dev, "this is end %u of the bridge\n", side);
		nt_link_named(link);
	}
	if (side != NT_NO_SIDE && handshake->side != 1 + side)
		return true;
	nt_await_again(link, NT_AWAITS_SIDE);
	nt_link_set(link, NT_LINK_DOWN);
	return false;
}

/* The peer has closed its window, and asks whether what we write arrives there. */
static void nt_life_try(struct nt_link *link, const struct ntw_handshake *handshake)
{
	struct iosys_map peer = IOSYS_MAP_INIT_VADDR_IOMEM(link->win.peer);
	u32 at = ntw_shut_at(1U << handshake->ring_shift);
	u64 word = ntw_word(link->peer_id, handshake->state);

	if (handshake->state <= NTW_OPEN || handshake->state == link->tried)
		return;
	/* Without the second word an open window would look shut. No life begins through this one. */
	if (at >= link->win.peer_len)
		return;
	link->tried = handshake->state;
	iosys_map_wr(&peer, offsetof(struct ntw_ctl, shut), u64, (__force u64)cpu_to_le64(word));
	iosys_map_wr(&peer, at, u64, (__force u64)cpu_to_le64(word));
	wmb();	/* before the scratchpads */
}

/*
 * Before the first life: return true if it is known whether our window closes. If it could not be
 * opened and closed for a try, it may be open. Then it is shut, and the life begins again.
 */
static bool nt_life_proven(struct nt_link *link, const struct ntw_handshake *handshake)
{
	struct nt_window *win = &link->win;
	u8 next = NTW_TRY_CLOSED;
	int ret;

	if (win->proven)
		return true;
	if (link->tries && handshake->tried != link->tries) {
		nt_await(link, NT_AWAITS_TRY);
		return false;
	}
	if (link->tries)
		next = nt_win_tried(win, link->ntb, link->tries, link->own_id,
				    link->flat.index < 0);
	link->tries = 0;
	if (!next)
		return true;
	ret = nt_win_try(win, link->ntb, next);
	if (!ret) {
		link->tries = next;
		return false;
	}
	nt_life_refused(link, ret);
	nt_life_shut(link);
	nt_link_set(link, NT_LINK_DOWN);
	return false;
}

/*
 * Choose our rings for what the peer reaches. This happens before the peer can read its incarnation
 * from us, and has the same result each time after that. So both sides know both sizes when they
 * open their windows. Return: true if both windows are long enough
 */
static bool nt_life_fits(struct nt_link *link, const struct ntw_handshake *handshake)
{
	u64 reach = min_t(u64, link->win.peer_len, (u64)handshake->size_kib * 1024);
	int ret = nt_win_divide(&link->win, (u64)handshake->reach_kib * 1024);

	if (reach < ntw_arena_at(1, 1U << handshake->ring_shift))
		nt_await(link, NT_AWAITS_REACH);
	else if (ret)
		nt_await(link, NT_AWAITS_SPAN);
	else
		return true;
	return false;
}

/*
 * Have the log and "kfi show" name a peer without a version in common. @ret: the result of
 * nt_handshake_read()
 */
static void nt_life_versions(const struct nt_link *link, int ret)
{
	struct kfi_versions theirs = ntw_pads_versions(link->pads);

	if (!ret)
		kfi_wire_met(&init_net, &nt_wire, dev_name(&link->ntb->dev));
	else if (ret == -EPROTONOSUPPORT)
		kfi_wire_refused(&init_net, &nt_wire, dev_name(&link->ntb->dev), &theirs);
}

static bool nt_step_quiet(struct nt_link *link)
{
	struct ntw_handshake handshake;
	bool proven = false, fits = false;
	int ret;

	/* nt_life_open() has failed, and a window could not be closed. */
	if (link->exposed) {
		nt_link_set(link, NT_LINK_DOWN);
		return false;
	}
	ret = nt_handshake_read(link, &handshake);
	if (!ret) {
		/* Another incarnation has not seen what was tried for the one before. */
		if (handshake.own_id != link->peer_id)
			link->tried = 0;
		link->peer_id = handshake.own_id;
		link->peer = handshake;
		fits = nt_life_fits(link, &handshake);
	}
	nt_life_versions(link, ret);
	if (ret)
		nt_await(link, ret == -EPROTONOSUPPORT ? NT_AWAITS_VERSION : NT_AWAITS_PADS);
	else if (handshake.peer_id != link->own_id)
		nt_await(link, NT_AWAITS_ECHO);
	if (!ret && handshake.peer_id == link->own_id) {
		if (!nt_life_side(link, &handshake))
			return false;
		nt_life_try(link, &handshake);
		proven = fits && nt_life_proven(link, &handshake);
		if (link->state == NT_LINK_DOWN)
			return false;
	}
	nt_handshake_write(link, NTW_QUIET);
	if (!proven)
		return false;
	if (link->win.unshut) {
		dev_err(&link->ntb->dev,
			"window %d can't be shut: what the peer writes arrives after the driver of the bridge has closed it, so kfi_ntb does not use this bridge\n",
			link->win.index);
		nt_link_expose(link);
		nt_link_set(link, NT_LINK_DOWN);
		return false;
	}
	if (nt_life_open(link, &handshake))
		return false;
	nt_link_set(link, NT_LINK_OPEN);
	return true;
}

/* A peer's memory and doorbell are the same in all scratchpads of a life. */
static bool nt_same_memory(const struct ntw_handshake *a, const struct ntw_handshake *b)
{
	return a->version == b->version && a->queues == b->queues &&
	       a->ring_shift == b->ring_shift && a->size_kib == b->size_kib &&
	       a->bell == b->bell && a->bells == b->bells;
}

/*
 * Check that the peer still has the incarnation and the memory that we have read, and end this life
 * if it has not. Return: 0: it has; -EAGAIN: they could not be read; -ESTALE: it has others.
 */
static int nt_same_life(struct nt_link *link, struct ntw_handshake *handshake)
{
	int ret = nt_handshake_read(link, handshake);

	if (ret && ret != -EPROTONOSUPPORT)
		return -EAGAIN;
	if (ret)
		nt_life_end(link, "another version of the peer");
	else if (handshake->own_id != link->peer_id || handshake->peer_id != link->own_id)
		nt_life_end(link, "another life of the peer");
	else if (!nt_same_memory(handshake, &link->peer))
		nt_life_end(link, "other scratchpads in the same life of the peer");
	else
		return 0;
	return -ESTALE;
}

static bool nt_step_open(struct nt_link *link)
{
	struct ntw_handshake handshake;
	int ret = nt_same_life(link, &handshake);
	unsigned int i;

	if (ret == -ESTALE)
		return true;
	if (!ret)
		nt_life_try(link, &handshake);
	nt_handshake_write(link, NTW_OPEN);
	nt_await(link, ret ? NT_AWAITS_PADS : NT_AWAITS_OPEN);
	if (ret || handshake.state != NTW_OPEN)
		return false;
	/* From here on a flap may lose more than words that are repeated. */
	for (i = 0; i < link->rings; i++)
		WRITE_ONCE(link->ring[i].lost, false);
	clear_bit(NT_EV_FLAP, &link->events);
	atomic64_set(&link->bells.rang, 0);
	link->said = 0;
	link->late = jiffies + msecs_to_jiffies(NT_LATE_MS << link->ends);
	nt_link_set(link, NT_LINK_HELLO);
	return true;
}

/*
 * Start a queue. Its BH work is disabled: kfi_mux_up() has to return before the first record
 * is handled.
 */
static void nt_queue_up(struct nt_link *link, struct nt_ring *ring, const struct ntw_hello_info *g)
{
	void *inbound = link->win.mem + ntw_queue_at(ring->index, link->win.ring);
	unsigned int i;

	for (i = 0; i < NT_PROGRESS; i++)
		link->watch[ring->index][i] = (struct nt_watch) { .at = jiffies };
	/* with a filler of that length in front it has to fit in what nt_shadow_has_room() wants */
	ring->direct = min_t(u32, nt_direct_max, ring->out.tx[NTW_MSG].size / (2 * NT_ROOM));
	ring->crc = nt_crc && g->features & NTW_FEAT_CRC;
	ring->crc_all = ring->crc && link->checks;
	disable_bh_work_sync(&ring->run);
	nt_ring_on(ring, inbound, link->win.ring, link->own_id, link->peer_id);
}

static void nt_life_up(struct nt_link *link, const struct ntw_hello_info *g)
{
	const struct nt_engine *e = &link->ring[0].engine;
	u32 features = nt_features(link);
	unsigned int i;

	link->beat = 0;
	link->beat_at = jiffies;
	WRITE_ONCE(link->checks, features & g->features & NTW_FEAT_CRC_PLACED &&
				 (features | g->features) & NTW_FEAT_WANT_PLACED);
	link->ups++;
	link->failed = NULL;
	WRITE_ONCE(link->win.reach, link->win.end);
	for (i = 0; i < link->queues; i++)
		nt_queue_up(link, &link->ring[i], g);
	nt_link_set(link, NT_LINK_UP);
	nt_await(link, NT_AWAITS_NOTHING);
	dev_info_ratelimited(&link->ntb->dev, "link up: %zu bytes here, %zu there, %u queues, %s\n",
			     link->win.shown, e->size, link->queues,
			     nt_engine_uses_chan(e) ? dma_chan_name(e->chan) : "no DMA engine");
	if (nt_link_exposes_all(link))
		dev_warn_ratelimited(&link->ntb->dev,
				     "the peer can write to all memory of this machine\n");
	WRITE_ONCE(link->mux.lanes, link->queues);
	kfi_mux_up(&link->mux);
	for (i = 0; i < link->queues; i++) {
		enable_bh_work(&link->ring[i].run);
		/* for signals that came while it was disabled */
		nt_ring_schedule(&link->ring[i]);
		nt_ring_beat(&link->ring[i], 0);
	}
}

/*
 * The peer's hello has not come. It may land in memory that does not belong to the window. So the
 * windows do not stay open for ever.
 */
static bool nt_hello_late(struct nt_link *link)
{
	nt_await(link, NT_AWAITS_HELLO);
	if (time_before(jiffies, link->late))
		return false;
	link->ends = min(link->ends + 1, NT_LATE_MAX);
	nt_life_end(link, "no hello of the peer arrives");
	nt_await_again(link, NT_AWAITS_HELLO);
	return true;
}

/*
 * Wait for what the peer writes to the end of our window. If it does not arrive, the window shows
 * less than its driver says. Return: true: it has not arrived, or not yet
 */
static bool nt_hello_hidden(struct nt_link *link)
{
	struct nt_window *win = &link->win;
	int arrived = nt_prove_window(link);

	if (arrived)
		nt_await(link, NT_AWAITS_ALL);
	if (arrived == -ENXIO) {
		nt_win_hide(win);
		dev_warn_ratelimited(&link->ntb->dev,
				     "window %d hides what the peer writes to the end of %zu KiB: from now on %zu KiB are used; check the size of the window at both ends, or set window_mib\n",
				     win->index, win->span / 1024, (win->most ?: win->trans) / 1024);
		nt_life_end(link, "a window hides a part of its memory");
		nt_await_again(link, NT_AWAITS_ALL);
	}
	return arrived;
}

static bool nt_step_hello(struct nt_link *link)
{
	struct ntw_hello_info g;
	struct ntw_handshake handshake;
	int ret;

	if (test_bit(NT_EV_FLAP, &link->events)) {
		nt_life_end(link, "the bridge says so");
		nt_await_again(link, NT_AWAITS_STEADY);
		return true;
	}
	ret = nt_same_life(link, &handshake);
	if (ret == -ESTALE)
		return true;
	if (nt_hello_bye(link)) {
		nt_life_end(link, "the peer says so");
		return true;
	}
	/* Damaged scratchpads change nothing. Ours may be damaged, too, and the peer needs them. */
	nt_handshake_write(link, NTW_OPEN);
	ret = nt_hello_read(link, &link->peer, &g);
	if (!ret)
		link->peer_end = g.end;
	nt_hello_write(link);
	if (ret == -EAGAIN)
		return nt_hello_late(link);
	if (ret == -EOPNOTSUPP) {
		nt_life_end(link, "the peer wants a feature that is not known here");
		return false;
	}
	/* From the proof on, the engine of each queue may have copies. */
	if (!ret && g.queues < link->queues && link->proof > NT_PROOF_WINDOW)
		ret = -EPROTO;
	else if (!ret && g.queues < link->queues)
		WRITE_ONCE(link->queues, g.queues);
	link->pace = NT_PACE_MIN;
	if (!ret && nt_hello_hidden(link))
		return link->state == NT_LINK_DOWN;
	if (!ret && !nt_prove(link))
		return false;
	if (!ret && link->peer_ready < NTW_READY_UP && !nt_hello_line(link)) {
		nt_await(link, NT_AWAITS_READY);
		return false;
	}
	if (!ret && nt_win_arena(&link->win, dev_to_node(ntb_get_dma_dev(link->ntb)))) {
		nt_life_end(link, "no memory");
		nt_await_again(link, NT_AWAITS_MEMORY);
		return false;
	}
	if (ret || nt_flat_use(link, &g))
		nt_life_end(link, "a hello that is none");
	else
		nt_life_up(link, &g);
	return false;
}

/* ---- all states ---- */

static bool nt_step_up(struct nt_link *link)
{
	const char *why = nt_life_over(link);

	if (why)
		nt_life_end(link, why);
	else
		nt_life_beat(link);
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

unsigned int nt_life_run(struct nt_link *link)
{
	if (link->state != NT_LINK_UP && !nt_carrier(link)) {
		if (link->state != NT_LINK_DOWN)
			nt_life_end(link, "the bridge says so");
		link->win.most = 0;	/* it may have been configured anew */
		nt_await(link, NT_AWAITS_CARRIER);
		nt_await_log(link);
		return NT_PACE_CARRIER;
	}
	while (nt_step(link))
		;
	nt_await_log(link);
	link->pace = clamp(2 * link->pace, NT_PACE_MIN, NT_PACE_MAX);
	return link->state == NT_LINK_UP ? nt_heartbeat_ms :
	       link->no_memory || link->no_flat ? NT_PACE_NO_MEMORY : link->pace;
}
