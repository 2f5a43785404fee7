// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - when the link is up: both ends are present and enabled, no command holds it down, and
 * training has ended.
 */
#include "mock.h"

static bool nm_link_wanted(const struct nm_bridge *bridge)
{
	const struct nm_end *a = &bridge->end[0], *b = &bridge->end[1];

	return a->present && a->enabled && b->present && b->enabled && !bridge->held;
}

static void nm_link_change(struct nm_bridge *bridge, bool up)
{
	lockdep_assert_held_write(&bridge->lock);
	if (bridge->up == up)
		return;
	bridge->up = up;
	WRITE_ONCE(bridge->life, bridge->life + !up);
	if (bridge->stuck)
		return;
	nm_link_interrupt(&bridge->end[0]);
	nm_link_interrupt(&bridge->end[1]);
}

/* Something has changed that decides about the link. Down is immediate, up needs training. */
static void nm_link_look(struct nm_bridge *bridge)
{
	lockdep_assert_held_write(&bridge->lock);
	if (!nm_link_wanted(bridge)) {
		nm_link_change(bridge, false);
	} else if (!bridge->delay_ms) {
		nm_link_change(bridge, true);
	} else if (!bridge->up) {
		bridge->ready = ktime_add_ms(ktime_get(), bridge->delay_ms);
		mod_delayed_work(system_percpu_wq, &bridge->train,
				 msecs_to_jiffies(bridge->delay_ms) + 1);
	}
}

/* A timer may expire early: then there is some time left. */
static void nm_link_train(struct work_struct *work)
{
	struct nm_bridge *bridge = container_of(to_delayed_work(work), struct nm_bridge, train);
	unsigned long flags;
	s64 left;

	write_lock_irqsave(&bridge->lock, flags);
	left = ktime_us_delta(bridge->ready, ktime_get());
	if (!nm_link_wanted(bridge) || bridge->up)
		;	/* changed meanwhile */
	else if (left > 0)
		mod_delayed_work(system_percpu_wq, &bridge->train, usecs_to_jiffies(left) + 1);
	else
		nm_link_change(bridge, true);
	write_unlock_irqrestore(&bridge->lock, flags);
}

void nm_link_init(struct nm_bridge *bridge)
{
	rwlock_init(&bridge->lock);
	INIT_DELAYED_WORK(&bridge->train, nm_link_train);
}

void nm_link_stop(struct nm_bridge *bridge)
{
	cancel_delayed_work_sync(&bridge->train);
}

void nm_link_enable(struct nm_end *end, bool enable)
{
	struct nm_bridge *bridge = end->bridge;
	unsigned long flags;

	write_lock_irqsave(&bridge->lock, flags);
	end->enabled = enable;
	nm_link_look(bridge);
	write_unlock_irqrestore(&bridge->lock, flags);
	nm_add(end, NM_REG_WRITES, 1);
}

/* An absent end has not enabled the link. */
void nm_link_set_present(struct nm_end *end, bool present)
{
	struct nm_bridge *bridge = end->bridge;
	unsigned long flags;

	write_lock_irqsave(&bridge->lock, flags);
	end->present = present;
	end->enabled = false;
	nm_link_look(bridge);
	write_unlock_irqrestore(&bridge->lock, flags);
}

void nm_link_hold(struct nm_bridge *bridge, bool held)
{
	unsigned long flags;

	write_lock_irqsave(&bridge->lock, flags);
	bridge->held = held;
	nm_link_look(bridge);
	write_unlock_irqrestore(&bridge->lock, flags);
}

/* A parameter has changed, which may change the state that ends see. */
void nm_link_configure(struct nm_bridge *bridge, u32 *what, u32 value)
{
	unsigned long flags;

	write_lock_irqsave(&bridge->lock, flags);
	*what = value;
	if (!bridge->stuck) {
		nm_link_interrupt(&bridge->end[0]);
		nm_link_interrupt(&bridge->end[1]);
	}
	write_unlock_irqrestore(&bridge->lock, flags);
}
