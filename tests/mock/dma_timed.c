// SPDX-License-Identifier: GPL-2.0
/*
 * dma_timed.c - copies that take the time of an engine in hardware (parameter engine_mbs). A
 * channel makes one piece at a time: a part of a long copy, or some short ones. A piece takes the
 * time that the channel needs for it, or that the memory of its machine needs for it beside other
 * users (command "ram"), whichever is longer. A timer in softirq ends the piece: only then the CPU
 * copies its bytes. So the CPU is free for other work while a copy runs, and a long copy does not
 * wait for a CPU.
 */
#include "dma.h"
#include "mock.h"

/* The memory that the copy reads or writes beside a window; NULL: there is none, or no window */
static struct nm_budget *nm_ram_of(const struct nm_copy *copy)
{
	struct nm_place to, from;
	bool cross_to = nm_find(copy->dst, &to), cross_from = nm_find(copy->src, &from);

	if (cross_to == cross_from)
		return NULL;
	return cross_to ? &to.end->ram : &from.end->ram;
}

/* Bytes of a piece of this copy */
static size_t nm_timed_turn(const struct nm_chan *c, const struct nm_budget *ram)
{
	u32 mbs = ram ? READ_ONCE(ram->mbs) : 0;

	return nm_budget_piece(mbs ? min(mbs, c->speed.mbs) : c->speed.mbs);
}

static void nm_timed_arm(struct nm_chan *c, struct nm_budget *ram, size_t piece)
{
	ktime_t end = nm_budget_take(&c->speed, piece);

	lockdep_assert_held(&c->lock);
	if (ram)
		end = max(end, nm_budget_take(ram, piece));
	c->piece = piece;
	hrtimer_start(&c->timer, end, HRTIMER_MODE_ABS_SOFT);
}

/* Begin the next piece of the copy. */
static void nm_timed_piece(struct nm_chan *c)
{
	struct nm_budget *ram = nm_ram_of(c->copy);

	nm_timed_arm(c, ram, min(c->copy->len - c->at, nm_timed_turn(c, ram)));
}

static void nm_timed_begin(struct nm_chan *c, struct nm_copy *copy)
{
	c->copy = copy;
	c->at = 0;
	nm_timed_piece(c);
}

/* Take copies behind the first one that are in the same piece. Return: their bytes. */
static size_t nm_timed_together(struct nm_chan *c, size_t len, const struct nm_budget *ram)
{
	size_t most = nm_timed_turn(c, ram);
	struct nm_copy *next;

	lockdep_assert_held(&c->lock);
	while ((next = list_first_entry_or_null(&c->issued, struct nm_copy, node)) &&
	       len + next->len <= most && nm_ram_of(next) == ram) {
		len += next->len;
		nm_start_one(c);
	}
	return len;
}

/*
 * Begin the next copies, if there are any. With reordering the last one is first, as in
 * nm_run_now().
 */
static void nm_timed_next(struct nm_chan *c)
{
	struct nm_copy *first;
	struct nm_budget *ram;

	lockdep_assert_held(&c->lock);
	nm_start(c);
	c->busy = !list_empty(&c->running);
	if (!c->busy)
		return;
	first = list_first_entry(&c->running, struct nm_copy, node);
	ram = nm_ram_of(first);
	if (c->fault.reorder || first->len > nm_timed_turn(c, ram)) {
		nm_timed_begin(c, list_last_entry(&c->running, struct nm_copy, node));
		return;
	}
	c->copy = NULL;
	nm_timed_arm(c, ram, nm_timed_together(c, first->len, ram));
}

void nm_timed_issue(struct nm_chan *c)
{
	lockdep_assert_held(&c->lock);
	if (!c->busy)
		nm_timed_next(c);
}

/* Make a part of a copy. Return: it did not fail. */
static bool nm_timed_make(struct nm_chan *c, struct nm_copy *copy, size_t at, size_t len)
{
	if (nm_fails(copy))
		return copy->result.result == DMA_TRANS_NOERROR;
	copy->result.result = nm_copy_chunk(c, copy->dst + at, copy->src + at, len);
	if (copy->result.result == DMA_TRANS_NOERROR)
		at += len;
	copy->result.residue = copy->len - at;
	return copy->result.result == DMA_TRANS_NOERROR;
}

/* Make all running copies, up to one that fails. */
static void nm_timed_make_all(struct nm_chan *c)
{
	struct nm_copy *copy;

	/* Only this timer's function takes copies out of the list. */
	list_for_each_entry(copy, &c->running, node)
		if (!nm_timed_make(c, copy, 0, copy->len))
			return;
}

/*
 * Make the piece of the copy. Continue with its next one, or with the copy before this one. Return:
 * there is one.
 */
static bool nm_timed_more(struct nm_chan *c)
{
	bool good = nm_timed_make(c, c->copy, c->at, c->piece), more = true;

	spin_lock_irq(&c->lock);
	c->at += c->piece;
	if (good && c->at < c->copy->len && !c->copy->dropped)
		nm_timed_piece(c);
	else if (!list_is_first(&c->copy->node, &c->running))
		nm_timed_begin(c, list_prev_entry(c->copy, node));
	else
		more = false;
	spin_unlock_irq(&c->lock);
	return more;
}

static enum hrtimer_restart nm_timed(struct hrtimer *timer)
{
	struct nm_chan *c = container_of(timer, struct nm_chan, timer);

	if (!c->copy)
		nm_timed_make_all(c);
	else if (nm_timed_more(c))
		return HRTIMER_NORESTART;
	nm_finish(c);
	spin_lock_irq(&c->lock);
	nm_timed_next(c);
	spin_unlock_irq(&c->lock);
	return HRTIMER_NORESTART;
}

void nm_timed_init(struct nm_chan *c)
{
	nm_budget_init(&c->speed, nm_engine_mbs);
	hrtimer_setup(&c->timer, nm_timed, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void nm_timed_stop(struct nm_chan *c)
{
	if (!nm_engine_mbs)
		return;
	hrtimer_cancel(&c->timer);
	local_bh_disable();
	nm_finish(c);
	c->busy = false;
	local_bh_enable();
}
