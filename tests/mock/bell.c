// SPDX-License-Identifier: GPL-2.0
/*
 * bell.c - doorbells and interrupts
 *
 * An interrupt comes in hard interrupt context, soon, and where interrupts are on, because its
 * cause may hold locks that the handler takes. A timer that has already expired does that. Each end
 * has two timers, because link and doorbells have separate vectors whose order is not defined. A
 * timer costs system calls of the host. So, on request, a doorbell that is rung with interrupts on
 * interrupts immediately, as might happen on hardware.
 */
#include <linux/bottom_half.h>
#include <linux/hardirq.h>
#include "mock.h"

static u64 nm_vectors_of(u64 bits)
{
	return nm_vectors == 1 ? !!bits : bits;
}

/* Set bits that became pending and unmasked. nm_bell_send() has to follow. */
static void nm_bell_due(struct nm_end *end, u64 bits)
{
	lockdep_assert_held(&end->lock);
	end->due |= nm_vectors_of(bits);
}

void nm_bell_ring(struct nm_end *end, u64 bits)
{
	unsigned long flags;
	u64 new;

	spin_lock_irqsave(&end->lock, flags);
	new = bits & ~end->pending;
	end->pending |= bits;
	nm_bell_due(end, new & ~end->mask);
	spin_unlock_irqrestore(&end->lock, flags);
}

void nm_bell_mask(struct nm_end *end, u64 set, u64 clear)
{
	unsigned long flags;
	u64 old;

	spin_lock_irqsave(&end->lock, flags);
	old = end->mask;
	end->mask = (old | set) & ~clear;
	nm_bell_due(end, end->pending & old & ~end->mask);
	spin_unlock_irqrestore(&end->lock, flags);
	nm_bell_send(end);
}

void nm_bell_clear(struct nm_end *end, u64 bits)
{
	unsigned long flags;

	spin_lock_irqsave(&end->lock, flags);
	end->pending &= ~bits;
	spin_unlock_irqrestore(&end->lock, flags);
}

u64 nm_bell_pending(struct nm_end *end)
{
	return READ_ONCE(end->pending);
}

static u64 nm_take_due(struct nm_end *end)
{
	u64 due;

	spin_lock(&end->lock);
	due = end->due;
	end->due = 0;
	spin_unlock(&end->lock);
	return due;
}

/* Is this interrupt one of those that are lost? Its doorbell stays pending. */
static bool nm_bell_lost(struct nm_end *end)
{
	u32 one_of = READ_ONCE(end->lose_irq);

	if (!one_of || ++end->irqs < one_of)
		return false;
	end->irqs = 0;
	return true;
}

static void nm_bell_interrupt(struct nm_end *end)
{
	u64 due = nm_take_due(end);
	int vector;

	for (vector = 0; due >> vector; vector++) {
		if (!(due & BIT_ULL(vector)) || nm_bell_lost(end))
			continue;
		nm_add(end, NM_BELL_IRQS, 1);
		ntb_db_event(&end->ntb, vector);
	}
}

static enum hrtimer_restart nm_bell_expired(struct hrtimer *timer)
{
	nm_bell_interrupt(container_of(timer, struct nm_end, bell_irq));
	return HRTIMER_NORESTART;
}

/*
 * Softirqs that the handler raises run at its end, unless it runs in a softirq or while bottom
 * halves are off.
 */
static void nm_bell_here(struct nm_end *end)
{
	local_bh_disable();
	local_irq_disable();
	__irq_enter_raw();
	nm_bell_interrupt(end);
	__irq_exit_raw();
	local_irq_enable();
	local_bh_enable();
}

void nm_bell_send(struct nm_end *end)
{
	if (!READ_ONCE(end->due))
		return;
	if (nm_inline && !irqs_disabled())
		nm_bell_here(end);
	else
		hrtimer_start(&end->bell_irq, 0, HRTIMER_MODE_REL_PINNED_HARD);
}

