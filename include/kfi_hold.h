/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_hold.h - a network that stands still: nothing gets through it for some time, and nothing is
 * lost, because the provider waits for it and then goes on.
 *
 * The provider has a &struct kfi_hold, and endpoints and connections have a pointer to it. A clock
 * for what a peer has to do does not count the time for which the network was held: it subtracts
 * kfi_held(), or what has been added to that since the last look.
 */
#ifndef _KFI_HOLD_H
#define _KFI_HOLD_H

#include <linux/jiffies.h>
#include <linux/spinlock.h>

/**
 * struct kfi_hold - for how long a network was held
 * @lock: protects the members; a leaf, taken with bottom halves off
 * @now: it is held
 * @since: with @now: time (jiffies) at which that began; otherwise at which it ended last
 * @before: jiffies for which it was held before
 */
struct kfi_hold {
	spinlock_t	lock;
	bool		now;
	unsigned long	since, before;
};

/**
 * kfi_hold_init() - prepare the object of a network that was never held
 * @hold: the object
 *
 * Context: any.
 */
static inline void kfi_hold_init(struct kfi_hold *hold)
{
	spin_lock_init(&hold->lock);
	hold->now = false;
	hold->since = jiffies;
	hold->before = 0;
}

/**
 * kfi_hold_begin() - the network stands still
 * @hold: the object
 * @since: time (jiffies) since which nothing has got through; before the last hold has ended, it
 *	counts from that end
 *
 * Context: any but hard interrupts.
 */
static inline void kfi_hold_begin(struct kfi_hold *hold, unsigned long since)
{
	spin_lock_bh(&hold->lock);
	if (!hold->now && time_after(since, hold->since))
		hold->since = since;
	WRITE_ONCE(hold->now, true);
	spin_unlock_bh(&hold->lock);
}

/**
 * kfi_hold_end() - the network goes on, or what it carried has ended
 * @hold: the object. Nothing happens if the network is not held
 *
 * Context: any but hard interrupts.
 */
static inline void kfi_hold_end(struct kfi_hold *hold)
{
	spin_lock_bh(&hold->lock);
	if (hold->now) {
		hold->before += jiffies - hold->since;
		hold->since = jiffies;
	}
	WRITE_ONCE(hold->now, false);
	spin_unlock_bh(&hold->lock);
}

/**
 * kfi_held() - for how long was a network held?
 * @hold: the object; NULL for a network that never is
 *
 * Context: any but hard interrupts.
 * Return: jiffies for which it was held so far.
 */
static inline unsigned long kfi_held(struct kfi_hold *hold)
{
	unsigned long held;

	if (!hold)
		return 0;
	spin_lock_bh(&hold->lock);
	held = hold->before + (hold->now ? jiffies - hold->since : 0);
	spin_unlock_bh(&hold->lock);
	return held;
}

#endif /* _KFI_HOLD_H */