/* Called after each change of the link. */
void nm_link_interrupt(struct nm_end *end)
{
	lockdep_assert_held_write(&end->bridge->lock);
	if (end->present)
		hrtimer_start(&end->link_irq, ns_to_ktime(end->bridge->lag_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* The driver knows the new state, and its client is not told. */
static bool nm_link_lost(struct nm_end *end)
{
	u32 n = READ_ONCE(end->lose_event);

	return n && cmpxchg(&end->lose_event, n, n - 1) == n && n == 1;
}

/* As in the Intel driver: an interrupt after which the link is as before is ignored. */
static enum hrtimer_restart nm_link_interrupted(struct hrtimer *timer)
{
	struct nm_end *end = container_of(timer, struct nm_end, link_irq);
	bool up = READ_ONCE(end->bridge->up);

	if (up == end->seen_up)
		return HRTIMER_NORESTART;
	WRITE_ONCE(end->seen_up, up);
	if (nm_link_lost(end))
		return HRTIMER_NORESTART;
	nm_add(end, NM_LINK_IRQS, 1);
	if (up && (nm_late_ms || READ_ONCE(end->repeat_ms)))
		hrtimer_start(&end->late_irq,
			      ms_to_ktime(READ_ONCE(end->repeat_ms) ?: nm_late_ms),
			      HRTIMER_MODE_REL_PINNED_HARD);
	ntb_link_event(&end->ntb);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart nm_link_again(struct hrtimer *timer)
{
	struct nm_end *end = container_of(timer, struct nm_end, late_irq);
	u32 repeat_ms = READ_ONCE(end->repeat_ms);

	if (!READ_ONCE(end->seen_up))
		return HRTIMER_NORESTART;
	nm_add(end, NM_LINK_IRQS, 1);
	ntb_link_event(&end->ntb);
	if (!repeat_ms)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ms_to_ktime(repeat_ms));
	return HRTIMER_RESTART;
}

/* A link that is up is reported again after so many milliseconds, and again; 0: it is not. */
void nm_link_repeat(struct nm_end *end, u32 ms)
{
	hrtimer_cancel(&end->late_irq);
	WRITE_ONCE(end->repeat_ms, ms);
	if (ms && READ_ONCE(end->seen_up))
		hrtimer_start(&end->late_irq, ms_to_ktime(ms), HRTIMER_MODE_REL_HARD);
}

/* A third port that takes the scratchpad for its own writes to it each millisecond. */
static enum hrtimer_restart nm_intruded(struct hrtimer *timer)
{
	struct nm_end *end = container_of(timer, struct nm_end, intrusion);
	u32 intruder = READ_ONCE(end->intruder);

	if (!intruder)
		return HRTIMER_NORESTART;
	WRITE_ONCE(end->spad[intruder - 1], intruder);
	hrtimer_forward_now(timer, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

void nm_intrude(struct nm_end *end, u32 intruder)
{
	WRITE_ONCE(end->intruder, intruder);
	if (intruder)
		hrtimer_start(&end->intrusion, 0, HRTIMER_MODE_REL_HARD);
	else
		hrtimer_cancel(&end->intrusion);
}

void nm_bell_init(struct nm_end *end)
{
	hrtimer_setup(&end->intrusion, nm_intruded, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	spin_lock_init(&end->lock);
	end->mask = NM_BELL_MASK;
	hrtimer_setup(&end->bell_irq, nm_bell_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_setup(&end->link_irq, nm_link_interrupted, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_setup(&end->late_irq, nm_link_again, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
}

void nm_bell_reset(struct nm_end *end)
{
	hrtimer_cancel(&end->bell_irq);
	hrtimer_cancel(&end->link_irq);
	hrtimer_cancel(&end->late_irq);
	nm_intrude(end, 0);
	end->pending = 0;
	end->due = 0;
	end->mask = NM_BELL_MASK;
	end->seen_up = false;
}
